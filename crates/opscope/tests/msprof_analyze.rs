//! `opscope msprof-analyze`: the vendor's analyses of many ranks, against its tool's results cell by cell.

#[path = "msprof_analyze/additions.rs"]
mod additions;
mod common;
#[path = "msprof_analyze/marked.rs"]
mod marked;
#[path = "msprof_analyze/marker.rs"]
mod marker;
#[path = "msprof_analyze/tables.rs"]
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::Place;
use opscope_testing::companions;
use serde_json::Value;
use tables::{Contents, assert_same, assert_same_databases, read};

/// The database of results in a folder.
fn results(place: &Place, folder: &str) -> PathBuf {
    place.path(folder).join("cluster_analysis_output/cluster_analysis.db")
}

/// Makes the collections that the vendor's results in the shared folder are of; `None` without the simulator.
fn simulate(place: &Place, name: &str, arguments: &[&str]) -> Option<PathBuf> {
    let generator = companions::shared("lab/cluster/generate.py")?;
    let python = companions::python_with("numpy")?;
    let folder = place.path(name);
    let mut command = Command::new(python);
    command.arg(generator).arg(&folder).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().expect("the simulator runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(folder)
}

/// Unpacks a file beside the others of the test, if it is packed.
fn unpacked(place: &Place, path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let packed = PathBuf::from(format!("{}.xz", path.display()));
    let unpack = companions::program("xz")?;
    let output = Command::new(unpack).arg("-dc").arg(&packed).output().unwrap();
    assert!(output.status.success(), "{}: {}", packed.display(), String::from_utf8_lossy(&output.stderr));
    let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    Some(place.write(&format!("{folder}-{}", path.file_name().unwrap().to_str().unwrap()), output.stdout))
}

/// JSON beside JSON: the same members, numbers to 1e-9.
fn assert_same_json(ours: &Value, theirs: &Value, at: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let names = |it: &serde_json::Map<String, Value>| {
                let mut names: Vec<String> = it.keys().cloned().collect();
                names.sort();
                names
            };
            assert_eq!(names(ours), names(theirs), "members of {at}");
            ours.iter()
                .for_each(|(name, value)| assert_same_json(value, &theirs[name], &format!("{at}/{name}")));
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "length of {at}");
            ours.iter().zip(theirs).for_each(|(ours, theirs)| assert_same_json(ours, theirs, at));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            let size = a.abs().max(b.abs());
            assert!((a - b).abs() <= 1e-9 * size || size < 1e-9, "{at}: {a} and {b}");
        }
        _ => assert_eq!(ours, theirs, "{at}"),
    }
}

/// The groups of a list in one order, whichever they were met in, and so the ranks of each.
fn sorted_groups(mut groups: Value) -> Value {
    for list in groups.as_object_mut().unwrap().values_mut().map(|list| list.as_array_mut().unwrap()) {
        for group in &mut *list {
            let ranks = if group.is_array() { Some(group) } else { group.get_mut("rank_set") };
            ranks.unwrap().as_array_mut().unwrap().sort_by_key(Value::as_i64);
        }
        list.sort_by_key(Value::to_string);
    }
    groups
}

/// A list of ranks such as `(10, 2, 6)` in their order: the vendor's is that of a set. Other texts as they are.
fn sorted_ranks(text: &str) -> String {
    let Some(ranks) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else {
        return text.to_owned();
    };
    let mut ranks: Vec<u32> = ranks.split(',').filter_map(|rank| rank.trim().parse().ok()).collect();
    ranks.sort_unstable();
    format!("{ranks:?}")
}

