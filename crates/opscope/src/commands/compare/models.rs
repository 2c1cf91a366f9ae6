//! The models that two profiles are of: which nodes their operators stand for, and which nodes of both are the same.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use opscope_advise::{bias_of_sum, gelus, nodes_behind, normalised_sums, tanh_gelus};
use opscope_analyze::{ModelNode, NodeNames, REFORMAT, nodes_joined, operator_kind};
use opscope_model::{Bindings, Graph, Model, ModelKind, Node, NodeId, Pairing, Shapes, ValueId};
use opscope_say::say;
use opscope_trace::{ProfileFormat, Trace};
use serde_json::{Value, json};

use crate::terminal::Terminal;

/// How many operators of a profile have names of the model's nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The operators that ran, by name.
    operators: usize,
    /// The number of those that the model knows.
    known: usize,
}

/// A model with the profile that it is of.
struct Side {
    path: PathBuf,
    /// How many nodes of the model before its conversion it tells.
    nodes: usize,
    known: Known,
}

/// How the nodes that both models have were found: in all as many as each has of the other's.
#[derive(Clone, Copy)]
struct Common {
    /// Both graphs have a node of the name.
    by_name: usize,
    /// A converted model states the name as what one of its operators was made of.
    by_origin: usize,
    /// Their places in both graphs tell.
    by_structure: usize,
}

impl Common {
    fn all(self) -> usize {
        self.by_name + self.by_origin + self.by_structure
    }
}

/// The names of nodes that two models tell, and how much of them.
#[derive(Default)]
pub struct Models {
    pub names: [NodeNames; 2],
    sides: [Option<Side>; 2],
    common: Option<Common>,
}

impl Models {
    /// Reads the models that are named.
    ///
    /// # Errors
    /// When one can't be read.
    pub fn read(paths: [Option<&Path>; 2], profiles: [&Trace; 2]) -> anyhow::Result<Self> {
        let load = |path: Option<&Path>| path.map(Model::load).transpose();
        let loaded = [load(paths[0])?, load(paths[1])?];
        Ok(Self::of([0, 1].map(|side| paths[side].zip(loaded[side].as_ref())), profiles))
    }

    /// The same of models that were read.
    pub fn of(models: [Option<(&Path, &Model)>; 2], profiles: [&Trace; 2]) -> Self {
        let paths = models.map(|model| model.map(|(path, _)| path));
        let models = models.map(|model| model.map(|(_, model)| Named::of(model)));
        let mut names = [0, 1].map(|side| names_told(models[side].as_ref(), profiles[side]));
        let known = [0, 1].map(|side| Some(known(models[side].as_ref()?, profiles[side], &names[side])));
        let mut common = None;
        let mut nodes = [0, 1].map(|side| models[side].as_ref().map(Named::nodes).unwrap_or_default());
        if let [Some(first), Some(second)] = &models {
            let kind = |op_type: &str| operator_kind(op_type).into_owned();
            let pairs = Pairing::of(first.model, second.model, &kind);
            let stated: Vec<&String> = nodes[0].intersection(&nodes[1]).collect();
            let is_in_both = |name: &&&String| {
                [first, second].iter().all(|named| named.model.graph().node_by_name(name).is_some())
            };
            let (stated, by_name) = (stated.len(), stated.iter().filter(is_in_both).count());
            names[1].same_as = same_as(first, second, &pairs, &nodes[0]);
            nodes[1] =
                nodes[1].iter().map(|node| names[1].same_as.get(node).unwrap_or(node).clone()).collect();
            let all = nodes[0].intersection(&nodes[1]).count();
            let is_of_one_model = all > 0 && nodes.iter().all(|nodes| nodes.len() == all);
            // The profiles may be of other models than those that were named.
            let is_its = |known: &Option<Known>| known.is_some_and(|it| 2 * it.known > it.operators);
            let is_of_one_model = is_of_one_model && known.iter().all(is_its);
            names.iter_mut().for_each(|names| names.is_of_one_model = is_of_one_model);
            common = Some(Common {
                by_name,
                by_origin: stated - by_name,
                by_structure: all.saturating_sub(stated),
            });
        }
        let sides = [0, 1].map(|side| {
            Some(Side { path: paths[side]?.to_owned(), nodes: nodes[side].len(), known: known[side]? })
        });
        Self { names, sides, common }
    }

    /// Says which model is likely another than the profile's.
    pub fn warn(&self, terminal: &Terminal) {
        for (side, name) in self.sides.iter().zip(["A", "B"]) {
            if let Some(side) = side.as_ref().filter(|side| side.known.known == 0 && side.known.operators > 0)
            {
                terminal.warn(&say!(
                    "no operator of {name} has the name of a node of {}: is it another model?",
                    side.path.display()
                ));
            }
        }
    }

