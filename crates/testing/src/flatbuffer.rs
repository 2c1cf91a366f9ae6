//! FlatBuffers as files. Their offsets lead forwards, so every table is followed by what it holds.

/// A field of a table.
#[derive(Clone, Debug)]
pub enum Field {
    /// A byte.
    Byte(u8),
    /// A number.
    Int(i32),
    /// A long number.
    Long(u64),
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
    /// Structures of two numbers.
    Pairs(Vec<[u32; 2]>),
    /// Texts.
    Texts(Vec<String>),
    /// A table.
    Table(Table),
    /// Tables.
    Tables(Vec<Table>),
    /// A table that stands in a vector so many times.
    Repeated(Table, usize),
}

/// A table: its fields by their numbers.
pub type Table = Vec<(usize, Field)>;

/// A file whose root table is the given one, of a schema with a name of four letters.
pub fn file(schema: [u8; 4], root: &Table) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend(schema);
    let at = write(&mut bytes, root);
    bytes[..4].copy_from_slice(&(at as u32).to_le_bytes());
    bytes
}

fn pad(bytes: &mut Vec<u8>, multiple: usize, offset: usize) {
    while bytes.len() % multiple != offset {
        bytes.push(0);
    }
}

/// Writes a table, each of whose fields takes four bytes, long numbers eight, and behind it what it holds.
fn write(bytes: &mut Vec<u8>, table: &Table) -> usize {
    let fields = table.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    pad(bytes, 4, 0);
    let list = bytes.len();
    let mut offsets = vec![0u16; fields];
    let mut end = 4;
    for (number, field) in table {
        offsets[*number] = end;
        end += if matches!(field, Field::Long(_)) { 8 } else { 4 };
    }
    for number in [4 + 2 * fields as u16, end].iter().chain(&offsets) {
        bytes.extend(number.to_le_bytes());
    }
    pad(bytes, 4, 0);
    let at = bytes.len();
    bytes.extend(((at - list) as i32).to_le_bytes());
    bytes.resize(at + usize::from(end), 0);
    for (number, field) in table {
        let field_at = at + usize::from(offsets[*number]);
        let content = match field {
            Field::Byte(value) => u32::from(*value),
            Field::Int(value) => *value as u32,
            Field::Float(value) => value.to_bits(),
            Field::Long(value) => {
                bytes[field_at + 4..field_at + 8].copy_from_slice(&((value >> 32) as u32).to_le_bytes());
                *value as u32
            }
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
        Field::Pairs(values) => {
            let content: Vec<u8> = values.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
            vector(bytes, 8, values.len(), &content)
        }
        Field::Texts(texts) => {
            let at = vector(bytes, 8, texts.len(), &vec![0; 4 * texts.len()]);
            for (place, text) in texts.iter().enumerate() {
                let element = at + 4 + 4 * place;
                let distance = (write_held(bytes, &Field::Text(text.clone())) - element) as u32;
                bytes[element..element + 4].copy_from_slice(&distance.to_le_bytes());
            }
            at
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
        Field::Byte(_) | Field::Int(_) | Field::Float(_) | Field::Long(_) => {
            unreachable!("they lie in the table itself")
        }
    }
}
