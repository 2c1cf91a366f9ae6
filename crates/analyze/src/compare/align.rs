//! Which operators of two profiles belong together.
//!
//! 1. Operators that stand for common nodes of the graph are one group, however engines fused them.
//! 2. Of what is left, those of the same name and a type of the same kind; where a profile has no types,
//!    as timelines of Ascend have none, those of the same name.
//! 3. What is left of A behind a matched operator, of which the other has nothing more, was merged into
//!    it when such operators are fused into their predecessor. Changes of layout between them don't
//!    part them.
//! 4. What is then left is matched by type in the order in which it ran.

use opscope_trace::Nanoseconds;

use super::group::{Group, Member};
use super::side::{Row, Side};
use super::texts::{KindId, TextId, Texts, Which};

/// An operator of one profile, as it is aligned.
struct Entry {
    name: TextId,
    kind: KindId,
}

/// The operators of both profiles.
struct Entries {
    before: Vec<Entry>,
    after: Vec<Entry>,
    /// Whether both profiles have types of operators, and not only names that stand in.
    typed: bool,
}

/// The group of each operator of A and of B, by their places among the rows.
struct Groups {
    before: Vec<Option<usize>>,
    after: Vec<Option<usize>>,
    count: usize,
}

impl Groups {
    fn pair(&mut self, before: usize, after: usize) {
        (self.before[before], self.after[after]) = (Some(self.count), Some(self.count));
        self.count += 1;
    }
}

/// The groups of two profiles, and the matched part of the time of each.
pub(super) fn align<'t>(a: &Side<'t>, b: &Side<'t>) -> (Vec<Group<'t>>, (f64, f64)) {
    let mut texts = Texts::new(&a.trace.strings, &b.trace.strings);
    let mut groups = Groups { before: vec![None; a.rows.len()], after: vec![None; b.rows.len()], count: 0 };
    by_origin(a, b, &mut texts, &mut groups);
    let entries = Entries {
        before: entries(a, Which::Before, &mut texts),
        after: entries(b, Which::After, &mut texts),
        typed: [a, b].iter().all(|side| side.rows.iter().any(|row| row.op_type != row.name)),
    };
    let fates: Vec<Fate> = texts.kinds().iter().map(|kind| Fate::of(kind)).collect();
    by_name(&entries, texts.count(), &mut groups);
    absorb(&entries, &fates, &mut groups);
    if by_order(&entries, fates.len(), &mut groups) {
        // An operator behind one that was matched by its order alone may have been taken in by that.
        absorb(&entries, &fates, &mut groups);
    }
    let matched = (share(&a.rows, &groups.before), share(&b.rows, &groups.after));
    (finish(a, b, &groups), matched)
}

fn entries<'t>(side: &Side<'t>, which: Which, texts: &mut Texts<'t>) -> Vec<Entry> {
    let entry = |row: &Row<'_>| {
        let op_type = texts.id(which, row.op_type);
        Entry {
            name: texts.id(which, row.name),
            kind: texts.kind(op_type, side.trace.strings.get(row.op_type)),
        }
    };
    side.rows.iter().map(entry).collect()
}

/// Joins whatever has a node of the graph in common, across both sides.
fn by_origin<'t>(a: &Side<'t>, b: &Side<'t>, texts: &mut Texts<'t>, groups: &mut Groups) {
    let known = |side: &Side<'_>| side.rows.iter().any(|row| !row.origins.is_empty());
    if !known(a) && !known(b) {
        return;
    }
    // The rows of both sides are numbered through, those of B behind those of A.
    let count = a.rows.len() + b.rows.len();
    let mut sets = Sets::new(count);
    let mut owners: Vec<Option<u32>> = vec![None; texts.count()];
    let mut join = |origin: TextId, place: usize| {
        if origin.index() >= owners.len() {
            owners.resize(origin.index() + 1, None);
        }
        let owner = *owners[origin.index()].get_or_insert(place as u32);
        sets.join(owner as usize, place);
    };
    let of_a = a.rows.iter().map(|row| (a, Which::Before, row));
    let of_b = b.rows.iter().map(|row| (b, Which::After, row));
    for (place, (side, which, row)) in of_a.chain(of_b).enumerate() {
        for origin in row.origins {
            join(texts.id(which, *origin), place);
        }
        if row.origins.is_empty() {
            // Its own name may join those of the graph's nodes.
            for piece in side.trace.strings.get(row.name).split('+') {
                join(texts.piece(piece.trim()), place);
            }
        }
    }
    let roots: Vec<usize> = (0..count).map(|place| sets.root(place)).collect();
    let mut has_after = vec![false; count];
    roots[a.rows.len()..].iter().for_each(|root| has_after[*root] = true);
    // A set's root is its first row, so that one with a row of A has its root there.
    let mut of_root: Vec<Option<usize>> = vec![None; count];
    for (place, root) in roots.into_iter().enumerate() {
        if root >= a.rows.len() || !has_after[root] {
            continue;
        }
        let group = *of_root[root].get_or_insert_with(|| {
            groups.count += 1;
            groups.count - 1
        });
        match place.checked_sub(a.rows.len()) {
            None => groups.before[place] = Some(group),
            Some(place) => groups.after[place] = Some(group),
        }
    }
}

/// Sets of numbers that are joined.
struct Sets {
    parents: Vec<u32>,
}

impl Sets {
    fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    /// The least number of the set.
    fn root(&mut self, mut place: usize) -> usize {
        while self.parents[place] as usize != place {
            self.parents[place] = self.parents[self.parents[place] as usize];
            place = self.parents[place] as usize;
        }
        place
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b) as u32;
    }
}

