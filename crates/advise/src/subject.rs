//! The profile and the model that rules look at.

use std::collections::HashMap;
use std::path::PathBuf;

use opscope_analyze::{Iterations, Latencies, Measured, Overview, Roofline, Scope, work_times};
use opscope_model::{Model, Shapes};
use opscope_trace::{
    ExecutionUnit, IterationId, MetricId, Nanoseconds, Operator, ReadingId, StreamId, TaskId, Trace,
};

use crate::claim::{Claim, Evidence};
use crate::converter::{Conversion, ConverterOptions, FusionResult, Switches};
use crate::executed::{Executed, Executions, Ran};
use crate::idle::Idle;
use crate::rewrites::Rewrites;
use crate::target::Target;

/// How a profile was taken, as far as that shows beside it.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The real path, if the profile is reached through a symbolic link.
    pub real_path: Option<PathBuf>,
    /// The permission bits of the profile, where the system has such.
    pub mode: Option<u32>,
    /// The bytes that are free where the profile lies.
    pub free_bytes: Option<u64>,
    /// The text of the hosts file of the machine that collects.
    pub hosts: Option<String>,
    /// That machine's name.
    pub host_name: Option<String>,
    /// Whether the mark of the collection's end is there; `None` for formats without one.
    pub ended: Option<bool>,
    /// `ASCEND_GLOBAL_LOG_LEVEL`.
    pub log_level: Option<String>,
    /// The text of an `acl.json` beside the profile.
    pub acl_json: Option<String>,
}

/// A task that executed an operator in a measured iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel<'a> {
    pub task: TaskId,
    /// The operator that it executed.
    pub executed: Executed,
    pub name: &'a str,
    pub op_type: &'a str,
    pub unit: ExecutionUnit,
    pub stream: Option<StreamId>,
    pub iteration: Option<IterationId>,
    pub start: Nanoseconds,
    pub duration: Nanoseconds,
    /// Its own time in nanoseconds.
    pub time: f64,
    /// The part of its wait in which no task ran, within its iteration.
    pub wait: Option<Nanoseconds>,
    pub reading: Option<ReadingId>,
}

impl Kernel<'_> {
    /// Whether another one is of the same stream and iteration, so that one may follow the other.
    pub fn is_beside(&self, other: &Self) -> bool {
        (self.stream, self.iteration) == (other.stream, other.iteration)
    }
}

/// A profile, a model, or both, with all that rules ask about them.
pub struct Subject<'a> {
    /// The profile.
    pub trace: Option<&'a Trace>,
    /// The model.
    pub model: Option<&'a Model>,
    /// The shapes of the model's values, where they could be worked out.
    pub shapes: Option<&'a Shapes>,
    /// The target that it runs on.
    pub target: Target,
    /// How the profile was taken.
    pub environment: Environment,
    /// How the model was converted.
    pub converter: Option<&'a ConverterOptions>,
    /// Which of the converter's fusion rules were on and off.
    pub switches: Option<&'a Switches>,
    /// The effect of the converter's fusion rules.
    pub fusion_result: Option<&'a FusionResult>,
    /// How many cores the device has, where that is known.
    pub cores: Option<u32>,
    /// The peaks of the machine that the profile is from.
    pub roof: Option<Roofline>,
    /// Profiles of the same model with other numbers of threads or batch sizes.
    pub sweep: Vec<&'a Trace>,
    /// Where opscope's rewrites apply to the model.
    pub(crate) rewrites: Option<Rewrites<'a>>,
    /// The executed operators, by stream, iteration and start.
    pub(crate) kernels: Vec<Kernel<'a>>,
    /// The time in which no task ran.
    idle: Idle,
    /// How many iterations were measured.
    pub(crate) iterations: usize,
    /// The own time of all work in an average iteration, also of tasks that belong to no operator.
    pub total: Nanoseconds,
    /// The metrics by their names in small letters, with the factor that makes a part of 1 of them.
    metrics: HashMap<String, Vec<(MetricId, f64)>>,
    /// The operators that the kernels executed.
    pub(crate) executions: Executions<'a>,
    /// Whether the profile has a node of the model, so that those it hasn't got didn't run.
    is_of_this_model: bool,
    /// How long an average iteration took from its beginning to its end, where the profile says.
    pub(crate) inference: Option<Nanoseconds>,
}

