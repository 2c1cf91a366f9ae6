//! The page of a run on many ranks: the answers of the command line as its script reads them, the large tables as
//! columns, and the text for browsers without scripts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use opscope_reach::{
    By, CollectivesFilter, Findings, MatrixRow, Role, StepAccount, matrix, standings, summary,
};
use opscope_say::{Language, choose, chosen, word};
use opscope_web::columns::{Table, to_bytes};
use opscope_web::{Section, fingerprint};
use serde_json::{Map, Value, json};

use super::page_timeline::Drawn;
use super::screen::{self, to_json, to_text};
use super::tables::summary_tables;
use super::{Asked, suspects, whole};

/// Cells of ranks and steps that a page carries; of more, the first steps of all ranks.
const MOST_CELLS: usize = 2_000_000;

/// The groups that a step's parts are told by: the words of `opscope cluster summary --by`.
const GROUPINGS: [(&str, By); 7] = [
    ("step", By::Step),
    ("host", By::Host),
    ("stage", By::Place(Role::Pp)),
    ("dp", By::Place(Role::Dp)),
    ("tp", By::Place(Role::Tp)),
    ("ep", By::Place(Role::Ep)),
    ("cp", By::Place(Role::Cp)),
];

/// A run that is shown as a page.
pub struct RanksPage<'a> {
    /// All that was found.
    pub findings: &'a Findings,
    /// The folders, or the set.
    pub paths: &'a [PathBuf],
    /// The set's run that was chosen.
    pub run: Option<&'a str>,
    /// The name of the run's folder.
    pub name: &'a str,
    /// The words behind a command that ask about this run: paths, and a set's run.
    pub source: &'a str,
    /// The command that makes this page.
    pub command: &'a str,
    /// The language that was chosen: `auto`, `en` or `zh`.
    pub language: &'a str,
}

impl RanksPage<'_> {
    /// The answers for the page's script, and the columns.
    ///
    /// # Errors
    /// When a figure has no form in JSON, which would be a fault of this program.
    pub fn content(&self) -> anyhow::Result<(Value, Vec<u8>)> {
        let findings = self.findings;
        let drawn = Drawn::usual(findings);
        let cells = Cells::of(findings);
        let links = Links::of(findings);
        let mut tables = vec![ranks(findings), cells.table(), links.table()];
        tables.extend(drawn.tables());
        let columns = to_bytes("ranks", &tables);
        let cluster = in_language(Language::English, || serde_json::to_value(to_json(findings)))?;
        let said = |language| in_language(language, || said(findings));
        let answers = json!({
            "schema_version": 1,
            "program": "opscope",
            "program_version": env!("CARGO_PKG_VERSION"),
            "lang": self.language,
            "fingerprint": fingerprint(&columns),
            "name": self.name,
            "source": self.source,
            "command": self.command,
            "cluster": cluster,
            "said": { "en": said(Language::English), "zh": said(Language::Chinese) },
            "summary": summaries(findings),
            "steps": cells.steps,
            "steps_left_out": cells.steps_left_out,
            "places": places(findings),
            "roles": links.roles,
            "types": links.types,
            "transports": links.transports,
            "timeline": drawn.facts(findings),
        });
        Ok((answers, columns))
    }

    /// The answer of `opscope cluster`.
    pub fn text(&self) -> Vec<Section> {
        let text =
            anstream::adapter::strip_str(&to_text(self.findings, self.paths, self.run, None)).to_string();
        vec![Section { heading: word("Ranks").to_owned(), text }]
    }
}

/// Says something in a language, whatever the program speaks.
fn in_language<T>(language: Language, say: impl FnOnce() -> T) -> T {
    let before = chosen();
    choose(language);
    let said = say();
    choose(before);
    said
}

/// The sentences of `opscope cluster`, without a terminal's colours.
fn said(findings: &Findings) -> Value {
    let plain = |text: String| anstream::adapter::strip_str(text.trim()).to_string();
    let suspects = (0..findings.costs.suspects.len()).map(|index| {
        let [number, who, costs, alone, since, why] =
            suspects::cells(findings, index, Asked::default()).map(plain);
        json!({ "number": number, "who": who, "costs": costs, "alone": alone, "since": since, "why": why })
    });
    json!({
        "heading": plain(screen::heading(findings)),
        "headline": plain(screen::headline(findings)),
        "account": plain(screen::account(findings)),
        "clocks": plain(screen::clocks(findings)),
        "suspects": suspects.collect::<Vec<_>>(),
    })
}

/// The rows of `opscope cluster summary --json`, by each property that the run has.
fn summaries(findings: &Findings) -> Map<String, Value> {
    let has = |by: &By| match by {
        By::Place(role) => findings.run.groups.iter().any(|group| group.role == *role),
        _ => true,
    };
    let told = GROUPINGS.into_iter().filter(|(_, by)| has(by));
    told.map(|(of, by)| {
        let tables = summary_tables(findings, &summary(findings, by), of);
        (of.to_owned(), tables.first().map_or(Value::Null, |named| named.to_json()))
    })
    .collect()
}

/// The place of each rank among the hosts' devices, in the order of ranks.
fn places(findings: &Findings) -> Vec<String> {
    (0..findings.run.ranks.len()).map(|rank| findings.run.place(rank)).collect()
}

/// A time that is none below zero.
fn time(nanoseconds: f64) -> u64 {
    whole(nanoseconds).max(0) as u64
}

