//! How well the outputs of two models agree.

use opscope_model::TensorData;
use opscope_run::HostTensor;
use opscope_trace::DataType;

/// How well the values of one output agree with those expected. Of several comparisons, the worst holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The largest difference of two elements.
    pub absolute: f64,
    /// The largest difference of two elements, in relation to the expected one or to the mean magnitude
    /// of all expected ones, whichever is greater: numbers that cancel to nearly nothing have no
    /// relative error of their own.
    pub relative: f64,
    /// The cosine of the angle between both as vectors; 1 is the same direction.
    pub cosine: f64,
    /// The share of positions where the same class has the greatest value; classes lie along the second
    /// of two or of four and more dimensions, else along the last. `None` for outputs without classes.
    pub top_1: Option<f64>,
}

impl Agreement {
    /// No difference at all.
    pub const PERFECT: Self = Self { absolute: 0.0, relative: 0.0, cosine: 1.0, top_1: None };

    /// The worse of both in every respect.
    pub fn worst(self, other: Self) -> Self {
        let top_1 = match (self.top_1, other.top_1) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self {
            absolute: self.absolute.max(other.absolute),
            relative: self.relative.max(other.relative),
            cosine: self.cosine.min(other.cosine),
            top_1,
        }
    }
}

/// Outputs that can't be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// An output is missing, or another is there instead.
    #[error("the output `{expected}` is missing")]
    Missing {
        /// The output that should be there.
        expected: String,
    },
    /// The type or the shape differs.
    #[error("the output `{name}` is {found} instead of {expected}")]
    Type {
        /// The output.
        name: String,
        /// Its type and shape.
        expected: String,
        /// The dimensions of the other model's output.
        found: String,
    },
}

/// Compares all outputs, by their order, and gives the worst of each respect.
///
/// # Errors
/// When the outputs aren't the same in number, type or shape.
pub fn compare(
    expected: &[(String, HostTensor)],
    found: &[(String, HostTensor)],
) -> Result<Agreement, Incomparable> {
    let mut worst = Agreement::PERFECT;
    for (index, (name, expected)) in expected.iter().enumerate() {
        let Some((_, found)) = found.get(index) else {
            return Err(Incomparable::Missing { expected: name.clone() });
        };
        worst = worst.worst(compare_tensors(name, expected, found)?);
    }
    Ok(worst)
}

