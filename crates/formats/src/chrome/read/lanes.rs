//! The lanes that events name by process and thread.

use std::collections::HashMap;

use opscope_trace::{StreamId, ThreadId};

use super::chunk::Chunk;
use super::text::{Raw, number, small_number, text_of, unquoted};

/// Names a lane of the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(pub(super) usize);

impl LaneId {
    /// The number of the lane, from 0.
    pub fn index(self) -> usize {
        self.0
    }
}

/// A lane: the events of one thread, or of what is drawn like one.
pub struct Lane<'a> {
    pub(super) process: Raw<'a>,
    /// The name of the process, or what is written in place of its number.
    pub process_name: String,
    /// The name of the thread, or what is written in place of its number.
    pub name: String,
    /// The number of the process.
    pub pid: u32,
    /// The number of the thread.
    pub tid: u64,
    /// Whether what is shown belongs to no thread.
    pub is_no_thread: bool,
    pub(super) thread_id: Option<ThreadId>,
    pub(super) stream_id: Option<StreamId>,
}

/// Which lanes the events of a file are on.
pub(super) struct Lanes<'a> {
    /// For every chunk, the lanes of the file that its own lanes are.
    pub of_chunks: Vec<Vec<LaneId>>,
    /// The processes that have names.
    pub processes: HashMap<Raw<'a>, NamedProcess>,
    /// The names of threads by process and thread, also of those that have no event.
    pub names: HashMap<(Raw<'a>, Raw<'a>), String>,
}

/// A process with a name.
pub(super) struct NamedProcess {
    pub pid: u32,
    pub name: String,
    /// Where it runs, in the writer's words; empty if it isn't told.
    pub label: String,
}

impl<'a> Lanes<'a> {
    /// Collects the lanes of all chunks.
    pub fn collect(chunks: &[Chunk<'a>]) -> (Vec<Lane<'a>>, Self) {
        let mut process_names: HashMap<Raw<'a>, String> = HashMap::new();
        let mut labels: HashMap<Raw<'a>, String> = HashMap::new();
        let mut names: HashMap<(Raw<'a>, Raw<'a>), String> = HashMap::new();
        for metadata in chunks.iter().flat_map(|chunk| &chunk.metadata) {
            let text = text_of(metadata.value).into_owned();
            match unquoted(metadata.what) {
                b"process_name" => drop(process_names.insert(metadata.process, text)),
                b"process_labels" => drop(labels.insert(metadata.process, text)),
                b"thread_name" => drop(names.insert((metadata.process, metadata.thread), text)),
                _ => {}
            }
        }
        let mut lanes = Vec::new();
        let mut numbers = Numbers::default();
        let mut known: HashMap<(Raw<'a>, Raw<'a>), LaneId> = HashMap::new();
        let mut of_chunks = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let of_chunk = chunk.lanes().iter().map(|&(process, thread)| {
                *known.entry((process, thread)).or_insert_with(|| {
                    let process_name = process_names.get(process).cloned().unwrap_or_default();
                    let name = names.get(&(process, thread)).cloned().unwrap_or_default();
                    lanes.push(Lane::new(process, thread, process_name, name, &mut numbers));
                    LaneId(lanes.len() - 1)
                })
            });
            of_chunks.push(of_chunk.collect());
        }
        // Not every process that has a name has a slice.
        let named = |(process, name)| {
            let label = labels.remove(process).unwrap_or_default();
            (process, NamedProcess { pid: numbers.process(process), name, label })
        };
        let processes = process_names.into_iter().map(named).collect();
        (lanes, Self { of_chunks, processes, names })
    }
}

impl<'a> Lane<'a> {
    fn new(
        process: Raw<'a>,
        thread: Raw<'a>,
        process_name: String,
        name: String,
        numbers: &mut Numbers<'a>,
    ) -> Self {
        let (pid, tid) = (numbers.process(process), numbers.thread(thread));
        // A process or thread may be called by a name instead of a number.
        let named = |name: String, raw: Raw<'a>| match number(raw) {
            None if name.is_empty() => text_of(raw).into_owned(),
            _ => name,
        };
        let (process_name, name) = (named(process_name, process), named(name, thread));
        Self { process, process_name, name, pid, tid, is_no_thread: false, thread_id: None, stream_id: None }
    }
}

/// Numbers for processes and threads that the file calls by a name, or by a number too large for a
/// system's: from the upper end downward for processes, from 2^32 upward for threads.
#[derive(Default)]
struct Numbers<'a> {
    processes: HashMap<Raw<'a>, u32>,
    threads: HashMap<Raw<'a>, u64>,
}

impl<'a> Numbers<'a> {
    fn process(&mut self, raw: Raw<'a>) -> u32 {
        if raw.is_empty() {
            return 0;
        }
        if let Some(pid) = small_number(raw) {
            return pid;
        }
        let count = self.processes.len() as u32;
        *self.processes.entry(raw).or_insert(u32::MAX - count)
    }

    fn thread(&mut self, raw: Raw<'a>) -> u64 {
        if raw.is_empty() {
            return 0;
        }
        let count = self.threads.len() as u64;
        number(raw).unwrap_or_else(|| *self.threads.entry(raw).or_insert((1 << 32) + count))
    }
}
