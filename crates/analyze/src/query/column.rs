//! The columns of an answer.

use opscope_trace::{Nanoseconds, Trace};

use super::answer::Row;
use crate::signature::{data_type, shapes};

/// The content of a cell, with its unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// It isn't known, or not the same for all executions of the row.
    Missing,
    /// Words.
    Text(String),
    /// A number of something.
    Count(u64),
    /// A time or duration.
    Time(Nanoseconds),
    /// A part of a whole, from 0 to 1.
    Share(f64),
    /// Operations.
    Flops(u64),
    /// Operations a second.
    FlopRate(f64),
    /// Bytes.
    Bytes(u64),
    /// Bytes a second.
    ByteRate(f64),
    /// A number without a unit.
    Number(f64),
}

impl Cell {
    /// The number in it; NaN if there is none.
    pub fn number(&self) -> f64 {
        match self {
            Self::Missing | Self::Text(_) => f64::NAN,
            Self::Count(value) | Self::Flops(value) | Self::Bytes(value) => *value as f64,
            Self::Time(time) => time.0 as f64,
            Self::Share(value) | Self::FlopRate(value) | Self::ByteRate(value) | Self::Number(value) => {
                *value
            }
        }
    }
}

/// Declares the columns: the word on the command line, the key in JSON and CSV, and what it is.
macro_rules! columns {
    ($($(#[doc = $about:literal])+ $variant:ident = $name:literal as $key:literal,)+) => {
        /// A column of an answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Column {
            $($(#[doc = $about])+ $variant,)+
        }

        impl Column {
            /// All columns.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its word on the command line and over tables.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Its key in JSON and CSV, with the unit.
            pub fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)+ }
            }

            /// Its meaning in a sentence.
            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => concat!($($about),+).trim_ascii_start(),)+ }
            }
        }
    };
}

columns! {
    /// The sum of the times in an average iteration.
    Time = "time" as "time_ns",
    /// The sum of the times in a typical iteration, by the median; with --agg typical.
    Typical = "typical" as "typical_ns",
    /// The share of everything in the scope.
    Share = "share" as "share",
    /// The share of this row and all before.
    Cumulative = "cum" as "cumulative_share",
    /// How many executions, in all iterations together.
    Count = "count" as "count",
    /// How many different operators.
    Operators = "operators" as "operators",
    /// The mean time of an execution.
    Mean = "mean" as "mean_ns",
    /// The shortest execution.
    Min = "min" as "min_ns",
    /// The longest execution.
    Max = "max" as "max_ns",
    /// The middle one of the executions.
    Median = "median" as "median_ns",
    /// The time within which nine of ten executions stay.
    P90 = "p90" as "p90_ns",
    /// The time within which 99 of 100 executions stay.
    P99 = "p99" as "p99_ns",
    /// The variation of the executions: standard deviation over mean.
    Cv = "cv" as "coefficient_of_variation",
    /// How long the executions waited in an average iteration, as far as that is recorded.
    Wait = "wait" as "wait_ns",
    /// The operator's name; of a call, its name.
    Name = "name" as "name",
    /// The operator's type.
    Type = "type" as "type",
    /// The layer of software that a call belongs to.
    Level = "level" as "level",
    /// Of a call, whether it is made while inferences run (steady-state) or before, after, or to load
    /// something (one-off).
    Phase = "phase" as "phase",
    /// The unit that executed it.
    Unit = "unit" as "unit",
    /// The stream that it ran on; of a call, the thread.
    Stream = "stream" as "stream",
    /// The device that it ran on.
    Device = "device" as "device",
    /// The number of the iteration, from 1.
    Iteration = "iteration" as "iteration",
    /// How long the iteration lasted, from its first input to its last output.
    Wall = "wall" as "wall_ns",
    /// The model that it belongs to.
    Model = "model" as "model",
    /// The type of elements of its first output.
    DataType = "dtype" as "data_type",
    /// The shapes of inputs, without parameters, and outputs.
    Shapes = "shapes" as "shapes",
    /// Operations in an average iteration.
    Compute = "compute" as "flops",
    /// Operations a second; not of waiting time.
    Rate = "rate" as "flops_per_second",
    /// Bytes read and written in an average iteration.
    Moved = "moved" as "bytes",
    /// Bytes read and written a second; not of waiting time.
    Bandwidth = "bandwidth" as "bytes_per_second",
    /// Operations for each byte moved.
    Intensity = "intensity" as "flops_per_byte",
    /// The limit that holds it back: compute, memory or neither; with --roofline.
    Bound = "bound" as "bound",
    /// The share of its ceiling that it reaches; with --roofline.
    Ceiling = "ceiling" as "share_of_ceiling",
    /// The time that it would take at its ceiling; with --roofline.
    Ideal = "ideal" as "ideal_ns",
    /// How the operator was matched with the model's graph.
    Attribution = "attribution" as "attribution",
    /// When the first execution began.
    Start = "start" as "start_ns",
}

