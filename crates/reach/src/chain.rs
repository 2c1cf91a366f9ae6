//! The chain of work and transfers that ends each step last, and who comes last to collectives.
//!
//! From a step's end one goes backwards: what a rank did by itself belongs to it, a transfer to its group, and where
//! the rank waited, the rank that came last to the collective goes on. Whoever isn't on the chain doesn't lengthen
//! the step. Where a rank came last that wasn't recorded, its own work is what lies behind the last collective that it
//! is taken to have had before.

use std::collections::{BTreeMap, BTreeSet};

use crate::Findings;
use crate::absent::Absent;
use crate::run::Run;
use crate::step_lengths::StepLengths;
use crate::suspects::Who;

/// A share in the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// How often the chain stays there.
    pub count: u64,
    /// How long it stays in all, in nanoseconds.
    pub time_ns: f64,
}

impl Share {
    fn add(&mut self, time_ns: f64) {
        if time_ns > 0.0 {
            self.count += 1;
            self.time_ns += time_ns;
        }
    }
}

/// The chain of one step, or of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// The work of ranks, by their indices.
    pub ranks: BTreeMap<usize, Share>,
    /// The transfers of groups, by their indices.
    pub groups: BTreeMap<u32, Share>,
    /// The work of members that weren't recorded, by the indices of the groups whose collectives they came last to.
    pub unrecorded: BTreeMap<u32, Share>,
}

impl Chain {
    /// The share of a suspect.
    pub fn share_of(&self, who: &Who, run: &Run) -> Share {
        let workers = who.workers(run);
        let work = workers.iter().filter_map(|rank| self.ranks.get(rank));
        let groups = who.groups();
        let transfers = groups.iter().filter_map(|group| self.groups.get(group));
        let of_absent = groups.iter().filter_map(|group| match who {
            Who::Unrecorded(_) => self.unrecorded.get(group),
            _ => None,
        });
        work.chain(transfers).chain(of_absent).fold(Share::default(), |sum, it| Share {
            count: sum.count + it.count,
            time_ns: sum.time_ns + it.time_ns,
        })
    }

    /// The length of the chain, in nanoseconds.
    pub fn length_ns(&self) -> f64 {
        let all = self.ranks.values().chain(self.groups.values()).chain(self.unrecorded.values());
        all.map(|it| it.time_ns).sum()
    }
}

/// The chains of these steps together. Those of one step sum to its length.
pub fn chain(findings: &Findings, steps: &BTreeSet<i32>) -> Chain {
    let (run, absent) = (&findings.run, &findings.peers.absent);
    let all = run.steps();
    // Of each step the rank that ends last, and the event after which it did.
    let mut last: Vec<Option<(f64, usize, Option<u32>)>> = vec![None; all.len()];
    for (rank, it) in run.ranks.iter().enumerate() {
        for finish in &it.finishes {
            let (Some(end), Ok(place)) = (run.end_of(finish), all.binary_search(&finish.step)) else {
                continue;
            };
            if last[place].is_none_or(|(latest, ..)| end > latest) {
                last[place] = Some((end, rank, finish.pred));
            }
        }
    }
    let mut chain = Chain::default();
    let lengths = StepLengths::of(run);
    let mut floor = lengths.begin();
    for (place, (step, last)) in all.iter().zip(last).enumerate() {
        floor += lengths.before(place);
        let Some(last) = last else { continue };
        if steps.contains(step) {
            walk(run, absent, &mut chain, last, floor);
        }
        floor = floor.max(last.0);
    }
    chain
}

/// Goes back from a time at which a rank was at work since an event's end, as far as `floor`.
fn walk(run: &Run, absent: &Absent, chain: &mut Chain, from: (f64, usize, Option<u32>), floor: f64) {
    let (mut now, mut rank, mut pred) = from;
    // A time later than the one before contradicts it, and counts as nothing.
    let back = |now: &mut f64, to: f64| {
        let to = to.clamp(floor, now.max(floor));
        let length = *now - to;
        *now = to;
        length
    };
    while now > floor {
        let Some(index) = pred else {
            chain.ranks.entry(rank).or_default().add(back(&mut now, floor));
            break;
        };
        let event = &run.events[index as usize];
        chain.ranks.entry(rank).or_default().add(back(&mut now, event.end()));
        let instance = &run.instances[event.instance as usize];
        let before = now;
        chain.groups.entry(event.group).or_default().add(back(&mut now, absent.begin(run, event.instance)));
        // A member of which it isn't known what it did before came after those that were recorded.
        let since = absent.came_last(event.instance).map(|part| part.pred);
        let since_ns = since.map(|part| part.map_or(instance.begin, |part| run.events[part as usize].end()));
        if let Some(since_ns) = since_ns {
            chain.unrecorded.entry(event.group).or_default().add(back(&mut now, since_ns));
        }
        (rank, pred) = match since.flatten() {
            Some(part) => (run.events[part as usize].rank as usize, Some(part)),
            None => {
                let last = run.events_of(instance).max_by(|a, b| a.start.total_cmp(&b.start));
                let Some(last) = last else { break };
                (last.rank as usize, last.pred)
            }
        };
        // Records that contradict each other lead in a circle.
        if now >= before && pred.is_some_and(|pred| run.events[pred as usize].end() >= now) {
            chain.ranks.entry(rank).or_default().add(back(&mut now, floor));
        }
    }
}

/// How often a rank comes last, and what that costs the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// In how many collectives with others it takes part.
    pub of: u64,
    /// In how many of them it came last, after those that weren't recorded as well.
    pub last: u64,
    /// How long the others waited in these, in nanoseconds in all.
    pub waited_ns: f64,
}

/// How often some ranks, by their indices, come last in these steps.
pub fn arrivals(findings: &Findings, ranks: &[usize], steps: &BTreeSet<i32>) -> Arrivals {
    let run = &findings.run;
    let mut found = Arrivals::default();
    let mut theirs = vec![false; run.ranks.len()];
    ranks.iter().for_each(|rank| theirs[*rank] = true);
    for instance in run.instances.iter().filter(|instance| instance.seen > 1) {
        let parts = || run.events_of(instance);
        let is_theirs = |rank: u32| theirs[rank as usize];
        if !parts().any(|event| is_theirs(event.rank) && steps.contains(&event.step)) {
            continue;
        }
        found.of += 1;
        let last = findings.last_part(run.first_of(instance).instance);
        if last.is_some_and(|last| is_theirs(run.events[last as usize].rank)) {
            found.last += 1;
            found.waited_ns += parts()
                .filter(|event| !is_theirs(event.rank))
                .map(|event| (instance.begin - event.start).max(0.0))
                .sum::<f64>();
        }
    }
    found
}
