//! How fast Ascend profiles are exported, beside a plain copy of their bytes and, if asked, beside
//! the vendor's own tool.
//!
//! ```text
//! cargo bench -p opscope-cann --bench ascend -- [--tasks 10000,100000,1000000] [--chip 910b]
//!     [--mode dynamic] [--only timeline,summary,db] [--dir DIR] [--peer PATH-TO-msprof.py]
//! ```
//!
//! Each line is a generated profile of so many tasks: bytes of raw data, seconds, MB of raw data and
//! tasks a second, processor seconds, the most anonymous memory (on Linux), and how many times as long
//! as a copy of the same bytes it took. `--peer` runs the vendor's tool on the same profile afterwards
//! (import, summary, timeline and where it makes one the database) and adds the ratio of both times.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, SampleLayout, SampleMode, SampleOptions, discover, export_database, export_summary,
    export_timeline, write_sample,
};
use opscope_cann_raw::Chip;

type Failure = Box<dyn std::error::Error>;

/// The word by which the program calls itself to measure one export in a process of its own.
const MEASURE: &str = "measure-one-export";

/// The arguments: profiles to generate, and the exports to measure.
struct Arguments {
    tasks: Vec<u64>,
    chip: Chip,
    mode: SampleMode,
    only: String,
    directory: Option<PathBuf>,
    peer: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let result = match words.as_slice() {
        [word, profile, output, only] if word == MEASURE => {
            measure(Path::new(profile), Path::new(output), only)
        }
        _ => Arguments::read(&words).and_then(|arguments| run(&arguments)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn read(words: &[String]) -> Result<Self, Failure> {
        let mut arguments = Self {
            tasks: vec![10_000, 100_000, 1_000_000],
            chip: Chip::V4_1_0,
            mode: SampleMode::Dynamic,
            only: "timeline,summary,db".to_owned(),
            directory: None,
            peer: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--tasks" => {
                    arguments.tasks = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                "--chip" => {
                    arguments.chip = match value.as_str() {
                        "910b" => Chip::V4_1_0,
                        "910" => Chip::V2_1_0,
                        "310p" => Chip::V3_3_0,
                        "310" => Chip::V1_1_0,
                        other => {
                            return Err(format!("--chip {other}: expected 910b, 910, 310p or 310").into());
                        }
                    }
                }
                "--mode" => {
                    arguments.mode = match value.as_str() {
                        "static" => SampleMode::Static,
                        "dynamic" => SampleMode::Dynamic,
                        other => return Err(format!("--mode {other}: expected static or dynamic").into()),
                    }
                }
                "--only" => arguments.only = value.clone(),
                "--dir" => arguments.directory = Some(PathBuf::from(value)),
                "--peer" => arguments.peer = Some(PathBuf::from(value)),
                other => return Err(format!("{other}: unknown option").into()),
            }
        }
        Ok(arguments)
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let temporary = match &arguments.directory {
        Some(directory) => {
            fs::create_dir_all(directory)?;
            tempfile::tempdir_in(directory)?
        }
        None => tempfile::tempdir()?,
    };
    println!("exports: {}", arguments.only);
    println!(
        "{:>10} {:>9} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9} {:>8}",
        "tasks", "raw MB", "s", "MB/s", "tasks/s", "CPU s", "anon MB", "out MB", "x copy"
    );
    for &tasks in &arguments.tasks {
        let directory = temporary.path().join(tasks.to_string());
        fs::create_dir_all(&directory)?;
        let options = SampleOptions {
            chip: arguments.chip,
            tasks,
            mode: arguments.mode,
            seed: 1,
            layout: SampleLayout::default(),
        };
        let profile = write_sample(&directory, options)?;
        let (copied, seconds) = timed(|| copy_all(&profile, &directory.join("copy")))?;
        fs::remove_dir_all(directory.join("copy"))?;
        let line = one_line(&profile, &directory.join("output"), &arguments.only, tasks, copied, seconds)?;
        if let Some(peer) = &arguments.peer {
            compare(peer, &profile, line)?;
        }
        fs::remove_dir_all(&directory)?;
    }
    Ok(())
}

/// Measures an export in a process of its own, prints its line and returns its seconds.
fn one_line(
    profile: &Path,
    output: &Path,
    only: &str,
    tasks: u64,
    bytes: u64,
    copy: f64,
) -> Result<f64, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let answer = command.args([MEASURE.as_ref(), profile, output, Path::new(only)]).output()?;
    if !answer.status.success() {
        return Err(String::from_utf8_lossy(&answer.stderr).into_owned().into());
    }
    let text = String::from_utf8(answer.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [seconds, processor, anonymous] = numbers[..] else { return Err("no measurement".into()) };
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{tasks:>10} {megabytes:>9.1} {seconds:>9.3} {:>9.1} {:>10.0} {processor:>9.2} {:>9.1} {:>9.1} {:>8.1}",
        megabytes / seconds,
        tasks as f64 / seconds,
        anonymous / 1e6,
        size_of(output)? as f64 / 1e6,
        seconds / copy,
    );
    Ok(seconds)
}

/// Exports a profile and prints seconds, processor seconds and the most anonymous bytes.
fn measure(profile: &Path, output: &Path, only: &str) -> Result<(), Failure> {
    let peak = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicBool::new(false));
    let watcher = {
        let (peak, done) = (Arc::clone(&peak), Arc::clone(&done));
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(anonymous_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    };
    let ((), seconds) = timed(|| {
        let found = discover(profile)?.remove(0);
        let joined = Joined::new(Data::load(found)?);
        let options = ExportOptions::default();
        if only.contains("summary") {
            export_summary(&joined, output, "0", options)?;
        }
        if only.contains("timeline") {
            export_timeline(&joined, output, "0", options)?;
        }
        if only.contains("db") {
            export_database(&joined, output, "0")?;
        }
        Ok(())
    })?;
    done.store(true, Ordering::Relaxed);
    watcher.join().map_err(|_| "the memory could not be watched")?;
    println!("{seconds} {} {}", processor_seconds(), peak.load(Ordering::Relaxed));
    Ok(())
}

/// Runs the vendor's tool on the profile and prints how many times as long it took.
fn compare(peer: &Path, profile: &Path, ours: f64) -> Result<(), Failure> {
    let call = |words: &[&str]| -> Result<(), Failure> {
        let mut command = Command::new("python3");
        let status = command.arg(peer).args(words).arg("-dir").arg(profile).output()?.status;
        if status.success() { Ok(()) } else { Err(format!("{}: {words:?} failed", peer.display()).into()) }
    };
    let mut total = 0.0;
    for words in [&["import"][..], &["export", "summary"], &["export", "timeline"], &["export", "db"]] {
        let ((), seconds) = timed(|| call(words))?;
        println!("{:>10} {seconds:>19.3} s msprof.py {}", "", words.join(" "));
        total += seconds;
    }
    println!("{:>10} {total:>19.3} s, {:.0} times as long", "", total / ours);
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<(T, f64), Failure> {
    let begin = Instant::now();
    let result = work()?;
    Ok((result, begin.elapsed().as_secs_f64()))
}

/// Copies all files below a directory; returns their bytes.
fn copy_all(from: &Path, to: &Path) -> Result<u64, Failure> {
    fs::create_dir_all(to)?;
    let mut bytes = 0;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        bytes += if path.is_dir() { copy_all(&path, &target)? } else { copy(&path, &target)? };
    }
    Ok(bytes)
}

/// Copies a file through memory; some systems would otherwise only note that it is the same.
fn copy(from: &Path, to: &Path) -> Result<u64, Failure> {
    let (mut from, mut to) = (fs::File::open(from)?, fs::File::create(to)?);
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(bytes),
            count => {
                to.write_all(&buffer[..count])?;
                bytes += count as u64;
            }
        }
    }
}

/// The bytes of all files below a directory.
fn size_of(directory: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        bytes += if entry.path().is_dir() { size_of(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

/// The process's anonymous memory; 0 where the system doesn't tell.
fn anonymous_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1_024
}

/// The processor seconds that the process used; 0 where the system doesn't tell.
fn processor_seconds() -> f64 {
    // The 14th and 15th field are ticks in the program and in the system, of which there are 100 a
    // second; the second field is a name in brackets that may hold blanks.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: f64 = fields.split_whitespace().skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum();
    ticks / 100.0
}
