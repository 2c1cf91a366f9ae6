//! The kind and content of a file or folder, fact by fact.

mod board;
mod model;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use opscope_advise::converter::OperatorLibrary;
use opscope_cann::Profile;
use opscope_cann::read::SeenFile;
use opscope_formats::rocm;
use opscope_formats::tensorrt::LayerInfo;
use opscope_say::{say, sentence, word};
use opscope_trace::{Attribution, DataType, FactValue, FigureTopic, ProfileFormat, StringId, Trace, units};
use serde_json::{Map, Value, json};

pub use board::{of_job, of_side_files};
pub use model::of_model;

use super::nodes::Nodes;
use super::{Envelope, count, label, losses_text, padded, stated_lines};
use crate::profile::losses_json;
use crate::terminal::{bold, harmless, printable};

/// A file or folder, as far as it could be read.
#[derive(Clone)]
pub struct Info {
    /// The kind of file or folder.
    pub kind: String,
    /// Its content.
    pub facts: Facts,
    /// Why it can't be read, where that is so.
    pub problem: Option<String>,
    /// Whether that is no damage: it is of a kind or version that opscope doesn't read.
    pub is_foreign: bool,
}

impl Info {
    /// Something of which nothing but its kind is known yet.
    pub fn new(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), facts: Facts::default(), problem: None, is_foreign: false }
    }

    /// The kind, a line for each fact, and the problem.
    pub fn to_text(&self, path: &Path) -> String {
        let mut text = format!(
            "{}: {}\n\n",
            bold(&printable(&path.display().to_string())),
            printable(&sentence(&self.kind))
        );
        text.push_str(&self.facts.to_text());
        if let Some(problem) = &self.problem {
            let title = if self.is_foreign { "not read" } else { "damaged" };
            let _ = writeln!(text, "{} {}", label(title, 10), harmless(&sentence(problem)));
        }
        text
    }

    /// The same for programs, with the nodes of a model where they are given.
    pub fn to_json(&self, path: &Path, nodes: Option<&Nodes>) -> Envelope<Value> {
        let content = self.facts.to_json();
        let losses = content["losses"].as_array().cloned().unwrap_or_default();
        let mut answer = json!({
            "path": path.to_string_lossy(),
            "kind": self.kind,
            "problem": self.problem,
            "content": content,
            "missing": self.facts.missing,
        });
        if let Some(nodes) = nodes {
            answer["nodes"] = nodes.table.to_json();
            answer["shapes"] = nodes.doubts.clone();
        }
        Envelope::new(1, answer).with_losses(losses)
    }
}

/// Said of a raw directory without a device, until tasks of the host turn up.
const NO_DEVICE: &str = "the device's directory: no times of tasks";

/// Facts in order, and what one might expect and is not there.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    facts: Vec<Fact>,
    losses: String,
    /// The parts that are missing.
    pub missing: Vec<String>,
}

#[derive(Clone, Debug)]
struct Fact {
    title: String,
    /// The text for people, unless another fact has it for them.
    text: Option<String>,
    key: String,
    value: Value,
}

impl Facts {
    /// A fact: its title and text for people, its key and value for JSON.
    pub(super) fn add(&mut self, title: &str, key: &str, text: String, value: impl Into<Value>) {
        let (title, key, value) = (title.to_owned(), key.to_owned(), value.into());
        self.facts.push(Fact { title, text: Some(text), key, value });
    }

    /// A fact for JSON alone.
    fn add_value(&mut self, key: &str, value: impl Into<Value>) {
        let (title, key, value) = (String::new(), key.to_owned(), value.into());
        self.facts.push(Fact { title, text: None, key, value });
    }

    /// A size in bytes.
    pub fn bytes(&mut self, title: &str, key: &str, bytes: u64) {
        self.add(title, key, units::bytes(bytes as f64), bytes);
    }

    /// The fate of each file of a folder.
    pub fn files(&mut self, files: &[SeenFile]) {
        for (number, file) in files.iter().enumerate() {
            let title = if number == 0 { "files" } else { "" };
            self.add(
                title,
                &say!("file {}", file.name),
                format!("{}, {}", file.name, file.fate),
                file.fate.to_string(),
            );
        }
    }

    /// Something in a folder, and what it is.
    pub fn item(&mut self, name: &str, what: &str) {
        self.add(name, name, what.to_owned(), what);
    }

