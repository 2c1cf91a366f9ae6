//! A process that tries inputs of one target. What panics is noted here; what ends the process (no memory, no
//! stack, too long) is noted by the process that started this one, which finds the input in a file.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use opscope_fuzzing::{Mutator, Trail};

use super::inputs::{self, Target};
use super::options::Options;
use super::{allocations, failures};

/// The status of a process whose input took too long.
pub const TOO_LONG: i32 = 90;
/// The file in the scratch folder that holds the number of the input, and the input itself.
pub const CURRENT: &str = "current";

/// Inputs that are kept in memory to be changed; more of them would only lead farther from where something is.
const MOST_KEPT: usize = 2_000;
/// How much of the allowed memory whoever asks may take.
const ASKED: u64 = 128 << 20;
/// How long a failing input is made smaller.
const SHRINKING: Duration = Duration::from_secs(3);

/// The processor's time of this process when the input began, in ticks and plus one; 0 between inputs.
static BEGAN: AtomicU64 = AtomicU64::new(0);
/// The last panic.
static PANIC: Mutex<Option<Panic>> = Mutex::new(None);

#[derive(Default)]
struct Panic {
    /// File and line.
    place: String,
    message: String,
}

/// The same for panics of the same reason: the place, and the begin of the message without what is the input's.
fn kind(place: &str, message: &str) -> String {
    let words = message.chars().filter(|letter| letter.is_ascii_lowercase() || *letter == ' ');
    format!("{place} {}", words.take(80).collect::<String>())
}

/// Tries inputs until the time is over, and prints what came of them.
pub fn work(name: &str, options: &Options) -> ExitCode {
    let Some(target) = inputs::target(name) else {
        eprintln!("error: there is no target {name}");
        return ExitCode::from(2);
    };
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(|| "?".to_owned(), |place| format!("{}:{}", place.file(), place.line()));
        let message = panic.payload_as_str().unwrap_or("a panic").to_owned();
        *PANIC.lock().expect("no panic in the hook") = Some(Panic { place, message });
    }));
    opscope_formats::memory::allow(ASKED);
    watch(options.time_limit);
    let mut worker = Worker { name, target, options, tried: 0, steps: HashSet::new(), kinds: HashSet::new() };
    if let Some(path) = &options.input {
        let input = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        worker.try_one(&input);
    } else {
        worker.try_all();
    }
    println!("tried {} {}", worker.tried, worker.steps.len());
    ExitCode::from(u8::from(!worker.kinds.is_empty()))
}

/// Ends the process when an input takes too much of the processor's time, or waits for ever.
fn watch(limit: u64) {
    std::thread::spawn(move || {
        let (mut since, mut seen) = (Instant::now(), 0);
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let began = BEGAN.load(SeqCst);
            if began != seen {
                (since, seen) = (Instant::now(), began);
            }
            if began == 0 {
                continue;
            }
            let busy = (processor_time() + 1).saturating_sub(began) > limit * TICKS;
            let waits = since.elapsed() > Duration::from_secs(limit * 12);
            if busy || waits {
                std::process::exit(TOO_LONG);
            }
        }
    });
}

/// Of Linux, since its beginnings.
const TICKS: u64 = 100;

/// The time that this process has kept processors busy, in ticks; where the system doesn't say, none.
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may hold anything.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

struct Worker<'o> {
    name: &'o str,
    target: Target,
    options: &'o Options,
    tried: u64,
    /// The steps that inputs led to.
    steps: HashSet<u64>,
    /// The kinds of panics.
    kinds: HashSet<String>,
}

