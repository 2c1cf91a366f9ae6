//! Models of other formats than ONNX, a folder or file each: read into the one graph that everything else knows.
//!
//! An operator whose meaning is the same as that of one of ONNX's becomes that one. All others keep their own name
//! and get the format's domain, so that nobody takes them for what they aren't; shapes that the file states are
//! declared with their values. Parts that can't be read are left out and told as losses.

pub(crate) mod assembly;
pub(crate) mod caffe;
mod circles;
pub(crate) mod flatbuffer;
pub(crate) mod json;
pub(crate) mod megengine;
pub(crate) mod om;
pub(crate) mod openvino;
pub(crate) mod protobuf;
pub(crate) mod schema;
pub(crate) mod tensorflow;
pub(crate) mod text;
pub(crate) mod tflite;

use std::path::Path;

use bytes::Bytes;

use crate::model_kind::ModelKind;
use crate::provenance::ReadModel;

/// Why a file of another format can't be read at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum FormatError {
    #[error("{text}, at offset {offset}")]
    At { offset: usize, text: String },
    #[error("{text}, in line {line}")]
    Line { line: usize, text: String },
    #[error("{0}")]
    Whole(String),
    /// The file may be whole, but is of a version that isn't read.
    #[error("{0}")]
    Version(String),
}

impl FormatError {
    pub(crate) fn at(offset: usize, text: impl Into<String>) -> Self {
        Self::At { offset, text: text.into() }
    }
}

/// The lines of a text without the blanks around them; `None` for what is no text.
fn text_lines(head: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let valid = match str::from_utf8(head) {
        Ok(text) => text,
        // A comment may be in another encoding, and the head may end within a letter.
        Err(error) => str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let is_text = !head.contains(&0) && !valid.is_empty();
    is_text.then(|| valid.lines().map(|line| line.trim_start_matches('\u{feff}').trim()))
}

/// Reads a model that isn't ONNX; `path` is where it lies, if it is a file.
pub(crate) fn read(kind: ModelKind, bytes: &Bytes, path: Option<&Path>) -> Result<ReadModel, FormatError> {
    match kind {
        ModelKind::Onnx => Err(FormatError::Whole("it is ONNX".to_owned())),
        ModelKind::Om => om::read(bytes),
        ModelKind::OmJson | ModelKind::GeProto | ModelKind::GeOnnx => om::dump::read(kind, bytes, path),
        ModelKind::Caffe => caffe::read(bytes, path),
        ModelKind::TfLite => tflite::read(bytes),
        ModelKind::OpenVino => openvino::read(bytes, path),
        ModelKind::TensorFlow => tensorflow::read(bytes),
        ModelKind::MegEngine => megengine::read(bytes),
    }
}
