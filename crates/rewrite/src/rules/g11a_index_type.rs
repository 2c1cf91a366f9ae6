//! G11a: indices of 64 bits become indices of 32.

use opscope_trace::DataType;

use crate::constant::integers;
use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::rewrite::Rewrite;

/// See the module.
pub struct IndexType;

static INFO: Info = Info {
    id: "G11a",
    name: "index-type",
    exactness: Exactness::Exact,
    use_: Use::Named,
    summary: "Gather and GatherElements with constant int64 indices, or ones cast from int32 -> with int32",
    condition: "Every index fits into 32 bits. It pays where 64-bit integers are computed elsewhere, as on \
                Ascend chips, where such operators leave the AI Core.",
};

impl Rewrite for IndexType {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Gather", "GatherElements"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let gather = draft.node(at)?;
        let mut edit = Edit::new("int32");
        edit.remove(gather).because("indices of 64 bits");
        let cast = gather.producer(1).filter(|node| node.is("Cast"));
        let indices = if let Some(cast) = cast {
            let widened = super::g12_cast::target(cast)? == DataType::Int64;
            let narrow = draft.data_type(cast.input(0)) == Some(DataType::Int32);
            (widened && narrow).then(|| cast.input(0).to_owned())?
        } else {
            let data = gather.constant(1).filter(|data| data.data_type == DataType::Int64)?;
            let narrow = integers(DataType::Int32, &data.dims, &data.to_i64s()?)?;
            edit.constant(draft, gather.input(1), narrow)
        };
        let mut replaced = gather.proto.clone();
        replaced.input[1] = indices;
        edit.add(replaced);
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn constant_indices_and_widened_ones_become_narrow() {
        let text = "input x f32[4,3]; const i i64[2] 1 -1; y = Gather(x, i) axis=1; output y";
        assert_eq!(applies("G11a", text).operators(), "Gather");
        let cast = "input x f32[4,3]; const n i32[2] 1 2; input z i32[2]; zero = Sub(z, z); j = Add(zero, n)
             i = Cast(j) to=7; y = Gather(x, i); output y";
        assert_eq!(applies("G11a", cast).operators(), "Sub Add Gather");
    }

    #[test]
    fn indices_that_are_given_narrow_already_or_too_large_stay() {
        refuses("G11a", "input x f32[4,3]; input i i64[2]; y = Gather(x, i); output y");
        refuses("G11a", "input x f32[4,3]; const i i32[2] 1 2; y = Gather(x, i); output y");
        refuses("G11a", "input x f32[4,3]; const i i64[1] 9000000000; y = Gather(x, i); output y");
        refuses("G11a", "input x f32[4,3]; input f f32[2]; i = Cast(f) to=7; y = Gather(x, i); output y");
    }
}
