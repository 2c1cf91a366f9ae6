//! `opscope advise`: what to change, by what it could save at most.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope_advise::{Environment, Settings, Subject, Target, advise, rules};
use opscope_analyze::Comparison;
use opscope_cann::Profile;
use opscope_model::{Model, ModelKind};
use opscope_open::Source;
use opscope_say::{say, word};
use opscope_trace::Trace;

use super::explain::of_rule;
use super::peak::CeilingArguments;
use super::run::ShapeArguments;
use crate::converter_files::{self, ConverterArguments};
use crate::exit::{Exit, UsageError};
use crate::profile::{self, NetworkArguments, Opened, Tell};
use crate::report::advise as report;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope advise PROF_000001_20251009085320000_ABCDEFGH/
  opscope advise profile.db --model model.onnx -t 5
  opscope advise PROF_… --model model.om            with the model as it was compiled
  opscope advise model.onnx --target cann-310       of a model alone
  opscope advise bert.onnx --dim batch=1 --dim sequence=128
  opscope advise one.db --sweep two.db --sweep four.db    runs with other threads, or batch sizes
  opscope advise PROF_… --converter convert.sh --fusion-result fusion_result.json    how it was converted
  opscope advise PROF_… --ops-info aic-ascend310-ops-info.json    what the chip's cores have
  opscope advise profile.db --peak peak.json        which operators are far from the machine's peaks
  opscope advise profile.db --silence A01 --silence 'V*' --json
  opscope advise --explain A29 --lang zh
  opscope advise --list

