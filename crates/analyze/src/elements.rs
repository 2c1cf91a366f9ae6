//! How many elements operators work on, as far as a profile tells.

use opscope_trace::{DataType, OperatorId, TensorId, Trace};

/// Whether the outputs of two operators of a profile may be of the same elements: as many, but for what layouts fill
/// up. Where outputs of either aren't known, they may.
pub fn may_have_same_elements(trace: &Trace, a: OperatorId, b: OperatorId) -> bool {
    overlap(&outputs(trace, a), &outputs(trace, b))
}

/// The same, where some of them work element by element: their largest input tells the size of an output that isn't
/// known.
pub(crate) fn may_pass_elements(trace: &Trace, a: (OperatorId, bool), b: (OperatorId, bool)) -> bool {
    let outputs = |(operator, is_elementwise): (OperatorId, bool)| {
        let known = outputs(trace, operator);
        if !is_elementwise || known.iter().any(Option::is_some) {
            return known;
        }
        let inputs = trace.operators.get(operator).inputs();
        vec![inputs.filter_map(|tensor| known_elements(trace, tensor)).max_by_key(|elements| elements.1)]
    };
    overlap(&outputs(a), &outputs(b))
}

fn outputs(trace: &Trace, operator: OperatorId) -> Vec<Option<Elements>> {
    trace.operators.get(operator).outputs().map(|tensor| known_elements(trace, tensor)).collect()
}

fn known_elements(trace: &Trace, tensor: TensorId) -> Option<Elements> {
    let shape = trace.shape(tensor).filter(|shape| shape.iter().all(|size| *size >= 0))?;
    let layout = trace.tensors.layout()[tensor.index()];
    Some(elements(shape, layout.map(|layout| trace.strings.get(layout))))
}

/// Whether any of two operators' outputs may be of the same elements, or either has none that are told.
fn overlap(a: &[Option<Elements>], b: &[Option<Elements>]) -> bool {
    let overlap = |(a, b): (Elements, Elements)| a.0 <= b.1 && b.0 <= a.1;
    let is_unknown = a.is_empty() || b.is_empty();
    is_unknown || a.iter().any(|a| b.iter().any(|b| a.zip(*b).is_none_or(overlap)))
}

/// Whether operators of two profiles have an output of the same sizes in any layout; `None` where either profile
/// doesn't tell its operator's.
pub(crate) fn shapes_agree(a: (&Trace, OperatorId), b: (&Trace, OperatorId)) -> Option<bool> {
    let [a, b] = [a, b].map(|(trace, operator)| {
        let outputs = trace.operators.get(operator).outputs();
        outputs
            .map(|tensor| sizes(trace, tensor))
            .collect::<Option<Vec<_>>>()
            .filter(|outputs| !outputs.is_empty())
    });
    let (a, b) = (a?, b?);
    Some(a.iter().any(|own| b.iter().any(|other| agree(own, other))))
}

/// Whether operators of two profiles read other values: either's first input, which is of activations, is of the sizes
/// of none of the other's, or either's largest other one isn't, which is a weight. Weights of several types tell
/// nothing, because engines pack some. Nothing contradicts where a profile doesn't tell all inputs of its operator.
pub(crate) fn inputs_contradict(a: (&Trace, OperatorId), b: (&Trace, OperatorId)) -> bool {
    // Most pairs have the same inputs, which costs nothing to see.
    let (of_a, of_b) = (a.0.operators.get(a.1).inputs(), b.0.operators.get(b.1).inputs());
    if of_a.map(|tensor| a.0.shape(tensor)).eq(of_b.map(|tensor| b.0.shape(tensor))) {
        return false;
    }
    let inputs = |(trace, operator): (&Trace, OperatorId)| {
        let inputs = trace.operators.get(operator).inputs();
        let known =
            inputs.map(|tensor| Some((sizes(trace, tensor)?, trace.tensors.data_type()[tensor.index()])));
        known.collect::<Option<Vec<_>>>().filter(|inputs| !inputs.is_empty())
    };
    let (Some(a), Some(b)) = (inputs(a), inputs(b)) else { return false };
    let is_in =
        |value: &Sizes, others: &[(Sizes, DataType)]| others.iter().any(|(other, _)| agree(value, other));
    if !is_in(&a[0].0, &b) && !is_in(&b[0].0, &a) {
        return true;
    }
    let largest = |of: &[(Sizes, DataType)]| (1..of.len()).max_by_key(|input| of[*input].0.1.1);
    let (Some(of_a), Some(of_b)) = (largest(&a), largest(&b)) else { return false };
    let (one, other) = (&a[of_a], &b[of_b]);
    one.1 == other.1 && !is_in(&one.0, &b) && !is_in(&other.0, &a)
}

