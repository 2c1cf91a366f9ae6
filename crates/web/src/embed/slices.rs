//! The slices of the timeline, row by row.

use opscope_analyze::{is_work, own_call_times, self_times};
use opscope_timeline::{Depths, GroupKind, Label, Launches, Layout, Row, Rows};
use opscope_trace::{Nanoseconds, Trace};
use serde::Serialize;

use super::choice::Choice;
use super::density::Density;
use super::items::Items;
use super::ticks::Ticks;
use crate::columns::Table;

/// Rows of a picture. A profile with more of them is damaged or hostile; what is on the others is counted.
const MOST_ROWS: usize = 20_000;

/// A row of the picture, as answers have it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RowAnswer {
    group: usize,
    kind: &'static str,
    name: String,
    of: String,
    number: Option<u64>,
    process: Option<String>,
    copy: usize,
    depth: usize,
    first: usize,
    count: usize,
    density_first: usize,
    density_count: usize,
}

/// A row of the picture, in the order of the answer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// Whether any stream of a device works.
    Union {
        /// The number of its group.
        group: usize,
    },
    /// A row of the depths, by its number.
    Row(usize),
}

/// All rows of the picture.
pub(crate) fn drawn(layout: &Layout, depths: &Depths) -> impl Iterator<Item = Drawn> {
    let mut group = None;
    depths.rows.iter().take(MOST_ROWS).enumerate().flat_map(move |(number, row)| {
        let own = layout.lanes[row.lane].group;
        let is_first = group.replace(own) != Some(own);
        let is_device = matches!(layout.groups[own].kind, GroupKind::Device(_));
        let union = (is_first && is_device).then_some(Drawn::Union { group: own });
        union.into_iter().chain([Drawn::Row(number)])
    })
}

/// When any stream of a device's group worked, of the tasks that begin at the times that `takes` says.
pub(crate) fn union_of(
    trace: &Trace,
    layout: &Layout,
    depths: &Depths,
    group: usize,
    takes: impl Fn(u64) -> bool,
) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for row in depths.rows.iter().filter(|row| layout.lanes[row.lane].group == group) {
        let Rows::Tasks(ids) = &layout.lanes[row.lane].rows else { continue };
        let works = |slice: &&u32| is_work(trace.tasks.unit()[ids[**slice as usize].index()]);
        let of_row = row.slices.iter().filter(works);
        let of_row = of_row.map(|&slice| layout.span(trace, row.lane, slice as usize));
        spans.extend(of_row.filter(|(start, _)| takes(*start)));
    }
    spans.sort_unstable();
    spans.dedup_by(|next, last| {
        let joins = next.0 <= last.1;
        if joins {
            last.1 = last.1.max(next.1);
        }
        joins
    });
    spans.shrink_to_fit();
    spans
}

/// A slice that is carried.
struct Slice {
    /// From the end of the one before in the row.
    gap: u64,
    duration: u64,
    item: u32,
    id: u32,
    /// The part of the duration that others within it take.
    inner: u64,
    /// The inference's row of the table, + 1.
    iteration: u32,
    /// The slice of the call that launched it, + 1.
    launch: u32,
    /// How long it waited, + 1.
    wait: u64,
}

/// All slices that are carried, and the rows that they are on.
#[derive(Default)]
pub(super) struct Slices {
    pub rows: Vec<RowAnswer>,
    slices: Vec<Slice>,
    pub density: Density,
    /// How many the profile has on rows of the picture.
    pub all: usize,
    /// Slices on rows beyond the last of the picture.
    pub undrawable: usize,
    pub launches_backward: usize,
    /// Where the picture begins and ends, in ticks.
    pub view: (u64, u64),
    /// Slices that lie outside of that.
    pub outside: usize,
    /// By row of the table of inferences, the slice + 1.
    inferences: Vec<u32>,
}

