//! Statistics of what programs mark of themselves: `mstx_sum`.
//!
//! A mark whose text ends with `_start` and the next one of its thread that ends with `_stop` make a duration, the
//! one that was begun last first. Ranges that are tied to a task have durations by themselves.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use opscope_reach::Collection;
use opscope_reach::database::Texts;

use crate::Options;
use crate::error::PeerError;
use crate::events::{self, Event, MARK, RANGE, Reached};
use crate::nesting;
use crate::numbers::Description;
use crate::profile::{Span, has_table, steps, wanted};
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const MARKS: Table = Table {
    name: "MSTXMarkStats",
    columns: &[
        ("index", Kind::Integer),
        ("Name", Kind::Text),
        ("FrameworkDurationNs", Kind::Real),
        ("FrameworkDurationRatio(%)", Kind::Real),
        ("CannDurationNs", Kind::Real),
        ("CannDurationRatio(%)", Kind::Real),
        ("DeviceDurationNs", Kind::Real),
        ("DeviceDurationRatio(%)", Kind::Real),
        ("Rank", Kind::Integer),
        ("StepId", Kind::Integer),
    ],
    index: &["index"],
};

/// The tables of statistics, a row for each name in a step.
const STATISTICS: [(&str, Layer); 3] = [
    ("MSTXAllFrameworkStats", Layer::Framework),
    ("MSTXAllCannStats", Layer::Cann),
    ("MSTXAllDeviceStats", Layer::Device),
];

/// The table of statistics of a name.
const fn statistics(name: &'static str) -> Table {
    Table {
        name,
        columns: &[
            ("Name", Kind::Text),
            ("Count", Kind::Real),
            ("MeanNs", Kind::Real),
            ("StdNs", Kind::Real),
            ("MinNs", Kind::Real),
            ("MinRank", Kind::Integer),
            ("Q1Ns", Kind::Real),
            ("MedianNs", Kind::Real),
            ("Q3Ns", Kind::Real),
            ("MaxNs", Kind::Real),
            ("MaxRank", Kind::Integer),
            ("SumNs", Kind::Real),
            ("Dispersion(%)", Kind::Real),
            ("StepId", Kind::Integer),
        ],
        index: &["Name"],
    }
}

/// The place where a duration was measured.
#[derive(Clone, Copy, Debug)]
enum Layer {
    Framework,
    Cann,
    Device,
}

/// A marked duration.
#[derive(Debug)]
struct Marked {
    name: String,
    /// When it began on the host.
    start: i64,
    /// How long it took on the host.
    cann: i64,
    /// How long it took on the device: nothing where no task belongs to it.
    device: Option<i64>,
    rank: u32,
    step: i64,
}

impl Marked {
    /// Its duration as a layer measured it. The framework's is 0 always, and so is that of marks on the device: the
    /// vendor's tool has no others.
    fn duration(&self, layer: Layer) -> Option<i64> {
        match layer {
            Layer::Framework => Some(0),
            Layer::Cann => Some(self.cann),
            Layer::Device => self.device,
        }
    }
}

/// Writes the tables; returns whether anything was marked. Without, nothing is written.
///
/// # Errors
/// When the result can't be written.
pub fn sum(ranks: &Ranks, options: &Options, path: &Path) -> Result<bool, PeerError> {
    let mut rows: Vec<([f64; 3], Marked)> = Vec::new();
    let Ok(()) = ranks.each(
        |collection| read(ranks, collection, options.step),
        |_, marked| {
            let totals = [Layer::Framework, Layer::Cann, Layer::Device].map(|layer| total(&marked, layer));
            rows.extend(marked.into_iter().map(|marked| (totals, marked)));
            Ok::<_, std::convert::Infallible>(())
        },
    );
    if rows.is_empty() {
        return Ok(false);
    }
    rows.sort_by(|a, b| share(b, Layer::Cann).total_cmp(&share(a, Layer::Cann)));
    Output::write(path, |output| {
        let mut table = output.table(&MARKS)?;
        for (index, row) in rows.iter().enumerate() {
            let marked = &row.1;
            let device = marked.device.map(|device| device as f64);
            let device_share = device.map(|_| share(row, Layer::Device));
            table.row((
                index as i64,
                &marked.name,
                0.0,
                share(row, Layer::Framework),
                marked.cann as f64,
                share(row, Layer::Cann),
                device,
                device_share,
                marked.rank,
                marked.step,
            ))?;
        }
        STATISTICS.iter().try_for_each(|(name, layer)| write_statistics(&rows, name, *layer, output))
    })?;
    Ok(true)
}

