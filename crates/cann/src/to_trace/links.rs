//! Levels of bandwidth, traffic between dies and over links, and quality of service, as counters of a trace.

use std::collections::BTreeMap;

use super::samples::Gathered;
use crate::facts::ccu::channel_rate;
use crate::facts::links::{
    accelerators, bandwidths, chip_links, die_frequencies, die_name, die_rates, qualities,
};
use crate::facts::view::DeviceView;
use crate::quantities::{ACCELERATOR, ACCELERATOR_LEVELS, SIO, SIO_KINDS, SOC, SOC_LEVELS, die_frequency};
use crate::tables::LinkKind;

/// Adds what the scheduler of a device sampled.
pub(super) fn gather(gathered: &mut Gathered, device: &DeviceView<'_>) {
    let mut series = Series::default();
    for (time, sample) in accelerators(device) {
        let levels = [
            sample.read_bandwidth,
            sample.write_bandwidth,
            sample.outstanding_reads,
            sample.outstanding_writes,
        ];
        for (place, level) in levels.into_iter().enumerate() {
            let key = Key { number: sample.accelerator, place, ..Key::of(Kind::Accelerator) };
            series.add(key, time, level as f64);
        }
    }
    for (time, sample) in bandwidths(device) {
        for (place, level) in [sample.buffer, sample.access_table].into_iter().enumerate() {
            series.add(Key { place, ..Key::of(Kind::Soc) }, time, f64::from(level));
        }
    }
    for rate in die_rates(device) {
        for (place, value) in rate.rates.into_iter().enumerate() {
            series.add(Key { number: rate.die, place, ..Key::of(Kind::Die) }, rate.time, value);
        }
    }
    for (time, sample) in chip_links(device) {
        for (place, value) in [sample.received, sample.sent].into_iter().enumerate() {
            let key = Key { number: sample.id, place, ..Key::of(Kind::Link(sample.kind)) };
            series.add(key, time, value as f64);
        }
    }
    for (time, sample) in die_frequencies(device) {
        let key = Key { number: sample.die, ..Key::of(Kind::Frequency) };
        series.add(key, time, f64::from(sample.megahertz));
    }
    for sample in device.device.tables.ccu.channels.rows() {
        let key = Key {
            number: u16::from(sample.channel),
            place: usize::from(sample.unit),
            ..Key::of(Kind::Channel)
        };
        series.add(key, device.time(sample.delays.time), channel_rate(device, sample.delays.mean));
    }
    for quality in qualities(device) {
        let die = quality.die.map_or(-1, i32::from);
        let key = Key { event: quality.event, die, ..Key::of(Kind::Quality) };
        series.add(key, quality.time, f64::from(quality.bandwidth));
    }
    for (key, values) in series.0 {
        let (name, unit) = key.name(device);
        gathered.add(name, unit, values.into_iter());
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Accelerator,
    Soc,
    Die,
    Link(LinkKind),
    Quality,
    Frequency,
    /// Of a unit for collective communication, which the place tells.
    Channel,
}

/// The identity of a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    kind: Kind,
    /// Of the accelerator, die or link.
    number: u16,
    /// Among the quantities of its kind.
    place: usize,
    event: &'a str,
    /// Of the quality of service; −1 for none.
    die: i32,
}

impl Key<'_> {
    fn of(kind: Kind) -> Self {
        Self { kind, number: 0, place: 0, event: "", die: -1 }
    }

    /// The counter's name and unit.
    fn name(&self, device: &DeviceView<'_>) -> (String, &'static str) {
        let Self { kind, number, place, event, die } = self;
        match kind {
            Kind::Accelerator => (format!("{ACCELERATOR} {number} {}", ACCELERATOR_LEVELS[*place]), ""),
            Kind::Soc => (format!("{SOC} {}", SOC_LEVELS[*place]), ""),
            Kind::Die => (format!("{SIO} {} {}", die_name(device, *number), SIO_KINDS[*place]), "MB/s"),
            // The records don't tell the unit.
            Kind::Link(LinkKind::Pa) => (format!("PA link {number} {}", ["received", "sent"][*place]), ""),
            Kind::Link(LinkKind::Pcie) => (format!("chip PCIe {number} {}", ["written", "read"][*place]), ""),
            Kind::Link(LinkKind::DiePcie) => {
                (format!("chip PCIe of die {number} {}", ["written", "read"][*place]), "")
            }
            Kind::Frequency => (die_frequency(u32::from(*number)), "MHz"),
            Kind::Channel => (format!("CCU {place} channel {number} bandwidth"), "MB/s"),
            Kind::Quality if *die < 0 => (format!("QoS {event}"), "MB/s"),
            Kind::Quality => (format!("QoS {event} {die}"), "MB/s"),
        }
    }
}

/// Wall-clock nanoseconds and values of each counter.
#[derive(Default)]
struct Series<'a>(BTreeMap<Key<'a>, Vec<(i64, f64)>>);

impl<'a> Series<'a> {
    fn add(&mut self, key: Key<'a>, time: i64, value: f64) {
        self.0.entry(key).or_default().push((time, value));
    }
}
