//! `nic` and `roce`: what went through a device's network ports.
//!
//! The reference takes durations in nanoseconds for seconds here, so that its rates are zero and its
//! time is a duration. Rates are per second in these tables, and the time is that of the first
//! sample.

use crate::export::sheet::Sheet;
use crate::facts::rates::{by_port, efficiency, share};
use crate::facts::view::{DeviceView, View};
use crate::headings::{owned, written};
use crate::tables::{NetworkSample, NetworkTable, PortCounts};
use crate::text::numbers::python_round;

/// The table of the network card's ports.
pub(crate) fn nic<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    sheet(view, "nic", |device| &device.device.tables.samples.nic)
}

/// The table of the ports for RDMA.
pub(crate) fn roce<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    sheet(view, "roce", |device| &device.device.tables.samples.roce)
}

/// A port's traffic in one direction, in the table's units.
#[derive(Clone, Copy, Debug)]
struct Direction {
    /// Percent of what the port can carry.
    efficiency: f64,
    packets_per_second: f64,
    error_percent: f64,
    dropped_percent: f64,
}

/// A port's traffic.
struct Port {
    begin: i64,
    bandwidth: u64,
    received: Direction,
    sent: Direction,
    number: u32,
}

fn sheet<'a>(
    view: &'a View<'a>,
    kind: &'static str,
    table: fn(&'a DeviceView<'a>) -> &'a NetworkTable,
) -> Option<Sheet<'a>> {
    let mut lines: Vec<(u32, Port)> = Vec::new();
    for device in &view.devices {
        for (number, samples) in by_port(table(device)) {
            lines.extend(port(device, number, &samples).map(|port| (device.device.id, port)));
        }
    }
    (!lines.is_empty()).then(|| Sheet {
        kind,
        headers: owned(&written::PORTS),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, port) = &lines[index];
            row.integer(*device);
            row.time(port.begin);
            row.float(port.bandwidth as f64);
            for side in [port.received, port.sent] {
                row.float(side.efficiency);
                row.float(side.packets_per_second);
                row.float(side.error_percent);
                row.float(side.dropped_percent);
            }
            row.integer(port.number);
        }),
    })
}

fn port(device: &DeviceView<'_>, number: u32, samples: &[NetworkSample]) -> Option<Port> {
    let (first, last) = (samples.first()?, samples.last()?);
    let seconds = (last.time - first.time) as f64 / 1e9;
    let side =
        |counts: fn(&NetworkSample) -> PortCounts| direction(first.bandwidth, seconds, samples, counts);
    Some(Port {
        begin: device.device.metadata.sample_clock().local_of_device(first.time),
        bandwidth: first.bandwidth,
        received: side(|sample| sample.received),
        sent: side(|sample| sample.sent),
        number,
    })
}

/// One direction of a port. The only sample of a port shows the rates that it has itself.
fn direction(
    bandwidth: u64,
    seconds: f64,
    samples: &[NetworkSample],
    counts: fn(&NetworkSample) -> PortCounts,
) -> Direction {
    let counts: Vec<PortCounts> = samples.iter().map(counts).collect();
    let first = counts.first().copied().unwrap_or_default();
    let last = counts.last().copied().unwrap_or_default();
    let bytes_per_second =
        if seconds > 0.0 { (last.bytes - first.bytes).max(0.0) / seconds } else { first.byte_rate };
    let packets_per_second =
        counts.iter().map(|count| count.packet_rate).sum::<f64>() / counts.len().max(1) as f64;
    Direction {
        efficiency: python_round(efficiency(bytes_per_second, bandwidth) * 100.0, 3),
        packets_per_second: python_round(packets_per_second, 3),
        error_percent: python_round(share(last.errors, last.packets) * 100.0, 3),
        dropped_percent: python_round(share(last.dropped, last.packets) * 100.0, 3),
    }
}
