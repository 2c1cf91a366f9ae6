//! `opscope cluster` on runs of which ranks, links, names or collectives weren't recorded: what the others cost is what
//! it is in the whole run, and nothing is made of what isn't known.

mod common;

use std::path::PathBuf;

use common::Place;
use serde_json::Value;

/// Makes a collection of simulated ranks; returns the folder of a form.
fn sample(place: &Place, ranks: &str, form: &str, more: &[&str]) -> String {
    let words = ["sample", "cluster", "-o", "made", "--ranks", ranks, "--format", form];
    place.done(&[&words[..], more].concat());
    let made = std::fs::read_dir(place.path("made")).unwrap().next().unwrap().unwrap().file_name();
    format!("made/{}/{form}", made.to_str().unwrap())
}

fn asked(place: &Place, folder: &str) -> Value {
    place.done(&["cluster", folder, "--json"]).json()
}

/// The folder of a rank.
fn folder_of(place: &Place, folder: &str, rank: u32) -> PathBuf {
    let rank = format!("_{}_", 10_000 + rank);
    let mut found = std::fs::read_dir(place.path(folder)).unwrap().map(|it| it.unwrap().path());
    found.find(|path| path.to_string_lossy().contains(&rank)).unwrap()
}

fn remove(place: &Place, folder: &str, ranks: impl IntoIterator<Item = u32>) {
    ranks.into_iter().for_each(|rank| std::fs::remove_dir_all(folder_of(place, folder, rank)).unwrap());
}

/// The time that a step saves without a suspect, in milliseconds; `None` if nobody of the name is named.
fn saves(answer: &Value, name: &str) -> Option<f64> {
    let mut suspects = answer["suspects"].as_array().unwrap().iter();
    let found = suspects.find(|it| it["named"] == true && it["name"].as_str().unwrap().starts_with(name))?;
    Some(found["saves_ns"].as_f64().unwrap() / 1e6)
}

/// The share of a step that would do if nobody were slower than its peers.
fn reachable(answer: &Value) -> f64 {
    answer["reachable_ns"].as_f64().unwrap() / answer["step_ns"].as_f64().unwrap()
}

#[test]
fn of_a_healthy_run_of_which_one_stage_was_recorded_nothing_could_be_saved() {
    let place = Place::new();
    let folder = sample(&place, "16", "db", &["--fault", "none"]);
    remove(&place, &folder, 8..16);
    let answer = asked(&place, &folder);
    assert!(reachable(&answer) > 0.98, "{answer:#}");
    place.done(&["cluster", &folder, "--fail-above", "5%"]);
}

#[test]
fn a_slow_link_to_a_rank_that_was_not_recorded_hides_nobody() {
    let place = Place::new();
    let more = ["--devices-per-host", "4", "--seed", "11", "--steps", "3"];
    let folder = sample(&place, "16", "db", &more);
    let whole = asked(&place, &folder);
    remove(&place, &folder, [0]);
    let answer = asked(&place, &folder);
    for name in ["rank 13", "rank 4"] {
        let (known, told) = (saves(&whole, name).unwrap(), saves(&answer, name).unwrap());
        assert!((told / known - 1.0).abs() < 0.05, "{name}: {told} ms, and {known} of the whole run");
    }
    let (link, told) = (saves(&whole, "link 0").unwrap(), saves(&answer, "rank 0 (not recorded)").unwrap());
    assert!((told / link - 1.0).abs() < 0.1, "{told} ms, and {link} of the whole run");
    assert!((reachable(&answer) - reachable(&whole)).abs() < 0.02);
    let text = place.done(&["cluster", &folder]).stdout;
    assert!(text.contains("times as long as those of its like, as over a slow link"), "{text}");
}

