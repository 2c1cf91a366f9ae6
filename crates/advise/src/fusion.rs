//! Which chains of a graph an Ascend processor fuses in its Unified Buffer or passes through L2.
//!
//! A chain begins with a convolution or consists of elementwise operators, with one reduction or one
//! operation on segments among them. All but the first have one input and one output; inputs that are
//! constants don't count, nor do operators that only constants reach: they are computed once. Normalisations, factors and summands of channels right behind a convolution become part of
//! its weights, and don't count either. The limits are those of the Ascend 310 (`rules/targets.toml`).

mod l2;

use std::cell::OnceCell;
use std::collections::HashSet;

use opscope_model::{Bindings, Model, Node, NodeId, Shapes, ValueId};
use opscope_trace::words;
use serde::Serialize;

use crate::graph::{Folded, View};
use crate::target::Target;

pub use l2::{L2, Split, split};

words! {
    /// The kind of an operator, and of the chain that it limits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Class {
        /// A convolution, with which a chain begins.
        Convolution = "convolution",
        /// Elementwise operators only.
        Elementwise = "elementwise",
        /// A reduction.
        Reduce = "reduce",
        /// An operation on segments.
        Segment = "segment",
    }
}

impl Class {
    /// How many elementwise operators a chain of the kind may have.
    fn limit(self) -> usize {
        let limits = Target::Cann310.fusion();
        limits.and_then(|limits| limits.elementwise.get(self.name())).copied().unwrap_or(0)
    }

    /// Whether a chain has at most one operator of the kind beside the elementwise ones.
    fn is_single(self) -> bool {
        matches!(self, Self::Reduce | Self::Segment)
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
    /// Both in Chinese, for readers of pages.
    #[serde(skip)]
    pub zh: Told,
}

/// Why a chain goes no further, and a change with which it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Why it goes no further.
    pub stop: String,
    /// A change with which it goes on, if something is known.
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

/// The kind of an operator; `None` for one that isn't fused.
fn class(node: &Node<'_>) -> Option<Class> {
    let is_elementwise = |name: &str| {
        Target::Cann310.fusion().is_some_and(|known| known.operators.iter().any(|it| it == name))
    };
    match node.op_type {
        _ if !node.domain.is_empty() => None,
        "Conv" | "ConvTranspose" => Some(Class::Convolution),
        // The vendor counts TensorFlow's reductions; those of ONNX are the same operators.
        name if name.starts_with("Reduce") => Some(Class::Reduce),
        name if name.starts_with("Segment") || name.starts_with("Scatter") => Some(Class::Segment),
        name => is_elementwise(name).then_some(Class::Elementwise),
    }
}

/// A model's graph, with the parts of it that are computed once.
struct Network<'m> {
    view: View<'m>,
    folded: Folded,
    /// The shapes of all values, once those of a constant that the file doesn't store are asked for.
    shapes: OnceCell<Option<Shapes>>,
}

impl<'m> Network<'m> {
    fn of(model: &'m Model) -> Self {
        let view = View::new(model);
        Self { view, folded: Folded::of(view), shapes: OnceCell::new() }
    }

    fn is_constant(&self, value: ValueId) -> bool {
        self.folded.is_constant(self.view, value)
    }

    /// How many of a node's inputs change from run to run.
    fn live_inputs(&self, node: &Node<'_>) -> usize {
        node.inputs.iter().flatten().filter(|input| !self.is_constant(**input)).count()
    }

    /// The dimensions of a constant, where they are known.
    fn dims(&self, value: ValueId) -> Option<Vec<u64>> {
        if let Some(stored) = self.view.dims(value) {
            return Some(stored.into_iter().map(|size| u64::try_from(size).unwrap_or(0)).collect());
        }
        let infer = || Shapes::infer(self.view.model, &Bindings::default()).ok();
        self.shapes.get_or_init(infer).as_ref()?.get(value)?.known_dims()
    }
}

