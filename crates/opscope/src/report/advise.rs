//! The findings of rules, as text and as JSON.

use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use opscope_advise::{Does, Done, Evidence, Finding, NotRun, Report, Rule, Subject, Text, Whole};
use opscope_say::{Language, chosen, padded, say, sentence, word};
use opscope_trace::units;
use serde::Serialize;

use super::{Envelope, Table, TableColumn};
use crate::profile::losses_beside_graph;
use crate::terminal::{bold, command_line, dim, printable};

/// How many rows of evidence are shown of each finding.
const ROWS: usize = 3;

/// The part of a report that is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// How many findings; 0 is all.
    pub top: usize,
    /// Whether the rules that weren't asked are listed, and not only counted.
    pub lists_unasked: bool,
    /// The width of the terminal.
    pub width: Option<u16>,
}

/// The findings as text. `model` is what commands are to be applied to.
pub fn to_text(subject: &Subject<'_>, report: &Report, model: Option<&Path>, shown: Shown) -> String {
    let mut text = String::new();
    let mut facts = vec![say!("{} rules", report.asked), say!("target {}", word(subject.target.name()))];
    if subject.total.0 > 0 {
        facts.insert(0, say!("{} in operators", units::duration(subject.total)));
    }
    let _ = writeln!(text, "{} {}", bold(word("advice")), dim(&say!("({})", facts.join(word(", ")))));
    if let Some(together) = report.together {
        let share = together.0 as f64 / subject.total.0.max(1) as f64;
        let _ = writeln!(
            text,
            "{}",
            say!(
                "All findings together concern at most {} of that ({}); what several of them name is counted once.",
                units::duration(together),
                units::percent(share)
            )
        );
    }
    text.push('\n');
    if report.findings.is_empty() {
        text.push_str(word("Nothing was found.\n\n"));
    }
    let top = if shown.top == 0 { usize::MAX } else { shown.top };
    for finding in report.findings.iter().take(top) {
        push_finding(&mut text, finding, model, shown.width);
    }
    if report.findings.len() > top {
        let _ = writeln!(text, "{}\n", dim(&say!("{} more with -t 0", report.findings.len() - top)));
    }
    push_done(&mut text, &report.done, shown.width);
    push_not_run(&mut text, &report.not_run, subject.trace.is_some(), shown.lists_unasked);
    if !report.silenced.is_empty() {
        let _ = writeln!(text, "{} {}", bold(word("silenced")), report.silenced.join(", "));
    }
    text
}

/// The rules whose work the engine has done already, so that nothing is to be saved by them.
fn push_done(text: &mut String, done: &[Done], width: Option<u16>) {
    if done.is_empty() {
        return;
    }
    let each = done.iter().map(|it| say!("{} {} ({})", it.id, done_title(it), it.places));
    let each = each.collect::<Vec<_>>().join(word(", "));
    let _ = writeln!(
        text,
        "{} {}",
        bold(word("done already")),
        dim(word("by the engine: the profile has no such operators of their own, in so many places"))
    );
    push_wrapped(text, "", &each, width);
}

/// The title of a rule's advice in the reader's language.
fn done_title(done: &Done) -> String {
    let rule =
        opscope_advise::rules().into_iter().find(|rule| rule.id == done.id && rule.title == done.title);
    rule.map_or_else(|| sentence(&done.title).into_owned(), |rule| texts(&rule).title)
}

