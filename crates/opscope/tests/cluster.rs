//! `opscope cluster`: suspects among many ranks, against what is known of simulated clusters.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::Place;
use opscope_testing::companions;
use serde_json::Value;

/// Makes the collections of a simulated cluster, with `db`, `text` and `truth.json`; `None` without the simulator.
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

/// The name that a suspect has for each fault of the simulator.
fn name_of(fault: &str, value: &Value) -> String {
    match fault {
        "slow_link" => format!("link {} → {}", value[0], value[1]),
        _ => format!("rank {value}"),
    }
}

/// The cause that belongs to each fault; text results tell no frequency.
fn causes_of(fault: &str) -> &'static [&'static str] {
    match fault {
        "slow_rank" => &["frequency", "slow_device"],
        "slow_link" => &["slow_link"],
        "hot_expert" => &["tokens"],
        "ai_cpu" => &["ai_cpu"],
        _ => &["late_input"],
    }
}

/// Asserts that the answer agrees with what is known: the faults that cost a hundredth of a step are named with their
/// causes, nobody innocent is, and savings are within a tenth or half a hundredth of a step.
fn assert_true(answer: &Value, truth: &Value, of: &str) {
    let step = truth["costs"]["step_ms"].as_f64().unwrap();
    let told = answer["step_ns"].as_f64().unwrap() / 1e6;
    assert!((told - step).abs() < 0.01 * step, "{of}: a step takes {told} ms, not {step}");
    let clean = truth["costs"]["step_without_faults_ms"].as_f64().unwrap();
    let reachable = answer["reachable_ns"].as_f64().unwrap() / 1e6;
    assert!((reachable - clean).abs() < 0.03 * clean, "{of}: reachable are {reachable} ms, not {clean}");
    let mut named: Vec<&Value> = answer["suspects"].as_array().unwrap().iter().collect();
    named.retain(|suspect| suspect["named"] == true);
    for (fault, cost) in truth["costs"]["faults"].as_object().unwrap() {
        let name = name_of(fault, &truth["faults"][fault]);
        let saves = cost["without_it_saves_ms"].as_f64().unwrap();
        let place = named.iter().position(|suspect| {
            suspect["name"].as_str().unwrap().strip_prefix(&name).is_some_and(|rest| rest.starts_with(' '))
        });
        let Some(place) = place else {
            assert!(
                saves < 0.01 * step,
                "{of}: {name} costs {saves} of {step} ms and isn't named:\n{answer:#}"
            );
            continue;
        };
        let suspect = named.remove(place);
        let told = suspect["saves_ns"].as_f64().unwrap() / 1e6;
        let allowed = (0.1 * saves).max(0.005 * step);
        assert!((told - saves).abs() <= allowed, "{of}: {name} costs {saves} ms, and {told} is told");
        let cause = suspect["evidence"]["causes"][0]["cause"].as_str().unwrap();
        assert!(causes_of(fault).contains(&cause), "{of}: {name} is slow for {fault}, and {cause} is told");
        if suspect["kind"] == "rank" {
            let causes = suspect["evidence"]["causes"].as_array().unwrap();
            let explained: f64 = causes.iter().map(|cause| cause["explains_ns"].as_f64().unwrap()).sum();
            let excess = suspect["excess_ns"].as_f64().unwrap();
            assert!(
                explained <= 1.25 * excess + 5e5,
                "{of}: {name} exceeds its peers by {excess} ns, of which {explained} are explained: {causes:#?}"
            );
        }
    }
    assert!(named.is_empty(), "{of}: {named:#?} have no fault");
}

