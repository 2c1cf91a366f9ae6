//! Rows of an answer: the engine's answers are columns of Arrow's types, and everybody else's rows of values.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use opscope_formats::sqlite::Value;

/// A column, as one of the kinds of values that an answer has.
enum Column {
    Nothing,
    Integers(Int64Array),
    Reals(Float64Array),
    Texts(StringArray),
    Bytes(BinaryArray),
}

impl Column {
    fn new(array: &ArrayRef) -> Result<Self, ArrowError> {
        use DataType::{
            Binary, BinaryView, Boolean, Dictionary, FixedSizeBinary, Float16, Float32, Float64, Int8, Int16,
            Int32, Int64, LargeBinary, LargeUtf8, Null, UInt8, UInt16, UInt32, UInt64, Utf8, Utf8View,
        };
        Ok(match array.data_type() {
            Null => Self::Nothing,
            // True is 1, as SQLite has it.
            Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => {
                Self::Integers(cast(array, &Int64)?.as_primitive::<Int64Type>().clone())
            }
            UInt64 => {
                // A number beyond those of the others is a text, which keeps all its digits.
                let exact = CastOptions { safe: false, ..CastOptions::default() };
                match cast_with_options(array, &Int64, &exact) {
                    Ok(integers) => Self::Integers(integers.as_primitive::<Int64Type>().clone()),
                    Err(_) => Self::Texts(cast(array, &Utf8)?.as_string::<i32>().clone()),
                }
            }
            Float16 | Float32 | Float64 => {
                Self::Reals(cast(array, &Float64)?.as_primitive::<Float64Type>().clone())
            }
            Utf8 | LargeUtf8 | Utf8View => Self::Texts(cast(array, &Utf8)?.as_string::<i32>().clone()),
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => {
                Self::Bytes(cast(array, &Binary)?.as_binary::<i32>().clone())
            }
            Dictionary(_, values) => Self::new(&cast(array, values)?)?,
            _ => Self::Texts(spelled(array)?),
        })
    }

    fn value(&self, row: usize) -> Value {
        match self {
            Self::Integers(array) if array.is_valid(row) => Value::Integer(array.value(row)),
            Self::Reals(array) if array.is_valid(row) => Value::Real(array.value(row)),
            Self::Texts(array) if array.is_valid(row) => Value::Text(array.value(row).to_owned()),
            Self::Bytes(array) if array.is_valid(row) => Value::Blob(array.value(row).to_vec()),
            _ => Value::Null,
        }
    }
}

/// Lists, times and whatever else has no kind of its own, spelled out.
fn spelled(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options)?;
    let text = |row| array.is_valid(row).then(|| formatter.value(row).try_to_string()).transpose();
    (0..array.len()).map(text).collect()
}

/// The rows of a batch.
///
/// # Errors
/// When a column has no form as values.
pub(crate) fn rows(batch: &RecordBatch) -> Result<impl Iterator<Item = Vec<Value>> + use<>, ArrowError> {
    let columns = batch.columns().iter().map(Column::new).collect::<Result<Vec<_>, _>>()?;
    Ok((0..batch.num_rows()).map(move |row| columns.iter().map(|column| column.value(row)).collect()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{
        BooleanArray, Date32Array, Decimal128Array, DictionaryArray, NullArray, StringViewArray, UInt64Array,
    };
    use datafusion::arrow::datatypes::Int32Type;

    use super::*;

    fn values(array: impl Array + 'static) -> Vec<Value> {
        let array: ArrayRef = Arc::new(array);
        let batch = RecordBatch::try_from_iter_with_nullable([("column", array, true)]).unwrap();
        rows(&batch).unwrap().map(|mut row| row.remove(0)).collect()
    }

    #[test]
    fn every_type_of_an_answer_has_a_value() {
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(
            values(Int64Array::from(vec![Some(i64::MIN), None])),
            [Value::Integer(i64::MIN), Value::Null]
        );
        assert_eq!(values(BooleanArray::from(vec![true, false])), [Value::Integer(1), Value::Integer(0)]);
        assert_eq!(values(UInt64Array::from(vec![7])), [Value::Integer(7)]);
        assert_eq!(values(UInt64Array::from(vec![u64::MAX])), [text("18446744073709551615")]);
        assert_eq!(values(StringViewArray::from(vec![Some("MatMul"), None])), [text("MatMul"), Value::Null]);
        assert_eq!(
            values(DictionaryArray::<Int32Type>::from_iter(["a", "b", "a"])),
            ["a", "b", "a"].map(text)
        );
        assert_eq!(values(NullArray::new(2)), [Value::Null, Value::Null]);
        let decimal = Decimal128Array::from(vec![12_345]).with_precision_and_scale(9, 2).unwrap();
        assert_eq!(values(decimal), [text("123.45")]);
        assert_eq!(values(Date32Array::from(vec![0])), [text("1970-01-01")]);
    }
}
