//! The beginning of a JSON file, and the keys there by which formats are known.

/// The members of objects near the root, as far as they lie in the beginning of a file.
///
/// It is read without judging: the text may be cut off anywhere, and need not be right.
#[derive(Debug, Default)]
pub(crate) struct JsonHead {
    /// Whether the root is a list; else it is an object.
    pub is_list: bool,
    pub members: Vec<Member>,
}

/// A member of an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// How many lists and objects it lies in: 1 for a member of the root, 2 for one of an object in
    /// a list that is the root.
    pub depth: usize,
    pub key: String,
    /// Its value, if that is text.
    pub text: Option<String>,
}

/// How deep the members lie that are kept.
const DEEPEST: usize = 2;

impl JsonHead {
    /// Reads the beginning of a file; `None` if that isn't JSON's.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.trim_ascii_start();
        let mut head = match bytes.first()? {
            b'[' if begins_item(&bytes[1..]) => Self { is_list: true, ..Self::default() },
            b'{' if matches!(bytes[1..].trim_ascii_start().first(), None | Some(b'"' | b'}')) => {
                Self::default()
            }
            _ => return None,
        };
        let mut cursor = Cursor { rest: bytes };
        let mut depth = 0_usize;
        while let Some(byte) = cursor.next() {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                b'"' => {
                    let text = cursor.string();
                    if cursor.skip(b':') && depth <= DEEPEST {
                        let value = cursor.skip(b'"').then(|| cursor.string());
                        head.members.push(Member { depth, key: text, text: value });
                    }
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        Some(head)
    }

    /// Whether the root, an object, has a member of this name.
    pub fn has_key(&self, key: &str) -> bool {
        !self.is_list && self.members.iter().any(|member| member.depth == 1 && member.key == key)
    }

    /// The names of the members that the members of the root, an object, have.
    pub fn keys_in_members(&self) -> impl Iterator<Item = &str> {
        let in_members = self.members.iter().filter(|member| !self.is_list && member.depth == 2);
        in_members.map(|member| &*member.key)
    }

    /// The names of the members of the objects in the list that is the root, or of the object that it is.
    pub fn keys_of_items(&self) -> impl Iterator<Item = &str> {
        let depth = if self.is_list { 2 } else { 1 };
        self.members.iter().filter(move |member| member.depth == depth).map(|member| &*member.key)
    }

    /// The texts of a member of the objects in the list that is the root.
    pub fn texts_in_items<'h>(&'h self, key: &'h str) -> impl Iterator<Item = &'h str> {
        let in_items =
            self.members.iter().filter(move |member| self.is_list && member.depth == 2 && member.key == key);
        in_items.filter_map(|member| member.text.as_deref())
    }
}

/// Whether what stands behind a bracket may be the items of a list, and no words: logs have lines such as `[Step 1/11]`,
/// `[rank0]: loss` and `[12:30:07] begin`.
fn begins_item(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    let end = bytes.iter().position(|byte| matches!(byte, b',' | b']') || byte.is_ascii_whitespace());
    match bytes.first() {
        None | Some(b'"' | b'[' | b'{' | b']') => true,
        Some(_) => {
            let (word, behind) = bytes.split_at(end.unwrap_or(bytes.len()));
            let is_value = matches!(word, b"true" | b"false" | b"null")
                || std::str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok_and(f64::is_finite));
            let behind = behind.trim_ascii_start();
            is_value
                && match behind.first() {
                    None | Some(b',') => true,
                    Some(b']') => behind[1..].trim_ascii().is_empty(),
                    Some(_) => false,
                }
        }
    }
}

struct Cursor<'b> {
    rest: &'b [u8],
}

impl Cursor<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Skips blanks and then a byte, if it is there.
    fn skip(&mut self, byte: u8) -> bool {
        self.rest = self.rest.trim_ascii_start();
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// The text up to the closing quotation mark, with its escapes as they are.
    fn string(&mut self) -> String {
        let mut end = 0;
        while let Some(byte) = self.rest.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let (text, rest) = self.rest.split_at(end.min(self.rest.len()));
        self.rest = rest.get(1..).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_near_the_root_are_found_with_their_text() {
        let head = JsonHead::read(br#" {"a": {"b": "x", "c": {"d": 1}}, "e\"": ["f"], "g": "y:"#).unwrap();
        let found: Vec<_> =
            head.members.iter().map(|member| (member.depth, &*member.key, member.text.as_deref())).collect();
        let expected =
            [(1, "a", None), (2, "b", Some("x")), (2, "c", None), (1, "e\\\"", None), (1, "g", Some("y:"))];
        assert_eq!(found, expected);
        assert!(head.has_key("a") && !head.has_key("b"));
        let list =
            JsonHead::read(br#"[{"cat": "A", "args": {"cat": "B"}}, {"cat": "C"}] {"cat": "D"}"#).unwrap();
        assert_eq!(list.texts_in_items("cat").collect::<Vec<_>>(), ["A", "C"]);
        assert!(JsonHead::read(b"cat").is_none());
    }

    #[test]
    fn lines_of_a_log_are_no_json() {
        let logs = [
            "[Step 1/11] begin",
            "[rank0]: loss 3",
            "[12:30:07] a",
            "[1/11] b",
            "[0]: c",
            "{a} b",
            "[INFO] d",
        ];
        assert!(logs.iter().all(|log| JsonHead::read(log.as_bytes()).is_none()));
        let lists = ["[]", "[1, 2]", "[ 1.5e3\n]\n", "[null,", "[\n{", "[[1]]", "[\"a\"]", "[-", "[", "[tru"];
        let wrong: Vec<_> = lists.iter().filter(|list| JsonHead::read(list.as_bytes()).is_none()).collect();
        assert_eq!(wrong, [&"[-", &"[tru"], "cut within their first word");
        assert!(["{", "{ }", "{\n\"a\""].iter().all(|object| JsonHead::read(object.as_bytes()).is_some()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(
            prop_oneof![Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'['), Just(b'}'), Just(b':'), any::<u8>()],
            0..60,
        )) {
            for end in 0..bytes.len() {
                JsonHead::read(&bytes[..end]);
            }
        }
    }
}
