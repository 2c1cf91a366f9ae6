//! An operator of either form, and the tensors that it stores.
//!
//! | field | form 1 | form 2 |
//! |---|---|---|
//! | type | 0, a hash | 0, its name; 1, a hash |
//! | name | 12 | 2 |
//! | parameters: their kind, they themselves | 1, 2 | 3, 4 |
//! | values that it reads, and makes | 3, – | 7, 8 |
//! | names of those that it makes | 5 | – |
//! | devices | 4 | 9 |
//! | stored tensors | 7 | 11 |
//!
//! A tensor has its name (0), sizes (1) and element type (3); its data are so many of the bytes (4) in front of the
//! graph, behind as many as are passed over (5), or lie in the table itself (6).

use std::borrow::Cow;

use opscope_trace::DataType;

use super::super::assembly::Tensor;
use super::super::flatbuffer::Table;
use super::types::{Outputs, of_hash};

/// The fields of an operator of the first form with its parameters, and the kind of those of a normalization.
const PARAMETER_KIND: usize = 1;
const PARAMETER: usize = 2;
const NORMALIZATION: u8 = 11;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    First,
    Second,
}

/// An operator.
pub(super) struct Operator<'b> {
    table: Table<'b>,
    form: Form,
    pub op_type: Cow<'b, str>,
    pub name: Cow<'b, str>,
    /// Whether the type is one of those whose names are known.
    pub is_known: bool,
    outputs: Outputs,
}

/// A tensor that an operator stores.
pub(super) struct Stored<'b> {
    pub tensor: Tensor,
    pub data: Data<'b>,
}

/// Where the data of a tensor lie.
pub(super) enum Data<'b> {
    /// Among the tensors in front of the graph: bytes to pass over, then so many.
    InFront { passed: u32, bytes: u32 },
    /// Here.
    Here(&'b [u8]),
}

impl<'b> Operator<'b> {
    pub fn of(table: Table<'b>, form: Form) -> Self {
        let hash = table.u64(if form == Form::First { 0 } else { 1 });
        let known = of_hash(hash);
        let stated = if form == Form::Second { table.text(0) } else { Cow::Borrowed("") };
        let op_type = match (stated.is_empty(), known) {
            (false, _) => stated,
            (true, Some(known)) => Cow::Borrowed(known.name),
            (true, None) => Cow::Owned(format!("type {hash:016x}")),
        };
        let is_known = known.is_some() || form == Form::Second;
        let outputs = known.map_or(Outputs::Unknown, |known| known.outputs);
        let name = table.text(if form == Form::First { 12 } else { 2 });
        Self { table, form, op_type, name, is_known, outputs }
    }

    fn field(&self, first: usize, second: usize) -> usize {
        if self.form == Form::First { first } else { second }
    }

    /// The type without a version: `ConvolutionV2` is a `Convolution`.
    pub fn kind(&self) -> &str {
        let name = &*self.op_type;
        let version = name.rfind('V').filter(|at| {
            let digits = &name[at + 1..];
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        &name[..version.unwrap_or(name.len())]
    }

    /// The numbers of the values that it reads.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = u32> + use<'b> {
        self.table.u32s(self.field(3, 7))
    }

    /// The numbers of the values that it makes, where the file has them.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = u32> + use<'b> {
        self.table.u32s(8)
    }

    /// How many values it makes, where only the type tells that.
    pub fn output_count(&self) -> Option<usize> {
        match self.outputs {
            Outputs::Count(count) => Some(count),
            Outputs::Tensors => Some(self.table.tables(7).len()),
            Outputs::InputsLessOne => Some(self.inputs().len().checked_sub(1)?.max(1)),
            Outputs::Normalized => match self.table.u8(PARAMETER_KIND) == NORMALIZATION {
                // Its parameters have the phase second: 0 is training.
                true => {
                    let is_used = self.table.table(PARAMETER).is_some_and(|parameter| parameter.u32(1) != 0);
                    Some(if is_used || self.inputs().len() < 5 { 4 } else { 6 })
                }
                false => None,
            },
            Outputs::Unknown => None,
        }
    }

    /// A name for people.
    pub fn label(&self) -> &str {
        if self.name.is_empty() { &self.op_type } else { &self.name }
    }

    /// The name of one of the values that it makes, in the first form; the other has them elsewhere.
    pub fn output_name(&self, place: usize) -> Option<Cow<'b, str>> {
        (self.form == Form::First).then(|| self.table.text_of(5, place)).flatten()
    }

    /// The device that it runs on.
    pub fn device(&self) -> Cow<'b, str> {
        let device = self.table.table_of(self.field(4, 9), 0);
        device.map_or(Cow::Borrowed(""), |device| device.text(0))
    }

    /// The name of one of the tensors that it stores, under which users give and find it.
    pub fn tensor_name(&self, place: usize) -> Option<Cow<'b, str>> {
        Some(self.table.table_of(self.field(7, 11), place)?.text(0))
    }

    /// The tensors that it stores; `None` stands for one that can't be read.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Option<Stored<'b>>> + use<'b> {
        let form = self.form;
        self.table.tables(self.field(7, 11)).map(move |table| table.map(|table| Stored::of(&table, form)))
    }
}

impl<'b> Stored<'b> {
    fn of(table: &Table<'b>, form: Form) -> Self {
        let data = match form {
            Form::First => Data::InFront { passed: table.u32(5), bytes: table.u32(4) },
            Form::Second => Data::Here(table.bytes(6)),
        };
        Self { tensor: described(table), data }
    }
}

/// Sizes (1) and element type (3) of a tensor or value. Sizes are left out where nobody knew them.
pub(super) fn described(table: &Table<'_>) -> Tensor {
    let dims: Vec<i64> = table.u32s(1).take(MOST_AXES).map(i64::from).collect();
    let data_type = table.table(3).map_or(DataType::Unknown, |data_type| element_type(data_type.u8(0)));
    Tensor { data_type, dims: (!dims.is_empty()).then_some(dims) }
}

/// MegEngine's tensors have seven.
const MOST_AXES: usize = 32;

/// The element type of a number of `DTypeEnum`.
fn element_type(number: u8) -> DataType {
    match number {
        0 => DataType::Float32,
        1 | 8 | 11 => DataType::Uint8,
        2 | 13 => DataType::Int8,
        3 | 16 => DataType::Int16,
        4 | 12 => DataType::Int32,
        6 => DataType::Int2,
        7 | 15 => DataType::Int4,
        9 => DataType::Float16,
        10 | 14 => DataType::Uint4,
        17 => DataType::BFloat16,
        18 => DataType::Bool,
        19 => DataType::Uint16,
        21 => DataType::Complex64,
        _ => DataType::Unknown,
    }
}
