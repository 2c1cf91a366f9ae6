//! Words as shells take them.

use std::path::Path;

/// Words as one line for a shell.
pub fn command_line(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// A path as a word of a command, which takes one that begins with a dash for an option.
pub fn path_word(path: &Path) -> String {
    let path = path.display().to_string();
    if path.starts_with('-') { format!("./{path}") } else { path }
}

/// A word as shells take it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_are_quoted_where_a_shell_would_part_them() {
        let words = ["opscope", "plain/a-1.db", "with blank", "it's", ""].map(str::to_owned);
        assert_eq!(["-dash", "a-b"].map(|path| path_word(Path::new(path))), ["./-dash", "a-b"]);
        assert_eq!(command_line(words), r"opscope plain/a-1.db 'with blank' 'it'\''s' ''");
    }
}
