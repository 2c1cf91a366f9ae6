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
