//! Why ranks can't be examined, and what was lost of those that could.

use std::path::PathBuf;

use opscope_trace::LossKind;

/// The reasons for which there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The path names nothing.
    #[error("{0}: there is no such folder")]
    NotThere(PathBuf),
    /// The path is the address of something that is no file system.
    #[error(
        "{0}: addresses aren't read: mount the object store and name the folder; a set can be asked where it is by \
         engines that have its protocol (DuckDB, Spark)"
    )]
    Address(PathBuf),
    /// A folder can't be listed.
    #[error("{path}: its content can't be listed: {source}")]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Nothing below the paths is a rank's.
    #[error(
        "{0}: no profiles of ranks below it; expected one for every rank: folders *_ascend_pt or *_ascend_ms, raw \
         directories PROF_*, databases msprof_*.db, PyTorch's timelines that tell their rank (*.json, *.json.gz), \
         databases of opscope, or the cluster_analysis.db or cluster_*.json of all"
    )]
    NoCollections(PathBuf),
    /// There are profiles of ranks, but none of the form that the vendor's tools take.
    #[error(
        "{0}: no folders of ranks with databases or texts (*_ascend_pt, *_ascend_ms), which alone are read for these \
         tables; opscope cluster reads the other profiles that are there"
    )]
    NoFolders(PathBuf),
    /// Collections were found, but no rank has a collective that another has.
    #[error("{}", nothing_matched(.ranks, .advice, .why))]
    NothingMatched {
        /// How many ranks were read.
        ranks: usize,
        /// A word on what else they may lack.
        advice: Advice,
        /// The first loss, or nothing.
        why: String,
    },
    /// The same ranks were recorded by two runs at the same time.
    #[error(
        "these ranks are in two runs, neither of which is known to be newer: {ranks}, of which the first is in {first} \
         and in {second}; give the folders of one run"
    )]
    TwoRuns {
        /// The ranks.
        ranks: String,
        /// One collection.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Ranks were recorded twice at the same time.
    #[error(
        "these ranks were recorded twice at the same time, as by two jobs: {ranks}, of which the first is in {first} and \
         in {second}; give the folders of one job"
    )]
    AtOnce {
        /// The ranks.
        ranks: String,
        /// One collection.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Collections are of different jobs.
    #[error(
        "these are ranks of different jobs, which have no step in common: ranks {ranks} (such as {folder}) say other \
         things of their groups than ranks {other_ranks} (such as {other_folder}): give the folders of one job"
    )]
    SeveralJobs {
        /// The ranks of one job.
        ranks: String,
        /// The first one's collection.
        folder: PathBuf,
        /// The ranks of another.
        other_ranks: String,
        /// The first one's collection.
        other_folder: PathBuf,
    },
    /// A set has no collectives.
    #[error(
        "the set was imported with --keep summary and has no collectives, which everything is found by: import with --keep communication or all"
    )]
    SummaryOnly,
    /// A set has no operators.
    #[error("the set was imported without operators, which experts are found by: import with --keep all")]
    NoOperators,
    /// A set can't be written or read.
    #[error(transparent)]
    Set(#[from] crate::set::SetError),
    /// A set is given beside other paths.
    #[error("{0} is a set: give it alone")]
    SetAmongOthers(PathBuf),
    /// A run is named, but the paths are no set.
    #[error("{0} is no set, and has no runs to choose from")]
    NoRuns(PathBuf),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// A word of advice on ranks none of whose collectives has a counterpart: beside other ranks of the run, their recordings may
/// lack something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Ascend's profilers record collectives from a level on.
    Level,
    /// Timelines of older versions of PyTorch don't tell the groups of collectives.
    Groups,
    /// Nothing else is known to help.
    AllRanks,
}

