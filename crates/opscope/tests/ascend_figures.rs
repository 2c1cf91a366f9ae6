//! The figures that commands show of raw directories of Ascend: of all iterations, counted from 1, equal
//! to those of an independent program, and by clocks that can be.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Place, number};
use opscope_testing::companions;
use serde_json::Value;

/// Writes a sample directory into a folder of its own and gives its path.
fn sample(place: &Place, chip: &str, mode: &str, layout: &str, tasks: u32) -> String {
    let folder = format!("{chip}-{mode}-{layout}-{tasks}");
    let tasks = tasks.to_string();
    let options = ["--chip", chip, "--mode", mode, "--layout", layout, "--tasks", &tasks, "--quiet"];
    let arguments = [&["sample", "prof", "-o", &folder][..], &options].concat();
    place.done(&arguments).stdout.trim().to_owned()
}

const CHIPS: [&str; 4] = ["910b", "910", "310p", "310"];
const LAYOUTS: [&str; 3] = ["modern", "2022", "job"];

fn analysis(place: &Place, prof: &str, further: &[&str]) -> Value {
    place.done(&[&["analyze", prof, "--json"], further].concat()).json()
}

fn rows(answer: &Value) -> &[Value] {
    answer["rows"].as_array().expect("rows")
}

#[test]
fn every_iteration_of_a_model_that_is_loaded_once_is_shown_on_every_chip_and_layout() {
    let place = Place::new();
    for chip in CHIPS {
        for layout in LAYOUTS {
            let prof = sample(&place, chip, "static", layout, 445);
            let answer = analysis(&place, &prof, &[]);
            assert_eq!(answer["losses"], serde_json::json!([]), "{chip} {layout}");
            // The network has 70 operators: six iterations, and one that is cut short.
            assert_eq!(number(&answer, "/overview/iterations"), 7.0, "{chip} {layout}");
            assert_eq!(number(&answer, "/overview/tasks"), 445.0, "{chip} {layout}");
            let (busy, wall) = (number(&answer, "/overview/busy_ns"), number(&answer, "/overview/wall_ns"));
            assert!(busy > 0.8 * wall && busy < wall, "{chip} {layout}: {busy} of {wall}");
            let counts = rows(&answer).iter().map(|row| number(row, "/count"));
            assert!(counts.clone().all(|count| (6.0..=7.0).contains(&count)), "{chip} {layout}: {answer:#}");
            if layout == LAYOUTS[0] {
                let text = place.done(&["analyze", &prof]).stdout;
                assert!(text.contains("in 63.6 executions an iteration (445 in all 7), "), "{chip}: {text}");
                assert!(text.contains(" in an average iteration, counts of all 7"), "{chip}: {text}");
            }
            let second = analysis(&place, &prof, &["--iteration", "2"]);
            assert_eq!(number(&second, "/executions"), 70.0, "{chip} {layout}");
            assert_eq!(number(&second, "/overview/iterations_left_out"), 6.0, "{chip} {layout}");
        }
    }
}

