//! `opscope serve`: profiles of any size as a page in the browser.

use std::any::Any;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use opscope_advise::Target;
use opscope_analyze::Answer;
use opscope_formats::chrome;
use opscope_formats::reading::Stop;
use opscope_model::{Model, Shapes};
use opscope_open::{Progress, Source};
use opscope_reach::{holds_ranks, is_set};
use opscope_run::Interrupt;
use opscope_say::{say, word};
use opscope_trace::Trace;
use opscope_web::graph::Graph;
use opscope_web::{Change, Embedded, Ended, Loader, Problem, Reading, Server, ServerError, Subject};
use serde_json::{Value, json};

use super::cluster::page;
use super::cluster::source::SourceArguments;
use super::html::{self, Content, Origin, against_of, command_line, name_of, with_page};
use super::report::{refuse_options, refuse_run};
use super::run::ShapeArguments;
use super::stamp::Stamp;
use super::{analyze, limit};
use crate::exit::{Exit, UsageError, with_causes};
use crate::interrupt;
use crate::profile::{self, Opened, Tell};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope serve PROF_000001_20251009085320000_ABCDEFGH/
  opscope serve before.json after.json                 the page has lists to choose from, and compares two
  opscope serve run.db --model model.onnx              with what the model's graph tells
  opscope serve trace_view.json --port 9000 --no-open
  opscope serve profile.json --idle 2h                 ends when nobody has looked for two hours
  opscope serve profiling_data/                        many ranks: who costs a step how much, drawn

The page is that of 'opscope report', of profiles of any size: it asks for the parts of the timeline
that it shows. It is there at once, and says how far the reading is. Ctrl-C ends the server.

Only this machine is listened to, and only who has the address with its token gets an answer; the
token is worth nothing after the end. On a machine that you reach by SSH, forward the port, the same
on both sides, and open the address in the browser before you:

  ssh -L 8420:127.0.0.1:8420 HOST";

/// The options of `opscope serve`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// Profiles: files of any format, raw directories of Ascend, or folders of outputs; or a folder or set of many
    /// ranks
    #[arg(value_name = "PROFILE", required = true)]
    paths: Vec<PathBuf>,

    /// The model that was profiled, for its graph and the rules about graphs
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,

    /// The hardware that it ran on [default: that of the profile]
    #[arg(long, value_name = "TARGET", value_parser = Target::NAMES.map(|(name, _)| name))]
    target: Option<String>,

    /// The port to listen on; 0 is any free one [default: the first free one from 8420 on]
    #[arg(long, value_name = "N")]
    port: Option<u16>,

    /// Don't open the browser, which is done where there is a desktop and no SSH session
    #[arg(long)]
    no_open: bool,

    /// The most slices that the page gets one by one before it asks for parts: fewer are there sooner
    /// over a slow connection [default: all of up to 500000, of more 100000]
    #[arg(long, value_name = "N")]
    slices: Option<usize>,

    /// End when nobody has asked for so long: 30min, 2h
    #[arg(long, value_name = "TIME", value_parser = limit)]
    idle: Option<Duration>,

    /// The run of a set that has several
    #[arg(long, value_name = "NAME")]
    run: Option<String>,

    #[command(flatten)]
    shapes: ShapeArguments,
}

/// Listens, says where, reads the profiles, answers until it is told to end.
///
/// # Errors
/// When a profile or the model isn't there, no port can be had, or no profile can be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    arguments.paths.iter().try_for_each(|path| profile::check_presence(path))?;
    let of_ranks = arguments.paths.iter().find(|path| holds_ranks(path));
    if let Some(path) = of_ranks {
        refuse_options(&of_one_profile(arguments), path)?;
        return serve_ranks(path, arguments, terminal);
    }
    refuse_run(arguments.run.as_deref(), &arguments.paths[0])?;
    let model = arguments.model.as_deref().map(Model::load).transpose()?;
    let shapes = model.as_ref().map(|model| arguments.shapes.infer(model)).transpose()?;
    let request = interrupt::of_waiting();
    let server = Server::bind(arguments.port)?;
    let failed = Arc::new(AtomicUsize::new(0));
    let profiles = Profiles {
        paths: arguments.paths.clone(),
        known: Arc::new(AboutModel {
            model,
            shapes,
            target: arguments.target.as_deref().and_then(Target::from_name),
            path: arguments.model.clone(),
        }),
        failed: Arc::clone(&failed),
        slices: arguments.slices,
        request,
        terminal: *terminal,
    };
    let none_left = || failed.load(Ordering::Relaxed) == arguments.paths.len();
    run_server(server, arguments, request, terminal, |server| {
        server.run(profiles, || request.is_requested() || none_left(), arguments.idle)
    })
}

