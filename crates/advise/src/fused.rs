//! Subgraphs of a model of which engines make one operator: normalisations of layers and GELU, as frameworks export
//! them to operator sets that have neither.

use opscope_model::{Model, Node, ValueId};

use crate::graph::View;

/// Nodes that are looked at for one operator: those of a normalisation are ten.
const LOOKED_AT: usize = 16;

/// Inputs of a node that are looked at; those of hostile files may have any number.
const MOST_INPUTS: usize = 4;

/// The nodes of each GELU that a model computes by the error function, the last one first; in the file's order.
pub fn gelus(model: &Model) -> Vec<Vec<&str>> {
    let view = View::new(model);
    view.nodes().filter(|node| node.is("Erf")).filter_map(|erf| gelu_around(view, erf)).collect()
}

/// x ÷ √2 → erf → + 1 → × x → × ½, where the half may be multiplied with x before.
fn gelu_around<'m>(view: View<'m>, erf: Node<'m>) -> Option<Vec<&'m str>> {
    let scaled = view.producer(&erf, 0).filter(|node| node.is("Div") || node.is("Mul"))?;
    let from = varying_input(view, &scaled)?;
    let plus_one = only_reader(view, &erf).filter(|node| node.is("Add"))?;
    varying_input(view, &plus_one)?;
    let product = only_reader(view, &plus_one).filter(|node| node.is("Mul"))?;
    let other = product.inputs.iter().flatten().find(|input| plus_one.output(0) != Some(**input)).copied()?;
    let nodes = if other == from {
        let half = only_reader(view, &product).filter(|node| node.is("Mul"))?;
        varying_input(view, &half)?;
        [half, product, plus_one, erf, scaled]
    } else {
        let half = view.producer_of(other).filter(|node| node.is("Mul"))?;
        (varying_input(view, &half)? == from).then_some([product, plus_one, erf, scaled, half])?
    };
    Some(nodes.iter().map(|node| node.name).collect())
}

/// The nodes of the normalisation of a layer of which one is the product with the scale, the last one first: back to
/// the means that are taken off, and the addition of the bias behind it. None where they aren't such a normalisation.
pub(crate) fn normalisation_around<'m>(view: View<'m>, scale: Node<'m>) -> Vec<Node<'m>> {
    /// Nodes that lead back to where the mean is taken off; their constants are scales, exponents and the epsilon.
    const WITHIN: [&str; 8] = ["Add", "Cast", "Div", "Mul", "Pow", "Reciprocal", "ReduceMean", "Sqrt"];
    let mut nodes: Vec<Node<'m>> = Vec::new();
    let mut left = vec![scale];
    let mut has_mean = false;
    while let Some(node) = left.pop() {
        if nodes.iter().any(|known| known.id == node.id) {
            continue;
        }
        if nodes.len() == LOOKED_AT || node.inputs.len() > MOST_INPUTS {
            return Vec::new();
        }
        nodes.push(node);
        if node.is("Sub") {
            let mean = view.producer(&node, 1).filter(|mean| mean.is("ReduceMean"));
            let Some(mean) = mean.filter(|mean| mean.input(0) == node.input(0)) else { return Vec::new() };
            has_mean = true;
            if nodes.iter().all(|known| known.id != mean.id) {
                nodes.push(mean);
            }
        } else if WITHIN.iter().any(|op_type| node.is(op_type)) {
            let inputs = node.inputs.iter().flatten().filter(|input| !view.is_constant(**input));
            for input in inputs {
                let Some(before) = view.producer_of(*input) else { return Vec::new() };
                left.push(before);
            }
        } else {
            return Vec::new();
        }
    }
    if !has_mean {
        return Vec::new();
    }
    let bias = only_reader(view, &scale).filter(|reader| reader.is("Add"));
    let bias = bias.filter(|reader| varying_input(view, reader).is_some());
    bias.into_iter().chain(nodes).collect()
}

/// The input of a node that isn't constant, where it is the only such one.
fn varying_input(view: View<'_>, node: &Node<'_>) -> Option<ValueId> {
    let mut varying = node.inputs.iter().flatten().filter(|input| !view.is_constant(**input));
    varying.next().filter(|_| node.inputs.len() == 2 && varying.next().is_none()).copied()
}

/// The node that reads the first output of another, where no second one does.
fn only_reader<'m>(view: View<'m>, node: &Node<'m>) -> Option<Node<'m>> {
    let graph = view.model.graph();
    match graph.value(node.output(0)?).consumers {
        [only] => Some(graph.node(*only)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::graph;

    #[test]
    fn a_gelu_is_all_that_computes_it_by_the_error_function() {
        let model = graph(&[
            "Div x,R:1 -> a",
            "Erf a -> b",
            "Add b,O:1 -> c",
            "Mul x,c -> d",
            "Mul d,H:1 -> y",
            "Mul y,R:1 -> e",
            "Erf e -> f",
            "Add f,O:1 -> g",
            "Mul y,H:1 -> h",
            "Mul h,g -> z",
            "Erf z -> w",
        ]);
        let expected =
            [["Mul_y", "Mul_d", "Add_c", "Erf_b", "Div_a"], ["Mul_z", "Add_g", "Erf_f", "Mul_e", "Mul_h"]];
        assert_eq!(gelus(&model), expected);
    }

    #[test]
    fn a_normalisation_is_all_from_its_mean_to_its_bias() {
        let lines = [
            "Relu x -> r",
            "ReduceMean r -> m",
            "Sub r,m -> s",
            "Pow s,T:1 -> p",
            "ReduceMean p -> v",
            "Add v,E:1 -> e",
            "Sqrt e -> q",
            "Div s,q -> d",
            "Mul d,S:8 -> n",
            "Add n,B:8 -> y",
        ];
        let model = graph(&lines);
        let of = |model: &Model| {
            let view = View::new(model);
            let scale = model.graph().node_by_name("Mul_n").unwrap();
            let mut nodes: Vec<String> =
                normalisation_around(view, scale).iter().map(|node| node.name.to_owned()).collect();
            assert!(nodes.first().is_none_or(|first| first == "Add_y"));
            nodes.sort();
            nodes
        };
        let expected =
            ["Add_e", "Add_y", "Div_d", "Mul_n", "Pow_p", "ReduceMean_m", "ReduceMean_v", "Sqrt_q", "Sub_s"];
        assert_eq!(of(&model), expected);
        let mut others = lines;
        others[2] = "Sub x,m -> s";
        assert_eq!(of(&graph(&others)), [""; 0], "the mean is another value's");
    }
}