/// The ranks, each with the means of `opscope cluster summary`.
fn ranks(findings: &Findings) -> Table {
    let rows = summary(findings, By::Rank);
    let by_number: BTreeMap<&str, _> =
        rows.iter().filter_map(|row| Some((row.of.as_deref()?, row))).collect();
    let of_rank: Vec<_> =
        findings.run.ranks.iter().map(|rank| by_number.get(rank.number.to_string().as_str())).collect();
    let part = |part: fn(&opscope_reach::SummaryRow) -> f64| {
        of_rank.iter().map(move |row| row.map_or(0.0, |row| part(row)))
    };
    let mut table = Table::new("ranks", of_rank.len());
    table.delta("rank", findings.run.ranks.iter().map(|rank| u64::from(rank.number)));
    table.whole("host", findings.run.ranks.iter().map(|rank| rank.host as u64));
    table.whole("steps", of_rank.iter().map(|row| row.map_or(0, |row| row.steps as u64)));
    table.whole("step_ns", part(|row| row.step_ns).map(time));
    table.whole("compute_ns", part(|row| row.compute_ns).map(time));
    table.whole("waiting_ns", part(|row| row.waiting_ns).map(time));
    table.whole("bubble_ns", part(|row| row.bubble_ns).map(time));
    table.whole("transfer_ns", part(|row| row.transfer_ns).map(time));
    table.whole("idle_ns", part(|row| row.idle_ns).map(time));
    table.float("unaccounted_ns", part(|row| row.unaccounted_ns).map(f64::round));
    table
}

/// The parts of each rank's steps, rank by rank; none of ranks of which they aren't known.
struct Cells {
    /// The numbers of all steps in order.
    steps: Vec<i32>,
    /// How many steps there are beyond them.
    steps_left_out: usize,
    /// The rank's place, and its step.
    rows: Vec<(usize, StepAccount)>,
}

impl Cells {
    fn of(findings: &Findings) -> Self {
        let ranks = &findings.run.ranks;
        let known: Vec<usize> = (0..ranks.len()).filter(|rank| findings.knows_account(*rank)).collect();
        let mut steps: Vec<i32> =
            known.iter().flat_map(|rank| ranks[*rank].steps.iter().map(|step| step.step)).collect();
        steps.sort_unstable();
        steps.dedup();
        let all = steps.len();
        steps.truncate((MOST_CELLS / ranks.len().max(1)).max(1));
        let of_rank = |rank: usize| findings.steps_of(rank).into_iter().map(move |step| (rank, step));
        let rows = known.into_iter().flat_map(of_rank);
        let rows = rows.filter(|(_, step)| steps.binary_search(&step.step).is_ok());
        Self { rows: rows.collect(), steps_left_out: all - steps.len(), steps }
    }

    fn table(&self) -> Table {
        let part =
            |part: fn(&StepAccount) -> i64| self.rows.iter().map(move |(_, it)| part(it).max(0) as u64);
        let step = |it: &StepAccount| self.steps.binary_search(&it.step).unwrap_or(0) as u64;
        let mut table = Table::new("cells", self.rows.len());
        table.delta("rank", self.rows.iter().map(|(rank, _)| *rank as u64));
        table.whole("step", self.rows.iter().map(|(_, it)| step(it)));
        table.whole("step_ns", part(|it| it.step_ns));
        table.whole("compute_ns", part(|it| it.compute_ns));
        table.whole("waiting_ns", part(|it| it.waiting_ns));
        table.whole("bubble_ns", part(|it| it.bubble_ns));
        table.whole("transfer_ns", part(|it| it.transfer_ns));
        table.whole("idle_ns", part(|it| it.idle_ns));
        table
    }
}

/// The rows of `opscope cluster comm --matrix`, each beside its like.
struct Links {
    rows: Vec<MatrixRow>,
    standings: Vec<Option<opscope_reach::Standing>>,
    roles: Vec<&'static str>,
    types: Vec<&'static str>,
    transports: Vec<&'static str>,
}

impl Links {
    fn of(findings: &Findings) -> Self {
        let rows = matrix(findings, &CollectivesFilter::default());
        let names = |name: fn(&MatrixRow) -> &'static str| {
            let mut names: Vec<&'static str> = rows.iter().map(name).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let (roles, types) = (names(|row| row.role.name()), names(|row| row.kind.name()));
        let transports = names(|row| row.transport.name());
        Self { standings: standings(findings, &rows), roles, types, transports, rows }
    }

    fn table(&self) -> Table {
        let place = |names: &[&str], name: &str| names.binary_search(&name).unwrap_or(0) as u64;
        let standing = |part: fn(&opscope_reach::Standing) -> f64| {
            self.standings.iter().map(move |it| it.as_ref().map_or(0.0, part))
        };
        let mut table = Table::new("links", self.rows.len());
        table.whole("src", self.rows.iter().map(|row| u64::from(row.src)));
        table.whole("dst", self.rows.iter().map(|row| u64::from(row.dst)));
        table.whole("role", self.rows.iter().map(|row| place(&self.roles, row.role.name())));
        table.whole("type", self.rows.iter().map(|row| place(&self.types, row.kind.name())));
        table.whole("transport", self.rows.iter().map(|row| place(&self.transports, row.transport.name())));
        table.float("bytes", self.rows.iter().map(|row| row.bytes));
        table.whole("time_ns", self.rows.iter().map(|row| time(row.time_ns)));
        table.float("gb_per_s", self.rows.iter().map(|row| row.gb_per_s));
        table.float("part_gb_per_s", standing(|it| it.gb_per_s));
        table.float("peers_gb_per_s", standing(|it| it.peers_gb_per_s));
        let is_so = |part: fn(&opscope_reach::Standing) -> bool| {
            self.standings.iter().map(move |it| u64::from(it.as_ref().is_some_and(part)))
        };
        table.whole("is_slow", is_so(|it| it.is_slow));
        table.whole("is_of_opposite", is_so(|it| it.is_of_opposite));
        table
    }
}
