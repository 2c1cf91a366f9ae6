//! The operator that each layer becomes: an operator of ONNX where the meaning is the same, its own type elsewhere.
//!
//! Differences that are no difference of meaning in inference: pooling by averages counts the padding, batch
//! normalisation has no scale and shift of its own (those inputs are left out), and a scale with a shift is a product
//! and a sum. An inner product of an image takes it in as a row, by a node with `:flatten` behind its name.

use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::{self, float, int, ints, string};
use super::super::text::{Block, Value};
use super::data::data;
use super::layer::Layer;
use super::shape::{Window, along_axes, axis, cropped, interpolated, product, reshaped};
use super::{Blob, Network};
use crate::proto::{AttributeProto, NodeProto};

/// An operator before it is added: its domain is ONNX's own.
struct Made {
    op_type: &'static str,
    inputs: Vec<String>,
    attributes: Vec<AttributeProto>,
    /// The sizes of each output, as far as they are known.
    dims: Vec<Option<Vec<i64>>>,
}

impl Made {
    fn new(op_type: &'static str, inputs: Vec<String>, dims: Option<Vec<i64>>) -> Self {
        Self { op_type, inputs, attributes: Vec::new(), dims: vec![dims] }
    }

    fn with(mut self, attributes: impl IntoIterator<Item = AttributeProto>) -> Self {
        self.attributes.extend(attributes);
        self
    }
}

/// Adds a layer to the graph.
pub(super) fn layer(net: &mut Network, layer: &Layer<'_>) -> Result<(), FormatError> {
    let inputs: Vec<Blob> = layer.bottoms.iter().map(|bottom| net.read(bottom)).collect();
    match &*layer.op_type {
        "Input" | "Data" | "ImageData" | "HDF5Data" | "MemoryData" | "DummyData" | "AnnotatedData"
        | "VideoData" | "WindowData" | "LMDBData" => {
            data(net, layer);
            return Ok(());
        }
        "Python" if layer.bottoms.is_empty() => {
            data(net, layer);
            return Ok(());
        }
        "Silence" => return Ok(()),
        "Split" => {
            for top in &layer.tops {
                if let Some(blob) = inputs.first() {
                    net.blobs.insert(top.clone(), blob.clone());
                }
            }
            return Ok(());
        }
        "Scale" => {
            if let [blob] = &inputs[..] {
                return scale(net, layer, blob);
            }
        }
        _ => {}
    }
    match made(net, layer, &inputs) {
        Some(made) => add(net, layer, made),
        None => own(net, layer, &inputs),
    }
}

fn add(net: &mut Network, layer: &Layer<'_>, made: Made) -> Result<(), FormatError> {
    let mut dims = made.dims.into_iter();
    let mut outputs = Vec::new();
    for top in &layer.tops {
        let dims = dims.next().flatten();
        if dims.is_none() {
            net.unsized_layers.add(|| format!("{} ({})", layer.name, layer.op_type));
        }
        outputs.push(net.make(&layer.name, top, dims));
    }
    let node = NodeProto {
        name: Some(layer.name.to_string()),
        op_type: Some(made.op_type.to_owned()),
        input: made.inputs,
        output: outputs,
        attribute: made.attributes,
        ..Default::default()
    };
    net.assembly.node(node, None)
}

