//! Chip 9: tasks that the device names by their model, and the compiler's files that describe them.

use opscope_cann_raw::nano::{ModelExeom, NanoTask};

use crate::catalogue::{Catalogue, DEBUG_FILE};
use crate::decode::model_debug::{ModelTask, model_tasks};
use crate::decode::{decode, nodes};
use crate::kinds::runtime_kind;
use crate::slices::HOST_MAGIC;
use crate::tables::{
    Core, CounterTable, Counters, DescribedTask, DeviceTables, DeviceTask, DeviceTaskTable, HostTables,
    Model, NO_CONTEXT, Node, NodeRow, TaskLog,
};
use opscope_trace::LossKind;

/// The word for a name that the compiler doesn't tell.
const NO_NAME: &[u8] = b"N/A";

/// Decodes the device's log. A record holds a task and its counters, so both tables have the same
/// rows in the same order, unless the cores were sampled over time.
pub(super) fn tasks(catalogue: &Catalogue, sample_based: bool, tables: &mut DeviceTables) {
    type Both = (DeviceTaskTable, CounterTable);
    let streams = catalogue.streams("nano_stars_profile.data");
    let (tasks, counters) =
        decode(streams, None, &mut tables.losses, |(tasks, counters): &mut Both, raw: NanoTask, _| {
            let (start, task) = (raw.start(), u32::from(raw.task));
            // A counter that never stops isn't at zero; storage that was never written is.
            if start == 0 {
                return Err(LossKind::InvalidRecord);
            }
            let end = start.saturating_add(u64::from(raw.duration));
            tasks.push(DeviceTask {
                stream: 0,
                task,
                context: NO_CONTEXT,
                batch: 0,
                model: u16::from(raw.model),
                log: TaskLog::NanoStars,
                kind: u16::from(raw.word & 0b1110),
                start,
                end,
            });
            counters.push(Counters {
                stream: 0,
                task,
                context: NO_CONTEXT,
                core: Core::Cube,
                mixed: false,
                block: false,
                cycles: raw.cycles(),
                counters: raw.counters.map(u64::from),
                start,
                end,
                blocks: 0,
            });
            Ok(())
        });
    tables.tasks = tasks;
    if !sample_based {
        tables.counters = counters;
        tables.counters.sort_by_key(|t, i| (t.start()[i], t.end()[i]));
    }
}

/// Adds the models, and their tasks as the compiler describes them.
pub(super) fn describe_tasks(catalogue: &Catalogue, tables: &mut HostTables) {
    const MODELS: &str = "additional.model_exeom";
    let models: Vec<ModelExeom> =
        decode(catalogue.streams(MODELS), Some(HOST_MAGIC), &mut tables.losses, nodes::keep);
    tables.names.name_unknown(models.iter().map(|model| model.name), &mut tables.losses, MODELS);
    for model in models {
        let Ok(number) = u32::try_from(model.model) else {
            tables.losses.count(LossKind::InvalidRecord, MODELS, 1);
            continue;
        };
        // Loaded again, it is still the same.
        if tables.models.model().contains(&number) {
            continue;
        }
        tables.models.push(Model { model: number, graph: number, name: model.name });
        let file = format!("{}{DEBUG_FILE}", tables.names.get(model.name).unwrap_or_default());
        let [stream] = catalogue.streams(&file) else {
            tables.losses.count(LossKind::MissingMetadata, &file, 1);
            continue;
        };
        let mapped = stream.map(&mut tables.losses);
        for task in model_tasks(&mapped.concatenated(), &file, &mut tables.losses) {
            match u16::try_from(task.head.stream) {
                Ok(stream) => add_task(&model, stream, &task, tables),
                Err(_) => tables.losses.count(LossKind::InvalidRecord, &file, 1),
            }
        }
    }
}

fn add_task(model: &ModelExeom, stream: u16, task: &ModelTask<'_>, tables: &mut HostTables) {
    let (thread, time) = (model.head.thread, model.head.time);
    let node = Node {
        thread,
        time,
        name: tables.names.add_text(task.name.unwrap_or(NO_NAME)),
        task_type: task.head.task_type,
        op_type: tables.names.add_text(task.op_type.unwrap_or(NO_NAME)),
        // The high half has another meaning.
        blocks: task.head.blocks.min(0xFFFF),
        flags: 0,
        dynamic: false,
    };
    tables.described_tasks.push(DescribedTask {
        thread,
        time,
        device: 0,
        stream,
        task: task.head.task,
        context: NO_CONTEXT,
        model: model.model,
        iteration: 0,
        kind: runtime_kind(task.head.task_type),
        node: Some(NodeRow::from_index(tables.nodes.len())),
        tensors: (!task.tensors.is_empty()).then(|| tables.tensor_sets.intern(&task.tensors)),
    });
    tables.nodes.push(node);
}
