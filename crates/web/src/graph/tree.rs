//! The parts of a graph within one another: scopes by the slashes of names, fused operators round their nodes, and
//! the place of each within the part around it.

use std::collections::HashMap;

use super::draft::{Draft, Kind};
use super::layout::{Layout, Place, Way, in_columns, layered, side_by_side};

/// Slashes of a name that make scopes; the rest of it is the node's own.
const DEEPEST: usize = 12;

/// Parts of a scope from which on they stand in columns: no screen shows more with their links.
const MOST_LINKED: usize = 20_000;

/// A scope, or an item of the draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The item; `None` of a scope.
    pub item: Option<u32>,
    /// The full name of a scope.
    pub name: String,
    /// The part around it, which stands before it.
    pub parent: Option<u32>,
    /// Its place there.
    pub place: Place,
    /// Nodes in it and in what it holds; 0 of a node.
    pub nodes: u32,
}

/// A graph with places.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub parts: Vec<Part>,
    /// The part of each item.
    pub of_item: Vec<u32>,
    /// The way of each link of the draft, between the parts of which both ends are.
    pub ways: Vec<Way>,
    /// Scopes whose parts are too many for links to be laid out.
    pub in_columns: usize,
}

impl Tree {
    pub(super) fn of(draft: &Draft<'_>, has_order_only: bool) -> Self {
        let (parts, of_item) = Growing::of(draft, has_order_only).finish();
        let mut tree = Self { parts, of_item, ways: Vec::new(), in_columns: 0 };
        tree.place(draft, has_order_only);
        tree
    }

    /// Gives each part its place within the one around it, and each link its way.
    fn place(&mut self, draft: &Draft<'_>, has_order_only: bool) {
        let count = self.parts.len();
        // Scope by scope, the outermost first: its parts, and the number of each among them.
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); count + 1];
        let mut number = vec![0; count];
        for (id, part) in (0..).zip(&self.parts) {
            let around = part.parent.map_or(0, |parent| parent as usize + 1);
            number[id as usize] = inside[around].len() as u32;
            inside[around].push(id);
        }
        let depth = self.depths();
        let lifted: Vec<Option<(usize, u32, u32)>> = draft
            .links
            .iter()
            .map(|link| {
                let (from, to) = (self.of_item[link.from as usize], self.of_item[link.to as usize]);
                let (from, to) = self.beside(from, to, &depth)?;
                let around = self.parts[from as usize].parent.map_or(0, |parent| parent as usize + 1);
                Some((around, number[from as usize], number[to as usize]))
            })
            .collect();
        let mut links: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count + 1];
        lifted.iter().flatten().for_each(|&(around, from, to)| links[around].push((from, to)));
        let mut layouts = Vec::with_capacity(count + 1);
        for (parts, links) in inside.iter().zip(&mut links) {
            links.sort_unstable();
            links.dedup();
            // Streams stand side by side, and what ran on each goes down its columns.
            let is_list = parts.len() > MOST_LINKED
                || has_order_only && parts.iter().any(|&part| self.is_node(draft, part));
            self.in_columns += usize::from(is_list && !has_order_only);
            let layout = match (is_list, has_order_only) {
                (true, _) => Layout { places: in_columns(parts.len()), ways: Vec::new() },
                (false, true) => Layout { places: side_by_side(parts.len()), ways: Vec::new() },
                (false, false) => layered(parts.len(), links),
            };
            for (&part, &place) in parts.iter().zip(&layout.places) {
                self.parts[part as usize].place = place;
            }
            layouts.push(layout);
        }
        let way = |&(around, from, to): &(usize, u32, u32)| {
            let at = links[around].binary_search(&(from, to)).ok()?;
            layouts[around].ways.get(at).copied()
        };
        self.ways = lifted.iter().map(|lifted| lifted.as_ref().and_then(way).unwrap_or_default()).collect();
    }

    fn is_node(&self, draft: &Draft<'_>, part: u32) -> bool {
        self.parts[part as usize].item.is_some_and(|item| draft.items[item as usize].kind == Kind::Node)
    }

    fn depths(&self) -> Vec<u32> {
        let mut depths = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            depths.push(part.parent.map_or(0, |parent| depths[parent as usize] + 1));
        }
        depths
    }

    /// The two parts side by side of which two others are; `None` where the one holds the other.
    fn beside(&self, mut a: u32, mut b: u32, depth: &[u32]) -> Option<(u32, u32)> {
        while depth[a as usize] > depth[b as usize] {
            a = self.parts[a as usize].parent?;
        }
        while depth[b as usize] > depth[a as usize] {
            b = self.parts[b as usize].parent?;
        }
        while a != b && self.parts[a as usize].parent != self.parts[b as usize].parent {
            (a, b) = (self.parts[a as usize].parent?, self.parts[b as usize].parent?);
        }
        (a != b).then_some((a, b))
    }
}

