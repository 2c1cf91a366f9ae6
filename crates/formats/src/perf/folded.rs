//! Folded stacks: a line for each stack, with its count; or with the counts of two profiles, as `difffolded.pl` of
//! FlameGraph's scripts writes them side by side (`main;run 25 31`). Tools that weigh or scale samples write counts
//! with fractions (`main;run 12.5`).
//!
//! A function's own name may end in a number, so that one line doesn't tell which it is: a text has two counts where all
//! its lines end in two numbers.

use super::functions::Functions;
use crate::reading::{Stop, lines};

/// The words for where the functions come from.
const SOURCE: &str = "folded stacks";

/// The stack and the count of a line.
fn parts(line: &[u8]) -> Option<(&[u8], f64)> {
    let line = line.trim_ascii_end();
    let blank = line.iter().rposition(|byte| *byte == b' ')?;
    let count = count_of(&line[blank + 1..])?;
    let stack = line[..blank].trim_ascii_end();
    (!stack.is_empty()).then_some((stack, count))
}

/// A count, which is at most what 64 bits hold, so that no sum grows beyond all bounds.
fn count_of(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole as f64);
    }
    // `nan`, `inf` and `-2.5` are numbers, but no counts.
    let is_decimal = word.first()?.is_ascii_digit() && word.last()?.is_ascii_digit();
    let count = text.parse::<f64>().ok().filter(|_| is_decimal)?;
    (count <= u64::MAX as f64).then_some(count)
}

/// The words for the counts of two profiles, in the place of an event.
const COUNTS: [&[u8]; 2] = [b"first count", b"second count"];

/// The remark on a text with two counts.
const TWO_COUNTS: &str = "every line ends in two numbers, which were read as the counts of two profiles, as \
                          difffolded.pl writes them";

/// The stack and the count of a line that is no remark.
fn stack_of(line: &[u8]) -> Option<(&[u8], f64)> {
    parts(line).filter(|_| !line.starts_with(b"#"))
}

/// Whether every line with a count has another one before it.
fn has_two_counts(parts_of_text: &[&[u8]], stop: &Stop) -> bool {
    let all_of = |part: &&[u8]| {
        let mut lines = stop.within(part.split(|byte| *byte == b'\n')).filter_map(stack_of);
        lines.all(|(stack, _)| parts(stack).is_some())
    };
    // Most texts have one count, which their first line tells.
    let mut lines = parts_of_text.iter().flat_map(|part| part.split(|byte| *byte == b'\n'));
    let first = lines.find_map(stack_of);
    first.is_some_and(|(stack, _)| parts(stack).is_some())
        && opscope_parallel::map(parts_of_text, all_of).into_iter().all(|all| all)
}

/// Whether text that begins so is folded stacks: every line is one, and most have several functions. The last line
/// may be cut off.
pub fn looks_like(head: &[u8]) -> bool {
    const LINES: usize = 20;
    let mut lines = head.split(|byte| *byte == b'\n').peekable();
    let (mut stacks, mut deep) = (0, 0);
    while let Some(line) = lines.next()
        && stacks < LINES
    {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        match parts(line) {
            Some((stack, _)) => {
                stacks += 1;
                // A semicolon before the number is one of a table.
                deep += usize::from(stack.contains(&b';') && !stack.ends_with(b";"));
            }
            None if lines.peek().is_none() && stacks > 0 => {}
            None => return false,
        }
    }
    deep > 0 && deep * 2 >= stacks
}

/// Reads all lines, on all cores; or of those within a function what it called.
pub fn read<'t>(text: &'t [u8], below: Option<&'t str>, stop: &Stop) -> Functions<'t> {
    let mut functions = Functions::below(SOURCE, below);
    let parts = lines::parts(text);
    let has_two_counts = has_two_counts(&parts, stop);
    functions.note = has_two_counts.then_some(TWO_COUNTS);
    let read = opscope_parallel::map(&parts, |part| read_part(part, has_two_counts, below, stop));
    read.into_iter().for_each(|part| functions.append(part));
    functions.is_open = !text.ends_with(b"\n");
    functions
}

fn read_part<'t>(text: &'t [u8], has_two_counts: bool, below: Option<&'t str>, stop: &Stop) -> Functions<'t> {
    let mut functions = Functions::below(SOURCE, below);
    for line in stop.within(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        let Some((stack, count)) = parts(line) else {
            functions.unreadable += 1;
            continue;
        };
        let before = parts(stack);
        if has_two_counts && let Some((stack, first)) = before {
            for (event, count) in COUNTS.into_iter().zip([first, count]) {
                // A stack that only one profile has is none of the other.
                if count > 0.0 {
                    functions.begin(event, count);
                    stack.rsplit(|byte| *byte == b';').for_each(|name| functions.frame(name, b""));
                }
            }
            continue;
        }
        functions.numbered += u64::from(before.is_some());
        functions.begin(b"", count);
        stack.rsplit(|byte| *byte == b';').for_each(|name| functions.frame(name, b""));
    }
    stop.has_read(text.len());
    functions
}
