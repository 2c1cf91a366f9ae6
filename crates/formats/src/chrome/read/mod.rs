//! Reading Chrome's trace event JSON into a [`Trace`].
//!
//! The work goes in steps: `document` finds the list of events, `parts` reads it on several
//! threads into chunks of small rows that point into the file, and then the rows of the trace are
//! made of those, by what a slice's lane shows (`lanes`) or what its category is. Only as much is
//! kept in memory as there are events, however many bytes describe them.
//!
//! | dialect | known by | module |
//! |---|---|---|
//! | opscope's own | `otherData.writer` | `own` |
//! | msprof, torch_npu | processes `Ascend Hardware`, `CANN` | `ascend` |
//! | PyTorch (Kineto) | categories `cpu_op`, `kernel`, … | `kineto` |
//! | any other | – | `kineto`, as work of its threads |

mod arrows;
mod ascend;
mod builder;
mod chunk;
mod counters;
mod document;
mod edges;
mod event;
mod kineto;
mod lanes;
mod members;
mod own;
mod parts;
mod problems;
mod signature;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::rc::Rc;

use opscope_trace::{RangeKind, Severity, Trace};

use crate::ascend_vocabulary::FIRST_GROUP_STREAM;
use crate::json::{JsonError, Scanner};
use crate::reading::{WALL_CLOCK, Waits, decimal};
use builder::{Builder, ChunkNames, Item, Row, text_of};
use chunk::{Chunk, Raw};
use counters::Owner;
use document::{Document, End};
use kineto::Class;
use lanes::{Lanes, Role};
use parts::Division;

pub use document::looks_like;

/// Bytes that are no Chrome trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The JSON breaks off or is invalid before there is any event.
    #[error("this is no Chrome trace: {0}")]
    Json(#[from] JsonError),
    /// The JSON is valid, but there is no list of events.
    #[error("this JSON object is no Chrome trace: it has no list of events named traceEvents")]
    NoEvents,
}

/// Reads a Chrome trace: a list of events, or an object that holds one as `traceEvents`.
///
/// What is cut off or damaged costs only what comes after it; that, and every event that was left
/// out, is counted in [`Trace::losses`].
///
/// # Errors
/// When there is no event to be had.
pub fn read(bytes: &[u8]) -> Result<Trace, ReadError> {
    read_divided(bytes, Division::default())
}

fn read_divided(bytes: &[u8], division: Division) -> Result<Trace, ReadError> {
    let document = Document::read(bytes, division);
    match &document.failure {
        Some(error) if document.events() == 0 => return Err(error.clone().into()),
        _ if !document.has_events => return Err(ReadError::NoEvents),
        _ => {}
    }
    let mut trace = make_trace(&document);
    if let Some(error) = &document.failure {
        let (severity, reason) = match document.end(bytes, error) {
            // Writers that stream may leave the bracket out, and a program that was killed does.
            End::BetweenEvents => {
                let reason = "open or cut off: the list of events isn't closed, so it may not be whole";
                (Severity::Doubted, reason)
            }
            End::Cut => (Severity::Lost, "cut off: the file ends before its list of events does"),
            End::Damaged => (Severity::Lost, "damaged: everything behind invalid JSON is lost"),
        };
        trace.count_as(severity, reason, 1, &error.to_string());
    }
    Ok(trace)
}

fn make_trace(document: &Document<'_>) -> Trace {
    let chunks = &document.chunks;
    let is_own = document.member("otherData").is_some_and(own::is_writer);
    let (lanes, places) = Lanes::collect(chunks, is_own);
    let classes = Classes::of(chunks);
    let is_profile = document.member("schemaVersion").is_some();

    let mut builder = Builder::new(lanes);
    builder.has_device = places.is_ascend || classes.on_device;
    builder.is_framework = is_profile || places.is_ascend || classes.of_framework;
    builder.device_names = document.member("deviceProperties").map(device_names).unwrap_or_default();
    members::enter(&mut builder.trace, document, is_own);
    builder.zero = find_zero(&mut builder.trace, document, is_own);
    make_rows(&mut builder, chunks, &places, is_own);

    let Builder { mut trace, mut problems, iterations, repeated, .. } = builder;
    iterations.enter(&mut trace);
    if places.is_ascend {
        Waits::enter(&mut trace, FIRST_GROUP_STREAM);
    }
    chunks.iter().for_each(|chunk| problems.add(&chunk.problems));
    problems.report(&mut trace);
    let reason = "left out: slices that only repeat or sum up others";
    trace.count_as(Severity::Remark, reason, repeated, "");
    trace
}

