//! The native tables: one for each section of the file.

use std::borrow::Cow;
use std::ops::Deref;

use opscope_trace::{LossKind, Losses, Pool, Span, StringId, StringTable};

use super::json::{JsonError, Piece, string_text};
use super::keyed::{GraphId, Keyed};
use crate::input::Input;

/// A MegEngine graph profile: what one run of a compiled graph took, and the graph itself.
///
/// Nothing is rounded, sorted or merged: rows stand in the order of the file, times are its own
/// seconds. Text that no question needs, such as an operator's parameters, stays JSON and lies in
/// the file's own memory.
#[derive(Debug, Default)]
pub struct Profile {
    pub(super) text: Text,
    /// Types, comp nodes, thread names and data types, each once.
    pub symbols: StringTable,
    /// Times on each comp node by operator.
    pub device: Keyed<Span<Interval>>,
    /// Times of dispatching on each thread by operator.
    pub host: Keyed<Span<Interval>>,
    /// The records of [`Profile::device`] and [`Profile::host`].
    pub intervals: Pool<Interval>,
    /// The operations and memory of one execution of each operator.
    pub footprints: Keyed<Footprint>,
    /// Notes of runtime operators such as TensorRT's about themselves, by operator; any JSON.
    pub internal: Keyed<Piece>,
    /// The operators that were run, in the order of execution.
    pub order: Vec<GraphId>,
    /// Nodes of the graph, also those that were not run.
    pub operators: Keyed<Operator>,
    /// Values that flow between operators.
    pub vars: Keyed<Var>,
    /// Blocks of planned memory.
    pub chunks: Keyed<Chunk>,
    /// Lists of ids: inputs and outputs.
    pub ids: Pool<GraphId>,
    /// Numbers of the footprints' shapes and strides.
    pub dimensions: Pool<i64>,
    /// Numbers of the memory plans' shapes and strides.
    pub plan_dimensions: Pool<i64>,
    /// Lists of shapes; `None` where the file has a null.
    pub shapes: Pool<Option<Shape>>,
    /// Damaged parts that were left out.
    pub losses: Losses,
    /// The damage that ended the reading before the end of the file, where that is allowed.
    pub damage: Option<JsonError>,
}

/// The dimensions of a tensor, outermost first; none is a scalar, or no tensor at all.
pub type Shape = Span<i64>;

/// When an operator was at work in one place, in seconds from a zero that is the place's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The comp node or the thread.
    pub place: StringId,
    /// The operator was reached, or its dispatch began.
    pub start: f64,
    /// Its first kernel began, or was launched; −1 on a host whose operator launched none.
    pub kernel: f64,
    /// Its last kernel was done, or its dispatch.
    pub end: f64,
}

/// The operations and memory of one execution of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// Bytes of the inputs whose values are needed and of the outputs.
    pub memory: Option<f64>,
    /// Operations, a multiplication and an addition being two; `None` where MegEngine has no
    /// formula.
    pub computation: Option<f64>,
    /// Shapes of the inputs.
    pub in_shapes: Option<Span<Option<Shape>>>,
    /// Shapes of the outputs that are not volatile.
    pub out_shapes: Option<Span<Option<Shape>>>,
    /// Strides of the inputs in elements, `None` for a contiguous one; only where one is not.
    pub in_layouts: Option<Span<Option<Shape>>>,
    /// The operator's parameters: an object, or an array for indexing operators.
    pub param: Piece,
}

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operator {
    /// Its name, a JSON string; see [`Profile::string`].
    pub name: Piece,
    /// Its C++ class, such as `ConvolutionForward`.
    pub op_type: StringId,
    /// The vars that it reads.
    pub inputs: Span<GraphId>,
    /// The vars that it makes.
    pub outputs: Span<GraphId>,
    /// Priorities and the like, an object.
    pub extra: Piece,
    /// Its waits on each comp node.
    pub waiting_spec: Piece,
}

/// A value that flows between operators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Var {
    /// Its name, a JSON string.
    pub name: Piece,
    /// Where it lives.
    pub comp_node: StringId,
    /// Its address.
    pub dev_ptr: Option<u64>,
    /// Its address in the last run; 0 where it had none.
    pub prev_dev_ptr: u64,
    /// Where its memory ended in the last run.
    pub prev_dev_ptr_end: Option<u64>,
    /// The var whose memory it only shows.
    pub mem_readonly_fwd_src: Option<GraphId>,
    /// The var that it updates in place.
    pub force_update_src: Option<GraphId>,
    /// An array of flag names, known or not.
    pub flags: Piece,
    /// Its shape and value as far as they are known before the run, an object.
    pub static_infer_tags: Piece,
    /// Its planned memory.
    pub mem_plan: Option<MemoryPlan>,
}

/// Where a var lies in a chunk, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryPlan {
    /// The chunk.
    pub chunk: GraphId,
    /// Where it begins in the chunk, in bytes.
    pub offset: u64,
    /// Its dimensions, in [`Profile::plan_dimensions`].
    pub shape: Shape,
    /// Its strides in elements, in [`Profile::plan_dimensions`].
    pub strides: Shape,
    /// The element type by its class name, such as `Float32`.
    pub data_type: StringId,
}

/// A block of planned memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunk {
    /// The var that it was made for.
    pub owner: Option<GraphId>,
    /// Its size in bytes.
    pub size: u64,
    /// Its address.
    pub dev_ptr: Option<u64>,
}

impl Profile {
    /// The text of a JSON string, such as an operator's name; what is no UTF-8 becomes U+FFFD.
    pub fn string(&self, piece: Piece) -> Cow<'_, str> {
        string_text(self.json(piece))
    }

    /// The JSON text of a piece, `null` where there is none.
    pub fn json(&self, piece: Piece) -> &[u8] {
        if piece.is_none() { b"null" } else { piece.of(&self.text) }
    }

    /// Times of an operator on each comp node.
    pub fn device_times(&self, operator: GraphId) -> &[Interval] {
        self.device.get(operator).map_or(&[], |span| self.intervals.get(*span))
    }

    /// Times of an operator's dispatch on each thread.
    pub fn host_times(&self, operator: GraphId) -> &[Interval] {
        self.host.get(operator).map_or(&[], |span| self.intervals.get(*span))
    }

    /// Whether a var has a flag, such as `PERSISTENT_DEVICE_VALUE`.
    pub fn has_flag(&self, var: &Var, flag: &str) -> bool {
        let mut names = var.flags.of(&self.text).split(|byte| *byte == b'"');
        names.any(|name| name == flag.as_bytes())
    }

    pub(super) fn lose(&mut self, kind: LossKind, count: u64) {
        self.losses.count(kind, "", count);
    }
}

/// The bytes that pieces point into.
#[derive(Debug)]
pub(super) struct Text(pub Input);

impl Default for Text {
    fn default() -> Self {
        Self(Input::Owned(Vec::new()))
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
