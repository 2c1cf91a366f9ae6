//! `opscope cluster` where ranks are missing, or of two runs: what is said then is that of the whole run, or nothing.

mod common;

use common::Place;
use serde_json::Value;

/// A simulated run of eight ranks, in a folder for each of them.
fn made(place: &Place, name: &str, seed: &str, words: &[&str]) -> String {
    let common = ["sample", "cluster", "-o", name, "--ranks", "8", "--seed", seed, "--format", "db"];
    place.done(&[&common, words].concat());
    format!("{name}/cluster_8_ranks_seed_{seed}/db")
}

/// A simulated run of as many ranks as the words say.
fn made_so(place: &Place, name: &str, seed: &str, form: &str, words: &[&str]) -> String {
    let common = ["sample", "cluster", "-o", name, "--seed", seed, "--format", form];
    place.done(&[&common, words].concat());
    let made = std::fs::read_dir(place.path(name)).unwrap().next().unwrap().unwrap().file_name();
    format!("{name}/{}/{form}", made.to_str().unwrap())
}

/// The time that all ranks wait, by the kind of collective.
fn waiting(place: &Place, run: &str, ranks: f64) -> Vec<(String, f64)> {
    let told = place.done(&["cluster", "comm", run, "--json"]).json();
    let rows = told["collectives"].as_array().unwrap().iter();
    let kind = |row: &Value| format!("{} {}", row["role"].as_str().unwrap(), row["type"].as_str().unwrap());
    rows.map(|row| (kind(row), ranks * row["waiting_ns"].as_f64().unwrap() / 1e6)).collect()
}

#[test]
fn ranks_wait_for_one_that_was_not_recorded_as_long_as_for_one_that_was() {
    let place = Place::new();
    let fault = ["--fault", "ai-cpu=5"];
    let whole = made(&place, "whole", "7", &fault);
    let lacking = made(&place, "lacking", "7", &[&fault[..], &["--damage", "missing=5"]].concat());
    let expected = waiting(&place, &whole, 8.0);
    let found = waiting(&place, &lacking, 7.0);
    // The slow rank itself waits for nobody in these.
    for kind in ["tp allReduce", "ep alltoall"] {
        let of = |all: &[(String, f64)]| all.iter().find(|(it, _)| it == kind).unwrap().1;
        assert!(
            (of(&found) / of(&expected) - 1.0).abs() < 0.1,
            "{kind}: {} and {}",
            of(&found),
            of(&expected)
        );
    }
    let told = place.done(&["cluster", "comm", &lacking, "--json"]).json();
    let rows = told["collectives"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["incomplete"].as_u64().unwrap() > 0), "{told:#}");
    let one = place.done(&["cluster", "comm", &lacking, "--instance", "tp:4/3", "--json"]).json();
    assert_eq!(one["instances"][0]["missing"], serde_json::json!([5]), "{one:#}");
    assert_eq!(one["instances"][0]["type"], "allReduce", "{one:#}");
    let part = &one["parts"][0];
    assert_eq!(part["instance"], 0, "{one:#}");
    assert!(part["waited_ns"].as_f64().unwrap() > 1e6, "{one:#}");
    assert_ne!(part["is_last"], true, "{one:#}");
}

#[test]
fn experts_whose_peer_is_missing_are_beside_no_mean() {
    let place = Place::new();
    let run = made(&place, "run", "7", &["--fault", "more-tokens=7", "--damage", "missing=5"]);
    let told = place.done(&["cluster", "experts", &run, "--json"]).json();
    let groups = told["groups"].as_array().unwrap();
    let lacking = groups.iter().find(|group| group["missing"] == serde_json::json!([5])).unwrap();
    assert!(lacking["imbalance"].is_null() && lacking["loses_ns"].is_null(), "{lacking:#}");
    let whole = groups.iter().find(|group| group["missing"] == serde_json::json!([])).unwrap();
    assert!(whole["imbalance"].is_number(), "{whole:#}");
}

#[test]
fn experts_of_ranks_without_operators_are_said_to_be_unknown() {
    let place = Place::new();
    let run = made(&place, "run", "7", &["--fault", "more-tokens=7"]);
    let folders = || std::fs::read_dir(place.path(&run)).unwrap().map(|it| it.unwrap().path());
    let forget = |rank: u32| {
        let of_rank = |path: &std::path::PathBuf| path.to_str().unwrap().contains(&format!("_1000{rank}_"));
        let folder = folders().find(of_rank).unwrap();
        let file = folder.join(format!("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db"));
        rusqlite::Connection::open(file).unwrap().execute("DROP TABLE COMPUTE_TASK_INFO", []).unwrap();
    };
    forget(5);
    let told = place.done(&["cluster", "experts", &run, "--json"]);
    assert!(told.stderr.contains("rank 5: recorded without operators"), "{}", told.stderr);
    let told = told.json();
    let groups = told["groups"].as_array().unwrap();
    let lacking =
        groups.iter().find(|group| group["without_operators"] == serde_json::json!([5])).expect("its group");
    assert_eq!(lacking["missing"], serde_json::json!([]), "{lacking:#}");
    assert!(lacking["imbalance"].is_null() && lacking["loses_ns"].is_null(), "{lacking:#}");
    (0..8).filter(|rank| *rank != 5).for_each(forget);
    let told = place.done(&["cluster", "experts", &run]).stdout;
    assert!(told.starts_with("No rank recorded operators"), "{told}");
}