A finding says at most how much of the measured time it could save: the whole time of what it
names. It is not a promise. What one can act on comes first, then figures that only tell where the time
goes. A rule about the model speaks only of nodes that ran as themselves; what the engine has folded or
fused is listed as done already. Settings are read from opscope.toml in the current folder, or from the
file of --rules. What they silence, by id or by the name of the vendor's own rule, is silent in
'opscope compare', 'check' and the report of 'export summary' too:

  silence = [\"A01\", \"V*\"]

  [thresholds]
  A05.min_us = 50

  [[rule]]
  id = \"U01\"
  title = \"our own kernel is slow\"
  advice = \"call the kernels' team\"
  limits = { min_us = 100 }
  when = { types = [\"MyKernel*\"], metrics = [\"mac_ratio < 0.5\"] }";

/// The file of settings that is looked for.
const SETTINGS: &str = "opscope.toml";

/// The options of `opscope advise`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// A profile of any kind, or a model
    #[arg(required_unless_present_any = ["explain", "list"])]
    path: Option<PathBuf>,

    /// The model that was profiled, for the rules about graphs
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    network: NetworkArguments,

    /// The hardware that it runs on [default: that of the profile, or of the
    /// converter's --soc_version]
    #[arg(long, value_name = "TARGET", value_parser = Target::NAMES.map(|(name, _)| name))]
    target: Option<String>,

    /// How many cores the device has, where the profile doesn't say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    cores: Option<u32>,

    /// Another profile of the same model, with another number of threads or batch size, for the rules
    /// about them; may be given several times
    #[arg(long, value_name = "PROFILE")]
    sweep: Vec<PathBuf>,

    /// Settings: thresholds, rules of your own, rules to be silent [default: opscope.toml, if it is there]
    #[arg(long, value_name = "FILE.toml")]
    rules: Option<PathBuf>,

    /// Silence a rule by its id; A* silences a family; may be given several times
    #[arg(long, value_name = "ID")]
    silence: Vec<String>,

    /// Show the N findings that could save most; 0 shows all
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    top: usize,

    /// Print the whole answer as JSON
    #[arg(long)]
    json: bool,

    /// Print the page about a rule
    #[arg(long, value_name = "ID", conflicts_with = "list")]
    explain: Option<String>,

    /// List all rules
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    converter: ConverterArguments,

    /// The operator information library of the chip (CANN's aic-CHIP-ops-info.json), which says what its cores have and
    /// so why operators are on the AI CPU; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "The model's conversion")]
    ops_info: Vec<PathBuf>,

    #[command(flatten)]
    shapes: ShapeArguments,

    #[command(flatten)]
    ceiling: CeilingArguments,
}

/// Runs the rules and prints what they find.
///
/// # Errors
/// When the profile, the model or the settings can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let settings = settings(arguments)?;
    if arguments.list || arguments.explain.is_some() {
        terminal.print(&pages(arguments, &settings)?)?;
        return Ok(Exit::Done);
    }
    let Some(path) = &arguments.path else {
        return Err(UsageError(word("give a profile or a model").to_owned()).into());
    };
    profile::check_presence(path)?;
    if let Some(file) = converter_files::kind(path) {
        let text = say!(
            "{}: this is {file}; give the profile or model here, and this with --converter, --switches or \
             --fusion-result (opscope fusion shows it by itself)",
            path.display()
        );
        return Err(UsageError(text).into());
    }
    let converter = arguments.converter.read(terminal)?;
    let operator_library = converter_files::operator_libraries(&arguments.ops_info)?;
    let source = Source::at(path)?;
    let is_model = source.is_model();
    let environment = if is_model { Environment::default() } else { environment(&source) };
    if is_model && arguments.model.is_some() {
        let text =
            say!("{}: this is a model; give the profile here, and the model with --model", path.display());
        return Err(UsageError(text).into());
    }
    let trace = match is_model {
        true => None,
        false => {
            let opened = profile::open_source(source, Tell::Warnings, terminal)?;
            Some(arguments.network.choose(opened, false, terminal)?)
        }
    };
    let model_path = if is_model { Some(path) } else { arguments.model.as_ref() };
    let model = model_path.map(Model::load).transpose()?;
    if let Some((model, path)) = model.as_ref().zip(model_path) {
        profile::warn_beside_graph(model, path, terminal);
    }
    let shapes = model.as_ref().map(|model| arguments.shapes.infer(model)).transpose()?;
    let open = |path: &PathBuf| profile::open(path, Tell::Warnings, terminal);
    let sweep: Vec<Opened> = arguments.sweep.iter().map(open).collect::<anyhow::Result<_>>()?;
    let target = arguments.target.as_deref().and_then(Target::from_name);
    let mut subject = Subject::new(trace.as_deref(), model.as_ref(), target);
    if subject.target == Target::Unknown
        && let Some(soc) = converter.soc_version()
    {
        subject.target = Target::of_soc_version(soc);
        let name = subject.target.name();
        terminal
            .note(&say!("target {name}, from the converter's --soc_version={soc}; --target names another"));
    }
    if subject.target == Target::Unknown
        && let Some(chip) = model.as_ref().and_then(|model| model.provenance().chip())
    {
        subject.target = Target::of_soc_version(chip);
        let name = subject.target.name();
        terminal.note(&say!("target {name}, from the model's chip {chip}; --target names another"));
    }
    subject.shapes = shapes.as_ref();
    subject.converter = converter.command.as_ref();
    subject.switches = converter.switches.as_ref();
    subject.fusion_result = converter.result.as_ref();
    subject.operator_library = operator_library.as_ref();
    subject.cores = arguments.cores.or(subject.cores);
    subject.sweep = sweep.iter().map(|profile| &**profile).collect();
    if let Some(trace) = &trace {
        subject.roof = arguments.ceiling.roofline(trace, terminal)?;
    }
    subject.environment = environment;
    let found = advise(&subject, &settings);
    warn(trace.as_deref(), model.as_ref(), &subject, terminal);
    let text = if arguments.json {
        report::to_json(&subject, &found).about(trace.iter().chain(&sweep)).to_text()?
    } else {
        let shown = report::Shown {
            top: arguments.top,
            lists_unasked: terminal.is_verbose(),
            width: terminal.width(),
        };
        report::to_text(&subject, &found, model_path.map(PathBuf::as_path), shown)
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

/// Says what makes the advice worth less.
fn warn(trace: Option<&Trace>, model: Option<&Model>, subject: &Subject<'_>, terminal: &Terminal) {
    if trace.is_some_and(|trace| trace.tasks.is_empty()) {
        terminal.warn(word("the profile has no operators; only rules about calls and ranges could run"));
    }
    if let Some(kind) = model.map(Model::kind).filter(|kind| *kind == ModelKind::MegEngine) {
        let remedy = kind.remedy();
        terminal.warn(&say!(
            "{kind} has types of operators of its own, of which rules about the graph know nothing: {remedy}"
        ));
    }
    if let (Some(trace), Some(model)) = (trace, model)
        && !trace.operators.is_empty()
    {
        let nodes = model.graph().nodes();
        let known = nodes.filter(|node| subject.has_time_of(node.name)).count();
        if known == 0 {
            terminal.warn(word(
                "no operator of the profile has the name of a node of the model: is it another model? \
                 What the rules about the graph find has no times",
            ));
        }
    }
}

/// The settings in a file, or else in that of the current folder, if it is there.
///
/// # Errors
/// When they can't be read or name what doesn't exist.
pub fn settings_in(file: Option<&Path>) -> anyhow::Result<Settings> {
    let default = Path::new(SETTINGS);
    let file = file.or_else(|| default.is_file().then_some(default));
    Ok(file.map(Settings::read).transpose()?.unwrap_or_default())
}

/// Leaves out of a comparison what the settings of the current folder silence.
///
/// # Errors
/// When the settings can't be read.
pub fn silence_suspects(comparison: &mut Comparison<'_>) -> anyhow::Result<()> {
    if settings_in(None)?.silences_id("A33") {
        comparison.suspects.clear();
    }
    Ok(())
}

fn settings(arguments: &Arguments) -> anyhow::Result<Settings> {
    let mut settings = settings_in(arguments.rules.as_deref())?;
    for pattern in &arguments.silence {
        settings.add_silence(pattern);
    }
    Ok(settings)
}

/// The page about a rule, or the list of all.
fn pages(arguments: &Arguments, settings: &Settings) -> anyhow::Result<String> {
    let language = opscope_say::chosen();
    let all = settings.apply_to(rules());
    let Some(id) = &arguments.explain else {
        return match arguments.json {
            true => Ok(report::list_json(&all).to_text()?),
            false => Ok(report::list(&all, language)),
        };
    };
    if let Some(rule) =
        all.iter().find(|rule| rule.id.eq_ignore_ascii_case(id) || rule.name.eq_ignore_ascii_case(id))
    {
        return match arguments.json {
            true => Ok(report::explain_json(rule).to_text()?),
            false => Ok(of_rule(rule, language)),
        };
    }
    let near = all.iter().min_by_key(|rule| strsim::levenshtein(&rule.id, &id.to_ascii_uppercase()));
    let near = near.map_or(String::new(), |rule| say!("; did you mean {}?", rule.id));
    Err(UsageError(say!("there is no rule {id}{near} `opscope advise --list` names all")).into())
}

/// The text of a file beside a profile, if it is one.
fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(opscope_files::read_plain(path).ok()?).ok()
}

/// The surroundings of a profile, which show how it was taken.
pub fn environment(source: &Source) -> Environment {
    let path = source.path();
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink());
    let within = environment_within(source);
    let beside = || text_of(&path.with_file_name("acl.json"));
    Environment {
        hosts: std::fs::read_to_string("/etc/hosts").ok(),
        host_name: std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|it| it.trim().to_owned()),
        real_path: if is_link { path.canonicalize().ok() } else { None },
        log_level: std::env::var("ASCEND_GLOBAL_LOG_LEVEL").ok(),
        acl_json: within.acl_json.or_else(beside),
        ..within
    }
}

