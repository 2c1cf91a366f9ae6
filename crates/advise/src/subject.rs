//! What rules look at.

use std::collections::HashMap;
use std::path::PathBuf;

use opscope_analyze::{Latencies, Measured, Roofline, self_times};
use opscope_model::{Model, Shapes};
use opscope_trace::{ExecutionUnit, MetricId, Nanoseconds, Operator, ReadingId, StreamId, TaskId, Trace};

use crate::ability::Ability;
use crate::claim::Claim;
use crate::converter::{Conversion, ConverterOptions, FusionResult, Switches};
use crate::executed::{Executed, Executions, Ran};
use crate::finding::Evidence;

/// Activations beside Relu, LeakyRelu, PRelu and Elu, which every target has.
pub(crate) const ACTIVATIONS: [&str; 12] = [
    "Mish",
    "HardSwish",
    "Gelu",
    "Softsign",
    "Softplus",
    "HardSigmoid",
    "Selu",
    "Celu",
    "Swish",
    "ThresholdedRelu",
    "Erf",
    "FastGelu",
];

/// Those of them that the engine of the boards has, by the guide of its converter.
const ON_BOARD: [&str; 2] = ["Gelu", "Erf"];

/// What a model runs on, or is to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Nobody said, and the profile doesn't tell.
    #[default]
    Unknown,
    /// The Ascend 310.
    Cann310,
    /// Another Ascend processor.
    Cann,
    /// A board with an SVP engine.
    Svp,
    /// ONNX Runtime on a processor.
    OnnxRuntime,
    /// tract.
    Tract,
    /// MegEngine.
    MegEngine,
    /// TensorRT.
    TensorRt,
}

impl Target {
    /// All targets by the words that the command line has for them.
    pub const NAMES: [(&str, Self); 8] = [
        ("cann-310", Self::Cann310),
        ("cann", Self::Cann),
        ("cann-910", Self::Cann),
        ("svp", Self::Svp),
        ("ort", Self::OnnxRuntime),
        ("tract", Self::Tract),
        ("megengine", Self::MegEngine),
        ("tensorrt", Self::TensorRt),
    ];

    /// The target of a word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, target)| *target == self).map_or("unknown", |(name, _)| name)
    }

    /// Whether it is an Ascend processor.
    pub fn is_ascend(self) -> bool {
        matches!(self, Self::Cann310 | Self::Cann)
    }

    /// Whether it has matrix units that want models in a certain form.
    pub fn is_accelerator(self) -> bool {
        self.is_ascend() || matches!(self, Self::Svp | Self::TensorRt)
    }

    /// What a profile was taken on.
    pub fn of(trace: &Trace) -> Self {
        let says = |key: &str, word: &str| trace.property(key).is_some_and(|value| value.contains(word));
        let runs_on = |units: &[ExecutionUnit]| trace.tasks.unit().iter().any(|unit| units.contains(unit));
        let chips = trace.devices.name().iter().map(|name| trace.strings.get(*name));
        let is_310 = says("chip", "310") || chips.into_iter().any(|name| name.contains("310"));
        if says("source", "SVP") {
            Self::Svp
        } else if says("format", "MegEngine") {
            Self::MegEngine
        } else if says("engine", "tract") {
            Self::Tract
        } else if says("engine", "ort") || says("engine", "ONNX Runtime") {
            Self::OnnxRuntime
        } else if is_310 {
            Self::Cann310
        } else if says("format", "CANN")
            || runs_on(&[ExecutionUnit::AiCore, ExecutionUnit::AiVectorCore, ExecutionUnit::AiCpu])
        {
            Self::Cann
        } else {
            Self::Unknown
        }
    }

    /// Whether it is known to lack an operator of ONNX; `false` where that isn't known.
    ///
    /// For the Ascend 310 these are the activations beside those that Huawei's article names, for
    /// boards what their converter's guide doesn't list for the engine.
    pub fn lacks(self, op_type: &str) -> bool {
        match self {
            // Softplus and Erf are what it decomposes the others into.
            Self::Cann310 => ACTIVATIONS.contains(&op_type) && !["Softplus", "Erf"].contains(&op_type),
            Self::Svp => ACTIVATIONS.contains(&op_type) && !ON_BOARD.contains(&op_type),
            _ => false,
        }
    }

    /// Whether a rule is about this target. Rules of users always are.
    pub(crate) fn has_rule(self, id: &str) -> bool {
        let unknown = self == Self::Unknown;
        match id {
            // These hold wherever a program loads models, marks ranges or repeats sequences.
            "A10" | "A28" | "A32" | "A33" => self != Self::MegEngine,
            "A34" => self.is_accelerator(),
            "E04" => self == Self::Svp,
            "E02" | "E03" | "E05" | "E06" | "E07" => self.is_ascend() || self == Self::Svp,
            "G02" | "G07" | "G17" | "G18" | "G19" | "G20" | "G24" => self.is_ascend() || self == Self::Svp,
            // What other Ascend processors lack isn't known.
            "G06" => matches!(self, Self::Cann310 | Self::Svp),
            "G08" | "C01" => self.is_ascend(),
            "C02" | "C03" => self.is_ascend() || self == Self::Svp,
            "H09" => matches!(self, Self::OnnxRuntime | Self::Tract),
            "H10" => self.is_accelerator(),
            "H11" => self == Self::TensorRt,
            "H12" => self == Self::MegEngine,
            _ if id.starts_with('A') => self.is_ascend(),
            _ if id.starts_with('S') || id.starts_with('V') => self == Self::Svp,
            _ => !(unknown && id.starts_with('E') && id != "E01"),
        }
    }
}

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
    pub start: Nanoseconds,
    pub duration: Nanoseconds,
    /// Its own time in nanoseconds.
    pub time: f64,
    pub wait: Option<Nanoseconds>,
    pub reading: Option<ReadingId>,
}

