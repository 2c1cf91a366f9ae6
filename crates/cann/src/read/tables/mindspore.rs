//! The files that MindSpore's profiler of versions 1 to 2.3 wrote into its folder `profiler`, beside tables that list
//! tasks themselves: the operators of the graph (`framework_raw_<device>.csv`) and its timeline
//! (`ascend_timeline_display_<device>.json`).
//!
//! Since 2.1 a timeline names its processes, and tasks of the device are those of `Ascend Hardware`. Before, it is a
//! bare list of events without such names:
//!
//! | process | what its slices are |
//! |---|---|
//! | below 9000, the device's number | operators by stream, with their type and tensors as arguments |
//! | 9000 | operators on the AI CPU |
//! | 10000 | collective operations by stream |
//! | 11000 | operators on the host |
//! | 12000 and above, and without a number | figures drawn from the others |

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use opscope_formats::reading::{Stop, decimal};
use opscope_trace::{Iteration, LossKind, Nanoseconds, Trace};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::ReadError;
use super::kernels::{Kernels, PlainTask};
use super::table::{Losses, read_header, read_rows};
use crate::headings::mindspore;
use crate::read::operators::Side;

const AI_CPU: u64 = 9_000;
const COMMUNICATION: u64 = 10_000;
const HOST: u64 = 11_000;

/// The name of the process of a device's streams.
const HARDWARE: &str = "Ascend Hardware";

/// The operators of a graph by their full names.
#[derive(Default)]
pub(in crate::read) struct Graph {
    operators: HashMap<String, Operator>,
}

struct Operator {
    op_type: String,
    inputs: Tensors,
    outputs: Tensors,
}

/// Tensors in the form of the vendor's tables: `"1,3;16"`, `FLOAT;FLOAT`, `ND;ND`.
#[derive(Default)]
struct Tensors {
    shapes: String,
    types: String,
    formats: String,
}

impl Graph {
    /// Reads `framework_raw_<device>.csv`.
    ///
    /// # Errors
    /// When it is no such table.
    pub fn read(text: &[u8], stop: &Stop, kernels: &mut Kernels) -> Result<Self, ReadError> {
        let header = read_header(text).ok_or(ReadError::NotATable)?;
        let columns = [&mindspore::FULL_NAME[..], &mindspore::TYPE, &[mindspore::TENSORS]];
        let [name, op_type, tensors] = columns.map(|names| header.find(names));
        if name.is_none() || tensors.is_none() {
            return Err(ReadError::NotATable);
        }
        let mut operators = HashMap::new();
        read_rows(text, &header, stop, &mut kernels.losses, |row, losses| {
            let described: Result<BTreeMap<String, Tensor<'_>>, _> =
                serde_json::from_slice(row.cell(tensors));
            if described.is_err() {
                losses.count(LossKind::TextAmongMetrics, row.line);
            }
            let described = described.unwrap_or_default();
            let operator = Operator {
                op_type: row.text(op_type),
                inputs: Tensors::of(&described, "input"),
                outputs: Tensors::of(&described, "output"),
            };
            operators.insert(row.text(name), operator);
        });
        Ok(Self { operators })
    }

    /// Gives the tasks behind the first few their types and tensors, where a table doesn't tell them.
    pub fn describe(&self, kernels: &mut Kernels, first: usize) {
        let Kernels { texts, rows, .. } = kernels;
        for row in &mut rows[first..] {
            let Some(operator) = self.operators.get(texts.get(row.name)) else { continue };
            if texts.get(row.op_type).is_empty() {
                row.op_type = texts.intern(&operator.op_type);
            }
            let mut side = |tensors: &Tensors| Side {
                shapes: texts.intern(&tensors.shapes),
                types: texts.intern(&tensors.types),
                formats: texts.intern(&tensors.formats),
            };
            (row.inputs, row.outputs) = (side(&operator.inputs), side(&operator.outputs));
        }
    }
}

/// A tensor of an operator; versions write shapes as text or as lists.
#[derive(Deserialize)]
struct Tensor<'j> {
    #[serde(borrow, default)]
    format: Cow<'j, str>,
    #[serde(borrow, default)]
    data_type: Cow<'j, str>,
    #[serde(borrow)]
    shape: Option<&'j RawValue>,
}