#[test]
fn experts_of_a_rank_that_is_cut_are_those_of_its_whole_steps() {
    // Of texts the rank has a step in part, of timelines two steps and no collectives.
    for (form, cut_in) in [("text", Some("step 12")), ("kineto", None)] {
        let place = Place::new();
        let words = ["--ranks", "16", "--steps", "4", "--fault", "none"];
        let whole = made_so(&place, "whole", "1", form, &words);
        let cut = made_so(&place, "cut", "1", form, &[&words[..], &["--damage", "cut=6"]].concat());
        place.done(&["cluster", "import", &cut, "-o", "set"]);
        let experts = |from: &str| place.done(&["cluster", "experts", from, "--json"]).json();
        let figures = |told: &Value| {
            let rows = |name: &str| told[name].as_array().unwrap().clone();
            let group = rows("groups").into_iter().find(|it| it["most"] == 4 || it["most"] == 6).unwrap();
            let products: Vec<f64> =
                rows("ranks").iter().map(|it| it["products"].as_f64().unwrap()).collect();
            let figure = |name: &str| group[name].as_f64().unwrap_or_else(|| panic!("{form}: {group:#}"));
            (figure("imbalance"), figure("loses_ns"), products)
        };
        let (of_whole, of_cut, of_set) = (experts(&whole), experts(&cut), experts("set"));
        assert_eq!(figures(&of_cut), figures(&of_set), "{form}");
        let ((imbalance, loses, products), (same_imbalance, same_loses, same_products)) =
            (figures(&of_whole), figures(&of_cut));
        assert_eq!(products, same_products, "{form}");
        assert!((imbalance - same_imbalance).abs() < 1e-9, "{form}: {imbalance} and {same_imbalance}");
        // Steps take a little longer or shorter than one another.
        assert!((same_loses / loses - 1.0).abs() < 0.1, "{form}: {loses} and {same_loses}");
        let mut left_out = of_cut["losses"].as_array().unwrap().iter();
        let is_told = left_out.any(|it| Some(it["source"].as_str().unwrap()) == cut_in);
        assert_eq!(is_told, cut_in.is_some(), "{form}: {:#}", of_cut["losses"]);
    }
}

#[test]
fn experts_of_a_rank_that_numbers_its_steps_otherwise_are_beside_the_others() {
    let place = Place::new();
    let run = made(&place, "run", "7", &["--fault", "none", "--steps", "3"]);
    let told = || place.done(&["cluster", "experts", &run, "--json"]).json()["groups"].clone();
    let whole = told();
    profile_of(&place, &run, 5).execute_batch("UPDATE STEP_TIME SET id = id + 7").unwrap();
    let renumbered = told();
    assert!(whole.as_array().unwrap().iter().all(|group| group["loses_ns"].is_number()), "{whole:#}");
    assert_eq!(whole, renumbered);
}

/// A folder with ranks 0 to 3 of one run and 4 to 7 of another, copied from theirs.
fn half_and_half(place: &Place, mixed: &str, first: &str, second: &str) {
    for (run, ranks) in [(first, 0..4), (second, 4..8)] {
        for folder in std::fs::read_dir(place.path(run)).unwrap().map(|it| it.unwrap().path()) {
            let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
            if !ranks.clone().any(|rank| name.contains(&format!("_1000{rank}_"))) {
                continue;
            }
            let outputs = place.path(&format!("{mixed}/{name}/ASCEND_PROFILER_OUTPUT"));
            std::fs::create_dir_all(&outputs).unwrap();
            for path in files_of(&folder).into_iter().chain(files_of(&folder.join("ASCEND_PROFILER_OUTPUT")))
            {
                let target = place.path(mixed).join(path.strip_prefix(place.path(run)).unwrap());
                std::fs::copy(&path, target).unwrap();
            }
        }
    }
}

/// The files of a folder itself.
fn files_of(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    paths.filter(|path| path.is_file()).collect()
}

