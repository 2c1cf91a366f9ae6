//! Why a model could not be run.

use std::path::PathBuf;

use crate::engine_kind::EngineKind;
use crate::inputs::InputError;
use crate::room::NodeTooLarge;

/// Why a model could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model can't be fed as asked.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The engine has no implementation of an operator.
    #[error("{engine} cannot run the operator {op_type}, which the node '{node}' needs{}{}", more(.others), .remedy)]
    UnsupportedOperator {
        /// The engine.
        engine: EngineKind,
        /// The first node that needs it.
        node: String,
        /// The operator, with its domain where that isn't ONNX's own.
        op_type: String,
        /// How many further nodes can't be run.
        others: usize,
        /// A remedy, as a further sentence.
        remedy: String,
    },
    /// A node's values take more memory than may be taken.
    #[error(transparent)]
    Memory(#[from] NodeTooLarge),
    /// The engine refused the model.
    #[error("{engine} cannot prepare the model: {message}{}", other_engine(.engine, .message))]
    Prepare {
        /// The engine.
        engine: EngineKind,
        /// The engine's own words, in a line.
        message: String,
        /// All of them, where they are more.
        details: Option<String>,
    },
    /// An inference failed.
    #[error("{engine} failed during an inference: {message}{}", other_inputs(.engine, .message))]
    Infer {
        /// The engine.
        engine: EngineKind,
        /// The engine's own words, in a line.
        message: String,
        /// All of them, where they are more.
        details: Option<String>,
    },
    /// The embedded engine was asked of a build that has none.
    #[error(
        "this build of opscope carries no engine of its own: take ONNX Runtime (--engine ort), or a build with \
         tract, which is the one without --no-default-features"
    )]
    NotBuiltIn,
    /// The library of ONNX Runtime isn't there.
    #[error(
        "ONNX Runtime was not found. Looked for it in:\n{}\n\
         Get it with 'pip install onnxruntime' (and run opscope with that Python active), or from \
         your system's packages, and name the library with --ort-lib FILE or ORT_DYLIB_PATH. \
         {}", indented(.looked), WITHOUT_IT
    )]
    LibraryNotFound {
        /// The places in the order in which they were tried.
        looked: Vec<String>,
    },
    /// The library of ONNX Runtime is there, but can't be used.
    #[error("{path}: cannot use it as ONNX Runtime: {message}")]
    Library {
        /// The file.
        path: PathBuf,
        /// The reason.
        message: String,
    },
    /// The recording was lost.
    #[error("the recording of {engine} is lost: {message}")]
    Recording {
        /// The engine.
        engine: EngineKind,
        /// The reason.
        message: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The ways out for whoever can't have ONNX Runtime.
const WITHOUT_IT: &str = if EngineKind::IS_ONE_EMBEDDED {
    "The embedded engine needs nothing: --engine tract"
} else {
    "This build of opscope carries no engine of its own; the one without --no-default-features has tract"
};

/// The remedy for an operator that the embedded engine lacks.
pub(crate) const HAS_IT: &str = "; ONNX Runtime has it: try --engine ort";

/// The remedy for anything else that the embedded engine refuses.
const MAY_RUN_IT: &str = "; ONNX Runtime may run it: try --engine ort";

/// How many characters of an engine's own words are shown: the cause comes first.
const LONGEST: usize = 300;

/// An engine's words in a line, and all of them where they are more than that.
pub(crate) fn in_a_line(words: &str) -> (String, Option<String>) {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches('.').to_owned();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => (format!("{}…", &line[..end]), Some(words.to_owned())),
        None => (line, (words.trim().contains('\n')).then(|| words.to_owned())),
    }
}

impl RunError {
    /// All that the engine said, where the message leaves some of it out.
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Prepare { details, .. } | Self::Infer { details, .. } => details.as_deref(),
            _ => None,
        }
    }

    /// Whether the engine couldn't do what was asked, and another might.
    pub(crate) fn is_the_engines(&self) -> bool {
        matches!(self, Self::UnsupportedOperator { .. } | Self::Prepare { .. } | Self::Infer { .. })
    }

    /// The message without its remedy, for where the other engine is in use already.
    pub fn cause(&self) -> String {
        let text = self.to_string();
        let mut remedies = [HAS_IT, MAY_RUN_IT, OTHER_INPUTS].into_iter();
        let cause = remedies.find_map(|remedy| text.strip_suffix(remedy));
        cause.unwrap_or(&text).to_owned()
    }
}

/// The remedy for an inference that ONNX Runtime gives up.
const OTHER_INPUTS: &str = "; inputs of other shapes or values may do: see --input and --dim";

fn other_inputs(engine: &EngineKind, message: &str) -> &'static str {
    if *engine == EngineKind::OnnxRuntime { OTHER_INPUTS } else { other_engine(engine, message) }
}

/// ONNX Runtime may well run models that the embedded engine refuses in words of its own, such as a
/// recurrent layer over a batch.
fn other_engine(engine: &EngineKind, message: &str) -> &'static str {
    let is_said = message.contains("--engine ort");
    if *engine == EngineKind::Tract && !is_said { MAY_RUN_IT } else { "" }
}

fn more(others: &usize) -> String {
    match others {
        0 => String::new(),
        1 => " (and one more node)".to_owned(),
        n => format!(" (and {n} more nodes)"),
    }
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  - {line}")).collect::<Vec<_>>().join("\n")
}
