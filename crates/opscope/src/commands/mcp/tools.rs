//! The tools: what each is for, and how it answers with what the command of the same name prints as JSON.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use opscope_advise::{Environment, Settings, Subject, Target, advise};
use opscope_analyze::Comparison;
use opscope_formats::sqlite::QueryError;
use opscope_open::{Source, Stop};
use opscope_say::Language;
use opscope_trace::{Nanoseconds, Trace};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::arguments::{
    AdviseArguments, AnalyzeArguments, CompareArguments, ExplainArguments, InfoArguments, ModelArguments,
    OpenArguments, OperatorsArguments, SqlArguments, WindowArguments,
};
use super::check::check;
use super::fit::{BYTES, Page, fit, page_of};
use super::session::{Call, Session};
use crate::commands::advise::environment_within;
use crate::commands::compare::models::Models;
use crate::commands::outputs::undrawable;
use crate::commands::run::ShapeArguments;
use crate::commands::{analyze, explain, info, sql};
use crate::report;
use crate::report::rows::Part;

/// The text of an answer, or why there is none.
type Answered = anyhow::Result<String>;

/// A tool.
pub struct Offer {
    name: &'static str,
    about: &'static str,
    schema: fn() -> JsonObject,
    answer: fn(Value, &Session, &Call) -> Answered,
}

/// A tool whose arguments are of a type.
macro_rules! offer {
    ($name:literal, $arguments:ty, $answer:path, $about:literal) => {
        Offer {
            name: $name,
            about: $about,
            schema: schema_of::<$arguments>,
            answer: |arguments, session, call| $answer(&read::<$arguments>(arguments)?, session, call),
        }
    };
}
/// All tools.
pub static ALL: [Offer; 10] = [
    offer!(
        "open",
        OpenArguments,
        open,
        "Read a profile and keep it for further questions: its kind, size, \
        wall, busy and idle time. Any other tool opens it as well; begin with this to see what there is."
    ),
    offer!(
        "info",
        InfoArguments,
        of_path,
        "What a file or folder is, what is in it, what is missing or damaged. \
        Without a path: the served folders and what lies in them."
    ),
    offer!(
        "analyze",
        AnalyzeArguments,
        analyzed,
        "Where the time went: operators, types, units, streams or \
        iterations with their times and shares, filtered, grouped and sorted; calls of the host with host=true."
    ),
    offer!(
        "operators",
        OperatorsArguments,
        operators,
        "All that is known of single operators: times and their \
        spread, type, unit, shapes, operations, bytes, rates, waiting."
    ),
    offer!(
        "advise",
        AdviseArguments,
        advised,
        "What to change, by what it could save at most: findings of rules \
        with their evidence, the reason and the remedy."
    ),
    offer!(
        "explain",
        ExplainArguments,
        explained,
        "What a rule, a known error message or a word of the field \
        means."
    ),
    offer!(
        "compare",
        CompareArguments,
        compared,
        "What differs between two profiles: the change of an inference, \
        whether it is more than noise, and the operators that account for it."
    ),
    offer!("sql", SqlArguments, asked, "A question in SQL to the profile's tables, read only."),
    offer!(
        "timeline_window",
        WindowArguments,
        window,
        "A stretch of the timeline: how busy each lane was, the \
        longest gaps of each device, and the slices in the order of time."
    ),
    offer!(
        "model",
        ModelArguments,
        of_model,
        "What is in a model: inputs, outputs, and for each node what \
        it reads and makes, its operations and bytes."
    ),
];

