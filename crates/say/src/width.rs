//! How many columns a text takes on a terminal: East Asian letters take two.

use unicode_width::UnicodeWidthStr;

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text with blanks behind it, up to a number of columns.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_letters_take_two_columns() {
        assert_eq!((width("时延"), width("p99 ≈ é")), (4, 7));
        assert_eq!(padded("时延", 9), "时延     ");
        assert_eq!(padded("任务等待时间", 9), "任务等待时间");
    }
}
