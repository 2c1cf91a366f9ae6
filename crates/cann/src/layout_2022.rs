//! The layout that results had in 2022: a file for each device, model and iteration.
//!
//! | place | files |
//! |---|---|
//! | `summary/` below the profile | what the host reported: `acl_statistic`, `api_statistic`, `msprof_tx`, … |
//! | `timeline/` below the profile | `msprof`, `acl`, `msprof_tx` |
//! | `summary/` below the device's directory | what the device executed: `op_summary`, `op_statistic`, … |
//! | `timeline/` below the device's directory | `task_time`, `step_trace` |
//!
//! A file is called `<kind>_<device>_<model>_<iteration>`; the model is left out where operators are
//! executed outside of one. In a `JOB*` directory, which is host and device in one, all lie together.
//! The rows of timelines have the names of that time, too: `MsprofTx`, `AscendCL`, `Task Scheduler`.

use std::path::{Path, PathBuf};

use opscope_files::{Batch, create_folder};

use crate::error::{Error, Result};
use crate::export::sheet::Sheet;
use crate::export::{api_statistic, each_sheet};
use crate::facts::view::View;
use crate::join::{Joined, JoinedDevice};
use crate::lane_choice::LaneChoice;
use crate::options::{ExportOptions, IterationRange};
use crate::tables::NO_MODEL;
use crate::text::file::not_written;
use crate::timeline::{Timeline, each_timeline};

/// The folder of tables below a profile's and a device's.
pub(crate) const TABLES: &str = "summary";

/// The folder of timelines below a profile's and a device's.
pub(crate) const TIMELINES: &str = "timeline";

/// One set of files: one iteration of one model on one device.
struct FileSet {
    device: u32,
    /// The device's directory, relative to that of the profile.
    directory: PathBuf,
    /// The shown iteration; `None` for all, where it isn't known where iterations begin and end.
    range: Option<IterationRange>,
    /// The end of the files' names.
    suffix: String,
}

/// Writes the tables below `root`.
pub(crate) fn summary(joined: &Joined, root: &Path, options: ExportOptions<'_>) -> Result<Vec<PathBuf>> {
    let (mut files, mut batch) = (Vec::new(), Batch::default());
    for set in file_sets(joined, options.iterations) {
        let view = View::of_device(joined, set.range, set.device);
        let own = set.create(root, TABLES)?;
        let of_host = create(root.join(TABLES))?;
        let mut save = |sheet: &Sheet<'_>| {
            let directory = if is_of_host(sheet.kind) { &of_host } else { &own };
            files.extend(sheet.save(&mut batch, directory, &set.suffix, options.format)?);
            Ok(())
        };
        if let Some(calls) = api_statistic::acl_sheet(&view) {
            save(&calls)?;
        }
        each_sheet(&view, options.format, &mut save)?;
    }
    batch.finish().map_err(not_written)?;
    Ok(files)
}

/// Writes the timelines below `root`.
pub(crate) fn timeline(joined: &Joined, root: &Path, options: ExportOptions<'_>) -> Result<Vec<PathBuf>> {
    let (mut files, mut batch) = (Vec::new(), Batch::default());
    for set in file_sets(joined, options.iterations) {
        let view = View::of_device(joined, set.range, set.device);
        let own = set.create(root, TIMELINES)?;
        let of_host = create(root.join(TIMELINES))?;
        // Lanes were not chosen then.
        let options = ExportOptions { lanes: LaneChoice::ALL, ..options };
        each_timeline(&view, options, |timeline, content| {
            let directory = match timeline {
                Timeline::Tasks | Timeline::Steps => &own,
                Timeline::Whole | Timeline::Calls | Timeline::Ranges => &of_host,
            };
            let path = directory.join(format!("{}_{}.json", timeline.name(), set.suffix));
            batch.write(&path, |out| content(out)).map_err(not_written)?;
            files.push(path);
            Ok(())
        })?;
    }
    batch.finish().map_err(not_written)?;
    Ok(files)
}

/// The iteration that is shown where none is chosen, with how many there are on that device; `None` where
/// it isn't known where iterations begin and end.
pub(crate) fn shown_of(joined: &Joined) -> Option<(IterationRange, u64)> {
    let devices = joined.data.profile.devices.iter().filter_map(|source| joined.devices.get(&source.id()));
    let with_model = devices.filter_map(|device| Some((device, first_model(device)?)));
    let counted = with_model.map(|(device, model)| {
        let count = device.iterations.model().iter().filter(|of| **of == model).count() as u64;
        (IterationRange { model, first: 1, count: 1 }, count)
    });
    counted.max_by_key(|(_, count)| *count)
}

/// Whether a table tells of the host alone.
fn is_of_host(kind: &str) -> bool {
    matches!(kind, "acl_statistic" | "api_statistic" | "msprof_tx" | "os_runtime_statistic")
        || kind.starts_with("host_")
}

fn create(directory: PathBuf) -> Result<PathBuf> {
    create_folder(&directory).map_err(Error::io("create the directory", &directory))?;
    Ok(directory)
}

impl FileSet {
    fn create(&self, root: &Path, kind: &str) -> Result<PathBuf> {
        create(root.join(&self.directory).join(kind))
    }
}

/// The sets of files: each chosen iteration, or the first of the first model, on each device.
fn file_sets(joined: &Joined, range: Option<IterationRange>) -> Vec<FileSet> {
    let mut sets = Vec::new();
    let profile = &joined.data.profile;
    for source in &profile.devices {
        let device = source.id();
        let Some(of_device) = joined.devices.get(&device) else { continue };
        let directory =
            source.path.strip_prefix(&profile.path).map_or_else(|_| source.name().into(), Path::to_owned);
        let mut push = |range: Option<IterationRange>, suffix: String| {
            sets.push(FileSet { device, directory: directory.clone(), range, suffix });
        };
        for range in chosen(of_device, range) {
            push(Some(range), format!("{device}_{}_{}", range.model, range.first));
        }
        if range.is_none() && first_model(of_device).is_none() {
            let model = joined.data.host.models.model().first();
            let suffix = model.map_or_else(|| format!("{device}_1"), |model| format!("{device}_{model}_1"));
            push(None, suffix);
        }
    }
    sets
}

/// The smallest number of a model of which the device recorded iterations.
fn first_model(device: &JoinedDevice) -> Option<u64> {
    device.iterations.model().iter().copied().filter(|model| *model != NO_MODEL).min()
}

/// The chosen iterations one by one, as far as the device recorded them.
fn chosen(device: &JoinedDevice, range: Option<IterationRange>) -> Vec<IterationRange> {
    let range = range.or_else(|| {
        let model = first_model(device)?;
        Some(IterationRange { model, first: 1, count: 1 })
    });
    let Some(range) = range else { return Vec::new() };
    let recorded = device.iterations.model().iter().filter(|model| **model == range.model).count() as u64;
    let last = range.first.saturating_add(range.count.max(1) - 1).min(recorded);
    (range.first.max(1)..=last).map(|first| IterationRange { first, count: 1, ..range }).collect()
}
