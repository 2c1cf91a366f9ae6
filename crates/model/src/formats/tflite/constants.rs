//! Constants: stored in whichever order of axes they are read in, and small ones made for ONNX's operators.

use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::{self, int};
use super::network::Network;
use super::order::Order;
use crate::proto::data_type_to_onnx;

/// How a constant is unpacked wherever it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unpacking {
    /// From half precision.
    Widened,
    /// From integers with a scale.
    Dequantized,
    /// From a list of what is not zero.
    Densified,
}

/// Stored scales and zero points.
pub(super) struct Scales {
    /// Their names.
    pub inputs: Vec<String>,
    /// The axis of the file that they go along, where there are several.
    pub axis: Option<usize>,
}

impl Network<'_> {
    /// The integers of a small constant.
    pub fn integers(&self, tensor: Option<usize>, most: usize) -> Option<Vec<i64>> {
        let tensor = tensor.filter(|tensor| self.is_constant(*tensor))?;
        self.tensors.get(tensor)?.integers(most)
    }

    /// Whether a tensor is stored in the file.
    pub fn is_constant(&self, tensor: usize) -> bool {
        let Some(stored) = self.tensors.get(tensor) else { return false };
        let has_data = !stored.data.is_empty() || stored.bytes() == Some(0);
        has_data && stored.dims.is_some() && !self.is_made(tensor) && !stored.is_variable
    }

    /// Whether a tensor is stored, or made of one that is when it is read.
    pub fn is_stored(&self, tensor: usize) -> bool {
        self.is_constant(tensor) || self.unpacked.contains_key(&tensor)
    }

    /// The value of a tensor in the order of an operator that spreads it over a tensor of more dimensions.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn read_spread(
        &mut self,
        tensor: Option<usize>,
        order: Order,
        rank: usize,
    ) -> Result<String, FormatError> {
        match tensor.filter(|tensor| order != Order::File && self.is_stored(*tensor)) {
            Some(tensor) => self.stored(tensor, order, rank),
            None => self.read(tensor, order),
        }
    }

    /// The value of a constant, with ones in front of its sizes up to a rank.
    pub(super) fn stored(&mut self, tensor: usize, order: Order, rank: usize) -> Result<String, FormatError> {
        if let Some(value) = self.constants.get(&(tensor, order, rank)) {
            return Ok(value.clone());
        }
        self.assembly.count(1 + rank)?;
        let found = &self.tensors[tensor];
        let dims = found.dims.clone().unwrap_or_default();
        let ones = rank.saturating_sub(dims.len());
        let dims: Vec<i64> = std::iter::repeat_n(1, ones).chain(dims).collect();
        let sizes = order.sizes(&dims);
        let name = self.name_of(tensor, order);
        if let Some((packed, unpacking)) = self.unpacked.get(&tensor).copied() {
            let declared = assembly::Tensor { data_type: self.tensors[tensor].data_type, dims: Some(sizes) };
            self.assembly.declare(&name, &declared);
            let input = self.stored(packed, order, rank)?;
            self.unpack(&name, packed, input, unpacking, (order, rank, ones))?;
        } else {
            let found = &self.tensors[tensor];
            let mut weight = assembly::weight(&name, found.data_type, &sizes);
            if order.keeps_data(&dims) && !found.is_sparse && found.data_type.bits().is_some() {
                if found.bytes() == Some(found.data.len() as u64) {
                    weight.raw_data = Some(self.bytes.slice_ref(found.data));
                } else {
                    self.unfit.add(|| found.name.clone());
                }
            }
            self.note(tensor, &name);
            self.assembly.weight(weight);
        }
        self.constants.insert((tensor, order, rank), name.clone());
        Ok(name)
    }

    /// Notes which values are no weights, and which the file has packed.
    fn note(&mut self, tensor: usize, name: &str) {
        let found = &self.tensors[tensor];
        let provenance = &mut self.assembly.provenance;
        // The biases of quantized operators have scales.
        if found.data_type == DataType::Int32 && !found.is_quantized() {
            provenance.lists.insert(name.to_owned());
        }
        if found.is_sparse {
            provenance.packed.insert(name.to_owned(), found.data.len() as u64);
        }
    }

    fn unpack(
        &mut self,
        name: &str,
        packed: usize,
        input: String,
        unpacking: Unpacking,
        (order, rank, ones): (Order, usize, usize),
    ) -> Result<(), FormatError> {
        let outputs = vec![name.to_owned()];
        match unpacking {
            Unpacking::Widened => {
                let to = int("to", data_type_to_onnx(DataType::Float32).into());
                self.node("Cast", name.to_owned(), vec![input], outputs, vec![to])
            }
            Unpacking::Dequantized => {
                let Some(Scales { inputs, axis }) = self.scales(name, packed)? else { return Ok(()) };
                let inputs = std::iter::once(input).chain(inputs).collect();
                let axis = axis.map(|axis| int("axis", order.place_of(axis + ones, rank) as i64));
                let attributes = axis.into_iter().collect();
                self.node("DequantizeLinear", name.to_owned(), inputs, outputs, attributes)
            }
            Unpacking::Densified => self.own_node("DENSIFY", name.to_owned(), vec![input], outputs),
        }
    }

    /// The scales and zero points of a tensor as stored lists; `None` where it has none that fit its sizes.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn scales(&mut self, label: &str, tensor: usize) -> Result<Option<Scales>, FormatError> {
        let found = &self.tensors[tensor];
        let (Some(rank), Some(quantization)) = (found.rank(), found.quantization()) else { return Ok(None) };
        let data_type = found.data_type;
        let count = quantization.scales().len();
        self.assembly.count(count)?;
        let axis = super::order::axis(quantization.axis, rank).filter(|_| count > 1);
        let dims: Vec<i64> = axis.map(|_| count as i64).into_iter().collect();
        let name = self.fresh(format!("{label}:scale"));
        let mut scale = assembly::weight(&name, DataType::Float32, &dims);
        scale.float_data.extend(quantization.scales());
        self.assembly.weight(scale);
        let zero = self.fresh(format!("{label}:zero_point"));
        let mut points = assembly::weight(&zero, data_type, &dims);
        // Where there are none they are 0, and a single one holds for all.
        let last = quantization.zero_points().last().unwrap_or(0);
        let filled = quantization.zero_points().chain(std::iter::repeat(last)).take(count);
        points.int32_data = filled.map(|point| i32::try_from(point).unwrap_or_default()).collect();
        self.assembly.weight(points);
        Ok(Some(Scales { inputs: vec![name, zero], axis }))
    }

    /// Has a constant be unpacked wherever it is read.
    pub fn unpack_later(&mut self, tensor: usize, packed: usize, unpacking: Unpacking) {
        self.unpacked.insert(tensor, (packed, unpacking));
    }

    /// A stored list of places, in the type that the file's operators have for them.
    pub fn places(&mut self, label: &str, values: &[i64]) -> String {
        let name = self.fresh(format!("{label}:places"));
        let mut stored = assembly::weight(&name, DataType::Int32, &[values.len() as i64]);
        stored.int32_data = values.iter().map(|value| i32::try_from(*value).unwrap_or_default()).collect();
        self.assembly.made_value(stored);
        name
    }

    /// A stored list of integers.
    pub fn list(&mut self, label: &str, word: &str, values: &[i64]) -> String {
        let name = self.fresh(format!("{label}:{word}"));
        self.assembly.made_value(assembly::list(&name, values));
        name
    }
}
