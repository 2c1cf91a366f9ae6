//! Work of data processing units (DPU), which serve communication beside the processors.

use crate::columns::columns;

columns! {
    /// Tasks of data processing units, by begin.
    DpuTaskTable,
    /// A task of a data processing unit.
    DpuTask {
        /// The unit.
        device: u16,
        /// The stream.
        stream: u16,
        /// The task.
        task: u32,
        /// The host's thread that reported it.
        thread: u32,
        /// The runtime's kind of task.
        kind: u32,
        /// When it began; host ticks.
        start: u64,
        /// When it ended; host ticks.
        end: u64,
    }
}

columns! {
    /// Names of kernels of data processing units, by unit, task and time.
    DpuKernelTable,
    /// The kernel of a task of a data processing unit.
    DpuKernel {
        /// The unit.
        device: u16,
        /// The task.
        task: u32,
        /// When it was handed over; host ticks.
        time: u64,
        /// The kernel's name, hashed.
        kernel: u64,
    }
}

columns! {
    /// Steps of collective operations on data processing units, by begin.
    DpuStepTable,
    /// A step of a collective operation on a data processing unit.
    DpuStep {
        /// The unit.
        device: u16,
        /// The stream.
        stream: u16,
        /// The task.
        task: u32,
        /// The host's thread that reported it.
        thread: u32,
        /// When it began; host ticks.
        start: u64,
        /// When it ended; host ticks.
        end: u64,
        /// The processor whose AI CPU asked for it.
        processor: u16,
        /// The task of that AI CPU.
        ai_cpu_task: u32,
        /// The step's name, hashed.
        name: u64,
        /// The operation's tag, hashed.
        tag: u64,
        /// The group's name, hashed.
        group: u64,
        /// This process's rank.
        local_rank: u32,
        /// The other side's rank; `u32::MAX` for none.
        remote_rank: u32,
        /// How many ranks there are.
        rank_size: u32,
        /// The stage of the algorithm.
        stage: u32,
        /// The plane.
        plane: u16,
        /// The notification waited for; `u64::MAX` for none.
        notify: u64,
        /// An estimate of the duration in microseconds.
        estimate: f64,
        /// Bytes.
        size: u64,
        /// How data are reduced.
        reduction: u8,
        /// The element type.
        data_type: u8,
        /// The kind of link.
        link: u8,
        /// The kind of transport.
        transport: u8,
        /// The kind of a remote access.
        rdma: u8,
        /// Whether it receives or sends.
        role: u8,
        /// How the operation is executed.
        mode: u8,
    }
}

/// The work of data processing units.
#[derive(Clone, Debug, Default)]
pub struct DpuTables {
    /// Their tasks.
    pub tasks: DpuTaskTable,
    /// The kernels of tasks.
    pub kernels: DpuKernelTable,
    /// Steps of collective operations.
    pub steps: DpuStepTable,
}

impl DpuTables {
    /// Whether no unit worked.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.steps.is_empty()
    }
}
