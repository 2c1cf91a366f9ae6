//! Files that are made by the public schemas, whole and damaged.

use opscope_testing::megengine_file::{Form, Operator, model, small};

use super::*;
use crate::{Bindings, LoadError, Model, Shapes};

fn load(bytes: Vec<u8>) -> Result<Model, LoadError> {
    Model::from_any_bytes(bytes.into())
}

#[test]
fn all_forms_give_the_same_graph_with_its_names() {
    for form in [Form::First, Form::Old, Form::Second] {
        let model = load(small(form)).unwrap();
        assert_eq!(
            (model.kind(), &model.provenance().losses[..]),
            (ModelKind::MegEngine, &[][..]),
            "{form:?}"
        );
        let graph = model.graph();
        let nodes: Vec<_> = graph.nodes().map(|node| (node.name, node.proto.input.clone())).collect();
        let expected = [
            ("conv.Convolution", vec!["data", "conv.weight"]),
            ("RELU", vec!["conv.Convolution"]),
            ("split", vec!["RELU", "four", "four"]),
            ("ADD", vec!["second", "first"]),
        ];
        assert_eq!(nodes.len(), expected.len(), "{form:?}");
        for ((name, inputs), (expected_name, expected_inputs)) in nodes.iter().zip(&expected) {
            assert_eq!(
                (name, inputs.iter().map(String::as_str).collect()),
                (expected_name, expected_inputs.clone())
            );
        }
        let conv = graph.node_by_name("conv.Convolution").unwrap();
        assert!(conv.op_type.starts_with("Convolution") && conv.domain == DOMAIN, "{}", conv.op_type);
        assert_eq!(conv.attributes.string("comp_node"), Some("cpu0:0"));
        let names = |ids: &[crate::ValueId]| ids.iter().map(|id| graph.value(*id).name).collect::<Vec<_>>();
        assert_eq!((names(graph.inputs()), names(graph.outputs())), (vec!["data"], vec!["ADD"]));
    }
}

#[test]
fn weights_stay_in_the_file_in_both_forms() {
    for form in [Form::First, Form::Old, Form::Second] {
        let model = load(small(form)).unwrap();
        let weight = |name: &str| {
            let stored = model.graph().value_by_name(name).unwrap().initializer.unwrap();
            model.tensor_data(stored).unwrap()
        };
        let filter = weight("conv.weight");
        assert_eq!((&filter.dims[..], &filter.bytes[4..8]), (&[8, 3, 3, 3][..], &1f32.to_le_bytes()[..]));
        assert_eq!(&weight("four").bytes[..], [0; 4]);
    }
}

#[test]
fn the_newer_form_has_the_sizes_of_values_and_both_have_their_version() {
    let model = load(small(Form::Second)).unwrap();
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    let sizes = shapes.get(model.graph().value_by_name("first").unwrap().id).unwrap().dims.clone();
    assert_eq!(sizes, [Some(1), Some(4), Some(8), Some(8)]);
    assert_eq!(model.proto().producer_version.as_deref(), Some("1.13.0"));
    let model = load(small(Form::First)).unwrap();
    assert_eq!(model.proto().producer_version.as_deref(), Some("0.109.0"));
    let note = model.provenance().stated.iter().find(|fact| fact.key == "user_info").unwrap();
    assert_eq!(note.value, crate::StatedValue::Text("made by hand".into()));
}

#[test]
fn inputs_to_try_stand_around_a_model_and_packed_ones_are_refused() {
    for form in [Form::First, Form::Second] {
        let file = [&b"mgbtest0"[..], &2u32.to_le_bytes(), &small(form), b"inputs"].concat();
        let model = load(file).unwrap();
        assert_eq!((model.graph().node_count(), model.provenance().losses.len()), (4, 0));
        let fact = model.provenance().stated.iter().find(|fact| fact.key == "inputs_to_try").unwrap();
        assert_eq!(fact.value, crate::StatedValue::Count(2));
    }
    let error = load(b"packed_model....".to_vec()).unwrap_err().to_string();
    assert!(error.contains("Lite"), "{error}");
}

