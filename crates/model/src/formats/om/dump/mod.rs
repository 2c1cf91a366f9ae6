//! Graphs of Ascend's compiler as texts: the ones that it dumps behind each of its passes (`DUMP_GE_GRAPH`), and
//! the JSON that ATC makes of an offline model (`--mode=1`) or of a dump (`--mode=5`).
//!
//! | file | content |
//! |---|---|
//! | `ge_proto_*.txt` | the text of the message that an offline model has, [`ModelDef`](schema::MODEL) |
//! | `ge_onnx_*.pbtxt` | the text of messages like those of ONNX, see [`onnx`] |
//! | `*.json` | the JSON of the first, without data and sizes of tensors |
//!
//! Each becomes that message as it stands on the wire, and is read from there as an offline model is.

mod file_name;
mod onnx;
mod schema;

use std::path::Path;

use bytes::Bytes;

use super::super::protobuf::Message;
use super::super::schema::Writer;
use super::super::{FormatError, json, text, text_lines};
use super::graph::Written;
use crate::model_kind::ModelKind;
use crate::provenance::{Provenance, ReadModel};

/// Whether a text is the one of `ModelDef`: a graph with operators.
pub(crate) fn is_proto(head: &[u8]) -> bool {
    let begins = |line: &str| {
        ["name:", "version:", "custom_version:", "graph {", "attr {"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    lines(head, begins, |line| line == "op {")
}

/// Whether a text is the one of GE's messages like those of ONNX: the types of its operators say so.
pub(crate) fn is_onnx(head: &[u8]) -> bool {
    let begins = |line: &str| {
        let fields = ["ir_version:", "producer_name:", "model_version:", "opset_import {", "graph {"];
        fields.iter().any(|start| line.starts_with(start))
    };
    lines(head, begins, |line| line.starts_with("op_type: \"ge:"))
}

/// Whether the first line of a text begins as its kind does, a line is that of a graph, and a later one tells it.
fn lines(head: &[u8], begins: impl Fn(&str) -> bool, tells: impl Fn(&str) -> bool) -> bool {
    text_lines(head).is_some_and(|lines| {
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
        lines.peek().is_some_and(|line| begins(line))
            && lines.any(|line| line == "graph {")
            && lines.any(tells)
    })
}

/// Whether a text is the JSON of `ModelDef`: its members are in the order of the alphabet, so that it begins with
/// the model's attributes, or with its graphs.
pub(crate) fn is_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut signs = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    let begins = |start: &[u8]| signs.clone().take(start.len()).eq(start.iter().copied());
    if begins(b"{\"attr\":[{\"key\":\"") {
        return true;
    }
    let is_model =
        [&b"{\"graph\":[{"[..], b"{\"name\":\"", b"{\"custom_version\":\""].into_iter().any(begins);
    let mut next = |words: &[u8]| {
        let mut place = 0;
        // No text of JSON begins where another ends, so that none is missed.
        signs.any(|sign| {
            place = if sign == words[place] { place + 1 } else { usize::from(sign == words[0]) };
            place == words.len()
        })
    };
    is_model && next(b"\"graph\":[{") && next(b"\"op\":[{\"")
}

/// Reads a graph of the kind.
///
/// # Errors
/// When the text can't be read from its beginning, or has no graph.
pub(crate) fn read(kind: ModelKind, bytes: &Bytes, path: Option<&Path>) -> Result<ReadModel, FormatError> {
    let mut writer = Writer::new(match kind {
        ModelKind::GeOnnx => &schema::ONNX_MODEL,
        _ => &schema::MODEL,
    });
    let stopped = match kind {
        ModelKind::OmJson => json::walk(bytes, &mut writer),
        _ => text::walk(&String::from_utf8_lossy(bytes), &mut writer),
    };
    let fault = stopped.err();
    let (message, odd) = writer.finish(fault.is_some());
    if let (true, Some(fault)) = (message.is_empty(), &fault) {
        return Err(fault.clone());
    }
    let mut losses = Vec::new();
    losses.extend(fault.map(|fault| format!("the text is damaged: {fault}; the operators before were read")));
    losses.extend(odd);
    let (message, written) = match kind {
        ModelKind::GeOnnx => (onnx::to_model(Message::new(&message, 0), &mut losses), Written::OnnxDump),
        ModelKind::GeProto => (message, Written::Dump),
        _ => (message, Written::Model),
    };
    let message = Bytes::from(message);
    let mut assembly = super::model(Message::new(&message, 0), &message, None, written).map_err(|error| {
        // Offsets in the message are none of the file.
        match error {
            FormatError::At { .. } => FormatError::Whole("the text has no graph".to_owned()),
            other => other,
        }
    })?;
    losses.append(&mut assembly.provenance.losses);
    assembly.provenance.losses = losses;
    if let Some(path) = path {
        state(path, &mut assembly.provenance);
    }
    let version = Message::new(&message, 0).field(2).map_or(0, |version| version.int());
    let (mut proto, provenance) = assembly.finish(&[(super::DOMAIN, version.max(1))]);
    proto.producer_name = Some(if kind == ModelKind::OmJson { "ATC" } else { "GE" }.to_owned());
    proto.producer_version = super::converter_version(Message::new(&message, 0));
    Ok(ReadModel { kind, proto, provenance })
}

/// Facts that the file's name tells, before those of the file.
fn state(path: &Path, provenance: &mut Provenance) {
    let Some(dump) = path.file_name().and_then(|name| name.to_str()).and_then(file_name::Dump::of) else {
        return;
    };
    let stated = std::mem::take(&mut provenance.stated);
    dump.state(provenance);
    provenance.stated.extend(stated);
}

#[cfg(test)]
mod tests;
