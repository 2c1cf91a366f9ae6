//! Where an operator ran, as text and JSON.

use std::collections::{HashMap, HashSet};

use opscope_advise::{Why, why_on_ai_cpu};
use opscope_analyze::{Location, Matched, OperatorMatches};
use opscope_say::say;
use opscope_trace::{ExecutionUnit, Nanoseconds, StringId, TaskId, Trace, units};
use serde::Serialize;
use serde_json::{Value, json};

use super::table::UNKNOWN;
use super::{Envelope, Table, TableColumn, count, not_shown};
use crate::terminal::{bold, printable};

/// An operator of a converted model, with the nodes of the network before that it was made of.
#[derive(Clone, Debug, Serialize)]
pub struct MadeOf {
    /// Its name.
    pub operator: String,
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The converter's passes that made it.
    pub passes: Vec<String>,
}

impl MadeOf {
    fn sentence(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(|node| printable(node).into_owned()).collect();
        let nodes =
            if nodes.is_empty() { opscope_say::word("nothing").to_owned() } else { nodes.join(" + ") };
        let by = if self.passes.is_empty() { String::new() } else { say!(", by {}", self.passes.join(", ")) };
        say!("{} was made of {nodes}{}\n", bold(&printable(&self.operator)), printable(&by))
    }
}

/// The operators that a word was found to name, with `top` places of each (0 is all): a sentence, a table and
/// the reasons for each meaning of the word; and what operators of the model were made of.
pub fn to_text(
    trace: &Trace,
    word: &str,
    found: &[OperatorMatches],
    made_of: &[MadeOf],
    top: usize,
    width: Option<u16>,
) -> String {
    let top = if top == 0 { usize::MAX } else { top };
    let texts = found.iter().map(|it| {
        let word = word_of(trace, word, it, made_of);
        let sentence = sentence(word, it);
        let (table, reasons) = (table(trace, &it.locations, top, width), reasons(trace, &it.locations));
        format!("{sentence}{table}{reasons}{}", origins_text(trace, &it.locations, top))
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if made_of.is_empty() {
        return text;
    }
    let sentences = made_of.iter().take(top).map(MadeOf::sentence).collect::<String>();
    format!("{text}\n{sentences}{}", not_shown(made_of.len().saturating_sub(top)))
}

/// The word that operators are spoken of by: their own name where they were found by a node that they were made of.
fn word_of<'a>(trace: &'a Trace, word: &'a str, found: &OperatorMatches, made_of: &[MadeOf]) -> &'a str {
    let own = found.locations.first().map(|location| trace.strings.get(location.name));
    own.filter(|own| found.matched == Matched::Name && made_of.iter().any(|made| made.operator == *own))
        .unwrap_or(word)
}

/// The same for programs: the first meaning of the word, and others as `also`, as a list where there are several.
pub fn to_json(
    trace: &Trace,
    first: &OperatorMatches,
    others: &[OperatorMatches],
    made_of: &[MadeOf],
) -> Envelope<Value> {
    let mut answer = matches_json(trace, first);
    match others {
        [] => {}
        [other] => answer["also"] = matches_json(trace, other),
        others => answer["also"] = others.iter().map(|other| matches_json(trace, other)).collect(),
    }
    if !made_of.is_empty() {
        answer["made_of"] = json!(made_of);
    }
    Envelope::new(1, answer)
}

/// A framework's call that asked for tasks, with the lines of the program that led there.
struct Origin<'t> {
    call: &'t str,
    stack: &'t str,
    tasks: usize,
}

/// The origins of tasks, as far as the framework tells, those of most tasks first.
fn origins<'t>(trace: &'t Trace, locations: &[Location]) -> Vec<Origin<'t>> {
    let wanted: HashSet<TaskId> = locations.iter().flat_map(|it| it.tasks.iter().copied()).collect();
    let mut found: Vec<Origin<'t>> = Vec::new();
    let mut places: HashMap<(StringId, Option<StringId>), usize> = HashMap::new();
    for (_, site) in trace.launch_sites.iter().filter(|(_, site)| wanted.contains(&site.task)) {
        let name = trace.api_calls.name()[site.call.index()];
        let place = *places.entry((name, site.stack)).or_insert_with(|| {
            let stack = site.stack.map_or("", |stack| trace.strings.get(stack));
            found.push(Origin { call: trace.strings.get(name), stack, tasks: 0 });
            found.len() - 1
        });
        found[place].tasks += 1;
    }
    found.sort_by_key(|origin| std::cmp::Reverse(origin.tasks));
    found
}

