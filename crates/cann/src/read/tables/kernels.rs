//! Tables with a row for every task: `op_summary*.csv`, `kernel_details.csv`, `task_time*.csv`,
//! `aicpu*.csv`.

use std::collections::BTreeMap;

use opscope_formats::reading::Stop;
use opscope_trace::{
    DeviceKind, ExecutionUnit, Iteration, LossKind, MetricId, Model, ModelId, Nanoseconds, OperatorId,
    Places, Pool, Span, StreamId, StringId, StringTable, Task, TaskId, Trace,
};

use super::mindspore_units::{AiCpuSpans, Unit, ai_cpu_spans, unit_of_begins};
use super::streamless::Streamless;
use super::table::{Column, Header, Losses, Row, read_rows, zero_of};
use crate::headings::{aicpu, mindspore, op_summary, other, task_time};
use crate::read::operators::{Described, Operators, Side};
use crate::vocabulary;

const START: [&str; 8] = [
    op_summary::START,
    other::START[0],
    task_time::START,
    other::START[1],
    aicpu::START,
    mindspore::START,
    mindspore::START_RENAMED,
    mindspore::AI_CPU_START,
];
const DURATION: [&str; 5] =
    [op_summary::DURATION, other::DURATION[0], task_time::DURATION, other::DURATION[1], mindspore::DURATION];
const WAIT: [&str; 3] = [op_summary::WAIT, other::WAIT[0], other::WAIT[1]];
const NAME: [&str; 7] = [
    op_summary::NAME,
    other::NAME,
    task_time::NAME,
    aicpu::NAME,
    mindspore::OPERATOR,
    mindspore::KERNEL_TYPE,
    mindspore::TYPE[0],
];
const DEVICE: [&str; 2] = [op_summary::DEVICE, other::DEVICE];

/// Columns that are known and have no place in a trace, but are no metrics of the hardware.
const WITHOUT_PLACE: [&str; 8] = [
    mindspore::SERIAL_NUMBER[0],
    mindspore::SERIAL_NUMBER[1],
    op_summary::DEVICE,
    other::DEVICE,
    op_summary::HF32,
    op_summary::CONTEXT,
    task_time::STOP,
    other::INPUT_COUNT,
];

/// Whether a table has a row for every task.
pub(super) fn is_table(header: &Header) -> bool {
    let lasts = header.has(&DURATION) || header.has(&[mindspore::AI_CPU_END]);
    header.has(&START) && lasts && header.has(&NAME)
}

/// A task as a table has it; texts are in [`Kernels::texts`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    pub start: Nanoseconds,
    pub duration: Nanoseconds,
    pub wait: Option<Nanoseconds>,
    pub name: StringId,
    pub op_type: StringId,
    /// The kind of task: `AI_CORE`, `HCCL`, …
    pub kind: StringId,
    /// Whether the table has a column for types of operators, and so lists operators only.
    pub of_operators: bool,
    pub device: u32,
    pub stream: Option<u64>,
    /// The number of the task within its stream.
    pub number: Option<u32>,
    pub model: Option<u64>,
    /// Empty where the table tells no names of models.
    model_name: StringId,
    pub step: Option<u32>,
    pub inputs: Side,
    pub outputs: Side,
    pub dynamic: Option<bool>,
    /// The table of which [`Kernels::metrics`] tells the metrics.
    table: usize,
    /// The values of those metrics; none if the row has none.
    values: Span<f64>,
}

impl Kernel {
    /// Whether the row tells what was measured of the task.
    pub fn is_measured(&self) -> bool {
        !self.values.is_empty()
    }
}

/// The tasks of one or several tables.
#[derive(Default)]
pub(crate) struct Kernels {
    pub(super) texts: StringTable,
    pub(super) rows: Vec<Kernel>,
    pub(super) losses: Losses,
    /// For each table that was read, the names and units of its metrics.
    metrics: Vec<Vec<(String, String)>>,
    /// For each table that was read, whether it has a column of devices.
    names_devices: Vec<bool>,
    /// For each table that was read, whether it has a column of streams, which are those of a device.
    names_streams: Vec<bool>,
    values: Pool<f64>,
}

