//! The operators of a rank, summed up by name, type and unit: asked for ranks that are suspects, and for some of
//! their peers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use opscope_formats::reading::decimal;
use opscope_trace::NumberMap;

use super::from_text::{column, computes};
use super::from_trace::{Launches, host_of};
use crate::clocks::median;
use crate::database::{Database, Texts, each_row, number, open, whole};
use crate::discover::Collection;
use crate::error::{Loss, LossReason};
use crate::run::LeftOut;

/// The identity of an operator across ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct OperatorKey {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub op_type: String,
    /// The vendor's word for its unit.
    pub unit: String,
}

impl OperatorKey {
    /// The word for it in a sentence: its type, or its name where the profile tells no type.
    pub fn called(&self) -> &str {
        match &*self.op_type {
            "" | "N/A" if !self.name.is_empty() => &self.name,
            op_type => op_type,
        }
    }

    /// Whether it runs on the device's general processor.
    pub fn is_on_ai_cpu(&self) -> bool {
        self.unit.replace('_', "").eq_ignore_ascii_case("AICPU")
    }
}

/// A computing task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Its start by the rank's own clock, in nanoseconds.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Its operator, by its place in [`Operators::keys`].
    pub key: u32,
    /// The time when its host had launched it.
    pub launch: Launch,
}

/// The time when a host had launched a task, if the profile tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Launch(i64);

impl Launch {
    /// A launch of which nothing is told.
    pub const UNTOLD: Self = Self(i64::MIN);

    /// That at a time, unless it is one that no clock shows.
    pub fn at(time: Option<i64>) -> Self {
        time.filter(|time| (-super::LATEST_NS..super::LATEST_NS).contains(time)).map_or(Self::UNTOLD, Self)
    }

    /// The time.
    pub fn time(self) -> Option<i64> {
        (self != Self::UNTOLD).then_some(self.0)
    }
}

/// A call of the framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name, which many share.
    pub name: Arc<str>,
    /// Its start by the rank's own clock, in nanoseconds.
    pub start: i64,
    /// Its end.
    pub end: i64,
}

impl Call {
    /// Whether it fetches input.
    pub fn fetches_input(&self) -> bool {
        self.name.contains(LOADER)
    }
}

/// The word in the names of calls that fetch input.
const LOADER: &str = "DataLoader";

/// The shortest call that can be why a device waits, in nanoseconds; those that fetch input may be shorter.
const LONG_CALL: i64 = 30_000;

/// Whether a call of the framework is kept. Steps span all that a host does.
pub fn is_kept(name: &str, start: i64, end: i64) -> bool {
    name.contains(LOADER) || end.saturating_sub(start) >= LONG_CALL && !name.starts_with("ProfilerStep")
}

/// An operator's executions on a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Operator {
    /// How often it ran.
    pub count: u64,
    /// How long in all.
    pub total_ns: i64,
    /// The sum over all executions of the first input's first dimension; of experts' products, of their tokens.
    pub rows: u64,
}

/// All operators of a rank, and the gaps before its steps' first.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    /// By name, type and unit.
    pub by_key: BTreeMap<OperatorKey, Operator>,
    /// Start and end of each copy between host and device, by start.
    pub copies: Vec<(i64, i64)>,
    /// All computing tasks, by start.
    pub spans: Vec<Span>,
    /// Their operators; one may be there several times, with other shapes.
    pub keys: Vec<OperatorKey>,
    /// By the same place, the rows of one execution.
    pub rows: Vec<u64>,
    /// Calls of the framework that fetch input, or are long, by start.
    pub calls: Vec<Call>,
    /// The frequency of the AI Cores in MHz, as most of its samples have it (their median), where what tells of the rank
    /// otherwise doesn't tell it.
    pub frequency_mhz: Option<f64>,
}

