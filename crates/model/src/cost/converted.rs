//! How many operations the operators of other formats take, by the formulas of their like in ONNX.

use super::costed::Costed;
use super::flops::{interpolated, product, sum, when};
use crate::proto::AttributeProto;

/// Operators of GE, as offline models of Ascend have them. Types that end in `D` have some inputs as attributes.
pub(super) fn of_ascend(node: &Costed) -> Option<u64> {
    // An operator that reads more elements than it gives was made one with a reduction, and keeps the type of its first
    // part alone.
    let is_whole = || (0..node.node.inputs.len()).all(|input| node.input(input) <= node.output(0));
    let each = |count| product(&[Some(count), node.output(0)]).filter(|_| is_whole());
    match node.node.op_type {
        "Conv2D" | "DepthwiseConv2D" | "Conv3D" => {
            sum(&[product(&[Some(2), node.output(0), filter(node)]), when(node.has(2), node.output(0))])
        }
        "Conv2DTransposeD" | "Deconvolution" => {
            sum(&[transposed(node, 0, 1), when(node.has(2), node.output(0))])
        }
        // Transposed as well, with its filter first; a converter of TensorFlow's models leaves it so.
        "Conv2DBackpropInputD" => transposed(node, 1, 0),
        "MatMul" | "MatMulV2" | "MatMulV3" | "BatchMatMul" | "BatchMatMulV2" => {
            let products = product(&[Some(2), node.output(0), summed(node)]);
            sum(&[products, when(node.has(2), node.output(0))])
        }
        "FullyConnection" => {
            let summed = product(node.dims(1)?.get(1..)?);
            sum(&[product(&[Some(2), node.output(0), summed]), when(node.has(2), node.output(0))])
        }
        "MaxPool" | "MaxPoolV3" | "AvgPool" | "AvgPoolV2" => {
            if node.node.attributes.int("global_pooling") == Some(1) {
                return node.input(0);
            }
            let window = node.node.attributes.ints("ksize")?;
            let window: Vec<_> = window.iter().map(|&size| u64::try_from(size).ok()).collect();
            product(&[product(&window), node.output(0)])
        }
        "Relu" | "Relu6" | "LeakyRelu" | "PRelu" | "Elu" | "Selu" | "Sigmoid" | "Tanh" | "Softplus"
        | "Softsign" | "Gelu" | "FastGelu" | "Swish" | "HardSwish" | "HardSigmoid" | "Mish" | "Erf"
        | "Exp" | "Log" | "Sqrt" | "Rsqrt" | "Square" | "Abs" | "Neg" | "Reciprocal" | "Inv" | "Floor"
        | "Ceil" | "Round" | "Sin" | "Cos" | "Add" | "Adds" | "Sub" | "Mul" | "Muls" | "Div" | "RealDiv"
        | "Maximum" | "Minimum" | "Pow" | "BiasAdd" | "Equal" | "Greater" | "GreaterEqual" | "Less"
        | "LessEqual" | "NotEqual" | "LogicalAnd" | "LogicalOr" | "LogicalNot" | "ClipByValue"
        | "ClipByValueV2" => each(1),
        "AddN" | "Eltwise" => each(node.node.inputs.len().saturating_sub(1) as u64),
        "Power" => each(powered(node)),
        "AscendQuant" | "AscendDequant" => each(2),
        "BNInfer" | "BNInferenceD" | "Scale" => each(2),
        "SoftmaxV2" | "LogSoftmaxV2" => each(5),
        "LayerNorm" | "LayerNormV3" => each(7),
        "ReduceSum" | "ReduceSumD" | "ReduceMean" | "ReduceMeanD" | "ReduceMax" | "ReduceMaxD"
        | "ReduceMin" | "ReduceMinD" | "ReduceProd" | "ReduceProdD" | "ArgMaxV2" | "ArgMaxD" | "ArgMinD"
        | "TopK" | "TopKD" | "TopKV2" | "GlobalAveragePool" => node.input(0),
        "ResizeBilinearV2" | "ResizeBilinearV2D" => interpolated(node, 2, "linear"),
        "ResizeNearestNeighborV2"
        | "ResizeNearestNeighborV2D"
        | "Cast"
        | "TransData"
        | "TransDataRNN"
        | "Transpose"
        | "TransposeD"
        | "Reshape"
        | "ExpandDims"
        | "Squeeze"
        | "Unsqueeze"
        | "FlattenV2"
        | "Flatten"
        | "Identity"
        | "Data"
        | "MemcpyAsync"
        | "Concat"
        | "ConcatD"
        | "ConcatV2"
        | "ConcatV2D"
        | "Split"
        | "SplitD"
        | "SplitV"
        | "SplitVD"
        | "Pack"
        | "Unpack"
        | "Slice"
        | "SliceD"
        | "StridedSlice"
        | "StridedSliceD"
        | "Gather"
        | "GatherV2"
        | "GatherV2D"
        | "Pad"
        | "PadD"
        | "PadV3"
        | "PadV3D"
        | "Tile"
        | "TileD"
        | "BroadcastTo"
        | "BroadcastToD"
        | "Fill"
        | "Shape"
        | "DepthToSpace"
        | "SpaceToDepth" => Some(0),
        _ => None,
    }
}

