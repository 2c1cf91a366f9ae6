//! The choices of which a collection is made.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::error::Error;
use crate::fault::{Fault, default_faults};
use crate::layout::Layout;

/// How often a rank goes through a layer at most: what happens to it in the whole run is in memory at a time.
const MOST_LAYERS: usize = 50_000;

/// The choices for a collection.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the ranks share the model.
    pub layout: Layout,
    /// How many ranks a host has.
    pub devices_per_host: usize,
    /// Layers of each stage.
    pub layers: usize,
    /// Micro-batches of a step.
    pub microbatches: usize,
    /// Steps that were recorded.
    pub steps: usize,
    /// How many times as long everything takes in the first step, on all ranks alike.
    pub warm_up: f64,
    /// The seed of durations and clocks.
    pub seed: u64,
    /// Faults of the cluster.
    pub faults: Vec<Fault>,
    /// How wrong the hosts' clocks are.
    pub clocks: ClockErrors,
    /// Damages of the files, and of which rank.
    pub damages: Vec<(Damage, usize)>,
    /// Whether to write databases.
    pub databases: bool,
    /// Whether to write tables, JSON and timelines.
    pub texts: bool,
    /// Whether to write timelines of PyTorch's, as for GPUs.
    pub timelines: bool,
}

/// How wrong the hosts' clocks are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockErrors {
    /// They are right.
    None,
    /// Offsets of some 3 ms, drifts of some 5 millionths.
    Near,
    /// The same, and of three hosts and more the one in the middle is 73 s ahead.
    #[default]
    Far,
}

/// Damages of a rank's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// The rank isn't there.
    Missing,
    /// Each of its results ends after two thirds.
    Cut,
    /// It is there twice, under another time.
    Twice,
    /// Its results are empty.
    Empty,
    /// It was recorded without details of communication.
    Level0,
    /// Its collectives among copies are numbered from 1.
    Shifted,
}

impl Damage {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Missing, Self::Cut, Self::Twice, Self::Empty, Self::Level0, Self::Shifted];

    /// The name on the command line and in `truth.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Cut => "cut",
            Self::Twice => "twice",
            Self::Empty => "empty",
            Self::Level0 => "level0",
            Self::Shifted => "shifted",
        }
    }
}

impl Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Damage {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|damage| damage.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::Choice(format!("there is no damage '{text}'; there are: {names}"))
        })
    }
}

impl Options {
    /// Two steps of four layers and four micro-batches, with the default faults, as databases.
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            devices_per_host: 8,
            layers: 4,
            microbatches: 4,
            steps: 2,
            warm_up: 1.0,
            seed: 1,
            faults: default_faults(&layout),
            clocks: ClockErrors::default(),
            damages: Vec::new(),
            databases: true,
            texts: false,
            timelines: false,
        }
    }

    /// The host of a rank.
    pub fn host(&self, rank: usize) -> usize {
        rank / self.devices_per_host
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.layout.ranks().div_ceil(self.devices_per_host)
    }

    /// Whether a rank's files are damaged in this way.
    pub(crate) fn is_damaged(&self, rank: usize, damage: Damage) -> bool {
        self.damages.contains(&(damage, rank))
    }

    /// That the choices go together.
    ///
    /// # Errors
    /// With what doesn't.
    pub fn check(&self) -> Result<(), Error> {
        self.layout.check()?;
        let numbers = [
            ("layers", self.layers, 1_000),
            ("micro-batches", self.microbatches, 1_000),
            ("steps", self.steps, 10_000),
            ("devices of a host", self.devices_per_host, 1_024),
        ];
        for (name, number, most) in numbers {
            if !(1..=most).contains(&number) {
                return Err(Error::Choice(format!("{number} {name}: there can be 1 to {most}")));
            }
        }
        if !(1.0..=100.0).contains(&self.warm_up) {
            return Err(Error::Choice(format!(
                "{} times as long in the first step: there can be 1 to 100",
                self.warm_up
            )));
        }
        let layers = self.steps * self.microbatches * self.layers;
        if layers > MOST_LAYERS {
            return Err(Error::Choice(format!(
                "steps × micro-batches × layers are {layers}: there can be {MOST_LAYERS}"
            )));
        }
        self.faults.iter().try_for_each(|fault| fault.check(&self.layout))?;
        let ranks = self.layout.ranks();
        if let Some((damage, rank)) = self.damages.iter().find(|(_, rank)| *rank >= ranks) {
            let last = ranks - 1;
            return Err(Error::Choice(format!(
                "{damage}={rank}: there is no rank {rank}; the last is {last}"
            )));
        }
        if !self.databases && !self.texts && !self.timelines {
            return Err(Error::Choice("neither databases nor texts nor timelines are asked for".to_owned()));
        }
        Ok(())
    }
}
