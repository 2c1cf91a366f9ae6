//! The text of two profiles, numbered together.

use std::borrow::Cow;
use std::collections::HashMap;

use opscope_trace::{StringId, StringTable};

use crate::kind::kind;

/// A piece of text of either profile; equal text has equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextId(u32);

impl TextId {
    /// Its place in tables by text.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A kind of operator behind the spellings of different engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KindId(u32);

impl KindId {
    /// Its place in tables by kind.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which of two profiles a piece of text is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Before,
    After,
}

/// The numbers of all text: that of A first, then what only B has, then pieces of names.
pub(super) struct Texts<'t> {
    before: &'t StringTable,
    after: &'t StringTable,
    /// The numbers of B's text.
    of_after: Vec<TextId>,
    /// Pieces of names that no table holds by themselves.
    pieces: HashMap<Cow<'t, str>, TextId>,
    kinds: Kinds,
}

/// The kinds of the types that were asked for.
#[derive(Default)]
struct Kinds {
    of_text: Vec<Option<KindId>>,
    /// Their names, in the order of their numbers.
    names: Vec<String>,
    /// A type of each, as it is spelled.
    spelled: Vec<String>,
    by_name: HashMap<String, KindId>,
}

impl<'t> Texts<'t> {
    pub fn new(before: &'t StringTable, after: &'t StringTable) -> Self {
        let mut next = before.len();
        let of_after = after
            .iter()
            .map(|(_, text)| {
                let known = before.lookup(text).map(StringId::index);
                TextId(known.unwrap_or_else(|| {
                    next += 1;
                    next - 1
                }) as u32)
            })
            .collect();
        let kinds = Kinds { of_text: vec![None; before.len() + after.len()], ..Kinds::default() };
        Self { before, after, of_after, pieces: HashMap::new(), kinds }
    }

    /// How many pieces of text there are.
    pub fn count(&self) -> usize {
        self.before.len() + self.after.len() + self.pieces.len()
    }

    /// The number of a profile's text.
    pub fn id(&self, which: Which, id: StringId) -> TextId {
        match which {
            Which::Before => TextId(id.index() as u32),
            Which::After => self.of_after[id.index()],
        }
    }

    /// The number of a piece of a name.
    pub fn piece(&mut self, piece: impl Into<Cow<'t, str>>) -> TextId {
        let piece = piece.into();
        if let Some(id) = self.before.lookup(&piece) {
            return self.id(Which::Before, id);
        }
        if let Some(id) = self.after.lookup(&piece) {
            return self.id(Which::After, id);
        }
        let next = TextId((self.before.len() + self.after.len() + self.pieces.len()) as u32);
        *self.pieces.entry(piece).or_insert(next)
    }

    /// The kind of a profile's type, of which `text` is the number and `op_type` the text.
    pub fn kind(&mut self, text: TextId, op_type: &str) -> KindId {
        let Kinds { of_text, names, spelled, by_name } = &mut self.kinds;
        *of_text[text.index()].get_or_insert_with(|| {
            let name = kind(op_type);
            if let Some(known) = by_name.get(&*name) {
                return *known;
            }
            let id = KindId(names.len() as u32);
            names.push(name.clone().into_owned());
            spelled.push(op_type.to_owned());
            by_name.insert(name.into_owned(), id);
            id
        })
    }

    /// The names of all kinds that were asked for, in the order of their numbers.
    pub fn kinds(&self) -> &[String] {
        &self.kinds.names
    }

    /// A type of each kind as it is spelled, in the same order.
    pub fn spelled(&self) -> &[String] {
        &self.kinds.spelled
    }
}

/// The type of a collective operation of HCCL, and its name without the number of its group: that is another in each
/// run of one program (`hcom_allReduce__576_0_1`, and behind an `@` in later releases).
pub(super) fn of_any_group(name: &str) -> Option<(&str, String)> {
    let (kind, rest) = name.strip_prefix("hcom_")?.split_once("__")?;
    let op_type = &name[..name.len() - rest.len() - 1];
    let (group, number) = rest.split('@').next()?.split_once('_')?;
    let is_numbered =
        !kind.is_empty() && !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    is_numbered.then(|| (op_type, format!("{op_type}_*_{number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_text_has_one_number_whichever_profile_it_is_from() {
        let (mut before, mut after) = (StringTable::default(), StringTable::default());
        let a = ["conv", "relu"].map(|text| before.intern(text));
        let b = ["other", "relu"].map(|text| after.intern(text));
        let mut texts = Texts::new(&before, &after);
        assert_eq!(texts.id(Which::Before, a[1]), texts.id(Which::After, b[1]));
        assert_ne!(texts.id(Which::Before, a[0]), texts.id(Which::After, b[0]));
        assert_eq!(texts.piece("other"), texts.id(Which::After, b[0]));
        let new = texts.piece("piece");
        assert_eq!(texts.piece("piece"), new);
        assert!(new.index() < texts.count());
        assert_ne!(texts.piece("another"), new);
    }

    #[test]
    fn only_the_number_of_a_group_is_left_out_of_a_collectives_name() {
        let of = |name| of_any_group(name).map(|(kind, name)| format!("{kind} {name}"));
        let known = Some("hcom_allReduce_ hcom_allReduce__*_0_1".to_owned());
        assert_eq!(of("hcom_allReduce__576_0_1"), known);
        assert_eq!(of("hcom_allReduce__612_0_1@5862276093215481612"), known);
        assert_eq!((of("hcom_allReduce_"), of("conv__5_1"), of("hcom_send__x_1")), (None, None, None));
    }

    #[test]
    fn types_of_one_kind_share_its_number() {
        let (mut before, after) = (StringTable::default(), StringTable::default());
        let types = ["Conv2D", "FusedConv", "Gemm"];
        let ids = types.map(|text| before.intern(text));
        let mut texts = Texts::new(&before, &after);
        let [conv, fused, gemm] = [0, 1, 2].map(|place| {
            let text = texts.id(Which::Before, ids[place]);
            texts.kind(text, types[place])
        });
        assert!(conv == fused && conv != gemm);
        assert_eq!(texts.kinds(), ["conv", "matmul"]);
    }
}
