//! The columns of counters that operators have, and their values for each task.

use opscope_cann_raw::Chip;

use crate::data::Device;
use crate::dialect::Dialect;
use crate::facts::view::{OpTexts, TaskRef, View};
use crate::metrics::{Load, Metric, Places, group, header, is_for_cube, is_for_vector, total_time};
use crate::tables::{Core, Counters};
use crate::text::numbers;

/// The columns of counters of one device, and how they are computed.
pub(crate) struct CounterColumns {
    pub(crate) cube: Vec<CounterColumn>,
    pub(crate) vector: Vec<CounterColumn>,
    /// Whether cube and vector core have columns of their own.
    split: bool,
    /// Raw columns of a group that isn't known, by event number.
    pub(crate) raw: Vec<u32>,
    /// Changes of the frequency, by device ticks.
    frequencies: Vec<(u64, f64)>,
    /// The implementation that exports.
    dialect: Dialect,
    /// The implementation that works out the values.
    figures: Dialect,
    /// The columns of the cube core from which it is told by what a task is bound, if there are such:
    /// shares of the vector unit, the cube unit and the moves of data.
    bounds: Option<[usize; 3]>,
    /// The column that tells whether the cube unit worked, if there is one.
    cube_ratio: Option<usize>,
}

/// A column with values of one core.
pub(crate) struct CounterColumn {
    metric: Metric,
    /// Where its events are among those that the core counted.
    places: Places,
    /// Whether its values are whole numbers.
    pub(crate) is_whole: bool,
}

impl CounterColumn {
    fn all(metrics: Vec<Metric>, events: &[u32]) -> Vec<Self> {
        let column = |metric: Metric| {
            let (places, is_whole) = (metric.places(events), metric.name.ends_with("_cycles"));
            Self { metric, places, is_whole }
        };
        metrics.into_iter().map(column).collect()
    }
}

/// A core's work on a task.
pub(crate) struct Work {
    /// Microseconds that it worked.
    pub(crate) time: f64,
    /// The blocks into which the task was divided.
    blocks: u32,
    /// How many such cores there are.
    cores: u32,
}

/// The names of the column that tells whether the cube unit worked.
const CUBE_RATIO: [&str; 2] = ["mac_ratio", "mac_ratio_extra"];

/// The names of the columns from which it is told by what a task is bound.
const BOUNDS: [[&str; 3]; 2] =
    [["vec_ratio", "mac_ratio", "mte2_ratio"], ["vec_exe_ratio", "mac_exe_ratio", "mte2_exe_ratio"]];

/// The counters of a task.
pub(crate) struct TaskWork<'a> {
    /// The work of the cube core, or of the cores of a chip that doesn't count them apart.
    pub(crate) cube: CoreWork<'a>,
    /// The work of the vector core, on chips that count cores apart.
    pub(crate) vector: Option<CoreWork<'a>>,
    /// How much longer data was moved than computed with, if there is such a column; `None` within if
    /// nothing was computed.
    pub(crate) memory_bound: Option<Option<f64>>,
    /// Percent of what the cube cores could do in the task's time, if there is such a column; `None` within
    /// if it isn't known.
    pub(crate) utilization: Option<Option<f64>>,
}

/// The work of one core on one task.
pub(crate) struct CoreWork<'a> {
    /// Its counters; `None` if the task didn't run on it.
    load: Option<Load<'a>>,
}

impl CoreWork<'_> {
    /// That of a core on which the task didn't run.
    pub(crate) const IDLE: Self = Self { load: None };

    /// Whether the task didn't run on the core.
    pub(crate) fn is_idle(&self) -> bool {
        self.load.is_none()
    }

    /// Microseconds that it worked.
    pub(crate) fn time(&self) -> f64 {
        self.load.as_ref().map_or(0.0, |load| load.total_time)
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.load.as_ref().map_or(0, |load| load.counters.cycles)
    }

    pub(crate) fn value(&self, column: &CounterColumn) -> f64 {
        self.load.as_ref().map_or(0.0, |load| column.metric.value_of_places(&column.places, load))
    }

    /// How often an event was counted, by its place.
    pub(crate) fn count(&self, event: usize) -> f64 {
        self.load.as_ref().and_then(|load| load.counters.counters.get(event).copied()).unwrap_or(0) as f64
    }
}