impl Operators {
    /// Takes out what lies in steps that were left out.
    pub fn leave_out(&mut self, left_out: &LeftOut) {
        let Self { by_key, copies, spans, keys, rows, .. } = self;
        spans.retain(|span| {
            let is_kept = !left_out.has(span.start);
            let place = span.key as usize;
            if !is_kept && let Some(operator) = by_key.get_mut(&keys[place]) {
                operator.count = operator.count.saturating_sub(1);
                operator.total_ns = operator.total_ns.saturating_sub(span.end - span.start);
                operator.rows = operator.rows.saturating_sub(rows[place]);
            }
            is_kept
        });
        by_key.retain(|_, operator| operator.count > 0);
        copies.retain(|(start, _)| !left_out.has(*start));
    }
}

/// The properties by which computing tasks count as of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// The operator.
    pub key: OperatorKey,
    /// Its inputs' shapes, as the profile has them.
    pub shapes: String,
    /// Its inputs' data types, likewise.
    pub types: String,
}

/// A computing task of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ran {
    /// Its start by the rank's own clock, in nanoseconds.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Its kind, by its number.
    pub kind: u32,
    /// The stream's number, where the profile tells.
    pub stream: Option<i32>,
    /// The time when its host had launched it.
    pub launch: Launch,
}

/// Whoever takes what a rank did, record by record in no particular order.
pub trait Work {
    /// Tasks of this kind follow, under a number that counts up from 0.
    fn kind(&mut self, kind: Kind);

    /// A computing task of a kind.
    fn operator(&mut self, ran: Ran);

    /// A copy between host and device.
    fn copy(&mut self, word: &str, start: i64, end: i64);

    /// A call of the framework that is kept.
    fn call(&mut self, name: &str, start: i64, end: i64);

    /// The profile tells of copies between host and device, whether there are any or not.
    fn tells_copies(&mut self) {}

    /// Whether frequencies and marks are wanted.
    fn keeps_all(&self) -> bool {
        false
    }

    /// The frequency of the AI Cores from a time on, in MHz. That of a rank, which reading it tells, is told again to
    /// those alone who keep all.
    fn frequency(&mut self, _time: i64, _megahertz: f64) {}

    /// A range or moment that the program marked.
    fn mark(&mut self, _name: &str, _start: i64, _end: i64) {}
}

/// Hands on what a rank did. Operators that can't be read are missing, as reading the rank has told already; returned are
/// the losses of what only tells of its host.
pub fn each(collection: &Collection, work: &mut dyn Work) -> Vec<Loss> {
    let mut operators = 0;
    let mut losses = Vec::new();
    if let Some(path) = &collection.outputs.database
        && let Ok(database) = open(path)
    {
        let broken = from_database(&database, work, &mut operators);
        let lost = |error: rusqlite::Error| {
            let path = path.display().to_string();
            Loss::new(Some(collection.rank), path, LossReason::Damaged, 1).because(error)
        };
        losses.extend(broken.map(lost));
    }
    if let Some(path) = collection.outputs.kernels.as_ref().filter(|_| operators == 0) {
        let launches = host_of(collection, work, &mut losses);
        let _ = from_kernels(path, &launches, work);
    }
    super::from_trace::each(collection, work);
    losses
}

/// Whether a task can be when it says, and as long.
pub fn can_last(start: i64, end: i64) -> bool {
    (-super::LATEST_NS..super::LATEST_NS).contains(&start)
        && (0..super::LONGEST_NS).contains(&end.saturating_sub(start))
}

/// Sums a rank's operators up.
#[derive(Default)]
pub struct Summing {
    kinds: Vec<(OperatorKey, u64, Operator)>,
    names: BTreeSet<Arc<str>>,
    frequencies: Vec<f64>,
    found: Operators,
}

impl Work for Summing {
    fn kind(&mut self, kind: Kind) {
        let rows = if is_of_experts(&kind.key.op_type) { tokens_of } else { rows_of }(&kind.shapes);
        self.kinds.push((kind.key, rows, Operator::default()));
    }

    fn operator(&mut self, ran: Ran) {
        let Ran { start, end, kind, launch, .. } = ran;
        let known = self.kinds.get_mut(kind as usize).filter(|_| can_last(start, end));
        let Some((_, rows, operator)) = known else { return };
        operator.count += 1;
        operator.total_ns = operator.total_ns.saturating_add(end - start);
        operator.rows = operator.rows.saturating_add(*rows);
        self.found.spans.push(Span { start, end, key: kind, launch });
    }

