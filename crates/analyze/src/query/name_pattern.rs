//! Patterns of names, as users give them.

use regex::Regex;

/// The longest pattern that is taken, in bytes. A search can take the product of the lengths of pattern and
/// name, and names of files may be as long as these are.
const LONGEST: usize = 1_000;

/// The regular expression that a user gave for names.
///
/// # Errors
/// A sentence without a subject when the text is no regular expression, or a longer one than is taken.
pub fn name_pattern(text: &str) -> Result<Regex, String> {
    if text.len() > LONGEST {
        return Err(format!(
            "it has {} bytes, where a pattern may have {LONGEST}; give a part that tells the names apart",
            text.len()
        ));
    }
    Regex::new(text).map_err(|error| format!("it is no regular expression: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_taken_up_to_the_greatest_length_and_no_further() {
        assert!(
            name_pattern(&"a".repeat(LONGEST)).is_ok_and(|pattern| pattern.is_match(&"a".repeat(LONGEST)))
        );
        assert!(name_pattern(&"a".repeat(LONGEST + 1)).is_err_and(|why| why.contains("1001 bytes")));
        assert!(name_pattern("(").is_err_and(|why| why.starts_with("it is no regular expression: ")));
    }
}
