//! G13b: two Slices along different axes become one.

use crate::constant::list;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::fold::axis;
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Slices;

static INFO: Info = Info {
    id: "G13b",
    name: "slice-merge",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Slice + Slice along other axes -> Slice",
    condition: "The model has version 10 of ONNX's operators or newer, starts, ends, axes and steps are \
                constant, the number of dimensions is known, no axis is in both, and nothing else reads \
                what is between.",
};

impl Rewrite for Slices {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Slice"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        if draft.opset() < 10 {
            return None;
        }
        let outer = draft.node(at)?;
        let inner = outer.producer(0).filter(|node| node.is("Slice"))?;
        let (first, second) = (ranges(draft, inner)?, ranges(draft, outer)?);
        if first.iter().any(|range| second.iter().any(|other| other.axis == range.axis)) {
            return None;
        }
        let all: Vec<Range> = first.into_iter().chain(second).collect();
        let mut edit = Edit::new("sliced");
        edit.remove(inner).remove(outer);
        let lists: [fn(&Range) -> i64; 4] = [|r| r.start, |r| r.end, |r| r.axis, |r| r.step];
        let names = ["starts", "ends", "axes", "steps"];
        let constants: Vec<String> = lists
            .iter()
            .zip(names)
            .map(|(of, name)| {
                let numbers: Vec<i64> = all.iter().map(of).collect();
                edit.constant(draft, &format!("{}_{name}", outer.output(0)), list(&numbers))
            })
            .collect();
        let mut inputs = vec![inner.input(0)];
        inputs.extend(constants.iter().map(String::as_str));
        edit.add(node("Slice", &inputs, &[outer.output(0)]).named(outer.name()));
        Some(edit)
    }
}

struct Range {
    start: i64,
    end: i64,
    axis: i64,
    step: i64,
}

/// The range that a Slice takes along each axis, the axes counted from the front.
fn ranges(draft: &Draft<'_>, slice: NodeView<'_>) -> Option<Vec<Range>> {
    let rank = draft.rank(slice.input(0))?;
    let (starts, ends) = (draft.constant_list(slice.input(1))?, draft.constant_list(slice.input(2))?);
    let axes = match slice.input(3) {
        "" => (0..starts.len() as i64).collect(),
        name => draft.constant_list(name)?,
    };
    let steps = match slice.input(4) {
        "" => vec![1; starts.len()],
        name => draft.constant_list(name)?,
    };
    if [ends.len(), axes.len(), steps.len()].iter().any(|&n| n != starts.len()) {
        return None;
    }
    let range = |place: usize| {
        let axis = axis(axes[place], rank)? as i64;
        Some(Range { start: starts[place], end: ends[place], axis, step: steps[place] })
    };
    (0..starts.len()).map(range).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn slices(second_axis: &str) -> String {
        format!(
            "input x f32[5,6]; const a i64[1] 1; const b i64[1] 4; const c i64[1] -1; const d i64[1] 0
             const n i64[1] -9; const u i64[1] 1; const e i64[1] {second_axis}
             p = Slice(x, a, b, u); q = Slice(p, c, n, e, c); y = Neg(q); output y"
        )
    }

    #[test]
    fn slices_along_two_axes_become_one() {
        assert_eq!(applies("G13b", &slices("0")).operators(), "Slice Neg");
    }

    #[test]
    fn the_same_axis_twice_stays() {
        refuses("G13b", &slices("-1"));
        refuses("G13b", &slices("1"));
    }

    #[test]
    fn ranges_that_are_not_constant_or_read_elsewhere_stay() {
        refuses("G13b", &slices("0").replace("const n i64[1] -9", "input n i64[1]"));
        refuses("G13b", &format!("{}; output p", slices("0")));
    }

    #[test]
    fn the_attributes_of_old_versions_stay() {
        refuses(
            "G13b",
            "opset 9; input x f32[5,6]; p = Slice(x) starts=[1] ends=[4] axes=[0]
             y = Slice(p) starts=[1] ends=[4] axes=[1]; output y",
        );
    }
}
