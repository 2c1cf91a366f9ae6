//! Models of TensorFlow Lite as files, made by the public `schema.fbs`.

pub use crate::flatbuffer::{Field, Table};

/// A tensor.
#[derive(Clone, Debug, Default)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its sizes.
    pub dims: Vec<i32>,
    /// The number of its element type: 0 is single precision, 9 is `int8`.
    pub data_type: u8,
    /// The data of a constant.
    pub data: Vec<u8>,
    /// Further fields.
    pub fields: Table,
}

impl Tensor {
    /// Single-precision numbers that are computed.
    pub fn new(name: &str, dims: &[i32]) -> Self {
        Self { name: name.to_owned(), dims: dims.to_vec(), ..Self::default() }
    }

    /// Single-precision numbers that are stored: ascending ones.
    pub fn weight(name: &str, dims: &[i32]) -> Self {
        let count = dims.iter().product::<i32>();
        let data = (0..count).flat_map(|number| (number as f32).to_le_bytes()).collect();
        Self { data, ..Self::new(name, dims) }
    }

    /// Stored integers of 32 bits.
    pub fn ints(name: &str, values: &[i32]) -> Self {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { data, data_type: 2, ..Self::new(name, &[values.len() as i32]) }
    }

    /// The same as integers of 8 bits that stand for real numbers.
    #[must_use]
    pub fn quantized(mut self, scale: f32, zero_point: i64) -> Self {
        self.data_type = 9;
        self.data.truncate(self.data.len() / 4);
        let quantization = vec![(2, Field::Floats(vec![scale])), (3, Field::Longs(vec![zero_point]))];
        self.fields.push((4, Field::Table(quantization)));
        self
    }
}

/// An operator.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    /// The number of its type, or 32 and the name of a custom one.
    pub code: i32,
    /// That name.
    pub custom: &'static str,
    /// The tensors that it reads, by their numbers.
    pub inputs: Vec<i32>,
    /// The tensors that it makes.
    pub outputs: Vec<i32>,
    /// The number of the kind of its options.
    pub kind: u8,
    /// Its options.
    pub options: Table,
}

impl Operator {
    /// An operator without options.
    pub fn new(code: i32, inputs: &[i32], outputs: &[i32]) -> Self {
        Self { code, inputs: inputs.to_vec(), outputs: outputs.to_vec(), ..Self::default() }
    }

    /// With options of a kind.
    #[must_use]
    pub fn with(self, kind: u8, options: Table) -> Self {
        Self { kind, options, ..self }
    }
}

/// A model of one subgraph as the fields of its tables.
pub fn model(tensors: &[Tensor], operators: &[Operator], inputs: &[i32], outputs: &[i32]) -> Table {
    let text = |text: &str| Field::Text(text.to_owned());
    // The first buffer is that of all tensors without data.
    let mut buffers = vec![Table::new()];
    let tensors = tensors.iter().map(|tensor| {
        let mut fields = vec![(0, Field::Ints(tensor.dims.clone())), (1, Field::Byte(tensor.data_type))];
        if !tensor.data.is_empty() {
            fields.push((2, Field::Int(buffers.len() as i32)));
            buffers.push(vec![(0, Field::Bytes(tensor.data.clone()))]);
        }
        fields.push((3, text(&tensor.name)));
        fields.extend(tensor.fields.iter().cloned());
        fields
    });
    let tensors: Vec<Table> = tensors.collect();
    let codes = operators.iter().map(|operator| {
        let mut code = vec![(0, Field::Byte(operator.code.min(127) as u8)), (3, Field::Int(operator.code))];
        if !operator.custom.is_empty() {
            code.push((1, text(operator.custom)));
        }
        code
    });
    let codes: Vec<Table> = codes.collect();
    let operators = operators.iter().enumerate().map(|(number, operator)| {
        let mut fields = vec![
            (0, Field::Int(number as i32)),
            (1, Field::Ints(operator.inputs.clone())),
            (2, Field::Ints(operator.outputs.clone())),
        ];
        if operator.kind != 0 {
            fields.push((3, Field::Byte(operator.kind)));
            fields.push((4, Field::Table(operator.options.clone())));
        }
        fields
    });
    let graph = vec![
        (0, Field::Tables(tensors)),
        (1, Field::Ints(inputs.to_vec())),
        (2, Field::Ints(outputs.to_vec())),
        (3, Field::Tables(operators.collect())),
        (4, text("main")),
    ];
    vec![
        (0, Field::Int(3)),
        (1, Field::Tables(codes)),
        (2, Field::Tables(vec![graph])),
        (3, text("made by hand")),
        (4, Field::Tables(buffers)),
    ]
}

/// A file whose root table is the given one.
pub fn file(root: &Table) -> Vec<u8> {
    crate::flatbuffer::file(*b"TFL3", root)
}

/// A small network: an image, a convolution with an activation in it, a depthwise one, the sum of both with a constant
/// for each channel, their mean over the image, a product with weights, and what is likely.
pub fn small() -> Vec<u8> {
    let options =
        |fields: &[(usize, u8)]| fields.iter().map(|(field, value)| (*field, Field::Byte(*value))).collect();
    let steps = |height: i32, width: i32| vec![(1, Field::Int(width)), (2, Field::Int(height))];
    let tensors = [
        Tensor::new("image", &[1, 8, 8, 3]),
        Tensor::weight("conv/filter", &[4, 3, 3, 3]),
        Tensor::weight("conv/bias", &[4]),
        Tensor::new("conv/Relu6", &[1, 4, 4, 4]),
        Tensor::weight("depthwise/filter", &[1, 3, 3, 4]),
        Tensor::new("depthwise", &[1, 4, 4, 4]),
        Tensor::new("sum", &[1, 4, 4, 4]),
        Tensor::weight("shift", &[4]),
        Tensor::new("shifted", &[1, 4, 4, 4]),
        Tensor::ints("axes", &[1, 2]),
        Tensor::new("mean", &[1, 4]),
        Tensor::weight("dense/weights", &[10, 4]),
        Tensor::new("dense", &[1, 10]),
        Tensor::new("likely", &[1, 10]),
    ];
    let operators = [
        Operator::new(3, &[0, 1, 2], &[3]).with(1, [steps(2, 2), options(&[(0, 0), (3, 3)])].concat()),
        Operator::new(4, &[3, 4, -1], &[5]).with(2, [steps(1, 1), vec![(3, Field::Int(1))]].concat()),
        Operator::new(0, &[3, 5], &[6]).with(11, options(&[(0, 1)])),
        Operator::new(18, &[6, 7], &[8]).with(21, Table::new()),
        Operator::new(40, &[8, 9], &[10]).with(27, options(&[(0, 0)])),
        Operator::new(9, &[10, 11, -1], &[12]).with(8, Table::new()),
        Operator::new(25, &[12], &[13]).with(9, vec![(0, Field::Float(1.0))]),
    ];
    file(&model(&tensors, &operators, &[0], &[13]))
}
