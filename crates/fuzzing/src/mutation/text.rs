//! Changes to texts by their words, numbers and lines.

use fastrand::Rng;

use super::bytes;

/// Numbers at which something often ends, as texts have them.
const NUMBERS: [&str; 22] = [
    "0",
    "-0",
    "1",
    "-1",
    "0.1",
    "1e-320",
    "1e308",
    "1e999",
    "-1e999",
    "NaN",
    "inf",
    "255",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "9007199254740993",
    "1760000000000000000",
];

/// Pieces that are harmful somewhere.
const PIECES: [&str; 24] = [
    "",
    "\"",
    "'",
    ",",
    ";",
    "=",
    "[",
    "]",
    "{",
    "}",
    "\\",
    "\\u0000",
    "\\ud800",
    "\u{1b}[31m",
    "\u{202e}",
    "\0",
    "\r",
    "\u{feff}",
    "=1+1",
    "*",
    "null",
    "true",
    "../",
    "[[[[[[[[",
];

/// A name that is as long as none.
const LONG: usize = 10_000;

/// Changes one place.
pub fn change(random: &mut Rng, input: &[u8], other: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(input) else { return bytes::change(random, input, other) };
    if text.is_empty() {
        return other.to_vec();
    }
    if random.u8(..4) == 0 {
        return change_lines(random, text, other).into_bytes();
    }
    let mut tokens = tokens(text);
    let place = random.usize(..tokens.len());
    let (again, long);
    match random.u8(..48) {
        0..=15 => {
            // Numbers are worth more than what lies between them.
            let numbers = (0..tokens.len()).filter(|at| is_number(tokens[*at])).collect::<Vec<_>>();
            let at = if numbers.is_empty() { place } else { numbers[random.usize(..numbers.len())] };
            tokens[at] = NUMBERS[random.usize(..NUMBERS.len())];
        }
        16..=23 => tokens[place] = tokens[random.usize(..tokens.len())],
        24..=29 => tokens[place] = PIECES[random.usize(..PIECES.len())],
        30..=33 => tokens.insert(place, PIECES[random.usize(..PIECES.len())]),
        34..=37 => drop(tokens.remove(place)),
        38..=42 => {
            let end = tokens.len().min(place + 1 + random.usize(..24));
            again = tokens[place..end].concat().repeat(1 << random.u32(..5));
            tokens.insert(end, &again);
        }
        43..=46 => {
            let theirs = std::str::from_utf8(other).map(self::tokens).unwrap_or_default();
            let from = random.usize(..theirs.len().max(1));
            let to = theirs.len().min(from + random.usize(..8));
            tokens.splice(place..=place, theirs.get(from..to).unwrap_or_default().iter().copied());
        }
        _ => {
            long = tokens[place].repeat(random.usize(..LONG) / tokens[place].len().max(1));
            tokens[place] = &long;
        }
    }
    tokens.concat().into_bytes()
}

fn change_lines(random: &mut Rng, text: &str, other: &[u8]) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (place, second) = (random.usize(..lines.len()), random.usize(..lines.len()));
    match random.u8(..5) {
        0 => drop(lines.remove(place)),
        1 => lines.insert(place, lines[second]),
        2 => lines.swap(place, second),
        3 => {
            let theirs: Vec<&str> =
                std::str::from_utf8(other).unwrap_or_default().split_inclusive('\n').collect();
            if !theirs.is_empty() {
                lines.insert(place, theirs[random.usize(..theirs.len())]);
            }
        }
        _ => {
            let end = lines.len().min(place + 1 + random.usize(..8));
            let again = lines[place..end].repeat(1 << random.u32(..4));
            lines.splice(end..end, again);
        }
    }
    lines.concat()
}

fn is_number(token: &str) -> bool {
    token.trim_start_matches('-').starts_with(|letter: char| letter.is_ascii_digit())
}

/// The kinds of letters that words are made of.
fn kind(letter: char) -> u8 {
    match letter {
        '0'..='9' | '.' | '-' => 0,
        'a'..='z' | 'A'..='Z' | '_' => 1,
        ' ' | '\t' => 2,
        // Each of these stands alone.
        _ => 3,
    }
}

/// Numbers, words, gaps and other letters, in their order.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let end = match kind(first) {
            3 => first.len_utf8(),
            of => rest.find(|letter| kind(letter) != of).unwrap_or(rest.len()),
        };
        let (token, more) = rest.split_at(end);
        tokens.push(token);
        rest = more;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn a_text_is_made_of_its_tokens() {
        let text = "{\"ts\": -1.5e3,\n\t\"näme\": [[1]]}";
        let tokens = tokens(text);
        assert_eq!(tokens.concat(), text);
        assert!(tokens.contains(&"-1.5") && tokens.contains(&"ts") && tokens.contains(&"ä"), "{tokens:?}");
    }
}