/// The sizes of a value beside 1 in rising order, which is the same in all layouts, and its elements.
type Sizes = (Vec<i64>, Elements);

fn sizes(trace: &Trace, tensor: TensorId) -> Option<Sizes> {
    let shape = trace.shape(tensor).filter(|shape| shape.iter().all(|size| *size >= 0))?;
    let layout = trace.tensors.layout()[tensor.index()];
    let mut sizes: Vec<i64> = shape.iter().copied().filter(|size| *size != 1).collect();
    sizes.sort_unstable();
    Some((sizes, elements(shape, layout.map(|layout| trace.strings.get(layout)))))
}

fn agree((own, (least, most)): &Sizes, (other, (few, many)): &Sizes) -> bool {
    let is_blocked = least < most || few < many;
    own == other || is_blocked && least <= many && few <= most
}

/// Whether operators of two profiles have outputs that differ in one size alone, which is the other one filled up to
/// whole blocks: engines state the channels of layouts in blocks so where the shape doesn't tell the layout.
pub(crate) fn agree_when_filled_up(a: (&Trace, OperatorId), b: (&Trace, OperatorId)) -> bool {
    let sizes = |(trace, operator): (&Trace, OperatorId)| {
        let outputs = trace.operators.get(operator).outputs();
        let shapes = outputs.filter_map(|tensor| trace.shape(tensor).map(<[i64]>::to_vec));
        shapes.collect::<Vec<_>>()
    };
    let (a, b) = (sizes(a), sizes(b));
    a.iter().any(|own| b.iter().any(|other| differ_by_filling(own, other)))
}

fn differ_by_filling(own: &[i64], other: &[i64]) -> bool {
    /// Sizes of blocks of channels, as processors have them.
    const BLOCKS: [i64; 2] = [8, 16];
    let without_ones = |sizes: &[i64]| sizes.iter().copied().filter(|size| *size != 1).collect::<Vec<_>>();
    let (mut own, mut other) = (without_ones(own), without_ones(other));
    own.retain(|size| {
        let same = other.iter().position(|it| it == size);
        same.map(|place| other.remove(place)).is_none()
    });
    let (one, two) = match (&own[..], &other[..]) {
        ([one], [two]) => (*one, *two),
        ([only], []) | ([], [only]) => (*only, 1),
        _ => return false,
    };
    let (less, more) = (one.min(two), one.max(two));
    less > 0 && BLOCKS.iter().any(|block| less.saturating_add(block - 1) / block * block == more)
}

/// How many elements a value has at least and at most: layouts in blocks fill the last block up.
type Elements = (i64, i64);

fn elements(shape: &[i64], layout: Option<&str>) -> Elements {
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

    #[test]
    fn channels_may_be_filled_up_to_whole_blocks_and_nothing_else_may_differ() {
        assert!(differ_by_filling(&[1, 88, 3, 96], &[1, 96, 3, 96]));
        assert!(differ_by_filling(&[1, 16, 24, 96], &[1, 24, 96, 8]), "in any layout");
        assert!(differ_by_filling(&[1, 1, 5, 5], &[1, 16, 5, 5]));
        assert!(!differ_by_filling(&[1, 88, 3, 96], &[1, 104, 3, 96]), "a block too many");
        assert!(!differ_by_filling(&[1, 88, 3, 96], &[1, 96, 3, 48]));
        assert!(!differ_by_filling(&[1, 88, 3, 96], &[1, 88, 3, 96]), "they are the same");
        assert!(!differ_by_filling(&[-1, 3], &[8, 3]) && !differ_by_filling(&[i64::MAX], &[]));
    }
}
