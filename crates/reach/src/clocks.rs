//! The hosts' clocks, laid upon one another.
//!
//! A collective that everyone leaves together ends at one moment. The difference of its ends on two hosts is
//! therefore the difference of their clocks, up to the jitter of leaving; its median over many collectives is the
//! offset, and where they span more than a second the slope (Theil–Sen) is the drift.

use std::collections::BTreeMap;

use crate::run::{Instance, Run};

/// A host's clock.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct HostClock {
    /// The host's name.
    pub host: String,
    /// By how much it is ahead of its island's first host, in nanoseconds, at that island's first start.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub offset_ns: f64,
    /// By how much it is faster.
    pub drift_ppm: f64,
    /// Whether that is no more than 0 for want of a better figure: the recording is too short to tell a drift.
    pub is_drift_unknown: bool,
    /// The error of the offset, in nanoseconds.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub error_ns: f64,
    /// Hosts with the same number share collectives, by themselves or through others.
    pub island: usize,
}

/// All clocks.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// A clock for each host.
    pub hosts: Vec<HostClock>,
    /// The time that is zero on the common clock, for each island, by its first host's clock.
    zero: Vec<i64>,
}

impl Clocks {
    /// A time of a host's on the common clock, in nanoseconds.
    pub fn align(&self, host: usize, time_ns: i64) -> f64 {
        let clock = &self.hosts[host];
        // Whole nanoseconds first: the difference fits a floating point number, the times themselves don't.
        let since = (time_ns - self.zero[clock.island]) as f64 - clock.offset_ns;
        since - since * clock.drift_ppm * 1e-6
    }
}

/// The relation of two hosts' clocks, by the collectives that they share.
struct Pair {
    a: usize,
    b: usize,
    offset: f64,
    slope: f64,
    /// Whether the recording is too short to tell a slope.
    is_short: bool,
    sigma: f64,
    /// How far the clocks may drift apart to either end of the recording, where it is too short to tell their drift.
    drifted: f64,
}

/// The most samples of a pair that are kept.
const MOST_SAMPLES: usize = 400;

/// The span from which on a drift can be told from jitter, in nanoseconds.
const DRIFT_SPAN: f64 = 1e9;

/// Finds the clocks of all hosts.
pub fn align(run: &Run) -> Clocks {
    let mut pairs = pairs(run, Instance::is_complete);
    let unknown: Vec<HostClock> =
        run.hosts.iter().map(|host| HostClock { host: host.clone(), ..HostClock::default() }).collect();
    let mut hosts = unknown.clone();
    let mut islands = grow_trees(&mut hosts, &pairs);
    if islands > 1 {
        // A group of which one rank wasn't recorded has no collective that is whole; its others leave together even so.
        let of_parts = self::pairs(run, |instance| !instance.is_complete());
        pairs.extend(of_parts.into_iter().filter(|pair| hosts[pair.a].island != hosts[pair.b].island));
        hosts = unknown;
        islands = grow_trees(&mut hosts, &pairs);
    }
    refine(&mut hosts, &pairs);
    let mut zero = vec![i64::MAX; islands];
    for event in &run.events {
        let clock = &hosts[run.ranks[event.rank as usize].host];
        let start = event.start_ns - event.segment_ns.max(0) - clock.offset_ns as i64;
        zero[clock.island] = zero[clock.island].min(start);
    }
    Clocks { hosts, zero }
}

