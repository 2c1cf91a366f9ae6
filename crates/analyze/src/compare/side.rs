//! The part of a profile that is compared.

use std::collections::{HashMap, HashSet};

use opscope_trace::{IterationId, Nanoseconds, OperatorId, ProfileFormat, StringId, Trace};

use super::joined_names::nodes_joined;
use super::mean;
use super::nests::Nests;
use super::spans::Spans;
use crate::calls::executions;
use crate::work_times::recorded_times;
use crate::{IterationSpans, Latencies, Measured, SpanBasis, work_times};

/// An operator with its time in an average iteration.
pub(super) struct Row<'t> {
    pub name: StringId,
    pub op_type: StringId,
    /// The operator, the first of those whose shapes change from run to run.
    pub operator: Option<OperatorId>,
    /// The graph's nodes that it stands for.
    pub origins: &'t [StringId],
    pub time: Nanoseconds,
}

/// One of the two profiles.
pub(super) struct Side<'t> {
    pub trace: &'t Trace,
    /// The operators in the order in which they first ran.
    pub rows: Vec<Row<'t>>,
    /// The durations of the measured iterations that were recorded.
    pub iterations: Vec<Nanoseconds>,
    /// Of how many models those are.
    pub networks: usize,
    /// By which clock hands those begin and end.
    pub basis: SpanBasis,
    /// The same with those that were timed as a whole.
    pub latencies: Latencies,
    /// The durations of the calls that execute a model.
    pub executions: Vec<Nanoseconds>,
    /// The calls and ranges.
    pub spans: Spans<'t>,
    /// The outermost operators, where what these call counts as theirs.
    nests: Option<Nests>,
    /// By the names of TensorFlow Lite's operators, the nodes that they are joined of; none of other profiles.
    joined: HashMap<&'t str, Vec<&'t str>>,
}

impl<'t> Side<'t> {
    /// The measured part of a profile, or all of it as a single iteration; with the operators that others call as parts
    /// of those, or each by itself.
    pub fn of(trace: &'t Trace, whole: bool, is_nested: bool) -> Self {
        let measured = measured(trace, whole);
        let iteration_spans = IterationSpans::of(trace);
        let duration = |id: &IterationId| iteration_spans.duration(*id);
        let iterations: Vec<Nanoseconds> =
            measured.iterations.iter().map(duration).filter(|duration| duration.0 > 0).collect();
        let model = |id: &IterationId| trace.iterations.model()[id.index()];
        let networks = measured.iterations.iter().filter_map(model).collect::<HashSet<_>>().len();
        let executions: Vec<Nanoseconds> =
            executions(trace).into_iter().map(|id| trace.api_calls.duration()[id.index()]).collect();
        let spans = Spans::of(trace, &measured);
        let times = recorded_times(trace, &measured);
        let nests = is_nested.then(|| Nests::of(trace, &measured));
        let per = if whole { 1 } else { executions.len() };
        let rows = rows(trace, &measured, &times, per, nests.as_ref());
        let latencies = Latencies::of(trace, None);
        let basis = iteration_spans.basis();
        // Names of other engines may have a semicolon of their own.
        let is_joined = trace.run.format == Some(ProfileFormat::TensorFlowLite);
        let joined = rows.iter().filter(|_| is_joined).map(|row| trace.strings.get(row.name));
        let joined = nodes_joined(joined);
        Self { trace, rows, iterations, networks, basis, latencies, executions, spans, nests, joined }
    }