    /// Lines for people; none without models.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (side, name) in self.sides.iter().zip(["A", "B"]) {
            let Some(side) = side else { continue };
            let common =
                self.common.map(Common::all).map(|common| say!(", {common} of them in the other model"));
            lines.push(say!(
                "{name}'s model {}: {} of {} operators are its nodes; {} nodes{}",
                side.path.display(),
                side.known.known,
                side.known.operators,
                side.nodes,
                common.unwrap_or_default()
            ));
        }
        if let Some(Common { by_name, by_origin, by_structure }) = self.common {
            lines.push(say!(
                "nodes of both: {by_name} by name, {by_origin} by the origins that a converted model states, \
                 {by_structure} by their places in the graph"
            ));
        }
        lines
    }

    /// The same for programs; null without models.
    pub fn to_json(&self) -> Value {
        if self.sides.iter().all(Option::is_none) {
            return Value::Null;
        }
        let side = |side: &Option<Side>| {
            side.as_ref().map(|side| {
                json!({
                    "path": side.path.display().to_string(),
                    "nodes": side.nodes,
                    "nodes_in_common": self.common.map(Common::all),
                    "operators": side.known.operators,
                    "operators_known": side.known.known,
                })
            })
        };
        json!({
            "before": side(&self.sides[0]),
            "after": side(&self.sides[1]),
            "paired_by_name": self.common.map(|common| common.by_name),
            "paired_by_origin": self.common.map(|common| common.by_origin),
            "paired_by_structure": self.common.map(|common| common.by_structure),
        })
    }
}

/// The nodes that operators stand for which aren't named by them: those that the operators of a converted model were
/// made of, and those of which the profile's engine made operators that it named in its own way.
fn names_told(named: Option<&Named<'_>>, profile: &Trace) -> NodeNames {
    let Some(named) = named else { return NodeNames::default() };
    let model = named.model;
    let origins = model.provenance().origins.iter();
    let stated = origins.filter(|(_, origin)| !origin.names.is_empty());
    let stated = stated.map(|(name, origin)| (name.clone(), origin.names.clone()));
    let joined = named.joined.iter().filter(|(name, nodes)| !nodes.is_empty() && name.contains(';'));
    let joined = joined.map(|(name, nodes)| {
        let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
        ((*name).to_owned(), nodes)
    });
    let made_of = stated.chain(joined).collect();
    let mut names = NodeNames { made_of, nodes: graph_of(model), ..NodeNames::default() };
    for (_, row) in profile.operators.iter() {
        let name = profile.strings.get(row.name);
        let is_told = names.made_of.contains_key(name) || names.nodes.contains_key(name);
        if is_told || !profile.names.get(row.origins).is_empty() {
            continue;
        }
        let behind = nodes_behind(model, name, profile.strings.get(row.op_type));
        let nodes: Vec<String> = behind
            .into_iter()
            .filter_map(|node| model.graph().node_by_name(node))
            .flat_map(|node| named.names_of(node.id))
            .map(str::to_owned)
            .collect();
        if !nodes.is_empty() {
            names.made_of.insert(name.to_owned(), nodes);
        }
    }
    NUMBERED.iter().for_each(|numbered| numbered.tell(named, profile, &mut names));
    names
}

/// Operators that ONNX Runtime fused and numbered through (`Gelu`, `Gelu_token_66`).
struct Numbered {
    op_type: &'static str,
    /// The names of the first ones.
    names: &'static [&'static str],
    /// The nodes of all that a model has, in its order.
    of_model: fn(&Model) -> Vec<Vec<&str>>,
    /// How many inputs one has that took in the addition of a bias before the last of its nodes as well.
    inputs_with_bias: Option<u32>,
}

const NUMBERED: [Numbered; 3] = [
    Numbered { op_type: "Gelu", names: &["Gelu"], of_model: gelus, inputs_with_bias: None },
    Numbered {
        op_type: "FastGelu",
        names: &["FastGelu", "GPT2Gelu"],
        of_model: tanh_gelus,
        inputs_with_bias: None,
    },
    Numbered {
        op_type: "SkipLayerNormalization",
        names: &["SkipLayerNormalization"],
        of_model: normalised_sums,
        // Both values, scale and shift of the normalisation, and the bias.
        inputs_with_bias: Some(5),
    },
];

