//! `msprof query --data-type`: the questions that the vendor's tool takes about the devices below a
//! folder. An answer is a file in `query/` below it, and a line of JSON with the file's path. Where the
//! vendor's tool left an answer of the same name, ours is called `opscope_…`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use opscope_cann::{IterationRange, Joined, OperationsOfType, Profile, StepTimes, operations, step_times};
use opscope_formats::OwnFiles;
use serde::{Serialize, Serializer};

use super::console::{Level, say};
use crate::commands::run::create_folder;
use crate::exit::Exit;
use crate::profile;
use crate::terminal::{StepBar, Terminal};

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its topic.
    pub about: About,
    /// The device: by its rank in the cluster, where there is one; `None` means all.
    pub device: Option<u32>,
    /// The model.
    pub model: u64,
    /// The iteration; `None` means all.
    pub iteration: Option<u64>,
}

/// The topic of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// How long inferences took.
    Steps,
    /// How much was computed.
    Operations,
}

/// Whether the numbers that a question needs were given, and no others.
///
/// # Errors
/// With a sentence that says what is wrong.
pub fn check(question: Question) -> Result<(), String> {
    match (question.about, question.device, question.iteration) {
        (About::Steps, None, None) => Err("--id -1 asks about all devices: give --iteration-id too".into()),
        (About::Steps, Some(_), Some(_)) => Err("--iteration-id belongs to --id -1: of one device all \
             iterations are told"
            .into()),
        (About::Operations, None, _) | (About::Operations, _, None) => {
            Err("--data-type 2 needs --id, the number of one device, and --iteration-id".into())
        }
        _ => Ok(()),
    }
}

/// Answers a question about the profiles below a folder.
///
/// # Errors
/// When there is nothing to answer it with, or the file can't be written.
pub fn answer(
    question: Question,
    folder: &Path,
    profiles: Vec<Profile>,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let written = match question.about {
        About::Steps => steps(question, folder, profiles, terminal),
        About::Operations => operations_of(question, folder, profiles, terminal),
    };
    let reply = match &written {
        Ok(file) => Reply { status: 0, info: String::new(), data: file.display().to_string() },
        Err(problem) => Reply { status: 1, info: format!("{problem:#}"), data: String::new() },
    };
    terminal.print(&format!("{}\n", serde_json::to_string(&reply)?))?;
    if written.is_err() {
        say(Level::Error, &reply.info);
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Reply {
    status: u8,
    info: String,
    data: String,
}

/// The numbers by which questions name devices: the rank, where there is one.
fn number(rank: i64, device: u32) -> u32 {
    u32::try_from(rank).unwrap_or(device)
}

/// Calls `tell` with each profile that has a device that is asked about: its number and the one by
/// which it is asked about.
fn each(
    question: Question,
    profiles: Vec<Profile>,
    terminal: &Terminal,
    mut tell: impl FnMut(&Joined, u32, u32),
) -> anyhow::Result<()> {
    let mut known = Vec::new();
    let mut is_found = false;
    for profile in profiles {
        let devices: Vec<(u32, u32)> = profile
            .devices
            .iter()
            .map(|source| (source.id(), number(source.metadata.info.rank, source.id())))
            .collect();
        known.extend(devices.iter().map(|(_, number)| *number));
        let is_asked = |number: u32| question.device.is_none_or(|wanted| wanted == number);
        if !devices.iter().any(|(_, number)| is_asked(*number)) {
            continue;
        }
        is_found = true;
        let bar = StepBar::new(terminal);
        let raw = profile::join(profile, &bar)?;
        drop(bar);
        profile::warn(&profile::losses_of_joined(&raw), &raw.joined.data.profile.path, terminal);
        for (device, number) in devices.into_iter().filter(|(_, number)| is_asked(*number)) {
            tell(&raw.joined, device, number);
        }
    }
    if !is_found {
        let known: Vec<String> = known.iter().map(u32::to_string).collect();
        let asked = question.device.map_or("all".to_owned(), |device| device.to_string());
        bail!("--id {asked}: there is no such device here; there are: {}", known.join(", "));
    }
    Ok(())
}

fn write(folder: &Path, name: &str, content: &impl Serialize) -> anyhow::Result<PathBuf> {
    let folder = folder.join("query");
    create_folder(&folder)?;
    let mut own = OwnFiles::of(&folder);
    let name = if own.is_foreign(name) { format!("opscope_{name}") } else { name.to_owned() };
    let path = std::path::absolute(folder.join(&name))?;
    opscope_files::write_atomically(&path, |out| Ok(serde_json::to_writer(out, content)?))
        .and_then(|()| own.add([&*name]))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Microseconds with two decimals, or that there are none.
struct Micros(Option<f64>);

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(micros) => serializer.serialize_f64(rounded(micros, 2)),
            None => serializer.serialize_str("N/A"),
        }
    }
}

