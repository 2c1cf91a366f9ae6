//! Writes the events of a Chrome trace, one after another, each behind a comma.

use std::io::Write;

use opscope_columns::Column;

use crate::parallel;
use crate::text::digits::Whole;
use crate::text::numbers;
use crate::text::quoting::{push_json, push_json_inner};

/// How many tasks or calls are put into text in one go.
const CHUNK: usize = 512;

/// A lane: a process and a thread of the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Lane {
    pub(super) pid: u64,
    pub(super) tid: u64,
}

/// The text of some events.
///
/// Its writers are inlined down to the single pieces: most are constants, and to copy a constant takes
/// an instruction or two where a call for any text takes twenty.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The text of earlier events, once there is much of it: more than a million iterations have a gigabyte.
    settled: Column<u8>,
    text: Vec<u8>,
}

/// From so many bytes on, text is put aside.
const MUCH: usize = 16 << 20;

impl Events {
    #[cold]
    #[inline(never)]
    fn settle(&mut self) {
        self.settled.extend_from_slice(&self.text);
        self.text.clear();
    }

    /// Moves other events behind these.
    pub(super) fn append(&mut self, mut others: Self) {
        self.settle();
        self.settled.append(&mut others.settled);
        self.text = others.text;
    }

    /// Writes the events as the first of a list: without the comma before them.
    pub(super) fn write_first(&self, out: &mut (dyn Write + Send)) -> std::io::Result<()> {
        let (first, rest) = if self.settled.is_empty() {
            (&self.text[..], &[][..])
        } else {
            (&self.settled[..], &self.text[..])
        };
        out.write_all(first.get(1..).unwrap_or_default())?;
        out.write_all(rest)
    }

    #[inline(always)]
    fn raw(&mut self, text: &str) -> &mut Self {
        self.text.extend_from_slice(text.as_bytes());
        self
    }

    #[inline(always)]
    fn bytes(&mut self, text: &[u8]) -> &mut Self {
        self.text.extend_from_slice(text);
        self
    }

    #[inline(always)]
    fn name<const PIECES: usize>(&mut self, name: [&str; PIECES]) -> &mut Self {
        if self.text.len() >= MUCH {
            self.settle();
        }
        self.raw(",{\"name\":\"");
        name.into_iter().for_each(|piece| push_json_inner(&mut self.text, piece));
        self.raw("\"")
    }

    #[inline(always)]
    fn begin<const PIECES: usize>(&mut self, name: [&str; PIECES], lane: Lane) -> &mut Self {
        self.name(name).lane(lane)
    }

    #[inline(always)]
    fn lane(&mut self, lane: Lane) -> &mut Self {
        self.raw(",\"pid\":").integer(lane.pid).raw(",\"tid\":").integer(lane.tid)
    }

    #[inline(always)]
    fn integer(&mut self, value: impl Whole) -> &mut Self {
        numbers::push_integer(&mut self.text, value);
        self
    }

    #[inline(always)]
    fn time(&mut self, nanoseconds: i64) -> &mut Self {
        self.raw(",\"ts\":\"");
        numbers::push_micros(&mut self.text, nanoseconds);
        self.raw("\"")
    }

    #[inline(always)]
    fn span(&mut self, start: i64, duration: i64) -> &mut Self {
        self.time(start).raw(",\"dur\":");
        numbers::push_micros_trimmed(&mut self.text, duration);
        self
    }

