//! Subgraphs of a model of which engines make one operator: normalisations of layers and GELU, as frameworks export
//! them to operator sets that have neither, and normalisations of sums.

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

/// The same of those that it computes by the hyperbolic tangent.
pub fn tanh_gelus(model: &Model) -> Vec<Vec<&str>> {
    let view = View::new(model);
    view.nodes().filter(|node| node.is("Tanh")).filter_map(|tanh| tanh_gelu_around(view, tanh)).collect()
}

/// Each normalisation of a layer that a model applies to a sum of two computed values, with the addition behind it; in
/// the file's order.
pub fn normalised_sums(model: &Model) -> Vec<Vec<&str>> {
    let view = View::new(model);
    let normalisations = view.nodes().filter(|node| node.is("LayerNormalization"));
    let with_sum = normalisations.filter_map(|node| {
        let sum = view.producer(&node, 0).filter(|sum| sum.is("Add"))?;
        let varies = |input: &ValueId| !view.is_constant(*input);
        (sum.inputs.iter().flatten().filter(|input| varies(input)).count() == 2)
            .then(|| vec![node.name, sum.name])
    });
    with_sum.collect()
}

/// The addition of a bias, for each channel, to one of the values that an addition adds, which nothing else reads.
pub fn bias_of_sum<'m>(model: &'m Model, sum: &str) -> Option<&'m str> {
    let view = View::new(model);
    let sum = model.graph().node_by_name(sum)?;
    (0..2).find_map(|input| {
        let addition = view.producer(&sum, input).filter(|before| before.is("Add"))?;
        let value = varying_input(view, &addition)?;
        let bias = addition.inputs.iter().flatten().find(|input| **input != value).copied()?;
        let is_bias = view.dims(bias).is_some_and(|dims| dims.len() == 1);
        (is_bias && only_reader(view, &addition).is_some()).then_some(addition.name)
    })
}

/// x ÷ √2 → erf → + 1 → × x → × ½.
fn gelu_around<'m>(view: View<'m>, erf: Node<'m>) -> Option<Vec<&'m str>> {
    let scaled = view.producer(&erf, 0).filter(|node| node.is("Div") || node.is("Mul"))?;
    let from = varying_input(view, &scaled)?;
    named_with(view, erf, from, &[scaled])
}

/// √(2/π) · (x + 0.044715 · x³) → tanh → + 1 → × x → × ½, where the power may be two products.
fn tanh_gelu_around<'m>(view: View<'m>, tanh: Node<'m>) -> Option<Vec<&'m str>> {
    let scaled = view.producer(&tanh, 0).filter(|node| node.is("Mul"))?;
    let sum = view.producer_of(varying_input(view, &scaled)?).filter(|node| node.is("Add"))?;
    let (x, cubic) = [(0, 1), (1, 0)].into_iter().find_map(|(x, cubic)| {
        let (x, cubic) = (sum.input(x)?, view.producer(&sum, cubic)?);
        let power = view.producer_of(varying_input(view, &cubic).filter(|_| cubic.is("Mul"))?)?;
        Some((x, [&[cubic][..], &cube_of(view, power, x)?].concat()))
    })?;
    named_with(view, tanh, x, &[&[scaled, sum][..], &cubic].concat())
}

/// The nodes that compute the third power of a value.
fn cube_of<'m>(view: View<'m>, power: Node<'m>, x: ValueId) -> Option<Vec<Node<'m>>> {
    let is_of_x = |node: &Node<'_>| node.input(0) == Some(x);
    if power.is("Pow") {
        return is_of_x(&power).then(|| vec![power]);
    }
    let is_product = power.is("Mul") && power.inputs.contains(&Some(x));
    let other = power.inputs.iter().flatten().find(|input| **input != x).copied();
    let square = view.producer_of(other.filter(|_| is_product)?)?;
    let is_square = square.is("Mul") && square.input(1) == Some(x) || square.is("Pow");
    (is_square && is_of_x(&square)).then(|| vec![power, square])
}