/// All durations of a rank together.
fn total(marked: &[Marked], layer: Layer) -> f64 {
    marked.iter().filter_map(|it| it.duration(layer)).map(|it| it as f64).sum()
}

/// The share of a duration in those of its rank, in per cent; 0 where there is nothing to divide by.
fn share((totals, marked): &([f64; 3], Marked), layer: Layer) -> f64 {
    let total = totals[layer as usize];
    let duration = marked.duration(layer).unwrap_or(0) as f64;
    if total == 0.0 { 0.0 } else { duration / total * 100.0 }
}

fn write_statistics(
    rows: &[([f64; 3], Marked)],
    name: &'static str,
    layer: Layer,
    output: &Output,
) -> rusqlite::Result<()> {
    let mut by_step: BTreeMap<i64, BTreeMap<&str, Vec<&Marked>>> = BTreeMap::new();
    for (_, marked) in rows {
        by_step.entry(marked.step).or_default().entry(&marked.name).or_default().push(marked);
    }
    let mut table = output.table(&statistics(name))?;
    for (step, by_name) in by_step {
        let mut described: Vec<_> = by_name
            .into_iter()
            .map(|(name, marked)| {
                let mut durations: Vec<i64> = marked.iter().filter_map(|it| it.duration(layer)).collect();
                let description = Description::of(&mut durations);
                let dispersion = description.as_ref().map_or(0.0, dispersion);
                (name, marked, description, dispersion)
            })
            .collect();
        described.sort_by(|a, b| b.3.total_cmp(&a.3));
        for (name, marked, description, dispersion) in &described {
            let figure = |of: fn(&Description) -> f64| description.as_ref().map(of);
            table.row((
                name,
                figure(|it| it.count as f64).unwrap_or(0.0),
                figure(|it| it.mean),
                description.as_ref().and_then(|it| it.deviation),
                figure(|it| it.least),
                figure(|it| it.least).and_then(|least| rank_of(marked, layer, least, description)),
                figure(|it| it.first_quartile),
                figure(|it| it.median),
                figure(|it| it.third_quartile),
                figure(|it| it.greatest),
                figure(|it| it.greatest).and_then(|most| rank_of(marked, layer, most, description)),
                figure(|it| it.sum).unwrap_or(0.0),
                dispersion,
                step,
            ))?;
        }
    }
    Ok(())
}

/// How far the longest duration lies beyond three quarters of all, in per cent of their sum.
fn dispersion(it: &Description) -> f64 {
    if it.sum == 0.0 { 0.0 } else { (it.greatest - it.third_quartile) / it.sum * 100.0 }
}

/// The first rank with a duration; 0 where all durations are nothing.
fn rank_of(marked: &[&Marked], layer: Layer, duration: f64, of: &Option<Description>) -> Option<u32> {
    if of.is_some_and(|it| it.least == 0.0 && it.greatest == 0.0) {
        return Some(0);
    }
    let is_it = |it: &&&Marked| it.duration(layer).is_some_and(|length| length as f64 == duration);
    marked.iter().find(is_it).map(|it| it.rank)
}

/// Reads a rank's durations: those between marks, then those of ranges.
fn read(ranks: &Ranks, collection: &Collection, step: Option<i64>) -> Vec<Marked> {
    let mut all = Vec::new();
    ranks.read(collection, File::Profile, |database| {
        let Some(within) = wanted(database, step)? else { return Ok(()) };
        let mut steps = steps(database)?;
        steps.sort_by_key(|(_, span)| span.start);
        let has_tasks = has_table(database, "TASK")?;
        let (mut events, mut reached) = (Vec::new(), Reached::default());
        let done = events::read(database, within, &mut events);
        let (texts, read) = Texts::read(database);
        let done = done.and(read).and(reached.read(database, &events));
        let (pairs, alone) = pairs(&events, &texts);
        if !alone.is_empty() {
            ranks.remark(collection, alone_text(&alone));
        }
        all.extend(pairs);
        all.extend(ranges(&events, &texts, has_tasks.then_some(&reached)));
        for marked in &mut all {
            let step = steps.iter().find(|(_, span)| span.contains(marked.start));
            (marked.rank, marked.step) = (collection.rank, step.map_or(0, |(step, _)| *step));
        }
        done
    });
    number_repeated(&mut all);
    all
}

