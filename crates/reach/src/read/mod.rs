//! A rank, reduced to its collectives with the work between them, its steps and its traffic; and, for ranks that
//! are asked about further, their operators.

mod details;
mod executed;
mod from_database;
mod from_result_texts;
mod from_results;
mod from_text;
mod from_trace;
mod groups;
mod operators;
mod period;
mod preparation;
mod room;
mod segments;
mod transfers;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::discover::Collection;
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveRow, CollectiveType, LinkRow, RankRows, StepRow, StepsOrigin, TaskSpan};

pub use details::{Detail, Details, chip, details};
pub use executed::Executed;
pub use from_result_texts::{RESULT_TEXTS, ResultTexts, read as result_texts};
pub use operators::{
    Call, Kind, Launch, Operator, OperatorKey, Operators, Ran, Span, Summing, Work, can_last, each,
    is_of_experts, operators, rows_of, tokens_of,
};

/// The longest time that a record can claim: a year.
pub const LONGEST_NS: i64 = 366 * 24 * 3600 * 1_000_000_000;

/// The first time that no clock shows, 99 years from its zero: with the longest time it is within a century still,
/// so that differences and sets have room for all.
pub const LATEST_NS: i64 = 99 * LONGEST_NS;

/// Records of a rank as they were read, in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    steps: Vec<StepRow>,
    tasks: Vec<TaskSpan>,
    /// Whether nothing tells the operators that the tasks run.
    is_nameless: bool,
    collectives: Vec<CollectiveRow>,
    links: Vec<LinkRow>,
    frequency_mhz: Option<f64>,
    /// The parts of steps that a table states, by the steps' numbers.
    stated: BTreeMap<i32, StatedStep>,
    /// Collectives that were left out.
    unmatchable: Unmatchable,
    /// The file that the steps were read from.
    steps_from: Option<PathBuf>,
    /// The steps of other tables beside the one that the steps are of, by their numbers.
    other_steps: BTreeMap<i32, StatedStep>,
}

/// Collectives that nothing can be matched by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Unmatchable {
    /// Their names have no number.
    unnumbered: u64,
    /// Their group isn't told.
    ungrouped: u64,
}

impl Unmatchable {
    /// Adds others.
    fn add(&mut self, others: Self) {
        self.unnumbered += others.unnumbered;
        self.ungrouped += others.ungrouped;
    }
}

/// The parts of a step as a table of steps has them, in microseconds. All but the last are of the time from the step's
/// first task on, in tables of the vendor's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct StatedStep {
    computing: Option<f64>,
    exposed: Option<f64>,
    overlapped: Option<f64>,
    free: Option<f64>,
    /// The time between the step's begin and its first task.
    preparing: Option<f64>,
}

impl StatedStep {
    /// The time under computing, that under communication alone, and that with nothing on the device, in nanoseconds.
    fn shares(&self) -> Option<[i64; 3]> {
        let idle = self.free? + self.preparing.unwrap_or(0.0);
        Some([self.computing?, self.exposed?, idle].map(|part| (part.max(0.0) * 1e3) as i64))
    }
}

impl Recording {
    /// Enters a step that a table states.
    fn stated_step(&mut self, step: i32, stated: StatedStep) {
        let parts = [stated.computing, stated.exposed, stated.free, stated.preparing];
        let length: f64 = parts.into_iter().flatten().sum();
        let preparing_ns = stated.preparing.map(|it| (it * 1e3) as i64);
        self.steps.push(StepRow { step, start_ns: None, duration_ns: (length * 1e3) as i64, preparing_ns });
        self.stated.insert(step, stated);
    }

    /// Enters a collective, by the name of its operator; one whose name has no number is counted.
    fn collective(
        &mut self,
        name: &str,
        group_key: u64,
        step: i32,
        start_ns: i64,
        duration_ns: i64,
    ) -> Option<&mut CollectiveRow> {
        let Some(sequence) = crate::rows::sequence_of(name) else {
            self.unmatchable.unnumbered += 1;
            return None;
        };
        let kind = CollectiveType::of_name(name);
        self.collectives.push(CollectiveRow::new(group_key, sequence, kind, step, start_ns, duration_ns));
        self.collectives.last_mut()
    }

