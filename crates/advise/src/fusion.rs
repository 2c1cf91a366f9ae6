//! Which chains of a graph an Ascend processor fuses in its Unified Buffer or passes through L2.
//!
//! The limits are those that Huawei published for the Ascend 310 in 2020; converters of other chips
//! and years may have others:
//!
//! | class | head | behind it |
//! |---|---|---|
//! | convolution | one convolution | up to 3 elementwise operators with one input and one output |
//! | elementwise | one with any inputs and one output | up to 4 more with one input and one output |
//! | reduce | exactly one reduction | up to 4 elementwise operators |
//! | segment | exactly one operation on segments | up to 4 elementwise operators |
//!
//! Inputs that are constants don't count: only those that change from run to run do.

mod l2;

use std::collections::HashSet;

use opscope_model::{Model, Node, NodeId};
use serde::Serialize;

use crate::graph::View;

pub use l2::{L2, Split, split};

/// The kind of a chain, by what limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Begins with a convolution.
    Convolution,
    /// Elementwise operators only.
    Elementwise,
    /// Has a reduction.
    Reduce,
    /// Has an operation on segments.
    Segment,
}

impl Class {
    /// How many elementwise operators it may have.
    pub fn limit(self) -> usize {
        match self {
            Self::Convolution => 3,
            Self::Elementwise => 5,
            Self::Reduce | Self::Segment => 4,
        }
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Convolution => "convolution",
            Self::Elementwise => "elementwise",
            Self::Reduce => "reduce",
            Self::Segment => "segment",
        }
    }
}

/// An operator of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Its name in the model.
    pub name: String,
    /// Its type.
    pub op_type: String,
}

/// Operators that can become one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// Which limits hold for it.
    pub class: Class,
    /// Its operators in order; a single one has nothing to fuse with.
    pub links: Vec<Link>,
    /// Why it goes no further.
    pub stop: String,
    /// A change with which it goes on, if something is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Two chains that can pass data through L2 without going to memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The last operator of the one.
    pub from: String,
    /// The first operator of the other.
    pub to: String,
}

/// The parts of a model that can be fused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fusion {
    /// The chains in the order of the graph.
    pub chains: Vec<Chain>,
    /// Chains that meet in L2.
    pub pairs: Vec<Pair>,
}

/// The part that an operator plays in fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Convolution,
    Elementwise,
    Reduce,
    Segment,
    Other,
}

const ELEMENTWISE: [&str; 40] = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Relu",
    "LeakyRelu",
    "PRelu",
    "Elu",
    "Selu",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Log",
    "Sqrt",
    "Abs",
    "Neg",
    "Reciprocal",
    "Pow",
    "Clip",
    "Min",
    "Max",
    "Softplus",
    "Softsign",
    "HardSigmoid",
    "HardSwish",
    "Mish",
    "Erf",
    "Floor",
    "Ceil",
    "Round",
    "Cast",
    "Equal",
    "Greater",
    "Less",
    "Not",
    "And",
    "Or",
    "Where",
    "Gelu",
    "BatchNormalization",
];

fn role(node: &Node<'_>) -> Role {
    match node.op_type {
        _ if !node.domain.is_empty() => Role::Other,
        "Conv" | "ConvTranspose" => Role::Convolution,
        // The vendor counts TensorFlow's reductions; those of ONNX are the same operators.
        name if name.starts_with("Reduce") => Role::Reduce,
        name if name.starts_with("Segment") || name.starts_with("Scatter") => Role::Segment,
        name if ELEMENTWISE.contains(&name) => Role::Elementwise,
        _ => Role::Other,
    }
}

/// How many of a node's inputs change from run to run.
fn live_inputs(view: View<'_>, node: &Node<'_>) -> usize {
    node.inputs.iter().flatten().filter(|input| !view.is_constant(**input)).count()
}

/// Finds the chains of a model.
pub fn fusion(model: &Model) -> Fusion {
    let view = View::new(model);
    let mut taken: HashSet<NodeId> = HashSet::new();
    let mut chains = Vec::new();
    let mut ends: Vec<(NodeId, NodeId, Class)> = Vec::new();
    for node in view.nodes() {
        let class = match role(&node) {
            Role::Convolution => Class::Convolution,
            Role::Elementwise => Class::Elementwise,
            Role::Reduce => Class::Reduce,
            Role::Segment => Class::Segment,
            Role::Other => continue,
        };
        if !taken.insert(node.id) {
            continue;
        }
        let (chain, last) = follow(view, node, class, &mut taken);
        ends.push((node.id, last, chain.class));
        chains.push(chain);
    }
    Fusion { chains, pairs: pairs(view, &ends) }
}

