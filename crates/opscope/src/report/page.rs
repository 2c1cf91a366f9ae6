//! The answers that a page about a profile carries, and the text for browsers without scripts.

use opscope_advise::{Report as Advice, Subject};
use opscope_analyze::{
    Answer, BOUND_FROM, Comparison, GroupBy, Iterations, Latencies, Overview, Query, Roofline, SavedParts,
    Scope, Statistics, predict_savings,
};
use opscope_capture::explain::{Topic, of_metric};
use opscope_trace::{Nanoseconds, Trace};
use opscope_web::{Embedded, Section, compute_units, fingerprint};
use serde_json::{Value, json};

use super::advise::Shown;
use super::info::Info;
use super::{advise, analyze, compare, latency_text, overview_json, overview_text};
use crate::profile::Opened;

/// Operators and types in the text for browsers without scripts.
const TOP: usize = 20;

/// Types, facts of a kind, and pieces of evidence for a finding that a page carries: what has more isn't read to
/// its end by anybody, and the columns have all operators.
const MOST: usize = 300;

/// Groups of a comparison that a page carries, the greatest changes first.
const MOST_GROUPS: usize = 2_000;

/// Findings that can be chosen to be tried, and the tasks up to which each choice of several is predicted: a
/// prediction takes as long as the profile has tasks.
const TRIED: usize = 5;
const TASKS_TRIED: usize = 100_000;

/// The profile before a change, and what changed since.
pub struct Against<'a> {
    /// The profile.
    pub profile: &'a Opened,
    /// The name of its file.
    pub name: String,
    /// Whether it is kept in a file or folder.
    pub is_kept: bool,
    /// The differences, from it to the page's own profile.
    pub comparison: Comparison<'a>,
    /// The models that told the nodes of both, for programs; null without.
    pub models: Value,
    /// The same in lines for people.
    pub of_models: Vec<String>,
    /// Its figures.
    pub overview: Overview,
    /// Its columns, where the page carries them.
    pub embedded: Option<&'a Embedded>,
}

/// A profile and the answers about it.
pub struct Page<'a> {
    /// The profile.
    pub profile: &'a Opened,
    /// The name of its file.
    pub name: &'a str,
    /// Whether it is kept in a file or folder, which commands can be asked about.
    pub is_kept: bool,
    /// The language that was chosen: `auto`, `en` or `zh`.
    pub language: &'a str,
    /// The command that makes this report.
    pub command: &'a str,
    /// The known facts of its files.
    pub info: &'a Info,
    /// The figures of the whole.
    pub overview: &'a Overview,
    /// The answer to the usual question.
    pub operators: &'a Answer,
    /// The answer by types.
    pub types: &'a Answer,
    /// The calls of the host.
    pub calls: &'a Answer,
    /// The peaks of the machine.
    pub roofline: Option<Roofline>,
    /// The profile that it is compared with.
    pub against: Option<&'a Against<'a>>,
    /// The subject of the advice.
    pub subject: &'a Subject<'a>,
    /// The advice.
    pub advice: &'a Advice,
    /// The columns.
    pub embedded: &'a Embedded,
}

