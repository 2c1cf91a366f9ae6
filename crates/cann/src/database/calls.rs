//! `CANN_API`: the calls of the host's libraries.

use std::io::{self, Seek, Write};

use opscope_cann_raw::host::level;

use crate::database::output::Output;
use crate::database::schema;
use crate::export::api_statistic::call_name;
use crate::export::view::View;
use crate::names::NumberMap;
use crate::tables::Api;

/// A thread with its process.
pub(super) fn global_thread(pid: u32, thread: u32) -> i64 {
    (u64::from(pid) << 32 | u64::from(thread)) as i64
}

/// Writes the calls. Of those that ended before the collection began, only what belongs to the
/// load of a model is shown.
pub(super) fn write<'a, W: Write + Seek>(view: &'a View<'a>, out: &mut Output<'a, W>) -> io::Result<()> {
    let api = &view.joined.data.host.api;
    let clock = &view.joined.data.host_clock;
    let begin = view.begin();
    // The loads of models on each thread, by their begin.
    let mut loads: NumberMap<u32, Vec<(u64, u64)>> = NumberMap::default();
    for call in api.rows().filter(|call| call.level == level::MODEL && call_name(view, call) == "ModelLoad") {
        loads.entry(call.thread).or_default().push((call.begin, call.end));
    }
    let of_load = |call: &Api| {
        let of_thread = loads.get(&call.thread).map_or(&[][..], Vec::as_slice);
        let begun = of_thread.partition_point(|(begin, _)| *begin <= call.begin);
        of_thread[..begun].last().is_some_and(|(_, end)| call.end <= *end)
    };
    let mut shown: Vec<(u32, u32)> = Vec::with_capacity(api.len());
    for row in 0..api.len() {
        if clock.local(api.end()[row]) >= begin || of_load(&api.row(row)) {
            shown.push((row as u32, out.strings.add(call_name(view, &api.row(row)))));
        }
    }
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
