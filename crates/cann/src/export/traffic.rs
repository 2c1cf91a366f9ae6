//! `ddr`, `llc_read_write`, `pcie` and `hccs`: traffic of memories, caches and links.

use opscope_cann_raw::Chip;

use crate::export::sheet::{Row, Sheet};
use crate::facts::rates::{CacheUse, Rates, cache_use, ddr_rates, hccs_rates, pcie_samples, pcie_value};
use crate::facts::view::{DeviceView, View};
use crate::headings::{memory_traffic, owned, written};
use crate::tables::PcieSample;
use crate::text::numbers::{python_round, sqlite_round};

/// The table of the DDR memory's traffic.
pub(crate) fn ddr<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let of_device = |device: &DeviceView<'_>| {
        let rates = ddr_rates(device);
        let mean = |value: fn(&Rates) -> f64| rates.iter().map(value).sum::<f64>() / rates.len() as f64;
        (!rates.is_empty()).then(|| (device.device.id, mean(|rate| rate.out), mean(|rate| rate.back)))
    };
    let lines: Vec<(u32, f64, f64)> = view.devices.iter().filter_map(of_device).collect();
    (!lines.is_empty()).then(|| Sheet {
        kind: "ddr",
        headers: owned(memory_traffic::ALL),
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
    (!lines.is_empty()).then(|| Sheet {
        kind: "llc_read_write",
        headers: owned(&written::LLC_READ_WRITE),
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

/// The number for a smallest value that wasn't measured.
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
        headers: owned(&written::PCIE),
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

/// The table of the traffic over HCCS.
pub(crate) fn hccs<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let of_device = |device: &DeviceView<'_>| {
        let rates = hccs_rates(device);
        (!rates.is_empty()).then_some((device.device.id, rates))
    };
    let devices: Vec<(u32, Vec<Rates>)> = view.devices.iter().filter_map(of_device).collect();
    (!devices.is_empty()).then(|| Sheet {
        kind: "hccs",
        headers: owned(&written::HCCS),
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

/// The table of the traffic of the unified bus.
pub(crate) fn unified_bus<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let of_device = |device: &DeviceView<'_>| {
        let (id, clock) = (device.device.id, device.device.metadata.sample_clock());
        let samples = device.device.tables.samples.unified_bus.rows();
        samples.map(|sample| (id, clock.local(sample.time), sample)).collect::<Vec<_>>()
    };
    let rows: Vec<_> = view.devices.iter().flat_map(of_device).collect();
    (!rows.is_empty()).then(|| Sheet {
        kind: "ub",
        headers: owned(&written::UB),
        rows: rows.len(),
        write: Box::new(move |index, row| {
            let (device, time, sample) = rows[index];
            row.integer(device);
            row.integer(sample.port);
            row.time(time);
            row.integer(sample.received);
            row.integer(sample.sent);
        }),
    })
}
