//! Statistics of collectives: `hccl_sum`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use opscope_reach::{Collection, group_key};

use crate::Options;
use crate::error::PeerError;
use crate::numbers::Description;
use crate::profile::{Collectives, LaunchLookup, wanted};
use crate::ranks::{File, Ranks};
use crate::table::{Insert, Kind, Output, Table, described};

/// How many operators are listed where nothing else was asked for.
const TOP: usize = 15;

const ALL: Table =
    Table { name: "HcclAllRankStats", columns: described!([("OpType", Kind::Text)], []), index: &["OpType"] };

const BY_RANK: Table = Table {
    name: "HcclPerRankStats",
    columns: described!([("OpType", Kind::Text)], [("Rank", Kind::Integer)]),
    index: &["OpType"],
};

const LONGEST: Table = Table {
    name: "HcclTopOpStats",
    columns: described!([("OpName", Kind::Text)], [("MinRank", Kind::Integer), ("MaxRank", Kind::Integer)]),
    index: &["OpName"],
};

const GROUPS: Table = Table {
    name: "HcclGroupNameMap",
    columns: &[("GroupName", Kind::Text), ("GroupId", Kind::Text), ("Ranks", Kind::Text)],
    index: &["GroupName"],
};

/// The durations of an operator on all ranks, and the ranks of the shortest and of the longest.
struct Operator {
    durations: Vec<i64>,
    shortest: (i64, u32),
    longest: (i64, u32),
}

#[derive(Default)]
struct Found {
    by_kind: BTreeMap<String, Vec<i64>>,
    by_rank: Vec<(String, u32, Description)>,
    by_name: BTreeMap<String, Operator>,
    groups: BTreeMap<String, BTreeSet<u32>>,
}

impl Found {
    fn add(&mut self, rank: u32, collectives: &Collectives) {
        let mut by_kind: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for row in &collectives.rows {
            let text = |number| collectives.names.text(number);
            let duration = row.span.end.saturating_sub(row.span.start);
            by_kind.entry(text(row.kind)).or_default().push(duration);
            self.groups.entry(text(row.group).to_owned()).or_default().insert(rank);
            match self.by_name.get_mut(text(row.name)) {
                Some(operator) => {
                    operator.durations.push(duration);
                    if duration < operator.shortest.0 {
                        operator.shortest = (duration, rank);
                    }
                    if duration > operator.longest.0 {
                        operator.longest = (duration, rank);
                    }
                }
                None => {
                    let (shortest, longest) = ((duration, rank), (duration, rank));
                    let operator = Operator { durations: vec![duration], shortest, longest };
                    self.by_name.insert(text(row.name).to_owned(), operator);
                }
            }
        }
        for (kind, mut durations) in by_kind {
            if let Some(description) = Description::of(&mut durations) {
                self.by_rank.push((kind.to_owned(), rank, description));
            }
            self.by_kind.entry(kind.to_owned()).or_default().append(&mut durations);
        }
    }
}

/// Writes the tables.
///
/// # Errors
/// When the result can't be written.
pub fn sum(ranks: &Ranks, options: &Options, path: &Path) -> Result<(), PeerError> {
    let mut found = Found::default();
    let read = |collection: &Collection| {
        let mut collectives = Collectives::default();
        ranks.read(collection, File::Profile, |database| match wanted(database, options.step)? {
            Some(span) => collectives.read(database, span, LaunchLookup::Skipped),
            None => Ok(()),
        });
        collectives
    };
    let Ok(()) = ranks.each(read, |collection, collectives| {
        found.add(collection.rank, &collectives);
        Ok::<_, std::convert::Infallible>(())
    });
    Output::write(path, |output| write(found, options.top.unwrap_or(TOP), output))
}

fn write(found: Found, top: usize, output: &Output) -> rusqlite::Result<()> {
    let mut table = output.table(&ALL)?;
    for (kind, mut durations) in found.by_kind {
        if let Some(it) = Description::of(&mut durations) {
            insert(&mut table, &kind, &it)?;
        }
    }
    let mut table = output.table(&BY_RANK)?;
    for (kind, rank, it) in &found.by_rank {
        let Description { count, mean, deviation, least, first_quartile, median, third_quartile, .. } = *it;
        let quartiles = (first_quartile, median, third_quartile);
        let (first, median, third) = quartiles;
        table.row((
            kind,
            count as i64,
            mean,
            deviation,
            least,
            first,
            median,
            third,
            it.greatest,
            it.sum,
            rank,
        ))?;
    }
    let mut operators: Vec<(String, Description, u32, u32)> = Vec::new();
    for (name, mut operator) in found.by_name {
        if let Some(description) = Description::of(&mut operator.durations) {
            operators.push((name, description, operator.shortest.1, operator.longest.1));
        }
    }
    operators.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean).then_with(|| a.0.cmp(&b.0)));
    let mut table = output.table(&LONGEST)?;
    for (name, it, shortest, longest) in operators.iter().take(top) {
        let (count, mean, deviation, least) = (it.count as i64, it.mean, it.deviation, it.least);
        let (first, median, third) = (it.first_quartile, it.median, it.third_quartile);
        let ranks = (shortest, longest);
        let (shortest, longest) = ranks;
        let (greatest, sum) = (it.greatest, it.sum);
        table.row((
            name, count, mean, deviation, least, first, median, third, greatest, sum, shortest, longest,
        ))?;
    }
    let mut groups: Vec<(String, String, String)> = Vec::new();
    for (name, ranks) in found.groups {
        let hash = group_key(&name).to_string();
        let last = hash.get(hash.len().saturating_sub(3)..).unwrap_or_default().to_owned();
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        groups.push((last, name, ranks.join(";")));
    }
    groups.sort();
    let mut table = output.table(&GROUPS)?;
    groups.iter().try_for_each(|(last, name, ranks)| table.row((name, last, ranks)))
}

fn insert(table: &mut Insert<'_>, name: &str, it: &Description) -> rusqlite::Result<()> {
    let (first, median, third) = (it.first_quartile, it.median, it.third_quartile);
    table.row((
        name,
        it.count as i64,
        it.mean,
        it.deviation,
        it.least,
        first,
        median,
        third,
        it.greatest,
        it.sum,
    ))
}
