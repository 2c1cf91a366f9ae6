//! The use of caches by task (`l2_cache.csv`), laid to the tasks of a trace.

use std::collections::HashMap;

use opscope_trace::{FigureTopic, LossKind, MetricId, Reading, TaskId, Trace};

/// The metrics, as they are called where the devices' records tell them.
const METRICS: [(&str, &str); 2] = [("hit rate", "l2_hit_rate"), ("victim rate", "l2_victim_rate")];

/// Adds the figures about caches to what was measured of the tasks. Numbers of tasks are used again: the k-th row
/// of an operator under a number is that of its k-th run, and where there are not as many of both, none is placed.
pub(in crate::read) fn add_readings(trace: &mut Trace, table: &Trace) {
    trace.append_losses(table);
    let mut rows: HashMap<(&str, &str), Vec<[f64; 2]>> = HashMap::new();
    let text = |id| table.strings.get(id);
    let mut last = None;
    for (_, row) in table.figures.iter().filter(|(_, row)| row.topic == FigureTopic::Cache) {
        let name = text(row.name);
        let Some(metric) = METRICS.iter().position(|(figure, _)| *figure == name) else { continue };
        let of_task = rows.entry((text(row.subject), text(row.part))).or_default();
        // Both figures of a row follow one another, the hit rate first.
        let place = (row.subject, row.part);
        if metric == 0 || last != Some((place, of_task.len())) {
            of_task.push([f64::NAN; 2]);
        }
        if let Some(values) = of_task.last_mut() {
            values[metric] = row.value;
        }
        last = (metric == 0).then_some((place, of_task.len()));
    }
    let mut runs: HashMap<(&str, String), Vec<TaskId>> = HashMap::new();
    for (id, task) in trace.tasks.iter() {
        if let (Some(stream), Some(number), Some(_)) = (task.stream, task.number, task.operator) {
            let stream = trace.streams.get(stream);
            let (name, device) =
                (trace.strings.get(task.name), trace.devices.number()[stream.device.index()]);
            let place = format!("stream {} task {number}", stream.number);
            // A table of several devices names them.
            let places = [format!("device {device}, {place}"), place];
            let known = places.into_iter().find(|place| rows.contains_key(&(name, &**place)));
            if let Some(place) = known {
                runs.entry((name, place)).or_default().push(id);
            }
        }
    }
    let mut values: HashMap<TaskId, [f64; 2]> = HashMap::new();
    let mut unplaced = 0;
    for ((name, place), rows) in rows {
        let mut tasks = runs.remove(&(name, place.to_owned())).unwrap_or_default();
        if tasks.len() != rows.len() {
            unplaced += rows.len() as u64;
            continue;
        }
        tasks.sort_by_key(|task| trace.tasks.start()[task.index()]);
        values.extend(tasks.into_iter().zip(rows));
    }
    let metrics = METRICS.map(|(_, name)| trace.enter_metric(name, ""));
    enter(trace, metrics, &values);
    trace.count_loss(LossKind::ValueWithoutTask, unplaced, "l2_cache");
}

/// Lays the values to the readings of their tasks.
fn enter(trace: &mut Trace, metrics: [MetricId; 2], values: &HashMap<TaskId, [f64; 2]>) {
    if values.is_empty() {
        return;
    }
    let readings = std::mem::take(&mut trace.readings);
    let (lists, all) = (std::mem::take(&mut trace.metric_lists), std::mem::take(&mut trace.metric_values));
    let known: HashMap<TaskId, Reading> = readings.iter().map(|(_, row)| (row.task, row)).collect();
    for task in trace.tasks.ids() {
        let reading = known.get(&task);
        let mut names: Vec<MetricId> = reading.map_or_else(Vec::new, |row| lists.get(row.metrics).to_vec());
        let mut measured: Vec<f64> = reading.map_or_else(Vec::new, |row| all.get(row.values).to_vec());
        for (metric, value) in metrics.into_iter().zip(values.get(&task).into_iter().flatten()) {
            // Facts of the devices' records go before.
            if !names.contains(&metric) {
                names.push(metric);
                measured.push(*value);
            }
        }
        trace.push_reading(task, &names, &measured);
    }
}
