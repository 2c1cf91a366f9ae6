//! Collectives whose ranks or times stray: `slow_rank` and `slow_link`.

use std::collections::BTreeMap;
use std::path::Path;

use opscope_columns::Column;
use opscope_reach::Collection;
use opscope_trace::{ByteMap, NumberMap};

use crate::error::PeerError;
use crate::names::Names;
use crate::numbers::Description;
use crate::profile::{Collectives, LaunchLookup, Span, bytes_of_type, wanted};
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table, described};

const RANKS: Table = Table {
    name: "SlowRank",
    columns: &[("rankId", Kind::Integer), ("slowAffectCount", Kind::Integer)],
    index: &[],
};

const OPERATORS: Table = Table {
    name: "SlowOpStats",
    columns: described!(
        [
            ("SlowRank", Kind::Text),
            ("OpName", Kind::Text),
            ("GroupName", Kind::Text),
            ("Timestamp", Kind::Integer)
        ],
        []
    ),
    index: &[],
};

const LINKS: Table = Table {
    name: "SlowLinkSum",
    columns: &[
        ("opTypeRelatedRanksDataSize", Kind::Text),
        ("Count", Kind::Integer),
        ("MeanNs", Kind::Real),
        ("StdNs", Kind::Real),
        ("MinNs", Kind::Integer),
        ("Q1Ns", Kind::Real),
        ("MedianNs", Kind::Real),
        ("Q3Ns", Kind::Real),
        ("MaxNs", Kind::Integer),
        ("SumNs", Kind::Integer),
        ("offsetRatio", Kind::Real),
        ("maxRank", Kind::Integer),
        ("minRank", Kind::Integer),
    ],
    index: &[],
};

const LINK_OPERATORS: Table = Table {
    name: "SlowLinkOps",
    columns: &[
        ("rankId", Kind::Integer),
        ("groupName", Kind::Text),
        ("communicationTime", Kind::Integer),
        ("opName", Kind::Text),
        ("opType", Kind::Text),
        ("dataType", Kind::Text),
        ("dataSize", Kind::Integer),
        ("transmitTime", Kind::Integer),
        ("relatedRanks", Kind::Integer),
    ],
    index: &[],
};

/// The critical values of Dixon's test at 99.5 %, for 4 to 100 values: below 8 of the ratio with the nearest
/// neighbour (`r10`), then without the other end (`r11`, to 10), past the nearest neighbour (`r21`, to 13), and
/// past it without the two at the other end (`r22`). As GB/T 4883-2008 tabulates them.
const DIXON: [f64; 97] = [
    0.920, 0.823, 0.744, 0.680, 0.723, 0.676, 0.638, 0.707, 0.675, 0.649, 0.672, 0.649, 0.629, 0.611, 0.595,
    0.580, 0.568, 0.556, 0.545, 0.536, 0.526, 0.519, 0.510, 0.503, 0.496, 0.489, 0.484, 0.478, 0.473, 0.468,
    0.463, 0.458, 0.454, 0.450, 0.446, 0.442, 0.439, 0.435, 0.432, 0.429, 0.425, 0.423, 0.420, 0.417, 0.414,
    0.412, 0.409, 0.407, 0.405, 0.402, 0.400, 0.398, 0.396, 0.394, 0.392, 0.391, 0.388, 0.387, 0.385, 0.383,
    0.382, 0.380, 0.379, 0.377, 0.376, 0.374, 0.372, 0.371, 0.370, 0.368, 0.368, 0.366, 0.365, 0.364, 0.363,
    0.361, 0.360, 0.359, 0.358, 0.356, 0.356, 0.355, 0.353, 0.352, 0.352, 0.351, 0.350, 0.349, 0.348, 0.347,
    0.346, 0.345, 0.344, 0.344, 0.343, 0.341, 0.341,
];

/// Deviations from the mean above which a value strays, where there are too many for Dixon's test.
const DEVIATIONS: f64 = 3.0;

/// How many kinds of collectives `slow_link` sums up.
const USUAL_TOP: usize = 15;

/// The kinds of durations below which nothing is said: too few to tell one from the others.
const FEWEST_KINDS: usize = 4;

