//! `opscope collect` on real programs: in C, in Python, and in a shell.

#![cfg(target_os = "linux")]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Answer, Place};
use opscope_testing::companions;
use serde_json::Value;

/// Collects without reading the result, and gives the answer and the profile.
fn collected(place: &Place, arguments: &[&str]) -> (Answer, PathBuf) {
    let arguments: Vec<&str> = ["collect", "--no-parse"].iter().chain(arguments).copied().collect();
    let answer = place.run(&arguments);
    let path = PathBuf::from(answer.stdout.lines().last().unwrap_or_default());
    assert!(path.join("host/info.json").is_file(), "{}\n{}", answer.stdout, answer.stderr);
    (answer, path)
}

/// All text of the marks of a profile.
fn texts(profile: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(profile.join("host/data")).expect("the data").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains("msproftx") && !name.ends_with(".done") {
            assert!(entry.path().with_file_name(format!("{name}.done")).exists(), "{name} is complete");
            let bytes = std::fs::read(entry.path()).expect("a slice");
            assert_eq!(bytes.len() % 256, 0);
            texts.extend(bytes.chunks(256).map(|record| {
                let text = record[100..].split(|byte| *byte == 0).next().unwrap_or_default();
                String::from_utf8_lossy(text).into_owned()
            }));
        }
    }
    texts.sort();
    texts
}

/// Where the Python package lies.
fn package() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python").display().to_string()
}

#[test]
fn the_program_keeps_its_input_output_environment_and_status() {
    let place = Place::new();
    let mut command = place.command(&["collect", "--no-parse", "--environment=GREETING=hello;BAD", "--"]);
    command.args([
        "sh",
        "-c",
        "read line; echo \"$GREETING $line $1\"; echo complaint >&2; exit 42",
        "sh",
        "a b",
    ]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("its input"), b"world\n").expect("a pipe");
    let answer = Answer::from(child.wait_with_output().expect("the program ends"));
    assert_eq!(answer.status, Some(42));
    assert_eq!(answer.stdout.lines().next(), Some("hello world a b"));
    assert!(answer.stderr.contains("complaint") && answer.stderr.contains("'BAD'"), "{}", answer.stderr);
    let last = answer.stdout.lines().last().expect("the path");
    let name = Path::new(last).file_name().expect("a name").to_string_lossy().into_owned();
    let parts: Vec<&str> = name.split('_').collect();
    assert_eq!((parts.len(), parts[0], parts[1], parts[2].len()), (4, "PROF", "000001", 17), "{name}");
    assert!(parts[3].bytes().all(|letter| (b'A'..=b'R').contains(&letter)), "{name}");
}

#[test]
fn own_failures_have_their_own_status() {
    let place = Place::new();
    place.write("plain.txt", "text");
    for (status, says, arguments) in [
        (127, "PATH", &["--", "no-such-program-here"][..]),
        (126, "chmod", &["--", "./plain.txt"]),
        (125, "name the program", &[]),
        (125, "';'", &["--output=a;b", "--", "true"]),
        (125, "on, off", &["--ai-core=maybe", "--", "true"]),
        (125, "1 to 100 Hz", &["--aic-freq=0", "--", "true"]),
        (125, "no process", &["--host-sys-pid=999999999", "--host-sys=cpu"]),
        (125, "200", &["--storage-limit=100MB", "--", "true"]),
    ] {
        let arguments: Vec<&str> = ["collect"].iter().chain(arguments).copied().collect();
        place.fails(status, &[says], &arguments);
    }
    assert_eq!(place.files(), ["plain.txt"], "nothing was made");
}

