//! `mstx_sum`: what programs marked of themselves.

use rusqlite::types::Value;

use crate::common::Place;
use crate::marker::{Marker, databases};
use crate::tables::{Contents, assert_same_databases, read};
use crate::{results, vendor};
use opscope_testing::companions;

const RANKS: &str = "cluster_8_ranks_seed_1/db";

/// Marks what a program does in both steps of all ranks; no two durations are the same.
fn marked_ranks(place: &Place) {
    place.done(&["sample", "cluster", "--ranks", "8", "--layers", "1"]);
    for (rank, path) in (1..).zip(databases(&place.path(RANKS))) {
        let mut marker = Marker::open(&path);
        for number in [10, 11] {
            let (start, _) = marker.step(number);
            let at = |micros: i64| start + micros * (1_000 + 37 * rank + number);
            // The last one begun ends first; threads don't meddle.
            for (text, micros, thread) in [
                ("data_start", 10, 1),
                ("data_start", 20, 1),
                ("data_start", 25, 2),
                ("data_stop", 33, 1),
                ("load_start", 35, 1),
                ("data_stop", 47, 1),
                ("data_stop", 70, 2),
                ("load_stop", 41, 1),
                ("never_stopped_start", 50, 1),
                ("never_started_stop", 60, 1),
                ("neither", 61, 1),
            ] {
                marker.mark(text, at(micros), thread);
            }
            let mut range = |text: &str, from: i64, until: i64, tasks: &[(i64, i64)]| {
                let tasks: Vec<(i64, i64)> = tasks.iter().map(|(a, b)| (at(*a), at(*b))).collect();
                marker.range(text, (at(from), at(until)), &tasks, 5);
            };
            range("step", 100, 900, &[(150, 950)]);
            range("layer", 110, 400, &[(160, 461)]);
            range("norm", 120, 200, &[(170, 253)]);
            range("layer", 410, 800, &[(460, 863)]);
            range("same", 420, 500, &[(470, 558)]);
            range("place", 420, 500, &[(470, 562)]);
            range("within", 430, 440, &[(480, 507)]);
            range("late", 1000, 1500, &[(1010, 1511), (1600, 1617)]);
            marker.loose_range("without a task", (at(5), at(6)));
        }
        let (first, _) = marker.step(10);
        marker.range(
            "before all steps",
            (first - 9_000 * rank, first - 1_000),
            &[(first, first + 77 * rank)],
            5,
        );
        marker.done();
    }
}

/// The texts of a column.
fn texts<'c>(contents: &'c Contents, column: &str) -> Vec<&'c str> {
    let at = contents.columns.iter().position(|name| name == column).unwrap();
    let text = |row: &'c Vec<Value>| match &row[at] {
        Value::Text(text) => text.as_str(),
        other => panic!("{column}: {other:?}"),
    };
    contents.rows.iter().map(text).collect()
}

