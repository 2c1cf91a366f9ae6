//! The text of `perf script`.

use super::functions::Functions;
use crate::reading::Stop;

/// How names of perf's records begin, which `--show-mmap-events` and the like print in an event's place.
const RECORD: &[u8] = b"PERF_RECORD_";

/// The event of a sample's first line, and what stands behind it.
///
/// Before the event stand the program, the thread (`15294` or `15294/15300`), the processor (`[003]`), the time, and a
/// number of what was counted. All but program and thread may be missing: `perf record` of a single event without `-T`
/// takes no times in old versions, and `perf script -F` chooses.
fn head(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let behind = behind_time(line).or_else(|| behind_thread(line))?;
    // A number of what was counted may stand before the event.
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let behind = match behind.get(digits) {
        Some(byte) if digits > 0 && byte.is_ascii_whitespace() => behind[digits..].trim_ascii_start(),
        _ => behind,
    };
    let end = behind.iter().position(u8::is_ascii_whitespace).unwrap_or(behind.len());
    let event = behind[..end].strip_suffix(b":")?;
    Some((event, behind[end..].trim_ascii()))
}

/// The words of a line, each with what stands behind it. The first is the program's name, or a part of it.
fn words(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = line.trim_ascii();
    std::iter::from_fn(move || {
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind.trim_ascii_start();
        (!word.is_empty()).then_some((word, rest))
    })
}

/// The words behind a sample's time.
fn behind_time(line: &[u8]) -> Option<&[u8]> {
    // Names of programs may have blanks and colons, times have neither: seconds, a point, and a colon behind.
    let is_time = |word: &[u8]| {
        let digits = word.strip_suffix(b":").unwrap_or_default();
        let point = digits.iter().position(|byte| *byte == b'.');
        point.is_some_and(|point| point > 0 && point + 1 < digits.len())
            && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    };
    words(line).skip(1).find(|(word, _)| is_time(word)).map(|(_, behind)| behind)
}

/// The words behind a sample's thread and processor, where it has no time: the event, perhaps with a number.
fn behind_thread(line: &[u8]) -> Option<&[u8]> {
    let are_digits = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let is_thread = |word: &[u8]| word.split(|byte| *byte == b'/').all(are_digits);
    let is_event = |word: &[u8]| word.len() > 1 && word.ends_with(b":") && !word[0].is_ascii_digit();
    // Numbers behind the name of a record are its own.
    let before_record = words(line).take_while(|(word, _)| !word.starts_with(RECORD));
    before_record.skip(1).filter(|(word, _)| is_thread(word)).find_map(|(_, behind)| {
        let is_processor = |word: &[u8]| word.starts_with(b"[") && word.ends_with(b"]");
        let behind = match words(behind).next() {
            Some((word, behind)) if is_processor(word) => behind,
            _ => behind,
        };
        let (first, further) = words(behind).next()?;
        let is_counted = are_digits(first) && words(further).next().is_some_and(|(word, _)| is_event(word));
        (is_event(first) || is_counted).then_some(behind)
    })
}

/// Function and library of a line of a stack: an address in hexadecimal digits, the function, the library in
/// brackets.
fn frame(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace)?;
    if !line[..end].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let rest = line[end..].trim_ascii_start();
    let (name, library) = match library_begin(rest) {
        Some(open) => (rest[..open].trim_ascii_end(), &rest[open + 1..rest.len() - 1]),
        None => (rest, &rest[..0]),
    };
    let plus = name.windows(3).rposition(|part| part == b"+0x");
    Some((&name[..plus.unwrap_or(name.len())], library))
}

/// Where the brackets open that close at the end, if a library stands within them. Names of functions end in brackets
/// as well (`run(int)`), but without a blank before them, and the kernel puts some behind libraries
/// (`libblas.so (deleted)`).
fn library_begin(rest: &[u8]) -> Option<usize> {
    if !rest.ends_with(b")") {
        return None;
    }
    let mut depth = 0_usize;
    let open = rest.iter().rposition(|byte| {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    (open == 0 || rest[open - 1] == b' ').then_some(open)
}

/// A line, by what it is of a sample.
enum Line<'t> {
    /// The first one: the event, and what stands behind it.
    Head(&'t [u8], &'t [u8]),
    /// One of its stack: the function, and the library.
    Frame(&'t [u8], &'t [u8]),
    /// The end of its stack.
    Blank,
    Comment,
    /// One of perf's records between samples.
    Record,
    Other,
}

/// Whether a line that is no head is one of a record: `dd 1234 [000] 12.345678: PERF_RECORD_MMAP2 1234/1234: …`. Those
/// of namespaces go on below it (`\t\t[0/net: 4/0xf0000098, …` and `\t\t 4/pid: …`).
fn is_of_record(line: &[u8]) -> bool {
    matches!(line, [b'\t', b'\t', b'[' | b' ', b'0'..=b'9', b'/', ..])
        || words(line).any(|(word, _)| word.starts_with(RECORD))
}

fn line_of(line: &[u8]) -> Line<'_> {
    if line.trim_ascii().is_empty() {
        return Line::Blank;
    }
    if line.starts_with(b"#") {
        return Line::Comment;
    }
    // perf writes stacks behind a tab, and no head.
    if line.starts_with(b"\t")
        && let Some((name, library)) = frame(line)
    {
        return Line::Frame(name, library);
    }
    // Programs may be called `dd` or `cc1`, which could be addresses.
    match head(line) {
        Some((event, _)) if event.starts_with(RECORD) => Line::Record,
        Some((event, behind)) => Line::Head(event, behind),
        None if is_of_record(line) => Line::Record,
        None => frame(line).map_or(Line::Other, |(name, library)| Line::Frame(name, library)),
    }
}

