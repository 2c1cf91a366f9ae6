//! Completing the trace of a database, or of tables of tasks alone, by what other tables of its folder know:
//! values of the hardware's counters, memory over time, and when inferences began and ended.

use std::collections::{HashMap, HashSet};

use opscope_formats::reading::{Iterations, Stop};
use opscope_trace::{
    Counter, CounterId, DeviceId, Iteration, LossKind, MetricId, ModelId, Nanoseconds, Places, Reading,
    Sample, StreamId, TaskId, Trace,
};

use super::covered::leave_out_uncovered;
use super::join::{CommonDevices, TasksByName};
use super::kernels::{Kernel, Kernels};
use super::known_ranges::KnownRanges;

/// Adds to what was measured of each task the metrics that only the tables tell. Their rows are joined by
/// name, start and stream; those without a task in the trace are counted. Ends early where `stop` is wanted.
pub(in crate::read) fn add_readings(trace: &mut Trace, kernels: &Kernels, stop: &Stop) {
    kernels.name_models(trace);
    let rows = rows_by_task(trace, kernels, stop);
    let metrics = kernels.enter_metrics(trace);
    let readings = std::mem::take(&mut trace.readings);
    let lists = std::mem::take(&mut trace.metric_lists);
    let values = std::mem::take(&mut trace.metric_values);
    let mut known: HashMap<TaskId, Reading> = readings.iter().map(|(_, row)| (row.task, row)).collect();
    let (mut of_task, mut measured): (Vec<MetricId>, Vec<f64>) = Default::default();
    for task in stop.within(trace.tasks.ids()) {
        of_task.clear();
        measured.clear();
        if let Some(reading) = known.remove(&task) {
            of_task.extend(lists.get(reading.metrics));
            measured.extend(values.get(reading.values));
        }
        let own = of_task.len();
        for (metric, value) in rows[task.index()].iter().flat_map(|row| kernels.measured(&metrics, row)) {
            if !of_task[..own].contains(&metric) {
                of_task.push(metric);
                measured.push(value);
            }
        }
        trace.push_reading(task, &of_task, &measured);
    }
}

/// For each task the row of the tables that is about it and tells what was measured.
fn rows_by_task<'k>(trace: &mut Trace, kernels: &'k Kernels, stop: &Stop) -> Vec<Option<&'k Kernel>> {
    let zero = Nanoseconds(trace.clock.unix_zero.unwrap_or(0));
    let number_of = |stream: StreamId| {
        let stream = trace.streams.get(stream);
        (trace.devices.number()[stream.device.index()], stream.number)
    };
    let streams: HashMap<(u32, u64), StreamId> =
        trace.streams.ids().map(|stream| (number_of(stream), stream)).collect();
    let mut tasks = TasksByName::new(trace);
    let devices = CommonDevices::of(trace, kernels);
    let mut rows = vec![None; trace.tasks.len()];
    let mut strangers = 0;
    for kernel in stop.within(&kernels.rows).filter(|kernel| kernel.is_measured()) {
        let name = trace.strings.intern(kernels.texts.get(kernel.name));
        let stream = kernel.stream.and_then(|stream| streams.get(&(kernel.device, stream)).copied());
        match tasks.take(trace, name, kernel.start - zero, stream, devices.number(kernels, kernel)) {
            Some(task) => rows[task.index()] = Some(kernel),
            None => strangers += 1,
        }
    }
    trace.count_loss(LossKind::ValueWithoutTask, strangers, "tables of tasks");
    rows
}

/// Enters the inferences whose begin and end tables state. Where the trace has them already, by their first
/// and last tasks, they get the stated times.
pub(in crate::read) fn add_iterations(trace: &mut Trace, tables: &[Trace]) {
    let mut stated: Vec<Iteration> = Vec::new();
    for table in tables {
        let Some(shift) = shift_into(trace, table) else { continue };
        for (_, row) in table.iterations.iter() {
            let model = row.model.map(|model| trace.enter_model(table.models.number()[model.index()]));
            stated.push(Iteration { model, start: row.start + shift, ..row });
        }
        trace.append_losses(table);
    }
    if trace.iterations.is_empty() {
        let mut found = Iterations::default();
        stated.into_iter().for_each(|iteration| found.push(iteration));
        found.enter(trace);
        leave_out_uncovered(trace);
    } else if !stated.is_empty() {
        set_times(trace, &stated);
    }
}