    /// Names the other side of sends and receives where the traffic knows one only.
    fn find_peers(&mut self) {
        for row in self.collectives.iter_mut().filter(|row| row.kind.is_between_two() && row.peer.is_none()) {
            let other = |link: &LinkRow| if row.kind == CollectiveType::Send { link.dst } else { link.src };
            let of_group =
                self.links.iter().filter(|link| link.group_key == row.group_key && link.kind == row.kind);
            let mut peers: Vec<u32> = of_group.map(other).collect();
            peers.sort_unstable();
            peers.dedup();
            if let [peer] = peers[..] {
                row.peer = Some(peer);
            }
        }
    }

    /// Drops what can't be, and says how many records.
    fn drop_impossible(&mut self) -> u64 {
        let is_length = |duration: i64| (0..LONGEST_NS).contains(&duration);
        let can_be = |start: i64, duration: i64| (1..LATEST_NS).contains(&start) && is_length(duration);
        let before = self.tasks.len() + self.collectives.len() + self.steps.len();
        self.tasks.retain(|it| can_be(it.start_ns, it.end_ns.saturating_sub(it.start_ns)));
        self.collectives.retain(|it| can_be(it.start_ns, it.duration_ns));
        self.steps.retain(|it| {
            can_be(it.start_ns.unwrap_or(1), it.duration_ns) && it.preparing_ns.is_none_or(is_length)
        });
        (before - self.tasks.len() - self.collectives.len() - self.steps.len()) as u64
    }
}

/// Reads a rank: its database where it has one, and its texts for what that lacks.
pub fn rank(collection: &Collection) -> (RankRows, Vec<Loss>) {
    let mut losses = Vec::new();
    let mut recording = Recording::default();
    from_database::read(collection, &mut recording, &mut losses);
    from_text::read(collection, &mut recording, &mut losses);
    from_trace::read(collection, &mut recording, &mut losses);
    from_results::read(collection, &mut recording, &mut losses);
    let rank = Some(collection.rank);
    let folder = || collection.folder.display().to_string();
    let Unmatchable { unnumbered, ungrouped } = recording.unmatchable;
    for (reason, count) in [(LossReason::Unnumbered, unnumbered), (LossReason::Ungrouped, ungrouped)] {
        if count > 0 {
            losses.push(Loss::new(rank, folder(), reason, count));
        }
    }
    match recording.drop_impossible() {
        0 => {}
        count => losses.push(Loss::new(rank, folder(), LossReason::ImpossibleTime, count)),
    }
    preparation::tell_apart(&mut recording);
    let source = recording.steps_from.as_ref().map_or_else(folder, |path| path.display().to_string());
    let stretches = period::stretches_without_step(&recording);
    if !stretches.is_empty() {
        let count = stretches.len() as u64;
        let detail = match period::fill_stretches(&mut recording, &stretches) {
            true => "it lacks steps that another table of the rank has",
            false => {
                period::drop_stretches(&mut recording, &stretches);
                "it lacks steps in which the rank has collectives; these were left out"
            }
        };
        losses.push(Loss::new(rank, source.clone(), LossReason::Damaged, count).because(detail));
    }
    let missing = period::unstated_steps(&recording);
    if !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(i32::to_string).collect();
        let detail = format!("it lacks steps that the rank's collectives name: {}", missing.join(", "));
        losses.push(Loss::new(rank, source, LossReason::Damaged, missing.len() as u64).because(detail));
        recording.steps.clear();
        period::take_named_steps(&mut recording);
    }
    let are_named = recording.steps.is_empty() && period::take_named_steps(&mut recording);
    if are_named {
        let count = recording.steps.len() as u64;
        losses.push(Loss::new(rank, folder(), LossReason::NamedSteps, count));
    }
    let are_steps_told = are_named || !recording.steps.is_empty();
    let origin = match are_steps_told {
        true => StepsOrigin::Profile,
        false if period::infer_steps(&mut recording) => StepsOrigin::Inferred,
        false => StepsOrigin::Whole,
    };
    if recording.tasks.is_empty() && recording.collectives.is_empty() && recording.stated.is_empty() {
        losses.push(Loss::new(rank, folder(), LossReason::Empty, 1));
    } else if recording.steps.is_empty() {
        losses.push(Loss::new(rank, folder(), LossReason::NoSteps, 1));
    } else if origin == StepsOrigin::Inferred {
        let count = recording.steps.len() as u64;
        losses.push(Loss::new(rank, folder(), LossReason::InferredSteps, count));
    }
    recording.find_peers();
    let (rows, lost) = segments::derive(recording);
    if lost > 0 {
        losses.push(Loss::new(rank, folder(), LossReason::LostOperators, lost));
    }
    let mut rows = RankRows { origin, ..rows };
    transfers::add(collection, &mut rows, &mut losses);
    (rows, losses)
}
