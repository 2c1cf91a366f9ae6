//! `aicpu`: operators on the device's general processors.

use crate::export::sheet::Sheet;
use crate::facts::last_begun::LastBegun;
use crate::facts::view::{TaskRef, View};
use crate::headings::{aicpu, owned};
use crate::tables::AiCpu;
use crate::text::numbers;
use opscope_trace::NumberMap;

/// The table, or `None` if no operator ran there.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<(usize, AiCpu, &'a str)> = Vec::new();
    for (number, device) in view.devices.iter().enumerate() {
        let tasks = &device.device.tables.tasks;
        let mut runs: NumberMap<(u16, u32), Vec<u32>> = NumberMap::default();
        for row in device.device.tables.ai_cpu.rows() {
            runs.entry((row.stream, u32::from(row.task))).or_default();
        }
        for task in 0..tasks.len() {
            if let Some(rows) = runs.get_mut(&(tasks.stream()[task], tasks.task()[task])) {
                rows.push(task as u32);
            }
        }
        let started = |rows: &[u32]| LastBegun::new(rows.iter().map(|&task| tasks.start()[task as usize]));
        let started: NumberMap<(u16, u32), LastBegun> =
            runs.iter().map(|(key, rows)| (*key, started(rows))).collect();
        for row in device.device.tables.ai_cpu.rows() {
            let in_window = device.window.is_none_or(|(start, end)| row.start > start && row.end < end);
            if !in_window {
                continue;
            }
            let key = (row.stream, u32::from(row.task));
            let of_task = runs.get(&key).map_or(&[][..], Vec::as_slice);
            // Numbers come again, so the run is the last one that began before the operator.
            let run = started.get(&key).and_then(|begun| begun.at(row.start)).map(|place| &of_task[place]);
            let name = run.or(of_task.first()).and_then(|&task| {
                let host = view.host_task(TaskRef { device: number as u32, task })?;
                Some(view.text(host.name))
            });
            lines.push((number, row, name.unwrap_or("N/A")));
        }
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: "aicpu",
        headers: owned(aicpu::ALL),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (number, record, name) = &lines[index];
            let device = &view.devices[*number];
            let clock = &device.device.clock;
            let micros = |ticks: u64| numbers::python_round(ticks as f64 / clock.hertz() as f64 * 1e6, 3);
            // The older record has nanoseconds, the newer one is shown as it is.
            let own = |value: u64| if record.old { value as f64 / 1_000.0 } else { value as f64 };
            row.integer(device.device.id);
            row.time(device.time(record.start));
            row.text(name);
            row.float(own(record.compute));
            row.float(own(record.copy));
            row.float(micros(record.end.saturating_sub(record.start)));
            row.float(f64::from(record.dispatch));
            row.float(micros(record.total));
            row.integer(record.stream);
            row.integer(record.task);
        }),
    })
}
