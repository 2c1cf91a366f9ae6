//! Where ranks are: ranks by tensor, data and pipeline, as Megatron lays them out, tensor fastest.

use std::str::FromStr;

use crate::error::Error;

/// The most ranks that can be simulated.
pub const MOST_RANKS: usize = 16_384;

/// How many ranks share a model in which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Ranks that share each layer's matrices.
    pub tensor: usize,
    /// Stages of the pipeline.
    pub pipeline: usize,
    /// Copies of the model.
    pub data: usize,
    /// Copies among which the experts are spread; they divide `data`.
    pub expert: usize,
}

/// A kind of group of ranks that communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Tensor parallel: one behind the other.
    Tensor,
    /// Data parallel: the same part of every copy.
    Data,
    /// Expert parallel: some of the copies.
    Expert,
    /// Pipeline parallel: the same place in every stage.
    Pipeline,
}

impl Group {
    /// All kinds, in the order in which profilers list them.
    pub const ALL: [Self; 4] = [Self::Tensor, Self::Data, Self::Pipeline, Self::Expert];

    /// The kind's name in a profile's metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tp",
            Self::Data => "dp",
            Self::Expert => "exp",
            Self::Pipeline => "pp",
        }
    }
}

impl Layout {
    /// The usual layout of so many ranks: the more, the more ways of sharing.
    ///
    /// # Errors
    /// For less than 2 ranks and more than [`MOST_RANKS`].
    pub fn of(ranks: usize) -> Result<Self, Error> {
        if !(2..=MOST_RANKS).contains(&ranks) {
            return Err(Error::Choice(format!("{ranks} ranks: there can be 2 to {MOST_RANKS}")));
        }
        let wished = match ranks {
            ..8 => (1, 1, 2),
            8..64 => (2, 2, 2),
            64..512 => (4, 2, 4),
            512..4_096 => (8, 4, 8),
            _ => (8, 8, 8),
        };
        let tensor = largest_divisor(ranks, wished.0);
        let pipeline = largest_divisor(ranks / tensor, wished.1);
        let data = ranks / tensor / pipeline;
        Ok(Self { tensor, pipeline, data, expert: largest_divisor(data, wished.2) })
    }

    /// All ranks.
    pub fn ranks(&self) -> usize {
        self.tensor * self.pipeline * self.data
    }

    /// The ranks of a stage of the pipeline.
    pub fn stage_ranks(&self) -> usize {
        self.tensor * self.data
    }

    /// The stage of a rank.
    pub fn stage(&self, rank: usize) -> usize {
        rank / self.stage_ranks()
    }

    /// How many ranks a group has.
    pub fn size(&self, group: Group) -> usize {
        match group {
            Group::Tensor => self.tensor,
            Group::Data => self.data,
            Group::Expert => self.expert,
            Group::Pipeline => self.pipeline,
        }
    }

    /// How many groups of a kind a stage has; all stages share those of the pipeline.
    pub(crate) fn groups(&self, group: Group) -> usize {
        match group {
            Group::Pipeline => self.stage_ranks(),
            _ => self.stage_ranks() / self.size(group),
        }
    }

    /// The number, within its stage, of the group that a place in a stage belongs to.
    pub(crate) fn group_of(&self, group: Group, place: usize) -> usize {
        match group {
            Group::Tensor => place / self.tensor,
            Group::Data => place % self.tensor,
            Group::Expert => place / self.tensor / self.expert * self.tensor + place % self.tensor,
            Group::Pipeline => place,
        }
    }

    /// The ranks of the group that a rank belongs to, in ascending order.
    pub fn members(&self, group: Group, rank: usize) -> Vec<usize> {
        let (stage, place) = (rank / self.stage_ranks(), rank % self.stage_ranks());
        let (data, tensor) = (place / self.tensor, place % self.tensor);
        let first = stage * self.stage_ranks();
        match group {
            Group::Tensor => (0..self.tensor).map(|other| first + data * self.tensor + other).collect(),
            Group::Data => (0..self.data).map(|other| first + other * self.tensor + tensor).collect(),
            Group::Expert => {
                let begin = data / self.expert * self.expert;
                (begin..begin + self.expert).map(|other| first + other * self.tensor + tensor).collect()
            }
            Group::Pipeline => (0..self.pipeline).map(|other| other * self.stage_ranks() + place).collect(),
        }
    }

