//! The run once more, with other values.
//!
//! Each part of a collective arrives when its predecessor has ended and its rank's own work is done; the transfer
//! begins when the last part has arrived, of members that weren't recorded when they are taken to have come. Unchanged, that gives the measured times. With a rank's work or a group's
//! transfers as short as is typical of their peers, it gives the time that the run would have taken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use opscope_columns::Column;
use opscope_trace::NumberMap;

use crate::peers::Peers;
use crate::predecessors::Other;
use crate::rows::CollectiveType;
use crate::run::{Event, Instance, Run};

/// Members of something to which a scenario applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice<T = u32> {
    /// None of them.
    #[default]
    None,
    /// These.
    These(Vec<T>),
    /// All.
    All,
    /// All but these.
    AllBut(Vec<T>),
}

impl<T: Copy + PartialEq> Choice<T> {
    fn has(&self, member: T) -> bool {
        match self {
            Self::None => false,
            Self::These(chosen) => chosen.contains(&member),
            Self::All => true,
            Self::AllBut(left) => !left.contains(&member),
        }
    }

    /// The members of both, each of which is a choice of some.
    fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::These(a), Self::These(b)) => Self::These([&a[..], &b[..]].concat()),
            (Self::None, it) | (it, _) => it.clone(),
        }
    }
}

/// A change to the run: work is spread otherwise, and then the work of ranks and the transfers of groups become typical
/// where they are more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// The ranks, by their indices.
    pub ranks: Choice,
    /// The groups, by their indices.
    pub groups: Choice,
    /// The links, by sender and receiver, that are as their like. Where several links of a group are slow, its transfers
    /// take as long as the others of them leave.
    pub links: Choice<(usize, usize)>,
    /// Parts before which there is more work than was measured, because somebody else has less.
    pub moved: Vec<Moved>,
    /// The typical work once work is spread so.
    pub raised: Arc<Raised>,
}

/// By slot and step, by how much longer work is typically than was measured of peers, if it were spread otherwise over
/// the ranks; in nanoseconds.
pub type Raised = NumberMap<(u32, i32), f64>;

impl Scenario {
    /// The changes of both, each of which is of chosen ranks and groups.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            ranks: self.ranks.and(&other.ranks),
            groups: self.groups.and(&other.groups),
            links: self.links.and(&other.links),
            moved: both_moved(&self.moved, &other.moved),
            raised: if self.raised.is_empty() { other.raised.clone() } else { self.raised.clone() },
        }
    }
}

/// The work that is moved in either of two changes: a rank and its host leave the same.
fn both_moved(one: &[Moved], other: &[Moved]) -> Vec<Moved> {
    let key = |it: &Moved| (it.event, it.more_ns.to_bits());
    let known: BTreeSet<(u32, u64)> = one.iter().map(key).collect();
    one.iter().chain(other.iter().filter(|it| !known.contains(&key(it)))).copied().collect()
}

/// Work before a part in a collective that there is more of, if work were spread otherwise over the ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// The part, as an index of [`Run::events`].
    pub event: u32,
    /// By how much longer the segment before it is, in nanoseconds.
    pub more_ns: f64,
}

/// How many scenarios run in one pass: two passes at a time take 32 bytes a part in a collective.
const LANES: usize = 4;

/// A time in each of the scenarios of a pass.
type Times = [f64; LANES];

/// The ends of all parts in the scenarios of a pass, each as its difference from the measured one: those of a step of a
/// second are stored within 32 ns.
struct Ends<'r> {
    run: &'r Run,
    differences: Column<[f32; LANES]>,
}

impl<'r> Ends<'r> {
    /// The measured ends.
    fn measured(run: &'r Run) -> Self {
        Self { run, differences: std::iter::repeat_n([0.0; LANES], run.events.len()).collect() }
    }

    fn of(&self, event: u32) -> Times {
        let measured = self.run.events[event as usize].end();
        self.differences[event as usize].map(|difference| measured + f64::from(difference))
    }

    fn set(&mut self, event: u32, ends: Times) {
        let measured = self.run.events[event as usize].end();
        self.differences[event as usize] = ends.map(|end| (end - measured) as f32);
    }
}

/// The end of every step in a scenario, in nanoseconds on the common clock, in the order of [`Run::steps`].
pub type StepEnds = Vec<f64>;

/// Replays scenarios.
pub fn replay(run: &Run, peers: &Peers, scenarios: &[Scenario]) -> Vec<StepEnds> {
    let batches: Vec<&[Scenario]> = scenarios.chunks(LANES).collect();
    let pass = |batch: &&[Scenario]| pass(run, peers, batch, |_, _, _, _| {});
    opscope_parallel::map(&batches, pass).into_iter().flatten().collect()
}

