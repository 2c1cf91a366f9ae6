//! What of a profile is compared.

use std::collections::{BTreeMap, HashMap};

use opscope_trace::{IterationId, Nanoseconds, OperatorId, RangeKind, Trace};

use crate::{Measured, self_times};

/// An operator with its time in an average iteration.
pub(super) struct Row<'t> {
    pub name: &'t str,
    pub op_type: &'t str,
    /// The graph's nodes that it stands for.
    pub origins: Vec<&'t str>,
    pub time: Nanoseconds,
}

/// One of the two profiles.
pub(super) struct Side<'t> {
    /// The operators in the order in which they first ran.
    pub rows: Vec<Row<'t>>,
    /// The durations of the measured iterations.
    pub iterations: Vec<Nanoseconds>,
    /// The durations of the calls that execute a model.
    pub executions: Vec<Nanoseconds>,
    /// The durations of calls and ranges (`true`) by name.
    pub spans: BTreeMap<(bool, &'t str), Vec<Nanoseconds>>,
}

impl<'t> Side<'t> {
    pub fn of(trace: &'t Trace) -> Self {
        let measured = Measured::of(trace);
        let count = measured.count() as i64;
        let own = self_times(trace);
        let text = |id| trace.strings.get(id);
        // Tasks without an operator are told apart by their name.
        let mut places: HashMap<(Option<OperatorId>, Option<opscope_trace::StringId>), usize> =
            HashMap::new();
        let mut rows: Vec<Row<'t>> = Vec::new();
        // Shapes that change from run to run are operators of their own, yet the same to users.
        let mut by_name: HashMap<(&str, &str), usize> = HashMap::new();
        for task in &measured.tasks {
            let index = task.index();
            let operator = trace.tasks.operator()[index];
            let name = trace.tasks.name()[index];
            let place = *places.entry((operator, operator.is_none().then_some(name))).or_insert_with(|| {
                let (name, op_type, origins) = match operator {
                    Some(id) => {
                        let row = trace.operators.get(id);
                        let origins =
                            trace.names.get(row.origins).iter().map(|origin| text(*origin)).collect();
                        (text(row.name), text(row.op_type), origins)
                    }
                    None => (text(name), text(name), Vec::new()),
                };
                *by_name.entry((name, op_type)).or_insert_with(|| {
                    rows.push(Row { name, op_type, origins, time: Nanoseconds::ZERO });
                    rows.len() - 1
                })
            });
            rows[place].time += own[index];
        }
        for row in &mut rows {
            row.time = Nanoseconds(row.time.0 / count);
        }
        let duration = |id: &IterationId| trace.iterations.duration()[id.index()];
        let iterations: Vec<Nanoseconds> =
            measured.iterations.iter().map(duration).filter(|duration| duration.0 > 0).collect();
        let mut spans: BTreeMap<(bool, &str), Vec<Nanoseconds>> = BTreeMap::new();
        let mut executions = Vec::new();
        for (_, call) in trace.api_calls.iter() {
            let name = text(call.name);
            spans.entry((false, name)).or_default().push(call.duration);
            if executes(name) {
                executions.push(call.duration);
            }
        }
        for (_, range) in trace.ranges.iter().filter(|(_, range)| range.kind != RangeKind::Mark) {
            spans.entry((true, text(range.name))).or_default().push(range.duration);
        }
        Self { rows, iterations, executions, spans }
    }

    pub fn operator_time(&self) -> Nanoseconds {
        self.rows.iter().map(|row| row.time).sum()
    }
}

/// Whether a call runs a model and waits for its result: `aclmdlExecute` (which some documents
/// misspell) or `svp_acl_mdl_execute`.
fn executes(name: &str) -> bool {
    let name = name.replace('_', "").to_ascii_lowercase();
    name.ends_with("mdlexecute") || name.ends_with("mdlexcute")
}
