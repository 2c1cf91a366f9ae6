//! Walks the structure of a serialised model without decoding it.
//!
//! The decoder says that bytes are wrong, but not where; and it allocates for every message that a
//! file declares, however many that are. One walk over the lengths of the fields, which touches no
//! weights, finds where a file was cut off and what decoding it would take.

use std::mem::size_of;

use crate::proto::{
    AttributeProto, Dimension, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto,
};

/// A fault in the structure of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The field at `offset` runs past the end of the file, by `missing` bytes as far as is known.
    Truncated { offset: usize, field: String, missing: u64 },
    /// No field of a protobuf message stands at `offset`.
    Malformed { offset: usize },
    /// Decoded, the messages would take more than `limit` bytes besides the tensors' data.
    TooLarge { limit: u64 },
}

/// Memory that a model's structure (not its weights) may take when it is decoded. The largest real
/// ones take a few percent of this.
const MAX_DECODED: u64 = 2 << 30;

/// The decoder's own limit on nesting is 100 messages; deeper ones are left to it to refuse.
const MAX_DEPTH: usize = 100;

/// Messages that hold other messages in large numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    SparseTensor,
    ValueInfo,
    Type,
    TensorType,
    ElementType,
    MapType,
    Shape,
    Dimension,
    Function,
    Training,
    Annotation,
    Entry,
    OperatorSet,
}

/// The content of a length-delimited field.
enum Content {
    Nested(Message),
    Text,
    Opaque,
}

/// The field's name, and what it holds. Numbers are those of ONNX's interface definition.
fn field_of(message: Message, number: u64) -> (&'static str, Content) {
    use Content::{Nested, Opaque, Text};
    use Message as M;
    match (message, number) {
        (M::Model, 7) => ("graph", Nested(M::Graph)),
        (M::Model, 8) | (M::Function, 9) => ("opset_import", Nested(M::OperatorSet)),
        (M::Model, 20) => ("training_info", Nested(M::Training)),
        (M::Model, 25) => ("functions", Nested(M::Function)),
        (M::Model, 26) => ("configuration", Text),
        (M::Node, 10) => ("device_configurations", Text),
        (M::Graph, 1) | (M::Function, 7) => ("node", Nested(M::Node)),
        (M::Graph, 5) => ("initializer", Nested(M::Tensor)),
        (M::Graph, 11) => ("input", Nested(M::ValueInfo)),
        (M::Graph, 12) => ("output", Nested(M::ValueInfo)),
        (M::Graph, 13) | (M::Function, 12) => ("value_info", Nested(M::ValueInfo)),
        (M::Graph, 14) => ("quantization_annotation", Nested(M::Annotation)),
        (M::Graph, 15) => ("sparse_initializer", Nested(M::SparseTensor)),
        (M::Node, 1) | (M::Function, 4) => ("input", Text),
        (M::Node, 2) | (M::Function, 5) => ("output", Text),
        (M::Node, 5) | (M::Function, 11) => ("attribute", Nested(M::Attribute)),
        (M::Function, 6) => ("attribute", Text),
        (M::Attribute, 5) => ("t", Nested(M::Tensor)),
        (M::Attribute, 6) => ("g", Nested(M::Graph)),
        (M::Attribute, 9) => ("strings", Text),
        (M::Attribute, 10) => ("tensors", Nested(M::Tensor)),
        (M::Attribute, 11) => ("graphs", Nested(M::Graph)),
        (M::Attribute, 14) => ("tp", Nested(M::Type)),
        (M::Attribute, 15) => ("type_protos", Nested(M::Type)),
        (M::Attribute, 22) => ("sparse_tensor", Nested(M::SparseTensor)),
        (M::Attribute, 23) => ("sparse_tensors", Nested(M::SparseTensor)),
        (M::Tensor, 6) => ("string_data", Text),
        (M::Tensor, 13) => ("external_data", Nested(M::Entry)),
        (M::Tensor, 9) => ("raw_data", Opaque),
        (M::SparseTensor, 1) => ("values", Nested(M::Tensor)),
        (M::SparseTensor, 2) => ("indices", Nested(M::Tensor)),
        (M::ValueInfo, 2) => ("type", Nested(M::Type)),
        (M::Type, 1 | 8) => ("tensor_type", Nested(M::TensorType)),
        (M::Type, 4 | 9) => ("elem_type", Nested(M::ElementType)),
        (M::Type, 5) => ("map_type", Nested(M::MapType)),
        (M::TensorType, 2) => ("shape", Nested(M::Shape)),
        (M::ElementType, 1) => ("elem_type", Nested(M::Type)),
        (M::MapType, 2) => ("value_type", Nested(M::Type)),
        (M::Shape, 1) => ("dim", Nested(M::Dimension)),
        (M::Training, 1) => ("initialization", Nested(M::Graph)),
        (M::Training, 2) => ("algorithm", Nested(M::Graph)),
        (M::Training, 3 | 4) => ("binding", Nested(M::Entry)),
        (M::Annotation, 2) => ("quant_parameter_tensor_names", Nested(M::Entry)),
        (M::Model, 14)
        | (M::Function, 14)
        | (M::Graph | M::Tensor, 16)
        | (M::Node, 9)
        | (M::ValueInfo, 4) => ("metadata_props", Nested(M::Entry)),
        _ => ("field", Opaque),
    }
}

