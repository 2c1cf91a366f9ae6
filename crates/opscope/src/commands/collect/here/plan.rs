//! The plan of a collection, made of its options.

use std::collections::BTreeSet;
use std::path::PathBuf;

use opscope_capture::{CaptureError, DeviceData, Domains, HostKind, OutputDirectory, Plan, Program};
use opscope_say::{say, word};

use crate::commands::collect::options::{Arguments, RecordedArguments, Via};
use crate::commands::collect::switches::OnOff;
use crate::exit::with_causes;
use crate::terminal::Terminal;

/// Checks everything before anything is made, in the order in which the reference does.
///
/// # Errors
/// With the first thing that can't be done as it was asked for.
pub fn plan(arguments: &Arguments, terminal: &Terminal) -> Result<Plan, CaptureError> {
    let program = program(arguments)?;
    let recorded = &arguments.recorded;
    let is_dynamic = arguments.when.dynamic == OnOff::On;
    if !is_dynamic && !arguments.when.pid.is_empty() {
        return Err(CaptureError::Usage(word("--pid: this goes with --dynamic=on").to_owned()));
    }
    check_page(arguments)?;
    let has_subject = recorded.host_sys_pid.is_some() || !arguments.when.pid.is_empty();
    if program.is_none() && !has_subject {
        if arguments.hardware.value("sys-devices").is_some() {
            let text = word(
                "--sys-devices: there is no Ascend processor here to be recorded by itself; name a program \
                        after --, or a process of this machine: --host-sys=cpu,mem --host-sys-pid=PID",
            );
            return Err(CaptureError::Usage(text.to_owned()));
        }
        let text = word("name the program to run after --, such as: opscope collect -- python3 detect.py");
        return Err(CaptureError::Usage(text.to_owned()));
    }
    if let Some(target) = program.as_ref().and_then(Program::link_target) {
        terminal.note(&say!("the program is a symbolic link, which is followed to {}", target.display()));
    }
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    // In msprof's older spelling, results lie beside the program.
    let beside = || program.as_ref()?.path.canonicalize().ok()?.parent().map(PathBuf::from);
    let fallback = arguments.application.as_ref().and_then(|_| beside()).unwrap_or(here);
    let output = OutputDirectory::prepare(arguments.output.as_deref(), &fallback)?;
    if let Some(target) = output.link_target() {
        terminal.note(&say!("--output is a symbolic link, which is followed to {}", target.display()));
    }
    let environment = environment(arguments.environment.as_deref().unwrap_or_default(), terminal);
    let host = host_kinds(recorded, terminal);
    if let Some(pid) = recorded.host_sys_pid
        && !std::path::Path::new(&format!("/proc/{pid}")).exists()
    {
        return Err(CaptureError::Usage(say!("--host-sys-pid: there is no process {pid}")));
    }
    if program.is_none() && host.is_empty() && !is_dynamic {
        let text = word("--host-sys-pid: say what to sample, such as --host-sys=cpu,mem");
        return Err(CaptureError::Usage(text.to_owned()));
    }
    arguments.hardware.check().map_err(CaptureError::Usage)?;
    arguments.hardware.tell(recorded.via == Via::Files && !is_dynamic, terminal);
    warn_of_umask(terminal);
    if is_dynamic && program.is_some() && recorded.onnxruntime == OnOff::On {
        terminal
            .detail(word("ONNX Runtime can't be switched on while it runs; its operators are not recorded"));
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

/// Whether there will be one profile for the page, and a place to write it to.
fn check_page(arguments: &Arguments) -> Result<(), CaptureError> {
    if arguments.page.html.is_none() {
        return Ok(());
    }
    let usage = |text: String| Err(CaptureError::Usage(say!("--html: {text}")));
    if arguments.no_parse {
        return usage(word("what is recorded must be read for this; leave out --no-parse").to_owned());
    }
    if arguments.when.dynamic == OnOff::On {
        return usage(
            word("--dynamic makes any number of profiles; opscope report PROFILE makes a page of each")
                .to_owned(),
        );
    }
    arguments.page.check(&[]).or_else(|problem| usage(with_causes(&problem)))
}

/// The choice among mstx's domains, which needs marks.
fn domains(recorded: &RecordedArguments) -> Result<Option<Domains>, CaptureError> {
    let include = recorded.mstx_domain_include.clone().map(Domains::Include);
    let chosen = include.or_else(|| recorded.mstx_domain_exclude.clone().map(Domains::Exclude));
    if chosen.is_some() && recorded.msproftx == OnOff::Off {
        let text = word("--mstx-domain-include and --mstx-domain-exclude need --msproftx=on");
        return Err(CaptureError::Usage(text.to_owned()));
    }
    Ok(chosen)
}

/// The reference's manual asks for 0027. The profile's directory has mode 0750, so others can't get at
/// what is in it; but the files that the program itself puts there have the modes that it chose.
fn warn_of_umask(terminal: &Terminal) {
    let mask = opscope_capture::umask();
    let text = word("files that the program puts into the profile; umask 0027 keeps it private");
    if mask & 0o020 == 0 {
        terminal.warn(&say!("the umask {mask:04o} lets the group change {text}"));
    } else if mask & 0o027 != 0o027 {
        terminal.detail(&say!("the umask {mask:04o} gives others' rights to {text}"));
    }
}

fn program(arguments: &Arguments) -> Result<Option<Program>, CaptureError> {
    if let Some(text) = &arguments.application {
        return Program::parse(text).map(Some);
    }
    let mut words = arguments.program.iter().cloned();
    words.next().map(|name| Program::find(name, words.collect())).transpose()
}

/// Further entries of `sample.json`.
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
        terminal.note(word("--host-sys: osrt and numa are not recorded by opscope; the others are"));
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
            _ => terminal.warn(&say!("--environment: '{entry}' is not of the form NAME=VALUE; left out")),
        }
    }
    variables
}
