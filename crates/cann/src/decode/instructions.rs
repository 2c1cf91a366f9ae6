//! Instructions of cores over time: `instr.biu_perf_group<G>_<core>.<device>` of chips 15 and 16.
//!
//! | word (4 bytes) | meaning |
//! |---|---|
//! | four whose upper four bits are 14 | a time: 16 bits of the device's counter each, the lowest first; bits 16 to 23 of the first two are the low and high half of the block's number |
//! | upper four bits 15 | a state: cycles since the word before in the lower 16 bits, behind them a bit for each busy unit |
//! | upper four bits 0 to 6 | a checkpoint of the unit with that number: cycles in the same place, then the checkpoint's |
//! | 0xEFFFFFFF | the end, behind which 0xDDDDDDDD fills up |
//!
//! A time counts for the words behind it; cycles are those of the core.

use opscope_cann_raw::Field;
use opscope_trace::{LossKind, Losses};

use crate::catalogue::Catalogue;
use crate::metadata::Metadata;
use crate::tables::{INSTRUCTION_CORES, INSTRUCTION_UNITS, Instruction, InstructionTable};

const WORD: usize = 4;
const END: u32 = 0xEFFF_FFFF;
const FILLER: u32 = 0xDDDD_DDDD;

/// The kinds of words besides checkpoints.
const TIME: u32 = 14;
const STATE: u32 = 15;

/// How many words make a time.
const WORDS_OF_TIME: usize = 4;

const UNITS: usize = INSTRUCTION_UNITS.len();

/// Decodes the files of all cores.
pub(super) fn instructions(
    catalogue: &Catalogue,
    metadata: &Metadata,
    losses: &mut Losses,
) -> InstructionTable {
    let mut table = InstructionTable::default();
    let names: Vec<&str> = catalogue.names().filter(|name| core_of(name).is_some()).collect();
    let Some(megahertz) = metadata.info.core_mhz.filter(|megahertz| *megahertz > 0.0) else {
        losses.count(LossKind::MissingMetadata, "info.json", u64::from(!names.is_empty()));
        return table;
    };
    let clock = metadata.device_clock();
    for name in names {
        let Some((group, core)) = core_of(name) else { continue };
        for stream in catalogue.streams(name) {
            let mapped = stream.map(losses);
            let bytes = mapped.concatenated();
            let mut reader =
                Reader { group, core, nanoseconds_of_cycle: 1_000.0 / megahertz, ..Reader::default() };
            reader.read(&bytes, |ticks| clock.monotonic(ticks));
            table.append(&mut reader.found);
            losses.count(LossKind::PartialRecord, name, u64::from(!bytes.len().is_multiple_of(WORD)));
            losses.count(LossKind::InvalidRecord, name, reader.refused);
            losses.count(LossKind::UnmatchedEvent, name, reader.busy.iter().flatten().count() as u64);
        }
    }
    table
}

/// The group and the core, by its place among [`INSTRUCTION_CORES`], that a stream's name tells.
fn core_of(stream: &str) -> Option<(u16, u8)> {
    let (group, core) = stream.strip_prefix("instr.biu_perf_group")?.split_once('_')?;
    let core = INSTRUCTION_CORES.iter().position(|known| *known == core)?;
    Some((group.parse().ok()?, core as u8))
}

/// The words of a core that were read so far.
#[derive(Default)]
struct Reader {
    group: u16,
    core: u8,
    nanoseconds_of_cycle: f64,
    found: InstructionTable,
    /// The last time in nanoseconds of the monotonic clock, and the cycles since.
    time: Option<(i64, u64)>,
    block: u16,
    /// Since when each unit is busy.
    busy: [Option<i64>; UNITS],
    refused: u64,
}

impl Reader {
    /// Reads all words; `monotonic` gives the time of a counter value.
    fn read(&mut self, bytes: &[u8], monotonic: impl Fn(u64) -> i64) {
        let words: Vec<u32> = bytes.chunks_exact(WORD).map(u32::read).collect();
        let mut rest = &words[..];
        while let [word, others @ ..] = rest {
            rest = others;
            if matches!(*word, END | FILLER) {
                continue;
            }
            if word >> 28 != TIME {
                self.refused += u64::from(self.event(*word).is_none());
                continue;
            }
            match others.first_chunk::<{ WORDS_OF_TIME - 1 }>() {
                Some(further) if further.iter().all(|word| word >> 28 == TIME) => {
                    let [second, third, fourth] = further.map(|word| u64::from(word & 0xFFFF));
                    let ticks = fourth << 48 | third << 32 | second << 16 | u64::from(word & 0xFFFF);
                    self.time = Some((monotonic(ticks), 0));
                    self.block = ((further[0] >> 16 & 0xFF) << 8 | word >> 16 & 0xFF) as u16;
                    rest = &others[WORDS_OF_TIME - 1..];
                }
                _ => self.refused += 1,
            }
        }
    }

