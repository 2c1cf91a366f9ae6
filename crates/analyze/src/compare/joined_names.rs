//! Names of TensorFlow Lite's operators, which its converter joins of those of the nodes that it made one operator of,
//! by semicolons (`GetNameFromLoc` of TensorFlow): `a/Relu;a/BiasAdd;a/Conv2D`.
//!
//! Nodes that had an equal constant are parted no more: each operator that reads it has the names of the others' nodes
//! among its own.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// By a name, the nodes that it is joined of and that are its operator's own. A node that several operators name is of
/// the one that names fewest, and of none where there are several such.
pub fn nodes_joined<'n>(names: impl IntoIterator<Item = &'n str>) -> HashMap<&'n str, Vec<&'n str>> {
    let mut joined: HashMap<&str, Vec<&str>> = HashMap::new();
    for name in names {
        joined.entry(name).or_insert_with(|| nodes_in(name));
    }
    // By a node, how many an operator names that names fewest, and how many such operators there are.
    let mut fewest: HashMap<&str, (usize, usize)> = HashMap::new();
    for nodes in joined.values() {
        for &node in nodes {
            let known = fewest.entry(node).or_insert((usize::MAX, 0));
            match nodes.len().cmp(&known.0) {
                Ordering::Less => *known = (nodes.len(), 1),
                Ordering::Equal => known.1 += 1,
                Ordering::Greater => {}
            }
        }
    }
    for nodes in joined.values_mut() {
        let is_owner = (nodes.len(), 1);
        nodes.retain(|node| fewest[node] == is_owner);
    }
    joined
}

/// The nodes that a name is joined of, each once.
fn nodes_in(name: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    name.split(';').map(str::trim).filter(|node| !node.is_empty() && seen.insert(*node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_several_operators_name_is_of_the_one_that_names_fewest() {
        let first = "net/stem/Relu6;net/stem_bn/FusedBatchNorm;net/deep/depthwise;net/stem/Conv2D";
        let deep = "net/deep/Relu6;net/deep/depthwise";
        let joined = nodes_joined([first, deep, "net/mean", first]);
        assert_eq!(joined[first], ["net/stem/Relu6", "net/stem_bn/FusedBatchNorm", "net/stem/Conv2D"]);
        assert_eq!(joined[deep], ["net/deep/Relu6", "net/deep/depthwise"]);
        assert_eq!(joined["net/mean"], ["net/mean"]);
    }

    #[test]
    fn a_node_that_two_operators_name_among_as_many_is_of_neither() {
        let joined = nodes_joined(["a;shared", "b; shared ;", "c;c"]);
        for (name, node) in [("a;shared", "a"), ("b; shared ;", "b"), ("c;c", "c")] {
            assert_eq!(joined[name], [node]);
        }
    }
}
