//! The help of the command line in the reader's language: the parser's own commands with their texts replaced, so that
//! it lays out both languages alike.
//!
//! ```text
//! mod      the parser's commands, options and values
//! block    texts that are set by hand: examples, explanations
//! layout   the parser's own words, and lines broken where Chinese may be
//! ```

mod block;
mod layout;

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, StyledStr};
use clap::error::ErrorKind;
use clap::{Arg, Command, Parser};
use opscope_say::{Language, chosen, padded, say, width, word};

use self::block::Texts;
pub use self::layout::print;
use self::layout::{UNBROKEN, columns};
use crate::language;

/// Parses a command line; where it asks for help, that is in the reader's language.
///
/// # Errors
/// When it is wrong, or asks for help.
pub fn parse<P: Parser>(words: impl Iterator<Item = OsString> + Clone) -> Result<P, clap::Error> {
    P::try_parse_from(words.clone()).map_err(|problem| in_readers_language(problem, P::command, words))
}

/// The help that a command line asks for in the reader's language; other problems as they are.
pub fn in_readers_language<W>(
    problem: clap::Error,
    command: impl FnOnce() -> Command,
    words: impl Iterator<Item = W>,
) -> clap::Error
where
    W: Into<OsString> + Clone,
{
    if is_help(&problem) {
        language::as_asked();
    }
    match is_help(&problem) && chosen() != Language::English {
        true => said(command(), columns(), &mut Table).try_get_matches_from(words).err().unwrap_or(problem),
        false => problem,
    }
}

/// Whether it is the help rather than a complaint.
fn is_help(problem: &clap::Error) -> bool {
    let of_nothing = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    problem.kind() == ErrorKind::DisplayHelp || problem.kind() == of_nothing
}

/// A text that is set by hand, such as the list of a database's tables, in the reader's language.
pub fn by_hand(text: &str) -> String {
    match chosen() {
        Language::English => text.to_owned(),
        Language::Chinese => block::told(text, columns(), &mut Table) + "\n",
    }
}

/// A parser with its texts in the reader's language, for scripts and manuals that are made of it; what is printed of
/// them is [`with_blanks`].
pub fn in_language(command: Command) -> Command {
    match chosen() {
        Language::English => command,
        Language::Chinese => with_meanings(said(command, usize::MAX, &mut Table)),
    }
}

/// A parser whose options' values have their meanings in the reader's language, as scripts of completions show them.
fn with_meanings(command: Command) -> Command {
    let with_meanings_of_values = |option: Arg| {
        let values = option.get_possible_values();
        let said = values.into_iter().map(|value| match value.get_help().map(StyledStr::to_string) {
            Some(meaning) => value.help(word(&meaning).to_owned()),
            None => value,
        });
        match said.collect::<Vec<_>>() {
            none if none.is_empty() => option,
            said => option.value_parser(PossibleValuesParser::from(said)),
        }
    };
    command.mut_args(with_meanings_of_values).mut_subcommands(with_meanings)
}

/// A text with blanks in place of those that the parser must not break lines at.
pub fn with_blanks(text: &str) -> String {
    text.replace(UNBROKEN, " ")
}

/// The texts of the language that was chosen.
struct Table;

impl Texts for Table {
    fn text(&mut self, english: &str) -> String {
        word(english).to_owned()
    }

    fn example(&mut self, line: &str) -> String {
        word(line).to_owned()
    }
}

/// A parser whose help says its texts otherwise, on lines of so many columns.
fn said(mut command: Command, columns: usize, texts: &mut impl Texts) -> Command {
    // The options and commands that the parser adds by itself are there from then on.
    command.build();
    with_texts(command, columns, texts)
}

fn with_texts(command: Command, columns: usize, texts: &mut impl Texts) -> Command {
    let about = command.get_about().map(|text| unbroken(&texts.text(&text.to_string())));
    let long_about = command.get_long_about().map(|text| unbroken(&texts.text(&text.to_string())));
    let mut by_hand = |text: &StyledStr| unbroken(&block::told(&text.to_string(), columns, texts));
    let after = command.get_after_help().map(&mut by_hand);
    let long_after = command.get_after_long_help().map(by_hand);
    // Headings are replaced in the lines that are laid out; a test knows of them by this.
    #[cfg(test)]
    command.get_arguments().filter_map(Arg::get_help_heading).for_each(|heading| drop(texts.text(heading)));
    let mut said = command.term_width(columns);
    if let Some(text) = about {
        said = said.about(text);
    }
    if let Some(text) = long_about {
        said = said.long_about(text);
    }
    if let Some(text) = after {
        said = said.after_help(text);
    }
    if let Some(text) = long_after {
        said = said.after_long_help(text);
    }
    said.mut_args(|option| with_help(option, texts))
        .mut_subcommands(|command| with_texts(command, columns, texts))
}

