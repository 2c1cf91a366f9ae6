//! The graph of a model, with what the profile says of its nodes.

use std::collections::HashMap;

use opscope_analyze::Answer;
use opscope_model::{Graph, Model, NodeId, Shapes, ValueId};
use opscope_trace::{Attribution, OperatorId, StringId, Trace};

use super::draft::{Draft, Fate, Item, ItemId, Kind, Link, by_name, by_start, fate_of_stranger};

/// The draft of a model, whether any operator is a node of it, and how many constants aren't drawn.
pub(super) fn draft<'a>(
    model: &'a Model,
    shapes: Option<&Shapes>,
    trace: &'a Trace,
    answer: &Answer,
) -> (Draft<'a>, bool, usize) {
    let graph = model.graph();
    let mut draft = Draft::default();
    let mut items: Vec<Option<ItemId>> = vec![None; graph.node_count()];
    for node in graph.nodes().filter(|node| !node.is("Constant")) {
        items[node.id.index()] = Some(draft.push(Item {
            kind: Kind::Node,
            name: node.name,
            op_type: node.op_type,
            shapes: shapes.map_or(String::new(), |shapes| shapes_of(graph, node.id, shapes)),
            fate: Fate::Unknown,
            within: None,
        }));
    }
    let constants = graph.node_count() - draft.items.len();
    for node in graph.nodes() {
        let sources = node.reads().filter_map(|value| graph.value(value).producer);
        let links = sources.filter_map(|from| Some((items[from.index()]?, items[node.id.index()]?)));
        draft.links.extend(links.map(|(from, to)| Link { from, to, is_order: false }));
    }
    let is_matched = add_operators(&mut draft, trace, answer);
    draft.tidy();
    (draft, is_matched, constants)
}

/// Ties the operators to the nodes that they stand for; the others stand behind what ran before them.
fn add_operators<'a>(draft: &mut Draft<'a>, trace: &'a Trace, answer: &Answer) -> bool {
    let names = by_name(&draft.items);
    let mut fused: HashMap<(StringId, StringId), ItemId> = HashMap::new();
    let mut before = None;
    let mut strangers = Vec::new();
    for (number, row) in by_start(answer) {
        let origins = origins(trace, row.operator, row.name);
        let nodes: Vec<ItemId> = origins.iter().filter_map(|name| names.get(name)).copied().collect();
        let Some(&first) = nodes.first() else {
            strangers.push((number, row, before));
            continue;
        };
        let place = match (origins.len(), row.name, row.op_type) {
            (2.., Some(name), op_type) => {
                let key = (name, op_type.unwrap_or(name));
                *fused.entry(key).or_insert_with(|| fused_item(draft, trace, key, &nodes).unwrap_or(first))
            }
            _ => {
                draft.items[first as usize].fate = Fate::Measured;
                first
            }
        };
        draft.work.push((number, place));
        before = Some(place);
    }
    let is_matched = before.is_some();
    for item in draft.items.iter_mut().filter(|item| is_matched && item.fate == Fate::Unknown) {
        item.fate = Fate::Removed;
    }
    // A graph with none of its nodes executed stays one: a foreign profile's operators would only hide it.
    for (number, row, before) in strangers.into_iter().filter(|_| is_matched) {
        let text = |id: Option<StringId>| id.map_or("", |id| trace.strings.get(id));
        let attribution = row.operator.map(|operator| trace.operators.attribution()[operator.index()]);
        let item = Item {
            kind: Kind::Node,
            name: text(row.name),
            op_type: text(row.op_type),
            shapes: String::new(),
            fate: fate_of_stranger(attribution),
            within: None,
        };
        draft.push_executed(number, item, before);
    }
    is_matched
}

/// A box for an operator, round those of its nodes that are in no other; `None` where there is none.
fn fused_item<'a>(
    draft: &mut Draft<'a>,
    trace: &'a Trace,
    (name, op_type): (StringId, StringId),
    nodes: &[ItemId],
) -> Option<ItemId> {
    let free: Vec<ItemId> =
        nodes.iter().copied().filter(|&node| draft.items[node as usize].within.is_none()).collect();
    if free.is_empty() {
        return draft.items[nodes[0] as usize].within;
    }
    let id = draft.push(Item {
        kind: Kind::Fused,
        name: trace.strings.get(name),
        op_type: trace.strings.get(op_type),
        shapes: String::new(),
        fate: Fate::Fused,
        within: None,
    });
    for node in free {
        let item = &mut draft.items[node as usize];
        item.within = Some(id);
        if item.fate == Fate::Unknown {
            item.fate = Fate::Fused;
        }
    }
    Some(id)
}

/// The nodes that an operator stands for by name: its own where the profile names none.
fn origins(trace: &Trace, operator: Option<OperatorId>, name: Option<StringId>) -> Vec<&str> {
    let (origins, is_matched) = operator.map_or((&[][..], false), |operator| {
        let origins = trace.names.get(trace.operators.origins()[operator.index()]);
        (origins, trace.operators.attribution()[operator.index()] != Attribution::NoGraph)
    });
    let own = name.filter(|_| origins.is_empty() && !is_matched);
    origins.iter().copied().chain(own).map(|id| trace.strings.get(id)).collect()
}

/// Shapes of a node's inputs without constants, and of its outputs.
fn shapes_of(graph: Graph<'_>, node: NodeId, shapes: &Shapes) -> String {
    let node = graph.node(node);
    let list = |values: &mut dyn Iterator<Item = ValueId>| {
        let shape = |value: ValueId| {
            let Some(shape) = shapes.get(value) else { return "?".to_owned() };
            let sizes = shape.dims.iter().map(|size| size.map_or("?".to_owned(), |size| size.to_string()));
            let sizes: Vec<String> = sizes.collect();
            if sizes.is_empty() { "scalar".to_owned() } else { sizes.join("x") }
        };
        values.map(shape).collect::<Vec<_>>().join(" ")
    };
    let inputs = node.inputs.iter().flatten().copied().filter(|&value| !graph.value(value).is_stored());
    let inputs = list(&mut { inputs });
    let outputs = list(&mut node.outputs.iter().flatten().copied());
    if outputs.is_empty() { inputs } else { format!("{inputs} → {outputs}").trim_start().to_owned() }
}
