//! `ACC_PMU`, `SOC_BANDWIDTH_LEVEL`, `SIO` and `QOS`: levels of bandwidth, traffic between dies, and quality
//! of service.

use std::io::{self, Seek, Write};

use crate::database::output::Output;
use crate::database::schema;
use crate::database::traffic::collect;
use crate::facts::links::{DieRate, accelerators, bandwidths, die_name, die_rates, qualities};
use crate::facts::view::{DeviceView, View};

/// Bytes of a megabyte.
const MEGABYTE: i64 = 1_048_576;

/// The rows that refer to texts, with these.
pub(super) struct LinkSamples {
    /// Device, the die's name.
    dies: Vec<(u32, (String, DieRate))>,
    qualities: Vec<(u32, Quality)>,
}

/// Bandwidth of one event.
struct Quality {
    time: i64,
    /// −1 for none.
    die: i64,
    event: String,
    /// Bytes a second.
    bandwidth: i64,
}

impl LinkSamples {
    /// The samples of all devices.
    pub(super) fn of_all(view: &View<'_>) -> Self {
        let named = |device: &DeviceView<'_>| {
            let rates = die_rates(device).into_iter();
            rates.map(|rate| (die_name(device, rate.die), rate)).collect()
        };
        let of_events = |device: &DeviceView<'_>| {
            let rows = qualities(device).map(|row| Quality {
                time: row.time,
                die: row.die.map_or(-1, i64::from),
                event: format!("QoS {}", row.event),
                bandwidth: i64::from(row.bandwidth) * MEGABYTE,
            });
            rows.collect()
        };
        Self {
            dies: collect(view, named, |(_, rate)| rate.time),
            qualities: collect(view, of_events, |row| row.time),
        }
    }

    /// Writes the tables; one without rows is left out.
    pub(super) fn write<'a, W: Write + Seek + Send>(
        &'a self,
        view: &View<'_>,
        out: &mut Output<'a, W>,
    ) -> io::Result<()> {
        write_accelerators(view, out)?;
        write_bandwidths(view, out)?;
        self.write_dies(out)?;
        self.write_qualities(out)
    }

    fn write_dies<'a, W: Write + Seek + Send>(&'a self, out: &mut Output<'a, W>) -> io::Result<()> {
        let names: Vec<u32> = self.dies.iter().map(|(_, (name, _))| out.strings.add(name)).collect();
        if names.is_empty() {
            return Ok(());
        }
        out.table(&schema::SIO, names.len(), |index, row| {
            let (device, (_, rate)) = &self.dies[index];
            row.integer(i64::from(*device));
            row.integer(i64::from(names[index]));
            row.integer(rate.time);
            rate.rates.iter().for_each(|rate| row.number(rate * MEGABYTE as f64));
        })
    }

    fn write_qualities<'a, W: Write + Seek + Send>(&'a self, out: &mut Output<'a, W>) -> io::Result<()> {
        let names: Vec<u32> = self.qualities.iter().map(|(_, row)| out.strings.add(&row.event)).collect();
        if names.is_empty() {
            return Ok(());
        }
        out.table(&schema::QOS, names.len(), |index, row| {
            let (device, quality) = &self.qualities[index];
            row.integer(i64::from(*device));
            row.integer(i64::from(names[index]));
            row.integer(quality.bandwidth);
            row.integer(quality.time);
            row.integer(quality.die);
        })
    }
}

fn write_accelerators<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let rows = collect(view, accelerators, |(time, _)| *time);
    if rows.is_empty() {
        return Ok(());
    }
    out.table(&schema::ACC_PMU, rows.len(), |index, row| {
        let (device, (time, sample)) = &rows[index];
        row.integer(i64::from(sample.accelerator));
        row.integer(sample.read_bandwidth as i64);
        row.integer(sample.write_bandwidth as i64);
        row.integer(sample.outstanding_reads as i64);
        row.integer(sample.outstanding_writes as i64);
        row.integer(*time);
        row.integer(i64::from(*device));
    })
}

fn write_bandwidths<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    let rows = collect(view, bandwidths, |(time, _)| *time);
    if rows.is_empty() {
        return Ok(());
    }
    out.table(&schema::SOC_BANDWIDTH_LEVEL, rows.len(), |index, row| {
        let (device, (time, sample)) = &rows[index];
        row.integer(i64::from(sample.buffer));
        row.integer(i64::from(sample.access_table));
        row.integer(*time);
        row.integer(i64::from(*device));
    })
}
