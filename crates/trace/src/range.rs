//! Ranges and marks that a program set itself.

use crate::table::table;
use crate::words;
use crate::{Nanoseconds, StringId, ThreadId};

words! {
    /// How a range was opened and closed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RangeKind {
        /// Pushed and popped on one thread: such ranges nest.
        PushPop = "push-pop",
        /// Started and stopped anywhere: such ranges may overlap.
        StartStop = "start-stop",
        /// A single point in time.
        Mark = "mark",
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
