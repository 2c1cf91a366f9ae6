//! The texts of the page with less beside them than they are written with: the second language without its keys,
//! which are those of the first in the same order, and short keys for what the modules name by whole keys alone.

use std::collections::{BTreeMap, BTreeSet};

/// A module that lists the texts of `second` by the keys of `first`. Both are objects of text, a key and its text
/// after another, as the modules of `ui/locale` are written.
///
/// # Errors
/// Where the keys aren't the same in the same order.
pub fn by_order(first: &str, second: &str, name: &str) -> Result<String, String> {
    let (keys, pairs) = (pairs(first), pairs(second));
    for ((known, _), (key, _)) in keys.iter().zip(&pairs) {
        if known != key {
            return Err(format!("the text of {key} stands where that of {known} should"));
        }
    }
    if keys.len() != pairs.len() {
        return Err(format!("{} texts for {}", pairs.len(), keys.len()));
    }
    let texts: Vec<&str> = pairs.iter().map(|(_, text)| *text).collect();
    Ok(format!(
        "import {{ en }} from \"./en.js\";\nconst texts = [{}];\n\
         export const {name} = Object.fromEntries(Object.keys(en).map((key, at) => [key, texts[at]]));\n",
        texts.join(", ")
    ))
}

/// Short keys for those texts of `first` that `modules` ask for by `t("key"` and name nowhere else, so that no other
/// way to a text has to know of it.
///
/// # Errors
/// Where a key is made of parts whose first can't be seen.
pub fn short_keys(first: &str, modules: &[String]) -> Result<BTreeMap<String, String>, String> {
    let prefixes = prefixes(modules)?;
    let known: BTreeSet<&str> = pairs(first).into_iter().map(|(key, _)| key).collect();
    let mut short =
        (0..).map(letters).filter(|name| !known.contains(name.as_str()) && !prefixes.contains(name));
    let mut keys = BTreeMap::new();
    for (key, _) in pairs(first) {
        let (asked, named) = (format!("t(\"{key}\""), format!("\"{key}\""));
        let count = |text: &str| modules.iter().map(|module| module.matches(text).count()).sum::<usize>();
        let is_made = prefixes.iter().any(|prefix| key.starts_with(&format!("{prefix}_")));
        if !is_made && count(&named) > 0 && count(&named) == calls(modules, &asked) {
            keys.extend(short.next().map(|name| (key.to_owned(), name)));
        }
    }
    Ok(keys)
}

/// A module that asks for texts by their short keys.
pub fn asking(module: &str, keys: &BTreeMap<String, String>) -> String {
    let mut shorter = String::with_capacity(module.len());
    let mut rest = module;
    while let Some(found) = rest.find("t(\"") {
        let begin = found + 3;
        let end = begin + rest[begin..].find('"').unwrap_or(rest.len() - begin);
        let is_call = !rest[..found].ends_with(is_of_name);
        shorter.push_str(&rest[..begin]);
        shorter.push_str(match keys.get(&rest[begin..end]) {
            Some(key) if is_call => key,
            _ => &rest[begin..end],
        });
        rest = &rest[end..];
    }
    shorter + rest
}

/// The module of a language under short keys.
pub fn under(module: &str, keys: &BTreeMap<String, String>) -> String {
    let mut shorter = String::with_capacity(module.len());
    let mut done = 0;
    for (key, text) in pairs(module) {
        let begin = text.as_ptr() as usize - module.as_ptr() as usize;
        let Some(short) = keys.get(key) else { continue };
        shorter.push_str(&module[done..begin - 2 - key.len()]);
        shorter.push_str(short);
        done = begin - 2;
    }
    shorter + &module[done..]
}

/// The first parts of keys that are made: those of `word("part", …)` and `` t(`part_${…}`) ``.
fn prefixes(modules: &[String]) -> Result<BTreeSet<String>, String> {
    let mut prefixes = BTreeSet::new();
    for module in modules {
        for (call, end_of_part) in [("word(", '"'), ("t(`", '_')] {
            for (at, _) in module.match_indices(call) {
                let before = &module[..at];
                if before.ends_with(is_of_name) || before.ends_with("function ") {
                    continue;
                }
                let part = module[at + call.len()..].trim_start_matches('"');
                let end = part
                    .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .unwrap_or(part.len());
                let name = part[..end].trim_end_matches('_');
                if name.is_empty() || !part[name.len()..].starts_with(end_of_part) {
                    let line = before.lines().count();
                    return Err(format!("line {line}: the key of a text has no fixed beginning"));
                }
                prefixes.insert(name.to_owned());
            }
        }
    }
    Ok(prefixes)
}

