//! The differences between two profiles: which operators got faster or slower, vanished, appeared or
//! merged, and whether the difference is more than noise.
//!
//! Operators are brought together through the nodes of the model's graph that they stand for, then
//! by name, then by type and order (see `align`). Iterations are compared by Welch's test (see
//! `noise`). Times are those of an average measured iteration; where a profile knows none, of an
//! average call that executes a model, and without those all of it counts as one. The steps from A's
//! figure to B's sum to the change of both, whatever operators leave of it (see `waterfall`).

mod absorb;
mod align;
mod change_family;
mod extent;
mod feeding;
mod fused_names;
mod group;
mod joined_names;
mod nests;
mod node_names;
mod noise;
mod scopes;
mod side;
mod sources;
mod spans;
mod texts;
mod totals;
mod waterfall;
mod written_out;

use std::sync::LazyLock;

use opscope_trace::{Nanoseconds, Trace, words};

use crate::SpanBasis;
pub use align::REFORMAT;
use align::{Aligned, align};
use extent::Extent;
use nests::Nests;
use side::Side;
use totals::{align_totals, of_totals};

pub use change_family::ChangeFamily;
pub use fused_names::node_of_fused;
pub use group::{Change, Group, Member};
pub use joined_names::nodes_joined;
pub use node_names::{ModelNode, NodeNames};
pub use noise::{Difference, Verdict};
pub use spans::SpanChange;
pub use waterfall::{Step, What};

/// Two profiles, A before and B after a change.
#[derive(Clone, Debug)]
pub struct Comparison<'t> {
    /// How long an inference takes, and what that was taken from.
    pub basis: Basis,
    /// Whether all of both profiles is compared, because only one of them knows its iterations and the
    /// other holds about as much as all of its.
    pub whole_profiles: bool,
    /// How many times the executions of A what is compared of B has, where only one of them knows its
    /// iterations.
    pub work: Option<f64>,
    /// The figure of A.
    pub before: Nanoseconds,
    /// The figure of B.
    pub after: Nanoseconds,
    /// The durations that `difference` is about, A's and B's; empty where the basis has no single ones.
    pub inferences: (Vec<Nanoseconds>, Vec<Nanoseconds>),
    /// The difference as the iterations show it; `None` where a profile has fewer than two, or those of several
    /// models: these differ by more than noise.
    pub difference: Option<Difference>,
    /// Of how many models the measured iterations of A are that tell one, and those of B.
    pub networks: (usize, usize),
    /// The sum of the operators' own time of A, and of B.
    pub operators: (Nanoseconds, Nanoseconds),
    /// The groups of operators that belong together, the greatest change first.
    pub groups: Vec<Group<'t>>,
    /// The part of A's and B's operators' time that has a counterpart in the other.
    pub matched: (f64, f64),
    /// The part that has one by more than types and their order: by the nodes of the graph, by names or by shapes.
    pub agreeing: (f64, f64),
    /// The part that has one by types and order alone, though the shapes are others.
    pub contradicting: (f64, f64),
    /// Whether the models that both ran have all nodes in common.
    pub has_one_model: bool,
    /// The names of A's and of B's model, where a profile is of one model and tells its name.
    pub models: (Option<&'t str>, Option<&'t str>),
    /// Calls of the host and ranges of the program that both have, the greatest change first.
    pub spans: Vec<SpanChange>,
    /// Whole seconds that came or went, which look like a sleep.
    pub suspects: Vec<Suspect>,
    /// Whether A tells durations of its operators and no starts, and whether B does: what lies between its operators
    /// isn't known then.
    pub durations_alone: (bool, bool),
    /// Whether A's operators are totals by type, with which those of B are compared added up by kind, and whether B's
    /// are.
    pub totals: (bool, bool),
    /// By which clock hands A's iterations begin and end, and B's.
    pub iteration_basis: (SpanBasis, SpanBasis),
}

/// The figure that is compared as the time of an inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The measured iterations.
    Iterations,
    /// The measured iterations that were timed as a whole, in both profiles.
    Unrecorded,
    /// The call that executes a model, as the host saw it.
    ExecuteCalls,
    /// The sum of the operators' own time.
    OperatorTime,
    /// The longest range that both programs set.
    Range,
    /// Nothing that both have.
    Nothing,
}

/// A change of nearly whole seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The call, range or operator that changed so.
    pub name: String,
    /// By how much: B less A.
    pub delta: Nanoseconds,
    /// How many seconds that is.
    pub seconds: u64,
    /// Whether the change is of the range's time in which nothing was recorded; otherwise of all its time.
    pub is_uncovered: bool,
}

