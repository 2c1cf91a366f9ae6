//! A rank's doings, record by record in the order of starts, for whoever keeps it rather than sums it up.

use super::operators::{Kind, Work, can_last};

/// A rank's operators, copies and calls.
#[derive(Debug, Default)]
pub struct Executed {
    /// The kinds of operators.
    pub kinds: Vec<Kind>,
    /// Start, end and kind of each operator.
    pub operators: Vec<(i64, i64, u32)>,
    /// The words for kinds of copies.
    pub words: Vec<String>,
    /// Start, end and the place of the word for each copy.
    pub copies: Vec<(i64, i64, u32)>,
    /// Start, end and name of calls that fetch input.
    pub loads: Vec<(i64, i64, String)>,
}

impl Executed {
    /// Puts all in the order of starts.
    pub fn sort(&mut self) {
        self.operators.sort_unstable();
        self.copies.sort_unstable();
        self.loads.sort_unstable();
    }
}

impl Work for Executed {
    fn kind(&mut self, kind: Kind) {
        self.kinds.push(kind);
    }

    fn operator(&mut self, kind: usize, start: i64, end: i64) {
        if can_last(start, end) {
            self.operators.push((start, end, kind as u32));
        }
    }

    fn copy(&mut self, word: &str, start: i64, end: i64) {
        let place = self.words.iter().position(|it| it == word).unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        });
        if can_last(start, end) {
            self.copies.push((start, end, place as u32));
        }
    }

    fn load(&mut self, name: &str, start: i64, end: i64) {
        if can_last(start, end) {
            self.loads.push((start, end, name.to_owned()));
        }
    }
}
