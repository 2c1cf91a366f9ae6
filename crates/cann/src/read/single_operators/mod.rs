//! Folders of `msprof op` (`OPPROF_*`): single operators that were run on their own, with their counters.
//!
//! | folder | launches |
//! |---|---|
//! | `OPPROF_<time>_<letters>/` | one |
//! | `OPPROF_…/<operator>/<number>/`, below a folder for each device where there are several | one in each folder |
//!
//! | table | content |
//! |---|---|
//! | `OpBasicInfo` | a row: name, kind of core, duration, blocks, device, frequencies in MHz |
//! | `PipeUtilization`, `ArithmeticUtilization`, `Memory`, `MemoryL0`, `MemoryUB`, `L2Cache`, `ResourceConflictRatio` | a row for each core of each block: counters |
//!
//! File names may end in a time (`L2Cache_20240603022812284.csv`); tables are known by their columns. The layouts
//! are those of the reference of msOpProf's performance data, and of folders of the 910B and A3 that are public.
//! `visualize_data.bin` is MindStudio Insight's; its layout isn't public, and it tells nothing that the tables don't.

mod counters;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use opscope_formats::input::Input;
use opscope_formats::reading::Stop;
use opscope_trace::{
    DeviceKind, ExecutionUnit, LossKind, Nanoseconds, Operator, Places, ProfileFormat, Task, TimeBasis, Trace,
};

use super::csv_files::csv_files_in;
use super::tables::table::{Header, Losses, read_header, read_rows};
use crate::headings::op_basic_info;
use crate::vocabulary;
use counters::Counters;

/// The folders deep that launches lie below that of a collection: device, operator, number.
const DEPTH: usize = 3;

/// Entries of folders that are looked at before a folder counts as another tool's.
const MOST_ENTRIES: usize = 20_000;

/// How the values of a launch come about, for whoever reads them.
const NOTE: &str = "counters of a launch are those of its blocks together: amounts are sums, times and rates means, \
                    ratios a unit's time over its blocks' time; ratios of which the tables tell neither are called \
                    ..._stated, and are of whatever time the vendor means";

/// A folder of single operators that could not be read as a trace.
#[derive(Debug, thiserror::Error)]
pub enum SingleOperatorsError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// No launch has a duration.
    #[error(
        "{}: there are counters of msprof op here, and no OpBasicInfo.csv with the operator's name and duration; \
         bring the whole folder OPPROF_* along",
        path.display()
    )]
    NoOperator {
        /// The folder.
        path: PathBuf,
    },
    /// Whoever asked for it wants it no more.
    #[error("{}: the reading was stopped", path.display())]
    Stopped {
        /// The folder.
        path: PathBuf,
    },
}

/// The kinds of tables, by their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Basic,
    Counters,
}

impl Kind {
    fn of(header: &Header) -> Option<Self> {
        let has = |name: &str| header.has(&[name]);
        if has(op_basic_info::NAME) && has(op_basic_info::DURATION) && has(op_basic_info::BLOCKS) {
            // Tables of whole runs have times of begin as well.
            let is_of_runs = header.columns().any(|(_, name)| name.contains("start time"));
            return (!is_of_runs).then_some(Self::Basic);
        }
        counters::is_table(header).then_some(Self::Counters)
    }
}

/// Whether text that begins so is a table of a single operator; its first line must be whole.
pub fn looks_like(head: &[u8]) -> bool {
    const LONGEST_HEADER: usize = 1 << 16;
    let head = &head[..head.len().min(LONGEST_HEADER)];
    !head.contains(&0) && read_header(head).is_some_and(|header| Kind::of(&header).is_some())
}

/// Whether a folder holds a launch itself.
pub fn is_launch(folder: &Path) -> bool {
    csv_files_in(folder).iter().any(|path| is_table(path))
}

/// Whether launches lie in folders below one.
pub fn is_folder_of_launches(folder: &Path) -> bool {
    launches(folder).0.iter().any(|launch| is_launch(launch))
}

