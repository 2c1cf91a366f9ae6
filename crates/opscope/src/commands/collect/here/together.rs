//! Both sides of a run in one directory: what opscope recorded of the host is put into the profile that
//! AscendCL wrote of the same run, with the host's and the device's tasks.
//!
//! | of opscope's profile, below `host/data` | what becomes of it |
//! |---|---|
//! | marks (`*.msproftx.slice_N`) | further slices, by the clock of AscendCL's records |
//! | names of domains (`*.hash_dic.slice_N`) | further slices |
//! | times of calls and the names for them | left out: AscendCL's profile has them |
//! | samples of the host, profiles of ONNX Runtime, notes | put there as they are; their times are absolute |
//!
//! Where one of AscendCL's files has the place, its clock isn't known, or its times are those of another
//! run, both directories stay as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use opscope_cann::Source;
use opscope_cann_raw::Record;
use opscope_cann_raw::additional::Tx;
use opscope_cann_raw::host::Head;
use opscope_say::{say, word};

/// Names that are AscendCL's business where it records itself.
const THEIRS: [&str; 2] = ["aging.api_event.data.slice_", "unaging.additional.type_info_dic.slice_"];
const CALLS: [&str; 2] = ["api_event", "AclModule"];
const MARKS: &str = ".msproftx.slice_";
const NAMES: &str = ".hash_dic.slice_";
const MARKER: &str = ".done";

/// A file to be written into the other profile.
struct Piece {
    target: PathBuf,
    content: Vec<u8>,
}

/// Puts what lies in `ours` into `theirs`, and removes `ours`.
///
/// # Errors
/// With the reason why both are left as they are.
pub fn bring_together(ours: &Path, theirs: &Path) -> Result<(), String> {
    let (own, other) = (host_of(ours)?, host_of(theirs)?);
    same_run(&own, &other)?;
    let pieces = pieces(&own, &other)?;
    for (index, piece) in pieces.iter().enumerate() {
        if let Err(error) =
            opscope_files::write_atomically(&piece.target, |out| out.write_all(&piece.content))
        {
            pieces[..index].iter().for_each(|piece| {
                let _ = fs::remove_file(&piece.target);
            });
            return Err(format!("{}: {error}", piece.target.display()));
        }
    }
    fs::remove_dir_all(ours).map_err(|error| format!("{}: {error}", ours.display()))
}

/// The host's side of a profile.
fn host_of(path: &Path) -> Result<Source, String> {
    let found = opscope_open::Source::at(path).map_err(|error| error.to_string())?;
    let host = found.profile_itself().and_then(|profile| profile.host.clone());
    host.ok_or_else(|| say!("{} has no side of the host", path.display()))
}

/// AscendCL's recording lies within that of opscope, which began before the program and ended after it.
fn same_run(own: &Source, other: &Source) -> Result<(), String> {
    let (Some(begin), Some(theirs)) =
        (own.metadata.session.begin_monotonic, other.metadata.session.begin_monotonic)
    else {
        return Err(word("the time of one of them isn't known").to_owned());
    };
    let now = i64::try_from(opscope_capture::monotonic_raw()).unwrap_or(i64::MAX);
    match (begin..=now).contains(&theirs) {
        true => Ok(()),
        false => Err(word("their clocks have nothing in common").to_owned()),
    }
}

/// The files that are to be written, before any is.
fn pieces(own: &Source, other: &Source) -> Result<Vec<Piece>, String> {
    let (from, to) = (own.data(), other.data());
    let names = |folder: &Path| -> Result<Vec<String>, String> {
        let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    };
    let (mine, theirs) = (names(&from)?, names(&to)?);
    let has_calls = |names: &[String]| names.iter().any(|name| CALLS.iter().any(|word| name.contains(word)));
    if has_calls(&mine) && !has_calls(&theirs) {
        return Err(word("AscendCL recorded no calls, and opscope did").to_owned());
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for name in mine.iter().filter(|name| !name.ends_with(MARKER)) {
        if THEIRS.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let mut content = read(&from.join(name))?;
        let mut target = name.clone();
        if name.contains(MARKS) {
            retime(&mut content, own, other)?;
        }
        if name.contains(MARKS) || name.contains(NAMES) {
            let taken = |candidate: &String| {
                theirs.contains(candidate) || pieces.iter().any(|piece| piece.target == to.join(candidate))
            };
            let stem = name.rsplit_once('_').map_or(&**name, |(stem, _)| stem);
            let mut candidates = (0..).map(|number: u32| format!("{stem}_{number}"));
            target = candidates.find(|candidate| !taken(candidate)).unwrap_or_default();
        } else if theirs.contains(name) {
            return Err(say!("both have a file {name}"));
        }
        let size = content.len();
        pieces.push(Piece { target: to.join(&target), content });
        if mine.contains(&format!("{name}{MARKER}")) {
            let content = format!("filesize:{size}").into_bytes();
            pieces.push(Piece { target: to.join(format!("{target}{MARKER}")), content });
        }
    }
    Ok(pieces)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error: io::Error| format!("{}: {error}", path.display()))
}

/// Gives marks the times that AscendCL's clock had when they were set.
fn retime(content: &mut Vec<u8>, own: &Source, other: &Source) -> Result<(), String> {
    let (mine, theirs) = (own.metadata.host_clock(), other.metadata.host_clock());
    let mut written = Vec::with_capacity(content.len());
    for bytes in content.chunks_exact(Tx::SIZE) {
        let at = |ticks: u64| theirs.ticks_at(mine.monotonic(ticks));
        let retimed = Tx::read(bytes).and_then(|mark| {
            let head = Head { time: at(mark.head.time)?, ..mark.head };
            Some(Tx { head, start: at(mark.start)?, end: at(mark.end)?, ..mark })
        });
        let Some(mark) = retimed else {
            return Err(word("marks lie outside of AscendCL's clock").to_owned());
        };
        mark.append_to(&mut written);
    }
    *content = written;
    Ok(())
}
