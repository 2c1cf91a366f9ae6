//! Work of data processing units (DPU).

use opscope_cann_raw::dpu::{DEVICE_BITS, DEVICE_KIND, DpuHcclInfo, DpuTrack};
use opscope_trace::{LossKind, Losses};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::slices::HOST_MAGIC;
use crate::tables::{DpuKernelTable, DpuStep, DpuStepTable, DpuTables, DpuTask, DpuTaskTable};

/// The number of a data processing unit; records of another kind of device are of an unknown kind.
fn unit(device: u16) -> Result<u16, LossKind> {
    match device & !DEVICE_BITS {
        kind if kind == DEVICE_KIND << DEVICE_BITS.count_ones() => Ok(device & DEVICE_BITS),
        _ => Err(LossKind::UnknownRecord),
    }
}

/// Whether a record of the runtime's is about a data processing unit.
pub(super) fn is_of_unit(device: u16) -> bool {
    unit(device).is_ok()
}

/// Decodes tasks and steps; `kernels` is what the runtime noted on tasks when it handed them over.
pub(super) fn units(catalogue: &Catalogue, mut kernels: DpuKernelTable, losses: &mut Losses) -> DpuTables {
    let mut tasks: DpuTaskTable = decode(
        catalogue.streams("compact.dpu_track"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut DpuTaskTable, raw: DpuTrack, _| {
            // All records of this file are of such units, also where the kind of device is left out.
            let device = raw.device & DEVICE_BITS;
            let DpuTrack { head, stream, task, task_type: kind, start, .. } = raw;
            if head.time < start {
                return Err(LossKind::InvalidRecord);
            }
            table.push(DpuTask { device, stream, task, thread: head.thread, kind, start, end: head.time });
            Ok(())
        },
    );
    let mut steps: DpuStepTable = decode(
        catalogue.streams("additional.dpu_hccl_info"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut DpuStepTable, raw: DpuHcclInfo, _| {
            if raw.head.time < raw.start {
                return Err(LossKind::InvalidRecord);
            }
            table.push(DpuStep {
                device: raw.device & DEVICE_BITS,
                stream: raw.stream,
                task: raw.task,
                thread: raw.head.thread,
                start: raw.start,
                end: raw.head.time,
                processor: raw.processor,
                ai_cpu_task: raw.ai_cpu_task,
                name: raw.item,
                tag: raw.tag,
                group: raw.group,
                local_rank: raw.local_rank,
                remote_rank: raw.remote_rank,
                rank_size: raw.rank_size,
                stage: raw.stage,
                plane: raw.plane,
                notify: raw.notify,
                // JSON has no word for a value that is no number.
                estimate: if raw.estimate.is_finite() { raw.estimate } else { 0.0 },
                size: raw.size,
                reduction: raw.reduction,
                data_type: raw.data_type,
                link: raw.link,
                transport: raw.transport,
                rdma: raw.rdma,
                role: raw.role,
                mode: raw.mode,
            });
            Ok(())
        },
    );
    tasks.sort_by_key(|t, i| (t.start()[i], t.end()[i]));
    steps.sort_by_key(|t, i| (t.start()[i], t.end()[i]));
    kernels.sort_by_key(|t, i| (t.device()[i], t.task()[i], t.time()[i]));
    DpuTables { tasks, kernels, steps }
}
