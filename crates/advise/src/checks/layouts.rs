//! Conversions between memory layouts on Ascend devices: which there are, and what stands on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use opscope_trace::{ExecutionUnit, IterationId, Nanoseconds, TensorId, Trace};

use super::declared::changed_layouts;
use super::sequences::is_trans_data;
use crate::claim::Claims;
use crate::executed::Executed;
use crate::kernels::{ByKind, Kernel};
use crate::outcome::{Cause, Causes, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[("A01", conversions)];

/// How many operators before and behind a conversion are looked at for its neighbours.
const NEAR: usize = 8;

/// The operators on both sides of a conversion, where the profile tells.
#[derive(Clone, Copy, Default)]
struct Sides<'k> {
    before: Option<&'k Kernel<'k>>,
    behind: Option<&'k Kernel<'k>>,
}

/// A conversion as a detail: `NCHW to NC1HWC0, behind relu (Relu), before conv (Conv2D)`.
struct Conversion<'k> {
    layouts: Option<(&'k str, &'k str)>,
    sides: Sides<'k>,
}

impl fmt::Display for Conversion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.layouts.map(|(from, to)| format!("{from} to {to}")));
        parts.extend(self.sides.before.map(|it| format!("behind {} ({})", it.name, it.op_type)));
        parts.extend(self.sides.behind.map(|it| format!("before {} ({})", it.name, it.op_type)));
        f.write_str(&parts.join(", "))
    }
}

/// All conversions on the cores, where there are many or they take much of the time. Why one is on the AI CPU is for
/// the rules about that.
fn conversions(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace.filter(|_| !subject.kernels.is_empty()) else {
        return Outcome::Missing("operators in a profile".to_owned());
    };
    let is_conversion =
        subject.kernels.by_kind(|kind| is_trans_data(kind.op_type) && kind.unit != ExecutionUnit::AiCpu);
    if !is_conversion.any(|is_one| *is_one) {
        return Outcome::Silent;
    }
    let is_at_end = at_ends(subject, &is_conversion);
    let [mut between, mut at_ends, mut anywhere] = [(); 3].map(|()| Claims::default());
    let (mut time, mut named) = (0.0, BTreeSet::new());
    for (place, kernel) in subject.kernels.iter().enumerate() {
        if !is_conversion.of(kernel) {
            continue;
        }
        time += kernel.time;
        named.insert(kernel.executed);
        let sides = sides(subject, trace, place);
        let claims = match is_at_end.get(&kernel.executed) {
            Some(true) => &mut at_ends,
            Some(false) => &mut between,
            None => &mut anywhere,
        };
        claims.claim(subject, kernel, Conversion { layouts: changed_layouts(subject, kernel), sides }, 1.0);
    }
    let all = subject.total.0 as f64 * subject.iterations as f64;
    let is_much = all > 0.0 && time / all > rule.limit("share_above");
    if named.len() as f64 <= rule.limit("more_than") && !is_much {
        return Outcome::Silent;
    }
    let at_ends = Cause {
        claims: at_ends,
        title: Some("layouts converted at the ends of the model".to_owned()),
        advice: Some(
            "Give the model's inputs and outputs the layout of the device, so that nothing is converted where \
             they are read and written; or measure the conversion on the host."
                .to_owned(),
        ),
        ..Cause::default()
    };
    let between = Cause {
        claims: between,
        title: Some("layouts converted between operators".to_owned()),
        ..Cause::default()
    };
    // Without iterations, nothing tells where the model begins and ends.
    let anywhere = Cause {
        claims: anywhere,
        title: Some("layouts converted between operators or at the ends of the model".to_owned()),
        ..Cause::default()
    };
    Causes { causes: vec![between, at_ends, anywhere], done: 0 }.outcome()
}

/// Whether each conversion is of what the model is given or gives, of those that ran in iterations: in one of them, each
/// time that it ran, nothing but conversions and casts ran before it, or behind it. Where that is so once, it waits for no
/// operator, or none for it, whatever ran beside it in the other iterations.
fn at_ends(subject: &Subject<'_>, is_conversion: &ByKind<bool>) -> BTreeMap<Executed, bool> {
    let passes_on = subject
        .kernels
        .by_kind(|kind| is_trans_data(kind.op_type) || kind.op_type.eq_ignore_ascii_case("Cast"));
    let in_iterations = || {
        let kernels = subject.kernels.iter().enumerate();
        // The place decides between those of one time.
        kernels.filter_map(|(place, kernel)| Some((kernel.iteration?, (kernel.start, place), kernel)))
    };
    let mut others: BTreeMap<IterationId, [(Nanoseconds, usize); 2]> = BTreeMap::new();
    for (iteration, at, _) in in_iterations().filter(|(.., kernel)| !*passes_on.of(kernel)) {
        let [first, last] = others.entry(iteration).or_insert([at; 2]);
        (*first, *last) = ((*first).min(at), (*last).max(at));
    }
    let mut by_iteration: BTreeMap<(Executed, IterationId), bool> = BTreeMap::new();
    for (iteration, at, kernel) in in_iterations().filter(|(.., kernel)| *is_conversion.of(kernel)) {
        let is_at_end = others.get(&iteration).is_none_or(|[first, last]| at < *first || at > *last);
        *by_iteration.entry((kernel.executed, iteration)).or_insert(true) &= is_at_end;
    }
    let mut at_ends: BTreeMap<Executed, bool> = BTreeMap::new();
    for ((executed, _), is_at_end) in by_iteration {
        *at_ends.entry(executed).or_default() |= is_at_end;
    }
    at_ends
}

/// The nearest operators before and behind a conversion that give and take a tensor like its own.
fn sides<'k>(subject: &'k Subject<'_>, trace: &Trace, place: usize) -> Sides<'k> {
    let kernels = &subject.kernels[..];
    let kernel = &kernels[place];
    let Some(row) = subject.operator_row(kernel) else { return Sides::default() };
    let gives = |other: &&Kernel<'_>, input: TensorId| {
        let other = subject.operator_row(other);
        other.is_some_and(|other| other.outputs().any(|output| is_alike(trace, output, input)))
    };
    let takes = |other: &&Kernel<'_>, output: TensorId| {
        let other = subject.operator_row(other);
        other.is_some_and(|other| other.inputs().any(|input| is_alike(trace, input, output)))
    };
    let is_beside = |other: &&Kernel<'_>| other.is_beside(kernel);
    let mut before = kernels[..place].iter().rev().take(NEAR).take_while(is_beside);
    let mut behind = kernels[place + 1..].iter().take(NEAR).take_while(is_beside);
    Sides {
        before: row.inputs().next().and_then(|input| before.find(|other| gives(other, input))),
        behind: row.outputs().next().and_then(|output| behind.find(|other| takes(other, output))),
    }
}

/// Whether two tensors may be one: shape, layout and type of both are known, and the same.
fn is_alike(trace: &Trace, a: TensorId, b: TensorId) -> bool {
    let of = |id: TensorId| {
        let layout = trace.tensors.layout()[id.index()]?;
        Some((trace.shape(id)?, layout, trace.tensors.data_type()[id.index()]))
    };
    of(a).is_some_and(|known| Some(known) == of(b))
}
