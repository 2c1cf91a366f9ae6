//! Tables of other things than tasks that make a trace: inferences (`step_trace*.csv`), ranges
//! (`msprof_tx*.csv`), and samples over time (`memory_record.csv`, `npu_mem*.csv`, …).

use std::collections::{BTreeSet, HashMap};

use opscope_formats::reading::Stop;
use opscope_trace::{
    Counter, CounterId, DeviceKind, Iteration, LossKind, Nanoseconds, Places, Range, RangeKind, Sample, Trace,
};

use super::table::{Column, Header, Losses, Row, read_rows, zero_of};
use crate::headings::{memory_record, msprof_tx, msprof_tx_2022, npu_mem, other, step_trace};
use crate::quantities::{self, MODULE_RESERVED};

const TIMESTAMP: [&str; 2] = [memory_record::TIME, other::TIME];
const DEVICE: [&str; 3] = [other::PLACE, memory_record::PLACE, memory_record::DEVICE];
const COMPONENT: [&str; 2] = [memory_record::COMPONENT, npu_mem::SCOPE];

/// Whether a table lists the inferences.
pub(super) fn is_of_iterations(header: &Header) -> bool {
    header.has(&[step_trace::END]) && header.has(&[step_trace::DURATION])
}

/// Whether a table lists the ranges and marks of the program.
pub(super) fn is_of_ranges(header: &Header) -> bool {
    RangeTimes::of(header).is_some() && header.has(&[msprof_tx::MESSAGE])
}

/// Whether a table lists samples over time.
pub(super) fn is_of_samples(header: &Header) -> bool {
    header.has(&TIMESTAMP) && header.has(&COMPONENT)
}

/// The inferences of a table.
pub(super) fn read_iterations(text: &[u8], header: &Header, stop: &Stop) -> Trace {
    let [end, time, number, model] =
        [step_trace::END, step_trace::DURATION, step_trace::NUMBER, step_trace::MODEL]
            .map(|name| header.find(&[name]));
    let mut found: Vec<(Nanoseconds, Nanoseconds, Option<u32>, Option<u64>)> = Vec::new();
    let mut losses = Losses::default();
    read_rows(text, header, stop, &mut losses, |row, losses| match (row.micros(end), row.micros(time)) {
        (Some(end), Some(duration)) if duration >= Nanoseconds::ZERO => {
            let number = row.number(number).and_then(|number| u32::try_from(number).ok());
            found.push((end - duration, duration, number, row.number(model)));
        }
        _ => losses.count(LossKind::IterationWithoutEnd, row.line),
    });
    found.sort();
    let mut trace = Trace::new();
    let zero = set_zero(&mut trace, found.first().map(|(start, ..)| *start));
    for (place, (start, duration, number, model)) in (1..).zip(found) {
        let number = number.unwrap_or(place);
        let model = model.map(|number| trace.enter_model(number));
        trace.iterations.push(Iteration { model, number, warm_up: false, start: start - zero, duration });
    }
    losses.report(&mut trace);
    trace
}

/// The columns of the begin and end of ranges.
#[derive(Clone, Copy)]
struct RangeTimes {
    start: Column,
    end: Column,
    /// Whether they are nanoseconds, as in 2022, and not microseconds.
    in_nanos: bool,
}

impl RangeTimes {
    fn of(header: &Header) -> Option<Self> {
        let times = |in_nanos, start, end| {
            Some(Self { start: header.find(&[start])?, end: header.find(&[end])?, in_nanos })
        };
        times(false, msprof_tx::START, msprof_tx::END)
            .or_else(|| times(true, msprof_tx_2022::START, msprof_tx_2022::END))
    }

    fn span(self, row: &Row<'_>) -> Option<(Nanoseconds, Nanoseconds)> {
        let time = |column| if self.in_nanos { row.nanos(Some(column)) } else { row.micros(Some(column)) };
        time(self.start).zip(time(self.end))
    }

    /// The earliest begin.
    fn first(self, text: &[u8], header: &Header, stop: &Stop) -> Option<Nanoseconds> {
        let mut first: Option<Nanoseconds> = None;
        read_rows(text, header, stop, &mut Losses::default(), |row, _| {
            if let Some((start, _)) = self.span(row) {
                first = Some(first.map_or(start, |known| known.min(start)));
            }
        });
        first
    }
}

/// The ranges and marks of a table.
pub(super) fn read_ranges(text: &[u8], header: &Header, stop: &Stop) -> Trace {
    let times = RangeTimes::of(header);
    let [message, domain, event, pid, tid] =
        [msprof_tx::MESSAGE, msprof_tx::DOMAIN, msprof_tx::KIND, msprof_tx::PROCESS, msprof_tx::THREAD]
            .map(|name| header.find(&[name]));
    let mut trace = Trace::new();
    let mut losses = Losses::default();
    let first = times.and_then(|times| times.first(text, header, stop));
    let zero = set_zero(&mut trace, first);
    let mut places = Places::default();
    read_rows(text, header, stop, &mut losses, |row, losses| {
        let Some((start, end)) = times.and_then(|times| times.span(row)) else {
            losses.count(LossKind::RangeWithoutSpan, row.line);
            return;
        };
        if end < start {
            losses.count(LossKind::RangeEndsBeforeStart, row.line);
            return;
        }
        let pid = row.number(pid).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        let process = places.process(&mut trace, pid);
        let thread = row.number(tid).map(|tid| places.thread(&mut trace, process, tid, ""));
        let kind = match row.cell(event) {
            b"push/pop" => RangeKind::PushPop,
            b"start/end" => RangeKind::StartStop,
            _ => RangeKind::Mark,
        };
        let domain = Some(row.text(domain)).filter(|domain| !domain.is_empty());
        let domain = domain.map(|domain| trace.strings.intern(&domain));
        let name = trace.strings.intern(&row.text(message));
        trace.ranges.push(Range { thread, kind, name, domain, start: start - zero, duration: end - start });
    });
    losses.report(&mut trace);
    trace
}

