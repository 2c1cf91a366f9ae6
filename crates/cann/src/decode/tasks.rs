//! Tasks that the host handed to devices, the wraps of their numbers, and what copies move.

use opscope_cann_raw::Chip;
use opscope_cann_raw::host::{MemcpyInfo, TaskTrack as RawTrack, level};

use crate::decode::decode;
use crate::losses::{Losses, Reason};
use crate::names::Names;
use crate::slices::{HOST_MAGIC, Stream};
use crate::tables::{HostFlip, HostFlipTable, Memcpy, MemcpyTable, TaskTrack, TaskTrackTable};

/// The numbers of the runtime's kinds of task that aren't work, where no dictionary names them.
const MAINTENANCE: u32 = 6;
const FLIP_TASK: u32 = 98;

/// The upper bits of a device number say what kind of device it is; 1 is a DPU.
const DEVICE_BITS: u16 = 0x0FFF;

/// Tasks by thread and time, and wraps of task numbers by time.
pub(super) fn task_tracks(
    streams: &[Stream],
    names: &Names,
    chip: Chip,
    losses: &mut Losses,
) -> (TaskTrackTable, HostFlipTable) {
    let number_of = |name: &str, default| {
        names.types_of(level::RUNTIME).find(|(_, known)| *known == name).map_or(default, |(number, _)| number)
    };
    let (flip_kind, maintenance_kind) =
        (number_of("FLIP_TASK", FLIP_TASK), number_of("MAINTENANCE", MAINTENANCE));
    type Part = (TaskTrackTable, HostFlipTable);
    let (mut tasks, mut flips): Part =
        decode(streams, Some(HOST_MAGIC), losses, |(tasks, flips): &mut Part, raw: RawTrack, _| {
            let kind = u32::try_from(raw.task_type).map_err(|_| Reason::InvalidRecord)?;
            if raw.device & !DEVICE_BITS != 0 {
                return Err(Reason::UnknownRecord);
            }
            let (device, stream, time) = (raw.device & DEVICE_BITS, raw.stream, raw.head.time);
            if kind == flip_kind {
                flips.push(HostFlip { time, device, stream, task: raw.task, number: raw.batch });
            } else if kind != maintenance_kind {
                let (task, batch) = if chip.has_wide_task_ids() {
                    (u32::from(raw.batch) << 16 | u32::from(raw.task), 0)
                } else {
                    (u32::from(raw.task), raw.batch)
                };
                let (thread, kernel) = (raw.head.thread, raw.kernel);
                let extent = (raw.head.length == RawTrack::WHOLE).then_some(raw.extent);
                tasks.push(TaskTrack { thread, time, device, stream, task, batch, kind, kernel, extent });
            }
            Ok(())
        });
    tasks.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    flips.sort_by_key(|t, i| t.time()[i]);
    (tasks, flips)
}

/// What asynchronous copies move, by thread and time.
pub(super) fn memcpys(streams: &[Stream], losses: &mut Losses) -> MemcpyTable {
    let mut table: MemcpyTable =
        decode(streams, Some(HOST_MAGIC), losses, |table: &mut MemcpyTable, raw: MemcpyInfo, _| {
            let MemcpyInfo { head, bytes, most, direction } = raw;
            table.push(Memcpy { thread: head.thread, time: head.time, bytes, most, direction });
            Ok(())
        });
    table.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    table
}
