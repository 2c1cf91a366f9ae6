//! Starts a process for each target, and another one where it ended on an input, which is kept.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use super::options::Options;
use super::worker::{CURRENT, TOO_LONG};
use super::{failures, inputs};

/// Processes of one target that may end on an input before the target is given up.
const MOST_ENDS: usize = 8;

/// The outcome of a target.
#[derive(Default)]
struct Found {
    tried: u64,
    /// Different steps to which inputs led.
    steps: u64,
    failures: usize,
}

/// Tries all targets that are wanted.
pub fn fuzz(options: &Options) -> ExitCode {
    for wanted in &options.targets {
        if !inputs::names().contains(&wanted.as_str()) {
            eprintln!("error: there is no target {wanted}; there are {}", inputs::names().join(", "));
            return ExitCode::from(2);
        }
    }
    let wanted: Vec<&str> = inputs::names().into_iter().filter(|name| options.wants(name)).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(name) = wanted.get(next.fetch_add(1, Relaxed)) {
                    let found = try_target(name, options).unwrap_or_else(|error| panic!("{name}: {error}"));
                    failed.fetch_add(found.failures, Relaxed);
                }
            });
        }
    });
    match failed.into_inner() {
        0 => ExitCode::SUCCESS,
        count => {
            eprintln!("error: {count} failing inputs");
            ExitCode::FAILURE
        }
    }
}

fn try_target(name: &str, options: &Options) -> io::Result<Found> {
    let begin = Instant::now();
    let scratch = opscope_fuzzing::folder();
    let (mut found, mut done) = (Found::default(), 0);
    for attempt in 0..MOST_ENDS {
        let left = (options.seconds - begin.elapsed().as_secs_f64()).max(0.0);
        let status = run_worker(name, options, attempt as u64, left, done, scratch.path(), &mut found)?;
        if matches!(status.code(), Some(0 | 1)) {
            break;
        }
        let (number, input) = current(scratch.path())?;
        let path = failures::keep(name, &input);
        println!("{}", failures::report(name, &end_of(status, options, scratch.path()), &path));
        found.failures += 1;
        found.tried += number + 1 - done;
        done = number + 1;
        if options.input.is_some() {
            break;
        }
    }
    let took = begin.elapsed().as_secs_f64();
    println!(
        "{name}: {} inputs in {took:.1} s, {} steps, {}",
        found.tried,
        found.steps,
        if found.failures == 0 { "nothing found".to_owned() } else { format!("{} failing", found.failures) }
    );
    Ok(found)
}

/// Runs a process that tries inputs of a target, and prints what it says.
fn run_worker(
    name: &str,
    options: &Options,
    attempt: u64,
    seconds: f64,
    done: u64,
    scratch: &Path,
    found: &mut Found,
) -> io::Result<ExitStatus> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--work", name, "--seconds", &seconds.to_string(), "--done", &done.to_string()]);
    // The same seed would change the same inputs again.
    command.args(["--seed", &options.seed.wrapping_add(attempt << 32).to_string()]);
    command.args(["--time-limit", &options.time_limit.to_string()]);
    command.args(["--memory-limit", &options.memory_limit.to_string()]);
    command.arg("--scratch").arg(scratch);
    for (option, path) in [("--corpus", &options.corpus), ("--input", &options.input)] {
        if let Some(path) = path {
            command.arg(option).arg(path);
        }
    }
    if options.input.is_some() {
        command.args(["--target", name]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(scratch.join("errors"))?);
    let mut child = command.spawn()?;
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for line in lines {
        let line = line?;
        match line.strip_prefix("tried ").and_then(|numbers| numbers.split_once(' ')) {
            Some((tried, steps)) => {
                found.tried += tried.parse::<u64>().unwrap_or_default().saturating_sub(done);
                found.steps = found.steps.max(steps.parse().unwrap_or_default());
            }
            None => {
                found.failures += usize::from(line.starts_with("FAILED "));
                println!("{line}");
            }
        }
    }
    child.wait()
}

/// The number of the input that a process was at, and the input.
fn current(scratch: &Path) -> io::Result<(u64, Vec<u8>)> {
    let noted = std::fs::read(scratch.join(CURRENT))?;
    match noted.split_first_chunk() {
        Some((number, input)) => Ok((u64::from_le_bytes(*number), input.to_vec())),
        None => Err(io::Error::other("the process ended before its first input")),
    }
}

/// The end of a process in words.
fn end_of(status: ExitStatus, options: &Options, scratch: &Path) -> String {
    let errors = std::fs::read_to_string(scratch.join("errors")).unwrap_or_default();
    let last =
        errors.lines().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" | ");
    match status.code() {
        Some(TOO_LONG) => format!("it took longer than {} s", options.time_limit),
        _ => format!("the process ended with {status}, with at most {} MB: {last}", options.memory_limit),
    }
}
