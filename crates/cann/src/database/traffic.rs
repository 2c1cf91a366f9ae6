//! `HBM`, `DDR`, `LLC`, `PCIE`, `HCCS`, `NIC` and `ROCE`: traffic of memories, caches, links and
//! networks.

use std::io::{self, Seek, Write};

use crate::database::output::Output;
use crate::database::samples::begin;
use crate::database::schema::{self, Table};
use crate::facts::rates::{
    PCIE_LATENCY, Rates, cache_use, ddr_rates, hbm_rates, hccs_rates, network_device_rates, pcie_samples,
};
use crate::facts::view::{DeviceView, View};
use crate::quantities::NETWORK_DEVICE_VALUES;
use crate::tables::{NetworkSample, NetworkTable};

/// Bytes of a megabyte.
const MEGABYTE: f64 = 1_048_576.0;

/// Bytes a second, without a fraction, of megabytes a second.
fn bytes(megabytes: f64) -> i64 {
    (megabytes * MEGABYTE) as i64
}

/// Writes the tables; one without rows is left out.
pub(super) fn write<'a, W: Write + Seek + Send>(
    view: &'a View<'_>,
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    write_hbm(view, out)?;
    write_rates(view, &schema::DDR, ddr_rates, out)?;
    write_cache(view, out)?;
    write_pcie(view, out)?;
    write_rates(view, &schema::HCCS, hccs_rates, out)?;
    write_network(view, &schema::NIC, |device| &device.device.tables.samples.nic, out)?;
    write_network(view, &schema::ROCE, |device| &device.device.tables.samples.roce, out)?;
    write_network_device(view, out)?;
    write_unified_bus(view, out)
}

fn write_unified_bus<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let timed = |device: &DeviceView<'_>| {
        let clock = device.device.metadata.sample_clock();
        let samples = device.device.tables.samples.unified_bus.rows();
        samples.map(|sample| (clock.local(sample.time), sample)).collect()
    };
    let rows = collect(view, timed, |(time, _)| *time);
    if rows.is_empty() {
        return Ok(());
    }
    out.table(&schema::UB, rows.len(), |index, row| {
        let (device, (time, sample)) = &rows[index];
        row.integer(i64::from(*device));
        row.integer(i64::from(sample.port));
        row.integer(*time);
        row.integer(sample.received as i64);
        row.integer(sample.sent as i64);
    })
}

fn write_network_device<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let offset = view.joined.data.host_clock.offset();
    let rows = collect(view, |device| network_device_rates(device, offset), |rates| rates.time);
    if rows.is_empty() {
        return Ok(());
    }
    out.table(&schema::NETDEV_STATS, rows.len(), |index, row| {
        let (device, rates) = &rows[index];
        row.integer(i64::from(*device));
        row.integer(rates.time);
        for (_, _, unit, place) in NETWORK_DEVICE_VALUES {
            let count = rates.counts[place];
            match unit {
                "B/s" => row.number(count as f64 / rates.seconds),
                _ => row.integer(count as i64),
            }
        }
    })
}

/// The samples of all devices since the collection's begin, each with its device's number.
pub(super) fn collect<T>(
    view: &View<'_>,
    samples: impl Fn(&DeviceView<'_>) -> Vec<T>,
    time: impl Fn(&T) -> i64,
) -> Vec<(u32, T)> {
    let of_device = |device: &DeviceView<'_>| {
        let (begin, id) = (begin(device), device.device.id);
        let shown = samples(device).into_iter().filter(|sample| time(sample) >= begin);
        shown.map(|sample| (id, sample)).collect::<Vec<_>>()
    };
    view.devices.iter().flat_map(of_device).collect()
}

