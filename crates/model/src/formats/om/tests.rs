//! Files that are made by the public description of their layout, whole and damaged.

use opscope_testing::om_file::{Form, Operator, Tensor, Value, contained, file, small};

use super::*;
use crate::provenance::StatedValue;
use crate::{Bindings, Cost, LoadError, Model, Shapes};

fn load(bytes: Vec<u8>) -> Result<Model, LoadError> {
    Model::from_any_bytes(bytes.into())
}

#[test]
fn both_forms_of_a_file_give_the_same_graph() {
    for form in [Form::Old, Form::New] {
        let model = load(small(form)).unwrap();
        assert_eq!(model.kind(), ModelKind::Om);
        assert_eq!(model.provenance().losses, [""; 0], "{form:?}");
        let graph = model.graph();
        let nodes: Vec<_> = graph.nodes().map(|node| (node.name, node.op_type, node.domain)).collect();
        assert_eq!(
            nodes,
            [
                ("trans_TransData_0", "TransData", DOMAIN),
                ("conv/relu", "Conv2D", DOMAIN),
                ("add", "Add", DOMAIN)
            ]
        );
        let names = |ids: &[crate::ValueId]| ids.iter().map(|id| graph.value(*id).name).collect::<Vec<_>>();
        assert_eq!((names(graph.inputs()), names(graph.outputs())), (vec!["image:0"], vec!["add:0"]));
        assert_eq!(model.provenance().output_names["add:0"], "scores");
        let conv = graph.node_by_name("conv/relu").unwrap();
        assert_eq!(conv.attributes.ints("strides"), Some(&[1, 1, 1, 1][..]));
        assert_eq!(conv.attributes.string("data_format"), Some("NCHW"));
        let formats = conv.attributes.strings("input_formats").unwrap();
        assert_eq!(formats, ["NC1HWC0[1,1,8,8,16]", "FRACTAL_Z[9,1,16,16]", "NCHW[8]"]);
        let origin = model.origin(conv.id).unwrap();
        assert_eq!(origin.names, ["conv", "relu"]);
        assert_eq!((&*origin.types[1], &*origin.passes[0]), ("Relu", "TbeConvReluFusionPass"));
        assert_eq!(origin.engine.as_deref(), Some("AIcoreEngine"));
        assert!(
            origin.is_fused() && !model.origin(graph.node_by_name("add").unwrap().id).unwrap().is_fused()
        );
    }
}

#[test]
fn shapes_and_costs_are_those_from_before_the_conversion() {
    let model = load(small(Form::New)).unwrap();
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    assert_eq!((shapes.unresolved(), shapes.notes()), (&[][..], &[][..]));
    let cost = |name: &str| Cost::of(&model, &shapes, model.graph().node_by_name(name).unwrap().id);
    assert_eq!(cost("conv/relu").flops, Some(8 * 64 * (2 * 27 + 1)));
    assert_eq!(cost("conv/relu").parameters, 8 * 27 + 8);
    // Half precision: the image, the filter and the bias.
    assert_eq!(cost("conv/relu").bytes_read, Some(2 * (3 * 64 + 8 * 27 + 8)));
    assert_eq!((cost("add").flops, cost("trans_TransData_0").flops), (Some(8 * 64), Some(0)));
}

#[test]
fn weights_stay_in_the_file_and_those_in_a_devices_order_have_no_data() {
    let model = load(small(Form::New)).unwrap();
    let weight = |name: &str| model.graph().value_by_name(name).unwrap().initializer.unwrap();
    let bias = model.tensor_data(weight("bias:0")).unwrap();
    assert_eq!((&bias.dims[..], &bias.bytes[..]), (&[8][..], &[7; 16][..]));
    assert!(weight("weights:0").raw_data.is_none());
    assert_eq!(weight("weights:0").dims, [8, 3, 3, 3]);
}

#[test]
fn facts_about_the_compilation_are_told() {
    let model = load(small(Form::Old)).unwrap();
    let fact =
        |key: &str| model.provenance().stated.iter().find(|fact| fact.key == key).map(|it| it.value.clone());
    assert_eq!(fact("soc_version"), Some(StatedValue::Text("Ascend310B4".into())));
    assert_eq!(fact("memory_bytes"), Some(StatedValue::Bytes(11_275_776)));
    assert_eq!(fact("streams"), Some(StatedValue::Count(1)));
    assert_eq!(fact("largest_workspace_bytes"), Some(StatedValue::Bytes(4608)));
    assert_eq!(fact("largest_workspace_of"), Some(StatedValue::Text("conv/relu".into())));
    assert!(matches!(fact("partitions"), Some(StatedValue::Text(text)) if text.contains("weights 4.")));
    assert_eq!(model.proto().producer_version.as_deref(), Some("1.11.z.0"));
}

