//! The differences between two profiles, as text, Markdown and JSON.

use std::fmt::Write;

use opscope_analyze::{Basis, Change, Comparison, Group, Kinship, Member, SpanBasis, SpanChange, Step, What};
use opscope_say::{say, sentence, word};
use opscope_trace::{Nanoseconds, units};
use serde_json::{Value, json};

use super::table::UNKNOWN;
use super::{Envelope, Table, TableColumn, markdown};
use crate::terminal::{bold, dim, printable};

/// The source of the figures of an inference.
fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Iterations => "mean of the measured inferences",
        Basis::Unrecorded => "median of the measured inferences that weren't recorded",
        Basis::ExecuteCalls => "mean of the calls that execute the model",
        Basis::OperatorTime => "sum of the operators' own time",
        Basis::Range => "longest range that both have",
        Basis::Nothing => "nothing to compare",
    }
}

/// Milliseconds with three decimals, as the vendors' documents have them.
fn ms(time: Nanoseconds) -> String {
    format!("{:.3} ms", time.0 as f64 / 1e6)
}

fn signed(time: Nanoseconds) -> String {
    let sign = if time.0 < 0 { "−" } else { "+" };
    format!("{sign}{}", units::duration(Nanoseconds(time.0.saturating_abs())))
}

fn percent(change: f64) -> String {
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{:.1} %", change.abs() * 100.0)
}

/// The compared parts where only one side knows where its inferences begin and end.
fn extent(comparison: &Comparison<'_>) -> Option<String> {
    const ALIKE: std::ops::RangeInclusive<f64> = 0.8..=1.25;
    let work = comparison.work?;
    let whole = match comparison.whole_profiles {
        true => word("all of both profiles is compared"),
        false => word("an average inference is compared with all of the other side"),
    };
    let work = match ALIKE.contains(&work) {
        true => String::new(),
        false => say!(", and B's figure is of {work:.2} times as many executions as A's"),
    };
    let known = comparison.whole_profiles || !work.is_empty();
    known.then(|| say!("One side knows no inferences: {whole}{work}."))
}

/// The first lines: both figures, the change, the verdict, warnings.
pub fn headline(comparison: &Comparison<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if comparison.basis == Basis::Nothing {
        lines.push(word("The profiles have nothing that can be compared.").to_owned());
        return lines;
    }
    let mut first = format!("{} → {}", ms(comparison.before), ms(comparison.after));
    if let (Some(speed), Some(change)) = (comparison.speed_up(), comparison.relative_change()) {
        let _ = write!(first, "  {speed:.3}x  {}", percent(change));
    }
    lines.push(say!("{first}  ({})", word(basis(comparison.basis))));
    lines.extend(extent(comparison));
    match &comparison.difference {
        Some(difference) => {
            let (low, high) = difference.interval;
            // Single outliers move the means above, but not the test.
            let parts =
                comparison.relative_change().is_some_and(|it| percent(it) != percent(difference.change));
            lines.push(say!(
                "{}: {}{} (95 % interval {} to {}; {} and {} runs)",
                word(difference.verdict.text()),
                if parts { word("without the weight of outliers ") } else { "" },
                percent(difference.change),
                percent(low),
                percent(high),
                difference.counts.0,
                difference.counts.1,
            ));
        }
        None if comparison.is_of_several_networks() => lines.push(mixture().to_owned()),
        None => lines.push(word("A single run on a side says nothing about noise.").to_owned()),
    }
    let alone = match comparison.durations_alone {
        (false, false) => None,
        (true, false) => Some(word("A tells")),
        (false, true) => Some(word("B tells")),
        (true, true) => Some(word("Both tell")),
    };
    if let Some(alone) = alone {
        lines.push(say!(
            "{alone} durations and no starts: nothing is known of the time between operators there."
        ));
    }
    let totals = match comparison.totals {
        (false, false) => None,
        (true, _) => Some(say!(
            "A tells totals by type, functions within others apart: the sums of each kind are compared, no single operators."
        )),
        (false, true) => Some(say!(
            "B tells totals by type, functions within others apart: the sums of each kind are compared, no single operators."
        )),
    };
    lines.extend(totals);
    let of_device = |basis: SpanBasis| comparison.basis == Basis::Iterations && basis != SpanBasis::Recorded;
    let (a, b) = comparison.iteration_basis;
    let sides = [("A", a), ("B", b)].into_iter().filter(|(_, basis)| of_device(*basis)).map(|(side, _)| side);
    let sides: Vec<&str> = sides.collect();
    if !sides.is_empty() {
        lines.push(say!(
            "The iterations of {} last until the device has run them; the host went on to the next before.",
            sides.join(word(" and of "))
        ));
    }
    for suspect in &comparison.suspects {
        let what = if suspect.delta.0 < 0 { "lost" } else { "gained" };
        lines.push(say!(
            "{} {what} {}{}, nearly {} s to the second: a sleep or a time-out is suspected (rule A33)",
            suspect.name,
            ms(Nanoseconds(suspect.delta.0.saturating_abs())),
            if suspect.is_uncovered { word(" in which nothing was recorded") } else { "" },
            suspect.seconds
        ));
    }
    lines.extend(kinship(comparison));
    lines
}

