//! Puts a graph together from the operators of a file: names made unique, values that nothing defines left out.

use std::collections::{HashMap, HashSet};

use opscope_trace::DataType;

use super::{FormatError, circles};
use crate::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
    data_type_to_onnx,
};
use crate::provenance::{Origin, Provenance};

/// The operators, values and weights that a file may have; more would take gigabytes of memory.
pub(crate) const MOST_PARTS: usize = 1 << 22;

/// The bytes of an operator's texts and lists that count as a further part.
const BYTES_OF_PART: usize = 256;

/// Losses of one kind that are told by their names.
const MOST_TOLD: usize = 3;

/// The version of ONNX's operators that readers map to.
pub(crate) const OPSET: i64 = 18;

/// A graph as it is put together.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    graph: GraphProto,
    node_names: HashSet<String>,
    defined: HashSet<String>,
    /// Other names of values, each with the one that it stands for.
    aliases: HashMap<String, String>,
    parts: usize,
    /// The number that names which stand twice get next.
    next: usize,
    renamed: Told,
    /// Values that operators of the file read.
    read: HashSet<String>,
    /// Operators that make a value of a name that another has.
    hidden: Vec<String>,
    pub provenance: Provenance,
}

/// Losses of one kind: how many, and the first by their names.
#[derive(Debug, Default)]
pub(crate) struct Told {
    count: usize,
    first: Vec<String>,
}

impl Told {
    pub fn add(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < MOST_TOLD {
            self.first.push(shortened(&name()));
        }
    }

    /// A sentence, if there is something to tell: the count and the names in the places of two `{}`. It stands in the
    /// code as a whole, so that readers of other languages get a text of it.
    pub fn sentence(&self, template: &str) -> Option<String> {
        let more = if self.count > self.first.len() { " …" } else { "" };
        let names = format!("{}{more}", self.first.join(", "));
        let with_count = template.replacen("{}", &self.count.to_string(), 1);
        (self.count > 0).then(|| with_count.replacen("{}", &names, 1))
    }
}

