//! The content of a `JOB*` directory, by the names and sizes of its files, and the parts that it lacks.
//!
//! | file below `data/` | what it is |
//! |---|---|
//! | `{model}.{model id}.net.info`, `{model}.{model id}.layer.info` | the network, written when it is loaded |
//! | `aicore.*`, `AAcore.*` | counters of the engine, a file for each sampled inference |
//! | `acl_api.*`, `AclModule.*` | calls |
//! | `opscope.*` | what opscope's own collector recorded ([`opscope_cann_raw::board`]) |
//!
//! A file is complete when `.done` ends its name or that of an empty file beside it. Two public
//! names and the vendor's guide are all that is known, and they differ in letter case and in `aa`
//! for `ai`, so both mean the same here.

use std::fs;
use std::path::{Path, PathBuf};

use opscope_cann_raw::board;
use serde_json::Value;

use crate::file_name::TimelineName;

/// The file beside `data/` that describes the collection.
const INFO: &str = "info.json.0";

/// Why a directory is no usable `JOB*` directory.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A part is missing.
    #[error("{}: this is no whole JOB directory: {what}", path.display())]
    Incomplete {
        /// The directory.
        path: PathBuf,
        /// The missing part, and how to get it.
        what: String,
    },
}

/// The content of a raw file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RawKind {
    /// The network's structure.
    Network,
    /// The network's layers.
    Layers,
    /// Counters of the engine; the layout is not public.
    Counters,
    /// Calls.
    Calls,
    /// Calls that opscope's own collector recorded.
    OwnCalls,
    /// Layers that opscope's own collector recorded.
    OwnLayers,
    /// The parts that opscope's own collector did not record, and why.
    OwnNotes,
    /// Something else.
    Other,
}

impl RawKind {
    /// By the file's name, whose letter case means nothing.
    pub fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".done").unwrap_or(&name);
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if name.starts_with(board::CALLS) {
            Self::OwnCalls
        } else if name.starts_with(board::LAYERS) {
            Self::OwnLayers
        } else if name.starts_with(board::NOTES) {
            Self::OwnNotes
        } else if name.ends_with(".net.info") {
            Self::Network
        } else if name.ends_with(".layer.info") {
            Self::Layers
        } else if begins(&["aicore.", "aacore."]) {
            Self::Counters
        } else if begins(&["acl_api.", "aclmodule."]) {
            Self::Calls
        } else {
            Self::Other
        }
    }

    /// Whether opscope's own collector wrote it.
    pub fn is_own(self) -> bool {
        matches!(self, Self::OwnCalls | Self::OwnLayers | Self::OwnNotes)
    }

    /// In words for a list of files.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Network => "the network, as it was loaded",
            Self::Layers => "the network's layers",
            Self::Counters => "counters of the engine (their layout is not public)",
            Self::Calls => "calls",
            Self::OwnCalls => "calls, by opscope's own collector",
            Self::OwnLayers => "layers, by opscope's own collector",
            Self::OwnNotes => "notes of opscope's own collector",
            Self::Other => "unknown",
        }
    }
}

/// A raw file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// Its content.
    pub kind: RawKind,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it was finished.
    pub complete: bool,
}

/// A `JOB*` directory.
#[derive(Clone, Debug)]
pub struct Job {
    /// The directory.
    pub path: PathBuf,
    /// The content of `info.json.0`.
    pub info: Value,
    /// The raw files, by name.
    pub files: Vec<RawFile>,
}

impl Job {
    /// Whether a directory is to be read as one of such a board: it is called `JOB*`, or holds raw
    /// files whose names only such boards use.
    pub fn is_one(path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let raw = raw_files(&path.join("data")).unwrap_or_default();
        let of_a_board = |file: &RawFile| {
            // The raw directories of Ascend of 2022 have files of the other names, in slices.
            let is_sliced = file.name.contains(".slice_") || file.name.contains(".data.");
            match file.kind {
                RawKind::Network | RawKind::Layers => true,
                RawKind::Counters => !is_sliced || file.name.to_ascii_lowercase().starts_with("aacore."),
                RawKind::Calls => !is_sliced || names_no_chip_of_ascend(path),
                kind => kind.is_own(),
            }
        };
        raw.iter().any(of_a_board) || (name.starts_with("JOB") && raw.is_empty())
    }

