//! Offline models of Ascend as files, made by the public description of their layout.

use crate::protobuf::Message;

/// The form of the table of partitions, and whether names and texts of attributes are kept as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 32-bit tables, words as they are: before 2023.
    Old,
    /// 64-bit tables, words as numbers: since then.
    New,
}

/// The words that a new file keeps in lists.
#[derive(Debug, Default)]
struct Words {
    names: Vec<String>,
    texts: Vec<String>,
    has_texts: Vec<bool>,
}

impl Words {
    fn key(&mut self, name: &str, has_text: bool) -> Vec<u8> {
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.has_texts.push(has_text);
            self.names.len() - 1
        });
        let mut key = vec![0];
        let mut rest = place;
        loop {
            key.push((rest % 127 + 1) as u8);
            rest /= 127;
            if rest == 0 {
                return key;
            }
        }
    }

    fn text(&mut self, text: &str) -> i64 {
        let place = self.texts.iter().position(|known| known == text).unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        });
        place as i64
    }
}

/// An attribute.
#[derive(Clone, Debug)]
pub enum Value {
    /// A number.
    Int(i64),
    /// Numbers.
    Ints(Vec<i64>),
    /// A truth.
    Bool(bool),
    /// Text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
}

/// A tensor as the device has it, and as the model before had it.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The sizes before.
    pub origin: Vec<i64>,
    /// The order of those.
    pub layout: &'static str,
    /// The sizes on the device.
    pub device: Vec<i64>,
    /// The format on the device.
    pub format: &'static str,
    /// Attributes besides.
    pub attributes: Vec<(&'static str, Value)>,
}

impl Tensor {
    /// Half-precision numbers that lie as the model before had them.
    pub fn plain(sizes: &[i64]) -> Self {
        let (origin, device) = (sizes.to_vec(), sizes.to_vec());
        Self { origin, layout: "NCHW", device, format: "NCHW", attributes: Vec::new() }
    }

    /// The same in another format on the device.
    pub fn stored(sizes: &[i64], format: &'static str, device: &[i64]) -> Self {
        Self { device: device.to_vec(), format, ..Self::plain(sizes) }
    }
}

/// An operator.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    /// Its name.
    pub name: String,
    /// Its type.
    pub op_type: &'static str,
    /// The values that it reads.
    pub inputs: Vec<String>,
    /// Their tensors.
    pub input_tensors: Vec<Tensor>,
    /// The tensors that it computes.
    pub output_tensors: Vec<Tensor>,
    /// Its attributes.
    pub attributes: Vec<(&'static str, Value)>,
    /// The graphs that it runs.
    pub graphs: Vec<String>,
    /// A constant's sizes, and where its data lie among the weights.
    pub constant: Option<(Tensor, i64, i64)>,
    /// Where in the model's memory its outputs lie.
    pub output_offsets: Vec<i64>,
    /// Where in the model's memory its workspaces lie, each with its bytes.
    pub workspaces: Vec<[i64; 2]>,
}

impl Operator {
    /// An operator of one output.
    pub fn new(name: &str, op_type: &'static str, inputs: &[(&str, Tensor)], output: Tensor) -> Self {
        Self {
            name: name.to_owned(),
            op_type,
            inputs: inputs.iter().map(|(input, _)| (*input).to_owned()).collect(),
            input_tensors: inputs.iter().map(|(_, tensor)| tensor.clone()).collect(),
            output_tensors: vec![output],
            ..Self::default()
        }
    }

    /// With an attribute.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.attributes.push((name, value));
        self
    }

    /// A constant whose data lie among the weights.
    pub fn constant(name: &str, tensor: Tensor, offset: i64, bytes: i64) -> Self {
        Self {
            name: name.to_owned(),
            op_type: "Const",
            constant: Some((tensor, offset, bytes)),
            ..Self::default()
        }
    }
}

struct Writer {
    words: Option<Words>,
}

