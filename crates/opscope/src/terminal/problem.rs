//! Complaints of the command line's parser.

use std::path::Path;

use clap::error::ErrorKind;
use opscope_say::say;

use super::harmless::{harmless_about, printable};

/// How a command line that names several profiles, where a command takes one, is written instead.
fn one_by_one(problem: &clap::Error, words: &[&str]) -> Option<String> {
    /// The commands that take one profile.
    const OF_ONE: [&str; 8] =
        ["advise", "analyze", "import", "info", "query", "report", "show", "profile_analyze"];
    if problem.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let command = words.iter().find(|word| !word.starts_with('-'))?;
    let paths: Vec<String> = words
        .iter()
        .filter(|word| !word.starts_with('-') && *word != command && Path::new(word).exists())
        .map(|path| printable(path).into_owned())
        .collect();
    (paths.len() > 1 && OF_ONE.contains(command)).then(|| {
        say!(
            "\nnote: {} profiles are named here ({}), and 'opscope {command}' takes one. Give it each in turn, as\n  \
             for profile in …; do opscope {command} \"$profile\"; done\nor see how two differ with \
             'opscope compare A B'.\n",
            paths.len(),
            paths.join(", ")
        )
    })
}

/// Prints why a command line is wrong, or the help that it asks for. Its words may be names of files, so those
/// that could do something to the terminal are spelled out, without colours.
pub fn print_problem<'w>(problem: &clap::Error, words: impl Iterator<Item = &'w str>) {
    let words: Vec<&str> = words.collect();
    if opscope_say::chosen() != opscope_say::Language::English {
        let text = harmless_about(&problem.render().to_string(), &words);
        let told: String = text.lines().map(|line| opscope_say::sentence(line).into_owned() + "\n").collect();
        match problem.use_stderr() {
            true => eprint!("{told}"),
            false => print!("{told}"),
        }
    } else if words.iter().all(|word| printable(word) == *word) {
        let _ = problem.print();
    } else {
        // The parser's own colours would be spelled out as well.
        eprint!("{}", harmless_about(&problem.render().to_string(), &words));
    }
    if let Some(note) = one_by_one(problem, &words) {
        eprint!("{note}");
    }
}
