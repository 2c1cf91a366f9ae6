//! `opscope cluster slow`, and suspects that are more than one rank or link: hosts, operators, paths and adapters.

mod common;

use common::Place;
use serde_json::Value;

/// Makes the databases of 64 ranks on 8 hosts (tensor 4, pipeline 2, data 8) with these faults and no others.
fn ranks(place: &Place, name: &str, faults: &[String]) -> String {
    let mut words = vec!["sample", "cluster", "-o", name, "--ranks", "64", "--layers", "2", "--format", "db"];
    for fault in faults {
        words.extend(["--fault", fault]);
    }
    if faults.is_empty() {
        words.extend(["--fault", "none"]);
    }
    place.done(&words);
    format!("{name}/cluster_64_ranks_seed_1/db")
}

fn suspects(answer: &Value) -> Vec<&Value> {
    answer["suspects"].as_array().unwrap().iter().collect()
}

fn named(answer: &Value) -> Vec<&str> {
    let all = suspects(answer).into_iter().filter(|it| it["named"] == true);
    all.map(|it| it["name"].as_str().unwrap()).collect()
}

fn milliseconds(value: &Value) -> f64 {
    value.as_f64().unwrap() / 1e6
}

/// By how much a step of a run with faults is longer than of the same run without.
fn true_cost(place: &Place, faulty: &Value) -> f64 {
    let folder = ranks(place, "healthy", &[]);
    let healthy = place.done(&["cluster", &folder, "--json"]).json();
    assert_eq!(named(&healthy), [""; 0]);
    milliseconds(&faulty["step_ns"]) - milliseconds(&healthy["step_ns"])
}

#[test]
fn a_host_whose_ranks_hide_one_another_is_named_with_what_it_costs() {
    let place = Place::new();
    let faults: Vec<String> = (16..24).map(|rank| format!("low-frequency={rank}:1.3")).collect();
    let folder = ranks(&place, "hot", &faults);
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    assert_eq!(named(&answer)[0], "host host2", "{answer:#}");
    let host = suspects(&answer)[0];
    assert_eq!((&host["kind"], host["ranks"].as_array().unwrap().len()), (&"host".into(), 8));
    assert_eq!(host["evidence"]["causes"][0]["cause"], "frequency");
    let (told, truth) = (milliseconds(&host["saves_ns"]), true_cost(&place, &answer));
    assert!((told - truth).abs() < 0.1 * truth, "{told} ms, not {truth}");
    // Whoever isn't named by itself is a part of the host, and the screen doesn't list it beside.
    for it in suspects(&answer).into_iter().filter(|it| it["kind"] == "rank" && it["named"] == false) {
        assert_eq!(it["within"], true, "{it:#}");
    }
    let screen = place.done(&["cluster", &folder]).stdout;
    assert!(screen.contains("1  host host2") && screen.contains("8 ranks, such as "), "{screen}");
    assert!(
        !screen.contains("hidden by others") && screen.contains("slow") && screen.contains(" --host host2")
    );

    let slow = place.done(&["cluster", "slow", &folder, "--host", "host2"]).stdout;
    assert!(slow.starts_with("host host2 costs a step ") && slow.contains("hidden by others"), "{slow}");
    assert!(slow.contains("AI Core at 1385 MHz, its peers at 1800"), "{slow}");
    let other = place.done(&["cluster", "slow", &folder, "--host", "host5"]).stdout;
    assert!(other.starts_with("Nothing stands out about host host5"), "{other}");
    // A rank of it is told of by itself first, then as a part of the host.
    let of_rank = place.done(&["cluster", "slow", &folder, "--rank", "18", "--json"]).json();
    let kinds: Vec<&str> = suspects(&of_rank).into_iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["rank", "host"]);
    let of_rank = place.done(&["cluster", "slow", &folder, "--rank", "18"]).stdout;
    assert!(of_rank.contains("Behind it stands host host2, which costs "), "{of_rank}");
    let chinese = place.done(&["cluster", "slow", &folder, "--lang", "zh"]).stdout;
    assert!(chinese.contains("主机 host2"), "{chinese}");
    place.fails(
        2,
        &["no host 'nobody'", "host0", "host7"],
        &["cluster", "slow", &folder, "--host", "nobody"],
    );
}

