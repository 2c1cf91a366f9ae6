//! The cost of a node, in operations and bytes: figures that follow from its shapes alone, whatever
//! engine runs it.
//!
//! **Operations.** A multiplication and an addition count one each, so a multiply-add counts two.
//! N(x) is the number of elements of x.
//!
//! | operators | operations |
//! |---|---|
//! | convolutions | 2 · N(output) · product of the weights' dimensions but the first (channels of a group times kernel), + N(output) for a bias |
//! | transposed convolution | 2 · N(input) · product of the weights' dimensions but the first, + N(output) for a bias |
//! | matrix products | 2 · N(output) · K, where K is the dimension that is summed over, + N(output) for a bias |
//! | `Einsum` | product of all dimensions that are named · number of inputs |
//! | element by element | 1 for each element of the output, whatever the function: a transcendental one counts 1 as well. With n inputs that are joined, n − 1 |
//! | `Softmax`, `LogSoftmax` | 5 for each element: maximum, difference, exponential, sum, quotient |
//! | batch normalisation | 2 for each element, as in inference, where it is one scale and one shift |
//! | layer, instance and group normalisation | 7 for each element: mean 1, deviation 1, variance 2, quotient 1, scale 1, shift 1 |
//! | RMS normalisation | 4 for each element: squares 2, quotient 1, scale 1 |
//! | local response normalisation | size + 4 for each element |
//! | pooling | N(output) · window; of all the image, N(input) |
//! | reductions, `ArgMax`, `TopK`, sums along an axis | N(input) |
//! | recurrent layers | for each step, direction and row of the batch, with I inputs, H hidden and G gates (1, 3 for `GRU`, 4 for `LSTM`): 2 · G · H · (I + H), + 2 · G · H for biases, + H, 8 · H or 9 · H for what happens element by element |
//! | attention | for each query and key of each head: 2 · head size for the score, 1 for its scale, 1 for a mask, 5 for the softmax, 2 · value size for the result; projections as matrix products. A causal mask saves nothing here |
//! | interpolation (`Resize`, `GridSample`) | 2 for each element and each point that it is made of: 2 points a dimension if linear, 4 if cubic; none if nearest |
//! | quantisation and back | 2 for each element; quantised operators otherwise count as plain ones |
//! | Fourier transforms | 5 · n · log2(n), rounded up, for each transform of length n |
//! | what only moves or converts data | 0 |
//!
//! Operators of other formats count as those of ONNX with the same meaning. TensorFlow Lite's LSTM counts the weights
//! and biases that it has, and its `SVDF` two for each weight, for each row of the batch; that of Caffe has one bias for
//! each gate. Caffe's `Power`, `Exp` and `Log` count what their parameters multiply and shift first. One that a converter made of several
//! counts as the one whose type it has: a convolution with an activation in it as the convolution.
//!
//! Operators whose work depends on the data, that run graphs of their own (`If`, `Loop`, `Scan`) or
//! that aren't known here have no figure.
//!
//! **Bytes.** Each input counts as read once and each output as written once, as large as they are,
//! in the packed size of their type. Exceptions: of a tensor that is picked from (`Gather`, `Slice`
//! and their like) as much is read as comes out; `Shape` and `Size` read nothing, and `Constant`
//! moves nothing. An engine that keeps a tensor in place moves less, and one that reads it again
//! moves more.

mod converted;
mod costed;
mod flops;
mod openvino;

use costed::Costed;

use crate::graph::NodeId;
use crate::load::Model;
use crate::shapes::Shapes;

/// The operations and bytes of one execution of a node; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Arithmetic operations; a multiply-add counts two. The formulas stand in the module's
    /// description.
    pub flops: Option<u64>,
    /// Bytes of the tensors that are read.
    pub bytes_read: Option<u64>,
    /// Bytes of the tensors that are written.
    pub bytes_written: Option<u64>,
    /// Elements of the weights that are read: tensors that the model stores, but for those of 64-bit
    /// integers, which hold sizes and positions. A weight that two nodes read counts for both.
    pub parameters: u64,
}