/// Asserts that texts of results are the same.
fn assert_same_texts(place: &Place, ours: &Path, theirs: &Path, of: &str) {
    let json = |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let by_ranks = |path: &Path| {
        let groups = json(path).as_object().unwrap().clone();
        groups.into_iter().map(|(ranks, group)| (sorted_ranks(&ranks), group)).collect::<Value>()
    };
    for name in ["cluster_communication.json", "cluster_communication_matrix.json"] {
        let Some(theirs) = unpacked(place, &theirs.join(name)) else { continue };
        assert_same_json(&by_ranks(&ours.join(name)), &by_ranks(&theirs), &format!("{of} {name}"));
    }
    let groups = |folder: &Path| sorted_groups(json(&folder.join("communication_group.json")));
    assert_same_json(&groups(ours), &groups(theirs), of);
    let rows = |folder: &Path| {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_path(folder.join("cluster_step_trace_time.csv"))
            .unwrap();
        let mut rows: Vec<Vec<String>> =
            reader.records().map(|row| row.unwrap().iter().map(sorted_ranks).collect()).collect();
        rows.sort();
        rows
    };
    let (ours, theirs) = (rows(ours), rows(theirs));
    assert_eq!(ours.len(), theirs.len(), "{of}: steps");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let same = ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(ours, theirs)| {
                let numbers = ours.parse::<f64>().ok().zip(theirs.parse::<f64>().ok());
                ours == theirs || numbers.is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()))
            });
        assert!(same, "{of}: {ours:?} {theirs:?}");
    }
}

/// Compares with all results of the vendor's tool that are there for so many ranks.
fn assert_like_goldens(ranks: &str) {
    let Some(golden) = companions::shared(&format!("golden/cluster/r{ranks}")) else { return };
    let place = Place::new();
    let Some(_) = simulate(&place, "input", &["--ranks", ranks]) else { return };
    let mut compared = 0;
    for folder in std::fs::read_dir(&golden).unwrap().flatten().filter(|it| it.path().is_dir()) {
        let name = folder.file_name().into_string().unwrap();
        let Some((form, mode)) = name.split_once('-') else { continue };
        let input = format!("input/{form}");
        place.done(&["msprof-analyze", "cluster", "-m", mode, "-d", &input, "-o", &name]);
        if form == "text" {
            let ours = place.path(&name).join("cluster_analysis_output");
            assert_same_texts(&place, &ours, &folder.path(), &name);
        } else {
            let Some(theirs) = unpacked(&place, &folder.path().join("cluster_analysis.db")) else { continue };
            assert_same_databases(&results(&place, &name), &theirs, &name);
        }
        compared += 1;
    }
    assert!(compared > 6, "{compared}");
}

#[test]
fn eight_ranks_give_the_vendors_results() {
    assert_like_goldens("8");
}

#[test]
fn sixty_four_ranks_give_the_vendors_results() {
    assert_like_goldens("64");
}

/// Has the vendor's tool carry out a mode.
fn vendor(program: &Path, place: &Place, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(place.path("."))
        .output()
        .expect("the vendor's program runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn ranks_of_our_own_sample_give_what_the_vendors_program_makes_of_them() {
    let Some(program) = companions::msprof_analyze() else { return };
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "8", "--seed", "5", "--format", "both", "--layers", "2"]);
    let input = |form: &str| format!("cluster_8_ranks_seed_5/{form}");
    for (mode, more) in [
        ("all", &[][..]),
        ("communication_time_sum", &[]),
        ("communication_matrix_sum", &[]),
        ("communication_group_map", &[]),
        ("cluster_time_summary", &[]),
        ("cluster_time_summary", &["--step_id", "11"]),
        ("compute_op_sum", &["--rank_list", "1,2", "--exclude_op_name"]),
        ("hccl_sum", &["--step_id", "10", "--top_num", "4"]),
        ("cann_api_sum", &[]),
        ("freq_analysis", &[]),
        ("ep_load_balance", &[]),
        ("free_analysis", &["--top_num", "3"]),
        ("slow_rank", &["--rank_list", "0,1,2,3,5,6,7"]),
        ("slow_link", &["--rank_list", "0,1,2,4,5,6,7"]),
        ("slow_link", &["--top_num", "1"]),
        ("communication_bottleneck", &["--rank_id", "3", "--top_num", "12"]),
        ("communication_bottleneck", &["--rank_id", "3", "--top_num", "12", "--step_id", "11"]),
    ] {
        let input = input("db");
        let arguments = |output| {
            let mut arguments = vec!["-m", mode, "-d", &input, "-o", output];
            arguments.extend(more);
            arguments
        };
        vendor(&program, &place, &arguments("theirs"));
        place.done(&[&["msprof-analyze"], &arguments("ours")[..]].concat());
        assert_same_databases(&results(&place, "ours"), &results(&place, "theirs"), mode);
    }
    let input = input("text");
    for output in ["our-texts", "their-texts"] {
        std::fs::create_dir(place.path(output)).unwrap();
    }
    vendor(&program, &place, &["-d", &input, "-o", "their-texts"]);
    place.done(&["msprof-analyze", "-d", &input, "-o", "our-texts"]);
    let folder = |name: &str| place.path(name).join("cluster_analysis_output");
    assert_same_texts(&place, &folder("our-texts"), &folder("their-texts"), "text");
}

