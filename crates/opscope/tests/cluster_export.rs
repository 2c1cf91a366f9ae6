//! `opscope cluster export` and `compare`: a run of many ranks for other programs, and beside another run.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::Place;
use serde_json::Value;

/// Makes a simulated run of eight ranks; returns the folder of its databases.
fn sample(place: &Place, name: &str, more: &[&str]) -> String {
    let arguments = ["sample", "cluster", "--ranks", "8", "--layers", "1", "-o", name];
    place.done(&[&arguments, more].concat());
    format!("{name}/cluster_8_ranks_seed_1/db")
}

fn timeline(place: &Place, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(place.path(name)).unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    whole["traceEvents"].as_array().unwrap().clone()
}

fn of_phase<'e>(events: &'e [Value], phase: &'e str) -> impl Iterator<Item = &'e Value> {
    events.iter().filter(move |event| event["ph"] == phase)
}

fn number(event: &Value, name: &str) -> f64 {
    event[name].as_f64().unwrap_or_else(|| panic!("{name} of {event}"))
}

/// The slices by process and thread: start and end in microseconds.
fn slices(events: &[Value]) -> BTreeMap<(u64, u64), Vec<(f64, f64)>> {
    let mut slices: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    for event in of_phase(events, "X") {
        let track = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let start = number(event, "ts");
        slices.entry(track).or_default().push((start, start + number(event, "dur")));
    }
    slices
}

