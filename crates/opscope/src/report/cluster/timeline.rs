//! Chosen ranks of a run as one timeline: clocks aligned, and from the rank that came last to a collective an arrow
//! to each that waited for it.

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
        let number = findings.run.ranks[event.rank as usize].number;
        self.ranks.as_ref().is_none_or(|ranks| ranks.contains(&number))
            && self.steps.as_ref().is_none_or(|steps| steps.contains(&event.step))
    }
}

/// The place of a slice: the process and the thread of Chrome's format.
type Track = (u32, u64);

/// The kinds of rows that a rank has, each with so many lanes below it.
const LANES: u64 = 1000;

/// Writes the timeline in Chrome's format; returns how many slices and arrows it has.
///
/// # Errors
/// The writer's.
pub fn write(findings: &Findings, chosen: &Chosen, to: &mut dyn Write) -> io::Result<(usize, usize)> {
    let mut out = Events::begin(to)?;
    let mut tracks: BTreeMap<u32, Track> = BTreeMap::new();
    let zero = first_start(findings, chosen);
    for (index, rank) in findings.run.ranks.iter().enumerate() {
        let events: Vec<u32> = (rank.events.start as u32..rank.events.end as u32)
            .filter(|event| chosen.has(findings, &findings.run.events[*event as usize]))
            .collect();
        if events.is_empty() {
            continue;
        }
        out.name(rank.number, None, &format!("rank {} ({})", rank.number, findings.run.place(index)))?;
        write_steps(findings, index, chosen, zero, &mut out)?;
        write_rank(findings, index, &events, zero, &mut out, &mut tracks)?;
    }
    let mut arrows = 0;
    for instance in &findings.run.instances {
        let event = |index: &u32| &findings.run.events[*index as usize];
        let Some(last) = instance.events.iter().max_by(|a, b| event(a).start.total_cmp(&event(b).start))
        else {
            continue;
        };
        let Some(from) = tracks.get(last) else { continue };
        for waiter in instance.events.iter().filter(|waiter| *waiter != last) {
            if instance.begin - event(waiter).start < SHORTEST_WAIT_NS {
                continue;
            }
            let Some(to) = tracks.get(waiter) else { continue };
            arrows += 1;
            let number = arrows;
            out.arrow(number, *from, event(last).start - zero, *to, instance.begin - zero)?;
        }
    }
    let slices = out.slices;
    out.end()?;
    Ok((slices, arrows))
}

fn first_start(findings: &Findings, chosen: &Chosen) -> f64 {
    let shown = findings.run.events.iter().filter(|event| chosen.has(findings, event));
    let first = shown.map(|event| event.start - event.segment_ns as f64).fold(f64::INFINITY, f64::min);
    if first.is_finite() { first } else { 0.0 }
}

fn write_steps(
    findings: &Findings,
    index: usize,
    chosen: &Chosen,
    zero: f64,
    out: &mut Events<'_>,
) -> io::Result<()> {
    let rank = &findings.run.ranks[index];
    for step in &rank.steps {
        let (Some(start), true) =
            (step.start_ns, chosen.steps.as_ref().is_none_or(|it| it.contains(&step.step)))
        else {
            continue;
        };
        let start = findings.clocks.align(rank.host, start) - zero;
        out.name(rank.number, Some(0), "steps")?;
        out.slice(
            (rank.number, 0),
            &say!("step {}", step.step),
            start,
            step.duration_ns as f64,
            Value::Null,
        )?;
    }
    Ok(())
}

/// Writes a rank's collectives, a row for each role of groups, and the work of its own before them.
fn write_rank(
    findings: &Findings,
    index: usize,
    events: &[u32],
    zero: f64,
    out: &mut Events<'_>,
    tracks: &mut BTreeMap<u32, Track>,
) -> io::Result<()> {
    let number = findings.run.ranks[index].number;
    let mut work: Vec<(i64, i64)> = Vec::new();
    let mut by_role: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
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
        let track = (number, LANES + lanes.place((start, end)) as u64);
        out.name(number, Some(track.1), "own work")?;
        out.slice(track, "own work", start as f64, (end - start) as f64, Value::Null)?;
    }
    for (row, (role, mut events)) in by_role.into_iter().enumerate() {
        let span = |at: u32| {
            let event = &findings.run.events[at as usize];
            let start = (event.start - zero) as i64;
            (start, start + event.duration_ns)
        };
        events.sort_by_key(|at| (span(*at).0, -span(*at).1));
        let mut lanes = LanePacker::default();
        for at in events {
            let event = &findings.run.events[at as usize];
            let track = (number, LANES * (row as u64 + 2) + lanes.place(span(at)) as u64);
            tracks.insert(at, track);
            out.name(number, Some(track.1), role)?;
            let instance = &findings.run.instances[event.instance as usize];
            let details = json!({
                "group": findings.run.groups[event.group as usize].key.to_string(),
                "sequence": event.sequence,
                "step": event.step,
                "waiting_us": (instance.begin - event.start).max(0.0).round() / 1e3,
                "bytes": event.bytes,
                "ranks": format!("{} of {}", instance.events.len(), instance.members),
            });
            let name = format!("{} {role} {}", event.kind.name(), event.sequence);
            out.slice(track, &name, event.start - zero, event.duration_ns as f64, details)?;
        }
    }
    Ok(())
}

/// Events of Chrome's format, one a line.
struct Events<'w> {
    to: &'w mut dyn Write,
    named: BTreeSet<(u32, Option<u64>)>,
    is_first: bool,
    slices: usize,
}

impl<'w> Events<'w> {
    fn begin(to: &'w mut dyn Write) -> io::Result<Self> {
        to.write_all(b"{\"displayTimeUnit\": \"ns\", \"traceEvents\": [")?;
        Ok(Self { to, named: BTreeSet::new(), is_first: true, slices: 0 })
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

    fn slice(
        &mut self,
        (pid, tid): Track,
        name: &str,
        start: f64,
        duration: f64,
        details: Value,
    ) -> io::Result<()> {
        self.slices += 1;
        let mut event = json!({
            "ph": "X", "name": name, "pid": pid, "tid": tid, "ts": micros(start), "dur": micros(duration),
        });
        if !details.is_null() {
            event["args"] = details;
        }
        self.event(&event)
    }

    fn arrow(&mut self, id: usize, from: Track, start: f64, to: Track, end: f64) -> io::Result<()> {
        let (ts, name, cat) = (micros(start), "waited for", "waits");
        self.event(&json!({
            "ph": "s", "id": id, "name": name, "cat": cat, "pid": from.0, "tid": from.1, "ts": ts,
        }))?;
        let ts = micros(end.max(start));
        self.event(&json!({
            "ph": "f", "bp": "e", "id": id, "name": name, "cat": cat, "pid": to.0, "tid": to.1, "ts": ts,
        }))
    }

    fn end(self) -> io::Result<()> {
        self.to.write_all(b"\n]}\n")
    }
}

/// Microseconds with three places.
fn micros(nanoseconds: f64) -> f64 {
    nanoseconds.round() / 1e3
}
