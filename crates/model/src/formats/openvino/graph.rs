//! Puts the graph together: values for the ports of layers, constants as weights, layers as operators.
//!
//! The graphs of conditions and loops are added beside the layer that runs them, their layers under its name, the
//! branch (`then`, `else`) and their own, with slashes between.

use std::collections::{HashMap, HashSet};

use super::super::FormatError;
use super::super::assembly::{self, Assembly, Tensor, Told};
use super::document::{Body, Edge, Graph, Layer, Port, listed};
use super::layer::{Made, Site};
use super::map;
use super::weights::{Constant, Weights};
use crate::proto::{AttributeProto, NodeProto, TensorProto};
use crate::provenance::Origin;

/// Attributes of a layer that are kept.
const MOST_ATTRIBUTES: usize = 64;

/// The bytes of names that count as a further part of the graph; each stands in several places.
const BYTES_OF_PART: usize = 64;

/// Letters of an attribute that is kept.
const MOST_LETTERS: usize = 1024;

/// A model as its graph is put together.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub assembly: Assembly,
    pub weights: Weights,
    layer_names: HashSet<String>,
    values: HashSet<String>,
    /// The number that values whose names are taken get next.
    next: usize,
    renamed: Told,
    unconnected: Told,
    repeated_ids: Told,
    outside: Told,
    pub layers: usize,
}

/// An output of a layer, by the places of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub layer: usize,
    pub output: usize,
}

/// A graph with the names of its values.
pub(super) struct Plan<'g, 'x> {
    pub graph: &'g Graph<'x>,
    names: Vec<String>,
    /// The values of each layer's outputs.
    pub values: Vec<Vec<String>>,
    /// The outputs that the inputs of layers read.
    pub sources: HashMap<(usize, usize), Source>,
    pub used: HashSet<Source>,
    /// The constants that became weights.
    stored: HashSet<usize>,
    /// Constants whose data aren't where they should be.
    outside: HashSet<usize>,
}

impl Plan<'_, '_> {
    pub fn name(&self, layer: usize) -> &str {
        &self.names[layer]
    }

    fn port(&self, source: Source) -> Option<&Port> {
        self.graph.layers[source.layer].outputs.get(source.output)
    }

    /// The type of an input: that of the output which it reads, else its own.
    pub fn input(&self, layer: usize, input: usize) -> Option<&Port> {
        let source = self.sources.get(&(layer, input)).and_then(|source| self.port(*source));
        source.or(self.graph.layers[layer].inputs.get(input))
    }
}

impl Reader {
    pub fn new(name: &str) -> Self {
        Self { assembly: Assembly::new(name), ..Self::default() }
    }

    /// Adds a graph: that of the model, or with a prefix the one that a layer runs, some of whose inputs are values
    /// that it is given.
    ///
    /// # Errors
    /// When the model becomes too large.
    pub fn graph(
        &mut self,
        graph: &Graph<'_>,
        prefix: &str,
        given: &HashMap<u64, (String, bool)>,
    ) -> Result<(), FormatError> {
        let mut plan = self.plan(graph, prefix)?;
        for (place, layer) in graph.layers.iter().enumerate() {
            self.layers += 1;
            match &*layer.op_type {
                // Stored when something reads it.
                "Const" => {}
                "Parameter" => self.parameter(&plan, place, given)?,
                "Result" => self.result(&mut plan, place, prefix.is_empty()),
                _ => self.operator(&mut plan, place)?,
            }
            for body in &layer.bodies {
                let given = self.given(&mut plan, place, body);
                let branch = if body.name.is_empty() { String::new() } else { format!("{}/", body.name) };
                let prefix = format!("{}/{branch}", plan.name(place));
                self.graph(&body.graph, &prefix, &given)?;
            }
        }
        Ok(())
    }

