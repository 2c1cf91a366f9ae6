//! Two runs of many ranks beside one another.

use std::collections::{BTreeMap, BTreeSet};

use opscope_analyze::{Difference, Verdict};
use opscope_reach::{CollectiveType, Findings, Role, StepAccount};
use opscope_say::{say, word};
use opscope_trace::Nanoseconds;
use serde_json::{Value, json};

use super::exported;
use super::screen::losses;
use super::{listed, milliseconds, whole};
use crate::report::count;
use crate::report::envelope::Envelope;
use crate::report::table::{Table, TableColumn};

/// A figure of a step that two runs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    /// The step of the rank that takes longest.
    Step,
    /// A part of a rank's mean step.
    Part(&'static str),
    /// The waiting of a mean rank in a kind of collective.
    Waiting(Role, CollectiveType),
    /// The transfers of a kind of collective.
    Transfer(Role, CollectiveType),
    /// The own work of a rank.
    Rank(u32),
}

impl Subject {
    fn text(self) -> String {
        match self {
            Self::Step => word("a step").to_owned(),
            // The word alone is the amount of it in other languages.
            Self::Part("compute") if word("computing") != "computing" => format!("  {}", word("computing")),
            Self::Part(part) => format!("  {}", word(part)),
            Self::Waiting(role, kind) => say!("waiting in {} {}", role.name(), kind.name()),
            Self::Transfer(role, kind) => say!("transfer of {} {}", role.name(), kind.name()),
            Self::Rank(rank) => say!("own work of rank {rank}"),
        }
    }

    /// Whether it is a time in collectives.
    fn is_of_collectives(self) -> bool {
        match self {
            Self::Waiting(..) | Self::Transfer(..) => true,
            Self::Part(part) => !matches!(part, "compute" | "host"),
            Self::Step | Self::Rank(_) => false,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Part(_) => "part",
            Self::Waiting(..) => "waiting",
            Self::Transfer(..) => "transfer",
            Self::Rank(_) => "rank",
        }
    }
}

/// Durations by subject, one for each step.
type Samples = BTreeMap<Subject, BTreeMap<i32, f64>>;

/// A subject in both runs: the means in nanoseconds a step, and whether they differ.
#[derive(Clone, Debug)]
struct Row {
    subject: Subject,
    before: Option<f64>,
    after: Option<f64>,
    difference: Option<Difference>,
    /// A mean step of A.
    step_ns: f64,
    /// Whether a side lacks ranks that the other has, without which waits and transfers are inferred.
    is_inferred: bool,
}

/// The least change that is told, as a share of the figure itself and of a step: less would show as none.
const LEAST_CHANGE: f64 = 5e-4;

/// The least change of a figure that is inferred on a side, as a share of it.
const LEAST_OF_INFERRED: f64 = 0.02;

impl Row {
    /// The change as a part of A: that of the test, whose interval stands beside it, where there is one.
    fn change(&self) -> Option<f64> {
        let (before, after) = self.before.zip(self.after).filter(|(before, _)| *before > 0.0)?;
        Some(self.difference.map_or(after / before - 1.0, |it| it.change))
    }

    fn verdict(&self) -> &'static str {
        let both = self.before.zip(self.after);
        let of_figure = if self.is_inferred { LEAST_OF_INFERRED } else { LEAST_CHANGE };
        let least = |before: f64| (of_figure * before).max(LEAST_CHANGE * self.step_ns);
        let is_small = both.is_some_and(|(before, after)| (after - before).abs() < least(before));
        if is_small && self.difference.is_some() {
            return "within_noise";
        }
        match (&self.difference, self.before.is_some(), self.after.is_some()) {
            (Some(difference), ..) => match difference.verdict {
                Verdict::Faster => "faster",
                Verdict::Slower => "slower",
                Verdict::WithinNoise => "within_noise",
            },
            (None, true, false) => "only_a",
            (None, false, true) => "only_b",
            (None, ..) => "unknown",
        }
    }
}

