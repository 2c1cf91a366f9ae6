//! Samples over time, as counters.

use std::collections::{BTreeMap, BTreeSet};

use opscope_cann_raw::Chip;

use crate::dialect::Dialect;
use crate::facts::core_use::{CoreUse, core_use};
use crate::facts::links::qualities;
use crate::facts::rates::{
    PCIE_LATENCY, Rates, by_port, cache_use, ddr_rates, efficiency, hbm_rates, hccs_rates, pcie_samples,
    pcie_value, scope_name, share,
};
use crate::facts::view::{DeviceView, View};
use crate::lane_choice::Layer;
use crate::quantities::INSTRUCTIONS;
use crate::tables::{Core, FrequencyTable, HostSampleTables, NetworkTable, PortCounts};
use crate::text::numbers::python_round;
use crate::timeline::blocks;
use crate::timeline::cache_events::{self, has_cache_events};
use crate::timeline::event::{Events, Lane};
use crate::timeline::lanes::{Lanes, name_lane};
use crate::timeline::links;
use crate::timeline::monitors;
use crate::timeline::wide;

/// A voltage before its first change, in mV.
const DEFAULT_MILLIVOLTS: u32 = 900;

/// The layers that show something, in the order in which the reference numbers them.
pub(super) fn layers(view: &View<'_>) -> Vec<Layer> {
    let has = |test: fn(&DeviceView<'_>) -> bool| view.devices.iter().any(test);
    let mut layers = vec![
        (Layer::Hbm, has(|device| !device.device.tables.samples.hbm.is_empty())),
        (Layer::Ddr, has(|device| !device.device.tables.samples.ddr.is_empty())),
        (Layer::Pcie, has(|device| pcie_samples(device).next().is_some())),
        (Layer::Hccs, has(|device| !device.device.tables.samples.hccs.is_empty())),
        (Layer::Nic, has(|device| !device.device.tables.samples.nic.is_empty())),
        (Layer::Roce, has(|device| !device.device.tables.samples.roce.is_empty())),
        (Layer::Llc, has(|device| !cache_use(device).is_empty() || has_cache_events(device, Layer::Llc))),
        (Layer::LlcControl, has(|device| has_cache_events(device, Layer::LlcControl))),
        (Layer::NpuMemory, has(|device| !device.device.tables.samples.npu_memory.is_empty())),
        (Layer::Bandwidths, has(|device| !device.device.tables.samples.links.bandwidths.is_empty())),
        (Layer::ChipLinks, has(|device| !device.device.tables.samples.links.links.is_empty())),
        (Layer::Accelerators, has(|device| !device.device.tables.samples.links.accelerators.is_empty())),
        (Layer::Dies, has(|device| !device.device.tables.samples.links.dies.is_empty())),
        (Layer::UnifiedBus, has(|device| !device.device.tables.samples.unified_bus.is_empty())),
        (Layer::Instructions, has(has_instructions)),
        (Layer::Ccu, has(|device| !device.device.tables.ccu.missions.is_empty())),
        (Layer::Fused, has(|device| !device.device.tables.fused.is_empty())),
        (Layer::Quality, has(|device| qualities(device).next().is_some())),
        (Layer::Blocks, has(|device| !device.joined.blocks.is_empty())),
        (Layer::CoreUse, has(|device| !device.device.tables.samples.cores.is_empty())),
        (Layer::Frequency, has(has_frequency)),
        (Layer::Voltage, has(|device| !device.device.tables.samples.core_voltage.is_empty())),
    ];
    let host = &view.joined.data.host.samples;
    layers.extend([
        (Layer::HostCpu, !host.cpu.is_empty()),
        (Layer::HostMemory, !host.memory.is_empty()),
        (Layer::HostNetwork, !host.network.is_empty()),
        (Layer::HostDisk, !host.disk.is_empty()),
        (Layer::OsCalls, !view.joined.data.host.os_calls.table.is_empty()),
        (Layer::Dpu, !view.joined.data.host.dpu.is_empty()),
    ]);
    layers.into_iter().filter(|(_, is_shown)| *is_shown).map(|(layer, _)| layer).collect()
}

/// Whether instructions of a device's cores were recorded, or how long their units worked.
fn has_instructions(device: &DeviceView<'_>) -> bool {
    let tables = &device.device.tables;
    !(tables.instructions.is_empty() && tables.monitors.is_empty())
}

/// Whether a device's cores change their frequency, which is then shown.
fn has_frequency(device: &DeviceView<'_>) -> bool {
    matches!(device.device.metadata.chip(), Chip::V4_1_0 | Chip::V1_1_1 | Chip::V3_3_0)
        || !device.device.tables.samples.links.power.is_empty()
}

/// The AI cores' frequency over time in MHz: from the collection's begin to its end.
pub(crate) fn frequencies(device: &DeviceView<'_>) -> Vec<(i64, u32)> {
    let default = device.device.metadata.info.core_mhz.unwrap_or(0.0) as u32;
    changes(device, &device.device.tables.samples.frequency, default)
}

/// A frequency or voltage over time: from the collection's begin to its end.
fn changes(device: &DeviceView<'_>, table: &FrequencyTable, default: u32) -> Vec<(i64, u32)> {
    let session = &device.device.metadata.session;
    let begin = session.begin.unwrap_or(i64::MIN);
    let mut changes: Vec<(i64, u32)> =
        table.rows().map(|change| (device.time(change.time).max(begin), change.value)).collect();
    changes.sort_by_key(|(time, _)| *time);
    let first = session.begin.map(|begin| (begin, default));
    let last = session.end.map(|end| (end, changes.last().map_or(default, |(_, value)| *value)));
    first.into_iter().chain(changes).chain(last).collect()
}

/// The counters of one layer.
pub(super) struct Counters<'a> {
    lanes: &'a Lanes,
    layer: Layer,
    device: Option<u32>,
    events: &'a mut Events,
}

