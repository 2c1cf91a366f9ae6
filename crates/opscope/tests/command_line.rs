//! The program as such: help, version, completions, manual, exit status.

mod common;

use common::Place;

#[test]
fn every_command_has_a_help_text_with_examples() {
    let place = Place::new();
    let help = place.done(&["--help"]).stdout;
    assert!(help.contains("Exit status:") && help.contains("NO_COLOR"), "{help}");
    for command in ["demo", "run", "import", "sample", "completions", "man"] {
        assert!(help.contains(&format!("  {command} ")), "{command} is missing in:\n{help}");
        let help = place.done(&[command, "--help"]).stdout;
        assert!(help.contains("Examples:") && help.contains(&format!("opscope {command}")), "{help}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = Place::new().done(&["--version"]).stdout;
    assert_eq!(version.trim(), format!("opscope {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_the_commands_and_options() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.done(&["completions", shell]).stdout;
        assert!(script.contains("opscope") && script.contains("optimize"), "{shell}: {script}");
    }
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        let script = place.done(&["completions", shell, "--lang", "zh"]).stdout;
        assert!(script.contains("写出示例模型") && script.contains("optimize"), "{shell}: {script}");
        assert!(!script.contains('\u{a0}'), "{shell}: {script}");
    }
    // These two show the meanings of values, which are in the reader's language too.
    for shell in ["zsh", "fish"] {
        let english = place.done(&["completions", shell]).stdout;
        assert!(english.contains("Each operator is launched anew in every inference"), "{shell}: {english}");
        let chinese = place.done(&["completions", shell, "--lang", "zh"]).stdout;
        assert!(chinese.contains("昇腾 910B"), "{shell}: {chinese}");
        assert!(!chinese.contains("Each operator is launched anew in every inference"), "{shell}: {chinese}");
    }
    let script = place.write("completion.bash", place.done(&["completions", "bash"]).stdout);
    let checked = std::process::Command::new("bash").arg("-n").arg(&script).status();
    assert!(checked.is_ok_and(|status| status.success()), "bash can't read the script");
}

#[test]
fn the_manual_is_a_man_page_for_the_program_and_for_each_command() {
    let place = Place::new();
    let page = place.done(&["man"]).stdout;
    assert!(page.contains(".TH opscope") && page.contains(".SH SUBCOMMANDS"), "{page}");
    let page = place.done(&["man", "run"]).stdout;
    assert!(page.contains(".TH opscope-run") && page.contains("onnxruntime"), "{page}");
    let chinese = place.done(&["man", "run", "--lang", "zh"]).stdout;
    assert!(chinese.contains(".SH 选项\n") && chinese.contains("\\-\\-threads"), "{chinese}");
    assert!(!chinese.contains('\u{a0}') && !chinese.contains(".SH OPTIONS"), "{chinese}");
    place.fails(2, &["no command 'fly'"], &["man", "fly"]);
}

#[test]
fn a_wrong_command_line_ends_with_status_2_and_says_what_is_right() {
    let place = Place::new();
    place.fails(2, &["unrecognized subcommand 'rum'", "run"], &["rum"]);
    place.fails(2, &["--iterations"], &["run", "model.onnx", "--iterations", "0"]);
    place.fails(2, &["NAME=N"], &["run", "model.onnx", "--dim", "batch"]);
    place.fails(2, &["parsecs"], &["run", "model.onnx", "--duration", "5parsecs"]);
}

#[test]
fn several_profiles_where_one_is_taken_are_named_with_what_to_do() {
    let place = Place::new();
    for name in ["a.json", "b.json", "c\u{1b}[2J.json"] {
        place.write(name, "[]");
    }
    for command in ["show", "analyze", "advise", "report", "import", "info", "query"] {
        let said = place
            .fails(
                2,
                &["unexpected argument", "2 profiles", "opscope compare A B"],
                &[command, "a.json", "b.json", "-q"],
            )
            .stderr;
        assert!(
            said.contains("a.json, b.json") && said.contains(&format!("do opscope {command} ")),
            "{said}"
        );
    }
    let said = place.fails(2, &["3 profiles"], &["show", "a.json", "b.json", "c\u{1b}[2J.json"]).stderr;
    assert!(!said.contains('\u{1b}'), "{said:?}");
    // A word that is no file isn't taken for a profile.
    let said = place.fails(2, &["unexpected argument 'more'"], &["show", "a.json", "more"]).stderr;
    assert!(!said.contains("profiles are named"), "{said}");
}

#[test]
fn output_into_a_pipe_has_no_colours() {
    let place = Place::new();
    let list = place.done(&["sample", "--list"]).stdout;
    assert!(list.contains("mask-ssd") && !list.contains('\u{1b}'), "{list:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    for name in ["a", "b"] {
        place.done(&["sample", "prof", "-o", &format!("several/{name}"), "--tasks", "10"]);
    }
    for command in [&["man"][..], &["query", "-q", "several"], &["export", "summary", "-q", "several"]] {
        let mut child = place
            .command(command)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("error") && !said.contains("Broken pipe"), "{command:?}: {said}");
        assert_eq!(output.status.code(), Some(0), "{command:?}");
    }
}

#[test]
fn topics_are_explained_in_two_languages_and_found_by_their_words() {
    let place = Place::new();
    let list = place.done(&["explain"]).stdout;
    for topic in ["units", "memory", "operators", "aipp", "fusion", "graph-fusion", "ub-fusion", "l2-fusion"]
    {
        assert!(list.lines().any(|line| line.trim_start().starts_with(topic)), "{topic} in\n{list}");
        let english = place.done(&["explain", topic]).stdout;
        let chinese = place.done(&["explain", topic, "--lang", "zh"]).stdout;
        assert!(english.is_ascii() || english.contains('…'), "{english}");
        assert!(chinese.contains('的') && chinese != english, "{chinese}");
    }
    for (words, expected) in [
        (&["L0C"][..], "the sums of the product"),
        (&["AI", "CPU"], "ordinary ARM cores"),
        (&["UB"], "Unified Buffer"),
        (&["cube"], "multiplies matrices"),
        (&["A29"], "fusion-pass-miss"),
        (&["soft-link"], "The vendor's collector refuses programs that are symbolic links"),
        (&["e02"], "the profile is reached through a symbolic link"),
        (&["Mish"], "G05"),
    ] {
        let arguments: Vec<&str> = ["explain"].iter().chain(words).copied().collect();
        let page = place.done(&arguments).stdout;
        assert!(page.contains(expected), "{words:?}: {page}");
    }
    assert!(place.done(&["explain", "--lang", "zh"]).stdout.contains("主题"));
    for message in ["soft-link", "E10001", "status 137", "/usr/bin/python3 is soft link, not support"] {
        let chinese = place.done(&["explain", message, "--lang", "zh"]).stdout;
        assert!(chinese.lines().next().is_some_and(|title| !title.is_ascii()), "{chinese}");
    }
    place.fails(1, &["nothing is known about 'memroy'", "did you mean 'memory'?"], &["explain", "memroy"]);
}

#[test]
fn a_duration_without_its_unit_is_refused_alike_by_every_command() {
    let place = Place::new();
    let commands: [(i32, &[&str]); 6] = [
        (2, &["run", "model.onnx"]),
        (2, &["tune", "model.onnx"]),
        (2, &["check", "--candidate", "model.onnx", "--baseline", "model.onnx"]),
        (2, &["peak"]),
        (125, &["collect", "--delay=3", "--", "true"]),
        (125, &["collect", "--duration=3", "--", "true"]),
    ];
    for (status, command) in commands {
        let duration = if command[0] == "collect" { &[][..] } else { &["--duration", "3"] };
        place.fails(status, &["3s", "3us"], &[command, duration].concat());
    }
}

#[cfg(unix)]
#[test]
fn under_the_names_of_megengines_tools_it_is_these() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    for name in ["load_and_run", "profile_analyze"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_opscope"), place.path(name)).expect("a link");
    }
    let called = |name: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(place.path(name));
        let output = command.args(arguments).current_dir(place.path("")).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let files = ["--profile", "out.json", "--profile-host=host.json"];
    let input = ["--input", "input:{1,3,224,224}", "--iter", "2", "--json"];
    let answer = called("load_and_run", &[&[model.as_str()], &input[..], &files[..]].concat());
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("the answer of run");
    assert_eq!(answer["latency"]["count"], 2);
    let table = called("profile_analyze", &["out.json", "-t", "2"]);
    assert!(table.contains("total device time"), "{table}");
    assert_eq!(table, place.done(&["profile_analyze", "out.json", "-t", "2"]).stdout);
    assert!(place.files().contains(&"host.json".to_owned()));
    place.fails(2, &["photo.ppm", ".npy"], &["load_and_run", &model, "--input", "input:photo.ppm"]);
}