/// The subfolders of a folder of launches that are launches or hold some, all of which [`read_folder`] reads; none where
/// there are more entries than are looked at.
pub fn folders_with_launches(folder: &Path) -> Vec<PathBuf> {
    let (launches, is_all) = launches(folder);
    let directly_in = |launch: &PathBuf| {
        let below = launch.strip_prefix(folder).ok()?;
        Some(folder.join(below.components().next()?))
    };
    let read = launches.iter().filter(|launch| is_all && is_launch(launch));
    let mut found: Vec<PathBuf> = read.filter_map(directly_in).collect();
    found.dedup();
    found
}

fn is_table(path: &Path) -> bool {
    /// No table has a longer first line.
    const HEAD: u64 = 1 << 14;
    Input::head(path, HEAD).is_ok_and(|(_, head)| looks_like(&head))
}

/// The folder itself and those below it that may hold a launch, in the order of their names and numbers, and whether all
/// entries were looked at.
fn launches(folder: &Path) -> (Vec<PathBuf>, bool) {
    let (mut found, mut level) = (Vec::new(), vec![folder.to_owned()]);
    let mut entries = 0;
    for _ in 0..DEPTH {
        let mut below = Vec::new();
        for entry in level.iter().filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                return (found, false);
            }
            // Links are not followed, and raw records aren't read.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && entry.file_name() != "dump" {
                below.push(entry.path());
            }
        }
        found.append(&mut level);
        level = below;
    }
    found.append(&mut level);
    found.sort_by_cached_key(|path| {
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        parts.map(|part| (part.parse::<u64>().ok(), part)).collect::<Vec<_>>()
    });
    (found, true)
}

/// Reads a folder of `msprof op`: a task with its counters for each launch. Only durations are recorded, so nothing is
/// drawn of them. The trace is cut short where `stop` is wanted.
///
/// # Errors
/// When there is no launch with a duration, or a table can't be read.
pub fn read_folder(folder: &Path, stop: &Stop) -> Result<Trace, SingleOperatorsError> {
    read(folder, launches(folder).0, stop)
}

/// As [`read_folder`], of the tables directly in a folder alone.
///
/// # Errors
/// As [`read_folder`].
pub fn read_launch(folder: &Path, stop: &Stop) -> Result<Trace, SingleOperatorsError> {
    read(folder, vec![folder.to_owned()], stop)
}

fn read(folder: &Path, launches: Vec<PathBuf>, stop: &Stop) -> Result<Trace, SingleOperatorsError> {
    let mut reading = Reading { root: folder.to_owned(), ..Reading::default() };
    for launch in launches {
        if stop.is_wanted() {
            return Err(SingleOperatorsError::Stopped { path: folder.to_owned() });
        }
        reading.launch(&launch, stop)?;
    }
    let Reading { mut trace, losses, .. } = reading;
    if trace.tasks.is_empty() && losses.is_none() {
        return Err(SingleOperatorsError::NoOperator { path: folder.to_owned() });
    }
    losses.report(&mut trace);
    trace.run.format = Some(ProfileFormat::CannOperators);
    trace.run.layer_times = TimeBasis::Unplaced;
    trace.run.note = Some(NOTE.to_owned());
    Ok(trace)
}

/// A launch, as its row tells it.
struct Launch {
    name: String,
    unit: ExecutionUnit,
    duration: Nanoseconds,
    device: u32,
    /// Blocks and frequencies: names, units, values.
    values: Vec<(&'static str, &'static str, f64)>,
}

/// The trace as far as it was read.
#[derive(Default)]
struct Reading {
    /// The folder of all launches.
    root: PathBuf,
    trace: Trace,
    places: Places,
    losses: Losses,
    /// The end of the launches so far.
    end: Nanoseconds,
}

impl Reading {
    /// Reads the tables of a folder, if it holds any.
    fn launch(&mut self, folder: &Path, stop: &Stop) -> Result<(), SingleOperatorsError> {
        let mut launches = Vec::new();
        let mut counters = Counters::default();
        let mut has_counters = false;
        for path in csv_files_in(folder) {
            let failed = |source| SingleOperatorsError::Io { path: path.clone(), source };
            let input = Input::open_until(&path, &|| stop.is_wanted()).map_err(failed)?;
            if let Some(problem) = input.damage() {
                let place = format!("{}: {problem}", self.name(&path));
                self.trace.count_loss(LossKind::CutCompression, 1, &place);
            }
            let Some(header) = read_header(&input) else { continue };
            self.losses.begin_file(&self.name(&path));
            match Kind::of(&header) {
                Some(Kind::Basic) => launches.extend(self.basic(&input, &header, stop)),
                Some(Kind::Counters) => {
                    counters.read(&input, &header, stop, &mut self.losses);
                    has_counters = true;
                }
                None => {}
            }
        }
        if launches.len() != 1 && has_counters {
            let kind = match launches.is_empty() {
                true => LossKind::OperatorWithoutBasics,
                false => LossKind::CountersOfSeveral,
            };
            self.trace.count_loss(kind, 1, &self.name(folder));
            counters = Counters::default();
        }
        launches.into_iter().for_each(|launch| self.enter(launch, &counters));
        Ok(())
    }