#[test]
fn durations_between_marks_and_of_ranges_are_described_as_the_vendors_program_does() {
    let place = Place::new();
    marked_ranks(&place);
    let answer = place.done(&["msprof-analyze", "-m", "mstx_sum", "-d", RANKS, "-o", "ours"]);
    let alone =
        "rank 3: 4 marks began or ended alone and are left out: never_stopped_start, never_started_stop";
    assert!(answer.stderr.contains(alone), "{}", answer.stderr);
    let tables = read(&results(&place, "ours"));
    let marks = &tables["MSTXMarkStats"];
    // Four between marks, eight ranges of which one has two tasks, and one outside of steps.
    assert_eq!(marks.rows.len(), 8 * (2 * 13 + 1));
    let names = texts(marks, "Name");
    for name in [
        "data_0",
        "data_2",
        "load",
        "step",
        "step::layer_1",
        "step::layer::norm",
        "step::layer::same::place_1",
        "step::layer::same::place::within",
        "late::late_1",
        "before all steps",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("without a task") || name.contains("never")), "{names:?}");
    let ratios: Vec<f64> = marks
        .rows
        .iter()
        .filter(|row| row[8] == Value::Integer(5))
        .map(|row| match row[5] {
            Value::Real(ratio) => ratio,
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert!((ratios.iter().sum::<f64>() - 100.0).abs() < 1e-9 && ratios.is_sorted_by(|a, b| a >= b));
    let Some(program) = companions::msprof_analyze() else { return };
    for more in [&[][..], &["--step_id", "11"], &["--rank_list", "2,5"]] {
        let arguments = |output| [&["-m", "mstx_sum", "-d", RANKS, "-o", output], more].concat();
        let [ours, theirs] = ["ours", "theirs"].map(|who| format!("{who}{}", more.concat()));
        vendor(&program, &place, &arguments(&theirs));
        place.done(&[&["msprof-analyze"], &arguments(&ours)[..]].concat());
        assert_same_databases(&results(&place, &ours), &results(&place, &theirs), &format!("{more:?}"));
    }
}

#[test]
fn ranks_without_tables_of_marks_tasks_or_steps_cost_what_these_would_tell() {
    let place = Place::new();
    marked_ranks(&place);
    for (path, tables) in databases(&place.path(RANKS)).iter().zip([
        &["MSTX_EVENTS"][..],
        &["TASK"],
        &["STEP_TIME"],
        &["STRING_IDS"],
        &["TASK", "STEP_TIME", "CANN_API", "COMMUNICATION_OP"],
    ]) {
        let database = rusqlite::Connection::open(path).unwrap();
        tables.iter().for_each(|table| database.execute_batch(&format!("DROP TABLE {table}")).unwrap());
    }
    let mut marker = Marker::open(&databases(&place.path(RANKS))[7]);
    let (start, _) = marker.step(10);
    marker.range("never reached", (start + 1, start + 2), &[], 5);
    marker.done();
    place.done(&["msprof-analyze", "-m", "mstx_sum", "-d", RANKS, "-o", "out"]);
    let tables = read(&results(&place, "out"));
    let rows = |rank: i64| -> Vec<&Vec<Value>> {
        tables["MSTXMarkStats"].rows.iter().filter(|row| row[8] == Value::Integer(rank)).collect()
    };
    assert_eq!(rows(0).len(), 0);
    assert!(rows(1).len() == 25 && rows(1).iter().all(|row| row[6] == Value::Real(0.0)));
    assert!(rows(2).len() == 27 && rows(2).iter().all(|row| row[9] == Value::Integer(0)));
    assert_eq!((rows(4).len(), rows(5).len()), (25, 27));
    let name = Value::Text("never reached".to_owned());
    let unreached: Vec<_> = rows(7).into_iter().filter(|row| row[1] == name).collect();
    assert!(unreached.len() == 1 && unreached[0][6] == Value::Null, "{unreached:?}");
    let described: Vec<_> = tables["MSTXAllDeviceStats"].rows.iter().filter(|row| row[0] == name).collect();
    assert!(
        described.len() == 1 && described[0][..3] == [name, Value::Real(0.0), Value::Null],
        "{described:?}"
    );
    place.done(&["sample", "cluster", "--ranks", "2", "--layers", "1"]);
    let answer = place.done(&["msprof-analyze", "-m", "mstx_sum", "-d", "cluster_2_ranks_seed_1/db"]);
    assert!(answer.stdout.contains("nothing was found, so nothing was written"), "{}", answer.stdout);
}

#[test]
fn a_hundred_thousand_ranges_within_one_another_are_named_no_deeper_than_a_hundred() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "2", "--layers", "1"]);
    let databases = databases(&place.path("cluster_2_ranks_seed_1/db"));
    let mut marker = Marker::open(&databases[0]);
    let (start, _) = marker.step(10);
    for depth in 0..100_000 {
        let name = if depth < 200 { format!("r{depth}") } else { "deep".to_owned() };
        marker.range(&name, (start + depth, start + 300_000 - depth), &[], 5);
        marker.mark("never_start", start + depth, 1);
    }
    marker.done();
    let input = "cluster_2_ranks_seed_1/db";
    let answer = place.done(&["msprof-analyze", "-m", "mstx_sum", "-d", input, "-o", "out"]);
    assert!(answer.stderr.contains("100000 marks began or ended alone"), "{}", answer.stderr);
    assert!(answer.stderr.len() < 1_000, "{}", answer.stderr.len());
    let tables = read(&results(&place, "out"));
    let names = texts(&tables["MSTXMarkStats"], "Name");
    assert_eq!(names.len(), 100_000);
    assert!(names.contains(&"r99") && names.contains(&"r199") && names.contains(&"deep_99799"));
    let deepest = names.iter().map(|name| name.matches("::").count()).max();
    assert_eq!(deepest, Some(98));
}
