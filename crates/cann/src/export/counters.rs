//! The columns of counters in the table of operators.

use crate::data::Device;
use crate::export::sheet::{Row, SharedCells};
use crate::export::view::{OpTexts, TaskRef, View};
use crate::metrics::{Dialect, Load, Metric, group, header, is_for_cube, is_for_vector, total_time};
use crate::numbers;
use crate::tables::{Core, Counters};

/// The columns of counters of one device, and how they are computed.
pub(crate) struct CounterColumns {
    cube: Vec<Metric>,
    vector: Vec<Metric>,
    /// Whether cube and vector core have columns of their own.
    split: bool,
    /// Raw columns of a group that isn't known, by event number.
    raw: Vec<u32>,
    /// Changes of the frequency, by device ticks.
    frequencies: Vec<(u64, f64)>,
    dialect: Dialect,
    /// The cells of each kind of core on which a task didn't run, cube first.
    idle: [SharedCells; 2],
    /// The cells of a task of which nothing was counted.
    uncounted: SharedCells,
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
const CUBE_RATIO: &[&str] = &["mac_ratio", "mac_ratio_extra"];

/// The values of one core in one task.
struct CoreValues {
    time: f64,
    cycles: u64,
    values: Vec<f64>,
}

impl CoreValues {
    /// Those of a core on which the task didn't run.
    fn idle(metrics: &[Metric]) -> Self {
        Self { time: 0.0, cycles: 0, values: vec![0.0; metrics.len()] }
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
        if frequencies.iter().any(|(_, hertz)| *hertz == 0.0) || !split {
            frequencies.clear();
        }
        let idle =
            [&cube, &vector].map(|metrics| SharedCells::new(|row| write_idle(row, metrics, raw.len())));
        let mut columns = Self {
            cube,
            vector,
            split,
            raw,
            frequencies,
            dialect,
            idle,
            uncounted: SharedCells::new(|_| {}),
        };
        let count = columns.headers().len();
        columns.uncounted = SharedCells::new(|row| (0..count).for_each(|_| row.missing()));
        Some(columns)
    }

    /// The headings.
    pub(crate) fn headers(&self) -> Vec<String> {
        let mut headers = vec!["aicore_time(us)".to_owned()];
        let prefix = if self.split { "aic_" } else { "" };
        headers.push(format!("{prefix}total_cycles"));
        headers.extend(self.cube.iter().map(|metric| header(&format!("{prefix}{}", metric.name))));
        headers.extend(self.raw.iter().map(|event| format!("{prefix}r{event:x}")));
        if self.split {
            headers.push("aiv_time(us)".to_owned());
            headers.push("aiv_total_cycles".to_owned());
            headers.extend(self.vector.iter().map(|metric| header(&format!("aiv_{}", metric.name))));
            headers.extend(self.raw.iter().map(|event| format!("aiv_r{event:x}")));
        }
        if self.has_memory_bound() {
            headers.push("memory_bound".to_owned());
        }
        if self.has_cube_utilization() {
            headers.push("cube_utilization(%)".to_owned());
        }
        headers
    }

    fn find(&self, names: &[&str]) -> Option<usize> {
        self.cube.iter().position(|metric| names.contains(&metric.name))
    }

    fn has_memory_bound(&self) -> bool {
        !self.split
            && [
                ["vec_ratio", "mac_ratio", "mte2_ratio"],
                ["vec_exe_ratio", "mac_exe_ratio", "mte2_exe_ratio"],
            ]
            .iter()
            .any(|names| names.iter().all(|name| self.find(&[name]).is_some()))
    }

    fn has_cube_utilization(&self) -> bool {
        self.find(CUBE_RATIO).is_some()
    }

