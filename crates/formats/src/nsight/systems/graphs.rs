//! Graphs of CUDA's that were traced as a whole. Processes number theirs alike, and one that begins on the host tells no
//! device, so that they are placed and named once all records are known.

use opscope_trace::{Nanoseconds, NumberMap, StringId, Trace};

use super::recording::Place;

/// The device of a graph that begins on the host (`CUpti_ActivityGraphTrace2`).
pub const NO_DEVICE: u32 = i32::MAX.unsigned_abs();

/// The name of a device of graphs of which nothing tells the GPU.
pub const UNKNOWN_GPU: &str = "GPU not recorded";

/// The type of operator that a graph is.
const TYPE: &str = "CUDA graph";

/// An execution of a graph.
#[derive(Clone, Copy)]
pub struct Graph {
    pub number: Option<u64>,
    pub place: Place,
    pub span: (Nanoseconds, Nanoseconds),
}

/// The executions of all graphs.
#[derive(Default)]
pub struct Graphs {
    executions: Vec<Graph>,
    /// The process of each number; nothing where several have it.
    processes: NumberMap<u64, Option<u32>>,
}

impl Graphs {
    /// Adds an execution.
    pub fn add(&mut self, number: Option<u64>, place: Place, span: (Nanoseconds, Nanoseconds)) {
        if let Some(number) = number {
            note(&mut self.processes, number, place.process);
        }
        self.executions.push(Graph { number, place, span });
    }

    /// All executions, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Graph> {
        self.executions.iter()
    }

    /// The name of a graph, which tells its process where another has one of the same number.
    pub fn name(&self, graph: &Graph, trace: &mut Trace) -> StringId {
        let process = graph.place.process;
        let name = match graph.number {
            None => TYPE.to_owned(),
            Some(number) if process != 0 && self.processes.get(&number) == Some(&None) => {
                format!("{TYPE} {number} of process {process}")
            }
            Some(number) => format!("{TYPE} {number}"),
        };
        trace.strings.intern(&name)
    }

    /// The type of all graphs, where there are any; otherwise no text.
    pub fn op_type(&self, trace: &mut Trace) -> StringId {
        trace.strings.intern(if self.executions.is_empty() { "" } else { TYPE })
    }
}

/// The devices that records tell; nothing where several have one number, which then tells none.
#[derive(Default)]
pub struct Devices {
    of_streams: NumberMap<(u32, u64), Option<u32>>,
    of_processes: NumberMap<u32, Option<u32>>,
    /// The stream and device of the record before, which mostly are those of the next.
    last: Option<(u32, u64, u32)>,
}

impl Devices {
    /// Notes the device of a record.
    pub fn note(&mut self, place: Place, device: u32) {
        let stream = place.stream.unwrap_or(0);
        if self.last.replace((place.process, stream, device)) != Some((place.process, stream, device)) {
            note(&mut self.of_streams, (place.process, stream), device);
            note(&mut self.of_processes, place.process, device);
        }
    }

    /// The device of a process's stream of that number, or else the only one of the process.
    pub fn find(&self, place: Place) -> Option<u32> {
        let of_stream = self.of_streams.get(&(place.process, place.stream.unwrap_or(0)));
        of_stream.copied().flatten().or_else(|| self.of_processes.get(&place.process).copied().flatten())
    }
}

/// Notes the value of a key, or that it has several.
fn note<Key: Eq + std::hash::Hash>(known: &mut NumberMap<Key, Option<u32>>, key: Key, value: u32) {
    let one = known.entry(key).or_insert(Some(value));
    if *one != Some(value) {
        *one = None;
    }
}