/// The whole numbers in a column of a table, each once.
fn whole_numbers(tables: &BTreeMap<String, Contents>, table: &str, column: &str) -> BTreeSet<i64> {
    let contents = &tables[table];
    let place = contents.columns.iter().position(|it| it == column).expect("the column");
    let number = |row: &Vec<rusqlite::types::Value>| match row[place] {
        rusqlite::types::Value::Integer(number) => Some(number),
        _ => None,
    };
    contents.rows.iter().filter_map(number).collect()
}

#[test]
fn ranks_and_a_step_are_chosen_where_the_vendors_program_chooses_them() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "8", "--seed", "5", "--format", "both", "--layers", "2"]);
    let input = "cluster_8_ranks_seed_5/db";
    let run = |mode: &str, output: &str, more: &[&str]| {
        place.done(&[&["msprof-analyze", "-m", mode, "-d", input, "-o", output], more].concat());
        read(&results(&place, output))
    };
    let chosen = run("all", "chosen", &["--rank_list", "0,3"]);
    for (table, column, ranks) in [
        ("ClusterCommunicationTime", "rank_id", BTreeSet::from([0, 3])),
        ("ClusterCommunicationBandwidth", "rank_id", BTreeSet::from([0, 3])),
        ("RankDeviceMap", "rankId", (0..8).collect()),
    ] {
        assert_eq!(whole_numbers(&chosen, table, column), ranks, "{table}");
    }
    let tokens = |output: &str, more: &[&str]| {
        let tables = run("ep_load_balance", output, more);
        let ranks = whole_numbers(&tables, "EPTokensSummary", "rank");
        (ranks, whole_numbers(&tables, "EPTokensSummary", "inputShapesSummary").into_iter().sum::<i64>())
    };
    let (_, of_all) = tokens("tokens", &[]);
    let (ranks, of_step) = tokens("tokens-of-step", &["--rank_list", "0,1,2,5", "--step_id", "11"]);
    assert_eq!(ranks, BTreeSet::from([0, 1, 2, 5]));
    assert!(0 < of_step && 2 * of_step < of_all, "{of_step} of {of_all}");
    // Stages are of the groups in which the chosen ranks are; all other ranks are one more.
    place.done(&[
        "sample",
        "cluster",
        "--layout",
        "tp=2,dp=2,pp=2",
        "--seed",
        "6",
        "--format",
        "db",
        "--layers",
        "2",
    ]);
    let staged = "cluster_8_ranks_seed_6/db";
    let in_stages = |mode: &str, list: &str, output: &str| {
        place.done(&["msprof-analyze", "-m", mode, "-d", staged, "-o", output, "--rank_list", list]);
        let tables = read(&results(&place, output));
        let contents = &tables["ClusterStepTraceTime"];
        let [kind, index] = ["type", "index"]
            .map(|name| contents.columns.iter().position(|it| it == name).expect("the column"));
        let text = |value: &rusqlite::types::Value| match value {
            rusqlite::types::Value::Text(text) => text.clone(),
            other => panic!("{other:?} is no text"),
        };
        let stages = contents.rows.iter().filter(|row| text(&row[kind]) == "stage");
        stages.map(|row| text(&row[index])).collect::<BTreeSet<_>>()
    };
    for (mode, list, stages) in [
        ("communication_time", "0", ["()", "(0,1,2)"]),
        ("communication_matrix", "1,3", ["()", "(0,1,2,3)"]),
        ("all", "0,4,7", ["(0,1,2)", "(4,5,6,7)"]),
    ] {
        let found = in_stages(mode, list, &format!("stages-of-{list}"));
        assert!(stages.iter().all(|stage| found.contains(*stage)), "{mode} {list}: {found:?}");
    }
    let texts = "cluster_8_ranks_seed_5/text";
    let told = place.done(&["msprof-analyze", "-d", texts, "-o", "texts", "--rank_list", "0"]);
    assert!(told.stderr.contains("of texts all ranks are written"), "{}", told.stderr);
    assert!(told.stdout.contains("all of 8 ranks (texts)"), "{}", told.stdout);

    let Some(program) = companions::msprof_analyze() else { return };
    for (number, (mode, more)) in [
        ("all", &["--rank_list", "0,3"][..]),
        ("communication_time", &["--rank_list", "5"]),
        ("communication_matrix", &["--rank_list", "1,2"]),
        ("communication_matrix_sum", &["--rank_list", "1,2"]),
        ("communication_group_map", &["--rank_list", "0"]),
        ("communication_bottleneck", &["--rank_list", "0,3,5", "--rank_id", "3"]),
        ("ep_load_balance", &["--rank_list", "0,1,2,5", "--step_id", "11"]),
        ("ep_load_balance", &["--step_id", "10"]),
    ]
    .into_iter()
    .enumerate()
    {
        let [ours, theirs] = ["ours", "theirs"].map(|whose| format!("{whose}-{number}"));
        run(mode, &ours, more);
        vendor(&program, &place, &[&["-m", mode, "-d", input, "-o", &theirs], more].concat());
        assert_same_databases(&results(&place, &ours), &results(&place, &theirs), mode);
    }
    for (mode, list) in [("all", "0,4,7"), ("communication_time", "0"), ("communication_matrix", "1,3")] {
        let [ours, theirs] = ["ours", "theirs"].map(|whose| format!("{whose}-stages-{mode}"));
        in_stages(mode, list, &ours);
        vendor(&program, &place, &["-m", mode, "-d", staged, "-o", &theirs, "--rank_list", list]);
        assert_same_databases(&results(&place, &ours), &results(&place, &theirs), mode);
    }
}

