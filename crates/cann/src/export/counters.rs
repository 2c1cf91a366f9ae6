//! The cells of counters in the table of operators.

use crate::data::Device;
use crate::dialect::Dialect;
use crate::export::sheet::{Row, SharedCells};
use crate::facts::counters::{CoreWork, CounterColumn, CounterColumns, counters_of};
use crate::facts::view::{OpTexts, TaskRef, View};
use crate::text::numbers;

/// Writes the cells of counters of one device.
pub(super) struct CounterCells {
    columns: CounterColumns,
    dialect: Dialect,
    headers: Vec<String>,
    /// The cells of each kind of core on which a task didn't run, cube first.
    idle: [SharedCells; 2],
    /// The cells of a task of which nothing was counted.
    uncounted: SharedCells,
}

impl CounterCells {
    /// The cells of a device; `None` if it has no counters.
    pub(super) fn new(device: &Device, dialect: Dialect) -> Option<Self> {
        let columns = CounterColumns::new(device, dialect)?;
        let headers = columns.headers();
        let raw = columns.raw.len();
        let idle = [&columns.cube, &columns.vector]
            .map(|columns| SharedCells::new(|row| write_core(row, columns, raw, &CoreWork::IDLE)));
        let uncounted = SharedCells::new(|row| headers.iter().for_each(|_| row.missing()));
        Some(Self { columns, dialect, headers, idle, uncounted })
    }

    /// The headings.
    pub(super) fn headers(&self) -> &[String] {
        &self.headers
    }

    /// Writes the cells of a task below other headings than the device's own; those that it lacks stay
    /// without a value.
    pub(super) fn write_below(
        &self,
        headers: &[String],
        row: &mut Row<'_>,
        view: &View<'_>,
        task: TaskRef,
        op: &OpTexts<'_>,
    ) {
        let cells = SharedCells::new(|row| self.write(row, view, task, op));
        let own: Vec<&[u8]> = cells.cells().collect();
        for header in headers {
            let place = self.headers.iter().position(|own| own == header);
            match place.and_then(|place| own.get(place)).filter(|cell| **cell != b"N/A") {
                Some(cell) => row.number(|out| out.extend_from_slice(cell)),
                None => row.missing(),
            }
        }
    }

    /// Writes the cells of a task.
    pub(super) fn write(&self, row: &mut Row<'_>, view: &View<'_>, task: TaskRef, op: &OpTexts<'_>) {
        let counters = counters_of(view, task);
        let Some(work) = self.columns.of_task(view, task, op, &counters) else {
            return row.shared(&self.uncounted, |row| self.headers.iter().for_each(|_| row.missing()));
        };
        let raw = self.columns.raw.len();
        let cores = [(&self.columns.cube, Some(&work.cube)), (&self.columns.vector, work.vector.as_ref())];
        for ((columns, work), idle) in cores.into_iter().zip(&self.idle) {
            match work {
                Some(work) if work.is_idle() => {
                    row.shared(idle, |row| write_core(row, columns, raw, work));
                }
                Some(work) => write_core(row, columns, raw, work),
                None => {}
            }
        }
        match work.memory_bound {
            Some(Some(bound)) => row.float(bound),
            Some(None) => row.integer(0),
            None => {}
        }
        let is_accelerated = self.dialect == Dialect::Accelerated;
        match work.utilization {
            Some(Some(share)) if is_accelerated => row.number(|out| numbers::push_fixed(out, share)),
            Some(Some(share)) => row.float(share),
            Some(None) if is_accelerated => row.missing(),
            Some(None) => row.integer(0),
            None => {}
        }
    }
}

/// Writes the cells of one core: its values, and after them `raw` counts of events that have no formula.
fn write_core(row: &mut Row<'_>, columns: &[CounterColumn], raw: usize, work: &CoreWork<'_>) {
    row.number(|out| numbers::push_sqlite_round(out, work.time()));
    row.integer(work.cycles());
    for column in columns {
        let value = work.value(column);
        match column.is_whole {
            true => row.integer(value as u64),
            false => row.number(|out| numbers::push_sqlite_round(out, value)),
        }
    }
    for event in 0..raw {
        row.float(work.count(event));
    }
}
