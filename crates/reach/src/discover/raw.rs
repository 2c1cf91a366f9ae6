//! A look at raw directories: a rank for each device.

use std::path::{Path, PathBuf};

use opscope_cann::Profile;

use super::found::Found;
use super::{Declared, Format, Whole, name_of};
use crate::error::{Loss, LossReason};

/// The ranks of a raw directory. Where the vendor's tool has made a database of one device, that is read.
pub fn look_at(folder: &Path) -> Vec<Found> {
    let profiles = match opscope_cann::discover(folder) {
        Ok(profiles) => profiles,
        Err(error) => return vec![unusable(folder, error)],
    };
    profiles.iter().flat_map(ranks_of).collect()
}

/// Looks for the raw directory within the folder of a rank whose results are missing.
pub fn look_within(folder: &Path, found: &mut Found) {
    let raw = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut raw: Vec<PathBuf> = raw.filter(|path| is_raw(path)).collect();
    raw.sort_unstable();
    let mut all = raw.iter().flat_map(|path| look_at(path));
    let Some(one) = all.next() else { return };
    let left = |it: Found| Loss::new(None, it.folder.display().to_string(), LossReason::Double, 1);
    found.losses.extend(all.map(left));
    found.outputs = one.outputs;
    found.device = one.device;
    found.rank = one.rank;
    found.losses.extend(one.losses);
    if !one.host.is_empty() && !one.is_host_above {
        found.take_host(one.host, None);
    }
}

fn unusable(folder: &Path, error: opscope_cann::Error) -> Found {
    let loss = Loss::new(None, folder.display().to_string(), LossReason::Damaged, 1).because(error);
    let mut found = Found { losses: vec![loss], may_be_something_else: true, ..Found::at(folder) };
    found.or_host_above();
    found
}

fn ranks_of(profile: &Profile) -> Vec<Found> {
    let database = database_in(&profile.path).filter(|_| profile.devices.len() == 1);
    let is_one_of_several = profile.devices.len() > 1;
    let of_device = |device: &opscope_cann::Source| {
        let mut found = Found {
            device: Some(device.id()),
            taken: taken(&profile.name()),
            may_be_something_else: true,
            ..Found::at(&profile.path)
        };
        for source in profile.host.iter().chain([device]) {
            let info = &source.metadata.info;
            found.rank = u32::try_from(info.rank).ok().or(found.rank);
            if !info.host_name.is_empty() {
                found.host.clone_from(&info.host_name);
            }
        }
        found.or_host_above();
        found.outputs.database.clone_from(&database);
        if database.is_none() {
            let (path, device) = (profile.path.clone(), is_one_of_several.then(|| device.id()));
            let whole = Whole { path, device, format: Format::Raw, declared: Declared::default() };
            found.outputs.whole = Some(whole);
        }
        found
    };
    profile.devices.iter().map(of_device).collect()
}

/// Whether a folder is a raw directory, by its name and by the folders and files in it.
pub fn is_raw(path: &Path) -> bool {
    let is_part = |name: &str| name == "host" || name.starts_with("device_") || name.starts_with("info.json");
    let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    name_of(path).starts_with("PROF_") && entries.any(|entry| is_part(&entry.file_name().to_string_lossy()))
}

/// The newest database that the vendor's tool has put into a raw directory.
fn database_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_database = |path: &PathBuf| {
        let name = name_of(path);
        name.starts_with("msprof_") && name.ends_with(".db")
    };
    entries.filter(is_database).max()
}

/// The time in a name such as `PROF_000001_20251009085320000_ABCDEFGH`.
fn taken(name: &str) -> String {
    let is_time = |part: &&str| part.len() >= 14 && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split('_').find(is_time).unwrap_or_default().to_owned()
}
