//! Models of TensorFlow Lite (`.tflite`): FlatBuffers by the public `schema.fbs`.
//!
//! The first subgraph is the model; others are run by its operators, or are further entrances, and are counted only.
//! Every tensor's type and sizes are declared as the file has them, so that a mistake here or in the inference of
//! shapes shows as a contradiction.

mod constants;
mod map;
mod network;
mod operators;
mod order;
mod schema;

use bytes::Bytes;

use super::FormatError;
use super::assembly::{Told, shortened};
use super::flatbuffer::{File, Table};
use crate::model_kind::ModelKind;
use crate::provenance::{Provenance, ReadModel, Stated, StatedValue};
use network::{Network, Operator};
use schema::{Options, Tensor, operator_types};

/// The domain of operators that ONNX has none for.
pub(crate) const DOMAIN: &str = "tflite";

/// The version of ONNX's operators: the first that quantizes to 16 bits.
const OPSET: i64 = 21;

/// Whether a file begins as a model does.
pub(crate) fn is_one(head: &[u8]) -> bool {
    head.get(4..8) == Some(b"TFL3")
}

/// Reads a model.
///
/// # Errors
/// When it has no operators that can be read.
pub(crate) fn read(bytes: &Bytes) -> Result<ReadModel, FormatError> {
    let file = File::new(bytes);
    let nothing = |what: &str| match file.faults() {
        (0, _) => FormatError::Whole(format!("it has no {what}")),
        (_, first) => FormatError::at(
            first,
            format!("the file is damaged or cut off: it has no {what} that can be read"),
        ),
    };
    let model = file.root().ok_or_else(|| nothing("root table"))?;
    let graphs = model.tables(2);
    let count = graphs.len();
    let graph = graphs.flatten().next().ok_or_else(|| nothing("subgraph"))?;
    let net = Reading { file: &file, model, graph }.network(bytes)?;
    let Some(mut net) = net else { return Err(nothing("operators")) };
    let mut provenance = std::mem::take(&mut net.assembly.provenance);
    state(&model, count, &mut provenance);
    provenance.state("operators", "operators", StatedValue::Count(graph.tables(3).len() as u64));
    provenance.state_text("open sizes", "open_sizes", net.open_inputs());
    let quantized = net.tensors.iter().filter(|tensor| tensor.is_quantized()).count();
    for (title, key, count) in [
        ("quantized", "quantized_tensors", quantized),
        ("states", "state_tensors", net.states),
        ("reordered", "inserted_transposes", net.transposes),
    ] {
        if count > 0 {
            provenance.state(title, key, StatedValue::Count(count as u64));
        }
    }
    net.tell();
    provenance.losses.append(&mut net.assembly.provenance.losses);
    if let (faults @ 1.., first) = file.faults() {
        provenance.losses.push(format!(
            "the file is damaged or cut off: {faults} of its offsets and lengths lead out of it, the first at offset \
             {first}"
        ));
    }
    if count > 1 {
        provenance.losses.push(format!(
            "{} more subgraphs, which operators run or which are further entrances, are not part of the graph",
            count - 1
        ));
    }
    net.assembly.provenance = provenance;
    let (mut proto, mut provenance) = net.assembly.finish(&[("", OPSET), (DOMAIN, 1)]);
    let name = graph.text(4);
    if !name.is_empty() {
        proto.graph.get_or_insert_default().name = Some(shortened(&name));
        let value = StatedValue::Text(shortened(&name));
        provenance.stated.insert(0, Stated { title: "name", key: "name", value });
    }
    Ok(ReadModel { kind: ModelKind::TfLite, proto, provenance })
}

/// Facts of the whole file.
fn state(model: &Table<'_>, subgraphs: usize, provenance: &mut Provenance) {
    /// Names of one kind that are told.
    const MOST_NAMES: usize = 8;
    let names = |field, name: usize| {
        let all = model.tables(field);
        let more = if all.len() > MOST_NAMES { ", …" } else { "" };
        let named = all.take(MOST_NAMES).flatten().map(|table| shortened(&table.text(name)));
        let named = named.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
        format!("{named}{more}")
    };
    provenance.state("version", "version", StatedValue::Count(model.u32(0).into()));
    provenance.state_text("description", "description", shortened(&model.text(3)));
    let runtime =
        model.tables(6).take(MOST_NAMES).flatten().find(|entry| entry.text(0) == "min_runtime_version");
    if let Some(buffer) = runtime.and_then(|entry| model.table_of(4, entry.u32(1) as usize)) {
        // A text of a fixed length, filled up with zeros.
        let text = buffer.text(0);
        provenance.state_text(
            "runtime",
            "min_runtime_version",
            shortened(text.trim_end_matches('\0').trim()),
        );
    }
    provenance.state_text("metadata", "metadata", names(6, 0));
    provenance.state_text("signatures", "signatures", names(7, 2));
    provenance.state("subgraphs", "subgraphs", StatedValue::Count(subgraphs as u64));
}

