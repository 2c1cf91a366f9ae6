//! Reports of the host-side libraries.

use crate::columns::columns;
use crate::names::Names;
use crate::tables::capture::CaptureTables;
use crate::tables::ccu::CcuNotes;
use crate::tables::communication::{CollectiveNoteTable, CommunicationNoteTable};
use crate::tables::dpu::DpuTables;
use crate::tables::helpers::HelperTable;
use crate::tables::launching::GroupStreamsTable;
use crate::tables::os_calls::OsCalls;
use crate::tables::rows::{ContextsRow, ExtentRow, NodeRow, TensorSetRow};
use crate::tables::samples::HostSampleTables;
use crate::tables::system::SystemTables;
use crate::tables::tensors::TensorSets;
use opscope_trace::Losses;

/// The number that stands for "no model".
pub const NO_MODEL: u64 = u32::MAX as u64;

/// The number that stands for "no context", that is for a whole task.
pub const NO_CONTEXT: u32 = u32::MAX;

columns! {
    /// Calls and intervals, by the time of their begin; of those that begin together the outer
    /// one comes first. A row's number plus one is its connection id.
    ApiTable,
    /// A call of a library, or an interval between two events.
    Api {
        /// The layer of software.
        level: u16,
        /// The function: a number that the type dictionary names.
        kind: u32,
        /// The calling thread.
        thread: u32,
        /// For intervals of models, the number of the inference; 0 is the load.
        request: u32,
        /// Begin; host ticks.
        begin: u64,
        /// End; host ticks.
        end: u64,
        /// Its object: a hash, or for intervals of models the model's number.
        item: u64,
        /// Whether it was put together from two events.
        from_events: bool,
    }
}

columns! {
    /// Descriptions of nodes, by thread and time.
    NodeTable,
    /// A note on what a node is, made while it is launched.
    Node {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The operator's name, hashed.
        name: u64,
        /// The unit that executes it, see [`NodeTaskType`](crate::NodeTaskType).
        task_type: u32,
        /// The operator's type, hashed.
        op_type: u64,
        /// The number of blocks, and in the high half the slave blocks for each of them.
        blocks: u32,
        /// Whether the operator may compute in HF32 (not zero).
        flags: u32,
        /// Whether it was launched with dynamic shapes.
        dynamic: bool,
    }
}

columns! {
    /// Inputs and outputs of nodes, by thread and time.
    NodeTensorTable,
    /// A note on the inputs and outputs of a node.
    NodeTensors {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The operator's name, hashed.
        name: u64,
        /// The combination of tensors.
        set: TensorSetRow,
    }
}

impl NodeTensorTable {
    /// Gives the sets of tensors other numbers, by those that they have.
    pub(crate) fn renumber_sets(&mut self, numbers: &[TensorSetRow]) {
        self.set.iter_mut().for_each(|set| *set = numbers[set.index()]);
    }
}

columns! {
    /// Attributes of nodes, by thread and time.
    NodeAttributeTable,
    /// A note on an attribute of a node.
    NodeAttribute {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The operator's name, hashed.
        name: u64,
        /// The kind of attribute.
        attribute: u32,
        /// The attribute's text, hashed.
        value: u64,
    }
}

columns! {
    /// Sub-tasks of nodes, by thread and time.
    NodeContextTable,
    /// A note on the sub-tasks of a node.
    NodeContexts {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The layer of software.
        level: u16,
        /// The operator's name, hashed.
        name: u64,
        /// Where its contexts begin in [`HostTables::contexts`].
        start: u32,
        /// How many there are.
        count: u32,
    }
}

columns! {
    /// Tasks handed to devices, by thread and time.
    TaskTrackTable,
    /// A task handed to a device.
    TaskTrack {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The device.
        device: u16,
        /// The stream.
        stream: u16,
        /// The task's number on its stream.
        task: u32,
        /// How often the task numbers of the stream had wrapped.
        batch: u16,
        /// The kind of task, a number that the type dictionary names.
        kind: u32,
        /// The kernel's name, hashed.
        kernel: u64,
        /// How large the launch was, where the runtime tells.
        extent: Option<ExtentRow>,
    }
}

impl TaskTrackTable {
    /// Moves the extents behind `first` others.
    pub(crate) fn number_extents_from(&mut self, first: usize) {
        for extent in self.extent.iter_mut().flatten() {
            *extent = ExtentRow::from_index(first + extent.index());
        }
    }

    /// Fills in all batches.
    pub(crate) fn set_batches(&mut self, batches: Vec<u16>) {
        debug_assert_eq!(batches.len(), self.len(), "each row has a batch");
        self.batch = batches.into();
    }
}

