//! `opscope collect`: runs a program and records what it does.

mod board;
mod commands;
mod finish;
mod switches;
mod together;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use opscope_capture::{
    CaptureError, DeviceData, Domains, Event, HostKind, OutputDirectory, Plan, Program, collect,
};

use crate::commands::export::{self, What};
use crate::exit::{Exit, OWN_FAILURE};
use crate::interrupt;
use crate::terminal::Terminal;
use switches::{HardwareSwitches, OnOff};

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
    /// What is made of the profile.
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

/// What is recorded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recorded")]
struct RecordedArguments {
    /// Marks that the program sets
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    msproftx: OnOff,

    /// Of mstx, only marks in these domains; those that name none are in 'default'
    #[arg(long, value_name = "NAMES", conflicts_with = "mstx_domain_exclude")]
    mstx_domain_include: Option<String>,

    /// Of mstx, all marks but those in these domains
    #[arg(long, value_name = "NAMES")]
    mstx_domain_exclude: Option<String>,

    /// The operators that ONNX Runtime executes
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    onnxruntime: OnOff,

    /// The times of AscendCL's calls, in programs that use it
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    ascendcl: OnOff,

    /// How to get what AscendCL's devices execute (untested on hardware)
    #[arg(long, value_enum, default_value_t = Via::Files)]
    via: Via,

    /// Offer opscope's stand-in to Python programs that import acl where there is none
    #[arg(long)]
    acl_shim: bool,

    /// Of the host: cpu, mem, disk, network; the program's children included
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_host_kind)]
    host_sys: Vec<Option<HostKind>>,

    /// Of the host: cpu, mem
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_host_usage)]
    host_sys_usage: Vec<Option<HostKind>>,

    /// Samples of the host per second, 1 to 50
    #[arg(long, value_name = "HZ", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=50))]
    host_sys_usage_freq: u32,

    /// Sample this process instead of one that is started
    #[arg(long, value_name = "PID")]
    host_sys_pid: Option<u32>,
}

/// How device data are got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Via {
    /// AscendCL writes operators, tasks and counters as the vendor's msprof has it, into the same directory
    Files,
    /// AscendCL tells the operators of every model, without counters
    Subscribe,
    /// They are not
    Off,
}

/// When and how much is recorded.
#[derive(Debug, Args)]
#[command(next_help_heading = "When and how much")]
struct WhenArguments {
    /// Begin to record so long after the start: 5s, 1500ms
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    delay: Option<Time>,

    /// Record so long, while the program runs on: 10s, 2min
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    duration: Option<Time>,

    /// Whether times without a unit are seconds, as the vendor's are.
    #[arg(skip)]
    bare_seconds: bool,

    /// How much the raw data may take before the oldest go, at least 200MB
    #[arg(long, value_name = "NMB", value_parser = parse_storage_limit)]
    storage_limit: Option<u64>,

    /// Record when told so on standard input: start, stop, quit. Every start makes a profile
    #[arg(
        long, value_enum, value_name = "SWITCH", num_args = 0..=1, require_equals = true,
        default_missing_value = "on", default_value_t = OnOff::Off, conflicts_with_all = ["delay", "duration"]
    )]
    dynamic: OnOff,

    /// With --dynamic, the processes to record: those that wait for it
    #[arg(long, value_name = "PIDS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "program")]
    pid: Vec<u32>,
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
/// Those of [`execute`].
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

