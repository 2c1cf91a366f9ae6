//! Tables that sum up: figures of steps, types of operators, calls and memory.

use std::collections::BTreeMap;

use opscope_formats::reading::Stop;
use opscope_trace::{FigureSubject, FigureTopic, LossKind, Trace};

use super::parts::{Parts, device_name};
use super::table::{Column, Header, Losses, Row, read_rows};
use crate::headings::{
    acl_statistic, api_statistic, l2_cache, mindspore, op_statistic, op_summary, operator_details,
    operator_memory, runtime_api, static_op_mem, step_trace, step_trace_2022,
};
use crate::read::stated::{AllocationTotals, STEP, step_name};

/// The kind of a table that sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read) enum Stated {
    Steps,
    OperatorTypes,
    CollectiveTypes,
    Calls,
    FrameworkCalls,
    Allocations,
    PlannedMemory,
    Caches,
    /// Times of inferences of 2022, whose ends are in ticks of a clock of which no rate is told.
    StepTimes,
    /// AscendCL's calls of 2022.
    AclCalls,
    /// The runtime's calls of 2022.
    RuntimeCalls,
    /// MindSpore's parts of steps.
    StepParts,
    /// MindSpore's communication in steps.
    StepCommunication,
    /// MindSpore's mean times of types of operators in a step.
    MeanTypes,
    /// MindSpore's mean times of operators in a step.
    MeanOperators,
    /// MindSpore's operations that prepare data.
    DataOperations,
    /// The same by stages.
    DataStages,
}

/// Each kind with headings by which it is told from a chance table of another program, and the name of its files.
const KINDS: [(Stated, &[&str], &str); 21] = [
    (Stated::Steps, &["Communication(Not Overlapped)", "Free"], "step_trace_time"),
    (Stated::OperatorTypes, &[op_statistic::UNIT, op_statistic::SHARE], "op_statistic"),
    (Stated::CollectiveTypes, &[op_statistic::OP_TYPE, op_statistic::SHARE], "communication_statistic"),
    (Stated::Calls, &[api_statistic::MEAN, api_statistic::VARIANCE], "api_statistic"),
    (Stated::FrameworkCalls, &[operator_details::HOST[0], operator_details::DEVICE[1]], "operator_details"),
    (Stated::Allocations, &[operator_memory::ALLOCATED, operator_memory::SIZES[0].0], "operator_memory"),
    (Stated::Allocations, &[operator_memory::ALLOCATED, operator_memory::SIZES[1].0], "operator_memory"),
    (Stated::PlannedMemory, &[static_op_mem::FIRST, static_op_mem::LAST], "static_op_mem"),
    (Stated::StepTimes, &[step_trace_2022::END, step_trace::DURATION], "step_trace"),
    (Stated::AclCalls, &[acl_statistic::KIND, acl_statistic::SHARE, acl_statistic::THREAD], "acl_statistic"),
    (Stated::RuntimeCalls, &[runtime_api::TOTAL, runtime_api::COUNT, runtime_api::STREAM], "runtime_api"),
    (Stated::StepParts, &[mindspore::STEP, mindspore::FORWARD], "step_trace_raw"),
    (Stated::StepCommunication, &[mindspore::STEP, mindspore::COMMUNICATION], "hccl_raw"),
    (Stated::MeanTypes, &[mindspore::TYPE[0], mindspore::SHARE], "aicore_intermediate_type"),
    (Stated::MeanTypes, &[mindspore::TYPE[1], mindspore::SHARE], "aicore_intermediate_type"),
    (Stated::MeanOperators, &[mindspore::FULL_NAME[0], mindspore::MEAN_TIME], "aicore_intermediate_detail"),
    (Stated::MeanOperators, &[mindspore::FULL_NAME[1], mindspore::MEAN_TIME], "aicore_intermediate_detail"),
    (
        Stated::MeanOperators,
        &[mindspore::FULL_NAME[0], mindspore::MEAN_DURATION],
        "aicore_intermediate_detail",
    ),
    (
        Stated::MeanOperators,
        &[mindspore::FULL_NAME[1], mindspore::MEAN_DURATION],
        "aicore_intermediate_detail",
    ),
    (Stated::DataOperations, &[mindspore::OPERATION_ID, mindspore::QUEUE_SIZE], "minddata_pipeline_raw"),
    (Stated::DataStages, &[mindspore::OPERATION, mindspore::STAGE_MEAN], "dataset"),
];

