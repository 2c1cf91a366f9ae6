//! Folded stacks: a line for each stack, with its count.

use super::functions::Functions;
use crate::reading::{Stop, lines};

/// The words for where the functions come from.
const SOURCE: &str = "folded stacks";

/// The stack and the count of a line.
fn parts(line: &[u8]) -> Option<(&[u8], u64)> {
    let line = line.trim_ascii_end();
    let blank = line.iter().rposition(|byte| *byte == b' ')?;
    let count = std::str::from_utf8(&line[blank + 1..]).ok()?.parse().ok()?;
    let stack = line[..blank].trim_ascii_end();
    (!stack.is_empty()).then_some((stack, count))
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
                deep += usize::from(stack.contains(&b';'));
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
    let parts = opscope_parallel::map(&lines::parts(text), |part| read_part(part, below, stop));
    parts.into_iter().for_each(|part| functions.append(part));
    functions.is_open = !text.ends_with(b"\n");
    functions
}

fn read_part<'t>(text: &'t [u8], below: Option<&'t str>, stop: &Stop) -> Functions<'t> {
    let mut functions = Functions::below(SOURCE, below);
    for line in stop.within(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        let Some((stack, count)) = parts(line) else {
            functions.unreadable += 1;
            continue;
        };
        functions.begin(b"", count);
        stack.rsplit(|byte| *byte == b';').for_each(|name| functions.frame(name, b""));
    }
    stop.has_read(text.len());
    functions
}
