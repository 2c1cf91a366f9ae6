//! What opscope's own rewrites do to the model that advice is about.
//!
//! The rewrites are another part of the program, which this one doesn't know: whoever asks for advice
//! runs them and hands in what they did. So what is claimed here is what they do.

use serde::Serialize;

use crate::finding::{Evidence, Found, Outcome};
use crate::rule::Rule;
use crate::subject::Subject;

/// A rewrite that finds something in the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ability {
    /// Its id, such as `G05a`.
    pub id: String,
    /// Whether it changes what the model computes, so that it must be allowed.
    pub lossy: bool,
    /// The version that ONNX's operators have to be raised to for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opset: Option<i64>,
    /// The nodes that it takes away at each place, by name and type.
    #[serde(skip)]
    pub places: Vec<Vec<(String, String)>>,
}

/// Whether opscope does what a rule advises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// These rewrites do.
    Rewrites(Vec<Ability>),
    /// The rule's rewrites find no place where all of their conditions hold.
    Nowhere(String),
}

impl Does {
    /// What the rewrites that a rule names do; `None` where it names none.
    pub(crate) fn of(rule: &Rule, abilities: &[Ability]) -> Option<Self> {
        let named = rule.auto.strip_prefix("rewrite ")?.split_whitespace().next()?;
        if !named.starts_with('G') {
            return None;
        }
        let is_named = |ability: &&Ability| named.split(',').any(|name| ability.id.starts_with(name));
        let found: Vec<Ability> = abilities.iter().filter(is_named).cloned().collect();
        Some(if found.is_empty() { Self::Nowhere(named.to_owned()) } else { Self::Rewrites(found) })
    }

    /// The options that make `opscope rewrite` do it.
    pub fn options(&self) -> Option<String> {
        let Self::Rewrites(abilities) = self else { return None };
        // What needn't be allowed is proposed alone, if there is such.
        let exact: Vec<&Ability> = abilities.iter().filter(|ability| !ability.lossy).collect();
        let chosen: Vec<&Ability> = if exact.is_empty() { abilities.iter().collect() } else { exact };
        let ids: Vec<&str> = chosen.iter().map(|ability| &*ability.id).collect();
        let mut options = format!("--only {}", ids.join(","));
        if let Some(opset) = chosen.iter().filter_map(|ability| ability.opset).max() {
            options.push_str(&format!(" --opset {opset}"));
        }
        if chosen.iter().any(|ability| ability.lossy) {
            options.push_str(" --allow-lossy");
        }
        Some(options)
    }

    /// At how many places.
    pub fn places(&self) -> usize {
        match self {
            Self::Rewrites(abilities) => abilities.iter().map(|ability| ability.places.len()).sum(),
            Self::Nowhere(_) => 0,
        }
    }
}

/// A rule about the graph that is silent where its rewrite finds something speaks with what that finds.
pub(crate) fn or_what_rewrites_find(
    subject: &Subject<'_>,
    rule: &Rule,
    outcome: Outcome,
    does: Option<&Does>,
) -> Outcome {
    let (Outcome::Silent | Outcome::Missing(_), Some(Does::Rewrites(abilities))) = (&outcome, does) else {
        return outcome;
    };
    let is_own = |ability: &Ability| ability.opset.is_none() && !ability.lossy;
    if !rule.id.starts_with('G') || !abilities.iter().any(is_own) {
        return outcome;
    }
    let places = abilities.iter().filter(|ability| is_own(ability)).flat_map(|ability| {
        ability.places.iter().flatten().map(|(name, op_type)| Evidence {
            name: name.clone(),
            op_type: op_type.clone(),
            time: subject.node_time(name),
            detail: format!("{} takes it away", ability.id),
        })
    });
    let evidence: Vec<Evidence> = places.collect();
    let saves = evidence.iter().filter_map(|item| item.time).reduce(|a, b| a + b);
    Outcome::Found(Found { evidence, saves, note: None })
}