/// A layer of which ONNX has no like: its type, with its parameters as attributes.
fn own(net: &mut Network, layer: &Layer<'_>, inputs: &[Blob]) -> Result<(), FormatError> {
    let keeps_sizes = matches!(
        &*layer.op_type,
        "Normalize"
            | "ShuffleChannel"
            | "ReLU6"
            | "Power"
            | "Exp"
            | "Log"
            | "MVN"
            | "LRN"
            | "Eltwise"
            | "Scale"
            | "Swish"
            | "Threshold"
            | "Bias"
            | "BN"
            | "GroupNorm"
            | "HardSwish"
            | "HSwish"
            | "HSigmoid"
            | "Clip"
    );
    let first = inputs.first().and_then(|blob| blob.dims.clone());
    let dims = match &*layer.op_type {
        _ if keeps_sizes => first,
        "Crop" => cropped(layer, inputs),
        // A factor for each channel, then the blob that it is for.
        "Axpy" => inputs.get(1).and_then(|blob| blob.dims.clone()),
        "Pooling" => {
            inputs.first().and_then(|blob| Pooled::of(layer, blob)).map(|pooled| pooled.dims.to_vec())
        }
        "ROIPooling" | "PSROIPooling" | "PriorBox" => regions(layer, inputs),
        _ => along_axes(layer, first.as_deref()),
    };
    let mut outputs = Vec::new();
    for (place, top) in layer.tops.iter().enumerate() {
        let dims = dims.clone().and_then(|dims| match &*layer.op_type {
            _ if place == 0 => Some(dims),
            // The places of the greatest values have the sizes of these.
            "Pooling" => Some(dims),
            // The state behind the last step.
            "LSTM" | "RNN" => Some([&[1], &dims[1..]].concat()),
            _ => None,
        });
        if dims.is_none() {
            net.unsized_layers.add(|| format!("{} ({})", layer.name, layer.op_type));
        }
        outputs.push(net.make(&layer.name, top, dims));
    }
    let parameters = layer.block.fields.iter().filter(|field| field.name.ends_with("_param"));
    let parameters = parameters.filter_map(|field| field.value.block());
    let node = NodeProto {
        name: Some(layer.name.to_string()),
        op_type: Some(layer.op_type.to_string()),
        domain: Some(super::DOMAIN.to_owned()),
        input: inputs.iter().map(|blob| blob.value.clone()).collect(),
        output: outputs,
        attribute: parameters.flat_map(attributes).take(64).collect(),
        ..Default::default()
    };
    net.assembly.node(node, None)
}

/// The parameters of a layer as attributes.
fn attributes<'b>(parameters: &'b Block<'_>) -> impl Iterator<Item = AttributeProto> + 'b {
    parameters.fields.iter().filter_map(|field| {
        let value = &field.value;
        match (value.int(), value.float(), value) {
            (_, _, Value::Block(_)) => None,
            (Some(number), _, _) => Some(int(field.name, number)),
            (None, Some(number), _) => Some(float(field.name, number)),
            (None, None, value) => {
                Some(value.text()).filter(|text| text.len() <= 1024).map(|text| string(field.name, &text))
            }
        }
    })
}

/// Shapes of a detector's boxes, of which no real network has more.
const MOST_RATIOS: usize = 1000;

/// Sizes of regions that are cut out of an image, and of the boxes of a detector.
fn regions(layer: &Layer<'_>, inputs: &[Blob]) -> Option<Vec<i64>> {
    let dims = inputs.first()?.dims.as_ref()?;
    let of = |name: &str, field: &str| layer.parameters(name).int(field).filter(|size| *size > 0);
    match &*layer.op_type {
        "ROIPooling" => {
            let count = *inputs.get(1)?.dims.as_ref()?.first()?;
            let name = "roi_pooling_param";
            Some(vec![count, *dims.get(1)?, of(name, "pooled_h")?, of(name, "pooled_w")?])
        }
        "PriorBox" => {
            let parameters = layer.parameters("prior_box_param");
            let smallest = parameters.ints_or_floats("min_size");
            let largest = parameters.ints_or_floats("max_size");
            let mut ratios: Vec<f32> = vec![1.0];
            for ratio in parameters.all("aspect_ratio").filter_map(Value::float) {
                let flipped = parameters.bool("flip").unwrap_or(true).then(|| 1.0 / ratio);
                for ratio in [Some(ratio), flipped].into_iter().flatten() {
                    if !ratios.iter().any(|known| (known - ratio).abs() < 1e-6) {
                        ratios.push(ratio);
                    }
                    // Each is compared with all others.
                    if ratios.len() > MOST_RATIOS {
                        return None;
                    }
                }
            }
            let each = i64::try_from(ratios.len() * smallest + largest).ok()?;
            let places = product(dims.get(2..4)?)?;
            Some(vec![1, 2, places.checked_mul(each)?.checked_mul(4)?])
        }
        _ => None,
    }
}

/// A stored tensor of single precision, with the data of the layer's blob of that place.
fn weight(net: &mut Network, layer: &Layer<'_>, place: usize, word: &str, dims: &[i64]) -> String {
    let name = format!("{}:{word}", layer.name);
    let mut tensor = assembly::weight(&name, DataType::Float32, dims);
    let bytes = product(dims).and_then(|count| usize::try_from(count).ok()?.checked_mul(4));
    tensor.raw_data = bytes.and_then(|bytes| net.weights.get(&layer.name, place, bytes));
    net.assembly.weight(tensor);
    name
}

