//! Offline models of Ascend (`.om`): the container, the graph within it, and facts about the compilation.
//!
//! The layout is that of the public headers of GE (`framework/common/types.h`, `om_file_helper.h`), the messages
//! those of the public `ge_ir.proto`.

mod attributes;
mod container;
mod facts;
mod graph;
mod operator;

use bytes::Bytes;

use super::FormatError;
use super::protobuf::Message;
use crate::model_kind::ModelKind;
use crate::provenance::ReadModel;
use attributes::Dictionary;
use container::{Container, PartitionKind};

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
    let model = Message::new(partition.bytes, partition.offset);
    let (dictionary, mut losses) = Dictionary::of(model);
    let weights = container.partition(PartitionKind::Weights);
    let mut assembly = graph::assemble(model, &dictionary, bytes, weights)?;
    facts::state(&container, model, &dictionary, &mut assembly.provenance);
    losses.splice(0..0, container.losses.iter().cloned());
    losses.append(&mut assembly.provenance.losses);
    assembly.provenance.losses = losses;
    let version = i64::from(container.header.ir_version.max(1));
    let (mut proto, provenance) = assembly.finish(&[(DOMAIN, version)]);
    let text = |field| model.field(field).map(|value| value.text().into_owned());
    proto.producer_name = Some("ATC".to_owned());
    proto.producer_version = text(3).filter(|version| !version.is_empty());
    Ok(ReadModel { kind: ModelKind::Om, proto, provenance })
}

#[cfg(test)]
mod tests;