#[test]
fn a_run_is_compared_with_an_earlier_one_as_the_vendors_program_does() {
    let place = Place::new();
    for seed in ["1", "2"] {
        let folder = format!("cluster_8_ranks_seed_{seed}/db");
        place.done(&["sample", "cluster", "--ranks", "8", "--seed", seed, "--layers", "1"]);
        place.fails(
            1,
            &["cluster_time_summary"],
            &["msprof-analyze", "-m", "cluster_time_compare_summary", "-d", &folder, "--bp", &folder],
        );
        place.done(&["msprof-analyze", "-m", "cluster_time_summary", "-d", &folder]);
    }
    let [run, base] = ["1", "2"].map(|seed| format!("cluster_8_ranks_seed_{seed}/db"));
    let mode = "cluster_time_compare_summary";
    place.done(&["msprof-analyze", "-m", mode, "-d", &run, "--bp", &base, "-o", "ours"]);
    let ours = read(&results(&place, "ours"));
    let compared = &ours["ClusterTimeCompareSummary"];
    assert_eq!(compared.rows.len(), 16);
    assert_eq!(compared.columns[2..5], ["stepTime", "stepTimeBase", "stepTimeDiff"]);
    let of_step =
        ["msprof-analyze", "-m", mode, "-d", &run, "--bp", &base, "-o", "ours-of-step", "--step_id"];
    place.fails(2, &["no such step in", "10, 11"], &[&of_step[..], &["12"]].concat());
    place.done(&[&of_step[..], &["11"]].concat());
    let ours_of_step = read(&results(&place, "ours-of-step"));
    assert_eq!(ours_of_step["ClusterTimeCompareSummary"].rows.len(), 8);
    let Some(program) = companions::msprof_analyze() else { return };
    let asked = ["-m", mode, "-d", &run, "--bp", &base, "-o"];
    vendor(&program, &place, &[&asked[..], &["theirs"]].concat());
    let theirs = &read(&results(&place, "theirs"))["ClusterTimeCompareSummary"];
    assert_same("ClusterTimeCompareSummary", compared, theirs, mode);
    vendor(&program, &place, &[&asked[..], &["theirs-of-step", "--step_id", "11"]].concat());
    let theirs = &read(&results(&place, "theirs-of-step"))["ClusterTimeCompareSummary"];
    assert_same("ClusterTimeCompareSummary", &ours_of_step["ClusterTimeCompareSummary"], theirs, mode);
}

