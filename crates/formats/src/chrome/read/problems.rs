//! Events that had to be left out or are doubtful, counted by what is wrong with them.

use opscope_trace::{Severity, Trace};

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

    fn reason(self) -> &'static str {
        match self {
            Self::NotAnObject => "dropped: an element of the list of events that is no object",
            Self::NoPhase => "dropped: an event without a phase",
            Self::UnknownPhase => "dropped: an event of a phase that no trace has a place for",
            Self::NoTime => "dropped: an event without a time",
            Self::TimeTooLarge => "dropped: an event with a time or duration beyond 292 years",
            Self::TimeBeforeZero => "kept: an event with a negative time",
            Self::NoDuration => "dropped: a complete event without a duration",
            Self::NegativeDuration => "dropped: a complete event with a negative duration",
            Self::NoValue => "dropped: a value of a counter that is no number",
            Self::EndWithoutBeginning => "dropped: an end without a beginning",
            Self::BeginningWithoutEnd => "dropped: a beginning without an end",
            Self::EndBeforeBeginning => "dropped: a slice that ends before it begins",
            Self::ArrowWithoutLaunch => {
                "left out: an arrow beside those that lead from a call to the task which it launched"
            }
            Self::UnknownMetadata => "dropped: a metadata event about neither a process nor a thread",
        }
    }
}

impl Problem {
    fn severity(self) -> Severity {
        match self {
            Self::UnknownPhase | Self::ArrowWithoutLaunch | Self::UnknownMetadata => Severity::Remark,
            Self::TimeBeforeZero => Severity::Doubted,
            _ => Severity::Lost,
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
            trace.count_as(problem.severity(), problem.reason(), count, &detail);
        }
    }
}
