//! The arguments of events, under the names that Chrome's events have them by.

use opscope_trace::{DataType, Operator, OperatorId, TensorId, Trace};

use super::super::fields::{annotation, event};
use super::names::Names;
use opscope_protobuf::{push_bytes, push_number};

/// Appends arguments to an event.
pub struct Arguments<'o, 'n, 't> {
    pub out: &'o mut Vec<u8>,
    pub names: &'n mut Names<'t>,
    pub scratch: &'o mut Vec<u8>,
}

impl Arguments<'_, '_, '_> {
    /// A text.
    pub fn text(&mut self, name: &'static str, text: &str) {
        let number = self.names.text(text);
        self.push(name, |scratch| push_number(scratch, annotation::TEXT_IID, number));
    }

    /// A whole number from 0.
    pub fn number(&mut self, name: &'static str, number: u64) {
        self.push(name, |scratch| push_number(scratch, annotation::UNSIGNED, number));
    }

    /// A whole number.
    pub fn signed(&mut self, name: &'static str, number: i64) {
        self.push(name, |scratch| push_number(scratch, annotation::SIGNED, number.cast_unsigned()));
    }

    /// Yes or no.
    pub fn flag(&mut self, name: &'static str, flag: bool) {
        self.push(name, |scratch| push_number(scratch, annotation::BOOLEAN, u64::from(flag)));
    }

    /// A list of texts; nothing if it is empty.
    pub fn texts<'a>(&mut self, name: &'static str, texts: impl Iterator<Item = &'a str>) {
        let numbers: Vec<u64> = texts.map(|text| self.names.text(text)).collect();
        if numbers.is_empty() {
            return;
        }
        self.push(name, |scratch| {
            let mut item = Vec::with_capacity(8);
            for number in numbers {
                item.clear();
                push_number(&mut item, annotation::TEXT_IID, number);
                push_bytes(scratch, annotation::ITEMS, &item);
            }
        });
    }

    fn push(&mut self, name: &'static str, value: impl FnOnce(&mut Vec<u8>)) {
        self.scratch.clear();
        push_number(self.scratch, annotation::NAME_IID, self.names.annotation(name));
        value(self.scratch);
        push_bytes(self.out, event::ANNOTATIONS, self.scratch);
    }

    /// The facts about an operator.
    pub fn operator(&mut self, trace: &Trace, id: OperatorId) {
        let operator: Operator = trace.operators.get(id);
        let text = |id| trace.strings.get(id);
        self.text("type", text(operator.op_type));
        if trace.models.len() > 1
            && let Some(model) = operator.model
        {
            self.text("model", text(trace.models.get(model).name));
        }
        let shapes = |tensors: &mut dyn Iterator<Item = TensorId>| -> Vec<String> {
            tensors.map(|tensor| shape(trace, tensor)).collect()
        };
        let (inputs, outputs) = (shapes(&mut operator.inputs()), shapes(&mut operator.outputs()));
        self.texts("inputs", inputs.iter().map(String::as_str));
        self.texts("outputs", outputs.iter().map(String::as_str));
        let quantities = [
            ("flops", operator.flops),
            ("bytes_read", operator.bytes_read),
            ("bytes_written", operator.bytes_written),
            ("parameters", operator.parameters),
        ];
        for (name, value) in quantities {
            if let Some(value) = value {
                self.number(name, value);
            }
        }
        if let Some(position) = operator.position {
            self.number("position", u64::from(position));
        }
        if let Some(dynamic) = operator.dynamic {
            self.flag("dynamic", dynamic);
        }
        if let Some(attributes) = operator.attributes {
            self.text("attributes", text(attributes));
        }
        if let Some(engine_type) = operator.engine_type {
            self.text("engine_type", text(engine_type));
        }
        self.text("attribution", operator.attribution.name());
        self.texts("origins", trace.names.get(operator.origins).iter().map(|&origin| text(origin)));
    }
}

/// `1x3x224x224 float32`, with `?` for what isn't known; a scalar is only its type.
fn shape(trace: &Trace, id: TensorId) -> String {
    let data_type = trace.tensors.data_type()[id.index()];
    let name = if data_type == DataType::Unknown { "?" } else { data_type.name() };
    let dimension = |&size: &i64| if size < 0 { "?".to_owned() } else { size.to_string() };
    match trace.shape(id) {
        None => format!("?x? {name}"),
        Some([]) => name.to_owned(),
        Some(dimensions) => {
            format!("{} {name}", dimensions.iter().map(dimension).collect::<Vec<_>>().join("x"))
        }
    }
}