impl Kernels {
    /// Adds the rows of a table, until `stop` is wanted.
    pub(super) fn read(&mut self, text: &[u8], header: &Header, stop: &Stop) {
        let mut columns = Columns::new(header);
        let doubt = columns.settle_units(text, header, stop);
        let first = self.rows.len();
        self.names_devices.push(columns.device.is_some());
        self.names_streams.push(columns.stream.is_some());
        let Self { texts, rows, losses, metrics, values, .. } = self;
        let table = metrics.len();
        metrics.push(columns.metrics.iter().map(|column| metric(header.written(*column))).collect());
        let mut row_values: Vec<f64> = Vec::new();
        read_rows(text, header, stop, losses, |row, losses| {
            let Some((start, duration)) = columns.span(row) else {
                losses.count(LossKind::TaskWithoutTime, row.line);
                return;
            };
            if duration < Nanoseconds::ZERO {
                losses.count(LossKind::NegativeTask, row.line);
                return;
            }
            row_values.clear();
            row_values
                .extend(columns.metrics.iter().map(|column| row.float(Some(*column)).unwrap_or(f64::NAN)));
            let texts_among = columns.metrics.iter().zip(&row_values);
            let texts_among =
                texts_among.filter(|(column, value)| value.is_nan() && !row.cell(Some(**column)).is_empty());
            losses.count_several(LossKind::TextAmongMetrics, texts_among.count() as u64, row.line);
            let measured = row_values.iter().any(|value| !value.is_nan());
            let values = if measured { values.push(row_values.iter().copied()) } else { Span::default() };
            rows.push(Kernel { table, values, ..columns.kernel(row, texts, start, duration) });
        });
        if let Some(kind) = doubt {
            /// The heading is on the first.
            const LINE: u64 = 2;
            self.losses.count_several(kind, (self.rows.len() - first) as u64, LINE);
        }
    }

    /// Names the file of the tables that are read from now on.
    pub fn begin_file(&mut self, name: &str) {
        self.losses.begin_file(name);
    }

