//! Rules about graphs whose patterns are those of rewrites: they hold where the rewrites apply.

use std::collections::HashSet;

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
    let mut known = HashSet::new();
    for place in proposed(found).iter().flat_map(|matches| &matches.places) {
        if !place.is_of_constants() && !place.nodes.is_empty() && is_of_file(model, place) {
            known.extend(place.nodes.iter().map(|node| node.name.clone()));
            add(&mut places, place, condition);
        }
    }
    add_pairs_of_file(model, rule, &known, &mut places);
    Some(places)
}

/// Whether a place is one of the file's own: not one that is there for an operator only that the reader put in between,
/// nor a transposition that does nothing because the reader holds its input in the other order already.
fn is_of_file(model: &Model, place: &Place) -> bool {
    let has_helpers = place.nodes.iter().any(|node| model.is_helper(&node.name));
    let is_folded =
        |node: Node<'_>| node.is("Transpose") && permutation(&node).is_some_and(|axes| axes.is_sorted());
    // Of TensorFlow Lite, a transposition and the reader's own order are one.
    let does_nothing = model.kind() == ModelKind::TfLite
        && place.nodes.len() == 1
        && model.graph().node_by_name(&place.at.name).is_some_and(is_folded);
    !(has_helpers || does_nothing)
}

/// The order in which a transposition takes axes, where it states one.
fn permutation(node: &Node<'_>) -> Option<Vec<usize>> {
    node.attributes.ints("perm")?.iter().map(|&axis| usize::try_from(axis).ok()).collect()
}

/// Adds transpositions of the file that undo one another, between which and others a reader put its own: the rewrites
/// take each of them for the partner of one of these.
fn add_pairs_of_file(model: &Model, rule: &Rule, known: &HashSet<String>, places: &mut Places<'_, '_>) {
    if rule.id != "G15" || model.provenance().helpers.is_empty() {
        return;
    }
    let view = View::new(model);
    let is_own = |node: &Node<'_>| node.is("Transpose") && !model.is_helper(node.name);
    for outer in view.nodes().filter(|node| is_own(node) && !known.contains(node.name)) {
        let Some(inner) = view.producer(&outer, 0).filter(is_own) else { continue };
        let Some((first, then)) = permutation(&inner).zip(permutation(&outer)) else { continue };
        let both: Option<Vec<usize>> = then.iter().map(|&axis| first.get(axis).copied()).collect();
        if first.len() == then.len() && both.is_some_and(|axes| axes.is_sorted()) {
            let is_only_reader = view.readers(&inner).len() == 1;
            let gone = [inner.name, outer.name];
            let changes = gone.map(str::to_owned).to_vec();
            let claimed = if is_only_reader { &gone[..] } else { &gone[1..] };
            places.add_changed((outer.name, outer.op_type), claimed, changes, format!("with {}", inner.name));
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