/// Asks for the suspects of both forms of a simulated cluster.
fn assert_both_true(place: &Place, folder: &std::path::Path) {
    let truth = std::fs::read_to_string(folder.join("truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    for form in ["db", "text"] {
        let path = folder.join(form);
        let answer = place.done(&["cluster", path.to_str().unwrap(), "--json"]).json();
        assert_true(&answer, &truth, &path.display().to_string());
    }
}

#[test]
fn the_faults_of_eight_ranks_are_named_with_costs_and_causes() {
    let place = Place::new();
    let Some(folder) = simulate(&place, "r8", &["--ranks", "8"]) else { return };
    assert_both_true(&place, &folder);
    let screen = place.done(&["cluster", "r8/db"]).stdout;
    for words in [
        "8 ranks on 1 host (tp 2, pp 2, dp 2, ep 2), 2 steps",
        "nothing missing",
        "If no rank and no link were slower than its peers",
        "IndexPut runs on the AI CPU, 32 times a step; on its peers not at all",
        "Where a step goes: compute",
    ] {
        assert!(screen.contains(words), "{words} isn't in:\n{screen}");
    }
    let slow = place.done(&["cluster", "slow", "r8/db", "--rank", "5"]).stdout;
    assert!(slow.contains("aclnnIndexPutImpl") && slow.contains("costs a step"), "{slow}");
    let slow = place.done(&["cluster", "slow", "r8/db", "--link", "0-2", "--json"]).json();
    assert_eq!(slow["suspects"][0]["kind"], "link");
    place.fails(2, &["no rank 99"], &["cluster", "slow", "r8/db", "--rank", "99"]);
    place.fails(1, &[], &["cluster", "r8/db", "--fail-above", "5%"]);
    place.done(&["cluster", "r8/db", "--fail-above", "90%"]);
    let info = place.done(&["cluster", "info", "r8/text", "--json"]).json();
    assert_eq!((&info["ranks"][3]["rank"], &info["ranks"][3]["format"]), (&3.into(), &"text".into()));
}

/// Asserts that what is told of a cluster that the program itself makes is true.
fn assert_sample_true(ranks: &str, seed: &str, faults: &[&str]) {
    let place = Place::new();
    let mut words =
        vec!["sample", "cluster", "-o", "made", "--ranks", ranks, "--seed", seed, "--format", "both"];
    faults.iter().for_each(|fault| words.extend(["--fault", fault]));
    place.done(&words);
    let name = format!("made/cluster_{ranks}_ranks_seed_{seed}");
    assert_both_true(&place, &place.path(&name));
}

#[test]
fn tokens_that_one_rank_has_less_are_more_work_for_slower_ones() {
    // Rank 4 shares experts with rank 6: slower, and spared by what 6 has too much of.
    let faults =
        ["late-input=0:13.3ms", "low-frequency=4:1.358", "more-tokens=6:1.54", "slow-link=3-1:0.355"];
    assert_sample_true("8", "26", &faults);
    assert_sample_true("8", "5", &["more-tokens=4:2.341", "low-frequency=6:1.159", "late-input=1:9.8ms"]);
}

#[test]
fn a_host_that_launches_late_is_the_reason_of_its_rank_with_the_call_that_holds_it_up() {
    let faults = ["host-bound=5:80us", "low-frequency=2:1.2"];
    let causes = |place: &Place, folder: &str| {
        let answer = place.done(&["cluster", folder, "--json"]).json();
        let suspects = answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true);
        let cause = |it: &Value| (it["rank"].as_i64().unwrap(), it["evidence"]["causes"][0].clone());
        suspects.map(cause).collect::<std::collections::BTreeMap<i64, Value>>()
    };
    for format in ["both", "kineto"] {
        let place = Place::new();
        let mut words = vec!["sample", "cluster", "-o", ".", "--format", format];
        faults.iter().for_each(|fault| words.extend(["--fault", fault]));
        place.done(&words);
        let form = if format == "both" { "db" } else { format };
        let folder = format!("cluster_8_ranks_seed_1/{form}");
        let truth = std::fs::read(place.path("cluster_8_ranks_seed_1/truth.json")).unwrap();
        let truth: Value = serde_json::from_slice(&truth).unwrap();
        let found = causes(&place, &folder);
        assert_eq!(found[&5]["cause"], "host_bound", "{found:#?}");
        assert_eq!(found[&5]["call"], "aten::item", "{found:#?}");
        assert_ne!(found[&2]["cause"], "host_bound", "{found:#?}");
        let waits = found[&5]["gap_ns"].as_f64().unwrap() / 1e6;
        let costs = truth["costs"]["faults"]["host_bound"]["alone_costs_ms"].as_f64().unwrap();
        assert!((0.8..1.4).contains(&(waits / costs)), "the device waits {waits} ms, which costs {costs}");
        place.done(&["cluster", "import", &folder, "-o", "set"]);
        assert_eq!(causes(&place, "set"), found, "a set tells the same");
        let chinese = place.done(&["cluster", &folder, "--lang", "zh"]).stdout;
        assert!(chinese.contains("主机下发算子过慢"), "{chinese}");
    }
}

