//! Divides a large timeline by time into several files, each of which a viewer can open.
//!
//! The whole timeline is written first, under a temporary name; its events are then handed out by their start, so that
//! every file covers its own part of the time with about as many events as the others. Names of
//! lanes go into all of them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use opscope_columns::Column;
use opscope_files::{Batch, Draft, MappedFile};

use crate::error::{Error, Result};
use crate::text::file::not_written;

/// More files than this at once are of no use.
const MOST_FILES: u64 = 500;

/// Divides the timeline at `draft`, which is to become `whole`, if it is larger than `limit` bytes: into
/// files whose paths `path_of` gives. Returns them in the order of time; none if it is small enough.
///
/// # Errors
/// If a file can't be read or written.
pub(super) fn divide(
    draft: &Path,
    whole: &Path,
    limit: u64,
    batch: &mut Batch,
    path_of: impl Fn(usize) -> PathBuf,
) -> Result<Vec<PathBuf>> {
    let file = File::open(draft).map_err(Error::io("open the timeline", whole))?;
    let bytes = file.metadata().map_err(Error::io("read the timeline", whole))?.len();
    if bytes <= limit.max(1) {
        return Ok(Vec::new());
    }
    let text = MappedFile::new(&file, draft).map_err(Error::io("read the timeline", whole))?;
    let files = bytes.div_ceil(limit.max(1)).min(MOST_FILES) as usize;
    let bounds = bounds(&text, files);
    let directory = whole.parent().unwrap_or(Path::new("."));
    let paths: Vec<PathBuf> = (0..files).map(path_of).collect();
    let mut parts = (0..files).map(|_| TimeSlice::new(directory)).collect::<Result<Vec<TimeSlice>>>()?;
    for event in Split(&text) {
        let wanted = match start_of(event) {
            None => 0..files,
            Some(start) => {
                let place = bounds.partition_point(|bound| *bound <= start);
                place..place + 1
            }
        };
        for (part, path) in parts[wanted.clone()].iter_mut().zip(&paths[wanted]) {
            part.add(event).map_err(Error::io("write the file", path))?;
        }
    }
    for (part, path) in parts.into_iter().zip(&paths) {
        let draft = part.finish().map_err(Error::io("write the file", path))?;
        batch.add(draft, path).map_err(not_written)?;
    }
    Ok(paths)
}

/// The starts at which each file but the first begins.
fn bounds(text: &[u8], files: usize) -> Vec<i64> {
    let mut starts: Column<i64> = Split(text).filter_map(start_of).collect();
    starts.sort_unstable();
    (1..files).filter_map(|file| starts.get(file * starts.len() / files).copied()).collect()
}

/// One of the files.
struct TimeSlice {
    out: BufWriter<Draft>,
    is_empty: bool,
}

impl TimeSlice {
    fn new(directory: &Path) -> Result<Self> {
        let file = Draft::new(directory).map_err(Error::io("create a file in", directory))?;
        Ok(Self { out: BufWriter::with_capacity(1 << 16, file), is_empty: true })
    }

    fn add(&mut self, event: &[u8]) -> io::Result<()> {
        self.out.write_all(if self.is_empty { b"[" } else { b"," })?;
        self.is_empty = false;
        self.out.write_all(event)
    }

    fn finish(mut self) -> io::Result<Draft> {
        self.out.write_all(if self.is_empty { b"[]" } else { b"]" })?;
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// The start of an event in thousandths of a microsecond; `None` for the names of lanes. A quote
/// within a text has a backslash before it, so that the key can't be mistaken.
fn start_of(event: &[u8]) -> Option<i64> {
    const KEY: &[u8] = b",\"ts\":\"";
    let start = event.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let digits = event[start..].split(|byte| *byte == b'"').next()?;
    let text = std::str::from_utf8(digits).ok()?;
    text.replace('.', "").parse().ok()
}

/// The events of an array, each as its own text.
struct Split<'a>(&'a [u8]);

impl<'a> Iterator for Split<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let begin = self.0.iter().position(|byte| *byte == b'{')?;
        let (mut depth, mut in_text, mut is_escaped) = (0u32, false, false);
        for (place, byte) in self.0.iter().enumerate().skip(begin) {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let event = &self.0[begin..=place];
                self.0 = &self.0[place + 1..];
                return Some(event);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_apart_whatever_their_texts_hold() {
        let text = br#"[{"name":"a}\"{","ph":"M"},{"name":"b","ts":"12.500","args":{"x":"\\"}}]"#;
        let events: Vec<&[u8]> = Split(text).collect();
        assert_eq!(events.len(), 2);
        assert_eq!(events.iter().map(|event| start_of(event)).collect::<Vec<_>>(), [None, Some(12_500)]);
        let tricky = br#"{"name":"x,\"ts\":\"5.000","ts":"7.000"}"#;
        assert_eq!(start_of(tricky), Some(7_000));
    }

    #[test]
    fn every_event_lies_in_one_part_and_names_in_all() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let whole = directory.path().join("whole.json");
        let mut text = r#"[{"name":"lane","ph":"M"}"#.to_owned();
        for k in (0..100).rev() {
            text.push_str(&format!(r#",{{"name":"{k}","ts":"{k}.000"}}"#));
        }
        text.push(']');
        std::fs::write(&whole, &text).expect("space on disk");
        let path_of = |number: usize| directory.path().join(format!("part_{number}.json"));
        let mut batch = Batch::default();
        let limit = text.len() as u64 / 4 + 1;
        let paths = divide(&whole, &whole, limit, &mut batch, path_of).expect("space on disk");
        batch.finish().expect("space on disk");
        assert_eq!(paths.len(), 4);
        let mut names = Vec::new();
        for path in paths {
            let part: Vec<serde_json::Value> =
                serde_json::from_slice(&std::fs::read(path).expect("a part")).expect("JSON");
            assert_eq!((part.len(), &part[0]["name"]), (26, &serde_json::json!("lane")));
            let mut own: Vec<u32> =
                part[1..].iter().filter_map(|event| event["name"].as_str()?.parse().ok()).collect();
            own.sort_unstable();
            names.extend(own);
        }
        assert_eq!(names, (0..100).collect::<Vec<u32>>());
        let small = directory.path().join("small.json");
        std::fs::write(&small, "[]").expect("space on disk");
        assert!(divide(&small, &small, 10, &mut Batch::default(), path_of).expect("no work").is_empty());
    }
}
