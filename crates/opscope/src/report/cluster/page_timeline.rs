//! The timeline of a page: a choice of ranks and steps that a file can hold, and its slices and arrows as columns.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use opscope_reach::{CollectiveType, Ends, Findings, SlowLink, Who};
use opscope_say::{say, word};
use opscope_web::columns::{Table, to_bytes};
use serde_json::{Value, json};

use super::timeline::{Chosen, Pen, Row, Slice, Track, draw};
use super::{ranks_of, whole};
use crate::exit::UsageError;

/// The most ranks that a page draws unasked, and the most slices.
const MOST_RANKS: usize = 16;
const MOST_SLICES: usize = 40_000;

/// The most slices that a server draws of ranks that are asked for.
const MOST_ASKED: usize = 400_000;

/// Ranks beside each suspect that do the same.
const PEERS: usize = 2;

/// Ranks that are drawn where nobody is suspected.
const UNSUSPECTED: usize = 4;

/// Steps that are drawn unasked.
const STEPS: usize = 2;

/// The collectives by the numbers that the page knows them by.
const TYPES: [CollectiveType; 12] = [
    CollectiveType::AllReduce,
    CollectiveType::AllGather,
    CollectiveType::ReduceScatter,
    CollectiveType::AllToAll,
    CollectiveType::Barrier,
    CollectiveType::Broadcast,
    CollectiveType::Reduce,
    CollectiveType::Scatter,
    CollectiveType::Gather,
    CollectiveType::Send,
    CollectiveType::Receive,
    CollectiveType::Other,
];

/// A slice as a line of columns. Times are nanoseconds from the timeline's begin.
#[derive(Clone, Copy, Debug)]
struct Line {
    row: usize,
    start: i64,
    duration: u64,
    /// 0 of a step, 1 of own work, else two more than the collective's place in [`TYPES`].
    kind: u64,
    step: i32,
    sequence: i32,
    waiting: u64,
    /// One more than the number of the rank that came last; 0 of that rank itself, and of what has none.
    last: u64,
    /// 1 of a collective to which a rank came last that wasn't recorded.
    inferred: u64,
    seen: u64,
    members: u64,
    bytes: u64,
}

/// A timeline that was drawn.
pub struct Drawn {
    chosen: Chosen,
    why: &'static str,
    rows: Vec<Track>,
    lines: Vec<Line>,
    /// Pairs of lines, from the last to whom it kept waiting.
    arrows: Vec<(usize, usize)>,
}

impl Drawn {
    /// The choice that a page carries: suspects with ranks that do the same, in the steps since when they stand out.
    pub fn usual(findings: &Findings) -> Self {
        let (mut ranks, why) = notable(findings);
        let mut steps = first_steps(findings);
        while count(findings, &ranks, &steps) > MOST_SLICES && (ranks.len() > 1 || steps.len() > 1) {
            // A step less tells less than a rank less.
            match steps.len() > 1 {
                true => drop(steps.pop_last()),
                false => drop(ranks.pop()),
            }
        }
        let ranks = ranks.into_iter().map(|rank| findings.run.ranks[rank].number).collect();
        Self::of(findings, Chosen { ranks: Some(ranks), steps: Some(steps) }, why)
    }

    /// Ranks and steps that are asked for, by number; of steps all where none are.
    ///
    /// # Errors
    /// When there is no such rank or step, or they are too many to be drawn.
    pub fn asked(
        findings: &Findings,
        ranks: BTreeSet<u32>,
        steps: Option<BTreeSet<i32>>,
    ) -> Result<Self, UsageError> {
        let all = findings.run.steps();
        let steps = steps.unwrap_or_else(|| all.iter().copied().collect());
        if let Some(step) = steps.iter().find(|step| !all.contains(step)) {
            return Err(UsageError(say!("there is no step {step}")));
        }
        let index = |rank: &u32| {
            findings.run.rank_of(*rank).ok_or_else(|| UsageError(say!("there is no rank {rank}")))
        };
        let indices: Vec<usize> = ranks.iter().map(index).collect::<Result<_, _>>()?;
        if count(findings, &indices, &steps) > MOST_ASKED {
            return Err(UsageError(
                word("these are too many ranks and steps to be drawn at once: choose fewer").to_owned(),
            ));
        }
        Ok(Self::of(findings, Chosen { ranks: Some(ranks), steps: Some(steps) }, "asked"))
    }

