//! Conditions about Ascend devices: units, cores, waiting.

use std::collections::HashSet;
use std::fmt;

use opscope_analyze::Measured;
use opscope_trace::{DataType, ExecutionUnit, Nanoseconds, TensorId, Trace};

use super::ai_cpu::unfolds_a_collective;
use super::single_operators::is_of_single_operators;
use crate::claim::Claims;
use crate::condition::Means;
use crate::kernels::{Kernel, Kind};
use crate::metrics::Metric;
use crate::outcome::{Cause, Causes, Found, Outcome};
use crate::places::Places;
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("A09", serial_ai_cpu),
    ("A10", waiting),
    ("A12", pipeline),
    ("A13", path_rate),
    ("A20", too_few_blocks),
    ("A21", uneven_blocks),
    ("A22", uneven_mixed_blocks),
    ("A24", cube_affinity),
    ("A25", nothing_busy),
    ("A26", frequency),
    ("A27", inner_axis),
    ("A34", channels),
];

fn missing(what: &str) -> Outcome {
    Outcome::Missing(what.to_owned())
}

/// The time in which only the AI CPU works: its spans less what others cover of them.
fn serial_ai_cpu(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if !subject.kernels.any_unit(|unit| unit != ExecutionUnit::Other) {
        return missing("the units that execute operators");
    }
    let on_cpu = |kind: &Kind<'_>| kind.unit == ExecutionUnit::AiCpu && !unfolds_a_collective(kind);
    let Some(trace) = subject.trace else { return Outcome::Silent };
    if !subject.kernels.by_kind(on_cpu).any(|is_on_cpu| *is_on_cpu) {
        return Outcome::Silent;
    }
    // Tasks of which no operator is told keep the device busy as well.
    let tasks = &trace.tasks;
    let span = |index: usize| (tasks.start()[index], tasks.start()[index] + tasks.duration()[index]);
    let on_the_cpu: HashSet<usize> =
        subject.kernels.of_kinds(on_cpu).map(|kernel| kernel.task.index()).collect();
    let work: Vec<usize> = Measured::of(trace).tasks.iter().map(|task| task.index()).collect();
    let busy = opscope_analyze::covered_time(work.iter().map(|index| span(*index)).collect());
    let others = work.iter().filter(|index| !on_the_cpu.contains(index)).map(|index| span(*index));
    let alone = busy - opscope_analyze::covered_time(others.collect());
    if busy.0 <= 0 || alone.0 as f64 <= rule.limit("share_above") * busy.0 as f64 {
        return Outcome::Silent;
    }
    let share = alone.0 as f64 / busy.0 as f64 * 100.0;
    let on_the_cpu = subject.kernels.of_kinds(on_cpu);
    let whole: f64 = on_the_cpu.clone().map(|kernel| kernel.time).sum();
    // Which of them ran alone isn't kept: each is claimed for its part.
    let part = if whole > 0.0 { alone.0 as f64 / whole } else { 0.0 };
    let mut claims = Claims::default();
    on_the_cpu.for_each(|kernel| claims.claim(subject, kernel, "", part));
    let note = Some(format!("for {share:.1} % of the busy time nothing but the AI CPU works"));
    Causes::of(Cause { claims, note, ..Cause::default() })
}

fn waiting(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.iter().all(|kernel| kernel.wait.is_none()) {
        return missing("how long operators waited");
    }
    if subject.inference.is_some() && subject.kernels.iter().all(|kernel| kernel.iteration.is_none()) {
        return missing("the inference that each operator belongs to");
    }
    let limit = rule.limit("min_wait_us") * 1e3;
    let long = |kernel: &&Kernel<'_>| kernel.wait.is_some_and(|wait| wait.0 as f64 > limit);
    let spans = subject.kernels.iter().filter(long).flat_map(|kernel| subject.idle_before(kernel));
    // Several streams may wait for one and the same thing.
    let waited = opscope_analyze::covered_time(spans.collect());
    let Some(overview) = subject.overview() else { return missing("a profile") };
    let count = subject.iterations as i64;
    let saves = Nanoseconds(waited.0 / count).min(overview.idle());
    if saves.0 as f64 <= rule.limit("share_above") * overview.wall.0 as f64 {
        return Outcome::Silent;
    }
    let mut claims = Claims::default();
    for kernel in subject.kernels.iter().filter(long) {
        let wait = Nanoseconds(kernel.wait.unwrap_or_default().0 / count);
        claims.mention_time(kernel, wait, "waited before it");
    }
    let within = if subject.inference.is_some() { ", within an inference" } else { "" };
    let note = Some(format!("counted only as far as nothing ran on the device{within}"));
    Found { evidence: claims.into_evidence(), saves: Some(saves), whole: Some(overview.wall), note }
        .or_silent()
}

