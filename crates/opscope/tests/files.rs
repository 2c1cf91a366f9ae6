//! The files that a run leaves behind, as other programs see them.

mod common;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;

use common::{Place, number};
use opscope_testing::companions;
use serde_json::Value;

const QUICK: [&str; 7] = ["--quiet", "--iterations", "3", "--warmup", "1", "--threads", "1"];

/// Runs a sample with files, and gives its answer.
fn run(place: &Place, model: &str, further: &[&str]) -> Value {
    let file = place.sample(model);
    place.done(&[&["run", &file, "--json"], &QUICK[..], further].concat()).json()
}

fn json(place: &Place, file: &str) -> Value {
    let bytes = std::fs::read(place.path(file)).expect("the file");
    serde_json::from_slice(&bytes).expect("valid JSON")
}

/// A time of the timeline in nanoseconds.
fn nanoseconds(event: &Value, key: &str) -> i64 {
    let micros = event[key].as_f64().unwrap_or_else(|| panic!("no {key} in {event}"));
    (micros * 1e3).round() as i64
}

#[test]
fn slices_of_a_timeline_nest_and_none_is_missing() {
    let place = Place::new();
    let answer = run(&place, "mask-ssd", &["--trace", "timeline.json"]);
    let trace = json(&place, "timeline.json");
    let events = trace.as_array().or_else(|| trace["traceEvents"].as_array()).expect("events");
    let slices = events.iter().filter(|event| event["ph"] == "X");
    let mut lanes: BTreeMap<(String, String), Vec<(i64, i64)>> = BTreeMap::new();
    for slice in slices.clone() {
        let lane = (slice["pid"].to_string(), slice["tid"].to_string());
        lanes.entry(lane).or_default().push((nanoseconds(slice, "ts"), nanoseconds(slice, "dur")));
    }
    for (lane, slices) in &mut lanes {
        slices.sort_by_key(|&(start, duration)| (start, -duration));
        let mut open: Vec<i64> = Vec::new();
        for &(start, duration) in slices.iter() {
            open.retain(|&end| end > start);
            let end = start + duration;
            assert!(open.iter().all(|&around| end <= around), "slices overlap in lane {lane:?} at {start}");
            open.push(end);
        }
    }
    // Every execution, every iteration whether it was recorded or not, and loading.
    let tasks: f64 =
        answer["operators"].as_array().expect("operators").iter().map(|row| number(row, "/tasks")).sum();
    let executions = tasks / 3.0 * 4.0;
    let others = 4.0 + 4.0 + answer["before"].as_array().expect("phases").len() as f64;
    assert_eq!(slices.count() as f64, executions + others);
    assert!(events.iter().any(|event| event["ph"] == "C"), "no counter of the memory");
}

