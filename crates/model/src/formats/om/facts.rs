//! Facts that a model states about its compilation.

use opscope_trace::units;

use super::super::protobuf::Message;
use super::attributes::{AttributeValue, Dictionary, MODEL_ATTRIBUTES};
use super::container::Container;
use crate::provenance::{Provenance, StatedValue};

/// The words of the model's attributes, with titles and keys.
const TEXTS: [(&str, &str, &str); 5] = [
    ("soc_version", "chip", "soc_version"),
    ("atc_version", "converter", "atc_version"),
    ("opp_version", "kernels of", "opp_version"),
    ("framework_type", "made from", "framework"),
    ("atc_cmdline", "command", "atc_command"),
];

/// Its sizes and numbers.
const NUMBERS: [(&str, &str, &str, bool); 9] = [
    ("memory_size", "memory", "memory_bytes", true),
    ("weight_size", "of weights", "weight_bytes", true),
    ("zero_copy_memory_size", "zero copy", "zero_copy_bytes", true),
    ("host_memory_size", "on the host", "host_memory_bytes", true),
    ("p2p_memory_size", "peer to peer", "p2p_memory_bytes", true),
    ("variable_size", "variables", "variable_bytes", true),
    ("stream_num", "streams", "streams", false),
    ("event_num", "events", "events", false),
    ("label_num", "labels", "labels", false),
];

/// Puts the facts of the file's header and parts before those of the model, what it lacks before what the model lacks.
pub(super) fn of_container(container: &Container<'_>, provenance: &mut Provenance) {
    let header = &container.header;
    let (stated, losses) = (std::mem::take(&mut provenance.stated), std::mem::take(&mut provenance.losses));
    provenance.state_text("name", "name", header.name.clone());
    provenance.stated.extend(stated);
    provenance.state_text("platform", "platform_version", header.platform.clone());
    let parts = container.partitions.iter().filter(|partition| !partition.bytes.is_empty());
    let parts: Vec<String> =
        parts.map(|part| format!("{} {}", part.kind.word(), units::bytes(part.bytes.len() as f64))).collect();
    provenance.state_text("parts", "partitions", parts.join(", "));
    provenance.losses.extend(container.losses.iter().cloned());
    provenance.losses.extend(losses);
    if header.model_count > 1 {
        provenance.state("models", "models", StatedValue::Count(header.model_count.into()));
        let losses = &mut provenance.losses;
        losses.push(format!("the file has {} models, of which the first is read", header.model_count));
    }
}

/// The names of so many outputs that the model states, in their order: alone, or behind the operator and the number of
/// its result, as in `Squeeze_391:0:output`. None where it states them of another number of outputs.
pub(super) fn names_of_outputs(model: Message<'_>, dictionary: &Dictionary<'_>, count: usize) -> Vec<String> {
    let attributes = dictionary.attributes(model, MODEL_ATTRIBUTES);
    let stated = attributes.iter().find(|(name, _)| name == "attr_model_out_nodes_name");
    let Some(AttributeValue::Texts(names)) = stated.and_then(|(_, attribute)| attribute.value(dictionary))
    else {
        return Vec::new();
    };
    let name = |text: &std::borrow::Cow<'_, str>| {
        let mut parts = text.splitn(3, ':').skip(1);
        let is_number = parts.next().is_some_and(|number| number.parse::<u32>().is_ok());
        parts.next().filter(|name| is_number && !name.is_empty()).unwrap_or(text).to_owned()
    };
    if names.len() == count { names.iter().map(name).collect() } else { Vec::new() }
}

/// Puts the facts of a model into words and numbers.
pub(super) fn of_model(model: Message<'_>, dictionary: &Dictionary<'_>, provenance: &mut Provenance) {
    let attributes = dictionary.attributes(model, MODEL_ATTRIBUTES);
    let found = |name: &str| {
        let attribute = attributes.iter().find(|(known, _)| known == name);
        attribute.and_then(|(_, attribute)| attribute.value(dictionary))
    };
    for (name, title, key) in TEXTS {
        if let Some(AttributeValue::Text(text)) = found(name) {
            provenance.state_text(title, key, text.into_owned());
        }
    }
    for (name, title, key, is_bytes) in NUMBERS {
        let value = found(name).and_then(|value| u64::try_from(value.int()?).ok());
        // Zeros of what a model may do without would only hide what it needs.
        let Some(value) = value.filter(|value| *value > 0 || name == "memory_size") else { continue };
        let value = if is_bytes { StatedValue::Bytes(value) } else { StatedValue::Count(value) };
        provenance.state(title, key, value);
    }
}