/// About what one message takes in memory, without what it holds.
fn decoded_size(message: Message) -> usize {
    match message {
        Message::Model | Message::Graph | Message::Training => size_of::<GraphProto>(),
        Message::Node => size_of::<NodeProto>(),
        Message::Attribute => size_of::<AttributeProto>(),
        Message::Tensor => size_of::<TensorProto>(),
        Message::SparseTensor => size_of::<SparseTensorProto>(),
        Message::ValueInfo => size_of::<ValueInfoProto>(),
        Message::Type | Message::TensorType | Message::ElementType | Message::MapType => {
            size_of::<TypeProto>()
        }
        Message::Shape => size_of::<TensorShapeProto>(),
        Message::Dimension => size_of::<Dimension>(),
        Message::Function => size_of::<FunctionProto>(),
        Message::Annotation | Message::Entry => size_of::<StringStringEntryProto>(),
        Message::OperatorSet => size_of::<OperatorSetIdProto>(),
    }
}

/// A message that the walk is inside of.
struct Frame {
    message: Message,
    end: usize,
    /// The field that holds it.
    field: &'static str,
    /// The number of that field's message among its like.
    occurrence: usize,
    start: usize,
    /// Whether it should end after the file does.
    is_cut: bool,
}

/// Walks the structure of a serialised `ModelProto`.
pub(crate) fn survey(bytes: &[u8]) -> Result<(), Fault> {
    Walk { bytes, position: 0, decoded: 0, frames: Vec::new(), cut: None }.run()
}

struct Walk<'b> {
    bytes: &'b [u8],
    position: usize,
    decoded: u64,
    frames: Vec<Frame>,
    /// By how much the outermost field that is cut off runs past the end of the file.
    cut: Option<u64>,
}

impl Walk<'_> {
    fn run(mut self) -> Result<(), Fault> {
        self.frames.push(Frame {
            message: Message::Model,
            end: self.bytes.len(),
            field: "model",
            occurrence: 0,
            start: 0,
            is_cut: false,
        });
        // Occurrences of each field in the messages around the position.
        let mut counts: Vec<[usize; 32]> = vec![[0; 32]];
        while let Some(frame) = self.frames.last() {
            if self.position >= frame.end {
                if frame.is_cut {
                    return Err(self.truncated("", 0, frame.start));
                }
                self.frames.pop();
                counts.pop();
                continue;
            }
            let (message, end, start) = (frame.message, frame.end, self.position);
            let tag = self.varint(end, start)?;
            let (number, wire_type) = (tag >> 3, tag & 7);
            match wire_type {
                0 => _ = self.varint(end, start)?,
                1 => self.skip(8, end, start, "field", 0)?,
                5 => self.skip(4, end, start, "field", 0)?,
                2 => {
                    let length = self.varint(end, start)?;
                    let (name, content) = field_of(message, number);
                    let occurrence = self.count(&mut counts, number);
                    match content {
                        Content::Nested(inner) if self.frames.len() < MAX_DEPTH => {
                            let (end, is_cut) = self.inner_end(length, end, start)?;
                            self.charge(decoded_size(inner))?;
                            self.frames.push(Frame {
                                message: inner,
                                end,
                                field: name,
                                occurrence,
                                start,
                                is_cut,
                            });
                            counts.push([0; 32]);
                        }
                        Content::Text => {
                            self.charge(size_of::<String>() + 16)?;
                            self.skip(length, end, start, name, occurrence)?;
                        }
                        Content::Nested(_) | Content::Opaque => {
                            self.skip(length, end, start, name, occurrence)?;
                        }
                    }
                }
                _ => return Err(Fault::Malformed { offset: start }),
            }
        }
        Ok(())
    }

    fn count(&self, counts: &mut [[usize; 32]], number: u64) -> usize {
        let slot = usize::try_from(number).ok().and_then(|number| counts.last_mut()?.get_mut(number));
        slot.map_or(0, |count| {
            *count += 1;
            *count - 1
        })
    }

    /// Lists of messages grow by doubling, so they take up to twice what their messages do.
    fn charge(&mut self, bytes: usize) -> Result<(), Fault> {
        self.decoded += 2 * bytes as u64;
        if self.decoded > MAX_DECODED { Err(Fault::TooLarge { limit: MAX_DECODED }) } else { Ok(()) }
    }

    /// Where a nested message ends. When that lies past the end of the file, the walk goes on inside,
    /// up to that end, to find which part was cut.
    fn inner_end(&mut self, length: u64, end: usize, start: usize) -> Result<(usize, bool), Fault> {
        let room = (end - self.position) as u64;
        if length <= room {
            return Ok((self.position + length as usize, false));
        }
        if end < self.bytes.len() {
            return Err(Fault::Malformed { offset: start });
        }
        self.cut.get_or_insert(length - room);
        Ok((end, true))
    }

    fn skip(
        &mut self,
        length: u64,
        end: usize,
        start: usize,
        field: &str,
        occurrence: usize,
    ) -> Result<(), Fault> {
        let room = (end - self.position) as u64;
        if length <= room {
            self.position += length as usize;
            return Ok(());
        }
        if end < self.bytes.len() {
            return Err(Fault::Malformed { offset: start });
        }
        self.cut.get_or_insert(length - room);
        Err(self.truncated(field, occurrence, start))
    }

    fn varint(&mut self, end: usize, start: usize) -> Result<u64, Fault> {
        let rest = &self.bytes[self.position..end];
        if let Some((value, length)) = opscope_protobuf::varint(rest) {
            self.position += length;
            return Ok(value);
        }
        // Ten bytes hold the longest.
        let is_cut = rest.len() < 10 && end == self.bytes.len();
        Err(if is_cut { self.truncated("", 0, start) } else { Fault::Malformed { offset: start } })
    }

    /// The fault of a field that is cut off, with the path to it: `graph.node[3].attribute[0]`.
    fn truncated(&self, field: &str, occurrence: usize, offset: usize) -> Fault {
        let mut path: Vec<String> = Vec::new();
        for frame in self.frames.iter().skip(1) {
            path.push(spelled(frame.field, frame.occurrence));
        }
        if !field.is_empty() {
            path.push(spelled(field, occurrence));
        }
        let field = if path.is_empty() { "model".to_owned() } else { path.join(".") };
        Fault::Truncated { offset, field, missing: self.cut.unwrap_or(1) }
    }
}