impl<'a> Subject<'a> {
    /// Prepares a profile, a model, or both; without a target, the profile's own is taken.
    pub fn new(trace: Option<&'a Trace>, model: Option<&'a Model>, target: Option<Target>) -> Self {
        let mut subject = Self {
            trace,
            model,
            shapes: None,
            target: target.unwrap_or_else(|| trace.map(Target::of).unwrap_or_default()),
            environment: Environment::default(),
            converter: None,
            switches: None,
            fusion_result: None,
            cores: None,
            roof: None,
            sweep: Vec::new(),
            rewrites: model.and_then(Rewrites::of),
            kernels: Vec::new(),
            idle: Idle::default(),
            iterations: 1,
            total: Nanoseconds::ZERO,
            metrics: HashMap::new(),
            executions: Executions::default(),
            is_of_this_model: false,
            inference: None,
        };
        if let Some(trace) = trace {
            subject.take(trace);
        }
        let mut names = model.into_iter().flat_map(|model| model.graph().nodes()).map(|node| node.name);
        subject.is_of_this_model = names.any(|name| subject.executions.has(name));
        subject
    }

    /// All that is known of the model's conversion.
    pub(crate) fn conversion(&self) -> Conversion<'a> {
        let (command, switches, result) = (self.converter, self.switches, self.fusion_result);
        Conversion { command, switches, result, is_svp: self.target == Target::Svp }
    }

    fn take(&mut self, trace: &'a Trace) {
        let measured = Measured::of(trace);
        self.iterations = measured.count();
        self.cores = trace.run.ai_cores;
        for (id, metric) in trace.metrics.iter() {
            let factor = if trace.strings.get(metric.unit) == "%" { 0.01 } else { 1.0 };
            let name = trace.strings.get(metric.name).to_ascii_lowercase();
            self.metrics.entry(name).or_default().push((id, factor));
        }
        let mut readings: Vec<Option<ReadingId>> = vec![None; trace.tasks.len()];
        for (id, reading) in trace.readings.iter() {
            readings[reading.task.index()] = Some(id);
        }
        self.idle = Idle::of(trace);
        // A change saves time of inferences that nobody records.
        let times = work_times(trace, &measured);
        self.total = Nanoseconds((times.iter().sum::<f64>() / self.iterations as f64) as i64);
        for (&task, time) in measured.tasks.iter().zip(times) {
            let row = trace.tasks.get(task);
            let Some(operator) = row.operator else { continue };
            let executed = self.executions.add(trace, operator, time / self.iterations as f64);
            let name = trace.strings.get(trace.operators.name()[operator.index()]);
            self.kernels.push(Kernel {
                task,
                executed,
                name,
                op_type: trace.strings.get(trace.operators.op_type()[operator.index()]),
                unit: row.unit,
                stream: row.stream,
                iteration: row.iteration,
                start: row.start,
                duration: row.duration,
                time,
                wait: row.wait.map(|wait| {
                    let idle = self.idle.in_wait(trace, row.iteration, wait, row.start);
                    idle.map(|(start, end)| end - start).sum()
                }),
                reading: readings[task.index()],
            });
        }
        self.kernels.sort_by_key(|kernel| (kernel.stream, kernel.iteration, kernel.start));
        // The operators' times are parts of it, so that the rest is what lies between those.
        let whole = Latencies::of(trace, None).typical().filter(|_| !measured.iterations.is_empty());
        self.inference = whole.filter(|whole| whole.0 > 0);
    }

    /// The profile at first sight: how long an average iteration took, and how long nothing ran in it.
    pub(crate) fn overview(&self) -> Option<Overview> {
        let scope = Scope { iterations: Iterations::Measured, ..Scope::default() };
        self.trace.and_then(|trace| Overview::of(trace, scope).ok())
    }

    /// The stretches of a kernel's wait in which no task ran, within its iteration.
    pub(crate) fn idle_before(
        &self,
        kernel: &Kernel<'_>,
    ) -> impl Iterator<Item = (Nanoseconds, Nanoseconds)> {
        let wait = |trace: &'a Trace| Some((trace, trace.tasks.wait()[kernel.task.index()]?));
        let (iteration, start) = (kernel.iteration, kernel.start);
        let waited = self.trace.and_then(wait);
        waited.into_iter().flat_map(move |(trace, wait)| self.idle.in_wait(trace, iteration, wait, start))
    }

    /// The operator of a kernel, as the trace has it.
    pub(crate) fn operator_row(&self, kernel: &Kernel<'_>) -> Option<Operator> {
        let trace = self.trace?;
        Some(trace.operators.get(trace.tasks.operator()[kernel.task.index()]?))
    }

    /// Whether the profile has a metric, on whichever kind of core.
    pub(crate) fn has_metric(&self, name: &str) -> bool {
        spellings(name).iter().any(|name| self.metrics.contains_key(name))
    }

    /// A metric of a kernel; the greatest where several kinds of cores have it. Percentages become
    /// parts of 1.
    pub(crate) fn metric(&self, kernel: &Kernel<'_>, name: &str) -> Option<f64> {
        let (trace, reading) = (self.trace?, kernel.reading?);
        let wanted = spellings(name);
        let known = wanted.iter().filter_map(|name| self.metrics.get(name)).flatten();
        let values = known.filter_map(|(id, factor)| {
            let (_, value) = trace.readings_of(reading).find(|(metric, _)| metric == id)?;
            Some(value * factor)
        });
        values.reduce(f64::max)
    }

    /// A kernel as evidence.
    pub(crate) fn evidence(&self, kernel: &Kernel<'_>, detail: String) -> Evidence {
        Evidence {
            name: kernel.name.to_owned(),
            op_type: kernel.op_type.to_owned(),
            time: Some(Nanoseconds((kernel.time / self.iterations as f64) as i64)),
            detail,
        }
    }

    /// A kernel of whose time a part, from 0 to 1, could be saved.
    pub(crate) fn claim(&self, kernel: &Kernel<'_>, detail: String, part: f64) -> Claim {
        let saved = kernel.time * part.clamp(0.0, 1.0) / self.iterations as f64;
        Claim {
            evidence: self.evidence(kernel, detail),
            saves: vec![(kernel.executed, saved)],
            changes: Vec::new(),
        }
    }

    /// A kernel of which nobody knows how much could be saved.
    pub(crate) fn mention(&self, kernel: &Kernel<'_>, detail: String) -> Claim {
        Claim { evidence: self.evidence(kernel, detail), saves: Vec::new(), changes: Vec::new() }
    }

    /// Whether the profile has the time of a node of the graph, alone or with others.
    pub fn has_time_of(&self, node: &str) -> bool {
        self.executions.has(node)
    }

    /// Whether the profile has nodes of the model.
    pub(crate) fn is_of_this_model(&self) -> bool {
        self.is_of_this_model
    }

    /// Tells what became of nodes of the graph.
    pub(crate) fn ran(&self, nodes: &[&str]) -> Ran {
        self.executions.ran(nodes, self.is_of_this_model)
    }
}

/// The names that tables of different chips have for a metric, in small letters.
fn spellings(name: &str) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let mut all = vec![format!("aic_{name}"), format!("aiv_{name}")];
    if let Some(unit) = name.strip_suffix("_ratio") {
        all.push(format!("{unit}_exe_ratio"));
    }
    all.push(name);
    all
}
