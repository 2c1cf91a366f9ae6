//! The graph of a model: operators as nodes under their own names, constants as weights, graphs that others run
//! in their place.
//!
//! A model of open sizes has its operators in graphs that operators of the first one run. Where such an operator does
//! nothing but run one graph (`PartitionedCall`), that graph's inputs and outputs are tied to its own; the graphs of
//! conditions and loops are added beside the operator that runs them, whose inputs they read in their own sizes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::super::FormatError;
use super::super::assembly::{self, Assembly, Told};
use super::super::protobuf::Message;
use super::attributes::{Attribute, AttributeValue, Dictionary};
use super::container::Partition;
use super::operator::{Described, Operator};
use crate::proto::{AttributeProto, NodeProto};
use crate::provenance::{Origin, StatedValue};

/// Lists of more elements aren't kept as attributes.
const MOST_LISTED: usize = 32;

/// Graphs in graphs, of which no real model has more.
const MOST_DEPTH: usize = 32;

const GRAPH: u32 = 7;
const OPERATOR: u32 = 6;
const GRAPH_OUTPUT: u32 = 5;

/// The occasion on which a graph was written, which decides what it leaves unsaid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// As a model: what no operator runs is not part of it.
    Model,
    /// Between the compiler's passes: an operator that doesn't say what it was made of is as it was.
    Dump,
    /// The same in messages like those of ONNX, which say neither that, nor which operator runs a graph.
    OnnxDump,
}

struct Reader<'b, 'r> {
    written: Written,
    dictionary: &'r Dictionary<'b>,
    file: &'r Bytes,
    weights: Option<Partition<'b>>,
    graphs: HashMap<Cow<'b, str>, Message<'b>>,
    entered: HashSet<Cow<'b, str>>,
    assembly: Assembly,
    cut: Vec<String>,
    unconnected: Told,
    /// The most memory that an operator needs beside its values, and its name.
    workspace: (u64, String),
}

/// The operator that runs a graph.
struct Parent<'p> {
    name: &'p str,
    inputs: &'p [String],
    /// Whether inputs and outputs of both are the same.
    is_tied: bool,
}

/// Puts the graph together.
///
/// # Errors
/// When the model has no graph, or too large a one.
pub(super) fn assemble<'b>(
    model: Message<'b>,
    dictionary: &Dictionary<'b>,
    file: &Bytes,
    weights: Option<Partition<'b>>,
    written: Written,
) -> Result<Assembly, FormatError> {
    let graphs = model.each().filter(|(field, _)| *field == GRAPH).map(|(_, graph)| graph.message());
    let graphs: Vec<Message<'b>> = graphs.collect();
    let (first, others) = graphs.split_first().ok_or_else(|| {
        FormatError::at(model.offset, "the model has no graph; its file is cut off or damaged")
    })?;
    let name = first.sub(1);
    let mut reader = Reader {
        written,
        dictionary,
        file,
        weights,
        graphs: others.iter().map(|graph| (graph_name(*graph), *graph)).collect(),
        entered: HashSet::new(),
        assembly: Assembly::new(&String::from_utf8_lossy(name.bytes)),
        cut: Vec::new(),
        unconnected: Told::default(),
        workspace: (0, String::new()),
    };
    reader.graph(*first, None, 0)?;
    if !reader.assembly.has_outputs() {
        let named = first.each().filter(|(field, _)| *field == GRAPH_OUTPUT);
        named.for_each(|(_, output)| reader.assembly.output(&output_name(&output.text()), None));
    }
    let mut beside = Told::default();
    if written == Written::OnnxDump {
        for graph in others {
            let name = graph_name(*graph);
            if reader.entered.insert(name.clone()) {
                beside.add(|| name.to_string());
                reader.graph(*graph, Some(Parent { name: "", inputs: &[], is_tied: false }), 1)?;
            }
        }
    }
    let fault = {
        let mut fields = model.fields();
        fields.by_ref().for_each(drop);
        fields.fault
    };
    let left = reader.graphs.len().saturating_sub(reader.entered.len());
    let Reader { mut assembly, cut, unconnected, workspace: (bytes, operator), .. } = reader;
    if bytes > 0 {
        assembly.provenance.state("workspace", "largest_workspace_bytes", StatedValue::Bytes(bytes));
        assembly.provenance.state_text("needed by", "largest_workspace_of", operator);
    }
    let losses = &mut assembly.provenance.losses;
    losses.extend(
        fault.map(|fault| format!("the model's graph is damaged: {fault}; what comes before was read")),
    );
    losses.extend(cut);
    if left > 0 {
        losses.push(format!("{left} of the graphs are run by nothing that was read, and were left out"));
    }
    losses.extend(unconnected.sentence(
        "{} of the graphs are those of conditions and loops, and stand beside the operator that runs them: {}",
    ));
    losses.extend(beside.sentence(
        "{} of the graphs are run by operators that the file doesn't name, and stand beside them: {}",
    ));
    Ok(assembly)
}

