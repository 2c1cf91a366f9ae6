//! Gives every task that the host handed to a device its node, model and launching call.

use std::convert::Infallible;
use std::ops::Range;

use opscope_cann_raw::Chip;
use opscope_cann_raw::host::level;

use crate::columns::columns;
use crate::join::call_tree::{Path, Walk, threads};
use crate::join::captured::{Captured, Place};
use crate::join::cursor::{Cursor, thread_ranges};
use crate::join::helpers::Owners;
use crate::join::steps::Steps;
use crate::kinds::{NodeTaskType, RuntimeKind, runtime_name};
use crate::names::Names;
use crate::parallel;
use crate::tables::{
    AttributeRow, CallRow, CapturedOp, ContextsRow, HostTables, NO_CONTEXT, NO_MODEL, NodeRow, TensorSetRow,
    TrackRow,
};
use crate::vocabulary;
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Losses, NumberMap, NumberSet};

/// Parts of a large profile are no larger, because several of them wait in memory.
const MOST_ROWS_PER_PART: usize = 1 << 17;

/// The source of what is known about the operator behind a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpSource {
    /// No operator: a copy, an event, or the whole of an operator whose parts have their own rows.
    None,
    /// A node.
    Node,
    /// A kernel without a node; its name stands for the operator.
    Kernel,
    /// A kernel that is a step of a collective operation.
    Collective,
}

columns! {
    /// Tasks that the host handed to devices, by thread and time. An operator with several
    /// contexts has a row for each.
    HostTaskTable,
    /// A task, or one context of it, that the host handed to a device.
    HostTask {
        /// The model's number, [`NO_MODEL`] if it was launched outside of one.
        model: u64,
        /// Whether that is the number of a captured graph, which other models may have too.
        captured: bool,
        /// The number of the inference that launched it; 0 is the load, −1 no model.
        request: i64,
        /// The device.
        device: u16,
        /// The stream.
        stream: u16,
        /// The task's number on its stream.
        task: u32,
        /// The context, or [`NO_CONTEXT`].
        context: u32,
        /// How often the task numbers of the stream had wrapped.
        batch: u16,
        /// The runtime's kind of task.
        kind: u32,
        /// The thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The launching call, if one launched it.
        call: Option<CallRow>,
        /// The kernel's name, hashed.
        kernel: u64,
        /// The source of its operator.
        op: OpSource,
        /// The operator's name, hashed.
        name: u64,
        /// The note on its node, if there is one.
        node: Option<NodeRow>,
        /// The combination of its tensors, if they were noted.
        tensors: Option<TensorSetRow>,
        /// The note on its attributes, if there is one.
        attributes: Option<AttributeRow>,
        /// The runtime's record of the task, if there is one.
        track: Option<TrackRow>,
    }
}

/// The host's tasks by thread and time, and the model of each fused operator.
///
/// At the lowest level of detail (`level0`) nobody notes nodes, and each call of one stands for an operator.
pub(super) fn host_tasks(
    host: &HostTables,
    chip: Chip,
    level0: bool,
    captured: &Captured,
    stop: &Stop,
    losses: &mut Losses,
) -> (HostTaskTable, Vec<u64>) {
    let calls = threads(&host.api);
    let kinds = kinds(host);
    let unexecuted = UnexecutedNodes::new(&host.names);
    let tracks = &host.task_tracks;
    let has_steps = host.api.level().contains(&level::COMMUNICATION);
    let rows_per_part = parallel::rows_per_part(tracks.len()).min(MOST_ROWS_PER_PART);
    let parts: Vec<Range<usize>> = thread_ranges(tracks.thread())
        .into_iter()
        .flat_map(|(start, end)| {
            (start..end).step_by(rows_per_part).map(move |at| at..(at + rows_per_part).min(end))
        })
        .collect();
    let mut table = HostTaskTable::default();
    let Ok(()) = parallel::parts(
        parts.len(),
        |number, out| {
            let rows = parts[number].clone();
            let thread = tracks.thread()[rows.start];
            let notes = Notes::of_thread(host, thread);
            let walk = Walk::new(&host.api, calls.get(&thread));
            let steps = has_steps.then(|| Steps::of_thread(host, thread));
            let owners = Owners::of_thread(&host.helpers, &host.api, &calls, thread);
            if stop.is_wanted() {
                return;
            }
            ThreadJoin {
                host,
                chip,
                level0,
                captured,
                kinds: &kinds,
                unexecuted: &unexecuted,
                notes,
                walk,
                owners,
                steps,
                out,
            }
            .run(rows, stop);
        },
        |part| {
            table.append(part);
            Ok::<(), Infallible>(())
        },
    );
    let fusion_models = fusion_models(host, &calls, losses);
    (table, fusion_models)
}

