//! Chosen ranks of a run as one timeline: clocks aligned, and from the rank that came last to a collective an arrow
//! to each that waited for it, unless that rank wasn't recorded: then the waits are inferred. What stands where is decided here alone; a [`Pen`] writes it in its own form, Chrome's
//! (here) or that of the page.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use opscope_reach::{Event, Findings};
use opscope_say::say;
use opscope_trace::LanePacker;
use serde_json::{Value, json};

/// The shortest wait that gets an arrow, in nanoseconds: what clocks can't tell apart isn't shown.
const SHORTEST_WAIT_NS: f64 = 5_000.0;

/// The parts of a run that are drawn; all where a set is missing.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// The ranks, by number.
    pub ranks: Option<BTreeSet<u32>>,
    /// The steps.
    pub steps: Option<BTreeSet<i32>>,
}

impl Chosen {
    fn has(&self, findings: &Findings, event: &Event) -> bool {
        self.has_rank(findings.run.ranks[event.rank as usize].number) && self.has_step(event.step)
    }

    /// Whether a rank, by its number, is among the chosen.
    pub fn has_rank(&self, number: u32) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.contains(&number))
    }

    /// Whether a step is among the chosen.
    pub fn has_step(&self, step: i32) -> bool {
        self.steps.as_ref().is_none_or(|steps| steps.contains(&step))
    }
}

/// A kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The rank's steps.
    Steps,
    /// The rank's own work before collectives.
    Work,
    /// The collectives of groups of a use: how manieth use of the rank it is, and its name.
    Collectives(usize, &'static str),
}

/// A row of the timeline: a rank, a kind of row, and how manieth of the lanes that overlaps ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Track {
    /// The rank's number.
    pub rank: u32,
    /// The kind.
    pub row: Row,
    /// The lane.
    pub lane: usize,
}

/// A stretch of a row.
#[derive(Clone, Copy, Debug)]
pub enum Slice<'e> {
    /// A step.
    Step(i32),
    /// The rank's own work.
    Work,
    /// A part in a collective, by its index.
    Collective(usize, &'e Event),
}

/// Whoever writes a timeline. Times are nanoseconds from its begin.
pub trait Pen {
    /// A rank begins, with its name.
    ///
    /// # Errors
    /// The writer's.
    fn rank(&mut self, rank: u32, name: &str) -> io::Result<()>;