    fn of(findings: &Findings, chosen: Chosen, why: &'static str) -> Self {
        let mut collector = Collector {
            findings,
            rows: BTreeMap::new(),
            lines: Vec::new(),
            at: BTreeMap::new(),
            arrows: Vec::new(),
        };
        // Memory takes everything.
        let _ = draw(findings, &chosen, &mut collector);
        let Collector { rows, mut lines, arrows, .. } = collector;
        let mut sorted: Vec<(Track, usize)> = rows.into_iter().collect();
        sorted.sort_unstable();
        let mut place = vec![0; sorted.len()];
        sorted.iter().enumerate().for_each(|(now, (_, before))| place[*before] = now);
        let zero = lines.iter().map(|line| line.start).min().unwrap_or(0);
        for line in &mut lines {
            line.row = place[line.row];
            line.start -= zero;
        }
        Self { chosen, why, rows: sorted.into_iter().map(|(track, _)| track).collect(), lines, arrows }
    }

    /// Its tables.
    pub fn tables(&self) -> [Table; 3] {
        let kind = |row: Row| match row {
            Row::Steps => 0,
            Row::Work => 1,
            Row::Collectives(..) => 2,
        };
        let role = |row: Row| match row {
            Row::Collectives(_, role) => role,
            Row::Steps | Row::Work => "",
        };
        let mut rows = Table::new("rows", self.rows.len());
        rows.delta("rank", self.rows.iter().map(|it| u64::from(it.rank)));
        rows.whole("kind", self.rows.iter().map(|it| kind(it.row)));
        rows.text("role", self.rows.iter().map(|it| role(it.row)));
        rows.whole("lane", self.rows.iter().map(|it| it.lane as u64));
        let lines = || self.lines.iter();
        let mut slices = Table::new("slices", self.lines.len());
        slices.delta("row", lines().map(|it| it.row as u64));
        slices.delta("start", lines().map(|it| it.start.max(0) as u64));
        slices.whole("duration", lines().map(|it| it.duration));
        slices.whole("kind", lines().map(|it| it.kind));
        slices.float("step", lines().map(|it| f64::from(it.step)));
        slices.float("sequence", lines().map(|it| f64::from(it.sequence)));
        slices.whole("waiting", lines().map(|it| it.waiting));
        slices.whole("last", lines().map(|it| it.last));
        slices.whole("inferred", lines().map(|it| it.inferred));
        slices.whole("seen", lines().map(|it| it.seen));
        slices.whole("members", lines().map(|it| it.members));
        slices.whole("bytes", lines().map(|it| it.bytes));
        let mut arrows = Table::new("arrows", self.arrows.len());
        arrows.whole("from", self.arrows.iter().map(|it| it.0 as u64));
        arrows.whole("to", self.arrows.iter().map(|it| it.1 as u64));
        [rows, slices, arrows]
    }

    /// The tables as a container of their own.
    pub fn columns(&self) -> Vec<u8> {
        to_bytes("timeline", &self.tables())
    }

    /// The choice that is drawn, of how much, and why that.
    pub fn facts(&self, findings: &Findings) -> Value {
        json!({
            "why": self.why,
            "ranks": self.chosen.ranks,
            "steps": self.chosen.steps,
            "of_ranks": findings.run.ranks.len(),
            "of_steps": findings.run.steps().len(),
            "types": TYPES.map(CollectiveType::name),
        })
    }
}

/// The ranks to be drawn, by index: each suspect, and ranks that do the same, of those that share its groups first.
fn notable(findings: &Findings) -> (Vec<usize>, &'static str) {
    let mut ranks: Vec<usize> = Vec::new();
    let mut add = |rank: usize| {
        if !ranks.contains(&rank) && ranks.len() < MOST_RANKS {
            ranks.push(rank);
        }
    };
    for suspect in &findings.costs.suspects {
        let own: Vec<usize> = match &suspect.who {
            Who::Rank(_) | Who::Link(SlowLink { ends: Ends::Pair(..), .. }) => {
                ranks_of(findings, &suspect.who)
            }
            several => ranks_of(findings, several).into_iter().take(UNSUSPECTED).collect(),
        };
        let peers = own.first().map_or(Vec::new(), |rank| peers(findings, *rank, &own));
        own.into_iter().chain(peers).for_each(&mut add);
    }
    if ranks.is_empty() {
        return ((0..findings.run.ranks.len().min(UNSUSPECTED)).collect(), "first");
    }
    (ranks, "suspects")
}

