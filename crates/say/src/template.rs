//! A format string: its fixed text and its placeholders.

/// A format string, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The fixed texts; one more than there are placeholders, which lie between them.
    pub texts: Vec<String>,
    /// The names of the placeholders, without what stands behind a colon; those without a name have a number, from
    /// 0 on.
    pub names: Vec<String>,
}

impl Template {
    /// Takes a format string apart.
    pub fn of(format: &str) -> Self {
        let (mut texts, mut names) = (vec![String::new()], Vec::new());
        let mut anonymous = 0;
        let mut letters = format.chars().peekable();
        while let Some(letter) = letters.next() {
            let is_doubled = matches!(letter, '{' | '}') && letters.next_if_eq(&letter).is_some();
            if letter != '{' || is_doubled {
                // There always is a last one.
                if let Some(text) = texts.last_mut() {
                    text.push(letter);
                }
                continue;
            }
            let inside: String = letters.by_ref().take_while(|letter| *letter != '}').collect();
            let name = inside.split(':').next().unwrap_or_default().trim();
            if name.is_empty() {
                names.push(anonymous.to_string());
                anonymous += 1;
            } else {
                names.push(name.to_owned());
            }
            texts.push(String::new());
        }
        Self { texts, names }
    }

    /// The values of a sentence that was made by this format string: between its fixed texts, each as short as
    /// can be.
    pub fn values<'s>(&self, sentence: &'s str) -> Option<Vec<&'s str>> {
        let (first, rest) = self.texts.split_first()?;
        let mut left = sentence.strip_prefix(first.as_str())?;
        let Some((last, middle)) = rest.split_last() else { return left.is_empty().then(Vec::new) };
        left = left.strip_suffix(last.as_str())?;
        let mut values = Vec::with_capacity(rest.len());
        for text in middle {
            let at = left.find(text.as_str())?;
            values.push(&left[..at]);
            left = &left[at + text.len()..];
        }
        values.push(left);
        Some(values)
    }

    /// How many letters its fixed text has: the more, the less likely another sentence fits it by chance.
    pub fn letters(&self) -> usize {
        self.texts.iter().flat_map(|text| text.chars()).filter(|letter| letter.is_alphabetic()).count()
    }

    /// The names of its placeholders in order, each once.
    pub fn sorted_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_string_comes_apart_at_its_placeholders() {
        let template = Template::of("{time} in {:.1} of {}: {{x}} {name:>9}");
        assert_eq!(template.names, ["time", "0", "1", "name"]);
        assert_eq!(template.texts, ["", " in ", " of ", ": {x} ", ""]);
        assert_eq!(Template::of("plain").texts, ["plain"]);
    }

    #[test]
    fn a_sentence_gives_back_its_values() {
        let template = Template::of("'{path}' is {} bytes long");
        assert_eq!(template.values("'a is b' is 5 bytes long"), Some(vec!["a is b", "5"]));
        assert_eq!(template.values("'a' is 5 bytes"), None);
        assert_eq!(template.values("'a' was 5 bytes long"), None);
        assert_eq!(Template::of("plain").values("plain"), Some(Vec::new()));
        assert_eq!(Template::of("plain").values("plainer"), None);
    }

    #[test]
    fn overlapping_ends_are_no_match() {
        assert_eq!(Template::of("aba{}ba").values("aba"), None);
    }
}