/// The meaning of each kind of task.
fn kinds(host: &HostTables) -> NumberMap<u32, RuntimeKind> {
    let mut kinds = NumberMap::default();
    for &kind in host.task_tracks.kind() {
        kinds.entry(kind).or_insert_with(|| vocabulary::runtime_kind(runtime_name(&host.names, kind)));
    }
    kinds
}

/// The calls of nodes whose tasks don't execute them.
struct UnexecutedNodes {
    /// Their types.
    kinds: NumberSet<u32>,
    /// The hashes of their objects.
    names: NumberSet<u64>,
}

impl UnexecutedNodes {
    fn new(names: &Names) -> Self {
        let kinds = names.types_of(level::NODE).filter(|(_, name)| *name == "step_info");
        let others = names.all().filter(|(_, text)| text.starts_with("Lccl"));
        Self { kinds: kinds.map(|(kind, _)| kind).collect(), names: others.map(|(hash, _)| hash).collect() }
    }
}

/// Notes of one thread, each kind sorted by time, with a cursor that follows the tasks.
struct Notes<'a> {
    nodes: Cursor<'a>,
    tensors: Cursor<'a>,
    attributes: Cursor<'a>,
    contexts: Cursor<'a>,
}

impl<'a> Notes<'a> {
    fn of_thread(host: &'a HostTables, thread: u32) -> Self {
        Self {
            nodes: Cursor::new(host.node_notes().0, host.node_notes().1, thread),
            tensors: Cursor::new(host.node_tensors.thread(), host.node_tensors.time(), thread),
            attributes: Cursor::new(host.attribute_notes().0, host.attribute_notes().1, thread),
            contexts: Cursor::new(host.node_contexts.thread(), host.node_contexts.time(), thread),
        }
    }
}

/// An operator that a node's notes describe.
#[derive(Clone, Copy)]
struct Described {
    name: u64,
    node: Option<NodeRow>,
    tensors: Option<TensorSetRow>,
    attributes: Option<AttributeRow>,
    contexts: Option<ContextsRow>,
}

/// Joins tasks of one thread that follow one another.
struct ThreadJoin<'a> {
    host: &'a HostTables,
    chip: Chip,
    level0: bool,
    captured: &'a Captured,
    kinds: &'a NumberMap<u32, RuntimeKind>,
    unexecuted: &'a UnexecutedNodes,
    notes: Notes<'a>,
    walk: Walk<'a>,
    /// The threads that this one helps.
    owners: Option<Owners<'a>>,
    /// The steps of collective operations, if the host reported any.
    steps: Option<Steps<'a>>,
    out: &'a mut HostTaskTable,
}