/// Says that inferences of several networks tell nothing of noise.
pub fn mixture() -> &'static str {
    word(
        "A side has inferences of several networks: how these differ says nothing about noise. --network compares one \
         of them.",
    )
}

/// Says so where the profiles aren't known to be of one model.
pub fn kinship(comparison: &Comparison<'_>) -> Option<String> {
    let percent = |(a, b): (f64, f64)| (a * 100.0, b * 100.0);
    match comparison.kinship() {
        Kinship::SameModel => None,
        Kinship::Untold => Some(
            word(
                "Types of operators and their order alone bring these together: nothing tells that they are of one model.",
            )
            .to_owned(),
        ),
        Kinship::DifferentModels => {
            let models = match comparison.models {
                (Some(a), Some(b)) if a != b => say!(" ({a} and {b})"),
                _ => String::new(),
            };
            let ((a, b), (agreeing_a, agreeing_b)) =
                (percent(comparison.matched), percent(comparison.agreeing));
            Some(say!(
                "These seem to be different models{models}: of A's operator time {a:.0} % has a counterpart, of B's \
                 {b:.0} %; by names, nodes or shapes {agreeing_a:.0} % and {agreeing_b:.0} %."
            ))
        }
    }
}

/// The rows of the waterfall that are shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// How many of the greatest changes; 0 for all of them.
    pub top: usize,
    /// Every operator by itself; otherwise changes that are alike are one.
    pub each: bool,
}

impl Shown {
    fn count(self) -> usize {
        if self.top == 0 { usize::MAX } else { self.top }
    }
}

/// From A's figure to B's: the greatest changes of operators one by one, the rest together, and the time that
/// operators don't account for; with bars where there is room for them.
fn waterfall(comparison: &Comparison<'_>, shown: Shown, has_bars: bool) -> Table {
    const BAR: usize = 24;
    let (from, to) = (comparison.before, comparison.after);
    let whole = from.0.max(to.0).max(1) as f64;
    let bar = |time: Nanoseconds| {
        let length = (time.0.unsigned_abs() as f64 / whole * BAR as f64).round() as usize;
        // A step may be many times as long as what all of them lead from and to.
        if length > 2 * BAR { format!("{}…", "█".repeat(2 * BAR)) } else { "█".repeat(length) }
    };
    // The bars stand before the names, so that a long name moves none away from its figures.
    let of_bars = has_bars.then(|| TableColumn::text("").expendable());
    let figures = [TableColumn::number("time"), TableColumn::number("change")];
    let mut table = Table::new(figures.into_iter().chain(of_bars).chain([TableColumn::text("operators")]));
    let mut row = |time: Nanoseconds, change: String, name: String, of_bar: Nanoseconds| {
        let bar = has_bars.then(|| bar(of_bar));
        table.row([units::duration(time), change].into_iter().chain(bar).chain([name]));
    };
    row(from, String::new(), "A".to_owned(), from);
    let mut reached = from;
    for step in comparison.waterfall(shown.count(), shown.each) {
        reached += step.delta;
        row(reached, signed(step.delta), name(&step), step.delta);
    }
    row(to, String::new(), "B".to_owned(), to);
    table
}

/// The name of a step.
fn name(step: &Step<'_, '_>) -> String {
    match &step.what {
        What::Group(group) => title(group),
        What::Family(family) => {
            say!("{} × {} (most: {})", family.count, told(&family.story), names(members(family.greatest)))
        }
        What::Others(_) => word("all others").to_owned(),
        What::Outside => word("outside operators").to_owned(),
        What::Unexplained => word("not explained by operators").to_owned(),
    }
}

/// A story in the reader's language: what became of which types.
fn told(story: &str) -> String {
    match story.rsplit_once(' ') {
        Some((types, change)) if word(change) != change => format!("{types} {}", word(change)),
        _ => sentence(story).into_owned(),
    }
}

