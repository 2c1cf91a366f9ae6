//! The content of a stretch of time: how busy each group was, the operators that cost most in it, its gaps.

use std::cmp::Reverse;
use std::collections::HashMap;

use opscope_analyze::is_work;
use opscope_timeline::{Rows, Spans};
use serde_json::{Value, json};

use super::Picture;
use crate::embed::Drawn;

/// Operators that are named, and gaps.
const TOP: usize = 10;
const MOST_GAPS: usize = 200;

#[derive(Clone, Copy, Default)]
struct Sum {
    time: u64,
    count: u64,
    row: usize,
    slice: usize,
}

impl Picture {
    /// The answer about a stretch of time, in ticks. Own times are clipped to it.
    pub(crate) fn window(&self, from: u64, to: u64) -> Value {
        let unit = self.base.ticks.nanoseconds;
        let (begin, end) = (from.saturating_mul(unit), to.max(from).saturating_mul(unit));
        let sums = self.operators_within(begin, end);
        let mut all: Vec<Sum> = sums.into_values().collect();
        all.sort_by_key(|sum| (Reverse(sum.time), sum.row, sum.slice));
        let items = &mut self.items();
        let top: Vec<Value> = all
            .iter()
            .take(TOP)
            .map(|sum| {
                let item = self.item(items, sum.row, sum.slice);
                json!({
                    "item": item, "operator": items.operator_of(item), "name": items.name_of(item),
                    "time": sum.time / unit, "count": sum.count,
                })
            })
            .collect();
        json!({
            "groups": self.groups_within(begin, end),
            "top": top,
            "operators": all.len(),
            "gaps": self.gaps_within(begin, end),
        })
    }

    /// By operator, or by name where a task belongs to none.
    fn operators_within(&self, begin: u64, end: u64) -> HashMap<(bool, usize), Sum> {
        let tasks = &self.trace().tasks;
        let inner = &self.facts().inner_of_tasks;
        let mut sums: HashMap<(bool, usize), Sum> = HashMap::new();
        for (row, (drawn, _)) in self.rows.iter().enumerate() {
            let Drawn::Row(depth) = *drawn else { continue };
            let of_row = &self.base.depths.rows[depth];
            let Rows::Tasks(ids) = &self.base.layout.lanes[of_row.lane].rows else { continue };
            let Some(index) = self.index(row) else { continue };
            for slice in index.touching(begin, end) {
                let id = ids[of_row.slices[slice] as usize].index();
                if !is_work(tasks.unit()[id]) {
                    continue;
                }
                let (start, until) = index.spans().span(slice);
                let own =
                    (until - start).saturating_sub(inner.get(&id).map_or(0, |time| time.0.max(0) as u64));
                let inside = until.min(end).saturating_sub(start.max(begin));
                let key = match tasks.operator()[id] {
                    Some(operator) => (true, operator.index()),
                    None => (false, tasks.name()[id].index()),
                };
                let sum = sums.entry(key).or_insert(Sum { row, slice, ..Sum::default() });
                sum.time += own.min(inside);
                sum.count += 1;
            }
        }
        sums
    }

    /// Of each device, how long any stream of it was busy, and how many tasks of its streams touch the stretch.
    fn groups_within(&self, begin: u64, end: u64) -> Vec<Value> {
        let unit = self.base.ticks.nanoseconds;
        let unions = self.rows.iter().enumerate().filter_map(|(row, (drawn, _))| match drawn {
            Drawn::Union { group } => Some((row, *group)),
            Drawn::Row(_) => None,
        });
        let of_union = |(union, group): (usize, usize)| {
            let busy = self.index(union).map_or(0, |index| index.within(begin, end).0);
            let is_outermost = |drawn: &Drawn| {
                let Drawn::Row(depth) = *drawn else { return false };
                let row = &self.base.depths.rows[depth];
                row.depth == 0 && self.base.layout.lanes[row.lane].group == group
            };
            let rows = self.rows.iter().enumerate().filter(|(_, (drawn, _))| is_outermost(drawn));
            let tasks =
                rows.filter_map(|(row, _)| Some(self.index(row)?.within(begin, end).1)).sum::<usize>();
            json!({ "group": group, "busy": busy / unit, "tasks": tasks })
        };
        unions.map(of_union).collect()
    }

    /// The idle stretches of the first device that are longer than a hundredth of the whole, the longest of them, in the
    /// order of time.
    fn gaps_within(&self, begin: u64, end: u64) -> Vec<[u64; 2]> {
        let union = self.rows.iter().position(|(drawn, _)| matches!(drawn, Drawn::Union { .. }));
        let Some(index) = union.and_then(|row| self.index(row)) else { return Vec::new() };
        let least = (end - begin) / 100;
        let mut gaps: Vec<(u64, u64)> = Vec::new();
        let mut before = begin;
        for slice in index.touching(begin, end) {
            let (start, until) = index.spans().span(slice);
            if start.saturating_sub(before) > least {
                gaps.push((before, start));
            }
            before = before.max(until);
        }
        if end.saturating_sub(before) > least {
            gaps.push((before, end));
        }
        gaps.sort_by_key(|(from, to)| Reverse(to - from));
        gaps.truncate(MOST_GAPS);
        gaps.sort_unstable();
        let ticks = self.base.ticks;
        gaps.into_iter().map(|(from, to)| [ticks.of_time(from), ticks.of_time(to)]).collect()
    }
}