impl Writer {
    fn attribute(&mut self, message: Message, field: u64, name: &str, value: &Value) -> Message {
        let text = |text: &str, words: &mut Option<Words>| words.as_mut().map(|words| words.text(text));
        let (value, has_text) = match value {
            Value::Int(value) => (Message::new().int(3, *value), false),
            Value::Bool(value) => (Message::new().int(5, (*value).into()), false),
            Value::Ints(values) => {
                (Message::new().message(1, &Message::new().packed(3, values).int(20, 2)), false)
            }
            Value::Text(words) => (
                match text(words, &mut self.words) {
                    Some(number) => Message::new().int(3, number),
                    None => Message::new().bytes(2, words),
                },
                true,
            ),
            Value::Texts(texts) => {
                let mut list = Message::new();
                let mut numbers = Vec::new();
                for words in texts {
                    match text(words, &mut self.words) {
                        Some(number) => numbers.push(number),
                        None => list = list.bytes(2, words),
                    }
                }
                let list = if numbers.is_empty() { list } else { list.packed(3, &numbers) };
                (Message::new().message(1, &list.int(20, 1)), true)
            }
        };
        let key = match &mut self.words {
            Some(words) => words.key(name, has_text),
            None => name.as_bytes().to_vec(),
        };
        message.message(field, &Message::new().bytes(1, key).message(2, &value))
    }

    fn tensor(&mut self, tensor: &Tensor, weight: Option<(i64, i64)>) -> Message {
        let shape = Message::new().packed(1, &tensor.device);
        let mut message = Message::new().int(2, 2).message(3, &shape).bytes(4, tensor.format);
        for (name, value) in [
            ("origin_shape", Value::Ints(tensor.origin.clone())),
            ("origin_shape_initialized", Value::Bool(true)),
            ("origin_format", Value::Text(tensor.layout.to_owned())),
        ]
        .iter()
        .chain(&tensor.attributes)
        {
            message = self.attribute(message, 5, name, value);
        }
        if let Some((offset, bytes)) = weight {
            message = message.int(11, bytes).int(18, offset);
        }
        message
    }

    fn operator(&mut self, operator: &Operator) -> Message {
        let mut message = Message::new().bytes(1, &operator.name).bytes(2, operator.op_type);
        for input in &operator.inputs {
            message = message.bytes(5, input);
        }
        for (name, value) in &operator.attributes {
            message = self.attribute(message, 10, name, value);
        }
        if let Some((tensor, offset, bytes)) = &operator.constant {
            let described = self.tensor(tensor, Some((*offset, *bytes)));
            let value = Message::new().message(12, &Message::new().message(1, &described));
            let key = match &mut self.words {
                Some(words) => words.key("value", false),
                None => b"value".to_vec(),
            };
            message = message.message(10, &Message::new().bytes(1, key).message(2, &value));
        }
        let workspaces =
            |part: usize| operator.workspaces.iter().map(|place| place[part]).collect::<Vec<_>>();
        for (field, numbers) in
            [(29, operator.output_offsets.clone()), (30, workspaces(0)), (31, workspaces(1))]
        {
            if !numbers.is_empty() {
                message = message.packed(field, &numbers);
            }
        }
        for tensor in &operator.input_tensors {
            let described = self.tensor(tensor, None);
            message = message.message(33, &described);
        }
        for tensor in &operator.output_tensors {
            let described = self.tensor(tensor, None);
            message = message.message(34, &described);
        }
        for graph in &operator.graphs {
            message = message.bytes(35, graph);
        }
        message
    }
}

/// A file with graphs, the first of which is the model's, and its weights.
pub fn file(form: Form, graphs: &[(&str, Vec<Operator>)], weights: &[u8]) -> Vec<u8> {
    let mut writer = Writer { words: (form == Form::New).then(Words::default) };
    let mut model = Message::new().bytes(1, "made").int(2, 2).bytes(3, "1.11.z.0");
    for (name, operators) in graphs {
        let mut graph = Message::new().bytes(1, name);
        for operator in operators {
            graph = graph.message(6, &writer.operator(operator));
        }
        model = model.message(7, &graph);
    }
    let plain = |model: Message, name: &str, value: Message| {
        model.message(11, &Message::new().bytes(1, name).message(2, &value))
    };
    model = plain(model, "soc_version", Message::new().bytes(2, "Ascend310B4"));
    model = plain(model, "framework_type", Message::new().bytes(2, "Onnx"));
    model = plain(model, "memory_size", Message::new().int(3, 11_275_776));
    model = plain(model, "stream_num", Message::new().int(3, 1));
    let outputs = Message::new().message(1, &Message::new().texts(2, &["add:0:scores"]).int(20, 1));
    model = plain(model, "attr_model_out_nodes_name", outputs);
    if let Some(Words { names, texts, has_texts }) = writer.words {
        let list = |texts: &[String]| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            Message::new().message(1, &Message::new().texts(2, &texts).int(20, 1))
        };
        let flags: Vec<i64> = has_texts.iter().map(|flag| i64::from(*flag)).collect();
        model = plain(model, "om_compress_version", Message::new().int(3, 1));
        model = plain(model, "attr_name_enum", list(&names));
        model = plain(model, "attr_value_enum", list(&texts));
        let flags = Message::new().message(1, &Message::new().packed(5, &flags).int(20, 4));
        model = plain(model, "attrs_use_string_value", flags);
    }
    contained(form, &[(0, &model.0), (1, weights), (2, b"tasks")])
}

