//! `opscope cluster` on runs of few ranks, in which one is compared with one other, or where all are held up by the same
//! link: costs and causes are those of the faults that the sample has.

mod common;

use std::path::PathBuf;

use common::Place;
use serde_json::Value;

/// A simulated run with the truth about it and the answer.
fn judged(layout: &str, seed: &str, faults: &[&str]) -> (Value, Value) {
    let place = Place::new();
    let folder = made(&place, layout, seed, faults, "db");
    let truth = std::fs::read_to_string(folder.with_file_name("truth.json")).unwrap();
    let answer = place.done(&["cluster", folder.to_str().unwrap(), "--json"]).json();
    (serde_json::from_str(&truth).unwrap(), answer)
}

/// Makes a simulated run in a form; the folder of its ranks, beside which lies `truth.json`.
fn made(place: &Place, layout: &str, seed: &str, faults: &[&str], form: &str) -> PathBuf {
    let mut words =
        vec!["sample", "cluster", "-o", "made", "--layout", layout, "--seed", seed, "--format", form];
    words.extend(faults.iter().flat_map(|fault| ["--fault", fault]));
    place.done(&words);
    std::fs::read_dir(place.path("made")).unwrap().next().unwrap().unwrap().path().join(form)
}

/// The named suspects, with what each saves in milliseconds and its first cause.
fn named(answer: &Value) -> Vec<(String, f64, String)> {
    let suspects = answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true);
    let told = |it: &Value| {
        let cause = it["evidence"]["causes"][0]["cause"].as_str().unwrap_or_default();
        let name = it["name"].as_str().unwrap().split(" (").next().unwrap();
        (name.to_owned(), it["saves_ns"].as_f64().unwrap() / 1e6, cause.to_owned())
    };
    suspects.map(told).collect()
}

/// The saving that the sample knows of its only fault, in milliseconds.
fn known(truth: &Value) -> f64 {
    let faults = truth["costs"]["faults"].as_object().unwrap();
    faults.values().next().unwrap()["without_it_saves_ms"].as_f64().unwrap()
}

#[test]
fn of_two_ranks_the_slow_one_costs_what_it_does_for_its_reason() {
    for (fault, cause) in [
        ("late-input=0:16ms", "late_input"),
        ("low-frequency=0:1.45", "frequency"),
        ("host-bound=0:84us", "host_bound"),
        ("ai-cpu=0:1800us", "ai_cpu"),
    ] {
        let (truth, answer) = judged("tp=1,pp=1,dp=2,ep=1", "1", &[fault]);
        let named = named(&answer);
        assert_eq!(named.len(), 1, "{fault}: {named:?}");
        let (name, saves, told) = &named[0];
        assert_eq!((&**name, &**told), ("rank 0", cause), "{fault}");
        assert!((saves / known(&truth) - 1.0).abs() < 0.1, "{fault}: {saves} ms, not {}", known(&truth));
    }
}

#[test]
fn of_two_healthy_ranks_nobody_is_named() {
    for seed in ["9", "22"] {
        let (_, answer) = judged("tp=1,pp=1,dp=2,ep=1", seed, &["none"]);
        assert_eq!(named(&answer), [], "seed {seed}");
    }
}

#[test]
fn who_comes_to_a_transfer_in_the_background_after_its_work_is_not_slow_for_that() {
    // Rank 1 waits for nobody before its gradients are reduced, as rank 0 does for it: it only is on the slow one's path.
    let (truth, answer) = judged("tp=1,pp=4,dp=2,ep=1", "25", &["ai-cpu=7:650us"]);
    let named = named(&answer);
    assert_eq!(named.iter().map(|it| &*it.0).collect::<Vec<_>>(), ["rank 7"], "{named:?}");
    assert!((named[0].1 / known(&truth) - 1.0).abs() < 0.1, "{named:?}, not {}", known(&truth));
}

#[test]
fn a_link_that_holds_up_all_ranks_costs_no_more_than_their_work_leaves() {
    let (truth, answer) = judged("tp=1,pp=1,dp=8,ep=1", "14", &["slow-link=2-0:0.3"]);
    let named = named(&answer);
    assert!(named.len() == 1 && named[0].0.starts_with("link"), "{named:?}");
    assert!((named[0].1 / known(&truth) - 1.0).abs() < 0.1, "{named:?}, not {}", known(&truth));
}

