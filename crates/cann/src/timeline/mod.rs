//! The timeline: one Chrome trace with everything that was recorded, and smaller ones with a part.

mod blocks;
mod cache_events;
mod communication;
pub(crate) mod device;
mod division;
mod dpu;
mod event;
mod host;
pub(crate) mod lanes;
mod links;
mod monitors;
mod os_calls;
mod other_recorders;
mod overlap;
mod phases;
mod read;
pub(crate) mod samples;
mod tracked_copies;
mod training;
mod wide;

pub use read::AscendTimeline;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use opscope_files::{Batch, Draft};

use crate::error::{Error, Result};
use crate::facts::collectives::Collectives;
use crate::facts::marks::{DeviceMark, device_marks};
use crate::facts::steps::{self, shown_steps};
use crate::facts::view::View;
use crate::lane_choice::{LaneChoice, Layer};
use crate::options::{ExportLayout, ExportOptions};
use crate::parallel;
use crate::text::file::not_written;
use crate::timeline::device::Tasks;
use crate::timeline::dpu::write_dpu;
use crate::timeline::event::{Events, write_all};
use crate::timeline::host::Calls;
use crate::timeline::lanes::Lanes;
use crate::timeline::os_calls::write_os_calls;
use crate::timeline::other_recorders::write_other_recorders;
use crate::timeline::overlap::Overlap;
use crate::timeline::phases::write_phases;
use crate::timeline::tracked_copies::write_track_copies;
use opscope_trace::NumberMap;

/// A file of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeline {
    /// Everything.
    Whole,
    /// The inferences that devices recorded.
    Steps,
    /// The program's own ranges and marks.
    Ranges,
    /// Calls of the host's libraries.
    Calls,
    /// Tasks of devices.
    Tasks,
}

impl Timeline {
    /// The files that are written today, in this order.
    pub(crate) const CURRENT: [Self; 3] = [Self::Steps, Self::Ranges, Self::Whole];
    /// The files that were written in 2022.
    pub(crate) const CLASSIC: [Self; 5] = [Self::Steps, Self::Ranges, Self::Calls, Self::Tasks, Self::Whole];

    /// The begin of the file's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whole => "msprof",
            Self::Steps => "step_trace",
            Self::Ranges => "msprof_tx",
            Self::Calls => "acl",
            Self::Tasks => "task_time",
        }
    }
}

/// Writes the timelines in today's layout into a directory; a whole one that is larger than
/// [`ExportOptions::timeline_bytes`] in parts. Returns the files.
pub(crate) fn save_in(
    view: &View<'_>,
    directory: &Path,
    suffix: &str,
    options: ExportOptions<'_>,
) -> Result<Vec<PathBuf>> {
    let whole = directory.join(format!("{}_{suffix}.json", Timeline::Whole.name()));
    let (mut files, mut batch, mut undivided) = (Vec::new(), Batch::default(), None);
    each_timeline(view, options, |timeline, content| {
        // A timeline that is to be divided is only seen in its parts.
        if timeline == Timeline::Whole && options.timeline_bytes.is_some() {
            undivided = Some(draft_in(directory, content).map_err(Error::io("write the file", &whole))?);
            return Ok(());
        }
        let path = directory.join(format!("{}_{suffix}.json", timeline.name()));
        batch.write(&path, |out| content(out)).map_err(not_written)?;
        files.push(path);
        Ok(())
    })?;
    if let (Some(draft), Some(limit)) = (undivided, options.timeline_bytes) {
        let part = |number: usize| {
            directory.join(format!("{}_slice_{number}_{suffix}.json", Timeline::Whole.name()))
        };
        let parts = division::divide(draft.path(), &whole, limit, &mut batch, part)?;
        if parts.is_empty() {
            batch.add(draft, &whole).map_err(not_written)?;
            files.push(whole);
        }
        files.extend(parts);
    }
    batch.finish().map_err(not_written)?;
    Ok(files)
}

fn draft_in(directory: &Path, content: WriteContent<'_>) -> std::io::Result<Draft> {
    let mut out = BufWriter::with_capacity(1 << 16, Draft::new(directory)?);
    content(&mut out)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)
}

/// Writes the content of a file.
type WriteContent<'c> = &'c mut dyn FnMut(&mut (dyn Write + Send)) -> std::io::Result<()>;

