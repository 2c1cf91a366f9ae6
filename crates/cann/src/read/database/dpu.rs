//! Work of data processing units (DPU), which have devices of their own.

use opscope_trace::{DeviceKind, ExecutionUnit, Task};
use serde_json::Value;

use super::reader::{Reader, kind_of};
use crate::database::schema::DPU_TASK;
use crate::facts::dpu::UNIT;
use crate::kinds::NodeTaskType;
use crate::read::operators::{Described, Operators, Side};
use crate::vocabulary;

/// The kind of a task, as the list of its details tells; a step of a collective operation names its way to reduce
/// instead. Nothing where neither is told.
fn kind_in(details: &str) -> Option<(String, bool)> {
    let details: Vec<Value> = serde_json::from_str(details).ok()?;
    let mut pairs = details.chunks_exact(2);
    pairs.find_map(|pair| match (pair[0].as_str()?, &pair[1]) {
        ("Task Type", Value::String(kind)) => Some((kind.clone(), vocabulary::computes(kind))),
        ("OP Type", _) => Some((NodeTaskType::Communication.name().to_owned(), false)),
        _ => None,
    })
}

impl Reader<'_> {
    /// Reads tasks and steps of collective operations.
    pub(super) fn read_dpu_tasks(&mut self, operators: &mut Operators) {
        const COLUMNS: [&str; 7] =
            DPU_TASK.select(["startNs", "endNs", "dpuDeviceId", "streamId", "taskId", "opName", "args"]);
        self.each_row(DPU_TASK.name, &COLUMNS, |reader, row| {
            let (start, duration) = match row.span(0, 1) {
                Ok(span) => span,
                Err(problem) => return reader.trace.count_loss(kind_of(problem), 1, DPU_TASK.name),
            };
            let unit_number = row.small(2).unwrap_or(0);
            let device = reader.places.device(&mut reader.trace, DeviceKind::Other, unit_number, UNIT);
            let nameless = reader.trace.strings.intern("");
            let number = row.number(3).unwrap_or(0);
            let stream = reader.places.stream(&mut reader.trace, device, number, None, nameless);
            let [text, details] = [5, 6].map(|column| reader.texts.find(row.integer(column)));
            let kind = kind_in(reader.texts.table.get(details));
            let name = reader.trace.strings.intern(reader.texts.table.get(text));
            let operator = kind.as_ref().is_some_and(|(_, computes)| *computes).then(|| {
                let nothing = reader.texts.find(None);
                let side = Side { shapes: nothing, types: nothing, formats: nothing };
                let (name, op_type) = (text, text);
                let described =
                    Described { model: None, name, op_type, inputs: side, outputs: side, dynamic: None };
                operators.find(&mut reader.trace, &reader.texts.table, described)
            });
            reader.trace.tasks.push(Task {
                operator,
                number: row.small(4),
                stream: Some(stream),
                unit: kind.map_or(ExecutionUnit::Other, |(kind, _)| vocabulary::unit(&kind)),
                ..Task::new(name, start - reader.zero, duration)
            });
        });
    }
}