#[test]
fn an_operator_that_slows_many_ranks_is_named_with_them() {
    let place = Place::new();
    // One rank on each host, in all copies of the model: no host stands out, and each hides the others.
    let chosen: Vec<u32> = (0..8).map(|host| 8 * host + host % 4).collect();
    let faults: Vec<String> = chosen.iter().map(|rank| format!("ai-cpu={rank}:2000us")).collect();
    let folder = ranks(&place, "slow", &faults);
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    let operator = suspects(&answer).into_iter().find(|it| it["kind"] == "operator").expect("an operator");
    assert_eq!(operator["name"], "operator IndexPut on 8 ranks");
    assert_eq!(operator["named"], true, "{answer:#}");
    assert_eq!(operator["ranks"], serde_json::json!(chosen));
    let (told, truth) = (milliseconds(&operator["saves_ns"]), true_cost(&place, &answer));
    assert!((told - truth).abs() < 0.1 * truth, "{told} ms, not {truth}");
    assert!(suspects(&answer).into_iter().all(|it| it["kind"] != "host"), "{answer:#}");
    let screen = place.done(&["cluster", &folder]).stdout;
    assert!(screen.contains("1  operator IndexPut on 8 ranks"), "{screen}");
    assert!(screen.contains("IndexPut runs on the AI CPU"), "{screen}");
    // A rank that is slow for another reason isn't one of them.
    let faults = [faults, vec!["low-frequency=61:1.5".to_owned()]].concat();
    let folder = ranks(&place, "mixed", &faults);
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    let operator = suspects(&answer).into_iter().find(|it| it["kind"] == "operator").expect("an operator");
    assert_eq!(operator["ranks"], serde_json::json!(chosen));
}

/// All links that copies of the model use from one host to another, at three tenths of their speed.
fn between(from: u32, to: u32) -> impl Iterator<Item = String> {
    (0..4).flat_map(move |place| {
        [(0, 0), (0, 4), (4, 0), (4, 4)]
            .map(|(a, b)| format!("slow-link={}-{}:0.3", from * 8 + a + place, to * 8 + b + place))
    })
}

#[test]
fn slow_links_of_one_host_are_its_adapter_and_cost_what_they_do() {
    // All groups of a stage use it: none of its ranks shows how long its transfers would be, and after what.
    let place = Place::new();
    let folder = ranks(&place, "adapter", &(1..4).flat_map(|to| between(0, to)).collect::<Vec<_>>());
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    assert_eq!(named(&answer), ["adapter of host0 (RDMA)"], "{answer:#}");
    let (told, truth) = (milliseconds(&suspects(&answer)[0]["saves_ns"]), true_cost(&place, &answer));
    assert!((told - truth).abs() < 0.1 * truth, "{told} ms, not {truth}");
}

#[test]
fn slow_links_between_two_hosts_are_one_path() {
    let place = Place::new();
    let folder = ranks(&place, "path", &between(0, 2).collect::<Vec<_>>());
    let answer = place.done(&["cluster", &folder, "--json"]).json();
    let kinds: Vec<(&str, &str)> = suspects(&answer)
        .into_iter()
        .map(|it| (it["kind"].as_str().unwrap(), it["name"].as_str().unwrap()))
        .collect();
    assert!(kinds.contains(&("path", "path host0 → host2 (RDMA)")), "{kinds:?}");
    assert!(kinds.iter().all(|(kind, _)| *kind != "link" && *kind != "port"), "{kinds:?}");
    let (told, truth) = (milliseconds(&suspects(&answer)[0]["saves_ns"]), true_cost(&place, &answer));
    assert!((told - truth).abs() < 0.1 * truth, "{told} ms, not {truth}");
    // One of its links is told of as the path that it belongs to.
    let link = place.done(&["cluster", "slow", &folder, "--link", "0-16"]).stdout;
    assert!(link.starts_with("path host0 → host2 (RDMA) costs a step "), "{link}");
}