#[test]
fn operators_with_larger_inputs_than_on_peers_are_the_reason_of_their_rank() {
    let place = Place::new();
    place.done(&["sample", "cluster", "-o", ".", "--format", "db", "--fault", "low-frequency=3:1.5"]);
    let collection = "cluster_8_ranks_seed_1/db";
    let mut folders: Vec<_> =
        std::fs::read_dir(place.path(collection)).unwrap().map(|it| it.unwrap().path()).collect();
    folders.sort();
    for (rank, folder) in folders.iter().enumerate() {
        let path = folder.join(format!("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db"));
        let database = rusqlite::Connection::open(path).unwrap();
        // Products of experts would tell of tokens.
        let rename = "UPDATE STRING_IDS SET value = replace(value, 'GroupedMatmul', 'BatchMatmul')";
        assert!(database.execute(rename, []).unwrap() > 0);
        database.execute("DELETE FROM AICORE_FREQ", []).unwrap();
        if rank == 3 {
            // One and a half times the rows, for which it takes one and a half times as long.
            let grow = "UPDATE STRING_IDS SET value = CASE substr(value, 1, 1) WHEN '\"' THEN '\"' ELSE '' END || \
                        CAST(CAST(trim(value, '\"') AS INTEGER) * 3 / 2 AS TEXT) || substr(value, instr(value, ',')) \
                        WHERE trim(value, '\"') GLOB '[0-9]*,*'";
            assert!(database.execute(grow, []).unwrap() > 0);
        }
    }
    let answer = place.done(&["cluster", collection, "--json"]).json();
    let suspect = &answer["suspects"][0];
    let cause = &suspect["evidence"]["causes"][0];
    assert_eq!((&suspect["rank"], &cause["cause"]), (&3.into(), &"larger_shapes".into()), "{suspect:#}");
    // The rank has a few tokens more than its peers anyway.
    assert!((cause["times"].as_f64().unwrap() - 1.5).abs() < 0.05, "{cause:#}");
    let text = place.done(&["cluster", collection]).stdout;
    assert!(text.contains("has 1.5 times the rows that it has on its peers"), "{text}");
}

#[test]
fn a_rank_whose_own_work_is_that_of_its_peers_is_not_named() {
    let place = Place::new();
    let sample =
        ["sample", "cluster", "-o", ".", "--layout", "tp=1,pp=2,dp=4,ep=1", "--seed", "7", "--format", "db"];
    let faults =
        ["--fault", "host-bound=4:115us", "--fault", "late-input=6:4.3ms", "--fault", "ai-cpu=2:375us"];
    place.done(&[&sample[..], &faults].concat());
    let answer = place.done(&["cluster", "cluster_8_ranks_seed_7/db", "--json"]).json();
    let named = answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true);
    assert_eq!(named.map(|it| it["rank"].as_i64()).collect::<Vec<_>>(), [Some(4)], "{answer:#}");
}

