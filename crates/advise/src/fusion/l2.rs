//! How a batch can be split so that what operators hand on stays in L2.
//!
//! Huawei's example is ResNet-50 with a batch of 8, a part of which runs as 4 tasks of 2. Nothing of
//! the rule behind it is published, so it is worked out here: an operator's inputs and results must
//! be in L2 together. An elementwise operator writes its result over an input. Weights aren't counted.
//! Floating-point values take two bytes, as the converter makes of them by default, and the channels
//! of images come in sixteens (`NC1HWC0`). By this, ResNet-50's batch of 8 fits the Ascend 310 as
//! 4 tasks of 2, as in the example.

use opscope_model::{Model, Node, Shapes, ValueId};
use opscope_trace::DataType;
use serde::Serialize;

use super::{Class, class};
use crate::graph::{Folded, View};

const MIB: u64 = 1 << 20;

/// The L2 of a chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct L2 {
    /// The chip as the converter names it.
    pub chip: String,
    /// How many bytes it holds.
    pub bytes: u64,
    /// Where the size is from.
    pub source: &'static str,
}

/// CANN's graph engine: `MINI_L2_SIZE_MB` in `l2_fusion_comm.cc`, and the `Ascend310.ini` of its tests.
const GRAPH_ENGINE: &str = "l2_size of CANN's graph engine";
/// CANN's runtime: `src/platform/platform_config/cann/*.ini`, the key `l2_size`.
const PLATFORM: &str = "l2_size of CANN's platform_config";

/// Chips by the beginning of their names, longer beginnings first.
const SIZES: [(&str, u64, &str); 15] = [
    ("Ascend310B", 4, PLATFORM),
    ("Ascend310P", 16, PLATFORM),
    ("Ascend910A", 32, PLATFORM),
    ("Ascend910PremiumA", 32, PLATFORM),
    ("Ascend910ProA", 32, PLATFORM),
    ("Ascend910ProB", 32, PLATFORM),
    ("Ascend910B4-1", 168, PLATFORM),
    ("Ascend910B4", 96, PLATFORM),
    ("Ascend910B1", 192, PLATFORM),
    ("Ascend910B2", 192, PLATFORM),
    ("Ascend910B3", 192, PLATFORM),
    ("Ascend910_937", 192, PLATFORM),
    ("Ascend910_938", 192, PLATFORM),
    ("Ascend910_939", 192, PLATFORM),
    ("Ascend910_936", 168, PLATFORM),
];

impl L2 {
    /// The L2 of a chip by the name that the converter has for it (`--soc_version`); `None` where no
    /// size of it is published.
    pub fn of(chip: &str) -> Option<Self> {
        let found = |bytes: u64, source| Some(Self { chip: chip.to_owned(), bytes: bytes * MIB, source });
        // Whole names: others begin with them.
        match chip {
            "Ascend310" => return found(8, GRAPH_ENGINE),
            "Ascend910B" => return found(32, PLATFORM),
            _ => {}
        }
        let (_, mib, source) = SIZES.iter().find(|(beginning, ..)| chip.starts_with(beginning))?;
        found(*mib, source)
    }
}

/// The part of L2 that a batch needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Split {
    /// The chip's L2.
    pub l2: L2,
    /// The model's batch.
    pub batch: u64,
    /// The operator that needs most.
    pub operator: String,
    /// How many bytes it needs for the whole batch.
    pub needs: u64,
    /// The fewest tasks that fit, and the batch and the bytes of each; `None` when even one sample
    /// doesn't fit.
    pub tasks: Option<(u64, u64, u64)>,
}

/// How the batch of a model has to be split for L2; `None` where it fits as it is, where there is no
/// batch of images, and where sizes aren't known.
pub fn split(model: &Model, shapes: &Shapes, l2: &L2) -> Option<Split> {
    let batch = batch(model, shapes)?;
    let view = View::new(model);
    let folded = Folded::of(view);
    let needs = |each: u64| {
        let of_nodes = view.nodes().filter(|node| !node.is("Constant") && !folded.has(node));
        of_nodes
            .filter_map(|node| Some((need((view, &folded), shapes, &node, batch, each)?, node.name)))
            .max()
    };
    let (whole, operator) = needs(batch)?;
    if whole <= l2.bytes {
        return None;
    }
    let parts = (1..batch).rev().filter(|each| batch.is_multiple_of(*each));
    let fits = parts.filter_map(|each| Some((each, needs(each)?.0))).find(|(_, bytes)| *bytes <= l2.bytes);
    let tasks = fits.map(|(each, bytes)| (batch / each, each, bytes));
    Some(Split { l2: l2.clone(), batch, operator: operator.to_owned(), needs: whole, tasks })
}

