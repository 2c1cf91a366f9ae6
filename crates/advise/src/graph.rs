//! Small questions to graphs, of which the conditions about graphs are made.

use opscope_analyze::{node_of_fused, operator_kind};
use opscope_model::proto::data_type_from_onnx;
use opscope_model::{Model, Node, TensorData, ValueId};

use crate::fused::normalisation_around;

/// A model's graph with the questions.
#[derive(Clone, Copy)]
pub(crate) struct View<'m> {
    pub model: &'m Model,
}

impl<'m> View<'m> {
    pub fn new(model: &'m Model) -> Self {
        Self { model }
    }

    pub fn nodes(self) -> impl Iterator<Item = Node<'m>> {
        self.model.graph().nodes()
    }

    /// The node that computes an input.
    pub fn producer(self, node: &Node<'_>, input: usize) -> Option<Node<'m>> {
        self.producer_of(node.input(input)?)
    }

    pub fn producer_of(self, value: ValueId) -> Option<Node<'m>> {
        let graph = self.model.graph();
        graph.value(value).producer.map(|id| graph.node(id))
    }

    /// All nodes that read a node's first output.
    pub fn readers(self, node: &Node<'_>) -> Vec<Node<'m>> {
        let graph = self.model.graph();
        let value = node.output(0).map(|id| graph.value(id));
        value.map_or(Vec::new(), |value| value.consumers.iter().map(|id| graph.node(*id)).collect())
    }

    /// The node, or the first one behind it that the file itself has, if a reader put it in.
    pub fn beyond_helpers(self, node: Node<'m>) -> Node<'m> {
        /// No reader puts in longer chains.
        const LONGEST: usize = 8;
        let mut at = node;
        for _ in 0..LONGEST {
            let next = self.readers(&at).into_iter().next();
            match next.filter(|_| self.model.is_helper(at.name)) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    /// Whether a value is always the same: stored in the file, or of a `Constant` node.
    pub fn is_constant(self, value: ValueId) -> bool {
        let value = self.model.graph().value(value);
        value.is_stored() || self.producer_of(value.id).is_some_and(|node| node.is("Constant"))
    }

    /// The data of a constant value.
    pub fn constant(self, value: ValueId) -> Option<TensorData> {
        let stored = self.model.graph().value(value).initializer;
        let producer = self.producer_of(value).filter(|node| node.is("Constant"));
        let tensor = stored.or_else(|| producer?.attributes.tensor("value"))?;
        self.model.tensor_data(tensor).ok()
    }

    /// The dimensions of a stored value, such as a weight.
    pub fn dims(self, value: ValueId) -> Option<Vec<i64>> {
        let graph = self.model.graph();
        if let Some(tensor) = graph.value(value).initializer {
            return Some(tensor.dims.clone());
        }
        let producer = self.producer_of(value).filter(|node| node.is("Constant"))?;
        producer.attributes.tensor("value").map(|tensor| tensor.dims.clone())
    }
}

/// The nodes that compute the same in every run, because nothing but constants reaches them. A converter or an engine
/// computes them once, so that they are no operators that run.
pub(crate) struct Folded {
    /// By node.
    is_folded: Vec<bool>,
}

impl Folded {
    pub fn of(view: View<'_>) -> Self {
        let mut folded = Self { is_folded: vec![false; view.model.graph().node_count()] };
        // Nodes come in the order in which they run.
        for node in view.nodes() {
            let is_folded = folded.is_computed_from_constants(view, &node);
            if let Some(known) = folded.is_folded.get_mut(node.id.index()) {
                *known = is_folded;
            }
        }
        folded
    }

    /// Whether a node is computed from constants alone, and is none itself.
    pub fn has(&self, node: &Node<'_>) -> bool {
        self.is_folded.get(node.id.index()).copied().unwrap_or(false)
    }

    /// Whether a value is always the same.
    pub fn is_constant(&self, view: View<'_>, value: ValueId) -> bool {
        view.is_constant(value) || view.producer_of(value).is_some_and(|node| self.has(&node))
    }

    fn is_computed_from_constants(&self, view: View<'_>, node: &Node<'_>) -> bool {
        /// Operators of ONNX's that may give another result for the same inputs: random ones, and those that run a
        /// graph of their own, which may have some.
        const OTHERS: [&str; 8] = [
            "Bernoulli",
            "If",
            "Loop",
            "Multinomial",
            "RandomNormalLike",
            "RandomUniformLike",
            "Scan",
            "SequenceMap",
        ];
        let mut reads = node.reads().peekable();
        node.domain.is_empty()
            && !OTHERS.contains(&node.op_type)
            && reads.peek().is_some()
            && reads.all(|value| self.is_constant(view, value))
    }
}

/// Whether a node only gives the same data another shape.
pub(crate) fn is_reshape(node: &Node<'_>) -> bool {
    ["Reshape", "Flatten", "Squeeze", "Unsqueeze"].iter().any(|name| node.is(name))
}

/// Whether a node casts its input to a type of 32 bits or less.
pub(crate) fn is_narrowing(node: &Node<'_>) -> bool {
    let to = node.attributes.int("to").and_then(|to| i32::try_from(to).ok());
    let bits = to.and_then(|to| data_type_from_onnx(to).bits());
    node.is("Cast") && bits.is_some_and(|bits| bits <= 32)
}

/// The reshape that lies on the way from one node to another, both by name.
pub(crate) fn reshape_between(model: &Model, from: &str, to: &str) -> Option<String> {
    let view = View::new(model);
    let (from, to) = (model.graph().node_by_name(from)?, model.graph().node_by_name(to)?);
    let mut at = from;
    // Chains of reshapes are short.
    for _ in 0..8 {
        let next = view.readers(&at).into_iter().find(|node| is_reshape(node))?;
        if view.readers(&next).iter().any(|node| node.id == to.id) {
            return Some(next.name.to_owned());
        }
        at = next;
    }
    None
}

/// The nodes of which an operator of ONNX Runtime's is made whose name isn't that of a node, the last one first. It
/// names convolutions in its own layout by their output (`VALUE_nchwc`), and has folded and fused before what is behind
/// the convolution; and what it fused by one of the nodes (`fused fc/MatMul/MatMulAddFusion`). None where no node of
/// the operator's kind is near.
pub fn nodes_behind<'m>(model: &'m Model, name: &str, op_type: &str) -> Vec<&'m str> {
    match name.strip_suffix("_nchwc") {
        Some(value) => behind_output(model, value, op_type),
        None => node_of_fused(name).map_or(Vec::new(), |node| around(model, node, name)),
    }
}

/// The nodes that compute a value, from the last one to one of an operator's kind.
fn behind_output<'m>(model: &'m Model, value: &str, op_type: &str) -> Vec<&'m str> {
    /// A normalisation, a sum and an activation.
    const MOST: usize = 4;
    /// Inputs of a node; those of hostile files may have any number.
    const MOST_INPUTS: usize = 8;
    let graph = model.graph();
    let view = View::new(model);
    let kind = operator_kind(op_type);
    let mut at = graph.value_by_name(value).and_then(|value| view.producer_of(value.id));
    let mut nodes = Vec::new();
    while let Some(node) = at.filter(|_| nodes.len() < MOST) {
        nodes.push(node.name);
        if operator_kind(node.op_type) == kind {
            return nodes;
        }
        if node.inputs.len() > MOST_INPUTS {
            break;
        }
        let mut inputs = node.inputs.iter().flatten().filter(|input| !is_of_constants(view, **input, 2));
        // Of several branches nothing tells which was taken in.
        at = inputs.next().filter(|_| inputs.next().is_none()).and_then(|input| view.producer_of(*input));
    }
    Vec::new()
}

