//! The calls of PyTorch that asked for tasks, and the program's lines that led there.
//!
//! `PYTORCH_API.connectionId` names rows of `CONNECTION_IDS`, whose `connectionId` is that of `TASK` and
//! `COMMUNICATION_OP`; `callchainId` names the lines in `PYTORCH_CALLCHAINS`, 0 the innermost. In between lies a
//! queue, so that the call which launched the task (`CANN_API`) is one of another thread.

use std::collections::HashMap;

use opscope_trace::{ApiCallId, LaunchSite, LossKind, StringId, TaskId};

use super::reader::Reader;

const CONNECTIONS: &str = "CONNECTION_IDS";
const CHAINS: &str = "PYTORCH_CALLCHAINS";

/// The calls of the framework by what tasks name them by.
#[derive(Default)]
pub(super) struct Askers {
    /// For each connection of a call those of its tasks.
    connections: HashMap<i64, Vec<i64>>,
    calls: HashMap<i64, (ApiCallId, Option<i64>)>,
    /// The lines of each chain of calls, as a text once a task has asked for it.
    stacks: HashMap<i64, Stack>,
}

/// The lines of a chain of calls.
#[derive(Default)]
struct Stack {
    /// Their depth and text.
    lines: Vec<(i64, i64)>,
    text: Option<StringId>,
}

impl Askers {
    /// Notes a call of the framework. Of several that name one task, the last is the innermost.
    pub fn note(&mut self, connection: Option<i64>, call: ApiCallId, chain: Option<i64>) {
        for task in connection.and_then(|connection| self.connections.get(&connection)).into_iter().flatten()
        {
            self.calls.insert(*task, (call, chain));
        }
    }
}

impl Reader<'_> {
    /// Reads what ties tasks to calls; before the calls.
    pub(super) fn read_connections(&mut self) {
        self.each_row(CONNECTIONS, &["id", "connectionId"], |reader, row| {
            match (row.integer(0), row.integer(1)) {
                (Some(call), Some(task)) => reader.askers.connections.entry(call).or_default().push(task),
                _ => reader.trace.count_loss(LossKind::ValueWithoutTask, 1, CONNECTIONS),
            }
        });
    }

    /// Reads the lines of the chains of calls; behind the calls.
    pub(super) fn read_stacks(&mut self) {
        let chains = self.askers.calls.values().filter_map(|(_, chain)| *chain);
        self.askers.stacks = chains.map(|chain| (chain, Stack::default())).collect();
        self.each_row(CHAINS, &["id", "stack", "stackDepth"], |reader, row| {
            let (Some(chain), Some(text), Some(depth)) = (row.integer(0), row.integer(1), row.integer(2))
            else {
                return reader.trace.count_loss(LossKind::ValueWithoutTask, 1, CHAINS);
            };
            // Chains of calls that launched nothing stay where they are.
            if let Some(stack) = reader.askers.stacks.get_mut(&chain) {
                stack.lines.push((depth, text));
            }
        });
    }

    /// Enters the call that asked for a task.
    pub(super) fn enter_launch_site(&mut self, task: TaskId, connection: Option<i64>) {
        let Some(&(call, chain)) = connection.and_then(|connection| self.askers.calls.get(&connection))
        else {
            return;
        };
        let stack = chain.and_then(|chain| self.stack(chain));
        self.trace.launch_sites.push(LaunchSite { task, call, stack });
    }

    /// The text of a chain of calls; none where the database lacks its lines.
    fn stack(&mut self, chain: i64) -> Option<StringId> {
        let stack = self.askers.stacks.get_mut(&chain)?;
        if stack.text.is_none() && !stack.lines.is_empty() {
            stack.lines.sort_unstable();
            let texts = &mut self.texts;
            let lines: Vec<StringId> = stack.lines.iter().map(|&(_, text)| texts.find(Some(text))).collect();
            let lines: Vec<&str> = lines.into_iter().map(|line| texts.table.get(line)).collect();
            stack.text = Some(self.trace.strings.intern(&lines.join("\n")));
        }
        stack.text
    }
}
