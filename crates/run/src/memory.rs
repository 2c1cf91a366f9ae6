//! How much memory this process takes.

use opscope_trace::Nanoseconds;

use crate::engine::RunClock;

/// Samples of the process's resident memory, and its peak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryLog {
    /// Time and resident bytes.
    pub samples: Vec<(Nanoseconds, u64)>,
    /// The peak when the account was closed.
    peak: Option<u64>,
    closed: bool,
}

impl MemoryLog {
    /// Takes a sample, unless the last one is quite new; where the system doesn't tell, none.
    pub fn sample(&mut self, clock: RunClock) {
        // Asking takes longer than an iteration of a small model.
        const OFTEN: Nanoseconds = Nanoseconds(2_000_000);
        if self.closed {
            return;
        }
        if self.samples.last().is_none_or(|(time, _)| clock.now() - *time >= OFTEN) {
            self.ask(clock);
        }
    }

    fn ask(&mut self, clock: RunClock) {
        if let Some(usage) = memory_stats::memory_stats() {
            self.samples.push((clock.now(), usage.physical_mem as u64));
        }
    }

    /// Resident bytes at the first sample.
    pub fn at_start(&self) -> Option<u64> {
        self.samples.first().map(|(_, bytes)| *bytes)
    }

    /// Ends the account with a last sample: what the process takes from now on is no longer asked for.
    pub fn close(&mut self, clock: RunClock) {
        if !self.closed {
            self.ask(clock);
            let sampled = self.samples.iter().map(|(_, bytes)| *bytes).max();
            self.peak = [sampled, high_water_mark()].into_iter().flatten().max();
            self.closed = true;
        }
    }

    /// The most resident bytes at any time until the end of the account, from the system's own where it
    /// keeps one, else from the samples; `None` before the end.
    pub fn peak(&self) -> Option<u64> {
        self.peak
    }
}

/// Linux's `VmHWM`, in bytes.
fn high_water_mark() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
