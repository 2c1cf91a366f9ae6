//! The collective operations that the host launched, and the steps of which they consist.
//!
//! A node's call contains those of its steps, and each of these the tasks that carry it out. Notes
//! within a step's call say what it moves; where they name contexts, each context is a step.

use opscope_cann_raw::host::level;

use crate::columns::columns;
use crate::join::call_tree::{Walk, threads};
use crate::join::cursor::{Cursor, thread_ranges};
use crate::join::host_tasks::HostTaskTable;
use crate::join::steps::Steps;
use crate::tables::{HostTables, NO_MODEL, NONE};

columns! {
    /// Steps of collective operations, in the order of the host's tasks.
    StepTable,
    /// A step of a collective operation.
    Step {
        /// The host task that carries it out, a row of the table of host tasks.
        host_task: u32,
        /// What it moves, a row of the table of notes, or [`NONE`].
        note: u32,
        /// The operation, a row of [`CollectiveTable`].
        operation: u32,
        /// Whether its time is the operation's.
        is_master: bool,
    }
}

columns! {
    /// Collective operations that were launched, by thread and time.
    CollectiveTable,
    /// A collective operation that was launched.
    Collective {
        /// The node's call, a row of the table of calls.
        call: u32,
        /// The model, [`NO_MODEL`] for none.
        model: u64,
        /// What the node is, or [`NONE`].
        node: u32,
        /// What the operation is, or [`NONE`].
        note: u32,
    }
}

/// The collective operations of a host.
#[derive(Clone, Debug, Default)]
pub struct Communication {
    /// The operations.
    pub operations: CollectiveTable,
    /// Their steps.
    pub steps: StepTable,
}

/// The collective operations behind the host's tasks.
pub(super) fn communication(host: &HostTables, tasks: &HostTaskTable) -> Communication {
    let mut found = Communication::default();
    if !host.api.level().contains(&level::COMMUNICATION) {
        return found;
    }
    let calls = threads(&host.api);
    let tracks = &host.task_tracks;
    for (start, end) in thread_ranges(tracks.thread()) {
        let thread = tracks.thread()[start];
        let mut walk = Walk::new(&host.api, calls.get(&thread));
        let mut steps = Steps::of_thread(host, thread);
        let mut nodes = Cursor::new(host.nodes.thread(), host.nodes.time(), thread);
        let collective = &host.collective_notes;
        let mut notes = Cursor::new(collective.thread(), collective.time(), thread);
        let mut last_end = None;
        let mut host_row = tasks.thread().partition_point(|other| *other < thread);
        for row in start..end {
            let track = tracks.row(row);
            let path = walk.path_at(track.time);
            let is_later = |host_row: usize| {
                tasks.thread().get(host_row) == Some(&thread) && tasks.time()[host_row] < track.time
            };
            while is_later(host_row) {
                host_row += 1;
            }
            if !path.is_collective() {
                continue;
            }
            let node = host.api.row(path.node as usize);
            if last_end != Some(node.end) {
                last_end = Some(node.end);
                let first = |mut rows: std::ops::Range<usize>| rows.next().map_or(NONE, |row| row as u32);
                found.operations.push(Collective {
                    call: path.node,
                    model: match path.model {
                        NONE => NO_MODEL,
                        call => host.api.item()[call as usize],
                    },
                    node: first(nodes.rows(node.begin, node.end)),
                    note: first(notes.rows(node.begin, node.end)),
                });
            }
            let operation = found.operations.len() as u32 - 1;
            let kind = host.api.kind()[path.communication as usize];
            let is_master = host.names.type_name(level::COMMUNICATION, kind) == Some("master");
            // The host tasks of this track: those of its thread and time with its number.
            let mut of_track = host_row;
            let mut rows: Vec<u32> = Vec::new();
            while tasks.thread().get(of_track) == Some(&thread) && tasks.time()[of_track] == track.time {
                let task = tasks.row(of_track);
                if (task.stream, task.task, task.batch) == (track.stream, track.task, track.batch) {
                    rows.push(of_track as u32);
                }
                of_track += 1;
            }
            for part in steps.of_call(host, path.communication).into_iter().filter(|part| part.is_step) {
                let same = rows.iter().find(|row| tasks.context()[**row as usize] == part.context);
                let Some(&host_task) = same.or(rows.first()) else { continue };
                found.steps.push(Step { host_task, note: part.note, operation, is_master });
            }
        }
    }
    found
}