/// Two runs beside one another.
#[derive(Debug)]
pub struct RunComparison {
    rows: Vec<Row>,
    ranks: (usize, usize),
    steps: (usize, usize),
    remarks: Vec<String>,
}

/// Sets the steps of two runs beside one another.
pub fn compare(before: &Findings, after: &Findings) -> RunComparison {
    let sides = [before, after].map(Side::of);
    let common = ranks_of_both(&sides);
    let (a, b) = (samples(before, common.as_ref()), samples(after, common.as_ref()));
    let mut subjects: Vec<Subject> = a.keys().chain(b.keys()).copied().collect();
    subjects.sort_unstable();
    subjects.dedup();
    let mean =
        |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let steps_of_a: Vec<f64> =
        a.get(&Subject::Step).map(|it| it.values().copied().collect()).unwrap_or_default();
    let step_ns = mean(&steps_of_a).unwrap_or_default();
    let row = |subject: Subject| {
        let values = |samples: &Samples| -> Vec<f64> {
            samples.get(&subject).map(|it| it.values().copied().collect()).unwrap_or_default()
        };
        let (before, after) = (values(&a), values(&b));
        let durations =
            |values: &[f64]| values.iter().map(|it| Nanoseconds(it.round() as i64)).collect::<Vec<_>>();
        let difference = Difference::of(&durations(&before), &durations(&after));
        let is_inferred = common.is_some() && subject.is_of_collectives();
        Row { subject, before: mean(&before), after: mean(&after), difference, step_ns, is_inferred }
    };
    let mut rows: Vec<Row> = subjects.into_iter().map(row).collect();
    // The step and its parts first, in their order; then what changed most.
    let weight = |row: &Row| (row.after.unwrap_or(0.0) - row.before.unwrap_or(0.0)).abs();
    let heads = rows.iter().take_while(|row| matches!(row.subject, Subject::Step | Subject::Part(_))).count();
    rows[heads..].sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let mut remarks = remarks_on(sides);
    if common.is_some() {
        remarks.push(word("parts and waiting are means of the ranks that both have").to_owned());
    }
    let steps = (before.run.steps().len(), after.run.steps().len());
    if steps.0.min(steps.1) < 2 {
        remarks.push(word("one step on a side: nothing can be told from noise; record several").to_owned());
    }
    if rows.first().is_some_and(|row| row.subject == Subject::Step && row.verdict() == "within_noise") {
        let steps_of_b: Vec<f64> =
            b.get(&Subject::Step).map(|it| it.values().copied().collect()).unwrap_or_default();
        remarks.extend(single_long_steps(("A", &steps_of_a), ("B", &steps_of_b)));
        remarks.extend(single_long_steps(("B", &steps_of_b), ("A", &steps_of_a)));
    }
    RunComparison { rows, ranks: (before.run.ranks.len(), after.run.ranks.len()), steps, remarks }
}

/// The steps of a side that take clearly longer than any of the other, which a test of means takes for noise.
fn single_long_steps((side, steps): (&str, &[f64]), (other, others): (&str, &[f64])) -> Option<String> {
    /// By how much a step is longer than the other side's longest, as a part of it.
    const CLEARLY: f64 = 0.02;
    let most = others.iter().copied().reduce(f64::max).filter(|_| others.len() > 1)?;
    let long: Vec<f64> = steps.iter().copied().filter(|step| *step > most * (1.0 + CLEARLY)).collect();
    let longest = long.iter().copied().reduce(f64::max)?;
    Some(say!(
        "steps of {side} that take over 2 % longer than any of {other}: {} of {}, up to {} ms ({other}: {} at most); \
         opscope cluster tells what holds up those of {side}",
        long.len(),
        steps.len(),
        milliseconds(longest),
        milliseconds(most)
    ))
}

/// The ranks of a run, and how its work is divided among them.
struct Side {
    /// The recorded ranks, by their numbers.
    ranks: BTreeSet<u32>,
    /// How many there are with those that weren't.
    count: usize,
    /// The sizes of parallelism; none where the run doesn't tell them.
    layout: Vec<(String, u32)>,
}

