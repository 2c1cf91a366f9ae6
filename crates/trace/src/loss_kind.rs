//! Every kind of loss, once: its name, how much it matters, where it arises, what it is a loss of, and the
//! sentence that tells it.

use crate::words;

words! {
    /// How much a loss takes from the figures of a profile, the gravest first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Severity {
        /// Records are missing or damaged: counts, sums and times may differ from those of the run.
        #[default]
        Lost = "lost",
        /// The records are there, but what they belong to, or whether they are all, isn't certain.
        Doubted = "doubted",
        /// Nothing that figures rest on: an optional file that is absent, or content that opscope has
        /// no use for.
        Remark = "remark",
    }
}

words! {
    /// The reader that finds a loss, and so the kind of profile that has it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LossSource {
        /// Any reader of profiles.
        Any = "any-profile",
        /// The raw records of an Ascend directory, and how they are joined.
        AscendRaw = "ascend-raw",
        /// The files of other recorders beside the raw records of an Ascend directory.
        AscendRecorders = "ascend-recorders",
        /// The tables and databases that Ascend's tools export.
        AscendExport = "ascend-export",
        /// Timelines in Chrome's trace event JSON.
        Timeline = "timeline",
        /// Perfetto's traces, beside what any timeline may lack.
        Perfetto = "perfetto",
        /// Profiles of the profilers of processors and systems: Nsight, ROCm, TensorFlow, perf.
        Profiler = "profiler",
        /// Profiles that ONNX Runtime writes.
        OnnxRuntime = "onnx-runtime",
        /// Graph profiles of MegEngine.
        MegEngine = "megengine",
        /// Layers as inference engines and frameworks tell of them.
        Engine = "inference-engine",
        /// The files of small-chip boards.
        Board = "board",
        /// Runs that opscope makes itself.
        Run = "run",
        /// Results of another version of opscope, which has other kinds.
        OtherVersion = "other-version",
    }
}

words! {
    /// The kind of record that a loss concerns.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LossScope {
        /// Whole files or directories, or all that is behind a place in one.
        File = "file",
        /// Facts and remarks about the run as a whole.
        Run = "run",
        /// Clocks, and so the times that rest on them.
        Clock = "clock",
        /// Records, rows or events of any meaning.
        Record = "record",
        /// Texts that records name.
        Name = "name",
        /// Inferences.
        Iteration = "iteration",
        /// Operators and what is told of them.
        Operator = "operator",
        /// Inputs and outputs of operators.
        Tensor = "tensor",
        /// Work on devices.
        Task = "task",
        /// Calls of the host.
        Call = "call",
        /// Which call launched which task.
        Launch = "launch",
        /// Ranges and marks of the program.
        Range = "range",
        /// Samples of counters.
        Sample = "sample",
        /// Values that hardware reports of single tasks.
        Metric = "metric",
    }
}

/// Declares the kinds, each under its source.
macro_rules! loss_kinds {
    (
        $(#[$attribute:meta])* pub enum $name:ident {
            $($source:ident {
                $($kind:ident = $word:literal, $severity:ident, $scope:ident, $sentence:literal;)+
            })+
        }
    ) => {
        words! {
            $(#[$attribute])*
            pub enum $name {
                $($(
                    #[doc = $sentence]
                    $kind = $word,
                )+)+
            }
        }

        impl $name {
            fn facts(self) -> (Severity, LossSource, LossScope, &'static str) {
                match self {
                    $($(
                        Self::$kind =>
                            (Severity::$severity, LossSource::$source, LossScope::$scope, $sentence),
                    )+)+
                }
            }
        }
    };
}

impl LossKind {
    /// How much it matters.
    pub fn severity(self) -> Severity {
        self.facts().0
    }

    /// The reader that finds it.
    pub fn source(self) -> LossSource {
        self.facts().1
    }

    /// The kind of record that it concerns.
    pub fn scope(self) -> LossScope {
        self.facts().2
    }

    /// The sentence that tells it.
    pub fn sentence(self) -> &'static str {
        self.facts().3
    }

    /// Whether something was lost, or may be wrong, and not only worth telling.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::OldLayout | Self::DividedTask)
    }

    /// The kind that a sentence tells.
    pub fn from_sentence(sentence: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.sentence() == sentence)
    }

    /// The kind for what another version of opscope tells under a name that this one doesn't have.
    pub fn of_another_version(severity: Severity) -> Self {
        match severity {
            Severity::Lost => Self::OtherLoss,
            Severity::Doubted => Self::OtherDoubt,
            Severity::Remark => Self::OtherRemark,
        }
    }
}

