//! G14: Gathers that together take a value apart become one Split.

use crate::constant::list;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::fold::axis;
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct GatherToSplit;

static INFO: Info = Info {
    id: "G14",
    name: "gather-to-split",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Gather(x, 0), Gather(x, 1), ... -> Split(x), with a Squeeze for each single index",
    condition: "The indices are constant, each Gather takes one run of neighbours, and together they take \
                every element along one axis exactly once; the size of that axis is known.",
};

impl Rewrite for GatherToSplit {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Gather"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let root = draft.node(at).filter(|_| draft.opset() >= 2)?;
        let (value, dims) = (root.input(0), &draft.shape(root.input(0))?.dims);
        let along = axis(root.attributes().int("axis").unwrap_or(0), dims.len())?;
        let size = dims[along]?;
        let same_axis =
            |node: &NodeView<'_>| axis(node.attributes().int("axis").unwrap_or(0), dims.len()) == Some(along);
        let is_part = |node: &NodeView<'_>| node.is("Gather") && node.input(0) == value && same_axis(node);
        let mut gathers = draft.consumers(value).filter(is_part).peekable();
        // They are looked at together, once.
        if gathers.peek().is_none_or(|first| first.id != at) {
            return None;
        }
        let mut runs = gathers.map(|node| run(node, size)).collect::<Option<Vec<_>>>()?;
        runs.sort_by_key(|run| run.start);
        let mut next = 0;
        for run in &runs {
            if run.start != next {
                return None;
            }
            next += run.length;
        }
        if next != size || runs.len() < 2 {
            return None;
        }
        Some(split(draft, value, along, &runs))
    }
}

struct Run<'d> {
    gather: NodeView<'d>,
    start: u64,
    length: u64,
    /// Whether the index is a single number, which takes the axis away.
    single: bool,
}

/// The neighbours that a Gather takes, in their order.
fn run(gather: NodeView<'_>, size: u64) -> Option<Run<'_>> {
    let indices = gather.constant(1).filter(|indices| indices.dims.len() <= 1)?;
    let numbers = indices.to_i64s()?.into_iter().map(|n| axis(n, usize::try_from(size).ok()?));
    let numbers = numbers.collect::<Option<Vec<usize>>>()?;
    let start = *numbers.first()?;
    let neighbours = numbers.iter().enumerate().all(|(place, &n)| n == start + place);
    let (start, length, single) = (start as u64, numbers.len() as u64, indices.dims.is_empty());
    neighbours.then_some(Run { gather, start, length, single })
}

fn split(draft: &Draft<'_>, value: &str, along: usize, runs: &[Run<'_>]) -> Edit {
    let mut edit = Edit::new("split");
    let sizes: Vec<i64> = runs.iter().map(|run| run.length as i64).collect();
    let as_input = draft.opset() >= 13;
    let mut outputs = Vec::new();
    let axes = match as_input && runs.iter().any(|run| run.single) {
        true => edit.constant(draft, &format!("{value}_axes"), list(&[along as i64])),
        false => String::new(),
    };
    let mut squeezes = Vec::new();
    for run in runs {
        edit.remove(run.gather);
        let result = run.gather.output(0);
        if !run.single {
            outputs.push(result.to_owned());
            continue;
        }
        let part = edit.fresh(draft, result);
        squeezes.push(match as_input {
            true => node("Squeeze", &[&part, &axes], &[result]),
            false => node("Squeeze", &[&part], &[result]).ints("axes", &[along as i64]),
        });
        outputs.push(part);
    }
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let made = match as_input {
        true => {
            let sizes = edit.constant(draft, &format!("{value}_sizes"), list(&sizes));
            node("Split", &[value, &sizes], &outputs)
        }
        false => node("Split", &[value], &outputs).ints("split", &sizes),
    };
    edit.add(made.int("axis", along as i64));
    squeezes.into_iter().for_each(|squeeze| {
        edit.add(squeeze);
    });
    edit
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    const INDICES: &str =
        "input x f32[2,3,4]; const a i64 0; const b i64 -2; const c i64 2; const r i64[2] 1 2";

    #[test]
    fn single_indices_become_parts_without_the_axis() {
        for opset in [11, 17] {
            let text = format!(
                "opset {opset}; {INDICES}; p = Gather(x, c) axis=1; q = Gather(x, a) axis=1; s = Gather(x, b) axis=-2
                 output p; output q; output s"
            );
            assert_eq!(applies("G14", &text).operators(), "Split Squeeze Squeeze Squeeze");
        }
    }

    #[test]
    fn runs_of_neighbours_become_parts() {
        let text = format!(
            "{INDICES}; p = Gather(x, r) axis=1; q = Gather(x, a) axis=1; n = Neg(x); output p; output q; output n"
        );
        assert_eq!(applies("G14", &text).operators(), "Split Squeeze Neg");
    }

    #[test]
    fn gaps_overlaps_and_other_orders_stay() {
        refuses(
            "G14",
            &format!("{INDICES}; p = Gather(x, a) axis=1; q = Gather(x, c) axis=1; output p; output q"),
        );
        refuses(
            "G14",
            &format!(
                "{INDICES}; p = Gather(x, r) axis=1; q = Gather(x, c) axis=1; s = Gather(x, a) axis=1; output p; output q; output s"
            ),
        );
        refuses(
            "G14",
            &format!(
                "{INDICES}; const t i64[2] 2 1; p = Gather(x, t) axis=1; q = Gather(x, a) axis=1; output p; output q"
            ),
        );
        refuses("G14", "input x f32[1,2]; const a i64 0; p = Gather(x, a) axis=0; output p");
    }

    #[test]
    fn unknown_indices_and_sizes_stay() {
        refuses(
            "G14",
            &format!(
                "{INDICES}; input i i64[]; p = Gather(x, r) axis=1; q = Gather(x, i) axis=1; output p; output q"
            ),
        );
        let open = INDICES.replace("f32[2,3,4]", "f32[2,n,4]");
        refuses(
            "G14",
            &format!("{open}; p = Gather(x, r) axis=1; q = Gather(x, a) axis=1; output p; output q"),
        );
    }
}
