//! Operators of both sides that belong together, and how they changed.

use opscope_trace::{Nanoseconds, words};

words! {
    /// How a group changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Change {
        /// Some operators of A became fewer, or others, in B.
        Merged = "merged",
        /// One operator of A became several in B.
        Split = "split",
        /// It takes less time.
        Faster = "faster",
        /// It takes more time.
        Slower = "slower",
        /// It takes the same time, within what can be told apart.
        Same = "same",
        /// Only A has it.
        Vanished = "vanished",
        /// Only B has it.
        Appeared = "appeared",
    }
}

/// An operator of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its type.
    pub op_type: &'t str,
    /// Its own time in an average iteration.
    pub time: Nanoseconds,
}

/// Operators of A and B that do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Group<'t> {
    /// The operators of A.
    pub before: Vec<Member<'t>>,
    /// The operators of B.
    pub after: Vec<Member<'t>>,
    /// How it changed.
    pub change: Change,
    /// By how much: B less A.
    pub delta: Nanoseconds,
}

impl<'t> Group<'t> {
    pub(super) fn new(before: Vec<Member<'t>>, after: Vec<Member<'t>>) -> Self {
        let sum = |members: &[Member<'_>]| members.iter().map(|member| member.time).sum::<Nanoseconds>();
        let (from, to) = (sum(&before), sum(&after));
        let delta = to - from;
        // Figures of a percent and less can't be told apart, nor those below the clock's step.
        let is_same = delta.0.abs() <= 100 || delta.0.abs() as f64 <= 0.01 * from.0 as f64;
        let change = match (before.len(), after.len()) {
            (_, 0) => Change::Vanished,
            (0, _) => Change::Appeared,
            (before, after) if before > after => Change::Merged,
            (before, after) if before < after => Change::Split,
            _ if is_same => Change::Same,
            _ if delta.0 < 0 => Change::Faster,
            _ => Change::Slower,
        };
        Self { before, after, change, delta }
    }

    /// The change in words: `Conv2D + BNInferenceD + Relu became Conv2D`.
    pub fn story(&self) -> String {
        let types = |members: &[Member<'_>]| {
            let types: Vec<&str> = members.iter().map(|member| member.op_type).collect();
            types.join(" + ")
        };
        match self.change {
            Change::Vanished => format!("{} vanished", types(&self.before)),
            Change::Appeared => format!("{} appeared", types(&self.after)),
            Change::Merged | Change::Split => {
                format!("{} became {}", types(&self.before), types(&self.after))
            }
            change => format!("{} {}", types(&self.before), change.name()),
        }
    }
}
