//! The host's reports of collective operations.

use crate::columns::columns;

columns! {
    /// Steps of collective operations, by thread and time.
    CommunicationNoteTable,
    /// A note on a step of a collective operation, made while the step is launched.
    CommunicationNote {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// The step's name, hashed.
        name: u64,
        /// The group's name, hashed.
        group: u64,
        /// This process's rank; `u32::MAX` for none.
        local_rank: u32,
        /// The other side's rank; `u32::MAX` for none.
        remote_rank: u32,
        /// How many ranks there are.
        rank_size: u32,
        /// The plane.
        plane: u32,
        /// The context of the device's task.
        context: u32,
        /// The notification waited for; `u64::MAX` for none.
        notify: u64,
        /// An estimate of the duration in microseconds.
        estimate: f64,
        /// Bytes.
        size: u64,
        /// The element type.
        data_type: u32,
        /// The kind of link.
        link: u32,
        /// The kind of transport.
        transport: u32,
        /// The kind of a remote access.
        rdma: u32,
    }
}

columns! {
    /// Collective operations, by thread and time.
    CollectiveNoteTable,
    /// A note on a collective operation as a whole, made while its node is launched.
    CollectiveNote {
        /// The reporting thread.
        thread: u32,
        /// When; host ticks.
        time: u64,
        /// Whether it is relayed.
        relayed: bool,
        /// Whether it is repeated when it fails.
        retried: bool,
        /// The element type.
        data_type: u8,
        /// The algorithm's name, hashed.
        algorithm: u64,
        /// How many elements.
        count: u64,
        /// The group's name, hashed.
        group: u64,
    }
}