#[test]
fn a_timeline_has_all_ranks_on_one_clock_with_arrows_to_those_who_waited() {
    let place = Place::new();
    let run = sample(&place, "run", &[]);
    let said = place.done(&["cluster", "export", &run, "--format", "timeline", "-o", "run.json"]).stdout;
    let events = timeline(&place, "run.json");
    let names: BTreeSet<&str> = of_phase(&events, "M")
        .filter(|event| event["name"] == "process_name")
        .map(|event| event["args"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 8, "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("rank 7 (")), "{names:?}");
    let slices = slices(&events);
    for (track, spans) in &slices {
        let mut spans = spans.clone();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut open: Vec<f64> = Vec::new();
        for (start, end) in spans {
            // A nanosecond is what rounding may move.
            while open.pop_if(|around| *around <= start + 0.0015).is_some() {}
            assert!(open.last().is_none_or(|around| end <= *around + 0.0015), "{track:?}: {start} to {end}");
            open.push(end);
        }
    }
    let from: BTreeMap<u64, &Value> =
        of_phase(&events, "s").map(|event| (event["id"].as_u64().unwrap(), event)).collect();
    let arrows: Vec<&Value> = of_phase(&events, "f").collect();
    assert!(arrows.len() > 20 && arrows.len() == from.len(), "{} {}", arrows.len(), from.len());
    assert!(said.contains(&format!("{} waits", arrows.len())), "{said}");
    for arrow in arrows {
        let (track, at) =
            ((arrow["pid"].as_u64().unwrap(), arrow["tid"].as_u64().unwrap()), number(arrow, "ts"));
        let begin = from[&arrow["id"].as_u64().unwrap()];
        assert_ne!(begin["pid"], arrow["pid"]);
        let within = |span: &&(f64, f64)| span.0 + 4.9 <= at && at <= span.1 + 0.0015;
        assert!(slices[&track].iter().any(|span| within(&span)), "{arrow}");
    }
}

#[test]
fn a_timeline_lays_hosts_upon_one_another_whose_clocks_are_far_apart() {
    let place = Place::new();
    // Of three hosts the one in the middle is 73 s ahead; the ranks share gradients across all of them.
    let layout = ["--layout", "tp=2,pp=1,dp=6,ep=2", "--devices-per-host", "4"];
    place.done(&[&["sample", "cluster", "--fault", "none"][..], &layout].concat());
    let path = "cluster_12_ranks_seed_1/db";
    let clocks = place.done(&["cluster", path, "--json"]).json()["clocks"].clone();
    assert!((clocks[1]["offset_ns"].as_f64().unwrap() - 73e9).abs() < 1e8, "{clocks:#}");
    let export = ["cluster", "export", path, "--format", "timeline", "-o", "run.json", "--ranks", "0,4,8"];
    place.done(&export);
    let events = timeline(&place, "run.json");
    let mut ranges: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for ((rank, _), spans) in slices(&events) {
        let range = ranges.entry(rank).or_insert((f64::MAX, f64::MIN));
        *range = spans.iter().fold(*range, |range, span| (range.0.min(span.0), range.1.max(span.1)));
    }
    let ranges: Vec<(f64, f64)> = ranges.into_values().collect();
    assert_eq!(ranges.len(), 3);
    // Two steps of a third of a second, in microseconds; a rank begins some milliseconds before another.
    for range in &ranges {
        assert!((range.0 - ranges[0].0).abs() < 2e4 && (range.1 - ranges[0].1).abs() < 2e4, "{ranges:?}");
    }
}

#[test]
fn a_timeline_shows_the_ranks_and_steps_that_are_asked_for() {
    let place = Place::new();
    let run = sample(&place, "run", &[]);
    let steps = place.done(&["cluster", &run, "--json"]).json()["steps"].clone();
    let step = steps[1].to_string();
    let some = ["--ranks", "0-1,6", "--steps", &step];
    let export = ["cluster", "export", &run, "--format", "timeline", "-o", "some.json"];
    place.done(&[&export, &some[..]].concat());
    let events = timeline(&place, "some.json");
    let ranks: BTreeSet<u64> = of_phase(&events, "X").map(|event| event["pid"].as_u64().unwrap()).collect();
    assert_eq!(ranks, BTreeSet::from([0, 1, 6]));
    let with_step = of_phase(&events, "X").filter(|event| event["args"]["step"].is_number());
    let shown: BTreeSet<String> = with_step.map(|event| event["args"]["step"].to_string()).collect();
    assert_eq!(shown, BTreeSet::from([step]));
    place.fails(2, &["no rank 9"], &[&export, &["--ranks", "9"][..]].concat());
    place.fails(2, &["no step 77"], &[&export, &["--steps", "77"][..]].concat());
    place.fails(2, &["0-3,49", "'3-1'"], &[&export, &["--ranks", "3-1"][..]].concat());
    place.fails(2, &["-o is missing"], &export[..5]);
}

#[test]
fn tables_and_the_answer_are_exported_for_other_programs() {
    let place = Place::new();
    let run = sample(&place, "run", &[]);
    place.done(&["cluster", "export", &run, "--format", "csv", "-o", "tables"]);
    let rows = |name: &str| {
        let mut reader = csv::Reader::from_path(place.path("tables").join(name)).unwrap();
        reader.deserialize().collect::<Result<Vec<BTreeMap<String, String>>, _>>().unwrap()
    };
    let answer = place.done(&["cluster", &run, "--json"]).json();
    assert_eq!(rows("ranks.csv").len(), 8);
    let collectives = rows("collectives.csv");
    assert_eq!(collectives.len() as u64, answer["collectives"].as_u64().unwrap());
    assert!(
        collectives.iter().all(|row| row["seen"] == row["ranks"] && row["first_rank"].parse::<u32>().is_ok())
    );
    let waiting: f64 = collectives.iter().map(|row| row["waiting_ns"].parse::<f64>().unwrap()).sum();
    assert!(waiting > 0.0);
    assert_eq!(rows("suspects.csv").len(), answer["suspects"].as_array().unwrap().len());
    let exported = place.done(&["cluster", "export", &run, "--format", "json"]).json();
    assert_eq!(exported["suspects"], answer["suspects"]);
    // Of chosen ranks and steps the same rows.
    let export = ["cluster", "export", &run, "--format", "csv", "-o", "tables"];
    place.done(&[&export[..], &["--ranks", "0-1,5", "--steps", "11"]].concat());
    let ranks: Vec<String> = rows("ranks.csv").iter().map(|row| row["rank"].clone()).collect();
    assert_eq!(ranks, ["0", "1", "5"]);
    let some = rows("collectives.csv");
    assert!(!some.is_empty() && some.iter().all(|row| row["step"] == "11" && collectives.contains(row)));
    assert!(some.len() < collectives.iter().filter(|row| row["step"] == "11").count());
    place.fails(2, &["no rank 9"], &[&export[..], &["--ranks", "9"]].concat());
    let of_json = ["cluster", "export", &run, "--format", "json", "--ranks", "1"];
    place.fails(2, &["timeline and csv"], &of_json);
}

/// The rows of a table that was exported, by the names of their columns.
fn rows_of(place: &Place, table: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(place.path(table)).unwrap();
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

#[test]
fn bytes_of_exported_collectives_are_what_all_their_ranks_hand_in_as_comm_counts_them() {
    let place = Place::new();
    let run = sample(&place, "run", &[]);
    place.done(&["cluster", "export", &run, "--format", "csv", "-o", "tables"]);
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in rows_of(&place, "tables/collectives.csv") {
        let bytes: u64 = row["bytes"].parse().unwrap();
        *found.entry((row["role"].clone(), row["type"].clone())).or_default() += bytes;
    }
    let told = place.done(&["cluster", "comm", &run, "--json"]).json();
    let told = told["collectives"].as_array().unwrap().iter().map(|row| {
        let name = |column: &str| row[column].as_str().unwrap().to_owned();
        ((name("role"), name("type")), row["bytes"].as_u64().unwrap())
    });
    let told: BTreeMap<(String, String), u64> = told.collect();
    assert!(told.keys().any(|(_, kind)| kind == "receive") && told.len() > 3, "{told:?}");
    assert_eq!(found, told);
}

#[test]
fn texts_tell_the_bytes_that_went_over_links_where_databases_tell_those_that_ranks_hand_in() {
    let place = Place::new();
    let layout = ["--layout", "tp=1,pp=1,dp=4,ep=1", "--layers", "1"];
    let lacking = ["--fault", "none", "--damage", "missing=2", "--format", "both"];
    place.done(&[&["sample", "cluster", "-o", "run"][..], &layout, &lacking].concat());
    let sums = |form: &str| {
        let (run, tables) = (format!("run/cluster_4_ranks_seed_1/{form}"), format!("tables_{form}"));
        place.done(&["cluster", "export", &run, "--format", "csv", "-o", &tables]);
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for row in rows_of(&place, &format!("{tables}/collectives.csv")) {
            *sums.entry(row["type"].clone()).or_default() += row["bytes"].parse::<f64>().unwrap();
        }
        sums
    };
    let (databases, texts) = (sums("db"), sums("text"));
    // Each of four ranks keeps its own quarter of what it hands in.
    for kind in ["allGather", "reduceScatter"] {
        let share = texts[kind] / databases[kind];
        assert!((share - 0.75).abs() < 1e-6, "{kind}: {share}");
    }
    let help = place.done(&["cluster", "export", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("; texts of the vendor's tell those that went over links instead"), "{help}");
}

#[test]
fn a_rank_came_last_to_as_many_collectives_as_it_is_the_last_rank_of() {
    let place = Place::new();
    let faults = ["--fault", "low-frequency=3:1.3", "--fault", "late-input=1:6ms"];
    let words = ["--layout", "tp=4,dp=2", "--damage", "missing=3"];
    place.done(&[&["sample", "cluster", "-o", "run"][..], &faults, &words].concat());
    let run = "run/cluster_8_ranks_seed_1/db";
    place.done(&["cluster", "export", run, "--format", "csv", "-o", "tables"]);
    let rows = rows_of(&place, "tables/collectives.csv");
    let last = rows.iter().filter(|row| row["last_rank"] == "1" && row["seen"] != "1").count();
    assert!(last > 0 && rows.iter().any(|row| row["inferred"] == "true"), "{rows:#?}");
    let told = place.done(&["cluster", "slow", run, "--rank", "1"]).stdout;
    assert!(told.contains(&format!("It came last to {last} of its ")), "{last}: {told}");
}

#[test]
fn waits_for_a_rank_that_was_not_recorded_are_those_of_comm_in_tables_and_timelines() {
    let place = Place::new();
    let layout = ["--layers", "1", "--layout", "tp=2,pp=1,dp=4,ep=1"];
    let damage = ["--fault", "late-input=5:20ms", "--damage", "missing=5"];
    place.done(&[&["sample", "cluster", "-o", "run"][..], &layout, &damage].concat());
    let run = "run/cluster_8_ranks_seed_1/db";
    place.done(&["cluster", "export", run, "--format", "csv", "-o", "tables"]);
    place.done(&["cluster", "export", run, "--format", "timeline", "-o", "run.json"]);
    let (table, events) = (rows_of(&place, "tables/collectives.csv"), timeline(&place, "run.json"));
    let (inferred, others): (Vec<_>, Vec<_>) = table.iter().partition(|row| row["inferred"] == "true");
    // One of three ranks that were recorded, of four, came last of these, but not last of all.
    assert!(inferred.iter().any(|row| row["seen"] == "3"), "{inferred:#?}");
    assert!(inferred.iter().all(|row| row["seen"] < row["ranks"] && row["last_rank"].is_empty()));
    assert!(others.iter().any(|row| row["seen"] < row["ranks"]));
    assert!(others.iter().all(|row| row["inferred"] == "false" && !row["last_rank"].is_empty()));
    let begins: Vec<i64> = table.iter().map(|row| row["begin_ns"].parse().unwrap()).collect();
    assert!(begins.is_sorted(), "{begins:?}");
    let mut longest = 0.0_f64;
    for row in &inferred {
        let one = format!("{}/{}", row["group"], row["sequence"]);
        let told = place.done(&["cluster", "comm", run, "--instance", &one, "--json"]).json();
        let parts = told["parts"].as_array().unwrap();
        let (sum, count) = (
            |name: &str| parts.iter().map(|part| part[name].as_f64().unwrap()).sum::<f64>(),
            parts.len() as f64,
        );
        let cell = |name: &str| row[name].parse::<f64>().unwrap();
        assert!((sum("waited_ns") - cell("waiting_ns")).abs() <= count, "{told:#} {row:?}");
        assert!((sum("transfer_ns") / count - cell("transfer_ns")).abs() <= 1.0, "{told:#} {row:?}");
        let sequence: i64 = row["sequence"].parse().unwrap();
        let is_part = |args: &Value| args["group"] == row["group"] && args["sequence"] == sequence;
        let slices: Vec<&Value> =
            of_phase(&events, "X").map(|event| &event["args"]).filter(|args| is_part(args)).collect();
        assert!(slices.len() == parts.len() && slices.iter().all(|args| args["inferred"] == true), "{one}");
        let drawn: f64 = slices.iter().map(|args| 1e3 * number(args, "waiting_us")).sum();
        assert!((drawn - sum("waited_ns")).abs() <= count, "{one}: {drawn} and {told:#}");
        longest = longest.max(sum("waited_ns") / count);
    }
    assert!((18e6..22e6).contains(&longest), "{longest}");
    // No arrow says that somebody else was waited for.
    for arrow in of_phase(&events, "f") {
        let at = number(arrow, "ts");
        let is_around = |event: &&Value| {
            let start = number(event, "ts");
            (&event["pid"], &event["tid"]) == (&arrow["pid"], &arrow["tid"])
                && start + 0.002 < at
                && at < start + number(event, "dur") - 0.002
        };
        let around = of_phase(&events, "X").find(is_around);
        assert!(around.is_none_or(|event| event["args"]["inferred"] == false), "{arrow} {around:?}");
    }
}

#[test]
fn what_insight_opens_is_what_the_vendors_command_writes() {
    let place = Place::new();
    let run = sample(&place, "run", &[]);
    place.done(&["cluster", "export", &run, "--format", "insight", "-o", "insight"]);
    place.done(&["msprof-analyze", "-m", "all", "-d", &run, "-o", "vendor"]);
    let read = |folder: &str| {
        std::fs::read(place.path(folder).join("cluster_analysis_output/cluster_analysis.db")).unwrap()
    };
    assert!(read("insight") == read("vendor"));
    // A set lacks facts for it, which is said, and what to give.
    place.done(&["cluster", "import", &run, "-o", "set"]);
    let of_set = ["cluster", "export", "set", "--format", "insight", "-o", "of_set"];
    place.fails(2, &["set: this is a set", "those of each collective", &run], &of_set);
    assert!(!place.path("of_set").exists());
}

#[test]
fn tables_that_only_folders_of_ranks_have_are_refused_of_timelines_with_that_reason() {
    let place = Place::new();
    place.done(&["sample", "cluster", "-o", "made", "--ranks", "4", "--format", "kineto"]);
    let insight = ["cluster", "export", "made", "--format", "insight", "-o", "insight"];
    for command in [&insight[..], &["msprof-analyze", "-d", "made"]] {
        let refused = place.fails(1, &["made: no folders of ranks with databases or texts"], command);
        assert!(!refused.stderr.contains("no profiles of ranks"), "{}", refused.stderr);
    }
}

/// The rows of a comparison with this verdict.
fn with_verdict<'a>(answer: &'a Value, verdict: &str) -> Vec<&'a str> {
    let rows = answer["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] == verdict);
    rows.map(|row| row["subject"].as_str().unwrap()).collect()
}

#[test]
fn a_slower_rank_and_what_it_does_to_others_stands_out_of_the_noise() {
    let place = Place::new();
    let healthy = sample(&place, "before", &["--steps", "6", "--fault", "none"]);
    let slow = sample(&place, "after", &["--steps", "6", "--fault", "low-frequency=3:1.4"]);
    let answer = place.done(&["cluster", "compare", &healthy, &slow, "--json"]).json();
    let slower = with_verdict(&answer, "slower");
    for subject in ["a step", "compute", "own work of rank 3"] {
        assert!(slower.contains(&subject), "{subject}: {slower:?}");
    }
    let others =
        slower.iter().filter(|it| it.starts_with("own work") && **it != "own work of rank 3").count();
    assert_eq!(others, 0, "{slower:?}");
    let text = place.done(&["cluster", "compare", &healthy, &slow]).stdout;
    assert!(text.contains("own work of rank 3") && text.contains("within the noise"), "{text}");
    let same = place.done(&["cluster", "compare", &healthy, &healthy, "--json"]).json();
    assert!(with_verdict(&same, "slower").is_empty() && with_verdict(&same, "faster").is_empty(), "{same:#}");
}

/// Lets all ranks of a collection of databases begin a step's work later.
fn delay(place: &Place, run: &str, step: i32, ns: i64) {
    for folder in std::fs::read_dir(place.path(run)).unwrap().map(|it| it.unwrap().path()) {
        for file in std::fs::read_dir(folder.join("ASCEND_PROFILER_OUTPUT")).unwrap().map(|it| it.unwrap()) {
            if !file.file_name().to_str().unwrap().starts_with("ascend_pytorch_profiler_") {
                continue;
            }
            let database = rusqlite::Connection::open(file.path()).unwrap();
            let begin = format!("SELECT startNs FROM STEP_TIME WHERE id = {step}");
            let begin: i64 = database.query_row(&begin, [], |row| row.get(0)).unwrap();
            let moved = |table: &str| {
                format!(
                    "UPDATE {table} SET startNs = startNs + {ns}, endNs = endNs + {ns}
                     WHERE CAST(startNs AS INTEGER) >= {begin};"
                )
            };
            let rows = ["TASK", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API"].map(moved).concat();
            let steps = format!(
                "UPDATE STEP_TIME SET startNs = startNs + {ns} WHERE startNs > {begin};
                 UPDATE STEP_TIME SET endNs = endNs + {ns} WHERE endNs > {begin};"
            );
            database.execute_batch(&format!("{rows} {steps}")).unwrap();
            let analysis =
                rusqlite::Connection::open(folder.join("ASCEND_PROFILER_OUTPUT/analysis.db")).unwrap();
            analysis
                .execute_batch(&format!(
                    "UPDATE CommAnalyzerTime SET start_timestamp = start_timestamp + {ns} / 1000.0
                     WHERE start_timestamp >= {begin} / 1000.0;
                     UPDATE StepTraceTime SET free = free + {ns} / 1000.0 WHERE step = '{step}';"
                ))
                .unwrap();
        }
    }
}

#[test]
fn single_steps_that_take_longer_than_all_of_the_other_run_are_counted_though_their_mean_is_within_the_noise()
{
    let place = Place::new();
    let options = ["--steps", "12", "--fault", "none", "--format", "db"];
    let (even, uneven) = (sample(&place, "before", &options), sample(&place, "after", &options));
    delay(&place, &uneven, 13, 60_000_000);
    delay(&place, &uneven, 18, 90_000_000);
    let answer = place.done(&["cluster", "compare", &even, &uneven, "--json"]).json();
    assert_eq!(answer["rows"][0]["verdict"], "within_noise", "{answer:#}");
    let remarks = answer["remarks"].as_array().unwrap();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    let told = remarks[0].as_str().unwrap();
    assert!(
        told.starts_with("steps of B that take over 2 % longer than any of A: 2 of 12, up to "),
        "{told}"
    );
    let back = place.done(&["cluster", "compare", &uneven, &even]).stdout;
    assert!(back.contains("steps of A that take over 2 % longer than any of B: 2 of 12"), "{back}");
    let same = place.done(&["cluster", "compare", &even, &even, "--json"]).json();
    assert_eq!(same["remarks"].as_array().map(Vec::len), Some(0), "{same:#}");
}
