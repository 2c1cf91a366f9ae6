//! From rows of msServiceProfiler's tables to ranges, samples and inferences.

use std::collections::{BTreeSet, HashMap};

use opscope_formats::reading::Stop;
use opscope_trace::{
    Counter, CounterId, Iteration, LossKind, Nanoseconds, Places, ProfileFormat, Range, RangeKind, Sample,
    StringId, ThreadId, Trace,
};

use super::columns::{Kind, Layout};
use crate::read::lanes::Lanes;
use crate::read::tables::table::{Header, Losses, Row, read_rows, zero_of};

/// The domain of the ranges of requests.
const REQUEST: &str = "request";

/// Names of executions among a batch's steps.
const EXECUTION: &str = "modelExec";

/// A row that lasts, with its times since their clock's zero.
struct Lasting {
    kind: Kind,
    is_execution: bool,
    place: Option<ThreadId>,
    name: StringId,
    domain: Option<StringId>,
    start: Nanoseconds,
    duration: Nanoseconds,
}

/// The tables as far as they were read.
#[derive(Default)]
pub(super) struct Reading {
    pub trace: Trace,
    lasting: Vec<Lasting>,
    samples: Vec<Sample>,
    counters: HashMap<(&'static str, Option<ThreadId>), CounterId>,
    places: Places,
    threads: HashMap<String, ThreadId>,
}

impl Reading {
    /// Reads a table; `file` names it.
    pub fn table(&mut self, text: &[u8], header: &Header, layout: &Layout, file: &str, stop: &Stop) {
        let mut losses = Losses::default();
        read_rows(text, header, stop, &mut losses, |row, losses| {
            let Some(start) = layout.start.of(row) else {
                let kind = if layout.has_ranges() {
                    LossKind::RangeWithoutSpan
                } else {
                    LossKind::SampleWithoutTime
                };
                return losses.count(kind, row.line);
            };
            let place = self.place(row, layout);
            if layout.has_ranges() {
                match self.lasting(row, layout, place, start) {
                    Ok(lasting) => self.lasting.push(lasting),
                    Err(kind) => losses.count(kind, row.line),
                }
            }
            for value in &layout.values {
                let Some(number) = value.of(row) else {
                    losses.count_several(LossKind::ValueNoNumber, u64::from(value.is_told(row)), row.line);
                    continue;
                };
                let counter = self.counter(value.quantity.counter, value.quantity.unit, place);
                self.samples.push(Sample { counter, time: start, value: number });
            }
        });
        losses.report_in(&mut self.trace, file);
        if layout.is_written() {
            self.trace.count_loss(
                LossKind::UntiedClock,
                1,
                &format!("{file}: start_datetime, whose zone isn't told"),
            );
        }
    }

    /// Whether anything with a time was read.
    pub fn has_times(&self) -> bool {
        !self.lasting.is_empty() || !self.samples.is_empty()
    }

    fn lasting(
        &mut self,
        row: &Row<'_>,
        layout: &Layout,
        place: Option<ThreadId>,
        start: Nanoseconds,
    ) -> Result<Lasting, LossKind> {
        let end = || layout.end.and_then(|end| end.of(row)).map(|end| end - start);
        let duration = layout.duration.and_then(|duration| duration.of(row)).or_else(end);
        let duration = duration.ok_or(LossKind::RangeWithoutSpan)?;
        if duration < Nanoseconds::ZERO {
            return Err(LossKind::RangeEndsBeforeStart);
        }
        let name = row.text(layout.name);
        let phase = Some(row.text(layout.phase)).filter(|phase| !phase.is_empty());
        let domain = if layout.kind == Kind::Requests { Some(REQUEST.to_owned()) } else { phase };
        Ok(Lasting {
            kind: layout.kind,
            is_execution: layout.kind == Kind::Passes || name == EXECUTION,
            place,
            name: self.trace.strings.intern(&name),
            domain: domain.map(|domain| self.trace.strings.intern(&domain)),
            start,
            duration,
        })
    }

