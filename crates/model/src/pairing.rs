//! Which nodes of two models are the same: the same network before and after a conversion.
//!
//! Converters keep many names and change others. Nodes of one name and kind are the same; from those, and from the
//! inputs and outputs of both graphs, the pairs go on along the edges as long as these leave no choice: a node's
//! inputs by their places, and the readers of a value where there is one of a kind on both sides. Nodes that only
//! change the layout or the type of a value, and those that a reader put in, are passed over, because converters add
//! and drop them. Where that leads nowhere, so are sums and products with constants, which converters fold into the
//! operator before them.

use std::collections::{HashMap, HashSet};

use crate::graph::{Graph, Node, NodeId, ValueId};
use crate::load::Model;

/// Types of operators that only bring a value into another form; matched in lower case.
const PASSED_OVER: [&str; 9] = [
    "identity",
    "transpose",
    "transposed",
    "transdata",
    "cast",
    "convert",
    "dropout",
    "reorder",
    "quantizelinear",
];

/// Types of operators that converters fold into the one before, if one input alone depends on the graph's inputs.
const FOLDED: [&str; 10] =
    ["add", "addv2", "biasadd", "sub", "subtract", "mul", "multiply", "div", "scale", "batchnorm"];

/// How many nodes in a row are passed over.
const LONGEST_PASS: usize = 8;

/// Readers of a value beyond which none is looked for among them: constants that everything reads say nothing.
const MOST_READERS: usize = 64;

/// The pairs of nodes of two models.
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    /// For each node of the second model, by its place, the one of the first.
    of_second: Vec<Option<NodeId>>,
    /// How many pairs have one name.
    pub by_name: usize,
    /// How many have different names, and were found along the edges.
    pub by_structure: usize,
}

impl Pairing {
    /// Pairs the nodes of two models; `kind` is the kind of operator behind a type, alike for both models.
    pub fn of(first: &Model, second: &Model, kind: &dyn Fn(&str) -> String) -> Self {
        let mut search = Search::new([first, second], kind);
        search.by_name();
        let by_name = search.queue.len();
        search.at_ends();
        search.along_edges();
        let count = search.pairs[0].iter().flatten().count();
        let [_, of_second] = search.pairs;
        Self { of_second, by_name, by_structure: count - by_name }
    }

    /// The node of the first model that is the same as one of the second.
    pub fn first(&self, second: NodeId) -> Option<NodeId> {
        self.of_second.get(second.index()).copied().flatten()
    }
}

/// The nodes that a way along the edges passes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passing {
    /// Changes of layout and type.
    Layout,
    /// Changes of layout and type, and sums and products with constants.
    Folded,
}

/// How data flow through a graph.
struct Ways {
    /// Whether a value depends on the graph's inputs.
    depends: Vec<bool>,
    /// Whether a converter may have folded a node into the one before: a sum or product of which one input alone
    /// depends on the graph's inputs.
    folded: Vec<bool>,
}

impl Ways {
    fn of(graph: Graph<'_>, kind: &dyn Fn(&str) -> String) -> Self {
        let mut depends = vec![false; graph.value_count()];
        graph.inputs().iter().for_each(|input| depends[input.index()] = true);
        let mut folded = vec![false; graph.node_count()];
        let mut of_types: HashMap<&str, bool> = HashMap::new();
        for node in graph.nodes() {
            let count = node.reads().filter(|value| depends[value.index()]).count();
            let is_foldable = *of_types.entry(node.op_type).or_insert_with(|| {
                let kind = kind(node.op_type);
                FOLDED.iter().any(|folded| kind.eq_ignore_ascii_case(folded))
            });
            folded[node.id.index()] = is_foldable && count == 1;
            node.outputs.iter().flatten().for_each(|output| depends[output.index()] = count > 0);
        }
        Self { depends, folded }
    }
}

/// Pairs as they are found.
struct Search<'m> {
    graphs: [Graph<'m>; 2],
    /// The number of each node's kind; nodes that are passed over have none.
    kinds: [Vec<Option<u32>>; 2],
    ways: [Ways; 2],
    /// The other model's node, by the place of each side's.
    pairs: [Vec<Option<NodeId>>; 2],
    /// Pairs whose neighbours are yet to be looked at.
    queue: Vec<[NodeId; 2]>,
}

