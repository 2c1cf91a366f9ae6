//! The facts about an operator that both forms of the answer have.

use std::collections::HashMap;

use opscope_analyze::OperatorCost;
pub use opscope_analyze::signature::{data_type, shapes};
use opscope_say::say;
use opscope_trace::{Attribution, EngineName, Nanoseconds, Operator, OperatorId, StringId, Trace};

/// The operator of a cost, as far as it is known.
pub fn row(trace: &Trace, cost: &OperatorCost) -> Option<Operator> {
    cost.operator.map(|operator| trace.operators.get(operator))
}

/// So much in such a time, as a rate per second.
pub fn rate(amount: u64, time: Nanoseconds) -> Option<f64> {
    (time.0 > 0).then(|| amount as f64 / time.as_seconds())
}

/// The kind of an operator: its type, and what the engine ran where that has another name. Names
/// that tract gives its own operators tell nobody more.
pub fn operator_kind(trace: &Trace, op_type: StringId, engine_type: Option<StringId>) -> String {
    let op_type = trace.strings.get(op_type);
    let spaced = op_type.replace('+', " + ");
    let Some(engine_type) = engine_type.map(|id| trace.strings.get(id)) else { return spaced };
    let is_part = engine_type.split('+').all(|part| op_type.split('+').any(|own| own == part));
    if is_part || trace.run.engine != Some(EngineName::Ort) {
        spaced
    } else if op_type.contains('+') && !engine_type.contains('+') {
        format!("{engine_type} ({spaced})")
    } else {
        say!("{spaced} (run as {})", engine_type.replace('+', " + "))
    }
}

/// The engine's own type for the operators of each type, where that is the same for all of them.
pub fn engine_types(trace: &Trace) -> HashMap<StringId, Option<StringId>> {
    let mut types = HashMap::new();
    let ran = trace.operators.iter().filter(|(_, row)| row.attribution != Attribution::Removed);
    for (_, row) in ran {
        let known = types.entry(row.op_type).or_insert(row.engine_type);
        if *known != row.engine_type {
            *known = None;
        }
    }
    types
}

/// The names of the engine's nodes that each operator was run as, in the order in which they first ran.
pub fn engine_nodes(trace: &Trace) -> HashMap<OperatorId, Vec<&str>> {
    let mut nodes: HashMap<OperatorId, Vec<&str>> = HashMap::new();
    if trace.operators.engine_type().iter().all(Option::is_none) {
        return nodes;
    }
    for (&operator, &name) in trace.tasks.operator().iter().zip(trace.tasks.name()) {
        let Some(operator) = operator else { continue };
        let (nodes, name) = (nodes.entry(operator).or_default(), trace.strings.get(name));
        if !nodes.contains(&name) {
            nodes.push(name);
        }
    }
    nodes
}
