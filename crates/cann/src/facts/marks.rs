//! The devices' sides of the marks that the program set.

use opscope_trace::NumberMap;

use crate::facts::view::View;
use crate::tables::{NO_MODEL, Tx};

/// The tag of steps that are the device's side of a mark.
const MARK: u16 = 11;

/// The device's side of a mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceMark {
    /// The device's number in [`View::devices`].
    pub(crate) device: usize,
    /// The device's counter at its begin.
    pub(crate) ticks: u64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) stream: u16,
    pub(crate) task: u32,
}

/// The devices' sides of all marks, by their number.
pub(crate) fn device_marks(view: &View<'_>) -> NumberMap<u64, DeviceMark> {
    let mut marks: NumberMap<u64, DeviceMark> = NumberMap::default();
    for (number, device) in view.devices.iter().enumerate() {
        let steps = &device.device.tables.steps;
        for step in steps.rows().filter(|step| step.model == NO_MODEL && step.tag == MARK) {
            let time = device.time(step.time);
            let mark = marks.entry(step.index).or_insert(DeviceMark {
                device: number,
                ticks: step.time,
                start: time,
                end: time,
                stream: step.stream,
                task: step.task,
            });
            mark.end = mark.end.max(time);
        }
    }
    marks
}

/// The devices' sides of the program's marks in the collection, with the marks' messages.
pub(crate) fn executed_marks<'a>(view: &'a View<'_>) -> Vec<(DeviceMark, &'a str)> {
    let host = &view.joined.data.host;
    let sides = device_marks(view);
    let of_mark = |tx: Tx| {
        let mark = sides.get(&tx.mark).filter(|mark| mark.start >= view.begin())?;
        Some((*mark, host.messages.get(tx.message as usize).map_or("", String::as_str)))
    };
    host.tx.rows().filter(|tx| tx.mstx).filter_map(of_mark).collect()
}

/// The words for how a range was opened and closed.
pub(crate) fn event_type(number: u32) -> &'static str {
    match number {
        0 => "marker",
        1 => "push/pop",
        2 => "start/end",
        3 => "marker_ex",
        _ => "N/A",
    }
}
