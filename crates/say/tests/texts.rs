//! The tables of texts, held against the code whose sentences they translate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use opscope_say::{Entry, Origin, Template, entries};

/// Plain literals of a source file in Rust, as they stand there with their escapes resolved.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut letters = source.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        match letter {
            '/' if letters.peek() == Some(&'/') => {
                letters.by_ref().find(|letter| *letter == '\n');
            }
            // A quote that is a letter itself.
            '\'' if letters.peek() == Some(&'"') => {
                letters.next();
            }
            '#' | '"' if before == 'r' && letters.peek() != Some(&'[') => {
                let mut marks = usize::from(letter == '#');
                while letter == '#' && letters.next_if_eq(&'#').is_some() {
                    marks += 1;
                }
                if letter == '#' && letters.next_if_eq(&'"').is_none() {
                    continue;
                }
                let end = format!("\"{}", "#".repeat(marks));
                let mut text = String::new();
                while !text.ends_with(&end) {
                    let Some(letter) = letters.next() else { break };
                    text.push(letter);
                }
                found.push(text.trim_end_matches(&end).to_owned());
            }
            '"' => {
                let mut text = String::new();
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    if letter != '\\' {
                        text.push(letter);
                        continue;
                    }
                    match letters.next() {
                        Some('n') => text.push('\n'),
                        Some('t') => text.push('\t'),
                        Some('\n') => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
                        Some(other) => text.push(other),
                        None => {}
                    }
                }
                found.push(text);
            }
            _ => {}
        }
        before = letter;
    }
    found
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for path in entries.into_iter().map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Literals of sources, texts of rules and the subjects of questions, of the program or of everything else.
fn sentences(origin: Origin) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for member in std::fs::read_dir(crates()).expect("crates").flatten() {
        let is_program = member.file_name() == "opscope";
        if is_program != (origin == Origin::Program) || member.file_name() == "say" {
            continue;
        }
        let mut paths = Vec::new();
        files(&member.path().join("src"), &mut paths);
        files(&member.path().join("sql"), &mut paths);
        for path in paths {
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if ending == "sql" {
                let question = std::fs::read_to_string(&path).expect("a question");
                let about = question.lines().map_while(|line| line.strip_prefix("-- "));
                found.insert(about.collect::<Vec<_>>().join(" "));
            } else if ending == "rs" {
                found.extend(literals(&std::fs::read_to_string(&path).expect("a source")));
            } else if ending == "toml" && path.parent().is_some_and(|folder| folder.ends_with("rules")) {
                let table: toml::Table =
                    std::fs::read_to_string(&path).expect("rules").parse().expect("TOML");
                table.values().for_each(|value| push_texts(value, &mut found));
            }
        }
    }
    found
}

fn push_texts(value: &toml::Value, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::String(text) => {
            found.insert(text.clone());
        }
        toml::Value::Array(values) => values.iter().for_each(|value| push_texts(value, found)),
        toml::Value::Table(table) => table.values().for_each(|value| push_texts(value, found)),
        _ => {}
    }
}

/// Comments that document and literals of all sources, a line each with single blanks: help is made of both.
fn prose() -> String {
    let mut prose = String::new();
    let mut push = |text: &str| {
        prose.push_str(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        prose.push('\n');
    };
    for member in std::fs::read_dir(crates()).expect("crates").flatten() {
        let mut paths = Vec::new();
        files(&member.path().join("src"), &mut paths);
        for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
            let source = std::fs::read_to_string(path).expect("a source");
            literals(&source).iter().for_each(|literal| push(literal));
            let mut comment = String::new();
            for line in source.lines().chain([""]) {
                match line.trim().strip_prefix("///") {
                    Some(words) => comment.push_str(words),
                    None => push(&std::mem::take(&mut comment)),
                }
            }
        }
    }
    prose
}

fn all() -> Vec<Entry> {
    entries().expect("every table can be read")
}

#[test]
fn a_text_has_the_placeholders_of_its_sentence() {
    let differ: Vec<String> = all()
        .iter()
        .filter(|entry| entry.origin != Origin::Help)
        .filter(|entry| Template::of(&entry.id).sorted_names() != Template::of(&entry.text).sorted_names())
        .map(|entry| format!("{}: {} = {}", entry.file, entry.id, entry.text))
        .collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn a_sentence_has_one_text_in_whatever_tables_it_stands() {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for entry in all() {
        let other = known.insert(entry.id.clone(), entry.text.clone());
        assert!(other.is_none_or(|other| other == entry.text), "'{}' has two texts", entry.id);
    }
}

#[test]
fn every_text_belongs_to_a_sentence_of_the_code() {
    let of_program = sentences(Origin::Program);
    let of_libraries = sentences(Origin::Libraries);
    let prose = prose();
    let is_used = |entry: &Entry| match entry.origin {
        Origin::Others => true,
        // The noun of a number, `{n} task`, stands alone, and so do words that libraries have for variants.
        Origin::Program => {
            let noun = entry.id.strip_prefix("{n} ").unwrap_or(&entry.id);
            of_program.contains(noun) || of_libraries.contains(noun)
        }
        Origin::Libraries => of_libraries.contains(&entry.id),
        Origin::Help => prose.contains(&entry.id),
    };
    let unused: Vec<String> =
        all().iter().filter(|entry| !is_used(entry)).map(|it| format!("{}: {:?}", it.file, it.id)).collect();
    assert!(unused.is_empty(), "texts of sentences that nobody says:\n{}", unused.join("\n"));
}

/// The literals that stand behind a word of the code, such as `say!(`.
fn literals_behind(opening: &str, source: &str) -> Vec<String> {
    let places = source.match_indices(opening).map(|(at, _)| source[at + opening.len()..].trim_start());
    places.filter(|rest| rest.starts_with('"')).filter_map(|rest| literals(rest).into_iter().next()).collect()
}

#[test]
fn reasons_of_rewrites_and_losses_of_models_have_a_text() {
    let known: BTreeSet<String> = all().into_iter().map(|entry| entry.id).collect();
    let mut missing = BTreeSet::new();
    for (member, openings) in
        [("rewrite", &[".because(", ".because(format!("][..]), ("model", &[".sentence("])]
    {
        let mut paths = Vec::new();
        files(&crates().join(member).join("src"), &mut paths);
        for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
            let source = std::fs::read_to_string(path).expect("a source");
            let source = source.split("#[cfg(test)]").next().unwrap_or_default();
            let said = openings.iter().flat_map(|opening| literals_behind(opening, source));
            missing.extend(said.filter(|said| !known.contains(said)));
        }
    }
    // Recognised by `computes {}`, which other libraries say.
    missing.remove("computes float64");
    assert!(missing.is_empty(), "without a text in Chinese:\n{missing:#?}");
}

#[test]
fn everything_that_the_program_says_has_a_text() {
    let known: BTreeSet<String> = all().into_iter().map(|entry| entry.id).collect();
    let mut paths = Vec::new();
    files(&crates().join("opscope/src"), &mut paths);
    let mut missing = BTreeSet::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
        let source = std::fs::read_to_string(path).expect("a source");
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for opening in ["say!(", "word(", "label(", "TableColumn::text(", "TableColumn::number("] {
            missing.extend(literals_behind(opening, source).into_iter().filter(|said| {
                // Numbers and the letters by which profiles go are nobody's language.
                said.chars().any(char::is_lowercase) && !known.contains(said)
            }));
        }
    }
    assert!(missing.is_empty(), "without a text in Chinese:\n{missing:#?}");
}
