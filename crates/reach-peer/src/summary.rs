//! Where the steps of each rank go: `cluster_time_summary`, and of two runs: `cluster_time_compare_summary`.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use opscope_reach::Collection;
use opscope_reach::database::{Database, Texts, each_row, number, open, text, whole};
use opscope_trace::NumberSet;

use crate::error::PeerError;
use crate::profile::{Collectives, LaunchLookup, Span, no_step, steps};
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const SUMMARY: Table = Table {
    name: "ClusterTimeSummary",
    columns: &[
        ("rank", Kind::Integer),
        ("step", Kind::Integer),
        ("stepTime", Kind::Real),
        ("computation", Kind::Real),
        ("communicationNotOverlapComputation", Kind::Real),
        ("communicationOverlapComputation", Kind::Real),
        ("communication", Kind::Real),
        ("free", Kind::Real),
        ("communicationWaitStageTime", Kind::Real),
        ("communicationTransmitStageTime", Kind::Real),
        ("memory", Kind::Real),
        ("memoryNotOverlapComputationCommunication", Kind::Real),
    ],
    index: &[],
};

/// The type of tasks that copy between host and device.
const COPY: &str = "MEMCPY_ASYNC";

/// A step of a rank, in microseconds: computing, communication beside it and under it, all communication, and free.
struct Step {
    number: i64,
    span: Span,
    figures: [Option<f64>; 5],
    copies: i64,
    exposed_copies: i64,
}

#[derive(Default)]
struct Rank {
    steps: Vec<Step>,
    collectives: Collectives,
}

fn read(ranks: &Ranks, collection: &Collection) -> Rank {
    let mut rank = Rank::default();
    let mut figures: HashMap<i64, [Option<f64>; 5]> = HashMap::new();
    ranks.read(collection, File::Analysis, |database| {
        let columns =
            ["step", "computing", "communication_not_overlapped", "overlapped", "communication", "free"];
        each_row(database, "StepTraceTime", &columns, |row| {
            let number_of = whole(row, 0).or_else(|| text(row, 0).trim_start_matches("step").parse().ok());
            if let Some(step) = number_of {
                figures.insert(step, std::array::from_fn(|place| number(row, place + 1)));
            }
        })
    });
    ranks.read(collection, File::Profile, |database| {
        let mut spans = Vec::new();
        let steps = steps(database).map(|read| spans = read);
        let (mut copies, mut busy) = (Vec::new(), Vec::new());
        let tasks = tasks(database, &mut copies, &mut busy);
        let busy = union(busy);
        for (number, span) in spans {
            let of_step: Vec<Span> = copies.iter().filter(|copy| span.holds(**copy)).copied().collect();
            rank.steps.push(Step {
                number,
                span,
                figures: figures.get(&number).copied().unwrap_or_default(),
                copies: length_of_union(&of_step),
                exposed_copies: length_beside(&of_step, &busy),
            });
        }
        let collectives =
            rank.collectives.read(database, Span { start: i64::MIN, end: i64::MAX }, LaunchLookup::Skipped);
        steps.and(tasks).and(collectives)
    });
    rank
}

/// Adds the copies of a rank, and when it computed or communicated.
fn tasks(database: &Database, copies: &mut Vec<Span>, busy: &mut Vec<Span>) -> rusqlite::Result<()> {
    let (texts, done) = Texts::read(database);
    let mut computing = NumberSet::default();
    let infos =
        each_row(database, "COMPUTE_TASK_INFO", &["globalTaskId"], |row| computing.extend(whole(row, 0)));
    let tasks = each_row(database, "TASK", &["globalTaskId", "startNs", "endNs", "taskType"], |row| {
        let (Some(start), Some(end)) = (whole(row, 1), whole(row, 2)) else { return };
        if whole(row, 0).is_some_and(|id| computing.contains(&id)) {
            busy.push(Span { start, end });
        } else if texts.get(whole(row, 3)) == COPY {
            copies.push(Span { start, end });
        }
    });
    let collectives = each_row(database, "COMMUNICATION_OP", &["startNs", "endNs"], |row| {
        if let (Some(start), Some(end)) = (whole(row, 0), whole(row, 1)) {
            busy.push(Span { start, end });
        }
    });
    done.and(infos).and(tasks).and(collectives)
}

