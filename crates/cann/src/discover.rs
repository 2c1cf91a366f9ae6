//! Finds profiles: directories that hold an `info.json`, grouped by the profile they belong to.
//!
//! | layout | profile | host | devices |
//! |---|---|---|---|
//! | current | `PROF_*` | `PROF_*/host` | `PROF_*/device_N` |
//! | jobs of CANN 3 to 5 | `JOB*` | the same directory | the same directory |

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::metadata::{HOST_ID, Listed, Metadata, is_info_json, list};
use opscope_trace::{LossKind, Losses};

/// Directories that a search doesn't enter: results, and the data of what was found already.
const SKIPPED: [&str; 7] = [
    "mindstudio_profiler_output",
    "mindstudio_profiler_log",
    "timeline",
    "summary",
    "sqlite",
    "data",
    "query",
];

/// How many directories deep profiles are searched.
const MAX_DEPTH: usize = 8;

/// One profiled run, as it lies on the disk.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The profile's directory, mostly called `PROF_*`.
    pub path: PathBuf,
    /// The directory with the host's files, if there is one.
    pub host: Option<Source>,
    /// The directories with the devices' files, by device number.
    pub devices: Vec<Source>,
    /// Losses that were seen while the profile was found.
    pub losses: Losses,
}

/// A host or device directory.
#[derive(Clone, Debug)]
pub struct Source {
    /// The directory.
    pub path: PathBuf,
    /// Its metadata files.
    pub metadata: Metadata,
}

impl Source {
    /// The directory with the record files.
    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// The device's number, or the host's.
    pub fn id(&self) -> u32 {
        if self.metadata.info.is_host {
            return HOST_ID;
        }
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let from_name = name.strip_prefix("device_").and_then(|number| number.parse().ok());
        from_name.or(self.metadata.info.device).unwrap_or(0)
    }

    /// The directory's name.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Profile {
    /// The metadata that speaks for the whole profile: the host's, else the first device's.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.host.as_ref().or(self.devices.first()).map(|source| &source.metadata)
    }

    /// Whether any of its folders of records has a file: whoever tidied up may have left the results alone.
    pub fn has_records(&self) -> bool {
        let has_file = |source: &Source| {
            let entries = std::fs::read_dir(source.data());
            entries.is_ok_and(|entries| entries.flatten().any(|entry| entry.path().is_file()))
        };
        self.host.iter().chain(&self.devices).any(has_file)
    }

    /// The profile's name.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The result of a search.
#[derive(Debug)]
pub struct Found {
    /// The profiles, in the order of their paths; at least one.
    pub profiles: Vec<Profile>,
    /// Why host or device directories, or directories that may hold some, can't be used.
    pub unusable: Vec<Error>,
}

/// Finds all profiles at or below `path`, in the order of their paths.
///
/// `path` may be a profile, one of its host or device directories, or any directory above several
/// profiles. Links are not followed.
///
/// # Errors
/// If `path` doesn't exist or can't be listed, if no profile is found, or if the metadata of the
/// only source found can't be used.
pub fn discover(path: &Path) -> Result<Vec<Profile>> {
    search(path).map(|found| found.profiles)
}

/// As [`discover`], and tells what can't be used.
///
/// # Errors
/// The same as of [`discover`].
pub fn search(path: &Path) -> Result<Found> {
    if !path.exists() {
        let rooted = Path::new("/").join(path);
        let hint = (path.is_relative() && rooted.exists()).then_some(rooted);
        return Err(Error::NotFound { path: path.to_owned(), hint });
    }
    let (mut sources, mut unusable) = (Vec::new(), Vec::new());
    find_sources(path, MAX_DEPTH, &mut sources, &mut unusable)?;
    let mut profiles: BTreeMap<PathBuf, Profile> = BTreeMap::new();
    for (directory, names) in sources {
        let root = profile_of(&directory);
        let profile = profiles.entry(root.clone()).or_insert_with(|| Profile {
            path: root,
            host: None,
            devices: Vec::new(),
            losses: Losses::default(),
        });
        match Metadata::read(&directory, &names, &mut profile.losses) {
            Ok(metadata) => {
                profile.count_cut_readings(&directory, &names);
                profile.add(Source { path: directory, metadata });
            }
            Err(error) => {
                profile.lose(&directory);
                unusable.push(error);
            }
        }
    }
    for error in &unusable {
        if let Error::NoMetadata { path: directory } = error
            && let Some(profile) = profiles.get_mut(&profile_of(directory))
        {
            profile.lose(directory);
        }
    }
    let mut profiles: Vec<Profile> = profiles.into_values().filter(|p| p.metadata().is_some()).collect();
    if profiles.is_empty() {
        let first = unusable.into_iter().next();
        return Err(first.unwrap_or_else(|| Error::NoProfile { path: path.to_owned() }));
    }
    for profile in &mut profiles {
        profile.devices.sort_by_key(Source::id);
    }
    Ok(Found { profiles, unusable })
}

impl Profile {
    /// Counts a directory of the profile that can't be used.
    fn lose(&mut self, directory: &Path) {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        self.losses.count(LossKind::UnusableDirectory, &name, 1);
    }

    /// Counts the files with readings of clocks whose last line isn't ended: of its number, or of the
    /// readings behind it, a part may be missing.
    fn count_cut_readings(&mut self, directory: &Path, names: &[Listed]) {
        let folder = directory.file_name().unwrap_or_default().to_string_lossy();
        for Listed { name, is_file, .. } in names {
            let is_reading = name.starts_with("host_start.log") || name.starts_with("dev_start.log");
            if is_reading && *is_file && last_byte(&directory.join(name)).is_some_and(|last| last != b'\n') {
                self.losses.count(LossKind::CutReading, &format!("{folder}/{name}"), 1);
            }
        }
    }

