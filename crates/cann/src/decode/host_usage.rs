//! Text files with samples of the host itself: what the program used of it.
//!
//! | file | content |
//! |---|---|
//! | `host_cpu.data` | blocks of `time <ns>`, a line of `/proc/uptime`, and lines of `/proc/<pid>/task/<tid>/stat` |
//! | `host_mem.data` | lines of a time and the columns of `/proc/<pid>/statm` |
//! | `host_disk.data` | `start_time <ns>`, then what `iotop` prints, at a fixed rate |
//! | `host_network.data` | blocks of `time <ns>` and the lines of `/proc/net/dev` |
//!
//! Times are nanoseconds of `CLOCK_MONOTONIC_RAW`. Shares have six decimals, as the reference has them.

use std::collections::BTreeMap;

use crate::catalogue::Catalogue;
use crate::metadata::{Info, Metadata};
use crate::slices::Stream;
use crate::tables::{
    HostCpuSample, HostCpuTable, HostDiskSample, HostDiskTable, HostMemorySample, HostMemoryTable,
    HostNetworkSample, HostNetworkTable, HostSampleTables,
};
use crate::text::numbers::python_round;
use opscope_trace::{LossKind, Losses};

/// kB of a page of memory.
const PAGE_KB: f64 = 4.0;

/// Decodes everything that was sampled of the host.
pub(super) fn host_samples(
    catalogue: &Catalogue,
    metadata: &Metadata,
    losses: &mut Losses,
) -> HostSampleTables {
    let mut text = |name: &'static str| Text::read(catalogue.streams(name), name, losses);
    let (mut cpu, mut memory) = (text("host_cpu.data"), text("host_mem.data"));
    let (mut disk, mut network) = (text("host_disk.data"), text("host_network.data"));
    let tables = HostSampleTables {
        cpu: cpu_usage(&mut cpu, &metadata.info),
        memory: memory_usage(&mut memory, &metadata.info),
        disk: disk_usage(&mut disk, metadata.sample.host_disk_hz),
        network: network_usage(&mut network, &metadata.info),
    };
    // Without their rate samples have no time.
    if !disk.text.is_empty() && metadata.sample.host_disk_hz <= 0.0 {
        losses.count(LossKind::MissingMetadata, "sample.json: host_disk_freq", 1);
    }
    if !cpu.text.is_empty() && metadata.info.jiffies_per_second <= 0.0 {
        losses.count(LossKind::MissingMetadata, "info.json: sysClockFreq", 1);
    }
    for text in [cpu, memory, disk, network] {
        losses.count(LossKind::InvalidLine, text.name, text.refused);
    }
    tables
}

/// A text file, and how many of its lines weren't understood.
struct Text {
    name: &'static str,
    text: String,
    refused: u64,
}

impl Text {
    fn read(streams: &[Stream], name: &'static str, losses: &mut Losses) -> Self {
        let mut text = String::new();
        for stream in streams {
            text.push_str(&String::from_utf8_lossy(&stream.map(losses).concatenated()));
        }
        Self { name, text, refused: 0 }
    }

    /// Hands each line to `take`, and counts those that it refuses.
    fn each_line(&mut self, mut take: impl FnMut(&str) -> Option<()>) {
        let lines = self.text.lines().filter(|line| !line.trim().is_empty());
        self.refused += lines.filter(|line| take(line).is_none()).count() as u64;
    }
}

/// The number behind a keyword at the begin of a line.
fn number_after(line: &str, keyword: &str) -> Option<u64> {
    line.strip_prefix(keyword)?.trim().parse().ok()
}

/// A decimal number in millionths, without the noise of double precision.
fn millionths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let fraction = fraction.get(..6).unwrap_or(fraction);
    // Longer than that is only what can't be cut there, which is no number.
    let scale = 10u64.checked_pow(6u32.checked_sub(u32::try_from(fraction.len()).ok()?)?)?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction.parse::<u64>().ok()? * scale)
}

/// One sample of the program's threads.
#[derive(Default)]
struct CpuState {
    time: u64,
    /// Millionths of seconds since the host's start.
    uptime: u64,
    /// Jiffies that each thread has used, and the processor it ran on last.
    threads: BTreeMap<u64, (u64, u32)>,
}

fn cpu_usage(text: &mut Text, info: &Info) -> HostCpuTable {
    let mut table = HostCpuTable::default();
    let mut states: [Option<CpuState>; 2] = [None, None];
    let mut expects_uptime = false;
    text.each_line(|line| {
        if let Some(time) = number_after(line, "time") {
            compare_cpus(&states, info, &mut table);
            let [_, newer] = std::mem::take(&mut states);
            states = [newer, Some(CpuState { time, ..CpuState::default() })];
            expects_uptime = true;
            return Some(());
        }
        let state = states[1].as_mut()?;
        if std::mem::take(&mut expects_uptime) {
            state.uptime = millionths(line.split_whitespace().next()?)?;
            return Some(());
        }
        let (thread, jiffies, cpu) = stat_line(line)?;
        state.threads.insert(thread, (jiffies, cpu));
        Some(())
    });
    compare_cpus(&states, info, &mut table);
    table
}