/// The error's sentence: each has one of its own, by which its translation is found.
fn nothing_matched(ranks: &usize, advice: &Advice, why: &str) -> String {
    match advice {
        Advice::Level => format!(
            "none of the collectives of these ranks ({ranks}) has a counterpart on another rank, so that nothing can be \
             compared: give the folder above all ranks of one run, collected with the profiler level Level1 or \
             above{why}; opscope cluster info tells what is there, and opscope cluster summary where steps go"
        ),
        Advice::Groups => format!(
            "none of the collectives of these ranks ({ranks}) has a counterpart on another rank, so that nothing can be \
             compared: their timelines don't tell the groups of collectives, as those of newer versions of PyTorch \
             do{why}; opscope cluster info tells what is there, and opscope cluster summary where steps go"
        ),
        Advice::AllRanks => format!(
            "none of the collectives of these ranks ({ranks}) has a counterpart on another rank, so that nothing can be \
             compared: give the folder above all ranks of one run{why}; opscope cluster info tells what is there, and \
             opscope cluster summary where steps go"
        ),
    }
}

/// A kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// A file is cut or damaged: what could be read of it is used.
    Damaged,
    /// A timeline's list of events isn't closed behind its last one.
    OpenList,
    /// A rank has no tasks and no collectives.
    Empty,
    /// A rank has no collectives, which others have.
    NoCollectives,
    /// A collection of a rank that another one has as well, and that isn't used.
    Double,
    /// Two places of a collection name different ranks.
    Contradiction,
    /// The rank is numbered by its place in the listing, because nothing names it.
    InventedRank,
    /// A profile beside those of ranks that names no rank, and isn't used.
    NoRank,
    /// A folder without anything of a rank, not even its number, which isn't used.
    EmptyFolder,
    /// The rank's host isn't told.
    NoHost,
    /// The rank's host isn't told, and the folder above is taken for it.
    HostAbove,
    /// A record has a time or a length that can't be.
    ImpossibleTime,
    /// A collective's name has no sequence number to match it by.
    Unnumbered,
    /// A collective's group isn't told.
    Ungrouped,
    /// Nothing but its name and size tells a collective's group.
    NamedGroups,
    /// The numbers of a rank's collectives were shifted against the other members'.
    Shifted,
    /// A rank's collectives don't end with the others'.
    Stranger,
    /// The same, where the rank is left out for it.
    StrangerLeftOut,
    /// Ranks of a host whose clock is apart from that of its others.
    OwnClock,
    /// Steps are numbered, or divided, as the ranks have them with which a rank shares collectives.
    StepsOfOthers,
    /// Steps end farther apart than they are long.
    StepsApart,
    /// A rank was recorded at another time than the others on its host, in other steps, and is left out.
    OtherTime,
    /// Time between steps is of none of them.
    BetweenSteps,
    /// A step of which the rank has less than half of what others have is left out for it.
    CutStep,
    /// A step of which the rank lacks some of the collectives that others have is left out for it.
    LacksCollectives,
    /// A step that fewer than half of the ranks recorded is left out.
    StepOfFew,
    /// A rank lacks steps that most ranks have, or the other one of two.
    LacksSteps,
    /// A table of steps states more computing than a rank's operators show.
    LostOperators,
    /// A rank has no operators, which others have, and a table of steps states what it computed.
    StatedComputing,
    /// A rank has no operators, and nothing states what it computed.
    UnknownComputing,
    /// A link to a rank that wasn't recorded is slow, as its sender measured it.
    SlowToUnrecorded,
    /// Messages between hosts of which no task tells the end, in a database beside which no matrix has the links.
    UntimedTransfers,
    /// The profile tells no steps: the whole recording counts as one.
    NoSteps,
    /// The profile tells no steps: those of the period in which its collectives come again count.
    InferredSteps,
    /// Nothing but its collectives tells the steps, by their numbers alone.
    NamedSteps,
}

