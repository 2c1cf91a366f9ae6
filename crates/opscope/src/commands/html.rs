//! A profile as a page in one file: what `opscope report` writes, and `--html` of the commands that measure, collect
//! or ask.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::Context;
use clap::Args;
use opscope_advise::{Environment, Subject, Target, advise, fusion};
use opscope_analyze::{Answer, GroupBy, Iterations, NodeNames, Overview, Query, Roofline, Scope, ScopeError};
use opscope_model::{Model, Shapes};
use opscope_open::{Source, formats};
use opscope_say::{say, word};
use opscope_trace::{Trace, units};
use opscope_web::graph::{Chain, Graph};
use opscope_web::{Embedded, Kind, LeftOut, Report, USUAL_SLICES};
use serde_json::Value;

use super::advise::{environment, settings_in};
use super::compare::compared;
use super::compare::models::Models;
use super::outputs::{check_target, resolved};
use super::run::ShapeArguments;
use crate::exit::UsageError;
use crate::profile::{Opened, Tell};
use crate::report::count;
use crate::report::info::{Info, of_trace};
use crate::report::page::{Against, Page};
use crate::terminal::Terminal;
pub use crate::terminal::command_line;

/// The option of commands that leave a page behind.
#[derive(Clone, Debug, Default, Args)]
pub struct HtmlArguments {
    /// Write the profile as a page in one file, too; see opscope report
    #[arg(long, value_name = "FILE.html", help_heading = "Files")]
    pub html: Option<PathBuf>,
}

impl HtmlArguments {
    /// Makes sure that the file can be written and is none of the inputs, before work is spent on it.
    ///
    /// # Errors
    /// With the reason why not.
    pub fn check(&self, inputs: &[&Path]) -> anyhow::Result<()> {
        self.html.as_deref().map_or(Ok(()), |output| check(output, inputs))
    }

    /// The facts that a page tells of a profile's files; `None` where no page is asked for.
    pub fn origin(&self, source: &Source) -> Option<Origin> {
        self.html.as_ref().map(|_| Origin::of(source))
    }

    /// Writes the page that `opscope report` makes of the same profile, where it is asked for.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write(&self, profile: &Opened, origin: Option<Origin>, terminal: &Terminal) -> anyhow::Result<()> {
        self.write_with(None, profile, origin, terminal)
    }

    /// The same, with the graph of a model and the findings about it.
    ///
    /// # Errors
    /// As [`HtmlArguments::write`].
    pub fn write_with(
        &self,
        model: Option<&ProfiledModel>,
        profile: &Opened,
        origin: Option<Origin>,
        terminal: &Terminal,
    ) -> anyhow::Result<()> {
        let Some((output, origin)) = self.html.as_ref().zip(origin) else { return Ok(()) };
        let path = origin.path.iter().map(|path| path.display().to_string());
        let named = model.map(|model| ["--model".to_owned(), model.path.display().to_string()]);
        let words = ["opscope", "report"].map(str::to_owned).into_iter().chain(path);
        let content = Content {
            model: model.map(|model| &model.model),
            shapes: model.map(|model| &model.shapes),
            ..Content::usual(command_line(words.chain(named.into_iter().flatten())))
        };
        write(profile, origin, &content, output, terminal)
    }
}

/// The option of commands that ask a profile and leave a page behind, for what the profile doesn't tell.
#[derive(Clone, Debug, Default, Args)]
pub struct PageModelArguments {
    /// The model that was profiled, for the graph of the page and the rules about graphs
    #[arg(long, value_name = "MODEL", requires = "html", help_heading = "Files")]
    pub model: Option<PathBuf>,
}

impl PageModelArguments {
    /// The model, where one is named.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn load(&self) -> anyhow::Result<Option<ProfiledModel>> {
        let load = |path: &PathBuf| {
            let model = Model::load(path)?;
            let shapes = ShapeArguments::default().infer(&model)?;
            anyhow::Ok(ProfiledModel { path: path.clone(), model, shapes })
        };
        self.model.as_ref().map(load).transpose()
    }
}

