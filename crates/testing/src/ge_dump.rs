//! Graphs of Ascend's compiler as texts, made by the public description of their messages and of what writes them:
//! the text of `ModelDef`, its JSON, and the text of messages like those of ONNX.

use std::fmt::Write as _;

use crate::om_file::{Operator, Tensor, Value};

/// A field of a message.
struct Field {
    name: &'static str,
    /// Whether there may be several, which JSON has as an array.
    is_list: bool,
    content: Content,
}

enum Content {
    /// A number, a truth, the name of a number.
    Word(String),
    /// The name of a number, which JSON has in quotes.
    Name(&'static str),
    Text(String),
    /// Bytes, which JSON has with signs behind backslashes.
    Bytes(Vec<u8>),
    Block(Vec<Field>),
}

use Content::{Block, Bytes, Name, Text, Word};

fn one(name: &'static str, content: Content) -> Field {
    Field { name, is_list: false, content }
}

fn several(name: &'static str, content: Content) -> Field {
    Field { name, is_list: true, content }
}

fn attribute(name: &str, value: Field) -> Field {
    let entry = vec![one("key", Text(name.to_owned())), one("value", Block(vec![value]))];
    several("attr", Block(entry))
}

fn value(value: &Value) -> Field {
    let list = |mut fields: Vec<Field>, kind| {
        fields.push(one("val_type", Name(kind)));
        one("list", Block(fields))
    };
    match value {
        Value::Int(number) => one("i", Word(number.to_string())),
        Value::Bool(truth) => one("b", Word(truth.to_string())),
        Value::Text(text) => one("s", Bytes(text.clone().into_bytes())),
        Value::Ints(numbers) => {
            list(numbers.iter().map(|it| several("i", Word(it.to_string()))).collect(), "VT_LIST_INT")
        }
        Value::Texts(texts) => {
            list(texts.iter().map(|text| several("s", Text(text.clone()))).collect(), "VT_LIST_STRING")
        }
    }
}

fn described(tensor: &Tensor) -> Content {
    let sizes = tensor.device.iter().map(|size| several("dim", Word(size.to_string()))).collect();
    let mut fields = vec![
        one("dtype", Name("DT_FLOAT16")),
        one("shape", Block(sizes)),
        one("layout", Text(tensor.format.to_owned())),
        attribute("origin_format", value(&Value::Text(tensor.layout.to_owned()))),
        attribute("origin_shape", value(&Value::Ints(tensor.origin.clone()))),
        attribute("origin_shape_initialized", value(&Value::Bool(true))),
    ];
    fields.extend(tensor.attributes.iter().map(|(name, it)| attribute(name, value(it))));
    fields.push(one("device_type", Text("NPU".to_owned())));
    Block(fields)
}

/// The places in the model's memory, by the names of their fields.
fn places(operator: &Operator) -> [(&'static str, Vec<i64>); 3] {
    let workspaces = |part: usize| operator.workspaces.iter().map(|place| place[part]).collect();
    [
        ("output_i", operator.output_offsets.clone()),
        ("workspace", workspaces(0)),
        ("workspace_bytes", workspaces(1)),
    ]
}

fn operator(operator: &Operator) -> Field {
    let mut fields =
        vec![one("name", Text(operator.name.clone())), one("type", Text(operator.op_type.to_owned()))];
    fields.extend(operator.inputs.iter().map(|input| several("input", Text(input.clone()))));
    fields.extend(operator.attributes.iter().map(|(name, it)| attribute(name, value(it))));
    if let Some((tensor, ..)) = &operator.constant {
        let data = one("data", Bytes(b"\0\"\\\xff}".to_vec()));
        fields.push(attribute("value", one("t", Block(vec![one("desc", described(tensor)), data]))));
    }
    fields.push(one("has_out_attr", Word("true".to_owned())));
    fields.push(one("id", Word("7".to_owned())));
    for (name, numbers) in places(operator) {
        fields.extend(numbers.into_iter().map(|number| several(name, Word(number.to_string()))));
    }
    fields.extend(operator.input_tensors.iter().map(|tensor| several("input_desc", described(tensor))));
    fields.extend(operator.output_tensors.iter().map(|tensor| several("output_desc", described(tensor))));
    fields.extend(operator.graphs.iter().map(|name| several("subgraph_name", Text(name.clone()))));
    several("op", Block(fields))
}

fn model(graphs: &[(&str, Vec<Operator>)]) -> Vec<Field> {
    let graph = |(name, operators): &(&str, Vec<Operator>)| {
        let mut fields = vec![one("name", Text((*name).to_owned()))];
        fields.extend(operators.iter().map(operator));
        several("graph", Block(fields))
    };
    let mut fields = vec![one("name", Text("made".to_owned())), one("version", Word("2".to_owned()))];
    fields.extend(graphs.iter().map(graph));
    for (name, it) in [("soc_version", "Ascend310B4"), ("framework_type", "Onnx")] {
        fields.push(attribute(name, value(&Value::Text(it.to_owned()))));
    }
    fields.push(attribute("memory_size", value(&Value::Int(11_275_776))));
    fields
}

/// Text with signs behind backslashes as in C; all that isn't ASCII in octal digits.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => _ = write!(text, "\\{byte:03o}"),
        }
    }
    text
}

