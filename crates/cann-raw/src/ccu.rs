//! Records of the units for collective communication (CCU) on chips 15 and 16.
//!
//! | file | record |
//! |---|---|
//! | `device_N/data/ccu0.instr.N`, `ccu1.instr.N` | [`Mission`] |
//! | `device_N/data/ccu0.stat.N`, `ccu1.stat.N` | [`CHANNELS`] channels in [`STATISTICS`] bytes ([`channels`]) |
//! | `host/data/additional.ccu_group_info` | [`GroupInfo`] |
//! | `host/data/additional.ccu_wait_signal_info` | [`WaitInfo`] |

use crate::Field;
use crate::host::Head;
use crate::record::record;

record! {
    /// A loop of instructions, or a wait for other ranks.
    Mission, 64 {
        /// When each rank's notice came, in units of four ticks after `wait_start`; the last rank first.
        0 arrivals: [u16; 16],
        /// When the wait began; device clock, 0 for none.
        32 wait_start: u64,
        /// The instruction that waits.
        40 wait_instruction: u16,
        /// When the loop ended; device clock.
        42 loop_end: u64,
        /// When the loop began; device clock.
        50 loop_start: u64,
        /// The instruction that is repeated.
        58 loop_instruction: u16,
        /// Low half of the task.
        60 task_low: u16,
        /// High half of the task.
        62 task_high: u16,
    }
}

record! {
    /// A note on the bytes that a loop of instructions moves.
    GroupInfo, 256 {
        /// The common head.
        0 head: Head,
        /// The task.
        60 task: u32,
        /// The die.
        64 die: u8,
        /// The instruction.
        66 instruction: u16,
        /// How data are reduced.
        69 reduction: u8,
        /// The element type of what comes in.
        70 input: u8,
        /// The element type of what goes out.
        71 output: u8,
        /// Bytes.
        72 size: u64,
    }
}

record! {
    /// The channels over which a wait's notices come.
    WaitInfo, 256 {
        /// The common head.
        0 head: Head,
        /// The task.
        60 task: u32,
        /// The die.
        64 die: u8,
        /// The instruction.
        66 instruction: u16,
        /// A bit for each notice.
        76 mask: u32,
        /// The channels; all ones for none.
        80 channels: [u16; 16],
        /// The ranks at their other ends; all ones for none.
        112 ranks: [u32; 16],
    }
}

/// How many channels a record of statistics has.
pub const CHANNELS: usize = 128;

/// The bytes of a record of statistics.
pub const STATISTICS: usize = 2_816;

/// The delays of a channel: ticks of the device for a package of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelDelays {
    /// When; device clock, 0 for a channel that wasn't used.
    pub time: u64,
    /// The mean.
    pub mean: u32,
    /// The shortest.
    pub shortest: u32,
    /// The longest.
    pub longest: u32,
}

/// Where each channel's words are in a record of statistics: every twelfth has four reserved words behind it; of
/// the last eight, the first and last of four have six, the first ones before them.
fn places() -> impl Iterator<Item = usize> {
    let mut place = 0;
    (0..CHANNELS).map(move |channel| {
        let (before, words) = match channel {
            120 | 124 => (6, 11),
            123 | 127 => (0, 11),
            121.. => (0, 5),
            _ if channel % 12 == 11 => (0, 9),
            _ => (0, 5),
        };
        let at = place + before;
        place += words;
        at * 4
    })
}

/// The channels of a record of statistics; `None` if it is shorter than one.
pub fn channels(record: &[u8]) -> Option<[ChannelDelays; CHANNELS]> {
    let record = record.first_chunk::<STATISTICS>()?;
    let mut all = [ChannelDelays::default(); CHANNELS];
    for (delays, at) in all.iter_mut().zip(places()) {
        let word = |place: usize| u32::read(&record[at + place * 4..]);
        *delays = ChannelDelays {
            time: u64::from(word(1)) << 32 | u64::from(word(0)),
            mean: word(2),
            shortest: word(3),
            longest: word(4),
        };
    }
    Some(all)
}

/// The bytes of a record of statistics.
pub fn write_channels(all: &[ChannelDelays; CHANNELS]) -> Vec<u8> {
    let mut record = vec![0; STATISTICS];
    for (delays, at) in all.iter().zip(places()) {
        delays.time.write(&mut record[at..]);
        delays.mean.write(&mut record[at + 8..]);
        delays.shortest.write(&mut record[at + 12..]);
        delays.longest.write(&mut record[at + 16..]);
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channels_of_a_record_lie_behind_one_another_and_fill_it() {
        let places: Vec<usize> = places().collect();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 20));
        // The last channel's five words, and six reserved ones.
        assert_eq!(places[CHANNELS - 1] + 44, STATISTICS);
        assert_eq!((places[11], places[12]), (11 * 20, 11 * 20 + 36));
        assert_eq!((places[119], places[120], places[121]), (2_524, 2_560 + 24, 2_560 + 44));
    }

    #[test]
    fn channels_are_read_as_they_were_written() {
        let all = std::array::from_fn(|channel| ChannelDelays {
            time: (1 << 40) + channel as u64,
            mean: 3 * channel as u32,
            shortest: channel as u32,
            longest: 7 * channel as u32,
        });
        let record = write_channels(&all);
        assert_eq!(channels(&record), Some(all));
        assert_eq!(channels(&record[1..]), None);
    }
}
