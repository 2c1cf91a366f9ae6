//! Asking the conditions that stand with a rule's data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use opscope_trace::{DataType, ExecutionUnit, Nanoseconds, OperatorId, TensorId, Trace};

use super::ascend::busiest;
use crate::claim::Claims;
use crate::condition::{Comparison, OperatorCondition, OptionCondition, Saves, comparison};
use crate::kernels::{Kernel, Kind};
use crate::metrics::Metric;
use crate::outcome::{Causes, Found, Outcome};
use crate::rule::Rule;
use crate::subject::Subject;

/// The detail of an operator that a condition holds for: the values that were compared, and the layouts that it
/// converts between, if it does.
struct Detail<'v> {
    values: &'v Values<'v>,
    layouts: Option<(&'v str, &'v str)>,
}

impl fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((from, to)) = self.layouts {
            let gap = if self.values.0.is_empty() { "" } else { ", " };
            write!(f, "{from} to {to}{gap}")?;
        }
        self.values.fmt(f)
    }
}

/// The busy ratios of units that move data.
const MOVERS: [&str; 3] = ["mte1_ratio", "mte2_ratio", "mte3_ratio"];
/// Beginnings of types of operators that copy data, and compute nothing of it.
const COPIES: [&str; 10] = [
    "TensorMove",
    "TransData",
    "Transpose",
    "Identity",
    "ViewCopy",
    "Concat",
    "Split",
    "Slice",
    "StridedSlice",
    "MemSet",
];

/// The memory layouts that an operator takes and gives, where they differ.
pub(super) fn changed_layouts<'s>(
    subject: &'s Subject<'_>,
    kernel: &Kernel<'_>,
) -> Option<(&'s str, &'s str)> {
    let (trace, row) = (subject.trace?, subject.operator_row(kernel)?);
    let layout = |tensor: TensorId| trace.tensors.layout()[tensor.index()].map(|id| trace.strings.get(id));
    let (from, to) = (layout(row.inputs().next()?)?, layout(row.outputs().next()?)?);
    (from != to && !from.is_empty() && !to.is_empty()).then_some((from, to))
}

/// Whether an operator of a type that changes layouts does that on the cores; why one is on the general processor
/// beside them is for the rules about that. TensorRT has one type, `Reformat`, for more: for
/// conversions of element types, such as the quantisations that a model asks for, in one layout; and for the row that
/// ends a part of the network on another accelerator (`{…} output reformatter 0`), which mostly is the wait for that.
fn rearranges(trace: &Trace, kind: &Kind<'_>) -> bool {
    let is_on_cores = kind.unit != ExecutionUnit::AiCpu;
    let is_quantisation = kind.name.contains("QuantizeLinear");
    let ends_part = kind.name.starts_with('{') && kind.name.contains("put reformatter ");
    let row = trace.operators.get(kind.operator);
    let (input, output) = (row.inputs().next(), row.outputs().next());
    let layout = |tensor: Option<TensorId>| {
        let layout = trace.tensors.layout()[tensor?.index()]?;
        Some(without_element_type(trace.strings.get(layout))).filter(|layout| !layout.is_empty())
    };
    let is_same = layout(input).is_some_and(|from| Some(from) == layout(output));
    is_on_cores && !is_quantisation && !ends_part && !is_same
}

/// The words of a layout but for those of its element type: `Row major linear FP16 format` and `Row major linear FP32`
/// are one layout.
fn without_element_type(layout: &str) -> Vec<&str> {
    let is_of_type = |word: &&str| {
        let word = word.to_ascii_lowercase();
        let digits = word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let is_typed = ["fp", "bf", "int", "uint", "float"].contains(&&word[..word.len() - digits.len()]);
        word == "format" || ["half", "float", "bool"].contains(&&*word) || is_typed && !digits.is_empty()
    };
    layout.split_whitespace().filter(|word| !is_of_type(word)).collect()
}

