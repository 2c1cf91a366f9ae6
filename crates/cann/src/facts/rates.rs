//! Traffic of memories, caches, links and network ports over time.

use std::collections::BTreeMap;

use opscope_cann_raw::Chip;

use crate::facts::view::DeviceView;
use crate::tables::{
    HccsSample, NETWORK_DEVICE_COUNTS, NetworkDeviceSample, NetworkSample, NetworkTable, PcieSample, Traffic,
};
use crate::text::numbers::python_round;

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

/// The place of the latency among the kinds of traffic over PCIe.
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

/// The unit of [`pcie_value`].
pub(crate) fn pcie_unit(mode: usize) -> &'static str {
    if mode == PCIE_LATENCY { "us" } else { "MB/s" }
}

/// The traffic of a device over HCCS since the sample before. Samples after which a counter started
/// again are left out.
pub(crate) fn hccs_rates(device: &DeviceView<'_>) -> Vec<Rates> {
    let mut samples: Vec<_> = device.device.tables.samples.hccs.rows().collect();
    samples.sort_by_key(|sample| sample.time);
    let clock = device.device.metadata.sample_clock();
    let between = |pair: &[HccsSample]| {
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

/// The samples of each port, by time.
pub(crate) fn by_port(table: &NetworkTable) -> BTreeMap<u32, Vec<NetworkSample>> {
    let mut ports: BTreeMap<u32, Vec<NetworkSample>> = BTreeMap::new();
    table.rows().for_each(|sample| ports.entry(sample.port).or_default().push(sample));
    ports.values_mut().for_each(|samples| samples.sort_by_key(|sample| sample.time));
    ports
}

/// Which part of what a port can carry it carried.
pub(crate) fn efficiency(bytes_per_second: f64, megabits: u64) -> f64 {
    share(bytes_per_second * 8.0, megabits as f64 * 1_024.0 * 1_024.0)
}

/// A part of a whole; 0 of nothing.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The traffic through a device's network device since the sample before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetworkDeviceRates {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    /// Seconds since the sample before.
    pub(crate) seconds: f64,
    /// As [`NetworkDeviceSample::counts`], since the sample before; 0 where a counter started anew.
    pub(crate) counts: [u64; NETWORK_DEVICE_COUNTS],
}

/// The traffic through a device's network device between each two samples; `offset` is the wall clock's at the
/// host's monotonic zero.
pub(crate) fn network_device_rates(device: &DeviceView<'_>, offset: i64) -> Vec<NetworkDeviceRates> {
    let mut samples: Vec<NetworkDeviceSample> = device.device.tables.samples.network_device.rows().collect();
    samples.sort_by_key(|sample| sample.time);
    samples.dedup_by_key(|sample| sample.time);
    let between = |pair: &[NetworkDeviceSample]| NetworkDeviceRates {
        time: i64::try_from(pair[1].time).unwrap_or(i64::MAX).saturating_add(offset),
        seconds: (pair[1].time - pair[0].time) as f64 / 1e9,
        counts: std::array::from_fn(|place| pair[1].counts[place].saturating_sub(pair[0].counts[place])),
    };
    samples.windows(2).map(between).collect()
}