/// Whether the shortest of sorted durations strays from the others, so that they waited for its rank.
fn strays(sorted: &[i64]) -> bool {
    let count = sorted.len();
    let Some(critical) = count.checked_sub(4).and_then(|place| DIXON.get(place)) else {
        return count > 100 && is_far_below(sorted);
    };
    let kinds = 1 + sorted.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if kinds < FEWEST_KINDS {
        return false;
    }
    let (neighbour, other_end) = match count {
        ..=7 => (1, 1),
        8..=10 => (1, 2),
        11..=13 => (2, 2),
        _ => (2, 3),
    };
    let distance = |place: usize| (sorted[place] - sorted[0]) as f64;
    let whole = distance(count - other_end);
    whole > 0.0 && distance(neighbour) / whole > *critical
}

fn is_far_below(sorted: &[i64]) -> bool {
    let mut durations = sorted.to_vec();
    Description::of(&mut durations).is_some_and(|it| {
        let deviation = it.whole_deviation();
        deviation > 0.0 && (it.mean - it.least) / deviation > DEVIATIONS
    })
}

/// The time of all collectives.
const ALWAYS: Span = Span { start: i64::MIN, end: i64::MAX };

fn read(ranks: &Ranks, collection: &Collection) -> Collectives {
    let mut collectives = Collectives::default();
    ranks.read(collection, File::Profile, |database| {
        collectives.read(database, ALWAYS, LaunchLookup::Skipped)
    });
    collectives
}

/// As [`read`], with whether each was launched in a step: the vendor's tool takes it for the step's then, whenever it
/// begins itself.
fn read_launched(ranks: &Ranks, collection: &Collection, step: Option<i64>) -> Collectives {
    let mut collectives = Collectives::default();
    ranks.read(collection, File::Profile, |database| match wanted(database, step)? {
        Some(stretch) => collectives.read(database, ALWAYS, LaunchLookup::Within(stretch)),
        None => Ok(()),
    });
    collectives
}

/// An operator and its group, by the numbers of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct InstanceKey {
    name: u32,
    group: u32,
}

impl InstanceKey {
    /// As one number, by which it is looked up.
    fn number(self) -> u64 {
        u64::from(self.name) << 32 | u64::from(self.group)
    }
}

/// A rank's part in a collective: duration, rank and start.
type Part = (i64, u32, i64);

/// A type of collective by the number of its name, bytes, and how many parts have them.
#[derive(Clone, Copy)]
struct Size {
    kind: u32,
    bytes: i64,
    parts: i64,
}

/// Writes for which ranks others waited, in a step or in all: `slow_rank`. Returns whether there are any; without, nothing
/// is written.
///
/// # Errors
/// When the result can't be written.
pub fn ranks(ranks: &Ranks, step: Option<i64>, path: &Path) -> Result<bool, PeerError> {
    let mut names = Names::default();
    let mut places: NumberMap<u64, usize> = NumberMap::default();
    let mut instances: Vec<(InstanceKey, Vec<Part>)> = Vec::new();
    let Ok(()) = ranks.each(
        |collection| read_launched(ranks, collection, step),
        |collection, collectives| {
            let numbers = names.numbers(collectives.names.texts());
            for row in collectives.rows.iter().filter(|row| row.is_launched) {
                let [name, group] = [row.name, row.group].map(|own| numbers[own as usize]);
                let key = InstanceKey { name, group };
                let place = *places.entry(key.number()).or_insert_with(|| {
                    instances.push((key, Vec::new()));
                    instances.len() - 1
                });
                let duration = row.span.end.saturating_sub(row.span.start);
                instances[place].1.push((duration, collection.rank, row.span.start));
            }
            Ok::<_, std::convert::Infallible>(())
        },
    );
    let mut slow: Vec<(i64, u32, InstanceKey, Vec<i64>)> = Vec::new();
    for (key, mut parts) in instances {
        parts.sort_unstable();
        let durations: Vec<i64> = parts.iter().map(|(duration, ..)| *duration).collect();
        if strays(&durations) {
            slow.push((parts[0].2, parts[0].1, key, durations));
        }
    }
    if slow.is_empty() {
        return Ok(false);
    }
    slow.sort_unstable();
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    slow.iter().for_each(|(_, rank, ..)| *counts.entry(*rank).or_default() += 1);
    let mut counts: Vec<(u32, i64)> = counts.into_iter().collect();
    counts.sort_by_key(|(rank, count)| (-count, *rank));
    Output::write(path, |output| {
        let mut table = output.table(&RANKS)?;
        counts.iter().try_for_each(|row| table.row(*row))?;
        let mut table = output.table(&OPERATORS)?;
        for (start, rank, InstanceKey { name, group }, durations) in &mut slow {
            let Some(it) = Description::of(durations) else { continue };
            let (name, group) = (names.text(*name), names.text(*group));
            let micros = |nanoseconds: f64| nanoseconds / 1e3;
            let (mean, deviation, least) = (micros(it.mean), it.deviation.map(micros), micros(it.least));
            let quartiles = [it.first_quartile, it.median, it.third_quartile].map(micros);
            let [first, median, third] = quartiles;
            let (rank, count) = (rank.to_string(), it.count as i64);
            let (greatest, sum) = (micros(it.greatest), micros(it.sum));
            table.row((
                rank, name, group, *start, count, mean, deviation, least, first, median, third, greatest, sum,
            ))?;
        }
        Ok(())
    })?;
    Ok(true)
}