#[test]
fn gaps_of_a_late_host_behind_transfers_in_the_background_are_no_saving_of_their_link() {
    let faults = ["host-bound=1:121us", "slow-link=3-2:0.358"];
    let (truth, answer) = judged("tp=1,pp=1,dp=4,ep=1", "7", &faults);
    let told = named(&answer);
    for (fault, name) in [("host_bound", "rank 1"), ("slow_link", "link 3 → 2")] {
        let known = truth["costs"]["faults"][fault]["without_it_saves_ms"].as_f64().unwrap();
        let (_, saves, _) = told.iter().find(|it| it.0 == name).unwrap_or_else(|| panic!("{name}: {told:?}"));
        assert!((saves / known - 1.0).abs() < 0.1, "{name}: {saves} ms, not {known}");
    }
}

#[test]
fn two_slow_links_of_a_group_cost_what_fixing_each_alone_saves() {
    let (truth, answer) = judged("tp=1,pp=1,dp=8,ep=1", "5", &["slow-link=0-1:0.5", "slow-link=1-2:0.3"]);
    let faults = truth["costs"]["faults"].as_object().unwrap();
    let known: Vec<f64> = faults.values().map(|it| it["without_it_saves_ms"].as_f64().unwrap()).collect();
    assert_eq!(known.iter().filter(|saves| **saves == 0.0).count(), 1, "one hides the other: {known:?}");
    let told = named(&answer);
    assert!(told.len() == 1 && told[0].0.starts_with("link 1 → 2"), "{told:?}");
    let most = known.iter().copied().fold(0.0, f64::max);
    assert!((told[0].1 / most - 1.0).abs() < 0.1, "{told:?}, not {most}");
    let suspects = answer["suspects"].as_array().unwrap();
    let hidden = suspects.iter().find(|it| it["named"] == false).unwrap();
    assert!(hidden["name"].as_str().unwrap().starts_with("link 0 → 1"), "{hidden:#}");
    assert_eq!(hidden["saves_ns"], 0, "{hidden:#}");
    assert!(hidden["alone_ns"].as_f64().unwrap() > 0.0, "{hidden:#}");
}

#[test]
fn two_reasons_of_one_rank_are_told_though_neither_explains_most() {
    let (_, answer) = judged("tp=2,pp=2,dp=2,ep=2", "5", &["ai-cpu=3:300us", "late-input=3:9ms"]);
    let suspect = &answer["suspects"][0];
    let causes = suspect["evidence"]["causes"].as_array().unwrap().iter();
    let causes: Vec<&str> = causes.map(|it| it["cause"].as_str().unwrap()).collect();
    assert!(causes.contains(&"ai_cpu") && causes.contains(&"late_input"), "{suspect:#}");
    assert!(!causes.contains(&"unknown"), "{suspect:#}");
}

#[test]
fn a_slow_rank_with_more_tokens_has_both_reasons_the_costlier_first() {
    for (layout, faults, form, expected) in [
        ("tp=2,pp=2,dp=4,ep=2", ["low-frequency=5", "more-tokens=5"], "db", ["tokens", "frequency"]),
        ("tp=2,pp=2,dp=4,ep=2", ["low-frequency=5", "more-tokens=5"], "kineto", ["tokens", "slow_device"]),
        ("tp=2,pp=2,dp=4,ep=2", ["low-frequency=5:1.5", "more-tokens=5:1.3"], "db", ["frequency", "tokens"]),
        ("tp=2,pp=1,dp=8,ep=8", ["low-frequency=15", "more-tokens=15"], "db", ["tokens", "frequency"]),
    ] {
        let place = Place::new();
        let folder = made(&place, layout, "401", &faults, form);
        let folder = folder.to_str().unwrap();
        let answer = place.done(&["cluster", folder, "--json"]).json();
        let suspect = &answer["suspects"][0];
        let causes = suspect["evidence"]["causes"].as_array().unwrap();
        let told: Vec<&str> = causes.iter().map(|it| it["cause"].as_str().unwrap()).collect();
        assert_eq!(told, expected, "{layout} {faults:?} {form}: {suspect:#}");
        let explained: Vec<f64> = causes.iter().map(|it| it["explains_ns"].as_f64().unwrap()).collect();
        let excess = suspect["excess_ns"].as_f64().unwrap();
        assert!(explained[0] > explained[1], "{suspect:#}");
        assert!((explained.iter().sum::<f64>() / excess - 1.0).abs() < 0.1, "{suspect:#}");
        let screen = place.done(&["cluster", folder]).stdout;
        assert!(screen.contains("times its peers' tokens"), "{screen}");
        assert!(!screen.contains("none of the known reasons"), "{screen}");
    }
}

