//! Operators that call one another, as the outermost of them.
//!
//! PyTorch's profiler records an operator of the host with all those by which it works: `aten::conv2d` lasts as long as
//! `aten::mkldnn_convolution` some calls further in, and has hardly any time of its own. Other engines have one
//! operator there. So against a profile of theirs the time of all counts as that of the outermost; and since each call
//! has the name of its function, the first call of a name in an inference is one operator, the second another.

use std::collections::HashMap;

use opscope_trace::{ExecutionUnit, IterationId, Nanoseconds, StringId, TaskId, Trace};

use crate::Measured;
use crate::nesting::by_lane_and_start;

/// Profilers that tell whole microseconds cut begins and durations each by itself: a call may seem to end so much
/// behind the one that it is a part of.
const ROUNDED: Nanoseconds = Nanoseconds(2_000);

/// The outermost operators of a trace.
pub(super) struct Nests {
    /// By task, the place of the one that it is a part of; its own where there is none.
    outermost: Vec<u32>,
    /// By task, how many of its name began before it in its iteration, where it is outermost.
    numbers: HashMap<u32, u32>,
}

impl Nests {
    /// Whether a trace is of PyTorch's: has functions of its namespace, be they operators or calls of the host.
    pub fn are_in(trace: &Trace) -> bool {
        trace.strings.iter().any(|(_, text)| text.starts_with("aten::"))
    }

    pub fn of(trace: &Trace, measured: &Measured) -> Self {
        let tasks = &trace.tasks;
        let mut outermost: Vec<u32> = (0..tasks.len() as u32).collect();
        // The last task that has begun on the stream at hand, and those around it.
        let mut open: Vec<u32> = Vec::new();
        let mut stream = None;
        for &task in &by_lane_and_start(tasks.stream(), tasks.start(), tasks.duration()) {
            let index = task as usize;
            if tasks.unit()[index] != ExecutionUnit::Cpu {
                continue;
            }
            if stream.replace(tasks.stream()[index]) != Some(tasks.stream()[index]) {
                open.clear();
            }
            let end = |task: u32| tasks.start()[task as usize] + tasks.duration()[task as usize];
            // A call that ends behind the one within which it begins is no part of that.
            let is_over =
                |around: u32| end(around) <= tasks.start()[index] || end(around) + ROUNDED < end(task);
            while open.last().is_some_and(|around| is_over(*around)) {
                open.pop();
            }
            if let Some(around) = open.last().map(|around| outermost[*around as usize])
                && is_function(trace, around as usize)
            {
                outermost[index] = around;
            }
            open.push(task);
        }
        let numbers = numbers(trace, measured, &outermost);
        Self { outermost, numbers }
    }

    /// The task whose part another is, or itself.
    pub fn outermost(&self, task: TaskId) -> TaskId {
        TaskId::from_index(self.outermost[task.index()] as usize)
    }

    /// How many outermost tasks of its name began before one in its iteration; 0 outside of all.
    pub fn number(&self, outermost: TaskId) -> u32 {
        self.numbers.get(&(outermost.index() as u32)).copied().unwrap_or(0)
    }
}

/// The number of each outermost task among those of its name in its iteration, in the order of their begins.
fn numbers(trace: &Trace, measured: &Measured, outermost: &[u32]) -> HashMap<u32, u32> {
    let tasks = &trace.tasks;
    // Kernels of devices have names of their own, and are as they were recorded.
    let is_outermost = |task: &&TaskId| {
        let index = task.index();
        outermost[index] as usize == index && tasks.unit()[index] == ExecutionUnit::Cpu
    };
    let mut order: Vec<TaskId> = measured.tasks.iter().filter(is_outermost).copied().collect();
    order.sort_by_key(|task| tasks.start()[task.index()]);
    let mut counts: HashMap<(IterationId, StringId), u32> = HashMap::new();
    let mut numbers = HashMap::new();
    for task in order {
        let Some(iteration) = tasks.iteration()[task.index()] else { continue };
        let count = counts.entry((iteration, tasks.name()[task.index()])).or_default();
        numbers.insert(task.index() as u32, *count);
        *count += 1;
    }
    numbers
}

/// Whether a task is a function that computes, and not one that only calls others, such as a scripted module's
/// `forward` or a node of the backward graph (`autograd::engine::evaluate_function`).
fn is_function(trace: &Trace, task: usize) -> bool {
    let name = trace.strings.get(trace.tasks.name()[task]);
    name.contains("::") && !name.starts_with("autograd::")
}