    /// Adds a table of tasks on one device of which nothing was measured.
    pub(super) fn begin_table(&mut self) -> NewTable<'_> {
        self.names_devices.push(true);
        self.names_streams.push(false);
        self.metrics.push(Vec::new());
        NewTable { table: self.metrics.len() - 1, kernels: self }
    }

    /// Places the tasks of the tables behind the first few on a device, if those tell none.
    pub fn place_tables_on(&mut self, first: usize, device: u32) {
        let Self { rows, names_devices, .. } = self;
        for row in rows.iter_mut().filter(|row| row.table >= first && !names_devices[row.table]) {
            row.device = device;
        }
        names_devices[first..].fill(true);
    }

    /// How many tasks there are.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// How many tables were read.
    pub fn tables(&self) -> usize {
        self.metrics.len()
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The begin of the first task and the end of the last.
    pub fn span(&self) -> Option<(Nanoseconds, Nanoseconds)> {
        let spans = self.rows.iter().map(|row| (row.start, row.start + row.duration));
        spans.reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))
    }

    /// The rows that are work. Others only handle streams, and may lie long before it, as the profiler's switches do.
    pub(super) fn work(&self) -> impl Iterator<Item = &Kernel> {
        self.rows.iter().filter(|row| vocabulary::unit(self.texts.get(row.kind)) != ExecutionUnit::Control)
    }

    /// Whether a table tells no devices, so that its tasks are on the first one unless [`Self::place_on`] is
    /// told another.
    pub fn lacks_device(&self) -> bool {
        self.names_devices.contains(&false)
    }

    /// Whether the table of a row tells its device.
    pub(super) fn names_device(&self, row: &Kernel) -> bool {
        self.names_devices[row.table]
    }

    /// The device of all tasks, where the tables tell devices and it is one.
    pub(super) fn only_device(&self) -> Option<u32> {
        let mut told = self.rows.iter().filter(|row| self.names_device(row)).map(|row| row.device);
        let first = told.next()?;
        told.all(|device| device == first).then_some(first)
    }

    /// Whether the table of a row tells something of where its tasks ran, so that all of them are on a device.
    fn is_placed(&self, row: &Kernel) -> bool {
        self.names_devices[row.table] || self.names_streams[row.table]
    }

    /// Places the tasks of tables that tell no devices.
    pub fn place_on(&mut self, device: u32) {
        for row in self.rows.iter_mut().filter(|row| !self.names_devices[row.table]) {
            row.device = device;
        }
    }

    /// The trace of these tasks alone; cut short where `stop` is wanted.
    pub fn to_trace(&self, stop: &Stop) -> Trace {
        let mut trace = Trace::new();
        let first = self.rows.iter().map(|row| row.start).min().unwrap_or_default();
        let zero = zero_of(first);
        if zero != Nanoseconds::ZERO {
            trace.clock.unix_zero = Some(zero.0);
        }
        let mut entry = Entry::default();
        let iterations = self.iterations(&mut trace, zero);
        for kernel in stop.within(&self.rows) {
            let task = entry.task(&mut trace, &self.texts, kernel, zero);
            let iteration = iterations.get(&step_of(kernel)).copied();
            let stream = entry.stream_of(&mut trace, self, kernel, &task);
            let task = trace.tasks.push(Task { iteration, stream, ..task });
            self.enter_reading(&mut trace, &mut entry, task, kernel);
        }
        entry.part_streamless(&mut trace);
        self.name_models(&mut trace);
        self.losses.report(&mut trace);
        trace
    }

    /// Gives the models of a trace that have no names those that the tables tell.
    pub(super) fn name_models(&self, trace: &mut Trace) {
        let mut names: BTreeMap<u64, StringId> = BTreeMap::new();
        for kernel in self.rows.iter().filter(|kernel| !self.texts.get(kernel.model_name).is_empty()) {
            kernel.model.map(|model| names.entry(model).or_insert(kernel.model_name));
        }
        for id in trace.models.ids() {
            let row = trace.models.get(id);
            if let Some(name) = names.get(&row.number).filter(|_| trace.strings.get(row.name).is_empty()) {
                let name = trace.strings.intern(self.texts.get(*name));
                trace.models.set(id, Model { name, ..row });
            }
        }
    }

    /// Notes what was measured of the task of a row.
    pub(super) fn enter_reading(&self, trace: &mut Trace, entry: &mut Entry, task: TaskId, kernel: &Kernel) {
        if !kernel.is_measured() {
            return;
        }
        while entry.metrics.len() <= kernel.table {
            let metrics = self.metrics[entry.metrics.len()].iter();
            entry.metrics.push(metrics.map(|(name, unit)| trace.enter_metric(name, unit)).collect());
        }
        trace.push_reading(task, &entry.metrics[kernel.table], self.values.get(kernel.values));
    }

    /// The metrics of each table, entered into a trace.
    pub(super) fn enter_metrics(&self, trace: &mut Trace) -> Vec<Vec<MetricId>> {
        let mut enter = |(name, unit): &(String, String)| trace.enter_metric(name, unit);
        self.metrics.iter().map(|table| table.iter().map(&mut enter).collect()).collect()
    }

    /// The values that were measured of the task of a row, by the `metrics` of its table.
    pub(super) fn measured<'a>(
        &'a self,
        metrics: &'a [Vec<MetricId>],
        kernel: &Kernel,
    ) -> impl Iterator<Item = (MetricId, f64)> + 'a {
        let values = self.values.get(kernel.values).iter().copied();
        metrics[kernel.table].iter().copied().zip(values).filter(|(_, value)| value.is_finite())
    }

    /// The tables tell only the number of a step; it lasts from its first task to its last.
    pub(super) fn iterations(
        &self,
        trace: &mut Trace,
        zero: Nanoseconds,
    ) -> BTreeMap<Step, opscope_trace::IterationId> {
        let mut spans: BTreeMap<Step, (Nanoseconds, Nanoseconds)> = BTreeMap::new();
        for kernel in self.rows.iter().filter(|kernel| kernel.step.is_some()) {
            let end = kernel.start + kernel.duration;
            let (first, last) = spans.entry(step_of(kernel)).or_insert((kernel.start, end));
            (*first, *last) = ((*first).min(kernel.start), (*last).max(end));
        }
        let mut spans: Vec<_> = spans.into_iter().collect();
        spans.sort_by_key(|(_, (first, _))| *first);
        trace.count_loss(LossKind::SpannedIteration, spans.len() as u64, "");
        let enter = |((model, step), (first, last)): (Step, (Nanoseconds, Nanoseconds))| {
            let iteration = Iteration {
                model: model.map(|model| trace.enter_model(model)),
                number: step.unwrap_or(0),
                warm_up: false,
                start: first - zero,
                duration: last - first,
            };
            ((model, step), trace.iterations.push(iteration))
        };
        spans.into_iter().map(enter).collect()
    }
}