/// Hands on how much less each part of a collective waits for the last one in a scenario, in nanoseconds: with its
/// instance and its index among [`Run::events`].
pub fn waits(run: &Run, peers: &Peers, scenario: &Scenario, mut less: impl FnMut(&Instance, u32, f64)) {
    let unchanged = Scenario::default();
    pass(run, peers, &[unchanged, scenario.clone()], |instance, part, arrived, begin| {
        let waited = |lane: usize| (begin[lane] - arrived[lane]).max(0.0);
        less(instance, part, waited(0) - waited(1));
    });
}

/// A bit for each scenario that applies to a member.
fn masks(count: usize, scenarios: &[Scenario], choice: impl Fn(&Scenario) -> &Choice) -> Vec<u8> {
    let mask = |member: usize| {
        let bits =
            scenarios.iter().enumerate().map(|(lane, it)| u8::from(choice(it).has(member as u32)) << lane);
        bits.fold(0, |mask, bit| mask | bit)
    };
    (0..count).map(mask).collect()
}

/// Values that some scenarios make less.
fn chosen(mask: u8, values: Times, typical: Times) -> Times {
    let least = |lane: usize| values[lane].min(typical[lane]);
    std::array::from_fn(|lane| if mask >> lane & 1 == 1 { least(lane) } else { values[lane] })
}

/// The typical work before a part; `segments` is its own. That which can't be compared with others' has what is moved to
/// it besides.
fn typical(peers: &Peers, scenarios: &[Scenario], event: &Event, index: usize, segments: &Times) -> Times {
    let typical = peers.work.segment[index];
    if !peers.work.is_alike[index] {
        return segments.map(|segment| typical + (segment - event.segment_ns as f64));
    }
    let place = (peers.slot[index], event.step);
    let raised = |scenario: &Scenario| scenario.raised.get(&place).copied();
    std::array::from_fn(|lane| typical + scenarios.get(lane).and_then(raised).unwrap_or(0.0))
}

/// Replays up to [`LANES`] scenarios; of each part is handed on when it arrived and when the transfer began.
fn pass(
    run: &Run,
    peers: &Peers,
    scenarios: &[Scenario],
    mut each: impl FnMut(&Instance, u32, &Times, &Times),
) -> Vec<StepEnds> {
    let ranks = masks(run.ranks.len(), scenarios, |it| &it.ranks);
    let groups = masks(run.groups.len(), scenarios, |it| &it.groups);
    let relieved = relieved(peers, scenarios);
    let moved = moved(run, scenarios);
    // An end that isn't known yet, because clocks or damaged records contradict the order, is the measured one.
    let mut ends = Ends::measured(run);
    let mut arrivals: Vec<Times> = Vec::new();
    for number in peers.absent.order(run) {
        let instance = &run.instances[number as usize];
        let mask = groups[instance.group as usize];
        arrivals.clear();
        let mut begin = [f64::MIN; LANES];
        for &index in run.parts_of(instance) {
            let event = &run.events[index as usize];
            let measured = moved.get(&index).copied().unwrap_or([event.segment_ns as f64; LANES]);
            let mask = ranks[event.rank as usize];
            let typical = typical(peers, scenarios, event, index as usize, &measured);
            let segments = chosen(mask, measured, typical);
            let arrived = arrival(run, peers, &ends, index as usize, segments, mask);
            for lane in 0..LANES {
                begin[lane] = begin[lane].max(arrived[lane]);
            }
            arrivals.push(arrived);
        }
        let of_recorded = begin;
        for part in peers.absent.of(number) {
            let segments = chosen(mask, [part.segment_ns; LANES], [part.typical_ns; LANES]);
            let since = part.pred.map_or(of_recorded, |pred| ends.of(pred));
            for lane in 0..LANES {
                begin[lane] = begin[lane].max(since[lane] + segments[lane]);
            }
        }
        let measured = peers.absent.begin(run, number);
        for begin in begin.iter_mut().filter(|begin| **begin == f64::MIN) {
            *begin = measured;
        }
        let parts = run.parts_of(instance).iter().zip(&arrivals);
        parts.for_each(|(part, arrived)| each(instance, *part, arrived, &begin));
        let tail = instance.tail - peers.absent.later_by(number);
        let excess = (tail - peers.tail[number as usize]).max(0.0);
        let shares =
            if relieved.is_empty() { None } else { relieved_of(run, &relieved, scenarios, instance) };
        for &index in run.parts_of(instance) {
            let tail = run.events[index as usize].end() - measured;
            let tails: Times = match shares {
                Some(shares) => shares.map(|share| tail - share * excess),
                None => chosen(mask, [tail; LANES], [tail - excess; LANES]),
            };
            ends.set(index, std::array::from_fn(|lane| begin[lane] + tails[lane]));
        }
    }
    step_ends(run, peers, scenarios.len(), &ends, &ranks)
}