impl<'t> Comparison<'t> {
    /// Compares two profiles.
    pub fn of(before: &'t Trace, after: &'t Trace) -> Self {
        static NONE: LazyLock<NodeNames> = LazyLock::new(NodeNames::default);
        Self::joined(before, after, [&NONE, &NONE])
    }

    /// Compares two profiles, of whose operators the models that ran tell the nodes.
    pub fn joined(before: &'t Trace, after: &'t Trace, names: [&'t NodeNames; 2]) -> Self {
        let extent = Extent::of(before, after);
        let mut sides = sides(before, after, extent.whole);
        if is_unrecorded(&sides.0, &sides.1) {
            sides.0.leave_recording_out(extent.whole);
            sides.1.leave_recording_out(extent.whole);
        }
        let totals = of_totals(before, after);
        let Aligned { groups, matched, agreeing, contradicting } = match totals {
            (false, false) => align(&sides.0, &sides.1, names),
            _ => align_totals(&sides.0, &sides.1),
        };
        let operators = (sides.0.operator_time(), sides.1.operator_time());
        let spans = spans::changes(&sides.0.spans, &sides.1.spans);
        let (basis, from, to) = basis(&sides.0, &sides.1, &spans);
        // Operators that one side alone tells neither appeared nor vanished.
        let groups = if basis == Basis::Nothing { Vec::new() } else { groups };
        let (a, b) = (sides.0, sides.1);
        let iteration_basis = (a.basis, b.basis);
        let inferences = match basis {
            Basis::Iterations => (a.iterations, b.iterations),
            Basis::Unrecorded => (a.latencies.unrecorded, b.latencies.unrecorded),
            Basis::ExecuteCalls => (a.executions, b.executions),
            _ => Default::default(),
        };
        let networks = (a.networks, b.networks);
        let difference =
            (!are_mixed(networks)).then(|| Difference::of(&inferences.0, &inferences.1)).flatten();
        let suspects = suspects(&spans, basis, from, to);
        Self {
            basis,
            whole_profiles: extent.whole,
            work: extent.work,
            before: from,
            after: to,
            inferences,
            difference,
            networks,
            operators,
            groups,
            matched,
            agreeing,
            contradicting,
            has_one_model: names.iter().all(|names| names.is_of_one_model),
            models: (model_name(before), model_name(after)),
            spans,
            suspects,
            durations_alone: (!before.run.layer_times.is_placed(), !after.run.layer_times.is_placed()),
            totals,
            iteration_basis,
        }
    }

    /// How many times as fast B is as A.
    pub fn speed_up(&self) -> Option<f64> {
        (self.after.0 > 0 && self.before.0 > 0).then(|| self.before.0 as f64 / self.after.0 as f64)
    }

    /// B less A as a part of A: −0.39 is 39 % less.
    pub fn relative_change(&self) -> Option<f64> {
        spans::relative_change(self.before, self.after)
    }

    /// Whether both profiles seem to be of one model.
    ///
    /// They seem to be of different ones where on one side less than half of the time has a counterpart, and the
    /// other side isn't found whole in it either, as it is where most of the time was saved by leaving something
    /// out. Types and order find counterparts in any two networks of a kind: so the same holds where shapes
    /// contradict most of what they brought together, or all but a little of it is theirs. Models that ran and have all
    /// nodes in common leave no doubt.
    pub fn kinship(&self) -> Kinship {
        const FEW: f64 = 0.1;
        const HALF: f64 = 0.5;
        const WHOLE: f64 = 0.9;
        let less = |(a, b): (f64, f64)| a.min(b);
        let more = |(a, b): (f64, f64)| a.max(b);
        if self.has_one_model || self.operators.0.0 <= 0 || self.operators.1.0 <= 0 {
            return Kinship::SameModel;
        }
        let has_few = less(self.matched) < FEW || less(self.matched) < HALF && more(self.matched) < WHOLE;
        let agrees_little = more(self.agreeing) < FEW;
        let contradicts = less(self.contradicting);
        if has_few || contradicts > HALF || agrees_little && contradicts > more(self.agreeing) {
            return Kinship::DifferentModels;
        }
        if agrees_little { Kinship::Untold } else { Kinship::SameModel }
    }

    /// Whether the inferences of a side are of several models, so that their mean is of none and their spread no noise.
    pub fn is_of_several_networks(&self) -> bool {
        are_mixed(self.networks)
    }

    /// Whether the profiles seem to be of different models.
    pub fn is_of_different_models(&self) -> bool {
        self.kinship() == Kinship::DifferentModels
    }
}

words! {
    /// Whether two profiles are of one model, as their operators tell.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kinship {
        /// Nothing speaks against it.
        SameModel = "same model",
        /// Nothing but types and their order brings the operators together.
        Untold = "untold",
        /// They seem to be of different ones.
        DifferentModels = "different models",
    }
}