impl Side {
    fn of(findings: &Findings) -> Self {
        let ranks: BTreeSet<u32> = findings.run.ranks.iter().map(|rank| rank.number).collect();
        let count = ranks.len() + findings.discovery.missing().len();
        Self { ranks, count, layout: findings.discovery.layout.clone() }
    }

    fn text(&self) -> String {
        let sizes = self.layout.iter().map(|(name, size)| format!("{name} {size}"));
        let sizes: Vec<String> = sizes.collect();
        if sizes.is_empty() {
            count(self.count, "rank")
        } else {
            say!("{} ranks ({})", self.count, sizes.join(", "))
        }
    }

    /// The ranks that the other side lacks.
    fn beside(&self, other: &Self) -> Option<String> {
        let own: Vec<u32> = self.ranks.difference(&other.ranks).copied().collect();
        (!own.is_empty()).then(|| listed(&own))
    }
}

/// The ranks that both sides have, where ranks of one number do the same work and a side lacks some of the other's: means
/// over others would differ without any change.
fn ranks_of_both([a, b]: &[Side; 2]) -> Option<BTreeSet<u32>> {
    let are_alike = a.layout == b.layout && a.count == b.count && a.ranks != b.ranks;
    let common: BTreeSet<u32> = a.ranks.intersection(&b.ranks).copied().collect();
    (are_alike && !common.is_empty()).then_some(common)
}

/// How far ranks of one number do the same work in both runs.
fn remarks_on([a, b]: [Side; 2]) -> Vec<String> {
    let mut remarks = Vec::new();
    let are_told = !a.layout.is_empty() && !b.layout.is_empty();
    if are_told && (&a.layout, a.count) != (&b.layout, b.count) {
        remarks.push(say!("A has {}, B has {}: ranks of one number do other work", a.text(), b.text()));
        return remarks;
    }
    remarks.extend(a.beside(&b).map(|ranks| say!("recorded in A only: ranks {ranks}")));
    remarks.extend(b.beside(&a).map(|ranks| say!("recorded in B only: ranks {ranks}")));
    if a.layout != b.layout || a.count != b.count {
        remarks.push(say!(
            "A has {}, B has {}; whether ranks of one number do the same work isn't known",
            a.text(),
            b.text()
        ));
    }
    remarks
}

/// The collectives of a kind in a step.
#[derive(Default)]
struct OfKind {
    /// The waiting of recorded ranks in them, in nanoseconds.
    waiting: f64,
    /// The transfers of these, in nanoseconds.
    transfer: f64,
}

