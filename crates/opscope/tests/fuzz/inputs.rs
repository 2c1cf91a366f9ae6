//! The targets, with the whole program among them, and the inputs that they begin with.

use std::path::{Path, PathBuf};

use opscope_fuzzing::{Content, PROGRAM_CONTENT, TARGETS, Trail, seeds};

use super::options::Options;
use super::program;

/// The name of the target that is the whole program.
const PROGRAM: &str = "program";

/// The folder of the repository with inputs.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz");

/// Something that takes inputs.
pub struct Target {
    pub content: Content,
    pub run: fn(&[u8], &mut Trail),
}

/// The names of all targets.
pub fn names() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).chain([PROGRAM]).collect()
}

pub fn target(name: &str) -> Option<Target> {
    if name == PROGRAM {
        return Some(Target { content: PROGRAM_CONTENT, run: program::run });
    }
    let found = TARGETS.iter().find(|target| target.name == name)?;
    Some(Target { content: found.content, run: found.run })
}

/// The inputs to begin with: those on which something was wrong once, and those of the repository and of the
/// user's own folder, in the order of their names.
pub fn beginnings(name: &str, content: Content, options: &Options) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(FOLDER);
    // Targets that take models share them.
    let shared = if content == Content::Model { "models" } else { name };
    let mut folders = vec![folder.join("regressions").join(shared), folder.join("seeds").join(shared)];
    folders.extend(options.corpus.iter().map(|corpus| corpus.join(shared)));
    let mut inputs = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        paths.sort();
        inputs.extend(paths.into_iter().map(|path| {
            let input = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path, input)
        }));
    }
    let made = seeds::databases(name).into_iter();
    inputs.extend(made.map(|database| (PathBuf::from("a database that is made anew"), database)));
    inputs
}

/// Where an input that leads to something new is added, if the user names a folder.
pub fn place_of_new(name: &str, content: Content, options: &Options) -> Option<PathBuf> {
    let shared = if content == Content::Model { "models" } else { name };
    options.corpus.as_ref().map(|corpus| corpus.join(shared))
}
