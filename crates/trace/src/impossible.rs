//! Times and values that can't be: what a damaged file or a broken clock leaves in a profile.

use crate::{ApiCallId, IterationId, LaunchSite, LossKind, Nanoseconds, Reading, TaskId, Trace};

/// Nothing that a profile records takes longer than a year; what seems to has a start or an end that was
/// never written.
const LONGEST: i64 = 366 * 24 * 3600 * 1_000_000_000;

/// Whether something can have begun then and taken so long.
fn is_possible(start: Nanoseconds, duration: Nanoseconds) -> bool {
    is_possible_instant(start) && (0..=LONGEST).contains(&duration.0)
}

/// Whether a time isn't one of those at the ends of the range, where sums of larger ones stay.
fn is_possible_instant(time: Nanoseconds) -> bool {
    time.0.unsigned_abs() < (i64::MAX - LONGEST) as u64
}

impl Trace {
    /// Drops every task, call, range, inference and sample whose time can't be, and counts it as a loss:
    /// a negative duration, one of more than a year, a start that is out of range. Samples of no number are
    /// dropped and counted as well, and values of readings that are none, which weren't measured, dropped.
    /// `detail` names the file.
    pub fn drop_impossible(&mut self, detail: &str) {
        let iterations = possible(self.iterations.start(), self.iterations.duration());
        let unrecorded = &self.unrecorded_iterations;
        let unrecorded = possible(unrecorded.start(), unrecorded.duration());
        let calls = possible(self.api_calls.start(), self.api_calls.duration());
        let tasks = possible(self.tasks.start(), self.tasks.duration());
        let ranges = possible(self.ranges.start(), self.ranges.duration());
        if let Some(keep) = iterations {
            self.drop_iterations(&keep, detail);
        }
        if let Some(keep) = unrecorded {
            self.unrecorded_iterations.retain(&keep);
            self.count_impossible(LossKind::ImpossibleUnrecordedIteration, &keep, detail);
        }
        if let Some(keep) = calls {
            self.retain_calls(&keep);
            self.count_impossible(LossKind::ImpossibleCall, &keep, detail);
        }
        if let Some(keep) = tasks {
            self.drop_tasks(&keep, detail);
        }
        if let Some(keep) = ranges {
            self.ranges.retain(&keep);
            self.count_impossible(LossKind::ImpossibleRange, &keep, detail);
        }
        if !self.samples.time().iter().copied().all(is_possible_instant) {
            let keep: Vec<bool> = self.samples.time().iter().map(|&time| is_possible_instant(time)).collect();
            self.samples.retain(&keep);
            self.count_impossible(LossKind::ImpossibleSample, &keep, detail);
        }
        if !self.samples.value().iter().all(|value| value.is_finite()) {
            let keep: Vec<bool> = self.samples.value().iter().map(|value| value.is_finite()).collect();
            self.samples.retain(&keep);
            self.count_impossible(LossKind::SampleNotFinite, &keep, detail);
        }
        self.drop_unmeasured();
    }

    /// Drops the values of readings that are no numbers, by which databases of earlier versions say that
    /// nothing was measured.
    fn drop_unmeasured(&mut self) {
        let are_finite =
            |row: Reading| self.metric_values.get(row.values).iter().all(|value| value.is_finite());
        if self.readings.iter().all(|(_, row)| are_finite(row)) {
            return;
        }
        let readings = std::mem::take(&mut self.readings);
        let (lists, values) =
            (std::mem::take(&mut self.metric_lists), std::mem::take(&mut self.metric_values));
        for (_, row) in readings.iter() {
            self.push_reading(row.task, lists.get(row.metrics), values.get(row.values));
        }
    }

    fn drop_iterations(&mut self, keep: &[bool], detail: &str) {
        self.retain_iterations(keep);
        self.count_impossible(LossKind::ImpossibleIteration, keep, detail);
    }

    /// Keeps some of the inferences, a word for each. Tasks and calls of the others belong to none any more.
    pub fn retain_iterations(&mut self, keep: &[bool]) {
        self.iterations.retain(keep);
        let moved: Vec<Option<IterationId>> = moved(keep, IterationId::from_index);
        let moved = |id: Option<IterationId>| moved[id?.index()];
        for id in self.tasks.ids() {
            let row = self.tasks.get(id);
            self.tasks.set(id, crate::Task { iteration: moved(row.iteration), ..row });
        }
        for id in self.api_calls.ids() {
            let row = self.api_calls.get(id);
            self.api_calls.set(id, crate::ApiCall { iteration: moved(row.iteration), ..row });
        }
    }

    /// Keeps some of the calls, a word for each. No task is launched by the others any more.
    pub fn retain_calls(&mut self, keep: &[bool]) {
        self.api_calls.retain(keep);
        let moved: Vec<Option<ApiCallId>> = moved(keep, ApiCallId::from_index);
        for id in self.tasks.ids() {
            let row = self.tasks.get(id);
            let launched_by = row.launched_by.and_then(|call| moved[call.index()]);
            self.tasks.set(id, crate::Task { launched_by, ..row });
        }
        let of_kept: Vec<bool> = self.launch_sites.call().iter().map(|call| keep[call.index()]).collect();
        self.launch_sites.retain(&of_kept);
        for id in self.launch_sites.ids() {
            let row = self.launch_sites.get(id);
            let call = moved[row.call.index()].unwrap_or(row.call);
            self.launch_sites.set(id, LaunchSite { call, ..row });
        }
    }

