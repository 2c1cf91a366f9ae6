//! The text form of protocol buffers: prototxt of Caffe, `pbtxt` of TensorFlow, the graphs that GE dumps.
//!
//! Fields are `name: value`, `name { … }` or `name: { … }` (with `<` and `>` as well), separated by blanks, commas
//! or semicolons; `[a, b]` is a list of values of one field; `#` begins a comment. The form is that of the public
//! specification. Nothing recurses while it is read, and blocks within blocks have a limit.

use std::borrow::Cow;

use super::FormatError;

/// Blocks within blocks; real files have ten.
const MOST_DEPTH: usize = 100;

/// Fields of a file; each takes some dozens of bytes in memory.
const MOST_FIELDS: usize = 1 << 24;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'t> {
    /// A number, a truth, or the name of a number.
    Word(&'t str),
    /// Text in quotes.
    Text(Cow<'t, [u8]>),
    /// A message.
    Block(Block<'t>),
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field<'t> {
    pub name: &'t str,
    pub value: Value<'t>,
}

/// The fields of a message, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block<'t> {
    pub fields: Vec<Field<'t>>,
}

impl<'t> Value<'t> {
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Word(word) => Cow::Borrowed(word),
            Self::Text(text) => String::from_utf8_lossy(text),
            Self::Block(_) => Cow::Borrowed(""),
        }
    }

    pub fn int(&self) -> Option<i64> {
        let Self::Word(word) = self else { return None };
        match word.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        }
    }

    pub fn float(&self) -> Option<f32> {
        let Self::Word(word) = self else { return None };
        word.trim_end_matches(['f', 'F']).parse().ok()
    }

    pub fn bool(&self) -> Option<bool> {
        match self {
            Self::Word("true" | "True" | "t" | "1") => Some(true),
            Self::Word("false" | "False" | "f" | "0") => Some(false),
            _ => None,
        }
    }

    pub fn block(&self) -> Option<&Block<'t>> {
        match self {
            Self::Block(block) => Some(block),
            _ => None,
        }
    }
}

impl<'t> Block<'t> {
    /// All values of a field.
    pub fn all<'b>(&'b self, name: &str) -> impl Iterator<Item = &'b Value<'t>> {
        self.fields.iter().filter(move |field| field.name == name).map(|field| &field.value)
    }

    /// The value of a field; of several the last, as protocol buffers have it.
    pub fn get(&self, name: &str) -> Option<&Value<'t>> {
        self.fields.iter().rev().find(|field| field.name == name).map(|field| &field.value)
    }

    pub fn text(&self, name: &str) -> Cow<'_, str> {
        self.get(name).map_or(Cow::Borrowed(""), Value::text)
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name)?.int()
    }

    pub fn float(&self, name: &str) -> Option<f32> {
        self.get(name)?.float()
    }

    pub fn bool(&self, name: &str) -> Option<bool> {
        self.get(name)?.bool()
    }

    pub fn block(&self, name: &str) -> Option<&Self> {
        self.get(name)?.block()
    }

    pub fn blocks<'b>(&'b self, name: &str) -> impl Iterator<Item = &'b Self> {
        self.all(name).filter_map(Value::block)
    }

    pub fn ints(&self, name: &str) -> Vec<i64> {
        self.all(name).filter_map(Value::int).collect()
    }

    pub fn texts(&self, name: &str) -> Vec<String> {
        self.all(name).map(|value| value.text().into_owned()).collect()
    }
}

