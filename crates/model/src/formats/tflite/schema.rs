//! The tables of a model, by the fields of the public `schema.fbs`.
//!
//! | table | fields |
//! |---|---|
//! | Model | 0 version, 1 operator codes, 2 subgraphs, 3 description, 4 buffers, 6 metadata, 7 signatures |
//! | OperatorCode | 0 number of a byte, 1 name of a custom one, 3 number |
//! | SubGraph | 0 tensors, 1 inputs, 2 outputs, 3 operators, 4 name |
//! | Tensor | 0 sizes, 1 type, 2 buffer, 3 name, 4 quantization, 5 is variable, 6 sparsity, 7 sizes with open ones, 8 has sizes |
//! | Operator | 0 code, 1 inputs, 2 outputs, 3 kind of options, 4 options |
//! | Buffer | 0 data, or 1 offset and 2 size in the file |
//! | QuantizationParameters | 2 scales, 3 zero points, 6 axis |
//! | Metadata | 0 name, 1 buffer |
//! | SignatureDef | 2 key |

use opscope_trace::DataType;

use super::super::flatbuffer::{File, Table};
use super::operators::{CUSTOM, ELSEWHERE, name};

/// The dimensions that a tensor can have; the library knows eight.
const MOST_AXES: usize = 32;

/// A tensor.
#[derive(Debug, Default)]
pub(super) struct Tensor<'b> {
    pub name: String,
    pub data_type: DataType,
    /// The sizes that it has unless somebody resizes the inputs; `None` where they aren't stated.
    pub dims: Option<Vec<i64>>,
    /// The same with −1 for those that a resized input changes.
    pub open_dims: Option<Vec<i64>>,
    /// The data of a constant.
    pub data: &'b [u8],
    /// Whether it states no size, as a scalar does.
    pub states_no_size: bool,
    quantization: Option<Table<'b>>,
    /// Whether it keeps its content from one inference to the next.
    pub is_variable: bool,
    /// Whether its data are packed without zeros.
    pub is_sparse: bool,
}

/// How a tensor's numbers stand for real ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantization<'b> {
    table: Table<'b>,
    /// The axis that has a scale for each of its places, where there are several.
    pub axis: i64,
}

impl<'b> Quantization<'b> {
    pub fn scales(&self) -> impl ExactSizeIterator<Item = f32> + use<'b> {
        self.table.f32s(2)
    }

    pub fn zero_points(&self) -> impl ExactSizeIterator<Item = i64> + use<'b> {
        self.table.i64s(3)
    }
}

impl<'b> Tensor<'b> {
    /// Reads a tensor of a model.
    pub fn of(table: &Table<'b>, model: &Table<'b>, file: &'b File<'b>) -> Self {
        let sizes = |field| {
            let dims = table.i32s(field);
            (dims.len() <= MOST_AXES).then(|| dims.map(i64::from).collect::<Vec<i64>>())
        };
        let buffer = table.u32(2);
        // The first buffer is empty, and all tensors without data have it.
        let buffer = if buffer == 0 { None } else { model.table_of(4, buffer as usize) };
        let data = buffer.map_or(&[][..], |buffer| match buffer.u64(1) {
            // Large files have their data behind the tables.
            offset if offset > 1 => file.slice(offset, buffer.u64(2)).unwrap_or_default(),
            _ => buffer.bytes(0),
        });
        let quantization = table.table(4).filter(|it| it.f32s(2).len() > 0);
        let dims = sizes(0).filter(|dims| dims.iter().all(|size| *size >= 0));
        let open_dims = sizes(7).filter(|open| dims.as_ref().is_some_and(|dims| dims.len() == open.len()));
        let is_sparse = table.table(6).is_some();
        // A scalar and a tensor of unknown sizes look alike, unless the file says which it is or has the data.
        let is_known = table.bool(8) || !data.is_empty();
        Self {
            name: table.text(3).into_owned(),
            data_type: data_type(table.u8(1)),
            dims: dims.filter(|dims| !dims.is_empty() || is_known),
            open_dims: open_dims.filter(|dims| !dims.is_empty()),
            data,
            states_no_size: table.i32s(0).len() == 0,
            quantization,
            is_variable: table.bool(5),
            is_sparse,
        }
    }

    pub fn is_quantized(&self) -> bool {
        self.quantization.is_some()
    }

