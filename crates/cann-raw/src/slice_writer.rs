//! Writes record files the way the collector does: in slices of 2 MiB with a marker beside each.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The size at which the collector begins a new slice.
pub const SLICE_BYTES: u64 = 2 << 20;

/// Writes one stream of records as `<name>.slice_0`, `<name>.slice_1`, …; each whole slice gets an
/// empty-looking companion `<slice>.done` that states its size.
///
/// A slice holds whole records only: what one call of [`SliceWriter::write`] gets is never divided.
#[derive(Debug)]
pub struct SliceWriter {
    directory: PathBuf,
    name: String,
    number: u32,
    written: u64,
    file: Option<BufWriter<File>>,
}

impl SliceWriter {
    /// A writer of the stream `name`, such as `aging.api_event.data`, in an existing directory.
    /// Nothing is created before the first record.
    pub fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), name: name.to_owned(), number: 0, written: 0, file: None }
    }

    /// Appends a record, or several that belong together.
    ///
    /// # Errors
    /// The file system's errors; an existing slice of that name is one.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.written > 0 && self.written + bytes.len() as u64 > SLICE_BYTES {
            self.finish_slice()?;
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = private().create_new(true).open(self.path())?;
                self.file.insert(BufWriter::with_capacity(1 << 16, file))
            }
        };
        file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Whether anything was appended.
    pub fn has_written(&self) -> bool {
        self.file.is_some() || self.number > 0
    }

    /// Completes the last slice. Without this its marker is missing, and bytes may be.
    ///
    /// # Errors
    /// The file system's errors.
    pub fn finish(mut self) -> io::Result<()> {
        self.finish_slice()
    }

    fn finish_slice(&mut self) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.flush()?;
        let marker = self.directory.join(format!("{}.slice_{}.done", self.name, self.number));
        let mut marker = private().create(true).truncate(true).open(marker)?;
        write!(marker, "filesize:{}", self.written)?;
        self.number += 1;
        self.written = 0;
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.directory.join(format!("{}.slice_{}", self.name, self.number))
    }
}

/// A file of a profile is for the user and the group only.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_slice_begins_before_a_record_would_cross_the_limit() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut writer = SliceWriter::new(directory.path(), "aging.api_event.data");
        let record = [7; 1_000_000];
        for _ in 0..3 {
            writer.write(&record).expect("space on disk");
        }
        writer.finish().expect("space on disk");
        let size = |name: &str| std::fs::metadata(directory.path().join(name)).map(|m| m.len()).ok();
        assert_eq!(size("aging.api_event.data.slice_0"), Some(2_000_000));
        assert_eq!(size("aging.api_event.data.slice_1"), Some(1_000_000));
        assert_eq!(size("aging.api_event.data.slice_2"), None);
        let marker = std::fs::read_to_string(directory.path().join("aging.api_event.data.slice_1.done"));
        assert_eq!(marker.ok().as_deref(), Some("filesize:1000000"));
    }

    #[test]
    fn a_stream_without_records_leaves_no_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        SliceWriter::new(directory.path(), "stars_soc.data.0").finish().expect("nothing to write");
        assert_eq!(std::fs::read_dir(directory.path()).map(Iterator::count).ok(), Some(0));
    }
}