columns! {
    /// Wraps of task numbers on the host, by time.
    HostFlipTable,
    /// The task numbers of a stream wrapped.
    HostFlip {
        /// When; host ticks.
        time: u64,
        /// The device.
        device: u16,
        /// The stream.
        stream: u16,
        /// The task that carried the wrap, 0 mostly.
        task: u16,
        /// The wrap's number; 65535 means that the stream was destroyed.
        number: u16,
    }
}

columns! {
    /// Asynchronous copies, by thread and time.
    MemcpyTable,
    /// A note on what an asynchronous copy moves.
    Memcpy {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// How many bytes in all.
        bytes: u64,
        /// How many bytes one of its tasks copies at most.
        most: u64,
        /// 0 host to host, 1 host to device, 2 device to host, 3 device to device, 4 managed, ….
        direction: u16,
    }
}

columns! {
    /// Operators that were fused from others, by thread and time.
    FusionTable,
    /// A note on a fused operator.
    Fusion {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The fused operator's name, hashed.
        name: u64,
        /// Bytes of the inputs.
        input_bytes: u64,
        /// Bytes of the outputs.
        output_bytes: u64,
        /// Bytes of the weights.
        weight_bytes: u64,
        /// Bytes of the workspace.
        workspace_bytes: u64,
        /// Bytes in total.
        total_bytes: u64,
        /// Where the names of its originals begin in [`HostTables::originals`].
        start: u32,
        /// How many there are.
        count: u32,
    }
}

columns! {
    /// Names of models.
    ModelTable,
    /// The name of a model.
    Model {
        /// The model's number.
        model: u32,
        /// The graph's number.
        graph: u32,
        /// Its name, hashed.
        name: u64,
    }
}

columns! {
    /// Ranges and marks that the program set, by their begin.
    TxTable,
    /// A range or mark that the program set.
    Tx {
        /// Whether it came through mstx instead of the classic interface.
        mstx: bool,
        /// The process.
        process: u32,
        /// The thread.
        thread: u32,
        /// The category.
        category: u32,
        /// 0 mark, 1 push and pop, 2 start and end, 3 mark with a device side.
        event_type: u32,
        /// The payload's type.
        payload_type: i32,
        /// The payload.
        payload: u64,
        /// Begin; host ticks.
        start: u64,
        /// End; host ticks.
        end: u64,
        /// With mstx, the number that the device's side of the mark carries too.
        mark: u64,
        /// With mstx, the domain's name, hashed.
        domain: u64,
        /// The message's type.
        message_type: i32,
        /// The message, a row of [`HostTables::messages`].
        message: u32,
    }
}

columns! {
    /// Allocations and releases of device memory, by time.
    TaskMemoryTable,
    /// An allocation or release of device memory.
    TaskMemory {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The node that asked, hashed.
        node: u64,
        /// The address.
        address: u64,
        /// Bytes; negative for a release.
        size: i64,
        /// Bytes allocated in total.
        total_allocated: u64,
        /// Bytes reserved in total.
        total_reserved: u64,
        /// The device.
        device: u32,
    }
}

columns! {
    /// Memory that static graphs plan for operators.
    StaticMemoryTable,
    /// Memory that a static graph plans for an operator.
    StaticMemory {
        /// The operator's name, hashed.
        name: u64,
        /// The dynamic operator that it belongs to, hashed.
        dynamic_name: u64,
        /// Bytes.
        size: i64,
        /// Number of the operator at which the memory is taken.
        life_start: u64,
        /// Number of the operator after which it is free.
        life_end: u64,
        /// Bytes taken in total.
        total_allocated: u64,
        /// The graph.
        graph: u32,
    }
}

columns! {
    /// Streams that stand for a logical one.
    LogicStreamTable,
    /// A stream that stands for a logical one.
    LogicStream {
        /// The logical stream.
        logical: u32,
        /// The stream that stands for it.
        physical: u32,
    }
}

columns! {
    /// Tasks as the tool chain of 2022, or the compiler of chip 9, described them, by thread and time.
    DescribedTaskTable,
    /// A task that was described: with its model, where the tool chains of later years leave that
    /// to the nesting of calls.
    DescribedTask {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The device.
        device: u16,
        /// The stream.
        stream: u16,
        /// The task's number on its stream.
        task: u32,
        /// The sub-task, [`NO_CONTEXT`] for a whole task.
        context: u32,
        /// The model, [`NO_MODEL`] for none.
        model: u64,
        /// The iteration for which it was launched.
        iteration: u64,
        /// The kind of task, a number that the type dictionary names.
        kind: u32,
        /// The note on its node, if it has one.
        node: Option<NodeRow>,
        /// The combination of its tensors, if it has any.
        tensors: Option<TensorSetRow>,
    }
}