/// The units whose busy time is compared.
const PIPES: [&str; 7] =
    ["vec_ratio", "mac_ratio", "scalar_ratio", "mte1_ratio", "mte2_ratio", "mte3_ratio", "fixpipe_ratio"];

/// Finds the unit that is the busiest in a kernel.
pub(super) fn busiest(subject: &Subject<'_>) -> impl Fn(&Kernel<'_>) -> Option<(&'static str, f64)> {
    let pipes = PIPES.map(|name| (name, subject.metric(name)));
    move |kernel| {
        let ratios = pipes.iter().filter_map(|(name, metric)| Some((*name, metric.of(kernel)?)));
        ratios.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

fn pipeline(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if !subject.has_metric("memory_bound") {
        return missing("the metric memory_bound");
    }
    let (memory_bound, busiest) = (subject.metric("memory_bound"), busiest(subject));
    let (least, most) = (rule.limit("bound"), rule.limit("busy"));
    let mut claims = Claims::default();
    for kernel in &subject.kernels {
        let bound = memory_bound.of(kernel).unwrap_or(0.0);
        let Some((unit, ratio)) = busiest(kernel) else { continue };
        if bound > least && ratio < most {
            claims.claim(subject, kernel, format_args!("busiest is {unit} {ratio:.3}"), 1.0 - ratio);
        }
    }
    Causes::one(claims)
}

fn path_rate(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let paths = [
        ("main_mem_read_bw", "from DDR", "ddr_gb_per_s"),
        ("main_mem_write_bw", "to DDR", "ddr_gb_per_s"),
        ("l2_read_bw", "from L2", "l2_gb_per_s"),
        ("l0a_write_bw", "from L1 to L0A", "l0a_gb_per_s"),
        ("l0b_write_bw", "from L1 to L0B", "l0b_gb_per_s"),
    ];
    if !paths.iter().any(|(name, ..)| subject.has_metric(name)) {
        return missing("rates of memory (the group of counters Memory or MemoryL0)");
    }
    if !rule.has_figures_of(subject.target) {
        return missing("the peak rates of this chip (those of the Ascend 310 are known)");
    }
    let rates = paths.map(|(name, path, peak)| (subject.metric(name), path, rule.limit(peak)));
    let busy = rule.limit("busy");
    let mut claims = Claims::default();
    for kernel in &subject.kernels {
        let shares = rates.iter().filter_map(|(rate, path, peak)| Some((*path, rate.of(kernel)? / peak)));
        let Some((path, share)) = shares.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        if share > busy {
            claims.mention(subject, kernel, format_args!("{path} at {:.0} % of its peak", share * 100.0));
        }
    }
    Causes::one(claims)
}

fn too_few_blocks(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let mac_ratio = subject.metric("mac_ratio");
    by_blocks(
        subject,
        &["block_num", "mac_ratio"],
        |unit| cores(subject, unit),
        |kernel, blocks, cores| {
            let works = mac_ratio.of(kernel).is_some_and(|ratio| ratio > 0.0);
            (works && blocks < cores).then(|| 1.0 - blocks / cores)
        },
    )
}

/// Judges the operators whose blocks were counted, each against the cores of its own kind; the judge returns
/// the part of its time that an operator could save. The first of the metrics counts the blocks.
fn by_blocks(
    subject: &Subject<'_>,
    metrics: &[&str],
    cores: impl Fn(ExecutionUnit) -> Option<f64>,
    judge: impl Fn(&Kernel<'_>, f64, f64) -> Option<f64>,
) -> Outcome {
    const CORES: &str = "how many cores of this kind the device has (--cores)";
    if !subject.kernels.any_unit(|unit| cores(unit).is_some()) {
        return missing(CORES);
    }
    if let Some(metric) = metrics.iter().find(|metric| !subject.has_metric(metric)) {
        return Outcome::Missing(format!("the metric {metric}"));
    }
    let (block_num, cores) = (subject.metric(metrics[0]), subject.kernels.by_kind(|kind| cores(kind.unit)));
    let mut claims = Claims::default();
    let mut is_unknown = false;
    for kernel in &subject.kernels {
        let Some(blocks) = block_num.of(kernel).filter(|blocks| *blocks >= 1.0) else { continue };
        let Some(cores) = *cores.of(kernel) else {
            is_unknown = true;
            continue;
        };
        if let Some(part) = judge(kernel, blocks, cores) {
            claims.claim(subject, kernel, BlocksOn { blocks, cores }, part);
        }
    }
    if claims.is_empty() && is_unknown { missing(CORES) } else { Causes::one(claims) }
}

/// The cores that a unit's blocks run on; for operators on both kinds, those of the kind that leads.
fn cores(subject: &Subject<'_>, unit: ExecutionUnit) -> Option<f64> {
    let cores = match unit {
        ExecutionUnit::AiCore | ExecutionUnit::MixAiCore => subject.cores,
        ExecutionUnit::AiVectorCore | ExecutionUnit::MixVectorCore => subject.trace?.run.vector_cores,
        _ => None,
    };
    cores.filter(|cores| *cores > 0).map(f64::from)
}

/// How many blocks ran on how many cores, in words.
struct BlocksOn {
    blocks: f64,
    cores: f64,
}

impl fmt::Display for BlocksOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { blocks, cores } = *self;
        match (blocks == 1.0, cores == 1.0) {
            (true, true) => write!(f, "{blocks} block on {cores} core"),
            (true, false) => write!(f, "{blocks} block on {cores} cores"),
            (false, true) => write!(f, "{blocks} blocks on {cores} core"),
            (false, false) => write!(f, "{blocks} blocks on {cores} cores"),
        }
    }
}

fn uneven_blocks(subject: &Subject<'_>, _: &Rule) -> Outcome {
    uneven(subject, "block_num", |unit| cores(subject, unit))
}

fn uneven_mixed_blocks(subject: &Subject<'_>, _: &Rule) -> Outcome {
    uneven(subject, "mix_block_num", |unit| match unit {
        ExecutionUnit::AiCore | ExecutionUnit::MixAiCore => cores(subject, ExecutionUnit::AiVectorCore),
        ExecutionUnit::AiVectorCore | ExecutionUnit::MixVectorCore => cores(subject, ExecutionUnit::AiCore),
        _ => None,
    })
}

/// The last of several rounds is not full; what its idle cores could have done is what can be saved.
fn uneven(subject: &Subject<'_>, metric: &str, cores: impl Fn(ExecutionUnit) -> Option<f64>) -> Outcome {
    by_blocks(subject, &[metric], cores, |_, blocks, cores| {
        // Fewer blocks than cores run in one round.
        let is_even = blocks <= cores || (blocks as u64).is_power_of_two() || blocks % cores == 0.0;
        (!is_even).then(|| 1.0 - blocks / ((blocks / cores).ceil() * cores))
    })
}

fn cube_affinity(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    // A kernel by itself is no model.
    if is_of_single_operators(subject) {
        return Outcome::Silent;
    }
    if !subject.has_metric("mac_time") {
        return missing("the metric mac_time");
    }
    let others = ["vec_time", "scalar_time", "mte1_time", "mte2_time", "mte3_time"];
    let (cube, others) = (subject.metric("mac_time"), others.map(|name| subject.metric(name)));
    // Units of an operator work at once, so that only the busiest one's time counts beside the cube's.
    let (mut multiplied, mut busiest) = (0.0, 0.0);
    for kernel in &subject.kernels {
        let cube = cube.of(kernel).unwrap_or(0.0);
        multiplied += cube;
        busiest += others.iter().filter_map(|time| time.of(kernel)).fold(cube, f64::max);
    }
    if busiest <= 0.0 {
        return Outcome::Silent;
    }
    let share = multiplied / busiest;
    if share >= rule.limit("cube_share") {
        return Outcome::Silent;
    }
    Found::note(format!("the cube unit works for {:.0} % of the busiest units' time", share * 100.0))
}

fn nothing_busy(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if !PIPES.iter().any(|name| subject.has_metric(name)) {
        return missing("busy ratios of the units (the group of counters PipeUtilization)");
    }
    let (busiest, shortest) = (busiest(subject), rule.limit("min_us") * 1e3);
    // Of single operators other rules (A35, A36) tell units as the limit from less on.
    let busy = rule.limit(if is_of_single_operators(subject) { "busy_alone" } else { "busy" });
    let mut claims = Claims::default();
    for kernel in subject.kernels.iter().filter(|kernel| kernel.duration.0 as f64 >= shortest) {
        let Some((unit, ratio)) = busiest(kernel) else { continue };
        if ratio > 0.0 && ratio <= busy {
            claims.claim(subject, kernel, format_args!("busiest is {unit} {ratio:.3}"), 1.0 - ratio);
        }
    }
    Causes::one(claims)
}

fn frequency(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return missing("a profile") };
    let of_cores = trace.counters.iter().find(|(_, row)| {
        let name = trace.strings.get(row.name).to_ascii_lowercase();
        name.contains("freq") && name.contains("core")
    });
    let Some((counter, _)) = of_cores else { return missing("samples of the cores' frequency") };
    let samples = trace.samples.iter().filter(|(_, sample)| sample.counter == counter);
    let values: Vec<f64> = samples.map(|(_, sample)| sample.value).filter(|value| *value > 0.0).collect();
    let highest = values.iter().copied().fold(0.0, f64::max);
    if highest <= 0.0 {
        return Outcome::Silent;
    }
    let drop = values.iter().map(|value| (highest - value) / highest).sum::<f64>() / values.len() as f64;
    if drop < rule.limit("drop") {
        return Outcome::Silent;
    }
    let lowest = values.iter().copied().fold(highest, f64::min);
    Found::note(format!("{:.1} % below {highest} MHz on average, {lowest} MHz at the lowest", drop * 100.0))
}