/// A table of tasks in the making, from a file of another kind.
pub(super) struct NewTable<'k> {
    pub kernels: &'k mut Kernels,
    table: usize,
}

impl NewTable<'_> {
    /// Adds a task that only has a name, a type, a kind, a device and perhaps a stream.
    pub fn push(&mut self, task: PlainTask<'_>) {
        let nothing = self.kernels.texts.intern("");
        let no_side = Side { shapes: nothing, types: nothing, formats: nothing };
        let kernel = Kernel {
            start: task.start,
            duration: task.duration,
            wait: None,
            name: self.kernels.texts.intern(task.name),
            op_type: self.kernels.texts.intern(task.op_type),
            kind: self.kernels.texts.intern(task.kind),
            of_operators: false,
            device: task.device,
            stream: task.stream,
            number: None,
            model: None,
            model_name: nothing,
            step: None,
            inputs: no_side,
            outputs: no_side,
            dynamic: None,
            table: self.table,
            values: Span::default(),
        };
        self.kernels.rows.push(kernel);
    }
}

/// A task of which little is told.
pub(super) struct PlainTask<'t> {
    pub start: Nanoseconds,
    pub duration: Nanoseconds,
    pub name: &'t str,
    pub op_type: &'t str,
    pub kind: &'t str,
    pub device: u32,
    pub stream: Option<u64>,
}

/// The name and unit of a metric by the heading of its column: `aic_mac_time(us)`. A column
/// that one version of the tools calls `Block Dim` and another `Block Num` has one name.
fn metric(heading: &str) -> (String, String) {
    let (name, unit) = match heading.strip_suffix(')').and_then(|heading| heading.rsplit_once('(')) {
        Some((name, unit)) => (name.trim(), unit),
        None => (heading, ""),
    };
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let name = match name {
        _ if is(op_summary::BLOCKS) || is(other::BLOCKS) => "block_num",
        _ if is(op_summary::MIX_BLOCKS) || is(other::MIX_BLOCKS) => "mix_block_num",
        name => name,
    };
    // MindSpore writes these in milliseconds, without saying so.
    let unit = if mindspore::AI_CPU_TIMES.contains(&heading) { "ms" } else { unit };
    (name.to_owned(), unit.to_owned())
}

/// The identity of an iteration: the model and the number.
pub(super) type Step = (Option<u64>, Option<u32>);

pub(super) fn step_of(kernel: &Kernel) -> Step {
    (kernel.model, kernel.step)
}

/// Enters tasks of tables into a trace.
#[derive(Default)]
pub(super) struct Entry {
    places: Places,
    streamless: Streamless,
    operators: Operators,
    /// For each table the metrics of its columns.
    metrics: Vec<Vec<MetricId>>,
}

impl Entry {
    /// For a trace that has some places already.
    pub fn with(places: Places) -> Self {
        Self { places, ..Self::default() }
    }

    /// The task of a row, its operator and stream entered.
    pub fn task(
        &mut self,
        trace: &mut Trace,
        texts: &StringTable,
        kernel: &Kernel,
        zero: Nanoseconds,
    ) -> Task {
        let device = self.places.device(trace, DeviceKind::Npu, kernel.device, "");
        let nameless = trace.strings.intern("");
        let stream = kernel.stream.map(|stream| self.places.stream(trace, device, stream, None, nameless));
        let name = trace.strings.intern(texts.get(kernel.name));
        Task {
            operator: self.operator(trace, texts, kernel),
            number: kernel.number,
            stream,
            unit: vocabulary::unit(texts.get(kernel.kind)),
            wait: kernel.wait,
            ..Task::new(name, kernel.start - zero, kernel.duration)
        }
    }