impl Counters<'_> {
    /// Names the layer, whose counters follow.
    pub(super) fn named(&mut self, name: &str) -> &mut Self {
        self.lanes.name_layer(self.events, self.layer, self.device, name);
        self
    }

    /// A lane of the layer.
    pub(super) fn lane(&self, number: u64) -> Lane {
        self.lanes.lane(self.layer, self.device, number)
    }

    /// Where the counters are written to.
    pub(super) fn events(&mut self) -> &mut Events {
        self.events
    }

    /// The values of a counter at one time.
    pub(super) fn add(&mut self, name: &str, time: i64, values: &[(&str, f64)]) {
        self.events.counter(name, self.lanes.lane(self.layer, self.device, 0), time, |args| {
            values.iter().for_each(|(key, value)| {
                args.float(key, *value);
            });
        });
    }

    /// The whole values of a counter at one time, in a lane of the layer.
    pub(super) fn add_integers(&mut self, lane: u64, name: &str, time: i64, values: &[(&str, u64)]) {
        self.events.counter(name, self.lane(lane), time, |args| {
            values.iter().for_each(|(key, value)| {
                args.integer(key, *value);
            });
        });
    }

    /// The values of a counter of whole numbers over time.
    fn add_whole(&mut self, name: &str, unit: &str, values: Vec<(i64, u32)>) {
        let lane = self.lanes.lane(self.layer, self.device, 0);
        for (time, value) in values {
            self.events.counter(name, lane, time, |args| {
                args.integer(unit, value);
            });
        }
    }
}

/// Writes what was sampled.
pub(super) fn samples(view: &View<'_>, lanes: &Lanes, events: &mut Events) {
    for device in &view.devices {
        for &layer in lanes.shown() {
            of_device(view, device, lanes, layer, events);
        }
    }
    of_host(view, &view.joined.data.host.samples, lanes, events);
}

