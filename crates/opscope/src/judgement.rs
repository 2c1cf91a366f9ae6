//! Whether a change passes: conditions about both sides' times and losses, each with its outcome.

use opscope_say::{say, word};
use opscope_trace::{Nanoseconds, Severity};

use crate::profile::Opened;
use crate::report::compare::mixture;

/// The times of both sides, and the change between them as a part of the baseline, each with its interval
/// where there is one.
pub struct Facts {
    /// The time of an inference before; `None` where only a candidate is known.
    pub before: Option<Nanoseconds>,
    /// The time of an inference now.
    pub after: Nanoseconds,
    /// Whether they are times of inferences; otherwise they are of all that was recorded.
    pub are_inferences: bool,
    /// The change and the interval in which it lies.
    pub change: Option<(f64, Option<(f64, f64)>)>,
    /// The interval of the candidate's time, in milliseconds.
    pub after_interval: Option<(f64, f64)>,
    /// Says that both sides seem to be of different models, if they do.
    pub different_models: Option<String>,
    /// Whether a side has inferences of several networks, whose mean says nothing of any.
    pub are_mixed: bool,
    /// Further lines of the summary.
    pub lines: Vec<String>,
    /// The profiles that were read, each with the name of its side; none of models.
    pub sides: Vec<(&'static str, Opened)>,
}

/// How a condition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It certainly holds.
    Passed,
    /// It certainly doesn't.
    Failed,
    /// That can't be told.
    Undecided,
}

impl Outcome {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Undecided => "undecided",
        }
    }
}

/// A condition with its outcome.
pub struct Condition {
    /// The condition in words.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The figures.
    pub detail: String,
}

/// The limits that a change has to keep.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How much slower it may get, as a part of the baseline.
    pub max_regression: f64,
    /// How many milliseconds an inference may take.
    pub target_ms: Option<f64>,
    /// Whether a profile may have lost records.
    pub allow_losses: bool,
    /// Whether the profiles may be of different models.
    pub allow_different_models: bool,
}

/// The facts with the outcome of each condition.
pub struct Judgement {
    /// The facts that were judged.
    pub facts: Facts,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

impl Judgement {
    /// Judges a change.
    pub fn of(facts: Facts, limits: Limits) -> Self {
        let conditions = conditions(&facts, limits);
        Self { facts, conditions }
    }

    /// The outcome of all conditions together: the worst of them.
    pub fn outcome(&self) -> Outcome {
        let has = |outcome| self.conditions.iter().any(|condition| condition.outcome == outcome);
        let worst = [Outcome::Failed, Outcome::Undecided].into_iter().find(|outcome| has(*outcome));
        worst.unwrap_or(Outcome::Passed)
    }

    /// The doubts about each side, a sentence each.
    pub fn doubts(&self) -> impl Iterator<Item = String> {
        self.facts.sides.iter().filter_map(|(side, profile)| {
            let doubted = profile.losses_in_short(Severity::Doubted, NAMED_LOSSES)?;
            Some(say!("The {side} is in doubt: {doubted}", side = word(side)))
        })
    }
}

/// How many kinds of losses of a side are named.
const NAMED_LOSSES: usize = 3;

/// A condition for each side that has lost records.
fn wholeness(facts: &Facts, limits: Limits) -> impl Iterator<Item = Condition> {
    facts.sides.iter().filter_map(move |(side, profile)| {
        let lost = profile.losses_in_short(Severity::Lost, NAMED_LOSSES)?;
        let (outcome, advice) = match limits.allow_losses {
            true => (Outcome::Passed, word("allowed by --allow-losses")),
            false => (Outcome::Failed, word("--allow-losses judges what is left")),
        };
        Some(Condition {
            name: say!("losses of the {side}", side = word(side)),
            outcome,
            detail: say!("{lost}; {advice}"),
        })
    })
}

/// The condition that both sides are of one model, where they don't seem to be.
fn sameness(facts: &Facts, limits: Limits) -> Option<Condition> {
    let seen = facts.different_models.as_ref()?;
    let (outcome, advice) = match limits.allow_different_models {
        true => (Outcome::Passed, word("allowed by --allow-different-models")),
        false => (Outcome::Failed, word("--allow-different-models judges their times all the same")),
    };
    Some(Condition {
        name: word("both are of one model").to_owned(),
        outcome,
        detail: format!("{seen} ({advice})"),
    })
}

fn conditions(facts: &Facts, limits: Limits) -> Vec<Condition> {
    let mut all: Vec<Condition> = wholeness(facts, limits).collect();
    all.extend(sameness(facts, limits));
    let times = all.len();
    if let Some((change, interval)) = facts.change {
        let limit = limits.max_regression;
        let bounds = interval.map_or(String::new(), |(low, high)| {
            say!(", 95 % interval {:+.1} % to {:+.1} %", low * 100.0, high * 100.0)
        });
        all.push(Condition {
            name: say!("no more than {} % slower", limit * 100.0),
            // Without an interval nothing is known of the noise, and the figure itself has to do.
            outcome: judge(interval.unwrap_or((change, change)), limit),
            detail: format!("{:+.1} %{bounds}", change * 100.0),
        });
    }
    if let Some(limit) = limits.target_ms {
        let after = facts.after.0 as f64 / 1e6;
        let bounds = facts
            .after_interval
            .map_or(String::new(), |(low, high)| say!(", 95 % interval {low:.3} to {high:.3} ms"));
        all.push(Condition {
            name: say!("no more than {limit} ms"),
            outcome: judge(facts.after_interval.unwrap_or((after, after)), limit),
            detail: match facts.are_inferences {
                true => format!("{after:.3} ms{bounds}"),
                false => say!("{after:.3} ms in all that was recorded"),
            },
        });
    }
    if facts.are_mixed {
        for condition in &mut all[times..] {
            condition.outcome = Outcome::Undecided;
            condition.detail = format!("{} ({})", condition.detail, mixture());
        }
    }
    all
}

/// Whether an interval lies below a limit, above it, or around it.
fn judge((low, high): (f64, f64), limit: f64) -> Outcome {
    if high <= limit {
        Outcome::Passed
    } else if low > limit {
        Outcome::Failed
    } else {
        Outcome::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_several_networks_are_undecided_whatever_they_are() {
        let outcome = |are_mixed| {
            let facts = Facts {
                before: Some(Nanoseconds(100)),
                after: Nanoseconds(80),
                are_inferences: true,
                change: Some((-0.2, None)),
                after_interval: None,
                different_models: None,
                are_mixed,
                lines: Vec::new(),
                sides: Vec::new(),
            };
            let limits = Limits {
                max_regression: 0.05,
                target_ms: Some(1.0),
                allow_losses: false,
                allow_different_models: false,
            };
            Judgement::of(facts, limits).outcome()
        };
        assert_eq!((outcome(false), outcome(true)), (Outcome::Passed, Outcome::Undecided));
    }
}
