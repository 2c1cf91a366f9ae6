//! Marks that programs make with the vendor's `mstx`: rows of `MSTX_EVENTS`, and the tasks in which the device
//! reached them.

use opscope_reach::database::{Database, each_row, whole};
use opscope_trace::NumberMap;

use crate::profile::Span;

/// The kind of a mark of one moment (`marker_ex` of `ENUM_MSTX_EVENT_TYPE`).
pub const MARK: i64 = 3;

/// The kind of a range (`start/end`).
pub const RANGE: i64 = 2;

/// The connection of events that no task belongs to: no value of 32 bits.
const UNCONNECTED: i64 = 0xFFFF_FFFF;

/// Something that the program marked.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Its kind.
    pub kind: Option<i64>,
    /// When the host marked it.
    pub span: Span,
    /// The number of its text.
    pub message: Option<i64>,
    /// The thread that marked it.
    pub thread: Option<i64>,
    /// The number that ties it to tasks, if there is one.
    pub connection: Option<i64>,
}

/// Reads the events that begin in a stretch of time, in the order of their begins.
///
/// # Errors
/// When the table breaks off; the rows before were read.
pub fn read(database: &Database, within: Span, events: &mut Vec<Event>) -> rusqlite::Result<()> {
    let columns = ["startNs", "endNs", "eventType", "message", "globalTid", "connectionId"];
    let done = each_row(database, "MSTX_EVENTS", &columns, |row| {
        let Some(start) = whole(row, 0).filter(|start| within.contains(*start)) else { return };
        let span = Span { start, end: whole(row, 1).unwrap_or(start) };
        let (kind, message, thread) = (whole(row, 2), whole(row, 3), whole(row, 4));
        let connection = whole(row, 5).filter(|connection| *connection != UNCONNECTED);
        events.push(Event { kind, span, message, thread, connection });
    });
    events.sort_by_key(|event| event.span.start);
    done
}

/// The tasks of events, by their connections.
#[derive(Debug, Default)]
pub struct Reached(NumberMap<i64, Vec<Span>>);

impl Reached {
    /// Reads the tasks of some events.
    ///
    /// # Errors
    /// When the table breaks off; the rows before were read.
    pub fn read(&mut self, database: &Database, events: &[Event]) -> rusqlite::Result<()> {
        self.0.extend(events.iter().filter_map(|event| event.connection).map(|it| (it, Vec::new())));
        each_row(database, "TASK", &["connectionId", "startNs", "endNs"], |row| {
            let tasks = whole(row, 0).and_then(|connection| self.0.get_mut(&connection));
            if let (Some(tasks), Some(start), Some(end)) = (tasks, whole(row, 1), whole(row, 2)) {
                tasks.push(Span { start, end });
            }
        })
    }

    /// The tasks of an event.
    pub fn of(&self, event: &Event) -> &[Span] {
        event.connection.and_then(|connection| self.0.get(&connection)).map_or(&[], Vec::as_slice)
    }

    /// Events with each of their tasks.
    pub fn pairs<'e>(&self, events: &'e [Event]) -> Vec<(&'e Event, Span)> {
        let pair = |event: &'e Event| self.of(event).iter().map(move |task| (event, *task));
        events.iter().flat_map(pair).take(self.most_pairs(events)).collect()
    }

    /// More pairs of events and tasks than both together are only in a file that is made up, which would take any
    /// memory.
    pub fn most_pairs(&self, events: &[Event]) -> usize {
        events.len() + self.0.values().map(Vec::len).sum::<usize>()
    }
}
