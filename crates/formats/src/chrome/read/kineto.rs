//! Slices by their category: those of PyTorch's profiler (Kineto), and those of any other program.

use std::collections::HashMap;

use opscope_trace::{ApiLevel, DeviceKind, ExecutionUnit, Iteration, RangeKind, StreamId};

use super::builder::{Builder, Item, OperatorKey};
use super::document::Document;
use super::executed::OperatorCall;
use super::signature;
use super::text::{Raw, small_number, text_of, unquoted};
use crate::json::Scanner;
use crate::reading::Row;

/// The classes of slices, by their category (Kineto's `ActivityType.cpp` lists them; those of AMD's `rocprofv3`, in
/// traces of Perfetto's, end in `_api` or are `kernel_dispatch` and `memory_copy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// An operator as the host executes it.
    Operator,
    /// A call of a device's runtime or driver.
    Runtime,
    /// A function of the program.
    Function,
    /// A range that the program set.
    Annotation,
    /// The same as the device saw it.
    DeviceAnnotation,
    /// Work of the profiler itself.
    Overhead,
    /// From the begin of the profiler's recording to its end.
    Recording,
    /// Handing work from one thread of PyTorch's to another, as torch_npu shows it.
    Queue,
    /// A kernel on a device.
    Kernel,
    /// A copy or filling of memory on a device.
    Copy,
    /// Waiting on a device.
    Synchronisation,
    /// A category of another program.
    Foreign,
}

/// The class of a category's slices.
fn class_of(category: &[u8]) -> Class {
    match category {
        b"cpu_op" | b"Operator" | b"operator" => Class::Operator,
        b"python_function" => Class::Function,
        b"user_annotation" => Class::Annotation,
        b"gpu_user_annotation" => Class::DeviceAnnotation,
        b"overhead" => Class::Overhead,
        b"Trace" => Class::Recording,
        b"enqueue" | b"dequeue" => Class::Queue,
        b"kernel" | b"Kernel" | b"kernel_dispatch" => Class::Kernel,
        b"gpu_memcpy" | b"gpu_memset" | b"Memcpy" | b"Memset" | b"memory_copy" => Class::Copy,
        b"hip_api" | b"hsa_api" | b"rccl_api" => Class::Runtime,
        b"marker_api" => Class::Annotation,
        b"cuda_sync" => Class::Synchronisation,
        b"Runtime" | b"Driver" => Class::Runtime,
        _ if category.ends_with(b"_runtime") || category.ends_with(b"_driver") => Class::Runtime,
        _ => Class::Foreign,
    }
}

impl Class {
    /// Whether such slices ran on a device.
    fn is_on_device(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Synchronisation)
    }

    /// Whether the slices are such that the file is a profile of PyTorch's.
    fn is_of_framework(self) -> bool {
        !matches!(self, Self::Foreign | Self::Queue | Self::Recording)
    }
}

/// Notes what a file's categories and members tell about the whole of it.
pub(super) fn begin(builder: &mut Builder<'_>, document: &Document<'_>) {
    for chunk in &document.chunks {
        // Categories are few; each is judged once.
        let mut seen = vec![false; chunk.texts().len() + 1];
        for slice in chunk.slices.iter() {
            let category = slice.head.category;
            if !std::mem::replace(&mut seen[category.0 as usize], true) {
                let class = class_of(unquoted(chunk.raw(category)));
                builder.has_device |= class.is_on_device();
                builder.is_framework |= class.is_of_framework();
            }
        }
    }
    builder.is_framework |= document.member("schemaVersion").is_some();
    builder.device_names = document.member("deviceProperties").map(device_names).unwrap_or_default();
}

/// Kineto's list of devices: their names by their numbers.
fn device_names(properties: Raw<'_>) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    // The member was read before; one that is no such list gives no names.
    let _ = Scanner::new(properties).array("a list", |scanner| {
        let (mut number, mut name) = (None, String::new());
        scanner.entries("an object", |scanner, key| {
            match key.bytes {
                b"id" => number = small_number(scanner.value()?),
                b"name" => name = text_of(scanner.value()?).into_owned(),
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })?;
        if let Some(number) = number {
            names.insert(number, name);
        }
        Ok(())
    });
    names
}

/// Makes a row of a slice.
pub(super) fn slice<'a>(builder: &mut Builder<'a>, item: &Item<'a>) -> Row {
    let class = class_of(item.category);
    if matches!(class, Class::Operator | Class::Annotation)
        && let Some(number) = step_number(builder, item)
    {
        let (start, duration) = (item.start, item.duration);
        builder.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
        return Row::Other;
    }
    match class {
        Class::Operator => operator(builder, item),
        Class::Runtime => builder.call(item, item.name, ApiLevel::Runtime),
        // Modules nest as ranges do, and what they launch is theirs.
        Class::Function if is_module(builder, item) => builder.range(item, RangeKind::PushPop, item.category),
        Class::Function => builder.call(item, item.name, ApiLevel::Other),
        Class::Overhead => builder.call(item, item.name, ApiLevel::System),
        Class::Queue => builder.call(item, item.name, ApiLevel::Framework),
        Class::Annotation => builder.range(item, RangeKind::PushPop, item.category),
        Class::DeviceAnnotation => builder.range_of(item, RangeKind::StartStop, item.category, None),
        Class::Kernel | Class::Copy | Class::Synchronisation => device_task(builder, item, class),
        // The program marked nothing there.
        Class::Recording if builder.is_framework => Row::Other,
        Class::Recording | Class::Foreign => foreign(builder, item),
    }
}

