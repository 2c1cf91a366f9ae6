//! The engines by name.

use std::fmt;

use opscope_trace::EngineName;

/// An inference engine.
///
/// The default is the one that is taken where none is named: the embedded one in builds that have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// tract, built into programs with the feature of that name.
    #[cfg_attr(feature = "tract", default)]
    Tract,
    /// ONNX Runtime, a shared library found when it is asked for.
    #[cfg_attr(not(feature = "tract"), default)]
    OnnxRuntime,
}

impl EngineKind {
    /// Whether this build has an engine of its own.
    pub const IS_ONE_EMBEDDED: bool = cfg!(feature = "tract");

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