impl CounterColumns {
    /// The columns of a device; `None` if it has no counters.
    pub(crate) fn new(device: &Device, dialect: Dialect) -> Option<Self> {
        if device.tables.counters.is_empty() {
            return None;
        }
        let chip = device.metadata.chip();
        let sample = &device.metadata.sample;
        let split = chip.splits_cores();
        let cube = group(&sample.core_metrics, chip, dialect);
        let mut vector = if split { group(&sample.vector_metrics, chip, dialect) } else { Vec::new() };
        let raw = if cube.is_empty() { sample.core_events.clone() } else { Vec::new() };
        let figures = dialect.of_counters(chip, !raw.is_empty());
        let mut cube = cube;
        if split {
            cube.retain(|metric| is_for_cube(metric.name));
            vector.retain(|metric| is_for_vector(metric.name));
        }
        let changes = &device.tables.samples.frequency;
        let mut frequencies: Vec<(u64, f64)> =
            changes.rows().map(|change| (change.time, f64::from(change.value) * 1e6)).collect();
        frequencies.sort_by_key(|(time, _)| *time);
        // A frequency of zero can't be right; the reference then trusts none of them.
        if frequencies.iter().any(|(_, hertz)| *hertz == 0.0) || !changes_frequency(chip) {
            frequencies.clear();
        }
        let cube = CounterColumn::all(cube, &sample.core_events);
        let vector = CounterColumn::all(vector, &sample.vector_events);
        let find = |name: &str| cube.iter().position(|column| column.metric.name == name);
        let bounds = |names: &[&str; 3]| match names.map(find) {
            [Some(vector), Some(matrix), Some(moves)] if !split => Some([vector, matrix, moves]),
            _ => None,
        };
        let (bounds, cube_ratio) =
            (BOUNDS.iter().find_map(bounds), CUBE_RATIO.iter().find_map(|name| find(name)));
        Some(Self { cube, vector, split, raw, frequencies, dialect, figures, bounds, cube_ratio })
    }

    /// The headings.
    pub(crate) fn headers(&self) -> Vec<String> {
        let mut headers = vec!["aicore_time(us)".to_owned()];
        let prefix = if self.split { "aic_" } else { "" };
        headers.push(format!("{prefix}total_cycles"));
        headers.extend(self.cube.iter().map(|column| header(&format!("{prefix}{}", column.metric.name))));
        headers.extend(self.raw.iter().map(|event| format!("{prefix}r{event:x}")));
        if self.split {
            headers.push("aiv_time(us)".to_owned());
            headers.push("aiv_total_cycles".to_owned());
            headers.extend(self.vector.iter().map(|column| header(&format!("aiv_{}", column.metric.name))));
            headers.extend(self.raw.iter().map(|event| format!("aiv_r{event:x}")));
        }
        if self.bounds.is_some() {
            headers.push("memory_bound".to_owned());
        }
        if self.cube_ratio.is_some() {
            headers.push("cube_utilization(%)".to_owned());
        }
        headers
    }

