//! Collective operations as a whole, each in a stream of its group. Their steps are tasks of the streams that
//! executed them.

use std::collections::HashMap;

use opscope_trace::{ApiCallId, ExecutionUnit, Nanoseconds, Operator, Stream, StreamId, Task};

use super::Projection;
use crate::facts::collectives::Collectives;
use crate::kinds::communication::{attributes_of_pair, bytes, is_between_two};
use crate::vocabulary;

impl Projection<'_> {
    /// The operations that devices executed, as databases and timelines have them.
    pub(super) fn collectives(&mut self) {
        let view = self.view;
        let found = Collectives::new(view);
        // When the first step of each began, in device ticks.
        let mut begins: Vec<Option<u64>> = vec![None; found.operations.len()];
        // The other side, by its place in the group, of operations between two.
        let mut peers: Vec<Option<u32>> = vec![None; found.operations.len()];
        for step in &found.steps {
            let ends = step.note.map(|note| (note.local_rank, note.remote_rank));
            if let Some((own, other)) = ends.filter(|(own, other)| own != other && *other != u32::MAX) {
                peers[step.operation] = Some(other).filter(|_| own != u32::MAX);
            }
            let ticks = view.device(step.place).device.tables.tasks.start()[step.place.task as usize];
            let begin = &mut begins[step.operation];
            *begin = Some(begin.map_or(ticks, |known| known.min(ticks)));
        }
        let mut streams: HashMap<(u32, &str), StreamId> = HashMap::new();
        for ((whole, begin), peer) in found.operations.iter().zip(begins).zip(peers) {
            let number = streams.len() as u64;
            let stream = *streams.entry((whole.device, &*whole.group)).or_insert_with(|| {
                let name = self.trace.strings.intern(&format!("Group {} Communication", whole.group));
                let number = vocabulary::FIRST_GROUP_STREAM + number;
                let device = self.devices[whole.device as usize];
                self.trace.streams.push(Stream { device, number, thread: None, name })
            });
            let [name, op_type] =
                [whole.name.as_str(), whole.op_type].map(|text| self.trace.strings.intern(text));
            let bytes_read = whole.note.and_then(|note| bytes(u64::from(note.data_type), note.count));
            let peer = peer.filter(|_| is_between_two(&whole.name)).map(u64::from);
            let attributes = peer.map(|peer| self.trace.strings.intern(&attributes_of_pair(peer)));
            let operator = Operator { bytes_read, attributes, ..Operator::new(name, op_type) };
            let operator = self.trace.operators.push(operator);
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
