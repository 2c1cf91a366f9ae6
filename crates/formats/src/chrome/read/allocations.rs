//! PyTorch's allocations: whose memory is held where a device holds most. Marks of old versions have no addresses, by which
//! nobody knows what was given back; of those it is told who took how much in all.
//!
//! The marks `[memory]` tell how many bytes an address got, or gave back as a negative number, and how many are allocated
//! in all. Whoever was at work on the thread took them: the innermost module of the network, or range that the program
//! set, else the outermost operator of the framework.

use std::collections::HashMap;

use opscope_trace::{FigureSubject, FigureTopic, Nanoseconds, StringId, ThreadId, Trace};

use super::builder::Builder;
use super::chunk::{Chunk, ChunkLane};
use super::lanes::Lanes;
use super::text::{Raw, small_number};

/// Bytes that an address got or gave back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation<'a> {
    pub lane: ChunkLane,
    pub time: i64,
    pub bytes: f64,
    pub address: Raw<'a>,
    /// The number of the device; nothing of the host's memory.
    pub device: Raw<'a>,
    /// All bytes that are allocated on the device then, if the mark tells.
    pub allocated: Option<f64>,
}

/// The same, with its place in the trace and whoever was at work there.
struct Step<'a> {
    thread: Option<ThreadId>,
    at: Nanoseconds,
    owner: Option<StringId>,
    told: Allocation<'a>,
}

/// Where the figures come from.
const SOURCE: &str = "the allocator";

/// Owners beyond this many of a device are put together.
const MOST_OWNERS: usize = 200;

/// Adds figures of whose memory is held at the peak of each device.
pub(super) fn add<'a>(builder: &mut Builder<'a>, chunks: &[Chunk<'a>], lanes: &Lanes<'a>) {
    let mut steps: Vec<Step<'a>> = Vec::new();
    for (chunk, of_chunk) in chunks.iter().zip(&lanes.of_chunks) {
        for told in &chunk.allocations {
            let thread = builder.thread(of_chunk[told.lane.0 as usize]);
            steps.push(Step { thread, at: builder.time(told.time), owner: None, told: *told });
        }
    }
    if steps.is_empty() {
        return;
    }
    steps.sort_by_key(|step| (step.told.device, step.at));
    find_owners(&builder.trace, &mut steps);
    for of_device in steps.chunk_by(|a, b| a.told.device == b.told.device) {
        let label = match small_number(of_device[0].told.device) {
            Some(number) => format!("gpu {number}"),
            None => "host".to_owned(),
        };
        tell(&mut builder.trace, &label, of_device);
    }
}

/// The memory that an owner took.
#[derive(Clone, Copy, Default)]
struct Held {
    at_peak: f64,
    taken: f64,
    allocations: u64,
}