/// A number of single precision, which the file has among the layer's parameters.
fn number(net: &mut Network, layer: &Layer<'_>, word: &str, value: f32) -> String {
    let name = format!("{}:{word}", layer.name);
    net.assembly.made_value(assembly::number(&name, value));
    name
}

/// A list of integers, which the file has among the layer's parameters or not at all.
fn list(net: &mut Network, layer: &Layer<'_>, word: &str, values: &[i64]) -> String {
    let name = format!("{}:{word}", layer.name);
    net.assembly.made_value(assembly::list(&name, values));
    name
}

/// The operator of ONNX that a layer is.
fn made(net: &mut Network, layer: &Layer<'_>, inputs: &[Blob]) -> Option<Made> {
    let first = inputs.first()?;
    let values = || inputs.iter().map(|blob| blob.value.clone()).collect::<Vec<_>>();
    let same = |op_type| Some(Made::new(op_type, values(), first.dims.clone()));
    let is_plain = |name: &str, fields: &[(&str, f32)]| {
        let parameters = layer.parameters(name);
        fields.iter().all(|(field, plain)| parameters.float(field).unwrap_or(*plain) == *plain)
    };
    let is_usual =
        || inputs.len() == 1 && layer.parameters("convolution_param").int("axis").unwrap_or(1) == 1;
    match &*layer.op_type {
        // Along another axis, or of several blobs at once, they are no operator of ONNX.
        stated if stated.ends_with("onvolution") && !is_usual() => None,
        "Convolution" | "ConvolutionDepthwise" | "DepthwiseConvolution" => convolution(net, layer, first),
        "Deconvolution" => deconvolution(net, layer, first),
        // ONNX's operator tells places as whole numbers, Caffe in the form of its values.
        "Pooling" if layer.tops.len() > 1 => None,
        "Pooling" => pooling(layer, first),
        "InnerProduct" => inner_product(net, layer, first),
        "BatchNorm" => {
            let channels = *first.dims.as_ref()?.get(1)?;
            // Without data: Caffe's are sums, which its third blob divides.
            let [mean, variance] = ["mean", "variance"].map(|word| {
                let name = format!("{}:{word}", layer.name);
                net.assembly.weight(assembly::weight(&name, DataType::Float32, &[channels]));
                name
            });
            let parameters = layer.parameters("batch_norm_param");
            let epsilon = parameters.float("eps").unwrap_or(1e-5);
            // It then takes the statistics of each batch in inference as well.
            let of_batch = parameters.bool("use_global_stats") == Some(false);
            let inputs = vec![first.value.clone(), String::new(), String::new(), mean, variance];
            let made = Made::new("BatchNormalization", inputs, first.dims.clone());
            Some(made.with([float("epsilon", epsilon)]).with(of_batch.then(|| int("training_mode", 1))))
        }
        "ReLU" => match layer.parameters("relu_param").float("negative_slope") {
            None | Some(0.0) => same("Relu"),
            Some(slope) => Some(same("LeakyRelu")?.with([float("alpha", slope)])),
        },
        "PReLU" => {
            let dims = first.dims.as_ref()?;
            let is_shared = layer.parameters("prelu_param").bool("channel_shared") == Some(true);
            let slopes = match is_shared {
                true => vec![1],
                // One for each channel, before the sides of the image.
                false => std::iter::once(*dims.get(1)?).chain(dims.iter().skip(2).map(|_| 1)).collect(),
            };
            let slope = weight(net, layer, 0, "slope", &slopes);
            Some(Made::new("PRelu", vec![first.value.clone(), slope], first.dims.clone()))
        }
        "ELU" => Some(
            same("Elu")?.with([float("alpha", layer.parameters("elu_param").float("alpha").unwrap_or(1.0))]),
        ),
        "Sigmoid" => same("Sigmoid"),
        "TanH" => same("Tanh"),
        "AbsVal" => same("Abs"),
        "BNLL" => same("Softplus"),
        "Mish" => same("Mish"),
        "Dropout" => same("Dropout"),
        "Exp" if is_plain("exp_param", &[("base", -1.0), ("scale", 1.0), ("shift", 0.0)]) => same("Exp"),
        "Log" if is_plain("log_param", &[("base", -1.0), ("scale", 1.0), ("shift", 0.0)]) => same("Log"),
        "Power" if is_plain("power_param", &[("power", 1.0), ("scale", 1.0), ("shift", 0.0)]) => {
            same("Identity")
        }
        "Power" if is_plain("power_param", &[("scale", 1.0), ("shift", 0.0)]) => {
            let power = layer.parameters("power_param").float("power").unwrap_or(1.0);
            let exponent = number(net, layer, "power", power);
            Some(Made::new("Pow", vec![first.value.clone(), exponent], first.dims.clone()))
        }
        "Softmax" => {
            let axis = layer.parameters("softmax_param").int("axis").unwrap_or(1);
            Some(same("Softmax")?.with([int("axis", axis)]))
        }
        "LRN" => {
            let parameters = layer.parameters("lrn_param");
            if parameters
                .get("norm_region")
                .is_some_and(|region| matches!(&*region.text(), "WITHIN_CHANNEL" | "1"))
            {
                return None;
            }
            let number = |field, default| parameters.float(field).unwrap_or(default);
            let size = parameters.int("local_size").unwrap_or(5);
            let numbers =
                [("alpha", number("alpha", 1.0)), ("beta", number("beta", 0.75)), ("bias", number("k", 1.0))];
            let numbers = numbers.map(|(name, value)| float(name, value));
            Some(same("LRN")?.with([int("size", size)]).with(numbers))
        }
        "Eltwise" => eltwise(layer, inputs),
        "Concat" => concat(layer, inputs),
        "Slice" => slice(net, layer, first),
        "Flatten" => {
            let parameters = layer.parameters("flatten_param");
            let is_plain =
                parameters.int("axis").unwrap_or(1) == 1 && parameters.int("end_axis").unwrap_or(-1) == -1;
            let dims = first.dims.as_ref().filter(|dims| dims.len() >= 2);
            let dims = dims.and_then(|dims| Some(vec![dims[0], product(&dims[1..])?]));
            is_plain.then(|| Made::new("Flatten", values(), dims).with([int("axis", 1)]))
        }
        "Reshape" => reshape(net, layer, first),
        "Permute" => {
            let order = layer.parameters("permute_param").ints("order");
            let dims = first.dims.as_ref().filter(|dims| order.len() <= dims.len())?;
            // Axes that aren't named follow in their order.
            let named = order.iter().map(|&at| axis(at, dims.len())).collect::<Option<Vec<usize>>>()?;
            let rest = (0..dims.len()).filter(|at| !named.contains(at));
            let order: Vec<usize> = named.iter().copied().chain(rest).collect();
            if order.len() != dims.len() {
                return None;
            }
            let sizes = order.iter().map(|&at| dims[at]).collect();
            let order: Vec<i64> = order.iter().map(|&at| at as i64).collect();
            Some(Made::new("Transpose", values(), Some(sizes)).with([ints("perm", order)]))
        }
        "Interp" | "Upsample" => resize(net, layer, inputs),
        _ => None,
    }
}

