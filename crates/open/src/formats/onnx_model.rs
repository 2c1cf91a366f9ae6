//! ONNX models, which profiles are made of. They are known by the outline of their first message.

use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format.
pub static FORMAT: Format = Format {
    name: "an ONNX model",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "any exporter of ONNX, with operators up to version 28",
        reads: "the graph with functions and branches, shapes, weights where they lie, what each node computes and moves",
        written_by: Some("opscope rewrite, opscope tune, opscope sample"),
        lacks: "training; sequences and maps as inputs",
        tried: Tried::RealFiles,
    }),
    is: |look| is_onnx_model(&look.bytes),
    reader: Reader::None("; 'opscope run' makes one of it"),
};

/// The fields of `ModelProto` and how each is encoded, from the public `onnx.proto`: 0 is a number,
/// 2 a length and as many bytes.
const FIELDS: [(u64, u64); 11] =
    [(1, 0), (2, 2), (3, 2), (4, 2), (5, 0), (6, 2), (7, 2), (8, 2), (14, 2), (20, 2), (25, 2)];
const IR_VERSION: u64 = 1;
const GRAPH: u64 = 7;
const OPSET_IMPORT: u64 = 8;

/// Whether `head` begins a message with fields of `ModelProto` only, among them the version of the
/// format and a graph or a set of operators.
///
/// ONNX files have no signature. `head` may end anywhere inside a field.
fn is_onnx_model(head: &[u8]) -> bool {
    let mut rest = head;
    let (mut has_version, mut has_content) = (false, false);
    while !rest.is_empty() {
        let Some(tag) = varint(&mut rest) else { return false };
        let (field, encoding) = (tag >> 3, tag & 7);
        if !FIELDS.contains(&(field, encoding)) {
            return false;
        }
        let Some(value) = varint(&mut rest) else { return has_version && has_content };
        has_version |= field == IR_VERSION && (1..1000).contains(&value);
        has_content |= field == GRAPH || field == OPSET_IMPORT;
        if encoding == 2 {
            rest = usize::try_from(value).ok().and_then(|length| rest.get(length..)).unwrap_or_default();
        }
    }
    has_version && has_content
}

/// A number in groups of seven bits, the lowest first.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_model_is_known_even_when_its_graph_is_cut_off() {
        // ir_version 8, producer "opscope", a graph of 300 bytes.
        let mut model = b"\x08\x08\x12\x07opscope\x3a\xac\x02".to_vec();
        model.extend([b'x'; 300]);
        assert!(is_onnx_model(&model));
        assert!(is_onnx_model(&model[..40]));
        assert!(!is_onnx_model(&model[..10]), "without a graph nothing is sure");
        assert!(!is_onnx_model(b""));
        assert!(!is_onnx_model(b"[{\"cat\": \"Node\"}]"));
        assert!(!is_onnx_model(&[8, 8, 0x3b, 1]), "3 is no encoding of ONNX");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            is_onnx_model(&bytes);
        }
    }
}
