//! Sets of many ranks, and questions to them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::Place;

/// A place with the set of a simulated cluster.
pub fn place_with_set(ranks: &str, more: &[&str]) -> Place {
    let place = Place::new();
    place
        .done(&[&["sample", "cluster", "-o", "runs", "--ranks", ranks, "--format", "db"][..], more].concat());
    let mut entries = std::fs::read_dir(place.path("runs")).unwrap().map(|entry| entry.unwrap().path());
    let folder: PathBuf = entries.find(|path| path.join("db").is_dir()).expect("a collection").join("db");
    place.done(&["cluster", "import", folder.to_str().unwrap(), "-o", "set"]);
    place
}

/// The folder of a simulated cluster in one form, which the words say last.
pub fn made_so(place: &Place, name: &str, words: &[&str]) -> String {
    place.done(&[&["sample", "cluster", "-o", name][..], words].concat());
    let made = std::fs::read_dir(place.path(name)).unwrap().next().expect("a collection").unwrap();
    format!("{name}/{}/{}", made.file_name().to_str().unwrap(), words.last().unwrap())
}

/// The arguments that ask the set.
pub fn asking<'a>(statement: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["cluster", "sql", "set", statement][..], more].concat()
}

/// The rows of an answer.
pub fn rows(place: &Place, statement: &str, more: &[&str]) -> Vec<Value> {
    let answer = place.done(&asking(statement, &[more, &["--json"]].concat())).json();
    answer["rows"].as_array().expect("rows").clone()
}

/// Names and statements of all questions.
pub fn questions(place: &Place, dialect: &str) -> BTreeMap<String, String> {
    let printed = place.done(&["cluster", "queries", "--dialect", dialect, "--set", "set", "--json"]).json();
    let pair = |query: &Value| ["name", "sql"].map(|it| query[it].as_str().expect("a text").to_owned());
    let pairs = printed["queries"].as_array().expect("queries").iter().map(pair);
    pairs.map(|[name, sql]| (name, sql)).collect()
}

/// Asserts that two answers are the same: integers and texts to the last digit, other numbers to 12 digits, because
/// they may be added in another order, or to `close` where that leaves little of them.
pub fn assert_same(question: &str, ours: &[Value], others: &[Value], close: f64) {
    assert_eq!(ours.len(), others.len(), "{question}");
    for (ours, others) in ours.iter().zip(others) {
        let (Some(of_ours), Some(of_others)) = (ours.as_object(), others.as_object()) else {
            panic!("{question}: {ours} and {others} are no rows");
        };
        let names = |row: &Map<String, Value>| row.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(of_ours), names(of_others), "{question}");
        for (name, value) in of_ours {
            let other = &of_others[name];
            let is_same = match (value.as_f64(), other.as_f64()) {
                (Some(value), Some(other)) if is_real(value, other) => {
                    (value - other).abs() <= 1e-12 * value.abs().max(other.abs()) + close
                }
                _ => value == other,
            };
            assert!(is_same, "{question}: {name} is {value} and {other} in {ours} and {others}");
        }
    }

    fn is_real(value: f64, other: f64) -> bool {
        value.fract() != 0.0 || other.fract() != 0.0 || value.abs() > 9e15
    }
}
