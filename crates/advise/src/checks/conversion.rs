//! Conditions about the conversion of a model for a board.

use std::sync::LazyLock;

use opscope_model::{ModelKind, Node};
use serde::Deserialize;

use super::nodes::each_node;
use crate::claim::Claims;
use crate::condition::Means;
use crate::graph::{Folded, View};
use crate::outcome::{Causes, Found, Outcome};
use crate::places::Places;
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("V06", batch_mode),
    ("V07", softmax),
    ("V08", one_by_one),
    ("V13", precheck),
    ("V20", leaves_the_engine),
];

fn batch_mode(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(options) = subject.converter else {
        return Outcome::Missing("the converter's command (--converter)".to_owned());
    };
    if !matches!(options.get("batch_num"), Some("0" | "1")) {
        return Outcome::Silent;
    }
    each_node(subject, |_, node| {
        let dense = ["Gemm", "LSTM", "RNN", "GRU"].iter().any(|name| node.is(name));
        dense.then(|| "faster in batch mode".to_owned())
    })
}

fn precheck(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(options) = subject.converter else {
        return Outcome::Missing("the converter's command (--converter)".to_owned());
    };
    if options.get("is_precheck") == Some("1") || options.get("mode") == Some("3") {
        return Outcome::Silent;
    }
    Found::note("the command converts at once".to_owned())
}

fn softmax(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    if subject
        .converter
        .and_then(|options| options.get("softmax_optimize_enable"))
        .is_some_and(|it| it != "0")
    {
        return Outcome::Silent;
    }
    let of_softmax = subject.kernels.of_kinds(|kind| {
        let mut types = subject.executions.types(kind.executed);
        types.all(|op_type| op_type.to_ascii_lowercase().contains("softmax"))
    });
    let time: f64 = of_softmax.clone().map(|kernel| kernel.time).sum();
    if time <= rule.limit("share_above") * subject.total.0 as f64 * subject.iterations as f64 {
        return Outcome::Silent;
    }
    // Two to four times as fast.
    let mut claims = Claims::default();
    of_softmax.for_each(|kernel| claims.claim(subject, kernel, "", 0.75));
    Causes::one(claims)
}

fn one_by_one(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let (Some(model), Some(shapes)) = (subject.model, subject.shapes) else {
        return Outcome::Missing("the model with known shapes (--model)".to_owned());
    };
    let batch =
        model.graph().inputs().iter().filter_map(|id| shapes.get(*id)?.dims.first().copied().flatten()).max();
    let is_on = subject.converter.and_then(|options| options.get("n_loop_enable")) == Some("1");
    match batch.filter(|batch| *batch > 1 && !is_on) {
        Some(batch) => Found::note(format!("the batch is {batch}")),
        None => Outcome::Silent,
    }
}

/// The operators of boards, by what runs them: the facts in `rules/board_operators.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoardOperators {
    engine: Vec<String>,
    processor: Vec<String>,
}

/// The file is part of the program; a test reads it.
static BOARD: LazyLock<BoardOperators> =
    LazyLock::new(|| toml::from_str(include_str!("../rules/board_operators.toml")).unwrap_or_default());

/// Whether an operator is in the published list of the engine, or in that of the general processor
/// only; `None` if it is in neither.
pub(super) fn is_for_the_engine(op_type: &str) -> Option<bool> {
    let among = |list: &[String]| list.iter().any(|known| known == op_type);
    among(&BOARD.engine).then_some(true).or_else(|| among(&BOARD.processor).then_some(false))
}

fn leaves_the_engine(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(model) = subject.model else { return Outcome::Missing("the model (--model)".to_owned()) };
    let mut places = Places::new(subject, Means::Step);
    let view = View::new(model);
    let folded = Folded::of(view);
    // Weights of a smaller type are brought to another one when the model is converted, and all that is computed of
    // weights alone is computed then.
    let is_of_weights = |node: &Node<'_>| {
        let mut inputs = node.inputs.iter().flatten().peekable();
        folded.has(node) || inputs.peek().is_some() && inputs.all(|input| view.is_constant(*input))
    };
    // The lists are of ONNX's operators. A layer that a reader leaves under its own format's name is none of them, and
    // whether the converter takes it isn't known.
    let is_listed = |node: &Node<'_>| model.kind() == ModelKind::Onnx || node.domain.is_empty();
    for node in view.nodes().filter(|node| is_listed(node) && !is_of_weights(node)) {
        let wide = |limit: usize| {
            let shapes = subject.shapes.and_then(|shapes| shapes.get(node.input(0)?));
            shapes.is_some_and(|shape| shape.dims.len() > limit)
        };
        let detail = match is_for_the_engine(node.op_type) {
            _ if node.is("MatMul") && wide(4) => "of more than four dimensions: runs on the AA CPU",
            _ if node.is("Transpose") && node.attributes.ints("perm") == Some(&[0, 3, 2, 1]) => {
                "permutation 0321: runs on the AA CPU"
            }
            Some(true) => continue,
            Some(false) => "runs on the AA CPU and splits the network",
            None => "in neither list: the conversion may fail",
        };
        places.add(&node, &[], detail.to_owned());
    }
    places.outcome()
}

#[cfg(test)]
mod tests {
    use opscope_model::Model;

    use super::*;
    use crate::advise;
    use crate::settings::Settings;
    use crate::target::Target;
    use crate::testing::graph;

    #[test]
    fn the_lists_of_the_boards_operators_can_be_read() {
        let lists: BoardOperators = toml::from_str(include_str!("../rules/board_operators.toml")).unwrap();
        assert!(lists.engine.len() > 80 && lists.processor.len() > 40);
        assert_eq!(["Conv", "Softplus", "Mystery"].map(is_for_the_engine), [Some(true), Some(false), None]);
    }

    #[test]
    fn layers_under_their_own_formats_names_are_not_looked_for_in_lists_of_onnx() {
        let network = "layer { name: 'data' type: 'Data' top: 'data' }
            layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
                convolution_param { num_output: 8 kernel_size: 3 } }
            layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param { kernel_size: 2 } }";
        let caffe = Model::from_any_bytes(network.as_bytes().to_vec().into()).unwrap();
        assert!(caffe.graph().nodes().any(|node| node.op_type == "Convolution"), "its sizes aren't known");
        let onnx = graph(&["Mystery x -> y"]);
        let names = |model: &Model| {
            let subject = Subject::new(None, Some(model), Some(Target::Svp));
            let report = advise(&subject, &Settings::default());
            let found = report.findings.into_iter().filter(|finding| finding.rule.id == "V20");
            found.flat_map(|finding| finding.evidence).map(|item| item.op_type).collect::<Vec<_>>()
        };
        assert!(names(&caffe).is_empty());
        assert_eq!(names(&onnx), ["Mystery"]);
    }
}
