//! Everything about one slice: what it is, when, what launched it and what it launched.

use opscope_timeline::{Rows, Spans};
use opscope_trace::Nanoseconds;

use super::{Known, Picture};
use crate::columns::{Table, to_bytes};
use crate::embed::Drawn;

/// Tasks that are named of those that a call launched.
const MOST_LAUNCHED: usize = 200;

/// The slice that is asked for; times are ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The one of a row at a moment, or the nearest of those at most so far away.
    At { row: usize, time: u64, near: u64 },
    /// The longest of a row that touches a stretch of time.
    Longest { row: usize, from: u64, to: u64 },
    /// The one that a link names by its kind and number.
    Named { kind: Kind, id: usize },
}

/// The tables that slices are rows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Inference,
    Unrecorded,
    Call,
    Range,
    Task,
}

impl Kind {
    /// The kind of a word in links.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "inference" => Self::Inference,
            "unrecorded" => Self::Unrecorded,
            "call" => Self::Call,
            "range" | "mark" => Self::Range,
            "task" => Self::Task,
            _ => return None,
        })
    }

    fn is_of(self, rows: &Rows) -> bool {
        matches!(
            (self, rows),
            (Self::Inference, Rows::Iterations(_))
                | (Self::Unrecorded, Rows::Unrecorded(_))
                | (Self::Call, Rows::Calls(_))
                | (Self::Range, Rows::Ranges(_))
                | (Self::Task, Rows::Tasks(_))
        )
    }
}

/// The place of a slice in the picture.
type Place = (usize, usize);

/// A slice with the facts that the columns have of each.
struct Facts {
    place: Place,
    inner: u64,
    iteration: u64,
    /// The row of the answer, + 1.
    launch: u64,
    wait: u64,
}

impl Picture {
    /// A container of the table `slices` (the wanted one, the call that launched it, the tasks that it launched),
    /// and further `items` and `strings`. `step` is by how many places in its row the one wanted lies behind.
    /// `None` where there is no such slice.
    pub(crate) fn slice(&self, wanted: Wanted, step: isize, known: Known) -> Option<Vec<u8>> {
        let (row, slice) = self.find(wanted)?;
        let slice = slice.checked_add_signed(step)?;
        (slice < self.index(row)?.spans().len()).then_some(())?;
        let mut facts = vec![self.facts_of((row, slice))];
        let launches = &self.facts().launches;
        match self.id_in(Kind::Task, (row, slice)) {
            Some(task) => {
                let task = self.trace().tasks.ids().nth(task)?;
                let call = launches.call_of(task).and_then(|call| self.place_of(Kind::Call, call.index()));
                if let Some(call) = call {
                    facts[0].launch = 2;
                    facts.push(self.facts_of(call));
                }
            }
            None => {
                let call = self.id_in(Kind::Call, (row, slice));
                let call = call.and_then(|call| self.trace().api_calls.ids().nth(call));
                let tasks = call.map_or(&[][..], |call| launches.tasks_of(call));
                let places = tasks
                    .iter()
                    .take(MOST_LAUNCHED)
                    .filter_map(|task| self.place_of(Kind::Task, task.index()));
                facts.extend(places.map(|place| Facts { launch: 1, ..self.facts_of(place) }));
            }
        }
        Some(self.slices_table(&facts, known))
    }

    fn find(&self, wanted: Wanted) -> Option<Place> {
        let unit = self.base.ticks.nanoseconds;
        let time = |ticks: u64| ticks.saturating_mul(unit);
        match wanted {
            Wanted::At { row, time: at, near } => {
                Some((row, self.index(row)?.nearest(time(at), time(near))?))
            }
            Wanted::Longest { row, from, to } => {
                Some((row, self.index(row)?.longest_within(time(from), time(to))?))
            }
            Wanted::Named { kind, id } => self.place_of(kind, id),
        }
    }