/// Writes one layer of a device.
fn of_device(view: &View<'_>, device: &DeviceView<'_>, lanes: &Lanes, layer: Layer, events: &mut Events) {
    let tables = &device.device.tables.samples;
    let mut counters = Counters { lanes, layer, device: Some(device.device.id), events };
    let is_shown = |time: i64| view.shows_span(time, time);
    match layer {
        Layer::Frequency if !tables.links.power.is_empty() => {
            links::die_frequencies_of(device, counters.named("AI Core Freq"), view.dialect, is_shown);
        }
        Layer::Frequency if has_frequency(device) => {
            counters.named("AI Core Freq").add_whole("AI Core Freq", "MHz", frequencies(device));
        }
        Layer::Voltage if !tables.core_voltage.is_empty() => {
            counters.named("Voltage Info");
            let core = changes(device, &tables.core_voltage, DEFAULT_MILLIVOLTS);
            counters.add_whole("Aicore Voltage", "mV", core);
            let bus = changes(device, &tables.bus_voltage, DEFAULT_MILLIVOLTS);
            counters.add_whole("Bus Voltage", "mV", bus);
        }
        Layer::CoreUse if !tables.cores.is_empty() => {
            core_use_of(device, counters.named("AI Core Utilization"), is_shown);
        }
        Layer::NpuMemory if !tables.npu_memory.is_empty() => {
            npu_memory(device, counters.named("NPU MEM"), is_shown)
        }
        Layer::Accelerators if !tables.links.accelerators.is_empty() => {
            links::accelerator_levels(device, counters.named("Acc PMU"), is_shown);
        }
        Layer::Bandwidths if !tables.links.bandwidths.is_empty() => {
            links::bandwidth_levels(device, counters.named("Stars Soc Info"), is_shown);
        }
        Layer::ChipLinks if !tables.links.links.is_empty() => {
            links::links(device, counters.named("Stars Chip Trans"), view.dialect, is_shown);
        }
        Layer::Dies if !tables.links.dies.is_empty() => {
            links::dies(device, counters.named("SIO"), is_shown);
        }
        Layer::Quality if qualities(device).next().is_some() => {
            links::quality(device, counters.named("QoS"), view.dialect, is_shown);
        }
        Layer::Instructions if !device.device.tables.instructions.is_empty() => {
            wide::instructions(device, counters.named(INSTRUCTIONS), is_shown);
        }
        Layer::Instructions if !device.device.tables.monitors.is_empty() => {
            monitors::monitors(device, counters.named(INSTRUCTIONS), is_shown);
        }
        Layer::Ccu if !device.device.tables.ccu.missions.is_empty() => {
            wide::ccu(view, device, counters.named("CCU"), is_shown);
        }
        Layer::Fused if !device.device.tables.fused.is_empty() => {
            wide::fused(view, device, counters.named("Fusion Task"), is_shown);
        }
        Layer::Blocks if !device.joined.blocks.is_empty() => {
            blocks::blocks(view, device, counters.named("Block Detail"), is_shown);
        }
        Layer::UnifiedBus if !tables.unified_bus.is_empty() => {
            let name = if view.dialect == Dialect::Accelerated { "Ub" } else { "UB" };
            unified_bus(device, counters.named(name), is_shown);
        }
        Layer::Hbm => {
            let rates = hbm_rates(device);
            if rates.is_empty() {
                return;
            }
            counters.named("HBM");
            for rate in rates.into_iter().filter(|rate| is_shown(rate.time)) {
                let direction = if rate.is_read { "Read" } else { "Write" };
                let name = format!("HBM {}/{direction}", rate.id);
                counters.add(&name, rate.time, &[(&format!("{direction}(MB/s)"), rate.rate)]);
            }
        }
        Layer::Ddr if !tables.ddr.is_empty() => {
            two_ways(counters.named("DDR"), ddr_rates(device), "DDR/", ["Read", "Write"], is_shown);
        }
        Layer::Hccs if !tables.hccs.is_empty() => {
            two_ways(counters.named("HCCS"), hccs_rates(device), "", ["Tx", "Rx"], is_shown);
        }
        Layer::Pcie if pcie_samples(device).next().is_some() => {
            pcie(device, counters.named("PCIe"), view.dialect, is_shown)
        }
        Layer::Nic if !tables.nic.is_empty() => ports(device, &tables.nic, counters.named("NIC"), is_shown),
        Layer::Roce if !tables.roce.is_empty() => {
            ports(device, &tables.roce, counters.named("RoCE"), is_shown)
        }
        Layer::Llc | Layer::LlcControl if has_cache_events(device, layer) => {
            cache_events::cache_events(device, &mut counters, layer, is_shown);
        }
        Layer::Llc => {
            let uses = cache_use(device);
            if uses.is_empty() {
                return;
            }
            let mode = if device.device.metadata.sample.llc == "read" { "Read" } else { "Write" };
            counters.named("LLC");
            for row in uses.into_iter().filter(|row| is_shown(row.time)) {
                let name = |what: &str| format!("LLC {} {mode}/{what}", row.id);
                counters.add(&name("Throughput"), row.time, &[("Throughput(MB/s)", row.throughput)]);
                counters.add(&name("Hit Rate"), row.time, &[("Hit Rate(%)", row.hit_rate * 100.0)]);
            }
        }
        _ => {}
    }
}

