//! Manifests: what a part of a set holds, and the file that makes a folder a set.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{SCHEMA, SET_FILE, SetError, is_set};
use crate::discover::Collection;

/// How much of each rank a set keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Steps and traffic over links only.
    Summary,
    /// Collectives as well, which say who costs whom how much.
    Communication,
    /// Operators as well, which say why.
    #[default]
    All,
}

impl Keep {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Communication => "communication",
            Self::All => "all",
        }
    }
}

/// The file that makes a folder a set.
#[derive(Debug, Serialize, Deserialize)]
struct SetFile {
    schema: u32,
    program: String,
}

/// A file of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartFile {
    /// Its path below the set, with `/` between folders.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A group that the ranks of a part declare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclaredGroup {
    /// Its key.
    pub key: u64,
    /// The vendor's name.
    pub id: String,
    /// The framework's name of it; empty where it has none.
    #[serde(default)]
    pub name: String,
    /// Its use.
    pub role: String,
    /// Its ranks.
    pub ranks: Vec<u32>,
}

/// The contents of a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of its tables.
    pub schema: u32,
    /// The program that wrote it.
    pub program: String,
    /// How much of each rank it has.
    pub keep: Keep,
    /// Its ranks, each with the fingerprint of what it was read from.
    pub ranks: BTreeMap<u32, String>,
    /// Its files.
    pub files: Vec<PartFile>,
    /// How many ranks the run says that it has.
    pub world_size: Option<u32>,
    /// The sizes of parallelism that the run declares.
    pub layout: Vec<(String, u32)>,
    /// The groups that its ranks declare.
    pub groups: Vec<DeclaredGroup>,
}

impl Manifest {
    /// The part's name, which no other with different ranks has.
    pub fn name(&self) -> String {
        let number = |rank: Option<&u32>| rank.copied().unwrap_or(0);
        part_name(number(self.ranks.keys().next()), number(self.ranks.keys().last()))
    }

    /// The name of the file that it is kept in.
    pub fn file_name(&self) -> String {
        format!("{}.json", self.name())
    }
}

/// The name of the part of some ranks.
pub fn part_name(first: u32, last: u32) -> String {
    format!("{first:08}-{last:08}")
}

/// The folder of a run's manifests.
pub fn folder(set: &Path, run: &str) -> PathBuf {
    set.join("_manifest").join(format!("run={run}"))
}

/// The program and its version, as sets and manifests have them.
pub fn program() -> String {
    format!("opscope {}", env!("CARGO_PKG_VERSION"))
}

/// Makes a folder a set, or finds that it is one that can be written.
///
/// # Errors
/// When it has something else in it, or is of a later version.
pub fn begin(set: &Path) -> Result<(), SetError> {
    if is_set(set) {
        return check(set);
    }
    let is_occupied = std::fs::read_dir(set).is_ok_and(|mut entries| {
        // Temporary files are of another importer that begins the same set.
        entries.any(|entry| entry.is_ok_and(|it| !it.file_name().as_encoded_bytes().starts_with(b".")))
    });
    // Of a set whose file was deleted, parts are left.
    if is_occupied && !is_set(set) && !set.join("_manifest").is_dir() {
        return Err(SetError::NoSet(set.to_owned()));
    }
    let unwritable = |error: std::io::Error| SetError::unwritable(&set.join(SET_FILE), error);
    opscope_files::create_folder(set).map_err(unwritable)?;
    write_json(&set.join(SET_FILE), &SetFile { schema: SCHEMA, program: program() })
}

/// Refuses a set of a later version.
///
/// # Errors
/// When it is one, or says nothing of its version.
pub fn check(set: &Path) -> Result<(), SetError> {
    let path = set.join(SET_FILE);
    let file: SetFile = read_json(&path).map_err(|error| match error {
        SetError::DamagedManifest { path, why } => SetError::DamagedSet { path, why },
        error => error,
    })?;
    check_schema(&path, file.schema, file.program)
}

fn check_schema(path: &Path, found: u32, by: String) -> Result<(), SetError> {
    match found <= SCHEMA {
        true => Ok(()),
        false => Err(SetError::Newer { path: path.to_owned(), found, by }),
    }
}

/// The names of a set's runs.
///
/// # Errors
/// As [`manifests`].
pub fn runs(set: &Path) -> Result<Vec<String>, SetError> {
    let entries = std::fs::read_dir(set.join("_manifest")).into_iter().flatten().flatten();
    let mut runs = Vec::new();
    for entry in entries {
        let name = entry.file_name();
        let run = name.to_str().and_then(|name| name.strip_prefix("run="));
        let Some(run) = run.filter(|run| super::is_run_name(run)) else { continue };
        if !manifests(set, run)?.is_empty() {
            runs.push(run.to_owned());
        }
    }
    runs.sort();
    Ok(runs)
}

