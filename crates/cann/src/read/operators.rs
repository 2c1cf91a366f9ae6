//! Operators as tables and databases describe them, each entered once.

use std::collections::HashMap;

use opscope_trace::{
    ModelId, Operator, OperatorId, StringId, StringTable, Tensor, TensorId, Trace, reads_shapes_only,
};

use crate::vocabulary;

/// The inputs or the outputs of an operator, as the texts of three columns.
///
/// Shapes are `"1,3,416,416;16"`, with the quotes as part of the text; types and formats are lists
/// with semicolons as well. `N/A` is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Side {
    pub shapes: StringId,
    pub types: StringId,
    pub formats: StringId,
}

/// The identity of an operator. The texts belong to a table of their own, because most of them have
/// no place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Described {
    pub model: Option<ModelId>,
    pub name: StringId,
    pub op_type: StringId,
    pub inputs: Side,
    pub outputs: Side,
    pub dynamic: Option<bool>,
}

/// The operators that were entered so far.
#[derive(Default)]
pub(super) struct Operators {
    known: HashMap<Described, OperatorId>,
}

impl Operators {
    /// The operator of a description, whose texts are in `texts`.
    pub fn find(&mut self, trace: &mut Trace, texts: &StringTable, described: Described) -> OperatorId {
        *self.known.entry(described).or_insert_with(|| enter(trace, texts, &described))
    }
}

fn enter(trace: &mut Trace, texts: &StringTable, described: &Described) -> OperatorId {
    let name = trace.strings.intern(texts.get(described.name));
    let op_type = texts.get(described.op_type);
    let op_type = vocabulary::known(op_type).map_or(name, |word| trace.strings.intern(word));
    let (first_input, input_count) = enter_side(trace, texts, &described.inputs);
    let (first_output, output_count) = enter_side(trace, texts, &described.outputs);
    let operator = Operator {
        model: described.model,
        first_input,
        input_count,
        first_output,
        output_count,
        dynamic: described.dynamic,
        ..Operator::new(name, op_type)
    };
    let operator = with_bytes(trace, operator);
    trace.operators.push(operator)
}

/// The operator with the bytes that it reads of its inputs and writes of its outputs, where these were described.
pub(crate) fn with_bytes(trace: &Trace, operator: Operator) -> Operator {
    if operator.input_count + operator.output_count == 0 {
        return operator;
    }
    let bytes_read = match reads_shapes_only(trace.strings.get(operator.op_type)) {
        true => Some(0),
        false => trace.tensor_bytes(operator.inputs()),
    };
    Operator { bytes_read, bytes_written: trace.tensor_bytes(operator.outputs()), ..operator }
}

fn enter_side(trace: &mut Trace, texts: &StringTable, side: &Side) -> (Option<TensorId>, u32) {
    let [shapes, types, formats] = [side.shapes, side.types, side.formats].map(|id| parts(texts.get(id)));
    let count = shapes.len().max(types.len());
    trace.tensors.push_all((0..count).map(|index| {
        let shape = shapes.get(index).map(|shape| dimensions(shape));
        let layout = formats.get(index).and_then(|format| vocabulary::layout(format));
        Tensor {
            name: None,
            data_type: types.get(index).map(|word| vocabulary::data_type(word)).unwrap_or_default(),
            dimensions: shape.map(|shape| trace.dimensions.push(shape)),
            layout: layout.map(|format| trace.strings.intern(format)),
            parameter: false,
        }
    }))
}

/// The parts of a list; none where there is nothing to say.
fn parts(text: &str) -> Vec<&str> {
    let known = vocabulary::known(text.trim());
    known.map_or(Vec::new(), |text| text.trim_matches('"').split(';').map(str::trim).collect())
}

/// `1,3,416,416`; a scalar has none. A size that is no number is not known.
fn dimensions(shape: &str) -> Vec<i64> {
    let numbers = shape.split(',').map(str::trim).filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().unwrap_or(-1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use opscope_trace::DataType;

    fn tensors(shapes: &str, types: &str, formats: &str) -> Vec<String> {
        let (mut trace, mut texts) = (Trace::new(), StringTable::default());
        let side =
            Side { shapes: texts.intern(shapes), types: texts.intern(types), formats: texts.intern(formats) };
        let (first, count) = enter_side(&mut trace, &texts, &side);
        let first = first.map_or(0, TensorId::index);
        (first..first + count as usize)
            .map(TensorId::from_index)
            .map(|id| {
                let layout = trace.tensors.get(id).layout.map(|layout| trace.strings.get(layout));
                format!("{} {:?} {}", trace.tensors.get(id).data_type, trace.shape(id), layout.unwrap_or("-"))
            })
            .collect()
    }

    #[test]
    fn the_three_columns_of_a_side_make_its_tensors() {
        assert_eq!(
            tensors("\"1,3,416,416;;16\"", "FLOAT16;INT32;DT_BF16", "NCHW;ND;NC1HWC0:1"),
            ["float16 Some([1, 3, 416, 416]) NCHW", "int32 Some([]) ND", "bfloat16 Some([16]) NC1HWC0:1"]
        );
        assert_eq!(tensors("N/A", "N/A", "N/A"), [] as [&str; 0]);
        assert_eq!(tensors("\"\"", "INT64", "ND"), ["int64 Some([]) ND"]);
        assert_eq!(tensors("", "FLOAT;FLOAT", ""), ["float32 None -", "float32 None -"]);
        assert_eq!(tensors("1,x", "FLOAT", "ND"), ["float32 Some([1, -1]) ND"]);
    }

    #[test]
    fn operators_that_fill_a_tensor_as_large_as_their_input_read_nothing_of_it() {
        let (mut trace, mut texts, mut operators) =
            (Trace::new(), StringTable::default(), Operators::default());
        let (shapes, types, formats) = (texts.intern("\"1024\""), texts.intern("FLOAT"), texts.intern("ND"));
        let side = Side { shapes, types, formats };
        for (op_type, read) in [("ZerosLike", 0), ("OnesLike", 0), ("Tril", 4_096)] {
            let name = texts.intern(op_type);
            let described =
                Described { model: None, name, op_type: name, inputs: side, outputs: side, dynamic: None };
            let id = operators.find(&mut trace, &texts, described);
            let operator = trace.operators.get(id);
            assert_eq!((operator.bytes_read, operator.bytes_written), (Some(read), Some(4_096)), "{op_type}");
        }
    }

    #[test]
    fn operators_of_one_description_are_one_row() {
        let (mut trace, mut texts, mut operators) =
            (Trace::new(), StringTable::default(), Operators::default());
        let nothing = texts.intern("N/A");
        let empty = Side { shapes: nothing, types: nothing, formats: nothing };
        let (name, op_type) = (texts.intern("Conv2D1"), texts.intern("Conv2D"));
        let described =
            Described { model: None, name, op_type, inputs: empty, outputs: empty, dynamic: None };
        let first = operators.find(&mut trace, &texts, described);
        assert_eq!(operators.find(&mut trace, &texts, described), first);
        let shapes = texts.intern("\"7\"");
        let other = Described { inputs: Side { shapes, ..empty }, ..described };
        let second = operators.find(&mut trace, &texts, other);
        assert_ne!(second, first);
        assert_eq!(trace.tensors.data_type(), [DataType::Unknown]);
    }
}
