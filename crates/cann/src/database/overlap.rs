//! `OVERLAP_ANALYSIS`: when each device computed, communicated, and was free.

use std::io::{self, Seek, Write};

use crate::database::output::Output;
use crate::database::schema;
use crate::export::busy::{Busy, busy};
use crate::export::communication::Collectives;
use crate::export::view::View;

/// A stretch of time: the device, begin, end and what it is.
type Stretch = (u32, i64, i64, i64);

/// Writes the table.
pub(super) fn write<W: Write + Seek>(
    view: &View<'_>,
    found: &Collectives<'_>,
    out: &mut Output<'_, W>,
) -> io::Result<()> {
    let all = busy(view, found, |device, ticks| device.device.clock.local(ticks));
    let stretches: Vec<Stretch> = all.iter().flat_map(|busy| stretches(view, busy)).collect();
    if stretches.is_empty() {
        return Ok(());
    }
    out.table(&schema::OVERLAP_ANALYSIS, stretches.len(), |index, row| {
        let (device, start, end, kind) = stretches[index];
        row.key(index as i64);
        row.integer(i64::from(device));
        row.integer(start);
        row.integer(end);
        row.integer(kind);
    })
}

/// The stretches of one device, by the numbers of what they are.
fn stretches(view: &View<'_>, busy: &Busy) -> Vec<Stretch> {
    let device = view.devices[busy.device as usize].device.id;
    let kinds = [&busy.computing, &busy.communicating, &busy.alone, &busy.free];
    let numbered = (0..).zip(kinds).flat_map(|(kind, spans)| spans.iter().map(move |span| (kind, *span)));
    numbered.map(|(kind, (start, end))| (device, start, end, kind)).collect()
}