/// Pairs those of the same name, in order where a name occurs more than once.
fn by_name(entries: &Entries, texts: usize, groups: &mut Groups) {
    // For each name a chain through B's free operators of it, the first one first.
    let mut first: Vec<Option<u32>> = vec![None; texts];
    let mut next: Vec<Option<u32>> = vec![None; entries.after.len()];
    for (place, entry) in entries.after.iter().enumerate().rev() {
        if groups.after[place].is_none() {
            next[place] = first[entry.name.index()].replace(place as u32);
        }
    }
    for (place, entry) in entries.before.iter().enumerate() {
        if groups.before[place].is_some() {
            continue;
        }
        let (mut link, mut before) = (first[entry.name.index()], None::<usize>);
        while let Some(other) = link.map(|link| link as usize) {
            if !entries.typed || entries.after[other].kind == entry.kind {
                match before {
                    Some(before) => next[before] = next[other],
                    None => first[entry.name.index()] = next[other],
                }
                groups.pair(place, other);
                break;
            }
            (link, before) = (next[other], Some(other));
        }
    }
}

/// Kinds that are fused into the operator before them.
const ABSORBED: [&str; 22] = [
    "batchnorm",
    "relu",
    "leakyrelu",
    "prelu",
    "elu",
    "sigmoid",
    "tanh",
    "clip",
    "add",
    "mul",
    "biasadd",
    "bias",
    "scale",
    "hardswish",
    "mish",
    "softplus",
    "sub",
    "div",
    "addv2",
    "cast",
    "power",
    "swish",
];

/// Kinds that change only the layout: an engine puts them between operators that belong together.
const LAYOUT: [&str; 4] = ["reorderinput", "reorderoutput", "transdata", "transpose"];

/// The fate that an operator of a kind may have, when the other side has no counterpart of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It was taken in by the operator before it.
    TakenIn,
    /// It stands between an operator and what that took in.
    Between,
    /// Neither.
    Alone,
}

impl Fate {
    fn of(kind: &str) -> Self {
        match kind {
            _ if ABSORBED.contains(&kind) => Self::TakenIn,
            _ if LAYOUT.contains(&kind) => Self::Between,
            _ => Self::Alone,
        }
    }
}

/// Adds operators of one side that the other has no more to the operator that took them in: the
/// one before them.
fn absorb(entries: &Entries, fates: &[Fate], groups: &mut Groups) {
    let left = |entries: &[Entry], of: &[Option<usize>]| {
        let mut there = vec![false; fates.len()];
        let alone = entries.iter().zip(of).filter(|(_, group)| group.is_none());
        alone.for_each(|(entry, _)| there[entry.kind.index()] = true);
        there
    };
    let left_before = left(&entries.before, &groups.before);
    let left_after = left(&entries.after, &groups.after);
    // Only kinds that one side lost: otherwise they were renamed, which the order tells.
    let join = |entries: &[Entry], of: &mut [Option<usize>], others: &[bool]| {
        let mut before = None;
        for (entry, group) in entries.iter().zip(of) {
            let kind = entry.kind.index();
            match fates[kind] {
                Fate::TakenIn if group.is_none() && !others[kind] => *group = before,
                Fate::Between => continue,
                _ => {}
            }
            before = *group;
        }
    };
    join(&entries.before, &mut groups.before, &left_after);
    join(&entries.after, &mut groups.after, &left_before);
}

/// Pairs what is left by kind, in the order in which it ran; whether anything was.
fn by_order(entries: &Entries, kinds: usize, groups: &mut Groups) -> bool {
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); kinds];
    for (place, entry) in entries.after.iter().enumerate().rev() {
        if groups.after[place].is_none() {
            places[entry.kind.index()].push(place);
        }
    }
    let paired = groups.count;
    for (place, entry) in entries.before.iter().enumerate() {
        if groups.before[place].is_none()
            && let Some(other) = places[entry.kind.index()].pop()
        {
            groups.pair(place, other);
        }
    }
    groups.count > paired
}

/// The groups with their operators, the greatest change first.
fn finish<'t>(a: &Side<'t>, b: &Side<'t>, groups: &Groups) -> Vec<Group<'t>> {
    let mut members: Vec<(Vec<Member<'t>>, Vec<Member<'t>>)> = Vec::new();
    members.resize_with(groups.count, Default::default);
    let mut alone: Vec<Group<'t>> = Vec::new();
    for (row, group) in a.rows.iter().zip(&groups.before) {
        match group {
            Some(group) => members[*group].0.push(member(a, row)),
            None => alone.push(Group::new(vec![member(a, row)], Vec::new())),
        }
    }
    for (row, group) in b.rows.iter().zip(&groups.after) {
        match group {
            Some(group) => members[*group].1.push(member(b, row)),
            None => alone.push(Group::new(Vec::new(), vec![member(b, row)])),
        }
    }
    let mut all: Vec<Group<'t>> =
        members.into_iter().map(|(before, after)| Group::new(before, after)).collect();
    all.append(&mut alone);
    all.sort_by_key(|group| -group.delta.0.abs());
    all
}

fn member<'t>(side: &Side<'t>, row: &Row<'_>) -> Member<'t> {
    let text = |id| side.trace.strings.get(id);
    Member { name: text(row.name), op_type: text(row.op_type), time: row.time }
}

/// Which part of the time belongs to rows with a group.
fn share(rows: &[Row<'_>], of: &[Option<usize>]) -> f64 {
    let all: Nanoseconds = rows.iter().map(|row| row.time).sum();
    let in_groups = rows.iter().zip(of).filter(|(_, group)| group.is_some());
    let matched: Nanoseconds = in_groups.map(|(row, _)| row.time).sum();
    if all.0 > 0 { matched.0 as f64 / all.0 as f64 } else { 0.0 }
}
