//! Which of the shapes that a file declares an engine is told.
//!
//! Exporters write down the shapes of values between the nodes: with names for open dimensions, which an
//! engine takes for unknown numbers that no input can settle, or with the sizes of the exporter's own
//! example. Once the inputs' shapes are fixed, an engine works them out better by itself.

use std::collections::HashSet;

use opscope_model::proto::{DimensionValue, GraphProto, ModelProto, TypeValue, ValueInfoProto};
use opscope_model::{Dim, Model, Shapes};

/// How many of the declarations are to be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The shapes that the inputs' shapes don't contradict, and that leave no dimension open.
    Fitting,
    /// None.
    Nothing,
}

/// Drops shapes that `proto`, the same graph as `model`'s, declares for what its nodes compute. `shapes`
/// are those that follow from the inputs. Element types stay. Tells whether anything was dropped.
pub fn drop_declared(proto: &mut ModelProto, model: &Model, shapes: &Shapes, keep: Keep) -> bool {
    let Some(graph) = &mut proto.graph else { return false };
    let contradicted: HashSet<&str> = contradicted(model, shapes).collect();
    let drops = |info: &ValueInfoProto| {
        keep == Keep::Nothing
            || is_open(info)
            || info.name.as_deref().is_some_and(|name| contradicted.contains(name))
    };
    drop_in(graph, &drops)
}

/// The values whose declared shape isn't that which follows from the inputs.
fn contradicted<'m>(model: &'m Model, shapes: &Shapes) -> impl Iterator<Item = &'m str> {
    model.graph().values().filter_map(|value| {
        let declared = value.declared()?.dims?;
        let found = &shapes.get(value.id)?.dims;
        let differs = |(declared, found): (&Dim, &Option<u64>)| match (declared, found) {
            (Dim::Known(declared), Some(found)) => declared != found,
            _ => false,
        };
        let contradicts = declared.len() != found.len() || declared.iter().zip(found).any(differs);
        contradicts.then_some(value.name)
    })
}

/// Whether a declared shape leaves a dimension open.
fn is_open(info: &ValueInfoProto) -> bool {
    let Some(TypeValue::Tensor(tensor)) = info.r#type.as_ref().and_then(|declared| declared.value.as_ref())
    else {
        return false;
    };
    let mut sizes = tensor.shape.iter().flat_map(|shape| &shape.dim).map(|dim| &dim.value);
    sizes.any(|size| !matches!(size, Some(DimensionValue::Value(size)) if *size >= 0))
}

/// The same in a graph and in the graphs within its nodes.
fn drop_in(graph: &mut GraphProto, drops: &impl Fn(&ValueInfoProto) -> bool) -> bool {
    let before = graph.value_info.len();
    graph.value_info.retain(|info| !drops(info));
    let mut dropped = graph.value_info.len() < before;
    // An output has to stay; its shape needn't.
    for output in graph.output.iter_mut().filter(|output| drops(output)) {
        if let Some(TypeValue::Tensor(tensor)) =
            output.r#type.as_mut().and_then(|declared| declared.value.as_mut())
        {
            dropped |= tensor.shape.take().is_some();
        }
    }
    for attribute in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
        let inner = attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs);
        for graph in inner {
            dropped |= drop_in(graph, drops);
        }
    }
    dropped
}