    /// Takes stock of a directory.
    ///
    /// # Errors
    /// When `data/` or `info.json.0` is missing; the text says what would bring them.
    pub fn open(path: &Path) -> Result<Self, JobError> {
        let incomplete = |what: String| JobError::Incomplete { path: path.to_owned(), what };
        let io = |path: &Path, source| JobError::Io { path: path.to_owned(), source };
        fs::read_dir(path).map_err(|source| io(path, source))?;
        let (data, info) = (path.join("data"), path.join(INFO));
        let has_info = info.is_file();
        if !data.is_dir() {
            let other = if has_info { "" } else { ", and so is the file info.json.0" };
            return Err(incomplete(format!(
                "the folder data is missing{other}; convert the model with --online_model_type=2, and \
                 execute it at least once, or the board writes none"
            )));
        }
        if !has_info {
            return Err(incomplete(
                "the file info.json.0 is missing; copy the directory from the board again, all of it"
                    .to_owned(),
            ));
        }
        let text = opscope_files::read_plain(&info).map_err(|source| io(&info, source))?;
        // The raw files can be listed whatever it says.
        let parsed = serde_json::from_slice(&text).unwrap_or(Value::Null);
        let files = raw_files(&data).map_err(|source| io(&data, source))?;
        Ok(Self { path: path.to_owned(), info: parsed, files })
    }

    /// Whether opscope's own collector wrote some of it.
    pub fn has_own_records(&self) -> bool {
        self.files.iter().any(|file| file.kind.is_own())
    }

    /// The models that the directory names, by their numbers: `{model}.{model id}.net.info`.
    fn models(&self) -> impl Iterator<Item = (u64, &str)> {
        let networks =
            self.files.iter().filter(|file| matches!(file.kind, RawKind::Network | RawKind::Layers));
        networks.filter_map(|file| {
            let stem =
                file.name.strip_suffix(".net.info").or_else(|| file.name.strip_suffix(".layer.info"))?;
            let (model, number) = stem.rsplit_once('.')?;
            Some((number.parse().ok()?, model))
        })
    }

    /// The name of the model of this number, if a file tells it.
    pub fn model_of(&self, model_id: u64) -> Option<String> {
        self.models().find(|(number, _)| *number == model_id).map(|(_, model)| model.to_owned())
    }

    /// The parts of the name of a raw file of calls: `acl_api.{device}.{model}.{model id}`. A network's file
    /// tells where a model's name ends that has dots and numbers; `None` where nothing does.
    pub fn name_of(&self, file: &RawFile) -> Option<TimelineName> {
        let rest = file.name.split_once('.')?.1;
        let rest = rest.strip_suffix(".done").unwrap_or(rest);
        let (device, rest) = rest.split_once('.')?;
        let is_named = |(number, model): &(u64, &str)| {
            let named = format!("{model}.{number}");
            rest.strip_prefix(&*named).is_some_and(|more| more.is_empty() || more.starts_with('.'))
        };
        let found = self.models().find(is_named).map(|(number, model)| (number, model.to_owned()));
        let (model_id, model) = found.or_else(|| {
            let (model, number) = rest.rsplit_once('.')?;
            Some((number.parse().ok()?, model.to_owned()))
        })?;
        let device = device.parse().ok()?;
        Some(TimelineName { device, model: Some(model), model_id, batches: None, iteration: None })
    }

    /// Reasons to doubt the data, in sentences for the user.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.info.is_null() {
            problems.push("info.json.0 is not valid JSON".to_owned());
        }
        if self.files.is_empty() {
            problems.push(
                "data is empty: a model that is only loaded and unloaded, but never executed, leaves no data"
                    .to_owned(),
            );
        } else if !self.files.iter().any(|file| file.kind == RawKind::Counters || file.kind.is_own()) {
            problems.push(
                "there are no counters of the engine: aac_metrics must be ArithmeticUtilization, and the model \
                 converted with --online_model_type=2"
                    .to_owned(),
            );
        }
        for file in self.files.iter().filter(|file| !file.complete && file.kind >= RawKind::Counters) {
            if !matches!(file.kind, RawKind::Other | RawKind::OwnNotes) {
                problems.push(format!(
                    "{} was not finished: without svp_acl_finalize() up to the last second is lost (2 MB at most)",
                    file.name
                ));
            }
        }
        problems
    }
}

