//! The headings of the columns of the vendor's tables, which writers write and readers look for.

/// Headings as a table takes them.
pub(crate) fn owned(headings: &[&str]) -> Vec<String> {
    headings.iter().map(|&heading| heading.to_owned()).collect()
}

/// Declares the headings of tables, each table as a module that has them by name and in order.
macro_rules! headings {
    ($($(#[$doc:meta])* $table:ident { $($name:ident $heading:literal),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            pub(crate) mod $table {
                $(pub(crate) const $name: &str = $heading;)+

                /// All of them, in the table's order.
                pub(crate) const ALL: &[&str] = &[$($name),+];
            }
        )+
    };
}

headings! {
    /// Runs of operators. The names of models and the numbers of inferences stand in tables of a single
    /// inference, mixed blocks and contexts in those of chips whose task scheduler has them; the columns of
    /// counters follow.
    op_summary {
        DEVICE "Device_id",
        MODEL_NAME "Model Name",
        MODEL "Model ID",
        TASK "Task ID",
        STREAM "Stream ID",
        INFERENCE "Infer ID",
        NAME "Op Name",
        OP_TYPE "OP Type",
        STATE "OP State",
        KIND "Task Type",
        START "Task Start Time(us)",
        DURATION "Task Duration(us)",
        WAIT "Task Wait Time(us)",
        BLOCKS "Block Num",
        MIX_BLOCKS "Mix Block Num",
        HF32 "HF32 Eligible",
        INPUT_SHAPES "Input Shapes",
        INPUT_TYPES "Input Data Types",
        INPUT_FORMATS "Input Formats",
        OUTPUT_SHAPES "Output Shapes",
        OUTPUT_TYPES "Output Data Types",
        OUTPUT_FORMATS "Output Formats",
        CONTEXT "Context ID",
    }
    /// Tasks of the devices.
    task_time {
        DEVICE "Device_id",
        NAME "kernel_name",
        KIND "kernel_type",
        STREAM "stream_id",
        TASK "task_id",
        DURATION "task_time(us)",
        START "task_start(us)",
        STOP "task_stop(us)",
    }
    /// Tasks of the AI CPU.
    aicpu {
        DEVICE "Device_id",
        START "Timestamp(us)",
        NAME "Node",
        COMPUTE "Compute_time(us)",
        COPY "Memcpy_time(us)",
        DURATION "Task_time(us)",
        DISPATCH "Dispatch_time(us)",
        TOTAL "Total_time(us)",
        STREAM "Stream ID",
        TASK "Task ID",
    }
    /// Inferences; the columns of reductions follow.
    step_trace {
        DEVICE "Device_id",
        NUMBER "Iteration ID",
        FORWARD "FP Start(us)",
        BACKWARD "BP End(us)",
        END "Iteration End(us)",
        DURATION "Iteration Time(us)",
        COMPUTE "FP to BP Time(us)",
        REFRESH "Iteration Refresh(us)",
        DATA "Data Aug Bound(us)",
        MODEL "Model ID",
    }
    /// Ranges and marks of the program.
    msprof_tx {
        DEVICE "Device_id",
        PROCESS "pid",
        THREAD "tid",
        CATEGORY "category",
        KIND "event_type",
        PAYLOAD_TYPE "payload_type",
        PAYLOAD "payload_value",
        START "Start_time(us)",
        END "End_time(us)",
        MESSAGE_TYPE "message_type",
        MESSAGE "message",
        DOMAIN "domain",
    }
    /// Device memory in total after each allocation and release.
    memory_record {
        DEVICE "Device_id",
        COMPONENT "Component",
        TIME "Timestamp(us)",
        ALLOCATED "Total Allocated(KB)",
        RESERVED "Total Reserved(KB)",
        PLACE "Device",
    }
    /// Device memory that modules reserved.
    npu_module_mem {
        DEVICE "Device_id",
        COMPONENT "Component",
        TIME "Timestamp(us)",
        RESERVED "Total Reserved(KB)",
        PLACE "Device",
    }
    /// Device memory in use.
    npu_mem {
        DEVICE "Device_id",
        SCOPE "event",
        DDR "ddr(KB)",
        HBM "hbm(KB)",
        TOTAL "memory(KB)",
        TIME "timestamp(us)",
    }
}

/// The table of a single operator that `msprof op` ran.
pub(crate) mod op_basic_info {
    pub(crate) const NAME: &str = "Op Name";
    pub(crate) const KIND: &str = "Op Type";
    pub(crate) const DURATION: &str = "Task Duration(us)";
    pub(crate) const BLOCKS: &str = "Block Dim";
    pub(crate) const DEVICE: [&str; 2] = ["Device Id", "Device ID"];

