//! The language in which the program speaks: that of `--lang`, else of the environment.

use std::sync::OnceLock;

use clap::ValueEnum;
use opscope_say::{Language, choose, of_environment};

use crate::terminal::Terminal;

/// A wish for a language, as `--lang` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wish {
    /// That of the environment; of a page, that of the reader's browser
    Auto,
    /// English
    En,
    /// Chinese
    Zh,
}

impl Wish {
    /// The language; `None` where the environment is to say.
    fn language(self) -> Option<Language> {
        match self {
            Self::Auto => None,
            Self::En => Some(Language::English),
            Self::Zh => Some(Language::Chinese),
        }
    }
}

/// The language that `--lang` named.
static NAMED: OnceLock<Language> = OnceLock::new();

/// The language of people who ask for help, whatever the command's answers are in.
static ASKED: OnceLock<Language> = OnceLock::new();

/// Chooses the language before the command line is parsed, so that complaints about it and its help are in it. What
/// is told behind `--` is another program's.
pub fn foresee(words: &[String]) {
    let own = words.split(|word| word == "--").next().unwrap_or_default();
    let following = own.windows(2).filter(|pair| pair[0] == "--lang").map(|pair| pair[1].as_str());
    let joined = own.iter().filter_map(|word| word.strip_prefix("--lang="));
    let named = following.chain(joined).find_map(|word| Wish::from_str(word, false).ok());
    let environment = of_environment(|name| std::env::var(name).ok());
    if let Err(unknown) = &environment {
        let terminal = Terminal::new(false, false);
        // In both languages: whoever set it may read only one of them.
        terminal.warn(&format!(
            "OPSCOPE_LANG={unknown}: expected en or zh; this is said in English (应为 en 或 zh；以下为英文)"
        ));
    }
    let asked = named.and_then(Wish::language).or(environment.ok()).unwrap_or_default();
    // It is set once: the command line is looked at once.
    let _ = ASKED.set(asked);
    choose(asked);
}

/// Chooses the language that was asked for, also where the command's answers are for programs: its help is for
/// people.
pub fn as_asked() {
    ASKED.get().copied().into_iter().for_each(choose);
}

/// Chooses the language that the parsed command line names. Answers for programs are the same in every language.
pub fn settle(wish: Option<Wish>, words: &[String]) {
    if let Some(language) = wish.and_then(Wish::language) {
        // It is set once: the command line is parsed once.
        let _ = NAMED.set(language);
        choose(language);
    }
    let own = words.split(|word| word == "--").next().unwrap_or_default();
    if own.iter().any(|word| word == "--json" || word == "--csv") {
        choose(Language::English);
    }
}

/// The language in which a page begins, by its code: `auto` unless `--lang` names one.
pub fn of_pages() -> &'static str {
    NAMED.get().map_or("auto", |language| language.code())
}
