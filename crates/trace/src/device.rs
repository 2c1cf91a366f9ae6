//! Devices and the streams on them.

use crate::table::table;
use crate::words;
use crate::{StringId, ThreadId};

words! {
    /// The kind of machine that a device is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum DeviceKind {
        /// The host's own processor.
        Cpu = "cpu",
        /// A graphics processor.
        Gpu = "gpu",
        /// A neural network processor.
        Npu = "npu",
        /// Something that the format didn't say.
        Other = "other",
    }
}

table! {
    /// Devices that executed tasks.
    DeviceTable,
    /// Names a row of the [`DeviceTable`].
    DeviceId,
    /// A device; where one machine's processor is used by several providers of an engine, each
    /// provider is a device of its own.
    Device {
        /// The device's number in its format; 0 where there is only one.
        number: u32,
        /// The kind of machine.
        kind: DeviceKind,
        /// The chip, the execution provider or the compute node, in the format's own word.
        name: StringId,
    }
}

table! {
    /// Queues of the devices, each executing one task after another.
    StreamTable,
    /// Names a row of the [`StreamTable`].
    StreamId,
    /// A queue of a device.
    Stream {
        /// The device that it belongs to.
        device: DeviceId,
        /// The stream's number in its format.
        number: u64,
        /// The thread that executes it, where the device is the host's processor.
        thread: Option<ThreadId>,
        /// The stream's name.
        name: StringId,
    }
}
