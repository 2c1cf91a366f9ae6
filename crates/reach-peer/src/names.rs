//! Names that come again and again, each kept once.

use opscope_trace::ByteMap;

/// Names by their numbers, in the order in which they were met.
#[derive(Clone, Debug, Default)]
pub struct Names {
    numbers: ByteMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Names {
    /// The number of a name, which is entered if it is new.
    pub fn number(&mut self, text: &str) -> u32 {
        match self.numbers.get(text) {
            Some(number) => *number,
            None => {
                let number = self.texts.len() as u32;
                self.numbers.insert(text.into(), number);
                self.texts.push(text.into());
                number
            }
        }
    }

    /// The numbers of others' names, such as those of one rank, by their numbers there.
    pub fn numbers<'n>(&mut self, others: impl Iterator<Item = &'n str>) -> Vec<u32> {
        others.map(|text| self.number(text)).collect()
    }

    /// The name of a number that was given.
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// All names, in the order of their numbers.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(AsRef::as_ref)
    }
}
