//! Decodes a device directory.

use opscope_cann_raw::device::{AiCpuNode, AiCpuOld, CoreCounters, HwtsLog};
use opscope_cann_raw::host::level;
use opscope_cann_raw::launching::kind;
use opscope_cann_raw::{Chip, DeviceLog};
use opscope_columns::Column;

use crate::catalogue::Catalogue;
use crate::decode::stars::Edge;
use crate::decode::{
    blocks, cache, ccu, core_samples, decode, frequency, instructions, launching, links, monitors, nano,
    preparation, stars, track, traffic,
};
use crate::metadata::Metadata;
use crate::slices::{DEVICE_MAGIC, HOST_MAGIC, Stream};
use crate::tables::{
    AiCpu, AiCpuTable, Core, CounterTable, Counters, DeviceTables, DeviceTask, DeviceTaskTable, NO_CONTEXT,
    TaskLog, TaskStateTable, eight_counters,
};
use opscope_trace::{LossKind, Losses, NumberMap};

/// Streams have eleven bits in the records of chips 1 to 4.
const STREAMS: u32 = 2048;

/// Decodes everything that a device reported. `expanded` says whether the host announced expanded
/// stream and task numbers.
pub(crate) fn device_tables(catalogue: &Catalogue, metadata: &Metadata, expanded: bool) -> DeviceTables {
    let chip = metadata.chip();
    let mut tables = DeviceTables::default();
    let streams = |name| catalogue.streams(name);
    let mut edges = match chip.device_log() {
        DeviceLog::Stars => {
            let (edges, links) = stars::edges(streams("stars_soc.data"), expanded, &mut tables.losses);
            tables.samples.links = links;
            edges
        }
        DeviceLog::CompactStars => {
            let edges = stars::compact_edges(streams("stars_soc.data"), &mut tables.losses);
            tables.fused = stars::fused_parts(edges.fused, &mut tables.losses);
            tables.blocks = blocks::join(edges.blocks, &mut tables.losses);
            edges.tasks
        }
        DeviceLog::Hwts => {
            let mut edges = hwts(streams("hwts.data"), &mut tables.losses);
            edges.append(&mut hwts(streams("hwts.aiv_data"), &mut tables.losses));
            edges
        }
        DeviceLog::TaskScheduler | DeviceLog::NanoStars => Column::new(),
    };
    if chip == Chip::V1_1_0 {
        track::variable(streams("ts_track.data"), &mut tables);
        if !metadata.sample.sample_based {
            track::variable(streams("aicore.data"), &mut tables);
        }
        tables.tasks = timeline_tasks(&tables.states, &mut tables.losses);
    } else if chip.names_tasks_by_model() {
        nano::tasks(catalogue, metadata.sample.sample_based, &mut tables);
    } else {
        let mut track_edges = Column::new();
        track::fixed(streams("ts_track.data"), chip, &mut tables, &mut track_edges);
        // Only this chip leaves tasks on the AI CPU out of its log; elsewhere they would count twice.
        if chip == Chip::V2_1_0 {
            edges.append(&mut track_edges);
        }
        tables.tasks = pair(edges, &mut tables.losses);
        counters(catalogue, metadata, expanded, &mut tables);
    }
    tables.tasks.sort_by_key(|t, i| (t.start()[i], t.end()[i]));
    tables.flips.sort_by_key(|t, i| t.time()[i]);
    core_samples::decode_core_samples(catalogue, metadata, &mut tables);
    tables.ai_cpu = ai_cpu(catalogue, chip, expanded, &mut tables.losses);
    tables.launching = launching::launching(catalogue, chip, expanded, &mut tables.losses);
    tables.preparations = preparation::preparations(catalogue, &mut tables.losses);
    cache::decode_caches(catalogue, metadata, &mut tables);
    traffic::decode_samples(catalogue, metadata, &mut tables);
    if chip.has_wide_task_ids() {
        tables.ccu = ccu::units(catalogue, &mut tables.losses);
        tables.instructions = instructions::instructions(catalogue, metadata, &mut tables.losses);
    }
    if chip.device_log() == DeviceLog::Stars {
        tables.monitors = monitors::monitors(catalogue, metadata, &mut tables.losses);
    }
    links::decode_links(catalogue, chip, &mut tables.samples.links, &mut tables.losses);
    frequency::decode_power(catalogue, &mut tables);
    tables
}

