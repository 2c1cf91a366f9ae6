//! `opscope cluster` on ranks of which something is missing: it is told, and what is left gives no wrong figures.

mod common;

use common::Place;
use serde_json::Value;

/// Makes a collection of simulated ranks; returns the folder of a form.
fn sample(place: &Place, ranks: &str, form: &str, more: &[&str]) -> String {
    let words = ["sample", "cluster", "-o", "made", "--ranks", ranks, "--format", form];
    place.done(&[&words[..], more].concat());
    format!("made/cluster_{ranks}_ranks_seed_1/{form}")
}

/// The mean time of a step with nothing on the device, in milliseconds.
fn host_ms(answer: &Value) -> f64 {
    answer["account"]["host_ns"].as_f64().unwrap() / 1e6
}

/// The losses of a rank: kind and detail.
fn losses_of(answer: &Value, rank: u64) -> Vec<(&str, &str)> {
    let losses =
        answer["losses"].as_array().unwrap().iter().filter(|loss| loss["scope"] == format!("rank {rank}"));
    losses.map(|loss| (loss["kind"].as_str().unwrap(), loss["detail"].as_str().unwrap_or_default())).collect()
}

#[test]
fn a_table_that_lacks_a_step_is_told_and_the_step_is_that_of_the_collectives() {
    let place = Place::new();
    let folder = sample(&place, "8", "text", &[]);
    let whole = place.done(&["cluster", &folder, "--json"]).json();
    let of_rank = std::fs::read_dir(place.path(&folder)).unwrap().map(|it| it.unwrap().path());
    let of_rank = of_rank.into_iter().find(|path| path.to_string_lossy().contains("_10006_")).unwrap();
    let table = of_rank.join("ASCEND_PROFILER_OUTPUT/step_trace_time.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 3, "a heading and two steps");
    std::fs::write(&table, rows[..2].join("\n")).unwrap();
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    let losses = losses_of(&answer, 6);
    assert!(
        matches!(losses[..], [("damaged", detail)] if detail.ends_with("collectives name: 11")),
        "{losses:?}"
    );
    assert!(
        (host_ms(&answer) - host_ms(&whole)).abs() < 1.0,
        "{:#} {:#}",
        answer["account"],
        whole["account"]
    );
    let named = |answer: &Value| -> Vec<String> {
        answer["suspects"].as_array().unwrap().iter().map(|it| it["name"].to_string()).collect()
    };
    assert_eq!(named(&answer), named(&whole));
}

/// Makes a collection of texts in which nothing tells of the collectives of rank 2.
fn without_collectives_of_2(place: &Place) -> String {
    let folder = sample(place, "16", "text", &["--fault", "none", "--damage", "level0=2"]);
    std::fs::remove_file(file_of(place, &folder, 2, "trace_view.json")).unwrap();
    folder
}

#[test]
fn collectives_that_texts_of_level_0_lack_come_from_their_timelines() {
    let place = Place::new();
    let whole = sample(&place, "16", "text", &[]);
    std::fs::rename(place.path("made"), place.path("whole")).unwrap();
    let whole = whole.replace("made/", "whole/");
    let level_0: Vec<String> = (0..16).map(|rank| format!("level0={rank}")).collect();
    for damage in [&level_0[5..6], &level_0] {
        let words: Vec<&str> = damage.iter().flat_map(|it| ["--damage", it]).collect();
        let folder = sample(&place, "16", "text", &words);
        let [whole, level_0] =
            [&whole, &folder].map(|folder| place.done(&["cluster", folder, "--json"]).json());
        let suspects = |answer: &Value| -> Vec<(String, f64)> {
            let cost = |it: &Value| (it["name"].to_string(), it["saves_ns"].as_f64().unwrap());
            // Which links a group has is told by the texts of level 1 alone.
            let ranks = answer["suspects"].as_array().unwrap().iter().filter(|it| it["kind"] == "rank");
            ranks.map(cost).collect()
        };
        let (expected, found) = (suspects(&whole), suspects(&level_0));
        assert!(expected.len() >= 3, "{expected:?}");
        assert_eq!(expected.len(), found.len(), "{expected:?} {found:?}");
        for ((name, cost), (found, found_cost)) in expected.iter().zip(&found) {
            assert!(name == found && (cost - found_cost).abs() <= 0.01 * cost, "{expected:?} {found:?}");
        }
        assert_eq!(whole["collectives"], level_0["collectives"]);
        std::fs::remove_dir_all(place.path("made")).unwrap();
    }
}

#[test]
fn a_rank_without_collectives_is_told_and_does_not_count_as_idle() {
    let place = Place::new();
    let folder = without_collectives_of_2(&place);
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    assert_eq!(losses_of(&answer, 2), [("no_collectives", "")], "{answer:#}");
    assert!((0.0..3.0).contains(&host_ms(&answer)), "{:#}", answer["account"]);
    let screen = place.done(&["cluster", &folder, "--lang", "zh"]);
    assert!(screen.stderr.contains("没有集合通信，而其他 rank 有"), "{}", screen.stderr);
}

/// The rows of a table as CSV, by the names of their columns.
fn rows_of(csv: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

#[test]
fn where_the_time_of_a_rank_without_collectives_goes_is_told_by_no_figure() {
    const UNKNOWN: [&str; 5] = ["waiting_ns", "transfer_ns", "bubble_ns", "host_ns", "unaccounted_ns"];
    let place = Place::new();
    let folder = without_collectives_of_2(&place);
    let info = place.done(&["cluster", "info", &folder, "--json"]).json();
    let account = |rank: usize| &info["ranks"][rank]["account"];
    for part in UNKNOWN {
        assert!(account(2)[part].is_null() && account(3)[part].is_number(), "{part}: {info:#}");
    }
    // Its operators tell what it computed.
    let computed = |rank: usize| account(rank)["compute_ns"].as_f64().unwrap();
    assert!((computed(2) / computed(3) - 1.0).abs() < 0.1, "{} and {}", computed(2), computed(3));
    let text = place.done(&["cluster", "info", &folder]).stdout;
    let dashes = |rank: usize| text.lines().nth(rank + 1).unwrap().matches('–').count();
    assert_eq!(dashes(2), dashes(3) + 2, "{text}");
    let of_columns = place.done(&["cluster", "info", &folder, "--csv"]).stdout;
    let export = ["cluster", "export", &folder, "--format", "csv", "-o", "tables"];
    let exported = |more: &[&str]| {
        place.done(&[&export, more].concat());
        std::fs::read_to_string(place.path("tables/ranks.csv")).unwrap()
    };
    for csv in [of_columns, exported(&[]), exported(&["--steps", "11"])] {
        let rows = rows_of(&csv);
        for part in UNKNOWN {
            assert!(rows[2][part].is_empty() && !rows[3][part].is_empty(), "{part}: {csv}");
        }
        assert!(!rows[2]["compute_ns"].is_empty() && rows[2]["steps"] == rows[3]["steps"], "{csv}");
    }
}

#[test]
fn what_a_rank_computes_is_not_known_where_its_file_is_empty_or_lacks_the_operators_of_steps() {
    for (form, damage, rank) in [("db", "empty=3", 3), ("kineto", "cut=6", 6)] {
        let place = Place::new();
        let folder = sample(&place, "8", form, &["--fault", "none", "--damage", damage]);
        let info = place.done(&["cluster", "info", &folder, "--json"]).json();
        let account = info["ranks"][rank]["account"].as_object().unwrap();
        assert!(account.len() > 5 && account.values().all(Value::is_null), "{form}: {account:#?}");
        assert!(info["ranks"][2]["account"]["compute_ns"].as_f64().unwrap() > 1e6, "{form}: {info:#}");
        let text = place.done(&["cluster", "info", &folder]).stdout;
        let row = text.lines().nth(rank + 1).unwrap();
        assert!(row.matches('–').count() >= 3 && !row.contains(" ms"), "{form}: {row}");
        let rows = rows_of(&place.done(&["cluster", "info", &folder, "--csv"]).stdout);
        assert_eq!((&*rows[rank]["compute_ns"], &*rows[rank]["host_ns"]), ("", ""), "{form}");
    }
}

#[test]
fn groups_that_lack_a_rank_are_not_named_for_waiting_for_it() {
    let place = Place::new();
    let folder = sample(&place, "16", "kineto", &["--damage", "missing=5"]);
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    let suspects = answer["suspects"].as_array().unwrap();
    let groups = suspects.iter().filter(|it| it["kind"] == "group");
    let lacking = groups.filter(|it| it["ranks"].as_array().unwrap().contains(&5.into()));
    assert_eq!(lacking.count(), 0, "{suspects:#?}");
    assert_eq!(suspects[0]["rank"], 13, "the rank that costs most: {suspects:#?}");
}

#[test]
fn a_rank_with_nothing_in_it_that_others_wait_for_is_named_as_one_that_is_missing() {
    let place = Place::new();
    let named = |damage: &str| {
        let folder = sample(&place, "16", "db", &["--damage", damage]);
        let answer = place.done(&["cluster", &folder, "--json"]).json();
        std::fs::remove_dir_all(place.path("made")).unwrap();
        let first = &answer["suspects"][0];
        (first["name"].clone(), first["named"].clone(), first["saves_ns"].clone())
    };
    let missing = named("missing=13");
    assert_eq!((&missing.0, &missing.1), (&"rank 13 (not recorded)".into(), &true.into()));
    assert_eq!(named("empty=13"), missing);
}

#[test]
fn a_rank_whose_operators_alone_were_recorded_is_named_as_such() {
    let place = Place::new();
    let folder = sample(&place, "16", "kineto", &["--damage", "cut=6"]);
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    let names: Vec<&str> =
        answer["suspects"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"rank 6 (no collectives recorded)"), "{names:?}");
}

#[test]
fn what_a_late_input_explains_no_late_host_explains_again() {
    let place = Place::new();
    let folder = sample(&place, "16", "db", &["--fault", "late-input=5"]);
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    let suspect = &answer["suspects"][0];
    let causes: Vec<&Value> = suspect["evidence"]["causes"].as_array().unwrap().iter().collect();
    let words: Vec<&str> = causes.iter().map(|cause| cause["cause"].as_str().unwrap()).collect();
    assert_eq!((&suspect["rank"], &words[..]), (&5.into(), &["late_input"][..]), "{suspect:#}");
}

#[test]
fn no_group_is_called_the_slowest_for_the_rank_that_it_lacks() {
    let place = Place::new();
    let folder = sample(&place, "16", "db", &["--fault", "none", "--damage", "missing=5"]);
    let answer = place.done(&["cluster", "comm", &folder, "--json"]).json();
    let rows = answer["collectives"].as_array().unwrap();
    assert!(!rows.is_empty());
    let lacking = rows
        .iter()
        .filter(|row| row["slowest_group"]["ranks"].as_array().is_some_and(|it| it.contains(&5.into())));
    assert_eq!(lacking.count(), 0, "{rows:#?}");
}

/// A file of a rank.
fn file_of(place: &Place, folder: &str, rank: u32, name: &str) -> std::path::PathBuf {
    let rank = format!("_{}_", 10_000 + rank);
    let found = std::fs::read_dir(place.path(folder)).unwrap().map(|it| it.unwrap().path());
    let of_rank = found.into_iter().find(|path| path.to_string_lossy().contains(&rank)).unwrap();
    of_rank.join("ASCEND_PROFILER_OUTPUT").join(name)
}

fn change(file: &std::path::Path, statement: &str) {
    assert!(rusqlite::Connection::open(file).unwrap().execute(statement, []).unwrap() > 0, "{statement}");
}

#[test]
fn a_databases_table_that_lacks_steps_is_told_and_no_part_of_a_step_is_less_than_nothing() {
    let place = Place::new();
    let folder = sample(&place, "16", "db", &["--fault", "none"]);
    let ask = |command: &[&str]| place.done(&[&["cluster"], command, &[&folder, "--json"]].concat()).json();
    let whole = ask(&[]);
    let profile = file_of(&place, &folder, 6, "ascend_pytorch_profiler_6.db");
    let sound = || {
        let answer = ask(&[]);
        let off = (host_ms(&answer) - host_ms(&whole)).abs();
        assert!(off < 0.5, "{:#} {:#}", answer["account"], whole["account"]);
        for row in ask(&["summary"])["rows"].as_array().unwrap() {
            let unaccounted = row["unaccounted_ns"].as_f64().unwrap();
            assert!(unaccounted.abs() < 0.1 * row["step_ns"].as_f64().unwrap(), "{row:#}");
        }
        answer
    };
    // Another table has its number.
    change(&profile, "DELETE FROM STEP_TIME WHERE id = 11");
    let answer = sound();
    let losses = losses_of(&answer, 6);
    assert!(matches!(losses[..], [("damaged", detail)] if detail.contains("another table")), "{losses:?}");
    assert_eq!(answer["matched"], whole["matched"]);
    // No table has.
    let analysis = file_of(&place, &folder, 6, "analysis.db");
    change(&analysis, "DELETE FROM StepTraceTime WHERE step = 11");
    let answer = sound();
    let losses = losses_of(&answer, 6);
    let is_left_out =
        matches!(losses[..], [("damaged", detail), ("lacks_steps", _)] if detail.contains("left out"));
    assert!(is_left_out, "{losses:?}");
    // The other table's steps stand for those of an empty one.
    change(&profile, "DELETE FROM STEP_TIME");
    change(
        &analysis,
        "INSERT INTO StepTraceTime SELECT 11, computing, communication_not_overlapped, overlapped, communication, free, stage, bubble, communication_not_overlapped_and_exclude_receive, preparing FROM StepTraceTime LIMIT 1",
    );
    let answer = sound();
    assert_eq!(losses_of(&answer, 6), [], "{answer:#}");
}

#[test]
fn the_number_of_a_lacking_step_may_be_none() {
    let place = Place::new();
    let folder = sample(&place, "8", "text", &["--fault", "none"]);
    for rank in 0..8 {
        for name in ["step_trace_time.csv", "communication.json", "communication_matrix.json"] {
            let file = file_of(&place, &folder, rank, name);
            let text = std::fs::read_to_string(&file).unwrap();
            let text = text.replace("step10", "step0").replace("step11", "step1");
            std::fs::write(&file, text.replace("\n10,", "\n0,").replace("\n11,", "\n1,")).unwrap();
        }
    }
    let whole = place.done(&["cluster", &folder, "--json"]).json();
    let table = file_of(&place, &folder, 6, "step_trace_time.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    let rows: Vec<&str> = text.lines().filter(|row| !row.starts_with("0,")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    std::fs::write(&table, rows.join("\n")).unwrap();
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    let losses = losses_of(&answer, 6);
    assert!(
        matches!(losses[..], [("damaged", detail)] if detail.ends_with("collectives name: 0")),
        "{losses:?}"
    );
    assert!((host_ms(&answer) - host_ms(&whole)).abs() < 0.5, "{:#}", answer["account"]);
}

#[test]
fn a_step_that_is_left_out_makes_no_group_slow_and_costs_and_operators_are_those_of_the_others() {
    let place = Place::new();
    let folder = sample(&place, "16", "text", &[]);
    for rank in 0..16 {
        std::fs::remove_file(file_of(&place, &folder, rank, "communication_matrix.json")).unwrap();
    }
    let of_rank_13 = |answer: &Value| -> Value {
        let suspects = answer["suspects"].as_array().unwrap();
        suspects.iter().find(|it| it["rank"] == 13 && it["kind"] == "rank").unwrap().clone()
    };
    let whole = of_rank_13(&place.done(&["cluster", &folder, "--json"]).json());
    let file = file_of(&place, &folder, 13, "communication.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let second = text.find("step11").unwrap();
    std::fs::write(&file, &text[..second + (text.len() - second) / 3]).unwrap();
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    assert!(losses_of(&answer, 13).iter().any(|(kind, _)| *kind == "cut_step"), "{answer:#}");
    let groups = answer["suspects"].as_array().unwrap().iter().filter(|it| it["kind"] == "group");
    let waiting = groups.filter(|it| it["ranks"].as_array().unwrap().contains(&13.into()));
    assert_eq!(waiting.count(), 0, "{:#}", answer["suspects"]);
    let cut = of_rank_13(&answer);
    let saves = |suspect: &Value| suspect["saves_ns"].as_f64().unwrap();
    assert!((saves(&cut) / saves(&whole) - 1.0).abs() < 0.2, "{} {}", saves(&cut), saves(&whole));
    let first = |suspect: &Value| suspect["evidence"]["differences"][0].clone();
    let count = |suspect: &Value| first(suspect)["count"].as_f64().unwrap();
    assert!((count(&cut) / count(&whole) - 1.0).abs() < 0.1, "{:#} {:#}", first(&cut), first(&whole));
}

#[test]
fn nothing_of_a_rank_without_collectives_stands_in_means_and_comparisons() {
    let place = Place::new();
    let sound = sample(&place, "16", "text", &["--fault", "none"]);
    std::fs::rename(place.path("made"), place.path("sound")).unwrap();
    let sound = sound.replace("made/", "sound/");
    let folder = without_collectives_of_2(&place);
    for by in ["host", "step"] {
        let rows = place.done(&["cluster", "summary", &folder, "--by", by, "--json"]).json();
        for row in rows["rows"].as_array().unwrap() {
            assert!(row["idle_ns"].as_f64().unwrap() < 3e6, "{row:#}");
        }
    }
    let compared = place.done(&["cluster", "compare", &sound, &folder, "--json"]).json();
    let changed: Vec<&Value> = compared["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["verdict"] == "slower" || row["verdict"] == "faster")
        .collect();
    assert!(changed.is_empty(), "{changed:#?}");
    let refused = place.fails(2, &["no collectives of rank 2"], &["cluster", "slow", &folder, "--rank", "2"]);
    assert!(!refused.stderr.contains("Nothing stands out"), "{}", refused.stderr);
}

#[test]
fn a_rank_that_was_not_recorded_can_be_asked_about_where_it_is_a_suspect() {
    let place = Place::new();
    for damage in ["empty=13", "missing=13"] {
        let folder = sample(&place, "16", "db", &["--damage", damage]);
        let answer = place.done(&["cluster", "slow", &folder, "--rank", "13"]);
        assert!(answer.stdout.contains("rank 13 (not recorded) costs a step"), "{}", answer.stdout);
        std::fs::remove_dir_all(place.path("made")).unwrap();
    }
}

/// Copies a rank's folder under a later time, with all times of its databases moved by so many nanoseconds.
fn record_again(place: &Place, folder: &str, rank: u32, moved_ns: i64) -> std::path::PathBuf {
    let first = file_of(place, folder, rank, "analysis.db").ancestors().nth(2).unwrap().to_owned();
    let name = first.file_name().unwrap().to_str().unwrap().to_owned();
    let (begin, end) = name.split_at(name.rfind("_ascend_pt").unwrap());
    let again = first.with_file_name(format!("{}9{end}", &begin[..begin.len() - 1]));
    assert_ne!(again, first);
    let mut open = vec![(first, again.clone())];
    while let Some((from, to)) = open.pop() {
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            let to = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => open.push((entry.path(), to)),
                false => drop(std::fs::copy(entry.path(), to).unwrap()),
            }
        }
    }
    if moved_ns != 0 {
        let profile = again.join(format!("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db"));
        for table in ["TASK", "COMMUNICATION_OP", "STEP_TIME"] {
            let set = format!("startNs = startNs + {moved_ns}, endNs = endNs + {moved_ns}");
            change(&profile, &format!("UPDATE {table} SET {set}"));
        }
    }
    again
}

#[test]
fn a_rank_that_two_jobs_recorded_at_once_is_refused_and_one_that_was_recorded_later_is_used() {
    const SECOND: i64 = 1_000_000_000;
    for (moved_ns, is_refused) in [(SECOND / 10, true), (3_600 * SECOND, false), (0, false)] {
        let place = Place::new();
        let folder = sample(&place, "8", "db", &["--fault", "none"]);
        let again = record_again(&place, &folder, 3, moved_ns);
        let name = again.file_name().unwrap().to_str().unwrap().to_owned();
        for command in [&["cluster", &folder][..], &["cluster", "import", &folder, "-o", "set"]] {
            if is_refused {
                let says = ["recorded twice at the same time", ": 3,", &name, "the folders of one job"];
                place.fails(1, &says, command);
            } else {
                place.done(command);
            }
        }
        assert_eq!(place.path("set/ranks").exists(), !is_refused);
        if !is_refused {
            let answer = place.done(&["cluster", &folder, "--json"]).json();
            assert!(losses_of(&answer, 3).iter().any(|(kind, _)| *kind == "double"), "{answer:#}");
        }
    }
    // A form of the same recording whose begin is lost.
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--fault", "none"]);
    let again = record_again(&place, &folder, 3, 0);
    let profile = again.join("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db");
    let begin = "startNs < (SELECT min(startNs) FROM COMMUNICATION_OP) + 20000000";
    change(&profile, &format!("DELETE FROM COMMUNICATION_OP WHERE {begin}"));
    place.done(&["cluster", &folder]);
}

#[test]
fn a_step_that_the_analysis_lacks_is_taken_from_the_table_beside_it() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--fault", "none"]);
    place.done(&["sample", "cluster", "-o", "other", "--ranks", "8", "--format", "text", "--fault", "none"]);
    let text = "other/cluster_8_ranks_seed_1/text";
    for rank in 0..8 {
        // The files that the vendor recommends for very large clusters, and the table of steps beside them.
        std::fs::remove_file(file_of(&place, &folder, rank, &format!("ascend_pytorch_profiler_{rank}.db")))
            .unwrap();
        let table = file_of(&place, text, rank, "step_trace_time.csv");
        std::fs::copy(table, file_of(&place, &folder, rank, "step_trace_time.csv")).unwrap();
    }
    let whole = place.done(&["cluster", &folder, "--json"]).json();
    for rank in [2, 6] {
        // A step that collectives name, and one that nothing else does.
        let analysis = file_of(&place, &folder, rank, "analysis.db");
        change(&analysis, "DELETE FROM StepTraceTime WHERE step = 11");
        if rank == 6 {
            change(&analysis, "DELETE FROM CommAnalyzerTime WHERE step = 'step11'");
        }
    }
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    for rank in [2, 6] {
        let losses = losses_of(&answer, rank);
        let is_told = |(kind, detail): &(&str, &str)| *kind == "damaged" && detail.contains("another table");
        assert!(losses.iter().any(is_told), "{losses:?}");
    }
    let row = |folder: &str| -> Vec<Value> {
        let answer = place.done(&["cluster", "summary", folder, "--json"]).json();
        answer["rows"].as_array().unwrap().iter().filter(|row| row["rank"] == "2").cloned().collect()
    };
    let host = (host_ms(&answer) - host_ms(&whole)).abs();
    assert!(host < 0.1 * host_ms(&whole) + 1.0, "{:#} {:#}", answer["account"], whole["account"]);
    let parts = row(&folder);
    assert!(
        parts[0]["idle_ns"].as_f64().unwrap() < 0.5 * parts[0]["step_ns"].as_f64().unwrap(),
        "{parts:#?}"
    );
}

#[test]
fn a_damaged_timeline_beside_texts_is_told_where_reasons_are_looked_for_in_it() {
    let place = Place::new();
    let folder = sample(&place, "8", "text", &["--fault", "host-bound=5"]);
    let timeline = file_of(&place, &folder, 5, "trace_view.json");
    let whole = std::fs::read(&timeline).unwrap();
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    assert_eq!(losses_of(&answer, 5), [], "{answer:#}");
    assert_eq!(answer["suspects"][0]["evidence"]["causes"][0]["cause"], "host_bound", "{answer:#}");
    for damaged in [&[][..], &whole[..whole.len() / 2], &[0xb7; 5000][..]] {
        std::fs::write(&timeline, damaged).unwrap();
        let answer = place.done(&["cluster", &folder, "--json"]).json();
        let losses = losses_of(&answer, 5);
        assert!(matches!(losses[..], [("damaged", detail)] if !detail.is_empty()), "{losses:?}");
    }
}

#[test]
fn a_timeline_beside_texts_is_told_to_be_cut_as_its_reader_does() {
    let place = Place::new();
    let folder = sample(&place, "8", "text", &["--fault", "none"]);
    let timeline = file_of(&place, &folder, 5, "trace_view.json");
    let whole = std::fs::read_to_string(&timeline).unwrap();
    let list = whole.trim_end();
    let events = list.strip_suffix(']').unwrap();
    let but_one = &list[..list.rfind("},{").unwrap() + 1];
    let in_object = |list: &str| format!("{{\"traceEvents\": {list}");
    let cases = [
        (format!("{list}\n"), None),
        (events.to_owned(), Some("open_list")),
        (format!("{but_one},\n"), Some("open_list")),
        (format!("{but_one},{{\"name\":"), Some("damaged")),
        (events[..events.len() - 1].to_owned(), Some("damaged")),
        (in_object(&format!("{list} }}\n")), None),
        (in_object(&format!("{list},\n\"other\":{{\"a\":[1, 2]}}}}")), None),
        (in_object(&format!("{list},\n\"other\":{{\"a\":[1, 2]}}")), Some("damaged")),
        (in_object(list), Some("damaged")),
        (in_object(events), Some("damaged")),
        (in_object(but_one), Some("damaged")),
    ];
    for (number, (text, expected)) in cases.iter().enumerate() {
        std::fs::write(&timeline, text).unwrap();
        let answer = place.done(&["cluster", &folder, "--json"]).json();
        // All of it is read by who imports the rank.
        let set = format!("set-{number}");
        place.done(&["cluster", "import", &folder, "-o", &set]);
        let of_set = place.done(&["cluster", &set, "--json"]).json();
        let of_folder = losses_of(&answer, 5);
        let kinds: Vec<&str> = of_folder.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, Vec::from_iter(*expected), "{number}: {:#}", answer["losses"]);
        assert_eq!(losses_of(&of_set, 5), of_folder, "{number}: {:#}", of_set["losses"]);
    }
}