/// The samples of a table: every column with a unit in brackets is a counter of each component.
pub(super) fn read_samples(text: &[u8], header: &Header, stop: &Stop) -> Trace {
    let (time, component) = (header.find(&TIMESTAMP), header.find(&COMPONENT));
    let device = header.find(&DEVICE);
    let values: Vec<(Column, String, String)> = (header.columns())
        .filter(|(column, _)| Some(*column) != time)
        .filter_map(|(column, name)| {
            let (what, unit) = name.strip_suffix(')')?.split_once('(')?;
            Some((column, what.trim().to_owned(), unit.to_ascii_uppercase()))
        })
        .collect();
    // Modules' reserves are another figure than what allocators of the same names tell of theirs.
    let of_modules = values.iter().all(|(_, what, _)| what == "total reserved");
    let quantity = |what: &str| if of_modules { MODULE_RESERVED.to_owned() } else { what.to_owned() };
    let values: Vec<_> =
        values.into_iter().map(|(column, what, unit)| (column, quantity(&what), unit)).collect();
    let mut trace = Trace::new();
    let first = first_time(text, header, time, stop);
    let zero = set_zero(&mut trace, first);
    let mut losses = Losses::default();
    let mut places = Places::default();
    let mut counters: HashMap<(String, Option<u32>, Column), CounterId> = HashMap::new();
    let mut samples: Vec<Sample> = Vec::new();
    read_rows(text, header, stop, &mut losses, |row, losses| {
        let Some(time) = row.micros(time).filter(|_| !is_rounded(row.cell(time))) else {
            losses.count(LossKind::SampleWithoutTime, row.line);
            return;
        };
        let (component, device) = (row.text(component), device_number(row, device));
        for (column, what, unit) in &values {
            let Some(value) = row.float(Some(*column)) else { continue };
            let counter = *counters.entry((component.clone(), device, *column)).or_insert_with(|| {
                let device = device.map(|number| places.device(&mut trace, DeviceKind::Npu, number, ""));
                let name = trace.strings.intern(&quantities::memory(&component, what));
                let unit = trace.strings.intern(unit);
                trace.counters.push(Counter { name, unit, device })
            });
            samples.push(Sample { counter, time: time - zero, value });
        }
    });
    samples.sort_by_key(|sample| sample.time);
    for sample in samples {
        trace.samples.push(sample);
    }
    crate::units::to_smallest(&mut trace);
    losses.report(&mut trace);
    trace
}

/// The devices that a table of samples names.
pub(super) fn devices_of_samples(text: &[u8], header: &Header, stop: &Stop) -> BTreeSet<u32> {
    let device = header.find(&DEVICE);
    let mut devices = BTreeSet::new();
    read_rows(text, header, stop, &mut Losses::default(), |row, _| {
        devices.extend(device_number(row, device))
    });
    devices
}

/// Whether a time has lost its last digits, as spreadsheets round it: `1.69512E+15`.
fn is_rounded(time: &[u8]) -> bool {
    let Some(place) = time.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e')) else { return false };
    let (digits, exponent) = (&time[..place], &time[place + 1..]);
    let behind_point = digits.iter().rev().position(|byte| *byte == b'.').unwrap_or(0);
    let exponent: Option<usize> = std::str::from_utf8(exponent).ok().and_then(|text| text.parse().ok());
    exponent.is_some_and(|exponent| exponent > behind_point)
}

/// `NPU:0` or `0`; nothing for the host.
fn device_number(row: &Row<'_>, column: Option<Column>) -> Option<u32> {
    let text = row.text(column);
    text.rsplit(':').next()?.parse().ok()
}

/// The earliest time of a column.
fn first_time(text: &[u8], header: &Header, column: Option<Column>, stop: &Stop) -> Option<Nanoseconds> {
    let mut first: Option<Nanoseconds> = None;
    read_rows(text, header, stop, &mut Losses::default(), |row, _| {
        if let Some(time) = row.micros(column).filter(|_| !is_rounded(row.cell(column))) {
            first = Some(first.map_or(time, |known| known.min(time)));
        }
    });
    first
}

/// Sets the trace's zero by its first time.
fn set_zero(trace: &mut Trace, first: Option<Nanoseconds>) -> Nanoseconds {
    let zero = first.map(zero_of).unwrap_or_default();
    if zero != Nanoseconds::ZERO {
        trace.clock.unix_zero = Some(zero.0);
    }
    zero
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    #[test]
    fn ranges_are_the_same_in_the_nanoseconds_of_2022() {
        let spans = |table: &str| {
            let trace = read(table.as_bytes(), &Stop::default()).unwrap();
            (trace.ranges.start().to_vec(), trace.ranges.duration().to_vec(), trace.ranges.kind().to_vec())
        };
        let in_nanos = spans(
            "pid, tid, event_type, Start_time(ns), End_time(ns), message\n\
             1,1,start/end,1043640017380831,1043640018380832,hello\n",
        );
        let in_micros = spans(
            "pid,tid,event_type,Start_time(us),End_time(us),message\n\
             1,1,start/end,1043640017380.831,1043640018380.832,hello\n",
        );
        assert_eq!(in_nanos, in_micros);
        assert_eq!(in_nanos.1, [Nanoseconds(1_000_001)]);
    }
}