    /// The host and device of a row as a thread: which device an identifier means isn't told.
    fn place(&mut self, row: &Row<'_>, layout: &Layout) -> Option<ThreadId> {
        let told = layout.places.iter().map(|(heading, column)| (heading, row.text(Some(*column))));
        let told = told.filter(|(_, text)| !matches!(text.as_str(), "" | "<NA>" | "nan"));
        let label = told.map(|(heading, text)| format!("{heading} {text}")).collect::<Vec<_>>().join(", ");
        if label.is_empty() {
            return None;
        }
        Some(self.thread(label))
    }

    /// The thread of a name.
    fn thread(&mut self, name: String) -> ThreadId {
        if let Some(thread) = self.threads.get(&name) {
            return *thread;
        }
        let process = self.places.process(&mut self.trace, 0);
        let number = self.threads.len() as u64;
        let thread = self.places.thread(&mut self.trace, process, number, &name);
        self.threads.insert(name, thread);
        thread
    }

    /// The counter of a quantity, of each place that is told one.
    fn counter(&mut self, name: &'static str, unit: &str, place: Option<ThreadId>) -> CounterId {
        let trace = &mut self.trace;
        *self.counters.entry((name, place)).or_insert_with(|| {
            let place = place.map(|thread| trace.strings.get(trace.threads.get(thread).name));
            let name = place.map_or(name.to_owned(), |place| format!("{name}, {place}"));
            let (name, unit) = (trace.strings.intern(&name), trace.strings.intern(unit));
            trace.counters.push(Counter { name, unit, device: None })
        })
    }

    /// The trace, whose zero is the first time of all tables.
    pub fn into_trace(mut self) -> Trace {
        self.trace.run.format = Some(ProfileFormat::CannServer);
        let starts = self.lasting.iter().map(|lasting| lasting.start);
        let first = starts.chain(self.samples.iter().map(|sample| sample.time)).min();
        let zero = first.map(zero_of).unwrap_or_default();
        if zero != Nanoseconds::ZERO {
            self.trace.clock.unix_zero = Some(zero.0);
        }
        self.lasting.sort_by_key(|lasting| (lasting.start, lasting.kind));
        self.samples.sort_by_key(|sample| sample.time);
        for (number, (start, duration)) in (1..).zip(self.inferences()) {
            let start = start - zero;
            self.trace.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
        }
        let mut lanes = Lanes::default();
        for lasting in std::mem::take(&mut self.lasting) {
            let Lasting { place, name, domain, start, duration, .. } = lasting;
            let lane = (lasting.kind == Kind::Requests).then(|| lanes.place(start, duration));
            let thread = lane.map(|lane| self.thread(format!("requests, lane {}", lane + 1))).or(place);
            let kind = RangeKind::StartStop;
            let range = Range { thread, kind, name, domain, start: start - zero, duration };
            self.trace.ranges.push(range);
        }
        for sample in &self.samples {
            self.trace.samples.push(Sample { time: sample.time - zero, ..*sample });
        }
        self.trace
    }

    /// When forward passes began, or without any executions of batches, and how long they took, if all are of one
    /// place.
    fn inferences(&self) -> Vec<(Nanoseconds, Nanoseconds)> {
        let of_kind = |kind: Kind| -> Vec<&Lasting> {
            self.lasting.iter().filter(|lasting| lasting.kind == kind && lasting.is_execution).collect()
        };
        let passes = of_kind(Kind::Passes);
        let found = if passes.is_empty() { of_kind(Kind::Batches) } else { passes };
        let places: BTreeSet<Option<ThreadId>> = found.iter().map(|lasting| lasting.place).collect();
        match places.len() {
            1 => found.iter().map(|lasting| (lasting.start, lasting.duration)).collect(),
            _ => Vec::new(),
        }
    }
}