    /// The metadata of a raw directory.
    pub fn raw(&mut self, profile: &Profile) {
        let devices: Vec<u32> = profile.devices.iter().map(|device| device.id()).collect();
        let host = if profile.host.is_some() { word("the host") } else { word("no host") };
        let numbers: Vec<String> = devices.iter().map(u32::to_string).collect();
        let text = match devices.is_empty() {
            true => say!("{host}, no device"),
            false => say!("{host}, {} ({})", count(devices.len(), "device"), numbers.join(", ")),
        };
        self.add("sources", "sources", text, json!({ "host": profile.host.is_some(), "devices": devices }));
        if profile.host.is_none() {
            self.missing.push(word("the host's directory: no names of operators, no calls").to_owned());
        }
        if profile.devices.is_empty() {
            self.missing.push(word(NO_DEVICE).to_owned());
        }
    }

    /// A line each.
    pub fn to_text(&self) -> String {
        let width = self
            .facts
            .iter()
            .map(|fact| opscope_say::width(&printable(word(&fact.title))))
            .max()
            .unwrap_or(0)
            .max(10);
        let mut text = String::new();
        for fact in &self.facts {
            let Some(told) = &fact.text else { continue };
            let title = padded(&printable(word(&fact.title)), width);
            let _ = writeln!(text, "{} {}", bold(&title), printable(&sentence(told)));
        }
        text.push_str(&self.losses);
        for missing in &self.missing {
            let _ = writeln!(text, "{} {}", label("missing", width), printable(&sentence(missing)));
        }
        text
    }

    /// An object with a member for each fact.
    pub fn to_json(&self) -> Value {
        let members = self.facts.iter().map(|fact| (fact.key.clone(), fact.value.clone()));
        Value::Object(members.collect::<Map<_, _>>())
    }
}

/// Says what is in a trace, and what isn't.
pub fn of_trace(trace: &Trace, facts: &mut Facts) {
    let text = |id| trace.strings.get(id);
    for (key, value) in trace.run.shown() {
        let shown = match &value {
            FactValue::Bytes(bytes) => units::bytes(*bytes as f64),
            other => other.to_string(),
        };
        facts.add(&key, &key, shown, value.to_string());
    }
    if let (Some(begin), Some(zero)) = (trace.begin(), trace.clock.unix_zero) {
        facts.add("begins", "begin_unix_ns", utc(begin), begin);
        facts.add_value("unix_zero_ns", zero);
    }
    if let Some((first, last)) = trace.extent() {
        facts.add("extent", "extent_ns", units::duration(last - first), (last - first).0);
    }
    for (_, device) in trace.devices.iter() {
        let named = format!("{} {} {}", device.kind.name(), device.number, text(device.name));
        let key = say!("device {}", device.number);
        facts.add("device", &key, named.trim_end().to_owned(), text(device.name));
    }
    let models: Vec<&str> =
        trace.models.name().iter().map(|&id| text(id)).filter(|name| !name.is_empty()).collect();
    if !models.is_empty() {
        facts.add("models", "models", models.join(", "), json!(models));
    }
    let warm_up = trace.iterations.warm_up().iter().filter(|&&warm_up| warm_up).count();
    let iterations = trace.iterations.len();
    let note = if warm_up > 0 { say!(", {warm_up} of them to warm up") } else { String::new() };
    let value = json!({ "count": iterations, "warm_up": warm_up });
    facts.add("iterations", "iterations", format!("{iterations}{note}"), value);
    if !trace.unrecorded_iterations.is_empty() {
        let unrecorded = trace.unrecorded_iterations.len();
        facts.add("unrecorded", "unrecorded_iterations", say!("{unrecorded} more, timed only"), unrecorded);
    }
    of_tasks(trace, facts);
    let mut levels: BTreeMap<&str, usize> = BTreeMap::new();
    trace.api_calls.level().iter().for_each(|level| *levels.entry(level.name()).or_default() += 1);
    let named = if levels.is_empty() { String::new() } else { format!(": {}", most_frequent(&levels)) };
    facts.add("calls", "calls", format!("{}{named}", trace.api_calls.len()), json!(levels));
    facts.add("ranges", "ranges", trace.ranges.len().to_string(), trace.ranges.len());
    let names: Vec<&str> = trace.counters.name().iter().map(|&id| text(id)).collect();
    let mut few: Vec<&str> = names.iter().take(8).copied().collect();
    if names.len() > few.len() {
        few.push("…");
    }
    let list = if few.is_empty() { String::new() } else { format!(": {}", few.join(", ")) };
    let value = json!({ "names": names, "samples": trace.samples.len() });
    facts.add(
        "counters",
        "counters",
        say!("{} with {}{list}", names.len(), count(trace.samples.len(), "sample")),
        value,
    );
    if !trace.readings.is_empty() {
        let metrics = count(trace.metrics.len(), "metric");
        let value = json!({ "tasks": trace.readings.len(), "metrics": trace.metrics.len() });
        facts.add("hardware", "metrics", say!("{metrics} of {}", count(trace.readings.len(), "task")), value);
    }
    let stated = stated_lines(trace);
    for (number, line) in stated.iter().enumerate() {
        facts.add(
            if number == 0 { "stated" } else { "" },
            &say!("stated {}", number + 1),
            line.clone(),
            line.clone(),
        );
    }
    if !trace.launch_sites.is_empty() {
        let known = trace.launch_sites.len();
        let stacks = trace.launch_sites.stack().iter().flatten().count();
        let text = say!("known for {}, with the program's lines for {stacks}", count(known, "task"));
        facts.add("origins", "launch_sites", text, json!({ "tasks": known, "with_stacks": stacks }));
    }
    facts.losses = losses_text(trace);
    facts.add("losses", "losses", trace.losses.len().to_string(), json!(losses_json(trace)));
    missing(trace, facts);
}

