//! Lanes of chips 15 and 16: instructions of cores, the units for collective communication, parts of fused tasks.

use std::collections::BTreeMap;

use opscope_trace::LanePacker;

use crate::facts::ccu::{CcuSpan, CcuWork, ccu_spans, host_streams};
use crate::facts::view::{DeviceView, View};
use crate::kinds::device_name;
use crate::tables::{FusedPart, INSTRUCTION_CORES, INSTRUCTION_UNITS, Instruction, TaskLog};
use crate::timeline::event::Args;
use crate::timeline::host::NEXT_TRACK;
use crate::timeline::lanes::{name_lane, seen};
use crate::timeline::samples::Counters;

/// Spreads slices over lanes of one name, so that none overlaps another.
pub(super) struct Tracks {
    first: u64,
    name: String,
    packer: LanePacker<i64>,
}

impl Tracks {
    pub(super) fn new(first: u64, name: String) -> Self {
        Self { first, name, packer: LanePacker::default() }
    }

    pub(super) fn slice(
        &mut self,
        counters: &mut Counters<'_>,
        name: [&str; 2],
        (start, end): (i64, i64),
        args: impl FnOnce(&mut Args<'_>),
    ) {
        let (known, track) = (self.packer.count(), self.packer.place(seen(start, end)));
        let lane = counters.lane(self.first + track as u64 * NEXT_TRACK);
        if track == known {
            name_lane(counters.events(), lane, &self.name, self.first);
        }
        counters.events().slice(name, lane, start, end.saturating_sub(start), None, args);
    }
}

/// Writes what cores executed, by group and core.
pub(super) fn instructions(
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    is_shown: impl Fn(i64) -> bool,
) {
    let offset = device.device.clock.offset();
    let mut cores: BTreeMap<(u16, u8), Vec<Instruction>> = BTreeMap::new();
    for row in device.device.tables.instructions.rows() {
        cores.entry((row.group, row.core)).or_default().push(row);
    }
    for (number, ((group, core), mut rows)) in (0..).zip(cores) {
        let core = INSTRUCTION_CORES.get(usize::from(core)).copied().unwrap_or_default();
        let mut tracks = Tracks::new(number, format!("Group{group}-{core}"));
        rows.sort_by_key(|row| (row.start, row.end));
        for row in rows {
            let times = (row.start.saturating_add(offset), row.end.saturating_add(offset));
            if !is_shown(times.0) {
                continue;
            }
            let unit = INSTRUCTION_UNITS.get(usize::from(row.unit)).copied().unwrap_or_default();
            tracks.slice(counters, [unit, ""], times, |args| {
                args.text("Core Type", core).integer("Block Id", row.block);
                if let Some(checkpoint) = row.checkpoint {
                    args.integer("Checkpoint Info", checkpoint);
                }
            });
        }
    }
}

/// Writes loops and waits of the units for collective communication.
pub(super) fn ccu(
    view: &View<'_>,
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    is_shown: impl Fn(i64) -> bool,
) {
    let mut tracks = Tracks::new(0, "Communication".to_owned());
    for span in ccu_spans(view, device).into_iter().filter(|span| is_shown(span.start)) {
        tracks.slice(counters, [span.name(), ""], (span.start, span.end), |args| describe(&span, args));
    }
}

fn describe(span: &CcuSpan, args: &mut Args<'_>) {
    args.integer("Physic Stream Id", span.stream).integer("Task Id", span.task);
    match &span.work {
        CcuWork::Loop { note } => {
            args.integer("Instruction ID", span.instruction);
            let Some(note) = note else { return };
            args.integer("Die Id", note.die).integer("Data Size", note.size);
            if let Some(bandwidth) = span.bandwidth() {
                args.float("Bandwidth (MB/s)", bandwidth);
            }
            if let Some([reduction, input, output]) = span.reduction() {
                args.text("Reduce Op Type", reduction);
                args.text("Input Data Type", input).text("Output Data Type", output);
            }
        }
        CcuWork::Wait { rank, slowest, note } => {
            args.integer("Notify Instruction ID", span.instruction).integer("Notify Rank ID", *rank);
            let Some(note) = note else { return };
            args.integer("Die Id", note.die).integer("Mask", note.mask);
            if let Some((channel, delay)) = slowest {
                args.integer("Maximum Delay Channel", *channel).integer("Maximum Channel Delay", *delay);
            }
        }
    }
}

/// Writes the parts of fused tasks.
pub(super) fn fused(
    view: &View<'_>,
    device: &DeviceView<'_>,
    counters: &mut Counters<'_>,
    is_shown: impl Fn(i64) -> bool,
) {
    let streams = host_streams(view, device);
    let mut tracks = Tracks::new(0, "Fusion Task".to_owned());
    for part in device.device.tables.fused.rows() {
        let times = (device.time(part.start), device.time(part.end));
        if !is_shown(times.0) {
            continue;
        }
        let (kind, die) = kind_of(part);
        tracks.slice(counters, ["Fusion ", kind], times, |args| {
            if let Some(stream) = streams.get(&part.task) {
                args.integer("Physic Stream Id", *stream);
            }
            args.integer("Task Id", part.task).integer("Acc Id", part.accelerator);
            args.text("Task Type", device_name(TaskLog::Queue, part.kind)).text("Fusion Task Type", kind);
            if let Some(die) = die {
                args.integer("Mission Id", part.mission).integer("Ccu Die Id", die);
            }
        });
    }
}

/// The kind of a part, and the die of a unit for collective communication: its highest bit tells.
fn kind_of(part: FusedPart) -> (&'static str, Option<u8>) {
    match part.parts.checked_ilog2() {
        Some(0) => ("CPU", None),
        Some(1) => ("AICPU", None),
        Some(2) => ("AICORE", None),
        Some(3) => ("CCU", Some(0)),
        Some(4) => ("CCU", Some(1)),
        _ => ("UNKNOWN", None),
    }
}
