//! Hardware counters of tasks: `TASK_PMU_INFO`, a row for each task and metric.

use std::collections::HashMap;

use opscope_trace::{LossKind, MetricId, TaskId, Trace};

use super::reader::Reader;
use crate::database::schema::TASK_PMU_INFO;
use crate::metrics::{is_for_cube, is_for_vector};

/// The values of all tasks.
pub(super) struct TaskMetrics {
    /// By the number that all runs of a task share, a list for each run.
    runs: HashMap<i64, Vec<Vec<(MetricId, f64)>>>,
    /// How many runs of each task were entered.
    entered: HashMap<i64, usize>,
    /// The metrics of the numbers of blocks, which stand elsewhere.
    blocks: [MetricId; 2],
}

impl Reader<'_> {
    /// Reads the metrics. Of those that a task has several values of, each is that of another run.
    pub(super) fn read_metrics(&mut self) -> TaskMetrics {
        const COLUMNS: [&str; 3] = TASK_PMU_INFO.select(["globalTaskId", "name", "value"]);
        let blocks = ["block_num", "mix_block_num"].map(|name| self.trace.enter_metric(name, ""));
        let mut runs: HashMap<i64, Vec<Vec<(MetricId, f64)>>> = HashMap::new();
        let mut seen: HashMap<(i64, MetricId), usize> = HashMap::new();
        let mut known: HashMap<i64, Option<(MetricId, f64)>> = HashMap::new();
        self.each_row(TASK_PMU_INFO.name, &COLUMNS, |reader, row| {
            let (Some(global), Some(name), Some(value)) = (row.integer(0), row.integer(1), row.float(2))
            else {
                return reader.trace.count_loss(LossKind::ValueWithoutTask, 1, TASK_PMU_INFO.name);
            };
            let metric = known.entry(name).or_insert_with(|| {
                let text = reader.texts.find(Some(name));
                let (name, unit, factor) = named(reader.texts.table.get(text))?;
                Some((reader.trace.enter_metric(name, unit), factor))
            });
            let Some((metric, factor)) = *metric else { return };
            let run = seen.entry((global, metric)).or_default();
            let runs = runs.entry(global).or_default();
            if runs.len() <= *run {
                runs.push(Vec::new());
            }
            runs[*run].push((metric, value * factor));
            *run += 1;
        });
        TaskMetrics { runs, entered: HashMap::new(), blocks }
    }
}

/// The name that the tables give a metric, its unit, and what a value is multiplied by. Times are
/// nanoseconds in the database and microseconds in the tables. Nothing for a unit that the kind of core
/// doesn't have, which the tables leave out.
fn named(name: &str) -> Option<(&str, &'static str, f64)> {
    if name.strip_prefix("aic_").is_some_and(|of_cube| !is_for_cube(of_cube))
        || name.strip_prefix("aiv_").is_some_and(|of_vector| !is_for_vector(of_vector))
    {
        return None;
    }
    Some(match name {
        "aic_total_time" | "total_time" => ("aicore_time", "us", 1e-3),
        "aiv_total_time" => ("aiv_time", "us", 1e-3),
        name if name.ends_with("_time") => (name, "us", 1e-3),
        name if name.contains("_bw") => (name, "GB/s", 1.0),
        name if name.ends_with("_datas") => (name, "KB", 1.0),
        "cube_utilization" => (name, "%", 1.0),
        name => (name, "", 1.0),
    })
}

impl TaskMetrics {
    /// Notes what is known of the next run of the task of a number.
    pub fn enter(&mut self, trace: &mut Trace, task: TaskId, global: i64, blocks: [f64; 2]) {
        let run = self.entered.entry(global).or_default();
        let of_hardware =
            self.runs.get(&global).and_then(|runs| runs.get(*run)).map_or(&[][..], Vec::as_slice);
        let of_hardware = of_hardware.iter().copied();
        *run += 1;
        let of_blocks = self.blocks.into_iter().zip(blocks).filter(|(_, blocks)| !blocks.is_nan());
        let (metrics, values): (Vec<MetricId>, Vec<f64>) = of_blocks.chain(of_hardware).unzip();
        if !values.is_empty() {
            trace.push_reading(task, &metrics, &values);
        }
    }
}