    /// A slice of a row.
    ///
    /// # Errors
    /// The writer's.
    fn slice(&mut self, track: Track, slice: Slice<'_>, start: f64, duration: f64) -> io::Result<()>;

    /// An arrow from the collective of the rank that came last, at a time, to that of one that waited for it, until
    /// another time.
    ///
    /// # Errors
    /// The writer's.
    fn arrow(&mut self, from: (usize, Track), start: f64, to: (usize, Track), end: f64) -> io::Result<()>;
}

/// Draws the timeline.
///
/// # Errors
/// The pen's.
pub fn draw(findings: &Findings, chosen: &Chosen, pen: &mut dyn Pen) -> io::Result<()> {
    let mut tracks: BTreeMap<u32, Track> = BTreeMap::new();
    let zero = first_start(findings, chosen);
    for (index, rank) in findings.run.ranks.iter().enumerate() {
        let events: Vec<u32> = (rank.events.start as u32..rank.events.end as u32)
            .filter(|event| chosen.has(findings, &findings.run.events[*event as usize]))
            .collect();
        if events.is_empty() {
            continue;
        }
        pen.rank(rank.number, &format!("rank {} ({})", rank.number, findings.run.place(index)))?;
        draw_steps(findings, index, chosen, zero, pen)?;
        draw_rank(findings, index, &events, zero, pen, &mut tracks)?;
    }
    for (index, instance) in findings.run.instances.iter().enumerate() {
        let event = |index: &u32| &findings.run.events[*index as usize];
        // From a rank that wasn't recorded no arrow can go.
        let Some(last) = findings.last_part(index as u32) else { continue };
        let Some(from) = tracks.get(&last) else { continue };
        for waiter in findings.run.parts_of(instance).iter().filter(|waiter| **waiter != last) {
            if instance.begin - event(waiter).start < SHORTEST_WAIT_NS {
                continue;
            }
            let Some(to) = tracks.get(waiter) else { continue };
            let (start, end) = (event(&last).start - zero, instance.begin - zero);
            pen.arrow((last as usize, *from), start, (*waiter as usize, *to), end)?;
        }
    }
    Ok(())
}

fn first_start(findings: &Findings, chosen: &Chosen) -> f64 {
    let shown = findings.run.events.iter().filter(|event| chosen.has(findings, event));
    let first = shown.map(|event| event.start - event.segment_ns as f64).fold(f64::INFINITY, f64::min);
    if first.is_finite() { first } else { 0.0 }
}

fn draw_steps(
    findings: &Findings,
    index: usize,
    chosen: &Chosen,
    zero: f64,
    pen: &mut dyn Pen,
) -> io::Result<()> {
    let rank = &findings.run.ranks[index];
    for step in &rank.steps {
        let (Some(start), true) =
            (step.start_ns, chosen.steps.as_ref().is_none_or(|it| it.contains(&step.step)))
        else {
            continue;
        };
        let start = findings.clocks.align(rank.host, start) - zero;
        let track = Track { rank: rank.number, row: Row::Steps, lane: 0 };
        pen.slice(track, Slice::Step(step.step), start, step.duration_ns as f64)?;
    }
    Ok(())
}

/// Draws a rank's collectives, a row for each role of groups, and the work of its own before them.
fn draw_rank(
    findings: &Findings,
    index: usize,
    events: &[u32],
    zero: f64,
    pen: &mut dyn Pen,
    tracks: &mut BTreeMap<u32, Track>,
) -> io::Result<()> {
    let number = findings.run.ranks[index].number;
    let mut work: Vec<(i64, i64)> = Vec::new();
    let mut by_role: BTreeMap<&'static str, Vec<u32>> = BTreeMap::new();
    for &at in events {
        let event = &findings.run.events[at as usize];
        let start = (event.start - zero) as i64;
        if event.segment_ns > 0 {
            work.push((start - event.segment_ns, start));
        }
        by_role.entry(findings.run.groups[event.group as usize].role.name()).or_default().push(at);
    }
    work.sort_by_key(|(start, end)| (*start, -*end));
    work.dedup();
    let mut lanes = LanePacker::default();
    for (start, end) in work {
        let track = Track { rank: number, row: Row::Work, lane: lanes.place((start, end)) };
        pen.slice(track, Slice::Work, start as f64, (end - start) as f64)?;
    }
    for (place, (role, mut events)) in by_role.into_iter().enumerate() {
        let span = |at: u32| {
            let event = &findings.run.events[at as usize];
            let start = (event.start - zero) as i64;
            (start, start + event.duration_ns)
        };
        events.sort_by_key(|at| (span(*at).0, -span(*at).1));
        let mut lanes = LanePacker::default();
        for at in events {
            let event = &findings.run.events[at as usize];
            let row = Row::Collectives(place, role);
            let track = Track { rank: number, row, lane: lanes.place(span(at)) };
            tracks.insert(at, track);
            let slice = Slice::Collective(at as usize, event);
            pen.slice(track, slice, event.start - zero, event.duration_ns as f64)?;
        }
    }
    Ok(())
}

/// The kinds of rows that a rank has in Chrome's format, each with so many lanes below it.
const LANES: u64 = 1000;

impl Row {
    /// Its name.
    fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Work => "own work",
            Self::Collectives(_, role) => role,
        }
    }
}

impl Track {
    /// The number of its thread in Chrome's format.
    fn thread(self) -> u64 {
        let kind = match self.row {
            Row::Steps => 0,
            Row::Work => 1,
            Row::Collectives(place, _) => place as u64 + 2,
        };
        LANES * kind + self.lane as u64
    }
}

/// Writes the timeline in Chrome's format; returns how many slices and arrows it has.
///
/// # Errors
/// The writer's.
pub fn write(findings: &Findings, chosen: &Chosen, to: &mut dyn Write) -> io::Result<(usize, usize)> {
    let mut out = Events::begin(findings, to)?;
    draw(findings, chosen, &mut out)?;
    let counts = (out.slices, out.arrows);
    out.end()?;
    Ok(counts)
}