/// Checks everything before anything is made, in the order in which the reference does.
fn plan(arguments: &Arguments, terminal: &Terminal) -> Result<Plan, CaptureError> {
    let program = program(arguments)?;
    let recorded = &arguments.recorded;
    let is_dynamic = arguments.when.dynamic == OnOff::On;
    if !is_dynamic && !arguments.when.pid.is_empty() {
        return Err(CaptureError::Usage("--pid: this goes with --dynamic=on".to_owned()));
    }
    let has_subject = recorded.host_sys_pid.is_some() || !arguments.when.pid.is_empty();
    if program.is_none() && !has_subject {
        if arguments.hardware.value("sys-devices").is_some() {
            let text = "--sys-devices: there is no Ascend processor here to be recorded by itself; name a program \
                        after --, or a process of this machine: --host-sys=cpu,mem --host-sys-pid=PID";
            return Err(CaptureError::Usage(text.to_owned()));
        }
        let text = "name the program to run after --, such as: opscope collect -- python3 detect.py";
        return Err(CaptureError::Usage(text.to_owned()));
    }
    if let Some(target) = program.as_ref().and_then(Program::link_target) {
        terminal.note(&format!("the program is a symbolic link, which is followed to {}", target.display()));
    }
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    // In msprof's older spelling, results lie beside the program.
    let beside = || program.as_ref()?.path.canonicalize().ok()?.parent().map(PathBuf::from);
    let fallback = arguments.application.as_ref().and_then(|_| beside()).unwrap_or(here);
    let output = OutputDirectory::prepare(arguments.output.as_deref(), &fallback)?;
    if let Some(target) = output.link_target() {
        terminal.note(&format!("--output is a symbolic link, which is followed to {}", target.display()));
    }
    let environment = environment(arguments.environment.as_deref().unwrap_or_default(), terminal);
    let host = host_kinds(recorded, terminal);
    if let Some(pid) = recorded.host_sys_pid
        && !std::path::Path::new(&format!("/proc/{pid}")).exists()
    {
        return Err(CaptureError::Usage(format!("--host-sys-pid: there is no process {pid}")));
    }
    if program.is_none() && host.is_empty() && !is_dynamic {
        let text = "--host-sys-pid: say what to sample, such as --host-sys=cpu,mem";
        return Err(CaptureError::Usage(text.to_owned()));
    }
    arguments.hardware.check().map_err(CaptureError::Usage)?;
    arguments.hardware.tell(recorded.via == Via::Files && !is_dynamic, terminal);
    warn_of_umask(terminal);
    if is_dynamic && program.is_some() && recorded.onnxruntime == OnOff::On {
        terminal.detail("ONNX Runtime can't be switched on while it runs; its operators are not recorded");
    }
    let (mask, metrics) = arguments.hardware.device_mask();
    let hertz = recorded.host_sys_usage_freq;
    Ok(Plan {
        program,
        output,
        environment,
        marks: recorded.msproftx == OnOff::On,
        domains: domains(recorded)?,
        onnxruntime: recorded.onnxruntime == OnOff::On && !is_dynamic,
        ascendcl: recorded.ascendcl == OnOff::On,
        device_data: match recorded.via {
            _ if is_dynamic => DeviceData::None,
            Via::Subscribe => DeviceData::Subscription,
            Via::Files => DeviceData::Files { mask, metrics },
            Via::Off => DeviceData::None,
        },
        acl_shim: recorded.acl_shim,
        settings: settings(recorded, hertz),
        host,
        host_hertz: hertz,
        host_pid: recorded.host_sys_pid,
        delay: arguments.when.time("--delay", arguments.when.delay.as_ref())?.unwrap_or_default(),
        duration: arguments.when.time("--duration", arguments.when.duration.as_ref())?,
        storage_limit: arguments.when.storage_limit,
        dynamic: is_dynamic,
    })
}

/// The choice among mstx's domains, which needs marks.
fn domains(recorded: &RecordedArguments) -> Result<Option<Domains>, CaptureError> {
    let include = recorded.mstx_domain_include.clone().map(Domains::Include);
    let chosen = include.or_else(|| recorded.mstx_domain_exclude.clone().map(Domains::Exclude));
    if chosen.is_some() && recorded.msproftx == OnOff::Off {
        let text = "--mstx-domain-include and --mstx-domain-exclude need --msproftx=on";
        return Err(CaptureError::Usage(text.to_owned()));
    }
    Ok(chosen)
}

/// The reference's manual asks for 0027. The profile's directory has mode 0750, so others can't get at
/// what is in it; but the files that the program itself puts there have the modes that it chose.
fn warn_of_umask(terminal: &Terminal) {
    let mask = opscope_capture::umask();
    let text = "files that the program puts into the profile; umask 0027 keeps it private";
    if mask & 0o020 == 0 {
        terminal.warn(&format!("the umask {mask:04o} lets the group change {text}"));
    } else if mask & 0o027 != 0o027 {
        terminal.detail(&format!("the umask {mask:04o} gives others' rights to {text}"));
    }
}

fn program(arguments: &Arguments) -> Result<Option<Program>, CaptureError> {
    if let Some(text) = &arguments.application {
        return Program::parse(text).map(Some);
    }
    let mut words = arguments.program.iter().cloned();
    words.next().map(|name| Program::find(name, words.collect())).transpose()
}

