//! Counters of the monitors beside cores.

use crate::facts::monitors::monitor_counters;
use crate::facts::view::DeviceView;
use crate::timeline::samples::Counters;

/// Writes the readings of a device's monitors.
pub(super) fn monitors(device: &DeviceView<'_>, counters: &mut Counters<'_>, is_shown: impl Fn(i64) -> bool) {
    for counter in monitor_counters(device) {
        for (time, values) in counter.readings.iter().filter(|(time, _)| is_shown(*time)) {
            let headings = counter.headings.iter().map(String::as_str);
            let values: Vec<(&str, f64)> = headings.zip(values.iter().copied()).collect();
            counters.add(&counter.name, *time, &values);
        }
    }
}
