//! Encoding slices, marks and the arrows between slices.

use std::fmt;
use std::ops::Range;

use opscope_timeline::{Launches, Layout, Rows, TimeLine};
use opscope_trace::{
    ApiCallId, IterationId, RangeId, RangeKind, StringId, Task, TaskId, Trace, UnrecordedIterationId,
};

use super::arguments::OperatorFragments;
use super::text::{push_micros, push_number, push_string};
use super::write::{process_number, thread_number};

/// Encodes the rows of lanes as events, each with the comma before it.
pub(super) struct SliceEncoder<'a> {
    trace: &'a Trace,
    operators: OperatorFragments<'a>,
    pub(super) launches: Launches,
}

impl<'a> SliceEncoder<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self { trace, operators: OperatorFragments::new(trace), launches: Launches::new(trace) }
    }

    /// Appends some rows of a lane.
    pub(super) fn encode(&self, layout: &Layout, lane: usize, rows: Range<usize>, out: &mut Vec<u8>) {
        let place = Place::new(layout, lane);
        match &layout.lanes[lane].rows {
            Rows::Iterations(ids) => ids[rows].iter().for_each(|&id| self.push_iteration(id, &place, out)),
            Rows::Unrecorded(ids) => ids[rows].iter().for_each(|&id| self.push_unrecorded(id, &place, out)),
            Rows::Calls(ids) => ids[rows].iter().for_each(|&id| self.push_call(id, &place, out)),
            Rows::Ranges(ids) => ids[rows].iter().for_each(|&id| self.push_range(id, &place, out)),
            Rows::Tasks(ids) => ids[rows].iter().for_each(|&id| self.push_task(id, &place, out)),
        }
    }

    fn push_iteration(&self, id: IterationId, place: &Place, out: &mut Vec<u8>) {
        let iteration = self.trace.iterations.get(id);
        place.begin_slice(out, place.time_line.span(iteration.start, iteration.duration));
        let (word, colour) =
            if iteration.warm_up { ("warm-up", ",\"cname\":\"grey\"") } else { ("inference", "") };
        let (number, warm_up) = (iteration.number, iteration.warm_up);
        let rest = format!(
            ",\"name\":\"{word} {number}\",\"cat\":\"{word}\"{colour},\
             \"args\":{{\"iteration\":{number},\"warm_up\":{warm_up}}}}}"
        );
        out.extend_from_slice(rest.as_bytes());
    }

    /// An inference that was timed as a whole; nothing lies below it.
    fn push_unrecorded(&self, id: UnrecordedIterationId, place: &Place, out: &mut Vec<u8>) {
        let iteration = self.trace.unrecorded_iterations.get(id);
        place.begin_slice(out, place.time_line.span(iteration.start, iteration.duration));
        let (word, colour) =
            if iteration.warm_up { ("warm-up", ",\"cname\":\"grey\"") } else { ("inference", "") };
        let (number, warm_up) = (iteration.number, iteration.warm_up);
        let rest = format!(
            ",\"name\":\"unrecorded {word} {number}\",\"cat\":\"unrecorded\"{colour},\
             \"args\":{{\"iteration\":{number},\"warm_up\":{warm_up}}}}}"
        );
        out.extend_from_slice(rest.as_bytes());
    }

    fn push_call(&self, id: ApiCallId, place: &Place, out: &mut Vec<u8>) {
        let call = self.trace.api_calls.get(id);
        let span = place.time_line.span(call.start, call.duration);
        place.begin_slice(out, span);
        self.push_name(out, call.name, call.level.name());
        push_category(out, call.level.name());
        out.extend_from_slice(b",\"args\":{\"level\":\"");
        out.extend_from_slice(call.level.name().as_bytes());
        out.push(b'"');
        if let Some(iteration) = call.iteration {
            self.push_iteration_number(out, iteration);
        }
        out.extend_from_slice(b"}}");
        for &task in self.launches.tasks_of(id) {
            place.push_arrow(out, "\"s\"", task, span.0);
        }
    }

    fn push_range(&self, id: RangeId, place: &Place, out: &mut Vec<u8>) {
        let range = self.trace.ranges.get(id);
        let span = place.time_line.span(range.start, range.duration);
        match range.kind {
            RangeKind::Mark => place.begin_mark(out, span.0),
            RangeKind::PushPop | RangeKind::StartStop => place.begin_slice(out, span),
        }
        self.push_name(out, range.name, range.kind.name());
        push_category(out, range.kind.name());
        if let Some(domain) = range.domain {
            out.extend_from_slice(b",\"args\":{\"domain\":");
            push_string(out, self.trace.strings.get(domain));
            out.push(b'}');
        }
        out.push(b'}');
    }

    fn push_task(&self, id: TaskId, place: &Place, out: &mut Vec<u8>) {
        let task = self.trace.tasks.get(id);
        let span = place.time_line.span(task.start, task.duration);
        place.begin_slice(out, span);
        push_category(out, task.unit.name());
        self.push_operator(&task, out);
        out.extend_from_slice(b"\"unit\":\"");
        out.extend_from_slice(task.unit.name().as_bytes());
        out.push(b'"');
        if let Some(iteration) = task.iteration {
            self.push_iteration_number(out, iteration);
        }
        if let Some(wait) = task.wait {
            out.extend_from_slice(b",\"wait_ns\":");
            push_number(out, wait.0);
        }
        out.extend_from_slice(b"}}");
        if self.launches.call_of(id).is_some() {
            place.push_arrow(out, "\"f\",\"bp\":\"e\"", id, span.0);
        }
    }

    /// The name, and the first of the arguments with the comma behind them.
    fn push_operator(&self, task: &Task, out: &mut Vec<u8>) {
        let Some(operator) = task.operator else {
            self.push_name(out, task.name, task.unit.name());
            out.extend_from_slice(b",\"args\":{");
            return;
        };
        self.operators.push(out, operator);
        out.push(b',');
        if task.name != self.trace.operators.name()[operator.index()] {
            out.extend_from_slice(b"\"task\":");
            push_string(out, self.trace.strings.get(task.name));
            out.push(b',');
        }
    }

    fn push_name(&self, out: &mut Vec<u8>, name: StringId, instead_of_nothing: &str) {
        out.extend_from_slice(b",\"name\":");
        let name = self.trace.strings.get(name);
        push_string(out, if name.is_empty() { instead_of_nothing } else { name });
    }

    fn push_iteration_number(&self, out: &mut Vec<u8>, id: IterationId) {
        out.extend_from_slice(b",\"iteration\":");
        push_number(out, self.trace.iterations.number()[id.index()]);
        if self.trace.iterations.warm_up()[id.index()] {
            out.extend_from_slice(b",\"warm_up\":true");
        }
    }
}