    /// Figures: headings, and the names and units that they have as metrics of the task.
    pub(crate) const FIGURES: [(&str, &str, &str); 4] = [
        (BLOCKS, "block_num", ""),
        ("Mix Block Dim", "mix_block_num", ""),
        ("Current Freq", "current_frequency", "MHz"),
        ("Rated Freq", "rated_frequency", "MHz"),
    ];
}

headings! {
    /// Types of operators. Tables of a single inference have the model's name behind the device.
    op_statistic {
        DEVICE "Device_id",
        OP_TYPE "OP Type",
        UNIT "Core Type",
        COUNT "Count",
        TOTAL "Total Time(us)",
        LEAST "Min Time(us)",
        MEAN "Avg Time(us)",
        MOST "Max Time(us)",
        SHARE "Ratio(%)",
    }
    /// Calls by layer and name, of all layers or of AscendCL alone.
    api_statistic {
        DEVICE "Device_id",
        LEVEL "Level",
        NAME "API Name",
        TOTAL "Time(us)",
        COUNT "Count",
        MEAN "Avg(us)",
        LEAST "Min(us)",
        MOST "Max(us)",
        VARIANCE "Variance",
    }
    /// Tasks of chip 0 by the time that they took.
    task_time_oldest {
        DEVICE "Device_id",
        SHARE "Time(%)",
        TOTAL "Time(us)",
        COUNT "Count",
        MEAN "Avg(us)",
        LEAST "Min(us)",
        MOST "Max(us)",
        WAITING "Waiting(us)",
        RUNNING "Running(us)",
        PENDING "Pending(us)",
        KIND "Type",
        CALL "API",
        TASK "Task ID",
        NAME "Op Name",
        STREAM "Stream ID",
    }
    /// Operators that were fused from others.
    fusion_op {
        DEVICE "Device_id",
        MODEL_NAME "Model Name",
        MODEL "Model ID",
        FUSED "Fusion Op",
        ORIGINALS "Original Ops",
        INPUT "Memory Input(KB)",
        OUTPUT "Memory Output(KB)",
        WEIGHT "Memory Weight(KB)",
        WORKSPACE "Memory Workspace(KB)",
        TOTAL "Memory Total(KB)",
    }
    /// Mean traffic of the HBMs, or of the DDR memory.
    memory_traffic {
        DEVICE "Device_id",
        METRIC "Metric",
        READ "Read(MB/s)",
        WRITE "Write(MB/s)",
    }
    /// The level-2 cache by task; the operator follows where there is any.
    l2_cache {
        DEVICE "Device_id",
        STREAM "Stream Id",
        TASK "Task Id",
        HITS "Hit Rate",
        VICTIMS "Victim Rate",
    }
}