#[test]
fn two_runs_that_have_half_of_the_ranks_each_are_told() {
    let place = Place::new();
    let of_seed =
        |seed: &str, fault: &str| made(&place, &format!("{fault}-{seed}"), seed, &["--fault", fault]);
    let first = of_seed("1", "default");
    // The steps of other seeds are nearly as long as those of the first.
    for (seed, fault) in [("10", "none"), ("3", "default"), ("5", "default"), ("9", "default")] {
        let second = of_seed(seed, fault);
        let mixed = format!("mixed-{seed}");
        half_and_half(&place, &mixed, &first, &second);
        let told = place.done(&["cluster", &mixed, "--json"]).json();
        let losses = told["losses"].as_array().unwrap();
        let strangers = losses.iter().find(|it| it["kind"] == "stranger");
        let strangers = strangers.unwrap_or_else(|| panic!("seed {seed}: {told:#}"));
        assert!(strangers.to_string().contains("0-3 / 4-7"), "{strangers:#}");
        // A run by itself has none.
        let told = place.done(&["cluster", &second, "--json"]).json();
        assert_eq!(told["losses"], serde_json::json!([]));
    }
}

#[test]
fn one_of_several_ranks_of_which_some_were_read_is_not_said_to_be_missing() {
    let place = Place::new();
    let run = made_so(&place, "run", "1", "kineto", &[]);
    for file in files_of(&place.path(&run)) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let is_of = |rank: u32| name.contains(&format!("_1000{rank}."));
        if is_of(2) || is_of(3) {
            // Collectives come last in these files.
            let text = std::fs::read(&file).unwrap();
            std::fs::write(&file, &text[..text.len() * 2 / 3]).unwrap();
        } else if is_of(4) {
            std::fs::remove_file(&file).unwrap();
        }
    }
    let (named, losses) = told(&place, &run);
    assert!(losses.iter().any(|kind| kind == "no_collectives"), "{losses:?}");
    let several = named.iter().find(|(name, _)| name.starts_with("one of ranks 2, 3, 4"));
    let (several, _) = several.unwrap_or_else(|| panic!("{named:?}"));
    assert_eq!(several, "one of ranks 2, 3, 4 (no collectives recorded)");
}

/// The collection with the rank's folder of another one in place of its own.
fn with_rank_of_another(place: &Place, run: &str, other: &str, rank: u32) {
    let folder_of = |run: &str| {
        let mut entries = std::fs::read_dir(place.path(run)).unwrap().map(|it| it.unwrap().path());
        entries.find(|it| it.display().to_string().contains(&format!("_1000{rank}_"))).unwrap()
    };
    let (own, theirs) = (folder_of(run), folder_of(other));
    std::fs::remove_dir_all(&own).unwrap();
    std::fs::rename(theirs, own).unwrap();
}

/// Who is told, with what it saves in milliseconds; and the kinds of losses.
fn told(place: &Place, run: &str) -> (Vec<(String, f64)>, Vec<String>) {
    let answer = place.done(&["cluster", run, "--json"]).json();
    let suspects = answer["suspects"].as_array().unwrap().iter().filter(|it| it["named"] == true);
    let saves =
        |it: &Value| (it["name"].as_str().unwrap().to_owned(), it["saves_ns"].as_f64().unwrap() / 1e6);
    let losses =
        answer["losses"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap().to_owned());
    (suspects.map(saves).collect(), losses.collect())
}

#[test]
fn a_rank_with_fewer_steps_than_the_others_costs_what_it_does_in_those_that_it_has() {
    let place = Place::new();
    let fault = ["--fault", "ai-cpu=5", "--steps"];
    let run = made(&place, "five", "7", &[&fault[..], &["5"]].concat());
    let (whole, no_losses) = told(&place, &run);
    let other = made(&place, "two", "7", &[&fault[..], &["2"]].concat());
    with_rank_of_another(&place, &run, &other, 5);
    let (lacking, losses) = told(&place, &run);
    assert_eq!((whole.len(), lacking.len(), no_losses.len()), (1, 1, 0), "{whole:?} {lacking:?}");
    assert_eq!(whole[0].0, lacking[0].0);
    assert!((lacking[0].1 / whole[0].1 - 1.0).abs() < 0.03, "{whole:?} and {lacking:?}");
    assert_eq!(losses, ["lacks_steps"]);
}

#[test]
fn of_two_ranks_the_one_that_lacks_a_step_is_told_with_it() {
    for rank in [0, 1] {
        let place = Place::new();
        let words = ["--ranks", "2", "--fault", "none", "--steps"];
        let run = made_so(&place, "three", "7", "db", &[&words[..], &["3"]].concat());
        assert_eq!(told(&place, &run).1, Vec::<String>::new());
        let other = made_so(&place, "two", "7", "db", &[&words[..], &["2"]].concat());
        with_rank_of_another(&place, &run, &other, rank);
        let answer = place.done(&["cluster", &run, "--json"]).json();
        let losses = answer["losses"].as_array().unwrap();
        assert_eq!(losses.len(), 1, "{losses:?}");
        let loss = &losses[0];
        assert_eq!((&loss["kind"], &loss["scope"]), (&"lacks_steps".into(), &format!("rank {rank}").into()));
        assert_eq!((&loss["source"], &loss["detail"]), (&"1 of 3".into(), &"step 12".into()));
        // Nothing is left out for it.
        assert_eq!(answer["steps"], serde_json::json!([10, 11, 12]));
    }
}

