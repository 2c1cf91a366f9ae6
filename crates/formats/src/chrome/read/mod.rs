//! Reading Chrome's trace event JSON into a [`Trace`].
//!
//! The work goes in steps: `document` finds the list of events, `parts` reads it on all cores into
//! chunks of small rows that point into the file, and then the rows of the trace are made of those, by
//! the dialect of whoever wrote the file. Only as much is kept in memory as there are events, however
//! many bytes describe them.
//!
//! | dialect | known by | module |
//! |---|---|---|
//! | opscope's own | `otherData.writer` | `own` |
//! | a vendor's | whatever its [`Dialect`] looks for | handed in by the caller |
//! | PyTorch (Kineto) and any other | categories `cpu_op`, `kernel`, …; else work of its threads | `kineto` |
//!
//! The files use one another in this order, each only those before it:
//!
//! ```text
//! text, problems ─► chunk ─► arguments ─► event ─► parts ─► document      a file in chunks
//!                     └─► lanes, signature ─► builder                      a trace in the making
//!                                               ├─► dialect ─► own, counters
//!                                               └─► kineto, edges, arrows
//! ```

mod allocations;
mod arguments;
mod arrows;
mod builder;
mod chunk;
mod counters;
pub mod dialect;
mod document;
mod edges;
mod event;
mod executed;
mod kineto;
mod lanes;
mod members;
mod own;
mod parts;
mod problems;
mod signature;
mod text;
mod xla;

#[cfg(test)]
mod tests;

use opscope_trace::{LossKind, RangeKind, Trace};

use crate::json::JsonError;
use crate::reading::{Blocks, Row, Stop, WALL_CLOCK, decimal};
use builder::{Builder, ChunkNames, Item};
use dialect::{AboutFile, Dialect, DialectReader, Plain};
use lanes::Lanes;
use own::Own;
use parts::Division;
use xla::Xla;

pub(crate) use arguments::Arguments;
pub(crate) use chunk::{
    ArrowEnd, Chunk, ChunkLane, CounterKey, DetailsId, Head, Metadata, Slice, Text, Value,
};
pub(crate) use document::Document;
pub use document::{looks_like, loss_of_end};
pub(crate) use problems::Problems;

/// Bytes that are no Chrome trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The JSON breaks off or is invalid before there is any event.
    #[error("this is no Chrome trace: {0}")]
    Json(#[from] JsonError),
    /// The JSON is valid, but there is no list of events.
    #[error("this JSON object is no Chrome trace: it has no list of events named traceEvents")]
    NoEvents,
    /// Whoever asked for it wants it no more.
    #[error("the reading was stopped")]
    Stopped,
}

/// Reads a Chrome trace: a list of events, or an object that holds one as `traceEvents`.
///
/// Damage costs only what comes after it; that, and every event that was left out, is counted in
/// [`Trace::losses`].
///
/// # Errors
/// When there is no event to be had.
pub fn read(bytes: &[u8]) -> Result<Trace, ReadError> {
    read_with(bytes, &[], &Stop::default())
}

/// As [`read()`], of a trace that may be in the dialect of a vendor, until `stop` is wanted.
///
/// # Errors
/// When there is no event to be had, or it was stopped.
pub fn read_with(bytes: &[u8], vendors: &[&dyn Dialect], stop: &Stop) -> Result<Trace, ReadError> {
    read_divided(bytes, vendors, Division::default(), stop)
}

fn read_divided(
    bytes: &[u8],
    vendors: &[&dyn Dialect],
    division: Division,
    stop: &Stop,
) -> Result<Trace, ReadError> {
    let mut document = Document::read(bytes, division, stop);
    if stop.is_wanted() {
        return Err(ReadError::Stopped);
    }
    match &document.failure {
        Some(error) if document.events() == 0 => return Err(error.clone().into()),
        _ if !document.has_events => return Err(ReadError::NoEvents),
        _ => {}
    }
    let mut trace = make_trace(&mut document, vendors, stop).ok_or(ReadError::Stopped)?;
    if let Some(error) = &document.failure {
        trace.count_loss(document.end(bytes, error).loss(), 1, &error.to_string());
    }
    Ok(trace)
}