/// Partitions, each of a kind, as a file.
pub fn contained(form: Form, partitions: &[(u32, &[u8])]) -> Vec<u8> {
    let mut header = vec![0u8; 256];
    header[..4].copy_from_slice(b"IMOD");
    header[4..8].copy_from_slice(&256u32.to_le_bytes());
    header[84..88].copy_from_slice(b"made");
    header[152..156].copy_from_slice(&2u32.to_le_bytes());
    let mut table = Vec::new();
    let mut offset = 0u64;
    for (kind, content) in partitions {
        for number in [u64::from(*kind), offset, content.len() as u64] {
            match form {
                Form::Old => table.extend((number as u32).to_le_bytes()),
                Form::New => table.extend(number.to_le_bytes()),
            }
        }
        offset += content.len() as u64;
    }
    let count = (partitions.len() as u64).to_le_bytes();
    table.splice(0..0, count[..if form == Form::New { 8 } else { 4 }].iter().copied());
    let length = table.len() as u64 + offset;
    if form == Form::New {
        header[8..12].copy_from_slice(&0x2000_0000u32.to_le_bytes());
        header[156..160].copy_from_slice(&1u32.to_le_bytes());
        header[184..192].copy_from_slice(&length.to_le_bytes());
    } else {
        header[8..12].copy_from_slice(&0x1000_0000u32.to_le_bytes());
        header[76..80].copy_from_slice(&(length as u32).to_le_bytes());
    }
    let contents = partitions.iter().flat_map(|(_, content)| content.iter().copied());
    header.into_iter().chain(table).chain(contents).collect()
}

/// The network of [`small_graph`] as a file.
pub fn small(form: Form) -> Vec<u8> {
    file(form, &[("made", small_graph())], &[7; 4624])
}

/// A small network: an image, its conversion to the device's format, a convolution with an activation that the
/// converter put into it, an addition, and its conversion back.
pub fn small_graph() -> Vec<Operator> {
    let image = || Tensor::plain(&[1, 3, 8, 8]);
    let blocked = || Tensor::stored(&[1, 3, 8, 8], "NC1HWC0", &[1, 1, 8, 8, 16]);
    let result = || Tensor::stored(&[1, 8, 8, 8], "NC1HWC0", &[1, 1, 8, 8, 16]);
    let filter = || Tensor::stored(&[8, 3, 3, 3], "FRACTAL_Z", &[9, 1, 16, 16]);
    let texts = |texts: &[&str]| Value::Texts(texts.iter().map(|text| (*text).to_owned()).collect());
    let engine = |operator: Operator| {
        operator.with("_ge_attr_op_kernel_lib_name", Value::Text("AIcoreEngine".to_owned()))
    };
    vec![
        Operator { input_tensors: vec![image()], ..Operator::new("image", "Data", &[], image()) },
        engine(Operator::new("trans_TransData_0", "TransData", &[("image:0", image())], blocked())),
        Operator::constant("weights", filter(), 0, 4608),
        Operator::constant("bias", Tensor::plain(&[8]), 4608, 16),
        engine(Operator {
            output_offsets: vec![1024],
            workspaces: vec![[0, 4096], [8192, 512]],
            ..Operator::new(
                "conv/relu",
                "Conv2D",
                &[
                    ("trans_TransData_0:0", blocked()),
                    ("weights:0", filter()),
                    ("bias:0", Tensor::plain(&[8])),
                ],
                result(),
            )
        })
        .with("_datadump_original_op_names", texts(&["conv", "relu"]))
        .with("_datadump_original_op_types", texts(&["Conv2D", "Relu"]))
        .with("pass_name", texts(&["TbeConvReluFusionPass"]))
        .with("groups", Value::Int(1))
        .with("strides", Value::Ints(vec![1, 1, 1, 1]))
        .with("data_format", Value::Text("NCHW".to_owned())),
        engine(Operator::new(
            "add",
            "Add",
            &[("conv/relu:0", result()), ("conv/relu:0", result())],
            result(),
        ))
        .with("_datadump_original_op_names", texts(&["add"])),
        Operator::new("out", "NetOutput", &[("add:0", result())], result()),
    ]
}
