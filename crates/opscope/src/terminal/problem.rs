//! Complaints of the command line's parser.

use std::path::Path;

use clap::error::{ContextKind, ErrorKind};
use opscope_say::{Language, say, sentence, word};

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

/// A line that shows how a command is used, in the reader's words for what the parser leaves open.
pub fn usage(line: &str) -> String {
    if opscope_say::chosen() == Language::English {
        return line.to_owned();
    }
    let open = ["Usage:", "[OPTIONS]", "<COMMAND>", "[COMMAND]"];
    let told = open.into_iter().fold(line.to_owned(), |line, english| line.replace(english, word(english)));
    // The mark behind the heading is as wide as a mark and a blank.
    told.replacen(' ', "", 1)
}

/// The languages that there are, each in its own words: whoever names another may not read this one.
fn languages(problem: &clap::Error) -> Option<&'static str> {
    let option = problem.get(ContextKind::InvalidArg)?;
    let is_about_language = option.to_string().starts_with("--lang ");
    (problem.kind() == ErrorKind::InvalidValue && is_about_language)
        .then_some("\n  --lang en    English\n  --lang zh    中文\n")
}

/// Prints why a command line is wrong, or the help that it asks for. Its words may be names of files, so those
/// that could do something to the terminal are spelled out, without colours.
pub fn print_problem<'w>(problem: &clap::Error, words: impl Iterator<Item = &'w str>) {
    let words: Vec<&str> = words.collect();
    if opscope_say::chosen() != Language::English {
        let text = harmless_about(&problem.render().to_string(), &words);
        let told = |line: &str| match line.starts_with("Usage:") {
            true => usage(line),
            false => sentence(line).into_owned(),
        };
        let told: String = text.lines().map(|line| told(line) + "\n").collect();
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
    for note in [one_by_one(problem, &words), languages(problem).map(str::to_owned)].into_iter().flatten() {
        eprint!("{note}");
    }
}