/// An option with its help in other words. The parser's notes on values are a part of that, as the words for them are.
fn with_help(option: Arg, texts: &mut impl Texts) -> Arg {
    let help = option.get_help().map(|text| texts.text(&text.to_string())).unwrap_or_default();
    let long = option.get_long_help().map(|text| texts.text(&text.to_string()));
    let default = default_of(&option);
    let values = Values::of(&option, texts);
    let joined = |parts: [Option<String>; 3], mark: &str| {
        let told = parts.into_iter().flatten().filter(|part| !part.is_empty());
        told.collect::<Vec<_>>().join(mark)
    };
    let (list, details) = match values.are_explained {
        true => (None, Some(values.details())),
        false => (Some(values.list()), None),
    };
    let long_notes = joined([default.clone(), list, None], "\n");
    let long_help = joined([Some(long.unwrap_or_else(|| help.clone())), details, Some(long_notes)], "\n\n");
    let short_help = joined([Some(help), default, Some(values.list())], " ");
    option
        .hide_default_value(true)
        .hide_possible_values(true)
        .help(unbroken(&short_help))
        .long_help(unbroken(&long_help))
}

/// The note on an option's value where none is given.
fn default_of(option: &Arg) -> Option<String> {
    let values = option.get_default_values();
    let is_shown = option.get_action().takes_values() && !option.is_hide_default_value_set();
    let values: Vec<_> = values.iter().map(|value| value.to_string_lossy()).collect();
    (is_shown && !values.is_empty()).then(|| say!("[default: {}]", values.join(" ")))
}

/// The values that an option takes, with their meanings.
struct Values {
    named: Vec<(String, String)>,
    /// Whether the long help says what they mean.
    are_explained: bool,
}

impl Values {
    fn of(option: &Arg, texts: &mut impl Texts) -> Self {
        let is_shown = !option.is_hide_possible_values_set();
        let values =
            option.get_possible_values().into_iter().filter(|value| is_shown && !value.is_hide_set());
        let named: Vec<_> = values
            .map(|value| {
                let meaning = value.get_help().map(|text| texts.text(&text.to_string()));
                (value.get_name().to_owned(), meaning.unwrap_or_default())
            })
            .collect();
        let are_explained = named.iter().any(|(_, meaning)| !meaning.is_empty());
        Self { named, are_explained }
    }

    /// The note with their names.
    fn list(&self) -> String {
        if self.named.is_empty() {
            return String::new();
        }
        let names: Vec<&str> = self.named.iter().map(|(name, _)| name.as_str()).collect();
        say!("[possible values: {}]", names.join(", "))
    }

    /// A line for each.
    fn details(&self) -> String {
        let longest = self.named.iter().map(|(name, _)| width(name)).max().unwrap_or_default();
        let lines = self.named.iter().map(|(name, meaning)| match &**meaning {
            "" => format!("- {name}"),
            _ => format!("- {}{meaning}", padded(&format!("{name}{}", word(": ")), longest + 2)),
        });
        std::iter::once(word("Possible values:").to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
    }
}

/// A text that the parser doesn't break: it knows blanks alone.
fn unbroken(text: &str) -> String {
    text.replace(' ', UNBROKEN)
}

/// The texts that the help of a command and those below it asks for.
#[cfg(test)]
pub fn asked_by(command: Command) -> std::collections::BTreeSet<String> {
    let mut asked = Asked::default();
    said(command, usize::MAX, &mut asked);
    asked.0
}

/// The texts that a text that is set by hand asks for.
#[cfg(test)]
pub fn asked_by_hand(text: &str) -> std::collections::BTreeSet<String> {
    let mut asked = Asked::default();
    block::told(text, usize::MAX, &mut asked);
    asked.0
}

#[cfg(test)]
#[derive(Default)]
struct Asked(std::collections::BTreeSet<String>);

#[cfg(test)]
impl Texts for Asked {
    fn text(&mut self, english: &str) -> String {
        self.0.insert(english.to_owned());
        english.to_owned()
    }

    fn example(&mut self, line: &str) -> String {
        line.to_owned()
    }
}
