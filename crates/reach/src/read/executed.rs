//! A rank's doings, record by record in the order of starts, for whoever keeps it rather than sums it up.

use super::operators::{Kind, Ran, Work, can_last};

/// A rank's operators, copies and calls.
#[derive(Debug, Default)]
pub struct Executed {
    /// The kinds of operators.
    pub kinds: Vec<Kind>,
    /// All computing tasks.
    pub operators: Vec<Ran>,
    /// The words for kinds of copies.
    pub words: Vec<String>,
    /// Start, end and the place of the word for each copy.
    pub copies: Vec<(i64, i64, u32)>,
    /// Start, end and name of calls of the framework.
    pub calls: Vec<(i64, i64, String)>,
    /// Whether the profile tells of copies.
    pub tells_copies: bool,
    /// Times, and the frequencies in MHz from then on.
    pub frequencies: Vec<(i64, f64)>,
    /// Start, end and name of what the program marked.
    pub marks: Vec<(i64, i64, String)>,
}

impl Executed {
    /// Puts all in the order of starts.
    pub fn sort(&mut self) {
        self.operators.sort_unstable();
        self.copies.sort_unstable();
        self.calls.sort_unstable();
        self.frequencies.sort_by_key(|(time, _)| *time);
        self.marks.sort_unstable();
    }
}

impl Work for Executed {
    fn kind(&mut self, kind: Kind) {
        self.kinds.push(kind);
    }

    fn operator(&mut self, ran: Ran) {
        if can_last(ran.start, ran.end) {
            self.operators.push(ran);
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

    fn call(&mut self, name: &str, start: i64, end: i64) {
        if can_last(start, end) {
            self.calls.push((start, end, name.to_owned()));
        }
    }

    fn keeps_all(&self) -> bool {
        true
    }

    fn tells_copies(&mut self) {
        self.tells_copies = true;
    }

    fn frequency(&mut self, time: i64, megahertz: f64) {
        if can_last(time, time) && megahertz > 0.0 {
            self.frequencies.push((time, megahertz));
        }
    }

    fn mark(&mut self, name: &str, start: i64, end: i64) {
        if can_last(start, end) {
            self.marks.push((start, end, name.to_owned()));
        }
    }
}
