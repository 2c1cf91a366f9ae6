//! Captured graphs: the streams that execute them, and the operators in them.

use crate::columns::columns;
use crate::tables::rows::{AttributeRow, NodeRow, TensorSetRow};

columns! {
    /// Streams that were captured into graphs, by time.
    CaptureTable,
    /// A stream that was captured into a graph.
    Capture {
        /// When the capture began; host ticks.
        time: u64,
        /// The device.
        device: u16,
        /// The stream of the graph, which executes what was captured.
        stream: u16,
        /// The graph, by the runtime's number.
        graph: u16,
    }
}

columns! {
    /// Captured graphs that were destroyed, by time.
    GraphEndTable,
    /// A captured graph that was destroyed.
    GraphEnd {
        /// When; host ticks.
        time: u64,
        /// The device.
        device: u16,
        /// The graph, by the runtime's number.
        graph: u16,
    }
}

columns! {
    /// Operators of captured graphs, by device, stream, task, graph and time.
    CapturedOpTable,
    /// A note on what a task of a captured graph is.
    CapturedOp {
        /// When it was captured; host ticks.
        time: u64,
        /// The graph, by the runtime's number.
        graph: u32,
        /// The device.
        device: u16,
        /// The stream of the graph.
        stream: u16,
        /// The task's number on that stream.
        task: u32,
        /// The description of the operator.
        node: NodeRow,
        /// The combination of its tensors.
        tensors: TensorSetRow,
        /// Its attributes, if it has any.
        attributes: Option<AttributeRow>,
    }
}

/// The runtime's notes on captured graphs.
#[derive(Clone, Debug, Default)]
pub struct CaptureTables {
    /// Streams that were captured.
    pub streams: CaptureTable,
    /// Graphs that were destroyed.
    pub ends: GraphEndTable,
    /// Operators of the graphs.
    pub ops: CapturedOpTable,
}

impl CaptureTables {
    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.ops.is_empty()
    }
}