    /// Names the layers and values of a graph, and finds what reads what.
    fn plan<'g, 'x>(&mut self, graph: &'g Graph<'x>, prefix: &str) -> Result<Plan<'g, 'x>, FormatError> {
        let mut by_id = HashMap::new();
        // Numbers by which edges lead to another layer, or which lack an end.
        let mut doubtful: HashSet<u64> = HashSet::new();
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (place, layer) in graph.layers.iter().enumerate() {
            if by_id.insert(layer.id, place).is_some() {
                self.repeated_ids.add(|| layer.id.to_string());
                doubtful.insert(layer.id);
            }
            // Within graphs of layers with long names, names of few letters are long as well.
            let words = (prefix.len() + layer.name.len()) * (1 + layer.outputs.len()) / BYTES_OF_PART;
            self.assembly.count(1 + layer.inputs.len() + layer.outputs.len() + words)?;
            let name = self.layer_name(layer, prefix);
            let named = |output: usize| match layer.outputs.len() {
                1 => name.clone(),
                _ => format!("{name}:{output}"),
            };
            values.push((0..layer.outputs.len()).map(|output| self.fresh(named(output))).collect());
            names.push(name);
        }
        let mut plan = Plan {
            graph,
            names,
            values,
            sources: HashMap::new(),
            used: HashSet::new(),
            stored: HashSet::new(),
            outside: HashSet::new(),
        };
        let mut inputs: HashMap<(usize, u64), usize> = HashMap::new();
        let mut outputs = inputs.clone();
        for (place, layer) in graph.layers.iter().enumerate() {
            inputs.extend(layer.inputs.iter().enumerate().map(|(at, port)| ((place, port.id), at)));
            outputs.extend(layer.outputs.iter().enumerate().map(|(at, port)| ((place, port.id), at)));
        }
        self.assembly.count(graph.edges.len())?;
        for Edge { from, to } in &graph.edges {
            let at = |end: &(u64, u64), ports: &HashMap<(usize, u64), usize>| {
                let layer = *by_id.get(&end.0)?;
                Some((layer, *ports.get(&(layer, end.1))?))
            };
            match at(from, &outputs).zip(at(to, &inputs)) {
                Some(((layer, output), to)) => {
                    let source = Source { layer, output };
                    plan.sources.insert(to, source);
                    plan.used.insert(source);
                }
                None => {
                    self.unconnected.add(|| format!("{}:{} to {}:{}", from.0, from.1, to.0, to.1));
                    doubtful.insert(from.0);
                }
            }
        }
        // Somebody may read what these make.
        let layers = graph.layers.iter().zip(&plan.values).filter(|(layer, _)| doubtful.contains(&layer.id));
        layers.flat_map(|(_, values)| values).for_each(|value| self.assembly.reads(value));
        Ok(plan)
    }

    /// A name that no other layer has.
    fn layer_name(&mut self, layer: &Layer<'_>, prefix: &str) -> String {
        let own = format!("{prefix}{}", layer.name);
        if !layer.name.is_empty() && self.layer_names.insert(own.clone()) {
            return own;
        }
        if !layer.name.is_empty() {
            self.renamed.add(|| own.clone());
        }
        let stem = if layer.name.is_empty() { format!("{prefix}{}", layer.op_type) } else { own };
        self.numbered(&stem, |reader, name| reader.layer_names.insert(name.to_owned()))
    }

    /// A name that no other value has.
    pub fn fresh(&mut self, name: String) -> String {
        if self.values.insert(name.clone()) {
            return name;
        }
        self.numbered(&name, |reader, name| reader.values.insert(name.to_owned()))
    }

    /// A name with a number behind it. No number is tried twice, so that all searches together end soon.
    fn numbered(&mut self, stem: &str, mut is_free: impl FnMut(&mut Self, &str) -> bool) -> String {
        loop {
            self.next += 1;
            let name = format!("{stem}#{}", self.next);
            if is_free(self, &name) {
                return name;
            }
        }
    }