    /// The name of a file or folder below that of all launches.
    fn name(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).ok().filter(|below| !below.as_os_str().is_empty());
        below.or(path.file_name().map(Path::new)).unwrap_or(path).display().to_string()
    }

    /// The launches of a table of them.
    fn basic(&mut self, text: &[u8], header: &Header, stop: &Stop) -> Vec<Launch> {
        let [name, kind, duration] = [op_basic_info::NAME, op_basic_info::KIND, op_basic_info::DURATION]
            .map(|name| header.find(&[name]));
        let device = header.find(&op_basic_info::DEVICE);
        let figures =
            op_basic_info::FIGURES.map(|(heading, name, unit)| (header.find(&[heading]), name, unit));
        let mut launches = Vec::new();
        read_rows(text, header, stop, &mut self.losses, |row, losses| {
            let Some(duration) = row.micros(duration) else {
                losses.count(LossKind::TaskWithoutTime, row.line);
                return;
            };
            if duration < Nanoseconds::ZERO {
                losses.count(LossKind::NegativeTask, row.line);
                return;
            }
            let value = |&(column, name, unit)| Some((name, unit, row.float(column)?));
            launches.push(Launch {
                name: row.text(name),
                unit: unit(&row.text(kind)),
                duration,
                device: row.number(device).and_then(|device| u32::try_from(device).ok()).unwrap_or(0),
                values: figures.iter().filter_map(value).collect(),
            });
        });
        launches
    }

    fn enter(&mut self, launch: Launch, counters: &Counters) {
        let Self { trace, places, end, .. } = self;
        let device = places.device(trace, DeviceKind::Npu, launch.device, "");
        let nameless = trace.strings.intern("");
        let stream = places.stream(trace, device, 0, None, nameless);
        let name = trace.strings.intern(&launch.name);
        let known = trace.operators.iter().find(|(_, operator)| operator.name == name).map(|(id, _)| id);
        let operator = known.unwrap_or_else(|| trace.operators.push(Operator::new(name, name)));
        let task = trace.tasks.push(Task {
            operator: Some(operator),
            stream: Some(stream),
            unit: launch.unit,
            ..Task::new(name, *end, launch.duration)
        });
        *end = Nanoseconds(end.0.saturating_add(launch.duration.0));
        let own = launch.values.iter().map(|(name, unit, value)| (*name, *unit, *value));
        let measured = counters.values();
        let counted = measured.iter().map(|counter| (&*counter.name, &*counter.unit, counter.value));
        let told =
            launch.values.iter().find(|(name, ..)| *name == "block_num").map_or(0.0, |(.., told)| *told);
        let missing = counters.blocks.iter().map(|found| (told as u64).saturating_sub(*found)).max();
        trace.count_loss(LossKind::BlocksWithoutCounters, missing.unwrap_or(0), &launch.name);
        let (mut metrics, mut values) = (Vec::new(), Vec::new());
        for (name, unit, value) in own.chain(counted) {
            metrics.push(trace.enter_metric(name, unit));
            values.push(value);
        }
        if !values.is_empty() {
            trace.push_reading(task, &metrics, &values);
        }
    }
}

/// The unit by the vendor's word for a single operator.
fn unit(kind: &str) -> ExecutionUnit {
    match kind.to_ascii_lowercase().as_str() {
        "vector" => ExecutionUnit::AiVectorCore,
        "cube" | "aicore" => ExecutionUnit::AiCore,
        // The cube leads: its blocks stand in `Block Dim`.
        "mix" => ExecutionUnit::MixAiCore,
        _ => vocabulary::unit(kind),
    }
}
