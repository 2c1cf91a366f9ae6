//! The profiles in and below a folder of no known format.

use std::fs;
use std::path::{Path, PathBuf};

use opscope_formats::reading::Stop;

use crate::about::FormatKind;
use crate::format::{Format, Reader};
use crate::formats::beside::{MOST_FILES as MOST_OF_FOLDER, files_of};
use crate::formats::board;
use crate::look::{Look, PLAIN_FOLDER};
use crate::source::{Source, format_of};

/// How many levels of folders are looked at below the one that was named.
const LEVELS: usize = 4;

/// How many folders are looked at in one search. Whoever names a folder with more means none of its profiles.
const MOST_FOLDERS: usize = 256;

/// How many files are looked at in one search, of all folders together.
const MOST_FILES: usize = 2_000;

/// How many texts are looked at further than at their beginnings in one search, each as far as one that was named.
const MOST_TEXTS: usize = 16;

/// The profiles in a folder of no known format.
pub(crate) enum Within {
    Nothing,
    One(Box<Source>),
    Several(Vec<PathBuf>),
    /// None, or one, among the files that were looked at, and there are more.
    Unsure(Vec<PathBuf>),
    /// None, and texts of which so many mebibytes were looked at and no more.
    LongTexts {
        mebibytes: u64,
        texts: Vec<PathBuf>,
    },
}

/// Whether a format is one of profiles that can be read.
pub(crate) fn is_profile(format: &Format) -> bool {
    !matches!(format.reader, Reader::None(_))
        && format.about.is_some_and(|about| about.kind == FormatKind::Profile)
}

/// The profiles among a folder's files; if there are none, those below it. Where `stop` is wanted they mean nothing.
pub(crate) fn within(look: &Look, stop: &Stop) -> Within {
    if !look.is_folder {
        return Within::Nothing;
    }
    let mut search = Search::new(stop);
    search.look_in(&look.path);
    // Raw directories that can't be used are the ones that are meant, and the error says why.
    let are_boards = || !board::jobs_below(&look.path).is_empty();
    let is_plain = !are_boards() && matches!(look.raw(), Err(opscope_cann::Error::NoProfile { .. }));
    if search.found.is_empty() && is_plain {
        search.look_below(&look.path);
    }
    if search.found.is_empty() {
        search.look_further();
    }
    let is_known = !is_plain || look.looks_like() != PLAIN_FOLDER;
    let Search { mut found, is_all, long_texts, .. } = search;
    match found.len() {
        0 if is_known => Within::Nothing,
        0 if is_all => {
            long_texts.map_or(Within::Nothing, |(mebibytes, texts)| Within::LongTexts { mebibytes, texts })
        }
        0 | 1 if !is_all => Within::Unsure(found),
        0 | 1 => found
            .pop()
            .and_then(|path| Source::at(&path).ok())
            .map_or(Within::Nothing, |it| Within::One(it.into())),
        _ => Within::Several(found),
    }
}

/// A search for profiles, which looks at no more than a budget allows.
struct Search<'s> {
    stop: &'s Stop,
    found: Vec<PathBuf>,
    /// Texts that no format knows by their beginnings, and that go on.
    texts: Vec<PathBuf>,
    /// Texts among them that no format knows by the most that is looked at either, with how many mebibytes that is.
    long_texts: Option<(u64, Vec<PathBuf>)>,
    files_left: usize,
    folders_left: usize,
    /// Whether the budget allowed to look at everything.
    is_all: bool,
}

impl<'s> Search<'s> {
    fn new(stop: &'s Stop) -> Self {
        let (files_left, folders_left) = (MOST_FILES, MOST_FOLDERS);
        let (found, texts) = (Vec::new(), Vec::new());
        Self { stop, found, texts, long_texts: None, files_left, folders_left, is_all: true }
    }

    /// Looks at the files of a folder.
    fn look_in(&mut self, folder: &Path) {
        let texts = &mut self.texts;
        let is = |file: &Look| {
            let format = format_of(file);
            if format.is_none() && file.is_begin_of_text() {
                texts.push(file.path.clone());
            }
            format.is_some_and(is_profile)
        };
        let files = files_of(folder, self.stop, &mut self.files_left, is);
        self.found.extend(files.found);
        self.is_all &= files.is_all;
    }

    /// Looks at more of the texts that no format knows by their beginnings: a log may stand above a table.
    fn look_further(&mut self) {
        self.is_all &= self.texts.len() <= MOST_TEXTS;
        for path in self.texts.iter().take(MOST_TEXTS) {
            if self.stop.is_wanted() {
                break;
            }
            let Ok(source) = Source::at(path) else { continue };
            if source.format().is_some_and(is_profile) {
                self.found.push(path.clone());
            } else if let Some(mebibytes) = source.most_of_text() {
                self.long_texts.get_or_insert((mebibytes, Vec::new())).1.push(path.clone());
            }
        }
    }

    /// Looks below a folder that has no profile itself: at folders that are one whole, or else their files. Links
    /// aren't followed.
    fn look_below(&mut self, folder: &Path) {
        let mut level = vec![folder.to_owned()];
        for _ in 0..LEVELS {
            let mut next = Vec::new();
            for folder in &level {
                next.extend(self.folders_in(folder));
            }
            // A folder that is a profile whole isn't looked into.
            next.retain(|folder| !self.stop.is_wanted() && !self.take_whole(folder));
            level = next;
        }
    }

    /// Whether a folder is a profile as a whole; otherwise its files are looked at. Where no file may be looked at any
    /// more, nothing tells.
    fn take_whole(&mut self, folder: &Path) -> bool {
        if self.files_left == 0 {
            self.is_all = false;
            return false;
        }
        let look = Look::met(folder, self.stop);
        let is_whole = look.is_ok_and(|look| format_of(&look).is_some_and(is_profile));
        match is_whole {
            true => {
                let files = fs::read_dir(folder).into_iter().flatten().take(MOST_OF_FOLDER).count();
                self.files_left = self.files_left.saturating_sub(files);
                self.found.push(folder.to_owned());
            }
            false => self.look_in(folder),
        }
        is_whole
    }

    /// The folders in a folder, by name, as many as may still be looked at.
    fn folders_in(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut folders = folders_in(folder);
        self.is_all &= folders.len() <= self.folders_left;
        folders.truncate(self.folders_left);
        self.folders_left -= folders.len();
        folders
    }
}

/// The folders in a folder, by name; none that is hidden.
pub(crate) fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_hidden = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let folders =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_hidden(entry));
    let mut paths: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
