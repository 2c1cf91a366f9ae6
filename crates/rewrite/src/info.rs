//! Facts about a rewrite: its id, how close its results are, and for whom it pays.

use std::fmt;

use opscope_trace::words;

words! {
    /// How close the outputs of a rewritten model are to those before.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Exactness {
        /// The same to the last bit, for every type that the rewrite is for.
        Exact = "exact",
        /// The same mathematics: only the rounding of floating-point numbers may differ. Where results come
        /// to be quantised, that is a lossy change.
        Rounding = "rounding",
        /// The same within conditions that were checked, apart from corner cases that the rewrite's
        /// condition names.
        Bounded = "bounded",
        /// Another function. Never applied unless it is asked for, and to be judged by its error.
        Lossy = "lossy",
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

/// Facts about a rewrite.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its id, such as `G01`; a letter tells apart the parts of one, as in `G05a`.
    pub id: &'static str,
    /// A short name, such as `conv-bn-fold`.
    pub name: &'static str,
    /// How close the results are.
    pub exactness: Exactness,
    /// Whether it is applied without being named.
    pub use_: Use,
    /// The pattern and its replacement, in one line.
    pub summary: &'static str,
    /// The condition under which it applies, and where the results may differ.
    pub condition: &'static str,
}