/// Makes a trace of what was read of a file, which may lose its slices by that; nothing if it was stopped.
pub(crate) fn make_trace(
    document: &mut Document<'_>,
    vendors: &[&dyn Dialect],
    stop: &Stop,
) -> Option<Trace> {
    let (of_file, lanes) = Lanes::collect(&document.chunks);
    let mut builder = Builder::new(of_file);
    kineto::begin(&mut builder, document);
    let about = AboutFile { document: &*document, lanes: &lanes };
    let mut dialects = [&Own as &dyn Dialect, &Xla].into_iter().chain(vendors.iter().copied());
    let dialect = dialects.find_map(|dialect| dialect.begin(&about, &mut builder));
    let mut dialect = dialect.unwrap_or_else(|| Box::new(Plain));
    members::enter(&mut builder.trace, document, |member| dialect.has_read(member));
    builder.zero = dialect.zero().unwrap_or_else(|| find_zero(&mut builder.trace, document));
    make_rows(&mut builder, &mut document.chunks, &lanes, &mut *dialect, stop)?;

    if stop.is_wanted() {
        return None;
    }
    let Builder { mut trace, mut problems, iterations, repeated, .. } = builder;
    iterations.enter(&mut trace);
    dialect.finish(&mut trace);
    document.chunks.iter().for_each(|chunk| problems.add(&chunk.problems));
    problems.report(&mut trace);
    trace.count_loss(LossKind::RepeatedSlice, repeated, "");
    for (content, count) in &document.left_out {
        trace.count_loss(LossKind::PlacelessPacket, *count, content);
    }
    Some(trace)
}

/// Makes the rows of the trace: of complete slices first, then of those that were written as two
/// events, then of marks and values; at last what leads from one to another. Slices that nothing needs any more are
/// given up, because the rows made of them take as much memory. Nothing if that was stopped.
fn make_rows<'a>(
    builder: &mut Builder<'a>,
    chunks: &mut [Chunk<'a>],
    lanes: &Lanes<'a>,
    dialect: &mut dyn DialectReader<'a>,
    stop: &Stop,
) -> Option<()> {
    let has_arrows = chunks.iter().any(|chunk| !chunk.arrows.is_empty());
    let has_loose_arrows = chunks.iter().any(|chunk| chunk.arrows.iter().any(|end| end.behind.is_none()));
    let mut rows: Vec<Vec<Row>> = vec![Vec::new(); chunks.len()];
    for ((chunk, of_chunk), rows) in chunks.iter_mut().zip(&lanes.of_chunks).zip(&mut rows) {
        let mut names = ChunkNames::new(chunk);
        let mut kept = Blocks::default();
        for slices in std::mem::take(&mut chunk.slices).into_blocks() {
            if stop.is_wanted() {
                return None;
            }
            for slice in &slices {
                let item = names.item(builder, chunk, of_chunk, &slice.head, slice.duration);
                let row = make_row(builder, &item, dialect);
                if has_arrows {
                    rows.push(row);
                }
            }
            if has_loose_arrows {
                kept.push_block(slices);
            }
        }
        chunk.slices = kept;
    }
    let chunks = &*chunks;
    if stop.is_wanted() {
        return None;
    }
    edges::match_edges(builder, chunks, lanes, |builder, item| {
        make_row(builder, item, dialect);
    });
    for (chunk, of_chunk) in chunks.iter().zip(&lanes.of_chunks) {
        if stop.is_wanted() {
            return None;
        }
        let mut names = ChunkNames::new(chunk);
        for head in &chunk.marks {
            let item = names.item(builder, chunk, of_chunk, head, 0);
            builder.range(&item, RangeKind::Mark, dialect.domain_of_mark(&item));
        }
    }
    counters::add(builder, chunks, dialect, &lanes.processes);
    if stop.is_wanted() {
        return None;
    }
    builder.tie_loose_tasks();
    if has_arrows {
        arrows::follow(builder, chunks, lanes, &rows);
    }
    allocations::add(builder, chunks, lanes);
    Some(())
}

/// Makes the row of a slice: the dialect says what it is, or else its category.
fn make_row<'a>(builder: &mut Builder<'a>, slice: &Item<'a>, dialect: &mut dyn DialectReader<'a>) -> Row {
    dialect.slice(builder, slice).unwrap_or_else(|| kineto::slice(builder, slice))
}

/// Where the trace's zero lies in the file's times.
///
/// Times since 1970 are counted from the first event on; what they were counted from before is
/// kept in the trace's clock.
fn find_zero(trace: &mut Trace, document: &Document<'_>) -> i64 {
    let first_of = |chunk: &Chunk<'_>| {
        let slices = chunk.slices.iter().map(|slice| slice.head.time);
        let edges = chunk.edges.iter().map(|edge| edge.head.time);
        let marks = chunk.marks.iter().map(|mark| mark.time);
        let values = chunk.values.iter().map(|value| value.time);
        slices.chain(edges).chain(marks).chain(values).min()
    };
    let first = document.chunks.iter().filter_map(first_of).min().unwrap_or(0);
    if first >= WALL_CLOCK {
        trace.clock.unix_zero = Some(first);
        return first;
    }
    let base = document.member("baseTimeNanoseconds").and_then(|base| decimal::whole(base).ok());
    trace.clock.unix_zero = base;
    0
}