    /// Adds what a state or a checkpoint says; `None` if it has no time, or is neither.
    fn event(&mut self, word: u32) -> Option<()> {
        let (monotonic, cycles) = self.time.as_mut()?;
        *cycles += u64::from(word & 0xFFFF);
        let now = monotonic.saturating_add((*cycles as f64 * self.nanoseconds_of_cycle).round() as i64);
        let (kind, event) = (word >> 28, (word >> 16 & 0xFFF) as u16);
        if kind == STATE {
            for unit in 0..UNITS {
                match (event >> unit & 1 == 1, self.busy[unit]) {
                    (true, None) => self.busy[unit] = Some(now),
                    (false, Some(start)) => {
                        self.busy[unit] = None;
                        self.add(unit, start, now, None);
                    }
                    _ => {}
                }
            }
            return Some(());
        }
        let unit = usize::try_from(kind).ok().filter(|unit| *unit < UNITS)?;
        self.add(unit, now, now, Some(event));
        Some(())
    }

    fn add(&mut self, unit: usize, start: i64, end: i64, checkpoint: Option<u16>) {
        let Self { group, core, block, .. } = *self;
        self.found.push(Instruction { group, core, block, unit: unit as u8, start, end, checkpoint });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads words of a core at 1,000 MHz, whose counter has nanoseconds.
    fn read(words: &[u32]) -> Reader {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut reader = Reader { nanoseconds_of_cycle: 1.0, ..Reader::default() };
        reader.read(&bytes, |ticks| ticks as i64);
        reader
    }

    const TIME_3_000_000_005_OF_BLOCK_258: [u32; 4] =
        [0xE002_0000 | 0x5E05, 0xE001_0000 | 0xB2D0, 0xE000_0000, 0xE000_0000];

    #[test]
    fn states_become_stretches_of_busy_units_and_checkpoints_moments() {
        let [a, b, c, d] = TIME_3_000_000_005_OF_BLOCK_258;
        let words =
            [a, b, c, d, 0xF006_0000 | 10, 0x3009_0000 | 5, 0xF004_0000 | 20, 0xF000_0000 | 1, END, FILLER];
        let reader = read(&words);
        let rows: Vec<_> =
            reader.found.rows().map(|row| (row.unit, row.start, row.end, row.checkpoint)).collect();
        let zero = 3_000_000_005;
        assert_eq!(
            rows,
            [
                (3, zero + 15, zero + 15, Some(9)),
                (1, zero + 10, zero + 35, None),
                (2, zero + 10, zero + 36, None)
            ]
        );
        assert!(reader.found.block().iter().all(|block| *block == 258));
        assert_eq!((reader.refused, reader.busy), (0, [None; UNITS]));
    }

    #[test]
    fn words_without_a_time_and_times_that_break_off_are_refused() {
        let [a, b, ..] = TIME_3_000_000_005_OF_BLOCK_258;
        assert_eq!(read(&[0xF001_0000, 0x1000_0000]).refused, 2);
        assert_eq!(read(&[a, b, 0xF001_0000]).refused, 3);
        assert_eq!(read(&[a, b]).refused, 2);
        let [a, b, c, d] = TIME_3_000_000_005_OF_BLOCK_258;
        let reader = read(&[a, b, c, d, 0x7000_0000, 0xF001_0000]);
        assert_eq!((reader.refused, reader.busy.iter().flatten().count()), (1, 1));
    }

    #[test]
    fn names_of_files_tell_group_and_core() {
        assert_eq!(core_of("instr.biu_perf_group12_aiv1"), Some((12, 2)));
        for other in ["instr.group_1_aic", "instr.biu_perf_group_aic", "instr.biu_perf_group1_aiv2"] {
            assert_eq!(core_of(other), None, "{other}");
        }
    }
}
