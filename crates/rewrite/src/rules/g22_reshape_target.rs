//! G22: dimensions that a Reshape is given by computation, but that follow from its input's, become
//! constants.

use opscope_trace::DataType;

use crate::constant::list;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::fold::axis;
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct ReshapeTarget;

static INFO: Info = Info {
    id: "G22",
    name: "reshape-target",
    exactness: Exactness::Bounded,
    use_: Use::Always,
    summary: "Reshape to computed dimensions -> Reshape to constants, with 0 and one -1",
    condition: "Every dimension is constant, or that of the input at the same place, except one at most. \
                The same for all inputs with elements; for one without any, -1 can't be worked out.",
};

impl Rewrite for ReshapeTarget {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn computes(&self) -> bool {
        false
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Reshape"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let reshape = draft.node(at).filter(|_| draft.opset() >= 5)?;
        if draft.is_constant(reshape.input(1)) || reshape.attributes().int("allowzero").unwrap_or(0) != 0 {
            return None;
        }
        let target = from_shape(draft, reshape).or_else(|| from_parts(draft, reshape))?;
        let mut edit = Edit::new("target");
        if let Some(maker) = reshape.producer(1) {
            edit.because(format!("its target comes from {}", maker.name()));
        }
        let target = edit.constant(draft, reshape.output(0), list(&target));
        edit.remove(reshape);
        let made = node("Reshape", &[reshape.input(0), &target], &[reshape.output(0)]);
        edit.add(made.like(reshape.proto).named(reshape.name()));
        Some(edit)
    }
}

/// The result's dimensions, if all but one are known.
fn from_shape(draft: &Draft<'_>, reshape: NodeView<'_>) -> Option<Vec<i64>> {
    let dims = &draft.shape(reshape.output(0))?.dims;
    let open = dims.iter().filter(|dim| dim.is_none()).count();
    let target: Option<Vec<i64>> =
        dims.iter().map(|dim| dim.map_or(Some(-1), |n| i64::try_from(n).ok())).collect();
    target.filter(|target| open <= 1 && !target.contains(&0))
}

/// The parts that a Concat puts the dimensions together from: constants, dimensions of the input at the
/// same place, and one that is anything.
fn from_parts(draft: &Draft<'_>, reshape: NodeView<'_>) -> Option<Vec<i64>> {
    let concat = reshape.producer(1).filter(|node| node.is("Concat"))?;
    let mut target = Vec::new();
    for name in concat.inputs() {
        if let Some(numbers) = draft.constant_list(name) {
            target.extend(numbers);
            continue;
        }
        // Each other part must be a single dimension, or the places of the rest aren't known.
        if draft.dims(name)? != [1] {
            return None;
        }
        let place = target.len();
        let same = copied_axis(draft, name, reshape.input(0)) == Some(place);
        target.push(if same { 0 } else { -1 });
    }
    let open = target.iter().filter(|size| **size == -1).count();
    (open <= 1).then_some(target)
}

/// The axis whose size is this list of one number, if it is one of the given value.
fn copied_axis(draft: &Draft<'_>, name: &str, value: &str) -> Option<usize> {
    let mut node = draft.producer(name)?;
    let mut single = None;
    // A number is made a list by Unsqueeze or Reshape, and may be cast on the way.
    loop {
        let source = match node.op_type() {
            "Shape" => {
                let start = node.attributes().int("start")?;
                let taken = node.input(0) == value;
                return axis(start, draft.rank(value)?).filter(|_| taken);
            }
            "Unsqueeze" | "Reshape" | "Squeeze" => node.producer(0)?,
            "Cast" if super::g12_cast::target(node)? == DataType::Int64 => node.producer(0)?,
            "Gather" => {
                let shape = node.producer(0).filter(|shape| shape.is("Shape"))?;
                let whole = shape.attributes().iter().len() == 0 && shape.input(0) == value;
                let index = *node.constant(1)?.to_i64s()?.first()?;
                single = axis(index, draft.rank(value)?).filter(|_| whole);
                return single;
            }
            _ => return single,
        };
        node = source;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    const ASKED: &str =
        "input x f32[n,m,4]; const o i64[1] 0; const i0 i64 0; const i1 i64 1; const minus i64[1] -1
         s = Shape(x); d0 = Gather(s, i0); d1 = Gather(s, i1); u0 = Unsqueeze(d0, o); u1 = Unsqueeze(d1, o)";

    #[test]
    fn dimensions_of_the_input_are_copied_and_one_is_worked_out() {
        let text = format!(
            "{ASKED}; const two i64[2] 2 2; t = Concat(u0, u1, two) axis=0; y = Reshape(x, t); output y"
        );
        assert_eq!(applies("G22", &text).operators(), "Reshape");
        let text = format!("{ASKED}; t = Concat(u0, minus) axis=0; y = Reshape(x, t); output y");
        // A node that was unread before is left to G25d.
        assert_eq!(applies("G22 G25d", &text).operators(), "Reshape");
        let text = format!(
            "{ASKED}; const four i64[1] 4; p = Mul(u0, u1); t = Concat(p, four) axis=0; y = Reshape(x, t); output y"
        );
        assert_eq!(applies("G22", &text).operators(), "Reshape");
    }

    #[test]
    fn known_dimensions_are_constants() {
        let text = "input x f32[2,3,4]; s = Shape(x); const i i64 0; d = Gather(s, i); const o i64[1] 0; u = Unsqueeze(d, o)
             const m i64[1] 12; t = Concat(u, m) axis=0; y = Reshape(x, t); output y";
        assert_eq!(applies("G22", text).operators(), "Reshape");
    }

    #[test]
    fn two_open_dimensions_at_other_places_stay() {
        refuses(
            "G22",
            &format!(
                "{ASKED}; const four i64[1] 4; t = Concat(u1, u0, four) axis=0; y = Reshape(x, t); output y"
            ),
        );
        refuses("G22", &format!("{ASKED}; t = Concat(u1, minus) axis=0; y = Reshape(x, t); output y"));
    }

    #[test]
    fn dimensions_that_are_given_stay() {
        refuses("G22", "input x f32[2,3]; input t i64[2]; y = Reshape(x, t); output y");
        refuses("G22", "input x f32[n,m]; s = Shape(x); y = Reshape(x, s) allowzero=1; output y");
    }
}
