//! Regular expressions in Python's spelling, for names.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// Why a pattern can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Python has it, but matching it can take for ever.
    #[error("{0} is not supported in patterns; select by --type or with a plainer pattern")]
    Unsupported(&'static str),
    /// It is no regular expression.
    #[error("{0}")]
    Invalid(String),
}

/// A regular expression that must match where the text begins, but need not match all of it, as
/// Python's `re.match`.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it is malformed, or looks around or back, which this matcher doesn't do so that it
    /// takes no more time than the text is long.
    pub fn new(python: &str) -> Result<Self, PatternError> {
        let anchored = format!(r"\A(?:{})", translate(python)?);
        // Alone it is compiled first, so that ")(" is not made good by the brackets around it.
        for pattern in [&anchored[5..anchored.len() - 1], &anchored] {
            let regex = RegexBuilder::new(pattern).size_limit(1 << 24).nest_limit(100).build();
            match regex {
                Err(error) => return Err(PatternError::Invalid(last_line(&error))),
                Ok(regex) if pattern.len() == anchored.len() => return Ok(Self(regex)),
                Ok(_) => {}
            }
        }
        Err(PatternError::Invalid("it is empty".to_owned()))
    }

    /// Whether a name begins with a match.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

/// The fault, without the picture of the pattern that the library draws around it.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The same pattern in the spelling of the `regex` crate.
fn translate(python: &str) -> Result<String, PatternError> {
    let mut rust = String::with_capacity(python.len() + 8);
    let mut rest = python.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' => escape(&mut rest, &mut rust)?,
            '[' => class(&mut rest, &mut rust)?,
            '(' => group(&mut rest, &mut rust)?,
            // Python's means the end or a line break right before it.
            '$' => rust.push_str(r"(?:\n?\z)"),
            // Only a count makes it a repetition; a shape such as {64,3,7,7} stands for itself.
            '{' if !is_count(rest.clone()) => rust.push_str(r"\{"),
            '{' => count(&mut rest, &mut rust),
            '}' => rust.push_str(r"\}"),
            plain => rust.push(plain),
        }
    }
    Ok(rust)
}

/// Whether `{` is followed by `n}`, `n,}`, `,n}` or `n,n}`.
fn is_count(mut rest: Peekable<Chars>) -> bool {
    let digits =
        |rest: &mut Peekable<Chars>| std::iter::from_fn(|| rest.next_if(char::is_ascii_digit)).count();
    let least = digits(&mut rest);
    let comma = rest.next_if_eq(&',').is_some();
    let most = if comma { digits(&mut rest) } else { 0 };
    rest.next() == Some('}') && (comma || least > 0) && least + most > 0
}

fn count(rest: &mut Peekable<Chars>, rust: &mut String) {
    rust.push('{');
    if rest.peek() == Some(&',') {
        rust.push('0');
    }
    rust.extend(rest.by_ref().take_while(|character| *character != '}'));
    rust.push('}');
}

fn escape(rest: &mut Peekable<Chars>, rust: &mut String) -> Result<(), PatternError> {
    match rest.next() {
        Some('Z') => rust.push_str(r"\z"),
        Some('0') => rust.push_str(r"\x00"),
        Some('1'..='9') => return Err(PatternError::Unsupported("a reference back to a group")),
        // Here these are word boundaries, there plain characters.
        Some(plain @ ('<' | '>')) => rust.push(plain),
        Some(other) => rust.extend(['\\', other]),
        None => rust.push('\\'),
    }
    Ok(())
}

/// A set of characters; what Python has as plain characters in it may mean more here.
fn class(rest: &mut Peekable<Chars>, rust: &mut String) -> Result<(), PatternError> {
    rust.push('[');
    if rest.next_if_eq(&'^').is_some() {
        rust.push('^');
    }
    if rest.next_if_eq(&']').is_some() {
        rust.push_str(r"\]");
    }
    while let Some(character) = rest.next() {
        match character {
            ']' => {
                rust.push(']');
                return Ok(());
            }
            '\\' if rest.next_if_eq(&'b').is_some() => rust.push_str(r"\x08"),
            '\\' => escape(rest, rust)?,
            '[' | '&' | '~' => rust.extend(['\\', character]),
            '-' if rest.peek() == Some(&'-') => rust.push_str(r"\-"),
            plain => rust.push(plain),
        }
    }
    Ok(())
}

fn group(rest: &mut Peekable<Chars>, rust: &mut String) -> Result<(), PatternError> {
    let ahead: String = rest.clone().take(3).collect();
    let unsupported = match ahead.as_bytes() {
        [b'?', b'=' | b'!', ..] => "looking ahead, (?=…) or (?!…),",
        [b'?', b'<', b'=' | b'!'] => "looking behind, (?<=…) or (?<!…),",
        b"?P=" => "a reference back to a group, (?P=…),",
        [b'?', b'(', ..] => "a conditional group, (?(…)…),",
        [b'?', b'#', ..] => {
            rest.by_ref().take_while(|character| *character != ')').for_each(drop);
            return Ok(());
        }
        _ => {
            rust.push('(');
            return Ok(());
        }
    };
    Err(PatternError::Unsupported(unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(name)
    }

    #[test]
    fn a_pattern_is_anchored_at_the_start_only() {
        assert!(matches("conv*", "convolution"));
        assert!(matches("conv*", "con"));
        assert!(!matches("conv*", "a conv"));
        assert!(matches("a|conv", "convx"));
        assert!(matches("(?i)FUSE", "fuse_add"));
        assert!(matches(".*RELU$", "x.RELU\n"));
        assert!(!matches(r".*RELU\Z", "x.RELU\n"));
    }

    #[test]
    fn names_of_operators_can_be_written_as_they_are() {
        let name = "conv(data,const{64,3,7,7}[54])[56]";
        assert!(matches(r"conv\(data,const{64,3,7,7}\[54\]\)", name));
        assert!(matches("conv[(]data,const{64", name));
        assert!(matches("[^[]*[[]54", name));
        assert!(matches("c.{2,3}v?", name));
        assert!(matches("c{,1}onv", name));
        assert!(matches("x{}", "x{}"));
        assert!(matches(r"[\]c&&]onv", name));
        assert!(matches(r"con\<?v(?#a comment)", "con<v"));
    }

    #[test]
    fn what_only_python_can_do_is_named() {
        for (pattern, what) in [
            ("(?=conv)", "ahead"),
            ("(?<!a)conv", "behind"),
            (r"(a)\1", "reference"),
            ("(?P<n>a)(?P=n)", "reference"),
            ("(a)?(?(1)b|c)", "conditional"),
        ] {
            let error = Pattern::new(pattern).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("not supported"), "{pattern}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for pattern in ["(", ")(", "[a", "*a", "a{3,1}", "\\", "(?z)", "((((((a){1000}){1000}){1000}){1000}"]
        {
            let error = Pattern::new(pattern).unwrap_err().to_string();
            assert!(!error.is_empty() && !error.contains('\n'), "{pattern}: {error}");
        }
    }
}