fn of_tasks(trace: &Trace, facts: &mut Facts) {
    let mut units: BTreeMap<&str, usize> = BTreeMap::new();
    trace.tasks.unit().iter().for_each(|unit| *units.entry(unit.name()).or_default() += 1);
    let named = if units.is_empty() { String::new() } else { format!(": {}", most_frequent(&units)) };
    let text = say!("{} on {}{named}", trace.tasks.len(), count(trace.streams.len(), "stream"));
    let value = json!({ "count": trace.tasks.len(), "streams": trace.streams.len(), "units": units });
    facts.add("tasks", "tasks", text, value);
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    trace.operators.op_type().iter().for_each(|&id| *types.entry(trace.strings.get(id)).or_default() += 1);
    let named = if types.is_empty() { String::new() } else { format!(": {}", most_frequent(&types)) };
    let value = json!({ "count": trace.operators.len(), "types": types });
    facts.add("operators", "operators", format!("{}{named}", trace.operators.len()), value);
}

/// Files that only sum up, but for those of Ascend devices.
enum Summed {
    Samples,
    OfAmd,
}

/// Parts of a profile that one might look for in vain.
fn missing(trace: &Trace, facts: &mut Facts) {
    if trace.tasks.is_empty() && trace.api_calls.is_empty() && !trace.figures.is_empty() {
        let of_ascend = word(
            "tasks, calls, times: this file only sums up; give the folder that it is in, or its timeline, \
                   database, kernel_details.csv or op_summary_*.csv",
        );
        let of_phones = matches!(trace.run.format, Some(ProfileFormat::Ncnn | ProfileFormat::Mnn));
        let is_of = |(topic, source): (&FigureTopic, &StringId)| match topic {
            FigureTopic::Function => Some(Summed::Samples),
            _ if trace.strings.get(*source) == rocm::SOURCE => Some(Summed::OfAmd),
            _ => None,
        };
        let all = match trace.figures.topic().iter().zip(trace.figures.source()).find_map(is_of) {
            _ if of_phones => word("tasks, calls: this text tells times of whole networks"),
            Some(Summed::Samples) => word("tasks, calls, times: samples tell how often, and not when"),
            Some(Summed::OfAmd) => word(
                "tasks, calls, times: this table only sums up; give the folder that it is in, or its \
                       *_kernel_trace.csv or *_api_trace.csv",
            ),
            None => of_ascend,
        };
        facts.missing.push(all.to_owned());
        return;
    }
    if !trace.tasks.is_empty() {
        let no_device = word(NO_DEVICE);
        let of_host = word("the device's directory: tasks are the host's");
        facts
            .missing
            .iter_mut()
            .filter(|missing| *missing == no_device)
            .for_each(|missing| *missing = of_host.to_owned());
    }
    let operators = &trace.operators;
    let ran = |id: &usize| operators.attribution()[*id] != Attribution::Removed;
    let share = |known: usize| say!("{known} of {}", operators.len());
    let flops = (0..operators.len()).filter(ran).filter(|&id| operators.flops()[id].is_some()).count();
    let shapes = operators.first_input().iter().zip(operators.first_output());
    let shapes = shapes.filter(|(input, output)| input.is_some() || output.is_some()).count();
    let typed = trace.tensors.data_type().iter().filter(|&&known| known != DataType::Unknown).count();
    let waits = trace.tasks.wait().iter().any(Option::is_some);
    let launched = trace.tasks.launched_by().iter().any(Option::is_some);
    let checks = [
        (trace.tasks.is_empty(), word("tasks: nothing tells what executed").to_owned()),
        (trace.iterations.is_empty(), word("iterations: figures are of the whole profile").to_owned()),
        (
            !trace.tasks.is_empty() && operators.is_empty(),
            word("operators: tasks have names only").to_owned(),
        ),
        (!operators.is_empty() && shapes == 0, word("shapes of operators").to_owned()),
        (
            !operators.is_empty() && flops == 0,
            word("operations of operators: no rates, no roofline").to_owned(),
        ),
        (
            flops > 0 && flops < operators.len(),
            say!("operations of some operators: known for {}", share(flops)),
        ),
        (shapes > 0 && typed == 0, word("types of elements").to_owned()),
        (trace.api_calls.is_empty(), word("calls of the host").to_owned()),
        (
            !trace.tasks.is_empty() && !waits && !launched,
            word("waiting: how long tasks were queued isn't recorded").to_owned(),
        ),
        (
            trace.clock.unix_zero.is_none(),
            word("the wall-clock time: it can't be laid over another profile").to_owned(),
        ),
    ];
    facts.missing.extend(checks.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, what)| what));
}