#[test]
fn more_tokens_are_the_reason_of_a_rank_also_beside_a_slow_one() {
    let (_, answer) = judged("tp=1,pp=1,dp=2,ep=2", "4", &["low-frequency=1:1.280", "more-tokens=0:1.466"]);
    let told: Vec<(String, String)> = named(&answer).into_iter().map(|it| (it.0, it.2)).collect();
    let expected = [("rank 1", "frequency"), ("rank 0", "tokens")];
    assert_eq!(told, expected.map(|(name, cause)| (name.to_owned(), cause.to_owned())), "{answer:#}");
}

#[test]
fn a_healthy_run_has_the_tokens_that_one_rank_takes_from_all_its_peers() {
    for (layout, faults) in [
        ("tp=1,pp=1,dp=4,ep=4", &["more-tokens=2", "late-input=1"][..]),
        ("tp=1,pp=1,dp=4,ep=4", &["more-tokens=2", "low-frequency=1:1.4"]),
        ("tp=1,pp=1,dp=8,ep=8", &["more-tokens=1:4"]),
        ("tp=1,pp=1,dp=2,ep=2", &["more-tokens=1:1.6"]),
    ] {
        let (truth, answer) = judged(layout, "606", faults);
        let costs = &truth["costs"];
        let milliseconds = |value: &Value| value.as_f64().unwrap() / 1e6;
        let step = costs["step_ms"].as_f64().unwrap();
        let (reachable, known) =
            (milliseconds(&answer["reachable_ns"]), costs["step_without_faults_ms"].as_f64().unwrap());
        assert!((reachable - known).abs() < 0.02 * step, "{layout} {faults:?}: {reachable} ms, not {known}");
        for cost in costs["faults"].as_object().unwrap().values() {
            let suspects = answer["suspects"].as_array().unwrap();
            let suspect = suspects.iter().find(|it| it["rank"] == cost["ranks"][0]).unwrap();
            for (told, known) in [("saves_ns", "without_it_saves_ms"), ("alone_ns", "alone_costs_ms")] {
                let (told, known) = (milliseconds(&suspect[told]), cost[known].as_f64().unwrap());
                let allowed = (0.1 * known).max(0.01 * step);
                assert!(
                    (told - known).abs() < allowed,
                    "{layout} {faults:?}: {told} ms, not {known}: {cost:#}"
                );
            }
        }
    }
}

#[test]
fn stages_of_a_single_rank_are_said_to_have_no_peers() {
    let (_, answer) = judged("tp=1,pp=3,dp=1,ep=1", "9", &["ai-cpu=1"]);
    assert_eq!(answer["without_peers"], serde_json::json!([0, 1, 2]));
    let (_, answer) = judged("tp=1,pp=2,dp=2,ep=1", "9", &["none"]);
    assert_eq!(answer["without_peers"], serde_json::json!([]));
}

#[test]
fn a_stage_that_runs_at_a_lower_frequency_as_a_whole_is_told_without_a_cost() {
    let slow: Vec<String> = (4..8).map(|rank| format!("low-frequency={rank}")).collect();
    let faults: Vec<&str> = slow.iter().map(String::as_str).collect();
    let (_, answer) = judged("tp=1,pp=2,dp=4,ep=1", "9", &faults);
    let [class] = &answer["slow_classes"].as_array().unwrap()[..] else { panic!("{answer:#}") };
    assert_eq!(class["ranks"], serde_json::json!([4, 5, 6, 7]));
    assert!(class["mhz"].as_f64().unwrap() < 0.9 * class["others_mhz"].as_f64().unwrap(), "{class:#}");
    let (_, answer) = judged("tp=1,pp=2,dp=4,ep=1", "9", &faults[..1]);
    assert_eq!(answer["slow_classes"], serde_json::json!([]));
}