/// Stretches in order, those that touch made one.
fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| span.length() > 0 && span.can_be());
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut().filter(|last| last.end >= span.start) {
            Some(last) => last.end = last.end.max(span.end),
            None => joined.push(span),
        }
    }
    joined
}

/// The sum of lengths, which files can make as large as they like.
fn sum(lengths: impl Iterator<Item = i64>) -> i64 {
    lengths.fold(0, i64::saturating_add)
}

fn length_of_union(spans: &[Span]) -> i64 {
    sum(union(spans.to_vec()).iter().map(|span| span.length()))
}

/// The time of some stretches that none of `busy` covers; these are a union.
fn length_beside(spans: &[Span], busy: &[Span]) -> i64 {
    let mut beside: i64 = 0;
    for span in union(spans.to_vec()) {
        let first = busy.partition_point(|other| other.end <= span.start);
        let covered = busy[first..].iter().take_while(|other| other.start < span.end);
        let both = |other: &Span| Span { start: other.start.max(span.start), end: other.end.min(span.end) };
        beside += span.length().saturating_sub(sum(covered.map(|other| both(other).length())));
    }
    beside
}

/// Writes the table, with all steps or the one that is asked for.
///
/// # Errors
/// When the result can't be written.
pub fn write(ranks: &Ranks, wanted: Option<i64>, path: &Path) -> Result<(), PeerError> {
    // Of a collective, the shortest part is the transfer; what is longer on other ranks is waiting.
    let mut names: HashMap<String, u32> = HashMap::new();
    let mut transfers: HashMap<(u32, u32), i64> = HashMap::new();
    /// When a part in a collective was, and the numbers of its operator's and group's names.
    type Part = (Span, (u32, u32));
    let mut rows: Vec<(u32, Vec<Step>, Vec<Part>)> = Vec::new();
    let Ok(()) = ranks.each(
        |collection| read(ranks, collection),
        |collection, Rank { steps, collectives }| {
            let mut parts = Vec::new();
            for row in &collectives.rows {
                let mut number = |text| {
                    let (text, next) = (collectives.names.text(text), names.len() as u32);
                    names.get(text).copied().unwrap_or_else(|| *names.entry(text.to_owned()).or_insert(next))
                };
                let key = (number(row.name), number(row.group));
                let shortest = transfers.entry(key).or_insert(i64::MAX);
                *shortest = (*shortest).min(row.span.length());
                parts.push((row.span, key));
            }
            rows.push((collection.rank, steps, parts));
            Ok::<_, std::convert::Infallible>(())
        },
    );
    // Nothing is known of the others' parts where there is one rank.
    let is_comparable = rows.len() > 1;
    Output::write(path, |output| {
        let mut table = output.table(&SUMMARY)?;
        for (rank, mut steps, parts) in rows {
            steps.sort_by_key(|step| step.number);
            steps.retain(|step| wanted.is_none_or(|wanted| step.number == wanted));
            for step in steps {
                let (mut wait, mut transfer): (i64, i64) = (0, 0);
                let within = |span: &Span| (step.span.start..=step.span.end).contains(&span.start);
                for (span, key) in parts.iter().filter(|(span, _)| is_comparable && within(span)) {
                    let shortest = transfers.get(key).copied().unwrap_or(0);
                    transfer = shortest.saturating_add(transfer);
                    wait = span.length().saturating_sub(shortest).saturating_add(wait);
                }
                let micros = |nanoseconds: i64| nanoseconds as f64 / 1e3;
                let [computing, exposed, overlapped, communication, free] = step.figures;
                let exposed_copies = micros(step.exposed_copies);
                let (length, copies) = (micros(step.span.length()), micros(step.copies));
                let free = free.map(|free| free - exposed_copies);
                let (wait, transfer) = (micros(wait), micros(transfer));
                table.row((
                    rank,
                    step.number,
                    length,
                    computing,
                    exposed,
                    overlapped,
                    communication,
                    free,
                    wait,
                    transfer,
                    copies,
                    exposed_copies,
                ))?;
            }
        }
        Ok(())
    })
}

