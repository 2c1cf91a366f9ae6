//! Whole folders of outputs, joined as far as they belong together.

mod outputs;
mod seen;

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use opscope_trace::{FigureTopic, LossKind, Trace};

use opscope_formats::chrome;
use opscope_formats::input::Input;
use opscope_formats::reading::Stop;

use super::tables::{self, Kernels, Stated, caches, complete, join};
use super::{communication, database};
use crate::timeline::AscendTimeline;
use outputs::{Outputs, find_outputs};
use seen::Fates;
pub use seen::{FileFate, SeenFile};

/// A folder of outputs that was read.
#[derive(Debug)]
pub struct Folder {
    /// All that its files hold, joined.
    pub trace: Trace,
    /// Its files, by name.
    pub files: Vec<SeenFile>,
}

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

/// Whether a folder holds outputs of the Ascend tools, itself or in the folder that they are put
/// into.
pub fn is_folder(path: &Path) -> bool {
    find_outputs(path).is_ok_and(|outputs| !outputs.is_empty())
}

/// Reads a folder of outputs: the database if there is one, because it holds most, completed by the metrics
/// that only the tables of tasks have; else the timeline together with the table of tasks, or whichever of
/// them there is. Counters of memory that only tables have are added. Begin and end of inferences are the timeline's, or those of the table of inferences, where
/// there is one. Figures of tables that sum up are kept beside; those of a database go before.
///
/// # Errors
/// When nothing in it makes a trace, or what does can't be read; always with the path.
pub fn read_folder(path: &Path) -> Result<Trace, FolderError> {
    read_folder_until(path, &Stop::default()).map(|folder| folder.trace)
}

/// As [`read_folder`], until `stop` is wanted, with what became of each file.
///
/// # Errors
/// As [`read_folder`], and where it was stopped.
pub fn read_folder_until(path: &Path, stop: &Stop) -> Result<Folder, FolderError> {
    let outputs = find_outputs(path)?;
    if outputs.is_empty() {
        return Err(FolderError::NoOutputs { path: path.to_owned() });
    }
    let mut reading = Reading { stop, damaged: Vec::new(), fates: Fates::default() };
    let mut trace = match &outputs.database {
        Some(database) => reading.database(database, &outputs)?,
        None => reading.timeline_and_tables(&outputs)?,
    };
    reading.add_counters(&mut trace, &outputs)?;
    reading.add_figures(&mut trace, &outputs)?;
    for damage in reading.damaged {
        trace.count_loss(LossKind::CutCompression, 1, &damage);
    }
    let files = reading.fates.list(path, &outputs, &mut trace)?;
    Ok(Folder { trace, files })
}

/// The reading of a folder's files.
struct Reading<'s> {
    stop: &'s Stop,
    /// The damage that the compression of files has.
    damaged: Vec<String>,
    fates: Fates,
}

impl Reading<'_> {
    /// A database and what tables beside it know besides. It goes without those that can't be read.
    fn database(&mut self, path: &Path, outputs: &Outputs) -> Result<Trace, FolderError> {
        let mut trace = database::read_file(path, self.stop)?;
        self.fates.read(path, "calls, tasks, operators, counters");
        match self.tables(outputs) {
            Ok(kernels) => complete::add_readings(&mut trace, &kernels, self.stop),
            Err(stopped @ FolderError::Stopped { .. }) => return Err(stopped),
            Err(error) => {
                trace.count_loss(LossKind::UnreadFile, 1, &error.to_string());
                outputs.tables.iter().for_each(|path| self.fates.failed(path, &error));
            }
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
                self.fates.read(path, "calls, tasks, counters");
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
            self.fates.not_needed(path, "tables have the tasks of all timelines");
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
            self.fates.read(path, "tasks with their operators and what hardware counted");
        }
        Ok(kernels)
    }

    /// Adds the inferences of the tables of them. One that can't be read is counted.
    fn add_steps(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        let mut steps = Vec::new();
        for path in &outputs.steps {
            match tables::read_steps(&self.open(path)?, self.stop) {
                Ok(table) => {
                    steps.push(table);
                    self.fates.read(path, "begin and end of inferences");
                }
                Err(error) => self.count_unread(trace, path, error),
            }
        }
        complete::add_iterations(trace, &steps);
        Ok(())
    }

    /// Adds what the tables of memory tell beyond the other outputs. One that can't be read, or not be laid
    /// beside them, is counted.
    fn add_counters(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        for path in &outputs.samples {
            match tables::read_samples(&self.open(path)?, self.stop) {
                Ok(table) if complete::add_counters(trace, &table) => {
                    self.fates.read(path, "memory over time")
                }
                Ok(_) => self.count_unread(trace, path, "its times are by another clock"),
                Err(error) => self.count_unread(trace, path, error),
            }
        }
        Ok(())
    }

    /// Adds the figures of the files that sum up. Those that a database has are not added again.
    fn add_figures(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        if let Some(path) = &outputs.analysis {
            match database::read_file(path, self.stop) {
                Ok(figures) => self.append(trace, path, &figures),
                Err(error) => self.count_unread(trace, path, error.problem),
            }
        }
        // Sums over the steps of operations are another figure than those of the files.
        let of_database = |row: &opscope_trace::Figure| trace.strings.get(row.source) != database::LINKS;
        let known: HashSet<FigureTopic> =
            trace.figures.iter().map(|(_, row)| row).filter(of_database).map(|row| row.topic).collect();
        for path in &outputs.communication {
            match communication::read(&self.open(path)?, self.stop) {
                Ok(figures) if figures.figures.topic().iter().all(|topic| !known.contains(topic)) => {
                    self.append(trace, path, &figures);
                }
                Ok(_) => self.fates.not_needed(path, "the database has these figures"),
                Err(error) => self.count_unread(trace, path, error),
            }
        }
        for (kind, path) in &outputs.stated {
            match tables::read_stated(&self.open(path)?, *kind, self.stop) {
                Ok(figures) if *kind == Stated::Caches => {
                    caches::add_readings(trace, &figures);
                    self.fates.read(path, "how often tasks found what they read in the cache");
                }
                Ok(figures) if figures.figures.topic().iter().all(|topic| !known.contains(topic)) => {
                    self.append(trace, path, &figures);
                }
                Ok(_) => self.fates.not_needed(path, "the database has these figures"),
                Err(error) => self.count_unread(trace, path, error),
            }
        }
        Ok(())
    }

    fn append(&mut self, trace: &mut Trace, path: &Path, figures: &Trace) {
        trace.append_figures(figures);
        trace.append_losses(figures);
        self.fates.read(path, "figures that sum up what was recorded");
    }

    /// Counts a file that could not be read, and says why.
    fn count_unread(&mut self, trace: &mut Trace, path: &Path, why: impl std::fmt::Display) {
        trace.count_loss(LossKind::UnreadFile, 1, &path.display().to_string());
        self.fates.failed(path, why);
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
