//! The names of lanes, in parts, so that each can be shown in any language.

use std::fmt;

/// The kind of slices on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneKind {
    /// Inferences of a model.
    Inferences,
    /// Inferences that were timed as a whole.
    Unrecorded,
    /// Calls of a thread.
    Calls,
    /// Ranges that a thread pushed and popped, and its marks.
    Ranges,
    /// Ranges that were started and stopped anywhere.
    LooseRanges,
    /// Tasks of a stream.
    Tasks,
}

impl LaneKind {
    /// The word for it in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inferences => "inferences",
            Self::Unrecorded => "unrecorded",
            Self::Calls => "calls",
            Self::Ranges => "ranges",
            Self::LooseRanges => "loose-ranges",
            Self::Tasks => "tasks",
        }
    }
}

/// The model, thread or stream that a lane belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its name, empty if it has none.
    pub name: String,
    /// The number of a thread or stream.
    pub number: Option<u64>,
    /// A thread's process, by name and number, where there are several.
    pub process: Option<String>,
}

/// The name of a lane.
///
/// ```
/// use opscope_timeline::{Label, LaneKind, Owner};
///
/// let owner = Some(Owner { number: Some(7), ..Owner::default() });
/// let label = Label { kind: LaneKind::Calls, owner, copy: 1 };
/// assert_eq!(label.to_string(), "calls of thread 7 (2)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The kind of slices.
    pub kind: LaneKind,
    /// The model, thread or stream; `None` where the profile names none.
    pub owner: Option<Owner>,
    /// 0, or the place among further lanes of the same, which hold what overlaps without nesting.
    pub copy: usize,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = match self.kind {
            LaneKind::Inferences => "inferences",
            LaneKind::Unrecorded => "unrecorded inferences",
            LaneKind::Calls => "calls",
            LaneKind::Ranges | LaneKind::LooseRanges | LaneKind::Tasks => "",
        };
        f.write_str(before)?;
        match (&self.owner, before) {
            (Some(owner), "") => self.write_owner(f, owner)?,
            (Some(owner), _) => {
                f.write_str(" of ")?;
                self.write_owner(f, owner)?;
            }
            (None, "") => f.write_str(if self.kind == LaneKind::Tasks { "tasks" } else { "ranges" })?,
            (None, _) => {}
        }
        if self.kind == LaneKind::LooseRanges {
            f.write_str(", started and stopped")?;
        }
        match self.copy {
            0 => Ok(()),
            copy => write!(f, " ({})", copy + 1),
        }
    }
}

impl Label {
    fn write_owner(&self, f: &mut fmt::Formatter<'_>, owner: &Owner) -> fmt::Result {
        match (owner.number, &*owner.name) {
            (Some(number), "") if self.kind == LaneKind::Tasks => write!(f, "stream {number}")?,
            (Some(number), "") => write!(f, "thread {number}")?,
            (_, name) => f.write_str(name)?,
        }
        owner.process.as_ref().map_or(Ok(()), |process| write!(f, " of {process}"))
    }
}