fn convolution(net: &mut Network, layer: &Layer<'_>, input: &Blob) -> Option<Made> {
    let [batch, channels, height, width] = *input.dims.as_deref()? else { return None };
    let parameters = layer.parameters("convolution_param");
    let window = Window::of(parameters)?;
    let is_depthwise = layer.op_type != "Convolution";
    let outputs =
        parameters.int("num_output").or(is_depthwise.then_some(channels)).filter(|count| *count > 0)?;
    let group = if is_depthwise { channels } else { parameters.int("group").unwrap_or(1) };
    if group < 1 || channels % group != 0 || outputs % group != 0 {
        return None;
    }
    let dims = vec![batch, outputs, window.convolved(0, height)?, window.convolved(1, width)?];
    let filter = [outputs, channels / group, window.kernel[0], window.kernel[1]];
    let mut inputs = vec![input.value.clone(), weight(net, layer, 0, "weights", &filter)];
    if parameters.bool("bias_term") != Some(false) {
        inputs.push(weight(net, layer, 1, "bias", &[outputs]));
    }
    Some(Made::new("Conv", inputs, Some(dims)).with(sliding(&window)).with([int("group", group)]))
}

fn sliding(window: &Window) -> [AttributeProto; 4] {
    [
        ints("kernel_shape", window.kernel),
        ints("strides", window.stride),
        ints("pads", window.pads()),
        ints("dilations", window.dilation),
    ]
}