/// Finds the chains of a model.
pub fn fusion(model: &Model) -> Fusion {
    let network = Network::of(model);
    let view = network.view;
    let mut taken: HashSet<NodeId> = HashSet::new();
    let mut chains = Vec::new();
    let mut ends: Vec<(NodeId, NodeId, Class)> = Vec::new();
    for node in view.nodes().filter(|node| !network.folded.has(node)) {
        let Some(class) = class(&node) else { continue };
        if !taken.insert(node.id) {
            continue;
        }
        let (mut chain, last) = follow(&network, node, class, &mut taken);
        // Parts of one operator of another format aren't fused, and are no operators to name.
        chain.links.retain(|link| !model.is_helper(&link.name));
        if !chain.links.is_empty() {
            ends.push((node.id, last, chain.class));
            chains.push(chain);
        }
    }
    Fusion { chains, pairs: pairs(view, &ends) }
}

fn link(node: &Node<'_>) -> Link {
    Link { name: node.name.to_owned(), op_type: node.op_type.to_owned() }
}

fn follow<'m>(
    network: &Network<'m>,
    head: Node<'m>,
    kind: Class,
    taken: &mut HashSet<NodeId>,
) -> (Chain, NodeId) {
    let mut chain = Chain {
        class: kind,
        links: vec![link(&head)],
        stop: String::new(),
        remedy: None,
        zh: Told::default(),
    };
    let mut elementwise = usize::from(kind == Class::Elementwise);
    let mut is_folding = kind == Class::Convolution;
    let mut at = head;
    loop {
        let next = next_of(network, &at, chain.links.len() == 1);
        if let Some(next) = next.as_ref().ok().filter(|next| is_folding && becomes_weights(network, next)) {
            at = *next;
            taken.insert(at.id);
            chain.links.push(link(&at));
            continue;
        }
        is_folding = false;
        let joined = next.and_then(|next| Ok((may_join(network, &next, chain.class, elementwise)?, next)));
        match joined {
            Ok((class, next)) => (chain.class, at) = (class, next),
            Err([Told { stop, remedy }, zh]) => return (Chain { stop, remedy, zh, ..chain }, at.id),
        }
        elementwise += usize::from(class(&at) == Some(Class::Elementwise));
        taken.insert(at.id);
        chain.links.push(link(&at));
    }
}

/// Whether a node behind a convolution only scales and shifts its channels by constants.
fn becomes_weights(network: &Network<'_>, node: &Node<'_>) -> bool {
    let is_of_channels = |value: &ValueId| {
        // Of images, height and width come last.
        let Some(dims) = network.dims(*value) else { return false };
        let sizes = dims.iter().filter(|size| **size != 1).count();
        network.is_constant(*value) && (sizes == 0 || sizes == 1 && dims.last() == Some(&1))
    };
    let is_inference = node.attributes.int("training_mode").unwrap_or(0) == 0;
    let is_alone = node.outputs.iter().flatten().count() == 1 && network.live_inputs(node) == 1;
    match node.op_type {
        _ if !node.domain.is_empty() || !is_alone => false,
        "BatchNormalization" => {
            is_inference && node.input(0).is_some_and(|input| !network.is_constant(input))
        }
        "Mul" | "Add" => {
            node.inputs.iter().flatten().filter(|input| network.is_constant(**input)).all(is_of_channels)
        }
        _ => false,
    }
}

/// In English and in Chinese.
type Stop = [Told; 2];

fn stop(en: String, zh: String) -> Stop {
    [en, zh].map(|stop| Told { stop, remedy: None })
}