fn push_text(out: &mut String, fields: &[Field], depth: usize) {
    for Field { name, content, .. } in fields {
        _ = write!(out, "{:1$}{name}", "", depth * 2);
        _ = match content {
            Word(word) => writeln!(out, ": {word}"),
            Name(word) => writeln!(out, ": {word}"),
            Text(text) => writeln!(out, ": \"{}\"", escaped(text.as_bytes())),
            Bytes(bytes) => writeln!(out, ": \"{}\"", escaped(bytes)),
            Block(fields) => {
                out.push_str(" {\n");
                push_text(out, fields, depth + 1);
                writeln!(out, "{:1$}}}", "", depth * 2)
            }
        };
    }
}

/// The text of `ModelDef`, as `ge_proto_*.txt` have it.
pub fn proto(graphs: &[(&str, Vec<Operator>)]) -> String {
    let mut out = String::new();
    push_text(&mut out, &model(graphs), 0);
    out
}

fn json_quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn push_json(out: &mut String, fields: &[Field], depth: usize) {
    // ATC leaves these out.
    let is_left_out = |name: &&str| ["data", "workspace", "workspace_bytes"].contains(name);
    let mut names: Vec<&str> =
        fields.iter().map(|field| field.name).filter(|name| !is_left_out(name)).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return out.push_str("null");
    }
    let indent = " ".repeat(4 * depth);
    out.push_str("{\n");
    for (place, name) in names.iter().enumerate() {
        let comma = if place == 0 { "" } else { ",\n" };
        _ = write!(out, "{comma}{indent}    \"{name}\": ");
        let mut found = fields.iter().filter(|field| field.name == *name).peekable();
        let is_list = found.peek().is_some_and(|field| field.is_list);
        out.push_str(if is_list { "[" } else { "" });
        for (place, field) in found.enumerate() {
            out.push_str(if place == 0 { "" } else { ", " });
            match &field.content {
                Word(word) => out.push_str(word),
                Name(name) => out.push_str(&json_quoted(name)),
                Text(text) => out.push_str(&json_quoted(text)),
                Bytes(bytes) => out.push_str(&json_quoted(&escaped(bytes))),
                Block(fields) => push_json(out, fields, depth + 1),
            }
        }
        out.push_str(if is_list { "]" } else { "" });
    }
    _ = write!(out, "\n{indent}}}");
}

/// The JSON that ATC makes of a model.
pub fn json(graphs: &[(&str, Vec<Operator>)]) -> String {
    let mut out = String::new();
    push_json(&mut out, &model(graphs), 0);
    out
}

/// The content of a dump: `DUMP_GE_GRAPH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// All: 1.
    All,
    /// No texts and no data: 2.
    WithoutTexts,
    /// Neither these nor descriptions of tensors: 3.
    NamesOnly,
}

/// From so many tensors on each is described as JSON.
const MANY: usize = 20;

fn onnx_attribute(name: &str, kind: &'static str, values: Vec<Field>) -> (String, Field) {
    let mut fields = vec![one("name", Text(name.to_owned()))];
    // Zeros and empty texts are left out.
    fields.extend(values.into_iter().filter(|field| match &field.content {
        Word(word) => field.is_list || word != "0",
        Text(text) => field.is_list || !text.is_empty(),
        _ => true,
    }));
    fields.push(one("type", Name(kind)));
    (name.to_owned(), several("attribute", Block(fields)))
}

fn onnx_value(name: &str, value: &Value, level: Level) -> Option<(String, Field)> {
    let number = |number: &i64| Word(number.to_string());
    Some(match value {
        Value::Int(it) => onnx_attribute(name, "INT", vec![one("i", number(it))]),
        Value::Bool(it) => onnx_attribute(name, "INT", vec![one("i", number(&i64::from(*it)))]),
        Value::Ints(it) => {
            onnx_attribute(name, "INTS", it.iter().map(|it| several("ints", number(it))).collect())
        }
        _ if level != Level::All => return None,
        Value::Text(it) => onnx_attribute(name, "STRING", vec![one("s", Text(it.clone()))]),
        Value::Texts(it) => onnx_attribute(
            name,
            "STRINGS",
            it.iter().map(|it| several("strings", Text(it.clone()))).collect(),
        ),
    })
}

