//! `op_statistic`: the types of operators, by the time that they took.

use std::collections::HashMap;

use crate::dialect::Dialect;
use crate::export::op_summary::model_names;
use crate::export::sheet::Sheet;
use crate::facts::view::{TaskRef, View};
use crate::headings::{op_statistic, op_summary, owned};
use crate::kinds::NodeTaskType;
use crate::tables::TaskLog;
use crate::text::numbers;
use opscope_trace::NumberMap;

/// Count and times of one type of operator, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Statistic {
    count: u64,
    total: f64,
    min: f64,
    max: f64,
    /// Whether every time is a whole number.
    whole: bool,
}

/// One row: the device, the model's name, the type, the unit, the statistic and its share.
type Line<'a> = (u32, String, &'a str, &'a str, Statistic, f64);

/// The table, or `None` if no operator ran.
pub(crate) fn sheet<'a>(view: &'a View<'a>, tasks: &[TaskRef]) -> Option<Sheet<'a>> {
    let models = model_names(view);
    let one_iteration = view.one_iteration;
    let unlisted = view.unlisted_tasks();
    let mut lines: Vec<Line<'a>> = Vec::new();
    for of_device in tasks.chunk_by(|a, b| a.device == b.device) {
        // Nodes of one type on one unit are found by number first; comparing texts takes longer.
        let mut numbered: NumberMap<(u64, u64, u64), (&str, &str, Statistic)> = NumberMap::default();
        // The table of operators shows what reaches into the collection; here it doesn't count.
        let counts = |task: TaskRef| view.device(task).start(task.task as usize) >= view.device(task).begin;
        let of_same = unlisted.iter().filter(|task| task.device == of_device[0].device && counts(**task));
        let mut total: f64 =
            of_same.map(|task| view.device(*task).unrounded_duration(task.task as usize)).sum();
        for &task in of_device.iter().filter(|task| counts(**task)) {
            let Some(host) = view.host_task(task) else { continue };
            let duration = view.device(task).unrounded_duration(task.task as usize);
            let model = if one_iteration { host.model } else { 0 };
            let (node, unit) = view.op_number(&host);
            let (_, _, group) = numbered.entry((model, node, unit)).or_insert_with(|| {
                let op = view.op(&host);
                let op = op.as_ref();
                let empty = Statistic { count: 0, total: 0.0, min: f64::INFINITY, max: 0.0, whole: true };
                (op.map_or("N/A", |op| op.op_type), op.map_or("N/A", |op| op.task_type), empty)
            });
            group.count += 1;
            group.total += duration;
            group.min = group.min.min(duration);
            group.max = group.max.max(duration);
            // The reference keeps the times of tasks in the track as fractions, even if they are whole.
            let log = view.device(task).device.tables.tasks.log()[task.task as usize];
            group.whole &= duration.fract() == 0.0 && log != TaskLog::Track;
        }
        let mut groups: HashMap<(u64, &str, &str), Statistic> = HashMap::new();
        // Sums depend on their order.
        let mut numbered: Vec<_> = numbered.into_iter().collect();
        numbered.sort_unstable_by_key(|(number, _)| *number);
        for ((model, ..), (op_type, unit, part)) in numbered {
            // Kernels of collective operations aren't counted. Shares are of the time of all others, though
            // those whose type isn't known have no row.
            if unit == NodeTaskType::Communication.name() {
                continue;
            }
            total += part.total;
            if op_type == "N/A" {
                continue;
            }
            let whole = groups.entry((model, op_type, unit)).or_insert(Statistic {
                count: 0,
                total: 0.0,
                min: f64::INFINITY,
                max: 0.0,
                whole: true,
            });
            whole.count += part.count;
            whole.total += part.total;
            whole.min = whole.min.min(part.min);
            whole.max = whole.max.max(part.max);
            whole.whole &= part.whole;
        }
        let device = view.device(of_device[0]).device.id;
        let mut of_device: Vec<Line<'a>> = groups
            .into_iter()
            .map(|((model, op_type, unit), statistic)| {
                let share = if total > 0.0 { statistic.total / total * 100.0 } else { 0.0 };
                let model = models.get(&model).cloned().unwrap_or_else(|| "N/A".to_owned());
                (device, model, op_type, unit, statistic, share)
            })
            .collect();
        of_device.sort_by(|a, b| b.4.total.total_cmp(&a.4.total).then(a.2.cmp(b.2)).then(a.3.cmp(b.3)));
        lines.extend(of_device);
    }
    let mut headers = owned(op_statistic::ALL);
    if one_iteration {
        headers.insert(1, op_summary::MODEL_NAME.to_owned());
    }
    let accelerated = view.dialect == Dialect::Accelerated;
    if accelerated {
        lines.sort_by(|a, b| b.4.total.total_cmp(&a.4.total));
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: "op_statistic",
        headers,
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, model, op_type, unit, statistic, share) = &lines[index];
            row.integer(*device);
            if one_iteration {
                row.text(model);
            }
            row.text(op_type);
            row.text(unit);
            row.count(statistic.count);
            let average = average(statistic);
            let micros = [statistic.total, statistic.min, average, statistic.max].map(|ns| ns / 1_000.0);
            for value in micros.into_iter().chain([*share]) {
                row.number(|out| {
                    if accelerated {
                        numbers::push_trimmed(out, numbers::sqlite_round(value))
                    } else {
                        numbers::push_float(out, numbers::python_round(value, 3))
                    }
                });
            }
        }),
    })
}

/// The reference divides in SQL, where whole nanoseconds stay whole.
fn average(statistic: &Statistic) -> f64 {
    let average = statistic.total / statistic.count as f64;
    if statistic.whole { average.floor() } else { average }
}
