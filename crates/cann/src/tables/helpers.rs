//! Threads that launch steps of collective operations for others.

use crate::columns::columns;

columns! {
    /// Threads that help others, by thread and time.
    HelperTable,
    /// A thread that from a moment on launches steps for another one.
    Helper {
        /// The thread that helps.
        thread: u32,
        /// When the other thread said so; host ticks.
        time: u64,
        /// The thread that it helps.
        owner: u32,
    }
}
