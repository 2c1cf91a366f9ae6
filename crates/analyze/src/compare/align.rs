//! Which operators of two profiles belong together.
//!
//! 1. Operators that stand for common nodes of the graph are one group, however engines fused them. The nodes are
//!    those that the profile tells, or else the model that ran.
//! 2. Of what is left, those of the same name and a type of the same kind; where a profile has no types,
//!    as timelines of Ascend have none, those of the same name. Where few names are in both, only
//!    operators whose shapes don't contradict: engines number operators through, so that a name may
//!    stand for another operator in each profile. Then fused ones that are named by a node, with that and its like (see
//!    `fused_names`), and those that one side has written out (see `written_out`).
//! 3. Operators behind a matched one, of which the other side has nothing more, were merged into it when
//!    operators of their kind are fused into their predecessor, and neither shapes nor the model that ran
//!    contradict (see `absorb`). Changes of layout between them don't part them.
//! 4. Of operators that are then left, those of a kind that are the only ones of it in a scope of the model's (see
//!    `scopes`).
//! 5. The rest is matched by type in the order in which it ran, first with those that have outputs of the same shapes.
//!    Where no profile tells shapes, these are the sizes in both models that ran, and weights of the same size go before.
//!    A mean over an image may be a pool. None is matched so that is known to be another node of both models or to compute constants alone, that lies in
//!    another scope of both profiles, or that other operators feed, nor, where most has a counterpart by then, one whose
//!    shapes contradict.
//! 6. Copies between layouts are matched where those between which they stand are.

use std::collections::HashMap;
use std::hash::Hash;

use opscope_trace::{Nanoseconds, Trace};

use super::absorb::{Fate, Round, absorb};
use super::feeding::{Feeds, join_feeding};
use super::fused_names::by_fused_name;
use super::group::{Group, Member};
use super::node_names::NodeNames;
use super::scopes::Scopes;
use super::side::{Row, Side};
use super::sources::Sources;
use super::texts::{KindId, TextId, Texts, Which, of_any_group};
use super::written_out::by_parts;
use crate::elements::{agree_when_filled_up, inputs_contradict, shapes_agree};
use crate::kind::{are_pools_alike, may_run_as};

/// An operator of one profile, as it is aligned.
pub(super) struct Entry {
    name: TextId,
    pub kind: KindId,
    /// The number of its outputs' shapes, where they are known.
    shapes: Option<u32>,
    /// The elements of its weights, where the shapes are those of models.
    weights: u64,
    /// Whether a node of its kind that both models have is known to be in it.
    is_known: bool,
    /// Whether it is known to compute nothing but what stored values tell, as engines do that fold no constants.
    pub is_of_constants: bool,
}

/// The numbers of the shapes of outputs; those of both profiles are numbered together.
type Shapes<'t> = HashMap<Vec<&'t [i64]>, u32>;

/// The operators of both profiles.
pub(super) struct Entries {
    pub before: Vec<Entry>,
    pub after: Vec<Entry>,
    /// Whether both profiles have types of operators, and not only names that stand in.
    typed: bool,
    /// Whether the shapes are those of the models, because no profile tells any.
    are_of_models: bool,
}

impl Entries {
    /// The operators of a side, A's or B's.
    pub fn of(&self, side: usize) -> &[Entry] {
        if side == 0 { &self.before } else { &self.after }
    }
}

/// The group of each operator of A and of B, by their places among the rows.
pub(super) struct Groups {
    pub before: Vec<Option<usize>>,
    pub after: Vec<Option<usize>>,
    count: usize,
}

impl Groups {
    /// The groups of a side, A's or B's, by place.
    pub fn of(&self, side: usize) -> &[Option<usize>] {
        if side == 0 { &self.before } else { &self.after }
    }

    pub fn set(&mut self, side: usize, place: usize, group: usize) {
        let groups = if side == 0 { &mut self.before } else { &mut self.after };
        groups[place] = Some(group);
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn pair(&mut self, before: usize, after: usize) {
        (self.before[before], self.after[after]) = (Some(self.count), Some(self.count));
        self.count += 1;
    }
}

/// The groups of two profiles, and parts of the time of A and of B.
pub(super) struct Aligned<'t> {
    pub groups: Vec<Group<'t>>,
    /// Of operators that have a counterpart.
    pub matched: (f64, f64),
    /// Of those that have it by more than their types and their order.
    pub agreeing: (f64, f64),
    /// Of those that have it by their types and their order alone, against their shapes.
    pub contradicting: (f64, f64),
}

