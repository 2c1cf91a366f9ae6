//! `opscope advise` on models, runs and golden Ascend directories.

mod common;

use common::{Place, number};
use opscope_testing::companions;

/// The rules that found something, be it under another's id.
fn ids(json: &serde_json::Value) -> Vec<String> {
    let findings = json["findings"].as_array().expect("findings");
    let also = |finding: &serde_json::Value| finding["also"].as_array().expect("a list").clone();
    let all = findings.iter().flat_map(|finding| [vec![finding["id"].clone()], also(finding)].concat());
    all.map(|id| id.as_str().expect("an id").to_owned()).collect()
}

/// The findings of a rule.
fn of<'j>(json: &'j serde_json::Value, id: &str) -> Vec<&'j serde_json::Value> {
    json["findings"].as_array().expect("findings").iter().filter(|finding| finding["id"] == id).collect()
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
    let acts = json["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == "change");
    let shares: Vec<f64> = acts.filter_map(|finding| finding["share"].as_f64()).collect();
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    let text = place.done(&["advise", "a.db", "--model", &model]);
    for words in ["G01", "at most", "why", "documented"] {
        assert!(text.stdout.contains(words), "no {words} in\n{}", text.stdout);
    }
}

#[test]
fn what_an_engine_has_folded_is_done_and_no_saving() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let mut engines = vec!["tract"];
    if companions::onnx_runtime().is_some() {
        engines.push("ort");
    }
    for engine in engines {
        place.done(&[
            "run", &model, "-n", "3", "--warmup", "1", "--engine", engine, "--db", "a.db", "--quiet",
        ]);
        let json = place.done(&["advise", "a.db", "--model", &model, "--json"]).json();
        assert!(!ids(&json).contains(&"G01".to_owned()), "{engine}: {:?}", ids(&json));
        let done = json["done_already"].as_array().expect("a list");
        let folded = done.iter().find(|done| done["id"] == "G01").expect("the normalisations");
        assert_eq!(folded["places"], 18, "{engine}");
        let together = json["saves_together_at_most_ns"].as_f64().unwrap_or(0.0);
        assert!(together <= number(&json, "/operator_time_ns"), "{engine}: {json}");
        let text = place.done(&["advise", "a.db", "--model", &model]).stdout;
        assert!(text.contains("done already") && text.contains("behind a convolution (18)"), "{text}");
    }
}

/// A detector on an Ascend 310: Mish behind a convolution takes 39 % of a net of 23.299 ms, Caffe's
/// resize of 175 to 350 points comes after, and five operators are on the AI CPU.
const DETECTOR: &str = "\
Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats
conv1,Conv2D,AI_CORE,1,14190,\"1,32,608,608;32,32,3,3\",FLOAT16;FLOAT16,NCHW;NCHW,\"1,32,608,608\",FLOAT16,NCHW
softplus1,Softplus,AI_CORE,14200,4000,\"1,32,608,608\",FLOAT16,NCHW,\"1,32,608,608\",FLOAT16,NCHW
tanh1,Tanh,AI_CORE,18201,3000,\"1,32,608,608\",FLOAT16,NCHW,\"1,32,608,608\",FLOAT16,NCHW
mul1,Mul,AI_CORE,21202,2109,\"1,32,608,608;1,32,608,608\",FLOAT16;FLOAT16,NCHW;NCHW,\"1,32,608,608\",FLOAT16,NCHW
";
const REST: &str = "\
pow1,Pow,AI_CPU,30000,300,\"1,32,20,20;1\",FLOAT;FLOAT,NCHW;ND,\"1,32,20,20\",FLOAT,NCHW
nms1,NonMaxSuppressionV6,AI_CPU,31000,500,\"1,100,4;1,1,100;1\",FLOAT;FLOAT;INT64,ND;ND;ND,\"20,3\",INT64,ND
gather1,GatherV2,AI_CPU,32000,200,\"1,100,4;20\",FLOAT;INT64,ND;ND,\"1,20,4\",FLOAT,ND
cast1,Cast,AI_CPU,33000,100,\"1,100\",DOUBLE,ND,\"1,100\",FLOAT,ND
topk1,TopK,AI_CPU,34000,250,\"1,8400;1\",FLOAT;INT64,ND;ND,\"1,100;1,100\",FLOAT;INT64,ND;ND
interp1,Interp,AI_CORE,35000,20000,\"1,18,175,175\",FLOAT16,NCHW,\"1,18,350,350\",FLOAT16,NCHW
";

