//! Building nodes.

use opscope_model::proto::{AttributeProto, AttributeType, NodeProto};

/// A node of ONNX's own domain.
pub fn node(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        op_type: Some(op_type.to_owned()),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: outputs.iter().map(|&name| name.to_owned()).collect(),
        ..NodeProto::default()
    }
}

/// Ways to set attributes and names that read from left to right.
pub trait NodeExt: Sized {
    /// Gives the node a name.
    fn named(self, name: &str) -> Self;
    /// Takes over all attributes of another node.
    fn like(self, other: &NodeProto) -> Self;
    /// Sets an attribute, in place of one of that name.
    fn with(self, attribute: AttributeProto) -> Self;
    /// Removes an attribute.
    fn without(self, name: &str) -> Self;
    /// Sets an integer.
    fn int(self, name: &str, value: i64) -> Self {
        self.with(AttributeProto { i: Some(value), ..attribute(name, AttributeType::Int) })
    }
    /// Sets a list of integers.
    fn ints(self, name: &str, values: &[i64]) -> Self {
        self.with(AttributeProto { ints: values.to_vec(), ..attribute(name, AttributeType::Ints) })
    }
    /// Sets a number.
    fn float(self, name: &str, value: f32) -> Self {
        self.with(AttributeProto { f: Some(value), ..attribute(name, AttributeType::Float) })
    }
    /// Sets a text.
    fn text(self, name: &str, value: &'static str) -> Self {
        self.with(AttributeProto { s: Some(value.into()), ..attribute(name, AttributeType::String) })
    }
}

impl NodeExt for NodeProto {
    fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    fn like(mut self, other: &NodeProto) -> Self {
        self.attribute = other.attribute.clone();
        self
    }

    fn with(mut self, attribute: AttributeProto) -> Self {
        self.attribute.retain(|known| known.name() != attribute.name());
        self.attribute.push(attribute);
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.attribute.retain(|known| known.name() != name);
        self
    }
}

fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.to_owned()), r#type: Some(kind as i32), ..AttributeProto::default() }
}
