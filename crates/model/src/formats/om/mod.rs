//! Offline models of Ascend (`.om`): the container, the graph within it, and facts about the compilation. And the
//! same graph as text ([`dump`]).
//!
//! The layout is that of the public headers of GE (`framework/common/types.h`, `om_file_helper.h`), the messages
//! those of the public `ge_ir.proto`.

mod attributes;
mod container;
pub(crate) mod dump;
mod facts;
mod graph;
mod operator;

use bytes::Bytes;

use super::FormatError;
use super::assembly::Assembly;
use super::protobuf::Message;
use crate::model_kind::ModelKind;
use crate::provenance::ReadModel;
use attributes::Dictionary;
use container::{Container, Partition, PartitionKind};
use graph::Written;

/// The domain that operators of GE have in the graph.
pub(crate) const DOMAIN: &str = "ascend";

/// Whether a file is one, by its first bytes.
pub(crate) fn is_one(head: &[u8]) -> bool {
    // Texts can begin alike; a header's size, which follows, is a small number.
    let size = head.get(4..8).and_then(|four| Some(u32::from_le_bytes(four.try_into().ok()?)));
    head.starts_with(b"IMOD") && size.is_none_or(|size| size <= 1 << 16)
}

/// Reads a model. Its weights stay where they are.
///
/// # Errors
/// When the file is cut off before its graph, encrypted, or no such file.
pub(crate) fn read(bytes: &Bytes) -> Result<ReadModel, FormatError> {
    let container = Container::read(bytes)?;
    let partition = container.partition(PartitionKind::ModelDef).ok_or_else(|| {
        FormatError::at(container.header.size, "the file has no graph (no partition of the kind 0, model)")
    })?;
    let message = Message::new(partition.bytes, partition.offset);
    let weights = container.partition(PartitionKind::Weights);
    let mut assembly = model(message, bytes, weights, Written::Model)?;
    facts::of_container(&container, &mut assembly.provenance);
    let version = i64::from(container.header.ir_version.max(1));
    let (mut proto, provenance) = assembly.finish(&[(DOMAIN, version)]);
    proto.producer_name = Some("ATC".to_owned());
    proto.producer_version = converter_version(message);
    Ok(ReadModel { kind: ModelKind::Om, proto, provenance })
}

/// Puts together the graph that a message has, and the facts that it states.
///
/// # Errors
/// When it has no graph, or too large a one.
fn model(
    message: Message<'_>,
    file: &Bytes,
    weights: Option<Partition<'_>>,
    written: Written,
) -> Result<Assembly, FormatError> {
    let (dictionary, mut losses) = Dictionary::of(message);
    let mut assembly = graph::assemble(message, &dictionary, file, weights, written)?;
    let plan = std::mem::take(&mut assembly.provenance.stated);
    facts::of_model(message, &dictionary, &mut assembly.provenance);
    let outputs = assembly.outputs();
    for (output, stated) in outputs.iter().zip(facts::names_of_outputs(message, &dictionary, outputs.len())) {
        assembly.name_output(output, &stated);
    }
    assembly.provenance.stated.extend(plan);
    losses.append(&mut assembly.provenance.losses);
    assembly.provenance.losses = losses;
    Ok(assembly)
}

/// The version of the converter that made a model.
fn converter_version(message: Message<'_>) -> Option<String> {
    message.field(3).map(|version| version.text().into_owned()).filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests;
