//! The graph of a model with the time of its operators, as a page shows it.
//!
//! The graph is the model's where there is one, else what the profile's names of tensors tell, else the order of
//! execution; [`Graph::facts`] says which. Every part has a place within the part around it, so that scopes fold and
//! unfold without another layout.
//!
//! | table | a row for |
//! |---|---|
//! | `graph_nodes` | each node, scope, fused operator and stream, behind the one around it |
//! | `graph_edges` | each link between them |
//! | `graph_work` | each operator that was executed, and the node whose time it is |
//! | `graph_chains` | each chain that fusion could take |
//! | `graph_strings` | each piece of text |
//!
//! | module | holds | uses |
//! |---|---|---|
//! | `of_model`, `of_trace` | where a graph comes from | `draft` |
//! | `tree` | scopes and boxes, and the places in each | `layout`, `draft` |
//! | `path` | the costliest path | `layout`, `draft` |
//! | `layout` | places for the nodes of any graph | – |

mod draft;
pub mod layout;
mod of_model;
mod of_trace;
mod path;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use opscope_analyze::Answer;
use opscope_model::{Model, Shapes};
use opscope_trace::{Nanoseconds, Trace};
use serde_json::{Value, json};

use self::draft::Draft;
use self::tree::Tree;
use crate::columns::Table;
use crate::embed::{MOST_OPERATORS, Strings};

/// Nodes from which on scopes begin folded.
const FOLDS_FROM: usize = 2_000;

/// A chain of nodes that could become one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The names of its nodes, in order.
    pub nodes: Vec<String>,
    /// Why it goes no further.
    pub stop: String,
    /// A change with which it goes on; empty if none is known.
    pub remedy: String,
    /// Why it goes no further, and the change, in Chinese.
    pub zh: [String; 2],
}

/// A graph, ready to be carried.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Its tables.
    pub tables: Vec<Table>,
    /// Where it comes from, and what isn't drawn.
    pub facts: Value,
    /// The names that were cut, because they are longer than 64 kB.
    pub names_cut: Vec<String>,
}

impl Graph {
    /// The graph of a profile. `answer` is that to the usual question; `model` is the model that ran, with the
    /// shapes of its values, and `chains` what of it could be fused.
    pub fn of(
        trace: &Trace,
        answer: &Answer,
        model: Option<(&Model, Option<&Shapes>)>,
        chains: &[Chain],
    ) -> Self {
        let (from, draft, is_matched, constants) = match model {
            Some((model, shapes)) => {
                let (draft, is_matched, constants) = of_model::draft(model, shapes, trace, answer);
                ("model", draft, is_matched, constants)
            }
            None => match of_trace::by_tensors(trace, answer) {
                Some(draft) => ("tensors", draft, true, 0),
                None => ("order", of_trace::by_order(trace, answer, MOST_OPERATORS), true, 0),
            },
        };
        let has_order_only = from == "order";
        let tree = Tree::of(&draft, has_order_only);
        let times = draft.times(answer);
        let (path, path_time) = path::costliest(&draft, &times);
        let nodes = tree.parts.iter().filter(|part| part.nodes == 0).count();
        let facts = json!({
            "from": from,
            "is_matched": is_matched,
            "nodes": nodes,
            "constants": constants,
            "is_folded": nodes > FOLDS_FROM && !has_order_only,
            "in_columns": tree.in_columns,
            "path_ns": path_time.0,
        });
        let mut strings = Strings::default();
        let mut writer = Writer { draft: &draft, tree: &tree, answer, strings: &mut strings };
        let (of_nodes, chains) = writer.chains(chains);
        let mut tables =
            vec![writer.nodes(trace, &times, &path, &of_nodes), writer.edges(), writer.work(), chains];
        tables.push(strings.table_from("graph_strings", 0));
        let names_cut = strings.cut().map(str::to_owned).collect();
        Self { tables, facts, names_cut }
    }
}

/// The tables of a graph as they are written.
struct Writer<'a> {
    draft: &'a Draft<'a>,
    tree: &'a Tree,
    answer: &'a Answer,
    strings: &'a mut Strings,
}

