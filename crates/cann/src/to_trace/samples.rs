//! Samples of devices over time, as counters of a trace.

use std::collections::{BTreeMap, BTreeSet};

use opscope_trace::{Counter, CounterId, Sample};

use super::{Projection, links};
use crate::facts::cache_events::{Accesses, CacheTraffic, Holders, cache_held, cache_traffic};
use crate::facts::monitors::monitor_counters;
use crate::facts::rates::{
    NetworkDeviceRates, Rates, by_port, cache_use, ddr_rates, efficiency, hbm_rates, hccs_rates,
    network_device_rates, pcie_samples, pcie_unit, pcie_value, scope_name, share,
};
use crate::facts::view::DeviceView;
use crate::quantities;
use crate::tables::{NetworkSample, NetworkTable, PortCounts, UnifiedBusSample};

/// The samples of a counter.
struct Series {
    name: String,
    unit: &'static str,
    /// Wall-clock nanoseconds and values.
    values: Vec<(i64, f64)>,
}

/// The samples of a device, counter by counter.
#[derive(Default)]
pub(super) struct Gathered(Vec<Series>);

impl Gathered {
    /// Adds a counter, unless it has no samples.
    pub(super) fn add(&mut self, name: String, unit: &'static str, values: impl Iterator<Item = (i64, f64)>) {
        let mut values: Vec<(i64, f64)> = values.collect();
        values.sort_by_key(|(time, _)| *time);
        if !values.is_empty() {
            self.0.push(Series { name, unit, values });
        }
    }

    /// Memory in use.
    fn memory(&mut self, device: &DeviceView<'_>) {
        let clock = device.device.metadata.sample_clock();
        let table = &device.device.tables.samples.npu_memory;
        let scopes: BTreeSet<u32> = table.scope().iter().copied().collect();
        for scope in scopes {
            let rows = || table.rows().filter(move |row| row.scope == scope);
            let name = |quantity| quantities::memory(scope_name(scope), quantity);
            self.add(name("DDR"), "B", rows().map(|row| (clock.local(row.time), row.ddr as f64)));
            self.add(name("HBM"), "B", rows().map(|row| (clock.local(row.time), row.hbm as f64)));
        }
    }

    /// Traffic of the memories, and use of the cache.
    fn memory_traffic(&mut self, device: &DeviceView<'_>) {
        use quantities::{DDR, HBM, HIT_RATE, LLC, READ, THROUGHPUT, WRITE};
        let hbm = hbm_rates(device);
        let sides: BTreeSet<(u32, bool)> = hbm.iter().map(|rate| (rate.id, rate.is_read)).collect();
        for (id, is_read) in sides {
            let rates = hbm.iter().filter(|rate| (rate.id, rate.is_read) == (id, is_read));
            let name = format!("{HBM} {id} {}", if is_read { READ } else { WRITE });
            self.add(name, "MB/s", rates.map(|rate| (rate.time, rate.rate)));
        }
        self.both_ways(DDR, [READ, WRITE], &ddr_rates(device));
        // Only these two are counted.
        let mode = if device.device.metadata.sample.llc == READ { READ } else { WRITE };
        for part in cache_use(device).chunk_by(|a, b| a.id == b.id) {
            let name = |quantity| format!("{LLC} {} {mode} {quantity}", part[0].id);
            self.add(name(HIT_RATE), "%", part.iter().map(|row| (row.time, row.hit_rate * 100.0)));
            self.add(name(THROUGHPUT), "MB/s", part.iter().map(|row| (row.time, row.throughput)));
        }
    }