/// By group and operation several of whose links are slow, the share of the excess of its transfers that each scenario
/// takes away.
fn relieved(peers: &Peers, scenarios: &[Scenario]) -> BTreeMap<(u32, CollectiveType), [f64; LANES]> {
    let mut found = BTreeMap::new();
    if scenarios.iter().all(|it| it.links == Choice::None) {
        return found;
    }
    for (&(group, kind), uses) in peers.slow_uses.iter().filter(|(_, uses)| uses.has_several()) {
        let mut shares = [0.0; LANES];
        for (share, scenario) in shares.iter_mut().zip(scenarios) {
            *share = match scenario.links {
                Choice::None => f64::from(u8::from(scenario.groups.has(group))),
                _ => uses.relief(|pair| scenario.links.has(pair)),
            };
        }
        found.insert((group, kind), shares);
    }
    found
}

/// The same of one of these transfers. A send uses one link.
fn relieved_of(
    run: &Run,
    relieved: &BTreeMap<(u32, CollectiveType), [f64; LANES]>,
    scenarios: &[Scenario],
    instance: &Instance,
) -> Option<[f64; LANES]> {
    let mut shares = *relieved.get(&(instance.group, run.kind_of_use(instance)))?;
    if let Some(pair) = run.direction(instance) {
        for (share, scenario) in shares.iter_mut().zip(scenarios).filter(|(_, it)| it.links != Choice::None) {
            *share = f64::from(u8::from(scenario.links.has(pair)));
        }
    }
    Some(shares)
}

/// The segments of the parts that have another in any scenario.
fn moved(run: &Run, scenarios: &[Scenario]) -> NumberMap<u32, Times> {
    let mut segments = NumberMap::default();
    for (lane, scenario) in scenarios.iter().enumerate() {
        for it in &scenario.moved {
            let measured = run.events[it.event as usize].segment_ns as f64;
            segments.entry(it.event).or_insert([measured; LANES])[lane] += it.more_ns;
        }
    }
    segments
}

/// When a part arrives, after its own work. `mask` has the scenarios in which its rank has no more to do than its peers.
fn arrival(run: &Run, peers: &Peers, ends: &Ends<'_>, index: usize, segments: Times, mask: u8) -> Times {
    let event = &run.events[index];
    let mut arrived: Times = match event.pred {
        None if let Some((since, segment)) = peers.absent.resumed(index as u32) => {
            ends.of(since).map(|end| end + segment)
        }
        // Others tell when it can have come.
        _ if event.is_after_gap => [f64::MIN; LANES],
        Some(pred) => {
            let ends = ends.of(pred);
            std::array::from_fn(|lane| ends[lane] + segments[lane])
        }
        None => std::array::from_fn(|lane| event.start - event.segment_ns as f64 + segments[lane]),
    };
    let before = event.before_in_group.map(|event| Other { event, beyond_ns: 0.0, typical_ns: 0.0 });
    for other in before.iter().chain(peers.also.of(index)) {
        let measured = other.typical_ns + f64::from(other.beyond_ns);
        let (end, ends) = match other.event {
            Other::BEGIN => {
                let Some((_, begin)) = run.begin_of(event.rank) else { continue };
                (begin, [begin; LANES])
            }
            other => (run.events[other as usize].end(), ends.of(other)),
        };
        // One that ended after the start was measured can't have held it up.
        if end + measured <= event.start + 1.0 {
            let segments = chosen(mask, [measured; LANES], [other.typical_ns; LANES]);
            for lane in 0..LANES {
                arrived[lane] = arrived[lane].max(ends[lane] + segments[lane]);
            }
        }
    }
    arrived
}

fn step_ends(run: &Run, peers: &Peers, scenarios: usize, ends: &Ends<'_>, ranks: &[u8]) -> Vec<StepEnds> {
    let steps = run.steps();
    let mut found = vec![vec![f64::MIN; steps.len()]; scenarios];
    for (number, rank) in run.ranks.iter().enumerate() {
        for (finish, typical) in rank.finishes.iter().zip(&peers.finish[number]) {
            let Ok(step) = steps.binary_search(&finish.step) else { continue };
            let segments = chosen(ranks[number], [finish.segment_ns as f64; LANES], [*typical; LANES]);
            // Without any collective nothing ties the rank to the others.
            let Some(pred) = finish.pred else { continue };
            let ends = ends.of(pred);
            for (lane, ends_of_steps) in found.iter_mut().enumerate() {
                let end = ends[lane] + segments[lane];
                ends_of_steps[step] = ends_of_steps[step].max(end);
            }
        }
    }
    found
}
