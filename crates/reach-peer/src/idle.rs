//! The longest stretches in which ranks neither computed nor communicated, and the layer that left them idle:
//! `free_analysis`.

use std::cmp::Reverse;
use std::path::Path;

use opscope_reach::Collection;
use opscope_reach::database::{Database, Texts, each_row, whole};
use opscope_trace::NumberSet;

use crate::error::PeerError;
use crate::launches::Launches;
use crate::numbers::{micros, micros_text};
use crate::profile::Span;
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const TABLE: Table = Table {
    name: "FreeAnalysis",
    columns: &[
        ("rankId", Kind::Integer),
        ("startTime(us)", Kind::Text),
        ("endTime(us)", Kind::Text),
        ("duration(us)", Kind::Real),
        ("pytorchIdleTime(us)", Kind::Real),
        ("cannIdleTime(us)", Kind::Real),
        ("reason", Kind::Text),
    ],
    index: &[],
};

/// How many stretches of a rank are looked at, unless more or fewer are asked for.
const USUAL_TOP: usize = 10;

/// The nanoseconds by which a call of CANN has to come later behind PyTorch's than the one before did, for CANN to be
/// the one that held things up.
const LATER_NS: i64 = 50_000;

/// A task as it is joined to the calls that launched it.
struct Task {
    span: Span,
    kind: Option<i64>,
    connection: Option<i64>,
}

/// An idle stretch and why it was.
struct Idle {
    span: Span,
    /// How long PyTorch, and CANN, launched nothing.
    between_calls: Option<(i64, i64)>,
    reason: String,
}

/// Writes each rank's longest idle stretches with their reasons; returns whether there are any. Without, nothing is
/// written.
///
/// # Errors
/// When the result can't be written.
pub fn analyze(ranks: &Ranks, top: Option<usize>, path: &Path) -> Result<bool, PeerError> {
    let top = top.unwrap_or(USUAL_TOP);
    let read = |collection: &Collection| {
        let mut found = Vec::new();
        ranks.read(collection, File::Profile, |database| longest(database, top, &mut found));
        found
    };
    let mut all: Vec<(u32, Idle)> = Vec::new();
    let Ok(()) = ranks.each(read, |collection, found| {
        all.extend(found.into_iter().map(|idle| (collection.rank, idle)));
        Ok::<_, std::convert::Infallible>(())
    });
    if all.is_empty() {
        return Ok(false);
    }
    Output::write(path, |output| {
        let mut table = output.table(&TABLE)?;
        all.iter().try_for_each(|(rank, idle)| {
            let Span { start, end } = idle.span;
            let (pytorch, cann) = (idle.between_calls.map(|it| it.0), idle.between_calls.map(|it| it.1));
            table.row((
                rank,
                micros_text(start),
                micros_text(end),
                micros(idle.span.length()),
                pytorch.map(micros),
                cann.map(micros),
                &idle.reason,
            ))
        })
    })?;
    Ok(true)
}

/// Finds a rank's longest idle stretches, the longest first.
fn longest(database: &Database, top: usize, found: &mut Vec<Idle>) -> rusqlite::Result<()> {
    let mut tasks = Vec::new();
    let busy = busy(database, &mut tasks)?;
    let between = |pair: &[Span]| Span { start: pair[0].end, end: pair[1].start };
    let mut idle: Vec<Span> = busy.windows(2).map(between).collect();
    idle.sort_by_key(|span| Reverse(span.length()));
    idle.truncate(top);
    let (texts, done) = Texts::read(database);
    let mut launches = Launches::default();
    let calls = launches.read(database, |_| true);
    found.extend(idle.into_iter().map(|span| explain(span, &tasks, &launches, &texts)));
    done.and(calls)
}

/// The stretches in which a rank computed or communicated, in order, apart from one another; all its tasks go to
/// `tasks`, in the order of their starts.
fn busy(database: &Database, tasks: &mut Vec<Task>) -> rusqlite::Result<Vec<Span>> {
    let mut computing = NumberSet::default();
    each_row(database, "COMPUTE_TASK_INFO", &["globalTaskId"], |row| computing.extend(whole(row, 0)))?;
    let mut spans = Vec::new();
    let columns = ["startNs", "endNs", "taskType", "connectionId", "globalTaskId"];
    each_row(database, "TASK", &columns, |row| {
        let (Some(start), Some(end)) = (whole(row, 0), whole(row, 1)) else { return };
        let span = Span { start, end };
        if span.can_be() {
            tasks.push(Task { span, kind: whole(row, 2), connection: whole(row, 3) });
            spans.extend(whole(row, 4).filter(|id| computing.contains(id)).map(|_| span));
        }
    })?;
    tasks.sort_by_key(|task| task.span);
    each_row(database, "COMMUNICATION_OP", &["startNs", "endNs"], |row| {
        let (Some(start), Some(end)) = (whole(row, 0), whole(row, 1)) else { return };
        spans.extend(Some(Span { start, end }).filter(|span| span.can_be()));
    })?;
    Ok(merged(spans))
}

