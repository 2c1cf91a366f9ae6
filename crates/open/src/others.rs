//! The profiles that lie beside the one that a folder is read as. Whoever names a folder may mean all that is in it, so
//! they are looked for here, in one place for the readers of all folders: the first files of it, and the first folders
//! that are one whole. Where there are more, that is told. Folders that are known by the content of their files alone, as
//! those of TensorRT and OpenVINO are, aren't looked into.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use opscope_cann::read::{FileFate, SeenFile};
use opscope_formats::OwnFiles;
use opscope_formats::reading::Stop;
use opscope_svp::FileName;
use opscope_trace::{Loss, LossKind, Trace};

use crate::format::{Content, Format};
use crate::formats::beside::{MOST_FILES, files_in};
use crate::formats::{
    ascend_communication, ascend_database, ascend_operators, ascend_outputs, ascend_raw, ascend_serving,
    ascend_table, board, openvino, opscope_database, rocm, xplane,
};
use crate::look::Look;
use crate::source::format_of;
use crate::within::{folders_in, is_profile};

/// How many folders beside a profile are looked at, besides those that were read along.
const MOST_FOLDERS: usize = 64;

/// Formats of folders, each with those of files and folders in it that are read along, or that something tells of where
/// they aren't. A folder's own format is always among them.
const READ_ALONG: [(&str, &[&str]); 4] = [
    (ascend_outputs::FORMAT.name, &[ascend_raw::FORMAT.name]),
    (
        ascend_raw::FORMAT.name,
        &[
            ascend_outputs::FORMAT.name,
            ascend_database::FORMAT.name,
            ascend_table::FORMAT.name,
            ascend_communication::FORMAT.name,
        ],
    ),
    (openvino::FOLDER.name, &[openvino::GRAPH.name]),
    (rocm::FOLDER.name, &[rocm::FORMAT.name]),
];

/// The formats of folders that are one whole, and that little of a folder tells.
static WHOLE_FOLDERS: [&Format; 9] = [
    &ascend_operators::FORMAT,
    &board::FORMAT,
    &ascend_outputs::FORMAT,
    &ascend_raw::FORMAT,
    &board::BELOW,
    &ascend_operators::BELOW,
    &xplane::FOLDER,
    &rocm::FOLDER,
    &ascend_serving::FOLDER,
];

/// The words for a file of a folder of outputs that is a profile by itself.
const OF_OTHERS: &str = "another profile; give it alone";

/// Counts the profiles beside the one that a folder was read as. Where `stop` is wanted, some are missing.
pub(crate) fn count(content: &mut Content, format: &Format, folder: &Path, stop: &Stop) {
    let places = [content.place.as_path()];
    let mut others = Others::default();
    others.look_at_folders(format, folder, &places, &content.along, stop);
    match content.files.is_empty() {
        true => others.look_at_files(format, folder, &places, &content.along, stop),
        false => others.look_among(&mut content.files, folder, stop),
    }
    for profile in &others.profiles {
        tell(&mut content.trace, folder, profile);
    }
    for unseen in &others.unseen {
        content.trace.count_loss(LossKind::UnseenBeside, 1, &unseen.display().to_string());
    }
}

/// The profiles in a folder beside those in `places`, which are read as a format.
pub(crate) fn beside(format: &Format, folder: &Path, places: &[&Path], stop: &Stop) -> Others {
    let mut others = Others::default();
    others.look_at_folders(format, folder, places, &[], stop);
    others.look_at_files(format, folder, places, &[], stop);
    others
}

/// The profiles beside others, and the folders in which there may be more.
#[derive(Debug, Default)]
pub(crate) struct Others {
    pub profiles: BTreeSet<PathBuf>,
    /// Folders that have more files or folders than are looked at.
    pub unseen: BTreeSet<PathBuf>,
}

impl Others {
    /// Takes in the files that are profiles; none of those that were read `along`.
    fn look_at_files(
        &mut self,
        format: &Format,
        folder: &Path,
        places: &[&Path],
        along: &[PathBuf],
        stop: &Stop,
    ) {
        let along = absolute_paths(along);
        let is_other = |look: &Look| {
            let path = look.path.as_path();
            is_of_another(format, look) && !places.contains(&path) && !along.contains(&absolute(path))
        };
        for level in levels(folder, places) {
            let files = files_in(level, stop, is_other);
            self.profiles.extend(files.found);
            if !files.is_all {
                self.unseen.insert(level.to_owned());
            }
        }
    }

