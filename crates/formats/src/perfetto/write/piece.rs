//! Pieces: some rows of a lane, or some samples, as a sequence of packets.

use std::collections::HashMap;
use std::ops::Range;

use opscope_timeline::{Launches, Layout, Rows};
use opscope_trace::{
    ApiCallId, IterationId, OperatorId, RangeId, RangeKind, TaskId, Trace, UnrecordedIterationId,
};

use super::super::fields::{clock, defaults, event, packet, snapshot, trace as file};
use super::arguments::Arguments;
use super::head::{counter_track, lane_track};
use super::names::Names;
use opscope_protobuf::{push_bytes, push_fixed64, push_message, push_number, push_varint};

/// Encodes pieces of a trace.
pub struct Encoder<'e> {
    pub trace: &'e Trace,
    pub layout: &'e Layout,
    pub launches: &'e Launches,
}

/// Some rows of a lane.
pub struct Slices {
    lane: usize,
    rows: Range<usize>,
    /// The ends of the slices that are open where they begin, the outermost first.
    open: Vec<u64>,
    /// Whether all that is open ends here.
    is_last: bool,
}

impl Encoder<'_> {
    /// Divides a lane into pieces of so many rows.
    pub fn divided(&self, lane: usize, most: usize) -> Vec<Slices> {
        let count = self.layout.lanes[lane].rows.len();
        let mut pieces = Vec::with_capacity(count.div_ceil(most));
        let mut open: Vec<u64> = Vec::new();
        for first in (0..count).step_by(most) {
            let rows = first..count.min(first + most);
            let piece = Slices { lane, rows: rows.clone(), open: open.clone(), is_last: rows.end == count };
            pieces.push(piece);
            for row in rows {
                let (start, end) = self.layout.span(self.trace, lane, row);
                while open.pop_if(|end| *end <= start).is_some() {}
                if !self.is_mark(lane, row) {
                    open.push(end);
                }
            }
        }
        pieces
    }

    fn is_mark(&self, lane: usize, row: usize) -> bool {
        let Rows::Ranges(ids) = &self.layout.lanes[lane].rows else { return false };
        self.trace.ranges.kind()[ids[row].index()] == RangeKind::Mark
    }

    /// Appends some rows of a lane. They nest, so a slice ends before the next one that it doesn't hold begins.
    pub fn slices(&self, piece: &Slices, sequence: u32, out: &mut Vec<u8>) {
        let mut writer = Writer::new(self.trace, sequence);
        let mut open = piece.open.clone();
        for row in piece.rows.clone() {
            let (start, end) = self.layout.span(self.trace, piece.lane, row);
            while let Some(ended) = open.pop_if(|end| *end <= start) {
                writer.end(ended);
            }
            let is_mark = self.is_mark(piece.lane, row);
            writer.begin(self, piece.lane, row, start, is_mark);
            if !is_mark {
                open.push(end);
            }
        }
        if piece.is_last {
            open.drain(..).rev().for_each(|end| writer.end(end));
        }
        writer.finish(lane_track(self.layout, piece.lane), out);
    }

    /// Appends some samples, which are by the trace's own clock: those of several counters come in no order.
    pub fn samples(&self, rows: Range<usize>, sequence: u32, out: &mut Vec<u8>) {
        const EXACT: f64 = (1_u64 << 53) as f64;
        let mut body = Vec::new();
        for sample in rows {
            let (counter, time, value) = (
                self.trace.samples.counter()[sample],
                self.trace.samples.time()[sample],
                self.trace.samples.value()[sample],
            );
            if !value.is_finite() {
                continue;
            }
            body.clear();
            push_number(&mut body, event::TYPE, event::COUNTER);
            push_number(&mut body, event::TRACK, counter_track(self.layout, counter.index()));
            if value.fract() == 0.0 && value.abs() < EXACT && !(value == 0.0 && value.is_sign_negative()) {
                push_number(&mut body, event::COUNTER_VALUE, (value as i64).cast_unsigned());
            } else {
                push_fixed64(&mut body, event::DOUBLE_VALUE, value.to_bits());
            }
            push_message(out, file::PACKET, |row| {
                push_number(row, packet::TIMESTAMP, self.layout.time_line.point(time));
                push_number(row, packet::SEQUENCE, u64::from(sequence));
                push_bytes(row, packet::TRACK_EVENT, &body);
            });
        }
    }
}

