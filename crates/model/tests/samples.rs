//! The sample models are whole, sound graphs, and depend on nothing but their seed.

use std::collections::{HashMap, HashSet};
use std::error::Error;

use opscope_model::proto::{GraphProto, ModelProto, NodeProto, TensorProto};
use opscope_model::samples::Sample;
use prost::Message;

const ONNX_FLOAT: i32 = 1;

fn graph(model: &ModelProto) -> &GraphProto {
    model.graph.as_ref().expect("a sample has a graph")
}

fn floats(tensor: &TensorProto) -> Option<Vec<f32>> {
    (tensor.data_type() == ONNX_FLOAT)
        .then(|| tensor.raw_data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// The numbers that training would have set: all numbers but shared constants and running statistics.
fn parameter_count(graph: &GraphProto) -> usize {
    let trained = graph
        .initializer
        .iter()
        .filter(|tensor| !tensor.name().contains(".running_") && !tensor.name().starts_with("constant."));
    trained.filter_map(floats).map(|values| values.len()).sum()
}

fn count(graph: &GraphProto, operator: &str) -> usize {
    graph.node.iter().filter(|node| node.op_type() == operator).count()
}

#[test]
fn every_sample_is_found_by_its_name_and_described_in_a_line() {
    for sample in Sample::ALL {
        assert_eq!(Sample::from_name(sample.name()), Some(sample));
        assert_eq!(sample.to_string(), sample.name());
        assert_eq!(sample.description().lines().count(), 1);
    }
    assert_eq!(Sample::from_name("resnet51"), None);
}

#[test]
fn a_seed_gives_the_same_bytes_again() {
    for sample in Sample::ALL {
        assert!(sample.build(7).encode_to_vec() == sample.build(7).encode_to_vec(), "{sample}");
    }
}

#[test]
fn another_seed_gives_the_same_nodes_with_other_weights() {
    for sample in Sample::ALL {
        let (first, second) = (sample.build(0), sample.build(1));
        assert_eq!(graph(&first).node, graph(&second).node, "{sample}");
        for (left, right) in graph(&first).initializer.iter().zip(&graph(&second).initializer) {
            assert_eq!((left.name(), &left.dims), (right.name(), &right.dims), "{sample}");
            let is_random = floats(left).is_some_and(|values| values.len() > 4);
            assert_eq!(left.raw_data == right.raw_data, !is_random, "{sample}: {}", left.name());
        }
    }
}

#[test]
fn nodes_and_values_have_names_of_their_own_that_say_where_they_belong() {
    for sample in Sample::ALL {
        let model = sample.build(0);
        let graph = graph(&model);
        let mut names = HashSet::new();
        for node in &graph.node {
            assert!(names.insert(node.name()), "{sample}: {} twice", node.name());
            let operator = node.name().rsplit('/').next().unwrap_or_default();
            assert!(node.name().starts_with('/') && operator.starts_with(node.op_type()), "{}", node.name());
        }
        let inputs = graph.input.iter().map(|input| input.name());
        let weights = graph.initializer.iter().map(|tensor| tensor.name());
        let results = graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str));
        let mut values = HashSet::new();
        for name in inputs.chain(weights).chain(results) {
            assert!(!name.is_empty() && values.insert(name), "{sample}: value {name:?} twice or empty");
        }
    }
}

#[test]
fn every_value_is_defined_before_its_use_and_used() {
    for sample in Sample::ALL {
        let model = sample.build(0);
        let graph = graph(&model);
        let mut unused: HashSet<&str> = HashSet::new();
        let mut defined: HashSet<&str> = HashSet::new();
        let given = graph.input.iter().map(|input| input.name());
        for name in given.chain(graph.initializer.iter().map(|tensor| tensor.name())) {
            defined.insert(name);
            unused.insert(name);
        }
        for node in &graph.node {
            // An empty name is an optional input that is left out.
            for input in node.input.iter().filter(|input| !input.is_empty()) {
                assert!(defined.contains(input.as_str()), "{sample}: {} reads {input}", node.name());
                unused.remove(input.as_str());
            }
            defined.extend(node.output.iter().map(String::as_str));
            unused.extend(node.output.iter().map(String::as_str));
        }
        for output in &graph.output {
            assert!(unused.remove(output.name()), "{sample}: output {}", output.name());
        }
        assert!(unused.is_empty(), "{sample}: {unused:?} unused");
    }
}

