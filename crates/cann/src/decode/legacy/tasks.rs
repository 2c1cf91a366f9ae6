//! Tasks: what the runtime handed to devices, and what the framework says about their operators.
//!
//! The runtime tells a task's kind and device, the framework its operator and model. Both name it by
//! stream and number; a number that is used again is told apart by the order in which it was.

use std::collections::HashMap;

use opscope_cann_raw::host::level;
use opscope_cann_raw::legacy::{self, RuntimeTrack, TaskDescription, TensorData, tag, until_zero};

use crate::decode::legacy::records::{
    CallKinds, Placed, Source, hash_of_name, is_mixed_name, is_name, records,
};
use crate::kinds::{runtime_kind, usual_kind};
use crate::tables::{
    DescribedTask, DescribedTaskTable, HostTables, NO_CONTEXT, NO_MODEL, Node, NodeRow, TensorSetRow,
};
use opscope_trace::NumberMap;

/// Numbers of kinds of tasks that have no usual one begin here, behind those of calls.
const FIRST_KIND: u32 = 0x4000_0000;

/// A device, a stream and a task's number on it.
type Key = (u16, u16, u32);

/// Adds all tasks, by thread and time.
pub(super) fn add(sources: &[Source<'_>], tables: &mut HostTables) {
    let tensors = tensors(sources, tables);
    let mut described = descriptions(sources, tables, &tensors);
    let tracks = tracks(sources, tables);
    let mut by_key: HashMap<Key, Vec<u32>> = HashMap::new();
    for (row, task) in described.rows().enumerate() {
        by_key.entry((task.device, task.stream, task.task)).or_default().push(row as u32);
    }
    let mut used: NumberMap<(u64, u64), usize> = NumberMap::default();
    for track in tracks.rows() {
        let key = (track.device, track.stream, track.task);
        let number = used.entry((u64::from(key.0) << 16 | u64::from(key.1), u64::from(key.2))).or_default();
        let row = by_key.get(&key).and_then(|rows| rows.get(*number));
        *number += 1;
        match row {
            // The runtime knows best on which thread and when it handed the task out.
            Some(&row) => {
                let known = described.row(row as usize);
                let DescribedTask { thread, time, kind, .. } = track;
                described.replace(row as usize, DescribedTask { thread, time, kind, ..known });
            }
            None => described.push(track),
        }
    }
    described.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    tables.described_tasks = described;
}

/// The tasks that the framework describes, in the order of time, with their nodes.
fn descriptions(sources: &[Source<'_>], tables: &mut HostTables, tensors: &Tensors) -> DescribedTaskTable {
    let is_possible = |raw: &TaskDescription| {
        raw.tag == tag::TASK_DESCRIPTION
            && u16::try_from(raw.stream).is_ok()
            && is_mixed_name(raw.name.get())
            && is_mixed_name(raw.op_type.get())
    };
    let is_stream = |name: &str| matches!(name, "Framework.task_desc_info" | "Framework.single_op_task_info");
    let mut raws = records(sources, &mut tables.losses, is_stream, is_possible);
    raws.sort_by_key(|(_, raw)| raw.time);
    let mut table = DescribedTaskTable::default();
    for (device, raw) in raws {
        let Ok(stream) = u16::try_from(raw.stream) else { continue };
        let node = Node {
            thread: raw.thread,
            time: raw.time,
            name: hash_of_name(&mut tables.names, raw.name.get()),
            task_type: raw.task_type,
            op_type: hash_of_name(&mut tables.names, raw.op_type.get()),
            blocks: raw.blocks,
            flags: 0,
            dynamic: raw.shape_type != 0,
        };
        let device = device.unwrap_or(0);
        table.push(DescribedTask {
            thread: raw.thread,
            time: raw.time,
            device,
            stream,
            task: raw.task,
            context: if raw.context == legacy::NO_CONTEXT { NO_CONTEXT } else { raw.context },
            model: u64::from(raw.model),
            iteration: raw.iteration,
            kind: runtime_kind(raw.task_type),
            node: Some(NodeRow::from_index(tables.nodes.len())),
            tensors: tensors.of((device, stream, raw.task), raw.model, raw.iteration),
        });
        tables.nodes.push(node);
    }
    table
}

/// The tasks that the runtime handed to devices, in the order of time.
fn tracks(sources: &[Source<'_>], tables: &mut HostTables) -> DescribedTaskTable {
    let HostTables { names, losses, .. } = tables;
    let is_possible =
        |raw: &RuntimeTrack| raw.tag == tag::RUNTIME_TRACK && is_name(until_zero(&raw.task_type));
    let mut raws = records(sources, losses, |name| name == "runtime.task_track", is_possible);
    raws.sort_by_key(|(_, raw)| raw.time);
    let mut kinds = CallKinds::new(level::RUNTIME, FIRST_KIND, u32::MAX / 4);
    let mut table = DescribedTaskTable::default();
    for (device, raw) in raws {
        let name = String::from_utf8_lossy(until_zero(&raw.task_type)).into_owned();
        let kind = usual_kind(&name).or_else(|| kinds.number(names, name)).unwrap_or(u32::MAX);
        table.push(DescribedTask {
            thread: raw.thread,
            time: raw.time,
            device: device.unwrap_or(raw.device),
            stream: raw.stream,
            task: u32::from(raw.task),
            context: NO_CONTEXT,
            model: NO_MODEL,
            iteration: 0,
            kind,
            node: None,
            tensors: None,
        });
    }
    table
}

/// The combinations of tensors of tasks.
#[derive(Default)]
struct Tensors {
    /// By task, model and iteration.
    exact: HashMap<(Key, u32, u64), TensorSetRow>,
    /// By task and model: those of a static model are told once.
    any: HashMap<(Key, u32), TensorSetRow>,
}

impl Tensors {
    fn of(&self, key: Key, model: u32, iteration: u64) -> Option<TensorSetRow> {
        let exact = self.exact.get(&(key, model, iteration));
        exact.or_else(|| self.any.get(&(key, model))).copied()
    }
}

/// Inputs and outputs of tasks; an operator with many has several records in a row.
fn tensors(sources: &[Source<'_>], tables: &mut HostTables) -> Tensors {
    let is_possible = |raw: &TensorData| {
        raw.tag == tag::TENSOR && raw.count as usize <= raw.tensors.len() && u16::try_from(raw.stream).is_ok()
    };
    let is_stream =
        |name: &str| matches!(name, "Framework.tensor_data_info" | "Framework.single_op_tensor_info");
    let raws = records(sources, &mut tables.losses, is_stream, is_possible);
    let key = |(device, raw): &Placed<TensorData>| {
        let key = (device.unwrap_or(0), raw.stream as u16, raw.task);
        (key, raw.model, raw.iteration)
    };
    let mut tensors = Tensors::default();
    let mut joined = Vec::new();
    for of_task in raws.chunk_by(|a, b| key(a) == key(b)) {
        joined.clear();
        of_task.iter().for_each(|(_, raw)| joined.extend(raw.tensors.iter().take(raw.count as usize)));
        let set = tables.tensor_sets.intern(&joined);
        let (task, model, iteration) = key(&of_task[0]);
        tensors.exact.insert((task, model, iteration), set);
        tensors.any.insert((task, model), set);
    }
    tensors
}