    fn copy(&mut self, _: &str, start: i64, end: i64) {
        if can_last(start, end) {
            self.found.copies.push((start, end));
        }
    }

    fn call(&mut self, name: &str, start: i64, end: i64) {
        if can_last(start, end) {
            let name = self.names.get(name).cloned().unwrap_or_else(|| {
                let name = Arc::<str>::from(name);
                self.names.insert(Arc::clone(&name));
                name
            });
            self.found.calls.push(Call { name, start, end });
        }
    }

    fn frequency(&mut self, _: i64, megahertz: f64) {
        if megahertz > 0.0 {
            self.frequencies.push(megahertz);
        }
    }
}

impl Summing {
    /// The sums.
    pub fn finish(mut self) -> Operators {
        for (key, rows, of_kind) in self.kinds {
            self.found.keys.push(key.clone());
            self.found.rows.push(rows);
            // Where texts of a damaged database are lost, nothing tells which operators are the same on two ranks.
            if of_kind.count == 0 || key.name.is_empty() && key.op_type.is_empty() {
                continue;
            }
            let operator = self.found.by_key.entry(key).or_default();
            operator.count += of_kind.count;
            operator.total_ns = operator.total_ns.saturating_add(of_kind.total_ns);
            operator.rows = operator.rows.saturating_add(of_kind.rows);
        }
        if !self.frequencies.is_empty() {
            self.found.frequency_mhz = Some(median(&mut self.frequencies));
        }
        self.found.spans.sort_unstable();
        self.found.copies.sort_unstable();
        self.found.calls.sort_unstable_by(|a, b| (a.start, a.end, &a.name).cmp(&(b.start, b.end, &b.name)));
        self.found
    }
}

/// Reads a rank's operators; what tells of its host may be lost.
pub fn operators(collection: &Collection) -> (Operators, Vec<Loss>) {
    let mut sums = Summing::default();
    let losses = each(collection, &mut sums);
    (sums.finish(), losses)
}

