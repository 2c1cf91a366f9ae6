//! The operators of a profile from which another one's inputs come, as the model tells.

use std::collections::{HashMap, HashSet};

use super::absorb::Fate;
use super::align::REFORMAT;
use super::node_names::{ModelNode, NodeNames};
use super::side::{Row, Side};
use crate::kind::kind;

/// Kinds that compute nothing, so that engines run no operator for them.
const VIEWS: [&str; 7] = ["reshape", "identity", "flatten", "squeeze", "unsqueeze", "dropout", "squeezev2"];

/// So many nodes are looked at from one operator: graphs from files may be of any shape.
const LOOKED_AT: usize = 256;

/// The operators of one side by the nodes that they stand for.
pub(super) struct Sources<'t> {
    side: &'t Side<'t>,
    names: &'t NodeNames,
    /// By the name of a node of the model before its conversion, that of the node which was made of it.
    became: HashMap<&'t str, &'t str>,
    /// By a node's name, the first operator that stands for it.
    rows: HashMap<&'t str, usize>,
}

impl<'t> Sources<'t> {
    pub fn of_side(side: &'t Side<'t>, names: &'t NodeNames) -> Self {
        let mut sources = Self { side, names, became: HashMap::new(), rows: HashMap::new() };
        if names.nodes.is_empty() {
            return sources;
        }
        // Names of operators that an engine made up are no nodes.
        for (name, origins) in names.made_of.iter().filter(|(name, _)| names.nodes.contains_key(*name)) {
            for origin in origins {
                // Of several the first by name, whatever the order of the map is.
                let became = sources.became.entry(origin).or_insert(name);
                *became = (*became).min(name);
            }
        }
        for (place, row) in side.rows.iter().enumerate() {
            for node in sources.nodes_of(row) {
                sources.rows.entry(node).or_insert(place);
            }
        }
        sources
    }

    /// The operators from which the inputs of one come, past those that change only the layout and nodes that the
    /// profile has no operator of; `None` where the model doesn't know it.
    pub fn of(&self, place: usize, fate: impl Fn(usize) -> Fate) -> Option<Vec<usize>> {
        if self.names.nodes.is_empty() {
            return None;
        }
        let own = self.nodes_of(&self.side.rows[place]);
        if own.is_empty() {
            return None;
        }
        let before = |node: &str| {
            let sources = self.names.nodes.get(node).into_iter().flat_map(|node| &node.sources);
            sources.map(String::as_str).take(LOOKED_AT)
        };
        let mut found = Vec::new();
        let mut left: Vec<&str> = own.into_iter().flat_map(before).collect();
        let mut seen: HashSet<&str> = HashSet::new();
        while let Some(node) = left.pop().filter(|_| seen.len() < LOOKED_AT) {
            if !seen.insert(node) {
                continue;
            }
            let goes_on = match self.rows.get(node) {
                Some(&row) if row == place => false,
                Some(&row) if fate(row) == Fate::Between => true,
                Some(&row) => {
                    found.push(row);
                    false
                }
                None => self.names.nodes.get(node).is_some_and(is_passed),
            };
            if goes_on {
                left.extend(before(node));
            }
        }
        Some(found)
    }

    /// The nodes of the model that an operator stands for: those that the profile tells, else that of its own name or
    /// those of which it is joined.
    fn nodes_of(&self, row: &Row<'t>) -> Vec<&'t str> {
        let text = |id| self.side.trace.strings.get(id);
        let in_model = |name: &'t str| match self.names.nodes.contains_key(name) {
            true => Some(name),
            false => self.became.get(name).copied(),
        };
        let name = text(row.name);
        if let Some(node) = in_model(name) {
            return vec![node];
        }
        if let (Some(nodes), []) = (self.names.made_of(name), row.origins) {
            return nodes.iter().filter_map(|node| in_model(node)).collect();
        }
        match row.origins {
            // The name of a copy between layouts has those of the nodes that it is for.
            [] if text(row.op_type) == REFORMAT => Vec::new(),
            [] => self.side.nodes_in_name(name).filter_map(in_model).collect(),
            origins => origins.iter().filter_map(|origin| in_model(text(*origin))).collect(),
        }
    }
}

/// Whether a node without an operator may have been taken in by those before it, or computes nothing.
fn is_passed(node: &ModelNode) -> bool {
    let kind = kind(&node.op_type);
    Fate::of(&kind) != Fate::Alone || VIEWS.contains(&&*kind)
}
