//! The lanes of data processing units (DPU): for each unit a process, for each of its streams a lane.

use std::collections::BTreeMap;

use opscope_trace::LanePacker;

use crate::dialect::Dialect;
use crate::facts::dpu::{self, DpuSpan, DpuWork, StepWords, dpu_spans};
use crate::facts::view::View;
use crate::lane_choice::Layer;
use crate::tables::DpuStep;
use crate::timeline::event::{Args, Events};
use crate::timeline::host::NEXT_TRACK;
use crate::timeline::lanes::{Lanes, name_lane, seen};

/// Writes the work of all units; nothing where there is none.
pub(super) fn write_dpu(view: &View<'_>, lanes: &Lanes, events: &mut Events) {
    if !lanes.shown().contains(&Layer::Dpu) {
        return;
    }
    let mut streams: BTreeMap<(u16, u16), Vec<DpuSpan<'_>>> = BTreeMap::new();
    for span in dpu_spans(view).into_iter().filter(|span| view.shows_of_host(span.start, span.end)) {
        streams.entry((span.device, span.stream)).or_default().push(span);
    }
    let mut named = None;
    for ((device, stream), mut spans) in streams {
        if named.replace(device) != Some(device) {
            let label = format!("{} {device}", dpu::UNIT);
            lanes.name_layer_as(events, Layer::Dpu, Some(u32::from(device)), dpu::UNIT, &label);
        }
        // A longer slice comes first, so that those within it lie below.
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut tracks = LanePacker::default();
        for span in spans {
            let (known, track) = (tracks.count(), tracks.place(seen(span.start, span.end)));
            let tid = u64::from(stream) + track as u64 * NEXT_TRACK;
            let lane = lanes.lane(Layer::Dpu, Some(u32::from(device)), tid);
            if track == known {
                name_lane(events, lane, &format!("Stream {stream}"), u64::from(stream));
            }
            let length = span.end.saturating_sub(span.start);
            events.slice([span.name], lane, span.start, length, None, |args| describe(view, &span, args));
        }
    }
}

fn describe(view: &View<'_>, span: &DpuSpan<'_>, args: &mut Args<'_>) {
    args.integer("Thread Id", span.thread).integer("Physic Stream Id", span.stream);
    args.integer("Task Id", span.task);
    match &span.work {
        DpuWork::Task { kind } => drop(args.text("Task Type", kind)),
        DpuWork::Step(step) => describe_step(view, span, step, args),
    }
}

fn describe_step(view: &View<'_>, span: &DpuSpan<'_>, step: &DpuStep, args: &mut Args<'_>) {
    let words = StepWords::of(step);
    args.text("OP Type", &words.reduction).integer("AI CPU Device Id", step.processor);
    args.integer("AI CPU Task Id", step.ai_cpu_task).text("Group Name", &dpu::group(view, step));
    args.integer("Plane Id", step.plane).text("Notify Id", &step.notify.to_string());
    args.float("Duration Estimated(us)", step.estimate).integer("Rank Size", step.rank_size);
    args.integer("Src Rank", step.local_rank).integer("Dst Rank", step.remote_rank);
    args.text("Transport Type", &words.transport).integer("Size(Byte)", step.size);
    args.float("Bandwidth(GB/s)", span.gigabytes());
    args.text("Data Type", &words.data_type).text("Link Type", &words.link);
    args.text("Rdma Type", &words.rdma);
    // The accelerated reference leaves these out.
    if view.dialect != Dialect::Accelerated {
        args.text("Role", &words.role).text("Ccl Tag", &step.tag.to_string());
        args.text("Work Flow Mode", &step.mode.to_string()).text("Stage", &step.stage.to_string());
    }
}
