//! A graph before anything of it has a place: what is drawn, what leads where, and which rows of the answer about
//! operators are whose time.

use std::collections::HashMap;

use opscope_analyze::{Answer, Row};
use opscope_trace::{Attribution, Nanoseconds};

/// Names an item of a [`Draft`].
pub(super) type ItemId = u32;

/// The kind of what is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A node of the model, or an operator.
    Node,
    /// Nodes with a common beginning of their names.
    Scope,
    /// An operator that the engine made of several nodes.
    Fused,
    /// A stream, where there is nothing but an order of execution.
    Stream,
}

/// The fate of a node when the model ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nobody knows: the profile has no node of this graph.
    Unknown,
    /// It ran as itself, or it is an operator that nothing else is known of.
    Measured,
    /// It is part of an operator that has other nodes as well.
    Fused,
    /// The engine computed it beforehand, or had no need of it.
    Removed,
    /// The engine added it.
    Added,
    /// An operator of the profile that is no node of the graph.
    Unmatched,
}

/// A thing that is drawn.
#[derive(Clone, Debug)]
pub(super) struct Item<'a> {
    pub kind: Kind,
    pub name: &'a str,
    pub op_type: &'a str,
    pub shapes: String,
    pub fate: Fate,
    /// The fused operator or the stream that it is in.
    pub within: Option<ItemId>,
}

/// A link between two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Link {
    pub from: ItemId,
    pub to: ItemId,
    /// Whether nothing is known but that the one ran after the other.
    pub is_order: bool,
}

/// A graph without places.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft<'a> {
    pub items: Vec<Item<'a>>,
    pub links: Vec<Link>,
    /// Rows of the answer, each with the item whose time it is.
    pub work: Vec<(u32, ItemId)>,
}

impl<'a> Draft<'a> {
    pub(super) fn push(&mut self, item: Item<'a>) -> ItemId {
        self.items.push(item);
        self.items.len() as ItemId - 1
    }

    /// Adds an operator that no link leads to, behind the one that ran before it.
    pub(super) fn push_executed(&mut self, row: u32, item: Item<'a>, behind: Option<ItemId>) -> ItemId {
        let id = self.push(item);
        self.work.push((row, id));
        self.links.extend(behind.map(|from| Link { from, to: id, is_order: true }));
        id
    }

    /// Takes out links that stand there twice, or lead from an item to itself.
    pub(super) fn tidy(&mut self) {
        self.links.retain(|link| link.from != link.to);
        self.links.sort_unstable();
        self.links.dedup_by_key(|link| (link.from, link.to));
    }

    /// The time of each item itself in an average iteration.
    pub(super) fn times(&self, answer: &Answer) -> Vec<Nanoseconds> {
        let mut times = vec![Nanoseconds::ZERO; self.items.len()];
        for &(row, item) in &self.work {
            times[item as usize].0 = times[item as usize].0.saturating_add(answer.rows[row as usize].total.0);
        }
        times
    }
}

/// The rows of an answer in the order in which they began.
pub(super) fn by_start(answer: &Answer) -> Vec<(u32, &Row)> {
    let mut rows: Vec<(u32, &Row)> = (0..).zip(&answer.rows).collect();
    rows.sort_by_key(|(number, row)| (row.start, *number));
    rows
}

/// The fate of an operator that is no node of the graph.
pub(super) fn fate_of_stranger(attribution: Option<Attribution>) -> Fate {
    if attribution == Some(Attribution::Engine) { Fate::Added } else { Fate::Unmatched }
}

/// Items by their names, of which the first of equals counts.
pub(super) fn by_name<'a>(items: &[Item<'a>]) -> HashMap<&'a str, ItemId> {
    let mut names = HashMap::new();
    for (id, item) in (0..).zip(items) {
        names.entry(item.name).or_insert(id);
    }
    names
}
