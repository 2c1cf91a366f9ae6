//! Texts of the help that are set by hand, examples with their captions among them: taken apart into sentences, and
//! set anew in another language.
//!
//! ```text
//! Examples:                                   a sentence at the edge
//!   opscope formats      every format         in examples, a command with its caption
//!   opscope formats onnx
//!
//! Lines that stand at the edge are one        a paragraph, a single sentence for those who translate it
//! paragraph.
//!
//!   total   an operator's own time: less      a row: what stands right of a gap goes on below
//!           that of what ran within it
//! ```

use opscope_say::{width, wrapped};

/// Where texts come from.
pub trait Texts {
    /// The text of a sentence.
    fn text(&mut self, english: &str) -> String;

    /// The text of a line of examples without a gap before its caption, which hardly any has.
    fn example(&mut self, line: &str) -> String;
}

/// A piece of a block.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    /// A line that is the same in every language.
    Same(String),
    /// A command without a gap before a caption, if it has one.
    Example { indent: usize, line: String },
    /// Words on one line or on several that go on.
    Sentence { indent: usize, words: String },
    /// Words side by side, each at its column.
    Row(Vec<(usize, String)>),
}

/// The least columns between two words of a row.
const GAP: usize = 2;

/// The length from which on a line that is set in goes on in the next: shorter ones are lists.
const LONG: usize = 70;

/// The fewest columns in which a caption is broken; where there are fewer, it stays on its line.
const NARROWEST: usize = 24;

/// The block with texts in place of its sentences, on lines of so many columns.
pub fn told(block: &str, columns: usize, texts: &mut impl Texts) -> String {
    let mut lines = Vec::new();
    for piece in pieces(block) {
        match piece {
            Piece::Same(line) => lines.push(line),
            Piece::Example { indent, line } => {
                lines.push(format!("{:indent$}{}", "", texts.example(&line)));
            }
            Piece::Sentence { indent, words } => {
                let room = columns.saturating_sub(indent);
                let broken = wrapped(&texts.text(&words), room);
                lines.extend(broken.into_iter().map(|line| format!("{:indent$}{line}", "")));
            }
            Piece::Row(cells) => lines.extend(row(&cells, columns, texts)),
        }
    }
    lines.join("\n")
}

/// The lines of a row: its words at their columns, or behind those before; the last go on below. Names and what they
/// mean take turns.
fn row(cells: &[(usize, String)], columns: usize, texts: &mut impl Texts) -> Vec<String> {
    let mut line = String::new();
    let mut broken = Vec::new();
    for (number, (column, words)) in cells.iter().enumerate() {
        let gap = if number == 0 { 0 } else { GAP };
        line.push_str(&" ".repeat(column.saturating_sub(width(&line)).max(gap)));
        let is_name = number % 2 == 0 && cells.len() > 1;
        let said = if is_name || is_for_machines(words) { words.clone() } else { texts.text(words) };
        let room = columns.saturating_sub(width(&line));
        if number + 1 == cells.len() && room >= NARROWEST {
            broken = wrapped(&said, room);
        } else {
            line.push_str(&said);
        }
    }
    let indent = width(&line);
    let mut broken = broken.into_iter();
    let first = line + &broken.next().unwrap_or_default();
    std::iter::once(first).chain(broken.map(|words| format!("{:indent$}{words}", ""))).collect()
}

/// Whether words are a command, an option, a setting or data, and nobody's language.
fn is_for_machines(words: &str) -> bool {
    const FIRST: [&str; 9] = ["-", "[", "{", "opscope ", "msprof ", "ssh ", "SELECT ", "FROM ", "GROUP "];
    words.contains(" = ") || FIRST.iter().any(|first| words.starts_with(first))
}

