//! The waist of opscope: what a profile recorded, in columnar tables with typed ids.
//!
//! Every reader of a profile format projects what it decoded into a [`Trace`]; whatever analyses,
//! compares, advises or draws reads a [`Trace`] and knows no format. This crate does no input or
//! output.
//!
//! - Rows are named by typed ids ([`TaskId`], [`OperatorId`], …), so that a row number of one
//!   table can't be used in another. `Option<TaskId>` is as small as the id itself.
//! - A table is one vector a column ([`TaskTable::start`] and its like), with [`Task`] as the
//!   form of one whole row.
//! - Text is interned once in [`Trace::strings`].
//! - A time is a signed number of [`Nanoseconds`] from the trace's own zero; what is known about
//!   that zero stands in [`Trace::clock`].
//!
//! ```
//! use opscope_trace::{ExecutionUnit, Nanoseconds, Operator, Task, Trace};
//!
//! let mut trace = Trace::new();
//! let (name, op_type) = (trace.strings.intern("conv1"), trace.strings.intern("Conv"));
//! let operator = trace.operators.push(Operator { flops: Some(2_000_000), ..Operator::new(name, op_type) });
//! trace.tasks.push(Task {
//!     operator: Some(operator),
//!     unit: ExecutionUnit::Cpu,
//!     ..Task::new(name, Nanoseconds(1_000), Nanoseconds(40_000))
//! });
//! assert_eq!(trace.tasks.duration().iter().sum::<Nanoseconds>(), Nanoseconds(40_000));
//! assert_eq!(trace.strings.get(trace.operators.name()[0]), "conv1");
//! ```
//!
//! Each floor uses those below it:
//!
//! ```text
//! append · impossible                      whole traces: laid together, rid of times that can't be
//! Trace · places · loss                    the tables together; rows that readers enter once; losses
//! task · operator · device · run_facts …   a table or an idea each
//! table! · words! · ids · loss_kind        how tables and enums are declared; the list of losses
//! strings · pool · time · units            values
//! ```

mod api_call;
mod append;
mod clock;
mod counter;
mod data_type;
mod device;
mod figure;
mod ids;
mod impossible;
mod iteration;
mod lanes;
mod launch_site;
mod loss;
mod loss_kind;
mod metric;
mod model;
mod numbers;
mod operator;
mod places;
mod pool;
mod process;
mod range;
mod rows_by_key;
mod run_facts;
mod run_words;
mod strings;
mod table;
mod task;
mod tensor;
mod time;
pub mod units;
mod unrecorded_iteration;
mod words;

pub use api_call::{ApiCall, ApiCallId, ApiCallTable, ApiLevel};
pub use clock::Clock;
pub use counter::{Counter, CounterId, CounterTable, Sample, SampleId, SampleTable};
pub use data_type::DataType;
pub use device::{Device, DeviceId, DeviceKind, DeviceTable, Stream, StreamId, StreamTable};
pub use figure::{Figure, FigureId, FigureSubject, FigureTable, FigureTopic};
pub use iteration::{Iteration, IterationId, IterationTable};
pub use lanes::LanePacker;
pub use launch_site::{LaunchSite, LaunchSiteId, LaunchSiteTable};
pub use loss::{CountedLoss, Loss, LossId, LossTable, Losses};
pub use loss_kind::{LossKind, LossScope, LossSource, Severity};
pub use metric::{Metric, MetricId, MetricTable, Reading, ReadingId, ReadingTable};
pub use model::{Model, ModelId, ModelTable};
pub use numbers::{ByteMap, NumberHasher, NumberMap, NumberSet, Seeded};
pub use operator::{Attribution, Operator, OperatorId, OperatorTable, reads_shapes_only};
pub use places::Places;
pub use pool::{Pool, Span};
pub use process::{Process, ProcessId, ProcessTable, Thread, ThreadId, ThreadTable};
pub use range::{Range, RangeId, RangeKind, RangeTable};
pub use run_facts::{Bytes, FactValue, RunFacts, RunInput};
pub use run_words::{ClockRelation, EngineName, Optimization, ProfileFormat, TaskWait, TimeBasis};
pub use strings::{StringId, StringTable};
pub use task::{ExecutionUnit, Task, TaskId, TaskTable};
pub use tensor::{Tensor, TensorId, TensorTable};
pub use time::Nanoseconds;
pub use unrecorded_iteration::{UnrecordedIteration, UnrecordedIterationId, UnrecordedIterationTable};

use rows_by_key::RowsByKey;