/// Says why operators leave a step that isn't explained.
fn why_unexplained(comparison: &Comparison<'_>) -> Option<String> {
    let (before, after) = comparison.outside();
    let more: Vec<&str> =
        [("A", before), ("B", after)].iter().filter(|it| it.1.0 < 0).map(|it| it.0).collect();
    if more.is_empty() {
        let is_of_others = comparison.basis == Basis::Unrecorded;
        return is_of_others.then(|| {
            word("The operators were recorded in other inferences than those that are compared.").to_owned()
        });
    }
    Some(say!(
        "The operators' own times of {} sum to more than its figure: they ran side by side, or were \
         recorded of other inferences.",
        more.join(word(" and of "))
    ))
}

fn names(members: &[Member<'_>]) -> String {
    const NAMED: usize = 3;
    let mut text: Vec<&str> = members.iter().take(NAMED).map(|member| member.name).collect();
    if members.len() > NAMED {
        text.push("…");
    }
    text.join(" + ")
}

/// The name of a group: its story, and the name of the operator.
fn title(group: &Group<'_>) -> String {
    match group.change {
        Change::Merged | Change::Split => format!("{} ({})", told(&group.story()), names(members(group))),
        _ => format!("{}{}{}", told(&group.story()), word(": "), names(members(group))),
    }
}

/// The operators that a group is named after.
fn members<'g, 't>(group: &'g Group<'t>) -> &'g [Member<'t>] {
    if group.after.is_empty() { &group.before } else { &group.after }
}