/// Number, jiffies in user and system mode, and last processor of a thread. Its name, in brackets,
/// may hold spaces.
fn stat_line(line: &str) -> Option<(u64, u64, u32)> {
    let (before, after) = line.rsplit_once(')')?;
    let thread = before.split_whitespace().next()?.parse().ok()?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some((thread, number(11)?.checked_add(number(12)?)?, u32::try_from(number(36)?).ok()?))
}

/// Adds what each processor, and all on average, did between two samples.
fn compare_cpus(states: &[Option<CpuState>; 2], info: &Info, table: &mut HostCpuTable) {
    let [Some(before), Some(after)] = states else { return };
    let elapsed = after.uptime.saturating_sub(before.uptime) as f64 / 1e6 * info.jiffies_per_second;
    if elapsed <= 0.0 {
        return;
    }
    let mut by_cpu: BTreeMap<u32, f64> = BTreeMap::new();
    for (thread, &(jiffies, cpu)) in &after.threads {
        if let Some((earlier, _)) = before.threads.get(thread) {
            *by_cpu.entry(cpu).or_default() += (jiffies.saturating_sub(*earlier) as f64).min(elapsed);
        }
    }
    let mut add = |cpu, usage| {
        table.push(HostCpuSample { start: before.time, end: after.time, cpu, usage: python_round(usage, 6) });
    };
    for (&cpu, jiffies) in &by_cpu {
        let usage = jiffies * 100.0 / elapsed;
        // Threads that changed the processor in between may sum up to more than there is.
        if usage <= 100.0 {
            add(Some(cpu), usage);
        }
    }
    let sum: f64 = by_cpu.values().sum();
    add(None, if info.cpus == 0 { 0.0 } else { sum * 100.0 / (elapsed * f64::from(info.cpus)) });
}

fn memory_usage(text: &mut Text, info: &Info) -> HostMemoryTable {
    let mut table = HostMemoryTable::default();
    let mut before: Option<u64> = None;
    text.each_line(|line| {
        let mut fields = line.split_whitespace();
        let time: u64 = fields.next()?.parse().ok()?;
        let resident: u64 = fields.nth(1)?.parse().ok()?;
        if let Some(start) = before.replace(time).filter(|_| info.memory_kb > 0) {
            let usage = python_round(resident as f64 * PAGE_KB / info.memory_kb as f64 * 100.0, 6);
            table.push(HostMemorySample { start, end: time, usage });
        }
        Some(())
    });
    table
}

fn disk_usage(text: &mut Text, hertz: f64) -> HostDiskTable {
    let mut table = HostDiskTable::default();
    if hertz <= 0.0 {
        return table;
    }
    let interval = 1e9 / hertz;
    let mut begin = 0u64;
    text.each_line(|line| {
        if let Some(time) = number_after(line, "start_time") {
            begin = time;
            return Some(());
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Sums over all programs, and the heading.
        if fields.get(1)?.parse::<u64>().is_err() {
            return Some(());
        }
        let number = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok());
        let rate = |place: usize| Some(number(place).unwrap_or(0.0) * kilobytes(fields.get(place + 1)?));
        let is_known = fields.len() >= 11 && !line.contains("unavailable");
        let share = |place: usize| if is_known { number(place).unwrap_or(0.0) } else { 0.0 };
        let time = |samples: usize| begin.saturating_add((samples as f64 * interval) as u64);
        table.push(HostDiskSample {
            start: time(table.len()),
            end: time(table.len() + 1),
            read: rate(4)?,
            write: rate(6)?,
            swap_in: share(8),
            usage: share(10),
        });
        Some(())
    });
    table
}

/// How many kB a unit of `iotop` stands for.
fn kilobytes(unit: &str) -> f64 {
    match unit {
        "B/s" => 1.0 / 1_024.0,
        "M/s" => 1_024.0,
        "G/s" => 1_024.0 * 1_024.0,
        _ => 1.0,
    }
}

/// Time of a sample, and bytes received and sent by each interface.
type NetworkState<'a> = (u64, BTreeMap<&'a str, [u64; 2]>);

fn network_usage(text: &mut Text, info: &Info) -> HostNetworkTable {
    let mut states: Vec<NetworkState<'_>> = Vec::new();
    let mut refused = 0;
    for line in text.text.lines() {
        if let Some(time) = number_after(line, "time") {
            states.push((time, BTreeMap::new()));
        } else if let Some((interface, bytes)) = interface_line(line) {
            let is_known = info.network.iter().any(|(name, speed)| name == interface && *speed > 0.0);
            if let Some((_, interfaces)) = states.last_mut().filter(|_| is_known) {
                interfaces.insert(interface, bytes);
            }
        } else if line.contains(':') {
            refused += 1;
        }
    }
    let mut table = HostNetworkTable::default();
    for pair in states.windows(2) {
        if let Some(sample) = compare_networks(&pair[0], &pair[1], info) {
            table.push(sample);
        }
    }
    text.refused += refused;
    table
}

