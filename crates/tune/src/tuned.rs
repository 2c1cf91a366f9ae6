//! The result of tuning: its steps, and the tuned model against the original.

use opscope_model::proto::ModelProto;
use opscope_rewrite::{Exactness, Info};
use opscope_trace::Nanoseconds;

use crate::agreement::Agreement;
use crate::engine_agreement::EngineAgreement;
use crate::interleaved::{Interval, Verdict};

/// The end of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It is faster beyond the noise.
    Kept,
    /// It is slower, or no difference was seen.
    NotFaster(Verdict),
    /// The outputs changed by more than they may.
    CheckFailed {
        /// By how much they may.
        limit: f64,
    },
    /// The rewritten model can't be run or compared.
    Unusable(String),
}

/// The rewrites that are tried at once.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// One rewrite, wherever it applies.
    One(&'static Info),
    /// Several rewrites together, on the original: some pay only together.
    Together(Vec<&'static Info>),
}

impl Attempt {
    /// The ids of the rewrites.
    pub fn ids(&self) -> Vec<&'static str> {
        match self {
            Self::One(info) => vec![info.id],
            Self::Together(infos) => infos.iter().map(|info| info.id).collect(),
        }
    }
}

/// A step: the attempt, and the figures by which it was kept or refused.
#[derive(Clone, Debug)]
pub struct Step {
    /// The attempt.
    pub attempt: Attempt,
    /// How close the results are meant to be: that of the farthest place.
    pub exactness: Exactness,
    /// At how many places it applied.
    pub places: usize,
    /// How many nodes there were before.
    pub nodes_before: usize,
    /// How many nodes there were with it.
    pub nodes_after: usize,
    /// How well the outputs agree with those of the original; `None` where they can't be compared.
    pub agreement: Option<Agreement>,
    /// How many times as fast the model is as the best one before.
    pub speedup: Option<Interval>,
    /// The median times of the best one before, and with this step.
    pub medians: Option<(Nanoseconds, Nanoseconds)>,
    /// How many pairs were measured.
    pub pairs: usize,
    /// The end of it.
    pub fate: Fate,
}

/// The result of tuning.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The tuned model; `None` if nothing won, or what won did not once it was measured again.
    pub model: Option<ModelProto>,
    /// All steps in the order in which they were tried.
    pub steps: Vec<Step>,
    /// The rewrites that the tuned model is made of.
    pub kept: Vec<&'static Info>,
    /// The tuned model against the original, measured once more.
    pub result: Option<Comparison>,
    /// The other engine's answer about the original.
    pub engines: EngineAgreement,
    /// The median time of the original.
    pub original: Nanoseconds,
    /// The engine's version.
    pub engine_version: String,
    /// Whether the user stopped it early.
    pub interrupted: bool,
}

/// The tuned model against the original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// How many times as fast it is.
    pub speedup: Interval,
    /// The median times of the original and of the tuned model.
    pub medians: (Nanoseconds, Nanoseconds),
    /// How many pairs were measured.
    pub pairs: usize,
    /// How well the outputs agree.
    pub agreement: Agreement,
}

impl Tuned {
    /// Whether the tuned model needs lossy rewrites to be allowed.
    pub fn is_lossy(&self) -> bool {
        let kept = |step: &&Step| step.fate == Fate::Kept;
        self.steps.iter().filter(kept).any(|step| step.exactness == Exactness::Lossy)
    }

    /// Whether steps were kept, and then withdrawn because they weren't faster once they were measured again.
    pub fn is_withdrawn(&self) -> bool {
        self.model.is_none() && self.result.is_some()
    }

    /// Whether a rewrite changed more than it may: then something is wrong with it.
    pub fn check_failed(&self) -> bool {
        // A lossy rewrite beyond the user's limit is refused, but no fault.
        let fault =
            |step: &Step| matches!(step.fate, Fate::CheckFailed { .. }) && step.exactness != Exactness::Lossy;
        self.steps.iter().any(fault)
    }
}
