//! Quantities that were sampled over time.

use crate::table::table;
use crate::{DeviceId, Nanoseconds, StringId};

table! {
    /// Sampled quantities.
    CounterTable,
    /// Names a row of the [`CounterTable`].
    CounterId,
    /// A quantity that was sampled.
    Counter {
        /// The counted quantity.
        name: StringId,
        /// The unit of the samples, such as `B` or `MHz`.
        unit: StringId,
        /// The device that it belongs to; `None` is the host.
        device: Option<DeviceId>,
    }
}

table! {
    /// Samples of all counters, each counter's in the order of time.
    SampleTable,
    /// Names a row of the [`SampleTable`].
    SampleId,
    /// One sample of a counter.
    Sample {
        /// The counter that was sampled.
        counter: CounterId,
        /// When.
        time: Nanoseconds,
        /// The value, in the counter's unit.
        value: f64,
    }
}
