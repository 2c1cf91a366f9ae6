//! Targets: the chips and engines that models run on.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use opscope_trace::{EngineName, ExecutionUnit, ProfileFormat, Trace};
use serde::Deserialize;

/// Facts about targets that rules ask for, from `rules/targets.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    #[serde(default)]
    families: Vec<Family>,
    /// Operators of ONNX that it is known to lack.
    #[serde(default)]
    lacks: Vec<String>,
    /// The lacking operators that are slow when others spell them out.
    #[serde(default)]
    slow_in_pieces: Vec<String>,
    /// Rewrites with which models were measured to be slower on it, by id.
    #[serde(default)]
    slower: Vec<String>,
    /// The word for its general processor.
    #[serde(default)]
    processor: Option<String>,
    #[serde(default)]
    fusion: Option<FusionLimits>,
    /// Where the facts come from.
    #[serde(default, rename = "source")]
    _source: String,
}

/// The chains of operators that a target fuses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FusionLimits {
    /// How many elementwise operators a chain may have, by the word for its kind.
    pub elementwise: BTreeMap<String, usize>,
    /// The elementwise operators of ONNX.
    pub operators: Vec<String>,
    /// Where the limits come from.
    #[serde(rename = "source")]
    _source: String,
}

/// The words for families of targets.
const FAMILIES: [&str; 2] = ["ascend", "accelerator"];

/// Units that only Ascend processors have.
const ASCEND_UNITS: [ExecutionUnit; 5] = [
    ExecutionUnit::AiCore,
    ExecutionUnit::AiVectorCore,
    ExecutionUnit::MixAiCore,
    ExecutionUnit::MixVectorCore,
    ExecutionUnit::AiCpu,
];

/// Targets that have something in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Family {
    /// Ascend processors.
    Ascend,
    /// Targets with matrix units that want models in a certain form.
    Accelerator,
}

/// The file is part of the program; a test reads it.
static FACTS: LazyLock<BTreeMap<String, Facts>> =
    LazyLock::new(|| toml::from_str(include_str!("rules/targets.toml")).unwrap_or_default());

/// A target, or a family of them, as rules name it.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct TargetGroup(String);

impl TryFrom<String> for TargetGroup {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let is_known = FAMILIES.contains(&&*name) || name == "unknown" || Target::from_name(&name).is_some();
        if is_known { Ok(Self(name)) } else { Err(format!("there is no target `{name}`")) }
    }
}

impl TargetGroup {
    /// Whether a target is one of the group.
    pub fn has(&self, target: Target) -> bool {
        match &*self.0 {
            "ascend" => target.is_ascend(),
            "accelerator" => target.is_accelerator(),
            name => target.name() == name,
        }
    }
}