/// Whether a function of the program is a module of the network at work, such as `nn.Module: Linear_0`.
fn is_module(builder: &Builder<'_>, item: &Item<'_>) -> bool {
    builder.trace.strings.get(item.name).starts_with("nn.Module: ")
}

/// The number in `ProfilerStep#7`.
fn step_number(builder: &Builder<'_>, item: &Item<'_>) -> Option<u32> {
    builder.trace.strings.get(item.name).strip_prefix("ProfilerStep#")?.parse().ok()
}

/// Where a device was recorded, its kernels are the work, and what the host does about an operator
/// is a call; else the host itself does the work.
fn operator<'a>(builder: &mut Builder<'a>, item: &Item<'a>) -> Row {
    if !builder.has_device {
        let operator = builder.operator(OperatorKey {
            name: item.name,
            op_type: item.name,
            model: None,
            signature: item.signature,
        });
        let stream = builder.host_stream(item.lane);
        return builder.task(item, Some(stream), ExecutionUnit::Cpu, Some(operator));
    }
    let row = builder.call(item, item.name, ApiLevel::Framework);
    if let Row::Call(call) = row {
        let operator = OperatorCall { call, name: item.name, signature: item.signature };
        builder.executed.add(operator, item.details.external);
    }
    row
}

fn device_task<'a>(builder: &mut Builder<'a>, item: &Item<'a>, class: Class) -> Row {
    let unit = match class {
        Class::Copy => ExecutionUnit::MemoryCopy,
        Class::Synchronisation => ExecutionUnit::Control,
        _ if signature::is_of_collective(item.signature) || is_collective(&text_of(item.raw_name)) => {
            ExecutionUnit::Communication
        }
        _ => ExecutionUnit::Gpu,
    };
    let stream = gpu_stream(builder, item);
    // A kernel that tells which collective it is knows more than the call that asked for it.
    let described = unit == ExecutionUnit::Communication && signature::is_of_collective(item.signature);
    let operator = described.then(|| {
        let (name, signature) = (item.name, item.signature);
        builder.operator(OperatorKey { name, op_type: name, model: None, signature })
    });
    builder.task(item, Some(stream), unit, operator)
}

/// Kernels of the collective communication libraries of NVIDIA and AMD.
fn is_collective(name: &str) -> bool {
    name.starts_with("nccl") || name.starts_with("rccl")
}

/// Newer files tell device and stream among the arguments, older ones have them as process and
/// thread.
fn gpu_stream<'a>(builder: &mut Builder<'a>, item: &Item<'a>) -> StreamId {
    let lane = builder.lane(item.lane);
    let (device, stream) = (item.device().unwrap_or(lane.pid), item.stream().unwrap_or(lane.tid));
    let name = builder.device_names.get(&device).cloned().unwrap_or_default();
    builder.device_stream(DeviceKind::Gpu, device, &name, stream, "")
}

/// A slice that isn't PyTorch's. In a profile of PyTorch's or of an Ascend device it is a phase of
/// something; elsewhere it is all that there is, and counts as work of its thread.
fn foreign<'a>(builder: &mut Builder<'a>, item: &Item<'a>) -> Row {
    if builder.is_framework || builder.has_device {
        return builder.range(item, RangeKind::PushPop, item.category);
    }
    let op_type = match (item.word, item.category) {
        (b"", b"") => item.name,
        (b"", category) => builder.intern(category),
        (word, _) => builder.intern(word),
    };
    let operator = builder.operator(OperatorKey { name: item.name, op_type, model: None, signature: b"" });
    let stream = builder.host_stream(item.lane);
    builder.task(item, Some(stream), ExecutionUnit::Cpu, Some(operator))
}
