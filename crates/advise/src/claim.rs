//! Claims: time of operators that a change could save, so that time which several rules name counts once.

use std::collections::BTreeMap;

use opscope_trace::Nanoseconds;
use serde::Serialize;

use crate::executed::{Executed, Executions};

/// An operator, node or call that a finding is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Its name.
    pub name: String,
    /// Its type; empty for what has none.
    pub op_type: String,
    /// Its time in an average iteration, where the profile has it.
    #[serde(rename = "time_ns", serialize_with = "nanoseconds")]
    pub time: Option<Nanoseconds>,
    /// The reason why it stands out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

fn nanoseconds<S: serde::Serializer>(time: &Option<Nanoseconds>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.0).serialize(serializer)
}

/// An operator, or a place in the graph, that a rule speaks of.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub evidence: Evidence,
    /// The most that could be saved of each operator in an average iteration, in nanoseconds; none
    /// where that can't be said.
    pub saves: Vec<(Executed, f64)>,
    /// The model's nodes that a rewrite would change here; none where no rewrite says so.
    pub changes: Vec<String>,
}

/// The time of each operator that one finding could save, in nanoseconds. In order, for sums of doubles are the same
/// in every run only if they are summed up in the same order.
pub(crate) type Savings = BTreeMap<Executed, f64>;

/// The savings of claims by operator; never more than the operator took.
pub(crate) fn savings(executions: &Executions<'_>, claims: &[Claim]) -> Savings {
    let mut savings = Savings::new();
    for (executed, time) in claims.iter().flat_map(|claim| &claim.saves) {
        *savings.entry(*executed).or_default() += time.max(0.0);
    }
    savings.iter_mut().for_each(|(executed, time)| *time = time.min(executions.time(*executed)));
    savings
}

/// The most that could be saved of all operators: of each what the finding that could save most of it
/// says. `None` where no finding says anything.
pub(crate) fn together<'s>(findings: impl Iterator<Item = &'s Savings>) -> Option<Nanoseconds> {
    let mut most = Savings::new();
    for (executed, time) in findings.flatten() {
        let known = most.entry(*executed).or_default();
        *known = known.max(*time);
    }
    (!most.is_empty()).then(|| Nanoseconds(most.values().sum::<f64>() as i64))
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Operator, Trace};

    use super::*;

    /// Beside a time as large as the first, each of the others is lost in a sum that begins with it, and together
    /// they aren't in one that ends with it.
    #[test]
    fn savings_are_summed_up_in_the_order_of_the_operators() {
        const LARGE: f64 = 1e16;
        let mut trace = Trace::new();
        for number in 0..500 {
            let (name, op_type) =
                (trace.strings.intern(&format!("op{number}")), trace.strings.intern("Conv"));
            trace.operators.push(Operator::new(name, op_type));
        }
        let mut executions = Executions::default();
        let claims: Vec<Claim> = (trace.operators.ids().enumerate())
            .map(|(number, id)| {
                let time = if number == 0 { LARGE } else { 1.0 };
                let evidence = Evidence {
                    name: String::new(),
                    op_type: String::new(),
                    time: None,
                    detail: String::new(),
                };
                let saves = vec![(executions.add(&trace, id, time), time)];
                Claim { evidence, saves, changes: Vec::new() }
            })
            .collect();
        let savings = savings(&executions, &claims);
        assert_eq!(savings.len(), 500);
        assert_eq!(savings.values().sum::<f64>(), LARGE);
        assert_eq!(together([&savings].into_iter()), Some(Nanoseconds(LARGE as i64)));
    }
}
