//! The texts of the database, each with its number.

use std::collections::HashMap;

use opscope_trace::NumberMap;

/// Texts by their number, in the order in which they were first asked for.
#[derive(Debug, Default)]
pub(super) struct Strings<'a> {
    ids: HashMap<&'a str, u32>,
    /// The numbers of texts by the place where they lie: nearly every question is about a text that
    /// was asked for before, and comparing places is cheaper than comparing texts.
    by_place: NumberMap<(u64, u64), u32>,
    texts: Vec<&'a str>,
}

impl<'a> Strings<'a> {
    /// The number of a text, which gets one if it has none yet.
    pub(super) fn add(&mut self, text: &'a str) -> u32 {
        let place = (text.as_ptr() as u64, text.len() as u64);
        if let Some(id) = self.by_place.get(&place) {
            return *id;
        }
        let next = self.texts.len() as u32;
        let id = *self.ids.entry(text).or_insert(next);
        if id == next {
            self.texts.push(text);
        }
        self.by_place.insert(place, id);
        id
    }

    /// The texts by their number.
    pub(super) fn texts(&self) -> &[&'a str] {
        &self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_a_number_wherever_they_lie() {
        let (one, other) = (String::from("Conv2D"), String::from("Conv2D"));
        let mut strings = Strings::default();
        let ids = [strings.add(&one), strings.add("Relu"), strings.add(&other), strings.add(&one)];
        assert_eq!(ids, [0, 1, 0, 0]);
        assert_eq!(strings.texts(), ["Conv2D", "Relu"]);
    }
}