fn push_finding(text: &mut String, finding: &Finding, model: Option<&Path>, width: Option<u16>) {
    let rule = &finding.rule;
    let saves = match (finding.saves, finding.share) {
        (Some(saves), Some(share)) if saves.0 > 0 => {
            let of = match finding.whole {
                Whole::Operators => "",
                Whole::Inference => word(" of the inference"),
                Whole::Profile => word(" of the time from the first task to the last"),
            };
            say!("  at most {} ({}{of})", units::duration(saves), units::percent(share))
        }
        _ => String::new(),
    };
    let also = match finding.also.is_empty() {
        true => String::new(),
        false => dim(&say!(" (also {})", finding.also.join(word(", ")))),
    };
    let said = texts(rule);
    let _ = writeln!(text, "{}{also}  {}{saves}", bold(&rule.id), bold(&said.title));
    if let Some(note) = &finding.note {
        let _ = writeln!(text, "     {}", printable(&sentence(note)));
    }
    for item in finding.evidence.iter().take(ROWS) {
        let _ = writeln!(text, "     {}", evidence(item));
    }
    if finding.evidence.len() > ROWS {
        let _ = writeln!(text, "     {}", dim(&say!("and {} more", finding.evidence.len() - ROWS)));
    }
    for (heading, content) in [("why", &said.why), ("do", &said.advice)] {
        if !content.is_empty() {
            push_wrapped(text, heading, content, width);
        }
    }
    if let Some(line) = by_opscope(finding, model) {
        let heading = if matches!(finding.does, Some(Does::Rewrites(_))) { "with" } else { "but" };
        push_wrapped(text, heading, &line, width);
    }
    let by_opscope = match (&finding.does, &*rule.auto) {
        (Some(Does::Rewrites(_)), _) => word("a rewrite").to_owned(),
        (Some(_), _) | (None, "no") => word("not by opscope").to_owned(),
        (None, auto) => sentence(auto).into_owned(),
    };
    let source = if rule.source.is_empty() {
        String::new()
    } else {
        format!("{}{}", word("; "), sentence(&rule.source))
    };
    let _ = writeln!(text, "     {}\n", dim(&say!("{by_opscope}; {}{source}", word(rule.confidence.name()))));
}

/// The texts of a finding in the reader's language: those of its rule, unless the case has nearer ones.
fn texts(rule: &Rule) -> Text {
    let english = Text { title: rule.title.clone(), why: rule.why.clone(), advice: rule.advice.clone() };
    if chosen() == Language::English {
        return english;
    }
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(opscope_advise::rules);
    let own = RULES.iter().find(|known| known.id == rule.id);
    let said = |case: &str, general: Option<(&str, &str)>| match general {
        Some((general, chinese)) if general == case => chinese.to_owned(),
        _ => sentence(case).into_owned(),
    };
    let general = own.and_then(|own| Some((own, own.zh.as_ref()?)));
    Text {
        title: said(&rule.title, general.map(|(own, zh)| (&*own.title, &*zh.title))),
        why: said(&rule.why, general.map(|(own, zh)| (&*own.why, &*zh.why))),
        advice: said(&rule.advice, general.map(|(own, zh)| (&*own.advice, &*zh.advice))),
    }
}

/// The command that does it, as the rewrites themselves say.
fn by_opscope(finding: &Finding, model: Option<&Path>) -> Option<String> {
    let does = finding.does.as_ref()?;
    let rewrites = match does {
        Does::Rewrites(rewrites) => rewrites,
        Does::Nowhere(_) => {
            return Some(word("opscope's rewrites for it apply nowhere in this model").to_owned());
        }
        Does::Elsewhere(_) => {
            return Some(word("opscope's rewrites for it change none of these operators").to_owned());
        }
        Does::Unsuitable(op_type) => {
            return Some(say!("opscope's rewrite would make {op_type}, which the target lacks"));
        }
        Does::OtherFormat => {
            return Some(
                word("opscope rewrites ONNX models only; change the network that this one is made of")
                    .to_owned(),
            );
        }
    };
    let each: Vec<String> = rewrites
        .iter()
        .map(|matches| {
            let places = matches.places.len();
            let lossy = if matches.lossy { word(", changes results") } else { "" };
            let opset = matches
                .opset
                .map_or(String::new(), |version| say!(", from version {version} of ONNX's operators on"));
            say!("{} at {}{lossy}{opset}", matches.rewrite.id, super::count(places, "place"))
        })
        .collect();
    let model = model.map_or("MODEL.onnx".to_owned(), |path| command_line([path.display().to_string()]));
    Some(say!("opscope rewrite {model} -o OUT.onnx {} ({})", does.options()?, each.join(word("; "))))
}

fn evidence(item: &Evidence) -> String {
    let mut parts = Vec::new();
    parts.extend(item.time.map(units::duration));
    parts.push(printable(&item.name).into_owned());
    if !item.op_type.is_empty() && item.op_type != item.name {
        parts.push(format!("({})", printable(&item.op_type)));
    }
    if !item.detail.is_empty() {
        parts.push(dim(&printable(&sentence(&item.detail))));
    }
    parts.join("  ")
}

