//! Whole folders of outputs, joined as far as they belong together.

mod exports_2022;
mod mindspore;
mod not_needed;
mod other_runs;
mod outputs;
mod seen;
mod timelines;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use opscope_trace::{FigureTopic, Loss, LossKind, Trace};

use opscope_formats::chrome;
use opscope_formats::input::Input;
use opscope_formats::reading::Stop;

use super::tables::{self, Kernels, KnownRanges, Stated, caches, complete, join};
use super::{communication, database};
use exports_2022::Exports;
use other_runs::{has_times, is_outside, lies_outside};
use outputs::{Outputs, find_outputs};
use seen::{ANOTHER_RANK, ANOTHER_TIME, Fates, REPEATED};
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
        "{}: there are none of the outputs that make a trace: ascend_pytorch_profiler_*.db, \
         ascend_mindspore_profiler_*.db, msprof_*.db, trace_view.json, msprof_*.json, kernel_details.csv, op_summary_*.csv",
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
/// them there is. Counters of memory that only tables have are added. Begin and end of inferences are the
/// timeline's, or those of the table of inferences, where there is one. Figures of tables that sum up are kept
/// beside; those of a database go before. Files of another run are left out and counted, and so are those that
/// can't be read, where there are others.
///
/// # Errors
/// When there are no outputs, or none of those that list tasks can be read; always with the path.
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
    let exports = Exports::of(&outputs);
    let mut reading = Reading {
        folder: path,
        stop,
        damaged: Vec::new(),
        unread: Vec::new(),
        fates: Fates::default(),
        exports,
    };
    let mut trace = match &outputs.database {
        None => reading.text(&outputs)?,
        Some(database) => match reading.database(database, &outputs) {
            Err(FolderError::Database(error)) if outputs.has_text() && !stop.is_wanted() => {
                reading.note_unread(database, error.problem);
                reading.text(&outputs)?
            }
            read => read?,
        },
    };
    reading.add_ranges(&mut trace, &outputs)?;
    reading.add_counters(&mut trace, &outputs)?;
    reading.add_figures(&mut trace, &outputs)?;
    for damage in reading.damaged {
        trace.count_loss(LossKind::CutCompression, 1, &damage);
    }
    for file in reading.unread {
        trace.count_loss(LossKind::FileNotRead, 1, &file);
    }
    outputs.of_other_ranks.iter().for_each(|path| reading.fates.of_other_run(path, ANOTHER_RANK));
    let files = reading.fates.list(path, &mut trace)?;
    Ok(Folder { trace, files })
}

/// The reading of a folder's files.
struct Reading<'s> {
    folder: &'s Path,
    stop: &'s Stop,
    /// The damage that the compression of files has.
    damaged: Vec<String>,
    /// Files that can't be read, and why.
    unread: Vec<String>,
    fates: Fates,
    exports: Exports,
}