impl Cost {
    /// The cost of a node.
    ///
    /// # Panics
    /// If the id comes from another, longer graph.
    pub fn of(model: &Model, shapes: &Shapes, node: NodeId) -> Self {
        let (graph, node) = (model.graph(), model.graph().node(node));
        let version = model.opset_version(node.domain).unwrap_or(i64::MAX);
        let node = Costed { graph, shapes, node, version, provenance: model.provenance() };
        Self {
            flops: flops::of(&node),
            bytes_read: node.bytes_read(),
            bytes_written: node.bytes_written(),
            parameters: node.parameters(),
        }
    }

    /// Operations for each byte that is moved: the horizontal axis of a roofline.
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.bytes_read?.checked_add(self.bytes_written?)?;
        (bytes > 0).then_some(self.flops? as f64 / bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::DataType;

    use super::*;
    use crate::proto::GraphProto;
    use crate::testing::{Case, declared, node, untyped};

    #[test]
    fn convolutions_count_what_each_output_sums_up() {
        // 64 · 112 · 112 outputs, each of 3 · 7 · 7 multiply-adds, the first layer of a ResNet.
        let conv = || Case::new("Conv").input(&[1, 3, 224, 224]).weight(&[64, 3, 7, 7]);
        let conv = || conv().ints("pads", &[3, 3, 3, 3]).ints("strides", &[2, 2]);
        assert_eq!(conv().flops(), Some(2 * 64 * 112 * 112 * 147));
        let with_bias = conv().weight(&[64]).cost();
        assert_eq!(with_bias.flops, Some(64 * 112 * 112 * (2 * 147 + 1)));
        assert_eq!(with_bias.parameters, 64 * 147 + 64);
        assert_eq!(with_bias.bytes_read, Some(4 * (3 * 224 * 224 + 64 * 147 + 64)));
        assert_eq!(with_bias.bytes_written, Some(4 * 64 * 112 * 112));
        let depthwise = Case::new("Conv").input(&[1, 32, 16, 16]).weight(&[32, 1, 3, 3]).int("group", 32);
        assert_eq!(depthwise.flops(), Some(2 * 32 * 14 * 14 * 9));
        let transposed = Case::new("ConvTranspose").input(&[1, 8, 7, 7]).weight(&[8, 3, 2, 2]).weight(&[3]);
        assert_eq!(transposed.ints("strides", &[2, 2]).flops(), Some(2 * 8 * 49 * 12 + 3 * 14 * 14));
    }

    #[test]
    fn products_of_matrices_count_multiply_adds() {
        assert_eq!(Case::new("MatMul").input(&[5, 2, 3]).input(&[3, 4]).flops(), Some(2 * 5 * 2 * 4 * 3));
        assert_eq!(Case::new("MatMul").input(&[3]).input(&[3]).flops(), Some(6));
        let gemm = Case::new("Gemm").input(&[3, 2]).input(&[3, 4]).int("transA", 1);
        assert_eq!(gemm.weight(&[4]).flops(), Some(2 * 2 * 4 * 3 + 2 * 4));
        let einsum =
            Case::new("Einsum").string("equation", "bij,bjk->bik").input(&[5, 2, 3]).input(&[5, 3, 4]);
        assert_eq!(einsum.flops(), Some(2 * 5 * 2 * 3 * 4));
        let fused = Case::new("com.microsoft:FusedMatMul").input(&[3, 2]).input(&[3, 4]).int("transA", 1);
        assert_eq!(fused.flops(), Some(2 * 2 * 4 * 3));
        let packed = Case::new("com.microsoft:MatMulNBits").input(&[7, 64]).int("K", 64).int("N", 100);
        assert_eq!(packed.flops(), Some(2 * 7 * 100 * 64));
    }

    #[test]
    fn elementwise_operators_count_once_for_each_output() {
        assert_eq!(Case::new("Add").input(&[2, 3]).input(&[3]).flops(), Some(6));
        assert_eq!(Case::new("Sigmoid").input(&[2, 3]).flops(), Some(6));
        assert_eq!(Case::new("Sum").input(&[6]).input(&[6]).input(&[6]).flops(), Some(12));
        assert_eq!(Case::new("Softmax").input(&[2, 3]).flops(), Some(30));
        assert_eq!(Case::new("LayerNormalization").input(&[2, 3]).input(&[3]).flops(), Some(42));
        assert_eq!(Case::new("LRN").input(&[1, 3, 2, 2]).int("size", 5).flops(), Some(12 * 9));
    }

    #[test]
    fn windows_and_reductions_count_what_they_read() {
        let pool = Case::new("MaxPool").input(&[1, 8, 6, 6]).ints("kernel_shape", &[3, 2]);
        assert_eq!(pool.flops(), Some(8 * 4 * 5 * 6));
        assert_eq!(Case::new("GlobalAveragePool").input(&[1, 8, 6, 6]).flops(), Some(8 * 36));
        assert_eq!(Case::new("ReduceMean").input(&[4, 5]).flops(), Some(20));
        assert_eq!(Case::new("TopK").input(&[4, 5]).list(&[2]).outputs(2).flops(), Some(20));
    }

    #[test]
    fn recurrent_layers_count_gates_biases_and_elements() {
        let lstm = Case::new("LSTM").input(&[7, 3, 10]).weight(&[2, 80, 10]).weight(&[2, 80, 20]);
        let each = 2 * 80 * (10 + 20) + 2 * 80 + 9 * 20;
        let lstm = lstm.weight(&[2, 160]).int("hidden_size", 20).string("direction", "bidirectional");
        assert_eq!(lstm.flops(), Some(7 * 3 * 2 * each));
        let gru = Case::new("GRU").input(&[7, 3, 10]).weight(&[1, 60, 10]).weight(&[1, 60, 20]);
        assert_eq!(gru.flops(), Some(7 * 3 * (2 * 60 * 30 + 8 * 20)));
    }

    #[test]
    fn attention_counts_scores_softmax_and_values() {
        let case = Case::new("Attention").version(23).input(&[2, 8, 5, 16]).input(&[2, 4, 7, 16]);
        assert_eq!(case.input(&[2, 4, 7, 32]).flops(), Some(2 * 8 * 5 * 7 * (2 * 16 + 2 * 32 + 6)));
        let fused =
            Case::new("com.microsoft:Attention").input(&[1, 16, 64]).weight(&[64, 192]).weight(&[192]);
        let projections = 16 * 192 * (2 * 64 + 1);
        assert_eq!(
            fused.int("num_heads", 4).flops(),
            Some(projections + 4 * 16 * 16 * (2 * 16 + 2 * 16 + 6))
        );
    }

    #[test]
    fn interpolation_counts_points_of_the_dimensions_that_change() {
        let resize = |mode: &str| {
            let case = Case::new("Resize").input(&[1, 3, 4, 4]).skip().floats(&[1.0, 1.0, 2.0, 2.0]);
            case.string("mode", mode).flops()
        };
        assert_eq!(
            [resize("nearest"), resize("linear"), resize("cubic")],
            [Some(0), Some(3 * 64 * 8), Some(3 * 64 * 32)]
        );
    }

    #[test]
    fn transforms_count_as_fast_ones() {
        let dft = Case::new("DFT").version(20).input(&[3, 16, 2]);
        assert_eq!(dft.flops(), Some(3 * 5 * 16 * 4));
        let stft = Case::new("STFT").input(&[1, 128, 1]).scalar(8).skip().scalar(16);
        assert_eq!(stft.flops(), Some(15 * 5 * 16 * 4));
    }

    #[test]
    fn data_that_moves_costs_bytes_but_no_operations() {
        let moved = Case::new("Transpose").typed(DataType::Float16, &[2, 3]).cost();
        assert_eq!(
            moved,
            Cost { flops: Some(0), bytes_read: Some(12), bytes_written: Some(12), parameters: 0 }
        );
        for op_type in ["Shape", "Size", "EyeLike", "RandomNormalLike"] {
            assert_eq!(Case::new(op_type).input(&[10, 10]).cost().bytes_read, Some(0), "{op_type}");
        }
        let constant = Case::new("Constant").ints("value_ints", &[1, 2]).cost();
        assert_eq!((constant.bytes_read, constant.bytes_written), (Some(0), Some(0)));
    }

    #[test]
    fn of_a_table_that_is_picked_from_only_the_picked_is_read() {
        let gather = Case::new("Gather").weight(&[1000, 16]).typed(DataType::Int64, &[3]).cost();
        assert_eq!(gather.bytes_read, Some(3 * 16 * 4 + 3 * 8));
        assert_eq!(gather.parameters, 16_000);
        let slice = Case::new("Slice").input(&[100]).list(&[0]).list(&[10]).cost();
        assert_eq!((slice.bytes_read, slice.parameters), (Some(10 * 4 + 2 * 8), 0));
    }

    #[test]
    fn a_value_that_is_read_twice_counts_once() {
        let model = crate::testing::model_of(
            GraphProto {
                node: vec![node("Mul", &["x", "x"], &["y"])],
                input: vec![declared("x", DataType::Float32, &[10])],
                output: vec![untyped("y")],
                ..Default::default()
            },
            18,
        );
        let model = Model::from_proto(model, None).unwrap();
        let shapes = Shapes::infer(&model, &crate::Bindings::new()).unwrap();
        let cost = Cost::of(&model, &shapes, NodeId::from_index(0));
        assert_eq!((cost.bytes_read, cost.bytes_written), (Some(40), Some(40)));
        assert_eq!(cost.intensity(), Some(10.0 / 80.0));
    }

    #[test]
    fn weights_in_constant_nodes_are_parameters_as_well() {
        let tensor = crate::proto::TensorProto {
            dims: vec![3, 2],
            data_type: Some(1),
            float_data: vec![0.0; 6],
            ..Default::default()
        };
        let value = crate::proto::AttributeProto { t: Some(Box::new(tensor)), ..Default::default() };
        let kind = crate::proto::AttributeType::Tensor;
        let case =
            Case::new("Constant").attribute("value", kind, value).then(node("Relu", &["out0"], &["y"]));
        let (model, shapes) = case.shapes();
        assert_eq!(Cost::of(&model, &shapes, NodeId::from_index(1)).parameters, 6);
    }

    #[test]
    fn what_is_not_known_has_no_figure() {
        let unknown = Case::new("Relu").input(&[-1, 3]).cost();
        assert_eq!(unknown, Cost::default());
        assert_eq!(Case::new("NonMaxSuppression").input(&[1, 10, 4]).input(&[1, 1, 10]).flops(), None);
        assert_eq!(Case::new("nowhere:Thing").input(&[3]).flops(), None);
        // Too large to be counted.
        let huge = Case::new("MatMul").input(&[1 << 40, 1 << 20]).input(&[1 << 20, 1 << 20]).flops();
        assert_eq!(huge, None);
    }

    #[test]
    fn the_samples_cost_what_is_known_of_their_nets() {
        let total = |name: &str| {
            let proto = crate::samples::Sample::from_name(name).unwrap().build(0);
            let model = Model::from_proto(proto, None).unwrap();
            let shapes = Shapes::infer(&model, &crate::Bindings::new()).unwrap();
            assert_eq!((shapes.unresolved(), shapes.notes()), (&[][..], &[][..]));
            let costs = model.graph().nodes().map(|node| Cost::of(&model, &shapes, node.id).flops.unwrap());
            costs.sum::<u64>() as f64 / 1e9
        };
        // 4.09 and 0.30 billion multiply-adds in the papers' convolutions, and what comes on top.
        let (resnet, mobilenet) = (total("resnet50"), total("mobilenet-v2"));
        assert!((8.18..8.25).contains(&resnet), "{resnet}");
        assert!((0.60..0.63).contains(&mobilenet), "{mobilenet}");
    }
}
