//! The embedded engine's words when it fails, in a line: the model's node and the cause.

use opscope_model::Model;
use tract_onnx::prelude::TractError;

use crate::engine_kind::EngineKind;
use crate::error::{RunError, in_a_line};
use crate::node_names::NodeNames;

/// Tract's words about a model that it refuses.
pub fn refused_text(message: String) -> RunError {
    let (message, details) = in_a_line(&message);
    RunError::Prepare { engine: EngineKind::Tract, message, details }
}

/// Its words about an inference that fails.
pub fn failed_text(message: String) -> RunError {
    let (message, details) = in_a_line(&message);
    RunError::Infer { engine: EngineKind::Tract, message, details }
}

/// The cause, with the chain of what led to it as the details.
pub fn refused(error: TractError) -> RunError {
    let (message, details) = (in_a_line(&error.root_cause().to_string()).0, Some(format!("{error:#}")));
    RunError::Prepare { engine: EngineKind::Tract, message, details }
}

/// The same of an inference.
pub fn failed(error: TractError) -> RunError {
    let (message, details) = (in_a_line(&error.root_cause().to_string()).0, Some(format!("{error:#}")));
    RunError::Infer { engine: EngineKind::Tract, message, details }
}

/// The same error with the model's node that it is about, which tract's longer words name: `node #7 "conv"`.
pub fn at_node(error: RunError, model: &Model) -> RunError {
    let name = |details: &Option<String>| -> Option<String> {
        let (_, behind) = details.as_deref()?.split_once("node #")?;
        let name = behind.split('"').nth(1)?;
        let names = NodeNames::of(model.graph());
        let node = names.by_prefix(name).map(|id| model.graph().node(id));
        Some(node.map_or(format!("'{name}'"), |node| format!("'{}' ({})", node.name, node.op_type)))
    };
    let placed = |message: String, details: &Option<String>| match name(details) {
        Some(node) if !message.contains(&node) => format!("at the node {node}: {message}"),
        _ => message,
    };
    match error {
        RunError::Prepare { engine, message, details } => {
            RunError::Prepare { engine, message: placed(message, &details), details }
        }
        RunError::Infer { engine, message, details } => {
            RunError::Infer { engine, message: placed(message, &details), details }
        }
        other => other,
    }
}
