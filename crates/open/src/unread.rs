//! Files that no format reads and whose kind is known all the same, by how they begin: what they are, and what to give in
//! their place.

/// The begins of files, as the documentation of their kinds has them, and the kinds.
const BEGINS: [(&[u8], &str); 14] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with Zstandard"),
    (b"\xfd7zXZ\0", "a file compressed with xz"),
    (b"BZh", "a file compressed with bzip2"),
    (b"\x7fELF", "a program or library"),
    (b"\x89PNG", "an image"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "a Git LFS pointer (fetch the file itself with 'git lfs pull')"),
    // A `SavedModel` begins with its schema's version, which is 1, and with its first `MetaGraphDef`.
    (b"\x08\x01\x12", SAVED_MODEL),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file, perhaps a model of Keras (convert it with tf2onnx, or save it as a frozen graph)",
    ),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"GGUF", "a GGUF file, which holds weights but no graph"),
    (b"\x80\x02", PICKLE),
    (b"<", "XML or a web page"),
];

/// The description of TensorFlow's models with variables.
const SAVED_MODEL: &str = "a SavedModel of TensorFlow (freeze it into a graph, or convert it with 'python3 -m \
                           tf2onnx.convert --saved-model FOLDER --output model.onnx')";

/// The description of Python's objects, which PyTorch keeps its checkpoints in.
const PICKLE: &str =
    "a Python pickle, perhaps a checkpoint of PyTorch (export the model with 'torch.onnx.export')";

/// The name of the file in a folder that is a `SavedModel`.
const OF_SAVED_MODEL: &str = "saved_model.pb";

/// A description of a file that begins so; `None` where the kind isn't known.
pub(crate) fn file(bytes: &[u8]) -> Option<&'static str> {
    let known = BEGINS.into_iter().find(|(begin, _)| bytes.starts_with(begin)).map(|(_, kind)| kind);
    known.or_else(|| {
        is_graph_text(bytes).then_some(
            "a graph of TensorFlow as text (write it with 'as_text=False'; opscope reads the binary .pb of a frozen \
             graph)",
        )
    })
}

/// A description of a folder with files of these names; `None` where the kind isn't known.
pub(crate) fn folder<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<&'static str> {
    names.any(|name| name == OF_SAVED_MODEL).then_some(SAVED_MODEL)
}

/// Whether a `GraphDef` begins here as text: nodes whose operation is called `op`, which is `op_type` in ONNX and `type` in
/// Caffe.
fn is_graph_text(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let rest = text.trim_start_matches('\u{feff}').trim_start();
    let has_nodes = ["node {", "node{"].iter().any(|node| rest.starts_with(node));
    has_nodes && rest.lines().any(|line| line.trim_start().starts_with("op: \""))
}