/// Asserts that the same are told with the same savings.
fn assert_alike(whole: &[(String, f64)], other: &[(String, f64)]) {
    let names = |told: &[(String, f64)]| told.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert!(whole.len() > 2, "{whole:?}");
    assert_eq!(names(whole), names(other), "{whole:?} and {other:?}");
    for ((name, of_whole), (_, of_other)) in whole.iter().zip(other) {
        assert!((of_other - of_whole).abs() < 0.03 * of_whole + 0.1, "{name}: {of_whole} and {of_other}");
    }
}

#[test]
fn steps_that_only_a_few_ranks_recorded_dilute_what_others_cost_by_nothing() {
    // A slow rank, and the sender of a slow link.
    for rank in [5, 0] {
        let place = Place::new();
        let run = made(&place, "two", "1", &["--steps", "2"]);
        let (whole, _) = told(&place, &run);
        let other = made(&place, "eight", "1", &["--steps", "8"]);
        with_rank_of_another(&place, &run, &other, rank);
        let (longer, losses) = told(&place, &run);
        assert_alike(&whole, &longer);
        assert_eq!(losses, ["step_of_few"], "rank {rank}");
    }
}

#[test]
fn a_rank_that_tells_no_steps_of_a_run_of_one_has_that_of_the_others() {
    let place = Place::new();
    let run = made(&place, "one", "1", &["--steps", "1"]);
    let (whole, _) = told(&place, &run);
    let mut entries = std::fs::read_dir(place.path(&run)).unwrap().map(|it| it.unwrap().path());
    let outputs = entries.find(|it| it.display().to_string().contains("_10006_")).unwrap();
    let outputs = outputs.join("ASCEND_PROFILER_OUTPUT");
    std::fs::remove_file(outputs.join("analysis.db")).unwrap();
    let database = rusqlite::Connection::open(outputs.join("ascend_pytorch_profiler_6.db")).unwrap();
    database.execute_batch("DELETE FROM STEP_TIME").unwrap();
    drop(database);
    let (untold, losses) = told(&place, &run);
    assert_alike(&whole, &untold);
    assert_eq!(losses, ["steps_of_others"]);
}

#[test]
fn a_step_of_which_a_rank_lost_a_collective_is_left_out_for_it_and_names_nobody() {
    let place = Place::new();
    let more = ["--ranks", "16", "--devices-per-host", "4", "--steps", "3", "--fault", "none"];
    let run = made_so(&place, "cut", "5", "text", &[&more[..], &["--damage", "cut=12"]].concat());
    let (suspects, losses) = told(&place, &run);
    assert_eq!(suspects, []);
    assert!(losses.iter().any(|loss| loss == "lacks_collectives"), "{losses:?}");
}

#[test]
fn a_rank_of_another_run_is_left_out_and_lacks_no_peers() {
    let place = Place::new();
    let layout = ["--ranks", "16", "--steps", "4"];
    let run = made_so(&place, "run", "7", "db", &layout);
    let faults = ["--fault", "low-frequency=3:2", "--fault", "late-input=5:40ms"];
    let other = made_so(&place, "other", "31", "db", &[&layout[..], &faults].concat());
    with_rank_of_another(&place, &run, &other, 3);
    let answer = place.done(&["cluster", &run, "--json"]).json();
    let losses = answer["losses"].as_array().unwrap();
    let of_rank = losses.iter().find(|loss| loss["kind"] == "stranger_left_out");
    assert!(of_rank.is_some_and(|loss| loss["scope"] == "rank 3"), "{losses:?}");
    assert_eq!(answer["without_peers"], serde_json::json!([]));
    let text = place.done(&["cluster", &run]);
    assert!(!text.stdout.contains("Without peers"), "{}", text.stdout);
    assert!(text.stderr.contains("rank 3: ") && text.stderr.contains("another run's"), "{}", text.stderr);
}

#[test]
fn no_bubble_is_told_at_best_where_nothing_tells_how_many_steps_there_are() {
    let place = Place::new();
    let run = made_so(&place, "run", "7", "db", &["--ranks", "16", "--steps", "4"]);
    let told = || place.done(&["cluster", &run, "--json"]).json();
    assert_eq!(told()["ideal_bubble"]["micro_batches"], 4);
    for folder in std::fs::read_dir(place.path(&run)).unwrap().map(|it| it.unwrap().path()) {
        let outputs = folder.join("ASCEND_PROFILER_OUTPUT");
        std::fs::remove_file(outputs.join("analysis.db")).unwrap();
        let files = std::fs::read_dir(&outputs).unwrap().map(|it| it.unwrap().path());
        let is_database = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "db");
        let database = rusqlite::Connection::open(files.into_iter().find(is_database).unwrap()).unwrap();
        database.execute_batch("DELETE FROM STEP_TIME").unwrap();
        // Ranks whose collectives come again differently have no steps in common that could be inferred.
        if folder.display().to_string().contains("_10005_") {
            database.execute_batch("DELETE FROM COMMUNICATION_OP WHERE rowid % 7 = 3").unwrap();
        }
    }
    let answer = told();
    assert_eq!(answer["steps"], serde_json::json!([0]), "{answer:#}");
    assert!(answer["ideal_bubble"].is_null(), "{answer:#}");
    let text = place.done(&["cluster", &run]).stdout;
    assert!(!text.contains("micro-batches"), "{text}");
}