/// Takes a block apart.
fn pieces(block: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut in_examples, mut is_quoted, mut is_long) = (false, false, false);
    for line in block.lines() {
        let words = line.trim();
        let indent = line.len() - line.trim_start().len();
        let cells = cells(line);
        // An apostrophe in a caption is none of the shell's.
        let code = if is_quoted { line } else { cells.first().map_or("", |(_, words)| words) };
        let turns = code.matches('\'').count() % 2 == 1;
        // At the edge stand paragraphs, whatever they begin with.
        let is_data = !in_examples && indent > 0 && is_for_machines(words);
        let is_same = words.is_empty() || is_quoted || (is_data && cells.len() < 2);
        match pieces.last_mut() {
            _ if is_same => pieces.push(Piece::Same(line.to_owned())),
            _ if cells.len() > 1 || (in_examples && indent > GAP) => pieces.push(Piece::Row(cells)),
            _ if in_examples => pieces.push(Piece::Example { indent, line: words.to_owned() }),
            Some(Piece::Row(before)) if before.last().is_some_and(|(column, _)| *column == indent) => {
                if let Some((_, last)) = before.last_mut() {
                    join(last, words);
                }
            }
            Some(Piece::Sentence { indent: same, words: before })
                if *same == indent && (is_long || (indent == 0 && !before.ends_with(':'))) =>
            {
                join(before, words);
            }
            _ => pieces.push(Piece::Sentence { indent, words: words.to_owned() }),
        }
        // Commands stand set in below their heading, and may go on within quotes.
        in_examples = !words.is_empty() && (in_examples || matches!(words, "Examples:" | "Usage:"));
        is_quoted = in_examples && is_quoted != turns;
        is_long = width(line) >= LONG;
    }
    pieces
}

fn join(before: &mut String, words: &str) {
    before.push(' ');
    before.push_str(words);
}

/// The words of a line between gaps, with their columns.
fn cells(line: &str) -> Vec<(usize, String)> {
    let mut cells = Vec::new();
    let mut at = line.len() - line.trim_start().len();
    while let Some(rest) = line.get(at..).map(str::trim_end).filter(|rest| !rest.is_empty()) {
        let words = rest.split("  ").next().unwrap_or(rest);
        cells.push((width(&line[..at]), words.to_owned()));
        let behind = &rest[words.len()..];
        at += words.len() + behind.len() - behind.trim_start().len();
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts in capitals, and a note of what was asked.
    #[derive(Default)]
    struct Loud(Vec<String>);

    impl Texts for Loud {
        fn text(&mut self, english: &str) -> String {
            self.0.push(english.to_owned());
            english.to_uppercase()
        }

        fn example(&mut self, line: &str) -> String {
            line.to_owned()
        }
    }

    #[test]
    fn commands_stay_as_they_are_and_their_captions_are_said() {
        let block = "\
Examples:
  opscope formats                 everybody's format
  opscope sql run.db 'SELECT 1
                      FROM tasks  WHERE 1' -q
  opscope compare before.db after.db
                                  what a change did";
        let expected = "\
EXAMPLES:
  opscope formats                 EVERYBODY'S FORMAT
  opscope sql run.db 'SELECT 1
                      FROM tasks  WHERE 1' -q
  opscope compare before.db after.db
                                  WHAT A CHANGE DID";
        assert_eq!(told(block, 80, &mut Loud::default()), expected);
    }

    #[test]
    fn lines_of_a_paragraph_are_one_sentence_and_so_are_those_that_go_on_in_a_row() {
        let mut loud = Loud::default();
        let block = "\
A row is an operator, or
what is put together.

Faults:
  slow=RANK   it is slow      cut=RANK   it ends
  total   an operator's own time:
          less that within

  opscope in a paragraph that is set in and is broken by hand where the line ends
  goes on.
  [thresholds]
  A05.min_us = 50";
        let text = told(block, 30, &mut loud);
        assert_eq!(
            loud.0,
            [
                "A row is an operator, or what is put together.",
                "Faults:",
                "it is slow",
                "it ends",
                "an operator's own time: less that within",
                "goes on.",
            ]
        );
        assert!(text.contains("A ROW IS AN OPERATOR, OR WHAT\nIS PUT TOGETHER.\n\nFAULTS:\n"), "{text}");
        assert!(text.contains("  total   AN OPERATOR'S OWN"), "{text}");
        assert!(text.ends_with("  [thresholds]\n  A05.min_us = 50"), "{text}");
    }
}
