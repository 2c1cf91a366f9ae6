//! `op_summary`: every run of every operator.

use std::collections::BTreeMap;

use crate::export::counters::CounterColumns;
use crate::export::sheet::{Row, SharedCells, Sheet, SheetFormat};
use crate::export::view::{TaskRef, View};
use crate::metrics::Dialect;
use crate::numbers;
use crate::parallel;
use crate::tables::NO_CONTEXT;
use crate::tensor_names::TensorTexts;

/// The table, or `None` if no operator ran.
pub(crate) fn sheet<'a>(view: &'a View<'a>, tasks: &'a [TaskRef], format: SheetFormat) -> Option<Sheet<'a>> {
    if tasks.is_empty() {
        return None;
    }
    let chip = view.joined.data.chip();
    let columns: Vec<Option<CounterColumns>> =
        view.devices.iter().map(|device| CounterColumns::new(device.device, view.dialect)).collect();
    let counter_headers = columns.iter().flatten().next().map(CounterColumns::headers).unwrap_or_default();
    let layout = Layout { one_iteration: view.one_iteration, stars: chip.has_stars() };
    let mut headers = layout.headers();
    headers.extend(counter_headers.iter().cloned());
    let models = model_names(view);
    let shared = if format == SheetFormat::Csv { view.tensors.len() } else { 0 };
    let tensors = parallel::column(shared, |sets, out| {
        out.extend(view.tensors[sets].iter().map(|set| SharedCells::new(|row| write_tensors(row, set))));
    });
    Some(Sheet {
        kind: "op_summary",
        headers,
        rows: tasks.len(),
        write: Box::new(move |index, row| {
            let task = tasks[index];
            let previous = index.checked_sub(1).map(|i| tasks[i]).filter(|p| p.device == task.device);
            let Some(host) = view.host_task(task) else { return };
            let Some(op) = view.op(&host) else { return };
            let device = view.device(task);
            let number = task.task as usize;
            row.integer(device.device.id);
            if layout.one_iteration {
                row.text(models.get(&host.model).map_or("N/A", String::as_str));
            }
            row.integer(host.model);
            row.integer(host.task);
            row.integer(host.stream);
            if layout.one_iteration {
                row.integer(device.iteration(number));
            }
            row.text(op.name);
            row.text(op.op_type);
            row.word(op.state);
            row.word(op.task_type);
            row.time(device.start(number));
            write_times(row, view, task, previous);
            row.integer(op.blocks);
            if layout.stars {
                row.integer(op.mix_blocks);
            }
            row.word(op.hf32);
            match tensors.get(host.tensors as usize) {
                Some(cells) => row.shared(cells, |row| write_tensors(row, op.tensors)),
                None => write_tensors(row, op.tensors),
            }
            if layout.stars {
                if host.context == NO_CONTEXT { row.missing() } else { row.integer(host.context) }
            }
            match &columns[task.device as usize] {
                Some(columns) => columns.write(row, view, task, &op),
                None => counter_headers.iter().for_each(|_| row.missing()),
            }
        }),
    })
}

fn write_tensors(row: &mut Row<'_>, tensors: &TensorTexts) {
    row.text(&tensors.input_shapes);
    row.text(&tensors.input_data_types);
    row.text(&tensors.input_formats);
    row.text(&tensors.output_shapes);
    row.text(&tensors.output_data_types);
    row.text(&tensors.output_formats);
}

/// Which columns there are besides the counters.
#[derive(Clone, Copy)]
struct Layout {
    one_iteration: bool,
    stars: bool,
}

impl Layout {
    fn headers(self) -> Vec<String> {
        let mut headers = vec!["Device_id"];
        let some = |shown: bool, name: &'static str| shown.then_some(name);
        headers.extend(some(self.one_iteration, "Model Name"));
        headers.extend(["Model ID", "Task ID", "Stream ID"]);
        headers.extend(some(self.one_iteration, "Infer ID"));
        headers.extend([
            "Op Name",
            "OP Type",
            "OP State",
            "Task Type",
            "Task Start Time(us)",
            "Task Duration(us)",
        ]);
        headers.extend(["Task Wait Time(us)", "Block Num"]);
        headers.extend(some(self.stars, "Mix Block Num"));
        headers.extend(["HF32 Eligible", "Input Shapes", "Input Data Types", "Input Formats"]);
        headers.extend(["Output Shapes", "Output Data Types", "Output Formats"]);
        headers.extend(some(self.stars, "Context ID"));
        headers.into_iter().map(str::to_owned).collect()
    }
}

/// The task's duration, and how long the device waited since the end of the operator before.
fn write_times(row: &mut Row<'_>, view: &View<'_>, task: TaskRef, previous: Option<TaskRef>) {
    let device = view.device(task);
    let number = task.task as usize;
    let duration = device.duration(number);
    if view.dialect == Dialect::Accelerated {
        row.number(|out| numbers::push_micros(out, duration as i64));
        return match previous.map(|previous| previous.task as usize) {
            None => row.integer(0),
            Some(previous) => {
                let wait = (device.start(number) - device.end(previous)).max(0);
                // Six decimals, as the reference prints the wait, but without its rounding error.
                row.number(|out| {
                    numbers::push_micros(out, wait);
                    out.extend_from_slice(b"000");
                });
            }
        };
    }
    row.float(numbers::python_round(duration / 1_000.0, 3));
    match previous.map(|previous| previous.task as usize) {
        None => row.integer(0),
        Some(previous) => {
            let tasks = &device.device.tables.tasks;
            let clock = &device.device.clock;
            let start = |task: usize| clock.monotonic_f64(tasks.start()[task]);
            let wait = start(number) - start(previous) - device.duration(previous);
            if wait > 0.0 { row.float(numbers::python_round(wait / 1_000.0, 3)) } else { row.integer(0) }
        }
    }
}

/// The names of models by their number.
pub(crate) fn model_names(view: &View<'_>) -> BTreeMap<u64, String> {
    let models = &view.joined.data.host.models;
    models.rows().map(|model| (u64::from(model.model), view.text(model.name).to_owned())).collect()
}
