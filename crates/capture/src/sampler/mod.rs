//! Samples of the host while a program runs, from `/proc`, in the text files that the reference
//! writes below `host/data`. Times are nanoseconds of `CLOCK_MONOTONIC_RAW`.
//!
//! | stream | a sample |
//! |---|---|
//! | `host_cpu.data` | `time <ns>`, the line of `/proc/uptime`, and the line of `/proc/P/task/T/stat` of every thread |
//! | `host_mem.data` | `<ns>` and the sizes of `/proc/P/statm` in pages, summed over the processes |
//! | `host_disk.data` | once `start_time <ns>`; then a line as iotop prints it, at a fixed frequency |
//! | `host_network.data` | `time <ns>` and the lines of `/proc/net/dev` |
//!
//! The program's children count as the program.

mod processes;
mod readings;
mod streams;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use opscope_recorder::clock::monotonic_raw;

use crate::host_kind::HostKind;
use crate::plan::Plan;
use processes::Processes;
use streams::Streams;

/// The thread that samples.
#[derive(Debug)]
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    lost: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Begins to sample a process and its children; `None` if nothing is to be sampled.
    pub(crate) fn start(plan: &Plan, process: u32, data: &Path) -> Option<Self> {
        if plan.host.is_empty() {
            return None;
        }
        let (stop, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let kinds: Vec<HostKind> = plan.host.iter().copied().collect();
        let interval = Duration::from_secs(1) / plan.host_hertz.max(1);
        let data = data.to_owned();
        let (its_stop, its_lost) = (Arc::clone(&stop), Arc::clone(&lost));
        let work = move || sample_until(&its_stop, &its_lost, &kinds, interval, process, &data);
        let thread = std::thread::Builder::new().name("opscope-sampler".into()).spawn(work).ok()?;
        Some(Self { stop, lost, thread: Some(thread) })
    }

    /// Takes the last samples and completes the files; returns how many samples could not be written.
    pub(crate) fn finish(mut self) -> u64 {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        self.lost.load(Ordering::Relaxed)
    }
}

fn sample_until(
    stop: &AtomicBool,
    lost: &AtomicU64,
    kinds: &[HostKind],
    interval: Duration,
    process: u32,
    data: &Path,
) {
    let mut processes = Processes::new(process);
    let mut streams = Streams::new(data, kinds);
    let mut due = Instant::now();
    loop {
        let ends = stop.load(Ordering::Acquire);
        processes.refresh();
        let failures = streams.sample(monotonic_raw(), &mut processes);
        lost.fetch_add(failures, Ordering::Relaxed);
        if ends {
            break;
        }
        // Samples lie on a grid: the disk's have no times of their own.
        due += interval;
        let now = Instant::now();
        while due + interval < now {
            streams.repeat_disk();
            due += interval;
        }
        while let Some(rest) = due.checked_duration_since(Instant::now()) {
            if rest.is_zero() || stop.load(Ordering::Acquire) {
                break;
            }
            std::thread::park_timeout(rest);
        }
    }
    streams.finish();
}
