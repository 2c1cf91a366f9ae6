//! The options of `opscope collect`: the program, what is recorded, when and how much.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use opscope_capture::{CaptureError, HostKind};
use opscope_say::{say, word};

use super::board::BoardArguments;
use super::reading::Wanted;
use super::switches::{HardwareSwitches, OnOff};
use crate::commands::export::{self, What};
use crate::commands::html::HtmlArguments;

const EXAMPLES: &str = "\
Examples:
  opscope collect -- python3 detect.py image/demo1.jpg
  opscope collect --host-sys=cpu,mem -o results -- ./detector --frames 100
  opscope collect --delay=5s --duration=10s -- ./server
  opscope collect --html report.html -- python3 detect.py      a page to look at, for a browser
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
    pub program: Vec<OsString>,

    /// The same as one text, in msprof's spelling
    #[arg(long, value_name = "TEXT", conflicts_with = "program")]
    pub application: Option<String>,

    /// The directory for the profile, which is a PROF_... directory in it [default: profiling_data
    /// below what ASCEND_WORK_PATH names, else here]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Further variables for the program
    #[arg(long, value_name = "A=1;B=2")]
    pub environment: Option<String>,

    /// Do not read and export what was recorded
    #[arg(long)]
    pub no_parse: bool,

    #[command(flatten)]
    pub page: HtmlArguments,

    /// Put an apostrophe before cells of the exported tables that a spreadsheet would compute
    #[arg(long)]
    pub safe_csv: bool,

    /// Show the N most costly operators
    #[arg(short, long, default_value_t = 3, value_name = "N")]
    pub top: usize,

    #[command(flatten)]
    pub recorded: RecordedArguments,

    #[command(flatten)]
    pub when: WhenArguments,

    #[command(flatten)]
    pub board: BoardArguments,

    #[command(flatten)]
    pub hardware: HardwareSwitches,
}

impl Arguments {
    /// The work on the profile that is asked for.
    pub fn wanted(&self) -> Wanted {
        let value = |name: &str| self.hardware.value(name);
        let mut options = export::Options::default();
        if value("summary-format") == Some("json") {
            options.format = export::Format::Json;
        }
        options.safe_csv = self.safe_csv;
        options.reports = value("reports").map(PathBuf::from);
        let kinds = match value("type") {
            Some("db") => vec![What::Db],
            _ => vec![What::Summary, What::Timeline],
        };
        Wanted { parse: !self.no_parse, top: self.top, kinds, options, page: self.page.clone() }
    }
}

/// The kinds of data that are recorded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recorded")]
pub struct RecordedArguments {
    /// Marks that the program sets
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    pub msproftx: OnOff,

    /// Of mstx, only marks in these domains; those that name none are in 'default'
    #[arg(long, value_name = "NAMES", conflicts_with = "mstx_domain_exclude")]
    pub mstx_domain_include: Option<String>,

    /// Of mstx, all marks but those in these domains
    #[arg(long, value_name = "NAMES")]
    pub mstx_domain_exclude: Option<String>,

    /// The operators that ONNX Runtime executes
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    pub onnxruntime: OnOff,

    /// The times of AscendCL's calls, in programs that use it
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    pub ascendcl: OnOff,

    /// How to get what AscendCL's devices execute (untested on hardware)
    #[arg(long, value_enum, default_value_t = Via::Files)]
    pub via: Via,

    /// Offer opscope's stand-in to Python programs that import acl where there is none
    #[arg(long)]
    pub acl_shim: bool,

    /// Of the host: cpu, mem, disk, network; the program's children included
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_host_kind)]
    pub host_sys: Vec<Option<HostKind>>,

    /// Of the host: cpu, mem
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_host_usage)]
    pub host_sys_usage: Vec<Option<HostKind>>,

    /// Samples of the host per second, 1 to 50
    #[arg(long, value_name = "HZ", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub host_sys_usage_freq: u32,

    /// Sample this process instead of one that is started
    #[arg(long, value_name = "PID")]
    pub host_sys_pid: Option<u32>,
}

/// How device data are got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Via {
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
pub struct WhenArguments {
    /// Begin to record so long after the start: 5s, 1500ms
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub delay: Option<Time>,

    /// Record so long, while the program runs on: 10s, 2min
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub duration: Option<Time>,

    /// Whether times without a unit are seconds, as the vendor's are.
    #[arg(skip)]
    pub bare_seconds: bool,

    /// How much the raw data may take before the oldest go, at least 200MB
    #[arg(long, value_name = "NMB", value_parser = parse_storage_limit)]
    pub storage_limit: Option<u64>,

    /// Record when told so on standard input: start, stop, quit. Every start makes a profile
    #[arg(
        long, value_enum, value_name = "SWITCH", num_args = 0..=1, require_equals = true,
        default_missing_value = "on", default_value_t = OnOff::Off, conflicts_with_all = ["delay", "duration"]
    )]
    pub dynamic: OnOff,

    /// With --dynamic, the processes to record: those that wait for it
    #[arg(long, value_name = "PIDS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "program")]
    pub pid: Vec<u32>,
}

/// `None` for what is known and not recorded.
fn parse_host_kind(text: &str) -> Result<Option<HostKind>, String> {
    Ok(match text {
        "cpu" => Some(HostKind::Cpu),
        "mem" => Some(HostKind::Memory),
        "disk" => Some(HostKind::Disk),
        "network" => Some(HostKind::Network),
        "osrt" | "numa" => None,
        _ => return Err(word("expected cpu, mem, disk or network").to_owned()),
    })
}

fn parse_host_usage(text: &str) -> Result<Option<HostKind>, String> {
    match text {
        "cpu" | "mem" => parse_host_kind(text),
        _ => Err(word("expected cpu or mem").to_owned()),
    }
}

impl WhenArguments {
    /// The time that an option gives.
    ///
    /// # Errors
    /// When it lacks its unit, outside of the vendor's own command line.
    pub fn time(&self, option: &str, given: Option<&Time>) -> Result<Option<Duration>, CaptureError> {
        let Some(Time { duration, lacks_unit }) = given else { return Ok(None) };
        match lacks_unit.as_ref().filter(|_| !self.bare_seconds) {
            Some(problem) => Err(CaptureError::Usage(say!("{option}: {problem}"))),
            None => Ok(Some(*duration)),
        }
    }
}

/// A time on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// How long; without a unit, as so many seconds.
    duration: Duration,
    /// The fault that it has outside of the vendor's own command line: no unit.
    lacks_unit: Option<String>,
}

fn parse_time(text: &str) -> Result<Time, String> {
    const MOST: u64 = 4_294_967_295;
    let wrong = || say!("expected a time of up to {MOST} seconds, such as 5s or 1500ms");
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
        _ => Err(say!("expected a number from {least} to {most} followed by MB, such as 500MB")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
