//! Asking the conditions that stand with a rule's data.

use std::collections::BTreeSet;

use opscope_trace::{DataType, ExecutionUnit, Nanoseconds};

use crate::claim::Claim;
use crate::condition::{Comparison, OperatorCondition, OptionCondition, Saves, comparison};
use crate::outcome::{Causes, Found, Outcome};
use crate::rule::Rule;
use crate::subject::{Kernel, Subject};

impl OperatorCondition {
    /// Which operators it holds for.
    pub(super) fn check(&self, subject: &Subject<'_>, rule: &Rule) -> Outcome {
        if let Some(missing) = self.missing(subject) {
            return Outcome::Missing(missing);
        }
        let comparisons: Result<Vec<Comparison<'_>>, String> =
            self.metrics.iter().map(|text| comparison(text, &rule.limits)).collect();
        let comparisons = match comparisons {
            Ok(comparisons) => comparisons,
            Err(message) => return Outcome::Missing(message),
        };
        let mut claims: Vec<Claim> = Vec::new();
        let mut matched = 0.0;
        let mut names = BTreeSet::new();
        for kernel in &subject.kernels {
            let Some(details) = self.holds(subject, rule, kernel, &comparisons) else { continue };
            matched += kernel.time;
            names.insert((kernel.name, kernel.op_type));
            let mut words: Vec<String> =
                details.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
            words.dedup();
            let words = words.join(", ");
            claims.push(match self.saved(&details) {
                Some(part) => subject.claim(kernel, words, part),
                None => subject.mention(kernel, words),
            });
        }
        let above = |name: &str, value: f64| rule.limits.get(name).is_none_or(|limit| value > *limit);
        let total = subject.total.0 as f64 * subject.iterations as f64;
        let share = if total > 0.0 { matched / total } else { 0.0 };
        if !above("more_than", names.len() as f64) || !above("share_above", share) {
            return Outcome::Silent;
        }
        Causes::one(claims)
    }

    /// Which part of an operator's time could be saved, by the metrics that were compared.
    fn saved(&self, details: &[(String, f64)]) -> Option<f64> {
        let mut ratios = details.iter().map(|(_, value)| *value);
        match self.saves {
            Saves::All => Some(1.0),
            Saves::Half => Some(0.5),
            Saves::Headroom => Some(1.0 - ratios.find(|ratio| *ratio > 0.0).unwrap_or(0.0).clamp(0.0, 1.0)),
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
        let unitless = || subject.kernels.iter().all(|kernel| kernel.unit == ExecutionUnit::Other);
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

    /// Whether it holds for a kernel; with the metrics that were compared.
    fn holds(
        &self,
        subject: &Subject<'_>,
        rule: &Rule,
        kernel: &Kernel<'_>,
        comparisons: &[Comparison<'_>],
    ) -> Option<Vec<(String, f64)>> {
        let is_type = |op_type: &str, pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => op_type.starts_with(start),
            None => op_type == pattern,
        };
        // An operator that the engine made of several is of a type only if all of them are.
        let of_type = || {
            let mut types = subject.executions.types(kernel.executed);
            types.all(|op_type| self.types.iter().any(|pattern| is_type(op_type, pattern)))
        };
        let at_least = |name: &str, value: Nanoseconds| match rule.limits.get(name) {
            Some(micros) => value.0 as f64 > micros * 1e3,
            None => true,
        };
        let fits = (self.types.is_empty() || of_type())
            && (self.names.is_empty()
                || self
                    .names
                    .iter()
                    .any(|part| kernel.name.contains(&**part) || kernel.op_type.contains(&**part)))
            && (self.units.is_empty() || self.units.iter().any(|unit| unit == kernel.unit.name()))
            && at_least("min_us", kernel.duration)
            && at_least("min_wait_us", kernel.wait.unwrap_or_default())
            && (self.dynamic.is_none()
                || subject.operator_row(kernel).and_then(|row| row.dynamic) == self.dynamic)
            && (self.input_types.is_empty() || self.has_input_type(subject, kernel));
        if !fits {
            return None;
        }
        comparisons
            .iter()
            .map(|comparison| {
                comparison.metrics.iter().find_map(|name| {
                    let value = subject.metric(kernel, name)?;
                    comparison.holds(value).then(|| ((*name).to_owned(), value))
                })
            })
            .collect()
    }

    fn has_input_type(&self, subject: &Subject<'_>, kernel: &Kernel<'_>) -> bool {
        let (Some(trace), Some(row)) = (subject.trace, subject.operator_row(kernel)) else { return false };
        row.inputs().any(|input| {
            let name = trace.tensors.data_type()[input.index()].name();
            self.input_types.iter().any(|wanted| wanted == name)
        })
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