/// A model's subgraph as it is read.
struct Reading<'b> {
    file: &'b File<'b>,
    model: Table<'b>,
    graph: Table<'b>,
}

impl<'b> Reading<'b> {
    /// The graph; `None` where it has no operators.
    fn network(&self, bytes: &'b Bytes) -> Result<Option<Network<'b>>, FormatError> {
        let mut net = Network::new(&shortened(&self.graph.text(4)), bytes, self.tensors()?);
        let mut types = Vec::new();
        for op_type in operator_types(&self.model) {
            net.assembly.count(1 + op_type.len() / network::LETTERS_OF_PART)?;
            types.push(op_type);
        }
        let (inputs, outputs) = (self.bound(&net, 1), self.bound(&net, 2));
        for tensor in inputs.iter().chain(&outputs) {
            net.bind(*tensor);
        }
        for tensor in &inputs {
            net.input(*tensor);
        }
        let mut unreadable = Told::default();
        let mut count = 0usize;
        for (number, table) in self.graph.tables(3).enumerate() {
            net.assembly.count(1)?;
            match table {
                Some(table) => {
                    let op = self.operator(&mut net, &table, number, &types)?;
                    op.inputs.iter().flatten().for_each(|input| net.is_read(*input));
                    map::operator(&mut net, &op)?;
                    count += 1;
                }
                None => unreadable.add(|| format!("number {number}")),
            }
        }
        for tensor in outputs {
            net.output(tensor)?;
        }
        let losses = &mut net.assembly.provenance.losses;
        losses.extend(unreadable.sentence("{} of the operators cannot be read: {}"));
        Ok((count > 0).then_some(net))
    }

    fn tensors(&self) -> Result<Vec<Tensor<'b>>, FormatError> {
        // Tables may be one and the same, so that what is made of them is more than the file.
        let mut counted = super::assembly::Assembly::default();
        let mut tensors = Vec::new();
        for table in self.graph.tables(0) {
            let tensor = match table {
                Some(table) => Tensor::of(&table, &self.model, self.file),
                None => Tensor::default(),
            };
            counted.count(1 + tensor.name.len() / network::LETTERS_OF_PART)?;
            tensors.push(tensor);
        }
        Ok(tensors)
    }

    /// The inputs or outputs of the graph, each once.
    fn bound(&self, net: &Network, field: usize) -> Vec<usize> {
        let mut seen = std::collections::HashSet::new();
        let tensors = self.graph.i32s(field).filter_map(|number| usize::try_from(number).ok());
        tensors.filter(|tensor| *tensor < net.tensors.len() && seen.insert(*tensor)).collect()
    }

    fn operator(
        &self,
        net: &mut Network<'b>,
        table: &Table<'b>,
        number: usize,
        types: &[String],
    ) -> Result<Operator<'b>, FormatError> {
        let known = types.get(table.u32(0) as usize).filter(|name| !name.is_empty());
        let op_type = known.map_or_else(|| "UNKNOWN".to_owned(), |name| shortened(name));
        let mut inputs = Vec::new();
        for tensor in table.i32s(1) {
            net.assembly.count(1)?;
            // −1 stands for one that is left out.
            let known = usize::try_from(tensor).ok();
            if let Some(tensor) = known.filter(|tensor| *tensor >= net.tensors.len()) {
                net.lacks(tensor);
            }
            inputs.push(known.filter(|tensor| *tensor < net.tensors.len()));
        }
        let (mut outputs, mut label) = (Vec::new(), String::new());
        for tensor in table.i32s(2) {
            let known =
                usize::try_from(tensor).ok().and_then(|tensor| Some((tensor, net.tensors.get(tensor)?)));
            let Some((tensor, name)) = known.map(|(tensor, found)| (tensor, &found.name)) else { continue };
            net.assembly.count(1 + name.len() / network::LETTERS_OF_PART)?;
            if !label.is_empty() {
                label.push_str(", ");
            }
            label.push_str(name);
            outputs.push(tensor);
        }
        if label.is_empty() {
            label = format!("{op_type}#{number}");
        }
        Ok(Operator { op_type, label, inputs, outputs, options: Options::of(table) })
    }
}

#[cfg(test)]
mod tests;
