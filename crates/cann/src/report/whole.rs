//! Findings about the run as a whole.

use crate::facts::spans::{Spans, union};
use crate::report::conditions::Operators;
use crate::report::finding::{ReportFinding, ReportGroup};

/// The share of time from which on the AI CPU working alone is reported.
const ALONE: f64 = 0.05;
/// The share of time from which on a model suits the cube unit.
const SUITS: f64 = 0.5;

/// Whether the AI CPU keeps the AI cores waiting.
pub(super) fn parallelism(operators: &Operators) -> Option<ReportFinding> {
    let [cores, cpu] = &operators.busy;
    let alone = share_alone(cpu, cores)?;
    (alone > ALONE).then(|| ReportFinding {
        rule: "rule_ai_core_and_ai_cpu_parallelism",
        group: ReportGroup::OperatorParallelism,
        subtype: "",
        suggestion: format!(
            "AI CPU and AI Core wait for each other: {:.2} % of the execution time the AI CPU works alone",
            alone * 100.0
        ),
        operators: Vec::new(),
    })
}

/// The share of the time in which one or the other is busy, in which only the first is. The spans of
/// each are sorted and don't overlap.
fn share_alone(first: &[(i64, i64)], second: &[(i64, i64)]) -> Option<f64> {
    if first.is_empty() && second.is_empty() {
        return None;
    }
    let length = |spans: &[(i64, i64)]| -> i128 {
        spans.iter().map(|(start, end)| (i128::from(*end) - i128::from(*start)).max(0)).sum()
    };
    let mut spans = Spans::new();
    spans.extend_from_slice(first);
    spans.extend_from_slice(second);
    let (either, second) = (length(&union(spans)), length(second));
    (either > 0).then(|| (either - second) as f64 / either as f64)
}

/// The unit that bounds the model, if units were counted: each operator's time goes to the unit that was
/// busy longest in it.
pub(super) fn bottleneck(operators: &Operators) -> Option<ReportFinding> {
    let total: f64 = operators.by_bound.iter().sum();
    if total <= 0.0 {
        return None;
    }
    let [cube, vector, scalar, moves] = operators.by_bound.map(|time| time / total);
    let (rule, verdict) = if cube >= SUITS {
        ("rule_model_bottleneck_1", "the model suits the cube unit")
    } else {
        ("rule_model_bottleneck_2", "the model doesn't suit the cube unit")
    };
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    Some(ReportFinding {
        rule,
        group: ReportGroup::ModelBottleneck,
        subtype: "",
        suggestion: format!(
            "{verdict}; its time is bound by cube {}, vector {}, scalar {}, moving data {}",
            percent(cube),
            percent(vector),
            percent(scalar),
            percent(moves)
        ),
        operators: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::conditions::Times;
    use crate::report::conditions::tests::operators;
    use crate::report::ratios::Ratios;

    #[test]
    fn only_the_time_in_which_the_other_is_idle_counts() {
        assert_eq!(share_alone(&[(0, 10)], &[(5, 15)]), Some(5.0 / 15.0));
        assert_eq!(share_alone(&[(0, 10), (12, 18)], &[]), Some(1.0));
        assert_eq!(share_alone(&[], &[(5, 15)]), Some(0.0));
        assert_eq!(share_alone(&[], &[]), None);
        assert_eq!(share_alone(&[(i64::MIN, i64::MAX)], &[]), Some(1.0));
    }

    #[test]
    fn a_model_is_judged_by_the_unit_that_is_busy_longest_in_most_of_the_time() {
        let run = |duration, cube, vector| {
            let ratios = Ratios { cube: Some(cube), vector: Some(vector), ..Ratios::default() };
            (1, 0, Times { duration, wait: 0.0 }, ratios)
        };
        let finding = bottleneck(&operators(&[run(50.0, 0.9, 0.2), run(50.0, 0.1, 0.2)])).expect("a verdict");
        assert_eq!(finding.rule, "rule_model_bottleneck_1");
        assert!(finding.suggestion.contains("cube 50.00 %, vector 50.00 %"), "{}", finding.suggestion);
        let finding = bottleneck(&operators(&[run(49.0, 0.9, 0.2), run(51.0, 0.1, 0.2)])).expect("a verdict");
        assert_eq!(finding.rule, "rule_model_bottleneck_2");
        assert_eq!(bottleneck(&operators(&[(1, 0, Times::default(), Ratios::default())])), None);
    }
}