/// A paragraph with its heading, broken between words.
fn push_wrapped(text: &mut String, heading: &str, content: &str, width: Option<u16>) {
    let room = usize::from(width.unwrap_or(100)).clamp(40, 100) - 10;
    let mut line = String::new();
    let mut first = true;
    let mut flush = |line: &mut String| {
        let start = padded(if std::mem::take(&mut first) { word(heading) } else { "" }, 4);
        let _ = writeln!(text, "     {start} {line}");
        line.clear();
    };
    for (piece, follows_blank) in pieces(content) {
        let blank = usize::from(follows_blank);
        if !line.is_empty() && opscope_say::width(&line) + blank + opscope_say::width(piece) > room {
            flush(&mut line);
        }
        if !line.is_empty() && follows_blank {
            line.push(' ');
        }
        line.push_str(&printable(piece));
    }
    flush(&mut line);
}

/// The pieces between which a line may be broken, each with whether a blank stands before it: words, and within words
/// of Chinese every letter but for marks, which no line begins with.
fn pieces(content: &str) -> impl Iterator<Item = (&str, bool)> {
    const MARKS: &str = "，。；：、！？）》”’%";
    content.split_whitespace().flat_map(|word| {
        let mut starts = vec![0];
        let mut before = ' ';
        for (at, letter) in word.char_indices() {
            let is_wide = |letter: char| opscope_say::width(letter.encode_utf8(&mut [0; 4])) > 1;
            let opens = matches!(before, '（' | '《' | '“' | '‘');
            let breaks = (is_wide(letter) || is_wide(before)) && !MARKS.contains(letter) && !opens;
            if at > 0 && breaks {
                starts.push(at);
            }
            before = letter;
        }
        let ends = starts[1..].iter().copied().chain([word.len()]).collect::<Vec<_>>();
        starts.into_iter().zip(ends).map(move |(start, end)| (&word[start..end], start == 0))
    })
}

/// The rules that could not run, in a line that names the next best thing to give; or all of them, by what is
/// missing.
fn push_not_run(text: &mut String, not_run: &[NotRun], has_profile: bool, lists: bool) {
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for rule in not_run {
        match missing.iter_mut().find(|(what, _)| *what == rule.missing) {
            Some((_, ids)) => ids.push(&rule.id),
            None => missing.push((&rule.missing, vec![&rule.id])),
        }
    }
    let Some((next, count)) = next_to_give(not_run, has_profile) else { return };
    if lists {
        let _ = writeln!(text, "{} {}", bold(word("not asked")), dim(word("for lack of")));
        for (what, ids) in missing {
            let _ = writeln!(text, "     {}{}{}", sentence(what), word(": "), ids.join(" "));
        }
        return;
    }
    let _ = writeln!(
        text,
        "{}",
        say!(
            "{} {}; next best to give: {next}, for {count} of them {}",
            bold(word("not asked")),
            super::count(not_run.len(), "rule"),
            dim(word("(-v lists all)"))
        )
    );
}

/// The thing that most of the rules that could not run lack, and how many of them do. Several wordings that name
/// one option are one thing, and what an option gives goes before what only another profile can give.
/// Without any profile, one is what is lacking most.
fn next_to_give(not_run: &[NotRun], has_profile: bool) -> Option<(String, usize)> {
    let option = |rule: &NotRun| {
        let (_, rest) = rule.missing.split_once("(--")?;
        rest.split([')', ',', ' ']).next().map(str::to_owned)
    };
    if !has_profile {
        let count = not_run.iter().filter(|rule| option(rule).is_none()).count();
        let profile = word("a profile of the model (opscope run, collect and import make one)");
        return (count > 0).then(|| (profile.to_owned(), count));
    }
    let mut things: Vec<(Option<String>, &str, usize)> = Vec::new();
    for rule in not_run {
        let option = option(rule);
        let is_same = |(known, words, _): &&mut (Option<String>, &str, usize)| match &option {
            Some(_) => *known == option,
            None => *words == rule.missing,
        };
        match things.iter_mut().find(is_same) {
            Some((_, words, count)) => {
                *count += 1;
                // The shortest wording is the most general.
                *words = if rule.missing.len() < words.len() { &rule.missing } else { words };
            }
            None => things.push((option, &rule.missing, 1)),
        }
    }
    // The first of equals is named.
    let best =
        things.into_iter().rev().max_by_key(|(option, _, count)| (option.is_some() && *count > 2, *count));
    best.map(|(_, words, count)| (sentence(words).into_owned(), count))
}

