//! `npu_mem` and `hbm`: memory in use, and its traffic.

use std::collections::BTreeMap;

use crate::export::sheet::Sheet;
use crate::export::view::{DeviceView, View};
use crate::metrics::Dialect;
use crate::numbers;
use crate::tables::{NpuMemory, Traffic};

/// The table of memory in use, or `None` if it wasn't sampled.
pub(crate) fn npu_mem<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let lines: Vec<(usize, NpuMemory)> = view
        .devices
        .iter()
        .enumerate()
        .flat_map(|(number, device)| {
            device.device.tables.samples.npu_memory.rows().map(move |row| (number, row))
        })
        .collect();
    let headers = ["Device_id", "event", "ddr(KB)", "hbm(KB)", "memory(KB)", "timestamp(us)"];
    let accelerated = view.dialect == Dialect::Accelerated;
    (!lines.is_empty()).then(|| Sheet {
        kind: "npu_mem",
        headers: headers.map(str::to_owned).to_vec(),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (number, sample) = lines[index];
            let device = &view.devices[number];
            row.integer(device.device.id);
            row.text(scope_name(sample.scope));
            for bytes in [sample.ddr, sample.hbm, sample.ddr.saturating_add(sample.hbm)] {
                if accelerated { row.integer(bytes / 1_024) } else { row.float(bytes as f64 / 1_024.0) }
            }
            row.time(device.device.metadata.sample_clock().local(sample.time));
        }),
    })
}

/// Whose memory a sample counts.
pub(crate) fn scope_name(scope: u32) -> &'static str {
    match scope {
        0 => "APP",
        1 => "Device",
        _ => "UNKNOWN",
    }
}

/// A sample of an HBM's traffic in MB/s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HbmRate {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    pub(crate) id: u32,
    pub(crate) is_read: bool,
    pub(crate) rate: f64,
}

/// The traffic of a device's HBMs, by time, direction and HBM.
///
/// A transfer is 32 bytes. The reference takes the time since the sample eight places before (four
/// if only one direction was sampled), which is the sample before on chips with four HBMs; the
/// first ones have no such sample and count as zero.
pub(crate) fn hbm_rates(device: &DeviceView<'_>) -> Vec<HbmRate> {
    const MEGABYTES: f64 = 32.0 / 1_048_576.0;
    let samples = &device.device.tables.samples;
    let clock = device.device.metadata.sample_clock();
    let time = |ticks: u64| if samples.absolute { ticks as i64 } else { clock.local(ticks) };
    let mut rows: Vec<Traffic> = samples.hbm.rows().collect();
    rows.sort_by_key(|row| (row.time, row.event != 0, row.id));
    rows.dedup_by_key(|row| (row.time, row.event != 0, row.id));
    let has = |read: bool| rows.iter().any(|row| (row.event == 0) == read);
    let before = if has(true) && has(false) { 8 } else { 4 };
    if rows.len() < before {
        return Vec::new();
    }
    let rate = |index: usize| {
        let row = rows[index];
        let seconds = index.checked_sub(before).map(|b| (time(row.time) - time(rows[b].time)) as f64 / 1e9);
        let rate = match seconds {
            Some(seconds) if seconds > 0.0 => row.count as f64 * MEGABYTES / seconds,
            Some(_) => row.count as f64,
            None => 0.0,
        };
        HbmRate { time: time(row.time), id: row.id, is_read: row.event == 0, rate }
    };
    (0..rows.len()).map(rate).collect()
}

/// One row: the device, the HBM (or the average), and its two rates.
type Line = (u32, Option<u32>, [f64; 2]);

/// The table of the HBMs' traffic, or `None` if it wasn't sampled.
pub(crate) fn hbm<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    for device in &view.devices {
        let mut by_id: BTreeMap<u32, [(f64, u32); 2]> = BTreeMap::new();
        for rate in hbm_rates(device) {
            let (sum, count) = &mut by_id.entry(rate.id).or_default()[usize::from(!rate.is_read)];
            *sum += rate.rate;
            *count += 1;
        }
        let means: Vec<(u32, [f64; 2])> = by_id
            .into_iter()
            .map(|(id, sums)| (id, sums.map(|(sum, count)| sum / f64::from(count.max(1)))))
            .collect();
        if means.is_empty() {
            continue;
        }
        let average =
            [0, 1].map(|side| means.iter().map(|(_, rates)| rates[side]).sum::<f64>() / means.len() as f64);
        lines.push((device.device.id, None, average));
        lines.extend(means.into_iter().map(|(id, rates)| (device.device.id, Some(id), rates)));
    }
    let headers = ["Device_id", "Metric", "Read(MB/s)", "Write(MB/s)"];
    (!lines.is_empty()).then(|| Sheet {
        kind: "hbm",
        headers: headers.map(str::to_owned).to_vec(),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, id, rates) = &lines[index];
            row.integer(*device);
            match id {
                Some(id) => row.integer(*id),
                None => {
                    row.text("Average");
                    let number = |rate: &f64| format!("{rate:.3}");
                    return rates.iter().for_each(|rate| row.text(&number(rate)));
                }
            }
            rates.iter().for_each(|rate| row.float(numbers::python_round(*rate, 3)));
        }),
    })
}
