//! Copies whose states the task scheduler tracked, as tables and lanes show them.

use crate::dialect::Dialect;
use crate::facts::view::{DeviceView, View};
use crate::join::{TrackCopy, are_tracked, copies_of};

/// The name of a tracked copy in tables and lanes.
pub(crate) const NAME: &str = "MemcopyAsync";

/// The kind of task that tables and lanes have for such a copy.
pub(crate) const KIND: &str = "other";

/// The copies that are shown of a device. The accelerated reference doesn't show any.
pub(crate) fn track_copies(view: &View<'_>, device: &DeviceView<'_>) -> Vec<TrackCopy> {
    if view.dialect == Dialect::Accelerated || !are_tracked(device.device.metadata.chip()) {
        return Vec::new();
    }
    let (first, last) = device.window_with_gap().unwrap_or((None, u64::MAX));
    let window = first.unwrap_or(0)..=last;
    let states = device.device.tables.memcpys.rows().filter(|state| window.contains(&state.time));
    copies_of(states.collect()).0
}
