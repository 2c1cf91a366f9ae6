//! The tables of a trace: which columns each has, and where their values come from.
//!
//! Names are those of `opscope sql`'s views. Times and counted values stay in the trace; ids become names and
//! numbers, because a row's place in another table tells nobody anything.

use std::sync::Arc;

use opscope_analyze::signature;
use opscope_trace::{ApiCallId, IterationId, ModelId, OperatorId, StreamId, ThreadId, Trace};

use crate::table::{Column, Series, Table, Values};

/// Tasks on the streams of devices, and operators on threads.
pub fn tasks(trace: &Arc<Trace>) -> Table {
    let (tasks, operators) = (&trace.tasks, &trace.operators);
    let strings = &trace.strings;
    let operator = |id: &Option<OperatorId>| id.map(OperatorId::index);
    let stream = |id: &Option<StreamId>| id.map(StreamId::index);
    let streams = &trace.streams;
    let series = vec![
        Series::strings("task", strings, tasks.name().iter().copied().map(Some)),
        Series::numbers("number", tasks.number().iter().copied()),
        Series::strings(
            "name",
            strings,
            tasks.operator().iter().map(|id| Some(operators.name()[operator(id)?])),
        ),
        Series::strings(
            "op_type",
            strings,
            tasks.operator().iter().map(|id| Some(operators.op_type()[operator(id)?])),
        ),
        Series::numbers("operator", tasks.operator().iter().map(|id| Some(operator(id)? as u32))),
        Series::texts("unit", tasks.unit().iter().map(|unit| Some(unit.name()))),
        Series::numbers(
            "device",
            tasks
                .stream()
                .iter()
                .map(|id| Some(trace.devices.number()[streams.device()[stream(id)?].index()])),
        ),
        Series::counts("stream", tasks.stream().iter().map(|id| Some(streams.number()[stream(id)?]))),
        iteration_number(trace, tasks.iteration().iter()),
        Series::numbers(
            "launched_by",
            tasks.launched_by().iter().map(|call| call.map(|call: ApiCallId| call.index() as u32)),
        ),
        times(trace, "start_ns", |trace| trace.tasks.start()),
        times(trace, "duration_ns", |trace| trace.tasks.duration()),
        Series::times("wait_ns", tasks.wait().iter().copied()),
    ];
    Table::new("tasks", tasks.len(), series)
}

/// Operators, as they were executed.
pub fn operators(trace: &Arc<Trace>) -> Table {
    let (operators, strings) = (&trace.operators, &trace.strings);
    let rows = || operators.iter().map(|(_, row)| row);
    let shapes = |tensors: &mut dyn Iterator<Item = _>| {
        let shapes: Vec<String> = tensors.map(|tensor| signature::shape(trace, tensor)).collect();
        (!shapes.is_empty()).then(|| shapes.join(","))
    };
    let series = vec![
        Series::strings("name", strings, operators.name().iter().copied().map(Some)),
        Series::strings("op_type", strings, operators.op_type().iter().copied().map(Some)),
        Series::strings("engine_type", strings, operators.engine_type().iter().copied()),
        model_name(trace, operators.model()),
        Series::numbers("position", operators.position().iter().copied()),
        Series::texts("attribution", operators.attribution().iter().map(|word| Some(word.name()))),
        Series::texts("inputs", rows().map(|row| shapes(&mut row.inputs()))),
        Series::texts("outputs", rows().map(|row| shapes(&mut row.outputs()))),
        Series::texts("data_type", rows().map(|row| Some(signature::data_type(trace, &row)?.name()))),
        Series::counts("flops", operators.flops().iter().copied()),
        Series::counts("bytes_read", operators.bytes_read().iter().copied()),
        Series::counts("bytes_written", operators.bytes_written().iter().copied()),
        Series::counts("parameters", operators.parameters().iter().copied()),
    ];
    Table::new("operators", operators.len(), series)
}

/// Calls of the host.
pub fn calls(trace: &Arc<Trace>) -> Table {
    let calls = &trace.api_calls;
    let series = vec![
        Series::strings("name", &trace.strings, calls.name().iter().copied().map(Some)),
        Series::texts("level", calls.level().iter().map(|level| Some(level.name()))),
        thread_number(trace, calls.thread()),
        iteration_number(trace, calls.iteration().iter()),
        times(trace, "start_ns", |trace| trace.api_calls.start()),
        times(trace, "duration_ns", |trace| trace.api_calls.duration()),
    ];
    Table::new("calls", calls.len(), series)
}