#[test]
fn options_of_the_recording_that_peers_have_not_are_told() {
    let place = Place::new();
    place.done(&["sample", "cluster", "-o", ".", "--format", "text", "--fault", "host-bound=5:80us"]);
    let collection = "cluster_8_ranks_seed_1/text";
    let why = |folder: &str| {
        let answer = place.done(&["cluster", folder, "--json"]).json();
        answer["suspects"][0]["evidence"]["causes"].clone()
    };
    assert_eq!(why(collection)[0]["cause"], "host_bound");
    let mut folders: Vec<_> =
        std::fs::read_dir(place.path(collection)).unwrap().map(|it| it.unwrap().path()).collect();
    folders.sort();
    // Without timelines nothing tells of launches, and the reason of a late host isn't known.
    for folder in &folders {
        std::fs::remove_file(folder.join("ASCEND_PROFILER_OUTPUT/trace_view.json")).unwrap();
    }
    assert_eq!(why(collection), serde_json::json!([{"cause": "unknown", "explains_ns": 0}]));
    for (rank, folder) in folders.iter().enumerate() {
        let path = folder.join(format!("profiler_info_{rank}.json"));
        let mut info: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        info["config"]["common_config"]["with_stack"] = (rank == 5).into();
        std::fs::write(path, info.to_string()).unwrap();
    }
    let options = serde_json::json!([{"option": "with_stack", "here": "true", "peers": "false"}]);
    let causes = why(collection);
    assert_eq!((&causes[0]["cause"], &causes[1]["cause"]), (&"unknown".into(), &"collected".into()));
    assert_eq!(causes[1]["options"], options);
    let text = place.done(&["cluster", collection]).stdout;
    assert!(
        text.contains("other options than its peers") && text.contains("with_stack: true (false)"),
        "{text}"
    );
    assert!(place.done(&["cluster", collection, "--lang", "zh"]).stdout.contains("采集选项与同类不同"));
    place.done(&["cluster", "import", collection, "-o", "set"]);
    assert_eq!(why("set"), causes);
}

#[test]
fn whoever_would_have_the_tokens_instead_is_told() {
    let place = Place::new();
    place.done(&[
        "sample",
        "cluster",
        "-o",
        "made",
        "--ranks",
        "8",
        "--format",
        "db",
        "--fault",
        "more-tokens=4:1.15",
    ]);
    let folder = "made/cluster_8_ranks_seed_1/db";
    let slow = place.done(&["cluster", "slow", folder, "--rank", "4"]).stdout;
    assert!(slow.contains("The tokens that it has too many of would be work of 6: "), "{slow}");
    let chinese = place.done(&["cluster", "slow", folder, "--rank", "4", "--lang", "zh"]).stdout;
    assert!(chinese.contains("token 本应由 6 处理"), "{chinese}");
}

#[test]
fn work_before_several_transfers_in_the_background_counts_once() {
    let place = Place::new();
    let made = ["sample", "cluster", "-o", "made", "--layout", "tp=1,pp=1,dp=16,ep=1", "--format", "db"];
    // One rank, and half of a host: the more are slow, the more look like the rule.
    for (slow, name) in [(3..4, "rank 3 (host0:3)"), (0..6, "host host0")] {
        let faults: Vec<String> = slow.map(|rank| format!("low-frequency={rank}:1.3")).collect();
        let mut words = made.to_vec();
        faults.iter().for_each(|fault| words.extend(["--fault", fault]));
        place.done(&words);
        let answer = place.done(&["cluster", "made/cluster_16_ranks_seed_1/db", "--json"]).json();
        let suspect = &answer["suspects"][0];
        assert_eq!((&suspect["name"], &suspect["named"]), (&name.into(), &true.into()), "{answer:#}");
        assert_eq!(suspect["evidence"]["causes"][0]["cause"], "frequency", "{suspect:#}");
        let [excess, saves, step] = [&suspect["excess_ns"], &suspect["saves_ns"], &answer["step_ns"]]
            .map(|time| time.as_f64().unwrap());
        assert!(saves > 0.15 * step, "{saves} of {step}");
        // That of a host is the mean over all its ranks.
        assert!((0.6..1.2).contains(&(excess / saves)), "{excess} and {saves}");
        std::fs::remove_dir_all(place.path("made")).unwrap();
    }
}

