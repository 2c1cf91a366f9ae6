//! Operators that make tensors out of little or nothing, or out of other tensors' dimensions.

use opscope_trace::DataType;

use super::fact::{Dims, Fact, Number};
use super::operator::{Gap, Inferred, Op, contradiction, size_of};
use crate::proto::{TensorProto, data_type_from_onnx};

/// `Constant`: the tensor is an attribute, of which there are several forms.
pub(super) fn constant(op: &Op) -> Inferred {
    let attributes = op.attributes();
    let fact = if let Some(tensor) = attributes.tensor("value") {
        stored(op, tensor)
    } else if let Some(n) = attributes.int("value_int") {
        Fact::scalar(DataType::Int64).with_elements(vec![Some(Number::Int(n))])
    } else if let Some(list) = attributes.ints("value_ints") {
        Fact::integers(list.iter().copied().map(Some))
    } else if let Some(x) = attributes.float("value_float") {
        Fact::scalar(DataType::Float32).with_elements(vec![Some(Number::Float(x.into()))])
    } else if let Some(list) = attributes.floats("value_floats") {
        let elements: Vec<_> = list.iter().map(|&x| Some(Number::Float(x.into()))).collect();
        Fact::known(DataType::Float32, &[list.len() as u64]).with_elements(elements)
    } else if attributes.has("value_string") {
        Fact::scalar(DataType::String)
    } else if let Some(list) = attributes.get("value_strings") {
        Fact::known(DataType::String, &[list.strings.len() as u64])
    } else {
        let sparse = attributes.get("sparse_value").and_then(|attribute| attribute.sparse_tensor.as_ref());
        let sparse = sparse.ok_or(Gap::Unknown)?;
        let values = sparse.values.as_ref().ok_or(Gap::Unknown)?;
        Fact::new(data_type_from_onnx(values.data_type()), dims_of(&sparse.dims))
    };
    Ok(vec![fact])
}

/// The facts about a tensor that the model stores.
fn stored(op: &Op, tensor: &TensorProto) -> Fact {
    let fact = Fact::new(data_type_from_onnx(tensor.data_type()), dims_of(&tensor.dims));
    if fact.followable().is_none() {
        return fact;
    }
    match op.inference.model.tensor_data(tensor) {
        Ok(data) => fact.with_data(&data),
        Err(_) => fact,
    }
}

/// Dimensions as a file has them; impossible ones aren't known.
pub(super) fn dims_of(dims: &[i64]) -> Dims {
    dims.iter().map(|&n| u64::try_from(n).ok()).collect()
}

/// `ConstantOfShape`: one value over and over.
pub(super) fn constant_of_shape(op: &Op) -> Inferred {
    let value = op.attributes().tensor("value").map(|tensor| stored(op, tensor));
    let (data_type, element) = match &value {
        Some(fact) => {
            let element = fact.elements.as_ref().and_then(|elements| elements.first().copied().flatten());
            (fact.data_type, element)
        }
        None => (DataType::Float32, Some(Number::Float(0.0))),
    };
    let output = Fact::new(data_type, shape_from(op, 0)?);
    Ok(vec![match output.followable() {
        Some(count) => output.with_elements(vec![element; count]),
        None => output,
    }])
}

/// Dimensions that an input lists; if only the length of the list is known, as many unknown ones.
fn shape_from(op: &Op, input: usize) -> Inferred<Dims> {
    match op.integers(input) {
        Ok(list) => Ok(list.into_iter().map(|n| n.and_then(|n| u64::try_from(n).ok())).collect()),
        Err(_) => match op.dims(input)? {
            [Some(rank)] if *rank <= 64 => Ok(vec![None; *rank as usize]),
            _ => Err(Gap::Unknown),
        },
    }
}

/// `Shape`: the dimensions as a vector, or some of them from version 15 on.
pub(super) fn shape(op: &Op) -> Inferred {
    let Ok(dims) = op.dims(0) else { return Ok(vec![Fact::new(DataType::Int64, [None])]) };
    let rank = dims.len() as i64;
    let bound = |n: i64| if n < 0 { n.saturating_add(rank) } else { n }.clamp(0, rank) as usize;
    let (start, end) = (bound(op.int("start", 0)), bound(op.int("end", rank)));
    let chosen = dims.get(start..end).unwrap_or(&[]);
    Ok(vec![Fact::integers(chosen.iter().map(|dim| dim.and_then(|n| i64::try_from(n).ok())))])
}

/// `Size`: the number of elements.
pub(super) fn size(op: &Op) -> Inferred {
    let count = op.dims(0).ok().and_then(size_of).and_then(|count| i64::try_from(count).ok());
    Ok(vec![Fact::scalar(DataType::Int64).with_elements(vec![count.map(Number::Int)])])
}

