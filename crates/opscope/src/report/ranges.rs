//! The ranges and marks of a program: as a tree for a person, as rows for a program.

use std::collections::BTreeSet;

use opscope_analyze::{RangeNode, RangeTree};
use opscope_say::{say, word};
use opscope_trace::{Nanoseconds, RangeKind, Trace, units};
use serde_json::{Value, json};

use super::{Table, TableCell, TableColumn, count};
use crate::terminal::{bold, dim};

/// How many blanks a range is set in for each one that it lies in, and how many are shown of them.
const STEP: usize = 2;
const DEEPEST: usize = 12;

/// How many kinds of launched tasks are listed below a range, unless all are asked for.
const LAUNCHED: usize = 5;

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
    let has_launched = !tree.launched.is_empty();
    // Programs choose their names within a domain, so that those of two may be the same, or mere numbers.
    let has_domain = shown.iter().any(|&index| tree.nodes[index].domain.is_some());
    let mut columns = vec![
        TableColumn::number("total"),
        TableColumn::number("count"),
        TableColumn::number("longest").expendable(),
        TableColumn::number("own"),
        TableColumn::number("in calls").expendable(),
        TableColumn::number("in operators").expendable(),
        TableColumn::number("uncovered"),
    ];
    columns.extend(has_launched.then(|| TableColumn::number("launched")));
    columns.extend(has_domain.then(|| TableColumn::text("domain")));
    columns.push(TableColumn::text("range"));
    let mut table = Table::new(columns);
    for (index, node) in shown.iter().map(|&index| (index, &tree.nodes[index])) {
        let mut name = trace.strings.get(node.name).to_owned();
        let is_namesake = |other: &RangeNode| {
            other.name == node.name && other.parent == node.parent && other.kind != node.kind
        };
        if node.kind == RangeKind::StartStop && tree.nodes.iter().any(is_namesake) {
            name += word(" (started and stopped)");
        }
        let indent = |depth: usize| " ".repeat(STEP * depth.min(DEEPEST));
        let mut cells: Vec<TableCell> = [
            units::duration(node.total),
            node.count.to_string(),
            units::duration(node.longest),
            units::duration(node.own),
            units::duration(node.in_calls),
            units::duration(node.in_operators),
            units::duration(node.uncovered),
        ]
        .map(TableCell::from)
        .into();
        let is_any = node.tasks > 0;
        cells.extend(has_launched.then(|| match is_any {
            true => units::duration(node.launched).into(),
            false => TableCell::missing(),
        }));
        cells.extend(has_domain.then(|| match node.domain {
            Some(domain) => trace.strings.get(domain).into(),
            None => TableCell::missing(),
        }));
        cells.push(format!("{}{name}", indent(node.depth)).into());
        table.row(cells);
        let launched = tree.launched_in(index);
        let listed = launched.len().min(if top == 0 { usize::MAX } else { LAUNCHED });
        for row in &launched[..listed] {
            let mut cells = vec![TableCell::missing(); 7];
            cells[1] = row.count.to_string().into();
            cells.push(units::duration(row.total).into());
            cells.extend(has_domain.then(TableCell::missing));
            cells.push(format!("{}> {}", indent(node.depth + 1), trace.strings.get(row.name)).into());
            table.row(cells);
        }
        let left = &launched[listed..];
        if !left.is_empty() {
            let count: usize = left.iter().map(|row| row.count).sum();
            let total: Nanoseconds = left.iter().map(|row| row.total).sum();
            let mut cells = vec![TableCell::missing(); 7];
            cells[1] = count.to_string().into();
            cells.push(units::duration(total).into());
            cells.extend(has_domain.then(TableCell::missing));
            let more = say!("> {} more kinds (-t 0 lists all)", left.len());
            cells.push(format!("{}{more}", indent(node.depth + 1)).into());
            table.row(cells);
        }
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
    let legend = say!(
        "own: less the ranges within; in calls: of the range's thread; uncovered: in no call and no operator. \
         Of the {} in ranges {} are uncovered ({}).\n",
        units::duration(tree.extent),
        units::duration(tree.uncovered),
        units::percent(tree.uncovered.0 as f64 / tree.extent.0.max(1) as f64),
    );
    match tree.launched.is_empty() {
        true => legend,
        false => {
            legend
                + word(
                    "launched: how long what calls within launched ran, whenever it did; > what that was.\n",
                )
        }
    }
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
    let rows = tree.nodes.iter().enumerate().map(|(index, node)| {
        let launched = tree.launched_in(index).iter().map(
            |row| json!({ "name": trace.strings.get(row.name), "count": row.count, "total_ns": row.total.0 }),
        );
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
            "tasks": node.tasks,
            "launched_ns": node.launched.0,
            "launched": launched.collect::<Vec<_>>(),
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
    use opscope_trace::Range;

    use super::*;

    #[test]
    fn ranges_of_one_name_are_told_apart_by_their_domains() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("modelExec");
        for (domain, start) in [("Prefill", 0), ("Decode", 100)] {
            let domain = Some(trace.strings.intern(domain));
            trace.ranges.push(Range { domain, ..Range::new(name, Nanoseconds(start), Nanoseconds(10)) });
        }
        let text = ranges_text(&trace, 5, None);
        assert!(text.contains("Prefill  modelExec\n") && text.contains("Decode   modelExec\n"), "{text}");
    }

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