#[test]
fn the_other_commands_see_every_iteration_too() {
    let place = Place::new();
    let prof = sample(&place, "310", "static", "modern", 490);
    let advice = place.done(&["advise", &prof, "--json"]).json();
    let findings = advice["findings"].as_array().expect("findings");
    // A sixth of the time lies between operators, and no more.
    let between = findings.iter().find(|finding| finding["id"] == "H05").expect("a finding");
    assert!(number(between, "/share") < 0.2, "{between:#}");
    let shown = place.done(&["show", &prof, "--json"]).json();
    let types = shown["operator_statistic"].as_array().expect("types");
    assert_eq!(types.iter().map(|row| number(row, "/time/count")).sum::<f64>(), 490.0, "{shown:#}");
    let found = place.done(&["where", "Conv2D_2", &prof, "--json"]).json();
    assert_eq!(found["locations"][0]["tasks"].as_array().map(Vec::len), Some(7), "{found:#}");
    // The same operators launched one by one: no iterations are known, but the work is the same.
    let dynamic = sample(&place, "310", "dynamic", "modern", 490);
    let compared = place.done(&["compare", &prof, &dynamic, "--json"]).json();
    assert!(number(&compared, "/change").abs() < 0.01, "{compared:#}");
    assert_eq!(compared["whole_profiles"], true);
    let whole = analysis(&place, &prof, &["--group-by", "type"]);
    let conv = rows(&whole).iter().find(|row| row["type"] == "Conv2D").expect("convolutions");
    let predicted = place.done(&["whatif", &prof, "--remove", "Conv2D", "--json"]).json();
    let saved = number(&predicted, "/measured_ns") - number(&predicted, "/predicted_ns");
    // Each of the 14 convolutions is rounded.
    assert!((saved - number(conv, "/time_ns")).abs() <= 14.0, "{predicted:#}");
}

#[test]
fn iterations_are_counted_from_one_as_the_vendors_tool_counts_them() {
    let place = Place::new();
    for chip in CHIPS {
        let prof = sample(&place, chip, "static", "modern", 350);
        let answer = analysis(&place, &prof, &["--group-by", "iteration", "--sort", "wall"]);
        let by_time: Vec<f64> = rows(&answer).iter().map(|row| number(row, "/iteration")).collect();
        let told = place.done(&["query", &prof, "--json"]).json();
        let top = told["rows"][0]["top_time_iterations"].as_array().expect("iterations").iter();
        assert_eq!(by_time, top.map(|it| it.as_f64().expect("a number")).collect::<Vec<_>>(), "{chip}");
        let shares = rows(&answer).iter().map(|row| number(row, "/share"));
        assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9, "{chip}: {answer:#}");
        let last = rows(&answer).last().expect("a row");
        assert!((number(last, "/cumulative_share") - 1.0).abs() < 1e-9, "{chip}: {answer:#}");
        place.fails(2, &["no iteration 6", "5 from 1 to 5"], &["analyze", &prof, "--iteration", "6"]);
        // The database and the timeline count as the answer does.
        place.done(&["import", &prof, "--db", "one.db", "--trace", "one.json", "--quiet"]);
        let sql = "SELECT group_concat(number, ' ') AS n FROM iterations";
        let numbers = place.done(&["sql", "one.db", sql, "--json"]).json();
        assert_eq!(numbers["rows"][0]["n"], "1 2 3 4 5", "{chip}");
        let timeline = std::fs::read_to_string(place.path("one.json")).expect("a timeline");
        assert!(timeline.contains("\"inference 1\"") && !timeline.contains("\"inference 0\""), "{chip}");
        for file in ["one.db", "one.json"] {
            std::fs::remove_file(place.path(file)).expect("a file");
        }
    }
}

#[test]
fn an_average_iteration_times_all_iterations_is_the_whole() {
    let place = Place::new();
    for chip in CHIPS {
        for mode in ["static", "dynamic"] {
            let prof = sample(&place, chip, mode, "modern", 300);
            let (average, all) =
                (analysis(&place, &prof, &[]), analysis(&place, &prof, &["--iteration", "all"]));
            let iterations = number(&average, "/averaged_over");
            let whole = number(&all, "/whole_ns") - number(&average, "/overview/outside/time_ns");
            let apart = (number(&average, "/whole_ns") * iterations - whole).abs();
            assert!(apart < iterations, "{chip} {mode}: {apart} ns");
            for row in rows(&average) {
                let name = &row["name"];
                let same = rows(&all).iter().find(|other| other["name"] == *name).expect("the operator");
                let apart = (number(row, "/time_ns") * iterations - number(same, "/time_ns")).abs();
                assert!(apart < iterations, "{chip} {mode} {name}: {apart} ns");
            }
            if mode == "static" {
                let each = analysis(&place, &prof, &["--group-by", "iteration"]);
                assert_eq!(number(&each, "/selected_ns"), whole, "{chip}");
            }
        }
    }
}

