//! How much the cores of a device worked over time, as samples of their counters tell.

use std::collections::BTreeMap;

use crate::data::Device;
use crate::facts::view::DeviceView;
use crate::metrics::{Load, Metric, header, sampled_group};
use crate::tables::{COUNTERS, Core, CoreSampleTable, Counters};

/// How a value of a core is computed from its counters.
enum Value {
    /// As a column of a known group.
    Metric(Metric),
    /// The count of an event, by its place in the records.
    Event(usize),
}

/// The counters of one kind of cores of a device, added up over the whole profile.
pub(crate) struct CoreTotals<'a> {
    pub(crate) device: &'a Device,
    events: &'a [u32],
    columns: Vec<(String, Value)>,
    /// Hz of the cores.
    hertz: f64,
    /// By the core's number.
    cores: BTreeMap<u8, Counters>,
}

/// The samples of one kind of cores.
fn samples_of(device: &Device, core: Core) -> &CoreSampleTable {
    match core {
        Core::Cube => &device.tables.samples.cores,
        Core::Vector => &device.tables.samples.vector_cores,
    }
}

impl<'a> CoreTotals<'a> {
    /// Adds up the samples of one kind of cores; `None` if there are none.
    pub(crate) fn new(device: &'a Device, core: Core) -> Option<Self> {
        let samples = samples_of(device, core);
        if samples.is_empty() {
            return None;
        }
        let sample = &device.metadata.sample;
        let (name, events) = match core {
            Core::Cube => (&sample.core_metrics, &sample.core_events),
            Core::Vector => (&sample.vector_metrics, &sample.vector_events),
        };
        let metrics = sampled_group(name, device.metadata.chip(), events);
        let mut columns: Vec<(String, Value)> = Vec::new();
        if metrics.is_empty() {
            let raw = events.iter().enumerate();
            columns.extend(raw.map(|(place, event)| (format!("r{event:x}"), Value::Event(place))));
        }
        let known =
            metrics.into_iter().map(|metric| (header(&metric.name.to_lowercase()), Value::Metric(metric)));
        columns.extend(known);
        let mut cores: BTreeMap<u8, Counters> = BTreeMap::new();
        for row in samples.rows() {
            let total = cores.entry(row.core).or_insert_with(|| Counters::of_core(core, 0, [0; COUNTERS]));
            total.cycles = total.cycles.saturating_add(row.cycles);
            for (sum, count) in total.counters.iter_mut().zip(row.counters) {
                *sum = sum.saturating_add(count);
            }
        }
        let hertz = device.metadata.info.core_mhz.unwrap_or(0.0) * 1e6;
        Some(Self { device, events, columns, hertz, cores })
    }

    /// The columns' names, with their units.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// For each core its number, how long it worked in nanoseconds, and a value for each column.
    pub(crate) fn values(&self) -> impl Iterator<Item = (u8, f64, Vec<f64>)> {
        self.cores.iter().map(|(&core, counters)| {
            let (events, hertz) = (self.events, self.hertz);
            let load = Load { counters, events, total_time: 0.0, hertz, rounds: 1.0 };
            let value = |(_, value): &(String, Value)| match value {
                Value::Metric(metric) => metric.value(&load),
                Value::Event(place) => counters.counters.get(*place).copied().unwrap_or(0) as f64,
            };
            let nanoseconds = if hertz > 0.0 { counters.cycles as f64 * 1e9 / hertz } else { 0.0 };
            (core, nanoseconds, self.columns.iter().map(value).collect())
        })
    }
}

/// How much a core worked at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CoreUse {
    /// When; wall-clock nanoseconds.
    pub(crate) time: i64,
    pub(crate) core: u8,
    /// Cycles since the sample before.
    pub(crate) cycles: u64,
    /// Percent of the cycles that passed.
    pub(crate) usage: f64,
}

/// How much the cores of one kind worked, in the order of the file. The time before a core's first
/// sample is taken for the interval that the profile was asked for, or for that up to the second.
pub(crate) fn core_use(device: &DeviceView<'_>, core: Core) -> Vec<CoreUse> {
    let samples = samples_of(device.device, core);
    let metadata = &device.device.metadata;
    let (sample_clock, is_ticks) = (metadata.sample_clock(), metadata.chip().has_wide_task_ids());
    let time = |raw: u64| if is_ticks { device.time(raw) } else { sample_clock.local_of_device(raw) };
    let hertz = metadata.info.core_mhz.unwrap_or(0.0) * 1e6;
    let asked = Some((metadata.sample.core_interval_ms * 1e6) as i64).filter(|interval| *interval > 0);
    let mut of_cores: BTreeMap<u8, Vec<(usize, i64)>> = BTreeMap::new();
    for (row, sample) in samples.rows().enumerate() {
        of_cores.entry(sample.core).or_default().push((row, time(sample.time)));
    }
    let mut uses: Vec<(usize, CoreUse)> = Vec::with_capacity(samples.len());
    for (core, mut rows) in of_cores {
        rows.sort_by_key(|(_, time)| *time);
        let second = rows.get(1).map(|(_, time)| time.saturating_sub(rows[0].1));
        let mut before = asked.or(second).map(|interval| rows[0].1.saturating_sub(interval));
        for (row, time) in rows {
            let cycles = samples.cycles()[row];
            let passed = before.map_or(0.0, |before| time.saturating_sub(before) as f64 / 1e9) * hertz;
            before = Some(time);
            if passed > 0.0 {
                uses.push((row, CoreUse { time, core, cycles, usage: cycles as f64 * 100.0 / passed }));
            }
        }
    }
    uses.sort_by_key(|(row, _)| *row);
    uses.into_iter().map(|(_, used)| used).collect()
}
