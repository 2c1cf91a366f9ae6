//! The choices that whoever exports a profile makes.

use opscope_trace::Trace;

use crate::lane_choice::LaneChoice;

/// The choices for an export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions<'a> {
    /// How tables are written.
    pub format: SheetFormat,
    /// Which iterations are shown. Without this all are, but on chips for which the vendor's tool
    /// shows one iteration only, where it is the first of the first model.
    pub iterations: Option<IterationRange>,
    /// Where files go, and how they are called.
    pub layout: ExportLayout,
    /// Which groups of lanes timelines show.
    pub lanes: LaneChoice,
    /// How large a file of the timeline may be in bytes; a larger timeline is divided by time into
    /// several files. Without this it is one file whatever its size.
    pub timeline_bytes: Option<u64>,
    /// Other recorders' trace of the same run, such as that of an engine's own profiler, for the timeline; its zero
    /// is the begin of the collection.
    pub other_recorders: Option<&'a Trace>,
}

/// Where results go below the directory that is given, and how they are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportLayout {
    /// All in the directory, the devices' rows together: `op_summary_<suffix>.csv`.
    #[default]
    Current,
    /// As in 2022: in `summary/` and `timeline/` below the directory and below `device_N/` in it, a
    /// file for each device, model and iteration: `op_summary_0_1_1.csv`. The directory is that of
    /// the profile, or one that stands for it. Without chosen iterations it is the first of the
    /// first model.
    Classic,
}

/// Consecutive iterations of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationRange {
    /// The model's number.
    pub model: u64,
    /// The first iteration's number, from 1.
    pub first: u64,
    /// How many there are.
    pub count: u64,
}

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SheetFormat {
    /// Comma-separated values after RFC 4180, with line feeds, as the vendor's tool writes them.
    #[default]
    Csv,
    /// The same with an apostrophe before texts that a spreadsheet would compute.
    MarkedCsv,
    /// An array of objects, without the device's column.
    Json,
}

impl SheetFormat {
    /// The files' ending.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv | Self::MarkedCsv => "csv",
            Self::Json => "json",
        }
    }
}