/// The first number in a list of shapes such as `"1024,2048;2048,1408"`; 0 of none.
pub fn rows_of(shapes: &str) -> u64 {
    let first = shapes.trim_start_matches('"').split([',', ';', '"']).next();
    first.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The tokens of a product of a rank's experts: the first dimensions of its left sides, which stand first and share
/// their last dimension.
pub fn tokens_of(shapes: &str) -> u64 {
    let shapes: Vec<Vec<u64>> = shapes
        .trim_matches('"')
        .split(';')
        .map(|shape| shape.split(',').map(|size| size.trim().parse().unwrap_or(0)).collect())
        .collect();
    let last = shapes.first().and_then(|shape| shape.last().copied());
    let is_left = |shape: &&Vec<u64>| shape.len() == 2 && shape.last().copied() == last;
    let left = shapes.iter().take(shapes.len().div_ceil(2)).take_while(is_left);
    left.fold(0, |tokens: u64, shape| tokens.saturating_add(shape[0]))
}

/// Whether a type multiplies the tokens of several experts: CANN's, or PyTorch's.
pub fn is_of_experts(op_type: &str) -> bool {
    op_type.starts_with("GroupedMatmul") || op_type == "aten::_grouped_mm"
}

/// Hands on what a database has; returns why what tells of the host breaks off.
fn from_database(database: &Database, work: &mut dyn Work, operators: &mut u64) -> Option<rusqlite::Error> {
    let (texts, _) = Texts::read(database);
    let (launches, broken) = launches(database);
    // Breaking off is no reason to have nothing.
    let _ = tasks_of_database(database, &texts, &launches, work, operators);
    let calls = each_row(database, "PYTORCH_API", &["name", "startNs", "endNs"], |row| {
        let name = texts.get(whole(row, 0));
        if let (Some(start), Some(end)) = (whole(row, 1), whole(row, 2))
            && is_kept(name, start, end)
        {
            work.call(name, start, end);
        }
    });
    let told = if work.keeps_all() { marks_of_database(database, &texts, work) } else { Ok(()) };
    broken.or(calls.err()).or(told.err())
}

/// Hands on frequencies and marks.
fn marks_of_database(database: &Database, texts: &Texts, work: &mut dyn Work) -> rusqlite::Result<()> {
    each_row(database, "AICORE_FREQ", &["timestampNs", "freq"], |row| {
        if let (Some(time), Some(megahertz)) = (whole(row, 0), number(row, 1)) {
            work.frequency(time, megahertz);
        }
    })?;
    each_row(database, "MSTX_EVENTS", &["message", "startNs", "endNs"], |row| {
        if let Some(start) = whole(row, 1) {
            // A mark of one moment has no end in some versions.
            work.mark(texts.get(whole(row, 0)), start, whole(row, 2).unwrap_or(start));
        }
    })
}

/// Hands on the device's tasks.
fn tasks_of_database(
    database: &Database,
    texts: &Texts,
    launches: &NumberMap<i64, i64>,
    work: &mut dyn Work,
    operators: &mut u64,
) -> rusqlite::Result<()> {
    let mut infos = NumberMap::default();
    let mut places: BTreeMap<[i64; 5], u32> = BTreeMap::new();
    let columns = ["globalTaskId", "name", "opType", "taskType", "inputShapes", "inputDataTypes"];
    each_row(database, "COMPUTE_TASK_INFO", &columns, |row| {
        let id = |column| whole(row, column).unwrap_or(-1);
        let next = places.len() as u32;
        let place = *places.entry([id(1), id(2), id(3), id(4), id(5)]).or_insert_with(|| {
            let text = |column| texts.get(Some(id(column))).to_owned();
            let key = OperatorKey { name: text(1), op_type: text(2), unit: text(3) };
            work.kind(Kind { key, shapes: text(4), types: text(5) });
            next
        });
        infos.insert(id(0), place);
    })?;
    let columns = ["globalTaskId", "startNs", "endNs", "taskType", "connectionId", "streamId"];
    work.tells_copies();
    each_row(database, "TASK", &columns, |row| {
        let (Some(start), Some(end)) = (whole(row, 1), whole(row, 2)) else { return };
        match whole(row, 0).and_then(|id| infos.get(&id)) {
            Some(kind) => {
                *operators += u64::from(can_last(start, end));
                let launched = whole(row, 4).and_then(|connection| launches.get(&connection).copied());
                let stream = whole(row, 5).and_then(|number| i32::try_from(number).ok());
                work.operator(Ran { start, end, kind: *kind, stream, launch: Launch::at(launched) });
            }
            None => {
                let word = texts.get(whole(row, 3));
                if word.starts_with("MEMCPY") {
                    work.copy(word, start, end);
                }
            }
        }
    })
}

/// The ends of the host's calls by which tasks are launched, by their connections, and why they break off; of several
/// calls within one another, that of the last.
fn launches(database: &Database) -> (NumberMap<i64, i64>, Option<rusqlite::Error>) {
    let mut launches = NumberMap::default();
    let done = each_row(database, "CANN_API", &["connectionId", "endNs"], |row| {
        if let (Some(connection), Some(end)) = (whole(row, 0), whole(row, 1)) {
            let last: &mut i64 = launches.entry(connection).or_insert(end);
            *last = end.max(*last);
        }
    });
    (launches, done.err())
}

fn from_kernels(path: &std::path::Path, launches: &Launches, work: &mut dyn Work) -> Option<()> {
    let mut reader = csv::Reader::from_path(path).ok()?;
    let headings = reader.byte_headers().ok()?.clone();
    let place = |name| column(&headings, name);
    let (start, duration) = (place("Start Time(us)")?, place("Duration(us)")?);
    let (name, op_type, unit) = (place("Name")?, place("Type")?, place("Accelerator Core")?);
    let (shapes, types) = (place("Input Shapes"), place("Input Data Types"));
    let stream = place("Stream ID").or_else(|| place("Stream Id"));
    let mut row = csv::ByteRecord::new();
    let mut kinds: BTreeMap<Kind, u32> = BTreeMap::new();
    while reader.read_byte_record(&mut row).ok()? {
        if !row.get(unit).is_some_and(computes) {
            continue;
        }
        let text = |column: usize| String::from_utf8_lossy(row.get(column).unwrap_or_default()).into_owned();
        let time = |column: usize| row.get(column).and_then(|text| decimal::from_micros(text).ok());
        if let (Some(start), Some(duration)) = (time(start), time(duration)) {
            let key = OperatorKey { name: text(name), op_type: text(op_type), unit: text(unit) };
            let [shapes, types] = [shapes, types].map(|column| column.map(text).unwrap_or_default());
            let kind = Kind { key, shapes, types };
            let next = kinds.len() as u32;
            let kind = *kinds.entry(kind).or_insert_with_key(|kind| {
                work.kind(kind.clone());
                next
            });
            let stream = stream.and_then(|column| text(column).trim().parse().ok());
            let (start, end) = (start.0, start.0.saturating_add(duration.0));
            work.operator(Ran { start, end, kind, stream, launch: launches.of(start) });
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::StepRow;

    #[test]
    fn an_operator_is_called_by_its_type_or_without_one_by_its_name() {
        let of = |name: &str, op_type: &str| {
            let key = OperatorKey { name: name.to_owned(), op_type: op_type.to_owned(), unit: String::new() };
            key.called().to_owned()
        };
        assert_eq!([of("conv_1", "Conv2D"), of("conv_1", "")], ["Conv2D", "conv_1"]);
        assert_eq!([of("conv_1", "N/A"), of("", "N/A"), of("", "")], ["conv_1", "N/A", ""]);
    }

    #[test]
    fn operators_and_copies_of_steps_that_were_left_out_are_not_summed_up() {
        let step =
            |start: i64| StepRow { step: 0, start_ns: Some(start), duration_ns: 100, preparing_ns: None };
        let (kept, left_out) = ([step(100), step(300)], [step(200), step(400)]);
        let key =
            |name: &str| OperatorKey { name: name.to_owned(), op_type: "A".to_owned(), unit: String::new() };
        let mut sums = Summing::default();
        for (name, shapes) in [("a", "4,8"), ("a", "6,8"), ("b", "2,8")] {
            sums.kind(Kind { key: key(name), shapes: shapes.to_owned(), types: String::new() });
        }
        let starts_of_kinds =
            [(0, &[90, 100, 200, 450][..]), (1, &[199, 250, 300, 900][..]), (2, &[260][..])];
        for (kind, starts) in starts_of_kinds {
            for &start in starts {
                let (end, launch) = (start + 10, Launch::UNTOLD);
                sums.operator(Ran { start, end, kind, stream: None, launch });
                sums.copy("MEMCPY", start, end);
            }
        }
        let mut found = sums.finish();
        found.leave_out(&LeftOut::of(&kept, &left_out));
        let kept = Operator { count: 4, total_ns: 40, rows: 20 };
        assert_eq!(found.by_key, BTreeMap::from([(key("a"), kept)]));
        let starts: Vec<i64> = found.spans.iter().map(|span| span.start).collect();
        assert_eq!(starts, [90, 100, 199, 300]);
        assert_eq!(found.copies.len(), 4);
    }

    #[test]
    fn rows_are_the_first_dimension() {
        assert_eq!((rows_of("\"1024,2048;2048,1408\""), rows_of("7"), rows_of("N/A")), (1024, 7, 0));
    }

    #[test]
    fn tokens_are_those_of_all_experts_of_a_rank() {
        assert_eq!(tokens_of("\"1024,2048;1000,2048;2048,1408;2048,1408\""), 2024);
        assert_eq!(tokens_of("4096,2048;64,2048,1408"), 4096);
        assert_eq!(tokens_of("18446744073709551615,8;9,8;8,8;8,8"), u64::MAX);
        assert_eq!((tokens_of("N/A"), tokens_of("")), (0, 0));
    }
}