#[test]
fn a_slow_link_between_two_stages_costs_what_its_own_direction_does() {
    for (layout, link) in [("tp=1,pp=4,dp=1,ep=1", "slow-link=1-0"), ("tp=1,pp=8,dp=1,ep=1", "slow-link=4-5")]
    {
        let (truth, answer) = judged(layout, "1", &[link]);
        let known = known(&truth);
        let (name, saves, cause) = &named(&answer)[0];
        assert!(name.starts_with("link ") && cause == "slow_link", "{layout}: {answer:#}");
        assert!((saves - known).abs() < 0.1 * known, "{layout}: {saves} ms, not {known}");
        let healthy = truth["costs"]["step_without_faults_ms"].as_f64().unwrap();
        let reachable = answer["reachable_ns"].as_f64().unwrap() / 1e6;
        assert!((reachable - healthy).abs() < 0.02 * healthy, "{layout}: {reachable} ms, not {healthy}");
    }
}

#[test]
fn a_slow_link_between_the_only_two_ranks_is_told_beside_the_other_direction() {
    for (layout, link) in [
        ("tp=2,pp=1,dp=1,ep=1", "slow-link=0-1:0.3"),
        ("tp=2,pp=1,dp=1,ep=1", "slow-link=1-0:0.6"),
        ("tp=1,pp=1,dp=2,ep=1", "slow-link=0-1:0.3"),
        ("tp=1,pp=1,dp=2,ep=1", "slow-link=1-0:0.5"),
    ] {
        let (truth, answer) = judged(layout, "3", &[link]);
        let (known, told) = (known(&truth), named(&answer));
        let [(name, saves, cause)] = &told[..] else { panic!("{layout} {link}: {answer:#}") };
        let expected = if link.contains("0-1") { "link 0 → 1" } else { "link 1 → 0" };
        assert_eq!((&**name, &**cause), (expected, "slow_link"), "{layout} {link}");
        assert!((saves - known).abs() < 0.1 * known, "{layout} {link}: {saves} ms, not {known}");
        let suspect = &answer["suspects"][0];
        let cause = &suspect["evidence"]["causes"][0];
        let is_said = (&cause["is_of_opposite"], &suspect["weak"]);
        assert_eq!(is_said, (&true.into(), &true.into()), "{layout} {link}: {suspect:#}");
        let figure = |name: &str| cause[name].as_f64().unwrap();
        assert!(figure("gb_per_s") < 0.7 * figure("peers_gb_per_s"), "{layout} {link}: {suspect:#}");
    }
    for layout in ["tp=2,pp=1,dp=1,ep=1", "tp=1,pp=1,dp=2,ep=1"] {
        for seed in ["3", "8", "11"] {
            let (_, answer) = judged(layout, seed, &["none"]);
            assert_eq!(named(&answer), [], "{layout}, seed {seed}");
        }
    }
}

#[test]
fn a_group_is_named_where_too_few_of_its_links_are_alike_to_be_compared() {
    let (truth, answer) = judged("tp=1,pp=2,dp=1,ep=1", "1", &["slow-link=0-1:0.3"]);
    let known = known(&truth);
    let told = named(&answer);
    let [(name, saves, cause)] = &told[..] else { panic!("{answer:#}") };
    assert_eq!((&**name, &**cause), ("pp group of 0, 1", "slow_group"), "{answer:#}");
    assert!((saves - known).abs() < 0.1 * known, "{saves} ms, not {known}");
    let cause = &answer["suspects"][0]["evidence"]["causes"][0];
    assert_eq!((&cause["is_alone"], &cause["are_links_told"]), (&true.into(), &true.into()), "{cause:#}");
}

#[test]
fn of_three_groups_one_that_spans_hosts_has_no_like_and_is_not_slow_by_chance() {
    for seed in ["1", "2", "3", "4"] {
        let place = Place::new();
        let layout = ["--layout", "tp=2,pp=1,dp=3,ep=1", "--devices-per-host", "3", "--fault", "none"];
        place.done(&[&["sample", "cluster", "-o", "made", "--seed", seed][..], &layout].concat());
        let run = std::fs::read_dir(place.path("made")).unwrap().next().unwrap().unwrap().path();
        let answer = place.done(&["cluster", run.join("db").to_str().unwrap(), "--json"]).json();
        assert_eq!(named(&answer), [], "seed {seed}");
    }
}