impl Page<'_> {
    /// All answers, for the page's script.
    ///
    /// # Errors
    /// When a figure has no form in JSON, which would be a fault of this program.
    pub fn answers(&self) -> anyhow::Result<Value> {
        let mut advice =
            serde_json::to_value(advise::to_json(self.subject, self.advice).about([self.profile]))?;
        for finding in advice["findings"].as_array_mut().into_iter().flatten() {
            let evidence = finding["evidence"].as_array_mut().map_or(0, |evidence| {
                let left_out = evidence.len().saturating_sub(MOST);
                evidence.truncate(MOST);
                left_out
            });
            finding["evidence_left_out"] = json!(evidence);
        }
        let roofline = self.roofline.map(|roof| {
            json!({ "flops_per_second": roof.flops, "bytes_per_second": roof.bandwidth, "bound_from": BOUND_FROM })
        });
        Ok(json!({
            "schema_version": 1,
            "program": "opscope",
            "program_version": env!("CARGO_PKG_VERSION"),
            "lang": self.language,
            "fingerprint": fingerprint(&self.embedded.columns),
            "name": self.name,
            "overview": self.overview(),
            "about": self.about(),
            "losses": self.profile.losses(),
            "advice": advice,
            "whatif": self.what_if(),
            "calls": self.calls(),
            "roofline": roofline,
            "against": self.against.map(Against::facts),
            "compare": self.against.map(|against| against.answer(self.profile)).transpose()?,
            "compute_units": compute_units(),
            "timeline": self.embedded.timeline,
            "left_out": self.embedded.left_out,
            "graph": self.embedded.graph,
            "pages": pages(self.profile),
        }))
    }

    fn overview(&self) -> Value {
        let trace: &Trace = self.profile;
        let mut overview = figures(trace, self.overview);
        let waits = self.operators.rows.iter().filter_map(|row| row.wait);
        let waiting: Option<i64> = waits.map(|wait| wait.0).reduce(|sum, wait| sum + wait);
        let (types, rest) = self.types.rows.split_at(self.types.rows.len().min(MOST));
        let types = types.iter().map(|row| {
            json!({
                "type": row.op_type.map_or("", |id| trace.strings.get(id)),
                "time_ns": row.total.0,
                "share": row.share,
                "operators": row.subjects,
                "executions": row.times.count,
                "mean_ns": row.times.mean.0,
            })
        });
        overview["waiting_ns"] = json!(waiting);
        overview["whole_ns"] = json!(self.operators.whole.0);
        overview["types"] = types.collect();
        let time: Nanoseconds = rest.iter().map(|row| row.total).sum();
        overview["types_left_out"] = json!({ "types": rest.len(), "time_ns": time.0 });
        overview
    }

    /// The time of an inference if findings were followed, for every choice of those that could save most; null
    /// where none could.
    fn what_if(&self) -> Value {
        let saving = |(number, finding)| {
            let parts = self.subject.savings([finding]);
            (!parts.is_empty()).then_some(number)
        };
        let mut findings: Vec<usize> = self.advice.findings.iter().enumerate().filter_map(saving).collect();
        findings.sort_by_key(|&number| std::cmp::Reverse(self.advice.findings[number].saves));
        findings.truncate(TRIED);
        if findings.is_empty() {
            return Value::Null;
        }
        let all = (1_usize << findings.len()) - 1;
        let is_choice =
            |choice: &usize| self.overview.tasks <= TASKS_TRIED || choice.is_power_of_two() || *choice == all;
        let choices: Vec<Vec<usize>> = (1..=all)
            .filter(is_choice)
            .map(|choice| {
                let is_chosen = |place: &usize| (choice >> place) & 1 == 1;
                (0..findings.len()).filter(is_chosen).map(|place| findings[place]).collect()
            })
            .collect();
        let cases: Vec<SavedParts> = choices
            .iter()
            .map(|choice| self.subject.savings(choice.iter().map(|&number| &self.advice.findings[number])))
            .collect();
        let predictions = predict_savings(self.profile, &cases);
        let Some(first) = predictions.first() else { return Value::Null };
        let name = |choice: &Vec<usize>| choice.iter().map(usize::to_string).collect::<Vec<_>>().join("+");
        let predicted: serde_json::Map<String, Value> = choices
            .iter()
            .zip(&predictions)
            .map(|(choice, prediction)| (name(choice), json!(prediction.predicted.0)))
            .collect();
        json!({
            "measured_ns": first.measured.0,
            "basis": first.basis.text(),
            "findings": findings,
            "predicted_ns": predicted,
        })
    }

    /// The rows of `opscope analyze --host --json`.
    fn calls(&self) -> Value {
        let of_all = Scope { iterations: Iterations::All, ..Scope::default() };
        let query = Query { host: true, scope: of_all, ..Query::default() };
        let columns = analyze::fitting_columns(self.profile, &query, self.calls);
        let table = analyze::table_of(self.profile, self.calls, &columns, MOST);
        json!({
            "whole_ns": self.calls.whole.0,
            "rows": table.to_json(),
            "rows_left_out": self.calls.rows.len().saturating_sub(MOST),
        })
    }

    fn about(&self) -> Value {
        let mut facts = self.info.facts.to_json();
        if let Some(facts) = facts.as_object_mut() {
            facts.remove("losses");
            // The page tells when the first record was; where the clock counts from, nobody looks for there.
            facts.remove("unix_zero_ns");
            facts.values_mut().for_each(shorten);
        }
        json!({
            "path": self.is_kept.then(|| self.profile.place().to_string_lossy()),
            "kind": self.info.kind,
            "facts": facts,
            "missing": self.info.facts.missing,
            "remarks": self.profile.remarks(),
            "notes": notes(self.profile),
            "command": self.command,
        })
    }

    /// The headline, the top of the tables and the findings.
    pub fn text(&self) -> Vec<Section> {
        let trace: &Trace = self.profile;
        let mut sections = Vec::new();
        let mut add = |heading: &str, text: String| {
            let text = anstream::adapter::strip_str(&text).to_string();
            if !text.trim().is_empty() {
                sections.push(Section { heading: heading.to_owned(), text });
            }
        };
        add("Notes", notes(trace).join("\n"));
        match trace.tasks.is_empty() {
            true => add("What was read", self.info.facts.to_text()),
            false => add("Time", latency_text(trace) + &overview_text(trace, self.overview)),
        }
        for (heading, group_by, answer) in
            [("Operators", GroupBy::Operator, self.operators), ("Types", GroupBy::Type, self.types)]
        {
            if answer.rows.is_empty() {
                continue;
            }
            let query = Query { group_by, ..Query::default() };
            let columns = analyze::fitting_columns(trace, &query, answer);
            let title = analyze::title(&query, answer, &columns, TOP);
            let table = analyze::table_of(trace, answer, &columns, TOP).to_text(None);
            add(heading, format!("{title}\n\n{table}"));
        }
        if let Some(against) = self.against {
            let shown = compare::Shown { top: TOP, each: false };
            let heading = format!("Compared with {}", against.name);
            let models = against.of_models.iter().map(|line| format!("{line}\n"));
            let text = compare::to_text(&against.comparison, shown, None);
            add(&heading, models.fold(text, |text, line| text + &line));
        }
        let shown = Shown { top: TOP, lists_unasked: false, width: None };
        add("Advice", advise::to_text(self.subject, self.advice, None, shown));
        sections
    }
}

