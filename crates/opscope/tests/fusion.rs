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

/// The fusions that the converter tells, in the form of its file.
const RESULT: &str = r#"{
    "session_and_graph_id_0_0": {
        "graph_fusion": {
            "ConvBatchnormFusionPass": {"effect_times": "20", "match_times": "22"},
            "AReduceMeanFusionPass": {"effect_times": "1", "match_times": "1"}
        },
        "ub_fusion": {
            "TbeConvDoubleInFusionPass": {"effect_times": "0", "match_times": "3", "repository_hit_times": "0"}
        }
    }
}"#;

#[test]
fn what_the_converter_was_told_and_did_is_read_and_used() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.write(
        "off.cfg",
        r#"{"Switch": {"GraphFusion": {"ConvBatchnormFusionPass": "off"}, "UBFusion": {"ALL": "off"}}}"#,
    );
    place.write("fusion_result.json", RESULT);
    place.write(
        "convert.sh",
        "#!/bin/bash\natc --model=mask.onnx --framework=5 --output=mask --soc_version=Ascend310 \\\n  \
         --input_shape=\"picture:1,3,260,260\" --fusion_switch_file=off.cfg\n",
    );
    let answer = place.done(&[
        "fusion",
        &model,
        "--converter",
        "convert.sh",
        "--fusion-result",
        "fusion_result.json",
        "--switch-file",
        "on.cfg",
    ]);
    for text in [
        "off: ConvBatchnormFusionPass (graph fusion), ALL (UB fusion)",
        "graph fusion took effect 21 times by 2 rules",
        "TbeConvDoubleInFusionPass",
        "matched 22 times and took effect 20 times",
        "took effect although the switch file turns it off",
        "--input_shape names `picture`, but the model's inputs are image",
        // The user's own command, with the new file in the place of the old one.
        "--model=mask.onnx \\\n    --framework=5",
        "--fusion_switch_file=on.cfg",
    ] {
        assert!(answer.stdout.contains(text), "no {text} in\n{}", answer.stdout);
    }
    assert!(!answer.stdout.contains("--fusion_switch_file=off.cfg"), "{}", answer.stdout);
    // Without a model, and by content: the file itself is enough.
    let json = place.done(&["fusion", "fusion_result.json", "--json"]).json();
    assert_eq!(json["conversion"]["fusion_result"]["passes"].as_array().unwrap().len(), 3);
    let json = place.done(&["fusion", "--switches", "off.cfg", "--json"]).json();
    assert_eq!(json["conversion"]["off"], serde_json::json!(["ConvBatchnormFusionPass", "ALL"]));
}

#[test]
fn the_target_of_advice_follows_from_the_converters_command() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.write("off.cfg", r#"{"Switch": {"GraphFusion": {"ConvBatchnormFusionPass": "off"}}}"#);
    place.write(
        "convert.sh",
        "atc --model=mask.onnx --framework=5 --output=mask --soc_version=Ascend310 --fusion_switch_file=off.cfg\n",
    );
    let answer = place.done(&["advise", &model, "--converter", "convert.sh"]);
    assert!(answer.stdout.contains("target cann-310") && answer.stdout.contains("C01"), "{}", answer.stdout);
    assert!(answer.stderr.contains("--soc_version=Ascend310"), "{}", answer.stderr);
    let answer = place.done(&["advise", &model, "--converter", "convert.sh", "--target", "ort"]);
    assert!(answer.stdout.contains("target ort"), "{}", answer.stdout);
}

#[test]
fn switches_of_a_board_come_as_lines_or_inline() {
    let place = Place::new();
    place.write("lines.cfg", "ReluMerge:off\nBiasMergeToConv:on\n");
    for switches in ["lines.cfg", "ReluMerge:off;BiasMergeToConv:on"] {
        let answer = place.done(&["fusion", "--switches", switches]);
        assert!(answer.stdout.contains("off: ReluMerge"), "{}", answer.stdout);
    }
    place.write("json.cfg", r#"{"Switch": {"GraphFusion": {"ALL": "on"}}}"#);
    let answer = place.done(&["fusion", "--switches", "json.cfg", "--target", "svp"]);
    assert!(answer.stdout.contains("doesn't take"), "{}", answer.stdout);
    place.fails(1, &["neither a file of this name nor a rule"], &["fusion", "--switches", "nowhere.cfg"]);
    place.write("result.json", RESULT);
    place.fails(1, &["result.json", "--fusion-result"], &["fusion", "--switches", "result.json"]);
}

#[test]
fn other_commands_know_the_converters_files_by_their_content() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.write("any.txt", "ConvBatchnormFusionPass:off\n");
    place.write("result.json", RESULT);
    place.write("convert.sh", "atc --model=m.onnx --framework=3 --output=m --soc_version=Ascend310\n");
    for (file, texts) in [
        ("any.txt", ["fusion switch file", "off: ConvBatchnormFusionPass"]),
        ("result.json", ["what its fusion rules did", "ConvBatchnormFusionPass"]),
        ("convert.sh", ["a command of the model converter", "TensorFlow, but the model is a .onnx file"]),
    ] {
        let answer = place.done(&["info", file]);
        for text in texts {
            assert!(answer.stdout.contains(text), "no {text} in\n{}", answer.stdout);
        }
        place.fails(2, &["opscope fusion shows it"], &["advise", file]);
    }
    let advise = |arguments: &[&str]| {
        let mut all = vec!["advise", &*model, "--target", "cann-310", "-t", "0", "--json"];
        all.extend(arguments);
        let json = place.done(&all).json();
        let findings = json["findings"].as_array().unwrap().clone();
        findings.iter().map(|it| it["id"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let found =
        advise(&["--switches", "any.txt", "--fusion-result", "result.json", "--converter", "convert.sh"]);
    assert!(["C01", "C02", "C03"].iter().all(|id| found.iter().any(|it| it == id)), "{found:?}");
    let found = advise(&[]);
    assert!(found.iter().all(|id| !id.starts_with('C')), "{found:?}");
}

#[test]
fn a_batch_is_split_by_the_size_of_the_chips_l2_and_not_without_one() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let split = |arguments: &[&str]| {
        let mut all = vec!["fusion", &*model, "--json"];
        all.extend(arguments);
        place.done(&all).json()["batch_split"].clone()
    };
    // A single picture needs no split, and of a board's chip no size is published.
    assert!(split(&[]).is_null());
    let text = place.done(&["fusion", &model]).stdout;
    assert!(!text.contains("tasks of"), "{text}");
    place.fails(2, &["--soc-version"], &["fusion", &model, "--target", "cann", "--switch-file", "x.cfg"]);
}

#[test]
fn commands_about_profiles_say_for_whom_a_file_of_the_converter_is() {
    let place = Place::new();
    place.write(
        "fusion_result.json",
        r#"[{"graph_fusion": {"MishFusionPass": {"effect_times": "0", "match_times": "2"}}, "graph_id": "0",
            "session_id": "0", "session_and_graph_id": "0_0", "ub_fusion": {}}]"#,
    );
    for command in
        [&["analyze", "fusion_result.json"][..], &["compare", "fusion_result.json", "fusion_result.json"]]
    {
        place.fails(1, &["fusion_result.json", "opscope fusion", "--fusion-result"], command);
    }
}