/// The run to read: the named one, or the only one.
///
/// # Errors
/// When there is no such run, or several and none is named.
pub fn chosen_run(set: &Path, run: Option<&str>) -> Result<String, SetError> {
    check(set)?;
    // Damage of another run is none of a named one's.
    if let Some(run) = run.filter(|run| super::is_run_name(run))
        && !manifests(set, run)?.is_empty()
    {
        return Ok(run.to_owned());
    }
    let runs = runs(set)?;
    let has = || runs.join(", ");
    let path = set.to_owned();
    match (run, &runs[..]) {
        (_, []) => Err(SetError::NoRunYet { path }),
        (Some(run), _) => Err(SetError::NoRun { path, run: run.to_owned(), has: has() }),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(SetError::ManyRuns { path, has: has() }),
    }
}

/// Whether a set has several runs, so that one has to be named to read it.
pub fn has_several_runs(set: &Path) -> bool {
    runs(set).is_ok_and(|runs| runs.len() > 1)
}

/// The manifests of a run's parts, in the order of their ranks.
///
/// # Errors
/// When one can't be read, is of a later version, or two have the same rank.
pub fn manifests(set: &Path, run: &str) -> Result<Vec<Manifest>, SetError> {
    let folder = folder(set, run);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let is_part = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        path.extension().is_some_and(|it| it == "json")
            && name.starts_with(|letter: char| letter.is_ascii_digit())
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_part).collect();
    paths.sort();
    let mut parts: Vec<Manifest> = Vec::new();
    let mut owners: BTreeMap<u32, String> = BTreeMap::new();
    for path in paths {
        // A later version's words may be read by none of this one's rules.
        let written: SetFile = read_json(&path)?;
        check_schema(&path, written.schema, written.program)?;
        let part: Manifest = read_json(&path)?;
        for rank in part.ranks.keys() {
            if let Some(first) = owners.insert(*rank, part.name()) {
                return Err(SetError::TwoParts { rank: *rank, first, second: part.name() });
            }
        }
        parts.push(part);
    }
    Ok(parts)
}

/// Writes a file of JSON, whole or not at all.
pub fn write_json(path: &Path, content: &impl Serialize) -> Result<(), SetError> {
    let text = serde_json::to_vec(content).map_err(|error| SetError::unwritable(path, error))?;
    opscope_files::write_atomically(path, |file| file.write_all(&text))
        .map_err(|error| SetError::unwritable(path, error))
}

/// Reads a file of JSON.
pub fn read_json<T: for<'d> Deserialize<'d>>(path: &Path) -> Result<T, SetError> {
    let bytes = opscope_files::read_plain(path)
        .map_err(|error| SetError::Unopened { path: path.to_owned(), why: error.to_string() })?;
    serde_json::from_slice(&bytes).map_err(|error| SetError::damaged_manifest(path, error))
}

/// The offset basis and prime of FNV-1a with 64 bits.
const FNV: (u64, u64) = (0xCBF2_9CE4_8422_2325, 0x0000_0100_0000_01B3);

/// A running FNV-1a hash: the same on every machine and in every version, which the standard library's isn't.
#[derive(Clone, Copy)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(FNV.0)
    }
}

impl Fingerprint {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV.1));
    }

    /// As sixteen digits.
    pub fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The fingerprint of what a rank is read from: the files' names, lengths, first and last 64 KiB. Wherever they are
/// copied to, they keep it; and a database's first page changes with every change of it.
pub fn fingerprint(collection: &Collection) -> String {
    let mut print = Fingerprint::default();
    for path in collection.outputs.files() {
        add_path(&mut print, path);
    }
    if let Some(device) = collection.outputs.whole.as_ref().and_then(|whole| whole.device) {
        print.add(&device.to_le_bytes());
    }
    print.text()
}

/// Adds a file, or all files of a raw directory in the order of their names.
fn add_path(print: &mut Fingerprint, path: &Path) {
    let name = path.file_name().unwrap_or_default();
    print.add(name.as_encoded_bytes());
    let Ok(entries) = std::fs::read_dir(path) else {
        // A file that can't be read is one without content, as for whoever reads the rank.
        let _ = add_file(print, path);
        return;
    };
    let mut entries: Vec<std::fs::DirEntry> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    // Imports of a raw directory lie within it, and change nothing of it.
    entries.retain(|entry| entry.file_name() != "sqlite");
    // Links aren't followed, so that a circle of them has an end.
    let is_plain = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_symlink());
    entries.iter().filter(|entry| is_plain(entry)).for_each(|entry| add_path(print, &entry.path()));
}

fn add_file(print: &mut Fingerprint, path: &Path) -> std::io::Result<()> {
    const ENDS: u64 = 64 << 10;
    let mut file = opscope_files::open_plain(path)?;
    let length = file.metadata()?.len();
    print.add(&length.to_le_bytes());
    let mut bytes = Vec::new();
    (&mut file).take(ENDS).read_to_end(&mut bytes)?;
    if length > ENDS {
        file.seek(SeekFrom::Start(length.saturating_sub(ENDS).max(ENDS)))?;
        (&mut file).take(ENDS).read_to_end(&mut bytes)?;
    }
    print.add(&bytes);
    Ok(())
}