/// `Range`: numbers from a start up to a limit, exclusive, in steps.
pub(super) fn range(op: &Op) -> Inferred {
    let data_type = op.data_type(0);
    let bound = |input| op.elements(input).and_then(|elements| elements.first().copied().flatten());
    let (Some(start), Some(limit), Some(step)) = (bound(0), bound(1), bound(2)) else {
        return Ok(vec![Fact::new(data_type, [None])]);
    };
    let count = match (start, limit, step) {
        (_, _, Number::Int(0)) => return Err(contradiction!("a step of 0")),
        (Number::Int(start), Number::Int(limit), Number::Int(step)) => {
            let (distance, step) = (i128::from(limit) - i128::from(start), i128::from(step));
            let (distance, step) = (distance * step.signum(), step.abs());
            u64::try_from((distance + step - 1).max(0) / step).ok()
        }
        _ => {
            let distance = match data_type {
                // The distance is rounded before it is divided.
                DataType::Float32 => f64::from(limit.float() as f32 - start.float() as f32),
                _ => limit.float() - start.float(),
            };
            let count = (distance / step.float()).ceil();
            count.is_finite().then_some(count.max(0.0) as u64)
        }
    };
    let output = Fact::new(data_type, [count]);
    let (Some(count), Some(start), Some(step)) = (output.followable(), start.int(), step.int()) else {
        return Ok(vec![output]);
    };
    let element = |place: usize| start.checked_add(step.checked_mul(place as i64)?).map(Number::Int);
    Ok(vec![output.with_elements((0..count).map(element).collect::<Vec<_>>())])
}

/// `RandomNormal` and `RandomUniform`.
pub(super) fn random(op: &Op) -> Inferred {
    let dims = op.attributes().ints("shape").ok_or(Gap::Unknown)?;
    let data_type = op.type_attribute("dtype").unwrap_or(DataType::Float32);
    Ok(vec![Fact::new(data_type, dims_of(dims))])
}

/// `RandomNormalLike`, `RandomUniformLike`, `Bernoulli` and `EyeLike`: the input's dimensions, and its
/// type unless another is given.
pub(super) fn like(op: &Op) -> Inferred {
    let data_type = op.type_attribute("dtype").unwrap_or(op.data_type(0));
    Ok(vec![Fact { data_type, ..op.fact(0)?.without_elements() }])
}

/// `Multinomial`: samples for each row of probabilities.
pub(super) fn multinomial(op: &Op) -> Inferred {
    let [batch, _] = op.dims_of_rank(0)?;
    let samples = u64::try_from(op.int("sample_size", 1)).ok();
    let data_type = op.type_attribute("dtype").unwrap_or(DataType::Int32);
    Ok(vec![Fact::new(data_type, [batch, samples])])
}

/// `HannWindow`, `HammingWindow` and `BlackmanWindow`.
pub(super) fn window(op: &Op) -> Inferred {
    let size = op.integer(0).ok().and_then(|size| u64::try_from(size).ok());
    let data_type = op.type_attribute("output_datatype").unwrap_or(DataType::Float32);
    Ok(vec![Fact::new(data_type, [size])])
}

/// `MelWeightMatrix`: a row for each bin of the spectrum, a column for each of the mel scale.
pub(super) fn mel_weights(op: &Op) -> Inferred {
    let at = |input| op.integer(input).ok().and_then(|n| u64::try_from(n).ok());
    let data_type = op.type_attribute("output_datatype").unwrap_or(DataType::Float32);
    Ok(vec![Fact::new(data_type, [at(1).map(|length| length / 2 + 1), at(0)])])
}

/// `DFT`: the transformed axis keeps its length unless another is given; half of it is enough for a
/// real signal, and the last dimension holds real and imaginary parts.
pub(super) fn dft(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    let chosen =
        if op.has(2) { op.integer(2)? } else { op.int("axis", if op.version < 20 { 1 } else { -2 }) };
    let axis = super::operator::axis(chosen, dims.len())?;
    if op.has(1) {
        dims[axis] = op.integer(1).ok().and_then(|length| u64::try_from(length).ok());
    }
    let (inverse, half) = (op.flag("inverse"), op.flag("onesided"));
    match (half, inverse) {
        (true, false) => dims[axis] = dims[axis].map(|length| length / 2 + 1),
        // From half a spectrum to a signal of even length, unless its length is given.
        (true, true) if !op.has(1) => {
            dims[axis] = dims[axis].and_then(|bins| bins.checked_sub(1)?.checked_mul(2));
        }
        _ => {}
    }
    if let Some(last) = dims.last_mut() {
        *last = Some(if half && inverse { 1 } else { 2 });
    }
    op.one(0, dims)
}

