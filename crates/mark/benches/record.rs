//! The cost of a mark: off, recorded now and then, recorded without pause, and in a burst of ten
//! million from two threads, which must all reach the disk.
//!
//! `cargo bench -p opscope-mark` fails when a limit is broken. `cargo test` runs none of it.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use opscope_mark::profile::Recording;
use opscope_mark::{Details, mark, pop, push};

/// Processor time that this thread took, in nanoseconds; time given to others isn't ours.
fn spent() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds per pair of push and pop.
fn pair(pairs: u32) -> f64 {
    let begin = spent();
    for _ in 0..pairs {
        push(black_box(b"preprocess"), Details::default());
        black_box(pop());
    }
    (spent() - begin) / f64::from(pairs)
}

/// The value below which a share of all lie.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * share) as usize]
}

/// Prints a figure beside its limit; returns whether it holds.
fn report(what: &str, value: f64, unit: &str, limit: f64) -> bool {
    let verdict = if value <= limit { "ok" } else { "TOO SLOW" };
    let share = value / limit;
    println!("{what:<58} {value:>8.2} {unit:<3} {share:>5.2} of the limit, {limit} {unit}: {verdict}");
    value <= limit
}

fn written(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("the slices").flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|status| status.len() / 256).sum()
}

fn main() -> ExitCode {
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let mut fine = true;
    // Other programs on the machine make it slower, and nothing makes it faster.
    let off = (0..41).map(|_| pair(1_000_000)).fold(f64::INFINITY, f64::min);
    fine &= report("push and pop, nobody collects", off, "ns", 2.0);

    let folder = tempfile::tempdir().expect("a temporary directory");
    let recording = Recording::begin(folder.path()).expect("a writable temporary directory");
    recording.record(true);
    pair(10_000);
    // Five hundred ranges at a time, as of a program that does something in between.
    let paced = (0..300).map(|_| {
        std::thread::sleep(Duration::from_millis(2));
        pair(500)
    });
    let mut paced: Vec<f64> = paced.collect();
    fine &= report("push and pop, recorded, 500 at a time", quantile(&mut paced, 0.5), "ns", 60.0);
    let undisturbed = quantile(&mut paced, 0.1);
    println!("{:<58} {undisturbed:>8.2} ns", "    in the fastest tenth, where the machine was free");
    let mut sustained: Vec<f64> = (0..21).map(|_| pair(100_000)).collect();
    println!("{:<58} {:>8.2} ns", "push and pop, recorded, without pause", quantile(&mut sustained, 0.5));
    recording.end().expect("space on disk");

    let recording = Recording::begin(folder.path()).expect("a writable temporary directory");
    recording.record(true);
    let (threads, marks) = (2, 5_000_000u32);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..marks).for_each(|_| mark(black_box("frame"))));
        }
    });
    let marked = begin.elapsed();
    let total = u64::from(marks) * threads;
    let data = recording.path().join("host/data");
    while written(&data) < total && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let behind = begin.elapsed() - marked;
    let each = marked.as_nanos() as f64 / total as f64;
    println!("{:<58} {each:>8.2} ns", "a mark of ten million from two threads");
    fine &= report("until the last of them was on disk", behind.as_secs_f64(), "s", 1.0);
    let lost = total - written(&data);
    println!("{:<58} {lost:>8}", "lost");
    recording.end().expect("space on disk");
    if fine && lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