#[test]
fn a_slow_link_is_named_where_all_groups_of_its_kind_use_it() {
    let place = Place::new();
    let made = ["sample", "cluster", "-o", "made", "--layout", "tp=1,pp=1,dp=8,ep=1", "--format", "db"];
    place.done(&[&made[..], &["--fault", "slow-link=2-0:0.3"]].concat());
    let answer = place.done(&["cluster", "made/cluster_8_ranks_seed_1/db", "--json"]).json();
    let named: Vec<&Value> =
        answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true).collect();
    assert_eq!(named.len(), 1, "{answer:#}");
    assert!(named[0]["name"].as_str().unwrap().starts_with("link 2 → 0 "), "{answer:#}");
}

#[test]
fn a_transfer_that_only_ended_before_another_does_not_hold_it_up() {
    // Gradients are exchanged in the background, and on some ranks their turn comes just when a kernel ends.
    assert_sample_true("64", "26", &["late-input=5:7.6ms"]);
}

#[test]
fn a_run_without_faults_names_nobody() {
    let place = Place::new();
    let Some(_) = simulate(&place, "r8", &["--ranks", "8", "--faults", "none", "--formats", "db"]) else {
        return;
    };
    let answer = place.done(&["cluster", "r8/db", "--json"]).json();
    let named = answer["suspects"].as_array().unwrap().iter().filter(|suspect| suspect["named"] == true);
    assert_eq!(named.count(), 0, "{answer:#}");
    let screen = place.done(&["cluster", "r8/db"]).stdout;
    assert!(
        screen.contains("No rank or link stands out; what costs less than 0.5 % of a step isn't told"),
        "{screen}"
    );
}

#[test]
fn without_a_suspect_a_limit_that_is_passed_leaves_it_undecided() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--fault", "none"]);
    let path = "cluster_8_ranks_seed_1/db";
    let answer = place.done(&["cluster", path, "--json"]).json();
    let less = answer["step_ns"].as_f64().unwrap() - answer["reachable_ns"].as_f64().unwrap();
    assert!(less > 0.0, "{answer:#}");
    // The step could be shorter by a little, which is noise: nobody is to blame.
    place.fails(3, &[], &["cluster", path, "--fail-above", "0%"]);
    place.done(&["cluster", path, "--fail-above", "5%"]);
}

