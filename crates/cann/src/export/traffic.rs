//! `ddr`, `llc_read_write`, `pcie` and `hccs`: traffic of memories, caches and links.
//!
//! What the tables sum up is also drawn over time, so each kind of traffic has a function with its
//! rates and a table made of them.

use std::collections::BTreeMap;

use opscope_cann_raw::Chip;

use crate::export::sheet::{Row, Sheet};
use crate::export::view::{DeviceView, View};
use crate::numbers::{python_round, sqlite_round};
use crate::tables::PcieSample;

const MEGABYTE: f64 = 1_048_576.0;

/// Traffic in both directions at one time, in MB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    /// Read or sent.
    pub(crate) out: f64,
    /// Written or received.
    pub(crate) back: f64,
}

/// The traffic of a device's DDR memory, all controllers together.
pub(crate) fn ddr_rates(device: &DeviceView<'_>) -> Vec<Rates> {
    let samples = &device.device.tables.samples;
    let metadata = &device.device.metadata;
    // The width of the memory's bus in bytes.
    let width = match metadata.chip() {
        Chip::V2_1_0 | Chip::V3_1_0 | Chip::V3_2_0 | Chip::V3_3_0 => 32.0,
        _ => 16.0,
    };
    let mut by_time: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for row in samples.ddr.rows() {
        let sum = &mut by_time.entry(row.time).or_default()[usize::from(row.event != 0)];
        *sum = sum.saturating_add(row.count);
    }
    let clock = metadata.sample_clock();
    let mut before = 0;
    let rates = by_time.into_iter().map(|(time, counts)| {
        let seconds = (time - before) as f64 / 1e6;
        before = time;
        let [out, back] =
            counts.map(|count| if seconds > 0.0 { count as f64 * width / (seconds * MEGABYTE) } else { 0.0 });
        Rates { time: clock.local(time), out, back }
    });
    rates.collect()
}

/// The table of the DDR memory's traffic.
pub(crate) fn ddr<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let of_device = |device: &DeviceView<'_>| {
        let rates = ddr_rates(device);
        let mean = |value: fn(&Rates) -> f64| rates.iter().map(value).sum::<f64>() / rates.len() as f64;
        (!rates.is_empty()).then(|| (device.device.id, mean(|rate| rate.out), mean(|rate| rate.back)))
    };
    let lines: Vec<(u32, f64, f64)> = view.devices.iter().filter_map(of_device).collect();
    let headers = ["Device_id", "Metric", "Read(MB/s)", "Write(MB/s)"];
    (!lines.is_empty()).then(|| Sheet {
        kind: "ddr",
        headers: headers.map(str::to_owned).to_vec(),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, out, back) = lines[index];
            row.integer(device);
            row.text("Average");
            row.float(python_round(out, 3));
            row.float(python_round(back, 3));
        }),
    })
}

/// Use of one part of the last-level cache at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheUse {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    /// The part.
    pub(crate) id: u32,
    /// Hits per access; the reference's own formula, which may exceed 1.
    pub(crate) hit_rate: f64,
    /// MB/s.
    pub(crate) throughput: f64,
}

/// The events that are counted when reading and when writing, in the order of the formulas.
const READ_EVENTS: [u32; 8] = [0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36];
const WRITE_EVENTS: [u32; 8] = [0x00, 0x01, 0x03, 0x14, 0x21, 0x23, 0x35, 0x37];

