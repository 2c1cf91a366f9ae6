//! Sorts the files of a data directory into streams, whatever generation of names they have.
//!
//! | generation | name |
//! |---|---|
//! | host, current | `{aging or unaging}.<stream>.slice_<n>` |
//! | device, current | `<stream>.<device>.slice_<n>` |
//! | inference, 2022 | `<stream>.<x>.<device>.<n>` or `<stream>.<device>.<n>` |
//! | training, 2022 | `<stream>.<x>.dev.profiler_default_tag.<device>.slice_<n>` |
//! | the compiler's, chip 9 | `<model>.dbg`, which is a stream of its own by its whole name |
//!
//! Slices are ordered by their number, not by their name.
//!
//! A catalogue also knows which streams a decoder has asked for: what nobody asks for isn't read,
//! and is told by name.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_formats::reading::Stop;

use crate::error::Result;
use crate::metadata::{Listed, list};
use crate::slices::{Slice, Stream};
use opscope_trace::{LossKind, Losses};

/// The key of a stream, which its slices have in common: name, ageing, device.
type StreamKey = (String, bool, Option<u32>);

/// The streams of one data directory.
#[derive(Debug, Default)]
pub struct Catalogue {
    streams: BTreeMap<String, Entry>,
    /// Asked within everything that is made of the streams.
    stop: Stop,
}

/// The streams with one name.
#[derive(Debug, Default)]
struct Entry {
    streams: Vec<Stream>,
    /// Whether a decoder asked for them. They are only set, so no order is needed.
    is_read: AtomicBool,
}

impl Catalogue {
    /// Lists a data directory, whose streams can be read until `stop` is wanted; a directory that doesn't exist
    /// has none.
    ///
    /// # Errors
    /// If the directory exists but can't be listed.
    pub fn read(directory: &Path, stop: &Stop, losses: &mut Losses) -> Result<Self> {
        let mut catalogue = Self { stop: stop.clone(), ..Self::default() };
        let names = match list(directory) {
            Ok(names) => names,
            Err(_) if !directory.is_dir() => return Ok(catalogue),
            Err(problem) => return Err(problem),
        };
        // The numbers of slices, and where in the listing each stands.
        let mut groups: BTreeMap<StreamKey, Vec<(u64, usize)>> = BTreeMap::new();
        // Lengths that markers made us ask for, by the slices' places in the listing.
        let mut lengths = vec![None; names.len()];
        for (place, Listed { name, is_file, .. }) in names.iter().enumerate() {
            if let Some(slice) = name.strip_suffix(MARKER) {
                let told = is_file.then(|| told_length(&directory.join(name))).flatten();
                let missing = told.and_then(|told| {
                    let length = std::fs::metadata(directory.join(slice)).ok().map(|found| found.len());
                    if let Ok(place) = names.binary_search_by(|listed| listed.name.as_str().cmp(slice)) {
                        lengths[place] = length;
                    }
                    missing_bytes(slice, told, length)
                });
                losses.count(LossKind::CutSlice, slice, missing.unwrap_or(0));
                continue;
            }
            // Files that opscope keeps beside the slices are no streams.
            if [".complete", ".zip"].iter().any(|suffix| name.ends_with(suffix))
                || name.starts_with("opscope.")
            {
                continue;
            }
            if !is_file {
                continue;
            }
            match parse(name) {
                Some(file) => {
                    groups
                        .entry((file.stream, file.aging, file.device))
                        .or_default()
                        .push((file.slice, place));
                }
                None => losses.count(LossKind::UnknownFile, name, 1),
            }
        }
        for ((name, aging, device), mut slices) in groups {
            slices.sort();
            // The front of an ageing stream may have been dropped; a hole elsewhere is a loss.
            let holes = slices.windows(2).filter(|pair| pair[1].0 > pair[0].0 + 1).count();
            losses.count(LossKind::MissingSlice, &name, holes as u64);
            let slice = |(_, place): (u64, usize)| Slice {
                path: directory.join(&names[place].name),
                length: lengths[place],
            };
            let slices = slices.into_iter().map(slice).collect();
            let entry = catalogue.streams.entry(name.clone()).or_default();
            entry.streams.push(Stream { name, aging, device, slices, stop: stop.clone() });
        }
        Ok(catalogue)
    }

    /// Whether, and when, what is made of the streams is wanted no more.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The size of all files.
    pub fn bytes(&self) -> u64 {
        let streams = self.streams.values().flat_map(|entry| &entry.streams);
        let sizes = streams
            .flat_map(|stream| &stream.slices)
            .map(|slice| slice.path.metadata().map_or(0, |found| found.len()));
        sizes.sum()
    }

