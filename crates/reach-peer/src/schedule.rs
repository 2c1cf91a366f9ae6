//! The order in which a stage of DualPipeV goes through its passes, and their names.
//!
//! A rank has two parts of the model: an early one and, folded back, a late one. A batch is cut into `N`
//! microbatches; through the late parts they are counted on from `N`. The phases, and how many passes of each a stage
//! has, are those of the vendor's tool, which follow MindSpeed's schedule (DualPipeV is described by Sea AI Lab's
//! "Cut-in-half" of DeepSeek's DualPipe).

use opscope_reach::database::{each_row, text};
use serde_json::Value;

use crate::ranks::{File, Ranks};

/// The name of the schedule in the run's metadata.
const NAME: &str = "dualpipev";

/// A pass as the chart shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// The number of its colour: that of the phase.
    pub kind: u8,
}

/// A run's schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Into how many parts a batch is cut; nothing where the run doesn't say.
    microbatches: Option<u64>,
    /// How many stages there are.
    stages: u64,
    /// How many ranks are in a stage.
    ranks: u64,
}

impl Schedule {
    /// The schedule that the first rank's metadata declare, if it is this one.
    pub fn read(ranks: &Ranks) -> Option<Self> {
        let (mut pipeline, mut sizes) = (None, None);
        for collection in &ranks.collections {
            ranks.read(collection, File::Profile, |database| {
                each_row(database, "META_DATA", &["name", "value"], |row| {
                    let value = || serde_json::from_str::<Value>(text(row, 1)).ok();
                    match text(row, 0) {
                        "pp_info" if pipeline.is_none() => pipeline = value(),
                        "distributed_args" if sizes.is_none() => sizes = value(),
                        _ => {}
                    }
                })
            });
            if pipeline.is_some() || sizes.is_some() {
                break;
            }
        }
        let pipeline = pipeline?;
        if !pipeline["pp_type"].as_str()?.eq_ignore_ascii_case(NAME) {
            return None;
        }
        let size = |name: &str| sizes.as_ref().and_then(|sizes| sizes[name].as_u64()).unwrap_or(1).max(1);
        let ranks = size("tensor_model_parallel_size").saturating_mul(size("data_parallel_size"));
        let microbatches = pipeline["microbatch_num"].as_u64();
        Some(Self { microbatches, stages: size("pipeline_model_parallel_size"), ranks })
    }

    /// The stage of a rank, if it has one.
    pub fn stage(self, rank: u32) -> Option<u64> {
        Some(u64::from(rank) / self.ranks).filter(|stage| *stage < self.stages)
    }

    /// How many passes a stage has in a step; `None` where there are too few microbatches for the schedule.
    pub fn count(self, stage: u64) -> Option<u64> {
        let microbatches = self.microbatches.filter(|count| *count >= self.stages.saturating_mul(2))?;
        // Beside the first stage's own: the loss of each microbatch.
        let losses = if stage == 0 { microbatches } else { 0 };
        let split = u64::from(stage + 1 == self.stages && self.overlaps(microbatches, stage) > 0);
        let stages = self.stages.checked_mul(4)?;
        let both = microbatches.checked_mul(2)?.checked_add(stages)?.checked_sub(2 * stage + 2)?;
        both.checked_add(losses + split)
    }

    /// How many pairs of passes a stage does forward and backward at once.
    fn overlaps(self, microbatches: u64, stage: u64) -> u64 {
        microbatches.saturating_add(stage + 1).saturating_sub(self.stages.saturating_mul(2))
    }

    /// The passes of a stage in a step, if there are as many as were found.
    pub fn blocks(self, stage: u64, found: usize) -> Option<Vec<Block>> {
        self.count(stage).filter(|count| usize::try_from(*count) == Ok(found))?;
        let mut plan = Plan {
            blocks: Vec::with_capacity(found),
            microbatches: self.microbatches?,
            is_first: stage == 0,
            forward: [0, self.microbatches?],
            backward: [0, self.microbatches?],
        };
        plan.fill(self, stage);
        Some(plan.blocks).filter(|blocks| blocks.len() == found)
    }
}

/// The early part of the model that a rank has.
const EARLY: usize = 0;

/// The late one.
const LATE: usize = 1;

/// A stage's passes as they are put down.
struct Plan {
    blocks: Vec<Block>,
    microbatches: u64,
    is_first: bool,
    /// The next microbatch forward, through either part.
    forward: [u64; 2],
    /// The next one backward.
    backward: [u64; 2],
}

