//! Functions that a device's own processors ran when they were sampled, and the events that they counted.

use crate::columns::columns;

columns! {
    /// Samples of the control and AI processors, in the order of the files.
    FunctionSampleTable,
    /// A function that a processor ran, with what it counted of an event since the sample before.
    FunctionSample {
        /// When; nanoseconds since the device's start.
        time: u64,
        /// The process.
        process: u32,
        /// The thread.
        thread: u32,
        /// The processor.
        processor: u32,
        /// The event's number.
        event: u32,
        /// How often it happened.
        count: u64,
        /// The function, by its place in [`FunctionTables::texts`].
        function: u32,
        /// The file that it is from, in the same way.
        module: u32,
    }
}

columns! {
    /// Samples of the task scheduler's processor, in the order of the files.
    SchedulerSampleTable,
    /// An address that the task scheduler's processor executed, with what it counted of an event.
    SchedulerSample {
        /// When; device ticks.
        time: u64,
        /// The address.
        address: u64,
        /// The event's number.
        event: u32,
        /// How often it happened.
        count: u64,
    }
}

/// The functions that one device's own processors ran.
#[derive(Clone, Debug, Default)]
pub struct FunctionTables {
    /// Of the control and AI processors.
    pub processors: FunctionSampleTable,
    /// The names of functions and modules.
    pub texts: Vec<String>,
    /// Of the task scheduler's processor.
    pub scheduler: SchedulerSampleTable,
}
