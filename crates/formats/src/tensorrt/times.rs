//! `--exportTimes`: when each inference was enqueued, copied to the device, computed and copied back.
//!
//! | members | older name | what |
//! |---|---|---|
//! | `startEnqMs`, `endEnqMs` | | the host's call that enqueues it |
//! | `startH2dMs`, `endH2dMs` | `startInMs`, `endInMs` | copies to the device |
//! | `startComputeMs`, `endComputeMs` | | computing |
//! | `startD2hMs`, `endD2hMs` | `startOutMs`, `endOutMs` | copies from the device |
//! | `latencyMs` | | from the begin of the first copy to the end of the last, less waits between |
//!
//! Milliseconds since the begin of the measurement, on the host's clock and the device's, which `trtexec` brings
//! together. With several streams (`--infStreams`) inferences overlap, and the file doesn't tell whose stream is whose:
//! those that overlap lie on streams of their own here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use opscope_trace::{
    ApiCall, ApiLevel, DeviceId, DeviceKind, ExecutionUnit, Iteration, LossKind, Nanoseconds, Operator,
    OperatorId, Places, StreamId, Task, Trace,
};

use super::{FORMAT, ReadError, count_cut, instant};
use crate::json::{Scanned, Scanner};
use crate::reading::Stop;

/// Begin and end of a step.
#[derive(Clone, Copy, Default)]
struct Step {
    start: Option<f64>,
    end: Option<f64>,
}

impl Step {
    /// Begin and duration, if both were told and the end is none before the begin.
    fn span(self) -> Option<(Nanoseconds, Nanoseconds)> {
        let (start, end) = (instant(self.start?)?, instant(self.end?)?);
        (end >= start).then_some((start, end - start))
    }
}

/// An inference; steps in the order of [`STEPS`].
#[derive(Default)]
struct Item {
    enqueue: Step,
    steps: [Step; 3],
    latency: Option<f64>,
}

/// The steps on the device: name, unit.
const STEPS: [(&str, ExecutionUnit); 3] = [
    ("copy to the device", ExecutionUnit::MemoryCopy),
    ("computing", ExecutionUnit::Gpu),
    ("copy from the device", ExecutionUnit::MemoryCopy),
];

/// Reads the inferences that are there.
///
/// # Errors
/// When there is none before the damage.
pub(super) fn read(json: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let mut projection = Projection::new();
    let mut scanner = Scanner::new(json);
    let mut turns = stop.within(0u64..);
    let scanned = scanner.array("'[' and a list of inferences", |scanner| {
        if turns.next().is_none() {
            return Err(scanner.wrong("nobody who stops the reading"));
        }
        if scanner.peek() != Some(b'{') {
            scanner.skip()?;
            projection.trace.count_loss(LossKind::NoLayer, 1, "an item that is no object");
            return Ok(());
        }
        let item = item(scanner)?;
        projection.enter(&item);
        Ok(())
    });
    let mut trace = projection.trace;
    match scanned {
        Err(error) if trace.iterations.is_empty() => Err(error.into()),
        Err(error) => {
            count_cut(&mut trace, &error);
            Ok(trace)
        }
        Ok(()) => Ok(trace),
    }
}

fn item(scanner: &mut Scanner<'_>) -> Scanned<Item> {
    let mut item = Item::default();
    scanner.object("an inference", |scanner, member| {
        let [to, compute, from] = &mut item.steps;
        let place = match member {
            b"startEnqMs" => &mut item.enqueue.start,
            b"endEnqMs" => &mut item.enqueue.end,
            b"startH2dMs" | b"startInMs" => &mut to.start,
            b"endH2dMs" | b"endInMs" => &mut to.end,
            b"startComputeMs" => &mut compute.start,
            b"endComputeMs" => &mut compute.end,
            b"startD2hMs" | b"startOutMs" => &mut from.start,
            b"endD2hMs" | b"endOutMs" => &mut from.end,
            b"latencyMs" => &mut item.latency,
            _ => {
                scanner.skip()?;
                return Ok(());
            }
        };
        *place = scanner.number()?;
        Ok(())
    })?;
    Ok(item)
}

/// The ends of the last on streams, the earliest first.
type Busy = BinaryHeap<Reverse<(Nanoseconds, StreamId)>>;

struct Projection {
    trace: Trace,
    places: Places,
    device: DeviceId,
    /// Of each step its streams, and how many these are.
    streams: [(Busy, usize); 3],
    operators: [Option<OperatorId>; 3],
}

impl Projection {
    fn new() -> Self {
        let mut trace = Trace::new();
        trace.run.format = Some(FORMAT);
        let mut places = Places::default();
        let device = places.device(&mut trace, DeviceKind::Gpu, 0, FORMAT.name());
        Self { trace, places, device, streams: Default::default(), operators: [None; 3] }
    }