impl Worker<'_> {
    fn try_all(&mut self) {
        let begin = Instant::now();
        let beginnings = inputs::beginnings(self.name, self.target.content, self.options);
        let mut kept: Vec<Vec<u8>> = Vec::new();
        for (number, (_, input)) in beginnings.into_iter().enumerate() {
            if number as u64 >= self.options.done {
                self.try_one(&input);
            } else {
                self.tried += 1;
            }
            kept.push(input);
        }
        let new = inputs::place_of_new(self.name, self.target.content, self.options);
        let mut mutator = Mutator::new(self.options.seed);
        if kept.is_empty() {
            kept.push(Vec::new());
        }
        // Larger ones take longer, and seldom lead farther.
        let largest = kept.iter().map(Vec::len).max().unwrap_or_default() * 2 + 4_096;
        while begin.elapsed().as_secs_f64() < self.options.seconds {
            let (one, other) = (mutator.choose(kept.len()), mutator.choose(kept.len()));
            let input = mutator.change(self.target.content, &kept[one], &kept[other]);
            if self.try_one(&input) && input.len() <= largest {
                if let Some(folder) = &new {
                    add(folder, &input);
                }
                if kept.len() < MOST_KEPT {
                    kept.push(input);
                } else {
                    let place = mutator.choose(kept.len());
                    kept[place] = input;
                }
            }
        }
    }

    /// Tries an input; whether it led to a step to which none has led.
    fn try_one(&mut self, input: &[u8]) -> bool {
        if let Some(scratch) = &self.options.scratch {
            note(scratch, self.tried, input);
        }
        self.tried += 1;
        match self.steps_of(input) {
            Ok(steps) => {
                let before = self.steps.len();
                self.steps.extend(steps);
                self.steps.len() > before
            }
            Err(Panic { place, message }) => {
                let kind = kind(&place, &message);
                if self.kinds.insert(kind.clone()) {
                    let smaller = self.shrink(input, &kind);
                    let path = failures::keep(self.name, &smaller);
                    let message: String = message.chars().take(400).collect();
                    println!(
                        "{}",
                        failures::report(self.name, &format!("panicked at {place}: {message}"), &path)
                    );
                }
                false
            }
        }
    }

    /// The steps that an input leads to, or its panic.
    fn steps_of(&self, input: &[u8]) -> Result<Vec<u64>, Panic> {
        allocations::limit_to(self.options.memory_limit << 20);
        BEGAN.store(processor_time() + 1, SeqCst);
        let mut trail = Trail::default();
        let ended = catch_unwind(AssertUnwindSafe(|| (self.target.run)(input, &mut trail)));
        BEGAN.store(0, SeqCst);
        let panic = PANIC.lock().expect("no panic in the hook").take();
        match ended {
            Ok(()) => Ok(trail.steps().to_vec()),
            Err(_) => Err(panic.unwrap_or_default()),
        }
    }

    /// A smaller input with a panic of the same kind.
    fn shrink(&self, input: &[u8], wanted: &str) -> Vec<u8> {
        let begin = Instant::now();
        let mut best = input.to_vec();
        let mut piece = best.len() / 2;
        while piece > 0 && begin.elapsed() < SHRINKING {
            let mut at = 0;
            while at < best.len() && begin.elapsed() < SHRINKING {
                let mut without = best.clone();
                without.drain(at..best.len().min(at + piece));
                let panics = |panic: Panic| kind(&panic.place, &panic.message) == wanted;
                if self.steps_of(&without).is_err_and(panics) {
                    best = without;
                } else {
                    at += piece;
                }
            }
            piece /= 2;
        }
        best
    }
}

/// Notes the input that is about to be tried.
fn note(scratch: &Path, number: u64, input: &[u8]) {
    let mut noted = number.to_le_bytes().to_vec();
    noted.extend(input);
    std::fs::write(scratch.join(CURRENT), noted).expect("space for the input");
}

/// Adds an input to the user's folder.
fn add(folder: &Path, input: &[u8]) {
    use std::hash::{DefaultHasher, Hash, Hasher};

    std::fs::create_dir_all(folder).expect("a folder for inputs");
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let path: PathBuf = folder.join(format!("{:016x}", hasher.finish()));
    std::fs::write(path, input).expect("space on disk");
}
