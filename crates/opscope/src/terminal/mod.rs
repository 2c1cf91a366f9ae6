//! The terminal: messages, colours, progress, and texts that can do it no harm.

mod harmless;
mod problem;
mod progress;
mod shell;
mod slow;
mod style;

use std::io::{self, IsTerminal, Write};

use opscope_say::{sentence, word};

pub use harmless::{DataOutput, harmless, harmless_about, printable, shortened};
pub use problem::{print_problem, usage};
pub use progress::{IterationBar, StepBar};
pub use shell::{command_line, path_word};
pub use slow::SlowNote;
pub use style::{bold, dim};

/// Where output goes and how much of it.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    quiet: bool,
    verbose: bool,
    /// The number of the piece of work that is under way, from 1, and of all of them, if there are several.
    part: Option<(usize, usize)>,
}

impl Terminal {
    /// `quiet` leaves out notes and progress, `verbose` adds details.
    pub fn new(quiet: bool, verbose: bool) -> Self {
        Self { quiet, verbose, part: None }
    }

    /// The same terminal for one of so many pieces of work, by its number from 1: progress says which.
    pub fn of_several(self, number: usize, count: usize) -> Self {
        Self { part: (count > 1).then_some((number.min(count), count)), ..self }
    }

    /// Prints an answer to standard output, with colours only on a terminal. Characters of names from
    /// files that could do something to a terminal are spelled out.
    ///
    /// # Errors
    /// When standard output can't take it.
    pub fn print(&self, text: &str) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        out.write_all(harmless(text).as_bytes())?;
        out.flush()
    }

    /// Prints data for programs to standard output, as they are unless that is a terminal.
    ///
    /// # Errors
    /// When standard output can't take them.
    pub fn print_data(&self, text: &str) -> io::Result<()> {
        let mut out = DataOutput::new(io::stdout().lock());
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Says what was done, on standard error; not when quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            say(&sentence(text));
        }
    }

    /// Says something that only some want to know.
    pub fn detail(&self, text: &str) {
        if self.verbose {
            say(&dim(&sentence(text)));
        }
    }

    /// Says something that may spoil the result, even when quiet.
    pub fn warn(&self, text: &str) {
        say(&format!("{} {}", style::warning(word("warning:")), sentence(text)));
    }

    /// Says why it failed.
    pub fn error(&self, text: &str) {
        say(&format!("{} {}", style::error(word("error:")), sentence(text)));
    }

    /// Whether details are wanted.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether progress may be drawn: someone is watching, and wants to see it.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// How wide a table may be; `None` when nobody is watching, so that nothing need be cut.
    pub fn width(&self) -> Option<u16> {
        terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0)
    }
}

/// Prints a message to standard error; one that can't be printed is nobody's loss.
fn say(text: &str) {
    anstream::eprintln!("{}", in_one_block(&harmless(text)));
}

/// The most letters in a line of a message.
const LONGEST_LINE: usize = 8_000;

/// A message whose further lines are set in, so that none of them, which a name may have brought along, looks
/// like a message of its own. Of a very long line only the ends are left.
fn in_one_block(text: &str) -> String {
    let mut block = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        let is_set_in = number == 0 || line.is_empty() || line.starts_with("  ");
        block.push_str(if number == 0 { "" } else { "\n" });
        block.push_str(if is_set_in { "" } else { "  " });
        block.push_str(&shortened(line, LONGEST_LINE));
    }
    block
}

#[cfg(test)]
mod tests {
    use super::in_one_block;

    #[test]
    fn only_the_first_line_of_a_message_begins_at_the_edge() {
        for (text, expected) in [
            ("one line", "one line"),
            ("a name\nerror: forged", "a name\n  error: forged"),
            ("a list:\n  - of one\n\nand more\n", "a list:\n  - of one\n\n  and more\n"),
        ] {
            assert_eq!(in_one_block(text), expected);
        }
        assert!(in_one_block(&"x".repeat(1_000_000)).len() < 10_000);
    }
}
