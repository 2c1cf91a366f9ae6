//! `--exportLayerInfo`: the layers of an engine, and the ONNX nodes that they were made of.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use opscope_trace::{DataType, LossKind};

use super::ReadError;
use crate::json::{JsonError, Scanned, Scanner, unescape};
use crate::layers::{Layer, Layers, Value};

/// The layers of an engine by their names.
#[derive(Debug, Default)]
pub struct LayerInfo {
    layers: HashMap<String, Described>,
    /// How many further ones have the name of another.
    namesakes: u64,
    /// The damage that ended the file.
    cut: Option<JsonError>,
}

#[derive(Debug)]
struct Described {
    layer: Layer,
    is_found: Cell<bool>,
}

/// The type of layers that only change the layout of a value, in TensorRT's own word.
const REFORMAT: &str = "Reformat";

impl LayerInfo {
    /// Reads the layers that are there.
    ///
    /// # Errors
    /// When there is none before the damage.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        let mut info = Self::default();
        let mut scanner = Scanner::new(json);
        let scanned = scanner.object("an object with Layers", |scanner, member| {
            if member != b"Layers" || scanner.peek() != Some(b'[') {
                scanner.skip()?;
                return Ok(());
            }
            scanner.array("a list of layers", |scanner| {
                let layer = match scanner.peek() {
                    Some(b'"') => without_info(&unescape(scanner.raw_string("a name")?.bytes)),
                    Some(b'{') => layer(scanner)?,
                    _ => {
                        scanner.skip()?;
                        return Ok(());
                    }
                };
                let described = Described { layer, is_found: Cell::new(false) };
                match info.layers.entry(described.layer.name.clone()) {
                    Entry::Vacant(entry) => drop(entry.insert(described)),
                    // The profile tells them by their name alone, so that nothing tells whose time is whose.
                    Entry::Occupied(mut entry) => {
                        entry.get_mut().layer.origins.clear();
                        info.namesakes += 1;
                    }
                }
                Ok(())
            })
        });
        match scanned {
            Err(error) if info.layers.is_empty() => return Err(error.into()),
            Err(error) => info.cut = Some(error),
            Ok(()) => {}
        }
        Ok(info)
    }

    /// How many layers there are.
    pub fn len(&self) -> usize {
        self.layers.len() + self.namesakes as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Whether a name is one of its own.
    pub fn knows(&self, name: &str) -> bool {
        self.layers.contains_key(name)
    }

    /// The layer of a name.
    pub(super) fn find(&self, name: &str) -> Option<&Layer> {
        let described = self.layers.get(name)?;
        described.is_found.set(true);
        Some(&described.layer)
    }

    /// Counts what the description lost, and the layers that the profile doesn't have: constants and the like take
    /// no time.
    pub(super) fn count_absent(&self, layers: &mut Layers) {
        if let Some(cut) = &self.cut {
            layers.losses.count(LossKind::CutLayers, &format!("the layers' description: {cut}"), 1);
        }
        layers.losses.count(LossKind::NamesakeLayer, "layers of the description", self.namesakes);
        let absent = self.layers.values().filter(|described| !described.is_found.get()).count();
        layers.losses.count(LossKind::LayerNotProfiled, "layers of the description", absent as u64);
    }
}

/// A layer of which the name alone is known: TensorRT makes that of the names of the nodes that it fused.
pub(super) fn without_info(name: &str) -> Layer {
    let is_reformat = name.starts_with("Reformatting CopyNode for ") || name.contains("put reformatter ");
    let op_type = if is_reformat { REFORMAT.to_owned() } else { String::new() };
    let origins = if is_reformat { Vec::new() } else { nodes_in_name(name) };
    Layer { name: name.to_owned(), op_type, origins, ..Layer::default() }
}

/// How deep networks lie within one another at most, to be taken apart: each is looked at anew.
const DEEPEST_NETWORK: usize = 64;

/// The nodes in a fused layer's name: `a + PWN(PWN(b), c) || d` has four. `PWN` is a point-wise network, whose parts
/// may be such networks themselves. `{ForeignNode[a...b]}` is a part of the graph that was compiled as one: `a` and `b`
/// are the first and the last of its nodes, and the name doesn't tell those between.
fn nodes_in_name(name: &str) -> Vec<String> {
    let mut nodes = Vec::new();
    // Each part, and in how many networks it lies, where commas part nodes.
    let mut left = vec![(name, 0)];
    while let Some((part, depth)) = left.pop() {
        let separators: &[&str] = if depth > 0 { &[" || ", " + ", ", "] } else { &["||", " + "] };
        let parts = parts_outside_of_brackets(part, separators);
        if parts.len() > 1 {
            // The next to come is last.
            left.extend(parts.into_iter().rev().map(|part| (part, depth)));
            continue;
        }
        let part = part.trim();
        if let Some(ends) = part.strip_prefix("{ForeignNode[").and_then(|it| it.strip_suffix("]}")) {
            let (first, last) = ends.split_once("...").unwrap_or((ends, ""));
            nodes.extend([first, last].into_iter().filter(|it| !it.is_empty()).map(str::to_owned));
            continue;
        }
        let network = part.strip_prefix("PWN(").and_then(|inner| inner.strip_suffix(')'));
        match network.filter(|_| depth < DEEPEST_NETWORK) {
            Some(inner) => left.push((inner, depth + 1)),
            None if part.is_empty() => {}
            None => nodes.push(part.to_owned()),
        }
    }
    nodes
}