/// Tables that are only written.
pub(crate) mod written {
    /// Collective operations by type.
    pub(crate) const COMMUNICATION_STATISTIC: [&str; 8] = [
        "Device_id",
        "OP Type",
        "Count",
        "Total Time(us)",
        "Min Time(us)",
        "Avg Time(us)",
        "Max Time(us)",
        "Ratio(%)",
    ];
    /// The address translation by task; the operator follows where there is any.
    pub(crate) const SOC_PMU: [&str; 5] =
        ["Device_id", "Stream Id", "Task Id", "TLB Hit Rate", "TLB Miss Rate"];
    /// Use of the last-level cache.
    pub(crate) const LLC_READ_WRITE: [&str; 5] =
        ["Device_id", "Mode", "Task", "Hit Rate(%)", "Throughput(MB/s)"];
    /// Loops and waits of the units for collective communication.
    pub(crate) const CCU_MISSION: [&str; 9] = [
        "Device_id",
        "Stream ID",
        "Task Id",
        "Instruction ID",
        "Instruction Start Time(us)",
        "Instruction Duration(us)",
        "Notify Instruction ID",
        "Notify Rank ID",
        "Notify Duration(us)",
    ];
    /// Rates of their channels.
    pub(crate) const CCU_CHANNEL: [&str; 6] = [
        "Device_id",
        "Channel Id",
        "Timestamp(us)",
        "Max Bandwidth(MB/s)",
        "Min Bandwidth(MB/s)",
        "Avg Bandwidth(MB/s)",
    ];
    /// Traffic of a 310's last-level cache.
    pub(crate) const LLC_BANDWIDTH: [&str; 4] = ["Device_id", "Metric", "l3c_rd", "l3c_wr"];
    /// The parts of it that processors hold; before the last stands a column for each processor.
    pub(crate) const LLC_CAPACITY: [&str; 3] = ["Device_id", "Metric", "Total(KB)"];
    /// Traffic over PCIe.
    pub(crate) const PCIE: [&str; 5] = ["Device_id", "Mode", "Min", "Max", "Avg"];
    /// Traffic over HCCS.
    pub(crate) const HCCS: [&str; 5] = ["Device_id", "Mode", "Max", "Min", "Average"];
    /// Traffic of network ports, those for RDMA and others.
    pub(crate) const PORTS: [&str; 12] = [
        "Device_id",
        "Timestamp(us)",
        "Bandwidth(MB/s)",
        "Rx Bandwidth efficiency(%)",
        "rxPacket/s",
        "rxError rate(%)",
        "rxDropped rate(%)",
        "Tx Bandwidth efficiency(%)",
        "txPacket/s",
        "txError rate(%)",
        "txDropped rate(%)",
        "funcId",
    ];
    /// Allocations of operators.
    pub(crate) const OPERATOR_MEMORY: [&str; 10] = [
        "Device_id",
        "Name",
        "Size(KB)",
        "Allocation Time(us)",
        "Duration(us)",
        "Allocation Total Allocated(KB)",
        "Allocation Total Reserved(KB)",
        "Release Total Allocated(KB)",
        "Release Total Reserved(KB)",
        "Device",
    ];
    /// Memory that static graphs plan for operators.
    pub(crate) const STATIC_OP_MEM: [&str; 7] =
        ["Device_id", "Op Name", "Model Name", "Graph ID", "Node Index Start", "Node Index End", "Size(KB)"];
    /// Steps of the preparation of data.
    pub(crate) const DP: [&str; 5] = ["Device_id", "Timestamp(us)", "Action", "Source", "Cached Buffer Size"];
    /// Traffic of the unified bus.
    pub(crate) const UB: [&str; 5] =
        ["Device_id", "PortId", "TimeStamp", "UBRxPortBandWidth(MB/s)", "UBTxPortBandWidth(MB/s)"];
    /// Engines for pictures and videos.
    pub(crate) const DVPP: [&str; 7] = [
        "Device_id",
        "Dvpp Id",
        "Engine Type",
        "Engine ID",
        "All Time(us)",
        "All Frame",
        "All Utilization(%)",
    ];
    /// A system's processors, by kind.
    pub(crate) const CPU_USAGE: [&str; 8] =
        ["Device_id", "Cpu Type", "User(%)", "Sys(%)", "IoWait(%)", "Irq(%)", "Soft(%)", "Idle(%)"];
    /// A system's memory; the unit follows behind all but the numbers of pages.
    pub(crate) const SYS_MEM: [&str; 10] = [
        "Device_id",
        "Memory Total",
        "Memory Free",
        "Buffers",
        "Cached",
        "Share Memory",
        "Commit Limit",
        "Committed AS",
        "Huge Pages Total(pages)",
        "Huge Pages Free(pages)",
    ];
    /// The time of processes.
    pub(crate) const PROCESS_CPU_USAGE: [&str; 4] = ["Device_id", "PID", "Name", "CPU(%)"];
    /// The memory of processes.
    pub(crate) const PROCESS_MEM: [&str; 6] =
        ["Device_id", "PID", "Name", "Size(pages)", "Resident(pages)", "Shared(pages)"];
    /// Functions that processors ran.
    pub(crate) const TOP_FUNCTION: [&str; 5] = ["Device_id", "Function", "Module", "Cycles", "Cycles(%)"];
    /// The same of the task scheduler's processor.
    pub(crate) const SCHEDULER_FUNCTION: [&str; 4] = ["Device_id", "Function", "Cycles", "Cycles(%)"];
    /// Events that processors counted.
    pub(crate) const PROCESSOR_EVENTS: [&str; 4] = ["Device_id", "Event", "Name", "Count"];
    /// Calls of the operating system and of threads.
    pub(crate) const OS_RUNTIME_STATISTIC: [&str; 10] = [
        "Device_id",
        "Process ID",
        "Thread ID",
        "Name",
        "Time(%)",
        "Time(us)",
        "Count",
        "Avg(us)",
        "Max(us)",
        "Min(us)",
    ];
    /// The host's processors.
    pub(crate) const HOST_CPU_USAGE: [&str; 4] =
        ["Device_id", "Total Cpu Numbers", "Occupied Cpu Numbers", "Recommend Cpu Numbers"];
    /// The host's memory.
    pub(crate) const HOST_MEM_USAGE: [&str; 4] =
        ["Device_id", "Total Memory(KB)", "Peak Used Memory(KB)", "Recommend Memory(KB)"];
    /// The host's disks.
    pub(crate) const HOST_DISK_USAGE: [&str; 5] = [
        "Device_id",
        "Peak Disk Read(KB/s)",
        "Recommend Disk Read(KB/s)",
        "Peak Disk Write(KB/s)",
        "Recommend Disk Write(KB/s)",
    ];
    /// The host's network.
    pub(crate) const HOST_NETWORK_USAGE: [&str; 4] =
        ["Device_id", "Netcard Speed(KB/s)", "Peak Used Speed(KB/s)", "Recommend Speed(KB/s)"];
}