/// What `sample.json` says besides the usual.
fn settings(recorded: &RecordedArguments, hertz: u32) -> Vec<(String, String)> {
    let msproftx = if recorded.msproftx == OnOff::On { "\"on\"" } else { "\"off\"" };
    let millis = (1_000 / hertz.max(1)).to_string();
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    vec![
        text("msproftx", msproftx),
        text("host_disk_freq", &hertz.to_string()),
        text("host_cpu_profiling_sampling_interval", &millis),
        text("host_mem_profiling_sampling_interval", &millis),
    ]
}

fn host_kinds(recorded: &RecordedArguments, terminal: &Terminal) -> BTreeSet<HostKind> {
    let all = recorded.host_sys.iter().chain(&recorded.host_sys_usage);
    if all.clone().any(Option::is_none) {
        terminal.note("--host-sys: osrt and numa are not recorded by opscope; the others are");
    }
    all.flatten().copied().collect()
}

/// `A=1;B=2`; what has no `=` is named and left out.
fn environment(text: &str, terminal: &Terminal) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    for entry in text.split(';').filter(|entry| !entry.trim().is_empty()) {
        match entry.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                variables.push((name.trim().to_owned(), value.to_owned()));
            }
            _ => terminal.warn(&format!("--environment: '{entry}' is not of the form NAME=VALUE; left out")),
        }
    }
    variables
}

/// `None` for what is known and not recorded.
fn parse_host_kind(text: &str) -> Result<Option<HostKind>, String> {
    Ok(match text {
        "cpu" => Some(HostKind::Cpu),
        "mem" => Some(HostKind::Memory),
        "disk" => Some(HostKind::Disk),
        "network" => Some(HostKind::Network),
        "osrt" | "numa" => None,
        _ => return Err("expected cpu, mem, disk or network".to_owned()),
    })
}

fn parse_host_usage(text: &str) -> Result<Option<HostKind>, String> {
    match text {
        "cpu" | "mem" => parse_host_kind(text),
        _ => Err("expected cpu or mem".to_owned()),
    }
}

impl WhenArguments {
    /// The time that an option gives.
    fn time(&self, option: &str, given: Option<&Time>) -> Result<Option<Duration>, CaptureError> {
        let Some(Time { duration, lacks_unit }) = given else { return Ok(None) };
        match lacks_unit.as_ref().filter(|_| !self.bare_seconds) {
            Some(problem) => Err(CaptureError::Usage(format!("{option}: {problem}"))),
            None => Ok(Some(*duration)),
        }
    }
}

/// A time on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Time {
    /// How long; without a unit, as so many seconds.
    duration: Duration,
    /// What is wrong with it outside of the vendor's own command line.
    lacks_unit: Option<String>,
}

fn parse_time(text: &str) -> Result<Time, String> {
    const MOST: u64 = 4_294_967_295;
    let wrong = || format!("expected a time of up to {MOST} seconds, such as 5s or 1500ms");
    let (duration, lacks_unit) = match text.parse::<u64>() {
        Ok(seconds) => (Duration::from_secs(seconds), opscope_trace::units::parse_duration(text).err()),
        Err(_) => {
            let nanoseconds = opscope_trace::units::parse_duration(text)?.0;
            (Duration::from_nanos(u64::try_from(nanoseconds).map_err(|_| wrong())?), None)
        }
    };
    if duration.is_zero() || duration > Duration::from_secs(MOST) {
        return Err(wrong());
    }
    Ok(Time { duration, lacks_unit })
}

fn parse_storage_limit(text: &str) -> Result<u64, String> {
    let (least, most) = (200, 4_294_967_295);
    let number = text.strip_suffix("MB").and_then(|number| number.parse::<u64>().ok());
    match number {
        Some(megabytes) if (least..=most).contains(&megabytes) => Ok(megabytes << 20),
        _ => Err(format!("expected a number from {least} to {most} followed by MB, such as 500MB")),
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

    #[test]
    fn times_have_a_unit_but_for_the_vendors() {
        let time = |text: &str| parse_time(text).map(|time| (time.duration, time.lacks_unit.is_some()));
        assert_eq!(time("5"), Ok((Duration::from_secs(5), true)));
        assert_eq!(time("5s"), Ok((Duration::from_secs(5), false)));
        assert_eq!(time("250ms"), Ok((Duration::from_millis(250), false)));
        for wrong in ["0", "-1s", "x", "99999999999", "99999999999s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_storage_limit_has_its_unit_and_range() {
        assert_eq!(parse_storage_limit("200MB"), Ok(200 << 20));
        for wrong in ["199MB", "200", "MB", "4294967296MB", "-1MB"] {
            assert!(parse_storage_limit(wrong).is_err_and(|text| text.contains("200")), "{wrong}");
        }
    }
}
