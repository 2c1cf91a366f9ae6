//! The forward and backward passes of a pipeline's stages, as MindStudio Insight draws them: `pp_chart`, which adds
//! the table `StepTaskInfo`.
//!
//! The program marks its passes; a pass is the task that its mark leads to. Collectives and the names by which sends
//! find their receives are drawn with them, so that those are added too: names as `p2p_pairing` does, and of ranks
//! that were collected without details the collectives themselves, from their marks.

use std::collections::BTreeMap;

use opscope_reach::Collection;
use opscope_reach::database::{Database, Texts};

use crate::Options;
use crate::copies::Destination;
use crate::error::PeerError;
use crate::events::{self, Event, Reached};
use crate::marked::Marked;
use crate::pairing;
use crate::profile::{Span, has_table, steps, wanted};
use crate::ranks::Ranks;
use crate::schedule::{Block, Schedule};
use crate::table::{Kind, Output, Table};

const PASSES: Table = Table {
    name: "StepTaskInfo",
    columns: &[
        ("name", Kind::Text),
        ("startNs", Kind::Integer),
        ("endNs", Kind::Integer),
        ("type", Kind::Integer),
    ],
    index: &[],
};

/// The additions to a rank.
#[derive(Default)]
struct Additions {
    passes: Vec<(Block, Span)>,
    /// The names of sends and receives.
    names: Vec<(i64, String)>,
    /// The collectives, where the rank has no table of them.
    collectives: Marked,
}

impl Additions {
    fn is_empty(&self) -> bool {
        self.passes.is_empty() && self.names.is_empty() && self.collectives.is_empty()
    }
}

/// Adds the passes of all ranks; returns whether there are any. Ranks without are left as they are.
///
/// # Errors
/// When a rank can't be written, or another program is writing it.
pub fn write(ranks: &Ranks, options: &Options, destination: &Destination) -> Result<bool, PeerError> {
    destination.check(ranks)?;
    let schedule = Schedule::read(ranks);
    let mut any = false;
    let of_rank = |collection: &Collection| {
        let find = |database: &Database| {
            let Some(within) = wanted(database, options.step)? else { return Ok(None) };
            let found = additions(ranks, collection, schedule, database, within)?;
            Ok(Some(found).filter(|found| !found.is_empty()))
        };
        destination.add(ranks, collection, find, add)
    };
    ranks.each(of_rank, |_, written| {
        any |= written?;
        Ok::<_, PeerError>(())
    })?;
    Ok(any)
}

fn add(found: &Additions, output: &Output) -> rusqlite::Result<()> {
    found.collectives.add(output)?;
    if !found.names.is_empty() {
        pairing::add(&found.names, output)?;
    }
    if found.passes.is_empty() {
        return Ok(());
    }
    let mut table = output.table(&PASSES)?;
    let mut passes = found.passes.iter();
    passes.try_for_each(|(block, span)| table.row((&block.name, span.start, span.end, block.kind)))
}

/// Finds what is to be added to a rank.
fn additions(
    ranks: &Ranks,
    collection: &Collection,
    schedule: Option<Schedule>,
    database: &Database,
    within: Span,
) -> rusqlite::Result<Additions> {
    let (texts, read) = Texts::read(database);
    read?;
    let (mut events, mut reached) = (Vec::new(), Reached::default());
    events::read(database, within, &mut events)?;
    reached.read(database, &events)?;
    let mut found = Additions::default();
    match has_table(database, "COMMUNICATION_OP")? {
        true => found.names = pairing::named(ranks, collection, database, within)?,
        false => found.collectives = Marked::find(database, &texts, &reached.pairs(&events))?,
    }
    events.retain(|event| is_pass(texts.get(event.message)));
    let mut passes = reached.pairs(&events);
    passes.retain(|(_, span)| span.can_be());
    passes.sort_by_key(|(_, span)| span.start);
    found.passes = match schedule {
        None => passes.iter().map(|(event, span)| (by_direction(texts.get(event.message)), *span)).collect(),
        Some(schedule) => {
            let steps = match has_table(database, "STEP_TIME")? {
                true => steps(database)?,
                false => vec![(0, Span { start: i64::MIN, end: i64::MAX })],
            };
            scheduled(ranks, collection, schedule, &by_step(&passes, &steps))
        }
    };
    Ok(found)
}