impl Plan {
    fn fill(&mut self, schedule: Schedule, stage: u64) {
        // Stages behind this one.
        let behind = schedule.stages - stage - 1;
        for _ in 0..2 * behind {
            let early = self.forward(EARLY);
            self.add(early.to_string(), 0);
        }
        for _ in 0..=stage {
            for part in [EARLY, LATE] {
                let next = self.forward(part);
                self.add(next.to_string(), 1);
            }
        }
        for _ in 0..behind {
            self.add_loss(2);
            let backward = self.backward(LATE);
            // The gradients of inputs, then those of weights.
            self.add(format!("{backward}b"), 2);
            self.add(format!("{backward}w"), 2);
            let forward = self.forward(LATE);
            self.add(forward.to_string(), 2);
        }
        for pair in 0..schedule.overlaps(self.microbatches, stage) {
            self.add_loss(3);
            let (forward, backward) = (self.forward(EARLY), self.backward(LATE));
            if behind == 0 && pair == 0 {
                // Nothing to overlap with yet in the last stage.
                self.add(format!("{forward}F"), 3);
                self.add(format!("{backward}B"), 3);
            } else {
                self.add(format!("{forward}F+{backward}B"), 3);
            }
            self.add_overlapped(3);
        }
        for _ in 0..behind {
            self.add_loss(4);
            self.add_backward(LATE, 4);
            self.add_overlapped(4);
        }
        for turn in 0..=stage {
            if turn % 2 == 0 {
                self.add_loss(5);
                self.add_backward(LATE, 5);
            } else {
                self.add_backward(EARLY, 5);
            }
        }
        let mut part = if stage.is_multiple_of(2) { EARLY } else { LATE };
        while self.is_left(EARLY) || self.is_left(LATE) {
            if self.is_left(part) {
                self.add_backward(part, 6);
            }
            part = 1 - part;
        }
    }

    fn add(&mut self, name: String, kind: u8) {
        self.blocks.push(Block { name, kind });
    }

    /// The first stage has the model's end as well, and so the loss.
    fn add_loss(&mut self, kind: u8) {
        if self.is_first {
            self.add("logits".to_owned(), kind);
        }
    }

    fn add_backward(&mut self, part: usize, kind: u8) {
        let backward = self.backward(part);
        self.add(format!("{backward}B"), kind);
    }

    fn add_overlapped(&mut self, kind: u8) {
        let (forward, backward) = (self.forward(LATE), self.backward(EARLY));
        self.add(format!("{forward}F+{backward}B"), kind);
    }

    /// The next microbatch forward through a part.
    fn forward(&mut self, part: usize) -> u64 {
        self.forward[part] += 1;
        self.forward[part] - 1
    }

    fn backward(&mut self, part: usize) -> u64 {
        self.backward[part] += 1;
        self.backward[part] - 1
    }

    fn is_left(&self, part: usize) -> bool {
        self.backward[part] < self.microbatches * (part as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schedule of a run with 3 stages of 4 ranks.
    fn schedule(microbatches: u64) -> Schedule {
        Schedule { microbatches: Some(microbatches), stages: 3, ranks: 4 }
    }

    #[test]
    fn each_stage_goes_through_all_microbatches_both_ways_once() {
        for (microbatches, stage) in [(6, 0), (6, 1), (6, 2), (7, 0), (11, 1), (12, 2)] {
            let schedule = schedule(microbatches);
            let count = schedule.count(stage).unwrap() as usize;
            let blocks = schedule.blocks(stage, count).unwrap();
            let ends_with = |end: &str| {
                let parts = blocks.iter().flat_map(|block| block.name.split('+'));
                let mut numbers: Vec<u64> =
                    parts.filter_map(|part| part.strip_suffix(end)?.parse().ok()).collect();
                numbers.sort_unstable();
                numbers
            };
            let all: Vec<u64> = (0..2 * microbatches).collect();
            let mut forward = [ends_with(""), ends_with("F")].concat();
            let mut backward = [ends_with("b"), ends_with("B")].concat();
            forward.sort_unstable();
            backward.sort_unstable();
            assert_eq!((&forward, &backward), (&all, &all), "{microbatches} microbatches, stage {stage}");
            assert_eq!(ends_with("b"), ends_with("w"));
            let losses = blocks.iter().filter(|block| block.name == "logits").count() as u64;
            assert_eq!(losses, if stage == 0 { microbatches } else { 0 });
            assert!(blocks.windows(2).all(|pair| pair[0].kind <= pair[1].kind), "{blocks:?}");
        }
    }

    #[test]
    fn passes_of_another_number_get_no_names_whatever_the_metadata_claim() {
        let count = schedule(6).count(1).unwrap() as usize;
        assert_eq!(schedule(6).blocks(1, count + 1), None);
        assert_eq!((schedule(5).count(0), schedule(u64::MAX).count(0)), (None, None));
        let endless = Schedule { microbatches: Some(u64::MAX / 2), stages: u64::MAX / 4, ranks: 1 };
        assert_eq!(endless.blocks(0, 100), None);
        assert_eq!((schedule(6).stage(11), schedule(6).stage(12)), (Some(2), None));
    }
}