/// A name as it is told; some are a megabyte long.
pub(crate) fn shortened(name: &str) -> String {
    match name.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

impl Assembly {
    pub fn new(name: &str) -> Self {
        let graph = GraphProto { name: Some(name.to_owned()), ..Default::default() };
        Self { graph, ..Default::default() }
    }

    /// Counts parts of the graph.
    ///
    /// # Errors
    /// When there are more than any model has.
    pub fn count(&mut self, parts: usize) -> Result<(), FormatError> {
        self.parts = self.parts.saturating_add(parts);
        match self.parts > MOST_PARTS {
            true => Err(FormatError::Whole(format!(
                "it has more than {MOST_PARTS} operators, values and weights, which no real model has"
            ))),
            false => Ok(()),
        }
    }

    /// Adds an operator, under another name where an operator had it before.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn node(&mut self, mut node: NodeProto, origin: Option<Origin>) -> Result<(), FormatError> {
        let length = |words: &[String]| words.iter().map(String::len).sum::<usize>();
        let words =
            origin.as_ref().map_or(0, |it| length(&it.names) + length(&it.types) + length(&it.passes));
        let bytes = prost::Message::encoded_len(&node).saturating_add(words);
        self.count(1 + node.input.len() + node.output.len() + node.attribute.len() + bytes / BYTES_OF_PART)?;
        let name = self.unique(node.name().to_owned());
        for output in &mut node.output {
            if !output.is_empty() && !self.defined.insert(output.clone()) {
                self.renamed.add(|| output.clone());
                output.clear();
                // Whoever reads the name is given another's value.
                self.hidden.push(name.clone());
            }
        }
        if let Some(origin) = origin {
            self.provenance.origins.insert(name.clone(), origin);
        }
        node.name = Some(name);
        self.graph.node.push(node);
        Ok(())
    }

    /// Adds an operator that the file doesn't have, which makes others mean what ONNX's do.
    ///
    /// # Errors
    /// When the graph becomes too large.
    pub fn helper(&mut self, node: NodeProto) -> Result<(), FormatError> {
        self.node(node, None)?;
        let added = self.graph.node.last().map(|node| node.name().to_owned());
        self.provenance.helpers.extend(added);
        Ok(())
    }

    fn unique(&mut self, name: String) -> String {
        if !name.is_empty() && self.node_names.insert(name.clone()) {
            return name;
        }
        if name.is_empty() {
            return name;
        }
        self.renamed.add(|| name.clone());
        // A number is never tried again, so that all searches together end soon.
        let mut number = self.next.max(self.graph.node.len());
        loop {
            let other = format!("{name}#{number}");
            self.next = number + 1;
            if self.node_names.insert(other.clone()) {
                return other;
            }
            number += 1;
        }
    }

    /// Whether a value of this name is defined.
    pub fn has(&self, value: &str) -> bool {
        self.defined.contains(value)
    }

    /// Adds an input of the graph; a second one of the name is left out.
    pub fn input(&mut self, name: &str, tensor: Option<&Tensor>) {
        if self.defined.insert(name.to_owned()) {
            self.graph.input.push(declaration(name, tensor));
        }
    }

    /// Adds an output of the graph.
    pub fn output(&mut self, name: &str, tensor: Option<&Tensor>) {
        self.graph.output.push(declaration(name, tensor));
    }

    /// States the name by which the file offers an output.
    pub fn name_output(&mut self, output: &str, stated: &str) {
        if !stated.is_empty() && stated != output {
            self.provenance.output_names.insert(output.to_owned(), stated.to_owned());
        }
    }

    /// The names of the outputs so far.
    pub fn outputs(&self) -> Vec<String> {
        self.graph.output.iter().map(|output| output.name().to_owned()).collect()
    }

    /// Whether the graph has outputs so far.
    pub fn has_outputs(&self) -> bool {
        !self.graph.output.is_empty()
    }

    /// Declares the type of a value.
    pub fn declare(&mut self, name: &str, tensor: &Tensor) {
        self.graph.value_info.push(declaration(name, Some(tensor)));
    }

    /// Adds a stored tensor; a second one of the name is left out.
    pub fn weight(&mut self, tensor: TensorProto) {
        if self.defined.insert(tensor.name().to_owned()) {
            self.graph.initializer.push(tensor);
        }
    }

    /// Adds a stored tensor that the file doesn't have, which makes operators mean what ONNX's do.
    pub fn made_value(&mut self, tensor: TensorProto) {
        self.provenance.made_values.insert(tensor.name().to_owned());
        self.weight(tensor);
    }

    /// Notes that an operator of the file reads a value, whether or not the one that it becomes does.
    pub fn reads(&mut self, value: &str) {
        if !self.read.contains(value) {
            self.read.insert(value.to_owned());
        }
    }

    /// The operators whose results only operators of the file read, and none that those became.
    fn unread(&self) -> HashSet<String> {
        if self.read.is_empty() {
            return HashSet::new();
        }
        let nodes = &self.graph.node;
        let mut makers: HashMap<&str, usize> = HashMap::new();
        let mut readers: HashMap<&str, usize> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            let named = node.output.iter().filter(|output| !output.is_empty());
            makers.extend(named.map(|output| (output.as_str(), place)));
            let named = node.input.iter().filter(|input| !input.is_empty());
            named.for_each(|input| *readers.entry(input).or_default() += 1);
        }
        self.graph.output.iter().for_each(|output| *readers.entry(output.name()).or_default() += 1);
        let is_read =
            |readers: &HashMap<&str, usize>, value: &str| readers.get(value).is_some_and(|it| *it > 0);
        let values = self.read.iter().filter_map(|value| makers.get(value.as_str()).copied());
        let mut waiting: Vec<usize> = values.collect();
        let mut unread = HashSet::new();
        while let Some(place) = waiting.pop() {
            let node = &nodes[place];
            let is_one = !node.output.iter().any(|output| is_read(&readers, output));
            if !is_one || !unread.insert(place) {
                continue;
            }
            for input in &node.input {
                readers.entry(input).and_modify(|count| *count -= 1);
                waiting.extend(makers.get(input.as_str()));
            }
        }
        unread.into_iter().map(|place| nodes[place].name().to_owned()).collect()
    }

    /// Has one name stand for another value.
    pub fn alias(&mut self, name: String, value: String) {
        if name != value {
            self.aliases.insert(name, value);
        }
    }

    /// The value that a name stands for in the end. Names that stand for one another in a circle stand for nothing.
    fn resolved(&self, name: &str) -> Option<String> {
        let mut at = name;
        for _ in 0..64 {
            match self.aliases.get(at) {
                Some(next) => at = next,
                None => return Some(at.to_owned()),
            }
        }
        None
    }

    /// The model, with the domains of its operators.
    pub fn finish(mut self, domains: &[(&str, i64)]) -> (ModelProto, Provenance) {
        let mut dangling = Told::default();
        let mut nodes = std::mem::take(&mut self.graph.node);
        for node in &mut nodes {
            for input in &mut node.input {
                if input.is_empty() || (self.aliases.is_empty() && self.defined.contains(input)) {
                    continue;
                }
                match self.resolved(input).filter(|value| self.defined.contains(value)) {
                    Some(value) => *input = value,
                    None => {
                        let reader = node.name.as_deref().unwrap_or_default();
                        dangling.add(|| format!("{} of {}", shortened(input), shortened(reader)));
                        input.clear();
                    }
                }
            }
        }
        // Who lost a value reads it in the file.
        let closing = circles::open(&mut nodes, |value| {
            self.read.insert(value);
        });
        self.graph.node = nodes;
        let mut listed = HashSet::new();
        let outputs = std::mem::take(&mut self.graph.output);
        for mut output in outputs {
            let Some(value) = self.resolved(output.name()).filter(|value| self.defined.contains(value))
            else {
                dangling.add(|| format!("the model's output {}", shortened(output.name())));
                continue;
            };
            if listed.insert(value.clone()) {
                let names = &mut self.provenance.output_names;
                if let Some(stated) = names.remove(output.name()).filter(|stated| *stated != value) {
                    names.insert(value.clone(), stated);
                }
                output.name = Some(value);
                self.graph.output.push(output);
            }
        }
        let unread = self.unread();
        self.provenance.unread.extend(unread.into_iter().chain(self.hidden));
        let losses = &mut self.provenance.losses;
        losses.extend(
            dangling.sentence("{} of the inputs are computed by nothing in the file and were left out: {}"),
        );
        losses.extend(closing.sentence(
            "{} of the inputs close circles of operators that wait for one another, and were left out: {}",
        ));
        losses.extend(
            self.renamed.sentence("{} of the names stood twice in the file and were changed or left out: {}"),
        );
        let opset_import = domains
            .iter()
            .map(|(domain, version)| OperatorSetIdProto {
                domain: Some((*domain).to_owned()),
                version: Some(*version),
            })
            .collect();
        let proto = ModelProto { graph: Some(self.graph), opset_import, ..Default::default() };
        (proto, self.provenance)
    }
}

