//! `opscope cluster` on runs of which not all steps were recorded, of all ranks or of some: a step takes as long, and
//! suspects cost as much, as in the whole run.

mod common;

use std::path::Path;

use common::Place;
use serde_json::Value;

/// Makes a collection of simulated ranks as databases; returns their folder.
fn made(place: &Place, name: &str, words: &[&str]) -> String {
    place.done(&[&["sample", "cluster", "-o", name, "--format", "db"], words].concat());
    let made = std::fs::read_dir(place.path(name)).unwrap().next().unwrap().unwrap().file_name();
    format!("{name}/{}/db", made.to_str().unwrap())
}

/// Leaves of the recordings of some ranks nothing but some steps.
fn keep_steps(place: &Place, run: &str, is_meant: impl Fn(u32) -> bool, kept: &[i32]) {
    for folder in std::fs::read_dir(place.path(run)).unwrap().map(|it| it.unwrap().path()) {
        let outputs = folder.join("ASCEND_PROFILER_OUTPUT");
        let names =
            std::fs::read_dir(&outputs).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let number =
            |name: String| name.strip_prefix("ascend_pytorch_profiler_")?.strip_suffix(".db")?.parse().ok();
        let rank: u32 = names.filter_map(number).next().unwrap();
        if is_meant(rank) {
            keep_steps_of(&outputs, rank, kept);
        }
    }
}

fn keep_steps_of(outputs: &Path, rank: u32, kept: &[i32]) {
    let of = |quote: &str, before: &str| {
        kept.iter().map(|step| format!("{quote}{before}{step}{quote}")).collect::<Vec<_>>().join(", ")
    };
    let open = |name: &str| rusqlite::Connection::open(outputs.join(name)).unwrap();
    let (numbers, words, texts) = (of("", ""), of("'", "step"), of("'", ""));
    let within = |table: &str| {
        format!(
            "DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM STEP_TIME WHERE id NOT IN ({numbers})
                 AND CAST({table}.startNs AS INTEGER) >= CAST(STEP_TIME.startNs AS INTEGER)
                 AND CAST({table}.startNs AS INTEGER) < CAST(STEP_TIME.endNs AS INTEGER));"
        )
    };
    let rows = ["TASK", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API"].map(within).concat();
    open(&format!("ascend_pytorch_profiler_{rank}.db"))
        .execute_batch(&format!(
            "{rows} DELETE FROM STEP_TIME WHERE id NOT IN ({numbers});
             DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId NOT IN (SELECT globalTaskId FROM TASK);
             DELETE FROM COMMUNICATION_TASK_INFO WHERE globalTaskId NOT IN (SELECT globalTaskId FROM TASK);"
        ))
        .unwrap();
    open("analysis.db")
        .execute_batch(&format!(
            "DELETE FROM CommAnalyzerTime WHERE step NOT IN ({words});
             DELETE FROM CommAnalyzerBandwidth WHERE step NOT IN ({words});
             DELETE FROM CommAnalyzerMatrix WHERE step NOT IN ({words});
             DELETE FROM StepTraceTime WHERE step NOT IN ({texts});"
        ))
        .unwrap();
}

fn asked(place: &Place, run: &str) -> Value {
    place.done(&["cluster", run, "--json"]).json()
}

fn ms(value: &Value) -> f64 {
    value.as_f64().unwrap() / 1e6
}

/// Who is named, with what it saves in milliseconds.
fn named(answer: &Value) -> Vec<(String, f64)> {
    let suspects = answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true);
    suspects.map(|it| (it["name"].as_str().unwrap().to_owned(), ms(&it["saves_ns"]))).collect()
}

/// The kinds of what was lost.
fn losses(answer: &Value) -> Vec<&str> {
    answer["losses"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap()).collect()
}

/// Asserts that two figures in milliseconds differ by less than a hundredth.
fn assert_near(one: f64, other: f64) {
    assert!((one / other - 1.0).abs() < 0.01, "{one} and {other} ms");
}

/// The saving of somebody whose name begins so.
fn saving(named: &[(String, f64)], name: &str) -> f64 {
    named.iter().find(|(it, _)| it.starts_with(name)).unwrap_or_else(|| panic!("{name} of {named:?}")).1
}