impl Reading<'_> {
    /// A database and what tables beside it know besides. It goes without those that can't be read.
    fn database(&mut self, path: &Path, outputs: &Outputs) -> Result<Trace, FolderError> {
        let mut trace = self.named(path, database::read_file(path, self.stop))?;
        self.fates.read(path, "calls, tasks, operators, counters");
        let kernels = self.tables(outputs)?;
        if !self.are_of_other_run(&trace, &kernels, outputs) {
            complete::add_readings(&mut trace, &kernels, self.stop);
        }
        self.add_steps(&mut trace, outputs)?;
        Ok(trace)
    }

    /// Whether the tables of tasks lie outside of the times of the trace, which is said of each then.
    fn are_of_other_run(&mut self, trace: &Trace, kernels: &Kernels, outputs: &Outputs) -> bool {
        let span = kernels.span();
        let are = span.is_some_and(|(first, last)| is_outside(trace, first, last));
        if are {
            outputs.tables.iter().for_each(|path| self.fates.of_other_run(path, ANOTHER_TIME));
        }
        are
    }

    /// Timelines with the tables of tasks, or either. What can't be read is left out, where there is anything else.
    fn text(&mut self, outputs: &Outputs) -> Result<Trace, FolderError> {
        let mut kernels = self.tables(outputs)?;
        if kernels.is_empty() && outputs.timelines.is_empty() {
            return self.mindspore_alone(outputs);
        }
        if kernels.lacks_device()
            && let Some(device) = self.device_of_samples(outputs)?
        {
            kernels.place_on(device);
        }
        // The timelines of several inferences tell of the same calls, so tables are taken in their stead.
        let are_wanted = outputs.timelines_are_parts || outputs.timelines.len() == 1 || kernels.is_empty();
        if !are_wanted {
            for path in &outputs.timelines {
                self.fates.not_needed(path, "tables have the tasks of all timelines");
            }
        }
        let timeline = match are_wanted && !outputs.timelines.is_empty() {
            true => self.timelines(outputs, kernels.is_empty())?,
            false => None,
        };
        let Some(mut trace) = timeline else {
            let mut trace = kernels.to_trace(self.stop);
            self.add_steps(&mut trace, outputs)?;
            if !are_wanted {
                for path in &outputs.timelines {
                    trace.count_loss(LossKind::UnreadFile, 1, &self.name(path));
                }
            }
            return Ok(trace);
        };
        if trace.iterations.is_empty() {
            self.add_steps(&mut trace, outputs)?;
        }
        if !kernels.is_empty() && !self.are_of_other_run(&trace, &kernels, outputs) {
            join::add_table(&mut trace, &kernels, self.stop);
        }
        Ok(trace)
    }

    /// The tasks and inferences that earlier versions of MindSpore's profiler left.
    fn mindspore_alone(&mut self, outputs: &Outputs) -> Result<Trace, FolderError> {
        let (mut kernels, mut steps) = (Kernels::default(), Vec::new());
        for (number, device) in &outputs.mindspore {
            let of_device = self.mindspore(*number, device, &mut kernels)?;
            // Inferences have no device: those of the first stand for all.
            if steps.is_empty() {
                steps = of_device;
            }
        }
        let mut trace = kernels.to_trace(self.stop);
        complete::add_iterations(&mut trace, &steps);
        self.add_steps(&mut trace, outputs)?;
        Ok(trace)
    }

    /// The timelines of all devices and inferences; nothing where they can't be read and aren't needed.
    fn timelines(&mut self, outputs: &Outputs, are_needed: bool) -> Result<Option<Trace>, FolderError> {
        let mut whole: Option<Trace> = None;
        for (device, paths) in timelines::by_device(&outputs.timelines) {
            let inputs = paths.iter().map(|path| self.open(path)).collect::<Result<Vec<_>, _>>()?;
            let mut read = timelines::read(&inputs, self.stop);
            // Of several that are read as one, the first stands for all.
            if let [path, ..] = paths[..] {
                read = self.named(path, read);
            }
            match read {
                Ok(mut trace) => {
                    join::set_device(&mut trace, device);
                    paths.iter().for_each(|path| self.fates.read(path, "calls, tasks, counters"));
                    match &mut whole {
                        None => whole = Some(trace),
                        Some(whole) => timelines::add(whole, &trace),
                    }
                }
                Err(source) if are_needed || self.stop.is_wanted() => {
                    return Err(FolderError::Timeline { path: paths[0].to_owned(), source });
                }
                Err(source) => paths.iter().for_each(|path| self.note_unread(path, &source)),
            }
        }
        Ok(whole)
    }

    /// The rows of all tables of tasks. One that can't be read is left out, where there are other tasks.
    fn tables(&mut self, outputs: &Outputs) -> Result<Kernels, FolderError> {
        let mut kernels = Kernels::default();
        let has_others = outputs.database.is_some() || !outputs.timelines.is_empty();
        for (place, path) in outputs.tables.iter().enumerate() {
            let text = self.open(path)?;
            kernels.begin_file(&self.name(path));
            match tables::read_tasks(&text, self.stop, &mut kernels) {
                Ok(()) => self.fates.read(path, "tasks with their operators and what hardware counted"),
                Err(source) => {
                    let is_last = place + 1 == outputs.tables.len();
                    if is_last && kernels.is_empty() && !has_others {
                        return Err(FolderError::Table { path: path.clone(), source });
                    }
                    self.note_unread(path, source);
                }
            }
        }
        Ok(kernels)
    }

    /// Notes a file that can't be read, and why.
    fn note_unread(&mut self, path: &Path, why: impl std::fmt::Display) {
        self.unread.push(format!("{}: {why}", self.name(path)));
        self.fates.failed(path, why);
    }

    /// The name of a file below the folder.
    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.folder).unwrap_or(path).display().to_string()
    }

    /// Puts the name of a file before the places of what was lost of it, if it could be read.
    fn named<E>(&self, path: &Path, read: Result<Trace, E>) -> Result<Trace, E> {
        let mut trace = read?;
        let name = self.name(path);
        for id in trace.losses.ids() {
            let row = trace.losses.get(id);
            let place = match trace.strings.get(row.detail) {
                "" => name.clone(),
                place if place.starts_with("first on line ") => format!("{name}, {place}"),
                place => format!("{name}: {place}"),
            };
            let detail = trace.strings.intern(&place);
            trace.losses.set(id, Loss { detail, ..row });
        }
        Ok(trace)
    }

    /// Adds the inferences of the tables of them. One that can't be read is counted.
    fn add_steps(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        let mut steps = Vec::new();
        for path in &outputs.steps {
            let text = self.open(path)?;
            match self.named(path, tables::read_steps(&text, self.stop)) {
                Ok(table) if lies_outside(&table, trace) => self.fates.of_other_run(path, ANOTHER_TIME),
                Ok(table) => {
                    steps.push(table);
                    self.fates.read(path, "begin and end of inferences");
                }
                // Tables of 2022 tell how long inferences took, and not when.
                Err(error) => {
                    match self.named(path, tables::read_stated(&text, Stated::StepTimes, self.stop)) {
                        Ok(_) if self.exports.repeats(Stated::StepTimes, path, &text) => {
                            self.fates.not_needed(path, REPEATED);
                        }
                        Ok(mut figures) => {
                            self.exports.name_device(&mut figures, path);
                            self.append(trace, path, &figures);
                        }
                        Err(_) => self.note_unread(path, error),
                    }
                }
            }
        }
        complete::add_iterations(trace, &steps);
        Ok(())
    }

    /// Adds the ranges and marks of the program where no other file has any. A table that can't be read, or not be
    /// laid beside the others, is counted.
    fn add_ranges(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        if !trace.ranges.is_empty() {
            return Ok(());
        }
        let mut known = KnownRanges::default();
        for path in &outputs.ranges {
            let table = tables::read_ranges(&self.open(path)?, self.stop);
            let table = self.named(path, table);
            if let Ok(table) = &table
                && !has_times(trace)
            {
                trace.clock.unix_zero = table.clock.unix_zero;
            }
            match table {
                Ok(table) if lies_outside(&table, trace) => self.fates.of_other_run(path, ANOTHER_TIME),
                Ok(table) if complete::add_ranges(trace, &table, &mut known) => {
                    self.fates.read(path, "ranges and marks of the program");
                }
                Ok(_) => self.note_unread(path, "its times are by another clock"),
                Err(error) => self.note_unread(path, error),
            }
        }
        Ok(())
    }

    /// Adds what the tables of memory tell beyond the other outputs. One that can't be read, or not be laid
    /// beside them, is counted.
    fn add_counters(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        for path in &outputs.samples {
            let table = tables::read_samples(&self.open(path)?, self.stop);
            let table = self.named(path, table);
            if let Ok(table) = &table
                && !has_times(trace)
            {
                trace.clock.unix_zero = table.clock.unix_zero;
            }
            match table {
                Ok(table) if lies_outside(&table, trace) => self.fates.of_other_run(path, ANOTHER_TIME),
                Ok(table) if complete::add_counters(trace, &table) => {
                    self.fates.read(path, "memory over time")
                }
                Ok(_) => self.note_unread(path, "its times are by another clock"),
                Err(error) => self.note_unread(path, error),
            }
        }
        Ok(())
    }

    /// Adds the figures of the files that sum up. Those that a database has are not added again.
    fn add_figures(&mut self, trace: &mut Trace, outputs: &Outputs) -> Result<(), FolderError> {
        if let Some(path) = &outputs.analysis {
            match self.named(path, database::read_file(path, self.stop)) {
                Ok(figures) => self.append(trace, path, &figures),
                Err(error) => self.note_unread(path, error.problem),
            }
        }
        // Sums over the steps of operations are another figure than those of the files.
        let of_database = |row: &opscope_trace::Figure| trace.strings.get(row.source) != database::LINKS;
        let known: HashSet<FigureTopic> =
            trace.figures.iter().map(|(_, row)| row).filter(of_database).map(|row| row.topic).collect();
        for path in &outputs.communication {
            let read = communication::read(&self.open(path)?, self.stop);
            match self.named(path, read) {
                Ok(figures) if figures.figures.topic().iter().all(|topic| !known.contains(topic)) => {
                    self.append(trace, path, &figures);
                }
                Ok(_) => self.fates.not_needed(path, "the database has these figures"),
                Err(error) => self.note_unread(path, error),
            }
        }
        let several_devices = outputs.mindspore.len() > 1;
        for (kind, path) in &outputs.stated {
            let text = self.open(path)?;
            match self.named(path, tables::read_stated(&text, *kind, self.stop)) {
                Ok(_) if self.exports.repeats(*kind, path, &text) => self.fates.not_needed(path, REPEATED),
                Ok(figures) if *kind == Stated::Caches => {
                    caches::add_readings(trace, &figures);
                    self.fates.read(path, "how often tasks found what they read in the cache");
                }
                Ok(mut figures) if figures.figures.topic().iter().all(|topic| !known.contains(topic)) => {
                    if let Some(device) = mindspore::device_of(*kind, path).filter(|_| several_devices) {
                        mindspore::name_device(&mut figures, device);
                    }
                    self.exports.name_device(&mut figures, path);
                    self.append(trace, path, &figures);
                }
                Ok(_) => self.fates.not_needed(path, "the database has these figures"),
                Err(error) => self.note_unread(path, error),
            }
        }
        Ok(())
    }

    fn append(&mut self, trace: &mut Trace, path: &Path, figures: &Trace) {
        trace.append_figures(figures);
        trace.append_losses(figures);
        self.fates.read(path, "figures that sum up what was recorded");
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
        let name = self.name(path);
        self.damaged.extend(input.damage().map(|problem| format!("{name}: {problem}")));
        Ok(input)
    }
}
