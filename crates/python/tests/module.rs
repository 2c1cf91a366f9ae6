//! The module from Python, as its users have it: `python/tests/test_module.py` does the asking.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use opscope_testing::companions::{python_with, shared};

/// Three tasks in Chrome's trace format, whose names and times the test in Python expects.
const TIMELINE: &str = r#"{"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 10, "dur": 2.5, "pid": 0, "tid": 7},
    {"ph": "X", "cat": "kernel", "name": "relu", "ts": 20, "dur": 1, "pid": 0, "tid": 7},
    {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 30, "dur": 4, "pid": 0, "tid": 7}
]}"#;

#[test]
fn the_module_gives_the_same_rows_to_all_libraries_of_data_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("a file");
        path
    };
    let whole = file("timeline.json", TIMELINE);
    let broken = file("broken.txt", "no profile");
    let cut = file("cut.json", &TIMELINE[..TIMELINE.len() - 60]);
    asks("test_module.py", &[&whole, &broken, &cut]);
}

#[test]
fn a_profile_of_a_910b_is_read_as_a_user_of_notebooks_would() {
    let Some(profile) = shared("data/ascend-pytorch/text_level1_rank0") else { return };
    asks("test_real.py", &[&profile]);
}

/// Runs a script of `python/tests` with the package as a wheel installs it.
fn asks(script: &str, arguments: &[&Path]) {
    let needed = ["pandas", "polars", "pyarrow", "duckdb"];
    let Some(python) = needed.iter().try_fold(PathBuf::new(), |_, module| python_with(module)) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let package = folder.path().join("opscope");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    fs::create_dir(&package).expect("a folder");
    for source in fs::read_dir(sources.join("opscope")).expect("the package").flatten() {
        if source.path().is_file() {
            fs::copy(source.path(), package.join(source.file_name())).expect("a copy");
        }
    }
    let library = library();
    fs::copy(&library, package.join(library.file_name().expect("a name"))).expect("a copy");
    let done = Command::new(python)
        .arg(sources.join("tests").join(script))
        .args(arguments)
        .env("PYTHONPATH", folder.path())
        .output()
        .expect("Python starts");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("the module does what it says"), "{said}");
}

/// The library of this build, which lies beside or above the program of the test.
fn library() -> PathBuf {
    let name = format!("{}opscope_python{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let program = env::current_exe().expect("the program's own path");
    let found = program.ancestors().map(|folder| folder.join(&name)).find(|path| path.is_file());
    found.expect("the library that cargo builds with its tests")
}
