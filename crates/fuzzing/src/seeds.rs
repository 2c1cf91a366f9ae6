//! Writes inputs to begin with: `seeds CORPUS [GOLDEN]` makes a folder for each target in CORPUS,
//! with generated profiles and, of the folder GOLDEN, recorded ones. `OPSCOPE_ONNX_DATA` may name the
//! test data of the Python package onnx (`onnx/backend/test/data`), which has a model for each operator.

use std::path::{Path, PathBuf};

use opscope_cann::{
    Data, ExportOptions, Joined, SampleLayout, SampleMode, SampleOptions, discover, export_database,
    export_summary, export_timeline, to_trace, write_sample,
};
use opscope_cann_raw::Chip;
use opscope_fuzz::{BOARD, OUTPUTS, PROFILE, pack};
use opscope_model::proto::{
    GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto, encode,
};

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let corpus = arguments.next().expect("the folder for the inputs");
    let golden = arguments.next();
    let work = tempfile::tempdir().expect("a temporary directory");
    for (number, options) in samples().into_iter().enumerate() {
        let profile = write_sample(&work.path().join(number.to_string()), options).expect("space on disk");
        save(&corpus, "cann", &format!("sample_{number}"), &pack(&profile, PROFILE, (number % 8) as u8));
        if number < 4 {
            exports(&corpus, &profile, &work.path().join(format!("out_{number}")), number);
        }
    }
    if let Some(golden) = golden {
        for path in files(&golden.join("ascend")) {
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("info.json")) {
                if let Some(root) = path.parent().and_then(Path::parent) {
                    let name = root.to_string_lossy().replace(['/', '\\'], "_");
                    save(&corpus, "cann", &name, &pack(root, PROFILE, 0));
                }
            }
        }
        for target in ["megengine", "onnxruntime"] {
            for path in files(&golden.join(target)).into_iter().filter(|path| has(path, "json")) {
                copy(&corpus, target, &path);
                copy(&corpus, "json", &path);
                copy(&corpus, "any_file", &path);
                if target == "megengine" {
                    let mut question = std::fs::read(&path).expect("a readable file");
                    question.truncate(16_384);
                    question.insert(0, question.len() as u8);
                    copy_text(&corpus, "megengine_analyze", &path, &question);
                }
            }
        }
    }
    save(&corpus, "onnx_model", "chain", &model());
    for path in std::env::var_os("OPSCOPE_ONNX_DATA").iter().flat_map(|data| files(Path::new(data))) {
        let is_small = path.metadata().is_ok_and(|found| found.len() < 8_192);
        if is_small && path.file_name().is_some_and(|name| name == "model.onnx") {
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
            copy_as(&corpus, "onnx_model", &path, &folder.to_string_lossy());
        }
    }
    let header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(header);
    npy.resize(127, b' ');
    npy.push(b'\n');
    npy.resize(128 + 24, 1);
    save(&corpus, "npy", "two_by_three", &npy);
    let lanes = br#"{"json_process": {"ascend": true, "cann": false, "step_trace": true}}"#;
    save(&corpus, "lane_choice", "three", lanes);
    board(&corpus, work.path());
}

/// A board's directory, whole and without its tables.
fn board(corpus: &Path, work: &Path) {
    const FILES: [(&str, &str); 9] = [
        (
            "summary/op_summary_0.net.1.1.1.1.0.1000.csv",
            "Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Time Ratio,Mac Busy Ratio,DDR Total(byte)\n\
             0,conv1,conv1_relu1,Convolution,120.5,60.25,80,1001590004096\n-,-,-,-,200,100,50,1001590004096\n",
        ),
        (
            "timeline/task_time_0.net.1.1.json",
            r#"[{"name": "conv1_relu1", "ph": "X", "pid": 0, "tid": 0, "ts": 1000000.5, "dur": 120.5,
                "args": {"Task Type": "AA CORE", "Stream Id": 0, "Task Id": 0}}]"#,
        ),
        (
            "timeline/acl_0.net.1.1.json",
            r#"[{"name": "svp_acl_mdl_execute", "ph": "X", "pid": 5, "tid": 6, "ts": 1000000, "dur": 210,
                "args": {"Mode": "ACL_MODEL"}}]"#,
        ),
        ("info.json.0", r#"{"platform_version": "0", "devices": "0"}"#),
        (
            "om.json",
            r#"{"op": [{"name": "conv1", "type": "Convolution", "device_type": "CPU"}], "buf_size": 4096}"#,
        ),
        ("shape.json", r#"{"data": {"shape": [1, 3, 224, 224]}}"#),
        ("cnn_net_tree_1.dot", "digraph net {\n a [label=\"conv\"];\n a -> b;\n}\n"),
        ("fusion_switch.cfg", "ConvRelu:on\nConvPool:off\n"),
        ("data/aicore.data.0.net.slice_0.done", "0123456789"),
    ];
    let folder = work.join("board");
    for (name, text) in FILES {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&folder)).expect("a new folder");
        std::fs::write(path, text).expect("space on disk");
    }
    save(corpus, "board_folder", "whole", &pack(&folder, BOARD, 0));
    std::fs::remove_dir_all(folder.join("summary")).expect("a folder");
    save(corpus, "board_folder", "without_tables", &pack(&folder, BOARD, 0));
}

