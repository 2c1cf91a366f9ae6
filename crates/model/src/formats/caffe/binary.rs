//! A `.caffemodel` without its `.prototxt`: the layers that stand beside the weights, as the text that they were once.
//!
//! Numbers of fields are those of the public `caffe.proto`, and those of SSD's for `Permute` and `PriorBox`. The
//! layers of other versions of Caffe have numbers of their own, which mean different things in each: their parameters
//! are left out.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use super::super::FormatError;
use super::super::protobuf::{Message, Wire};

/// A field: name, number, kind.
struct Field(&'static str, u32, Kind);

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Real,
    Truth,
    /// A type of a layer of the old form, a number.
    Type,
    Block(&'static [Field]),
}

use Kind::{Block, Number, Real, Text, Truth, Type};

/// The fields of a network that hold layers: of today, and of the form before 2015.
const LAYER: u32 = 100;
const OLD_LAYER: u32 = 2;

/// The parameters of a pooling that round up or down, by which version of Caffe wrote them.
const AMBIGUOUS_POOLING: u32 = 13;

const NET: &[Field] = &[
    Field("name", 1, Text),
    Field("input", 3, Text),
    Field("input_dim", 4, Number),
    Field("input_shape", 8, Block(SHAPE)),
    Field("layers", OLD_LAYER, Block(OLD)),
    Field("layer", LAYER, Block(TODAY)),
];

const SHAPE: &[Field] = &[Field("dim", 1, Number)];

const RULE: &[Field] = &[Field("phase", 1, Number), Field("stage", 4, Text)];

const TODAY: &[Field] = &[
    Field("name", 1, Text),
    Field("type", 2, Text),
    Field("bottom", 3, Text),
    Field("top", 4, Text),
    Field("include", 8, Block(RULE)),
    Field("exclude", 9, Block(RULE)),
    Field("transform_param", 100, Block(TRANSFORM)),
    Field("argmax_param", 103, Block(ARG_MAX)),
    Field("concat_param", 104, Block(CONCAT)),
    Field("convolution_param", 106, Block(CONVOLUTION)),
    Field("data_param", 107, Block(DATA)),
    Field("dummy_data_param", 109, Block(DUMMY_DATA)),
    Field("eltwise_param", 110, Block(ELTWISE)),
    Field("exp_param", 111, Block(EXPONENT)),
    Field("image_data_param", 115, Block(IMAGE_DATA)),
    Field("inner_product_param", 117, Block(INNER_PRODUCT)),
    Field("lrn_param", 118, Block(LRN)),
    Field("memory_data_param", 119, Block(MEMORY_DATA)),
    Field("pooling_param", 121, Block(POOLING)),
    Field("power_param", 122, Block(POWER)),
    Field("relu_param", 123, Block(RELU)),
    Field("softmax_param", 125, Block(SOFTMAX)),
    Field("slice_param", 126, Block(SLICE)),
    Field("window_data_param", 129, Block(WINDOW_DATA)),
    Field("prelu_param", 131, Block(PRELU)),
    Field("spp_param", 132, Block(SPP)),
    Field("reshape_param", 133, Block(RESHAPE)),
    Field("log_param", 134, Block(EXPONENT)),
    Field("flatten_param", 135, Block(FLATTEN)),
    Field("reduction_param", 136, Block(REDUCTION)),
    Field("embed_param", 137, Block(EMBED)),
    Field("tile_param", 138, Block(TILE)),
    Field("batch_norm_param", 139, Block(BATCH_NORM)),
    Field("elu_param", 140, Block(ELU)),
    Field("bias_param", 141, Block(BIAS)),
    Field("scale_param", 142, Block(SCALE)),
    Field("input_param", 143, Block(INPUT)),
    Field("crop_param", 144, Block(CROP)),
    Field("parameter_param", 145, Block(PARAMETER)),
    Field("recurrent_param", 146, Block(RECURRENT)),
    Field("permute_param", 202, Block(PERMUTE)),
    Field("prior_box_param", 203, Block(PRIOR_BOX)),
];

const OLD: &[Field] = &[
    Field("bottom", 2, Text),
    Field("top", 3, Text),
    Field("name", 4, Text),
    Field("type", 5, Type),
    Field("concat_param", 9, Block(CONCAT)),
    Field("convolution_param", 10, Block(CONVOLUTION)),
    Field("data_param", 11, Block(DATA)),
    Field("image_data_param", 15, Block(IMAGE_DATA)),
    Field("inner_product_param", 17, Block(INNER_PRODUCT)),
    Field("lrn_param", 18, Block(LRN)),
    Field("pooling_param", 19, Block(POOLING)),
    Field("window_data_param", 20, Block(WINDOW_DATA)),
    Field("power_param", 21, Block(POWER)),
    Field("memory_data_param", 22, Block(MEMORY_DATA)),
    Field("argmax_param", 23, Block(ARG_MAX)),
    Field("eltwise_param", 24, Block(ELTWISE)),
    Field("dummy_data_param", 26, Block(DUMMY_DATA)),
    Field("relu_param", 30, Block(RELU)),
    Field("slice_param", 31, Block(SLICE)),
    Field("include", 32, Block(RULE)),
    Field("exclude", 33, Block(RULE)),
    Field("transform_param", 36, Block(TRANSFORM)),
    Field("softmax_param", 39, Block(SOFTMAX)),
    Field("exp_param", 41, Block(EXPONENT)),
];

const ARG_MAX: &[Field] =
    &[Field("out_max_val", 1, Truth), Field("top_k", 2, Number), Field("axis", 3, Number)];

const BIAS: &[Field] = &[Field("axis", 1, Number), Field("num_axes", 2, Number)];

const CONCAT: &[Field] = &[Field("concat_dim", 1, Number), Field("axis", 2, Number)];

const CONVOLUTION: &[Field] = &[
    Field("num_output", 1, Number),
    Field("bias_term", 2, Truth),
    Field("pad", 3, Number),
    Field("kernel_size", 4, Number),
    Field("group", 5, Number),
    Field("stride", 6, Number),
    Field("pad_h", 9, Number),
    Field("pad_w", 10, Number),
    Field("kernel_h", 11, Number),
    Field("kernel_w", 12, Number),
    Field("stride_h", 13, Number),
    Field("stride_w", 14, Number),
    Field("axis", 16, Number),
    Field("dilation", 18, Number),
];

const DATA: &[Field] =
    &[Field("batch_size", 4, Number), Field("crop_size", 5, Number), Field("force_encoded_color", 9, Truth)];

const DUMMY_DATA: &[Field] = &[Field("shape", 6, Block(SHAPE))];

const ELTWISE: &[Field] = &[Field("operation", 1, Number), Field("coeff", 2, Real)];

const EMBED: &[Field] =
    &[Field("num_output", 1, Number), Field("input_dim", 2, Number), Field("bias_term", 3, Truth)];

const EXPONENT: &[Field] = &[Field("base", 1, Real), Field("scale", 2, Real), Field("shift", 3, Real)];

const POWER: &[Field] = &[Field("power", 1, Real), Field("scale", 2, Real), Field("shift", 3, Real)];

const IMAGE_DATA: &[Field] = &[
    Field("batch_size", 4, Number),
    Field("crop_size", 5, Number),
    Field("new_height", 9, Number),
    Field("new_width", 10, Number),
    Field("is_color", 11, Truth),
];

const INNER_PRODUCT: &[Field] = &[
    Field("num_output", 1, Number),
    Field("bias_term", 2, Truth),
    Field("axis", 5, Number),
    Field("transpose", 6, Truth),
];

const LRN: &[Field] = &[
    Field("local_size", 1, Number),
    Field("alpha", 2, Real),
    Field("beta", 3, Real),
    Field("norm_region", 4, Number),
    Field("k", 5, Real),
];

const MEMORY_DATA: &[Field] = &[
    Field("batch_size", 1, Number),
    Field("channels", 2, Number),
    Field("height", 3, Number),
    Field("width", 4, Number),
];

const POOLING: &[Field] = &[
    Field("pool", 1, Number),
    Field("kernel_size", 2, Number),
    Field("stride", 3, Number),
    Field("pad", 4, Number),
    Field("kernel_h", 5, Number),
    Field("kernel_w", 6, Number),
    Field("stride_h", 7, Number),
    Field("stride_w", 8, Number),
    Field("pad_h", 9, Number),
    Field("pad_w", 10, Number),
    Field("global_pooling", 12, Truth),
];

const PARAMETER: &[Field] = &[Field("shape", 1, Block(SHAPE))];

const RECURRENT: &[Field] = &[Field("num_output", 1, Number), Field("expose_hidden", 5, Truth)];

const REDUCTION: &[Field] =
    &[Field("operation", 1, Number), Field("axis", 2, Number), Field("coeff", 3, Real)];

const RELU: &[Field] = &[Field("negative_slope", 1, Real)];

const SPP: &[Field] = &[Field("pyramid_height", 1, Number), Field("pool", 2, Number)];

const TILE: &[Field] = &[Field("axis", 1, Number), Field("tiles", 2, Number)];

const SOFTMAX: &[Field] = &[Field("axis", 2, Number)];

const SLICE: &[Field] =
    &[Field("slice_dim", 1, Number), Field("slice_point", 2, Number), Field("axis", 3, Number)];

const PRELU: &[Field] = &[Field("channel_shared", 2, Truth)];

const RESHAPE: &[Field] =
    &[Field("shape", 1, Block(SHAPE)), Field("axis", 2, Number), Field("num_axes", 3, Number)];

const FLATTEN: &[Field] = &[Field("axis", 1, Number), Field("end_axis", 2, Number)];

const BATCH_NORM: &[Field] = &[Field("use_global_stats", 1, Truth), Field("eps", 3, Real)];

const ELU: &[Field] = &[Field("alpha", 1, Real)];

const SCALE: &[Field] =
    &[Field("axis", 1, Number), Field("num_axes", 2, Number), Field("bias_term", 4, Truth)];

const INPUT: &[Field] = &[Field("shape", 1, Block(SHAPE))];

const CROP: &[Field] = &[Field("axis", 1, Number), Field("offset", 2, Number)];

const TRANSFORM: &[Field] = &[
    Field("crop_size", 3, Number),
    Field("mean_value", 5, Real),
    Field("force_color", 6, Truth),
    Field("force_gray", 7, Truth),
];

const WINDOW_DATA: &[Field] = &[Field("batch_size", 4, Number), Field("crop_size", 5, Number)];

const PERMUTE: &[Field] = &[Field("order", 1, Number)];

const PRIOR_BOX: &[Field] = &[
    Field("min_size", 1, Real),
    Field("max_size", 2, Real),
    Field("aspect_ratio", 3, Real),
    Field("flip", 4, Truth),
    Field("clip", 5, Truth),
    Field("offset", 13, Real),
];

/// The numbers of types of the old form, each with its name.
const OLD_TYPES: [(i64, &str); 39] = [
    (1, "ACCURACY"),
    (2, "BNLL"),
    (3, "CONCAT"),
    (4, "CONVOLUTION"),
    (5, "DATA"),
    (6, "DROPOUT"),
    (7, "EUCLIDEAN_LOSS"),
    (8, "FLATTEN"),
    (9, "HDF5_DATA"),
    (10, "HDF5_OUTPUT"),
    (11, "IM2COL"),
    (12, "IMAGE_DATA"),
    (13, "INFOGAIN_LOSS"),
    (14, "INNER_PRODUCT"),
    (15, "LRN"),
    (16, "MULTINOMIAL_LOGISTIC_LOSS"),
    (17, "POOLING"),
    (18, "RELU"),
    (19, "SIGMOID"),
    (20, "SOFTMAX"),
    (21, "SOFTMAX_LOSS"),
    (22, "SPLIT"),
    (23, "TANH"),
    (24, "WINDOW_DATA"),
    (25, "ELTWISE"),
    (26, "POWER"),
    (27, "SIGMOID_CROSS_ENTROPY_LOSS"),
    (28, "HINGE_LOSS"),
    (29, "MEMORY_DATA"),
    (30, "ARGMAX"),
    (31, "THRESHOLD"),
    (32, "DUMMY_DATA"),
    (33, "SLICE"),
    (34, "MVN"),
    (35, "ABSVAL"),
    (36, "SILENCE"),
    (37, "CONTRASTIVE_LOSS"),
    (38, "EXP"),
    (39, "DECONVOLUTION"),
];

/// Numbers of a list that are kept; sizes and the like are few.
const MOST_LISTED: usize = 64;

/// The bytes of a text; that of a real network has a hundredth.
const MOST_TEXT: usize = 64 << 20;

/// Whether bytes begin as a network does: with its name, and layers or inputs behind it.
pub(super) fn is_one(head: &[u8]) -> bool {
    let is_text = |bytes: &[u8]| {
        bytes.len() <= 1024 && str::from_utf8(bytes).is_ok_and(|text| !text.contains(char::is_control))
    };
    let mut fields = Message::new(head, 0).fields();
    // Of a layer that is longer than the head, the beginning is there.
    let mut next = || fields.next().map(|(field, wire)| (field, wire.message().bytes));
    let mut field = next();
    if let Some((1, name)) = field {
        if !is_text(name) {
            return false;
        }
        field = next();
    }
    while let Some((3 | 4 | 8, _)) = field {
        field = next();
    }
    let Some((field, layer)) = field else { return false };
    let mut inside = Message::new(layer, 0).each().map(|(field, wire)| (field, wire.message().bytes));
    let is_first = |names, (first, name): (u32, &[u8])| {
        RangeInclusive::contains(&names, &first) && !name.is_empty() && is_text(name)
    };
    match field {
        LAYER => inside.next().is_some_and(|found| is_first(1..=4, found)),
        // Many messages have something of this number: there must be a type as well.
        OLD_LAYER => {
            head.first() == Some(&0x0a)
                && inside.next().is_some_and(|found| is_first(2..=4, found))
                && inside.any(|(field, number)| field == 5 && number.is_empty())
        }
        _ => false,
    }
}

/// The text of the network that bytes are, and why it ends before its time.
pub(super) fn to_text(bytes: &[u8]) -> (String, Option<FormatError>) {
    let mut out = String::new();
    let mut fields = Message::new(bytes, 0).fields();
    while let Some((number, wire)) = fields.next() {
        // A layer that is cut off lacks its parameters, which stand behind its weights.
        if fields.fault.is_some() {
            break;
        }
        if out.len() > MOST_TEXT {
            let text =
                format!("its layers take more than {MOST_TEXT} bytes as text, which no real network does");
            return (out, Some(FormatError::Whole(text)));
        }
        push(&mut out, NET, number, wire);
    }
    (out, fields.fault)
}

/// Appends a field, if it is one of those that are read.
fn push(out: &mut String, fields: &[Field], number: u32, wire: Wire<'_>) {
    let Some(Field(name, _, kind)) = fields.iter().find(|Field(_, known, _)| *known == number) else {
        return;
    };
    match kind {
        Text => {
            let text = wire.text().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            _ = writeln!(out, "{name}: \"{text}\"");
        }
        Number => {
            let mut numbers = Vec::new();
            wire.push_ints(&mut numbers);
            numbers.iter().take(MOST_LISTED).for_each(|number| _ = writeln!(out, "{name}: {number}"));
        }
        Real => {
            let mut numbers = Vec::new();
            wire.push_floats(&mut numbers);
            numbers.iter().take(MOST_LISTED).for_each(|number| _ = writeln!(out, "{name}: {number}"));
        }
        Truth => _ = writeln!(out, "{name}: {}", wire.int() != 0),
        Type => {
            let found = OLD_TYPES.iter().find(|(known, _)| *known == wire.int());
            _ = writeln!(out, "{name}: {}", found.map_or("NONE", |(_, name)| name));
        }
        Block(inner) => {
            let message = wire.message();
            // Without its window, a pooling whose rounding nobody knows has no sizes behind it.
            if *name == "pooling_param" && message.field(AMBIGUOUS_POOLING).is_some() {
                return;
            }
            _ = writeln!(out, "{name} {{");
            message.each().for_each(|(number, wire)| push(out, inner, number, wire));
            out.push_str("}\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters of layers that other versions of Caffe have, with numbers of their own.
    const OF_OTHERS: [&str; 3] = ["interp_param", "roi_pooling_param", "upsample_param"];

    #[test]
    fn every_parameter_that_sizes_depend_on_is_read_of_files_of_weights() {
        let sources = [include_str!("data.rs"), include_str!("map.rs"), include_str!("shape.rs")].concat();
        let quoted = sources.split('"').skip(1).step_by(2);
        let named: Vec<&str> = quoted.filter(|text| text.len() > 6 && text.ends_with("_param")).collect();
        assert!(named.len() > 30, "{named:?}");
        for name in named {
            let is_known = TODAY.iter().any(|Field(known, ..)| *known == name);
            assert!(is_known || OF_OTHERS.contains(&name), "{name} has no number");
        }
    }
}