fn sum(members: &[Member<'_>]) -> Nanoseconds {
    members.iter().map(|member| member.time).sum()
}

/// For a person at a terminal of the given width.
pub fn to_text(comparison: &Comparison<'_>, shown: Shown, width: Option<u16>) -> String {
    let mut text = String::new();
    for (place, line) in headline(comparison).iter().enumerate() {
        let _ = writeln!(text, "{}", if place == 0 { bold(line) } else { printable(line).into_owned() });
    }
    if !comparison.groups.is_empty() {
        let _ = write!(text, "\n{}", waterfall(comparison, shown, true).to_text(width));
        if let Some(why) = why_unexplained(comparison) {
            let _ = writeln!(text, "{}", dim(&why));
        }
        push_counts(&mut text, comparison);
    }
    push_spans(&mut text, comparison, shown);
    text
}

fn push_counts(text: &mut String, comparison: &Comparison<'_>) {
    let kinds = [
        Change::Faster,
        Change::Slower,
        Change::Same,
        Change::Merged,
        Change::Split,
        Change::Vanished,
        Change::Appeared,
    ];
    let counted = kinds.iter().filter_map(|kind| {
        let count = comparison.groups.iter().filter(|group| group.change == *kind).count();
        (count > 0).then(|| format!("{count} {}", word(kind.name())))
    });
    let counted: Vec<String> = counted.collect();
    let _ = writeln!(
        text,
        "\n{}  {}",
        counted.join(word(", ")),
        dim(&say!(
            "matched {:.0} % of A's and {:.0} % of B's operator time",
            comparison.matched.0 * 100.0,
            comparison.matched.1 * 100.0
        ))
    );
}

fn push_spans(text: &mut String, comparison: &Comparison<'_>, shown: Shown) {
    let shown = if shown.top == 0 { usize::MAX } else { shown.top.min(5) };
    let changed = comparison.spans.iter().filter(|span| span.before != span.after);
    let rows: Vec<_> = changed.take(shown).collect();
    if rows.is_empty() {
        return;
    }
    let columns = [
        TableColumn::number("A"),
        TableColumn::number("B"),
        TableColumn::number("change"),
        TableColumn::number(""),
        TableColumn::number("count"),
        TableColumn::text("calls and ranges"),
    ];
    let mut table = Table::new(columns);
    for span in rows {
        let name = if span.is_range { say!("{} (range)", span.title()) } else { span.title() };
        table.row([
            units::duration(span.before),
            units::duration(span.after),
            signed(span.after - span.before),
            span.relative_change().map_or(UNKNOWN.to_owned(), percent),
            counts(span),
            name,
        ]);
    }
    let _ = write!(text, "\n{}", table.to_text(None));
}

/// How often a span comes in an inference of A and of B, or of how many its times are the means.
fn counts(span: &SpanChange) -> String {
    let number = |count: f64| format!("{count:.2}").trim_end_matches('0').trim_end_matches('.').to_owned();
    let [before, after] = [span.counts.0, span.counts.1].map(number);
    let counts = if before == after { after } else { format!("{before} → {after}") };
    if span.of_inference { counts } else { say!("mean of {counts}") }
}

/// For a comment on a change; `remarks` are sentences about its profiles and models.
pub fn to_markdown(
    comparison: &Comparison<'_>,
    shown: Shown,
    remarks: impl IntoIterator<Item = String>,
) -> String {
    let mut text = String::new();
    for (place, line) in headline(comparison).iter().enumerate() {
        let line = markdown::text(line);
        let _ = if place == 0 { writeln!(text, "**{line}**\n") } else { writeln!(text, "{line}\n") };
    }
    for remark in remarks {
        let _ = writeln!(text, "{}\n", markdown::text(&remark));
    }
    if comparison.groups.is_empty() {
        return text;
    }
    text.push_str(&waterfall(comparison, shown, false).to_markdown());
    if let Some(why) = why_unexplained(comparison) {
        let _ = writeln!(text, "\n{why}");
    }
    text
}

/// Everything; `models` says how the models of both sides joined their operators, and is null without any.
pub fn to_json(comparison: &Comparison<'_>, models: Value) -> Envelope<Value> {
    let list_of = |members: &[Member<'_>]| -> Value {
        let member =
            |it: &Member<'_>| json!({ "name": it.name, "op_type": it.op_type, "time_ns": it.time.0 });
        members.iter().map(member).collect()
    };
    let groups: Vec<Value> = comparison
        .groups
        .iter()
        .map(|group| {
            json!({
                "change": group.change.name(),
                "story": group.story(),
                "before": list_of(&group.before),
                "after": list_of(&group.after),
                "before_ns": sum(&group.before).0,
                "after_ns": sum(&group.after).0,
                "delta_ns": group.delta.0,
            })
        })
        .collect();
    let difference = comparison.difference.map(|it| {
        json!({
            "verdict": it.verdict.text(),
            "change": it.change,
            "interval": [it.interval.0, it.interval.1],
            "confidence": 0.95,
            "chance": it.chance,
            "runs": [it.counts.0, it.counts.1],
        })
    });
    let spans: Vec<Value> = comparison
        .spans
        .iter()
        .map(|span| {
            json!({
                "name": span.name,
                "kind": if span.is_range { "range" } else { "call" },
                "place": span.place,
                "of_inference": span.of_inference,
                "before_ns": span.before.0,
                "after_ns": span.after.0,
                "before_count": span.counts.0,
                "after_count": span.counts.1,
            })
        })
        .collect();
    let suspects: Vec<Value> = comparison
        .suspects
        .iter()
        .map(|it| {
            json!({
                "name": it.name,
                "delta_ns": it.delta.0,
                "seconds": it.seconds,
                "unrecorded": it.is_uncovered,
                "rule": "A33",
            })
        })
        .collect();
    let steps: Vec<Value> = comparison
        .waterfall(usize::MAX, false)
        .iter()
        .map(|step| {
            let kind = match step.what {
                What::Group(_) | What::Family(_) | What::Others(_) => "operators",
                What::Outside => "outside operators",
                What::Unexplained => "not explained",
            };
            let story = match &step.what {
                What::Group(group) => Some(group.story()),
                What::Family(family) => Some(family.story.clone()),
                What::Others(_) | What::Outside | What::Unexplained => None,
            };
            json!({ "name": name(step), "kind": kind, "story": story, "delta_ns": step.delta.0 })
        })
        .collect();
    let durations = |of: &[Nanoseconds]| of.iter().map(|it| it.0).collect::<Vec<_>>();
    let inferences = json!({
        "before_ns": durations(&comparison.inferences.0),
        "after_ns": durations(&comparison.inferences.1),
    });
    let answer = json!({
        "basis": basis(comparison.basis),
        "whole_profiles": comparison.whole_profiles,
        "executions_ratio": comparison.work,
        "before_ns": comparison.before.0,
        "after_ns": comparison.after.0,
        "speed_up": comparison.speed_up(),
        "change": comparison.relative_change(),
        "difference": difference,
        "inferences": inferences,
        "networks": { "before": comparison.networks.0, "after": comparison.networks.1 },
        "operators_before_ns": comparison.operators.0.0,
        "operators_after_ns": comparison.operators.1.0,
        "waterfall": steps,
        "matched": { "before": comparison.matched.0, "after": comparison.matched.1 },
        "agreeing": { "before": comparison.agreeing.0, "after": comparison.agreeing.1 },
        "kinship": comparison.kinship().name(),
        "different_models": comparison.is_of_different_models(),
        "groups": groups,
        "spans": spans,
        "suspects": suspects,
        "durations_alone": { "before": comparison.durations_alone.0, "after": comparison.durations_alone.1 },
        "totals": { "before": comparison.totals.0, "after": comparison.totals.1 },
        "models": models,
    });
    Envelope::new(1, answer)
}
