//! Rules about graphs whose patterns are those of rewrites: they hold where the rewrites apply.

use std::collections::{HashMap, HashSet};

use opscope_model::{Model, ModelKind, Node};
use opscope_rewrite::{NodeName, Place};

use super::nodes::missing;
use crate::condition::Means;
use crate::condition::{MatchCondition, MatchSaves};
use crate::graph::View;
use crate::outcome::Outcome;
use crate::places::Places;
use crate::rewrites::{lacked, named, proposed};
use crate::rule::Rule;
use crate::subject::Subject;

/// How many of a place's other nodes are named.
const NAMED: usize = 3;

/// Finds where the rewrites of a rule apply.
pub(super) fn check(subject: &Subject<'_>, rule: &Rule, condition: &MatchCondition) -> Outcome {
    places(subject, rule, condition).map_or_else(missing, Places::outcome)
}

/// The places at which the rewrites of a rule apply, make nothing that the target lacks, and weren't measured to
/// make it slower; `None` without a model.
pub(super) fn places<'s, 'm>(
    subject: &'s Subject<'m>,
    rule: &Rule,
    condition: &MatchCondition,
) -> Option<Places<'s, 'm>> {
    let model = subject.model?;
    let mut places = Places::new(subject, condition.means);
    // OpenVINO's convolutions take no bias: the addition behind one is all that it can have.
    if rule.id == "G03" && model.kind() == ModelKind::OpenVino {
        return Some(places);
    }
    add_of_caffe(subject, rule, &mut places);
    let Some((rewrites, ids)) = subject.rewrites.as_ref().zip(named(&rule.auto)) else { return Some(places) };
    let ids = condition.only.as_deref().unwrap_or(ids);
    let mut found = rewrites.matches(ids, |name| rule.limits.get(name).copied());
    let target = subject.target;
    found.retain(|matches| lacked(matches, target).is_none() && !target.is_slower_with(matches.rewrite.id));
    // Where a reader put transpositions in, the rewrites take any other one for the partner of one of those.
    let has_others = rule.id == "G15" && !model.provenance().helpers.is_empty();
    for place in proposed(found).iter().flat_map(|matches| &matches.places) {
        let is_left_out = has_others && place.nodes.iter().all(|node| node.op_type == "Transpose");
        if !place.is_of_constants() && !place.nodes.is_empty() && is_of_file(model, place) && !is_left_out {
            add(&mut places, place, condition);
        }
    }
    if has_others {
        add_transpositions_of_file(model, &mut places);
    }
    Some(places)
}

/// Whether a place is one of the file's own: not one that is there for an operator only that the reader put in between,
/// nor a transposition that does nothing because the reader holds its input in the other order already.
fn is_of_file(model: &Model, place: &Place) -> bool {
    let has_helpers = place.nodes.iter().any(|node| model.is_helper(&node.name));
    // Of TensorFlow Lite, a transposition and the reader's own order are one.
    let does_nothing = model.kind() == ModelKind::TfLite
        && place.nodes.len() == 1
        && model.graph().node_by_name(&place.at.name).is_some_and(|node| keeps_order(&node));
    !(has_helpers || does_nothing)
}

/// Whether a node is a transposition that changes nothing.
fn keeps_order(node: &Node<'_>) -> bool {
    node.is("Transpose") && permutation(node).is_some_and(|axes| axes.is_sorted())
}

/// The order in which a transposition takes axes, where it states one.
fn permutation(node: &Node<'_>) -> Option<Vec<usize>> {
    node.attributes.ints("perm")?.iter().map(|&axis| usize::try_from(axis).ok()).collect()
}

/// The order of axes behind two transpositions in a row; `None` where the second names an axis that isn't there.
fn in_a_row(first: &[usize], then: &[usize]) -> Option<Vec<usize>> {
    then.iter().map(|&axis| first.get(axis).copied()).collect()
}

/// Whether two transpositions in a row give what the first one is given.
fn undo_one_another(first: &Node<'_>, then: &Node<'_>) -> bool {
    permutation(first).zip(permutation(then)).is_some_and(|(first, then)| {
        first.len() == then.len() && in_a_row(&first, &then).is_some_and(|axes| axes.is_sorted())
    })
}