/// Whether a table has the parts of steps of several ranks and of the stages of a pipeline, of which a column tells
/// which a row is of.
pub(super) fn is_of_ranks(header: &Header) -> bool {
    let (_, headings, _) = KINDS[0];
    header.has(&["Type"]) && header.has(&["Index"]) && headings.iter().all(|name| header.has(&[name]))
}

impl Stated {
    /// The kind of a table; `None` where it is no such table.
    pub(super) fn of(header: &Header) -> Option<Self> {
        let has_all = |names: &[&str]| names.iter().all(|name| header.has(&[name]));
        let caches = has_all(&[l2_cache::HITS, l2_cache::VICTIMS]).then_some(Self::Caches);
        let mut kinds = KINDS.iter().filter(|(kind, ..)| *kind != Self::Steps || !is_of_ranks(header));
        kinds.find(|(_, names, _)| has_all(names)).map(|(kind, ..)| *kind).or(caches)
    }

    /// The name of its files, without what an export puts behind it.
    pub fn file(self) -> &'static str {
        KINDS.iter().find(|(kind, ..)| *kind == self).map_or("l2_cache", |(.., file)| file)
    }

    /// Reads a table.
    pub(super) fn read(self, text: &[u8], header: &Header, stop: &Stop) -> Trace {
        let mut reading = Reading { trace: Trace::new(), kind: self, text, header, stop };
        match self {
            Self::Steps => reading.steps(),
            Self::OperatorTypes => {
                let part = header.find(&[op_statistic::UNIT]);
                reading.totals(FigureTopic::OperatorType, op_statistic::OP_TYPE, part, OPERATOR_TYPE);
            }
            Self::CollectiveTypes => {
                reading.totals(FigureTopic::OperatorType, op_statistic::OP_TYPE, None, OPERATOR_TYPE);
            }
            Self::Calls => {
                let part = header.find(&[api_statistic::LEVEL]);
                reading.totals(FigureTopic::HostCall, api_statistic::NAME, part, HOST_CALL);
            }
            Self::AclCalls => {
                let part = header.find(&[acl_statistic::KIND]);
                reading.totals(FigureTopic::HostCall, acl_statistic::NAME, part, HOST_CALL);
            }
            Self::RuntimeCalls => {
                reading.totals(FigureTopic::HostCall, runtime_api::NAME, None, RUNTIME_CALL);
            }
            Self::StepTimes => reading.step_times(),
            Self::PlannedMemory => reading.planned_memory(),
            Self::FrameworkCalls => reading.framework_calls(),
            Self::Allocations => reading.allocations(),
            Self::Caches => reading.caches(),
            Self::StepParts => reading.mindspore_steps(&[
                (mindspore::STEP_TOTAL, "total", TICKS),
                (mindspore::INTERVAL, "interval", TICKS),
                (mindspore::PASSES, "forward and backward", TICKS),
                (mindspore::TAIL, "tail", TICKS),
            ]),
            Self::StepCommunication => reading.mindspore_steps(&[
                (mindspore::COMMUNICATION, "communication", MILLIS),
                (mindspore::COMMUNICATION_WAIT, "communication wait", MILLIS),
            ]),
            Self::MeanTypes => reading.mindspore_types(),
            Self::MeanOperators => {
                let subject = mindspore::FULL_NAME.iter().find(|name| reading.header.has(&[name]));
                let subject = subject.copied().unwrap_or_default();
                let columns = match reading.header.has(&[mindspore::MEAN_DURATION]) {
                    true => [(mindspore::MEAN_DURATION, "mean", "ns", MILLIS), COUNT],
                    false => [(mindspore::MEAN_TIME, "mean of a step", "ns", MILLIS), MEAN_COUNT],
                };
                reading.totals(FigureTopic::Operator, subject, None, &columns);
            }
            Self::DataOperations => {
                let part = reading.header.find(&[mindspore::OPERATION_ID]);
                let topic = FigureTopic::DataOperation;
                reading.totals(topic, mindspore::OPERATION_TYPE, part, DATA_OPERATION);
            }
            Self::DataStages => {
                let part = reading.header.find(&[mindspore::STAGE]);
                reading.totals(FigureTopic::DataOperation, mindspore::OPERATION, part, DATA_STAGE);
            }
        }
        reading.trace
    }
}