/// The figures that a program without code of opscope's makes of exported tables of operators.
fn oracle(tables: &[PathBuf]) -> Value {
    let python = std::env::var_os("OPSCOPE_PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/sums_per_type.py");
    let output = Command::new(&python).arg(script).args(tables).output();
    let output = output.unwrap_or_else(|problem| {
        panic!("{}: {problem}; set OPSCOPE_PYTHON to a Python 3", python.to_string_lossy())
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn every_command_counts_the_same_time_and_executions() {
    let place = Place::new();
    for (index, chip) in CHIPS.iter().enumerate() {
        let prof = sample(&place, chip, "static", "modern", 350);
        let database = format!("{index}.db");
        let summary = place.done(&["import", &prof, "--db", &database, "--json"]).json();
        let answer = analysis(&place, &prof, &[]);
        let averaged = number(&answer, "/averaged_over");
        // An overview and a query: the same executions, and the same time of an average iteration.
        assert_eq!(answer["overview"]["tasks"], answer["executions"], "{chip}");
        assert_eq!(answer["overview"]["operator_time_ns"], answer["whole_ns"], "{chip}");
        // A summary: the same operators, whose times of all iterations sum to the same.
        let operators = summary["operators"].as_array().expect("operators");
        assert_eq!(operators.len(), rows(&answer).len(), "{chip}");
        let executions: f64 = operators.iter().map(|row| number(row, "/tasks")).sum();
        assert_eq!(executions, number(&answer, "/executions"), "{chip}");
        let times = operators
            .iter()
            .map(|row| number(row, "/per_iteration/mean_ns") * number(row, "/per_iteration/count"));
        let (time, whole) = (times.sum::<f64>() / averaged, number(&answer, "/whole_ns"));
        // Means are rounded to nanoseconds.
        assert!((time - whole).abs() <= operators.len() as f64 + 1.0, "{chip}: {time} of {whole}");
        // In the order of the summary, the query gives its figures.
        let typical = analysis(&place, &prof, &["--agg", "typical"]);
        let of_query: Vec<f64> = rows(&typical).iter().map(|row| number(row, "/typical_ns")).collect();
        let of_summary: Vec<f64> = operators.iter().map(|row| number(row, "/time_ns")).collect();
        assert_eq!(of_query, of_summary, "{chip}");
        let types = analysis(&place, &prof, &["--agg", "typical", "--group-by", "type"]);
        let of_query: f64 = rows(&types).iter().map(|row| number(row, "/typical_ns")).sum();
        assert_eq!(of_query, number(&summary, "/operator_time_ns"), "{chip}");
        // The tables of a run are sums over the same iterations, of the same executions.
        let shown = place.done(&["show", &prof, "--json"]).json();
        let statistic = shown["operator_statistic"].as_array().expect("types");
        let of_shown = |pointer: &str| statistic.iter().map(|row| number(row, pointer)).sum::<f64>();
        assert_eq!(of_shown("/time/count"), executions, "{chip}");
        assert_eq!((of_shown("/time/total_ns") / averaged).floor(), whole, "{chip}");
        assert_eq!(number(&shown, "/iterations").max(1.0), averaged, "{chip}");
        assert!((of_shown("/share") - 1.0).abs() < 1e-9, "{chip}");
        // So are advice and a comparison, and the place of each operator has the share of it.
        let advice = place.done(&["advise", &prof, "--json"]).json();
        assert!((number(&advice, "/operator_time_ns") - whole).abs() <= 1.0, "{chip}");
        let compared = place.done(&["compare", &prof, &database, "--json"]).json();
        for side in ["before", "after"] {
            let time = number(&compared, &format!("/operators_{side}_ns"));
            assert!(
                (time - whole).abs() <= operators.len() as f64 || compared["whole_profiles"] == true,
                "{chip}"
            );
        }
        for row in rows(&answer).iter().take(3) {
            let name = row["name"].as_str().expect("a name");
            let located = place.done(&["where", name, &prof, "--json"]).json();
            let places = located["locations"].as_array().expect("locations").iter();
            let share: f64 = places.map(|place| number(place, "/share")).sum();
            let of_name = rows(&answer).iter().filter(|row| row["name"] == name);
            let expected: f64 = of_name.map(|row| number(row, "/share")).sum();
            assert!((share - expected).abs() < 1e-9 && located["counted"] == true, "{chip} {name}: {share}");
        }
    }
}

/// Compares what is shown of a run with what the oracle makes of its tables; gives the number of types.
fn agrees_with_the_oracle(place: &Place, prof: &str, what: &str) -> usize {
    let query = place.done(&["query", prof, "--json"]).json();
    let model = query["rows"].as_array().expect("rows").iter().find_map(|line| line["model_id"].as_u64());
    let folder = format!("tables-{}", place.files().len());
    let mut arguments = vec!["export", "summary", prof, "--layout", "modern", "-o", &folder];
    let model = model.map(|model| model.to_string());
    // Unasked, the vendor's tool shows a single iteration of a 310.
    let info = place.done(&["info", prof, "--json"]).json().to_string();
    if let Some(model) = model.as_ref().filter(|_| info.contains("\"Ascend 310\"")) {
        arguments.extend(["--model-id", model]);
    }
    let written = place.done(&arguments).stdout;
    let tables: Vec<PathBuf> =
        written.lines().filter(|line| line.contains("/op_summary_")).map(|line| place.path(line)).collect();
    let expected = oracle(&tables);
    let answer = analysis(place, prof, &["--iteration", "all", "--group-by", "type"]);
    let expected = expected.as_object().expect("types");
    let mut sum = 0.0;
    for (kind, of_type) in expected {
        let row = rows(&answer).iter().find(|row| row["type"] == *kind.as_str());
        let row = row.unwrap_or_else(|| panic!("{what}: no {kind} in {answer:#}"));
        assert_eq!(row["count"], of_type["executions"], "{what}: {kind}");
        let nanoseconds: f64 = of_type["nanoseconds"].as_str().expect("digits").parse().expect("a number");
        // The tables have microseconds with up to three decimals.
        let tolerance = 1.5 * number(of_type, "/executions");
        let apart = (number(row, "/time_ns") - nanoseconds).abs();
        assert!(apart <= tolerance, "{what}: {kind} is {nanoseconds} ns, not {row}");
        sum += nanoseconds;
    }
    let (attributed, executions) =
        (number(&answer, "/overview/attributed_ns"), number(&answer, "/executions"));
    assert!((attributed - sum).abs() <= 1.5 * executions, "{what}: {sum} ns, not {attributed}");
    expected.len()
}

#[test]
fn sums_by_type_are_those_that_an_independent_program_makes_of_the_exported_tables() {
    let place = Place::new();
    for chip in CHIPS {
        for mode in ["static", "dynamic"] {
            for layout in LAYOUTS {
                let prof = sample(&place, chip, mode, layout, 445);
                assert_eq!(agrees_with_the_oracle(&place, &prof, &format!("{chip} {mode} {layout}")), 5);
            }
        }
    }
}

#[test]
fn sums_by_type_of_golden_profiles_are_those_of_an_independent_program() {
    let Some(golden) = companions::shared("golden/ascend") else { return };
    let mut compared = 0;
    for case in std::fs::read_dir(golden).expect("a listing").flatten() {
        let input = case.path().join("input");
        if input.is_dir() {
            let place = Place::new();
            let prof = input.to_str().expect("a readable path");
            assert!(agrees_with_the_oracle(&place, prof, prof) > 3, "{prof}");
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared} profiles");
}