/// The packets of a piece while they are made.
struct Writer<'t> {
    trace: &'t Trace,
    names: Names<'t>,
    packets: Vec<u8>,
    /// All of a packet between its time and the length of its event.
    behind_time: Vec<u8>,
    last_time: u64,
    body: Vec<u8>,
    scratch: Vec<u8>,
    /// The arguments of the operators that were met.
    operators: HashMap<OperatorId, Range<usize>>,
    operator_bytes: Vec<u8>,
    sequence: u32,
}

impl<'t> Writer<'t> {
    fn new(trace: &'t Trace, sequence: u32) -> Self {
        let mut behind_time = Vec::new();
        push_number(&mut behind_time, packet::SEQUENCE, u64::from(sequence));
        push_number(&mut behind_time, packet::SEQUENCE_FLAGS, packet::FLAG_NEEDS_STATE);
        push_varint(&mut behind_time, u64::from(packet::TRACK_EVENT) << 3 | 2);
        Self {
            trace,
            names: Names::new(&trace.strings),
            packets: Vec::new(),
            behind_time,
            last_time: 0,
            body: Vec::new(),
            scratch: Vec::new(),
            operators: HashMap::new(),
            operator_bytes: Vec::new(),
            sequence,
        }
    }

    fn end(&mut self, time: u64) {
        self.body.clear();
        push_number(&mut self.body, event::TYPE, event::SLICE_END);
        self.push_packet(time);
    }

    fn begin(&mut self, encoder: &Encoder<'_>, lane: usize, row: usize, time: u64, is_mark: bool) {
        self.body.clear();
        push_number(&mut self.body, event::TYPE, if is_mark { event::INSTANT } else { event::SLICE_BEGIN });
        match &encoder.layout.lanes[lane].rows {
            Rows::Iterations(ids) => self.iteration(ids[row]),
            Rows::Unrecorded(ids) => self.unrecorded(ids[row]),
            Rows::Calls(ids) => self.call(ids[row], encoder.launches),
            Rows::Ranges(ids) => self.range(ids[row]),
            Rows::Tasks(ids) => self.task(ids[row], encoder.launches),
        }
        self.push_packet(time);
    }

    /// The packet of the event in `body`.
    fn push_packet(&mut self, time: u64) {
        // Rows are in the order of their starts, and a slice ends no later than the next one begins.
        let difference = time.saturating_sub(self.last_time);
        self.last_time = time;
        self.scratch.clear();
        push_number(&mut self.scratch, packet::TIMESTAMP, difference);
        self.scratch.extend_from_slice(&self.behind_time);
        push_varint(&mut self.scratch, self.body.len() as u64);
        push_varint(&mut self.packets, u64::from(file::PACKET) << 3 | 2);
        push_varint(&mut self.packets, (self.scratch.len() + self.body.len()) as u64);
        self.packets.extend_from_slice(&self.scratch);
        self.packets.extend_from_slice(&self.body);
    }

    /// The first packet, which tells what the others rest on, and then those.
    fn finish(self, track: u64, out: &mut Vec<u8>) {
        push_message(out, file::PACKET, |first| {
            push_number(first, packet::SEQUENCE, u64::from(self.sequence));
            push_number(first, packet::SEQUENCE_FLAGS, packet::FLAG_CLEARED);
            push_number(first, packet::FIRST_ON_SEQUENCE, 1);
            push_message(first, packet::CLOCK_SNAPSHOT, |row| {
                for (id, counts_on) in [(clock::BOOT, false), (clock::FIRST_OF_SEQUENCE, true)] {
                    push_message(row, snapshot::CLOCKS, |reading| {
                        push_number(reading, snapshot::CLOCK_ID, u64::from(id));
                        push_number(reading, snapshot::TIMESTAMP, 0);
                        if counts_on {
                            push_number(reading, snapshot::INCREMENTAL, 1);
                        }
                    });
                }
            });
            push_message(first, packet::DEFAULTS, |row| {
                push_number(row, defaults::CLOCK, u64::from(clock::FIRST_OF_SEQUENCE));
                push_message(row, defaults::TRACK_EVENT, |row| push_number(row, event::TRACK, track));
            });
            push_bytes(first, packet::INTERNED_DATA, &self.names.message);
        });
        out.extend_from_slice(&self.packets);
    }

