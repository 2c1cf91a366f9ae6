//! The metrics that hardware reported of kernels.
//!
//! A name is looked up once, and gives a [`Metric`]: by list of metrics, the places of its values. Tasks of which the
//! same was measured share their list, so that a value of one of a million kernels is an index away.

use std::collections::HashMap;

use opscope_trace::{MetricId, Pool, Span, Trace};

use crate::kernels::Kernel;

/// The metrics of a profile.
#[derive(Default)]
pub(crate) struct Metrics<'a> {
    /// By their names in small letters, with the factor that makes a part of 1 of them.
    by_name: HashMap<String, Vec<(MetricId, f64)>>,
    /// The different lists of metrics that tasks have values of.
    lists: Vec<&'a [MetricId]>,
}

/// The values that were measured of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// The place of their list of metrics among the different ones.
    list: u32,
    values: Span<f64>,
}

impl<'a> Metrics<'a> {
    /// The metrics of a trace, and by task the values of it.
    pub fn of(trace: &'a Trace) -> (Self, Vec<Option<Reading>>) {
        let mut metrics = Self::default();
        for (id, metric) in trace.metrics.iter() {
            let factor = if trace.strings.get(metric.unit) == "%" { 0.01 } else { 1.0 };
            let name = trace.strings.get(metric.name).to_ascii_lowercase();
            metrics.by_name.entry(name).or_default().push((id, factor));
        }
        let mut readings: Vec<Option<Reading>> = vec![None; trace.tasks.len()];
        let mut known: HashMap<&[MetricId], u32> = HashMap::new();
        let mut last: Option<(Span<MetricId>, u32)> = None;
        let rows = &trace.readings;
        for ((task, span), values) in rows.task().iter().zip(rows.metrics()).zip(rows.values()) {
            let list = match last.filter(|(known, _)| known == span) {
                Some((_, list)) => list,
                None => *known.entry(trace.metric_lists.get(*span)).or_insert_with_key(|list| {
                    metrics.lists.push(list);
                    metrics.lists.len() as u32 - 1
                }),
            };
            last = Some((*span, list));
            readings[task.index()] = Some(Reading { list, values: *values });
        }
        (metrics, readings)
    }

    /// Whether there is a metric of that name, on whichever kind of core.
    pub fn has(&self, name: &str) -> bool {
        spellings(name).iter().any(|name| self.by_name.contains_key(name))
    }

    /// Looks a name up.
    pub fn find(&self, trace: Option<&'a Trace>, name: &str) -> Metric<'a> {
        let spelled = spellings(name);
        let ids: Vec<(MetricId, f64)> =
            spelled.iter().filter_map(|name| self.by_name.get(name)).flatten().copied().collect();
        let places = |list: &&[MetricId]| {
            let place = |id: MetricId| list.iter().position(|metric| *metric == id);
            ids.iter().filter_map(|&(id, factor)| Some((place(id)?, factor))).collect()
        };
        let values = trace.filter(|_| !ids.is_empty()).map(|trace| &trace.metric_values);
        Metric { values, places: self.lists.iter().map(places).collect() }
    }
}

/// A metric by its name; several where more than one kind of core has it.
pub(crate) struct Metric<'a> {
    /// The values of all readings; none where the profile lacks the metric.
    values: Option<&'a Pool<f64>>,
    /// By list of metrics, the places of the values with their factors.
    places: Vec<Vec<(usize, f64)>>,
}

impl Metric<'_> {
    /// The value of a kernel; the greatest where several kinds of cores have it. Percentages become parts of 1.
    pub fn of(&self, kernel: &Kernel<'_>) -> Option<f64> {
        let (values, reading) = (self.values?, kernel.reading?);
        let values = values.get(reading.values);
        let places = self.places[reading.list as usize].iter();
        places.filter_map(|(place, factor)| Some(values.get(*place)? * factor)).reduce(f64::max)
    }
}

/// The names that tables of different chips have for a metric, in small letters.
fn spellings(name: &str) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let mut all = vec![format!("aic_{name}"), format!("aiv_{name}")];
    if let Some(unit) = name.strip_suffix("_ratio") {
        all.push(format!("{unit}_exe_ratio"));
    }
    all.push(name);
    all
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Nanoseconds, Operator, Task};

    use super::*;
    use crate::Subject;

    #[test]
    fn a_metric_is_found_in_whatever_list_a_task_has_it_and_on_whichever_core() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("conv");
        let operator = Some(trace.operators.push(Operator::new(name, name)));
        let cube = trace.enter_metric("aic_mac_ratio", "");
        let vector = trace.enter_metric("AIV_mac_ratio", "%");
        let time = trace.enter_metric("mac_time", "us");
        let readings: [&[(MetricId, f64)]; 5] = [
            &[(cube, 0.5), (time, 3.0)],
            &[(time, 4.0), (vector, 25.0)],
            &[(cube, 0.125), (vector, 75.0)],
            &[(time, 5.0), (cube, 0.25)],
            &[(time, 6.0)],
        ];
        for (number, reading) in readings.into_iter().enumerate() {
            let start = Nanoseconds(number as i64 * 10);
            let task = trace.tasks.push(Task { operator, ..Task::new(name, start, Nanoseconds(5)) });
            let (ids, values): (Vec<MetricId>, Vec<f64>) = reading.iter().copied().unzip();
            trace.push_reading(task, &ids, &values);
        }
        let start = Nanoseconds(50);
        trace.tasks.push(Task { operator, ..Task::new(name, start, Nanoseconds(5)) });

        let subject = Subject::new(Some(&trace), None, None);
        let values = |name: &str| -> Vec<Option<f64>> {
            let metric = subject.metric(name);
            subject.kernels.iter().map(|kernel| metric.of(kernel)).collect()
        };
        assert_eq!(values("mac_ratio"), [Some(0.5), Some(0.25), Some(0.75), Some(0.25), None, None]);
        assert_eq!(values("mac_time"), [Some(3.0), Some(4.0), None, Some(5.0), Some(6.0), None]);
        assert!(subject.has_metric("mac_ratio") && !subject.has_metric("vec_ratio"));
        assert_eq!(values("vec_ratio"), [None; 6]);
    }
}