/// An interface, and how many bytes it received and sent.
fn interface_line(line: &str) -> Option<(&str, [u64; 2])> {
    let (interface, counts) = line.split_once(':')?;
    let mut counts = counts.split_whitespace();
    let received = counts.next()?.parse().ok()?;
    let sent = counts.nth(7)?.parse().ok()?;
    Some((interface.trim(), [received, sent]))
}

/// The traffic of the interfaces between two samples; `None` if none can be compared.
fn compare_networks(
    (start, before): &NetworkState<'_>,
    (end, after): &NetworkState<'_>,
    info: &Info,
) -> Option<HostNetworkSample> {
    const BYTES_PER_MEGABIT: f64 = 125_000.0;
    let (mut bytes, mut capacity) = (0u64, 0.0);
    for (name, after) in after {
        let Some(before) = before.get(name) else { continue };
        let [Some(received), Some(sent)] = [0, 1].map(|side| after[side].checked_sub(before[side])) else {
            continue;
        };
        bytes = bytes.saturating_add(received).saturating_add(sent);
        capacity += info.network.iter().find(|(card, _)| card == name)?.1 * BYTES_PER_MEGABIT;
    }
    let seconds = end.checked_sub(*start).filter(|elapsed| *elapsed > 0)? as f64 / 1e9;
    let rate = bytes as f64 / seconds;
    (capacity > 0.0).then(|| HostNetworkSample {
        start: *start,
        end: *end,
        speed: rate / 1_024.0,
        usage: python_round(rate * 100.0 / capacity, 6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text { name: "test", text: text.to_owned(), refused: 0 }
    }

    #[test]
    fn threads_count_for_the_processor_that_they_ran_on_last() {
        let stat = |thread: u32, jiffies: u32, cpu: u32| {
            let zeros = "0 ".repeat(10);
            format!("{thread} (a b) S {zeros}{jiffies} 1 {}{cpu}\n", "0 ".repeat(23))
        };
        let mut file = text(&format!(
            "time 100\n50.00 1.0\n{}{}time 200\n50.10 1.0\n{}{}",
            stat(1, 3, 0),
            stat(2, 3, 1),
            stat(1, 8, 1),
            stat(2, 4, 1)
        ));
        let info = Info { cpus: 4, jiffies_per_second: 100.0, ..Info::default() };
        let usage: Vec<(Option<u32>, f64)> =
            cpu_usage(&mut file, &info).rows().map(|r| (r.cpu, r.usage)).collect();
        assert_eq!(usage, [(Some(1), 60.0), (None, 15.0)]);
        assert_eq!(file.refused, 0);
    }

    #[test]
    fn letters_of_several_bytes_are_no_decimals() {
        assert_eq!(millionths("50.1234567"), Some(50_123_456));
        assert_eq!(millionths("50.5"), Some(50_500_000));
        for text in ["50.12345\u{fffd}", "50.\u{fffd}\u{fffd}", "50.1\u{fffd}", "50.", ".5", "x"] {
            assert_eq!(millionths(text), None, "{text}");
        }
    }

    #[test]
    fn disk_rates_are_in_kilobytes_whatever_their_unit() {
        let mut file = text(
            "start_time 1000\nTotal DISK READ: 0.00 B/s\n\
             12:00:00 42 be/4 root 512.00 B/s 2.00 M/s 1.50 % 3.25 % app\n\
             12:00:01 42 be/4 root 1.00 K/s 0.00 B/s ?unavailable?  app\n12:00:02 42 be/4\n",
        );
        let rows: Vec<HostDiskSample> = disk_usage(&mut file, 50.0).rows().collect();
        let first = HostDiskSample {
            start: 1_000,
            end: 20_001_000,
            read: 0.5,
            write: 2_048.0,
            swap_in: 1.5,
            usage: 3.25,
        };
        assert_eq!(rows[0], first);
        assert_eq!((rows[1].start, rows[1].read, rows[1].usage), (20_001_000, 1.0, 0.0));
        assert_eq!((rows.len(), file.refused), (2, 1));
    }

    #[test]
    fn interfaces_that_were_reset_do_not_count() {
        let mut file = text(
            "time 0\n a: 10 0 0 0 0 0 0 0 5 0\n b: 9 0 0 0 0 0 0 0 9 0\n\
             time 1000000000\n a: 1034 0 0 0 0 0 0 0 5 0\n b: 1 0 0 0 0 0 0 0 9 0\n",
        );
        let network = vec![("a".to_owned(), 1.0), ("b".to_owned(), 1.0)];
        let info = Info { network, ..Info::default() };
        let rows: Vec<HostNetworkSample> = network_usage(&mut file, &info).rows().collect();
        let expected = HostNetworkSample { start: 0, end: 1_000_000_000, speed: 1.0, usage: 0.8192 };
        assert_eq!(rows, [expected]);
    }

    #[test]
    fn decimals_become_millionths_without_noise() {
        assert_eq!(millionths("100000.02"), Some(100_000_020_000));
        assert_eq!(millionths("7"), Some(7_000_000));
        assert_eq!(millionths("1.23456789"), Some(1_234_567));
        assert_eq!(millionths("x"), None);
    }
}
