//! Events that had to be left out or are doubtful, counted by what is wrong with them.

use opscope_trace::{LossKind, Trace};

/// The reasons for which an event is left out or doubted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    NotAnObject,
    NoPhase,
    UnknownPhase,
    NoTime,
    TimeTooLarge,
    TimeBeforeZero,
    NoDuration,
    NegativeDuration,
    NoValue,
    EndWithoutBeginning,
    BeginningWithoutEnd,
    EndBeforeBeginning,
    ArrowWithoutLaunch,
    UnknownMetadata,
}

impl Problem {
    const ALL: [Self; 14] = [
        Self::NotAnObject,
        Self::NoPhase,
        Self::UnknownPhase,
        Self::NoTime,
        Self::TimeTooLarge,
        Self::TimeBeforeZero,
        Self::NoDuration,
        Self::NegativeDuration,
        Self::NoValue,
        Self::EndWithoutBeginning,
        Self::BeginningWithoutEnd,
        Self::EndBeforeBeginning,
        Self::ArrowWithoutLaunch,
        Self::UnknownMetadata,
    ];

    fn kind(self) -> LossKind {
        match self {
            Self::NotAnObject => LossKind::EventNoObject,
            Self::NoPhase => LossKind::EventWithoutPhase,
            Self::UnknownPhase => LossKind::EventOfUnknownPhase,
            Self::NoTime => LossKind::EventWithoutTime,
            Self::TimeTooLarge => LossKind::EventTimeTooLarge,
            Self::TimeBeforeZero => LossKind::EventTimeBeforeZero,
            Self::NoDuration => LossKind::EventWithoutDuration,
            Self::NegativeDuration => LossKind::EventNegativeDuration,
            Self::NoValue => LossKind::ValueNoNumber,
            Self::EndWithoutBeginning => LossKind::EndWithoutBeginning,
            Self::BeginningWithoutEnd => LossKind::BeginningWithoutEnd,
            Self::EndBeforeBeginning => LossKind::EndBeforeBeginning,
            Self::ArrowWithoutLaunch => LossKind::ArrowWithoutLaunch,
            Self::UnknownMetadata => LossKind::UnknownMetadata,
        }
    }
}

/// How often each problem was met, and where first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problems {
    counts: [u64; Problem::ALL.len()],
    first: [usize; Problem::ALL.len()],
}

impl Default for Problems {
    fn default() -> Self {
        Self { counts: Default::default(), first: [usize::MAX; Problem::ALL.len()] }
    }
}

impl Problems {
    /// Counts a problem met `offset` bytes into the file.
    pub fn count(&mut self, problem: Problem, offset: usize) {
        let index = problem as usize;
        self.counts[index] += 1;
        self.first[index] = self.first[index].min(offset);
    }

    /// Counts problems of which no place is known.
    pub fn count_all(&mut self, problem: Problem, count: u64) {
        self.counts[problem as usize] += count;
    }

    pub fn add(&mut self, other: &Self) {
        for index in 0..Problem::ALL.len() {
            self.counts[index] += other.counts[index];
            self.first[index] = self.first[index].min(other.first[index]);
        }
    }

    /// Notes everything in the trace.
    pub fn report(&self, trace: &mut Trace) {
        for problem in Problem::ALL {
            let (count, first) = (self.counts[problem as usize], self.first[problem as usize]);
            let detail = if first == usize::MAX { String::new() } else { format!("first at byte {first}") };
            trace.count_loss(problem.kind(), count, &detail);
        }
    }
}
