//! The operator of a slice, as its arguments describe it: type, shapes, quantities.
//!
//! A signature is a run of members cut out of the object of arguments: those that opscope writes
//! (`type`, `inputs`, `flops`, …), PyTorch's `Input Dims` and `Input type`, XLA's `hlo_module`, or those that describe a collective.
//! Others may stand between them, such as the number of the launch, by which no operator differs from another.

use opscope_trace::{
    Attribution, DataType, ModelId, Operator, OperatorId, StringId, Tensor, TensorId, Trace,
};

use super::text::{Raw, number, small_number, text_of};
use crate::json::{Scanned, Scanner};

/// An operator as its slices describe it, with all by which it is told from others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Described {
    name: StringId,
    op_type: StringId,
    model: Option<ModelId>,
    engine_type: Option<StringId>,
    position: Option<u32>,
    attribution: Attribution,
    origins: Vec<StringId>,
    inputs: Vec<Shape>,
    outputs: Vec<Shape>,
    attributes: Option<StringId>,
    dynamic: Option<bool>,
    flops: Option<u64>,
    bytes_read: Option<u64>,
    bytes_written: Option<u64>,
    parameters: Option<u64>,
}

impl Described {
    /// An operator of which only name, type and model are known.
    pub fn new(name: StringId, op_type: StringId, model: Option<ModelId>) -> Self {
        Self {
            name,
            op_type,
            model,
            engine_type: None,
            position: None,
            attribution: Attribution::NoGraph,
            origins: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes: None,
            dynamic: None,
            flops: None,
            bytes_read: None,
            bytes_written: None,
            parameters: None,
        }
    }

    /// Fills in what a signature tells.
    pub fn read(&mut self, trace: &mut Trace, signature: Raw<'_>) {
        if signature.is_empty() {
            return;
        }
        let object = [b"{", signature, b"}"].concat();
        let mut torch = TorchInputs::default();
        let mut collective = Collective::default();
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let read = Scanner::new(&object).object("the members", |scanner, name| {
            match name {
                b"Input Dims" => torch.read_dimensions(scanner)?,
                b"Input type" => torch.read_types(scanner)?,
                b"inputs" => inputs = texts(scanner)?,
                b"outputs" => outputs = texts(scanner)?,
                b"origins" => {
                    let origins = texts(scanner)?;
                    self.origins = origins.iter().map(|origin| trace.strings.intern(origin)).collect();
                }
                name => {
                    let value = scanner.value()?;
                    match name {
                        b"type" => self.op_type = trace.strings.intern(&text_of(value)),
                        b"engine_type" => self.engine_type = Some(trace.strings.intern(&text_of(value))),
                        b"model" => self.model = Some(trace.enter_named_model(&text_of(value))),
                        b"position" => self.position = small_number(value),
                        b"flops" => self.flops = number(value),
                        b"bytes_read" => self.bytes_read = number(value),
                        b"bytes_written" => self.bytes_written = number(value),
                        b"parameters" => self.parameters = number(value),
                        b"dynamic" => self.dynamic = Some(value == b"true"),
                        b"attributes" => self.attributes = Some(trace.strings.intern(&text_of(value))),
                        // Names of HLO are those of one module.
                        b"hlo_module" => {
                            let told = serde_json::json!({ "hlo_module": text_of(value) });
                            self.attributes = Some(trace.strings.intern(&told.to_string()));
                        }
                        b"attribution" => {
                            self.attribution = Attribution::from_name(&text_of(value)).unwrap_or_default();
                        }
                        name => collective.take(name, value),
                    }
                }
            }
            Ok(())
        });
        debug_assert!(read.is_ok(), "{read:?}");
        collective.describe(trace, self);
        let own = |text: &String| parse_own_tensor(text);
        self.inputs = inputs.iter().map(own).chain(torch.tensors()).collect();
        self.outputs = outputs.iter().map(own).collect();
    }

    /// Adds the operator to a trace.
    pub fn enter(&self, trace: &mut Trace) -> OperatorId {
        let origins = trace.names.push(self.origins.iter().copied());
        let (first_input, input_count) = push_tensors(trace, &self.inputs);
        let (first_output, output_count) = push_tensors(trace, &self.outputs);
        trace.operators.push(Operator {
            model: self.model,
            engine_type: self.engine_type,
            position: self.position,
            attribution: self.attribution,
            origins,
            first_input,
            input_count,
            first_output,
            output_count,
            attributes: self.attributes,
            dynamic: self.dynamic,
            flops: self.flops,
            bytes_read: self.bytes_read,
            bytes_written: self.bytes_written,
            parameters: self.parameters,
            ..Operator::new(self.name, self.op_type)
        })
    }
}

/// A tensor's type and, if known, its dimensions.
type Shape = (DataType, Option<Vec<i64>>);