    /// How its numbers stand for real ones, if it has one scale or as many as its axis has places.
    pub fn quantization(&self) -> Option<Quantization<'b>> {
        let table = self.quantization?;
        let quantization = Quantization { table, axis: i64::from(table.i32(6).unwrap_or(0)) };
        let (scales, points) = (quantization.scales().len(), quantization.zero_points().len());
        let dims = self.dims.as_ref()?;
        let places = super::order::axis(quantization.axis, dims.len()).map(|axis| dims[axis]);
        let is_sound = scales == 1 || places == i64::try_from(scales).ok();
        (is_sound && [0, 1, scales].contains(&points)).then_some(quantization)
    }

    /// How many dimensions it has.
    pub fn rank(&self) -> Option<usize> {
        self.dims.as_ref().map(Vec::len)
    }

    /// How many bytes its elements take.
    pub fn bytes(&self) -> Option<u64> {
        let dims = self.dims.as_ref()?;
        let count =
            dims.iter().try_fold(1u64, |product, size| product.checked_mul(u64::try_from(*size).ok()?));
        self.data_type.bytes(count?)
    }

    /// The elements of a small constant of integers.
    pub fn integers(&self, most: usize) -> Option<Vec<i64>> {
        if self.data.is_empty() && self.bytes() != Some(0) || self.bytes() != Some(self.data.len() as u64) {
            return None;
        }
        let found: Vec<i64> = match self.data_type {
            DataType::Int32 => {
                let chunks = self.data.as_chunks().0.iter();
                chunks.take(most + 1).map(|chunk| i32::from_le_bytes(*chunk).into()).collect()
            }
            DataType::Int64 => self
                .data
                .as_chunks()
                .0
                .iter()
                .take(most + 1)
                .map(|chunk| i64::from_le_bytes(*chunk))
                .collect(),
            _ => return None,
        };
        (found.len() <= most).then_some(found)
    }
}

/// The element type of a number in a file.
pub(super) fn data_type(number: u8) -> DataType {
    const TYPES: [DataType; 21] = [
        DataType::Float32,
        DataType::Float16,
        DataType::Int32,
        DataType::Uint8,
        DataType::Int64,
        DataType::String,
        DataType::Bool,
        DataType::Int16,
        DataType::Complex64,
        DataType::Int8,
        DataType::Float64,
        DataType::Complex128,
        DataType::Uint64,
        // A handle and a list, which are no tensors.
        DataType::Unknown,
        DataType::Unknown,
        DataType::Uint32,
        DataType::Uint16,
        DataType::Int4,
        DataType::BFloat16,
        DataType::Int2,
        DataType::Uint4,
    ];
    TYPES.get(usize::from(number)).copied().unwrap_or_default()
}

/// The types of a model's operators, each at its number: their names, and whether those are custom ones.
pub(super) fn operator_types(model: &Table<'_>) -> impl Iterator<Item = String> {
    model.tables(1).map(|code| {
        let Some(code) = code else { return String::new() };
        // Either field may be missing or the lesser: whichever is greater counts.
        let byte = i32::from(code.u8(0).min(ELSEWHERE as u8));
        let number = code.i32(3).unwrap_or(0).max(byte);
        let custom = code.text(1);
        match name(number) {
            Some(_) if number == CUSTOM && !custom.is_empty() => custom.into_owned(),
            Some(name) => name.to_owned(),
            None => format!("BUILTIN_{number}"),
        }
    })
}

/// The options of an operator; it may have none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options<'b>(Option<Table<'b>>);

impl<'b> Options<'b> {
    /// The options of an operator's table.
    pub fn of(operator: &Table<'b>) -> Self {
        Self(if operator.u8(3) == 0 { None } else { operator.table(4) })
    }

    /// A number; it is 0 where the options lack it.
    pub fn int(&self, field: usize) -> i64 {
        self.stated(field).unwrap_or(0)
    }

    /// A number that the options may lack.
    pub fn stated(&self, field: usize) -> Option<i64> {
        self.0?.i32(field).map(i64::from)
    }

    /// A number of a byte, such as one of an enumeration; it is 0 where the options lack it.
    pub fn byte(&self, field: usize) -> u8 {
        self.0.map_or(0, |table| table.u8(field))
    }

    /// A truth.
    pub fn flag(&self, field: usize) -> bool {
        self.byte(field) != 0
    }

    /// A number; it is 0 where the options lack it.
    pub fn float(&self, field: usize) -> f32 {
        self.0.map_or(0.0, |table| table.f32(field))
    }

    /// A short list of numbers.
    pub fn ints(&self, field: usize) -> Option<Vec<i64>> {
        let list = self.0?.i32s(field);
        (list.len() > 0 && list.len() <= MOST_AXES).then(|| list.map(i64::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_the_schema() {
        assert_eq!(
            [0, 3, 9, 17, 99].map(data_type),
            [DataType::Float32, DataType::Uint8, DataType::Int8, DataType::Int4, DataType::Unknown]
        );
    }
}
