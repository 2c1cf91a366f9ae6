//! The files of a folder of outputs: which of them are read, and what for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::FolderError;
use super::mindspore;
use crate::layout_2022;
use crate::read::tables::Stated;

/// The folders below a run's own that the tools put their outputs into.
const OUTPUT_FOLDERS: [&str; 2] = ["ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output"];

/// The tables of memory over time.
const SAMPLES: [&str; 3] = ["memory_record", "npu_module_mem", "npu_mem"];

/// The tables that sum up.
const STATED: [Stated; 10] = [
    Stated::Steps,
    Stated::OperatorTypes,
    Stated::CollectiveTypes,
    Stated::Calls,
    Stated::AclCalls,
    Stated::RuntimeCalls,
    Stated::FrameworkCalls,
    Stated::Allocations,
    Stated::PlannedMemory,
    Stated::Caches,
];

/// The files about collective communication.
const COMMUNICATION: [&str; 2] = ["communication.json", "communication_matrix.json"];

/// The databases of figures beside that of records, as PyTorch's and MindSpore's profilers call them.
const ANALYSES: [&str; 2] = ["analysis.db", "communication_analyzer.db"];

/// The databases of frameworks' profilers; a rank's number follows.
const FRAMEWORKS: [&str; 2] = ["ascend_pytorch_profiler", "ascend_mindspore_profiler"];

/// The outputs of one run that make a trace.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub database: Option<PathBuf>,
    /// Databases of other ranks, which are runs of their own.
    pub of_other_ranks: Vec<PathBuf>,
    /// In the layout of 2022 each device and inference has its own; a long one is split into several files.
    pub timelines: Vec<PathBuf>,
    /// Whether the timelines are the parts of one that was split.
    pub timelines_are_parts: bool,
    /// A long table is split into several files.
    pub tables: Vec<PathBuf>,
    /// The tables of inferences.
    pub steps: Vec<PathBuf>,
    /// The tables of ranges of the program.
    pub ranges: Vec<PathBuf>,
    /// The tables of memory over time.
    pub samples: Vec<PathBuf>,
    /// The tables that sum up, and what they are about.
    pub stated: Vec<(Stated, PathBuf)>,
    /// The files about collective communication.
    pub communication: Vec<PathBuf>,
    /// The database of figures.
    pub analysis: Option<PathBuf>,
    /// The files of earlier versions of MindSpore's profiler, by device.
    pub mindspore: BTreeMap<u32, mindspore::Device>,
}

impl Outputs {
    /// Adds the outputs of 2022 of the same folder, which devices have in folders of their own.
    fn complete(&mut self, older: Self) {
        (self.timelines, self.timelines_are_parts) = (older.timelines, false);
        self.tables = older.tables;
        if self.steps.is_empty() {
            self.steps = older.steps;
        }
        if self.ranges.is_empty() {
            self.ranges = older.ranges;
        }
        if self.samples.is_empty() {
            self.samples = older.samples;
        }
        if self.stated.is_empty() {
            self.stated = older.stated;
        }
    }

    /// Whether there is nothing that tells of a run, not even sums.
    pub fn is_empty(&self) -> bool {
        let sums = self.stated.len() + self.communication.len() + self.samples.len() + self.steps.len();
        !self.has_text() && self.database.is_none() && self.analysis.is_none() && sums == 0
    }

    /// Whether there are tasks in other files than databases.
    pub fn has_text(&self) -> bool {
        let without_tasks = self.mindspore.values().all(mindspore::Device::is_empty);
        !(self.timelines.is_empty() && self.tables.is_empty() && without_tasks)
    }
}

/// The outputs in a folder or in those below it.
pub(super) fn find_outputs(path: &Path) -> Result<Outputs, FolderError> {
    let mut files = files_in(path)?;
    for folder in OUTPUT_FOLDERS.map(|name| path.join(name)) {
        if folder.is_dir() {
            files.append(&mut files_in(&folder)?);
        }
    }
    // Every export writes new files whose names end in its time: the last one counts.
    let last = |prefix: &str, suffix: &str| {
        let name_of = |path: &&PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let of_kind = |path: &&PathBuf| {
            name_of(path).is_some_and(|name| {
                let stamp = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
                stamp.is_some_and(|stamp| stamp.bytes().all(|byte| byte.is_ascii_digit()))
            })
        };
        let time = |path: &&PathBuf| name_of(path).map(|name| (name.len(), name));
        files.iter().filter(of_kind).max_by_key(time).cloned()
    };
    let mut of_ranks = databases_of_ranks(&files).into_iter();
    let database = of_ranks.next().or_else(|| last("msprof_", ".db"));
    let timeline = last("trace_view", ".json").or_else(|| last("msprof_", ".json"));
    let timelines_are_parts = timeline.is_none();
    let timelines = match timeline {
        Some(timeline) => vec![timeline],
        None => last_export(&files, "msprof_slice_", ".json"),
    };
    let tables = match last("kernel_details", ".csv") {
        Some(table) => vec![table],
        None => last_export(&files, "op_summary_", ".csv"),
    };
    let steps = last_export(&files, "step_trace_", ".csv");
    let samples_of = |table: &str| match last(table, ".csv") {
        Some(table) => vec![table],
        None => last_export(&files, &format!("{table}_"), ".csv"),
    };
    let samples = SAMPLES.into_iter().flat_map(samples_of).collect();
    let named = |name: &str| files.iter().find(|path| path.file_name().is_some_and(|it| it == name)).cloned();
    let mut outputs = Outputs {
        database,
        of_other_ranks: of_ranks.collect(),
        timelines,
        timelines_are_parts,
        tables,
        steps,
        ranges: last_export(&files, "msprof_tx_", ".csv"),
        samples,
        stated: stated_of(|name| Ok(samples_of(name)))?,
        communication: COMMUNICATION.iter().filter_map(|name| named(name)).collect(),
        analysis: ANALYSES.iter().find_map(|name| named(name)),
        mindspore: mindspore::find_devices(&files),
    };
    outputs.stated.extend(mindspore::find_stated(&files));
    if outputs.timelines.is_empty() && outputs.tables.is_empty() {
        outputs.complete(outputs_of_2022(path)?);
    }
    Ok(outputs)
}

