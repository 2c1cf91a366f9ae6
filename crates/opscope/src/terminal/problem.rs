//! Complaints of the command line's parser.

use super::harmless::{harmless, printable};

/// Prints why a command line is wrong, or the help that it asks for. Its words may be names of files, so those
/// that could do something to the terminal are spelled out, without colours.
pub fn print_problem<'w>(problem: &clap::Error, mut words: impl Iterator<Item = &'w str>) {
    if words.all(|word| printable(word) == word) {
        let _ = problem.print();
    } else {
        // The parser's own colours would be spelled out as well.
        eprint!("{}", harmless(&problem.render().to_string()));
    }
}