    /// Traffic of a 310's last-level cache, and who holds parts of it.
    fn cache_events(&mut self, device: &DeviceView<'_>) {
        use quantities::{HIT_RATE, HIT_THROUGHPUT, LLC, LLC_OF_AI, LLC_OF_CONTROL, READ, THROUGHPUT, WRITE};
        let traffic = cache_traffic(device);
        for (direction, is_read) in [(READ, true), (WRITE, false)] {
            let side = |sample: &CacheTraffic| if is_read { sample.read } else { sample.written };
            let mut add = |quantity, unit, value: fn(Accesses, f64) -> f64| {
                let values = traffic.iter().map(|sample| (sample.time, value(side(sample), sample.seconds)));
                self.add(format!("{LLC} {direction} {quantity}"), unit, values);
            };
            add(THROUGHPUT, "MB/s", |accesses, seconds| accesses.rounded_throughput(seconds)[0]);
            add(HIT_RATE, "%", |accesses, _| accesses.hit_percent());
            add(HIT_THROUGHPUT, "MB/s", |accesses, seconds| accesses.rounded_throughput(seconds)[1]);
        }
        for (name, holders) in [(LLC_OF_AI, Holders::Ai), (LLC_OF_CONTROL, Holders::Control)] {
            let (processors, held) = cache_held(device, holders);
            for place in 0..processors {
                let values = held.iter().filter(|it| it.place == place);
                let values = values.map(|it| (it.time, it.megabytes()));
                self.add(format!("{name} {place}"), "MB", values);
            }
        }
    }

    /// Traffic of links and ports.
    fn links(&mut self, device: &DeviceView<'_>) {
        use quantities::{HCCS, NIC, PCIE, PCIE_KINDS, RECEIVED, ROCE, SENT};
        let clock = device.device.metadata.sample_clock();
        self.both_ways(HCCS, [SENT, RECEIVED], &hccs_rates(device));
        for (kind, names) in PCIE_KINDS.iter().enumerate() {
            for (which, name) in names.iter().enumerate() {
                let values = pcie_samples(device).map(|sample| {
                    let value = pcie_value(kind, f64::from(sample.values[kind][which]));
                    (clock.local_of_device(sample.time), value)
                });
                self.add(format!("{PCIE} {name}"), pcie_unit(kind), values);
            }
        }
        self.ports(NIC, device, &device.device.tables.samples.nic);
        self.ports(ROCE, device, &device.device.tables.samples.roce);
    }

    /// The readings of monitors beside cores.
    fn monitors(&mut self, device: &DeviceView<'_>) {
        for counter in monitor_counters(device) {
            for (place, heading) in counter.headings.iter().enumerate() {
                let (name, unit) = quantities::monitored(&counter.name, heading);
                self.add(name, unit, counter.readings.iter().map(|(time, values)| (*time, values[place])));
            }
        }
    }

    fn network_device(&mut self, rates: &[NetworkDeviceRates]) {
        use quantities::{NETWORK_DEVICE, NETWORK_DEVICE_VALUES};
        for (_, name, unit, place) in NETWORK_DEVICE_VALUES {
            let values = rates.iter().map(|rates| {
                let count = rates.counts[place] as f64;
                (rates.time, if unit == "B/s" { count / rates.seconds } else { count })
            });
            self.add(format!("{NETWORK_DEVICE} {name}"), unit, values);
        }
    }

    fn unified_bus(&mut self, device: &DeviceView<'_>) {
        use quantities::{RECEIVED, SENT, UNIFIED_BUS};
        let clock = device.device.metadata.sample_clock();
        let mut ports: BTreeMap<u16, Vec<UnifiedBusSample>> = BTreeMap::new();
        for sample in device.device.tables.samples.unified_bus.rows() {
            ports.entry(sample.port).or_default().push(sample);
        }
        for (port, samples) in ports {
            let timed = |value: fn(&UnifiedBusSample) -> u64| {
                samples.iter().map(move |sample| (clock.local(sample.time), value(sample) as f64))
            };
            self.add(format!("{UNIFIED_BUS} {port} {RECEIVED}"), "MB/s", timed(|sample| sample.received));
            self.add(format!("{UNIFIED_BUS} {port} {SENT}"), "MB/s", timed(|sample| sample.sent));
        }
    }

    fn both_ways(&mut self, title: &str, ways: [&str; 2], rates: &[Rates]) {
        self.add(format!("{title} {}", ways[0]), "MB/s", rates.iter().map(|rate| (rate.time, rate.out)));
        self.add(format!("{title} {}", ways[1]), "MB/s", rates.iter().map(|rate| (rate.time, rate.back)));
    }

