//! The engines by name.

use std::fmt;

use opscope_trace::EngineName;

/// An inference engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// tract, built into this program.
    Tract,
    /// ONNX Runtime, a shared library found when it is asked for.
    OnnxRuntime,
}

impl EngineKind {
    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tract => "tract",
            Self::OnnxRuntime => "ort",
        }
    }

    /// The engine as a trace names it.
    pub(crate) fn recorded_name(self) -> EngineName {
        match self {
            Self::Tract => EngineName::Tract,
            Self::OnnxRuntime => EngineName::Ort,
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tract => "tract",
            Self::OnnxRuntime => "ONNX Runtime",
        })
    }
}