/// Whether a value is constant, or computed from constants by so many nodes in a row at most: engines compute the
/// reshaped bias of a convolution beforehand.
fn is_of_constants(view: View<'_>, value: ValueId, depth: usize) -> bool {
    /// Inputs of a node; those of hostile files may have any number.
    const MOST: usize = 4;
    let is_computed = |node: Node<'_>| {
        let inputs = || node.inputs.iter().flatten();
        let is_small = (1..=MOST).contains(&inputs().count());
        is_small && inputs().all(|input| is_of_constants(view, *input, depth - 1))
    };
    view.is_constant(value) || depth > 0 && view.producer_of(value).is_some_and(is_computed)
}

/// The node by which an operator is named, with those around it that the name says it took in.
fn around<'m>(model: &'m Model, node: &str, name: &str) -> Vec<&'m str> {
    /// The activations that ONNX Runtime fuses into products and convolutions.
    const ACTIVATIONS: [&str; 11] = [
        "Clip",
        "Elu",
        "HardSigmoid",
        "LeakyRelu",
        "ParametricSoftplus",
        "Relu",
        "ScaledTanh",
        "Sigmoid",
        "Softplus",
        "Softsign",
        "Tanh",
    ];
    /// A product has two factors.
    const MOST_SCALES: usize = 2;
    let view = View::new(model);
    let Some(node) = model.graph().node_by_name(node) else { return Vec::new() };
    if name.contains("LayerNormFusion") {
        return normalisation_around(view, node).iter().map(|node| node.name).collect();
    }
    let mut nodes = vec![node];
    let graph = model.graph();
    let only_reader = |node: &Node<'m>| match graph.value(node.output(0)?).consumers {
        [only] => Some(graph.node(*only)),
        _ => None,
    };
    if name.contains("MatMulAddFusion") {
        nodes.extend(only_reader(&node).filter(|reader| reader.is("Add")));
    }
    if name.contains("MatMulScaleFusion") {
        let inputs = (0..node.inputs.len()).filter_map(|input| view.producer(&node, input));
        let scales = inputs.filter(|before| is_scale(view, before) && only_reader(before).is_some());
        let before: Vec<Node<'m>> = scales.take(MOST_SCALES).collect();
        nodes.splice(0..0, before);
        nodes.extend(only_reader(&node).filter(|reader| is_scale(view, reader)));
    }
    if name.contains("QuickGeluFusion") {
        let inputs = (0..node.inputs.len()).filter_map(|input| view.producer(&node, input));
        let sigmoid = inputs.filter(|before| before.is("Sigmoid")).take(1).collect::<Vec<_>>();
        nodes.splice(0..0, sigmoid);
    }
    if name.starts_with("fused ") {
        let behind = nodes.last().and_then(only_reader);
        nodes.extend(behind.filter(|reader| ACTIVATIONS.iter().any(|op_type| reader.is(op_type))));
    }
    nodes.iter().rev().map(|node| node.name).collect()
}

