//! Places in the program from which tasks were launched.

use crate::table::table;
use crate::{ApiCallId, StringId, TaskId};

table! {
    /// For tasks whose framework tells it, the framework's call that asked for them: on its way to the device it
    /// may pass a queue, so that another call on another thread launches the task ([`Task::launched_by`]).
    ///
    /// [`Task::launched_by`]: crate::Task::launched_by
    LaunchSiteTable,
    /// Names a row of the [`LaunchSiteTable`].
    LaunchSiteId,
    /// The origin of one task.
    LaunchSite {
        /// The task.
        task: TaskId,
        /// The framework's call that asked for it.
        call: ApiCallId,
        /// The program's lines that led there, the innermost first, one below the other.
        stack: Option<StringId>,
    }
}
