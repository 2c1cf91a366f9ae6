//! A layer at its place in the graph: its inputs, its data, and the operator that it becomes.

use opscope_trace::DataType;

use super::super::assembly::{self, Tensor};
use super::document::Layer;
use super::graph::{Plan, Reader, Source};
use super::weights::Constant;
use crate::proto::{AttributeProto, NodeProto, TensorProto};

/// An operator before it is added.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub op_type: String,
    /// Empty for ONNX's own.
    pub domain: &'static str,
    pub inputs: Vec<String>,
    pub attributes: Vec<AttributeProto>,
    /// Outputs from this one on are left out where nothing reads them.
    optional_from: Option<usize>,
    /// The output that is of 64 bits in ONNX, and here perhaps of 32.
    int64: Option<usize>,
}

impl Made {
    pub fn new(op_type: &str, inputs: Vec<String>) -> Self {
        Self { op_type: op_type.to_owned(), inputs, ..Self::default() }
    }

    pub fn in_domain(self, domain: &'static str) -> Self {
        Self { domain, ..self }
    }

    pub fn with(mut self, attributes: impl IntoIterator<Item = AttributeProto>) -> Self {
        self.attributes.extend(attributes);
        self
    }

    pub fn int64(self, output: usize) -> Self {
        Self { int64: Some(output), ..self }
    }

    /// Has outputs from this one on left out where nothing reads them.
    pub fn optional_from(self, output: usize) -> Self {
        Self { optional_from: Some(output), ..self }
    }

    pub fn is_optional(&self, output: usize) -> bool {
        self.optional_from.is_some_and(|from| output >= from)
    }

    pub fn is_int64_in_onnx(&self, output: usize) -> bool {
        self.int64 == Some(output)
    }
}

/// A layer that is being mapped.
pub(super) struct Site<'r, 'p, 'g, 'x> {
    reader: &'r mut Reader,
    plan: &'p mut Plan<'g, 'x>,
    place: usize,
    /// Operators before that of the layer itself.
    pub helpers: Vec<NodeProto>,
}

impl<'r, 'p, 'g, 'x> Site<'r, 'p, 'g, 'x> {
    pub fn new(reader: &'r mut Reader, plan: &'p mut Plan<'g, 'x>, place: usize) -> Self {
        Self { reader, plan, place, helpers: Vec::new() }
    }

    pub fn layer(&self) -> &'g Layer<'x> {
        &self.plan.graph.layers[self.place]
    }

    /// The number of the set of operations in which the layer's meaning was laid down; 0 for others' sets.
    pub fn opset(&self) -> u32 {
        self.layer().opset.strip_prefix("opset").and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// How many inputs the layer has; none of its values where nothing says what they read.
    pub fn inputs(&self) -> usize {
        self.layer().inputs.len()
    }

    fn source(&self, input: usize) -> Option<Source> {
        self.plan.sources.get(&(self.place, input)).copied()
    }

    /// The value of an input, empty where there is none.
    pub fn value(&mut self, input: usize) -> String {
        self.source(input).map(|source| self.reader.value(self.plan, source)).unwrap_or_default()
    }

    /// The values of all inputs.
    pub fn values(&mut self) -> Vec<String> {
        (0..self.inputs()).map(|input| self.value(input)).collect()
    }

    /// The sizes of an input, −1 for those that are open.
    pub fn dims(&self, input: usize) -> Option<&[i64]> {
        self.plan.input(self.place, input)?.dims.as_deref()
    }

    pub fn rank(&self, input: usize) -> Option<usize> {
        self.dims(input).map(<[i64]>::len)
    }

    pub fn data_type(&self, input: usize) -> DataType {
        self.plan.input(self.place, input).map(|port| port.data_type).unwrap_or_default()
    }

    /// The sizes of an output.
    pub fn output_dims(&self, output: usize) -> Option<&[i64]> {
        self.layer().outputs.get(output)?.dims.as_deref()
    }

    pub fn output_type(&self, output: usize) -> DataType {
        self.layer().outputs.get(output).map(|port| port.data_type).unwrap_or_default()
    }

    /// The constant that an input is.
    fn constant(&mut self, input: usize) -> Option<Constant> {
        let source = self.source(input)?;
        let is_constant = self.plan.graph.layers[source.layer].op_type == "Const";
        is_constant.then(|| self.reader.constant(self.plan, source))
    }

    /// Whether an input is a constant whose data aren't there.
    pub fn is_unread(&mut self, input: usize) -> bool {
        self.constant(input).is_some_and(|constant| constant.tensor.raw_data.is_none())
    }

    /// The elements of an input that is a short constant of integers.
    pub fn ints(&mut self, input: usize) -> Option<Vec<i64>> {
        self.constant(input)?.ints()
    }

    /// The element of an input that is a constant of one integer.
    pub fn int(&mut self, input: usize) -> Option<i64> {
        self.ints(input).filter(|values| values.len() == 1)?.first().copied()
    }

    /// The element of an input that is a constant of one number.
    pub fn float(&mut self, input: usize) -> Option<f32> {
        let values = self.constant(input)?.floats().filter(|values| values.len() == 1)?;
        values.first().map(|value| *value as f32)
    }

    /// An axis that an input states, from the beginning.
    pub fn axis(&mut self, input: usize) -> Option<i64> {
        self.int(input)
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.layer().data.get(key).map(|text| text.trim().to_ascii_lowercase())
    }

    /// Whether an attribute is one of some words, or isn't there.
    pub fn is_or_absent(&self, key: &str, words: &[&str]) -> bool {
        self.text(key).is_none_or(|text| words.contains(&text.as_str()))
    }

    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.layer().data.get(key)?.trim().parse().ok()
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        self.text(key).map(|text| matches!(text.as_str(), "true" | "1"))
    }