/// Inferences, those to warm up among them.
pub fn iterations(trace: &Arc<Trace>) -> Table {
    let iterations = &trace.iterations;
    let series = vec![
        model_name(trace, iterations.model()),
        Series::new(
            "number",
            Values::Numbers(Column::OfTrace(Arc::clone(trace), |trace| trace.iterations.number())),
        ),
        Series::truths("warm_up", iterations.warm_up().iter().copied()),
        times(trace, "start_ns", |trace| trace.iterations.start()),
        times(trace, "duration_ns", |trace| trace.iterations.duration()),
    ];
    Table::new("iterations", iterations.len(), series)
}

/// Samples of all counters.
pub fn counters(trace: &Arc<Trace>) -> Table {
    let (samples, counters) = (&trace.samples, &trace.counters);
    let of = || samples.counter().iter().map(|id| id.index());
    let device = |counter: usize| Some(trace.devices.number()[counters.device()[counter]?.index()]);
    let series = vec![
        Series::strings("counter", &trace.strings, of().map(|counter| Some(counters.name()[counter]))),
        Series::strings("unit", &trace.strings, of().map(|counter| Some(counters.unit()[counter]))),
        Series::numbers("device", of().map(device)),
        times(trace, "time_ns", |trace| trace.samples.time()),
        Series::new(
            "value",
            Values::Doubles(Column::OfTrace(Arc::clone(trace), |trace| trace.samples.value())),
        ),
    ];
    Table::new("counters", samples.len(), series)
}

/// Ranges and marks that the program set.
pub fn ranges(trace: &Arc<Trace>) -> Table {
    let ranges = &trace.ranges;
    let series = vec![
        Series::strings("name", &trace.strings, ranges.name().iter().copied().map(Some)),
        Series::strings("domain", &trace.strings, ranges.domain().iter().copied()),
        Series::texts("kind", ranges.kind().iter().map(|kind| Some(kind.name()))),
        thread_number(trace, ranges.thread()),
        times(trace, "start_ns", |trace| trace.ranges.start()),
        times(trace, "duration_ns", |trace| trace.ranges.duration()),
    ];
    Table::new("ranges", ranges.len(), series)
}

/// The records that were dropped or doubted while the profile was read.
pub fn losses(trace: &Arc<Trace>) -> Table {
    let losses = &trace.losses;
    let kinds = || losses.kind().iter();
    let series = vec![
        Series::texts("kind", kinds().map(|kind| Some(kind.name()))),
        Series::texts("severity", kinds().map(|kind| Some(kind.severity().name()))),
        Series::texts("sentence", kinds().map(|kind| Some(kind.sentence()))),
        Series::new(
            "count",
            Values::Counts(Column::OfTrace(Arc::clone(trace), |trace| trace.losses.count())),
        ),
        Series::strings("detail", &trace.strings, losses.detail().iter().copied().map(Some)),
    ];
    Table::new("losses", losses.len(), series)
}

fn times(trace: &Arc<Trace>, name: &str, column: fn(&Trace) -> &[opscope_trace::Nanoseconds]) -> Series {
    Series::new(name, Values::Times(Column::OfTrace(Arc::clone(trace), column)))
}

fn iteration_number<'t>(trace: &Trace, ids: impl Iterator<Item = &'t Option<IterationId>>) -> Series {
    Series::numbers("iteration", ids.map(|id| Some(trace.iterations.number()[id.as_ref()?.index()])))
}

fn model_name(trace: &Trace, ids: &[Option<ModelId>]) -> Series {
    Series::strings(
        "model",
        &trace.strings,
        ids.iter().map(|id| Some(trace.models.name()[id.as_ref()?.index()])),
    )
}

fn thread_number(trace: &Trace, ids: &[Option<ThreadId>]) -> Series {
    Series::counts("thread", ids.iter().map(|id| Some(trace.threads.tid()[id.as_ref()?.index()])))
}