impl Slices {
    pub(super) fn of(
        trace: &Trace,
        layout: &Layout,
        depths: &Depths,
        choice: &Choice,
        ticks: Ticks,
        items: &mut Items,
    ) -> Self {
        let inferences = vec![0; trace.iterations.len() + trace.unrecorded_iterations.len()];
        let mut slices = Self { inferences, ..Self::default() };
        let (own_task_times, own_call_times) = (self_times(trace), own_call_times(trace));
        let mut maker = Maker {
            trace,
            layout,
            choice,
            ticks,
            own_task_times: &own_task_times,
            own_call_times: &own_call_times,
            launches: Launches::new(trace),
            calls: vec![0; trace.api_calls.len()],
        };
        for drawn in drawn(layout, depths) {
            match drawn {
                Drawn::Union { group } => maker.union_row(group, depths, &mut slices),
                Drawn::Row(row) => maker.row(&depths.rows[row], items, &mut slices),
            }
        }
        let length = |row: &Row| row.slices.len();
        slices.all = depths.rows.iter().map(length).sum();
        slices.undrawable = depths.rows.iter().skip(MOST_ROWS).map(length).sum();
        slices.launches_backward = maker.launches.left_out();
        (slices.view, slices.outside) = maker.view(&depths.rows[..depths.rows.len().min(MOST_ROWS)]);
        slices
    }

    /// How many are carried.
    pub(super) fn count(&self) -> usize {
        self.slices.len()
    }

    /// The slice of an inference by its row of the table of inferences, + 1; 0 where it isn't carried.
    pub(super) fn of_inference(&self, row: usize) -> u32 {
        self.inferences[row]
    }

    pub(super) fn table(&self) -> Table {
        let slices = || self.slices.iter();
        let mut table = Table::new("slices", self.slices.len());
        table.whole("gap", slices().map(|slice| slice.gap));
        table.whole("duration", slices().map(|slice| slice.duration));
        table.whole("item", slices().map(|slice| slice.item.into()));
        table.delta("id", slices().map(|slice| slice.id.into()));
        table.whole("inner", slices().map(|slice| slice.inner));
        table.delta("iteration", slices().map(|slice| slice.iteration.into()));
        table.delta("launch", slices().map(|slice| slice.launch.into()));
        table.whole("wait", slices().map(|slice| slice.wait));
        table
    }
}

struct Maker<'a> {
    trace: &'a Trace,
    layout: &'a Layout,
    choice: &'a Choice,
    ticks: Ticks,
    own_task_times: &'a [Nanoseconds],
    own_call_times: &'a [Nanoseconds],
    launches: Launches,
    /// By call, its slice + 1. Calls stand before tasks.
    calls: Vec<u32>,
}

