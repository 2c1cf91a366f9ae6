//! Conditions about what the machine could do: its peaks, and its memory.

use std::collections::HashMap;

use opscope_model::{Model, Shapes, ValueId};
use opscope_trace::{CounterId, Trace, units};

use crate::claim::Claims;
use crate::outcome::{Causes, Found, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[("H07", far_from_the_roof), ("H13", allocation)];

fn far_from_the_roof(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(roof) = subject.roof else {
        return Outcome::Missing("the machine's peaks (--roofline, --peak or --peak-flops)".to_owned());
    };
    let below = rule.limit("below");
    let least = rule.limit("min_share") * subject.total.0 as f64 * subject.iterations as f64;
    let (mut known, mut claims) = (false, Claims::default());
    let mut names: HashMap<&str, usize> = HashMap::new();
    let name = subject.kernels.by_kind(|kind| {
        let next = names.len();
        *names.entry(kind.name).or_insert(next)
    });
    let mut time_of = vec![0.0; names.len()];
    subject.kernels.iter().for_each(|kernel| time_of[*name.of(kernel)] += kernel.time);
    let costs = subject.kernels.by_kind(|kind| {
        let row = subject.trace?.operators.get(kind.operator);
        let (read, written) = row.bytes_read.zip(row.bytes_written)?;
        Some((row.flops?, read.saturating_add(written)))
    });
    for kernel in &subject.kernels {
        let Some((flops, bytes)) = *costs.of(kernel) else { continue };
        known = true;
        let time = kernel.time / 1e9;
        if time <= 0.0 || time_of[*name.of(kernel)] < least {
            continue;
        }
        let (computing, moving) = (flops as f64 / time / roof.flops, bytes as f64 / time / roof.bandwidth);
        if computing < below && moving < below {
            let unused = 1.0 - computing.max(moving);
            let (computing, moving) = (computing * 100.0, moving * 100.0);
            let detail =
                format_args!("{computing:.1} % of the peak of arithmetic, {moving:.1} % of memory's");
            claims.claim(subject, kernel, detail, unused);
        }
    }
    if !known {
        return Outcome::Missing("operations and bytes of the operators".to_owned());
    }
    Causes::one(claims)
}

/// Memory that was set aside, and of that what was in use at once, in bytes.
struct Memory {
    set_aside: f64,
    in_use: f64,
    what: String,
}

fn allocation(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return Outcome::Missing("a profile".to_owned()) };
    let mut known = of_allocators(trace);
    known.extend(of_the_process(trace, subject));
    if known.is_empty() {
        let missing = "samples of memory, reserved and allocated (or of a run by opscope, with --model)";
        return Outcome::Missing(missing.to_owned());
    }
    let least = rule.limit("min_mb") * 1e6;
    let wasteful = known.into_iter().find(|memory| {
        memory.set_aside > rule.limit("ratio") * memory.in_use && memory.set_aside - memory.in_use > least
    });
    let Some(Memory { set_aside, in_use, what }) = wasteful else { return Outcome::Silent };
    let bytes = |value: f64| units::bytes(value);
    Found::note(format!(
        "{what}: {} at the peak, of which {} are in use at once",
        bytes(set_aside),
        bytes(in_use)
    ))
}

/// Memory by allocators that note both figures, as those of Ascend do.
fn of_allocators(trace: &Trace) -> Vec<Memory> {
    let mut peaks: HashMap<CounterId, f64> = HashMap::new();
    for (_, sample) in trace.samples.iter() {
        let peak = peaks.entry(sample.counter).or_default();
        *peak = peak.max(sample.value);
    }
    let peak_of = |wanted: &str, like: CounterId| {
        let like = trace.counters.get(like);
        let (id, _) = trace.counters.iter().find(|(_, row)| {
            row.device == like.device && row.unit == like.unit && trace.strings.get(row.name) == wanted
        })?;
        peaks.get(&id).copied()
    };
    let allocators = trace.counters.iter().filter_map(|(id, row)| {
        let name = trace.strings.get(row.name);
        let factor = factor(trace.strings.get(row.unit))?;
        let in_use = peaks.get(&id).copied().filter(|bytes| *bytes > 0.0)?;
        let set_aside =
            peak_of(&name.replace("allocated", "reserved"), id).filter(|_| name.contains("allocated"))?;
        Some(Memory {
            set_aside: set_aside * factor,
            in_use: in_use * factor,
            what: name.replace("allocated", "").split_whitespace().collect::<Vec<_>>().join(" "),
        })
    });
    allocators.collect()
}

/// How many bytes a unit is.
fn factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" => 1.0,
        "KB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        _ => return None,
    })
}

/// By how much a process grew while it ran a model, against what the model's values need at once.
fn of_the_process(trace: &Trace, subject: &Subject<'_>) -> Option<Memory> {
    let (model, shapes) = (subject.model?, subject.shapes?);
    let (counter, _) =
        trace.counters.iter().find(|(_, row)| trace.strings.get(row.name) == "resident memory")?;
    let samples = trace.samples.iter().filter(|(_, sample)| sample.counter == counter);
    let values: Vec<f64> = samples.map(|(_, sample)| sample.value).collect();
    let set_aside = values.iter().copied().fold(0.0, f64::max) - values.first()?;
    let in_use = live_bytes(model, shapes)? as f64;
    Some(Memory { set_aside, in_use, what: "the process grew while it ran".to_owned() })
}

/// The most bytes that the model's computed values take at once, each from where it is computed to
/// where it is read last; `None` where a size isn't known.
fn live_bytes(model: &Model, shapes: &Shapes) -> Option<u64> {
    let graph = model.graph();
    let mut last_read: HashMap<ValueId, usize> = HashMap::new();
    for (place, node) in graph.nodes().enumerate() {
        node.reads().for_each(|value| {
            last_read.insert(value, place);
        });
    }
    let mut ends: HashMap<usize, u64> = HashMap::new();
    let (mut live, mut most) = (0u64, 0u64);
    for (place, node) in graph.nodes().enumerate() {
        for output in node.outputs.iter().flatten() {
            let bytes = shapes.get(*output)?.bytes()?;
            live = live.checked_add(bytes)?;
            // Outputs of the model live on; values that nobody reads go at once.
            if !graph.value(*output).is_output {
                *ends.entry(last_read.get(output).copied().unwrap_or(place)).or_default() += bytes;
            }
        }
        most = most.max(live);
        live = live.saturating_sub(ends.remove(&place).unwrap_or(0));
    }
    (most > 0).then_some(most)
}
