//! The options of the program that fuzzes.

use std::path::PathBuf;

use opscope_fuzzing::seeds::Sources;

pub const HELP: &str = "\
Changes inputs of opscope's readers and answers, and of the whole program, and looks for those on which
something panics, takes too long, or takes too much memory.

  cargo test --workspace --test fuzz -- [OPTIONS] [NAME…]

  --seconds N       so many seconds for each target; 0 (the default) tries the inputs of the repository only;
                    OPSCOPE_FUZZ_SECONDS says the same
  --seed N          begin with this seed (1); the same seed changes the same inputs in the same way
  --target NAME     this target only; may be given several times; NAME… chooses by parts of names
  --jobs N          so many targets at a time (1)
  --time-limit N    seconds of the processor for an input (5)
  --memory-limit N  megabytes for an input (768)
  --corpus DIR      more inputs to begin with, in a folder for each target; inputs that lead to something new
                    are added
  --input FILE      one input, for one --target
  --list            name the targets
  --write-seeds DIR write inputs to begin with; --golden DIR takes some of recorded profiles along, and
                    OPSCOPE_ONNX_DATA some of the Python package onnx";

/// The work to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    Help,
    List,
    WriteSeeds(PathBuf),
    /// All targets that are wanted, each by a process of its own.
    Fuzz,
    /// One target, in this process.
    Work(String),
}

#[derive(Clone, Debug)]
pub struct Options {
    pub task: Task,
    pub seconds: f64,
    pub seed: u64,
    /// Whole names.
    pub targets: Vec<String>,
    /// Parts of names.
    pub words: Vec<String>,
    pub jobs: usize,
    /// In seconds of the processor.
    pub time_limit: u64,
    /// In megabytes.
    pub memory_limit: usize,
    pub corpus: Option<PathBuf>,
    pub input: Option<PathBuf>,
    pub sources: Sources,
    /// How many inputs an earlier process has tried, which are left out.
    pub done: u64,
    /// The folder in which a process notes its input.
    pub scratch: Option<PathBuf>,
}

impl Options {
    /// Reads the words of the command line. Those of Rust's own test programs are heeded as far as they mean
    /// something here, because all test programs are given the same.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let seconds = std::env::var("OPSCOPE_FUZZ_SECONDS").unwrap_or_else(|_| "0".to_owned());
        let mut options = Self {
            task: Task::Fuzz,
            seconds: number("OPSCOPE_FUZZ_SECONDS", &seconds)?,
            seed: 1,
            targets: Vec::new(),
            words: Vec::new(),
            jobs: 1,
            time_limit: 5,
            memory_limit: 768,
            corpus: None,
            input: None,
            sources: Sources {
                golden: None,
                onnx_data: std::env::var_os("OPSCOPE_ONNX_DATA").map(PathBuf::from),
            },
            done: 0,
            scratch: None,
        };
        let mut words = words.flat_map(|word| match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => vec![name.to_owned(), value.to_owned()],
            _ => vec![word],
        });
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--seconds" => options.seconds = number(&word, &value()?)?,
                "--seed" => options.seed = number(&word, &value()?)?,
                "--jobs" => options.jobs = number(&word, &value()?)?,
                "--time-limit" => options.time_limit = number(&word, &value()?)?,
                "--memory-limit" => options.memory_limit = number(&word, &value()?)?,
                "--done" => options.done = number(&word, &value()?)?,
                "--target" => options.targets.push(value()?),
                "--corpus" => options.corpus = Some(value()?.into()),
                "--input" => options.input = Some(value()?.into()),
                "--golden" => options.sources.golden = Some(value()?.into()),
                "--scratch" => options.scratch = Some(value()?.into()),
                "--write-seeds" => options.task = Task::WriteSeeds(value()?.into()),
                "--work" => options.task = Task::Work(value()?),
                "--list" => options.task = Task::List,
                "--help" | "-h" => options.task = Task::Help,
                "--test-threads" | "--format" | "--skip" | "--color" | "-Z" => drop(value()?),
                "--show-output" | "--nocapture" | "--no-capture" | "--quiet" | "-q" | "--exact"
                | "--ignored" | "--include-ignored" => {}
                _ if word.starts_with('-') => {
                    return Err(format!("there is no option {word}; --help names all"));
                }
                _ => options.words.push(word),
            }
        }
        if options.input.is_some() && options.targets.len() != 1 {
            return Err("--input needs one --target".to_owned());
        }
        Ok(options)
    }

    /// Whether a target is to be tried.
    pub fn wants(&self, name: &str) -> bool {
        let is_named = self.targets.is_empty() || self.targets.iter().any(|wanted| wanted == name);
        is_named && (self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str())))
    }
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name}: {text} is no number that fits"))
}
