//! Operators of a profile that the model doesn't explain: a node without an operator of its name may have run in one.
//!
//! Converters rename operators, and join the names of those that they fuse. So a node that the profile doesn't name is
//! gone only where no operator is left that could be it.

use std::collections::{HashMap, HashSet};

use opscope_analyze::{may_run_as, operator_kind};

/// Types of which engines leave nodes out, or compute them beforehand, and that they seldom make a part of operators
/// of other types.
const OF_ITS_OWN_TYPE: [&str; 20] = [
    "shape",
    "size",
    "constant",
    "constantofshape",
    "identity",
    "dropout",
    "gather",
    "unsqueeze",
    "squeeze",
    "reshape",
    "flatten",
    "concat",
    "split",
    "slice",
    "stridedslice",
    "transpose",
    "cast",
    "range",
    "expand",
    "tile",
];

/// The kind of copies between layouts, which engines put in and which stand for no node.
const LAYOUT: &str = "transdata";

/// The nodes of a model, to be found in names of operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeNames<'a> {
    sorted: Vec<&'a str>,
    types: HashMap<&'a str, &'a str>,
}

impl<'a> NodeNames<'a> {
    /// Of nodes, by name and type.
    pub fn of(nodes: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let types: HashMap<&str, &str> = nodes.filter(|(name, _)| !name.is_empty()).collect();
        let mut sorted: Vec<&str> = types.keys().copied().collect();
        sorted.sort_unstable();
        Self { sorted, types }
    }

    /// Whether it is the name of a node.
    pub fn has(&self, name: &str) -> bool {
        self.types.contains_key(name)
    }

    /// The name of a node for as long as the nodes are there.
    pub fn own(&self, name: &str) -> Option<&'a str> {
        self.types.get_key_value(name).map(|(own, _)| *own)
    }

    /// The types of the nodes that have no operator of their own, each once.
    pub fn types_without(&self, has: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let without = self.types.iter().filter(|(name, _)| !has(name));
        let mut types: Vec<&str> = without.map(|(_, op_type)| *op_type).collect();
        types.sort_unstable();
        types.dedup();
        types
    }

    /// Whether a node may be an operator of a type.
    pub fn is_alike(&self, node: &str, op_type: &str) -> bool {
        self.types.get(node).is_some_and(|own| may_run_as(own, op_type))
    }

    /// The nodes whose names stand within that of an operator, each once.
    pub fn within(&self, operator: &str) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::new();
        let mut place = 0;
        while place < operator.len() {
            match operator.is_char_boundary(place).then(|| self.at(operator, place)).flatten() {
                Some(node) => {
                    found.push(node);
                    place += node.len();
                }
                None => place += 1,
            }
        }
        let mut seen = HashSet::new();
        found.retain(|node| seen.insert(*node));
        found
    }

    /// The longest name that stands at a place of a text.
    fn at(&self, text: &str, place: usize) -> Option<&'a str> {
        let (before, text) = text.split_at(place);
        let before = before.chars().next_back();
        // Names that begin with the text's bytes so far, the shortest first.
        let mut names = &self.sorted[..];
        let mut longest = None;
        for (place, byte) in text.bytes().enumerate() {
            let own = |name: &&str| name.as_bytes().get(place).copied();
            names = &names[names.partition_point(|name| own(name) < Some(byte))..];
            names = &names[..names.partition_point(|name| own(name) == Some(byte))];
            let Some(&name) = names.first() else { break };
            if name.len() == place + 1 && stands_alone(before, name, &text[name.len()..]) {
                longest = Some(name);
            }
        }
        longest
    }
}

/// Whether a name stands between these letters as itself, and isn't a part of a longer one: a number makes another name
/// of it. Names with a scope are long enough to be known even where a word is joined to them; those that are a word and
/// a number may be joined to one another.
fn stands_alone(before: Option<char>, name: &str, rest: &str) -> bool {
    let next = rest.chars().next();
    let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    if name.len() > 1 && name.contains('/') {
        let begins = name.starts_with('/') || before.is_none_or(|letter| !letter.is_alphanumeric());
        return begins && !is_digit(rest.strip_prefix('_').unwrap_or(rest).chars().next());
    }
    let parts =
        |letter: Option<char>| letter.is_none_or(|it| !it.is_alphanumeric() && !matches!(it, '_' | '/'));
    let is_numbered = name.starts_with(char::is_alphabetic) && is_digit(name.chars().next_back());
    let begins = parts(before) || is_numbered && is_digit(before);
    begins && (parts(next) || is_numbered && next.is_some_and(char::is_alphabetic))
}

