//! The ranges and marks of a program: as a tree for a person, as rows for a program.

use std::collections::BTreeSet;

use opscope_analyze::{RangeNode, RangeTree};
use opscope_say::{say, word};
use opscope_trace::{RangeKind, Trace, units};
use serde_json::{Value, json};

use super::{Table, TableColumn, count};
use crate::terminal::{bold, dim};

/// How many blanks a range is set in for each one that it lies in, and how many are shown of them.
const STEP: usize = 2;
const DEEPEST: usize = 12;

/// The ranges that took most, as they lie within one another; at least ten of them, and all where
/// `top` is 0. Nothing where the program marked nothing.
pub fn ranges_text(trace: &Trace, top: usize, width: Option<u16>) -> String {
    ranges_table(trace, &RangeTree::of(trace), top, width)
        .map_or_else(String::new, |table| format!("{table}\n"))
}

/// The same of a tree; `None` where the program marked nothing.
pub fn ranges_table(trace: &Trace, tree: &RangeTree, top: usize, width: Option<u16>) -> Option<String> {
    if tree.nodes.is_empty() && tree.marks == 0 {
        return None;
    }
    // The few longest say where the time goes; all of them are in the table msprof_tx.
    let all = tree.nodes.len();
    let shown = longest(&tree.nodes, if top == 0 { all } else { top.max(10) });
    let marks = count(tree.marks, "mark");
    let mut text = bold(&match shown.len() {
        0 => say!("The program set {marks}"),
        1 if all == 1 => say!("The only range that the program marked, and {marks}"),
        number if number == all => {
            say!("All {} that the program marked, and {marks}", count(all, "range"))
        }
        number => say!("Top {number} of {} that the program marked, and {marks}", count(all, "range")),
    });
    text.push('\n');
    if shown.is_empty() {
        return Some(text);
    }
    let columns = [
        TableColumn::number("total"),
        TableColumn::number("count"),
        TableColumn::number("longest").expendable(),
        TableColumn::number("own"),
        TableColumn::number("in calls").expendable(),
        TableColumn::number("in operators").expendable(),
        TableColumn::number("uncovered"),
        TableColumn::text("range"),
    ];
    let mut table = Table::new(columns);
    for node in shown.iter().map(|&index| &tree.nodes[index]) {
        let mut name = trace.strings.get(node.name).to_owned();
        let is_namesake = |other: &RangeNode| {
            other.name == node.name && other.parent == node.parent && other.kind != node.kind
        };
        if node.kind == RangeKind::StartStop && tree.nodes.iter().any(is_namesake) {
            name += word(" (started and stopped)");
        }
        table.row([
            units::duration(node.total),
            node.count.to_string(),
            units::duration(node.longest),
            units::duration(node.own),
            units::duration(node.in_calls),
            units::duration(node.in_operators),
            units::duration(node.uncovered),
            format!("{}{name}", " ".repeat(STEP * node.depth.min(DEEPEST))),
        ]);
    }
    text.push_str(&table.to_text(width));
    text.push_str(&dim(&legend(tree)));
    Some(text)
}

/// The meaning of the columns, and how much lies in nothing that was recorded.
fn legend(tree: &RangeTree) -> String {
    if !tree.has_others {
        return word("No call and no operator was recorded beside the ranges, so nothing covers them.\n")
            .to_owned();
    }
    say!(
        "own: less the ranges within; in calls: of the range's thread; uncovered: in no call and no operator. \
         Of the {} in ranges {} are uncovered ({}).\n",
        units::duration(tree.extent),
        units::duration(tree.uncovered),
        units::percent(tree.uncovered.0 as f64 / tree.extent.0.max(1) as f64),
    )
}

/// The places of the nodes that took most, with those that they lie in, in the order of the tree.
fn longest(nodes: &[RangeNode], number: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..nodes.len()).collect();
    places.sort_by_key(|&place| (-nodes[place].total, place));
    let mut shown = BTreeSet::new();
    for place in places {
        if shown.len() >= number {
            break;
        }
        // Ranges that overlap can take longer together than the one around them.
        shown.extend(std::iter::successors(Some(place), |&place| nodes[place].parent));
    }
    shown.into_iter().collect()
}

/// A row for each node of the tree, each behind the one that it lies in (`parent`, from 0).
pub fn ranges_json(trace: &Trace, tree: &RangeTree) -> Value {
    let rows = tree.nodes.iter().map(|node| {
        let gap = node
            .longest_uncovered
            .map(|(start, end)| json!({ "start_ns": start.0, "duration_ns": (end - start).0 }));
        json!({
            "name": trace.strings.get(node.name),
            "domain": node.domain.map(|domain| trace.strings.get(domain)),
            "kind": node.kind.name(),
            "depth": node.depth,
            "parent": node.parent,
            "count": node.count,
            "threads": node.threads,
            "total_ns": node.total.0,
            "longest_ns": node.longest.0,
            "own_ns": node.own.0,
            "in_calls_ns": node.in_calls.0,
            "in_operators_ns": node.in_operators.0,
            "uncovered_ns": node.uncovered.0,
            "longest_uncovered": gap,
        })
    });
    json!({
        "rows": rows.collect::<Vec<_>>(),
        "marks": tree.marks,
        "extent_ns": tree.extent.0,
        "uncovered_ns": tree.uncovered.0,
    })
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Nanoseconds, Range};

    use super::*;

    #[test]
    fn ranges_are_set_in_below_those_that_they_lie_in() {
        let mut trace = Trace::new();
        for (name, start, duration) in [("all", 0, 100), ("load", 0, 60), ("run", 60, 10), ("run", 80, 10)] {
            let name = trace.strings.intern(name);
            trace.ranges.push(Range::new(name, Nanoseconds(start), Nanoseconds(duration)));
        }
        let text = ranges_text(&trace, 5, None);
        let names: Vec<&str> = text.lines().filter_map(|line| Some(&line[line.find("ns")?..])).collect();
        assert_eq!(names.len(), 3, "{text}");
        assert!(
            text.contains("  all\n") && text.contains("    load\n") && text.contains("    run\n"),
            "{text}"
        );
        assert!(text.contains("No call and no operator was recorded"), "{text}");
        let json = ranges_json(&trace, &RangeTree::of(&trace));
        assert_eq!((&json["rows"][2]["count"], &json["rows"][2]["parent"]), (&2.into(), &0.into()));
        assert_eq!((&json["rows"][0]["own_ns"], &json["uncovered_ns"]), (&20.into(), &100.into()));
    }
}
