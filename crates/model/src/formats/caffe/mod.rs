//! Caffe's networks (`.prototxt`), with the weights of a `.caffemodel` of the same name beside them, or such a file
//! alone.
//!
//! Layers whose meaning is that of one of ONNX's operators become that, others keep their type in the domain
//! `caffe`. Sizes of all blobs are worked out by Caffe's own rules and declared, so that a mistake here or in the
//! inference of shapes shows as a contradiction. Names of fields are those of the public `caffe.proto`.

mod binary;
mod data;
mod layer;
mod map;
mod shape;
mod weights;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use bytes::Bytes;

use super::FormatError;
use super::assembly::{Assembly, OPSET, Tensor, Told};
use super::text::{self, Block};
use crate::model_kind::ModelKind;
use crate::provenance::{ReadModel, StatedValue};
use layer::{Layer, layers};
use opscope_trace::DataType;
use weights::Weights;

/// The domain of layers that ONNX has no operator for.
pub(crate) const DOMAIN: &str = "caffe";

/// Whether a file begins as a network does, as text or with its weights.
pub(crate) fn is_one(head: &[u8]) -> bool {
    is_text(head) || binary::is_one(head)
}

/// Whether a text begins as a network does: with layers, or with the sizes of its input.
fn is_text(head: &[u8]) -> bool {
    /// The fields of a network; other texts have lines that begin with some of its layers' words too.
    const FIELDS: [&str; 9] = [
        "name",
        "input",
        "input_shape",
        "input_dim",
        "force_backward",
        "state",
        "debug_info",
        "layer",
        "layers",
    ];
    let is_field = |line: &str| {
        let mut rests = FIELDS.iter().filter_map(|field| line.strip_prefix(field)).map(str::trim_start);
        rests.any(|rest| rest.is_empty() || rest.starts_with([':', '{']))
    };
    super::text_lines(head).is_some_and(|lines| {
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
        lines.peek().is_some_and(|line| is_field(line))
            && lines.any(|line| {
                let rest = ["layers", "layer"].iter().find_map(|word| line.strip_prefix(word));
                rest.is_some_and(|rest| {
                    rest.is_empty() || rest.trim_start_matches([' ', '\t', ':']).starts_with('{')
                })
            })
    })
}

/// Reads a network.
///
/// # Errors
/// When the text can't be read from its beginning, or has no layers.
pub(crate) fn read(bytes: &Bytes, path: Option<&Path>) -> Result<ReadModel, FormatError> {
    let (text, cut) = match binary::is_one(&bytes[..bytes.len().min(ModelKind::HEAD)]) {
        true => {
            let (text, cut) = binary::to_text(bytes);
            (Cow::Owned(text), Some(cut))
        }
        false => (String::from_utf8_lossy(bytes), None),
    };
    let (net, fault) = text::parse(&text)?;
    let mut network = Network::new(&net.text("name"));
    match (&cut, path) {
        (Some(_), _) => network.weights = Weights::of(bytes).0,
        (None, Some(path)) => network.weights = Weights::beside(path, &mut network.assembly.provenance),
        (None, None) => {}
    }
    if let Some(fault) = fault.or(cut.flatten()) {
        let losses = &mut network.assembly.provenance.losses;
        losses.push(format!("the file is damaged: {fault}; what comes before was read"));
    }
    network.inputs(&net);
    for mut layer in layers(&net) {
        if layer.is_in_inference() {
            network.name(&mut layer);
            network.layer(&layer)?;
        } else {
            network.in_training += 1;
        }
    }
    if network.count == 0 {
        return Err(FormatError::Whole("the network has no layers".to_owned()));
    }
    Ok(network.finish())
}

/// A blob as a layer left it.
#[derive(Clone, Debug)]
struct Blob {
    /// The value's name: the blob's own, and with the layer's where layers work in place.
    value: String,
    dims: Option<Vec<i64>>,
}

/// A network as its graph is put together.
struct Network {
    assembly: Assembly,
    blobs: HashMap<String, Blob>,
    /// Values, in order, with whether a layer reads them.
    made: Vec<(String, Option<Vec<i64>>, bool)>,
    places: HashMap<String, usize>,
    weights: Weights,
    count: usize,
    in_training: usize,
    unsized_layers: Told,
    /// The layers' names so far, by which weights are found.
    names: HashSet<String>,
    renamed: Told,
    untyped: usize,
}

/// The dimensions that Caffe's blobs can have.
const MOST_AXES: usize = 32;

impl Network {
    fn new(name: &str) -> Self {
        Self {
            assembly: Assembly::new(name),
            blobs: HashMap::new(),
            made: Vec::new(),
            places: HashMap::new(),
            weights: Weights::default(),
            count: 0,
            in_training: 0,
            unsized_layers: Told::default(),
            names: HashSet::new(),
            renamed: Told::default(),
            untyped: 0,
        }
    }

