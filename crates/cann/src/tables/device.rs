//! A device's reports of its tasks.

use crate::columns::columns;
use crate::tables::blocks::BlockTable;
use crate::tables::ccu::CcuTables;
use crate::tables::fused::{FusedPartTable, InstructionTable};
use crate::tables::launching::LaunchingTables;
use crate::tables::monitors::MonitorTables;
use crate::tables::samples::SampleTables;
use opscope_trace::Losses;

/// Where a device task was recorded, which decides how its kind is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskLog {
    /// A whole task in `stars_soc.data`; its kind is that of a queue entry.
    Queue,
    /// A sub-task in `stars_soc.data`.
    Subtask,
    /// `hwts.data`.
    Hwts,
    /// `ts_track.data`, a task on the AI CPU of a chip whose other tasks are in `hwts.data`.
    Track,
    /// The timeline records of chip 0.
    Timeline,
    /// `nano_stars_profile.data`.
    NanoStars,
}

columns! {
    /// Tasks that a device executed, by their start.
    DeviceTaskTable,
    /// A task, or sub-task, that a device executed.
    DeviceTask {
        /// The stream.
        stream: u16,
        /// The task's number on its stream.
        task: u32,
        /// The sub-task; [`NO_CONTEXT`](crate::tables::NO_CONTEXT) for a whole task.
        context: u32,
        /// How often the task numbers of the stream had wrapped.
        batch: u16,
        /// The model by which the device names it, on chip 9; 0 elsewhere.
        model: u16,
        /// Where it was recorded.
        log: TaskLog,
        /// Its kind, to be read according to `log`.
        kind: u16,
        /// Start; device ticks.
        start: u64,
        /// End; device ticks.
        end: u64,
    }
}

impl DeviceTaskTable {
    /// Fills in all batches.
    pub(crate) fn set_batches(&mut self, batches: Vec<u16>) {
        debug_assert_eq!(batches.len(), self.len(), "each row has a batch");
        self.batch = batches.into();
    }
}

columns! {
    /// States of tasks on chip 0, in the order of the file.
    TaskStateTable,
    /// A change of a task's state on chip 0.
    TaskState {
        /// The stream.
        stream: u16,
        /// The task.
        task: u16,
        /// The kind of task.
        kind: u16,
        /// 1 waiting, 2 running, 3 complete, 4 pending.
        state: u16,
        /// When; device ticks.
        time: u64,
    }
}

/// The core that counters belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Core {
    /// The cube core, or the whole AI core of chips that don't part them.
    Cube,
    /// The vector core.
    Vector,
}

/// How many counters the cores of any chip have at most.
pub const COUNTERS: usize = 10;

/// The counters of chips that have eight.
pub(crate) fn eight_counters(counters: [u64; 8]) -> [u64; COUNTERS] {
    let mut all = [0; COUNTERS];
    all[..8].copy_from_slice(&counters);
    all
}

columns! {
    /// Counters of tasks, in the order of the files.
    CounterTable,
    /// Counters of a task, or of one block of it.
    Counters {
        /// The stream.
        stream: u16,
        /// The task's number on its stream.
        task: u32,
        /// The sub-task; [`NO_CONTEXT`](crate::tables::NO_CONTEXT) for a whole task.
        context: u32,
        /// The core.
        core: Core,
        /// Whether both kinds of cores work on the task.
        mixed: bool,
        /// Whether these are the counters of a single block.
        block: bool,
        /// Cycles in total.
        cycles: u64,
        /// The counters, in the order of the list of events in `sample.json`.
        counters: [u64; COUNTERS],
        /// Start; device ticks, 0 where it isn't recorded.
        start: u64,
        /// End; device ticks, 0 where it isn't recorded.
        end: u64,
        /// The number of blocks, where the record has it (chip 0), else 0.
        blocks: u16,
    }
}

impl Counters {
    /// Counters of a core that belong to no single task, such as sums of samples.
    pub(crate) fn of_core(core: Core, cycles: u64, counters: [u64; COUNTERS]) -> Self {
        Self {
            stream: 0,
            task: 0,
            context: super::NO_CONTEXT,
            core,
            mixed: false,
            block: false,
            cycles,
            counters,
            start: 0,
            end: 0,
            blocks: 0,
        }
    }
}