/// The figures of each step. `of` has the ranks over which parts and waiting are means; all, if it is none.
fn samples(findings: &Findings, of: Option<&BTreeSet<u32>>) -> Samples {
    let run = &findings.run;
    let is_of = |rank: usize| of.is_none_or(|ranks| ranks.contains(&run.ranks[rank].number));
    let mut samples = Samples::new();
    let mut add = |subject, step, value: f64| {
        *samples.entry(subject).or_default().entry(step).or_insert(0.0) += value;
    };
    let mut longest: BTreeMap<i32, f64> = BTreeMap::new();
    // Of each step, the ranks of which it was recorded: means are over them.
    let mut recorded: BTreeMap<i32, f64> = BTreeMap::new();
    let counting = || (0..run.ranks.len()).filter(|rank| run.counts(*rank));
    for step in counting().flat_map(|rank| &run.ranks[rank].steps) {
        let longest = longest.entry(step.step).or_default();
        *longest = longest.max(step.duration_ns as f64);
    }
    for step in counting().filter(|rank| is_of(*rank)).flat_map(|rank| &run.ranks[rank].steps) {
        *recorded.entry(step.step).or_default() += 1.0;
    }
    let count_of = |step: i32| recorded.get(&step).copied().unwrap_or(1.0);
    for index in counting() {
        let rank = &run.ranks[index];
        for account in findings.steps_of(index) {
            let step = account.step;
            for (name, part) in parts(&account).into_iter().filter(|_| is_of(index)) {
                add(Subject::Part(name), step, part / count_of(step));
            }
            add(Subject::Rank(rank.number), step, (account.compute_ns + account.idle_ns) as f64);
        }
    }
    longest.into_iter().for_each(|(step, length)| add(Subject::Step, step, length));
    let mut of_kinds: BTreeMap<(Role, CollectiveType, i32), OfKind> = BTreeMap::new();
    for instance in &run.instances {
        let Some(first) = run.events_of(instance).next() else { continue };
        let role = run.groups[instance.group as usize].role;
        let of_kind = of_kinds.entry((role, first.kind.of_both_sides(), first.step)).or_default();
        // Until a rank that wasn't recorded is taken to have come, others wait for it.
        let begin = findings.peers.absent.begin(run, first.instance);
        let counted = || run.events_of(instance).filter(|event| is_of(event.rank as usize));
        of_kind.waiting += counted().map(|event| (begin - event.start).max(0.0)).sum::<f64>();
        let transfer = instance.tail - findings.peers.absent.later_by(first.instance);
        of_kind.transfer += transfer.max(0.0) * counted().count() as f64;
    }
    // Sums over the ranks that have any in the step, divided by these, are a mean rank's.
    let mut with_parts: BTreeMap<i32, f64> = BTreeMap::new();
    for rank in (0..run.ranks.len()).filter(|rank| is_of(*rank)) {
        let events = &run.events[run.ranks[rank].events.clone()];
        let steps: BTreeSet<i32> =
            events.chunk_by(|a, b| a.step == b.step).map(|of_step| of_step[0].step).collect();
        steps.into_iter().for_each(|step| *with_parts.entry(step).or_default() += 1.0);
    }
    for ((role, kind, step), it) in of_kinds {
        let ranks = with_parts.get(&step).copied().unwrap_or(1.0);
        add(Subject::Waiting(role, kind), step, it.waiting / ranks);
        add(Subject::Transfer(role, kind), step, it.transfer / ranks);
    }
    samples
}

