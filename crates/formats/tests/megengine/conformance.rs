//! The reference's own answers on real profiles, byte for byte.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::run;
use opscope_testing::companions;

/// One recorded call of the reference.
struct Case {
    name: String,
    file: String,
    options: Vec<String>,
    status: i64,
    stdout: String,
}

fn cases(folder: &Path) -> Vec<Case> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".cases.jsonl"));
    paths.sort();
    let lines: Vec<String> = paths
        .iter()
        .flat_map(|path| fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    lines
        .iter()
        .map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            let mut words = words(case["args"].as_str().unwrap());
            let file = words.remove(0);
            Case {
                name: format!("{file} {}: {}", case["case"].as_str().unwrap(), words.join(" ")),
                file,
                options: words,
                status: case["rc"].as_i64().unwrap(),
                stdout: case["stdout"].as_str().unwrap().to_owned(),
            }
        })
        .collect()
}

/// Splits at blanks outside single quotes, as the shell does.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(character),
        }
    }
    words
}

#[test]
fn every_answer_of_the_reference_is_given_byte_for_byte() {
    let Some(folder) = companions::shared("golden/megengine") else { return };
    let mut compared = 0;
    let mut failures = Vec::new();
    for case in cases(&folder).iter().filter(|case| case.status == 0) {
        let options: Vec<&str> = case.options.iter().map(String::as_str).collect();
        let run = run(folder.join(&case.file), &options);
        compared += 1;
        if (run.status, &run.stdout, run.stderr.as_str()) != (0, &case.stdout, "") {
            let differs = run.stdout.lines().zip(case.stdout.lines()).find(|(own, theirs)| own != theirs);
            failures.push(format!("{}: status {} {}{differs:#?}", case.name, run.status, run.stderr));
        }
    }
    assert!(failures.is_empty(), "{} of {compared} cases differ:\n{}", failures.len(), failures.join("\n"));
    assert!(compared >= 500, "only {compared} cases were found");
}

#[test]
fn where_the_reference_crashes_there_is_an_answer_or_one_line_that_says_what_is_wrong() {
    let Some(folder) = companions::shared("golden/megengine") else { return };
    let mut failures = Vec::new();
    for case in cases(&folder).iter().filter(|case| case.status != 0) {
        let options: Vec<&str> = case.options.iter().map(String::as_str).collect();
        let run = run(folder.join(&case.file), &options);
        let wrong_column = ["nosuch", "", "count", "info"]
            .iter()
            .any(|column| case.options.windows(2).any(|pair| pair[0] == "--order-by" && pair[1] == *column));
        let by_alone = case.options.iter().any(|option| option == "--aggregate-by")
            && !case.options.iter().any(|option| option == "--aggregate");
        let expected = match case.status {
            2 => 2,
            _ if wrong_column || by_alone || case.options.iter().any(|option| option == "(") => 2,
            _ if case.file.starts_with("bad/") || case.file == "nonexistent.json" => 1,
            _ => 0,
        };
        let lines = run.stderr.lines().count();
        if run.status != expected || (expected == 0) != (lines == 0) || lines > 1 {
            failures
                .push(format!("{}: status {} instead of {expected}, {}", case.name, run.status, run.stderr));
        }
        if expected != 0 && !run.stdout.is_empty() {
            failures.push(format!("{}: prints {}", case.name, run.stdout));
        }
    }
    assert!(failures.is_empty(), "{} cases:\n{}", failures.len(), failures.join("\n"));
}