    /// Takes in the folders that are profiles. However many there are of those that were read `along`, they take no room
    /// from the others; they may be of another format as well.
    fn look_at_folders(
        &mut self,
        format: &Format,
        folder: &Path,
        places: &[&Path],
        along: &[PathBuf],
        stop: &Stop,
    ) {
        let along = absolute_paths(along);
        let is_other = |path: &PathBuf| {
            let holds_one = places.iter().any(|place| place.starts_with(path));
            !holds_one
                && !stop.is_wanted()
                && Look::met(path, stop).is_ok_and(|look| is_of_another(format, &look))
        };
        for level in levels(folder, places) {
            let (own, beside): (Vec<PathBuf>, Vec<PathBuf>) =
                folders_in(level).into_iter().partition(|path| along.contains(&absolute(path)));
            if beside.len() > MOST_FOLDERS {
                self.unseen.insert(level.to_owned());
            }
            let looked_at = own.into_iter().chain(beside.into_iter().take(MOST_FOLDERS));
            self.profiles.extend(looked_at.filter(is_other));
        }
    }

    /// Takes in the profiles among files of which the reader of a folder of outputs knows nothing; it is said of each.
    fn look_among(&mut self, files: &mut [SeenFile], folder: &Path, stop: &Stop) {
        let unknown = files.iter_mut().filter(|file| file.fate == FileFate::NotUnderstood);
        for (number, file) in unknown.enumerate() {
            if number == MOST_FILES {
                self.unseen.insert(folder.to_owned());
                break;
            }
            let path = folder.join(&file.name);
            let is_plain = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
            let is_other = |look: Look| is_of_another(&ascend_outputs::FORMAT, &look);
            if is_plain && !stop.is_wanted() && Look::met(&path, stop).is_ok_and(is_other) {
                file.fate = FileFate::Failed(OF_OTHERS.to_owned());
                self.profiles.insert(path);
            }
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_default()
}

fn absolute_paths(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    paths.iter().map(|path| absolute(path)).collect()
}

/// The folders from those in which places lie up to the one that was named, or that one, if it is a place itself.
fn levels<'p>(folder: &'p Path, places: &[&'p Path]) -> BTreeSet<&'p Path> {
    let of_place = |&place: &&'p Path| {
        let own = usize::from(place != folder);
        place.ancestors().skip(own).take_while(move |level| level.starts_with(folder))
    };
    places.iter().flat_map(of_place).collect()
}

/// Whether there is a profile of another kind than those which are read along with a format, and that opscope didn't
/// make of it.
fn is_of_another(format: &Format, look: &Look) -> bool {
    let found = match look.is_folder {
        true => WHOLE_FOLDERS.iter().copied().find(|whole| (whole.is)(look)),
        false => format_of(look).filter(|found| is_profile(found)),
    };
    let along = READ_ALONG.iter().find(|(name, _)| *name == format.name).map(|(_, along)| *along);
    let is_along = |found: &Format| found == format || along.is_some_and(|along| along.contains(&found.name));
    found.is_some_and(|found| !is_along(found) && !is_made_of(format, found, &look.path))
}

/// Whether a file is one of those that are made of a folder and left in it: the database of an import, an export, or a
/// file of a board, whose reader goes by names.
fn is_made_of(format: &Format, found: &Format, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_import = *found == opscope_database::FORMAT && name == "opscope.db";
    let is_export =
        || path.is_file() && path.parent().is_some_and(|folder| !OwnFiles::of(folder).is_foreign(&name));
    let is_of_board = || *format == board::FORMAT && FileName::parse(&name).is_some();
    is_import || is_export() || is_of_board()
}

/// Tells of another profile, in place of a file that its folder's reader didn't understand.
fn tell(trace: &mut Trace, folder: &Path, other: &Path) {
    let name = other.strip_prefix(folder).unwrap_or(other).display().to_string();
    let is_it = |loss: &Loss| {
        loss.kind == LossKind::FileNotUnderstood && loss.count == 1 && trace.strings.get(loss.detail) == name
    };
    let known = trace.losses.iter().find(|(_, loss)| is_it(loss));
    let detail = other.display().to_string();
    match known {
        Some((id, loss)) => {
            let detail = trace.strings.intern(&detail);
            trace.losses.set(id, Loss { kind: LossKind::OtherProfile, detail, ..loss });
        }
        None => trace.count_loss(LossKind::OtherProfile, 1, &detail),
    }
}