/// The recorded ranks of a group, by index.
fn members(findings: &Findings, group: u32) -> Vec<usize> {
    findings.run.groups[group as usize].ranks.iter().filter_map(|rank| findings.run.rank_of(*rank)).collect()
}

/// Ranks that do the same as one, those first that share most groups with it.
fn peers(findings: &Findings, rank: usize, but: &[usize]) -> Vec<usize> {
    let number = findings.run.ranks[rank].number;
    let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
    for (group, of) in findings.run.groups.iter().enumerate() {
        if of.ranks.contains(&number) {
            members(findings, group as u32).into_iter().for_each(|it| *shared.entry(it).or_default() += 1);
        }
    }
    let class = &findings.peers.class;
    let mut alike: Vec<usize> =
        (0..class.len()).filter(|it| class[*it] == class[rank] && !but.contains(it)).collect();
    let order = |it: &usize| (std::cmp::Reverse(shared.get(it).copied().unwrap_or(0)), it.abs_diff(rank));
    alike.sort_by_key(order);
    alike.truncate(PEERS);
    alike
}

/// The steps to be drawn: from the one on in which the costliest suspect stands out, else from the first on.
fn first_steps(findings: &Findings) -> BTreeSet<i32> {
    let steps = findings.run.steps();
    let since = findings.costs.suspects.first().map_or(i32::MIN, |suspect| suspect.since);
    let from = steps.iter().position(|step| *step >= since).unwrap_or(0);
    steps.into_iter().skip(from).take(STEPS).collect()
}

/// How many slices ranks have in steps: a collective, and the work before it.
fn count(findings: &Findings, ranks: &[usize], steps: &BTreeSet<i32>) -> usize {
    let of_rank = |rank: &usize| {
        let events = &findings.run.events[findings.run.ranks[*rank].events.clone()];
        2 * events.iter().filter(|event| steps.contains(&event.step)).count()
    };
    ranks.iter().map(of_rank).sum()
}

/// Keeps what is drawn.
struct Collector<'f> {
    findings: &'f Findings,
    /// The rows with the order in which they were met.
    rows: BTreeMap<Track, usize>,
    lines: Vec<Line>,
    /// The line of each collective's part.
    at: BTreeMap<usize, usize>,
    arrows: Vec<(usize, usize)>,
}

impl Pen for Collector<'_> {
    fn rank(&mut self, _: u32, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn slice(&mut self, track: Track, slice: Slice<'_>, start: f64, duration: f64) -> io::Result<()> {
        let next = self.rows.len();
        let row = *self.rows.entry(track).or_insert(next);
        let (start, duration) = (whole(start), whole(duration).max(0) as u64);
        let plain = Line {
            row,
            start,
            duration,
            kind: 0,
            step: 0,
            sequence: 0,
            waiting: 0,
            last: 0,
            inferred: 0,
            seen: 0,
            members: 0,
            bytes: 0,
        };
        let line = match slice {
            Slice::Step(step) => Line { step, ..plain },
            Slice::Work => Line { kind: 1, ..plain },
            Slice::Collective(index, event) => {
                self.at.insert(index, self.lines.len());
                let run = &self.findings.run;
                let instance = &run.instances[event.instance as usize];
                let last = self.findings.last_part(event.instance).filter(|last| *last as usize != index);
                let last = last.map(|last| run.ranks[run.events[last as usize].rank as usize].number);
                Line {
                    kind: 2 + TYPES.iter().position(|kind| *kind == event.kind).unwrap_or(TYPES.len() - 1)
                        as u64,
                    step: event.step,
                    sequence: event.sequence,
                    waiting: whole(self.findings.waited_ns(event)) as u64,
                    last: last.map_or(0, |last| u64::from(last) + 1),
                    inferred: u64::from(self.findings.is_wait_inferred(event.instance)),
                    seen: u64::from(instance.seen),
                    members: u64::from(instance.members),
                    bytes: event.bytes,
                    ..plain
                }
            }
        };
        self.lines.push(line);
        Ok(())
    }

    fn arrow(&mut self, from: (usize, Track), _: f64, to: (usize, Track), _: f64) -> io::Result<()> {
        let (from, to) = (self.at.get(&from.0), self.at.get(&to.0));
        self.arrows.extend(from.copied().zip(to.copied()));
        Ok(())
    }
}