impl Against<'_> {
    /// The facts that a page is told of the profile.
    pub fn facts(&self) -> Value {
        let columns = self.embedded;
        json!({
            "name": self.name,
            "path": self.is_kept.then(|| self.profile.place().to_string_lossy()),
            "overview": figures(self.profile, &self.overview),
            "timeline": columns.map(|columns| &columns.timeline),
            "left_out": columns.map(|columns| &columns.left_out),
        })
    }

    /// The answer of `opscope compare --json`; of many groups those that changed most.
    ///
    /// # Errors
    /// When a figure has no form in JSON, which would be a fault of this program.
    pub fn answer(&self, after: &Opened) -> anyhow::Result<Value> {
        let mut answer = serde_json::to_value(
            compare::to_json(&self.comparison, self.models.clone()).about([self.profile, after]),
        )?;
        for (list, most) in [("groups", MOST_GROUPS), ("spans", MOST), ("waterfall", MOST_GROUPS)] {
            let rest =
                answer[list].as_array_mut().map_or(Vec::new(), |rows| rows.split_off(most.min(rows.len())));
            let delta: Nanoseconds =
                rest.iter().filter_map(|row| row["delta_ns"].as_i64()).map(Nanoseconds).sum();
            answer[format!("{list}_left_out")] = json!({ "count": rest.len(), "delta_ns": delta.0 });
        }
        Ok(answer)
    }
}

