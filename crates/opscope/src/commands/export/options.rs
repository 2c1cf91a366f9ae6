//! The options of an export: the files, how they are written, and the iterations that they hold.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use opscope_cann::{IterationRange, Joined, LaneChoice, SheetFormat};
use opscope_say::{say, word};
use opscope_svp::TableFormat;

use crate::exit::UsageError;
use crate::profile::Results;

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// The timeline, in Chrome's trace format
    Timeline,
    /// The tables of operators, calls, tasks and samples
    Summary,
    /// The unified database
    Db,
    /// All of these
    All,
}

impl What {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeline => "timeline",
            Self::Summary => "summary",
            Self::Db => "db",
            Self::All => "all",
        }
    }

    /// The kinds of files that it stands for.
    pub fn kinds(self) -> &'static [Self] {
        match self {
            Self::Timeline => &[Self::Timeline],
            Self::Summary => &[Self::Summary],
            Self::Db => &[Self::Db],
            Self::All => &[Self::Summary, Self::Timeline, Self::Db],
        }
    }
}

/// How it is exported.
#[derive(Clone, Debug, Default, Args)]
pub struct Options {
    /// Only iterations of this model; with neither of the next two, all of its
    #[arg(long, value_name = "ID")]
    pub model_id: Option<u64>,

    /// Only this iteration, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub iteration_id: Option<u64>,

    /// So many iterations from that one on [default: 1]
    #[arg(long, value_name = "N", requires = "iteration_id", value_parser = clap::value_parser!(u64).range(1..))]
    pub iteration_count: Option<u64>,

    /// How tables are written
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    /// Put an apostrophe before cells of CSV tables that a spreadsheet would compute (=1+1); without it
    /// they have the vendor's bytes
    #[arg(long)]
    pub safe_csv: bool,

    /// The lanes of the timeline: a JSON file in the vendor's form
    #[arg(long, value_name = "FILE")]
    pub reports: Option<PathBuf>,

    /// Divide a timeline larger than this by time into several files
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub slice_mb: Option<u64>,

    /// Where files go, and how they are called [default: classic for data of 2022, modern for others]
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub layout: Option<Layout>,

    /// Leave no imported database behind, and remove the one that is there
    #[arg(long)]
    pub clear: bool,

    /// The folder to write to [default: the raw directory]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// The layout of the exported files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// Today's: all in mindstudio_profiler_output/, such as op_summary_20251009085320.csv
    Modern,
    /// That of 2022: summary/ and timeline/ below the raw directory and its device_N/, such as
    /// op_summary_0_1_1.csv for device 0, model 1, iteration 1
    Classic,
}

impl Layout {
    /// The folder that the files go to, or below which they go.
    pub fn outputs(self, results: &Results) -> PathBuf {
        match self {
            Self::Modern => results.outputs(),
            Self::Classic => results.folder().to_owned(),
        }
    }
}

/// The format of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma-separated values
    #[default]
    Csv,
    /// Arrays of objects
    Json,
}

impl Options {
    /// The format of an Ascend profile's tables.
    pub fn sheet_format(&self) -> SheetFormat {
        match (self.format, self.safe_csv) {
            (Format::Csv, false) => SheetFormat::Csv,
            (Format::Csv, true) => SheetFormat::MarkedCsv,
            (Format::Json, _) => SheetFormat::Json,
        }
    }

    /// The format of a board's tables.
    pub fn table_format(&self) -> TableFormat {
        match (self.format, self.safe_csv) {
            (Format::Csv, false) => TableFormat::Csv,
            (Format::Csv, true) => TableFormat::MarkedCsv,
            (Format::Json, _) => TableFormat::Json,
        }
    }
}

/// The lanes that a file in the vendor's form chooses; all without one.
///
/// # Errors
/// When the file can't be read or understood.
pub fn lanes(options: &Options) -> anyhow::Result<LaneChoice> {
    let Some(path) = &options.reports else { return Ok(LaneChoice::ALL) };
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| say!("can't read --reports {}", path.display()))?;
    LaneChoice::from_json(&text).with_context(|| say!("can't use --reports {}", path.display()))
}

/// The iterations that the options name; `None` for what the vendor's tool shows unasked.
///
/// # Errors
/// When they weren't recorded, or several models were and none is named.
pub fn iterations(joined: &Joined, options: &Options) -> anyhow::Result<Option<IterationRange>> {
    if options.model_id.is_none() && options.iteration_id.is_none() {
        return Ok(None);
    }
    let known = joined.inferences();
    let listed = || match known.len() {
        0 => word("no iteration of any model was recorded").to_owned(),
        _ => {
            let counts = known.iter().map(|(model, count)| say!("model {model}: {count}"));
            say!("the iterations that were recorded: {}", counts.collect::<Vec<_>>().join(", "))
        }
    };
    let refuse = |problem: String| UsageError(say!("{problem}; {}", listed()));
    let model = match (options.model_id, known.keys().next()) {
        (Some(model), _) => model,
        (None, Some(model)) if known.len() == 1 => *model,
        (None, _) => return Err(refuse(word("--iteration-id needs --model-id here").to_owned()).into()),
    };
    let Some(&count) = known.get(&model) else {
        return Err(refuse(say!("there is no model {model}")).into());
    };
    match options.iteration_id {
        None => Ok(Some(IterationRange { model, first: 1, count })),
        Some(first) if first > count => Err(refuse(say!("model {model} has no iteration {first}")).into()),
        Some(first) => Ok(Some(IterationRange { model, first, count: options.iteration_count.unwrap_or(1) })),
    }
}
