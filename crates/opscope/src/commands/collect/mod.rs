//! `opscope collect`: runs a program and records what it does.

mod board;
mod commands;
mod finish;
mod options;
mod plan;
mod switches;
mod together;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use opscope_capture::{CaptureError, Event, collect};

use crate::commands::export::{self, What};
use crate::exit::{Exit, OWN_FAILURE};
use crate::interrupt;
use crate::terminal::Terminal;
use options::{RecordedArguments, WhenArguments};
use plan::plan;
use switches::HardwareSwitches;

const EXAMPLES: &str = "\
Examples:
  opscope collect -- python3 detect.py image/demo1.jpg
  opscope collect --host-sys=cpu,mem -o results -- ./detector --frames 100
  opscope collect --delay=5s --duration=10s -- ./server
  opscope collect --acl-shim -- python3 detect.py     its marks are those of acl.prof, without CANN
  opscope collect --host-sys=cpu --host-sys-pid=4711 --duration=10s
  opscope collect --dynamic=on -- ./server            start, stop and quit on standard input
  opscope collect --dynamic=on --pid=4711             the same for a program that waits for it
  opscope collect -m out/main --config board.ini --all      on a board, or a host with Ascend processors
  opscope collect --config board.ini                        whether that can be reached

The program keeps its own input, output and signals, and its exit status becomes that of opscope,
which uses 125 for failures of its own, 126 for a program that can't be executed, and 127 for one
that isn't there.

Recorded are the program's marks (mstx, NVTX version 3, acl.prof, opscope's own library), every
operator that ONNX Runtime executes (in Python, and in programs that are linked with it), the
calls of AscendCL and what its devices execute where a program uses it (operators, tasks, counters;
tested against a stand-in of that library, and untested on hardware), and what is asked for of the
host. The result is a directory PROF_..., as CANN's tools write and read it, with both sides in it: its
tables and timeline lie in mindstudio_profiler_output, and 'opscope analyze' reads it. Its path is the
last line. Where nothing was recorded, that is said, and the status is 1.

All switches of msprof are understood and checked; those for hardware that isn't here are accepted
and named. --help lists them, too.";

/// The options of `opscope collect`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The program and its arguments, after --
    #[arg(trailing_var_arg = true, value_name = "PROGRAM ARGS")]
    program: Vec<OsString>,

    /// The same as one text, in msprof's spelling
    #[arg(long, value_name = "TEXT", conflicts_with = "program")]
    application: Option<String>,

    /// The directory for the profile, which is a PROF_... directory in it [default: profiling_data
    /// below what ASCEND_WORK_PATH names, else here]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Further variables for the program
    #[arg(long, value_name = "A=1;B=2")]
    environment: Option<String>,

    /// Do not read and export what was recorded
    #[arg(long)]
    no_parse: bool,

    /// Show the N most costly operators
    #[arg(short, long, default_value_t = 3, value_name = "N")]
    top: usize,

    #[command(flatten)]
    recorded: RecordedArguments,

    #[command(flatten)]
    when: WhenArguments,

    #[command(flatten)]
    board: board::BoardArguments,

    #[command(flatten)]
    hardware: HardwareSwitches,
}

impl Arguments {
    /// The work on the profile that is asked for.
    fn wanted(&self) -> finish::Wanted {
        let value = |name: &str| self.hardware.value(name);
        let mut options = export::Options::default();
        if value("summary-format") == Some("json") {
            options.format = export::Format::Json;
        }
        options.reports = value("reports").map(PathBuf::from);
        let kinds = match value("type") {
            Some("db") => vec![What::Db],
            _ => vec![What::Summary, What::Timeline],
        };
        finish::Wanted { parse: !self.no_parse, top: self.top, kinds, options }
    }
}

const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs the program, and reads what was recorded.
///
/// # Errors
/// Never: what keeps the program from being run is reported here, with a status of its own.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    if arguments.board.main.is_some() || arguments.board.config.is_some() {
        return board::execute(
            &arguments.board,
            &arguments.hardware,
            &arguments.program,
            arguments.output.as_deref(),
            &arguments.wanted(),
            terminal,
        );
    }
    let outcome = plan(arguments, terminal).and_then(|plan| {
        if plan.dynamic {
            return commands::execute(&plan, arguments, terminal).map(|status| (plan, Err(status)));
        }
        let mut told = Vec::new();
        let stop = interrupt::request();
        let outcome =
            collect(&plan, &|| stop.is_requested(), &mut |event| tell(&event, &mut told, terminal))?;
        interrupt::release();
        Ok((plan, Ok(outcome)))
    });
    match outcome {
        Ok((_, Err(status))) => Ok(Exit::Status(status)),
        Ok((plan, Ok(outcome))) => {
            if outcome.device_profiles.is_empty() {
                arguments.hardware.tell_unrecorded(terminal);
            }
            let is_empty = finish::finish(&plan, &outcome, &arguments.wanted(), terminal);
            Ok(match outcome.status {
                0 if is_empty => Exit::Failed,
                status => Exit::Status(status),
            })
        }
        Err(error) => {
            terminal.error(&error.to_string());
            Ok(Exit::Status(match error {
                CaptureError::NotFound { .. } => NOT_FOUND,
                CaptureError::NotExecutable { .. } => NOT_EXECUTABLE,
                _ => OWN_FAILURE,
            }))
        }
    }
}

