//! `OVERLAP_ANALYSIS`: when each device computed, communicated, and was free.

use std::io::{self, Seek, Write};

use crate::database::output::Output;
use crate::database::schema;
use crate::facts::busy::busy;
use crate::facts::collectives::Collectives;
use crate::facts::view::View;

/// The stretches of time of one kind on a device.
struct Stretches<'a> {
    /// The row of the first of them.
    first: usize,
    device: u32,
    /// The number of the kind: 0 computing, 1 communicating, 2 that alone, 3 free.
    kind: i64,
    spans: &'a [(i64, i64)],
}

/// Writes the table.
pub(super) fn write<W: Write + Seek + Send>(
    view: &View<'_>,
    found: &Collectives<'_>,
    out: &mut Output<'_, W>,
) -> io::Result<()> {
    let all = busy(view, found, |device, ticks| device.device.clock.local(ticks));
    let mut parts: Vec<Stretches<'_>> = Vec::new();
    let mut rows = 0;
    for busy in &all {
        let device = view.devices[busy.device as usize].device.id;
        for (kind, spans) in (0..).zip([&busy.computing, &busy.communicating, &busy.alone, &busy.free]) {
            parts.push(Stretches { first: rows, device, kind, spans });
            rows += spans.len();
        }
    }
    if rows == 0 {
        return Ok(());
    }
    out.table(&schema::OVERLAP_ANALYSIS, rows, |index, row| {
        // The last part that begins at or before the row; empty parts begin where the next one does.
        let part = &parts[parts.partition_point(|part| part.first <= index) - 1];
        let (start, end) = part.spans[index - part.first];
        row.key(index as i64);
        row.integer(i64::from(part.device));
        row.integer(start);
        row.integer(end);
        row.integer(part.kind);
    })
}
