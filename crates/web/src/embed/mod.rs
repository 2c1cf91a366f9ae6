//! A profile as the columns and answers that a page in one file carries.
//!
//! | table | a row for |
//! |---|---|
//! | `strings` | each piece of text; number 0 is the empty one |
//! | `items` | each thing that slices are: kind, name, category, unit, operator |
//! | `slices` | each inference, call, range, mark and task, row of the picture by row |
//! | `density` | each bucket of time in which slices were left out |
//! | `iterations` | each inference |
//! | `operators` | each row of the answer to the usual question |
//! | `metrics`, `readings` | each quantity that hardware reports; each mean of one over the executions of an operator |
//! | `samples` | each value of a counter |
//! | `graph_…` | the parts of the graph ([`crate::graph`]) |
//!
//! Numbers "+1" are 0 where there is none.

mod choice;
mod density;
mod items;
mod iterations;
mod metrics;
mod operators;
mod samples;
mod slices;
mod strings;
mod ticks;

#[cfg(test)]
mod tests;

use opscope_analyze::Answer;
use opscope_timeline::{Depths, GroupKind, Layout};
use opscope_trace::{ExecutionUnit, Trace};
use serde_json::{Value, json};

use self::choice::Choice;
pub(crate) use self::density::share;
pub(crate) use self::items::Items;
pub(crate) use self::operators::MOST as MOST_OPERATORS;
use self::operators::Operators;
pub(crate) use self::samples::values_of;
use self::slices::Slices;
pub(crate) use self::slices::{Drawn, drawn, union_of};
pub(crate) use self::strings::Strings;
pub(crate) use self::ticks::Ticks;
use crate::columns::to_bytes;
use crate::graph::Graph;

/// The slices that a report has unless more or fewer are asked for.
pub const USUAL_SLICES: usize = 1_000_000;

/// A profile, ready to be carried.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// A container of columns ([`crate::columns`]).
    pub columns: Vec<u8>,
    /// The rows of the timeline, and what the columns are of.
    pub timeline: Value,
    /// The parts that are there in full, and how much was left out.
    pub left_out: LeftOut,
    /// The facts of the graph; null without one.
    pub graph: Value,
}

/// The numbers and rows behind columns.
pub(crate) struct Parts {
    pub layout: Layout,
    pub depths: Depths,
    pub ticks: Ticks,
    pub items: Items,
}

/// How much is carried of a profile that has more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    /// Slices, one by one.
    pub slices: usize,
    /// Values of counters, once they have to be thinned.
    pub values: usize,
}

impl Most {
    fn usual(slices: usize) -> Self {
        Self { slices, values: samples::USUAL_VALUES }
    }
}

/// How much of a profile is carried in full, and what was left out.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct LeftOut {
    /// Slices and marks of the profile.
    pub slices: usize,
    /// Slices that are carried one by one; the others are density, but for those on `rows`.
    pub slices_in_full: usize,
    /// The times in which those begin, in ticks.
    pub windows: Vec<(u64, u64)>,
    /// The numbers of the inferences that are carried in full; `None` is all.
    pub inferences_in_full: Option<Vec<u32>>,
    /// Buckets of the density over the whole time.
    pub buckets: usize,
    /// Slices that lie too deep, or on too many lanes, to be drawn.
    pub undrawable: usize,
    /// Operators of the answer.
    pub operators: usize,
    /// The costliest, which are carried.
    pub operators_in_full: usize,
    /// The time of the others in an average iteration, in nanoseconds.
    pub operators_rest_ns: i64,
    /// Values of counters.
    pub samples: usize,
    /// Values that are carried.
    pub samples_in_full: usize,
    /// Launches that lead backward in time.
    pub launches_backward: usize,
    /// Names that were cut, because they are longer than 64 kB.
    pub names_cut: usize,
}

