//! Names from files can do nothing to a terminal, whichever command shows them.

mod common;

use common::{Answer, Place};

/// Letters that a name may not bring to a terminal: controls, and marks that turn the direction of text.
fn is_active(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t')
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks both outputs of a command, whatever its status.
fn is_harmless(place: &Place, arguments: &[&str]) -> Answer {
    let answer = place.run(arguments);
    for text in [&answer.stdout, &answer.stderr] {
        let found = text.chars().find(|letter| is_active(*letter));
        assert_eq!(found, None, "opscope {arguments:?}: {text:?}");
    }
    answer
}

/// Clears the screen, sets the title, rings, goes back, begins a line of its own, and turns text around.
const NAME: &str = r"conv\u001b[2J\u001b]0;title\u0007\b\r\nerror: forged\u202egpj\u2066\u009b31m";

fn timeline(time: u32) -> String {
    timeline_of(NAME, time)
}

/// Tasks of a name, which is written as in JSON.
fn timeline_of(name: &str, time: u32) -> String {
    let event = |name: &str, at: u32, length: u32| {
        format!(
            r#"{{"ph": "X", "pid": 2, "tid": 3, "name": "{name}", "ts": {at}, "dur": {length}, "args": {{"Task Type": "AI_CORE"}}}}"#
        )
    };
    let row = format!(
        r#"{{"ph": "M", "pid": 2, "name": "process_name", "args": {{"name": "Ascend Hardware {name}"}}}}"#
    );
    format!("[{row},{},{}]", event(name, 1_000, time), event("relu", 1_000 + time, 50))
}

#[test]
fn names_in_profiles_are_shown_and_do_nothing() {
    let place = Place::new();
    place.write("a.json", timeline(500));
    place.write("b.json", timeline(900));
    let commands: [&[&str]; 16] = [
        &["analyze", "a.json"],
        &["analyze", "a.json", "--markdown"],
        &["analyze", "a.json", "--json"],
        &["analyze", "a.json", "--group-by", "type"],
        &["info", "a.json"],
        &["show", "a.json"],
        &["where", "relu", "a.json"],
        &["where", "conv", "a.json"],
        &["compare", "a.json", "b.json"],
        &["compare", "a.json", "b.json", "--json"],
        &["check", "--baseline", "a.json", "--candidate", "b.json"],
        &["advise", "a.json"],
        &["whatif", "a.json", "--remove", "relu"],
        &["sql", "a.json", "SELECT name FROM operators"],
        &["import", "a.json", "--db", "a.db"],
        &["analyze", "a.db", "--name", "conv\u{1b}[2J("],
    ];
    for arguments in commands {
        is_harmless(&place, arguments);
    }
    let shown = is_harmless(&place, &["analyze", "a.json"]).stdout;
    assert!(shown.contains("conv\\u{1b}[2J"), "the name is there, spelled out: {shown}");
    assert!(!shown.lines().any(|line| line.starts_with("error: forged")), "{shown}");
    // Programs get the name as it is.
    let json = is_harmless(&place, &["analyze", "a.json", "--json"]).json();
    let name = json["rows"][0]["name"].as_str().expect("a name");
    assert!(name.contains("\u{1b}[2J") && name.contains('\u{202e}'), "{name:?}");
    let csv = place.done(&["analyze", "a.json", "--csv"]).stdout;
    assert!(csv.contains("\u{1b}[2J"), "{csv:?}");
}

#[test]
fn names_become_no_html_and_no_formulas() {
    let place = Place::new();
    let name = "=cmd|' /C calc'!A0<script>alert(1)</script>[a](javascript:b)";
    place.write("a.json", timeline_of(name, 500));
    place.write("b.json", timeline_of(name, 900));
    let shown = r"=cmd\|' /C calc'!A0&lt;script&gt;alert(1)&lt;/script&gt;[a\](javascript:b)";
    for arguments in [
        &["analyze", "a.json", "--markdown"][..],
        &["compare", "a.json", "b.json", "--markdown"],
        &["sql", "a.json", "--markdown", "SELECT task FROM task_details"],
    ] {
        let text = place.done(arguments).stdout;
        assert!(text.contains(shown) && !text.contains("<script>"), "{arguments:?}: {text}");
    }
    for arguments in [
        &["analyze", "a.json", "--csv", "--columns", "name,time"][..],
        &["sql", "a.json", "--csv", "SELECT 1, task, -2.5 AS \"=1+1\" FROM task_details"],
    ] {
        let text = place.done(arguments).stdout;
        assert!(text.contains(&format!(",'{name},")), "{arguments:?}: {text}");
        assert!(!text.contains(",=") && !text.contains(",'-"), "{arguments:?}: {text}");
    }
}

#[test]
fn names_of_hundreds_of_kilobytes_are_cut_before_tables_are_laid_out() {
    let place = Place::new();
    let name = format!("begin{}", "x".repeat(400_000));
    place.write("a.json", timeline_of(&name, 500));
    place.write("b.json", timeline_of(&name, 900));
    let commands: [&[&str]; 5] = [
        &["analyze", "a.json"],
        &["show", "a.json"],
        &["where", "begin", "a.json"],
        &["compare", "a.json", "b.json"],
        &["sql", "a.json", "SELECT task FROM task_details"],
    ];
    for arguments in commands {
        let text = place.done(arguments).stdout;
        assert!(text.contains("beginxxx") && text.len() < 20_000, "{arguments:?}: {}", text.len());
    }
    let json = place.done(&["analyze", "a.json", "--json"]).json();
    assert_eq!(json["rows"][0]["name"], name);
}

#[test]
fn names_in_models_are_shown_and_do_nothing() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let mut bytes = std::fs::read(place.path(&model)).expect("the model");
    // Of the same length, so that the file stays whole.
    let (old, new) = (b"/backbone/conv2", b"/b\x1b[2J\r\x07\x08/conv2");
    let places: Vec<usize> =
        (0..bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + old.len()].copy_from_slice(new);
    }
    place.write("hostile.onnx", bytes);
    let run = is_harmless(&place, &["run", "hostile.onnx", "-n", "2", "--db", "run.db"]);
    assert!(run.stdout.contains("\\u{1b}[2J"), "{}", run.stdout);
    let commands: [&[&str]; 5] = [
        &["advise", "run.db", "--model", "hostile.onnx"],
        &["fusion", "hostile.onnx"],
        &["rewrite", "hostile.onnx", "-o", "out.onnx"],
        &["analyze", "run.db"],
        &["run", "hostile.onnx", "--input", "x\u{1b}[2J=1"],
    ];
    for arguments in commands {
        is_harmless(&place, arguments);
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_are_shown_and_do_nothing() {
    let place = Place::new();
    let name = "a\u{1b}]0;title\u{7}\r\u{202e}.json";
    place.write(name, timeline(500));
    is_harmless(&place, &["analyze", name]);
    is_harmless(&place, &["info", name]);
    is_harmless(&place, &["compare", name, "missing\u{1b}[2J.json"]);
    place.write(name, "no profile");
    is_harmless(&place, &["analyze", name]);
}
