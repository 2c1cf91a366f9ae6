//! The host's records of collective operations.

use std::io;

use opscope_cann_raw::hash_of;
use opscope_cann_raw::host::{Head, NodeBasicInfo, TaskTrack, level};

use super::{FLIP_TASK, HostFiles, put};
use crate::synthetic::collective::{NOTIFY_RECORD, NOTIFY_WAIT};
use crate::synthetic::execution::Lane;

/// The kind of calls of steps whose time is the operation's.
const MASTER: u32 = 1;

/// The names of types that these records use.
pub(super) const TYPES: [(u16, u32, &str); 3] = [
    (level::RUNTIME, NOTIFY_RECORD, "NOTIFY_RECORD"),
    (level::RUNTIME, NOTIFY_WAIT, "NOTIFY_WAIT"),
    (level::COMMUNICATION, MASTER, "master"),
];

impl HostFiles {
    /// The head of a record of a moment.
    pub(in crate::synthetic) fn head_of(&self, level: u16, kind: u32, time: u64) -> Head {
        self.head(level, kind, time)
    }

    /// Writes a note on a node.
    pub(in crate::synthetic) fn node(&mut self, node: &NodeBasicInfo) -> io::Result<()> {
        self.has_collectives = true;
        put(&mut self.aging.nodes, &mut self.buffer, node)
    }

    /// Writes the call of a node.
    pub(in crate::synthetic) fn node_call(&mut self, span: (u64, u64), name: u64) -> io::Result<()> {
        self.call(true, level::NODE, 5, span, name)
    }

    /// Writes the call of a step of an operation from a moment on; the task is handed out within.
    pub(in crate::synthetic) fn step_call(&mut self, name: u64, begin: u64) -> io::Result<()> {
        self.call(true, level::COMMUNICATION, MASTER, (begin + 50, begin + 200), name)
    }

    /// Writes a task that is handed to a data processing unit.
    pub(in crate::synthetic) fn hand_out_to_unit(&mut self, track: &TaskTrack) -> io::Result<()> {
        self.has_units = true;
        put(&mut self.aging.tracks, &mut self.buffer, track)
    }

    /// Writes a task that is handed out after a moment.
    pub(in crate::synthetic) fn hand_out(
        &mut self,
        lane: Lane,
        task: u32,
        kind: u32,
        begin: u64,
    ) -> io::Result<()> {
        let track = TaskTrack {
            head: self.head(level::RUNTIME, 802, begin + 150),
            device: lane.device,
            stream: lane.stream,
            task: task as u16,
            batch: (task >> 16) as u16,
            task_type: u64::from(kind),
            kernel: hash_of(""),
            ..TaskTrack::default()
        };
        put(&mut self.aging.tracks, &mut self.buffer, &track)
    }

    /// Notes that the task numbers of a stream start again with a task that is launched after a moment.
    pub(in crate::synthetic) fn flip_at(&mut self, lane: Lane, time: u64, number: u16) -> io::Result<()> {
        let record = TaskTrack {
            head: self.head(level::RUNTIME, 802, time),
            device: lane.device,
            stream: lane.stream,
            task: 0,
            batch: number,
            task_type: FLIP_TASK,
            ..TaskTrack::default()
        };
        put(&mut self.aging.tracks, &mut self.buffer, &record)
    }
}
