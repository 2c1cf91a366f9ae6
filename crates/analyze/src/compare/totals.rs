//! Profiles whose operators are totals by type, against those with each operator by itself.
//!
//! PyTorch's table has one row for all calls of a function, and further rows for the functions that those call:
//! `aten::conv2d` stands beside `aten::convolution` and `aten::mkldnn_convolution`, each with its own time. No such row
//! is one operator of another engine's, whatever its place. So the totals of a kind are compared there: the own times
//! of all functions of the kind on the one side, those of all its operators on the other.

use std::collections::HashMap;

use opscope_trace::{Nanoseconds, ProfileFormat, StringId, Trace};

use super::align::Aligned;
use super::group::{Group, Member};
use super::nests::Nests;
use super::side::Side;
use super::texts::of_any_group;
use crate::kind::kind;

/// Whether A has totals by type which B's operators have to be added up for, and whether B has.
pub(super) fn of_totals(before: &Trace, after: &Trace) -> (bool, bool) {
    let are_totals = |trace: &Trace| trace.run.format == Some(ProfileFormat::PyTorchTable);
    // Another profile of PyTorch's has the same functions, each by its name.
    let is_against = |own: &Trace, other: &Trace| are_totals(own) && !Nests::are_in(other);
    (is_against(before, after), is_against(after, before))
}

/// The totals of the kinds of two profiles: for each kind one group, with a member for each type.
pub(super) fn align_totals<'t>(a: &Side<'t>, b: &Side<'t>) -> Aligned<'t> {
    let mut groups: Vec<(Vec<Member<'t>>, Vec<Member<'t>>)> = Vec::new();
    let mut of_kind: HashMap<String, usize> = HashMap::new();
    for (side, is_before) in [(a, true), (b, false)] {
        for member in of_types(side) {
            let group = *of_kind.entry(kind_of(member.op_type)).or_insert_with(|| {
                groups.push(Default::default());
                groups.len() - 1
            });
            let (before, after) = &mut groups[group];
            if is_before { before.push(member) } else { after.push(member) }
        }
    }
    let mut groups: Vec<Group<'t>> =
        groups.into_iter().map(|(before, after)| Group::new(before, after)).collect();
    groups.sort_by_key(|group| -group.delta.0.abs());
    let matched = |of: &dyn Fn(&Group<'t>) -> Nanoseconds, all: Nanoseconds| {
        let paired = groups.iter().filter(|group| !group.before.is_empty() && !group.after.is_empty());
        let time: Nanoseconds = paired.map(of).sum();
        if all.0 > 0 { time.0 as f64 / all.0 as f64 } else { 0.0 }
    };
    let sum = |members: &[Member<'_>]| members.iter().map(|member| member.time).sum::<Nanoseconds>();
    Aligned {
        matched: (
            matched(&|group| sum(&group.before), a.operator_time()),
            matched(&|group| sum(&group.after), b.operator_time()),
        ),
        agreeing: (0.0, 0.0),
        contradicting: (0.0, 0.0),
        groups,
    }
}

/// The types of a side in the order in which they first ran, with the time of all their operators.
fn of_types<'t>(side: &Side<'t>) -> Vec<Member<'t>> {
    let mut members: Vec<Member<'t>> = Vec::new();
    let mut places: HashMap<StringId, usize> = HashMap::new();
    for row in &side.rows {
        let place = *places.entry(row.op_type).or_insert_with(|| {
            let op_type = side.trace.strings.get(row.op_type);
            members.push(Member { name: op_type, op_type, time: Nanoseconds::ZERO });
            members.len() - 1
        });
        members[place].time += row.time;
    }
    members
}

fn kind_of(op_type: &str) -> String {
    kind(of_any_group(op_type).map_or(op_type, |(kind, _)| kind)).into_owned()
}
