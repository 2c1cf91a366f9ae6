//! Texts from files in Markdown, which must not become markup, HTML or links there.

use std::borrow::Cow;

use crate::terminal::printable;

/// A text that shows as it is: within a paragraph or a cell of a table.
pub fn text(text: &str) -> Cow<'_, str> {
    let text = printable(text);
    if !text.contains(['\\', '|', '<', '>', '&', '`', '*', ']']) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '\\' | '|' | '`' | '*' => shown.extend(['\\', letter]),
            // A link or picture has a bracket or parenthesis right behind this.
            ']' if matches!(letters.peek(), Some('(' | '[' | ':')) => shown.push_str("\\]"),
            _ => shown.push(letter),
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn names_become_neither_markup_nor_html() {
        let name = "<script>a|b</script> & `c` *d* ![e](http://f) g\u{1b}[2J\n";
        let shown = text(name);
        assert_eq!(
            shown,
            "&lt;script&gt;a\\|b&lt;/script&gt; &amp; \\`c\\` \\*d\\* ![e\\](http://f) g\\\\u{1b}[2J\\\\n"
        );
        assert_eq!(text("/backbone/conv_1[0]"), "/backbone/conv_1[0]");
    }
}
