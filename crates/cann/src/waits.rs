//! How long operators waited for their device, worked out for files that don't tell it.

use opscope_trace::{DeviceId, DeviceKind, Nanoseconds, Task, TaskId, Trace};

use crate::vocabulary::FIRST_GROUP_STREAM;

/// Works out how long operators waited, as the Ascend tools' tables have it: the time since the device
/// finished the operator before.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// The end of the operator before, by device.
    ends: Vec<Option<Nanoseconds>>,
}

impl Waits {
    /// The wait of a device's next operator, which come in the order of their starts; none for the first.
    pub(crate) fn next(
        &mut self,
        device: DeviceId,
        start: Nanoseconds,
        end: Nanoseconds,
    ) -> Option<Nanoseconds> {
        let index = device.index();
        self.ends.resize(self.ends.len().max(index + 1), None);
        let before = self.ends[index].replace(end)?;
        Some((start - before).max(Nanoseconds::ZERO))
    }

    /// Enters the waits of all operators of NPUs, unless a file told some itself; but none of the streams that
    /// stand for groups of devices.
    pub(crate) fn enter(trace: &mut Trace) {
        let tasks = &trace.tasks;
        if tasks.wait().iter().any(Option::is_some) {
            return;
        }
        let device_of = |task: TaskId| {
            tasks.operator()[task.index()]?;
            let stream = trace.streams.get(tasks.stream()[task.index()]?);
            let is_npu = trace.devices.kind()[stream.device.index()] == DeviceKind::Npu;
            (is_npu && stream.number < FIRST_GROUP_STREAM).then_some(stream.device)
        };
        let mut order: Vec<(Nanoseconds, TaskId, DeviceId)> = (tasks.ids())
            .filter_map(|task| Some((tasks.start()[task.index()], task, device_of(task)?)))
            .collect();
        order.sort_unstable_by_key(|&(start, task, _)| (start, task));
        let mut waits = Self::default();
        for (start, id, device) in order {
            let task = trace.tasks.get(id);
            let wait = waits.next(device, start, start + task.duration);
            trace.tasks.set(id, Task { wait, ..task });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_waits_from_the_end_of_the_one_before_on_its_device() {
        let [one, other] = [0, 1].map(DeviceId::from_index);
        let mut waits = Waits::default();
        let mut next = |device, start, end| waits.next(device, Nanoseconds(start), Nanoseconds(end));
        assert_eq!(next(one, 10, 20), None);
        assert_eq!(next(other, 12, 15), None);
        assert_eq!(next(one, 25, 40), Some(Nanoseconds(5)));
        assert_eq!(next(one, 30, 50), Some(Nanoseconds(0)));
        assert_eq!(next(other, 65, 70), Some(Nanoseconds(50)));
    }
}