/// The columns of a table of totals: heading, the figure's name, its unit, and the factor to it.
type Totals<'t> = &'t [(&'t str, &'t str, &'t str, f64)];

/// Nanoseconds of a millisecond, and of a tick of the task scheduler's clock.
const MILLIS: f64 = 1e6;
const TICKS: f64 = 10.0;

const COUNT: (&str, &str, &str, f64) = (mindspore::FREQUENCY, "count", "", 1.0);
const MEAN_COUNT: (&str, &str, &str, f64) = (mindspore::FREQUENCY, "count in a step", "", 1.0);

const DATA_OPERATION: Totals<'static> = &[
    (mindspore::QUEUE_SIZE, "mean elements in its queue", "", 1.0),
    (mindspore::QUEUE_LENGTH, "places in its queue", "", 1.0),
    (mindspore::QUEUE_USE, "use of its queue", "%", 100.0),
    (mindspore::WORKERS, "workers", "", 1.0),
];

const DATA_STAGE: Totals<'static> =
    &[(mindspore::STAGE_MEAN, "mean", "ns", 1e3), (mindspore::OCCURRENCES, "count", "", 1.0)];

const OPERATOR_TYPE: Totals<'static> = &[
    (op_statistic::TOTAL, "total", "ns", 1e3),
    (op_statistic::COUNT, "count", "", 1.0),
    (op_statistic::LEAST, "least", "ns", 1e3),
    (op_statistic::MEAN, "mean", "ns", 1e3),
    (op_statistic::MOST, "most", "ns", 1e3),
    (op_statistic::SHARE, "share", "%", 1.0),
];

const HOST_CALL: Totals<'static> = &[
    (api_statistic::TOTAL, "total", "ns", 1e3),
    (api_statistic::COUNT, "count", "", 1.0),
    (api_statistic::LEAST, "least", "ns", 1e3),
    (api_statistic::MEAN, "mean", "ns", 1e3),
    (api_statistic::MOST, "most", "ns", 1e3),
    (api_statistic::VARIANCE, "variance", "us²", 1.0),
];

const RUNTIME_CALL: Totals<'static> = &[
    (runtime_api::TOTAL, "total", "ns", 1.0),
    (runtime_api::COUNT, "count", "", 1.0),
    (runtime_api::LEAST, "least", "ns", 1.0),
    (runtime_api::MEAN, "mean", "ns", 1.0),
    (runtime_api::MOST, "most", "ns", 1.0),
];

/// A table on its way into figures.
struct Reading<'t> {
    trace: Trace,
    kind: Stated,
    text: &'t [u8],
    header: &'t Header,
    stop: &'t Stop,
}