/// The durations between marks, in the order of their ends, and the marks that began or ended alone.
fn pairs<'t>(events: &[Event], texts: &'t Texts) -> (Vec<Marked>, Vec<&'t str>) {
    let mut begun: HashMap<(Option<i64>, &str), Vec<usize>> = HashMap::new();
    let mut alone: Vec<(usize, &str)> = Vec::new();
    let mut pairs = Vec::new();
    for (place, event) in events.iter().enumerate().filter(|(_, event)| event.kind == Some(MARK)) {
        let text = texts.get(event.message);
        if let Some(name) = text.strip_suffix("_start") {
            begun.entry((event.thread, name)).or_default().push(place);
        } else if let Some(name) = text.strip_suffix("_stop") {
            match begun.get_mut(&(event.thread, name)).and_then(Vec::pop) {
                Some(begin) => {
                    let start = events[begin].span.start;
                    let cann = Span { start, end: event.span.start }.length();
                    pairs.push(Marked {
                        name: nesting::shortened(name).to_owned(),
                        start,
                        cann,
                        device: Some(0),
                        rank: 0,
                        step: 0,
                    });
                }
                None => alone.push((place, text)),
            }
        }
    }
    let never_stopped = begun.into_values().flatten();
    alone.extend(never_stopped.map(|place| (place, texts.get(events[place].message))));
    alone.sort_unstable();
    (pairs, alone.into_iter().map(|(_, text)| text).collect())
}

fn alone_text(alone: &[&str]) -> String {
    /// How many are named, each by so many letters: it is a line.
    const NAMED: usize = 5;
    const LETTERS: usize = 60;
    let short = |text: &&str| text.chars().take(LETTERS).collect::<String>();
    let named = alone.iter().take(NAMED).map(short).collect::<Vec<_>>().join(", ");
    let more = if alone.len() > NAMED { ", …" } else { "" };
    format!("{} marks began or ended alone and are left out: {named}{more}", alone.len())
}

/// The durations of ranges that are tied to a task, one for each of its tasks. Without a table of tasks they took
/// no time on the device.
fn ranges(events: &[Event], texts: &Texts, reached: Option<&Reached>) -> Vec<Marked> {
    let most = reached.map_or(events.len(), |reached| reached.most_pairs(events));
    let is_range =
        |event: &&Event| event.kind == Some(RANGE) && event.connection.is_some() && event.span.can_be();
    let mut found: Vec<(Span, &str, Option<i64>)> = Vec::new();
    for event in events.iter().filter(is_range) {
        let mut add = |device| found.push((event.span, texts.get(event.message), device));
        match reached.map(|reached| reached.of(event)) {
            None => add(Some(0)),
            Some([]) => add(None),
            Some(tasks) => tasks.iter().for_each(|task| add(Some(task.length()))),
        }
        if found.len() > most {
            break;
        }
    }
    let spans: Vec<(Span, &str)> = found.iter().map(|(span, name, _)| (*span, *name)).collect();
    let names = nesting::paths(&spans);
    let marked = |(name, (span, _, device)): (String, (Span, &str, Option<i64>))| {
        let (start, cann) = (span.start, span.length());
        Marked { name, start, cann, device, rank: 0, step: 0 }
    };
    names.into_iter().zip(found).map(marked).collect()
}

/// Numbers durations of one name in a step.
fn number_repeated(all: &mut [Marked]) {
    let mut counts: HashMap<(i64, String), (usize, usize)> = HashMap::new();
    for marked in &*all {
        counts.entry((marked.step, marked.name.clone())).or_default().0 += 1;
    }
    for marked in all {
        let key = (marked.step, std::mem::take(&mut marked.name));
        let Some((count, next)) = counts.get_mut(&key) else { continue };
        marked.name = if *count > 1 { format!("{}_{next}", key.1) } else { key.1 };
        *next += 1;
    }
}
