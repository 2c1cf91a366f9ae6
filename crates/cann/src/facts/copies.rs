//! Asynchronous copies: the host's notes on their bytes, shared out to their tasks.

use opscope_trace::NumberMap;

use crate::facts::view::View;
use crate::tables::HostTaskRow;

/// The direction of a copy of which it isn't known.
pub(crate) const OTHER: u16 = u16::MAX;

/// The directions of copies and their names.
pub(crate) const DIRECTIONS: &[(u16, &str)] = &[
    (0, "host to host"),
    (1, "host to device"),
    (2, "device to host"),
    (3, "device to device"),
    (4, "managed memory"),
    (5, "addr device to device"),
    (6, "host to device ex"),
    (7, "device to host ex"),
    (OTHER, "other"),
];

/// A task that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) host_task: HostTaskRow,
    /// 0 where nobody noted them.
    pub(crate) bytes: u64,
    /// One of [`DIRECTIONS`].
    pub(crate) direction: u16,
}

impl Copied {
    /// The direction's name.
    pub(crate) fn direction_name(&self) -> &'static str {
        DIRECTIONS.iter().find(|(number, _)| *number == self.direction).map_or("", |(_, name)| name)
    }
}

/// The tasks that copy, by batch and number; none where no copy was noted.
pub(crate) fn copies(view: &View<'_>) -> Vec<Copied> {
    let notes = &view.joined.data.host.memcpys;
    if notes.is_empty() {
        return Vec::new();
    }
    // With each note, how much of it is still to be copied.
    let mut noted: NumberMap<(u32, u64), (usize, u64)> = (0..notes.len())
        .rev()
        .map(|row| ((notes.thread()[row], notes.time()[row]), (row, notes.bytes()[row])))
        .collect();
    let tasks = &view.joined.host_tasks;
    let mut copies: Vec<usize> = (0..tasks.len()).filter(|&row| view.is_copy(tasks.kind()[row])).collect();
    copies.sort_by_key(|&row| (tasks.batch()[row], tasks.task()[row]));
    let copied = |row: usize| {
        // Several tasks of one copy share its note, each with a part of the bytes.
        let (bytes, direction) = match noted.get_mut(&(tasks.thread()[row], tasks.time()[row])) {
            Some((note, rest)) if *rest > 0 => {
                let part = (*rest).min(notes.most()[*note].max(1));
                *rest -= part;
                (part, notes.direction()[*note])
            }
            _ => (0, OTHER),
        };
        let is_known = DIRECTIONS.iter().any(|(number, _)| *number == direction);
        Copied {
            host_task: HostTaskRow::from_index(row),
            bytes,
            direction: if is_known { direction } else { OTHER },
        }
    };
    copies.into_iter().map(copied).collect()
}
