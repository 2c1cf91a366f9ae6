//! Ranks that are stages of a pipeline, one after the other, by the messages between them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::discover::{Collection, Discovery, Format, Group, Outputs, Role};
use crate::matching;
use crate::rows::{CollectiveRow, CollectiveType, RankRows, StepRow};
use crate::run::{Outline, Run};

/// The group of all stages.
const KEY: u64 = 7;

/// A message from one stage to another, which both need a microsecond for.
#[derive(Clone, Copy)]
pub struct Message {
    pub step: i32,
    pub from: u32,
    pub to: u32,
    /// When the sender is done, and when the receiver is.
    pub sent_ns: i64,
    pub received_ns: i64,
}

/// A run of so many stages, each on a host of its own, of which the first were recorded. Texts don't tell the other side of
/// a message.
pub fn run(stages: u32, recorded: u32, messages: &[Message], are_texts: bool) -> Run {
    let collection = |rank: u32| Collection {
        folder: PathBuf::new(),
        rank,
        host: format!("host{rank}"),
        device: None,
        taken: String::new(),
        collected: Default::default(),
        format: Format::Text,
        outputs: Outputs::default(),
    };
    let ranks = (0..stages).collect();
    let group = Group { id: "stages".to_owned(), name: String::new(), role: Role::Pp, ranks };
    let discovery = Discovery {
        collections: (0..recorded).map(collection).collect(),
        groups: BTreeMap::from([(KEY, group)]),
        ..Discovery::default()
    };
    let of_rank = |rank: u32| -> Vec<CollectiveRow> {
        let mut rows = Vec::new();
        for (number, it) in messages.iter().enumerate() {
            let sides = [
                (it.from, it.to, CollectiveType::Send, it.sent_ns),
                (it.to, it.from, CollectiveType::Receive, it.received_ns),
            ];
            for (_, other, kind, end) in sides.into_iter().filter(|(own, ..)| *own == rank) {
                let row = CollectiveRow::new(KEY, number as i32, kind, it.step, end - 1_000, 1_000);
                rows.push(CollectiveRow { peer: (!are_texts).then_some(other), ..row });
            }
        }
        rows.sort_by_key(|row| row.start_ns);
        rows
    };
    let mut outline = Outline::of_ranks(recorded as usize);
    for rank in 0..recorded {
        of_rank(rank).iter().for_each(|row| outline.note(rank as usize, rank, KEY, row.kind));
    }
    let mut run = Run::with_room(&discovery, outline);
    for rank in 0..recorded {
        let rows = of_rank(rank);
        for (place, row) in rows.iter().enumerate() {
            assert!(run.put(rank as usize, place, row));
        }
        let mut steps: Vec<i32> = rows.iter().map(|row| row.step).collect();
        steps.dedup();
        let step = |step| StepRow { step, start_ns: None, duration_ns: 1_000_000, preparing_ns: None };
        let steps = steps.into_iter().map(step).collect();
        run.complete(rank as usize, RankRows { steps, ..RankRows::default() });
    }
    matching::tie(&mut run);
    run
}
