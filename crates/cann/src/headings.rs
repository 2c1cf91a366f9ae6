//! The headings of the columns of the vendor's tables, which writers write and readers look for.

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
