//! Lanes of tasks of which a table tells the device and no stream.
//!
//! A collective operation runs on several streams at once, so its row names none. As in databases, it is a task of a
//! stream that stands for its group, of which the name has the last digits: `hcom_allReduce__721_0_1`, or in older
//! profiles `hcom_allReduce__721_0`. Tasks of one group may run at the same time, as those of groups whose last digits
//! are the same do, and the AI CPU's: each of them lies on a further lane of that name.

use std::collections::{HashMap, HashSet};

use opscope_trace::{
    DeviceId, ExecutionUnit, Nanoseconds, Places, Stream, StreamId, StringId, Task, TaskId, Trace,
};

use crate::read::lanes::Lanes;
use crate::vocabulary::FIRST_STREAMLESS;

/// The number and the name of a stream that stands for tasks without any.
type Lane = (u64, StringId);

/// The distance between the numbers of the lanes of one name; no more names than that are told apart.
const NEXT_LANE: u64 = 1 << 32;

/// The streams that stand for tasks without any, the same numbers on each device.
#[derive(Default)]
pub(super) struct Streamless {
    /// The first lane of each name on each device.
    first_lanes: HashSet<StreamId>,
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
        let stream = places.stream(trace, device, number, None, title);
        self.first_lanes.insert(stream);
        stream
    }

    /// Moves tasks that begin before the last one on their lane ended to further lanes of the same name.
    pub fn part(&self, trace: &mut Trace, places: &mut Places) {
        let mut found: Vec<(StreamId, Nanoseconds, TaskId)> = Vec::new();
        if !self.first_lanes.is_empty() {
            let placed = trace.tasks.iter().filter_map(|(id, row)| Some((row.stream?, row.start, id)));
            found.extend(placed.filter(|(stream, ..)| self.first_lanes.contains(stream)));
        }
        found.sort_unstable();
        for on_stream in found.chunk_by(|left, right| left.0 == right.0) {
            let mut lanes = Lanes::default();
            for &(first, start, id) in on_stream {
                let task = trace.tasks.get(id);
                let lane = lanes.place(start, task.duration);
                if lane > 0 {
                    let Stream { device, number, thread, name } = trace.streams.get(first);
                    let number = number + lane as u64 * NEXT_LANE;
                    let stream = Some(places.stream(trace, device, number, thread, name));
                    trace.tasks.set(id, Task { stream, ..task });
                }
            }
        }
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

/// The last digits of the group of a collective operation, before its number in the group and, in newer profiles, that
/// in the graph.
fn group_of(name: &str) -> Option<&str> {
    let (group, numbers) = name.rsplit_once("__")?.1.split_once('_')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (in_group, in_graph) = numbers.split_once('_').unwrap_or((numbers, "0"));
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

    #[test]
    fn collectives_of_older_profiles_lie_on_the_lane_of_their_group() {
        let table = "Device_id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n\
            0,N/A,hcom_allReduce__483_0,hcom_allReduce_,HCCL,10,100\n\
            0,N/A,hcom_allGather__721_0,hcom_allGather_,HCCL,30,50\n\
            0,N/A,hcom_send__721_0_x,hcom_send_,HCCL,200,50\n";
        assert_eq!(
            lanes(&read(table.as_bytes(), &Stop::default()).unwrap()),
            [Some((0, "Communication 483")), Some((0, "Communication 721")), Some((0, "Communication"))]
        );
    }

    #[test]
    fn tasks_without_a_stream_that_run_at_once_lie_on_lanes_of_one_name_each() {
        let table = "Device_id,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n\
            0,N/A,cpuC,Unique,AI_CPU,300,10\n\
            0,N/A,cpuB,Where,AI_CPU,220,50\n\
            0,N/A,cpuA,Unique,AI_CPU,200,100\n\
            1,N/A,cpuA,Unique,AI_CPU,200,100\n\
            0,N/A,hcom_allReduce__721_0_1,hcom_allReduce_,COMMUNICATION,10,100\n\
            0,N/A,hcom_allGather__721_7_1,hcom_allGather_,COMMUNICATION,30,50\n";
        let trace = read(table.as_bytes(), &Stop::default()).unwrap();
        let others = Some((0, "No stream"));
        let group = Some((0, "Communication 721"));
        assert_eq!(lanes(&trace), [others, others, others, Some((1, "No stream")), group, group]);
        // Rows that the table has in another order than that of their starts.
        let [third, second, first, other, reduce, gather] = trace.tasks.stream()[..] else { panic!() };
        assert!(first != second && third != first, "{:?}", trace.tasks.stream());
        assert_eq!(third, second);
        assert!(reduce != gather && other != first);
        assert_eq!(trace.streams.len(), 5);
    }
}