/// The origins in a paragraph each: the call, and the innermost lines of the program.
fn origins_text(trace: &Trace, locations: &[Location], top: usize) -> String {
    /// The lines of a stack before it becomes tiresome.
    const LINES: usize = 6;
    let mut text = String::new();
    let found = origins(trace, locations);
    for origin in found.iter().take(top) {
        let (call, tasks) = (bold(&printable(origin.call)), count(origin.tasks, "task"));
        text.push_str(&say!("\nAsked for by {call} ({tasks})"));
        let lines: Vec<&str> = origin.stack.lines().collect();
        text.push_str(if lines.is_empty() { "\n" } else { opscope_say::word(", from\n") });
        lines.iter().take(LINES).for_each(|line| text.push_str(&format!("  {}\n", printable(line))));
        if lines.len() > LINES {
            text.push_str(&say!("  … and {} more lines, which --json has\n", lines.len() - LINES));
        }
    }
    text + &not_shown(found.len().saturating_sub(top))
}

/// Why operators are on the device's general processor, a paragraph for each type and reason.
fn reasons(trace: &Trace, locations: &[Location]) -> String {
    let mut known: Vec<(&str, Why)> = Vec::new();
    for location in locations {
        let Some(why) = why(trace, location) else { continue };
        let reason = (trace.strings.get(location.op_type), why);
        if !known.contains(&reason) {
            known.push(reason);
        }
    }
    let paragraph = |(op_type, why): &(&str, Why)| {
        say!(
            "\nWhy {} is there: {}.\nInstead: {}.\n",
            bold(&printable(op_type)),
            opscope_say::sentence(&why.because),
            opscope_say::sentence(&why.instead)
        )
    };
    known.iter().map(paragraph).collect()
}

/// Why an operator is where it is; `None` for one that the cores execute.
fn why(trace: &Trace, location: &Location) -> Option<Why> {
    let task = location.tasks.first().filter(|_| location.unit == ExecutionUnit::AiCpu)?;
    Some(why_on_ai_cpu(trace, trace.tasks.operator()[task.index()]?))
}

/// The answer in a sentence for each unit.
fn sentence(word: &str, found: &OperatorMatches) -> String {
    let word = bold(&printable(word));
    let what = match found.matched {
        Matched::Name => say!("The operator {word}"),
        Matched::Type => say!("Operators of the type {word}"),
        Matched::Part => say!("Operators with {word} in their names"),
    };
    let mut of_units: Vec<(ExecutionUnit, usize, f64)> = Vec::new();
    for location in &found.locations {
        match of_units.iter_mut().find(|(unit, ..)| *unit == location.unit) {
            Some((_, tasks, share)) => {
                *tasks += location.tasks.len();
                *share += location.share;
            }
            None => of_units.push((location.unit, location.tasks.len(), location.share)),
        }
    }
    let parts: Vec<String> = of_units
        .iter()
        .map(|(unit, tasks, share)| {
            let (unit, tasks) = (bold(spoken(*unit)), count(*tasks, "task"));
            match found.counted {
                true => say!("on {unit} ({tasks}, {} of all operators' time)", units::percent(*share)),
                false => say!("on {unit} ({tasks})"),
            }
        })
        .collect();
    let uncounted = match found.counted {
        true => "",
        false => opscope_say::word(
            ".\nNo figure of operators counts that: the tasks only wait or handle streams, or lie outside of the \
             measured iterations. Shares are of all tasks",
        ),
    };
    say!("{what} ran {}{uncounted}.\n\n", parts.join(opscope_say::word(" and ")))
}

/// A unit's name in a sentence.
fn spoken(unit: ExecutionUnit) -> &'static str {
    match unit {
        ExecutionUnit::Cpu => opscope_say::word("the host's processor"),
        ExecutionUnit::Gpu => opscope_say::word("the GPU"),
        ExecutionUnit::AiCore => opscope_say::word("the AI Core"),
        ExecutionUnit::AiVectorCore => opscope_say::word("the vector core"),
        ExecutionUnit::MixAiCore => opscope_say::word("the AI Core with vector cores"),
        ExecutionUnit::MixVectorCore => opscope_say::word("the vector core with AI Cores"),
        ExecutionUnit::AiCpu => opscope_say::word("the AI CPU"),
        ExecutionUnit::Dvpp => opscope_say::word("the DVPP"),
        ExecutionUnit::Communication => opscope_say::word("the communication units"),
        ExecutionUnit::MemoryCopy => opscope_say::word("the copy engine"),
        ExecutionUnit::Control => opscope_say::word("the task scheduler"),
        ExecutionUnit::Other => opscope_say::word("a unit that the profile doesn't name"),
    }
}

/// Whether operators are of several models, which then tell them apart; otherwise forms of a profile name one model
/// by its number or its name.
fn are_of_several(locations: &[Location]) -> bool {
    locations.iter().any(|location| location.model != locations[0].model)
}

