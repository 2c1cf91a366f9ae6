//! Host-side calls.

use opscope_columns::OptionalColumn;

use crate::table::table;
use crate::words;
use crate::{IterationId, Nanoseconds, StringId, ThreadId};

words! {
    /// The layer of the software that a call belongs to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ApiLevel {
        /// A framework above the runtime, such as PyTorch.
        Framework = "framework",
        /// The interface that an application calls: AscendCL, an inference session.
        Application = "application",
        /// Handling of a whole model.
        Model = "model",
        /// Launching one node.
        Node = "node",
        /// Collective communication.
        Communication = "communication",
        /// The runtime below.
        Runtime = "runtime",
        /// The operating system or a driver.
        System = "system",
        /// Something that the format didn't say.
        Other = "other",
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
        iteration: Option<IterationId> as OptionalColumn<IterationId>,
    }
}