#[test]
fn results_of_real_ranks_are_the_vendors() {
    let Some(data) = companions::shared("data/ascend-pytorch") else { return };
    let Some(program) = companions::msprof_analyze() else { return };
    let place = Place::new();
    let copy = |from: &str, to: &str| {
        let to = place.path(to);
        for folder in ["", "ASCEND_PROFILER_OUTPUT"] {
            std::fs::create_dir_all(to.join(folder)).unwrap();
            for file in std::fs::read_dir(data.join(from).join(folder)).unwrap().flatten() {
                if file.path().is_file() {
                    std::fs::copy(file.path(), to.join(folder).join(file.file_name())).unwrap();
                }
            }
        }
    };
    copy("db_level1_rank0", "real/node_1_20250101000000000_ascend_pt");
    for mode in ["all", "cluster_time_summary", "compute_op_sum", "hccl_sum", "cann_api_sum"] {
        vendor(&program, &place, &["-m", mode, "-d", "real", "-o", "theirs"]);
        place.done(&["msprof-analyze", "-m", mode, "-d", "real", "-o", "ours"]);
        assert_same_databases(&results(&place, "ours"), &results(&place, "theirs"), mode);
    }
}

#[test]
fn tables_of_other_modes_stay_and_those_of_the_same_are_written_anew() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "8", "--layers", "1"]);
    let input = "cluster_8_ranks_seed_1/db";
    for mode in ["cluster_time_summary", "hccl_sum", "cluster_time_summary"] {
        let answer = place.done(&["msprof-analyze", "-m", mode, "-d", input]);
        assert!(answer.stdout.contains("of 8 ranks (databases)"), "{}", answer.stdout);
    }
    let tables = read(&results(&place, input));
    assert_eq!(tables["ClusterTimeSummary"].rows.len(), 16);
    assert!(tables.contains_key("HcclAllRankStats"));
}

#[test]
fn damaged_ranks_cost_themselves_only() {
    let place = Place::new();
    let damages =
        ["--damage", "missing=5", "--damage", "cut=6", "--damage", "twice=7", "--damage", "empty=2"];
    let sample = [&["sample", "cluster", "--ranks", "8", "--layers", "1", "--format", "both"], &damages[..]];
    place.done(&sample.concat());
    let input = |form: &str| format!("cluster_8_ranks_seed_1/{form}");
    for mode in opscope_modes() {
        let answer = place.done(&["msprof-analyze", "-m", mode, "-d", &input("db"), "-o", "out"]);
        let told = ["rank 2: cut or damaged", "ranks 2, 6: cut or damaged"];
        assert!(told.iter().any(|line| answer.stderr.contains(line)), "{mode}: {}", answer.stderr);
        assert!(
            answer.stderr.contains("rank 7: a rank that another collection, not older, has"),
            "{}",
            answer.stderr
        );
    }
    let tables = read(&results(&place, "out"));
    let ranks = |table: &str, column: usize| {
        let mut ranks: Vec<i64> = tables[table]
            .rows
            .iter()
            .filter_map(|row| match row[column] {
                rusqlite::types::Value::Integer(rank) => Some(rank),
                _ => None,
            })
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    };
    let told = ranks("ClusterCommunicationTime", 1);
    assert!([0, 1, 3, 4, 7].iter().all(|rank| told.contains(rank)) && !told.contains(&5), "{told:?}");
    let answer = place.done(&["msprof-analyze", "-d", &input("text"), "-o", "texts"]);
    assert!(
        answer.stderr.contains("ranks 2, 6: cut or damaged") && answer.stdout.contains("(texts)"),
        "{}",
        answer.stderr
    );
    let path = place.path("texts/cluster_analysis_output/cluster_communication.json");
    let text: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(text.as_object().unwrap().len() > 4, "{text:#}");
}