#[test]
fn steps_of_a_run_that_is_recorded_from_its_middle_on_are_as_long_as_in_the_whole_run() {
    for (words, kept) in [
        (
            &["--layout", "tp=1,pp=8,dp=2,ep=2", "--microbatches", "8", "--steps", "3", "--fault", "none"][..],
            &[12][..],
        ),
        (&["--ranks", "16", "--steps", "4", "--fault", "ai-cpu=13"], &[12, 13]),
    ] {
        let place = Place::new();
        let run = made(&place, "run", words);
        let whole = asked(&place, &run);
        keep_steps(&place, &run, |_| true, kept);
        let middle = asked(&place, &run);
        assert_near(ms(&middle["step_ns"]), ms(&whole["step_ns"]));
        assert_near(ms(&middle["reachable_ns"]), ms(&whole["reachable_ns"]));
        let (before, after) = (named(&whole), named(&middle));
        assert_eq!(before.len(), after.len());
        before.iter().zip(after).for_each(|(one, other)| assert_near(other.1, one.1));
        assert_eq!(losses(&middle), [""; 0]);
    }
}

#[test]
fn time_between_steps_is_of_none_of_them() {
    let place = Place::new();
    let run = made(&place, "run", &["--ranks", "16", "--steps", "4", "--fault", "ai-cpu=13"]);
    let whole = asked(&place, &run);
    keep_steps(&place, &run, |_| true, &[10, 11, 13]);
    let apart = asked(&place, &run);
    assert_near(ms(&apart["step_ns"]), ms(&whole["step_ns"]));
    assert_near(saving(&named(&apart), "rank 13"), saving(&named(&whole), "rank 13"));
    assert_eq!(losses(&apart), ["between_steps"]);
    // The chain that led to the end of each step is as long as the step.
    let slow = place.done(&["cluster", "slow", &run, "--step", "13", "--json"]).json();
    assert_near(ms(&slow["step_ns"]), ms(&whole["step_ns"]));
}

#[test]
fn the_sender_of_a_slow_link_that_lacks_steps_hides_nobody() {
    let place = Place::new();
    let faults = ["--fault", "slow-link=0-6", "--fault", "ai-cpu=13"];
    let run =
        made(&place, "run", &[&["--ranks", "16", "--seed", "77", "--steps", "4"], &faults[..]].concat());
    let whole = named(&asked(&place, &run));
    keep_steps(&place, &run, |rank| rank == 0, &[10, 11]);
    let answer = asked(&place, &run);
    let lacking = named(&answer);
    for name in ["rank 13", "link 0 → 6"] {
        assert_near(saving(&lacking, name), saving(&whole, name));
    }
    assert_eq!((lacking.len(), losses(&answer)), (2, vec!["lacks_steps"]));
}

#[test]
fn a_slow_link_of_a_host_that_was_not_recorded_names_no_innocent() {
    let place = Place::new();
    let run = made(&place, "run", &["--ranks", "64", "--seed", "78", "--steps", "2"]);
    let whole = named(&asked(&place, &run));
    let mut folders = std::fs::read_dir(place.path(&run)).unwrap().map(|it| it.unwrap().path());
    let of_host =
        folders.by_ref().filter(|it| it.file_name().unwrap().to_string_lossy().starts_with("host0_"));
    of_host.for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
    let lacking = named(&asked(&place, &run));
    for name in ["rank 49", "rank 16", "rank 31"] {
        let (one, other) = (saving(&lacking, name), saving(&whole, name));
        assert!((one - other).abs() < 0.03 * other + 0.1, "{name}: {one} and {other} ms");
    }
    let others: Vec<&str> =
        lacking.iter().map(|(name, _)| &name[..7]).filter(|it| !it.starts_with("rank")).collect();
    assert_eq!((lacking.len(), others), (4, vec!["one of "]), "{lacking:?}");
}

#[test]
fn a_delay_passes_through_ranks_of_which_neither_they_nor_their_other_stage_were_recorded() {
    let place = Place::new();
    let words = [
        "--ranks",
        "16",
        "--seed",
        "77",
        "--steps",
        "2",
        "--fault",
        "ai-cpu=13",
        "--fault",
        "low-frequency=7",
    ];
    let run = made(&place, "run", &words);
    let whole = named(&asked(&place, &run));
    let missing = ["6", "7", "14"].map(|rank| ["--damage".to_owned(), format!("missing={rank}")]).concat();
    let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
    let run = made(&place, "lacking", &[&words[..], &missing[..]].concat());
    let lacking = named(&asked(&place, &run));
    let (one, other) = (saving(&lacking, "rank 13"), saving(&whole, "rank 13"));
    assert!((one / other - 1.0).abs() < 0.1, "{one} and {other} ms");
}

