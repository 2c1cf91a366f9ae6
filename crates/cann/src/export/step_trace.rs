//! `step_trace`: the inferences that a device recorded.

use crate::dialect::Dialect;
use crate::export::sheet::{Row, Sheet};
use crate::facts::steps::{Step, steps};
use crate::facts::view::View;
use crate::headings::step_trace;
use crate::join::Iteration;
use crate::text::numbers;

/// The table, or `None` if there is no inference.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let steps = steps(view);
    let mut headers = step_trace::ALL.to_vec();
    let reduces = steps.iter().map(|step| step.reduces.len()).max().unwrap_or(0);
    headers.extend(["Reduce Start(us)", "Reduce Duration(us)"].repeat(reduces));
    (!steps.is_empty()).then(|| Sheet {
        kind: "step_trace",
        headers: headers.into_iter().map(str::to_owned).collect(),
        rows: steps.len(),
        write: Box::new(move |index, row| {
            write_row(view, &steps[index], row);
            write_reduces(view, &steps[index], reduces, row);
        }),
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
        Some(ticks) => row.float(device.device.clock.duration_micros_f64(ticks)),
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
    duration(row, step.data_wait());
    row.integer(model);
}

/// Writes as many cells as any row has.
fn write_reduces(view: &View<'_>, step: &Step, most: usize, row: &mut Row<'_>) {
    let device = &view.devices[step.device];
    let clock = &device.device.clock;
    for &(start, end) in &step.reduces {
        let ticks = end.saturating_sub(start);
        row.time(device.time(start));
        if view.dialect == Dialect::Accelerated {
            row.number(|out| numbers::push_micros(out, clock.duration(ticks)));
        } else {
            row.float(numbers::python_round(clock.duration_micros_f64(ticks), 3));
        }
    }
    (step.reduces.len() * 2..most * 2).for_each(|_| row.missing());
}
