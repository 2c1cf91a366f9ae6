//! Timelines of Ascend devices, read back: msprof's `msprof_*.json` and torch_npu's `trace_view.json`.
//!
//! Every kind of lanes is a process of its own, named after what it shows; its number mostly holds the
//! real process's and the device's: `pid << 10 | layer << 5 | device`, with device 31 for the host ([`processes`]).
//! torch_npu adds the lanes of PyTorch, with the real process's number.

mod processes;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::facts::dpu;
use crate::kinds::NodeTaskType;
use crate::quantities;
use crate::tables::ServerPhase;
use crate::timeline::lanes;
use crate::vocabulary;
use crate::waits::Waits;
use opscope_formats::chrome::dialect::{
    AboutFile, Builder, CounterMeaning, Dialect, DialectReader, Item, Lane, OperatorKey, text_of,
};
use opscope_formats::reading::Row;
use opscope_trace::{
    ApiLevel, DeviceKind, ExecutionUnit, Iteration, LossKind, OperatorId, RangeKind, StreamId, Trace,
};
use processes::{Processes, is_hardware, is_of_calls, is_of_communication};

/// The dialect of the timelines that Ascend's tools export, for [`opscope_formats::chrome::read`].
pub struct AscendTimeline;

impl Dialect for AscendTimeline {
    fn begin<'a>(
        &self,
        about: &AboutFile<'_, 'a>,
        builder: &mut Builder<'a>,
    ) -> Option<Box<dyn DialectReader<'a> + 'a>> {
        let listed: Vec<_> = about.labelled_processes().collect();
        let shows_steps = listed.iter().any(|(_, name, _)| *name == lanes::STEPS);
        let processes = Processes::new(&listed).or_else(|| shows_steps.then(Processes::none))?;
        builder.has_device = true;
        builder.is_framework = true;
        let roles = assign_roles(&mut builder.lanes, &processes);
        Some(Box::new(AscendReader { roles, processes }))
    }
}

struct AscendReader {
    /// The content of every lane; `None` for those of PyTorch.
    roles: Vec<Option<Role>>,
    processes: Processes,
}

impl<'a> DialectReader<'a> for AscendReader {
    fn slice(&mut self, builder: &mut Builder<'a>, slice: &Item<'a>) -> Option<Row> {
        let role = self.roles[slice.lane.index()]?;
        Some(row_of(builder, slice, role))
    }

    fn device_of_counters(&self, pid: Option<u32>, _process: &str) -> Option<(DeviceKind, u32, String)> {
        let device = pid.and_then(|pid| self.processes.device(pid))?;
        Some((DeviceKind::Npu, device, String::new()))
    }

    fn counter(&self, process: &str, event: &str, value: &str) -> CounterMeaning {
        quantities::of_timeline(process, event, value)
    }

    fn finish(&mut self, trace: &mut Trace) {
        crate::units::to_smallest(trace);
        Waits::enter(trace);
        let counted = self.processes.counted_devices();
        trace.count_loss(LossKind::MissingMetadata, counted, "numbers of devices; counted from 0");
    }
}

/// The content of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// The tasks of a stream.
    Stream {
        /// The device's number.
        device: u32,
    },
    /// The inferences of a model.
    Iterations {
        /// The model's number, if the lane's name tells it.
        model: Option<u64>,
    },
    /// Calls of AscendCL and what lies below it.
    Calls,
    /// Calls of the operating system and of threads.
    SystemCalls,
    /// Collective operations as a whole.
    Communication {
        /// The device's number.
        device: u32,
    },
    /// The steps of collective operations once more, which their streams show as well.
    Planes {
        /// The device's number.
        device: u32,
        /// Whether the file has the streams.
        repeated: bool,
    },
    /// Tasks of a data processing unit, and steps of collective operations there.
    Dpu {
        /// The unit's number.
        device: u32,
    },
    /// Figures that the exporter worked out from the other lanes, and what happened within their tasks.
    Derived,
    /// Ranges and marks of the program, and whatever has no other place.
    Ranges,
    /// Something else of a device: operators that another recorder saw, or what has no other place.
    Other {
        /// The device's number.
        device: u32,
    },
}

