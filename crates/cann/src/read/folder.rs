//! Whole folders of outputs, joined as far as they belong together.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use opscope_trace::{LossKind, Trace};

use opscope_formats::chrome;
use opscope_formats::input::Input;
use opscope_formats::reading::Stop;

use super::database;
use super::tables::{self, Kernels, complete, join};
use crate::layout_2022;
use crate::timeline::AscendTimeline;

/// The folders below a run's own that the tools put their outputs into.
const OUTPUT_FOLDERS: [&str; 2] = ["ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output"];

/// The tables of memory over time.
const SAMPLES: [&str; 3] = ["memory_record", "npu_module_mem", "npu_mem"];

/// A folder that could not be read as a trace.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Whoever asked for it wants it no more.
    #[error("{}: the reading was stopped", path.display())]
    Stopped {
        /// The file that it had come to.
        path: PathBuf,
    },
    /// There is nothing that makes a trace.
    #[error(
        "{}: there are none of the outputs that make a trace: ascend_pytorch_profiler_*.db, msprof_*.db, \
         trace_view.json, msprof_*.json, kernel_details.csv, op_summary_*.csv",
        path.display()
    )]
    NoOutputs {
        /// The folder.
        path: PathBuf,
    },
    /// A database that could not be read.
    #[error(transparent)]
    Database(#[from] database::ReadError),
    /// A timeline that could not be read.
    #[error("{}: {source}", path.display())]
    Timeline {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: chrome::ReadError,
    },
    /// A table that could not be read.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: tables::ReadError,
    },
}

/// The outputs of one run that make a trace.
#[derive(Debug, Default)]
struct Outputs {
    database: Option<PathBuf>,
    /// In the layout of 2022 each device and inference has its own.
    timelines: Vec<PathBuf>,
    /// A long table is split into several files.
    tables: Vec<PathBuf>,
    /// The tables of inferences.
    steps: Vec<PathBuf>,
    /// The tables of memory over time.
    samples: Vec<PathBuf>,
}

/// Whether a folder holds outputs of the Ascend tools, itself or in the folder that they are put
/// into.
pub fn is_folder(path: &Path) -> bool {
    find_outputs(path).is_ok_and(|outputs| !outputs.is_empty())
}

/// Reads a folder of outputs: the database if there is one, because it holds most, completed by the metrics
/// that only the tables of tasks have; else the timeline together with the table of tasks, or whichever of
/// them there is. Counters of memory that only tables have are added. Begin and end of inferences are the timeline's, or those of the table of inferences, where
/// there is one.
///
/// # Errors
/// When nothing in it makes a trace, or what does can't be read; always with the path.
pub fn read_folder(path: &Path) -> Result<Trace, FolderError> {
    read_folder_until(path, &Stop::default())
}

/// As [`read_folder`], until `stop` is wanted.
///
/// # Errors
/// As [`read_folder`], and where it was stopped.
pub fn read_folder_until(path: &Path, stop: &Stop) -> Result<Trace, FolderError> {
    let outputs = find_outputs(path)?;
    if outputs.is_empty() {
        return Err(FolderError::NoOutputs { path: path.to_owned() });
    }
    let mut reading = Reading { stop, damaged: Vec::new() };
    let mut trace = match &outputs.database {
        Some(database) => reading.database(database, &outputs)?,
        None => reading.timeline_and_tables(&outputs)?,
    };
    reading.add_counters(&mut trace, &outputs)?;
    for damage in reading.damaged {
        trace.count_loss(LossKind::CutCompression, 1, &damage);
    }
    Ok(trace)
}

/// The reading of a folder's files.
struct Reading<'s> {
    stop: &'s Stop,
    /// The damage that the compression of files has.
    damaged: Vec<String>,
}