/// Whether a tensor's layout itself says how long the innermost axis is, as that of the device does (C0 of NC1HWC0,
/// the fractals): nobody can pad it.
fn has_inner_axis_of_its_own(trace: &Trace, tensor: TensorId) -> bool {
    let layout = trace.tensors.layout()[tensor.index()].map(|layout| trace.strings.get(layout));
    layout.is_some_and(|layout| layout.contains("C0") || layout.starts_with("FRACTAL"))
}

fn inner_axis(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return missing("a profile") };
    if !subject.has_metric("mac_ratio") && !subject.has_metric("mte2_ratio") {
        return missing("the metrics mac_ratio and mte2_ratio");
    }
    let multiple = rule.limit("bytes").max(1.0);
    let uneven = subject.kernels.by_kind(|kind| {
        let inputs = trace.operators.get(kind.operator).inputs();
        // The largest input is most of what is moved; a step's number beside it doesn't matter.
        let (input, elements) = inputs
            .filter_map(|input| {
                let sizes = trace.shape(input)?.iter().map(|size| u64::try_from(*size).ok());
                let elements = sizes.reduce(|a, b| a?.checked_mul(b?))??;
                Some((input, elements))
            })
            .max_by_key(|(input, elements)| trace.tensors.data_type()[input.index()].bytes(*elements))?;
        if elements <= 1 || has_inner_axis_of_its_own(trace, input) {
            return None;
        }
        let length = u64::try_from(*trace.shape(input)?.last()?).ok()?;
        let bytes = trace.tensors.data_type()[input.index()].bytes(length)?;
        (bytes > 0 && bytes as f64 % multiple != 0.0).then_some(bytes)
    });
    let ratios = [("mac_ratio", "mac"), ("mte2_ratio", "mte2")];
    let ratios = ratios.map(|(name, limit)| (subject.metric(name), rule.limit(limit)));
    let mut claims = Claims::default();
    for kernel in &subject.kernels {
        let Some(bytes) = *uneven.of(kernel) else { continue };
        let keeps = |(ratio, limit): &(Metric<'_>, f64)| ratio.of(kernel).unwrap_or(0.0) <= *limit;
        if !ratios.iter().all(keeps) {
            claims.mention(subject, kernel, format_args!("rows of {bytes} bytes"));
        }
    }
    Causes::one(claims)
}