    /// A stream of a step on which nothing runs at a time; of more than any measurement has, the one that is free first.
    fn stream(&mut self, step: usize, start: Nanoseconds, end: Nanoseconds) -> StreamId {
        /// The most streams of a step.
        const MOST: usize = 1024;
        let (busy, count) = &mut self.streams[step];
        let is_free = busy.peek().is_some_and(|Reverse((until, _))| *until <= start) || *count >= MOST;
        if let Some(Reverse((until, stream))) = is_free.then(|| busy.pop()).flatten() {
            busy.push(Reverse((end.max(until), stream)));
            return stream;
        }
        let name = match *count {
            0 => STEPS[step].0.to_owned(),
            number => format!("{} {}", STEPS[step].0, number + 1),
        };
        let number = (step + STEPS.len() * *count) as u64;
        *count += 1;
        let name = self.trace.strings.intern(&name);
        let stream = self.places.stream(&mut self.trace, self.device, number, None, name);
        self.streams[step].0.push(Reverse((end, stream)));
        stream
    }

    fn enter(&mut self, item: &Item) {
        let spans = item.steps.map(Step::span);
        let Some(start) = spans.iter().flatten().map(|(start, _)| *start).min() else {
            self.trace.count_loss(LossKind::LayerWithoutDuration, 1, "an inference without begin and end");
            return;
        };
        let end = spans.iter().flatten().map(|(start, duration)| *start + *duration).max().unwrap_or(start);
        let stated = item.latency.and_then(|latency| crate::layers::time(latency, crate::layers::MILLI));
        let duration = stated.unwrap_or(end - start);
        let number = self.trace.iterations.len() as u32 + 1;
        let row = Iteration { model: None, number, warm_up: false, start, duration };
        let iteration = Some(self.trace.iterations.push(row));
        for (step, span) in spans.into_iter().enumerate() {
            let is_told = item.steps[step].start.is_some() || item.steps[step].end.is_some();
            if span.is_none() && is_told {
                self.trace.count_loss(LossKind::LayerWithoutDuration, 1, STEPS[step].0);
            }
            let Some((start, duration)) = span.filter(|(_, duration)| *duration > Nanoseconds::ZERO) else {
                continue;
            };
            let (name, unit) = STEPS[step];
            let name = self.trace.strings.intern(name);
            let trace = &mut self.trace;
            let operator =
                *self.operators[step].get_or_insert_with(|| trace.operators.push(Operator::new(name, name)));
            let stream = Some(self.stream(step, start, start + duration));
            let task = Task::new(name, start, duration);
            self.trace.tasks.push(Task { operator: Some(operator), stream, unit, iteration, ..task });
        }
        if let Some((start, duration)) = item.enqueue.span() {
            let process = self.places.process(&mut self.trace, 0);
            let thread = Some(self.places.thread(&mut self.trace, process, 0, "host"));
            let name = self.trace.strings.intern("enqueue");
            let call = ApiCall { thread, level: ApiLevel::Runtime, name, start, duration, iteration };
            self.trace.api_calls.push(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An inference that computes from a begin on for 3 ms.
    fn inference(begin: f64, end: &str) -> String {
        format!(
            r#"{{"startH2dMs": {begin}, "endH2dMs": {begin}, "startComputeMs": {begin}, "endComputeMs": {end}, "startD2hMs": {end}, "endD2hMs": {end}}}"#
        )
    }

    #[test]
    fn inferences_that_overlap_lie_on_streams_of_their_own() {
        let items = [0.0, 1.5, 3.0, 4.5].map(|begin| inference(begin, &format!("{}", begin + 3.0)));
        let trace = read(format!("[{}]", items.join(",")).as_bytes(), &Stop::default()).unwrap();
        assert_eq!(trace.tasks.duration(), [Nanoseconds(3_000_000); 4]);
        let streams: Vec<_> = trace.tasks.stream().iter().map(|it| it.unwrap()).collect();
        assert_eq!((streams.len(), streams[0] == streams[2], streams[1] == streams[3]), (4, true, true));
        assert_ne!(streams[0], streams[1]);
    }

    #[test]
    fn a_step_without_a_time_that_can_be_is_counted() {
        let text = format!("[{},{}]", inference(0.0, "3.0"), inference(4.0, "null"));
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        assert_eq!(trace.tasks.len(), 1);
        let lost: Vec<_> =
            trace.losses.iter().map(|(_, it)| (it.kind, trace.strings.get(it.detail))).collect();
        assert!(lost.contains(&(LossKind::LayerWithoutDuration, "computing")), "{lost:?}");
    }
}
