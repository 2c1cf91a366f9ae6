//! What opscope's own rewrites do to the model that advice is about.
//!
//! The rewrites are another part of the program, which this one doesn't know: whoever asks for advice
//! runs them and hands in what they did. So what is claimed here is what they do.

use serde::Serialize;

use crate::claim::{Means, Places};
use crate::finding::Outcome;
use crate::rule::Rule;
use crate::subject::{Subject, Target};

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
    /// The nodes that it moves at each place where it takes none away.
    #[serde(skip)]
    pub moves: Vec<Vec<(String, String)>>,
    /// The types of the operators that it puts in their place.
    #[serde(skip)]
    pub makes: Vec<String>,
}

/// Whether opscope does what a rule advises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// These rewrites do.
    Rewrites(Vec<Ability>),
    /// The rule's rewrites find no place where all of their conditions hold.
    Nowhere(String),
    /// All that the rule's rewrites make are operators that the target lacks, such as these.
    Unsuitable(String),
}

impl Does {
    /// What the rewrites that a rule names do; `None` where it names none. Those that make an operator
    /// which the target lacks are no help.
    pub(crate) fn of(rule: &Rule, abilities: &[Ability], target: Target) -> Option<Self> {
        let named = rule.auto.strip_prefix("rewrite ")?.split_whitespace().next()?;
        if !named.starts_with('G') {
            return None;
        }
        let is_named = |ability: &&Ability| named.split(',').any(|name| ability.id.starts_with(name));
        let lacking = |ability: &Ability| ability.makes.iter().find(|op_type| target.lacks(op_type)).cloned();
        let named_ones = || abilities.iter().filter(is_named);
        let found: Vec<Ability> =
            named_ones().filter(|ability| lacking(ability).is_none()).cloned().collect();
        let lacked = named_ones().find_map(lacking).filter(|_| found.is_empty());
        Some(match lacked {
            Some(lacked) => Self::Unsuitable(lacked),
            None if found.is_empty() => Self::Nowhere(named.to_owned()),
            None => Self::Rewrites(found),
        })
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
            Self::Nowhere(_) | Self::Unsuitable(_) => 0,
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
    let is_own = |ability: &&Ability| ability.opset.is_none() && !ability.lossy;
    if !rule.id.starts_with('G') || !abilities.iter().any(|ability| is_own(&ability)) {
        return outcome;
    }
    let mut places = Places::new(subject, Means::Step);
    for ability in abilities.iter().filter(is_own) {
        for (name, op_type) in ability.places.iter().flatten() {
            places.add_named((name, op_type), &[name], format!("{} takes it away", ability.id));
        }
        for nodes in &ability.moves {
            let names: Vec<&str> = nodes.iter().map(|(name, _)| &**name).collect();
            if let Some((name, op_type)) = nodes.last() {
                places.mention_named((name, op_type), &names, format!("{} moves it", ability.id));
            }
        }
    }
    places.outcome()
}