/// Events of Chrome's format, one a line.
struct Events<'w> {
    findings: &'w Findings,
    to: &'w mut dyn Write,
    named: BTreeSet<(u32, Option<u64>)>,
    is_first: bool,
    slices: usize,
    arrows: usize,
}

impl<'w> Events<'w> {
    fn begin(findings: &'w Findings, to: &'w mut dyn Write) -> io::Result<Self> {
        to.write_all(b"{\"displayTimeUnit\": \"ns\", \"traceEvents\": [")?;
        Ok(Self { findings, to, named: BTreeSet::new(), is_first: true, slices: 0, arrows: 0 })
    }

    fn event(&mut self, event: &Value) -> io::Result<()> {
        self.to.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        serde_json::to_writer(&mut *self.to, event)?;
        Ok(())
    }

    /// Names a process, or a thread of it, once.
    fn name(&mut self, rank: u32, thread: Option<u64>, name: &str) -> io::Result<()> {
        if !self.named.insert((rank, thread)) {
            return Ok(());
        }
        let arguments = json!({"name": name});
        match thread {
            None => {
                self.event(&json!({"ph": "M", "name": "process_name", "pid": rank, "args": arguments}))?;
                let order = json!({"sort_index": rank});
                self.event(&json!({"ph": "M", "name": "process_sort_index", "pid": rank, "args": order}))
            }
            Some(thread) => {
                let order = json!({"sort_index": thread});
                let sort = json!({"ph": "M", "name": "thread_sort_index", "pid": rank, "tid": thread, "args": order});
                self.event(
                    &json!({"ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": arguments}),
                )?;
                self.event(&sort)
            }
        }
    }

    fn end(self) -> io::Result<()> {
        self.to.write_all(b"\n]}\n")
    }
}

impl Pen for Events<'_> {
    fn rank(&mut self, rank: u32, name: &str) -> io::Result<()> {
        self.name(rank, None, name)
    }

    fn slice(&mut self, track: Track, slice: Slice<'_>, start: f64, duration: f64) -> io::Result<()> {
        let (pid, tid) = (track.rank, track.thread());
        self.name(pid, Some(tid), track.row.name())?;
        self.slices += 1;
        let (name, details) = match slice {
            Slice::Step(step) => (say!("step {}", step), Value::Null),
            Slice::Work => ("own work".to_owned(), Value::Null),
            Slice::Collective(_, event) => {
                let run = &self.findings.run;
                let (group, instance) =
                    (&run.groups[event.group as usize], &run.instances[event.instance as usize]);
                let is_told = self.findings.incomparable.is_none();
                let waiting_us = || self.findings.waited_ns(event).round() / 1e3;
                let details = json!({
                    "group": group.key.to_string(),
                    "sequence": event.sequence,
                    "step": event.step,
                    "waiting_us": is_told.then(waiting_us),
                    "inferred": is_told.then(|| self.findings.is_wait_inferred(event.instance)),
                    "bytes": event.bytes,
                    "ranks": format!("{} of {}", instance.seen, instance.members),
                });
                (format!("{} {} {}", event.kind.name(), group.role.name(), event.sequence), details)
            }
        };
        let mut event = json!({
            "ph": "X", "name": name, "pid": pid, "tid": tid, "ts": micros(start), "dur": micros(duration),
        });
        if !details.is_null() {
            event["args"] = details;
        }
        self.event(&event)
    }

    fn arrow(&mut self, from: (usize, Track), start: f64, to: (usize, Track), end: f64) -> io::Result<()> {
        self.arrows += 1;
        let (id, name, cat) = (self.arrows, "waited for", "waits");
        let ((_, from), (_, to)) = (from, to);
        let ts = micros(start);
        self.event(&json!({
            "ph": "s", "id": id, "name": name, "cat": cat, "pid": from.rank, "tid": from.thread(), "ts": ts,
        }))?;
        let ts = micros(end.max(start));
        self.event(&json!({
            "ph": "f", "bp": "e", "id": id, "name": name, "cat": cat, "pid": to.rank, "tid": to.thread(), "ts": ts,
        }))
    }
}

/// Microseconds with three places.
fn micros(nanoseconds: f64) -> f64 {
    nanoseconds.round() / 1e3
}
