//! All files of a folder of outputs, and what became of each: nothing that was seen is passed over in silence.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use opscope_trace::{LossKind, Trace};

use super::FolderError;
use super::not_needed::Known;
use super::other_runs::begins_outside;
use super::outputs::all_files;

/// A file of a folder of outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// Its path below the folder.
    pub name: String,
    /// Its use.
    pub fate: FileFate,
}

/// The use that was made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFate {
    /// It was read: the content, as a noun phrase.
    Read(&'static str),
    /// Other files have what it holds, or nothing needs it: why.
    NotNeeded(&'static str),
    /// It is of another run, rank or device than the rest: how that is known.
    OfOtherRun(&'static str),
    /// It could not be read: why.
    Failed(String),
    /// opscope doesn't know what it holds.
    NotUnderstood,
}

/// `read: …`, `not needed: …`, `of another run: …`, `not read: …`, `not understood`.
impl fmt::Display for FileFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(what) => write!(f, "read: {what}"),
            Self::NotNeeded(why) => write!(f, "not needed: {why}"),
            Self::OfOtherRun(how) => write!(f, "of another run: {how}"),
            Self::Failed(why) => write!(f, "not read: {why}"),
            Self::NotUnderstood => f.write_str("not understood"),
        }
    }
}

/// The begin and end of the names of files of which opscope reads nothing although they hold something, and why.
const NOT_READ: [(&str, &str, &str); 9] = [
    ("memory_usage_", ".pb", "MindSpore's plan of memory as a protocol buffer, which opscope doesn't read"),
    ("cluster_", "", "it sums up several ranks; opscope cluster reads the folders of the ranks themselves"),
    ("request.csv", "", "requests of a server by msServiceProfiler; give it alone"),
    ("batch.csv", "", "batches of a server by msServiceProfiler; give it alone"),
    ("kvcache.csv", "", "a server's cache of keys and values by msServiceProfiler; give it alone"),
    ("forward.csv", "", "a server's forward passes by msServiceProfiler; give it alone"),
    ("ms_service_", ".db", "calls of a server by msServiceProfiler, which opscope doesn't read"),
    ("ascend_service_profiler_", ".db", "calls of a server by msServiceProfiler, which opscope doesn't read"),
    ("profiler.db", "", "figures of a server by msServiceProfiler, which opscope doesn't read"),
];

/// How a run is known by its times.
pub(super) const ANOTHER_TIME: &str = "its times lie outside of those of the rest; give it alone";

/// The reason for which a table isn't needed that an earlier one equals.
pub(super) const REPEATED: &str = "another table of the same device and model is equal to it";

/// How a run is known by its rank.
pub(super) const ANOTHER_RANK: &str =
    "the database of another rank; give it alone, or a folder for each rank";

/// The files that were read so far, and those that could not be.
#[derive(Debug, Default)]
pub(super) struct Fates {
    known: BTreeMap<PathBuf, FileFate>,
}

impl Fates {
    /// A file was read.
    pub fn read(&mut self, path: &Path, what: &'static str) {
        self.known.entry(path.to_owned()).or_insert(FileFate::Read(what));
    }

    /// A file isn't needed.
    pub fn not_needed(&mut self, path: &Path, why: &'static str) {
        self.known.insert(path.to_owned(), FileFate::NotNeeded(why));
    }

    /// A file is of another run.
    pub fn of_other_run(&mut self, path: &Path, how: &'static str) {
        self.known.insert(path.to_owned(), FileFate::OfOtherRun(how));
    }

    /// A file could not be read.
    pub fn failed(&mut self, path: &Path, why: impl fmt::Display) {
        self.known.insert(path.to_owned(), FileFate::Failed(why.to_string()));
    }

    /// The use of one of the files.
    fn fate(&self, path: &PathBuf, known: &Known<'_>) -> FileFate {
        self.known.get(path).cloned().unwrap_or_else(|| fate_by_name(path, known))
    }

    /// All files at and below the folder, in the order of their names. Those that nothing was read of are also
    /// counted in the trace.
    pub fn list(self, folder: &Path, trace: &mut Trace) -> Result<Vec<SeenFile>, FolderError> {
        let mut seen = Vec::new();
        let paths = all_files(folder)?;
        let of = |is_it: fn(&FileFate) -> bool| {
            let found = self.known.iter().filter(move |(_, fate)| is_it(fate));
            found.map(|(path, _)| path.as_path()).collect()
        };
        let read = of(|fate| matches!(fate, FileFate::Read(_)));
        let not_needed = of(|fate| matches!(fate, FileFate::NotNeeded(_)));
        let known = Known { paths: &paths, read, not_needed, trace, spans: OnceCell::new() };
        let fates: Vec<FileFate> = paths.iter().map(|path| self.fate(path, &known)).collect();
        for (path, fate) in paths.iter().zip(fates) {
            let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
            match &fate {
                FileFate::OfOtherRun(how) => {
                    trace.count_loss(LossKind::FileOfOtherRun, 1, &format!("{name}: {how}"));
                }
                FileFate::NotNeeded(why) => {
                    trace.count_loss(LossKind::FileNotNeeded, 1, &format!("{name}: {why}"));
                }
                FileFate::Failed(why) if !self.known.contains_key(path) => {
                    trace.count_loss(LossKind::FileNotRead, 1, &format!("{name}: {why}"));
                }
                FileFate::NotUnderstood => trace.count_loss(LossKind::FileNotUnderstood, 1, &name),
                FileFate::Read(_) | FileFate::Failed(_) => {}
            }
            seen.push(SeenFile { name, fate });
        }
        Ok(seen)
    }
}

/// The use of a file that nothing has asked for.
fn fate_by_name(path: &Path, known: &Known<'_>) -> FileFate {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some((.., why)) =
        NOT_READ.iter().find(|(begin, end, _)| name.starts_with(begin) && name.ends_with(end))
    {
        return FileFate::Failed((*why).to_owned());
    }
    match known.judge(path) {
        None => FileFate::NotUnderstood,
        Some(_) if begins_outside(path, known.trace) => FileFate::OfOtherRun(ANOTHER_TIME),
        Some(fate) => fate,
    }
}
