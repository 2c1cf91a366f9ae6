//! The tables of texts, and sentences recognised by them.
//!
//! A table is a file in TOML: an English sentence, as the format string in the code has it, and its text.
//!
//! ```toml
//! "{time} in {} while inferences ran" = "推理执行期间 {}，共 {time}"
//! ```
//!
//! A text names the same placeholders in the order of its own language; of those without a name `{}` is the next
//! one, and `{1}` the second.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::template::Template;

/// Whose sentences a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The program's own, which it looks up by their format strings.
    Program,
    /// Texts of the command line's help, which the program looks up as they are: braces in them hold no values.
    Help,
    /// Sentences of the workspace's libraries, which are recognised.
    Libraries,
    /// Sentences of other projects: the system's errors, the parser of the command line. They are recognised as well.
    Others,
}

/// The files of texts, by name.
pub const FILES: &[(&str, Origin, &str)] = &[
    ("program", Origin::Program, include_str!("../texts/program.zh.toml")),
    ("help", Origin::Help, include_str!("../texts/help.zh.toml")),
    ("findings", Origin::Libraries, include_str!("../texts/findings.zh.toml")),
    ("losses", Origin::Libraries, include_str!("../texts/losses.zh.toml")),
    ("lists", Origin::Libraries, include_str!("../texts/lists.zh.toml")),
    ("errors", Origin::Libraries, include_str!("../texts/errors.zh.toml")),
    ("others", Origin::Others, include_str!("../texts/others.zh.toml")),
];

/// The least letters of a format string by which a sentence is recognised, unless it begins with a word.
const LEAST_LETTERS: usize = 5;

/// The letters of a format string from which on even values with sentences of their own are taken for its.
const TELLING_LETTERS: usize = 20;

/// How deep sentences lie within sentences.
const DEEPEST: usize = 8;

/// How often a sentence and its parts are looked up: long lists of names would take a second.
const MOST_LOOKS: usize = 30;

/// A sentence and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file that it stands in.
    pub file: &'static str,
    /// Whose sentence it is.
    pub origin: Origin,
    /// The English format string.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// All entries of all files.
///
/// # Errors
/// With the name of a file that can't be read and why; the files are part of the program, and a test reads each.
pub fn entries() -> Result<Vec<Entry>, String> {
    let mut all = Vec::new();
    for &(file, origin, source) in FILES {
        let table: toml::Table = source.parse().map_err(|error| format!("{file}: {error}"))?;
        for (id, text) in table {
            let text = text.as_str().ok_or_else(|| format!("{file}: '{id}' has no text"))?.to_owned();
            all.push(Entry { file, origin, id, text });
        }
    }
    Ok(all)
}

/// A text with its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A value, by its place in the English sentence.
    Value(usize),
}

impl Translation {
    fn of(english: &Template, text: &str) -> Self {
        let template = Template::of(text);
        let mut pieces = Vec::new();
        for (number, fixed) in template.texts.into_iter().enumerate() {
            if let Some(name) = number.checked_sub(1).and_then(|before| template.names.get(before)) {
                // A test holds that both have the same names.
                pieces.extend(english.names.iter().position(|known| known == name).map(Piece::Value));
            }
            if !fixed.is_empty() {
                pieces.push(Piece::Text(fixed));
            }
        }
        Self { pieces }
    }