    /// Whether two ranks exchange anything: they are in a group, and stages of a pipeline one behind the other.
    pub(crate) fn have_link(&self, a: usize, b: usize) -> bool {
        let are_near = |group| group != Group::Pipeline || self.stage(a).abs_diff(self.stage(b)) == 1;
        Group::ALL.into_iter().any(|group| are_near(group) && self.members(group, a).contains(&b))
    }

    /// That the sizes go together.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let sizes = [self.tensor, self.pipeline, self.data, self.expert];
        let ranks = sizes[..3].iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        if !ranks.is_some_and(|ranks| (2..=MOST_RANKS).contains(&ranks)) {
            return Err(Error::Choice(format!("tp × pp × dp must be 2 to {MOST_RANKS} ranks")));
        }
        if self.expert == 0 || !self.data.is_multiple_of(self.expert) {
            let (expert, data) = (self.expert, self.data);
            return Err(Error::Choice(format!("ep={expert} doesn't divide dp={data}")));
        }
        Ok(())
    }
}

/// Reads `tp=4,pp=2,dp=8,ep=4`; what isn't named is 1.
impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut layout = Self { tensor: 1, pipeline: 1, data: 1, expert: 1 };
        for part in text.split(',') {
            let wrong = || Error::Choice(format!("'{part}' is none of tp=N, pp=N, dp=N, ep=N"));
            let (name, size) = part.split_once('=').ok_or_else(wrong)?;
            let size: usize = size.trim().parse().map_err(|_| wrong())?;
            match name.trim() {
                "tp" => layout.tensor = size,
                "pp" => layout.pipeline = size,
                "dp" => layout.data = size,
                "ep" => layout.expert = size,
                _ => return Err(wrong()),
            }
        }
        layout.check()?;
        Ok(layout)
    }
}

/// The largest divisor of a number that isn't above `most`.
fn largest_divisor(number: usize, most: usize) -> usize {
    (1..=most.min(number)).rev().find(|divisor| number.is_multiple_of(*divisor)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::{Group, Layout};

    #[test]
    fn every_number_of_ranks_has_a_layout_of_as_many_ranks() {
        for ranks in 2..600 {
            let layout = Layout::of(ranks).unwrap();
            assert_eq!(layout.ranks(), ranks);
            layout.check().unwrap();
        }
        assert!(Layout::of(1).is_err() && Layout::of(1 << 20).is_err());
    }

    #[test]
    fn usual_numbers_of_ranks_have_the_usual_layout() {
        let sizes = |ranks| {
            let layout = Layout::of(ranks).unwrap();
            (layout.tensor, layout.pipeline, layout.data, layout.expert)
        };
        let found = [2, 8, 16, 64, 128, 512, 1_024, 4_096].map(sizes);
        let usual = [
            (1, 1, 2, 2),
            (2, 2, 2, 2),
            (2, 2, 4, 2),
            (4, 2, 8, 4),
            (4, 2, 16, 4),
            (8, 4, 16, 8),
            (8, 4, 32, 8),
            (8, 8, 64, 8),
        ];
        assert_eq!(found, usual);
    }

    #[test]
    fn a_group_has_its_members_under_one_number_and_no_others() {
        let layout = Layout::of(64).unwrap();
        for group in [Group::Tensor, Group::Data, Group::Expert] {
            for rank in 0..layout.ranks() {
                let members = layout.members(group, rank);
                assert_eq!(members.len(), layout.size(group));
                let stage = layout.stage(rank) * layout.stage_ranks();
                let own = layout.group_of(group, rank - stage);
                let same = (0..layout.stage_ranks()).filter(|place| layout.group_of(group, *place) == own);
                assert_eq!(
                    members,
                    same.map(|place| stage + place).collect::<Vec<_>>(),
                    "{group:?} of {rank}"
                );
            }
        }
    }

    #[test]
    fn layouts_are_read_and_those_that_cannot_be_are_refused() {
        let layout: Layout = "tp=4,pp=2,dp=8,ep=4".parse().unwrap();
        assert_eq!(layout, Layout::of(64).unwrap());
        for wrong in [
            "",
            "tp",
            "tp=x",
            "cp=2",
            "dp=4,ep=3",
            "dp=0",
            "ep=0,dp=2",
            "tp=1",
            "tp=99999999999,pp=99999999999",
        ] {
            assert!(wrong.parse::<Layout>().is_err(), "{wrong}");
        }
    }
}
