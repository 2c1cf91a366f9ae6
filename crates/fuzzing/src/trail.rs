//! The outcome of an input, so that inputs that lead to something new are kept and changed further.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Display;
use std::hash::{Hash, Hasher};

/// Letters of an error that are looked at: what stands first is its kind, what stands later is often copied from
/// the input.
const LOOKED_AT: usize = 40;

/// The steps that an input led to, each as a number.
#[derive(Debug, Default)]
pub struct Trail(Vec<u64>);

impl Trail {
    /// It was refused; of the error only its words count.
    pub fn refused(&mut self, error: &dyn Display) {
        let text = error.to_string();
        // Paths are others each time, and quotes are the input's.
        let own = text.split(['"', '\'', '`']).next().unwrap_or_default();
        let words = own.split_whitespace().filter(|word| !word.contains('/')).flat_map(|word| word.chars());
        let words = words.filter(char::is_ascii_lowercase);
        self.step(("refused", words.take(LOOKED_AT).collect::<String>()));
    }

    /// So many of something came of it; only their magnitude counts.
    pub fn counted(&mut self, what: &str, count: usize) {
        self.step((what, count.checked_ilog2()));
    }

    /// Something that is one of a few.
    pub fn noted(&mut self, what: &str) {
        self.step(("noted", what));
    }

    fn step(&mut self, step: impl Hash) {
        let mut hasher = DefaultHasher::new();
        step.hash(&mut hasher);
        self.0.push(hasher.finish());
    }

    /// The numbers of the steps, some of which may be there several times.
    pub fn steps(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Trail;

    fn after(walk: impl Fn(&mut Trail)) -> Vec<u64> {
        let mut trail = Trail::default();
        walk(&mut trail);
        trail.steps().to_vec()
    }

    #[test]
    fn errors_differ_by_their_words_and_counts_by_their_magnitude() {
        let refused = |text: &'static str| after(|trail| trail.refused(&text));
        assert_eq!(refused("line 7: no number"), refused("line 12: no number"));
        assert_ne!(refused("line 7: no number"), refused("line 7: no name"));
        let counted = |count| after(|trail| trail.counted("rows", count));
        assert_eq!(counted(9), counted(15));
        assert_ne!(counted(0), counted(1));
    }
}
