//! The graph as it is put together, with the order in which each value's sizes stand.
//!
//! TensorFlow's images have their channels last (NHWC), those of ONNX's operators have them behind the batch (NCHW).
//! An image therefore stays in ONNX's order from one operator of images to the next, through all operators that go
//! element by element. Where one needs the file's order, a transposition stands between them, once for each value:
//! `name:nhwc` and `name:nchw`. Those are counted, because the file doesn't have them.

use std::collections::HashMap;

use bytes::Bytes;
use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::{self, Assembly, Tensor, Told, int, ints};
use super::channels::Channels;
use super::constant::Constant;
use super::node::Node;
use crate::proto::{AttributeProto, NodeProto, data_type_to_onnx};
use crate::provenance::StatedValue;

/// The places in ONNX's order of the sizes of an image in TensorFlow's order.
const PLACES: [i64; 4] = [0, 2, 3, 1];

/// The order of a value's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// That of the file.
    Plain,
    /// Batch, channels, height, width, where the file has the channels last.
    ChannelsFirst,
}

/// Facts of a computed value.
#[derive(Clone, Copy, Debug)]
struct Known {
    order: Order,
    /// The number of its sizes.
    rank: Option<usize>,
}

pub(super) struct Network {
    pub assembly: Assembly,
    constants: HashMap<String, Constant>,
    values: HashMap<String, Known>,
    /// Other names of values, each with the value that it stands for.
    same: HashMap<String, String>,
    /// The sizes of inputs that are images, in the order of the file.
    images: HashMap<String, [i64; 4]>,
    pub channels: Channels,
    transpositions: u64,
    pub folded: u64,
    pub kept: Told,
}

impl Network {
    pub fn new() -> Self {
        Self {
            assembly: Assembly::new(""),
            constants: HashMap::new(),
            values: HashMap::new(),
            same: HashMap::new(),
            images: HashMap::new(),
            channels: Channels::default(),
            transpositions: 0,
            folded: 0,
            kept: Told::default(),
        }
    }

    /// Keeps a constant until something reads it.
    pub fn constant(&mut self, node: &Node<'_>, file: &Bytes) -> Result<(), FormatError> {
        self.assembly.count(1)?;
        let constant = node.tensor("value").and_then(|tensor| Constant::of(tensor, file));
        let constant = constant.filter(|constant| constant.data_type != DataType::String);
        if let Some(constant) = constant {
            self.constants.entry(node.name.to_string()).or_insert(constant);
        }
        Ok(())
    }

    /// Lets a name stand for a constant.
    pub fn rename_constant(&mut self, name: &str, of: &str) {
        let of = self.root(of);
        self.same.insert(name.to_owned(), of);
        self.folded += 1;
    }

    /// The name of a constant that another name stands for; names are resolved as they are added.
    fn root(&self, name: &str) -> String {
        self.same.get(name).map_or_else(|| name.to_owned(), Clone::clone)
    }

    pub fn known(&self, name: &str) -> Option<&Constant> {
        self.constants.get(self.same.get(name).map_or(name, String::as_str))
    }

    /// The integers of a small constant.
    pub fn ints(&self, name: Option<&str>) -> Option<Vec<i64>> {
        self.known(name?)?.ints.clone()
    }

