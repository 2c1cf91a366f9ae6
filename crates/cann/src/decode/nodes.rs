//! Notes on nodes: what they are, their tensors, attributes, sub-tasks and fusions.

use opscope_cann_raw::additional::{ContextIdInfo, FusionOpInfo, Tensor, TensorInfo};
use opscope_cann_raw::host::{NodeAttrInfo, NodeBasicInfo};

use crate::decode::{Append, decode};
use crate::slices::{HOST_MAGIC, Stream};
use crate::tables::{
    Fusion, FusionTable, HostTables, Node, NodeAttribute, NodeAttributeTable, NodeContextTable, NodeContexts,
    NodeTable, NodeTensorTable, NodeTensors, TensorSetRow, TensorSets,
};
use opscope_trace::{LossKind, Losses};

/// Notes on nodes, by thread and time.
pub(super) fn nodes(streams: &[Stream], losses: &mut Losses) -> NodeTable {
    let mut table: NodeTable =
        decode(streams, Some(HOST_MAGIC), losses, |table: &mut NodeTable, raw: NodeBasicInfo, aging| {
            table.push(Node {
                thread: raw.head.thread,
                time: raw.head.time,
                name: raw.name,
                task_type: raw.task_type,
                op_type: raw.op_type,
                blocks: raw.blocks,
                flags: raw.flags,
                // Load-time data is kept for ever, data of launches with dynamic shapes ages.
                dynamic: aging,
            });
            Ok(())
        });
    table.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    table
}

/// Attributes of nodes, by thread and time.
pub(super) fn attributes(streams: &[Stream], losses: &mut Losses) -> NodeAttributeTable {
    let mut table: NodeAttributeTable =
        decode(streams, Some(HOST_MAGIC), losses, |table: &mut NodeAttributeTable, raw: NodeAttrInfo, _| {
            let NodeAttrInfo { head, name, attribute, value } = raw;
            table.push(NodeAttribute { thread: head.thread, time: head.time, name, attribute, value });
            Ok(())
        });
    table.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    table
}

/// Notes with the combinations of tensors that they name.
#[derive(Default)]
pub(super) struct TensorNotes {
    notes: NodeTensorTable,
    sets: TensorSets,
}

impl Append for TensorNotes {
    fn append(&mut self, next: &mut Self) {
        let next = std::mem::take(next);
        if self.notes.is_empty() {
            *self = next;
            return;
        }
        let rows: Vec<TensorSetRow> = next.sets.all().map(|tensors| self.sets.intern(tensors)).collect();
        let mut notes = next.notes;
        notes.renumber_sets(&rows);
        self.notes.append(&mut notes);
    }
}

/// Inputs and outputs of nodes, by thread and time. An operator with many tensors has several
/// records, which are put together.
pub(super) fn tensors(streams: &[Stream], losses: &mut Losses) -> (NodeTensorTable, TensorSets) {
    let TensorNotes { mut notes, mut sets } =
        decode(streams, Some(HOST_MAGIC), losses, |part: &mut TensorNotes, raw: TensorInfo, _| {
            let used = raw.tensors.get(..raw.count as usize).ok_or(LossKind::InvalidRecord)?;
            let set = part.sets.intern(used);
            let (thread, time) = (raw.head.thread, raw.head.time);
            part.notes.push(NodeTensors { thread, time, name: raw.name, set });
            Ok(())
        });
    notes.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    let key = |row: &NodeTensors| (row.thread, row.time, row.name);
    let is_continued = (1..notes.len()).any(|i| key(&notes.row(i)) == key(&notes.row(i - 1)));
    if is_continued {
        notes = continued(&notes, &mut sets);
    }
    (notes, sets)
}

/// Puts notes together that follow one another with the same thread, time and name.
fn continued(notes: &NodeTensorTable, sets: &mut TensorSets) -> NodeTensorTable {
    let mut merged = NodeTensorTable::default();
    let mut rows = notes.rows().peekable();
    while let Some(first) = rows.next() {
        let mut tensors: Vec<Tensor> = sets.get(first.set).to_vec();
        let before = tensors.len();
        let belongs =
            |row: &NodeTensors| (row.thread, row.time, row.name) == (first.thread, first.time, first.name);
        while let Some(more) = rows.next_if(belongs) {
            tensors.extend_from_slice(sets.get(more.set));
        }
        let set = if tensors.len() > before { sets.intern(&tensors) } else { first.set };
        merged.push(NodeTensors { set, ..first });
    }
    merged
}

/// Sub-tasks of nodes, by thread and time, with the lists that they refer to.
pub(super) fn contexts(streams: &[Stream], tables: &mut HostTables) {
    let records: Vec<ContextIdInfo> = decode(streams, Some(HOST_MAGIC), &mut tables.losses, keep);
    for raw in records {
        let Some(used) = raw.contexts.get(..raw.count as usize) else {
            tables.losses.count(LossKind::InvalidRecord, "additional.context_id_info", 1);
            continue;
        };
        let start = tables.contexts.len() as u32;
        tables.contexts.extend_from_slice(used);
        let (thread, time, level) = (raw.head.thread, raw.head.time, raw.head.level);
        tables.node_contexts.push(NodeContexts {
            thread,
            time,
            level,
            name: raw.name,
            start,
            count: raw.count,
        });
    }
    tables.node_contexts.sort_by_key(|t: &NodeContextTable, i| (t.thread()[i], t.time()[i]));
}

/// Fused operators, by thread and time, with the lists that they refer to.
pub(super) fn fusions(streams: &[Stream], tables: &mut HostTables) {
    let records: Vec<FusionOpInfo> = decode(streams, Some(HOST_MAGIC), &mut tables.losses, keep);
    for raw in records {
        let Some(used) = raw.originals.get(..raw.count as usize) else {
            tables.losses.count(LossKind::InvalidRecord, "additional.fusion_op_info", 1);
            continue;
        };
        let start = tables.originals.len() as u32;
        tables.originals.extend_from_slice(used);
        tables.fusions.push(Fusion {
            thread: raw.head.thread,
            time: raw.head.time,
            name: raw.name,
            input_bytes: raw.input_bytes,
            output_bytes: raw.output_bytes,
            weight_bytes: raw.weight_bytes,
            workspace_bytes: raw.workspace_bytes,
            total_bytes: raw.total_bytes,
            start,
            count: raw.count,
        });
    }
    tables.fusions.sort_by_key(|t: &FusionTable, i| (t.thread()[i], t.time()[i]));
}

/// Keeps a record as it is, for streams with few of them.
pub(super) fn keep<R>(all: &mut Vec<R>, raw: R, _aging: bool) -> Result<(), LossKind> {
    all.push(raw);
    Ok(())
}
