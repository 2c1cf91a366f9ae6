//! `opscope collect` on a program of AscendCL, against a stand-in of its library that checks every call
//! and aborts on a wrong one. None of this was tried on hardware.

#![cfg(target_os = "linux")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Answer, Place};
use opscope_testing::companions;

/// Compiles the stand-in and a program that uses it; `None` (and a word about it) without a compiler.
fn compile(place: &Place) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ascendcl");
    let folder = place.path("");
    let compiled = |arguments: &[&str]| {
        let mut compiler = Command::new("cc");
        let output = companions::output(compiler.args(arguments).current_dir(&folder))?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(())
    };
    let (fake, program) = (sources.join("fake.c"), sources.join("program.c"));
    let library =
        ["-shared", "-fPIC", "-O1", "-o", "libascendcl.so", &fake.display().to_string(), "-lpthread"];
    let main =
        ["-O1", "-o", "infer", &program.display().to_string(), "-L.", "-lascendcl", "-Wl,-rpath,$ORIGIN"];
    compiled(&library).and_then(|()| compiled(&main))?;
    Some(folder)
}

/// Collects from the program, which must end well, and gives the answer, the profile and the calls
/// for profiling that the stand-in saw.
fn collect(place: &Place, options: &[&str], words: &[&str]) -> (Answer, PathBuf, Vec<String>) {
    let log = place.path("log");
    let _ = std::fs::remove_file(&log);
    let arguments: Vec<&str> =
        ["collect"].iter().chain(options).chain(&["--", "./infer"]).chain(words).copied().collect();
    let output = place.command(&arguments).env("FAKE_LOG", &log).output().expect("the program starts");
    let answer = Answer::from(output);
    assert_eq!(answer.status, Some(0), "{}\n{}", answer.stdout, answer.stderr);
    let profile = PathBuf::from(answer.stdout.lines().last().expect("the path"));
    let log = std::fs::read_to_string(log).unwrap_or_default();
    assert!(!log.contains("WRONG"), "{log}");
    (answer, profile, log.lines().map(str::to_owned).collect())
}

fn count(place: &Place, profile: &Path, query: &str) -> i64 {
    let database = place.path("x.db");
    let _ = std::fs::remove_file(&database);
    place.done(&["import", &profile.display().to_string(), "--db", &database.display().to_string()]);
    let database = rusqlite::Connection::open(database).expect("a database");
    database.query_row(query, [], |row| row.get(0)).expect(query)
}

#[test]
fn calls_and_subscribed_operators_lie_on_one_timeline() {
    let place = Place::new();
    if compile(&place).is_none() {
        return;
    }
    let (answer, profile, log) = collect(&place, &["--via=subscribe"], &[]);
    assert!(answer.stdout.starts_with("inferred\n") && answer.stdout.contains("Conv2D"), "{}", answer.stdout);
    let expected = [
        "aclInit",
        "aclprofCreateSubscribeConfig",
        "aclprofModelSubscribe 1",
        "aclprofModelUnSubscribe 1",
        "aclrtResetDevice",
        "aclprofDestroySubscribeConfig",
        "aclFinalize",
    ];
    assert_eq!(log, expected);
    assert_eq!(
        count(&place, &profile, "SELECT count(*) FROM api_call_details WHERE name = 'aclmdlExecute'"),
        5
    );
    assert_eq!(count(&place, &profile, "SELECT count(*) FROM tasks"), 15);
    // Every operator lies within the call that executed it.
    let within = "SELECT count(*) FROM tasks AS t JOIN api_call_details AS c ON c.name = 'aclmdlExecute' \
                  AND t.start_ns >= c.start_ns AND t.start_ns + t.duration_ns <= c.start_ns + c.duration_ns";
    assert_eq!(count(&place, &profile, within), 15);
    // The calls are in the tables of the vendor's layout as well.
    let tables = std::fs::read_dir(profile.join("mindstudio_profiler_output")).expect("tables");
    let table = tables.flatten().find(|it| it.file_name().to_string_lossy().starts_with("api_statistic"));
    let text = std::fs::read_to_string(table.expect("api_statistic").path()).expect("text");
    assert!(text.contains("aclmdlExecute") && text.contains("aclmdlLoadFromFile"), "{text}");
}

