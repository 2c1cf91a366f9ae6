//! Which part of a trace a question is about.

use opscope_trace::{IterationId, TaskId, Trace};

/// The iterations that a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iterations {
    /// Those that were measured: warm-up ones are left out unless there are no others, and so is
    /// what lies outside of all.
    #[default]
    Measured,
    /// All of them, and what lies outside. Figures are of the whole profile then.
    All,
    /// Those of these numbers, both included.
    Numbers(u32, u32),
}

/// A part of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The iterations.
    pub iterations: Iterations,
    /// The number of the device; `None` is all of them.
    pub device: Option<u32>,
}

/// A scope that the trace doesn't have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// No iteration has such a number.
    #[error("there is no iteration {wanted}; {known}")]
    NoIteration {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: String,
    },
    /// No device has the number.
    #[error("there is no device {wanted}; {known}")]
    NoDevice {
        /// What was asked for.
        wanted: u32,
        /// What there is.
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
        let rows = &trace.iterations;
        let only_warm_up = rows.warm_up().iter().all(|&warm_up| warm_up);
        let iterations: Vec<bool> = match scope.iterations {
            Iterations::All => vec![true; rows.len()],
            Iterations::Measured => rows.warm_up().iter().map(|&warm_up| only_warm_up || !warm_up).collect(),
            Iterations::Numbers(first, last) => {
                rows.number().iter().map(|number| (first..=last).contains(number)).collect()
            }
        };
        let count = iterations.iter().filter(|&&chosen| chosen).count();
        if let (Iterations::Numbers(first, last), 0) = (scope.iterations, count) {
            return Err(no_iteration(trace, first, last));
        }
        let mut chosen =
            Self { iterations, outside: false, streams: streams(trace, scope)?, averaged: count.max(1) };
        match scope.iterations {
            Iterations::All => chosen.take_all(),
            // A profile may know its iterations and yet not which task belongs to which.
            Iterations::Measured if !trace.tasks.ids().any(|task| chosen.has_task(trace, task)) => {
                chosen.take_all();
            }
            _ => {}
        }
        Ok(chosen)
    }

    fn take_all(&mut self) {
        self.iterations.fill(true);
        self.outside = true;
        self.averaged = 1;
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
