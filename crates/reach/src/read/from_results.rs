//! Ranks as the results of `msprof-analyze` have them, where nothing else is left.

use rusqlite::Connection;

use super::Recording;
use super::from_database::{LINK_COLUMNS, STEP_COLUMNS, enter_link, enter_time, stated, time_columns};
use crate::database::{each_row_of, open, text, whole};
use crate::discover::{Collection, OfRank, Results, Rows};
use crate::error::{Loss, LossReason};
use crate::rows::LinkRow;

/// Reads the rank's part.
pub fn read(collection: &Collection, recording: &mut Recording, losses: &mut Vec<Loss>) {
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

fn read_steps(database: &Connection, rows: &Rows, recording: &mut Recording) -> rusqlite::Result<()> {
    let columns = [&STEP_COLUMNS[..], &["type"]].concat();
    each_row_of(database, "ClusterStepTraceTime", &columns, &rows.steps, |row| {
        let step = whole(row, 0).and_then(|step| i32::try_from(step).ok());
        if let Some(step) = step.filter(|_| text(row, STEP_COLUMNS.len()) == "rank") {
            recording.stated_step(step, stated(row));
        }
    })
}

fn read_times(database: &Connection, rows: &Rows, recording: &mut Recording) -> rusqlite::Result<()> {
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
    database: &Connection,
    results: &Results,
    rows: &Rows,
    recording: &mut Recording,
) -> rusqlite::Result<()> {
    each_row_of(database, "ClusterCommunicationMatrix", &LINK_COLUMNS, &rows.matrix, |row| {
        enter_link(row, recording, |group_key, rank| place(results, group_key, rank));
    })
}