#[test]
fn a_signal_ends_the_program_and_its_status_says_so() {
    let place = Place::new();
    let (answer, _) = collected(&place, &["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(answer.status, Some(137));
    assert!(answer.stderr.contains("opscope explain"), "{}", answer.stderr);

    let mut command = place.command(&[
        "collect",
        "--no-parse",
        "--",
        "sh",
        "-c",
        "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut output = std::io::BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).expect("a line");
    assert_eq!(line, "up\n");
    let killed = Command::new("kill").arg(child.id().to_string()).status().expect("kill");
    assert!(killed.success());
    assert_eq!(child.wait().expect("an end").code(), Some(7), "the program answered the signal itself");
}

#[test]
fn samples_of_the_host_include_children_and_become_tables() {
    let place = Place::new();
    let script = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done' & wait";
    let arguments = ["collect", "--host-sys=cpu,mem,disk,network", "--", "sh", "-c", script];
    let answer = place.done(&arguments);
    let profile = PathBuf::from(answer.stdout.lines().last().expect("the path"));
    let cpu = std::fs::read_to_string(profile.join("host/data/host_cpu.data.slice_0")).expect("samples");
    let mut processes: Vec<&str> =
        cpu.lines().filter(|line| line.contains('(')).filter_map(|line| line.split(' ').next()).collect();
    processes.sort_unstable();
    processes.dedup();
    assert!(processes.len() >= 2, "{processes:?}");
    let tables = std::fs::read_dir(profile.join("mindstudio_profiler_output")).expect("tables");
    let names: Vec<String> =
        tables.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    for kind in ["host_cpu_usage", "host_mem_usage", "host_disk_usage", "host_network_usage", "msprof_"] {
        assert!(names.iter().any(|name| name.starts_with(kind)), "no {kind} among {names:?}");
    }
    assert!(answer.stdout.contains("Job Info"), "{}", answer.stdout);
}

#[test]
fn recording_begins_and_ends_when_it_was_asked_to() {
    let place = Place::new();
    let Some(python) = companions::python() else { return };
    let script = place.write(
        "marks.py",
        "import time, opscope\nfor i in range(60):\n    opscope.mark('%02d' % i)\n    time.sleep(0.1)\n",
    );
    let (python, script) = (python.display().to_string(), script.display().to_string());
    let environment = format!("--environment=PYTHONPATH={}", package());
    let (answer, profile) =
        collected(&place, &["--delay=1s", "--duration=1s", &environment, "--", &python, &script]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    let texts = texts(&profile);
    // A second of marks, each a tenth of a second apart; a busy machine takes longer for them.
    assert!((2..=12).contains(&texts.len()), "{texts:?}");
    assert!(!texts.contains(&"59".to_owned()), "{texts:?}");
    assert!(answer.stderr.contains("duration"), "{}", answer.stderr);
}

#[test]
fn time_that_a_python_program_slept_in_a_range_is_shown_and_advised_on() {
    let place = Place::new();
    let Some(python) = companions::python() else {
        return;
    };
    let script = place.write(
        "detect.py",
        "import threading, time, opscope
def work():
    with opscope.range('decode'):
        time.sleep(0.01)
with opscope.range('main'):
    with opscope.range('CreateStreams'):
        time.sleep(0.3)
    with opscope.range('workers'):
        threads = [threading.Thread(target=work) for _ in range(2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
",
    );
    let (python, script) = (python.display().to_string(), script.display().to_string());
    let environment = format!("--environment=PYTHONPATH={}", package());
    let answer = place.done(&["collect", &environment, "--html", "page.html", "--", &python, &script]);
    let ending = |end: &str| answer.stdout.lines().any(|line| line.ends_with(end));
    assert!(ending("  main") && ending("    CreateStreams") && ending("  decode"), "{}", answer.stdout);
    let profile = answer.stdout.lines().last().expect("the profile's path").to_owned();
    let analysed = place.done(&["analyze", &profile, "--json"]).json();
    let rows = analysed["ranges"]["rows"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}"));
    assert!(row("CreateStreams")["uncovered_ns"].as_i64() >= Some(300_000_000), "{analysed:#}");
    assert!(row("main")["own_ns"].as_i64() < Some(300_000_000), "{analysed:#}");
    assert_eq!((&row("decode")["count"], &row("decode")["threads"]), (&2.into(), &2.into()));
    let advice = place.done(&["advise", &profile, "--json"]).json();
    let first = &advice["findings"][0];
    assert_eq!(first["id"], "A33", "{advice:#}");
    assert_eq!(first["evidence"][0]["name"], "main / CreateStreams");

    let html = std::fs::read_to_string(place.path("page.html")).expect("the page");
    let (answers, columns) = common::report(&html);
    assert_eq!(answers["advice"]["findings"][0]["evidence"], first["evidence"]);
    assert_eq!(answers["about"]["path"], Value::from(profile));
    let container = opscope_web::columns::Container::read(&columns).expect("columns");
    let marked: u64 = rows.iter().map(|row| row["count"].as_u64().expect("a count")).sum();
    assert_eq!(container.count("slices").expect("the table") as u64, marked);
    for (options, says) in
        [(&["--no-parse"][..], "--no-parse"), (&["--dynamic=on"], "opscope report PROFILE")]
    {
        place.fails(
            125,
            &["--html", says],
            &[&["collect", "--html", "x.html"], options, &["--", "true"]].concat(),
        );
    }
    place.fails(125, &["none/x.html"], &["collect", "--html", "none/x.html", "--", "touch", "touched"]);
    assert!(!place.path("touched").exists(), "the program isn't run for a page that can't be written");
}

#[test]
fn python_marks_itself_by_the_package_and_by_the_stand_in_of_acl() {
    let place = Place::new();
    let Some(python) = companions::python() else {
        return;
    };
    let script = place.write(
        "detect.py",
        "import acl, sys
stamp = acl.prof.create_stamp()
assert stamp, stamp
assert acl.prof.set_stamp_trace_message(stamp, 'x' * 128, 128) != 0
assert acl.prof.set_stamp_trace_message(stamp, 'detect', 6) == 0
assert acl.prof.push(stamp) == 0
assert acl.prof.pop() == 0 and acl.prof.pop() != 0
range_id, ret = acl.prof.range_start(stamp)
assert ret == 0 and acl.prof.range_stop(range_id) == 0 and acl.prof.range_stop(range_id) != 0
assert acl.prof.mark(stamp) == 0 and acl.prof.mark(12345) != 0
assert acl.prof.mark_ex('ex', 1) == 0
# Programs count letters, of which these have three bytes each.
for letters, length in (('读取图像', 4), ('读' * 60, 60), (b'bytes', 4)):
    assert acl.prof.set_stamp_trace_message(stamp, letters, length) == 0
    assert acl.prof.mark(stamp) == 0
assert acl.prof.destroy_stamp(stamp) is None
import opscope
@opscope.range('decorated')
def work():
    with opscope.range('inner', domain='mine', payload=3):
        pass
work(); work()
",
    );
    let (python, script) = (python.display().to_string(), script.display().to_string());
    let (answer, profile) = collected(&place, &["--acl-shim", "--", &python, &script]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    // As many of the 60 letters as 127 bytes hold.
    let long = "读".repeat(42);
    let mut expected =
        vec!["byte", "decorated", "decorated", "detect", "detect", "detect", "ex", "inner", "inner"];
    expected.extend(["读取图像", &long]);
    expected.sort_unstable();
    assert_eq!(texts(&profile), expected);
    let imported = place.done(&["import", &profile.display().to_string()]).stdout;
    assert!(imported.contains("decorated") && !imported.contains("910B"), "{imported}");
    // Each of the two pops and stops too many is counted.
    assert!(answer.stderr.contains("2 pops or stops"), "{}", answer.stderr);

    // A module of that name that is there is the program's own.
    place.write("acl.py", "prof = None");
    place.write("own.py", "import acl; assert acl.prof is None");
    let own = place.path("own.py").display().to_string();
    let (answer, _) = collected(&place, &["--acl-shim", "--", &python, &own]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
}

#[test]
fn a_python_program_annotated_with_nvtx_is_recorded_unchanged() {
    let place = Place::new();
    let Some(python) = companions::python_with("nvtx") else { return };
    let script = place.write(
        "annotated.py",
        "import nvtx
with nvtx.annotate('load', color='green'):
    pass
@nvtx.annotate('infer', domain='model', category='hot', payload=7)
def infer():
    nvtx.mark('inside')
infer()
r = nvtx.start_range('free')
nvtx.end_range(r)
",
    );
    let (python, script) = (python.display().to_string(), script.display().to_string());
    let (answer, profile) = collected(&place, &["--", &python, &script]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    assert_eq!(texts(&profile), ["free", "infer", "inside", "load"], "{}", answer.stderr);
}

#[test]
fn sessions_of_onnxruntime_land_on_the_clock_of_the_marks() {
    let place = Place::new();
    let Some(python) = companions::python() else { return };
    let model = place.sample("mask-ssd");
    let script = place.write(
        "infer.py",
        format!(
            "import sys, numpy, onnxruntime, opscope
class Mine(onnxruntime.InferenceSession):
    pass
options = onnxruntime.SessionOptions()
session = Mine({model:?}, options)
assert isinstance(session, onnxruntime.InferenceSession) and not options.enable_profiling
other = onnxruntime.InferenceSession(open({model:?}, 'rb').read(), options)
del other
image = numpy.zeros([1, 3, 260, 260], numpy.float32)
for i in range(3):
    with opscope.range('infer'):
        session.run(None, {{session.get_inputs()[0].name: image}})
sys.exit(5)
"
        ),
    );
    let (python, script) = (python.display().to_string(), script.display().to_string());
    let mut command = place.command(&["collect", "--acl-shim", "--", &python, &script]);
    let answer = Answer::from(command.output().expect("the program starts"));
    assert_eq!(answer.status, Some(5), "{}\n{}", answer.stdout, answer.stderr);
    let profile = answer.stdout.lines().last().expect("the path").to_owned();
    assert!(answer.stdout.contains("Conv") && answer.stdout.contains("infer"), "{}", answer.stdout);
    // Nothing was added to the folder of the program.
    let files = place.files();
    assert!(!files.iter().any(|name| name.contains("onnxruntime")), "{files:?}");

    let database = place.path("x.db").display().to_string();
    place.done(&["import", &profile, "--db", &database]);
    let database = rusqlite::Connection::open(place.path("x.db")).expect("a database");
    let count = |query: &str| database.query_row(query, [], |row| row.get::<_, i64>(0)).expect(query);
    assert_eq!(count("SELECT count(*) FROM ranges"), 3);
    // Every run of the model lies within its mark, to the microsecond that its times have.
    let within = "SELECT count(*) FROM iterations AS i JOIN ranges AS r ON i.start_ns >= r.start_ns - 2000 \
                  AND i.start_ns + i.duration_ns <= r.start_ns + r.duration_ns + 2000";
    assert_eq!(count(within), 3, "iterations within marks");

    // And every operator is a slice of the timeline, below the mark of its run.
    let results = std::fs::read_dir(Path::new(&profile).join("mindstudio_profiler_output"));
    let is_whole = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("msprof_2") && name.ends_with(".json")
    };
    let mut paths = results.expect("the results").flatten().map(|entry| entry.path());
    let timeline = std::fs::read(paths.find(is_whole).expect("a timeline")).expect("a file");
    let events: Vec<serde_json::Value> = serde_json::from_slice(&timeline).expect("JSON");
    let span = |event: &serde_json::Value| {
        let start: f64 = event["ts"].as_str().expect("a time").parse().expect("a number");
        (start, start + event["dur"].as_f64().expect("a duration"))
    };
    let slices = |wanted: &dyn Fn(&serde_json::Value) -> bool| -> Vec<(f64, f64)> {
        events.iter().filter(|event| event["ph"] == "X" && wanted(event)).map(span).collect()
    };
    let marks = slices(&|event| event["name"] == "infer");
    let convolutions = slices(&|event| event["args"]["OP Type"] == "Conv");
    let lies_in =
        |operator: &(f64, f64), mark: &(f64, f64)| mark.0 - 2.0 <= operator.0 && operator.1 <= mark.1 + 2.0;
    let each = marks.iter().map(|mark| convolutions.iter().filter(|it| lies_in(it, mark)).count());
    let each: Vec<usize> = each.collect();
    assert_eq!(
        (each.len(), each.iter().sum::<usize>()),
        (3, convolutions.len()),
        "operators outside of marks"
    );
    assert!(each[0] > 10 && each.iter().all(|count| *count == each[0]), "{each:?}");
    let processes: Vec<&serde_json::Value> =
        events.iter().filter(|event| event["name"] == "process_name").collect();
    let is_engine =
        |event: &&&serde_json::Value| event["args"]["name"] == "ONNX Runtime (CPUExecutionProvider)";
    assert_eq!(processes.iter().filter(is_engine).count(), 1, "{processes:?}");
}

#[test]
fn two_collectors_do_not_disturb_each_other() {
    let place = Place::new();
    let start = || {
        let mut command = place.command(&["collect", "--no-parse", "--host-sys=cpu", "--", "sleep", "0.5"]);
        command.stdout(Stdio::piped()).spawn().expect("the program starts")
    };
    let both = [start(), start()].map(|child| Answer::from(child.wait_with_output().expect("an end")));
    let paths = both.each_ref().map(|answer| answer.stdout.trim().to_owned());
    assert_ne!(paths[0], paths[1]);
    for (answer, path) in both.iter().zip(&paths) {
        assert_eq!(answer.status, Some(0));
        assert!(Path::new(path).join("host/data/host_cpu.data.slice_0.done").is_file());
    }
}

#[test]
fn msprofs_own_spelling_does_the_same() {
    let place = Place::new();
    let words = [
        "--application=sh -c 'echo from within; sleep 0.5'",
        "--output=out",
        "--msproftx=on",
        "--host-sys=mem",
    ];
    let answer = place.done(&[&["msprof"][..], &words].concat());
    assert!(answer.stdout.starts_with("from within\n"), "{}", answer.stdout);
    let path = answer.stdout.lines().last().expect("the path");
    assert!(path.contains("/out/PROF_000001_"), "{path}");
    let sample: Value = serde_json::from_slice(
        &std::fs::read(Path::new(path).join("host/sample.json")).expect("sample.json"),
    )
    .expect("JSON");
    assert_eq!(sample["msproftx"], "on");
    assert_eq!(sample["devices"], "64");
}

#[test]
fn an_empty_collection_ends_with_a_word_and_status_1_and_names_what_was_asked_for_in_vain() {
    let place = Place::new();
    let answer = place.fails(
        1,
        &["nothing was recorded: ", "nothing was recorded for --aic-metrics: ", "CANN's runtime"],
        &["msprof", "--output=out", "--aic-metrics=MemoryUB", "true"],
    );
    assert!(answer.stdout.lines().last().expect("the path").contains("/out/PROF_"), "{}", answer.stdout);
    // A program's own failure counts more.
    place.fails(3, &["nothing was recorded: "], &["collect", "--", "sh", "-c", "exit 3"]);
    place.done(&["collect", "--host-sys=mem", "--", "sleep", "0.5"]);
    let says = ["groups of counters only", "PipeUtilization"];
    place.fails(1, &says, &["collect", "--aic-metrics=Custom:0x49", "--", "true"]);
    place.fails(1, &["--ai-core=on"], &["collect", "--aic-metrics=Memory", "--task-time=l0", "--", "true"]);
    place.fails(1, &["--via=files"], &["collect", "--aic-metrics=Memory", "--via=subscribe", "--", "true"]);
    place.fails(
        1,
        &["--sys-io-profiling", "CANN's own msprof"],
        &["collect", "--sys-io-profiling=on", "--", "true"],
    );
}

#[test]
fn known_messages_are_explained() {
    let place = Place::new();
    let answer = place.done(&[
        "explain",
        "error while loading shared libraries: libpython3.9.so.1.0: cannot open shared object file",
    ]);
    assert!(answer.stdout.contains("--enable-shared") && answer.stdout.contains("LD_LIBRARY_PATH"));
    let answer = place.done(&["explain", "E10001:", "Value [-1] for [data_1] is invalid"]);
    assert!(answer.stdout.contains("--input_shape"));
    place.fails(1, &["nothing is known"], &["explain", "all is well"]);
    assert!(place.done(&["explain"]).stdout.contains("soft-link"));
}

/// The rows of a table as text, with times (which end in a tab) as numbers.
fn rows(folder: &Path, kind: &str) -> Vec<(Vec<String>, Vec<f64>)> {
    let entries = std::fs::read_dir(folder).expect("the outputs").flatten();
    let mut paths = entries.map(|entry| entry.path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(kind) && name.ends_with(".csv")
    };
    let path = paths.find(is_it).unwrap_or_else(|| panic!("no {kind} in {}", folder.display()));
    let text = std::fs::read_to_string(path).expect("a table");
    text.lines()
        .skip(1)
        .map(|line| {
            let (times, others): (Vec<&str>, Vec<&str>) =
                line.split(',').partition(|cell| cell.ends_with('\t'));
            let number = |cell: &&str| cell.trim_end().parse().expect("a time");
            (others.into_iter().map(str::to_owned).collect(), times.iter().map(number).collect())
        })
        .collect()
}

#[test]
fn the_vendors_parser_reads_the_same_rows_without_complaint() {
    let place = Place::new();
    let (Some(python), Some(parser)) = (companions::python(), companions::vendor_parser()) else { return };
    let script = place.write(
        "marks.py",
        "import acl, opscope, time
for i in range(50):
    with opscope.range('step %d' % i):
        opscope.mark('ä' * i)
with opscope.range('x' * 400, domain='mine'):
    time.sleep(0.2)
opscope.range_end(opscope.range_start('free', category=3, payload=4))
",
    );
    let (python, script) = (python.display().to_string(), script.display().to_string());
    let arguments = ["collect", "--acl-shim", "--host-sys=cpu,mem,disk,network", "--", &python, &script];
    let answer = place.done(&arguments);
    let profile = PathBuf::from(answer.stdout.lines().last().expect("the path"));
    let ours = place.path("ours");
    std::fs::rename(profile.join("mindstudio_profiler_output"), &ours).expect("our outputs");
    for words in [&["import"][..], &["export", "summary"], &["export", "timeline"]] {
        let mut command = Command::new("python3");
        command.arg(&parser).args(words).arg("-dir").arg(&profile);
        let output = command.output().expect("the vendor's parser starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && !text.contains("[ERROR]"), "{words:?}: {text}");
    }
    let theirs = profile.join("mindstudio_profiler_output");
    let by_time = |mut rows: Vec<(Vec<String>, Vec<f64>)>| {
        rows.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]).then_with(|| a.0.cmp(&b.0)));
        rows
    };
    let (mine, reference) = (by_time(rows(&ours, "msprof_tx")), by_time(rows(&theirs, "msprof_tx")));
    assert_eq!(mine.len(), 102);
    assert_eq!(mine.len(), reference.len());
    for (mine, reference) in mine.iter().zip(&reference) {
        assert_eq!(mine.0, reference.0);
        for (a, b) in mine.1.iter().zip(&reference.1) {
            // A double has steps of a quarter of a microsecond at present-day times.
            assert!((a - b).abs() <= 0.25, "{a} and {b} in {mine:?}");
        }
    }
    for kind in ["host_cpu_usage", "host_mem_usage", "host_disk_usage", "host_network_usage"] {
        assert_eq!(rows(&ours, kind), rows(&theirs, kind), "{kind}");
    }
}

#[test]
fn sampling_a_running_process_ends_when_it_is_interrupted() {
    let place = Place::new();
    let mut sampled = Command::new("sleep").arg("60").spawn().expect("sleep");
    let pid = format!("--host-sys-pid={}", sampled.id());
    let mut command = place.command(&["collect", "--host-sys=cpu,mem", &pid]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("opscope starts");
    std::thread::sleep(std::time::Duration::from_millis(900));
    let stopped = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(stopped.success());
    let answer = Answer::from(child.wait_with_output().expect("an end"));
    assert!(sampled.try_wait().expect("a status").is_none(), "the process runs on");
    sampled.kill().expect("an end");
    let _ = sampled.wait();
    assert_eq!(answer.status, Some(130), "{}", answer.stderr);
    let profile = PathBuf::from(answer.stdout.lines().last().expect("the path"));
    assert!(profile.join("host/data/host_mem.data.slice_0.done").is_file(), "{}", answer.stdout);
    assert!(answer.stdout.contains("Job Info"), "{}", answer.stdout);
}