/// The names of the nodes of a GELU, the last one first: those behind its erf or tanh, that one, those before it, and the
/// product with a half if x was halved before.
fn named_with<'m>(view: View<'m>, bend: Node<'m>, x: ValueId, before: &[Node<'m>]) -> Option<Vec<&'m str>> {
    let plus_one = only_reader(view, &bend).filter(|node| node.is("Add"))?;
    varying_input(view, &plus_one)?;
    let first = only_reader(view, &plus_one).filter(|node| node.is("Mul"))?;
    let with = other_input(&first, &plus_one)?;
    let (behind, half) = if with == x || view.is_constant(with) {
        let last = only_reader(view, &first).filter(|node| node.is("Mul"))?;
        let other = other_input(&last, &first)?;
        let is_whole = if with == x { view.is_constant(other) } else { other == x };
        is_whole.then(|| (vec![last, first, plus_one], None))?
    } else {
        let half = view.producer_of(with).filter(|node| node.is("Mul"))?;
        (varying_input(view, &half)? == x).then(|| (vec![first, plus_one], Some(half)))?
    };
    let nodes = behind.iter().chain([&bend]).chain(before).chain(&half);
    Some(nodes.map(|node| node.name).collect())
}

/// The input of a node that another one doesn't compute.
fn other_input(node: &Node<'_>, before: &Node<'_>) -> Option<ValueId> {
    node.inputs.iter().flatten().find(|input| before.output(0) != Some(**input)).copied()
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
    fn a_gelu_by_the_hyperbolic_tangent_is_all_that_computes_it() {
        let model = graph(&[
            "Pow x,T:1 -> a",
            "Mul a,K:1 -> b",
            "Add x,b -> c",
            "Mul c,R:1 -> d",
            "Tanh d -> e",
            "Add e,O:1 -> f",
            "Mul x,H:1 -> h",
            "Mul h,f -> y",
            // The power as products, and the half behind the sum.
            "Mul y,y -> i",
            "Mul y,i -> j",
            "Mul j,K:1 -> k",
            "Add k,y -> l",
            "Mul l,R:1 -> m",
            "Tanh m -> n",
            "Add n,O:1 -> o",
            "Mul o,H:1 -> p",
            "Mul y,p -> z",
            "Tanh z -> w",
        ]);
        let first = ["Mul_y", "Add_f", "Tanh_e", "Mul_d", "Add_c", "Mul_b", "Pow_a", "Mul_h"];
        let second = ["Mul_z", "Mul_p", "Add_o", "Tanh_n", "Mul_m", "Add_l", "Mul_k", "Mul_j", "Mul_i"];
        assert_eq!(tanh_gelus(&model), [&first[..], &second]);
        assert_eq!(gelus(&model), [[""; 0]; 0]);
        let other = ["Pow x,T:1 -> a", "Mul a,K:1 -> b", "Add r,b -> c", "Mul c,R:1 -> d", "Tanh d -> e"];
        let behind = ["Add e,O:1 -> f", "Mul x,f -> g", "Mul g,H:1 -> y"];
        let of_another_value = graph(&[&["Relu x -> r"], &other[..], &behind].concat());
        assert_eq!(tanh_gelus(&of_another_value), [[""; 0]; 0]);
    }

    #[test]
    fn a_normalised_sum_is_one_of_two_computed_values() {
        let model = graph(&[
            "Relu x -> r",
            "Add x,r -> a",
            "LayerNormalization a,S:8,B:8 -> n",
            "Add n,B:8 -> b",
            "LayerNormalization b,S:8,B:8 -> m",
            "LayerNormalization m,S:8,B:8 -> y",
        ]);
        assert_eq!(normalised_sums(&model), [["LayerNormalization_n", "Add_a"]]);
    }

    #[test]
    fn the_bias_of_a_sum_is_added_to_one_of_its_values_for_it_alone() {
        let model = graph(&[
            "Relu x -> r",
            "Add r,B:8 -> b",
            "Add x,b -> first",
            "Add B:8,first -> c",
            "Add c,x -> second",
            "Add c,S:4x8 -> d",
            "Add d,x -> third",
            "Add x,r -> fourth",
        ]);
        let bias = |sum: &str| bias_of_sum(&model, &format!("Add_{sum}"));
        assert_eq!(bias("first"), Some("Add_b"));
        assert_eq!(
            [bias("second"), bias("third"), bias("fourth")],
            [None; 3],
            "read twice, of two dimensions, none"
        );
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