    fn ports(&mut self, title: &str, device: &DeviceView<'_>, table: &NetworkTable) {
        use quantities::{
            BANDWIDTH, DROPPED_RATE, EFFICIENCY, ERROR_RATE, PORT_RECEIVED, PORT_SENT, RECEIVED, SENT,
        };
        type Quantity = fn(&PortCounts, u64) -> f64;
        const COUNTS: [(Quantity, &str); 6] = [
            (|counts, _| counts.packet_rate, "packets/s"),
            (|counts, _| counts.byte_rate, "B/s"),
            (|counts, _| counts.packets, "packets"),
            (|counts, _| counts.bytes, "B"),
            (|counts, _| counts.errors, "packets"),
            (|counts, _| counts.dropped, "packets"),
        ];
        const PARTS: [(Quantity, &str); 3] = [
            (|counts, bandwidth| efficiency(counts.byte_rate, bandwidth), EFFICIENCY),
            (|counts, _| share(counts.errors, counts.packets), ERROR_RATE),
            (|counts, _| share(counts.dropped, counts.packets), DROPPED_RATE),
        ];
        type Side = (fn(&NetworkSample) -> PortCounts, &'static str, [&'static str; 6]);
        const SIDES: [Side; 2] =
            [(|sample| sample.received, RECEIVED, PORT_RECEIVED), (|sample| sample.sent, SENT, PORT_SENT)];
        let clock = device.device.metadata.sample_clock();
        for (port, samples) in by_port(table) {
            let mut add = |quantity: &str, unit, value: &dyn Fn(&NetworkSample) -> f64| {
                let values = samples.iter().map(|it| (clock.local_of_device(it.time), value(it)));
                self.add(format!("{title} {port} {quantity}"), unit, values);
            };
            add(BANDWIDTH, "Mbit/s", &|sample| sample.bandwidth as f64);
            for (side, way, names) in SIDES {
                for ((value, unit), name) in COUNTS.into_iter().zip(names) {
                    add(name, unit, &|sample| value(&side(sample), sample.bandwidth));
                }
                for (value, quantity) in PARTS {
                    let value = |sample: &NetworkSample| value(&side(sample), sample.bandwidth);
                    add(&format!("{way} {quantity}"), "", &value);
                }
            }
        }
    }
}

impl Projection<'_> {
    pub(super) fn samples(&mut self) {
        let view = self.view;
        for (number, device) in view.devices.iter().enumerate() {
            self.frequencies(number, device);
            let mut gathered = Gathered::default();
            gathered.memory_traffic(device);
            gathered.cache_events(device);
            gathered.memory(device);
            gathered.links(device);
            gathered.unified_bus(device);
            links::gather(&mut gathered, device);
            gathered.monitors(device);
            let offset = view.joined.data.host_clock.offset();
            gathered.network_device(&network_device_rates(device, offset));
            let notes = || {
                let notes = view.joined.data.host.task_memory.rows();
                notes.filter(|note| note.device == device.device.id)
            };
            let (allocated, reserved) =
                (quantities::memory("GE", "allocated"), quantities::memory("GE", "reserved"));
            let time = |note_time| view.host_time(note_time);
            gathered.add(allocated, "B", notes().map(|it| (time(it.time), it.total_allocated as f64)));
            gathered.add(reserved, "B", notes().map(|it| (time(it.time), it.total_reserved as f64)));
            gathered.0.sort_by(|a, b| a.name.cmp(&b.name));
            for Series { name, unit, values } in gathered.0 {
                let counter = self.counter(&name, unit, number);
                for (wall, value) in values {
                    let time = self.time(wall);
                    self.trace.samples.push(Sample { counter, time, value });
                }
            }
        }
    }

    fn frequencies(&mut self, number: usize, device: &DeviceView<'_>) {
        let changes = &device.device.tables.samples.frequency;
        if changes.is_empty() {
            return;
        }
        let counter = self.counter(quantities::CORE_FREQUENCY, "MHz", number);
        let mut rows: Vec<(u64, u32)> = changes.rows().map(|change| (change.time, change.value)).collect();
        rows.sort_unstable();
        for (ticks, megahertz) in rows {
            let time = self.time(device.time(ticks));
            self.trace.samples.push(Sample { counter, time, value: f64::from(megahertz) });
        }
    }

    fn counter(&mut self, name: &str, unit: &str, device: usize) -> CounterId {
        let (name, unit) = (self.trace.strings.intern(name), self.trace.strings.intern(unit));
        self.trace.counters.push(Counter { name, unit, device: Some(self.devices[device]) })
    }
}
