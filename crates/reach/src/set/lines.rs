//! A rank's rows as lines of the tables, and back.

use std::collections::BTreeMap;

use super::own_work::{Copied, OwnWork};
use super::table::Texts;
use super::tables::{CollectiveLine, CollectivePart, EndLine, LinkLine, LossLine, StepLine};
use crate::error::Loss;
use crate::read::{Detail, Details};
use crate::rows::{
    CollectiveRow, CollectiveType, FinishRow, LinkRow, RankRows, StepRow, StepsOrigin, Transport,
};

/// A loss.
pub fn loss(loss: &Loss, texts: &mut Texts) -> LossLine {
    LossLine {
        rank: loss.rank.map(|rank| rank as i32),
        source: texts.enter(&loss.source),
        reason: texts.enter(loss.reason.name()),
        count: loss.count as i64,
        detail: texts.enter(&loss.detail),
    }
}

/// A rank's steps, with their copies where these are known.
pub fn steps(
    rank: i32,
    rows: &RankRows,
    copied: Option<&[Option<Copied>]>,
    texts: &mut Texts,
) -> Vec<StepLine> {
    let origin = texts.enter(rows.origin.name());
    let compute: BTreeMap<i32, i64> = rows.compute_ns.iter().copied().collect();
    let mut lines = Vec::with_capacity(rows.steps.len());
    let mut of_steps: BTreeMap<i32, Vec<&CollectiveRow>> = BTreeMap::new();
    for row in &rows.collectives {
        of_steps.entry(row.step).or_default().push(row);
    }
    for (place, step) in rows.steps.iter().enumerate() {
        let parts = || of_steps.get(&step.step).into_iter().flatten().copied();
        let (communication_ns, exposed_ns) =
            (covered(parts()), parts().fold(0, |sum: i64, row| sum.saturating_add(row.exposed_ns)));
        let copied = copied.and_then(|all| *all.get(place)?);
        let receives = parts().filter(|row| row.kind == CollectiveType::Receive);
        lines.push(StepLine {
            rank,
            place: place as i32,
            step: step.step,
            start_ns: step.start_ns,
            duration_ns: step.duration_ns,
            preparing_ns: step.preparing_ns,
            compute_ns: compute.get(&step.step).copied().unwrap_or(0),
            communication_ns,
            exposed_ns,
            receive_ns: receives.fold(0, |sum: i64, row| sum.saturating_add(row.duration_ns)),
            idle_ns: rows.idle_ns.get(place).copied().unwrap_or(0),
            origin,
            overlapped_ns: communication_ns.saturating_sub(exposed_ns).max(0),
            copy_ns: copied.map(|it| it.copy_ns),
            exposed_copy_ns: copied.map(|it| it.exposed_ns),
        });
    }
    lines
}

/// The time that some collectives, in the order of their starts, take together.
fn covered<'r>(rows: impl Iterator<Item = &'r CollectiveRow>) -> i64 {
    let (mut sum, mut until) = (0, i64::MIN);
    for row in rows {
        sum += (row.end_ns() - row.start_ns.max(until)).max(0);
        until = until.max(row.end_ns());
    }
    sum
}

/// The ends of a rank's steps.
pub fn ends(rank: i32, rows: &RankRows) -> Vec<EndLine> {
    let mut lines: BTreeMap<i32, EndLine> = BTreeMap::new();
    let line = |step| EndLine { rank, step, compute_ns: 0, end_ns: None, segment_ns: None, pred: None };
    for (step, compute_ns) in &rows.compute_ns {
        lines.entry(*step).or_insert_with(|| line(*step)).compute_ns = *compute_ns;
    }
    for finish in &rows.finishes {
        let line = lines.entry(finish.step).or_insert_with(|| line(finish.step));
        (line.end_ns, line.segment_ns) = (Some(finish.end_ns), Some(finish.segment_ns));
        line.pred = finish.pred.map(|pred| pred as i32);
    }
    lines.into_values().collect()
}