/// Says of how many operators a library has which types of elements, and how many take inputs of any size.
pub fn of_operator_library(library: &OperatorLibrary, facts: &mut Facts) {
    let operators = library.operators.len();
    facts.add("operators", "operators", operators.to_string(), operators);
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for input_type in library.operators.values().flat_map(|operator| &operator.input_types) {
        *types.entry(input_type).or_default() += 1;
    }
    if !types.is_empty() {
        let text = say!("{} (how many operators read each)", most_frequent(&types));
        facts.add("element types", "element_types", text, json!(types));
    }
    let dynamic = library.operators.values().filter(|operator| operator.is_dynamic).count();
    facts.add("dynamic sizes", "dynamic_operators", count(dynamic, "operator"), dynamic);
}

/// Says how many layers an engine has; their times are in another file.
pub fn of_engine_layers(layers: &LayerInfo, facts: &mut Facts) {
    facts.add("layers", "layers", layers.len().to_string(), layers.len());
    let times = word(
        "times of the layers: put it beside the profile of the same engine (trtexec --exportProfile), and give that one",
    );
    facts.missing.push(times.to_owned());
}

/// Words by how often they occur: `Conv 12, Relu 11, … 7 more`.
fn most_frequent(counts: &BTreeMap<&str, usize>) -> String {
    const NAMED: usize = 6;
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named = sorted.iter().take(NAMED).map(|(word, count)| format!("{word} {count}"));
    let mut text = named.collect::<Vec<_>>().join(", ");
    if sorted.len() > NAMED {
        let _ = write!(text, "{}", say!(", {} more kinds", sorted.len() - NAMED));
    }
    text
}

/// A time since 1970 in nanoseconds as a date and time of day (Howard Hinnant's "days from civil",
/// turned round).
fn utc(nanoseconds: i64) -> String {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Nanoseconds, Task};

    use super::*;

    #[test]
    fn a_trace_begins_with_its_first_record_and_not_at_the_zero_of_its_clock() {
        let mut trace = Trace::new();
        trace.clock.unix_zero = Some(951_782_399_000_000_000);
        let name = trace.strings.intern("x");
        trace.tasks.push(Task::new(name, Nanoseconds(1_000_000_000), Nanoseconds(5)));
        let mut facts = Facts::default();
        of_trace(&trace, &mut facts);
        let text = facts.to_text();
        assert!(text.contains("2000-02-29 00:00:00 UTC") && !text.contains("2000-02-28"), "{text}");
        let json = facts.to_json();
        assert_eq!(json["begin_unix_ns"], 951_782_400_000_000_000_i64);
        assert_eq!(json["unix_zero_ns"], 951_782_399_000_000_000_i64);
    }

    #[test]
    fn a_directory_without_a_device_lacks_no_times_where_the_host_ran_tasks() {
        let mut trace = Trace::new();
        let lacks_times = |trace: &Trace| {
            let mut facts = Facts { missing: vec![word(NO_DEVICE).to_owned()], ..Facts::default() };
            of_trace(trace, &mut facts);
            facts.missing.iter().any(|missing| missing.contains("no times of tasks"))
        };
        assert!(lacks_times(&trace));
        let name = trace.strings.intern("x");
        trace.tasks.push(Task::new(name, Nanoseconds(0), Nanoseconds(5)));
        assert!(!lacks_times(&trace));
    }

    #[test]
    fn times_since_1970_become_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_399_000_000_000), "2000-02-28 23:59:59 UTC");
        assert_eq!(utc(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_736_412_474_730_135_222), "2025-01-09 08:47:54 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59:59 UTC");
        assert!(!utc(i64::MIN).is_empty() && !utc(i64::MAX).is_empty());
    }
}
