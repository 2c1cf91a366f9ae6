//! A graph as it is put together: which values stand for a tensor, in which order of axes, and the operators.
//!
//! The file has images with their channels last, and ONNX's operators want them before the places. So a tensor may
//! have a value in either order. An operator says in which it takes a tensor; where there is no value in that order,
//! a constant is stored in it, and any other tensor gets a `Transpose` in front, which is counted.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::{self, Assembly, Told, ints, shortened};
use super::constants::Unpacking;
use super::order::Order;
use super::schema::{Options, Tensor};
use crate::proto::{AttributeProto, NodeProto};

/// The letters of a name that count as a further part of the graph.
pub(super) const LETTERS_OF_PART: usize = 256;

/// An operator of the file.
#[derive(Debug)]
pub(super) struct Operator<'b> {
    /// The name of its type.
    pub op_type: String,
    /// Its own name, as the library's profiler has it: those of the tensors that it makes.
    pub label: String,
    /// The tensors that it reads, by their numbers; `None` is one that is left out.
    pub inputs: Vec<Option<usize>>,
    /// The tensors that it makes.
    pub outputs: Vec<usize>,
    pub options: Options<'b>,
}

impl Operator<'_> {
    /// The tensor that it reads at a place.
    pub fn input(&self, place: usize) -> Option<usize> {
        self.inputs.get(place).copied().flatten()
    }
}

/// The graph so far.
pub(super) struct Network<'b> {
    pub assembly: Assembly,
    pub tensors: Vec<Tensor<'b>>,
    pub(super) bytes: &'b Bytes,
    /// Values of each tensor that is an input or made by an operator.
    values: Vec<Vec<(Order, String)>>,
    /// Values of constants, by order and number of dimensions.
    pub(super) constants: HashMap<(usize, Order, usize), String>,
    /// Constants that an operator unpacks: the packed tensor, and that operator.
    pub(super) unpacked: HashMap<usize, (usize, Unpacking)>,
    /// Whether a tensor is an input or output of the graph, whose name then is of the value in the file's order.
    is_bound: Vec<bool>,
    /// The inputs of the graph.
    inputs: Vec<usize>,
    names: HashSet<String>,
    /// The number that the last name which was taken already got.
    next: usize,
    /// Whether a value has the tensor's own name.
    is_named: Vec<bool>,
    pub transposes: usize,
    pub states: usize,
    missing: Told,
    /// The tensors that operators read before they were made.
    early: Vec<usize>,
    pub(super) unfit: Told,
    twice: Told,
}

impl<'b> Network<'b> {
    pub fn new(name: &str, bytes: &'b Bytes, mut tensors: Vec<Tensor<'b>>) -> Self {
        let mut names: HashSet<String> = HashSet::new();
        for (number, tensor) in tensors.iter_mut().enumerate() {
            if tensor.name.is_empty() {
                tensor.name = format!("tensor_{number}");
            }
            while !names.insert(tensor.name.clone()) {
                tensor.name = format!("{}#{number}", tensor.name);
            }
        }
        let count = tensors.len();
        Self {
            assembly: Assembly::new(name),
            tensors,
            bytes,
            values: vec![Vec::new(); count],
            constants: HashMap::new(),
            unpacked: HashMap::new(),
            is_bound: vec![false; count],
            inputs: Vec::new(),
            names,
            next: 0,
            is_named: vec![false; count],
            transposes: 0,
            states: 0,
            missing: Told::default(),
            early: Vec::new(),
            unfit: Told::default(),
            twice: Told::default(),
        }
    }

    /// A tensor's rank.
    pub fn rank(&self, tensor: Option<usize>) -> Option<usize> {
        self.tensors.get(tensor?)?.rank()
    }

    /// The size of one of the file's axes; `None` where it is open.
    pub fn size(&self, tensor: Option<usize>, axis: usize) -> Option<i64> {
        let tensor = self.tensors.get(tensor?)?;
        let open = tensor.open_dims.as_ref().and_then(|dims| dims.get(axis)).is_some_and(|size| *size < 0);
        tensor.dims.as_ref()?.get(axis).copied().filter(|_| !open)
    }

    pub fn data_type(&self, tensor: Option<usize>) -> DataType {
        tensor
            .and_then(|tensor| self.tensors.get(tensor))
            .map_or(DataType::Unknown, |tensor| tensor.data_type)
    }