/// The type of a tensor as a file states it; a size of −1 is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub data_type: DataType,
    /// `None` where not even the number of dimensions is stated.
    pub dims: Option<Vec<i64>>,
}

fn declaration(name: &str, tensor: Option<&Tensor>) -> ValueInfoProto {
    let dim = |&size: &i64| Dimension {
        value: (size >= 0).then_some(DimensionValue::Value(size)),
        denotation: None,
    };
    let value = tensor.map(|tensor| TypeProto {
        value: Some(TypeValue::Tensor(TensorType {
            elem_type: Some(data_type_to_onnx(tensor.data_type)),
            shape: tensor.dims.as_ref().map(|dims| TensorShapeProto { dim: dims.iter().map(dim).collect() }),
        })),
        denotation: None,
    });
    ValueInfoProto { name: Some(name.to_owned()), r#type: value, ..Default::default() }
}

/// An attribute, of which [`ints`] and the like set the value.
fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.to_owned()), r#type: Some(kind as i32), ..Default::default() }
}

pub(crate) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, AttributeType::Int) }
}

pub(crate) fn ints(name: &str, values: impl Into<Vec<i64>>) -> AttributeProto {
    AttributeProto { ints: values.into(), ..attribute(name, AttributeType::Ints) }
}

pub(crate) fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..attribute(name, AttributeType::Float) }
}