/// The part of that which the profile's own files tell, without a look at any other.
pub fn environment_within(source: &Source) -> Environment {
    let path = source.path();
    #[cfg(unix)]
    let mode = {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).ok().map(|found| found.permissions().mode())
    };
    #[cfg(not(unix))]
    let mode = None;
    // Boards' directories have no mark of their end, nor those of jobs, which are host and device in one.
    let is_in_parts = |profile: &&Profile| {
        let mut sources = profile.host.iter().chain(&profile.devices);
        sources.all(|source| source.path != profile.path)
    };
    Environment {
        free_bytes: free_bytes(path),
        mode,
        ended: source.profile_itself().filter(is_in_parts).map(|_| has_end(path)),
        acl_json: text_of(&path.join("acl.json")),
        ..Environment::default()
    }
}

/// The bytes that are free on the file system of a path, where the system tells.
#[cfg(target_os = "linux")]
fn free_bytes(path: &Path) -> Option<u64> {
    opscope_capture::free_bytes(path)
}

#[cfg(not(target_os = "linux"))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

fn entries(path: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Whether a raw directory, or the directories in it, have the mark of the end.
fn has_end(path: &Path) -> bool {
    let is_mark =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("end_info"));
    entries(path).any(|path| is_mark(&path) || (path.is_dir() && entries(&path).any(|path| is_mark(&path))))
}
