//! Captured graphs: their streams and operators.
//!
//! Operators are noted in two files of different layouts. Both may hold a graph's: which one depends on the
//! number of tensors alone.

use std::ops::ControlFlow;

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::Tensor;
use opscope_cann_raw::capture::{CapturedOp as RawOp, CapturedOpRecord};
use opscope_cann_raw::host::{CaptureStreamInfo, Head, MAGIC};

use crate::catalogue::Catalogue;
use crate::decode::{decode, nodes};
use crate::slices::{HOST_MAGIC, Stream};
use crate::tables::{AttributeRow, Capture, CapturedOp, GraphEnd, HostTables, Node, NodeAttribute, NodeRow};
use opscope_trace::{LossKind, Losses};

/// The place of losses among notes on operators, of either layout.
pub(crate) const OP_NOTES: &str = "capture_op_info";

/// Reads what the runtime noted of captured graphs. The nodes and attributes of their operators follow those
/// that are noted while nodes are launched.
pub(super) fn captures(catalogue: &Catalogue, tables: &mut HostTables) {
    (tables.launched_nodes, tables.launched_attributes) = (tables.nodes.len(), tables.node_attributes.len());
    streams(catalogue.streams("compact.capture_stream_info"), tables);
    let (short, long) =
        (catalogue.streams("additional.capture_op_info"), catalogue.streams("variable.capture_op_info"));
    short_notes(short, tables);
    for stream in long {
        long_notes(stream, tables);
    }
    drop_repeated(tables);
    name(tables);
}

/// The streams that were captured, and the graphs that are gone.
fn streams(streams: &[Stream], tables: &mut HostTables) {
    let mut records: Vec<CaptureStreamInfo> =
        decode(streams, Some(HOST_MAGIC), &mut tables.losses, nodes::keep);
    let key = |raw: &CaptureStreamInfo| {
        (raw.head.time, raw.status, raw.device, raw.model_stream, raw.model, raw.original_stream)
    };
    records.sort_by_key(key);
    let all = records.len();
    records.dedup_by_key(|raw| key(raw));
    let repeated = (all - records.len()) as u64;
    tables.losses.count(LossKind::RepeatedRecord, "compact.capture_stream_info", repeated);
    for raw in records {
        let (time, device, graph) = (raw.head.time, raw.device, raw.model);
        match raw.status {
            CaptureStreamInfo::CAPTURED => {
                tables.captures.streams.push(Capture { time, device, stream: raw.model_stream, graph });
            }
            CaptureStreamInfo::DESTROYED => tables.captures.ends.push(GraphEnd { time, device, graph }),
            _ => tables.losses.count(LossKind::InvalidRecord, "compact.capture_stream_info", 1),
        }
    }
}

/// Notes of one size.
fn short_notes(streams: &[Stream], tables: &mut HostTables) {
    type Notes = Vec<(CapturedOpRecord, bool)>;
    let keep = |notes: &mut Notes, raw: CapturedOpRecord, aging: bool| {
        let fits = raw.op.count as usize <= raw.tensors.len();
        fits.then(|| notes.push((raw, aging))).ok_or(LossKind::InvalidRecord)
    };
    let notes: Notes = decode(streams, Some(HOST_MAGIC), &mut tables.losses, keep);
    for (raw, aging) in notes {
        add(tables, &raw.op, &raw.tensors[..raw.op.count as usize], aging);
    }
}