fn onnx_tensors(side: &str, tensors: &[Tensor], level: Level, into: &mut Vec<(String, Field)>) {
    for (place, tensor) in tensors.iter().enumerate() {
        let text = |text: &str| Value::Text(text.to_owned());
        let members = [
            ("dtype", text("DT_FLOAT16")),
            ("layout", text(tensor.format)),
            ("origin_layout", text(tensor.layout)),
            ("origin_shape", Value::Ints(tensor.origin.clone())),
            ("shape", Value::Ints(tensor.device.clone())),
            ("size", Value::Int(0)),
        ];
        if tensors.len() < MANY {
            for (name, value) in &members {
                into.extend(onnx_value(&format!("{side}_desc_{name}:{place}"), value, Level::All));
            }
            for (name, value) in &tensor.attributes {
                into.extend(onnx_value(&format!("{side}_desc_attr_{name}:{place}"), value, level));
            }
            continue;
        }
        let mut json: Vec<Field> = Vec::new();
        for (name, value) in members {
            match value {
                Value::Ints(sizes) if sizes.is_empty() => {}
                Value::Ints(sizes) => {
                    json.extend(sizes.iter().map(|size| several(name, Word(size.to_string()))));
                }
                Value::Text(text) => json.push(one(name, Text(text))),
                _ => {}
            }
        }
        for (name, value) in &tensor.attributes {
            if let Value::Int(number) = value {
                json.push(one(name, Text(format!("i: {number}\\n"))));
            }
        }
        let mut text = String::new();
        push_json(&mut text, &json, 0);
        // Signs behind backslashes are there twice by now.
        let text = text.replace("\\\\n", "\\n");
        into.extend(onnx_value(&format!("{side}_desc_{place}"), &Value::Text(text), Level::All));
    }
}

fn onnx_node(operator: &Operator, read: &[&str], level: Level) -> Field {
    let mut attributes = Vec::new();
    if level != Level::NamesOnly {
        for (name, value) in &operator.attributes {
            attributes.extend(onnx_value(name, value, level));
        }
        if let Some((tensor, ..)) = &operator.constant {
            let text = |text: &str| Value::Text(text.to_owned());
            for (name, value) in [
                ("value_desc_dtype", text("DT_FLOAT16")),
                ("value_desc_layout", text(tensor.format)),
                ("value_desc_shape", Value::Ints(tensor.device.clone())),
            ] {
                attributes.extend(onnx_value(name, &value, Level::All));
            }
            attributes.extend(onnx_value("value_data", &text("\u{1}\"\\"), level));
        }
        for (name, value) in [("id", 7), ("stream_id", 0), ("input_desc_nums", 1)] {
            attributes.extend(onnx_value(name, &Value::Int(value), level));
        }
        for (name, numbers) in places(operator) {
            attributes.extend(onnx_value(name, &Value::Ints(numbers), level));
        }
        onnx_tensors("input", &operator.input_tensors, level, &mut attributes);
        let constant: Vec<Tensor> = operator.constant.iter().map(|(tensor, ..)| tensor.clone()).collect();
        let outputs = if constant.is_empty() { &operator.output_tensors } else { &constant };
        onnx_tensors("output", outputs, level, &mut attributes);
    }
    attributes.sort_by(|(first, _), (second, _)| first.cmp(second));
    let mut fields: Vec<Field> =
        operator.inputs.iter().map(|input| several("input", Text(input.clone()))).collect();
    let start = format!("{}:", operator.name);
    // The values are in the order of the alphabet.
    let first = read.partition_point(|value| *value < start.as_str());
    let outputs = read[first..].iter().take_while(|value| value.starts_with(&start));
    fields.extend(outputs.map(|value| several("output", Text((*value).to_owned()))));
    fields.push(one("name", Text(operator.name.clone())));
    fields.push(one("op_type", Text(format!("ge:{}", operator.op_type))));
    fields.extend(attributes.into_iter().map(|(_, attribute)| attribute));
    several("node", Block(fields))
}

fn onnx_graph(name: &str, operators: &[Operator], level: Level) -> Vec<Field> {
    let mut read: Vec<&str> = operators.iter().flat_map(|it| &it.inputs).map(String::as_str).collect();
    read.sort_unstable();
    read.dedup();
    let mut fields: Vec<Field> = operators.iter().map(|it| onnx_node(it, &read, level)).collect();
    fields.push(one("name", Text(name.to_owned())));
    let outputs = operators.iter().filter(|operator| operator.op_type == "NetOutput");
    fields.extend(outputs.map(|it| several("output", Block(vec![one("name", Text(it.name.clone()))]))));
    fields
}

/// The text of messages like those of ONNX, as `ge_onnx_*.pbtxt` have it.
pub fn onnx(graphs: &[(&str, Vec<Operator>)], level: Level) -> String {
    let mut fields =
        vec![one("ir_version", Word("6".to_owned())), one("producer_name", Text("made".to_owned()))];
    if let Some(((name, operators), others)) = graphs.split_first() {
        let mut graph = onnx_graph(name, operators, level);
        for (name, operators) in others {
            let held = vec![
                one("name", Text("graph".to_owned())),
                one("g", Block(onnx_graph(name, operators, level))),
                one("type", Name("GRAPH")),
            ];
            let node = vec![
                one("name", Text((*name).to_owned())),
                one("op_type", Text("subgraph".to_owned())),
                several("attribute", Block(held)),
            ];
            graph.push(several("node", Block(node)));
        }
        fields.push(one("graph", Block(graph)));
    }
    let mut out = String::new();
    push_text(&mut out, &fields, 0);
    out
}
