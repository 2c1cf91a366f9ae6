//! G20: an average over a very large window is taken in two steps.

use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::{Limit, Rewrite};

/// See the module.
pub struct AveragePoolSplit {
    /// The largest window that Ascend's pooling takes well, exclusive.
    pub largest: u64,
}

impl AveragePoolSplit {
    /// With the size that is published for Ascend's chips.
    pub const PUBLISHED: Self = Self { largest: 255 };
}

static INFO: Info = Info {
    id: "G20",
    name: "average-pool-split",
    exactness: Exactness::Rounding,
    use_: Use::Named,
    summary: "AveragePool over a window of 255 and more -> two AveragePools, one behind the other",
    condition: "The windows don't overlap (strides are their sides), there is no padding, the input is \
                divided without rest, and the sides have divisors that fit. It pays on Ascend chips.",
};

impl Rewrite for AveragePoolSplit {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn limit(&self) -> Option<Limit> {
        Some(Limit { name: "window", value: self.largest })
    }

    fn with_limit(&self, value: u64) -> Option<Box<dyn Rewrite>> {
        Some(Box::new(Self { largest: value }))
    }

    fn roots(&self) -> &'static [&'static str] {
        &["AveragePool"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let pool = draft.node(at)?;
        let largest = i64::try_from(self.largest).unwrap_or(i64::MAX);
        let attributes = pool.attributes();
        let kernel = attributes.ints("kernel_shape").filter(|kernel| kernel.iter().all(|side| *side > 0))?;
        let plain = attributes.ints("strides") == Some(kernel)
            && attributes.ints("pads").is_none_or(|pads| pads.iter().all(|n| *n == 0))
            && attributes.ints("dilations").is_none_or(|list| list.iter().all(|n| *n == 1))
            && matches!(attributes.string("auto_pad"), None | Some("NOTSET" | "VALID"));
        if !plain || area(kernel)? < largest {
            return None;
        }
        let dims = draft.dims(pool.input(0)).filter(|dims| dims.len() == kernel.len() + 2)?;
        let divided = dims[2..].iter().zip(kernel).all(|(size, side)| size.is_multiple_of(*side as u64));
        let first: Vec<i64> = kernel.iter().map(|side| nearest_divisor(*side)).collect();
        let second: Vec<i64> = kernel.iter().zip(&first).map(|(side, part)| side / part).collect();
        if !divided || area(&first)? >= largest || area(&second)? >= largest {
            return None;
        }
        let mut edit = Edit::new("pooled");
        edit.remove(pool).because(format!("a window of {} points", area(kernel)?));
        let sized = |sides: &[i64], inputs: &[&str], outputs: &[&str]| {
            node("AveragePool", inputs, outputs).ints("kernel_shape", sides).ints("strides", sides)
        };
        let value = edit.apply_node(draft, sized(&first, &[pool.input(0)], &[]), pool.output(0));
        edit.add(sized(&second, &[&value], &[pool.output(0)]).named(pool.name()));
        Some(edit)
    }
}

fn area(sides: &[i64]) -> Option<i64> {
    sides.iter().try_fold(1i64, |area, side| area.checked_mul(*side))
}

/// The divisor that is nearest to the square root, from above.
fn nearest_divisor(side: i64) -> i64 {
    let root = (side as f64).sqrt().ceil() as i64;
    (root.max(1)..=side.min(root + 65_536)).find(|part| side % part == 0).unwrap_or(side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{applies, refuses};

    const POOL: &str =
        "input x f32[1,2,32,40]; y = AveragePool(x) kernel_shape=[16,20] strides=[16,20]; output y";

    #[test]
    fn a_large_window_is_taken_in_two_steps() {
        assert_eq!(applies("G20", POOL).operators(), "AveragePool AveragePool");
    }

    #[test]
    fn small_overlapping_padded_and_undivided_windows_stay() {
        refuses("G20", &POOL.replace("16", "8").replace("20]", "10]"));
        refuses("G20", &POOL.replace("strides=[16,20]", "strides=[8,20]"));
        refuses("G20", &POOL.replace("strides=[16,20]", "strides=[16,20] pads=[0,0,16,0]"));
        refuses("G20", &POOL.replace("f32[1,2,32,40]", "f32[1,2,33,40]"));
        refuses("G20", &POOL.replace("f32[1,2,32,40]", "f32[1,2,n,40]"));
    }

    #[test]
    fn a_side_without_divisors_stays() {
        refuses(
            "G20",
            "input x f32[1,1,257,2]; y = AveragePool(x) kernel_shape=[257,1] strides=[257,1]; output y",
        );
        assert_eq!(
            (nearest_divisor(16), nearest_divisor(20), nearest_divisor(13), nearest_divisor(1)),
            (4, 5, 13, 1)
        );
    }
}