    /// Whether a tensor is an input of the graph, or an operator made it.
    pub fn is_made(&self, tensor: usize) -> bool {
        self.values.get(tensor).is_some_and(|values| !values.is_empty())
    }

    /// The order in which a tensor is at hand: that of images where an operator of images made it.
    pub fn order_of(&self, tensor: Option<usize>) -> Order {
        let values = tensor.and_then(|tensor| self.values.get(tensor));
        values.and_then(|values| values.first()).map_or(Order::File, |(order, _)| *order)
    }

    /// A name for a value that is no tensor of the file.
    pub fn fresh(&mut self, name: String) -> String {
        if self.names.insert(name.clone()) {
            return name;
        }
        // A number is never tried again, so that all searches together end soon.
        loop {
            self.next += 1;
            let other = format!("{name}#{}", self.next);
            if self.names.insert(other.clone()) {
                return other;
            }
        }
    }

    /// Marks a tensor as an input or output of the graph.
    pub fn bind(&mut self, tensor: usize) {
        if let Some(bound) = self.is_bound.get_mut(tensor) {
            *bound = true;
        }
    }

    /// Adds an input, in the file's order and of the sizes that it has unless somebody resizes it.
    pub fn input(&mut self, tensor: usize) {
        let Some(found) = self.tensors.get(tensor) else { return };
        let dims = found.dims.clone().or(found.states_no_size.then(Vec::new));
        let declared = assembly::Tensor { data_type: found.data_type, dims };
        self.assembly.input(&found.name, Some(&declared));
        self.is_named[tensor] = true;
        self.inputs.push(tensor);
        self.values[tensor].push((Order::File, self.tensors[tensor].name.clone()));
    }

    /// The inputs that may be resized, with a question mark for each size that is open; the first few of them.
    pub fn open_inputs(&self) -> String {
        const MOST: usize = 4;
        let open = self.inputs.iter().filter_map(|input| {
            let tensor = self.tensors.get(*input)?;
            let dims = tensor.open_dims.as_ref().filter(|dims| dims.iter().any(|size| *size < 0))?;
            let sizes = dims.iter().map(|size| if *size < 0 { "?".to_owned() } else { size.to_string() });
            Some(format!("{} [{}]", shortened(&tensor.name), sizes.collect::<Vec<_>>().join(",")))
        });
        open.take(MOST).collect::<Vec<_>>().join(", ")
    }

