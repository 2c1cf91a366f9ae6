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

#[test]
fn a_rank_without_collectives_is_told_and_does_not_count_as_idle() {
    let place = Place::new();
    let folder = sample(&place, "16", "text", &["--fault", "none", "--damage", "level0=2"]);
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    assert_eq!(losses_of(&answer, 2), [("no_collectives", "")], "{answer:#}");
    assert!((0.0..3.0).contains(&host_ms(&answer)), "{:#}", answer["account"]);
    let screen = place.done(&["cluster", &folder, "--lang", "zh"]);
    assert!(screen.stderr.contains("没有集合通信，而其他 rank 有"), "{}", screen.stderr);
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