/// All rules in a table.
pub fn list(rules: &[Rule], language: Language) -> String {
    let columns = [
        TableColumn::text("id"),
        TableColumn::text("rule"),
        TableColumn::text("what it finds"),
        TableColumn::text("confidence"),
    ];
    let mut table = Table::new(columns);
    for rule in rules {
        let chinese = rule.zh.as_ref().filter(|_| language == Language::Chinese);
        let title = chinese.map_or(&rule.title, |text| &text.title);
        table.row([rule.id.clone(), rule.name.clone(), title.clone(), rule.confidence.name().to_owned()]);
    }
    table.to_text(None)
}

/// All rules for programs.
pub fn list_json(rules: &[Rule]) -> Envelope<serde_json::Value> {
    let rules: Vec<serde_json::Value> = rules.iter().map(rule_json).collect();
    Envelope::new(1, serde_json::json!({ "rules": rules }))
}

/// A rule for programs.
pub fn explain_json(rule: &Rule) -> Envelope<serde_json::Value> {
    Envelope::new(1, rule_json(rule))
}

fn rule_json(rule: &Rule) -> serde_json::Value {
    serde_json::json!({
        "id": rule.id,
        "name": rule.name,
        "title": rule.title,
        "why": rule.why,
        "advice": rule.advice,
        "zh": rule.zh,
        "auto": rule.auto,
        "kind": rule.kind.name(),
        "confidence": rule.confidence.name(),
        "vendor": rule.vendor,
        "source": rule.source,
        "limits": rule.limits,
    })
}

/// The rewrites for a finding: each with its places, and the command's options.
fn rewrites_json(does: &Does) -> serde_json::Value {
    let rewrites: &[_] = if let Does::Rewrites(rewrites) = does { rewrites } else { &[] };
    let each: Vec<serde_json::Value> = rewrites
        .iter()
        .map(|matches| {
            serde_json::json!({
                "id": matches.rewrite.id,
                "places": matches.places.len(),
                "lossy": matches.lossy,
                "opset": matches.opset,
            })
        })
        .collect();
    serde_json::json!({ "applicable": each, "options": does.options() })
}

