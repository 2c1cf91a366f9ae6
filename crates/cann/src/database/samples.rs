//! `AICORE_FREQ`, `NPU_MEM`, `NPU_MODULE_MEM` and `NPU_OP_MEM`: the cores' frequency and memory in use.

use std::io::{self, Seek, Write};

use opscope_cann_raw::Chip;

use crate::database::calls::global_thread;
use crate::database::output::Output;
use crate::database::schema;
use crate::database::traffic::collect;
use crate::facts::links::die_frequencies;
use crate::facts::view::{DeviceView, View};
use crate::tables::NpuMemory;

/// Writes the tables of what was sampled; a table without rows is left out.
pub(super) fn write<'a, W: Write + Seek + Send>(
    view: &'a View<'a>,
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    write_frequencies(view, out)?;
    write_memory(view, out)?;
    write_module_memory(view, out)?;
    write_op_memory(view, out)
}

/// The begin of the collection on a device.
pub(super) fn begin(device: &DeviceView<'_>) -> i64 {
    device.device.metadata.session.begin.unwrap_or(i64::MIN)
}

fn write_frequencies<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    if view.joined.data.chip().has_wide_task_ids() {
        return write_die_frequencies(view, out);
    }
    if !matches!(view.joined.data.chip(), Chip::V4_1_0 | Chip::V1_1_1) {
        return Ok(());
    }
    let mut rows: Vec<(u32, i64, u32)> = Vec::new();
    for device in &view.devices {
        rows.extend(frequencies(device).into_iter().map(|(time, mhz)| (device.device.id, time, mhz)));
    }
    if rows.is_empty() {
        return Ok(());
    }
    out.table(&schema::AICORE_FREQ, rows.len(), |index, row| {
        let (device, time, megahertz) = rows[index];
        row.integer(i64::from(device));
        row.integer(time);
        row.integer(i64::from(megahertz));
        row.integer(-1);
    })
}

fn write_die_frequencies<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let rows = collect(view, die_frequencies, |(time, _)| *time);
    if rows.is_empty() {
        return Ok(());
    }
    out.table(&schema::AICORE_FREQ, rows.len(), |index, row| {
        let (device, (time, sample)) = rows[index];
        row.integer(i64::from(device));
        row.integer(time);
        row.integer(i64::from(sample.megahertz));
        row.integer(i64::from(sample.die));
    })
}

/// The AI cores' frequency from the collection's begin to its end. Of changes before the begin, only
/// the last counts.
fn frequencies(device: &DeviceView<'_>) -> Vec<(i64, u32)> {
    let session = &device.device.metadata.session;
    let Some(begin) = session.begin else { return Vec::new() };
    let clock = &device.device.clock;
    let changes = device.device.tables.samples.frequency.rows();
    let mut changes: Vec<(i64, u32)> =
        changes.map(|change| (clock.local(change.time), change.value)).collect();
    changes.sort_by_key(|(time, _)| *time);
    let before = changes.partition_point(|(time, _)| *time < begin);
    let default = device.device.metadata.info.core_mhz.unwrap_or(0.0) as u32;
    let first = changes[..before].last().map_or(default, |(_, megahertz)| *megahertz);
    let last = changes.last().map_or(default, |(_, megahertz)| *megahertz);
    let mut all = vec![(begin, first)];
    all.extend_from_slice(&changes[before..]);
    all.extend(session.end.map(|end| (end, last)));
    all
}

fn write_memory<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let mut rows: Vec<(u32, i64, NpuMemory)> = Vec::new();
    for device in &view.devices {
        let clock = device.device.metadata.sample_clock();
        let samples = device.device.tables.samples.npu_memory.rows();
        let timed = samples.map(|sample| (device.device.id, clock.local(sample.time), sample));
        rows.extend(timed.filter(|(_, time, _)| *time >= begin(device)));
    }
    if rows.is_empty() {
        return Ok(());
    }
    let scopes = ["app", "device"].map(|scope| out.strings.add(scope));
    out.table(&schema::NPU_MEM, rows.len(), |index, row| {
        let (device, time, sample) = rows[index];
        row.integer(scopes.get(sample.scope as usize).map_or(i64::from(sample.scope), |id| i64::from(*id)));
        row.integer(sample.ddr as i64);
        row.integer(sample.hbm as i64);
        row.integer(time);
        row.integer(i64::from(device));
    })
}

/// Writes what modules reserved; those records carry the host's counter.
fn write_module_memory<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let clock = &view.joined.data.host_clock;
    let samples = view.devices.iter().flat_map(|device| {
        let samples = device.device.tables.samples.npu_module_memory.rows();
        samples.map(move |sample| (device.device.id, sample))
    });
    let rows: Vec<_> = samples.collect();
    if rows.is_empty() {
        return Ok(());
    }
    out.table(&schema::NPU_MODULE_MEM, rows.len(), |index, row| {
        let (device, sample) = rows[index];
        row.integer(i64::from(sample.module));
        row.integer(clock.local(sample.time));
        row.integer(sample.total as i64);
        row.integer(i64::from(device));
    })
}

fn write_op_memory<'a, W: Write + Seek + Send>(
    view: &'a View<'a>,
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    let host = &view.joined.data.host;
    let clock = &view.joined.data.host_clock;
    let begin = view.begin();
    let mut rows = Vec::new();
    for sample in host.task_memory.rows().filter(|sample| clock.local(sample.time) >= begin) {
        rows.push((sample, out.strings.add(view.text(sample.node))));
    }
    if rows.is_empty() {
        return Ok(());
    }
    let [release, allocate, component] = ["release", "allocate", "GE"].map(|text| out.strings.add(text));
    let pid = view.joined.data.pid();
    out.table(&schema::NPU_OP_MEM, rows.len(), |index, row| {
        let (sample, name) = &rows[index];
        row.integer(i64::from(*name));
        row.integer(sample.address as i64);
        row.integer(i64::from(if sample.size < 0 { release } else { allocate }));
        row.integer(sample.size.saturating_abs());
        row.integer(clock.local(sample.time));
        row.integer(global_thread(pid, sample.thread));
        row.integer(sample.total_allocated as i64);
        row.integer(sample.total_reserved as i64);
        row.integer(i64::from(component));
        row.integer(i64::from(sample.device));
    })
}
