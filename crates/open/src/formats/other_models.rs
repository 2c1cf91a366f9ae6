//! Models of other kinds than ONNX, which are looked at beside profiles of them. `opscope-model` tells them and
//! reads them.

use opscope_model::ModelKind;

use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};
use crate::look::Look;

/// Compiled models of Ascend.
pub static OM: Format = Format {
    name: "an offline model of Ascend (.om)",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "ATC of CANN, seen in 8.0 and in those of phones (2020)",
        reads: "operators with shapes, formats, attributes, engines and the operators and passes that each was made \
                of; chip, versions, memory and the places in it, parts; plain weights where they lie",
        written_by: None,
        lacks: "tasks and kernels; weights in the device's order; encrypted models; those of boards (PICO)",
        tried: Tried::RealFiles,
    }),
    is: |look| is(look, ModelKind::Om),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// The same as ATC's JSON.
pub static OM_JSON: Format = Format {
    name: "an offline model of Ascend as ATC's JSON",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "atc --mode=1 of an .om, --mode=5 of a ge_proto_*.txt",
        reads: "as of the .om: operators with shapes, formats, attributes, engines and the operators and passes that \
                each was made of; chip, versions, memory",
        written_by: None,
        lacks: "data of weights; the JSON that --mode=1 makes of a model before its conversion",
        tried: Tried::PublicLayout,
    }),
    is: |look| is(look, ModelKind::OmJson),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// Graphs that Ascend's compiler dumped.
pub static GE_PROTO: Format = Format {
    name: "a dumped graph of Ascend (ge_proto_*.txt)",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "DUMP_GE_GRAPH of CANN, a file for each pass of the compiler",
        reads: "as of the .om; pass, number and graph by the file's name; data of small constants",
        written_by: None,
        lacks: "data of weights; attributes that are functions or graphs",
        tried: Tried::RealFiles,
    }),
    is: |look| is(look, ModelKind::GeProto),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// The same in messages like those of ONNX.
pub static GE_ONNX: Format = Format {
    name: "a dumped graph of Ascend (ge_onnx_*.pbtxt)",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "DUMP_GE_GRAPH of CANN, a file for each pass of the compiler",
        reads: "as of the .om; pass, number and graph by the file's name; with DUMP_GE_GRAPH=1 also texts, such as \
                the operators that each was made of",
        written_by: None,
        lacks: "data of weights; which operator runs a graph within: those stand beside the first",
        tried: Tried::PublicLayout,
    }),
    is: |look| is(look, ModelKind::GeOnnx),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// Networks of Caffe.
pub static CAFFE: Format = Format {
    name: "a network of Caffe (.prototxt, .caffemodel)",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "Caffe, of the two forms since 2013 (layers with types in capitals, layer)",
        reads: "layers with shapes and costs, those that ONNX has as its operators; weights of a .caffemodel of the \
                same name; the layers of such a file alone",
        written_by: None,
        lacks: "layers of training; sizes behind layers that Caffe itself doesn't have; of a .caffemodel alone sizes \
                where it was trained on a data base, and parameters of layers that Caffe itself doesn't have",
        tried: Tried::RealFiles,
    }),
    is: |look| is(look, ModelKind::Caffe),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// Models of TensorFlow Lite.
pub static TFLITE: Format = Format {
    name: "a model of TensorFlow Lite (.tflite)",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "TensorFlow Lite and LiteRT, since 2017 (schema 3)",
        reads: "operators with shapes, types and costs, those that ONNX has as its operators, with images in ONNX's \
                order; quantized tensors in their types; description, runtime, signatures; weights that keep their order",
        written_by: None,
        lacks: "all subgraphs but the first; options of operators that ONNX lacks; data of filters, whose order changes",
        tried: Tried::RealFiles,
    }),
    is: |look| is(look, ModelKind::TfLite),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// Models of OpenVINO.
pub static OPENVINO: Format = Format {
    name: "a model of OpenVINO (.xml)",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "OpenVINO 2020.1 to 2026 (versions 10 and 11 of its format)",
        reads: "layers with types, shapes and costs, those that ONNX has as its operators; the layers that each was \
                made of; graphs of loops and conditions; constants of a .bin of the same name where they lie",
        written_by: None,
        lacks: "versions up to 7; costs of layers that ONNX lacks, but for the usual ones",
        tried: Tried::RealFiles,
    }),
    is: |look| is(look, ModelKind::OpenVino),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// Frozen graphs of TensorFlow.
pub static TENSORFLOW: Format = Format {
    name: "a frozen graph of TensorFlow (.pb)",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "TensorFlow 1 and 2: freeze_graph, convert_variables_to_constants, tf2onnx",
        reads: "operators with shapes and costs, those that ONNX has as its operators; images in ONNX's order, with \
                a transposition where the file's is needed; constants where they lie",
        written_by: None,
        lacks: "functions, loops and queues; sizes behind some operators that ONNX has no like of",
        tried: Tried::RealFiles,
    }),
    is: |look| is(look, ModelKind::TensorFlow),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// Models of MegEngine.
pub static MEGENGINE: Format = Format {
    name: "a model of MegEngine (.mge)",
    about: Some(&About {
        kind: FormatKind::Model,
        from: "MegEngine (.mge, .mdl): the forms mgb1 and mgv2 as 1.13 writes both, with inputs to try (mgbtest0) or \
               without; those of MegBrain 8 by their layout",
        reads: "operators with their types, names, devices and values; inputs; weights where they lie; sizes of \
                values, which the newer form has",
        written_by: None,
        lacks: "parameters of operators, and so costs; edges behind operators of the older form whose type doesn't \
                tell how many values they make, such as loops; files that Lite packed",
        tried: Tried::RealFiles,
    }),
    is: |look| is(look, ModelKind::MegEngine),
    reader: Reader::None("; give it beside a profile with --model"),
};

/// The formats, one for each kind.
pub static ALL: [&Format; 9] =
    [&OM, &OM_JSON, &GE_PROTO, &GE_ONNX, &CAFFE, &TENSORFLOW, &TFLITE, &OPENVINO, &MEGENGINE];

fn is(look: &Look, kind: ModelKind) -> bool {
    !look.is_folder && ModelKind::of(&look.bytes) == Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_model_has_a_format_of_its_name() {
        let names: Vec<&str> = ALL.iter().map(|format| format.name).collect();
        let kinds: Vec<&str> =
            ModelKind::ALL.iter().filter(|kind| **kind != ModelKind::Onnx).map(|kind| kind.name()).collect();
        assert_eq!(names, kinds);
        let is_listed = |format: &&Format| super::super::ALL.iter().any(|listed| listed.name == format.name);
        assert!(ALL.iter().all(is_listed), "one is not looked for");
    }
}