/// Everything that the host reported.
#[derive(Debug, Default)]
pub struct HostTables {
    /// The dictionaries.
    pub names: Names,
    /// Calls and intervals.
    pub api: ApiTable,
    /// Descriptions of nodes; behind those that were noted while nodes were launched, those of captured
    /// graphs.
    pub nodes: NodeTable,
    /// How many of them were noted while nodes were launched.
    pub launched_nodes: usize,
    /// Inputs and outputs of nodes.
    pub node_tensors: NodeTensorTable,
    /// Every combination of inputs and outputs, once.
    pub tensor_sets: TensorSets,
    /// Attributes of nodes, in the same order.
    pub node_attributes: NodeAttributeTable,
    /// How many of them were noted while nodes were launched.
    pub launched_attributes: usize,
    /// Sub-tasks of nodes.
    pub node_contexts: NodeContextTable,
    /// The lists that [`NodeContextTable`] refers to, end to end.
    pub contexts: Vec<u32>,
    /// Tasks handed to devices.
    pub task_tracks: TaskTrackTable,
    /// How large launches were, where the runtime tells, in the layout of the raw record.
    pub extents: Vec<[u16; 6]>,
    /// Wraps of task numbers.
    pub flips: HostFlipTable,
    /// Asynchronous copies.
    pub memcpys: MemcpyTable,
    /// Fused operators.
    pub fusions: FusionTable,
    /// The lists that [`FusionTable`] refers to, end to end.
    pub originals: Vec<u64>,
    /// Names of models.
    pub models: ModelTable,
    /// Ranges and marks.
    pub tx: TxTable,
    /// The texts that [`TxTable`] refers to.
    pub messages: Vec<String>,
    /// Allocations and releases of device memory.
    pub task_memory: TaskMemoryTable,
    /// Collective operations.
    pub collective_notes: CollectiveNoteTable,
    /// The streams of groups of ranks.
    pub group_streams: GroupStreamsTable,
    /// Steps of collective operations.
    pub communication_notes: CommunicationNoteTable,
    /// Threads that launch steps for others.
    pub helpers: HelperTable,
    /// Notes on the work of units for collective communication.
    pub ccu: CcuNotes,
    /// Work of data processing units.
    pub dpu: DpuTables,
    /// Captured graphs.
    pub captures: CaptureTables,
    /// Memory that static graphs plan.
    pub static_memory: StaticMemoryTable,
    /// Samples of the host itself.
    pub samples: HostSampleTables,
    /// Calls of the operating system and of threads.
    pub os_calls: OsCalls,
    /// Use of the host by all its processes.
    pub system: SystemTables,
    /// Streams that stand for logical ones.
    pub logic_streams: LogicStreamTable,
    /// Whether stream and task numbers are of the expanded form.
    pub expanded_streams: bool,
    /// Whether the files are those of the tool chain of 2022.
    pub legacy: bool,
    /// Tasks that the tool chain of 2022, or the compiler of chip 9, described.
    pub described_tasks: DescribedTaskTable,
    /// With that tool chain, the model of each row of [`HostTables::fusions`].
    pub described_fusion_models: Vec<u64>,
    /// Dropped records.
    pub losses: Losses,
}

impl HostTables {
    /// The threads and times of the descriptions that were noted while nodes were launched, by thread and
    /// time.
    pub(crate) fn node_notes(&self) -> (&[u32], &[u64]) {
        let count = self.launched_nodes;
        (&self.nodes.thread()[..count], &self.nodes.time()[..count])
    }

    /// The same of the attributes.
    pub(crate) fn attribute_notes(&self) -> (&[u32], &[u64]) {
        let count = self.launched_attributes;
        (&self.node_attributes.thread()[..count], &self.node_attributes.time()[..count])
    }

    /// The contexts of a note.
    pub fn contexts_of(&self, note: ContextsRow) -> &[u32] {
        let row = self.node_contexts.row(note.index());
        self.contexts.get(row.start as usize..(row.start + row.count) as usize).unwrap_or(&[])
    }

    /// The names, hashed, of the operators that were fused into one.
    pub fn originals_of(&self, fusion: usize) -> &[u64] {
        let row = self.fusions.row(fusion);
        self.originals.get(row.start as usize..(row.start + row.count) as usize).unwrap_or(&[])
    }
}