/// How often modules call the function whose call begins with `asked`.
fn calls(modules: &[String], asked: &str) -> usize {
    let count = |module: &String| {
        let found = module.match_indices(asked);
        found.filter(|(at, _)| !module[..*at].ends_with(is_of_name)).count()
    };
    modules.iter().map(count).sum()
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '$'
}

/// The names `a` to `z`, `aa`, `ab` and so on.
fn letters(number: usize) -> String {
    let last = char::from(b'a' + (number % 26) as u8).to_string();
    if number < 26 { last } else { letters(number / 26 - 1) + &last }
}

/// The keys of an object and their texts, quotes and all.
fn pairs(module: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let mut rest = module;
    while let Some(quote) = rest.find(": \"") {
        let key =
            rest[..quote].rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next();
        let text = &rest[quote + 2..];
        let end = end_of_text(text);
        pairs.push((key.unwrap_or_default(), &text[..end]));
        rest = &text[end..];
    }
    pairs
}

/// Behind the quote that ends a text.
fn end_of_text(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_follow_the_keys_of_the_other_language() {
        let first =
            "export const en = {\n  a: \"one: \\\"two\\\": x\", b_2: \"\",\n  c: \"{n} | {n}\",\n};\n";
        let second = "// words\nexport const zh = {\n  a: \"一\",\n  b_2: \"二: \", c: \"三\",\n};\n";
        let module = by_order(first, second, "zh").unwrap();
        assert!(module.contains("const texts = [\"一\", \"二: \", \"三\"];"), "{module}");
        assert!(module.contains("export const zh = Object.fromEntries"), "{module}");
    }

    #[test]
    fn keys_that_only_whole_questions_name_become_short_in_both_places() {
        let first = "export const en = {\n  long_name: \"one\", kind_of: \"two\", chosen: \"three\",\n  other: \"four\", a: \"five\",\n};\n";
        let modules = [
            "f(t(\"long_name\"), t(\"long_name\", { n }), word(\"kind\", it), t(\"kind_of\"));".to_owned(),
            "t(is ? \"chosen\" : \"other\"); t(\"chosen\"); split(\"other\"); t(`kind_${it}`); t(\"a\");"
                .to_owned(),
        ];
        let keys = short_keys(first, &modules).unwrap();
        assert_eq!(keys, BTreeMap::from([("long_name".into(), "b".into()), ("a".into(), "c".into())]));
        assert_eq!(
            asking(&modules[0], &keys),
            "f(t(\"b\"), t(\"b\", { n }), word(\"kind\", it), t(\"kind_of\"));"
        );
        assert_eq!(asking("split(\"long_name\") at(\"", &keys), "split(\"long_name\") at(\"");
        assert_eq!(
            under(first, &keys),
            "export const en = {\n  b: \"one\", kind_of: \"two\", chosen: \"three\",\n  other: \"four\", c: \"five\",\n};\n"
        );
    }

    #[test]
    fn a_key_made_of_parts_that_are_not_seen_is_an_error() {
        for module in ["word(prefix, it)", "t(`${it}`)", "t(`kind${it}`)"] {
            let problem = short_keys("{ kind_of: \"1\" }", &[module.to_owned()]).unwrap_err();
            assert!(problem.contains("no fixed beginning"), "{module}: {problem}");
        }
        assert!(short_keys("{}", &["export function word(prefix, name) {}".to_owned()]).unwrap().is_empty());
    }

    #[test]
    fn other_keys_or_another_order_are_told() {
        let of = |second: &str| by_order("{ a: \"1\", b: \"2\" }", second, "zh").unwrap_err();
        assert!(of("{ b: \"2\", a: \"1\" }").contains("b stands where that of a"));
        assert!(of("{ a: \"1\" }").contains("1 texts for 2"));
    }
}
