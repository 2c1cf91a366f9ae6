//! Models of TensorFlow Lite as files, made by the public `schema.fbs`. Offsets of FlatBuffers lead forwards, so every
//! table is followed by what it holds.

/// A field of a table.
#[derive(Clone, Debug)]
pub enum Field {
    /// A byte.
    Byte(u8),
    /// A number.
    Int(i32),
    /// A number of single precision.
    Float(f32),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Numbers.
    Ints(Vec<i32>),
    /// Long numbers.
    Longs(Vec<i64>),
    /// Numbers of single precision.
    Floats(Vec<f32>),
    /// A table.
    Table(Table),
    /// Tables.
    Tables(Vec<Table>),
    /// A table that stands in a vector so many times.
    Repeated(Table, usize),
}

/// A table: its fields by their numbers.
pub type Table = Vec<(usize, Field)>;

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
    let mut bytes = vec![0; 4];
    bytes.extend(b"TFL3");
    let at = write(&mut bytes, root);
    bytes[..4].copy_from_slice(&(at as u32).to_le_bytes());
    bytes
}

fn pad(bytes: &mut Vec<u8>, multiple: usize, offset: usize) {
    while bytes.len() % multiple != offset {
        bytes.push(0);
    }
}

/// Writes a table, each of whose fields takes four bytes, and behind it what it holds.
fn write(bytes: &mut Vec<u8>, table: &Table) -> usize {
    let fields = table.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    pad(bytes, 4, 0);
    let list = bytes.len();
    let mut offsets = vec![0u16; fields];
    for (place, (number, _)) in table.iter().enumerate() {
        offsets[*number] = 4 + 4 * place as u16;
    }
    for number in [4 + 2 * fields as u16, 4 + 4 * table.len() as u16].iter().chain(&offsets) {
        bytes.extend(number.to_le_bytes());
    }
    pad(bytes, 4, 0);
    let at = bytes.len();
    bytes.extend(((at - list) as i32).to_le_bytes());
    bytes.resize(at + 4 + 4 * table.len(), 0);
    for (place, (_, field)) in table.iter().enumerate() {
        let field_at = at + 4 + 4 * place;
        let content = match field {
            Field::Byte(value) => u32::from(*value),
            Field::Int(value) => *value as u32,
            Field::Float(value) => value.to_bits(),
            held => (write_held(bytes, held) - field_at) as u32,
        };
        bytes[field_at..field_at + 4].copy_from_slice(&content.to_le_bytes());
    }
    at
}

fn write_held(bytes: &mut Vec<u8>, field: &Field) -> usize {
    let vector = |bytes: &mut Vec<u8>, alignment: usize, count: usize, content: &[u8]| {
        pad(bytes, alignment, alignment - 4);
        let at = bytes.len();
        bytes.extend((count as u32).to_le_bytes());
        bytes.extend(content);
        at
    };
    match field {
        Field::Text(text) => vector(bytes, 8, text.len(), &[text.as_bytes(), &[0]].concat()),
        Field::Bytes(content) => vector(bytes, 16, content.len(), content),
        Field::Ints(values) => {
            let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            vector(bytes, 8, values.len(), &content)
        }
        Field::Longs(values) => {
            let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            vector(bytes, 8, values.len(), &content)
        }
        Field::Floats(values) => {
            let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            vector(bytes, 8, values.len(), &content)
        }
        Field::Table(table) => write(bytes, table),
        Field::Tables(tables) => {
            let at = vector(bytes, 8, tables.len(), &vec![0; 4 * tables.len()]);
            for (place, table) in tables.iter().enumerate() {
                let element = at + 4 + 4 * place;
                let distance = (write(bytes, table) - element) as u32;
                bytes[element..element + 4].copy_from_slice(&distance.to_le_bytes());
            }
            at
        }
        Field::Repeated(table, count) => {
            let at = vector(bytes, 8, *count, &vec![0; 4 * count]);
            let table = write(bytes, table);
            for element in (0..*count).map(|place| at + 4 + 4 * place) {
                bytes[element..element + 4].copy_from_slice(&((table - element) as u32).to_le_bytes());
            }
            at
        }
        Field::Byte(_) | Field::Int(_) | Field::Float(_) => unreachable!("they lie in the table itself"),
    }
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