/// Asks Perfetto's trace processor about a timeline; gives the rows of its answer.
fn ask(place: &Place, processor: &Path, timeline: &str, query: &str) -> Vec<String> {
    let file = place.write("query.sql", query);
    let answer = Command::new(processor).arg("-q").arg(file).arg(place.path(timeline)).output();
    let answer = answer.expect("the processor starts");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let text = String::from_utf8_lossy(&answer.stdout).replace('"', "");
    text.lines().skip(1).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// Errors and losses that the trace processor meets, by name.
const ERRORS: &str =
    "select name, value from stats where severity in ('error', 'data_loss') and value > 0;\n";

#[test]
fn a_trace_viewers_processor_loads_every_timeline_without_an_error() {
    let Some(processor) = companions::trace_processor() else { return };
    let place = Place::new();
    let engines: &[&str] = if companions::onnx_runtime().is_some() { &["tract", "ort"] } else { &["tract"] };
    for model in ["mask-ssd", "yolo-mish", "yolo-leaky", "resnet50", "mobilenet-v2", "encoder"] {
        for engine in engines {
            run(&place, model, &["--trace", "timeline.json", "--engine", engine]);
            let trace = json(&place, "timeline.json");
            let events = trace.as_array().or_else(|| trace["traceEvents"].as_array()).expect("events");
            let slices = events.iter().filter(|event| event["ph"] == "X").count();
            let errors = ask(&place, &processor, "timeline.json", ERRORS);
            assert_eq!(errors, Vec::<String>::new(), "{model} on {engine}");
            let count = ask(&place, &processor, "timeline.json", "select count(*) as n from slice;\n");
            assert_eq!(count, [slices.to_string()], "{model} on {engine}");
        }
    }
}

#[test]
fn a_trace_viewers_processor_finds_the_same_in_both_kinds_of_timeline() {
    let Some(processor) = companions::trace_processor() else { return };
    // Slices and their times by process, thread and category; arguments; values of counters; arrows; nesting.
    const QUESTIONS: [&str; 5] = [
        "select process.name, thread.name, slice.category, slice.name, count(*), sum(slice.dur), min(slice.ts),
         max(slice.ts + slice.dur), sum(slice.depth) from slice join thread_track on slice.track_id = thread_track.id
         join thread using (utid) join process using (upid) group by 1, 2, 3, 4 order by 1, 2, 3, 4;",
        "select replace(key, 'debug.', 'args.'), count(*), sum(int_value), count(distinct string_value)
         from slice join args using (arg_set_id) where key like 'debug.%' or key like 'args.%'
         group by 1 order by 1;",
        "select replace(counter_track.name, ' value', ''), count(*), sum(value), min(ts), max(ts) from counter
         join counter_track on counter.track_id = counter_track.id group by 1 order by 1;",
        "select count(*), sum(later.ts - earlier.ts) from flow join slice earlier on flow.slice_out = earlier.id
         join slice later on flow.slice_in = later.id;",
        "select count(*) from slice child join slice parent on child.parent_id = parent.id;",
    ];
    let place = Place::new();
    place.done(&["sample", "prof", "-o", "prof", "--tasks", "3000"]);
    run(&place, "encoder", &["--db", "encoder.db"]);
    for profile in ["prof", "encoder.db"] {
        for name in ["timeline.json", "timeline.pftrace"] {
            place.done(&["import", profile, "--trace", name, "--quiet"]);
            let errors = ask(&place, &processor, name, ERRORS);
            assert_eq!(errors, Vec::<String>::new(), "{profile} as {name}");
        }
        for question in QUESTIONS {
            let [json, proto] = ["timeline.json", "timeline.pftrace"]
                .map(|name| ask(&place, &processor, name, &format!("{question}\n")));
            assert!(!json.is_empty(), "{question}");
            assert_eq!(json, proto, "{profile}: {question}");
        }
        let size = |name: &str| std::fs::metadata(place.path(name)).expect("a timeline").len();
        assert!(size("timeline.pftrace") * 2 < size("timeline.json"), "it is no smaller");
        // Both give the same answer as profiles.
        let [json, proto] =
            ["timeline.json", "timeline.pftrace"].map(|name| place.done(&["analyze", name, "--json"]).json());
        let figures = |answer: &Value| {
            let mut answer = answer.clone();
            let members = answer.as_object_mut().expect("an object");
            members.retain(|key, _| key != "profile" && key != "path");
            for loss in members["losses"].as_array_mut().expect("losses") {
                loss.as_object_mut().expect("a loss").remove("profile");
            }
            answer
        };
        assert_eq!(figures(&json), figures(&proto));
    }
}

#[test]
fn the_database_holds_what_the_answer_says() {
    let place = Place::new();
    let answer = run(&place, "encoder", &["--db", "run.db"]);
    let database = rusqlite::Connection::open(place.path("run.db")).expect("an SQLite database");
    let one = |query: &str| database.query_row(query, [], |row| row.get::<_, i64>(0)).expect(query);
    let broken = database.prepare("PRAGMA foreign_key_check").and_then(|mut check| check.exists([]));
    assert!(!broken.expect("a check"), "a foreign key leads nowhere");
    assert_eq!(one("SELECT count(*) FROM iterations"), 4);
    assert_eq!(one("SELECT count(*) FROM iterations WHERE warm_up"), 1);
    let tasks: f64 =
        answer["operators"].as_array().expect("operators").iter().map(|row| number(row, "/tasks")).sum();
    assert_eq!(one("SELECT count(*) FROM tasks") as f64, tasks / 3.0 * 4.0);
    let query = "SELECT sum(tasks.duration_ns) FROM tasks JOIN iterations ON iteration_id = iterations.id WHERE NOT warm_up";
    let total = one(query) as f64;
    let operators = answer["operators"].as_array().expect("operators");
    let in_all = |row: &Value| number(row, "/per_iteration/mean_ns") * number(row, "/per_iteration/count");
    let answered: f64 = operators.iter().map(in_all).sum();
    // A mean is rounded to a nanosecond, for three iterations of each operator.
    assert!((answered - total).abs() <= 1.5 * operators.len() as f64, "{answered} ns instead of {total} ns");
}

#[test]
fn a_database_read_back_gives_the_same_answer() {
    let place = Place::new();
    let answer = run(&place, "mask-ssd", &["--db", "run.db"]);
    let again = place.done(&["import", "run.db", "--json", "--quiet"]).json();
    assert_eq!(answer, again);
}

/// Reads a profile in MegEngine's layout by the rules of that layout, not with our own reader.
#[test]
fn a_profile_in_megengines_layout_keeps_its_rules_and_its_times() {
    let place = Place::new();
    let answer = run(&place, "mask-ssd", &["--profile", "device.json", "--profile-host", "host.json"]);
    let profile = json(&place, "device.json");
    let object = |value: &Value| value.as_object().unwrap_or_else(|| panic!("no object: {value}")).clone();
    let (device, host) = (object(&profile["profiler"]["device"]), object(&profile["profiler"]["host"]));
    let (operators, vars) =
        (object(&profile["graph_exec"]["operator"]), object(&profile["graph_exec"]["var"]));
    let footprints = object(&profile["profiler"]["opr_footprint"]);
    let sequence = profile["graph_exec"]["comp_seq"].as_array().expect("a sequence");
    assert_eq!(sequence.len(), device.len());

    let mut total = 0.0;
    let mut previous = f64::NEG_INFINITY;
    let ids: HashSet<&str> = operators.keys().chain(vars.keys()).map(String::as_str).collect();
    assert_eq!(ids.len(), operators.len() + vars.len(), "operators and values share one counter");
    for id in sequence {
        let id = id.as_str().expect("ids are strings");
        id.parse::<u64>().expect("ids are decimal");
        let operator = &operators[id];
        assert_eq!(operator["id"], *id);
        for value in ["input", "output"].iter().flat_map(|side| operator[*side].as_array().expect("a list")) {
            assert!(vars.contains_key(value.as_str().expect("ids are strings")), "{value} is no value");
        }
        let places = object(&device[id]);
        let (place, times) = places.iter().next().expect("a place");
        assert!(place.starts_with("CompNode(\"cpu"), "{place}");
        let time = |key: &str| times[key].as_f64().expect("seconds");
        assert!(time("start") <= time("kern") && time("kern") <= time("end"));
        assert!(time("start") >= previous, "the sequence is in the order of execution");
        previous = time("start");
        total += time("end") - time("start");
        assert!(host.contains_key(id));
        let footprint = &footprints[id];
        assert!(footprint["memory"].is_u64() && footprint["param"].is_object(), "{footprint}");
        assert!(footprint["computation"].is_u64() || footprint["computation"].is_null());
    }
    // It is the last iteration: no other operator's time is counted in, however many tasks an
    // operator took.
    let last = number(&answer, "/iterations/3/duration_ns") / 1e9;
    assert!(total <= last, "{total} s in an iteration of {last} s");
    let operators = answer["operators"].as_array().expect("operators");
    let sum = |key: &str| operators.iter().map(|row| number(row, key)).sum::<f64>() / 1e9;
    let (least, most) = (sum("/per_iteration/min_ns") - 1e-6, sum("/per_iteration/max_ns") + 1e-6);
    assert!((least..=most).contains(&total), "{total} s is not within {least} and {most} s");

    let host_only = json(&place, "host.json");
    assert_eq!(object(&host_only["profiler"]["device"]).len(), 0);
    assert_eq!(object(&host_only["profiler"]["host"]).len(), sequence.len());
}

#[test]
fn a_lone_dash_is_no_file() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    place.fails(2, &["-:", "/dev/stdout"], &["run", &model, "--iterations", "1", "--trace", "-"]);
    assert_eq!(place.files(), [model]);
}

