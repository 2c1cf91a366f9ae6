//! `cpu_usage`, `sys_mem`, `process_cpu_usage` and `process_mem`: what a system and its processes used of
//! processors and memory, the host's and each device's.

use std::collections::BTreeMap;

use crate::export::sheet::{Row, Sheet};
use crate::facts::view::View;
use crate::headings::{owned, written};
use crate::metadata::Info;
use crate::tables::SystemTables;
use crate::text::numbers::python_round;

/// A system: the device, `None` for the host, its description and its samples.
type System<'a> = (Option<u32>, &'a Info, &'a SystemTables);

/// All devices, then the host.
fn systems<'a>(view: &'a View<'a>) -> Vec<System<'a>> {
    let data = &view.joined.data;
    let host = data.profile.metadata().map(|metadata| (None, &metadata.info, &data.host.system));
    let devices = view.devices.iter().map(|device| {
        let device = device.device;
        (Some(device.id), &device.metadata.info, &device.tables.samples.system)
    });
    devices.chain(host).collect()
}

/// The cell that says which system a row is about.
fn name(row: &mut Row<'_>, device: Option<u32>) {
    match device {
        Some(device) => row.integer(device),
        None => row.text("host"),
    }
}

/// Percent of the time that kinds of processors spent, all samples together. A sample tells the time since
/// the system's start, so the first ones count again in each of the later ones, as in the reference.
pub(crate) fn cpu_usage<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    /// User, system, waiting, interrupts, soft interrupts, idle.
    const SHOWN: [usize; 6] = [0, 2, 4, 5, 6, 3];
    let mut rows: Vec<(Option<u32>, &'static str, [f64; 10])> = Vec::new();
    for (device, info, tables) in systems(view) {
        let mut kinds: BTreeMap<&'static str, [f64; 10]> = BTreeMap::new();
        for sample in tables.processors.rows() {
            let is_in = |list: &str| {
                sample.processor.is_some_and(|number| {
                    list.split(',').any(|known| known.trim().parse::<u32>() == Ok(number))
                })
            };
            let kind = match device {
                _ if is_in(&info.control_cpus) => "ctrlcpu",
                _ if is_in(&info.ai_cpus) => "aicpu",
                None => "host",
                Some(_) => continue,
            };
            let sums = kinds.entry(kind).or_default();
            sums.iter_mut().zip(sample.jiffies).for_each(|(sum, jiffies)| *sum += jiffies as f64);
        }
        rows.extend(kinds.into_iter().map(|(kind, sums)| (device, kind, sums)));
    }
    (!rows.is_empty()).then(|| Sheet {
        kind: "cpu_usage",
        headers: owned(&written::CPU_USAGE),
        rows: rows.len(),
        write: Box::new(move |index, row| {
            let (device, kind, sums) = &rows[index];
            let all: f64 = sums.iter().sum();
            name(row, *device);
            row.word(kind);
            for place in SHOWN {
                let share = if all > 0.0 { sums[place] / all * 100.0 } else { 0.0 };
                row.float(python_round(share, 3));
            }
        }),
    })
}

/// Mean memory of systems.
pub(crate) fn sys_mem<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    type Means = [Option<u64>; 9];
    let mut rows: Vec<(Option<u32>, Means)> = Vec::new();
    let mut unit = "";
    for (device, _, tables) in systems(view).into_iter().filter(|(.., tables)| !tables.memory.is_empty()) {
        if unit.is_empty() {
            unit = &tables.memory_unit;
        }
        let count = tables.memory.len() as u128;
        let mean = |place: usize| {
            let known = || tables.memory.values().iter().filter_map(|values| values[place]);
            known().next()?;
            Some((known().map(u128::from).sum::<u128>() / count) as u64)
        };
        rows.push((device, std::array::from_fn(mean)));
    }
    let heading = |(place, heading): (usize, &&str)| match place {
        1..=7 => format!("{heading}({unit})"),
        _ => (*heading).to_owned(),
    };
    (!rows.is_empty()).then(|| Sheet {
        kind: "sys_mem",
        headers: written::SYS_MEM.iter().enumerate().map(heading).collect(),
        rows: rows.len(),
        write: Box::new(move |index, row| {
            let (device, means) = &rows[index];
            name(row, *device);
            means.iter().for_each(|mean| match mean {
                Some(mean) => row.integer(*mean),
                None => row.text(""),
            });
        }),
    })
}

/// Mean share of all processors' time that processes used, the busiest first.
pub(crate) fn process_cpu_usage<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut rows: Vec<(Option<u32>, u64, &'a str, f64)> = Vec::new();
    for (device, _, tables) in systems(view) {
        let mut of_process: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for sample in tables.process_time.rows() {
            let used: f64 = sample.jiffies.iter().map(|jiffies| *jiffies as f64).sum();
            let (sum, count) = of_process.entry(sample.process).or_default();
            *sum += if sample.all > 0 { used / sample.all as f64 } else { 0.0 };
            *count += 1.0;
        }
        let mean = |(process, (sum, count)): (u64, (f64, f64))| {
            (device, process, process_name(tables, process), 100.0 * sum / count)
        };
        let mut means: Vec<_> = of_process.into_iter().map(mean).collect();
        means.sort_by(|one, other| other.3.total_cmp(&one.3));
        rows.extend(means);
    }
    (!rows.is_empty()).then(|| Sheet {
        kind: "process_cpu_usage",
        headers: owned(&written::PROCESS_CPU_USAGE),
        rows: rows.len(),
        write: Box::new(move |index, row| {
            let (device, process, process_name, share) = rows[index];
            name(row, device);
            row.integer(process);
            row.text(process_name);
            row.float(python_round(share, 3));
        }),
    })
}

/// Mean memory of processes, the largest first.
pub(crate) fn process_mem<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut rows: Vec<(Option<u32>, u64, &'a str, [u64; 3])> = Vec::new();
    for (device, _, tables) in systems(view) {
        let mut of_process: BTreeMap<u64, ([u128; 3], u128)> = BTreeMap::new();
        for sample in tables.process_memory.rows() {
            let (sums, count) = of_process.entry(sample.process).or_default();
            sums.iter_mut().zip(sample.pages).for_each(|(sum, pages)| *sum += u128::from(pages));
            *count += 1;
        }
        let mean = |(process, (sums, count)): (u64, ([u128; 3], u128))| {
            (device, process, process_name(tables, process), sums.map(|sum| (sum / count) as u64))
        };
        let mut means: Vec<_> = of_process.into_iter().map(mean).collect();
        let all = |pages: &[u64; 3]| pages.iter().map(|pages| u128::from(*pages)).sum::<u128>();
        means.sort_by_key(|(.., pages)| std::cmp::Reverse(all(pages)));
        rows.extend(means);
    }
    (!rows.is_empty()).then(|| Sheet {
        kind: "process_mem",
        headers: owned(&written::PROCESS_MEM),
        rows: rows.len(),
        write: Box::new(move |index, row| {
            let (device, process, process_name, pages) = rows[index];
            name(row, device);
            row.integer(process);
            row.text(process_name);
            pages.iter().for_each(|pages| row.integer(*pages));
        }),
    })
}

fn process_name(tables: &SystemTables, process: u64) -> &str {
    tables.names.get(&process).map_or("", String::as_str)
}
