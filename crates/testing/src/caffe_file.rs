//! Weights of Caffe as files (`.caffemodel`), which have the network's layers beside them, made by the public
//! `caffe.proto`.

use crate::protobuf::Message;

fn blob(count: usize) -> Message {
    let data: Vec<u8> = std::iter::repeat_n(0.5f32.to_le_bytes(), count).flatten().collect();
    Message::new().bytes(5, data)
}

fn shape(sizes: &[i64]) -> Message {
    Message::new().packed(1, sizes)
}

fn layer(name: &str, op_type: &str, bottoms: &[&str], top: &str) -> Message {
    Message::new().bytes(1, name).bytes(2, op_type).texts(3, bottoms).bytes(4, top)
}

fn pooling() -> Message {
    Message::new().int(1, 1).int(2, 3).int(3, 2)
}

fn beginning() -> Message {
    let input = Message::new().message(1, &shape(&[1, 3, 32, 32]));
    let convolution = Message::new().int(1, 2).int(2, 0).packed(3, &[1]).int(4, 3).int(6, 2);
    let convolution =
        layer("c", "Convolution", &["data"], "c").message(7, &blob(54)).message(106, &convolution);
    Message::new()
        .bytes(1, "net \"quoted\"")
        .message(100, &layer("data", "Input", &[], "data").message(143, &input))
        .message(100, &convolution)
}

/// A small network with the weights of its convolution.
pub fn small() -> Vec<u8> {
    let rule = Message::new().int(1, 0);
    let activation = Message::new().float(1, 0.1);
    let product = Message::new().int(1, 10);
    let softmax = Message::new().int(2, 1);
    beginning()
        .message(100, &layer("pool", "Pooling", &["c"], "pool").message(121, &pooling()))
        .message(100, &layer("leaky", "ReLU", &["pool"], "leaky").message(123, &activation))
        .message(100, &layer("fc", "InnerProduct", &["leaky"], "fc").message(117, &product))
        .message(100, &layer("loss", "SoftmaxWithLoss", &["fc"], "loss").message(8, &rule))
        .message(100, &layer("prob", "Softmax", &["fc"], "prob").message(125, &softmax))
        .0
}

/// The beginning of that, with a pooling of which versions of Caffe say in two ways how it rounds.
pub fn ambiguous() -> Vec<u8> {
    let pooling = pooling().int(13, 1);
    beginning().message(100, &layer("pool", "Pooling", &["c"], "pool").message(121, &pooling)).0
}

/// A network of the form before 2015: an input, a convolution with weights, an activation, and a layer of a type that
/// nobody knows.
pub fn old() -> Vec<u8> {
    let layer = |name: &str, op_type: i64, bottom: &str, top: &str| {
        Message::new().bytes(2, bottom).bytes(3, top).bytes(4, name).int(5, op_type)
    };
    let convolution = Message::new().int(1, 2).int(2, 0).int(4, 1);
    Message::new()
        .bytes(1, "old")
        .bytes(3, "data")
        .int(4, 1)
        .int(4, 3)
        .int(4, 32)
        .int(4, 32)
        .message(2, &layer("c", 4, "data", "c").message(6, &blob(6)).message(10, &convolution))
        .message(2, &layer("relu", 18, "c", "c"))
        .message(2, &layer("strange", 77, "c", "s"))
        .0
}