    /// The streams with a name: none, one, a kept and an ageing one, or one for each device.
    /// Whoever asks is expected to decode them.
    pub fn streams(&self, name: &str) -> &[Stream] {
        let Some(entry) = self.streams.get(name) else { return &[] };
        entry.is_read.store(true, Ordering::Relaxed);
        &entry.streams
    }

    /// The names of the streams that nobody asked for, and how many files each has.
    pub fn unread(&self) -> impl Iterator<Item = (&str, u64)> {
        let unread = self.streams.iter().filter(|(_, entry)| !entry.is_read.load(Ordering::Relaxed));
        unread.map(|(name, entry)| {
            (name.as_str(), entry.streams.iter().map(|stream| stream.slices.len() as u64).sum())
        })
    }

    /// Whether there is a stream with a name.
    pub fn has(&self, name: &str) -> bool {
        self.streams.contains_key(name)
    }

    /// The names of all streams.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.streams.keys().map(String::as_str)
    }
}

/// How the names of the markers end that a collector puts beside the slices which it has completed.
const MARKER: &str = ".done";

/// The length of a slice that the marker beside it tells (`filesize:N`); `None` where it tells none.
fn told_length(marker: &Path) -> Option<u64> {
    /// No marker says more than this.
    const LONGEST: usize = 64;
    let mut bytes = [0; LONGEST];
    // So little comes at once; to ask for its end would take as long again.
    let length = File::open(marker).ok()?.read(&mut bytes).ok()?;
    let text = std::str::from_utf8(&bytes[..length]).ok()?;
    text.trim().strip_prefix("filesize:")?.trim().parse().ok()
}

/// By how many bytes a slice of a length, if there is one, differs from what its marker told; `None` where it
/// may be gone.
fn missing_bytes(slice: &str, told: u64, length: Option<u64>) -> Option<u64> {
    match length {
        Some(length) => Some(told.abs_diff(length)),
        // Of an ageing stream the collector drops what is old.
        None if slice.starts_with("aging.") => None,
        None => Some(told),
    }
}

/// How the names of the compiler's files end.
pub(crate) const DEBUG_FILE: &str = ".dbg";

/// The parts of a slice's file name.
#[derive(Debug, PartialEq, Eq)]
struct FileName {
    stream: String,
    aging: bool,
    /// The last number before that of the slice.
    device: Option<u32>,
    slice: u64,
}

fn parse(name: &str) -> Option<FileName> {
    if name.len() > DEBUG_FILE.len() && name.ends_with(DEBUG_FILE) {
        return Some(FileName { stream: name.to_owned(), aging: false, device: None, slice: 0 });
    }
    let (base, slice) = match name.rsplit_once(".slice_") {
        Some((base, number)) => (base, number.parse().ok()?),
        None => {
            // 2022, inference: the slice's number is the last of two or three.
            let (base, number) = name.rsplit_once('.')?;
            let slice = number.parse().ok()?;
            trailing_number(base)?;
            (base, slice)
        }
    };
    for (prefix, aging) in [("aging.", true), ("unaging.", false)] {
        if let Some(stream) = base.strip_prefix(prefix) {
            return Some(FileName { stream: stream.to_owned(), aging, device: None, slice });
        }
    }
    let device = trailing_number(base).and_then(|shorter| base.get(shorter.len() + 1..)?.parse().ok());
    let mut stream = base;
    while let Some(shorter) = trailing_number(stream) {
        stream = shorter;
    }
    for tag in [".dev.profiler_default_tag", ".host.profiler_default_tag"] {
        if let Some(shorter) = stream.strip_suffix(tag) {
            stream = trailing_number(shorter).unwrap_or(shorter);
        }
    }
    Some(FileName { stream: current_name(stream), aging: false, device, slice })
}

/// `base` without its last part, if that is a number.
fn trailing_number(base: &str) -> Option<&str> {
    let (shorter, number) = base.rsplit_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(shorter)
}

