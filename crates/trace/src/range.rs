//! Ranges and marks that a program set itself.

use crate::table::table;
use crate::{Nanoseconds, StringId, ThreadId};

/// How a range was opened and closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RangeKind {
    /// Pushed and popped on one thread: such ranges nest.
    PushPop,
    /// Started and stopped anywhere: such ranges may overlap.
    StartStop,
    /// A single point in time.
    Mark,
}

impl RangeKind {
    /// A word for tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::PushPop => "push-pop",
            Self::StartStop => "start-stop",
            Self::Mark => "mark",
        }
    }
}

table! {
    /// Ranges and marks that the program set.
    RangeTable,
    /// Names a row of the [`RangeTable`].
    RangeId,
    /// A phase or point in time that the program named.
    Range {
        /// The thread that set it.
        thread: Option<ThreadId>,
        /// How it was opened and closed.
        kind: RangeKind,
        /// The program's text.
        name: StringId,
        /// The program's domain or category.
        domain: Option<StringId>,
        /// When it began.
        start: Nanoseconds,
        /// How long it lasted; zero for a mark.
        duration: Nanoseconds,
    }
}

impl Range {
    /// A nesting range of which only the name and times are known.
    pub fn new(name: StringId, start: Nanoseconds, duration: Nanoseconds) -> Self {
        Self { thread: None, kind: RangeKind::PushPop, name, domain: None, start, duration }
    }
}