/// Gives the inferences of the trace the stated times, and counts those for which none are stated.
fn set_times(trace: &mut Trace, stated: &[Iteration]) {
    let stated: HashMap<(Option<ModelId>, u32), &Iteration> =
        stated.iter().map(|row| ((row.model, row.number), row)).collect();
    let mut without = 0;
    for id in trace.iterations.ids() {
        let row = trace.iterations.get(id);
        let meets = |other: &&&Iteration| {
            row.start < other.start + other.duration && other.start < row.start + row.duration
        };
        match stated.get(&(row.model, row.number)).filter(meets) {
            Some(&&Iteration { start, duration, .. }) => {
                trace.iterations.set(id, Iteration { start, duration, ..row });
            }
            None => without += 1,
        }
    }
    let keep: Vec<bool> =
        trace.losses.kind().iter().map(|kind| *kind != LossKind::SpannedIteration).collect();
    if keep.contains(&false) {
        trace.losses.retain(&keep);
        trace.count_loss(LossKind::SpannedIteration, without, "");
    }
}

/// Adds the counters of a table of samples that the trace doesn't have yet; says whether the two could be
/// brought together.
pub(in crate::read) fn add_counters(trace: &mut Trace, table: &Trace) -> bool {
    let is_empty = table.samples.is_empty();
    let Some(shift) = shift_into(trace, table).or(is_empty.then_some(Nanoseconds::ZERO)) else {
        return false;
    };
    trace.append_losses(table);
    let place = |trace: &Trace, device: DeviceId| {
        let row = trace.devices.get(device);
        (row.kind, row.number)
    };
    let identity = |trace: &Trace, row: &Counter| {
        (trace.strings.get(row.name).to_owned(), row.device.map(|device| place(trace, device)))
    };
    let known: HashSet<_> = trace.counters.iter().map(|(_, row)| identity(trace, &row)).collect();
    let mut places = Places::of(trace);
    let mut entered: Vec<Option<CounterId>> = Vec::new();
    for (_, row) in table.counters.iter() {
        let identity = identity(table, &row);
        let is_new = !known.contains(&identity);
        entered.push(is_new.then(|| {
            let name = trace.strings.intern(&identity.0);
            let unit = trace.strings.intern(table.strings.get(row.unit));
            let device = identity.1.map(|(kind, number)| places.device(trace, kind, number, ""));
            trace.counters.push(Counter { name, unit, device })
        }));
    }
    let added = table.samples.iter().filter_map(|(_, row)| {
        let counter = entered[row.counter.index()]?;
        Some(Sample { counter, time: row.time + shift, ..row })
    });
    let mut samples: Vec<Sample> = std::mem::take(&mut trace.samples).iter().map(|(_, row)| row).collect();
    samples.extend(added);
    samples.sort_by_key(|row| row.time);
    for row in samples {
        trace.samples.push(row);
    }
    true
}

/// Adds the ranges and marks of a table that no earlier one has; says whether the two could be brought together.
pub(in crate::read) fn add_ranges(trace: &mut Trace, table: &Trace, known: &mut KnownRanges) -> bool {
    let is_empty = table.ranges.is_empty();
    let Some(shift) = shift_into(trace, table).or(is_empty.then_some(Nanoseconds::ZERO)) else {
        return false;
    };
    let first = trace.ranges.len();
    trace.append(table, shift);
    known.drop_repeated(trace, first);
    true
}

/// The offset that makes a table's times the trace's; `None` where their clocks differ.
fn shift_into(trace: &Trace, table: &Trace) -> Option<Nanoseconds> {
    match (table.clock.unix_zero, trace.clock.unix_zero) {
        (None, None) => Some(Nanoseconds::ZERO),
        (Some(of_table), Some(of_trace)) => Some(Nanoseconds(of_table) - Nanoseconds(of_trace)),
        _ => None,
    }
}
