//! The collective operations that the host launched, and the steps of which they consist.
//!
//! A node's call contains those of its steps, and each of these the tasks that carry it out. Notes
//! within a step's call say what it moves; where they name contexts, each context is a step.

use opscope_cann_raw::host::level;

use crate::columns::columns;
use crate::join::call_tree::{Walk, threads};
use crate::join::captured::Captured;
use crate::join::cursor::{Cursor, thread_ranges};
use crate::join::helpers::Owners;
use crate::join::host_tasks::HostTaskTable;
use crate::join::steps::Steps;
use crate::tables::{
    Api, CallRow, CollectiveNoteRow, CollectiveRow, CommunicationNoteRow, HostTables, HostTaskRow, NO_MODEL,
    NodeRow,
};
use opscope_trace::NumberMap;

columns! {
    /// Steps of collective operations, in the order of the host's tasks.
    StepTable,
    /// A step of a collective operation.
    Step {
        /// The host task that carries it out.
        host_task: HostTaskRow,
        /// The note on what it moves, if there is one.
        note: Option<CommunicationNoteRow>,
        /// The operation.
        operation: CollectiveRow,
        /// Whether its time is the operation's.
        is_master: bool,
    }
}

columns! {
    /// Collective operations that were launched, by thread and time; behind them those whose steps further threads
    /// alone launched.
    CollectiveTable,
    /// A collective operation that was launched.
    Collective {
        /// The node's call.
        call: CallRow,
        /// The model, [`NO_MODEL`] for none.
        model: u64,
        /// The note on the node, if there is one.
        node: Option<NodeRow>,
        /// The note on the operation, if there is one.
        note: Option<CollectiveNoteRow>,
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
pub(super) fn communication(host: &HostTables, tasks: &HostTaskTable, captured: &Captured) -> Communication {
    let mut found = Communication::default();
    if !host.api.level().contains(&level::COMMUNICATION) {
        return found;
    }
    let calls = threads(&host.api);
    let tracks = &host.task_tracks;
    // Threads that help others come last, so that those have their operations by then.
    let mut ranges = thread_ranges(tracks.thread());
    ranges.sort_by_key(|(start, _)| host.helpers.thread().binary_search(&tracks.thread()[*start]).is_ok());
    let mut operations = Operations::default();
    for (start, end) in ranges {
        let thread = tracks.thread()[start];
        let mut walk = Walk::new(&host.api, calls.get(&thread));
        let mut owners = Owners::of_thread(&host.helpers, &host.api, &calls, thread);
        let mut steps = Steps::of_thread(host, thread);
        let mut last = None;
        let mut host_row = tasks.thread().partition_point(|other| *other < thread);
        for row in start..end {
            let track = tracks.row(row);
            let mut path = walk.path_at(track.time);
            if let Some(owners) = &mut owners {
                path = owners.complete(path, track.time);
            }
            let is_later = |host_row: usize| {
                tasks.thread().get(host_row) == Some(&thread) && tasks.time()[host_row] < track.time
            };
            while is_later(host_row) {
                host_row += 1;
            }
            let Some((node_call, step_call)) = path.collective() else { continue };
            let model = || match path.model {
                Some(call) => host.api.item()[call.index()],
                None => captured.place_of(&track, host).map_or(NO_MODEL, |of| u64::from(of.graph)),
            };
            let node = host.api.row(node_call.index());
            let known = match node.thread == thread {
                // Consecutive tasks of calls that end together are of one operation.
                true => last.filter(|(end, _)| *end == node.end).map(|(_, operation)| operation),
                false => operations.of_call(&node),
            };
            let operation =
                known.unwrap_or_else(|| operations.add(host, node_call, model(), &mut found.operations));
            if node.thread == thread {
                last = Some((node.end, operation));
            }
            let kind = host.api.kind()[step_call.index()];
            let is_master = host.names.type_name(level::COMMUNICATION, kind) == Some("master");
            // The host tasks of this track: those of its thread and time with its number.
            let mut of_track = host_row;
            let mut rows: Vec<HostTaskRow> = Vec::new();
            while tasks.thread().get(of_track) == Some(&thread) && tasks.time()[of_track] == track.time {
                let task = tasks.row(of_track);
                if (task.stream, task.task, task.batch) == (track.stream, track.task, track.batch) {
                    rows.push(HostTaskRow::from_index(of_track));
                }
                of_track += 1;
            }
            for part in steps.of_call(host, step_call).into_iter().filter(|part| part.is_step) {
                let same = rows.iter().find(|row| tasks.context()[row.index()] == part.context);
                let Some(&host_task) = same.or(rows.first()) else { continue };
                found.steps.push(Step { host_task, note: part.note, operation, is_master });
            }
        }
    }
    found
}

/// The operations so far.
#[derive(Default)]
struct Operations<'a> {
    /// By the thread and the end of the node's call.
    known: NumberMap<(u32, u64), CollectiveRow>,
    /// The notes on nodes and on operations, by thread.
    notes: NumberMap<u32, [Cursor<'a>; 2]>,
}

impl<'a> Operations<'a> {
    /// The operation of a node's call.
    fn of_call(&self, node: &Api) -> Option<CollectiveRow> {
        self.known.get(&(node.thread, node.end)).copied()
    }

    /// Adds the operation that a node's call launches.
    fn add(
        &mut self,
        host: &'a HostTables,
        call: CallRow,
        model: u64,
        found: &mut CollectiveTable,
    ) -> CollectiveRow {
        let node = host.api.row(call.index());
        let [nodes, notes] = self.notes.entry(node.thread).or_insert_with(|| {
            let (threads, times) = host.node_notes();
            let notes = &host.collective_notes;
            [Cursor::new(threads, times, node.thread), Cursor::new(notes.thread(), notes.time(), node.thread)]
        });
        let operation = CollectiveRow::from_index(found.len());
        found.push(Collective {
            call,
            model,
            node: nodes.rows(node.begin, node.end).next().map(NodeRow::from_index),
            note: notes.rows(node.begin, node.end).next().map(CollectiveNoteRow::from_index),
        });
        self.known.insert((node.thread, node.end), operation);
        operation
    }
}
