//! `ClusterCommunicationTime` and `ClusterCommunicationBandwidth`: what each collective of each rank took and
//! moved, and behind them the totals of each group.

use std::collections::{BTreeMap, BTreeSet};

use opscope_reach::Collection;
use opscope_reach::database::{each_row, number, text};

use super::number as rank_of;
use crate::groups::{Seen, traffic_of_word};
use crate::names::Names;
use crate::numbers::ratio;
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

/// The name that totals stand under.
pub const TOTAL: &str = "Total Op Info";

const TIME: Table = Table {
    name: "ClusterCommunicationTime",
    columns: &[
        ("step", Kind::Text),
        ("rank_id", Kind::Integer),
        ("hccl_op_name", Kind::Text),
        ("group_name", Kind::Text),
        ("start_timestamp", Kind::Real),
        ("elapsed_time", Kind::Real),
        ("transit_time", Kind::Real),
        ("wait_time", Kind::Real),
        ("synchronization_time", Kind::Real),
        ("idle_time", Kind::Real),
        ("synchronization_time_ratio", Kind::Real),
        ("wait_time_ratio", Kind::Real),
    ],
    index: &[],
};

const BANDWIDTH: Table = Table {
    name: "ClusterCommunicationBandwidth",
    columns: &[
        ("step", Kind::Text),
        ("rank_id", Kind::Integer),
        ("hccl_op_name", Kind::Text),
        ("group_name", Kind::Text),
        ("band_type", Kind::Text),
        ("transit_size", Kind::Real),
        ("transit_time", Kind::Real),
        ("bandwidth", Kind::Real),
        ("large_packet_ratio", Kind::Real),
        ("package_size", Kind::Real),
        ("count", Kind::Integer),
        ("total_duration", Kind::Real),
    ],
    index: &[],
};

/// A collective: its start in microseconds, then elapsed, transit, waiting, synchronisation and idle time in
/// milliseconds. Texts are numbers of the rank's names.
struct Time {
    step: u32,
    name: u32,
    group: u32,
    figures: [f64; 6],
}

/// The packets of one size that a collective sent over a kind of link: megabytes, milliseconds and gigabytes per
/// second of all its packets, the share of large ones; then the size, how many, and milliseconds of these.
struct Packets {
    step: u32,
    name: u32,
    group: u32,
    link: u32,
    figures: [f64; 7],
}

#[derive(Default)]
struct Rank {
    names: Names,
    times: Vec<Time>,
    packets: Vec<Packets>,
    seen: Seen,
}

/// A number that orders as numbers do.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Sums of times, by step, rank and group.
type TimeTotals = BTreeMap<(String, u32, String), [f64; 5]>;

/// Megabytes and milliseconds of all packets, and by the packets' size their number and milliseconds.
type PacketTotal = (f64, f64, BTreeMap<Ordered, (f64, f64)>);

/// Sums over a kind of link, by group, step, rank and link.
type PacketTotals = BTreeMap<(String, String, u32, String), PacketTotal>;

/// Writes both tables; returns the groups that were seen.
///
/// # Errors
/// SQLite's.
pub fn write(ranks: &Ranks, output: &Output) -> rusqlite::Result<Seen> {
    let (mut times, mut packets) = (output.table(&TIME)?, output.table(&BANDWIDTH)?);
    let (mut time_totals, mut packet_totals) = (TimeTotals::new(), PacketTotals::new());
    let mut seen = Seen::default();
    let take = |collection: &Collection, rank: Rank| {
        let number = rank_of(collection);
        let text = |number| rank.names.text(number);
        for row in &rank.times {
            let [start, elapsed, transit, wait, synchronization, idle] = row.figures;
            let figures = (start, elapsed, transit, wait, synchronization, idle);
            let (step, name, group) = (text(row.step), text(row.name), text(row.group));
            insert_time(&mut times, step, number, name, group, figures, (0.0, 0.0))?;
        }
        for row in &rank.packets {
            let [size, time, rate, large, package, count, duration] = row.figures;
            let [step, name, group, link] = [row.step, row.name, row.group, row.link].map(text);
            packets.row((
                step,
                number,
                name,
                group,
                link,
                size,
                time,
                rate,
                large,
                package,
                count as i64,
                duration,
            ))?;
        }
        add_times(&mut time_totals, collection.rank, &rank);
        add_packets(&mut packet_totals, collection.rank, &rank);
        seen.merge(rank.seen);
        Ok::<_, rusqlite::Error>(())
    };
    ranks.each(|collection| read(ranks, collection), take)?;
    for ((step, rank, group), [elapsed, transit, wait, synchronization, idle]) in &time_totals {
        let ratios = (ratio(*synchronization, synchronization + transit), ratio(*wait, wait + transit));
        let figures = (0.0, *elapsed, *transit, *wait, *synchronization, *idle);
        insert_time(&mut times, step, i64::from(*rank), TOTAL, group, figures, ratios)?;
    }
    for ((group, step, rank, link), (size, time, sizes)) in &packet_totals {
        for (package, (count, duration)) in sizes {
            let rate = ratio(*size, *time);
            let rank = i64::from(*rank);
            packets.row((
                step,
                rank,
                TOTAL,
                group,
                link,
                size,
                time,
                rate,
                0,
                package.0,
                *count as i64,
                duration,
            ))?;
        }
    }
    Ok(seen)
}