#[test]
fn edges_behind_an_operator_of_unknown_outputs_are_left_out_and_told_in_the_older_form_only() {
    let operators = [
        Operator::new("Host2DeviceCopy", 0x21d0_9889_fd70_9229, "data", &[], 0, &[4]).with(
            "data",
            &[4],
            Vec::new(),
        ),
        Operator::new("Elemwise", 0xebb3_9bdd_9278_b6da, "first", &[0], 1, &[4]),
        Operator::new("Strange", 7, "strange", &[1], 2, &[4]),
        Operator::new("Elemwise", 0xebb3_9bdd_9278_b6da, "last", &[2], 3, &[4]),
    ];
    let older = load(model(Form::First, &operators, &[3])).unwrap();
    let losses = older.provenance().losses.join(";");
    for words in ["3 of the operators and outputs", "strange, last, the model's output 3", "type", "value 2"]
    {
        assert!(losses.contains(words), "{words}: {losses}");
    }
    assert_eq!(older.graph().node_by_name("strange").unwrap().proto.input, ["first"]);
    assert_eq!(older.graph().node_by_name("strange").unwrap().op_type, "type 0000000000000007");
    let newer = load(model(Form::Second, &operators, &[3])).unwrap();
    assert_eq!(newer.provenance().losses, [""; 0]);
    assert_eq!(newer.graph().node_by_name("last").unwrap().proto.input, ["strange"]);
}

#[test]
fn values_and_operators_without_names_and_with_the_same_get_their_own() {
    let unnamed =
        |inputs: &[i32], output| Operator::new("Elemwise", 0xebb3_9bdd_9278_b6da, "", inputs, output, &[]);
    let operators = [
        Operator::new("Host2DeviceCopy", 0x21d0_9889_fd70_9229, "", &[], 0, &[4]).with(
            "image",
            &[4],
            Vec::new(),
        ),
        unnamed(&[0], 1),
        unnamed(&[1], 2),
    ];
    for form in [Form::First, Form::Second] {
        let model = load(model(form, &operators, &[2])).unwrap();
        assert_eq!(model.provenance().losses, [""; 0], "{form:?}");
        let nodes: Vec<_> =
            model.graph().nodes().map(|node| (node.name.to_owned(), node.proto.input[0].clone())).collect();
        // The second operator reads the first one's value.
        let expected = [("Elemwise", "image"), ("Elemwise#2", "Elemwise")];
        assert_eq!(nodes, expected.map(|(name, input)| (name.to_owned(), input.to_owned())), "{form:?}");
    }
}

#[test]
fn a_file_that_is_cut_off_gives_what_it_has_and_says_what_it_lacks() {
    for form in [Form::First, Form::Second] {
        let whole = small(form);
        for length in 12..whole.len() - 16 {
            match load(whole[..length].to_vec()) {
                Ok(model) => assert!(!model.provenance().losses.is_empty(), "{form:?} {length}"),
                Err(error) => assert!(error.to_string().contains("MegEngine"), "{form:?} {length}: {error}"),
            }
        }
    }
}

#[test]
fn any_damage_is_survived() {
    for form in [Form::First, Form::Old, Form::Second] {
        let whole = small(form);
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = load(damaged);
            }
        }
    }
}

#[test]
fn a_hundred_thousand_operators_are_read() {
    let mut operators =
        vec![Operator::new("Host2DeviceCopy", 0x21d0_9889_fd70_9229, "n0", &[], 0, &[4]).with(
            "n0",
            &[4],
            Vec::new(),
        )];
    for number in 1..100_000 {
        let name = format!("n{number}");
        operators.push(Operator::new("Elemwise", 0xebb3_9bdd_9278_b6da, &name, &[number - 1], number, &[4]));
    }
    for form in [Form::First, Form::Second] {
        let model = load(model(form, &operators, &[99_999])).unwrap();
        assert_eq!((model.graph().node_count(), model.provenance().losses.len()), (99_999, 0));
    }
}
