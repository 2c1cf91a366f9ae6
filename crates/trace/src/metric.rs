//! Counts of the hardware while tasks ran.

use crate::pool::Span;
use crate::table::table;
use crate::{StringId, TaskId};

table! {
    /// Quantities that hardware reports for single tasks.
    ///
    /// A metric has the name that the vendor's tables give it, without the unit: `aic_mac_ratio`,
    /// `vec_time` in `us`, `main_mem_read_bw` in `GB/s`, `Mac Ppen Ratio`. Ratios of which the
    /// whole is 1 have no unit, those of which it is 100 have `%`. The number of blocks that a task
    /// was split into is always `block_num`, that of the other kind of core `mix_block_num`.
    MetricTable,
    /// Names a row of the [`MetricTable`].
    MetricId,
    /// A quantity that hardware reports for single tasks.
    Metric {
        /// The measured quantity.
        name: StringId,
        /// The unit of the values, such as `us` or `GB/s`; empty for counts and ratios.
        unit: StringId,
    }
}

table! {
    /// The values of one task each; [`Trace::readings_of`] and [`Trace::metric_values`] take them
    /// apart.
    ///
    /// [`Trace::readings_of`]: crate::Trace::readings_of
    /// [`Trace::metric_values`]: crate::Trace::metric_values
    ReadingTable,
    /// Names a row of the [`ReadingTable`].
    ReadingId,
    /// The values that were measured of one task. Tasks of which the same was measured share the list of
    /// metrics, so that a value costs eight bytes.
    Reading {
        /// The task.
        task: TaskId,
        /// The list of the measured quantities.
        metrics: Span<MetricId>,
        /// The values, one for each metric; what wasn't measured of this task is in neither list.
        values: Span<f64>,
    }
}