/// How many tasks are put together before they go to their table.
const PAIRED_AT_ONCE: usize = 1 << 16;

/// Joins each start with the end that follows it.
///
/// An end earlier than its task's start is dropped, and so is a start whose end comes after the
/// next start of the same task.
fn pair(mut edges: Column<Edge>, losses: &mut Losses) -> DeviceTaskTable {
    if !edges.is_sorted_by_key(|edge| edge.time) {
        edges.sort_by_key(|edge| edge.time);
    }
    let (mut tasks, mut part) = (DeviceTaskTable::default(), DeviceTaskTable::default());
    let mut open: NumberMap<(u64, u64), Edge> = NumberMap::default();
    let mut unmatched = 0u64;
    for &edge in &edges {
        let key = (
            u64::from(edge.task) << 32 | u64::from(edge.context),
            u64::from(edge.stream) << 8 | edge.log as u64,
        );
        if !edge.is_end {
            unmatched += u64::from(open.insert(key, edge).is_some());
            continue;
        }
        match open.remove(&key) {
            Some(start) => part.push(DeviceTask {
                stream: start.stream,
                task: start.task,
                context: start.context,
                batch: 0,
                model: 0,
                log: start.log,
                kind: start.kind,
                start: start.time,
                end: edge.time,
            }),
            None => unmatched += 1,
        }
        if part.len() == PAIRED_AT_ONCE {
            tasks.append(&mut part);
        }
    }
    tasks.append(&mut part);
    losses.count(LossKind::UnmatchedTask, "device log", unmatched + open.len() as u64);
    tasks
}

/// Tasks of chip 0: from running to complete.
fn timeline_tasks(states: &TaskStateTable, losses: &mut Losses) -> DeviceTaskTable {
    const RUNNING: u16 = 2;
    const COMPLETE: u16 = 3;
    let edge = |row: crate::tables::TaskState| Edge {
        stream: row.stream,
        task: u32::from(row.task),
        context: NO_CONTEXT,
        log: TaskLog::Timeline,
        kind: row.kind,
        is_end: row.state == COMPLETE,
        time: row.time,
    };
    let edges = states.rows().filter(|row| matches!(row.state, RUNNING | COMPLETE)).map(edge).collect();
    pair(edges, losses)
}

/// Starts and ends of `hwts.data`.
fn hwts(streams: &[Stream], losses: &mut Losses) -> Column<Edge> {
    decode(streams, Some(DEVICE_MAGIC), losses, |edges: &mut Column<Edge>, raw: HwtsLog, _| {
        let is_end = match raw.tag & 0x07 {
            0 => false,
            1 => true,
            // Logs of the kind of task repeat what the start says.
            2 => return Ok(()),
            _ => return Err(LossKind::UnknownRecord),
        };
        edges.push(Edge {
            stream: (raw.stream % STREAMS) as u16,
            task: u32::from(raw.task),
            context: NO_CONTEXT,
            log: TaskLog::Hwts,
            kind: u16::from(raw.task_type),
            is_end,
            time: raw.time,
        });
        Ok(())
    })
}