/// The figures that are compared.
const FIGURES: usize = SUMMARY.columns.len() - 2;

/// A step of a rank: rank, number and figures.
type Summary = ((i64, i64), [Option<f64>; FIGURES]);

/// Writes how the steps of two runs differ, or the one that is asked for, from what `cluster_time_summary` left in
/// their folders.
///
/// # Errors
/// When one has no such result or not the step, or this one can't be written.
pub fn compare(run: &Path, base: &Path, wanted: Option<i64>, path: &Path) -> Result<(), PeerError> {
    let (run, base) = (summary_of(run, wanted)?, summary_of(base, wanted)?);
    let base: HashMap<(i64, i64), [Option<f64>; FIGURES]> = base.into_iter().collect();
    Output::write(path, |output| {
        let mut table = output.wide_table("ClusterTimeCompareSummary", &compared_columns())?;
        for (key, figures) in &run {
            let Some(others) = base.get(key).copied() else { continue };
            let mut values: Vec<rusqlite::types::Value> = vec![key.0.into(), key.1.into()];
            for (figure, other) in figures.iter().zip(others) {
                let difference = figure.zip(other).map(|(figure, other)| figure - other);
                values.extend([*figure, other, difference].map(Into::into));
            }
            table.row(rusqlite::params_from_iter(values))?;
        }
        Ok(())
    })
}

fn compared_columns() -> Vec<(String, Kind)> {
    let mut columns = vec![("rank".to_owned(), Kind::Integer), ("step".to_owned(), Kind::Integer)];
    for (name, kind) in &SUMMARY.columns[2..] {
        columns.extend(["", "Base", "Diff"].map(|end| (format!("{name}{end}"), *kind)));
    }
    columns
}

/// The result of a run that lies in its folder, or its part about a step.
fn summary_of(folder: &Path, wanted: Option<i64>) -> Result<Vec<Summary>, PeerError> {
    let path = crate::results(folder).join(crate::DATABASE);
    let mut steps = Vec::new();
    let read = |steps: &mut Vec<Summary>| -> rusqlite::Result<()> {
        let database = open(&path)?;
        let columns: Vec<&str> = SUMMARY.columns.iter().map(|(name, _)| *name).collect();
        each_row(&database, SUMMARY.name, &columns, |row| {
            if let (Some(rank), Some(step)) = (whole(row, 0), whole(row, 1)) {
                steps.push(((rank, step), std::array::from_fn(|place| number(row, place + 2))));
            }
        })
    };
    if read(&mut steps).is_err() || steps.is_empty() {
        return Err(PeerError::NoSummary(path));
    }
    let Some(wanted) = wanted else { return Ok(steps) };
    let known: BTreeSet<i64> = steps.iter().map(|((_, step), _)| *step).collect();
    if !known.contains(&wanted) {
        return Err(no_step(wanted, &known, &path));
    }
    steps.retain(|((_, step), _)| *step == wanted);
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: i64, end: i64) -> Span {
        Span { start, end }
    }

    #[test]
    fn copies_under_work_are_not_exposed() {
        let busy = union(vec![span(0, 10), span(5, 20), span(30, 40)]);
        assert_eq!(busy, [span(0, 20), span(30, 40)]);
        assert_eq!(length_beside(&[span(15, 35)], &busy), 10);
        assert_eq!(length_beside(&[span(15, 18), span(50, 60), span(55, 61)], &busy), 11);
        assert_eq!(length_of_union(&[span(1, 3), span(2, 5)]), 4);
    }
}
