//! Statistics of operators that compute: `compute_op_sum`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use opscope_reach::Collection;
use opscope_reach::database::{Texts, each_row, whole};
use opscope_trace::NumberMap;

use crate::Options;
use crate::error::PeerError;
use crate::numbers::Description;
use crate::profile::{Span, wanted};
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table, described};

const ALL: Table = Table {
    name: "ComputeOpAllRankStats",
    columns: described!([("OpType", Kind::Text), ("TaskType", Kind::Text)], []),
    index: &["OpType", "TaskType"],
};

const BY_TYPE: Table = Table {
    name: "ComputeOpPerRankStatsByOpType",
    columns: described!([("OpType", Kind::Text), ("TaskType", Kind::Text)], [("Rank", Kind::Integer)]),
    index: &["OpType", "TaskType"],
};

const BY_NAME: Table = Table {
    name: "ComputeOpPerRankStatsByOpName",
    columns: described!(
        [
            ("OpName", Kind::Text),
            ("OpType", Kind::Text),
            ("TaskType", Kind::Text),
            ("InputShapes", Kind::Text)
        ],
        [("Rank", Kind::Integer)]
    ),
    index: &["OpName", "OpType", "TaskType", "InputShapes"],
};

/// An operator's name, type, unit and inputs' shapes.
type Key = [String; 4];

/// The durations of a rank's operators.
fn read(ranks: &Ranks, collection: &Collection, options: &Options) -> BTreeMap<Key, Vec<i64>> {
    let mut by_key: HashMap<[i64; 4], Vec<i64>> = HashMap::new();
    let mut texts = Texts::default();
    ranks.read(collection, File::Profile, |database| {
        let Some(within) = wanted(database, options.step)? else { return Ok(()) };
        let (read, done) = Texts::read(database);
        texts = read;
        let mut keys: Vec<[i64; 4]> = Vec::new();
        let mut places: HashMap<[i64; 4], u32> = HashMap::new();
        let mut operators: NumberMap<i64, u32> = NumberMap::default();
        let columns = ["globalTaskId", "name", "opType", "taskType", "inputShapes"];
        let infos = each_row(database, "COMPUTE_TASK_INFO", &columns, |row| {
            let key = std::array::from_fn(|place| whole(row, place + 1).unwrap_or(-1));
            let place = *places.entry(key).or_insert_with(|| {
                keys.push(key);
                (keys.len() - 1) as u32
            });
            operators.extend(whole(row, 0).map(|id| (id, place)));
        });
        let mut durations: Vec<Vec<i64>> = vec![Vec::new(); keys.len()];
        let tasks = each_row(database, "TASK", &["globalTaskId", "startNs", "endNs"], |row| {
            let Some(place) = whole(row, 0).and_then(|id| operators.get(&id)) else { return };
            if let (Some(start), Some(end)) = (whole(row, 1), whole(row, 2))
                && within.contains(start)
                && (Span { start, end }).can_be()
            {
                durations[*place as usize].push(end.saturating_sub(start));
            }
        });
        by_key.extend(keys.into_iter().zip(durations).filter(|(_, durations)| !durations.is_empty()));
        done.and(infos).and(tasks)
    });
    let named = |key: [i64; 4]| key.map(|id| texts.get(Some(id)).to_owned());
    let mut named_keys: BTreeMap<Key, Vec<i64>> = BTreeMap::new();
    for (key, mut durations) in by_key {
        named_keys.entry(named(key)).or_default().append(&mut durations);
    }
    named_keys
}

/// Rows of a table of statistics: the names, the figures, the rank.
type Rows<const NAMES: usize> = Vec<([String; NAMES], Description, u32)>;

/// Puts the greatest sums first; equal ones by rank and name.
fn sort<const NAMES: usize>(rows: &mut Rows<NAMES>) {
    rows.sort_by(|a, b| b.1.sum.total_cmp(&a.1.sum).then(a.2.cmp(&b.2)).then_with(|| a.0.cmp(&b.0)));
}

/// Writes the tables.
///
/// # Errors
/// When the result can't be written.
pub fn sum(ranks: &Ranks, options: &Options, path: &Path) -> Result<(), PeerError> {
    let mut all: BTreeMap<[String; 2], Vec<i64>> = BTreeMap::new();
    let (mut by_type, mut by_name): (Rows<2>, Rows<4>) = Default::default();
    let Ok(()) = ranks.each(
        |collection| read(ranks, collection, options),
        |collection, of_rank| {
            let mut types: BTreeMap<[String; 2], Vec<i64>> = BTreeMap::new();
            for (key, mut durations) in of_rank {
                if let Some(it) = Description::of(&mut durations).filter(|_| !options.exclude_op_name) {
                    by_name.push((key.clone(), it, collection.rank));
                }
                let [_, op_type, unit, _] = key;
                types.entry([op_type, unit]).or_default().append(&mut durations);
            }
            for (key, mut durations) in types {
                if let Some(it) = Description::of(&mut durations) {
                    by_type.push((key.clone(), it, collection.rank));
                }
                all.entry(key).or_default().append(&mut durations);
            }
            Ok::<_, std::convert::Infallible>(())
        },
    );
    let mut described: Rows<2> = Vec::new();
    for (key, mut durations) in all {
        described.extend(Description::of(&mut durations).map(|it| (key, it, 0)));
    }
    sort(&mut described);
    sort(&mut by_type);
    sort(&mut by_name);
    Output::write(path, |output| {
        let mut table = output.table(&ALL)?;
        for ([op_type, unit], it, _) in &described {
            let (first, median, third) = (it.first_quartile, it.median, it.third_quartile);
            let (count, mean, deviation) = (it.count as i64, it.mean, it.deviation);
            let (least, greatest, sum) = (it.least, it.greatest, it.sum);
            table.row((op_type, unit, count, mean, deviation, least, first, median, third, greatest, sum))?;
        }
        let mut table = output.table(&BY_TYPE)?;
        for ([op_type, unit], it, rank) in &by_type {
            let (first, median, third) = (it.first_quartile, it.median, it.third_quartile);
            let (count, mean, deviation) = (it.count as i64, it.mean, it.deviation);
            let (least, greatest, sum) = (it.least, it.greatest, it.sum);
            table.row((
                op_type, unit, count, mean, deviation, least, first, median, third, greatest, sum, rank,
            ))?;
        }
        if options.exclude_op_name {
            return Ok(());
        }
        let mut table = output.table(&BY_NAME)?;
        for ([name, op_type, unit, shapes], it, rank) in &by_name {
            let (first, median, third) = (it.first_quartile, it.median, it.third_quartile);
            let (count, mean, deviation) = (it.count as i64, it.mean, it.deviation);
            let (least, greatest, sum) = (it.least, it.greatest, it.sum);
            table.row((
                name, op_type, unit, shapes, count, mean, deviation, least, first, median, third, greatest,
                sum, rank,
            ))?;
        }
        Ok(())
    })
}