/// The content of a text, and what is wrong with it, where its beginning could be read.
///
/// # Errors
/// When not even a first field can be read.
pub(crate) fn parse(text: &str) -> Result<(Block<'_>, Option<FormatError>), FormatError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser { text, at: 0, stack: vec![("", Block::default())], fields: 0 };
    let stopped = parser.run().err();
    let mut whole = Block::default();
    // Blocks that were never closed hold what was read of them.
    while let Some((name, block)) = parser.stack.pop() {
        match parser.stack.last_mut() {
            Some((_, outer)) => outer.fields.push(Field { name, value: Value::Block(block) }),
            None => whole = block,
        }
    }
    match (stopped, whole.fields.is_empty()) {
        (Some(fault), true) => Err(fault),
        (stopped, _) => Ok((whole, stopped)),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// The blocks that are open, each with its name; the first is the file.
    stack: Vec<(&'t str, Block<'t>)>,
    fields: usize,
}

impl<'t> Parser<'t> {
    fn fault(&self, text: impl Into<String>) -> FormatError {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        FormatError::Line {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            text: text.into(),
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes over blanks, separators and comments.
    fn skip(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b';' => self.at += 1,
                b'#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => break,
            }
        }
    }

    fn word(&mut self) -> Option<&'t str> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-/".contains(&byte) || byte >= 0x80;
        let length = self.rest().bytes().take_while(|byte| is_part(*byte)).count();
        let word = self.rest().get(..length).filter(|word| !word.is_empty())?;
        self.at += length;
        Some(word)
    }

    fn run(&mut self) -> Result<(), FormatError> {
        loop {
            self.skip();
            let Some(byte) = self.peek() else { break };
            if byte == b'}' || byte == b'>' {
                self.close()?;
                continue;
            }
            // An extension has its name in brackets.
            let is_extension = byte == b'[';
            self.at += usize::from(is_extension);
            let Some(name) = self.word() else {
                return Err(self.fault("there is no name of a field here"));
            };
            self.at += usize::from(is_extension && self.peek() == Some(b']'));
            self.skip_blanks();
            let has_colon = self.peek() == Some(b':');
            self.at += usize::from(has_colon);
            self.skip_blanks();
            match self.peek() {
                Some(b'{' | b'<') => self.open(name)?,
                Some(b'[') if has_colon => self.list(name)?,
                _ if has_colon => {
                    let value = self.scalar()?;
                    self.push(name, value)?;
                }
                _ => {
                    return Err(
                        self.fault(format!("the field {} has no value", super::assembly::shortened(name)))
                    );
                }
            }
        }
        match self.stack.len() {
            1 => Ok(()),
            open => Err(self.fault(format!("the file ends within {} open blocks", open - 1))),
        }
    }

    /// Passes over blanks and comments, which may stand before a value.
    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => break,
            }
        }
    }

    fn open(&mut self, name: &'t str) -> Result<(), FormatError> {
        self.at += 1;
        if self.stack.len() > MOST_DEPTH {
            return Err(self.fault(format!("blocks are nested more than {MOST_DEPTH} deep")));
        }
        self.stack.push((name, Block::default()));
        Ok(())
    }

    fn close(&mut self) -> Result<(), FormatError> {
        match (self.stack.pop(), self.stack.last()) {
            (Some((name, block)), Some(_)) => {
                self.at += 1;
                self.push(name, Value::Block(block))
            }
            (file, _) => {
                self.stack.extend(file);
                Err(self.fault("a block is closed that was never opened"))
            }
        }
    }

    fn push(&mut self, name: &'t str, value: Value<'t>) -> Result<(), FormatError> {
        self.fields += 1;
        if self.fields > MOST_FIELDS {
            return Err(self.fault(format!("the file has more than {MOST_FIELDS} fields")));
        }
        if let Some((_, block)) = self.stack.last_mut() {
            block.fields.push(Field { name, value });
        }
        Ok(())
    }

    /// Values of one field in brackets; those that are blocks are read as such one after another.
    fn list(&mut self, name: &'t str) -> Result<(), FormatError> {
        self.at += 1;
        loop {
            self.skip();
            match self.peek() {
                None => return Err(self.fault("a list is never closed")),
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'{' | b'<') => {
                    return Err(self.fault("a list of blocks in brackets, which no writer of models makes"));
                }
                Some(_) => {
                    let value = self.scalar()?;
                    self.push(name, value)?;
                }
            }
        }
    }

    fn scalar(&mut self) -> Result<Value<'t>, FormatError> {
        match self.peek() {
            Some(b'"' | b'\'') => {
                let mut text = self.quoted()?;
                // Texts that follow one another are one.
                loop {
                    self.skip_blanks();
                    if !matches!(self.peek(), Some(b'"' | b'\'')) {
                        return Ok(Value::Text(text));
                    }
                    let more = self.quoted()?;
                    text.to_mut().extend_from_slice(&more);
                }
            }
            _ => self.word().map(Value::Word).ok_or_else(|| self.fault("there is no value here")),
        }
    }

    fn quoted(&mut self) -> Result<Cow<'t, [u8]>, FormatError> {
        let quote = self.peek().unwrap_or(b'"');
        self.at += 1;
        let rest = self.rest().as_bytes();
        let plain = rest.iter().position(|byte| *byte == quote || *byte == b'\\').unwrap_or(rest.len());
        if rest.get(plain) == Some(&quote) {
            self.at += plain + 1;
            return Ok(Cow::Borrowed(&rest[..plain]));
        }
        let mut text = rest[..plain].to_vec();
        let mut at = plain;
        while let Some(&byte) = rest.get(at) {
            at += 1;
            match byte {
                _ if byte == quote => {
                    self.at += at;
                    return Ok(Cow::Owned(text));
                }
                b'\\' => text.push(escaped(rest, &mut at)),
                _ => text.push(byte),
            }
        }
        Err(self.fault("a text is never closed"))
    }
}

