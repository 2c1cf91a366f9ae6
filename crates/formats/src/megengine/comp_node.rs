//! The names of places where MegEngine executes: `CompNode("cpu0:0" from "xpux:0")`.

use opscope_trace::DeviceKind;

/// A place where operators are executed, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompNode<'a> {
    /// The kind of machine.
    pub kind: DeviceKind,
    /// The device by its own name, such as `cpu0`.
    pub device: &'a str,
    /// The device's number among those of its kind.
    pub number: u32,
    /// The stream's number on the device.
    pub stream: u64,
}

impl<'a> CompNode<'a> {
    /// Takes a comp node's text apart. The first name in it is the machine's, the second what the
    /// model asked for.
    pub fn parse(text: &'a str) -> Self {
        let physical = text.split('"').nth(1).unwrap_or(text);
        let (device, stream) = physical.split_once(':').unwrap_or((physical, ""));
        let word = device.trim_end_matches(|character: char| character.is_ascii_digit());
        let kind = match word {
            "cpu" | "multithread" => DeviceKind::Cpu,
            "gpu" | "cuda" | "rocm" | "opencl" => DeviceKind::Gpu,
            "atlas" | "cambricon" => DeviceKind::Npu,
            _ => DeviceKind::Other,
        };
        let number = device[word.len()..].parse().unwrap_or(0);
        Self { kind, device, number, stream: stream.parse().unwrap_or(0) }
    }

    /// The word that devices of a kind are named by.
    pub fn word(kind: DeviceKind) -> &'static str {
        match kind {
            DeviceKind::Cpu | DeviceKind::Other => "cpu",
            DeviceKind::Gpu => "gpu",
            DeviceKind::Npu => "atlas",
        }
    }

    /// The text of the comp node that has these numbers.
    pub fn text(kind: DeviceKind, number: usize, stream: usize) -> String {
        let word = Self::word(kind);
        format!("CompNode(\"{word}{number}:{stream}\" from \"{word}{number}:{stream}\")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_physical_name_tells_device_and_stream() {
        let node = CompNode::parse(r#"CompNode("gpu1:2" from "xpux:0")"#);
        assert_eq!(node, CompNode { kind: DeviceKind::Gpu, device: "gpu1", number: 1, stream: 2 });
        assert_eq!(CompNode::parse(r#"CompNode("multithread2:0" from "cpux:0")"#).kind, DeviceKind::Cpu);
        for text in ["", "\"", "CompNode(", ":", "cpu99999999999:x", "卷"] {
            assert_eq!(CompNode::parse(text).number, 0, "{text}");
        }
        assert_eq!(CompNode::parse(&CompNode::text(DeviceKind::Npu, 3, 1)).number, 3);
    }
}