impl Offer {
    /// The tool of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|tool| tool.name == name)
    }

    /// Its description for a client.
    pub fn tool(&self) -> Tool {
        let hints =
            ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        Tool::new(self.name, self.about, Arc::new((self.schema)())).with_annotations(hints)
    }

    /// Its answer.
    ///
    /// # Errors
    /// When an argument is wrong, or the question can't be answered.
    pub fn answer(&self, mut arguments: JsonObject, session: &Session, call: &Call) -> Answered {
        let schema = (self.schema)();
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required = |name: &str| required.as_array().is_some_and(|all| all.iter().any(|it| it == name));
        // Some clients send what they leave out as null.
        arguments.retain(|name, value| !value.is_null() || is_required(name));
        check(self.name, &arguments, &schema)?;
        (self.answer)(Value::Object(arguments), session, call)
    }
}

fn schema_of<A: JsonSchema>() -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    // The name and description of the type say nothing beside the tool's own.
    schema.remove("title");
    schema.remove("description");
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, property) in properties {
        if let Some(property) = property.as_object_mut() {
            // A format such as uint says no more than the type.
            property.remove("format");
        }
    }
    schema
}

fn read<A: DeserializeOwned>(arguments: Value) -> anyhow::Result<A> {
    serde_json::from_value(arguments).map_err(|error| anyhow!("the arguments are wrong: {error}"))
}

fn open(asked: &OpenArguments, session: &Session, call: &Call) -> Answered {
    let profile = session.profile(&asked.path, call)?;
    let answer = serde_json::to_value(report::opened::to_json(&profile)?)?;
    Ok(whole(answer).to_string())
}

/// An answer without rows of its own.
fn whole(answer: Value) -> Value {
    let mut fitted = fit(answer, "", Page { offset: 0, limit: 0 }, &[], &[]);
    if let Some(members) = fitted.as_object_mut() {
        members.remove("page");
    }
    fitted
}

fn of_path(asked: &InfoArguments, session: &Session, call: &Call) -> Answered {
    let Some(named) = &asked.path else { return folders(session) };
    let (place, source) = session.look(named)?;
    if source.is_model() {
        // Its files of weights are looked at.
        session.model(named)?;
    }
    drop(source);
    let read = |source: Source| session.read(place.clone(), source, call);
    let info = info::look(&place.path, None, &read, &call.stop(), session.terminal());
    Ok(whole(serde_json::to_value(info.to_json(&place.path, None))?).to_string())
}

/// The profiles and models in the served folders.
fn folders(session: &Session) -> Answered {
    /// The entries of a folder that are named.
    const MOST: usize = 100;
    let mut all = Vec::new();
    for folder in session.folders().all() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        let more = names.len().saturating_sub(MOST);
        let describe = |name: &String| {
            let path = folder.join(name);
            let kind = match session.look(&path.to_string_lossy()) {
                Ok((_, source)) => source.to_string(),
                Err(error) => format!("{error:#}"),
            };
            json!({ "name": name, "kind": kind })
        };
        let entries: Vec<Value> = names.iter().take(MOST).map(describe).collect();
        all.push(json!({ "folder": folder.to_string_lossy(), "entries": entries, "more": more }));
    }
    Ok(json!({ "folders": all }).to_string())
}

fn analyzed(asked: &AnalyzeArguments, session: &Session, call: &Call) -> Answered {
    let profile = session.profile(&asked.path, call)?;
    let answer = analyze::answer_to(&asked.options(), profile.path(), &profile)?;
    let parts = ["overview", "ranges", "stated", "latency"];
    Ok(fit(answer, "rows", asked.page(), &parts, &asked.with).to_string())
}

fn operators(asked: &OperatorsArguments, session: &Session, call: &Call) -> Answered {
    let profile = session.profile(&asked.path, call)?;
    let mut answer = analyze::answer_to(&asked.options(), profile.path(), &profile)?;
    // Of what isn't known of an operator, nothing needs to be said.
    for row in answer["rows"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        row.retain(|_, value| !value.is_null());
    }
    let page = Page { offset: asked.offset, limit: asked.limit };
    Ok(fit(answer, "rows", page, &["overview", "ranges", "stated", "latency", "roofline"], &[]).to_string())
}