    /// The counters of a task with an operator; `None` if nothing was counted.
    pub(crate) fn of_task<'a>(
        &'a self,
        view: &'a View<'_>,
        task: TaskRef,
        op: &OpTexts<'_>,
        counters: &'a [Option<Counters>; 2],
    ) -> Option<TaskWork<'a>> {
        let device_view = view.device(task);
        let device = device_view.device;
        let [cube, vector] = counters.each_ref().map(Option::as_ref);
        if cube.is_none() && vector.is_none() {
            return None;
        }
        let cube_work = self.core_work(device, cube, vector, op, Core::Cube);
        let duration = || device_view.duration(task.task as usize) / 1_000.0;
        Some(TaskWork {
            vector: self.split.then(|| self.core_work(device, vector, cube, op, Core::Vector)),
            memory_bound: self.bounds.map(|bounds| self.memory_bound(&cube_work, bounds)),
            utilization: self.cube_ratio.map(|ratio| self.utilization(device, &cube_work, ratio, duration())),
            cube: cube_work,
        })
    }

    /// The values of a task, one for each of the headings, with no more decimals than the table
    /// shows; `false` if nothing was counted.
    pub(crate) fn read(&self, view: &View<'_>, task: TaskRef, op: &OpTexts<'_>, out: &mut Vec<f64>) -> bool {
        let counters = counters_of(view, task);
        let Some(work) = self.of_task(view, task, op, &counters) else { return false };
        self.read_core(&self.cube, &work.cube, out);
        if let Some(vector) = &work.vector {
            self.read_core(&self.vector, vector, out);
        }
        out.extend(work.memory_bound.map(|bound| bound.unwrap_or(0.0)));
        let none = if self.dialect == Dialect::Accelerated { f64::NAN } else { 0.0 };
        let share = work.utilization.map(|share| share.unwrap_or(none));
        out.extend(share.map(|share| (share * 1_000.0).round() / 1_000.0));
        true
    }

    fn read_core(&self, columns: &[CounterColumn], work: &CoreWork<'_>, out: &mut Vec<f64>) {
        out.push(numbers::sqlite_round(work.time()));
        out.push(work.cycles() as f64);
        out.extend(columns.iter().map(|column| numbers::sqlite_round(work.value(column))));
        out.extend((0..self.raw.len()).map(|event| work.count(event)));
    }

    /// A value of the cube core as the table shows it.
    fn rounded(&self, work: &CoreWork<'_>, column: usize) -> f64 {
        numbers::sqlite_round(work.value(&self.cube[column]))
    }

    /// How much longer data was moved than computed with; `None` if nothing was computed.
    fn memory_bound(&self, work: &CoreWork<'_>, bounds: [usize; 3]) -> Option<f64> {
        let [vector, matrix, moves] = bounds.map(|column| self.rounded(work, column));
        let compute = vector.max(matrix);
        (compute != 0.0).then(|| numbers::python_round(moves / compute, 3))
    }

    /// Which part of what the cube cores could do in the task's time they did, in percent. `ratio` is the
    /// column that tells whether they worked.
    fn utilization(&self, device: &Device, work: &CoreWork<'_>, ratio: usize, duration: f64) -> Option<f64> {
        let megahertz = device.metadata.info.core_mhz.unwrap_or(0.0);
        let cores = f64::from(device.metadata.info.cores);
        let capacity = megahertz * cores;
        let cycles = work.cycles() as f64;
        if self.dialect == Dialect::Accelerated {
            let share = || numbers::python_round(cycles / capacity * 100.0, 6) / duration;
            return (capacity != 0.0).then(|| if duration == 0.0 { 0.0 } else { share() });
        }
        if capacity == 0.0 || duration == 0.0 || self.rounded(work, ratio) == 0.0 {
            return None;
        }
        Some(numbers::python_round(cycles / (capacity * duration) * 100.0, 3))
    }

    /// The work of one core on a task. `other` are the counters of the other core, which tell the time
    /// where sums over blocks don't.
    fn core_work<'a>(
        &'a self,
        device: &'a Device,
        counters: Option<&'a Counters>,
        other: Option<&Counters>,
        op: &OpTexts<'_>,
        core: Core,
    ) -> CoreWork<'a> {
        let Some(counters) = counters else {
            return CoreWork::IDLE;
        };
        let Work { time, blocks, cores } =
            self.work(device, counters, other, (op.blocks, op.mix_blocks), core);
        // The Python code goes on with the time that it shows.
        let total_time = if self.dialect == Dialect::Plain { numbers::python_round(time, 2) } else { time };
        let hertz = device.metadata.info.core_mhz.unwrap_or(0.0) * 1e6;
        let events = match core {
            Core::Vector if self.split => &device.metadata.sample.vector_events,
            _ => &device.metadata.sample.core_events,
        };
        let rounds = match self.dialect {
            Dialect::Oldest if blocks > 0 && cores > 0 => {
                f64::from(blocks.div_ceil(cores)) / f64::from(blocks)
            }
            _ => 1.0,
        };
        CoreWork { load: Some(Load { counters, events, total_time, hertz, rounds }) }
    }

    /// How long a core worked on a task, whose operator has `blocks` blocks and slave blocks.
    pub(crate) fn work(
        &self,
        device: &Device,
        counters: &Counters,
        other: Option<&Counters>,
        blocks: (u32, u32),
        core: Core,
    ) -> Work {
        let info = &device.metadata.info;
        let end = if counters.block { other.map_or(counters.end, |main| main.end) } else { counters.end };
        let hertz = self.hertz_at(end).unwrap_or(info.core_mhz.unwrap_or(0.0) * 1e6);
        let cores = if core == Core::Vector && self.split { info.vector_cores } else { info.cores };
        let blocks = match (counters.block, counters.blocks) {
            (true, _) => blocks.1,
            (false, 0) => blocks.0,
            (false, blocks) => u32::from(blocks),
        };
        // Chips 15 and 16 record the time itself.
        let time = match device.metadata.chip().has_wide_task_ids() {
            true => counters.end.saturating_sub(counters.start) as f64 / device.clock.hertz() as f64 * 1e6,
            false => total_time(counters.cycles, hertz, blocks, cores),
        };
        // The library goes on with what the Python code shows.
        let is_shown = self.figures != self.dialect;
        let time = if is_shown { numbers::python_round(time, 2) } else { time };
        Work { time, blocks, cores }
    }

    /// The frequency at a time, if changes of it were recorded before.
    fn hertz_at(&self, time: u64) -> Option<f64> {
        let after = self.frequencies.partition_point(|(change, _)| *change <= time);
        after.checked_sub(1).map(|last| self.frequencies[last].1)
    }
}

/// Whether times follow the recorded changes of a chip's frequency. On other chips the reference takes the one
/// that the device's description has, and so does opscope.
fn changes_frequency(chip: Chip) -> bool {
    chip.splits_cores() || chip == Chip::V1_1_1
}

/// The counters of a task, of the cube core and of the vector core.
pub(crate) fn counters_of(view: &View<'_>, task: TaskRef) -> [Option<Counters>; 2] {
    let device = view.device(task);
    let joined = &device.joined.counters;
    [&joined.cube, &joined.vector].map(|core| joined.get(&device.device.tables, core[task.task as usize]))
}