/// Adds transpositions of the file that change nothing, and those that undo one another, none to two pairs: of three in a
/// row two can go, and those around a pair may be one as well. Of those that are left, two in a row can be one.
fn add_transpositions_of_file(model: &Model, places: &mut Places<'_, '_>) {
    let view = View::new(model);
    let is_own = |node: &Node<'_>| node.is("Transpose") && !model.is_helper(node.name);
    let own: Vec<Node<'_>> = view.nodes().filter(is_own).collect();
    let mut is_left: HashSet<&str> = own.iter().map(|node| node.name).collect();
    // By one that goes, the one whose input is read in its place: the first of its pair, or itself.
    let mut instead: HashMap<&str, Node<'_>> = HashMap::new();
    let producer = |instead: &HashMap<&str, Node<'_>>, node: &Node<'_>| {
        let mut before = view.producer(node, 0);
        while let Some(first) = before.and_then(|node| instead.get(node.name)) {
            before = view.producer(first, 0);
        }
        before
    };
    let is_read_once = |node: &Node<'_>| view.readers(node).len() == 1;
    for outer in &own {
        let at = (outer.name, outer.op_type);
        // Of TensorFlow Lite, a transposition and the reader's own order are one.
        if keeps_order(outer) && model.kind() != ModelKind::TfLite {
            is_left.remove(outer.name);
            instead.insert(outer.name, *outer);
            places.add_changed(at, &[outer.name], vec![outer.name.to_owned()], "has no effect".to_owned());
            continue;
        }
        let inner = producer(&instead, outer).filter(|inner| is_left.contains(inner.name));
        let Some(inner) = inner.filter(|inner| undo_one_another(inner, outer)) else { continue };
        let gone = [inner.name, outer.name];
        let claimed = if is_read_once(&inner) { &gone[..] } else { &gone[1..] };
        for name in claimed {
            is_left.remove(name);
        }
        instead.insert(outer.name, inner);
        let changes = gone.map(str::to_owned).to_vec();
        places.add_changed(at, claimed, changes, format!("with {}", inner.name));
    }
    for outer in own.iter().filter(|outer| is_left.contains(outer.name) && !keeps_order(outer)) {
        let inner = producer(&instead, outer).filter(|inner| is_left.contains(inner.name));
        if let Some(inner) = inner.filter(|inner| is_read_once(inner) && !keeps_order(inner)) {
            let changes = vec![inner.name.to_owned(), outer.name.to_owned()];
            let detail = format!("becomes one with {}", inner.name);
            places.add_changed((outer.name, outer.op_type), &[inner.name], changes, detail);
        }
    }
}

/// Adds normalisations of Caffe behind convolutions. Their blobs are constants whether or not the file of weights is
/// there, but the reader has no values of them, without which no rewrite applies.
fn add_of_caffe(subject: &Subject<'_>, rule: &Rule, places: &mut Places<'_, '_>) {
    let Some(model) = subject.model.filter(|model| model.kind() == ModelKind::Caffe && rule.id == "G01")
    else {
        return;
    };
    let view = View::new(model);
    let in_inference = |node: &Node<'_>| node.attributes.int("training_mode").unwrap_or(0) == 0;
    for node in view.nodes().filter(|node| node.is("BatchNormalization") && in_inference(node)) {
        let convolution = view.producer(&node, 0).filter(|before| {
            ["Conv", "ConvTranspose", "Gemm"].iter().any(|op_type| before.is(op_type))
                && view.readers(before).len() == 1
        });
        let Some(convolution) = convolution else { continue };
        let changes = vec![node.name.to_owned(), convolution.name.to_owned()];
        let detail = format!("goes into {}", convolution.name);
        places.add_changed((node.name, node.op_type), &[node.name], changes, detail);
    }
}