pub(crate) fn floats(name: &str, values: impl Into<Vec<f32>>) -> AttributeProto {
    AttributeProto { floats: values.into(), ..attribute(name, AttributeType::Floats) }
}

pub(crate) fn string(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.as_bytes().to_vec().into()), ..attribute(name, AttributeType::String) }
}

pub(crate) fn strings<S: AsRef<str>>(name: &str, values: impl IntoIterator<Item = S>) -> AttributeProto {
    let strings = values.into_iter().map(|value| value.as_ref().as_bytes().to_vec().into()).collect();
    AttributeProto { strings, ..attribute(name, AttributeType::Strings) }
}

/// A stored tensor without its data; files of other formats keep those in an order of their own.
pub(crate) fn weight(name: &str, data_type: DataType, dims: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(data_type_to_onnx(data_type)),
        dims: dims.iter().map(|&size| size.max(0)).collect(),
        ..Default::default()
    }
}

/// A stored number of single precision.
pub(crate) fn number(name: &str, value: f32) -> TensorProto {
    TensorProto { float_data: vec![value], ..weight(name, DataType::Float32, &[]) }
}

/// A stored list of integers.
pub(crate) fn list(name: &str, values: &[i64]) -> TensorProto {
    let stored = weight(name, DataType::Int64, &[values.len() as i64]);
    TensorProto { int64_data: values.to_vec(), ..stored }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
        NodeProto { name: Some(name.to_owned()), ..crate::testing::node("x:Op", inputs, outputs) }
    }

    #[test]
    fn aliases_lead_to_values_and_circles_to_nothing() {
        let mut assembly = Assembly::new("g");
        assembly.input("x", None);
        assembly.alias("b".into(), "a".into());
        assembly.alias("a".into(), "x".into());
        assembly.alias("c".into(), "d".into());
        assembly.alias("d".into(), "c".into());
        assembly.node(node("n", &["b", "c", "gone", ""], &["y"]), None).unwrap();
        assembly.node(node("n", &["y"], &["y"]), None).unwrap();
        assembly.output("y", None);
        assembly.output("never", None);
        let (proto, provenance) = assembly.finish(&[("x", 1)]);
        let graph = proto.graph.unwrap();
        assert_eq!(graph.node[0].input, ["x", "", "", ""]);
        assert_eq!((graph.node[1].name(), &*graph.node[1].output[0]), ("n#1", ""));
        assert_eq!(graph.output.len(), 1);
        assert!(provenance.losses[0].contains("3 of the inputs"), "{:?}", provenance.losses);
        assert!(provenance.losses[1].contains("2 of the names stood twice"), "{:?}", provenance.losses);
        assert!(provenance.unread.contains("n#1"), "its reader is given the value of the first");
    }

    #[test]
    fn whoever_only_an_input_that_closes_a_circle_needs_is_read_in_the_file() {
        let mut assembly = Assembly::new("g");
        assembly.input("x", None);
        for (name, inputs) in
            [("a", &["x", "b"][..]), ("b", &["a"][..]), ("nobody", &["x"][..]), ("out", &["x"][..])]
        {
            assembly.node(node(name, inputs, &[name]), None).unwrap();
        }
        assembly.output("out", None);
        let (_, provenance) = assembly.finish(&[("x", 1)]);
        assert!(provenance.losses[0].contains("b of a"), "{:?}", provenance.losses);
        let unread = ["a", "b", "nobody", "out"].map(|name| provenance.unread.contains(name));
        assert_eq!(unread, [true, true, false, false]);
    }

    #[test]
    fn long_names_are_told_in_short() {
        let told = shortened(&"ä".repeat(1 << 20));
        assert_eq!(told.chars().count(), 101);
    }
}
