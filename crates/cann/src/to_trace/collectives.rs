//! Collective operations as a whole, each in a stream of its group. Their steps are tasks of the streams that
//! executed them.

use std::collections::HashMap;

use opscope_trace::{ApiCallId, ExecutionUnit, Nanoseconds, Operator, Stream, StreamId, Task};

use super::Projection;
use crate::facts::collectives::Collectives;
use crate::vocabulary;

impl Projection<'_> {
    /// The operations that devices executed, as databases and timelines have them.
    pub(super) fn collectives(&mut self) {
        let view = self.view;
        let found = Collectives::new(view);
        // When the first step of each began, in device ticks.
        let mut begins: Vec<Option<u64>> = vec![None; found.operations.len()];
        for step in &found.steps {
            let ticks = view.device(step.place).device.tables.tasks.start()[step.place.task as usize];
            let begin = &mut begins[step.operation];
            *begin = Some(begin.map_or(ticks, |known| known.min(ticks)));
        }
        let mut streams: HashMap<(u32, &str), StreamId> = HashMap::new();
        for (whole, begin) in found.operations.iter().zip(begins) {
            let number = streams.len() as u64;
            let stream = *streams.entry((whole.device, &*whole.group)).or_insert_with(|| {
                let name = self.trace.strings.intern(&format!("Group {} Communication", whole.group));
                let number = vocabulary::FIRST_GROUP_STREAM + number;
                let device = self.devices[whole.device as usize];
                self.trace.streams.push(Stream { device, number, thread: None, name })
            });
            let [name, op_type] =
                [whole.name.as_str(), whole.op_type].map(|text| self.trace.strings.intern(text));
            let operator = self.trace.operators.push(Operator::new(name, op_type));
            let duration = Nanoseconds(whole.end.saturating_sub(whole.start));
            let task = Task {
                operator: Some(operator),
                stream: Some(stream),
                unit: ExecutionUnit::Communication,
                iteration: begin.and_then(|ticks| self.iteration_at(whole.device as usize, ticks)),
                launched_by: Some(ApiCallId::from_index(self.first_call + whole.call.index())),
                ..Task::new(name, self.time(whole.start), duration)
            };
            self.trace.tasks.push(task);
        }
    }
}
