//! Threads that launch steps of collective operations for others.
//!
//! A thread whose call launches a node may hand its streams to further threads, one for each, and waits for them
//! within that call. Their calls of steps lie in no call of a node, so they belong to that of the thread which they
//! help; the communication library notes which that is (`ParallelTaskLoader` in its open source).

use opscope_trace::NumberMap;

use crate::join::call_tree::{Path, Thread, Walk};
use crate::join::cursor::Cursor;
use crate::tables::{ApiTable, HelperTable};

/// The owners of one thread that helps, with ways through their calls.
pub(super) struct Owners<'a> {
    api: &'a ApiTable,
    calls: &'a NumberMap<u32, Thread>,
    table: &'a HelperTable,
    /// The rows about the thread.
    rows: std::ops::Range<usize>,
    walks: NumberMap<u32, Walk<'a>>,
}

impl<'a> Owners<'a> {
    /// The owners of a thread; nothing for one that helps none.
    pub(super) fn of_thread(
        table: &'a HelperTable,
        api: &'a ApiTable,
        calls: &'a NumberMap<u32, Thread>,
        thread: u32,
    ) -> Option<Self> {
        let rows = Cursor::new(table.thread(), table.time(), thread).rows_of_thread();
        (!rows.is_empty()).then(|| Self { api, calls, table, rows, walks: NumberMap::default() })
    }

    /// The calls at a time, which must not be before that of the previous question; where they are within no node,
    /// with node and model of the thread that is helped then.
    pub(super) fn complete(&mut self, path: Path, time: u64) -> Path {
        if path.node.is_some() {
            return path;
        }
        let (times, owners) = (&self.table.time()[self.rows.clone()], &self.table.owner()[self.rows.clone()]);
        let told = times.partition_point(|noted| *noted <= time);
        let Some(owner) = told.checked_sub(1).map(|row| owners[row]) else { return path };
        let (api, calls) = (self.api, self.calls);
        let walk = self.walks.entry(owner).or_insert_with(|| Walk::new(api, calls.get(&owner)));
        let of_owner = walk.path_at(time);
        if of_owner.node.is_none() {
            return path;
        }
        Path { node: of_owner.node, model: path.model.or(of_owner.model), ..path }
    }
}

#[cfg(test)]
mod tests {
    use opscope_cann_raw::host::level;

    use super::*;
    use crate::join::call_tree::threads;
    use crate::tables::{Api, CallRow, Helper};

    #[test]
    fn a_time_belongs_to_the_node_of_the_thread_that_was_helped_then() {
        let mut api = ApiTable::default();
        let node = |thread, begin, end| Api {
            level: level::NODE,
            kind: 0,
            thread,
            request: 0,
            begin,
            end,
            item: 0,
            from_events: false,
        };
        [node(1, 100, 200), node(2, 100, 400), node(9, 350, 360)].into_iter().for_each(|call| api.push(call));
        let mut table = HelperTable::default();
        for (time, owner) in [(110, 1), (300, 2), (390, 5)] {
            table.push(Helper { thread: 9, time, owner });
        }
        let calls = threads(&api);
        let mut owners = Owners::of_thread(&table, &api, &calls, 9).expect("owners");
        let mut walk = Walk::new(&api, calls.get(&9));
        let mut node_at = |time| owners.complete(walk.path_at(time), time).node.map(CallRow::index);
        let found = [105, 150, 250, 310, 355, 370, 395].map(&mut node_at);
        assert_eq!(found, [None, Some(0), None, Some(1), Some(2), Some(1), None]);
        assert!(Owners::of_thread(&table, &api, &calls, 1).is_none());
    }
}
