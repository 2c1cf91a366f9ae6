//! Calls, and intervals put together from pairs of events.

use std::cmp::Reverse;

use opscope_cann_raw::host::{ApiEvent, EVENT_END};

use crate::decode::decode;
use crate::slices::{HOST_MAGIC, Stream};
use crate::tables::{Api, ApiTable};
use opscope_trace::{LossKind, Losses};

/// One end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    level: u16,
    thread: u32,
    kind: u32,
    request: u32,
    item: u64,
    time: u64,
}

/// Decodes all calls and intervals, in the order of their begin.
pub(super) fn calls(streams: &[Stream], losses: &mut Losses) -> ApiTable {
    let (mut table, events): (ApiTable, Vec<Event>) = decode(
        streams,
        Some(HOST_MAGIC),
        losses,
        |(calls, events): &mut (ApiTable, Vec<Event>), raw: ApiEvent, _| {
            if raw.begin == 0 {
                return Err(LossKind::InvalidRecord);
            }
            let ApiEvent { level, kind, thread, request, item, .. } = raw;
            if raw.end == EVENT_END {
                events.push(Event { level, thread, kind, request, item, time: raw.begin });
                return Ok(());
            }
            if raw.end < raw.begin {
                return Err(LossKind::InvalidRecord);
            }
            let from_events = false;
            calls.push(Api {
                level,
                kind,
                thread,
                request,
                begin: raw.begin,
                end: raw.end,
                item,
                from_events,
            });
            Ok(())
        },
    );
    let name = streams.first().map_or("api_event.data", |stream| &stream.name);
    table.append(&mut intervals(events, name, losses));
    sort_calls(&mut table);
    table
}

/// Sorts calls by begin; of those that begin together the outer one comes first.
pub(super) fn sort_calls(table: &mut ApiTable) {
    table.sort_by_key(|t, i| (t.begin()[i], Reverse(t.level()[i]), Reverse(t.end()[i])));
}

/// Joins each first event with the second of the same kind.
fn intervals(mut events: Vec<Event>, name: &str, losses: &mut Losses) -> ApiTable {
    events.sort_unstable();
    let mut table = ApiTable::default();
    let mut events = events.into_iter().peekable();
    while let Some(first) = events.next() {
        let second = events.next_if(|second| Event { time: first.time, ..*second } == first);
        let Some(second) = second else {
            losses.count(LossKind::UnmatchedEvent, name, 1);
            continue;
        };
        let Event { level, thread, kind, request, item, time } = first;
        let from_events = true;
        table.push(Api { level, kind, thread, request, begin: time, end: second.time, item, from_events });
    }
    table
}