impl Numbered {
    /// Finds the nodes of the operators: where the model has as many of them, they ran in its order.
    fn tell(&self, named: &Named<'_>, profile: &Trace, names: &mut NodeNames) {
        let (mut numbered, mut seen): (Vec<(&str, u32)>, HashSet<&str>) = Default::default();
        for (_, row) in profile.operators.iter() {
            let (name, op_type) = (profile.strings.get(row.name), profile.strings.get(row.op_type));
            let is_numbered = |first: &&str| {
                name.strip_prefix(*first).is_some_and(|rest| rest.is_empty() || rest.starts_with("_token_"))
            };
            let is_told = names.made_of.contains_key(name)
                || names.nodes.contains_key(name)
                || !profile.names.get(row.origins).is_empty();
            let is_one = op_type == self.op_type && self.names.iter().any(is_numbered);
            if is_one && !is_told && seen.insert(name) {
                numbered.push((name, row.input_count));
            }
        }
        let model = named.model;
        let known = if numbered.is_empty() { Vec::new() } else { (self.of_model)(model) };
        if known.len() != numbered.len() {
            return;
        }
        for ((name, inputs), nodes) in numbered.into_iter().zip(known) {
            let has_bias = self.inputs_with_bias.is_some_and(|with_bias| inputs >= with_bias);
            let bias = nodes.last().filter(|_| has_bias).and_then(|sum| bias_of_sum(model, sum));
            let ids = nodes.into_iter().chain(bias).filter_map(|node| model.graph().node_by_name(node));
            let nodes = ids.flat_map(|node| named.names_of(node.id)).map(str::to_owned).collect();
            names.made_of.insert(name.to_owned(), nodes);
        }
    }
}

/// The nodes of a model by name, each with those that come before it.
fn graph_of(model: &Model) -> HashMap<String, ModelNode> {
    let graph = model.graph();
    let shapes = Shapes::infer(model, &Bindings::new()).ok();
    let dims_of = |value| shapes.as_ref()?.get(value)?.known_dims();
    let reached = reached_by_inputs(graph);
    let mut nodes: HashMap<String, ModelNode> = HashMap::new();
    for node in graph.nodes() {
        let producers = node.reads().filter_map(|value| graph.value(value).producer);
        let sources = producers.map(|producer| graph.node(producer).name.to_owned());
        let known = nodes.entry(node.name.to_owned()).or_default();
        known.op_type = node.op_type.to_owned();
        known.sources.extend(sources);
        known.sizes = node.output(0).and_then(dims_of).unwrap_or_default();
        known.sizes.sort_unstable();
        let stored = node.inputs.iter().flatten().filter(|input| graph.value(**input).is_stored());
        let elements = stored
            .filter_map(|input| dims_of(*input)?.iter().try_fold(1, |all: u64, size| all.checked_mul(*size)));
        known.weights = elements.max().unwrap_or(0);
        known.is_of_constants = !reached.contains(&node.id);
    }
    nodes
}

/// The nodes to which a way leads from the graph's inputs, or from nodes that make up their values, such as those of
/// random numbers.
fn reached_by_inputs(graph: Graph<'_>) -> HashSet<NodeId> {
    let is_constant = |node: &Node<'_>| {
        node.is("Constant") || node.is("Const") || node.inputs.iter().flatten().next().is_some()
    };
    let is_input = |value: ValueId| {
        let value = graph.value(value);
        value.producer.is_none() && !value.is_stored()
    };
    let is_begin = |node: &Node<'_>| !is_constant(node) || node.reads().any(is_input);
    let mut left: Vec<NodeId> = graph.nodes().filter(is_begin).map(|node| node.id).collect();
    let mut reached: HashSet<NodeId> = left.iter().copied().collect();
    while let Some(id) = left.pop() {
        for value in graph.node(id).outputs.iter().flatten() {
            let readers = graph.value(*value).consumers.iter().copied();
            left.extend(readers.filter(|reader| reached.insert(*reader)));
        }
    }
    reached
}

/// A model with the names by which its nodes are known.
struct Named<'m> {
    model: &'m Model,
    /// By the names of TensorFlow Lite's operators, the nodes that they are joined of; none of other models.
    joined: HashMap<&'m str, Vec<&'m str>>,
}

impl<'m> Named<'m> {
    fn of(model: &'m Model) -> Self {
        let graph = model.graph();
        // An activation within an operator is a node behind it that has the operator's name before its type.
        let is_within = |name: &str| {
            name.rsplit_once(':').is_some_and(|(operator, _)| graph.node_by_name(operator).is_some())
        };
        let is_joined = model.kind() == ModelKind::TfLite;
        let names = graph.nodes().filter(|_| is_joined).map(|node| node.name);
        let joined = nodes_joined(names.filter(|&name| !model.is_helper(name) && !is_within(name)));
        Self { model, joined }
    }

