//! The processes that are sampled: one and all that descend from it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::readings::{Readings, Source};

/// How often new threads and children are looked for; this reads a folder of every process and a file
/// of every thread.
const REFRESH: Duration = Duration::from_millis(100);

/// The bytes that a process has read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

/// A process and its descendants.
#[derive(Debug)]
pub(crate) struct Processes {
    root: u32,
    ids: Vec<u32>,
    /// The threads of each process.
    threads: BTreeMap<u32, Vec<u32>>,
    refreshed: Option<Instant>,
    readings: Readings,
    /// The bytes that the processes, ended ones included, had read and written when last seen.
    traffic: BTreeMap<u32, Traffic>,
}

impl Processes {
    pub(crate) fn new(root: u32) -> Self {
        let (readings, threads, traffic) = (Readings::default(), BTreeMap::new(), BTreeMap::new());
        Self { root, ids: vec![root], threads, refreshed: None, readings, traffic }
    }

    /// The process that was started.
    pub(crate) fn root(&self) -> u32 {
        self.root
    }

    /// Looks for children, if it is time.
    pub(crate) fn refresh(&mut self) {
        if self.refreshed.is_some_and(|when| when.elapsed() < REFRESH) {
            return;
        }
        self.refreshed = Some(Instant::now());
        let mut found = vec![self.root];
        let mut next = 0;
        while let Some(&process) = found.get(next) {
            next += 1;
            let threads = threads(process);
            for &thread in &threads {
                let text = self.read(Source::Children { process, thread }).unwrap_or_default();
                found.extend(text.split_ascii_whitespace().filter_map(|child| child.parse::<u32>().ok()));
            }
            self.threads.insert(process, threads);
        }
        let reached = found.len();
        // A child whose parent ended before it belongs to the system then, but was seen before.
        let orphans = self.ids.iter().copied().filter(|id| !found.contains(id));
        let alive: Vec<u32> =
            orphans.filter(|id| std::path::Path::new(&format!("/proc/{id}")).exists()).collect();
        found.extend(alive);
        self.ids = found;
        // Of processes that lost their parent the threads are looked for when they are next read.
        let is_found = |process: &u32| self.ids[..reached].contains(process);
        self.threads.retain(|process, _| is_found(process));
        self.readings.keep_only(&self.threads);
    }

    /// The present content of a file of the system; `None` when its process is gone.
    pub(crate) fn read(&mut self, source: Source) -> Option<Cow<'_, str>> {
        self.readings.read(source)
    }

    /// Appends the `stat` line of every thread, as the system prints it but for blanks in names.
    pub(crate) fn append_threads(&mut self, text: &mut String) {
        let Self { ids, threads: known, readings, .. } = self;
        for &process in &*ids {
            let Some(line) = readings.read(Source::Thread { process, thread: process }) else { continue };
            append_without_blanks_in_name(text, line.trim_end());
            let count = thread_count(&line);
            drop(line);
            let listed = known.entry(process).or_insert_with(|| threads(process));
            if count.is_some_and(|count| count != listed.len()) {
                *listed = threads(process);
            }
            let mut append = |thread: u32| {
                let line = readings.read(Source::Thread { process, thread });
                line.map(|line| append_without_blanks_in_name(text, line.trim_end())).is_some()
            };
            let others = listed.iter().filter(|thread| **thread != process);
            let gone = others.filter(|thread| !append(**thread)).count();
            if gone > 0 {
                // As many may have begun.
                let before = std::mem::replace(listed, threads(process));
                listed.iter().filter(|thread| !before.contains(thread)).for_each(|thread| {
                    append(*thread);
                });
            }
        }
    }

    /// Size, resident and shared memory of all processes together, in pages.
    pub(crate) fn memory(&mut self) -> Option<[u64; 3]> {
        let mut sum: Option<[u64; 3]> = None;
        for process in self.ids.clone() {
            let Some(line) = self.read(Source::Memory { process }) else { continue };
            let mut numbers = line.split_ascii_whitespace().map(|number| number.parse().unwrap_or(0));
            let sum = sum.get_or_insert_default();
            for total in sum {
                *total += numbers.next().unwrap_or(0);
            }
        }
        sum
    }

    /// The bytes that all processes have read and written on disks so far.
    pub(crate) fn traffic(&mut self) -> Traffic {
        for process in self.ids.clone() {
            let Some(text) = self.read(Source::Traffic { process }) else { continue };
            let field = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
            };
            let traffic = Traffic { read: field("read_bytes:"), written: field("write_bytes:") };
            self.traffic.insert(process, traffic);
        }
        self.traffic.values().fold(Traffic::default(), |sum, one| Traffic {
            read: sum.read + one.read,
            written: sum.written + one.written,
        })
    }
}

fn threads(process: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The number of threads of a process, as the line of one of them tells.
fn thread_count(line: &str) -> Option<usize> {
    // The 20th field; the second is a name in parentheses that may hold anything.
    line.get(line.rfind(')')?..)?.split(' ').nth(18)?.parse().ok()
}

/// Readers split the line at blanks, so the name in parentheses must not hold any.
fn append_without_blanks_in_name(text: &mut String, line: &str) {
    let (Some(open), Some(close)) = (line.find('('), line.rfind(')')) else { return };
    if open < close {
        text.push_str(&line[..open]);
        text.extend(
            line[open..close].chars().map(|letter| if letter.is_whitespace() { '_' } else { letter }),
        );
        text.push_str(&line[close..]);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_do_not_shift_the_fields() {
        let mut text = String::new();
        append_without_blanks_in_name(&mut text, "12 (my (odd) name) S 1 12");
        assert_eq!(text, "12 (my_(odd)_name) S 1 12\n");
    }

    #[test]
    fn threads_that_begin_between_two_looks_are_seen() {
        let mut processes = Processes::new(std::process::id());
        processes.refresh();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let named = std::thread::Builder::new().name("begun-later".into());
        let thread = named.spawn(move || ended.recv()).expect("a thread");
        let mut text = String::new();
        // Its name is set a moment after it began.
        for _ in 0..200 {
            text.clear();
            processes.append_threads(&mut text);
            if text.contains("(begun-later)") {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(end);
        let _ = thread.join();
        assert!(text.contains("(begun-later)"), "{text}");
    }

    #[test]
    fn children_are_found_and_count() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let mut processes = Processes::new(std::process::id());
        let begins_its_line = format!("{} ", child.id());
        let mut text = String::new();
        // A thread that ends during a look, as those of other tests do, can hide those behind it from
        // that look.
        for _ in 0..50 {
            processes.refresh();
            text.clear();
            processes.append_threads(&mut text);
            if text.lines().any(|line| line.starts_with(&begins_its_line)) {
                break;
            }
            std::thread::sleep(REFRESH);
        }
        let _ = child.kill();
        let _ = child.wait();
        let line = text.lines().find(|line| line.starts_with(&begins_its_line));
        let fields = line.map(|line| line.split(' ').count());
        assert!(fields.is_some_and(|count| count > 39), "{text}");
        assert!(processes.memory().is_some_and(|[size, resident, _]| size >= resident && resident > 0));
    }
}