/// The use of a device's last-level cache, by part and time.
pub(crate) fn cache_use(device: &DeviceView<'_>) -> Vec<CacheUse> {
    let metadata = &device.device.metadata;
    let events = match metadata.sample.llc.as_str() {
        "read" => READ_EVENTS,
        "write" => WRITE_EVENTS,
        _ => return Vec::new(),
    };
    let parts = match metadata.chip() {
        Chip::V1_1_1 | Chip::V1_1_2 | Chip::V1_1_3 => 1,
        Chip::V4_1_0 => 2,
        _ => 4,
    };
    let samples = &device.device.tables.samples;
    let mut counts: BTreeMap<(u32, u64), [u64; 8]> = BTreeMap::new();
    for row in samples.llc.rows().filter(|row| row.id < parts) {
        if let Some(place) = events.iter().position(|event| *event == row.event) {
            counts.entry((row.id, row.time)).or_default()[place] = row.count;
        }
    }
    let clock = metadata.sample_clock();
    let mut before: Option<(u32, i64)> = None;
    let uses = counts.into_iter().map(|((id, time), counts)| {
        let time = if samples.absolute { time as i64 } else { clock.local(time) };
        let elapsed = before.filter(|(part, _)| *part == id).map(|(_, earlier)| time - earlier);
        before = Some((id, time));
        let sum = |places: &[usize]| places.iter().map(|place| counts[*place] as f64).sum::<f64>();
        let (hits, accesses) = (sum(&[2, 3, 5, 7]), sum(&[4, 6]));
        // A line has 64 bytes, and one of 64 accesses is counted.
        let bytes = sum(&[0, 1]) * 64.0 * 64.0;
        let hit_rate = if accesses == 0.0 { 0.0 } else { hits / accesses };
        let throughput = match elapsed {
            Some(elapsed) if elapsed > 0 => bytes / MEGABYTE / (elapsed as f64 / 1e9),
            _ => 0.0,
        };
        CacheUse { time, id, hit_rate: python_round(hit_rate, 3), throughput: python_round(throughput, 3) }
    });
    uses.collect()
}

/// The table of the last-level cache's use.
pub(crate) fn llc<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<(&DeviceView<'_>, Option<u32>, [f64; 2])> = Vec::new();
    for device in &view.devices {
        let mut means: Vec<(u32, [f64; 2])> = Vec::new();
        for part in cache_use(device).chunk_by(|a, b| a.id == b.id) {
            let mean = |value: fn(&CacheUse) -> f64| {
                python_round(part.iter().map(value).sum::<f64>() / part.len() as f64, 6)
            };
            means.push((part[0].id, [mean(|row| row.hit_rate) * 100.0, mean(|row| row.throughput)]));
        }
        if means.is_empty() {
            continue;
        }
        let average =
            [0, 1].map(|side| means.iter().map(|(_, mean)| mean[side]).sum::<f64>() / means.len() as f64);
        lines.push((device, None, average));
        lines.extend(means.into_iter().map(|(id, mean)| (device, Some(id), mean)));
    }
    let headers = ["Device_id", "Mode", "Task", "Hit Rate(%)", "Throughput(MB/s)"];
    (!lines.is_empty()).then(|| Sheet {
        kind: "llc_read_write",
        headers: headers.map(str::to_owned).to_vec(),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, part, values) = &lines[index];
            row.integer(device.device.id);
            row.text(&device.device.metadata.sample.llc);
            match part {
                Some(part) => row.integer(*part),
                None => row.text("Average"),
            }
            values.iter().for_each(|value| row.float(python_round(*value, 3)));
        }),
    })
}

/// What stands for a smallest value that wasn't measured.
const NO_MINIMUM: u32 = 0xF_FFFF;

/// The kinds of traffic over PCIe, in the order of the table; the first is that of posted writes.
const PCIE_MODES: [&str; 7] = [
    "Tx_p_avg(MB/s)",
    "Tx_np_avg(MB/s)",
    "Tx_cpl_avg(MB/s)",
    "Tx_latency_avg(us)",
    "Rx_p_avg(MB/s)",
    "Rx_np_avg(MB/s)",
    "Rx_cpl_avg(MB/s)",
];

/// The place of the latency in [`PCIE_MODES`].
pub(crate) const PCIE_LATENCY: usize = 3;

/// The samples of PCIe that hold a measurement.
pub(crate) fn pcie_samples(device: &DeviceView<'_>) -> impl Iterator<Item = PcieSample> {
    let rows = device.device.tables.samples.pcie.rows();
    rows.filter(|row| row.values[0][1] >= row.values[0][0])
}

/// A value of a kind of traffic over PCIe in the table's unit: MB/s, or microseconds for latencies.
pub(crate) fn pcie_value(mode: usize, value: f64) -> f64 {
    if mode == PCIE_LATENCY { value / 1_000.0 } else { value * (1e6 / 1_024.0 / 1_024.0) }
}

