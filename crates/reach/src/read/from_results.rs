//! Ranks as the results of `msprof-analyze` have them, where nothing else is left.

use std::path::Path;

use rusqlite::Connection;

use super::Recording;
use super::from_database::{STEP_COLUMNS, stated, step_number};
use crate::database::{each_row_of, number, open, text, whole};
use crate::discover::{Collection, Results, key_of_text};
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveType, LinkRow, Transport};

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
    let columns = ["hccl_op_name", "group_name", "start_timestamp", "elapsed_time", "step"];
    each_row_of(database, "ClusterCommunicationTime", &columns, &results.times, |row| {
        let (Some(start), Some(elapsed)) = (number(row, 2), number(row, 3)) else { return };
        // The tables' sums over all operations of a kind.
        if text(row, 0).starts_with("Total Op Info") {
            return;
        }
        let key = key_of_text(text(row, 1));
        let (start, duration) = ((start * 1e3) as i64, (elapsed * 1e6) as i64);
        if !recording.collective(text(row, 0), key, step_number(text(row, 4)), start, duration) {
            *unnumbered += 1;
        }
    })
}

/// Reads what the rank sent; the table has each link once, from one rank of the run to another.
fn read_matrix(database: &Connection, results: &Results, recording: &mut Recording) -> rusqlite::Result<()> {
    let columns = [
        "hccl_op_name",
        "group_name",
        "src_rank",
        "dst_rank",
        "transport_type",
        "transit_size",
        "transit_time",
        "step",
    ];
    each_row_of(database, "ClusterCommunicationMatrix", &columns, &results.matrix, |row| {
        let Some(kind) = text(row, 0).strip_suffix("-total") else { return };
        let group_key = key_of_text(text(row, 1));
        let Some(members) = results.groups.get(&group_key) else { return };
        let place = |column| {
            let rank = whole(row, column).and_then(|it| u32::try_from(it).ok())?;
            members.iter().position(|member| *member == rank).map(|place| place as u32)
        };
        let (Some(src), Some(dst)) = (place(2), place(3)) else { return };
        recording.links.push(LinkRow {
            group_key,
            kind: CollectiveType::of_name(kind),
            step: step_number(text(row, 7)),
            src,
            dst,
            transport: Transport::of_word(text(row, 4)),
            bytes: number(row, 5).unwrap_or(0.0) * 1e6,
            time_ns: number(row, 6).unwrap_or(0.0) * 1e6,
        });
    })
}