impl LossReason {
    /// Whether figures may be wrong for it (`lost`), it is doubtful itself (`doubted`), or a remark only.
    pub fn severity(self) -> &'static str {
        match self {
            Self::Damaged
            | Self::Empty
            | Self::NoCollectives
            | Self::ImpossibleTime
            | Self::Unnumbered
            | Self::Ungrouped
            | Self::Stranger
            | Self::StrangerLeftOut
            | Self::OtherTime
            | Self::StepsApart
            | Self::CutStep
            | Self::LacksCollectives
            | Self::StepOfFew
            | Self::LostOperators
            | Self::UnknownComputing => "lost",
            Self::OpenList
            | Self::Contradiction
            | Self::InventedRank
            | Self::Shifted
            | Self::OwnClock
            | Self::NamedGroups
            | Self::StepsOfOthers
            | Self::LacksSteps
            | Self::SlowToUnrecorded
            | Self::NamedSteps
            | Self::NoSteps
            | Self::InferredSteps => "doubted",
            Self::Double
            | Self::NoRank
            | Self::EmptyFolder
            | Self::NoHost
            | Self::HostAbove
            | Self::BetweenSteps
            | Self::UntimedTransfers
            | Self::StatedComputing => "remark",
        }
    }

    /// All kinds.
    pub const ALL: [Self; 35] = [
        Self::Damaged,
        Self::OpenList,
        Self::Empty,
        Self::NoCollectives,
        Self::Double,
        Self::Contradiction,
        Self::InventedRank,
        Self::NoRank,
        Self::EmptyFolder,
        Self::NoHost,
        Self::HostAbove,
        Self::ImpossibleTime,
        Self::Unnumbered,
        Self::Ungrouped,
        Self::NamedGroups,
        Self::Shifted,
        Self::Stranger,
        Self::StrangerLeftOut,
        Self::OwnClock,
        Self::StepsOfOthers,
        Self::StepsApart,
        Self::OtherTime,
        Self::BetweenSteps,
        Self::CutStep,
        Self::LacksCollectives,
        Self::StepOfFew,
        Self::LacksSteps,
        Self::LostOperators,
        Self::StatedComputing,
        Self::UnknownComputing,
        Self::SlowToUnrecorded,
        Self::UntimedTransfers,
        Self::NoSteps,
        Self::InferredSteps,
        Self::NamedSteps,
    ];

    /// Its name for programs, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::OpenList => "open_list",
            Self::Empty => "empty",
            Self::NoCollectives => "no_collectives",
            Self::Double => "double",
            Self::Contradiction => "contradiction",
            Self::InventedRank => "invented_rank",
            Self::NoRank => "no_rank",
            Self::EmptyFolder => "empty_folder",
            Self::NoHost => "no_host",
            Self::HostAbove => "host_above",
            Self::ImpossibleTime => "impossible_time",
            Self::Unnumbered => "unnumbered",
            Self::Ungrouped => "ungrouped",
            Self::NamedGroups => "named_groups",
            Self::Shifted => "shifted",
            Self::Stranger => "stranger",
            Self::StrangerLeftOut => "stranger_left_out",
            Self::OwnClock => "own_clock",
            Self::StepsOfOthers => "steps_of_others",
            Self::StepsApart => "steps_apart",
            Self::OtherTime => "other_time",
            Self::BetweenSteps => "between_steps",
            Self::CutStep => "cut_step",
            Self::LacksCollectives => "lacks_collectives",
            Self::StepOfFew => "step_of_few",
            Self::LacksSteps => "lacks_steps",
            Self::LostOperators => "lost_operators",
            Self::StatedComputing => "stated_computing",
            Self::UnknownComputing => "unknown_computing",
            Self::SlowToUnrecorded => "slow_to_unrecorded",
            Self::UntimedTransfers => "untimed_transfers",
            Self::NoSteps => "no_steps",
            Self::InferredSteps => "inferred_steps",
            Self::NamedSteps => "named_steps",
        }
    }

    /// The kind of a name; what no kind has is a damage.
    pub fn of_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(Self::Damaged)
    }

    /// It in words, for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Damaged => "cut or damaged; what could be read of it is used",
            Self::OpenList => LossKind::OpenEventList.sentence(),
            Self::Empty => "nothing in it",
            Self::NoCollectives => {
                "no collectives, which others have; where its time goes isn't known, and others may have waited for it"
            }
            Self::Double => "a rank that another collection, not older, has as well; not used",
            Self::Contradiction => "names another rank than its place does",
            Self::InventedRank => "names no rank; numbered by its place in the listing",
            Self::NoRank => "names no rank, which others beside it do; not used",
            Self::EmptyFolder => {
                "nothing in it, and nothing tells whose it is, as where a start was aborted; not used"
            }
            Self::HostAbove => "tells no host; the folder above is taken for it",
            Self::NoHost => "tells no host; counts as a host of its own, with its own clock",
            Self::ImpossibleTime => "records with impossible times; left out",
            Self::Unnumbered => "collectives without a sequence number; left out of the matching",
            Self::Ungrouped => {
                "collectives whose group isn't told, as older versions of PyTorch do not; left out of the matching"
            }
            Self::NamedGroups => {
                "collectives whose groups are known by name and size alone; ranks of other groups of that name and size count as \
                 members"
            }
            Self::Shifted => "collectives numbered otherwise than on other ranks; aligned",
            Self::Stranger => {
                "collectives that don't end with the others' of their number: another run's, or counted from another begin; \
                 costs may be wrong"
            }
            Self::StrangerLeftOut => {
                "collectives that don't end with the others' of their number: another run's, or counted from another begin; \
                 left out"
            }
            Self::OwnClock => {
                "ranks whose clock is apart from that of the others on a host of this name; taken for another host"
            }
            Self::StepsOfOthers => "steps as the ranks have them with which it shares collectives",
            Self::StepsApart => {
                "steps end much farther apart than they are long: something lies between them, or times contradict; costs \
                 may be wrong"
            }
            Self::OtherTime => "recorded at another time than the others on its host; left out",
            Self::BetweenSteps => {
                "time lies before steps, since the end of the one before, and counts as none of theirs"
            }
            Self::CutStep => "has less than half of the collectives that others have; left out for this rank",
            Self::LacksCollectives => {
                "lacks some of the collectives that others have in it; left out for this rank"
            }
            Self::StepOfFew => "steps that fewer than half of the ranks recorded; left out",
            Self::SlowToUnrecorded => {
                "slower than its like; its receiver wasn't recorded, so that what it costs isn't known"
            }
            Self::UntimedTransfers => {
                "transfers by RDMA of which no task tells the end; without analysis.db, the links of their groups aren't known"
            }
            Self::LostOperators => {
                "steps with fewer operators than a table of steps states; the table tells what was computed in them"
            }
            Self::StatedComputing => {
                "no operators, which others have; a table of steps tells what was computed"
            }
            Self::UnknownComputing => {
                "no operators; what was computed isn't known, and counts as time of the host"
            }
            Self::LacksSteps => "lacks steps that others have; its costs are those of the steps that it has",
            Self::NoSteps => "tells no steps; the whole recording counts as one",
            Self::NamedSteps => {
                "steps whose numbers its collectives tell; where they begin and end is inferred"
            }
            Self::InferredSteps => {
                "steps that were inferred, from the period in which its collectives come again; the profile tells none"
            }
        }
    }
}

/// Something that was lost, or is doubtful.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Loss {
    /// The rank that it is about, if one.
    pub rank: Option<u32>,
    /// The file or folder, or the group.
    pub source: String,
    /// Its kind.
    pub reason: LossReason,
    /// How many records.
    pub count: u64,
    /// The reader's own words, or nothing.
    pub detail: String,
}

impl Loss {
    /// A loss without words of a reader.
    pub fn new(rank: Option<u32>, source: impl Into<String>, reason: LossReason, count: u64) -> Self {
        Self { rank, source: source.into(), reason, count, detail: String::new() }
    }

    /// The same with a reader's words.
    pub fn because(self, detail: impl ToString) -> Self {
        Self { detail: detail.to_string(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::LossReason;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in LossReason::ALL {
            assert_eq!(LossReason::of_name(kind.name()), kind);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
