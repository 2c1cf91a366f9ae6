//! `opscope fusion`: chains, switch files, the converter's command.

mod common;

use common::Place;

#[test]
fn a_detector_has_chains_and_each_says_where_it_stops() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let answer = place.done(&["fusion", &model]);
    assert!(answer.stdout.contains("Conv + BatchNormalization + Relu"), "{}", answer.stdout);
    assert!(answer.stdout.contains("stops:"), "{}", answer.stdout);
    let json = place.done(&["fusion", &model, "--json"]).json();
    let chains = json["chains"].as_array().unwrap();
    assert!(chains.iter().all(|chain| !chain["stop"].as_str().unwrap().is_empty()));
    for chain in chains {
        let limit = match chain["class"].as_str().unwrap() {
            "convolution" => 4,
            _ => 5,
        };
        assert!(chain["links"].as_array().unwrap().len() <= limit, "{chain}");
    }
}

#[test]
fn switch_files_have_the_form_of_each_converter_and_come_with_its_command() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let answer = place.done(&["fusion", &model, "--switch-file", "fusion_switch.cfg"]);
    let file: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("fusion_switch.cfg")).unwrap()).unwrap();
    assert_eq!(
        (&file["Switch"]["GraphFusion"]["ALL"], &file["Switch"]["UBFusion"]["ALL"]),
        (&"on".into(), &"on".into())
    );
    for word in [
        "atc",
        "--framework=5",
        "--soc_version=Ascend310",
        "--fusion_switch_file=fusion_switch.cfg",
        "--input_shape=image:1,3,260,260",
    ] {
        assert!(answer.stdout.contains(word), "no {word} in\n{}", answer.stdout);
    }
    let answer = place.done(&["fusion", &model, "--switch-file", "svp.cfg", "--target", "svp"]);
    let text = std::fs::read_to_string(place.path("svp.cfg")).unwrap();
    assert!(text.lines().all(|line| line.ends_with(":on") || line.ends_with(":off")), "{text}");
    assert!(text.contains("ReluMerge:on\n"));
    assert!(
        answer.stdout.contains("--soc_version=SS928V100") && answer.stdout.contains("--online_model_type=2")
    );
}

#[test]
fn what_is_no_model_or_cannot_be_written_is_named() {
    let place = Place::new();
    place.write("not.onnx", "no model");
    place.fails(1, &["not.onnx"], &["fusion", "not.onnx"]);
    let model = place.sample("mask-ssd");
    place.fails(1, &["nowhere"], &["fusion", &model, "--switch-file", "nowhere/x.cfg"]);
}