impl Embedded {
    /// Makes the columns of a trace. `answer` is that to the usual question, and at most `most` slices are
    /// carried one by one.
    pub fn of(trace: &Trace, answer: &Answer, most: usize) -> Self {
        Self::with_parts(trace, answer, Most::usual(most), None).0
    }

    /// The same, with the graph.
    pub fn with_graph(trace: &Trace, answer: &Answer, most: usize, graph: &Graph) -> Self {
        Self::with_parts(trace, answer, Most::usual(most), Some(graph)).0
    }

    /// As [`Embedded::of`], with what it takes to answer further questions in the same numbers.
    pub(crate) fn with_parts(
        trace: &Trace,
        answer: &Answer,
        most: Most,
        graph: Option<&Graph>,
    ) -> (Self, Parts) {
        let layout = Layout::new(trace);
        let depths = layout.depths(trace);
        let ticks = Ticks::of(trace, &layout, &depths);
        let choice = Choice::of(trace, &layout, &depths, most.slices);
        let mut strings = Strings::default();
        let mut operators = Operators::of(trace, answer, &mut strings);
        let (table, count, rest) = (operators.table.take(), operators.count, operators.rest);
        let [metrics, readings] = metrics::tables(trace, &operators, &mut strings);
        let mut items = Items::new(trace, operators, strings);
        let slices = Slices::of(trace, &layout, &depths, &choice, ticks, &mut items);
        let (counters, samples) = samples::of(trace, &layout, ticks, most.values);
        let iterations = iterations::table(trace, &layout, ticks, &slices, &mut items.strings);
        let mut tables = vec![
            iterations,
            items.table_from(0),
            metrics,
            readings,
            samples.table,
            slices.table(),
            slices.density.table(),
            items.strings_from(0),
        ];
        tables.extend(table);
        tables.extend(graph.into_iter().flat_map(|graph| graph.tables.iter().cloned()));
        let cut_in_graph = graph.into_iter().flat_map(|graph| &graph.names_cut);
        let more_cut = cut_in_graph.filter(|name| !items.strings.has(name)).count();
        let left_out = LeftOut {
            slices: slices.all + depths.too_deep,
            slices_in_full: slices.count(),
            windows: choice
                .windows_or((0, u64::MAX))
                .map(|(from, to)| (ticks.of_time(from), ticks.of_time(to).min(ticks.end)))
                .collect(),
            inferences_in_full: choice.inferences.clone(),
            buckets: density::BUCKETS,
            undrawable: depths.too_deep + slices.undrawable,
            operators: answer.rows.len(),
            operators_in_full: count,
            operators_rest_ns: rest.0,
            samples: samples.all,
            samples_in_full: samples.count,
            launches_backward: slices.launches_backward,
            names_cut: items.strings.cut().len() + more_cut,
        };
        let timeline = json!({
            "tick_ns": ticks.nanoseconds,
            "zero_ns": layout.time_line.zero.0,
            "end": ticks.end,
            "view": [slices.view.0, slices.view.1],
            "outside": slices.outside,
            "groups": groups(trace, &layout),
            "rows": slices.rows,
            "counters": counters,
        });
        let facts = graph.map_or(Value::Null, |graph| graph.facts.clone());
        let embedded = Self { columns: to_bytes("report", &tables), timeline, left_out, graph: facts };
        (embedded, Parts { layout, depths, ticks, items })
    }
}

/// The names of the units that columns number.
pub fn compute_units() -> Vec<&'static str> {
    ExecutionUnit::ALL.iter().map(|unit| unit.name()).collect()
}

fn groups(trace: &Trace, layout: &Layout) -> Vec<Value> {
    let group = layout.groups.iter().map(|group| {
        let (kind, device) = match group.kind {
            GroupKind::Host => ("host", None),
            GroupKind::Ranges => ("ranges", None),
            GroupKind::Device(device) => ("device", Some(trace.devices.number()[device.index()])),
            GroupKind::Loose => ("loose", None),
        };
        json!({ "name": group.name, "kind": kind, "device": device })
    });
    group.collect()
}
