//! The content of a model's file.

use std::collections::{BTreeMap, HashSet};

use opscope_model::parts::{Parts, PlaceOfData, Stored, place_of_data};
use opscope_model::proto::{TensorProto, data_type_from_onnx};
use opscope_model::{
    Bindings, Declared, Dim, Model, ModelKind, Node, Provenance, Shapes, StatedValue, TensorShape, ValueId,
    element_count,
};
use opscope_say::{say, sentence, word};
use opscope_trace::{DataType, units};
use serde_json::json;

use super::{Facts, most_frequent};
use crate::profile::losses_of_model;
use crate::report::nodes::is_branch_input;
use crate::report::{count, label};
use crate::terminal::printable;

/// Says what is in a model, of whose values the shapes may be known.
pub fn of_model(model: &Model, shapes: Option<&Shapes>, facts: &mut Facts) {
    let (proto, graph) = (model.proto(), model.graph());
    // Files of these kinds don't state all sizes.
    let kinds = [ModelKind::TfLite, ModelKind::TensorFlow, ModelKind::OpenVino, ModelKind::MegEngine];
    let is_inferred = shapes.is_none() && kinds.contains(&model.kind());
    let inferred = is_inferred.then(|| Shapes::infer(model, &Bindings::new()).ok()).flatten();
    let shapes = shapes.or(inferred.as_ref());
    let producer = [proto.producer_name.as_deref(), proto.producer_version.as_deref()];
    let producer =
        producer.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    if !producer.is_empty() {
        facts.add("producer", "producer", producer.clone(), producer);
    }
    let opsets: BTreeMap<String, i64> = proto
        .opset_import
        .iter()
        .filter_map(|import| Some((import.domain.clone().unwrap_or_default(), import.version?)))
        .collect();
    let named = |(domain, version): (&String, &i64)| match domain.as_str() {
        "" => format!("ai.onnx {version}"),
        domain => format!("{domain} {version}"),
    };
    if model.kind() == ModelKind::Onnx {
        let text = opsets.iter().map(named).collect::<Vec<_>>().join(", ");
        facts.add("operators", "opsets", say!("of {text}"), json!(opsets));
    }
    stated(model, facts);
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    let listed = graph.nodes().filter(|node| !is_branch_input(model, node));
    listed.for_each(|node| *types.entry(node.op_type).or_default() += 1);
    let number = types.values().sum();
    let text = format!("{}: {}", count(number, "node"), most_frequent(&types));
    facts.add("graph", "nodes", text, json!({ "count": number, "types": types }));
    let is_open = |dim: &Dim| !matches!(dim, Dim::Known(_));
    for (title, values) in [("input", graph.inputs()), ("output", graph.outputs())] {
        for &id in values {
            let value = graph.value(id);
            // Weights may be listed among the inputs.
            if value.is_stored() {
                continue;
            }
            let declared = value.declared();
            let has_sizes = declared.as_ref().is_some_and(|declared| declared.dims.is_some());
            let known = if has_sizes { None } else { shapes.and_then(|shapes| of_shape(shapes.get(id)?)) };
            let shape = known
                .as_ref()
                .or(declared.as_ref())
                .map_or(word("of an undeclared type").to_owned(), opscope_run::declared_text);
            let is_given = || shapes.and_then(|shapes| shapes.get(id)?.known_dims()).is_some();
            if title == "input"
                && model.kind() == ModelKind::Onnx
                && !is_given()
                && declared.and_then(|it| it.dims).is_some_and(|dims| dims.iter().any(is_open))
            {
                facts.missing.push(say!(
                    "the size of open dimensions of '{}': run asks for them",
                    printable(value.name)
                ));
            }
            let stated = model.provenance().output_names.get(value.name).filter(|_| title == "output");
            let name = stated.map_or(value.name, String::as_str);
            facts.add(title, &format!("{title} {name}"), format!("{name} {shape}"), shape.clone());
        }
    }
    // The nodes of other formats were made of the file, and nothing stands in themselves.
    let parts = if model.kind() == ModelKind::Onnx { Parts::of(proto) } else { Parts::default() };
    weights(model, &parts, facts);
    within(&parts, facts);
    origins(model, facts);
    if let Some(shapes) = shapes {
        contradictions(shapes, facts);
    }
    if let Some(shapes) = shapes.filter(|_| kinds.contains(&model.kind())) {
        missing_sizes(model, shapes, facts);
    }
    if let Err(error) = model.check_external_data() {
        facts.missing.push(say!("weights: {}", sentence(&error.to_string())));
    }
}