/// Serves a run on many ranks.
fn serve_ranks(path: &Path, arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    if arguments.paths.len() > 1 {
        let text =
            say!("{}: this holds many ranks; give it alone, as the folder above all ranks", path.display());
        return Err(UsageError(text).into());
    }
    // The ranks are read for the page; a set that can't be opened, or a run that isn't there, needs none.
    if arguments.run.is_some() || is_set(path) {
        SourceArguments::at(path, arguments.run.as_deref()).open()?;
    }
    let request = interrupt::of_waiting();
    let server = Server::bind(arguments.port)?;
    let failed = Arc::new(AtomicBool::new(false));
    let ranks = page::Served {
        path: path.to_owned(),
        run: arguments.run.clone(),
        failed: Arc::clone(&failed),
        request,
        terminal: *terminal,
    };
    run_server(server, arguments, request, terminal, |server| {
        let is_over = || request.is_requested() || failed.load(Ordering::Relaxed);
        server.run_ranks(ranks, is_over, arguments.idle)
    })
}

/// The options that were given and are about single profiles.
fn of_one_profile(arguments: &Arguments) -> Vec<&'static str> {
    let given = [
        ("--model", arguments.model.is_some()),
        ("--target", arguments.target.is_some()),
        ("--slices", arguments.slices.is_some()),
        ("--input, --dim", !arguments.shapes.is_empty()),
    ];
    given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
}

/// Says where the server listens, and has it answer until it is told to end.
fn run_server(
    server: Server,
    arguments: &Arguments,
    request: &Interrupt,
    terminal: &Terminal,
    run: impl FnOnce(Server) -> Result<Ended, ServerError>,
) -> anyhow::Result<Exit> {
    terminal.print(&format!("{}\n", server.url()))?;
    let port = server.port();
    terminal.note(&say!("from another machine: ssh -L {port}:127.0.0.1:{port} HOST; Ctrl-C ends it"));
    let doorstep = (!arguments.no_open && has_desktop()).then(|| open_browser(&server)).flatten();
    let ended = run(server);
    doorstep.into_iter().for_each(|file| drop(fs::remove_file(file)));
    opscope_files::discard_unfinished();
    match ended? {
        Ended::Told if !request.is_requested() => return Ok(Exit::Failed),
        Ended::Told => {}
        Ended::Idle => terminal.note(word("nobody has asked for a while: ended")),
    }
    Ok(Exit::Done)
}

/// The model that all profiles are of, if it was named.
struct AboutModel {
    model: Option<Model>,
    shapes: Option<Shapes>,
    target: Option<Target>,
    path: Option<PathBuf>,
}

/// The profiles, as the server has them read.
struct Profiles {
    paths: Vec<PathBuf>,
    known: Arc<AboutModel>,
    /// How many couldn't be read.
    failed: Arc<AtomicUsize>,
    slices: Option<usize>,
    request: &'static Interrupt,
    terminal: Terminal,
}

impl Loader for Profiles {
    fn names(&self) -> Vec<String> {
        self.paths.iter().map(|path| name_of(path)).collect()
    }

    fn slices(&self) -> Option<usize> {
        self.slices
    }

    fn load(&self, number: usize, reading: &Arc<Reading>) -> Result<Box<dyn Subject>, Problem> {
        match self.read(&self.paths[number], reading) {
            Ok(served) => Ok(Box::new(served)),
            Err(error) => {
                if !self.request.is_made() {
                    self.terminal.error(&with_causes(&error));
                }
                self.failed.fetch_add(1, Ordering::Relaxed);
                Err(problem(&error))
            }
        }
    }
}

impl Profiles {
    fn read(&self, path: &Path, reading: &Arc<Reading>) -> anyhow::Result<Served> {
        reading.step("look");
        let source = Source::at(path)?;
        if source.is_model() {
            let text =
                say!("{}: this is a model; give a profile here, and the model with --model", path.display());
            return Err(UsageError(text).into());
        }
        let origin = Origin::of(&source);
        // As they are before reading: a change while it goes on may be read half.
        let stamp = Stamp::of(path);
        reading.step("read");
        let told = Steps { reading, request: self.request };
        let opened = profile::read_telling(source, Tell::Warnings, &told, &self.terminal)?;
        profile::warn_of_unread(&opened, &self.terminal);
        Ok(Served { path: path.to_owned(), stamp, opened, origin, known: Arc::clone(&self.known) })
    }
}