/// Spans in order, those that touch or overlap as one.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut().filter(|last| span.start <= last.end) {
            Some(last) => last.end = last.end.max(span.end),
            None => merged.push(span),
        }
    }
    merged
}

/// Says why a stretch was idle: other tasks ran, or the calls around it came late.
fn explain(span: Span, tasks: &[Task], launches: &Launches, texts: &Texts) -> Idle {
    let because = |reason: String, between_calls| Idle { span, between_calls, reason };
    let begins_within = |task: &&Task| task.span.start > span.start && task.span.end < span.end;
    let first = tasks.partition_point(|task| task.span.start <= span.start);
    let behind = tasks[first..].partition_point(|task| task.span.start < span.end);
    let within: Vec<&Task> = tasks[first..first + behind].iter().filter(begins_within).collect();
    if !within.is_empty() {
        return because(of_other_tasks(span, &within, texts), None);
    }
    let before = tasks[..first].iter().filter(|task| task.span.end <= span.start);
    let (Some(previous), Some(next)) = (before.max_by_key(|task| task.span.end), tasks.get(first + behind))
    else {
        return because("Skip free analysis due to no prev or next task.".to_owned(), None);
    };
    let calls = launches.of(previous.connection).zip(launches.of(next.connection));
    let Some(((pytorch_before, cann_before), (pytorch, cann))) = calls else {
        return because("Skip free analysis due to no pytorch dispatch time.".to_owned(), None);
    };
    let since = |later: i64, before: i64| later.saturating_sub(before);
    let between = (since(pytorch.end, pytorch_before.end), since(cann.end, cann_before.end));
    let waits = (since(cann_before.start, pytorch_before.end), since(cann.start, pytorch.end));
    let later = since(waits.1, waits.0);
    if later < LATER_NS {
        let reason = format!("Idle Pytorch layer: no task dispatched in {:?} us", micros(between.0));
        return because(reason, Some(between));
    }
    let gap = since(cann.start, cann_before.end);
    let longest = cann.length().max(cann_before.length());
    let reason = match gap >= longest {
        true => format!("Abnormal CANN layer: long time between two node@launch {:?} us", micros(gap)),
        false => format!("Abnormal CANN layer: long node@launch {:?} us", micros(longest)),
    };
    because(reason, Some(between))
}

/// The reason of a stretch in which tasks ran that neither compute nor communicate: how many of each type, the most
/// first, and how long the device had nothing at all.
fn of_other_tasks(span: Span, within: &[&Task], texts: &Texts) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for task in within {
        let kind = texts.get(task.kind);
        match counts.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let types: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind} tasks")).collect();
    let mut until = span.start;
    let mut rest = 0;
    for busy in merged(within.iter().map(|task| task.span).collect()) {
        rest = rest.max(busy.start.saturating_sub(until));
        until = busy.end;
    }
    let rest = micros(rest.max(span.end.saturating_sub(until)));
    format!("Device task running: {}, max remaining free {rest:?} us", types.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(start: i64, end: i64) -> Task {
        Task { span: Span { start, end }, kind: None, connection: None }
    }

    #[test]
    fn spans_that_touch_are_one() {
        let span = |start, end| Span { start, end };
        assert_eq!(merged(vec![span(8, 9), span(0, 3), span(3, 5), span(1, 2)]), [span(0, 5), span(8, 9)]);
    }

    #[test]
    fn the_longest_rest_between_other_tasks_is_told() {
        let tasks = [task(1_000, 2_000), task(5_000, 6_000)];
        let within: Vec<&Task> = tasks.iter().collect();
        let reason = of_other_tasks(Span { start: 0, end: 7_500 }, &within, &Texts::default());
        assert_eq!(reason, "Device task running: 2  tasks, max remaining free 3.0 us");
    }
}