#[test]
fn members_of_a_group_that_only_links_tell_of_are_counted() {
    let place = Place::new();
    let words = ["sample", "cluster", "-o", "made", "--format", "text", "--fault", "none"];
    place.done(&[&words[..], &["--layout", "tp=8,pp=1,dp=1,ep=1"]].concat());
    let folder = "made/cluster_8_ranks_seed_1/text".to_owned();
    remove(&place, &folder, 2..8);
    for rank in 0..2 {
        let path = folder_of(&place, &folder, rank).join("profiler_metadata.json");
        std::fs::write(path, "{}").unwrap();
    }
    let answer = asked(&place, &folder);
    assert_eq!(answer["incomplete"], answer["collectives"], "{answer:#}");
    let told = place.done(&["cluster", &folder]).stdout;
    assert!(told.contains("links tell of 8 in a group, 6 of them not recorded"), "{told}");
    assert!(!told.contains("nothing missing"), "{told}");
    let told = place.done(&["cluster", "info", &folder]).stdout;
    assert!(told.contains("1 group of 2 ranks (by what was seen; 6 more by their links)"), "{told}");
}

#[test]
fn a_rank_whose_files_are_empty_is_as_one_that_is_missing() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--damage", "empty=2", "--steps", "3"]);
    let answer = asked(&place, &folder);
    assert!(saves(&answer, "rank 2 (not recorded)").is_some(), "{answer:#}");
    let told = place.done(&["cluster", &folder]).stdout;
    assert!(told.starts_with("7 of 8 ranks (missing 2)"), "{told}");
}

/// Asserts that `info` and `summary` tell of ranks that can't be compared, and that what compares them refuses, and says so.
fn assert_told_without_comparison(place: &Place, at: &str, extent: &str, why: &str, ranks: usize) {
    let info = place.done(&["cluster", "info", at]);
    assert!(info.stdout.starts_with(extent), "{}", info.stdout);
    assert!(info.stdout.contains(why) && info.stderr.contains(why), "{}{}", info.stdout, info.stderr);
    let times = |text: &str| info.stdout.matches(text).count();
    assert_eq!(times("issing"), 1, "what is missing is said once: {}", info.stdout);
    let info = place.done(&["cluster", "info", at, "--json"]).json();
    assert!(info["incomparable"].is_string(), "{info:#}");
    assert_eq!(info["ranks"].as_array().map(Vec::len), Some(ranks));
    assert_eq!(info["missing"].as_array().map(Vec::len), Some(16 - ranks));
    let told = place.done(&["cluster", "summary", at, "--json"]).json();
    for (row, rank) in told["rows"].as_array().unwrap().iter().zip(info["ranks"].as_array().unwrap()) {
        let part = |name: &str| row[name].as_f64().unwrap();
        assert_eq!(rank["steps"].as_array().map(Vec::len), Some(3));
        assert!(part("compute_ns") > 1e6 && part("communication_ns") > 1e6, "{row:#}");
        let sum =
            ["compute_ns", "communication_ns", "idle_ns", "unaccounted_ns"].map(part).iter().sum::<f64>();
        assert!((sum - part("step_ns")).abs() <= 4.0, "{row:#}");
        assert!(row["waiting_ns"].is_null() && rank["account"]["waiting_ns"].is_null(), "{row:#} {rank:#}");
        assert!(
            (rank["account"]["communication_ns"].as_f64().unwrap() - part("communication_ns")).abs() <= 4.0
        );
    }
    let columns = place.done(&["cluster", "info", at, "--csv"]).stdout;
    assert!(columns.lines().next().unwrap().contains(",communication_ns,"), "{columns}");
    let links = place.done(&["cluster", "comm", at, "--matrix", "--json"]).json();
    assert!(links["links"].as_array().is_some_and(|links| !links.is_empty()), "{links:#}");
    let drawn = place.done(&["cluster", "export", at, "--format", "timeline", "-o", "run.json"]).stdout;
    assert!(drawn.contains(" 0 waits") && !drawn.contains(": 0 slices"), "{drawn}");
    for command in [&["cluster", at][..], &["cluster", "slow", at], &["cluster", "comm", at]] {
        place.fails(1, &["has a counterpart on another rank", "opscope cluster info tells"], command);
    }
}

