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
fn exported_tables_hold_no_formulas_where_that_is_asked_for_and_are_read_back_alike() {
    let place = Place::new();
    let raw = place.done(&["sample", "prof", "-o", ".", "--tasks", "200", "--quiet"]).stdout;
    let names = place.path(raw.trim()).join("host/data");
    let names = std::fs::read_dir(names).unwrap().flatten().map(|file| file.path());
    let names = names.into_iter().find(|path| path.to_string_lossy().contains("hash_dic.slice_0"));
    let names = names.expect("the names of operators");
    let text = std::fs::read_to_string(&names).unwrap();
    assert!(text.contains("Conv2D_3\n"), "{text}");
    std::fs::write(&names, text.replace("Conv2D_3\n", "=cmd|'/C'!A0\n").replace("Tanh_2\n", "'-1\n"))
        .unwrap();
    let board = "Layer Id,Layer Name,Layer Type,Time(us)\n0,=1+1,Convolution,12.5\n1,-,@Pool,2.5\n";
    std::fs::create_dir_all(place.path("JOB1/summary")).unwrap();
    place.write("JOB1/summary/op_summary_0.net.1.1.1.1.0.600.csv", board);

    for (profile, options, tables) in
        [(raw.trim(), &["--layout", "modern"][..], "mindstudio_profiler_output"), ("JOB1", &[], "summary")]
    {
        let answers = [("plain", None), ("safe", Some("--safe-csv"))].map(|(name, safe)| {
            let out = format!("{name}-{tables}");
            let export = ["export", "summary", profile, "-o", &out, "--quiet"];
            place.done(&[&export[..], options, safe.as_slice()].concat());
            let folder = place.path(&out).join(tables);
            let files = std::fs::read_dir(&folder).expect("the folder").flatten();
            let table =
                files.map(|file| file.path()).find(|path| path.to_string_lossy().contains("op_summary"));
            let text = std::fs::read_to_string(table.expect("the operators")).unwrap();
            let cells: Vec<&str> = text.split(['\n', ',']).collect();
            let begins = |begin: &str| cells.iter().any(|cell| cell.starts_with(begin) && *cell != "-");
            assert_eq!(begins("="), safe.is_none(), "{text}");
            assert_eq!(begins("@"), safe.is_none() && profile == "JOB1", "{text}");
            assert_eq!(begins("'="), safe.is_some(), "{text}");
            assert_eq!(begins("''-1"), safe.is_some() && profile != "JOB1", "{text}");
            let answer = place.done(&["analyze", &format!("{out}/{tables}"), "--json", "--top", "0"]).json();
            answer["rows"].clone()
        });
        let has = |name: &str| answers[1].as_array().unwrap().iter().any(|row| row["name"] == name);
        assert!(has(if profile == "JOB1" { "=1+1" } else { "=cmd|'/C'!A0" }), "{}", answers[1]);
        assert_eq!(answers[0].as_array().unwrap().len(), answers[1].as_array().unwrap().len());
        if profile == "JOB1" {
            assert_eq!(answers[0], answers[1]);
        } else {
            // Of a table with the vendor's bytes it can't be told that this apostrophe marks nothing.
            assert!(has("'-1"), "{}", answers[1]);
        }
    }
}

#[test]
fn names_of_hundreds_of_kilobytes_are_cut_before_tables_are_laid_out() {
    let place = Place::new();
    let name = format!("begin{}", "x".repeat(400_000));
    place.write("a.json", timeline_of(&name, 500));
    place.write("b.json", timeline_of(&name, 900));
    let commands: [&[&str]; 7] = [
        &["analyze", "a.json"],
        &["info", "a.json"],
        &["show", "a.json"],
        &["advise", "a.json"],
        &["where", "begin", "a.json"],
        &["compare", "a.json", "b.json"],
        &["sql", "a.json", "SELECT task FROM task_details"],
    ];
    for arguments in commands {
        let text = place.done(arguments).stdout;
        let is_named = text.contains("beginxxx") || arguments[0] == "advise";
        assert!(is_named && text.len() < 20_000, "{arguments:?}: {}", text.len());
    }
    let json = place.done(&["analyze", "a.json", "--json"]).json();
    assert_eq!(json["rows"][0]["name"], name);
}