#[test]
fn mish_is_found_in_a_profile_alone_with_its_cost_and_its_honest_price() {
    let place = Place::new();
    place.write("op_summary_0.csv", DETECTOR);
    let json = place.done(&["advise", "op_summary_0.csv", "--target", "cann-310", "--json"]).json();
    let [mish] = of(&json, "G05")[..] else { panic!("{:?}", ids(&json)) };
    assert_eq!(mish["saves_at_most_ns"], 9_109_000);
    assert!((number(mish, "/share") - 0.391).abs() < 0.0005, "{mish}");
    let text = place.done(&["advise", "op_summary_0.csv", "--target", "cann-310"]).stdout;
    for words in ["Mish in 1 place", "39.1 %", "no operator for Mish", "LeakyRelu", "trained again", "lossy"]
    {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    // With the model, the command makes nothing that the chip lacks.
    let model = place.sample("yolo-mish");
    let text = place.done(&["advise", &model, "--target", "cann-310", "-t", "0"]).stdout.replace('\n', " ");
    assert!(text.contains("--only G05b --allow-lossy") && !text.contains("G05a"), "{text}");
}

#[test]
fn each_cause_on_the_ai_cpu_is_a_finding_and_where_says_it_too() {
    let place = Place::new();
    place.write("op_summary_0.csv", format!("{DETECTOR}{REST}"));
    let json =
        place.done(&["advise", "op_summary_0.csv", "--target", "cann-310", "-t", "0", "--json"]).json();
    let mut seen = std::collections::BTreeSet::new();
    for (name, op_type) in
        [("pow1", "Pow"), ("nms1", "NonMaxSuppressionV6"), ("gather1", "GatherV2"), ("topk1", "TopK")]
    {
        let findings = json["findings"].as_array().expect("findings");
        let titled = format!("{op_type} on the AI CPU");
        let found: Vec<_> = findings.iter().filter(|finding| finding["title"] == *titled).collect();
        let [finding] = found[..] else { panic!("{titled}: {:?}", ids(&json)) };
        assert_eq!(finding["evidence"][0]["name"], name);
        assert!(seen.insert(finding["why"].to_string()) && seen.insert(finding["advice"].to_string()));
        let located = place.done(&["where", op_type, "op_summary_0.csv", "--json"]).json();
        let because = located["locations"][0]["because"].as_str().expect("a reason");
        assert_eq!(finding["why"], format!("{because}."));
        let text = place.done(&["where", op_type, "op_summary_0.csv"]).stdout;
        assert!(text.contains(&format!("Why {op_type} is there: ")) && text.contains("Instead: "), "{text}");
    }
    let text = place.done(&["where", "conv1", "op_summary_0.csv"]).stdout;
    assert!(!text.contains("Why "), "the AI Core is where it belongs: {text}");
    // The resize comes with sizes that are fast, without a model.
    let [resize] = of(&json, "G09")[..] else { panic!("{:?}", ids(&json)) };
    let detail = resize["evidence"][0]["detail"].as_str().expect("sizes");
    assert!(detail.contains("take 176 to 351"), "{detail}");
}

#[test]
fn what_could_not_be_asked_is_a_line_that_names_what_to_give_next() {
    let place = Place::new();
    place.write("op_summary_0.csv", DETECTOR);
    let text = place.done(&["advise", "op_summary_0.csv"]).stdout;
    let [line] = text.lines().filter(|line| line.starts_with("not asked")).collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    assert!(line.contains("the model (--model)") && line.contains("-v lists all"), "{line}");
    let listed = place.done(&["-v", "advise", "op_summary_0.csv"]).stdout;
    assert!(listed.contains("for lack of") && listed.contains("the metric memory_bound: A11"), "{listed}");
    let model = place.sample("mask-ssd");
    let alone = place.done(&["advise", &model]).stdout;
    assert!(alone.contains("next best to give: a profile"), "{alone}");
}

#[test]
fn what_is_silenced_is_silent_wherever_findings_are_printed() {
    let place = Place::new();
    place.done(&["sample", "prof", "-o", "prof"]);
    let report = |place: &Place| place.done(&["export", "summary", "prof"]);
    assert!(report(&place).stdout.contains("fewer blocks than cores"));
    place.write("opscope.toml", "silence = [\"A20\", \"A33\", \"rule_vector_ratio_1\"]\n");
    let silent = report(&place);
    for words in ["fewer blocks than cores", "vector unit is busy less"] {
        assert!(!silent.stdout.contains(words), "{}", silent.stdout);
    }
    assert!(silent.stderr.contains("rule_block_dim_1, rule_vector_ratio_1"), "{}", silent.stderr);
    let folder = std::fs::read_dir(place.path("prof")).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read_to_string(folder.join("summary/prof_rule_0.json")).unwrap();
    assert!(!kept.contains("rule_block_dim_1") && kept.contains("rule_cube_ratio_1"), "{kept}");
    assert!(!ids(&place.done(&["advise", "prof", "-t", "0", "--json"]).json()).contains(&"A20".to_owned()));
    // A suspected sleep is silent in comparisons and gates as well.
    let before = DETECTOR;
    let after = DETECTOR.replace("1,14190,", "1,5014190,");
    place.write("before.csv", before);
    place.write("after.csv", after);
    let compare = |place: &Place| place.done(&["compare", "before.csv", "after.csv"]).stdout;
    assert!(!compare(&place).contains("A33"));
    std::fs::remove_file(place.path("opscope.toml")).unwrap();
    assert!(compare(&place).contains("A33"), "{}", compare(&place));
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
    let Some(golden) = companions::shared("golden/ascend/910b_static/input") else { return };
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
fn a_library_of_operators_says_why_the_cores_have_none_for_what_ran_on_the_ai_cpu() {
    let place = Place::new();
    place.write("op_summary_0.csv", format!("{DETECTOR}{REST}"));
    let library = r#"{"Pow": {"input0": {"name": "x1", "dtype": "float16,float"}},
        "Conv2D": {"input0": {"name": "x", "dtype": "float16"}}}"#;
    place.write("aic-ascend310-ops-info.json", library);
    place.write("more.ini", "[GatherV2]\ninput0.name=x\ninput0.dtype=float16,float\ninput1.dtype=int32\n");
    let ask = ["advise", "op_summary_0.csv", "--target", "cann-310", "-t", "0", "--json"];
    let files = ["--ops-info", "aic-ascend310-ops-info.json", "--ops-info", "more.ini"];
    let why = |words: &[&str], op_type: &str| {
        let json = place.done(words).json();
        let findings = json["findings"].as_array().unwrap().clone();
        let title = format!("{op_type} on the AI CPU");
        let found = findings.into_iter().find(|finding| finding["title"].as_str() == Some(&*title));
        found.unwrap_or_else(|| panic!("{title}: {json}"))["why"].as_str().unwrap().to_owned()
    };
    for (op_type, said) in [
        ("Pow", "for inputs of float, float16 the operator information library lists it."),
        (
            "GatherV2",
            "the operator information library lists it with float, float16, int32, not with int64 as here.",
        ),
        ("TopK", "the operator information library has no such operator."),
    ] {
        let told = why(&[&ask[..], &files].concat(), op_type);
        assert!(told.ends_with(&format!("; {said}")), "{op_type}: {told}");
        assert_eq!(
            format!("{}; {said}", why(&ask, op_type).trim_end_matches('.')),
            told,
            "the reason before stays"
        );
    }
    let chinese = place.done(&[&ask[..6], &files, &["--lang", "zh"]].concat()).stdout;
    let on_one_line: String = chinese.split_whitespace().collect();
    for said in ["；算子信息库中没有该算子", "，不支持此处的int64"] {
        assert!(on_one_line.contains(said), "{chinese}");
    }
    place.fails(
        1,
        &["op_summary_0.csv", "no operator information library"],
        &[&ask[..], &["--ops-info", "op_summary_0.csv"]].concat(),
    );
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
    let list = place.done(&["advise", "--list", "--json"]).json();
    assert!(list["rules"].as_array().is_some_and(|rules| rules.len() > 100), "{list:#}");
    let page = place.done(&["advise", "--explain", "a29", "--json"]).json();
    assert_eq!((&page["id"], &page["name"]), (&"A29".into(), &"fusion-pass-miss".into()));
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

#[test]
fn the_mark_of_the_end_is_missed_only_where_collections_write_one() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("JOBABC/summary")).expect("a writable temporary folder");
    let board = "Layer Id,Layer Name,Layer Type,Time(us)\n0,conv1,Convolution,12.5\n";
    place.write("JOBABC/info.json.0", "{}");
    place.write("JOBABC/summary/op_summary_0.net.1.1.1.1.0.600.csv", board);
    assert_eq!(asked_for_the_end(&place, "JOBABC"), (false, false), "boards write no such mark");
    let raw = place.done(&["sample", "prof", "-o", "out", "--tasks", "200", "--quiet"]).stdout;
    std::fs::rename(place.path(raw.trim()), place.path("kept")).unwrap();
    assert_eq!(asked_for_the_end(&place, "kept"), (true, false), "a raw directory of any name");
    std::fs::remove_file(place.path("kept/device_0/end_info.0")).unwrap();
    std::fs::remove_file(place.path("kept/host/end_info")).unwrap();
    assert_eq!(asked_for_the_end(&place, "kept"), (true, true), "one that was cut off");
    let Some(golden) = companions::shared("golden/ascend/310_static/input") else { return };
    let raw = std::fs::read_dir(&golden).unwrap().flatten().map(|entry| entry.path());
    let raw = raw.into_iter().find(|path| path.is_dir() && path.to_string_lossy().contains("PROF_"));
    let raw = raw.expect("a raw directory in the golden input");
    assert!(asked_for_the_end(&place, raw.to_str().unwrap()).0);
}

