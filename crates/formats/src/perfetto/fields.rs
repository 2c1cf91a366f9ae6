//! The numbers of the fields that are read or written, by message (the files below `protos/perfetto/trace` of the
//! Perfetto project).

/// The whole file.
pub mod trace {
    pub const PACKET: u32 = 1;
}

/// `TracePacket`.
pub mod packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const TRUSTED_UID: u32 = 3;
    pub const CHROME_EVENTS: u32 = 5;
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const STATE_CLEARED: u32 = 41;
    pub const PREVIOUS_DROPPED: u32 = 42;
    pub const PROCESS_DESCRIPTOR: u32 = 43;
    pub const THREAD_DESCRIPTOR: u32 = 44;
    pub const COMPRESSED: u32 = 50;
    pub const CLOCK: u32 = 58;
    pub const DEFAULTS: u32 = 59;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    pub const TRUSTED_PID: u32 = 79;
    pub const FIRST_ON_SEQUENCE: u32 = 87;
    pub const MACHINE: u32 = 98;
    pub const ZSTD_COMPRESSED: u32 = 133;

    /// Contents that are about the recording itself: its configuration, statistics and marks.
    pub const ABOUT_RECORDING: [u32; 13] = [33, 34, 35, 36, 45, 46, 69, 72, 78, 89, 124, 126, 134];

    /// Bits of [`SEQUENCE_FLAGS`].
    pub const FLAG_CLEARED: u64 = 1;
    pub const FLAG_NEEDS_STATE: u64 = 2;
}

/// `TracePacketDefaults`.
pub mod defaults {
    pub const TRACK_EVENT: u32 = 11;
    pub const CLOCK: u32 = 58;
}

/// `ClockSnapshot`, and its `Clock`.
pub mod snapshot {
    pub const CLOCKS: u32 = 1;
    pub const PRIMARY: u32 = 2;
    pub const CLOCK_ID: u32 = 1;
    pub const TIMESTAMP: u32 = 2;
    pub const INCREMENTAL: u32 = 3;
    pub const MULTIPLIER: u32 = 4;
}

/// `TrackDescriptor`.
pub mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const THREAD: u32 = 4;
    pub const PARENT: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const STATIC_NAME: u32 = 10;
    pub const ATRACE_NAME: u32 = 13;
}

/// `ProcessDescriptor`.
pub mod process {
    pub const PID: u32 = 1;
    pub const SORT_INDEX: u32 = 3;
    pub const NAME: u32 = 6;
}

/// `ThreadDescriptor`.
pub mod thread {
    pub const PID: u32 = 1;
    pub const TID: u32 = 2;
    pub const SORT_INDEX: u32 = 3;
    pub const NAME: u32 = 5;
    pub const REFERENCE_US: u32 = 6;
}

/// `CounterDescriptor`.
pub mod counter {
    pub const UNIT: u32 = 3;
    pub const MULTIPLIER: u32 = 4;
    pub const INCREMENTAL: u32 = 5;
    pub const UNIT_NAME: u32 = 6;
    pub const UNIT_TIME_NS: u64 = 1;
    pub const UNIT_SIZE_BYTES: u64 = 3;
}

/// `ProcessTree`, its `Process` and its `Thread`.
pub mod tree {
    pub const PROCESSES: u32 = 1;
    pub const THREADS: u32 = 2;
    pub const PROCESS_PID: u32 = 1;
    pub const PROCESS_COMMAND: u32 = 3;
    pub const THREAD_TID: u32 = 1;
    pub const THREAD_NAME: u32 = 2;
    pub const THREAD_PROCESS: u32 = 3;
}

/// `TrackEvent`.
pub mod event {
    pub const TIME_DELTA_US: u32 = 1;
    pub const CATEGORY_IIDS: u32 = 3;
    pub const ANNOTATIONS: u32 = 4;
    pub const LEGACY: u32 = 6;
    pub const TYPE: u32 = 9;
    pub const NAME_IID: u32 = 10;
    pub const TRACK: u32 = 11;
    pub const EXTRA_VALUES: u32 = 12;
    pub const TIME_ABSOLUTE_US: u32 = 16;
    pub const CATEGORIES: u32 = 22;
    pub const NAME: u32 = 23;
    pub const COUNTER_VALUE: u32 = 30;
    pub const EXTRA_TRACKS: u32 = 31;
    pub const FLOWS_OLD: u32 = 36;
    pub const LAST_FLOWS_OLD: u32 = 42;
    pub const DOUBLE_VALUE: u32 = 44;
    pub const EXTRA_DOUBLE_TRACKS: u32 = 45;
    pub const EXTRA_DOUBLE_VALUES: u32 = 46;
    pub const FLOWS: u32 = 47;
    pub const LAST_FLOWS: u32 = 48;

    pub const SLICE_BEGIN: u64 = 1;
    pub const SLICE_END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// `TrackEvent.LegacyEvent`: an event of Chrome's JSON in another form.
pub mod legacy {
    pub const NAME_IID: u32 = 1;
    pub const PHASE: u32 = 2;
    pub const DURATION_US: u32 = 3;
}

/// `InternedData`; all its entries have their number in field 1 and their text in field 2.
pub mod interned {
    pub const CATEGORIES: u32 = 1;
    pub const NAMES: u32 = 2;
    pub const ANNOTATION_NAMES: u32 = 3;
    pub const ANNOTATION_TEXTS: u32 = 29;
    pub const NUMBER: u32 = 1;
    pub const TEXT: u32 = 2;
}

/// `DebugAnnotation`.
pub mod annotation {
    pub const NAME_IID: u32 = 1;
    pub const BOOLEAN: u32 = 2;
    pub const UNSIGNED: u32 = 3;
    pub const SIGNED: u32 = 4;
    pub const DOUBLE: u32 = 5;
    pub const TEXT: u32 = 6;
    pub const POINTER: u32 = 7;
    pub const JSON: u32 = 9;
    pub const NAME: u32 = 10;
    pub const ENTRIES: u32 = 11;
    pub const ITEMS: u32 = 12;
    pub const TEXT_IID: u32 = 17;
}

/// `ChromeEventBundle`, and its `ChromeMetadata`: names and values about the whole of a trace.
pub mod metadata {
    pub const METADATA: u32 = 2;
    pub const NAME: u32 = 1;
    pub const TEXT: u32 = 2;
    pub const BOOLEAN: u32 = 3;
    pub const NUMBER: u32 = 4;
    pub const JSON: u32 = 5;
}

/// Numbers of clocks: those below 64 are the system's, those from 64 below 128 hold within a sequence.
pub mod clock {
    pub const REALTIME: u32 = 1;
    pub const MONOTONIC: u32 = 3;
    pub const BOOT: u32 = 6;
    pub const FIRST_OF_SEQUENCE: u32 = 64;
    pub const FIRST_OF_OTHERS: u32 = 128;
}
