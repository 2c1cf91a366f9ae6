//! The rules: which conditions they need, and what they say.

use crate::facts::view::View;
use crate::report::conditions::{Operators, Times, condition as c};
use crate::report::finding::{ReportFinding, ReportGroup as Group};

/// A further demand of a rule, besides operators that match.
#[derive(Clone, Copy, Debug)]
enum Gate {
    /// Nothing.
    Always,
    /// More layouts are converted than this.
    MoreConversionsThan(u64),
    /// The cost of the matching runs is more than a share of the cost of all.
    Share { part: fn(Times) -> f64, of: fn(Times) -> f64, above: f64 },
}

/// A rule on operators.
struct Rule {
    id: &'static str,
    group: Group,
    subtype: &'static str,
    /// The conditions that an operator must all fulfil; the gate looks at the first of them.
    needs: &'static [u32],
    gate: Gate,
    suggestion: &'static str,
}

static RULES: [Rule; 15] = [
    Rule {
        id: "rule_vector_ratio_1",
        group: Group::Computation,
        subtype: "Vector",
        needs: &[c::VECTOR_LOW],
        gate: Gate::Always,
        suggestion: "the vector unit is busy less than 80 % of the time",
    },
    Rule {
        id: "rule_vec_bankgroup_cflt_ratio_1",
        group: Group::Computation,
        subtype: "Vector",
        needs: &[c::BANK_GROUP_CONFLICTS],
        gate: Gate::Always,
        suggestion: "the vector unit often waits for conflicts between groups of memory banks; place data apart",
    },
    Rule {
        id: "rule_vec_bank_cflt_ratio_1",
        group: Group::Computation,
        subtype: "Vector",
        needs: &[c::BANK_CONFLICTS],
        gate: Gate::Always,
        suggestion: "the vector unit often waits for conflicts in memory banks; place data apart",
    },
    Rule {
        id: "rule_cube_ratio_1",
        group: Group::Computation,
        subtype: "Cube",
        needs: &[c::CUBE_LOW],
        gate: Gate::Always,
        suggestion: "the cube unit is busy less than 80 % of the time",
    },
    Rule {
        id: "rule_vector_bound_2",
        group: Group::Computation,
        subtype: "Cube",
        needs: &[c::VECTOR_HIGH, c::CUBE_WORKS, c::LONG],
        gate: Gate::Always,
        suggestion: "operators of the cube unit spend most of their time on the vector unit",
    },
    Rule {
        id: "rule_scalar_bound_1",
        group: Group::Computation,
        subtype: "Scalar",
        needs: &[c::SCALAR_HIGH],
        gate: Gate::Always,
        suggestion: "the scalar unit is busy more than 80 % of the time",
    },
    Rule {
        id: "rule_memory_bound_1",
        group: Group::Memory,
        subtype: "",
        needs: &[c::MEMORY_BOUND],
        gate: Gate::Share { part: |t| t.duration, of: |t| t.duration, above: 0.5 },
        suggestion: "moving data takes longer than computing, in more than half of the time; move less of it",
    },
    Rule {
        id: "rule_vector_bound_1",
        group: Group::Memory,
        subtype: "",
        needs: &[c::VECTOR_BOUND],
        gate: Gate::Always,
        suggestion: "the vector unit sets the pace; check how often its instructions repeat, and their masks",
    },
    Rule {
        id: "rule_wait_time_1",
        group: Group::OperatorSchedule,
        subtype: "",
        needs: &[c::LONG_WAIT],
        gate: Gate::Share { part: |t| t.wait, of: |t| t.duration + t.wait, above: 0.03 },
        suggestion: "the device waits long before these operators, more than 3 % of the time in all",
    },
    Rule {
        id: "rule_block_dim_1",
        group: Group::OperatorProcessing,
        subtype: "",
        needs: &[c::FEWER_BLOCKS_THAN_CORES, c::CUBE_WORKS],
        gate: Gate::Always,
        suggestion: "fewer blocks than cores; use more cores",
    },
    Rule {
        id: "rule_transData_1",
        group: Group::OperatorProcessing,
        subtype: "",
        needs: &[c::TRANS_DATA],
        gate: Gate::MoreConversionsThan(2),
        suggestion: "please check whether each conversion of layouts is needed, and reduce the transData",
    },
    Rule {
        id: "rule_aicpu_1",
        group: Group::OperatorProcessing,
        subtype: "",
        needs: &[c::AI_CPU],
        gate: Gate::Always,
        suggestion: "operators run on the AI CPU; check and reduce them",
    },
    Rule {
        id: "rule_aicpu_2",
        group: Group::OperatorProcessing,
        subtype: "",
        needs: &[c::AI_CPU, c::LONG, c::INT64_INPUT],
        gate: Gate::Always,
        suggestion: "INT64 inputs keep operators on the AI CPU; try to convert them to INT32",
    },
    Rule {
        id: "rule_aicpu_3",
        group: Group::OperatorProcessing,
        subtype: "",
        needs: &[c::AI_CPU, c::LONG, c::STRIDED_SLICE_GRAD],
        gate: Gate::Always,
        suggestion: "StridedSliceGrad runs on the AI CPU; try to run it on the AI Core",
    },
    Rule {
        id: "rule_memory_workspace_1",
        group: Group::OperatorMetrics,
        subtype: "Memory",
        needs: &[c::WORKSPACE],
        gate: Gate::Always,
        suggestion: "operators need memory as a workspace; check and reduce it",
    },
];

