//! Tables that the Ascend tools export.
//!
//! | table | what it makes |
//! |---|---|
//! | `op_summary*.csv`, `kernel_details.csv` | tasks with their operators, shapes and steps |
//! | `task_time*.csv`, `aicpu*.csv` | tasks |
//! | `step_trace*.csv` | inferences |
//! | `msprof_tx*.csv` | ranges and marks |
//! | `memory_record.csv`, `npu_mem*.csv`, `npu_module_mem*.csv` | counters |
//! | `step_trace_time.csv`, `step_trace*.csv` of 2022, `acl_statistic*.csv`, `runtime_api*.csv`, `op_statistic*.csv`, `api_statistic*.csv`, `communication_statistic*.csv`, `operator_details.csv`, `operator_memory*.csv`, `static_op_mem*.csv`, `l2_cache*.csv` | figures |
//! | `fusion_op*.csv`, `hbm*.csv`, … | nothing: they hold totals, or no times |
//! | `acl*.csv` and `ge_op_execute*.csv` of 2022 | nothing: of their begins no unit is told |
//!
//! A table is known by the names of its columns, of which old and new versions of the tools have
//! different ones.

pub(super) mod caches;
pub(super) mod complete;
mod covered;
pub(super) mod join;
mod kernels;
mod known_ranges;
pub(super) mod mindspore;
mod mindspore_units;
mod others;
mod parts;
mod stated;
mod streamless;
pub(super) mod table;
mod translated;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use opscope_formats::encoding::other_encoding;
use opscope_formats::reading::Stop;
use opscope_trace::{Nanoseconds, ProfileFormat, Trace};

use crate::headings::{calls_2022, fusion_op, memory_traffic, task_time_oldest};
pub(super) use kernels::Kernels;
pub(super) use known_ranges::KnownRanges;
pub(super) use stated::Stated;
use table::{Header, read_header};

/// Bytes that make no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No column is one that the Ascend tools write.
    #[error("the first line names no columns of a table that the Ascend tools write")]
    NotATable,
    /// Text in another encoding than UTF-8, of which no column is known.
    #[error("the first line is in {0}; save the table as UTF-8, with an editor or 'iconv -t UTF-8'")]
    Encoding(&'static str),
    /// A table of the Ascend tools, but one that sums up over the whole run, or has no times.
    #[error(
        "this table lists no tasks, inferences, ranges, samples or figures that opscope reads; give \
         op_summary*.csv, kernel_details.csv or task_time*.csv, or the folder that the table is in"
    )]
    NoTrace,
}

/// The kinds of rows that a table lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tasks,
    Iterations,
    Ranges,
    Samples,
    Stated(Stated),
    NoTrace,
}

/// Headings of the tables that make no trace, by which each is told from a chance table of another program.
const WITHOUT_TRACE: [&[&str]; 5] = [
    &[task_time_oldest::SHARE, task_time_oldest::WAITING],
    &[fusion_op::FUSED, fusion_op::ORIGINALS],
    &[memory_traffic::METRIC, memory_traffic::READ],
    &calls_2022::ACL,
    &calls_2022::GRAPH_ENGINE,
];

impl Kind {
    fn of(header: &Header) -> Option<Self> {
        if kernels::is_table(header) {
            Some(Self::Tasks)
        } else if others::is_of_iterations(header) {
            Some(Self::Iterations)
        } else if others::is_of_ranges(header) {
            Some(Self::Ranges)
        } else if others::is_of_samples(header) {
            Some(Self::Samples)
        } else if let Some(stated) = Stated::of(header) {
            Some(Self::Stated(stated))
        } else {
            let has_all = |names: &&[&str]| names.iter().all(|name| header.has(&[name]));
            WITHOUT_TRACE.iter().any(has_all).then_some(Self::NoTrace)
        }
    }
}

/// Whether text that begins so is a table of the Ascend tools; its first line must be whole.
pub fn looks_like(head: &[u8]) -> bool {
    // Of a binary file the first line may be the whole file.
    const LONGEST_HEADER: usize = 1 << 16;
    let head = &head[..head.len().min(LONGEST_HEADER)];
    let is_text = !head.contains(&0);
    is_text && read_header(head).is_some_and(|header| Kind::of(&header).is_some())
}

/// Whether text that begins so is a table of the steps of several ranks, which is of no single run; its first line must
/// be whole.
pub fn is_of_ranks(head: &[u8]) -> bool {
    const LONGEST_HEADER: usize = 1 << 16;
    let head = &head[..head.len().min(LONGEST_HEADER)];
    !head.contains(&0) && read_header(head).is_some_and(|header| stated::is_of_ranks(&header))
}

