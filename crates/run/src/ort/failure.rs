//! The errors of ONNX Runtime, in the words of [`RunError`].

use crate::engine_kind::EngineKind;
use crate::error::{RunError, in_a_line};

/// The engine refuses the model.
pub(super) fn refused(message: String) -> RunError {
    let (message, details) = in_a_line(&message);
    RunError::Prepare { engine: EngineKind::OnnxRuntime, message, details }
}

/// The same for an error that hands back what it was about.
pub(super) fn rejected<Recovered>(error: ort::Error<Recovered>) -> RunError {
    refused(error.to_string())
}

/// An inference failed.
pub(super) fn failed(error: ort::Error) -> RunError {
    let (message, details) = in_a_line(&error.to_string());
    RunError::Infer { engine: EngineKind::OnnxRuntime, message, details }
}

/// Its records are gone.
pub(super) fn lost(message: String) -> RunError {
    RunError::Recording { engine: EngineKind::OnnxRuntime, message }
}
