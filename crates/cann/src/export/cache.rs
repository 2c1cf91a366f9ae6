//! `l2_cache` and `soc_pmu`: how often caches and the address translation hit, for each task.

use opscope_cann_raw::DeviceLog;

use crate::export::sheet::{Row, Sheet};
use crate::facts::view::{DeviceView, TaskRef, View};
use crate::headings::{l2_cache, op_summary, owned, written};
use crate::metrics::cache_rates::CacheRates;
use crate::tables::{TaskEvents, TaskEventsTable};
use crate::text::numbers;
use opscope_trace::NumberMap;

/// A row: the device, the task, both rates, and the operator.
struct Line<'a> {
    device: u32,
    stream: u16,
    task: u32,
    rates: [f64; 2],
    name: &'a str,
}

/// The table of the level-2 cache, or `None` if it wasn't counted.
pub(crate) fn l2_cache<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let chip = view.joined.data.chip();
    let rates = CacheRates::of_cache(chip)?;
    let lines = lines(view, rates, |device| {
        (&device.device.tables.cache, &device.device.metadata.sample.cache_events)
    });
    // The vendor's tool doesn't show this rate of chips whose tasks come from queues.
    let shows_hits = chip.device_log() == DeviceLog::Hwts;
    sheet(view, "l2_cache", l2_cache::ALL, lines, move |row, [hits, victims]| {
        if shows_hits {
            row.float(hits)
        } else {
            row.missing()
        }
        row.float(victims);
    })
}

/// The table of the address translation, or `None` if it wasn't counted.
pub(crate) fn soc_pmu<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let rates = CacheRates::of_translation(view.joined.data.chip())?;
    let lines = lines(view, rates, |device| {
        (&device.device.tables.translation, &device.device.metadata.sample.translation_events)
    });
    sheet(view, "soc_pmu", &written::SOC_PMU, lines, |row, rates| {
        for rate in rates {
            // Whole numbers have no decimals here.
            match rate.fract() == 0.0 {
                true => row.number(|out| numbers::push_integer(out, rate as i64)),
                false => row.float(rate),
            }
        }
    })
}

/// The rows of all devices.
fn lines<'a>(
    view: &'a View<'a>,
    rates: CacheRates,
    counted: impl Fn(&DeviceView<'a>) -> (&'a TaskEventsTable, &'a Vec<u32>),
) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for (number, device) in view.devices.iter().enumerate() {
        let (table, events) = counted(device);
        let mut names = NamesOfTasks::new(view, number as u32, table);
        lines.extend(table.rows().map(|row| Line {
            device: device.device.id,
            stream: row.stream,
            task: row.task,
            rates: rates.of(events, &row.counters),
            name: names.next(&row),
        }));
    }
    lines
}

fn sheet<'a>(
    view: &'a View<'a>,
    kind: &'static str,
    headings: &[&str],
    lines: Vec<Line<'a>>,
    write_rates: impl Fn(&mut Row<'_>, [f64; 2]) + Send + Sync + 'a,
) -> Option<Sheet<'a>> {
    let has_operators = view.joined.host_tasks.rows().any(|task| view.op(&task).is_some());
    let mut headers = owned(headings);
    headers.extend(has_operators.then(|| op_summary::NAME.to_owned()));
    (!lines.is_empty()).then(|| Sheet {
        kind,
        headers,
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let line = &lines[index];
            row.integer(line.device);
            row.integer(line.stream);
            row.integer(line.task);
            write_rates(row, line.rates);
            if has_operators {
                row.text(line.name);
            }
        }),
    })
}

/// The operators behind counters that have a task's number, but no time.
struct NamesOfTasks<'a> {
    /// The operators of the runs of each task, and how many of its counters came so far.
    runs: NumberMap<(u16, u32), (Vec<&'a str>, usize)>,
    /// How many counters each task has.
    counted: NumberMap<(u16, u32), usize>,
}

impl<'a> NamesOfTasks<'a> {
    fn new(view: &'a View<'a>, device: u32, table: &TaskEventsTable) -> Self {
        let mut counted: NumberMap<(u16, u32), usize> = NumberMap::default();
        for row in table.rows() {
            *counted.entry((row.stream, row.task)).or_default() += 1;
        }
        let mut runs: NumberMap<(u16, u32), (Vec<&'a str>, usize)> = NumberMap::default();
        let tasks = &view.devices[device as usize].device.tables.tasks;
        for task in 0..tasks.len() {
            let key = (tasks.stream()[task], tasks.task()[task]);
            if !counted.contains_key(&key) {
                continue;
            }
            let host = view.host_task(TaskRef { device, task: task as u32 });
            let op = host.and_then(|host| view.op(&host));
            if let Some(op) = op {
                runs.entry(key).or_default().0.push(op.name);
            }
        }
        Self { runs, counted }
    }

    /// The operator of the next counters of a task: the run with their number, or where there are
    /// more runs or less, the last one.
    fn next(&mut self, row: &TaskEvents) -> &'a str {
        let key = (row.stream, row.task);
        let Some((names, place)) = self.runs.get_mut(&key) else { return "N/A" };
        let number = *place;
        *place += 1;
        let is_complete = self.counted.get(&key) == Some(&names.len());
        let name = if is_complete { names.get(number) } else { names.last() };
        name.copied().unwrap_or("N/A")
    }
}
