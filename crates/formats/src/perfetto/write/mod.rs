//! Writing a [`Trace`] as a trace of Perfetto's.
//!
//! A file is pieces that are made on all cores and need nothing of one another: each is a sequence of its own,
//! whose first packet clears the state, tells clock and track, and names what its events name by numbers. Times
//! are differences to the event before, by a clock of the sequence that counts on.
//!
//! ```text
//! names ─► arguments ─► piece ─► head      a piece of the file; names of groups, lanes, counters, and the run
//! ```

mod arguments;
mod head;
mod names;
mod piece;

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use opscope_timeline::{Launches, Layout};
use opscope_trace::Trace;

use crate::chrome::{WriteError, Written, into_file};
use head::push_head;
use piece::{Encoder, Slices};

/// Whether a file of this name is to be such a trace: one that ends in `.pftrace` or `.perfetto-trace`.
pub fn is_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        ["pftrace", "perfetto-trace"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Writes a trace for Perfetto.
///
/// # Errors
/// The errors of `out`.
pub fn write(trace: &Trace, mut out: impl Write + Send) -> io::Result<Written> {
    let layout = Layout::new(trace);
    let launches = Launches::new(trace);
    let encoder = Encoder { trace, layout: &layout, launches: &launches };
    let pieces = pieces(&encoder);
    let counts = Written::counts(trace, &layout, &launches);
    let events = counts.slices + counts.marks + counts.counter_values;
    let mut bytes = 0;
    let encode = |index: usize, piece: &mut Vec<u8>| {
        // Number 0 means that there is no sequence.
        let sequence = index as u32 + 1;
        match &pieces[index] {
            Piece::Head => push_head(&layout, trace, events, sequence, piece),
            Piece::Slices(slices) => encoder.slices(slices, sequence, piece),
            Piece::Samples(rows) => encoder.samples(rows.clone(), sequence, piece),
        }
    };
    opscope_parallel::texts(pieces.len(), encode, |piece| {
        bytes += piece.len() as u64;
        out.write_all(piece)
    })?;
    out.flush()?;
    Ok(Written { bytes, ..counts })
}

/// Writes a trace for Perfetto into a file, which appears only when it is whole.
///
/// # Errors
/// The system's own, with the path.
pub fn write_file(trace: &Trace, path: &Path) -> Result<Written, WriteError> {
    into_file(path, |file| write(trace, file))
}

/// How many rows are encoded at once: a few hundred kilobytes, so that a thread's buffer stays in its cache.
const ROWS_A_PIECE: usize = 4096;

/// A part of the file that is encoded by itself.
enum Piece {
    Head,
    Slices(Slices),
    /// Some samples of the counters.
    Samples(Range<usize>),
}

fn pieces(encoder: &Encoder<'_>) -> Vec<Piece> {
    let mut pieces = vec![Piece::Head];
    for lane in 0..encoder.layout.lanes.len() {
        pieces.extend(encoder.divided(lane, ROWS_A_PIECE).into_iter().map(Piece::Slices));
    }
    let samples = encoder.trace.samples.len();
    let starts = (0..samples).step_by(ROWS_A_PIECE);
    pieces.extend(starts.map(|start| Piece::Samples(start..samples.min(start + ROWS_A_PIECE))));
    pieces
}