/// Layers of Caffe that ONNX has no operator for.
pub(super) fn of_caffe(node: &Costed) -> Option<u64> {
    let each = |count| product(&[Some(count), node.output(0)]);
    match node.node.op_type {
        "ReLU6" | "Swish" | "HardSwish" | "HSwish" | "HSigmoid" | "Clip" | "Threshold" | "Bias" => each(1),
        "Scale" => each(1 + u64::from(is_set(node, "bias_term"))),
        "Power" => each(powered(node)),
        // An exponent or a logarithm, of what is multiplied and shifted where the layer says so.
        "Exp" | "Log" => {
            each(1 + u64::from(differs(node, "scale", 1.0)) + u64::from(differs(node, "shift", 0.0)))
        }
        // Sums may multiply each input by a number of its own.
        "Eltwise" => {
            let attributes = node.node.proto.attribute.iter().filter(|it| it.name() == "coeff");
            let number = |it: &AttributeProto| it.f.or(it.i.map(|number| number as f32));
            let factors = attributes.filter(|it| number(it).is_some_and(|factor| factor.abs() != 1.0));
            each(factors.count().saturating_add(node.node.inputs.len().saturating_sub(1)) as u64)
        }
        "MVN" if node.node.attributes.string("normalize_variance") == Some("false") => each(2),
        "MVN" => each(5),
        "Normalize" => each(3),
        "BN" => each(2),
        "GroupNorm" => each(7),
        "Axpy" => each(2),
        // A product for each row along another axis than the usual one.
        "InnerProduct" => {
            let dims = node.dims(0)?;
            let axis = node.node.attributes.int("axis").unwrap_or(1);
            let axis = if axis < 0 { axis.checked_add(dims.len() as i64)? } else { axis };
            let summed = product(dims.get(usize::try_from(axis).ok()?..)?);
            let has_bias = !is_unset(node, "bias_term");
            sum(&[product(&[Some(2), node.output(0), summed]), when(has_bias, node.output(0))])
        }
        "ArgMax" | "Reduction" => node.input(0),
        // An output of its own is made of the state, by a further product.
        "RNN" => unrolled(node, 1, 1, true),
        "LSTM" => unrolled(node, 4, 9, false),
        "Embed" => each(u64::from(!is_unset(node, "bias_term"))),
        "Crop" | "Tile" | "Flatten" | "Reshape" | "ShuffleChannel" | "Parameter" | "Im2col" => Some(0),
        _ => None,
    }
}

/// A power of what is multiplied and shifted first, where attributes say so: operations for each element.
fn powered(node: &Costed) -> u64 {
    let parts = [("power", 1.0), ("scale", 1.0), ("shift", 0.0)];
    parts.into_iter().map(|(name, plain)| u64::from(differs(node, name, plain))).sum()
}

/// Whether an attribute is another number than the one without which nothing is done. Texts have whole numbers without
/// a point, which are integers then.
fn differs(node: &Costed, name: &str, plain: f32) -> bool {
    let attributes = node.node.attributes;
    let stated = attributes.float(name).or_else(|| attributes.int(name).map(|number| number as f32));
    stated.is_some_and(|it| it != plain)
}