fn advised(asked: &AdviseArguments, session: &Session, call: &Call) -> Answered {
    let (place, source) = session.look(&asked.path)?;
    let (profile, environment, model) = if source.is_model() {
        if asked.model.is_some() {
            bail!("{}: this is a model; give the profile here, and the model as `model`", asked.path);
        }
        (None, Environment::default(), Some(session.model(&asked.path)?.1))
    } else {
        let environment = environment_within(&source);
        let model = asked.model.as_deref().map(|named| session.model(named)).transpose()?;
        (Some(session.read(place, source, call)?), environment, model.map(|(_, model)| model))
    };
    let mut settings = Settings::default();
    asked.silence.iter().for_each(|pattern| settings.add_silence(pattern));
    let target = asked.target.as_deref().and_then(Target::from_name);
    let shapes = model.as_ref().map(|model| ShapeArguments::default().infer(model)).transpose()?;
    let mut subject = Subject::new(profile.as_deref(), model.as_ref(), target);
    subject.shapes = shapes.as_ref();
    subject.environment = environment;
    let found = advise(&subject, &settings);
    let mut answer = serde_json::to_value(report::advise::to_json(&subject, &found).about(&profile))?;
    let with_limits = asked.with.iter().any(|part| part == "limits");
    for finding in answer["findings"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        // The texts in Chinese say the same once more; `explain` has them.
        finding.remove("zh");
        if !with_limits {
            finding.remove("limits");
        }
    }
    let page = Page { offset: asked.offset, limit: asked.limit };
    Ok(fit(answer, "findings", page, &["not_run", "done_already"], &asked.with).to_string())
}

fn explained(asked: &ExplainArguments, _: &Session, _: &Call) -> Answered {
    let language = if asked.lang.as_deref() == Some("zh") { Language::Chinese } else { Language::English };
    let text = asked.text.trim();
    let page = match text.is_empty() {
        true => explain::list(language),
        false => explain::answer(text, language)
            .map_err(|unknown| anyhow!("{unknown}an empty text lists the topics"))?,
    };
    // Headings are bold on a terminal.
    Ok(anstream::adapter::strip_str(&page).to_string())
}

fn compared(asked: &CompareArguments, session: &Session, call: &Call) -> Answered {
    let before = session.profile(&asked.before, call)?;
    let after = session.profile(&asked.after, call)?;
    let model = |named: &Option<String>| named.as_deref().map(|named| session.model(named)).transpose();
    let loaded = [model(&asked.before_model)?, model(&asked.after_model)?];
    let loaded = loaded.each_ref().map(|model| model.as_ref().map(|(place, model)| (&*place.path, model)));
    let models = Models::of(loaded, [&before, &after]);
    let comparison = Comparison::joined(&before, &after, models.names.each_ref());
    let report = report::compare::to_json(&comparison, models.to_json());
    let mut answer = serde_json::to_value(report.about([&before, &after]))?;
    let changed = |group: &Value| group["delta_ns"].as_i64().unwrap_or(0).unsigned_abs();
    if let Some(groups) = answer["groups"].as_array_mut() {
        groups.sort_by_key(|group| std::cmp::Reverse(changed(group)));
    }
    let page = Page { offset: asked.offset, limit: asked.limit };
    Ok(fit(answer, "groups", page, &["waterfall", "spans", "inferences", "suspects"], &asked.with)
        .to_string())
}

/// How much longer a statement gets that SQLite doesn't stop, because a single step of it takes so long.
const GRACE: Duration = Duration::from_millis(500);

