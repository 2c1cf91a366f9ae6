//! Data processing units (DPU) of a 950, which serve its collective operations.
//!
//! Each round, unit 0 executes a kernel of 20 µs and two steps of 5 and 10 µs behind it; the values of round number k
//! are simple functions of k.

use std::io;
use std::path::Path;

use opscope_cann_raw::dpu::{DEVICE_BITS, DEVICE_KIND, DpuHcclInfo, DpuTrack};
use opscope_cann_raw::hash_of;
use opscope_cann_raw::host::{Head, MAGIC, TaskTrack, level};

use crate::synthetic::clockwork::Clockwork;
use crate::synthetic::hardware::File;
use crate::synthetic::host::{HostFiles, THREAD};

/// The names of what the units execute.
pub(super) const TEXTS: [&str; 3] = ["DpuSend", "RDMASend", "Notify_Wait"];

/// The unit, and the number that stands for it.
const UNIT: u16 = 0;
const DEVICE: u16 = DEVICE_KIND << DEVICE_BITS.count_ones() | UNIT;

/// The streams of kernels and of steps.
const KERNELS: u16 = 4;
const STEPS: u16 = 5;

const KERNEL_AICPU: u32 = 1;

/// Writes the units' files.
pub(super) struct Units {
    clockwork: Clockwork,
    tracks: File,
    steps: File,
}

impl Units {
    pub(super) fn new(directory: &Path, clockwork: Clockwork) -> Self {
        let tracks = File::new(directory, "aging.compact.dpu_track");
        let steps = File::new(directory, "aging.additional.dpu_hccl_info");
        Self { clockwork, tracks, steps }
    }

    /// The work of the units from `time` on in the round of a number, for a group of ranks.
    pub(super) fn round(&mut self, host: &mut HostFiles, time: u64, k: u32, group: u64) -> io::Result<()> {
        let [kernel, send, wait] = TEXTS.map(hash_of);
        let head = |end, length| Head {
            magic: MAGIC,
            level: level::RUNTIME,
            kind: 0,
            thread: THREAD,
            length,
            time: self.clockwork.host(end),
        };
        host.hand_out_to_unit(&TaskTrack {
            head: Head { kind: 802, ..head(time, 0) },
            device: DEVICE,
            stream: KERNELS,
            task: k as u16,
            batch: (k >> 16) as u16,
            task_type: u64::from(KERNEL_AICPU),
            kernel,
            ..TaskTrack::default()
        })?;
        let start = time + 1_000;
        self.tracks.put(&DpuTrack {
            head: head(start + 20_000, 24),
            device: DEVICE,
            stream: KERNELS,
            task: k,
            task_type: KERNEL_AICPU,
            start: self.clockwork.host(start),
        })?;
        for (place, (name, begin, duration)) in
            (0..).zip([(send, start + 20_000, 5_000), (wait, start + 30_000, 10_000)])
        {
            self.steps.put(&DpuHcclInfo {
                head: head(begin + duration, 112),
                item: name,
                tag: u64::from(k),
                group,
                local_rank: 0,
                remote_rank: if place == 0 { 1 } else { u32::MAX },
                rank_size: 2,
                stage: 0,
                notify: if place == 0 { u64::MAX } else { 16 + u64::from(k) },
                start: self.clockwork.host(begin),
                estimate: 4.5,
                source: 0x1000,
                destination: 0x2000,
                size: if place == 0 { 1 << 20 } else { 0 },
                task: 2 * k + place,
                ai_cpu_task: k,
                stream: STEPS,
                plane: 0,
                processor: 0,
                device: DEVICE,
                reduction: u8::MAX,
                data_type: 4,
                link: 3,
                transport: 1,
                rdma: 1 - place as u8,
                role: 1 - place as u8,
                mode: 1,
            })?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        [self.tracks, self.steps].into_iter().try_for_each(File::finish)
    }
}