    /// The text with its values, which come in the order of the English sentence.
    pub fn with(&self, values: &[String]) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value(number) => values.get(*number).cloned().unwrap_or_default(),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// The text where it has no values.
    pub fn fixed(&self) -> Option<&str> {
        match &*self.pieces {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// A sentence with values that is recognised.
#[derive(Debug)]
struct Pattern {
    english: Template,
    translation: Translation,
}

/// The texts of a language.
#[derive(Debug, Default)]
pub struct Table {
    /// By the English format string.
    exact: HashMap<String, Translation>,
    /// Sentences that are recognised, the most telling first.
    patterns: Vec<Pattern>,
    /// Ends of sentences that are recognised behind whatever they are put to: those that begin with a mark or a
    /// blank, as in `, within an inference`.
    ends: Vec<Pattern>,
}

/// The Chinese texts, read when the first is asked for.
pub fn chinese() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::of(entries().unwrap_or_default()))
}

impl Table {
    fn of(entries: Vec<Entry>) -> Self {
        let mut table = Self::default();
        for Entry { origin, id, text, .. } in entries {
            if origin == Origin::Help {
                table.exact.insert(id, Translation { pieces: vec![Piece::Text(text)] });
                continue;
            }
            let english = Template::of(&id);
            let translation = Translation::of(&english, &text);
            if origin != Origin::Program {
                let first = english.texts.first().and_then(|text| text.chars().next());
                let pattern = Pattern { english, translation: translation.clone() };
                if origin == Origin::Libraries && matches!(first, Some(' ' | ',' | ';' | '(')) {
                    table.ends.push(pattern);
                } else if pattern.is_telling(first) {
                    table.patterns.push(pattern);
                }
            }
            table.exact.insert(id, translation);
        }
        for patterns in [&mut table.patterns, &mut table.ends] {
            patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.english.letters()));
        }
        table
    }

    /// The text of a format string.
    pub fn exact(&self, id: &str) -> Option<&Translation> {
        self.exact.get(id)
    }

    /// The text of a sentence with its values in it.
    pub fn recognised(&self, sentence: &str) -> Option<String> {
        self.recognised_within(sentence, DEEPEST, &Cell::new(MOST_LOOKS))
    }

    fn recognised_within(&self, sentence: &str, depth: usize, looks: &Cell<usize>) -> Option<String> {
        let exact = |sentence: &str| self.exact.get(sentence).and_then(Translation::fixed).map(str::to_owned);
        // A full stop may have been put to a text of its own.
        let with_stop = || sentence.strip_suffix('.').and_then(exact).map(|text| text + "。");
        if let Some(text) = exact(sentence).or_else(with_stop) {
            return Some(text);
        }
        let depth = depth.checked_sub(1)?;
        looks.set(looks.get().checked_sub(1)?);
        // Single words are names as often as not.
        let inner = |part: &str| {
            let text = part.contains(' ').then(|| self.recognised_within(part, depth, looks)).flatten();
            text.unwrap_or_else(|| part.to_owned())
        };
        let whole = self.patterns.iter().find_map(|pattern| {
            let values = pattern.english.values(sentence)?;
            if !pattern.can_have(&values) {
                return None;
            }
            Some(pattern.translation.with(&values.into_iter().map(inner).collect::<Vec<_>>()))
        });
        whole
            .or_else(|| {
                self.ends.iter().find_map(|end| {
                    let at = sentence.rfind(end.english.texts.first()?.as_str()).filter(|at| *at > 0)?;
                    let values = end.english.values(&sentence[at..])?;
                    let text = end.translation.with(&values.into_iter().map(inner).collect::<Vec<_>>());
                    Some(inner(&sentence[..at]) + &text)
                })
            })
            .or_else(|| self.recognised_parts(sentence, depth, looks))
    }

    /// The text of several sentences in one, if any of them is recognised.
    fn recognised_parts(&self, sentence: &str, depth: usize, looks: &Cell<usize>) -> Option<String> {
        if let Some(sentence) = sentence.strip_suffix('.') {
            return Some(self.recognised_within(sentence, depth, looks)? + "。");
        }
        [("; ", "；"), (", ", "，"), (": ", "：")].iter().find_map(|(mark, chinese)| {
            let parts: Vec<&str> = sentence.split(mark).collect();
            // A sentence without the mark would be looked up once more for each, and leave no looks for others.
            if parts.len() < 2 {
                return None;
            }
            // Single words are names as often as not, in lists above all.
            let told = |part: &&str| {
                part.contains(' ').then(|| self.recognised_within(part, depth, looks)).flatten()
            };
            let texts: Vec<Option<String>> = parts.iter().map(told).collect();
            let is_known = texts.iter().any(Option::is_some);
            let text = |(text, part): (Option<String>, &&str)| text.unwrap_or_else(|| (*part).to_owned());
            is_known.then(|| texts.into_iter().zip(&parts).map(text).collect::<Vec<_>>().join(chinese))
        })
    }
}

impl Pattern {
    /// Whether a sentence that fits it hardly does so by chance.
    fn is_telling(&self, first: Option<char>) -> bool {
        let begins_with_word = first.is_some_and(char::is_alphabetic);
        !self.english.names.is_empty() && (begins_with_word || self.english.letters() >= LEAST_LETTERS)
    }