fn deconvolution(net: &mut Network, layer: &Layer<'_>, input: &Blob) -> Option<Made> {
    let [batch, channels, height, width] = *input.dims.as_deref()? else { return None };
    let parameters = layer.parameters("convolution_param");
    let window = Window::of(parameters)?;
    let outputs = parameters.int("num_output").filter(|count| *count > 0)?;
    let group = parameters.int("group").unwrap_or(1);
    if group < 1 || channels % group != 0 || outputs % group != 0 {
        return None;
    }
    let dims = vec![batch, outputs, window.deconvolved(0, height)?, window.deconvolved(1, width)?];
    let filter = [channels, outputs / group, window.kernel[0], window.kernel[1]];
    let mut inputs = vec![input.value.clone(), weight(net, layer, 0, "weights", &filter)];
    if parameters.bool("bias_term") != Some(false) {
        inputs.push(weight(net, layer, 1, "bias", &[outputs]));
    }
    Some(Made::new("ConvTranspose", inputs, Some(dims)).with(sliding(&window)).with([int("group", group)]))
}

fn pooling(layer: &Layer<'_>, input: &Blob) -> Option<Made> {
    let parameters = layer.parameters("pooling_param");
    let is_mean = match &*parameters.text("pool") {
        "" | "MAX" | "0" => false,
        "AVE" | "1" => true,
        _ => return None,
    };
    let [batch, channels, _, _] = *input.dims.as_deref()? else { return None };
    let inputs = vec![input.value.clone()];
    if parameters.bool("global_pooling") == Some(true) {
        let op_type = if is_mean { "GlobalAveragePool" } else { "GlobalMaxPool" };
        return Some(Made::new(op_type, inputs, Some(vec![batch, channels, 1, 1])));
    }
    let pooled = Pooled::of(layer, input).filter(|pooled| pooled.is_alike)?;
    let op_type = if is_mean { "AveragePool" } else { "MaxPool" };
    let attributes = sliding(&pooled.window).into_iter().filter(|attribute| attribute.name() != "dilations");
    let made = Made::new(op_type, inputs, Some(pooled.dims.to_vec()));
    let counted = is_mean.then(|| int("count_include_pad", 1));
    Some(made.with(attributes).with([int("ceil_mode", i64::from(!pooled.rounds_down))]).with(counted))
}

/// Pooling over windows.
struct Pooled {
    window: Window,
    rounds_down: bool,
    /// The sizes behind it.
    dims: [i64; 4],
    /// Whether ONNX's operator has the same sizes: without padding, Caffe has windows that begin behind the image.
    is_alike: bool,
}

impl Pooled {
    fn of(layer: &Layer<'_>, input: &Blob) -> Option<Self> {
        let parameters = layer.parameters("pooling_param");
        let [batch, channels, height, width] = *input.dims.as_deref()? else { return None };
        let window = Window::of(parameters)?;
        let rounds_down = matches!(&*parameters.text("round_mode"), "FLOOR" | "1")
            || parameters.bool("ceil_mode") == Some(false);
        let sides = [window.pooled(0, height, !rounds_down)?, window.pooled(1, width, !rounds_down)?];
        let is_alike = [height, width].iter().enumerate().all(|(side, size)| {
            (sides[side] - 1).saturating_mul(window.stride[side]) < size.saturating_add(window.pad[side])
        });
        Some(Self { window, rounds_down, dims: [batch, channels, sides[0], sides[1]], is_alike })
    }
}

