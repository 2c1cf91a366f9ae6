//! A 310's last-level cache over time: its traffic, and how much of it the device's own processors hold.

use crate::facts::cache_events::{Accesses, Holders, cache_held, cache_traffic};
use crate::facts::view::DeviceView;
use crate::lane_choice::Layer;
use crate::timeline::samples::Counters;

/// Whether a device has events for a layer: traffic and the parts of AI processors are in one, those of control
/// processors in another.
pub(super) fn has_cache_events(device: &DeviceView<'_>, layer: Layer) -> bool {
    match layer {
        Layer::LlcControl => !cache_held(device, Holders::Control).1.is_empty(),
        _ => !cache_traffic(device).is_empty() || !cache_held(device, Holders::Ai).1.is_empty(),
    }
}

/// Writes the events of a layer.
pub(super) fn cache_events(
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    layer: Layer,
    is_shown: impl Fn(i64) -> bool,
) {
    let holders = if layer == Layer::LlcControl { Holders::Control } else { Holders::Ai };
    let traffic = if holders == Holders::Ai { cache_traffic(device) } else { Vec::new() };
    counters.named(match (holders, traffic.is_empty()) {
        (Holders::Control, _) => "LLC of Ctrl CPU",
        (Holders::Ai, true) => "LLC of AI CPU",
        (Holders::Ai, false) => "LLC Bandwidth",
    });
    for sample in traffic.into_iter().filter(|sample| is_shown(sample.time)) {
        let mut add = |name: &str, accesses: Accesses| {
            let [all, hits] = accesses.rounded_throughput(sample.seconds);
            let values = [
                ("BandWidth(MB/s)", all),
                ("Hit Rate(%)", accesses.hit_percent()),
                ("Hit BandWidth(MB/s)", hits),
            ];
            counters.add(name, sample.time, &values);
        };
        add("LLC/Read", sample.read);
        add("LLC/Write", sample.written);
    }
    for held in cache_held(device, holders).1.into_iter().filter(|held| is_shown(held.time)) {
        let name = format!("Core {}", held.place);
        counters.add(&name, held.time, &[("Capacity(MB)", held.megabytes())]);
    }
}
