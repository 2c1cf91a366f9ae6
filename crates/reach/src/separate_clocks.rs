//! Ranks whose clock isn't the one of their host.
//!
//! Containers and virtual machines may have one name on many machines, and ranks of one host may have been recorded at
//! different times. A collective that all leave together ends at one moment; where its ends on two ranks of a host are
//! apart, always by the same time, these ranks have two clocks, and are taken for two hosts.

use std::collections::{BTreeMap, BTreeSet};

use crate::clocks::median;
use crate::error::{Loss, LossReason};
use crate::relative::{Differences, offsets};
use crate::run::Run;

/// The difference of ends, in nanoseconds, from which on two ranks have two clocks: more than the jitter of leaving.
const APART: f64 = 1e6;

/// The same where nothing but a folder's name says that ranks share a host: clocks of hosts that are synchronised over
/// the network differ by less than a millisecond, which is as much as transfers take. Where leaving jitters more, it is
/// eight times that jitter.
const APART_UNTOLD: f64 = 1e5;

/// How far the differences of a pair may lie from the usual one, in nanoseconds: the jitter of leaving, and the drift of
/// clocks. Ends of two runs have nothing to do with one another, and tell of no clock.
const STEADY: f64 = 2e5;

/// How many differences of a pair are looked at, and the fewest that tell anything.
const MOST: usize = 200;
const FEWEST: usize = 2;

/// Makes hosts of the ranks that have a clock of their own; returns them as losses. Those that are known tell whose host
/// isn't told.
pub fn separate(run: &mut Run, known: &[Loss]) -> Vec<Loss> {
    let (differences, jitter) = differences(run);
    let offsets = offsets(&differences);
    let untold: BTreeSet<u32> = known
        .iter()
        .filter(|loss| loss.reason == LossReason::HostAbove)
        .filter_map(|loss| loss.rank)
        .collect();
    let mut losses = Vec::new();
    for host in 0..run.hosts.len() {
        let ranks: Vec<usize> = (0..run.ranks.len()).filter(|rank| run.ranks[*rank].host == host).collect();
        let are_untold = ranks.iter().all(|rank| untold.contains(&run.ranks[*rank].number));
        let jitter = ranks.iter().filter_map(|rank| jitter.get(rank)).copied().fold(0.0, f64::max);
        let apart = if are_untold { (8.0 * jitter).clamp(APART_UNTOLD, APART) } else { APART };
        let of_clocks = by_clock(&ranks, &offsets, apart);
        for (number, (offset, ranks)) in of_clocks.into_iter().enumerate().skip(1) {
            let name = format!("{}, clock {}", run.hosts[host], number + 1);
            let first = run.ranks[ranks[0]].number;
            let loss =
                Loss::new(Some(first), run.hosts[host].clone(), LossReason::OwnClock, ranks.len() as u64);
            let ahead = match offset.abs() < 1e9 {
                true => format!("{:+.3} ms", offset / 1e6),
                false => format!("{:+.3} s", offset / 1e9),
            };
            losses.push(loss.because(ahead));
            run.hosts.push(name);
            for rank in ranks {
                run.ranks[rank].host = run.hosts.len() - 1;
            }
        }
    }
    losses
}

/// By how much the clock of a rank is ahead of another's, in nanoseconds, of all that meet in collectives on a host; and
/// how far single differences of a rank's lie from the usual one.
fn differences(run: &Run) -> (Differences<f64>, BTreeMap<usize, f64>) {
    let mut samples: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    let mut of_hosts: Vec<(usize, usize, i64)> = Vec::new();
    for instance in run.instances.iter().filter(|it| it.seen > 1) {
        of_hosts.clear();
        for event in run.events_of(instance).filter(|event| event.kind.ends_together()) {
            let rank = event.rank as usize;
            of_hosts.push((run.ranks[rank].host, rank, event.end_ns()));
        }
        of_hosts.sort_unstable();
        for pair in of_hosts.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let of_pair = samples.entry((pair[0].1, pair[1].1)).or_default();
            if of_pair.len() < MOST {
                of_pair.push(pair[1].2.saturating_sub(pair[0].2) as f64);
            }
        }
    }
    let mut ahead = Differences::new();
    let mut strange: BTreeSet<usize> = BTreeSet::new();
    let mut jitter: BTreeMap<usize, f64> = BTreeMap::new();
    for (pair, mut differences) in samples.into_iter().filter(|(_, differences)| differences.len() >= FEWEST)
    {
        let usual = median(&mut differences);
        let deviation = median(&mut differences.iter().map(|it| (it - usual).abs()).collect::<Vec<f64>>());
        match deviation < STEADY {
            true => {
                ahead.insert(pair, usual);
                for rank in [pair.0, pair.1] {
                    let known = jitter.entry(rank).or_default();
                    *known = known.max(deviation);
                }
            }
            false => strange.extend([pair.0, pair.1]),
        }
    }
    // A few steady differences may be chance where others aren't.
    ahead.retain(|(a, b), _| !strange.contains(a) && !strange.contains(b));
    (ahead, jitter)
}

/// The ranks of a host by their clocks, and by how much these are ahead of the first, which most have. Ranks that meet
/// none of the others have the first.
fn by_clock(ranks: &[usize], offsets: &BTreeMap<usize, f64>, apart: f64) -> Vec<(f64, Vec<usize>)> {
    let mut clocks: Vec<(f64, Vec<usize>)> = Vec::new();
    for &rank in ranks {
        let offset = offsets.get(&rank).copied().unwrap_or_default();
        match clocks.iter_mut().find(|(known, _)| (known - offset).abs() <= apart) {
            Some((_, ranks)) => ranks.push(rank),
            None => clocks.push((offset, vec![rank])),
        }
    }
    clocks.sort_by_key(|(_, ranks)| (std::cmp::Reverse(ranks.len()), ranks[0]));
    let first = clocks.first().map_or(0.0, |(offset, _)| *offset);
    clocks.iter_mut().for_each(|(offset, _)| *offset -= first);
    clocks
}