fn link(node: &Node<'_>) -> Link {
    Link { name: node.name.to_owned(), op_type: node.op_type.to_owned() }
}

fn follow<'m>(view: View<'m>, head: Node<'m>, class: Class, taken: &mut HashSet<NodeId>) -> (Chain, NodeId) {
    let mut chain = Chain { class, links: vec![link(&head)], stop: String::new(), remedy: None };
    let mut elementwise = usize::from(class == Class::Elementwise);
    let mut at = head;
    loop {
        let next = match next_of(view, &at) {
            Ok(next) => next,
            Err((stop, remedy)) => {
                (chain.stop, chain.remedy) = (stop, remedy);
                break;
            }
        };
        match may_join(view, &next, chain.class, elementwise) {
            Ok(class) => chain.class = class,
            Err((stop, remedy)) => {
                (chain.stop, chain.remedy) = (stop, remedy);
                break;
            }
        }
        elementwise += usize::from(role(&next) == Role::Elementwise);
        taken.insert(next.id);
        chain.links.push(link(&next));
        at = next;
    }
    (chain, at.id)
}

type Stop = (String, Option<String>);

/// The only operator that goes on with a result.
fn next_of<'m>(view: View<'m>, node: &Node<'m>) -> Result<Node<'m>, Stop> {
    let graph = view.model.graph();
    let outputs = node.outputs.iter().flatten().filter(|output| {
        let value = graph.value(**output);
        value.is_output || !value.consumers.is_empty()
    });
    if outputs.count() > 1 {
        return Err((format!("{} has several results", node.name), None));
    }
    let Some(value) = node.output(0).map(|output| graph.value(output)) else {
        return Err((format!("{} has no result", node.name), None));
    };
    match value.consumers {
        _ if value.is_output => Err((format!("`{}` is an output of the model", value.name), None)),
        [] => Err((format!("nothing uses the result of {}", node.name), None)),
        [only] => Ok(graph.node(*only)),
        [_, others @ ..] => {
            let names: Vec<&str> = others.iter().take(2).map(|id| graph.node(*id).name).collect();
            let more = if others.len() > 2 { " and others" } else { "" };
            let remedy = (role(node) == Role::Elementwise).then(|| {
                format!("{} is cheap: a copy of it for each user lets both chains go on", node.name)
            });
            Err((format!("the result is also used by {}{more}", names.join(", ")), remedy))
        }
    }
}

/// Whether an operator may join a chain; the class that the chain then has.
fn may_join(view: View<'_>, node: &Node<'_>, class: Class, elementwise: usize) -> Result<Class, Stop> {
    let has_one = matches!(class, Class::Reduce | Class::Segment);
    match role(node) {
        Role::Elementwise => {}
        Role::Reduce if class == Class::Elementwise && elementwise <= Class::Reduce.limit() => {
            return Ok(Class::Reduce);
        }
        Role::Segment if class == Class::Elementwise && elementwise <= Class::Segment.limit() => {
            return Ok(Class::Segment);
        }
        Role::Reduce | Role::Segment if has_one => {
            return Err((
                format!("{} would be the second reduction or operation on segments", node.name),
                None,
            ));
        }
        Role::Convolution => {
            return Err((format!("{} is a convolution, which begins a chain of its own", node.name), None));
        }
        Role::Reduce | Role::Segment | Role::Other => {
            return Err((format!("{} ({}) is not elementwise", node.name, node.op_type), None));
        }
    }
    if elementwise == class.limit() {
        let nth = class.limit() + 1;
        return Err((
            format!("{} would be elementwise operator {nth}, and {} are the limit", node.name, class.limit()),
            None,
        ));
    }
    let live = live_inputs(view, node);
    if live > 1 {
        let remedy = "fold the other side if it can be made constant (G03)".to_owned();
        return Err((format!("{} ({}) has {live} live inputs", node.name, node.op_type), Some(remedy)));
    }
    let outputs = node.outputs.iter().flatten().count();
    if outputs > 1 {
        return Err((format!("{} has {outputs} results", node.name), None));
    }
    Ok(class)
}

