//! Reading timelines of every dialect, sound ones and damaged ones.

mod damage;
mod dialects;
mod own;
mod xla;

use opscope_trace::*;

use super::parts::{Division, read_events};
use super::{ReadError, read, read_divided};

fn names_of_tasks(trace: &Trace) -> Vec<&str> {
    trace.tasks.name().iter().map(|name| trace.strings.get(*name)).collect()
}

/// Losses as `count reason`, with the detail in brackets if there is one.
fn losses(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    let loss = |(_, row): (LossId, Loss)| match text(row.detail) {
        "" => format!("{} {}", row.count, row.kind),
        detail => format!("{} {} ({detail})", row.count, row.kind),
    };
    trace.losses.iter().map(loss).collect()
}

/// Start and duration of every task.
fn times_of_tasks(trace: &Trace) -> Vec<(i64, i64)> {
    trace.tasks.iter().map(|(_, task)| (task.start.0, task.duration.0)).collect()
}
