//! `opscope mcp`: what an agent may ask, what it gets, and what it doesn't.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use common::Place;
use opscope_testing::companions;
use opscope_testing::programs::output_in_time;
use serde_json::{Value, json};

const TIMELINE: &str = r#"{"traceEvents": [
    {"ph": "X", "name": "gemm", "cat": "kernel", "ts": 10, "dur": 5, "pid": 0, "tid": 7},
    {"ph": "X", "name": "gemm", "cat": "kernel", "ts": 20, "dur": 7, "pid": 0, "tid": 7},
    {"ph": "X", "name": "add", "cat": "kernel", "ts": 30, "dur": 1, "pid": 0, "tid": 8}]}"#;

/// A statement that never ends.
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// How long any answer may take before the test takes it for one that never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client that speaks the protocol's lines itself.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    next: u64,
}

impl Client {
    /// A client of a server of the place's folder.
    fn new(place: &Place, folders: &[&str]) -> Self {
        let mut words = vec!["mcp"];
        words.extend(folders);
        let mut command = place.command(&words);
        let mut server =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let output = server.stdout.take().expect("its output");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let input = server.stdin.take();
        let mut client = Self { server, input, lines, next: 0 };
        let about = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let told = client.ask("initialize", about);
        assert_eq!(told["result"]["serverInfo"]["name"], "opscope", "{told}");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("the server reads");
    }

