//! The collector's copies from `/proc`: use of processors and memory by a system and by its processes.
//!
//! | device | host | content of a block |
//! |---|---|---|
//! | `Memory.data` | `host_sys_mem.data` | `/proc/meminfo` |
//! | `SystemCpuUsage.data` | `host_sys_cpu.data` | the lines of `/proc/stat` that begin with `cpu` |
//! | `<process>-Memory.data` | the same | `/proc/<process>/statm`, `ProcessName:` and the name |
//! | `<process>-CpuUsage.data` | the same | `/proc/<process>/stat`, the name, the first line of `/proc/stat` |
//!
//! Each block begins with the lines `TimeStamp:`, `Index:` and `DataLen:` and ends with an empty line.

use crate::catalogue::Catalogue;
use crate::slices::Stream;
use crate::tables::{
    ProcessMemorySample, ProcessTimeSample, ProcessorSample, SystemMemorySample, SystemTables,
};
use opscope_trace::{LossKind, Losses};

/// The system whose files are read. A directory may be the host's and a device's in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    Host,
    Device,
}

impl System {
    /// The files about the whole system: memory, processors.
    fn files(self) -> [&'static str; 2] {
        match self {
            Self::Host => ["host_sys_mem.data", "host_sys_cpu.data"],
            Self::Device => ["Memory.data", "SystemCpuUsage.data"],
        }
    }
}

/// The keys of `/proc/meminfo` that matter, in the order of [`SystemMemorySample::values`].
const MEMORY_KEYS: [&str; 9] = [
    "MemTotal",
    "MemFree",
    "Buffers",
    "Cached",
    "Shmem",
    "CommitLimit",
    "Committed_AS",
    "HugePages_Total",
    "HugePages_Free",
];

/// Decodes the files of a system and of its processes.
pub(super) fn decode_system(catalogue: &Catalogue, system: System, losses: &mut Losses) -> SystemTables {
    let mut tables = SystemTables::default();
    let streams = |name: &str| -> Vec<&Stream> {
        let is_own = |stream: &&Stream| stream.device.is_some() == (system == System::Device);
        catalogue.streams(name).iter().filter(is_own).collect()
    };
    let [memory, processors] = system.files();
    each_block(&streams(memory), losses, |block| system_memory(block, &mut tables));
    each_block(&streams(processors), losses, |block| processor_times(block, &mut tables));
    let of_processes = |suffix: &str| -> Vec<(String, u64)> {
        let names = catalogue.names();
        let process = |name: &str| name.strip_suffix(suffix)?.parse().ok();
        names.filter_map(|name| Some((name.to_owned(), process(name)?))).collect()
    };
    for (name, process) in of_processes("-Memory.data") {
        each_block(&streams(&name), losses, |block| process_memory(process, block, &mut tables));
    }
    for (name, _) in of_processes("-CpuUsage.data") {
        each_block(&streams(&name), losses, |block| process_time(block, &mut tables));
    }
    tables
}

/// Hands the lines of each block behind its first three to `take`, and counts the lines that it refuses. A
/// block without its end was cut off and is counted, and so are lines outside of blocks.
fn each_block(streams: &[&Stream], losses: &mut Losses, mut take: impl FnMut(&[&str]) -> u64) {
    for stream in streams {
        let mapped = stream.map(losses);
        let bytes = mapped.concatenated();
        let text = String::from_utf8_lossy(&bytes);
        let mut block: Option<Vec<&str>> = None;
        let (mut refused, mut cut) = (0, 0);
        for line in text.lines() {
            let line = line.trim_end();
            match &mut block {
                _ if line.starts_with("TimeStamp:") => {
                    cut += u64::from(block.is_some());
                    block = Some(Vec::new());
                }
                Some(lines) if line.is_empty() => {
                    refused += take(lines);
                    block = None;
                }
                Some(_) if line.starts_with("Index:") || line.starts_with("DataLen:") => {}
                Some(lines) => lines.push(line),
                None => refused += u64::from(!line.is_empty()),
            }
        }
        losses.count(LossKind::PartialRecord, &stream.name, cut + u64::from(block.is_some()));
        losses.count(LossKind::InvalidLine, &stream.name, refused);
    }
}

/// Lines of the system's memory; others than those that matter are no loss.
fn system_memory(block: &[&str], tables: &mut SystemTables) -> u64 {
    let mut values = [None; MEMORY_KEYS.len()];
    let mut refused = 0;
    for line in block {
        let Some((key, rest)) = line.split_once(':') else {
            refused += 1;
            continue;
        };
        let Some(place) = MEMORY_KEYS.iter().position(|known| *known == key) else { continue };
        let mut fields = rest.split_whitespace();
        values[place] = fields.next().and_then(|number| number.parse().ok());
        refused += u64::from(values[place].is_none());
        if let Some(unit) = fields.next().filter(|unit| {
            tables.memory_unit.is_empty() && unit.bytes().all(|byte| byte.is_ascii_alphabetic())
        }) {
            unit.clone_into(&mut tables.memory_unit);
        }
    }
    if values.iter().any(Option::is_some) {
        tables.memory.push(SystemMemorySample { values });
    }
    refused
}

