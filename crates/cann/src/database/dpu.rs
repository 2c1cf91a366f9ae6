//! `DPU_TASK`: work of data processing units.

use std::io::{self, Seek, Write};

use crate::database::details::Details;
use crate::database::ids::{TaskIds, TaskKey};
use crate::database::output::Output;
use crate::database::schema;
use crate::facts::dpu::{DpuSpan, DpuWork, StepWords, dpu_spans, group};
use crate::facts::view::View;

/// The rows, with the texts that they refer to.
pub(super) struct DpuSpans<'a>(Vec<Row<'a>>);

struct Row<'a> {
    span: DpuSpan<'a>,
    task: u32,
    args: String,
}

impl<'a> DpuSpans<'a> {
    /// The work of all units since the begin of the collection.
    pub(super) fn of_all(view: &View<'a>, ids: &mut TaskIds) -> Self {
        let spans = dpu_spans(view).into_iter().filter(|span| view.shows_of_host(span.start, span.end));
        let rows = spans.map(|span| {
            let task = ids.id(TaskKey::of_dpu(u32::from(span.device), span.stream, span.task));
            let args = details(view, &span);
            Row { span, task, args }
        });
        Self(rows.collect())
    }

    /// Writes the table, if there are rows.
    pub(super) fn write<W: Write + Seek + Send>(&'a self, out: &mut Output<'a, W>) -> io::Result<()> {
        let texts: Vec<[u32; 2]> =
            self.0.iter().map(|row| [out.strings.add(row.span.name), out.strings.add(&row.args)]).collect();
        if texts.is_empty() {
            return Ok(());
        }
        out.table(&schema::DPU_TASK, texts.len(), |index, cells| {
            let Row { span, task, .. } = &self.0[index];
            let [name, args] = texts[index];
            cells.integer(i64::from(span.device));
            cells.integer(i64::from(span.thread));
            cells.integer(span.start);
            cells.integer(span.end);
            cells.integer(i64::from(*task));
            cells.integer(i64::from(span.stream));
            cells.integer(i64::from(span.task));
            cells.integer(i64::from(name));
            cells.integer(i64::from(args));
        })
    }
}

fn details(view: &View<'_>, span: &DpuSpan<'_>) -> String {
    let mut details = Details::default();
    details.integer("Thread Id", span.thread);
    details.integer("Physic Stream Id", span.stream);
    details.integer("Task Id", span.task);
    match &span.work {
        DpuWork::Task { kind } => details.text("Task Type", kind),
        DpuWork::Step(step) => {
            let words = StepWords::of(step);
            details.text("OP Type", &words.reduction);
            details.integer("AI CPU Device Id", step.processor);
            details.integer("AI CPU Task Id", step.ai_cpu_task);
            details.text("Group Name", &group(view, step));
            details.integer("Plane Id", step.plane);
            details.text("Notify Id", &step.notify.to_string());
            details.float("Duration Estimated(us)", step.estimate);
            details.integer("Rank Size", step.rank_size);
            details.integer("Src Rank", step.local_rank);
            details.integer("Dst Rank", step.remote_rank);
            details.text("Transport Type", &words.transport);
            details.integer("Size(Byte)", step.size);
            details.float("Bandwidth(B/s)", span.bandwidth());
            details.text("Data Type", &words.data_type);
            details.text("Link Type", &words.link);
            details.text("Rdma Type", &words.rdma);
        }
    }
    details.finish()
}
