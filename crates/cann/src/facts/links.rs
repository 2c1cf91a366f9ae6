//! Levels of bandwidth, traffic between dies and over links, and quality of service, by time.

use std::collections::BTreeMap;

use opscope_cann_raw::links::QUALITIES;

use crate::facts::view::DeviceView;
use crate::tables::{AcceleratorSample, BandwidthSample, ChipLinkSample, DieSample, PowerSample};

/// Traffic between dies in MB/s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DieRate {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    pub(crate) die: u16,
    /// Received requests, responses, snoops and data, then what was sent.
    pub(crate) rates: [f64; 8],
}

/// The traffic between a device's dies, by time. The first sample of a die says what went before it, but
/// not since when, and has no rate.
pub(crate) fn die_rates(device: &DeviceView<'_>) -> Vec<DieRate> {
    const MEGABYTE: f64 = 1_048_576.0;
    const NANOSECONDS: f64 = 1e9;
    let clock = &device.device.clock;
    let mut samples: Vec<DieSample> = device.device.tables.samples.links.dies.rows().collect();
    samples.sort_by_key(|sample| sample.time);
    let mut before: BTreeMap<u16, u64> = BTreeMap::new();
    let mut rates = Vec::new();
    for sample in samples {
        let last = before.insert(sample.die, sample.time);
        let Some(ticks) = last.map(|last| sample.time - last).filter(|ticks| *ticks > 0) else { continue };
        let seconds = clock.duration_f64(ticks) / NANOSECONDS;
        let of_bytes = |bytes| f64::from(bytes) / MEGABYTE / seconds;
        rates.push(DieRate {
            time: clock.local(sample.time),
            die: sample.die,
            rates: sample.bytes.map(of_bytes),
        });
    }
    rates
}

/// The name of a die.
pub(crate) fn die_name(device: &DeviceView<'_>, die: u16) -> String {
    match (device.device.metadata.chip().has_wide_task_ids(), die) {
        (true, 0) => "D-DIE0".to_owned(),
        (true, 2) => "U-DIE0".to_owned(),
        (true, 3) => "U-DIE1".to_owned(),
        _ => format!("die {die}"),
    }
}

/// The frequencies of a device's dies with AI cores at wall-clock nanoseconds, by time and die: those of the other
/// dies mean something else.
pub(crate) fn die_frequencies(device: &DeviceView<'_>) -> Vec<(i64, PowerSample)> {
    const DIES_WITH_CORES: u16 = 2;
    let samples = device.device.tables.samples.links.power.rows();
    let mut samples: Vec<PowerSample> = samples.filter(|sample| sample.die < DIES_WITH_CORES).collect();
    samples.sort_by_key(|sample| (sample.time, sample.die));
    samples.into_iter().map(|sample| (device.time(sample.time), sample)).collect()
}

/// The levels of a device's accelerators at wall-clock nanoseconds, by time and accelerator.
pub(crate) fn accelerators(device: &DeviceView<'_>) -> Vec<(i64, AcceleratorSample)> {
    let mut samples: Vec<AcceleratorSample> =
        device.device.tables.samples.links.accelerators.rows().collect();
    samples.sort_by_key(|sample| (sample.time, sample.accelerator));
    samples.into_iter().map(|sample| (device.time(sample.time), sample)).collect()
}

/// The levels of bandwidth within a device's chip at wall-clock nanoseconds.
pub(crate) fn bandwidths(device: &DeviceView<'_>) -> Vec<(i64, BandwidthSample)> {
    let samples = device.device.tables.samples.links.bandwidths.rows();
    samples.map(|sample| (device.time(sample.time), sample)).collect()
}

/// The traffic over links of a device's chip at wall-clock nanoseconds.
pub(crate) fn chip_links(device: &DeviceView<'_>) -> Vec<(i64, ChipLinkSample)> {
    let samples = device.device.tables.samples.links.links.rows();
    samples.map(|sample| (device.time(sample.time), sample)).collect()
}

/// Bandwidth of one event of the quality of service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quality<'a> {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    pub(crate) die: Option<u16>,
    pub(crate) event: &'a str,
    /// MB/s.
    pub(crate) bandwidth: u32,
}

/// Bandwidths of a device by quality of service, for the events that `sample.json` names.
pub(crate) fn qualities<'a>(device: &'a DeviceView<'_>) -> impl Iterator<Item = Quality<'a>> {
    /// Events of chips that tell the die.
    const OF_DIES: usize = 8;
    let events = &device.device.metadata.sample.quality_events;
    let rows = device.device.tables.samples.links.qualities.rows();
    rows.flat_map(move |sample| {
        let time = device.time(sample.time);
        let count = if sample.die.is_some() { OF_DIES } else { QUALITIES };
        let events = events.iter().take(count).zip(sample.bandwidths);
        events.map(move |(event, bandwidth)| Quality { time, die: sample.die, event, bandwidth })
    })
}