/// Reads a table. The trace is cut short where `stop` is wanted.
///
/// Rows that can't be used are counted in [`Trace::losses`].
///
/// # Errors
/// When it is no table of the Ascend tools, or one of totals only.
pub fn read(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let header = read_header(text).ok_or(ReadError::NotATable)?;
    match Kind::of(&header).ok_or_else(|| not_a_table(text))? {
        Kind::Tasks => {
            let mut kernels = Kernels::default();
            kernels.read(text, &header, stop);
            Ok(kernels.to_trace(stop))
        }
        Kind::Iterations => Ok(others::read_iterations(text, &header, stop)),
        Kind::Ranges => {
            let mut trace = others::read_ranges(text, &header, stop);
            trace.run.format = Some(ProfileFormat::CannRanges);
            Ok(trace)
        }
        Kind::Samples => Ok(others::read_samples(text, &header, stop)),
        Kind::Stated(stated) => Ok(stated.read(text, &header, stop)),
        Kind::NoTrace => Err(ReadError::NoTrace),
    }
}

/// Why text whose columns aren't known is no table that is read.
fn not_a_table(text: &[u8]) -> ReadError {
    /// No line of headings is longer.
    const LONGEST: usize = 1 << 16;
    let line = text[..text.len().min(LONGEST)].split(|byte| *byte == b'\n').next().unwrap_or_default();
    other_encoding(line).map_or(ReadError::NotATable, ReadError::Encoding)
}

/// Reads a table of inferences.
///
/// # Errors
/// When it is none.
pub(super) fn read_steps(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let header = read_header(text).filter(|header| Kind::of(header) == Some(Kind::Iterations));
    Ok(others::read_iterations(text, &header.ok_or_else(|| not_a_table(text))?, stop))
}

/// Reads a table of ranges.
///
/// # Errors
/// When it is none.
pub(super) fn read_ranges(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let header = read_header(text).filter(|header| Kind::of(header) == Some(Kind::Ranges));
    Ok(others::read_ranges(text, &header.ok_or_else(|| not_a_table(text))?, stop))
}

/// Whether text that begins so is a table of which a trace can be made; its first line must be whole.
pub(super) fn is_read(head: &[u8]) -> bool {
    read_header(head).and_then(|header| Kind::of(&header)).is_some_and(|kind| kind != Kind::NoTrace)
}

/// Reads a table of figures, of the kind that is given.
///
/// # Errors
/// When it is none.
pub(super) fn read_stated(text: &[u8], kind: Stated, stop: &Stop) -> Result<Trace, ReadError> {
    let header = read_header(text).filter(|header| Kind::of(header) == Some(Kind::Stated(kind)));
    Ok(kind.read(text, &header.ok_or_else(|| not_a_table(text))?, stop))
}

/// Reads a table of samples over time.
///
/// # Errors
/// When it is none.
pub(super) fn read_samples(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let header = samples_header(text).ok_or_else(|| not_a_table(text))?;
    Ok(others::read_samples(text, &header, stop))
}

/// The first time of a table of tasks, inferences, ranges or samples, since its clock's zero.
pub(super) fn first_time(text: &[u8], stop: &Stop) -> Option<Nanoseconds> {
    let header = read_header(text)?;
    let of_trace = |trace: Trace| {
        let zero = Nanoseconds(trace.clock.unix_zero.unwrap_or(0));
        let starts = [trace.iterations.start(), trace.ranges.start(), trace.samples.time()].concat();
        starts.into_iter().min().map(|first| first + zero)
    };
    match Kind::of(&header)? {
        Kind::Tasks => {
            let mut kernels = Kernels::default();
            kernels.read(text, &header, stop);
            let first = kernels.work().map(|row| row.start).min();
            first.or_else(|| kernels.span().map(|(first, _)| first))
        }
        Kind::Iterations => of_trace(others::read_iterations(text, &header, stop)),
        Kind::Ranges => of_trace(others::read_ranges(text, &header, stop)),
        Kind::Samples => of_trace(others::read_samples(text, &header, stop)),
        Kind::Stated(_) | Kind::NoTrace => None,
    }
}

/// The devices and numbers of the streams on which a table of tasks has work; nothing where it is none.
pub(super) fn streams_of_tasks(text: &[u8], stop: &Stop) -> Option<BTreeSet<(u32, u64)>> {
    let mut kernels = Kernels::default();
    read_tasks(text, stop, &mut kernels).ok()?;
    Some(kernels.work().filter_map(|row| Some((row.device, row.stream?))).collect())
}

/// The devices that a table of samples names.
pub(super) fn devices_of_samples(text: &[u8], stop: &Stop) -> BTreeSet<u32> {
    samples_header(text).map(|header| others::devices_of_samples(text, &header, stop)).unwrap_or_default()
}

fn samples_header(text: &[u8]) -> Option<Header> {
    read_header(text).filter(|header| Kind::of(header) == Some(Kind::Samples))
}

/// Adds the tasks of a table to those of others.
///
/// # Errors
/// When it is no table of tasks.
pub(super) fn read_tasks(text: &[u8], stop: &Stop, kernels: &mut Kernels) -> Result<(), ReadError> {
    let header = read_header(text).filter(|header| Kind::of(header) == Some(Kind::Tasks));
    kernels.read(text, &header.ok_or_else(|| not_a_table(text))?, stop);
    Ok(())
}
