//! Samples of a device's own processors: the control and AI processors as text, as `perf script` prints it, the
//! task scheduler's as records.
//!
//! ```text
//! slogd  1204/1206  [003]  8123.456789:  1000000 r11:
//!     ffff8000100a1b2c __schedule+0x2c ([kernel.kallsyms])
//!     ffff8000100a0000 schedule+0x40 ([kernel.kallsyms])
//! ```
//!
//! Behind the program's name stand process and thread, processor, seconds, the count, and the event, of which
//! `raw 0x11:` is another form. The first line below is the function that ran, the others called it; an empty line
//! ends the sample.

use std::collections::HashMap;

use opscope_cann_raw::samples::{SCHEDULER_MAGIC, SchedulerSample as RawSample, ShortSchedulerSample};
use opscope_cann_raw::{Field, Record};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::slices::{Magic, Stream};
use crate::tables::{FunctionSample, FunctionTables, SchedulerSample, SchedulerSampleTable};
use opscope_trace::{LossKind, Losses};

/// The name for what isn't known.
const UNKNOWN: &str = "unknown";

/// Decodes all files of a device.
pub(super) fn functions(catalogue: &Catalogue, losses: &mut Losses) -> FunctionTables {
    let mut found = Functions::default();
    // The second name is that of older tools.
    for stream in ["ai_ctrl_cpu.data", "ctrlcpu.data.txt"].iter().flat_map(|name| catalogue.streams(name)) {
        let mapped = stream.map(losses);
        let bytes = mapped.concatenated();
        found.samples(&String::from_utf8_lossy(&bytes), &stream.name, losses);
    }
    found.tables.scheduler = scheduler(catalogue.streams("tscpu.data"), losses);
    found.tables
}

/// The samples, and the texts that they name.
#[derive(Default)]
struct Functions {
    tables: FunctionTables,
    known: HashMap<String, u32>,
}

impl Functions {
    fn text(&mut self, text: &str) -> u32 {
        if let Some(&place) = self.known.get(text) {
            return place;
        }
        let place = self.tables.texts.len() as u32;
        self.tables.texts.push(text.to_owned());
        self.known.insert(text.to_owned(), place);
        place
    }

    /// Adds the samples of a text. One that isn't understood is counted, and so is one without a function, as
    /// where the file breaks off.
    fn samples(&mut self, text: &str, place: &str, losses: &mut Losses) {
        let (mut refused, mut cut) = (0, 0);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let head = Head::parse(line);
            let mut function = None;
            for line in lines.by_ref().map(str::trim).take_while(|line| !line.is_empty()) {
                function = function.or_else(|| frame(line));
            }
            match (head, function) {
                (Some(head), Some((function, module))) => {
                    let (function, module) = (self.text(&function), self.text(module));
                    let Head { process, thread, processor, time, count, event } = head;
                    let sample =
                        FunctionSample { time, process, thread, processor, event, count, function, module };
                    self.tables.processors.push(sample);
                }
                (Some(_), None) => cut += 1,
                (None, _) => refused += 1,
            }
        }
        losses.count(LossKind::InvalidLine, place, refused);
        losses.count(LossKind::PartialRecord, place, cut);
    }
}

/// The first line of a sample.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    process: u32,
    thread: u32,
    processor: u32,
    time: u64,
    count: u64,
    event: u32,
}

impl Head {
    fn parse(line: &str) -> Option<Self> {
        // The program's name may have blanks, so what is behind it is looked for.
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_place = |pair: &[&str]| ids(pair[0]).is_some() && processor(pair[1]).is_some();
        let at = 1 + words.get(1..)?.windows(2).position(is_place)?;
        let (process, thread) = ids(words[at])?;
        let processor = processor(words[at + 1])?;
        let time = nanoseconds(words.get(at + 2)?.strip_suffix(':')?)?;
        let count = words.get(at + 3)?.parse().ok()?;
        let event = match words.get(at + 4)? {
            &"raw" => words.get(at + 5)?,
            event => event,
        };
        Some(Self { process, thread, processor, time, count, event: self::event(event)? })
    }
}

/// Process and thread: `1204/1206`.
fn ids(word: &str) -> Option<(u32, u32)> {
    let (process, thread) = word.split_once('/')?;
    Some((process.parse().ok()?, thread.parse().ok()?))
}