    /// An input of the model, or of a graph within it.
    fn parameter(
        &mut self,
        plan: &Plan<'_, '_>,
        place: usize,
        given: &HashMap<u64, (String, bool)>,
    ) -> Result<(), FormatError> {
        let layer = &plan.graph.layers[place];
        let Some((value, port)) = plan.values[place].first().zip(layer.outputs.first()) else {
            return Ok(());
        };
        match given.get(&layer.id) {
            None => self.assembly.input(value, Some(&tensor(port))),
            Some((source, false)) => self.assembly.alias(value.clone(), source.clone()),
            // One slice after the other: a value of its own.
            Some((source, true)) => {
                self.assembly.declare(value, &tensor(port));
                let node = NodeProto {
                    name: Some(plan.name(place).to_owned()),
                    op_type: Some("Parameter".to_owned()),
                    domain: Some(super::DOMAIN.to_owned()),
                    input: vec![source.clone()],
                    output: vec![value.clone()],
                    ..Default::default()
                };
                self.assembly.node(node, None)?;
            }
        }
        Ok(())
    }

    /// An output of the model. Those of graphs within it are outputs of the layers that run these.
    fn result(&mut self, plan: &mut Plan<'_, '_>, place: usize, is_outermost: bool) {
        if let Some(source) = plan.sources.get(&(place, 0)).copied().filter(|_| is_outermost) {
            let value = self.value(plan, source);
            let tensor = plan.port(source).map(tensor);
            self.assembly.output(&value, tensor.as_ref());
            let layer = &plan.graph.layers[place];
            let of_port = plan.port(source).map(|port| port.names.as_str()).unwrap_or_default();
            let stated = [&*layer.result_names, of_port].into_iter().flat_map(listed).next();
            self.assembly.name_output(&value, &stated.unwrap_or_default());
        }
    }

    /// The values that the inputs of a graph get from the layer that runs it, by their ids. All others are values of
    /// their own, such as those that are handed from one turn of a loop to the next.
    fn given(
        &mut self,
        plan: &mut Plan<'_, '_>,
        place: usize,
        body: &Body<'_>,
    ) -> HashMap<u64, (String, bool)> {
        let ports: HashMap<u64, usize> = plan.graph.layers[place]
            .inputs
            .iter()
            .enumerate()
            .map(|(input, port)| (port.id, input))
            .collect();
        let mut given: HashMap<u64, (String, bool)> = HashMap::new();
        for layer in body.graph.layers.iter().filter(|layer| layer.op_type == "Parameter") {
            given.insert(layer.id, (String::new(), true));
        }
        for map in &body.given {
            let source = ports.get(&map.port).and_then(|input| plan.sources.get(&(place, *input)).copied());
            if let (Some(source), Some(known)) = (source, given.get_mut(&map.layer)) {
                *known = (self.value(plan, source), map.is_sliced);
            }
        }
        given
    }

    /// The value of an output; that of a constant is stored now.
    pub fn value(&mut self, plan: &mut Plan<'_, '_>, source: Source) -> String {
        let value = plan.values[source.layer][source.output].clone();
        if plan.graph.layers[source.layer].op_type == "Const" && plan.stored.insert(source.layer) {
            let Constant { tensor, .. } = self.constant(plan, source);
            self.assembly.weight(TensorProto { name: Some(value.clone()), ..tensor });
        }
        value
    }

    /// The constant that an output is.
    pub fn constant(&mut self, plan: &mut Plan<'_, '_>, source: Source) -> Constant {
        let layer = &plan.graph.layers[source.layer];
        let port = plan.port(source);
        let stated = layer.data.get("element_type").map(|word| opscope_openvino_xml::data_type(&word));
        let data_type = stated.or(port.map(|port| port.data_type)).unwrap_or_default();
        let dims = port.and_then(|port| port.dims.clone()).unwrap_or_default();
        let constant = self.weights.constant(layer, data_type, &dims);
        if constant.is_outside && plan.outside.insert(source.layer) {
            self.outside.add(|| plan.name(source.layer).to_owned());
        }
        constant
    }