impl Reading<'_> {
    /// Hands every row on; `false` says that nothing could be taken of it.
    fn each_row(&mut self, mut row: impl FnMut(&mut Trace, &Row<'_>) -> bool) {
        let mut losses = Losses::default();
        let Self { trace, text, header, stop, .. } = self;
        read_rows(text, header, stop, &mut losses, |found, losses| {
            if !row(trace, found) {
                losses.count(LossKind::FigureNotRead, found.line);
            }
        });
        losses.report(&mut self.trace);
    }

    fn steps(&mut self) {
        let (step, device) = (self.header.find(&["Step"]), self.device());
        let columns = STEP.each_ref().map(|figure| (figure, self.header.find(&[figure.written[0]])));
        let source = self.kind.file();
        self.each_row(|trace, row| {
            let (step, part) = (row.text(step), device_name(&row.text(device)));
            let figures = columns.map(|(figure, column)| {
                (figure.name, figure.unit, row.float(column).map(|value| value * figure.factor))
            });
            let topic = FigureTopic::Step;
            let about = FigureSubject { topic, source, step: step_name(&step), subject: "", part: &part };
            trace.push_figures(about, &figures);
            figures.iter().any(|(.., value)| value.is_some())
        });
    }

    fn totals(&mut self, topic: FigureTopic, subject: &str, part: Option<Column>, columns: Totals<'_>) {
        let subject = self.header.find(&[subject]);
        let columns: Vec<_> =
            columns.iter().map(|&(heading, ..)| self.header.find(&[heading])).zip(columns).collect();
        let (source, parts) = (self.kind.file(), self.parts());
        self.each_row(|trace, row| {
            let (subject, part) = (row.text(subject), parts.name(row, &row.text(part)));
            let figures: Vec<_> = columns
                .iter()
                .map(|&(column, &(_, name, unit, factor))| {
                    (name, unit, row.float(column).map(|value| value * factor))
                })
                .collect();
            let about = FigureSubject { topic, source, step: "", subject: &subject, part: &part };
            trace.push_figures(about, &figures);
            !subject.is_empty() && figures.iter().any(|(.., value)| value.is_some())
        });
    }

    /// MindSpore's types of operators. Since 2.1 times and counts are of the whole profile, and shares are parts of 1,
    /// by whose sum the versions are told apart: they have the same headings.
    fn mindspore_types(&mut self) {
        let has = |name: &&str| self.header.has(&[*name]);
        let times = [mindspore::TASK_TIME, mindspore::TOTAL_TIME, mindspore::MEAN_TIME];
        let subject = mindspore::TYPE.into_iter().find(has).unwrap_or_default();
        let of_one = self.are_parts_of_one(mindspore::SHARE);
        let share = (mindspore::SHARE, "share", "%", if of_one { 100.0 } else { 1.0 });
        let columns = match times.into_iter().find(has) {
            Some(time) if time == mindspore::TASK_TIME || time == mindspore::TOTAL_TIME && of_one => {
                [(time, "total", "ns", MILLIS), COUNT, share]
            }
            Some(time) => [(time, "mean of a step", "ns", MILLIS), MEAN_COUNT, share],
            None => {
                self.trace.count_loss(LossKind::FigureNotRead, 1, "no column of times is known");
                [("", "total", "ns", MILLIS), COUNT, share]
            }
        };
        self.totals(FigureTopic::OperatorType, subject, None, &columns);
    }

    /// Whether shares are parts of 1, and no percentages.
    fn are_parts_of_one(&self, heading: &str) -> bool {
        /// Shares are rounded, those of 2020 to hundredths of a percent.
        const ROUNDING: f64 = 0.05;
        let column = self.header.find(&[heading]);
        let mut sum = 0.0;
        read_rows(self.text, self.header, self.stop, &mut Losses::default(), |row, _| {
            sum += row.float(column).unwrap_or_default();
        });
        sum <= 1.0 + ROUNDING
    }

    /// Inferences with their numbers and models.
    fn step_times(&mut self) {
        const TIMES: [(&str, &str); 4] = [
            (step_trace::DURATION, "total"),
            (step_trace::COMPUTE, "forward and backward"),
            (step_trace::REFRESH, "tail"),
            (step_trace::DATA, "interval"),
        ];
        let columns = TIMES.map(|(heading, name)| (self.header.find(&[heading]), name));
        let [number, model] = [step_trace::NUMBER, step_trace::MODEL].map(|name| self.header.find(&[name]));
        let (source, parts) = (self.kind.file(), self.parts());
        self.each_row(|trace, row| {
            let model = row.number(model).map_or_else(String::new, |model| format!("model {model}"));
            let (step, part) = (row.text(number), parts.name(row, &model));
            let figures =
                columns.map(|(column, name)| (name, "ns", row.float(column).map(|time| time * 1e3)));
            let topic = FigureTopic::Step;
            trace.push_figures(
                FigureSubject { topic, source, step: &step, subject: "", part: &part },
                &figures,
            );
            figures.iter().any(|(.., value)| value.is_some())
        });
    }

    /// Steps with their numbers; the last row may be the mean of all, without any.
    fn mindspore_steps(&mut self, columns: &[(&str, &str, f64)]) {
        let step = self.header.find(&[mindspore::STEP]);
        let columns: Vec<_> = columns
            .iter()
            .map(|&(heading, name, factor)| (self.header.find(&[heading]), name, factor))
            .collect();
        let (mut means, source) = (0, self.kind.file());
        self.each_row(|trace, row| {
            let Some(number) = row.number(step).filter(|number| *number > 0) else {
                means += 1;
                return true;
            };
            let figures: Vec<_> = columns
                .iter()
                .map(|&(column, name, factor)| (name, "ns", row.float(column).map(|value| value * factor)))
                .collect();
            let step = number.to_string();
            let topic = FigureTopic::Step;
            trace.push_figures(FigureSubject { topic, source, step: &step, subject: "", part: "" }, &figures);
            figures.iter().any(|(.., value)| value.is_some())
        });
        self.trace.count_loss(LossKind::SummingRow, means, source);
    }

    fn planned_memory(&mut self) {
        let [subject, model, graph, first, last] = [
            static_op_mem::NAME,
            static_op_mem::MODEL_NAME,
            static_op_mem::GRAPH,
            static_op_mem::FIRST,
            static_op_mem::LAST,
        ]
        .map(|heading| self.header.find(&[heading]));
        let size = self.header.find(&[static_op_mem::SIZE]);
        let source = self.kind.file();
        self.each_row(|trace, row| {
            let (subject, bytes) = (row.text(subject), row.float(size).map(|size| size * 1024.0));
            let part = format!("model {} graph {}", row.text(model), row.text(graph));
            let topic = FigureTopic::PlannedMemory;
            let about = FigureSubject { topic, source, step: "", subject: &subject, part: &part };
            let figures = [
                ("size", "B", bytes),
                ("first node", "", row.float(first)),
                ("last node", "", row.float(last)),
            ];
            trace.push_figures(about, &figures);
            bytes.is_some()
        });
    }

    /// A row is a call; those of one name are summed up.
    fn framework_calls(&mut self) {
        const NAMES: [&str; 6] =
            ["host", "host with callees", "device", "device with callees", "AI core", "AI core with callees"];
        let [host, device, cores] =
            [operator_details::HOST, operator_details::DEVICE, operator_details::CORES]
                .map(|headings| headings.map(|heading| self.header.find(&[heading])));
        let columns = [host[0], host[1], device[0], device[1], cores[0], cores[1]];
        let name = self.header.find(&[operator_details::NAME]);
        let source = self.kind.file();
        let mut found: BTreeMap<String, (u64, [f64; 6])> = BTreeMap::new();
        self.each_row(|_, row| {
            let times = columns.map(|column| row.float(column));
            let Some(name) = Some(row.text(name)).filter(|_| times.iter().any(Option::is_some)) else {
                return false;
            };
            let (count, sums) = found.entry(name).or_default();
            *count += 1;
            for (sum, time) in sums.iter_mut().zip(times) {
                *sum += time.unwrap_or_default() * 1e3;
            }
            true
        });
        for (subject, (count, sums)) in &found {
            let topic = FigureTopic::FrameworkCall;
            let about = FigureSubject { topic, source, step: "", subject, part: "" };
            let times = NAMES.into_iter().zip(sums).map(|(name, sum)| (name, "ns", Some(*sum)));
            let figures: Vec<_> = times.chain([("count", "", Some(*count as f64))]).collect();
            self.trace.push_figures(about, &figures);
        }
    }

    fn allocations(&mut self) {
        let name = self.header.find(&[operator_memory::NAME]);
        let size = operator_memory::SIZES
            .iter()
            .find_map(|&(heading, bytes)| self.header.find(&[heading]).map(|column| (column, bytes)));
        let released = self.header.find(&operator_memory::RELEASED);
        let device = self.header.find(&operator_memory::PLACE);
        let mut totals = AllocationTotals::default();
        self.each_row(|_, row| {
            let Some((size, bytes)) = size else { return false };
            let Some(value) = row.float(Some(size)) else { return false };
            let held = row.cell(released).is_empty();
            totals.count(row.text(name), device_name(&row.text(device)), value * bytes, held);
            true
        });
        totals.enter(&mut self.trace, self.kind.file());
    }

    fn caches(&mut self) {
        let [stream, task, hits, victims] =
            [l2_cache::STREAM, l2_cache::TASK, l2_cache::HITS, l2_cache::VICTIMS]
                .map(|heading| self.header.find(&[heading]));
        let name = self.header.find(&[op_summary::NAME]);
        let (source, parts) = (self.kind.file(), self.parts());
        self.each_row(|trace, row| {
            let task = format!("stream {} task {}", row.text(stream), row.text(task));
            let (subject, part) = (row.text(name), parts.name(row, &task));
            let topic = FigureTopic::Cache;
            let about = FigureSubject { topic, source, step: "", subject: &subject, part: &part };
            let [hits, victims] = [hits, victims].map(|column| row.float(column));
            trace.push_figures(about, &[("hit rate", "", hits), ("victim rate", "", victims)]);
            hits.is_some() || victims.is_some()
        });
    }

    fn parts(&self) -> Parts {
        Parts::of(self.text, self.header, self.stop)
    }

    fn device(&self) -> Option<Column> {
        self.header.find(&["Device_id"])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ReadError, read};
    use super::*;

    fn figures(table: &str) -> Vec<String> {
        let trace = read(table.as_bytes(), &Stop::default()).unwrap();
        let text = |id| trace.strings.get(id);
        let rows = trace.figures.iter().map(|(_, row)| row);
        let written = rows.map(|row| {
            let about = [row.step, row.subject, row.part, row.name].map(text).join("|");
            format!("{about} = {} {}", row.value, text(row.unit))
        });
        written.collect()
    }

    #[test]
    fn steps_of_several_ranks_are_no_steps_of_one() {
        let table = "Step,Type,Index,Computing,Communication(Not Overlapped),Free\n\
            2,rank,0,75,146,69\n2,rank,1,76,151,67\n2,stage,\"(0, 1)\",76,151,69\n";
        assert!(super::super::is_of_ranks(table.as_bytes()));
        assert!(!super::super::looks_like(table.as_bytes()));
        assert!(read(table.as_bytes(), &Stop::default()).is_err());
        let of_one = "Device_id,Step,Computing,Communication(Not Overlapped),Free\n0,2,75,146,69\n";
        assert!(!super::super::is_of_ranks(of_one.as_bytes()));
        assert_eq!(figures(of_one).len(), 3);
    }

    #[test]
    fn types_of_operators_of_mindspore_are_totals_where_their_shares_are_parts_of_one() {
        let since_2_1 = "op_type,total_time,execution_frequency,percent\n\
            Conv2D,4.5,3,0.6\nReLU,0.75,3,0.1\nGetNext,2.25,3,0.3\n";
        assert_eq!(
            figures(since_2_1)[..3],
            ["|Conv2D||total = 4500000 ns", "|Conv2D||count = 3 ", "|Conv2D||share = 60 %"]
        );
        let of_2_0 =
            since_2_1.replace(",0.6\n", ",60\n").replace(",0.1\n", ",10\n").replace(",0.3\n", ",30\n");
        assert_eq!(
            figures(&of_2_0)[..3],
            [
                "|Conv2D||mean of a step = 4500000 ns",
                "|Conv2D||count in a step = 3 ",
                "|Conv2D||share = 60 %"
            ]
        );
        let of_the_manual = of_2_0.replace("total_time", "task_time").replace("op_type", "kernel_type");
        assert_eq!(figures(&of_the_manual)[..2], ["|Conv2D||total = 4500000 ns", "|Conv2D||count = 3 "]);
        let of_no_version = of_2_0.replace("total_time", "time");
        let trace = read(of_no_version.as_bytes(), &Stop::default()).unwrap();
        assert_eq!(trace.losses.kind(), [LossKind::FigureNotRead]);
    }

    #[test]
    fn operators_of_mindspore_since_2_1_have_means_of_the_whole_profile() {
        let table =
            "full_op_name,task_duration,execution_frequency,task_type\nDefault/Conv2D-op1,1.5,3,AI_CORE\n";
        assert_eq!(
            figures(table),
            ["|Default/Conv2D-op1||mean = 1500000 ns", "|Default/Conv2D-op1||count = 3 "]
        );
    }

    #[test]
    fn inferences_of_2022_have_their_times_and_no_place_in_time() {
        let table = "Iteration ID,FP Start,BP End,Iteration End,Iteration Time(us),FP to BP Time(us),\
            Iteration Refresh(us),Data Aug Bound(us),Model ID\n\
            1,1000,2000,3000,20,10.5,N/A,N/A,4\n";
        assert_eq!(
            figures(table),
            ["1||model 4|total = 20000 ns", "1||model 4|forward and backward = 10500 ns"]
        );
        assert!(read(table.as_bytes(), &Stop::default()).unwrap().iterations.is_empty());
    }

    #[test]
    fn sums_of_calls_of_2022_are_read_in_their_units() {
        let acl = "Name,Type,Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Process ID,Thread ID\n\
            run,ACL_MODEL,50,1000.5,1,1000.5,1000.5,1000.5,100,101\n\
            run,ACL_MODEL,50,1,1,1,1,1,100,102\n";
        let found = figures(acl);
        assert_eq!(found[0], "|run|thread 101, ACL_MODEL|total = 1000500 ns");
        assert!(found.contains(&"|run|thread 102, ACL_MODEL|count = 1 ".to_owned()), "{found:?}");
        let runtime = "Name,Stream ID,Time(%),Time(ns),Calls,Avg(ns),Min(ns),Max(ns),Process ID,Thread ID\n\
            KernelLaunch,3,50,10000,2,5000,4000,6000,100,101\n";
        let expected =
            ["total = 10000 ns", "count = 2 ", "least = 4000 ns", "mean = 5000 ns", "most = 6000 ns"];
        assert_eq!(figures(runtime), expected.map(|figure| format!("|KernelLaunch||{figure}")));
    }

    #[test]
    fn calls_of_2022_without_a_unit_of_their_begins_are_known_and_not_read() {
        for table in [
            "Name,Type,Start Time,Duration(us),Process ID,Thread ID\nrun,ACL_MODEL,10438,1,1,1\n",
            "Thread ID,OP Name,OP Type,Event Type,Start Time,Duration(us)\n1,a,Conv,compute,104,1\n",
        ] {
            assert_eq!(read(table.as_bytes(), &Stop::default()).unwrap_err(), ReadError::NoTrace);
        }
    }
}
