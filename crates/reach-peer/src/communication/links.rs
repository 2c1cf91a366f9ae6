//! `ClusterCommunicationMatrix`: what went from rank to rank, by operation, and in total.

use std::collections::HashMap;

use opscope_columns::Column;
use opscope_reach::Collection;
use opscope_reach::database::{each_row, number, text, whole};

use super::times::TOTAL;
use crate::groups::{Members, Seen, Traffic, traffic_of_word};
use crate::names::Names;
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

/// A link in a group, by places in it; the operation it belongs to, and an example of that. Texts are numbers of
/// names.
#[derive(Clone, Copy)]
struct Row {
    step: u32,
    operation: u32,
    group: u32,
    traffic: Traffic,
    src: i64,
    dst: i64,
    transport: u32,
    example: u32,
    size: f64,
    time: f64,
}

/// A link between two ranks in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    step: u32,
    operation: u32,
    group: u32,
    src: u32,
    dst: u32,
}

/// The sums of a link: of the first rank that tells of it the kind of link and the example.
#[derive(Clone, Copy)]
struct Sum {
    key: Key,
    transport: u32,
    example: u32,
    size: f64,
    time: f64,
}

/// Sums in the order in which their keys were met.
#[derive(Default)]
struct Sums {
    order: Column<Sum>,
    places: HashMap<Key, u32>,
}

impl Sums {
    fn add(&mut self, sum: Sum) {
        let place = *self.places.entry(sum.key).or_insert(self.order.len() as u32);
        match self.order.get_mut(place as usize) {
            Some(before) => {
                before.size += sum.size;
                before.time += sum.time;
            }
            None => self.order.push(sum),
        }
    }

    fn write(&self, names: &Names, table: &mut crate::table::Insert<'_>) -> rusqlite::Result<()> {
        for Sum { key, transport, example, size, time } in &*self.order {
            let rate = if *time == 0.0 { 0.0 } else { size / time };
            let [step, operation, group] =
                [key.step, key.operation, key.group].map(|number| names.text(number));
            let (transport, example) = (names.text(*transport), names.text(*example));
            table.row((step, operation, group, key.src, key.dst, transport, example, size, time, rate))?;
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
    let mut names = Names::default();
    let (total, no_example) = (names.number(TOTAL), names.number(""));
    let (mut rows, mut totals) = (Sums::default(), Sums::default());
    let mut members: HashMap<(Traffic, u32), Members> = HashMap::new();
    let Ok(()) = ranks.each(
        |collection| read(ranks, collection),
        |_, (of_rank, own)| {
            let numbers = names.numbers(own.texts());
            let number = |own: u32| numbers[own as usize];
            for row in of_rank {
                let (traffic, group) = (row.traffic, number(row.group));
                let of_group = members
                    .entry((traffic, group))
                    .or_insert_with(|| seen.members(ranks, traffic, names.text(group)));
                let rank = |place: i64| places.rank(of_group, names.text(group), place);
                let (Some(src), Some(dst)) = (rank(row.src), rank(row.dst)) else { continue };
                let (step, operation) = (number(row.step), number(row.operation));
                let (transport, example) = (number(row.transport), number(row.example));
                let key = Key { step, operation, group, src, dst };
                let sum = Sum { key, transport, example, size: row.size, time: row.time };
                if names.text(operation).contains("total") {
                    let key = Key { operation: total, ..key };
                    totals.add(Sum { key, example: no_example, ..sum });
                }
                rows.add(sum);
            }
            Ok::<_, std::convert::Infallible>(())
        },
    );
    let mut table = output.table(&MATRIX)?;
    rows.write(&names, &mut table)?;
    totals.write(&names, &mut table)
}

/// The links of a rank, and their names.
fn read(ranks: &Ranks, collection: &Collection) -> (Vec<Row>, Names) {
    let (mut rows, mut names) = (Vec::new(), Names::default());
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
            let (Some(src), Some(dst)) = (whole(row, 4), whole(row, 5)) else { return };
            let mut named = |column| names.number(text(row, column));
            rows.push(Row {
                step: named(0),
                operation: named(1),
                group: named(2),
                traffic: traffic_of_word(text(row, 3), text(row, 1)),
                src,
                dst,
                transport: named(6),
                example: named(7),
                size: number(row, 8).unwrap_or(0.0),
                time: number(row, 9).unwrap_or(0.0),
            });
        })
    });
    (rows, names)
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