/// Finds out what every lane shows.
fn assign_roles(lanes: &mut [Lane<'_>], processes: &Processes) -> Vec<Option<Role>> {
    let has_streams = lanes.iter().any(|lane| is_hardware(&lane.process_name));
    let assign = |lane: &mut Lane<'_>| {
        if lane.process_name == lanes::STEPS {
            lane.process_name = String::new();
            lane.is_no_thread = true;
            return Some(Role::Iterations { model: model_number(&lane.name) });
        }
        let own = processes.device(lane.pid);
        let device = own.unwrap_or(0);
        let role = match &*lane.process_name {
            name if is_hardware(name) => match lane.name.strip_prefix(lanes::STEPS) {
                Some(rest) => Role::Iterations { model: model_number(rest) },
                None => Role::Stream { device },
            },
            name if is_of_calls(name) => Role::Calls,
            name if is_of_communication(name) && lane.name.starts_with("Plane") => {
                Role::Planes { device, repeated: has_streams }
            }
            name if is_of_communication(name) => Role::Communication { device },
            "Overlap Analysis" => Role::Derived,
            dpu::UNIT if own.is_some() => Role::Dpu { device },
            name if lanes::WITHIN_TASKS.contains(&name) && own.is_some() => Role::Derived,
            // PyTorch's own lanes have the real process's number.
            _ if !processes.is_vendors(lane.pid) => return None,
            lanes::OS_CALLS => Role::SystemCalls,
            _ if own.is_some() => Role::Other { device },
            _ => Role::Ranges,
        };
        lane.pid = processes.real(lane.pid);
        // The lanes' names are no names of processes, but for the one that has the program's.
        let has_name = matches!(role, Role::Ranges | Role::Other { .. });
        if !has_name || lane.process_name == lanes::RANGES_OF_2022 {
            lane.process_name = String::new();
        }
        lane.is_no_thread = !(has_name || matches!(role, Role::Calls | Role::SystemCalls));
        Some(role)
    };
    lanes.iter_mut().map(assign).collect()
}

/// The number in `(Model ID:1)`.
fn model_number(text: &str) -> Option<u64> {
    text.split_once("Model ID:")?.1.trim_end_matches(')').trim().parse().ok()
}

/// Makes a row of a slice.
fn row_of<'a>(builder: &mut Builder<'a>, item: &Item<'a>, role: Role) -> Row {
    match role {
        Role::Stream { device } => task(builder, item, device),
        // Their lane shows the parts of a training's step as well: its passes, reductions, fetches of data.
        Role::Iterations { .. } if !is_iteration(&text_of(item.raw_name)) => {
            builder.repeated += 1;
            Row::Other
        }
        Role::Iterations { model } => {
            let model = model.map(|number| builder.trace.enter_model(number));
            let number = item.iteration().unwrap_or(0);
            let (start, duration) = (item.start, item.duration);
            builder.iterations.push(Iteration { model, number, warm_up: false, start, duration });
            Row::Other
        }
        Role::Calls => {
            let name = text_of(item.raw_name);
            // `AscendCL@aclrtMalloc`: the layer stands among the arguments as well.
            let name = name.split_once('@').map_or(&*name, |(_, name)| name);
            let name = builder.trace.strings.intern(name);
            builder.call(item, name, vocabulary::level(&String::from_utf8_lossy(item.kind)))
        }
        Role::SystemCalls => builder.call(item, item.name, ApiLevel::System),
        Role::Communication { device } => {
            let operator = operator(builder, item, None);
            let stream = communication_stream(builder, item, device);
            builder.task(item, Some(stream), ExecutionUnit::Communication, Some(operator))
        }
        Role::Planes { repeated: true, .. } | Role::Derived => {
            builder.repeated += 1;
            Row::Other
        }
        Role::Planes { device, repeated: false } => task(builder, item, device),
        Role::Dpu { device } => task_of_dpu(builder, item, device),
        Role::Other { device } => match beside(builder, item, device) {
            Some(row) => row,
            None => range(builder, item),
        },
        Role::Ranges => range(builder, item),
    }
}

