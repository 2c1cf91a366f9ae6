//! The profiles in and below a folder of no known format.

use std::fs;
use std::path::{Path, PathBuf};

use crate::about::FormatKind;
use crate::format::{Format, Reader};
use crate::formats::beside::files_in;
use crate::formats::board;
use crate::look::Look;
use crate::source::{Source, format_of};

/// How many levels of folders are looked at below the one that was named.
const LEVELS: usize = 4;

/// How many folders are looked at. Whoever names a folder with more means none of its profiles.
const MOST_FOLDERS: usize = 256;

/// The profiles in a folder of no known format.
pub(crate) enum Within {
    Nothing,
    One(Box<Source>),
    Several(Vec<PathBuf>),
}

/// Whether a format is one of profiles that can be read.
pub(crate) fn is_profile(format: &Format) -> bool {
    !matches!(format.reader, Reader::None(_))
        && format.about.is_some_and(|about| about.kind == FormatKind::Profile)
}

/// The profiles among a folder's files; if there are none, those below it.
pub(crate) fn within(look: &Look) -> Within {
    if !look.is_folder {
        return Within::Nothing;
    }
    let mut found = profiles_in(&look.path);
    // Raw directories that can't be used are the ones that are meant, and the error says why.
    let are_boards = || !board::jobs_below(&look.path).is_empty();
    if found.is_empty() && !are_boards() && matches!(look.raw(), Err(opscope_cann::Error::NoProfile { .. })) {
        found = profiles_below(&look.path);
    }
    match found.len() {
        0 => Within::Nothing,
        1 => found
            .pop()
            .and_then(|path| Source::at(&path).ok())
            .map_or(Within::Nothing, |it| Within::One(it.into())),
        _ => Within::Several(found),
    }
}

fn profiles_in(folder: &Path) -> Vec<PathBuf> {
    files_in(folder, |file| format_of(file).is_some_and(is_profile))
}

/// The profiles below a folder that has none itself: folders that are one whole, or else files. Links aren't followed.
fn profiles_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut level, mut seen) = (Vec::new(), vec![folder.to_owned()], 0);
    for _ in 0..LEVELS {
        let folders: Vec<PathBuf> = level.iter().flat_map(|folder| folders_in(folder)).collect();
        seen += folders.len();
        if seen > MOST_FOLDERS {
            return Vec::new();
        }
        level.clear();
        for folder in folders {
            match Look::at(&folder).is_ok_and(|look| format_of(&look).is_some_and(is_profile)) {
                true => found.push(folder),
                false => {
                    found.extend(profiles_in(&folder));
                    level.push(folder);
                }
            }
        }
    }
    found
}

/// The folders in a folder, by name; none that is hidden.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_hidden = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let folders =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_hidden(entry));
    let mut paths: Vec<PathBuf> = folders.map(|entry| entry.path()).take(MOST_FOLDERS + 1).collect();
    paths.sort();
    paths
}
