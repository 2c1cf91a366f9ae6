//! The loop: rewrite one step at a time, check, measure, keep what wins.

use std::sync::Arc;

use opscope_model::{LoadError, Model};
use opscope_rewrite::{Application, Exactness, Info, Rewrite, RewriteError, rewrite};
use opscope_run::{EngineKind, EngineOptions, InputRequest, Interrupt, RunClock, RunError, prepare};
use opscope_trace::Nanoseconds;

use crate::check::{InputSets, Outputs, agreement};
use crate::engine_agreement::{EngineAgreement, ask_other_engine};
use crate::interleaved::{Budget, Pairs, Verdict, interleaved};
use crate::tuned::{Attempt, Comparison, Fate, Step, Tuned};

/// Random inputs that every step is checked on, besides the user's own.
const RANDOM_SETS: usize = 3;

/// Engines add up in orders of their own, so that they differ by more than an exact rewrite may.
const ENGINE_TOLERANCE: f64 = 10.0;

/// How to tune.
#[derive(Clone)]
pub struct TuneOptions {
    /// The inputs that the model is fed with.
    pub inputs: InputRequest,
    /// On which engine it is measured.
    pub engine: EngineOptions,
    /// The rewrites to try, in this order.
    pub rewrites: Vec<&'static dyn Rewrite>,
    /// Whether rewrites that round in another way are tried where that changes the outputs by whole steps.
    pub allow_lossy: bool,
    /// The version of ONNX's operators to raise the model to, where a rewrite applies.
    pub opset: Option<i64>,
    /// How far an exact or bounded rewrite may change the outputs: see [`Agreement::relative`].
    pub tolerance: f64,
    /// How far a lossy one may; `None` is as far as it does.
    pub max_error: Option<f64>,
    /// How long to measure each step.
    pub budget: Budget,
    /// The confidence beyond which a step counts as faster.
    pub confidence: f64,
}

/// Why a model couldn't be tuned.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum TuneError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    #[error("the rewritten model is unsound, which is a fault of opscope: {0}")]
    Unsound(#[from] LoadError),
    #[error(
        "{engine} and {other} disagree about the model before anything is changed{}{}; what a rewrite \
         does to the outputs can't be judged. Find out which of them is right (opscope run --outputs \
         shows what each computes) before tuning", by_how_much(.by), from_where(.node)
    )]
    EnginesDisagree { engine: EngineKind, other: EngineKind, by: Option<f64>, node: Option<String> },
}

fn by_how_much(by: &Option<f64>) -> String {
    by.map_or(" (the outputs differ in type or shape)".to_owned(), |by| format!(" (by {by:.1e}, relatively)"))
}

fn from_where(node: &Option<String>) -> String {
    node.as_ref().map_or(String::new(), |node| format!(": they part at the node {node}"))
}

/// The work that is under way, for whoever waits.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    /// Something begins.
    Begin(&'a str),
    /// So many pairs are measured.
    Pairs(usize),
    /// A step is done.
    Step(&'a Step),
}

/// A model that may be measured, with its outputs for all sets of inputs.
struct Contender {
    model: Arc<Model>,
    outputs: Vec<Outputs>,
    /// Whether a lossy rewrite is part of it.
    lossy: bool,
}

struct Tuner<'a> {
    options: &'a TuneOptions,
    sets: InputSets,
    /// The outputs of the original.
    expected: Vec<Outputs>,
    clock: RunClock,
    interrupt: &'a Interrupt,
    progress: &'a mut dyn FnMut(Progress<'_>),
}