/// Sums of AscendCL's calls as they were in 2022, which are only read.
pub(crate) mod acl_statistic {
    pub(crate) const NAME: &str = "Name";
    pub(crate) const KIND: &str = "Type";
    pub(crate) const SHARE: &str = "Time(%)";
    pub(crate) const PROCESS: &str = "Process ID";
    pub(crate) const THREAD: &str = "Thread ID";
}

/// Sums of the runtime's calls as they were in 2022, which are only read.
pub(crate) mod runtime_api {
    pub(crate) const NAME: &str = "Name";
    pub(crate) const STREAM: &str = "Stream ID";
    pub(crate) const TOTAL: &str = "Time(ns)";
    pub(crate) const COUNT: &str = "Calls";
    pub(crate) const MEAN: &str = "Avg(ns)";
    pub(crate) const LEAST: &str = "Min(ns)";
    pub(crate) const MOST: &str = "Max(ns)";
}

/// The table of inferences of 2022, where it differs: ends are ticks of the device's counter, times microseconds.
pub(crate) mod step_trace_2022 {
    pub(crate) const END: &str = "Iteration End";
}

/// The times of ranges in tables of 2022, which are only read.
pub(crate) mod msprof_tx_2022 {
    pub(crate) const START: &str = "Start_time(ns)";
    pub(crate) const END: &str = "End_time(ns)";
}

/// Single calls in tables of 2022, of whose begins no unit is told.
pub(crate) mod calls_2022 {
    pub(crate) const ACL: [&str; 4] = ["Type", START, "Duration(us)", "Thread ID"];
    pub(crate) const GRAPH_ENGINE: [&str; 3] = ["Event Type", START, "Thread ID"];
    const START: &str = "Start Time";
}

/// Headings of torch_npu's table of operators and of earlier versions' tables, which are only read.
pub(crate) mod other {
    pub(crate) const DEVICE: &str = "Device ID";
    pub(crate) const STEP: &str = "Step Id";
    pub(crate) const NAME: &str = "Name";
    pub(crate) const OP_TYPE: &str = "Type";
    pub(crate) const KIND: &str = "Accelerator Core";
    pub(crate) const START: [&str; 2] = ["Start Time(us)", "Task Start Time"];
    pub(crate) const DURATION: [&str; 2] = ["Duration(us)", "Task Duration"];
    pub(crate) const WAIT: [&str; 2] = ["Wait Time(us)", "Task Wait Time"];
    pub(crate) const BLOCKS: &str = "Block Dim";
    pub(crate) const MIX_BLOCKS: &str = "Mix Block Dim";
    pub(crate) const INPUT_COUNT: &str = "Input Tensor Num";
    pub(crate) const TIME: &str = "timestamp";
    pub(crate) const PLACE: &str = "Device Type";
}

/// Headings of torch_npu's table of calls, which is only read: of a call alone, and with what it called.
pub(crate) mod operator_details {
    pub(crate) const NAME: &str = "Name";
    pub(crate) const HOST: [&str; 2] = ["Host Self Duration(us)", "Host Total Duration(us)"];
    pub(crate) const DEVICE: [&str; 2] = ["Device Self Duration(us)", "Device Total Duration(us)"];
    pub(crate) const CORES: [&str; 2] =
        ["Device Self Duration With AICore(us)", "Device Total Duration With AICore(us)"];
}

/// Headings of the tables of allocations as they are read, of all tools.
pub(crate) mod operator_memory {
    pub(crate) const NAME: &str = "Name";
    pub(crate) const ALLOCATED: &str = "Allocation Time(us)";
    /// The size, and the bytes of its unit.
    pub(crate) const SIZES: [(&str, f64); 2] = [("Size(KB)", 1024.0), ("Size(MB)", 1_048_576.0)];
    /// Empty where nothing says when it was released.
    pub(crate) const RELEASED: [&str; 2] = ["Release Time(us)", "Duration(us)"];
    pub(crate) const PLACE: [&str; 2] = ["Device Type", "Device"];
}

