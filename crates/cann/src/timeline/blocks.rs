//! The lanes of blocks: of each run of a task those that began first and last, on cube and on vector cores.

use crate::facts::view::{DeviceView, TaskRef, View};
use crate::tables::NO_CONTEXT;
use crate::timeline::samples::Counters;
use crate::timeline::wide::Tracks;

/// The lanes, those of each kind of core together.
const LANES: [&str; 4] = ["AIC Earliest", "AIC Latest", "AIV Earliest", "AIV Latest"];

/// Writes the blocks of a device's tasks.
pub(super) fn blocks(
    view: &View<'_>,
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    is_shown: impl Fn(i64) -> bool,
) {
    let (tables, joined) = (&device.device.tables, device.joined);
    let mut tracks: Vec<Tracks> =
        (1..).zip(LANES).map(|(lane, name)| Tracks::new(lane, name.to_owned())).collect();
    let place = view.devices.iter().position(|known| known.device.id == device.device.id);
    let runs = (0..tables.tasks.len()).filter(|run| device.shows(*run));
    for (run, kinds) in runs.filter_map(|run| Some((run, joined.blocks.get(&(run as u32))?))) {
        let task = tables.tasks.row(run);
        let place = TaskRef { device: place.unwrap_or(0) as u32, task: run as u32 };
        let name = format!("Stream {} {}", task.stream, name_of(view, place));
        for (kind, blocks) in kinds.iter().enumerate() {
            let Some(blocks) = blocks else { continue };
            for (place, row) in [blocks.first, blocks.last].into_iter().enumerate() {
                let block = tables.blocks.row(row as usize);
                let times = (device.time(block.start), device.time(block.end));
                if !is_shown(times.0) {
                    continue;
                }
                tracks[2 * kind + place].slice(counters, [&name, ""], times, |args| {
                    args.integer("Physic Stream Id", task.stream).integer("Task Id", task.task);
                    args.integer("Batch Id", task.batch).integer("Subtask Id", NO_CONTEXT);
                    args.integer("Core Id", block.core);
                });
            }
        }
    }
}

/// The operator of a task, or else its kind.
fn name_of<'a>(view: &'a View<'_>, task: TaskRef) -> &'a str {
    let host = view.host_task(task);
    host.and_then(|host| Some(view.op(&host)?.name)).unwrap_or_else(|| view.task_type(task))
}
