//! `MSTX_EVENTS`, and the devices' sides of marks, which are rows of `TASK`.

use std::io::{self, Seek, Write};

use crate::database::calls::global_thread;
use crate::database::ids::{TaskIds, TaskKey};
use crate::database::output::Output;
use crate::database::schema;
use crate::facts::view::View;
use crate::tables::Step;

/// The connection of ranges without a side on a device.
const NO_CONNECTION: i64 = 4_000_000_000;

/// The device's side of a mark, or of a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceMark {
    pub(super) device: u32,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) stream: u16,
    pub(super) task: u32,
    pub(super) model: u64,
    pub(super) connection: i64,
    /// Its number in the database.
    pub(super) id: u32,
}

/// The connection of a mark: they lie behind all those of calls.
fn connection(mark: u64) -> i64 {
    i64::try_from(mark).unwrap_or(i64::MAX).saturating_add(NO_CONNECTION + 1)
}

/// The devices' sides of marks, by device and mark.
pub(super) fn on_devices(view: &View<'_>, ids: &mut TaskIds) -> Vec<DeviceMark> {
    const MARK: u16 = 11;
    const RANGE: u16 = 12;
    let mut marks: Vec<DeviceMark> = Vec::new();
    for device in &view.devices {
        let (clock, metadata) = (&device.device.clock, &device.device.metadata);
        // Since CANN 9.1 marks and ranges have tags of their own; before, a mark's second step ends it.
        let parted = has_ranges(&metadata.info.cann_version);
        let is_mark = |step: &Step| matches!(step.tag, MARK | RANGE);
        let mut steps: Vec<Step> = device.device.tables.steps.rows().filter(is_mark).collect();
        steps.sort_by_key(|step| (parted && step.tag == RANGE, step.index, step.time));
        let first = marks.len();
        for step in steps {
            let time = clock.local(step.time);
            let of_same = marks[first..].last().is_some_and(|mark| mark.connection == connection(step.index));
            if of_same && (!parted || step.tag == RANGE) {
                if let Some(mark) = marks.last_mut() {
                    mark.end = time;
                }
                continue;
            }
            marks.push(DeviceMark {
                device: device.device.id,
                start: time,
                end: time,
                stream: step.stream,
                task: step.task,
                model: step.model,
                connection: connection(step.index),
                id: 0,
            });
        }
        let begin = metadata.session.begin.unwrap_or(i64::MIN);
        let shown = marks[first..].iter().filter(|mark| mark.start >= begin).copied().collect::<Vec<_>>();
        marks.truncate(first);
        marks.extend(shown);
    }
    for mark in &mut marks {
        mark.id = ids.id(TaskKey::of_mark(mark.device, mark.stream, mark.task, mark.connection as u64));
    }
    marks
}

/// Whether a version of CANN gives ranges on devices a tag of their own.
fn has_ranges(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (9, 1)
}

/// Writes the ranges and marks that the program set: first the classic ones, then those of mstx.
pub(super) fn write<'a, W: Write + Seek + Send>(
    view: &'a View<'a>,
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    let host = &view.joined.data.host;
    let clock = &view.joined.data.host_clock;
    let begin = view.begin();
    let shown =
        |mstx: bool| host.tx.rows().filter(move |tx| tx.mstx == mstx && clock.local(tx.start) >= begin);
    let rows: Vec<_> = shown(false)
        .chain(shown(true))
        .map(|tx| {
            let message = host.messages.get(tx.message as usize).map_or("", String::as_str);
            let domain = if tx.mstx { view.text(tx.domain) } else { "" };
            (tx, out.strings.add(message), out.strings.add(domain))
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let pid = view.joined.data.pid();
    out.table(&schema::MSTX_EVENTS, rows.len(), |index, row| {
        let (tx, message, domain) = &rows[index];
        row.integer(clock.local(tx.start));
        row.integer(clock.local(tx.end));
        row.integer(i64::from(tx.event_type));
        row.integer(i64::from(u32::MAX));
        row.integer(if tx.mstx { i64::from(u32::MAX) } else { i64::from(tx.category) });
        row.integer(i64::from(*message));
        row.integer(global_thread(pid, tx.thread));
        row.integer(global_thread(pid, tx.thread));
        row.integer(i64::from(*domain));
        row.integer(if tx.mstx { connection(tx.mark) } else { NO_CONNECTION });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_from_marks_since_cann_9_1() {
        assert!(["9.1.0", "9.1", "10.0.1"].into_iter().all(has_ranges));
        assert!(["", "8.3.RC1", "9.0.9", "N/A"].into_iter().all(|version| !has_ranges(version)));
    }

    #[test]
    fn no_number_of_a_mark_is_too_large() {
        assert_eq!(connection(2), 4_000_000_003);
        assert_eq!(connection(u64::MAX), i64::MAX);
    }
}