fn are_mixed((before, after): (usize, usize)) -> bool {
    before.max(after) > 1
}

/// The name of the model of a profile that is of one.
fn model_name(trace: &Trace) -> Option<&str> {
    match trace.models.name() {
        [name] => Some(trace.strings.get(*name)).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// The compared parts of both profiles, prepared at once. Operators of PyTorch's that others call are parts of those
/// where the other profile isn't PyTorch's.
fn sides<'t>(before: &'t Trace, after: &'t Trace, whole: bool) -> (Side<'t>, Side<'t>) {
    let [is_before, is_after] = [before, after].map(Nests::are_in);
    opscope_parallel::join(
        || Side::of(before, whole, is_before && !is_after),
        || Side::of(after, whole, is_after && !is_before),
    )
}

fn mean(values: &[Nanoseconds]) -> Nanoseconds {
    let sum: i128 = values.iter().map(|value| i128::from(value.0)).sum();
    Nanoseconds((sum / values.len().max(1) as i128) as i64)
}

/// Whether both profiles know what an inference takes that isn't recorded. Where only one does, recorded
/// iterations are compared with recorded ones.
fn is_unrecorded(a: &Side<'_>, b: &Side<'_>) -> bool {
    !a.latencies.unrecorded.is_empty() && !b.latencies.unrecorded.is_empty()
}

/// Whether the iterations of a side are sums of its operators, where those of the other are more than that, or nothing
/// is known of how they differ. Several iterations of sums on both sides are alike, and may be tested against noise.
fn is_sum_beside(a: &Side<'_>, b: &Side<'_>) -> bool {
    match (a.is_made_of_sums(), b.is_made_of_sums()) {
        (true, true) => a.iterations.len() == 1 || b.iterations.len() == 1,
        (a, b) => a || b,
    }
}

fn basis(a: &Side<'_>, b: &Side<'_>, spans: &[SpanChange]) -> (Basis, Nanoseconds, Nanoseconds) {
    if let (true, Some(from), Some(to)) = (is_unrecorded(a, b), a.latencies.typical(), b.latencies.typical())
    {
        return (Basis::Unrecorded, from, to);
    }
    if !a.iterations.is_empty() && !b.iterations.is_empty() && !is_sum_beside(a, b) {
        return (Basis::Iterations, mean(&a.iterations), mean(&b.iterations));
    }
    if !a.executions.is_empty() && !b.executions.is_empty() {
        return (Basis::ExecuteCalls, mean(&a.executions), mean(&b.executions));
    }
    let operators = (a.operator_time(), b.operator_time());
    if operators.0.0 > 0 && operators.1.0 > 0 {
        return (Basis::OperatorTime, operators.0, operators.1);
    }
    let longest = spans.iter().filter(|span| span.is_range).max_by_key(|span| span.before.max(span.after));
    match longest {
        Some(span) => (Basis::Range, span.before, span.after),
        None => (Basis::Nothing, Nanoseconds::ZERO, Nanoseconds::ZERO),
    }
}

/// The part that a change of durations may be off from whole seconds, because what else they hold
/// changed as well.
const WITHIN: f64 = 0.01;

/// The same for time in which nothing was recorded: what else is in it changed as well, a sleep lasts
/// longer than was asked for, and hardly anything but a sleep or waiting is there.
const UNCOVERED_WITHIN: f64 = 0.05;

fn suspects(spans: &[SpanChange], basis: Basis, from: Nanoseconds, to: Nanoseconds) -> Vec<Suspect> {
    let suspect = |name: &str, (from, to): (Nanoseconds, Nanoseconds), is_uncovered: bool| {
        let delta = to - from;
        let within = if is_uncovered { UNCOVERED_WITHIN } else { WITHIN };
        let seconds = crate::whole_seconds(Nanoseconds(delta.0.saturating_abs()), within)?;
        Some(Suspect { name: name.to_owned(), delta, seconds, is_uncovered })
    };
    let of_span = |span: &SpanChange| {
        let of_uncovered = span.uncovered.and_then(|times| suspect(&span.title(), times, true));
        of_uncovered.or_else(|| suspect(&span.title(), (span.before, span.after), false))
    };
    let is_whole = matches!(basis, Basis::Iterations | Basis::Unrecorded | Basis::OperatorTime);
    let whole = is_whole.then(|| suspect("the inference", (from, to), false)).flatten();
    spans.iter().filter_map(of_span).chain(whole).collect()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_engines;