#[test]
fn ranks_of_another_form_than_the_others_are_left_out_and_told() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "8", "--layers", "1", "--format", "both"]);
    let folder = |form: &str| place.path(&format!("cluster_8_ranks_seed_1/{form}"));
    let mut names: Vec<_> =
        std::fs::read_dir(folder("db")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    for name in &names[3..5] {
        std::fs::remove_dir_all(folder("db").join(name)).unwrap();
        std::fs::rename(folder("text").join(name), folder("db").join(name)).unwrap();
    }
    let mixed = "cluster_8_ranks_seed_1/db";
    for mode in ["all", "hccl_sum", "communication_group_map"] {
        let answer = place.done(&["msprof-analyze", "-m", mode, "-d", mixed, "-o", "out"]);
        let told = "ranks 3, 4: left out, without databases, from which the others are read";
        assert!(answer.stderr.contains(told), "{mode}: {}", answer.stderr);
        assert!(answer.stdout.contains(&format!("{mode} of 6 ranks (databases)")), "{}", answer.stdout);
    }
    let devices = &read(&results(&place, "out"))["RankDeviceMap"];
    assert_eq!(devices.rows.len(), 6);
    let chosen = ["msprof-analyze", "-d", mixed, "-o", "out", "--rank_list", "3,4"];
    place.fails(2, &["--rank_list names no rank with a database"], &chosen);
    let insight = place.done(&["cluster", "export", mixed, "--format", "insight", "-o", "insight"]);
    assert!(insight.stderr.contains("ranks 3, 4: left out"), "{}", insight.stderr);
    assert!(insight.stdout.starts_with("6 ranks"), "{}", insight.stdout);
}

#[test]
fn a_set_is_told_apart_from_a_folder_without_ranks() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "2", "--layers", "1"]);
    place.done(&["cluster", "import", "cluster_2_ranks_seed_1/db", "-o", "set"]);
    let told =
        ["set: this is a set of opscope cluster import", "the folder that the ranks were imported from"];
    for mode in ["all", "hccl_sum"] {
        place.fails(1, &told, &["msprof-analyze", "-m", mode, "-d", "set", "-o", "out"]);
    }
}

/// The modes that read databases of one run.
fn opscope_modes() -> [&'static str; 15] {
    [
        "all",
        "communication_time",
        "communication_matrix",
        "communication_group_map",
        "communication_time_sum",
        "communication_matrix_sum",
        "cluster_time_summary",
        "compute_op_sum",
        "hccl_sum",
        "cann_api_sum",
        "slow_rank",
        "slow_link",
        "freq_analysis",
        "ep_load_balance",
        "mstx_sum",
    ]
}

