//! Models of MegEngine as files of both forms, made by its public schemas.

use crate::flatbuffer::{Field, Table, file};

/// The hashes of some types, as files of MegEngine 1.13 have them.
const HOST_TO_DEVICE: u64 = 0x21d0_9889_fd70_9229;
const IMMUTABLE: u64 = 0x60d5_2856_bbd5_a2b1;
const CONVOLUTION: u64 = 0x0589_235f_9727_3d9f;
const ELEMWISE: u64 = 0xebb3_9bdd_9278_b6da;
const SPLIT: u64 = 0xed6f_2eb5_617e_173f;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Tensors in front of the graph, `MGBC`.
    First,
    /// The same of MegBrain up to 8.14, `MGBS`.
    Old,
    /// All in one FlatBuffer, `mgv2`.
    Second,
}

/// An operator.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    /// The type's name, which files of the second form have.
    pub op_type: &'static str,
    /// Its hash, which files of the first form have.
    pub hash: u64,
    /// The operator's name.
    pub name: String,
    /// The values that it reads, by their numbers.
    pub inputs: Vec<i32>,
    /// The values that it makes, with their names and sizes.
    pub outputs: Vec<(i32, String, Vec<i32>)>,
    /// The tensors that it stores: name, sizes, data.
    pub tensors: Vec<(String, Vec<i32>, Vec<u8>)>,
}

impl Operator {
    /// An operator that makes one value, of its own name.
    pub fn new(
        op_type: &'static str,
        hash: u64,
        name: &str,
        inputs: &[i32],
        output: i32,
        sizes: &[i32],
    ) -> Self {
        Self {
            op_type,
            hash,
            name: name.to_owned(),
            inputs: inputs.to_vec(),
            outputs: vec![(output, name.to_owned(), sizes.to_vec())],
            tensors: Vec::new(),
        }
    }

    /// With a tensor that it stores.
    #[must_use]
    pub fn with(mut self, name: &str, sizes: &[i32], data: Vec<u8>) -> Self {
        self.tensors.push((name.to_owned(), sizes.to_vec(), data));
        self
    }
}

fn text(text: &str) -> Field {
    Field::Text(text.to_owned())
}

/// A file with operators, and the numbers of its outputs.
pub fn model(form: Form, operators: &[Operator], outputs: &[u32]) -> Vec<u8> {
    let is_second = form == Form::Second;
    let float = || Field::Table(vec![(0, Field::Byte(0))]);
    let device = || Field::Tables(vec![vec![(0, text("cpu0:0"))]]);
    let mut data: Vec<u8> = Vec::new();
    let mut middle: Vec<Table> = Vec::new();
    let mut tables = Vec::new();
    for operator in operators {
        let mut tensors = Vec::new();
        for (name, sizes, bytes) in &operator.tensors {
            let mut tensor = vec![(0, text(name)), (1, Field::Ints(sizes.clone())), (3, float())];
            if is_second {
                tensor.push((6, Field::Bytes(bytes.clone())));
            } else {
                tensor.push((4, Field::Int(bytes.len() as i32)));
                data.extend(bytes);
            }
            tensors.push(tensor);
        }
        for (number, name, sizes) in &operator.outputs {
            middle.resize(middle.len().max(*number as usize + 1), Table::new());
            middle[*number as usize] = vec![(0, text(name)), (1, Field::Ints(sizes.clone())), (3, float())];
        }
        let inputs = Field::Ints(operator.inputs.clone());
        let numbers = operator.outputs.iter().map(|(number, ..)| *number).collect();
        let names = operator.outputs.iter().map(|(_, name, _)| name.clone()).collect();
        tables.push(match is_second {
            true => vec![
                (0, text(operator.op_type)),
                (1, Field::Long(operator.hash)),
                (2, text(&operator.name)),
                (7, inputs),
                (8, Field::Ints(numbers)),
                (9, device()),
                (11, Field::Tables(tensors)),
            ],
            false => vec![
                (0, Field::Long(operator.hash)),
                (3, inputs),
                (4, device()),
                (5, Field::Texts(names)),
                (7, Field::Tables(tensors)),
                (12, text(&operator.name)),
            ],
        });
    }
    let table = |output: &u32| vec![(0, Field::Int(*output as i32)), (1, Field::Int(100 + *output as i32))];
    let outputs = match is_second {
        true => Field::Tables(outputs.iter().map(table).collect()),
        false => Field::Pairs(outputs.iter().map(|output| [*output, 100 + output]).collect()),
    };
    let note = |field| Field::Table(vec![(field, text("made by hand"))]);
    let graph = match is_second {
        true => file(
            *b"mgv2",
            &vec![
                (0, Field::Int(101_300)),
                (1, Field::Int(2)),
                (2, Field::Tables(tables)),
                (3, Field::Tables(middle)),
                (4, outputs),
                (7, note(3)),
            ],
        ),
        false => file(
            *b"mgb1",
            &vec![(0, Field::Int(10_900)), (3, Field::Tables(tables)), (4, outputs), (5, note(2))],
        ),
    };
    let mut bytes = match form {
        Form::Second => Vec::new(),
        Form::First => [&b"MGBC"[..], &[0; 12], &(data.len() as u64).to_le_bytes()].concat(),
        Form::Old => [&b"MGBS"[..], &[0; 4], &(data.len() as u64).to_le_bytes()].concat(),
    };
    bytes.extend(data);
    bytes.extend((graph.len() as u32).to_le_bytes());
    bytes.extend(graph);
    bytes
}

/// A small network: an image, a convolution, an activation, and the parts of the result.
pub fn small(form: Form) -> Vec<u8> {
    let floats =
        |count: usize| (0..count).flat_map(|number| (number as f32).to_le_bytes()).collect::<Vec<u8>>();
    let split = Operator {
        outputs: vec![(5, "first".to_owned(), vec![1, 4, 8, 8]), (6, "second".to_owned(), vec![1, 4, 8, 8])],
        ..Operator::new("Split", SPLIT, "split", &[3, 4, 4], 5, &[])
    };
    let operators = [
        Operator::new("Host2DeviceCopy", HOST_TO_DEVICE, "data", &[], 0, &[1, 3, 8, 8]).with(
            "data",
            &[1, 3, 8, 8],
            Vec::new(),
        ),
        Operator::new("ImmutableTensor", IMMUTABLE, "conv.weight", &[], 1, &[8, 3, 3, 3]).with(
            "",
            &[8, 3, 3, 3],
            floats(216),
        ),
        Operator::new("ConvolutionV2", CONVOLUTION, "conv.Convolution", &[0, 1], 2, &[1, 8, 8, 8]),
        Operator::new("Elemwise", ELEMWISE, "RELU", &[2], 3, &[1, 8, 8, 8]),
        Operator::new("ImmutableTensor", IMMUTABLE, "four", &[], 4, &[1]).with("", &[1], floats(1)),
        split,
        Operator::new("Elemwise", ELEMWISE, "ADD", &[6, 5], 7, &[1, 4, 8, 8]),
    ];
    model(form, &operators, &[7])
}
