//! The vendor's own files: tables of operators, calls, tasks and samples.

mod aicpu;
pub(crate) mod api_statistic;
mod counters;
mod fusion_op;
pub(crate) mod memory;
pub(crate) mod msprof_tx;
mod op_statistic;
mod op_summary;
pub(crate) mod sheet;
pub(crate) mod step_trace;
mod task_time;
mod task_time_oldest;
pub(crate) mod view;

pub use sheet::SheetFormat;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::export::view::View;
use crate::join::Joined;
use crate::metrics::Dialect;

/// What is exported, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// How tables are written.
    pub format: SheetFormat,
    /// Which iterations are shown. Without this all are, but on chips for which the vendor's tool
    /// shows one iteration only, where it is the first of the first model.
    pub iterations: Option<IterationRange>,
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
/// # Errors
/// If the directory can't be created or a file can't be written.
pub fn export_summary(
    joined: &Joined,
    directory: &Path,
    suffix: &str,
    options: ExportOptions,
) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(directory).map_err(Error::io("create the directory", directory))?;
    let view = View::new(joined, options.iterations);
    let ops = view.op_tasks();
    let tasks = view.tasks();
    let task_time = match view.dialect {
        Dialect::Oldest => task_time_oldest::sheet(&view, &tasks),
        _ => task_time::sheet(&view, &tasks),
    };
    let sheets = [
        op_summary::sheet(&view, &ops),
        op_statistic::sheet(&view, &ops),
        task_time,
        api_statistic::sheet(&view),
        step_trace::sheet(&view),
        msprof_tx::sheet(&view),
        aicpu::sheet(&view),
        fusion_op::sheet(&view),
        memory::npu_mem(&view),
        memory::hbm(&view),
    ];
    let mut files = Vec::new();
    for sheet in sheets.into_iter().flatten() {
        files.extend(sheet.save(directory, suffix, options.format)?);
    }
    Ok(files)
}