fn tell(trace: &mut Trace, device: &str, steps: &[Step<'_>]) {
    let mut running = 0.0;
    let totals = steps.iter().map(|step| {
        running += step.told.bytes;
        step.told.allocated.unwrap_or(running)
    });
    let (mut peak, mut most) = (0, f64::MIN);
    for (place, total) in totals.enumerate() {
        if total > most {
            (peak, most) = (place, total);
        }
    }
    // Without addresses nobody knows which bytes were given back.
    let has_addresses = steps.iter().any(|step| !step.told.address.is_empty());
    let mut held: HashMap<Option<StringId>, Held> = HashMap::new();
    let mut live: HashMap<&[u8], (f64, Option<StringId>)> = HashMap::new();
    for (place, Step { owner, told, .. }) in steps.iter().enumerate() {
        let Allocation { bytes, address, .. } = *told;
        if bytes > 0.0 {
            live.insert(address, (bytes, *owner));
            let of_owner = held.entry(*owner).or_default();
            of_owner.taken += bytes;
            of_owner.allocations += 1;
        } else {
            live.remove(address);
        }
        if place == peak {
            for (bytes, owner) in live.values() {
                held.entry(*owner).or_default().at_peak += bytes;
            }
        }
    }
    let known: f64 = held.values().map(|held| held.at_peak).sum();
    let mut rows: Vec<(String, Held)> = Vec::new();
    for (owner, held) in held {
        let name = owner.map_or("none that was recorded", |owner| trace.strings.get(owner)).to_owned();
        rows.push((name, held));
    }
    rows.sort_by(|a, b| {
        b.1.at_peak.total_cmp(&a.1.at_peak).then(b.1.taken.total_cmp(&a.1.taken)).then(a.0.cmp(&b.0))
    });
    let others = rows.split_off(rows.len().min(MOST_OWNERS));
    if let [first, rest @ ..] = &others[..] {
        let sum = rest.iter().fold(first.1, |sum, (_, held)| Held {
            at_peak: sum.at_peak + held.at_peak,
            taken: sum.taken + held.taken,
            allocations: sum.allocations + held.allocations,
        });
        rows.push((format!("{} others", others.len()), sum));
    }
    let mut row = |subject: &str, at_peak: f64, taken: Option<f64>, allocations: Option<f64>| {
        let topic = if has_addresses { FigureTopic::PeakMemory } else { FigureTopic::TakenMemory };
        let about = FigureSubject { topic, source: SOURCE, step: device, subject, part: "" };
        let figures = [
            ("held at the peak", "B", Some(at_peak).filter(|_| has_addresses)),
            ("taken", "B", taken),
            ("allocations", "", allocations),
        ];
        trace.push_figures(about, &figures);
    };
    // The profiler began when some was there already.
    if has_addresses && most - known >= 1.0 {
        row("from before the recording", most - known, None, None);
    }
    for (name, Held { at_peak, taken, allocations }) in &rows {
        row(name, *at_peak, Some(*taken), Some(*allocations as f64));
    }
}

/// Finds whoever was at work at each step.
fn find_owners(trace: &Trace, steps: &mut [Step<'_>]) {
    let mut moments: Vec<(ThreadId, Nanoseconds, usize)> =
        (steps.iter().enumerate()).filter_map(|(place, step)| Some((step.thread?, step.at, place))).collect();
    moments.sort_unstable();
    let mut spans: Vec<Span> = ranges(trace).collect();
    each_open(&mut spans, &moments, |place, open| steps[place].owner = open.last().map(|span| span.name));
    moments.retain(|(.., place)| steps[*place].owner.is_none());
    if moments.is_empty() {
        return;
    }
    let mut spans: Vec<Span> = calls(trace).chain(tasks(trace)).collect();
    each_open(&mut spans, &moments, |place, open| steps[place].owner = open.first().map(|span| span.name));
}

/// A stretch of a thread's time with a name.
#[derive(Clone, Copy)]
struct Span {
    thread: ThreadId,
    start: Nanoseconds,
    end: Nanoseconds,
    name: StringId,
}

/// Modules, and ranges that the program set.
fn ranges(trace: &Trace) -> impl Iterator<Item = Span> {
    let ranges = &trace.ranges;
    (0..ranges.len()).filter_map(|index| {
        let (start, name) = (ranges.start()[index], ranges.name()[index]);
        Some(Span { thread: ranges.thread()[index]?, start, end: start + ranges.duration()[index], name })
    })
}

/// The operators of the framework among the calls.
fn calls(trace: &Trace) -> impl Iterator<Item = Span> {
    let calls = &trace.api_calls;
    let is_of_framework = |index: &usize| calls.level()[*index] == opscope_trace::ApiLevel::Framework;
    (0..calls.len()).filter(is_of_framework).filter_map(|index| {
        let (start, name) = (calls.start()[index], calls.name()[index]);
        Some(Span { thread: calls.thread()[index]?, start, end: start + calls.duration()[index], name })
    })
}

/// The operators that threads of the host ran themselves.
fn tasks(trace: &Trace) -> impl Iterator<Item = Span> {
    let tasks = &trace.tasks;
    (0..tasks.len()).filter_map(|index| {
        let thread = trace.streams.thread()[tasks.stream()[index]?.index()]?;
        let (start, name) = (tasks.start()[index], tasks.name()[index]);
        Some(Span { thread, start, end: start + tasks.duration()[index], name })
    })
}

/// Hands on what was open at each moment of a thread, the outermost first.
fn each_open(
    spans: &mut [Span],
    moments: &[(ThreadId, Nanoseconds, usize)],
    mut take: impl FnMut(usize, &[Span]),
) {
    spans.sort_by_key(|span| (span.thread, span.start, std::cmp::Reverse(span.end)));
    let mut next = spans.iter().peekable();
    let mut open: Vec<Span> = Vec::new();
    for &(thread, at, place) in moments {
        while let Some(span) = next.next_if(|span| (span.thread, span.start) <= (thread, at)) {
            open.retain(|other| other.thread == span.thread && other.end > span.start);
            open.push(*span);
        }
        open.retain(|span| span.thread == thread && span.end > at);
        take(place, &open);
    }
}
