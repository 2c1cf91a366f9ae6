//! The samples of chips 15 and 16: instructions of cores, and the units for collective communication.
//!
//! Round number k begins k + 1 intervals after the begin of the run, and its values are simple functions of k.

use std::io;
use std::path::Path;

use opscope_cann_raw::Chip;
use opscope_cann_raw::ccu::{CHANNELS, ChannelDelays, GroupInfo, Mission, WaitInfo, write_channels};
use opscope_cann_raw::host::{Head, MAGIC, level};

use crate::synthetic::clockwork::Clockwork;
use crate::synthetic::hardware::{File, INTERVAL};
use crate::synthetic::host::THREAD;

/// The tasks that communicate, and the instruction of each; the first repeats, the second waits.
const TASKS: [u32; 2] = [1, 2];
const INSTRUCTIONS: [u16; 2] = [7, 8];

/// The bytes that a loop moves.
const LOOP_BYTES: u64 = 1 << 20;

/// The channels that are used.
const USED: [u16; 3] = [2, 11, 124];

/// Writes the files of the device of a number.
pub(super) fn of_device(
    directory: &Path,
    number: usize,
    chip: Chip,
    clockwork: Clockwork,
    rounds: u64,
) -> io::Result<()> {
    if !chip.has_wide_task_ids() {
        return Ok(());
    }
    for (group, core) in [(0, "aic"), (0, "aiv0"), (11, "aiv1")] {
        let mut file = File::new(directory, &format!("instr.biu_perf_group{group}_{core}.{number}"));
        for k in 0..rounds {
            let ticks = clockwork.device((k + 1) * INTERVAL);
            let block = [k as u32 & 0xFF, 1];
            for place in 0..4 {
                let part = (ticks >> (16 * place)) as u32 & 0xFFFF;
                let block = block.get(place).copied().unwrap_or(0);
                file.put_bytes(&(14 << 28 | block << 16 | part).to_le_bytes())?;
            }
            // The second and third unit begin together, a checkpoint lies between, and they end one by one.
            for word in
                [15 << 28 | 0b110 << 16 | 100u32, 4 << 28 | 9 << 16 | 50, 15 << 28 | 0b100 << 16 | 200]
            {
                file.put_bytes(&word.to_le_bytes())?;
            }
            file.put_bytes(&(15 << 28 | 400u32).to_le_bytes())?;
        }
        for word in [0xEFFF_FFFFu32, 0xDDDD_DDDD] {
            file.put_bytes(&word.to_le_bytes())?;
        }
        file.finish()?;
    }
    let mut missions = File::new(directory, &format!("ccu0.instr.{number}"));
    let mut channels = File::new(directory, &format!("ccu1.stat.{number}"));
    for k in 0..rounds {
        let start = clockwork.device((k + 1) * INTERVAL);
        let of = |task: u32| Mission {
            task_low: task as u16,
            task_high: (task >> 16) as u16,
            ..Mission::default()
        };
        missions.put(&Mission {
            loop_start: start,
            loop_end: start + 50_000 + k * 1_000,
            loop_instruction: INSTRUCTIONS[0],
            ..of(TASKS[0])
        })?;
        // Rank 15 comes first, and rank 3 last.
        let mut arrivals = [10; 16];
        arrivals[15 - 3] = 2_500 + k as u16;
        missions.put(&Mission {
            wait_start: start + 60_000,
            wait_instruction: INSTRUCTIONS[1],
            arrivals,
            ..of(TASKS[1])
        })?;
        let mut all = [ChannelDelays::default(); CHANNELS];
        for channel in USED {
            let mean = 1_000 + 10 * u32::from(channel) + k as u32;
            let time = start + u64::from(channel);
            all[usize::from(channel)] = ChannelDelays { time, mean, shortest: mean / 2, longest: mean * 2 };
        }
        channels.put_bytes(&write_channels(&all))?;
    }
    missions.finish()?;
    channels.finish()
}

/// Writes the host's notes.
pub(super) fn of_host(directory: &Path, chip: Chip, clockwork: Clockwork) -> io::Result<()> {
    if !chip.has_wide_task_ids() {
        return Ok(());
    }
    let head = |kind| Head {
        magic: MAGIC,
        level: level::NODE,
        kind,
        thread: THREAD,
        length: 152,
        time: clockwork.host(1_000),
    };
    let mut loops = File::new(directory, "unaging.additional.ccu_group_info");
    loops.put(&GroupInfo {
        head: head(22),
        task: TASKS[0],
        die: 0,
        instruction: INSTRUCTIONS[0],
        reduction: 2,
        input: 4,
        output: 3,
        size: LOOP_BYTES,
    })?;
    loops.finish()?;
    let mut waits = File::new(directory, "unaging.additional.ccu_wait_signal_info");
    let mut channels = [u16::MAX; 16];
    let mut ranks = [u32::MAX; 16];
    for ((channel, rank), used) in channels.iter_mut().zip(&mut ranks).zip(USED) {
        (*channel, *rank) = (used, 3);
    }
    waits.put(&WaitInfo {
        head: head(23),
        task: TASKS[1],
        die: 0,
        instruction: INSTRUCTIONS[1],
        mask: 0b111,
        channels,
        ranks,
    })?;
    waits.finish()
}
