//! Which operators a profile executed, and what became of the model's nodes in them.
//!
//! An engine folds, fuses and leaves out nodes of the model before it runs them. A rule about a node
//! has something to say only where that node was still there when the model ran; and the time of an
//! operator that several nodes were made into belongs to none of them alone.

use std::collections::HashMap;

use opscope_analyze::{may_run_as, node_of_fused};
use opscope_trace::{Nanoseconds, OperatorId, StringId, Trace};

use crate::unexplained::{NodeNames, Unexplained};

/// Names an operator of an [`Executions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Executed(usize);

impl Executed {
    /// Its place among all.
    pub fn index(self) -> usize {
        self.0
    }
}

/// An operator that was executed. Rows of a trace that differ in their shapes only are one.
#[derive(Clone, Debug)]
struct Row<'a> {
    /// Its name and type.
    key: (StringId, StringId),
    name: &'a str,
    op_type: &'a str,
    /// Its own time in an average iteration, in nanoseconds.
    time: f64,
    /// The model's nodes that it stands for; none where the trace doesn't say.
    nodes: Vec<&'a str>,
    /// Whether its name holds those of several nodes, or it is named by one of another type.
    is_renamed: bool,
    /// Whether it is what an engine contracted the pieces of a known operator into.
    is_contraction: bool,
}

/// The operators that a profile executed in its measured iterations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executions<'a> {
    rows: Vec<Row<'a>>,
    by_name: HashMap<&'a str, Vec<Executed>>,
    known: HashMap<(StringId, StringId), Executed>,
    by_node: HashMap<&'a str, Vec<Executed>>,
    /// The model's nodes, once they are known.
    names: NodeNames<'a>,
    /// The operators that none of them explains.
    unexplained: Unexplained,
}

/// The fate of some nodes of the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ran {
    /// Nobody knows: there is no profile, it has no node of this model, or they may have run in operators that the
    /// model doesn't explain.
    Unknown,
    /// They ran as themselves, in these operators, which stand for nothing else.
    Themselves(Vec<Executed>),
    /// They were made into operators that stand for other nodes as well.
    WithOthers(Vec<Executed>),
    /// They didn't run: the engine computed them beforehand, or had no need of them.
    Not,
}

impl<'a> Executions<'a> {
    /// Takes in an operator, if it isn't known.
    pub fn enter(&mut self, trace: &'a Trace, operator: OperatorId) -> Executed {
        let index = operator.index();
        let key = (trace.operators.name()[index], trace.operators.op_type()[index]);
        if let Some(executed) = self.known.get(&key) {
            return *executed;
        }
        let executed = Executed(self.rows.len());
        self.known.insert(key, executed);
        let origins = trace.names.get(trace.operators.origins()[index]);
        let nodes: Vec<&str> = origins.iter().map(|name| trace.strings.get(*name)).collect();
        // Where the trace names no nodes, an operator is known by its own name.
        let own = [trace.strings.get(key.0)];
        for node in if nodes.is_empty() { &own[..] } else { &nodes } {
            self.by_node.entry(node).or_default().push(executed);
        }
        let (name, op_type) = (own[0], trace.strings.get(key.1));
        self.by_name.entry(name).or_default().push(executed);
        self.rows.push(Row {
            key,
            name,
            op_type,
            time: 0.0,
            nodes,
            is_renamed: false,
            is_contraction: false,
        });
        executed
    }

