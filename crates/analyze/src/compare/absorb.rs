//! Which operators of one side were taken in by others, because the other side has nothing more of them.
//!
//! Engines fuse activations, normalisations and sums into the operator before them. Of an operator that the side's
//! model knows, that is one from which its inputs come, as the graph tells; of another one, the one that ran before
//! it, which takes in one of a kind only. Shapes may contradict either.

use opscope_trace::TensorId;

use super::align::{Entries, Entry, Groups};
use super::side::{Row, Side};
use super::sources::Sources;
use super::texts::KindId;

/// Kinds that are fused into the operator before them.
const ABSORBED: [&str; 22] = [
    "batchnorm",
    "relu",
    "leakyrelu",
    "prelu",
    "elu",
    "sigmoid",
    "tanh",
    "clip",
    "add",
    "mul",
    "biasadd",
    "bias",
    "scale",
    "hardswish",
    "mish",
    "softplus",
    "sub",
    "div",
    "addv2",
    "cast",
    "power",
    "swish",
];

/// Kinds that change only the layout: an engine puts them between operators that belong together.
const LAYOUT: [&str; 4] = ["reorderinput", "reorderoutput", "transdata", "transpose"];

/// The fate that an operator of a kind may have, when the other side has no counterpart of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was taken in by the operator before it.
    TakenIn,
    /// It stands between an operator and what that took in.
    Between,
    /// Neither.
    Alone,
}

impl Fate {
    pub fn of(kind: &str) -> Self {
        match kind {
            _ if ABSORBED.contains(&kind) => Self::TakenIn,
            _ if LAYOUT.contains(&kind) => Self::Between,
            _ => Self::Alone,
        }
    }
}

/// How many elements a value may have, least and most: layouts in blocks fill the last block up.
fn elements(shape: &[i64], layout: Option<&str>) -> (i64, i64) {
    /// Sizes of blocks of channels.
    const BLOCKS: [i64; 4] = [4, 8, 16, 32];
    let product = |sizes: &[i64]| sizes.iter().fold(1_i64, |product, size| product.saturating_mul(*size));
    let blocks = match layout {
        // Blocks of both sides of a matrix, which are the last two dimensions.
        Some(layout) if layout.starts_with("FRACTAL") => 2,
        Some(layout) => usize::from(layout.contains("C0")),
        None => usize::from(shape.len() > 4 && shape.last().is_some_and(|last| BLOCKS.contains(last))),
    };
    let all = product(shape);
    (all / product(&shape[shape.len().saturating_sub(blocks)..]).max(1), all)
}

/// Whether the outputs of two operators of a side may be of the same elements: as many, as far as it is known.
fn fit(side: &Side<'_>, a: &Row<'_>, b: &Row<'_>) -> bool {
    let trace = side.trace;
    let known = |tensor: TensorId| {
        let shape = trace.shape(tensor).filter(|shape| shape.iter().all(|size| *size >= 0))?;
        let layout = trace.tensors.layout()[tensor.index()];
        Some(elements(shape, layout.map(|layout| trace.strings.get(layout))))
    };
    let outputs = |row: &Row<'_>| {
        let operator = row.operator.map(|operator| trace.operators.get(operator));
        operator.into_iter().flat_map(move |operator| operator.outputs().map(known))
    };
    let overlap = |a: (i64, i64), b: (i64, i64)| a.0 <= b.1 && b.0 <= a.1;
    let may_be_same = |a: Option<(i64, i64)>, b| a.zip(b).is_none_or(|(a, b)| overlap(a, b));
    let has_none = |row| outputs(row).next().is_none();
    has_none(a) || has_none(b) || outputs(a).any(|a| outputs(b).any(|b| may_be_same(a, b)))
}

/// Adds operators of one side that the other has no more to the operator that took them in.
pub(super) fn absorb(
    sides: [&Side<'_>; 2],
    entries: &Entries,
    fates: &[Fate],
    sources: &[Sources<'_>; 2],
    groups: &mut Groups,
) {
    let left = |entries: &[Entry], of: &[Option<usize>]| {
        let mut there = vec![false; fates.len()];
        let alone = entries.iter().zip(of).filter(|(_, group)| group.is_none());
        alone.for_each(|(entry, _)| there[entry.kind.index()] = true);
        there
    };
    // Only kinds that one side lost: otherwise they were renamed, which the order tells.
    let left_before = left(&entries.before, &groups.before);
    let left_after = left(&entries.after, &groups.after);
    let absorber = |side: usize, entries, others| Absorber { side: sides[side], entries, others, fates };
    absorber(0, &entries.before, &left_after).join(&sources[0], &mut groups.before);
    absorber(1, &entries.after, &left_before).join(&sources[1], &mut groups.after);
}

/// One side, whose operators may have been taken in.
struct Absorber<'a> {
    side: &'a Side<'a>,
    entries: &'a [Entry],
    /// By kind, whether the other side has operators of it that are left.
    others: &'a [bool],
    fates: &'a [Fate],
}

impl Absorber<'_> {
    fn join(&self, sources: &Sources<'_>, groups: &mut [Option<usize>]) {
        // The operator that ran before, if it has a group, and the kinds of all that this has of late.
        let (mut last, mut kinds): (Option<usize>, Vec<KindId>) = (None, Vec::new());
        for (place, entry) in self.entries.iter().enumerate() {
            let fate = self.fates[entry.kind.index()];
            if fate == Fate::Between {
                continue;
            }
            let is_left = groups[place].is_none();
            if is_left && fate == Fate::TakenIn && !self.others[entry.kind.index()] {
                let taker = match sources.of(place, |row| self.fate(row)) {
                    Some(rows) => self.taker(place, rows, groups),
                    None if kinds.contains(&entry.kind) => None,
                    None => self.taker(place, last.into_iter().collect(), groups),
                };
                groups[place] = taker.and_then(|taker| groups[taker]);
            }
            if !is_left || groups[place].is_none() {
                kinds.clear();
            }
            kinds.push(entry.kind);
            last = groups[place].map(|_| place);
        }
    }

    fn fate(&self, row: usize) -> Fate {
        self.fates[self.entries[row].kind.index()]
    }

    /// Of some operators with a group, the last whose shapes don't contradict.
    fn taker(&self, place: usize, rows: Vec<usize>, groups: &[Option<usize>]) -> Option<usize> {
        let rows_of_side = &self.side.rows;
        let may_take =
            |row: &usize| groups[*row].is_some() && fit(self.side, &rows_of_side[place], &rows_of_side[*row]);
        rows.into_iter().filter(may_take).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_channels_may_be_filled_up_and_other_sizes_are_as_they_are() {
        assert_eq!(elements(&[1, 1, 16, 16, 16], Some("NC1HWC0")), (256, 4_096));
        assert_eq!(elements(&[1, 1, 16, 16, 16], None), (256, 4_096));
        assert_eq!(elements(&[1, 1, 16, 16, 16], Some("NCDHW")), (4_096, 4_096));
        assert_eq!(elements(&[63, 1, 16, 16], Some("FRACTAL_NZ")), (63, 16_128));
        assert_eq!(elements(&[1, 8, 16, 16], Some("NCHW")), (2_048, 2_048));
        assert_eq!(elements(&[i64::MAX, i64::MAX], None), (i64::MAX, i64::MAX));
        assert_eq!((elements(&[], Some("FRACTAL_NZ")), elements(&[0, 16], Some("C0"))), ((1, 1), (0, 0)));
    }
}