#[cfg(unix)]
#[test]
fn the_faults_of_other_tools_command_lines_are_told_in_the_words_that_were_typed() {
    let place = Place::new();
    let typo = ["load_and_run", "model.onnx", "--proifle", "x.json"];
    place.fails(2, &["--proifle", "--profile", "Usage: opscope load_and_run MODEL.onnx [OPTIONS]"], &typo);
    for (option, value) in [("--iter", "0"), ("--warmup-iter", "x"), ("--multithread", "2000")] {
        let said = [&format!("{option}: expected a number"), &format!("found '{value}'")];
        place.fails(2, &said.map(String::as_str), &["load_and_run", "model.onnx", option, value]);
    }
    let faults = [
        ("load_and_run", &typo[1..], "Usage: load_and_run MODEL.onnx [OPTIONS]"),
        ("profile_analyze", &["--tpo", "3"], "profile_analyze: "),
        ("msprof", &["--aplication=./x", "./x"], "Usage: msprof [OPTIONS] [PROGRAM ARGS]..."),
        ("msprof.py", &["export", "timline"], "msprof --help"),
    ];
    for (name, arguments, said) in faults {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_opscope"), place.path(name)).expect("a link");
        let mut command = std::process::Command::new(place.path(name));
        let output = command.args(arguments).current_dir(place.path("")).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(said) && !text.contains("opscope run"), "{name} {arguments:?}: {text}");
    }
}