/// A chip or an engine that a model runs on, or is to run on.
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

    fn facts(self) -> Option<&'static Facts> {
        FACTS.get(self.name())
    }

    fn is_of(self, family: Family) -> bool {
        self.facts().is_some_and(|facts| facts.families.contains(&family))
    }

    /// Whether it is an Ascend processor.
    pub fn is_ascend(self) -> bool {
        self.is_of(Family::Ascend)
    }

    /// Whether it has matrix units that want models in a certain form.
    pub fn is_accelerator(self) -> bool {
        self.is_of(Family::Accelerator)
    }

    /// Whether it is known to lack an operator of ONNX; `false` where that isn't known.
    pub fn lacks(self, op_type: &str) -> bool {
        self.facts().is_some_and(|facts| facts.lacks.iter().any(|lacked| lacked == op_type))
    }

    /// Whether an operator that it lacks is slow when it is spelled out by others.
    pub(crate) fn is_slow_in_pieces(self, op_type: &str) -> bool {
        self.facts().is_some_and(|facts| facts.slow_in_pieces.iter().any(|slow| slow == op_type))
    }

    /// Whether models were measured to be slower on it with a rewrite.
    pub(crate) fn is_slower_with(self, rewrite: &str) -> bool {
        self.facts().is_some_and(|facts| facts.slower.iter().any(|slower| slower == rewrite))
    }

    /// The word for the general processor beside its cores.
    pub(crate) fn processor(self) -> &'static str {
        self.facts().and_then(|facts| facts.processor.as_deref()).unwrap_or("AI CPU")
    }

    /// The chains that it fuses, where that is known.
    pub(crate) fn fusion(self) -> Option<&'static FusionLimits> {
        self.facts()?.fusion.as_ref()
    }

    /// The target of a chip as the converter's `--soc_version` names it: `Ascend310P3`, `SS928V100`.
    pub fn of_soc_version(name: &str) -> Self {
        match name {
            "Ascend310" => Self::Cann310,
            _ if name.starts_with("Ascend") => Self::Cann,
            _ if name.starts_with("SS") => Self::Svp,
            _ => Self::Unknown,
        }
    }

    /// The target of a chip as profiles name it: `Ascend 310`, `Ascend 310P`. Other vendors have numbers like
    /// these too (Arc A310), so that a number alone says nothing.
    fn of_ascend_chip(name: &str) -> Self {
        let name: String = name.split_whitespace().collect::<String>().to_ascii_lowercase();
        match name.strip_prefix("ascend") {
            Some("310") => Self::Cann310,
            Some(_) => Self::Cann,
            None => Self::Unknown,
        }
    }

    /// The target that a profile was taken on.
    pub fn of(trace: &Trace) -> Self {
        let run = &trace.run;
        let runs_on = |units: &[ExecutionUnit]| trace.tasks.unit().iter().any(|unit| units.contains(unit));
        let devices = trace.devices.name().iter().map(|name| trace.strings.get(*name));
        let chips = run.chip.as_deref().into_iter().chain(devices);
        let of_chip = chips.map(Self::of_ascend_chip).find(|target| *target != Self::Unknown);
        match (run.format, run.engine) {
            (Some(ProfileFormat::Svp), _) => Self::Svp,
            (Some(ProfileFormat::MegEngine), _) => Self::MegEngine,
            (_, Some(EngineName::Tract)) => Self::Tract,
            (_, Some(engine)) if engine.is_onnx_runtime() => Self::OnnxRuntime,
            (Some(ProfileFormat::TensorRt), _) => Self::TensorRt,
            _ if of_chip.is_some() => of_chip.unwrap_or_default(),
            (Some(ProfileFormat::Cann | ProfileFormat::Cann2022 | ProfileFormat::CannOperators), _) => {
                Self::Cann
            }
            _ if runs_on(&ASCEND_UNITS) => Self::Cann,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_about_targets_can_be_read_and_only_targets_that_exist_can_be_named() {
        let facts: BTreeMap<String, Facts> = toml::from_str(include_str!("rules/targets.toml")).unwrap();
        let is_target = |name: &str| name == "unknown" || Target::from_name(name).is_some();
        assert!(facts.keys().all(|name| is_target(name)), "{:?}", facts.keys());
        let wrong = TargetGroup::try_from("gpu".to_owned());
        assert_eq!(wrong.map(|_| ()), Err("there is no target `gpu`".to_owned()));
        assert!(Target::Cann.is_ascend() && Target::Svp.is_accelerator() && !Target::Svp.is_ascend());
        assert!(Target::Cann310.lacks("Mish") && !Target::Cann310.lacks("Softplus"));
        assert!(!Target::Svp.lacks("Gelu") && !Target::Tract.lacks("Mish"));
    }

    #[test]
    fn no_target_fuses_an_operator_that_it_lacks() {
        for (name, target) in Target::NAMES {
            let fused = target.fusion().map_or(&[][..], |limits| &limits.operators);
            let lacked: Vec<&String> = fused.iter().filter(|op_type| target.lacks(op_type)).collect();
            assert!(lacked.is_empty(), "{name}: {lacked:?}");
        }
    }

    fn of_chip(name: &str) -> Target {
        let mut trace = Trace::new();
        trace.run.chip = Some(name.to_owned());
        Target::of(&trace)
    }

    #[test]
    fn a_chip_is_known_by_its_vendors_name_and_the_same_by_the_converters() {
        for (profiles, converters) in [("Ascend 310", "Ascend310"), ("Ascend 310P", "Ascend310P3")] {
            assert_eq!(of_chip(profiles), Target::of_soc_version(converters), "{profiles}");
        }
        assert_eq!((of_chip("Ascend310"), of_chip("Ascend 310P")), (Target::Cann310, Target::Cann));
        assert_eq!(of_chip("Intel(R) Arc(TM) A310 Graphics"), Target::Unknown);
    }

    #[test]
    fn operators_on_both_kinds_of_cores_and_layers_of_tensorrt_tell_their_target() {
        for unit in [ExecutionUnit::MixAiCore, ExecutionUnit::MixVectorCore] {
            let mut trace = Trace::new();
            let name = trace.strings.intern("main_kernel");
            let task = opscope_trace::Task::new(name, Default::default(), Default::default());
            trace.tasks.push(opscope_trace::Task { unit, ..task });
            assert_eq!(Target::of(&trace), Target::Cann);
        }
        let mut trace = Trace::new();
        trace.run.format = Some(ProfileFormat::TensorRt);
        assert_eq!(Target::of(&trace), Target::TensorRt);
    }
}
