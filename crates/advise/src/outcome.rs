//! The answer of a rule's condition.

use opscope_trace::Nanoseconds;

use crate::claim::{Claims, Evidence};

/// The answer of a condition.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It doesn't hold.
    Silent,
    /// It holds for the run as a whole, or for what isn't an operator.
    Found(Found),
    /// It holds for operators.
    Operators(Causes),
    /// It can't be asked: what is missing.
    Missing(String),
}

/// Where a condition holds that isn't about operators, such as one about calls, or about the time
/// between operators.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub evidence: Vec<Evidence>,
    /// The most that could be saved in one iteration, outside of operators; `None` where that can't be
    /// said.
    pub saves: Option<Nanoseconds>,
    /// The time that it is a part of; `None` is that of an average inference.
    pub whole: Option<Nanoseconds>,
    /// A remark about this case.
    pub note: Option<String>,
}

impl Found {
    /// A finding of which nobody knows what could be saved.
    pub fn only(evidence: Vec<Evidence>) -> Outcome {
        Self { evidence, ..Self::default() }.or_silent()
    }

    /// A finding without evidence.
    pub fn note(note: String) -> Outcome {
        Outcome::Found(Self { note: Some(note), ..Self::default() })
    }

    /// No finding where there is no evidence.
    pub fn or_silent(self) -> Outcome {
        if self.evidence.is_empty() { Outcome::Silent } else { Outcome::Found(self) }
    }
}

/// Claims that have one cause, and what is to be said about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cause {
    pub claims: Claims,
    pub note: Option<String>,
    /// Texts that are nearer to the matter than the rule's own.
    pub title: Option<String>,
    pub why: Option<String>,
    pub advice: Option<String>,
    /// The command or rewrite that does it, in the words of [`Rule::auto`](crate::Rule::auto).
    pub auto: Option<String>,
}

/// The causes that a rule finds: each becomes a finding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes {
    pub causes: Vec<Cause>,
    /// In how many places the engine has done already what the rule advises.
    pub done: usize,
}

impl Causes {
    /// Claims of one cause.
    pub fn one(claims: Claims) -> Outcome {
        Self::of(Cause { claims, ..Cause::default() })
    }

    /// One cause; nothing where it has no claims.
    pub fn of(cause: Cause) -> Outcome {
        Self { causes: vec![cause], done: 0 }.outcome()
    }

    /// Silence where there are neither claims nor places that are done.
    pub fn outcome(mut self) -> Outcome {
        self.causes.retain(|cause| !cause.claims.is_empty());
        if self.causes.is_empty() && self.done == 0 { Outcome::Silent } else { Outcome::Operators(self) }
    }
}
