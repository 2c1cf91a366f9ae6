//! Models of MegEngine (`.mge`, `.mdl`), of both forms: operators with their names, devices and values, and the tensors
//! that they store. Operators keep their types in the domain `megengine`.
//!
//! | form | written by | file |
//! |---|---|---|
//! | 1 | MegEngine up to 1.10, later with `dump_format="FBS"` | header, the bytes of all tensors, a FlatBuffer of `schema.fbs` |
//! | 2 | MegEngine since 1.11 | a FlatBuffer of `schema_v2.fbs`, tensors within |
//!
//! A file for `load_and_run` begins with `mgbtest0` and a number of inputs, and has those behind the model as models
//! of their own. The layouts are those of MegEngine's public schemas and of what writes them.

mod graph;
mod operator;
mod types;

use bytes::Bytes;

use super::FormatError;
use super::flatbuffer::File;
use crate::model_kind::ModelKind;
use crate::provenance::ReadModel;
use graph::Reader;

/// The domain of MegEngine's operators.
const DOMAIN: &str = "megengine";

/// Before a model that inputs to try follow, and their number in four bytes.
const WITH_INPUTS: &[u8] = b"mgbtest0";

/// The beginning of a file that MegEngine Lite packed.
const PACKED: &[u8] = b"packed_model";

/// The header of the first form: `MGBS` of MegBrain up to 8.14, or `MGBC`, which has 8 bytes more.
const FIRST: [&[u8]; 2] = [b"MGBS\0\0\0\0", b"MGBC\0\0\0\0"];

/// The schema's name in a FlatBuffer, behind its length and the offset of its root.
const SECOND: &[u8] = b"mgv2";

/// Whether a file is one, by its first bytes.
pub(crate) fn is_one(head: &[u8]) -> bool {
    let head = model(head).1;
    FIRST.iter().any(|magic| head.starts_with(magic)) || is_second(head) || head.starts_with(PACKED)
}

fn is_second(bytes: &[u8]) -> bool {
    bytes.get(8..).is_some_and(|rest| rest.starts_with(SECOND))
}

/// The inputs to try that a file has, and the model.
fn model(bytes: &[u8]) -> (Option<u32>, &[u8]) {
    let rest = bytes.strip_prefix(WITH_INPUTS).and_then(|rest| rest.split_first_chunk());
    rest.map_or((None, bytes), |(count, model)| (Some(u32::from_le_bytes(*count)), model))
}

/// Reads a model. Its weights stay where they are.
///
/// # Errors
/// When the file is cut off before its graph, or packed.
pub(crate) fn read(bytes: &Bytes) -> Result<ReadModel, FormatError> {
    let (inputs, model) = model(bytes);
    if model.starts_with(PACKED) {
        let text = "it is packed for MegEngine Lite; give the model that it was packed of";
        return Err(FormatError::at(0, text));
    }
    let start = bytes.len() - model.len();
    let Parts { graph: place, tensors } = if is_second(model) { Parts::default() } else { first(model) };
    let Some(buffer) = model.get(place..).filter(|buffer| !buffer.is_empty()) else {
        let text = "the file ends before its graph; copy it again";
        return Err(FormatError::at(bytes.len(), text));
    };
    // In front of it stands its length.
    let file = File::new(buffer.get(4..).unwrap_or_default());
    let root = file.root().ok_or_else(|| FormatError::at(start + place, "there is no graph here"))?;
    let mut reader = Reader::new(bytes, tensors);
    reader.model(&root)?;
    if let Some(count) = inputs {
        reader.inputs_to_try(count);
    }
    let (faults, first) = file.faults();
    if faults > 0 {
        let offset = start + place + 4 + first;
        reader.lost(format!(
            "{faults} of the offsets and lengths lead out of the file, the first at offset {offset}: it is cut off \
             or damaged"
        ));
    }
    Ok(reader.finish(ModelKind::MegEngine))
}

/// The parts of a file.
#[derive(Default)]
struct Parts<'b> {
    /// Where the graph begins, with its length.
    graph: usize,
    /// The data in front of it, which files of the first form have.
    tensors: Option<&'b [u8]>,
}

/// The parts of a file of the first form.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 4 | `MGBS` or `MGBC` |
/// | 4 | 8 | features, 0; in the latter only |
/// | 4 or 12 | 4 | 0 |
/// | 8 or 16 | 8 | length of all tensors, which follow; the graph lies behind them |
fn first(bytes: &[u8]) -> Parts<'_> {
    let header = if bytes.starts_with(FIRST[0]) { 16 } else { 24 };
    let length = bytes.get(header - 8..header).and_then(|eight| eight.first_chunk().copied());
    let length = length.and_then(|eight| usize::try_from(u64::from_le_bytes(eight)).ok());
    let graph = length.and_then(|length| header.checked_add(length)).unwrap_or(usize::MAX);
    Parts { graph, tensors: bytes.get(header..graph) }
}

#[cfg(test)]
mod tests;