    fn operator(&mut self, plan: &mut Plan<'_, '_>, place: usize) -> Result<(), FormatError> {
        let mut site = Site::new(self, plan, place);
        let made = match map::made(&mut site) {
            Some(made) => made,
            None => {
                site.helpers.clear();
                let layer = site.layer();
                let made = Made::new(&layer.op_type, site.values()).in_domain(super::DOMAIN);
                made.with(attributes(layer))
            }
        };
        let helpers = std::mem::take(&mut site.helpers);
        for helper in helpers {
            self.assembly.helper(helper)?;
        }
        self.add(plan, place, made)
    }

    fn add(&mut self, plan: &Plan<'_, '_>, place: usize, made: Made) -> Result<(), FormatError> {
        let layer = &plan.graph.layers[place];
        let name = plan.name(place);
        let mut outputs = Vec::new();
        let mut casts = Vec::new();
        for (output, (value, port)) in plan.values[place].iter().zip(&layer.outputs).enumerate() {
            let is_used = plan.used.contains(&Source { layer: place, output });
            if made.is_optional(output) && !is_used {
                break;
            }
            self.assembly.declare(value, &tensor(port));
            if made.is_int64_in_onnx(output) && port.data_type == opscope_trace::DataType::Int32 {
                let wide = self.fresh(format!("{name}:int64"));
                casts.push(NodeProto {
                    name: Some(format!("{name}:cast")),
                    op_type: Some("Cast".to_owned()),
                    input: vec![wide.clone()],
                    output: vec![value.clone()],
                    attribute: vec![assembly::int("to", 6)],
                    ..Default::default()
                });
                outputs.push(wide);
            } else {
                outputs.push(value.clone());
            }
        }
        let origins = layer.origin_names();
        let origin = (!origins.is_empty()).then(|| Origin { names: origins, ..Origin::default() });
        let node = NodeProto {
            name: Some(name.to_owned()),
            op_type: Some(made.op_type),
            domain: (!made.domain.is_empty()).then(|| made.domain.to_owned()),
            input: made.inputs,
            output: outputs,
            attribute: made.attributes,
            ..Default::default()
        };
        self.assembly.node(node, origin)?;
        casts.into_iter().try_for_each(|cast| self.assembly.helper(cast))
    }

    /// Sentences about what doesn't fit together.
    pub fn losses(&self) -> Vec<String> {
        let told = [
            self.outside.sentence(
                "{} of the constants lie outside of the .bin file or have another length than their sizes need, as when \
                 it is that of another model or cut off: {}",
            ),
            self.renamed.sentence("{} of the layers have the name of another and got one of their own: {}"),
            self.repeated_ids
                .sentence("{} of the layers have the number of another; edges lead to the last of them: {}"),
            self.unconnected.sentence("{} of the edges lead from or to nothing: {}"),
        ];
        told.into_iter().flatten().collect()
    }
}

/// The type of a port.
pub(super) fn tensor(port: &Port) -> Tensor {
    Tensor { data_type: port.data_type, dims: port.dims.clone() }
}

/// The data of a layer as attributes.
fn attributes(layer: &Layer<'_>) -> Vec<AttributeProto> {
    let texts = layer.data.texts().filter(|(_, text)| text.len() <= MOST_LETTERS).take(MOST_ATTRIBUTES);
    texts.map(|(name, text)| attribute(&name, text.trim())).collect()
}

/// An attribute of the simplest type that its text has.
fn attribute(name: &str, text: &str) -> AttributeProto {
    let parts = || text.split(',').map(str::trim);
    if let Ok(number) = text.parse() {
        return assembly::int(name, number);
    }
    // Words such as `nan` and `inf` are none of numbers here.
    let is_number = |text: &str| text.ends_with(|last: char| last.is_ascii_digit() || last == '.');
    let float = |text: &str| text.parse::<f32>().ok().filter(|_| is_number(text));
    if let Some(number) = float(text) {
        return assembly::float(name, number);
    }
    if let Ok(numbers) = parts().map(str::parse).collect::<Result<Vec<i64>, _>>() {
        return assembly::ints(name, numbers);
    }
    match parts().map(float).collect::<Option<Vec<f32>>>() {
        Some(numbers) => assembly::floats(name, numbers),
        None => assembly::string(name, text),
    }
}