/// The only operator that goes on with a result. Of several users, a copy for each helps if the node begins
/// its chain, and no user begins one of its own.
fn next_of<'m>(network: &Network<'m>, node: &Node<'m>, is_head: bool) -> Result<Node<'m>, Stop> {
    let view = network.view;
    let graph = view.model.graph();
    let outputs = node.outputs.iter().flatten().filter(|output| {
        let value = graph.value(**output);
        value.is_output || !value.consumers.is_empty()
    });
    if outputs.count() > 1 {
        return Err(stop(format!("{} has several results", node.name), format!("{} 有多个输出", node.name)));
    }
    let Some(value) = node.output(0).map(|output| graph.value(output)) else {
        return Err(stop(format!("{} has no result", node.name), format!("{} 没有输出", node.name)));
    };
    match value.consumers {
        _ if value.is_output => Err(stop(
            format!("`{}` is an output of the model", value.name),
            format!("`{}` 是模型的输出", value.name),
        )),
        [] => Err(stop(
            format!("nothing uses the result of {}", node.name),
            format!("{} 的结果没有被使用", node.name),
        )),
        [only] => Ok(graph.node(*only)),
        [_, others @ ..] => {
            let names: Vec<&str> =
                others.iter().take(2).map(|id| view.beyond_helpers(graph.node(*id)).name).collect();
            let names = names.join(", ");
            let more = if others.len() > 2 { [" and others", " 等"] } else { ["", ""] };
            let is_copied = is_head && class(node) == Some(Class::Elementwise);
            let goes_on = |id: &NodeId| may_join(network, &graph.node(*id), Class::Elementwise, 1).is_ok();
            let mut told = stop(
                format!("the result is also used by {names}{}", more[0]),
                format!("结果还被 {names}{} 使用", more[1]),
            );
            if is_copied && value.consumers.iter().all(goes_on) {
                let name = node.name;
                let en = format!("{name} is cheap: a copy of it for each user lets both chains go on");
                let zh = format!("{name} 开销很小：为每个使用者各复制一份，两条链都可以继续");
                (told[0].remedy, told[1].remedy) = (Some(en), Some(zh));
            }
            Err(told)
        }
    }
}

/// Whether an operator may join a chain; the class that the chain then has.
fn may_join(
    network: &Network<'_>,
    node: &Node<'_>,
    of_chain: Class,
    elementwise: usize,
) -> Result<Class, Stop> {
    match class(node) {
        Some(Class::Elementwise) => {}
        Some(class @ (Class::Reduce | Class::Segment))
            if of_chain == Class::Elementwise && elementwise <= class.limit() =>
        {
            return Ok(class);
        }
        Some(class) if class.is_single() && of_chain.is_single() => {
            return Err(stop(
                format!("{} would be the second reduction or operation on segments", node.name),
                format!("{} 将是第二个归约或分段操作", node.name),
            ));
        }
        Some(Class::Convolution) => {
            return Err(stop(
                format!("{} is a convolution, which begins a chain of its own", node.name),
                format!("{} 是卷积，它开始一条新的链", node.name),
            ));
        }
        _ if network.view.model.is_helper(node.name) => {
            return Err(stop(
                format!(
                    "{} ({}), which ONNX needs here and the file doesn't have, is not elementwise",
                    node.name, node.op_type
                ),
                format!(
                    "{}（{}）不是逐元素算子：文件中没有它，是按 ONNX 的要求加入的",
                    node.name, node.op_type
                ),
            ));
        }
        _ if node.domain.is_empty() && Target::Cann310.lacks(node.op_type) => {
            return Err(stop(
                format!(
                    "{} ({}) is no operator of the Ascend 310, which runs it in pieces",
                    node.name, node.op_type
                ),
                format!("{}（{}）不是昇腾 310 的算子，会被拆开执行", node.name, node.op_type),
            ));
        }
        _ => {
            return Err(stop(
                format!("{} ({}) is not elementwise", node.name, node.op_type),
                format!("{}（{}）不是逐元素算子", node.name, node.op_type),
            ));
        }
    }
    let limit = of_chain.limit();
    if elementwise == limit {
        let nth = limit + 1;
        return Err(stop(
            format!("{} would be elementwise operator {nth}, and {limit} are the limit", node.name),
            format!("{} 将是第 {nth} 个逐元素算子，上限为 {limit} 个", node.name),
        ));
    }
    let live = network.live_inputs(node);
    if live > 1 {
        let mut told = stop(
            format!("{} ({}) has {live} live inputs", node.name, node.op_type),
            format!("{}（{}）有 {live} 个非常量输入", node.name, node.op_type),
        );
        told[0].remedy = Some("fold the other side if it can be made constant (G03)".to_owned());
        told[1].remedy = Some("若另一侧可以变为常量，则将其折叠（G03）".to_owned());
        return Err(told);
    }
    let outputs = node.outputs.iter().flatten().count();
    if outputs > 1 {
        return Err(stop(
            format!("{} has {outputs} results", node.name),
            format!("{} 有 {outputs} 个输出", node.name),
        ));
    }
    Ok(of_chain)
}

