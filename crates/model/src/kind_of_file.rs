//! The likely kind of a file that is no ONNX model, by its first bytes.

/// Says what the bytes look like, as the end of a sentence, or `None` when nothing is recognised.
///
/// Signatures are those of the formats' own documentation.
pub(crate) fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    if bytes.is_empty() {
        return Some("the file is empty");
    }
    let starts = |prefix: &[u8]| bytes.starts_with(prefix);
    let at = |offset: usize, text: &[u8]| bytes.get(offset..).is_some_and(|rest| rest.starts_with(text));
    let known = [
        (
            starts(b"version https://git-lfs"),
            "it is a Git LFS pointer: fetch the file itself with `git lfs pull`",
        ),
        (starts(b"\x1f\x8b"), "it is compressed with gzip: unpack it first"),
        (starts(b"\xfd7zXZ\0"), "it is compressed with xz: unpack it first"),
        (starts(b"\x28\xb5\x2f\xfd"), "it is compressed with Zstandard: unpack it first"),
        (starts(b"BZh"), "it is compressed with bzip2: unpack it first"),
        (starts(b"7z\xbc\xaf"), "it is a 7z archive: unpack it first"),
        (
            starts(b"PK\x03\x04") || starts(b"PK\x05\x06"),
            "it is a zip archive: unpack it first, or, if it is a PyTorch checkpoint, export it with `torch.onnx.export`",
        ),
        (at(257, b"ustar"), "it is a tar archive: unpack it first"),
        (starts(b"\x89HDF\r\n\x1a\n"), "it is an HDF5 file, probably a Keras model: convert it with tf2onnx"),
        (
            at(4, b"TFL3"),
            "it is a TensorFlow Lite model: convert it with tf2onnx (--tflite) to run or rewrite it",
        ),
        (at(4, b"ORTM"), "it is in ONNX Runtime's own format: use the .onnx file that it was made from"),
        (starts(b"IMOD"), "it is an offline model for Ascend: use the .onnx file that it was converted from"),
        (
            starts(b"mgb") || starts(b"MGBS") || starts(b"MGBC"),
            "it is a MegEngine model: convert it with MgeConvert",
        ),
        (starts(b"GGUF"), "it is a GGUF file"),
        (starts(b"\x93NUMPY"), "it is a NumPy array"),
        (
            starts(b"\x80\x02") || starts(b"\x80\x04") || starts(b"\x80\x05"),
            "it is a Python pickle, perhaps an old PyTorch checkpoint: export it with `torch.onnx.export`",
        ),
        (starts(b"7767517"), "it is an ncnn parameter file"),
        (starts(b"\x7fELF"), "it is a program or library"),
        (at(8, b"{\"") && at(5, b"\0\0\0"), "it is a safetensors file, which holds weights but no graph"),
        (
            starts_with_text(bytes, b"<!doctype") || starts_with_text(bytes, b"<html"),
            "it is a web page, perhaps of a download that failed",
        ),
        (
            opscope_openvino_xml::is_executable_graph(bytes),
            "it is an executable graph of OpenVINO, which is a profile: give the .xml of the model itself",
        ),
        (
            starts_with_text(bytes, b"<?xml") || starts_with_text(bytes, b"<net"),
            "it is XML, and no model of OpenVINO, which is a <net> with <layers>",
        ),
        (starts_with_text(bytes, b"{") || starts_with_text(bytes, b"["), "it is JSON"),
        (is_text(bytes), "it is text, perhaps a Caffe prototxt or a text form of ONNX"),
        (starts(b"\x08\x01\x12"), "it may be a TensorFlow SavedModel: convert it with tf2onnx"),
        (starts(b"\x0a"), "it may be weights of Caffe: give the .prototxt that goes with them"),
    ];
    known.into_iter().find(|(matches, _)| *matches).map(|(_, text)| text)
}

/// Whether the first text that isn't blank is the given one; letter case doesn't matter.
fn starts_with_text(bytes: &[u8], text: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    bytes.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
}

fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(512)];
    start.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..))
        && start.iter().any(u8::is_ascii_alphabetic)
        && str::from_utf8(&start[..start.len().min(500)]).map_or_else(|e| e.error_len().is_none(), |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_often_taken_for_onnx_are_recognised() {
        let mut tflite = vec![0x1c, 0, 0, 0];
        tflite.extend(b"TFL3....");
        for (bytes, expected) in [
            (&b""[..], "empty"),
            (b"\x1f\x8b\x08\0\0", "gzip"),
            (b"PK\x03\x04....", "PyTorch"),
            (b"\x89HDF\r\n\x1a\n\0\0", "Keras"),
            (&tflite, "TensorFlow Lite"),
            (b"  \n{\"a\": 1}", "JSON"),
            (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
            (b"<!DOCTYPE html><html>", "web page"),
            (b"\x0a\x07AlexNet\xa2\x06\x20", "weights of Caffe"),
            (b"\x08\x01\x12\x40\x0a\x3e", "SavedModel"),
            (b"name: \"AlexNet\"\nlayer {\n", "prototxt"),
            (b"mgb0001", "MegEngine"),
            (b"<?xml version=\"1.0\"?>\n<project/>", "no model of OpenVINO"),
            (b"<net name=\"n\"><layers><layer><data execTimeMcs=\"1\"/>", "which is a profile"),
        ] {
            let text = looks_like(bytes).unwrap_or_default();
            assert!(text.contains(expected), "{bytes:?}: {text}");
        }
    }

    #[test]
    fn nothing_is_said_about_bytes_that_nobody_knows() {
        assert_eq!(looks_like(&[0xff, 0x00, 0x13, 0x37]), None);
        assert_eq!(looks_like(&[0x08, 0x07, 0x12, 0x07]), None);
    }
}
