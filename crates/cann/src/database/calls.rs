//! `CANN_API` and `OSRT_API`: the calls of the host's libraries, of its operating system and of threads.

use std::io::{self, Seek, Write};

use opscope_columns::Column;

use crate::database::output::Output;
use crate::database::schema;
use crate::facts::calls::call_name;
use crate::facts::os_calls::os_calls;
use crate::facts::view::View;

/// A thread with its process.
pub(super) fn global_thread(pid: u32, thread: u32) -> i64 {
    (u64::from(pid) << 32 | u64::from(thread)) as i64
}

/// Writes the calls.
pub(super) fn write<'a, W: Write + Seek + Send>(
    view: &'a View<'a>,
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    let api = &view.joined.data.host.api;
    let clock = &view.joined.data.host_clock;
    let shown: Column<(u32, u32)> = (0..api.len())
        .filter_map(|row| {
            let call = api.row(row);
            view.is_of_collection(&call).then(|| (row as u32, out.strings.add(call_name(view, &call))))
        })
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    let pid = view.joined.data.pid();
    out.table(&schema::CANN_API, shown.len(), |index, row| {
        let (number, name) = shown[index];
        let call = api.row(number as usize);
        row.integer(clock.local(call.begin));
        row.integer(clock.local(call.end));
        row.integer(i64::from(call.level));
        row.integer(global_thread(pid, call.thread));
        row.key(i64::from(number) + 1);
        row.integer(i64::from(name));
    })
}

/// Writes the calls of the operating system and of threads.
pub(super) fn write_os_calls<'a, W: Write + Seek + Send>(
    view: &'a View<'a>,
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    let begin = view.begin();
    let shown = os_calls(view).filter(|call| call.start >= begin);
    let shown: Vec<_> = shown.map(|run| (run, out.strings.add(run.name))).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let pid = view.joined.data.pid();
    out.table(&schema::OSRT_API, shown.len(), |index, row| {
        let (run, name) = shown[index];
        row.integer(i64::from(name));
        row.integer(global_thread(pid, run.call.thread));
        row.integer(run.start);
        row.integer(run.end);
    })
}