impl ThreadJoin<'_> {
    fn run(mut self, rows: Range<usize>, stop: &Stop) {
        self.out.reserve(rows.len());
        let mut described = Vec::new();
        for row in stop.within(rows) {
            let track = self.host.task_tracks.row(row);
            let mut path = self.walk.path_at(track.time);
            if let Some(owners) = &mut self.owners {
                path = owners.complete(path, track.time);
            }
            let kind = self.kinds.get(&track.kind).copied().unwrap_or_default();
            let place = self.captured.place_of(&track, self.host);
            let base = self.base(row, &path, place);
            if let Some(node) = self.executed_node(&path, kind) {
                self.describe(node, kind, &mut described);
                let first = self.out.len();
                self.push_node_task(base, node, kind, &described);
                match path.collective() {
                    Some((_, step)) => self.name_after_step(first, step, kind),
                    None => self.drop_operators_without_node(first),
                }
            } else if let Some((_, step)) = path.collective() {
                let Some(steps) = &mut self.steps else { continue };
                for step in steps.of_call(self.host, step) {
                    self.out.push(HostTask { context: step.context, ..base });
                }
            } else {
                let context = if kind.is_mixed() && !self.chip.has_wide_task_ids() { 0 } else { NO_CONTEXT };
                let base = HostTask { context, ..base };
                let computes = kind.computes() && path.communication.is_none();
                self.out.push(match place.and_then(|place| place.op) {
                    _ if !computes => base,
                    Some(op) => captured_op(self.host, op, base),
                    None => HostTask { op: OpSource::Kernel, ..base },
                });
            }
        }
    }

    /// Kernels within a collective operation carry the name of their step instead of their node's,
    /// and those that only serve it aren't operators of the model.
    fn name_after_step(&mut self, first: usize, step: CallRow, kind: RuntimeKind) {
        let name = self.host.api.item()[step.index()];
        for row in first..self.out.len() {
            let task = self.out.row(row);
            if task.op != OpSource::None {
                let op = if kind.serves_collectives() { OpSource::Collective } else { task.op };
                self.out.replace(row, HostTask { name, op, ..task });
            }
        }
    }

    /// Where nodes are noted, a call without a note on its node launched no operator.
    fn drop_operators_without_node(&mut self, first: usize) {
        if self.level0 {
            return;
        }
        for row in first..self.out.len() {
            let task = self.out.row(row);
            if task.node.is_none() {
                self.out.replace(row, HostTask { op: OpSource::None, name: task.kernel, ..task });
            }
        }
    }

    /// A task without its node.
    fn base(&self, row: usize, path: &Path, place: Option<Place>) -> HostTask {
        let track = self.host.task_tracks.row(row);
        let api = &self.host.api;
        let graph = place.filter(|_| path.model.is_none()).map(|place| place.graph);
        let (model, request) = match path.model {
            None => (graph.map_or(NO_MODEL, u64::from), -1),
            Some(call) => (api.item()[call.index()], i64::from(api.request()[call.index()])),
        };
        HostTask {
            model,
            captured: graph.is_some(),
            request,
            device: track.device,
            stream: track.stream,
            task: track.task,
            context: NO_CONTEXT,
            batch: track.batch,
            kind: track.kind,
            thread: track.thread,
            time: track.time,
            call: path.node.or(path.innermost),
            kernel: track.kernel,
            op: OpSource::None,
            name: track.kernel,
            node: None,
            tensors: None,
            attributes: None,
            track: Some(TrackRow::from_index(row)),
        }
    }

    /// The call of the node that launched a task, if the task executes the node.
    fn executed_node(&self, path: &Path, kind: RuntimeKind) -> Option<CallRow> {
        let node = path.node?;
        let executes = kind.is_kernel() || kind == RuntimeKind::FftsPlus && path.communication.is_none();
        let call = self.host.api.row(node.index());
        let is_unexecuted =
            self.unexecuted.kinds.contains(&call.kind) || self.unexecuted.names.contains(&call.item);
        (executes && !is_unexecuted).then_some(node)
    }

    /// Collects the operators that the notes of a node's call describe.
    fn describe(&mut self, node: CallRow, kind: RuntimeKind, described: &mut Vec<Described>) {
        described.clear();
        let (begin, end) = (self.host.api.begin()[node.index()], self.host.api.end()[node.index()]);
        fn entry(described: &mut Vec<Described>, name: u64) -> &mut Described {
            let known = described.iter().position(|op| op.name == name);
            let index = known.unwrap_or_else(|| {
                let (node, tensors, attributes, contexts) = (None, None, None, None);
                described.push(Described { name, node, tensors, attributes, contexts });
                described.len() - 1
            });
            &mut described[index]
        }
        let (host, walk) = (self.host, &self.walk);
        let is_own = |time: u64| !walk.is_of_inner_node(node, time);
        for row in self.notes.nodes.rows(begin, end).filter(|row| is_own(host.nodes.time()[*row])) {
            entry(described, host.nodes.name()[row]).node = Some(NodeRow::from_index(row));
        }
        for row in self.notes.tensors.rows(begin, end).filter(|row| is_own(host.node_tensors.time()[*row])) {
            entry(described, host.node_tensors.name()[row]).tensors = Some(host.node_tensors.set()[row]);
        }
        for row in
            self.notes.attributes.rows(begin, end).filter(|row| is_own(host.node_attributes.time()[*row]))
        {
            entry(described, host.node_attributes.name()[row]).attributes =
                Some(AttributeRow::from_index(row));
        }
        if kind.has_contexts() && !self.chip.has_wide_task_ids() {
            let contexts = &host.node_contexts;
            let is_of_node =
                |row: &usize| contexts.level()[*row] != level::COMMUNICATION && is_own(contexts.time()[*row]);
            for row in self.notes.contexts.rows(begin, end).filter(is_of_node) {
                entry(described, host.node_contexts.name()[row]).contexts =
                    Some(ContextsRow::from_index(row));
            }
        }
        // The whole of an FFTS+ graph has a note of its own that stands for no operator.
        const FFTS_PLUS: u32 = NodeTaskType::FftsPlus as u32;
        if let Some(whole) = described
            .iter()
            .position(|op| op.node.is_some_and(|node| host.nodes.task_type()[node.index()] == FFTS_PLUS))
        {
            described.swap_remove(whole);
        }
        keep_one_without_contexts(described);
    }

    fn push_node_task(&mut self, base: HostTask, node: CallRow, kind: RuntimeKind, described: &[Described]) {
        let op = OpSource::Node;
        if described.is_empty() {
            let name = self.host.api.item()[node.index()];
            self.out.push(HostTask { op, name, ..base });
            return;
        }
        let mut has_contexts = false;
        for found in described {
            let Described { name, node, tensors, attributes, .. } = *found;
            let row = HostTask { op, name, node, tensors, attributes, ..base };
            match found.contexts {
                None => self.out.push(row),
                Some(note) => {
                    has_contexts = true;
                    for &context in self.host.contexts_of(note) {
                        self.out.push(HostTask { context, ..row });
                    }
                }
            }
        }
        // The task as a whole is executed too, but it is no operator besides its parts.
        if has_contexts || (kind.is_mixed() && described.iter().any(|op| op.contexts.is_some())) {
            self.out.push(base);
        }
    }
}