    /// The stream of the task of a row, or the one that stands for those without any on its device; only for tasks
    /// that no other file places.
    pub fn stream_of(
        &mut self,
        trace: &mut Trace,
        kernels: &Kernels,
        kernel: &Kernel,
        task: &Task,
    ) -> Option<StreamId> {
        if task.stream.is_some() || !kernels.is_placed(kernel) {
            return task.stream;
        }
        let device = self.places.device(trace, DeviceKind::Npu, kernel.device, "");
        let named = (kernels.texts.get(kernel.name), task.unit);
        Some(self.streamless.find(trace, &mut self.places, device, named))
    }

    /// Moves tasks without a stream that run at the same time to lanes of their own, once all were entered.
    pub fn part_streamless(&mut self, trace: &mut Trace) {
        self.streamless.part(trace, &mut self.places);
    }

    /// The operator of a row; none for tasks that only handle streams or copy memory.
    pub fn operator(
        &mut self,
        trace: &mut Trace,
        texts: &StringTable,
        kernel: &Kernel,
    ) -> Option<OperatorId> {
        let (op_type, kind) = (texts.get(kernel.op_type), texts.get(kernel.kind));
        // At the lowest level of detail, tables of operators tell neither.
        let is_silent = kernel.of_operators && kind.is_empty();
        (!op_type.is_empty() || is_silent || vocabulary::computes(kind)).then(|| {
            let model: Option<ModelId> = kernel.model.map(|model| trace.enter_model(model));
            let Kernel { name, op_type, inputs, outputs, dynamic, .. } = *kernel;
            self.operators.find(trace, texts, Described { model, name, op_type, inputs, outputs, dynamic })
        })
    }
}

/// Where the columns of a table are.
struct Columns {
    start: Option<Column>,
    duration: Option<Column>,
    /// The end, where a table tells no durations.
    end: Option<Column>,
    start_unit: Unit,
    /// The unit of durations and waits.
    unit: Unit,
    wait: Option<Column>,
    name: Option<Column>,
    op_type: Option<Column>,
    kind: Option<Column>,
    /// The kind of all tasks of a table that has no column for it.
    only_kind: Option<&'static str>,
    device: Option<Column>,
    stream: Option<Column>,
    number: Option<Column>,
    model: Option<Column>,
    model_name: Option<Column>,
    step: Option<Column>,
    inputs: [Option<Column>; 3],
    outputs: [Option<Column>; 3],
    state: Option<Column>,
    /// All other columns: values of hardware counters.
    metrics: Vec<Column>,
}

impl Columns {
    fn new(header: &Header) -> Self {
        let mut columns = Self {
            start: header.find(&START),
            duration: header.find(&DURATION),
            wait: header.find(&WAIT),
            name: header.find(&NAME),
            op_type: header.find(&[op_summary::OP_TYPE, other::OP_TYPE]),
            kind: header.find(&[op_summary::KIND, other::KIND, task_time::KIND]),
            end: header.find(&[mindspore::AI_CPU_END]),
            start_unit: if header.has(&[mindspore::START]) { Unit::Millis } else { Unit::Micros },
            unit: if header.has(&[mindspore::DURATION]) { Unit::Millis } else { Unit::Micros },
            only_kind: if header.has(&[aicpu::NAME, mindspore::AI_CPU_START]) {
                Some("AI_CPU")
            } else {
                header.has(&[mindspore::DURATION]).then_some("AI_CORE")
            },
            device: header.find(&DEVICE),
            stream: header.find(&[op_summary::STREAM, task_time::STREAM]),
            number: header.find(&[op_summary::TASK, task_time::TASK]),
            model: header.find(&[op_summary::MODEL]),
            model_name: header.find(&[op_summary::MODEL_NAME]),
            step: header.find(&[other::STEP, op_summary::INFERENCE]),
            inputs: [op_summary::INPUT_SHAPES, op_summary::INPUT_TYPES, op_summary::INPUT_FORMATS]
                .map(|name| header.find(&[name])),
            outputs: [op_summary::OUTPUT_SHAPES, op_summary::OUTPUT_TYPES, op_summary::OUTPUT_FORMATS]
                .map(|name| header.find(&[name])),
            state: header.find(&[op_summary::STATE]),
            metrics: Vec::new(),
        };
        let singles = [
            columns.start,
            columns.duration,
            columns.end,
            columns.wait,
            columns.name,
            columns.op_type,
            columns.kind,
            columns.device,
            columns.stream,
            columns.number,
            columns.model,
            columns.model_name,
            columns.step,
            columns.state,
        ];
        let known: Vec<Column> = (singles.into_iter().chain(columns.inputs).chain(columns.outputs))
            .chain(WITHOUT_PLACE.map(|name| header.find(&[name])))
            .flatten()
            .collect();
        columns.metrics =
            header.columns().map(|(column, _)| column).filter(|column| !known.contains(column)).collect();
        columns
    }

