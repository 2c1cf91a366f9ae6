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

/// Whether a word is a sample's time: seconds, a point, and a colon behind. Names of programs may have blanks and colons,
/// times have neither.
fn is_time(word: &[u8]) -> bool {
    let digits = word.strip_suffix(b":").unwrap_or_default();
    let point = digits.iter().position(|byte| *byte == b'.');
    point.is_some_and(|point| point > 0 && point + 1 < digits.len())
        && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

fn are_digits(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_digit)
}

/// Whether a word is a thread, perhaps with its process before it.
fn is_thread(word: &[u8]) -> bool {
    word.split(|byte| *byte == b'/').all(are_digits)
}

fn is_processor(word: &[u8]) -> bool {
    word.starts_with(b"[") && word.ends_with(b"]")
}

/// The words behind a sample's time.
fn behind_time(line: &[u8]) -> Option<&[u8]> {
    words(line).skip(1).find(|(word, _)| is_time(word)).map(|(_, behind)| behind)
}

/// The words behind a sample's thread and processor, where it has no time: the event, perhaps with a number.
fn behind_thread(line: &[u8]) -> Option<&[u8]> {
    let is_event = |word: &[u8]| word.len() > 1 && word.ends_with(b":") && !word[0].is_ascii_digit();
    // Numbers behind the name of a record are its own.
    let before_record = words(line).take_while(|(word, _)| !word.starts_with(RECORD));
    before_record.skip(1).filter(|(word, _)| is_thread(word)).find_map(|(_, behind)| {
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
        Some((event, behind)) if event.starts_with(RECORD) || behind.starts_with(RECORD) => Line::Record,
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

/// The function and its address at the end of a sample of one line that names no event (`-F comm,tid,time,ip,sym`).
/// perf writes the program's name in 16 columns.
fn place_of(line: &[u8]) -> Option<&[u8]> {
    behind_numbers(line).or_else(|| {
        let (program, rest) = line.split_at_checked(16)?;
        let is_named = program.last().is_some_and(|last| !last.is_ascii_whitespace());
        behind_numbers(rest.strip_prefix(b" ")?).filter(|_| is_named)
    })
}

/// The function and its address behind numbers of thread, processor, time and period, as many as there are of them.
/// Each has one blank behind, but for threads with their processes, which are filled up on the right.
fn behind_numbers(mut rest: &[u8]) -> Option<&[u8]> {
    while !is_place(rest) {
        let begin = rest.iter().position(|byte| *byte != b' ')?;
        let end = begin + rest[begin..].iter().position(|byte| *byte == b' ')?;
        let word = &rest[begin..end];
        if !(is_thread(word) || is_processor(word) || is_time(word)) {
            return None;
        }
        rest = &rest[end + 1..];
        while word.contains(&b'/') && !is_place(rest) && rest.starts_with(b" ") {
            rest = &rest[1..];
        }
    }
    Some(rest)
}

/// A line of text whose samples name no event: functions of a stack stand behind tabs, and whatever else is one of a
/// sample begins one.
fn line_without_event(line: &[u8]) -> Line<'_> {
    match line_of(line) {
        Line::Frame(..) | Line::Other if !line.starts_with(b"\t") => {
            Line::Head(b"", place_of(line).unwrap_or_default())
        }
        other => other,
    }
}

/// Whether samples name no event in text that begins so: `perf script -F ip,sym` writes no heads at all, and
/// `-F comm,tid,time,ip,sym` heads that could be any words. So each must be followed by a stack in perf's columns, or
/// have the function in them behind it.
fn has_no_events(text: &[u8]) -> bool {
    const LINES: usize = 20;
    /// The line before, by what may follow.
    #[derive(Clone, Copy)]
    enum Before {
        /// A sample of one line, or the end of a stack.
        End,
        /// A head, which a stack follows.
        Head,
        /// A function of a stack.
        Frame,
    }
    // The last line may be cut off.
    let end = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(text.len());
    let (mut lines, mut places, mut before) = (0, 0, Before::End);
    for line in text[..end].split(|byte| *byte == b'\n') {
        before = match (line_of(line), before) {
            (Line::Comment, before) => before,
            (Line::Blank | Line::Record, Before::End | Before::Frame) => Before::End,
            (Line::Blank | Line::Record, Before::Head) | (Line::Head(..), _) => return false,
            (Line::Frame(..) | Line::Other, before) => {
                lines += 1;
                let is_in_stack = line.starts_with(b"\t") && is_place(line);
                let is_alone = !is_in_stack && place_of(line).is_some();
                places += usize::from(is_in_stack || is_alone);
                match before {
                    _ if is_in_stack => Before::Frame,
                    Before::End if is_alone => Before::End,
                    Before::End => Before::Head,
                    Before::Head | Before::Frame => return false,
                }
            }
        };
        if lines == LINES {
            break;
        }
    }
    places > 0
}

/// Counts what perf says it had to drop: `PERF_RECORD_LOST lost 12`. `PERF_RECORD_LOST_SAMPLES` has no number in most
/// versions.
fn count_lost(line: &[u8], functions: &mut Functions<'_>) {
    let is_loss = |word: &[u8]| {
        matches!(word.strip_suffix(b":").unwrap_or(word), b"PERF_RECORD_LOST" | b"PERF_RECORD_LOST_SAMPLES")
    };
    let Some((_, behind)) = words(line).find(|(word, _)| is_loss(word)) else { return };
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<u64>().ok();
    match words(behind).find_map(|(word, _)| number(word)) {
        Some(lost) => functions.lost = functions.lost.saturating_add(lost),
        None => functions.lost_without_number += 1,
    }
}

/// Whether text that begins so is that of `perf script`: its first line but for records is the head of a sample, with
/// the function behind it or a stack below; or samples name no event.
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
        Some(Line::Frame(..) | Line::Other) if has_no_events(text) => true,
        // Records of all programs that ran already may take up the whole beginning, of which the last line is cut off.
        _ => begins_with_record && lines.next().is_none(),
    }
}

/// Reads all samples, or of those within a function what it called.
pub fn read<'t>(text: &'t [u8], below: Option<&'t str>, stop: &Stop) -> Functions<'t> {
    let mut functions = Functions::below("perf script", below);
    let has_no_events = has_no_events(text);
    let line_of: fn(&[u8]) -> Line<'_> = if has_no_events { line_without_event } else { line_of };
    let (mut is_begun, mut is_in_stack, mut is_dense) = (false, false, false);
    // Behind the last line's end is no line more.
    let lines = text.strip_suffix(b"\n").unwrap_or(text);
    for line in stop.within(lines.split(|byte| *byte == b'\n')) {
        match line_of(line) {
            Line::Blank => (is_begun, is_in_stack) = (false, false),
            Line::Record => {
                count_lost(line, &mut functions);
                (is_begun, is_in_stack) = (false, false);
            }
            Line::Comment => {}
            // Any words would be a head.
            Line::Head(..) if has_no_events && is_in_stack => functions.unreadable += 1,
            Line::Head(event, behind) => {
                is_dense |= is_in_stack;
                functions.begin(event, 1.0);
                (is_begun, is_in_stack) = (true, false);
                if let Some((name, library)) = frame(behind) {
                    functions.frame(name, library);
                }
            }
            Line::Frame(name, library) if is_begun || has_no_events => {
                if !is_begun {
                    functions.begin(b"", 1.0);
                }
                functions.frame(name, library);
                (is_begun, is_in_stack) = (true, true);
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
