//! Tasks of data processing units (DPU), and steps of collective operations there, in streams of devices of
//! their own.

use std::collections::HashMap;

use opscope_trace::{
    Device, DeviceId, DeviceKind, Nanoseconds, NumberMap, Operator, OperatorId, Stream, StreamId, Task,
};

use super::Projection;
use crate::facts::dpu::{DpuWork, UNIT, dpu_spans};
use crate::kinds::NodeTaskType;
use crate::vocabulary;

impl Projection<'_> {
    /// The work of the units.
    pub(super) fn dpu(&mut self) {
        let mut devices: NumberMap<u16, DeviceId> = NumberMap::default();
        let mut streams: NumberMap<(u16, u16), StreamId> = NumberMap::default();
        let mut operators: HashMap<&str, OperatorId> = HashMap::new();
        let spans = dpu_spans(self.view);
        for span in self.stop.within(&spans) {
            let trace = &mut self.trace;
            let device = *devices.entry(span.device).or_insert_with(|| {
                let name = trace.strings.intern(UNIT);
                let number = u32::from(span.device);
                trace.devices.push(Device { number, kind: DeviceKind::Other, name })
            });
            let stream = *streams.entry((span.device, span.stream)).or_insert_with(|| {
                let name = trace.strings.intern(&format!("Stream {}", span.stream));
                trace.streams.push(Stream { device, number: u64::from(span.stream), thread: None, name })
            });
            let name = trace.strings.intern(span.name);
            let kind = match span.work {
                DpuWork::Task { kind } => kind,
                DpuWork::Step(_) => NodeTaskType::Communication.name(),
            };
            let is_operator = matches!(span.work, DpuWork::Task { .. }) && vocabulary::computes(kind);
            let operator = is_operator.then(|| {
                *operators.entry(span.name).or_insert_with(|| trace.operators.push(Operator::new(name, name)))
            });
            let (start, length) = (self.time(span.start), span.end.saturating_sub(span.start));
            self.trace.tasks.push(Task {
                operator,
                number: Some(span.task),
                stream: Some(stream),
                unit: vocabulary::unit(kind),
                ..Task::new(name, start, Nanoseconds(length))
            });
        }
    }
}