/// The parts of an account, by the names that the screen has for them.
fn parts(account: &StepAccount) -> [(&'static str, f64); 5] {
    [
        ("compute", account.compute_ns as f64),
        ("waiting", account.waiting_ns as f64),
        ("transfer not hidden", account.transfer_ns as f64),
        ("bubble", account.bubble_ns as f64),
        ("host", account.idle_ns as f64),
    ]
}

impl RunComparison {
    /// The rows; `all` adds those within the noise. Returns how many of these are left out.
    fn table(&self, all: bool) -> (Table, usize) {
        let mut table = Table::new([
            TableColumn::text("per step"),
            TableColumn::number("A ms"),
            TableColumn::number("B ms"),
            TableColumn::number("change"),
            TableColumn::number("95 % interval"),
            TableColumn::text("verdict"),
        ]);
        let mut hidden = 0;
        for row in &self.rows {
            let is_head = matches!(row.subject, Subject::Step | Subject::Part(_));
            if !all && !is_head && row.verdict() == "within_noise" {
                hidden += 1;
                continue;
            }
            let figure = |value: Option<f64>| value.map_or("–".to_owned(), milliseconds);
            let percent = |part: f64| format!("{:+.1} %", part * 100.0);
            let interval = row.difference.map_or("–".to_owned(), |it| {
                format!("{} … {}", percent(it.interval.0), percent(it.interval.1))
            });
            let change = row.change().map_or("–".to_owned(), percent);
            let verdict = match row.verdict() {
                "within_noise" => word("within the noise"),
                "only_a" => word("only in A"),
                "only_b" => word("only in B"),
                verdict => word(verdict),
            };
            table.row([
                row.subject.text(),
                figure(row.before),
                figure(row.after),
                change,
                interval,
                verdict.to_owned(),
            ]);
        }
        (table, hidden)
    }

    /// The comparison as comma-separated values, with all rows.
    ///
    /// # Errors
    /// Never in practice: memory takes everything.
    pub fn to_csv(&self) -> anyhow::Result<String> {
        let columns = ["kind", "subject", "a_ns", "b_ns", "change", "low", "high", "chance", "verdict"];
        let mut table = exported::table(&columns);
        for row in &self.rows {
            let values = row_json(row);
            table.row(columns.map(|column| exported::value(values[column].clone())));
        }
        table.to_csv()
    }

    /// The comparison as a table of Markdown.
    pub fn to_markdown(&self, all: bool) -> String {
        self.table(all).0.to_markdown()
    }

    /// The comparison for people; `all` shows what lies within the noise as well.
    pub fn to_text(&self, all: bool, width: Option<u16>) -> String {
        let (table, hidden) = self.table(all);
        let (ranks, steps) = (self.ranks, self.steps);
        let mut text =
            say!("A: ranks {}, steps {}; B: ranks {}, steps {}\n", ranks.0, steps.0, ranks.1, steps.1);
        self.remarks.iter().for_each(|remark| text.push_str(&format!("{remark}\n")));
        text.push('\n');
        text.push_str(&table.to_text(width));
        if hidden > 0 {
            text.push_str(&say!("\n{hidden} more lie within the noise (--all shows them)\n"));
        }
        text
    }

    /// The comparison for programs.
    pub fn to_json(&self, before: &Findings, after: &Findings) -> Envelope<Value> {
        let answer = json!({
            "ranks": [self.ranks.0, self.ranks.1],
            "steps": [self.steps.0, self.steps.1],
            "remarks": self.remarks,
            "rows": self.rows.iter().map(row_json).collect::<Vec<_>>(),
        });
        let lost = losses(before).into_iter().chain(losses(after)).collect();
        Envelope::new(1, answer).with_losses(lost)
    }
}

/// A row for programs.
fn row_json(row: &Row) -> Value {
    json!({
        "kind": row.subject.kind(),
        "subject": row.subject.text().trim(),
        "a_ns": row.before.map(whole),
        "b_ns": row.after.map(whole),
        "change": row.change(),
        "low": row.difference.map(|it| it.interval.0),
        "high": row.difference.map(|it| it.interval.1),
        "chance": row.difference.map(|it| it.chance),
        "verdict": row.verdict(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(ranks: std::ops::Range<u32>, count: usize, layout: &[(&str, u32)]) -> Side {
        let layout = layout.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        Side { ranks: ranks.collect(), count, layout }
    }

    #[test]
    fn steps_that_are_longer_than_all_of_the_other_side_are_counted() {
        let (even, uneven) = ([10e6, 10.2e6, 9.9e6], [10e6, 17e6, 10.1e6, 15e6, 10.3e6]);
        let told = single_long_steps(("B", &uneven), ("A", &even)).expect("two such steps");
        assert!(
            told.starts_with("steps of B that take over 2 % longer than any of A: 2 of 5, up to 17.0 ms"),
            "{told}"
        );
        assert_eq!(single_long_steps(("A", &even), ("B", &uneven)), None);
        assert_eq!(single_long_steps(("A", &even), ("B", &[9.9e6, 10.1e6])), None, "a hundredth is noise");
        assert_eq!(
            single_long_steps(("B", &uneven), ("A", &even[..1])),
            None,
            "one step says nothing of noise"
        );
    }

    #[test]
    fn ranks_do_other_work_where_both_runs_tell_other_layouts_only() {
        let layout = [("tp", 2), ("dp", 2)];
        let whole = || side(0..4, 4, &layout);
        assert!(remarks_on([whole(), whole()]).is_empty());
        let other = remarks_on([whole(), side(0..4, 4, &[("dp", 4)])]);
        assert!(other[0].ends_with("ranks of one number do other work"), "{other:?}");
        let partly = remarks_on([whole(), side(0..3, 4, &layout)]);
        assert_eq!(partly, ["recorded in A only: ranks 3"]);
        let untold = remarks_on([whole(), side(0..4, 4, &[])]);
        assert!(untold[0].ends_with("isn't known"), "{untold:?}");
    }
}