/// Tells the page how far the reading is, and the reader of Ctrl-C.
struct Steps<'s> {
    reading: &'s Arc<Reading>,
    request: &'static Interrupt,
}

impl Progress for Steps<'_> {
    fn step(&self, name: &str) {
        self.reading.step(name);
    }

    fn stop(&self) -> Stop {
        let request = self.request;
        let reading = Arc::clone(self.reading);
        Stop::when(move || request.is_made()).telling(move |part| reading.read(part.bytes, part.expected))
    }
}

/// A profile that was read, with what its page is told.
struct Served {
    path: PathBuf,
    stamp: Stamp,
    opened: Opened,
    origin: Origin,
    known: Arc<AboutModel>,
}

impl Subject for Served {
    fn trace(&self) -> &Trace {
        &self.opened
    }

    fn graph(&self, operators: &Answer) -> Graph {
        html::graph(&self.opened, operators, self.known.model.as_ref(), self.known.shapes.as_ref())
    }

    fn answers(&self, operators: &Answer, embedded: &Embedded) -> Result<Value, Problem> {
        let known = &self.known;
        let model = known.path.iter().flat_map(|path| ["--model".to_owned(), path.display().to_string()]);
        let words = ["opscope".to_owned(), "serve".to_owned(), self.path.display().to_string()];
        let content = Content {
            model: known.model.as_ref(),
            shapes: known.shapes.as_ref(),
            target: known.target,
            ..Content::usual(command_line(words.into_iter().chain(model)))
        };
        let columns = (embedded, None);
        let see =
            with_page(&self.opened, self.origin.clone(), &content, operators, columns, |page| page.answers());
        see.and_then(|answers| answers).map_err(|error| problem(&error))
    }

    fn since(&self, before: &dyn Subject) -> Result<Value, Problem> {
        let Some(before) = before.as_any().downcast_ref::<Self>() else {
            let error = word("only profiles can be compared").to_owned();
            return Err(Problem { is_question: true, error, hint: None });
        };
        let (before, after) = (&before.opened, &self.opened);
        let changes = against_of(before, after, true, None, None)
            .and_then(|against| Ok(json!({ "against": against.facts(), "compare": against.answer(after)? })));
        changes.map_err(|error| problem(&error))
    }

    fn change(&self) -> Option<Change> {
        self.stamp.change()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn table(&self, options: &[(String, String)]) -> Result<Value, Problem> {
        analyze::answer_to(options, &self.path, &self.opened).map_err(|error| problem(&error))
    }

    fn csv(&self, options: &[(String, String)]) -> Result<String, Problem> {
        analyze::csv_of(options, &self.opened).map_err(|error| problem(&error))
    }

    fn timeline(&self, from: u64, to: u64, out: &mut (dyn Write + Send)) -> io::Result<()> {
        chrome::write_within(&self.opened, from..=to, out)
    }
}

fn problem(error: &anyhow::Error) -> Problem {
    Problem { is_question: error.is::<UsageError>(), error: with_causes(error), hint: None }
}

/// Whether somebody sits before this machine's own screen.
fn has_desktop() -> bool {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_remote = has("SSH_CONNECTION") || has("SSH_TTY") || has("SSH_CLIENT");
    let screen = cfg!(any(target_os = "macos", windows)) || has("DISPLAY") || has("WAYLAND_DISPLAY");
    screen && !is_remote
}

/// Has the desktop open a file that leads to the server, and names it. The address itself would stand among the
/// arguments of a program, which every user of the machine can list, and with it the token.
fn open_browser(server: &Server) -> Option<PathBuf> {
    let file = write_doorstep(&server.url()).ok()?;
    let opener = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let quiet = Command::new(opener)
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // Whoever has no such program opens the address by hand.
    drop(quiet);
    Some(file)
}

/// A file that only its owner can read, and that sends the browser on.
fn write_doorstep(url: &str) -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let file = folder.join(format!("opscope-serve-{}.html", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let html = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">opscope</a>\n"
    );
    options
        .open(&file)
        .and_then(|mut out| out.write_all(html.as_bytes()))
        .with_context(|| file.display().to_string())?;
    Ok(file)
}