fn table(trace: &Trace, locations: &[Location], top: usize, width: Option<u16>) -> String {
    let several = are_of_several(locations);
    let model = several.then(|| TableColumn::text("model"));
    let columns = [
        TableColumn::text("unit"),
        TableColumn::number("tasks"),
        TableColumn::number("time"),
        TableColumn::number("mean"),
        TableColumn::number("share"),
        TableColumn::text("streams").expendable(),
        TableColumn::text("task ids"),
    ];
    let named = [TableColumn::text("operator"), TableColumn::text("type")];
    let mut table = Table::new(named.into_iter().chain(model).chain(columns));
    for location in locations.iter().take(top) {
        let model = model_name(trace, location).unwrap_or_else(|| UNKNOWN.to_owned());
        let mean = location.time.0 / location.tasks.len().max(1) as i64;
        let streams = location.tasks.iter().filter_map(|task| stream_number(trace, *task));
        let numbers = location.tasks.iter().filter_map(|task| trace.tasks.number()[task.index()]);
        let named = [location.name, location.op_type].map(|id| trace.strings.get(id).to_owned());
        let cells = [
            location.unit.name().to_owned(),
            location.tasks.len().to_string(),
            units::duration(location.time),
            units::duration(Nanoseconds(mean)),
            units::percent(location.share),
            list(streams.collect()),
            list(numbers.map(u64::from).collect()),
        ];
        table.row(named.into_iter().chain(several.then_some(model)).chain(cells));
    }
    format!("{}{}", table.to_text(width), not_shown(locations.len().saturating_sub(top)))
}

/// The name of a location's model, or its number where it has none.
fn model_name(trace: &Trace, location: &Location) -> Option<String> {
    let model = trace.models.get(location.model?);
    let name = trace.strings.get(model.name);
    // Some forms name a model without a name by its number.
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    Some(match (is_number, name) {
        (true, "") => format!("model {}", model.number),
        (true, number) => format!("model {number}"),
        (false, name) => name.to_owned(),
    })
}

fn stream_number(trace: &Trace, task: TaskId) -> Option<u64> {
    trace.tasks.stream()[task.index()].map(|stream| trace.streams.get(stream).number)
}

/// Numbers once each, in order, with those that follow one another as `3-7`.
fn list(mut numbers: Vec<u64>) -> String {
    /// How many runs of numbers are listed.
    const LISTED: usize = 8;
    numbers.sort_unstable();
    numbers.dedup();
    let runs: Vec<&[u64]> = numbers.chunk_by(|a, b| *b == a.saturating_add(1)).collect();
    let mut parts: Vec<String> = runs
        .iter()
        .take(LISTED)
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            run => run.iter().map(u64::to_string).collect(),
        })
        .collect();
    if runs.len() > LISTED {
        parts.push(say!("… ({} in all)", numbers.len()));
    }
    if parts.is_empty() { UNKNOWN.to_owned() } else { parts.join(", ") }
}

fn matches_json(trace: &Trace, matches: &OperatorMatches) -> Value {
    let rows = matches.locations.iter().map(|location| {
        let tasks = location.tasks.iter().map(|task| {
            let row = trace.tasks.get(*task);
            let device = row.stream.map(|stream| trace.devices.get(trace.streams.get(stream).device).number);
            json!({
                "task_id": row.number,
                "stream_id": stream_number(trace, *task),
                "device": device,
                "start_ns": row.start.0,
                "duration_ns": row.duration.0,
            })
        });
        json!({
            "operator": trace.strings.get(location.name),
            "type": trace.strings.get(location.op_type),
            "model": are_of_several(&matches.locations).then(|| model_name(trace, location)),
            "unit": location.unit.name(),
            "time_ns": location.time.0,
            "share": location.share,
            "because": why(trace, location).map(|why| why.because),
            "instead": why(trace, location).map(|why| why.instead),
            "tasks": tasks.collect::<Vec<_>>(),
        })
    });
    let matched = match matches.matched {
        Matched::Name => "name",
        Matched::Type => "type",
        Matched::Part => "part",
    };
    let origins = origins(trace, &matches.locations).into_iter().map(|origin| {
        let stack: Vec<&str> = origin.stack.lines().collect();
        json!({ "call": origin.call, "tasks": origin.tasks, "stack": stack })
    });
    json!({
        "matched": matched,
        "counted": matches.counted,
        "locations": rows.collect::<Vec<_>>(),
        "origins": origins.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_once_and_in_runs() {
        assert_eq!(list(vec![5, 3, 4, 9, 3]), "3-5, 9");
        assert_eq!(list(Vec::new()), "–");
        assert_eq!(list((0..40).step_by(2).collect()), "0, 2, 4, 6, 8, 10, 12, 14, … (20 in all)");
    }
}