/// A collective of all its ranks: how many have a part, and the shortest, which is what the transfer took.
struct Instance {
    key: InstanceKey,
    parts: i64,
    transfer: i64,
    first_rank: u32,
    /// That of its first part; nearly always all are alike.
    size: Size,
    other_sizes: Vec<Size>,
}

impl Instance {
    fn sizes(&self) -> impl Iterator<Item = &Size> {
        std::iter::once(&self.size).chain(&self.other_sizes)
    }

    fn enter(&mut self, kind: u32, bytes: i64, duration: i64) {
        self.parts += 1;
        self.transfer = self.transfer.min(duration);
        let mut known = std::iter::once(&mut self.size).chain(&mut self.other_sizes);
        match known.find(|size| (size.kind, size.bytes) == (kind, bytes)) {
            Some(size) => size.parts += 1,
            None => self.other_sizes.push(Size { kind, bytes, parts: 1 }),
        }
    }
}

/// A rank's part in a collective as `slow_link` lists it, its names by their numbers among those of all ranks.
#[derive(Clone, Copy)]
struct Operation {
    rank: u32,
    /// The place of its collective.
    instance: u32,
    kind: u32,
    data_type: u32,
    bytes: i64,
    duration: i64,
}

/// The parts of collectives of one kind, between so many ranks, of the same size.
#[derive(Default)]
struct Alike {
    transfers: Vec<i64>,
    shortest: Option<(i64, u32)>,
    longest: Option<(i64, u32)>,
}

/// The name of those that are alike, such as `hcom_allReduce_2_16777216`.
fn alike(kind: &str, parts: i64, size: i64) -> String {
    format!("{kind}{parts}_{size}")
}

