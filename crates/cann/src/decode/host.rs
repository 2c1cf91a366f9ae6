//! Decodes a host directory.

use opscope_cann_raw::additional::{GraphIdMap, LogicStreamInfo, StaticOpMem, TaskMemoryInfo};
use opscope_cann_raw::host::{ExpandStreamSpec, Head, level};
use opscope_formats::reading::Stop;

use crate::catalogue::Catalogue;
use crate::decode::host_usage::host_samples;
use crate::decode::system::{System, decode_system};
use crate::decode::{
    LegacySource, api, capture, ccu, communication, decode, dpu, legacy, nano, nodes, os_calls, tasks, tx,
};
use crate::kinds::USUAL_RUNTIME_NAMES;
use crate::metadata::Metadata;
use crate::names::Names;
use crate::parallel;
use crate::slices::HOST_MAGIC;
use crate::tables::{
    ApiTable, HostTables, LogicStream, LogicStreamTable, Model, ModelTable, StaticMemory, StaticMemoryTable,
    TaskMemory, TaskMemoryTable, TaskTrackTable, Tx, TxTable,
};
use opscope_trace::{LossKind, Losses, NumberSet};

/// Decodes everything that the host-side libraries reported; `old` are the directories that may
/// hold files of the tool chain of 2022.
pub(crate) fn host_tables(
    catalogue: &Catalogue,
    metadata: &Metadata,
    old: &[LegacySource<'_>],
) -> HostTables {
    let chip = metadata.chip();
    let mut tables = HostTables::default();
    tables.names = Names::read(catalogue, &mut tables.losses);
    let streams = |name| catalogue.streams(name);
    let names = &tables.names;
    // Each stream is decoded on all cores; several at a time keep them busy while results are sorted.
    let ((api, api_losses), (rest, losses)) = parallel::join(
        || {
            let mut losses = Losses::default();
            (api::calls(streams("api_event.data"), &mut losses), losses)
        },
        || {
            let mut losses = Losses::default();
            let tensors = nodes::tensors(streams("additional.tensor_info"), &mut losses);
            let nodes = nodes::nodes(streams("compact.node_basic_info"), &mut losses);
            let tracks = tasks::task_tracks(streams("compact.task_track"), names, chip, &mut losses);
            ((tensors, nodes, tracks), losses)
        },
    );
    let ((node_tensors, tensor_sets), nodes, tracks) = rest;
    tables.api = api;
    (tables.task_tracks, tables.extents, tables.flips) = (tracks.tasks, tracks.extents, tracks.flips);
    (tables.node_tensors, tables.tensor_sets, tables.nodes) = (node_tensors, tensor_sets, nodes);
    tables.losses.merge(api_losses);
    tables.losses.merge(losses);
    nodes::contexts(streams("additional.context_id_info"), &mut tables);
    nodes::fusions(streams("additional.fusion_op_info"), &mut tables);
    tx::ranges(streams("additional.msproftx"), &mut tables);
    communication::decode_communication(catalogue, &mut tables);
    small_streams(catalogue, &mut tables);
    capture::captures(catalogue, &mut tables);
    pass_over_repetitions(catalogue);
    tables.dpu = dpu::units(catalogue, tracks.dpu_kernels, &mut tables.losses);
    if chip.has_wide_task_ids() {
        tables.ccu = ccu::notes(catalogue, &mut tables.losses);
    }
    legacy::add(old, &mut tables);
    if chip.names_tasks_by_model() {
        nano::describe_tasks(catalogue, &mut tables);
    }
    tables.samples = host_samples(catalogue, metadata, &mut tables.losses);
    tables.os_calls = os_calls::os_calls(catalogue, metadata, &mut tables.losses);
    tables.system = decode_system(catalogue, System::Host, &mut tables.losses);
    name_everything(&mut tables, catalogue.stop());
    tables
}

/// Marks streams as read that repeat others with wider numbers: the runtime writes a record into both
/// (`Profiler::ReportTrackDataV2` and `CaptureModel::ReportSingleCaptureStreamInfo` of its open source).
fn pass_over_repetitions(catalogue: &Catalogue) {
    const REPEATED: [(&str, &str); 2] = [
        ("compact.task_track", "compact.task_track_v2"),
        ("compact.capture_stream_info", "compact.capture_stream_info_v2"),
    ];
    for (_, wider) in REPEATED.iter().filter(|(stream, _)| catalogue.has(stream)) {
        catalogue.streams(wider);
    }
}

/// Streams that never hold many records.
fn small_streams(catalogue: &Catalogue, tables: &mut HostTables) {
    let streams = |name| catalogue.streams(name);
    let losses = &mut tables.losses;
    tables.node_attributes = nodes::attributes(streams("compact.node_attr_info"), losses);
    tables.memcpys = tasks::memcpys(streams("compact.memcpy_info"), losses);
    tables.models = decode(
        streams("additional.graph_id_map"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut ModelTable, raw: GraphIdMap, _| {
            table.push(Model { model: raw.model, graph: raw.graph, name: raw.name });
            Ok(())
        },
    );
    tables.task_memory = decode(
        streams("additional.task_memory_info"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut TaskMemoryTable, raw: TaskMemoryInfo, _| {
            let TaskMemoryInfo { head, address, size, node, total_allocated, total_reserved, device, .. } =
                raw;
            let Head { time, thread, .. } = head;
            table.push(TaskMemory {
                thread,
                time,
                node,
                address,
                size,
                total_allocated,
                total_reserved,
                device,
            });
            Ok(())
        },
    );
    tables.static_memory = decode(
        streams("additional.static_op_mem"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut StaticMemoryTable, raw: StaticOpMem, _| {
            let StaticOpMem {
                size, name, life_start, life_end, total_allocated, dynamic_name, graph, ..
            } = raw;
            table.push(StaticMemory {
                name,
                dynamic_name,
                size,
                life_start,
                life_end,
                total_allocated,
                graph,
            });
            Ok(())
        },
    );
    tables.logic_streams = decode(
        streams("additional.logic_stream_info"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut LogicStreamTable, raw: LogicStreamInfo, _| {
            let used = raw.physical.get(..raw.count as usize).ok_or(LossKind::InvalidRecord)?;
            used.iter().for_each(|&physical| table.push(LogicStream { logical: raw.logical, physical }));
            Ok(())
        },
    );
}

/// Whether the host announced stream and task numbers of the expanded form.
pub(crate) fn has_expanded_streams(catalogue: &Catalogue, losses: &mut Losses) -> bool {
    let streams = catalogue.streams("compact.expand_stream_spec");
    let specs: Vec<ExpandStreamSpec> = decode(streams, Some(HOST_MAGIC), losses, nodes::keep);
    specs.iter().any(|spec| spec.expanded == 1)
}

/// Gives marks of unknown domains one that is called so, as the vendor's tool does.
fn name_domains(names: &mut Names, tx: &mut TxTable, losses: &mut Losses) {
    let is_unknown = |row: &usize| tx.mstx()[*row] && names.get(tx.domain()[*row]).is_none();
    let unknown: Vec<usize> = (0..tx.len()).filter(is_unknown).collect();
    losses.count(LossKind::UnnamedHash, "additional.msproftx", unknown.len() as u64);
    if unknown.is_empty() {
        return;
    }
    let domain = names.add_text(b"invalid");
    unknown.into_iter().for_each(|row| tx.replace(row, Tx { domain, ..tx.row(row) }));
}

/// Gives every type of calls and tasks a name.
fn name_types(names: &mut Names, api: &ApiTable, task_tracks: &TaskTrackTable, stop: &Stop) {
    // There are few types among millions of calls.
    let of_calls = parallel::column(api.len(), |rows, types| {
        if stop.is_wanted() {
            return;
        }
        let all = api.level()[rows.clone()].iter().copied().zip(api.kind()[rows].iter().copied());
        types.extend(all.collect::<NumberSet<(u16, u32)>>());
    });
    names.name_unknown_types(of_calls.into_iter());
    let kinds: NumberSet<u32> = stop.within(task_tracks.kind()).copied().collect();
    let is_unusual = |kind: &u32| USUAL_RUNTIME_NAMES.iter().all(|(usual, _)| usual != kind);
    names.name_unknown_types(kinds.into_iter().filter(is_unusual).map(|kind| (level::RUNTIME, kind)));
}

/// Gives every hash that is used a name, so that looking one up can't fail later; not all of them where `stop`
/// is wanted.
fn name_everything(tables: &mut HostTables, stop: &Stop) {
    let HostTables {
        names,
        losses,
        nodes,
        node_attributes,
        task_tracks,
        fusions,
        models,
        tx,
        static_memory,
        communication_notes,
        collective_notes,
        group_streams,
        dpu,
        api,
        ..
    } = tables;
    name_domains(names, tx, losses);
    let of_nodes = nodes.name().iter().chain(nodes.op_type()).chain(node_attributes.value());
    names.name_unknown(stop.within(of_nodes.copied()), losses, "compact.node_basic_info");
    names.name_unknown(stop.within(task_tracks.kernel().iter().copied()), losses, "compact.task_track");
    let of_fusions = fusions.name().iter().chain(&tables.originals);
    names.name_unknown(stop.within(of_fusions.copied()), losses, "additional.fusion_op_info");
    let of_memory = static_memory.name().iter().chain(static_memory.dynamic_name());
    names.name_unknown(of_memory.copied().filter(|name| *name != 0), losses, "additional.static_op_mem");
    let of_steps = communication_notes.name().iter().chain(communication_notes.group());
    names.name_unknown(stop.within(of_steps.copied()), losses, "additional.hccl_info");
    let of_collectives = collective_notes.algorithm().iter().chain(collective_notes.group());
    names.name_unknown(of_collectives.copied(), losses, "compact.hccl_op_info");
    names.name_unknown(group_streams.group().iter().copied(), losses, "additional.mc2_comm_info");
    let of_kernels = dpu.kernels.kernel().iter().copied().filter(|name| *name != 0);
    names.name_unknown(of_kernels, losses, "compact.task_track");
    let of_steps = dpu.steps.name().iter().chain(dpu.steps.group());
    names.name_unknown(of_steps.copied(), losses, "additional.dpu_hccl_info");
    let is_step = |row: &usize| api.level()[*row] == level::COMMUNICATION;
    let of_calls = stop.within(0..api.len()).filter(is_step).map(|row| api.item()[row]);
    names.name_unknown(of_calls, losses, "api_event.data");
    name_types(names, api, task_tracks, stop);
    names.name_unknown(models.name().iter().copied(), losses, "additional.graph_id_map");
}
