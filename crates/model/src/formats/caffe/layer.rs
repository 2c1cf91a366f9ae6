//! The layers of a network, of today's form (`layer`) and of that before 2015 (`layers`, types in capitals).

use std::borrow::Cow;

use super::super::text::Block;

/// A layer.
pub(super) struct Layer<'n> {
    pub name: Cow<'n, str>,
    pub op_type: Cow<'n, str>,
    pub bottoms: Vec<String>,
    pub tops: Vec<String>,
    pub block: &'n Block<'n>,
}

/// Types of the old form, each with its name of today.
const OLD_TYPES: [(&str, &str); 30] = [
    ("ABSVAL", "AbsVal"),
    ("ARGMAX", "ArgMax"),
    ("BNLL", "BNLL"),
    ("CONCAT", "Concat"),
    ("CONVOLUTION", "Convolution"),
    ("DATA", "Data"),
    ("DECONVOLUTION", "Deconvolution"),
    ("DROPOUT", "Dropout"),
    ("DUMMY_DATA", "DummyData"),
    ("ELTWISE", "Eltwise"),
    ("EXP", "Exp"),
    ("FLATTEN", "Flatten"),
    ("HDF5_DATA", "HDF5Data"),
    ("IMAGE_DATA", "ImageData"),
    ("INNER_PRODUCT", "InnerProduct"),
    ("LRN", "LRN"),
    ("MEMORY_DATA", "MemoryData"),
    ("MVN", "MVN"),
    ("POOLING", "Pooling"),
    ("POWER", "Power"),
    ("RELU", "ReLU"),
    ("SIGMOID", "Sigmoid"),
    ("SILENCE", "Silence"),
    ("SLICE", "Slice"),
    ("SOFTMAX", "Softmax"),
    ("SOFTMAX_LOSS", "SoftmaxWithLoss"),
    ("SPLIT", "Split"),
    ("TANH", "TanH"),
    ("THRESHOLD", "Threshold"),
    ("ACCURACY", "Accuracy"),
];

/// All layers in order.
pub(super) fn layers<'n>(net: &'n Block<'n>) -> impl Iterator<Item = Layer<'n>> {
    let fields = net.fields.iter().filter(|field| field.name == "layer" || field.name == "layers");
    fields.filter_map(|field| field.value.block()).map(|block| {
        let stated = block.text("type");
        let old = OLD_TYPES.iter().find(|(old, _)| *old == stated);
        let op_type = old.map_or(stated, |(_, today)| Cow::Borrowed(*today));
        Layer {
            name: block.text("name"),
            op_type,
            bottoms: block.texts("bottom"),
            tops: block.texts("top"),
            block,
        }
    })
}

impl Layer<'_> {
    /// Whether the layer is part of the network when it is used, and not only when it is trained.
    pub fn is_in_inference(&self) -> bool {
        let of_test = |rule: &Block<'_>| {
            rule.get("phase").is_none_or(|phase| matches!(&*phase.text(), "TEST" | "1"))
                && rule.get("stage").is_none()
        };
        let mut included = self.block.blocks("include").peekable();
        let is_included = included.peek().is_none() || included.any(of_test);
        let is_excluded =
            self.block.blocks("exclude").any(|rule| rule.get("phase").is_some() && of_test(rule));
        is_included && !is_excluded
    }

    /// The block of parameters, empty where the layer has none.
    pub fn parameters(&self, name: &str) -> &Block<'_> {
        static NONE: Block<'static> = Block { fields: Vec::new() };
        self.block.block(name).unwrap_or(&NONE)
    }
}
