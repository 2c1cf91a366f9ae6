//! Encoding a trace's events and writing them.

use std::io::{self, Write};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use opscope_timeline::{Launches, Layout};
use opscope_trace::{FigureTopic, LossKind, RangeKind, Trace};

use super::arguments::count_alike;
use super::slices::SliceEncoder;
use super::text::{push_micros, push_number, push_string};

/// The content of a timeline, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Slices: inferences, calls, ranges and tasks.
    pub slices: u64,
    /// Marks.
    pub marks: u64,
    /// Values of counters.
    pub counter_values: u64,
    /// Values of counters that were left out, because JSON has no infinity and no NaN.
    pub counter_values_left_out: u64,
    /// Arrows from calls to the tasks that they launched.
    pub arrows: u64,
    /// Arrows that were left out, because the task began before the call.
    pub arrows_left_out: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Written {
    /// The content of a timeline of a trace, but for its bytes.
    pub(crate) fn counts(trace: &Trace, layout: &Layout, launches: &Launches) -> Self {
        let rows: usize = layout.lanes.iter().map(|lane| lane.rows.len()).sum();
        let marks = trace.ranges.kind().iter().filter(|&&kind| kind == RangeKind::Mark).count();
        let values = trace.samples.value();
        let finite = values.iter().filter(|value| value.is_finite()).count();
        Self {
            slices: (rows - marks) as u64,
            marks: marks as u64,
            counter_values: finite as u64,
            counter_values_left_out: (values.len() - finite) as u64,
            arrows: launches.len() as u64,
            arrows_left_out: launches.left_out() as u64,
            bytes: 0,
        }
    }
}

/// A timeline that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: the timeline could not be written: {source}", path.display())]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

/// Writes a trace as Chrome's trace event JSON, for Perfetto and `chrome://tracing`.
///
/// # Errors
/// The errors of `out`.
pub fn write(trace: &Trace, mut out: impl Write + Send) -> io::Result<Written> {
    let encoder = Encoder::new(trace);
    let pieces = encoder.pieces();
    let mut bytes = 0;
    let encode = |index: usize, text: &mut Vec<u8>| encoder.encode(&pieces[index], text);
    opscope_parallel::texts(pieces.len(), encode, |text| {
        bytes += text.len() as u64;
        out.write_all(text)
    })?;
    out.flush()?;
    Ok(Written { bytes, ..Written::counts(trace, &encoder.layout, &encoder.slices.launches) })
}

/// Writes of a trace what touches a stretch of time, in nanoseconds of its timeline, both ends included.
///
/// # Errors
/// The errors of `out`.
pub fn write_within(trace: &Trace, span: RangeInclusive<u64>, mut out: impl Write + Send) -> io::Result<()> {
    let encoder = Encoder::new(trace);
    let pieces = encoder.pieces_within(&span);
    let encode = |index: usize, text: &mut Vec<u8>| encoder.encode(&pieces[index], text);
    opscope_parallel::texts(pieces.len(), encode, |text| out.write_all(text))?;
    out.flush()
}

/// Writes a trace as Chrome's trace event JSON into a file, which appears only when it is whole.
///
/// # Errors
/// The system's own, with the path.
pub fn write_file(trace: &Trace, path: &Path) -> Result<Written, WriteError> {
    into_file(path, |file| write(trace, file))
}

/// Writes a timeline into a file, which appears only when it is whole.
pub(crate) fn into_file(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<Written>,
) -> Result<Written, WriteError> {
    let mut written = Written::default();
    opscope_files::write_atomically(path, |file| {
        written = write(file)?;
        Ok(())
    })
    .map_err(|source| WriteError { path: path.to_owned(), source })?;
    Ok(written)
}

/// How many events are encoded at once: about a megabyte, so that a thread's buffer stays in its
/// cache.
const EVENTS_A_PIECE: usize = 4096;

/// A part of the file that is encoded by itself.
enum Piece {
    /// The text before the events, and the names of groups and lanes.
    Head,
    /// Some rows of a lane.
    Slices { lane: usize, rows: Range<usize> },
    /// Some samples of the counters.
    Samples(Range<usize>),
    /// The text behind the events.
    Tail,
}

struct Encoder<'a> {
    trace: &'a Trace,
    layout: Layout,
    slices: SliceEncoder<'a>,
}

