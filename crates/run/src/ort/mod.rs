//! ONNX Runtime, loaded when it is asked for.

mod failure;
mod library;
mod recorder;
mod recording;
mod session;

use std::sync::Arc;

use opscope_model::Model;

use crate::engine::{Engine, EngineOptions, RunClock};
use crate::error::RunError;
use crate::inputs::Input;

/// Whether ONNX Runtime is on this machine, or where the options say.
pub fn is_found(options: &EngineOptions) -> bool {
    library::find(options.ort_library.as_deref()).is_ok()
}

/// Loads ONNX Runtime and makes a model ready on it.
///
/// # Errors
/// When the library isn't found or can't be used, or when it refuses the model.
pub fn prepare(
    model: Arc<Model>,
    inputs: &[Input],
    options: &EngineOptions,
    clock: RunClock,
) -> Result<Box<dyn Engine>, RunError> {
    let library = library::find(options.ort_library.as_deref())?;
    Ok(Box::new(session::OrtEngine::prepare(model, inputs, options, &library, clock)?))
}
