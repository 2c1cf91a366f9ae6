//! Text in parts that end with a line, so that several cores read it.

/// Divides text, of which every line means the same wherever it stands, into parts of some megabytes. Each but the last
/// ends with the end of a line.
pub fn parts(text: &[u8]) -> Vec<&[u8]> {
    /// Enough for what parts have in common to cost little, and few enough for all cores to end together.
    const PART: usize = 4 << 20;
    parts_of(text, PART)
}

fn parts_of(mut text: &[u8], size: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while text.len() > size
        && let Some(end) = text[size..].iter().position(|byte| *byte == b'\n')
    {
        let (part, rest) = text.split_at(size + end + 1);
        parts.push(part);
        text = rest;
    }
    parts.push(text);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_the_text_and_end_with_a_line(text in "[ab\n]{0,60}", size in 1..20_usize) {
            let parts = super::parts_of(text.as_bytes(), size);
            prop_assert_eq!(parts.concat(), text.as_bytes());
            let (_, whole) = parts.split_last().unwrap();
            prop_assert!(whole.iter().all(|part| part.len() > size && part.ends_with(b"\n")));
        }
    }
}