/// Compares two tensors.
///
/// # Errors
/// When their types or shapes differ.
pub fn compare_tensors(
    name: &str,
    expected: &HostTensor,
    found: &HostTensor,
) -> Result<Agreement, Incomparable> {
    if (expected.data_type, &expected.shape) != (found.data_type, &found.shape) {
        let text =
            |tensor: &HostTensor| format!("{} {}", tensor.data_type, opscope_run::shape_text(&tensor.shape));
        let (name, expected, found) = (name.to_owned(), text(expected), text(found));
        return Err(Incomparable::Type { name, expected, found });
    }
    let (a, b) = (numbers(expected), numbers(found));
    let finite = || a.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    let mean = finite().sum::<f64>() / finite().count().max(1) as f64;
    let mut agreement = Agreement::PERFECT;
    let (mut product, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (&x, &y) in a.iter().zip(&b) {
        // Two NaN, or infinities of the same sign, agree; one of them with a number doesn't at all.
        if x == y || (x.is_nan() && y.is_nan()) {
            if x.is_finite() {
                product += x * y;
                of_a += x * x;
                of_b += y * y;
            }
            continue;
        }
        let difference = (x - y).abs();
        let difference = if difference.is_nan() { f64::INFINITY } else { difference };
        agreement.absolute = agreement.absolute.max(difference);
        let scale = x.abs().max(mean).max(f64::MIN_POSITIVE);
        agreement.relative =
            agreement.relative.max(if scale.is_finite() { difference / scale } else { difference });
        if difference.is_finite() {
            product += x * y;
            of_a += x * x;
            of_b += y * y;
        }
    }
    agreement.cosine = match (of_a, of_b) {
        (0.0, 0.0) => 1.0,
        _ => (product / (of_a * of_b).sqrt()).clamp(-1.0, 1.0),
    };
    if agreement.cosine.is_nan() {
        agreement.cosine = 0.0;
    }
    agreement.top_1 = top_1(&expected.shape, &a, &b);
    Ok(agreement)
}

/// The elements as numbers, exact for all types of up to 53 bits.
fn numbers(tensor: &HostTensor) -> Vec<f64> {
    if tensor.data_type == DataType::Bool {
        return tensor.bytes.iter().map(|&byte| f64::from(byte != 0)).collect();
    }
    let dims = tensor.shape.iter().map(|&n| n as u64).collect();
    let data = TensorData { data_type: tensor.data_type, dims, bytes: tensor.bytes.clone().into() };
    data.to_f64s().unwrap_or_else(|| tensor.bytes.iter().map(|&byte| byte.into()).collect())
}

fn top_1(shape: &[usize], a: &[f64], b: &[f64]) -> Option<f64> {
    let axis = match shape.len() {
        0 => return None,
        2 | 4.. => 1,
        rank => rank - 1,
    };
    let (classes, behind) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let before = shape[..axis].iter().product::<usize>();
    if classes < 2 || before * behind == 0 {
        return None;
    }
    let best = |numbers: &[f64], start: usize| {
        let at = |class: usize| numbers.get(start + class * behind).copied().unwrap_or(f64::NAN);
        (0..classes).fold(0, |best, class| if at(class) > at(best) { class } else { best })
    };
    let starts = (0..before).flat_map(|outer| (0..behind).map(move |inner| outer * classes * behind + inner));
    let same = starts.filter(|&start| best(a, start) == best(b, start)).count();
    Some(same as f64 / (before * behind) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize], numbers: &[f32]) -> HostTensor {
        let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        HostTensor { data_type: DataType::Float32, shape: shape.to_vec(), bytes }
    }

    fn agreement(shape: &[usize], a: &[f32], b: &[f32]) -> Agreement {
        compare_tensors("y", &tensor(shape, a), &tensor(shape, b)).unwrap()
    }

    #[test]
    fn the_largest_difference_is_found_and_related_to_the_size_of_the_numbers() {
        let found = agreement(&[4], &[4.0, -8.0, 0.0, 4.0], &[4.0, -8.0, 0.5, 4.0]);
        // The third is 0 itself, so the mean magnitude of 4 stands in for it.
        assert_eq!((found.absolute, found.relative), (0.5, 0.125));
        assert_eq!(
            agreement(&[2], &[1.0, -2.0], &[1.0, -2.0]),
            Agreement { top_1: Some(1.0), ..Agreement::PERFECT }
        );
        assert!((agreement(&[2], &[1.0, 0.0], &[0.0, 1.0]).cosine).abs() < 1e-12);
        assert!((agreement(&[2], &[1.0, 2.0], &[-2.0, -4.0]).cosine + 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_finite_must_be_the_same() {
        let odd = [f32::NAN, f32::INFINITY, 1.0];
        assert_eq!(agreement(&[3], &odd, &odd).absolute, 0.0);
        assert_eq!(agreement(&[3], &odd, &[f32::NAN, 7.0, 1.0]).relative, f64::INFINITY);
        assert_eq!(agreement(&[3], &[0.0, 1.0, 2.0], &[f32::NAN, 1.0, 2.0]).absolute, f64::INFINITY);
    }

    #[test]
    fn the_best_class_is_looked_for_where_classes_lie() {
        let rows = agreement(&[2, 3], &[1.0, 5.0, 2.0, 9.0, 0.0, 1.0], &[1.0, 4.0, 2.0, 0.0, 0.0, 1.0]);
        assert_eq!(rows.top_1, Some(0.5));
        // Two classes at two places, where the first place agrees: the planes lie one behind the other.
        let planes = agreement(&[1, 2, 1, 2], &[1.0, 5.0, 0.0, 9.0], &[2.0, 5.0, 0.0, 1.0]);
        assert_eq!(planes.top_1, Some(0.5));
        assert_eq!(agreement(&[2, 1], &[1.0, 2.0], &[2.0, 1.0]).top_1, None);
    }

    #[test]
    fn other_shapes_types_and_missing_outputs_cannot_be_compared() {
        let error = compare_tensors("y", &tensor(&[2], &[0.0; 2]), &tensor(&[1, 2], &[0.0; 2])).unwrap_err();
        assert_eq!(error.to_string(), "the output `y` is float32 1x2 instead of float32 2");
        let one = [("y".to_owned(), tensor(&[1], &[0.0]))];
        assert!(matches!(compare(&one, &[]), Err(Incomparable::Missing { .. })));
    }

    #[test]
    fn of_several_comparisons_the_worst_holds() {
        let (a, b) = (agreement(&[2], &[1.0, 2.0], &[1.0, 2.5]), agreement(&[2], &[1.0, 2.0], &[9.0, 2.0]));
        let worst = a.worst(b);
        assert_eq!((worst.absolute, worst.top_1), (8.0, Some(0.0)));
    }
}