#[test]
fn a_profile_in_megengines_layout_is_read_back_with_equal_times() {
    let place = Place::new();
    run(&place, "mobilenet-v2", &["--profile", "profile.json"]);
    let profile = json(&place, "profile.json");
    let device = profile["profiler"]["device"].as_object().expect("records");
    let seconds: f64 = device
        .values()
        .flat_map(|places| places.as_object().expect("places").values())
        .map(|times| times["end"].as_f64().expect("seconds") - times["start"].as_f64().expect("seconds"))
        .sum();
    let answer = place.done(&["import", "profile.json", "--json", "--quiet"]).json();
    let total = number(&answer, "/operator_time_ns") / 1e9;
    assert!((total - seconds).abs() < 1e-6, "{total} s instead of {seconds} s");
    let analysed = place.done(&["analyze", "profile.json", "--json", "--quiet"]).json();
    let analysed = number(&analysed, "/whole_ns") / 1e9;
    assert!((analysed - seconds).abs() < 1e-6, "{analysed} s instead of {seconds} s");
    // MegEngine's own tool prints six digits.
    let reference = place.done(&["profile_analyze", "profile.json", "--print-only", "summary"]).stdout;
    let line = reference.lines().find(|line| line.contains("total device time")).expect("the line");
    let printed: f64 = line.split_whitespace().last().and_then(|text| text.parse().ok()).expect("seconds");
    assert!((printed - seconds).abs() < 1e-5 * seconds.max(1e-3), "{printed} s instead of {seconds} s");
}
