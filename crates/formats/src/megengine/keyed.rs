//! Rows in the order of the file, each under the id that the file gives it.

use std::borrow::Cow;
use std::collections::HashMap;

use opscope_trace::{StringId, StringTable};

/// Names an operator, a var or a memory chunk of the graph.
///
/// MegEngine counts operators and vars with one counter and writes the numbers as text. A text
/// that is no such number is kept as it is, in the profile's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GraphId(u64);

/// Set where the other bits name a symbol instead of being the number itself.
const SYMBOL: u64 = 1 << 63;

impl GraphId {
    /// The id of a number of the graph's counter.
    pub fn from_number(number: u32) -> Self {
        Self(number.into())
    }

    /// The id that a text stands for.
    pub(super) fn from_text(text: &[u8], symbol: impl FnOnce(&[u8]) -> StringId) -> Self {
        Self(canonical_number(text).unwrap_or_else(|| SYMBOL | symbol(text).index() as u64))
    }

    /// The id of the chunk that a text stands for: `chk` and the id of its owner.
    pub(super) fn from_chunk_text(text: &[u8], symbol: impl FnOnce(&[u8]) -> StringId) -> Self {
        let number = text.strip_prefix(b"chk").and_then(canonical_number);
        Self(number.unwrap_or_else(|| SYMBOL | symbol(text).index() as u64))
    }

    /// The number of the graph's counter, if the id is one.
    pub fn number(self) -> Option<u64> {
        (self.0 & SYMBOL == 0).then_some(self.0)
    }

    /// The id of an operator or a var as the file writes it.
    pub fn text(self, symbols: &StringTable) -> Cow<'_, str> {
        match self.number() {
            Some(number) => number.to_string().into(),
            None => symbols.get(StringId::from_index((self.0 & !SYMBOL) as usize)).into(),
        }
    }

    /// The id of a chunk as the file writes it.
    pub fn chunk_text(self, symbols: &StringTable) -> Cow<'_, str> {
        match self.number() {
            Some(number) => format!("chk{number}").into(),
            None => self.text(symbols),
        }
    }
}

/// The number that a text is in its only spelling.
fn canonical_number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    text.iter().try_fold(0, |number, digit| match digit {
        b'0'..=b'9' => Some(number * 10 + u64::from(digit - b'0')),
        _ => None,
    })
}

/// Rows under their ids, in the order in which each id came first.
#[derive(Clone, Debug)]
pub struct Keyed<Row> {
    ids: Vec<GraphId>,
    rows: Vec<Row>,
    index: IdIndex,
}

impl<Row> Default for Keyed<Row> {
    fn default() -> Self {
        Self { ids: Vec::new(), rows: Vec::new(), index: IdIndex::default() }
    }
}

impl<Row> Keyed<Row> {
    /// Adds a row; an id that came before keeps its place and gets the new row, as in Python's
    /// dictionaries.
    pub fn insert(&mut self, id: GraphId, row: Row) {
        match self.index.get(id) {
            Some(at) => self.rows[at] = row,
            None => {
                self.index.insert(id, self.ids.len());
                self.ids.push(id);
                self.rows.push(row);
            }
        }
    }

    /// The row of an id.
    pub fn get(&self, id: GraphId) -> Option<&Row> {
        self.index.get(id).map(|at| &self.rows[at])
    }

    /// The id and row at a position.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn at(&self, position: usize) -> (GraphId, &Row) {
        (self.ids[position], &self.rows[position])
    }

    /// The position of an id.
    pub fn position(&self, id: GraphId) -> Option<usize> {
        self.index.get(id)
    }

    /// All rows with their ids, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (GraphId, &Row)> {
        self.ids.iter().copied().zip(&self.rows)
    }

    /// All rows, to be changed.
    pub(super) fn rows_mut(&mut self) -> &mut [Row] {
        &mut self.rows
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Finds the position of an id.
///
/// Numbers of one counter lie close together, so that an array serves nearly all of them.
#[derive(Clone, Debug, Default)]
struct IdIndex {
    /// One more than the position for each number; 0 where there is none.
    dense: Vec<u32>,
    sparse: HashMap<GraphId, usize>,
}

/// Larger numbers than this go to the map, so that no file can ask for a huge array.
const DENSE_IDS: usize = 1 << 22;

impl IdIndex {
    fn get(&self, id: GraphId) -> Option<usize> {
        match self.dense_slot(id) {
            Some(slot) => self.dense.get(slot)?.checked_sub(1).map(|at| at as usize),
            None => self.sparse.get(&id).copied(),
        }
    }

    fn insert(&mut self, id: GraphId, position: usize) {
        match self.dense_slot(id) {
            Some(slot) => {
                if self.dense.len() <= slot {
                    self.dense.resize((slot + 1).next_power_of_two(), 0);
                }
                // Fewer than 2^22 ids have a slot, so that their positions fit.
                self.dense[slot] = position as u32 + 1;
            }
            None => {
                self.sparse.insert(id, position);
            }
        }
    }

    fn dense_slot(&self, id: GraphId) -> Option<usize> {
        usize::try_from(id.0).ok().filter(|slot| *slot < DENSE_IDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str, symbols: &mut StringTable) -> GraphId {
        GraphId::from_text(text.as_bytes(), |text| symbols.intern(&String::from_utf8_lossy(text)))
    }

    #[test]
    fn an_id_comes_back_as_the_text_it_was() {
        let mut symbols = StringTable::default();
        for text in ["0", "427", "999999999999999999", "007", "", "-1", "9223372036854775808", "chk5", "1 "] {
            assert_eq!(id(text, &mut symbols).text(&symbols), text);
        }
        assert_eq!(id("427", &mut symbols), GraphId::from_number(427));
        assert_ne!(id("0427", &mut symbols), GraphId::from_number(427));
    }

    #[test]
    fn a_repeated_id_keeps_its_place_and_takes_the_new_row() {
        let mut symbols = StringTable::default();
        let mut rows = Keyed::default();
        for (n, text) in ["7", "odd", "4194304", "7", "odd", "4194304", "4194303"].iter().enumerate() {
            rows.insert(id(text, &mut symbols), n);
        }
        assert_eq!(rows.iter().map(|(_, row)| *row).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert_eq!(rows.get(id("odd", &mut symbols)), Some(&4));
        assert_eq!(rows.get(GraphId::from_number(8)), None);
    }
}