/// Differences of ends for each pair of hosts that share such collectives.
fn pairs(run: &Run, is_asked_for: impl Fn(&Instance) -> bool) -> Vec<Pair> {
    let mut samples: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
    let Some(zero) = run.events.iter().map(|event| event.start_ns).min() else { return Vec::new() };
    for instance in run.instances.iter().filter(|instance| is_asked_for(instance)) {
        let parts = || run.events_of(instance);
        if !parts().all(|event| event.kind.ends_together()) {
            continue;
        }
        let mut ends: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for event in parts() {
            let end = ends.entry(run.ranks[event.rank as usize].host).or_insert((0.0, 0.0));
            *end = (end.0 + (event.end_ns() - zero) as f64, end.1 + 1.0);
        }
        let ends: Vec<(usize, f64)> =
            ends.into_iter().map(|(host, (sum, count))| (host, sum / count)).collect();
        // Neighbours and the first suffice: all pairs of a thousand hosts would be a million.
        for (index, &(b, end_b)) in ends.iter().enumerate().skip(1) {
            for &(a, end_a) in [&ends[0], &ends[index - 1]].into_iter().take(if index > 1 { 2 } else { 1 }) {
                samples.entry((a, b)).or_default().push((end_a, end_b - end_a));
            }
        }
    }
    samples.into_iter().map(|((a, b), samples)| pair(a, b, samples)).collect()
}

fn pair(a: usize, b: usize, mut samples: Vec<(f64, f64)>) -> Pair {
    // Counted from the first of them: a clock that is far off would else take the slope's error far, too.
    let first = samples.iter().map(|it| it.0).fold(f64::MAX, f64::min);
    samples.iter_mut().for_each(|it| it.0 -= first);
    let every = samples.len().div_ceil(MOST_SAMPLES);
    samples = samples.into_iter().step_by(every.max(1)).collect();
    let span = samples.iter().map(|it| it.0).fold(f64::MIN, f64::max)
        - samples.iter().map(|it| it.0).fold(f64::MAX, f64::min);
    // Neighbours in time say nothing of a drift but jitter.
    let is_short = span <= DRIFT_SPAN;
    let (slope, drifted) = match is_short {
        false => (theil_sen(&samples, DRIFT_SPAN / 4.0), 0.0),
        true => (0.0, theil_sen(&samples, span / 4.0).abs() * span / 2.0),
    };
    let mut offsets: Vec<f64> = samples.iter().map(|(time, delta)| delta - slope * time).collect();
    let offset = median(&mut offsets);
    let mut off: Vec<f64> = offsets.iter().map(|it| (it - offset).abs()).collect();
    let sigma = 1.4826 * median(&mut off) / (samples.len().max(1) as f64).sqrt();
    Pair { a, b, offset, slope, is_short, sigma: sigma.max(1.0), drifted }
}

