//! Builds the libraries that are injected into programs, to be embedded into this crate: so one
//! file, the program `opscope`, is all there is to install.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The package and the library of each.
const LIBRARIES: [(&str, &str); 2] =
    [("opscope-mark", "libopscope_mark.so"), ("opscope-preload", "libopscope_preload.so")];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let output = PathBuf::from(variable("OUT_DIR"));
    for folder in [
        "mark/src",
        "mark/Cargo.toml",
        "mark/build.rs",
        "preload/src",
        "preload/Cargo.toml",
        "recorder/src",
        "recorder/Cargo.toml",
        "cann-raw/src",
    ] {
        println!("cargo:rerun-if-changed={}", root.join("crates").join(folder).display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    build(&root, &output.join("libraries"));
    for (_, library) in LIBRARIES {
        let built = output.join("libraries").join(variable("TARGET")).join("release").join(library);
        std::fs::copy(&built, output.join(library))
            .unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    }
}

/// They run inside other programs, so they are always built for speed. A folder of their own keeps
/// this build from waiting for the one that it is part of.
fn build(root: &Path, target: &Path) {
    let mut command = Command::new(variable("CARGO"));
    command.args(["build", "--release", "--locked", "--quiet"]).current_dir(root);
    command.arg("--target-dir").arg(target).args(["--target", &variable("TARGET")]);
    for (package, _) in LIBRARIES {
        command.args(["--package", package]);
    }
    // The outer build's own settings don't concern this one, but for the linker of another processor.
    let linker = format!("CARGO_TARGET_{}_LINKER", variable("TARGET").replace('-', "_").to_uppercase());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let kept = name.starts_with("CARGO_HOME") || name == "CARGO_NET_OFFLINE" || name == linker.as_str();
        let ours = name.starts_with("CARGO_") && !kept;
        if ours || ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS"].contains(&&*name) {
            command.env_remove(&*name);
        }
    }
    // The folders of whoever builds a release are hidden in these libraries as in the program that carries them.
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let hiding: Vec<&str> =
        flags.split('\u{1f}').filter(|flag| flag.starts_with("--remap-path-prefix=")).collect();
    if !hiding.is_empty() {
        command.env("CARGO_ENCODED_RUSTFLAGS", hiding.join("\u{1f}"));
    }
    let status = command.status().unwrap_or_else(|error| panic!("cannot start cargo: {error}"));
    assert!(status.success(), "the libraries to inject could not be built: {command:?}");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
