//! The table of inferences: the recorded ones, in the trace's order, and behind them those that were timed as a
//! whole.

use opscope_analyze::Measured;
use opscope_timeline::Layout;
use opscope_trace::{ModelId, Nanoseconds, Trace};

use super::slices::Slices;
use super::strings::Strings;
use super::ticks::Ticks;
use crate::columns::Table;

struct Inference {
    number: u32,
    start: u64,
    duration: u64,
    recorded: bool,
    warm_up: bool,
    measured: bool,
    model: u32,
    /// Its slice, + 1.
    slice: u32,
}

pub(super) fn table(
    trace: &Trace,
    layout: &Layout,
    ticks: Ticks,
    slices: &Slices,
    strings: &mut Strings,
) -> Table {
    let span = |start: Nanoseconds, duration: Nanoseconds| {
        let (start, end) = layout.time_line.span(start, duration);
        (ticks.of_time(start), ticks.of_time(end) - ticks.of_time(start))
    };
    let mut model = |model: Option<ModelId>| {
        model.map_or(0, |model| strings.number(trace.strings.get(trace.models.name()[model.index()])))
    };
    let mut measured = vec![false; trace.iterations.len()];
    Measured::of(trace).iterations.iter().for_each(|id| measured[id.index()] = true);
    let mut inferences = Vec::with_capacity(measured.len() + trace.unrecorded_iterations.len());
    for (id, row) in trace.iterations.iter() {
        let (start, duration) = span(row.start, row.duration);
        inferences.push(Inference {
            number: row.number,
            start,
            duration,
            recorded: true,
            warm_up: row.warm_up,
            measured: measured[id.index()],
            model: model(row.model),
            slice: slices.of_inference(id.index()),
        });
    }
    let only_warm_up = trace.unrecorded_iterations.warm_up().iter().all(|&warm_up| warm_up);
    for (id, row) in trace.unrecorded_iterations.iter() {
        let (start, duration) = span(row.start, row.duration);
        inferences.push(Inference {
            number: row.number,
            start,
            duration,
            recorded: false,
            warm_up: row.warm_up,
            measured: only_warm_up || !row.warm_up,
            model: model(row.model),
            slice: slices.of_inference(trace.iterations.len() + id.index()),
        });
    }
    let mut table = Table::new("iterations", inferences.len());
    table.whole("number", inferences.iter().map(|row| row.number.into()));
    table.delta("start", inferences.iter().map(|row| row.start));
    table.whole("duration", inferences.iter().map(|row| row.duration));
    table.whole("recorded", inferences.iter().map(|row| row.recorded.into()));
    table.whole("warm_up", inferences.iter().map(|row| row.warm_up.into()));
    table.whole("measured", inferences.iter().map(|row| row.measured.into()));
    table.whole("model", inferences.iter().map(|row| row.model.into()));
    table.whole("slice", inferences.iter().map(|row| row.slice.into()));
    table
}
