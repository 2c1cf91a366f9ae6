//! Why inputs could not be made.

use std::path::PathBuf;

use opscope_formats::memory::TooMuchMemory;
use opscope_trace::DataType;

use crate::npy::NpyError;
use crate::room::NodeTooLarge;

/// Why the model can't be fed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The user named an input that the model hasn't got.
    #[error("the model has no input named '{name}'{}; its inputs are: {inputs}", suggestion(.nearest))]
    UnknownInput {
        /// The user's words.
        name: String,
        /// The input with the most similar name.
        nearest: Option<String>,
        /// All inputs with their declared types.
        inputs: String,
    },
    /// The user left out the name, and the model has several inputs.
    #[error("'{given}' does not say which input it is for; write NAME={given} with one of: {inputs}")]
    NameMissing {
        /// The user's words.
        given: String,
        /// All inputs with their declared types.
        inputs: String,
    },
    /// Two wishes for one input.
    #[error("the input '{name}' is given twice; keep one --input {name}=…")]
    Twice {
        /// The input.
        name: String,
    },
    /// The user sized a symbolic dimension that the model hasn't got.
    #[error("the model has no symbolic dimension named '{name}'{}", known_dimensions(.known))]
    UnknownDimension {
        /// The user's words.
        name: String,
        /// The symbolic dimensions of the model's inputs.
        known: Vec<String>,
    },
    /// A symbolic dimension has no size.
    #[error(
        "how large is '{dimension}', axis {axis} of the input '{input}' ({declared})? \
         Give it with --dim {dimension}=N, or the whole shape with --input {input}=SHAPE"
    )]
    OpenDimension {
        /// The dimension's name.
        dimension: String,
        /// Its position in the shape, from 0.
        axis: usize,
        /// The input.
        input: String,
        /// The input's declared type and shape.
        declared: String,
    },
    /// A dimension without a name has no size.
    #[error(
        "how large is axis {axis} of the input '{input}' ({declared})? Give the shape with --input {input}=SHAPE, such as {input}=1x3x224x224"
    )]
    OpenAxis {
        /// The dimension's position in the shape, from 0.
        axis: usize,
        /// The input.
        input: String,
        /// The input's declared type and shape.
        declared: String,
    },
    /// Not even the number of dimensions is declared.
    #[error(
        "what shape has the input '{input}'? The model does not declare it; give it with --input {input}=SHAPE, such as {input}=1x3x224x224"
    )]
    OpenShape {
        /// The input.
        input: String,
    },
    /// The shape does not fit the declaration.
    #[error("the input '{input}' is declared as {declared}, which the shape {given} does not fit: {reason}")]
    Shape {
        /// The input.
        input: String,
        /// The input's declared type and shape.
        declared: String,
        /// The shape that was given.
        given: String,
        /// The contradiction.
        reason: String,
    },
    /// The file's element type isn't the declared one.
    #[error(
        "the input '{input}' takes {expected}, but {path} holds {found}; convert it, in Python with array.astype('{expected}')"
    )]
    ElementType {
        /// The input.
        input: String,
        /// The declared element type.
        expected: DataType,
        /// The file's element type.
        found: DataType,
        /// The file.
        path: PathBuf,
    },
    /// An input of a type that can't be made up or read from a file.
    #[error(
        "the input '{input}' is {kind}; only tensors of numbers can be fed: cut the model behind the nodes that \
         take it (onnx.utils.extract_model in Python) and give what they compute as an input"
    )]
    Unsupported {
        /// The input.
        input: String,
        /// The kind that it is.
        kind: String,
    },
    /// A number that the input can't hold.
    #[error("the input '{input}' ({declared}) can't be {given}: {reason}")]
    Number {
        /// The input.
        input: String,
        /// The input's declared type and shape.
        declared: String,
        /// The user's words.
        given: String,
        /// Why not, and what to write.
        reason: String,
    },
    /// The tensor is too large for this machine.
    #[error(
        "the input '{input}' of shape {shape} does not fit into memory; a smaller shape is given with --input or --dim"
    )]
    TooLarge {
        /// The input.
        input: String,
        /// Its shape.
        shape: String,
    },
    /// The tensor takes more memory than may be taken.
    #[error(
        "the input '{input}' of shape {shape} is too large{}: {source}; a smaller shape is given with --input or --dim",
        beside(*.others)
    )]
    Memory {
        /// The input.
        input: String,
        /// Its shape.
        shape: String,
        /// How many other inputs there are.
        others: usize,
        /// How much all of them take.
        source: TooMuchMemory,
    },
    /// A node's values for inputs of these shapes take more memory than may be taken.
    #[error(transparent)]
    Node(#[from] NodeTooLarge),
    /// The file can't be read.
    #[error(transparent)]
    File(#[from] NpyError),
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |nearest| format!(" (did you mean '{nearest}'?)"))
}

fn beside(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " beside the other input".to_owned(),
        others => format!(" beside the {others} other inputs"),
    }
}

fn known_dimensions(known: &[String]) -> String {
    match known {
        [] => ": none of its inputs has a dimension with a name; --input gives sizes".to_owned(),
        known => format!("; it has: {}", known.join(", ")),
    }
}
