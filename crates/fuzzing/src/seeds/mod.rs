//! Inputs to begin with, all of them made by opscope itself. Those that lie in `fuzz/seeds` were written by
//! [`write`]; those in `fuzz/seeds/models`, but for the first two, by the tests of the rewrites
//! (`OPSCOPE_KEEP_MODELS`).

use std::path::{Path, PathBuf};

use opscope_cann::write_sample;
use opscope_formats::megengine;
use opscope_testing::{caffe_file, ge_dump, megengine_file, om_file, tensorflow, tflite_file};

use self::corpus::{copy_as, files, save};
use self::profiles::{board, exports, further_files, recorded, samples, serving, space};
use self::ranks::ranks;
use self::texts::{
    CAFFE, CONVERT, EVENTS, FUSION_RESULT, KERNELS, KNOWN_HOSTS, LAYERS, OPENVINO_NETWORK, OPERATORS, ROCM,
    ROCM_JSON, RULES, SAMPLES, SESSION, WORDS,
};
use self::tools::tool_folders;
use crate::engines::{MESSAGE, OPENVINO, PHONE, PYTORCH, TENSORRT, TFLITE};
use crate::packing::{ADVISED, ENGINE, OPENVINO_MODEL, PAIR, PROFILE, PROGRAM, Packed, pack};

mod corpus;
mod databases;
mod models;
mod profiles;
mod ranks;
mod texts;
mod tools;

pub use self::databases::databases;
pub use self::models::{chain, scalars};
pub use self::ranks::{rank_databases, rank_timelines};
pub use self::texts::TIMELINE;

/// The sources of inputs that aren't opscope's own, for longer runs; they stay outside of the repository.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// A folder of recorded profiles.
    pub golden: Option<PathBuf>,
    /// The test data of the Python package onnx (`onnx/backend/test/data`), which has a model for each operator.
    pub onnx_data: Option<PathBuf>,
}

/// Writes inputs to begin with: a folder for each target, and `models` for those that take a model.
///
/// # Panics
/// If they can't be made or written.
pub fn write(corpus: &Path, sources: &Sources) {
    let work = tempfile::tempdir().expect("a temporary directory");
    for (number, options) in samples().into_iter().enumerate() {
        let profile = write_sample(&work.path().join(number.to_string()), options).expect("space on disk");
        further_files(&profile, options);
        save(corpus, "cann", &format!("sample_{number}"), &pack(&profile, PROFILE, (number % 8) as u8));
        if number < 2 {
            exports(corpus, &profile, &work.path().join(format!("out_{number}")), number);
        }
    }
    texts(corpus);
    packed(corpus);
    engines(corpus);
    serving(corpus);
    tool_folders(corpus);
    board(corpus, work.path());
    ranks(corpus, work.path());
    save(corpus, "models", "chain", &chain());
    save(corpus, "models", "scalars", &scalars());
    save(corpus, "npy", "two_by_three", &array());
    save(corpus, "caffe", "network", CAFFE.as_bytes());
    let mut openvino = Packed::default();
    openvino.add(OPENVINO_MODEL, "model.xml", OPENVINO_NETWORK.as_bytes());
    // The constants: two sizes, an axis, and a filter.
    openvino.add(
        OPENVINO_MODEL,
        "model.bin",
        &[[0i64, -1, 1].map(i64::to_le_bytes).concat(), vec![0; 864]].concat(),
    );
    save(corpus, "openvino_model", "network", &openvino.to_input());
    save(corpus, "tensorflow", "small", &tensorflow::small());
    save(corpus, "om", "old", &om_file::small(om_file::Form::Old));
    save(corpus, "om", "new", &om_file::small(om_file::Form::New));
    let graphs = [("made", om_file::small_graph())];
    save(corpus, "ge_dump", "proto", ge_dump::proto(&graphs).as_bytes());
    save(corpus, "ge_dump", "json", ge_dump::json(&graphs).as_bytes());
    save(corpus, "ge_dump", "onnx", ge_dump::onnx(&graphs, ge_dump::Level::All).as_bytes());
    for (name, form) in [("first", megengine_file::Form::First), ("second", megengine_file::Form::Second)] {
        save(corpus, "megengine_model", name, &megengine_file::small(form));
    }
    save(corpus, "caffemodel", "small", &caffe_file::small());
    save(corpus, "caffemodel", "old", &caffe_file::old());
    save(corpus, "tflite_model", "network", &tflite_file::small());
    if let Some(golden) = &sources.golden {
        recorded(corpus, golden);
    }
    for path in sources.onnx_data.iter().flat_map(|data| files(data)) {
        let is_small = path.metadata().is_ok_and(|found| found.len() < 8_192);
        if is_small && path.file_name().is_some_and(|name| name == "model.onnx") {
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
            copy_as(corpus, "models", &path, &folder.to_string_lossy());
        }
    }
}