/// Whether a line is a function and its address alone: perf writes the latter in 16 columns, behind a tab in stacks and
/// behind a blank where a sample has one line.
fn is_place(line: &[u8]) -> bool {
    let Some(([b'\t' | b' ', address @ ..], [b' ', name @ ..])) = line.split_at_checked(17) else {
        return false;
    };
    let address = address.trim_ascii_start();
    // Numbers stand in columns as well.
    let is_named = name.trim_ascii_start().first().is_some_and(|first| !first.is_ascii_digit());
    !address.is_empty() && address.iter().all(u8::is_ascii_hexdigit) && is_named
}

/// Whether samples have no heads in text that begins so, as `perf script -F ip,sym` writes them.
fn is_headless(text: &[u8]) -> bool {
    const LINES: usize = 20;
    // The last line may be cut off.
    let end = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(text.len());
    let lines = text[..end].split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !matches!(line_of(line), Line::Blank | Line::Comment | Line::Record));
    let mut lines = lines.take(LINES).peekable();
    lines.peek().is_some() && lines.all(is_place)
}

/// Whether text that begins so is that of `perf script`: its first line but for records is the head of a sample, with
/// the function behind it or a stack below; or there are no heads.
pub fn looks_like(text: &[u8]) -> bool {
    let lines = text.split(|byte| *byte == b'\n').map(line_of);
    let lines = lines.filter(|line| !matches!(line, Line::Comment));
    let mut lines = lines.skip_while(|line| matches!(line, Line::Blank)).peekable();
    let begins_with_record = matches!(lines.peek(), Some(Line::Record));
    match lines.find(|line| !matches!(line, Line::Blank | Line::Record)) {
        Some(Line::Head(event, behind)) => {
            let has_frame = frame(behind).is_some() || matches!(lines.next(), Some(Line::Frame(..)));
            !event.is_empty() && has_frame
        }
        Some(Line::Frame(..)) => is_headless(text),
        // Records of all programs that ran already may take up the whole beginning, of which the last line is cut off.
        _ => begins_with_record && lines.next().is_none(),
    }
}

/// Reads all samples, or of those within a function what it called.
pub fn read<'t>(text: &'t [u8], below: Option<&'t str>, stop: &Stop) -> Functions<'t> {
    let mut functions = Functions::below("perf script", below);
    let is_headless = is_headless(text);
    let (mut is_begun, mut is_in_stack, mut is_dense) = (false, false, false);
    // Behind the last line's end is no line more.
    let lines = text.strip_suffix(b"\n").unwrap_or(text);
    for line in stop.within(lines.split(|byte| *byte == b'\n')) {
        match line_of(line) {
            Line::Blank | Line::Record => (is_begun, is_in_stack) = (false, false),
            Line::Comment => {}
            Line::Head(event, behind) => {
                is_dense |= is_in_stack;
                functions.begin(event, 1.0);
                (is_begun, is_in_stack) = (true, false);
                if let Some((name, library)) = frame(behind) {
                    functions.frame(name, library);
                }
            }
            Line::Frame(name, library) if is_begun || is_headless => {
                let is_alone = is_headless && !line.starts_with(b"\t");
                if is_alone || !is_begun {
                    functions.begin(b"", 1.0);
                }
                functions.frame(name, library);
                (is_begun, is_in_stack) = (true, !is_alone);
            }
            Line::Frame(..) | Line::Other => functions.unreadable += 1,
        }
    }
    stop.has_read(text.len());
    // A blank line ends a stack, unless somebody took these lines out, and a line's end a sample of one line.
    let is_within_stack = is_in_stack && !is_dense && !text.ends_with(b"\n\n");
    functions.is_open = is_begun && (is_within_stack || !text.ends_with(b"\n"));
    functions
}