impl std::fmt::Display for LossKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.sentence())
    }
}

loss_kinds! {
    /// A kind of loss.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LossKind {
        Any {
            CutCompression = "cut-compression", Lost, File,
                "lost: what lies behind the damage of a compressed file";
            ReplacedBytes = "replaced-bytes", Doubted, Name,
                "doubtful: a text in which U+FFFD stands for bytes that are no UTF-8";
            OpenLastLine = "open-last-line", Doubted, Record,
                "cut off: the last line has no end, so its last cell may be a part of what it should be";
            OtherProfile = "other-profile", Doubted, File,
                "left out: another profile beside the one that was read";
            UnseenBeside = "unseen-beside", Remark, File,
                "not looked at for other profiles: some of the many files or folders beside the one that was read";
            PlacelessOnTimeline = "placeless-on-timeline", Remark, Record,
                "left out when the timeline was written: rows for which timelines have no place";
            ImpossibleIteration = "impossible-iteration", Lost, Iteration,
                "dropped: an inference with a time that can't be (negative, over a year, or out of range)";
            ImpossibleUnrecordedIteration = "impossible-unrecorded-iteration", Lost, Iteration,
                "dropped: a timed inference with a time that can't be (negative, over a year, or out of range)";
            ImpossibleCall = "impossible-call", Lost, Call,
                "dropped: a call with a time that can't be (negative, over a year, or out of range)";
            ImpossibleTask = "impossible-task", Lost, Task,
                "dropped: a task with a time that can't be (negative, over a year, or out of range)";
            ImpossibleRange = "impossible-range", Lost, Range,
                "dropped: a range with a time that can't be (negative, over a year, or out of range)";
            ImpossibleSample = "impossible-sample", Lost, Sample,
                "dropped: a sample with a time that can't be (negative, over a year, or out of range)";
            SampleNotFinite = "sample-not-finite", Lost, Sample,
                "dropped: a sample whose value is infinite or no number";
        }
        AscendRaw {
            MissingMetadata = "missing-metadata", Lost, File, "metadata missing or unusable, defaults used";
            UnusableDirectory = "unusable-directory", Lost, File,
                "directory left out whole, because its metadata can't be used";
            CutReading = "cut-reading", Lost, Clock, "file with readings of clocks that ends within a line";
            ImpossibleClock = "impossible-clock", Lost, Clock,
                "clock or frequency that can't be, replaced; times may be relative";
            UnreadableFile = "unreadable-file", Lost, File, "file not readable";
            MissingSlice = "missing-slice", Lost, File, "slice missing between others";
            CutSlice = "cut-slice", Lost, File, "bytes that a slice has more or less than its marker says";
            PartialRecord = "partial-record", Lost, Record, "bytes that are no whole record";
            BrokenMagic = "broken-magic", Lost, Record, "record with a wrong magic number";
            UnknownRecord = "unknown-record", Lost, Record, "record of an unknown kind";
            InvalidRecord = "invalid-record", Lost, Record, "record with impossible content";
            InvalidLine = "invalid-line", Lost, Record, "line of text not understood";
            UnmatchedEvent = "unmatched-event", Doubted, Record, "event without its other half";
            UnmatchedTask = "unmatched-task", Doubted, Task, "task start or end without its other half";
            AmbiguousTask = "ambiguous-task", Doubted, Task, "several host and device tasks under one number";
            OperatorWithoutDevice = "operator-without-device", Doubted, Operator,
                "operator that the host launched and no device executed";
            HostTaskWithoutDevice = "host-task-without-device", Remark, Task,
                "host task that no device executed";
            DeviceTaskWithoutHost = "device-task-without-host", Doubted, Launch,
                "device task that no host call launched";
            DividedTask = "divided-task", Remark, Task, "device task that is shown by its sub-tasks";
            UnmatchedCounters = "unmatched-counters", Doubted, Metric, "counters that belong to no task";
            CounterOverflow = "counter-overflow", Doubted, Metric, "counters that overflowed";
            UnmatchedNote = "unmatched-note", Doubted, Operator,
                "note outside of every call it could belong to";
            ConflictingNote = "conflicting-note", Doubted, Operator,
                "notes that say different things of one operator";
            RepeatedRecord = "repeated-record", Remark, Record, "left out: a record that repeats another";
            UnnamedHash = "unnamed-hash", Doubted, Name, "hash without a name in the dictionaries";
            ImpossibleTime = "impossible-time", Lost, Record, "time that can't be";
            TimeBeforeStart = "time-before-start", Lost, Record, "time before the begin of the profile";
            UnknownFile = "unknown-file", Remark, File, "file of an unknown format";
            RefusedFile = "refused-file", Lost, File,
                "file with another content than its name tells, left out whole";
            UnreadFile = "unread-file", Remark, File, "file that opscope doesn't read";
            OldLayout = "old-layout", Remark, Record, "record decoded with the 2022 layout (CANN 5.x)";
        }
        AscendRecorders {
            UnreadableAscendCl = "unreadable-ascend-cl", Lost, File, "unreadable operators of AscendCL";
            UnreadableAscendClLine = "unreadable-ascend-cl-line", Lost, Operator,
                "unreadable lines about operators of AscendCL";
            UnreadableSession = "unreadable-session", Lost, File, "unreadable profile of ONNX Runtime";
            SessionWithoutClock = "session-without-clock", Lost, Clock,
                "profile of ONNX Runtime without its clock";
        }
        AscendExport {
            ShortRow = "short-row", Lost, Record, "dropped: a row with too few cells";
            RowWithoutSpan = "row-without-span", Lost, Record, "dropped: a row without a start or end";
            RowEndsBeforeStart = "row-ends-before-start", Lost, Record,
                "dropped: a row that ends before it starts";
            SummingRow = "summing-row", Remark, Record, "left out: rows that only sum up others";
            PlacelessRow = "placeless-row", Remark, Record,
                "left out: rows of a table for which a trace has no place";
            TaskWithoutTime = "task-without-time", Lost, Task, "dropped: a task without a time or duration";
            NegativeTask = "negative-task", Lost, Task, "dropped: a task with a negative duration";
            AddedTask = "added-task", Doubted, Task, "added: tasks of the table that the timeline lacks";
            TextAmongMetrics = "text-among-metrics", Remark, Metric,
                "left out: values of further columns that are no numbers";
            ValueWithoutTask = "value-without-task", Lost, Metric,
                "dropped: a value without a task, name or number";
            BlocksWithoutCounters = "blocks-without-counters", Doubted, Metric,
                "doubtful: a table has counters of fewer blocks than the operator has";
            OperatorWithoutBasics = "operator-without-basics", Lost, Operator,
                "lost: an operator of which no OpBasicInfo.csv tells name and duration";
            CountersOfSeveral = "counters-of-several-launches", Lost, Metric,
                "lost: counters that don't say which of several launches they belong to";
            UnitOfValues = "unit-of-values", Remark, Clock,
                "read as milliseconds: begins of tasks that would run at once in the microseconds of the heading";
            UnsureUnit = "unsure-unit", Doubted, Clock,
                "doubtful: begins of tasks read as milliseconds, as MindSpore writes them, under a heading of microseconds";
            IterationWithoutEnd = "iteration-without-end", Lost, Iteration,
                "dropped: an inference without an end or duration";
            IterationNotCovered = "iteration-not-covered", Doubted, Iteration,
                "left out: an inference before or behind those of which all tasks were recorded";
            SpannedIteration = "spanned-iteration", Remark, Iteration,
                "an inference of which no begin and end are recorded: it lasts from its first task to its last";
            RangeWithoutSpan = "range-without-span", Lost, Range, "dropped: a range without a start or end";
            RangeEndsBeforeStart = "range-ends-before-start", Lost, Range,
                "dropped: a range that ends before it starts";
            SampleWithoutTime = "sample-without-time", Lost, Sample, "dropped: a sample without a time";
            CallShapes = "call-shapes", Remark, Tensor,
                "left out: shapes of the inputs of calls, for which a trace has no place";
            FileNotNeeded = "file-not-needed", Remark, File,
                "left out: a file whose content other files of the folder have";
            FileNotRead = "file-not-read", Lost, File,
                "lost: a file of the folder that could not be read";
            FileOfOtherRun = "file-of-other-run", Doubted, File,
                "left out: a file of another run or rank that lies among those of this one";
            FileNotUnderstood = "file-not-understood", Remark, File,
                "left out: a file beside the profile that opscope doesn't understand";
            FigureNotRead = "figure-not-read", Lost, Record,
                "dropped: a row of stated figures without a subject or a figure that is a number";
            MissingText = "missing-text", Doubted, Name, "doubtful: a text is named that the database lacks";
            UnknownVersion = "unknown-version", Doubted, File,
                "doubtful: the tables have a version that is not known";
            JournalBeside = "journal-beside", Doubted, File,
                "doubtful: what was written last lies in a journal beside the database";
            ShortDatabase = "short-database", Lost, File,
                "damaged: the database is shorter than it says, or its list of tables is damaged";
            BrokenTable = "broken-table", Lost, Record,
                "damaged: a table breaks off, and what follows is lost";
        }
        Timeline {
            OpenEventList = "open-event-list", Doubted, File,
                "open or cut off: the list of events isn't closed, so it may not be whole";
            CutEventList = "cut-event-list", Lost, File,
                "cut off: the file ends before its list of events does";
            DamagedEventList = "damaged-event-list", Lost, File,
                "damaged: everything behind invalid JSON is lost";
            EventNoObject = "event-no-object", Lost, Record,
                "dropped: an element of the list of events that is no object";
            EventWithoutPhase = "event-without-phase", Lost, Record, "dropped: an event without a phase";
            EventOfUnknownPhase = "event-of-unknown-phase", Remark, Record,
                "dropped: an event of a phase that no trace has a place for";
            EventWithoutTime = "event-without-time", Lost, Record, "dropped: an event without a time";
            EventTimeTooLarge = "event-time-too-large", Lost, Record,
                "dropped: an event with a time or duration beyond 292 years";
            EventTimeBeforeZero = "event-time-before-zero", Doubted, Record,
                "kept: an event with a negative time";
            EventWithoutDuration = "event-without-duration", Lost, Record,
                "dropped: a complete event without a duration";
            EventNegativeDuration = "event-negative-duration", Lost, Record,
                "dropped: a complete event with a negative duration";
            ValueNoNumber = "value-no-number", Lost, Sample,
                "dropped: a value of a counter that is no number";
            EndWithoutBeginning = "end-without-beginning", Lost, Record,
                "dropped: an end without a beginning";
            BeginningWithoutEnd = "beginning-without-end", Lost, Record,
                "dropped: a beginning without an end";
            EndBeforeBeginning = "end-before-beginning", Lost, Record,
                "dropped: a slice that ends before it begins";
            ArrowWithoutLaunch = "arrow-without-launch", Remark, Launch,
                "left out: an arrow beside those that lead from a call to the task which it launched";
            UnknownMetadata = "unknown-metadata", Remark, Record,
                "dropped: a metadata event about neither a process nor a thread";
            RepeatedSlice = "repeated-slice", Remark, Record,
                "left out: slices that only repeat or sum up others";
            PlacelessMember = "placeless-member", Remark, Run,
                "left out: a member that is no event and no short text";
        }
        Perfetto {
            CutPacket = "cut-packet", Lost, File, "cut off: the file ends within a packet";
            DamagedPacket = "damaged-packet", Lost, Record, "damaged: bytes that are no packet";
            DroppedPackets = "dropped-packets", Lost, Record,
                "lost: packets that the recorder itself says it had to drop";
            PacketWithoutState = "packet-without-state", Lost, Record,
                "dropped: a packet whose names or times lie in packets that were lost";
            PackedPackets = "packed-packets", Lost, Record,
                "lost: packets that are packed in a way that opscope doesn't unpack";
            PlacelessPacket = "placeless-packet", Remark, Record,
                "left out: packets of a kind for which a trace has no place";
            MissingInterned = "missing-interned", Doubted, Name,
                "doubtful: an event names a text that no packet tells";
            UntiedClock = "untied-clock", Doubted, Clock,
                "doubtful: times of a clock that nothing ties to the others";
            UndescribedTrack = "undescribed-track", Doubted, Name,
                "doubtful: events on a track that no packet describes";
            TrackCycle = "track-cycle", Doubted, Name, "doubtful: a track that lies below itself";
        }
        Profiler {
            CutProfile = "cut-profile", Lost, File,
                "damaged: the file is shorter than it says, or breaks off";
            BrokenProfileTable = "broken-profile-table", Lost, Record,
                "damaged: a table of the profile breaks off, and what follows is lost";
            ProfileJournal = "profile-journal", Doubted, File,
                "doubtful: what the profiler wrote last lies in a journal beside its database";
            UnreadableRecord = "unreadable-record", Lost, Record,
                "dropped: a row, line or message that can't be read";
            RecordWithoutTime = "record-without-time", Lost, Record,
                "dropped: a record without a start or an end";
            RecordEndsBeforeStart = "record-ends-before-start", Lost, Record,
                "dropped: a record that ends before it starts";
            TableWithoutColumns = "table-without-columns", Lost, Record,
                "dropped: a table of the profile that lacks columns without which it means nothing";
            PlacelessRecord = "placeless-record", Remark, Record,
                "left out: records of the profile for which a trace has no place";
            NumberBehindName = "number-behind-name", Doubted, Name,
                "doubtful: stacks that end in two numbers, of which the first was taken for a part of the name";
            UnnamedRecord = "unnamed-record", Doubted, Name,
                "doubtful: a record names a text that the profile lacks";
            RepeatedNumber = "repeated-number", Doubted, Record,
                "doubtful: several records of the profile under one number, of which the first counts";
            MissingLaunch = "missing-launch", Doubted, Launch,
                "doubtful: a task names a call that the profile lacks";
            OpenRange = "open-range", Lost, Range, "dropped: a range that was begun and never ended";
            CountedEvent = "counted-event", Remark, Record,
                "left out: an event that tells only how often it occurred";
            MeasureNoNumber = "measure-no-number", Remark, Metric,
                "left out: measured values that are no numbers";
            OpenLastSample = "open-last-sample", Doubted, Sample,
                "cut off: the last sample has no end, so functions of its stack may lack";
            DroppedByProfiler = "dropped-by-profiler", Lost, Record,
                "lost: samples or other records that the profiler itself says it had to drop";
            UnknownUnit = "unknown-unit", Lost, Task,
                "lost: a duration in a unit that opscope doesn't know";
            NotedByProfiler = "noted-by-profiler", Doubted, Run, "noted by the profiler";
        }
        OnnxRuntime {
            DamagedEvent = "damaged-event", Lost, Record, "damaged event";
            FurtherDamagedEvent = "further-damaged-event", Lost, Record, "further damaged events";
            CutEvents = "cut-events", Lost, File,
                "the file is cut off: the program was stopped while writing it, or the disk was full";
            UnknownCategory = "unknown-category", Doubted, Record, "events of an unknown category or name";
            FurtherUnknownCategory = "further-unknown-category", Doubted, Record,
                "events of further unknown categories";
            RepeatedEvent = "repeated-event", Doubted, Record,
                "left out: an event that the file has already";
            UnreadShapes = "unread-shapes", Doubted, Tensor, "shapes of operators could not be read";
            NodeOfOverlappingRuns = "node-of-overlapping-runs", Doubted, Task,
                "executions of nodes while several runs overlapped, without a telling thread";
            EventLimit = "event-limit", Lost, Record,
                "the runtime records no more than 1,000,000 events; later ones may be missing";
        }
        MegEngine {
            DamagedProfile = "damaged-profile", Lost, File, "cut off or damaged: what lies behind it is lost";
            NamesBehindDamage = "names-behind-damage", Lost, Operator,
                "names and types of operators, which lie behind the damage";
            HostTimesOfNoOperator = "host-times-of-no-operator", Lost, Call,
                "host times of an operator that the graph doesn't have";
            DeviceTimesOfNoOperator = "device-times-of-no-operator", Lost, Task,
                "device times of an operator that the graph doesn't have";
            StepOfNoOperator = "step-of-no-operator", Lost, Operator,
                "steps of the run whose operator the graph doesn't have";
            FootprintOfNoOperator = "footprint-of-no-operator", Lost, Operator,
                "footprints of an operator that the graph doesn't have";
            UnknownVar = "unknown-var", Lost, Tensor, "inputs and outputs that the graph doesn't have";
            TaskOfNoOperator = "task-of-no-operator", Lost, Task, "tasks of no operator";
            TimeNotFinite = "time-not-finite", Lost, Task, "times that are infinite or no number";
            TimeNotNumber = "time-not-number", Lost, Task, "times that lack a number for start, kern or end";
            OperatorTimesNoObject = "operator-times-no-object", Lost, Task,
                "times of an operator that are no object";
            PlaceTimesNoObject = "place-times-no-object", Lost, Task, "times in one place that are no object";
            FootprintNoObject = "footprint-no-object", Lost, Operator, "footprints that are no object";
            OperatorNoObject = "operator-no-object", Lost, Operator, "operators that are no object";
            VarNoObject = "var-no-object", Lost, Tensor, "vars that are no object";
            MemoryPlanNoObject = "memory-plan-no-object", Lost, Tensor, "memory plans that are no object";
            MemoryPlanWithoutChunk = "memory-plan-without-chunk", Lost, Tensor,
                "memory plans that name no chunk";
            MemoryLayoutNoObject = "memory-layout-no-object", Lost, Tensor,
                "memory layouts that are no object";
            MemoryChunkNoObject = "memory-chunk-no-object", Lost, Tensor, "memory chunks that are no object";
            ShapeNoList = "shape-no-list", Lost, Tensor, "shapes that are no list";
            DimensionNoNumber = "dimension-no-number", Lost, Tensor, "dimensions that are no number";
            EdgesNoList = "edges-no-list", Lost, Tensor, "inputs or outputs that are no list";
            IdNoText = "id-no-text", Lost, Operator, "ids that are no text";
        }
        Engine {
            CutLayers = "cut-layers", Lost, File,
                "cut off or damaged: the layers behind that place are lost";
            OpenLayers = "open-layers", Doubted, File,
                "cut off: the list of layers has no end, so it may not be whole";
            NoLayer = "no-layer", Lost, Record,
                "dropped: an item that is no layer or inference";
            ShortLayer = "short-layer", Lost, Record,
                "dropped: a line of a layer with too few cells";
            LayerWithoutDuration = "layer-without-duration", Lost, Task,
                "dropped: a layer or inference without a time that can be";
            ExecutionsAsOne = "executions-as-one", Doubted, Task,
                "doubtful: executions that are told as one, because there are too many";
            LayerNotDescribed = "layer-not-described", Doubted, Operator,
                "doubtful: layers that the description beside the profile doesn't have";
            OtherNetwork = "other-network", Doubted, File,
                "left out: a file beside the profile that describes another network";
            LayerNotRun = "layer-not-run", Remark, Operator,
                "left out: nodes that did not run by themselves";
            LayerNotProfiled = "layer-not-profiled", Remark, Operator,
                "left out: layers of the description that the profile has no time of";
            NamesakeLayer = "namesake-layer", Doubted, Operator,
                "doubtful: layers of one name, whose descriptions a profile doesn't tell apart";
            LayerWithinAnother = "layer-within-another", Remark, Operator,
                "left out: parts of layers that the profile tells as one";
            FurtherRun = "further-run", Lost, Run,
                "not read: a further run or table behind the first of a text";
            RowsNotPrinted = "rows-not-printed", Lost, Task,
                "not in the table: time that its total has and its rows haven't";
            OffTotal = "off-total", Doubted, Task,
                "doubtful: a table whose times don't add up to the total that it states";
            RoundedToNothing = "rounded-to-nothing", Doubted, Task,
                "doubtful: a time that the table prints as 0, because its unit is too coarse";
            CutNames = "cut-names", Doubted, Name,
                "doubtful: names that were cut off, so that several may be shown as one";
            CutInference = "cut-inference", Lost, Iteration,
                "left out: an inference that lacks layers which the others have";
        }
        Board {
            CutBoardRecord = "cut-board-record", Lost, Record,
                "dropped: a record that was cut off at the end of its file";
            DamagedBoardRecord = "damaged-board-record", Lost, Record, "dropped: a damaged record";
            BoardEventWithoutTime = "board-event-without-time", Lost, Record,
                "dropped: an event without a name or a time";
            CutRow = "cut-row", Lost, Record, "dropped: cells of a row that is cut off";
            CellNoNumber = "cell-no-number", Lost, Metric, "dropped: a cell that is no number";
            WrongBound = "wrong-bound", Doubted, Metric,
                "doubted: a memory bound that does not follow from its row";
            LayerWithoutTime = "layer-without-time", Lost, Task, "not shown: a layer whose time is not known";
            AmbiguousName = "ambiguous-name", Doubted, File,
                "doubted: the name of a file, which can be divided into model, pictures and miss rate in two ways";
            OtherModel = "other-model", Lost, Task, "not shown: a table of another model than the timelines'";
            OtherClock = "other-clock", Doubted, Clock,
                "doubted: layers by another clock than calls, laid where the first inference began";
            OverwrittenCalls = "overwritten-calls", Doubted, Call,
                "doubted: as many calls as a board keeps, so older ones may have been overwritten";
            MissingSamples = "missing-samples", Doubted, Sample,
                "missing: samples between those that are there";
            UnreadableBoardFile = "unreadable-board-file", Lost, File,
                "dropped: a file that could not be read";
            NoRegularFile = "no-regular-file", Lost, File, "dropped: a result that is no regular file";
            PrivateCalls = "private-calls", Lost, File, "not read: calls in a layout that is not public";
            PrivateFile = "private-file", Doubted, File, "not read: a raw file whose layout is not public";
            NotedByCollector = "noted-by-collector", Doubted, Run, "noted by the collector";
            DoubtedCollection = "doubted-collection", Doubted, Run, "doubted: the collection";
        }
        Run {
            UnrecordedIteration = "unrecorded-iteration", Lost, Iteration,
                "iterations that the profiler did not record (it keeps a million events)";
            EmptyIteration = "empty-iteration", Lost, Iteration,
                "iterations without a recorded node (the profiler keeps a million events)";
            ExecutionOutside = "execution-outside", Lost, Task, "node executions outside of all iterations";
            UnknownEngineGraph = "unknown-engine-graph", Lost, Operator,
                "the engine's own graph, so that its nodes can't be named";
            UnattributedNode = "unattributed-node", Lost, Operator,
                "nodes of the model of which the engine's graph doesn't tell what became of them";
        }
        OtherVersion {
            OtherLoss = "other-loss", Lost, Record, "lost, as another version of opscope says";
            OtherDoubt = "other-doubt", Doubted, Record, "doubted, as another version of opscope says";
            OtherRemark = "other-remark", Remark, Record, "remarked by another version of opscope";
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_by_its_sentence() {
        for kind in LossKind::ALL {
            assert_eq!(LossKind::from_name(kind.name()), Some(kind));
            assert_eq!(LossKind::from_sentence(kind.sentence()), Some(kind));
        }
        for severity in Severity::ALL {
            assert_eq!(LossKind::of_another_version(severity).severity(), severity);
        }
    }

    #[test]
    fn every_source_and_scope_is_one_of_a_kind() {
        let sources: HashSet<LossSource> = LossKind::ALL.into_iter().map(LossKind::source).collect();
        let scopes: HashSet<LossScope> = LossKind::ALL.into_iter().map(LossKind::scope).collect();
        assert_eq!((sources.len(), scopes.len()), (LossSource::ALL.len(), LossScope::ALL.len()));
    }
}
