//! Work of data processing units (DPU) at wall-clock times, with the names of kernels.

use std::borrow::Cow;

use crate::facts::view::View;
use crate::kinds::communication::{
    DATA_TYPES, LINKS, Names, RDMA, REDUCTIONS_OF_DPU, ROLES_OF_DPU, TRANSPORTS, known,
};
use crate::kinds::runtime_name;
use crate::tables::{DpuStep, DpuTask};
use crate::vocabulary::UNKNOWN;

/// The name of a data processing unit among devices, and of the process of its lanes.
pub(crate) const UNIT: &str = "DPU";

/// The kinds of tasks, as tables name them.
pub(crate) const AI_CPU: &str = "AI_CPU";
pub(crate) const OTHER_KIND: &str = "UNKNOWN";

/// A task of a data processing unit, or a step of a collective operation there.
#[derive(Clone, Debug)]
pub(crate) struct DpuSpan<'a> {
    /// Begin and end; wall-clock nanoseconds.
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// The unit's number.
    pub(crate) device: u16,
    pub(crate) stream: u16,
    pub(crate) task: u32,
    /// The host's thread that reported it.
    pub(crate) thread: u32,
    pub(crate) name: &'a str,
    pub(crate) work: DpuWork,
}

/// The content of a span.
#[derive(Clone, Debug)]
pub(crate) enum DpuWork {
    Task {
        /// [`AI_CPU`] or [`OTHER_KIND`].
        kind: &'static str,
    },
    Step(DpuStep),
}

impl DpuSpan<'_> {
    /// Bytes a second that a step moves; 0 for one that took no time, and for tasks.
    pub(crate) fn bandwidth(&self) -> f64 {
        self.rate(1.0)
    }

    /// The same in gigabytes a second.
    pub(crate) fn gigabytes(&self) -> f64 {
        self.rate(1.0 / 1e9)
    }

    /// The rate in a unit, of which a byte is a part. The digits are those of the reference, which takes
    /// microseconds.
    fn rate(&self, part: f64) -> f64 {
        const THOUSAND: f64 = 1e3;
        const MICROSECONDS: f64 = 1e6;
        let length = self.end.saturating_sub(self.start);
        match &self.work {
            DpuWork::Step(step) if length > 0 => {
                step.size as f64 * part / (length as f64 / THOUSAND / MICROSECONDS)
            }
            _ => 0.0,
        }
    }
}

/// The work of all units, by begin.
pub(crate) fn dpu_spans<'a>(view: &View<'a>) -> Vec<DpuSpan<'a>> {
    let tables = &view.joined.data.host.dpu;
    let tasks = tables.tasks.rows().map(|task| {
        let name = kernel(view, &task).map_or(UNKNOWN, |kernel| named(view, kernel));
        let is_on_ai_cpu = runtime_name(&view.joined.data.host.names, task.kind) == "KERNEL_AICPU";
        let kind = if is_on_ai_cpu { AI_CPU } else { OTHER_KIND };
        DpuSpan {
            start: view.host_time(task.start),
            end: view.host_time(task.end),
            device: task.device,
            stream: task.stream,
            task: task.task,
            thread: task.thread,
            name,
            work: DpuWork::Task { kind },
        }
    });
    let steps = tables.steps.rows().map(|step| DpuSpan {
        start: view.host_time(step.start),
        end: view.host_time(step.end),
        device: step.device,
        stream: step.stream,
        task: step.task,
        thread: step.thread,
        name: view.text(step.name),
        work: DpuWork::Step(step),
    });
    let mut spans: Vec<DpuSpan<'a>> = tasks.chain(steps).collect();
    spans.sort_by_key(|span| (span.start, span.end));
    spans
}

/// The kernel of a task: of several notes on its number the last one before it began, else the first.
fn kernel(view: &View<'_>, task: &DpuTask) -> Option<u64> {
    let table = &view.joined.data.host.dpu.kernels;
    let key = (task.device, task.task);
    let place = |row: usize| (table.device()[row], table.task()[row]);
    let (mut low, mut high) = (0, table.len());
    // The first note on this number behind the task's begin.
    while low < high {
        let middle = low + (high - low) / 2;
        match (place(middle), table.time()[middle]) <= (key, task.start) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    let before = low.checked_sub(1).filter(|row| place(*row) == key);
    let row = before.or_else(|| Some(low).filter(|row| *row < table.len() && place(*row) == key))?;
    Some(table.kernel()[row])
}

/// The text of a hash; `N/A` if no dictionary has it.
pub(crate) fn named<'a>(view: &View<'a>, hash: u64) -> &'a str {
    let text = view.text(hash);
    if text == hash.to_string() { UNKNOWN } else { text }
}

/// The group of a step: its name, with the number that stands for it.
pub(crate) fn group(view: &View<'_>, step: &DpuStep) -> String {
    format!("{}({})", named(view, step.group), step.group)
}

/// The words for a step's reduction, element type, link, transport and remote access.
pub(crate) struct StepWords {
    pub(crate) reduction: Cow<'static, str>,
    pub(crate) data_type: Cow<'static, str>,
    pub(crate) link: Cow<'static, str>,
    pub(crate) transport: Cow<'static, str>,
    pub(crate) rdma: Cow<'static, str>,
    pub(crate) role: Cow<'static, str>,
}

impl StepWords {
    /// The words of a step; numbers without a word stay numbers.
    pub(crate) fn of(step: &DpuStep) -> Self {
        let word = |names: Names, number: u8| match known(names, u32::from(number)) {
            Some(word) => Cow::Borrowed(word),
            None => Cow::Owned(number.to_string()),
        };
        Self {
            reduction: word(REDUCTIONS_OF_DPU, step.reduction),
            data_type: word(DATA_TYPES, step.data_type),
            link: word(LINKS, step.link),
            transport: word(TRANSPORTS, step.transport),
            rdma: word(RDMA, step.rdma),
            role: word(ROLES_OF_DPU, step.role),
        }
    }
}