/// Whether a command line asks for a program that runs here: a board's has a status of its own.
pub fn runs_program(words: &[String]) -> bool {
    let is_command = words.iter().find(|word| !word.starts_with('-')).is_some_and(|word| word == "collect");
    let names_board = |word: &String| ["-m", "--main", "--config"].iter().any(|it| word.starts_with(it));
    is_command && !words.iter().take_while(|word| *word != "--").any(names_board)
}

/// Whether a command line in msprof's spelling asks to run a program or to sample a process.
pub fn is_meant(arguments: &[String]) -> bool {
    if arguments.first().is_some_and(|word| word == "collect") {
        return true;
    }
    const OTHERS: [&str; 4] = ["--parse", "--query", "--export", "--analyze"];
    let is_other = |word: &String| OTHERS.contains(&word.split('=').next().unwrap_or_default());
    let is_word = |word: &String| !word.starts_with('-');
    let options: Vec<&String> = arguments.iter().take_while(|word| !is_word(word)).collect();
    let program = arguments.get(options.len());
    let is_help = |word: &&String| matches!(word.as_str(), "-h" | "--help" | "--version");
    if options.iter().any(|word| is_other(word) || is_help(word)) {
        return false;
    }
    let asks = [
        "--application",
        "--host-sys-pid",
        "--msproftx",
        "--host-sys",
        "--dynamic",
        "--config",
        "--main",
        "-m",
        "--",
    ];
    let asked = |word: &&String| asks.contains(&word.split('=').next().unwrap_or_default());
    let is_action = |word: &String| matches!(word.as_str(), "import" | "export" | "query" | "show");
    options.iter().any(asked)
        || (program.is_some_and(|word| !is_action(word)) && options.iter().all(|it| it.contains('=')))
}

/// [`Arguments`] by themselves, for msprof's spelling.
#[derive(Debug, clap::Parser)]
#[command(name = "msprof", disable_help_subcommand = true)]
struct Vendor {
    #[command(flatten)]
    arguments: Arguments,
}

/// Collects as a command line in msprof's spelling says, in which marks are off unless asked for.
///
/// # Errors
/// As [`execute`].
pub fn run_vendor(arguments: &[String], terminal: &Terminal) -> anyhow::Result<Exit> {
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "collect") {
        return run_words(rest.iter().cloned(), terminal);
    }
    let names_marks = |word: &String| word.starts_with("--msproftx");
    let before_program = arguments.iter().take_while(|word| word.starts_with('-'));
    let default = (!before_program.clone().any(names_marks)).then(|| "--msproftx=off".to_owned());
    run_words(default.into_iter().chain(arguments.iter().cloned()), terminal)
}

fn run_words(words: impl Iterator<Item = String>, terminal: &Terminal) -> anyhow::Result<Exit> {
    use clap::Parser;
    match Vendor::try_parse_from(std::iter::once("msprof".to_owned()).chain(words)) {
        Ok(mut vendor) => {
            vendor.arguments.when.bare_seconds = true;
            execute(&vendor.arguments, terminal)
        }
        Err(error) => {
            let _ = error.print();
            Ok(Exit::of_parsing(&error, true))
        }
    }
}

fn tell(event: &Event, told: &mut Vec<String>, terminal: &Terminal) {
    match event {
        Event::Directory(path) => terminal.detail(&format!("recording into {}", path.display())),
        Event::Recording => terminal.detail("recording"),
        Event::Stopped(why) => terminal.warn(&format!("recording stopped: {why}; the program runs on")),
        Event::Remark(text) if !told.contains(text) => {
            told.push(text.clone());
            terminal.note(text);
        }
        Event::Remark(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn msprofs_own_spelling_asks_to_run_a_program_or_not() {
        let asks = |line: &str| is_meant(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in ["--application=x --output=y", "--output=y ./x -v", "--msproftx=on --output=y", "./x"] {
            assert!(asks(line), "{line}");
        }
        for line in ["import -dir x", "--export=on --output=y", "-dir x", "--help", "query -dir x"] {
            assert!(!asks(line), "{line}");
        }
    }
}