fn add(places: &mut Places<'_, '_>, place: &Place, condition: &MatchCondition) {
    let at = (&*place.at.name, &*place.at.op_type);
    let names = |nodes: &[NodeName]| -> Vec<String> { nodes.iter().map(|node| node.name.clone()).collect() };
    let detail = detail(place, condition.means);
    // The time of nodes that stay is no part of what could be saved, but what they were made into tells
    // whether the engine did it already.
    let all = names(&place.nodes);
    let claimed = match condition.saves {
        MatchSaves::Gone if !place.gone.is_empty() => names(&place.gone),
        MatchSaves::Root => vec![place.at.name.clone()],
        MatchSaves::Gone | MatchSaves::Nothing => return places.mention_all(at, &all, detail),
    };
    let claimed: Vec<&str> = claimed.iter().map(String::as_str).collect();
    places.add_changed(at, &claimed, all, detail);
}

/// Describes a place in a few words.
fn detail(place: &Place, means: Means) -> String {
    let made = place.made.join(" and ");
    if means == Means::Pieces && !made.is_empty() {
        return format!("{made} in {} pieces", place.nodes.iter().filter(|node| computes(node)).count());
    }
    if !place.because.is_empty() {
        return place.because.clone();
    }
    let others: Vec<&NodeName> =
        place.nodes.iter().filter(|node| **node != place.at && computes(node)).collect();
    let stays: Vec<&NodeName> = others.iter().copied().filter(|node| !place.gone.contains(node)).collect();
    let goes = place.gone.contains(&place.at);
    match () {
        () if !made.is_empty() && others.is_empty() => format!("becomes {made}"),
        () if !made.is_empty() => format!("becomes {made} with {}", listed(&others)),
        () if goes && !stays.is_empty() => format!("goes into {}", listed(&stays)),
        () if !others.is_empty() => format!("with {}", listed(&others)),
        () if goes => "has no effect".to_owned(),
        () => String::new(),
    }
}

/// Whether a node is more than a constant.
fn computes(node: &NodeName) -> bool {
    node.op_type != "Constant"
}

