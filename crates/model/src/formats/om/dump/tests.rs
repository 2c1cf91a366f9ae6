//! Texts that are made by the public description of their messages, whole and damaged.

use opscope_testing::ge_dump::{self, Level};
use opscope_testing::om_file::{self, Form, Operator, Tensor, Value};

use crate::provenance::StatedValue;
use crate::{Bindings, Cost, LoadError, Model, ModelKind, Shapes};

type Graphs<'g> = [(&'g str, Vec<Operator>)];

fn load(text: impl AsRef<[u8]>) -> Result<Model, LoadError> {
    Model::from_any_bytes(text.as_ref().to_vec().into())
}

fn small() -> [(&'static str, Vec<Operator>); 1] {
    [("made", om_file::small_graph())]
}

/// Everything that a model says of its graph.
fn said(model: &Model) -> Vec<String> {
    let (graph, shapes) = (model.graph(), Shapes::infer(model, &Bindings::new()).unwrap());
    let names = |ids: &[crate::ValueId]| {
        ids.iter().map(|id| format!("{} {:?}", graph.value(*id).name, shapes.get(*id))).collect::<Vec<_>>()
    };
    let mut said = vec![format!("{:?} to {:?}", names(graph.inputs()), names(graph.outputs()))];
    for node in graph.nodes() {
        // JSON lacks the workspaces.
        let attributes = node.proto.attribute.iter().filter(|it| !it.name().starts_with("workspace"));
        let mut attributes: Vec<String> = attributes.map(|it| format!("{it:?}")).collect();
        attributes.sort();
        let cost = Cost::of(model, &shapes, node.id);
        said.push(format!(
            "{} {} {} {:?} {:?} {:?} {cost:?} {attributes:?}",
            node.name,
            node.op_type,
            node.domain,
            node.proto.input,
            node.proto.output,
            model.origin(node.id),
        ));
    }
    said
}

/// A hundred thousand operators in a row.
fn chain() -> Vec<Operator> {
    let tensor = || Tensor::plain(&[1]);
    let mut operators = vec![Operator::new("n0", "Data", &[], tensor())];
    for number in 1..100_000 {
        let input = format!("n{}:0", number - 1);
        operators.push(Operator::new(&format!("n{number}"), "Relu", &[(&input, tensor())], tensor()));
    }
    operators
}

#[test]
fn all_forms_give_the_same_graph_as_the_offline_model() {
    let compiled = load(om_file::small(Form::New)).unwrap();
    for (kind, text) in [
        (ModelKind::GeProto, ge_dump::proto(&small())),
        (ModelKind::OmJson, ge_dump::json(&small())),
        (ModelKind::GeOnnx, ge_dump::onnx(&small(), Level::All)),
    ] {
        let model = load(&text).unwrap();
        assert_eq!(model.kind(), kind, "{text}");
        assert_eq!(model.provenance().losses, [""; 0], "{text}");
        let weights: Vec<_> = model.graph().values().filter(|value| value.is_stored()).collect();
        assert_eq!(weights.len(), 2, "{kind}");
        if kind == ModelKind::GeProto {
            // An operator that doesn't say what it was made of is as it was.
            let trans = model.graph().node_by_name("trans_TransData_0").unwrap();
            assert_eq!(model.origin(trans.id).unwrap().names, ["trans_TransData_0"]);
            assert_eq!(said(&model)[2..], said(&compiled)[2..]);
        } else {
            assert_eq!(said(&model), said(&compiled), "{kind}");
        }
    }
}

#[test]
fn an_operator_whose_list_of_origins_is_empty_was_added() {
    let tensor = || Tensor::plain(&[4]);
    let cast = Operator::new("trans_Cast_0", "Cast", &[("x:0", tensor())], tensor());
    let operators = vec![
        Operator::new("x", "Data", &[], tensor()),
        cast.with("_datadump_original_op_names", Value::Texts(Vec::new())),
        Operator::new("relu", "Relu", &[("trans_Cast_0:0", tensor())], tensor()),
    ];
    let model = load(ge_dump::proto(&[("g", operators)])).unwrap();
    let origin = |name: &str| model.origin(model.graph().node_by_name(name).unwrap().id);
    assert_eq!(origin("trans_Cast_0"), None);
    assert_eq!(origin("relu").unwrap().names, ["relu"]);
}

#[test]
fn places_in_memory_are_those_of_the_plan_where_the_form_has_them() {
    let compiled = load(om_file::small(Form::New)).unwrap();
    for (text, has_workspaces) in [
        (ge_dump::proto(&small()), true),
        (ge_dump::onnx(&small(), Level::All), true),
        (ge_dump::json(&small()), false),
    ] {
        let model = load(text).unwrap();
        let conv = model.graph().node_by_name("conv/relu").unwrap();
        assert_eq!(conv.attributes.ints("output_offsets"), Some(&[1024][..]));
        assert_eq!(conv.attributes.ints("workspace_bytes"), has_workspaces.then_some(&[4096, 512][..]));
        let fact = |model: &Model| {
            let stated = &model.provenance().stated;
            stated.iter().find(|fact| fact.key == "largest_workspace_bytes").map(|fact| fact.value.clone())
        };
        assert_eq!(fact(&model), fact(&compiled).filter(|_| has_workspaces));
    }
}

#[test]
fn facts_about_the_compilation_are_those_of_the_model() {
    for text in [ge_dump::proto(&small()), ge_dump::json(&small())] {
        let model = load(text).unwrap();
        let facts: Vec<_> = model.provenance().stated.iter().map(|fact| (fact.key, &fact.value)).collect();
        assert_eq!(facts[0], ("soc_version", &StatedValue::Text("Ascend310B4".into())));
        assert!(facts.contains(&("memory_bytes", &StatedValue::Bytes(11_275_776))), "{facts:?}");
        assert_eq!(model.provenance().chip(), Some("Ascend310B4"));
    }
}

#[test]
fn dumps_without_texts_or_descriptions_say_what_they_have() {
    let model = load(ge_dump::onnx(&small(), Level::WithoutTexts)).unwrap();
    assert_eq!(model.provenance().losses, [""; 0]);
    let conv = model.graph().node_by_name("conv/relu").unwrap();
    assert_eq!(conv.attributes.ints("strides"), Some(&[1, 1, 1, 1][..]));
    assert_eq!(conv.attributes.strings("input_formats").unwrap()[1], "FRACTAL_Z[9,1,16,16]");
    assert!(conv.attributes.get("id").is_none() && model.origin(conv.id).is_none());
    let model = load(ge_dump::onnx(&small(), Level::NamesOnly)).unwrap();
    let nodes: Vec<_> = model.graph().nodes().map(|it| (it.name, it.proto.input.join(" "))).collect();
    assert_eq!(nodes[2], ("add", "conv/relu:0 conv/relu:0".to_owned()));
    let losses = &model.provenance().losses;
    assert!(losses[0].contains("DUMP_GE_GRAPH=3"), "{losses:?}");
}

#[test]
fn tensors_of_operators_with_many_are_read_from_their_json() {
    let tensor = |sizes: &[i64]| Tensor::stored(sizes, "NC1HWC0", &[1, 1, 8, 8, 16]);
    let mut operators = vec![Operator::new("x", "Data", &[], tensor(&[1, 3, 8, 8]))];
    let inputs: Vec<_> = (0..25).map(|_| ("x:0", tensor(&[1, 3, 8, 8]))).collect();
    operators.push(Operator::new("concat", "ConcatD", &inputs, tensor(&[1, 75, 8, 8])));
    operators.push(Operator::new("out", "NetOutput", &[("concat:0", tensor(&[1, 75, 8, 8]))], tensor(&[1])));
    let graphs = [("g", operators)];
    let (dump, model) = (load(ge_dump::onnx(&graphs, Level::All)), load(ge_dump::json(&graphs)));
    assert_eq!(said(&dump.unwrap()), said(&model.unwrap()));
}

/// A graph that an operator runs, as a model has it and as a dump does.
fn nested() -> Vec<(&'static str, Vec<Operator>)> {
    let tensor = || Tensor::plain(&[2, 4]);
    let inner =
        |name: &str, op: &'static str, input: &str| Operator::new(name, op, &[(input, tensor())], tensor());
    let outer = vec![
        Operator::new("x", "Data", &[], tensor()),
        Operator { graphs: vec!["inner".into()], ..inner("call", "PartitionedCall", "x:0") },
        inner("out", "NetOutput", "call:0"),
    ];
    let within = vec![
        Operator::new("given", "Data", &[], tensor()).with("_parent_node_index", Value::Int(0)),
        inner("square", "Square", "given:0"),
        inner("end", "NetOutput", "square:0"),
    ];
    vec![("outer", outer), ("inner", within)]
}

#[test]
fn graphs_that_operators_run_stand_in_their_place_where_the_file_names_them() {
    for text in [ge_dump::proto(&nested()), ge_dump::json(&nested())] {
        let model = load(text).unwrap();
        let nodes: Vec<_> = model.graph().nodes().map(|it| (it.name, it.proto.input[0].as_str())).collect();
        assert_eq!(nodes, [("square", "x:0")]);
    }
    let model = load(ge_dump::onnx(&nested(), Level::All)).unwrap();
    let nodes: Vec<_> = model.graph().nodes().map(|it| it.name).collect();
    assert_eq!(nodes, ["call", "square"]);
    let losses = &model.provenance().losses;
    assert!(losses[0].contains("1 of the graphs") && losses[0].contains("doesn't name"), "{losses:?}");
}

#[test]
fn parts_that_the_compiler_cuts_a_graph_into_have_their_values_from_outside() {
    let tensor = || Tensor::plain(&[4]);
    let place = |name: &str, of: &str| {
        Operator::new(name, "PlaceHolder", &[], tensor()).with("parentOpType", Value::Text(of.into()))
    };
    let operators = vec![
        place("image", "Data"),
        place("bias", "Const"),
        Operator::new("add", "Add", &[("image:0", tensor()), ("bias:0", tensor())], tensor()),
        Operator::new("end", "End", &[("add:0", tensor())], tensor()),
    ];
    let model = load(ge_dump::proto(&[("part", operators)])).unwrap();
    let graph = model.graph();
    assert_eq!(model.provenance().losses, [""; 0]);
    assert_eq!((graph.node_count(), graph.inputs().len(), graph.outputs().len()), (1, 1, 1));
    assert!(graph.value_by_name("bias:0").unwrap().is_stored());
}

#[test]
fn texts_that_are_cut_off_give_the_operators_before_and_say_so() {
    for text in [
        ge_dump::proto(&small()),
        ge_dump::json(&small()),
        ge_dump::onnx(&small(), Level::All),
        ge_dump::onnx(&nested(), Level::All),
    ] {
        let whole = load(&text).unwrap().graph().node_count();
        let mut most = 0;
        for length in (0..text.len() - 2).step_by(7) {
            // Nobody sees that fields of the whole are missing.
            let is_within = text[..length].lines().last().is_some_and(|line| line.starts_with(' '));
            match load(&text[..length]) {
                Ok(model) => {
                    assert!(!is_within || !model.provenance().losses.is_empty(), "{length}");
                    assert!(model.graph().node_count() <= whole, "{length}");
                    most = most.max(model.graph().node_count());
                }
                Err(error) => assert!(!error.to_string().contains("offset"), "{length}: {error}"),
            }
        }
        assert_eq!(most, whole, "the operators before the cut");
    }
}

#[test]
fn a_hundred_thousand_operators_are_read_from_every_form() {
    let graphs: &Graphs<'_> = &[("g", chain())];
    for text in [ge_dump::proto(graphs), ge_dump::json(graphs), ge_dump::onnx(graphs, Level::NamesOnly)] {
        assert_eq!(load(text).unwrap().graph().node_count(), 99_999);
    }
}

#[test]
fn large_numbers_circles_and_endless_nesting_are_told() {
    let losses = load("graph {\n  op {\n    type: \"Relu\"\n    input: \"a:0\"\n    name: \"a\"\n    output_desc {\n    }\n  }\n}\n")
        .unwrap()
        .provenance()
        .losses
        .clone();
    assert!(losses[0].contains("circles"), "{losses:?}");
    let text =
        "graph {\n  op {\n    name: \"a\"\n    type: \"Relu\"\n    workspace: 99999999999999999999\n  }\n}\n";
    let losses = load(text).unwrap().provenance().losses.clone();
    assert!(losses[0].contains("workspace 99999999999999999999"), "{losses:?}");
    let deep = format!("graph {{\n  op {{\n    name: \"a\"\n  }}\n  op {{\n{}", "attr {\n".repeat(1_000_000));
    let model = load(deep).unwrap();
    assert_eq!((model.graph().node_count(), model.provenance().losses.len()), (1, 1));
    let far = "graph {\n  node {\n    name: \"a\"\n    op_type: \"ge:Relu\"\n    output: \"a:4000000000\"\n    attribute {\n      \
               name: \"input_desc_dtype:4000000000\"\n      s: \"DT_FLOAT\"\n    }\n  }\n}\n";
    assert_eq!(load(far).unwrap().graph().node_by_name("a").unwrap().proto.output.len(), 0);
}

#[test]
fn the_kind_is_told_by_the_content_and_other_texts_are_none() {
    for (text, kind) in [
        ("# a comment\ngraph {\n  name: \"g\"\n  op {\n", Some(ModelKind::GeProto)),
        ("name: \"net\"\ngraph {\n  op {\n", Some(ModelKind::GeProto)),
        ("graph {\n  node {\n    op_type: \"Relu\"\n", None),
        ("node {\n  name: \"a\"\n  op: \"Relu\"\n}\n", None),
        ("name: \"net\"\nlayer {\n  name: \"a\"\n", Some(ModelKind::Caffe)),
        ("{\"attr\": [{\"key\": \"a\", \"value\"", Some(ModelKind::OmJson)),
        ("{ \"graph\" : [ { \"name\": \"g\", \"op\": [ {\"name\"", Some(ModelKind::OmJson)),
        ("{\"name\": \"m\", \"layers\": []}", None),
        ("{\"traceEvents\": [{\"name\": \"graph\"}]}", None),
    ] {
        assert_eq!(ModelKind::of(text.as_bytes()), kind, "{text}");
    }
}