fn push_tensors(trace: &mut Trace, tensors: &[Shape]) -> (Option<TensorId>, u32) {
    trace.tensors.push_all(tensors.iter().map(|(data_type, dimensions)| {
        let dimensions = dimensions.as_ref().map(|sizes| trace.dimensions.push(sizes.iter().copied()));
        Tensor { name: None, data_type: *data_type, dimensions, layout: None, parameter: false }
    }))
}

/// The texts of a list; nothing for any other value.
fn texts(scanner: &mut Scanner<'_>) -> Scanned<Vec<String>> {
    let mut texts = Vec::new();
    if scanner.peek() == Some(b'[') {
        scanner.array("a list", |scanner| {
            texts.push(text_of(scanner.value()?).into_owned());
            Ok(())
        })?;
    } else {
        scanner.skip()?;
    }
    Ok(texts)
}

/// `1x3x?x224 float32`, `?x? ?` for what isn't known; a scalar is only its type.
fn parse_own_tensor(text: &str) -> Shape {
    let (dimensions, data_type) =
        text.rsplit_once(' ').map_or((None, text), |(dimensions, data_type)| (Some(dimensions), data_type));
    let data_type = DataType::from_name(data_type).unwrap_or_default();
    let dimensions = match dimensions {
        None => Some(Vec::new()),
        Some("?x?") => None,
        Some(list) => Some(list.split('x').map(|number| number.parse().unwrap_or(-1)).collect()),
    };
    (data_type, dimensions)
}

/// The inputs of an operator of PyTorch's: a shape and a type for each.
///
/// Kineto writes lists (`[[32,3],[]]`, `["float","Scalar"]`), torch_npu text with the inputs behind
/// one another (`32,3;\r\n`, `float;\r\nScalar`). An input that is a list of tensors has a list of
/// shapes.
#[derive(Default)]
struct TorchInputs {
    shapes: Vec<Vec<Vec<i64>>>,
    types: Vec<String>,
}

impl TorchInputs {
    fn read_dimensions(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        if scanner.peek() != Some(b'[') {
            let text = text_of(scanner.value()?).into_owned();
            self.shapes = text.split(';').map(|shape| vec![parse_dimensions(shape)]).collect();
            return Ok(());
        }
        scanner.array("the shapes", |scanner| {
            let (mut flat, mut nested) = (Vec::new(), Vec::new());
            if scanner.peek() != Some(b'[') {
                scanner.skip()?;
            } else {
                scanner.array("a shape", |scanner| {
                    if scanner.peek() == Some(b'[') {
                        let mut shape = Vec::new();
                        scanner.array("a shape", |scanner| push_dimension(scanner, &mut shape))?;
                        nested.push(shape);
                        Ok(())
                    } else {
                        push_dimension(scanner, &mut flat)
                    }
                })?;
            }
            self.shapes.push(if nested.is_empty() { vec![flat] } else { nested });
            Ok(())
        })
    }

    fn read_types(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        if scanner.peek() == Some(b'[') {
            self.types = texts(scanner)?;
        } else {
            let text = text_of(scanner.value()?).into_owned();
            self.types = text.split(';').map(|word| word.trim().to_owned()).collect();
        }
        Ok(())
    }

    /// The inputs that are tensors: they have dimensions, or the type of an element.
    fn tensors(self) -> impl Iterator<Item = Shape> {
        let mut types = self.types.into_iter();
        self.shapes.into_iter().flat_map(move |shapes| {
            let data_type = types.next().map_or(DataType::Unknown, |word| torch_type(&word));
            let is_tensor = move |shape: &Vec<i64>| !shape.is_empty() || data_type != DataType::Unknown;
            shapes.into_iter().filter(is_tensor).map(move |shape| (data_type, Some(shape)))
        })
    }
}

/// The word by which a kernel of PyTorch's tells that it is a collective.
const COLLECTIVE: &[u8] = b"\"Collective name\"";

/// Whether a signature is a collective's.
pub(super) fn is_of_collective(signature: &[u8]) -> bool {
    signature.windows(COLLECTIVE.len()).any(|part| part == COLLECTIVE)
}

/// The members by which PyTorch (`saveNcclMeta` of its profiler) describes a collective, on the call that asks for it
/// and on the kernel that does it.
#[derive(Default)]
struct Collective {
    /// Its type, such as `allreduce`.
    kind: Option<String>,
    /// How many elements go in, and come out.
    elements: [Option<u64>; 2],
    element: DataType,
    /// The members about its group, as they stand in the file.
    about_group: Vec<u8>,
}

impl Collective {
    fn take(&mut self, name: &[u8], value: Raw<'_>) {
        match name {
            b"Collective name" => self.kind = Some(text_of(value).into_owned()),
            b"In msg nelems" => self.elements[0] = number(value),
            b"Out msg nelems" => self.elements[1] = number(value),
            b"dtype" => self.element = torch_type(&text_of(value)),
            b"Process Group Name"
            | b"Process Group Description"
            | b"Process Group Ranks"
            | b"Group size"
            | b"Src Rank"
            | b"Dst Rank" => {
                let comma: &[u8] = if self.about_group.is_empty() { b"" } else { b"," };
                self.about_group.extend([comma, b"\"", name, b"\":", value].concat());
            }
            _ => {}
        }
    }