impl Maker<'_> {
    /// Adds a row: its slices, or what they come to.
    fn row(&mut self, row: &Row, items: &mut Items, out: &mut Slices) {
        let lane = &self.layout.lanes[row.lane];
        // Inferences are what everything else is found by.
        let always = matches!(lane.rows, Rows::Iterations(_) | Rows::Unrecorded(_));
        let (first, density_first) = (out.slices.len(), out.density.len());
        let (mut left_out, mut left_out_slices) = (Vec::new(), Vec::new());
        let mut before = 0;
        for &slice in &row.slices {
            let (start, end) = self.layout.span(self.trace, row.lane, slice as usize);
            if !always && !self.choice.takes(start) {
                left_out.push((start, end));
                left_out_slices.push(slice);
                continue;
            }
            let (start, end) = (self.ticks.of_time(start), self.ticks.of_time(end));
            let item = items.number(self.trace, &lane.rows, slice as usize);
            let made =
                Slice { gap: start - before, duration: end - start, item, ..self.facts(&lane.rows, slice) };
            before = end;
            out.slices.push(made);
            // There are fewer than 2^32 slices.
            self.note(&lane.rows, slice, out.slices.len() as u32, out);
        }
        out.density.add(&left_out, self.ticks, |slice| {
            items.number(self.trace, &lane.rows, left_out_slices[slice] as usize)
        });
        let answer = answer(lane.group, &lane.label, row.depth);
        out.rows.push(RowAnswer {
            first,
            count: out.slices.len() - first,
            density_first,
            density_count: out.density.len() - density_first,
            ..answer
        });
    }

    /// Remembers the slice of a call or inference.
    fn note(&mut self, rows: &Rows, slice: u32, number: u32, out: &mut Slices) {
        match rows {
            Rows::Calls(ids) => self.calls[ids[slice as usize].index()] = number,
            Rows::Iterations(ids) => out.inferences[ids[slice as usize].index()] = number,
            Rows::Unrecorded(ids) => {
                out.inferences[self.trace.iterations.len() + ids[slice as usize].index()] = number;
            }
            Rows::Ranges(_) | Rows::Tasks(_) => {}
        }
    }

    /// All of a slice but its times and item.
    fn facts(&self, rows: &Rows, slice: u32) -> Slice {
        let (slice, ticks) = (slice as usize, |time: Nanoseconds| self.ticks.of_time(time.0.max(0) as u64));
        let none = Slice { gap: 0, duration: 0, item: 0, id: 0, inner: 0, iteration: 0, launch: 0, wait: 0 };
        match rows {
            Rows::Iterations(ids) => {
                let id = ids[slice].index() as u32;
                Slice { id, iteration: id + 1, ..none }
            }
            Rows::Unrecorded(ids) => {
                let id = (self.trace.iterations.len() + ids[slice].index()) as u32;
                Slice { id, iteration: id + 1, ..none }
            }
            Rows::Calls(ids) => {
                let index = ids[slice].index();
                let calls = &self.trace.api_calls;
                let inner = calls.duration()[index] - self.own_call_times[index];
                let iteration = calls.iteration()[index].map_or(0, |id| id.index() as u32 + 1);
                Slice { id: index as u32, inner: ticks(inner), iteration, ..none }
            }
            Rows::Ranges(ids) => Slice { id: ids[slice].index() as u32, ..none },
            Rows::Tasks(ids) => {
                let (id, index) = (ids[slice], ids[slice].index());
                let tasks = &self.trace.tasks;
                let inner = tasks.duration()[index] - self.own_task_times[index];
                Slice {
                    id: index as u32,
                    inner: ticks(inner),
                    iteration: tasks.iteration()[index].map_or(0, |id| id.index() as u32 + 1),
                    launch: self.launches.call_of(id).map_or(0, |call| self.calls[call.index()]),
                    wait: tasks.wait()[index].map_or(0, |wait| ticks(wait) + 1),
                    ..none
                }
            }
        }
    }

    /// Adds the row that shows whether any stream of a device works: of what was left out the union, of the rest
    /// a page makes it from the streams.
    fn union_row(&self, group: usize, depths: &Depths, out: &mut Slices) {
        let spans = union_of(self.trace, self.layout, depths, group, |start| !self.choice.takes(start));
        let density_first = out.density.len();
        out.density.add(&spans, self.ticks, |_| 0);
        out.rows.push(RowAnswer {
            group,
            kind: "busy",
            name: "any stream busy".to_owned(),
            of: String::new(),
            number: None,
            process: None,
            copy: 0,
            depth: 0,
            first: out.slices.len(),
            count: 0,
            density_first,
            density_count: out.density.len() - density_first,
        });
    }

    /// Where a picture begins and ends, in ticks, and how many slices lie outside. That is everything, unless a
    /// thousandth of the slices lie so far away that the others would be a line.
    fn view(&self, rows: &[Row]) -> ((u64, u64), usize) {
        /// How many times as long everything is for the view to leave something out.
        const FAR: u64 = 20;
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for row in rows {
            let of_row =
                row.slices.iter().map(|&slice| self.layout.span(self.trace, row.lane, slice as usize));
            spans.extend(of_row);
        }
        let (whole, cut) = ((0, self.ticks.end), spans.len() / 2_000);
        if cut == 0 {
            return (whole, 0);
        }
        let last = spans.len() - 1 - cut;
        let from = spans.select_nth_unstable_by_key(cut, |span| span.0).1.0;
        let to = spans.select_nth_unstable_by_key(last, |span| span.1).1.1;
        if to <= from
            || (to - from).saturating_mul(FAR) >= self.ticks.end.saturating_mul(self.ticks.nanoseconds)
        {
            return (whole, 0);
        }
        let outside = spans.iter().filter(|(start, end)| *start < from || *end > to).count();
        ((self.ticks.of_time(from), self.ticks.of_time(to)), outside)
    }
}

fn answer(group: usize, label: &Label, depth: usize) -> RowAnswer {
    let owner = label.owner.clone().unwrap_or_default();
    RowAnswer {
        group,
        kind: label.kind.name(),
        name: label.to_string(),
        of: owner.name,
        number: owner.number,
        process: owner.process,
        copy: label.copy,
        depth,
        first: 0,
        count: 0,
        density_first: 0,
        density_count: 0,
    }
}