#[test]
fn a_rank_of_which_only_the_links_are_left_hides_nobody() {
    let place = Place::new();
    let fault = ["--ranks", "16", "--devices-per-host", "4", "--steps", "3", "--fault", "ai-cpu=5"];
    let whole = told(&place, &made_so(&place, "whole", "5", "db", &fault)).0;
    let damage = [&fault[..], &["--damage", "cut=6", "--damage", "empty=7"]].concat();
    let damaged = told(&place, &made_so(&place, "damaged", "5", "db", &damage)).0;
    let ([(name, known)], [(found, saves)]) = (&whole[..], &damaged[..]) else {
        panic!("{whole:?} and {damaged:?}")
    };
    assert_eq!(name, found);
    assert!((saves / known - 1.0).abs() < 0.05, "{saves} ms, and {known} of the whole run");
}

#[test]
fn ranks_of_a_host_that_are_slow_for_different_reasons_are_named_each_by_itself() {
    let place = Place::new();
    let faults = ["--fault", "host-bound=8:150us", "--fault", "low-frequency=11:1.6", "--steps", "4"];
    let layout = ["--layout", "tp=1,pp=1,dp=16,ep=4", "--devices-per-host", "4", "--microbatches", "6"];
    let run = made_so(&place, "two", "18", "db", &[&faults[..], &layout].concat());
    let names: Vec<String> = told(&place, &run).0.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["rank 8 (host2:0)", "rank 11 (host2:3)"]);
}

#[test]
fn one_of_several_ranks_that_were_not_recorded_is_named_where_others_wait_for_them_together() {
    let place = Place::new();
    let more = ["--ranks", "16", "--devices-per-host", "4", "--steps", "3", "--fault", "ai-cpu=10"];
    let missing = ["--damage", "missing=10", "--damage", "missing=8"];
    let suspects = told(&place, &made_so(&place, "pair", "319", "db", &[&more[..], &missing].concat())).0;
    let [(name, saves)] = &suspects[..] else { panic!("{suspects:?}") };
    assert_eq!(name, "one of ranks 8, 10 (not recorded)");
    // The truth about all ranks.
    assert!((saves / 47.5 - 1.0).abs() < 0.1, "{saves} ms");
}

/// The database of a rank's profile. What the vendor's tool made of it is taken away, and what tells of links.
fn profile_of(place: &Place, run: &str, rank: u32) -> rusqlite::Connection {
    let mut entries = std::fs::read_dir(place.path(run)).unwrap().map(|it| it.unwrap().path());
    let of_rank = format!("_{}_", 10_000 + rank);
    let outputs = entries.find(|it| it.display().to_string().contains(&of_rank)).unwrap();
    let outputs = outputs.join("ASCEND_PROFILER_OUTPUT");
    let _ = std::fs::remove_file(outputs.join("analysis.db"));
    let profile =
        rusqlite::Connection::open(outputs.join(format!("ascend_pytorch_profiler_{rank}.db"))).unwrap();
    assert!(profile.execute("UPDATE COMMUNICATION_TASK_INFO SET size = 0", []).unwrap() > 0);
    profile
}

#[test]
fn a_first_step_that_is_longer_for_everybody_makes_no_rank_and_no_group_slow() {
    let place = Place::new();
    let many = [(16, "tp=2,pp=1,dp=8,ep=1"), (8, "tp=2,pp=4,dp=1,ep=1"), (8, "tp=4,pp=1,dp=2,ep=1")];
    let few = [(4, "tp=4,pp=1,dp=1,ep=1"), (4, "tp=1,pp=4,dp=1,ep=1"), (2, "tp=1,pp=1,dp=2,ep=1")];
    for ((ranks, layout), form) in many.into_iter().chain(few).flat_map(|it| [(it, "db"), (it, "kineto")]) {
        let count = ranks.to_string();
        let words = ["--layout", layout, "--devices-per-host", &count, "--steps", "4", "--fault", "none"];
        let lost = |warm_up: &str| {
            let name = format!("{layout} {form} {warm_up}");
            let words = [&words[..], &["--warm-up", warm_up]].concat();
            let run = made_so(&place, &name, "5", form, &words);
            if form == "db" {
                (0..ranks).for_each(|rank| drop(profile_of(&place, &run, rank)));
            }
            let answer = place.done(&["cluster", &run, "--json"]).json();
            assert_eq!(answer["suspects"], serde_json::json!([]), "{name}: {answer:#}");
            let length = |name: &str| answer[name].as_f64().unwrap();
            1.0 - length("reachable_ns") / length("step_ns")
        };
        let (usual, longer) = (lost("1"), lost("1.8"));
        assert!((longer - usual).abs() < 0.02, "{layout}: {usual} of a step, and {longer} with a longer one");
    }
}

