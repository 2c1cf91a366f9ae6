//! `op_summary`: every run of every operator.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::export::counters::CounterCells;
use crate::export::sheet::{Row, SharedCells, Sheet};
use crate::facts::collectives::{Collectives, OperationRun};
use crate::facts::view::{TaskRef, View};
use crate::headings::op_summary;
use crate::join::{HostTask, OpSource};
use crate::kinds::NodeTaskType;
use crate::options::SheetFormat;
use crate::parallel;
use crate::tables::{NO_CONTEXT, NO_MODEL};
use crate::text::numbers;
use crate::text::tensor_names::TensorTexts;

/// A row: an operator's task, or a collective operation by its place.
#[derive(Clone, Copy)]
enum Line {
    Task(TaskRef),
    Collective(u32),
}

/// The rows of the table. Collective operations are few, and most profiles have none.
struct Lines<'a> {
    tasks: &'a [TaskRef],
    found: Collectives<'a>,
    /// Tasks and collective operations by device and start; empty if there are only tasks.
    mixed: Vec<Line>,
}

impl<'a> Lines<'a> {
    fn new(view: &'a View<'a>, tasks: &'a [TaskRef]) -> Self {
        let found = Collectives::new(view);
        let mut lines = Self { tasks, found, mixed: Vec::new() };
        if !lines.found.operations.is_empty() {
            let operations = lines.found.operations.iter().enumerate();
            // A transfer within a fused operator is no operator besides it.
            let operations = operations.filter(|(_, operation)| !operation.fused);
            let operations = operations.map(|(place, _)| Line::Collective(place as u32));
            let mut mixed: Vec<Line> = tasks.iter().copied().map(Line::Task).chain(operations).collect();
            mixed.sort_by_key(|line| (lines.device(*line), lines.span(view, *line).0));
            lines.mixed = mixed;
        }
        lines
    }

    fn len(&self) -> usize {
        if self.mixed.is_empty() { self.tasks.len() } else { self.mixed.len() }
    }

    fn get(&self, index: usize) -> Line {
        if self.mixed.is_empty() { Line::Task(self.tasks[index]) } else { self.mixed[index] }
    }

    /// The row before, if it is of the same device.
    fn before(&self, index: usize) -> Option<Line> {
        let before = self.get(index.checked_sub(1)?);
        (self.device(before) == self.device(self.get(index))).then_some(before)
    }

    /// The place of the device in the view.
    fn device(&self, line: Line) -> u32 {
        match line {
            Line::Task(task) => task.device,
            Line::Collective(place) => self.found.operations[place as usize].device,
        }
    }

    /// Begin and end in wall-clock nanoseconds.
    fn span(&self, view: &View<'_>, line: Line) -> (i64, i64) {
        match line {
            Line::Task(task) => {
                let (device, number) = (view.device(task), task.task as usize);
                (device.start(number), device.end(number))
            }
            Line::Collective(place) => {
                let operation = &self.found.operations[place as usize];
                (operation.start, operation.end)
            }
        }
    }
}

/// The table, or `None` if no operator ran.
pub(crate) fn sheet<'a>(view: &'a View<'a>, tasks: &'a [TaskRef], format: SheetFormat) -> Option<Sheet<'a>> {
    let lines = Lines::new(view, tasks);
    if lines.len() == 0 {
        return None;
    }
    let chip = view.joined.data.chip();
    let columns: Vec<Option<CounterCells>> =
        view.devices.iter().map(|device| CounterCells::new(device.device, view.dialect)).collect();
    let counter_headers = counter_headers(&columns);
    let fits = |columns: &Option<CounterCells>| {
        columns.as_ref().is_some_and(|columns| columns.headers() == counter_headers)
    };
    let fits: Vec<bool> = columns.iter().map(fits).collect();
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
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let task = match lines.get(index) {
                Line::Task(task) => task,
                Line::Collective(place) => {
                    let operation = &lines.found.operations[place as usize];
                    row.integer(view.devices[operation.device as usize].device.id);
                    let model = models.get(&operation.model).map_or("N/A", String::as_str);
                    write_collective(row, layout, operation, model);
                    write_times(row, view, &lines, index);
                    row.integer(0);
                    row.fill();
                    return;
                }
            };
            let Some(host) = view.host_task(task) else { return };
            let Some(op) = view.op(&host) else { return };
            let device = view.device(task);
            let (number, model) = (task.task as usize, model_of_operator(view, &host));
            row.integer(device.device.id);
            if layout.one_iteration {
                let name = models.get(&model).filter(|_| !host.captured);
                row.text(name.map_or("N/A", String::as_str));
            }
            row.integer(model);
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
            write_times(row, view, &lines, index);
            row.integer(op.blocks);
            if layout.stars {
                row.integer(op.mix_blocks);
            }
            row.word(op.hf32);
            match host.tensors.and_then(|set| tensors.get(set.index())) {
                Some(cells) => row.shared(cells, |row| write_tensors(row, op.tensors)),
                None => write_tensors(row, op.tensors),
            }
            if layout.stars {
                if host.context == NO_CONTEXT { row.missing() } else { row.integer(host.context) }
            }
            match &columns[task.device as usize] {
                Some(columns) if fits[task.device as usize] => columns.write(row, view, task, &op),
                Some(columns) => columns.write_below(&counter_headers, row, view, task, &op),
                None => counter_headers.iter().for_each(|_| row.missing()),
            }
        }),
    })
}

