//! The kinds of model files, and how a file's content tells them.

use std::fmt;

use crate::formats;

/// The kind of a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelKind {
    /// An ONNX model, which engines can run and opscope can rewrite.
    Onnx,
    /// A compiled model of Ascend, the offline model (`.om`).
    Om,
    /// The same as the JSON that ATC makes of it.
    OmJson,
    /// A graph that Ascend's compiler dumped, in its own messages (`ge_proto_*.txt`).
    GeProto,
    /// A graph that Ascend's compiler dumped, in messages like those of ONNX (`ge_onnx_*.pbtxt`).
    GeOnnx,
    /// A network of Caffe (`.prototxt`, or `.caffemodel` alone).
    Caffe,
    /// A model of TensorFlow Lite (`.tflite`).
    TfLite,
    /// A model of OpenVINO, its intermediate representation (`.xml`).
    OpenVino,
    /// A frozen graph of TensorFlow (`.pb`).
    TensorFlow,
    /// A model of MegEngine (`.mge`).
    MegEngine,
}

impl ModelKind {
    /// How many bytes from the beginning of a file tell its kind.
    pub const HEAD: usize = 64 << 10;

    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Onnx,
        Self::Om,
        Self::OmJson,
        Self::GeProto,
        Self::GeOnnx,
        Self::Caffe,
        Self::TensorFlow,
        Self::TfLite,
        Self::OpenVino,
        Self::MegEngine,
    ];

    /// A noun phrase for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Onnx => "an ONNX model",
            Self::Om => "an offline model of Ascend (.om)",
            Self::OmJson => "an offline model of Ascend as ATC's JSON",
            Self::GeProto => "a dumped graph of Ascend (ge_proto_*.txt)",
            Self::GeOnnx => "a dumped graph of Ascend (ge_onnx_*.pbtxt)",
            Self::Caffe => "a network of Caffe (.prototxt, .caffemodel)",
            Self::TfLite => "a model of TensorFlow Lite (.tflite)",
            Self::OpenVino => "a model of OpenVINO (.xml)",
            Self::MegEngine => "a model of MegEngine (.mge)",
            Self::TensorFlow => "a frozen graph of TensorFlow (.pb)",
        }
    }

    /// The kind of a file by its beginning; `None` for ONNX, which has no signature, and for files that are no
    /// model of a kind that is read.
    pub fn of(head: &[u8]) -> Option<Self> {
        let found = [
            (formats::om::is_one as fn(&[u8]) -> bool, Self::Om),
            (formats::om::dump::is_json, Self::OmJson),
            (formats::om::dump::is_onnx, Self::GeOnnx),
            (formats::om::dump::is_proto, Self::GeProto),
            (formats::caffe::is_one, Self::Caffe),
            (formats::tflite::is_one, Self::TfLite),
            (formats::openvino::is_one, Self::OpenVino),
            (formats::megengine::is_one, Self::MegEngine),
            (formats::tensorflow::is_one, Self::TensorFlow),
        ];
        found.into_iter().find(|(is_one, _)| is_one(head)).map(|(_, kind)| kind)
    }

    /// Whether it is of Ascend's compiler, which has read and changed the model before.
    pub fn is_ascend(self) -> bool {
        matches!(self, Self::Om | Self::OmJson | Self::GeProto | Self::GeOnnx)
    }

    /// The way from a model of this kind to one that can be run and rewritten, as the end of a sentence.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Onnx => "",
            Self::GeProto | Self::GeOnnx => {
                "its operators are those of its chip: give the .onnx file that is converted"
            }
            Self::Om | Self::OmJson => {
                "it is compiled for its chip and nothing else: give the .onnx file that it was converted from"
            }
            Self::TensorFlow => "convert it with tf2onnx first, and give that file",
            Self::Caffe => "convert it to ONNX first, and give that file",
            Self::TfLite => "convert it to ONNX first (tf2onnx with --tflite), and give that file",
            Self::MegEngine => "convert it to ONNX first (mgeconvert), and give that file",
            Self::OpenVino => "give the model that it was converted from, as .onnx",
        }
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
