//! `opscope advise` on models, runs and golden Ascend directories.

mod common;

use common::{Place, number, shared};

fn ids(json: &serde_json::Value) -> Vec<String> {
    let findings = json["findings"].as_array().expect("findings");
    findings.iter().map(|finding| finding["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_model_alone_gets_the_rules_about_graphs() {
    let place = Place::new();
    let model = place.sample("yolo-mish");
    let json = place.done(&["advise", &model, "--target", "cann-310", "--json"]).json();
    let found = ids(&json);
    for id in ["A34", "G05", "G06"] {
        assert!(found.contains(&id.to_owned()), "no {id} in {found:?}");
    }
    assert_eq!(json["target"], "cann-310");
    let missing = json["not_run"].as_array().unwrap();
    assert!(missing.iter().any(|rule| rule["id"] == "A11"), "{missing:?}");
}

#[test]
fn a_run_with_its_model_ranks_by_what_could_be_saved() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.done(&[
        "run",
        &model,
        "-n",
        "5",
        "--warmup",
        "1",
        "--threads",
        "1",
        "--optimize",
        "off",
        "--db",
        "a.db",
    ]);
    let json = place.done(&["advise", "a.db", "--model", &model, "--json"]).json();
    assert_eq!(json["target"], "tract");
    let found = ids(&json);
    assert!(found.contains(&"G01".to_owned()) && found.contains(&"H09".to_owned()), "{found:?}");
    let fold = json["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "G01").unwrap();
    assert!(number(fold, "/saves_at_most_ns") > 0.0 && number(fold, "/share") < 1.0);
    assert!(number(fold, "/evidence/0/time_ns") > 0.0);
    let shares: Vec<f64> =
        json["findings"].as_array().unwrap().iter().filter_map(|finding| finding["share"].as_f64()).collect();
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    let text = place.done(&["advise", "a.db", "--model", &model]);
    for words in ["G01", "at most", "why", "documented"] {
        assert!(text.stdout.contains(words), "no {words} in\n{}", text.stdout);
    }
}

#[test]
fn an_operator_in_pieces_costs_what_all_of_them_cost() {
    let place = Place::new();
    let model = place.sample("yolo-mish");
    place.done(&["run", &model, "-n", "2", "--warmup", "0", "--optimize", "off", "--db", "a.db"]);
    let json = place.done(&["advise", "a.db", "--model", &model, "--json"]).json();
    let mish = json["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "G05").unwrap();
    let softplus =
        "SELECT sum(duration_ns) / 2.0 AS time FROM operator_executions WHERE op_type = 'Softplus'";
    let softplus = place.done(&["sql", "a.db", softplus, "--json"]).json();
    let softplus = softplus["rows"][0]["time"].as_f64().expect("the time of the costliest piece");
    assert!(softplus > 0.0 && number(mish, "/saves_at_most_ns") > softplus, "{mish}\n{softplus}");
}

#[test]
fn golden_directories_show_what_they_were_made_with() {
    let Some(golden) = shared("advise", "golden/ascend/910b_static/input") else { return };
    let place = Place::new();
    let advise = |case: &str, arguments: &[&str]| {
        let folder = golden.join(format!("../../{case}/input"));
        let folder = folder.to_str().expect("a path").to_owned();
        place.done(&[&["advise", &folder, "--json", "-t", "0"], arguments].concat()).json()
    };
    let json = advise("910b_static", &[]);
    assert_eq!(json["target"], "cann");
    let found = ids(&json);
    // It has operators on the AI CPU, and counters of the pipelines.
    assert!(found.contains(&"A04".to_owned()), "{found:?}");
    let asked = |json: &serde_json::Value, id: &str| {
        !json["not_run"].as_array().unwrap().iter().any(|it| it["id"] == id)
    };
    assert!(asked(&json, "A17") && asked(&json, "A25") && asked(&json, "A20"));
    assert!(!asked(&json, "A19"), "bank conflicts are counted in another group");
    let json = advise("910b_pmu_ResourceConflictRatio", &[]);
    assert!(asked(&json, "A19") && ids(&json).contains(&"A19".to_owned()), "{:?}", ids(&json));
    let json = advise("310_pmu_Memory", &[]);
    assert_eq!(json["target"], "cann-310");
    assert!(asked(&json, "A13"));
    let json = advise("310_static", &[]);
    assert!(asked(&json, "A11") && asked(&json, "A12"), "{}", json["not_run"]);
    let silent = advise("310_static", &["--silence", "a*"]);
    assert!(ids(&silent).iter().all(|id| !id.starts_with('A')));
}

#[test]
fn settings_in_the_folder_are_used_and_those_of_an_option_go_before() {
    let place = Place::new();
    let model = place.sample("yolo-mish");
    place.write("opscope.toml", "silence = [\"G05\"]\n");
    assert!(!ids(&place.done(&["advise", &model, "--json"]).json()).contains(&"G05".to_owned()));
    place.write("other.toml", "[thresholds]\nA34.multiple = 7\n");
    let json = place.done(&["advise", &model, "--rules", "other.toml", "--target", "cann", "--json"]).json();
    assert!(ids(&json).contains(&"G05".to_owned()) && ids(&json).contains(&"A34".to_owned()));
    place.write("bad.toml", "[thresholds]\nA05.us = 1\n");
    place.fails(1, &["bad.toml", "A05", "min_us"], &["advise", &model, "--rules", "bad.toml"]);
}

#[test]
fn pages_come_in_english_and_chinese() {
    let place = Place::new();
    let english = place.done(&["advise", "--explain", "a29"]).stdout;
    assert!(english.contains("A29 fusion-pass-miss") && english.contains("7.209 ms"), "{english}");
    let chinese = place.done(&["advise", "--explain", "A29", "--lang", "zh"]).stdout;
    assert!(chinese.contains("可融合的算子没有融合") && chinese.contains("原因"), "{chinese}");
    let list = place.done(&["advise", "--list"]).stdout;
    assert!(list.lines().count() > 100 && list.contains("transdata-count"));
    place.fails(2, &["did you mean"], &["advise", "--explain", "A99"]);
}

#[test]
fn mistakes_and_mismatches_are_told() {
    let place = Place::new();
    let (ssd, yolo) = (place.sample("mask-ssd"), place.sample("yolo-mish"));
    place.fails(2, &["required"], &["advise"]);
    place.fails(1, &["no such file"], &["advise", "missing.db"]);
    place.fails(2, &["--model"], &["advise", &ssd, "--model", &yolo]);
    place.fails(2, &["cann-310"], &["advise", &ssd, "--target", "gpu"]);
    place.write(
        "op_summary_1.csv",
        "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\na,Conv2D,AI_CORE,1,5\n",
    );
    let answer = place.done(&["advise", "op_summary_1.csv", "--model", &ssd]);
    assert!(answer.stderr.contains("another model"), "{}", answer.stderr);
}

#[test]
fn what_advise_says_of_rewrites_is_what_rewrite_does() {
    let place = Place::new();
    for sample in ["mask-ssd", "yolo-mish", "encoder", "mobilenet-v2"] {
        let model = place.sample(sample);
        let report = place.done(&["advise", &model, "--target", "cann-310", "--top", "0", "--json"]).json();
        let findings = report["findings"].as_array().expect("findings");
        for finding in findings.iter().filter(|finding| finding["rewrites"]["options"].is_string()) {
            for ability in finding["rewrites"]["applicable"].as_array().expect("rewrites") {
                let id = ability["id"].as_str().expect("an id");
                let opset = ability["opset"].as_i64().map(|opset| opset.to_string());
                let mut arguments = vec!["rewrite", &model, "--dry-run", "--json", "--only", id];
                arguments.extend(opset.iter().flat_map(|opset| ["--opset", opset]));
                arguments.extend((ability["lossy"] == true).then_some("--allow-lossy"));
                let done = place.done(&arguments).json();
                let count = done["applications"].as_array().map(Vec::len);
                assert_eq!(count.map(|count| count as u64), ability["places"].as_u64(), "{sample}: {id}");
            }
        }
        // And what rewrite does by itself, advise says.
        let done = place.done(&["rewrite", &model, "--dry-run", "--json"]).json();
        for application in done["applications"].as_array().expect("applications") {
            let id = &application["id"].as_str().expect("an id")[..3];
            assert!(ids(&report).iter().any(|found| found == id), "{sample}: rewrite does {id}");
        }
    }
}

#[test]
fn a_command_that_advise_prints_can_be_run_as_it_stands() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let text = place.done(&["advise", &model, "--target", "ort"]).stdout.replace('\n', " ");
    let words: Vec<&str> = text.split_whitespace().skip_while(|word| *word != "opscope").collect();
    let command: Vec<&str> = words.into_iter().skip(1).take_while(|word| !word.starts_with('(')).collect();
    assert_eq!(command[..2], ["rewrite", &*model], "{text}");
    place.done(&command);
    assert!(place.path("OUT.onnx").exists());
}

#[test]
fn runs_with_other_threads_let_the_rule_about_them_be_asked() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    for (file, threads) in [("one.db", "1"), ("two.db", "2")] {
        place.done(&[
            "run",
            &model,
            "-n",
            "4",
            "--warmup",
            "0",
            "--threads",
            threads,
            "--db",
            file,
            "--quiet",
        ]);
    }
    let alone = place.done(&["advise", "one.db", "--json"]).json();
    let is_not_run = |report: &serde_json::Value, id: &str| {
        report["not_run"].as_array().expect("a list").iter().any(|rule| rule["id"] == id)
    };
    assert!(is_not_run(&alone, "H03") && is_not_run(&alone, "H04"));
    let swept = place.done(&["advise", "one.db", "--sweep", "two.db", "--json"]).json();
    assert!(!is_not_run(&swept, "H03") && is_not_run(&swept, "H04"), "{}", swept["not_run"]);
}

#[test]
fn every_rule_of_the_list_has_a_page_in_both_languages() {
    let place = Place::new();
    let list = place.done(&["advise", "--list"]).stdout;
    let ids: Vec<&str> = list.split_whitespace().filter(|word| is_id(word)).collect();
    for id in ["A07", "E03", "E04", "H03", "H04", "H07", "H13", "H14", "V13"] {
        assert!(ids.contains(&id), "no {id}");
    }
    for id in ids.iter().step_by(7) {
        let page = place.done(&["advise", "--explain", id]).stdout;
        assert!(page.starts_with(id) && page.contains("What to do"), "{page}");
        assert!(place.done(&["advise", "--explain", id, "--lang", "zh"]).stdout.contains("建议"), "{id}");
    }
}

fn is_id(word: &str) -> bool {
    matches!(word.as_bytes(), [b'A' | b'S' | b'E' | b'G' | b'H' | b'V', a, b] if a.is_ascii_digit() && b.is_ascii_digit())
}

#[test]
fn open_dimensions_can_be_given_and_wrong_ones_are_named() {
    let place = Place::new();
    let model = place.sample("encoder");
    place.fails(2, &["nonsense"], &["advise", &model, "--dim", "nonsense=4"]);
    place.fails(2, &["no input named"], &["advise", &model, "--input", "picture=1x3x8x8"]);
}

#[test]
fn peaks_tell_which_operators_are_far_from_them() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.done(&["run", &model, "-n", "3", "--warmup", "1", "--threads", "1", "--db", "a.db", "--quiet"]);
    // No machine computes a billion billion operations a second, so all are far from the roof.
    let peaks = ["--peak-flops", "1000000TFLOPS", "--peak-bandwidth", "1000000TB/s"];
    let arguments: Vec<&str> = ["advise", "a.db", "--json"].into_iter().chain(peaks).collect();
    assert!(ids(&place.done(&arguments).json()).contains(&"H07".to_owned()));
    let slow = ["advise", "a.db", "--json", "--peak-flops", "1MFLOPS", "--peak-bandwidth", "1MB/s"];
    assert!(!ids(&place.done(&slow).json()).contains(&"H07".to_owned()));
}