/// Writes the kinds of collectives whose times stray, those first that do most, and all collectives of these kinds:
/// `slow_link`. Sends and receives are no part of it. Returns whether there are any;
/// without, nothing is written.
///
/// # Errors
/// When the result can't be written.
pub fn links(ranks: &Ranks, top: Option<usize>, path: &Path) -> Result<bool, PeerError> {
    let mut names = Names::default();
    let mut places: NumberMap<u64, u32> = NumberMap::default();
    let mut instances: Vec<Instance> = Vec::new();
    let mut operations: Column<Operation> = Column::new();
    let Ok(()) = ranks.each(
        |collection| read(ranks, collection),
        |collection, collectives| {
            let numbers = names.numbers(collectives.names.texts());
            for row in &collectives.rows {
                let [name, group, kind, data_type] =
                    [row.name, row.group, row.kind, row.data_type].map(|own| numbers[own as usize]);
                let duration = row.span.end.saturating_sub(row.span.start);
                let bytes = row.count.saturating_mul(bytes_of_type(names.text(data_type)));
                let (rank, key) = (collection.rank, InstanceKey { name, group });
                let instance = *places.entry(key.number()).or_insert_with(|| {
                    let size = Size { kind, bytes, parts: 0 };
                    let (parts, transfer, other_sizes) = (0, duration, Vec::new());
                    instances.push(Instance { key, parts, transfer, first_rank: rank, size, other_sizes });
                    (instances.len() - 1) as u32
                });
                instances[instance as usize].enter(kind, bytes, duration);
                operations.push(Operation { rank, instance, kind, data_type, bytes, duration });
            }
            Ok::<_, std::convert::Infallible>(())
        },
    );
    let mut kinds: BTreeMap<String, Alike> = BTreeMap::new();
    let is_between_two: Vec<bool> = instances
        .iter()
        .map(|it| names.text(it.key.name))
        .map(|name| name.contains("send") || name.contains("receive"))
        .collect();
    let of_many = instances.iter().zip(&is_between_two).filter(|(_, is_between_two)| !**is_between_two);
    for (instance, _) in of_many {
        for Size { kind, bytes, parts } in instance.sizes() {
            let name = alike(names.text(*kind), instance.parts, *bytes);
            let kind = kinds.entry(name).or_default();
            kind.transfers.extend((0..*parts).map(|_| instance.transfer));
            let own = (instance.transfer, instance.first_rank);
            kind.shortest = Some(kind.shortest.map_or(own, |other| other.min(own)));
            let is_longer = |other: (i64, u32)| own.0 > other.0 || own.0 == other.0 && own.1 < other.1;
            kind.longest = Some(kind.longest.filter(|other| !is_longer(*other)).unwrap_or(own));
        }
    }
    let mut slow: Vec<(String, Description, f64, u32, u32)> = Vec::new();
    for (name, mut kind) in kinds {
        let Some(it) = Description::of(&mut kind.transfers) else { continue };
        let Some(deviation) = it.deviation.filter(|deviation| *deviation > 0.0) else { continue };
        let offset = (it.greatest - it.mean).max(it.mean - it.least) / deviation;
        if let (Some(shortest), Some(longest)) = (kind.shortest, kind.longest)
            && offset > DEVIATIONS
        {
            slow.push((name, it, offset, longest.1, shortest.1));
        }
    }
    if slow.is_empty() {
        return Ok(false);
    }
    slow.sort_by(|a, b| b.2.total_cmp(&a.2));
    Output::write(path, |output| {
        let mut table = output.table(&LINKS)?;
        for (name, it, offset, longest, shortest) in slow.iter().take(top.unwrap_or(USUAL_TOP)) {
            let (least, greatest, sum) = (it.least as i64, it.greatest as i64, it.sum as i64);
            let (first, median, third) = (it.first_quartile, it.median, it.third_quartile);
            let (count, mean, deviation) = (it.count as i64, it.mean, it.deviation);
            table.row((
                name, count, mean, deviation, least, first, median, third, greatest, sum, offset, longest,
                shortest,
            ))?;
        }
        let mut table = output.table(&LINK_OPERATORS)?;
        let mut strays: ByteMap<(u32, i64, i64), bool> = ByteMap::default();
        for operation in operations.iter() {
            let Operation { rank, instance, kind, data_type, bytes, duration } = *operation;
            let Instance { key, parts, transfer, .. } = instances[instance as usize];
            let is_slow = strays.entry((kind, parts, bytes)).or_insert_with(|| {
                let name = alike(names.text(kind), parts, bytes);
                slow.iter().any(|(slow, ..)| *slow == name)
            });
            if *is_slow && !is_between_two[instance as usize] {
                let [name, group, kind, data_type] =
                    [key.name, key.group, kind, data_type].map(|number| names.text(number));
                table.row((rank, group, duration, name, kind, data_type, bytes, transfer, parts))?;
            }
        }
        Ok(())
    })?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_duration_among_long_ones_strays() {
        assert!(strays(&[470_272, 479_182, 479_587, 479_935]));
        assert!(!strays(&[470_272, 473_000, 479_587, 479_935]));
    }

    #[test]
    fn groups_of_two_and_of_few_kinds_say_nothing() {
        assert!(!strays(&[1, 1000]) && !strays(&[1, 1000, 1001]));
        assert!(!strays(&[1, 990, 1000, 1000, 1000]));
        assert!(strays(&[1, 990, 1000, 1001, 1001]));
    }

    #[test]
    fn the_ends_that_are_left_out_depend_on_how_many_there_are() {
        // Without the two greatest, the neighbour's neighbour is as far as the greatest left.
        let mut many: Vec<i64> = vec![0, 500];
        many.extend((0..10).map(|it| 700 + it));
        many.extend([1000, 2000]);
        assert!(strays(&many));
        let few = [0, 700, 701, 702, 703, 704, 1000, 2000];
        assert!(!strays(&few) && strays(&[0, 730, 731, 732, 733, 734, 1000, 2000]));
    }

    #[test]
    fn among_many_the_mean_and_deviation_decide() {
        let mut many: Vec<i64> = (0..150).map(|it| 1000 + it % 7).collect();
        many.push(900);
        many.sort_unstable();
        assert!(strays(&many));
        many[0] = 999;
        assert!(!strays(&many));
    }
}