    fn drop_tasks(&mut self, keep: &[bool], detail: &str) {
        self.tasks.retain(keep);
        let moved: Vec<Option<TaskId>> = moved(keep, TaskId::from_index);
        let of_kept: Vec<bool> = self.readings.task().iter().map(|task| keep[task.index()]).collect();
        self.readings.retain(&of_kept);
        for id in self.readings.ids() {
            let row = self.readings.get(id);
            let task = moved[row.task.index()].unwrap_or(row.task);
            self.readings.set(id, Reading { task, ..row });
        }
        let of_kept: Vec<bool> = self.launch_sites.task().iter().map(|task| keep[task.index()]).collect();
        self.launch_sites.retain(&of_kept);
        for id in self.launch_sites.ids() {
            let row = self.launch_sites.get(id);
            let task = moved[row.task.index()].unwrap_or(row.task);
            self.launch_sites.set(id, LaunchSite { task, ..row });
        }
        self.count_impossible(LossKind::ImpossibleTask, keep, detail);
    }

    fn count_impossible(&mut self, kind: LossKind, keep: &[bool], detail: &str) {
        let dropped = keep.iter().filter(|kept| !**kept).count() as u64;
        self.count_loss(kind, dropped, detail);
    }
}

/// Which rows can be; `None` when all can.
fn possible(starts: &[Nanoseconds], durations: &[Nanoseconds]) -> Option<Vec<bool>> {
    let rows = || starts.iter().zip(durations).map(|(&start, &duration)| is_possible(start, duration));
    if rows().all(|possible| possible) { None } else { Some(rows().collect()) }
}

/// The new id of each row that is kept.
fn moved<Id>(keep: &[bool], id: impl Fn(usize) -> Id) -> Vec<Option<Id>> {
    let mut next = 0;
    let mut step = |&kept: &bool| {
        kept.then(|| {
            next += 1;
            id(next - 1)
        })
    };
    keep.iter().map(&mut step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApiCall, ApiLevel, Counter, Iteration, Range, Sample, Task, UnrecordedIteration};

    const HOUR: Nanoseconds = Nanoseconds(3600 * 1_000_000_000);

    #[test]
    fn what_has_a_time_that_can_not_be_is_dropped_counted_and_no_longer_referred_to() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let bad = Nanoseconds(-40);
        for duration in [bad, HOUR] {
            let start = Nanoseconds(5);
            trace.iterations.push(Iteration { model: None, number: 0, warm_up: false, start, duration });
            let unrecorded = UnrecordedIteration { model: None, number: 1, warm_up: false, start, duration };
            trace.unrecorded_iterations.push(unrecorded);
            let iteration = trace.iterations.ids().last();
            let level = ApiLevel::Runtime;
            let call = ApiCall { thread: None, level, name, start, duration, iteration };
            let launched_by = Some(trace.api_calls.push(call));
            trace.ranges.push(Range::new(name, start, duration));
            let task = trace.tasks.push(Task { iteration, launched_by, ..Task::new(name, start, duration) });
            let metric = trace.enter_metric("cycles", "");
            trace.push_reading(task, &[metric], &[duration.0 as f64]);
        }
        let counter = trace.counters.push(Counter { name, unit: name, device: None });
        for (time, value) in
            [(Nanoseconds(i64::MAX), 1.0), (HOUR, 1.0), (HOUR, f64::NAN), (HOUR, f64::INFINITY)]
        {
            trace.samples.push(Sample { counter, time, value });
        }

        trace.drop_impossible("file.json");
        assert_eq!(trace.tasks.duration(), [HOUR]);
        assert_eq!(trace.tasks.iteration(), [Some(IterationId::from_index(0))]);
        assert_eq!(trace.tasks.launched_by(), [Some(ApiCallId::from_index(0))]);
        assert_eq!(trace.readings.task(), [TaskId::from_index(0)]);
        assert_eq!(trace.iterations.duration(), [HOUR]);
        assert_eq!(trace.unrecorded_iterations.duration(), [HOUR]);
        assert_eq!(trace.api_calls.duration(), [HOUR]);
        assert_eq!(trace.ranges.duration(), [HOUR]);
        assert_eq!(trace.samples.time(), [HOUR]);
        assert_eq!(trace.losses.count(), [1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(trace.losses.kind().last(), Some(&LossKind::SampleNotFinite));
    }

    #[test]
    fn values_of_readings_that_are_no_numbers_are_dropped() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let task = trace.tasks.push(Task::new(name, HOUR, HOUR));
        let [mac, time] = ["mac_ratio", "vec_time"].map(|name| trace.enter_metric(name, ""));
        let metrics = trace.metric_lists.push([mac, time]);
        for values in [[0.5, f64::NAN], [f64::NAN, f64::NAN], [0.25, 1.0]] {
            let values = trace.metric_values.push(values);
            trace.readings.push(Reading { task, metrics, values });
        }
        trace.drop_impossible("file.db");
        let readings = trace.readings.ids().map(|id| trace.readings_of(id).collect::<Vec<_>>());
        assert_eq!(readings.collect::<Vec<_>>(), [vec![(mac, 0.5)], vec![(mac, 0.25), (time, 1.0)]]);
        assert!(trace.losses.is_empty(), "what wasn't measured isn't lost");
    }

    #[test]
    fn ends_of_the_range_and_centuries_can_not_be_but_the_time_of_day_can() {
        let today = Nanoseconds(1_790_000_000_000_000_000);
        assert!(is_possible(today, HOUR) && is_possible(Nanoseconds(-5), Nanoseconds::ZERO));
        assert!(!is_possible(Nanoseconds::ZERO, today), "from no start at all until today");
        assert!(!is_possible(Nanoseconds(i64::MAX), Nanoseconds::ZERO));
        assert!(!is_possible(Nanoseconds(i64::MIN), Nanoseconds::ZERO));
        assert!(!is_possible(today, Nanoseconds(i64::MAX)));
    }
}