    /// Brings all operators together with the nodes of the model, by name and type; `behind` gives those of which an
    /// operator by its name and type is made, where the name is that of their output. Returns whether the profile has
    /// a node of the model.
    pub fn explain(
        &mut self,
        nodes: impl Iterator<Item = (&'a str, &'a str)>,
        behind: impl Fn(&str, &str) -> Vec<&'a str>,
    ) -> bool {
        self.names = NodeNames::of(nodes);
        let hidden = self.names.types_without(|node| self.by_node.contains_key(node));
        let mut is_of_this_model = false;
        for (index, row) in self.rows.iter_mut().enumerate() {
            self.unexplained.look_for_range(row.name);
            let is_named = row.nodes.is_empty() && self.names.has(row.name);
            if is_named || row.nodes.iter().any(|node| self.names.has(node)) {
                is_of_this_model = true;
                // Engines call what they fused by one of its nodes: OpenVINO's `FullyConnected` has the name of the
                // addition behind the product alone, which has no operator of its own then. Other types may just be
                // an engine's word for the node's. Where no types are told, names stand in for them.
                let only = match row.nodes[..] {
                    [] => Some(row.name),
                    [only] => Some(only),
                    _ => None,
                };
                let is_typed = !row.op_type.is_empty() && row.op_type != row.name;
                let is_another = || hidden.iter().any(|node| may_run_as(node, row.op_type));
                let is_odd = |only| is_typed && !self.names.is_alike(only, row.op_type);
                if only.is_some_and(|only| is_odd(only) && is_another()) {
                    row.is_renamed = true;
                    self.unexplained.enter_named_by_another(row.op_type);
                }
                continue;
            }
            let mut nodes = behind(row.name, row.op_type);
            match nodes.is_empty() {
                true => nodes = self.names.within(row.name),
                false => is_of_this_model = true,
            }
            if nodes.is_empty() || !row.nodes.is_empty() {
                self.unexplained.enter(row.op_type);
                continue;
            }
            // Made of several, and maybe of others whose names were dropped, unless it is one by another name.
            let is_one = matches!(nodes[..], [only] if self.names.is_alike(only, row.op_type));
            row.is_renamed = !is_one || node_of_fused(row.name).is_some();
            for node in nodes {
                self.by_node.entry(node).or_default().push(Executed(index));
            }
        }
        is_of_this_model
    }

    /// Takes in that some nodes are the pieces of an operator. An engine that contracts them names the operator by one
    /// of them, and the others are within it unless they have operators of their own. Such an operator is of a type
    /// that the pieces make together, and none by which it is named is alone.
    pub fn contract(&mut self, pieces: &[&str], whole: &[String]) {
        let pieces: Vec<&'a str> = pieces.iter().filter_map(|piece| self.names.own(piece)).collect();
        let is_whole = |executed: &Executed| {
            let op_type = self.rows[executed.0].op_type;
            let is_named_by =
                |piece: &&&str| self.by_node.get(**piece).is_some_and(|it| it.contains(executed));
            whole.iter().any(|whole| may_run_as(whole, op_type))
                && !pieces.iter().filter(is_named_by).any(|piece| self.names.is_alike(piece, op_type))
        };
        let mut named = pieces.iter().filter_map(|piece| self.by_node.get(piece)).flatten();
        let Some(&contraction) = named.find(|executed| is_whole(executed)) else { return };
        let row = &mut self.rows[contraction.0];
        (row.is_renamed, row.is_contraction) = (true, true);
        for piece in pieces {
            self.by_node.entry(piece).or_insert_with(|| vec![contraction]);
        }
    }

    /// Whether one of some nodes is within an operator that an engine contracted pieces into.
    pub fn is_contracted(&self, nodes: &[&str]) -> bool {
        let within = nodes.iter().filter_map(|node| self.by_node.get(node)).flatten();
        within.into_iter().any(|executed| self.rows[executed.0].is_contraction)
    }

    /// Takes in an execution: its part of an average iteration in nanoseconds.
    pub fn spend(&mut self, executed: Executed, time: f64) {
        self.rows[executed.0].time += time;
    }

    /// All operators, in the order in which they were entered.
    pub fn all(&self) -> impl Iterator<Item = Executed> + use<> {
        (0..self.rows.len()).map(Executed)
    }

    /// Name and type of an operator in the trace.
    pub fn key(&self, executed: Executed) -> (StringId, StringId) {
        self.rows[executed.0].key
    }