#[test]
fn answers_come_as_comma_separated_values_and_as_markdown() {
    let place = Place::new();
    place.done(&["sample", "cluster"]);
    place.done(&["sample", "cluster", "--seed", "2", "--fault", "none"]);
    let (path, other) = ("cluster_8_ranks_seed_1/db", "cluster_8_ranks_seed_2/db");
    let rows = |command: &[&str]| -> Vec<std::collections::BTreeMap<String, String>> {
        let answer = place.done(&[&["cluster"][..], command, &["--csv"]].concat());
        let mut reader = csv::Reader::from_reader(answer.stdout.as_bytes());
        reader.deserialize().map(Result::unwrap).collect()
    };
    let answer = place.done(&["cluster", path, "--json"]).json();
    let suspects = answer["suspects"].as_array().unwrap();
    let shown: Vec<&Value> = suspects.iter().filter(|it| it["within"] == false).collect();
    let listed = rows(&[path]);
    assert_eq!(listed.len(), shown.len());
    for (row, suspect) in listed.iter().zip(shown) {
        assert_eq!(row["who"], suspect["name"].as_str().unwrap());
        assert_eq!(row["saves_ns"], suspect["saves_ns"].to_string());
        assert_eq!(row["cause"], suspect["evidence"]["causes"][0]["cause"].as_str().unwrap());
    }
    assert_eq!(rows(&["slow", path]).len(), suspects.len());
    let operators = rows(&["slow", path, "--rank", "5"]);
    let first = operators.iter().find(|row| row["type"] == "IndexPut").unwrap();
    assert_eq!((&*first["unit"], &*first["is_on_peers"]), ("AI_CPU", "false"));
    assert!(first["excess_ns"].parse::<f64>().unwrap() > 1e6, "{first:?}");
    // A link runs no operators: its costs are told.
    let links = rows(&["slow", path, "--link", "0-2"]);
    let link = suspects.iter().find(|it| it["kind"] == "link").unwrap();
    assert_eq!((links.len(), &*links[0]["who"]), (1, link["name"].as_str().unwrap()));
    assert_eq!(links[0]["saves_ns"], link["saves_ns"].to_string());
    let ranks = rows(&["info", path]);
    assert_eq!((ranks.len(), &*ranks[3]["rank"], &*ranks[3]["host"]), (8, "3", "host0"));
    let compared = rows(&["compare", path, other]);
    let json = place.done(&["cluster", "compare", path, other, "--json"]).json();
    assert_eq!(compared.len(), json["rows"].as_array().unwrap().len());
    assert_eq!(compared[0]["a_ns"], json["rows"][0]["a_ns"].to_string());
    for command in [
        &[path][..],
        &["slow", path],
        &["slow", path, "--rank", "5"],
        &["slow", path, "--link", "0-2"],
        &["info", path],
        &["compare", path, other],
    ] {
        let answer = place.done(&[&["cluster"][..], command, &["--markdown"]].concat()).stdout;
        assert!(answer.lines().count() > 2 && answer.lines().all(|line| line.starts_with('|')), "{answer}");
    }
    place.fails(2, &["cannot be used with"], &["cluster", path, "--csv", "--json"]);
    // Ranks' own steps are shorter than the run's, which people are told.
    let told = "the run's step goes on until the last rank ends";
    let by_step = |form: &[&str]| {
        place.done(&[&["cluster", "summary", path, "--by", "step"][..], form].concat()).stdout.contains(told)
    };
    assert!(by_step(&[]) && !by_step(&["--csv"]) && !by_step(&["--markdown"]) && !by_step(&["--json"]));
}

#[test]
fn damaged_collections_are_judged_by_what_is_left() {
    let place = Place::new();
    let damage = "missing=5,cut=6,twice=7,shifted=1";
    let Some(_) = simulate(&place, "r8", &["--ranks", "8", "--damage", damage]) else { return };
    for form in ["r8/db", "r8/text"] {
        let answer = place.done(&["cluster", form]);
        assert!(answer.stdout.contains("7 of 8 ranks (missing 5)"), "{}", answer.stdout);
        assert!(
            answer.stderr.contains("rank 7: a rank that another collection, not older, has as well"),
            "{}",
            answer.stderr
        );
        // Of two members nobody can tell which one counts otherwise; either of 1 and 3 is right.
        assert!(answer.stderr.contains("collectives numbered otherwise"), "{}", answer.stderr);
        assert!(answer.stderr.contains("rank 6: "), "{}", answer.stderr);
    }
}

/// The folders of the ranks of a sample, by rank.
fn folders_of_ranks(place: &Place, made: &str) -> Vec<PathBuf> {
    let folder = place.path(made);
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a sample").map(|entry| entry.unwrap().path()).collect();
    let rank_of = |folder: &PathBuf| -> u32 {
        let mut names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let number = names.find_map(|name| {
            name.to_str()?.strip_prefix("profiler_info_")?.strip_suffix(".json")?.parse().ok()
        });
        number.expect("a rank")
    };
    folders.retain(|folder| folder.is_dir());
    folders.sort_by_key(rank_of);
    folders
}