impl OperatorCondition {
    /// Which operators it holds for.
    pub(super) fn check(&self, subject: &Subject<'_>, rule: &Rule) -> Outcome {
        if let Some(missing) = self.missing(subject) {
            return Outcome::Missing(missing);
        }
        let comparisons: Result<Vec<Compared<'_>>, String> =
            self.metrics.iter().map(|text| Compared::new(subject, text, &rule.limits)).collect();
        let comparisons = match comparisons {
            Ok(comparisons) => comparisons,
            Err(message) => return Outcome::Missing(message),
        };
        let (busiest, moved) = (busiest(subject), MOVERS.map(|name| subject.metric(name)));
        let most = rule.limits.get("busy").copied().unwrap_or(1.0);
        let is_moving = |kernel: &Kernel<'_>| {
            moved.iter().any(|ratio| ratio.of(kernel).is_some_and(|ratio| ratio >= most))
        };
        let mut claims = Claims::default();
        let mut matched = 0.0;
        let mut named = BTreeSet::new();
        let mut values = Values(Vec::with_capacity(comparisons.len()));
        for kernel in subject.kernels.of_kinds(|kind| self.fits(subject, kind)) {
            if !holds(rule, kernel, &comparisons, &mut values) || self.computes && is_moving(kernel) {
                continue;
            }
            matched += kernel.time;
            named.insert(kernel.executed);
            let detail = Detail { values: &values, layouts: changed_layouts(subject, kernel) };
            match self.saved(&values, busiest(kernel).map(|(_, ratio)| ratio)) {
                Some(part) => claims.claim(subject, kernel, detail, part),
                None => claims.mention(subject, kernel, detail),
            }
        }
        let above = |name: &str, value: f64| rule.limits.get(name).is_none_or(|limit| value > *limit);
        let total = subject.total.0 as f64 * subject.iterations as f64;
        let share = if total > 0.0 { matched / total } else { 0.0 };
        if !above("more_than", named.len() as f64) || !above("share_above", share) {
            return Outcome::Silent;
        }
        Causes::one(claims)
    }

    /// Which part of an operator's time could be saved, by the metrics that were compared and its busiest unit's ratio.
    fn saved(&self, values: &Values<'_>, busiest: Option<f64>) -> Option<f64> {
        let mut ratios = values.0.iter().map(|(_, value)| *value);
        match self.saves {
            Saves::All => Some(1.0),
            Saves::Half => Some(0.5),
            Saves::Headroom => {
                let compared = ratios.find(|ratio| *ratio > 0.0).unwrap_or(0.0);
                Some(1.0 - compared.max(busiest.unwrap_or(0.0)).clamp(0.0, 1.0))
            }
            Saves::Ratio => Some(ratios.next().unwrap_or(0.0).clamp(0.0, 1.0)),
            Saves::Unknown | Saves::Nothing => None,
        }
    }

    /// Names what the profile lacks to ask this.
    fn missing(&self, subject: &Subject<'_>) -> Option<String> {
        let trace = match subject.trace {
            Some(trace) if !subject.kernels.is_empty() => trace,
            _ => return Some("operators in a profile".to_owned()),
        };
        let unmeasured = self.metrics.iter().find_map(|text| {
            let names = text.split(['<', '>']).next().unwrap_or_default();
            let known = names.split('|').any(|name| subject.has_metric(name.trim()));
            (!known).then(|| format!("the metric {}", names.trim().replace('|', " or ")))
        });
        let typeless = || trace.tensors.data_type().iter().all(|known| *known == DataType::Unknown);
        let unitless = || !subject.kernels.any_unit(|unit| unit != ExecutionUnit::Other);
        if unmeasured.is_some() {
            unmeasured
        } else if !self.input_types.is_empty() && typeless() {
            Some("types of the operators' inputs".to_owned())
        } else if !self.units.is_empty() && unitless() {
            Some("the units that execute operators".to_owned())
        } else if self.dynamic.is_some() && trace.operators.dynamic().iter().all(Option::is_none) {
            Some("whether operators are of dynamic shape".to_owned())
        } else {
            None
        }
    }

    /// Whether it may hold for kernels of a kind, as far as that tells.
    fn fits(&self, subject: &Subject<'_>, kind: &Kind<'_>) -> bool {
        let is_type = |op_type: &str, pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => op_type.starts_with(start),
            None => op_type == pattern,
        };
        // An operator that the engine made of several is of a type only if all of them are.
        let of_type = || {
            let mut types = subject.executions.types(kind.executed);
            types.all(|op_type| self.types.iter().any(|pattern| is_type(op_type, pattern)))
        };
        let is_named = |part: &String| kind.name.contains(&**part) || kind.op_type.contains(&**part);
        let Some(trace) = subject.trace else { return false };
        (self.types.is_empty() || of_type())
            && (self.names.is_empty() || self.names.iter().any(is_named))
            && (self.units.is_empty() || self.units.iter().any(|unit| unit == kind.unit.name()))
            && (!self.rearranges || rearranges(trace, kind))
            && (!self.computes || !COPIES.iter().any(|start| kind.op_type.starts_with(start)))
            && (self.dynamic.is_none() || trace.operators.dynamic()[kind.operator.index()] == self.dynamic)
            && (self.input_types.is_empty() || self.has_input_type(trace, kind.operator))
    }

    fn has_input_type(&self, trace: &Trace, operator: OperatorId) -> bool {
        trace.operators.get(operator).inputs().any(|input| {
            let name = trace.tensors.data_type()[input.index()].name();
            self.input_types.iter().any(|wanted| wanted == name)
        })
    }
}

