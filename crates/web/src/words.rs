//! The second language of the page without its keys: they are those of the first, in the same order, and would be
//! sent twice.

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
    fn other_keys_or_another_order_are_told() {
        let of = |second: &str| by_order("{ a: \"1\", b: \"2\" }", second, "zh").unwrap_err();
        assert!(of("{ b: \"2\", a: \"1\" }").contains("b stands where that of a"));
        assert!(of("{ a: \"1\" }").contains("1 texts for 2"));
    }
}