/// Whether an attribute says yes: by a word in a text, by a number in a file of weights.
fn is_set(node: &Costed, name: &str) -> bool {
    let attributes = node.node.attributes;
    attributes.string(name) == Some("true") || attributes.int(name) == Some(1)
}

/// Whether an attribute says no.
fn is_unset(node: &Costed, name: &str) -> bool {
    let attributes = node.node.attributes;
    attributes.string(name) == Some("false") || attributes.int(name) == Some(0)
}

/// A recurrent layer of Caffe, whose weights stand in no input: so many gates, operations for each element of the
/// state, and perhaps an output that is made of the state. A further input, which is the same in each step, has weights
/// of which nothing tells how many there are.
fn unrolled(node: &Costed, gates: u64, each: u64, has_output: bool) -> Option<u64> {
    if node.has(2) {
        return None;
    }
    let [steps, sequences, features @ ..] = node.dims(0)? else { return None };
    let hidden = node.node.attributes.int("num_output").and_then(|size| u64::try_from(size).ok());
    let inputs = sum(&[product(features), hidden]);
    let products = product(&[Some(2), Some(gates), hidden, inputs]);
    let output = sum(&[product(&[Some(2), hidden, hidden]), product(&[Some(2), hidden])]);
    let output = when(has_output, output);
    let once = sum(&[products, product(&[Some(gates), hidden]), product(&[Some(each), hidden]), output]);
    product(&[*steps, *sequences, once])
}

/// A transposed convolution: each element of the image goes into a window of the output's channels.
fn transposed(node: &Costed, image: usize, filter: usize) -> Option<u64> {
    let (window, channels) = match (layout(node, filter)?, node.dims(filter)?) {
        ("NCHW", [_, channels, window @ ..]) => (product(window), *channels),
        ("HWCN", [height, width, channels, _]) => (product(&[*height, *width]), *channels),
        _ => return None,
    };
    product(&[Some(2), node.input(image), window, channels])
}

/// Operators of TensorFlow Lite that ONNX has none for, or that have a type of their own.
pub(super) fn of_tflite(node: &Costed) -> Option<u64> {
    let each = |count| product(&[Some(count), node.output(0)]);
    match node.node.op_type {
        "RSQRT" | "FLOOR_DIV" | "FLOOR_MOD" | "NOT_EQUAL" | "ATAN2" | "RIGHT_SHIFT" | "SIGN_BIT"
        | "LOGISTIC" | "TANH" | "RELU" | "RELU6" | "HARD_SWISH" | "LEAKY_RELU" | "ADD" | "SUB" | "MUL"
        | "DIV" => each(1),
        "SQUARED_DIFFERENCE" | "QUANTIZE" | "DEQUANTIZE" | "FAKE_QUANT" => each(2),
        "L2_NORMALIZATION" => each(3),
        "SOFTMAX" | "LOG_SOFTMAX" => each(5),
        "MEAN" | "SUM" | "REDUCE_MAX" | "REDUCE_MIN" | "REDUCE_PROD" | "REDUCE_ANY" | "REDUCE_ALL"
        | "ARG_MAX" | "ARG_MIN" | "TOPK_V2" => node.input(0),
        "FULLY_CONNECTED" => {
            let summed = node.dim(1, 1);
            sum(&[product(&[Some(2), node.output(0), summed]), when(node.has(2), node.output(0))])
        }
        "UNIDIRECTIONAL_SEQUENCE_LSTM" | "LSTM" => gates(node),
        "SVDF" => {
            let summed = sum(&[node.dim(1, 1), node.dim(2, 1)]);
            let filtered = product(&[Some(2), node.dim(0, 0), node.dim(1, 0), summed]);
            sum(&[filtered, when(node.has(3), node.output(0))])
        }
        "ASSIGN_VARIABLE"
        | "BATCH_TO_SPACE_ND"
        | "BROADCAST_ARGS"
        | "CAST"
        | "CONCATENATION"
        | "DENSIFY"
        | "DYNAMIC_UPDATE_SLICE"
        | "EXPAND_DIMS"
        | "GATHER"
        | "MATRIX_DIAG"
        | "MATRIX_SET_DIAG"
        | "MIRROR_PAD"
        | "ONE_HOT"
        | "PACK"
        | "PAD"
        | "PADV2"
        | "RANK"
        | "READ_VARIABLE"
        | "RESHAPE"
        | "REVERSE_V2"
        | "SCATTER_ND"
        | "SELECT"
        | "SHAPE"
        | "SLICE"
        | "SPACE_TO_BATCH_ND"
        | "SPLIT_V"
        | "SQUEEZE"
        | "STRIDED_SLICE"
        | "TRANSPOSE"
        | "UNPACK"
        | "VAR_HANDLE"
        | "WHERE"
        | "ZEROS_LIKE" => Some(0),
        _ => None,
    }
}