    /// Writes the cells of a task.
    pub(crate) fn write(&self, row: &mut Row<'_>, view: &View<'_>, task: TaskRef, op: &OpTexts<'_>) {
        let device_view = view.device(task);
        let device = device_view.device;
        let joined = &device_view.joined.counters;
        let cube = joined.get(&device.tables, joined.cube[task.task as usize]);
        let vector = joined.get(&device.tables, joined.vector[task.task as usize]);
        if cube.is_none() && vector.is_none() {
            return row.shared(&self.uncounted, |row| self.headers().iter().for_each(|_| row.missing()));
        }
        let [idle_cube, idle_vector] = &self.idle;
        let raw = self.raw.len();
        let cube_values = self.values(device, cube.as_ref(), vector.as_ref(), op, &self.cube, Core::Cube);
        match &cube {
            Some(_) => write_core(row, &self.cube, raw, &cube_values, cube.as_ref()),
            None => row.shared(idle_cube, |row| write_idle(row, &self.cube, raw)),
        }
        match &vector {
            _ if !self.split => {}
            Some(_) => {
                let values =
                    self.values(device, vector.as_ref(), cube.as_ref(), op, &self.vector, Core::Vector);
                write_core(row, &self.vector, raw, &values, vector.as_ref());
            }
            None => row.shared(idle_vector, |row| write_idle(row, &self.vector, raw)),
        }
        if self.has_memory_bound() {
            match self.memory_bound(&cube_values) {
                Some(bound) => row.float(bound),
                None => row.integer(0),
            }
        }
        if self.has_cube_utilization() {
            let duration = device_view.duration(task.task as usize) / 1_000.0;
            match self.utilization(device, &cube_values, duration) {
                Some(share) if self.dialect == Dialect::Accelerated => {
                    row.number(|out| numbers::push_fixed(out, share));
                }
                Some(share) => row.float(share),
                None if self.dialect == Dialect::Accelerated => row.missing(),
                None => row.integer(0),
            }
        }
    }

    /// The values of a task, one for each of the headings, with no more decimals than the table
    /// shows; `false` if nothing was counted.
    pub(crate) fn read(&self, view: &View<'_>, task: TaskRef, op: &OpTexts<'_>, out: &mut Vec<f64>) -> bool {
        let device_view = view.device(task);
        let device = device_view.device;
        let joined = &device_view.joined.counters;
        let cube = joined.get(&device.tables, joined.cube[task.task as usize]);
        let vector = joined.get(&device.tables, joined.vector[task.task as usize]);
        if cube.is_none() && vector.is_none() {
            return false;
        }
        let cube_values = self.values(device, cube.as_ref(), vector.as_ref(), op, &self.cube, Core::Cube);
        self.read_core(&cube_values, cube.as_ref(), out);
        if self.split {
            let values = self.values(device, vector.as_ref(), cube.as_ref(), op, &self.vector, Core::Vector);
            self.read_core(&values, vector.as_ref(), out);
        }
        if self.has_memory_bound() {
            out.push(self.memory_bound(&cube_values).unwrap_or(0.0));
        }
        if self.has_cube_utilization() {
            let duration = device_view.duration(task.task as usize) / 1_000.0;
            let none = if self.dialect == Dialect::Accelerated { f64::NAN } else { 0.0 };
            let share = self.utilization(device, &cube_values, duration).unwrap_or(none);
            out.push((share * 1_000.0).round() / 1_000.0);
        }
        true
    }

    fn read_core(&self, core: &CoreValues, counters: Option<&Counters>, out: &mut Vec<f64>) {
        out.push(numbers::sqlite_round(core.time));
        out.push(core.cycles as f64);
        out.extend(core.values.iter().map(|value| numbers::sqlite_round(*value)));
        let count = |event: usize| counters.and_then(|counters| counters.counters.get(event).copied());
        out.extend((0..self.raw.len()).map(|event| count(event).unwrap_or(0) as f64));
    }

    /// A ratio as the table shows it; 0 if it isn't counted.
    fn rounded(&self, cube: &CoreValues, names: &[&str]) -> f64 {
        let value = self.find(names).and_then(|i| cube.values.get(i));
        value.map_or(0.0, |value| numbers::sqlite_round(*value))
    }