/// Chains with a reduction and chains with segments that follow one another share data in L2.
fn pairs(view: View<'_>, ends: &[(NodeId, NodeId, Class)]) -> Vec<Pair> {
    let graph = view.model.graph();
    let mut pairs = Vec::new();
    for (_, last, _) in ends.iter().filter(|(.., class)| class.is_single()) {
        let last = graph.node(*last);
        for reader in view.readers(&last) {
            if ends.iter().any(|(first, _, class)| *first == reader.id && class.is_single()) {
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
    fn an_operator_that_the_processor_lacks_ends_a_chain_and_is_in_none() {
        for lacked in ["Mish", "HardSwish", "Gelu"] {
            let found = chains(&["Conv x,W:16x3x3x3 -> a", &format!("{lacked} a -> b"), "Abs b -> y"]);
            let types: Vec<&str> = found.iter().map(|(_, types, _)| &**types).collect();
            assert_eq!(types, ["Conv", "Abs"]);
            assert!(found[0].2.contains("no operator of the Ascend 310"), "{}", found[0].2);
        }
    }

    #[test]
    fn what_becomes_weights_of_the_convolution_before_it_does_not_count() {
        let found = chains(&[
            "Conv x,W:16x3x3x3 -> a",
            "BatchNormalization a,S:16,B:16,M:16,V:16 -> b",
            "Mul b,K:16x1x1 -> c",
            "Add c,T:16x1x1 -> d",
            "Relu d -> e",
            "Sigmoid e -> f",
            "Abs f -> g",
            "Neg g -> y",
        ]);
        assert_eq!(found[0].1, "Conv+BatchNormalization+Mul+Add+Relu+Sigmoid+Abs");
        assert!(found[0].2.contains("operator 4, and 3 are the limit"), "{}", found[0].2);
        // A factor for each column is none of the weights.
        let found =
            chains(&["Conv x,W:16x3x3x3 -> a", "Mul a,K:16 -> b", "Relu b -> c", "Abs c -> d", "Neg d -> y"]);
        assert_eq!(found[0].1, "Conv+Mul+Relu+Abs");
    }

    #[test]
    fn operators_that_only_constants_reach_do_not_count() {
        let found = chains(&[
            "Cast W:16x3x3x3 to=1 -> w",
            "Conv x,w -> a",
            "Cast B:16x1x1 to=1 -> b",
            "Sqrt b -> c",
            "Add a,c -> d",
            "Relu d -> y",
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].0, &*found[0].1), (Class::Convolution, "Conv+Add+Relu"));
        let found = chains(&[
            "Conv x,W:16x3x3x3 -> a",
            "Cast B:16x1x1 to=1 -> b",
            "Mul a,b -> c",
            "Relu c -> d",
            "Abs d -> e",
            "Neg e -> y",
        ]);
        assert_eq!(found[0].1, "Conv+Mul+Relu+Abs+Neg", "the factors of channels become weights");
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
        let zh = &found[0].zh;
        assert!(
            zh.stop.starts_with("结果还被") && zh.remedy.as_deref().is_some_and(|it| it.contains("复制")),
            "{zh:?}"
        );
    }

    #[test]
    fn a_copy_for_each_user_is_not_advised_where_users_begin_chains_or_the_chain_would_lose_its_head() {
        for nodes in [
            ["Relu x -> a", "Conv a,W:16x3x3x3 -> b", "Conv a,V:16x3x3x3 -> c", "Concat b,c -> y"],
            ["Conv x,W:16x3x3x3 -> r", "Relu r -> a", "Abs a -> b", "Neg a -> y"],
        ] {
            let found = fusion(&graph(&nodes)).chains;
            assert!(found[0].stop.contains("also used by"), "{}", found[0].stop);
            assert_eq!(found[0].remedy, None, "{nodes:?}");
        }
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
