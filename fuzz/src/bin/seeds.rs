//! Writes inputs to begin with: `seeds CORPUS [GOLDEN]` makes a folder for each target in CORPUS,
//! with generated profiles and, of the folder GOLDEN, recorded ones.

use std::path::{Path, PathBuf};

use opscope_cann::{
    Data, ExportOptions, Joined, SampleLayout, SampleMode, SampleOptions, discover, export_database,
    export_summary, export_timeline, to_trace, write_sample,
};
use opscope_cann_raw::Chip;
use opscope_fuzz::pack;
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
        save(&corpus, "cann", &format!("sample_{number}"), &pack(&profile, (number % 8) as u8));
        if number < 4 {
            exports(&corpus, &profile, &work.path().join(format!("out_{number}")), number);
        }
    }
    if let Some(golden) = golden {
        for path in files(&golden.join("ascend")) {
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("info.json")) {
                if let Some(root) = path.parent().and_then(Path::parent) {
                    let name = root.to_string_lossy().replace(['/', '\\'], "_");
                    save(&corpus, "cann", &name, &pack(root, 0));
                }
            }
        }
        for target in ["megengine", "onnxruntime"] {
            for path in files(&golden.join(target)).into_iter().filter(|path| has(path, "json")) {
                copy(&corpus, target, &path);
                copy(&corpus, "json", &path);
            }
        }
    }
    save(&corpus, "onnx_model", "chain", &model());
    let header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(header);
    npy.resize(127, b' ');
    npy.push(b'\n');
    npy.resize(128 + 24, 1);
    save(&corpus, "npy", "two_by_three", &npy);
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

/// What opscope makes of a profile, as inputs of the readers of such files.
fn exports(corpus: &Path, profile: &Path, output: &Path, number: usize) {
    let profile = discover(profile).expect("a profile").remove(0);
    let joined = Joined::new(Data::load(profile).expect("a readable profile"));
    let options = ExportOptions::default();
    for path in export_summary(&joined, output, "0", options).expect("space on disk") {
        let name = format!("{number}_{}", path.file_name().unwrap_or_default().to_string_lossy());
        let mut content = std::fs::read(&path).expect("a table");
        content.truncate(8_192);
        save(corpus, "ascend_text", &name, &content);
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