/// How many products each element of a matrix product is the sum of.
///
/// The attributes that tell of turned sides are lost where the converter fused the operator with others, and then the
/// sizes of both sides and of the output tell.
fn summed(node: &Costed) -> Option<u64> {
    let attributes = node.node.attributes;
    let told = |names: [&str; 2]| names.iter().any(|name| attributes.int(name) == Some(1));
    let told = [told(["transpose_x1", "adj_x1"]), told(["transpose_x2", "adj_x2"])];
    // The rows and the columns of a side.
    let matrix = |dims: &[Option<u64>], is_turned: bool| {
        let [.., rows, columns] = *dims else { return None };
        if is_turned { Some((columns?, rows?)) } else { Some((rows?, columns?)) }
    };
    let first = node.dims(0)?;
    let Some(second) = node.dims(1) else { return Some(matrix(first, told[0])?.1) };
    let output =
        node.node.output(0).and_then(|id| node.shapes.get(id)).and_then(|shape| matrix(&shape.dims, false));
    let fits = |turned: &[bool; 2]| {
        let (rows, summed) = matrix(first, turned[0])?;
        let (also, columns) = matrix(second, turned[1])?;
        (summed == also && output.is_none_or(|output| output == (rows, columns))).then_some(summed)
    };
    [told, [false, false], [true, false], [false, true], [true, true]].iter().find_map(fits)
}

/// An LSTM of TensorFlow Lite. Inputs 1 to 4 are the weights of its gates for the input, 5 to 8 those for its state,
/// 9 to 11 peepholes, 12 to 15 biases, 16 a projection and 17 its bias; any may be left out.
fn gates(node: &Costed) -> Option<u64> {
    let size = *node.dims(0)?.last()?;
    let steps = node.input(0)?.checked_div(size?)?;
    let all = |inputs: std::ops::RangeInclusive<usize>| {
        sum(&inputs.filter(|input| node.has(*input)).map(|input| node.input(input)).collect::<Vec<_>>())
    };
    let products = product(&[Some(2), sum(&[all(1..=11), all(16..=16)])]);
    let state = node.dim(2, 0);
    product(&[Some(steps), sum(&[products, all(12..=15), all(17..=17), product(&[Some(9), state])])])
}

/// The order of an input's sizes.
fn layout<'a>(node: &Costed<'a>, input: usize) -> Option<&'a str> {
    node.node.attributes.strings("input_layouts")?.get(input).copied()
}