/// The groups of two profiles, and how well they are founded.
pub(super) fn align<'t>(a: &Side<'t>, b: &Side<'t>, names: [&'t NodeNames; 2]) -> Aligned<'t> {
    let mut texts = Texts::new(&a.trace.strings, &b.trace.strings);
    let mut groups = Groups { before: vec![None; a.rows.len()], after: vec![None; b.rows.len()], count: 0 };
    by_origin([a, b], names, &mut texts, &mut groups);
    let mut shapes = Shapes::new();
    let mut entries = Entries {
        before: entries(a, Which::Before, &mut texts, &mut shapes),
        after: entries(b, Which::After, &mut texts, &mut shapes),
        typed: [a, b].iter().all(|side| side.rows.iter().any(|row| row.op_type != row.name)),
        are_of_models: false,
    };
    take_sizes_of_models([a, b], names, &mut entries);
    find_known_nodes([a, b], names, &mut entries, texts.spelled());
    find_constants([a, b], names, &mut entries);
    let entries = entries;
    let fates: Vec<Fate> = texts.kinds().iter().map(|kind| Fate::of(kind)).collect();
    let (kinds, types, mut known) = (texts.kinds(), texts.spelled(), HashMap::new());
    by_name(&entries, texts.count(), |a, b| a == b, &mut groups);
    let mut are_alike = |a: KindId, b: KindId| {
        *known.entry((a, b)).or_insert_with(|| {
            let [a, b] = [a, b].map(|kind| &*types[kind.index()]);
            may_run_as(a, b) || may_run_as(b, a)
        })
    };
    by_name(&entries, texts.count(), &mut are_alike, &mut groups);
    by_fused_name([a, b], &mut groups);
    let scopes = Scopes::of([a, b]);
    // Both are known, and nothing before has joined them: they are different nodes.
    let may_be_one = |before: usize, after: usize| {
        let (one, other) = (&entries.before[before], &entries.after[after]);
        let are_others = one.is_known && other.is_known || scopes.contradict(before, after);
        !are_others && one.is_of_constants == other.is_of_constants
    };
    let before_parts = groups.count;
    let fit_of = |before: usize, after: usize| fit([a, b], &entries, before, after);
    by_parts(&entries, kinds, &fates, may_be_one, fit_of, &mut groups);
    let fits_of_parts = fits([a, b], &entries, &groups, before_parts);
    let sources = [(a, names[0]), (b, names[1])].map(|(side, names)| Sources::of_side(side, names));
    let fate = |side: usize, place: usize| fates[entries.of(side)[place].kind.index()];
    join_feeding([a, b], &sources, fate, &mut groups);
    absorb([a, b], &entries, &fates, &sources, Round::First, &mut groups);
    // Copies between layouts are each engine's own, wherever it wants them.
    let is_copy: Vec<bool> = kinds.iter().map(|kind| kind == COPY).collect();
    let key = |entry: &Entry| (!is_copy[entry.kind.index()]).then_some(entry.kind);
    // A pool whose type doesn't tell which it is may be any of the other side's that tell it.
    let pools: Vec<(bool, bool)> = kinds.iter().map(|kind| is_pool(kind)).collect();
    let pool_of = |side: usize, entry: &Entry, told: usize| {
        let (is_told, is_untold) = pools[entry.kind.index()];
        (if side == told { is_told } else { is_untold }).then_some(())
    };
    let may_be_of_scope = |before: usize, after: usize| {
        are_alike(entries.before[before].kind, entries.after[after].kind) && may_be_one(before, after)
    };
    scopes.pair_only_ones(&entries, |entry| key(entry).is_some(), may_be_of_scope, &mut groups);
    let feeds = Feeds::of(&entries, &sources, &groups, fate);
    let may_be_one =
        |before: usize, after: usize| may_be_one(before, after) && !feeds.contradict(before, after);
    if entries.are_of_models {
        let key = |_, entry: &Entry| Some((key(entry)?, entry.shapes?, entry.weights));
        by_order(&entries, key, may_be_one, &mut groups);
    }
    // Of outputs of the same shapes, inputs of others tell that they are of others.
    let may_give_the_same = |before: usize, after: usize| {
        may_be_one(before, after) && !do_inputs_contradict([a, b], before, after)
    };
    by_order(&entries, |_, entry| Some((key(entry)?, entry.shapes?)), may_give_the_same, &mut groups);
    for told in 0..2 {
        let key = |side: usize, entry: &Entry| Some((pool_of(side, entry, told)?, entry.shapes?));
        by_order(&entries, key, may_give_the_same, &mut groups);
    }
    let of_equal_shapes = groups.count;
    // Where shapes agree so far, operators of other shapes are others. Where they don't, all may be of another size.
    let joined = [(a, &groups.before), (b, &groups.after)].map(|(side, of)| share(&side.rows, of, &|_| true));
    let fits_so_far = fits([a, b], &entries, &groups, 0);
    let count = |wanted: bool| fits_so_far.iter().filter(|fit| **fit == Some(wanted)).count();
    let do_shapes_tell = joined.iter().any(|joined| *joined > 0.5) && count(true) > 3 * count(false);
    let may_pair = |before: usize, after: usize| {
        let contradicts = || match fit([a, b], &entries, before, after) {
            Some(true) => do_inputs_contradict([a, b], before, after),
            Some(false) => do_shapes_tell,
            None => do_shapes_tell && do_inputs_contradict([a, b], before, after),
        };
        may_be_one(before, after) && !contradicts()
    };
    by_order(&entries, |_, entry| key(entry), may_pair, &mut groups);
    for told in 0..2 {
        by_order(&entries, |side, entry| pool_of(side, entry, told), may_pair, &mut groups);
    }
    let means: Vec<(bool, bool)> = kinds.iter().map(|kind| is_mean_of_image(kind)).collect();
    for pool in 0..2 {
        let mean_of = |side: usize, entry: &Entry| {
            let (is_pool, is_mean) = means[entry.kind.index()];
            (if side == pool { is_pool } else { is_mean }).then_some(())
        };
        // Without shapes a mean may be one over anything, unless there are as many of them.
        let left = [0, 1].map(|side| {
            let of_side = entries.of(side).iter().zip(groups.of(side));
            of_side.filter(|(entry, group)| group.is_none() && mean_of(side, entry).is_some()).count()
        });
        let may_be_mean = |before: usize, after: usize| {
            may_be_one(before, after)
                && fit([a, b], &entries, before, after).unwrap_or(left[0] == left[1])
                && !do_inputs_contradict([a, b], before, after)
        };
        by_order(&entries, mean_of, may_be_mean, &mut groups);
    }
    let (mut agreeing, mut contradicting) = (vec![true; of_equal_shapes], vec![false; of_equal_shapes]);
    for fit in fits([a, b], &entries, &groups, of_equal_shapes) {
        agreeing.push(fit == Some(true));
        contradicting.push(fit == Some(false));
    }
    for (group, fit) in (before_parts..).zip(fits_of_parts) {
        (agreeing[group], contradicting[group]) = (fit == Some(true), fit == Some(false));
    }
    by_neighbours(&entries, |entry| is_copy[entry.kind.index()], &mut groups);
    agreeing.resize(groups.count, false);
    contradicting.resize(groups.count, false);
    // An operator behind one that was matched by its order alone may have been taken in by that.
    absorb([a, b], &entries, &fates, &sources, Round::Last, &mut groups);
    let shares = |counts: &dyn Fn(usize) -> bool| {
        (share(&a.rows, &groups.before, counts), share(&b.rows, &groups.after, counts))
    };
    Aligned {
        matched: shares(&|_| true),
        agreeing: shares(&|group| agreeing[group]),
        contradicting: shares(&|group| contradicting[group]),
        groups: finish(a, b, &groups),
    }
}