impl Column {
    /// The column of a word or key; letter case doesn't matter.
    pub fn from_name(name: &str) -> Option<Self> {
        let is = |column: &Self| {
            column.name().eq_ignore_ascii_case(name) || column.key().eq_ignore_ascii_case(name)
        };
        Self::ALL.iter().copied().find(is)
    }

    /// Its cell in a row of an answer to a trace.
    pub fn of(self, trace: &Trace, row: &Row) -> Cell {
        self.find(trace, row).unwrap_or(Cell::Missing)
    }

    fn find(self, trace: &Trace, row: &Row) -> Option<Cell> {
        let text = |id| Some(Cell::Text(trace.strings.get(id).to_owned()));
        let word = |word: &str| Some(Cell::Text(word.to_owned()));
        let operator = || row.operator.map(|id| trace.operators.get(id));
        let is_of_executions = matches!(
            self,
            Self::Time
                | Self::Share
                | Self::Cumulative
                | Self::Count
                | Self::Operators
                | Self::Mean
                | Self::Min
                | Self::Max
                | Self::Median
                | Self::P90
                | Self::P99
                | Self::Cv
        );
        if is_of_executions && row.has_nothing() {
            return None;
        }
        let seconds = row.working.map(Nanoseconds::as_seconds).filter(|&seconds| seconds > 0.0);
        Some(match self {
            Self::Time => Cell::Time(row.total),
            Self::Typical => Cell::Time(row.per_iteration?.typical),
            Self::Share => Cell::Share(row.share),
            Self::Cumulative => Cell::Share(row.cumulative_share),
            Self::Count => Cell::Count(row.times.count as u64),
            Self::Operators => Cell::Count(row.subjects as u64),
            Self::Mean => Cell::Time(row.times.mean),
            Self::Min => Cell::Time(row.times.min),
            Self::Max => Cell::Time(row.times.max),
            Self::Median => Cell::Time(row.times.median),
            Self::P90 => Cell::Time(row.times.p90),
            Self::P99 => Cell::Time(row.times.p99),
            Self::Cv => Cell::Share(row.times.coefficient_of_variation),
            Self::Wait => Cell::Time(row.wait?),
            Self::Name => text(row.name?)?,
            Self::Type => text(row.op_type?)?,
            Self::Level => word(row.level?.name())?,
            Self::Phase => word(row.phase?.name())?,
            Self::Unit => word(row.unit?.name())?,
            Self::Stream => Cell::Text(lane(trace, row)?),
            Self::Device => Cell::Count(u64::from(
                trace.devices.number()[trace.streams.device()[row.stream?.index()].index()],
            )),
            Self::Iteration => Cell::Count(u64::from(trace.iterations.number()[row.iteration?.index()])),
            Self::Wall => Cell::Time(row.wall?),
            Self::Model => text(trace.models.name()[operator()?.model?.index()])?,
            Self::DataType => word(data_type(trace, &operator()?)?.name())?,
            Self::Shapes => Cell::Text(Some(shapes(trace, &operator()?)).filter(|text| !text.is_empty())?),
            Self::Compute => Cell::Flops(row.flops?),
            Self::Rate => Cell::FlopRate(row.flops? as f64 / seconds?),
            Self::Moved => Cell::Bytes(row.bytes?),
            Self::Bandwidth => Cell::ByteRate(row.bytes? as f64 / seconds?),
            Self::Intensity => Cell::Number(row.flops? as f64 / row.bytes.filter(|&bytes| bytes > 0)? as f64),
            Self::Bound => word(row.position?.bound.name())?,
            Self::Ceiling => Cell::Share(row.position?.share),
            Self::Ideal => Cell::Time(row.position?.ideal),
            Self::Attribution => word(operator()?.attribution.name())?,
            Self::Start => Cell::Time(row.start),
        })
    }
}

/// The stream of tasks or the thread of calls, by name or else by number.
fn lane(trace: &Trace, row: &Row) -> Option<String> {
    let named = |name: &str, number: u64| if name.is_empty() { number.to_string() } else { name.to_owned() };
    if let Some(id) = row.thread {
        let thread = trace.threads.get(id);
        return Some(named(trace.strings.get(thread.name), thread.tid));
    }
    let stream = trace.streams.get(row.stream?);
    Some(named(trace.strings.get(stream.name), stream.number))
}