#[test]
fn a_name_of_any_length_that_is_not_there_is_told_at_once() {
    let place = Place::new();
    let events: Vec<String> = (0..200)
        .map(|number| {
            let name = format!("{}{number}", "x".repeat(100_000));
            format!(r#"{{"ph": "X", "pid": 2, "tid": 3, "name": "{name}", "ts": {number}, "dur": 1}}"#)
        })
        .collect();
    place.write("long.json", format!("[{}]", events.join(",")));
    let wanted = "x".repeat(100_000) + "y";
    // To compare it with each of them letter by letter would take 2 · 10¹² steps.
    let answer = place.fails(1, &["no operator of this profile has 'xxx"], &["where", &wanted, "long.json"]);
    assert!(!answer.stderr.contains("did you mean") && answer.stderr.len() < 20_000, "{}", answer.stderr);
    // As a pattern it would take as many steps.
    place.fails(2, &["it has 100001 bytes"], &["analyze", "long.json", "--name", &wanted]);
    let model = place.sample("mask-ssd");
    let input = format!("{wanted}=1");
    let answer = place.fails(2, &["the model has no input named 'xxx"], &["run", &model, "--input", &input]);
    assert!(answer.stderr.len() < 20_000, "{}", answer.stderr);
}

#[test]
fn names_in_profiles_of_many_ranks_are_shown_and_do_nothing() {
    let place = Place::new();
    let faults = ["--layout", "tp=2,pp=1,dp=4,ep=2", "--fault", "low-frequency=1", "--fault", "ai-cpu=5"];
    let sizes = ["--layers", "2", "--microbatches", "2", "--quiet"];
    place.done(&[&["sample", "cluster", "-o", "."][..], &faults, &sizes].concat());
    let ranks = place.path("cluster_8_ranks_seed_1/db");
    let ranks = std::fs::read_dir(&ranks).expect("the ranks").flatten().map(|rank| rank.path());
    let outputs = ranks.map(|rank| rank.join("ASCEND_PROFILER_OUTPUT"));
    let files = outputs.flat_map(|folder| std::fs::read_dir(folder).expect("the databases").flatten());
    let mut renamed = 0;
    let suffix: String = serde_json::from_str(&format!("\"{NAME}<script>\"")).expect("a name");
    for file in files {
        let database = rusqlite::Connection::open(file.path()).expect("a database");
        for (table, column) in [("STRING_IDS", "value"), ("HOST_INFO", "hostName"), ("NPU_INFO", "name")] {
            // Databases of communication have none of these tables.
            let rename = format!("UPDATE {table} SET {column} = '=1+1' || {column} || ?1");
            renamed += database.execute(&rename, [&suffix]).unwrap_or(0);
        }
    }
    assert!(renamed > 8 * 3, "{renamed}");
    is_harmless(&place, &["cluster", "import", "cluster_8_ranks_seed_1/db", "-o", "set"]);
    for runs in ["cluster_8_ranks_seed_1/db", "set"] {
        let commands: [(&[&str], bool); 10] = [
            (&["cluster", runs], true),
            (&["cluster", "slow", runs], true),
            (&["cluster", "slow", runs, "--rank", "1"], true),
            (&["cluster", "info", runs], true),
            (&["cluster", "summary", runs], false),
            (&["cluster", "comm", runs], false),
            (&["cluster", "experts", runs], false),
            (&["cluster", "compare", runs, runs], false),
            (&["cluster", runs, "--json"], false),
            (&["cluster", "export", runs, "--format", "csv", "-o", "tables"], false),
        ];
        for (arguments, names) in commands {
            let shown = is_harmless(&place, arguments).stdout;
            assert_eq!(shown.contains("\\u{1b}[2J"), names, "{arguments:?}: {shown}");
            assert!(!shown.lines().any(|line| line.starts_with("error: forged")), "{arguments:?}: {shown}");
        }
        let table = std::fs::read_to_string(place.path("tables/ranks.csv")).expect("the table");
        assert!(table.contains("'=1+1") && !table.contains(",\"=1+1"), "{table}");
    }
    let report = ["msprof-analyze", "cluster", "-m", "all", "-d", "cluster_8_ranks_seed_1/db", "-o", "out"];
    is_harmless(&place, &report);
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

#[test]
fn words_of_a_wrong_command_line_are_shown_and_do_nothing() {
    let place = Place::new();
    // A shell puts names of files there: `opscope compare *`.
    let name = "--\u{202e}gpj\u{1b}[2J\u{7}\nerror: forged";
    let tools: [&[&str]; 2] = [&["load_and_run", "m.onnx", name], &["profile_analyze", "a.json", name]];
    for arguments in [&["compare", "a", name][..], &[name]].into_iter().chain(tools) {
        let answer = is_harmless(&place, arguments);
        assert_eq!(answer.status, Some(2), "{}", answer.stderr);
        assert!(answer.stderr.contains("\\u202egpj"), "{arguments:?}: {}", answer.stderr);
        assert!(!answer.stderr.contains("\nerror: forged"), "{arguments:?}: {}", answer.stderr);
    }
}

#[cfg(unix)]
#[test]
fn line_breaks_in_names_make_up_no_messages() {
    let place = Place::new();
    let name = "missing\nerror: forged\nwarning: forged";
    place.write("a.json", timeline(500));
    let database = format!("/nowhere/{name}.db");
    for arguments in [
        &["analyze", name][..],
        &["explain", name],
        &["cluster", name],
        &["export", "all", name],
        &["import", "a.json", "--db", &database],
        &["collect", "--", name],
        &["run", name],
        &["profile_analyze", name],
    ] {
        let answer = is_harmless(&place, arguments);
        assert_ne!(answer.status, Some(0), "{arguments:?}");
        assert!(answer.stderr.contains("forged"), "{arguments:?}: {}", answer.stderr);
        let forged = |line: &str| line.starts_with("error: forged") || line.starts_with("warning: forged");
        assert!(!answer.stderr.lines().any(forged), "{arguments:?}: {}", answer.stderr);
    }
}

#[test]
fn a_name_as_long_as_a_file_can_make_it_is_no_width_of_a_column() {
    let place = Place::new();
    place.done(&["sample", "prof", "--tasks", "10", "-o", "runs"]);
    let folder = place.path("runs").read_dir().expect("the folder").flatten().next().expect("a directory");
    let path = folder.path().join("host/info.json");
    let text = std::fs::read_to_string(&path).expect("the host's facts");
    let mut facts: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    facts["jobInfo"] = "job".repeat(100_000).into();
    std::fs::write(&path, facts.to_string()).expect("a change");
    for command in ["query", "info"] {
        let answer = place.done(&[command, "runs"]);
        let longest = answer.stdout.lines().map(str::len).max().unwrap_or(0);
        assert!(longest < 400_000 && answer.stdout.len() < 1_000_000, "{command}: {longest}");
    }
}

#[test]
fn a_compressed_file_that_holds_more_than_the_memory_is_refused() {
    use std::io::Write;
    let place = Place::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let event = r#"{"ph": "X", "name": "gemm", "cat": "kernel", "ts": 1, "dur": 2, "pid": 0, "tid": 7}"#;
    packer.write_all(format!("[{event},").as_bytes()).expect("memory");
    packer.write_all(&vec![b' '; 30 << 20]).expect("memory");
    packer.write_all(format!("{event}]").as_bytes()).expect("memory");
    place.write("spaces.json.gz", packer.finish().expect("memory"));
    for command in ["import", "analyze"] {
        place.fails(
            1,
            &["spaces.json.gz", "10.0 MiB", "--memory"],
            &[command, "spaces.json.gz", "--memory", "30MiB"],
        );
    }
    assert!(place.done(&["analyze", "spaces.json.gz", "--memory", "200MiB"]).stdout.contains("gemm"));
}

#[test]
fn names_in_a_report_end_no_element_and_come_back_as_they_are() {
    let place = Place::new();
    let name =
        r#"</script><script>alert(1)</script><img src=x onerror=alert(1)>\u202egpj\u2028\u0000'\"&amp;"#;
    let long = "long".repeat(1 << 18);
    for name in [name, &long] {
        place.write("a.json", timeline_of(name, 500));
        is_harmless(&place, &["report", "a.json"]);
        let html =
            std::fs::read_to_string(place.path("a.html")).expect("the report, named after the profile");
        // The page's own script comes last, and may speak of elements.
        let (profile, _) = html.rsplit_once("<script>").expect("the page's script");
        assert_eq!((profile.matches("<script").count(), profile.matches("</script").count()), (2, 2));
        assert_eq!((profile.matches("<img").count(), profile.matches("<pre>alert").count()), (0, 0));
        assert!(!profile.contains(['\u{2028}', '\0']));
        let (answers, columns) = common::report(&html);
        let container = opscope_web::columns::Container::read(&columns).expect("columns");
        let strings = container.strings("strings", "text").expect("the names");
        let expected: String = serde_json::from_str(&format!("\"{name}\"")).expect("a name");
        match name.len() {
            ..1_000 => assert!(strings.contains(&expected), "{strings:?}"),
            _ => assert_eq!(answers["left_out"]["names_cut"], 1),
        }
    }
}
