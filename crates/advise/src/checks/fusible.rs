//! Short sequences of operators that are repeated.

use std::collections::HashMap;

use opscope_trace::{Nanoseconds, units};

use crate::claim::Evidence;
use crate::kernels::Kernel;
use crate::metrics::Metric;
use crate::outcome::{Found, Outcome};
use crate::rule::Rule;
use crate::subject::Subject;

/// The lengths of sequences that are looked for.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=10;
/// How many sequences are named.
const NAMED: usize = 5;
/// Operators beyond this many are not looked at: what is repeated shows among the first.
const LOOKED_AT: usize = 100_000;

/// Where a sequence occurs, without overlaps.
#[derive(Default)]
struct Sequence {
    times: usize,
    next: usize,
    duration: f64,
    wait: f64,
    transfer: f64,
    /// The time between its operators in which nothing ran: other streams' work there is no part of it.
    idle: f64,
}

impl Sequence {
    fn extent(&self) -> f64 {
        self.duration + self.idle
    }
}

/// Sequences of two to ten operators that occur often, and mostly move data or wait.
pub(super) fn repeated(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    let can_tell =
        subject.has_metric("mte2_ratio") || subject.kernels.iter().any(|kernel| kernel.wait.is_some());
    if !can_tell {
        return Outcome::Missing("how long operators waited, or how busy their transfers were".to_owned());
    }
    let kernels = &subject.kernels[..subject.kernels.len().min(LOOKED_AT)];
    let mut types: HashMap<&str, u32> = HashMap::new();
    let numbers: Vec<u32> = kernels
        .iter()
        .map(|kernel| {
            let next = types.len() as u32;
            *types.entry(kernel.op_type).or_insert(next)
        })
        .collect();
    let moves = ["mte2_ratio", "mte3_ratio"].map(|name| subject.metric(name));
    let cube = subject.metric("mac_ratio");
    let transfers: Vec<f64> = kernels.iter().map(|kernel| transfer(&moves, &cube, kernel)).collect();
    let total: f64 = kernels.iter().map(|kernel| kernel.time).sum();
    let inferences = subject.iterations as f64;
    let mut good: Vec<(&[u32], Sequence)> = Vec::new();
    for length in LENGTHS {
        let mut sequences: HashMap<&[u32], Sequence> = HashMap::new();
        for (at, window) in numbers.windows(length).enumerate() {
            // The same type over and over is no sequence, and neither streams nor inferences follow one another.
            if window.iter().all(|number| *number == window[0])
                || !kernels[at].is_beside(&kernels[at + length - 1])
            {
                continue;
            }
            let sequence = sequences.entry(window).or_default();
            if at < sequence.next {
                continue;
            }
            sequence.times += 1;
            sequence.next = at + length;
            for (kernel, transfer) in kernels[at..at + length].iter().zip(&transfers[at..]) {
                sequence.duration += kernel.time;
                sequence.wait += kernel.wait.unwrap_or_default().0 as f64;
                sequence.transfer += kernel.time * transfer;
            }
            let idle = |kernel: &Kernel<'_>| kernel.wait.unwrap_or_default().0 as f64;
            sequence.idle += kernels[at + 1..at + length].iter().map(idle).sum::<f64>();
        }
        for (window, sequence) in sequences {
            let moves = sequence.transfer >= rule.limit("transfer") * sequence.duration;
            let waits = sequence.wait >= rule.limit("waiting") * (sequence.duration + sequence.wait);
            let is_often = sequence.times as f64 / inferences >= rule.limit("times");
            if is_often && (moves || waits) && sequence.duration > rule.limit("share_above") * total {
                good.push((window, sequence));
            }
        }
    }
    good.sort_by(|(a, one), (b, other)| other.extent().total_cmp(&one.extent()).then(a.cmp(b)));
    let mut names: Vec<(&str, u32)> = types.into_iter().collect();
    names.sort_by_key(|(_, number)| *number);
    let in_one = |time: f64| Nanoseconds((time / inferences) as i64);
    let evidence = good.iter().take(NAMED).map(|(window, sequence)| Evidence {
        name: window.iter().map(|number| names[*number as usize].0).collect::<Vec<_>>().join(" + "),
        op_type: String::new(),
        // As of all evidence, the operators' own; waits before a sequence are no part of it.
        time: Some(in_one(sequence.duration)),
        detail: match sequence.idle > 0.0 {
            true => {
                let extent = units::duration(in_one(sequence.extent()));
                format!("{}, {extent} with the idle time between them", often(sequence.times, subject))
            }
            false => often(sequence.times, subject),
        },
    });
    let is_part = subject.kernels.len() > LOOKED_AT;
    let note = is_part.then(|| format!("of the first {LOOKED_AT} of {} executions", subject.kernels.len()));
    Found { evidence: evidence.collect(), note, ..Found::default() }.or_silent()
}

/// How often a sequence occurs in the same inference that its time is of.
fn often(times: usize, subject: &Subject<'_>) -> String {
    let inferences = subject.iterations;
    if subject.inference.is_none() {
        format!("{times} times in the profile")
    } else if times.is_multiple_of(inferences) {
        format!("{} times in each inference", times / inferences)
    } else {
        format!("{:.1} times in an average inference", times as f64 / inferences as f64)
    }
}

/// The part of a kernel's time in which it moves data for longer than it multiplies: data that the cube works on
/// would be moved by a fused operator as well.
fn transfer(moves: &[Metric<'_>], cube: &Metric<'_>, kernel: &Kernel<'_>) -> f64 {
    let moved = moves.iter().filter_map(|ratio| ratio.of(kernel)).fold(0.0, f64::max);
    (moved - cube.of(kernel).unwrap_or(0.0)).max(0.0)
}