fn texts(corpus: &Path) {
    let lanes = br#"{"json_process": {"ascend": true, "cann": false, "step_trace": true}}"#;
    save(corpus, "lane_choice", "three", lanes);
    save(corpus, "rules", "two", RULES.as_bytes());
    save(corpus, "known_hosts", "laboratory", KNOWN_HOSTS.as_bytes());
    save(corpus, "words", "each", WORDS.as_bytes());
    for target in ["chrome", "json", "any_file"] {
        save(corpus, target, "timeline", TIMELINE.as_bytes());
    }
    let timeline = opscope_formats::chrome::read(TIMELINE.as_bytes()).expect("a timeline");
    let mut packets = Vec::new();
    opscope_formats::perfetto::write(&timeline, &mut packets).expect("memory");
    for target in ["perfetto", "any_file"] {
        save(corpus, target, "packets", &packets);
    }
    for (name, table) in ROCM {
        save(corpus, "rocm", name, table.as_bytes());
    }
    save(corpus, "any_file", "rocm_kernels", ROCM[0].1.as_bytes());
    save(corpus, "rocm", "json", ROCM_JSON.as_bytes());
    save(corpus, "nsight_compute", "raw", KERNELS.as_bytes());
    save(corpus, "nsight_lines", "events", EVENTS.as_bytes());
    save(corpus, "perf", "samples", SAMPLES.as_bytes());
    save(corpus, "perf", "folded", b"main;run;gemm 25\nmain;run 5\n");
    for target in ["xplane", "any_file"] {
        save(corpus, target, "space", &space());
    }
    for target in ["onnxruntime", "any_file"] {
        save(corpus, target, "session", SESSION.as_bytes());
    }
    save(corpus, "svp", "layers", format!("\0{LAYERS}").as_bytes());
    let session = opscope_formats::onnxruntime::Profile::parse(SESSION.as_bytes(), Path::new("session.json"));
    let trace = session.expect("a session").to_trace();
    let mut profile = Vec::new();
    megengine::Profile::from_trace(&trace, megengine::Recorded::DeviceAndHost)
        .write_json(&mut profile)
        .expect("memory");
    save(corpus, "megengine", "session", &profile);
    save(corpus, "megengine_analyze", "session", &[&[0], &*profile].concat());
}

/// Profiles of engines, which tell no starts, for their readers (whose numbers are those of the target) and for their folders.
fn engines(corpus: &Path) {
    let texts: [(u8, &str, &[u8]); 12] = [
        (0, "tensorrt", TENSORRT[0].as_bytes()),
        (11, "tensorrt_layers", TENSORRT[1].as_bytes()),
        (1, "tensorrt_times", TENSORRT[2].as_bytes()),
        (2, "openvino_table", OPENVINO[0].as_bytes()),
        (3, "openvino_json", OPENVINO[1].as_bytes()),
        (4, "openvino_graph", OPENVINO[2].as_bytes()),
        (5, "tflite", TFLITE[0].as_bytes()),
        (5, "tflite_csv", TFLITE[1].as_bytes()),
        (6, "tflite_message", MESSAGE),
        (7, "ncnn", PHONE[0].as_bytes()),
        (8, "networks", PHONE[1].as_bytes()),
        (9, "mnn", PHONE[2].as_bytes()),
    ];
    for (number, name, text) in texts.into_iter().chain([(10, "pytorch", PYTORCH.as_bytes())]) {
        save(corpus, "engines", name, &[&[number], text].concat());
        save(corpus, "any_file", name, text);
    }
    let mut tensorrt = Packed::default();
    for (name, text) in ["profile.json", "layers.json", "times.json"].into_iter().zip(TENSORRT) {
        tensorrt.add(ENGINE, name, text.as_bytes());
    }
    save(corpus, "engine_folder", "tensorrt", &tensorrt.to_input());
    let mut openvino = Packed::default();
    for (name, text) in ["counters.csv", "counters.json", "graph.xml"].into_iter().zip(OPENVINO) {
        openvino.add(ENGINE, name, text.as_bytes());
    }
    save(corpus, "engine_folder", "openvino", &openvino.to_input());
}