impl<'a> Encoder<'a> {
    fn new(trace: &'a Trace) -> Self {
        Self { trace, layout: Layout::new(trace), slices: SliceEncoder::new(trace) }
    }

    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = vec![Piece::Head];
        for (lane, content) in self.layout.lanes.iter().enumerate() {
            pieces.extend(portions(content.rows.len()).map(|rows| Piece::Slices { lane, rows }));
        }
        pieces.extend(portions(self.trace.samples.len()).map(Piece::Samples));
        pieces.push(Piece::Tail);
        pieces
    }

    /// Of every lane and of the samples the runs of rows that touch a stretch of time.
    fn pieces_within(&self, span: &RangeInclusive<u64>) -> Vec<Piece> {
        let mut pieces = vec![Piece::Head];
        for (lane, content) in self.layout.lanes.iter().enumerate() {
            let touches = |row: usize| {
                let (start, end) = self.layout.span(self.trace, lane, row);
                start <= *span.end() && end >= *span.start()
            };
            pieces.extend(runs(content.rows.len(), touches).map(|rows| Piece::Slices { lane, rows }));
        }
        let times = self.trace.samples.time();
        let touches = |row: usize| span.contains(&self.layout.time_line.point(times[row]));
        pieces.extend(runs(times.len(), touches).map(Piece::Samples));
        pieces.push(Piece::Tail);
        pieces
    }

    fn encode(&self, piece: &Piece, out: &mut Vec<u8>) {
        match piece {
            Piece::Head => self.encode_head(out),
            Piece::Slices { lane, rows } => self.slices.encode(&self.layout, *lane, rows.clone(), out),
            Piece::Samples(rows) => self.encode_samples(rows.clone(), out),
            Piece::Tail => out.extend_from_slice(b"\n]}\n"),
        }
    }

    /// Every event but the first is written with the comma before it. The first always stands in
    /// the head, because nothing is drawn outside a group and every group has a name.
    fn encode_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"otherData\":{");
        for (index, (name, value)) in other_data(self.trace, &self.layout).into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            push_string(out, &name);
            out.push(b':');
            match value {
                Ok(number) => push_number(out, number),
                Err(text) => push_string(out, &text),
            }
        }
        out.extend_from_slice(b"},\"traceEvents\":[");
        let events_start = out.len();
        for (index, group) in self.layout.groups.iter().enumerate() {
            push_metadata(out, process_number(index), None, "process", &group.name, index);
        }
        for (index, lane) in self.layout.lanes.iter().enumerate() {
            let (process, thread) = (process_number(lane.group), thread_number(&self.layout, index));
            push_metadata(out, process, Some(thread), "thread", &lane.label.to_string(), index);
        }
        if let Some(first_comma) = out.get_mut(events_start) {
            *first_comma = b' ';
        }
    }

    fn encode_samples(&self, rows: Range<usize>, out: &mut Vec<u8>) {
        let samples = &self.trace.samples;
        let columns = samples.counter()[rows.clone()].iter().zip(&samples.time()[rows.clone()]);
        for ((counter, &time), &value) in columns.zip(&samples.value()[rows]) {
            if !value.is_finite() {
                continue;
            }
            let place = &self.layout.counters[counter.index()];
            out.extend_from_slice(b",\n{\"ph\":\"C\",\"pid\":");
            push_number(out, process_number(place.group));
            out.extend_from_slice(b",\"ts\":");
            push_micros(out, self.layout.time_line.point(time));
            out.extend_from_slice(b",\"name\":");
            push_string(out, &place.name);
            out.extend_from_slice(b",\"args\":{\"value\":");
            push_value(out, value);
            out.extend_from_slice(b"}}");
        }
    }
}