/// A convolution, an activation and a shape that is computed.
fn model() -> Vec<u8> {
    let node = |op_type: &str, input: &[&str], output: &str| NodeProto {
        op_type: Some(op_type.into()),
        input: input.iter().map(|name| (*name).into()).collect(),
        output: vec![output.into()],
        ..Default::default()
    };
    let value = |name: &str| ValueInfoProto { name: Some(name.into()), ..Default::default() };
    let weights = TensorProto {
        name: Some("w".into()),
        data_type: Some(1),
        dims: vec![2, 2, 1, 1],
        float_data: vec![0.5; 4],
        ..Default::default()
    };
    let graph = GraphProto {
        node: vec![
            node("Conv", &["x", "w"], "c"),
            node("Relu", &["c"], "r"),
            node("Shape", &["r"], "s"),
            node("Reshape", &["c", "s"], "y"),
        ],
        input: vec![value("x")],
        output: vec![value("y")],
        initializer: vec![weights],
        ..Default::default()
    };
    encode(&ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(graph),
        ..Default::default()
    })
}

/// Tiny profiles of each chip and layout.
fn samples() -> Vec<SampleOptions> {
    let mut samples = Vec::new();
    for layout in [SampleLayout::Current, SampleLayout::Prof2022] {
        for chip in [Chip::V4_1_0, Chip::V2_1_0, Chip::V3_3_0, Chip::V1_1_0] {
            for mode in [SampleMode::Dynamic, SampleMode::Static] {
                samples.push(SampleOptions { chip, tasks: 12, mode, layout, seed: 1 });
            }
        }
    }
    samples
}

/// The exports that opscope makes of a profile, as inputs of the readers of such files.
fn exports(corpus: &Path, profile: &Path, output: &Path, number: usize) {
    let profile = discover(profile).expect("a profile").remove(0);
    let joined = Joined::new(Data::load(profile).expect("a readable profile"));
    let options = ExportOptions::default();
    for path in export_summary(&joined, output, "0", options).expect("space on disk") {
        let name = format!("{number}_{}", path.file_name().unwrap_or_default().to_string_lossy());
        let mut content = std::fs::read(&path).expect("a table");
        content.truncate(8_192);
        save(corpus, "ascend_text", &name, &content);
        save(corpus, "any_file", &name, &content);
        content.insert(0, number as u8);
        save(corpus, "svp", &name, &content);
    }
    for path in export_timeline(&joined, output, "0", options).expect("space on disk") {
        copy_as(corpus, "chrome", &path, &format!("{number}_{}", path.display()).replace('/', "_"));
        copy_as(corpus, "json", &path, &format!("{number}_{}", path.display()).replace('/', "_"));
    }
    if let Ok(Some(path)) = export_database(&joined, output, "0") {
        copy_as(corpus, "ascend_database", &path, &format!("{number}.db"));
    }
    // The outputs as the vendor's tool leaves them, with its time in their names.
    let vendors = output.join("vendors");
    let (tables, stamp) = (vendors.join("mindstudio_profiler_output"), "20251009085320");
    export_summary(&joined, &tables, stamp, options).expect("space on disk");
    save(corpus, "ascend_folder", &format!("{number}_tables"), &pack(&vendors, OUTPUTS, 0));
    export_timeline(&joined, &tables, stamp, options).expect("space on disk");
    save(corpus, "ascend_folder", &format!("{number}_all"), &pack(&vendors, OUTPUTS, 0));
    let database = output.join("trace.db");
    if opscope_formats::sqlite::write_file(&to_trace(&joined), &database).is_ok() {
        copy_as(corpus, "sqlite", &database, &format!("{number}.db"));
    }
}

fn has(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn copy(corpus: &Path, target: &str, path: &Path) {
    copy_as(corpus, target, path, &path.file_name().unwrap_or_default().to_string_lossy());
}

/// Large files would only slow the fuzzer down, so their begin is taken.
fn copy_as(corpus: &Path, target: &str, path: &Path, name: &str) {
    let mut content = std::fs::read(path).expect("a readable file");
    let is_database = content.starts_with(b"SQLite format 3");
    if !is_database {
        content.truncate(16_384);
    }
    save(corpus, target, name, &content);
}

fn copy_text(corpus: &Path, target: &str, path: &Path, content: &[u8]) {
    save(corpus, target, &path.file_name().unwrap_or_default().to_string_lossy(), content);
}

fn save(corpus: &Path, target: &str, name: &str, content: &[u8]) {
    let folder = corpus.join(target);
    std::fs::create_dir_all(&folder).expect("a new folder");
    std::fs::write(folder.join(name), content).expect("space on disk");
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all
}
