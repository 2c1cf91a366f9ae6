//! The nesting of calls on each thread.
//!
//! Calls nest in time: an application's call contains those of the model, which contain those of
//! nodes, which contain the runtime's. A point in time belongs to the call that was opened last
//! among those that contain it; a call contains its end, but not its begin.

use opscope_cann_raw::host::level;

use crate::tables::{ApiTable, CallRow};
use opscope_trace::NumberMap;

/// The calls of one thread that can contain others, by begin; of those that begin together the
/// outer one comes first.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    calls: Vec<CallRow>,
    /// For each call of a node that contains others of nodes, these.
    inner_nodes: NumberMap<CallRow, Vec<CallRow>>,
}

/// The calls that contain a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The innermost call of any level.
    pub(super) innermost: Option<CallRow>,
    /// The innermost call of the model.
    pub(super) model: Option<CallRow>,
    /// The innermost call of a node.
    pub(super) node: Option<CallRow>,
    /// The innermost call of a collective operation.
    pub(super) communication: Option<CallRow>,
}

impl Path {
    /// Inside of no call.
    const OUTSIDE: Self = Self { innermost: None, model: None, node: None, communication: None };

    /// The call of a node and that of a step within it, if it is within a step of a collective operation.
    pub(super) fn collective(&self) -> Option<(CallRow, CallRow)> {
        self.node.zip(self.communication)
    }
}

/// The calls of each thread, as far as others can lie in them.
pub(super) fn threads(api: &ApiTable) -> NumberMap<u32, Thread> {
    // Of each thread the calls, of each level the last of them, and the calls of nodes that are open.
    type LastCalls = NumberMap<u16, (u64, u64)>;
    let mut threads: NumberMap<u32, (Thread, LastCalls, Vec<CallRow>)> = NumberMap::default();
    for row in 0..api.len() {
        let call = api.row(row);
        let contains = matches!(call.level, level::ACL | level::MODEL | level::NODE | level::COMMUNICATION);
        if !contains || call.begin == call.end {
            continue;
        }
        let (thread, last, open) = threads.entry(call.thread).or_default();
        let row = CallRow::from_index(row);
        // Of calls of one level that overlap, the first counts; only nodes may nest.
        if call.level != level::NODE {
            let (begin, end) = last.get(&call.level).copied().unwrap_or((0, 0));
            if call.begin <= end && begin <= call.end && end > 0 {
                continue;
            }
            last.insert(call.level, (call.begin, call.end));
        } else {
            open.retain(|&outer| api.end()[outer.index()] >= call.end);
            for outer in &*open {
                thread.inner_nodes.entry(*outer).or_default().push(row);
            }
            open.push(row);
        }
        thread.calls.push(row);
    }

    threads.into_iter().map(|(id, (thread, ..))| (id, thread)).collect()
}

/// Walks along a thread's calls in the order of time.
pub(super) struct Walk<'a> {
    api: &'a ApiTable,
    thread: Option<&'a Thread>,
    calls: &'a [CallRow],
    next: usize,
    open: Vec<CallRow>,
}

impl<'a> Walk<'a> {
    /// Starts before the first call; `None` is a thread without calls.
    pub(super) fn new(api: &'a ApiTable, thread: Option<&'a Thread>) -> Self {
        let calls = thread.map_or(&[][..], |thread| &thread.calls);
        Self { api, thread, calls, next: 0, open: Vec::new() }
    }

    /// Whether a point in time within a call of a node lies in another one inside of that.
    pub(super) fn is_of_inner_node(&self, node: CallRow, time: u64) -> bool {
        let inner = self.thread.and_then(|thread| thread.inner_nodes.get(&node));
        inner.into_iter().flatten().any(|row| {
            let (begin, end) = (self.api.begin()[row.index()], self.api.end()[row.index()]);
            begin < time && time <= end
        })
    }

    /// The calls that contain `time`, which must not be before that of the previous question.
    pub(super) fn path_at(&mut self, time: u64) -> Path {
        while let Some(&row) = self.calls.get(self.next).filter(|row| self.api.begin()[row.index()] < time) {
            self.next += 1;
            let end = self.api.end()[row.index()];
            if end >= time {
                self.close_before(self.api.begin()[row.index()].saturating_add(1));
                self.open.push(row);
            }
        }
        self.close_before(time);
        let mut path = Path::OUTSIDE;
        for &row in &self.open {
            path.innermost = Some(row);
            match self.api.level()[row.index()] {
                level::MODEL => path.model = Some(row),
                level::NODE => path.node = Some(row),
                level::COMMUNICATION => path.communication = Some(row),
                _ => {}
            }
        }
        path
    }

    fn close_before(&mut self, time: u64) {
        self.open.retain(|row| self.api.end()[row.index()] >= time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Api;

    fn call(level: u16, begin: u64, end: u64) -> Api {
        Api { level, kind: 0, thread: 1, request: 0, begin, end, item: 0, from_events: false }
    }

    #[test]
    fn a_point_belongs_to_the_call_opened_last_among_those_that_contain_it() {
        let mut api = ApiTable::default();
        let calls = [
            call(level::ACL, 10, 100),
            call(level::MODEL, 20, 90),
            call(level::NODE, 30, 40),
            call(level::NODE, 32, 36),
            call(level::MODEL, 35, 80),
            call(level::NODE, 50, 60),
        ];
        calls.into_iter().for_each(|call| api.push(call));
        let threads = threads(&api);
        let mut walk = Walk::new(&api, threads.get(&1));
        assert_eq!(walk.path_at(10), Path::OUTSIDE);
        let path = |[innermost, model, node]: [Option<usize>; 3]| {
            let [innermost, model, node] = [innermost, model, node].map(|row| row.map(CallRow::from_index));
            Path { innermost, model, node, communication: None }
        };
        assert_eq!(walk.path_at(11), path([Some(0), None, None]));
        assert_eq!(walk.path_at(36), path([Some(3), Some(1), Some(3)]));
        assert_eq!(walk.path_at(37), path([Some(2), Some(1), Some(2)]));
        assert_eq!(walk.path_at(45), path([Some(1), Some(1), None]));
        assert_eq!(walk.path_at(60), path([Some(5), Some(1), Some(5)]));
        assert_eq!(walk.path_at(101), Path::OUTSIDE);
        let inner = [32, 33, 36, 37].map(|time| walk.is_of_inner_node(CallRow::from_index(2), time));
        assert_eq!(inner, [false, true, true, false]);
        assert!(!walk.is_of_inner_node(CallRow::from_index(3), 33));
    }
}
