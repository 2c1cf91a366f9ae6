//! The files that MindSpore's profiler of versions 1 to 2.3 left in its folder `profiler`, where all devices of a
//! run may have theirs side by side, with their numbers in the names. Since 2.4 its folders are like PyTorch's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{FolderError, Kernels, Reading};
use crate::read::tables::mindspore::{Graph, read_steps, read_timeline};
use crate::read::tables::{self, Stated};
use opscope_trace::Trace;

/// The files of one device that tasks are made of.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// `output_timeline_data_<device>.txt`.
    tasks: Option<PathBuf>,
    /// `ascend_timeline_display_<device>.json`, the same without a clock that other files share.
    timeline: Option<PathBuf>,
    /// `framework_raw_<device>.csv`.
    graph: Option<PathBuf>,
    /// `aicpu_intermediate_<device>.csv`.
    ai_cpu: Option<PathBuf>,
    /// `step_trace_raw_<device>_detail_time.csv`.
    steps: Option<PathBuf>,
}

/// Files by the begin and end of their names, with the place for each in a device.
type Place = fn(&mut Device) -> &mut Option<PathBuf>;
const TASKS: [(&str, &str, Place); 6] = [
    ("output_timeline_data_", ".txt", |device| &mut device.tasks),
    ("ascend_timeline_display_", ".json", |device| &mut device.timeline),
    ("timeline_display_", ".json", |device| &mut device.timeline),
    ("framework_raw_", ".csv", |device| &mut device.graph),
    ("aicpu_intermediate_", ".csv", |device| &mut device.ai_cpu),
    ("step_trace_raw_", "_detail_time.csv", |device| &mut device.steps),
];

/// Tables that sum up, by the begin and end of their names.
const STATED: [(&str, &str, Stated); 5] = [
    ("step_trace_raw_", "_detail_time.csv", Stated::StepParts),
    ("hccl_raw_", ".csv", Stated::StepCommunication),
    ("aicore_intermediate_", "_type.csv", Stated::MeanTypes),
    ("aicore_intermediate_", "_detail.csv", Stated::MeanOperators),
    ("minddata_pipeline_raw_", ".csv", Stated::DataOperations),
];

/// The devices that files name.
pub(super) fn find_devices(files: &[PathBuf]) -> BTreeMap<u32, Device> {
    let mut found: BTreeMap<u32, Device> = BTreeMap::new();
    for path in files {
        for (begin, end, place) in TASKS {
            if let Some(number) = number_in(path, begin, end) {
                place(found.entry(number).or_default()).get_or_insert_with(|| path.clone());
            }
        }
    }
    found
}

/// The tables that sum up.
pub(super) fn find_stated(files: &[PathBuf]) -> Vec<(Stated, PathBuf)> {
    let kind_of = |path: &PathBuf| {
        let of_stages = path.file_name().is_some_and(|name| name == "dataset.csv");
        let known = STATED.iter().find(|(begin, end, _)| number_in(path, begin, end).is_some());
        let kind = known.map(|(.., kind)| *kind).or(of_stages.then_some(Stated::DataStages))?;
        Some((kind, path.clone()))
    };
    files.iter().filter_map(kind_of).collect()
}

/// The device that a table which sums up is about.
pub(super) fn device_of(kind: Stated, path: &Path) -> Option<u32> {
    let (begin, end, _) = STATED.iter().find(|(.., known)| *known == kind)?;
    number_in(path, begin, end)
}

fn number_in(path: &Path, begin: &str, end: &str) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix(begin)?.strip_suffix(end)?.parse().ok()
}

impl Device {
    /// Whether there is nothing that makes tasks.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_none() && self.timeline.is_none() && self.ai_cpu.is_none()
    }
}

impl Reading<'_> {
    /// Adds the tasks of a device, and gives the inferences of the same clock. Files that can't be read are left
    /// out.
    pub(super) fn mindspore(
        &mut self,
        number: u32,
        device: &Device,
        kernels: &mut Kernels,
    ) -> Result<Vec<Trace>, FolderError> {
        let mut steps = Vec::new();
        let (first_row, first_table) = (kernels.count(), kernels.tables());
        if let Some(path) = &device.tasks {
            self.mindspore_table(path, kernels)?;
        }
        // A table that can't be read, or has no rows, has none of the timeline's tasks.
        let has_clock = kernels.count() > first_row;
        match &device.timeline {
            Some(path) if !has_clock => {
                kernels.begin_file(&self.name(path));
                let read = read_timeline(&self.open(path)?, number, self.stop, kernels);
                self.note(path, read, "tasks with their types");
            }
            Some(path) => {
                self.fates.not_needed(path, "output_timeline_data has these tasks, with their clock")
            }
            None => {}
        }
        // The timeline has the AI CPU's operators as well, by a clock of its own.
        let of_timeline = !has_clock && kernels.count() > first_row;
        match &device.ai_cpu {
            Some(path) if of_timeline => self.fates.not_needed(path, "the timeline has these tasks"),
            Some(path) => self.mindspore_table(path, kernels)?,
            None => {}
        }
        kernels.place_tables_on(first_table, number);
        if let Some(path) = &device.graph {
            kernels.begin_file(&self.name(path));
            let graph = Graph::read(&self.open(path)?, self.stop, kernels);
            let described = graph.map(|graph| graph.describe(kernels, first_row));
            self.note(path, described, "types and tensors of operators");
        }
        if let Some(path) = device.steps.as_ref().filter(|_| has_clock) {
            let read = read_steps(&self.open(path)?, self.stop);
            let read = self.named(path, read).map(|table| steps.push(table));
            self.note(path, read, "begin and end of inferences, and the parts of steps");
        }
        Ok(steps)
    }

    /// Adds the tasks of a table, if it can be read.
    fn mindspore_table(&mut self, path: &Path, kernels: &mut Kernels) -> Result<(), FolderError> {
        kernels.begin_file(&self.name(path));
        let read = tables::read_tasks(&self.open(path)?, self.stop, kernels);
        self.note(path, read, "tasks");
        Ok(())
    }

    fn note(&mut self, path: &Path, read: Result<(), tables::ReadError>, what: &'static str) {
        match read {
            Ok(()) => self.fates.read(path, what),
            Err(error) => self.note_unread(path, error),
        }
    }
}

/// Says in the figures of a table which device they are of.
pub(super) fn name_device(figures: &mut Trace, device: u32) {
    for id in figures.figures.ids() {
        let row = figures.figures.get(id);
        let part = match figures.strings.get(row.part) {
            "" => format!("device {device}"),
            part => format!("device {device}, {part}"),
        };
        let part = figures.strings.intern(&part);
        figures.figures.set(id, opscope_trace::Figure { part, ..row });
    }
}