fn rounded(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

#[derive(Serialize)]
struct StepRow {
    #[serde(rename = "ID")]
    id: u32,
    #[serde(rename = "Model ID")]
    model: u64,
    #[serde(rename = "Iteration ID")]
    number: u64,
    #[serde(rename = "Iteration Time")]
    duration: Micros,
    #[serde(rename = "FP to BP Time")]
    passes: Micros,
    #[serde(rename = "Iteration Interval")]
    interval: Micros,
    #[serde(rename = "Iteration Refresh")]
    refresh: Micros,
    #[serde(rename = "Iteration Start")]
    start: Micros,
    #[serde(rename = "FP Start")]
    forward: Micros,
    #[serde(rename = "BP End")]
    backward: Micros,
    #[serde(rename = "Iteration End")]
    end: Micros,
}

impl StepRow {
    fn new(id: u32, step: &StepTimes) -> Self {
        Self {
            id,
            model: step.model,
            number: step.number,
            duration: Micros(Some(step.duration)),
            passes: Micros(step.passes),
            interval: Micros(step.interval),
            refresh: Micros(step.refresh),
            start: Micros(Some(step.start)),
            forward: Micros(step.forward),
            backward: Micros(step.backward),
            end: Micros(Some(step.end)),
        }
    }
}

fn steps(
    question: Question,
    folder: &Path,
    profiles: Vec<Profile>,
    terminal: &Terminal,
) -> anyhow::Result<PathBuf> {
    let mut rows = Vec::new();
    each(question, profiles, terminal, |joined, device, id| {
        let is_asked = |step: &StepTimes| {
            step.model == question.model && question.iteration.is_none_or(|number| number == step.number)
        };
        let steps = step_times(joined, device);
        rows.extend(steps.iter().filter(|step| is_asked(step)).map(|step| StepRow::new(id, step)));
    })?;
    if rows.is_empty() {
        bail!(
            "model {} has no such iteration; 'msprof query -dir' lists those that there are",
            question.model
        );
    }
    let minus = |number: Option<u64>| number.map_or("-1".to_owned(), |number| number.to_string());
    let device = minus(question.device.map(u64::from));
    let name = format!("step_trace_{device}_{}_{}.json", question.model, minus(question.iteration));
    write(folder, &name, &rows)
}

#[derive(Serialize)]
struct Total {
    total_fops: f64,
    total_time: f64,
    total_fops_speed: f64,
    total_op_count: usize,
    total_fops_avg: f64,
}

#[derive(Serialize)]
struct Part {
    fops_ratio: f64,
    op_count: usize,
    fops: f64,
}

/// Millions of operations in one.
const MILLION: f64 = 1e6;

fn part(all: f64, count: usize, operations: f64) -> Part {
    Part {
        fops_ratio: rounded(100.0 * operations / all, 2),
        op_count: count,
        fops: rounded(operations / MILLION, 6),
    }
}

fn operations_of(
    question: Question,
    folder: &Path,
    profiles: Vec<Profile>,
    terminal: &Terminal,
) -> anyhow::Result<PathBuf> {
    /// How many types are told apart.
    const TYPES: usize = 19;
    let (model, first) = (question.model, question.iteration.unwrap_or(1));
    let mut found = None;
    each(question, profiles, terminal, |joined, device, _| {
        found = operations(joined, device, IterationRange { model, first, count: 1 });
    })?;
    let Some((types, time)) = found else {
        bail!("operations weren't counted; they are with the counters of ArithmeticUtilization");
    };
    let all: f64 = types.iter().map(|of| of.operations).sum();
    let count: usize = types.iter().map(|of| of.count).sum();
    if all == 0.0 || time == 0.0 {
        bail!("no operations were counted in iteration {first} of model {model}");
    }
    let total = Total {
        total_fops: rounded(all / MILLION, 6),
        total_time: rounded(time, 6),
        // Millions in a microsecond, which is the unit in which the vendor's tool has it today.
        total_fops_speed: rounded(all / time / MILLION, 6),
        total_op_count: count,
        total_fops_avg: rounded(all / count as f64 / MILLION, 6),
    };
    let (named, rest) = types.split_at(types.len().min(TYPES));
    let mut details: Vec<(&str, Part)> =
        named.iter().map(|of| (of.op_type.as_str(), part(all, of.count, of.operations))).collect();
    if !rest.is_empty() {
        let sum = |of: fn(&OperationsOfType) -> f64| rest.iter().map(of).sum::<f64>();
        let count = rest.iter().map(|of| of.count).sum();
        details.push(("other", part(all, count, sum(|of| of.operations))));
    }
    let details: Vec<serde_json::Value> =
        details.into_iter().map(|(name, part)| serde_json::json!({ name: part })).collect();
    let answer = serde_json::json!([{ "total_fops_info": total }, { "details": details }]);
    let device = question.device.unwrap_or_default();
    write(folder, &format!("fops_{device}_{model}_{first}.json"), &answer)
}
