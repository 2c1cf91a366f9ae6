//! The profile and the model that rules look at.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use opscope_analyze::{
    Iterations, Latencies, Measured, Overview, Roofline, Scope, Statistics, may_have_same_elements,
    recorded_times, work_times,
};
use opscope_model::{Model, Shapes};
use opscope_trace::{Nanoseconds, Operator, StringId, Trace};

use crate::claim::greatest;
use crate::converter::{Conversion, ConverterOptions, FusionResult, OperatorLibrary, Switches};
use crate::executed::{Executed, Executions, Ran};
use crate::finding::Finding;
use crate::graph::nodes_behind;
use crate::idle::Idle;
use crate::kernels::{Collector, Kernel, Kernels};
use crate::metrics::{Metric, Metrics};
use crate::rewrites::Rewrites;
use crate::target::Target;

/// The rewrites that put one operator in the place of its pieces.
const CONTRACTIONS: &str = "G05a,G06,G28";

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
    /// The operators that there are for the cores of the chip, as its compiler's library says.
    pub operator_library: Option<&'a OperatorLibrary>,
    /// How many cores the device has, where that is known.
    pub cores: Option<u32>,
    /// The peaks of the machine that the profile is from.
    pub roof: Option<Roofline>,
    /// Profiles of the same model with other numbers of threads or batch sizes.
    pub sweep: Vec<&'a Trace>,
    /// Where opscope's rewrites apply to the model.
    pub(crate) rewrites: Option<Rewrites<'a>>,
    /// The executed operators, by stream, iteration and start.
    pub(crate) kernels: Kernels<'a>,
    /// The time in which no task ran.
    idle: Idle,
    /// How many iterations were measured.
    pub(crate) iterations: usize,
    /// The own time of all work in an average iteration, also of tasks that belong to no operator.
    pub total: Nanoseconds,
    /// The metrics of the kernels.
    metrics: Metrics<'a>,
    /// The operators that the kernels executed.
    pub(crate) executions: Executions<'a>,
    /// Whether the profile has a node of the model, so that those it hasn't got didn't run.
    is_of_this_model: bool,
    /// How long an average iteration took from its beginning to its end, where the profile says.
    pub(crate) inference: Option<Nanoseconds>,
    /// The profile at first sight, once a rule has asked.
    overview: OnceLock<Option<Overview>>,
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
            operator_library: None,
            cores: None,
            roof: None,
            sweep: Vec::new(),
            rewrites: model.and_then(Rewrites::of),
            kernels: Kernels::default(),
            idle: Idle::default(),
            iterations: 1,
            total: Nanoseconds::ZERO,
            metrics: Metrics::default(),
            executions: Executions::default(),
            is_of_this_model: false,
            inference: None,
            overview: OnceLock::new(),
        };
        if let Some(trace) = trace {
            subject.take(trace);
        }
        let nodes = model.into_iter().flat_map(|model| model.graph().nodes());
        let behind =
            |name: &str, op_type: &str| model.map_or(Vec::new(), |model| nodes_behind(model, name, op_type));
        subject.is_of_this_model =
            subject.executions.explain(nodes.map(|node| (node.name, node.op_type)), behind);
        subject.find_contractions();
        subject
    }

    /// Looks for operators into which the engine contracted what opscope's rewrites would.
    fn find_contractions(&mut self) {
        let Some(rewrites) = self.rewrites.as_ref().filter(|_| self.is_of_this_model) else { return };
        let matches = rewrites.matches(CONTRACTIONS, |_| None);
        for place in matches.iter().flat_map(|matches| &matches.places) {
            let pieces: Vec<&str> = place.nodes.iter().map(|node| &*node.name).collect();
            self.executions.contract(&pieces, &place.made);
        }
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
        let (metrics, readings) = Metrics::of(trace);
        self.metrics = metrics;
        self.idle = Idle::of(trace);
        // A change saves time of inferences that nobody records. Sums of an engine's own are taken in a run by itself,
        // of which nothing tells how long an inference would have been without: their times are the file's.
        let is_summed = trace.run.summed_runs.is_some();
        let times = match is_summed {
            true => recorded_times(trace, &measured),
            false => work_times(trace, &measured),
        };
        self.total = Nanoseconds((times.iter().sum::<f64>() / self.iterations as f64) as i64);
        let tasks = &trace.tasks;
        let mut collector = Collector::new(trace, measured.tasks.len());
        for (&task, time) in measured.tasks.iter().zip(times) {
            let index = task.index();
            let Some(operator) = tasks.operator()[index] else { continue };
            let wait = tasks.wait()[index].map(|wait| {
                let idle = self.idle.in_wait(trace, tasks.iteration()[index], wait, tasks.start()[index]);
                idle.map(|(start, end)| end - start).sum()
            });
            let divided = (time, self.iterations);
            collector.add(&mut self.executions, (task, operator), divided, wait, readings[index]);
        }
        self.kernels = collector.finish();
        // The operators' times are parts of it, so that the rest is what lies between those.
        let latencies = Latencies::of(trace, None);
        let whole = match is_summed {
            true => Statistics::of(latencies.recorded.iter().copied()).map(|recorded| recorded.mean),
            false => latencies.typical(),
        };
        let whole = whole.filter(|_| !measured.iterations.is_empty());
        self.inference = whole.filter(|whole| whole.0 > 0);
    }

    /// The profile at first sight: how long an average iteration took, and how long nothing ran in it.
    pub(crate) fn overview(&self) -> Option<&Overview> {
        let scope = Scope { iterations: Iterations::Measured, ..Scope::default() };
        let overview = || self.trace.and_then(|trace| Overview::of(trace, scope).ok());
        self.overview.get_or_init(overview).as_ref()
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

    /// Whether two kernels may work on the same elements, as far as the profile tells shapes.
    pub(crate) fn may_have_same_elements(&self, a: &Kernel<'_>, b: &Kernel<'_>) -> bool {
        let Some(trace) = self.trace else { return true };
        let operator = |kernel: &Kernel<'_>| trace.tasks.operator()[kernel.task.index()];
        operator(a).zip(operator(b)).is_none_or(|(a, b)| may_have_same_elements(trace, a, b))
    }

    /// Whether the profile has a metric, on whichever kind of core.
    pub(crate) fn has_metric(&self, name: &str) -> bool {
        self.metrics.has(name)
    }

    /// A metric, to be asked for the values of kernels.
    pub(crate) fn metric(&self, name: &str) -> Metric<'a> {
        self.metrics.find(self.trace, name)
    }

    /// The time of a kernel in an average iteration.
    pub(crate) fn part_of_iteration(&self, kernel: &Kernel<'_>) -> Nanoseconds {
        Nanoseconds((kernel.time / self.iterations as f64) as i64)
    }

    /// The parts of operators' time, from 0 to 1, that some findings about this subject could save at most
    /// together; by name and type.
    pub fn savings<'f>(
        &self,
        findings: impl IntoIterator<Item = &'f Finding>,
    ) -> HashMap<(StringId, StringId), f64> {
        let savings = greatest(findings.into_iter().map(|finding| &finding.savings));
        let part = |(executed, time): (Executed, f64)| {
            let whole = self.executions.time(executed);
            (self.executions.key(executed), if whole > 0.0 { time / whole } else { 0.0 })
        };
        savings.into_iter().map(part).collect()
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