/// The figures of an average inference, the latency and the peak of memory.
fn figures(trace: &Trace, overview: &Overview) -> Value {
    let run = &trace.run;
    let mut figures = overview_json(trace, overview);
    figures["latency"] = latency(trace);
    figures["peak_memory_bytes"] = json!(run.planned_peak.or(run.peak_memory).map(|bytes| bytes.0));
    figures["peak_memory_operator"] = json!(run.planned_peak_operator);
    figures
}

/// Keeps the most frequent of many words that a fact counts, and the first of many names.
fn shorten(fact: &mut Value) {
    match fact {
        Value::Array(items) => items.truncate(MOST),
        Value::Object(members) => {
            members.values_mut().for_each(shorten);
            if members.len() > MOST {
                let mut sorted: Vec<_> = std::mem::take(members).into_iter().collect();
                sorted.sort_by_key(|(_, count)| std::cmp::Reverse(count.as_u64()));
                sorted.truncate(MOST);
                members.extend(sorted);
            }
        }
        _ => {}
    }
}

/// The latency of an inference; null where there is none.
fn latency(trace: &Trace) -> Value {
    let latencies = Latencies::of(trace, None);
    let Some(figures) = Statistics::of(latencies.headline().iter().copied()) else { return Value::Null };
    json!({
        "basis": if latencies.unrecorded.is_empty() { "recorded" } else { "unrecorded" },
        "count": figures.count,
        "median_ns": figures.median.0,
        "mean_ns": figures.mean.0,
        "p90_ns": figures.p90.0,
        "p99_ns": figures.p99.0,
        "min_ns": figures.min.0,
        "max_ns": figures.max.0,
        "coefficient_of_variation": figures.coefficient_of_variation,
        "recording_ratio": latencies.ratio(),
        "scale": latencies.scale(),
    })
}

/// The pages of `opscope explain` about what hardware measured, each with the names of those quantities.
fn pages(trace: &Trace) -> Vec<Value> {
    let mut pages: Vec<(&Topic, Vec<&str>)> = Vec::new();
    for (_, metric) in trace.metrics.iter() {
        let name = trace.strings.get(metric.name);
        let Some(topic) = of_metric(name) else { continue };
        match pages.iter_mut().find(|(known, _)| *known == topic) {
            Some((_, names)) => names.push(name),
            None => pages.push((topic, vec![name])),
        }
    }
    let page = |(topic, names): (&Topic, Vec<&str>)| {
        let (en, zh) = ([topic.title, topic.text], [topic.title_zh, topic.text_zh]);
        json!({ "name": topic.name, "metrics": names, "en": en, "zh": zh })
    };
    pages.into_iter().map(page).collect()
}

/// Whether notes tell something already.
fn notes_have(notes: &[String], text: &str) -> bool {
    notes.iter().any(|note| note.contains(text))
}

/// Why parts of a page are empty.
fn notes(trace: &Trace) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |text: &str| notes.push(text.to_owned());
    match (trace.tasks.is_empty(), trace.api_calls.is_empty() && trace.ranges.is_empty()) {
        (true, true) => note(
            "The profile holds no operator, no call and no range: nothing tells where its time went. \
             opscope info says what its files hold.",
        ),
        (true, false) => note("The profile holds no operator: only the host's calls and ranges are shown."),
        (false, _) => {}
    }
    for basis in [trace.run.layer_times, trace.run.call_times] {
        if !basis.is_placed() && !notes_have(&notes, basis.name()) {
            notes.push(format!("When anything began was {}.", basis.name()));
        }
    }
    let mut note = |text: &str| notes.push(text.to_owned());
    if !trace.tasks.is_empty() && trace.iterations.is_empty() {
        note("The profile has no inferences: figures are of the whole of it.");
    }
    if trace.tasks.duration().iter().all(|&duration| duration == Nanoseconds::ZERO) && !trace.tasks.is_empty()
    {
        note("All operators of the profile took no time: their times are lost.");
    }
    notes
}