/// Makes the rows of the trace: of complete slices first, then of those that were written as two
/// events, then of marks and values; at last what leads from one to another.
fn make_rows<'a>(builder: &mut Builder<'a>, chunks: &[Chunk<'a>], lanes: &Lanes<'a>, is_own: bool) {
    let has_arrows = chunks.iter().any(|chunk| !chunk.arrows.is_empty());
    let mut rows: Vec<Vec<Row>> = Vec::with_capacity(chunks.len());
    for (chunk, of_chunk) in chunks.iter().zip(&lanes.of_chunks) {
        let mut names = ChunkNames::new(chunk);
        let row_of = |slice: &chunk::Slice| {
            let item = names.item(builder, chunk, of_chunk, &slice.head, slice.duration);
            make_row(builder, &item)
        };
        let of_slices = chunk.slices.iter().map(row_of);
        if has_arrows {
            rows.push(of_slices.collect());
        } else {
            of_slices.for_each(drop);
        }
    }
    edges::match_edges(builder, chunks, lanes, |builder, item| {
        make_row(builder, item);
    });
    for (chunk, of_chunk) in chunks.iter().zip(&lanes.of_chunks) {
        let mut names = ChunkNames::new(chunk);
        for head in &chunk.marks {
            let item = names.item(builder, chunk, of_chunk, head, 0);
            let domain = if is_own { item.word } else { item.category };
            builder.range(&item, RangeKind::Mark, domain);
        }
    }
    let owner = match (is_own, lanes.is_ascend) {
        (true, _) => Owner::Own,
        (_, true) => Owner::Ascend,
        _ => Owner::Unknown,
    };
    counters::add(builder, chunks, &owner, &lanes.processes);
    builder.tie_loose_tasks();
    if has_arrows {
        arrows::follow(builder, chunks, lanes, &rows);
    }
}

/// Makes the row of a slice: its lane tells what it is, or else its category.
fn make_row<'a>(builder: &mut Builder<'a>, item: &Item<'a>) -> Row {
    let role = Rc::clone(&builder.lanes[item.lane.0].role);
    match &*role {
        Role::Plain => kineto::slice(builder, item),
        Role::Ascend(role) => ascend::slice(builder, item, *role),
        Role::Own(role) => own::slice(builder, item, role),
    }
}

/// What the categories of the slices tell about the whole file.
#[derive(Default)]
struct Classes {
    /// Something ran on a device.
    on_device: bool,
    /// PyTorch's profiler wrote it.
    of_framework: bool,
}

impl Classes {
    fn of(chunks: &[Chunk<'_>]) -> Self {
        let mut classes = Self::default();
        for chunk in chunks {
            // Categories are few; each is judged once.
            let mut seen = vec![false; chunk.texts().len() + 1];
            for slice in &chunk.slices {
                let category = slice.head.category;
                if !std::mem::replace(&mut seen[category.0 as usize], true) {
                    let class = kineto::class_of(event::unquoted(chunk.raw(category)));
                    classes.on_device |= class.is_on_device();
                    classes.of_framework |= class != Class::Foreign;
                }
            }
        }
        classes
    }
}

/// Where the trace's zero lies in the file's times.
///
/// Times since 1970 are counted from the first event on; what they were counted from before is
/// kept in the trace's clock.
fn find_zero(trace: &mut Trace, document: &Document<'_>, is_own: bool) -> i64 {
    if is_own {
        let other_data = document.member("otherData").unwrap_or_default();
        return own::read_other_data(trace, other_data).saturating_neg();
    }
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

/// Kineto's list of devices: their names by their numbers.
fn device_names(properties: Raw<'_>) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    // The member was read before; one that is no such list gives no names.
    let _ = Scanner::new(properties).array("a list", |scanner| {
        let (mut number, mut name) = (None, String::new());
        scanner.entries("an object", |scanner, key| {
            match key.bytes {
                b"id" => number = event::number(scanner.value()?),
                b"name" => name = text_of(scanner.value()?).into_owned(),
                _ => drop(scanner.skip()?),
            }
            Ok(())
        })?;
        if let Some(number) = number.and_then(|number| u32::try_from(number).ok()) {
            names.insert(number, name);
        }
        Ok(())
    });
    names
}