fn inner_product(net: &mut Network, layer: &Layer<'_>, input: &Blob) -> Option<Made> {
    let parameters = layer.parameters("inner_product_param");
    let outputs = parameters.int("num_output").filter(|count| *count > 0)?;
    let dims = input.dims.as_deref()?;
    // Along another axis it is a product for each row, which only one of two sizes has as a matrix.
    if axis(parameters.int("axis").unwrap_or(1), dims.len())? != 1 {
        return None;
    }
    let summed = product(&dims[1..])?;
    let is_turned = parameters.bool("transpose") == Some(true);
    let sizes = if is_turned { [summed, outputs] } else { [outputs, summed] };
    let mut row = input.value.clone();
    if dims.len() != 2 {
        row = format!("{}:flatten", layer.name);
        net.assembly.declare(&row, &super::tensor(Some(vec![dims[0], summed])));
        let node = NodeProto {
            name: Some(row.clone()),
            op_type: Some("Flatten".to_owned()),
            input: vec![input.value.clone()],
            output: vec![row.clone()],
            attribute: vec![int("axis", 1)],
            ..Default::default()
        };
        net.assembly.helper(node).ok()?;
    }
    let mut inputs = vec![row, weight(net, layer, 0, "weights", &sizes)];
    if parameters.bool("bias_term") != Some(false) {
        inputs.push(weight(net, layer, 1, "bias", &[outputs]));
    }
    let turned = int("transB", i64::from(!is_turned));
    Some(Made::new("Gemm", inputs, Some(vec![dims[0], outputs])).with([turned]))
}

/// A factor for each channel, and a shift behind it where there is one.
fn scale(net: &mut Network, layer: &Layer<'_>, input: &Blob) -> Result<(), FormatError> {
    let parameters = layer.parameters("scale_param");
    let channel = input.dims.as_ref().and_then(|dims| {
        let at = axis(parameters.int("axis").unwrap_or(1), dims.len())?;
        let count = parameters.int("num_axes").unwrap_or(1);
        // The factors' sizes, with ones behind them, so that they spread over the image.
        (count == 1)
            .then(|| std::iter::once(dims[at]).chain(dims[at + 1..].iter().map(|_| 1)).collect::<Vec<i64>>())
    });
    let Some(sizes) = channel else { return own(net, layer, std::slice::from_ref(input)) };
    let factor = weight(net, layer, 0, "factors", &sizes);
    let product = Made::new("Mul", vec![input.value.clone(), factor], input.dims.clone());
    if parameters.bool("bias_term") != Some(true) {
        return add(net, layer, product);
    }
    let between = format!("{}:scaled", layer.name);
    if let Some(dims) = &input.dims {
        net.assembly.declare(&between, &super::tensor(Some(dims.clone())));
    }
    let node = NodeProto {
        name: Some(layer.name.to_string()),
        op_type: Some("Mul".to_owned()),
        input: product.inputs,
        output: vec![between.clone()],
        ..Default::default()
    };
    net.assembly.node(node, None)?;
    let shift = weight(net, layer, 1, "shifts", &sizes);
    let mut outputs = Vec::new();
    for top in &layer.tops {
        outputs.push(net.make(&layer.name, top, input.dims.clone()));
    }
    let node = NodeProto {
        name: Some(format!("{}:shift", layer.name)),
        op_type: Some("Add".to_owned()),
        input: vec![between, shift],
        output: outputs,
        ..Default::default()
    };
    net.assembly.node(node, None)
}

fn eltwise(layer: &Layer<'_>, inputs: &[Blob]) -> Option<Made> {
    let parameters = layer.parameters("eltwise_param");
    let coefficients: Vec<f32> = parameters.all("coeff").filter_map(Value::float).collect();
    let is_sum = coefficients.iter().all(|factor| *factor == 1.0);
    let values = inputs.iter().map(|blob| blob.value.clone()).collect();
    let op_type = match (&*parameters.text("operation"), inputs.len()) {
        ("" | "SUM" | "1", 2) if is_sum => "Add",
        ("" | "SUM" | "1", 2) if coefficients == [1.0, -1.0] => "Sub",
        ("" | "SUM" | "1", _) if is_sum => "Sum",
        ("PROD" | "0", 2) => "Mul",
        ("MAX" | "2", _) => "Max",
        _ => return None,
    };
    let dims = inputs.first()?.dims.clone();
    // Caffe refuses blobs of other sizes.
    let is_alike = inputs.iter().all(|blob| blob.dims.is_none() || dims.is_none() || blob.dims == dims);
    Some(Made::new(op_type, values, dims.filter(|_| is_alike)))
}