/// The operators that no node of the model explains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unexplained {
    /// Their kinds, each once, without copies between layouts.
    kinds: HashSet<String>,
    /// The types of operators that are named by a node of another kind, so that the names of nodes of theirs were
    /// dropped.
    named_by_others: HashSet<String>,
    /// Whether one stands for a part of the graph of which only the ends are named.
    has_ranges: bool,
}

impl Unexplained {
    /// Takes in an operator that no node explains.
    pub fn enter(&mut self, op_type: &str) {
        let kind = operator_kind(op_type);
        if kind != LAYOUT {
            self.kinds.insert(kind.into_owned());
        }
    }

    /// Takes in an operator that is named by a node which isn't of its type.
    pub fn enter_named_by_another(&mut self, op_type: &str) {
        self.named_by_others.insert(op_type.to_owned());
    }

    /// Takes in an operator's name, which may name the ends of a part of the graph only.
    pub fn look_for_range(&mut self, name: &str) {
        self.has_ranges |= name.contains("ForeignNode[") || name.contains("...");
    }

    /// Whether a node of the model that no operator names may have run in one of these.
    pub fn may_hide(&self, node: &str, names: &NodeNames<'_>) -> bool {
        if self.has_ranges {
            return true;
        }
        let Some(op_type) = names.types.get(node) else { return !self.kinds.is_empty() };
        if self.named_by_others.iter().any(|other| may_run_as(op_type, other)) {
            return true;
        }
        let kind = operator_kind(op_type);
        let is_fused = |kind: &str| !OF_ITS_OWN_TYPE.iter().any(|own| kind.starts_with(own));
        self.kinds.iter().any(|other| other.contains(&*kind) || is_fused(&kind) && is_fused(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within<'a>(nodes: &[&'a str], operator: &str) -> Vec<&'a str> {
        NodeNames::of(nodes.iter().map(|name| (*name, "Conv"))).within(operator)
    }

    #[test]
    fn nodes_are_found_in_joined_names_the_longest_first() {
        let nodes = ["/a/Conv", "/a/Conv_1", "/a/PRelu", "a", "Conv_1"];
        assert_eq!(within(&nodes, "/a/Convfunction_graph_0//a/Conv_pass.1"), ["/a/Conv"]);
        assert_eq!(within(&nodes, "/a/Conv_1_BNInferenceD/a/PRelu"), ["/a/Conv_1", "/a/PRelu"]);
        assert_eq!(within(&nodes, "Conv_1+a"), ["Conv_1", "a"]);
        assert_eq!(within(&nodes, "/a/Conv_12"), [""; 0], "a number makes another name");
        assert_eq!(within(&nodes, "Conv_12 trans_a_x"), [""; 0]);
        assert_eq!(within(&["层", "层1"], "层1 层+层"), ["层1", "层"]);
        assert_eq!(within(&["MatMul_356", "Relu_359"], "MatMul_356Relu_359"), ["MatMul_356", "Relu_359"]);
        assert_eq!(within(&["3", "Mul_3"], "trans_TransData_3"), [""; 0]);
        assert_eq!(within(&[], "x"), [""; 0]);
    }

    #[test]
    fn an_operator_of_another_name_may_be_any_node_but_those_of_other_types_that_are_never_fused() {
        let names =
            NodeNames::of([("bn", "BatchNormalization"), ("shape", "Shape"), ("cut", "Slice")].into_iter());
        let mut unexplained = Unexplained::default();
        unexplained.enter("ReorderInput");
        assert!(!unexplained.may_hide("bn", &names), "a copy between layouts is no node");
        unexplained.enter("StridedSliceD");
        let hidden =
            |unexplained: &Unexplained| ["bn", "shape", "cut"].map(|node| unexplained.may_hide(node, &names));
        assert_eq!(hidden(&unexplained), [false, false, true]);
        unexplained.enter("AutomaticBufferFusionOp");
        assert_eq!(hidden(&unexplained), [true, false, true]);
        unexplained.look_for_range("{ForeignNode[a...b]}");
        assert!(unexplained.may_hide("shape", &names));
    }
}
