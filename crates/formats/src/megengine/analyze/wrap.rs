//! Breaking text into lines, by the rules of Python's `textwrap`.

use super::numbers::is_space;

/// Breaks a text into lines of at most `width` characters.
///
/// White space becomes blanks and is dropped where a line breaks; words may break behind a hyphen,
/// and a word longer than a line is cut.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let characters = blanks(text);
    let mut waiting: Vec<&[char]> = pieces(&characters);
    waiting.reverse();
    let mut lines = Vec::new();
    while !waiting.is_empty() {
        if !lines.is_empty() {
            waiting.pop_if(|piece| is_blank(piece));
        }
        let mut line: Vec<char> = Vec::new();
        let mut last = 0;
        while let Some(piece) = waiting.pop_if(|piece| line.len() + piece.len() <= width) {
            last = line.len();
            line.extend(piece);
        }
        if let Some(long) = waiting.pop_if(|piece| piece.len() > width) {
            let (here, rest) = long.split_at(width - line.len());
            last = line.len();
            line.extend(here);
            waiting.push(rest);
        }
        if is_blank(&line[last..]) {
            line.truncate(last);
        }
        if !line.is_empty() {
            lines.push(line.into_iter().collect());
        }
    }
    lines
}

/// The text with tabs as blanks up to the next multiple of 8, and other white space as one blank.
fn blanks(text: &str) -> Vec<char> {
    let mut characters = Vec::with_capacity(text.len());
    let mut column = 0;
    for character in text.chars() {
        match character {
            '\t' => {
                let width = 8 - column % 8;
                characters.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            '\n' | '\r' => {
                characters.push(' ');
                column = 0;
            }
            _ => {
                characters.push(if is_separator(character) { ' ' } else { character });
                column += 1;
            }
        }
    }
    characters
}

/// The parts between which a line may break: runs of blanks, words and parts of hyphenated words.
fn pieces(text: &[char]) -> Vec<&[char]> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = piece_end(text, start);
        pieces.push(&text[start..end]);
        start = end;
    }
    pieces
}

fn piece_end(text: &[char], start: usize) -> usize {
    let run = |from: usize, wanted: fn(char) -> bool| {
        from + text[from..].iter().take_while(|character| wanted(**character)).count()
    };
    if is_separator(text[start]) {
        return run(start, is_separator);
    }
    // Two or more hyphens between words are a dash, and a piece of their own.
    let dash = |at: usize| {
        let end = run(at, |character| character == '-');
        let between = at > 0 && is_word_or_punctuation(text[at - 1]);
        let follows = text.get(end).is_some_and(|next| is_word(*next));
        (end - at >= 2 && between && follows).then_some(end)
    };
    if let Some(end) = dash(start) {
        return end;
    }
    (start + 1..text.len())
        .find_map(|at| match text[at] {
            '-' if breaks_behind(text, at) => Some(at + 1),
            '-' => dash(at).map(|_| at),
            character => is_separator(character).then_some(at),
        })
        .unwrap_or(text.len())
}

/// Whether a word may break behind the hyphen at `at`: two letters, or a hyphenated letter, before
/// it and two letters, hyphenated or not, after it.
fn breaks_behind(text: &[char], at: usize) -> bool {
    let test = |at: Option<usize>, wanted: fn(char) -> bool| {
        at.and_then(|at| text.get(at)).is_some_and(|character| wanted(*character))
    };
    let letter = |at: Option<usize>| test(at, is_letter);
    let hyphen = |at: Option<usize>| test(at, |character| character == '-');
    let (before, after) = (|n| at.checked_sub(n), |n| Some(at + n));
    let closes =
        letter(before(1)) && letter(before(2)) || letter(before(1)) && hyphen(before(2)) && letter(before(3));
    closes && letter(after(1)) && (letter(after(2)) || hyphen(after(2)) && letter(after(3)))
}

fn is_separator(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ')
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_letter(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

fn is_word_or_punctuation(character: char) -> bool {
    is_word(character) || matches!(character, '!' | '"' | '\'' | '&' | '.' | ',' | '?')
}

fn is_blank(piece: &[char]) -> bool {
    piece.iter().all(|character| is_space(*character))
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn long_words_are_cut_and_nothing_gives_no_line() {
        assert_eq!(
            wrap("conv(h2d[48],const{64,3,7,7}[50])[52]", 30),
            ["conv(h2d[48],const{64,3,7,7}[5", "0])[52]"]
        );
        assert!(wrap("", 30).is_empty());
        assert!(wrap(" \t\n ", 30).is_empty());
    }

    #[test]
    fn words_break_behind_hyphens_between_letters_only() {
        assert_eq!(
            wrap("one-hyphenated-very-long-name-that-wraps", 30),
            ["one-hyphenated-very-long-name-", "that-wraps"]
        );
        assert_eq!(wrap("layer-1-2 x-y", 8), ["layer-1-", "2 x-y"]);
        assert_eq!(wrap("ab-cd", 3), ["ab-", "cd"]);
        assert_eq!(wrap("see--this", 5), ["see--", "this"]);
    }

    #[test]
    fn blanks_inside_a_line_stay_and_those_at_a_break_go() {
        assert_eq!(wrap("a b  c\td", 30), ["a b  c  d"]);
        assert_eq!(wrap("line1\nline2   end", 12), ["line1 line2", "end"]);
        assert_eq!(wrap("  first", 30), ["  first"]);
    }
}
