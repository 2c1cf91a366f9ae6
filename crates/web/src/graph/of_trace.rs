//! The graph that a profile tells by itself: by the names of tensors, else the order of execution.

use std::collections::HashMap;

use opscope_analyze::Answer;
use opscope_analyze::signature::shapes;
use opscope_trace::{Attribution, OperatorId, StringId, Trace};

use super::draft::{Draft, Fate, Item, ItemId, Kind, Link, by_start, fate_of_stranger};

/// The draft by what operators read and write; `None` where no operator reads what another wrote.
pub(super) fn by_tensors<'a>(trace: &'a Trace, answer: &Answer) -> Option<Draft<'a>> {
    let mut draft = Draft::default();
    // Rows that differ in their shapes only are one operator.
    let mut known: HashMap<(StringId, StringId), ItemId> = HashMap::new();
    let mut operators: Vec<(ItemId, OperatorId)> = Vec::new();
    let mut strangers = Vec::new();
    let mut before = None;
    for (number, row) in by_start(answer) {
        let Some(operator) = row.operator.filter(|&operator| has_tensors(trace, operator)) else {
            strangers.push((number, row, before));
            continue;
        };
        let item = *known.entry(key(trace, operator)).or_insert_with(|| {
            let item = push_operator(&mut draft, trace, operator);
            operators.push((item, operator));
            item
        });
        draft.work.push((number, item));
        before = Some(item);
    }
    for operator in trace.operators.ids() {
        let is_removed = trace.operators.attribution()[operator.index()] == Attribution::Removed;
        if is_removed && has_tensors(trace, operator) && !known.contains_key(&key(trace, operator)) {
            let item = push_operator(&mut draft, trace, operator);
            known.insert(key(trace, operator), item);
            operators.push((item, operator));
        }
    }
    link_tensors(&mut draft, trace, &operators);
    if draft.links.is_empty() {
        return None;
    }
    for (number, row, before) in strangers {
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
    draft.tidy();
    Some(draft)
}

fn key(trace: &Trace, operator: OperatorId) -> (StringId, StringId) {
    let at = operator.index();
    (trace.operators.name()[at], trace.operators.op_type()[at])
}

/// Whether a profile names what an operator reads or writes.
fn has_tensors(trace: &Trace, operator: OperatorId) -> bool {
    let operator = trace.operators.get(operator);
    operator.inputs().chain(operator.outputs()).any(|tensor| trace.tensors.name()[tensor.index()].is_some())
}

/// An operator; one that stands for several nodes is a box round them.
fn push_operator<'a>(draft: &mut Draft<'a>, trace: &'a Trace, operator: OperatorId) -> ItemId {
    let at = operator.index();
    let row = trace.operators.get(operator);
    let origins = trace.names.get(row.origins);
    let op_type = trace.strings.get(row.op_type);
    let (kind, fate) = match trace.operators.attribution()[at] {
        Attribution::Removed => (Kind::Node, Fate::Removed),
        _ if origins.len() > 1 => (Kind::Fused, Fate::Fused),
        Attribution::Engine => (Kind::Node, Fate::Added),
        Attribution::Unattributed => (Kind::Node, Fate::Unmatched),
        _ => (Kind::Node, Fate::Measured),
    };
    let name = trace.strings.get(row.name);
    let shapes = shapes(trace, &row);
    let id = draft.push(Item { kind, name, op_type, shapes, fate, within: None });
    if kind == Kind::Fused {
        let types: Vec<&str> = op_type.split('+').collect();
        for (place, &origin) in origins.iter().enumerate() {
            // A fused type joins those of its nodes; where the numbers differ, none is guessed.
            let op_type = if types.len() == origins.len() { types[place] } else { "" };
            draft.push(Item {
                kind: Kind::Node,
                name: trace.strings.get(origin),
                op_type,
                shapes: String::new(),
                fate: Fate::Fused,
                within: Some(id),
            });
        }
    }
    id
}

/// Links each operator to those that wrote last what it reads. Names may be used again, as those of buffers are;
/// what is written by later operators only is taken from the first of them.
fn link_tensors(draft: &mut Draft<'_>, trace: &Trace, operators: &[(ItemId, OperatorId)]) {
    let mut first: HashMap<StringId, ItemId> = HashMap::new();
    let mut last: HashMap<StringId, ItemId> = HashMap::new();
    let name = |tensor: opscope_trace::TensorId| trace.tensors.name()[tensor.index()];
    for &(item, operator) in operators {
        for name in trace.operators.get(operator).outputs().filter_map(name) {
            first.entry(name).or_insert(item);
        }
    }
    for &(item, operator) in operators {
        let row = trace.operators.get(operator);
        for name in row.inputs().filter_map(name) {
            let from = last.get(&name).or_else(|| first.get(&name)).copied().filter(|&from| from != item);
            draft.links.extend(from.map(|from| Link { from, to: item, is_order: false }));
        }
        last.extend(row.outputs().filter_map(name).map(|name| (name, item)));
    }
}

/// The draft by the order of execution: the costliest operators of each stream in the order in which they began.
pub(super) fn by_order<'a>(trace: &'a Trace, answer: &Answer, most: usize) -> Draft<'a> {
    let mut draft = Draft::default();
    let rows = by_start(answer).into_iter().filter(|(number, _)| (*number as usize) < most);
    let rows: Vec<_> = rows.collect();
    let mut streams = HashMap::new();
    let has_several = rows.iter().any(|(_, row)| row.stream != rows[0].1.stream);
    for (number, row) in rows {
        let text = |id: Option<StringId>| id.map_or("", |id| trace.strings.get(id));
        let within = has_several.then(|| {
            *streams.entry(row.stream).or_insert_with(|| {
                let name =
                    row.stream.map_or("", |stream| trace.strings.get(trace.streams.name()[stream.index()]));
                let number = row
                    .stream
                    .map_or(String::new(), |stream| trace.streams.number()[stream.index()].to_string());
                // Streams without names are known by their number, which stands where nodes have shapes.
                let (op_type, fate) = ("", Fate::Unknown);
                draft.push(Item { kind: Kind::Stream, name, op_type, shapes: number, fate, within: None })
            })
        });
        let item = Item {
            kind: Kind::Node,
            name: text(row.name),
            op_type: text(row.op_type),
            shapes: String::new(),
            fate: Fate::Measured,
            within,
        };
        draft.push_executed(number, item, None);
    }
    draft
}
