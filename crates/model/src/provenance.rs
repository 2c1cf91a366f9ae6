//! Facts that a model's file states beside the graph: how it was made, and which operators of the model before
//! its conversion each of its operators stands for.

use std::collections::{HashMap, HashSet};

use crate::model_kind::ModelKind;

/// A value of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatedValue {
    /// Words.
    Text(String),
    /// A number of something.
    Count(u64),
    /// A size in bytes.
    Bytes(u64),
}

/// Something that a file states of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// A title for people, of few letters.
    pub title: &'static str,
    /// The key for programs.
    pub key: &'static str,
    /// The fact.
    pub value: StatedValue,
}

/// The operators of the model before its conversion that an operator stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Their names, in the order of the file.
    pub names: Vec<String>,
    /// Their types, as far as the file states them; not always one for each name.
    pub types: Vec<String>,
    /// The converter's passes that made the operator, in their order.
    pub passes: Vec<String>,
    /// The library or engine that executes it, in the converter's words.
    pub engine: Option<String>,
}

impl Origin {
    /// Whether several operators became one.
    pub fn is_fused(&self) -> bool {
        self.names.len() > 1
    }
}

/// Facts of a model's file beside its graph.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// Facts about the whole file, in the order in which they are shown.
    pub stated: Vec<Stated>,
    /// Sentences about parts that could not be read, or were left out.
    pub losses: Vec<String>,
    /// By the name of an operator. One that isn't there stands for the operator of its own name.
    pub origins: HashMap<String, Origin>,
    /// Names of operators that the file doesn't have: put in so that the others mean what ONNX's do, such as
    /// transpositions of images. Nothing can be changed about them.
    pub helpers: HashSet<String>,
    /// Names of operators whose results other operators of the file read, and those that these become don't (sizes that
    /// ONNX's have in attributes, values of loops, edges that were left out), with those that make nothing but these. They
    /// only look as if nobody needed them.
    pub unread: HashSet<String>,
    /// Names of stored values that the file doesn't have, likewise put in, such as the bounds of a `Relu6`.
    pub made_values: HashSet<String>,
    /// Names of stored values that are lists of sizes, axes and places, and no weights.
    pub lists: HashSet<String>,
    /// By the name of a stored value of which the file has less than all elements, the bytes that it has.
    pub packed: HashMap<String, u64>,
    /// By the name of a value that is an output of the model, the name by which the file offers it, where that is
    /// another.
    pub output_names: HashMap<String, String>,
}

impl Provenance {
    /// The chip that a model was compiled for.
    pub fn chip(&self) -> Option<&str> {
        self.stated.iter().find(|fact| fact.key == "soc_version").and_then(|fact| match &fact.value {
            StatedValue::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub(crate) fn state(&mut self, title: &'static str, key: &'static str, value: StatedValue) {
        self.stated.push(Stated { title, key, value });
    }

    /// States words, unless there are none.
    pub(crate) fn state_text(&mut self, title: &'static str, key: &'static str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.state(title, key, StatedValue::Text(text));
        }
    }
}

/// A model of another format as it becomes one graph.
#[derive(Debug)]
pub(crate) struct ReadModel {
    pub kind: ModelKind,
    pub proto: crate::proto::ModelProto,
    pub provenance: Provenance,
}