/// The headings of the counters of all devices, which mostly have the same: those of the device with the most,
/// and behind them what only others have.
fn counter_headers(devices: &[Option<CounterCells>]) -> Vec<String> {
    let mut lists: Vec<&[String]> = devices.iter().flatten().map(CounterCells::headers).collect();
    lists.sort_by_key(|list| std::cmp::Reverse(list.len()));
    let mut headers = lists.first().map_or(Vec::new(), |list| list.to_vec());
    for list in lists {
        let new: Vec<String> = list.iter().filter(|header| !headers.contains(header)).cloned().collect();
        headers.extend(new);
    }
    headers
}

/// The model that the table names for a task's operator. The plain reference names none where only the kernel
/// tells it, though its task belongs to one.
fn model_of_operator(view: &View<'_>, task: &HostTask) -> u64 {
    let is_bare = task.op == OpSource::Kernel && view.dialect != Dialect::Accelerated;
    if is_bare { NO_MODEL } else { task.model }
}

/// Writes the cells of a collective operation from its model to its start. It has no task of its own.
fn write_collective(row: &mut Row<'_>, layout: Layout, operation: &OperationRun<'_>, model: &str) {
    if layout.one_iteration {
        row.text(model);
    }
    row.integer(operation.model);
    row.missing();
    row.missing();
    if layout.one_iteration {
        row.missing();
    }
    row.text(&operation.name);
    row.text(operation.op_type);
    row.missing();
    row.word(NodeTaskType::Communication.name());
    row.time(operation.start);
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
        let is_shown = |heading: &&&str| match **heading {
            op_summary::MODEL_NAME | op_summary::INFERENCE => self.one_iteration,
            op_summary::MIX_BLOCKS | op_summary::CONTEXT => self.stars,
            _ => true,
        };
        op_summary::ALL.iter().filter(is_shown).map(|&heading| heading.to_owned()).collect()
    }
}

/// The duration of a row's task or operation, and how long the device waited since the end of the one before.
fn write_times(row: &mut Row<'_>, view: &View<'_>, lines: &Lines<'_>, index: usize) {
    let (line, before) = (lines.get(index), lines.before(index));
    let (start, end) = lines.span(view, line);
    if view.dialect == Dialect::Accelerated {
        row.number(|out| numbers::push_micros(out, end.saturating_sub(start)));
        return match before.map(|before| lines.span(view, before).1) {
            None => row.integer(0),
            // Six decimals, as the reference prints the wait, but without its rounding error.
            Some(end) => row.number(|out| {
                numbers::push_micros(out, start.saturating_sub(end).max(0));
                out.extend_from_slice(b"000");
            }),
        };
    }
    let micros = |row: &mut Row<'_>, nanoseconds: f64| {
        row.float(numbers::python_round(nanoseconds / 1_000.0, 3));
    };
    let (duration, wait) = match (line, before) {
        (Line::Task(task), Some(Line::Task(previous))) => {
            let device = view.device(task);
            let (tasks, clock) = (&device.device.tables.tasks, &device.device.clock);
            let start = |task: TaskRef| clock.monotonic_f64(tasks.start()[task.task as usize]);
            let wait = start(task) - start(previous) - device.duration(previous.task as usize);
            (device.duration(task.task as usize), Some(wait))
        }
        (Line::Task(task), before) => {
            let wait = before.map(|before| start.saturating_sub(lines.span(view, before).1) as f64);
            (view.device(task).duration(task.task as usize), wait)
        }
        (_, before) => {
            let wait = before.map(|before| start.saturating_sub(lines.span(view, before).1) as f64);
            (end.saturating_sub(start) as f64, wait)
        }
    };
    micros(row, duration);
    match wait {
        Some(wait) => micros(row, wait.max(0.0)),
        None => row.integer(0),
    }
}

/// The names of models by their number.
pub(crate) fn model_names(view: &View<'_>) -> BTreeMap<u64, String> {
    let models = &view.joined.data.host.models;
    models.rows().map(|model| (u64::from(model.model), view.text(model.name).to_owned())).collect()
}
