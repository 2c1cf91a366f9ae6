//! Profiles of TensorFlow Lite's `benchmark_model`, as text, CSV and message.

use opscope_formats::tflite::{looks_like_message, looks_like_text, read_message, read_text};

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};

/// The format of text and CSV.
pub static TEXT: Format = Format {
    name: "a profile of TensorFlow Lite",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "benchmark_model --enable_op_profiling=true (TensorFlow Lite 1.x to 2.x, LiteRT), as text or CSV",
        reads: "each operator's mean time, calls and memory in the order of the run; the steps of the preparation as \
                calls; the mean inference",
        written_by: None,
        lacks: "when an operator ran and how its times varied: no timeline is drawn; shapes",
        tried: Tried::Excerpts,
    }),
    is: |look| looks_like_text(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        read_text(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};

/// The format of messages.
pub static MESSAGE: Format = Format {
    name: "a profile of TensorFlow Lite as a protocol buffer",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "benchmark_model --op_profiling_output_mode=proto (TensorFlow Lite since 2.17, LiteRT)",
        reads: "the same as of the text, with exact means",
        written_by: None,
        lacks: "the same as of the text; operators within delegates, which are parts of their calls",
        tried: Tried::PublicLayout,
    }),
    is: |look| looks_like_message(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        read_message(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};
