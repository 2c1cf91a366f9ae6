//! `opscope collect` on programs of ONNX Runtime, in Python and in C, none of which knows of it.

#![cfg(target_os = "linux")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Answer, Place};
use opscope_testing::companions;

/// Makes a model of one operator, `y = Relu(x)` with 8 numbers, beside the programs.
fn make_model(place: &Place, python: &Path) {
    let source = "from onnx import helper as h, TensorProto as T, save
ends = [[h.make_tensor_value_info(name, T.FLOAT, [1, 8])] for name in 'xy']
graph = h.make_graph([h.make_node('Relu', ['x'], ['y'])], 'g', *ends)
model = h.make_model(graph, opset_imports=[h.make_opsetid('', 13)])
model.ir_version = 8
save(model, 'relu.onnx')
";
    let output = Command::new(python).args(["-c", source]).current_dir(place.path("")).output();
    let output = output.expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The beginning of Python programs: `infer(n)` runs a new session n times.
const PRELUDE: &str = "import numpy, os, sys
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
image = numpy.zeros([1, 8], numpy.float32)
def infer(count, options=options):
    session = onnxruntime.InferenceSession('relu.onnx', options, providers=['CPUExecutionProvider'])
    for _ in range(count):
        session.run(None, {'x': image})
    return session
";

/// Collects from a Python program, which must end with a status.
fn collect(place: &Place, python: &Path, options: &[&str], source: &str, status: i32) -> (Answer, PathBuf) {
    place.write("program.py", format!("{PRELUDE}{source}"));
    let python = python.display().to_string();
    let mut arguments = vec!["collect", "--", &python];
    arguments.extend(options);
    arguments.push("program.py");
    let answer = place.run(&arguments);
    assert_eq!(answer.status, Some(status), "{}\n{}", answer.stdout, answer.stderr);
    let profile = PathBuf::from(answer.stdout.lines().last().expect("the path"));
    (answer, profile)
}

/// How often each session's model ran, over all of a profile's files of the runtime.
fn runs(profile: &Path) -> Vec<usize> {
    let entries = std::fs::read_dir(profile.join("host/data")).expect("the data").flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("opscope.onnxruntime."))
            && path.extension().is_some_and(|extension| extension == "json")
    });
    let count = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("text");
        let _: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.matches("\"model_run\"").count()
    };
    let mut counts: Vec<usize> = files.map(count).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn every_session_of_every_process_is_recorded() {
    let (place, Some(python)) = (Place::new(), companions::python()) else { return };
    make_model(&place, &python);
    let source = "import multiprocessing
multiprocessing.set_start_method('fork')
first, second = infer(1), infer(2)
def work(count):
    infer(count)
    # The parent's session is the parent's.
    first.run(None, {'x': image})
workers = [multiprocessing.Process(target=work, args=(count,)) for count in (3, 4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
assert [worker.exitcode for worker in workers] == [0, 0]
first.run(None, {'x': image})
own = onnxruntime.SessionOptions()
own.enable_profiling = True
own.profile_file_prefix = 'own'
print(infer(5, own).end_profiling())
last = infer(6)
os.execvp(sys.executable, [sys.executable, '-c', 'raise SystemExit(7)'])
";
    let (answer, profile) = collect(&place, &python, &[], source, 7);
    assert_eq!(runs(&profile), [2, 2, 3, 4, 6], "{}", answer.stderr);
    assert!(answer.stdout.contains("Relu"), "{}", answer.stdout);
    // The session that the program profiles itself is where it wanted it.
    assert!(place.files().iter().any(|name| name.starts_with("own_")), "{:?}", place.files());
}

#[test]
fn a_site_customisation_of_ones_own_still_runs() {
    let (place, Some(python)) = (Place::new(), companions::python()) else { return };
    make_model(&place, &python);
    std::fs::create_dir(place.path("mine")).expect("a folder");
    place.write("mine/sitecustomize.py", "import sys\nsys.mine = __file__\n");
    place.write("program.py", format!("{PRELUDE}infer(3); print(sys.mine)"));
    let (python, mine) = (python.display().to_string(), place.path("mine"));
    let mut command = place.command(&["collect", "--", &python, "program.py"]);
    let answer = Answer::from(command.env("PYTHONPATH", &mine).output().expect("the program starts"));
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    let own = mine.join("sitecustomize.py").display().to_string();
    assert_eq!(answer.stdout.lines().next(), Some(&*own), "{}", answer.stdout);
    assert_eq!(runs(Path::new(answer.stdout.lines().last().expect("the path"))), [3]);
}

#[test]
fn a_virtual_environment_is_recorded_and_isolation_is_said() {
    let (place, Some(python)) = (Place::new(), companions::python()) else { return };
    make_model(&place, &python);
    let made = Command::new(&python)
        .args(["-m", "venv", "--without-pip", "--system-site-packages", "environment"])
        .current_dir(place.path(""))
        .output();
    if !made.is_ok_and(|output| output.status.success()) {
        return companions::skip("python -m venv doesn't work here");
    }
    // The packages of the Python that has them, which may be a virtual environment itself.
    let packages = Command::new(&python)
        .args(["-c", "import onnxruntime, os; print(os.path.dirname(os.path.dirname(onnxruntime.__file__)))"])
        .output()
        .expect("Python starts");
    let libraries = place.path("environment/lib");
    let version = std::fs::read_dir(&libraries).expect("lib").flatten().next().expect("a version").path();
    std::fs::write(version.join("site-packages/others.pth"), packages.stdout).expect("a file");
    let inner = place.path("environment/bin/python");
    let (_, profile) = collect(&place, &inner, &[], "infer(4)", 0);
    assert_eq!(runs(&profile), [4]);
    // Nothing is left to record.
    let (answer, profile) = collect(&place, &inner, &["-u", "-I"], "infer(4)", 1);
    assert!(answer.stderr.contains("Python's option -I"), "{}", answer.stderr);
    assert!(answer.stderr.contains("nothing was recorded"), "{}", answer.stderr);
    assert!(runs(&profile).is_empty());
}

#[test]
fn a_session_that_fails_or_is_killed_spoils_nothing() {
    let (place, Some(python)) = (Place::new(), companions::python()) else { return };
    make_model(&place, &python);
    let source = "
try:
    onnxruntime.InferenceSession('missing.onnx')
except Exception as error:
    print(type(error).__name__, flush=True)
infer(2)
kept = infer(3)
os.kill(os.getpid(), 9)
";
    let (answer, profile) = collect(&place, &python, &[], source, 137);
    assert!(answer.stdout.starts_with("NoSuchFile\n"), "{}", answer.stdout);
    assert!(answer.stdout.contains("Relu"), "{}\n{}", answer.stdout, answer.stderr);
    let text = place.done(&["import", &profile.display().to_string()]).stdout;
    assert!(text.contains("Relu"), "{text}");
}

const PROGRAM: &str = r#"#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef struct { void **(*get)(uint32_t); const char *(*version)(void); } Base;
extern const Base *OrtGetApiBase(void);
#define CALL(place, ...) do { if (((void *(*)())api[place])(__VA_ARGS__)) return place + 1; } while (0)
int main(void) {
    void **api = OrtGetApiBase()->get(1);
    void *environment = 0, *options = 0, *session = 0, *memory = 0, *input = 0, *output = 0;
    float values[8] = {1, -1};
    int64_t shape[2] = {1, 8};
    const char *inputs[] = {"x"}, *outputs[] = {"y"};
    CALL(3, 3, "test", &environment);
    CALL(10, &options);
    CALL(7, environment, "relu.onnx", options, &session);
    CALL(69, 0, 0, &memory);
    CALL(49, memory, values, sizeof values, shape, (size_t)2, 1, &input);
    for (int i = 0; i < 4; i++)
        CALL(9, session, NULL, inputs, (const void *const *)&input, (size_t)1, outputs, (size_t)1, &output);
    ((void (*)(void *))api[96])(output);
    ((void (*)(void *))api[96])(input);
    ((void (*)(void *))api[95])(session);
    ((void (*)(void *))api[100])(options);
    ((void (*)(void *))api[92])(environment);
    puts("inferred");
    return 0;
}
"#;

#[test]
fn a_c_program_that_is_linked_with_the_runtime_is_recorded_unchanged() {
    let (place, Some(python)) = (Place::new(), companions::python()) else { return };
    if companions::onnx_runtime().is_none() {
        return;
    }
    make_model(&place, &python);
    // The name by which programs that are linked with it look for it.
    let library = std::env::var_os("ORT_DYLIB_PATH").expect("it was looked for");
    std::os::unix::fs::symlink(library, place.path("libonnxruntime.so.1")).expect("a link");
    place.write("program.c", PROGRAM);
    let mut compiler = Command::new("cc");
    compiler.args([
        "-w",
        "program.c",
        "-o",
        "program",
        "-L.",
        "-l:libonnxruntime.so.1",
        "-Wl,-rpath,$ORIGIN",
    ]);
    let Some(compiled) = companions::output(compiler.current_dir(place.path(""))) else { return };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let answer = place.done(&["collect", "--", "./program"]);
    assert!(answer.stdout.starts_with("inferred\n") && answer.stdout.contains("Relu"), "{}", answer.stdout);
    let profile = PathBuf::from(answer.stdout.lines().last().expect("the path"));
    assert_eq!(runs(&profile), [4]);
    assert!(!place.files().iter().any(|name| name.contains("onnxruntime_profile")), "{:?}", place.files());
    let nothing = ["nothing was recorded"];
    let answer = place.fails(1, &nothing, &["collect", "--onnxruntime=off", "--", "./program"]);
    assert!(!answer.stdout.contains("Relu"), "{}", answer.stdout);
}
