//! Samples of devices over time, as counters of a trace.

use opscope_trace::{Counter, CounterId, Sample};

use super::Projection;
use crate::facts::rates::{hbm_rates, scope_name};
use crate::facts::view::DeviceView;
use crate::vocabulary;

impl Projection<'_> {
    pub(super) fn samples(&mut self) {
        let view = self.view;
        for (number, device) in view.devices.iter().enumerate() {
            self.frequencies(number, device);
            let rates = hbm_rates(device);
            let clock = device.device.metadata.sample_clock();
            let mut samples: Vec<(String, &str, i64, f64)> = Vec::new();
            for rate in rates {
                let direction = if rate.is_read { "read" } else { "write" };
                samples.push((format!("HBM {} {direction}", rate.id), "MB/s", rate.time, rate.rate));
            }
            for row in device.device.tables.samples.npu_memory.rows() {
                let (scope, time) = (scope_name(row.scope), clock.local(row.time));
                samples.push((vocabulary::memory_counter(scope, "DDR"), "B", time, row.ddr as f64));
                samples.push((vocabulary::memory_counter(scope, "HBM"), "B", time, row.hbm as f64));
            }
            let memory_of_ge = |quantity| vocabulary::memory_counter("GE", quantity);
            let notes = view.joined.data.host.task_memory.rows();
            for note in notes.filter(|note| note.device == device.device.id) {
                let time = view.host_time(note.time);
                samples.push((memory_of_ge("allocated"), "B", time, note.total_allocated as f64));
                samples.push((memory_of_ge("reserved"), "B", time, note.total_reserved as f64));
            }
            samples.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
            for of_counter in samples.chunk_by(|a, b| a.0 == b.0) {
                let counter = self.counter(&of_counter[0].0, of_counter[0].1, number);
                for &(_, _, wall, value) in of_counter {
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
        let counter = self.counter(vocabulary::CORE_FREQUENCY, "MHz", number);
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
