//! Host-side calls.

use crate::table::table;
use crate::{IterationId, Nanoseconds, StringId, ThreadId};

/// The layer of the software that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ApiLevel {
    /// A framework above the runtime, such as PyTorch.
    Framework,
    /// The interface that an application calls: AscendCL, an inference session.
    Application,
    /// Handling of a whole model.
    Model,
    /// Launching one node.
    Node,
    /// Collective communication.
    Communication,
    /// The runtime below.
    Runtime,
    /// The operating system or a driver.
    System,
    /// Something that the format didn't say.
    Other,
}

impl ApiLevel {
    /// A word for tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Framework => "framework",
            Self::Application => "application",
            Self::Model => "model",
            Self::Node => "node",
            Self::Communication => "communication",
            Self::Runtime => "runtime",
            Self::System => "system",
            Self::Other => "other",
        }
    }
}

table! {
    /// Calls that the host made.
    ApiCallTable,
    /// Names a row of the [`ApiCallTable`].
    ApiCallId,
    /// A host-side call: loading a model, executing it, launching a node.
    ApiCall {
        /// The thread that called.
        thread: Option<ThreadId>,
        /// The layer that was called.
        level: ApiLevel,
        /// The call's name.
        name: StringId,
        /// When it began.
        start: Nanoseconds,
        /// How long it took.
        duration: Nanoseconds,
        /// The inference that it belongs to, where that is known.
        iteration: Option<IterationId>,
    }
}
