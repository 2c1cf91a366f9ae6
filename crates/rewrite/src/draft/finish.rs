//! From a draft back to a model: the nodes in order, and only what they need.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use opscope_model::proto::{
    Dimension, DimensionValue, GraphProto, ModelProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TensorType, TypeProto, TypeValue, ValueInfoProto,
};
use opscope_model::{Bindings, LoadError, Model, Shapes};

use super::{Draft, NodeIndex};

impl Draft<'_> {
    /// All nodes, in an order in which they can run.
    pub fn order(&self) -> Vec<NodeIndex> {
        sorted(self)
    }

    /// The model as it is now.
    pub fn to_proto(&self) -> ModelProto {
        to_proto(self)
    }

    /// Works out the shapes of all values, unless nothing has changed since that was done.
    ///
    /// # Errors
    /// When the draft is no sound graph, which is a fault of the rewrite that came last.
    pub fn infer_shapes(&mut self) -> Result<(), LoadError> {
        if self.shapes_are_current {
            return Ok(());
        }
        let model = Model::from_proto(self.to_proto(), self.model.folder())?;
        self.shapes_are_current = true;
        // Without bindings, nothing can be wrong with them.
        let Ok(shapes) = Shapes::infer(&model, &Bindings::new()) else { return Ok(()) };
        let known = |value: opscope_model::Value<'_>| {
            shapes.get(value.id).map(|shape| (value.name.to_owned(), shape.clone()))
        };
        self.shapes = model.graph().values().filter_map(known).collect();
        Ok(())
    }
}

/// The nodes in an order in which they can run; of those that could be next, always the one that stood
/// first in the file.
fn sorted(draft: &Draft<'_>) -> Vec<NodeIndex> {
    let mut waiting_for = vec![0usize; draft.nodes.len()];
    let mut ready = BinaryHeap::new();
    for (index, slot) in draft.nodes.iter().enumerate() {
        let Some(slot) = slot else { continue };
        let reads = slot.proto.input.iter().chain(&slot.captured);
        waiting_for[index] = reads.filter(|name| draft.producers.contains_key(*name)).count();
        if waiting_for[index] == 0 {
            ready.push(Reverse((slot.place, index)));
        }
    }
    let mut order = Vec::with_capacity(draft.nodes.len());
    while let Some(Reverse((_, index))) = ready.pop() {
        order.push(NodeIndex(index));
        let Some(slot) = &draft.nodes[index] else { continue };
        for name in slot.proto.output.iter().filter(|name| !name.is_empty()) {
            for consumer in draft.readers.of(name).iter().map(|reading| reading.node) {
                waiting_for[consumer.0] -= 1;
                if waiting_for[consumer.0] == 0
                    && let Some(next) = &draft.nodes[consumer.0]
                {
                    ready.push(Reverse((next.place, consumer.0)));
                }
            }
        }
    }
    order
}

fn to_proto(draft: &Draft<'_>) -> ModelProto {
    let before = draft.model.proto();
    let graph = draft.model.graph().proto();
    let mut fixed = before.ir_version() < 4;
    let nodes: Vec<_> =
        draft.order().into_iter().filter_map(|id| Some(draft.slot(id)?.proto.clone())).collect();
    let defaults = graph.initializer.iter().filter(|tensor| !draft.was_fixed(tensor.name()));
    let initializer: Vec<TensorProto> = defaults.chain(draft.constants.values()).cloned().collect();

    let stored: HashSet<&str> = initializer.iter().map(|tensor| tensor.name()).collect();
    let vanished = |name: &str| draft.was_fixed(name) && !stored.contains(name);
    let mut input: Vec<_> = graph.input.iter().filter(|info| !vanished(info.name())).cloned().collect();
    // Until the third version of the file format, initializers had to be listed as inputs. A model
    // that doesn't do so is left as it is.
    fixed &= graph.initializer.iter().all(|tensor| graph.input.iter().any(|i| i.name() == tensor.name()));
    if fixed {
        let listed: HashSet<String> = input.iter().map(|info| info.name().to_owned()).collect();
        input.extend(initializer.iter().filter(|tensor| !listed.contains(tensor.name())).map(declaration));
    }
    let known: HashSet<&str> = (nodes.iter().flat_map(|node| &node.output).map(String::as_str))
        .chain(stored.iter().copied())
        .chain(input.iter().map(|info| info.name()))
        .collect();
    let value_info = graph.value_info.iter().filter(|info| known.contains(info.name())).cloned().collect();
    let annotations = graph.quantization_annotation.iter();
    let quantization_annotation =
        annotations.filter(|annotation| known.contains(annotation.tensor_name())).cloned().collect();
    ModelProto {
        ir_version: raised_ir_version(before.ir_version, draft),
        producer_name: before.producer_name.clone(),
        producer_version: before.producer_version.clone(),
        domain: before.domain.clone(),
        model_version: before.model_version,
        doc_string: before.doc_string.clone(),
        graph: Some(GraphProto {
            node: nodes,
            name: graph.name.clone(),
            initializer,
            doc_string: graph.doc_string.clone(),
            input,
            output: graph.output.clone(),
            value_info,
            quantization_annotation,
            sparse_initializer: graph.sparse_initializer.clone(),
            metadata_props: graph.metadata_props.clone(),
        }),
        opset_import: opset_import(draft),
        metadata_props: before.metadata_props.clone(),
        training_info: before.training_info.clone(),
        functions: before.functions.clone(),
        configuration: before.configuration.clone(),
    }
}

impl Draft<'_> {
    /// Whether an initializer of the file was one that nobody can replace.
    fn was_fixed(&self, name: &str) -> bool {
        let graph = self.model.graph();
        let stored = graph.value_by_name(name).is_some_and(|value| value.initializer.is_some());
        let replaceable = self.model.proto().ir_version() >= 4
            && graph.proto().input.iter().any(|input| input.name() == name);
        stored && !replaceable
    }
}

/// The versions of the domains, ONNX's own as the draft has it.
fn opset_import(draft: &Draft<'_>) -> Vec<OperatorSetIdProto> {
    let mut imports = draft.model.proto().opset_import.clone();
    if Some(draft.opset) != draft.model.opset_version("") {
        for import in imports.iter_mut().filter(|import| matches!(import.domain(), "" | "ai.onnx")) {
            import.version = Some(draft.opset);
        }
    }
    imports
}

/// The file format's version, raised to the one that came with the operators' version if that was
/// raised.
fn raised_ir_version(version: Option<i64>, draft: &Draft<'_>) -> Option<i64> {
    if Some(draft.opset) == draft.model.opset_version("") {
        return version;
    }
    version.max(Some(crate::opset::ir_version(draft.opset)))
}

fn declaration(tensor: &TensorProto) -> ValueInfoProto {
    let dimension =
        |&size: &i64| Dimension { value: Some(DimensionValue::Value(size)), ..Dimension::default() };
    let shape = TensorShapeProto { dim: tensor.dims.iter().map(dimension).collect() };
    let tensor_type = TensorType { elem_type: tensor.data_type, shape: Some(shape) };
    let declared = TypeProto { value: Some(TypeValue::Tensor(tensor_type)), ..TypeProto::default() };
    ValueInfoProto { name: tensor.name.clone(), r#type: Some(declared), ..ValueInfoProto::default() }
}