/// The passes of a rank, by step, with the names that the schedule gives them.
fn scheduled(
    ranks: &Ranks,
    collection: &Collection,
    schedule: Schedule,
    by_step: &BTreeMap<i64, Vec<Span>>,
) -> Vec<(Block, Span)> {
    let Some(stage) = schedule.stage(collection.rank) else {
        ranks.remark(
            collection,
            "this rank is in no stage of the pipeline; its passes are left out".to_owned(),
        );
        return Vec::new();
    };
    let (mut passes, mut unnamed) = (Vec::new(), Vec::new());
    for (step, spans) in by_step {
        let blocks = schedule.blocks(stage, spans.len()).unwrap_or_else(|| {
            unnamed.push(format!("step {step} has {}", spans.len()));
            vec![Block::default(); spans.len()]
        });
        passes.extend(blocks.into_iter().zip(spans.iter().copied()));
    }
    if !unnamed.is_empty() {
        let of_schedule = match schedule.count(stage) {
            Some(count) => format!("{count} passes"),
            None => "at least two microbatches for each stage".to_owned(),
        };
        let found = unnamed.join(", ");
        ranks.remark(collection, format!("the schedule has {of_schedule}, but {found}; they get no names"));
    }
    passes
}

/// Whether a mark's text is that of a pass.
fn is_pass(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let parts = text.split("weightgradstore").skip(1);
    // Any letter may stand between: the vendor's guide has a dot there, its filter an underscore, SQL's wildcard.
    let pops = |rest: &str| rest.char_indices().nth(1).is_some_and(|(at, _)| rest[at..].starts_with("pop"));
    text.contains("forward") || text.contains("backward") || parts.into_iter().any(pops)
}

/// The block of a pass of which only its mark is known.
fn by_direction(text: &str) -> Block {
    match text.to_ascii_lowercase().contains("forward") {
        true => Block { name: "FP".to_owned(), kind: 0 },
        false => Block { name: "BP".to_owned(), kind: 1 },
    }
}

/// The passes of each step, by the marks on the host, without those that begin before the last one ended.
fn by_step(passes: &[(&Event, Span)], steps: &[(i64, Span)]) -> BTreeMap<i64, Vec<Span>> {
    let mut by_step: BTreeMap<i64, Vec<Span>> = BTreeMap::new();
    let mut last_end = i64::MIN;
    for (event, span) in passes {
        if span.start < last_end {
            continue;
        }
        last_end = span.end;
        if let Some((step, _)) = steps.iter().find(|(_, step)| step.holds(event.span)) {
            by_step.entry(*step).or_default().push(*span);
        }
    }
    by_step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_known_by_their_texts() {
        for text in ["{'name': 'Forward_step'}", "BACKWARD", "WeightGradStore.pop", "weightgradstore_pop"] {
            assert!(is_pass(text), "{text}");
        }
        for text in ["", "WeightGradStorepop", "WeightGradStore", "for ward", "WeightGradStoreé"] {
            assert!(!is_pass(text), "{text}");
        }
        assert_eq!((by_direction("x_FORWARD_backward").kind, by_direction("backward").kind), (0, 1));
    }

    #[test]
    fn a_pass_within_another_is_none_of_a_step() {
        let event = |start| Event {
            kind: None,
            span: Span { start, end: start },
            message: None,
            thread: None,
            connection: None,
        };
        let (a, b, outside) = (event(1), event(2), event(99));
        let span = |start, end| Span { start, end };
        let passes = [(&a, span(10, 20)), (&b, span(15, 18)), (&b, span(20, 30)), (&outside, span(31, 32))];
        let by_step = by_step(&passes, &[(7, span(0, 50))]);
        assert_eq!(by_step, BTreeMap::from([(7, vec![span(10, 20), span(20, 30)])]));
    }
}
