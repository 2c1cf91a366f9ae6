//! Which part of a trace a question is about.

use opscope_trace::{ExecutionUnit, IterationId, ModelId, TaskId, Trace};

/// Whether tasks on a unit are work. Tasks that only wait or handle streams are none: no figure of operators
/// counts them, and no operator of that name is compared, changed or advised on.
pub fn is_work(unit: ExecutionUnit) -> bool {
    unit != ExecutionUnit::Control
}

/// The iterations that a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iterations {
    /// The measured ones: those to warm up are left out unless there are no others, and so is
    /// what lies outside of all.
    #[default]
    Measured,
    /// All of them, and what lies outside. Figures are of the whole profile then.
    All,
    /// The ones of these numbers, both included.
    Numbers(u32, u32),
}

/// A part of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The iterations.
    pub iterations: Iterations,
    /// The number of the device; `None` is all of them.
    pub device: Option<u32>,
    /// The model; `None` is all of them, and what belongs to none.
    pub model: Option<ModelId>,
}

/// A scope that the trace doesn't have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// No iteration has such a number.
    #[error("there is no iteration {wanted}; {known}")]
    NoIteration {
        /// The number or numbers that were asked for.
        wanted: String,
        /// The numbers that there are, in words.
        known: String,
    },
    /// No device has the number.
    #[error("there is no device {wanted}; {known}")]
    NoDevice {
        /// The number or numbers that were asked for.
        wanted: u32,
        /// The numbers that there are, in words.
        known: String,
    },
}

/// A scope applied to a trace.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// By iteration, whether it is in the scope.
    iterations: Vec<bool>,
    /// Whether what lies outside of all iterations is.
    outside: bool,
    /// By stream, whether it is in the scope; empty where all are.
    streams: Vec<bool>,
    /// Over how many iterations figures are averaged.
    pub averaged: usize,
}

impl Chosen {
    /// Applies a scope.
    ///
    /// # Errors
    /// When the trace has no such iteration or device.
    pub fn new(trace: &Trace, scope: Scope) -> Result<Self, ScopeError> {
        let streams = streams(trace, scope)?;
        let iterations = match scope.iterations {
            Iterations::All => of_model(trace, scope.model).collect(),
            Iterations::Measured => measured_iterations(trace, scope.model),
            Iterations::Numbers(first, last) => {
                let numbers = trace.iterations.number().iter();
                let is_one = |(number, of_model): (&u32, bool)| of_model && (first..=last).contains(number);
                numbers.zip(of_model(trace, scope.model)).map(is_one).collect()
            }
        };
        let chosen = Self::of_iterations(iterations, streams);
        match scope.iterations {
            Iterations::All if scope.model.or(trace.counted_model).is_none() => Ok(chosen.with_all()),
            Iterations::Numbers(first, last) if !chosen.iterations.contains(&true) => {
                Err(no_iteration(trace, first, last))
            }
            Iterations::Measured => Ok(chosen.or_all(trace, scope.model)),
            _ => Ok(chosen),
        }
    }

    /// The measured part of a trace, of one model or of all.
    pub fn measured(trace: &Trace, model: Option<ModelId>) -> Self {
        Self::of_iterations(measured_iterations(trace, model), Vec::new()).or_all(trace, model)
    }

    fn of_iterations(iterations: Vec<bool>, streams: Vec<bool>) -> Self {
        let count = iterations.iter().filter(|&&chosen| chosen).count();
        Self { iterations, outside: false, streams, averaged: count.max(1) }
    }

    /// Everything, where no task is tied to a chosen iteration: a profile may know its iterations, or have
    /// none, and not which task belongs to which.
    fn or_all(self, trace: &Trace, model: Option<ModelId>) -> Self {
        let model = model.or(trace.counted_model);
        let has_task = model.is_some() || trace.tasks.ids().any(|task| self.has_task(trace, task));
        if has_task { self } else { self.with_all() }
    }

    fn with_all(mut self) -> Self {
        self.iterations.fill(true);
        Self { outside: true, averaged: 1, ..self }
    }

    /// Whether what belongs to this iteration, or to none, is in the scope.
    pub fn has_iteration(&self, iteration: Option<IterationId>) -> bool {
        iteration.map_or(self.outside, |id| self.iterations[id.index()])
    }

    /// Whether a task is.
    pub fn has_task(&self, trace: &Trace, task: TaskId) -> bool {
        self.has_iteration(trace.tasks.iteration()[task.index()])
            && (self.streams.is_empty()
                || trace.tasks.stream()[task.index()].is_some_and(|stream| self.streams[stream.index()]))
    }

    /// Whether anything outside of the iterations is in the scope.
    pub fn is_whole(&self) -> bool {
        self.outside
    }

    /// The iterations in the scope.
    pub fn iterations<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = IterationId> + 'a {
        trace.iterations.ids().filter(|id| self.iterations[id.index()])
    }
}

/// By iteration, whether it is one of the model's, if there is one.
fn of_model(trace: &Trace, model: Option<ModelId>) -> impl Iterator<Item = bool> {
    let model = model.or(trace.counted_model);
    trace.iterations.model().iter().map(move |of| model.is_none() || *of == model)
}

/// By iteration, whether it was measured: warm-up ones are left out unless there are no others.
pub(crate) fn measured_iterations(trace: &Trace, model: Option<ModelId>) -> Vec<bool> {
    let rows = || of_model(trace, model).zip(trace.iterations.warm_up());
    let only_warm_up = rows().all(|(of_model, warm_up)| !of_model || *warm_up);
    rows().map(|(of_model, warm_up)| of_model && (only_warm_up || !warm_up)).collect()
}

/// By stream, whether it belongs to the device of the scope.
fn streams(trace: &Trace, scope: Scope) -> Result<Vec<bool>, ScopeError> {
    let Some(wanted) = scope.device else { return Ok(Vec::new()) };
    let numbers = trace.devices.number();
    if !numbers.contains(&wanted) {
        let names = trace.devices.iter().map(|(_, device)| {
            let name = trace.strings.get(device.name);
            if name.is_empty() { device.number.to_string() } else { format!("{} ({name})", device.number) }
        });
        let names: Vec<String> = names.collect();
        let known = match names.is_empty() {
            true => "the profile names no devices".to_owned(),
            false => format!("there are: {}", names.join(", ")),
        };
        return Err(ScopeError::NoDevice { wanted, known });
    }
    let devices = trace.streams.device().iter();
    Ok(devices.map(|device| numbers[device.index()] == wanted).collect())
}

fn no_iteration(trace: &Trace, first: u32, last: u32) -> ScopeError {
    let wanted = if first == last { first.to_string() } else { format!("{first}..{last}") };
    let numbers = trace.iterations.number();
    let known = match (numbers.iter().min(), numbers.iter().max()) {
        (Some(min), Some(max)) if min == max => format!("the only one is {min}"),
        (Some(min), Some(max)) => format!("there are {} from {min} to {max}", numbers.len()),
        _ => "the profile names no iterations".to_owned(),
    };
    ScopeError::NoIteration { wanted, known }
}