/// A text's parts between separators that lie in no brackets. Brackets that don't match are letters like any other.
fn parts_outside_of_brackets<'t>(text: &'t str, separators: &[&str]) -> Vec<&'t str> {
    let (mut parts, mut begin, mut depth, mut at) = (Vec::new(), 0, 0_usize, 0);
    let bytes = text.as_bytes();
    let mut open = [0_usize; 3];
    let mut closed = [0_usize; 3];
    for byte in bytes {
        match byte {
            b'(' => open[0] += 1,
            b')' => closed[0] += 1,
            b'[' => open[1] += 1,
            b']' => closed[1] += 1,
            b'{' => open[2] += 1,
            b'}' => closed[2] += 1,
            _ => {}
        }
    }
    let is_balanced = open == closed;
    // Brackets and separators are ASCII, whose bytes are in no other letter.
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'(' | b'[' | b'{' if is_balanced => depth += 1,
            b')' | b']' | b'}' if is_balanced => depth = depth.saturating_sub(1),
            _ => {}
        }
        // Most letters begin no separator, and need no comparison of texts.
        let begins = |it: &&&str| it.as_bytes()[0] == *byte && bytes[at..].starts_with(it.as_bytes());
        let separator = separators.iter().find(|it| depth == 0 && begins(it));
        at += match separator {
            Some(separator) => {
                parts.push(&text[begin..at]);
                begin = at + separator.len();
                separator.len()
            }
            None => 1,
        };
    }
    parts.push(&text[begin..]);
    parts
}

fn layer(scanner: &mut Scanner<'_>) -> Scanned<Layer> {
    let mut layer = Layer::default();
    let mut metadata = String::new();
    let (mut tactic, mut precision) = (String::new(), String::new());
    // Types such as `Activation` are those of several operators.
    let (mut activation, mut operation) = (String::new(), String::new());
    scanner.object("a layer", |scanner, member| {
        match (member, scanner.peek()) {
            (b"Name", Some(b'"')) => layer.name = text(scanner)?.into_owned(),
            (b"LayerType", Some(b'"')) => layer.op_type = text(scanner)?.into_owned(),
            (b"Metadata", Some(b'"')) => metadata = text(scanner)?.into_owned(),
            (b"TacticName", Some(b'"')) => tactic = text(scanner)?.into_owned(),
            (b"Precision", Some(b'"')) => precision = text(scanner)?.into_owned(),
            (b"ActivationType", Some(b'"')) => activation = text(scanner)?.into_owned(),
            (b"Operation", Some(b'"')) => operation = text(scanner)?.into_owned(),
            (b"Inputs", Some(b'[')) => layer.inputs = values(scanner)?,
            (b"Outputs", Some(b'[')) => layer.outputs = values(scanner)?,
            _ => drop(scanner.skip()?),
        }
        Ok(())
    })?;
    layer.origins = nodes_in_metadata(&metadata);
    if layer.origins.is_empty() && layer.op_type != REFORMAT {
        layer.origins = nodes_in_name(&layer.name);
    }
    layer.attributes = vec![
        ("tactic", tactic),
        ("precision", precision),
        ("activation", activation),
        ("operation", operation),
    ];
    Ok(layer)
}

fn text<'t>(scanner: &mut Scanner<'t>) -> Scanned<Cow<'t, str>> {
    Ok(unescape(scanner.raw_string("a text")?.bytes))
}

/// The nodes in `[ONNX Layer: a]␞[ONNX Layer: b]`, which are parted by U+001E or U+001F.
fn nodes_in_metadata(metadata: &str) -> Vec<String> {
    const BEGIN: &str = "[ONNX Layer: ";
    let (mut nodes, mut known) = (Vec::new(), HashSet::new());
    for part in metadata.split(['\u{1e}', '\u{1f}']) {
        for node in part.split(BEGIN).skip(1) {
            // Names may have brackets themselves.
            let end = node.rfind(']').unwrap_or(node.len());
            let node = node[..end].trim();
            if !node.is_empty() && known.insert(node) {
                nodes.push(node.to_owned());
            }
        }
    }
    nodes
}