fn npu_memory(device: &DeviceView<'_>, counters: &mut Counters<'_>, is_shown: impl Fn(i64) -> bool) {
    let clock = device.device.metadata.sample_clock();
    let rows = device.device.tables.samples.npu_memory.rows();
    for row in rows.filter(|row| is_shown(clock.local(row.time))) {
        let sum = row.ddr.saturating_add(row.hbm);
        for (kind, bytes) in [("DDR", row.ddr), ("HBM", row.hbm), ("Memory", sum)] {
            let name = format!("{}/{kind}", scope_name(row.scope));
            counters.add(&name, clock.local(row.time), &[("KB", bytes as f64 / 1_024.0)]);
        }
    }
}

/// Traffic in two directions, each a counter.
fn two_ways(
    counters: &mut Counters<'_>,
    rates: Vec<Rates>,
    prefix: &str,
    directions: [&str; 2],
    is_shown: impl Fn(i64) -> bool,
) {
    for rate in rates.into_iter().filter(|rate| is_shown(rate.time)) {
        for (direction, value) in directions.into_iter().zip([rate.out, rate.back]) {
            let unit = format!("{direction}(MB/s)");
            counters.add(&format!("{prefix}{direction}"), rate.time, &[(&unit, value)]);
        }
    }
}

/// A value with as many decimals as it is shown with. The accelerated reference shows all.
fn rounded(value: f64, dialect: Dialect) -> f64 {
    if dialect == Dialect::Accelerated { value } else { python_round(value, 3) }
}

fn pcie(
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    dialect: Dialect,
    is_shown: impl Fn(i64) -> bool,
) {
    const MEAN: usize = 2;
    /// Name, and the places of what is sent and received.
    const KINDS: [(&str, usize, Option<usize>); 4] = [
        ("PCIe_post", 0, Some(4)),
        ("PCIe_nonpost", 1, Some(5)),
        ("PCIe_cpl", 2, Some(6)),
        ("PCIe_nonpost_latency", PCIE_LATENCY, None),
    ];
    let clock = device.device.metadata.sample_clock();
    for sample in pcie_samples(device) {
        let time = clock.local_of_device(sample.time);
        if !is_shown(time) {
            continue;
        }
        let value = |mode: usize| rounded(pcie_value(mode, f64::from(sample.values[mode][MEAN])), dialect);
        for (name, sent, received) in KINDS {
            counters.add(name, time, &[("Tx", value(sent)), ("Rx", received.map_or(0.0, value))]);
        }
    }
}

/// The traffic of the unified bus.
fn unified_bus(device: &DeviceView<'_>, counters: &mut Counters<'_>, is_shown: impl Fn(i64) -> bool) {
    let clock = device.device.metadata.sample_clock();
    for sample in device.device.tables.samples.unified_bus.rows() {
        let time = clock.local(sample.time);
        if is_shown(time) {
            let values =
                [("bandwidth_rx(MB/s)", sample.received as f64), ("bandwidth_tx(MB/s)", sample.sent as f64)];
            counters.add(&format!("UB Port{:03}", sample.port), time, &values);
        }
    }
}