#[test]
fn files_are_recorded_between_setting_and_resetting_the_device() {
    let place = Place::new();
    if compile(&place).is_none() {
        return;
    }
    let options = ["--via=files", "--no-parse", "--aic-metrics=MemoryUB", "--aicpu=on"];
    let (answer, _, log) = collect(&place, &options, &[]);
    assert!(!answer.stderr.contains("nothing is recorded for"), "{}", answer.stderr);
    let expected = [
        "aclInit",
        "aclprofInit",
        "aclprofCreateConfig 5 f",
        "aclprofStart",
        "aclprofStop",
        "aclprofDestroyConfig",
        "aclrtResetDevice",
        "aclprofFinalize",
        "aclFinalize",
    ];
    assert_eq!(log, expected);
    // A program that ends without finalising is finalised for, while its device is still set.
    let (_, _, log) = collect(&place, &["--via=files", "--no-parse"], &["-", "leave"]);
    assert_eq!(log.last().map(String::as_str), Some("aclprofFinalize"), "{log:?}");
    let (_, _, log) = collect(&place, &["--via=subscribe", "--no-parse"], &["-", "leave"]);
    assert_eq!(log.last().map(String::as_str), Some("aclprofDestroySubscribeConfig"), "{log:?}");
}

#[test]
fn the_profile_that_ascendcl_writes_itself_is_read_at_the_end() {
    let place = Place::new();
    if compile(&place).is_none() {
        return;
    }
    place.done(&["sample", "prof", "-o", "vendor", "--tasks", "60"]);
    let sample = place.path("vendor/PROF_000777_20260102030405006_00004711ABCDEFGH");
    std::fs::rename(profiles_in(&place.path("vendor")).remove(0), &sample).expect("another name");
    // Somebody else's profile, which was there before, is not this program's.
    place.done(&["sample", "prof", "-o", "out", "--tasks", "60", "--seed", "5", "--chip", "310p"]);
    let before = profiles_in(&place.path("out"));
    let run = |options: &[&str], words: &[&str]| {
        let arguments: Vec<&str> = ["collect", "--output=out"].iter().chain(options).copied().collect();
        let mut command = place.command(&arguments);
        command.args(["--", "./infer"]).args(words).env("FAKE_PROFILE", &sample);
        let answer = Answer::from(command.output().expect("the program starts"));
        assert_eq!(answer.status, Some(0), "{}\n{}", answer.stdout, answer.stderr);
        answer
    };
    for words in [&[][..], &["-", "leave"]] {
        let answer = run(&["--via=files"], words);
        let theirs = place.path("out").join(sample.file_name().expect("a name"));
        let says = format!("AscendCL wrote the device's data into {}", theirs.display());
        assert!(answer.stderr.contains(&says), "{}", answer.stderr);
        // The sample's clock is another, so that the two can't be brought together.
        assert!(answer.stderr.contains("their clocks have nothing in common"), "{}", answer.stderr);
        assert_eq!(answer.stderr.matches("wrote the device's data").count(), 1, "{}", answer.stderr);
        // Its operators are shown and exported, and it is named last; ours, with the calls, before it.
        let mut lines = answer.stdout.lines().rev();
        let last = Path::new(lines.next().expect("the path"));
        assert_eq!(last.file_name(), theirs.file_name(), "{}", answer.stdout);
        let (shown, ours) = (&answer.stdout, lines.next().expect("the other path"));
        assert!(shown.contains("Conv2D") && shown.contains("Softplus"), "{shown}");
        // The query table names the device.
        assert!(shown.contains("device_0"), "{shown}");
        let tables = files_in(&theirs.join("mindstudio_profiler_output"));
        assert!(tables.iter().any(|name| name.starts_with("op_summary")), "{tables:?}");
        let tables = files_in(&Path::new(ours).join("mindstudio_profiler_output"));
        assert!(tables.iter().any(|name| name.starts_with("api_statistic")), "{tables:?}");
        assert!(!before.iter().any(|path| path.join("mindstudio_profiler_output").exists()));
        std::fs::remove_dir_all(theirs).expect("its directory");
    }
    // A subscription makes no such directory, and brings the operators into ours.
    let answer = run(&["--via=subscribe"], &[]);
    assert!(!answer.stderr.contains("wrote the device's data"), "{}", answer.stderr);
    assert_eq!(profiles_in(&place.path("out")).len(), before.len() + 3);
    assert!(answer.stdout.contains("Conv2D"), "{}", answer.stdout);
}

