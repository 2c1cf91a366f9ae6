//! Lines of a text that are no wider than a number of columns: Chinese has no blanks to break at.

use unicode_width::UnicodeWidthChar;

/// Marks that begin no line.
const NEVER_FIRST: &str = "，。、；：！？）》」』】”’…％,.;:!?)]}";

/// Marks that end no line.
const NEVER_LAST: &str = "（《「『【“‘([{";

/// The lines of a text without line ends. They are broken at blanks, and beside letters of double width, but neither
/// before a mark that ends something nor behind one that begins something. A word wider than a line stays whole.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut begin, mut width, mut before) = (0, 0, None);
    // The last place at which the line can be broken, with the width up to there.
    let mut possible = None;
    for (at, letter) in text.char_indices() {
        if before.is_some_and(|before| can_part(before, letter)) {
            possible = Some((at, width));
        }
        width += letter.width().unwrap_or(0);
        if width > columns
            && letter != ' '
            && let Some((end, width_there)) = possible.take()
        {
            lines.push(text[begin..end].trim_end().to_owned());
            begin = end;
            width -= width_there;
        }
        before = Some(letter);
    }
    lines.push(text[begin..].trim_end().to_owned());
    lines
}

/// Whether a line may end with one letter and the next begin with the other.
fn can_part(before: char, after: char) -> bool {
    let is_wide = |letter: char| letter.width() == Some(2);
    match (before, after) {
        (_, ' ') => false,
        (' ', _) => true,
        _ => {
            (is_wide(before) || is_wide(after))
                && !NEVER_LAST.contains(before)
                && !NEVER_FIRST.contains(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::width;

    #[test]
    fn lines_are_broken_between_chinese_letters_and_at_blanks_within_their_width() {
        assert_eq!(wrapped("显示耗时最多的算子", 8), ["显示耗时", "最多的算", "子"]);
        assert_eq!(wrapped("用 --model 给出模型", 10), ["用 --model", "给出模型"]);
        assert_eq!(wrapped("one two  three", 8), ["one two", "three"]);
        assert_eq!(wrapped("", 8), [""]);
    }

    #[test]
    fn no_line_begins_with_a_closing_mark_or_ends_with_an_opening_one() {
        assert_eq!(wrapped("算子，类型", 4), ["算", "子，", "类型"]);
        assert_eq!(wrapped("各项（全部）", 6), ["各项", "（全", "部）"]);
        assert_eq!(wrapped("见“全部”。", 5), ["见“全", "部”。"]);
    }

    #[test]
    fn a_word_wider_than_a_line_stays_whole_and_nothing_is_lost() {
        let text = "见 PROF_000001_20251009085320000_ABCDEFGH 目录";
        let lines = wrapped(text, 12);
        assert_eq!(lines, ["见", "PROF_000001_20251009085320000_ABCDEFGH", "目录"]);
        for columns in 1..40 {
            let text = "平均一次迭代的耗时 (-t 0 显示全部)：Conv、“MatMul”，共 3 个";
            let lines = wrapped(text, columns);
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&lines.concat()), letters(text), "{columns}");
            let is_one_word = |line: &String| !line.contains(' ') && line.chars().count() <= 9;
            assert!(
                lines.iter().all(|line| width(line) <= columns || is_one_word(line)),
                "{columns}: {lines:?}"
            );
        }
    }
}