    fn add(&mut self, source: Source) {
        // A job directory is host and device in one.
        if source.path == self.path {
            self.host = Some(source.clone());
            if !source.metadata.info.is_host {
                self.devices.push(source);
            }
        } else if source.metadata.info.is_host {
            self.host = Some(source);
        } else {
            self.devices.push(source);
        }
    }
}

/// The last byte of a file that has any.
fn last_byte(path: &Path) -> Option<u8> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::End(-1)).ok()?;
    let mut last = [0];
    file.read_exact(&mut last).ok()?;
    Some(last[0])
}

/// The profile's directory that a host or device directory belongs to.
fn profile_of(source: &Path) -> PathBuf {
    match source.parent() {
        Some(parent) if is_part(source) && !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) if is_part(source) => PathBuf::from("."),
        _ => source.to_owned(),
    }
}

/// Whether a directory has the name of a host's or device's part of a profile.
fn is_part(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    name == "host" || name.starts_with("device_")
}

/// Collects the directories that hold an `info.json`, and what else they hold.
fn find_sources(
    directory: &Path,
    depth: usize,
    sources: &mut Vec<(PathBuf, Vec<Listed>)>,
    unusable: &mut Vec<Error>,
) -> Result<()> {
    let names = list(directory)?;
    if names.iter().any(|file| is_info_json(&file.name)) {
        sources.push((directory.to_owned(), names));
        return Ok(());
    }
    if names.iter().any(|file| file.name == "data") && is_part(directory) {
        unusable.push(Error::NoMetadata { path: directory.to_owned() });
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    for Listed { name, is_directory, .. } in names {
        if is_directory && !SKIPPED.contains(&name.as_str()) {
            let path = directory.join(&name);
            // A directory that can't be listed doesn't spoil its neighbours.
            if let Err(problem) = find_sources(&path, depth - 1, sources, unusable) {
                unusable.push(problem);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(root: &Path, path: &str, info: &str) {
        let directory = root.join(path);
        std::fs::create_dir_all(directory.join("data")).expect("a new directory");
        std::fs::write(directory.join("info.json"), info).expect("a new file");
    }

    const HOST: &str = r#"{"platform_version": "5", "devices": "64", "DeviceInfo": []}"#;
    const DEVICE: &str = r#"{"platform_version": "5", "devices": "3", "DeviceInfo": [{"id": 3}]}"#;

    #[test]
    fn profiles_are_found_from_any_parent_and_devices_are_in_order() {
        let root = tempfile::tempdir().expect("a temporary directory");
        for (path, info) in [
            ("run/PROF_2/host", HOST),
            ("run/PROF_2/device_10", DEVICE),
            ("run/PROF_2/device_9", DEVICE),
            ("run/PROF_1/host", HOST),
            ("run/mindstudio_profiler_output/host", HOST),
        ] {
            source(root.path(), path, info);
        }
        let found = discover(root.path()).expect("profiles");
        let names: Vec<String> = found.iter().map(Profile::name).collect();
        assert_eq!(names, ["PROF_1", "PROF_2"]);
        let ids: Vec<u32> = found[1].devices.iter().map(Source::id).collect();
        assert_eq!(ids, [9, 10]);
        assert_eq!(discover(&root.path().join("run/PROF_2/device_9")).map(|p| p.len()).ok(), Some(1));
    }

    #[test]
    fn a_job_directory_is_host_and_device_in_one() {
        let root = tempfile::tempdir().expect("a temporary directory");
        source(root.path(), "JOBABC", DEVICE);
        let found = discover(root.path()).expect("a profile");
        assert_eq!(found[0].name(), "JOBABC");
        assert!(found[0].host.is_some());
        assert_eq!(found[0].devices.iter().map(Source::id).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn what_cannot_be_used_is_told_beside_what_can() {
        let root = tempfile::tempdir().expect("a temporary directory");
        source(root.path(), "PROF_1/host", HOST);
        source(root.path(), "PROF_1/device_0", r#"{"platform_version": "77", "DeviceInfo": [{}]}"#);
        std::fs::create_dir_all(root.path().join("PROF_1/device_1/data")).expect("a new directory");
        let found = search(root.path()).expect("a profile");
        assert_eq!((found.profiles.len(), found.profiles[0].devices.len()), (1, 0));
        let told: Vec<String> = found.unusable.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|text| text.contains("77")), "{told:?}");
        assert!(told.iter().any(|text| text.contains("device_1") && text.contains("info.json")), "{told:?}");
        let losses = &found.profiles[0].losses;
        let places: Vec<&str> = losses
            .rows()
            .iter()
            .filter(|loss| loss.kind == LossKind::UnusableDirectory)
            .map(|loss| loss.place.as_str())
            .collect();
        assert_eq!(places, ["device_0", "device_1"]);
    }

    #[test]
    fn what_is_no_profile_is_said_clearly() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let error = discover(root.path()).expect_err("nothing there").to_string();
        assert!(error.contains("no profile found"), "{error}");
        let error = discover(&root.path().join("missing")).expect_err("not there").to_string();
        assert!(error.contains("no such directory"), "{error}");
        source(root.path(), "host", "not json");
        let error = discover(root.path()).expect_err("damaged").to_string();
        assert!(error.contains("info.json") && error.contains("JSON"), "{error}");
        source(root.path(), "host", r#"{"platform_version": "77"}"#);
        let error = discover(root.path()).expect_err("unknown").to_string();
        assert!(error.contains("77"), "{error}");
    }
}