impl Tensors {
    /// The tensors of a side by their numbers: `input_0`, or `Input_0` since 2.1.
    fn of(tensors: &BTreeMap<String, Tensor<'_>>, side: &str) -> Self {
        let number = |name: &str| {
            let (begin, number) = name.split_once('_')?;
            number.parse::<u32>().ok().filter(|_| begin.eq_ignore_ascii_case(side))
        };
        let mut found: Vec<_> =
            tensors.iter().filter_map(|(name, tensor)| Some((number(name)?, tensor))).collect();
        found.sort_by_key(|(number, _)| *number);
        if found.is_empty() {
            return Self::default();
        }
        let joined = |text: &dyn Fn(&Tensor<'_>) -> String| {
            found.iter().map(|(_, tensor)| text(tensor)).collect::<Vec<_>>().join(";")
        };
        Self {
            shapes: format!("\"{}\"", joined(&|tensor| shape(tensor.shape))),
            types: joined(&|tensor| data_type(&tensor.data_type).to_owned()),
            formats: joined(&|tensor| layout(&tensor.format).to_owned()),
        }
    }
}

/// `"2,16"` and `[2, 16]` as `2,16`.
fn shape(json: Option<&RawValue>) -> String {
    let kept = |letter: &char| letter.is_ascii_digit() || matches!(letter, ',' | '-');
    json.map_or_else(String::new, |json| json.get().chars().filter(kept).collect())
}

/// `NUMBER_TYPE_FLOAT16` as `FLOAT16`; nothing where the profiler didn't know it.
fn data_type(word: &str) -> &str {
    match word.strip_prefix("NUMBER_TYPE_").unwrap_or(word) {
        "END" | "UNKNOWN" => "",
        word => word,
    }
}

fn layout(word: &str) -> &str {
    if word == "DefaultFormat" { "ND" } else { word }
}

/// An event of a timeline.
#[derive(Deserialize)]
struct Event<'j> {
    #[serde(borrow, default)]
    name: Cow<'j, str>,
    #[serde(borrow, default)]
    ph: Cow<'j, str>,
    #[serde(borrow)]
    ts: Option<&'j RawValue>,
    #[serde(borrow)]
    dur: Option<&'j RawValue>,
    #[serde(borrow)]
    pid: Option<&'j RawValue>,
    #[serde(borrow)]
    tid: Option<&'j RawValue>,
    #[serde(borrow)]
    args: Option<Arguments<'j>>,
}

#[derive(Deserialize)]
struct Arguments<'j> {
    #[serde(borrow, rename = "type", default)]
    op_type: Cow<'j, str>,
    #[serde(borrow, default)]
    fullname: Cow<'j, str>,
    #[serde(borrow, rename = "Task Type", default)]
    kind: Cow<'j, str>,
    /// Of a process.
    #[serde(borrow, default)]
    name: Cow<'j, str>,
}

/// The processes that a timeline names, and those of them that are a device's hardware.
fn named_processes(events: &[&RawValue], stop: &Stop) -> (HashSet<u64>, HashSet<u64>) {
    let (mut named, mut hardware) = (HashSet::new(), HashSet::new());
    for event in stop.within(events) {
        let Ok(event) = serde_json::from_str::<Event<'_>>(event.get()) else { continue };
        if let (Some(process), Some(args)) = (number(event.pid), &event.args)
            && event.ph == "M"
            && event.name == "process_name"
        {
            named.insert(process);
            if args.name == HARDWARE {
                hardware.insert(process);
            }
        }
    }
    (named, hardware)
}