    /// The place of a row of the trace, on whichever row of the picture it is.
    fn place_of(&self, kind: Kind, id: usize) -> Option<Place> {
        let trace = self.trace();
        let start = match kind {
            Kind::Inference => trace.iterations.start().get(id),
            Kind::Unrecorded => {
                trace.unrecorded_iterations.start().get(id.checked_sub(trace.iterations.len())?)
            }
            Kind::Call => trace.api_calls.start().get(id),
            Kind::Range => trace.ranges.start().get(id),
            Kind::Task => trace.tasks.start().get(id),
        };
        let start = self.base.layout.time_line.point(*start?);
        let rows = self.rows.iter().enumerate().filter_map(|(row, (drawn, _))| match drawn {
            Drawn::Row(depth) => Some((row, &self.base.depths.rows[*depth])),
            Drawn::Union { .. } => None,
        });
        let mut of_kind = rows.filter(|(_, of_row)| kind.is_of(&self.base.layout.lanes[of_row.lane].rows));
        of_kind.find_map(|(row, of_row)| {
            let begin = |slice: u32| self.base.layout.span(trace, of_row.lane, slice as usize).0;
            let first = of_row.slices.partition_point(|&slice| begin(slice) < start);
            let alike = of_row.slices[first..].iter().take_while(|&&slice| begin(slice) == start);
            let place = alike.enumerate().find(|(place, _)| self.id(row, first + place) == id)?.0;
            Some((row, first + place))
        })
    }

    /// The number of a slice in its table, if it is of that kind.
    fn id_in(&self, kind: Kind, (row, slice): Place) -> Option<usize> {
        let Drawn::Row(depth) = self.rows[row].0 else { return None };
        let rows = &self.base.layout.lanes[self.base.depths.rows[depth].lane].rows;
        kind.is_of(rows).then(|| self.id(row, slice))
    }

    fn facts_of(&self, place: Place) -> Facts {
        let trace = self.trace();
        let ticks = |time: Nanoseconds| self.base.ticks.of_time(time.0.max(0) as u64);
        let mut facts = Facts { place, inner: 0, iteration: 0, launch: 0, wait: 0 };
        let row_of = |iteration: Option<opscope_trace::IterationId>| {
            iteration.map_or(0, |iteration| iteration.index() as u64 + 1)
        };
        if let Some(task) = self.id_in(Kind::Task, place) {
            facts.inner = self.facts().inner_of_tasks.get(&task).map_or(0, |&inner| ticks(inner));
            facts.iteration = row_of(trace.tasks.iteration()[task]);
            facts.wait = trace.tasks.wait()[task].map_or(0, |wait| ticks(wait) + 1);
        } else if let Some(call) = self.id_in(Kind::Call, place) {
            facts.inner = self.facts().inner_of_calls.get(&call).map_or(0, |&inner| ticks(inner));
            facts.iteration = row_of(trace.api_calls.iteration()[call]);
        } else if self.id_in(Kind::Range, place).is_none() {
            facts.iteration = self.id(place.0, place.1) as u64 + 1;
        }
        facts
    }

    fn slices_table(&self, facts: &[Facts], known: Known) -> Vec<u8> {
        let items = &mut self.items();
        let all: Vec<[u64; 9]> = facts
            .iter()
            .map(|facts| {
                let (row, slice) = facts.place;
                let (start, end) = self.index(row).map_or((0, 0), |index| index.spans().span(slice));
                let (start, end) = (self.base.ticks.of_time(start), self.base.ticks.of_time(end));
                let item = u64::from(self.item(items, row, slice));
                let id = self.id(row, slice) as u64;
                [
                    row as u64,
                    start,
                    end - start,
                    item,
                    id,
                    facts.inner,
                    facts.iteration,
                    facts.launch,
                    facts.wait,
                ]
            })
            .collect();
        let mut table = Table::new("slices", all.len());
        let names = ["row", "start", "duration", "item", "id", "inner", "iteration", "launch", "wait"];
        for (column, name) in names.into_iter().enumerate() {
            table.plain_f64(name, all.iter().map(|slice| slice[column] as f64));
        }
        let [further_items, strings] = Self::further(items, known);
        to_bytes("slice", &[table, further_items, strings])
    }
}