fn concat(layer: &Layer<'_>, inputs: &[Blob]) -> Option<Made> {
    let parameters = layer.parameters("concat_param");
    let at = parameters.int("axis").or(parameters.int("concat_dim")).unwrap_or(1);
    let known: Option<Vec<&Vec<i64>>> = inputs.iter().map(|blob| blob.dims.as_ref()).collect();
    let dims = known.and_then(|known| {
        let mut dims = (*known.first()?).clone();
        let at = axis(at, dims.len())?;
        // Caffe refuses blobs of which another size differs.
        let others = |dims: &[i64]| [&dims[..at], &dims[at + 1..]].concat();
        if known.iter().any(|it| it.len() != dims.len() || others(it) != others(&dims)) {
            return None;
        }
        let sizes: Option<Vec<i64>> = known.iter().map(|dims| dims.get(at).copied()).collect();
        dims[at] = sizes?.into_iter().try_fold(0i64, i64::checked_add)?;
        Some(dims)
    });
    let values = inputs.iter().map(|blob| blob.value.clone()).collect();
    Some(Made::new("Concat", values, dims).with([int("axis", at)]))
}

fn slice(net: &mut Network, layer: &Layer<'_>, input: &Blob) -> Option<Made> {
    let parameters = layer.parameters("slice_param");
    let at = parameters.int("axis").or(parameters.int("slice_dim")).unwrap_or(1);
    let dims = input.dims.as_ref()?;
    let place = axis(at, dims.len())?;
    let (whole, parts) = (dims[place], layer.tops.len() as i64);
    let points = parameters.ints("slice_point");
    let sizes: Vec<i64> = match points.is_empty() {
        true => (whole % parts.max(1) == 0).then(|| vec![whole / parts.max(1); layer.tops.len()])?,
        false => {
            let ends = points.iter().copied().chain([whole]);
            let starts = std::iter::once(0).chain(points.iter().copied());
            starts.zip(ends).map(|(start, end)| end.checked_sub(start)).collect::<Option<_>>()?
        }
    };
    if sizes.len() != layer.tops.len() || sizes.iter().any(|size| *size < 1) {
        return None;
    }
    let split = list(net, layer, "sizes", &sizes);
    let mut made = Made::new("Split", vec![input.value.clone(), split], None).with([int("axis", at)]);
    made.dims = sizes
        .iter()
        .map(|&size| {
            let mut dims = dims.clone();
            dims[place] = size;
            Some(dims)
        })
        .collect();
    Some(made)
}

fn reshape(net: &mut Network, layer: &Layer<'_>, input: &Blob) -> Option<Made> {
    let parameters = layer.parameters("reshape_param");
    let is_whole = parameters.int("axis").unwrap_or(0) == 0 && parameters.int("num_axes").unwrap_or(-1) == -1;
    let wanted = parameters.block("shape")?.ints("dim");
    if !is_whole {
        return None;
    }
    let dims = input.dims.as_ref().and_then(|dims| reshaped(dims, &wanted));
    let shape = list(net, layer, "shape", &wanted);
    Some(Made::new("Reshape", vec![input.value.clone(), shape], dims))
}

/// Interpolation from corner to corner, and an image whose points are repeated.
fn resize(net: &mut Network, layer: &Layer<'_>, inputs: &[Blob]) -> Option<Made> {
    let [input] = inputs else { return None };
    let [batch, channels, height, width] = *input.dims.as_deref()? else { return None };
    let (sides, attributes) = if layer.op_type == "Interp" {
        let parameters = layer.parameters("interp_param");
        if ["pad_beg", "pad_end"].iter().any(|field| parameters.int(field).unwrap_or(0) != 0) {
            return None;
        }
        let sides = [interpolated(parameters, "height", height)?, interpolated(parameters, "width", width)?];
        (sides, [string("mode", "linear"), string("coordinate_transformation_mode", "align_corners")])
    } else {
        let factor =
            layer.parameters("upsample_param").int("scale").filter(|factor| (1..1 << 16).contains(factor))?;
        let attributes = [string("mode", "nearest"), string("coordinate_transformation_mode", "asymmetric")];
        ([height.checked_mul(factor)?, width.checked_mul(factor)?], attributes)
    };
    let dims = vec![batch, channels, sides[0], sides[1]];
    let sizes = list(net, layer, "sizes", &dims);
    let values = vec![input.value.clone(), String::new(), String::new(), sizes];
    Some(Made::new("Resize", values, Some(dims)).with(attributes))
}

impl Block<'_> {
    /// How many numbers a field has.
    fn ints_or_floats(&self, name: &str) -> usize {
        self.all(name).filter(|value| value.float().is_some()).count()
    }
}