/// Whether the shapes of the pairs from a group on agree, where both sides tell them.
fn fits([a, b]: [&Side<'_>; 2], entries: &Entries, groups: &Groups, first: usize) -> Vec<Option<bool>> {
    let mut pairs = vec![(None, None); groups.count - first];
    let pair_of = |group: &Option<usize>| group.and_then(|group| group.checked_sub(first));
    for (place, group) in groups.before.iter().enumerate() {
        if let Some(pair) = pair_of(group) {
            pairs[pair].0 = Some(place);
        }
    }
    for (place, group) in groups.after.iter().enumerate() {
        if let Some(pair) = pair_of(group) {
            pairs[pair].1 = Some(place);
        }
    }
    let of_pair = |(before, after): (Option<usize>, Option<usize>)| fit([a, b], entries, before?, after?);
    pairs.into_iter().map(of_pair).collect()
}

/// Whether the shapes of an operator of A and of one of B agree, where both sides tell them.
fn fit([a, b]: [&Side<'_>; 2], entries: &Entries, before: usize, after: usize) -> Option<bool> {
    if entries.are_of_models {
        return Some(entries.before[before].shapes? == entries.after[after].shapes?);
    }
    let (row, other) = (&a.rows[before], &b.rows[after]);
    let (of_a, of_b) = ((a.trace, row.operator?), (b.trace, other.operator?));
    // ONNX Runtime tells shapes of its layout in blocks with the channels filled up.
    let is_in_blocks =
        [(a, row), (b, other)].iter().any(|(side, row)| side.trace.strings.get(row.name).ends_with("_nchwc"));
    let agree = shapes_agree(of_a, of_b)?;
    (agree || !is_in_blocks || !agree_when_filled_up(of_a, of_b)).then_some(agree)
}

/// Whether the inputs of an operator of A and of one of B speak against them. Layouts in blocks of ONNX
/// Runtime's fill up the channels of inputs as well.
fn do_inputs_contradict([a, b]: [&Side<'_>; 2], before: usize, after: usize) -> bool {
    let (row, other) = (&a.rows[before], &b.rows[after]);
    let is_in_blocks =
        [(a, row), (b, other)].iter().any(|(side, row)| side.trace.strings.get(row.name).ends_with("_nchwc"));
    let both = row.operator.zip(other.operator).filter(|_| !is_in_blocks);
    both.is_some_and(|(one, other)| inputs_contradict((a.trace, one), (b.trace, other)))
}

fn entries<'t>(side: &Side<'t>, which: Which, texts: &mut Texts<'t>, shapes: &mut Shapes<'t>) -> Vec<Entry> {
    let entry = |row: &Row<'_>| {
        let op_type = texts.id(which, row.op_type);
        let next = shapes.len() as u32;
        let (name, spelled) = (side.trace.strings.get(row.name), side.trace.strings.get(row.op_type));
        // Where no types are told, as at the profiler's level 0, the name stands for it.
        let spelled = of_any_group(spelled).map_or(spelled, |(kind, _)| kind);
        Entry {
            name: match of_any_group(name) {
                Some((_, of_any)) => texts.piece(of_any),
                None => texts.id(which, row.name),
            },
            kind: texts.kind(op_type, spelled),
            shapes: output_shapes(side.trace, row).map(|of_row| *shapes.entry(of_row).or_insert(next)),
            weights: 0,
            is_known: false,
            is_of_constants: false,
        }
    };
    side.rows.iter().map(entry).collect()
}

/// Takes the sizes of outputs from the models that ran, where neither profile tells shapes.
fn take_sizes_of_models([a, b]: [&Side<'_>; 2], names: [&NodeNames; 2], entries: &mut Entries) {
    let are_told = entries.before.iter().chain(&entries.after).any(|entry| entry.shapes.is_some());
    if are_told || names.iter().any(|names| names.nodes.is_empty()) {
        return;
    }
    entries.are_of_models = true;
    // Dimensions of 1 come and go with the layout, as in profiles that tell shapes.
    let mut numbers: HashMap<Vec<u64>, u32> = HashMap::new();
    for (side, names, entries) in [(a, names[0], &mut entries.before), (b, names[1], &mut entries.after)] {
        for (row, entry) in side.rows.iter().zip(entries) {
            let name = side.trace.strings.get(row.name);
            let Some(last) = names.of_operator(name).next().filter(|node| !node.sizes.is_empty()) else {
                continue;
            };
            let next = numbers.len() as u32;
            let sizes = last.sizes.iter().copied().filter(|size| *size != 1).collect();
            entry.shapes = Some(*numbers.entry(sizes).or_insert(next));
            entry.weights = names.of_operator(name).map(|node| node.weights).max().unwrap_or(0);
        }
    }
}

/// Finds the operators that are known to hold a node which both models have.
fn find_known_nodes([a, b]: [&Side<'_>; 2], names: [&NodeNames; 2], entries: &mut Entries, types: &[String]) {
    if names.iter().any(|names| names.nodes.is_empty()) {
        return;
    }
    // By the name under which both models know it, a node's type where one of them tells it.
    let nodes = names.map(|names| {
        let own = names.nodes.iter().map(|(name, node)| (&**name, Some(&*node.op_type)));
        let before = names.made_of.iter().filter(|(name, _)| names.nodes.contains_key(*name));
        let before = before.flat_map(|(_, before)| before).map(|name| (&**name, None));
        let all = before.chain(own).map(|(name, op_type)| (names.common(name).unwrap_or(name), op_type));
        all.collect::<HashMap<&str, Option<&str>>>()
    });
    for (own, (side, entries)) in [(a, &mut entries.before), (b, &mut entries.after)].into_iter().enumerate()
    {
        let may_be = |node: &str, wanted: &str| {
            let node = names[own].common(node).unwrap_or(node);
            let told = nodes[own].get(node).zip(nodes[1 - own].get(node));
            told.is_some_and(|(own, other)| own.or(*other).is_some_and(|op_type| may_run_as(op_type, wanted)))
        };
        for (row, entry) in side.rows.iter().zip(entries) {
            let text = |id| side.trace.strings.get(id);
            let (name, wanted) = (text(row.name), &*types[entry.kind.index()]);
            entry.is_known = match (row.origins, names[own].made_of(name)) {
                ([], Some(nodes)) => nodes.iter().any(|node| may_be(node, wanted)),
                ([], None) if text(row.op_type) == REFORMAT => false,
                ([], None) => side.nodes_in_name(name).any(|node| may_be(node, wanted)),
                (origins, _) => origins.iter().any(|origin| may_be(text(*origin), wanted)),
            };
        }
    }
}

/// Finds the operators that no input of the model reaches: none of them is the same as one that computes activations.
fn find_constants([a, b]: [&Side<'_>; 2], names: [&NodeNames; 2], entries: &mut Entries) {
    for (side, names, entries) in [(a, names[0], &mut entries.before), (b, names[1], &mut entries.after)] {
        for (row, entry) in side.rows.iter().zip(entries) {
            let mut nodes = names.of_operator(side.trace.strings.get(row.name)).peekable();
            entry.is_of_constants = nodes.peek().is_some() && nodes.all(|node| node.is_of_constants);
        }
    }
}

/// The shapes of all outputs of an operator that has some, if every dimension is known.
fn output_shapes<'t>(trace: &'t Trace, row: &Row<'_>) -> Option<Vec<&'t [i64]>> {
    let outputs = trace.operators.get(row.operator?).outputs();
    let known = |shape: &&[i64]| shape.iter().all(|size| *size >= 0);
    let shapes: Vec<&[i64]> =
        outputs.map(|tensor| trace.shape(tensor).filter(known)).collect::<Option<_>>()?;
    (!shapes.is_empty()).then_some(shapes)
}

/// The kind of copies between layouts.
const COPY: &str = "transdata";

/// The type of TensorRT's copies between layouts.
pub const REFORMAT: &str = "Reformat";

/// Joins whatever has a node of the graph in common, across both sides.
fn by_origin<'t>(
    [a, b]: [&Side<'t>; 2],
    names: [&'t NodeNames; 2],
    texts: &mut Texts<'t>,
    groups: &mut Groups,
) {
    let known =
        |side: &Side<'_>| side.has_joined_names() || side.rows.iter().any(|row| !row.origins.is_empty());
    if !known(a) && !known(b) && names.iter().all(|names| names.is_empty()) {
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
        let names = names[which as usize];
        for origin in row.origins {
            let node = match names.common(side.trace.strings.get(*origin)) {
                Some(node) => texts.piece(node),
                None => texts.id(which, *origin),
            };
            join(node, place);
        }
        if !row.origins.is_empty() {
            continue;
        }
        // Its own name may join those of the graph's nodes.
        let name = side.trace.strings.get(row.name);
        let mut join_node = |node: &'t str| join(texts.piece(names.common(node).unwrap_or(node)), place);
        match names.made_of(name) {
            Some(nodes) => nodes.iter().for_each(|node| join_node(node)),
            // The name of a copy between layouts has those of the nodes that it is for.
            None if side.trace.strings.get(row.op_type) == REFORMAT => join_node(name),
            None => side.nodes_in_name(name).for_each(join_node),
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

/// Pairs those of the same name and of kinds that are alike, in order where a name occurs more than once.
fn by_name(
    entries: &Entries,
    texts: usize,
    mut are_alike: impl FnMut(KindId, KindId) -> bool,
    groups: &mut Groups,
) {
    let trusts_names = has_names_in_common(entries, texts);
    let contradict =
        |a: &Entry, b: &Entry| !trusts_names && a.shapes.zip(b.shapes).is_some_and(|(a, b)| a != b);
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
            let found = &entries.after[other];
            if (!entries.typed || are_alike(entry.kind, found.kind)) && !contradict(entry, found) {
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

/// Whether more than half of the operators of the side with fewer have a name that the other has too.
fn has_names_in_common(entries: &Entries, texts: usize) -> bool {
    let mut is_of_after = vec![false; texts];
    entries.after.iter().for_each(|entry| is_of_after[entry.name.index()] = true);
    let common = entries.before.iter().filter(|entry| is_of_after[entry.name.index()]).count();
    common > entries.before.len().min(entries.after.len()) / 2
}

/// Whether a kind is of pools that tell which they are, and whether it is of those that don't.
fn is_pool(kind: &str) -> (bool, bool) {
    (are_pools_alike(kind, "pool"), are_pools_alike(kind, "maxpool"))
}

/// Whether a kind is of pools over a whole image, and whether it is of means, over whichever dimensions, or of pools over
/// a part of one, which may be all of it.
fn is_mean_of_image(kind: &str) -> (bool, bool) {
    const MEANS: [&str; 4] = ["averagepool", "mean", "reducemean", "reducemeand"];
    (kind == "globalaveragepool", MEANS.contains(&kind))
}

/// So many operators of one side are looked at for one of the other: those of a hostile file may all be refused.
const LOOKED_AT: usize = 256;

/// Pairs what is left and has the same key, which is told by the side and the operator, in the order in which it ran.
/// Pairs by place that may not be are left out.
fn by_order<K: Eq + Hash>(
    entries: &Entries,
    key: impl Fn(usize, &Entry) -> Option<K>,
    may_pair: impl Fn(usize, usize) -> bool,
    groups: &mut Groups,
) {
    let mut places: HashMap<K, Vec<usize>> = HashMap::new();
    for (place, entry) in entries.after.iter().enumerate().rev() {
        if groups.after[place].is_none()
            && let Some(key) = key(1, entry)
        {
            places.entry(key).or_default().push(place);
        }
    }
    for (place, entry) in entries.before.iter().enumerate() {
        if groups.before[place].is_some() {
            continue;
        }
        let Some(left) = key(0, entry).and_then(|key| places.get_mut(&key)) else { continue };
        let mut near = left.iter().enumerate().rev().take(LOOKED_AT);
        if let Some((at, &other)) = near.find(|(_, other)| may_pair(place, **other)) {
            left.remove(at);
            groups.pair(place, other);
        }
    }
}

/// Pairs copies between layouts that stand between the same groups, or between one and the begin or the end.
fn by_neighbours(entries: &Entries, is_copy: impl Fn(&Entry) -> bool, groups: &mut Groups) {
    let ends = |side: usize| {
        let (entries, of) = (entries.of(side), groups.of(side));
        // The operator that is no copy and was passed last: none at an end, and maybe one without a group.
        let passed = |places: &mut dyn Iterator<Item = usize>| {
            let mut last: Option<Option<usize>> = None;
            let near = |place: usize| if is_copy(&entries[place]) { last } else { last.replace(of[place]) };
            places.map(near).collect::<Vec<_>>()
        };
        let before = passed(&mut (0..entries.len()));
        let mut after = passed(&mut (0..entries.len()).rev());
        after.reverse();
        let known = |end: Option<Option<usize>>| end != Some(None);
        let free = |place: &usize| is_copy(&entries[*place]) && of[*place].is_none();
        let places = (0..entries.len()).filter(free);
        let ends = places.map(|place| (place, (before[place], after[place])));
        ends.filter(|(_, (before, after))| known(*before) && known(*after)).collect::<Vec<_>>()
    };
    let mut free: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, between) in ends(1).into_iter().rev() {
        free.entry(between).or_default().push(place);
    }
    for (place, between) in ends(0) {
        if let Some(other) = free.get_mut(&between).and_then(Vec::pop) {
            groups.pair(place, other);
        }
    }
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

/// Which part of the time belongs to rows with a group that counts.
fn share(rows: &[Row<'_>], of: &[Option<usize>], counts: &dyn Fn(usize) -> bool) -> f64 {
    let all: Nanoseconds = rows.iter().map(|row| row.time).sum();
    let in_groups = rows.iter().zip(of).filter(|(_, group)| group.is_some_and(counts));
    let matched: Nanoseconds = in_groups.map(|(row, _)| row.time).sum();
    if all.0 > 0 { matched.0 as f64 / all.0 as f64 } else { 0.0 }
}
