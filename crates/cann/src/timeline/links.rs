//! Levels of bandwidth, traffic between dies and over links, and quality of service, as counters.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::facts::links::{
    accelerators, bandwidths, chip_links, die_frequencies, die_name, die_rates, qualities,
};
use crate::facts::view::DeviceView;
use crate::quantities::SIO_EVENTS;
use crate::tables::{AcceleratorSample, ChipLinkSample, LinkKind};
use crate::timeline::lanes::name_lane;
use crate::timeline::samples::Counters;

/// The lanes of links between processors and of PCIe.
const PA_LANE: u64 = 111_111;
const PCIE_LANE: u64 = 100_010;

/// The traffic over PCIe.
const PCIE: [&str; 2] = ["PCIE Write Bandwidth", "PCIE Read Bandwidth"];

/// Levels of the accelerators: the highest of all at each time that is shown.
pub(super) fn accelerator_levels(
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    is_shown: impl Fn(i64) -> bool,
) {
    let samples = accelerators(device);
    for same in samples.chunk_by(|one, other| one.0 == other.0).filter(|same| is_shown(same[0].0)) {
        let highest = |level: fn(&AcceleratorSample) -> u64| {
            same.iter().map(|(_, sample)| level(sample)).max().unwrap_or(0)
        };
        for (name, level) in [
            ("read_bandwidth", highest(|sample| sample.read_bandwidth)),
            ("write_bandwidth", highest(|sample| sample.write_bandwidth)),
            ("read_ost", highest(|sample| sample.outstanding_reads)),
            ("write_ost", highest(|sample| sample.outstanding_writes)),
        ] {
            counters.add_integers(0, name, same[0].0, &[("value", level)]);
        }
    }
}

/// Levels of bandwidth within the chip.
pub(super) fn bandwidth_levels(
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    is_shown: impl Fn(i64) -> bool,
) {
    for (time, sample) in bandwidths(device).into_iter().filter(|(time, _)| is_shown(*time)) {
        for (name, level) in [("L2 Buffer Bw Level", sample.buffer), ("Mata Bw Level", sample.access_table)] {
            counters.add_integers(0, name, time, &[(name, u64::from(level))]);
        }
    }
}

/// The frequencies of dies.
pub(super) fn die_frequencies_of(
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    dialect: Dialect,
    is_shown: impl Fn(i64) -> bool,
) {
    // The word for the value in each form of the reference.
    let key = if dialect == Dialect::Accelerated { "MHz" } else { "value" };
    for (time, sample) in die_frequencies(device).into_iter().filter(|(time, _)| is_shown(*time)) {
        let lane = if dialect == Dialect::Accelerated { 0 } else { u64::from(sample.die) };
        let name = format!("AI Core Freq Die {}", sample.die);
        counters.add_integers(lane, &name, time, &[(key, u64::from(sample.megahertz))]);
    }
}

/// Traffic between dies.
pub(super) fn dies(device: &DeviceView<'_>, counters: &mut Counters<'_>, is_shown: impl Fn(i64) -> bool) {
    let rates = die_rates(device);
    for same in rates.chunk_by(|one, other| one.time == other.time).filter(|same| is_shown(same[0].time)) {
        let names: Vec<String> = same.iter().map(|rate| die_name(device, rate.die)).collect();
        for (place, name) in SIO_EVENTS.into_iter().enumerate() {
            let rates = names.iter().map(String::as_str).zip(same.iter().map(|rate| rate.rates[place]));
            counters.add(name, same[0].time, &rates.collect::<Vec<_>>());
        }
    }
}

/// Traffic over links of the chip. The accelerated reference has an event for each die's PCIe, the other
/// one for each time.
pub(super) fn links(
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    dialect: Dialect,
    is_shown: impl Fn(i64) -> bool,
) {
    let shown: Vec<(i64, ChipLinkSample)> =
        chip_links(device).into_iter().filter(|(time, _)| is_shown(*time)).collect();
    let has = |is_pa: bool| shown.iter().any(|(_, sample)| (sample.kind == LinkKind::Pa) == is_pa);
    if dialect != Dialect::Accelerated {
        let named = [(PA_LANE, "PA Link"), (PCIE_LANE, "PCIE")].into_iter();
        for (lane, name) in named.filter(|(lane, _)| has(*lane == PA_LANE)) {
            let lane = counters.lane(lane);
            name_lane(counters.events(), lane, name, lane.tid);
        }
    }
    let mut of_dies: BTreeMap<(i64, Option<u16>), Vec<ChipLinkSample>> = BTreeMap::new();
    for (time, sample) in shown {
        let (lane, label, names) = match sample.kind {
            LinkKind::Pa => (PA_LANE, "PA Link ID", ["PA Link Rx", "PA Link Tx"]),
            LinkKind::Pcie => (PCIE_LANE, "PCIE ID", PCIE),
            LinkKind::DiePcie => {
                let apart = (dialect == Dialect::Accelerated).then_some(sample.id);
                of_dies.entry((time, apart)).or_default().push(sample);
                continue;
            }
        };
        for (name, value) in names.into_iter().zip([sample.received, sample.sent]) {
            counters.add_integers(lane, name, time, &[(name, value), (label, u64::from(sample.id))]);
        }
    }
    for ((time, _), samples) in of_dies {
        let names: Vec<String> = samples.iter().map(|sample| format!("U-Die{}", sample.id)).collect();
        let names = || names.iter().map(String::as_str);
        let written: Vec<_> = names().zip(samples.iter().map(|sample| sample.received)).collect();
        counters.add_integers(PCIE_LANE, PCIE[0], time, &written);
        let read: Vec<_> = names().zip(samples.iter().map(|sample| sample.sent)).collect();
        counters.add_integers(PCIE_LANE, PCIE[1], time, &read);
    }
}

/// Bandwidth by quality of service; dies have their values side by side.
pub(super) fn quality(
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    dialect: Dialect,
    is_shown: impl Fn(i64) -> bool,
) {
    let plain = if dialect == Dialect::Accelerated { "value" } else { "bandwidth(MB/s)" };
    let mut of_dies: BTreeMap<(i64, &str), Vec<(String, u64)>> = BTreeMap::new();
    for quality in qualities(device).filter(|quality| is_shown(quality.time)) {
        let bandwidth = u64::from(quality.bandwidth);
        match quality.die {
            Some(die) => {
                let values = of_dies.entry((quality.time, quality.event)).or_default();
                values.push((format!("die {die}"), bandwidth));
            }
            None => {
                let name = format!("QoS {}", quality.event);
                counters.add_integers(0, &name, quality.time, &[(plain, bandwidth)]);
            }
        }
    }
    for ((time, event), values) in of_dies {
        let values: Vec<(&str, u64)> = values.iter().map(|(die, value)| (&**die, *value)).collect();
        counters.add_integers(0, &format!("QoS {event}"), time, &values);
    }
}