/// The present-day name of a stream.
fn current_name(stream: &str) -> String {
    match stream {
        "hwts.log.data" => "hwts.data".to_owned(),
        "hwts.log.aiv.data" => "hwts.aiv_data".to_owned(),
        "ts_track.aiv.data" => "ts_track.aiv_data".to_owned(),
        "Runtime.runtime.data" | "runtime.runtime.data" | "Runtime.api" => "runtime.api".to_owned(),
        "Runtime.runtime"
        | "runtime.runtime"
        | "Runtime.host.runtime"
        | "runtime.host.runtime"
        | "Runtime.task_track" => "runtime.task_track".to_owned(),
        _ => match stream.split_once(".host.").or_else(|| stream.split_once(".dev.")) {
            Some((component, rest)) => format!("{component}.{rest}"),
            None => stream.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: &str) -> Option<(String, bool, u64)> {
        parse(name).map(|file| (file.stream, file.aging, file.slice))
    }

    #[test]
    fn names_of_all_generations_lead_to_the_same_stream() {
        let expect = |name: &str, slice| Some((name.to_owned(), false, slice));
        assert_eq!(stream("hwts.data.0.slice_12"), expect("hwts.data", 12));
        assert_eq!(stream("hwts.log.data.45.0.3"), expect("hwts.data", 3));
        assert_eq!(stream("hwts.log.data.45.dev.profiler_default_tag.0.slice_2"), expect("hwts.data", 2));
        assert_eq!(stream("Framework.host.task_desc_info.0.slice_1"), expect("Framework.task_desc_info", 1));
        assert_eq!(stream("DATA_PREPROCESS.dev.AICPU.7.slice_0"), expect("DATA_PREPROCESS.AICPU", 0));
        assert_eq!(stream("Runtime.api.64.slice_0"), expect("runtime.api", 0));
        assert_eq!(stream("host_cpu.data.slice_0"), expect("host_cpu.data", 0));
        assert_eq!(stream("net.slice_7.dbg"), expect("net.slice_7.dbg", 0));
        assert_eq!(
            stream("aging.compact.task_track.slice_10"),
            Some(("compact.task_track".to_owned(), true, 10))
        );
    }

    #[test]
    fn names_without_a_slice_number_are_no_stream() {
        assert_eq!(stream("readme.txt"), None);
        assert_eq!(stream("stars_soc.data.0.slice_x"), None);
        assert_eq!(stream(""), None);
    }

    #[test]
    fn slices_are_ordered_by_number_and_holes_are_counted() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for n in [0, 2, 10] {
            let name = format!("unaging.api_event.data.slice_{n}");
            std::fs::write(directory.path().join(&name), [n]).expect("a new file");
            std::fs::write(directory.path().join(format!("{name}.done")), "").expect("a new file");
        }
        let mut losses = Losses::default();
        let catalogue = Catalogue::read(directory.path(), &Stop::default(), &mut losses).expect("a listing");
        let stream = &catalogue.streams("api_event.data")[0];
        let bytes = stream.map(&mut losses).concatenated().into_owned();
        assert_eq!(bytes, [0, 2, 10]);
        assert_eq!(losses.total(LossKind::MissingSlice), 2);
    }

    #[test]
    fn a_slice_of_another_size_than_its_marker_says_is_counted_and_so_is_one_that_is_gone() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).expect("a new file");
        };
        // Whole, cut off, gone, old and therefore dropped, without a size.
        for (slice, bytes, marker) in [
            ("hbm.data.0.slice_0", Some("1234"), "filesize:4"),
            ("hbm.data.0.slice_1", Some("12"), "filesize:10\n"),
            ("unaging.api_event.data.slice_0", None, "filesize:7"),
            ("aging.api_event.data.slice_0", None, "filesize:9"),
            ("qos.data.0.slice_0", Some("1"), ""),
            ("qos.data.0.slice_1", Some("1"), "filesize:-4"),
        ] {
            if let Some(bytes) = bytes {
                write(slice, bytes);
            }
            write(&format!("{slice}.done"), marker);
        }
        let mut losses = Losses::default();
        Catalogue::read(directory.path(), &Stop::default(), &mut losses).expect("a listing");
        let cut: Vec<(&str, u64)> =
            losses.rows().iter().map(|loss| (loss.place.as_str(), loss.count)).collect();
        assert_eq!(cut, [("hbm.data.0.slice_1", 8), ("unaging.api_event.data.slice_0", 7)]);
        assert_eq!(losses.total(LossKind::CutSlice), 15);
    }

    #[test]
    fn streams_that_nobody_asks_for_are_unread() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["hbm.data.0.slice_0", "qos.data.0.slice_0", "qos.data.0.slice_1"] {
            std::fs::write(directory.path().join(name), [0]).expect("a new file");
        }
        let catalogue =
            Catalogue::read(directory.path(), &Stop::default(), &mut Losses::default()).expect("a listing");
        assert_eq!(catalogue.streams("hbm.data").len(), 1);
        assert_eq!(catalogue.unread().collect::<Vec<_>>(), [("qos.data", 2)]);
    }
}
