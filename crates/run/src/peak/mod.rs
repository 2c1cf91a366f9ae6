//! How fast this machine computes and moves bytes, measured.
//!
//! Every figure is the best of several short rounds: whatever else runs on the machine can only make
//! a round slower. All threads of a round begin together, and the round lasts as long as the slowest.

mod arithmetic;
mod memory;

use std::io;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use memory::Arrays;

/// The peaks of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Peaks {
    /// The processor's name, where the system tells it.
    pub processor: Option<String>,
    /// The instructions that computed, such as `AVX-512`.
    pub instructions: &'static str,
    /// With one thread.
    pub one_core: Rates,
    /// With as many threads as there are processors.
    pub all_cores: Rates,
}

/// The rates that so many threads reach together, a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// How many threads.
    pub threads: usize,
    /// Operations on 32-bit floating-point numbers; a fused multiplication and addition is two.
    pub flops: f64,
    /// Bytes read.
    pub read: f64,
    /// Bytes written.
    pub fill: f64,
    /// Bytes copied, those read and those written together.
    pub copy: f64,
}

impl Rates {
    /// The most bytes a second that any of the ways to move them reaches.
    pub fn bandwidth(&self) -> f64 {
        self.read.max(self.fill).max(self.copy)
    }
}

/// How many rounds each figure is the best of.
const ROUNDS: usize = 5;

/// Figures to measure: four with one thread and four with all.
const FIGURES: u32 = 8;

/// Measures for about the given time; `progress` is told what comes next.
///
/// # Errors
/// When the system refuses a thread or the memory.
pub fn measure(duration: Duration, progress: &mut dyn FnMut(&str)) -> io::Result<Peaks> {
    // Shorter rounds measure the clock and the scheduler.
    let round = (duration / (ROUNDS as u32 * FIGURES)).max(Duration::from_millis(5));
    let kernel = arithmetic::best();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut rates = |threads: usize| -> io::Result<Rates> {
        let with = if threads == 1 { "one thread" } else { "all threads" };
        progress(&format!("computing with {with}"));
        let compute = |(): &mut (), deadline| kernel.run_until(deadline);
        let [flops] = best_of(threads, round, || (), [&compute])?;
        progress(&format!("moving bytes with {with}"));
        let bytes = memory::array_bytes() / threads;
        let ways: [Work<'_, Arrays>; 3] = [&Arrays::read_until, &Arrays::fill_until, &Arrays::copy_until];
        let [read, fill, copy] = best_of(threads, round, || Arrays::new(bytes), ways)?;
        Ok(Rates { threads, flops, read, fill, copy })
    };
    let one_core = rates(1)?;
    let all_cores = if threads == 1 { one_core } else { rates(threads)? };
    Ok(Peaks { processor: processor(), instructions: kernel.instructions, one_core, all_cores })
}

/// The work of a thread until a point in time; it gives how much that was.
type Work<'w, State> = &'w (dyn Fn(&mut State, Instant) -> u64 + Sync);

/// The best rate of several rounds of each work. Every thread prepares its own state, so that its
/// memory lies near it.
fn best_of<State, const WORKS: usize>(
    threads: usize,
    round: Duration,
    prepare: impl Fn() -> State + Sync,
    works: [Work<'_, State>; WORKS],
) -> io::Result<[f64; WORKS]> {
    let barrier = Barrier::new(threads);
    let run = || {
        let mut state = prepare();
        // The first round wakes the processor up and counts as well: it is only ever slower.
        works.map(|work| {
            [(); ROUNDS].map(|()| {
                barrier.wait();
                let start = Instant::now();
                let amount = work(&mut state, start + round);
                Share { amount, start, end: Instant::now() }
            })
        })
    };
    let results = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut results = vec![run()];
        for other in others {
            results.push(other.join().map_err(|_| io::Error::other("a measuring thread failed"))?);
        }
        io::Result::Ok(results)
    })?;
    Ok(best(&results))
}

/// The work of one thread in a round.
#[derive(Clone, Copy)]
struct Share {
    amount: u64,
    start: Instant,
    end: Instant,
}

/// Of the rounds of each work the best rate, from all threads' shares.
fn best<const WORKS: usize>(threads: &[[[Share; ROUNDS]; WORKS]]) -> [f64; WORKS] {
    let rate = |work: usize, round: usize| {
        let shares = threads.iter().map(|works| works[work][round]);
        let amount: u64 = shares.clone().map(|share| share.amount).sum();
        let start = shares.clone().map(|share| share.start).min();
        let end = shares.map(|share| share.end).max();
        let elapsed = end.zip(start).map_or(Duration::ZERO, |(end, start)| end - start);
        if elapsed.is_zero() { 0.0 } else { amount as f64 / elapsed.as_secs_f64() }
    };
    std::array::from_fn(|work| (0..ROUNDS).map(|round| rate(work, round)).fold(0.0, f64::max))
}

/// The processor's name, on systems that write it into a file.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_computes_and_moves_at_believable_rates() {
        let mut steps = 0;
        let peaks = measure(Duration::from_millis(200), &mut |_| steps += 1).unwrap();
        for rates in [peaks.one_core, peaks.all_cores] {
            // No machine with so few threads is as fast: work that the compiler left out would be.
            let most = 1e12 * rates.threads as f64;
            for rate in [rates.flops, rates.read, rates.fill, rates.copy] {
                assert!(rate > 0.0 && rate < most, "{rates:?}");
            }
        }
        assert!(steps >= 2);
    }

    #[test]
    fn threads_add_up_and_the_best_round_counts() {
        let begin = Instant::now();
        let at = |milliseconds| begin + Duration::from_millis(milliseconds);
        let share = |amount, start, end| Share { amount, start: at(start), end: at(end) };
        // The second thread begins later and ends later, but in the third round.
        let mut threads = [[[share(1_000, 0, 40); ROUNDS]], [[share(1_000, 10, 50); ROUNDS]]];
        threads[1][0][2] = share(3_000, 10, 30);
        assert_eq!(best(&threads), [100_000.0]);
        assert_eq!(best(&threads[..1]), [25_000.0]);
        assert_eq!(best(&[[[share(1, 0, 0); ROUNDS]]]), [0.0], "no time is no rate");
    }
}
