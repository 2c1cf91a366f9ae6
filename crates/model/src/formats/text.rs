//! The text form of protocol buffers: prototxt of Caffe, `pbtxt` of TensorFlow, the graphs that GE dumps.
//!
//! Fields are `name: value`, `name { … }` or `name: { … }` (with `<` and `>` as well), separated by blanks, commas
//! or semicolons; `[a, b]` is a list of values of one field; `#` begins a comment. The form is that of the public
//! specification. Nothing recurses while it is read, and blocks within blocks have a limit.

use std::borrow::Cow;

use super::FormatError;

/// Blocks within blocks; real files have ten.
const MOST_DEPTH: usize = 100;

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

/// Takes the fields of a text as they come.
pub(crate) trait Sink<'t> {
    /// Fields that a text may have.
    const MOST_FIELDS: usize;

    /// Whether a field's text of so many bytes is wanted; others are passed over.
    fn wants(&self, _name: &str, _bytes: usize) -> bool {
        true
    }

    /// A message begins.
    fn open(&mut self, name: &'t str);

    /// The message that began last ends.
    fn close(&mut self);

    /// A value without quotes.
    fn word(&mut self, name: &'t str, word: &'t str);

    /// A value in quotes, without those.
    fn text(&mut self, name: &'t str, text: Cow<'t, [u8]>);
}

/// The content of a text, and what is wrong with it, where its beginning could be read.
///
/// # Errors
/// When not even a first field can be read.
pub(crate) fn parse(text: &str) -> Result<(Block<'_>, Option<FormatError>), FormatError> {
    let mut blocks = Blocks(vec![("", Block::default())]);
    let stopped = walk(text, &mut blocks).err();
    // Blocks that were never closed hold what was read of them.
    while blocks.0.len() > 1 {
        blocks.close();
    }
    let whole = blocks.0.pop().map(|(_, whole)| whole).unwrap_or_default();
    match (stopped, whole.fields.is_empty()) {
        (Some(fault), true) => Err(fault),
        (stopped, _) => Ok((whole, stopped)),
    }
}

/// The blocks that are open, each with its name; the first is the file.
struct Blocks<'t>(Vec<(&'t str, Block<'t>)>);

impl<'t> Blocks<'t> {
    fn push(&mut self, name: &'t str, value: Value<'t>) {
        if let Some((_, block)) = self.0.last_mut() {
            block.fields.push(Field { name, value });
        }
    }
}

impl<'t> Sink<'t> for Blocks<'t> {
    /// Each takes some dozens of bytes in memory.
    const MOST_FIELDS: usize = 1 << 24;

    fn open(&mut self, name: &'t str) {
        self.0.push((name, Block::default()));
    }

    fn close(&mut self) {
        if let Some((name, block)) = self.0.pop() {
            self.push(name, Value::Block(block));
        }
    }

    fn word(&mut self, name: &'t str, word: &'t str) {
        self.push(name, Value::Word(word));
    }

    fn text(&mut self, name: &'t str, text: Cow<'t, [u8]>) {
        self.push(name, Value::Text(text));
    }
}

/// Reads a text once and hands over its fields. Blocks that are open when it stops were not closed.
///
/// # Errors
/// For the first thing that can't be read.
pub(crate) fn walk<'t, S: Sink<'t>>(text: &'t str, sink: &mut S) -> Result<(), FormatError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Parser { text, at: 0, depth: 0, fields: 0, sink }.run()
}

struct Parser<'t, 's, S> {
    text: &'t str,
    at: usize,
    /// The blocks that are open.
    depth: usize,
    fields: usize,
    sink: &'s mut S,
}

