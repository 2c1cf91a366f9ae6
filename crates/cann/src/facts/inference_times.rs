//! Answers about one device that the vendor's tool prints: how long its inferences took,
//! and how much was computed.

use crate::facts::counters::CounterColumns;
use crate::facts::steps::steps;
use crate::facts::view::View;
use crate::join::Joined;
use crate::options::IterationRange;

/// An inference, in microseconds of the monotonic clock; without the times that weren't recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTimes {
    /// The model.
    pub model: u64,
    /// The inference's number, from 1 for each model.
    pub number: u64,
    /// How long it took.
    pub duration: f64,
    /// From the begin of the forward to the end of the backward pass.
    pub passes: Option<f64>,
    /// From the end of the inference before to the begin of the forward pass.
    pub interval: Option<f64>,
    /// From the end of the backward pass to that of the inference.
    pub refresh: Option<f64>,
    /// The begin.
    pub start: f64,
    /// The begin of the forward pass.
    pub forward: Option<f64>,
    /// The end of the backward pass.
    pub backward: Option<f64>,
    /// The end.
    pub end: f64,
}

/// The inferences of a device, by their end.
pub fn step_times(joined: &Joined, device: u32) -> Vec<StepTimes> {
    let view = View::of_device(joined, None, device);
    let times = steps(&view).into_iter().map(|step| {
        let clock = &view.devices[step.device].device.clock;
        let at = |ticks: u64| clock.monotonic_f64(ticks) / 1_000.0;
        let between = |from: u64, to: u64| clock.duration_f64(to.saturating_sub(from)) / 1_000.0;
        let of = step.iteration;
        let recorded = |ticks: u64| (ticks != 0).then_some(ticks);
        let (forward, backward) = (recorded(of.forward), recorded(of.backward));
        let passes = forward.zip(backward);
        StepTimes {
            model: of.model,
            number: step.number,
            duration: between(of.start, of.end),
            passes: passes.map(|(forward, backward)| between(forward, backward)),
            interval: passes.zip(step.previous_end).map(|((forward, _), before)| between(before, forward)),
            refresh: backward.map(|backward| between(backward, of.end)),
            start: at(of.start),
            forward: forward.map(at),
            backward: backward.map(at),
            end: at(of.end),
        }
    });
    times.collect()
}

/// How much operators of one type computed.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationsOfType {
    /// The type.
    pub op_type: String,
    /// How often such operators ran.
    pub count: usize,
    /// How many operations they were.
    pub operations: f64,
}

/// How much a device computed in some inferences: by type, those with most operations first, and
/// how many microseconds its cores worked. `None` if operations weren't counted.
pub fn operations(
    joined: &Joined,
    device: u32,
    range: IterationRange,
) -> Option<(Vec<OperationsOfType>, f64)> {
    let view = View::of_device(joined, Some(range), device);
    let columns = CounterColumns::new(view.devices.first()?.device, view.dialect)?;
    let headers = columns.headers();
    let counted: Vec<usize> = (0..headers.len()).filter(|&i| headers[i].ends_with("_fops")).collect();
    let is_time = |header: &str| matches!(header, "aicore_time(us)" | "aiv_time(us)");
    let core_times: Vec<usize> = (0..headers.len()).filter(|&i| is_time(&headers[i])).collect();
    if counted.is_empty() {
        return None;
    }
    let mut types: Vec<OperationsOfType> = Vec::new();
    let mut time = 0.0;
    let mut values = Vec::new();
    for &task in &view.op_tasks() {
        let Some(host) = view.host_task(task) else { continue };
        let Some(op) = view.op(&host) else { continue };
        values.clear();
        if !columns.read(&view, task, &op, &mut values) {
            continue;
        }
        let operations: f64 = counted.iter().map(|&column| values[column]).sum();
        // Both kinds of cores work at the same time.
        time += core_times.iter().map(|&column| values[column]).fold(0.0, f64::max);
        match types.iter_mut().find(|known| known.op_type == op.op_type) {
            Some(known) => {
                known.count += 1;
                known.operations += operations;
            }
            None => {
                types.push(OperationsOfType { op_type: op.op_type.to_owned(), count: 1, operations });
            }
        }
    }
    types.sort_by(|a, b| b.operations.total_cmp(&a.operations));
    Some((types, time))
}