fn asked(asked: &SqlArguments, session: &Session, call: &Call) -> Answered {
    let time = Duration::from_secs(asked.timeout_seconds);
    // Reading the profile and filling the tables isn't the statement's time.
    let begun = Arc::new(std::sync::OnceLock::<Instant>::new());
    let (since, over) = (Arc::clone(&begun), Arc::clone(&call.is_over));
    let stop = Stop::when(move || {
        let is_late = since.get().is_some_and(|begun| begun.elapsed() >= time);
        is_late || over.load(std::sync::atomic::Ordering::Relaxed)
    });
    let part = Part { offset: asked.offset, limit: asked.limit, bytes: BYTES as u64 };
    let (mut answer, is_cut) = session.ask_tables(&asked.path, &stop, call, |tables, path| {
        let _ = begun.set(Instant::now());
        let _ = call.late.set(Instant::now() + time + GRACE);
        sql::answer(tables, &asked.statement, path, part).map_err(|error| match error.downcast_ref() {
            Some(QueryError::TooLong) => anyhow!(
                "the statement took longer than {} s and was stopped (timeout_seconds)",
                asked.timeout_seconds
            ),
            Some(QueryError::Statement { .. }) => {
                anyhow!("{error}; opscope://tables explains the tables")
            }
            _ => error,
        })
    })?;
    let had = answer["rows"].as_array().map_or(0, Vec::len);
    answer = fit(answer, "rows", Page { offset: 0, limit: asked.limit }, &[], &[]);
    let shown = answer["rows"].as_array().map_or(0, Vec::len);
    answer["page"] = page_of(asked.offset, shown, None);
    if is_cut || shown < had {
        answer["page"]["next_offset"] = json!(asked.offset + shown);
    }
    Ok(answer.to_string())
}

fn window(asked: &WindowArguments, session: &Session, call: &Call) -> Answered {
    let profile = session.profile(&asked.path, call)?;
    let Some((first, last)) = profile.extent() else {
        bail!("{}: the profile has no times", asked.path);
    };
    if let Some(basis) = undrawable(&profile) {
        bail!("{}: when anything began was {}", asked.path, basis.name());
    }
    let (from, to) = match asked.iteration {
        Some(number) => iteration(&profile, number)?,
        None => (asked.from_ns.map_or(first, Nanoseconds), asked.to_ns.map_or(last, Nanoseconds)),
    };
    if to < from {
        bail!("the window ends before it begins: from_ns {} to_ns {}", from.0, to.0);
    }
    let min_duration = Nanoseconds(asked.min_duration_ns);
    let window = report::window::Window { from, to, lane: asked.lane.as_deref(), min_duration };
    let answer = serde_json::to_value(report::window::to_json(&profile, &window))?;
    let page = Page { offset: asked.offset, limit: asked.limit };
    Ok(fit(answer, "rows", page, &[], &[]).to_string())
}

/// Begin and end of an iteration.
fn iteration(trace: &Trace, number: u32) -> anyhow::Result<(Nanoseconds, Nanoseconds)> {
    let found = trace.iterations.iter().find(|(_, row)| row.number == number);
    let numbers = trace.iterations.number();
    let known = numbers.iter().min().zip(numbers.iter().max());
    let known =
        known.map_or("there are none".to_owned(), |(first, last)| format!("there are {first} to {last}"));
    let (_, row) = found.ok_or_else(|| anyhow!("there is no iteration {number}; {known}"))?;
    Ok((row.start, row.start + row.duration))
}

fn of_model(asked: &ModelArguments, session: &Session, call: &Call) -> Answered {
    let (place, model) = session.model(&asked.path)?;
    let shapes = ShapeArguments::of(&asked.input, &asked.dim)?.infer(&model)?;
    let nodes = report::nodes::Nodes::of(&model, &shapes);
    let refuse = |_: Source| -> anyhow::Result<crate::profile::Opened> { bail!("a model is no profile") };
    let info = info::look(&place.path, Some(&shapes), &refuse, &call.stop(), session.terminal());
    let answer = serde_json::to_value(info.to_json(&place.path, Some(&nodes)))?;
    let page = Page { offset: asked.offset, limit: asked.limit };
    Ok(fit(answer, "nodes", page, &[], &[]).to_string())
}