impl<'t, S: Sink<'t>> Parser<'t, '_, S> {
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
                _ if has_colon => self.scalar(name)?,
                _ => {
                    return Err(
                        self.fault(format!("the field {} has no value", super::assembly::shortened(name)))
                    );
                }
            }
        }
        match self.depth {
            0 => Ok(()),
            open => Err(self.fault(format!("the file ends within {open} open blocks"))),
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
        if self.depth >= MOST_DEPTH {
            return Err(self.fault(format!("blocks are nested more than {MOST_DEPTH} deep")));
        }
        self.count()?;
        self.depth += 1;
        self.sink.open(name);
        Ok(())
    }

    fn close(&mut self) -> Result<(), FormatError> {
        if self.depth == 0 {
            return Err(self.fault("a block is closed that was never opened"));
        }
        self.at += 1;
        self.depth -= 1;
        self.sink.close();
        Ok(())
    }

    fn count(&mut self) -> Result<(), FormatError> {
        self.fields += 1;
        match self.fields > S::MOST_FIELDS {
            true => Err(self.fault(format!("the file has more than {} fields", S::MOST_FIELDS))),
            false => Ok(()),
        }
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
                Some(_) => self.scalar(name)?,
            }
        }
    }

    fn scalar(&mut self, name: &'t str) -> Result<(), FormatError> {
        self.count()?;
        if !matches!(self.peek(), Some(b'"' | b'\'')) {
            let word = self.word().ok_or_else(|| self.fault("there is no value here"))?;
            self.sink.word(name, word);
            return Ok(());
        }
        let mut text = Some(Cow::Borrowed(&[][..]));
        // Texts that follow one another are one.
        while matches!(self.peek(), Some(b'"' | b'\'')) {
            let quoted = self.quoted()?;
            text = text.filter(|_| self.sink.wants(name, quoted.len()));
            match &mut text {
                Some(text) if text.is_empty() => *text = unescaped(quoted),
                Some(text) => text.to_mut().extend_from_slice(&unescaped(quoted)),
                None => {}
            }
            self.skip_blanks();
        }
        if let Some(text) = text {
            self.sink.text(name, text);
        }
        Ok(())
    }

    /// The text between quotes, as it stands there.
    fn quoted(&mut self) -> Result<&'t [u8], FormatError> {
        let quote = self.peek().unwrap_or(b'"');
        let rest = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
        let mut at = 0;
        while let Some(next) = rest[at..].iter().position(|byte| *byte == quote || *byte == b'\\') {
            at += next;
            if rest[at] == quote {
                self.at += at + 2;
                return Ok(&rest[..at]);
            }
            // With the sign behind a backslash.
            at = (at + 2).min(rest.len());
        }
        Err(self.fault("a text is never closed"))
    }
}

/// The bytes of a text in which signs stand behind backslashes, as in C.
pub(crate) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(plain) = text.iter().position(|byte| *byte == b'\\') else { return Cow::Borrowed(text) };
    let mut bytes = text[..plain].to_vec();
    let mut at = plain;
    while let Some(&byte) = text.get(at) {
        at += 1;
        bytes.push(if byte == b'\\' { escaped(text, &mut at) } else { byte });
    }
    Cow::Owned(bytes)
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

    /// Takes the numbers of a text and wants no texts.
    struct Numbers<'t>(Vec<&'t str>);

    impl<'t> Sink<'t> for Numbers<'t> {
        const MOST_FIELDS: usize = 4;

        fn wants(&self, name: &str, _: usize) -> bool {
            assert_eq!(name, "data");
            false
        }

        fn open(&mut self, _: &'t str) {}

        fn close(&mut self) {}

        fn word(&mut self, _: &'t str, word: &'t str) {
            self.0.push(word);
        }

        fn text(&mut self, _: &'t str, _: Cow<'t, [u8]>) {
            panic!("nobody wants it");
        }
    }

    #[test]
    fn texts_that_nobody_wants_are_passed_over_and_fields_are_counted() {
        let mut numbers = Numbers(Vec::new());
        walk("a: 1 t { data: \"\\\"}\\\\\" '\\'' n: 2 }", &mut numbers).unwrap();
        assert_eq!(numbers.0, ["1", "2"]);
        for (text, fault) in [
            ("data: \"\\", "never closed"),
            ("data: \"\\\"", "never closed"),
            ("n: [1, 2, 3, 4, 5]", "4 fields"),
        ] {
            let error = walk(text, &mut Numbers(Vec::new())).unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }

    #[test]
    fn a_million_nested_blocks_are_refused_at_once() {
        let deep = format!("a: 1 {}", "b {".repeat(1_000_000));
        let (block, fault) = parse(&deep).unwrap();
        assert_eq!(block.int("a"), Some(1));
        assert!(fault.unwrap().to_string().contains("100 deep"));
    }
}