/// Everything that one profile recorded.
///
/// Tables refer to one another by id only. Rows stand in the order in which the format listed
/// them; nothing is sorted behind the reader's back.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Where the trace's zero lies, and how its times were taken.
    pub clock: Clock,
    /// Facts about the run as a whole.
    pub run: RunFacts,
    /// All text of the trace, each piece once.
    pub strings: StringTable,
    /// Operating system processes that were recorded.
    pub processes: ProcessTable,
    /// Threads of those processes.
    pub threads: ThreadTable,
    /// Devices that executed tasks; the host's processor counts as one.
    pub devices: DeviceTable,
    /// Queues of a device; a thread that executes operators counts as one.
    pub streams: StreamTable,
    /// Models that were loaded or run.
    pub models: ModelTable,
    /// Inferences, warm-up ones included.
    pub iterations: IterationTable,
    /// Inferences that were timed as a whole, in turn with those that were recorded.
    pub unrecorded_iterations: UnrecordedIterationTable,
    /// Host-side calls: loading, executing, launching.
    pub api_calls: ApiCallTable,
    /// Nodes of the models.
    pub operators: OperatorTable,
    /// Inputs and outputs of the operators.
    pub tensors: TensorTable,
    /// Dimensions of the tensors; −1 is a dimension that isn't known.
    pub dimensions: Pool<i64>,
    /// Lists of names, such as the model's nodes that an engine fused into one operator.
    pub names: Pool<StringId>,
    /// Units of work on the streams.
    pub tasks: TaskTable,
    /// The framework's calls that asked for tasks, as far as they are told.
    pub launch_sites: LaunchSiteTable,
    /// The quantities that hardware reports for single tasks.
    pub metrics: MetricTable,
    /// The values of the metrics, a row for each task that has any.
    pub readings: ReadingTable,
    /// Lists of metrics that readings name.
    pub metric_lists: Pool<MetricId>,
    /// Lists of values that readings name.
    pub metric_values: Pool<f64>,
    /// Ranges and marks that the program itself set.
    pub ranges: RangeTable,
    /// Quantities that were sampled over time.
    pub counters: CounterTable,
    /// The samples of the counters.
    pub samples: SampleTable,
    /// Figures that files state of whole steps, operations or operators.
    pub figures: FigureTable,
    /// Records that were dropped or doubted while the profile was read.
    pub losses: LossTable,
    /// The model whose iterations count, where whoever asks has chosen one of several; otherwise those of all.
    pub counted_model: Option<ModelId>,
    /// Rows that are asked for by what they hold.
    entered: Entered,
}

/// Rows by what they are entered by.
#[derive(Clone, Debug, Default)]
struct Entered {
    metrics: RowsByKey<(u64, u64)>,
    models_by_number: RowsByKey<u64>,
    models_by_name: RowsByKey<u64>,
    processes: RowsByKey<u64>,
    /// By process and number.
    threads: RowsByKey<(u64, u64)>,
    /// By device, and thread or else number and name.
    streams: RowsByKey<[u64; 4]>,
}

impl Trace {
    /// A trace without a row.
    pub fn new() -> Self {
        Self::default()
    }

    /// The metric of a name and unit, entered if it is new.
    pub fn enter_metric(&mut self, name: &str, unit: &str) -> MetricId {
        let metric = Metric { name: self.strings.intern(name), unit: self.strings.intern(unit) };
        let key = |metric: Metric| (metric.name.index() as u64, metric.unit.index() as u64);
        let key_of = |row| key(self.metrics.get(MetricId::from_index(row)));
        let known = self.entered.metrics.find(key(metric), self.metrics.len(), key_of);
        known.map_or_else(|| self.metrics.push(metric), MetricId::from_index)
    }

    /// Notes what was measured of a task: the values of `metrics`, one for each. A value that is infinite or
    /// no number wasn't measured and is left out with its metric; without any value there is no reading.
    ///
    /// A list of metrics that is equal to the one before is stored once.
    ///
    /// # Panics
    /// If there are more or fewer values than metrics.
    pub fn push_reading(&mut self, task: TaskId, metrics: &[MetricId], values: &[f64]) -> Option<ReadingId> {
        assert_eq!(metrics.len(), values.len(), "a reading has one value for each metric");
        // Mostly all were, and then nothing has to be picked out.
        if !values.is_empty() && values.iter().all(|value| value.is_finite()) {
            let last = self.readings.metrics().last().copied();
            let metrics = match last.filter(|span| self.metric_lists.get(*span) == metrics) {
                Some(span) => span,
                None => self.metric_lists.push(metrics.iter().copied()),
            };
            let values = self.metric_values.push(values.iter().copied());
            return Some(self.readings.push(Reading { task, metrics, values }));
        }
        let measured = || metrics.iter().zip(values).filter(|(_, value)| value.is_finite());
        measured().next()?;
        let metrics = || measured().map(|(metric, _)| *metric);
        let last = self.readings.metrics().last().copied();
        let metrics = match last {
            Some(span) if self.metric_lists.get(span).iter().copied().eq(metrics()) => span,
            _ => self.metric_lists.push(metrics()),
        };
        let values = self.metric_values.push(measured().map(|(_, value)| *value));
        Some(self.readings.push(Reading { task, metrics, values }))
    }