impl Writer<'_> {
    fn nodes(
        &mut self,
        trace: &Trace,
        times: &[Nanoseconds],
        path: &[u32],
        chain_of: &HashMap<u32, u64>,
    ) -> Table {
        let parts = &self.tree.parts;
        let part_of = |item: u32| u64::from(self.tree.of_item[item as usize]);
        let mut operator = vec![0; parts.len()];
        let mut count = vec![0; parts.len()];
        let mut is_named_by_operator = vec![false; parts.len()];
        // Rows are costliest first.
        for &(row, item) in self.draft.work.iter().rev() {
            let part = part_of(item) as usize;
            let facts = &self.answer.rows[row as usize];
            if (row as usize) < MOST_OPERATORS {
                operator[part] = u64::from(row) + 1;
                let name = facts.name.map_or("", |id| trace.strings.get(id));
                is_named_by_operator[part] = name == self.draft.items[item as usize].name;
            }
            count[part] += facts.executions as u64;
        }
        let mut time: Vec<u64> = parts
            .iter()
            .map(|part| part.item.map_or(0, |item| times[item as usize].0.max(0) as u64))
            .collect();
        for (id, part) in parts.iter().enumerate().rev() {
            if let Some(parent) = part.parent {
                time[parent as usize] += time[id];
            }
        }
        let mut next = vec![0; parts.len()];
        for (at, &item) in path.iter().enumerate() {
            let after = path.get(at + 1).copied().unwrap_or(item);
            next[part_of(item) as usize] = part_of(after) + 1;
        }
        let items = parts.iter().map(|part| part.item.map(|item| &self.draft.items[item as usize]));
        let items: Vec<_> = items.collect();
        // A name that is its operator's stands there already.
        let mut number = |text: &str| u64::from(self.strings.number(text));
        let name: Vec<u64> = (items.iter().zip(parts).zip(is_named_by_operator))
            .map(|((item, part), is_known)| match item {
                _ if is_known => 0,
                Some(item) => number(item.name),
                None => number(&part.name),
            })
            .collect();
        let op_type: Vec<u64> =
            items.iter().map(|item| item.map_or(0, |item| number(item.op_type))).collect();
        let shapes: Vec<u64> = items.iter().map(|item| item.map_or(0, |item| number(&item.shapes))).collect();
        let mut table = Table::new("graph_nodes", parts.len());
        table.whole("name", name.iter().copied());
        table.whole("type", op_type.iter().copied());
        table.whole("shapes", shapes.iter().copied());
        table
            .whole("kind", items.iter().map(|item| item.map_or(draft::Kind::Scope, |item| item.kind) as u64));
        table.whole("fate", items.iter().map(|item| item.map_or(0, |item| item.fate as u64)));
        table.delta("parent", parts.iter().map(|part| part.parent.map_or(0, |parent| u64::from(parent) + 1)));
        table.delta("operator", operator.iter().copied());
        table.whole("time", time.iter().copied());
        table.whole("count", count.iter().copied());
        table.delta("rank", parts.iter().map(|part| part.place.rank.into()));
        table.delta("column", parts.iter().map(|part| part.place.column.into()));
        table.whole("nodes", parts.iter().map(|part| part.nodes.into()));
        table.delta("next", next.iter().copied());
        table.whole("chain", (0..parts.len() as u32).map(|part| chain_of.get(&part).copied().unwrap_or(0)));
        table
    }

    fn edges(&self) -> Table {
        let links = &self.draft.links;
        let part_of = |item: u32| u64::from(self.tree.of_item[item as usize]);
        let ways = &self.tree.ways;
        let mut table = Table::new("graph_edges", links.len());
        table.delta("from", links.iter().map(|link| part_of(link.from)));
        table.delta("to", links.iter().map(|link| part_of(link.to)));
        table.whole("is_order", links.iter().map(|link| link.is_order.into()));
        table.whole("is_back", ways.iter().map(|way| way.is_back.into()));
        table.whole("gutter", ways.iter().map(|way| way.lane.map_or(0, |(gutter, _)| u64::from(gutter) + 1)));
        table.whole("lane", ways.iter().map(|way| way.lane.map_or(0, |(_, lane)| lane.into())));
        table
    }

    fn work(&self) -> Table {
        let work = self.draft.work.iter().filter(|(row, _)| (*row as usize) < MOST_OPERATORS);
        let mut table = Table::new("graph_work", work.clone().count());
        table.delta("operator", work.clone().map(|(row, _)| u64::from(*row)));
        table.delta("node", work.map(|(_, item)| u64::from(self.tree.of_item[*item as usize])));
        table
    }

    /// The chains of several nodes, and by node the number of its own, from 1.
    fn chains(&mut self, chains: &[Chain]) -> (HashMap<u32, u64>, Table) {
        let names = draft::by_name(&self.draft.items);
        let chains: Vec<&Chain> = chains.iter().filter(|chain| chain.nodes.len() > 1).collect();
        let mut of_nodes = HashMap::new();
        for (number, chain) in (1..).zip(&chains) {
            for item in chain.nodes.iter().filter_map(|name| names.get(name.as_str())) {
                of_nodes.insert(self.tree.of_item[*item as usize], number);
            }
        }
        let mut column = |text: fn(&Chain) -> &str| -> Vec<u64> {
            chains.iter().map(|chain| self.strings.number(text(chain)).into()).collect()
        };
        let (stop, remedy) = (column(|chain| &chain.stop), column(|chain| &chain.remedy));
        let mut table = Table::new("graph_chains", chains.len());
        table.whole("stop", stop.iter().copied());
        table.whole("remedy", remedy.iter().copied());
        let (stop, remedy) = (column(|chain| &chain.zh[0]), column(|chain| &chain.zh[1]));
        table.whole("stop_zh", stop.iter().copied());
        table.whole("remedy_zh", remedy.iter().copied());
        (of_nodes, table)
    }
}