impl<'m> Search<'m> {
    fn new(models: [&'m Model; 2], kind: &dyn Fn(&str) -> String) -> Self {
        let graphs = models.map(Model::graph);
        let mut of_types: HashMap<&str, Option<u32>> = HashMap::new();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let kinds = models.map(|model| {
            let mut kinds = vec![None; model.graph().node_count()];
            for node in model.graph().nodes().filter(|node| !model.is_helper(node.name)) {
                kinds[node.id.index()] = *of_types.entry(node.op_type).or_insert_with(|| {
                    let kind = kind(node.op_type);
                    let is_passed = PASSED_OVER.iter().any(|passed| kind.eq_ignore_ascii_case(passed));
                    let next = numbers.len() as u32;
                    (!is_passed).then(|| *numbers.entry(kind).or_insert(next))
                });
            }
            kinds
        });
        let ways = graphs.map(|graph| Ways::of(graph, kind));
        let pairs = graphs.map(|graph| vec![None; graph.node_count()]);
        Self { graphs, kinds, ways, pairs, queue: Vec::new() }
    }

    /// Whether the way along the edges goes on behind a node.
    fn is_passed(&self, side: usize, node: NodeId, passing: Passing) -> bool {
        let is_folded = passing == Passing::Folded && self.ways[side].folded[node.index()];
        self.kind(side, node).is_none() || is_folded
    }

    fn kind(&self, side: usize, node: NodeId) -> Option<u32> {
        self.kinds[side][node.index()]
    }

    /// Pairs two nodes, if both are free and of one kind; says whether it did.
    fn pair(&mut self, nodes: [NodeId; 2]) -> bool {
        let [first, second] = nodes;
        let is_free = |side: usize, node: NodeId| self.pairs[side][node.index()].is_none();
        let kind = self.kind(0, first);
        let fits = kind.is_some() && kind == self.kind(1, second) && is_free(0, first) && is_free(1, second);
        if fits {
            self.pairs[0][first.index()] = Some(second);
            self.pairs[1][second.index()] = Some(first);
            self.queue.push(nodes);
        }
        fits
    }

    fn by_name(&mut self) {
        let [first, second] = self.graphs;
        for node in first.nodes().filter(|node| node.named) {
            if let Some(other) = second.node_by_name(node.name).filter(|other| other.named) {
                self.pair([node.id, other.id]);
            }
        }
    }

    /// Pairs begin at the inputs and outputs of the graphs too, where both have as many.
    fn at_ends(&mut self) {
        let ends = self.graphs.map(|graph| [graph.inputs(), graph.outputs()]);
        for (end, is_output) in [(0, false), (1, true)] {
            let [first, second] = [ends[0][end], ends[1][end]];
            if first.len() != second.len() {
                continue;
            }
            for (first, second) in first.iter().zip(second) {
                if is_output {
                    self.pair_makers([*first, *second]);
                } else {
                    self.pair_readers([&[*first], &[*second]]);
                }
            }
        }
    }

    fn along_edges(&mut self) {
        while let Some(nodes) = self.queue.pop() {
            let [first, second] = [self.graphs[0].node(nodes[0]), self.graphs[1].node(nodes[1])];
            self.pair_inputs(&first, &second);
            let outputs =
                [first, second].map(|node| node.outputs.iter().flatten().copied().collect::<Vec<_>>());
            match outputs[0].len() == outputs[1].len() {
                true => outputs[0].iter().zip(&outputs[1]).for_each(|(first, second)| {
                    self.pair_readers([&[*first], &[*second]]);
                }),
                false => self.pair_readers([&outputs[0], &outputs[1]]),
            }
        }
    }

    /// Inputs by their places, and where they stand in another order, those of which there is one of a kind.
    fn pair_inputs(&mut self, first: &Node<'m>, second: &Node<'m>) {
        for inputs in first.inputs.iter().zip(second.inputs).take(MOST_READERS) {
            if let (&Some(first), &Some(second)) = inputs {
                self.pair_makers([first, second]);
            }
        }
        let makers = [(0, first), (1, second)].map(|(side, node)| {
            let inputs = node.inputs.iter().take(MOST_READERS).flatten();
            inputs.filter_map(|input| self.maker(side, *input, Passing::Layout)).collect::<Vec<_>>()
        });
        self.pair_single(makers);
    }

    /// Pairs the nodes that make two values.
    fn pair_makers(&mut self, values: [ValueId; 2]) {
        for passing in [Passing::Layout, Passing::Folded] {
            let makers = [0, 1].map(|side| self.maker(side, values[side], passing));
            if let [Some(first), Some(second)] = makers
                && self.pair([first, second])
            {
                return;
            }
        }
    }

    /// Pairs the nodes that read two values.
    fn pair_readers(&mut self, values: [&[ValueId]; 2]) {
        for passing in [Passing::Layout, Passing::Folded] {
            let readers = [0, 1].map(|side| self.readers(side, values[side], passing));
            if self.pair_single(readers) {
                return;
            }
        }
    }

    /// Pairs the free nodes of which there is one of a kind on both sides; says whether there are any.
    fn pair_single(&mut self, nodes: [Vec<NodeId>; 2]) -> bool {
        let mut of_kind: HashMap<u32, [Vec<NodeId>; 2]> = HashMap::new();
        for (side, nodes) in nodes.into_iter().enumerate() {
            let mut seen = HashSet::new();
            for node in nodes {
                if self.pairs[side][node.index()].is_none()
                    && let Some(kind) = self.kind(side, node)
                    && seen.insert(node)
                {
                    of_kind.entry(kind).or_default()[side].push(node);
                }
            }
        }
        let mut has_pair = false;
        for [first, second] in of_kind.into_values() {
            if let ([first], [second]) = (&first[..], &second[..]) {
                has_pair |= self.pair([*first, *second]);
            }
        }
        has_pair
    }

    /// The node that makes a value, but for those that are passed over.
    fn maker(&self, side: usize, mut value: ValueId, passing: Passing) -> Option<NodeId> {
        let graph = self.graphs[side];
        for _ in 0..LONGEST_PASS {
            let node = graph.value(value).producer?;
            if !self.is_passed(side, node, passing) {
                return Some(node);
            }
            // The way goes on by the input that isn't constant.
            let mut inputs = graph.node(node).inputs.iter().flatten().copied();
            value = inputs.find(|input| self.ways[side].depends[input.index()])?;
        }
        None
    }

    /// The nodes that read values, behind those that are passed over; none where there are too many.
    fn readers(&self, side: usize, values: &[ValueId], passing: Passing) -> Vec<NodeId> {
        let graph = self.graphs[side];
        let mut readers = Vec::new();
        let mut values = values.to_vec();
        for _ in 0..LONGEST_PASS {
            let mut behind = Vec::new();
            for value in values.drain(..) {
                let consumers = graph.value(value).consumers;
                if consumers.len() + readers.len() > MOST_READERS {
                    return Vec::new();
                }
                for &node in consumers {
                    match self.is_passed(side, node, passing) {
                        false => readers.push(node),
                        true => behind.extend(graph.node(node).output(0)),
                    }
                }
            }
            values = behind;
        }
        readers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto};

    /// A graph of `name:type input input -> output` each.
    fn model(nodes: &[(&str, &str, &[&str], &str)], input: &str, output: &str) -> Model {
        let value = |name: &str| ValueInfoProto { name: Some(name.into()), ..Default::default() };
        let node = |(name, op_type, inputs, output): &(&str, &str, &[&str], &str)| NodeProto {
            name: Some((*name).into()),
            op_type: Some((*op_type).into()),
            input: inputs.iter().map(|&input| input.into()).collect(),
            output: vec![(*output).into()],
            ..Default::default()
        };
        let proto = ModelProto {
            opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
            graph: Some(GraphProto {
                node: nodes.iter().map(node).collect(),
                input: vec![value(input)],
                output: vec![value(output)],
                ..Default::default()
            }),
            ..Default::default()
        };
        Model::from_proto(proto, None).unwrap()
    }

    fn pairs(first: &Model, second: &Model) -> (Vec<(String, String)>, usize, usize) {
        let pairing = Pairing::of(first, second, &|op_type| op_type.to_lowercase());
        let name = |model: &Model, node: NodeId| model.graph().node(node).name.to_owned();
        let nodes = second.graph().nodes();
        let pairs =
            nodes.filter_map(|node| Some((name(first, pairing.first(node.id)?), node.name.to_owned())));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort();
        (pairs, pairing.by_name, pairing.by_structure)
    }

    #[test]
    fn nodes_that_were_renamed_are_found_along_the_edges() {
        let first = model(
            &[
                ("stem", "Relu", &["x"], "a"),
                ("left", "Exp", &["a"], "b"),
                ("right", "Neg", &["a"], "c"),
                ("sum", "Add", &["b", "c"], "d"),
                ("end", "Sigmoid", &["d"], "y"),
            ],
            "x",
            "y",
        );
        // Another order of inputs, a transposition and a cast between, and no name in common but one.
        let second = model(
            &[
                ("n0", "Transpose", &["in"], "t"),
                ("n1", "Relu", &["t"], "a"),
                ("n2", "Neg", &["a"], "b"),
                ("n3", "Exp", &["a"], "c"),
                ("n4", "Cast", &["b"], "e"),
                ("n5", "Add", &["e", "c"], "d"),
                ("end", "Sigmoid", &["d"], "out"),
            ],
            "in",
            "out",
        );
        let (found, by_name, by_structure) = pairs(&first, &second);
        let expected = [("end", "end"), ("left", "n3"), ("right", "n2"), ("stem", "n1"), ("sum", "n5")];
        assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!((by_name, by_structure), (1, 4));
    }

    #[test]
    fn sums_and_products_with_constants_may_have_been_folded_into_the_node_before() {
        let first = model(
            &[
                ("c1", "Conv", &["x"], "a"),
                ("scale", "Constant", &[], "k"),
                ("n1", "Mul", &["a", "k"], "b"),
                ("n2", "Add", &["k", "b"], "c"),
                ("r1", "Relu", &["c"], "d"),
                ("c2", "Conv", &["d"], "e"),
                ("sum", "Add", &["d", "e"], "y"),
            ],
            "x",
            "y",
        );
        let second = model(
            &[
                ("p", "Conv", &["x"], "a"),
                ("q", "Relu", &["a"], "b"),
                ("r", "Conv", &["b"], "c"),
                ("s", "Add", &["c", "b"], "y"),
            ],
            "x",
            "y",
        );
        let expected = [("c1", "p"), ("c2", "r"), ("r1", "q"), ("sum", "s")];
        assert_eq!(pairs(&first, &second).0, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn nothing_is_paired_where_the_edges_leave_a_choice() {
        let twins = |names: [&'static str; 2]| {
            model(
                &[
                    (names[0], "Exp", &["x"], "a"),
                    (names[1], "Exp", &["x"], "b"),
                    ("sum", "Mean", &["a", "b", "a"], "y"),
                ],
                "x",
                "y",
            )
        };
        let (first, mut second) = (twins(["l", "r"]), twins(["p", "q"]));
        // By their places among the inputs there is no choice.
        assert_eq!(pairs(&first, &second).0.len(), 3);
        second = model(
            &[("p", "Exp", &["x"], "a"), ("q", "Exp", &["x"], "b"), ("other", "Sum", &["b", "a"], "y")],
            "x",
            "y",
        );
        assert_eq!(pairs(&first, &second), (vec![], 0, 0));
    }

    #[test]
    fn nodes_of_one_name_and_different_kinds_are_not_the_same() {
        let first = model(&[("n", "Exp", &["x"], "a"), ("m", "Neg", &["a"], "y")], "x", "y");
        let second = model(&[("n", "Neg", &["x"], "a"), ("m", "Exp", &["a"], "y")], "x", "y");
        assert_eq!(pairs(&first, &second), (vec![], 0, 0));
    }
}
