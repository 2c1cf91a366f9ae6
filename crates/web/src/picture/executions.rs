//! The executions of one operator: how their times are spread, how they went from inference to inference.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Picture;

/// Bars between the shortest and the longest, on a logarithmic axis.
const BARS: usize = 32;

/// Executions that are named.
const SLOWEST: usize = 100;

impl Picture {
    /// The answer about a row of the table of operators; `None` where there is no such row. Times are nanoseconds but for
    /// `start`, which is in ticks; `id` is the number by which links name an execution.
    pub(crate) fn executions(&self, row: u32) -> Option<Value> {
        let (operator, name) = self.items().of_row(row)?;
        let tasks = &self.trace().tasks;
        let own = (0..tasks.len())
            .filter(|&id| match operator {
                Some(_) => tasks.operator()[id] == operator,
                None => tasks.operator()[id].is_none() && Some(tasks.name()[id]) == name,
            })
            .collect::<Vec<usize>>();
        let time = |id: usize| tasks.duration()[id].0.max(0) as u64;
        let point = |id: usize| self.base.ticks.of_time(self.base.layout.time_line.point(tasks.start()[id]));
        let mut slowest = own.clone();
        slowest.sort_by_key(|&id| (Reverse(time(id)), id));
        let slowest: Vec<Value> = slowest
            .iter()
            .take(SLOWEST)
            .map(|&id| json!({ "id": id, "start": point(id), "duration_ns": time(id) }))
            .collect();
        let times: Vec<u64> = own.iter().map(|&id| time(id)).collect();
        Some(json!({
            "count": own.len(),
            "histogram": histogram(&times),
            "per_inference": self.per_inference(&own),
            "slowest": slowest,
        }))
    }

    /// Own time and number by inference, in the order of the inferences.
    fn per_inference(&self, own: &[usize]) -> Vec<Value> {
        let trace = self.trace();
        let inner = &self.facts().inner_of_tasks;
        let mut sums: BTreeMap<usize, (i64, usize)> = BTreeMap::new();
        for &id in own {
            let Some(iteration) = trace.tasks.iteration()[id] else { continue };
            let sum = sums.entry(iteration.index()).or_default();
            sum.0 += trace.tasks.duration()[id].0 - inner.get(&id).map_or(0, |time| time.0);
            sum.1 += 1;
        }
        let of = |(at, (time, count)): (usize, (i64, usize))| {
            let (number, warm_up) = (trace.iterations.number()[at], trace.iterations.warm_up()[at]);
            json!({ "number": number, "warm_up": warm_up, "time_ns": time, "count": count })
        };
        sums.into_iter().map(of).collect()
    }
}

/// Numbers of executions between the shortest and the longest, and the edges between; one bar where all take as long.
fn histogram(times: &[u64]) -> Value {
    let (least, most) = (times.iter().min().copied().unwrap_or(0), times.iter().max().copied().unwrap_or(0));
    let log = |time: u64| (time.max(1) as f64).ln();
    let (low, span) = (log(least), log(most) - log(least));
    let bars = if span > 0.0 { BARS } else { 1 };
    let mut counts = vec![0_usize; bars];
    for &time in times {
        let bar = if span > 0.0 { ((log(time) - low) / span * bars as f64) as usize } else { 0 };
        counts[bar.min(bars - 1)] += 1;
    }
    let edges: Vec<f64> = (0..=bars).map(|edge| (low + span * edge as f64 / bars as f64).exp()).collect();
    json!({ "counts": counts, "edges_ns": edges, "least_ns": least, "most_ns": most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_execution_is_in_a_bar_and_equal_ones_are_one_bar() {
        let spread = histogram(&[10, 10, 100, 1_000, 0]);
        let counts: Vec<u64> =
            spread["counts"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (BARS, 5));
        assert_eq!((counts[0], counts[BARS - 1]), (1, 1));
        assert_eq!((&spread["least_ns"], &spread["most_ns"]), (&json!(0), &json!(1_000)));
        assert_eq!(histogram(&[7, 7])["counts"], json!([2]));
        assert_eq!(histogram(&[])["counts"], json!([0]));
    }
}
