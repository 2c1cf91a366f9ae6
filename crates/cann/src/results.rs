//! Writes a profile's tables and timelines, in today's layout or in that of 2022.

use std::path::{Path, PathBuf};

use opscope_files::{Batch, create_folder};

use crate::error::{Error, Result};
use crate::facts::view::View;
use crate::join::Joined;
use crate::options::{ExportLayout, ExportOptions, IterationRange};
use crate::text::file::not_written;
use crate::{export, layout_2022, timeline};

/// Writes the summary tables of a profile into a directory, which is created if need be, as
/// `<kind>_<suffix>.csv` or `.json`. Returns the files; a table without rows has none.
///
/// With [`ExportLayout::Classic`] the names are others and `suffix` isn't used.
///
/// # Errors
/// If the directory can't be created or a file can't be written.
pub fn export_summary(
    joined: &Joined,
    directory: &Path,
    suffix: &str,
    options: ExportOptions<'_>,
) -> Result<Vec<PathBuf>> {
    if options.layout == ExportLayout::Classic {
        return layout_2022::summary(joined, directory, options);
    }
    create(directory)?;
    let (mut files, mut batch) = (Vec::new(), Batch::default());
    export::each_sheet(&View::new(joined, options.iterations), options.format, &mut |sheet| {
        files.extend(sheet.save(&mut batch, directory, suffix, options.format)?);
        Ok(())
    })?;
    batch.finish().map_err(not_written)?;
    Ok(files)
}

/// Writes the timelines of a profile into a directory, which is created if need be: `msprof_*.json`
/// with everything, and where there is such data `step_trace_*.json` and `msprof_tx_*.json`.
/// Returns the files.
///
/// A timeline larger than [`ExportOptions::timeline_bytes`] is divided by time into
/// `msprof_slice_0_*.json` and so on.
///
/// With [`ExportLayout::Classic`] there are more files, their names are others, and `suffix` isn't
/// used.
///
/// # Errors
/// If the directory can't be created or a file can't be written.
pub fn export_timeline(
    joined: &Joined,
    directory: &Path,
    suffix: &str,
    options: ExportOptions<'_>,
) -> Result<Vec<PathBuf>> {
    if options.layout == ExportLayout::Classic {
        return layout_2022::timeline(joined, directory, options);
    }
    create(directory)?;
    timeline::save_in(&View::new(joined, options.iterations), directory, suffix, options)
}

/// The iteration that [`ExportLayout::Classic`] shows where none is chosen, and how many of that model were
/// recorded; `None` where it isn't known where iterations begin and end, and all is shown.
pub fn classic_iteration(joined: &Joined) -> Option<(IterationRange, u64)> {
    layout_2022::shown_of(joined)
}

fn create(directory: &Path) -> Result<()> {
    create_folder(directory).map_err(Error::io("create the directory", directory))
}