#[test]
fn by_default_both_sides_lie_in_one_directory_which_is_named_last_and_analyzed() {
    let place = Place::new();
    let (Some(_), Some(python)) = (compile(&place), companions::python()) else { return };
    place.done(&["sample", "prof", "-o", "vendor", "--tasks", "60"]);
    let sample = place.path("vendor/PROF_000777_20260102030405006_00004711ABCDEFGH");
    std::fs::rename(profiles_in(&place.path("vendor")).remove(0), &sample).expect("another name");
    // The documents' own command, of a program that sets marks and infers.
    let script = place.write(
        "detect.py",
        "import acl, subprocess\nstamp = acl.prof.create_stamp()\n\
         acl.prof.set_stamp_trace_message(stamp, 'the whole', 9)\nacl.prof.push(stamp)\n\
         subprocess.run(['./infer'], check=True)\nacl.prof.pop()\n",
    );
    let application = format!("--application={} {}", python.display(), script.display());
    let words =
        ["msprof", "--output=out", &application, "--msproftx=on", "--acl-shim", "--aic-metrics=Memory"];
    let mut command = place.command(&words);
    command.env("FAKE_PROFILE", &sample).env("FAKE_NOW", "1").env("FAKE_LOG", place.path("log"));
    let answer = Answer::from(command.output().expect("the program starts"));
    assert_eq!(answer.status, Some(0), "{}\n{}", answer.stdout, answer.stderr);
    let log = std::fs::read_to_string(place.path("log")).expect("a log");
    assert!(log.contains("aclprofCreateConfig 2 "), "{log}");
    let [profile] = &profiles_in(&place.path("out"))[..] else { panic!("one directory: {}", answer.stderr) };
    let last = answer.stdout.lines().last().expect("the path");
    assert_eq!(Path::new(last).file_name(), profile.file_name(), "{}", answer.stdout);
    // The marks lie where they were set, by the clock of the other records: within this second or two.
    let begin = "SELECT start_ns FROM ranges WHERE name = 'the whole'";
    let begin = count(&place, profile, &begin.replace("ranges", "range_details"));
    assert!(begin.abs() < 20_000_000_000, "{begin}");
    assert!(count(&place, profile, "SELECT count(*) FROM tasks") >= 60);
    let analyzed = place.done(&["analyze", last]);
    assert!(analyzed.stdout.contains("Conv2D"), "{}", analyzed.stdout);
    let tables = files_in(&profile.join("mindstudio_profiler_output"));
    for kind in ["op_summary", "msprof_tx", "api_statistic"] {
        assert!(tables.iter().any(|name| name.starts_with(kind)), "{kind}: {tables:?}");
    }
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn profiles_in(folder: &Path) -> Vec<PathBuf> {
    let names = files_in(folder).into_iter().filter(|name| name.starts_with("PROF_"));
    names.map(|name| folder.join(name)).collect()
}

/// Calls that the stand-in must refuse, as statements of C.
const WRONG: [&str; 14] = [
    "aclprofInit(\"/tmp\", 4);",
    "aclInit(0); aclprofInit(\"/tmp\", 3);",
    "aclInit(0); aclrtSetDevice(0); aclmdlLoadFromFile(\"x\", &model); aclprofInit(\"/tmp\", 4);",
    "aclInit(0); aclprofInit(\"/tmp\", 4); aclprofCreateConfig(&device, 1, 1, 0, 7);",
    "aclInit(0); aclrtSetDevice(0); aclprofCreateConfig(&device, 1, 1, 0, 7);",
    "aclInit(0); aclprofInit(\"/tmp\", 4); aclrtSetDevice(0); aclprofCreateConfig(&device, 1, 1, 0, 0);",
    "aclInit(0); aclprofInit(\"/tmp\", 4); aclrtSetDevice(0); c = aclprofCreateConfig(&device, 1, 1, 0, 7); \
     aclprofStop(c);",
    "aclInit(0); aclprofInit(\"/tmp\", 4); aclrtSetDevice(0); c = aclprofCreateConfig(&device, 1, 1, 0, 7); \
     aclprofStart(c); aclprofDestroyConfig(c);",
    "aclInit(0); aclprofInit(\"/tmp\", 4); aclrtSetDevice(0); c = aclprofCreateConfig(&device, 1, 1, 0, 7); \
     aclprofStart(c); aclrtResetDevice(0);",
    "aclInit(0); aclprofInit(\"/tmp\", 4); aclrtSetDevice(0); c = aclprofCreateConfig(&device, 1, 1, 0, 7); \
     aclprofFinalize();",
    "aclInit(0); aclprofInit(\"/tmp\", 4); aclFinalize();",
    "aclInit(0); aclprofInit(\"/tmp\", 4); aclprofCreateSubscribeConfig(1, 255, &ends[1]);",
    "aclInit(0); aclprofCreateSubscribeConfig(1, 255, &ends[0]);",
    "aclInit(0); aclrtSetDevice(0); c = aclprofCreateSubscribeConfig(1, 255, &ends[1]); \
     aclmdlLoadFromFile(\"x\", &model); aclmdlExecute(model, &model, &model); aclprofModelSubscribe(model, c);",
];

#[test]
fn the_stand_in_ends_programs_that_call_it_wrongly() {
    let place = Place::new();
    let Some(folder) = compile(&place) else { return };
    let declarations = "#include <stdint.h>\n#include <stdlib.h>\n#include <unistd.h>\n
int aclInit(const char *); int aclFinalize(void); int aclrtSetDevice(int); int aclrtResetDevice(int);
int aclmdlLoadFromFile(const char *, uint32_t *); int aclmdlExecute(uint32_t, const void *, void *);
int aclprofInit(const char *, size_t); int aclprofFinalize(void);
void *aclprofCreateConfig(const uint32_t *, uint32_t, int, const void *, uint64_t);
int aclprofDestroyConfig(const void *); int aclprofStart(const void *); int aclprofStop(const void *);
void *aclprofCreateSubscribeConfig(int8_t, int, void *); int aclprofModelSubscribe(uint32_t, const void *);
int main(int count, char **words) {
    (void)count; uint32_t model = 0, device = 0; void *c = 0; int ends[2]; (void)c; (void)device;
    if (pipe(ends)) return 1;
    switch (atoi(words[1])) {\n";
    let cases: String =
        WRONG.iter().enumerate().map(|(number, code)| format!("case {number}: {code} break;\n")).collect();
    // Right is: in the order of the documentation.
    let right = "default: return aclInit(0) || aclprofInit(\"/tmp\", 4) || aclrtSetDevice(0)
        || !(c = aclprofCreateConfig(&device, 1, 1, 0, 7)) || aclprofStart(c) || aclprofStop(c)
        || aclprofDestroyConfig(c) || aclrtResetDevice(0) || aclprofFinalize() || aclFinalize();";
    let source = place.write("wrong.c", format!("{declarations}{cases}{right}\n}} return 0; }}\n"));
    let mut compiler = Command::new("cc");
    compiler.arg(source).args(["-o", "wrong", "-L.", "-lascendcl", "-Wl,-rpath,$ORIGIN"]);
    let output = compiler.current_dir(&folder).output().expect("cc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for number in 0..=WRONG.len() {
        let mut program = Command::new(folder.join("wrong"));
        let output = program.arg(number.to_string()).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).contains("fake AscendCL: wrong");
        assert_eq!(
            (said, output.status.success()),
            (number < WRONG.len(), number == WRONG.len()),
            "{number}"
        );
    }
}

#[test]
fn whoever_profiles_the_program_already_is_left_alone() {
    let place = Place::new();
    if compile(&place).is_none() {
        return;
    }
    let none = |log: &[String]| !log.iter().any(|line| line.starts_with("aclprof"));
    place.write("acl.json", r#"{"profiler": {"switch": "on", "output": "x"}}"#);
    for via in ["--via=files", "--via=subscribe"] {
        let (answer, _, log) = collect(&place, &[via, "--no-parse"], &["acl.json"]);
        assert!(none(&log) && answer.stderr.contains("acl.json"), "{log:?} {}", answer.stderr);
        let options = [via, "--no-parse", "--environment=PROFILER_SAMPLECONFIG={}"];
        let (answer, _, log) = collect(&place, &options, &[]);
        assert!(none(&log) && answer.stderr.contains("vendor"), "{log:?} {}", answer.stderr);
        let (answer, profile, log) = collect(&place, &[via, "--no-parse"], &["-", "profile"]);
        assert!(answer.stderr.contains("itself"), "{log:?} {}", answer.stderr);
        // The times of calls don't get in anybody's way.
        let calls = profile.join("host/data/aging.api_event.data.slice_0");
        assert!(std::fs::metadata(calls).is_ok_and(|file| file.len() > 0 && file.len() % 40 == 0));
    }
    let (_, profile, log) = collect(&place, &["--via=off", "--ascendcl=off", "--no-parse"], &[]);
    assert!(none(&log) && !profile.join("host/data/aging.api_event.data.slice_0").exists());
}
