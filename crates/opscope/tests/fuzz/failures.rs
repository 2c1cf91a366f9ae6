//! Inputs on which something is wrong: each is kept, once for each place at which it goes wrong.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The folder of failing inputs of a target.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(target)
}

/// Keeps an input, and gives its place.
pub fn keep(target: &str, input: &[u8]) -> PathBuf {
    let folder = folder(target);
    std::fs::create_dir_all(&folder).expect("a folder for failing inputs");
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    std::fs::write(&path, input).expect("space on disk");
    path
}

/// The lines about a failing input.
pub fn report(target: &str, what: &str, path: &Path) -> String {
    format!(
        "FAILED {target}: {what}\n  the input is kept in {path}\n  \
         cargo test --workspace --test fuzz -- --target {target} --input {path}",
        path = path.display()
    )
}
