//! Samples of a device's own processors, and calls of the host's operating system, as tools print them.

use std::fmt::Write;
use std::io;
use std::path::Path;

use opscope_cann_raw::Chip;
use opscope_cann_raw::samples::{SCHEDULER_MAGIC, SchedulerSample, ShortSchedulerSample};

use crate::synthetic::clockwork::{Clockwork, DEVICE_MONOTONIC};
use crate::synthetic::hardware::{File, INTERVAL, save};
use crate::synthetic::host::THREAD;

/// The events that are counted: instructions and cycles.
const EVENTS: [u64; 2] = [0x8, 0x11];

/// Writes the files of a device.
pub(super) fn of_device(
    directory: &Path,
    number: usize,
    chip: Chip,
    clockwork: Clockwork,
    samples: u64,
) -> io::Result<()> {
    functions(directory, number, samples)?;
    scheduler(directory, number, chip, clockwork, samples)
}

/// Functions of the control and AI processors.
fn functions(directory: &Path, number: usize, samples: u64) -> io::Result<()> {
    // Processor, program, function and module.
    const RUNNING: [(u32, &str, &str, &str); 3] = [
        (0, "slogd", "__schedule+0x2c", "([kernel.kallsyms])"),
        (2, "aicpu_scheduler", "operator+(Shape const&)+0x10", "(/usr/lib64/libaicpu.so)"),
        (3, "aicpu_scheduler", "[unknown]", "(/usr/lib64/libaicpu.so)"),
    ];
    let mut text = String::new();
    for k in 0..samples {
        let time = DEVICE_MONOTONIC + (k + 1) * INTERVAL;
        let (seconds, micros) = (time / 1_000_000_000, time / 1_000 % 1_000_000);
        for (place, (processor, program, function, module)) in (1..).zip(RUNNING) {
            for event in EVENTS {
                // Writing to a string can't fail.
                let _ = writeln!(
                    text,
                    "{program}  77/{processor} [{processor:03}] {seconds}.{micros:06}: {} r{event:x}:\n\
                     \tffff8000100a1b2c {function} {module}\n\
                     \tffff8000100a0000 main+0x40 (/usr/bin/{program})\n",
                    1_000 * place + k * event,
                );
            }
        }
    }
    save(directory, &format!("ai_ctrl_cpu.data.{number}"), &text)
}

/// Addresses of the task scheduler's processor.
fn scheduler(
    directory: &Path,
    number: usize,
    chip: Chip,
    clockwork: Clockwork,
    samples: u64,
) -> io::Result<()> {
    let mut file = File::new(directory, &format!("tscpu.data.{number}"));
    for k in 0..samples {
        let (magic, address) = (SCHEDULER_MAGIC, 0x4000 + k % 6 * 16);
        let time = clockwork.device((k + 1) * INTERVAL);
        let [instructions, cycles] = EVENTS.map(|event| [event, 500 + k * event]);
        if chip == Chip::V3_1_0 {
            let counts = [instructions, cycles, [0; 2], [0; 2], [0; 2]];
            let address = address as u32;
            file.put(&ShortSchedulerSample { magic, stack: [0; 20], address, time, counts })?;
        } else {
            let counts = [instructions, cycles, [0; 2], [0; 2], [0; 2], [0; 2], [0; 2]];
            file.put(&SchedulerSample { magic, stack: [0; 20], address, time, counts })?;
        }
    }
    file.finish()
}

/// Calls of the operating system and of threads.
pub(super) fn of_host(directory: &Path, samples: u64) -> io::Result<()> {
    let (mut system, mut threads) = (String::new(), String::new());
    for k in 0..samples {
        let (thread, micros) = (u64::from(THREAD) + k % 2, k * INTERVAL / 1_000 + 250);
        let (milliseconds, rest) = (micros / 1_000, micros % 1_000);
        for (name, duration) in [("futex(uaddr: 0x7f00, op: WAIT)", 17 + k), ("getpid()", 1)] {
            let _ =
                writeln!(system, "{milliseconds}.{rest:03} ( 0.{duration:03} ms): infer/{thread} {name} = 0");
        }
        let seconds = 5_000_000 + micros;
        for name in ["pthread_mutex_lock(0x7f00)", "pthread_once(0x7f10)"] {
            let _ = writeln!(
                threads,
                "[pid {thread}] {}.{:06} libinfer.so->{name} = 0 <0.0000{}>",
                seconds / 1_000_000,
                seconds % 1_000_000,
                20 + k % 70,
            );
        }
    }
    save(directory, "host_syscall.data", &system)?;
    save(directory, "host_pthreadcall.data", &threads)
}
