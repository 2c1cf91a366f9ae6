//! The devices of collective operations whose rows tell none, as PyTorch's databases leave them out.

use std::collections::HashMap;

use super::tasks::TaskRow;
use crate::database::schema::COMMUNICATION_TASK_INFO;
use opscope_formats::other_database::{self as query, Database};

/// The devices that tasks tell of the collective operations which they are steps of.
pub(super) enum OperationDevices {
    /// All tasks ran on one device.
    One(u32),
    /// Tasks ran on several.
    Several {
        /// By the operation's id, which its steps name.
        of_operations: HashMap<i64, Agreed>,
        /// By the number that ties tasks to a call.
        of_connections: HashMap<i64, Agreed>,
    },
    /// There is neither a task nor a single device that the database names.
    Unknown,
}

/// A device that all tasks of an operation agree on; nothing where they don't.
type Agreed = Option<u32>;

impl OperationDevices {
    /// Looks at the tasks; without any, at the devices that the database names.
    pub fn new(database: &Database<'_>, rows: &[TaskRow], mut named: impl Iterator<Item = u32>) -> Self {
        let Some(first) = rows.first() else {
            return match (named.next(), named.next()) {
                (Some(device), None) => Self::One(device),
                _ => Self::Unknown,
            };
        };
        if rows.iter().all(|row| row.device == first.device) {
            return Self::One(first.device);
        }
        let mut of_connections = HashMap::new();
        let mut of_tasks = HashMap::new();
        for row in rows {
            row.connection
                .into_iter()
                .for_each(|connection| agree(&mut of_connections, connection, row.device));
            agree(&mut of_tasks, row.global, row.device);
        }
        const STEP: [&str; 2] = COMMUNICATION_TASK_INFO.select(["opId", "globalTaskId"]);
        let mut of_operations = HashMap::new();
        // Where the table breaks off, the connections are left.
        let _ = query::each_row(database, COMMUNICATION_TASK_INFO.name, &STEP, |row| {
            let (Some(operation), Some(task)) = (row.integer(0), row.integer(1)) else { return };
            if let Some(Some(device)) = of_tasks.get(&task) {
                agree(&mut of_operations, operation, *device);
            }
        });
        Self::Several { of_operations, of_connections }
    }

    /// The device of an operation by its id, or by the call that it belongs to.
    pub fn find(&self, operation: Option<i64>, connection: Option<i64>) -> Option<u32> {
        match self {
            Self::One(device) => Some(*device),
            Self::Several { of_operations, of_connections } => {
                let of_steps =
                    operation.and_then(|operation| of_operations.get(&operation).copied().flatten());
                of_steps
                    .or_else(|| connection.and_then(|number| of_connections.get(&number).copied().flatten()))
            }
            Self::Unknown => None,
        }
    }
}

fn agree(devices: &mut HashMap<i64, Agreed>, number: i64, device: u32) {
    let known = devices.entry(number).or_insert(Some(device));
    if *known != Some(device) {
        *known = None;
    }
}