#[test]
fn ranks_that_nothing_can_be_compared_with_are_told_of_all_the_same() {
    let place = Place::new();
    let folder = sample(&place, "16", "db", &["--steps", "3"]);
    // Ranks 5 and 10 are in no group together.
    remove(&place, &folder, (0..16).filter(|rank| ![5, 10].contains(rank)));
    let why = "no collective of these ranks has a counterpart on another rank";
    assert_told_without_comparison(
        &place,
        &folder,
        "2 of 16 ranks (missing 0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, … (14 in all)) on 2 hosts",
        why,
        2,
    );
    remove(&place, &folder, [10]);
    let extent = "1 of 16 ranks (missing 0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, … (15 in all)) on 1 host (tp 2, pp 2, dp 4, ep 2), 3 steps\n";
    let why = "this is a single rank";
    assert_told_without_comparison(&place, &folder, extent, why, 1);
    place.done(&["cluster", "import", &folder, "-o", "set"]);
    assert_told_without_comparison(&place, "set", extent, why, 1);
}

#[test]
fn an_empty_folder_that_tells_no_rank_is_no_rank_and_is_named() {
    let place = Place::new();
    let folder = sample(&place, "16", "db", &["--steps", "3"]);
    let whole = asked(&place, &folder);
    let empty = format!("{folder}/empty_1_20250101000000000_ascend_pt");
    std::fs::create_dir(place.path(&empty)).unwrap();
    let mut answer = asked(&place, &folder);
    let told = answer["losses"].take();
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{told:#}");
    assert_eq!(told[0]["kind"], "empty_folder");
    assert!(told[0]["source"].as_str().unwrap().ends_with("empty_1_20250101000000000_ascend_pt"), "{told:#}");
    answer["losses"] = whole["losses"].clone();
    assert_eq!(answer, whole);
    let text = place.done(&["cluster", &folder]);
    assert!(text.stdout.starts_with("16 ranks on 2 hosts"), "{}", text.stdout);
    assert!(text.stderr.contains("as where a start was aborted; not used"), "{}", text.stderr);
    // One whose rank is known by its files is that of a rank that is missing.
    let lacking = folder_of(&place, &folder, 5);
    std::fs::remove_dir_all(lacking.join("ASCEND_PROFILER_OUTPUT")).unwrap();
    std::fs::write(lacking.join("profiler_info_5.json"), "{}").unwrap();
    let text = place.done(&["cluster", &folder]).stdout;
    assert!(text.starts_with("15 of 16 ranks (missing 5)"), "{text}");
}

#[test]
fn a_group_is_named_where_one_of_its_ranks_lost_what_tells_of_links() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--steps", "3"]);
    let whole = asked(&place, &folder);
    let outputs = folder_of(&place, &folder, 0).join("ASCEND_PROFILER_OUTPUT");
    std::fs::remove_file(outputs.join("analysis.db")).unwrap();
    // The tasks of its collectives still do.
    let by_tasks = asked(&place, &folder);
    let link = saves(&whole, "link 0").expect("a slow link");
    let same = saves(&by_tasks, "link 0").expect("the same link");
    assert!((same / link - 1.0).abs() < 0.02, "{same} and {link}");
    let database = rusqlite::Connection::open(outputs.join("ascend_pytorch_profiler_0.db")).unwrap();
    assert!(database.execute("UPDATE COMMUNICATION_TASK_INFO SET size = 0", []).unwrap() > 0);
    drop(database);
    let answer = asked(&place, &folder);
    assert!(saves(&answer, "dp group of 0, 2").is_some(), "{answer:#}");
    assert!((reachable(&answer) - reachable(&whole)).abs() < 0.02, "{answer:#}");
}

