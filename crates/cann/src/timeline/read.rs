//! Timelines of Ascend devices, read back: msprof's `msprof_*.json` and torch_npu's `trace_view.json`.
//!
//! Every kind of lanes is a process of its own, named after what it shows; its number holds the
//! real process's and the device's: `pid << 10 | layer << 5 | device`, with device 31 for the host.
//! torch_npu adds the lanes of PyTorch, with the real process's number.

#[cfg(test)]
mod tests;

use crate::quantities;
use crate::timeline::lanes;
use crate::vocabulary;
use crate::waits::Waits;
use opscope_formats::chrome::dialect::{
    AboutFile, Builder, CounterMeaning, Dialect, DialectReader, Item, Lane, OperatorKey, text_of,
};
use opscope_formats::reading::Row;
use opscope_trace::{DeviceKind, ExecutionUnit, Iteration, OperatorId, RangeKind, StreamId, Trace};

/// The dialect of the timelines that Ascend's tools export, for [`opscope_formats::chrome::read`].
pub struct AscendTimeline;

impl Dialect for AscendTimeline {
    fn begin<'a>(
        &self,
        about: &AboutFile<'_, 'a>,
        builder: &mut Builder<'a>,
    ) -> Option<Box<dyn DialectReader<'a> + 'a>> {
        let of_vendor = about.processes().filter(|(pid, name)| is_process(*pid, name));
        let processes: Vec<u32> = of_vendor.map(|(pid, _)| pid >> 10).collect();
        if processes.is_empty() && !about.processes().any(|(_, name)| name == lanes::STEPS) {
            return None;
        }
        builder.has_device = true;
        builder.is_framework = true;
        Some(Box::new(AscendReader { roles: assign_roles(&mut builder.lanes, &processes) }))
    }
}

struct AscendReader {
    /// The content of every lane; `None` for those of PyTorch.
    roles: Vec<Option<Role>>,
}

impl<'a> DialectReader<'a> for AscendReader {
    fn slice(&mut self, builder: &mut Builder<'a>, slice: &Item<'a>) -> Option<Row> {
        let role = self.roles[slice.lane.index()]?;
        Some(row_of(builder, slice, role))
    }

    fn device_of_counters(&self, pid: Option<u32>, _process: &str) -> Option<(DeviceKind, u32, String)> {
        let device = pid.map(device_of).filter(|device| *device != HOST)?;
        Some((DeviceKind::Npu, device, String::new()))
    }

    fn counter(&self, process: &str, event: &str, value: &str) -> CounterMeaning {
        quantities::of_timeline(process, event, value)
    }

    fn finish(&mut self, trace: &mut Trace) {
        crate::units::to_smallest(trace);
        Waits::enter(trace);
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
    /// Figures that the exporter worked out from the other lanes.
    Derived,
    /// Ranges and marks of the program, and whatever has no other place.
    Ranges,
    /// Something else of a device: operators that another recorder saw, or what has no other place.
    Other {
        /// The device's number.
        device: u32,
    },
}

/// Whether a process shows tasks, today or in 2022.
fn is_hardware(name: &str) -> bool {
    lanes::HARDWARE.contains(&name)
}

/// Whether a process shows the calls of the host's libraries, which named it in 2022: `AscendCL, Runtime`.
fn is_of_calls(name: &str) -> bool {
    name == lanes::CALLS || name.split(", ").any(|library| matches!(library, lanes::ACL | lanes::RUNTIME))
}

/// The number that stands for the host among those of devices.
const HOST: u32 = 31;

/// The number of the device among those that a process's number holds.
fn device_of(pid: u32) -> u32 {
    pid & 31
}

/// Whether only an Ascend timeline has this process. Boards' timelines have the names of 2022 as well, but
/// no layers in the numbers of processes.
fn is_process(pid: u32, name: &str) -> bool {
    let layer = u64::from(pid >> 5 & 31);
    name == lanes::HARDWARE[0]
        || name == lanes::CALLS
        || (layer == lanes::HARDWARE_LAYER && is_hardware(name))
        || (layer == lanes::CALLS_LAYER && is_of_calls(name))
        || (layer == lanes::PROGRAM_LAYER && name == lanes::RANGES_OF_2022)
}

/// Finds out what every lane shows; `processes` are the real processes that the vendor's stand for.
fn assign_roles(lanes: &mut [Lane<'_>], processes: &[u32]) -> Vec<Option<Role>> {
    let has_streams = lanes.iter().any(|lane| is_hardware(&lane.process_name));
    let assign = |lane: &mut Lane<'_>| {
        if lane.process_name == lanes::STEPS {
            lane.process_name = String::new();
            lane.is_no_thread = true;
            return Some(Role::Iterations { model: model_number(&lane.name) });
        }
        let device = device_of(lane.pid);
        let role = match &*lane.process_name {
            name if is_hardware(name) => match lane.name.strip_prefix(lanes::STEPS) {
                Some(rest) => Role::Iterations { model: model_number(rest) },
                None => Role::Stream { device },
            },
            name if is_of_calls(name) => Role::Calls,
            "HCCL" | "Communication" if lane.name.starts_with("Plane") => {
                Role::Planes { device, repeated: has_streams }
            }
            "HCCL" | "Communication" => Role::Communication { device },
            "Overlap Analysis" => Role::Derived,
            // PyTorch's own lanes have the real process's number.
            _ if !processes.contains(&(lane.pid >> 10)) => return None,
            _ if device != HOST => Role::Other { device },
            _ => Role::Ranges,
        };
        lane.pid >>= 10;
        // The lanes' names are no names of processes, but for the one that has the program's.
        let has_name = matches!(role, Role::Ranges | Role::Other { .. });
        if !has_name || lane.process_name == lanes::RANGES_OF_2022 {
            lane.process_name = String::new();
        }
        lane.is_no_thread = !(has_name || role == Role::Calls);
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
        Role::Other { device } => match beside(builder, item, device) {
            Some(row) => row,
            None => range(builder, item),
        },
        Role::Ranges => range(builder, item),
    }
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
    let number = item.stream().unwrap_or(builder.lane(item.lane).tid);
    let stream = builder.device_stream(DeviceKind::Npu, device, "", number, "");
    // Marks that the program set in a stream say nothing of their kind.
    let unit = if kind.is_empty() { ExecutionUnit::Control } else { vocabulary::unit(&kind) };
    let model = item.model().map(u64::from);
    let operator = vocabulary::computes(&kind).then(|| operator(builder, item, model));
    builder.task(item, Some(stream), unit, operator)
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
