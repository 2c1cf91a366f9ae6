//! What both forms of the answer say of an operator.

use opscope_analyze::OperatorCost;
pub use opscope_analyze::signature::{data_type, shapes};
use opscope_trace::{Nanoseconds, Operator, Trace};

/// The operator of a cost, as far as it is known.
pub fn row(trace: &Trace, cost: &OperatorCost) -> Option<Operator> {
    cost.operator.map(|operator| trace.operators.get(operator))
}

/// So much in such a time, as a rate per second.
pub fn rate(amount: u64, time: Nanoseconds) -> Option<f64> {
    (time.0 > 0).then(|| amount as f64 / time.as_seconds())
}
