//! Texts in the small JSON files of a profile.

/// A string as JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for letter in text.chars() {
        match letter {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            control if control < ' ' => json.push_str(&format!("\\u{:04x}", control as u32)),
            letter => json.push(letter),
        }
    }
    json.push('"');
    json
}
