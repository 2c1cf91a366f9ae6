//! The inferences of a file, and what belongs to which.

use opscope_trace::{
    ApiCallId, Iteration, IterationId, ModelId, Nanoseconds, NumberMap, Task, TaskId, Trace,
};

/// The row of a trace that was made of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Row {
    /// One that no arrow can lead to or from.
    #[default]
    Other,
    /// A call of the host.
    Call(ApiCallId),
    /// A task of a device.
    Task(TaskId),
}

/// The inferences that were found so far, in the order of the file.
#[derive(Debug, Default)]
pub struct Iterations {
    found: Vec<Iteration>,
    /// Calls and tasks that name their inference by its number.
    numbered: Vec<(Row, u32, bool)>,
}

impl Iterations {
    /// Adds an inference.
    pub fn push(&mut self, iteration: Iteration) {
        self.found.push(iteration);
    }

    /// Notes that a call or task names its inference.
    pub fn number(&mut self, row: Row, number: u32, warm_up: bool) {
        self.numbered.push((row, number, warm_up));
    }

    /// Enters the inferences into the trace in the order of their start, and says of every call
    /// and task to which it belongs: the one that it names; else the one in whose time its call
    /// lies, because a device lags behind; else the one in whose time it lies itself.
    pub fn enter(mut self, trace: &mut Trace) {
        self.found.sort_by_key(|iteration| iteration.start);
        for iteration in &self.found {
            trace.iterations.push(*iteration);
        }
        if self.found.is_empty() {
            return;
        }
        self.enter_numbered(trace);
        for call in trace.api_calls.ids() {
            let row = trace.api_calls.get(call);
            if row.iteration.is_none() {
                let iteration = self.around(row.start, None);
                trace.api_calls.set(call, opscope_trace::ApiCall { iteration, ..row });
            }
        }
        for task in trace.tasks.ids() {
            let row = trace.tasks.get(task);
            if row.iteration.is_some() {
                continue;
            }
            let model = row.operator.and_then(|operator| trace.operators.model()[operator.index()]);
            let called = row.launched_by.map(|call| trace.api_calls.start()[call.index()]);
            let iteration =
                called.and_then(|time| self.around(time, model)).or_else(|| self.around(row.start, model));
            trace.tasks.set(task, Task { iteration, ..row });
        }
    }

    fn enter_numbered(&self, trace: &mut Trace) {
        let mut first: NumberMap<(u32, bool), usize> = NumberMap::default();
        for (index, found) in self.found.iter().enumerate().filter(|_| !self.numbered.is_empty()) {
            first.entry((found.number, found.warm_up)).or_insert(index);
        }
        for &(row, number, warm_up) in &self.numbered {
            let at = match row {
                Row::Call(call) => trace.api_calls.start()[call.index()],
                Row::Task(task) => trace.tasks.start()[task.index()],
                Row::Other => continue,
            };
            let named = |found: &Iteration| (found.number, found.warm_up) == (number, warm_up);
            // Several models may count from 1; then time decides.
            let in_time = self.candidates(at).find(|&index| named(&self.found[index]));
            let index = in_time.or_else(|| first.get(&(number, warm_up)).copied());
            let iteration = index.map(IterationId::from_index);
            match row {
                Row::Call(call) => {
                    let row = trace.api_calls.get(call);
                    trace.api_calls.set(call, opscope_trace::ApiCall { iteration, ..row });
                }
                Row::Task(task) => {
                    let row = trace.tasks.get(task);
                    trace.tasks.set(task, Task { iteration, ..row });
                }
                Row::Other => {}
            }
        }
    }

    /// The inference (of the model, if one is given) in whose time a moment lies.
    fn around(&self, time: Nanoseconds, model: Option<ModelId>) -> Option<IterationId> {
        let of_model = |found: &Iteration| model.is_none() || found.model.is_none() || found.model == model;
        let index = self.candidates(time).find(|&index| of_model(&self.found[index]))?;
        Some(IterationId::from_index(index))
    }

    /// The inferences in whose time a moment lies, the latest first. Only a few may overlap: one
    /// that many others have begun after is not looked for.
    fn candidates(&self, time: Nanoseconds) -> impl Iterator<Item = usize> {
        const OVERLAPPING: usize = 16;
        let begun = self.found.partition_point(|iteration| iteration.start <= time);
        (begun.saturating_sub(OVERLAPPING)..begun).rev().filter(move |&index| {
            let iteration = &self.found[index];
            time < iteration.start + iteration.duration
        })
    }
}