impl Reading<'_> {
    /// A database and what tables beside it know besides. It goes without those that can't be read.
    fn database(&mut self, path: &Path, outputs: &Outputs) -> Result<Trace, FolderError> {
        let mut trace = database::read_file(path, self.stop)?;
        match self.tables(outputs) {
            Ok(kernels) => complete::add_readings(&mut trace, &kernels, self.stop),
            Err(stopped @ FolderError::Stopped { .. }) => return Err(stopped),
            Err(error) => trace.count_loss(LossKind::UnreadFile, 1, &error.to_string()),
        }
        self.add_steps(&mut trace, outputs)?;
        Ok(trace)
    }

    /// A timeline with the tables of tasks, or either.
    fn timeline_and_tables(&mut self, outputs: &Outputs) -> Result<Trace, FolderError> {
        let mut kernels = self.tables(outputs)?;
        if kernels.lacks_device()
            && let Some(device) = self.device_of_samples(outputs)?
        {
            kernels.place_on(device);
        }
        // Several timelines tell of the same calls, so tables are taken in their stead.
        let read = if outputs.timelines.len() > 1 && !kernels.is_empty() { 0 } else { 1 };
        let (timeline, unread) = outputs.timelines.split_at(read.min(outputs.timelines.len()));
        let mut trace = match timeline.first() {
            None => {
                let mut trace = kernels.to_trace(self.stop);
                self.add_steps(&mut trace, outputs)?;
                trace
            }
            Some(path) => {
                let read = chrome::read_with(&self.open(path)?, &[&AscendTimeline], self.stop);
                let mut trace =
                    read.map_err(|source| FolderError::Timeline { path: path.clone(), source })?;
                if trace.iterations.is_empty() {
                    self.add_steps(&mut trace, outputs)?;
                }
                if !kernels.is_empty() {
                    join::add_table(&mut trace, &kernels, self.stop);
                }
                trace
            }
        };
        for path in unread {
            trace.count_loss(LossKind::UnreadFile, 1, &path.display().to_string());
        }
        Ok(trace)
    }

    /// The rows of all tables of tasks.
    fn tables(&mut self, outputs: &Outputs) -> Result<Kernels, FolderError> {
        let mut kernels = Kernels::default();
        for path in &outputs.tables {
            let text = self.open(path)?;
            let failed = |source| FolderError::Table { path: path.clone(), source };
            tables::read_tasks(&text, self.stop, &mut kernels).map_err(failed)?;
        }
        Ok(kernels)
    }

    /// Adds the inferences of the tables of them. One that can't be read is counted.
    fn add_steps(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        let mut steps = Vec::new();
        for path in &outputs.steps {
            match tables::read_steps(&self.open(path)?, self.stop) {
                Ok(table) => steps.push(table),
                Err(_) => trace.count_loss(LossKind::UnreadFile, 1, &path.display().to_string()),
            }
        }
        complete::add_iterations(trace, &steps);
        Ok(())
    }

    /// Adds what the tables of memory tell beyond the other outputs. One that can't be read, or not be laid
    /// beside them, is counted.
    fn add_counters(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        for path in &outputs.samples {
            let table = tables::read_samples(&self.open(path)?, self.stop);
            if !table.is_ok_and(|table| complete::add_counters(trace, &table)) {
                trace.count_loss(LossKind::UnreadFile, 1, &path.display().to_string());
            }
        }
        Ok(())
    }

    /// The only device that the tables of memory name.
    fn device_of_samples(&mut self, outputs: &Outputs) -> Result<Option<u32>, FolderError> {
        let mut devices = BTreeSet::new();
        for path in &outputs.samples {
            devices.extend(tables::devices_of_samples(&self.open(path)?, self.stop));
        }
        Ok(devices.first().copied().filter(|_| devices.len() == 1))
    }

    /// The bytes of a file; damage of its compression is noted.
    fn open(&mut self, path: &Path) -> Result<Input, FolderError> {
        if self.stop.is_wanted() {
            return Err(FolderError::Stopped { path: path.to_owned() });
        }
        let failed = |source| FolderError::Io { path: path.to_owned(), source };
        let input = Input::open_until(path, &|| self.stop.is_wanted()).map_err(failed)?;
        self.damaged.extend(input.damage().map(|problem| format!("{}: {problem}", path.display())));
        Ok(input)
    }
}

impl Outputs {
    fn is_empty(&self) -> bool {
        self.database.is_none() && self.timelines.is_empty() && self.tables.is_empty()
    }
}

/// The outputs in a folder or in those below it.
fn find_outputs(path: &Path) -> Result<Outputs, FolderError> {
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
    let outputs = Outputs { database, timelines: timeline.into_iter().collect(), tables, steps, samples };
    if outputs.is_empty() { outputs_of_2022(path) } else { Ok(outputs) }
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
    Ok(Outputs {
        database: None,
        timelines: in_all(layout_2022::TIMELINES, "msprof_", ".json")?,
        tables: in_all(layout_2022::TABLES, "op_summary_", ".csv")?,
        steps: in_all(layout_2022::TABLES, "step_trace_", ".csv")?,
        samples: Vec::new(),
    })
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
