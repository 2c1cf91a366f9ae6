//! The formats, a module each with its `FORMAT`.

pub mod ascend_communication;
pub mod ascend_database;
pub mod ascend_operators;
pub mod ascend_outputs;
pub mod ascend_ranks;
pub mod ascend_raw;
pub mod ascend_serving;
pub mod ascend_table;
pub(crate) mod beside;
pub mod board;
pub mod chrome;
pub mod megengine;
pub mod nsight_compute;
pub mod nsight_systems;
pub mod onnx_model;
pub mod onnxruntime;
pub mod openvino;
pub mod opscope_database;
pub mod other_database;
pub mod other_models;
pub mod perf;
pub mod perfetto;
pub mod phone;
pub mod pytorch_table;
pub mod rocm;
pub mod tensorrt;
pub mod tflite;
pub mod xplane;

use crate::format::Format;

/// All formats. The first that knows a path has it.
pub static ALL: [&Format; 52] = [
    &ascend_operators::FORMAT,
    &board::FORMAT,
    &ascend_outputs::FORMAT,
    &ascend_raw::FORMAT,
    &board::BELOW,
    &ascend_operators::BELOW,
    &other_models::OM,
    &other_models::OM_JSON,
    &other_models::GE_PROTO,
    &other_models::GE_ONNX,
    &other_models::CAFFE,
    &other_models::TFLITE,
    &other_models::OPENVINO,
    &other_models::TENSORFLOW,
    &other_models::MEGENGINE,
    &other_database::CUT_OFF,
    &ascend_ranks::FORMAT,
    &opscope_database::FORMAT,
    &ascend_database::FORMAT,
    &nsight_systems::FORMAT,
    &other_database::FORMAT,
    &nsight_systems::LINES,
    &rocm::JSON,
    &onnxruntime::FORMAT,
    &tensorrt::PROFILE,
    &tensorrt::TIMES,
    &tensorrt::LAYERS,
    &openvino::COUNTERS,
    &openvino::GRAPH,
    &megengine::FORMAT,
    &ascend_communication::FORMAT,
    &chrome::FORMAT,
    &xplane::FORMAT,
    &xplane::FOLDER,
    &perfetto::FORMAT,
    &nsight_compute::FORMAT,
    &rocm::FORMAT,
    &rocm::FOLDER,
    &ascend_serving::FORMAT,
    &ascend_table::FORMAT,
    &tflite::TEXT,
    &pytorch_table::FORMAT,
    &phone::LAYERS,
    &phone::NODES,
    &phone::NETWORKS,
    &onnx_model::FORMAT,
    &perf::FORMAT,
    &perf::FOLDED,
    &tflite::MESSAGE,
    &ascend_serving::FOLDER,
    &tensorrt::FOLDER,
    &openvino::FOLDER,
];
