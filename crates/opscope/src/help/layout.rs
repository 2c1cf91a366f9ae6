//! Help as the parser laid it out in another language: its own words replaced, and lines broken where Chinese may be.

use opscope_say::{Language, chosen, width, word, wrapped};

use super::is_help;
use crate::terminal::{print_problem, usage};

/// A blank at which the parser doesn't break a line.
pub const UNBROKEN: &str = "\u{a0}";

/// The widest that the help is; the parser's own is as wide.
pub const WIDEST: usize = 100;

/// The narrowest that it is made for.
const NARROWEST: usize = 30;

/// How wide the help is: as the terminal is, or `COLUMNS` says.
pub fn columns() -> usize {
    let of_terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal.or_else(told).unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

/// Prints the help that a command line asks for, or why it is wrong.
pub fn print<'w>(problem: &clap::Error, words: impl Iterator<Item = &'w str>) {
    if !is_help(problem) || chosen() == Language::English {
        return print_problem(problem, words);
    }
    let text = in_own_words(&problem.render().ansi().to_string(), columns());
    match problem.use_stderr() {
        true => anstream::eprint!("{text}"),
        false => anstream::print!("{text}"),
    }
}

/// A help as the parser laid it out, with styles, in the reader's words.
fn in_own_words(help: &str, columns: usize) -> String {
    let mut text = String::new();
    let mut is_usage = false;
    for line in help.lines() {
        let plain = anstream::adapter::strip_str(line).to_string();
        is_usage = plain.starts_with("Usage:") || (is_usage && !plain.is_empty());
        let told = match heading(&plain) {
            Some(heading) => line.replace(&plain, &heading),
            None if is_usage => usage(line),
            None => broken(&line.replace("[alias: ", word("[alias: ")), columns),
        };
        text.push_str(&told);
        text.push('\n');
    }
    text
}

/// The words of a line that is a heading.
fn heading(plain: &str) -> Option<String> {
    let name = plain.strip_suffix(':').filter(|name| !name.starts_with(' '))?;
    Some(format!("{}{}", word(name), word(": ")))
}

/// A line with its text broken to fit, each piece below the one before. Lines that are set by hand are as they are to
/// be.
fn broken(line: &str, columns: usize) -> String {
    let text_of = |text: &str| text.replace(UNBROKEN, " ");
    let width_of = |text: &str| width(&anstream::adapter::strip_str(text).to_string());
    if width_of(line) <= columns || line.starts_with(UNBROKEN) {
        return text_of(line);
    }
    let at = line.rfind(' ').map_or(0, |blank| blank + 1);
    // Below the text of an item, not below its dash.
    let dash = format!("-{UNBROKEN}");
    let at = if line[at..].starts_with(&dash) { at + dash.len() } else { at };
    let indent = width_of(&line[..at]);
    let lines = wrapped(&text_of(&line[at..]), columns.saturating_sub(indent));
    format!("{}{}", text_of(&line[..at]), lines.join(&format!("\n{:indent$}", "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_below_its_own_begin_whatever_styles_stand_before() {
        let line = "  \u{1b}[1m-q\u{1b}[0m  只显示\u{a0}-q\u{a0}的结果、警告和错误";
        assert_eq!(broken(line, 22), "  \u{1b}[1m-q\u{1b}[0m  只显示 -q 的结\n      果、警告和错误");
        assert_eq!(broken(line, 80), line.replace('\u{a0}', " "));
    }

    #[test]
    fn an_item_of_a_list_goes_on_below_its_text() {
        let line = "    -\u{a0}off：按模型的样子执行";
        assert_eq!(broken(line, 20), "    - off：按模型的\n      样子执行");
    }

    #[test]
    fn lines_that_are_set_by_hand_are_not_broken() {
        let line = "\u{a0}\u{a0}opscope\u{a0}formats\u{a0}onnx";
        assert_eq!(broken(line, 10), "  opscope formats onnx");
    }
}
