//! Calls of the operating system and of threads, at wall-clock times.

use crate::facts::view::View;
use crate::tables::OsCall;

/// A call: begin and end in wall-clock nanoseconds, and its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OsCallRun<'a> {
    pub(crate) call: OsCall,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) name: &'a str,
}

/// All calls, in the order of the files.
pub(crate) fn os_calls<'a>(view: &'a View<'a>) -> impl ExactSizeIterator<Item = OsCallRun<'a>> {
    let calls = &view.joined.data.host.os_calls;
    let offset = view.joined.data.host_clock.offset();
    calls.table.rows().map(move |call| {
        let start = call.start.saturating_add(offset);
        let end = start.saturating_add(i64::try_from(call.duration).unwrap_or(i64::MAX));
        OsCallRun { call, start, end, name: calls.name(&call) }
    })
}
