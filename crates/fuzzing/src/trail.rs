//! The outcome of an input, so that inputs that lead to something new are kept and changed further.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Display;
use std::hash::{Hash, Hasher};

/// Letters of an error that are looked at: what stands first is its kind, what stands later is often copied from
/// the input.
const LOOKED_AT: usize = 40;

/// How many errors, and how many names of an input, are told apart at most: an input that is kept for each would fill
/// memory and disk with what the inputs themselves say.
const ERRORS: u64 = 1 << 12;
const NAMES: u64 = 1 << 6;

/// The steps that an input led to.
#[derive(Debug, Default)]
pub struct Trail {
    /// Each as a number.
    steps: Vec<u64>,
    /// Whether one of them isn't that the input was refused.
    is_answered: bool,
    /// The kinds of input that were understood, of a target that takes several.
    understood: BTreeSet<&'static str>,
}

impl Trail {
    /// It was refused; of the error only its words count.
    pub fn refused(&mut self, error: &dyn Display) {
        let text = error.to_string();
        // Paths are others each time, and quotes are the input's.
        let own = text.split(['"', '\'', '`']).next().unwrap_or_default();
        let words = own.split_whitespace().filter(|word| !word.contains('/')).flat_map(|word| word.chars());
        let words = words.filter(char::is_ascii_lowercase);
        self.steps.push(hash(("refused", hash(words.take(LOOKED_AT).collect::<String>()) % ERRORS)));
    }

    /// So many of something came of it; only their magnitude counts.
    pub fn counted(&mut self, what: &str, count: usize) {
        self.step((what, count.checked_ilog2()));
    }

    /// Something that bears a name of the input's own, or doesn't.
    pub fn named(&mut self, name: &str, holds: bool) {
        self.step(("named", hash(name) % NAMES, holds));
    }

    /// An input of this kind, or a part of one, was understood.
    pub fn understood(&mut self, kind: &'static str) {
        self.step(("understood", kind));
        self.understood.insert(kind);
    }

    /// The kinds that were understood.
    pub fn kinds(&self) -> &BTreeSet<&'static str> {
        &self.understood
    }

    /// Something that is one of a few.
    pub fn noted(&mut self, what: &str) {
        self.step(("noted", what));
    }

    fn step(&mut self, step: impl Hash) {
        self.steps.push(hash(step));
        self.is_answered = true;
    }

    /// Whether something came of the input: it wasn't merely refused.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// The numbers of the steps, some of which may be there several times.
    pub fn steps(&self) -> &[u64] {
        &self.steps
    }
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
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

    #[test]
    fn names_and_errors_of_the_inputs_own_make_so_many_steps_and_no_more() {
        let steps = after(|trail| {
            for number in 0..20_000_u32 {
                let letters: String =
                    number.to_string().bytes().map(|digit| char::from(b'a' + digit - b'0')).collect();
                trail.named(&letters, true);
                trail.refused(&letters);
            }
        });
        let distinct: std::collections::HashSet<u64> = steps.into_iter().collect();
        assert!((2_000..=4_160).contains(&distinct.len()), "{}", distinct.len());
    }
}