/// Headings of the table of planned memory as it is read.
pub(crate) mod static_op_mem {
    pub(crate) const NAME: &str = "Op Name";
    pub(crate) const MODEL_NAME: &str = "Model Name";
    pub(crate) const GRAPH: &str = "Graph ID";
    pub(crate) const FIRST: &str = "Node Index Start";
    pub(crate) const LAST: &str = "Node Index End";
    pub(crate) const SIZE: &str = "Size(KB)";
}

/// Headings of the tables that MindSpore's profiler writes, which are only read.
pub(crate) mod mindspore {
    /// `output_timeline_data_<device>.txt`: operators with their stream, in milliseconds. Since 2.1 the heading of
    /// begins says microseconds.
    pub(crate) const OPERATOR: &str = "op_name";
    pub(crate) const STREAM: &str = "stream_id";
    pub(crate) const START: &str = "start_time(ms)";
    pub(crate) const START_RENAMED: &str = "start_time(us)";
    pub(crate) const DURATION: &str = "duration(ms)";

    /// `aicpu_intermediate_<device>.csv`: begin and end in microseconds until 2.0, the rest in milliseconds. Older
    /// versions call the type `op_type`, the manual the number `serial_num`.
    pub(crate) const SERIAL_NUMBER: [&str; 2] = ["serial_number", "serial_num"];
    pub(crate) const KERNEL_TYPE: &str = "kernel_type";
    pub(crate) const AI_CPU_START: &str = "run_start";
    pub(crate) const AI_CPU_END: &str = "run_end";
    pub(crate) const AI_CPU_TIMES: [&str; 3] = [TOTAL_TIME, "dispatch_time", "execution_time"];
    pub(crate) const TOTAL_TIME: &str = "total_time";

    /// `framework_raw_<device>.csv`: the operators of the graph; versions call some columns otherwise. Since 2.1 the
    /// kind of task stands in `kernel_type` beside the type.
    pub(crate) const FULL_NAME: [&str; 2] = ["full_kernel_name", "full_op_name"];
    pub(crate) const TYPE: [&str; 2] = ["op_type", KERNEL_TYPE];
    pub(crate) const TENSORS: &str = "op_info";

    /// `aicore_intermediate_<device>_type.csv` and `_detail.csv`: milliseconds of a step, and since 2.1 of the whole
    /// profile. The manual calls the time of a type `task_time`.
    pub(crate) const TASK_TIME: &str = "task_time";
    pub(crate) const MEAN_TIME: &str = "execution_time";
    pub(crate) const MEAN_DURATION: &str = "task_duration";
    pub(crate) const FREQUENCY: &str = "execution_frequency";
    pub(crate) const SHARE: &str = "percent";

    /// `step_trace_raw_<device>_detail_time.csv`: ticks of 10 nanoseconds.
    pub(crate) const STEP: &str = "step_num";
    pub(crate) const STEP_START: &str = "start_point";
    pub(crate) const STEP_TOTAL: &str = "total";
    pub(crate) const FORWARD: &str = "fp_point";
    pub(crate) const INTERVAL: &str = "iteration_interval";
    pub(crate) const PASSES: &str = "fp_and_bp";
    pub(crate) const TAIL: &str = "tail";

    /// `hccl_raw_<device>.csv`: milliseconds of a step.
    pub(crate) const COMMUNICATION: &str = "communication_cost";
    pub(crate) const COMMUNICATION_WAIT: &str = "wait_cost";

    /// `minddata_pipeline_raw_<rank>.csv`: operations that prepare data.
    pub(crate) const OPERATION_ID: &str = "op_id";
    pub(crate) const OPERATION_TYPE: &str = "op_type";
    pub(crate) const WORKERS: &str = "num_workers";
    pub(crate) const QUEUE_SIZE: &str = "output_queue_average_size";
    pub(crate) const QUEUE_LENGTH: &str = "output_queue_length";
    pub(crate) const QUEUE_USE: &str = "output_queue_usage_rate";

    /// `dataset.csv`: the same by stages.
    pub(crate) const OPERATION: &str = "Operation";
    pub(crate) const STAGE: &str = "Stage";
    pub(crate) const OCCURRENCES: &str = "Occurrences";
    pub(crate) const STAGE_MEAN: &str = "Avg. time(us)";
}