/// Whether the rule on the mark of the end was asked, and whether it was found missing.
fn asked_for_the_end(place: &Place, profile: &str) -> (bool, bool) {
    let answer = place.done(&["advise", profile, "--json"]).json();
    let names = |list: &str| answer[list].as_array().unwrap().iter().any(|it| it["id"] == "E05");
    (!names("not_run"), names("findings"))
}

#[test]
fn advice_is_the_same_to_the_byte_in_every_process() {
    let place = Place::new();
    // Its savings add up to a hair beside a whole nanosecond, so that their order decides about that.
    let raw =
        place.done(&["sample", "prof", "-o", ".", "--tasks", "1500", "--chip", "910b", "--quiet"]).stdout;
    let ask = || place.done(&["advise", raw.trim(), "--json"]).stdout;
    let first = ask();
    assert!(first.contains("saves_at_most_ns"), "{first}");
    for _ in 0..7 {
        assert_eq!(first, ask());
    }
}

/// The profile and the layers of a TensorRT engine: name, type, layouts, microseconds on average.
fn tensorrt(place: &Place, folder: &str, layers: &[(&str, &str, [&str; 2], f64)]) {
    std::fs::create_dir(place.path(folder)).expect("a folder");
    let profile = layers.iter().map(|(name, _, _, time)| {
        format!(r#"{{"name": "{name}", "timeMs": {time}, "averageMs": {}, "percentage": 1}}"#, time / 1e3)
    });
    let profile: Vec<_> = std::iter::once(r#"{"count": 1000}"#.to_owned()).chain(profile).collect();
    place.write(&format!("{folder}/p.json"), format!("[{}]", profile.join(",")));
    let layers = layers.iter().map(|(name, op_type, layouts, _)| {
        let [input, output] =
            layouts.map(|it| format!(r#"[{{"Name": "x", "Dimensions": [1,8], "Format/Datatype": "{it}"}}]"#));
        format!(r#"{{"Name": "{name}", "LayerType": "{op_type}", "Inputs": {input}, "Outputs": {output}}}"#)
    });
    let layers = layers.collect::<Vec<_>>().join(",");
    place.write(&format!("{folder}/layers.json"), format!(r#"{{"Layers": [{layers}], "Bindings": []}}"#));
}

#[test]
fn layers_of_tensorrt_are_advised_on_by_the_times_and_layouts_of_the_file() {
    let place = Place::new();
    let (half, linear) = ("Thirty-two wide row major FP16 format", "Row major linear FP32");
    let wide = "Thirty-two wide row major Int8 format";
    let layers = [
        ("Conv_1", "CaskConvolution", [wide, wide], 20.0),
        ("Conv_2", "CaskConvolution", [wide, wide], 30.0),
        ("Conv_3", "CaskConvolution", [wide, wide], 5.5),
        ("QuantizeLinear_4", "Reformat", [linear, wide], 6.0),
        ("Reformatting CopyNode for Input Tensor 0 to Conv_1", "Reformat", [half, wide], 7.0),
        ("Reformatting CopyNode for Input Tensor 0 to Conv_2", "Reformat", [linear, half], 8.0),
        ("Reformatting CopyNode for Input Tensor 0 to Conv_3", "NoOp", [half, half], 0.0),
        ("Reformatting CopyNode for Output Tensor 0 to Conv_3", "NoOp", [half, half], 0.0),
    ];
    tensorrt(&place, "run", &layers);
    // Without the profiler an inference takes half as long.
    let inference = |at: u32| {
        format!(
            r#"{{"startEnqMs": {at}, "endEnqMs": {at}.1, "startComputeMs": {at}, "endComputeMs": {at}.04,
                "computeMs": 0.04, "latencyMs": 0.04, "startH2dMs": {at}, "endH2dMs": {at}, "startD2hMs": {at}.04,
                "endD2hMs": {at}.04, "h2dMs": 0, "d2hMs": 0}}"#
        )
    };
    let times: Vec<_> = (1..9).map(inference).collect();
    place.write("run/times.json", format!("[{}]", times.join(",")));
    let analyzed = place.done(&["analyze", "run", "--json"]).json();
    assert_eq!(number(&analyzed, "/latency/median_ns"), 40_000.0);
    assert_eq!(number(&analyzed, "/overview/operator_time_ns"), 76_500.0);
    let advised = place.done(&["advise", "run", "--json"]).json();
    assert!(place.done(&["advise", "run"]).stdout.contains("76.5 µs in operators"));
    let [copies] = of(&advised, "H08")[..] else { panic!("{advised}") };
    assert_eq!(number(copies, "/saves_at_most_ns"), 8_000.0, "the one that changes a layout: {copies}");
    // None of six is below 5 us, and what takes no time isn't executed.
    assert!(of(&advised, "H06").is_empty(), "{advised}");

    let part = "{conv1,relu1} output reformatter 0";
    tensorrt(
        &place,
        "part",
        &[("{conv1,relu1}", "DLA", [half, half], 100.0), (part, "", [half, linear], 900.0)],
    );
    std::fs::remove_file(place.path("part/layers.json")).expect("a file");
    assert!(of(&place.done(&["advise", "part", "--json"]).json(), "H08").is_empty(), "it waits for the part");
}

#[test]
fn mish_is_found_by_what_engines_state_of_shared_types_and_else_by_names() {
    let place = Place::new();
    let note = |path: &str| {
        let json = place.done(&["advise", path, "--json"]).json();
        let [mish] = of(&json, "G05")[..] else { panic!("{path}: {json}") };
        mish["note"].as_str().expect("a note").to_owned()
    };
    let told = "by names where types leave them open";
    // Layers of no telling names: the description states what each computes.
    let layers = [
        ("a", r#""Convolution""#),
        ("b", r#""Activation", "ActivationType": "SOFTPLUS""#),
        ("c", r#""Activation", "ActivationType": "TANH""#),
        ("d", r#""ElementWise", "Operation": "PROD""#),
    ];
    let value = r#"[{"Name": "x", "Dimensions": [1,8,4,4], "Format/Datatype": "Row major linear FP16"}]"#;
    let described = layers.map(|(name, op_type)| {
        format!(r#"{{"Name": "{name}", "LayerType": {op_type}, "Inputs": {value}, "Outputs": {value}}}"#)
    });
    let time =
        |name: &str| format!(r#"{{"name": "{name}", "timeMs": 4, "averageMs": 0.4, "percentage": 25}}"#);
    let profile = |names: [&str; 4]| format!(r#"[{{"count": 10}}, {}]"#, names.map(time).join(","));
    std::fs::create_dir(place.path("run")).expect("a folder");
    place.write("run/profile.json", profile(["a", "b", "c", "d"]));
    place.write("run/layers.json", format!(r#"{{"Layers": [{}], "Bindings": []}}"#, described.join(",")));
    assert!(!note("run").contains(told));

    place.write("names.json", profile(["Convolution_1", "Softplus_2", "Tanh_3", "Mul_4"]));
    assert!(note("names.json").contains(told));

    let row = |(name, op_type): (&str, &str)| format!("{name};EXECUTED;{op_type};jit;0.400;0.400;\n");
    let rows =
        [("Conv_1", "Convolution"), ("SoftPlus_2", "Eltwise"), ("Tanh_3", "Eltwise"), ("Mul_4", "Eltwise")];
    let head = "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\n";
    place.write("counters.csv", format!("{head}{}Total;;;;1.600;1.600;\n", rows.map(row).concat()));
    assert!(note("counters.csv").contains(told));
}
