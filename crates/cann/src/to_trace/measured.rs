//! The metrics of tasks, as readings of a trace.

use opscope_trace::{MetricId, TaskId, Trace};

use crate::facts::counters::CounterColumns;
use crate::facts::view::{TaskRef, View};
use crate::join::HostTask;

/// The metrics of tasks, device by device.
pub(super) struct Measured {
    columns: Vec<Option<CounterColumns>>,
    /// For each device the metrics of its columns, behind those of the blocks.
    metrics: Vec<Vec<MetricId>>,
    values: Vec<f64>,
}

/// Metrics that every operator has: the numbers of blocks.
const BLOCKS: [&str; 2] = ["block_num", "mix_block_num"];

impl Measured {
    pub(super) fn new(view: &View<'_>, trace: &mut Trace) -> Self {
        let columns: Vec<Option<CounterColumns>> =
            view.devices.iter().map(|device| CounterColumns::new(device.device, view.dialect)).collect();
        let mut metrics = Vec::with_capacity(columns.len());
        for columns in &columns {
            let headings = columns.as_ref().map(CounterColumns::headers).unwrap_or_default();
            let blocks = BLOCKS.map(|name| trace.enter_metric(name, ""));
            let counted = headings.iter().map(|heading| {
                let (name, unit) =
                    heading.strip_suffix(')').and_then(|h| h.rsplit_once('(')).unwrap_or((heading, ""));
                trace.enter_metric(name, unit)
            });
            metrics.push(blocks.into_iter().chain(counted).collect());
        }
        Self { columns, metrics, values: Vec::new() }
    }

    pub(super) fn enter(
        &mut self,
        trace: &mut Trace,
        id: TaskId,
        view: &View<'_>,
        task: TaskRef,
        host: Option<&HostTask>,
    ) {
        let Some(op) = host.and_then(|host| view.op(host)) else { return };
        let device = task.device as usize;
        self.values.clear();
        self.values.extend([f64::from(op.blocks), f64::from(op.mix_blocks)]);
        if let Some(columns) = &self.columns[device] {
            columns.read(view, task, &op, &mut self.values);
        }
        let metrics = &self.metrics[device][..self.values.len()];
        trace.push_reading(id, metrics, &self.values);
    }
}
