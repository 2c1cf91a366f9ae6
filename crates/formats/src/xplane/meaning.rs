//! The meaning of planes, lines and the values beside events.

use opscope_trace::{DeviceKind, ExecutionUnit};

use super::stat::Known;

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
    /// Operators that TensorFlow's executor runs, among other calls of a thread.
    Executed,
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

/// No word within a name is longer; a whole one may be as long as the file, and be looked at for each event.
const LONGEST_WORD: usize = 1_000;

/// The name of an operator in the text of its HLO: `copy-start.2` of `%copy-start.2 = f32[8] copy-start(%a)`.
pub fn hlo_name(text: &[u8]) -> &[u8] {
    let rest = text.strip_prefix(b"%").unwrap_or_default();
    let space = rest.iter().take(LONGEST_WORD).position(|byte| *byte == b' ');
    space.map_or(text, |space| &rest[..space])
}

/// The type of an operator that TensorFlow names `path/name:Type`; nothing of another name.
pub fn tf_type(name: &[u8]) -> &[u8] {
    let end = name.len().saturating_sub(LONGEST_WORD);
    let colon = name[end..].iter().rposition(|byte| *byte == b':');
    colon.map_or(&[], |colon| &name[end + colon + 1..])
}

/// Types of TensorFlow's operators that run others: compiled pieces, functions, branches and loops. Those that they run
/// have events of their own, some on other threads.
const CONTAINERS: [&[u8]; 12] = [
    b"PartitionedCall",
    b"StatefulPartitionedCall",
    b"RemoteCall",
    b"SymbolicGradient",
    b"If",
    b"StatelessIf",
    b"Case",
    b"StatelessCase",
    b"While",
    b"StatelessWhile",
    b"MapDefun",
    b"TPUExecute",
];

/// Whether a line is a thread of TensorFlow's executor, whose pools are `tf_Compute` and others; pipelines of input
/// have pools of their own.
pub fn is_executor(line: &[u8]) -> bool {
    line.starts_with(b"tf_") && !line.starts_with(b"tf_data")
}

/// The name of the operator that an event of the executor ran, which is called `path/name:Type`; nothing for other
/// events, and for operators that only run others.
pub fn executed_operator(event: &[u8]) -> Option<&[u8]> {
    let op_type = tf_type(event);
    let name = event.strip_suffix(op_type)?.strip_suffix(b":")?;
    let (first, rest) = name.split_first()?;
    let is_name = (first.is_ascii_alphanumeric() || *first == b'.')
        && rest.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.\\-/>".contains(byte));
    let is_type = op_type.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && op_type.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let is_container =
        CONTAINERS.contains(&op_type) || op_type.strip_prefix(b"_").unwrap_or(op_type).starts_with(b"Xla");
    (is_name && is_type && !is_container).then_some(name)
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