    /// Adds an output.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn output(&mut self, tensor: usize) -> Result<(), FormatError> {
        let value = self.read(Some(tensor), Order::File)?;
        if !value.is_empty() {
            let declared = self.declared(tensor, Order::File);
            self.assembly.output(&value, Some(&declared));
        }
        Ok(())
    }

    /// A tensor's type in an order, with open sizes where the file has them.
    fn declared(&self, tensor: usize, order: Order) -> assembly::Tensor {
        let found = &self.tensors[tensor];
        let dims = found.open_dims.as_ref().or(found.dims.as_ref());
        assembly::Tensor { data_type: found.data_type, dims: dims.map(|dims| order.sizes(dims)) }
    }

    /// The name of a tensor's value: its own, unless another value has it or it is kept for another.
    pub(super) fn name_of(&mut self, tensor: usize, order: Order) -> String {
        let name = self.tensors[tensor].name.clone();
        if !self.is_named[tensor] && (order == Order::File || !self.is_bound[tensor]) {
            self.is_named[tensor] = true;
            return name;
        }
        self.fresh(format!("{name}{}", order.suffix()))
    }

    /// The value of a tensor in an order; empty for one that is left out, or that nothing made so far.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn read(&mut self, tensor: Option<usize>, order: Order) -> Result<String, FormatError> {
        let Some(tensor) = tensor else { return Ok(String::new()) };
        let found = &self.tensors[tensor];
        self.assembly.count(found.name.len() / LETTERS_OF_PART)?;
        let rank = found.rank();
        let order = if rank.is_some_and(|rank| rank > 1) { order } else { Order::File };
        if self.is_stored(tensor) {
            return self.stored(tensor, order, rank.unwrap_or(0));
        }
        let values = &self.values[tensor];
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == order) {
            return Ok(value.clone());
        }
        let Some((known, value)) = values.first().cloned() else {
            if found.is_variable {
                self.states += 1;
            } else {
                self.missing.add(|| found.name.clone());
                self.early.push(tensor);
            }
            return Ok(String::new());
        };
        let perm = ints("perm", order.from(known, rank.unwrap_or(0)));
        let turned = self.value(tensor, order);
        let label = format!("{}{}", self.tensors[tensor].name, order.suffix());
        self.transposes += 1;
        self.helper("Transpose", label, vec![value], vec![turned.clone()], vec![perm])?;
        Ok(turned)
    }

    /// Notes that an operator of the file reads a tensor.
    pub fn is_read(&mut self, tensor: usize) {
        if let Some((_, value)) = self.values.get(tensor).and_then(|values| values.first()) {
            self.assembly.reads(value);
        }
    }

    /// A new value of a tensor in an order.
    fn value(&mut self, tensor: usize, order: Order) -> String {
        let name = self.name_of(tensor, order);
        let declared = self.declared(tensor, order);
        self.assembly.declare(&name, &declared);
        self.values[tensor].push((order, name.clone()));
        name
    }

    /// The value that an operator makes of a tensor; empty where another made it before.
    pub fn make(&mut self, tensor: usize, order: Order) -> String {
        if !self.values[tensor].is_empty() || self.unpacked.contains_key(&tensor) {
            self.twice.add(|| self.tensors[tensor].name.clone());
            return String::new();
        }
        let rank = self.rank(Some(tensor));
        let order = if rank.is_some_and(|rank| rank > 1) { order } else { Order::File };
        self.value(tensor, order)
    }

    /// A value on the way to a tensor, of its sizes.
    pub fn between(&mut self, tensor: usize, order: Order, word: &str, data_type: DataType) -> String {
        let name = self.fresh(format!("{}:{word}", self.tensors[tensor].name));
        let declared = assembly::Tensor { data_type, ..self.declared(tensor, order) };
        self.assembly.declare(&name, &declared);
        name
    }

    /// Adds a node of ONNX's.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn node(
        &mut self,
        op_type: &str,
        name: String,
        inputs: Vec<String>,
        outputs: Vec<String>,
        attributes: Vec<AttributeProto>,
    ) -> Result<(), FormatError> {
        self.assembly.node(node_of(op_type, name, inputs, outputs, attributes), None)
    }

    /// Adds a node of ONNX's that the file doesn't have, so that others mean what ONNX's do.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn helper(
        &mut self,
        op_type: &str,
        name: String,
        inputs: Vec<String>,
        outputs: Vec<String>,
        attributes: Vec<AttributeProto>,
    ) -> Result<(), FormatError> {
        self.assembly.helper(node_of(op_type, name, inputs, outputs, attributes))
    }

    /// Adds a node of the file's own type.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn own_node(
        &mut self,
        op_type: &str,
        name: String,
        inputs: Vec<String>,
        outputs: Vec<String>,
    ) -> Result<(), FormatError> {
        let (name, op_type, domain) = (Some(name), Some(op_type.to_owned()), Some(super::DOMAIN.to_owned()));
        let node = NodeProto { name, op_type, domain, input: inputs, output: outputs, ..Default::default() };
        self.assembly.node(node, None)
    }

    /// Notes that an operator reads a tensor that the file doesn't have.
    pub fn lacks(&mut self, tensor: usize) {
        self.missing.add(|| format!("tensor {tensor}"));
    }

    /// Tells what was lost.
    pub fn tell(&mut self) {
        std::mem::take(&mut self.early).into_iter().for_each(|tensor| self.is_read(tensor));
        let losses = &mut self.assembly.provenance.losses;
        losses.extend(
            self.missing
                .sentence("{} of the inputs are of tensors that nothing made before, and were left out: {}"),
        );
        losses.extend(self.unfit.sentence(
            "{} of the weights have less or more data than their sizes say, which was left out: {}",
        ));
        losses.extend(self.twice.sentence("{} of the tensors are made twice; the first time counts: {}"));
    }
}

fn node_of(
    op_type: &str,
    name: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    attributes: Vec<AttributeProto>,
) -> NodeProto {
    let (name, op_type) = (Some(name), Some(op_type.to_owned()));
    NodeProto { name, op_type, input: inputs, output: outputs, attribute: attributes, ..Default::default() }
}