    /// The one integer of a constant.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.known(name)?.ints.as_deref() {
            Some(&[number]) => Some(number),
            _ => None,
        }
    }

    pub fn rank(&self, name: &str) -> Option<usize> {
        match self.known(name) {
            Some(constant) => Some(constant.dims.len()),
            None => self.values.get(name).and_then(|known| known.rank),
        }
    }

    /// Whether a constant has one number for each channel of an image: it goes before or behind the height alike.
    pub fn is_of_channels(&self, name: &str) -> bool {
        self.known(name).is_some_and(|constant| matches!(constant.dims[..], [1, 1, 1, _]))
    }

    /// Lets a name stand for the elements of a constant in other sizes, as far as they are told.
    pub fn reshape_constant(&mut self, name: &str, of: &str, sizes: &[i64]) -> bool {
        let Some(reshaped) = self.known(of).and_then(|constant| constant.with_sizes(sizes)) else {
            return false;
        };
        self.constants.insert(name.to_owned(), reshaped);
        self.folded += 1;
        true
    }

    pub fn is_channels_first(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|known| known.order == Order::ChannelsFirst)
    }

    pub fn input(&mut self, node: &Node<'_>) {
        let dims = node.shape("shape");
        // A placeholder without a shape has that of a scalar in old files.
        let dims = dims.filter(|dims| !dims.is_empty() || node.op != "Placeholder");
        self.values
            .insert(node.name.to_string(), Known { order: Order::Plain, rank: dims.as_ref().map(Vec::len) });
        if let Some(Ok(sizes)) = dims.as_deref().map(<[i64; 4]>::try_from) {
            self.images.insert(node.name.to_string(), sizes);
        }
        self.assembly.input(&node.name, Some(&Tensor { data_type: node.data_type("dtype"), dims }));
    }

    /// The value in the order of the file.
    pub fn plain(&mut self, name: &str) -> Result<String, FormatError> {
        if self.known(name).is_some() {
            return Ok(self.stored(name));
        }
        if !self.is_channels_first(name) {
            return Ok(name.to_owned());
        }
        self.transposed(name, "nhwc", &[0, 2, 3, 1])
    }

    /// The value, an image, with its channels behind the batch.
    pub fn image(&mut self, name: &str) -> Result<String, FormatError> {
        if self.is_channels_first(name) {
            return Ok(name.to_owned());
        }
        self.plain(name)?;
        let image = self.transposed(&self.root(name), "nchw", &[0, 3, 1, 2])?;
        if let Some([.., channels]) = self.images.get(name) {
            self.channels.note(&image, *channels);
        }
        Ok(image)
    }

    /// The value as it is, an image that has its channels behind the batch in the file.
    pub fn image_of_file(&mut self, name: &str) -> Result<String, FormatError> {
        if let Some([_, channels, ..]) = self.images.get(name) {
            self.channels.note(name, *channels);
        }
        self.plain(name)
    }

    /// A value that an operator reads element by element together with images; `None` if it can't be brought
    /// into their order.
    pub fn beside_image(&mut self, name: &str) -> Result<Option<String>, FormatError> {
        let name = &self.root(name);
        if let Some(constant) = self.constants.get(name) {
            let dims = match constant.dims[..] {
                [] | [1] => return Ok(Some(self.stored(name))),
                [channels] => vec![channels, 1, 1],
                [1, 1, 1, channels] => vec![1, channels, 1, 1],
                [batch, height, width, channels] => vec![batch, channels, height, width],
                _ => return Ok(None),
            };
            let keeps_order = dims[dims.len() - 2..] == [1, 1];
            let other = format!("{name}:nchw");
            let tensor = match keeps_order {
                true => constant.reshaped(&other, &dims),
                false => assembly::weight(&other, constant.data_type, &dims),
            };
            self.assembly.weight(tensor);
            return Ok(Some(other));
        }
        Ok(match self.rank(name) {
            _ if self.is_channels_first(name) => Some(name.to_owned()),
            Some(0) => Some(name.to_owned()),
            Some(1) => {
                let other = format!("{name}:nchw");
                if !self.assembly.has(&other) {
                    let axes = self.list(&format!("{other}:axes"), &[1, 2]);
                    let inputs = vec![name.to_owned(), axes];
                    self.emit(&other, "Unsqueeze", inputs, vec![other.clone()], vec![])?;
                }
                Some(other)
            }
            Some(4) => Some(self.image(name)?),
            _ => None,
        })
    }

    /// The value in the order that it has.
    pub fn ordered(&mut self, name: &str) -> Result<Ordered, FormatError> {
        if self.is_channels_first(name) {
            return Ok(Ordered { name: name.to_owned(), order: Order::ChannelsFirst, rank: Some(4) });
        }
        self.ordered_plain(name)
    }

    /// The value in the order of the file, with its sizes.
    pub fn ordered_plain(&mut self, name: &str) -> Result<Ordered, FormatError> {
        let rank = self.rank(name);
        Ok(Ordered { name: self.plain(name)?, order: Order::Plain, rank })
    }

    fn transposed(&mut self, name: &str, order: &str, places: &[i64; 4]) -> Result<String, FormatError> {
        let other = format!("{name}:{order}");
        if !self.assembly.has(&other) {
            let attributes = vec![ints("perm", *places)];
            self.emit(&other, "Transpose", vec![name.to_owned()], vec![other.clone()], attributes)?;
            self.transpositions += 1;
        }
        Ok(other)
    }

    /// A constant as a weight under its own name.
    fn stored(&mut self, name: &str) -> String {
        let name = self.root(name);
        if let Some(constant) = self.constants.get(&name)
            && !self.assembly.has(&name)
        {
            // Weights are no integers of 32 bits, and quantized ones have types of their own.
            if constant.data_type == DataType::Int32 {
                self.assembly.provenance.lists.insert(name.clone());
            }
            self.assembly.weight(constant.tensor(&name));
        }
        name
    }

    /// A filter in ONNX's order under a name of its own, with the sizes that it then has; its data stay in the
    /// file. A filter that is computed is transposed.
    pub fn filter(
        &mut self,
        name: &str,
        places: [i64; 4],
        is_depthwise: bool,
    ) -> Result<(String, Option<[i64; 4]>), FormatError> {
        let name = &self.root(name);
        let Some(constant) = self.constants.get(name) else {
            let value = self.plain(name)?;
            return Ok((self.transposed(&value, "oihw", &places)?, None));
        };
        let sizes: Option<[i64; 4]> = constant.dims.as_slice().try_into().ok();
        let Some(sizes) = sizes else { return Ok((self.stored(name), None)) };
        // A depthwise filter's last two sizes are the channels and the multiplier.
        let dims = match is_depthwise {
            true => [sizes[2].saturating_mul(sizes[3]), 1, sizes[0], sizes[1]],
            false => places.map(|place| sizes[place as usize]),
        };
        let other = format!("{name}:{}", if is_depthwise { "depthwise" } else { "oihw" });
        self.assembly.weight(assembly::weight(&other, constant.data_type, &dims));
        self.channels.note_filter(&other, dims[0]);
        Ok((other, Some(dims)))
    }

    /// A stored list of integers.
    pub fn list(&mut self, name: &str, values: &[i64]) -> String {
        let mut tensor = assembly::weight(name, DataType::Int64, &[values.len() as i64]);
        tensor.int64_data = values.to_vec();
        self.assembly.made_value(tensor);
        name.to_owned()
    }

    /// A list of integers as ONNX wants them, of 64 bits; one that is computed keeps the type that it has in the file.
    pub fn wide_list(&mut self, name: &str) -> Result<String, FormatError> {
        match self.ints(Some(name)) {
            Some(ints) => Ok(self.list(&format!("{}:int64", self.root(name)), &ints)),
            None => self.plain(name),
        }
    }

    /// A stored number of single precision.
    pub fn number(&mut self, name: &str, value: f32) -> String {
        let mut tensor = assembly::weight(name, DataType::Float32, &[]);
        tensor.float_data = vec![value];
        self.assembly.made_value(tensor);
        name.to_owned()
    }

    /// Adds an operator of ONNX's.
    pub fn emit(
        &mut self,
        name: &str,
        op_type: &str,
        inputs: Vec<String>,
        outputs: Vec<String>,
        attributes: Vec<AttributeProto>,
    ) -> Result<(), FormatError> {
        let node = NodeProto {
            name: Some(name.to_owned()),
            op_type: Some(op_type.to_owned()),
            input: inputs,
            output: outputs,
            attribute: attributes,
            ..Default::default()
        };
        self.channels.enter(&node);
        // Names of the file have no colon, and those of parts and transpositions do.
        if name.contains(':') { self.assembly.helper(node) } else { self.assembly.node(node, None) }
    }

    /// Adds an operator of ONNX's whose last output is integers of 64 bits; where they are of another type in the
    /// file, a conversion stands behind it.
    pub fn emit_integers(
        &mut self,
        name: &str,
        op_type: &str,
        inputs: Vec<String>,
        mut outputs: Vec<String>,
        attributes: Vec<AttributeProto>,
        data_type: DataType,
    ) -> Result<(), FormatError> {
        if data_type == DataType::Int64 {
            return self.emit(name, op_type, inputs, outputs, attributes);
        }
        let value = outputs.pop().unwrap_or_default();
        let wide = format!("{value}:int64");
        outputs.push(wide.clone());
        self.emit(name, op_type, inputs, outputs, attributes)?;
        let to = int("to", data_type_to_onnx(data_type).into());
        self.emit(&format!("{value}:cast"), "Cast", vec![wide], vec![value], vec![to])
    }

    /// Adds an operator of another domain.
    pub fn emit_in(&mut self, domain: &str, node: NodeProto) -> Result<(), FormatError> {
        self.assembly.node(NodeProto { domain: Some(domain.to_owned()), ..node }, None)
    }

    /// Declares a computed value that nothing reads as an output, of a type that may be unknown.
    pub fn output(&mut self, name: &str, data_type: DataType) -> Result<(), FormatError> {
        if self.known(name).is_none() && self.assembly.has(name) {
            let value = self.plain(name)?;
            let declared = Tensor { data_type, dims: None };
            self.assembly.output(&value, Some(&declared).filter(|_| data_type != DataType::Unknown));
            self.assembly.name_output(&value, name);
        }
        Ok(())
    }

    /// Notes the order of a value and how many sizes it has.
    pub fn made(&mut self, value: &str, order: Order, rank: Option<usize>) {
        self.values.insert(value.to_owned(), Known { order, rank });
    }

    pub fn state(&mut self) {
        let provenance = &mut self.assembly.provenance;
        let facts = [
            ("reordered", "inserted_transposes", self.transpositions),
            ("constants renamed", "renamed_constants", self.folded),
        ];
        for (title, key, count) in facts.into_iter().filter(|(_, _, count)| *count > 0) {
            provenance.state(title, key, StatedValue::Count(count));
        }
    }
}

/// A value as an operator reads it.
#[derive(Clone, Debug)]
pub(super) struct Ordered {
    pub name: String,
    pub order: Order,
    /// The number of its sizes.
    pub rank: Option<usize>,
}

impl Ordered {
    /// An axis in the file's order as that in the value's.
    pub fn axis(&self, axis: i64) -> Option<i64> {
        match self.order {
            Order::Plain => Some(axis),
            Order::ChannelsFirst => moved(axis),
        }
    }

    pub fn axes(&self, axes: &[i64]) -> Option<Vec<i64>> {
        axes.iter().map(|axis| self.axis(*axis)).collect()
    }

    /// Whether axes of the file are the height and the width of an image.
    pub fn are_spatial(&self, axes: &[i64]) -> bool {
        let mut axes: Vec<i64> =
            axes.iter().map(|&axis| if axis < 0 { axis.saturating_add(4) } else { axis }).collect();
        axes.sort_unstable();
        axes == [1, 2]
    }
}

/// An axis of an image in the file's order as that in ONNX's.
pub(super) fn moved(axis: i64) -> Option<i64> {
    let axis = if axis < 0 { axis.checked_add(4)? } else { axis };
    PLACES.get(usize::try_from(axis).ok()?).copied()
}