    /// Sends a request without waiting for its answer, and says its number.
    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.say(&request.to_string());
        self.next
    }

    /// The answer to a request of this number.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
            if line["id"] == id {
                return line;
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// The answer of a tool that answers.
    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    }

    /// The error of a tool that can't.
    fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// Ends its input, and sees it end.
    fn end(mut self) {
        drop(self.input.take());
        let begun = Instant::now();
        loop {
            if let Some(status) = self.server.try_wait().expect("a child") {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "the server goes on without a client");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

fn place() -> Place {
    let place = Place::new();
    place.write("trace.json", TIMELINE);
    place
}

/// A raw directory of Ascend in the place.
fn raw_sample(place: &Place) -> String {
    let made = place.done(&["sample", "prof", "-o", ".", "--tasks", "200", "--quiet"]).stdout;
    made.trim().to_owned()
}

/// The members of an answer that the command line prints as well.
fn same(answer: &Value, printed: &Value) -> bool {
    let added = ["page", "cut", "left_out"];
    let members = answer.as_object().expect("an object").iter();
    members
        .filter(|(name, _)| !added.contains(&&***name))
        .all(|(name, value)| name == "path" || printed[name] == *value)
}

#[test]
fn tools_answer_what_the_command_line_prints() {
    let place = place();
    place.write(
        "after.json",
        r#"{"traceEvents": [{"ph": "X", "name": "gemm", "cat": "kernel", "ts": 10, "dur": 4, "pid": 0, "tid": 7}]}"#,
    );
    let model = place.sample("mask-ssd");
    let mut client = Client::new(&place, &[]);
    let asked =
        client.done("analyze", json!({ "path": "trace.json", "with": ["overview", "ranges", "stated"] }));
    let printed = place.done(&["analyze", "trace.json", "--json"]).json();
    assert!(same(&asked, &printed), "{asked}\n{printed}");
    assert_eq!(asked["rows"], printed["rows"]);

    let by_type =
        json!({ "path": "trace.json", "group_by": "name", "sort": "+time", "columns": ["time", "name"] });
    let asked = client.done("analyze", by_type);
    let words = [
        "analyze",
        "trace.json",
        "--group-by",
        "name",
        "--sort",
        "+time",
        "--columns",
        "time,name",
        "--json",
    ];
    assert_eq!(asked["rows"], place.done(&words).json()["rows"]);
    assert_eq!(asked["rows"][0]["name"], "add");

    let asked = client.done("compare", json!({ "before": "trace.json", "after": "after.json" }));
    let printed = place.done(&["compare", "trace.json", "after.json", "--json"]).json();
    assert!(same(&asked, &printed), "{asked}\n{printed}");

    let models =
        json!({ "before": "trace.json", "after": "after.json", "before_model": model, "after_model": model });
    let asked = client.done("compare", models);
    let whole = place.path(&model).display().to_string();
    let words = ["compare", "trace.json", "after.json", "--model-a", &whole, "--model-b", &whole, "--json"];
    assert_eq!(asked["models"], place.done(&words).json()["models"]);
    assert_eq!(asked["models"]["before"]["nodes"], asked["models"]["after"]["nodes_in_common"]);
    let no_model = json!({ "before": "trace.json", "after": "after.json", "after_model": "trace.json" });
    assert!(client.fails("compare", no_model).contains("not a model"));

    let statement = "SELECT task, sum(duration_ns) AS ns FROM task_details GROUP BY 1 ORDER BY 2 DESC";
    let asked = client.done("sql", json!({ "path": "trace.json", "statement": statement }));
    assert_eq!(asked["rows"], place.done(&["sql", "trace.json", "--json", statement]).json()["rows"]);
    assert_eq!(asked["rows"][0], json!({ "task": "gemm", "ns": 12_000 }));

    let asked = client.done("info", json!({ "path": "trace.json" }));
    assert!(same(&asked, &place.done(&["info", "trace.json", "--json"]).json()), "{asked}");

    let asked = client.done("model", json!({ "path": model, "limit": 1000 }));
    let printed = place.done(&["info", &model, "--nodes", "--json"]).json();
    assert_eq!((&asked["nodes"], asked["nodes"][0]["type"].is_string()), (&printed["nodes"], true));

    let asked = client.done("advise", json!({ "path": model, "with": ["not_run"] }));
    let printed = place.done(&["advise", &model, "--json"]).json();
    assert_eq!(asked["page"]["of"], printed["findings"].as_array().expect("findings").len());
    assert_eq!(asked["findings"][0]["id"], printed["findings"][0]["id"]);

    let page = client.done("explain", json!({ "text": "A29" }));
    let printed = place.done(&["explain", "A29"]).stdout;
    assert_eq!(page.as_str().map(str::trim), Some(printed.trim()));
    client.end();
}

#[test]
fn operators_and_windows_tell_of_single_tasks() {
    let place = place();
    let mut client = Client::new(&place, &[]);
    let asked = client.done("operators", json!({ "path": "trace.json", "name": "gemm" }));
    assert_eq!((&asked["rows"][0]["time_ns"], &asked["rows"][0]["max_ns"]), (&json!(12_000), &json!(7_000)));
    let window = client.done("timeline_window", json!({ "path": "trace.json" }));
    let rows: Vec<(i64, i64)> = window["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| Some((row["start_ns"].as_i64()?, row["duration_ns"].as_i64()?)))
        .collect();
    let begin = window["from_ns"].as_i64().expect("a time");
    assert_eq!(rows, [(begin, 5_000), (begin + 10_000, 7_000), (begin + 20_000, 1_000)]);
    assert_eq!(window["devices"][0]["busy_ns"], 13_000);
    let gaps = &window["devices"][0]["gaps"];
    assert_eq!((&gaps[0]["duration_ns"], &gaps[1]["duration_ns"]), (&json!(5_000), &json!(3_000)));
    let cut = json!({ "path": "trace.json", "from_ns": begin + 12_000, "to_ns": begin + 18_000, "lane": "stream 7" });
    let window = client.done("timeline_window", cut);
    assert_eq!(
        (&window["lanes"][0]["busy_ns"], &window["page"]["of"]),
        (&json!(5_000), &json!(1)),
        "{window}"
    );
    let opened = client.done("open", json!({ "path": "trace.json" }));
    assert_eq!((&opened["rows"]["tasks"], &opened["overview"]["busy_ns"]), (&json!(3), &json!(13_000)));
    client.end();
}

#[test]
fn what_was_asked_for_is_all_that_comes() {
    let place = Place::new();
    let events: Vec<Value> = (0..3_000)
        .map(|n| json!({ "ph": "X", "name": format!("op{n}"), "cat": "kernel", "ts": n * 10, "dur": 5, "pid": 0, "tid": 7 }))
        .collect();
    place.write("long.json", json!({ "traceEvents": events }).to_string());
    let mut client = Client::new(&place, &[]);
    for (tool, more) in [
        ("analyze", json!({})),
        ("operators", json!({})),
        ("timeline_window", json!({})),
        ("sql", json!({ "statement": "SELECT * FROM tasks" })),
    ] {
        let mut arguments = json!({ "path": "long.json", "limit": 7, "offset": 14 });
        arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let answer = client.done(tool, arguments.clone());
        assert_eq!(answer["rows"].as_array().map(Vec::len), Some(7), "{tool}");
        assert_eq!(answer["page"]["next_offset"], 21, "{tool}: {}", answer["page"]);
        arguments["limit"] = json!(1_000);
        let answer = client.done(tool, arguments);
        assert!(answer.to_string().len() <= 40_000, "{tool}: {}", answer.to_string().len());
        let shown = answer["page"]["shown"].as_u64().expect("a number");
        assert_eq!(answer["page"]["next_offset"], 14 + shown, "{tool}");
    }
    let last =
        client.done("sql", json!({ "path": "long.json", "statement": "SELECT 1 AS one", "offset": 1 }));
    assert_eq!((&last["rows"], &last["page"]["next_offset"]), (&json!([]), &Value::Null));
    client.end();
}

#[test]
fn a_wrong_call_gets_an_error_that_says_what_to_do() {
    let place = place();
    place.write("text.txt", "no profile");
    let mut client = Client::new(&place, &[]);
    for (tool, arguments, says) in [
        ("analyze", json!({}), "needs the argument `path`"),
        ("analyze", json!({ "path": 3 }), "has to be a string, and is 3"),
        ("analyze", json!({ "path": "trace.json", "group_by": "colour" }), "it can be: operator, type"),
        ("analyze", json!({ "path": "trace.json", "limit": 100_000 }), "the most is 1000"),
        ("analyze", json!({ "path": "trace.json", "nmae": "x" }), "did you mean `name`?"),
        ("analyze", json!({ "path": "trace.json", "name": "(" }), "regular expression"),
        ("analyze", json!({ "path": "trace.json", "sort": "tme" }), "did you mean 'time'?"),
        ("analyze", json!({ "path": "trace.json", "iteration": "7" }), "iteration"),
        ("analyze", json!({ "path": "gone.json" }), "there is no such file or folder"),
        ("analyze", json!({ "path": "text.txt" }), "this is text"),
        ("sql", json!({ "path": "trace.json", "statement": "SELECT nothing" }), "opscope://tables"),
        ("sql", json!({ "path": "trace.json", "statement": "DELETE FROM tasks" }), "more than read"),
        ("sql", json!({ "path": "trace.json", "statement": "ATTACH 'x.db' AS x" }), "more than read"),
        ("model", json!({ "path": "trace.json" }), "not a model"),
        (
            "timeline_window",
            json!({ "path": "trace.json", "from_ns": 9, "to_ns": 3 }),
            "ends before it begins",
        ),
        ("timeline_window", json!({ "path": "trace.json", "iteration": 3 }), "there is no iteration 3"),
        ("explain", json!({ "text": "memmory" }), "did you mean 'memory'"),
    ] {
        let text = client.fails(tool, arguments);
        assert!(text.contains(says), "{tool}: {text}");
    }
    let unknown = client.call("delete", json!({}));
    assert!(
        unknown["error"]["message"].as_str().is_some_and(|text| text.contains("there are: open")),
        "{unknown}"
    );
    client.say("this is no JSON");
    client.say(r#"{"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": 3}}"#);
    client.say("");
    // Null stands for what is left out.
    let answer = client.done("analyze", json!({ "path": "trace.json", "name": null, "limit": 1 }));
    assert_eq!(answer["page"]["of"], 2, "after all that it still answers");
    client.end();
}

#[cfg(unix)]
#[test]
fn nothing_outside_of_the_folders_is_read() {
    use std::os::unix::fs::symlink;
    let place = place();
    std::fs::create_dir_all(place.path("inside/PROF_1")).expect("a folder");
    std::fs::write(place.path("inside/own.json"), TIMELINE).expect("a file");
    symlink(place.path("trace.json"), place.path("inside/link.json")).expect("a link");
    symlink(place.path("trace.json"), place.path("inside/PROF_1/link.json")).expect("a link");
    // The weights of a network lie beside it.
    std::fs::create_dir_all(place.path("inside/caffe")).expect("a folder");
    let network = "name: 'net'\nlayer { name: 'a' type: 'ReLU' bottom: 'x' top: 'y' }\n";
    std::fs::write(place.path("inside/caffe/net.prototxt"), network).expect("a file");
    symlink(place.path("trace.json"), place.path("inside/caffe/net.caffemodel")).expect("a link");
    let mut client = Client::new(&place, &["inside"]);
    assert_eq!(client.done("open", json!({ "path": "own.json" }))["rows"]["tasks"], 3);
    let outside = place.path("trace.json").display().to_string();
    for path in
        ["../trace.json", &outside, "/etc/hosts", "link.json", "PROF_1", "PROF_1/link.json", "/no/where"]
    {
        for tool in ["open", "info", "analyze", "advise", "model", "timeline_window"] {
            let text = client.fails(tool, json!({ "path": path }));
            assert!(text.contains("outside"), "{tool} {path}: {text}");
        }
        let text = client.fails("sql", json!({ "path": path, "statement": "SELECT 1" }));
        assert!(text.contains("outside"), "{path}: {text}");
        let text = client.fails("compare", json!({ "before": "own.json", "after": path }));
        assert!(text.contains("outside"), "{path}: {text}");
    }
    for tool in ["info", "model"] {
        let text = client.fails(tool, json!({ "path": "caffe/net.prototxt" }));
        assert!(text.contains("outside"), "{tool}: {text}");
    }
    let listed = client.done("info", json!({}));
    let entries = listed["folders"][0]["entries"].as_array().expect("entries").clone();
    let kind = |name: &str| {
        let entry = entries.iter().find(|entry| entry["name"] == name).expect("an entry");
        entry["kind"].as_str().unwrap_or_default().to_owned()
    };
    assert!(kind("own.json").contains("timeline"), "{listed}");
    assert!(kind("link.json").contains("outside"), "{listed}");
    client.end();
    place.fails(1, &["gone"], &["mcp", "gone"]);
    place.fails(1, &["this is a file"], &["mcp", "trace.json"]);
}

#[test]
fn a_statement_ends_when_its_time_is_over_or_nobody_wants_it_any_more() {
    let place = place();
    let mut client = Client::new(&place, &[]);
    let text =
        client.fails("sql", json!({ "path": "trace.json", "statement": ENDLESS, "timeout_seconds": 1 }));
    assert!(text.contains("took longer than 1 s"), "{text}");
    let endless = json!({ "path": "trace.json", "statement": ENDLESS, "timeout_seconds": 60 });
    for _ in 0..12 {
        // More than are worked on at the same time.
        let id = client.send("tools/call", json!({ "name": "sql", "arguments": endless }));
        let cancelled = json!({ "requestId": id, "reason": "the user stopped it" });
        let line = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled });
        client.say(&line.to_string());
    }
    let answer =
        client.done("sql", json!({ "path": "trace.json", "statement": "SELECT count(*) AS n FROM tasks" }));
    assert_eq!(answer["rows"], json!([{ "n": 3 }]));
    client.send("tools/call", json!({ "name": "sql", "arguments": endless }));
    client.end();
}

#[test]
fn a_locked_database_is_told_as_such() {
    let place = place();
    place.done(&["import", "trace.json", "-o", "kept.db"]);
    let mut client = Client::new(&place, &[]);
    let lock = rusqlite::Connection::open(place.path("kept.db")).expect("the database");
    lock.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    let text = client.fails("sql", json!({ "path": "kept.db", "statement": "SELECT 1 FROM tasks" }));
    assert!(text.contains("locked"), "{text}");
    drop(lock);
    let answer =
        client.done("sql", json!({ "path": "kept.db", "statement": "SELECT count(*) AS n FROM tasks" }));
    assert_eq!(answer["rows"], json!([{ "n": 3 }]));
    client.end();
}

#[test]
fn a_profile_that_changes_is_read_anew_and_nothing_is_written() {
    let place = place();
    let raw = raw_sample(&place);
    let mut client = Client::new(&place, &[]);
    let files = |folder: &str| {
        let mut all: Vec<(String, u64)> = Vec::new();
        let mut folders = vec![place.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let found = entry.metadata().expect("its size");
                match found.is_dir() {
                    true => folders.push(entry.path()),
                    false => all.push((entry.path().display().to_string(), found.len())),
                }
            }
        }
        all.sort();
        all
    };
    let before = files(".");
    assert!(before.iter().any(|(path, _)| path.contains("PROF")), "{raw}");
    for tool in ["open", "info", "analyze", "operators", "advise", "timeline_window"] {
        client.done(tool, json!({ "path": raw }));
    }
    client.done("sql", json!({ "path": raw, "statement": "SELECT * FROM tasks" }));
    client.done("compare", json!({ "before": raw, "after": raw }));
    assert_eq!(files("."), before);
    assert_eq!(client.done("open", json!({ "path": "trace.json" }))["rows"]["tasks"], 3);
    place.write("trace.json", r#"{"traceEvents": [{"ph": "X", "name": "a", "cat": "kernel", "ts": 1, "dur": 5, "pid": 0, "tid": 7}]}"#);
    assert_eq!(client.done("open", json!({ "path": "trace.json" }))["rows"]["tasks"], 1);
    client.end();
}

#[test]
fn documentation_and_questions_are_there() {
    let place = place();
    let mut client = Client::new(&place, &[]);
    let pages = client.ask("resources/list", json!({}));
    assert_eq!(pages["result"]["resources"].as_array().map(Vec::len), Some(5), "{pages}");
    let page = client.ask("resources/read", json!({ "uri": "opscope://rules/A29" }));
    assert!(
        page["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("A29")),
        "{page}"
    );
    let missing = client.ask("resources/read", json!({ "uri": "file:///etc/passwd" }));
    assert!(
        missing["error"]["message"].as_str().is_some_and(|text| text.contains("no resource")),
        "{missing}"
    );
    let templates = client.ask("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().map(Vec::len), Some(4), "{templates}");
    let prompts = client.ask("prompts/list", json!({}));
    assert!(prompts["result"]["prompts"].as_array().is_some_and(|all| all.len() >= 5), "{prompts}");
    let prompt =
        client.ask("prompts/get", json!({ "name": "why-slow", "arguments": { "profile": "trace.json" } }));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_default();
    assert!(text.contains("trace.json") && !text.contains('{'), "{prompt}");
    let lacking = client.ask("prompts/get", json!({ "name": "why-slow" }));
    assert!(lacking["error"]["message"].as_str().is_some_and(|text| text.contains("'profile'")), "{lacking}");
    client.end();
}

#[test]
fn the_official_client_gets_on_with_it() {
    let Some(python) = companions::python_with("mcp") else { return };
    let place = place();
    let raw = raw_sample(&place);
    let mut command = Command::new(python);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.py");
    command.arg(script).arg(env!("CARGO_BIN_EXE_opscope")).arg(place.path(".")).arg(&raw);
    let output = output_in_time(&mut command).expect("the client ends");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.contains("steps ['"), "its steps are told: {stdout}");
}