fn values(scanner: &mut Scanner<'_>) -> Scanned<Vec<Value>> {
    let mut values = Vec::new();
    scanner.array("a list of values", |scanner| {
        if scanner.peek() != Some(b'{') {
            scanner.skip()?;
            return Ok(());
        }
        let mut value = Value::default();
        scanner.object("a value", |scanner, member| {
            match (member, scanner.peek()) {
                (b"Name", Some(b'"')) => value.name = text(scanner)?.into_owned(),
                (b"Dimensions", Some(b'[')) => value.dimensions = Some(sizes(scanner)?),
                (b"Format/Datatype", Some(b'"')) => {
                    value.layout = text(scanner)?.into_owned();
                    value.data_type = data_type(&value.layout);
                }
                (b"Format", Some(b'"')) => value.layout = text(scanner)?.into_owned(),
                (b"Datatype" | b"DataType", Some(b'"')) => value.data_type = data_type(&text(scanner)?),
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })?;
        values.push(value);
        Ok(())
    })?;
    Ok(values)
}

/// Sizes; one that is no number isn't known.
fn sizes(scanner: &mut Scanner<'_>) -> Scanned<Vec<i64>> {
    let mut sizes = Vec::new();
    scanner.array("a list of sizes", |scanner| {
        let size = scanner.whole()?.and_then(|size| i64::try_from(size).ok());
        sizes.push(size.unwrap_or(-1));
        Ok(())
    })?;
    Ok(sizes)
}

/// The element type in a description such as `Row major linear FP16 format`, or in a bare word such as `Half`.
fn data_type(described: &str) -> DataType {
    let word = |word: &str| match word.to_ascii_lowercase().as_str() {
        "fp32" | "float" => DataType::Float32,
        "fp16" | "half" => DataType::Float16,
        "bf16" | "bfloat16" => DataType::BFloat16,
        "fp8" => DataType::Float8E4M3Fn,
        "fp4" => DataType::Float4E2M1,
        "int64" => DataType::Int64,
        "int32" => DataType::Int32,
        "int8" => DataType::Int8,
        "int4" => DataType::Int4,
        "uint8" => DataType::Uint8,
        "bool" => DataType::Bool,
        _ => DataType::Unknown,
    };
    let known = described.split_whitespace().map(word);
    known.rev().find(|known| *known != DataType::Unknown).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_from_the_metadata_and_else_from_the_name() {
        assert_eq!(nodes_in_metadata("[ONNX Layer: /a/Conv]\u{1e}[ONNX Layer: b [1]]"), ["/a/Conv", "b [1]"]);
        assert_eq!(nodes_in_metadata("[ONNX Layer: a][ONNX Layer: a][ONNX Layer: b"), ["a", "b"]);
        assert_eq!(nodes_in_metadata("something else"), [""; 0]);
        assert_eq!(nodes_in_name("Conv_0 + PWN(Clip_3) || Conv_1"), ["Conv_0", "Clip_3", "Conv_1"]);
        assert_eq!(
            nodes_in_name("PWN(PWN(/m.19/act/Sigmoid), /m.19/act/Mul)"),
            ["/m.19/act/Sigmoid", "/m.19/act/Mul"]
        );
        let mish = "PWN(PWN(Softplus_144, PWN(Tanh_145)), Mul_146) + Add_(1)";
        assert_eq!(nodes_in_name(mish), ["Softplus_144", "Tanh_145", "Mul_146", "Add_(1)"]);
        assert_eq!(nodes_in_name("Conv (a + PWN(b"), ["Conv (a", "PWN(b"]);
        assert_eq!(nodes_in_name("卷积 + PWN(é, ü)||ö"), ["卷积", "é", "ü", "ö"]);
        // Networks that lie too deep stay as they are.
        let deep = |depth: usize| format!("{}a{}", "PWN(".repeat(depth), ")".repeat(depth));
        assert_eq!(nodes_in_name(&deep(DEEPEST_NETWORK)), ["a"]);
        assert_eq!(nodes_in_name(&deep(DEEPEST_NETWORK + 2)), ["PWN(PWN(a))"]);
        // The ends of a part of the graph; an operator's own brackets part nothing.
        let whole = "{ForeignNode[/encoder/Unsqueeze_3 + x.../match_model/Squeeze]} + Conv_1[0 + 1]";
        assert_eq!(
            nodes_in_name(whole),
            ["/encoder/Unsqueeze_3 + x", "/match_model/Squeeze", "Conv_1[0 + 1]"]
        );
        let copy = without_info("Reformatting CopyNode for Input Tensor 0 to Conv_0 + Relu_1");
        assert_eq!((copy.op_type.as_str(), copy.origins.len()), ("Reformat", 0));
    }

    #[test]
    fn element_types_are_read_from_descriptions_and_words() {
        let cases = [
            ("Row major linear FP32", DataType::Float32),
            ("Four wide channel vectorized row major Int8 format", DataType::Int8),
            ("Channel major FP16 format where channel % 4 == 0", DataType::Float16),
            ("Half", DataType::Float16),
            ("N/A due to dynamic shapes", DataType::Unknown),
        ];
        for (described, expected) in cases {
            assert_eq!(data_type(described), expected, "{described}");
        }
    }
}