/// A processor: `[003]`.
fn processor(word: &str) -> Option<u32> {
    word.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Seconds with up to nine decimals.
pub(super) fn nanoseconds(seconds: &str) -> Option<u64> {
    let (whole, part) = seconds.split_once('.')?;
    let is_number = part.len() <= 9 && part.bytes().all(|digit| digit.is_ascii_digit());
    let part: u64 = format!("{part:0<9}").parse().ok().filter(|_| is_number)?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

/// An event with colons behind it: `r11:`, `0x11:`, `r11:u:`.
fn event(word: &str) -> Option<u32> {
    let (word, _) = word.split_once(':')?;
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix('r'))?;
    u32::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
}

/// The function and module of a line of a call stack; `None` if it has too few words.
fn frame(line: &str) -> Option<(String, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, middle @ .., module] = &*words else { return None };
    if middle.is_empty() {
        return None;
    }
    let symbol = middle.join(" ");
    let function = if symbol.contains(UNKNOWN) {
        UNKNOWN.to_owned()
    } else {
        // Names of C++ operators have a plus sign of their own, which stays.
        let mut parts = symbol.split('+');
        let first = parts.next().unwrap_or_default();
        match parts.collect::<Vec<_>>()[..] {
            [second, _, ..] => format!("{first}+{second}"),
            _ => first.to_owned(),
        }
    };
    Some((function, module.trim_matches(|letter| matches!(letter, '(' | ')'))))
}

/// The samples of the task scheduler's processor; the short form is that of a file in which each record of the
/// short length begins like one.
fn scheduler(streams: &[Stream], losses: &mut Losses) -> SchedulerSampleTable {
    let magic = Some(Magic { offset: 0, value: SCHEDULER_MAGIC as u16 });
    let is_short = streams.iter().any(|stream| {
        let mapped = stream.map(&mut Losses::default());
        let bytes = mapped.concatenated();
        let mut records = bytes.chunks(<ShortSchedulerSample as Record>::SIZE);
        !bytes.is_empty() && records.all(|record| record.len() >= 4 && u32::read(record) == SCHEDULER_MAGIC)
    });
    if is_short {
        return decode(
            streams,
            magic,
            losses,
            |table: &mut SchedulerSampleTable, raw: ShortSchedulerSample, _| {
                add_scheduler(table, raw.magic, raw.time, u64::from(raw.address), &raw.counts)
            },
        );
    }
    decode(streams, magic, losses, |table: &mut SchedulerSampleTable, raw: RawSample, _| {
        add_scheduler(table, raw.magic, raw.time, raw.address, &raw.counts)
    })
}

fn add_scheduler(
    table: &mut SchedulerSampleTable,
    magic: u32,
    time: u64,
    address: u64,
    counts: &[[u64; 2]],
) -> Result<(), LossKind> {
    const LAST_EVENT: u64 = 0xEC;
    if magic != SCHEDULER_MAGIC {
        return Err(LossKind::BrokenMagic);
    }
    if counts.iter().any(|[event, _]| *event > LAST_EVENT) {
        return Err(LossKind::InvalidRecord);
    }
    for &[event, count] in counts {
        table.push(SchedulerSample { time, address, event: event as u32, count });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_tells_process_thread_processor_time_count_and_event() {
        let expected = |event| Head {
            process: 1_204,
            thread: 1_206,
            processor: 3,
            time: 8_123_456_789_000,
            count: 1_000_000,
            event,
        };
        let line = "my slogd  1204/1206  [003]  8123.456789:  1000000 r11:";
        assert_eq!(Head::parse(line), Some(expected(0x11)));
        let line = "s 1204/1206 [003] 8123.456789: 1000000 raw 0x10:";
        assert_eq!(Head::parse(line), Some(expected(0x10)));
        for bad in [
            "1204/1206 [003] 8123.456789: 1 r11:",
            "s 1204/1206 [003] 8123: 1 r11:",
            "s 1204/1206 [003] 8123.4: 1 r11",
            "s 1204/1206 [003] 8123.4: 1 cycles:",
            "s 1204/1206 [003] 99999999999999999999.4: 1 r11:",
            "",
        ] {
            assert_eq!(Head::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_frame_is_a_function_without_its_offset_and_a_module_without_brackets() {
        let function = |line| frame(line).map(|(function, module)| (function, module.to_owned()));
        let expect = |name: &str, module: &str| Some((name.to_owned(), module.to_owned()));
        assert_eq!(function("ffff f+0x2c ([k])"), expect("f", "[k]"));
        assert_eq!(
            function("ffff a::operator+(b const&)+0x2c (/l.so)"),
            expect("a::operator+(b const&)", "/l.so")
        );
        assert_eq!(function("ffff [unknown] (/bin/x)"), expect("unknown", "/bin/x"));
        assert_eq!(function("ffff (/bin/x)"), None);
    }

    #[test]
    fn samples_that_break_off_or_say_nothing_are_counted() {
        let text = "a 1/1 [000] 1.0: 5 r8:\n  f f+1 (m)\n  g g+1 (m)\n\nwhat is this\n  f f+1 (m)\n\na 1/1 [000] 1.0: 5 r8:\n";
        let (mut found, mut losses) = (Functions::default(), Losses::default());
        found.samples(text, "x", &mut losses);
        assert_eq!(
            (found.tables.processors.len(), &*found.tables.texts),
            (1, &["f".to_owned(), "m".to_owned()][..])
        );
        assert_eq!((losses.total(LossKind::InvalidLine), losses.total(LossKind::PartialRecord)), (1, 1));
    }
}