    /// How much longer data was moved than computed with; `None` if nothing was computed.
    fn memory_bound(&self, cube: &CoreValues) -> Option<f64> {
        let vector = self.rounded(cube, &["vec_ratio", "vec_exe_ratio"]);
        let compute = vector.max(self.rounded(cube, &["mac_ratio", "mac_exe_ratio"]));
        let moves = self.rounded(cube, &["mte2_ratio", "mte2_exe_ratio"]);
        (compute != 0.0).then(|| numbers::python_round(moves / compute, 3))
    }

    /// Which part of what the cube cores could do in the task's time they did, in percent.
    fn utilization(&self, device: &Device, cube: &CoreValues, duration: f64) -> Option<f64> {
        let megahertz = device.metadata.info.core_mhz.unwrap_or(0.0);
        let cores = f64::from(device.metadata.info.cores);
        let capacity = megahertz * cores;
        if self.dialect == Dialect::Accelerated {
            let share = || numbers::python_round(cube.cycles as f64 / capacity * 100.0, 6) / duration;
            return (capacity != 0.0).then(|| if duration == 0.0 { 0.0 } else { share() });
        }
        let works = self.rounded(cube, CUBE_RATIO) != 0.0;
        if !works || capacity == 0.0 || duration == 0.0 {
            return None;
        }
        Some(numbers::python_round(cube.cycles as f64 / (capacity * duration) * 100.0, 3))
    }

    /// The values of one core; zeros if it didn't work on the task. `other` are the counters of
    /// the other core, which tell the time where sums over blocks don't.
    fn values(
        &self,
        device: &Device,
        counters: Option<&Counters>,
        other: Option<&Counters>,
        op: &OpTexts<'_>,
        metrics: &[Metric],
        core: Core,
    ) -> CoreValues {
        let Some(counters) = counters else {
            return CoreValues::idle(metrics);
        };
        let Work { time, blocks, cores } =
            self.work(device, counters, other, (op.blocks, op.mix_blocks), core);
        // The Python code goes on with the time that it shows.
        let time = if self.dialect == Dialect::Plain { numbers::python_round(time, 2) } else { time };
        let core_hertz = device.metadata.info.core_mhz.unwrap_or(0.0) * 1e6;
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
        let load = Load { counters, events, total_time: time, hertz: core_hertz, rounds };
        let values = metrics.iter().map(|metric| metric.value(&load)).collect();
        CoreValues { time, cycles: counters.cycles, values }
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
        Work { time, blocks, cores }
    }

    /// The frequency at a time, if changes of it were recorded before.
    fn hertz_at(&self, time: u64) -> Option<f64> {
        let after = self.frequencies.partition_point(|(change, _)| *change <= time);
        after.checked_sub(1).map(|last| self.frequencies[last].1)
    }
}

/// Writes the cells of one core: its values, and after them `raw` counts of events that have no formula.
fn write_core(
    row: &mut Row<'_>,
    metrics: &[Metric],
    raw: usize,
    core: &CoreValues,
    counters: Option<&Counters>,
) {
    row.number(|out| numbers::push_sqlite_round(out, core.time));
    row.integer(core.cycles);
    for (metric, value) in metrics.iter().zip(&core.values) {
        match metric.name.ends_with("_cycles") {
            true => row.integer(*value as u64),
            false => row.number(|out| numbers::push_sqlite_round(out, *value)),
        }
    }
    for event in 0..raw {
        row.float(counters.and_then(|counters| counters.counters.get(event).copied()).unwrap_or(0) as f64);
    }
}

/// Writes the cells of a core on which the task didn't run.
fn write_idle(row: &mut Row<'_>, metrics: &[Metric], raw: usize) {
    write_core(row, metrics, raw, &CoreValues::idle(metrics), None);
}