/// Whether the limits of a rule and all comparisons hold for a kernel; with the values that were compared.
fn holds<'c>(
    rule: &Rule,
    kernel: &Kernel<'_>,
    comparisons: &'c [Compared<'_>],
    values: &mut Values<'c>,
) -> bool {
    let above = |name: &str, value: Nanoseconds| match rule.limits.get(name) {
        Some(micros) => value.0 as f64 > micros * 1e3,
        None => true,
    };
    values.0.clear();
    above("min_us", kernel.duration)
        && above("min_wait_us", kernel.wait.unwrap_or_default())
        && comparisons.iter().all(|compared| {
            let found = compared.find(kernel);
            values.0.extend(found);
            found.is_some()
        })
}

/// A comparison with the metrics of the profile that it names.
struct Compared<'a> {
    comparison: Comparison<'a>,
    metrics: Vec<Metric<'a>>,
}

impl<'a> Compared<'a> {
    fn new(subject: &Subject<'a>, text: &'a str, limits: &BTreeMap<String, f64>) -> Result<Self, String> {
        let comparison = comparison(text, limits)?;
        let metrics = comparison.metrics.iter().map(|name| subject.metric(name)).collect();
        Ok(Self { comparison, metrics })
    }

    /// The first of the metrics of which it holds, by name and value.
    fn find(&self, kernel: &Kernel<'_>) -> Option<(&'a str, f64)> {
        let mut named = self.comparison.metrics.iter().zip(&self.metrics);
        named.find_map(|(name, metric)| {
            let value = metric.of(kernel)?;
            self.comparison.holds(value).then_some((*name, value))
        })
    }
}

/// The metrics that were compared, with their values; one that was compared twice in a row is told once.
struct Values<'c>(Vec<(&'c str, f64)>);

impl fmt::Display for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for (name, value) in &self.0 {
            if *name == before {
                continue;
            }
            let comma = if before.is_empty() { "" } else { ", " };
            write!(f, "{comma}{name} {value:.3}")?;
            before = name;
        }
        Ok(())
    }
}

impl OptionCondition {
    /// Whether it holds.
    pub(super) fn check(&self, subject: &Subject<'_>) -> Outcome {
        let Some(options) = subject.converter else {
            return Outcome::Missing("the converter's command (--converter)".to_owned());
        };
        let given = options.get(&self.name);
        if given.is_none() && self.missing {
            return Found::note(format!("--{} is not given", self.name));
        }
        let Some(value) = given.or(self.default.as_deref()) else { return Outcome::Silent };
        let holds = self.is.iter().any(|wanted| wanted == value)
            || self.contains.as_deref().is_some_and(|part| value.contains(part));
        if !holds {
            return Outcome::Silent;
        }
        let by_default = if given.is_none() { " (the default)" } else { "" };
        Found::note(format!("--{}={value}{by_default}", self.name))
    }
}