/// Changes the events of each rank's timeline of PyTorch's.
fn change_events(place: &Place, run: &str, change: impl Fn(u32, &mut Vec<Value>)) {
    for path in std::fs::read_dir(place.path(run)).unwrap().map(|it| it.unwrap().path()) {
        let mut timeline: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let rank = timeline["distributedInfo"]["rank"].as_u64().unwrap() as u32;
        change(rank, timeline["traceEvents"].as_array_mut().unwrap());
        std::fs::write(&path, timeline.to_string()).unwrap();
    }
}

#[test]
fn transfers_of_ranks_that_lack_steps_are_neither_faster_nor_slower() {
    let place = Place::new();
    let words = ["--ranks", "8", "--steps", "6", "--fault", "none"];
    let [whole, lacking] = ["whole", "lacking"].map(|name| made_so(&place, name, "3", "kineto", &words));
    // Of one rank two steps weren't recorded.
    change_events(&place, &lacking, |rank, events| {
        let time = |event: &Value| event["ts"].as_f64().unwrap();
        let named = |event: &&Value| event["name"].as_str().is_some_and(|it| it.starts_with("ProfilerStep#"));
        let mut begins: Vec<f64> = events.iter().filter(named).map(time).collect();
        begins.sort_by(f64::total_cmp);
        assert_eq!(begins.len(), 6);
        events.retain(|event| rank != 3 || time(event) < begins[4]);
    });
    let told = |run: &str| place.done(&["cluster", "comm", run, "--json"]).json();
    let (of_whole, of_lacking) = (told(&whole), told(&lacking));
    let rows = |told: &Value| told["collectives"].as_array().unwrap().clone();
    assert_eq!(rows(&of_whole).len(), rows(&of_lacking).len());
    for (whole, lacking) in rows(&of_whole).iter().zip(rows(&of_lacking)) {
        let times = lacking["transfer_ns"].as_f64().unwrap() / whole["transfer_ns"].as_f64().unwrap();
        assert!((times - 1.0).abs() < 0.02, "{times} times: {whole:#} {lacking:#}");
    }
    let answer = place.done(&["cluster", "compare", &whole, &lacking, "--json"]).json();
    let transfers = answer["rows"].as_array().unwrap().iter().filter(|row| row["kind"] == "transfer");
    assert!(transfers.clone().count() > 2, "{answer:#}");
    for row in transfers {
        assert_eq!(row["verdict"], "within_noise", "{row:#}");
    }
}

#[test]
fn groups_whose_kernels_list_no_ranks_are_those_that_the_profile_declares() {
    let place = Place::new();
    let words = ["--ranks", "8", "--steps", "4", "--fault", "ai-cpu=3:2ms"];
    let [whole, unlisted] = ["whole", "unlisted"].map(|name| made_so(&place, name, "3", "kineto", &words));
    change_events(&place, &unlisted, |_, events| {
        let args = events.iter_mut().filter_map(|event| event["args"].as_object_mut());
        let removed = args.filter_map(|args| args.remove("Process Group Ranks")).count();
        assert!(removed > 10, "{removed} kernels listed their groups' ranks");
    });
    let (expected, found) = (told(&place, &whole), told(&place, &unlisted));
    assert_eq!(expected.0.len(), 1, "{expected:?}");
    assert_eq!(found, expected);
}

#[test]
fn groups_that_only_their_names_tell_apart_are_doubted() {
    let place = Place::new();
    let run = made_so(&place, "run", "3", "kineto", &["--ranks", "8", "--steps", "2", "--fault", "none"]);
    let doubted = || {
        let answer = place.done(&["cluster", "info", &run, "--json"]).json();
        let losses = answer["losses"].as_array().unwrap().iter();
        let of_groups = losses.filter(|loss| loss["kind"] == "named_groups");
        let told = of_groups.map(|loss| (loss["severity"].clone(), loss["count"].as_u64().unwrap()));
        told.collect::<Vec<_>>()
    };
    let without_lists = |events: &mut Vec<Value>| {
        let args = events.iter_mut().filter_map(|event| event["args"].as_object_mut());
        args.filter_map(|args| args.remove("Process Group Ranks")).count()
    };
    change_events(&place, &run, |_, events| assert!(without_lists(events) > 10));
    // The head of the profile still lists them.
    assert_eq!(doubted(), []);
    for path in std::fs::read_dir(place.path(&run)).unwrap().map(|it| it.unwrap().path()) {
        let mut timeline: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        timeline["distributedInfo"].as_object_mut().unwrap().remove("pg_config").unwrap();
        std::fs::write(&path, timeline.to_string()).unwrap();
    }
    let told = doubted();
    assert_eq!(told.len(), 8, "{told:?}");
    assert!(told.iter().all(|(severity, count)| severity == "doubted" && *count > 10), "{told:?}");
}