/// The byte behind a backslash: a letter for a sign, or its number in octal or hexadecimal digits.
fn escaped(rest: &[u8], at: &mut usize) -> u8 {
    let Some(&sign) = rest.get(*at) else { return b'\\' };
    if matches!(sign, b'0'..=b'7') {
        return digits(rest, at, 8, 3);
    }
    *at += 1;
    match sign {
        b'x' | b'X' => digits(rest, at, 16, 2),
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'v' => 11,
        other => other,
    }
}

/// A byte by at most so many digits; a sign that is no digit ends it.
fn digits(rest: &[u8], at: &mut usize, radix: u32, most: usize) -> u8 {
    let mut value = 0;
    for _ in 0..most {
        let Some(digit) = rest.get(*at).and_then(|byte| char::from(*byte).to_digit(radix)) else { break };
        value = value * radix + digit;
        *at += 1;
    }
    value as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Block<'_> {
        let (block, fault) = parse(text).unwrap();
        assert_eq!(fault, None);
        block
    }

    #[test]
    fn fields_blocks_lists_and_texts_are_read() {
        let block = parsed(
            "name: \"a\\n\\x41\\101\" 'b' # rest\nlayer { top: \"x\"; size: [1, 2, 3] }\nlayer: <top: 'y' k: -0.5f>\n\
             flag: true, kind: MAX",
        );
        assert_eq!(block.text("name"), "a\nAAb");
        let layers: Vec<_> = block.blocks("layer").collect();
        assert_eq!((layers.len(), layers[0].ints("size"), &*layers[1].text("top")), (2, vec![1, 2, 3], "y"));
        assert_eq!(
            (layers[1].float("k"), block.bool("flag"), &*block.text("kind")),
            (Some(-0.5), Some(true), "MAX")
        );
    }

    #[test]
    fn damage_is_told_with_its_line_and_the_fields_before_are_kept() {
        for (text, line, word) in [
            ("a: 1\nb {\n c: 2\n", 4, "open blocks"),
            ("a: 1\n}\n", 2, "never opened"),
            ("a: 1\nb: \"x\n", 2, "never closed"),
            ("a: 1\nb\n", 3, "no value"),
            ("a: 1\n%", 2, "no name"),
            ("a: 1\nb: [1, 2", 2, "never closed"),
        ] {
            let (block, fault) = parse(text).unwrap();
            assert_eq!(block.int("a"), Some(1), "{text}");
            let Some(FormatError::Line { line: found, text: told }) = fault else {
                panic!("{text}: {fault:?}")
            };
            assert_eq!(found, line, "{text}: {told}");
            assert!(told.contains(word), "{text}: {told}");
        }
        assert!(parse("%").is_err());
    }

    #[test]
    fn a_million_nested_blocks_are_refused_at_once() {
        let deep = format!("a: 1 {}", "b {".repeat(1_000_000));
        let (block, fault) = parse(&deep).unwrap();
        assert_eq!(block.int("a"), Some(1));
        assert!(fault.unwrap().to_string().contains("100 deep"));
    }
}
