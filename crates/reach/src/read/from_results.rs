//! Ranks as the results of `msprof-analyze` have them, where nothing else is left.

use std::path::Path;

use rusqlite::Connection;

use super::Recording;
use super::from_database::{LINK_COLUMNS, STEP_COLUMNS, enter_link, enter_time, stated, time_columns};
use crate::database::{each_row_of, open, text, whole};
use crate::discover::{Collection, Results};
use crate::error::{Loss, LossReason};

/// Reads the rank's rows.
pub fn read(collection: &Collection, recording: &mut Recording, losses: &mut Vec<Loss>) {
    let Some(results) = &collection.outputs.results else { return };
    let mut unnumbered = 0;
    let done = open(&results.path).and_then(|database| {
        read_steps(&database, results, recording)?;
        read_times(&database, results, recording, &mut unnumbered)?;
        read_matrix(&database, results, recording)
    });
    let mut tell = |path: &Path, reason, count| {
        losses.push(Loss::new(Some(collection.rank), path.display().to_string(), reason, count));
    };
    if done.is_err() {
        tell(&results.path, LossReason::Damaged, 1);
    }
    if unnumbered > 0 {
        tell(&results.path, LossReason::Unnumbered, unnumbered);
    }
}

fn read_steps(database: &Connection, results: &Results, recording: &mut Recording) -> rusqlite::Result<()> {
    let columns = [&STEP_COLUMNS[..], &["type"]].concat();
    each_row_of(database, "ClusterStepTraceTime", &columns, &results.steps, |row| {
        let step = whole(row, 0).and_then(|step| i32::try_from(step).ok());
        if let Some(step) = step.filter(|_| text(row, STEP_COLUMNS.len()) == "rank") {
            recording.stated_step(step, stated(row));
        }
    })
}

fn read_times(
    database: &Connection,
    results: &Results,
    recording: &mut Recording,
    unnumbered: &mut u64,
) -> rusqlite::Result<()> {
    let columns = time_columns("elapsed_time");
    each_row_of(database, "ClusterCommunicationTime", &columns, &results.times, |row| {
        // The table's sums over all operations of a kind have no number.
        if !text(row, 0).starts_with("Total Op Info") {
            *unnumbered += u64::from(!enter_time(row, recording));
        }
    })
}

/// Reads the links from the rank; the table has each once, from one rank of the run to another.
fn read_matrix(database: &Connection, results: &Results, recording: &mut Recording) -> rusqlite::Result<()> {
    let place = |group_key, rank| {
        let members = results.groups.get(&group_key)?;
        members.iter().position(|member| *member == rank).map(|place| place as u32)
    };
    each_row_of(database, "ClusterCommunicationMatrix", &LINK_COLUMNS, &results.matrix, |row| {
        enter_link(row, recording, place);
    })
}
