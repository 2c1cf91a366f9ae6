//! The vendor's unified database, `msprof_<time>.db`: a SQLite file with everything in tables.
//!
//! Texts stand in one table, `STRING_IDS`, and tasks are named by a number for each combination of
//! device, stream, task, context and batch; the reference gives both kinds of numbers in an order
//! that changes from run to run, we in the order in which things are written. A file for each group
//! of tables says what is in them; [`schema`] declares them all.

mod calls;
mod ccu;
mod communication;
mod core_samples;
mod counters;
mod details;
mod dpu;
mod enums;
mod host_usage;
mod ids;
mod links;
mod marks;
mod output;
mod overlap;
mod samples;
pub(crate) mod schema;
pub(crate) mod session;
mod strings;
mod tasks;
mod traffic;

use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use opscope_cann_raw::Chip;

use crate::database::ccu::CcuSpans;
use crate::database::core_samples::CoreSamples;
use crate::database::counters::Values;
use crate::database::dpu::DpuSpans;
use crate::database::ids::TaskIds;
use crate::database::links::LinkSamples;
use crate::database::output::Output;
use crate::database::strings::Strings;
use crate::error::{Error, Result};
use crate::facts::collectives::Collectives;
use crate::facts::view::View;
use crate::join::Joined;
use crate::text::file::write_whole;
use opscope_formats::sqlite_file::SqliteWriter;

/// Writes the unified database of a profile into a directory, which is created if need be, as
/// `msprof_<suffix>.db`. Returns the file; `None` for chips of which the vendor makes no database.
///
/// The database always has the whole run.
///
/// # Errors
/// If the directory can't be created or the file can't be written.
pub fn export_database(joined: &Joined, directory: &Path, suffix: &str) -> Result<Option<PathBuf>> {
    if !has_database(joined.data.chip()) {
        return Ok(None);
    }
    opscope_files::create_folder(directory).map_err(Error::io("create the directory", directory))?;
    let path = directory.join(format!("msprof_{suffix}.db"));
    let view = View::new(joined, None);
    write_whole(&path, |out| write(&view, out))?;
    Ok(Some(path))
}

/// Whether the vendor makes a unified database of a chip's profiles.
fn has_database(chip: Chip) -> bool {
    !matches!(chip, Chip::V1_1_0 | Chip::V1_1_2 | Chip::V1_1_3 | Chip::V5_1_0)
}

/// Writes the whole database.
fn write<W: Write + Seek + Send>(view: &View<'_>, out: W) -> io::Result<()> {
    let mut ids = TaskIds::new(view.joined.host_tasks.len());
    let mut strings = Strings::default();
    // The reference has these in every database.
    strings.add("release");
    strings.add("allocate");
    let tasks = tasks::executed(view, &mut ids, &mut strings);
    let ops = tasks::ops(view, &mut ids, &mut strings);
    let marks = marks::on_devices(view, &mut ids);
    let copies = tasks::copies(view, &mut ids);
    let collectives = Collectives::new(view);
    let step_ids = communication::step_ids(view, &collectives, &mut ids);
    let ccu = CcuSpans::of_all(view, &mut ids);
    let dpu = DpuSpans::of_all(view, &mut ids);
    // The numbers are given; what they were given by takes room.
    drop(ids);
    let values = Values::of_all(view, &tasks);
    let core_samples = CoreSamples::of_all(view);
    let link_samples = LinkSamples::of_all(view);

    let mut out = Output { writer: SqliteWriter::new(out)?, strings };
    session::write(view, &mut out)?;
    calls::write(view, &mut out)?;
    tasks::write(view, &tasks, &marks, &mut out)?;
    tasks::write_ops(view, &ops, &mut out)?;
    communication::write(view, &collectives, &step_ids, &mut out)?;
    counters::write(&values, &mut out)?;
    core_samples.write(&mut out)?;
    tasks::write_copies(&copies, &mut out)?;
    marks::write(view, &mut out)?;
    overlap::write(view, &collectives, &mut out)?;
    samples::write(view, &mut out)?;
    traffic::write(view, &mut out)?;
    link_samples.write(view, &mut out)?;
    ccu.write(&mut out)?;
    dpu.write(&mut out)?;
    host_usage::write(view, &mut out)?;
    calls::write_os_calls(view, &mut out)?;
    let texts = out.strings.texts().to_vec();
    out.table(&schema::STRING_IDS, texts.len(), |index, row| {
        row.key(index as i64);
        row.text(texts[index]);
    })?;
    out.writer.finish()
}
