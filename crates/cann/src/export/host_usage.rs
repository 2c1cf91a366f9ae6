//! `host_cpu_usage`, `host_mem_usage`, `host_disk_usage` and `host_network_usage`: what of the host
//! the program needed, and how much of it a machine should have.

use std::collections::BTreeMap;

use crate::export::sheet::{Row, Sheet};
use crate::facts::view::View;
use crate::headings::{owned, written};
use crate::metadata::Info;
use crate::tables::HostSampleTables;
use crate::text::numbers::python_round;

/// A machine should be no busier than this.
const BEST_LOAD: f64 = 0.8;

/// The share of samples for which the recommendation must do.
const PERCENTILE: f64 = 0.98;

/// The largest of some values, and what a machine should have: the 98th percentile of those above
/// zero with some room.
fn peak_and_recommendation(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let peak = values.last().copied().unwrap_or(0.0);
    values.retain(|value| *value > 0.0);
    let rank = (values.len().saturating_sub(1) as f64 * PERCENTILE).ceil() as usize;
    (peak, values.get(rank).copied().unwrap_or(0.0) / BEST_LOAD)
}

/// A table of a single row about the host.
fn single<'a>(
    kind: &'static str,
    headings: &[&str],
    write: impl Fn(&mut Row<'_>) + Send + Sync + 'a,
) -> Sheet<'a> {
    Sheet {
        kind,
        headers: owned(headings),
        rows: 1,
        write: Box::new(move |_, row| {
            row.text("host");
            write(row);
        }),
    }
}

/// All tables about the host that have something to show.
pub(crate) fn sheets<'a>(view: &'a View<'a>) -> Vec<Sheet<'a>> {
    let samples = &view.joined.data.host.samples;
    let Some(metadata) = view.joined.data.profile.metadata() else { return Vec::new() };
    let info = &metadata.info;
    [cpu(samples, info), memory(samples, info), disk(samples), network(samples, info)]
        .into_iter()
        .flatten()
        .collect()
}

fn cpu<'a>(samples: &HostSampleTables, info: &Info) -> Option<Sheet<'a>> {
    let mut most_used: BTreeMap<u32, f64> = BTreeMap::new();
    for sample in samples.cpu.rows() {
        let Some(cpu) = sample.cpu else { continue };
        let usage = most_used.entry(cpu).or_default();
        *usage = usage.max(sample.usage);
    }
    let (all, occupied) = (info.cpus, most_used.len());
    let needed = most_used.values().filter(|usage| **usage > 0.0).count();
    (!samples.cpu.is_empty()).then(|| {
        single("host_cpu_usage", &written::HOST_CPU_USAGE, move |row| {
            row.integer(all);
            row.integer(occupied);
            row.integer(needed);
        })
    })
}

fn memory<'a>(samples: &HostSampleTables, info: &Info) -> Option<Sheet<'a>> {
    let (peak, recommended) = peak_and_recommendation(samples.memory.usage().iter().copied());
    let total = info.memory_kb;
    let kilobytes = move |percent: f64| python_round(percent * total as f64 / 100.0, 3);
    (!samples.memory.is_empty()).then(|| {
        single("host_mem_usage", &written::HOST_MEM_USAGE, move |row| {
            row.integer(total);
            row.float(kilobytes(peak));
            row.float(kilobytes(recommended));
        })
    })
}

fn disk<'a>(samples: &HostSampleTables) -> Option<Sheet<'a>> {
    let read = peak_and_recommendation(samples.disk.read().iter().copied());
    let write = peak_and_recommendation(samples.disk.write().iter().copied());
    (!samples.disk.is_empty()).then(|| {
        single("host_disk_usage", &written::HOST_DISK_USAGE, move |row| {
            [read.0, read.1, write.0, write.1].into_iter().for_each(|value| row.float(value));
        })
    })
}

fn network<'a>(samples: &HostSampleTables, info: &Info) -> Option<Sheet<'a>> {
    const KILOBYTES_PER_MEGABIT: f64 = 125_000.0 / 1_024.0;
    let cards = info.network.iter().filter(|(_, megabits)| *megabits > 0.0);
    let capacity: f64 = cards.map(|(_, megabits)| megabits * KILOBYTES_PER_MEGABIT).sum();
    let (peak, recommended) = peak_and_recommendation(samples.network.speed().iter().copied());
    (!samples.network.is_empty()).then(|| {
        single("host_network_usage", &written::HOST_NETWORK_USAGE, move |row| {
            [capacity, peak, recommended].into_iter().for_each(|value| row.float(value));
        })
    })
}

#[cfg(test)]
mod tests {
    use super::peak_and_recommendation;

    #[test]
    fn recommendations_leave_room_above_the_98th_percentile_of_what_was_used() {
        let values = (0..=100).map(f64::from);
        assert_eq!(peak_and_recommendation(values), (100.0, 123.75));
        assert_eq!(peak_and_recommendation([0.0, 8.0].into_iter()), (8.0, 10.0));
        assert_eq!(peak_and_recommendation(std::iter::empty()), (0.0, 0.0));
    }
}