    fn name(&mut self, number: u64) {
        push_number(&mut self.body, event::NAME_IID, number);
    }

    fn category(&mut self, word: &'static str) {
        let number = self.names.category(word);
        push_number(&mut self.body, event::CATEGORY_IIDS, number);
    }

    fn arguments(&mut self) -> Arguments<'_, '_, 't> {
        Arguments { out: &mut self.body, names: &mut self.names, scratch: &mut self.scratch }
    }

    fn iteration(&mut self, id: IterationId) {
        let iteration = self.trace.iterations.get(id);
        let word = if iteration.warm_up { "warm-up" } else { "inference" };
        self.inference(&format!("{word} {}", iteration.number), word, iteration.number, iteration.warm_up);
    }

    fn unrecorded(&mut self, id: UnrecordedIterationId) {
        let iteration = self.trace.unrecorded_iterations.get(id);
        let word = if iteration.warm_up { "warm-up" } else { "inference" };
        let name = format!("unrecorded {word} {}", iteration.number);
        self.inference(&name, "unrecorded", iteration.number, iteration.warm_up);
    }

    fn inference(&mut self, name: &str, category: &'static str, number: u32, warm_up: bool) {
        push_bytes(&mut self.body, event::NAME, name.as_bytes());
        self.category(category);
        let mut arguments = self.arguments();
        arguments.number("iteration", u64::from(number));
        arguments.flag("warm_up", warm_up);
    }

    fn call(&mut self, id: ApiCallId, launches: &Launches) {
        let call = self.trace.api_calls.get(id);
        let name = self.names.event(call.name, call.level.name());
        self.name(name);
        self.category(call.level.name());
        self.arguments().text("level", call.level.name());
        self.number_of_iteration(call.iteration);
        for &task in launches.tasks_of(id) {
            push_fixed64(&mut self.body, event::FLOWS, flow(task));
        }
    }

    fn range(&mut self, id: RangeId) {
        let range = self.trace.ranges.get(id);
        let name = self.names.event(range.name, range.kind.name());
        self.name(name);
        self.category(range.kind.name());
        if let Some(domain) = range.domain {
            let domain = self.trace.strings.get(domain);
            self.arguments().text("domain", domain);
        }
    }

    fn task(&mut self, id: TaskId, launches: &Launches) {
        let task = self.trace.tasks.get(id);
        let unit = task.unit.name();
        let operator = task.operator.map(|operator| (operator, self.trace.operators.get(operator)));
        let (name, instead) = match operator {
            Some((_, row)) if self.trace.strings.get(row.name).is_empty() => (row.op_type, ""),
            Some((_, row)) => (row.name, ""),
            None => (task.name, unit),
        };
        let number = self.names.event(name, instead);
        self.name(number);
        self.category(unit);
        if let Some((operator, row)) = operator {
            self.operator(operator);
            if task.name != row.name {
                let name = self.trace.strings.get(task.name);
                self.arguments().text("task", name);
            }
        }
        self.arguments().text("unit", unit);
        self.number_of_iteration(task.iteration);
        if let Some(wait) = task.wait {
            self.arguments().signed("wait_ns", wait.0);
        }
        if launches.call_of(id).is_some() {
            push_fixed64(&mut self.body, event::LAST_FLOWS, flow(id));
        }
    }

    fn operator(&mut self, id: OperatorId) {
        if let Some(known) = self.operators.get(&id) {
            self.body.extend_from_slice(&self.operator_bytes[known.clone()]);
            return;
        }
        let (start, trace) = (self.body.len(), self.trace);
        self.arguments().operator(trace, id);
        let begin = self.operator_bytes.len();
        self.operator_bytes.extend_from_slice(&self.body[start..]);
        self.operators.insert(id, begin..self.operator_bytes.len());
    }

    fn number_of_iteration(&mut self, iteration: Option<IterationId>) {
        let Some(id) = iteration else { return };
        let (number, warm_up) =
            (self.trace.iterations.number()[id.index()], self.trace.iterations.warm_up()[id.index()]);
        self.arguments().number("iteration", u64::from(number));
        if warm_up {
            self.arguments().flag("warm_up", true);
        }
    }
}

/// The number of the flow to a task; 0 would be none.
fn flow(task: TaskId) -> u64 {
    task.index() as u64 + 1
}
