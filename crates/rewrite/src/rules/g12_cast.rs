//! G12: casts that change nothing go, and two in a row become one.

use opscope_model::proto::data_type_from_onnx;
use opscope_trace::DataType;

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Casts;

static INFO: Info = Info {
    id: "G12",
    name: "cast-merge",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Cast to the type that a value has -> the value; Cast + Cast -> Cast",
    condition: "Two casts become one only if the type between holds every value of the first type.",
};

impl Rewrite for Casts {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Cast"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let outer = draft.node(at)?;
        let (to, from) = (target(outer)?, draft.data_type(outer.input(0)));
        let mut edit = Edit::new("cast");
        edit.remove(outer);
        if from == Some(to) {
            edit.forward(outer.output(0), outer.input(0));
            return Some(edit);
        }
        let inner = outer.producer(0).filter(|node| node.is("Cast"))?;
        let (source, between) = (draft.data_type(inner.input(0))?, target(inner)?);
        if !holds(between, source) {
            return None;
        }
        if source == to {
            edit.forward(outer.output(0), inner.input(0));
        } else {
            let merged = node("Cast", &[inner.input(0)], &[outer.output(0)]);
            edit.add(merged.like(outer.proto).named(outer.name()));
        }
        Some(edit)
    }
}

/// The type that a Cast makes.
pub fn target(cast: NodeView<'_>) -> Option<DataType> {
    let known = data_type_from_onnx(i32::try_from(cast.attributes().int("to")?).ok()?);
    (known != DataType::Unknown).then_some(known)
}

/// Whether every value of one type is a value of another.
fn holds(wide: DataType, narrow: DataType) -> bool {
    if wide == narrow {
        return true;
    }
    match (kind(wide), kind(narrow)) {
        (Some(Kind::Float { digits, exponent }), Some(Kind::Float { digits: fewer, exponent: less })) => {
            digits >= fewer && exponent >= less
        }
        // Integers of so many bits are numbers of so many digits, and their size fits every exponent but
        // that of half precision, whose digits are too few already.
        (Some(Kind::Float { digits, .. }), Some(Kind::Integer { bits, .. })) => digits >= bits,
        (Some(Kind::Integer { bits, signed }), Some(Kind::Integer { bits: fewer, signed: negative })) => {
            bits >= fewer && (signed || !negative)
        }
        _ => false,
    }
}

/// The range of a type; the bits of an integer without its sign.
enum Kind {
    Integer { bits: u32, signed: bool },
    Float { digits: u32, exponent: u32 },
}

fn kind(data_type: DataType) -> Option<Kind> {
    let integer = |bits, signed| Some(Kind::Integer { bits, signed });
    match data_type {
        DataType::Bool => integer(1, false),
        DataType::Uint8 => integer(8, false),
        DataType::Uint16 => integer(16, false),
        DataType::Uint32 => integer(32, false),
        DataType::Uint64 => integer(64, false),
        DataType::Int8 => integer(7, true),
        DataType::Int16 => integer(15, true),
        DataType::Int32 => integer(31, true),
        DataType::Int64 => integer(63, true),
        DataType::Float16 => Some(Kind::Float { digits: 11, exponent: 5 }),
        DataType::BFloat16 => Some(Kind::Float { digits: 8, exponent: 8 }),
        DataType::Float32 => Some(Kind::Float { digits: 24, exponent: 8 }),
        DataType::Float64 => Some(Kind::Float { digits: 53, exponent: 11 }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{applies, refuses};

    #[test]
    fn a_cast_to_the_same_type_goes() {
        let text = "input x f32[2]; c = Cast(x) to=1; y = Neg(c); output y";
        assert_eq!(applies("G12", text).operators(), "Neg");
    }

    #[test]
    fn there_and_back_through_a_wider_type_goes() {
        let text = "input x f32[4]; c = Cast(x) to=11; d = Cast(c) to=1; y = Neg(d); output y";
        assert_eq!(applies("G12", text).operators(), "Neg");
    }

    #[test]
    fn two_casts_become_one_through_a_wider_type() {
        let text = "input x i32[4]; c = Cast(x) to=7; y = Cast(c) to=1; output y";
        assert_eq!(applies("G12", text).operators(), "Cast");
    }

    #[test]
    fn a_narrower_type_between_does_something() {
        refuses("G12", "input x f32[4]; c = Cast(x) to=7; y = Cast(c) to=1; output y");
        refuses("G12", "input x i64[4]; c = Cast(x) to=1; y = Cast(c) to=7; output y");
        refuses("G12", "input x f32[4]; c = Cast(x) to=9; y = Cast(c) to=1; output y");
    }

    #[test]
    fn a_value_of_unknown_type_stays_cast() {
        refuses("G12", "input x f32[2]; u = far.Mystery(x); y = Cast(u) to=1; output y f32[2]");
    }

    #[test]
    fn types_hold_what_they_can() {
        use DataType::*;
        for (wide, narrow) in
            [(Float32, Float16), (Float32, Int16), (Float64, Int32), (Int16, Uint8), (Float16, Bool)]
        {
            assert!(holds(wide, narrow) && !holds(narrow, wide), "{wide} {narrow}");
        }
        for (a, b) in
            [(Float16, BFloat16), (Float32, Int32), (Uint8, Int8), (Int64, Uint64), (Float64, Int64)]
        {
            assert!(!holds(a, b) && !holds(b, a), "{a} {b}");
        }
    }
}