#[test]
fn a_rank_that_takes_several_steps_for_one_costs_what_it_does_in_each() {
    let words = ["--ranks", "16", "--steps", "4", "--fault", "ai-cpu=3:2ms"];
    let all = "UPDATE STEP_TIME SET endNs = (SELECT max(endNs) FROM STEP_TIME); \
               DELETE FROM STEP_TIME WHERE id > 10";
    let two = "UPDATE STEP_TIME SET endNs = (SELECT max(endNs) FROM STEP_TIME) WHERE id = 12; \
               DELETE FROM STEP_TIME WHERE id = 13";
    let doubled = "UPDATE STEP_TIME SET id = 10 WHERE id = 11";
    let (others, own) = (&["steps_of_others"][..], &[][..]);
    let changes = [(3, all, others), (3, two, others), (3, doubled, own), (6, all, others), (6, two, others)];
    for (rank, change, expected) in changes {
        let place = Place::new();
        let run = made_so(&place, "run", "1", "db", &words);
        let whole = told(&place, &run).0;
        profile_of(&place, &run, rank).execute_batch(change).unwrap();
        let (joined, losses) = told(&place, &run);
        let ([(name, known)], [(found, saves)]) = (&whole[..], &joined[..]) else {
            panic!("{rank}, {change}: {whole:?} and {joined:?}")
        };
        assert_eq!(name, found);
        assert!((saves / known - 1.0).abs() < 0.03, "{rank}, {change}: {saves} ms, and {known}");
        assert_eq!(losses, expected, "{rank}, {change}");
    }
}

#[test]
fn a_rank_that_lost_another_collective_in_each_step_hides_nobody() {
    let place = Place::new();
    let words = ["--ranks", "16", "--steps", "2", "--fault", "ai-cpu=3:2ms"];
    let run = made_so(&place, "run", "1", "db", &words);
    let whole = told(&place, &run).0;
    let profile = profile_of(&place, &run, 6);
    let second = "(SELECT startNs FROM STEP_TIME WHERE id = 11)";
    for chosen in [
        format!(
            "startNs < {second} AND opType IN (SELECT id FROM STRING_IDS WHERE value LIKE '%reduceScatter%')"
        ),
        format!(
            "startNs >= {second} AND opType IN (SELECT id FROM STRING_IDS WHERE value LIKE '%allReduce%')"
        ),
    ] {
        let one = format!(
            "SELECT rowid FROM COMMUNICATION_OP WHERE {chosen} ORDER BY endNs - startNs DESC LIMIT 1"
        );
        let delete = format!("DELETE FROM COMMUNICATION_OP WHERE rowid = ({one})");
        assert_eq!(profile.execute(&delete, []).unwrap(), 1, "{chosen}");
    }
    drop(profile);
    let (lacking, losses) = told(&place, &run);
    let ([(name, known)], [(found, saves)]) = (&whole[..], &lacking[..]) else {
        panic!("{whole:?} and {lacking:?}")
    };
    assert_eq!(name, found);
    assert!((saves / known - 1.0).abs() < 0.03, "{saves} ms, and {known} of the whole run");
    assert!(losses.iter().any(|loss| loss == "lacks_collectives"), "{losses:?}");
}

#[test]
fn the_same_recording_with_fewer_ranks_is_neither_slower_nor_faster() {
    let place = Place::new();
    let words = ["--ranks", "16", "--steps", "4", "--fault", "ai-cpu=3:2ms"];
    let whole = made_so(&place, "whole", "1", "db", &words);
    for missing in [&[3][..], &[8, 9, 10, 11, 12, 13, 14, 15][..]] {
        let damage: Vec<String> = missing.iter().map(|rank| format!("missing={rank}")).collect();
        let damage: Vec<&str> = damage.iter().flat_map(|it| ["--damage", it]).collect();
        let name = format!("lacking{}", missing.len());
        let lacking = made_so(&place, &name, "1", "db", &[&words[..], &damage].concat());
        let answer = place.done(&["cluster", "compare", &whole, &lacking, "--json"]).json();
        let rows = answer["rows"].as_array().unwrap();
        let parts: Vec<&Value> = rows.iter().filter(|row| row["kind"] != "rank").collect();
        assert!(parts.len() > 5, "{answer:#}");
        for row in parts {
            assert_eq!(row["verdict"], "within_noise", "{missing:?}: {row:#}");
        }
        let told = place.done(&["cluster", "compare", &whole, &lacking]).stdout;
        assert!(told.contains("means of the ranks that both have"), "{told}");
    }
}