/// The model that a profile is of.
pub struct ProfiledModel {
    path: PathBuf,
    model: Model,
    shapes: Shapes,
}

/// The facts about a profile's files that are known before they are read.
#[derive(Clone)]
pub struct Origin {
    /// The name of its file.
    pub name: String,
    /// Its file or folder as it was named; `None` if it is kept in none.
    pub path: Option<PathBuf>,
    info: Info,
    environment: Environment,
}

impl Origin {
    /// That of a path that was looked at.
    pub fn of(source: &Source) -> Self {
        let mut info = Info::new(source.to_string());
        source.profiles().iter().for_each(|profile| info.facts.raw(profile));
        let path = source.path().to_owned();
        Self { name: name_of(&path), path: Some(path), info, environment: environment(source) }
    }
}

/// How much a page holds, and the words that the command line alone knows.
pub struct Content<'a> {
    /// The model that was profiled.
    pub model: Option<&'a Model>,
    /// The shapes of its values.
    pub shapes: Option<&'a Shapes>,
    /// The hardware, unless it is the profile's own.
    pub target: Option<Target>,
    /// The profile before a change, with which it is compared.
    pub against: Option<&'a Opened>,
    /// The models of both, which tell the nodes that operators stand for.
    pub models: Option<&'a Models>,
    /// The peaks of the machine.
    pub roofline: Option<Roofline>,
    /// The most slices that are written one by one.
    pub slices: usize,
    /// The language in which the page begins: `auto`, `en` or `zh`.
    pub language: &'static str,
    /// The command that makes the page.
    pub command: String,
}

impl Content<'_> {
    /// The usual page.
    pub fn usual(command: String) -> Self {
        Self {
            model: None,
            shapes: None,
            target: None,
            against: None,
            models: None,
            roofline: None,
            slices: USUAL_SLICES,
            language: "auto",
            command,
        }
    }
}

/// Asks a profile everything that a page shows, writes the page whole or not at all, and says what it holds.
///
/// # Errors
/// When the file can't be written, or the rules' settings in this folder can't be read.
pub fn write(
    profile: &Opened,
    origin: Origin,
    content: &Content<'_>,
    output: &Path,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let name = origin.name.clone();
    let operators = Query { roofline: content.roofline, ..Query::default() }.run(profile).map_err(usage)?;
    let graph = graph(profile, &operators, content.model, content.shapes);
    let embedded = Embedded::with_graph(profile, &operators, content.slices, &graph);
    let before = content.against.map(|other| {
        let operators = Query { roofline: content.roofline, ..Query::default() }.run(other).map_err(usage)?;
        anyhow::Ok(Embedded::of(other, &operators, content.slices))
    });
    let before = before.transpose()?;
    let against = content.against.zip(before.as_ref());
    let against = against.map(|(other, columns)| {
        against_of(other, profile, origin.path.is_some(), Some(columns), content.models)
    });
    let (answers, text) =
        with_page(profile, origin, content, &operators, (&embedded, against.transpose()?), |page| {
            anyhow::Ok((page.answers()?, page.text()))
        })??;
    let report = Report {
        kind: Kind::Profile,
        title: &name,
        language: "en",
        text: &text,
        answers: &answers,
        columns: &embedded.columns,
        columns_before: before.as_ref().map(|before| &before.columns[..]),
    };
    opscope_files::write_atomically(output, |file| report.write(file))
        .with_context(|| say!("{}: cannot write the report", output.display()))?;
    tell(output, &embedded.left_out, terminal);
    Ok(())
}

