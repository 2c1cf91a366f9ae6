//! The meaning of planes, lines and the values beside events.

use opscope_trace::{DeviceKind, ExecutionUnit};

use super::event::Event;
use super::metadata::{EventKind, Plane, Stat};

/// The subject of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Device(DeviceKind, u32),
    /// Calls of CUDA.
    Cuda,
    Host,
    Other,
}

impl Role {
    pub fn of(name: &[u8]) -> Self {
        let Ok(name) = std::str::from_utf8(name) else { return Self::Other };
        if let Some(device) = name.strip_prefix("/device:") {
            let mut parts = device.split(':');
            let (kind, number) = (parts.next().unwrap_or_default(), parts.next());
            // A core within a chip has words behind the number.
            let digits = number.and_then(|number| number.split(' ').next());
            let Some(number) = digits.and_then(|digits| digits.parse().ok()) else { return Self::Other };
            return match kind {
                "GPU" => Self::Device(DeviceKind::Gpu, number),
                "TPU" => Self::Device(DeviceKind::Npu, number),
                _ => Self::Other,
            };
        }
        match name {
            "/host:CUPTI" => Self::Cuda,
            _ if name.starts_with("/host:") && name != "/host:metadata" => Self::Host,
            _ => Self::Other,
        }
    }
}

/// The content of a device's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Operators or kernels that run one after another.
    Work,
    /// Copies and collective operations beside them.
    Beside,
    /// Waits.
    Waits,
    Steps,
    /// Events that other lines have as well.
    Repeated,
    Ranges,
}

pub fn content_of(line: &[u8], has_streams: bool) -> Content {
    match line {
        b"XLA Ops" if has_streams => Content::Repeated,
        b"XLA Ops" => Content::Work,
        b"Async XLA Ops" => Content::Beside,
        b"XLA TraceMe" => Content::Waits,
        b"Steps" => Content::Steps,
        b"Framework Ops"
        | b"Framework Name Scope"
        | b"TensorFlow Ops"
        | b"TensorFlow Name Scope"
        | b"Source code"
        | b"Source Code"
        | b"HLO Ops"
        | b"Launch Stats" => Content::Repeated,
        line if line.starts_with(b"Stream #") => Content::Work,
        _ => Content::Ranges,
    }
}

/// The values beside an event that mean something to opscope.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    pub category: &'a [u8],
    pub hlo_op: &'a [u8],
    pub tf_op: &'a [u8],
    pub flops: Option<u64>,
    pub correlation: Option<u64>,
    /// Where an operator ran, which makes it one.
    pub is_operator: bool,
}

impl<'a> Known<'a> {
    pub fn take(&mut self, name: &[u8], stat: Stat<'a>) {
        match name {
            b"hlo_category" => self.category = stat.text(),
            b"hlo_op" => (self.hlo_op, self.is_operator) = (stat.text(), true),
            b"tf_op" | b"name_scope" if self.tf_op.is_empty() => self.tf_op = stat.text(),
            b"flops" => self.flops = stat.number(),
            b"correlation_id" => self.correlation = stat.number().filter(|number| *number != 0),
            _ => {}
        }
    }

    pub fn of(plane: &Plane<'a>, kind: &EventKind<'a>, event: &Event<'a>) -> Self {
        let mut known = Self::default();
        for body in event.stats() {
            if let Some((name, stat)) = plane.stat(body) {
                known.take(name, stat);
            }
        }
        if kind.operator.is_none() {
            plane.each_stat_of_kind(kind, |name, stat| known.take(name, stat));
        } else if known.category.is_empty() {
            known.category = kind.category;
        }
        known
    }
}

/// The name of an operator in the text of its HLO: `copy-start.2` of `%copy-start.2 = f32[8] copy-start(%a)`.
pub fn hlo_name(text: &[u8]) -> &[u8] {
    let name = text.strip_prefix(b"%").and_then(|rest| rest.split(|byte| *byte == b' ').next());
    name.unwrap_or(text)
}

/// Begins of the names and categories of collective operations.
const COLLECTIVES: [&[u8]; 8] = [
    b"all-reduce",
    b"all-gather",
    b"reduce-scatter",
    b"all-to-all",
    b"collective-permute",
    b"ragged-all-to-all",
    b"send",
    b"recv",
];

/// The unit that executed an event.
pub fn unit_of(name: &[u8], known: &Known<'_>, content: Content, device: DeviceKind) -> ExecutionUnit {
    let begins = |text: &[u8], words: &[&[u8]]| words.iter().any(|word| text.starts_with(word));
    match content {
        Content::Waits => ExecutionUnit::Control,
        // The second half of what was started before: the core waits for its end.
        _ if known.category.ends_with(b"-done") => ExecutionUnit::Control,
        _ if begins(known.category, &COLLECTIVES) || begins(name, &[b"nccl", b"rccl"]) => {
            ExecutionUnit::Communication
        }
        Content::Beside if begins(known.category, &[b"copy", b"async-copy"]) => ExecutionUnit::MemoryCopy,
        _ if device == DeviceKind::Gpu && begins(name, &[b"Memcpy", b"Memset", b"memcpy", b"memset"]) => {
            ExecutionUnit::MemoryCopy
        }
        _ if device == DeviceKind::Gpu => ExecutionUnit::Gpu,
        _ if device == DeviceKind::Cpu => ExecutionUnit::Cpu,
        _ => ExecutionUnit::Other,
    }
}