/// Says what of a model's declared sizes and types its operators don't make, as beside weights of another model.
fn contradictions(shapes: &Shapes, facts: &mut Facts) {
    // Other notes are about inputs that don't fit, of which nothing is taken.
    let mut told = shapes.notes().iter().filter(|note| note.text.contains(" is declared as "));
    if let Some(first) = told.next() {
        let number = 1 + told.count();
        facts.missing.push(say!(
            "agreement of what the model states and what its operators make; {number} times the latter is taken, first: {}",
            printable(&first.text)
        ));
    }
}

/// Says how many operators make values of unknown sizes, and so have no costs. Networks of Caffe tell it among the
/// losses, and inputs of ONNX models for themselves; compiled models state all sizes.
fn missing_sizes(model: &Model, shapes: &Shapes, facts: &mut Facts) {
    let graph = model.graph();
    let (unknown, all) = (shapes.unresolved().len(), graph.node_count());
    if unknown == 0 {
        return;
    }
    let all = count(all, "node");
    let is_known = |id: &ValueId| shapes.get(*id).is_some_and(|shape| shape.known_dims().is_some());
    let is_given = |id: &ValueId| graph.value(*id).is_stored() || is_known(id);
    if !graph.inputs().iter().all(is_given) {
        facts.missing.push(say!(
            "the sizes of what {unknown} of {all} make, and with them the costs (--input and --dim give those of inputs)"
        ));
        return;
    }
    let mut first: Vec<_> = shapes.unresolved().iter().map(|id| graph.node(*id)).collect();
    let is_first = |node: &Node<'_>| node.inputs.iter().flatten().all(is_known);
    if first.iter().any(is_first) {
        first.retain(is_first);
    }
    let named = first.iter().take(MOST_NAMED).map(|node| format!("{} ({})", node.name, node.op_type));
    let named = printable(&named.collect::<Vec<_>>().join(", ")).to_string();
    let more = if first.len() > MOST_NAMED { " …" } else { "" };
    facts.missing.push(say!(
        "the sizes of what {unknown} of {all} make, and with them the costs: nothing tells those of {named}{more}"
    ));
}

/// How many of the operators are named whose sizes nothing tells.
const MOST_NAMED: usize = 3;

/// The type of a value as it was worked out; nothing where that is unknown.
fn of_shape(shape: &TensorShape) -> Option<Declared> {
    let dim = |size: &Option<u64>| size.map_or(Dim::Unknown, Dim::Known);
    let dims = Some(shape.dims.iter().map(dim).collect());
    let declared = Declared { data_type: shape.data_type, dims };
    (shape.data_type != DataType::Unknown).then_some(declared)
}

/// Tensors that a file stores, each place of data once.
#[derive(Default)]
struct Weights<'m> {
    tensors: usize,
    elements: u64,
    bytes: u64,
    seen: HashSet<PlaceOfData<'m>>,
}

impl<'m> Weights<'m> {
    /// Adds a tensor of so many elements, whose bytes in the file may be others than those of its type.
    fn add(&mut self, tensor: Option<&'m TensorProto>, elements: u64, bytes: Option<u64>) {
        if tensor.and_then(place_of_data).is_some_and(|place| !self.seen.insert(place)) {
            return;
        }
        self.tensors += 1;
        self.elements = self.elements.saturating_add(elements);
        self.bytes = self.bytes.saturating_add(bytes.unwrap_or(0));
    }