/// An operator of the first graph that runs a second one in its place.
fn partitioned() -> Vec<u8> {
    let tensor = || Tensor::plain(&[2, 4]);
    let inner =
        |name: &str, op: &'static str, input: &str| Operator::new(name, op, &[(input, tensor())], tensor());
    let returned = Tensor { attributes: vec![("_parent_node_index", Value::Int(0))], ..tensor() };
    let outer = vec![
        Operator::new("x", "Data", &[], tensor()),
        Operator { graphs: vec!["inner".into()], ..inner("call", "PartitionedCall", "x:0") },
        inner("after", "Relu", "call:0"),
        Operator::new("out", "NetOutput", &[("after:0", tensor())], tensor()),
    ];
    let within = vec![
        Operator::new("given", "Data", &[], tensor()).with("_parent_node_index", Value::Int(0)),
        inner("square", "Square", "given:0"),
        Operator::new("end", "NetOutput", &[("square:0", returned)], tensor()),
    ];
    file(Form::New, &[("outer", outer), ("inner", within)], &[])
}

#[test]
fn a_graph_that_an_operator_runs_stands_in_its_place() {
    let model = load(partitioned()).unwrap();
    assert_eq!(model.provenance().losses, [""; 0]);
    let nodes: Vec<_> = model.graph().nodes().map(|node| (node.name, node.proto.input[0].as_str())).collect();
    assert_eq!(nodes, [("square", "x:0"), ("after", "square:0")]);
}

#[test]
fn branches_take_their_inputs_from_the_operator_that_chooses_one() {
    let tensor = |batch: i64| Tensor::plain(&[batch, 4]);
    let inner = |name: &str, op: &'static str, input: &str, batch: i64| {
        Operator::new(name, op, &[(input, tensor(batch))], tensor(batch))
    };
    let outer = vec![
        Operator::new("which", "Data", &[], Tensor::plain(&[1])),
        Operator::new("x", "Data", &[], tensor(-1)),
        Operator {
            graphs: vec!["one".into(), "eight".into()],
            ..Operator::new(
                "case",
                "Case",
                &[("which:0", Tensor::plain(&[1])), ("x:0", tensor(-1))],
                tensor(-1),
            )
        },
        Operator::new("out", "NetOutput", &[("case:0", tensor(-1))], tensor(-1)),
    ];
    let branch = |batch: i64| {
        vec![
            Operator::new(&format!("given{batch}"), "Data", &[], tensor(batch))
                .with("_parent_node_index", Value::Int(1)),
            inner(&format!("relu{batch}"), "Relu", &format!("given{batch}:0"), batch),
            Operator::new(
                &format!("end{batch}"),
                "NetOutput",
                &[(&format!("relu{batch}:0"), tensor(batch))],
                tensor(batch),
            ),
        ]
    };
    let bytes = file(Form::New, &[("outer", outer), ("one", branch(1)), ("eight", branch(8))], &[]);
    let model = load(bytes).unwrap();
    let inputs: Vec<_> = model.graph().inputs().iter().map(|id| model.graph().value(*id).name).collect();
    assert_eq!(inputs, ["which:0", "x:0"], "those of branches are none of the model");
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    let relu = model.graph().node_by_name("relu8").unwrap();
    assert_eq!(Cost::of(&model, &shapes, relu.id).flops, Some(32), "in the sizes of its branch");
    let given = model.graph().node_by_name("given8").unwrap();
    assert_eq!((model.is_helper("given8"), &given.proto.input[..]), (true, &["x:0".to_owned()][..]));
}

#[test]
fn a_file_that_is_cut_off_gives_what_it_has_and_says_what_it_lacks() {
    let whole = small(Form::New);
    let cut = load(whole[..whole.len() - 3000].to_vec()).unwrap();
    assert_eq!(cut.graph().node_count(), 3);
    let losses = &cut.provenance().losses;
    assert!(losses.iter().any(|loss| loss.contains("weights should end at offset")), "{losses:?}");
    // Within the graph: the operators before are there.
    let cut = load(whole[..256 + 8 + 3 * 24 + 700].to_vec()).unwrap();
    assert!((1..3).contains(&cut.graph().node_count()), "{}", cut.graph().node_count());
    assert!(!cut.provenance().losses.is_empty());
    for length in 4..whole.len() {
        match load(whole[..length].to_vec()) {
            Ok(model) => assert!(!model.provenance().losses.is_empty(), "{length}"),
            Err(error) => assert!(error.to_string().contains("offset"), "{length}: {error}"),
        }
    }
}