    /// The type of an operator; one that several nodes were made into joins their types by a plus.
    pub fn op_type(&self, executed: Executed) -> &'a str {
        self.rows[executed.0].op_type
    }

    /// The own time of an operator in an average iteration, in nanoseconds.
    pub fn time(&self, executed: Executed) -> f64 {
        self.rows[executed.0].time
    }

    /// Whether an operator ran as itself, and not as one that the engine made of several nodes. This
    /// is the one place that decides it.
    pub fn is_itself(&self, executed: Executed) -> bool {
        self.rows[executed.0].nodes.len() <= 1
    }

    /// The types of which an operator is made: its own, or those of the nodes that it stands for.
    pub fn types(&self, executed: Executed) -> impl Iterator<Item = &'a str> + use<'a> {
        let (op_type, is_itself) = (self.op_type(executed), self.is_itself(executed));
        let parts = if is_itself { None } else { Some(op_type.split('+')) };
        parts.into_iter().flatten().chain(is_itself.then_some(op_type))
    }

    /// Whether the profile has a node of the model, by itself or with others.
    pub fn has(&self, node: &str) -> bool {
        self.by_node.contains_key(node)
    }

    /// Tells what became of nodes of the model. Whether the profile is one of this model at all is for the
    /// caller to say.
    pub fn ran(&self, nodes: &[&str], is_of_this_model: bool) -> Ran {
        let mut within: Vec<Executed> =
            nodes.iter().flat_map(|node| self.by_node.get(node)).flatten().copied().collect();
        within.sort_unstable();
        within.dedup();
        if within.is_empty() {
            let may_be_hidden = |node: &&str| self.unexplained.may_hide(node, &self.names);
            let is_gone = is_of_this_model && !nodes.iter().any(may_be_hidden);
            return if is_gone { Ran::Not } else { Ran::Unknown };
        }
        let of_these = |executed: &Executed| {
            let row = &self.rows[executed.0];
            let is_all = row.nodes.iter().all(|node| nodes.contains(node));
            !row.is_renamed && (self.is_itself(*executed) || is_all)
        };
        let own: Vec<Executed> = within.iter().copied().filter(of_these).collect();
        if own.is_empty() { Ran::WithOthers(within) } else { Ran::Themselves(own) }
    }

    /// The model's nodes that operators of a name stand for, as the profile or that name tells.
    pub fn nodes_of(&self, name: &str) -> Vec<&'a str> {
        let rows = self.by_name.get(name).into_iter().flatten().map(|executed| &self.rows[executed.0]);
        let mut nodes: Vec<&str> = Vec::new();
        for row in rows {
            nodes.extend(&row.nodes);
            if row.nodes.is_empty() {
                nodes.extend(self.names.within(row.name));
            }
        }
        nodes
    }

    /// The time of operators in an average iteration.
    pub fn sum(&self, executed: &[Executed]) -> Nanoseconds {
        Nanoseconds(executed.iter().map(|executed| self.time(*executed)).sum::<f64>() as i64)
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::Operator;

    use super::*;

    /// Operators by name and type, with the nodes that they stand for, of 100 ns each.
    fn trace(rows: &[(&str, &str, &[&str])]) -> Trace {
        let mut trace = Trace::new();
        for (name, op_type, nodes) in rows {
            let (name, op_type) = (trace.strings.intern(name), trace.strings.intern(op_type));
            let nodes: Vec<StringId> = nodes.iter().map(|node| trace.strings.intern(node)).collect();
            let origins = trace.names.push(nodes);
            trace.operators.push(Operator { origins, ..Operator::new(name, op_type) });
        }
        trace
    }

    fn executions(trace: &Trace) -> Executions<'_> {
        let mut executions = Executions::default();
        for id in trace.operators.ids() {
            let executed = executions.enter(trace, id);
            executions.spend(executed, 100.0);
        }
        executions
    }

    #[test]
    fn a_node_that_was_made_into_another_operator_did_not_run_as_itself() {
        let trace = trace(&[
            ("conv", "Conv+BatchNormalization", &["conv", "bn"]),
            ("relu", "Relu", &["relu"]),
            ("reorder", "ReorderInput", &[]),
        ]);
        let all = executions(&trace);
        assert_eq!(all.ran(&["bn"], true), Ran::WithOthers(vec![Executed(0)]));
        assert_eq!(all.ran(&["relu"], true), Ran::Themselves(vec![Executed(1)]));
        assert_eq!(all.ran(&["reorder"], true), Ran::Themselves(vec![Executed(2)]));
        assert_eq!((all.ran(&["gone"], true), all.ran(&["gone"], false)), (Ran::Not, Ran::Unknown));
        assert_eq!(all.ran(&["conv", "bn"], true), Ran::Themselves(vec![Executed(0)]));
        assert_eq!(all.types(Executed(0)).collect::<Vec<_>>(), ["Conv", "BatchNormalization"]);
    }

    #[test]
    fn a_node_is_gone_only_where_no_operator_is_left_that_it_may_have_run_in() {
        let trace = trace(&[
            ("/a/Conv", "Conv2D", &[]),
            ("/a/BatchNorm_BNInferenceD/a/PRelu", "AutomaticBufferFusionOp", &[]),
            ("trans_TransData_3", "TransData", &[]),
        ]);
        let nodes = [
            ("/a/Conv", "Conv"),
            ("/a/BatchNorm", "BatchNormalization"),
            ("/a/PRelu", "PRelu"),
            ("/b/Conv", "Conv"),
        ];
        let mut all = executions(&trace);
        assert!(all.explain(nodes.into_iter(), |_, _| Vec::new()));
        assert_eq!(all.ran(&["/a/BatchNorm"], true), Ran::WithOthers(vec![Executed(1)]));
        assert_eq!(all.ran(&["/b/Conv"], true), Ran::Not);
        let suffixed =
            self::trace(&[("/b/Convfunction_graph_0//b/Conv", "Conv2D", &[]), ("/a/PRelu", "PRelu", &[])]);
        let mut all = executions(&suffixed);
        assert!(all.explain(nodes.into_iter(), |_, _| Vec::new()));
        assert_eq!(all.ran(&["/b/Conv"], true), Ran::Themselves(vec![Executed(0)]), "by another name");
        let renamed = self::trace(&[("/a/Conv", "Conv2D", &[]), ("dsp_17", "Conv2D", &[])]);
        let mut all = executions(&renamed);
        assert!(all.explain(nodes.into_iter(), |_, _| Vec::new()));
        assert_eq!(all.ran(&["/b/Conv"], true), Ran::Unknown, "it may be dsp_17");
    }

    #[test]
    fn the_time_of_an_operator_that_is_named_by_a_node_of_another_type_is_not_that_nodes() {
        let trace = trace(&[
            ("add", "FullyConnected", &["add"]),
            ("y", "Softmax", &[]),
            ("sum", "Subgraph", &["sum"]),
            ("untyped", "untyped", &[]),
        ]);
        let nodes = [
            ("product", "MatMul"),
            ("add", "Add"),
            ("softmax", "Softmax"),
            ("y", "Identity"),
            ("sum", "Add"),
            ("untyped", "Relu"),
            ("norm", "BatchNormalization"),
        ];
        let mut all = executions(&trace);
        assert!(all.explain(nodes.into_iter(), |_, _| Vec::new()));
        assert_eq!(all.ran(&["add"], true), Ran::WithOthers(vec![Executed(0)]));
        assert_eq!(all.ran(&["product", "add"], true), Ran::WithOthers(vec![Executed(0)]));
        assert_eq!(all.ran(&["y"], true), Ran::WithOthers(vec![Executed(1)]));
        assert_eq!(all.ran(&["sum"], true), Ran::Themselves(vec![Executed(2)]), "a type of several kinds");
        assert_eq!(all.ran(&["untyped"], true), Ran::Themselves(vec![Executed(3)]));
        let hidden = ["product", "softmax"].map(|node| all.ran(&[node], true));
        assert_eq!(hidden, [Ran::Unknown, Ran::Unknown], "in operators that are named by another node");
        assert_eq!(all.ran(&["norm"], true), Ran::Not);
    }

    #[test]
    fn a_node_that_runs_as_another_type_is_itself_unless_a_node_without_an_operator_may_be_in_it() {
        let trace = trace(&[("sq", "Reshape", &[]), ("pow", "Square", &[]), ("sum", "FullyConnected", &[])]);
        let mut all = executions(&trace);
        let nodes = [("sq", "Squeeze"), ("pow", "Pow"), ("sum", "Add"), ("product", "MatMul")];
        assert!(all.explain(nodes.into_iter(), |_, _| Vec::new()));
        assert_eq!(all.ran(&["sq"], true), Ran::Themselves(vec![Executed(0)]));
        assert_eq!(all.ran(&["pow"], true), Ran::Themselves(vec![Executed(1)]));
        assert_eq!(all.ran(&["sum"], true), Ran::WithOthers(vec![Executed(2)]));
    }

    #[test]
    fn pieces_without_an_operator_are_within_the_one_that_they_make_together() {
        let trace = trace(&[("div", "MVN", &[]), ("out", "Subgraph", &["mul", "out"]), ("own", "Pow", &[])]);
        let nodes =
            [("pow", "Pow"), ("own", "Pow"), ("div", "Div"), ("mul", "Mul"), ("out", "Add"), ("b", "Pow")];
        let whole = ["LayerNormalization".to_owned()];
        let mut all = executions(&trace);
        assert!(all.explain(nodes.into_iter(), |_, _| Vec::new()));
        all.contract(&["mul", "out"], &whole);
        assert!(!all.is_contracted(&["mul", "out"]), "a type that may be each of them");
        all.contract(&["pow", "own", "div", "mul", "out", "gone"], &whole);
        assert!(all.is_contracted(&["pow", "mul"]) && !all.is_contracted(&["own", "b"]));
        assert_eq!(all.ran(&["pow"], true), Ran::WithOthers(vec![Executed(0)]));
        assert_eq!(all.ran(&["div"], true), Ran::WithOthers(vec![Executed(0)]));
        assert_eq!(all.ran(&["own"], true), Ran::Themselves(vec![Executed(2)]));
    }

    #[test]
    fn an_operator_that_is_named_by_its_fusion_is_never_one_node_alone() {
        let trace = trace(&[("fc/MatMulAddFusion", "Gemm", &[])]);
        let mut all = executions(&trace);
        // The addition behind the product may not be known to be its part.
        assert!(all.explain([("fc", "MatMul")].into_iter(), |_, _| vec!["fc"]));
        assert_eq!(all.ran(&["fc"], true), Ran::WithOthers(vec![Executed(0)]));
    }

    #[test]
    fn only_operators_that_stand_for_nothing_else_are_a_groups_own() {
        let trace = trace(&[
            ("softplus", "Softplus", &["softplus"]),
            ("conv", "Tanh+Mul+Conv", &["tanh", "mul", "conv"]),
        ]);
        let ran = executions(&trace).ran(&["softplus", "tanh", "mul"], true);
        assert_eq!(ran, Ran::Themselves(vec![Executed(0)]), "the convolution's time is nobody's alone");
    }

    #[test]
    fn rows_of_other_shapes_are_the_same_operator() {
        let trace = trace(&[("conv", "Conv", &["conv"]), ("conv", "Conv", &["conv"])]);
        let all = executions(&trace);
        let Ran::Themselves(own) = all.ran(&["conv"], true) else { panic!("it ran") };
        assert_eq!((own.len(), all.sum(&own)), (1, Nanoseconds(200)));
    }
}