    fn add_stored(&mut self, stored: &Stored<'m>) {
        let tensor = match *stored {
            Stored::Tensor(tensor) => tensor,
            Stored::List(data_type, elements) => return self.add(None, elements, data_type.bytes(elements)),
        };
        let sizes: Option<Vec<u64>> = tensor.dims.iter().map(|size| u64::try_from(*size).ok()).collect();
        let Some(elements) = sizes.and_then(|sizes| element_count(&sizes)) else { return };
        let data_type = data_type_from_onnx(tensor.data_type.unwrap_or(0));
        self.add(Some(tensor), elements, data_type.bytes(elements));
    }
}

/// Says how much a model stores, wherever in its file that stands.
fn weights(model: &Model, parts: &Parts<'_>, facts: &mut Facts) {
    let mut weights = Weights::default();
    let Provenance { made_values, packed, .. } = model.provenance();
    let stored =
        model.graph().values().filter(|value| value.is_stored() && !made_values.contains(value.name));
    for value in stored {
        let Some(declared) = value.declared() else { continue };
        let sizes = declared.dims.unwrap_or_default();
        let size = sizes.iter().try_fold(1_u64, |product, dim| match dim {
            Dim::Known(size) => product.checked_mul(*size),
            _ => None,
        });
        let Some(size) = size else { continue };
        let in_file = packed.get(value.name).copied().or_else(|| declared.data_type.bytes(size));
        weights.add(value.initializer, size, in_file);
    }
    let of_graph = weights.tensors;
    parts.constants.iter().for_each(|stored| weights.add_stored(stored));
    let in_constants = weights.tensors - of_graph;
    parts.within.iter().for_each(|stored| weights.add_stored(stored));
    let within = weights.tensors - of_graph - in_constants;
    let mut text = say!(
        "{} in {}, {}",
        weights.elements,
        count(weights.tensors, "tensor"),
        units::bytes(weights.bytes as f64)
    );
    if in_constants > 0 {
        text.push_str(&say!("; {in_constants} of them in Constant nodes"));
    }
    if within > 0 {
        text.push_str(&say!("; {within} of them within nodes and functions"));
    }
    let uncounted = uncounted_layers(model);
    if uncounted > 0 {
        text.push_str(&say!("; those of {} aren't known", count(uncounted, "layer")));
    }
    let value = json!({
        "tensors": weights.tensors,
        "elements": weights.elements,
        "bytes": weights.bytes,
        "tensors_in_constants": in_constants,
        "tensors_within": within,
        "layers_not_counted": uncounted,
    });
    facts.add("weights", "weights", text, value);
}

/// How many of Caffe's layers have weights that aren't counted: those that keep Caffe's names, because the sizes of their
/// blobs aren't known or ONNX has no like.
fn uncounted_layers(model: &Model) -> usize {
    const WITH_WEIGHTS: [&str; 14] = [
        "BatchNorm",
        "BN",
        "Bias",
        "Convolution",
        "ConvolutionDepthwise",
        "Deconvolution",
        "DepthwiseConvolution",
        "Embed",
        "GroupNorm",
        "InnerProduct",
        "LSTM",
        "Normalize",
        "PReLU",
        "RNN",
    ];
    let nodes = model.graph().nodes().filter(|_| model.kind() == ModelKind::Caffe);
    nodes.filter(|node| !node.domain.is_empty() && WITH_WEIGHTS.contains(&node.op_type)).count()
}

/// Says which graphs and functions stand within a model's graph.
fn within(parts: &Parts<'_>, facts: &mut Facts) {
    if parts.graphs > 0 {
        let nodes: usize = parts.types.values().sum();
        let text = say!(
            "{} of {}, with {}: {}",
            count(parts.graphs, "subgraph"),
            most_frequent(&parts.holders),
            count(nodes, "node"),
            most_frequent(&parts.types)
        );
        let value =
            json!({ "count": parts.graphs, "of": parts.holders, "nodes": nodes, "types": parts.types });
        facts.add("within", "subgraphs", text, value);
    }
    if !parts.functions.is_empty() {
        let nodes: usize = parts.functions.iter().map(|(_, nodes)| nodes).sum();
        let names: Vec<&str> = parts.functions.iter().map(|(name, _)| *name).collect();
        let few = names.iter().take(6).copied().collect::<Vec<_>>().join(", ");
        let more = if names.len() > 6 { ", …" } else { "" };
        let text = say!("{}, with {}: {few}{more}", count(names.len(), "function"), count(nodes, "node"));
        facts.add("functions", "functions", text, json!({ "names": names, "nodes": nodes }));
    }
}