/// A rank's parts in collectives, with their details, and the parts of the work before each where these are known.
pub fn collectives(
    rank: i32,
    rows: &RankRows,
    details: &Details,
    own: Option<&[OwnWork]>,
    texts: &mut Texts,
) -> Vec<CollectiveLine> {
    let nothing = Detail::default();
    let mut line = |(place, row): (usize, &CollectiveRow)| {
        let detail = details.of(row).unwrap_or(&nothing);
        let own = |part: fn(&OwnWork) -> Option<i64>| own.and_then(|all| part(all.get(place)?)).into();
        CollectiveLine {
            rank,
            place: place as i32,
            step: row.step,
            group_key: row.group_key as i64,
            sequence: row.sequence,
            r#type: texts.enter(row.kind.name()),
            start_ns: row.start_ns,
            duration_ns: row.duration_ns,
            segment_ns: row.segment_ns,
            pred: row.pred.map(|pred| pred as i32),
            bytes: row.bytes as i64,
            peer: row.peer.map(|peer| peer as i32),
            exposed_ns: row.exposed_ns,
            exposed_start_ns: row.exposed_start_ns,
            exposed_longest_ns: row.exposed_longest_ns,
            data_type: texts.enter(&detail.data_type),
            algorithm: texts.enter(&detail.algorithm),
            transit_ns: detail.transit_ns.into(),
            wait_ns: detail.wait_ns.into(),
            sync_ns: detail.sync_ns.into(),
            compute_ns: own(|it| Some(it.compute_ns)),
            ai_cpu_ns: own(|it| Some(it.ai_cpu_ns)),
            copy_ns: own(|it| it.copy_ns),
            host_ns: own(|it| it.host_ns),
        }
    };
    rows.collectives.iter().enumerate().map(&mut line).collect()
}

/// A rank's traffic.
pub fn links(rank: i32, rows: &RankRows, texts: &mut Texts) -> Vec<LinkLine> {
    let mut line = |row: &LinkRow| LinkLine {
        rank,
        step: row.step,
        group_key: row.group_key as i64,
        r#type: texts.enter(row.kind.name()),
        src: row.src as i32,
        dst: row.dst as i32,
        transport: texts.enter(row.transport.name()),
        bytes: row.bytes,
        time_ns: row.time_ns,
    };
    rows.links.iter().map(&mut line).collect()
}

/// Adds a step to its rank.
pub fn take_step(rows: &mut RankRows, line: &StepLine, texts: &Texts) {
    rows.origin = StepsOrigin::of_name(texts.get(line.origin));
    rows.steps.push(StepRow {
        step: line.step,
        start_ns: line.start_ns,
        duration_ns: line.duration_ns,
        preparing_ns: line.preparing_ns,
    });
    rows.idle_ns.push(line.idle_ns);
}

/// Adds an end to its rank.
pub fn take_end(rows: &mut RankRows, line: &EndLine) {
    rows.compute_ns.push((line.step, line.compute_ns));
    if let (Some(end_ns), Some(segment_ns)) = (line.end_ns, line.segment_ns) {
        let pred = line.pred.map(|pred| pred as u32);
        rows.finishes.push(FinishRow { step: line.step, pred, segment_ns, end_ns });
    }
}

/// A line as the rank's part in a collective.
pub fn to_collective(line: &CollectivePart, texts: &Texts) -> CollectiveRow {
    CollectiveRow {
        group_key: line.group_key as u64,
        sequence: line.sequence,
        kind: CollectiveType::of_name(texts.get(line.r#type)),
        step: line.step,
        start_ns: line.start_ns,
        duration_ns: line.duration_ns,
        bytes: line.bytes as u64,
        peer: line.peer.map(|peer| peer as u32),
        pred: line.pred.map(|pred| pred as u32),
        segment_ns: line.segment_ns,
        exposed_ns: line.exposed_ns,
        exposed_start_ns: line.exposed_start_ns,
        exposed_longest_ns: line.exposed_longest_ns,
    }
}

/// A line as the rank's traffic.
pub fn to_link(line: &LinkLine, texts: &Texts) -> LinkRow {
    LinkRow {
        group_key: line.group_key as u64,
        kind: CollectiveType::of_name(texts.get(line.r#type)),
        step: line.step,
        src: line.src as u32,
        dst: line.dst as u32,
        transport: Transport::of_word(texts.get(line.transport)),
        bytes: line.bytes,
        time_ns: line.time_ns,
    }
}