#[test]
fn numbers_that_cannot_be_are_refused_with_their_place() {
    let mut bytes = small(Form::New);
    bytes[256..260].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = load(bytes).unwrap_err().to_string();
    assert!(error.contains("claims 4294967295") && error.contains("offset 256"), "{error}");
    let mut bytes = small(Form::Old);
    bytes[4..8].copy_from_slice(&8u32.to_le_bytes());
    assert!(load(bytes).unwrap_err().to_string().contains("offset 4"));
    let mut bytes = small(Form::Old);
    bytes[80] = 1;
    assert!(load(bytes).unwrap_err().to_string().contains("encrypted"));
    let empty = load(contained(Form::New, &[(1, b"weights")])).unwrap_err().to_string();
    assert!(empty.contains("no graph"), "{empty}");
}

#[test]
fn a_number_of_models_for_which_the_file_has_no_room_is_damage_of_the_header() {
    let with_count = |count: u32, further: &[u8]| {
        let mut bytes = small(Form::New);
        bytes[156..160].copy_from_slice(&count.to_le_bytes());
        bytes.extend(further);
        let provenance = load(bytes).unwrap().provenance().clone();
        let fact = provenance.stated.iter().find(|fact| fact.key == "models").map(|it| it.value.clone());
        (fact, provenance.losses)
    };
    for count in [u32::MAX, 1025] {
        let expected =
            format!("the header is damaged: it claims {count} models, for which the file has no room");
        assert_eq!(with_count(count, &[]), (None, vec![expected]));
    }
    let expected = "the header is damaged: it claims 9 models, and the file ends behind 1";
    assert_eq!(with_count(9, &[]), (None, vec![expected.to_owned()]));
    // A second model as a table and its content, behind which a third one is damaged.
    let second = contained(Form::New, &[(1, b"weights")])[256..].to_vec();
    let (fact, losses) = with_count(2, &second);
    assert_eq!(fact, Some(StatedValue::Count(2)));
    assert_eq!(losses, ["the file has 2 models, of which the first is read"]);
    let (fact, losses) = with_count(3, &[&second[..], &[0xff; 64]].concat());
    assert_eq!(fact, Some(StatedValue::Count(2)));
    assert!(losses[0].starts_with("model 3 of 3 that the header states could not be read"), "{losses:?}");
    // Of a file that is cut off nothing tells how many there were.
    let mut bytes = small(Form::New);
    bytes[156..160].copy_from_slice(&4_u32.to_le_bytes());
    bytes.truncate(bytes.len() - 100);
    let losses = load(bytes).unwrap().provenance().losses.clone();
    assert!(losses.iter().any(|loss| loss.starts_with("model 2 of 4 that the header states")), "{losses:?}");
}

#[test]
fn operators_in_a_circle_are_told_by_their_names() {
    let tensor = || Tensor::plain(&[1]);
    let operators = vec![
        Operator::new("a", "Relu", &[("b:0", tensor())], tensor()),
        Operator::new("b", "Relu", &[("a:0", tensor())], tensor()),
    ];
    let model = load(file(Form::New, &[("g", operators)], &[])).unwrap();
    let losses = &model.provenance().losses;
    assert!(losses[0].contains("circles") && losses[0].ends_with("b:0 of a"), "{losses:?}");
    assert_eq!(model.graph().node_count(), 2);
}

#[test]
fn a_hundred_thousand_operators_and_a_name_of_a_megabyte_are_read() {
    let tensor = || Tensor::plain(&[1]);
    let mut operators = vec![Operator::new("n0", "Data", &[], tensor())];
    for number in 1..100_000 {
        let input = format!("n{}:0", number - 1);
        operators.push(Operator::new(&format!("n{number}"), "Relu", &[(&input, tensor())], tensor()));
    }
    operators.push(Operator::new(&"long".repeat(1 << 18), "Relu", &[("n1:0", tensor())], tensor()));
    let model = load(file(Form::Old, &[("g", operators)], &[])).unwrap();
    assert_eq!(model.graph().node_count(), 100_000);
}