/// Whether a slice in the lane of inferences is one: `Iteration 3`.
fn is_iteration(name: &str) -> bool {
    let number = name.strip_prefix("Iteration ").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn range<'a>(builder: &mut Builder<'a>, item: &Item<'a>) -> Row {
    let kind = match item.kind {
        b"push/pop" => RangeKind::PushPop,
        b"marker" | b"marker_ex" => RangeKind::Mark,
        _ => RangeKind::StartStop,
    };
    builder.range(item, kind, item.word)
}

/// An operator that another recorder saw, such as ONNX Runtime's profile: opscope's timelines have them
/// in lanes of their own, with unit and type. They are no ranges of the program.
fn beside<'a>(builder: &mut Builder<'a>, item: &Item<'a>, device: u32) -> Option<Row> {
    let unit = std::str::from_utf8(item.kind).ok().and_then(ExecutionUnit::from_name)?;
    if item.word.is_empty() {
        return None;
    }
    let op_type = builder.intern(item.word);
    let operator = OperatorKey { name: item.name, op_type, model: None, signature: b"" };
    let operator = builder.operator(operator);
    let lane = builder.lane(item.lane);
    let (device_name, name, number) = (lane.process_name.clone(), lane.name.clone(), lane.tid);
    let kind = match unit {
        ExecutionUnit::Cpu => DeviceKind::Cpu,
        ExecutionUnit::Gpu => DeviceKind::Gpu,
        _ => DeviceKind::Npu,
    };
    let stream = builder.device_stream(kind, device, &device_name, number, &name);
    Some(builder.task(item, Some(stream), unit, Some(operator)))
}

fn task<'a>(builder: &mut Builder<'a>, item: &Item<'a>, device: u32) -> Row {
    let kind = String::from_utf8_lossy(item.kind);
    // The AI CPU's phases are parts of its tasks, which the stream shows as well.
    if kind.is_empty() && ServerPhase::of_slice(&text_of(item.raw_name)).is_some() {
        builder.repeated += 1;
        return Row::Other;
    }
    let number = item.stream().unwrap_or(builder.lane(item.lane).tid);
    let stream = builder.device_stream(DeviceKind::Npu, device, "", number, "");
    // Marks that the program set in a stream say nothing of their kind.
    let unit = if kind.is_empty() { ExecutionUnit::Control } else { vocabulary::unit(&kind) };
    let model = item.model().map(u64::from);
    let operator = vocabulary::computes(&kind).then(|| operator(builder, item, model));
    builder.task(item, Some(stream), unit, operator)
}

fn task_of_dpu<'a>(builder: &mut Builder<'a>, item: &Item<'a>, device: u32) -> Row {
    // Steps tell no kind of task.
    let kind = match item.kind {
        b"" => Cow::Borrowed(NodeTaskType::Communication.name()),
        kind => String::from_utf8_lossy(kind),
    };
    let number = item.stream().unwrap_or(builder.lane(item.lane).tid);
    let stream = builder.device_stream(DeviceKind::Other, device, dpu::UNIT, number, "");
    let is_operator = !item.kind.is_empty() && vocabulary::computes(&kind);
    let operator = is_operator.then(|| operator(builder, item, None));
    builder.task(item, Some(stream), vocabulary::unit(&kind), operator)
}

/// A timeline tells no types of operators; their names stand in.
fn operator<'a>(builder: &mut Builder<'a>, item: &Item<'a>, model: Option<u64>) -> OperatorId {
    let model = model.map(|number| builder.trace.enter_model(number));
    builder.operator(OperatorKey { name: item.name, op_type: item.name, model, signature: b"" })
}

/// The stream of a group of devices.
fn communication_stream<'a>(builder: &mut Builder<'a>, item: &Item<'a>, device: u32) -> StreamId {
    let lane = builder.lane(item.lane);
    let (number, name) = (vocabulary::FIRST_GROUP_STREAM + lane.tid, lane.name.clone());
    builder.device_stream(DeviceKind::Npu, device, "", number, &name)
}