/// The answer for programs.
pub fn to_json<'a>(subject: &Subject<'_>, report: &'a Report) -> Envelope<impl Serialize + 'a> {
    #[derive(Serialize)]
    struct Answer<'a> {
        target: &'static str,
        operator_time_ns: i64,
        /// The part of that which could be saved if all findings were followed, each operator counted once.
        saves_together_at_most_ns: Option<i64>,
        rules_asked: usize,
        findings: Vec<FindingJson<'a>>,
        done_already: &'a [Done],
        not_run: &'a [NotRun],
        silenced: &'a [String],
    }
    #[derive(Serialize)]
    struct FindingJson<'a> {
        id: &'a str,
        name: &'a str,
        title: &'a str,
        note: Option<&'a str>,
        saves_at_most_ns: Option<i64>,
        share: Option<f64>,
        /// The whole that the share is of: `operators`, `inference` or `profile`.
        share_of: Whole,
        /// `change`, `figure` or `note`: what one can act on, what only tells, what isn't about time.
        kind: &'static str,
        /// Rules that say the same of the same operators.
        also: &'a [String],
        evidence: &'a [Evidence],
        why: &'a str,
        advice: &'a str,
        /// The texts in Chinese; null of rules that users wrote.
        zh: Option<&'a Text>,
        auto: &'a str,
        /// The rewrites of opscope for it; missing where the rule names none or there is no model.
        #[serde(skip_serializing_if = "Option::is_none")]
        rewrites: Option<serde_json::Value>,
        confidence: &'static str,
        source: &'a str,
        limits: &'a std::collections::BTreeMap<String, f64>,
    }
    fn finding_json(finding: &Finding) -> FindingJson<'_> {
        let rule = &finding.rule;
        FindingJson {
            id: &rule.id,
            name: &rule.name,
            title: &rule.title,
            note: finding.note.as_deref(),
            saves_at_most_ns: finding.saves.map(|saves| saves.0),
            share: finding.share,
            share_of: finding.whole,
            kind: rule.kind.name(),
            also: &finding.also,
            evidence: &finding.evidence,
            why: &rule.why,
            advice: &rule.advice,
            zh: rule.zh.as_ref(),
            auto: &rule.auto,
            rewrites: finding.does.as_ref().map(rewrites_json),
            confidence: rule.confidence.name(),
            source: &rule.source,
            limits: &rule.limits,
        }
    }
    let answer = Answer {
        target: subject.target.name(),
        operator_time_ns: subject.total.0,
        saves_together_at_most_ns: report.together.map(|time| time.0),
        rules_asked: report.asked,
        findings: report.findings.iter().map(finding_json).collect(),
        done_already: &report.done,
        not_run: &report.not_run,
        silenced: &report.silenced,
    };
    Envelope::new(1, answer).with_losses(subject.model.map(losses_beside_graph).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use opscope_advise::{Settings, advise};
    use opscope_model::Model;
    use opscope_model::proto::{
        FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
        TensorProto, ValueInfoProto,
    };

    use super::*;

    #[test]
    fn the_losses_of_a_model_stand_in_the_answer_about_it() {
        let network = "layer { name: 'data' type: 'Data' top: 'data' }
            layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
                convolution_param { num_output: 8 kernel_size: 3 } }";
        let model = Model::from_any_bytes(network.as_bytes().to_vec().into()).unwrap();
        let subject = Subject::new(None, Some(&model), None);
        let found = advise(&subject, &Settings::default());
        let answer = serde_json::to_value(to_json(&subject, &found)).unwrap();
        let text = answer["losses"][0]["text"].as_str().unwrap();
        assert!(text.contains("sizes are not known"), "{text}");
    }

    #[test]
    fn nodes_that_the_graph_does_not_show_stand_in_the_answer_about_a_model() {
        let function = FunctionProto { node: vec![NodeProto::default(); 2], ..FunctionProto::default() };
        let graph = Some(GraphProto::default());
        let proto = ModelProto { graph, functions: vec![function], ..ModelProto::default() };
        let model = Model::from_proto(proto, None).unwrap();
        let subject = Subject::new(None, Some(&model), None);
        let found = advise(&subject, &Settings::default());
        let answer = serde_json::to_value(to_json(&subject, &found)).unwrap();
        assert_eq!(answer["losses"][0]["kind"], "unseen nodes");
        assert!(answer["losses"][0]["text"].as_str().unwrap().ends_with("looked at: 2"), "{answer}");
    }

    #[test]
    fn the_command_that_does_it_takes_paths_with_blanks() {
        let node = |op_type: &str, inputs: &[&str], output: &str| NodeProto {
            op_type: Some(op_type.into()),
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output: vec![output.into()],
            ..NodeProto::default()
        };
        let value = |name: &str| ValueInfoProto { name: Some(name.into()), ..ValueInfoProto::default() };
        let graph = GraphProto {
            node: vec![
                node("Softplus", &["x"], "s"),
                node("Tanh", &["s"], "t"),
                node("Mul", &["x", "t"], "y"),
            ],
            input: vec![value("x")],
            output: vec![value("y")],
            ..GraphProto::default()
        };
        let opset = OperatorSetIdProto { domain: None, version: Some(18) };
        let proto = ModelProto { opset_import: vec![opset], graph: Some(graph), ..ModelProto::default() };
        let model = Model::from_proto(proto, None).unwrap();
        let subject = Subject::new(None, Some(&model), None);
        let findings = advise(&subject, &Settings::default()).findings;
        let mish = findings.iter().find(|finding| finding.rule.id == "G05").unwrap();
        let command = by_opscope(mish, Some(Path::new("my net.onnx"))).unwrap();
        assert!(command.starts_with("opscope rewrite 'my net.onnx' -o OUT.onnx --only G05a"), "{command}");
    }

    #[test]
    fn weights_that_are_not_there_stand_in_the_answer_about_a_model() {
        let place = StringStringEntryProto { key: Some("location".into()), value: Some("gone.bin".into()) };
        let weight = TensorProto {
            name: Some("w".into()),
            data_type: Some(1),
            dims: vec![4],
            data_location: Some(1),
            external_data: vec![place],
            ..TensorProto::default()
        };
        let graph = GraphProto { initializer: vec![weight], ..GraphProto::default() };
        let proto = ModelProto { graph: Some(graph), ..ModelProto::default() };
        let model = Model::from_proto(proto, Some(&std::env::temp_dir())).unwrap();
        let subject = Subject::new(None, Some(&model), None);
        let found = advise(&subject, &Settings::default());
        let answer = serde_json::to_value(to_json(&subject, &found)).unwrap();
        let text = answer["losses"][0]["text"].as_str().unwrap();
        assert!(text.contains("gone.bin"), "{text}");
    }
}