/// Parts in any order; the root is none of them.
struct Growing {
    /// Item and name of each, and the part around it.
    parts: Vec<(Option<u32>, String, Option<usize>)>,
    scopes: HashMap<(Option<usize>, String), usize>,
    /// Items that other items are in, with their parts.
    boxes: HashMap<u32, usize>,
}

impl Growing {
    fn of(draft: &Draft<'_>, has_order_only: bool) -> Self {
        let mut growing = Self { parts: Vec::new(), scopes: HashMap::new(), boxes: HashMap::new() };
        let common = common_scopes(draft);
        for (id, item) in (0..).zip(&draft.items) {
            // A box is made where the first of its nodes stands, so that order is that of the graph.
            let around = match item.within {
                Some(id) => Some(growing.in_box(draft, id, &common)),
                None if growing.boxes.contains_key(&id) => continue,
                None if common.contains_key(&id) => {
                    growing.in_box(draft, id, &common);
                    continue;
                }
                None if has_order_only => None,
                None => growing.scope(&scopes_of(item.name)),
            };
            growing.parts.push((Some(id), String::new(), around));
        }
        growing
    }

    /// The part of a box.
    fn in_box(&mut self, draft: &Draft<'_>, id: u32, common: &HashMap<u32, Vec<&str>>) -> usize {
        if let Some(&part) = self.boxes.get(&id) {
            return part;
        }
        let is_stream = draft.items[id as usize].kind == Kind::Stream;
        let around = if is_stream { None } else { self.scope(&common[&id]) };
        self.parts.push((Some(id), String::new(), around));
        self.boxes.insert(id, self.parts.len() - 1);
        self.parts.len() - 1
    }

    /// The part of a scope, which is made if there is none yet.
    fn scope(&mut self, names: &[&str]) -> Option<usize> {
        let mut around = None;
        for (depth, name) in names.iter().enumerate() {
            around = Some(match self.scopes.get(&(around, (*name).to_owned())) {
                Some(&part) => part,
                None => {
                    self.parts.push((None, names[..=depth].join("/"), around));
                    self.scopes.insert((around, (*name).to_owned()), self.parts.len() - 1);
                    self.parts.len() - 1
                }
            });
        }
        around
    }

    /// The parts with each behind the one around it, without scopes that hold a single part, or everything.
    fn finish(self) -> (Vec<Part>, Vec<u32>) {
        let count = self.parts.len();
        let mut inside: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut outermost = Vec::new();
        for (id, part) in self.parts.iter().enumerate() {
            part.2.map_or(&mut outermost, |around| &mut inside[around]).push(id);
        }
        let is_scope = |id: usize| self.parts[id].0.is_none();
        while let [only] = outermost[..]
            && is_scope(only)
        {
            outermost = std::mem::take(&mut inside[only]);
        }
        let mut parts: Vec<Part> = Vec::with_capacity(count);
        let items = self.parts.iter().filter_map(|part| part.0).max().map_or(0, |last| last as usize + 1);
        let mut of_item = vec![0; items];
        let mut left: Vec<(usize, Option<u32>)> = outermost.into_iter().rev().map(|id| (id, None)).collect();
        while let Some((mut id, parent)) = left.pop() {
            while let [only] = inside[id][..]
                && is_scope(id)
            {
                id = only;
            }
            let (item, name, _) = &self.parts[id];
            let number = parts.len() as u32;
            if let Some(item) = item {
                of_item[*item as usize] = number;
            }
            let (item, name, place) = (*item, name.clone(), Place::default());
            parts.push(Part { item, name, parent, place, nodes: 0 });
            left.extend(inside[id].iter().rev().map(|&inner| (inner, Some(number))));
        }
        for id in (0..parts.len()).rev() {
            if let Some(parent) = parts[id].parent {
                let nodes = parts[id].nodes.max(1);
                parts[parent as usize].nodes += nodes;
            }
        }
        (parts, of_item)
    }
}

/// The scopes of a name, without its own part.
fn scopes_of(name: &str) -> Vec<&str> {
    let parts = name.split('/').filter(|part| !part.is_empty());
    let mut parts: Vec<&str> = parts.take(DEEPEST + 1).collect();
    parts.pop();
    parts
}

/// The scopes that all nodes of a box have in common.
fn common_scopes<'a>(draft: &Draft<'a>) -> HashMap<u32, Vec<&'a str>> {
    let mut common: HashMap<u32, Vec<&str>> = HashMap::new();
    for item in &draft.items {
        let Some(within) = item.within else { continue };
        let scopes = scopes_of(item.name);
        let known = common.entry(within).or_insert_with(|| scopes.clone());
        let same = known.iter().zip(&scopes).take_while(|(a, b)| a == b).count();
        known.truncate(same);
    }
    common
}
