//! Asking every node of a model a question.

use opscope_model::Node;

use crate::condition::Means;
use crate::graph::View;
use crate::outcome::Outcome;
use crate::places::Places;
use crate::subject::Subject;

/// Asks every node; the detail makes it a place that the rule speaks of.
pub(super) fn each_node(
    subject: &Subject<'_>,
    detail: impl Fn(View<'_>, &Node<'_>) -> Option<String>,
) -> Outcome {
    places(subject, Means::Step, |view, node| Some((detail(view, node)?, Vec::new())))
        .map_or_else(missing, Places::outcome)
}

/// The same where the matter is how a node is formed, whatever it was fused with.
pub(super) fn each_form(
    subject: &Subject<'_>,
    detail: impl Fn(View<'_>, &Node<'_>) -> Option<String>,
) -> Outcome {
    places(subject, Means::Form, |view, node| Some((detail(view, node)?, Vec::new())))
        .map_or_else(missing, Places::outcome)
}

/// The same where nobody knows how much of the nodes' time it could save.
pub(super) fn form_without_savings(
    subject: &Subject<'_>,
    detail: impl Fn(View<'_>, &Node<'_>) -> Option<String>,
) -> Outcome {
    places(subject, Means::Form, |view, node| Some((detail(view, node)?, Vec::new())))
        .map_or_else(missing, Places::without_savings)
}

/// The answer where there is no model to ask.
pub(super) fn missing() -> Outcome {
    Outcome::Missing("the model (--model)".to_owned())
}

/// The places that a question finds in the model; `None` without one. With the detail, a place names the
/// other nodes that belong to it.
pub(super) fn places<'s, 'm>(
    subject: &'s Subject<'m>,
    means: Means,
    detail: impl Fn(View<'m>, &Node<'_>) -> Option<(String, Vec<Node<'m>>)>,
) -> Option<Places<'s, 'm>> {
    let view = View::new(subject.model?);
    let mut places = Places::new(subject, means);
    for node in view.nodes() {
        if let Some((detail, others)) = detail(view, &node) {
            places.add(&node, &others, detail);
        }
    }
    Some(places)
}