/// Hands the content of each file of a layout of which there is data to `save`.
pub(crate) fn each_timeline(
    view: &View<'_>,
    options: ExportOptions<'_>,
    mut save: impl FnMut(Timeline, WriteContent<'_>) -> Result<()>,
) -> Result<()> {
    let ExportOptions { layout, lanes: choice, other_recorders, .. } = options;
    let joined = view.joined;
    let wanted = match layout {
        ExportLayout::Current => &Timeline::CURRENT[..],
        ExportLayout::Classic => &Timeline::CLASSIC[..],
    };
    let lanes = Lanes::new(view.dialect, joined.data.pid(), joined.data.chip(), &shown_layers(view, choice));
    let lanes = match layout {
        ExportLayout::Current => lanes,
        ExportLayout::Classic => lanes.with_names_of_2022(),
    };
    let mut steps = steps::steps(view);
    let marks = device_marks(view);
    let collectives = Collectives::new(view);
    let shows_overlap = choice.shows(Layer::Overlap) && wanted.contains(&Timeline::Whole);
    let ((tasks, launches), (calls, overlap)) = parallel::join(
        || {
            let tasks = Tasks::new(view);
            let launches = tasks.launches(view);
            (tasks, launches)
        },
        || (Calls::new(view, &lanes), shows_overlap.then(|| Overlap::new(view, &collectives))),
    );
    let has_ranges = !joined.data.host.tx.is_empty();
    for &timeline in wanted {
        let exists = match timeline {
            Timeline::Whole => true,
            Timeline::Steps => !steps.is_empty(),
            Timeline::Ranges => has_ranges,
            Timeline::Calls => !calls.rows.is_empty(),
            Timeline::Tasks => !tasks.tasks.is_empty(),
        };
        if !exists {
            continue;
        }
        let mut small = Events::default();
        match timeline {
            Timeline::Steps => device::steps(view, &lanes, &steps, true, &mut small),
            Timeline::Ranges => small = own_ranges(view, &lanes, Some(&marks), true),
            Timeline::Calls => calls.names(&lanes, &mut small),
            Timeline::Tasks => {
                tasks.names(view, &lanes, &mut small);
                write_track_copies(view, &lanes, &mut small);
                write_phases(view, &lanes, &tasks, &mut small);
            }
            Timeline::Whole => {
                if choice.shows(Layer::Hardware) {
                    tasks.names(view, &lanes, &mut small);
                    write_track_copies(view, &lanes, &mut small);
                    write_phases(view, &lanes, &tasks, &mut small);
                }
                if choice.shows(Layer::Cann) {
                    calls.names(&lanes, &mut small);
                }
                if choice.shows(Layer::Communication) && !collectives.is_empty() {
                    communication::communication(view, &collectives, &lanes, &mut small);
                }
                overlap.iter().for_each(|overlap| overlap.names(&lanes, &mut small));
                samples::samples(view, &lanes, &mut small);
                write_os_calls(view, &lanes, &mut small);
                write_dpu(view, &lanes, &mut small);
                if let Some(trace) = other_recorders {
                    write_other_recorders(trace, view, &lanes, &mut small);
                }
                if !steps.is_empty() && choice.shows_steps() {
                    // This timeline is the last.
                    let shown = shown_steps(view, std::mem::take(&mut steps));
                    device::steps(view, &lanes, &shown, false, &mut small);
                }
                if has_ranges && choice.shows(Layer::Program) {
                    let marks = choice.shows_marks().then_some(&marks);
                    small.append(own_ranges(view, &lanes, marks, false));
                }
            }
        }
        save(timeline, &mut |out| {
            out.write_all(b"[")?;
            small.write_first(out)?;
            let shows = |layer| timeline == Timeline::Whole && choice.shows(layer);
            if timeline == Timeline::Tasks || shows(Layer::Hardware) {
                write_all(out, tasks.tasks.len(), |i, events| tasks.write(view, &lanes, i, events))?;
            }
            if timeline == Timeline::Calls || shows(Layer::Cann) {
                write_all(out, calls.rows.len(), |i, events| {
                    calls.write(view, &lanes, &launches, i, events);
                })?;
            }
            if let Some(overlap) = overlap.as_ref().filter(|_| timeline == Timeline::Whole) {
                overlap.write(&lanes, out)?;
            }
            out.write_all(b"]")
        })?;
    }
    Ok(())
}

/// The program's own ranges and marks; with `marks`, the devices' sides of them and arrows there.
fn own_ranges(
    view: &View<'_>,
    lanes: &Lanes,
    marks: Option<&NumberMap<u64, DeviceMark>>,
    all: bool,
) -> Events {
    let mut events = Events::default();
    host::name_ranges(view, lanes, &mut events);
    host::ranges(view, lanes, marks.is_some(), all, &mut events);
    if let Some(marks) = marks.filter(|marks| !marks.is_empty()) {
        device::name_devices(view, lanes, &mut events);
        device::marks(view, lanes, marks, all, &mut events);
    }
    events
}

/// The layers that have something to show, in the order in which the reference numbers them.
fn shown_layers(view: &View<'_>, choice: LaneChoice) -> Vec<Layer> {
    let mut layers = vec![Layer::Program, Layer::Cann, Layer::Hardware, Layer::Communication];
    layers.extend(samples::layers(view).into_iter().filter(|layer| choice.shows(*layer)));
    layers.extend([Layer::Overlap, Layer::OtherRecorders]);
    layers
}
