//! Streams whose numbers hold only within a process, or only for a queue of the hardware: two with one number stay
//! two, because tasks of both may run at once.

use std::collections::HashMap;

use opscope_trace::{DeviceId, NumberMap, Stream, StreamId, Trace};

/// The stream of a task, as its record tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnStream {
    /// The process; 0 is none that is known.
    pub process: u32,
    /// The device, as the file numbers it.
    pub device: u32,
    /// The number that is shown.
    pub number: u64,
    /// The queue, where the file tells it besides the stream.
    pub queue: u64,
}

/// The rows of such streams.
#[derive(Debug, Default)]
pub struct OwnStreams {
    known: NumberMap<OwnStream, StreamId>,
    /// The same in the order in which they came.
    rows: Vec<(OwnStream, StreamId)>,
}

impl OwnStreams {
    /// The row of a stream that was added.
    pub fn get(&self, stream: OwnStream) -> Option<StreamId> {
        self.known.get(&stream).copied()
    }

    /// Adds a stream that isn't there yet.
    pub fn add(&mut self, trace: &mut Trace, stream: OwnStream, device: DeviceId) -> StreamId {
        let name = trace.strings.intern("");
        let row = trace.streams.push(Stream { device, number: stream.number, thread: None, name });
        self.known.insert(stream, row);
        self.rows.push((stream, row));
        row
    }

    /// Names the streams whose numbers don't tell them apart, by their processes and queues. `process` gives the word
    /// for a process.
    pub fn name(self, trace: &mut Trace, process: impl Fn(u32) -> String) {
        let mut alike: HashMap<(DeviceId, u64), Alike> = HashMap::new();
        for (stream, row) in &self.rows {
            alike.entry((trace.streams.get(*row).device, stream.number)).or_default().add(*stream);
        }
        for (stream, row) in self.rows {
            let known = trace.streams.get(row);
            let Some(alike) = alike.get(&(known.device, stream.number)).filter(|alike| alike.differ()) else {
                continue;
            };
            let mut name = format!("stream {}", stream.number);
            if alike.has_queues {
                name.push_str(&format!(", queue {}", stream.queue));
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
    queues: NumberMap<u32, u64>,
    has_processes: bool,
    /// Whether a process has several queues.
    has_queues: bool,
}

impl Alike {
    fn add(&mut self, stream: OwnStream) {
        self.has_queues |= *self.queues.entry(stream.process).or_insert(stream.queue) != stream.queue;
        self.has_processes = self.queues.len() > 1;
    }

    fn differ(&self) -> bool {
        self.has_processes || self.has_queues
    }
}
