//! The metrics of tasks, as readings of a trace.

use std::ops::Range;

use opscope_formats::reading::Stop;
use opscope_trace::{MetricId, TaskId, Trace};

use crate::facts::counters::CounterColumns;
use crate::facts::view::{DeviceView, TaskRef, View};
use crate::parallel;

/// The metrics of tasks, device by device.
pub(super) struct Measured {
    columns: Vec<Option<CounterColumns>>,
    /// For each device the metrics of its columns, behind those of the blocks: their numbers, and where they were
    /// recorded their times.
    metrics: Vec<Vec<MetricId>>,
}

/// The values of some tasks, end to end, and how many each has.
#[derive(Default)]
struct Part {
    /// The place of the first task among all.
    begin: usize,
    values: Vec<f64>,
    counts: Vec<usize>,
}

/// Metrics that every operator has: the numbers of blocks.
const BLOCKS: [&str; 2] = ["block_num", "mix_block_num"];

/// Microseconds of blocks on cube and on vector cores: of an average one and of the longest, which says how evenly
/// an operator is divided.
const BLOCK_TIMES: [&str; 4] =
    ["aic_block_time_mean", "aic_block_time_longest", "aiv_block_time_mean", "aiv_block_time_longest"];

impl Measured {
    pub(super) fn new(view: &View<'_>, trace: &mut Trace) -> Self {
        let columns: Vec<Option<CounterColumns>> =
            view.devices.iter().map(|device| CounterColumns::new(device.device, view.dialect)).collect();
        let mut metrics = Vec::with_capacity(columns.len());
        for (columns, device) in columns.iter().zip(&view.devices) {
            let headings = columns.as_ref().map(CounterColumns::headers).unwrap_or_default();
            let blocks = BLOCKS.map(|name| trace.enter_metric(name, ""));
            let counted = headings.iter().map(|heading| {
                let (name, unit) =
                    heading.strip_suffix(')').and_then(|h| h.rsplit_once('(')).unwrap_or((heading, ""));
                trace.enter_metric(name, unit)
            });
            let counted: Vec<MetricId> = counted.collect();
            let times = match device.joined.blocks.is_empty() {
                true => Vec::new(),
                false => BLOCK_TIMES.map(|name| trace.enter_metric(name, "us")).to_vec(),
            };
            metrics.push(blocks.into_iter().chain(times).chain(counted).collect());
        }
        Self { columns, metrics }
    }

    /// Enters what was measured of tasks; the first of them is the trace's task `first`, the others follow it.
    pub(super) fn enter(
        &self,
        trace: &mut Trace,
        first: usize,
        view: &View<'_>,
        tasks: &[TaskRef],
        stop: &Stop,
    ) {
        // To compute the values takes far longer than to enter them.
        let read = |rows: Range<usize>, part: &mut Part| {
            part.begin = rows.start;
            for &task in stop.within(&tasks[rows]) {
                let before = part.values.len();
                self.read(view, task, &mut part.values);
                part.counts.push(part.values.len() - before);
            }
        };
        parallel::row_parts(tasks.len(), read, |part| {
            let mut values = &part.values[..];
            for (place, count) in (part.begin..).zip(part.counts.drain(..)) {
                let (own, others) = values.split_at(count);
                values = others;
                let metrics = &self.metrics[tasks[place].device as usize][..count];
                trace.push_reading(TaskId::from_index(first + place), metrics, own);
            }
            part.values.clear();
        });
    }

    /// Appends the values of a task, which has none if it executes no operator.
    fn read(&self, view: &View<'_>, task: TaskRef, values: &mut Vec<f64>) {
        let host = view.host_task(task);
        let Some(op) = host.as_ref().and_then(|host| view.op(host)) else { return };
        values.extend([f64::from(op.blocks), f64::from(op.mix_blocks)]);
        let device = view.device(task);
        if !device.joined.blocks.is_empty() {
            values.extend(block_times(device, task.task));
        }
        if let Some(columns) = &self.columns[task.device as usize] {
            columns.read(view, task, &op, values);
        }
    }
}

/// The times of a task's blocks, [`BLOCK_TIMES`]; no numbers where there were none.
fn block_times(device: &DeviceView<'_>, task: u32) -> [f64; BLOCK_TIMES.len()] {
    let clock = &device.device.clock;
    let kinds = device.joined.blocks.get(&task).copied().unwrap_or_default();
    let [cube, vector] = kinds.map(|blocks| {
        let Some(blocks) = blocks else { return [f64::NAN; 2] };
        [clock.micros_f64(blocks.total) / f64::from(blocks.count), clock.micros_f64(blocks.longest)]
    });
    [cube[0], cube[1], vector[0], vector[1]]
}