/// Inputs of what reads several files.
fn packed(corpus: &Path) {
    let slower = TIMELINE.replace("\"dur\": 33", "\"dur\": 47").replace("relu_kernel", "gelu_kernel");
    let mut pair = Packed::default();
    pair.add(PAIR, "a/profile.json", TIMELINE.as_bytes());
    pair.add(PAIR, "b/profile.json", slower.as_bytes());
    save(corpus, "compare", "timelines", &pair.to_input());
    let mut pair = Packed::default();
    pair.add(PAIR, "a/profile.json", SESSION.as_bytes());
    pair.add(PAIR, "b/profile.json", SESSION.replace("\"dur\": 3,", "\"dur\": 9,").as_bytes());
    save(corpus, "compare", "sessions", &pair.to_input());
    let mut pair = Packed::default();
    pair.add(PAIR, "a/op_summary_0.net.1.1.1.1.0.1000.csv", LAYERS.as_bytes());
    pair.add(PAIR, "b/op_summary_0.net.1.1.1.1.0.1000.csv", LAYERS.replace("79.5", "179.5").as_bytes());
    save(corpus, "compare", "layers", &pair.to_input());

    let mut advised = Packed { flags: 0xFF, ..Packed::default() };
    advised.add(ADVISED, "profile.json", SESSION.as_bytes());
    advised.add(ADVISED, "model.onnx", &chain());
    advised.add(ADVISED, "opscope.toml", RULES.as_bytes());
    save(corpus, "advise", "session", &advised.to_input());
    let mut advised = Packed { flags: 3, ..Packed::default() };
    advised.add(ADVISED, "model.onnx", &chain());
    advised.add(ADVISED, "convert.sh", CONVERT.as_bytes());
    advised.add(ADVISED, "fusion_switch.cfg", b"ConvRelu:on\nConvPool:off\n");
    advised.add(ADVISED, "fusion_result.json", FUSION_RESULT.as_bytes());
    save(corpus, "advise", "conversion", &advised.to_input());
    let mut advised = Packed { flags: 0xFF, ..Packed::default() };
    advised.add(ADVISED, "op_summary_20251009085320.csv", OPERATORS.as_bytes());
    save(corpus, "advise", "operators", &advised.to_input());

    let mut program = Packed::default();
    program.add(PROGRAM, "a.json", TIMELINE.as_bytes());
    program.add(PROGRAM, "b.json", slower.as_bytes());
    program.add(PROGRAM, "opscope.toml", RULES.as_bytes());
    program.add(PROGRAM, "JOBA/summary/op_summary_0.net.1.1.1.1.0.1000.csv", LAYERS.as_bytes());
    save(corpus, "program", "profiles", &program.to_input());
    let mut program = Packed::default();
    program.add(PROGRAM, "a.json", SESSION.as_bytes());
    program.add(PROGRAM, "model.onnx", &chain());
    program.add(PROGRAM, "input.npy", &array());
    program.add(PROGRAM, "convert.sh", CONVERT.as_bytes());
    program.add(PROGRAM, "fusion_result.json", FUSION_RESULT.as_bytes());
    program.add(PROGRAM, "words", b"--dim\nn=2\n");
    save(corpus, "program", "model", &program.to_input());
}

/// An array of 2 x 3 numbers in NumPy's format.
fn array() -> Vec<u8> {
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
    npy.resize(127, b' ');
    npy.push(b'\n');
    npy.resize(128 + 24, 1);
    npy
}