fn spelled(field: &str, occurrence: usize) -> String {
    if matches!(field, "graph" | "raw_data" | "type" | "shape" | "t" | "g") {
        field.to_owned()
    } else {
        format!("{field}[{occurrence}]")
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::proto::ModelProto;

    fn model() -> ModelProto {
        let node = |name: &str| NodeProto {
            name: Some(name.into()),
            op_type: Some("Relu".into()),
            ..Default::default()
        };
        let weight = TensorProto { raw_data: Some(vec![7; 100].into()), ..Default::default() };
        ModelProto {
            ir_version: Some(8),
            graph: Some(GraphProto {
                node: vec![node("a"), node("b")],
                initializer: vec![weight.clone(), weight],
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    #[test]
    fn a_whole_model_has_no_fault() {
        assert_eq!(survey(&model().encode_to_vec()), Ok(()));
        assert_eq!(survey(&[]), Ok(()));
    }

    #[test]
    fn a_cut_model_names_the_part_that_was_cut_and_what_is_missing() {
        let bytes = model().encode_to_vec();
        let Err(Fault::Truncated { offset, field, missing }) = survey(&bytes[..bytes.len() - 30]) else {
            panic!("not seen as cut");
        };
        assert_eq!((field.as_str(), missing), ("graph.initializer[1].raw_data", 30));
        // The tag of the second weight's data: one byte, one more for the length, then 100 of data.
        assert_eq!(offset, bytes.len() - 102);
    }

    #[test]
    fn every_cut_but_those_between_the_outermost_fields_is_seen() {
        let bytes = model().encode_to_vec();
        for length in 3..bytes.len() {
            let fault = survey(&bytes[..length]);
            assert!(matches!(fault, Err(Fault::Truncated { .. })), "{length}: {fault:?}");
        }
        assert_eq!(survey(&bytes[..2]), Ok(()));
    }

    #[test]
    fn a_field_that_leaves_its_message_is_malformed_at_its_offset() {
        // The graph has 2 bytes: a node that claims 9.
        assert_eq!(survey(&[0x3a, 2, 0x0a, 9, 0, 0]), Err(Fault::Malformed { offset: 2 }));
        assert_eq!(survey(b"{\"json\":1}"), Err(Fault::Malformed { offset: 0 }));
    }

    #[test]
    fn millions_of_empty_messages_are_refused_before_they_are_decoded() {
        let nodes = 8_000_000usize;
        let mut bytes = vec![0x3a];
        prost::encoding::encode_varint(2 * nodes as u64, &mut bytes);
        bytes.extend(std::iter::repeat_n([0x0a, 0], nodes).flatten());
        assert!(matches!(survey(&bytes), Err(Fault::TooLarge { .. })));
    }
}