fn insert_time(
    table: &mut crate::table::Insert<'_>,
    step: &str,
    rank: i64,
    name: &str,
    group: &str,
    (start, elapsed, transit, wait, synchronization, idle): (f64, f64, f64, f64, f64, f64),
    (synchronization_ratio, wait_ratio): (f64, f64),
) -> rusqlite::Result<()> {
    let figures = (step, rank, name, group, start, elapsed, transit, wait, synchronization, idle);
    let (step, rank, name, group, start, elapsed, transit, wait, synchronization, idle) = figures;
    table.row((
        step,
        rank,
        name,
        group,
        start,
        elapsed,
        transit,
        wait,
        synchronization,
        idle,
        synchronization_ratio,
        wait_ratio,
    ))
}

fn read(ranks: &Ranks, collection: &Collection) -> Rank {
    let mut rank = Rank::default();
    ranks.read(collection, File::Analysis, |database| {
        let columns = [
            "step",
            "hccl_op_name",
            "group_name",
            "type",
            "start_timestamp",
            "elapse_time",
            "transit_time",
            "wait_time",
            "synchronization_time",
            "idle_time",
        ];
        let times = each_row(database, "CommAnalyzerTime", &columns, |row| {
            let (step, name, group) = (text(row, 0), text(row, 1), text(row, 2));
            rank.seen.add(traffic_of_word(text(row, 3), name), group, collection.rank);
            let figures = std::array::from_fn(|place| number(row, place + 4).unwrap_or(0.0));
            let [step, name, group] = [step, name, group].map(|text| rank.names.number(text));
            rank.times.push(Time { step, name, group, figures });
        });
        let columns = [
            "step",
            "hccl_op_name",
            "group_name",
            "transport_type",
            "transit_size",
            "transit_time",
            "bandwidth",
            "large_packet_ratio",
            "package_size",
            "count",
            "total_duration",
        ];
        let packets = each_row(database, "CommAnalyzerBandwidth", &columns, |row| {
            let figures = std::array::from_fn(|place| number(row, place + 4).unwrap_or(0.0));
            let [step, name, group, link] = [0, 1, 2, 3].map(|column| rank.names.number(text(row, column)));
            rank.packets.push(Packets { step, name, group, link, figures });
        });
        times.and(packets)
    });
    rank
}

fn add_times(totals: &mut TimeTotals, number: u32, rank: &Rank) {
    let mut of_rank: BTreeMap<(u32, u32), [f64; 5]> = BTreeMap::new();
    for row in &rank.times {
        let total = of_rank.entry((row.step, row.group)).or_default();
        total.iter_mut().zip(&row.figures[1..]).for_each(|(total, figure)| *total += figure);
    }
    let text = |number| rank.names.text(number).to_owned();
    totals.extend(of_rank.into_iter().map(|((step, group), sums)| ((text(step), number, text(group)), sums)));
}

fn add_packets(totals: &mut PacketTotals, number: u32, rank: &Rank) {
    // Megabytes and milliseconds of all packets are repeated for each size.
    let mut counted = BTreeSet::new();
    let mut of_rank: BTreeMap<(u32, u32, u32), PacketTotal> = BTreeMap::new();
    for row in &rank.packets {
        let [size, time, _, _, package, count, duration] = row.figures;
        let total = of_rank.entry((row.group, row.step, row.link)).or_default();
        if counted.insert((row.step, row.group, row.name, row.link)) {
            total.0 += size;
            total.1 += time;
        }
        let packets = total.2.entry(Ordered(package)).or_default();
        packets.0 += count;
        packets.1 += duration;
    }
    let text = |number| rank.names.text(number).to_owned();
    for ((group, step, link), total) in of_rank {
        totals.insert((text(group), text(step), number, text(link)), total);
    }
}