fn channels(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let multiple = rule.limit("multiple").max(1.0) as i64;
    if let Some(model) = subject.model {
        let mut places = Places::new(subject, Means::Form);
        for (node, into, out) in crate::graph::odd_channels(model, multiple) {
            places.add(&node, &[], format!("{into} to {out} channels"));
        }
        return places.without_savings();
    }
    let Some(trace) = subject.trace else { return missing("a profile or a model") };
    let channels = subject.kernels.by_kind(|kind| {
        if !kind.op_type.starts_with("Conv") {
            return None;
        }
        // The weights say it where they still have the model's layout.
        let weights = trace.operators.get(kind.operator).inputs().nth(1).filter(|input| {
            let layout = trace.tensors.layout()[input.index()].map(|layout| trace.strings.get(layout));
            matches!(layout, None | Some("NCHW" | "ND"))
                && trace.tensors.data_type()[input.index()] != DataType::Unknown
        });
        match weights.and_then(|weights| trace.shape(weights)) {
            Some(&[out, into, _, _]) => Some((into, out)),
            _ => None,
        }
    });
    let mut claims = Claims::default();
    let mut known = false;
    for kernel in &subject.kernels {
        let Some((into, out)) = *channels.of(kernel) else { continue };
        known = true;
        // The three channels of an image are given.
        if out % multiple != 0 || (into % multiple != 0 && into > 4) {
            claims.mention(subject, kernel, format_args!("{into} to {out} channels"));
        }
    }
    if known { Causes::one(claims) } else { missing("shapes of weights (give the model with --model)") }
}
