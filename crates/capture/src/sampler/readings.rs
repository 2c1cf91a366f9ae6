//! Files of `/proc` that are read many times a second. They stay open, so that a reading is one call
//! of the system where it would be six.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// How many files stay open: a program may have more threads than we may have files.
const MOST_OPEN: usize = 256;

/// The system hands out at least so much of a file at a time, if there is so much.
const PIECE: usize = 1 << 11;

/// A file of `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// How long the system has been up.
    UpTime,
    /// The traffic of every network interface.
    Interfaces,
    /// The memory of a process, in pages.
    Memory { process: u32 },
    /// The bytes that a process read and wrote.
    Traffic { process: u32 },
    /// The processor time of a thread.
    Thread { process: u32, thread: u32 },
    /// The processes that a thread started.
    Children { process: u32, thread: u32 },
}

impl Source {
    /// Whether it is worth a place among the open files. The children's files are read seldom, and that
    /// of a thread that ended says that there are none instead of failing.
    fn stays_open(self) -> bool {
        !matches!(self, Self::Children { .. })
    }

    /// Whether it belongs to one of these threads of processes, or to none.
    fn is_of(self, threads: &BTreeMap<u32, Vec<u32>>) -> bool {
        match self {
            Self::UpTime | Self::Interfaces => true,
            Self::Memory { process } | Self::Traffic { process } => threads.contains_key(&process),
            Self::Thread { process, thread } | Self::Children { process, thread } => {
                threads.get(&process).is_some_and(|of_process| of_process.contains(&thread))
            }
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpTime => write!(f, "/proc/uptime"),
            Self::Interfaces => write!(f, "/proc/net/dev"),
            Self::Memory { process } => write!(f, "/proc/{process}/statm"),
            Self::Traffic { process } => write!(f, "/proc/{process}/io"),
            Self::Thread { process, thread } => write!(f, "/proc/{process}/task/{thread}/stat"),
            Self::Children { process, thread } => write!(f, "/proc/{process}/task/{thread}/children"),
        }
    }
}

/// The files that are open, and room for what they say.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    open: HashMap<Source, File>,
    text: Vec<u8>,
}

impl Readings {
    /// The present content of a file; `None` if it can't be read, as when its process is gone.
    pub(crate) fn read(&mut self, source: Source) -> Option<Cow<'_, str>> {
        let known = self.open.get(&source).is_some_and(|file| read_whole(file, &mut self.text).is_some());
        if !known {
            // Of a process that is gone, even if another one has its number now.
            self.open.remove(&source);
            let file = self.open_file(source)?;
            read_whole(&file, &mut self.text)?;
            if source.stays_open() && self.open.len() < MOST_OPEN {
                self.open.insert(source, file);
            }
        }
        Some(String::from_utf8_lossy(&self.text))
    }

    fn open_file(&mut self, source: Source) -> Option<File> {
        let path = source.to_string();
        match File::open(&path) {
            // We may have no further file, so those that only save time are given up.
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) && !self.open.is_empty() => {
                self.open.clear();
                File::open(path).ok()
            }
            file => file.ok(),
        }
    }

    /// Closes the files of all other processes and threads.
    pub(crate) fn keep_only(&mut self, threads: &BTreeMap<u32, Vec<u32>>) {
        self.open.retain(|source, _| source.is_of(threads));
    }
}

fn read_whole(file: &File, text: &mut Vec<u8>) -> Option<()> {
    let mut length = 0;
    loop {
        text.resize(length + 2 * PIECE, 0);
        let count = file.read_at(&mut text[length..], length as u64).ok()?;
        length += count;
        if count < PIECE {
            text.truncate(length);
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_anew_each_time_and_until_its_process_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().expect("sleep");
        let process = child.id();
        let mut readings = Readings::default();
        let first = readings.read(Source::UpTime).map(Cow::into_owned);
        assert!(readings.read(Source::Memory { process }).is_some_and(|text| text.split(' ').count() == 7));
        std::thread::sleep(std::time::Duration::from_millis(50));
        let second = readings.read(Source::UpTime).map(Cow::into_owned);
        assert!(first.is_some() && second.is_some() && first != second);
        assert_eq!(readings.open.len(), 2);

        let _ = child.kill();
        let _ = child.wait();
        assert!(readings.read(Source::Memory { process }).is_none());
        assert_eq!(readings.open.len(), 1);
    }

    #[test]
    fn files_of_threads_that_are_gone_are_closed() {
        let process = std::process::id();
        let mut readings = Readings::default();
        assert!(readings.read(Source::Thread { process, thread: process }).is_some());
        assert!(readings.read(Source::Children { process, thread: process }).is_some());
        assert_eq!(readings.open.len(), 1, "children are looked for anew each time");
        readings.keep_only(&BTreeMap::from([(process, vec![process])]));
        assert_eq!(readings.open.len(), 1);
        readings.keep_only(&BTreeMap::from([(process, vec![process + 1])]));
        assert!(readings.open.is_empty());
    }

    #[test]
    fn a_long_file_is_read_whole() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("long");
        let long: Vec<u8> = (0..50_000u32).map(|number| number as u8).collect();
        std::fs::write(&path, &long).expect("space on disk");
        let mut text = vec![7; 9];
        read_whole(&File::open(&path).expect("the file"), &mut text).expect("a readable file");
        assert_eq!(text, long);
    }
}