/// Counters of tasks, and blocks.
fn counters(catalogue: &Catalogue, metadata: &Metadata, expanded: bool, tables: &mut DeviceTables) {
    let streams = |name| catalogue.streams(name);
    let chip = metadata.chip();
    if chip.device_log() == DeviceLog::Hwts {
        // Cores of each kind are sampled over time or counted by task.
        if !metadata.sample.sample_based {
            tables.counters = core_counters(streams("aicore.data"), Core::Cube, &mut tables.losses);
        }
        if !metadata.sample.vector_sample_based {
            let mut vector = core_counters(streams("aiVectorCore.data"), Core::Vector, &mut tables.losses);
            tables.counters.append(&mut vector);
        }
    } else if !metadata.sample.sample_based {
        let streams = streams("ffts_profile.data");
        if chip.has_wide_task_ids() {
            let (counters, blocks) = stars::wide_counters(streams, &mut tables.losses);
            tables.counters = counters;
            if !blocks.is_empty() {
                tables.blocks = blocks;
            }
        } else {
            tables.counters = stars::counters(streams, expanded, chip.splits_cores(), &mut tables.losses);
        }
    }
    if chip.has_wide_task_ids() {
        // The same blocks may be logged in three files; one is enough.
        let streams = catalogue.streams("stars_block.data");
        if tables.blocks.is_empty() {
            tables.blocks = blocks::blocks(streams, &mut tables.losses);
        }
    }
}

/// Counters of chips 1 to 4.
fn core_counters(streams: &[Stream], core: Core, losses: &mut Losses) -> CounterTable {
    decode(streams, Some(DEVICE_MAGIC), losses, |table: &mut CounterTable, raw: CoreCounters, _| {
        table.push(Counters {
            stream: (raw.stream % STREAMS) as u16,
            task: u32::from(raw.task),
            context: NO_CONTEXT,
            core,
            mixed: false,
            block: false,
            cycles: raw.cycles,
            counters: eight_counters(raw.counters),
            start: 0,
            end: 0,
            blocks: 0,
        });
        Ok(())
    })
}

/// Operators on the device's general processors, in both forms.
fn ai_cpu(catalogue: &Catalogue, chip: Chip, expanded: bool, losses: &mut Losses) -> AiCpuTable {
    let mut table: AiCpuTable = decode(
        catalogue.streams("aicpu.data"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut AiCpuTable, raw: AiCpuNode, _| {
            match (raw.head.level, raw.head.kind) {
                (level::AICPU, kind::NODE) => {}
                // Shown in tables of their own.
                (level::AICPU, kind::PREPARATION) => return Ok(()),
                (level::AICPU, own) if launching::is_own(own) => return Ok(()),
                _ => return Err(LossKind::UnknownRecord),
            }
            let (stream, task) = match chip.has_wide_task_ids() {
                true => (raw.stream, raw.task),
                false => stars::numbers(raw.stream, raw.task, expanded, None),
            };
            table.push(AiCpu {
                stream,
                task,
                start: raw.run_start_tick,
                end: raw.run_end_tick,
                compute: raw.copy_start.saturating_sub(raw.compute_start),
                copy: raw.copy_end.saturating_sub(raw.copy_start),
                dispatch: raw.dispatch,
                total: raw.tick_after.saturating_sub(raw.submit_tick),
                old: false,
            });
            Ok(())
        },
    );
    let mut old: AiCpuTable = decode(
        catalogue.streams("DATA_PREPROCESS.AICPU"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut AiCpuTable, raw: AiCpuOld, _| {
            const NODE_TAG: u16 = 60;
            if raw.tag != NODE_TAG {
                return Err(LossKind::UnknownRecord);
            }
            table.push(AiCpu {
                stream: raw.stream,
                task: raw.task,
                start: raw.run_start_tick,
                end: raw.run_end_tick,
                compute: raw.copy_start.saturating_sub(raw.compute_start),
                copy: raw.copy_end.saturating_sub(raw.copy_start),
                dispatch: raw.dispatch,
                total: raw.tick_after.saturating_sub(raw.submit_tick),
                old: true,
            });
            Ok(())
        },
    );
    table.append(&mut old);
    table
}
