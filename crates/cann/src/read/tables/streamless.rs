//! Lanes of tasks of which a table tells the device and no stream.
//!
//! A collective operation runs on several streams at once, so its row names none. As in databases, it is a task of a
//! stream that stands for its group, of which the name has the last digits: `hcom_allReduce__721_0_1`.

use std::collections::HashMap;

use opscope_trace::{DeviceId, ExecutionUnit, Places, StreamId, StringId, Trace};

use crate::vocabulary::FIRST_STREAMLESS;

/// The number and the name of a stream that stands for tasks without any.
type Lane = (u64, StringId);

/// The streams that stand for tasks without any, the same numbers on each device.
#[derive(Default)]
pub(super) struct Streamless {
    of_groups: HashMap<String, Lane>,
    of_others: Option<Lane>,
}

impl Streamless {
    /// The stream that stands on a device for a task of a name and unit.
    pub fn find(
        &mut self,
        trace: &mut Trace,
        places: &mut Places,
        device: DeviceId,
        (name, unit): (&str, ExecutionUnit),
    ) -> StreamId {
        let (number, title) = match unit {
            ExecutionUnit::Communication => self.of_group(trace, group_of(name).unwrap_or_default()),
            _ => *self.of_others.get_or_insert_with(|| (FIRST_STREAMLESS, trace.strings.intern("No stream"))),
        };
        places.stream(trace, device, number, None, title)
    }

    /// The lane of a group, or of the operations that tell none.
    fn of_group(&mut self, trace: &mut Trace, group: &str) -> Lane {
        if let Some(known) = self.of_groups.get(group) {
            return *known;
        }
        let title = match group {
            "" => trace.strings.intern("Communication"),
            group => trace.strings.intern(&format!("Communication {group}")),
        };
        let lane = (FIRST_STREAMLESS + 1 + self.of_groups.len() as u64, title);
        self.of_groups.insert(group.to_owned(), lane);
        lane
    }
}

/// The last digits of the group of a collective operation, before its numbers in the group and in the graph.
fn group_of(name: &str) -> Option<&str> {
    let (group, numbers) = name.rsplit_once("__")?.1.split_once('_')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (in_group, in_graph) = numbers.split_once('_')?;
    [group, in_group, in_graph].into_iter().all(is_number).then_some(group)
}

#[cfg(test)]
mod tests {
    use opscope_formats::reading::Stop;
    use opscope_trace::{TaskId, Trace};

    use super::super::read;

    /// The device and the name of the stream of each task.
    fn lanes(trace: &Trace) -> Vec<Option<(u32, &str)>> {
        let lane = |task: TaskId| {
            let stream = trace.streams.get(trace.tasks.stream()[task.index()]?);
            Some((trace.devices.number()[stream.device.index()], trace.strings.get(stream.name)))
        };
        trace.tasks.ids().map(lane).collect()
    }

    #[test]
    fn collectives_without_a_stream_keep_their_device_and_those_of_one_group_share_a_lane() {
        let table = "Device_id,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n\
            0,2,mm,MatMul,AI_CORE,0,10\n\
            0,N/A,hcom_allReduce__721_0_1,hcom_allReduce_,COMMUNICATION,10,50\n\
            1,N/A,hcom_allReduce__721_0_1,hcom_allReduce_,COMMUNICATION,10,90\n\
            1,N/A,hcom_allGather__036_0_1,hcom_allGather_,COMMUNICATION,20,90\n\
            1,N/A,hcom_allReduce__721_1_1,hcom_allReduce_,COMMUNICATION,200,5\n\
            1,N/A,mine,hcom_allReduce_,HCCL,300,5\n\
            1,N/A,cpu,Unique,AI_CPU,300,5\n";
        let trace = read(table.as_bytes(), &Stop::default()).unwrap();
        assert_eq!(
            lanes(&trace),
            [
                Some((0, "")),
                Some((0, "Communication 721")),
                Some((1, "Communication 721")),
                Some((1, "Communication 036")),
                Some((1, "Communication 721")),
                Some((1, "Communication")),
                Some((1, "No stream")),
            ]
        );
        assert_eq!(trace.streams.len(), 6);
    }

    #[test]
    fn rows_of_a_table_that_tells_neither_devices_nor_streams_are_on_no_device() {
        let table = "Name,Type,Accelerator Core,Start Time(us),Duration(us)\na,hcom_send_,HCCL,0,10\n";
        assert_eq!(lanes(&read(table.as_bytes(), &Stop::default()).unwrap()), [None]);
    }
}
