//! The timeline of a profile of any size, asked for the parts that a page shows: rows by their numbers in the answers,
//! times in ticks, items by the numbers that the columns have begun.

mod counters;
mod executions;
mod rows;
mod search;
mod slice;
mod tiles;
mod window;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use opscope_analyze::{own_call_times, self_times};
use opscope_timeline::{CounterIndex, Index, Launches};
use opscope_trace::{Nanoseconds, Trace};

pub(crate) use self::counters::CountersAsked;
use self::rows::{Base, RowSpans};
pub(crate) use self::slice::{Kind, Wanted};
pub(crate) use self::tiles::TilesAsked;
use crate::columns::Table;
use crate::embed::{Drawn, Items, Parts, drawn};
use crate::session::Subject;

/// The rows of a profile's timeline.
pub(crate) struct Picture {
    base: Arc<Base>,
    rows: Vec<(Drawn, OnceLock<Index<RowSpans>>)>,
    items: Mutex<Items>,
    facts: OnceLock<Facts>,
    counters: OnceLock<Vec<CounterIndex>>,
}

/// The numbers of items and of pieces of text that a page has already: the next ones come with an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub items: usize,
    pub strings: usize,
}

/// Facts about single slices that take a look at all.
struct Facts {
    /// The time that others within a task take, of those in which there are any; by its row.
    inner_of_tasks: HashMap<usize, Nanoseconds>,
    inner_of_calls: HashMap<usize, Nanoseconds>,
    launches: Launches,
}

impl Picture {
    pub(crate) fn new(subject: Arc<dyn Subject>, parts: Parts) -> Self {
        let Parts { layout, depths, ticks, items } = parts;
        let rows = drawn(&layout, &depths).map(|drawn| (drawn, OnceLock::new())).collect();
        let base = Arc::new(Base { subject, layout, depths, ticks });
        Self { base, rows, items: Mutex::new(items), facts: OnceLock::new(), counters: OnceLock::new() }
    }

    /// Makes what the first questions would have to wait for.
    pub(crate) fn prepare(&self) {
        let rows: Vec<usize> = (0..self.rows.len()).collect();
        opscope_parallel::map(&rows, |&row| {
            let _ = self.index(row);
        });
        self.facts();
    }

    /// A stretch of time of the picture, in nanoseconds of the time line.
    pub(crate) fn nanoseconds(&self, from: u64, to: u64) -> (u64, u64) {
        let unit = self.base.ticks.nanoseconds;
        (from.saturating_mul(unit), to.saturating_mul(unit))
    }

    fn trace(&self) -> &Trace {
        self.base.subject.trace()
    }

    /// The index of a row, made when it is first asked for.
    fn index(&self, row: usize) -> Option<&Index<RowSpans>> {
        let (drawn, index) = self.rows.get(row)?;
        Some(index.get_or_init(|| Index::new(RowSpans::of(&self.base, *drawn))))
    }

    /// The item of a slice of a row; 0 of the rows that have no slices of their own.
    fn item(&self, items: &mut Items, row: usize, slice: usize) -> u32 {
        let Drawn::Row(depth) = self.rows[row].0 else { return 0 };
        let of_row = &self.base.depths.rows[depth];
        let lane = &self.base.layout.lanes[of_row.lane];
        items.number(self.trace(), &lane.rows, of_row.slices[slice] as usize)
    }

    fn items(&self) -> MutexGuard<'_, Items> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The items and pieces of text that a page doesn't have yet.
    fn further(items: &Items, known: Known) -> [Table; 2] {
        [items.table_from(known.items), items.strings_from(known.strings)]
    }

    fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| {
            let trace = self.trace();
            Facts {
                inner_of_tasks: inner(trace.tasks.duration(), &self_times(trace)),
                inner_of_calls: inner(trace.api_calls.duration(), &own_call_times(trace)),
                launches: Launches::new(trace),
            }
        })
    }
}

/// By row, how much longer than its own time it takes.
fn inner(durations: &[Nanoseconds], own: &[Nanoseconds]) -> HashMap<usize, Nanoseconds> {
    let inner = durations.iter().zip(own).map(|(&duration, &own)| duration - own).enumerate();
    inner.filter(|(_, inner)| *inner > Nanoseconds::ZERO).collect()
}
