//! `ClusterCommunicationMatrix`: what went from rank to rank, by operation, and in total.

use std::collections::HashMap;

use opscope_reach::Collection;
use opscope_reach::database::{each_row, number, text, whole};

use super::times::TOTAL;
use crate::groups::{Members, Seen, Traffic, traffic_of_word};
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const MATRIX: Table = Table {
    name: "ClusterCommunicationMatrix",
    columns: &[
        ("step", Kind::Text),
        ("hccl_op_name", Kind::Text),
        ("group_name", Kind::Text),
        ("src_rank", Kind::Integer),
        ("dst_rank", Kind::Integer),
        ("transport_type", Kind::Text),
        ("op_name", Kind::Text),
        ("transit_size", Kind::Real),
        ("transit_time", Kind::Real),
        ("bandwidth", Kind::Real),
    ],
    index: &[],
};

/// A link in a group, by places in it; the operation it belongs to, and an example of that.
struct Row {
    step: String,
    operation: String,
    group: String,
    traffic: Traffic,
    src: i64,
    dst: i64,
    transport: String,
    example: String,
    size: f64,
    time: f64,
}

/// A link between two ranks in an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    step: String,
    operation: String,
    group: String,
    src: u32,
    dst: u32,
}

/// The sums of a link: of the first rank that tells of it the kind of link and the example.
struct Sum {
    transport: String,
    example: String,
    size: f64,
    time: f64,
}

/// Sums in the order in which their keys were met.
#[derive(Default)]
struct Sums {
    order: Vec<Key>,
    sums: HashMap<Key, Sum>,
}

impl Sums {
    fn add(&mut self, key: Key, transport: &str, example: &str, size: f64, time: f64) {
        match self.sums.get_mut(&key) {
            Some(sum) => {
                sum.size += size;
                sum.time += time;
            }
            None => {
                let (transport, example) = (transport.to_owned(), example.to_owned());
                self.order.push(key.clone());
                self.sums.insert(key, Sum { transport, example, size, time });
            }
        }
    }

    fn write(&self, table: &mut crate::table::Insert<'_>) -> rusqlite::Result<()> {
        for (key, sum) in self.order.iter().filter_map(|key| Some((key, self.sums.get(key)?))) {
            let rate = if sum.time == 0.0 { 0.0 } else { sum.size / sum.time };
            let (step, operation, group) = (&key.step, &key.operation, &key.group);
            let (transport, example) = (&sum.transport, &sum.example);
            table.row((
                step, operation, group, key.src, key.dst, transport, example, sum.size, sum.time, rate,
            ))?;
        }
        Ok(())
    }
}

/// Writes the table.
///
/// # Errors
/// SQLite's.
pub fn write(ranks: &Ranks, seen: &Seen, output: &Output) -> rusqlite::Result<()> {
    let mut places = Places::default();
    if seen.0.keys().any(|(_, group)| !ranks.groups.contains_key(&opscope_reach::key_of_text(group))) {
        places = Places::find(ranks);
    }
    let (mut rows, mut totals) = (Sums::default(), Sums::default());
    let mut members: HashMap<(Traffic, String), Members> = HashMap::new();
    let Ok(()) = ranks.each(
        |collection| read(ranks, collection),
        |_, of_rank| {
            for row in of_rank {
                let group = members
                    .entry((row.traffic, row.group.clone()))
                    .or_insert_with(|| seen.members(ranks, row.traffic, &row.group));
                let rank = |place: i64| places.rank(group, &row.group, place);
                let (Some(src), Some(dst)) = (rank(row.src), rank(row.dst)) else { continue };
                let Row { step, operation, group, transport, example, size, time, .. } = row;
                if operation.contains("total") {
                    let operation = TOTAL.to_owned();
                    let key = Key { step: step.clone(), operation, group: group.clone(), src, dst };
                    totals.add(key, &transport, "", size, time);
                }
                rows.add(Key { step, operation, group, src, dst }, &transport, &example, size, time);
            }
            Ok::<_, std::convert::Infallible>(())
        },
    );
    let mut table = output.table(&MATRIX)?;
    rows.write(&mut table)?;
    totals.write(&mut table)
}

fn read(ranks: &Ranks, collection: &Collection) -> Vec<Row> {
    let mut rows = Vec::new();
    ranks.read(collection, File::Analysis, |database| {
        let columns = [
            "step",
            "hccl_op_name",
            "group_name",
            "type",
            "src_rank",
            "dst_rank",
            "transport_type",
            "op_name",
            "transit_size",
            "transit_time",
        ];
        each_row(database, "CommAnalyzerMatrix", &columns, |row| {
            let owned = |column| text(row, column).to_owned();
            let (Some(src), Some(dst)) = (whole(row, 4), whole(row, 5)) else { return };
            rows.push(Row {
                step: owned(0),
                operation: owned(1),
                group: owned(2),
                traffic: traffic_of_word(text(row, 3), text(row, 1)),
                src,
                dst,
                transport: owned(6),
                example: owned(7),
                size: number(row, 8).unwrap_or(0.0),
                time: number(row, 9).unwrap_or(0.0),
            });
        })
    });
    rows
}

/// The ranks at the places of groups that the run doesn't declare: a rank's link to itself tells its place.
#[derive(Default)]
pub struct Places(HashMap<(String, i64), u32>);

impl Places {
    fn find(ranks: &Ranks) -> Self {
        let mut places = Self::default();
        let read = |collection: &Collection| {
            let mut own = Vec::new();
            ranks.read(collection, File::Analysis, |database| {
                let columns = ["group_name", "src_rank", "dst_rank"];
                each_row(database, "CommAnalyzerMatrix", &columns, |row| {
                    if let (Some(src), Some(dst)) = (whole(row, 1), whole(row, 2))
                        && src == dst
                    {
                        own.push((text(row, 0).to_owned(), src));
                    }
                })
            });
            own.dedup();
            own
        };
        let Ok(()) = ranks.each(read, |collection, own| {
            own.into_iter().for_each(|(group, place)| places.add(group, place, collection.rank));
            Ok::<_, std::convert::Infallible>(())
        });
        places
    }

    /// Enters the place of a rank; the first rank at a place keeps it.
    pub fn add(&mut self, group: String, place: i64, rank: u32) {
        self.0.entry((group, place)).or_insert(rank);
    }

    /// The rank at a place of a group.
    pub fn rank(&self, members: &Members, group: &str, place: i64) -> Option<u32> {
        match members.is_declared {
            true => members.ranks.get(usize::try_from(place).ok()?).copied(),
            false => self.0.get(&(group.to_owned(), place)).copied(),
        }
    }
}
