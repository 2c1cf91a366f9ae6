//! Cells of CSV that a spreadsheet would compute, marked as text and read back.
//!
//! A spreadsheet takes a cell that begins like a formula for one, whoever wrote it. An apostrophe before
//! it says "this is text". A cell that has apostrophes and then the beginning of a formula of its own gets
//! one more, so that reading takes away exactly what writing has added.

use std::borrow::Cow;

/// The letters that formulas begin with: those after which spreadsheets compute, and those that they
/// leave out before they look.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

const MARK: char = '\'';

/// Whether a text, but for apostrophes before it, begins like a formula.
fn begins_like_formula(text: &str) -> bool {
    text.trim_start_matches(MARK).starts_with(FORMULA)
}

/// A cell of a text that no program is to compute, whatever it begins with.
pub fn mark_text(text: &str) -> Cow<'_, str> {
    match begins_like_formula(text) {
        true => format!("{MARK}{text}").into(),
        false => text.into(),
    }
}

/// The same for a cell that may be a number, which stays one.
pub fn mark(cell: &str) -> Cow<'_, str> {
    let is_number = || cell.parse::<f64>().is_ok_and(f64::is_finite);
    // Nearly no cell begins so.
    if begins_like_formula(cell) && !is_number() { mark_text(cell) } else { cell.into() }
}

/// The text of a cell that may be marked.
pub fn unmark(cell: &[u8]) -> &[u8] {
    let Some(rest) = cell.strip_prefix(b"'") else { return cell };
    let content = rest.iter().position(|letter| *letter != b'\'').map_or(0, |letter| rest[letter]);
    if FORMULA.contains(&char::from(content)) { rest } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formulas_are_marked_and_numbers_are_not() {
        for formula in ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-", "'=1", "''-1"] {
            assert_eq!(mark(formula), format!("'{formula}"));
        }
        for text in ["-5", "+1.5e3", "conv", "a=b", "−5", "", "'", "'a", "don't"] {
            assert_eq!(mark(text), text);
        }
        assert_eq!((mark_text("-5"), mark_text("conv")), ("'-5".into(), "conv".into()));
    }

    proptest! {
        #[test]
        fn a_marked_cell_is_read_back_as_it_was(text in "['=+@\t\r-]{0,4}[a-z0-9='-]{0,4}") {
            for marked in [mark(&text), mark_text(&text)] {
                prop_assert_eq!(unmark(marked.as_bytes()), text.as_bytes());
            }
        }
    }
}