/// The first dimension that all images among the inputs have.
fn batch(model: &Model, shapes: &Shapes) -> Option<u64> {
    let graph = model.graph();
    let stored = |id: &ValueId| graph.value(*id).is_stored();
    let inputs = graph.inputs().iter().filter(|id| !stored(id)).filter_map(|id| shapes.get(*id));
    let mut batches = inputs.filter(|shape| shape.dims.len() == 4).map(|shape| shape.dims[0]);
    let first = batches.next()??;
    (first > 1 && batches.all(|other| other == Some(first))).then_some(first)
}

/// How many bytes a node's values take while it works on `each` of `batch` samples; `None` where a size
/// isn't known, and of nodes that only give a value another shape.
fn need(
    (view, folded): (View<'_>, &Folded),
    shapes: &Shapes,
    node: &Node<'_>,
    batch: u64,
    each: u64,
) -> Option<u64> {
    const VIEWS: [&str; 6] = ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Shape"];
    if node.domain.is_empty() && VIEWS.contains(&node.op_type) {
        return None;
    }
    let size = |value: &ValueId| bytes(shapes, *value, batch, each);
    let live = node.inputs.iter().flatten().filter(|input| !folded.is_constant(view, **input));
    let inputs: Option<Vec<u64>> = live.map(size).collect();
    let results: Option<Vec<u64>> = node.outputs.iter().flatten().map(size).collect();
    let (inputs, results) =
        (inputs?.into_iter().fold(0, u64::saturating_add), results?.into_iter().fold(0, u64::saturating_add));
    Some(match class(node) {
        Some(Class::Elementwise) => inputs.max(results),
        _ => inputs.saturating_add(results),
    })
}

fn bytes(shapes: &Shapes, value: ValueId, batch: u64, each: u64) -> Option<u64> {
    let shape = shapes.get(value)?;
    let mut dims = shape.known_dims()?;
    if dims.len() > 1 && dims[0] == batch {
        dims[0] = each;
    }
    if dims.len() == 4 {
        dims[1] = dims[1].checked_next_multiple_of(16)?;
    }
    let elements = dims.iter().try_fold(1u64, |all, size| all.checked_mul(*size))?;
    let data_type = match shape.data_type {
        DataType::Float32 | DataType::Float64 => DataType::Float16,
        other => other,
    };
    data_type.bytes(elements)
}

#[cfg(test)]
mod tests {
    use opscope_model::Bindings;

    use super::*;
    use crate::testing::graph_of_images;

    fn split_of(batch: u64, chip: &str) -> Option<Split> {
        // How ResNet-50 begins, with the first of its sums.
        let model = graph_of_images(
            [batch, 3, 224, 224],
            &[
                "Conv x,W:64x3x7x7 pads=3.3.3.3 strides=2.2 -> a",
                "Relu a -> b",
                "MaxPool b kernel_shape=3.3 pads=1.1.1.1 strides=2.2 -> c",
                "Conv c,V:256x64x1x1 -> d",
                "Conv c,U:256x64x1x1 -> e",
                "Add d,e -> f",
                "Relu f -> y",
            ],
        );
        let shapes = Shapes::infer(&model, &Bindings::default()).unwrap();
        split(&model, &shapes, &L2::of(chip).unwrap())
    }

    #[test]
    fn a_batch_of_eight_is_split_in_four_on_the_chip_of_the_published_example() {
        let found = split_of(8, "Ascend310").unwrap();
        assert_eq!((found.batch, found.tasks.map(|(tasks, each, _)| (tasks, each))), (8, Some((4, 2))));
        assert!(found.needs > 8 * MIB && found.tasks.unwrap().2 <= 8 * MIB, "{found:?}");
    }

    #[test]
    fn what_fits_is_not_split_and_a_greater_cache_takes_more() {
        assert_eq!(split_of(2, "Ascend310"), None);
        assert_eq!(split_of(8, "Ascend910A"), None);
        assert_eq!(
            split_of(8, "Ascend310P3").unwrap().tasks.map(|(tasks, each, _)| (tasks, each)),
            Some((2, 4))
        );
    }

    #[test]
    fn an_odd_batch_splits_as_well_and_one_that_never_fits_is_said_to() {
        assert_eq!(
            split_of(9, "Ascend310").unwrap().tasks.map(|(tasks, each, _)| (tasks, each)),
            Some((9, 1))
        );
        let tiny = L2 { bytes: MIB, ..L2::of("Ascend310").unwrap() };
        let model = graph_of_images([4, 3, 640, 640], &["Conv x,W:16x3x1x1 -> a", "Relu a -> y"]);
        let shapes = Shapes::infer(&model, &Bindings::default()).unwrap();
        assert_eq!(split(&model, &shapes, &tiny).unwrap().tasks, None);
    }

    #[test]
    fn chips_without_a_published_size_have_none() {
        assert_eq!(L2::of("SS928V100"), None);
        assert_eq!(L2::of("Ascend"), None);
        assert_eq!(L2::of("Ascend310B1").unwrap().bytes, 4 * MIB);
        assert_eq!(L2::of("Ascend910B4-1").unwrap().bytes, 168 * MIB);
        assert_eq!(L2::of("Ascend910B4").unwrap().bytes, 96 * MIB);
    }
}