columns! {
    /// Steps of models, in the order of the file.
    StepTable,
    /// A step of a model.
    Step {
        /// When; device ticks.
        time: u64,
        /// The iteration, or the number of a mark.
        index: u64,
        /// The model; 4294967295 for marks.
        model: u64,
        /// The stream.
        stream: u16,
        /// The task.
        task: u32,
        /// 0 model start, 1 model end, 2 forward, 3 backward, 4 iteration end, 11 a mark, ….
        tag: u16,
    }
}

columns! {
    /// Wraps of task numbers on a device, by time.
    DeviceFlipTable,
    /// The task numbers of a stream wrapped.
    DeviceFlip {
        /// When; device ticks.
        time: u64,
        /// The stream.
        stream: u16,
        /// The wrap's number; 65535 means that the stream was destroyed.
        number: u16,
        /// The task that carried the wrap, 0 mostly.
        task: u16,
    }
}

columns! {
    /// Numbers of blocks that the device reported.
    BlockNumTable,
    /// The number of blocks of a task.
    BlockNum {
        /// When; device ticks.
        time: u64,
        /// The stream.
        stream: u16,
        /// The task.
        task: u16,
        /// The number of blocks, and in the high half the slave blocks for each of them.
        blocks: u32,
    }
}

columns! {
    /// States of copies, in the order of the file.
    TrackMemcpyTable,
    /// A change of a copy's state.
    TrackMemcpy {
        /// When; device ticks.
        time: u64,
        /// The stream.
        stream: u16,
        /// The task.
        task: u16,
        /// The state.
        state: u8,
    }
}

columns! {
    /// Operators on the device's general processors, in the order of the files.
    AiCpuTable,
    /// An operator on the device's general processors.
    AiCpu {
        /// The stream.
        stream: u16,
        /// The task.
        task: u16,
        /// Start; device ticks.
        start: u64,
        /// End; device ticks.
        end: u64,
        /// From the begin of the computation to that of the copy, in the record's unit.
        compute: u64,
        /// How long the copy took, in the record's unit.
        copy: u64,
        /// Microseconds of dispatching.
        dispatch: u32,
        /// From submission to the end; device ticks.
        total: u64,
        /// Whether the record has the older form, in which the unit is nanoseconds.
        old: bool,
    }
}

columns! {
    /// Counters of a unit outside of the cores, by task, in the order of the files.
    TaskEventsTable,
    /// Counts of a task.
    TaskEvents {
        /// The stream.
        stream: u16,
        /// The task.
        task: u32,
        /// A counter for each event.
        counters: [u64; 8],
    }
}

/// A step of the preparation of data for the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preparation {
    /// When; nanoseconds of the monotonic clock.
    pub time: u64,
    /// The kind of action.
    pub action: String,
    /// From where.
    pub source: String,
    /// Entries left in the buffer.
    pub size: u64,
}

/// Everything that one device reported.
#[derive(Debug, Default)]
pub struct DeviceTables {
    /// Tasks that it executed.
    pub tasks: DeviceTaskTable,
    /// States of tasks, on chip 0.
    pub states: TaskStateTable,
    /// Counters of tasks.
    pub counters: CounterTable,
    /// Steps of models.
    pub steps: StepTable,
    /// Wraps of task numbers.
    pub flips: DeviceFlipTable,
    /// Numbers of blocks.
    pub block_nums: BlockNumTable,
    /// Copies.
    pub memcpys: TrackMemcpyTable,
    /// Operators on the general processors.
    pub ai_cpu: AiCpuTable,
    /// Collective operations whose steps the device launched.
    pub launching: LaunchingTables,
    /// Preparation of data, in the order of the files.
    pub preparations: Vec<Preparation>,
    /// Counters of the level-2 cache.
    pub cache: TaskEventsTable,
    /// Counters of the translation of addresses.
    pub translation: TaskEventsTable,
    /// Blocks of tasks.
    pub blocks: BlockTable,
    /// Parts of fused tasks.
    pub fused: FusedPartTable,
    /// Busy stretches and checkpoints of cores.
    pub instructions: InstructionTable,
    /// Readings of the monitors beside cores.
    pub monitors: MonitorTables,
    /// Work of the units for collective communication.
    pub ccu: CcuTables,
    /// Sampled quantities.
    pub samples: SampleTables,
    /// Dropped records.
    pub losses: Losses,
}
