//! The nodes of a model: what each reads and makes, what it computes and moves.

use opscope_model::{Cost, Graph, Model, Node, Shapes, TensorShape, ValueId};
use opscope_trace::units;
use serde_json::{Value, json};

use super::{Table, TableCell, TableColumn};

/// Whether a node only hands on what a branch of an offline model takes from the operator that chooses it.
pub fn is_branch_input(model: &Model, node: &Node<'_>) -> bool {
    node.op_type == "Data" && model.is_helper(node.name)
}

/// The rows, in the order in which they can run. Costs are of one inference with the shapes that are
/// known; what they leave open is unknown.
fn table(model: &Model, shapes: &Shapes) -> Table {
    let column = |column: TableColumn, key: &'static str| TableColumn { key: key.into(), ..column };
    let mut table = Table::new([
        column(TableColumn::text("name"), "name"),
        column(TableColumn::text("type"), "type"),
        column(TableColumn::text("inputs"), "inputs"),
        column(TableColumn::text("outputs"), "outputs"),
        column(TableColumn::number("compute"), "flops"),
        column(TableColumn::number("read"), "bytes_read"),
        column(TableColumn::number("written"), "bytes_written"),
        column(TableColumn::number("parameters"), "parameters"),
    ]);
    let graph = model.graph();
    for node in graph.nodes().filter(|node| !is_branch_input(model, node)) {
        let cost = Cost::of(model, shapes, node.id);
        let values = |ids: &mut dyn Iterator<Item = ValueId>| -> TableCell {
            let texts: Vec<String> = ids.map(|id| value(graph, shapes, id)).collect();
            TableCell::new(texts.join(" "), json!(texts))
        };
        table.row([
            TableCell::new(node.name, node.name),
            TableCell::new(node.op_type, node.op_type),
            values(&mut node.inputs.iter().copied().flatten()),
            values(&mut node.outputs.iter().copied().flatten()),
            number(cost.flops, |flops| units::flops(flops as f64)),
            number(cost.bytes_read, |bytes| units::bytes(bytes as f64)),
            number(cost.bytes_written, |bytes| units::bytes(bytes as f64)),
            TableCell::new(cost.parameters.to_string(), cost.parameters),
        ]);
    }
    table
}

fn number(number: Option<u64>, text: impl Fn(u64) -> String) -> TableCell {
    number.map_or_else(TableCell::missing, |number| TableCell::new(text(number), number))
}

/// A value with its type and sizes: `data:float32[1,3,224,224]`, with `?` for a size that isn't known.
fn value(graph: Graph<'_>, shapes: &Shapes, id: ValueId) -> String {
    let name = graph.value(id).name;
    let Some(TensorShape { data_type, dims }) = shapes.get(id) else { return name.to_owned() };
    let dims = dims.iter().map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string()));
    format!("{name}:{}[{}]", data_type.name(), dims.collect::<Vec<_>>().join(","))
}

/// The nodes of a model, and what is doubtful about them.
pub struct Nodes {
    /// A row for each.
    pub table: Table,
    /// The contradictions in the model's shapes, and the nodes whose outputs aren't known completely.
    pub doubts: Value,
}

impl Nodes {
    /// The nodes of a model with these shapes.
    pub fn of(model: &Model, shapes: &Shapes) -> Self {
        Self { table: table(model, shapes), doubts: doubts(model, shapes) }
    }
}

/// The contradictions that were seen in the model's shapes, and the nodes whose outputs stay unknown.
fn doubts(model: &Model, shapes: &Shapes) -> Value {
    let name = |id| model.graph().node(id).name;
    let notes = shapes
        .notes()
        .iter()
        .map(|note| note.node.map_or(note.text.clone(), |node| format!("{}: {}", name(node), note.text)));
    json!({
        "notes": notes.collect::<Vec<_>>(),
        "unresolved": shapes.unresolved().iter().map(|&id| name(id)).collect::<Vec<_>>(),
    })
}