#[test]
fn operators_without_any_texts_are_told_and_are_none() {
    let place = Place::new();
    let run = made(&place, "run", "7", &["--fault", "more-tokens=7"]);
    let mut entries = std::fs::read_dir(place.path(&run)).unwrap().map(|it| it.unwrap().path());
    let folder = entries.find(|it| it.display().to_string().contains("_10005_")).unwrap();
    let file = folder.join("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_5.db");
    rusqlite::Connection::open(file).unwrap().execute("DROP TABLE STRING_IDS", []).unwrap();
    place.done(&["cluster", "import", &run, "-o", "set"]);
    let experts = |from: &str| place.done(&["cluster", "experts", from, "--json"]).json();
    let (folders, set) = (experts(&run), experts("set"));
    assert_eq!(folders["losses"], set["losses"]);
    let losses = folders["losses"].as_array().unwrap();
    assert!(losses.iter().any(|it| it.to_string().contains("STRING_IDS has no texts")), "{losses:?}");
    let groups = folders["groups"].as_array().unwrap();
    let lacking = groups.iter().find(|group| group["without_operators"] == serde_json::json!([5]));
    assert_eq!(lacking.expect("its group")["missing"], serde_json::json!([]));
}

#[test]
fn operators_of_a_cut_step_are_beside_those_of_no_step() {
    let place = Place::new();
    let words = ["--ranks", "8", "--fault", "default", "--steps", "4"];
    let whole = made_so(&place, "whole", "1", "text", &words);
    let cut = made_so(&place, "cut", "1", "text", &[&words[..], &["--damage", "cut=6"]].concat());
    let of_rank = |run: &str| {
        let told = place.done(&["cluster", "slow", run, "--rank", "7", "--json"]).json();
        let evidence = told["suspects"][0]["evidence"].clone();
        let most = evidence["differences"][0]["excess_ns"].as_f64().unwrap() / 1e6;
        (evidence["causes"][0]["cause"].clone(), most)
    };
    let ((cause, excess), (same_cause, same_excess)) = (of_rank(&whole), of_rank(&cut));
    assert_eq!((cause.as_str(), same_cause.as_str()), (Some("tokens"), Some("tokens")));
    assert!((same_excess / excess - 1.0).abs() < 0.05, "{excess} and {same_excess} ms");
}

#[test]
fn parts_of_a_step_go_together_with_it_where_a_rank_lacks_the_short_ones() {
    let place = Place::new();
    let words = ["--ranks", "2", "--steps", "4", "--fault", "none", "--warm-up", "2", "--damage", "cut=1"];
    let run = made_so(&place, "run", "1", "text", &words);
    let (told, losses) = (place.done(&["cluster", &run, "--json"]).json(), told(&place, &run).1);
    assert!(losses.iter().any(|loss| loss == "lacks_steps"), "{losses:?}");
    let account = told["account"].as_object().unwrap();
    let parts: f64 = account.values().map(|part| part.as_f64().unwrap()).sum();
    let step = told["step_ns"].as_f64().unwrap();
    assert!((parts / step - 1.0).abs() < 0.01, "{parts} of {step} ns: {account:?}");
    // The same figures as those of the comparison.
    let rows = place.done(&["cluster", "compare", &run, &run, "--json", "--all"]).json()["rows"].clone();
    let of_parts = rows.as_array().unwrap().iter().filter(|row| row["kind"] == "part");
    let compared: f64 = of_parts.map(|row| row["a_ns"].as_f64().unwrap()).sum();
    assert!((compared / parts - 1.0).abs() < 0.01, "{compared} and {parts} ns: {rows:#}");
}

#[test]
fn hosts_of_which_every_group_lacks_a_rank_have_one_clock_even_so() {
    let place = Place::new();
    let words =
        ["--layout", "tp=1,pp=1,dp=8,ep=8", "--layers", "1", "--steps", "2", "--devices-per-host", "2"];
    let more = ["--fault", "none", "--clocks", "far", "--damage", "missing=2"];
    let run = made_so(&place, "run", "1", "db", &[&words[..], &more].concat());
    let told = place.done(&["cluster", &run]).stdout;
    assert!(!told.contains("islands") && told.contains("4 hosts aligned to"), "{told}");
}

#[test]
fn a_rank_that_is_missing_hides_nobody_in_texts_either() {
    // Texts don't tell whom a send goes to.
    let place = Place::new();
    let layout = ["--layout", "tp=1,pp=4,dp=4,ep=4", "--microbatches", "1", "--steps", "4"];
    let more = ["--devices-per-host", "4", "--fault", "host-bound=4", "--damage", "missing=7"];
    let words = [&layout[..], &more].concat();
    for form in ["text", "db"] {
        let suspects = told(&place, &made_so(&place, form, "5057", form, &words)).0;
        let [(name, saves)] = &suspects[..] else { panic!("{form}: {suspects:?}") };
        assert!(name.starts_with("rank 4 ") && (4.5..5.5).contains(saves), "{form}: {suspects:?}");
    }
}
