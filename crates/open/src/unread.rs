//! Files that no format reads and whose kind is known all the same, by how they begin: what they are, and what to give in
//! their place.

/// The begins of files, as the documentation of their kinds has them, and the kinds.
const BEGINS: [(&[u8], &str); 17] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with Zstandard"),
    (b"\xfd7zXZ\0", "a file compressed with xz"),
    (b"BZh", "a file compressed with bzip2"),
    (b"\x7fELF", "a program or library"),
    (b"\x89PNG", "an image"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "a Git LFS pointer (fetch the file itself with 'git lfs pull')"),
    (b"saved_model_schema_version:", SAVED_MODEL),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file, perhaps a model of Keras (convert it with tf2onnx, or save it as a frozen graph)",
    ),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"GGUF", "a GGUF file, which holds weights but no graph"),
    (b"\x80\x02", PICKLE),
    (b"\x80\x03", PICKLE),
    (b"\x80\x04\x95", PICKLE),
    (b"\x80\x05\x95", PICKLE),
    (b"<", "XML or a web page"),
];

/// The description of TensorFlow's models with variables.
const SAVED_MODEL: &str = "a SavedModel of TensorFlow (freeze it into a graph, or convert it with 'python3 -m \
                           tf2onnx.convert --saved-model FOLDER --output model.onnx')";

/// The description of Python's objects, which PyTorch keeps its checkpoints in.
const PICKLE: &str =
    "a Python pickle, perhaps a checkpoint of PyTorch (export the model with 'torch.onnx.export')";

/// The names of the file in a folder that is a `SavedModel`.
const OF_SAVED_MODEL: [&str; 2] = ["saved_model.pb", "saved_model.pbtxt"];

/// A description of a file that begins so; `None` where the kind isn't known.
pub(crate) fn file(bytes: &[u8]) -> Option<&'static str> {
    const GRAPH_TEXT: &str = "a graph of TensorFlow as text (write it with 'as_text=False'; opscope reads the binary .pb of a \
                              frozen graph)";
    match BEGINS.into_iter().find(|(begin, _)| bytes.starts_with(begin)) {
        Some((_, kind)) => Some(kind),
        None if is_saved_model(bytes) => Some(SAVED_MODEL),
        None => is_graph_text(bytes).then_some(GRAPH_TEXT),
    }
}

/// A description of a folder with files of these names; `None` where the kind isn't known.
pub(crate) fn folder<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<&'static str> {
    names.any(|name| OF_SAVED_MODEL.contains(&name)).then_some(SAVED_MODEL)
}

/// Whether a `SavedModel` begins here: with its schema's version, which is 1, and `MetaGraphDef`s alone. A model of Core ML,
/// whose first two fields are alike, has another field behind its description.
fn is_saved_model(bytes: &[u8]) -> bool {
    /// The tag of a `MetaGraphDef`.
    const META_GRAPH: u8 = 0x12;
    let Some(rest) = bytes.strip_prefix(&[0x08, 0x01, META_GRAPH]) else { return false };
    let mut length: usize = 0;
    for (place, byte) in rest.iter().take(5).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return rest.get(place + 1 + length).is_none_or(|tag| *tag == META_GRAPH);
        }
    }
    false
}

/// Whether a `GraphDef` begins here as text: nodes whose operation is called `op`, which is `op_type` in ONNX and `type` in
/// Caffe.
fn is_graph_text(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let rest = text.trim_start_matches('\u{feff}').trim_start();
    let has_nodes = ["node {", "node{"].iter().any(|node| rest.starts_with(node));
    has_nodes && rest.lines().any(|line| line.trim_start().starts_with("op: \""))
}