    /// Settles the units that headings don't tell, or tell otherwise, by the rows; the doubt that they leave.
    fn settle_units(&mut self, text: &[u8], header: &Header, stop: &Stop) -> Option<LossKind> {
        if header.has(&[mindspore::START_RENAMED]) && header.has(&[mindspore::DURATION]) {
            let (unit, doubt) = unit_of_begins(text, header, stop);
            self.start_unit = unit;
            return doubt;
        }
        if header.has(&[mindspore::AI_CPU_END])
            && let AiCpuSpans::Computed(unit) = ai_cpu_spans(text, header, stop)
        {
            (self.start_unit, self.unit) = (unit, Unit::Millis);
            let [total, wait, own] = mindspore::AI_CPU_TIMES.map(|name| header.find(&[name]));
            // The wait is over when the task begins.
            (self.end, self.wait, self.duration) = (None, wait, own.or(total));
        }
        None
    }

    /// Begin and duration of a row's task.
    fn span(&self, row: &Row<'_>) -> Option<(Nanoseconds, Nanoseconds)> {
        let start = self.start_unit.read(row, self.start)?;
        let duration = match self.end {
            Some(_) => self.start_unit.read(row, self.end)? - start,
            None => self.unit.read(row, self.duration)?,
        };
        Some((start, duration))
    }

    fn kernel(
        &self,
        row: &Row<'_>,
        texts: &mut StringTable,
        start: Nanoseconds,
        duration: Nanoseconds,
    ) -> Kernel {
        let kind = self.only_kind.map_or_else(|| row.cell(self.kind), str::as_bytes);
        let kind = texts.intern(&String::from_utf8_lossy(kind));
        let mut text = |column| texts.intern(&String::from_utf8_lossy(row.cell(column)));
        let mut side = |[shapes, types, formats]: [Option<Column>; 3]| Side {
            shapes: text(shapes),
            types: text(types),
            formats: text(formats),
        };
        let (inputs, outputs) = (side(self.inputs), side(self.outputs));
        Kernel {
            start,
            duration,
            wait: self.unit.read(row, self.wait),
            name: text(self.name),
            op_type: text(self.op_type),
            kind,
            of_operators: self.op_type.is_some(),
            device: row.number(self.device).and_then(|device| u32::try_from(device).ok()).unwrap_or(0),
            stream: row.number(self.stream),
            number: row.number(self.number).and_then(|number| u32::try_from(number).ok()),
            model: row.number(self.model).filter(|model| *model != vocabulary::NONE),
            model_name: text(self.model_name),
            step: row.number(self.step).and_then(|step| u32::try_from(step).ok()),
            inputs,
            outputs,
            dynamic: vocabulary::is_dynamic(&row.text(self.state)),
            table: 0,
            values: Span::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_names_that_a_table_tells() {
        let table = "Model Name,Model ID,Stream ID,Infer ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n\
            net,7,2,1,conv,Conv2D,AI_CORE,0,10\nother,9,2,1,conv,Conv2D,AI_CORE,20,10\nN/A,3,2,1,mm,MatMul,AI_CORE,40,10\n";
        let trace = super::super::read(table.as_bytes(), &Stop::default()).unwrap();
        let models: Vec<_> =
            trace.models.iter().map(|(_, row)| (row.number, trace.strings.get(row.name))).collect();
        assert_eq!(models, [(7, "net"), (9, "other"), (3, "")]);
    }
}
