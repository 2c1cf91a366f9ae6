//! The few colours in use. Whether they reach the terminal is decided where text is printed.

use anstyle::{AnsiColor, Style};

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// For headings.
pub fn bold(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// For what is less important.
pub fn dim(text: &str) -> String {
    styled(Style::new().dimmed(), text)
}

/// For the word that opens a warning.
pub fn warning(text: &str) -> String {
    styled(AnsiColor::Yellow.on_default().bold(), text)
}

/// For the word that opens an error.
pub fn error(text: &str) -> String {
    styled(AnsiColor::Red.on_default().bold(), text)
}
