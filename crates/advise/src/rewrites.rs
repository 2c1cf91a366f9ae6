//! Where opscope's own rewrites apply to the model that advice is about.

use std::sync::Arc;

use opscope_model::Model;
use opscope_rewrite::{ALL, Matches, Rewrite, Survey};

use crate::target::Target;

/// The rewrites, with the places at which each applies.
#[derive(Debug)]
pub(crate) struct Rewrites<'m> {
    survey: Survey<'m>,
    matches: Vec<Arc<Matches>>,
}

/// Whether opscope does what a rule advises.
#[derive(Clone, Debug)]
pub enum Does {
    /// These rewrites do.
    Rewrites(Vec<Arc<Matches>>),
    /// The rule's rewrites find no place where all of their conditions hold.
    Nowhere(String),
    /// The rule's rewrites find places, but change none of the operators that the finding names.
    Elsewhere(String),
    /// All that the rule's rewrites make are operators that the target lacks, such as these.
    Unsuitable(String),
    /// The model is of another format than ONNX, the only one that is rewritten.
    OtherFormat,
}

/// The ids and groups of rewrites, with commas between them, that the words of
/// [`Rule::auto`](crate::Rule::auto) name.
pub(crate) fn named(auto: &str) -> Option<&str> {
    let ids = auto.strip_prefix("rewrite ")?.split_whitespace().next()?;
    ids.starts_with('G').then_some(ids)
}

fn is_named(ids: &str, id: &str) -> bool {
    ids.split(',').any(|name| id.starts_with(name))
}

/// The sizes from which the rewrites of these ids pay, by their names.
pub(crate) fn limits(ids: &str) -> impl Iterator<Item = (&'static str, u64)> {
    let named = ALL.iter().filter(move |rewrite| is_named(ids, rewrite.info().id));
    named.filter_map(|rewrite| rewrite.limit()).map(|limit| (limit.name, limit.value))
}

impl<'m> Rewrites<'m> {
    /// Asks all rewrites about a model; `None` where its graph isn't sound.
    pub fn of(model: &'m Model) -> Option<Self> {
        let survey = Survey::of(model).ok()?;
        let matches = ALL.iter().map(|rewrite| Arc::new(survey.ask(*rewrite))).collect();
        Some(Self { survey, matches })
    }

    /// Where the rewrites of these ids apply, with other limits than their own where some are given.
    pub fn matches(&self, ids: &str, limit: impl Fn(&str) -> Option<f64>) -> Vec<Arc<Matches>> {
        let known = ALL.iter().zip(&self.matches);
        let each = known.filter(|(rewrite, _)| is_named(ids, rewrite.info().id)).map(|(rewrite, known)| {
            match other_limit(*rewrite, &limit) {
                Some(other) => Arc::new(self.survey.ask(&*other)),
                None => Arc::clone(known),
            }
        });
        each.filter(|matches| !matches.places.is_empty()).collect()
    }

    /// Says what the rewrites that a rule names do; `None` where it names none. Rewrites that make an
    /// operator which the target lacks, or that were measured to make it slower, are no help.
    pub fn does(&self, auto: &str, target: Target) -> Option<Does> {
        let ids = named(auto)?;
        let matches =
            self.matches(ids, |_| None).into_iter().filter(|it| !target.is_slower_with(it.rewrite.id));
        let (found, lacking): (Vec<_>, Vec<_>) = matches.partition(|it| lacked(it, target).is_none());
        let lacked = lacking.first().and_then(|matches| lacked(matches, target));
        Some(match lacked.filter(|_| found.is_empty()) {
            Some(lacked) => Does::Unsuitable(lacked.to_owned()),
            None if found.is_empty() => Does::Nowhere(ids.to_owned()),
            None => Does::Rewrites(found),
        })
    }
}

/// The same rewrite with the limit that is given, where that isn't its own.
fn other_limit(rewrite: &dyn Rewrite, given: impl Fn(&str) -> Option<f64>) -> Option<Box<dyn Rewrite>> {
    let own = rewrite.limit()?;
    let given = given(own.name)?.max(0.0) as u64;
    if given == own.value { None } else { rewrite.with_limit(given) }
}

/// The operator that a rewrite makes and the target lacks.
pub(crate) fn lacked(matches: &Matches, target: Target) -> Option<&str> {
    let mut made = matches.places.iter().flat_map(|place| &place.made);
    made.find(|op_type| target.lacks(op_type)).map(String::as_str)
}

/// The matches that are proposed: where some keep the results, those alone.
pub(crate) fn proposed(matches: Vec<Arc<Matches>>) -> Vec<Arc<Matches>> {
    let exact: Vec<_> = matches.iter().filter(|matches| !matches.lossy).cloned().collect();
    if exact.is_empty() { matches } else { exact }
}

impl Does {
    /// The options that make `opscope rewrite` do it.
    pub fn options(&self) -> Option<String> {
        let Self::Rewrites(matches) = self else { return None };
        let chosen = proposed(matches.clone());
        let ids: Vec<&str> = chosen.iter().map(|matches| matches.rewrite.id).collect();
        let mut options = format!("--only {}", ids.join(","));
        if let Some(opset) = chosen.iter().filter_map(|matches| matches.opset).max() {
            options.push_str(&format!(" --opset {opset}"));
        }
        if chosen.iter().any(|matches| matches.lossy) {
            options.push_str(" --allow-lossy");
        }
        Some(options)
    }
}