/// Asks a profile what a page shows beside its columns and its operators, and the profile that it is compared with.
///
/// # Errors
/// When the rules' settings in this folder can't be read.
pub fn with_page<A>(
    profile: &Opened,
    origin: Origin,
    content: &Content<'_>,
    operators: &Answer,
    (embedded, against): (&Embedded, Option<Against<'_>>),
    see: impl FnOnce(&Page<'_>) -> A,
) -> anyhow::Result<A> {
    let Origin { name, path, mut info, environment } = origin;
    of_trace(profile, &mut info.facts);
    let mut subject = Subject::new(Some(profile), content.model, content.target);
    subject.shapes = content.shapes;
    subject.environment = environment;
    let advice = advise(&subject, &settings_in(None)?);
    let ask = |query: &Query| query.run(profile).map_err(usage);
    let types = ask(&Query { group_by: GroupBy::Type, ..Query::default() })?;
    let of_all = Scope { iterations: Iterations::All, ..Scope::default() };
    let calls = ask(&Query { host: true, scope: of_all, ..Query::default() })?;
    let overview = overview_of(profile)?;
    Ok(see(&Page {
        profile,
        name: &name,
        is_kept: path.is_some(),
        language: content.language,
        command: &content.command,
        info: &info,
        overview: &overview,
        operators,
        types: &types,
        calls: &calls,
        roofline: content.roofline,
        against: against.as_ref(),
        subject: &subject,
        advice: &advice,
        embedded,
    }))
}

fn overview_of(profile: &Opened) -> Result<Overview, UsageError> {
    profile.overview(Query::default().scope).map(Cow::into_owned).map_err(usage)
}

/// The changes from one profile to another; `is_kept` tells whether they lie in files.
///
/// # Errors
/// When the rules' settings in this folder can't be read.
pub fn against_of<'a>(
    before: &'a Opened,
    after: &'a Opened,
    is_kept: bool,
    embedded: Option<&'a Embedded>,
    models: Option<&'a Models>,
) -> anyhow::Result<Against<'a>> {
    static NONE: LazyLock<[NodeNames; 2]> = LazyLock::new(Default::default);
    let comparison = compared(before, after, models.map_or(&NONE, |models| &models.names))?;
    Ok(Against {
        profile: before,
        name: name_of(before.place()),
        is_kept,
        comparison,
        models: models.map_or(Value::Null, Models::to_json),
        of_models: models.map(Models::lines).unwrap_or_default(),
        overview: overview_of(before)?,
        embedded,
    })
}

/// The graph of a profile, with the chains that `opscope fusion` finds in its model.
pub fn graph(profile: &Opened, operators: &Answer, model: Option<&Model>, shapes: Option<&Shapes>) -> Graph {
    let chains = model.map(|model| fusion::fusion(model).chains).unwrap_or_default();
    let chain = |chain: fusion::Chain| Chain {
        nodes: chain.links.into_iter().map(|link| link.name).collect(),
        stop: chain.stop,
        remedy: chain.remedy.unwrap_or_default(),
        zh: [chain.zh.stop, chain.zh.remedy.unwrap_or_default()],
    };
    let chains: Vec<Chain> = chains.into_iter().map(chain).collect();
    Graph::of(profile, operators, model.map(|model| (model, shapes)), &chains)
}

fn usage(error: ScopeError) -> UsageError {
    UsageError(error.to_string())
}

/// A model's run, as it is in memory.
pub struct Run<'a> {
    /// Everything that was recorded.
    pub trace: Trace,
    /// The model's file.
    pub model: &'a Path,
    /// The shapes of its inputs.
    pub shapes: &'a ShapeArguments,
    /// The database that the run is kept in, if it is.
    pub database: Option<&'a Path>,
}

impl Run<'_> {
    /// The run as a profile. It has said already what is odd about it.
    fn opened(self, terminal: &Terminal) -> Opened {
        let path = self.database.unwrap_or(self.model).to_owned();
        let format = &formats::opscope_database::FORMAT;
        let opened = opscope_open::Opened {
            trace: self.trace,
            format,
            place: path.clone(),
            path,
            remarks: Vec::new(),
            files: Vec::new(),
        };
        Opened::new(opened, Tell::InAnswer, terminal)
    }
}