fn listed(nodes: &[&NodeName]) -> String {
    let mut names: Vec<&str> = nodes.iter().take(NAMED).map(|node| &*node.name).collect();
    let more = format!("{} more", nodes.len().saturating_sub(NAMED));
    if nodes.len() > NAMED {
        names.push(&more);
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise;
    use crate::settings::Settings;

    #[test]
    fn normalisations_of_caffe_behind_convolutions_are_found_without_their_weights() {
        let network = |statistics: &str| {
            format!(
                "input: 'data' input_shape {{ dim: 1 dim: 3 dim: 8 dim: 8 }}
                 layer {{ name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
                    convolution_param {{ num_output: 8 kernel_size: 3 }} }}
                 layer {{ name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'conv'
                    batch_norm_param {{ {statistics} }} }}
                 layer {{ name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv'
                    scale_param {{ bias_term: true }} }}"
            )
        };
        let found = |statistics: &str| {
            let model = Model::from_any_bytes(network(statistics).into_bytes().into()).unwrap();
            let subject = Subject::new(None, Some(&model), None);
            let findings = advise(&subject, &Settings::default()).findings.into_iter();
            let evidence = findings.filter(|finding| finding.rule.id == "G01").flat_map(|it| it.evidence);
            evidence.map(|item| format!("{} {}", item.name, item.detail)).collect::<Vec<_>>()
        };
        assert_eq!(found(""), ["bn goes into conv"]);
        assert_eq!(found("use_global_stats: true"), ["bn goes into conv"]);
        assert_eq!(found("use_global_stats: false"), [""; 0], "it depends on the batch");
    }

    #[test]
    fn sizes_that_only_the_files_own_operators_read_are_no_dead_code() {
        use opscope_testing::tensorflow::{Node, graph};
        let nodes = [
            Node::placeholder("x", &[1, 4, 4, 8]),
            Node::new("shape", "Shape", &["x"]),
            Node::integers("zero", &[0], false),
            Node::integers("one", &[1], false),
            Node::new("batch", "StridedSlice", &["shape", "zero", "one", "one"]).int("shrink_axis_mask", 1),
            Node::integers("size", &[8], true),
            Node::new("sizes", "Pack", &["batch", "size", "size", "size"]),
            Node::integers("axes", &[0, 1, 2, 3], false),
            Node::new("most", "Max", &["x", "axes"]),
            Node::new("only", "Pack", &["most"]),
            Node::constant("filter", &[2, 2, 8, 8], 0.5),
            Node::new("larger", "Conv2DBackpropInput", &["sizes", "filter", "x"])
                .ints("strides", &[1, 2, 2, 1])
                .text("padding", "SAME"),
        ];
        let model = Model::from_any_bytes(graph(&nodes).into()).unwrap();
        let subject = Subject::new(None, Some(&model), None);
        let findings = advise(&subject, &Settings::default()).findings.into_iter();
        let named: Vec<String> = findings
            .filter(|finding| ["G15", "G25"].contains(&&*finding.rule.id))
            .flat_map(|finding| {
                finding.evidence.into_iter().map(|item| format!("{} {}", item.name, item.detail))
            })
            .collect();
        assert_eq!(named, [""; 0]);
    }

    #[test]
    fn a_transposition_of_the_file_is_not_undone_by_one_of_the_reader() {
        use opscope_testing::tensorflow::{Node, graph};
        let order = |name: &str, permutation: &[i32]| Node::integers(name, permutation, false);
        let convolution = |input: &str| {
            Node::new("c", "Conv2D", &[input, "filter"])
                .ints("strides", &[1, 1, 1, 1])
                .text("padding", "SAME")
        };
        let filter = || Node::constant("filter", &[1, 1, 8, 4], 0.5);
        let image = || Node::placeholder("x", &[1, 4, 4, 8]);
        let named = |nodes: &[Node]| -> Vec<String> {
            let model = Model::from_any_bytes(graph(nodes).into()).unwrap();
            let subject = Subject::new(None, Some(&model), None);
            let findings = advise(&subject, &Settings::default()).findings.into_iter();
            let of_rule = findings.filter(|finding| finding.rule.id == "G15");
            of_rule.flat_map(|finding| finding.evidence).map(|item| item.name).collect()
        };
        let first = order("first", &[0, 3, 1, 2]);
        let one = [
            image(),
            filter(),
            convolution("x"),
            first.clone(),
            Node::new("t", "Transpose", &["c", "first"]),
        ];
        assert_eq!(named(&one), [""; 0], "the file has one, which changes the order of what it gives");
        let second = order("second", &[0, 2, 3, 1]);
        let both =
            [Node::new("t", "Transpose", &["x", "first"]), Node::new("b", "Transpose", &["t", "second"])];
        let two =
            [&[image(), filter(), first.clone(), second.clone()], &both[..], &[convolution("b")]].concat();
        assert!(!named(&two).is_empty(), "the file has two that undo one another");
        // Between convolutions each of them has one of the reader's for a neighbour.
        let both =
            [Node::new("t", "Transpose", &["c", "first"]), Node::new("b", "Transpose", &["t", "second"])];
        let between = [&[image(), filter(), convolution("x"), first, second], &both[..]].concat();
        let between = [&between[..], &[Node::new("r", "Relu", &["b"])]].concat();
        assert_eq!(named(&between), ["b"]);
        let none = [image(), order("same", &[0, 1, 2, 3]), Node::new("n", "Transpose", &["x", "same"])];
        assert_eq!(named(&[&none[..], &[Node::new("r", "Relu", &["n"])]].concat()), ["n"]);
    }

    #[test]
    fn each_transposition_of_the_file_is_of_one_pair_that_undoes_itself() {
        use opscope_testing::tensorflow::{Node, graph};
        let convolution = |name: &str, input: &str| {
            Node::new(name, "Conv2D", &[input, "filter"])
                .ints("strides", &[1, 1, 1, 1])
                .text("padding", "SAME")
        };
        let base = [
            Node::placeholder("x", &[1, 4, 4, 8]),
            Node::constant("filter", &[1, 1, 8, 8], 0.5),
            Node::integers("first", &[0, 3, 1, 2], false),
            Node::integers("last", &[0, 2, 3, 1], false),
            Node::integers("swap", &[0, 3, 2, 1], false),
            Node::integers("turn", &[0, 1, 3, 2], false),
            Node::integers("same", &[0, 1, 2, 3], false),
            convolution("c", "x"),
        ];
        // Of each transposition the order; the first reads `from`, and each other one the one before.
        let named = |from: &str, orders: &[&str]| -> Vec<String> {
            let mut nodes = base.to_vec();
            let mut before = from.to_owned();
            for (place, order) in orders.iter().enumerate() {
                let name = format!("t{place}");
                nodes.push(Node::new(&name, "Transpose", &[&before, order]));
                before = name;
            }
            nodes.push(convolution("end", &before));
            let model = Model::from_any_bytes(graph(&nodes).into()).unwrap();
            assert!(!model.provenance().helpers.is_empty());
            let subject = Subject::new(None, Some(&model), None);
            let findings = advise(&subject, &Settings::default()).findings.into_iter();
            let evidence = findings.filter(|finding| finding.rule.id == "G15").flat_map(|it| it.evidence);
            evidence.map(|item| format!("{} {}", item.name, item.detail)).collect()
        };
        assert_eq!(named("x", &["first", "last", "first"]), ["t1 with t0"]);
        assert_eq!(named("c", &["last", "first", "last"]), ["t1 with t0"]);
        let mut four = named("c", &["first", "last", "first", "last"]);
        four.sort();
        assert_eq!(four.len(), 2, "{four:?}");
        let mut of_four: Vec<&str> = four.iter().flat_map(|pair| pair.split(" with ")).collect();
        of_four.sort_unstable();
        assert_eq!(of_four, ["t0", "t1", "t2", "t3"]);
        assert_eq!(named("x", &["first", "same", "last"]), ["t1 has no effect", "t2 with t0"]);
        // With the one that the reader has behind the convolution they undo one another; in the file they don't.
        assert_eq!(named("c", &["swap", "turn"]), ["t1 becomes one with t0"]);
    }

    #[test]
    fn an_addition_behind_a_convolution_of_openvino_is_its_bias_and_stays() {
        let layer = |id: usize, op_type: &str, data: &str, inputs: usize, dims: &[u64]| {
            let inputs: String = (0..inputs).map(|port| format!("<port id='{port}'/>")).collect();
            let dims: String = dims.iter().map(|size| format!("<dim>{size}</dim>")).collect();
            format!(
                "<layer id='{id}' name='{op_type}{id}' type='{op_type}' version='opset1'><data {data}/>
                 <input>{inputs}</input><output><port id='9' precision='FP32'>{dims}</port></output></layer>"
            )
        };
        let constant = |shape: &str, offset: usize, size: usize| {
            format!("element_type='f32' shape='{shape}' offset='{offset}' size='{size}'")
        };
        let convolution = "strides='1,1' dilations='1,1' pads_begin='0,0' pads_end='0,0' auto_pad='explicit'";
        let layers = [
            layer(0, "Parameter", "shape='1,3,8,8' element_type='f32'", 0, &[1, 3, 8, 8]),
            layer(1, "Const", &constant("4,3,1,1", 0, 48), 0, &[4, 3, 1, 1]),
            layer(2, "Convolution", convolution, 2, &[1, 4, 8, 8]),
            layer(3, "Const", &constant("1,4,1,1", 48, 16), 0, &[1, 4, 1, 1]),
            layer(4, "Add", "auto_broadcast='numpy'", 2, &[1, 4, 8, 8]),
            layer(5, "Result", "", 1, &[]),
        ];
        let edges = [(0, 2, 0), (1, 2, 1), (2, 4, 0), (3, 4, 1), (4, 5, 0)].map(|(from, to, port)| {
            format!("<edge from-layer='{from}' from-port='9' to-layer='{to}' to-port='{port}'/>")
        });
        let (layers, edges) = (layers.concat(), edges.concat());
        let text =
            format!("<net name='n' version='11'><layers>{layers}</layers><edges>{edges}</edges></net>");
        let folder = std::env::temp_dir().join(format!("opscope-advise-bias-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("n.xml"), text).unwrap();
        std::fs::write(folder.join("n.bin"), [1f32.to_le_bytes(); 16].concat()).unwrap();
        let model = Model::load(folder.join("n.xml")).unwrap();
        let subject = Subject::new(None, Some(&model), None);
        let rewrites = subject.rewrites.as_ref().unwrap();
        assert_eq!(rewrites.matches("G03", |_| None).len(), 1, "as ONNX would have it");
        let findings = advise(&subject, &Settings::default()).findings;
        assert!(findings.iter().all(|finding| finding.rule.id != "G03"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
