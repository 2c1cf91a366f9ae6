//! The inferences of a run: the steps that PyTorch's profiler marked, or the runs of a model that
//! was replayed as a whole.

use std::collections::{BTreeMap, HashMap};

use opscope_trace::{ApiLevel, Iteration, LossKind, ModelId, Nanoseconds, Task, TaskId};

use crate::database::schema::TASK;

use super::reader::{Reader, kind_of};
use super::tasks::TaskRow;
use opscope_formats::reading::Iterations;

/// One run of a model: its number and span, and its tasks.
type Run = (Iteration, Vec<TaskId>);

impl Reader<'_> {
    /// Enters the inferences and ties tasks to them; `ids` are the trace's tasks of `rows`.
    pub(super) fn read_iterations(&mut self, rows: &[TaskRow], ids: &[TaskId]) {
        let mut steps = Iterations::default();
        let mut any = false;
        self.each_row("STEP_TIME", &["startNs", "endNs", "id"], |reader, row| match row.span(0, 1) {
            Ok((start, duration)) => {
                let (start, number) = (start - reader.zero, row.small(2).unwrap_or(0));
                steps.push(Iteration { model: None, number, warm_up: false, start, duration });
                any = true;
            }
            Err(problem) => reader.trace.count_loss(kind_of(problem), 1, "STEP_TIME"),
        });
        if any {
            steps.enter(&mut self.trace);
        } else if !self.replays_graphs_alone() {
            self.enter_replays(rows, ids);
        }
    }

    /// Whether the models of tasks are captured graphs, of which a run may replay several for one inference:
    /// calls replay such, and none executes a loaded model.
    fn replays_graphs_alone(&self) -> bool {
        let calls = &self.trace.api_calls;
        let is_replay = |name| self.trace.strings.get(name).starts_with("aclmdlRIExecute");
        !calls.level().contains(&ApiLevel::Model) && calls.name().iter().any(|name| is_replay(*name))
    }

    /// In a model that is loaded once and then executed as a whole, all runs of a task share one
    /// number, so the n-th row of a number belongs to the n-th run.
    fn enter_replays(&mut self, rows: &[TaskRow], ids: &[TaskId]) {
        let mut order: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].model.is_some()).collect();
        order.sort_by_key(|&row| rows[row].start);
        let mut seen: HashMap<(Option<u64>, i64), usize> = HashMap::new();
        let mut runs: BTreeMap<Option<u64>, Vec<Vec<usize>>> = BTreeMap::new();
        for row in self.stop.within(order) {
            let times = seen.entry((rows[row].model, rows[row].global)).or_default();
            let of_model = runs.entry(rows[row].model).or_default();
            of_model.resize_with(of_model.len().max(*times + 1), Vec::new);
            of_model[*times].push(row);
            *times += 1;
        }
        let mut entered: Vec<Run> = Vec::new();
        for (model, runs) in runs.into_iter().filter(|(_, runs)| are_replays(rows, runs)) {
            let model = model.map(|model| self.trace.enter_model(model));
            for (number, run) in (1..).zip(runs) {
                let tasks = run.iter().map(|&row| ids[row]).collect();
                entered.push((span_of(model, number, rows, &run), tasks));
            }
        }
        entered.sort_by_key(|(iteration, _)| iteration.start);
        self.trace.count_loss(LossKind::SpannedIteration, entered.len() as u64, TASK.name);
        for (iteration, tasks) in self.stop.within(entered) {
            let iteration = Some(self.trace.iterations.push(iteration));
            for task in tasks {
                let row = self.trace.tasks.get(task);
                self.trace.tasks.set(task, Task { iteration, ..row });
            }
        }
    }
}

/// Whether the n-th rows of all tasks are the n-th run: every task ran equally often, or the last run was
/// cut short and has the first tasks of a run, more than one of them.
fn are_replays(rows: &[TaskRow], runs: &[Vec<usize>]) -> bool {
    let Some(((first, others), last)) = runs.split_first().zip(runs.last()) else { return false };
    let whole = others.iter().take_while(|run| run.len() == first.len()).count();
    let number_of = |row: &usize| rows[*row].global;
    match others.len() - whole {
        0 => true,
        1 => last.len() > 1 && last.iter().map(number_of).eq(first[..last.len()].iter().map(number_of)),
        _ => false,
    }
}

/// The run of this number, from 1. It lasts from the start of its first task to the end of its last.
fn span_of(model: Option<ModelId>, number: u32, rows: &[TaskRow], run: &[usize]) -> Iteration {
    let start = run.iter().map(|&row| rows[row].start).min().unwrap_or_default();
    let end = run.iter().map(|&row| rows[row].start + rows[row].duration).max();
    let duration = end.map_or(Nanoseconds::ZERO, |end| end - start);
    Iteration { model, number, warm_up: false, start, duration }
}
