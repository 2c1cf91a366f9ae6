//! OpenVINO's models (IR): an `.xml` with layers and edges, and a `.bin` of its name with the data of constants.
//!
//! Versions 10 (OpenVINO 2020.1 and later) and 11 (since 2022.1) of the format. Layers whose meaning is that of one of
//! ONNX's operators become that, others keep their type in the domain `openvino`. The type and sizes of every port are
//! declared as the file states them, so that a mistake here or in the inference of shapes shows as a contradiction.
//! Tensors have their channels before the image, as ONNX's. Names of operators are those of the layers, by which
//! OpenVINO's profiles name them, and the layers of the model before (`fused_names`) are their origins.
//!
//! ```text
//! map        the operator that a layer becomes, by families
//! layer      a layer at its place: inputs, data, constants
//! graph      names, values and edges; graphs within layers
//! document   layers and edges as they stand          weights   the .bin file
//! ```

mod document;
mod graph;
mod layer;
mod map;
mod weights;

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use opscope_openvino_xml::{is_executable_graph, is_network};

use super::FormatError;
use crate::model_kind::ModelKind;
use crate::provenance::{ReadModel, StatedValue};
use document::{Document, Graph};
use graph::Reader;
use weights::Weights;

/// The domain of layers that ONNX has no operator for.
pub(crate) const DOMAIN: &str = "openvino";

/// The version of ONNX's operators that layers become.
const OPSET: i64 = 24;

/// The versions of the format that are read.
const OLDEST: u64 = 10;
const NEWEST: u64 = 11;

/// Whether a file that begins so is one. An executable graph looks alike, and is a profile.
pub(crate) fn is_one(head: &[u8]) -> bool {
    is_network(head) && !is_executable_graph(head)
}

/// Reads a model.
///
/// # Errors
/// When it has no layers, is of an older version, or is larger than any model.
pub(crate) fn read(bytes: &Bytes, path: Option<&Path>) -> Result<ReadModel, FormatError> {
    let document = Document::read(bytes)?;
    let version = document.version.unwrap_or(NEWEST);
    if version < OLDEST {
        return Err(FormatError::Version(format!(
            "it is of version {version} of the format, which OpenVINO itself read until 2020; convert the model \
             before it anew"
        )));
    }
    if document.graph.layers.is_empty() {
        return Err(FormatError::Whole("it has no layers".to_owned()));
    }
    let mut reader = Reader::new(&document.name);
    let provenance = &mut reader.assembly.provenance;
    if !document.name.is_empty() {
        provenance.state("name", "name", StatedValue::Text(document.name.clone()));
    }
    provenance.state("IR version", "ir_version", StatedValue::Count(version));
    if let Some(path) = path.filter(|_| has_constants(&document.graph)) {
        reader.weights = Weights::beside(path, provenance);
    }
    let losses = &mut provenance.losses;
    if version > NEWEST {
        losses
            .push(format!("version {version} of the format is newer than {NEWEST}, whose meaning is known"));
    }
    if document.is_cut {
        let text = "the file is cut off or damaged: its layers don't end; those before were read";
        losses.push(text.to_owned());
    } else if document.lacks_edges {
        losses.push("the file is cut off or damaged: its edges don't end; those before were read".to_owned());
    }
    reader.graph(&document.graph, "", &HashMap::new())?;
    let told = reader.losses();
    let provenance = &mut reader.assembly.provenance;
    provenance.losses.extend(told);
    let layers = StatedValue::Count(reader.layers as u64);
    provenance.state("layers", "layers", layers);
    let domains = [("", OPSET), (map::ONNX_RUNTIME, 1), (DOMAIN, 1)];
    let (mut proto, provenance) = reader.assembly.finish(&domains);
    proto.producer_name = Some("OpenVINO".to_owned());
    proto.producer_version = Some(document.written_by).filter(|version| !version.is_empty());
    Ok(ReadModel { kind: ModelKind::OpenVino, proto, provenance })
}

fn has_constants(graph: &Graph<'_>) -> bool {
    graph
        .layers
        .iter()
        .any(|layer| layer.op_type == "Const" || layer.bodies.iter().any(|body| has_constants(&body.graph)))
}

#[cfg(test)]
mod tests;