/// Reads `ascend_timeline_display_<device>.json`.
///
/// # Errors
/// When it is no such list.
pub(in crate::read) fn read_timeline(
    json: &[u8],
    device: u32,
    stop: &Stop,
    kernels: &mut Kernels,
) -> Result<(), ReadError> {
    let (events, is_cut) = events_of(json);
    if events.is_empty() && is_cut {
        return Err(ReadError::NotATable);
    }
    let (named, hardware) = named_processes(&events, stop);
    let mut table = kernels.begin_table();
    table.kernels.losses.count_several(LossKind::CutEventList, u64::from(is_cut), events.len() as u64);
    for (place, event) in (1..).zip(stop.within(events)) {
        let Ok(event) = serde_json::from_str::<Event<'_>>(event.get()) else {
            table.kernels.losses.count(LossKind::EventNoObject, place);
            continue;
        };
        if event.ph != "X" {
            continue;
        }
        let process = number(event.pid);
        let kind = event.args.as_ref().map(|args| &*args.kind).filter(|kind| !kind.is_empty());
        let kind = match process {
            Some(process) if hardware.contains(&process) => kind.unwrap_or("AI_CORE"),
            _ if !named.is_empty() => {
                table.kernels.losses.count(LossKind::PlacelessRow, place);
                continue;
            }
            Some(AI_CPU) => "AI_CPU",
            Some(COMMUNICATION) => "HCCL",
            Some(process) if process < AI_CPU => "AI_CORE",
            Some(HOST) => {
                table.kernels.losses.count(LossKind::PlacelessRow, place);
                continue;
            }
            _ => {
                table.kernels.losses.count(LossKind::SummingRow, place);
                continue;
            }
        };
        let (Some(start), Some(duration)) = (time(event.ts), time(event.dur)) else {
            table.kernels.losses.count(LossKind::TaskWithoutTime, place);
            continue;
        };
        if duration < Nanoseconds::ZERO {
            table.kernels.losses.count(LossKind::NegativeTask, place);
            continue;
        }
        let told = event.args.as_ref().map(|args| (&*args.op_type, &*args.fullname));
        let (op_type, full_name) = told.unwrap_or_default();
        let name = if full_name.is_empty() { &*event.name } else { full_name };
        // The AI CPU's and the host's lanes count the slices that overlap, and are no streams.
        let stream = number(event.tid).filter(|_| process != Some(AI_CPU));
        table.push(PlainTask { start, duration, name, op_type, kind, device, stream });
    }
    Ok(())
}

/// The events of a list, and whether it ends before its end.
fn events_of(json: &[u8]) -> (Vec<&RawValue>, bool) {
    struct Events<'e, 'j>(&'e mut Vec<&'j RawValue>);

    impl<'j> Visitor<'j> for Events<'_, 'j> {
        type Value = ();

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("a list of events")
        }

        fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<(), A::Error> {
            while let Some(event) = list.next_element()? {
                self.0.push(event);
            }
            Ok(())
        }
    }

    let mut events = Vec::new();
    let mut text = serde_json::Deserializer::from_slice(json);
    let read = text.deserialize_seq(Events(&mut events)).and_then(|()| text.end());
    (events, read.is_err())
}

/// The inferences of `step_trace_raw_<device>_detail_time.csv`, whose last row may be the mean of all.
///
/// # Errors
/// When it is no such table.
pub(in crate::read) fn read_steps(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    /// Nanoseconds of a tick.
    const TICK: i64 = 10;
    let header = read_header(text).ok_or(ReadError::NotATable)?;
    let [step, start, total] =
        [mindspore::STEP, mindspore::STEP_START, mindspore::STEP_TOTAL].map(|name| header.find(&[name]));
    if step.is_none() || start.is_none() || total.is_none() {
        return Err(ReadError::NotATable);
    }
    let (mut trace, mut losses) = (Trace::new(), Losses::default());
    read_rows(text, &header, stop, &mut losses, |row, losses| {
        let number = row.number(step).and_then(|step| u32::try_from(step).ok());
        let Some(number) = number.filter(|number| *number > 0) else { return };
        let ticks = |column| {
            let ticks = i64::try_from(row.number(column)?).ok()?;
            ticks.checked_mul(TICK).map(Nanoseconds)
        };
        match (ticks(start), ticks(total)) {
            (Some(start), Some(duration)) => {
                let iteration = Iteration { model: None, number, warm_up: false, start, duration };
                trace.iterations.push(iteration);
            }
            _ => losses.count(LossKind::IterationWithoutEnd, row.line),
        }
    });
    losses.report(&mut trace);
    Ok(trace)
}

/// A number, which may stand in quotes.
fn number(json: Option<&RawValue>) -> Option<u64> {
    json?.get().trim_matches('"').parse().ok()
}

fn time(json: Option<&RawValue>) -> Option<Nanoseconds> {
    decimal::from_micros(json?.get().trim_matches('"').as_bytes()).ok()
}
