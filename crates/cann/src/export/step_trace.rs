//! `step_trace`: the inferences that a device recorded.

use crate::export::sheet::{Row, Sheet};
use crate::export::view::View;
use crate::join::Iteration;
use crate::metrics::Dialect;
use crate::numbers;
use crate::tables::NO_MODEL;

/// An inference with what is needed to print it.
pub(crate) struct Step {
    /// The device's number in [`View::devices`].
    pub(crate) device: usize,
    /// Its number, from 1 for each model.
    pub(crate) number: u64,
    /// The inference.
    pub(crate) iteration: Iteration,
    /// The last end of an inference before its forward pass, of whatever model, if there was one.
    pub(crate) previous_end: Option<u64>,
}

/// All inferences of all devices, by their end.
pub(crate) fn steps(view: &View<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (device, of_device) in view.devices.iter().enumerate() {
        let first = steps.len();
        let iterations = &of_device.joined.iterations;
        for (row, iteration) in iterations.rows().enumerate().filter(|(_, row)| row.model != NO_MODEL) {
            let before = steps[first..].iter().rev().find(|step| step.iteration.model == iteration.model);
            let number = before.map_or(1, |step| step.number + 1);
            let ends_before = &iterations.end()[..row];
            let ended = ends_before.partition_point(|&end| end < iteration.forward);
            let previous_end = ends_before[..ended].last().copied();
            steps.push(Step { device, number, iteration, previous_end });
        }
    }
    steps
}

/// The table, or `None` if there is no inference.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let steps = steps(view);
    let headers = [
        "Device_id",
        "Iteration ID",
        "FP Start(us)",
        "BP End(us)",
        "Iteration End(us)",
        "Iteration Time(us)",
        "FP to BP Time(us)",
        "Iteration Refresh(us)",
        "Data Aug Bound(us)",
        "Model ID",
    ];
    (!steps.is_empty()).then(|| Sheet {
        kind: "step_trace",
        headers: headers.map(str::to_owned).to_vec(),
        rows: steps.len(),
        write: Box::new(move |index, row| write_row(view, &steps[index], row)),
    })
}

fn write_row(view: &View<'_>, step: &Step, row: &mut Row<'_>) {
    let device = &view.devices[step.device];
    let Iteration { model, start, end, forward, backward, .. } = step.iteration;
    let accelerated = view.dialect == Dialect::Accelerated;
    let time = |row: &mut Row<'_>, ticks: u64| match ticks {
        0 if accelerated => row.time(0),
        0 => row.missing(),
        ticks => row.time(device.time(ticks)),
    };
    let duration = |row: &mut Row<'_>, ticks: Option<u64>| match ticks {
        ticks if accelerated => {
            row.number(|out| numbers::push_micros(out, device.device.clock.duration(ticks.unwrap_or(0))));
        }
        None => row.missing(),
        Some(ticks) => row.float(device.device.clock.duration_f64(ticks) / 1_000.0),
    };
    row.integer(device.device.id);
    row.integer(step.number);
    time(row, forward);
    time(row, backward);
    time(row, end);
    duration(row, Some(end.saturating_sub(start)));
    let (has_forward, has_backward) = (forward != 0, backward != 0);
    duration(row, (has_forward && has_backward).then(|| backward.saturating_sub(forward)));
    duration(row, has_backward.then(|| end.saturating_sub(backward)));
    duration(row, step.previous_end.map(|previous| forward.saturating_sub(previous)));
    row.integer(model);
}
