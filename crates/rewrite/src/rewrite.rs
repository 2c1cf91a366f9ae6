//! What a rewrite is.

use std::fmt;

use crate::draft::{Draft, Edit, NodeIndex};

/// How close the outputs of a rewritten model are to those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exactness {
    /// The same to the last bit, for every type that the rewrite is for.
    Exact,
    /// The same mathematics: only the rounding of floating-point numbers may differ. Where results come
    /// to be quantised, that is a lossy change.
    Rounding,
    /// The same within conditions that were checked, apart from corner cases that the rewrite's
    /// condition names.
    Bounded,
    /// Another function. Never applied unless it is asked for, and to be judged by its error.
    Lossy,
}

impl Exactness {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Rounding => "rounding",
            Self::Bounded => "bounded",
            Self::Lossy => "lossy",
        }
    }
}

impl fmt::Display for Exactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// For whom a rewrite pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// Less work on any engine.
    Always,
    /// Only on some hardware, so it is applied when it is named, or tried and measured.
    Named,
}

/// What is said of a rewrite.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Such as `G01`; a letter tells apart the parts of one, as in `G05a`.
    pub id: &'static str,
    /// A short name, such as `conv-bn-fold`.
    pub name: &'static str,
    /// How close the results are.
    pub exactness: Exactness,
    /// Whether it is applied without being named.
    pub use_: Use,
    /// What becomes what, in one line.
    pub summary: &'static str,
    /// What must hold for it to apply, and where the results may differ.
    pub condition: &'static str,
}

/// A rewrite: a pattern, its guards, and the replacement.
pub trait Rewrite: Sync {
    /// What is said of it.
    fn info(&self) -> &'static Info;

    /// Whether it computes numbers in another way. One that only moves them, or says what they are for,
    /// rounds nothing, whatever its class is for other reasons.
    fn computes(&self) -> bool {
        true
    }

    /// The operators at which the pattern can be found; an empty list is all of them.
    fn roots(&self) -> &'static [&'static str];

    /// The change at a node, if the pattern is there and every guard lets it pass.
    ///
    /// Guards about who else uses a result are checked again when the edit is committed.
    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit>;
}
