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
//! together.

use opscope_trace::{
    ApiCall, ApiLevel, DeviceKind, ExecutionUnit, Iteration, LossKind, Nanoseconds, Operator, OperatorId,
    Places, StreamId, Task, Trace,
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

struct Projection {
    trace: Trace,
    places: Places,
    streams: [StreamId; 3],
    operators: [Option<OperatorId>; 3],
}

impl Projection {
    fn new() -> Self {
        let mut trace = Trace::new();
        trace.run.format = Some(FORMAT);
        let mut places = Places::default();
        let device = places.device(&mut trace, DeviceKind::Gpu, 0, FORMAT.name());
        let streams = [0, 1, 2].map(|number| {
            let name = trace.strings.intern(STEPS[number].0);
            places.stream(&mut trace, device, number as u64, None, name)
        });
        Self { trace, places, streams, operators: [None; 3] }
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
            let Some((start, duration)) = span.filter(|(_, duration)| *duration > Nanoseconds::ZERO) else {
                continue;
            };
            let (name, unit) = STEPS[step];
            let name = self.trace.strings.intern(name);
            let trace = &mut self.trace;
            let operator =
                *self.operators[step].get_or_insert_with(|| trace.operators.push(Operator::new(name, name)));
            let stream = Some(self.streams[step]);
            let task = Task::new(name, start, duration);
            trace.tasks.push(Task { operator: Some(operator), stream, unit, iteration, ..task });
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
