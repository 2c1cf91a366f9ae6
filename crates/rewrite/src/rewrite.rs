//! The trait that every rewrite implements.

use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::Info;

/// A size from which a rewrite pays, which users may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name, such as `kernel`.
    pub name: &'static str,
    /// The size that holds where nobody says otherwise.
    pub value: u64,
}

/// A rewrite: a pattern, its guards, and the replacement.
pub trait Rewrite: Sync {
    /// Facts about it.
    fn info(&self) -> &'static Info;

    /// Whether it computes numbers in another way. One that only moves them, or says what they are for,
    /// rounds nothing, whatever its class is for other reasons.
    fn computes(&self) -> bool {
        true
    }

    /// The version of ONNX's operators that brought the operator which it makes. Older models are left
    /// alone, and their version may be raised for it.
    fn since(&self) -> i64 {
        1
    }

    /// The size from which it pays, for those that have one.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// The same rewrite with another limit; `None` for those that have none.
    fn with_limit(&self, value: u64) -> Option<Box<dyn Rewrite>> {
        let _ = value;
        None
    }

    /// The operators at which the pattern can be found; an empty list is all of them.
    fn roots(&self) -> &'static [&'static str];

    /// The change at a node, if the pattern is there and every guard lets it pass.
    ///
    /// Guards about who else uses a result are checked again when the edit is committed.
    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit>;
}