/// Tunes a model: tries each rewrite on the best model so far, checks its outputs against the original's,
/// measures both in turn, and keeps what wins beyond the noise. In the end, all rewrites together are
/// tried, because some pay only together; and what was kept is measured once more against the original,
/// and withdrawn where it doesn't win then.
///
/// # Errors
/// When the model can't be fed or run, when the engines disagree about it, or when a rewrite is faulty.
/// A request to stop isn't one: the result until then is told.
pub fn tune(
    model: Arc<Model>,
    options: &TuneOptions,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Tuned, TuneError> {
    let sets = InputSets::resolve(&model, &options.inputs, RANDOM_SETS).map_err(RunError::from)?;
    let clock = RunClock::start();
    progress(Progress::Begin("the model as it is"));
    let mut engine = prepare(Arc::clone(&model), sets.own(), &options.engine, clock)?;
    let engine_version = engine.version();
    let expected = sets.outputs(engine.as_mut(), interrupt)?;
    progress(Progress::Begin("the other engine's answer"));
    let tolerance = ENGINE_TOLERANCE * options.tolerance;
    let engines = ask_other_engine(&model, sets.own(), &options.engine, &expected[0], tolerance, interrupt)?;
    if let EngineAgreement::Differ { other, agreement, node } = engines {
        let (engine, by) = (options.engine.kind, agreement.map(|agreement| agreement.relative));
        return Err(TuneError::EnginesDisagree { engine, other, by, node });
    }
    // For a figure of the original even if nothing is tried.
    let mut durations: Vec<i64> = Vec::new();
    for _ in 0..3 {
        durations.push(engine.infer(interrupt)?.duration.0);
    }
    durations.sort_unstable();
    let mut tuned = Tuned {
        model: None,
        steps: Vec::new(),
        kept: Vec::new(),
        result: None,
        engines,
        original: Nanoseconds(durations[1]),
        engine_version,
        interrupted: false,
    };
    drop(engine);
    let original = Contender { model, outputs: expected.clone(), lossy: false };
    let tuner = Tuner { options, sets, expected, clock, interrupt, progress };
    match tuner.run(original, &mut tuned) {
        Err(TuneError::Run(RunError::Interrupted)) => tuned.interrupted = true,
        Err(error) => return Err(error),
        Ok(()) => {}
    }
    Ok(tuned)
}

impl Tuner<'_> {
    fn run(mut self, original: Contender, tuned: &mut Tuned) -> Result<(), TuneError> {
        let mut best = None::<Contender>;
        for &one in &self.options.rewrites {
            let against = best.as_ref().unwrap_or(&original);
            let base = Arc::clone(&against.model);
            if let Some(winner) = self.attempt(Attempt::One(one.info()), &[one], &base, against, tuned)? {
                tuned.kept.push(one.info());
                tuned.model = Some(winner.model.proto().clone());
                best = Some(winner);
            }
        }
        let all = self.options.rewrites.iter().copied();
        let usable: Vec<_> = all.filter(|one| may_come_again(one.info(), &tuned.steps)).collect();
        let (from, all) = (Arc::clone(&original.model), usable.iter().map(|one| one.info()).collect());
        let against = best.as_ref().unwrap_or(&original);
        if let Some(winner) = self.attempt(Attempt::Together(all), &usable, &from, against, tuned)? {
            if let Some(Step { attempt: Attempt::Together(infos), .. }) = tuned.steps.last() {
                tuned.kept.clone_from(infos);
            }
            tuned.model = Some(winner.model.proto().clone());
            best = Some(winner);
        }
        let Some(best) = best else { return Ok(()) };
        (self.progress)(Progress::Begin("the tuned model against the original"));
        let pairs = self.measure(&original, &best)?;
        let agreement = agreement(&self.expected, &best.outputs);
        let speedup = pairs.speedup(self.options.confidence);
        if let (Some(speedup), Some(medians), Ok(agreement)) = (speedup, pairs.medians(), agreement) {
            tuned.original = medians.0;
            tuned.result = Some(Comparison { speedup, medians, pairs: pairs.len(), agreement });
        }
        // Of many steps, one may win by chance; this measurement is of those that did, all at once.
        if pairs.verdict(self.options.confidence) != Verdict::Faster {
            tuned.model = None;
            tuned.kept.clear();
        }
        Ok(())
    }

    /// Tries some rewrites on a model, and gives the new model if it wins against the best one so far.
    fn attempt(
        &mut self,
        mut attempt: Attempt,
        rewrites: &[&'static dyn Rewrite],
        base: &Model,
        best: &Contender,
        tuned: &mut Tuned,
    ) -> Result<Option<Contender>, TuneError> {
        let opset = self.options.opset.filter(|version| base.opset_version("") != Some(*version));
        // One rewrite alone may not clear away all that stands in the way of a newer version.
        let lossy = self.options.allow_lossy;
        let rewritten = match rewrite(base, rewrites, opset, lossy) {
            Err(RewriteError::Opset(_)) => rewrite(base, rewrites, None, lossy)?,
            rewritten => rewritten?,
        };
        if rewritten.applications.is_empty() || rewritten.proto == *best.model.proto() {
            return Ok(None);
        }
        if let Attempt::Together(infos) = &mut attempt {
            infos.retain(|info| rewritten.applications.iter().any(|done| done.rewrite.id == info.id));
            // The rewrites that were kept one by one already come to the same.
            let kept = |info: &&Info| tuned.kept.iter().any(|kept| kept.id == info.id);
            if infos.len() < 2 || infos.iter().all(kept) {
                return Ok(None);
            }
        }
        (self.progress)(Progress::Begin(&attempt.ids().join(" + ")));
        let mut step = Step {
            attempt,
            exactness: farthest(&rewritten.applications),
            places: rewritten.applications.len(),
            nodes_before: rewritten.nodes_before,
            nodes_after: rewritten.nodes_after,
            agreement: None,
            speedup: None,
            medians: None,
            pairs: 0,
            fate: Fate::NotFaster(Verdict::Undecided),
        };
        let model = Arc::new(Model::from_proto(rewritten.proto, base.folder())?);
        let winner = self.judge(model, best, &mut step)?;
        (self.progress)(Progress::Step(&step));
        tuned.steps.push(step);
        Ok(winner)
    }

    /// Checks and measures a rewritten model.
    fn judge(
        &mut self,
        model: Arc<Model>,
        best: &Contender,
        step: &mut Step,
    ) -> Result<Option<Contender>, TuneError> {
        let options = &self.options.engine;
        let prepared = prepare(Arc::clone(&model), self.sets.own(), options, self.clock);
        let outputs = prepared.and_then(|mut engine| self.sets.outputs(engine.as_mut(), self.interrupt));
        let found = match outputs {
            Ok(found) => found,
            Err(RunError::Interrupted) => return Err(RunError::Interrupted.into()),
            Err(error) => {
                step.fate = Fate::Unusable(error.to_string());
                return Ok(None);
            }
        };
        let exactness = step.exactness;
        // The error of a lossy rewrite that was kept before isn't this step's.
        let expected = match exactness {
            Exactness::Lossy => &self.expected,
            _ if best.lossy => &best.outputs,
            _ => &self.expected,
        };
        let agreement = match agreement(expected, &found) {
            Ok(agreement) => agreement,
            Err(error) => {
                step.fate = Fate::Unusable(error.to_string());
                return Ok(None);
            }
        };
        step.agreement = Some(agreement);
        let limit = match exactness {
            Exactness::Lossy => self.options.max_error.unwrap_or(f64::INFINITY),
            _ => self.options.tolerance,
        };
        if agreement.relative > limit {
            step.fate = Fate::CheckFailed { limit };
            return Ok(None);
        }
        let lossy = best.lossy || exactness == Exactness::Lossy;
        let candidate = Contender { model, outputs: found, lossy };
        let pairs = self.measure(best, &candidate)?;
        step.speedup = pairs.speedup(self.options.confidence);
        step.medians = pairs.medians();
        step.pairs = pairs.len();
        let verdict = pairs.verdict(self.options.confidence);
        step.fate = if verdict == Verdict::Faster { Fate::Kept } else { Fate::NotFaster(verdict) };
        Ok((verdict == Verdict::Faster).then_some(candidate))
    }

    fn measure(&mut self, a: &Contender, b: &Contender) -> Result<Pairs, RunError> {
        let progress = &mut self.progress;
        let told = &mut |pairs: usize, _| progress(Progress::Pairs(pairs));
        let (inputs, options, clock) = (self.sets.own(), self.options, self.clock);
        let prepared = |one: &Contender| prepare(Arc::clone(&one.model), inputs, &options.engine, clock);
        let pairs =
            interleaved(&mut || prepared(a), &mut || prepared(b), options.budget, self.interrupt, told)?;
        if pairs.interrupted { Err(RunError::Interrupted) } else { Ok(pairs) }
    }
}

/// How close results are at the farthest of some places.
fn farthest(applications: &[Application]) -> Exactness {
    applications.iter().map(|done| done.exactness).max().unwrap_or(Exactness::Exact)
}

/// Whether a rewrite may be tried together with others: not if its check failed or it can't be run, and
/// not if it is lossy without a gain.
fn may_come_again(info: &Info, steps: &[Step]) -> bool {
    let mut of_this = steps.iter().filter(|step| step.attempt.ids() == [info.id]);
    of_this.all(|step| match step.fate {
        Fate::Kept => true,
        Fate::NotFaster(_) => step.exactness != Exactness::Lossy,
        Fate::CheckFailed { .. } | Fate::Unusable(_) => false,
    })
}