fn write_hbm<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let rows = collect(view, hbm_rates, |rate| rate.time);
    if rows.is_empty() {
        return Ok(());
    }
    let [read, write] = ["read", "write"].map(|text| out.strings.add(text));
    out.table(&schema::HBM, rows.len(), |index, row| {
        let (device, rate) = rows[index];
        row.integer(i64::from(device));
        row.integer(rate.time);
        row.integer(bytes(rate.rate));
        row.integer(i64::from(rate.id));
        row.integer(i64::from(if rate.is_read { read } else { write }));
    })
}

/// Writes a table of traffic in both directions.
fn write_rates<W: Write + Seek + Send>(
    view: &View<'_>,
    table: &Table,
    rates: fn(&DeviceView<'_>) -> Vec<Rates>,
    out: &mut Output<'_, W>,
) -> io::Result<()> {
    let rows = collect(view, rates, |rate| rate.time);
    if rows.is_empty() {
        return Ok(());
    }
    out.table(table, rows.len(), |index, row| {
        let (device, rate) = rows[index];
        row.integer(i64::from(device));
        row.integer(rate.time);
        row.integer(bytes(rate.out));
        row.integer(bytes(rate.back));
    })
}

fn write_cache<'a, W: Write + Seek + Send>(view: &'a View<'_>, out: &mut Output<'a, W>) -> io::Result<()> {
    let rows = collect(view, cache_use, |sample| sample.time);
    let Some(first) = view.devices.first().filter(|_| !rows.is_empty()) else { return Ok(()) };
    let mode = out.strings.add(&first.device.metadata.sample.llc);
    out.table(&schema::LLC, rows.len(), |index, row| {
        const PERCENT: f64 = 100.0;
        let (device, sample) = rows[index];
        row.integer(i64::from(device));
        row.integer(i64::from(sample.id));
        row.integer(sample.time);
        row.real(sample.hit_rate * PERCENT);
        row.integer(bytes(sample.throughput));
        row.integer(i64::from(mode));
    })
}

fn write_pcie<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let timed = |device: &DeviceView<'_>| {
        let clock = device.device.metadata.sample_clock();
        pcie_samples(device).map(|sample| (clock.local_of_device(sample.time), sample)).collect()
    };
    let rows = collect(view, timed, |(time, _)| *time);
    if rows.is_empty() {
        return Ok(());
    }
    out.table(&schema::PCIE, rows.len(), |index, row| {
        // Recorded are bytes a microsecond.
        const PER_SECOND: i64 = 1_000_000;
        let (_, (time, sample)) = rows[index];
        row.integer(i64::from(sample.device));
        row.integer(time);
        for (kind, values) in sample.values.iter().enumerate() {
            let factor = if kind == PCIE_LATENCY { 1 } else { PER_SECOND };
            values.iter().for_each(|value| row.integer(i64::from(*value) * factor));
        }
    })
}

/// Writes a table of what went through ports.
fn write_network<W: Write + Seek + Send>(
    view: &View<'_>,
    table: &Table,
    samples: for<'b> fn(&'b DeviceView<'_>) -> &'b NetworkTable,
    out: &mut Output<'_, W>,
) -> io::Result<()> {
    let timed = |device: &DeviceView<'_>| -> Vec<(i64, NetworkSample)> {
        let clock = device.device.metadata.sample_clock();
        samples(device).rows().map(|sample| (clock.local_of_device(sample.time), sample)).collect()
    };
    let rows = collect(view, timed, |(time, _)| *time);
    if rows.is_empty() {
        return Ok(());
    }
    out.table(table, rows.len(), |index, row| {
        let (device, (time, sample)) = rows[index];
        row.integer(i64::from(device));
        row.integer(time);
        row.integer(bytes(sample.bandwidth as f64));
        for counts in [sample.received, sample.sent] {
            row.number(counts.packet_rate);
            row.number(counts.byte_rate);
            row.number(counts.packets);
            row.number(counts.bytes);
            row.number(counts.errors);
            row.number(counts.dropped);
        }
        row.integer(i64::from(sample.port));
    })
}