    /// Whether a sentence with these values was made by the pattern, and is not another one that has its few words by
    /// chance: values hold no sentences, unless much else says so.
    fn can_have(&self, values: &[&str]) -> bool {
        let has_sentence = |value: &&str| value.contains("; ") || value.contains(". ");
        self.english.letters() >= TELLING_LETTERS || !values.iter().any(has_sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let entry = |id: &str, text: &str| Entry {
            file: "test",
            origin: Origin::Libraries,
            id: id.to_owned(),
            text: text.to_owned(),
        };
        Table::of(vec![
            entry("nothing is there", "什么都没有"),
            entry("'{path}' can't be read: {}", "无法读取“{path}”：{}"),
            entry("{} of {} were read in {time}", "{time} 内读取了 {1} 个中的 {0} 个"),
            entry("time", "耗时"),
            entry("{} is {}", "过于宽泛"),
            entry("of {}{ranges}", "共 {}{ranges}"),
            entry(" in {} ranges", "（{} 个区间）"),
            entry("; {} at a stretch, from {} on", "；其中连续 {}，自 {} 起"),
            entry(", nearly {seconds} s: as of a sleep", "，几乎正好 {seconds} 秒：像是 sleep"),
        ])
    }

    #[test]
    fn a_few_words_in_a_long_sentence_are_no_pattern_and_a_full_stop_is_none_of_a_text() {
        let entry = |id: &str, text: &str| Entry {
            file: "test",
            origin: Origin::Libraries,
            id: id.to_owned(),
            text: text.to_owned(),
        };
        let table = Table::of(vec![
            entry("{} on the {unit}", "{} 在 {unit} 上执行"),
            entry("choose on the host; or not at all", "在主机上选择；或不选"),
        ]);
        assert_eq!(table.recognised("TopK on the AI CPU").as_deref(), Some("TopK 在 AI CPU 上执行"));
        assert_eq!(
            table.recognised("choose on the host; or not at all.").as_deref(),
            Some("在主机上选择；或不选。")
        );
        assert_eq!(table.recognised("look on the host. Then go"), None);
    }

    #[test]
    fn a_sentence_is_recognised_with_its_values_in_the_order_of_the_other_language() {
        let table = table();
        let text = table.recognised("3 of 5 were read in 1.5 ms");
        assert_eq!(text.as_deref(), Some("1.5 ms 内读取了 5 个中的 3 个"));
    }

    #[test]
    fn sentences_within_sentences_are_recognised_and_names_are_left_alone() {
        let text = table().recognised("'nothing is there' can't be read: nothing is there");
        assert_eq!(text.as_deref(), Some("无法读取“什么都没有”：什么都没有"));
        let text = table().recognised("'time' can't be read: Conv");
        assert_eq!(text.as_deref(), Some("无法读取“time”：Conv"));
    }

    #[test]
    fn a_sentence_that_was_made_piece_by_piece_is_recognised_piece_by_piece() {
        let sentence = "of 9 s; 5 s at a stretch, from 1.5 s on, nearly 5 s: as of a sleep";
        let text = "共 9 s；其中连续 5 s，自 1.5 s 起，几乎正好 5 秒：像是 sleep";
        assert_eq!(table().recognised(sentence).as_deref(), Some(text));
        assert_eq!(table().recognised("nothing is there; x").as_deref(), Some("什么都没有；x"));
        assert_eq!(table().recognised("there are: share, time"), None);
        assert_eq!(table().recognised("nothing is there.").as_deref(), Some("什么都没有。"));
    }

    #[test]
    fn quantities_that_no_table_knows_leave_looks_for_the_rest_of_a_sentence() {
        let sentence =
            "of 6.01 s in 3 ranges; 5.00 s at a stretch, from 1.50 s on, nearly 5 s: as of a sleep";
        let text = "共 6.01 s（3 个区间）；其中连续 5.00 s，自 1.50 s 起，几乎正好 5 秒：像是 sleep";
        assert_eq!(table().recognised(sentence).as_deref(), Some(text));
    }

    #[test]
    fn an_unknown_sentence_and_one_that_says_next_to_nothing_are_nobodys() {
        assert_eq!(table().recognised("the sky is blue"), None);
    }
}