/// Notes that are as long as they need to be.
fn long_notes(stream: &Stream, tables: &mut HostTables) {
    let mapped = stream.map(&mut tables.losses);
    let mut lost = Losses::default();
    let mut tensors = Vec::new();
    each_long_note(&mapped.concatenated(), |note| {
        match note {
            Ok((op, bytes)) => {
                tensors.clear();
                tensors.extend(bytes.chunks_exact(Tensor::SIZE).filter_map(Tensor::read));
                add(tables, &op, &tensors, stream.aging);
            }
            Err(reason) => lost.count(reason, &stream.name, 1),
        }
        if stream.stop.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    tables.losses.merge(lost);
}

/// Calls `take` with each note and the bytes of its tensors, or with the reason why bytes are none. Behind
/// such bytes it goes on where the next note begins.
fn each_long_note(bytes: &[u8], mut take: impl FnMut(Result<(RawOp, &[u8]), LossKind>) -> ControlFlow<()>) {
    let mut at = 0;
    while at < bytes.len() {
        let note = long_note(&bytes[at..]);
        at = match &note {
            Ok((_, tensors)) => at + RawOp::SIZE + tensors.len(),
            Err(_) => {
                let is_note = |at: &usize| long_note(&bytes[*at..]).is_ok();
                (at + 1..bytes.len()).find(is_note).unwrap_or(bytes.len())
            }
        };
        if take(note).is_break() {
            return;
        }
    }
}

/// The note at the begin of `bytes`, and the bytes of its tensors.
fn long_note(bytes: &[u8]) -> Result<(RawOp, &[u8]), LossKind> {
    if !bytes.starts_with(&MAGIC.to_le_bytes()) {
        return Err(if bytes.len() < Head::SIZE { LossKind::PartialRecord } else { LossKind::BrokenMagic });
    }
    let op = RawOp::read(bytes).ok_or(LossKind::PartialRecord)?;
    let tensors = u64::from(op.count) * Tensor::SIZE as u64;
    // The length and the number of tensors tell the same; where they differ, neither can be trusted.
    if u64::from(op.head.length) != (RawOp::SIZE - Head::SIZE) as u64 + tensors {
        return Err(LossKind::InvalidRecord);
    }
    let behind = &bytes[RawOp::SIZE..];
    let tensors = usize::try_from(tensors).ok().and_then(|length| behind.get(..length));
    Ok((op, tensors.ok_or(LossKind::PartialRecord)?))
}

/// Adds an operator with its description.
fn add(tables: &mut HostTables, raw: &RawOp, tensors: &[Tensor], dynamic: bool) {
    let (Ok(device), Ok(stream)) = (u16::try_from(raw.device), u16::try_from(raw.stream)) else {
        tables.losses.count(LossKind::InvalidRecord, OP_NOTES, 1);
        return;
    };
    let RawOp { head: Head { thread, time, .. }, name, task_type, op_type, blocks, flags, .. } = *raw;
    tables.nodes.push(Node { thread, time, name, task_type, op_type, blocks, flags, dynamic });
    let attributes = (raw.attributes != 0).then(|| {
        tables.node_attributes.push(NodeAttribute {
            thread,
            time,
            name,
            attribute: 0,
            value: raw.attributes,
        });
        AttributeRow::from_index(tables.node_attributes.len() - 1)
    });
    tables.captures.ops.push(CapturedOp {
        time,
        graph: raw.model,
        device,
        stream,
        task: raw.task,
        node: NodeRow::from_index(tables.nodes.len() - 1),
        tensors: tables.tensor_sets.intern(tensors),
        attributes,
    });
}

/// Sorts the operators, and drops and counts those that were noted word for word before.
fn drop_repeated(tables: &mut HostTables) {
    let HostTables { nodes, node_attributes, captures, losses, .. } = tables;
    let ops = &mut captures.ops;
    ops.sort_by_key(|t, i| (t.device()[i], t.stream()[i], t.task()[i], t.graph()[i], t.time()[i]));
    let said = |row: usize| {
        let CapturedOp { time, graph, device, stream, task, node, tensors, attributes } = ops.row(row);
        let attributes = attributes.map(|row| node_attributes.row(row.index()));
        (time, graph, device, stream, task, nodes.row(node.index()), tensors, attributes)
    };
    let kept: Vec<u32> =
        (0..ops.len()).filter(|&row| row == 0 || said(row - 1) != said(row)).map(|row| row as u32).collect();
    let repeated = (ops.len() - kept.len()) as u64;
    if repeated > 0 {
        *ops = ops.in_order(&kept);
    }
    losses.count(LossKind::RepeatedRecord, OP_NOTES, repeated);
}

/// Gives every hash that the notes use a name.
fn name(tables: &mut HostTables) {
    let HostTables { names, nodes, node_attributes, losses, .. } = tables;
    let (names_of, types) =
        (&nodes.name()[tables.launched_nodes..], &nodes.op_type()[tables.launched_nodes..]);
    let attributes = &node_attributes.value()[tables.launched_attributes..];
    names.name_unknown(names_of.iter().chain(types).chain(attributes).copied(), losses, OP_NOTES);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn note(task: u32, tensors: usize) -> Vec<u8> {
        let length = (RawOp::SIZE - Head::SIZE + tensors * Tensor::SIZE) as u32;
        let head = Head { magic: MAGIC, length, ..Head::default() };
        let mut bytes = Vec::new();
        RawOp { head, task, count: tensors as u32, ..RawOp::default() }.append_to(&mut bytes);
        (0..tensors).for_each(|_| Tensor::default().append_to(&mut bytes));
        bytes
    }

    /// The tasks of the notes among some bytes, and why others were lost.
    fn read(bytes: &[u8]) -> (Vec<u32>, Vec<LossKind>) {
        let (mut tasks, mut lost) = (Vec::new(), Vec::new());
        each_long_note(bytes, |note| {
            match note {
                Ok((op, _)) => tasks.push(op.task),
                Err(reason) => lost.push(reason),
            }
            ControlFlow::Continue(())
        });
        (tasks, lost)
    }

    #[test]
    fn notes_of_any_length_follow_one_another() {
        assert_eq!(read(&[note(1, 4), note(2, 0), note(3, 9)].concat()), (vec![1, 2, 3], vec![]));
    }

    #[test]
    fn reading_goes_on_behind_a_note_that_is_damaged_or_cut() {
        let mut longer = note(2, 5);
        longer[84] = 6;
        assert_eq!(
            read(&[note(1, 4), longer, note(3, 4)].concat()),
            (vec![1, 3], vec![LossKind::InvalidRecord])
        );
        let whole = note(2, 5);
        let cut = &whole[..whole.len() - 30];
        assert_eq!(read(&[&note(1, 4), cut].concat()), (vec![1], vec![LossKind::PartialRecord]));
        let bytes = [&note(1, 4), &whole[10..], &note(3, 4)].concat();
        assert_eq!(read(&bytes), (vec![1, 3], vec![LossKind::BrokenMagic]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(
            bytes in prop::collection::vec(prop_oneof![3 => Just(0x5A), 1 => any::<u8>()], 0..600),
        ) {
            let (tasks, lost) = read(&bytes);
            prop_assert!(tasks.len() * RawOp::SIZE <= bytes.len());
            prop_assert_eq!(bytes.is_empty(), tasks.is_empty() && lost.is_empty());
        }

        #[test]
        fn a_changed_byte_spoils_one_note_and_that_which_it_seems_to_swallow(
            at in 0usize..792, value in any::<u8>(),
        ) {
            let mut bytes: Vec<u8> = (0..3).flat_map(|task| note(task, 4)).collect();
            bytes[at % (3 * 264)] = value;
            let (tasks, lost) = read(&bytes);
            prop_assert!(tasks.len() >= 2 && tasks.len() + lost.len() <= 4);
        }
    }
}