#[test]
fn wrong_modes_and_options_are_named() {
    let place = Place::new();
    let fails = |says: &[&str], words: &[&str]| {
        place.fails(2, says, &[&["msprof-analyze"], words].concat());
    };
    fails(&["no mode 'al'"], &["-m", "al", "-d", "."]);
    fails(&["operator_mfu", "the vendor's msprof-analyze has it"], &["-m", "operator_mfu", "-d", "."]);
    fails(&["--profiling_path"], &[]);
    fails(&["--rank_list", "'x'"], &["-m", "hccl_sum", "-d", ".", "--rank_list", "0,x"]);
    fails(&["--rank_list", "'x'"], &["-m", "cluster_time_compare_summary", "-d", ".", "--rank_list", "0,x"]);
    fails(&["--step_id"], &["-d", ".", "--step_id", "x"]);
    fails(&["--top_num"], &["-d", ".", "--top_num", "x"]);
    fails(
        &["--into-input", "export_summary, p2p_pairing and pp_chart"],
        &["-m", "mstx_sum", "-d", ".", "--into-input"],
    );
    fails(&["--into-input", "--output_path"], &["-m", "p2p_pairing", "-d", ".", "--into-input", "-o", "out"]);
    fails(&["mstx2commop", "the vendor's msprof-analyze has it"], &["-m", "mstx2commop", "-d", "."]);
    fails(&["--bp"], &["-m", "cluster_time_compare_summary", "-d", "."]);
    fails(&["notebook"], &["-d", ".", "--export_type", "notebook"]);
    fails(&["advisor", "opscope advise"], &["advisor", "all", "-d", "."]);
    place.fails(1, &["no such folder"], &["msprof-analyze", "-d", "nowhere"]);
    place.done(&["sample", "cluster", "--ranks", "2", "--layers", "1", "--format", "both"]);
    let databases = "cluster_2_ranks_seed_1/db";
    fails(&["no such step", "10, 11"], &["-m", "hccl_sum", "-d", databases, "--step_id", "7"]);
    let texts = "cluster_2_ranks_seed_1/text";
    place.fails(1, &["slow_rank reads databases"], &["msprof-analyze", "-m", "slow_rank", "-d", texts]);
}

#[test]
fn options_that_a_mode_does_not_use_are_left_aside_and_told() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "2", "--layers", "1"]);
    let input = "cluster_2_ranks_seed_1/db";
    for (number, (mode, more, modes)) in [
        ("all", &["--step_id", "11"][..], "it is for cluster_time_summary, "),
        (
            "communication_time_sum",
            &["--step_id", "7"],
            "communication_bottleneck, mstx_sum, p2p_pairing and pp_chart",
        ),
        (
            "compute_op_sum",
            &["--top_num", "3"],
            "it is for hccl_sum, slow_link, free_analysis and communication_bottleneck",
        ),
        ("cann_api_sum", &["--rank_id", "1"], "it is for communication_bottleneck"),
        ("hccl_sum", &["--exclude_op_name"], "it is for compute_op_sum"),
        ("cluster_time_summary", &["--bp", "nowhere"], "it is for cluster_time_compare_summary"),
    ]
    .into_iter()
    .enumerate()
    {
        let run = |whose: &str, more: &[&str]| {
            let output = format!("{whose}-{number}");
            let answer =
                place.done(&[&["msprof-analyze", "-m", mode, "-d", input, "-o", &output], more].concat());
            (results(&place, &output), answer.stderr)
        };
        let (plain, nothing) = run("plain", &[]);
        let (with, told) = run("with", more);
        assert_same_databases(&with, &plain, mode);
        assert!(!nothing.contains("left aside"), "{nothing}");
        let expected = format!("{mode} doesn't use {}, which is left aside", more[0]);
        assert!(told.contains(&expected) && told.contains(modes), "{told}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_by_the_vendors_name_is_the_command() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "2", "--layers", "1"]);
    let link = place.path("msprof-analyze");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_opscope"), &link).unwrap();
    let run = |words: &[&str]| Command::new(&link).args(words).current_dir(place.path(".")).output().unwrap();
    let input = "cluster_2_ranks_seed_1/db";
    let output = run(&["cluster", "-m", "communication_time", "-d", input, "-o", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(results(&place, "out").is_file());
    assert_eq!(run(&["-m", "nothing", "-d", input]).status.code(), Some(2));
    let help = run(&["--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("communication_group_map"));
}
