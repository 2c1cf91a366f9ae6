//! `opscope collect --main`: collects over SSH, on a board or a host with Ascend processors; with
//! `--config` alone, whether that can be reached.

mod options;
mod progress;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::bail;
use opscope_board::{
    BoardConfig, Collected, HostKeys, KeyStyle, ProgramEnd, Request, Settings, Timeouts, collect,
    test_connection,
};
use opscope_open::Source;
use opscope_say::{say, word};
use opscope_svp::Job;

use self::options::{COUNTERS, Style};
use self::progress::Reporter;
use super::reading::{Wanted, read_if_wanted};
use super::switches::{HardwareSwitches, OnOff};
use crate::commands::export;
use crate::exit::{Exit, OWN_FAILURE, UsageError, report_error, with_causes};
use crate::profile::{self, board};
use crate::terminal::Terminal;

pub use self::options::BoardArguments;

/// Collects on a board and says what came of it. The status is the program's own.
pub fn execute(
    arguments: &BoardArguments,
    hardware: &HardwareSwitches,
    program_arguments: &[OsString],
    output: Option<&Path>,
    wanted: &Wanted,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let done = match arguments.main {
        None => test(arguments, terminal).map(|()| Exit::Done),
        Some(_) => request(arguments, hardware, program_arguments, output, terminal).and_then(|request| {
            let mut progress = Reporter::new(terminal);
            let collected = collect(&request, &mut progress)?;
            drop(progress);
            Ok(finish(&collected, arguments, wanted, terminal))
        }),
    };
    done.or_else(|error| {
        terminal.error(&with_causes(&error));
        Ok(Exit::Status(OWN_FAILURE))
    })
}

/// Tries the connection and says what is there.
fn test(arguments: &BoardArguments, terminal: &Terminal) -> anyhow::Result<()> {
    let config = config(arguments, terminal)?;
    let reached = test_connection(&config, &host_keys(arguments)?, &timeouts(arguments))?;
    let free = reached
        .free
        .map_or_else(String::new, |free| say!(", {} left", opscope_trace::units::bytes(free as f64)));
    let what = match reached.has_ascend {
        true => word("an Ascend processor is there (/dev/davinci*)"),
        false => word("no Ascend processor (/dev/davinci*), so acl.json gets a board's keys"),
    };
    Ok(terminal.print(&say!(
        "{}@{}:{} answers: {}; projects go below {}{free}; {what}\n\
         The connection works. To collect: opscope collect --config {} --main PROGRAM\n",
        config.user,
        config.host,
        config.port,
        reached.system,
        reached.home,
        arguments.config.as_deref().unwrap_or(Path::new("FILE.ini")).display()
    ))?)
}

/// Reads how to reach the board.
fn config(arguments: &BoardArguments, terminal: &Terminal) -> anyhow::Result<BoardConfig> {
    let Some(path) = &arguments.config else { bail!("{}", say!("--config is needed to reach a board")) };
    let config = BoardConfig::read(path)?;
    let has_password = config.password.as_ref().is_some_and(|password| !password.is_empty());
    if has_password && BoardConfig::is_open_to_others(path) {
        terminal.warn(&say!(
            "{}: others can read the password in it; run 'chmod 600' on it, or remove it when you are done",
            path.display()
        ));
    }
    Ok(config)
}

fn host_keys(arguments: &BoardArguments) -> anyhow::Result<HostKeys> {
    let Some(known_hosts) = arguments.known_hosts.clone().or_else(known_hosts) else {
        bail!("{}", say!("there is no home folder with known hosts; name a file with --known-hosts"));
    };
    Ok(HostKeys { known_hosts, accept_new: arguments.accept_new_host_key })
}

fn timeouts(arguments: &BoardArguments) -> Timeouts {
    Timeouts {
        connect: arguments.connect_timeout,
        reconnect: arguments.reconnect_timeout,
        program: arguments.timeout,
        ..Timeouts::default()
    }
}

fn request(
    arguments: &BoardArguments,
    hardware: &HardwareSwitches,
    program_arguments: &[OsString],
    output: Option<&Path>,
    terminal: &Terminal,
) -> anyhow::Result<Request> {
    let (Some(main), Some(config_path)) = (&arguments.main, &arguments.config) else {
        bail!("{}", say!("--main and --config are needed to collect on a board"));
    };
    let config = config(arguments, terminal)?;
    hardware.check().map_err(UsageError)?;
    if config.board_mount.is_some() || config.host_mount.is_some() {
        terminal.note(
            word("BOARD_MOUNT_PATH and HOST_MOUNT_PATH are not used: results come back over SSH; to have the board mount \
             a folder, give --nfs SERVER:PATH"),
        );
    }
    if arguments.aac_metrics != COUNTERS {
        terminal.note(&say!(
            "--aac_metrics {}: the board knows {COUNTERS} only, and collects no counters of its engine",
            arguments.aac_metrics
        ));
    }
    let project = match &arguments.project {
        Some(project) => project.clone(),
        None => project_of(main)?,
    };
    let output = output.map_or_else(|| project.join("profiling"), Path::to_owned);
    let words = program_arguments.iter().map(|word| match word.to_str() {
        Some(word) => Ok(word.to_owned()),
        None => bail!("{}", say!("{}: an argument for the board must be UTF-8", word.display())),
    });
    Ok(Request {
        host_keys: host_keys(arguments)?,
        timeouts: timeouts(arguments),
        project,
        secrets: config.private_key.iter().chain([config_path]).cloned().collect(),
        config,
        main: main.clone(),
        arguments: words.collect::<anyhow::Result<_>>()?,
        remote: arguments.remote_dir.clone(),
        settings: Settings {
            // The board's own profiler and subscriptions exclude each other.
            switch: arguments.switch == OnOff::On && arguments.collector.is_none(),
            interval: arguments.interval,
            acl_api: arguments.acl_api == OnOff::On,
            aacpu: arguments.aacpu == OnOff::On,
            metrics: arguments.aac_metrics.clone(),
            style: match arguments.key_style {
                Style::Found => KeyStyle::Found,
                Style::Aa => KeyStyle::Aa,
                Style::Ai => KeyStyle::Ai,
                Style::Ascend => KeyStyle::Ascend,
            },
            ascend: hardware.of_acl_json(),
        },
        output,
        nfs: arguments.nfs.clone(),
        collector: arguments.collector.clone(),
        resume: arguments.resume,
        clean_up: arguments.clean_up,
    })
}

