//! The tables of a rank as text, of a rank that was collected as a database: `export_summary`.

mod calls;
mod kernels;

use std::io;
use std::path::Path;

use opscope_reach::Collection;

use crate::copies::Destination;
use crate::error::PeerError;
use crate::ranks::{File, Ranks};

use calls::Calls;
use kernels::Kernels;

/// Writes the tables of all ranks beside their databases, `api_statistic.csv` and `kernel_details.csv`; returns
/// whether there was anything to write. Those that ranks have themselves stay as they are.
///
/// # Errors
/// When a table can't be written.
pub fn write(ranks: &Ranks, destination: &Destination) -> Result<bool, PeerError> {
    let mut any = false;
    ranks.each(
        |collection| of_rank(ranks, collection, destination),
        |_, written| {
            any |= written?;
            Ok::<_, PeerError>(())
        },
    )?;
    Ok(any)
}

fn of_rank(ranks: &Ranks, collection: &Collection, destination: &Destination) -> Result<bool, PeerError> {
    let Some(database) = &collection.outputs.database else { return Ok(false) };
    let (mut calls, mut kernels) = (Calls::default(), Kernels::default());
    ranks.read(collection, File::Profile, |database| calls.read(database).and(kernels.read(database)));
    if !calls.is_empty() {
        write_table(&database.with_file_name("api_statistic.csv"), destination, |table| calls.write(table))?;
    }
    if !kernels.is_empty() {
        write_table(&database.with_file_name("kernel_details.csv"), destination, |table| {
            kernels.write(table)
        })?;
    }
    Ok(!calls.is_empty() || !kernels.is_empty())
}

/// A table that is being written.
type Table<'w> = csv::Writer<&'w mut (dyn io::Write + Send)>;

/// Writes a table of a rank, unless the rank has it.
fn write_table(
    path: &Path,
    destination: &Destination,
    fill: impl FnOnce(&mut Table<'_>) -> csv::Result<()>,
) -> Result<(), PeerError> {
    let path = destination.of(path)?;
    if matches!(destination, Destination::Ranks) && path.exists() {
        return Ok(());
    }
    opscope_files::write_atomically(&path, |file| {
        let mut table = csv::Writer::from_writer(file);
        fill(&mut table).map_err(io::Error::from)?;
        table.flush()
    })
    .map_err(|source| PeerError::Write { path: path.clone(), source })
}
