//! The slices of the timeline's rows, as an index takes them.

use std::sync::Arc;

use opscope_timeline::{Depths, Layout, Rows, Spans};
use opscope_trace::Trace;

use crate::embed::{Drawn, Ticks, union_of};
use crate::session::Subject;

/// The parts of a picture that its indexes look at.
pub(super) struct Base {
    pub subject: Arc<dyn Subject>,
    pub layout: Layout,
    pub depths: Depths,
    pub ticks: Ticks,
}

/// Starts and ends of a row's slices, in nanoseconds of the time line.
pub(super) enum RowSpans {
    /// Looked up in the profile, because there may be very many.
    OfLane { base: Arc<Base>, row: usize },
    /// When any stream of a device worked.
    Union(Vec<(u64, u64)>),
}

impl RowSpans {
    pub(super) fn of(base: &Arc<Base>, drawn: Drawn) -> Self {
        match drawn {
            Drawn::Row(row) => Self::OfLane { base: Arc::clone(base), row },
            Drawn::Union { group } => {
                Self::Union(union_of(base.subject.trace(), &base.layout, &base.depths, group, |_| true))
            }
        }
    }
}

impl Spans for RowSpans {
    fn len(&self) -> usize {
        match self {
            Self::OfLane { base, row } => base.depths.rows[*row].slices.len(),
            Self::Union(spans) => spans.len(),
        }
    }

    fn span(&self, slice: usize) -> (u64, u64) {
        match self {
            Self::OfLane { base, row } => {
                let row = &base.depths.rows[*row];
                base.layout.span(base.subject.trace(), row.lane, row.slices[slice] as usize)
            }
            Self::Union(spans) => spans[slice],
        }
    }
}

/// The number by which links name a row of the trace's table.
pub(super) fn id_of(trace: &Trace, rows: &Rows, slice: usize) -> usize {
    match rows {
        Rows::Iterations(ids) => ids[slice].index(),
        Rows::Unrecorded(ids) => trace.iterations.len() + ids[slice].index(),
        Rows::Calls(ids) => ids[slice].index(),
        Rows::Ranges(ids) => ids[slice].index(),
        Rows::Tasks(ids) => ids[slice].index(),
    }
}
