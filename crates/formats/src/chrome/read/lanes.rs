//! The lanes that events name by process and thread, and what is shown on each.

use std::collections::HashMap;
use std::rc::Rc;

use opscope_trace::{StreamId, ThreadId};

use super::builder::text_of;
use super::chunk::{Chunk, Raw};
use super::event::{number, unquoted};
use super::{ascend, own};

/// Names a lane of the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LaneId(pub usize);

/// What the slices of a lane are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    /// Their category tells.
    Plain,
    /// A lane of an Ascend profile.
    Ascend(ascend::Role),
    /// A lane that opscope drew.
    Own(own::Role),
}

/// A lane: the events of one thread, or of what is drawn like one.
pub(super) struct Lane<'a> {
    pub process: Raw<'a>,
    pub process_name: String,
    pub name: String,
    pub pid: u32,
    pub tid: u64,
    pub role: Rc<Role>,
    /// Whether what is shown belongs to no thread.
    pub is_no_thread: bool,
    pub thread_id: Option<ThreadId>,
    pub stream_id: Option<StreamId>,
}

/// Which lanes the events of a file are on.
pub(super) struct Lanes<'a> {
    /// For every chunk, the lanes of the file that its own lanes are.
    pub of_chunks: Vec<Vec<LaneId>>,
    /// The names of processes.
    pub processes: HashMap<Raw<'a>, String>,
    pub is_ascend: bool,
}

impl<'a> Lanes<'a> {
    /// Collects the lanes of all chunks; in a file of opscope's own their names tell what they are.
    pub fn collect(chunks: &[Chunk<'a>], is_own: bool) -> (Vec<Lane<'a>>, Self) {
        let mut processes: HashMap<Raw<'a>, String> = HashMap::new();
        let mut names: HashMap<(Raw<'a>, Raw<'a>), String> = HashMap::new();
        for metadata in chunks.iter().flat_map(|chunk| &chunk.metadata) {
            let text = text_of(metadata.value).into_owned();
            match unquoted(metadata.what) {
                b"process_name" => drop(processes.insert(metadata.process, text)),
                b"thread_name" => drop(names.insert((metadata.process, metadata.thread), text)),
                _ => {}
            }
        }
        let is_ascend = !is_own && processes.values().any(|name| ascend::is_process(name));

        let mut lanes = Vec::new();
        let mut numbers = Numbers::default();
        let mut known: HashMap<(Raw<'a>, Raw<'a>), LaneId> = HashMap::new();
        let mut of_chunks = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let of_chunk = chunk.lanes().iter().map(|&(process, thread)| {
                *known.entry((process, thread)).or_insert_with(|| {
                    let process_name = processes.get(process).cloned().unwrap_or_default();
                    let name = names.get(&(process, thread)).cloned().unwrap_or_default();
                    lanes.push(Lane::new(process, thread, process_name, name, &mut numbers));
                    LaneId(lanes.len() - 1)
                })
            });
            of_chunks.push(of_chunk.collect());
        }
        if is_own {
            own::assign_roles(&mut lanes);
        } else if is_ascend {
            // The processes that the vendor's lanes stand for; not every one of them has a slice.
            let of_vendor = processes.iter().filter(|(_, name)| ascend::is_process(name));
            let pids: Vec<u32> = of_vendor.map(|(&process, _)| numbers.process(process)).collect();
            ascend::assign_roles(&mut lanes, &pids);
        }
        (lanes, Self { of_chunks, processes, is_ascend })
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
        Self {
            process,
            process_name,
            name,
            pid,
            tid,
            role: Rc::new(Role::Plain),
            is_no_thread: false,
            thread_id: None,
            stream_id: None,
        }
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
        if let Some(pid) = number(raw).and_then(|pid| u32::try_from(pid).ok()) {
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