    /// The names by which a node is known: those of the nodes that it was made of, or else its own.
    fn names_of(&self, node: NodeId) -> Vec<&'m str> {
        let name = self.model.graph().node(node).name;
        let stated = self.model.origin(node).map(|origin| origin.names.iter().map(String::as_str).collect());
        let known: Option<Vec<&str>> = stated.or_else(|| self.joined.get(name).cloned());
        known.filter(|names| !names.is_empty()).unwrap_or_else(|| vec![name])
    }

    fn nodes(&self) -> HashSet<String> {
        let nodes = self.model.graph().nodes().filter(|node| !self.model.is_helper(node.name));
        nodes.flat_map(|node| self.names_of(node.id)).map(str::to_owned).collect()
    }
}

/// The names of the second model's nodes that have another in the first.
fn same_as(
    first: &Named<'_>,
    second: &Named<'_>,
    pairs: &Pairing,
    of_first: &HashSet<String>,
) -> HashMap<String, String> {
    let mut same = HashMap::new();
    for node in second.model.graph().nodes() {
        let Some(other) = pairs.first(node.id) else { continue };
        let Some(name) = first.names_of(other).first().map(|name| (*name).to_owned()) else { continue };
        for own in second.names_of(node.id).into_iter().filter(|own| !of_first.contains(*own)) {
            same.insert(own.to_owned(), name.clone());
        }
    }
    same
}

/// How many of a profile's operators are made of the model's nodes, as the profile or their names tell, or else have
/// names of nodes, alone or joined with `+`, in TensorFlow Lite's profiles with `;`.
fn known(named: &Named<'_>, trace: &Trace, names: &NodeNames) -> Known {
    let nodes = named.nodes();
    let is_node = |name: &str| nodes.contains(name) || named.model.graph().node_by_name(name).is_some();
    let separator = if trace.run.format == Some(ProfileFormat::TensorFlowLite) { ';' } else { '+' };
    let mut operators: HashMap<&str, bool> = HashMap::new();
    for (_, row) in trace.operators.iter() {
        let name = trace.strings.get(row.name);
        let origins = trace.names.get(row.origins);
        let is_known = match origins {
            // The name of a copy between layouts has those of the nodes that it is for.
            [] if trace.strings.get(row.op_type) == REFORMAT => false,
            [] if names.made_of.contains_key(name) => true,
            [] => is_node(name) || name.split(separator).any(|piece| is_node(piece.trim())),
            origins => origins.iter().any(|origin| is_node(trace.strings.get(*origin))),
        };
        *operators.entry(name).or_default() |= is_known;
    }
    Known { known: operators.values().filter(|known| **known).count(), operators: operators.len() }
}

#[cfg(test)]
mod tests {
    use opscope_testing::tflite_file::{Operator, Tensor, file, model};

    use super::*;

    /// The numbers of two types of operators in the public `schema.fbs`.
    const LOGISTIC: i32 = 14;
    const RELU: i32 = 19;

    /// A model of operators by type and name, each of which reads what the one before it makes.
    fn chain(operators: &[(i32, &str)]) -> Model {
        let names = ["x"].into_iter().chain(operators.iter().map(|(_, name)| *name));
        let tensors: Vec<Tensor> = names.map(|name| Tensor::new(name, &[1, 4])).collect();
        let operators = operators.iter().zip(0..);
        let operators: Vec<Operator> =
            operators.map(|((code, _), at)| Operator::new(*code, &[at], &[at + 1])).collect();
        let bytes = file(&model(&tensors, &operators, &[0], &[operators.len() as i32]));
        Model::from_any_bytes(bytes.into()).unwrap()
    }

    #[test]
    fn names_that_tensorflow_lites_converter_joined_tell_which_nodes_both_models_have() {
        let apart = chain(&[(RELU, "a/Relu"), (LOGISTIC, "a/Sigmoid")]);
        let fused = chain(&[(RELU, "a/Sigmoid;a/Relu")]);
        let [first, second] = ["apart.tflite", "fused.tflite"].map(Path::new);
        let trace = Trace::new();
        let models = Models::of([Some((first, &apart)), Some((second, &fused))], [&trace, &trace]);
        assert_eq!(models.names[1].made_of["a/Sigmoid;a/Relu"], ["a/Sigmoid", "a/Relu"]);
        let common = models.common.unwrap();
        assert_eq!((common.by_name, common.by_origin, common.by_structure), (0, 2, 0));
    }
}