/// `STFT`: a spectrum for each frame that fits into the signal.
pub(super) fn stft(op: &Op) -> Inferred {
    let (batch, length) = match op.dims(0)? {
        [batch, length, ..] => (*batch, *length),
        _ => return Err(contradiction!("a signal of fewer than two dimensions")),
    };
    let at = |input| op.integer(input).ok().and_then(|n| u64::try_from(n).ok());
    let frame = if op.has(3) { at(3) } else { op.dim(2, 0) };
    let frames = match (length, frame, at(1)) {
        (Some(length), Some(frame), Some(step)) if step > 0 && frame <= length => {
            Some((length - frame) / step + 1)
        }
        _ => None,
    };
    let bins = if op.int("onesided", 1) != 0 { frame.map(|frame| frame / 2 + 1) } else { frame };
    op.one(0, [batch, frames, bins, Some(2)])
}

/// `ImageDecoder`: the image's size is in its data.
pub(super) fn image_decoder(op: &Op) -> Inferred {
    let channels = if op.attributes().string("pixel_format") == Some("Grayscale") { 1 } else { 3 };
    Ok(vec![Fact::new(DataType::Uint8, [None, None, Some(channels)])])
}

/// `TfIdfVectorizer`: a count for each n-gram.
pub(super) fn tf_idf(op: &Op) -> Inferred {
    let largest = op.attributes().ints("ngram_indexes").and_then(|list| list.iter().max());
    let count = largest.and_then(|n| u64::try_from(n.checked_add(1)?).ok());
    let dims = match op.dims(0)? {
        [batch, _] => vec![*batch, count],
        _ => vec![count],
    };
    Ok(vec![Fact::new(DataType::Float32, dims)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn constants_come_in_several_forms() {
        let ints = Case::new("Constant").ints("value_ints", &[4, 5]);
        assert_eq!(ints.elements(), dims(&[4, 5]));
        assert_eq!(Case::new("Constant").int("value_int", 4).types(), [(DataType::Int64, dims(&[]))]);
        assert_eq!(
            Case::new("Constant").string("value_string", "x").types(),
            [(DataType::String, dims(&[]))]
        );
    }

    #[test]
    fn the_dimensions_of_a_tensor_become_elements() {
        assert_eq!(Case::new("Shape").input(&[2, -1, 4]).elements(), Some(vec![Some(2), None, Some(4)]));
        assert_eq!(Case::new("Shape").input(&[2, 3, 4]).int("start", -2).elements(), dims(&[3, 4]));
        assert_eq!(
            Case::new("Shape").input(&[2, 3, 4]).int("start", 1).int("end", -1).elements(),
            dims(&[3])
        );
        assert_eq!(Case::new("Size").input(&[2, 3]).types(), [(DataType::Int64, dims(&[]))]);
    }

    #[test]
    fn ranges_count_their_steps() {
        let range = |start, limit, step| Case::new("Range").scalar(start).scalar(limit).scalar(step);
        assert_eq!(range(3, 10, 4).elements(), dims(&[3, 7]));
        assert_eq!(range(10, 3, -3).elements(), dims(&[10, 7, 4]));
        assert_eq!(range(3, 10, -1).first(), dims(&[0]));
        assert_eq!(range(0, i64::MAX, 1).first(), dims(&[i64::MAX as u64]));
        let unknown = Case::new("Range").scalar(0).typed(DataType::Int64, &[]).scalar(1);
        assert_eq!(unknown.first(), Some(vec![None]));
    }

    #[test]
    fn random_tensors_have_the_dimensions_they_are_told() {
        let normal = Case::new("RandomNormal").ints("shape", &[2, 3]).int("dtype", 11);
        assert_eq!(normal.types(), [(DataType::Float64, dims(&[2, 3]))]);
        assert_eq!(
            Case::new("EyeLike").input(&[3, 4]).int("dtype", 7).types(),
            [(DataType::Int64, dims(&[3, 4]))]
        );
        assert_eq!(
            Case::new("Multinomial").input(&[3, 10]).int("sample_size", 4).types(),
            [(DataType::Int32, dims(&[3, 4]))]
        );
    }

    #[test]
    fn spectra_have_half_the_bins_of_a_real_signal() {
        let dft = Case::new("DFT").version(20).input(&[2, 16, 1]).int("onesided", 1);
        assert_eq!(dft.first(), dims(&[2, 9, 2]));
        let inverse = Case::new("DFT").version(20).input(&[2, 9, 2]).int("onesided", 1).int("inverse", 1);
        assert_eq!(inverse.first(), dims(&[2, 16, 1]));
        let stft = Case::new("STFT").input(&[1, 128, 1]).scalar(8).skip().scalar(16);
        assert_eq!(stft.first(), dims(&[1, 15, 9, 2]));
        assert_eq!(Case::new("HannWindow").scalar(10).first(), dims(&[10]));
        let mel =
            Case::new("MelWeightMatrix").scalar(8).scalar(16).scalar(8192).floats(&[0.0]).floats(&[4096.0]);
        assert_eq!(mel.first(), dims(&[9, 8]));
    }
}
