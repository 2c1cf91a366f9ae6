//! `os_runtime_statistic`: calls of the operating system and of threads, by name and thread.

use std::collections::BTreeMap;

use crate::export::sheet::Sheet;
use crate::facts::view::View;
use crate::headings::{owned, written};

/// Times of the calls of one name on one thread, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Statistic {
    count: u64,
    total: f64,
    min: f64,
    max: f64,
}

/// The table; `Time(%)` is a share of 1, as in the reference.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let calls = &view.joined.data.host.os_calls;
    let mut groups: BTreeMap<(&'a str, u32), Statistic> = BTreeMap::new();
    for call in calls.table.rows() {
        let time = call.duration as f64;
        let group = groups.entry((calls.name(&call), call.thread)).or_default();
        group.min = if group.count == 0 { time } else { group.min.min(time) };
        group.max = group.max.max(time);
        group.count += 1;
        group.total += time;
    }
    let all: f64 = groups.values().map(|group| group.total).sum();
    let mut lines: Vec<_> = groups.into_iter().collect();
    lines.sort_by(|a, b| b.1.total.total_cmp(&a.1.total));
    let process = view.joined.data.pid();
    (!lines.is_empty()).then(|| Sheet {
        kind: "os_runtime_statistic",
        headers: owned(&written::OS_RUNTIME_STATISTIC),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let ((name, thread), group) = lines[index];
            row.text("host");
            row.integer(process);
            row.integer(thread);
            row.text(name);
            row.float(if all > 0.0 { group.total / all } else { 0.0 });
            row.float(group.total / 1_000.0);
            row.integer(group.count);
            for time in [group.total / group.count as f64, group.max, group.min] {
                row.float(time / 1_000.0);
            }
        }),
    })
}
