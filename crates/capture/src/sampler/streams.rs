//! The text files of the samples.

use std::fmt::Write;
use std::path::Path;

use opscope_cann_raw::SliceWriter;

use super::processes::{Processes, Traffic};
use super::readings::Source;
use crate::host_kind::HostKind;

/// The files that are written.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Vec<(HostKind, SliceWriter)>,
    text: String,
    disk: Option<DiskState>,
}

/// The counts from which the disk's rates are computed.
#[derive(Debug)]
struct DiskState {
    time: u64,
    traffic: Traffic,
    /// The last line, for intervals that were missed.
    line: String,
}

impl Streams {
    pub(crate) fn new(data: &Path, kinds: &[HostKind]) -> Self {
        let writer = |kind: &HostKind| (*kind, SliceWriter::new(data, name(*kind)));
        Self { open: kinds.iter().map(writer).collect(), text: String::new(), disk: None }
    }

    /// Takes a sample of every kind; returns how many could not be written.
    pub(crate) fn sample(&mut self, time: u64, processes: &mut Processes) -> u64 {
        let mut failures = 0;
        let Self { open, text, disk } = self;
        for (kind, writer) in open {
            text.clear();
            match kind {
                HostKind::Cpu => sample_cpu(text, time, processes),
                HostKind::Memory => sample_memory(text, time, processes),
                HostKind::Disk => sample_disk(text, time, processes, disk),
                HostKind::Network => sample_network(text, time, processes),
            }
            failures += u64::from(writer.write(text.as_bytes()).is_err());
        }
        failures
    }

    /// Fills the place of a sample of the disk that came too late.
    pub(crate) fn repeat_disk(&mut self) {
        let Some(disk) = &self.disk else { return };
        for (_, writer) in self.open.iter_mut().filter(|(kind, _)| *kind == HostKind::Disk) {
            let _ = writer.write(disk.line.as_bytes());
        }
    }

    pub(crate) fn finish(self) {
        for (_, writer) in self.open {
            // A file without its marker is read all the same.
            let _ = writer.finish();
        }
    }
}

fn name(kind: HostKind) -> &'static str {
    match kind {
        HostKind::Cpu => "host_cpu.data",
        HostKind::Memory => "host_mem.data",
        HostKind::Disk => "host_disk.data",
        HostKind::Network => "host_network.data",
    }
}

fn sample_cpu(text: &mut String, time: u64, processes: &mut Processes) {
    let up_time = processes.read(Source::UpTime).unwrap_or_default();
    let _ = writeln!(text, "time {time}\n{}", up_time.trim());
    drop(up_time);
    processes.append_threads(text);
}

fn sample_memory(text: &mut String, time: u64, processes: &mut Processes) {
    if let Some([size, resident, shared]) = processes.memory() {
        let _ = writeln!(text, "{time} {size} {resident} {shared} 0 0 0 0");
    }
}

/// The columns of iotop: time, process, priority, user, read, unit, written, unit, swapped, %,
/// waiting, %, command.
fn sample_disk(text: &mut String, time: u64, processes: &mut Processes, state: &mut Option<DiskState>) {
    let traffic = processes.traffic();
    let Some(before) = state else {
        let _ = writeln!(text, "start_time {time}");
        *state = Some(DiskState { time, traffic, line: String::new() });
        return;
    };
    let seconds = time.saturating_sub(before.time).max(1) as f64 / 1e9;
    let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / 1024.0 / seconds;
    let read = rate(traffic.read, before.traffic.read);
    let written = rate(traffic.written, before.traffic.written);
    let process = processes.root();
    let clock = time / 1_000_000_000;
    let _ = writeln!(
        text,
        "{:02}:{:02}:{:02} {process} be/4 user {read:.2} K/s {written:.2} K/s 0.00 % 0.00 % program",
        clock / 3_600 % 24,
        clock / 60 % 60,
        clock % 60
    );
    *before = DiskState { time, traffic, line: text.clone() };
}

fn sample_network(text: &mut String, time: u64, processes: &mut Processes) {
    let interfaces = processes.read(Source::Interfaces).unwrap_or_default();
    let _ = writeln!(text, "time {time}");
    for line in interfaces.lines().skip(2) {
        // A full name leaves no blank before its first number.
        if let Some((name, numbers)) = line.trim_start().split_once(':') {
            let _ = writeln!(text, "{name}: {}", numbers.trim_start());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_written_in_its_own_layout() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let kinds = [HostKind::Cpu, HostKind::Memory, HostKind::Disk, HostKind::Network];
        let mut streams = Streams::new(folder.path(), &kinds);
        let mut processes = Processes::new(std::process::id());
        for time in [1_000_000_000, 1_500_000_000] {
            assert_eq!(streams.sample(time, &mut processes), 0);
        }
        streams.finish();
        let read = |kind| {
            let path = folder.path().join(format!("{}.slice_0", name(kind)));
            std::fs::read_to_string(path).expect("a slice")
        };
        let cpu = read(HostKind::Cpu);
        assert!(cpu.starts_with("time 1000000000\n") && cpu.contains("\ntime 1500000000\n"));
        let memory = read(HostKind::Memory);
        assert_eq!(memory.lines().count(), 2);
        assert!(memory.lines().all(|line| line.split(' ').count() == 8));
        let disk = read(HostKind::Disk);
        let lines: Vec<Vec<&str>> = disk.lines().map(|line| line.split(' ').collect()).collect();
        assert_eq!(lines[0], ["start_time", "1000000000"]);
        assert_eq!((lines.len(), lines[1].len(), lines[1][5]), (2, 13, "K/s"));
        assert!(read(HostKind::Network).contains("lo: "));
    }
}
