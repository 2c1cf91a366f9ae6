//! Frozen graphs of TensorFlow as files, made by the public layout of their messages.

use crate::protobuf::Message;

/// The element type of single precision.
pub const FLOAT: i64 = 1;
/// That of integers of 32 bits.
pub const INT32: i64 = 3;
/// That of integers of 64 bits.
pub const INT64: i64 = 9;

/// A node as it grows by attributes.
#[derive(Clone, Debug)]
pub struct Node(Message);

impl Node {
    /// A node of a name, an operator and inputs.
    pub fn new(name: &str, op: &str, inputs: &[&str]) -> Self {
        Self(Message::new().bytes(1, name).bytes(2, op).texts(3, inputs))
    }

    fn attribute(self, name: &str, value: &Message) -> Self {
        Self(self.0.message(5, &Message::new().bytes(1, name).message(2, value)))
    }

    /// A text.
    #[must_use]
    pub fn text(self, name: &str, value: &str) -> Self {
        self.attribute(name, &Message::new().bytes(2, value))
    }

    /// An integer.
    #[must_use]
    pub fn int(self, name: &str, value: i64) -> Self {
        self.attribute(name, &Message::new().int(3, value))
    }

    /// A number.
    #[must_use]
    pub fn float(self, name: &str, value: f32) -> Self {
        self.attribute(name, &Message::new().float(4, value))
    }

    /// A truth.
    #[must_use]
    pub fn truth(self, name: &str, value: bool) -> Self {
        self.attribute(name, &Message::new().int(5, value.into()))
    }

    /// An element type.
    #[must_use]
    pub fn data_type(self, name: &str, value: i64) -> Self {
        self.attribute(name, &Message::new().int(6, value))
    }

    /// A list of integers.
    #[must_use]
    pub fn ints(self, name: &str, values: &[i64]) -> Self {
        self.attribute(name, &Message::new().message(1, &Message::new().packed(3, values)))
    }

    /// An input of the graph.
    pub fn placeholder(name: &str, sizes: &[i64]) -> Self {
        let shape = Message::new().message(7, &shape(sizes));
        Self::new(name, "Placeholder", &[]).data_type("dtype", FLOAT).attribute("shape", &shape)
    }

    /// A constant of which all elements are one number.
    pub fn constant(name: &str, sizes: &[i64], value: f32) -> Self {
        let count = sizes.iter().product::<i64>() as usize;
        let bytes = value.to_le_bytes().repeat(count);
        Self::tensor(name, FLOAT, sizes, &bytes)
    }

    /// A constant list of integers; one without sizes if it is of one integer and `is_scalar`.
    pub fn integers(name: &str, values: &[i32], is_scalar: bool) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let sizes: &[i64] = if is_scalar { &[] } else { &[values.len() as i64] };
        Self::tensor(name, INT32, sizes, &bytes)
    }

    fn tensor(name: &str, data_type: i64, sizes: &[i64], bytes: &[u8]) -> Self {
        let tensor = Message::new().int(1, data_type).message(2, &shape(sizes)).bytes(4, bytes);
        Self::new(name, "Const", &[])
            .data_type("dtype", data_type)
            .attribute("value", &Message::new().message(8, &tensor))
    }
}

fn shape(sizes: &[i64]) -> Message {
    sizes.iter().fold(Message::new(), |shape, size| shape.message(2, &Message::new().int(1, *size)))
}

/// The file of a graph.
pub fn graph(nodes: &[Node]) -> Vec<u8> {
    let graph = nodes.iter().fold(Message::new(), |graph, node| graph.message(1, &node.0));
    graph.message(4, &Message::new().int(1, 1882)).0
}

/// A small network: a convolution with its normalisation, a depthwise one, a sum, the mean over the image, a product.
pub fn small() -> Vec<u8> {
    let window = |node: Node, step| {
        node.ints("strides", &[1, step, step, 1]).text("padding", "SAME").text("data_format", "NHWC")
    };
    graph(&[
        Node::placeholder("image", &[1, 17, 17, 3]),
        Node::constant("conv/weights", &[3, 3, 3, 8], 0.5),
        Node::new("conv/weights/read", "Identity", &["conv/weights"]),
        window(Node::new("conv", "Conv2D", &["image", "conv/weights/read"]), 2),
        Node::constant("scale", &[8], 1.0),
        Node::constant("offset", &[8], 0.0),
        Node::new("norm", "FusedBatchNormV3", &["conv", "scale", "offset", "offset", "scale"])
            .truth("is_training", false)
            .float("epsilon", 0.001)
            .text("data_format", "NHWC"),
        Node::new("relu", "Relu6", &["norm:0"]),
        Node::constant("deep/weights", &[3, 3, 8, 1], 0.5),
        window(Node::new("deep", "DepthwiseConv2dNative", &["relu", "deep/weights"]), 1),
        Node::new("sum", "AddV2", &["deep", "relu"]),
        Node::integers("axes", &[1, 2], false),
        Node::new("mean", "Mean", &["sum", "axes"]).truth("keep_dims", false),
        Node::constant("fc/weights", &[8, 10], 0.5),
        Node::new("fc", "MatMul", &["mean", "fc/weights"]),
        Node::constant("fc/bias", &[10], 0.5),
        Node::new("logits", "BiasAdd", &["fc", "fc/bias"]).text("data_format", "NHWC"),
        Node::new("prob", "Softmax", &["logits", "^image"]),
    ])
}