impl Rule {
    fn conditions(&self) -> u32 {
        self.needs.iter().fold(0, |all, condition| all | condition)
    }

    fn is_open(&self, operators: &Operators) -> bool {
        let bit = self.needs.first().map_or(0, |first| first.trailing_zeros() as usize);
        match self.gate {
            Gate::Always => true,
            Gate::MoreConversionsThan(threshold) => operators.conversions() > threshold,
            Gate::Share { part, of, above } => {
                let whole = of(operators.all);
                whole > 0.0 && part(operators.times[bit]) / whole > above
            }
        }
    }
}

/// The rules that fire, with the names of the operators by way of their hashes.
fn firing(operators: &Operators) -> impl Iterator<Item = (&'static Rule, Vec<u64>)> {
    RULES.iter().filter(|rule| rule.is_open(operators)).filter_map(|rule| {
        let matching: Vec<u64> = operators.matching(rule.conditions()).collect();
        (!matching.is_empty()).then_some((rule, matching))
    })
}

/// The findings of the rules on operators.
pub(super) fn findings(view: &View<'_>, operators: &Operators) -> Vec<ReportFinding> {
    let finding = |(rule, names): (&Rule, Vec<u64>)| ReportFinding {
        rule: rule.id,
        group: rule.group,
        subtype: rule.subtype,
        suggestion: rule.suggestion.to_owned(),
        operators: names.into_iter().map(|name| view.text(name).to_owned()).collect(),
    };
    firing(operators).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::conditions::tests::operators;
    use crate::report::ratios::Ratios;

    /// Which rules fire on what.
    fn fired(runs: &[(u64, u32, Times, Ratios)]) -> Vec<(&'static str, Vec<u64>)> {
        let mut fired: Vec<_> = firing(&operators(runs)).map(|(rule, names)| (rule.id, names)).collect();
        fired.sort_unstable();
        fired
    }

    const NO_RATIOS: Ratios = Ratios {
        cube: None,
        vector: None,
        scalar: None,
        moves: [None; 3],
        bank_group_conflicts: None,
        bank_conflicts: None,
        split: false,
    };
    const SHORT: Times = Times { duration: 5_000.0, wait: 0.0 };
    const LONG: Times = Times { duration: 25_000.0, wait: 0.0 };

    #[test]
    fn conversions_are_reported_from_the_third_on() {
        let run = |name| (name, c::TRANS_DATA, SHORT, NO_RATIOS);
        assert_eq!(fired(&[run(1), run(2)]), []);
        assert_eq!(fired(&[run(1), run(2), run(3)]), [("rule_transData_1", vec![1, 2, 3])]);
        // The same operator launched three times is three conversions.
        assert_eq!(fired(&[run(1), run(1), run(1)]), [("rule_transData_1", vec![1])]);
    }

    #[test]
    fn operators_on_the_ai_cpu_are_reported_and_the_long_ones_with_a_reason() {
        let int64 = c::AI_CPU | c::INT64_INPUT;
        assert_eq!(fired(&[(1, int64, SHORT, NO_RATIOS)]), [("rule_aicpu_1", vec![1])]);
        let expected = [("rule_aicpu_1", vec![1]), ("rule_aicpu_2", vec![1])];
        assert_eq!(fired(&[(1, int64, LONG, NO_RATIOS)]), expected);
        let strided = c::AI_CPU | c::STRIDED_SLICE_GRAD;
        let expected = [("rule_aicpu_1", vec![1]), ("rule_aicpu_3", vec![1])];
        assert_eq!(fired(&[(1, strided, LONG, NO_RATIOS)]), expected);
        assert_eq!(fired(&[(1, c::INT64_INPUT | c::STRIDED_SLICE_GRAD, LONG, NO_RATIOS)]), []);
    }

    #[test]
    fn conditions_are_joined_by_the_operators_name() {
        // One run is long, another busy with vectors: the operator fulfils both.
        let vector = Ratios { cube: Some(0.9), vector: Some(0.9), ..NO_RATIOS };
        let cube = Ratios { cube: Some(0.9), vector: Some(0.8), ..NO_RATIOS };
        let rule = |runs: &[_]| fired(runs).iter().any(|(id, _)| *id == "rule_vector_bound_2");
        assert!(rule(&[(1, 0, SHORT, vector), (1, 0, LONG, cube)]));
        assert!(!rule(&[(1, 0, SHORT, vector), (2, 0, LONG, cube)]));
        assert!(!rule(&[(1, 0, LONG, cube)]));
    }

    #[test]
    fn waiting_counts_only_when_its_sum_does() {
        let waits = |wait: f64| Times { duration: 100_000.0, wait };
        assert_eq!(fired(&[(1, 0, waits(9_999.0), NO_RATIOS)]), [], "no single wait is long");
        let mut runs = vec![(1, 0, waits(11_000.0), NO_RATIOS)];
        assert_eq!(fired(&runs), [("rule_wait_time_1", vec![1])]);
        runs.extend([(2, 0, waits(0.0), NO_RATIOS); 3]);
        assert_eq!(fired(&runs), [], "11 of 411 us are less than 3 %");
    }

    #[test]
    fn moving_data_counts_only_when_it_takes_half_of_the_time() {
        let bound =
            Ratios { cube: Some(0.81), vector: Some(0.8), moves: [None, Some(0.9), None], ..NO_RATIOS };
        let not_bound = Ratios { moves: [None, Some(0.81), None], ..bound };
        let rule = |runs: &[_]| fired(runs).into_iter().find(|(id, _)| *id == "rule_memory_bound_1");
        let runs = [(1, 0, LONG, bound), (2, 0, SHORT, not_bound)];
        assert_eq!(rule(&runs), Some(("rule_memory_bound_1", vec![1])));
        assert_eq!(rule(&[(1, 0, SHORT, bound), (2, 0, LONG, not_bound)]), None);
        assert_eq!(
            rule(&[(1, 0, SHORT, bound), (2, 0, SHORT, not_bound)]),
            None,
            "half isn't more than half"
        );
    }

    #[test]
    fn each_rule_on_a_single_ratio_fires_on_its_side_of_the_threshold() {
        let well = Ratios { cube: Some(0.9), vector: Some(0.8), scalar: Some(0.1), ..NO_RATIOS };
        assert_eq!(fired(&[(1, 0, SHORT, well)]), []);
        for (ratios, rule) in [
            (Ratios { vector: Some(0.799), ..well }, "rule_vector_ratio_1"),
            (Ratios { cube: Some(0.799), ..well }, "rule_cube_ratio_1"),
            (Ratios { scalar: Some(0.801), ..well }, "rule_scalar_bound_1"),
            (Ratios { bank_group_conflicts: Some(0.041), ..well }, "rule_vec_bankgroup_cflt_ratio_1"),
            (Ratios { bank_conflicts: Some(0.041), ..well }, "rule_vec_bank_cflt_ratio_1"),
            (Ratios { vector: Some(0.95), moves: [None, Some(0.1), None], ..well }, "rule_vector_bound_1"),
        ] {
            assert_eq!(fired(&[(1, 0, SHORT, ratios)]), [(rule, vec![1])]);
        }
        assert_eq!(fired(&[(1, c::WORKSPACE, SHORT, well)]), [("rule_memory_workspace_1", vec![1])]);
        let blocks = c::FEWER_BLOCKS_THAN_CORES;
        assert_eq!(fired(&[(1, blocks, SHORT, well)]), [("rule_block_dim_1", vec![1])]);
        assert_eq!(fired(&[(1, blocks, SHORT, NO_RATIOS)]), [], "it isn't known to use the cube unit");
    }
}
