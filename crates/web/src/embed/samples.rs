//! The values of counters.

use opscope_timeline::Layout;
use opscope_trace::Trace;
use serde_json::{Value, json};

use super::ticks::Ticks;
use crate::columns::Table;

/// Values of counters that are carried without thinning them.
pub const USUAL_VALUES: usize = 400_000;

/// The most buckets of which the least and greatest value of a counter are kept otherwise.
const MOST_BUCKETS: usize = 2_048;

/// The fewest of them, of however many counters there are.
const FEWEST_BUCKETS: usize = 64;

/// The values that are carried.
pub(super) struct Samples {
    pub table: Table,
    pub count: usize,
    /// How many the profile has.
    pub all: usize,
}

/// The finite values of each of the trace's counters, in the order of time.
pub(crate) fn values_of(trace: &Trace, layout: &Layout, ticks: Ticks) -> Vec<Vec<(u64, f64)>> {
    let samples = &trace.samples;
    let mut by_counter: Vec<Vec<(u64, f64)>> = vec![Vec::new(); trace.counters.len()];
    for ((counter, &time), &value) in samples.counter().iter().zip(samples.time()).zip(samples.value()) {
        if value.is_finite() {
            by_counter[counter.index()].push((ticks.of_time(layout.time_line.point(time)), value));
        }
    }
    by_counter.iter_mut().for_each(|values| values.sort_by_key(|(time, _)| *time));
    by_counter
}

/// The counters, each with its place in the table, and the table. More than [`USUAL_VALUES`] are thinned to `thinned`,
/// as far as that leaves each counter its shape.
pub(super) fn of(trace: &Trace, layout: &Layout, ticks: Ticks, thinned: usize) -> (Vec<Value>, Samples) {
    let samples = &trace.samples;
    let buckets = thinned / 2 / trace.counters.len().max(1);
    let buckets = buckets.clamp(FEWEST_BUCKETS, MOST_BUCKETS) as u64;
    let mut by_counter = values_of(trace, layout, ticks);
    let mut kept: Vec<(u64, f64)> = Vec::new();
    let mut counters = Vec::new();
    for ((values, (_, counter)), place) in
        by_counter.iter_mut().zip(trace.counters.iter()).zip(&layout.counters)
    {
        let first = kept.len();
        match samples.len() <= USUAL_VALUES {
            true => kept.append(values),
            false => thin(values, ticks.end / buckets + 1, &mut kept),
        }
        if kept.len() > first {
            counters.push(json!({
                "group": place.group,
                "name": trace.strings.get(counter.name),
                "unit": trace.strings.get(counter.unit),
                "first": first,
                "count": kept.len() - first,
            }));
        }
    }
    let mut table = Table::new("samples", kept.len());
    table.delta("time", kept.iter().map(|(time, _)| *time));
    table.float("value", kept.iter().map(|(_, value)| *value));
    (counters, Samples { table, count: kept.len(), all: samples.len() })
}

/// Keeps the least and the greatest value of each bucket of this width, in the order of time.
fn thin(values: &[(u64, f64)], width: u64, kept: &mut Vec<(u64, f64)>) {
    for bucket in values.chunk_by(|a, b| a.0 / width == b.0 / width) {
        let by_value = |a: &&(u64, f64), b: &&(u64, f64)| a.1.total_cmp(&b.1);
        let (least, greatest) = (bucket.iter().min_by(by_value), bucket.iter().max_by(by_value));
        let mut ends: Vec<(u64, f64)> = least.into_iter().chain(greatest).copied().collect();
        ends.sort_by_key(|(time, _)| *time);
        ends.dedup();
        kept.append(&mut ends);
    }
}