    /// The nodes that an operator's name is joined of, or else the name itself.
    pub fn nodes_in_name(&self, name: &'t str) -> impl Iterator<Item = &'t str> {
        let joined = self.joined.get(name);
        let split = joined.is_none().then(|| name.split('+').map(str::trim));
        joined.into_iter().flatten().copied().chain(split.into_iter().flatten())
    }

    /// Whether the name of any operator joins those of several nodes, as the profile's engine does it.
    pub fn has_joined_names(&self) -> bool {
        self.joined.keys().any(|name| name.contains(';'))
    }

    /// Makes the operators' times parts of an iteration that wasn't recorded.
    pub fn leave_recording_out(&mut self, whole: bool) {
        let measured = measured(self.trace, whole);
        let times = work_times(self.trace, &measured);
        let per = if whole { 1 } else { self.executions.len() };
        self.rows = rows(self.trace, &measured, &times, per, self.nests.as_ref());
    }

    pub fn operator_time(&self) -> Nanoseconds {
        self.rows.iter().map(|row| row.time).sum()
    }

    /// Whether its iterations are nothing but the sums of its operators, which a reader laid end to end because the
    /// file tells no times of theirs. The operators' times are rounded down, each by less than a nanosecond.
    pub fn is_made_of_sums(&self) -> bool {
        let rounded = self.rows.len() as i64 + 1;
        let left = mean(&self.iterations) - self.operator_time();
        !self.trace.run.layer_times.is_placed() && !self.iterations.is_empty() && left.0.abs() <= rounded
    }
}

fn measured(trace: &Trace, whole: bool) -> Measured {
    if whole { Measured::whole(trace) } else { Measured::of(trace) }
}

/// The operators, with their times in an inference: an iteration, or where the profile knows none, one
/// of so many calls that execute a model. The times are those of the measured tasks, in nanoseconds.
fn rows<'t>(
    trace: &'t Trace,
    measured: &Measured,
    times: &[f64],
    executions: usize,
    nests: Option<&Nests>,
) -> Vec<Row<'t>> {
    let mut rows: Vec<Row<'t>> = Vec::new();
    // Shapes that change from run to run are operators of their own, yet the same to users.
    let mut by_name: HashMap<(StringId, StringId, u32), u32> = HashMap::with_capacity(trace.operators.len());
    let mut of_operator: Vec<Option<u32>> = vec![None; trace.operators.len()];
    let mut place_of = |name: StringId, op_type: StringId, number, operator, origins: &'t [StringId]| {
        *by_name.entry((name, op_type, number)).or_insert_with(|| {
            rows.push(Row { name, op_type, operator, origins, time: Nanoseconds::ZERO });
            rows.len() as u32 - 1
        })
    };
    let mut places: Vec<u32> = Vec::with_capacity(measured.tasks.len());
    for task in &measured.tasks {
        let task = nests.map_or(*task, |nests| nests.outermost(*task));
        let number = nests.map_or(0, |nests| nests.number(task));
        let mut of = |operator: OperatorId| {
            let row = trace.operators.get(operator);
            place_of(row.name, row.op_type, number, Some(operator), trace.names.get(row.origins))
        };
        let place = match trace.tasks.operator()[task.index()] {
            Some(operator) if number > 0 => of(operator),
            Some(operator) => *of_operator[operator.index()].get_or_insert_with(|| of(operator)),
            // Tasks without an operator are told apart by their name.
            None => {
                let name = trace.tasks.name()[task.index()];
                place_of(name, name, number, None, &[])
            }
        };
        places.push(place);
    }
    let mut counts: Vec<usize> = vec![0; rows.len()];
    let mut sums: Vec<f64> = vec![0.0; rows.len()];
    for ((task, time), place) in measured.tasks.iter().zip(times).zip(places) {
        sums[place as usize] += time;
        let is_whole = nests.is_none_or(|nests| nests.outermost(*task) == *task);
        counts[place as usize] += usize::from(is_whole);
    }
    for (row, sum) in rows.iter_mut().zip(sums) {
        row.time = Nanoseconds(sum as i64);
    }
    let count = match measured.iterations.is_empty() && ran_in_each(&rows, &counts, executions) {
        true => executions as i64,
        false => measured.count() as i64,
    };
    for row in &mut rows {
        row.time = Nanoseconds(row.time.0 / count);
    }
    rows
}

/// Whether the operators were recorded in each of so many executions of a model: those that ran as often,
/// or several times as often, have most of the time. Tables of a single inference have each operator once.
fn ran_in_each(rows: &[Row<'_>], counts: &[usize], executions: usize) -> bool {
    if executions < 2 {
        return false;
    }
    let all: Nanoseconds = rows.iter().map(|row| row.time).sum();
    let in_each = rows.iter().zip(counts).filter(|(_, count)| count.is_multiple_of(executions));
    let of_those: Nanoseconds = in_each.map(|(row, _)| row.time).sum();
    of_those.0 > all.0 / 2
}
