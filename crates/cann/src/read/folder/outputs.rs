//! The files of a folder of outputs: which of them are read, and what for.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::FolderError;
use crate::layout_2022;
use crate::read::tables::Stated;

/// The folders below a run's own that the tools put their outputs into.
const OUTPUT_FOLDERS: [&str; 2] = ["ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output"];

/// The tables of memory over time.
const SAMPLES: [&str; 3] = ["memory_record", "npu_module_mem", "npu_mem"];

/// The tables that sum up.
const STATED: [Stated; 8] = [
    Stated::Steps,
    Stated::OperatorTypes,
    Stated::CollectiveTypes,
    Stated::Calls,
    Stated::FrameworkCalls,
    Stated::Allocations,
    Stated::PlannedMemory,
    Stated::Caches,
];

/// The files about collective communication.
const COMMUNICATION: [&str; 2] = ["communication.json", "communication_matrix.json"];

/// The database of figures beside that of records.
const ANALYSIS: &str = "analysis.db";

/// The outputs of one run that make a trace.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub database: Option<PathBuf>,
    /// In the layout of 2022 each device and inference has its own.
    pub timelines: Vec<PathBuf>,
    /// A long table is split into several files.
    pub tables: Vec<PathBuf>,
    /// The tables of inferences.
    pub steps: Vec<PathBuf>,
    /// The tables of memory over time.
    pub samples: Vec<PathBuf>,
    /// The tables that sum up, and what they are about.
    pub stated: Vec<(Stated, PathBuf)>,
    /// The files about collective communication.
    pub communication: Vec<PathBuf>,
    /// The database of figures.
    pub analysis: Option<PathBuf>,
}

impl Outputs {
    /// Whether there is nothing that makes a trace.
    pub fn is_empty(&self) -> bool {
        self.database.is_none() && self.timelines.is_empty() && self.tables.is_empty()
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
        files.iter().filter(of_kind).max_by_key(|path| name_of(path)).cloned()
    };
    let database = last("ascend_pytorch_profiler_", ".db")
        .or_else(|| last("ascend_pytorch_profiler", ".db"))
        .or_else(|| last("msprof_", ".db"));
    let timeline = last("trace_view", ".json").or_else(|| last("msprof_", ".json"));
    let tables = match last("kernel_details", ".csv") {
        Some(table) => vec![table],
        None => last_export(&files, "op_summary_"),
    };
    let steps = last_export(&files, "step_trace_");
    let samples_of = |table: &str| match last(table, ".csv") {
        Some(table) => vec![table],
        None => last_export(&files, &format!("{table}_")),
    };
    let samples = SAMPLES.into_iter().flat_map(samples_of).collect();
    let named = |name: &str| files.iter().find(|path| path.file_name().is_some_and(|it| it == name)).cloned();
    let outputs = Outputs {
        database,
        timelines: timeline.into_iter().collect(),
        tables,
        steps,
        samples,
        stated: stated_of(|name| Ok(samples_of(name)))?,
        communication: COMMUNICATION.iter().filter_map(|name| named(name)).collect(),
        analysis: named(ANALYSIS),
    };
    if outputs.is_empty() { outputs_of_2022(path) } else { Ok(outputs) }
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

/// The outputs in the layout of 2022 below a folder, or below those of its devices.
fn outputs_of_2022(path: &Path) -> Result<Outputs, FolderError> {
    let mut folders = vec![path.to_owned()];
    folders.extend(entries(path)?.into_iter().filter(|path| path.is_dir() && starts_with(path, "device_")));
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
        samples: in_all_of(&SAMPLES)?,
        stated: stated_of(|name| in_all(layout_2022::TABLES, &format!("{name}_"), ".csv"))?,
        ..Outputs::default()
    })
}

/// All files of a folder, of the folder below it that outputs are put into, and of those that files are read from.
pub(super) fn all_files(path: &Path, outputs: &Outputs) -> Result<Vec<PathBuf>, FolderError> {
    let below = OUTPUT_FOLDERS.map(|name| path.join(name)).into_iter().filter(|folder| folder.is_dir());
    let read = [&outputs.timelines, &outputs.tables, &outputs.steps, &outputs.samples];
    let read = read.into_iter().flatten().chain(outputs.stated.iter().map(|(_, path)| path));
    let read = read.filter_map(|file| file.parent().map(Path::to_owned));
    let folders: BTreeSet<PathBuf> = [path.to_owned()].into_iter().chain(below).chain(read).collect();
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

/// All files of the last export of a table: those whose names hold the latest time.
fn last_export(files: &[PathBuf], prefix: &str) -> Vec<PathBuf> {
    /// Digits of a time from years to seconds.
    const STAMP: usize = 14;
    let stamp = |path: &PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let rest = name.strip_prefix(prefix)?.strip_suffix(".csv")?;
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