fn graph_name(graph: Message<'_>) -> Cow<'_, str> {
    String::from_utf8_lossy(graph.sub(1).bytes)
}

/// The name of a value as the file has it; one without a place is the first of its operator.
fn output_name(name: &str) -> String {
    if name.contains(':') || name.is_empty() { name.to_owned() } else { value(name, 0) }
}

/// The name of an operator's output.
fn value(operator: &str, output: usize) -> String {
    format!("{operator}:{output}")
}

impl<'b> Reader<'b, '_> {
    fn graph(
        &mut self,
        graph: Message<'b>,
        parent: Option<Parent<'_>>,
        depth: usize,
    ) -> Result<(), FormatError> {
        let mut fields = graph.fields();
        while let Some((field, message)) = fields.next() {
            // One that is cut off says too little of itself.
            if field == OPERATOR && fields.fault.is_none() {
                let operator = Operator::of(message.message(), self.dictionary);
                self.operator(&operator, parent.as_ref(), depth)?;
            }
        }
        if let Some(fault) = fields.fault {
            self.cut.push(format!("a graph is cut off: {fault}; the operators before were read"));
        }
        Ok(())
    }

    fn operator(
        &mut self,
        operator: &Operator<'b>,
        parent: Option<&Parent<'_>>,
        depth: usize,
    ) -> Result<(), FormatError> {
        match &*operator.op_type {
            "Data" | "AippData" | "AnnData" | "RefData" => self.input(operator, parent)?,
            "NetOutput" => self.outputs(operator, parent),
            // Between the parts into which the compiler cuts a graph.
            "PlaceHolder" if operator.inputs.is_empty() => self.place_holder(operator, parent)?,
            "End" => self.outputs(operator, parent),
            "Const" | "Constant" | "FileConstant" => self.constant(operator)?,
            _ => {
                let inputs = self.inputs(operator);
                if !operator.subgraphs.is_empty() && depth < MOST_DEPTH {
                    let is_tied = operator.op_type == "PartitionedCall" && operator.subgraphs.len() == 1;
                    if !is_tied {
                        self.node(operator, inputs.clone())?;
                    }
                    for name in &operator.subgraphs {
                        let Some(graph) = self.graphs.get(name).copied() else { continue };
                        if !self.entered.insert(name.clone()) {
                            continue;
                        }
                        if !is_tied {
                            self.unconnected.add(|| name.to_string());
                        }
                        let parent = Parent { name: &operator.name, inputs: &inputs, is_tied };
                        self.graph(graph, Some(parent), depth + 1)?;
                    }
                } else {
                    self.node(operator, inputs)?;
                }
            }
        }
        Ok(())
    }

    /// The values that an operator reads; −1 is an order without data.
    fn inputs(&self, operator: &Operator<'b>) -> Vec<String> {
        let data = operator.inputs.iter().filter(|input| !input.ends_with(":-1"));
        data.map(|input| output_name(input)).collect()
    }

    fn input(&mut self, operator: &Operator<'b>, parent: Option<&Parent<'_>>) -> Result<(), FormatError> {
        let name = value(&operator.name, 0);
        let described = operator.output_tensors.first().map(|tensor| Described::of(*tensor, self.dictionary));
        let index = operator.value("_parent_node_index", self.dictionary).and_then(|value| value.int());
        let index = index.and_then(|index| usize::try_from(index).ok());
        let given = |parent: &Parent<'_>| Some((parent.inputs.get(index?)?.clone(), parent.is_tied));
        match parent.and_then(given) {
            Some((given, true)) => self.assembly.alias(name, given),
            // A branch or a turn takes it in sizes of its own.
            Some((given, false)) => {
                if let Some(described) = &described {
                    self.assembly.declare(&name, &described.tensor);
                }
                self.assembly.helper(NodeProto {
                    name: Some(operator.name.to_string()),
                    op_type: Some("Data".to_owned()),
                    domain: Some(super::DOMAIN.to_owned()),
                    input: vec![given],
                    output: vec![name],
                    ..Default::default()
                })?;
            }
            None => self.assembly.input(&name, described.as_ref().map(|described| &described.tensor)),
        }
        Ok(())
    }

    /// A value of another part: a weight where it is a constant there.
    fn place_holder(
        &mut self,
        operator: &Operator<'b>,
        parent: Option<&Parent<'_>>,
    ) -> Result<(), FormatError> {
        let stands_for = operator.words("parentOpType", self.dictionary);
        match stands_for.first().map(String::as_str) {
            Some("Const" | "Constant") => self.constant(operator),
            _ => self.input(operator, parent),
        }
    }

    fn outputs(&mut self, operator: &Operator<'b>, parent: Option<&Parent<'_>>) {
        let tensors: Vec<Described> =
            operator.input_tensors.iter().map(|tensor| Described::of(*tensor, self.dictionary)).collect();
        for (place, input) in self.inputs(operator).into_iter().enumerate() {
            let described = tensors.get(place);
            match parent {
                None => self.assembly.output(&input, described.map(|described| &described.tensor)),
                Some(Parent { is_tied: false, .. }) => {}
                Some(parent) => {
                    let index = described.and_then(|described| described.parent_index);
                    let index = index.and_then(|index| usize::try_from(index).ok()).unwrap_or(place);
                    self.assembly.alias(value(parent.name, index), input);
                }
            }
        }
    }

    fn constant(&mut self, operator: &Operator<'b>) -> Result<(), FormatError> {
        self.assembly.count(1)?;
        let stored = operator.attributes.iter().find(|(name, _)| name == "value");
        let tensor = stored.and_then(|(_, attribute)| attribute.tensor());
        let described = tensor.map(|tensor| tensor.sub(1)).or(operator.output_tensors.first().copied());
        let Some(described) = described.map(|tensor| Described::of(tensor, self.dictionary)) else {
            return Ok(());
        };
        let name = value(&operator.name, 0);
        let dims = described.tensor.dims.clone().unwrap_or_default();
        let mut weight = assembly::weight(&name, described.tensor.data_type, &dims);
        let elements = crate::element_count(&weight.dims.iter().map(|&n| n as u64).collect::<Vec<_>>());
        let expected = elements.and_then(|elements| described.tensor.data_type.bytes(elements));
        if described.is_plain && expected.is_some() {
            let own = tensor.map(|tensor| tensor.sub(2)).filter(|data| !data.bytes.is_empty());
            let data = own.map(|data| data.bytes).or_else(|| {
                let (bytes, offset) = described.weight;
                let bytes = if bytes == 0 { expected? } else { bytes };
                let begin = usize::try_from(offset).ok()?;
                self.weights?.bytes.get(begin..begin.checked_add(usize::try_from(bytes).ok()?)?)
            });
            // Weights stay in the file; those that are padded or in a device's order have no data here.
            let data = data.filter(|data| !data.is_empty() && Some(data.len() as u64) == expected);
            weight.raw_data = data.map(|data| self.file.slice_ref(data));
        }
        self.assembly.weight(weight);
        Ok(())
    }

    fn node(&mut self, operator: &Operator<'b>, inputs: Vec<String>) -> Result<(), FormatError> {
        let mut attributes = self.attributes(operator);
        let mut formats = |name: &str, tensors: &[Message<'b>]| {
            let described: Vec<Described> =
                tensors.iter().map(|tensor| Described::of(*tensor, self.dictionary)).collect();
            if described.iter().any(Described::is_there) {
                attributes.push(assembly::strings(name, described.iter().map(|it| it.device.as_str())));
            }
            described
        };
        let inputs_described = formats("input_formats", &operator.input_tensors);
        let outputs = formats("output_formats", &operator.output_tensors);
        if inputs_described.iter().any(Described::is_there) {
            let layouts = inputs_described.iter().map(|it| it.layout.as_str());
            attributes.push(assembly::strings("input_layouts", layouts));
        }
        for (name, numbers) in [
            ("output_offsets", &operator.output_offsets),
            ("workspace_offsets", &operator.workspace_offsets),
            ("workspace_bytes", &operator.workspace_bytes),
        ] {
            if (1..=MOST_LISTED).contains(&numbers.len()) {
                attributes.push(assembly::ints(name, &numbers[..]));
            }
        }
        let workspace = operator.workspace_bytes.iter().filter_map(|bytes| u64::try_from(*bytes).ok());
        let workspace = workspace.fold(0, u64::saturating_add);
        if workspace > self.workspace.0 {
            self.workspace = (workspace, assembly::shortened(&operator.name));
        }
        let names: Vec<String> = (0..outputs.len()).map(|output| value(&operator.name, output)).collect();
        for (name, described) in names.iter().zip(&outputs) {
            if described.is_there() && !self.assembly.has(name) {
                self.assembly.declare(name, &described.tensor);
            }
        }
        let node = NodeProto {
            name: Some(operator.name.to_string()),
            op_type: Some(operator.op_type.to_string()),
            domain: Some(super::DOMAIN.to_owned()),
            input: inputs,
            output: names,
            attribute: attributes,
            ..Default::default()
        };
        let origin = self.origin(operator);
        self.assembly.node(node, origin)
    }

    /// The attributes of an operator that say how it computes; those that begin with an underscore and the like
    /// are the compiler's own.
    fn attributes(&self, operator: &Operator<'b>) -> Vec<AttributeProto> {
        let is_shown = |name: &str| {
            !name.starts_with('_')
                && !name.ends_with("_pattern")
                && !["tvm_", "tbe_", "op_para", "ub_atomic"].iter().any(|start| name.starts_with(start))
        };
        let shown = operator.attributes.iter().filter(|(name, _)| is_shown(name));
        shown.filter_map(|(name, attribute)| self.attribute(name, attribute)).collect()
    }

    fn attribute(&self, name: &str, attribute: &Attribute<'b>) -> Option<AttributeProto> {
        Some(match attribute.value(self.dictionary)? {
            AttributeValue::Text(text) if text.len() <= 1024 => assembly::string(name, &text),
            AttributeValue::Int(value) => assembly::int(name, value),
            AttributeValue::Float(value) => assembly::float(name, value),
            AttributeValue::Texts(texts) if texts.len() <= MOST_LISTED => assembly::strings(name, texts),
            AttributeValue::Ints(values) if values.len() <= MOST_LISTED => assembly::ints(name, values),
            AttributeValue::Floats(values) if values.len() <= MOST_LISTED => assembly::floats(name, values),
            _ => return None,
        })
    }

    /// The operators before the conversion that one stands for.
    fn origin(&self, operator: &Operator<'b>) -> Option<Origin> {
        let words = |name: &str| operator.words(name, self.dictionary);
        let names = words("_datadump_original_op_names");
        let names = if names.is_empty() { words("original_op_names") } else { names };
        let mut passes = words("pass_name");
        for pass in words("pass_name_ub") {
            if !passes.contains(&pass) {
                passes.push(pass);
            }
        }
        let engine = ["_ge_attr_op_kernel_lib_name", "_engine_type"]
            .iter()
            .find_map(|name| words(name).into_iter().next().filter(|word| !word.is_empty()));
        let mut names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let mut types = words("_datadump_original_op_types");
        let says_names = || operator.attributes.iter().any(|(name, _)| name == "_datadump_original_op_names");
        if self.written == Written::Dump && names.is_empty() && !says_names() {
            (names, types) = (vec![operator.name.to_string()], vec![operator.op_type.to_string()]);
        }
        let is_known = !names.is_empty() || !passes.is_empty() || engine.is_some();
        is_known.then_some(Origin { names, types, passes, engine })
    }
}