#[test]
fn costs_are_told_of_one_step_and_of_so_many_suspects() {
    let place = Place::new();
    place.done(&["sample", "cluster", "-o", "runs", "--ranks", "8", "--steps", "3", "--format", "db"]);
    let folder = "runs/cluster_8_ranks_seed_1/db";
    let all = place.done(&["cluster", "slow", folder, "--json"]).json();
    let steps: Vec<i64> = (0..3).map(|it| 10 + it).collect();
    let mut sums = vec![0.0; suspects(&all).len()];
    for (place_of_step, step) in steps.iter().enumerate() {
        let step = step.to_string();
        let of_step = place.done(&["cluster", "slow", folder, "--step", &step, "--json"]).json();
        assert_eq!(of_step["step"].to_string(), step);
        let costs: Vec<f64> =
            suspects(&of_step).into_iter().map(|it| it["saves_in_step_ns"].as_f64().unwrap()).collect();
        let is_named = |it: &&Value| it["named_in_step"] == true;
        let of_named = suspects(&of_step).into_iter().take_while(is_named).count();
        assert!(costs[..of_named].is_sorted_by(|a, b| a >= b), "{costs:?}");
        for (sum, suspect) in sums.iter_mut().zip(suspects(&all)) {
            let cost = &suspect["saves_by_step_ns"][place_of_step];
            let same = suspects(&of_step).into_iter().find(|it| it["name"] == suspect["name"]).unwrap();
            assert_eq!(&same["saves_in_step_ns"], cost);
            *sum += cost.as_f64().unwrap();
        }
    }
    for (sum, suspect) in sums.iter().zip(suspects(&all)) {
        assert!((sum / 3.0 - suspect["saves_ns"].as_f64().unwrap()).abs() < 2.0, "{suspect:#}");
    }
    let heads = place.done(&["cluster", "slow", folder, "--step", "11"]).stdout;
    assert!(heads.starts_with("Step 11 takes ") && heads.contains("costs this step"), "{heads}");
    let top = place.done(&["cluster", "slow", folder, "--top", "2", "--json"]).json();
    assert_eq!(suspects(&top), suspects(&all)[..2]);
    let first = suspects(&all)[0];
    let rank = suspects(&all).into_iter().find(|it| it["kind"] == "rank" && it["named"] == true).unwrap();
    let number = rank["rank"].to_string();
    let whole = place.done(&["cluster", "slow", folder, "--rank", &number]).stdout;
    assert!(whole.contains("The chain of work that ends a step last passes it "), "{whole}");
    assert!(whole.contains("It came last to ") && !first.is_null(), "{whole}");
    let one = place.done(&["cluster", "slow", folder, "--rank", &number, "--step", "10"]).stdout;
    assert!(one.contains(" costs step 10 "), "{one}");
    place.fails(2, &["no step 9", "10, 11, 12"], &["cluster", "slow", folder, "--step", "9"]);
    place.fails(2, &["--top"], &["cluster", "slow", folder, "--top", "0"]);
    place.fails(2, &["--host", "--rank"], &["cluster", "slow", folder, "--host", "host0", "--rank", "1"]);
}