    /// The inputs that the network names itself: `input` with four `input_dim` each, or an `input_shape` each.
    fn inputs(&mut self, net: &Block<'_>) {
        let sizes = net.ints("input_dim");
        let mut shapes = net.blocks("input_shape").map(|shape| shape.ints("dim"));
        for (place, name) in net.texts("input").into_iter().enumerate() {
            let four = sizes.get(place * 4..place * 4 + 4).map(<[i64]>::to_vec);
            let dims = shapes.next().or(four);
            self.input(&name, dims);
        }
    }

    /// Gives a layer without a name, or with that of another, one of its own.
    fn name(&mut self, layer: &mut Layer<'_>) {
        let is_named = !layer.name.is_empty();
        if is_named && self.names.insert(layer.name.to_string()) {
            return;
        }
        if is_named {
            self.renamed.add(|| layer.name.to_string());
        }
        let stem = if is_named { &layer.name } else { &layer.op_type };
        layer.name = format!("{stem}#{}", self.count).into();
    }

    /// Adds an input. Only the batch may be open.
    fn input(&mut self, name: &str, dims: Option<Vec<i64>>) {
        let dims = dims.filter(|dims| dims.len() <= MOST_AXES && dims.iter().skip(1).all(|size| *size > 0));
        self.assembly.input(name, Some(&tensor(dims.clone())));
        self.blobs.insert(name.to_owned(), Blob { value: name.to_owned(), dims });
    }

    /// The blob that a layer reads, and marks it as read.
    fn read(&mut self, name: &str) -> Blob {
        let blob = self.blobs.get(name).cloned();
        // Nothing made it: it is left out, which the assembly tells.
        let blob = blob.unwrap_or_else(|| Blob { value: name.to_owned(), dims: None });
        if let Some(place) = self.places.get(&blob.value) {
            self.made[*place].2 = true;
        }
        blob
    }

    /// The value that a layer makes of a blob: under another name where it works in place.
    fn make(&mut self, layer: &str, blob: &str, dims: Option<Vec<i64>>) -> String {
        let dims = dims.filter(|dims| dims.len() <= MOST_AXES);
        let mut value = blob.to_owned();
        if self.blobs.contains_key(blob) {
            value = format!("{blob}:{layer}");
            if self.assembly.has(&value) {
                value = format!("{value}:{}", self.made.len());
            }
        }
        if let Some(dims) = &dims {
            self.assembly.declare(&value, &tensor(Some(dims.clone())));
        }
        self.blobs.insert(blob.to_owned(), Blob { value: value.clone(), dims: dims.clone() });
        self.places.insert(value.clone(), self.made.len());
        self.made.push((value.clone(), dims, false));
        value
    }

    fn layer(&mut self, layer: &Layer<'_>) -> Result<(), FormatError> {
        self.count += 1;
        self.untyped += usize::from(layer.op_type.is_empty());
        map::layer(self, layer)
    }

    fn finish(mut self) -> ReadModel {
        for (value, dims, is_read) in std::mem::take(&mut self.made) {
            if !is_read && self.assembly.has(&value) {
                self.assembly.output(&value, Some(&tensor(dims)));
            }
        }
        let provenance = &mut self.assembly.provenance;
        provenance.state("layers", "layers", StatedValue::Count(self.count as u64));
        if self.in_training > 0 {
            provenance.state("in training", "training_layers", StatedValue::Count(self.in_training as u64));
        }
        provenance.losses.extend(
            self.unsized_layers.sentence("{} of the layers make blobs whose sizes are not known here: {}"),
        );
        provenance.losses.extend(
            self.renamed.sentence("{} of the layers have the name of another and got one of their own: {}"),
        );
        if self.untyped > 0 {
            provenance.losses.push(format!(
                "{} of the layers state no type; Caffe's upgrade_net_proto_text brings such networks up to date",
                self.untyped
            ));
        }
        let (mut proto, mut provenance) = self.assembly.finish(&[("", OPSET), (DOMAIN, 1)]);
        proto.producer_name = Some("Caffe".to_owned());
        let name = proto.graph.as_ref().map(|graph| graph.name().to_owned()).unwrap_or_default();
        if !name.is_empty() {
            let value = StatedValue::Text(name);
            provenance.stated.insert(0, crate::provenance::Stated { title: "name", key: "name", value });
        }
        ReadModel { kind: ModelKind::Caffe, proto, provenance }
    }
}

fn tensor(dims: Option<Vec<i64>>) -> Tensor {
    Tensor { data_type: DataType::Float32, dims }
}

#[cfg(test)]
mod tests;
