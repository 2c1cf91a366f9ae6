//! Ranks as the results of `msprof-analyze` have them, where nothing else is left.

use std::collections::BTreeSet;

use super::Recording;
use super::from_database::{LINK_COLUMNS, STEP_COLUMNS, enter_link, enter_time, stated, time_columns};
use crate::database::{Database, each_row_of, open, text, whole};
use crate::discover::{Collection, OfRank, Results, Rows};
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveType, LinkRow};

/// Reads the rank's part. These files are the last ones: the links' kinds are set right behind them.
pub fn read(collection: &Collection, recording: &mut Recording, losses: &mut Vec<Loss>) {
    read_part(collection, recording, losses);
    name_shortened_kinds(recording);
}

/// Gives links of `reduce` the kind `reduceScatter` where the rank's group has collectives of that kind and none of
/// the other: the vendor's matrix calls both `reduce-total`.
fn name_shortened_kinds(recording: &mut Recording) {
    let kinds: BTreeSet<(u64, CollectiveType)> =
        recording.collectives.iter().map(|row| (row.group_key, row.kind)).collect();
    for link in recording.links.iter_mut().filter(|link| link.kind == CollectiveType::Reduce) {
        let has = |kind| kinds.contains(&(link.group_key, kind));
        if has(CollectiveType::ReduceScatter) && !has(CollectiveType::Reduce) {
            link.kind = CollectiveType::ReduceScatter;
        }
    }
}

fn read_part(collection: &Collection, recording: &mut Recording, losses: &mut Vec<Loss>) {
    let Some(results) = &collection.outputs.results else { return };
    match &results.of_rank {
        OfRank::Rows(rows) => {
            let done = open(&results.path).and_then(|database| {
                read_steps(&database, rows, recording)?;
                read_times(&database, rows, recording)?;
                read_matrix(&database, results, rows, recording)
            });
            losses.extend(done.err().map(|error| {
                let source = results.path.display().to_string();
                Loss::new(Some(collection.rank), source, LossReason::Damaged, 1).because(error)
            }));
        }
        OfRank::Recorded(recorded) => {
            let mut recorded = Recording::clone(recorded);
            recorded.links.retain_mut(|link| is_placed(results, link));
            *recording = recorded;
        }
    }
}

/// The place of a rank in a group.
fn place(results: &Results, group_key: u64, rank: u32) -> Option<u32> {
    let members = results.groups.get(&group_key)?;
    members.iter().position(|member| *member == rank).map(|place| place as u32)
}

/// Turns the ranks of a link into places in its group; false where a side has none.
fn is_placed(results: &Results, link: &mut LinkRow) -> bool {
    let places = [link.src, link.dst].map(|rank| place(results, link.group_key, rank));
    if let [Some(src), Some(dst)] = places {
        (link.src, link.dst) = (src, dst);
    }
    places.iter().all(Option::is_some)
}

fn read_steps(database: &Database, rows: &Rows, recording: &mut Recording) -> rusqlite::Result<()> {
    let columns = [&STEP_COLUMNS[..], &["type"]].concat();
    each_row_of(database, "ClusterStepTraceTime", &columns, &rows.steps, |row| {
        let step = whole(row, 0).and_then(|step| i32::try_from(step).ok());
        if let Some(step) = step.filter(|_| text(row, STEP_COLUMNS.len()) == "rank") {
            recording.stated_step(step, stated(row));
        }
    })
}

fn read_times(database: &Database, rows: &Rows, recording: &mut Recording) -> rusqlite::Result<()> {
    let columns = time_columns("elapsed_time");
    each_row_of(database, "ClusterCommunicationTime", &columns, &rows.times, |row| {
        // The table's sums over all operations of a kind have no number.
        if !text(row, 0).starts_with("Total Op Info") {
            enter_time(row, recording);
        }
    })
}

/// Reads the links from the rank; the table has each once, from one rank of the run to another.
fn read_matrix(
    database: &Database,
    results: &Results,
    rows: &Rows,
    recording: &mut Recording,
) -> rusqlite::Result<()> {
    each_row_of(database, "ClusterCommunicationMatrix", &LINK_COLUMNS, &rows.matrix, |row| {
        enter_link(row, recording, |group_key, rank| place(results, group_key, rank));
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Transport;

    #[test]
    fn links_of_reduce_are_those_of_reduce_scatter_where_the_group_has_no_reduce() {
        let link = |group_key| LinkRow {
            group_key,
            kind: CollectiveType::of_name("reduce"),
            step: 1,
            src: 0,
            dst: 1,
            transport: Transport::of_word("HCCS"),
            bytes: 1.0,
            time_ns: 1.0,
        };
        let mut recording = Recording { links: vec![link(1), link(2), link(3)], ..Recording::default() };
        recording.collective("hcom_reduceScatter__097_5_1", 1, 1, 10, 10);
        recording.collective("hcom_reduceScatter__098_5_1", 2, 1, 10, 10);
        recording.collective("hcom_reduce__098_6_1", 2, 1, 30, 10);
        recording.collective("hcom_allReduce__099_6_1", 3, 1, 50, 10);
        name_shortened_kinds(&mut recording);
        let kinds: Vec<CollectiveType> = recording.links.iter().map(|link| link.kind).collect();
        let reduce = CollectiveType::Reduce;
        assert_eq!(kinds, [CollectiveType::ReduceScatter, reduce, reduce]);
    }
}