/// Whether a directory is described, but not by one of the numbers that stand for Ascend's chips.
fn names_no_chip_of_ascend(directory: &Path) -> bool {
    let info = opscope_files::read_plain(&directory.join(INFO))
        .ok()
        .and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    info.is_some_and(|info| {
        let chip = &info["platform_version"];
        info.is_object() && !chip.is_number() && chip.as_str().is_none_or(|chip| chip.parse::<u32>().is_err())
    })
}

fn raw_files(data: &Path) -> std::io::Result<Vec<RawFile>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_file() {
            found.push((entry.file_name().to_string_lossy().into_owned(), entry.path(), metadata.len()));
        }
    }
    found.sort();
    let is_marker = |name: &str, size: u64| size == 0 && name.ends_with(".done");
    let has_marker = |name: &str| found.iter().any(|(other, _, _)| other.strip_suffix(".done") == Some(name));
    let files = found.iter().filter(|(name, _, size)| !is_marker(name, *size));
    let files = files.map(|(name, path, size)| {
        let kind = RawKind::of(name);
        // Both are written at once, when the model is loaded, and never marked.
        let at_once = matches!(kind, RawKind::Network | RawKind::Layers);
        let complete = at_once || name.ends_with(".done") || has_marker(name);
        RawFile { path: path.clone(), name: name.clone(), kind, size: *size, complete }
    });
    Ok(files.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::Builder::new().prefix("JOB").tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        folder
    }

    #[test]
    fn files_are_listed_with_their_completeness() {
        let folder = job(&[
            (INFO, r#"{"devices": "0"}"#),
            ("data/kws.31.net.info", "n"),
            ("data/aicore.0.kws.31.1.1.0.done", "xyz"),
            ("data/aicore.0.1.1", "half"),
            ("data/acl_api.0.kws.31", "calls"),
            ("data/acl_api.0.kws.31.done", ""),
        ]);
        let job = Job::open(folder.path()).unwrap();
        let listed: Vec<_> = job.files.iter().map(|file| (&*file.name, file.kind, file.complete)).collect();
        assert_eq!(
            listed,
            [
                ("acl_api.0.kws.31", RawKind::Calls, true),
                ("aicore.0.1.1", RawKind::Counters, false),
                ("aicore.0.kws.31.1.1.0.done", RawKind::Counters, true),
                ("kws.31.net.info", RawKind::Network, true),
            ]
        );
        assert!(Job::is_one(folder.path()));
        assert_eq!(job.problems().len(), 1);
        assert!(job.problems()[0].starts_with("aicore.0.1.1 was not finished"));
    }

    #[test]
    fn a_directory_of_slices_is_of_a_board_by_its_counters_or_its_chip() {
        for (info, file, expected) in [
            ("{}", "data/AAcore.data.0.slice_0", true),
            ("{}", "data/AclModule.data.0.slice_0", true),
            (r#"{"platform_version": "SS928"}"#, "data/AclModule.data.0.slice_0", true),
            (r#"{"platform_version": "0"}"#, "data/AclModule.data.0.slice_0", false),
            ("damaged", "data/AclModule.data.0.slice_0", false),
            ("{}", "data/aicore.data.0.slice_0", false),
        ] {
            let folder = job(&[(INFO, info), (file, "raw")]);
            assert_eq!(Job::is_one(folder.path()), expected, "{info} {file}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_remedy() {
        let folder = job(&[]);
        assert!(Job::open(folder.path()).unwrap_err().to_string().contains("info.json.0 is missing"));
        fs::remove_dir(folder.path().join("data")).unwrap();
        let text = Job::open(folder.path()).unwrap_err().to_string();
        assert!(
            text.contains("data is missing, and so is") && text.contains("--online_model_type=2"),
            "{text}"
        );
    }

    #[test]
    fn a_model_that_was_never_executed_is_explained() {
        let folder = job(&[(INFO, "{}")]);
        let problems = Job::open(folder.path()).unwrap().problems();
        assert!(problems.iter().any(|problem| problem.contains("never executed")), "{problems:?}");
    }
}