#[test]
fn members_of_another_stage_that_were_not_recorded_are_not_blamed_for_whom_they_waited_for() {
    for (fault, missing) in [("late-input=1:20ms", 8..12), ("ai-cpu=2", 8..12), ("late-input=1:20ms", 8..10)]
    {
        let place = Place::new();
        let words = ["--layout", "tp=2,pp=2,dp=4,ep=2", "--seed", "5", "--steps", "3", "--fault", fault];
        let run = made(&place, "run", &words);
        let [(name, known)] = &named(&asked(&place, &run))[..] else { panic!("{fault}") };
        let missing: Vec<String> =
            missing.flat_map(|rank| ["--damage".to_owned(), format!("missing={rank}")]).collect();
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        let run = made(&place, "lacking", &[&words[..], &missing[..]].concat());
        let lacking = named(&asked(&place, &run));
        let [(told, saves)] = &lacking[..] else { panic!("{fault}: {lacking:?}") };
        assert_eq!(told, name);
        assert!((saves / known - 1.0).abs() < 0.05, "{fault}: {saves} and {known} ms");
    }
}

#[test]
fn a_first_step_without_collectives_has_a_length_like_any_other() {
    let place = Place::new();
    let run = made(&place, "run", &["--ranks", "8", "--steps", "3", "--fault", "ai-cpu=5"]);
    let whole = asked(&place, &run);
    for folder in std::fs::read_dir(place.path(&run)).unwrap().map(|it| it.unwrap().path()) {
        let outputs = folder.join("ASCEND_PROFILER_OUTPUT");
        let mut files = std::fs::read_dir(&outputs).unwrap().map(|it| it.unwrap().path());
        let database = files.find(|it| it.to_string_lossy().contains("ascend_pytorch_profiler_")).unwrap();
        rusqlite::Connection::open(database)
            .unwrap()
            .execute_batch(
                "DELETE FROM COMMUNICATION_OP WHERE CAST(startNs AS INTEGER) <
                     (SELECT CAST(endNs AS INTEGER) FROM STEP_TIME WHERE id = 10)",
            )
            .unwrap();
    }
    let without = asked(&place, &run);
    let (one, other) = (ms(&without["step_ns"]), ms(&whole["step_ns"]));
    assert!((one / other - 1.0).abs() < 0.1, "{one} and {other} ms");
    assert!(saving(&named(&without), "rank 5") > 0.0);
}

#[test]
fn most_ranks_of_the_run_tell_which_time_is_meant_also_where_those_of_a_host_were_recorded_at_another() {
    let place = Place::new();
    let run = made(&place, "run", &["--ranks", "16", "--seed", "77", "--steps", "4", "--fault", "none"]);
    let is_old = |rank: u32| (8..13).contains(&rank);
    keep_steps(&place, &run, |rank| !is_old(rank), &[12, 13]);
    keep_steps(&place, &run, is_old, &[10, 11]);
    let answer = asked(&place, &run);
    let told = answer["losses"].as_array().unwrap().iter().filter(|it| it["kind"] == "other_time");
    let told: Vec<&str> = told.map(|it| it["scope"].as_str().unwrap()).collect();
    assert_eq!(told, ["rank 8", "rank 9", "rank 10", "rank 11", "rank 12"]);
    assert_eq!(named(&answer), []);
}

#[test]
fn a_rank_that_was_recorded_in_other_steps_than_its_host_is_left_out_and_takes_no_steps_from_others() {
    let words = ["--ranks", "16", "--seed", "77", "--steps", "4", "--fault", "ai-cpu=13"];
    let place = Place::new();
    let run = made(&place, "whole", &words);
    keep_steps(&place, &run, |_| true, &[12, 13]);
    let whole = named(&asked(&place, &run));
    let run = made(&place, "apart", &words);
    keep_steps(&place, &run, |rank| rank != 3, &[12, 13]);
    keep_steps(&place, &run, |rank| rank == 3, &[10, 11]);
    let answer = asked(&place, &run);
    assert_eq!(losses(&answer), ["other_time"]);
    assert_near(saving(&named(&answer), "rank 13"), saving(&whole, "rank 13"));
}