/// Facts that a timeline tells of the whole of its trace, numbers and texts by their names: its writer, the trace's
/// zero and its clock, facts and remarks about the run, the threads that execute streams, and losses, with those of the
/// writing: viewers have no place for figures, measured values and operators without a task. `read::own` reads it.
pub(crate) fn other_data(trace: &Trace, layout: &Layout) -> Vec<(String, Result<i64, String>)> {
    let mut rows = vec![
        ("writer".to_owned(), Err(concat!("opscope ", env!("CARGO_PKG_VERSION")).to_owned())),
        ("zero_ns".to_owned(), Ok(layout.time_line.zero.0)),
    ];
    rows.extend(trace.clock.unix_zero.map(|zero| ("unix_zero_ns".to_owned(), Ok(zero))));
    let domain = trace.clock.domain.map(|domain| trace.strings.get(domain).to_owned());
    rows.extend(domain.map(|domain| ("clock_domain".to_owned(), Err(domain))));
    let facts =
        trace.run.facts().into_iter().map(|(key, value)| (format!("property {key}"), value.to_string()));
    let remarks = trace.run.remarks.iter().map(|(key, value)| (format!("remark {key}"), value.clone()));
    // A lane tells its own name only, which may be the device's word for the stream.
    let threads = (0..layout.lanes.len()).filter_map(|lane| {
        let thread = layout.executing_thread(trace, lane)?;
        Some((format!("thread of lane {}", thread_number(layout, lane)), thread))
    });
    rows.extend(facts.chain(remarks).chain(threads).map(|(key, value)| (key, Err(value))));
    let losses = trace
        .losses
        .iter()
        .map(|(_, loss)| (loss.kind, loss.count, trace.strings.get(loss.detail).to_owned()));
    rows.extend(losses.chain(placeless(trace)).map(|(kind, count, detail)| {
        // A reader takes either.
        let number = i64::try_from(count).map_err(|_| count.to_string());
        (format!("{}: {kind} ({detail})", kind.severity().name()), number)
    }));
    rows
}

/// The rows of a trace for which timelines have no place, as losses: kinds, counts, and what they are.
fn placeless(trace: &Trace) -> Vec<(LossKind, u64, String)> {
    let figures = FigureTopic::ALL.into_iter().map(|topic| {
        let count = trace.figures.topic().iter().filter(|known| **known == topic).count();
        (count, format!("figures that are stated: {}", topic.name()))
    });
    let mut is_executed = vec![false; trace.operators.len()];
    trace.tasks.operator().iter().flatten().for_each(|operator| is_executed[operator.index()] = true);
    let executed: Vec<_> = trace.operators.ids().filter(|id| is_executed[id.index()]).collect();
    let others = [
        (trace.operators.len() - executed.len(), "operators that no task executes".to_owned()),
        (count_alike(trace, &executed), "operators that are written like another one".to_owned()),
        (trace.readings.len(), "tasks with measured values".to_owned()),
        (trace.launch_sites.len(), "places in the program that launched tasks".to_owned()),
    ];
    let rows = figures.chain(others).filter(|(count, _)| *count > 0);
    rows.map(|(count, of)| (LossKind::PlacelessOnTimeline, count as u64, of)).collect()
}

/// The number by which events name a group; viewers take 0 for the idle process.
pub(crate) fn process_number(group: usize) -> usize {
    group + 1
}

/// The number by which events name a lane. No group has the same number, because a thread
/// with the number of its process passes for the main thread, which viewers rename.
pub(crate) fn thread_number(layout: &Layout, lane: usize) -> usize {
    layout.groups.len() + 1 + lane
}

/// The two events that name a group or lane and tell its place among the others.
fn push_metadata(
    out: &mut Vec<u8>,
    process: usize,
    thread: Option<usize>,
    of: &str,
    name: &str,
    position: usize,
) {
    let thread = thread.map_or(String::new(), |thread| format!(",\"tid\":{thread}"));
    let begin = format!(",\n{{\"ph\":\"M\",\"pid\":{process}{thread},\"name\":\"{of}_");
    out.extend_from_slice(begin.as_bytes());
    out.extend_from_slice(b"name\",\"args\":{\"name\":");
    push_string(out, name);
    out.extend_from_slice(b"}}");
    out.extend_from_slice(begin.as_bytes());
    out.extend_from_slice(format!("sort_index\",\"args\":{{\"sort_index\":{position}}}}}").as_bytes());
}

/// A finite number. Most are whole, and those need no floating-point formatting.
fn push_value(out: &mut Vec<u8>, value: f64) {
    const EXACT: f64 = (1u64 << 53) as f64;
    if value.fract() == 0.0 && value.abs() < EXACT {
        push_number(out, value as i64);
    } else {
        out.extend_from_slice(format!("{value:e}").as_bytes());
    }
}

/// The runs of rows that are wanted, none longer than a piece.
fn runs(count: usize, is_wanted: impl Fn(usize) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = (next..count).find(|&row| is_wanted(row))?;
        let most = count.min(start + EVENTS_A_PIECE);
        let end = (start + 1..most).find(|&row| !is_wanted(row)).unwrap_or(most);
        next = end;
        Some(start..end)
    })
}

fn portions(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(EVENTS_A_PIECE).map(move |start| start..count.min(start + EVENTS_A_PIECE))
}