/// The project of a program: its folder, or the one above where that is called `out`, as in the
/// vendor's samples.
fn project_of(main: &Path) -> anyhow::Result<PathBuf> {
    let main = std::path::absolute(main)?;
    let Some(folder) = main.parent() else { bail!("{}", say!("{}: this is no program", main.display())) };
    let is_out = folder.file_name().is_some_and(|name| name == "out");
    Ok(folder.parent().filter(|_| is_out).unwrap_or(folder).to_owned())
}

fn known_hosts() -> Option<PathBuf> {
    std::env::home_dir().map(|home| home.join(".ssh").join("known_hosts"))
}

fn finish(collected: &Collected, arguments: &BoardArguments, wanted: &Wanted, terminal: &Terminal) -> Exit {
    let (files, unchanged) = collected.uploaded;
    terminal.detail(&say!("uploaded {files} files; {unchanged} were on the board already"));
    let (mut failed, mut interrupted) = (false, false);
    for profile in &collected.profiles {
        let read = Source::at(profile).map_err(anyhow::Error::from).and_then(|source| match source.board() {
            Some(_) => finish_job(source, arguments, &wanted.options, interrupted, terminal),
            None => read_if_wanted(profile, wanted, terminal),
        });
        if let Err(error) = read {
            let exit = report_error(&error, terminal);
            interrupted |= exit == Exit::Interrupted;
            failed = true;
        }
    }
    let is_empty = collected.profiles.is_empty();
    if is_empty {
        terminal.warn(&say!("the board left no JOB or PROF directory: {}", why_nothing(arguments)));
    }
    for profile in &collected.profiles {
        // The path goes last, where scripts look for it.
        terminal.note(&say!("collected in {}", profile.display()));
    }
    match collected.end {
        ProgramEnd::Status(_) if interrupted => Exit::Interrupted,
        ProgramEnd::Status(0) if failed || (is_empty && arguments.switch == OnOff::On) => Exit::Failed,
        ProgramEnd::Status(status) => Exit::Status(u8::try_from(status).unwrap_or(u8::MAX)),
        ProgramEnd::Killed(signal) => {
            terminal.error(&say!("the program on the board was ended by signal {signal}"));
            Exit::Status(OWN_FAILURE)
        }
        ProgramEnd::TimedOut(timeout) => {
            let seconds = timeout.as_secs_f64();
            terminal.error(&say!(
                "the program on the board did not end within {seconds} s and was stopped; see --timeout"
            ));
            Exit::Status(OWN_FAILURE)
        }
        ProgramEnd::Interrupted => {
            terminal.note(word("the program on the board was stopped"));
            Exit::Interrupted
        }
        ProgramEnd::DiskFull => {
            terminal.error(
                word("the program has ended, and the board's disk is so full that how it ended could not be noted: its \
                 results may be cut off; make room there, or mount a folder of this machine with --nfs SERVER:PATH"),
            );
            Exit::Status(OWN_FAILURE)
        }
        ProgramEnd::Vanished => {
            terminal.error(
                word("the program is gone from the board, and how it ended was not noted: was the board restarted, or \
                 short of memory?"),
            );
            Exit::Status(OWN_FAILURE)
        }
    }
}

/// Says what a board's profile lacks, and exports it where that was asked for.
fn finish_job(
    source: Source,
    arguments: &BoardArguments,
    options: &export::Options,
    interrupted: bool,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let job = source.path();
    if !arguments.all || interrupted {
        for problem in Job::open(job).map(|job| job.problems()).unwrap_or_default() {
            terminal.warn(&say!("{}: {problem}", job.display()));
        }
        return Ok(());
    }
    let (exports, trace) = match arguments.vendor.parse(&source, terminal)? {
        Some(exports) => {
            let trace = exports.to_trace();
            (exports, trace)
        }
        None => board::read(job)?,
    };
    profile::warn(&trace, job, terminal);
    for it in board::missing(job, &trace) {
        terminal.warn(&say!("missing: {}: {}", it.what, it.how));
    }
    let written = board::write(&exports, (true, true), options.table_format(), job)?;
    board::tell_kept(&written, terminal);
    if !written.files.is_empty() {
        terminal.note(&say!("wrote {} files below {}", written.files.len(), job.display()));
    }
    Ok(())
}

/// Why a program may have left nothing.
fn why_nothing(arguments: &BoardArguments) -> &'static str {
    match arguments.switch {
        _ if arguments.collector.is_some() => word(
            "is the library of --collector built for the board's processor and C library (what its loader says \
             stands above), and is the program linked with the runtime's shared library?",
        ),
        OnOff::Off => word("profiling was switched off"),
        OnOff::On => word(
            "does the program call svp_acl_init() (on an Ascend host, aclInit()) with the path of acl.json (not \
             NULL), execute the model, and call svp_acl_finalize() (aclFinalize())? Was a board's model converted \
             with --online_model_type=2?",
        ),
    }
}
