//! `ai_cpu_top_function`, `ctrl_cpu_top_function`, `ts_cpu_top_function` and the tables `…_pmu_events`: the
//! functions that a device's own processors spent most cycles on, and what they counted in all.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::export::sheet::Sheet;
use crate::facts::view::View;
use crate::headings::{owned, written};
use crate::kinds::processor_events::{CYCLES, event_name};
use crate::metadata::Sample;
use crate::tables::FunctionTables;
use crate::text::numbers::{push_float, python_round};

/// How many functions of the task scheduler are listed.
const SCHEDULER_FUNCTIONS: usize = 5;

/// A kind of processors that prints what it ran.
#[derive(Clone, Copy)]
enum Processors {
    Ai,
    Control,
}

/// The tables of functions and events of all kinds of processors.
pub(crate) fn sheets<'a>(view: &'a View<'a>) -> Vec<Sheet<'a>> {
    let all = [
        top_functions(view, Processors::Ai),
        events(view, Processors::Ai),
        top_functions(view, Processors::Control),
        events(view, Processors::Control),
        scheduler_functions(view),
        scheduler_events(view),
    ];
    all.into_iter().flatten().collect()
}

/// The samples of a kind of processors on each device: event, count, function and module.
fn samples<'a>(
    view: &'a View<'a>,
    processors: Processors,
) -> impl Iterator<Item = (u32, &'a FunctionTables, Vec<usize>)> {
    view.devices.iter().map(move |device| {
        let device = device.device;
        let list = match processors {
            Processors::Ai => &device.metadata.info.ai_cpus,
            Processors::Control => &device.metadata.info.control_cpus,
        };
        let numbers: Vec<u32> = list.split(',').filter_map(|number| number.trim().parse().ok()).collect();
        let tables = &device.tables.samples.functions;
        let of_kind = |row: &usize| numbers.contains(&tables.processors.processor()[*row]);
        (device.id, tables, (0..tables.processors.len()).filter(of_kind).collect())
    })
}

/// The functions by the cycles that they took.
fn top_functions<'a>(view: &'a View<'a>, processors: Processors) -> Option<Sheet<'a>> {
    let mut lines: Vec<(u32, &'a str, &'a str, u64, f64)> = Vec::new();
    for (device, tables, rows) in samples(view, processors) {
        let samples = &tables.processors;
        let mut functions: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for row in rows.into_iter().filter(|row| samples.event()[*row] == CYCLES) {
            let [function, module] = [samples.function()[row], samples.module()[row]]
                .map(|text| tables.texts.get(text as usize).map_or("", String::as_str));
            let cycles = functions.entry((function, module)).or_default();
            *cycles = cycles.saturating_add(samples.count()[row]);
        }
        let all: f64 = functions.values().map(|cycles| *cycles as f64).sum();
        let mut functions: Vec<_> = functions.into_iter().filter(|(_, cycles)| *cycles > 0).collect();
        functions.sort_by_key(|(_, cycles)| Reverse(*cycles));
        lines.extend(functions.into_iter().map(|((function, module), cycles)| {
            (device, function, module, cycles, cycles as f64 * 100.0 / all)
        }));
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: match processors {
            Processors::Ai => "ai_cpu_top_function",
            Processors::Control => "ctrl_cpu_top_function",
        },
        headers: owned(&written::TOP_FUNCTION),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, function, module, cycles, share) = lines[index];
            row.integer(device);
            row.text(function);
            row.text(module);
            row.integer(cycles);
            row.float(python_round(share, 3));
        }),
    })
}

/// The events by how often they happened.
fn events<'a>(view: &'a View<'a>, processors: Processors) -> Option<Sheet<'a>> {
    let mut lines = Vec::new();
    for (device, tables, rows) in samples(view, processors) {
        let samples = &tables.processors;
        add_events(
            &mut lines,
            device,
            rows.into_iter().map(|row| (samples.event()[row], samples.count()[row])),
        );
    }
    let kind = match processors {
        Processors::Ai => "ai_cpu_pmu_events",
        Processors::Control => "ctrl_cpu_pmu_events",
    };
    event_sheet(kind, lines)
}

/// A device, an event and how often it happened.
type EventLine = (u32, u32, u64);

fn add_events(lines: &mut Vec<EventLine>, device: u32, counts: impl Iterator<Item = (u32, u64)>) {
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for (event, count) in counts {
        let sum = sums.entry(event).or_default();
        *sum = sum.saturating_add(count);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| Reverse(*sum));
    lines.extend(sums.into_iter().map(|(event, sum)| (device, event, sum)));
}

fn event_sheet(kind: &'static str, lines: Vec<EventLine>) -> Option<Sheet<'static>> {
    (!lines.is_empty()).then(|| Sheet {
        kind,
        headers: owned(&written::PROCESSOR_EVENTS),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, event, count) = lines[index];
            row.integer(device);
            row.text(&format!("{event:#x}"));
            row.text(event_name(event).unwrap_or("N/A"));
            row.integer(count);
        }),
    })
}

/// The addresses by the cycles that the task scheduler's processor took there.
fn scheduler_functions<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<(u32, u64, u64, f64)> = Vec::new();
    for device in &view.devices {
        let mut functions: BTreeMap<u64, u64> = BTreeMap::new();
        let samples = device.device.tables.samples.functions.scheduler.rows();
        for sample in samples.filter(|sample| sample.event == CYCLES) {
            let cycles = functions.entry(sample.address).or_default();
            *cycles = cycles.saturating_add(sample.count);
        }
        let all: f64 = functions.values().map(|cycles| *cycles as f64).sum();
        let mut functions: Vec<_> = functions.into_iter().filter(|(_, cycles)| *cycles > 0).collect();
        functions.sort_by_key(|(_, cycles)| Reverse(*cycles));
        let top = functions.into_iter().take(SCHEDULER_FUNCTIONS);
        lines.extend(
            top.map(|(address, cycles)| (device.device.id, address, cycles, cycles as f64 * 100.0 / all)),
        );
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: "ts_cpu_top_function",
        headers: owned(&written::SCHEDULER_FUNCTION),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, address, cycles, share) = lines[index];
            row.integer(device);
            row.text(&format!("{address:#x}"));
            row.integer(cycles);
            row.number(|out| push_float(out, python_round(share, 3)));
        }),
    })
}

/// The events that the task scheduler's processor was asked to count.
fn scheduler_events<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines = Vec::new();
    for device in &view.devices {
        let Sample { scheduler_events, .. } = &device.device.metadata.sample;
        let samples = device.device.tables.samples.functions.scheduler.rows();
        let asked = samples.filter(|sample| scheduler_events.contains(&sample.event));
        add_events(&mut lines, device.device.id, asked.map(|sample| (sample.event, sample.count)));
    }
    event_sheet("ts_cpu_pmu_events", lines)
}
