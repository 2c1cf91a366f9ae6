//! `CPU_USAGE`, `HOST_MEM_USAGE`, `HOST_DISK_USAGE` and `HOST_NETWORK_USAGE`: how busy the host was.

use std::io::{self, Seek, Write};

use crate::database::output::Output;
use crate::database::schema;
use crate::facts::view::View;
use crate::tables::HostCpuSample;

/// Writes the tables; one without rows is left out.
pub(super) fn write<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    const KILOBYTE: f64 = 1_024.0;
    let samples = &view.joined.data.host.samples;
    let offset = view.joined.data.host_clock.offset();
    let begin = view.begin();
    // These files carry nanoseconds of the host's monotonic clock.
    let time = |monotonic: u64| i64::try_from(monotonic).unwrap_or(i64::MAX).saturating_add(offset);

    let of_one_cpu =
        |sample: HostCpuSample| Some((sample.cpu?, sample)).filter(|_| time(sample.start) >= begin);
    let mut cpus: Vec<(u32, HostCpuSample)> = samples.cpu.rows().filter_map(of_one_cpu).collect();
    cpus.sort_by_key(|(cpu, _)| *cpu);
    if !cpus.is_empty() {
        out.table(&schema::CPU_USAGE, cpus.len(), |index, row| {
            let (cpu, sample) = cpus[index];
            row.integer(time(sample.start));
            row.integer(i64::from(cpu));
            row.number(sample.usage);
        })?;
    }
    let memory: Vec<_> = samples.memory.rows().filter(|sample| time(sample.start) >= begin).collect();
    if !memory.is_empty() {
        out.table(&schema::HOST_MEM_USAGE, memory.len(), |index, row| {
            row.integer(time(memory[index].start));
            row.number(memory[index].usage);
        })?;
    }
    let disk: Vec<_> = samples.disk.rows().filter(|sample| time(sample.start) >= begin).collect();
    if !disk.is_empty() {
        out.table(&schema::HOST_DISK_USAGE, disk.len(), |index, row| {
            row.integer(time(disk[index].start));
            row.number(disk[index].read * KILOBYTE);
            row.number(disk[index].write * KILOBYTE);
            row.number(disk[index].usage);
        })?;
    }
    let network: Vec<_> = samples.network.rows().filter(|sample| time(sample.start) >= begin).collect();
    if !network.is_empty() {
        out.table(&schema::HOST_NETWORK_USAGE, network.len(), |index, row| {
            row.integer(time(network[index].start));
            row.number(network[index].usage);
            row.number(network[index].speed * KILOBYTE);
        })?;
    }
    Ok(())
}
