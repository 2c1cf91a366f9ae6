//! The phases of an iteration of a training: its passes, reductions of gradients, and the wait for
//! data.

use std::cmp::Reverse;

use crate::dialect::Dialect;
use crate::facts::steps::Step;
use crate::facts::view::View;
use crate::timeline::event::{Args, Events, Lane};

/// A part of an iteration, in device ticks.
struct Phase {
    kind: PhaseKind,
    start: u64,
    end: u64,
}

#[derive(Clone, Copy)]
enum PhaseKind {
    /// Both passes.
    Passes,
    /// From the end of the backward pass to that of the iteration.
    Refresh,
    /// A reduction of gradients with a number.
    Reduce(usize),
    /// Fetching data.
    Fetch,
}

/// For each inference the number of its first reduction. The accelerated reference numbers all of a
/// profile, by device, model and iteration, the other those of an iteration.
pub(super) fn first_reduces(view: &View<'_>, steps: &[Step]) -> Vec<usize> {
    let mut first_reduces = vec![0; steps.len()];
    if view.dialect == Dialect::Accelerated {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|&place| (steps[place].device, steps[place].iteration.model, steps[place].number));
        let mut next = 0;
        for place in order {
            first_reduces[place] = next;
            next += steps[place].reduces.len();
        }
    }
    first_reduces
}

/// Writes the parts of an iteration into lanes that `lane_of` finds by begin and end.
pub(super) fn parts(
    view: &View<'_>,
    step: &Step,
    first_reduce: usize,
    events: &mut Events,
    lane_of: &mut dyn FnMut(i64, i64, &mut Events) -> Lane,
) {
    let device = &view.devices[step.device];
    let mut parts = parts_of(step, first_reduce);
    parts.sort_by_key(|part| (part.start, Reverse(part.end)));
    for part in parts {
        let (start, end) = (device.time(part.start), device.time(part.end));
        let lane = lane_of(start, end, events);
        let (category, name) = part.names(step.number);
        events.slice([&name], lane, start, end.saturating_sub(start), Some(category), |args| {
            part.write_args(view, step, args);
        });
    }
}

fn parts_of(step: &Step, first_reduce: usize) -> Vec<Phase> {
    let (forward, backward, end) = (step.iteration.forward, step.iteration.backward, step.iteration.end);
    let mut parts = Vec::new();
    if is_training(step) {
        parts.push(Phase { kind: PhaseKind::Passes, start: forward, end: backward });
        parts.push(Phase { kind: PhaseKind::Refresh, start: backward, end });
    }
    for (number, &(start, end)) in (first_reduce..).zip(&step.reduces) {
        parts.push(Phase { kind: PhaseKind::Reduce(number), start, end });
    }
    parts.extend(step.fetches.iter().map(|&(start, end)| Phase { kind: PhaseKind::Fetch, start, end }));
    parts
}

/// Whether both passes were marked, one behind the other.
fn is_training(step: &Step) -> bool {
    (1..=step.iteration.backward).contains(&step.iteration.forward)
}

impl Phase {
    /// The category and the name of the slice, in an iteration with a number.
    fn names(&self, iteration: u64) -> (&'static str, String) {
        match self.kind {
            PhaseKind::Passes => ("FP_BP Time", format!("FP_BP Time {iteration}")),
            PhaseKind::Refresh => ("Iteration Refresh", format!("Iteration Refresh {iteration}")),
            PhaseKind::Reduce(number) => ("Reduce", format!("Reduce_{iteration}_{number}")),
            PhaseKind::Fetch => ("GetNext Time", "GetNext".to_owned()),
        }
    }

    fn write_args(&self, view: &View<'_>, step: &Step, args: &mut Args<'_>) {
        let device = &view.devices[step.device];
        let (start, end) = (device.time(self.start), device.time(self.end));
        let ticks = self.end.saturating_sub(self.start);
        match self.kind {
            PhaseKind::Passes => {
                args.integer("Iteration ID", step.number).time("FP Start", start).time("BP End", end);
                write_duration(view, step, "FP_BP Time(us)", ticks, args);
            }
            PhaseKind::Refresh => {
                args.integer("Iteration ID", step.number).time("BP End", start).time("Iteration End", end);
                write_duration(view, step, "Iteration Refresh(us)", ticks, args);
            }
            PhaseKind::Reduce(number) => {
                args.integer("Iteration ID", step.number);
                let bounds =
                    [(format!("Reduce Start {number}"), start), (format!("Reduce End {number}"), end)];
                for (key, time) in &bounds {
                    match view.dialect {
                        // Here the accelerated reference has nanoseconds.
                        Dialect::Accelerated => args.integer_text(key, *time),
                        _ => args.time(key, *time),
                    };
                }
            }
            PhaseKind::Fetch => {
                args.time("GetNext Start", start).time("GetNext End", end);
                write_duration(view, step, "GetNext Time(us)", ticks, args);
            }
        }
    }
}

fn write_duration(view: &View<'_>, step: &Step, key: &str, ticks: u64, args: &mut Args<'_>) {
    let clock = &view.devices[step.device].device.clock;
    match view.dialect {
        Dialect::Accelerated => args.micros(key, clock.duration(ticks)),
        _ => args.float(key, clock.duration_micros_f64(ticks)),
    };
}

/// Writes the arrow to an iteration from the one before, for whose data the device waited, and the begin
/// of that to the next one.
pub(super) fn data_wait(view: &View<'_>, step: &Step, lane: Lane, events: &mut Events) {
    const NAME: &str = "Data_aug Bound";
    if !is_training(step) {
        return;
    }
    let device = &view.devices[step.device];
    let (forward, backward, end) = (step.iteration.forward, step.iteration.backward, step.iteration.end);
    let ticks = step.data_wait().unwrap_or(0);
    let id = format!("{NAME} {}_{}", lane.pid, lane.tid);
    let before = (step.number - 1).to_string();
    events.flow("t", [NAME, &before], &id, lane, device.time(forward), |args| {
        args.integer("Iteration ID", step.number);
    });
    let begin = match view.dialect {
        Dialect::Accelerated => device.time(backward).saturating_add(device.device.clock.duration(ticks) / 2),
        _ => device.middle(backward, end),
    };
    events.flow("s", [NAME, &step.number.to_string()], &id, lane, begin, |args| {
        write_duration(view, step, "Data_aug Bound(us)", ticks, args);
    });
}