/// Writes the page about a run, with what the model's graph tells, and with what changed since another run.
///
/// # Errors
/// When the model is gone, or the file can't be written.
pub fn write_run(
    run: Run<'_>,
    against: Option<Run<'_>>,
    output: &Path,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let model = Model::load(run.model)?;
    let shapes = run.shapes.infer(&model)?;
    let (origin, words) = match run.database {
        Some(database) => {
            let words = ["report".as_ref(), database.as_os_str(), "--model".as_ref(), run.model.as_os_str()];
            (Origin::of(&Source::at(database)?), words.map(OsStr::to_owned).to_vec())
        }
        None => {
            let info = Info::new(word("a run of a model by opscope"));
            let origin =
                Origin { name: name_of(run.model), path: None, info, environment: Environment::default() };
            // Nothing but the same run makes such a page again.
            (origin, std::env::args_os().skip(1).collect())
        }
    };
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let command = command_line(["opscope".to_owned()].into_iter().chain(words));
    let (profile, against) = (run.opened(terminal), against.map(|run| run.opened(terminal)));
    let content = Content {
        model: Some(&model),
        shapes: Some(&shapes),
        against: against.as_ref(),
        ..Content::usual(command)
    };
    write(&profile, origin, &content, output, terminal)
}

/// Makes sure that a page can be written, and takes the place of no input.
///
/// # Errors
/// With the reason why not.
pub fn check(output: &Path, inputs: &[&Path]) -> anyhow::Result<()> {
    if output.as_os_str() == "-" {
        let text = word("-: a file of this name would be written; name another, or /dev/stdout");
        return Err(UsageError(text.to_owned()).into());
    }
    if inputs.iter().any(|input| resolved(input) == resolved(output)) {
        let text = say!("{}: this would be overwritten; name another file", output.display());
        return Err(UsageError(text).into());
    }
    check_target(output)
}

/// The last part of a path, that of `.` and `..` as well.
pub fn name_of(path: &Path) -> String {
    let whole = || path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().map(|name| name.to_owned()).or_else(|| Some(whole().file_name()?.to_owned()));
    name.map_or("profile".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Says what was written, and what of the profile isn't in it.
fn tell(output: &Path, left_out: &LeftOut, terminal: &Terminal) {
    let size =
        output.metadata().map_or(String::new(), |found| format!("{}, ", units::bytes(found.len() as f64)));
    let of = |part: usize, all: usize, noun: &str| match part == all {
        true => count(all, noun),
        false => say!("{part} of {}", count(all, noun)),
    };
    let slices = of(left_out.slices_in_full, left_out.slices, "slice");
    let operators = of(left_out.operators_in_full, left_out.operators, "operator");
    terminal.note(&say!("wrote the report {} ({size}{slices}, {operators})", output.display()));
    if let Some(inferences) = &left_out.inferences_in_full {
        let numbers: Vec<String> = inferences.iter().map(u32::to_string).collect();
        let full = match &numbers[..] {
            [] => word("only the beginning is there slice by slice").to_owned(),
            [number] => say!("inference {number} is there slice by slice"),
            numbers => say!("inferences {} are there slice by slice", numbers.join(", ")),
        };
        terminal.note(&say!("{full}, of the rest how busy each row was (--slices all takes everything)"));
    }
    for (number, noun, fate) in [
        (left_out.undrawable, "slice", word("nested too deep to be drawn: left out")),
        (left_out.names_cut, "name", word("of more than 64 kB: cut")),
    ] {
        if number > 0 {
            terminal.warn(&format!("{} {fate}", count(number, noun)));
        }
    }
    if left_out.samples_in_full < left_out.samples {
        let kept = left_out.samples_in_full;
        terminal.note(&say!("of {} values of counters, {kept} extremes are kept", left_out.samples));
    }
}