fn push_category(out: &mut Vec<u8>, category: &str) {
    out.extend_from_slice(b",\"cat\":\"");
    out.extend_from_slice(category.as_bytes());
    out.push(b'"');
}

/// The lane of an event, and how events on it begin.
struct Place {
    time_line: TimeLine,
    /// The members that name group and lane.
    members: String,
    /// All of a slice up to its start.
    slice: String,
}

impl Place {
    fn new(layout: &Layout, lane: usize) -> Self {
        let process = process_number(layout.lanes[lane].group);
        let members = format!("\"pid\":{process},\"tid\":{}", thread_number(layout, lane));
        let slice = format!(",\n{{\"ph\":\"X\",{members},\"ts\":");
        Self { time_line: layout.time_line, members, slice }
    }

    fn begin_slice(&self, out: &mut Vec<u8>, (start, end): (u64, u64)) {
        out.extend_from_slice(self.slice.as_bytes());
        push_micros(out, start);
        out.extend_from_slice(b",\"dur\":");
        push_micros(out, end - start);
    }

    fn begin_mark(&self, out: &mut Vec<u8>, time: u64) {
        self.begin(out, format_args!("\"i\",\"s\":\"t\""));
        push_micros(out, time);
    }

    /// One end of an arrow. It stands right behind the slice that it is tied to, because a reader
    /// ties it to the slice that began last.
    fn push_arrow(&self, out: &mut Vec<u8>, phase: &str, task: TaskId, time: u64) {
        let id = task.index();
        self.begin(out, format_args!("{phase},\"id\":{id},\"name\":\"launch\",\"cat\":\"launch\""));
        push_micros(out, time);
        out.push(b'}');
    }

    /// All of an event of any phase up to its start.
    fn begin(&self, out: &mut Vec<u8>, phase: fmt::Arguments<'_>) {
        out.extend_from_slice(format!(",\n{{\"ph\":{phase},{},\"ts\":", self.members).as_bytes());
    }
}