/// The elements of a filter that each output sums up: all sizes but that of the output's channels, which is the
/// first of `NCHW` and the last of `HWCN`.
fn filter(node: &Costed) -> Option<u64> {
    let dims = node.dims(1)?;
    match layout(node, 1)? {
        // Of a depthwise filter, either of the first two sizes is the multiplier; its channels don't sum up.
        "NCHW" if node.node.op_type == "DepthwiseConv2D" => product(dims.get(2..)?),
        "NCHW" | "NCDHW" | "NHWC" | "NDHWC" => product(dims.get(1..)?),
        // A depthwise filter has the multiplier in the last place, and its channels don't sum up.
        "HWCN" if node.node.op_type == "DepthwiseConv2D" => product(dims.get(..2)?),
        "HWCN" | "DHWCN" => product(dims.get(..dims.len().checked_sub(1)?)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::AttributeProto;
    use crate::proto::AttributeType;
    use crate::testing::Case;

    fn filtered(op_type: &str, layouts: [&str; 2], image: &[i64], filter: &[i64]) -> Case {
        Case::new(op_type)
            .output(&[1, 8, 6, 6])
            .input(image)
            .weight(filter)
            .strings("input_layouts", &layouts)
    }

    #[test]
    fn convolutions_of_ascend_count_in_any_order_of_their_filters() {
        let expected = Some(2 * 8 * 36 * 3 * 9);
        let case = filtered("ascend:Conv2D", ["NCHW", "NCHW"], &[1, 3, 8, 8], &[8, 3, 3, 3]);
        assert_eq!(case.flops(), expected);
        let case = filtered("ascend:Conv2D", ["NHWC", "HWCN"], &[1, 8, 8, 3], &[3, 3, 3, 8]);
        assert_eq!(case.flops(), expected);
        let case = filtered("ascend:DepthwiseConv2D", ["NHWC", "HWCN"], &[1, 8, 8, 8], &[3, 3, 8, 1]);
        assert_eq!(case.flops(), Some(2 * 8 * 36 * 9));
        let case = filtered("ascend:Conv2D", ["ND", "FRACTAL_Z"], &[1, 3, 8, 8], &[8, 3, 3, 3]);
        assert_eq!(case.flops(), None, "an order that nobody knows");
    }

    #[test]
    fn other_operators_of_ascend_count_as_their_like() {
        let case = |op_type: &str| Case::new(&format!("ascend:{op_type}")).output(&[4, 6]).input(&[4, 5]);
        assert_eq!(case("MatMulV2").input(&[5, 6]).flops(), Some(2 * 24 * 5));
        assert_eq!(case("MatMulV2").int("transpose_x1", 1).flops(), Some(2 * 24 * 4));
        assert_eq!(case("RealDiv").flops(), Some(24));
        assert_eq!(case("RealDiv").input(&[2, 4, 6]).flops(), None, "fused with a reduction");
        // Fusion drops the attributes that tell of turned sides.
        let fused = Case::new("ascend:BatchMatMulV2").output(&[1, 1, 512]).input(&[1, 512, 1]);
        assert_eq!(fused.weight(&[512, 512]).weight(&[512]).flops(), Some(2 * 512 * 512 + 512));
        let odd = Case::new("ascend:MatMulV2").output(&[4, 6]).input(&[4, 5]).input(&[7, 6]);
        assert_eq!(odd.flops(), None, "sizes that fit in no way");
        assert_eq!(case("SoftmaxV2").flops(), Some(120));
        assert_eq!(case("TransData").flops(), Some(0));
        assert_eq!(case("AutomaticBufferFusionOp").flops(), None);
    }

    #[test]
    fn transposed_convolutions_of_ascend_count_wherever_their_filter_stands() {
        // Each of 3 × 3 pixels of 4 channels goes into a window of 2 × 2 of 5 channels.
        let expected = Some(2 * 36 * 4 * 5);
        let case = Case::new("ascend:Conv2DTransposeD").output(&[1, 5, 6, 6]).input(&[1, 4, 3, 3]);
        let case = case.weight(&[4, 5, 2, 2]).strings("input_layouts", &["NCHW", "NCHW"]);
        assert_eq!(case.flops(), expected);
        let case = Case::new("ascend:Conv2DBackpropInputD").output(&[1, 6, 6, 5]).weight(&[2, 2, 5, 4]);
        let case = case.input(&[1, 3, 3, 4]).strings("input_layouts", &["HWCN", "NHWC"]);
        assert_eq!(case.flops(), expected);
    }

    #[test]
    fn layers_of_caffe_count_by_what_their_parameters_say() {
        let case = |op_type: &str| Case::new(&format!("caffe:{op_type}")).output(&[4, 6]).input(&[4, 6]);
        assert_eq!((case("ReLU6").flops(), case("Crop").flops()), (Some(24), Some(0)));
        assert_eq!(case("Eltwise").input(&[4, 6]).input(&[4, 6]).flops(), Some(48));
        assert_eq!(case("Reduction").input(&[4, 6]).flops(), Some(24));
        assert_eq!(case("Power").flops(), Some(0), "nothing but what is the same without it");
        let shift = AttributeProto { f: Some(0.5), ..Default::default() };
        let power = case("Power").int("power", 2).attribute("shift", AttributeType::Float, shift);
        assert_eq!(power.flops(), Some(48));
        // 7 steps of 2 sequences: 4 gates of 16, for 8 inputs and a state of 16.
        let lstm = Case::new("caffe:LSTM").output(&[7, 2, 16]).input(&[7, 2, 8]).int("num_output", 16);
        assert_eq!(lstm.flops(), Some(7 * 2 * (2 * 4 * 16 * (8 + 16) + 4 * 16 + 9 * 16)));
        // The state and the output: products with the input, the state before and the state, two biases, two of tanh.
        let rnn = Case::new("caffe:RNN").output(&[5, 1, 64]).input(&[5, 1, 64]).int("num_output", 64);
        assert_eq!(rnn.flops(), Some(5 * (2 * 64 * (64 + 64 + 64) + 2 * 64 + 2 * 64)));
        let scaled = case("Scale").string("bias_term", "true").flops();
        assert_eq!((case("Scale").flops(), scaled), (Some(24), Some(48)));
        assert_eq!(case("MVN").string("normalize_variance", "false").flops(), Some(48));
        assert_eq!(case("Eltwise").input(&[4, 6]).int("coeff", 2).int("coeff", -1).flops(), Some(48));
        let rows = Case::new("caffe:InnerProduct").output(&[4, 6, 3]).input(&[4, 6, 5]).int("axis", 2);
        assert_eq!(rows.flops(), Some(72 * (2 * 5 + 1)));
        assert_eq!(case("DetectionOutput").flops(), None);
    }

    #[test]
    fn operators_of_tensorflow_lite_count_as_their_like() {
        let case = |op_type: &str| Case::new(&format!("tflite:{op_type}")).output(&[4, 6]).input(&[4, 5]);
        let alike = |op_type: &str| Case::new(&format!("tflite:{op_type}")).input(&[4, 6]);
        let difference = alike("SQUARED_DIFFERENCE").input(&[4, 6]);
        assert_eq!((alike("RSQRT").flops(), difference.flops()), (Some(24), Some(48)));
        assert_eq!((alike("SOFTMAX").flops(), case("MEAN").flops()), (Some(120), Some(20)));
        assert_eq!((case("UNPACK").flops(), case("Detect").flops()), (Some(0), None));
        assert_eq!(case("FULLY_CONNECTED").weight(&[6, 5]).weight(&[6]).flops(), Some(24 * (2 * 5 + 1)));
        // 8 filters of 5 features, whose results of 3 steps are summed up.
        let filters = case("SVDF").weight(&[8, 5]).weight(&[8, 3]).weight(&[6]);
        assert_eq!(filters.flops(), Some(2 * 4 * 8 * (5 + 3) + 24));
    }

    #[test]
    fn an_lstm_of_tensorflow_lite_counts_the_weights_that_it_has() {
        let weights =
            |case: Case, dims: &[i64], count: usize| (0..count).fold(case, |case, _| case.weight(dims));
        let skipped = |case: Case, count: usize| (0..count).fold(case, |case, _| case.skip());
        let lstm =
            || Case::new("tflite:UNIDIRECTIONAL_SEQUENCE_LSTM").output(&[1, 20, 16]).input(&[1, 20, 8]);
        let lstm = |gates: usize| {
            let without = |case| skipped(case, 4 - gates);
            let lstm = weights(without(lstm()), &[16, 8], gates);
            let lstm = weights(without(lstm), &[16, 16], gates);
            weights(without(skipped(lstm, 3)), &[16], gates).flops()
        };
        assert_eq!(lstm(4), Some(20 * (2 * 4 * 16 * (8 + 16) + 4 * 16 + 9 * 16)));
        // Without a gate of its own for what comes in.
        assert_eq!(lstm(3), Some(20 * (2 * 3 * 16 * (8 + 16) + 3 * 16 + 9 * 16)));
    }
}
