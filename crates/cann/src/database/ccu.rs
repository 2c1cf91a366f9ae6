//! `CCU`: loops and waits of the units for collective communication.

use std::io::{self, Seek, Write};

use crate::database::details::Details;
use crate::database::ids::{TaskIds, TaskKey};
use crate::database::output::Output;
use crate::database::schema;
use crate::database::traffic::collect;
use crate::facts::ccu::{CcuSpan, CcuWork, ccu_spans};
use crate::facts::view::{DeviceView, View};

/// Bytes of a megabyte.
const MEGABYTE: f64 = 1_048_576.0;

/// The rows, with the texts that they refer to.
pub(super) struct CcuSpans(Vec<(u32, Row)>);

struct Row {
    span: CcuSpan,
    task: u32,
    args: String,
}

impl CcuSpans {
    /// The spans of all devices.
    pub(super) fn of_all(view: &View<'_>, ids: &mut TaskIds) -> Self {
        let of_device = |device: &DeviceView<'_>| ccu_spans(view, device);
        let spans = collect(view, of_device, |span| span.start);
        let rows = spans.into_iter().map(|(device, span)| {
            let task = ids.id(TaskKey::of_number(device, span.stream, span.task));
            let args = details(&span);
            (device, Row { span, task, args })
        });
        Self(rows.collect())
    }

    /// Writes the table, if there are rows.
    pub(super) fn write<'a, W: Write + Seek + Send>(&'a self, out: &mut Output<'a, W>) -> io::Result<()> {
        let texts: Vec<[u32; 2]> = (self.0.iter())
            .map(|(_, row)| [out.strings.add(row.span.name()), out.strings.add(&row.args)])
            .collect();
        if texts.is_empty() {
            return Ok(());
        }
        out.table(&schema::CCU, texts.len(), |index, cells| {
            let (device, row) = &self.0[index];
            let [name, args] = texts[index];
            cells.integer(i64::from(*device));
            cells.integer(i64::from(row.task));
            cells.integer(i64::from(name));
            cells.integer(row.span.start);
            cells.integer(row.span.end);
            cells.integer(i64::from(args));
        })
    }
}

fn details(span: &CcuSpan) -> String {
    let mut details = Details::default();
    details.integer("Physic Stream Id", span.stream);
    details.integer("Task Id", span.task);
    match &span.work {
        CcuWork::Loop { note } => {
            details.integer("Instruction ID", span.instruction);
            if let Some(note) = note {
                details.integer("Die Id", note.die);
                details.integer("Data Size", note.size);
            }
            if let Some(bandwidth) = span.bandwidth() {
                details.float("Bandwidth (B/s)", bandwidth * MEGABYTE);
            }
            let names = ["Reduce Op Type", "Input Data Type", "Output Data Type"];
            for (name, value) in names.into_iter().zip(span.reduction().into_iter().flatten()) {
                details.text(name, value);
            }
        }
        CcuWork::Wait { rank, slowest, note } => {
            details.integer("Notify Instruction ID", span.instruction);
            details.integer("Notify Rank ID", *rank);
            if let Some(note) = note {
                details.integer("Die Id", note.die);
                details.integer("Mask", note.mask);
            }
            if let Some((channel, delay)) = slowest {
                details.integer("Maximum Delay Channel", *channel);
                details.integer("Maximum Channel Delay", *delay);
            }
        }
    }
    details.finish()
}
