//! Tasks that the host handed to devices, the wraps of their numbers, and what copies move.

use opscope_cann_raw::Chip;
use opscope_cann_raw::dpu::DEVICE_BITS;
use opscope_cann_raw::host::{MemcpyInfo, TaskTrack as RawTrack, level};

use crate::decode::{Append, decode, dpu};
use crate::names::Names;
use crate::slices::{HOST_MAGIC, Stream};
use crate::tables::{
    DpuKernel, DpuKernelTable, ExtentRow, HostFlip, HostFlipTable, Memcpy, MemcpyTable, TaskTrack,
    TaskTrackTable,
};
use opscope_trace::{LossKind, Losses};

/// The numbers of the runtime's kinds of task that aren't work, where no dictionary names them.
const MAINTENANCE: u32 = 6;
const FLIP_TASK: u32 = 98;

/// The runtime's records of tasks.
#[derive(Default)]
pub(super) struct Tracks {
    /// By thread and time.
    pub(super) tasks: TaskTrackTable,
    /// How large launches were.
    pub(super) extents: Vec<[u16; 6]>,
    /// Wraps of task numbers, by time.
    pub(super) flips: HostFlipTable,
    /// Kernels that were handed to data processing units instead.
    pub(super) dpu_kernels: DpuKernelTable,
}

impl Tracks {
    /// The place of an extent. Launches that follow one another often are as large.
    fn place_of(&mut self, extent: [u16; 6]) -> ExtentRow {
        if self.extents.last() != Some(&extent) {
            self.extents.push(extent);
        }
        ExtentRow::from_index(self.extents.len() - 1)
    }
}

impl Append for Tracks {
    fn append(&mut self, next: &mut Self) {
        let first = self.extents.len();
        if first > 0 && !next.extents.is_empty() {
            next.tasks.number_extents_from(first);
        }
        self.tasks.append(&mut next.tasks);
        self.extents.append(&mut next.extents);
        Append::append(&mut self.flips, &mut next.flips);
        Append::append(&mut self.dpu_kernels, &mut next.dpu_kernels);
    }
}

/// The runtime's records of tasks.
pub(super) fn task_tracks(streams: &[Stream], names: &Names, chip: Chip, losses: &mut Losses) -> Tracks {
    let number_of = |name: &str, default| {
        names
            .types_of(level::RUNTIME)
            .filter(|(_, known)| *known == name)
            .map(|(number, _)| number)
            .min()
            .unwrap_or(default)
    };
    let (flip_kind, maintenance_kind) =
        (number_of("FLIP_TASK", FLIP_TASK), number_of("MAINTENANCE", MAINTENANCE));
    let mut tracks: Tracks =
        decode(streams, Some(HOST_MAGIC), losses, |tracks: &mut Tracks, raw: RawTrack, _| {
            let kind = u32::try_from(raw.task_type).map_err(|_| LossKind::InvalidRecord)?;
            let task = match chip.has_wide_task_ids() {
                true => u32::from(raw.batch) << 16 | u32::from(raw.task),
                false => u32::from(raw.task),
            };
            if dpu::is_of_unit(raw.device) {
                if kind != flip_kind && kind != maintenance_kind {
                    let (device, time) = (raw.device & DEVICE_BITS, raw.head.time);
                    tracks.dpu_kernels.push(DpuKernel { device, task, time, kernel: raw.kernel });
                }
                return Ok(());
            }
            if raw.device & !DEVICE_BITS != 0 {
                return Err(LossKind::UnknownRecord);
            }
            let (device, stream, time) = (raw.device & DEVICE_BITS, raw.stream, raw.head.time);
            if kind == flip_kind {
                tracks.flips.push(HostFlip { time, device, stream, task: raw.task, number: raw.batch });
            } else if kind != maintenance_kind {
                let batch = if chip.has_wide_task_ids() { 0 } else { raw.batch };
                let (thread, kernel) = (raw.head.thread, raw.kernel);
                let is_whole = raw.head.length == RawTrack::WHOLE;
                let extent = is_whole.then(|| tracks.place_of(raw.extent));
                tracks.tasks.push(TaskTrack {
                    thread,
                    time,
                    device,
                    stream,
                    task,
                    batch,
                    kind,
                    kernel,
                    extent,
                });
            }
            Ok(())
        });
    tracks.tasks.sort_by_key(|t, i| (t.thread()[i], t.time()[i]));
    tracks.flips.sort_by_key(|t, i| t.time()[i]);
    tracks
}

/// Notes on the bytes of asynchronous copies, by thread and time.
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
