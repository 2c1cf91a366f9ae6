//! The vendor's own files: tables of operators, calls, tasks and samples.

mod aicpu;
pub(crate) mod api_statistic;
pub(crate) mod busy;
mod cache;
pub(crate) mod classic;
pub(crate) mod communication;
pub(crate) mod copies;
pub(crate) mod core_samples;
pub(crate) mod counters;
mod device_view;
mod dp;
mod fusion_op;
mod host_usage;
pub(crate) mod memory;
pub(crate) mod msprof_tx;
pub(crate) mod network;
pub(crate) mod op_memory;
mod op_statistic;
mod op_summary;
mod questions;
pub(crate) mod quoting;
mod readme;
pub(crate) mod sheet;
pub(crate) mod spans;
pub(crate) mod step_trace;
mod task_time;
mod task_time_oldest;
pub(crate) mod track_copies;
pub(crate) mod traffic;
pub(crate) mod view;

pub use crate::timeline::{LaneChoice, LaneChoiceError};
pub use questions::{OperationsOfType, StepTimes, operations, step_times};
pub use readme::describe_results;
pub use sheet::SheetFormat;

use api_statistic::acl_sheet as acl_statistic_sheet;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::export::sheet::Sheet;
use crate::export::view::View;
use crate::join::Joined;
use crate::metrics::Dialect;
use crate::parallel;
use crate::tables::Core;

/// What is exported, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
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

/// Writes the summary tables of a profile into a directory, which is created if need be, as
/// `<kind>_<suffix>.csv` or `.json`. Returns the files; a table without rows has none.
///
/// With [`ExportLayout::Classic`] the names are others and `suffix` isn't used.
///
/// # Errors
/// If the directory can't be created or a file can't be written.
pub fn export_summary(
    joined: &Joined,
    directory: &Path,
    suffix: &str,
    options: ExportOptions,
) -> Result<Vec<PathBuf>> {
    if options.layout == ExportLayout::Classic {
        return classic::summary(joined, directory, options);
    }
    std::fs::create_dir_all(directory).map_err(Error::io("create the directory", directory))?;
    let view = View::new(joined, options.iterations);
    let mut files = Vec::new();
    each_sheet(&view, options.format, &mut |sheet| {
        files.extend(sheet.save(directory, suffix, options.format)?);
        Ok(())
    })?;
    Ok(files)
}

/// Which iteration [`ExportLayout::Classic`] shows where none is chosen, and how many of that model were
/// recorded; `None` where it isn't known where iterations begin and end, and all is shown.
pub fn classic_iteration(joined: &Joined) -> Option<(IterationRange, u64)> {
    classic::shown_of(joined)
}

/// Calls `save` with every table that has rows.
fn each_sheet(
    view: &View<'_>,
    format: SheetFormat,
    save: &mut dyn FnMut(&Sheet<'_>) -> Result<()>,
) -> Result<()> {
    type Prepare<'a> = &'a (dyn Fn() -> Option<Sheet<'a>> + Sync);
    let (ops, tasks) = parallel::join(|| view.op_tasks(), || view.tasks());
    // What sums up takes long before the first row can be written.
    let prepare: [Prepare<'_>; 26] = [
        &|| op_summary::sheet(view, &ops, format),
        &|| op_statistic::sheet(view, &ops),
        &|| communication::statistic(view),
        &|| match view.dialect {
            Dialect::Oldest => task_time_oldest::sheet(view, &tasks),
            _ => task_time::sheet(view, &tasks),
        },
        &|| api_statistic::sheet(view),
        &|| step_trace::sheet(view),
        &|| msprof_tx::sheet(view, format),
        &|| aicpu::sheet(view),
        &|| dp::sheet(view),
        &|| fusion_op::sheet(view),
        &|| memory::npu_mem(view),
        &|| memory::hbm(view),
        &|| traffic::ddr(view),
        &|| traffic::llc(view),
        &|| cache::l2_cache(view),
        &|| cache::soc_pmu(view),
        &|| traffic::pcie(view),
        &|| traffic::hccs(view),
        &|| network::nic(view),
        &|| network::roce(view),
        &|| op_memory::operator_memory(view),
        &|| op_memory::memory_record(view),
        &|| op_memory::npu_module_mem(view),
        &|| op_memory::static_op_mem(view),
        &|| core_samples::sheet(view, Core::Cube),
        &|| core_samples::sheet(view, Core::Vector),
    ];
    let sheets = parallel::map(&prepare, |prepare| prepare());
    sheets.iter().flatten().chain(&host_usage::sheets(view)).try_for_each(save)
}