#[test]
fn weights_fill_their_shapes_with_finite_numbers_that_vary() {
    for sample in Sample::ALL {
        let model = sample.build(0);
        for tensor in &graph(&model).initializer {
            let Some(values) = floats(tensor) else { continue };
            let name = tensor.name();
            assert_eq!(values.len() as i64, tensor.dims.iter().product::<i64>(), "{sample}: {name}");
            assert!(values.iter().all(|value| value.is_finite()), "{sample}: {name}");
            assert!(values.len() < 2 || values.iter().any(|value| *value != values[0]), "{sample}: {name}");
            if name.ends_with(".running_var") {
                assert!(values.iter().all(|value| *value > 0.0), "{sample}: {name}");
            }
        }
    }
}

#[test]
fn well_known_nets_have_as_many_parameters_as_the_originals() {
    let count = |sample: Sample| parameter_count(graph(&sample.build(0)));
    assert_eq!(count(Sample::Resnet50), 25_557_032);
    assert_eq!(count(Sample::MobilenetV2), 3_504_872);
    // The public net states 1.01 million.
    assert!((1_005_000..1_015_000).contains(&count(Sample::MaskSsd)), "{}", count(Sample::MaskSsd));
}

#[test]
fn samples_hold_the_patterns_that_they_are_there_to_show() -> Result<(), Box<dyn Error>> {
    let [mask_ssd, resnet50, mobilenet_v2, encoder] =
        [Sample::MaskSsd, Sample::Resnet50, Sample::MobilenetV2, Sample::Encoder].map(|s| s.build(0));
    for (model, normalised) in [(&mask_ssd, 18), (&resnet50, 53), (&mobilenet_v2, 52)] {
        assert_eq!(count(graph(model), "BatchNormalization"), normalised);
        let producers: HashMap<&str, &NodeProto> = graph(model)
            .node
            .iter()
            .flat_map(|node| node.output.iter().map(move |output| (output.as_str(), node)))
            .collect();
        for node in graph(model).node.iter().filter(|node| node.op_type() == "BatchNormalization") {
            let before = producers.get(node.input[0].as_str()).ok_or("nothing normalised")?;
            assert_eq!(before.op_type(), "Conv", "before {}", node.name());
        }
    }

    let is_depthwise = |node: &&NodeProto| {
        let group = node.attribute.iter().find(|attribute| attribute.name() == "group");
        group.is_some_and(|attribute| attribute.i() > 1)
    };
    assert_eq!(graph(&mobilenet_v2).node.iter().filter(is_depthwise).count(), 17);
    let clips = graph(&mobilenet_v2).node.iter().filter(|node| node.op_type() == "Clip");
    assert!(clips.clone().count() == 35 && clips.into_iter().all(|node| node.input.len() == 3));

    assert!(graph(&encoder).node.len() > 300);
    assert_eq!(count(graph(&encoder), "Erf"), 6);
    assert_eq!(count(graph(&encoder), "LayerNormalization"), 0);
    assert_eq!(count(graph(&encoder), "ReduceMean"), 2 * 13);
    Ok(())
}

#[test]
fn the_two_detectors_differ_by_their_activations_only() {
    let (mish, leaky) = (Sample::YoloMish.build(3), Sample::YoloLeaky.build(3));
    assert!(graph(&mish).initializer == graph(&leaky).initializer);

    let activations = count(graph(&leaky), "LeakyRelu");
    assert!(activations > 40, "{activations}");
    for operator in ["Softplus", "Tanh", "Mul"] {
        assert_eq!(count(graph(&mish), operator), activations, "{operator}");
    }
    for operator in ["Conv", "MaxPool", "Concat", "Resize", "Add"] {
        assert_eq!(count(graph(&mish), operator), count(graph(&leaky), operator), "{operator}");
        assert_ne!(count(graph(&mish), operator), 0, "{operator}");
    }
}