/// The databases of frameworks' profilers, the lowest rank first. Without a number in its name, a database is
/// of the only rank, and of no other where one with a number lies beside it.
fn databases_of_ranks(files: &[PathBuf]) -> Vec<PathBuf> {
    let rank_of = |path: &PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let (place, rest) = FRAMEWORKS.iter().enumerate().find_map(|(place, framework)| {
            Some((place, name.strip_prefix(framework)?.strip_suffix(".db")?))
        })?;
        let rank: u32 = match rest.strip_prefix('_') {
            Some(number) => number.parse().ok()?,
            None if rest.is_empty() => u32::MAX,
            None => return None,
        };
        Some((place, rank, path.clone()))
    };
    let mut found: Vec<_> = files.iter().filter_map(rank_of).collect();
    found.sort();
    found.into_iter().map(|(.., path)| path).collect()
}

/// The tables that sum up, each kind by the files that `find` gives for its name.
fn stated_of(
    find: impl Fn(&str) -> Result<Vec<PathBuf>, FolderError>,
) -> Result<Vec<(Stated, PathBuf)>, FolderError> {
    let mut found = Vec::new();
    for kind in STATED {
        found.extend(find(kind.file())?.into_iter().map(|path| (kind, path)));
    }
    Ok(found)
}

/// A folder itself and those of its devices, below which the layout of 2022 has its own.
fn folders_of_2022(path: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let mut folders = vec![path.to_owned()];
    folders.extend(entries(path)?.into_iter().filter(|path| path.is_dir() && starts_with(path, "device_")));
    Ok(folders)
}

/// The outputs in the layout of 2022 below a folder, or below those of its devices.
fn outputs_of_2022(path: &Path) -> Result<Outputs, FolderError> {
    let folders = folders_of_2022(path)?;
    let in_all = |folder: &str, prefix: &str, suffix: &str| -> Result<Vec<PathBuf>, FolderError> {
        let mut found = Vec::new();
        for folder in folders.iter().map(|path| path.join(folder)).filter(|folder| folder.is_dir()) {
            let is_part = |part: &str| part == "slice" || part.bytes().all(|byte| byte.is_ascii_digit());
            let is_it = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let numbers = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
                numbers.is_some_and(|numbers| numbers.split('_').all(is_part))
            };
            found.extend(files_in(&folder)?.into_iter().filter(is_it));
        }
        Ok(found)
    };
    let in_all_of = |names: &[&str]| -> Result<Vec<PathBuf>, FolderError> {
        let found = names.iter().map(|name| in_all(layout_2022::TABLES, &format!("{name}_"), ".csv"));
        Ok(found.collect::<Result<Vec<_>, _>>()?.concat())
    };
    Ok(Outputs {
        timelines: in_all(layout_2022::TIMELINES, "msprof_", ".json")?,
        tables: in_all(layout_2022::TABLES, "op_summary_", ".csv")?,
        steps: in_all(layout_2022::TABLES, "step_trace_", ".csv")?,
        ranges: in_all(layout_2022::TABLES, "msprof_tx_", ".csv")?,
        samples: in_all_of(&SAMPLES)?,
        stated: stated_of(|name| in_all(layout_2022::TABLES, &format!("{name}_"), ".csv"))?,
        ..Outputs::default()
    })
}

/// All files of a folder, and of the folders below it that outputs are put into, today or in 2022.
pub(super) fn all_files(path: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let below = OUTPUT_FOLDERS.map(|name| path.join(name));
    let older = folders_of_2022(path)?;
    let older = [layout_2022::TABLES, layout_2022::TIMELINES]
        .into_iter()
        .flat_map(|name| older.iter().map(move |folder| folder.join(name)));
    let below = below.into_iter().chain(older).filter(|folder| folder.is_dir());
    let folders: BTreeSet<PathBuf> = [path.to_owned()].into_iter().chain(below).collect();
    let mut files = Vec::new();
    for folder in folders {
        // Hidden files are the tools' own.
        files.extend(files_in(&folder)?.into_iter().filter(|path| !starts_with(path, ".")));
    }
    Ok(files)
}

fn starts_with(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

/// All files of the last export of a table or timeline: those whose names hold the latest time.
fn last_export(files: &[PathBuf], prefix: &str, suffix: &str) -> Vec<PathBuf> {
    /// Digits of a time from years to seconds.
    const STAMP: usize = 14;
    let stamp = |path: &PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let rest = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
        let is_stamp = |part: &&str| part.len() == STAMP && part.bytes().all(|byte| byte.is_ascii_digit());
        Some(rest.split('_').find(is_stamp)?.to_owned())
    };
    let latest = files.iter().filter_map(stamp).max();
    files.iter().filter(|path| latest.is_some() && stamp(path) == latest).cloned().collect()
}

/// The files in a folder, by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_file()).collect())
}

/// Everything directly in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let failed = |source| FolderError::Io { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}
