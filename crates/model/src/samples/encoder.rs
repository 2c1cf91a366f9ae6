//! A transformer encoder after BERT (Devlin et al., 2018), made smaller, with layer normalisation
//! and GELU in the small operators that exporters wrote before these were operators of their own.

use opscope_trace::DataType;

use super::builder::{Builder, Value, int, ints};
use crate::proto::ModelProto;

const LAYERS: usize = 6;
const SEQUENCE: usize = 128;
const VOCABULARY: usize = 8192;
/// Numbers that stand for a token.
const WIDTH: usize = 128;
const HEADS: usize = 4;
const HEAD_WIDTH: usize = WIDTH / HEADS;
/// Numbers between the two products of a feed-forward network.
const INNER_WIDTH: usize = 4 * WIDTH;

/// Weights of queries and keys are larger by this factor than what keeps variances, so that a
/// token attends to a few others instead of to all alike.
const ATTENTION_GAIN: f32 = 1.6;

pub(super) fn build(seed: u64) -> ModelProto {
    let mut net = Builder::new("encoder", seed);
    let tokens = net.input("input_ids", DataType::Int64, &[1, SEQUENCE]);

    let mut x = embeddings(&mut net, &tokens);
    for layer in 0..LAYERS {
        x = encoder_layer(&mut net, &format!("encoder/layer{layer}"), &x);
    }
    net.output("last_hidden_state", &x);
    net.finish()
}

fn embeddings(net: &mut Builder, tokens: &Value) -> Value {
    let path = "embeddings";
    let words = random_weight(net, path, "word", &[VOCABULARY, WIDTH], 1.0);
    let positions = random_weight(net, path, "position", &[1, SEQUENCE, WIDTH], 0.5);
    let shape = vec![1, SEQUENCE, WIDTH];
    let x = net.node(path, "Gather", &[&words, tokens], vec![int("axis", 0)], shape);
    let x = net.add(path, &x, &positions);
    layer_norm(net, &format!("{path}/norm"), &x)
}

fn encoder_layer(net: &mut Builder, path: &str, input: &Value) -> Value {
    let attention = self_attention(net, &format!("{path}/attention"), input);
    let x = net.add(&format!("{path}/attention"), &attention, input);
    let x = layer_norm(net, &format!("{path}/attention/norm"), &x);

    let feed_forward = format!("{path}/feed_forward");
    let inner = linear(net, &format!("{feed_forward}/inner"), &x, INNER_WIDTH, 1.0);
    let inner = gelu(net, &format!("{feed_forward}/gelu"), &inner);
    // GELU leaves about 0.43 of the square of its input.
    let outer = linear(net, &format!("{feed_forward}/outer"), &inner, WIDTH, 1.5);
    let sum = net.add(&feed_forward, &outer, &x);
    layer_norm(net, &format!("{feed_forward}/norm"), &sum)
}

fn self_attention(net: &mut Builder, path: &str, input: &Value) -> Value {
    let query = attention_head(net, &format!("{path}/query"), input, ATTENTION_GAIN, [0, 2, 1, 3]);
    let key = attention_head(net, &format!("{path}/key"), input, ATTENTION_GAIN, [0, 2, 3, 1]);
    let value = attention_head(net, &format!("{path}/value"), input, 1.0, [0, 2, 1, 3]);

    let scores = net.matmul(path, &query, &key);
    let scale = net.scalar((HEAD_WIDTH as f32).sqrt());
    let scores = net.elementwise(path, "Div", &scores, &scale);
    let shares = net.node(path, "Softmax", &[&scores], vec![int("axis", -1)], scores.shape.clone());
    let mixed = net.matmul(path, &shares, &value);

    let mixed = net.transpose(path, &mixed, [0, 2, 1, 3]);
    let mixed = net.reshape(path, &mixed, &[1, SEQUENCE, WIDTH]);
    linear(net, &format!("{path}/output"), &mixed, WIDTH, 1.0)
}

/// Queries, keys or values `[1, heads, …]`; `order` brings `[1, sequence, heads, width of a head]`
/// into the order that is needed.
fn attention_head(net: &mut Builder, path: &str, input: &Value, gain: f32, order: [usize; 4]) -> Value {
    let x = linear(net, path, input, WIDTH, gain);
    let x = net.reshape(path, &x, &[1, SEQUENCE, HEADS, HEAD_WIDTH]);
    net.transpose(path, &x, order)
}

/// A product with a weight matrix, and a bias; variances grow by the square of `gain`.
fn linear(net: &mut Builder, path: &str, input: &Value, outputs: usize, gain: f32) -> Value {
    let inputs = input.shape[input.shape.len() - 1];
    let weight = random_weight(net, path, "weight", &[inputs, outputs], gain / (inputs as f32).sqrt());
    let bias = random_weight(net, path, "bias", &[outputs], 0.1);
    let x = net.matmul(path, input, &weight);
    net.add(path, &x, &bias)
}

/// Layer normalisation over the last axis.
fn layer_norm(net: &mut Builder, path: &str, input: &Value) -> Value {
    let scales = net.generator(path, "weight").normals(WIDTH, 1.0, 0.1);
    let scale = net.weight(path, "weight", &[WIDTH], &scales);
    let shift = random_weight(net, path, "bias", &[WIDTH], 0.1);
    let (two, epsilon) = (net.scalar(2.0), net.scalar(1e-5));

    let mean = mean_of_last_axis(net, path, input);
    let centred = net.elementwise(path, "Sub", input, &mean);
    let squares = net.elementwise(path, "Pow", &centred, &two);
    let variance = mean_of_last_axis(net, path, &squares);
    let variance = net.add(path, &variance, &epsilon);
    let deviation = net.unary(path, "Sqrt", &variance);
    let x = net.elementwise(path, "Div", &centred, &deviation);
    let x = net.elementwise(path, "Mul", &x, &scale);
    net.add(path, &x, &shift)
}

fn mean_of_last_axis(net: &mut Builder, path: &str, input: &Value) -> Value {
    let mut shape = input.shape.clone();
    if let Some(last) = shape.last_mut() {
        *last = 1;
    }
    net.node(path, "ReduceMean", &[input], vec![ints("axes", [-1]), int("keepdims", 1)], shape)
}

/// x · (1 + erf(x / √2)) / 2.
fn gelu(net: &mut Builder, path: &str, input: &Value) -> Value {
    let (root, one, half) = (net.scalar(2_f32.sqrt()), net.scalar(1.0), net.scalar(0.5));
    let x = net.elementwise(path, "Div", input, &root);
    let x = net.unary(path, "Erf", &x);
    let x = net.add(path, &x, &one);
    let x = net.elementwise(path, "Mul", input, &x);
    net.elementwise(path, "Mul", &x, &half)
}

fn random_weight(net: &mut Builder, path: &str, kind: &str, shape: &[usize], deviation: f32) -> Value {
    let values = net.generator(path, kind).normals(shape.iter().product(), 0.0, deviation);
    net.weight(path, kind, shape, &values)
}