/// Of the operators that are the task as a whole, there can be one only: that which was noted last.
/// Where others are parts of the task, it is none of them.
fn keep_one_without_contexts(described: &mut Vec<Described>) {
    if described.len() < 2 {
        return;
    }
    if described.iter().any(|op| op.contexts.is_some()) {
        described.retain(|op| op.contexts.is_some());
        return;
    }
    match described.iter().filter_map(|op| op.node).max() {
        Some(last) => described.retain(|op| op.node == Some(last)),
        None => described.truncate(1),
    }
}

/// A task with the operator that was noted of it when its graph was captured.
fn captured_op(host: &HostTables, op: usize, base: HostTask) -> HostTask {
    let CapturedOp { node, tensors, attributes, .. } = host.captures.ops.row(op);
    HostTask {
        op: OpSource::Node,
        name: host.nodes.name()[node.index()],
        node: Some(node),
        tensors: Some(tensors),
        attributes,
        ..base
    }
}

/// The model whose call contains each note on a fused operator.
fn fusion_models(
    host: &HostTables,
    calls: &NumberMap<u32, crate::join::call_tree::Thread>,
    losses: &mut Losses,
) -> Vec<u64> {
    let fusions = &host.fusions;
    let mut models = Vec::with_capacity(fusions.len());
    let mut unmatched = 0;
    for (start, end) in thread_ranges(fusions.thread()) {
        let mut walk = Walk::new(&host.api, calls.get(&fusions.thread()[start]));
        for row in start..end {
            let path = walk.path_at(fusions.time()[row]);
            unmatched += u64::from(path.model.is_none());
            models.push(path.model.map_or(NO_MODEL, |call| host.api.item()[call.index()]));
        }
    }
    losses.count(LossKind::UnmatchedNote, "additional.fusion_op_info", unmatched);
    models
}