#[test]
fn a_rank_that_was_not_recorded_is_named_where_all_wait_for_it() {
    let place = Place::new();
    let fault = "low-frequency=5:1.4";
    place.done(&["sample", "cluster", "-o", "made", "--ranks", "8", "--format", "db", "--fault", fault]);
    let made = "made/cluster_8_ranks_seed_1/db";
    let saves = |answer: &Value| answer["suspects"][0]["saves_ns"].as_f64().unwrap();
    let whole = place.done(&["cluster", made, "--json"]).json();
    std::fs::remove_dir_all(&folders_of_ranks(&place, made)[5]).unwrap();
    let answer = place.done(&["cluster", made, "--json"]).json();
    let first = &answer["suspects"][0];
    assert_eq!((&first["name"], &first["kind"]), (&"rank 5 (not recorded)".into(), &"unrecorded".into()));
    assert_eq!((&first["ranks"], &first["rank"]), (&serde_json::json!([5]), &5.into()));
    assert_eq!(answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true).count(), 1);
    let share = saves(&answer) / saves(&whole);
    assert!((share - 1.0).abs() < 0.15, "{share} of what it costs where it was recorded");
    let told = place.done(&["cluster", made]).stdout;
    assert!(
        told.contains("7 of 8 ranks (missing 5)")
            && told.contains("others wait for it, or for a link of its, in"),
        "{told}"
    );
    let asked = place.done(&["cluster", "slow", made, "--rank", "5"]).stdout;
    assert!(asked.contains("rank 5 (not recorded) costs a step"), "{asked}");
    let chinese = place.done(&["cluster", made, "--lang", "zh"]).stdout;
    assert!(chinese.contains("rank 5（未采集）") && chinese.contains("等待它"), "{chinese}");
}

#[test]
fn ranks_of_different_jobs_are_refused() {
    let place = Place::new();
    for ranks in ["8", "16"] {
        place.done(&["sample", "cluster", "-o", "made", "--ranks", ranks, "--format", "db"]);
    }
    for (_, folder) in folders_of_ranks(&place, "made/cluster_16_ranks_seed_1/db").iter().enumerate().skip(8)
    {
        let name = folder.file_name().unwrap();
        std::fs::rename(folder, place.path("made/cluster_8_ranks_seed_1/db").join(name)).unwrap();
    }
    let mixed = "made/cluster_8_ranks_seed_1/db";
    for command in [&["cluster", mixed][..], &["cluster", "import", mixed, "-o", "set"]] {
        place.fails(1, &["different jobs", "ranks 0-7 ", "ranks 8-15 ", "folders of one job"], command);
    }
    assert!(!place.path("set").exists());
    // The vendor's tables only put ranks side by side.
    place.done(&["msprof-analyze", "cluster", "-m", "cluster_time_summary", "-d", mixed, "-o", "analysis"]);
    place.fails(1, &["不同的作业", "rank 0-7", "rank 8-15"], &["cluster", mixed, "--lang", "zh"]);
    // Neither are they of one set, where one job comes after the other.
    for (place_of_first, job) in [(8, "b"), (0, "a")] {
        std::fs::create_dir(place.path(job)).unwrap();
        for folder in &folders_of_ranks(&place, mixed)[place_of_first..] {
            std::fs::rename(folder, place.path(job).join(folder.file_name().unwrap())).unwrap();
        }
    }
    place.done(&["cluster", "import", "a", "-o", "both"]);
    place.fails(
        1,
        &["different jobs", "ranks 0-7 ", "ranks 8-15 "],
        &["cluster", "import", "b", "-o", "both"],
    );
    assert!(place.done(&["cluster", "both"]).stdout.contains("8 ranks on"));
}