#[test]
fn operators_whose_names_are_lost_are_no_reason() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--steps", "3"]);
    let path = folder_of(&place, &folder, 3).join("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db");
    let database = rusqlite::Connection::open(path).unwrap();
    let names = "SELECT name FROM COMPUTE_TASK_INFO UNION SELECT opType FROM COMPUTE_TASK_INFO";
    let delete = format!("DELETE FROM STRING_IDS WHERE id IN ({names})");
    assert!(database.execute(&delete, []).unwrap() > 0);
    drop(database);
    let answer = asked(&place, &folder);
    let suspects = answer["suspects"].as_array().unwrap();
    let rank = suspects.iter().find(|it| it["rank"] == 3).expect("rank 3, which is slow");
    let causes = rank["evidence"]["causes"].as_array().unwrap();
    assert!(causes.iter().all(|it| it["cause"] != "other_work"), "{causes:#?}");
}

#[test]
fn tokens_are_compared_with_those_of_ranks_that_do_not_lack_them() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--steps", "3"]);
    remove(&place, &folder, [6]);
    let answer = asked(&place, &folder);
    let suspects = answer["suspects"].as_array().unwrap();
    let rank = suspects.iter().find(|it| it["rank"] == 7).expect("rank 7, which has more tokens");
    let cause = &rank["evidence"]["causes"][0];
    assert_eq!(cause["cause"], "tokens", "{cause:#}");
    assert!((cause["times"].as_f64().unwrap() - 1.8).abs() < 0.15, "{cause:#}");
}

#[test]
fn the_preparation_of_a_step_is_a_part_of_it_in_every_form() {
    let place = Place::new();
    let more = ["--fault", "late-input=2:20ms", "--steps", "3"];
    let folder = sample(&place, "8", "both", &more);
    let made = folder.trim_end_matches("/both");
    let of_form = |form: &str| {
        let folder = format!("{made}/{form}");
        let rows = place.done(&["cluster", "summary", &folder, "--by", "rank", "--json"]).json();
        rows["rows"].as_array().unwrap().clone()
    };
    for (db, text) in of_form("db").iter().zip(&of_form("text")) {
        for part in ["step_ns", "idle_ns", "compute_ns"] {
            let (db, text) = (db[part].as_f64().unwrap(), text[part].as_f64().unwrap());
            assert!((db - text).abs() < 0.01 * db.max(1e7), "{part}: {db} {text}");
        }
    }
}

#[test]
fn results_of_all_ranks_hide_collectives_as_their_table_of_steps_says() {
    let place = Place::new();
    let folder = sample(&place, "8", "text", &["--steps", "3"]);
    place.done(&["msprof-analyze", "-m", "all", "-d", &folder, "-o", "results"]);
    let table = place.path("results/cluster_analysis_output/cluster_step_trace_time.csv");
    let table = std::fs::read_to_string(table).unwrap();
    let first: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    let number = |column: usize| first[column].parse::<f64>().unwrap();
    assert_eq!((first[1], first[2]), ("rank", "0"));
    let rows = place.done(&["cluster", "summary", "results", "--by", "rank", "--json"]).json();
    let row = &rows["rows"][0];
    let part = |name: &str| row[name].as_f64().unwrap() / 1e3;
    assert!((part("compute_ns") / number(3) - 1.0).abs() < 0.05, "{row:#}");
    let exposed = part("waiting_ns") + part("transfer_ns") + part("bubble_ns");
    assert!((exposed / number(4) - 1.0).abs() < 0.05, "{row:#} {}", number(4));
}

#[test]
fn a_slow_link_to_a_rank_that_was_not_recorded_is_the_reason_why_others_wait_for_it() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--fault", "slow-link=1-3"]);
    remove(&place, &folder, [3]);
    let text = place.done(&["cluster", &folder]).stdout;
    assert!(text.contains("slow links to it: 1 → 3 (HCCS)"), "{text}");
    assert!(!text.contains("tells why"), "{text}");
}