/// Facts that a model's file states of itself, and what of it could not be read.
fn stated(model: &Model, facts: &mut Facts) {
    let provenance = model.provenance();
    for fact in &provenance.stated {
        match &fact.value {
            StatedValue::Text(text) => facts.add(fact.title, fact.key, text.clone(), text.clone()),
            StatedValue::Count(count) => facts.add(fact.title, fact.key, count.to_string(), *count),
            StatedValue::Bytes(bytes) => facts.bytes(fact.title, fact.key, *bytes),
        }
    }
    if !provenance.losses.is_empty() {
        facts.losses = provenance
            .losses
            .iter()
            .map(|loss| format!("{} {}\n", label("lost", 10), printable(&sentence(loss))))
            .collect();
    }
    let losses = losses_of_model(model);
    if !losses.is_empty() {
        facts.add("losses", "losses", losses.len().to_string(), losses);
    }
}

/// How many operators of a converted model stand for several of the one before, and which engines run them.
fn origins(model: &Model, facts: &mut Facts) {
    let known: Vec<_> = model.graph().nodes().filter_map(|node| model.origin(node.id)).collect();
    let fused = known.iter().filter(|origin| origin.is_fused());
    let (operators, before) =
        fused.fold((0, 0), |(operators, before), origin| (operators + 1, before + origin.names.len()));
    if operators > 0 {
        let text = say!("{} of {before} before (opscope fusion lists them)", count(operators, "operator"));
        facts.add("fused", "fused", text, json!({ "operators": operators, "before": before }));
    }
    let mut engines: BTreeMap<&str, usize> = BTreeMap::new();
    for engine in known.iter().filter_map(|origin| origin.engine.as_deref()) {
        *engines.entry(engine).or_default() += 1;
    }
    if !engines.is_empty() {
        facts.add("engines", "engines", most_frequent(&engines), json!(engines));
    }
}

#[cfg(test)]
mod tests {
    use opscope_testing::tensorflow as made;

    use super::*;

    /// The facts about a network of Caffe, as its text has it.
    fn facts_of(network: &str) -> Facts {
        let model = Model::from_any_bytes(network.as_bytes().to_vec().into()).unwrap();
        let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
        let mut facts = Facts::default();
        of_model(&model, Some(&shapes), &mut facts);
        facts
    }

    #[test]
    fn weights_of_caffe_are_the_files_own_and_say_which_layers_are_missing() {
        let convolution = "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
            convolution_param { num_output: 8 kernel_size: 3 bias_term: false } }";
        let known = facts_of(&format!(
            "input: 'data' input_shape {{ dim: 1 dim: 3 dim: 8 dim: 8 }} {convolution}
             layer {{ name: 'flat' type: 'Reshape' bottom: 'conv' top: 'flat'
                reshape_param {{ shape {{ dim: 0 dim: -1 }} }} }}"
        ));
        let text = known.to_text();
        assert!(text.contains("216 in 1 tensor"), "{text}");
        assert!(!text.contains("aren't known"), "{text}");
        let text =
            facts_of(&format!("layer {{ name: 'data' type: 'Data' top: 'data' }} {convolution}")).to_text();
        assert!(text.contains("0 in 0 tensors") && text.contains("those of 1 layer aren't known"), "{text}");
    }

    #[test]
    fn nodes_whose_sizes_are_unknown_are_told_of() {
        let network = |batch: i64| {
            let nodes = [
                made::Node::placeholder("x", &[batch, 8]),
                made::Node::new("relu", "Relu", &["x"]).data_type("T", made::FLOAT),
            ];
            let model = Model::from_any_bytes(made::graph(&nodes).into()).unwrap();
            let mut facts = Facts::default();
            of_model(&model, None, &mut facts);
            facts.missing
        };
        assert!(network(1).is_empty(), "{:?}", network(1));
        let open = network(-1);
        assert!(open.iter().any(|missing| missing.contains("what 1 of 1 node make")), "{open:?}");
    }
}