#[test]
fn a_step_that_a_rank_lost_is_left_out_for_it() {
    let place = Place::new();
    let fault = "low-frequency=5:1.4";
    let more = ["--steps", "4", "--fault", fault];
    place.done(
        &[&["sample", "cluster", "-o", "made", "--ranks", "8", "--format", "text"][..], &more].concat(),
    );
    let made = "made/cluster_8_ranks_seed_1/text";
    let path = folders_of_ranks(&place, made)[2].join("ASCEND_PROFILER_OUTPUT/communication.json");
    let mut text: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let steps = text.as_object_mut().unwrap();
    let step = steps.keys().nth(1).unwrap().clone();
    for kind in ["collective", "p2p"] {
        if let Some(parts) = steps[&step][kind].as_object_mut() {
            let mut number = 0;
            parts.retain(|_, _| {
                number += 1;
                number % 4 == 0
            });
        }
    }
    std::fs::write(&path, text.to_string()).unwrap();
    let answer = place.done(&["cluster", made]);
    let says = format!(
        "rank 2: has less than half of the collectives that others have; left out for this rank: {}",
        step.replace("step", "step ")
    );
    assert!(answer.stderr.contains(&says), "{}", answer.stderr);
    // In the middle of a pipeline, whose sends and receives of later steps find each other all the same.
    assert!(answer.stdout.contains("1  rank 5 (host0)"), "{}", answer.stdout);
    place.done(&["cluster", "import", made, "-o", "set"]);
    assert_eq!(
        place.done(&["cluster", "set", "--json"]).stdout,
        place.done(&["cluster", made, "--json"]).stdout
    );
    let chinese = place.done(&["cluster", made, "--lang", "zh"]).stderr;
    assert!(chinese.contains("集合通信不足其他 rank 的一半"), "{chinese}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_ranks_database_is_told_of_and_not_waited_for() {
    let place = Place::new();
    place.done(&["sample", "cluster", "-o", "r8", "--ranks", "8", "--format", "db", "--quiet"]);
    let runs: Vec<PathBuf> =
        std::fs::read_dir(place.path("r8")).unwrap().map(|it| it.unwrap().path()).collect();
    let [run] = &runs[..] else { panic!("{runs:?}") };
    let ranks = std::fs::read_dir(run.join("db")).unwrap().map(|it| it.unwrap().path());
    let rank = ranks.into_iter().find(|it| it.to_str().unwrap().contains("_10005_")).expect("rank 5");
    for name in ["ascend_pytorch_profiler_5.db", "analysis.db"] {
        let database = rank.join("ASCEND_PROFILER_OUTPUT").join(name);
        let content = std::fs::read(&database).unwrap();
        std::fs::remove_file(&database).unwrap();
        assert!(Command::new("mkfifo").arg(&database).status().unwrap().success());
        let answer = place.done(&["cluster", "r8"]);
        assert!(answer.stderr.contains("rank 5: cut or damaged"), "{}", answer.stderr);
        let says = format!("{name} (this is no plain file)");
        assert!(answer.stderr.contains(&says), "{}", answer.stderr);
        std::fs::remove_file(&database).unwrap();
        std::fs::write(&database, content).unwrap();
    }
    assert!(!place.done(&["cluster", "r8"]).stderr.contains("damaged"));
}

/// The acceptance over many seeds; takes minutes: `cargo test --test cluster -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn thirty_seeds_of_eight_and_some_of_64_ranks_are_told_truly() {
    let place = Place::new();
    for (ranks, seeds) in [("8", 1..=30), ("64", 1..=4)] {
        for seed in seeds {
            let name = format!("r{ranks}-{seed}");
            let Some(folder) = simulate(&place, &name, &["--ranks", ranks, "--seed", &seed.to_string()])
            else {
                return;
            };
            assert_both_true(&place, &folder);
            std::fs::remove_dir_all(folder).unwrap();
        }
    }
}

#[test]
fn a_path_without_ranks_says_what_was_expected() {
    let place = Place::new();
    place.fails(1, &["nowhere", "no such folder"], &["cluster", "nowhere"]);
    place.fails(1, &["s3://runs/seven", "mount"], &["cluster", "s3://runs/seven"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place.fails(1, &["empty", "_ascend_pt"], &["cluster", "empty"]);
    place.fails(2, &["PATH"], &["cluster"]);
    place.fails(2, &["0% to 100%"], &["cluster", "empty", "--fail-above", "lots"]);
    place.fails(2, &["0-28"], &["cluster", "slow", "empty", "--link", "7"]);
}
