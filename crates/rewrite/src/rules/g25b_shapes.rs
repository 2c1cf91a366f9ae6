//! G25b: dimensions that are known needn't be asked for.

use crate::constant::{integers, list};
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::fold::axis;
use crate::info::{Exactness, Info, Use};
use crate::rewrite::Rewrite;

/// See the module.
pub struct KnownShapes;

static INFO: Info = Info {
    id: "G25b",
    name: "shape-folding",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Shape, Size, or Gather of Shape -> the numbers",
    condition: "The dimensions in question are the same whatever the model is fed with.",
};

impl Rewrite for KnownShapes {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Shape", "Size", "Gather"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let node = draft.node(at)?;
        let data = match node.op_type() {
            "Shape" => list(&asked(draft, node)?.into_iter().collect::<Option<Vec<_>>>()?),
            "Size" => {
                let dims = draft.dims(node.input(0))?;
                let size = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n))?;
                integers(opscope_trace::DataType::Int64, &[], &[i64::try_from(size).ok()?])?
            }
            _ => gathered(draft, node)?,
        };
        let mut edit = Edit::new("known");
        let constant = edit.constant(draft, node.output(0), data);
        edit.remove(node).because("the dimensions are known").forward(node.output(0), &constant);
        Some(edit)
    }
}

/// The dimensions that a Shape tells, as far as they are known. Since version 15, it may be a part of
/// them.
fn asked(draft: &Draft<'_>, shape: NodeView<'_>) -> Option<Vec<Option<i64>>> {
    let dims = &draft.shape(shape.input(0))?.dims;
    let dims: Vec<Option<i64>> = dims.iter().map(|dim| dim.and_then(|n| i64::try_from(n).ok())).collect();
    let rank = dims.len() as i64;
    let clamp = |n: i64| (if n < 0 { n.saturating_add(rank) } else { n }).clamp(0, rank) as usize;
    let start = clamp(shape.attributes().int("start").unwrap_or(0));
    let end = clamp(shape.attributes().int("end").unwrap_or(rank));
    Some(dims.get(start..end).unwrap_or_default().to_vec())
}

/// Some of the dimensions, even if others aren't known.
fn gathered(draft: &Draft<'_>, gather: NodeView<'_>) -> Option<opscope_model::TensorData> {
    let shape = gather.producer(0).filter(|node| node.is("Shape"))?;
    let indices = gather.constant(1)?;
    let dims = asked(draft, shape)?;
    let pick = |n: i64| *dims.get(axis(n, dims.len())?)?;
    let numbers: Option<Vec<i64>> = indices.to_i64s()?.into_iter().map(pick).collect();
    integers(opscope_trace::DataType::Int64, &indices.dims, &numbers?)
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn known_dimensions_become_constants() {
        let text = "input x f32[2,3]; s = Shape(x); f = Cast(s) to=1; y = Neg(f); output y";
        assert_eq!(applies("G25b", text).operators(), "Cast Neg");
        let part = "input x f32[n,3]; s = Shape(x) start=1; f = Cast(s) to=1; y = Neg(f); output y; z = Relu(x); output z";
        assert_eq!(applies("G25b", part).operators(), "Cast Neg Relu");
        let size =
            "input x f32[2,3]; s = Size(x); f = Cast(s) to=1; y = Neg(f); output y; z = Relu(x); output z";
        assert_eq!(applies("G25b", size).operators(), "Cast Neg Relu");
    }

    #[test]
    fn one_known_dimension_among_open_ones_is_enough_where_only_it_is_asked_for() {
        let text =
            "input x f32[n,3]; const i i64 -1; s = Shape(x); g = Gather(s, i); f = Cast(g) to=1; y = Neg(f)
             z = Relu(x); output y; output z";
        assert_eq!(applies("G25b", text).operators(), "Cast Neg Relu");
    }

    #[test]
    fn open_dimensions_stay_asked_for() {
        refuses("G25b", "input x f32[n,3]; s = Shape(x); f = Cast(s) to=1; y = Neg(f); output y");
        refuses("G25b", "input x f32[n,3]; s = Size(x); f = Cast(s) to=1; y = Neg(f); output y");
        refuses(
            "G25b",
            "input x f32[n,3]; const i i64 0; s = Shape(x); g = Gather(s, i); f = Cast(g) to=1; y = Neg(f); output y",
        );
        refuses(
            "G25b",
            "input x f32[2,3]; input i i64[]; u = far.Mystery(x); s = Shape(u); y = Gather(s, i); output y",
        );
    }

    #[test]
    fn an_output_of_the_model_stays_computed() {
        refuses("G25b", "input x f32[2,3]; s = Shape(x); output s i64[2]");
    }
}
