//! Programs, libraries and data from outside that some tests check against.
//!
//! A function for each gives its place, or `None` after a line that begins with `skipped: ` and says
//! how to get it. Where [`REQUIRED`] is set, the test fails instead.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

/// The environment variable under which a test without its companion fails.
pub const REQUIRED: &str = "OPSCOPE_REQUIRE_COMPANIONS";

/// Says that the running test skips a check, for lack of something that can be had; fails it where
/// [`REQUIRED`] is set.
///
/// # Panics
///
/// Where [`REQUIRED`] is set.
pub fn skip(remedy: &str) {
    assert!(env::var_os(REQUIRED).is_none(), "a companion of this test is missing: {remedy}");
    skip_for_good(remedy);
}

/// As [`skip`], for lack of something that can't be installed from a public place.
pub fn skip_for_good(remedy: &str) {
    eprintln!("skipped: {} ({remedy})", thread::current().name().unwrap_or("a test"));
}

/// A file or folder of the reference data, which lie in the folder that `OPSCOPE_SHARED` names, or
/// beside the checkout.
pub fn shared(path: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = env::var_os("OPSCOPE_SHARED").map_or_else(beside, PathBuf::from).join(path);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("there is no {}; OPSCOPE_SHARED names the folder of reference data", path.display()));
    None
}

/// A Python with `onnx`, `onnxruntime` and `numpy`.
pub fn python() -> Option<PathBuf> {
    named("OPSCOPE_PYTHON", "a Python with onnx and onnxruntime")
}

/// The Python of [`python`], if it has one more module.
pub fn python_with(module: &str) -> Option<PathBuf> {
    let python = python()?;
    let import = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    if import.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(&format!("pip install {module}"));
    None
}

/// The library of ONNX Runtime.
pub fn onnx_runtime() -> Option<PathBuf> {
    named("ORT_DYLIB_PATH", "the library of ONNX Runtime")
}

/// The test data that the package `onnx` brings along.
pub fn onnx_data() -> Option<PathBuf> {
    named("OPSCOPE_ONNX_DATA", "onnx/backend/test/data of the package onnx")
}

/// A folder with the packages of `.ci/models.txt`, which bring models along.
pub fn models() -> Option<PathBuf> {
    named("OPSCOPE_MODELS", "a folder with the packages of .ci/models.txt")
}

/// Perfetto's trace processor.
pub fn trace_processor() -> Option<PathBuf> {
    named("OPSCOPE_TRACE_PROCESSOR", "Perfetto's trace_processor_shell")
}

/// The vendor's analysis program, which reads exported databases.
pub fn msprof_analyze() -> Option<PathBuf> {
    named("OPSCOPE_MSPROF_ANALYZE", "the program msprof-analyze")
}

/// The vendor's parser, which comes with its tool chain only.
pub fn vendor_parser() -> Option<PathBuf> {
    let found = env::var_os("OPSCOPE_MSPROF").map(PathBuf::from);
    if found.is_none() {
        skip_for_good("set OPSCOPE_MSPROF to the vendor's msprof.py");
    }
    found
}

/// A user of this machine with a password, by which the tests may log in: name and password.
pub fn user_with_password() -> Option<(String, String)> {
    let found = env::var("OPSCOPE_BOARD_USER").ok().zip(env::var("OPSCOPE_BOARD_PASSWORD").ok());
    if found.is_none() {
        skip("set OPSCOPE_BOARD_USER and OPSCOPE_BOARD_PASSWORD to a user of this machine");
    }
    found
}

/// The C compiler.
pub fn c_compiler() -> Option<PathBuf> {
    program("cc")
}

/// A program of the search path.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        skip(&format!("there is no program {name:?}"));
    }
    found
}

/// Runs a program that may be missing: its output, whatever its status.
pub fn output(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(&format!("{}: {error}", Path::new(command.get_program()).display()));
            None
        }
    }
}

/// A file or folder that an environment variable names, where it exists.
fn named(variable: &str, meaning: &str) -> Option<PathBuf> {
    let found = env::var_os(variable).map(PathBuf::from).filter(|path| path.exists());
    if found.is_none() {
        skip(&format!("set {variable} to {meaning}"));
    }
    found
}