/// Whether a node multiplies by a stored number, or divides by one.
fn is_scale(view: View<'_>, node: &Node<'_>) -> bool {
    let is_number = |input: usize| {
        let dims = node.input(input).and_then(|value| view.dims(value));
        dims.is_some_and(|dims| dims.iter().all(|size| *size == 1))
    };
    node.is("Mul") && (is_number(0) || is_number(1)) || node.is("Div") && is_number(1)
}

/// Convolutions whose channels are no multiple of a number: each with how many it takes and gives.
pub(crate) fn odd_channels(model: &Model, multiple: i64) -> impl Iterator<Item = (Node<'_>, i64, i64)> {
    let view = View::new(model);
    view.nodes().filter(|node| node.is("Conv")).filter_map(move |node| {
        let dims = view.dims(node.input(1)?)?;
        let (out, per_group) = (*dims.first()?, *dims.get(1)?);
        let into = per_group.checked_mul(node.attributes.int("group").unwrap_or(1))?;
        // The three channels of an image are given.
        let is_odd = out % multiple != 0 || (into % multiple != 0 && into > 4);
        is_odd.then_some((node, into, out))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::graph;

    #[test]
    fn what_only_constants_reach_is_folded_unless_it_is_random() {
        let model = graph(&[
            "Cast H:4 to=1 -> a",
            "Sqrt a -> b",
            "RandomNormalLike b -> c",
            "Neg c -> d",
            "Add x,b -> e",
            "Add e,d -> y",
        ]);
        let view = View::new(&model);
        let folded = Folded::of(view);
        let names: Vec<&str> = view.nodes().filter(|node| folded.has(node)).map(|node| node.name).collect();
        assert_eq!(names, ["Cast_a", "Sqrt_b"]);
    }

    #[test]
    fn an_operator_that_is_named_by_a_value_stands_for_the_nodes_that_make_it() {
        let model = graph(&[
            "Conv x,W:16x3x3x3 -> a",
            "BatchNormalization a,S:16,B:16,M:16,V:16 -> b",
            "Relu b -> c",
            "MaxPool c -> y",
        ]);
        assert_eq!(nodes_behind(&model, "b_nchwc", "Conv"), ["BatchNormalization_b", "Conv_a"]);
        assert_eq!(nodes_behind(&model, "a_nchwc", "Conv"), ["Conv_a"]);
        assert_eq!(nodes_behind(&model, "y_nchwc", "MaxPool"), ["MaxPool_y"]);
        assert_eq!(nodes_behind(&model, "b_nchwc", "Gemm"), [""; 0]);
        assert_eq!(nodes_behind(&model, "b", "Conv"), [""; 0]);
        let model = graph(&[
            "Conv x,W:16x3x1x1 -> a",
            "Reshape B:16,S:4 -> bias",
            "Add a,bias -> sum",
            "Relu sum -> y",
            "Add y,sum -> z",
        ]);
        assert_eq!(nodes_behind(&model, "y_nchwc", "Conv"), ["Relu_y", "Add_sum", "Conv_a"]);
        assert_eq!(nodes_behind(&model, "z_nchwc", "Conv"), [""; 0], "either branch may be it");
    }

    #[test]
    fn an_operator_that_is_named_by_its_fusion_stands_for_the_nodes_that_it_took_in() {
        let model = graph(&[
            "MatMul x,W:8x8 -> m",
            "Add m,B:8 -> a",
            "Relu a -> r",
            "MatMul r,V:8x8 -> n",
            "Add n,r -> s",
            "Sigmoid s -> t",
            "Mul s,t -> y",
        ]);
        let behind = |name: &str| nodes_behind(&model, name, "FusedGemm");
        assert_eq!(behind("fused MatMul_m/MatMulAddFusion"), ["Relu_r", "Add_a", "MatMul_m"]);
        assert_eq!(behind("MatMul_m/MatMulAddFusion"), ["Add_a", "MatMul_m"]);
        assert_eq!(behind("fused MatMul_n/MatMulAddFusion"), ["Add_s", "MatMul_n"], "two read the sum");
        assert_eq!(behind("Mul_y/QuickGeluFusion/"), ["Mul_y", "Sigmoid_t"]);
        assert_eq!(behind("fused other/MatMulAddFusion"), [""; 0]);
        assert_eq!(behind("MatMul_m"), [""; 0]);
        let model = graph(&["Mul q,S:1 -> a", "MatMul a,k -> b", "Div b,R:1 -> c", "Softmax c -> y"]);
        let behind = |name: &str| nodes_behind(&model, name, "FusedMatMul");
        assert_eq!(behind("MatMul_b/MatMulScaleFusion/"), ["Div_c", "MatMul_b", "Mul_a"]);
    }
}
