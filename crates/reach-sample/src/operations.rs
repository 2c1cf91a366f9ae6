//! The work of a stage's ranks, and its times as far as they are kept. Times are nanoseconds of one true clock.

use crate::kernels::Kernel;
use crate::layout::Group;

/// A kind of communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Transfer {
    AllReduce,
    AllToAll,
    ReduceScatter,
    AllGather,
    Send,
    Receive,
}

impl Transfer {
    /// The name in profiles.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "allReduce",
            Self::AllToAll => "alltoallv",
            Self::ReduceScatter => "reduceScatter",
            Self::AllGather => "allGather",
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }

    /// Whether two ranks take part, and not all of a group.
    pub(crate) fn is_between_two(self) -> bool {
        matches!(self, Self::Send | Self::Receive)
    }
}

/// The work of a stage's ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) step: u32,
    pub(crate) work: Work,
}

/// Computing or communicating.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Compute { kernel: &'static Kernel, backward: bool },
    Communicate(Communication),
}

/// A collective, or one side of a transfer between two ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Communication {
    pub(crate) group: Group,
    pub(crate) transfer: Transfer,
    /// Bytes that a rank contributes.
    pub(crate) size: f64,
    /// Bytes over each link.
    pub(crate) link: f64,
    /// How many of its group and stage came before.
    pub(crate) number: u32,
    /// The other stage of a send or receive.
    pub(crate) peer_stage: usize,
}

/// When a rank did an operation of its stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The place in the stage's list of operations.
    pub(crate) operation: u32,
    /// How much longer than usual the links took.
    pub(crate) noise: f64,
    pub(crate) start: f64,
    /// When data began to move: the last member's start.
    pub(crate) begin: f64,
    pub(crate) end: f64,
}

/// A step of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepTimes {
    pub(crate) step: u32,
    pub(crate) begin: f64,
    /// When the input was there.
    pub(crate) ready: f64,
    pub(crate) end: f64,
}

/// The events of the ranks that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// The first rank.
    pub(crate) first: usize,
    /// The work of each stage; empty for those without such a rank.
    pub(crate) operations: Vec<Vec<Operation>>,
    /// By rank from the first on.
    pub(crate) moments: Vec<Vec<Moment>>,
    /// By rank from the first on.
    pub(crate) steps: Vec<Vec<StepTimes>>,
    /// The multiple of the usual tokens, by rank from the first on.
    pub(crate) tokens: Vec<f64>,
    /// How long the run took.
    pub(crate) duration: f64,
}