/// The median slope of all pairs of points that are so far from one another.
pub fn theil_sen(samples: &[(f64, f64)], apart: f64) -> f64 {
    let mut slopes = Vec::new();
    for (index, a) in samples.iter().enumerate() {
        for b in &samples[index + 1..] {
            if (b.0 - a.0).abs() > apart {
                slopes.push((b.1 - a.1) / (b.0 - a.0));
            }
        }
    }
    // Slopes are many, and the middle one is all that is asked.
    let middle = slopes.len().saturating_sub(1) / 2;
    if slopes.is_empty() { 0.0 } else { *slopes.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

/// The middle value, the lower of two; 0 of none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// The middle value, the upper of two; 0 of none.
pub fn upper_median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Gives each host a first offset along the most certain pairs; returns how many islands there are.
fn grow_trees(hosts: &mut [HostClock], pairs: &[Pair]) -> usize {
    let mut reached = vec![false; hosts.len()];
    let mut islands = 0;
    for root in 0..hosts.len() {
        if reached[root] {
            continue;
        }
        reached[root] = true;
        hosts[root].island = islands;
        loop {
            let next = pairs
                .iter()
                .filter(|pair| reached[pair.a] != reached[pair.b])
                .min_by(|x, y| x.sigma.total_cmp(&y.sigma));
            let Some(pair) = next else { break };
            let (from, to, sign) =
                if reached[pair.a] { (pair.a, pair.b, 1.0) } else { (pair.b, pair.a, -1.0) };
            reached[to] = true;
            hosts[to].island = islands;
            hosts[to].offset_ns = hosts[from].offset_ns + sign * pair.offset;
            hosts[to].drift_ppm = hosts[from].drift_ppm + sign * pair.slope * 1e6;
            hosts[to].is_drift_unknown = hosts[from].is_drift_unknown || pair.is_short;
            hosts[to].error_ns = hosts[from].error_ns.hypot(pair.sigma).hypot(pair.drifted);
        }
        islands += 1;
    }
    islands
}

/// Lets all pairs pull at the offsets, each by its certainty and the less the more it disagrees (Huber's weights).
fn refine(hosts: &mut [HostClock], pairs: &[Pair]) {
    /// Rounds until nothing moves any more, but for pairs that contradict one another.
    const ROUNDS: usize = 50;
    /// The disagreement, in standard deviations, above which a pair counts less.
    const HUBER: f64 = 1.345;
    let mut of_hosts: Vec<Vec<(usize, f64, f64)>> = vec![Vec::new(); hosts.len()];
    for pair in pairs {
        of_hosts[pair.b].push((pair.a, pair.offset, pair.sigma));
        of_hosts[pair.a].push((pair.b, -pair.offset, pair.sigma));
    }
    let mut is_root = vec![true; hosts.len()];
    for index in 1..hosts.len() {
        is_root[index] = hosts[..index].iter().all(|other| other.island != hosts[index].island);
    }
    for round in 0..ROUNDS {
        for index in (0..hosts.len()).filter(|index| !is_root[*index]) {
            let (mut sum, mut weights, mut residual) = (0.0, 0.0, 0.0_f64);
            for &(other, offset, sigma) in &of_hosts[index] {
                let wanted = hosts[other].offset_ns + offset;
                let off = (wanted - hosts[index].offset_ns).abs() / sigma;
                let weight = if off > HUBER { HUBER / off } else { 1.0 } / (sigma * sigma);
                sum += weight * wanted;
                weights += weight;
                residual += weight * (wanted - hosts[index].offset_ns).abs();
            }
            if weights > 0.0 {
                hosts[index].offset_ns = sum / weights;
                if round + 1 == ROUNDS {
                    hosts[index].error_ns = hosts[index].error_ns.max(residual / weights);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_told_from_jitter() {
        let samples: Vec<(f64, f64)> = (0..200)
            .map(|it| (f64::from(it) * 5e7, 1e6 + f64::from(it) * 250.0 + f64::from(it % 7) * 40.0))
            .collect();
        let pair = pair(0, 1, samples);
        assert!((pair.slope * 1e6 - 5.0).abs() < 0.05, "{} ppm", pair.slope * 1e6);
        assert!((pair.offset - 1e6).abs() < 300.0, "{} ns", pair.offset);
    }

    #[test]
    fn a_drift_that_a_short_recording_can_not_tell_is_part_of_the_error() {
        // Half a second, in which 13 millionths are 6.5 µs.
        let samples: Vec<(f64, f64)> = (0..200)
            .map(|it| (f64::from(it) * 2.5e6, f64::from(it) * 32.5 + f64::from(it % 7) * 40.0))
            .collect();
        let pair = pair(0, 1, samples);
        assert_eq!(pair.slope, 0.0);
        assert!((3_000.0..3_500.0).contains(&pair.drifted), "{} ns", pair.drifted);
        let mut hosts = vec![HostClock::default(); 2];
        grow_trees(&mut hosts, &[pair]);
        // The offset is right in the middle, and that far off at the begin.
        assert!((hosts[1].offset_ns - 3_300.0).abs() < 300.0, "{:?}", hosts[1]);
        assert!(hosts[1].error_ns >= 3_000.0, "{:?}", hosts[1]);
        assert!(hosts[1].is_drift_unknown && !hosts[0].is_drift_unknown);
    }

    #[test]
    fn hosts_without_a_shared_collective_are_islands() {
        let mut hosts = vec![HostClock::default(); 4];
        let pair =
            |a, b, offset| Pair { a, b, offset, slope: 0.0, is_short: false, sigma: 10.0, drifted: 0.0 };
        let pairs = [pair(0, 2, 73e9), pair(1, 3, -5.0)];
        assert_eq!(grow_trees(&mut hosts, &pairs), 2);
        assert_eq!(hosts.iter().map(|host| host.island).collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert_eq!(hosts[2].offset_ns, 73e9);
    }
}