    /// A list of integers among the data; `None` where it isn't there or is none.
    pub fn list(&self, key: &str) -> Option<Vec<i64>> {
        let text = self.layer().data.get(key)?;
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.parse().ok()).collect()
    }

    fn name(&self, word: &str) -> String {
        format!("{}:{word}", self.plan.name(self.place))
    }

    /// A stored list of 64-bit integers.
    pub fn store_ints(&mut self, word: &str, values: &[i64]) -> String {
        let tensor = TensorProto {
            int64_data: values.to_vec(),
            ..assembly::weight("", DataType::Int64, &[values.len() as i64])
        };
        self.store(word, tensor)
    }

    /// A stored number of a type; `None` for types that numbers aren't made of here.
    pub fn store_number(&mut self, word: &str, data_type: DataType, value: f64) -> Option<String> {
        let bytes = match data_type {
            DataType::Float64 => value.to_le_bytes().to_vec(),
            DataType::Float32 => (value as f32).to_le_bytes().to_vec(),
            DataType::Float16 => half(value as f32).to_le_bytes().to_vec(),
            DataType::BFloat16 => ((value as f32).to_bits().wrapping_shr(16) as u16).to_le_bytes().to_vec(),
            DataType::Int64 => (value as i64).to_le_bytes().to_vec(),
            DataType::Int32 => (value as i32).to_le_bytes().to_vec(),
            DataType::Int8 => (value as i8).to_le_bytes().to_vec(),
            DataType::Uint8 => (value as u8).to_le_bytes().to_vec(),
            _ => return None,
        };
        let tensor = TensorProto { raw_data: Some(bytes.into()), ..assembly::weight("", data_type, &[]) };
        Some(self.store(word, tensor))
    }

    fn store(&mut self, word: &str, tensor: TensorProto) -> String {
        let name = self.reader.fresh(self.name(word));
        self.reader.assembly.weight(TensorProto { name: Some(name.clone()), ..tensor });
        name
    }

    /// An input with other sizes: the same data where it is a constant, else by an operator before.
    pub fn reshaped(&mut self, input: usize, word: &str, dims: &[i64]) -> String {
        if let Some(Constant { tensor, .. }) = self.constant(input) {
            return self.store(word, TensorProto { dims: dims.to_vec(), ..tensor });
        }
        let shape = self.store_ints(&format!("{word} shape"), dims);
        let inputs = vec![self.value(input), shape];
        let data_type = self.data_type(input);
        self.before(word, Made::new("Reshape", inputs), Tensor { data_type, dims: Some(dims.to_vec()) })
    }

    /// An operator before that of the layer, with its value.
    pub fn before(&mut self, word: &str, made: Made, tensor: Tensor) -> String {
        let name = self.name(word);
        let value = self.reader.fresh(name.clone());
        self.reader.assembly.declare(&value, &tensor);
        self.helpers.push(NodeProto {
            name: Some(name),
            op_type: Some(made.op_type),
            input: made.inputs,
            output: vec![value.clone()],
            attribute: made.attributes,
            ..Default::default()
        });
        value
    }
}

/// A number in half precision, rounded to the nearest: 1 bit of sign, 5 of exponent, 10 of fraction.
fn half(value: f32) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    let bits = if size.is_nan() {
        0x7e00
    } else if size >= 65520.0 {
        0x7c00
    } else if size < 2f32.powi(-14) {
        (size * 2f32.powi(24)).round_ties_even() as u16
    } else {
        let exponent = (size.to_bits() >> 23) as i32 - 127;
        let fraction = (size / 2f32.powi(exponent) - 1.0) * 1024.0;
        // A fraction that rounds up to one carries into the exponent.
        ((exponent + 15) as u16) * 1024 + fraction.round_ties_even() as u16
    };
    sign | bits
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn numbers_are_rounded_to_half_precision() {
        let cases = [(0.0, 0), (-2.0, 0xc000), (6.0, 0x4600), (65504.0, 0x7bff), (1e9, 0x7c00), (1e-7, 2)];
        for (value, expected) in cases {
            assert_eq!(half(value), expected, "{value}");
        }
        assert_eq!(half(2049.0), 0x6800, "half way, to the even one");
        assert_eq!(half(4095.9), 0x6c00, "into the next exponent");
    }
}
