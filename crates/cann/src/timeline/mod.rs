//! The timeline: one Chrome trace with everything that was recorded, and smaller ones with a part.

pub(crate) mod device;
mod event;
mod host;
mod lanes;

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::export::ExportOptions;
use crate::export::msprof_tx::{DeviceMark, device_marks};
use crate::export::sheet::write_whole;
use crate::export::step_trace;
use crate::export::view::View;
use crate::join::Joined;
use crate::names::NumberMap;
use crate::parallel;
use crate::timeline::device::Tasks;
use crate::timeline::event::Events;
use crate::timeline::host::Calls;
use crate::timeline::lanes::{Lanes, Layer};

/// How many tasks or calls are put into text in one go.
const CHUNK: usize = 512;

/// Writes the timelines of a profile into a directory, which is created if need be: `msprof_*.json`
/// with everything, and where there is such data `step_trace_*.json` and `msprof_tx_*.json`.
/// Returns the files.
///
/// # Errors
/// If the directory can't be created or a file can't be written.
pub fn export_timeline(
    joined: &Joined,
    directory: &Path,
    suffix: &str,
    options: ExportOptions,
) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(directory).map_err(Error::io("create the directory", directory))?;
    let view = View::new(joined, options.iterations);
    let lanes = Lanes::new(view.dialect, joined.data.pid(), &shown_layers(&view));
    let steps = step_trace::steps(&view);
    let marks = device_marks(&view);
    let mut files = Vec::new();
    let mut small = |kind: &str, events: &Events| -> Result<()> {
        let path = directory.join(format!("{kind}_{suffix}.json"));
        save(&path, |out| out.write_all(events.text.get(1..).unwrap_or_default()))?;
        files.push(path);
        Ok(())
    };
    let (mut of_steps, mut of_tx) = (Events::default(), Events::default());
    if !steps.is_empty() {
        let mut alone = Events::default();
        device::steps(&view, &lanes, &steps, true, &mut alone);
        small("step_trace", &alone)?;
        device::steps(&view, &lanes, &view.shown_steps(steps), false, &mut of_steps);
    }
    if !joined.data.host.tx.is_empty() {
        small("msprof_tx", &own_ranges(&view, &lanes, &marks, true))?;
        of_tx = own_ranges(&view, &lanes, &marks, false);
    }

    let tasks = Tasks::new(&view);
    let calls = Calls::new(&view, tasks.launches(&view));
    let mut rest = Events::default();
    tasks.names(&view, &lanes, &mut rest);
    calls.names(&lanes, &mut rest);
    device::overlap(&view, &lanes, &view.op_tasks(), &mut rest);
    device::samples(&view, &lanes, &mut rest);
    let path = directory.join(format!("msprof_{suffix}.json"));
    save(&path, |out| {
        out.write_all(rest.text.get(1..).unwrap_or_default())?;
        out.write_all(&of_steps.text)?;
        out.write_all(&of_tx.text)?;
        write_all(out, tasks.tasks.len(), |index, events| tasks.write(&view, &lanes, index, events))?;
        write_all(out, calls.rows.len(), |index, events| calls.write(&view, &lanes, index, events))
    })?;
    files.push(path);
    Ok(files)
}

/// The program's own ranges and marks, with the devices' sides of marks.
fn own_ranges(view: &View<'_>, lanes: &Lanes, marks: &NumberMap<u64, DeviceMark>, all: bool) -> Events {
    let mut events = Events::default();
    host::name_ranges(view, lanes, &mut events);
    host::ranges(view, lanes, marks, all, &mut events);
    if !marks.is_empty() {
        device::name_devices(view, lanes, &mut events);
        device::marks(view, lanes, marks, all, &mut events);
    }
    events
}

/// Writes a file that is an array of events.
fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    write_whole(path, |out| {
        out.write_all(b"[")?;
        write(out)?;
        out.write_all(b"]")
    })
}

/// Writes many events on all cores, in their order.
fn write_all(
    out: &mut dyn Write,
    count: usize,
    write: impl Fn(usize, &mut Events) + Sync,
) -> std::io::Result<()> {
    let chunk = |number: usize| {
        let mut events = Events { text: Vec::with_capacity(CHUNK * 400) };
        for index in number * CHUNK..((number + 1) * CHUNK).min(count) {
            write(index, &mut events);
        }
        events.text
    };
    parallel::ordered(count.div_ceil(CHUNK), chunk, |text| out.write_all(&text))
}

/// The layers that have something to show, in the order in which the reference numbers them.
fn shown_layers(view: &View<'_>) -> Vec<Layer> {
    let has = |test: fn(&crate::tables::SampleTables) -> bool| {
        view.devices.iter().any(|device| test(&device.device.tables.samples))
    };
    let mut layers = vec![Layer::Program, Layer::Cann, Layer::Hardware, Layer::Frequency];
    layers.extend(has(|samples| !samples.hbm.is_empty()).then_some(Layer::Hbm));
    layers.extend(has(|samples| !samples.npu_memory.is_empty()).then_some(Layer::NpuMemory));
    layers.push(Layer::Overlap);
    layers
}