    /// A slice, whose name is in pieces; `args` writes what is known about it.
    #[inline(always)]
    pub(super) fn slice<const PIECES: usize>(
        &mut self,
        name: [&str; PIECES],
        lane: Lane,
        start: i64,
        duration: i64,
        category: Option<&str>,
        args: impl FnOnce(&mut Args<'_>),
    ) {
        self.begin(name, lane).span(start, duration).raw(",\"ph\":\"X\"");
        if let Some(category) = category {
            self.raw(",\"cat\":\"").raw(category).raw("\"");
        }
        self.args(args);
    }

    /// A slice of which most is written already; `args` writes the rest of what is known about it.
    #[inline(always)]
    pub(super) fn shared_slice(
        &mut self,
        shared: &SharedSlice,
        tid: u64,
        start: i64,
        duration: i64,
        args: impl FnOnce(&mut Args<'_>),
    ) {
        self.bytes(&shared.begin).integer(tid).span(start, duration).bytes(&shared.args);
        args(&mut Args { events: self, is_first: false });
        self.raw("}}");
    }

    /// The value of a counter.
    pub(super) fn counter(&mut self, name: &str, lane: Lane, time: i64, args: impl FnOnce(&mut Args<'_>)) {
        self.begin([name], lane).time(time).raw(",\"ph\":\"C\"");
        self.args(args);
    }

    /// The begin (`s`) or end (`f`) of an arrow.
    #[inline(always)]
    pub(super) fn arrow(
        &mut self,
        prefix: &str,
        category: &str,
        id: u64,
        lane: Lane,
        time: i64,
        is_end: bool,
    ) {
        self.raw(",{\"name\":\"").raw(prefix).integer(id).raw("\"").lane(lane);
        self.raw(if is_end { ",\"ph\":\"f\",\"cat\":\"" } else { ",\"ph\":\"s\",\"cat\":\"" });
        self.raw(category).raw("\",\"id\":\"").integer(id).raw("\"").time(time);
        self.raw(if is_end { ",\"bp\":\"e\"}" } else { "}" });
    }

    /// The begin (`s`) of a flow or a step (`t`) in it; `args` writes what is known about it.
    pub(super) fn flow(
        &mut self,
        phase: &str,
        name: [&str; 2],
        id: &str,
        lane: Lane,
        time: i64,
        args: impl FnOnce(&mut Args<'_>),
    ) {
        let [category, number] = name;
        self.begin([category, " ", number], lane)
            .raw(",\"ph\":\"")
            .raw(phase)
            .raw("\",\"cat\":\"")
            .raw(category);
        self.raw("\",\"id\":\"").raw(id).raw("\"").time(time);
        self.args(args);
    }

    /// A name or number of a lane.
    pub(super) fn metadata(&mut self, kind: &str, lane: Lane, args: impl FnOnce(&mut Args<'_>)) {
        self.begin([kind], lane).raw(",\"ph\":\"M\"");
        self.args(args);
    }

    #[inline(always)]
    fn args(&mut self, args: impl FnOnce(&mut Args<'_>)) {
        self.raw(",\"args\":{");
        args(&mut Args { events: self, is_first: true });
        self.raw("}}");
    }
}

/// Text that many slices share.
#[derive(Debug)]
pub(super) struct SharedSlice {
    /// Up to the number of the lane.
    begin: Vec<u8>,
    /// The text behind the times.
    args: Vec<u8>,
}

impl SharedSlice {
    /// Slices of a process whose name is in pieces; `args` writes at least one thing that is known about
    /// all of them.
    pub(super) fn new<const PIECES: usize>(
        name: [&str; PIECES],
        pid: u64,
        args: impl FnOnce(&mut Args<'_>),
    ) -> Self {
        let (mut begin, mut known) = (Events::default(), Events::default());
        begin.name(name).raw(",\"pid\":").integer(pid).raw(",\"tid\":");
        known.raw(",\"ph\":\"X\",\"args\":{");
        args(&mut Args { events: &mut known, is_first: true });
        Self { begin: begin.text, args: known.text }
    }
}

/// Writes what is known about an event.
pub(super) struct Args<'a> {
    events: &'a mut Events,
    is_first: bool,
}

impl Args<'_> {
    #[inline(always)]
    fn key(&mut self, key: &str) -> &mut Events {
        self.events.raw(if self.is_first { "\"" } else { ",\"" }).raw(key).raw("\":");
        self.is_first = false;
        self.events
    }

    #[inline(always)]
    pub(super) fn text(&mut self, key: &str, value: &str) -> &mut Self {
        push_json(&mut self.key(key).text, value);
        self
    }

    #[inline(always)]
    pub(super) fn integer(&mut self, key: &str, value: impl Whole) -> &mut Self {
        self.key(key).integer(value);
        self
    }

    /// An integer as text.
    #[inline(always)]
    pub(super) fn integer_text(&mut self, key: &str, value: impl Whole) -> &mut Self {
        self.key(key).raw("\"").integer(value).raw("\"");
        self
    }

    pub(super) fn float(&mut self, key: &str, value: f64) -> &mut Self {
        numbers::push_float(&mut self.key(key).text, value);
        self
    }

    /// Microseconds of a duration in nanoseconds.
    pub(super) fn micros(&mut self, key: &str, nanoseconds: i64) -> &mut Self {
        numbers::push_micros_trimmed(&mut self.key(key).text, nanoseconds);
        self
    }

    /// A time as text with three decimals.
    pub(super) fn time(&mut self, key: &str, nanoseconds: i64) -> &mut Self {
        let events = self.key(key).raw("\"");
        numbers::push_micros(&mut events.text, nanoseconds);
        events.raw("\"");
        self
    }
}

/// Writes many events on all cores, in their order.
pub(super) fn write_all(
    out: &mut (dyn Write + Send),
    count: usize,
    write: impl Fn(usize, &mut Events) + Sync,
) -> std::io::Result<()> {
    let chunk = |number: usize, text: &mut Vec<u8>| {
        let mut events = Events { text: std::mem::take(text), ..Events::default() };
        for index in number * CHUNK..((number + 1) * CHUNK).min(count) {
            write(index, &mut events);
        }
        *text = events.text;
    };
    parallel::texts(count.div_ceil(CHUNK), chunk, |text| out.write_all(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_events_are_one_list_in_their_order() {
        let long = "x".repeat(1_000);
        let events = |numbers: std::ops::Range<u64>| {
            let mut events = Events::default();
            for number in numbers {
                events.slice([&long], Lane { pid: 1, tid: number }, 0, 1, None, |_| {});
            }
            events
        };
        let count = 2 * MUCH as u64 / 1_000;
        let mut all = events(0..count);
        assert!(!all.settled.is_empty(), "there is much of it");
        all.append(events(count..2 * count));
        all.append(events(2 * count..2 * count + 3));
        let mut out = b"[".to_vec();
        all.write_first(&mut out).expect("memory takes it");
        out.push(b']');
        let list: Vec<serde_json::Value> = serde_json::from_slice(&out).expect("a list");
        let lanes: Vec<u64> = list.iter().filter_map(|event| event["tid"].as_u64()).collect();
        assert_eq!(lanes, (0..2 * count + 3).collect::<Vec<u64>>());
    }
}
