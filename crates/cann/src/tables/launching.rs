//! A device's reports of the collective operations whose steps its own processors launched.

use crate::columns::columns;
use crate::tables::{CollectiveNote, CommunicationNote, DeviceFlipTable};

/// The most streams that one group of ranks has on a device.
pub const GROUP_STREAMS: usize = opscope_cann_raw::launching::STREAMS_PER_RECORD;

columns! {
    /// The streams of groups of ranks, in the order of the file.
    GroupStreamsTable,
    /// The streams of a group of ranks on a device.
    GroupStreams {
        /// The group's name, hashed.
        group: u64,
        /// How many ranks there are in the group.
        rank_size: u32,
        /// The stream on which the AI CPU launches for fused operators.
        launch_stream: u32,
        /// How many of `streams` are used.
        count: u32,
        /// The streams that carry the steps.
        streams: [u32; GROUP_STREAMS],
    }
}

columns! {
    /// Steps of collective operations that a device launched, in the order of the file.
    DeviceStepTable,
    /// A step of a collective operation that a device launched.
    DeviceStep {
        /// The stream.
        stream: u16,
        /// The task's number on its stream.
        task: u32,
        /// The content of the step; its time is in device ticks, and it has no thread.
        note: CommunicationNote,
    }
}

columns! {
    /// Collective operations that a device unfolded, by time.
    DeviceOperationTable,
    /// A collective operation that a device unfolded.
    DeviceOperation {
        /// The stream of the AI CPU's task.
        stream: u16,
        /// The AI CPU's task.
        task: u32,
        /// How many ranks there are.
        rank_size: u32,
        /// The content of the operation; its time is in device ticks, and it has no thread.
        note: CollectiveNote,
    }
}

columns! {
    /// First and last tasks of operations on their main streams, by time.
    MainStreamTaskTable,
    /// The first or last task of an operation on its main stream.
    MainStreamTask {
        /// When it was launched; device ticks.
        time: u64,
        /// The stream of the AI CPU's task.
        launch_stream: u16,
        /// The AI CPU's task.
        launch_task: u32,
        /// The main stream.
        stream: u16,
        /// The task on it.
        task: u32,
        /// Whether it is the first.
        is_first: bool,
    }
}

/// The AI CPU's part in a fused operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerPhase {
    /// It begins to serve.
    StartServer,
    /// It waits for a request.
    TaskWaitRequest,
    /// It chooses the algorithm.
    TaskOrchestration,
    /// It sends tasks to the scheduler.
    TaskLaunch,
    /// They are executed.
    TaskExecute,
    /// It ends.
    Finalize,
    /// It waits for the cores.
    WaitCompute,
    /// The cores compute.
    Compute,
}

impl ServerPhase {
    /// The phases of a round of communication, in their order.
    pub const OF_COMMUNICATION: [Self; 6] = [
        Self::StartServer,
        Self::TaskWaitRequest,
        Self::TaskOrchestration,
        Self::TaskLaunch,
        Self::TaskExecute,
        Self::Finalize,
    ];

    /// The phases of a round of computing, in their order.
    pub const OF_COMPUTING: [Self; 2] = [Self::WaitCompute, Self::Compute];

    /// The vendor's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::StartServer => "StartServer",
            Self::TaskWaitRequest => "TaskWaitRequest",
            Self::TaskOrchestration => "TaskOrchestration",
            Self::TaskLaunch => "TaskLaunch",
            Self::TaskExecute => "TaskExecute",
            Self::Finalize => "Finalize",
            Self::WaitCompute => "WaitCompute",
            Self::Compute => "Compute",
        }
    }

    /// The phase that a slice of a timeline shows: `TaskLaunch 2`.
    pub(crate) fn of_slice(name: &str) -> Option<Self> {
        let (word, turn) = name.split_once(' ')?;
        let is_number = !turn.is_empty() && turn.bytes().all(|byte| byte.is_ascii_digit());
        let mut all = Self::OF_COMMUNICATION.into_iter().chain(Self::OF_COMPUTING);
        all.find(|phase| is_number && phase.name() == word)
    }
}

columns! {
    /// Phases of the AI CPU's work for fused operators, in the order of the file.
    ServerPhaseTable,
    /// A phase of the AI CPU's work for a fused operator.
    ServerPhaseRun {
        /// The stream of the AI CPU's task.
        stream: u16,
        /// The AI CPU's task.
        task: u32,
        /// The round.
        turn: u8,
        /// The phase.
        phase: ServerPhase,
        /// Start; device ticks.
        start: u64,
        /// End; device ticks.
        end: u64,
    }
}

/// The collective operations whose steps a device launched.
#[derive(Clone, Debug, Default)]
pub struct LaunchingTables {
    /// Steps.
    pub steps: DeviceStepTable,
    /// Operations.
    pub operations: DeviceOperationTable,
    /// First and last tasks of operations.
    pub ends: MainStreamTaskTable,
    /// Wraps of task numbers, by time, as the AI CPU counted them.
    pub flips: DeviceFlipTable,
    /// The AI CPU's phases.
    pub phases: ServerPhaseTable,
}

impl LaunchingTables {
    /// Moves all rows of another device's file behind those of this one.
    pub(crate) fn append(&mut self, next: &mut Self) {
        self.steps.append(&mut next.steps);
        self.operations.append(&mut next.operations);
        self.ends.append(&mut next.ends);
        self.flips.append(&mut next.flips);
        self.phases.append(&mut next.phases);
    }
}