#[test]
fn a_database_that_is_cut_to_its_first_pages_is_told() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--fault", "none"]);
    for name in ["analysis.db", "ascend_pytorch_profiler_5.db"] {
        let file = file_of(&place, &folder, 5, name);
        let whole = std::fs::read(&file).unwrap();
        for length in [3_000, 4_096, 5_000, 8_192, 100_000] {
            std::fs::write(&file, &whole[..length]).unwrap();
            let answer = place.done(&["cluster", &folder, "--json"]).json();
            assert!(
                losses_of(&answer, 5).iter().any(|(kind, _)| *kind == "damaged"),
                "{name} cut to {length} bytes: {:#}",
                answer["losses"]
            );
        }
        std::fs::write(&file, whole).unwrap();
    }
}

#[test]
fn links_in_another_ranks_table_are_told() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--fault", "none"]);
    let [own, others] = [5, 2].map(|rank| file_of(&place, &folder, rank, "analysis.db"));
    std::fs::copy(others, own).unwrap();
    let answer = place.done(&["cluster", "comm", &folder, "--matrix", "--json"]).json();
    let losses = losses_of(&answer, 5);
    assert!(
        matches!(losses[..], [("damaged", detail)] if detail.starts_with("links of groups that the rank isn't in")),
        "{losses:?}"
    );
    let screen = place.run(&["cluster", "comm", &folder, "--matrix", "--lang", "zh"]);
    assert!(screen.stderr.contains("该 rank 不属于的通信域的链路"), "{}", screen.stderr);
}

#[test]
fn links_in_another_jobs_table_are_told() {
    let place = Place::new();
    let folder = sample(&place, "8", "db", &["--fault", "none"]);
    let table = file_of(&place, &folder, 5, "analysis.db");
    change(&table, "UPDATE CommAnalyzerMatrix SET group_name = group_name || '1'");
    let answer = place.done(&["cluster", "comm", &folder, "--matrix", "--json"]).json();
    let losses = losses_of(&answer, 5);
    assert!(
        matches!(losses[..], [("damaged", detail)] if detail.starts_with("links of groups of which no rank has")),
        "{losses:?}"
    );
}