/// What rules look at: a profile, a model, or both.
pub struct Subject<'a> {
    /// The profile.
    pub trace: Option<&'a Trace>,
    /// The model.
    pub model: Option<&'a Model>,
    /// The shapes of the model's values, where they could be worked out.
    pub shapes: Option<&'a Shapes>,
    /// What it runs on.
    pub target: Target,
    /// How the profile was taken.
    pub environment: Environment,
    /// How the model was converted.
    pub converter: Option<&'a ConverterOptions>,
    /// Which of the converter's fusion rules were on and off.
    pub switches: Option<&'a Switches>,
    /// What the converter's fusion rules did.
    pub fusion_result: Option<&'a FusionResult>,
    /// How many cores the device has, where that is known.
    pub cores: Option<u32>,
    /// The peaks of the machine that the profile is from.
    pub roof: Option<Roofline>,
    /// Profiles of the same model with other numbers of threads or batch sizes.
    pub sweep: Vec<&'a Trace>,
    /// What opscope's rewrites do to the model, where somebody asked them.
    pub rewrites: Option<&'a [Ability]>,
    /// The executed operators, by stream and start.
    pub(crate) kernels: Vec<Kernel<'a>>,
    /// How many iterations were measured.
    pub(crate) iterations: usize,
    /// The operators' own time in an average iteration.
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
            rewrites: None,
            kernels: Vec::new(),
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
        self.cores = trace.property("ai_cores").and_then(|text| text.parse().ok());
        for (id, metric) in trace.metrics.iter() {
            let factor = if trace.strings.get(metric.unit) == "%" { 0.01 } else { 1.0 };
            let name = trace.strings.get(metric.name).to_ascii_lowercase();
            self.metrics.entry(name).or_default().push((id, factor));
        }
        let mut readings: Vec<Option<ReadingId>> = vec![None; trace.tasks.len()];
        for (id, reading) in trace.readings.iter() {
            readings[reading.task.index()] = Some(id);
        }
        let own = self_times(trace);
        // What a change saves is saved of inferences that nobody records.
        let scale = Latencies::of(trace, None).scale();
        for task in measured.tasks {
            let row = trace.tasks.get(task);
            let Some(operator) = row.operator else { continue };
            let time = own[task.index()].0.max(0) as f64 * scale;
            let executed = self.executions.add(trace, operator, time / self.iterations as f64);
            let name = trace.strings.get(trace.operators.name()[operator.index()]);
            self.kernels.push(Kernel {
                task,
                executed,
                name,
                op_type: trace.strings.get(trace.operators.op_type()[operator.index()]),
                unit: row.unit,
                stream: row.stream,
                start: row.start,
                duration: row.duration,
                time,
                wait: row.wait,
                reading: readings[task.index()],
            });
        }
        self.kernels.sort_by_key(|kernel| (kernel.stream, kernel.start));
        let total: f64 = self.kernels.iter().map(|kernel| kernel.time).sum();
        self.total = Nanoseconds((total / self.iterations as f64) as i64);
        // Of the same iterations as the operators' times, so that the rest is what lies between those.
        let durations = measured.iterations.iter().map(|id| trace.iterations.duration()[id.index()].0 as f64);
        let whole = durations.sum::<f64>() * scale;
        self.inference = (whole > 0.0).then(|| Nanoseconds((whole / self.iterations as f64) as i64));
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
            (!value.is_nan()).then_some(value * factor)
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
        Claim { evidence: self.evidence(kernel, detail), saves: vec![(kernel.executed, saved)] }
    }

    /// A kernel of which nobody knows how much could be saved.
    pub(crate) fn mention(&self, kernel: &Kernel<'_>, detail: String) -> Claim {
        Claim { evidence: self.evidence(kernel, detail), saves: Vec::new() }
    }

    /// Whether the profile has the time of a node of the graph, alone or with others.
    pub fn has_time_of(&self, node: &str) -> bool {
        self.executions.has(node)
    }

    /// Whether the profile has nodes of the model.
    pub(crate) fn is_of_this_model(&self) -> bool {
        self.is_of_this_model
    }

    /// What became of nodes of the graph.
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