/// Chains with a reduction and chains with segments that follow one another share data in L2.
fn pairs(view: View<'_>, ends: &[(NodeId, NodeId, Class)]) -> Vec<Pair> {
    let graph = view.model.graph();
    let through_l2 = |class: Class| matches!(class, Class::Reduce | Class::Segment);
    let mut pairs = Vec::new();
    for (_, last, class) in ends.iter().filter(|(.., class)| through_l2(*class)) {
        let last = graph.node(*last);
        for reader in view.readers(&last) {
            let follows = ends.iter().any(|(first, _, other)| *first == reader.id && through_l2(*other));
            if follows && *class != Class::Elementwise {
                pairs.push(Pair { from: last.name.to_owned(), to: reader.name.to_owned() });
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{graph, node};

    fn chains(nodes: &[&str]) -> Vec<(Class, String, String)> {
        let model = graph(nodes);
        let found = fusion(&model).chains;
        let types =
            |chain: &Chain| chain.links.iter().map(|link| &*link.op_type).collect::<Vec<_>>().join("+");
        found.iter().map(|chain| (chain.class, types(chain), chain.stop.clone())).collect()
    }

    #[test]
    fn a_convolution_takes_three_elementwise_operators_and_not_a_fourth() {
        let found = chains(&[
            "Conv x,W:16x3x3x3 -> a",
            "Relu a -> b",
            "Mul b,K: -> c",
            "Sigmoid c -> d",
            "Abs d -> y",
        ]);
        assert_eq!(found[0].0, Class::Convolution);
        assert_eq!(found[0].1, "Conv+Relu+Mul+Sigmoid");
        assert!(found[0].2.contains("operator 4, and 3 are the limit"), "{}", found[0].2);
        assert_eq!(found[1].1, "Abs");
    }

    #[test]
    fn an_addition_of_two_results_ends_a_chain_and_one_of_a_constant_does_not() {
        let found = chains(&["Conv x,W:16x3x3x3 -> a", "Relu x -> r", "Add a,r -> y"]);
        assert!(found[0].2.contains("has 2 live inputs"), "{}", found[0].2);
        let found = chains(&["Conv x,W:16x3x3x3 -> a", "Add a,B: -> y"]);
        assert_eq!((found.len(), &*found[0].1), (1, "Conv+Add"));
        assert!(found[0].2.contains("output of the model"));
    }

    #[test]
    fn a_result_that_is_used_twice_ends_a_chain_and_a_cheap_one_can_be_copied() {
        let model = graph(&["Relu x -> a", "Abs a -> b", "Neg a -> c", "Add b,c -> y"]);
        let found = fusion(&model).chains;
        assert!(found[0].stop.contains("also used by"), "{}", found[0].stop);
        assert!(found[0].remedy.as_deref().is_some_and(|remedy| remedy.contains("copy")));
    }

    #[test]
    fn a_chain_has_one_reduction_and_five_elementwise_operators_at_most() {
        let found = chains(&["Abs x -> a", "ReduceSum a -> b", "Sqrt b -> c", "ReduceMax c -> y"]);
        assert_eq!((found[0].0, &*found[0].1), (Class::Reduce, "Abs+ReduceSum+Sqrt"));
        assert!(found[0].2.contains("second reduction"), "{}", found[0].2);
        let found =
            chains(&["Abs x -> a", "Neg a -> b", "Exp b -> c", "Log c -> d", "Sqrt d -> e", "Tanh e -> y"]);
        assert_eq!(found[0].1, "Abs+Neg+Exp+Log+Sqrt");
    }

    #[test]
    fn reductions_that_follow_one_another_meet_in_l2() {
        let model = graph(&["ReduceSum x -> a", "ReduceMax a -> y"]);
        assert_eq!(fusion(&model).pairs.len(), 1);
        let model = graph(&["ReduceSum x -> a", "Softmax a -> y"]);
        assert_eq!(fusion(&model).pairs.len(), 0);
    }

    #[test]
    fn operators_of_other_domains_are_left_alone() {
        let mut proto = graph(&["Relu x -> y"]).proto().clone();
        let inner = proto.graph.as_mut().unwrap();
        inner.node[0] =
            opscope_model::proto::NodeProto { domain: Some("my.domain".into()), ..node("Relu x -> y") };
        proto.opset_import.push(opscope_model::proto::OperatorSetIdProto {
            domain: Some("my.domain".into()),
            version: Some(1),
        });
        let model = Model::from_proto(proto, None).unwrap();
        assert!(fusion(&model).chains.is_empty());
    }
}