/// The traffic of network ports.
fn ports(
    device: &DeviceView<'_>,
    table: &NetworkTable,
    counters: &mut Counters<'_>,
    is_shown: impl Fn(i64) -> bool,
) {
    let clock = device.device.metadata.sample_clock();
    for (port, samples) in by_port(table) {
        for sample in samples {
            let time = clock.local_of_device(sample.time);
            if !is_shown(time) {
                continue;
            }
            let mut add = |direction: &str, counts: PortCounts| {
                let key = |what: &str| format!("{direction} {what}");
                let keys = ["Bandwidth Efficiency", "Packets", "Error Rate", "Dropped Rate"].map(key);
                let values = [
                    efficiency(counts.byte_rate, sample.bandwidth),
                    counts.packet_rate,
                    share(counts.errors, counts.packets),
                    share(counts.dropped, counts.packets),
                ];
                let values: Vec<(&str, f64)> = keys.iter().map(String::as_str).zip(values).collect();
                counters.add(&format!("Port {port}/{direction}"), time, &values);
            };
            add("Tx", sample.sent);
            add("Rx", sample.received);
        }
    }
}

/// How much each AI core worked, and their mean wherever all were sampled.
fn core_use_of(device: &DeviceView<'_>, counters: &mut Counters<'_>, is_shown: impl Fn(i64) -> bool) {
    const KEY: &str = "Utilization(%)";
    let mut of_cores: BTreeMap<u8, Vec<CoreUse>> = BTreeMap::new();
    for used in core_use(device, Core::Cube) {
        of_cores.entry(used.core).or_default().push(used);
    }
    let rounded = |usage: f64| crate::text::numbers::python_round(usage, 6);
    for (core, uses) in &of_cores {
        for used in uses.iter().filter(|used| is_shown(used.time)) {
            counters.add(&format!("Core {core}"), used.time, &[(KEY, rounded(used.usage))]);
        }
    }
    let rounds = of_cores.values().map(Vec::len).min().unwrap_or(0);
    for round in 0..rounds {
        let time = of_cores.values().map(|uses| uses[round].time).max().unwrap_or(0);
        let mean = of_cores.values().map(|uses| uses[round].usage).sum::<f64>() / of_cores.len() as f64;
        if is_shown(time) {
            counters.add("Average", time, &[(KEY, rounded(mean))]);
        }
    }
}

/// Writes what was sampled of the host, whose times are monotonic nanoseconds.
fn of_host(view: &View<'_>, samples: &HostSampleTables, lanes: &Lanes, events: &mut Events) {
    let offset = view.joined.data.host_clock.offset();
    let time = |monotonic: u64| i64::try_from(monotonic).unwrap_or(i64::MAX).saturating_add(offset);
    let is_shown = |time: i64| view.shows_span(time, time);
    const USAGE: &str = "Usage(%)";
    if !samples.cpu.is_empty() && lanes.shown().contains(&Layer::HostCpu) {
        let mut counters = Counters { lanes, layer: Layer::HostCpu, device: None, events };
        counters.named("CPU Usage");
        let name = |cpu: Option<u32>| cpu.map_or_else(|| "CPU Avg".to_owned(), |cpu| format!("CPU {cpu}"));
        let known: BTreeSet<Option<u32>> = samples.cpu.cpu().iter().copied().collect();
        // The average comes last.
        let average = known.contains(&None).then_some(None);
        for (place, cpu) in (0..).zip(known.into_iter().filter(Option::is_some).chain(average)) {
            name_lane(counters.events, lanes.lane(Layer::HostCpu, None, place), &name(cpu), place);
        }
        for row in samples.cpu.rows().filter(|row| is_shown(time(row.start))) {
            counters.add(&name(row.cpu), time(row.start), &[(USAGE, row.usage)]);
        }
    }
    let mut plain = |layer, name: &str, values: Vec<(u64, f64)>| {
        if values.is_empty() || !lanes.shown().contains(&layer) {
            return;
        }
        let mut counters = Counters { lanes, layer, device: None, events };
        counters.named(name);
        for (start, usage) in values.into_iter().filter(|(start, _)| is_shown(time(*start))) {
            counters.add(name, time(start), &[(USAGE, usage)]);
        }
    };
    let memory = samples.memory.rows().map(|row| (row.start, rounded(row.usage, view.dialect)));
    plain(Layer::HostMemory, "Memory Usage", memory.collect());
    plain(Layer::HostNetwork, "Network Usage", samples.network.rows().map(|r| (r.start, r.usage)).collect());
    plain(Layer::HostDisk, "Disk Usage", samples.disk.rows().map(|r| (r.start, r.usage)).collect());
}
