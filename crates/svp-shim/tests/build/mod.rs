//! The things that the tests run: the stand-in for the boards' runtime, a program, and the library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The stand-in and a program that uses it, compiled once.
pub fn built() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake");
            let compile = |arguments: &[&str]| {
                let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
                let mut command = Command::new(compiler);
                let output = command.arg("-O1").args(arguments).current_dir(folder.path()).output().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            };
            let path = |name: &str| source.join(name).display().to_string();
            compile(&["-shared", "-fPIC", "-o", "libsvp_acl.so", &path("svp_acl.c")]);
            compile(&["-o", "main", &path("main.c"), "-L.", "-lsvp_acl", "-Wl,-rpath,$ORIGIN"]);
            folder
        })
        .path()
}

/// The library under test, which is built beside the tests.
pub fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().unwrap();
    let places = [folder.join("libopscope_svp_shim.so"), folder.join("../libopscope_svp_shim.so")];
    places.into_iter().find(|place| place.exists()).expect("the library is built with its tests")
}
