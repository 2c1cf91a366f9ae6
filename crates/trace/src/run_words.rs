//! Facts about a run that are one of a few words: its engine, its format, how its times are meant.

use crate::words;

words! {
    /// An engine that executes models on the host's processors, by the word for it in answers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum EngineName {
        /// tract, which opscope carries.
        Tract = "tract",
        /// ONNX Runtime in a run that opscope made.
        Ort = "ort",
        /// ONNX Runtime in another program, which had it write a profile.
        OnnxRuntime = "ONNX Runtime",
    }
}

impl EngineName {
    /// Whether it is ONNX Runtime, whoever ran it.
    pub fn is_onnx_runtime(self) -> bool {
        matches!(self, Self::Ort | Self::OnnxRuntime)
    }
}

words! {
    /// How far an engine may rewrite the model before it runs it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Optimization {
        /// Not at all: the nodes run one by one, as the model has them.
        Off = "off",
        /// Clean-up that doesn't depend on the machine: constants folded, needless nodes removed.
        Basic = "basic",
        /// Everything that the engine can do, fusing and changing layouts included.
        Full = "full",
    }
}

words! {
    /// The kind of profile that a trace was made of, where analyses treat it in its own way.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ProfileFormat {
        /// A raw directory of Ascend.
        Cann = "CANN",
        /// A raw directory of Ascend in the layout of 2022 (CANN 5.x).
        Cann2022 = "CANN 2022",
        /// Single operators, as `msprof op` records them.
        CannOperators = "CANN single operators",
        /// The ranges of a program alone, as a table of msprof has them.
        CannRanges = "CANN ranges",
        /// Requests and batches of a server of language models, as msServiceProfiler records them.
        CannServer = "CANN model server",
        /// A profile of a small-chip board.
        Svp = "SVP",
        /// A graph profile of MegEngine.
        MegEngine = "MegEngine graph profile",
        /// Exports of TensorRT's `trtexec`.
        TensorRt = "TensorRT",
        /// Reports of OpenVINO's `benchmark_app`.
        OpenVino = "OpenVINO",
        /// Reports of TensorFlow Lite's `benchmark_model`.
        TensorFlowLite = "TensorFlow Lite",
        /// Reports of ncnn's benchmarks.
        Ncnn = "ncnn",
        /// Reports of MNN's benchmarks.
        Mnn = "MNN",
        /// The table that PyTorch's profiler prints.
        PyTorchTable = "PyTorch key_averages",
    }
}

words! {
    /// Whether times of the host and times of its devices are on one clock.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum ClockRelation {
        /// They are: a call and a task can be laid over one another.
        #[default]
        Common = "host and devices have a common zero",
        /// They aren't: only times of one side can be compared.
        Apart = "host and devices have zeros of their own",
    }
}

words! {
    /// How [`Task::wait`](crate::Task::wait) and the task's duration lie to one another.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum TaskWait {
        /// The wait is over when the duration begins.
        #[default]
        Before = "before the duration",
        /// The wait is the first part of the duration.
        Within = "within the duration",
    }
}

words! {
    /// Where the times of calls or layers come from.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum TimeBasis {
        /// Start and duration of each were recorded.
        #[default]
        Recorded = "recorded",
        /// Only durations were recorded; starts are made up.
        Durations = "laid end to end: the tables have durations only",
        /// Only sums over many were recorded; starts and single durations are made up.
        Totals = "laid end to end: the tables have totals only, so single times mean nothing",
        /// Only durations or sums were recorded, and nothing is drawn of them: starts are made up end to end.
        Unplaced = "not recorded: the profile tells durations or sums alone, so there are no times to draw",
        /// Neither starts nor durations were recorded: all of them are zero.
        Untold = "not recorded: the profile tells neither starts nor durations",
    }
}

impl TimeBasis {
    /// Whether there are starts by which a timeline can be drawn, be they laid end to end.
    pub fn is_placed(self) -> bool {
        !matches!(self, Self::Unplaced | Self::Untold)
    }

    /// The warning for times that weren't recorded.
    pub fn caveat(self) -> Option<&'static str> {
        (self != Self::Recorded).then(|| self.name())
    }
}