/// Smallest, largest and average value of each kind of traffic over PCIe: those of the last sample
/// on chips that add up themselves, else the means of all.
fn pcie_summary(device: &DeviceView<'_>) -> Option<[[f64; 3]; 7]> {
    if device.device.metadata.chip() == Chip::V4_1_0 {
        let last = device.device.tables.samples.pcie.rows().max_by_key(|row| row.time)?;
        return Some(last.values.map(|kind| kind.map(f64::from)));
    }
    let samples: Vec<PcieSample> = pcie_samples(device).collect();
    let mean = |mode: usize, value: usize| {
        let sum: f64 = samples.iter().map(|sample| f64::from(sample.values[mode][value])).sum();
        python_round(sum / samples.len() as f64, 6)
    };
    (!samples.is_empty()).then(|| std::array::from_fn(|mode| std::array::from_fn(|value| mean(mode, value))))
}

/// The table of the traffic over PCIe.
pub(crate) fn pcie<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let of_device = |device: &DeviceView<'_>| pcie_summary(device).map(|summary| (device.device.id, summary));
    let devices: Vec<(u32, [[f64; 3]; 7])> = view.devices.iter().filter_map(of_device).collect();
    (!devices.is_empty()).then(|| Sheet {
        kind: "pcie",
        headers: ["Device_id", "Mode", "Min", "Max", "Avg"].map(str::to_owned).to_vec(),
        rows: devices.len() * PCIE_MODES.len(),
        write: Box::new(move |index, row| {
            let (device, summary) = &devices[index / PCIE_MODES.len()];
            let mode = index % PCIE_MODES.len();
            let [minimum, maximum, mean] = summary[mode];
            let minimum = if minimum == f64::from(NO_MINIMUM) { 0.0 } else { minimum };
            row.integer(*device);
            row.text(PCIE_MODES[mode]);
            [minimum, maximum, mean]
                .into_iter()
                .for_each(|value| row.float(python_round(pcie_value(mode, value), 3)));
        }),
    })
}

/// The traffic of a device over HCCS since the sample before. Samples after which a counter started
/// again are left out.
pub(crate) fn hccs_rates(device: &DeviceView<'_>) -> Vec<Rates> {
    let mut samples: Vec<_> = device.device.tables.samples.hccs.rows().collect();
    samples.sort_by_key(|sample| sample.time);
    let clock = device.device.metadata.sample_clock();
    let between = |pair: &[crate::tables::HccsSample]| {
        let seconds = (pair[1].time - pair[0].time) as f64 / 1e9;
        let rate = |bytes: u64| {
            if seconds > 0.0 { python_round(bytes as f64 / seconds / MEGABYTE, 3) } else { 0.0 }
        };
        let sent = pair[1].sent.checked_sub(pair[0].sent)?;
        let received = pair[1].received.checked_sub(pair[0].received)?;
        let time = clock.local_of_device(pair[1].time);
        Some(Rates { time, out: rate(sent), back: rate(received) })
    };
    samples.windows(2).filter_map(between).collect()
}

/// The table of the traffic over HCCS.
pub(crate) fn hccs<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let of_device = |device: &DeviceView<'_>| {
        let rates = hccs_rates(device);
        (!rates.is_empty()).then_some((device.device.id, rates))
    };
    let devices: Vec<(u32, Vec<Rates>)> = view.devices.iter().filter_map(of_device).collect();
    (!devices.is_empty()).then(|| Sheet {
        kind: "hccs",
        headers: ["Device_id", "Mode", "Max", "Min", "Average"].map(str::to_owned).to_vec(),
        rows: devices.len() * 2,
        write: Box::new(move |index, row| {
            let (device, rates) = &devices[index / 2];
            row.integer(*device);
            let is_sent = index % 2 == 0;
            row.text(if is_sent { "Tx (MB/s)" } else { "Rx (MB/s)" });
            let values = rates.iter().map(|rate| if is_sent { rate.out } else { rate.back });
            extremes_and_mean(row, values);
        }),
    })
}

/// Writes the largest, the smallest and the mean of some values.
fn extremes_and_mean(row: &mut Row<'_>, values: impl Iterator<Item = f64> + Clone) {
    let count = values.clone().count() as f64;
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let smallest = values.clone().fold(f64::INFINITY, f64::min);
    let mean = values.sum::<f64>() / count;
    [largest, smallest, mean].into_iter().for_each(|value| row.float(sqlite_round(value)));
}
