//! Inferred shapes against those that ONNX's own test data really has.
//!
//! The data comes with the Python package `onnx`: name its folder `onnx/backend/test/data` in
//! `OPSCOPE_ONNX_DATA`. Where a package doesn't ship the folder `node`, its test cases can be had
//! from `onnx.backend.test.case.node.collect_testcases` and written as the other folders are: a
//! `model.onnx`, and in `test_data_set_0` tensors `input_0.pb` and `output_0.pb`. Without the variable
//! these tests skip.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use opscope_model::proto::{GraphProto, ModelProto, TensorProto, TypeValue, data_type_from_onnx};
use opscope_model::{Bindings, Cost, Model, Shapes};
use opscope_testing::companions;
use opscope_trace::DataType;
use prost::Message;

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(listing) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn read_tensor(path: &Path) -> Option<TensorProto> {
    TensorProto::decode(std::fs::read(path).ok()?.as_slice()).ok()
}

/// Takes away what the file says about the dimensions of outputs and of what lies between.
fn forget_declared_shapes(graph: &mut GraphProto) {
    graph.value_info.clear();
    for output in &mut graph.output {
        if let Some(TypeValue::Tensor(tensor)) = output.r#type.as_mut().and_then(|t| t.value.as_mut()) {
            tensor.shape = None;
        }
    }
}

fn is_tensor(declared: Option<&opscope_model::proto::TypeProto>) -> bool {
    declared.is_some_and(|declared| matches!(declared.value, Some(TypeValue::Tensor(_))))
}

/// Operators of tests (by their last node) whose outputs depend on data, on sequences, or on what only
/// training, a first version, or half precision has.
const DEPEND_ON_DATA: [&str; 13] = [
    "Cast",
    "ConcatFromSequence",
    "Gradient",
    "ImageDecoder",
    "Loop",
    "NonMaxSuppression",
    "NonZero",
    "OptionalGetElement",
    "Scan",
    "SequenceAt",
    "StringNormalizer",
    "StringSplit",
    "Unique",
];

#[derive(Default)]
struct Tally {
    equal: usize,
    unknown: BTreeMap<String, usize>,
    partly: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn compare(
        &mut self,
        label: &str,
        test: &str,
        shapes: &Shapes,
        model: &Model,
        output: usize,
        real: &TensorProto,
    ) {
        let id = model.graph().outputs()[output];
        let Some(shape) = shapes.get(id) else {
            *self.unknown.entry(label.to_owned()).or_default() += 1;
            return;
        };
        let real_dims: Vec<u64> = real.dims.iter().map(|&n| n as u64).collect();
        let real_type = data_type_from_onnx(real.data_type());
        let fits = shape.dims.len() == real_dims.len()
            && shape.dims.iter().zip(&real_dims).all(|(dim, real)| dim.is_none_or(|dim| dim == *real))
            && [real_type, DataType::Unknown].contains(&shape.data_type);
        if !fits {
            self.wrong.push(format!("{test}, output {output}: {shape:?}, really {real_type} {real_dims:?}"));
        } else if shape.known_dims().is_some() {
            self.equal += 1;
        } else {
            *self.partly.entry(label.to_owned()).or_default() += 1;
        }
    }
}

/// Runs one test folder: its model with the inputs of each data set.
fn check_folder(folder: &Path, tally: &mut Tally) {
    let test = folder.file_name().unwrap().to_string_lossy().into_owned();
    let Ok(bytes) = std::fs::read(folder.join("model.onnx")) else { return };
    let proto = ModelProto::decode(bytes.as_slice()).unwrap();
    for set in entries(folder).iter().filter(|path| path.is_dir()) {
        let mut proto = proto.clone();
        let graph = proto.graph.as_mut().unwrap();
        forget_declared_shapes(graph);
        let mut bindings = Bindings::new();
        for (place, input) in graph.input.clone().iter().enumerate() {
            if !is_tensor(input.r#type.as_ref()) {
                continue;
            }
            let Some(mut tensor) = read_tensor(&set.join(format!("input_{place}.pb"))) else { continue };
            let dims: Vec<u64> = tensor.dims.iter().map(|&n| n as u64).collect();
            if dims.len() <= 1 && dims.iter().product::<u64>() <= 64 {
                // Small inputs may decide about shapes: they are given with their elements.
                tensor.name = input.name.clone();
                graph.initializer.push(tensor);
            } else {
                bindings = bindings.shape(input.name(), &dims);
            }
        }
        let outputs = graph.output.clone();
        let label = graph.node.last().map_or("none", |node| node.op_type()).to_owned();
        let model = match Model::from_proto(proto, None) {
            Ok(model) => model,
            Err(error) => panic!("{test}: {error}"),
        };
        let shapes = Shapes::infer(&model, &bindings).unwrap_or_else(|error| panic!("{test}: {error}"));
        for note in shapes.notes() {
            // A test may declare the type of an output wrongly, but never fits its operator badly.
            tally.wrong.push(format!("{test}: note: {}", note.text));
        }
        for node in model.graph().nodes() {
            let _ = Cost::of(&model, &shapes, node.id);
        }
        for (place, output) in outputs.iter().enumerate() {
            if let Some(real) = is_tensor(output.r#type.as_ref())
                .then(|| read_tensor(&set.join(format!("output_{place}.pb"))))
                .flatten()
            {
                tally.compare(&label, &test, &shapes, &model, place, &real);
            }
        }
    }
}

#[test]
fn inferred_shapes_are_those_of_the_real_outputs_or_unknown() {
    let Some(data) = companions::onnx_data() else { return };
    let mut tally = Tally::default();
    for kind in ["node", "simple", "pytorch-converted", "pytorch-operator"] {
        for folder in entries(&data.join(kind)) {
            check_folder(&folder, &mut tally);
        }
    }
    let count = |map: &BTreeMap<String, usize>| map.values().sum::<usize>();
    eprintln!(
        "outputs: {} equal, {} known in part, {} unknown, {} wrong",
        tally.equal,
        count(&tally.partly),
        count(&tally.unknown),
        tally.wrong.len()
    );
    eprintln!("known in part: {:?}\nunknown: {:?}", tally.partly, tally.unknown);
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    let could_be_known = |label: &&String| !DEPEND_ON_DATA.contains(&label.as_str());
    let more: Vec<_> = tally.partly.keys().chain(tally.unknown.keys()).filter(could_be_known).collect();
    assert!(more.is_empty(), "the outputs of {more:?} could be known");
    assert!(tally.equal > 0, "no test was found in {}", data.display());
}

#[test]
fn the_light_models_resolve_completely() {
    let Some(data) = companions::onnx_data() else { return };
    for path in entries(&data.join("light")) {
        if path.extension().is_none_or(|extension| extension != "onnx") {
            continue;
        }
        let declared = Model::load(&path).unwrap();
        let mut proto = declared.proto().clone();
        forget_declared_shapes(proto.graph.as_mut().unwrap());
        let model = Model::from_proto(proto, None).unwrap();
        let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
        assert_eq!(shapes.unresolved(), [], "{}", path.display());
        assert_eq!(shapes.notes(), [], "{}", path.display());
        let with_declared = Shapes::infer(&declared, &Bindings::new()).unwrap();
        assert_eq!(with_declared.notes(), [], "{}", path.display());
        for &output in model.graph().outputs() {
            assert_eq!(shapes.get(output), with_declared.get(output));
        }
    }
}