fn processor_times(block: &[&str], tables: &mut SystemTables) -> u64 {
    let lines = block.iter().map(|line| processor_line(line));
    let mut refused = 0;
    for sample in lines {
        match sample {
            Some(sample) => tables.processors.push(sample),
            None => refused += 1,
        }
    }
    refused
}

/// A processor and its jiffies: `cpu0 7 0 3 …`, ten of them.
fn processor_line(line: &str) -> Option<ProcessorSample> {
    let mut fields = line.split_whitespace();
    let processor = match fields.next()?.strip_prefix("cpu")? {
        "" => None,
        number => Some(number.parse().ok()?),
    };
    let mut jiffies = [0; 10];
    for value in &mut jiffies {
        *value = fields.next()?.parse().ok()?;
    }
    Some(ProcessorSample { processor, jiffies })
}

fn process_memory(process: u64, block: &[&str], tables: &mut SystemTables) -> u64 {
    let lines = named(process, block, tables);
    let numbers = |line: &&str| -> Option<Vec<u64>> {
        line.split_whitespace().map(|number| number.parse().ok()).collect()
    };
    match &lines[..] {
        [line] => match numbers(line).as_deref() {
            Some([size, resident, shared, _, _, _, _]) => {
                let pages = [*size, *resident, *shared];
                tables.process_memory.push(ProcessMemorySample { process, pages });
                0
            }
            _ => 1,
        },
        other => other.len() as u64,
    }
}

fn process_time(block: &[&str], tables: &mut SystemTables) -> u64 {
    let stat = |line: &str| -> Option<(u64, [u64; 4])> {
        // The name, in brackets, may hold spaces and brackets.
        let (before, after) = line.rsplit_once(')')?;
        let process = before.split_whitespace().next()?.parse().ok()?;
        let mut fields = after.split_whitespace().skip(11);
        let mut jiffies = [0; 4];
        for value in &mut jiffies {
            *value = fields.next()?.parse().ok()?;
        }
        Some((process, jiffies))
    };
    let Some((process, jiffies)) = block.first().and_then(|line| stat(line)) else {
        return block.len() as u64;
    };
    let lines = named(process, &block[1..], tables);
    let all = |line: &&str| -> Option<u64> {
        let mut fields = line.strip_prefix("cpu")?.split_whitespace();
        fields.try_fold(0u64, |sum, number| sum.checked_add(number.parse().ok()?))
    };
    match &lines[..] {
        [line] => match all(line) {
            Some(all) => {
                tables.process_time.push(ProcessTimeSample { process, jiffies, all });
                0
            }
            None => 2,
        },
        other => 1 + other.len() as u64,
    }
}

/// The lines of a block but for that with the name of the process, which is noted.
fn named<'a>(process: u64, block: &[&'a str], tables: &mut SystemTables) -> Vec<&'a str> {
    let mut lines = Vec::with_capacity(block.len());
    for line in block {
        match line.strip_prefix("ProcessName:") {
            Some(name) => {
                tables.names.insert(process, name.trim().to_owned());
            }
            None => lines.push(*line),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_have_a_number_or_stand_for_all() {
        let all = processor_line("cpu  1 2 3 4 5 6 7 8 9 10").expect("a sample");
        assert_eq!((all.processor, all.jiffies[9]), (None, 10));
        assert_eq!(processor_line("cpu12 1 2 3 4 5 6 7 8 9 10").map(|it| it.processor), Some(Some(12)));
        for line in ["cpu1 1 2 3", "cpux 1 2 3 4 5 6 7 8 9 10", "intr 5", "cpu 1 2 3 4 5 6 7 8 9 -1"] {
            assert_eq!(processor_line(line), None, "{line}");
        }
    }

    #[test]
    fn names_of_processes_may_hold_brackets_and_spaces() {
        let mut tables = SystemTables::default();
        let stat = format!("42 (a) b) S {} 7 8 9 10 0", "0 ".repeat(10));
        assert_eq!(process_time(&[&stat, "ProcessName:a) b", "cpu  1 2 3"], &mut tables), 0);
        let sample = tables.process_time.row(0);
        assert_eq!((sample.process, sample.jiffies, sample.all), (42, [7, 8, 9, 10], 6));
        assert_eq!(tables.names[&42], "a) b");
        assert_eq!(process_time(&[&stat], &mut tables), 1);
        assert_eq!(process_time(&["42 (a S", "cpu 1"], &mut tables), 2);
    }

    #[test]
    fn memory_of_a_process_is_a_line_of_seven_numbers() {
        let mut tables = SystemTables::default();
        assert_eq!(process_memory(7, &["1 2 3 4 5 6 7", "ProcessName:x"], &mut tables), 0);
        assert_eq!(process_memory(7, &["1 2 3"], &mut tables), 1);
        assert_eq!(process_memory(7, &["1 2 3 4 5 6 7", "1 2 3 4 5 6 7"], &mut tables), 2);
        assert_eq!(tables.process_memory.pages(), [[1, 2, 3]]);
    }
}