#[test]
fn whoever_waits_because_of_a_rank_is_told_and_waits_no_more_without_its_fault() {
    let place = Place::new();
    let faulty = ranks(&place, "faulty", &["ai-cpu=5".to_owned()]);
    let sound = ranks(&place, "sound", &[]);
    let answer = place.done(&["cluster", "slow", &faulty, "--rank", "5", "--json"]).json();
    let suspect = &answer["suspects"][0];
    let holds_up = suspect["holds_up"].as_array().unwrap();
    let waited = |at_once: bool| -> f64 {
        let of = holds_up.iter().filter(|it| it["at_once"] == at_once);
        of.map(|it| it["waited_ns"].as_f64().unwrap()).sum()
    };
    assert!(waited(true) > 0.0 && waited(false) > 0.0, "{holds_up:#?}");
    assert!(holds_up.iter().all(|it| !it["ranks"].as_array().unwrap().contains(&5.into())), "{holds_up:#?}");
    // Its neighbour of the tensor group waits for it at once.
    let tensor =
        holds_up.iter().find(|it| it["at_once"] == true && it["role"] == "tp").expect("a tensor group");
    assert!(tensor["ranks"].as_array().unwrap().contains(&4.into()), "{tensor:#}");
    // An independent measure: the waits in all collectives of the same run with and without the fault.
    let waits_of_others = |run: &str| -> f64 {
        place.done(&["cluster", "export", run, "--format", "csv", "-o", "tables"]);
        let mut reader = csv::Reader::from_path(place.path("tables/collectives.csv")).unwrap();
        let rows = reader.deserialize::<std::collections::BTreeMap<String, String>>().map(Result::unwrap);
        rows.map(|row| row["waiting_ns"].parse::<f64>().unwrap()).sum()
    };
    let more = waits_of_others(&faulty) - waits_of_others(&sound);
    let told = waited(true) + waited(false);
    // The rank's own waits, which are shorter because it comes late, aren't among them.
    assert!((0.8..1.6).contains(&(told / more)), "{told} and {more}");
    assert_eq!(suspect["then"], Value::Null, "{suspect:#}");
    let text = place.done(&["cluster", "slow", &faulty, "--rank", "5"]).stdout;
    assert!(text.contains("At once wait for it") && text.contains("nobody else stands out"), "{text}");
}

#[test]
fn the_next_hindrance_costs_what_it_does_once_the_first_is_gone() {
    let place = Place::new();
    let both = ranks(&place, "both", &["ai-cpu=5".to_owned(), "late-input=2".to_owned()]);
    let one = ranks(&place, "one", &["late-input=2".to_owned()]);
    let answer = place.done(&["cluster", "slow", &both, "--rank", "5", "--json"]).json();
    let then = &answer["suspects"][0]["then"];
    assert!(then["name"].as_str().is_some_and(|name| name.starts_with("rank 2 ")), "{then:#}");
    let alone = place.done(&["cluster", "slow", &one, "--rank", "2", "--json"]).json();
    let (told, alone) = (milliseconds(&then["saves_ns"]), milliseconds(&alone["suspects"][0]["saves_ns"]));
    assert!((told / alone - 1.0).abs() < 0.1, "{told} and {alone}");
}

#[test]
fn the_only_rank_that_shows_what_transfers_wait_for_costs_what_it_does() {
    let place = Place::new();
    let layout = ["--layout", "tp=1,pp=1,dp=16,ep=2", "--seed", "32", "--fault", "low-frequency=3:1.341"];
    let words = ["sample", "cluster", "-o", "made", "--format", "db", "-q"];
    let made = place.done(&[&words[..], &layout].concat()).stdout;
    let folder = made.trim();
    let truth = std::fs::read_to_string(place.path(folder).join("truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    let faults = truth["costs"]["faults"].as_object().unwrap();
    let saves = faults.values().next().unwrap()["without_it_saves_ms"].as_f64().unwrap();
    let answer = place.done(&["cluster", &format!("{folder}/db"), "--json"]).json();
    let told = milliseconds(&suspects(&answer)[0]["saves_ns"]);
    assert_eq!(named(&answer), ["rank 3 (host0:3)"]);
    assert!((told / saves - 1.0).abs() < 0.015, "{told} ms, and {saves} in truth");
}
