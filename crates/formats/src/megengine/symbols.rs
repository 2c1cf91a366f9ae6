//! Interning the words that come over and over.

use opscope_trace::{StringId, StringTable};

use super::json::unescape;

/// The symbols that were asked for lately, by their text as it stands in the file: comp nodes and
/// types come over and over, and comparing is quicker than unescaping and hashing.
pub struct RecentSymbols {
    slots: Vec<(Vec<u8>, Option<StringId>)>,
}

impl Default for RecentSymbols {
    fn default() -> Self {
        Self { slots: vec![(Vec::new(), None); 256] }
    }
}

impl RecentSymbols {
    /// The id of a text as it stands in the file, escapes and all.
    pub fn find(&mut self, symbols: &mut StringTable, raw: &[u8]) -> StringId {
        let ends = [raw.first_chunk::<8>(), raw.last_chunk::<8>()];
        let [first, last] = ends.map(|end| end.map_or(0, |bytes| u64::from_le_bytes(*bytes)));
        let mixed = (first ^ last.rotate_left(23) ^ raw.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.slots[(mixed >> 56) as usize];
        if let (known, Some(id)) = slot
            && known == raw
        {
            return *id;
        }
        let id = symbols.intern(&unescape(raw));
        slot.0.clear();
        slot.0.extend_from_slice(raw);
        slot.1 = Some(id);
        id
    }
}
