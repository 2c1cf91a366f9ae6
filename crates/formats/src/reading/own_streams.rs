//! Streams whose numbers hold only within a process, or only for a queue of the hardware: two with one number stay
//! two, because tasks of both may run at once.

use std::collections::HashMap;
use std::hash::Hash;

use opscope_trace::{DeviceId, NumberMap, Stream, StreamId, Trace};

/// The stream of a task, as its record tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnStream<Device> {
    /// The process; 0 is none that is known.
    pub process: u32,
    /// The device, as the file names it.
    pub device: Device,
    /// The number that is shown.
    pub number: u64,
    /// The queue, where the file tells it besides the stream.
    pub queue: Option<u64>,
}

/// The rows of such streams.
#[derive(Debug)]
pub struct OwnStreams<Device> {
    known: NumberMap<OwnStream<Device>, StreamId>,
    /// The rows of streams of which one queue is known, by the stream without it.
    only: NumberMap<OwnStream<Device>, Option<StreamId>>,
    /// The same in the order in which they came.
    rows: Vec<(OwnStream<Device>, StreamId)>,
}

impl<Device> Default for OwnStreams<Device> {
    fn default() -> Self {
        Self { known: NumberMap::default(), only: NumberMap::default(), rows: Vec::new() }
    }
}

impl<Device: Copy + Eq + Hash> OwnStreams<Device> {
    /// The row of a stream that was added.
    pub fn get(&self, stream: OwnStream<Device>) -> Option<StreamId> {
        self.known.get(&stream).copied()
    }

    /// The row of a task whose record tells no queue: that of the stream's queue, if it has only one.
    pub fn of_any_queue(&self, stream: OwnStream<Device>) -> Option<StreamId> {
        let bare = OwnStream { queue: None, ..stream };
        self.get(bare).or_else(|| self.only.get(&bare).copied().flatten())
    }

    /// Adds a stream that isn't there yet.
    pub fn add(&mut self, trace: &mut Trace, stream: OwnStream<Device>, device: DeviceId) -> StreamId {
        let name = trace.strings.intern("");
        let row = trace.streams.push(Stream { device, number: stream.number, thread: None, name });
        self.known.insert(stream, row);
        let bare = OwnStream { queue: None, ..stream };
        self.only.entry(bare).and_modify(|only| *only = None).or_insert(Some(row));
        self.rows.push((stream, row));
        row
    }

    /// Names the streams whose numbers don't tell them apart, by their processes and queues. `process` gives the word
    /// for a process.
    pub fn name(self, trace: &mut Trace, process: impl Fn(u32) -> String) {
        let mut alike: HashMap<(DeviceId, u64), Alike> = HashMap::new();
        for (stream, row) in &self.rows {
            let key = (trace.streams.get(*row).device, stream.number);
            alike.entry(key).or_default().add(stream.process, stream.queue);
        }
        for (stream, row) in self.rows {
            let known = trace.streams.get(row);
            let Some(alike) = alike.get(&(known.device, stream.number)).filter(|alike| alike.differ()) else {
                continue;
            };
            let mut name = format!("stream {}", stream.number);
            if alike.has_queues
                && let Some(queue) = stream.queue
            {
                name.push_str(&format!(", queue {queue}"));
            }
            if alike.has_processes && stream.process != 0 {
                name.push_str(&format!(" of process {}", process(stream.process)));
            }
            let name = trace.strings.intern(&name);
            trace.streams.set(row, Stream { name, ..known });
        }
    }
}

/// The streams of a device that have one number.
#[derive(Default)]
struct Alike {
    /// The first queue of each process.
    queues: NumberMap<u32, Option<u64>>,
    has_processes: bool,
    /// Whether a process has several queues.
    has_queues: bool,
}

impl Alike {
    fn add(&mut self, process: u32, queue: Option<u64>) {
        self.has_queues |= *self.queues.entry(process).or_insert(queue) != queue;
        self.has_processes = self.queues.len() > 1;
    }

    fn differ(&self) -> bool {
        self.has_processes || self.has_queues
    }
}