    /// The values that were measured of a task, metric by metric.
    pub fn readings_of(&self, reading: ReadingId) -> impl ExactSizeIterator<Item = (MetricId, f64)> + '_ {
        let row = self.readings.get(reading);
        let metrics = self.metric_lists.get(row.metrics).iter().copied();
        metrics.zip(self.metric_values.get(row.values).iter().copied())
    }

    /// Every value of a metric with its task, reading by reading.
    pub fn metric_values(&self, metric: MetricId) -> impl Iterator<Item = (TaskId, f64)> + '_ {
        self.readings.iter().filter_map(move |(id, row)| {
            let (_, value) = self.readings_of(id).find(|(known, _)| *known == metric)?;
            Some((row.task, value))
        })
    }

    /// The dimensions of a tensor; `None` when not even their number is known.
    pub fn shape(&self, tensor: TensorId) -> Option<&[i64]> {
        self.tensors.get(tensor).dimensions.map(|span| self.dimensions.get(span))
    }

    /// Bytes of tensors, packed; `None` if the size of one isn't known.
    pub fn tensor_bytes(&self, mut tensors: impl Iterator<Item = TensorId>) -> Option<u64> {
        tensors.try_fold(0u64, |sum, tensor| {
            let mut shape = self.shape(tensor)?.iter().map(|&dimension| u64::try_from(dimension).ok());
            let elements = shape.try_fold(1u64, |product, dimension| product.checked_mul(dimension?))?;
            sum.checked_add(self.tensors.data_type()[tensor.index()].bytes(elements)?)
        })
    }

    /// When the first of all tasks, calls and ranges starts by the clock on the wall, in nanoseconds since
    /// 1970-01-01T00:00:00Z; of an empty trace its zero. The zero may lie long before: some clocks start with the
    /// machine, or with a quarter of the year.
    pub fn begin(&self) -> Option<i64> {
        let first = self.extent().map_or(0, |(first, _)| first.0);
        self.clock.unix_zero.map(|zero| zero.saturating_add(first))
    }

    /// From the earliest start to the latest end of all tasks, calls and ranges; `None` for an
    /// empty trace.
    pub fn extent(&self) -> Option<(Nanoseconds, Nanoseconds)> {
        let tasks = (self.tasks.start().iter()).zip(self.tasks.duration());
        let calls = (self.api_calls.start().iter()).zip(self.api_calls.duration());
        let ranges = (self.ranges.start().iter()).zip(self.ranges.duration());
        (tasks.chain(calls).chain(ranges)).fold(None, |extent, (&start, &duration)| {
            let end = start + duration;
            let (first, last) = extent.unwrap_or((start, end));
            Some((first.min(start), last.max(end)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_share_their_list_of_metrics_and_are_found_by_metric_and_by_task() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let tasks =
            [5, 6, 7].map(|start| trace.tasks.push(Task::new(name, Nanoseconds(start), Nanoseconds(1))));
        let (mac, time) = (trace.enter_metric("mac_ratio", ""), trace.enter_metric("vec_time", "us"));
        assert_eq!(trace.enter_metric("mac_ratio", ""), mac);
        trace.push_reading(tasks[0], &[mac, time], &[0.5, 12.0]);
        trace.push_reading(tasks[1], &[mac, time], &[0.25, 3.0]);
        let last = trace.push_reading(tasks[2], &[time], &[1.0]).unwrap();
        assert_eq!(trace.metric_lists.len(), 3);
        assert_eq!(trace.metric_values(mac).collect::<Vec<_>>(), [(tasks[0], 0.5), (tasks[1], 0.25)]);
        assert_eq!(trace.readings_of(last).collect::<Vec<_>>(), [(time, 1.0)]);
    }

    #[test]
    fn what_is_no_number_was_not_measured() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let task = trace.tasks.push(Task::new(name, Nanoseconds(5), Nanoseconds(1)));
        let (mac, time) = (trace.enter_metric("mac_ratio", ""), trace.enter_metric("vec_time", "us"));
        assert_eq!(trace.push_reading(task, &[mac, time], &[f64::NAN, f64::INFINITY]), None);
        let some = trace.push_reading(task, &[mac, time], &[f64::NAN, 1.0]).unwrap();
        assert_eq!(trace.readings_of(some).collect::<Vec<_>>(), [(time, 1.0)]);
        assert_eq!(trace.readings.len(), 1);
    }

    #[test]
    fn the_extent_spans_tasks_calls_and_ranges() {
        let mut trace = Trace::new();
        trace.clock.unix_zero = Some(1_000);
        assert_eq!((trace.extent(), trace.begin()), (None, Some(1_000)));
        let name = trace.strings.intern("x");
        trace.tasks.push(Task::new(name, Nanoseconds(5), Nanoseconds(5)));
        trace.ranges.push(Range::new(name, Nanoseconds(-3), Nanoseconds(1)));
        assert_eq!(trace.extent(), Some((Nanoseconds(-3), Nanoseconds(10))));
        assert_eq!(trace.begin(), Some(997));
    }
}