    /// Makes the operator a collective, if there is one.
    fn describe(self, trace: &mut Trace, operator: &mut Described) {
        let Some(kind) = self.kind else { return };
        operator.op_type = trace.strings.intern(&kind);
        let attributes = format!("{{{}}}", String::from_utf8_lossy(&self.about_group));
        operator.attributes = Some(trace.strings.intern(&attributes));
        let bytes = |elements: u64| self.element.bytes(elements);
        operator.bytes_read = self.elements[0].and_then(bytes);
        operator.bytes_written = self.elements[1].and_then(bytes);
    }
}

fn push_dimension(scanner: &mut Scanner<'_>, shape: &mut Vec<i64>) -> Scanned<()> {
    let dimension = crate::reading::decimal::whole(scanner.value()?).unwrap_or(-1);
    shape.push(dimension);
    Ok(())
}

/// `32,3,224,224`; nothing for a scalar.
fn parse_dimensions(text: &str) -> Vec<i64> {
    let numbers = text.trim().split(',').filter(|number| !number.is_empty());
    numbers.map(|number| number.trim().parse().unwrap_or(-1)).collect()
}

/// PyTorch's word for a type of elements: of operators' inputs the C++ type's name, of collectives its own
/// (`c10::toString`).
fn torch_type(word: &str) -> DataType {
    match word.trim_start_matches("c10::") {
        "double" | "Double" => DataType::Float64,
        "float" | "Float" => DataType::Float32,
        "Half" => DataType::Float16,
        "BFloat16" => DataType::BFloat16,
        "Float8_e4m3fn" => DataType::Float8E4M3Fn,
        "Float8_e4m3fnuz" => DataType::Float8E4M3Fnuz,
        "Float8_e5m2" => DataType::Float8E5M2,
        "Float8_e5m2fnuz" => DataType::Float8E5M2Fnuz,
        "long int" | "long" | "int64_t" | "Long" => DataType::Int64,
        "int" | "Int" => DataType::Int32,
        "short" | "short int" | "Short" => DataType::Int16,
        "signed char" | "Char" => DataType::Int8,
        "unsigned char" | "Byte" => DataType::Uint8,
        "bool" | "Bool" => DataType::Bool,
        "complex<float>" => DataType::Complex64,
        "complex<double>" => DataType::Complex128,
        _ => DataType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(signature: &str) -> Vec<Shape> {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let mut described = Described::new(name, name, None);
        described.read(&mut trace, signature.as_bytes());
        let operator = described.enter(&mut trace);
        let operator = trace.operators.get(operator);
        let shape =
            |id: TensorId| (trace.tensors.data_type()[id.index()], trace.shape(id).map(<[i64]>::to_vec));
        operator.inputs().map(shape).collect()
    }

    #[test]
    fn both_spellings_of_pytorch_inputs_give_the_same_tensors() {
        let expected = vec![
            (DataType::Float32, Some(vec![32, 1000])),
            (DataType::Int64, Some(vec![32])),
            (DataType::Float32, Some(vec![])),
        ];
        let lists = r#""Input type": ["float", "long int", "", "Scalar", "float"],
                       "Input Dims": [[32, 1000], [32], [], [], []]"#;
        assert_eq!(inputs(lists), expected);
        let texts = r#""Input Dims": "32,1000;\r\n32;\r\n;\r\n;\r\n", "Input type": "float;\r\nlong int;\r\nNone;\r\nScalar;\r\nfloat""#;
        assert_eq!(inputs(texts), expected);
    }

    #[test]
    fn a_list_of_tensors_is_as_many_inputs() {
        let shapes =
            r#""Input Dims": [[[1, 2], [3, 4]], 7, [[5]]], "Input type": ["TensorList", "int", "c10::Half"]"#;
        let expected = vec![
            (DataType::Unknown, Some(vec![1, 2])),
            (DataType::Unknown, Some(vec![3, 4])),
            (DataType::Int32, Some(vec![])),
            (DataType::Float16, Some(vec![5])),
        ];
        assert_eq!(inputs(shapes), expected);
    }

    #[test]
    fn opscope_reads_the_shapes_that_it_writes() {
        assert_eq!(parse_own_tensor("1x3x?x224 float32"), (DataType::Float32, Some(vec![1, 3, -1, 224])));
        assert_eq!(parse_own_tensor("int8"), (DataType::Int8, Some(vec![])));
        assert_eq!(parse_own_tensor("?x? ?"), (DataType::Unknown, None));
        assert_eq!(parse_own_tensor("7 ?"), (DataType::Unknown, Some(vec![7])));
    }
}
