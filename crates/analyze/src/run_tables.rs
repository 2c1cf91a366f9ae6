//! A run in tables: the components, what the cores counted, the types of operators, the calls, the
//! frequency. Operators and their counters are those that any query counts; all else is of the whole profile.

use std::collections::HashMap;

use opscope_trace::{
    ApiLevel, CounterId, DeviceId, ExecutionUnit, MetricId, Nanoseconds, OperatorId, RangeKind, StringId,
    Trace,
};

use crate::calls::{CallKind, CallKinds, Phase};
use crate::cover::{Cover, Span};
use crate::nesting::self_times;
use crate::query::{Execution, Query, name_and_type, rows_by};
use crate::scope::{Chosen, is_work};

/// How many durations there are, and how long they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total: Nanoseconds,
    /// The shortest.
    pub min: Nanoseconds,
    /// The longest.
    pub max: Nanoseconds,
}

impl Durations {
    /// The average.
    pub fn mean(&self) -> Nanoseconds {
        Nanoseconds(self.total.0 / (self.count.max(1) as i64))
    }

    fn add(&mut self, duration: Nanoseconds) {
        self.count += 1;
        self.total += duration;
        self.min = self.min.min(duration);
        self.max = self.max.max(duration);
    }
}

impl Default for Durations {
    fn default() -> Self {
        Self { count: 0, total: Nanoseconds::ZERO, min: Nanoseconds(i64::MAX), max: Nanoseconds(i64::MIN) }
    }
}

/// The counters of the cores while an operator ran.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreMetrics {
    /// The operator.
    pub operator: OperatorId,
    /// The unit that executed it.
    pub unit: ExecutionUnit,
    /// Its own time in those of its tasks that have metrics.
    pub time: Durations,
    /// The average of each metric over these tasks, in the order in which they are recorded.
    pub metrics: Vec<(MetricId, f64)>,
}

/// One type of operators on one unit; tasks of no operator have their name for a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypeStatistic {
    /// The type.
    pub op_type: StringId,
    /// The unit.
    pub unit: ExecutionUnit,
    /// The own time of the tasks.
    pub time: Durations,
    /// Their share of the own time of all operators, from 0 to 1.
    pub share: f64,
}

/// A part of the software or the device that spans of time are recorded of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// The ranges that the program marked.
    Ranges,
    /// The calls of a layer.
    Calls(ApiLevel),
    /// The tasks of devices.
    Tasks,
}

/// The spans of a component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentUse {
    /// The component.
    pub component: Component,
    /// Whether while inferences ran or once; `None` for what isn't told apart.
    pub phase: Option<Phase>,
    /// The durations of its spans, which may lie within one another.
    pub time: Durations,
    /// The time in which at least one was open.
    pub covered: Nanoseconds,
    /// The name of the longest.
    pub longest: StringId,
}

/// The calls of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallStatistic {
    /// The layer.
    pub level: ApiLevel,
    /// The name.
    pub name: StringId,
    /// Whether they lie within calls of the same layer and name.
    pub within_itself: bool,
    /// Whether they are made while inferences run or once.
    pub phase: Option<Phase>,
    /// How long the calls took.
    pub time: Durations,
    /// Their share of the time of all calls of the layer, from 0 to 1.
    pub share: f64,
}

/// How a frequency went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frequency {
    /// The counter that was sampled.
    pub counter: CounterId,
    /// The device, where it belongs to one.
    pub device: Option<DeviceId>,
    /// How many samples there are.
    pub samples: usize,
    /// The first value, in the counter's unit.
    pub first: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// The last.
    pub last: f64,
}

/// A run in tables, each with the most costly rows first.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTables {
    /// How many iterations the tables of operators and core metrics sum up: the measured ones; 0 where they are
    /// of the whole profile.
    pub iterations: usize,
    /// The components.
    pub components: Vec<ComponentUse>,
    /// The counters of the cores, by operator and unit.
    pub core_metrics: Vec<CoreMetrics>,
    /// The types of operators.
    pub operators: Vec<TypeStatistic>,
    /// The calls.
    pub calls: Vec<CallStatistic>,
    /// The frequencies, by counter.
    pub frequencies: Vec<Frequency>,
}

impl RunTables {
    /// Sums up a trace.
    pub fn of(trace: &Trace) -> Self {
        let kinds = CallKinds::of(trace);
        let chosen = Chosen::measured(trace, None);
        Self {
            iterations: if chosen.is_whole() { 0 } else { chosen.averaged },
            components: components(trace, &kinds),
            core_metrics: core_metrics(trace, &chosen),
            operators: operators(trace, &chosen),
            calls: calls(trace, &kinds),
            frequencies: frequencies(trace),
        }
    }
}

fn core_metrics(trace: &Trace, chosen: &Chosen) -> Vec<CoreMetrics> {
    /// Sums and numbers of values by metric, in the order of their first appearance.
    #[derive(Default)]
    struct Sums {
        time: Durations,
        sums: Vec<(MetricId, f64, u64)>,
    }
    if trace.readings.is_empty() {
        return Vec::new();
    }
    let own = self_times(trace);
    let mut found: HashMap<(OperatorId, ExecutionUnit), Sums> = HashMap::new();
    for (id, reading) in trace.readings.iter().filter(|(_, reading)| chosen.has_task(trace, reading.task)) {
        let task = reading.task.index();
        let Some(operator) = trace.tasks.operator()[task] else { continue };
        let sums = found.entry((operator, trace.tasks.unit()[task])).or_default();
        sums.time.add(own[task]);
        for (position, (metric, value)) in trace.readings_of(id).enumerate() {
            // Tasks of one operator mostly have the same metrics in the same order.
            let at = match sums.sums.get(position) {
                Some((known, ..)) if *known == metric => Some(position),
                _ => sums.sums.iter().position(|(known, ..)| *known == metric),
            };
            match at {
                Some(at) => {
                    sums.sums[at].1 += value;
                    sums.sums[at].2 += 1;
                }
                None => sums.sums.push((metric, value, 1)),
            }
        }
    }
    let mut rows: Vec<CoreMetrics> = found
        .into_iter()
        .map(|((operator, unit), sums)| {
            let metrics = sums.sums.into_iter().map(|(metric, sum, count)| (metric, sum / count as f64));
            CoreMetrics { operator, unit, time: sums.time, metrics: metrics.collect() }
        })
        .collect();
    rows.sort_by_key(|row| (-row.time.total, row.operator));
    rows
}

fn operators(trace: &Trace, chosen: &Chosen) -> Vec<TypeStatistic> {
    let measured = Query::measured(trace, chosen);
    let key = |execution: &Execution| {
        let (_, op_type) = name_and_type(trace, &measured, execution.subject);
        (op_type, trace.tasks.unit()[execution.row as usize])
    };
    let rows = rows_by(trace, &measured, key).into_iter().filter_map(|(row, _)| {
        let times = row.times;
        let time = Durations { count: times.count as u64, total: row.total, min: times.min, max: times.max };
        Some(TypeStatistic { op_type: row.op_type?, unit: row.unit?, time, share: row.share })
    });
    let mut rows: Vec<TypeStatistic> = rows.collect();
    rows.sort_by_key(|row| (-row.time.total, row.op_type, row.unit));
    rows
}

fn components(trace: &Trace, kinds: &CallKinds) -> Vec<ComponentUse> {
    struct Spans {
        all: Vec<Span>,
        time: Durations,
        longest: StringId,
    }
    let mut found: HashMap<(Component, Option<Phase>), Spans> = HashMap::new();
    let mut add = |key, name, start, duration| {
        let new = || Spans { all: Vec::new(), time: Durations::default(), longest: name };
        let spans = found.entry(key).or_insert_with(new);
        if duration > spans.time.max {
            spans.longest = name;
        }
        spans.time.add(duration);
        spans.all.push((start, start + duration));
    };
    for (id, call) in trace.api_calls.iter() {
        let phase = kinds.kind(trace, id).phase;
        add((Component::Calls(call.level), phase), call.name, call.start, call.duration);
    }
    for (_, range) in trace.ranges.iter().filter(|(_, range)| range.kind != RangeKind::Mark) {
        add((Component::Ranges, None), range.name, range.start, range.duration);
    }
    for (_, task) in trace.tasks.iter().filter(|(_, task)| is_work(task.unit)) {
        let operator = task.operator.map(|operator| trace.operators.name()[operator.index()]);
        add((Component::Tasks, None), operator.unwrap_or(task.name), task.start, task.duration);
    }
    let mut rows: Vec<ComponentUse> = found
        .into_iter()
        .map(|((component, phase), spans)| ComponentUse {
            component,
            phase,
            time: spans.time,
            covered: Cover::of(spans.all).total(),
            longest: spans.longest,
        })
        .collect();
    rows.sort_by_key(|row| (row.component, row.phase));
    rows
}

fn calls(trace: &Trace, kinds: &CallKinds) -> Vec<CallStatistic> {
    let mut found: HashMap<CallKind, Durations> = HashMap::new();
    let mut of_levels: HashMap<ApiLevel, Nanoseconds> = HashMap::new();
    for id in trace.api_calls.ids() {
        let (kind, duration) = (kinds.kind(trace, id), trace.api_calls.duration()[id.index()]);
        found.entry(kind).or_default().add(duration);
        *of_levels.entry(kind.level).or_default() += duration;
    }
    let mut rows: Vec<CallStatistic> = found
        .into_iter()
        .map(|(kind, time)| {
            let all = of_levels.get(&kind.level).copied().unwrap_or_default();
            let CallKind { level, name, within_itself, phase } = kind;
            CallStatistic { level, name, within_itself, phase, time, share: share(time.total, all) }
        })
        .collect();
    rows.sort_by_key(|row| (-row.time.total, row.level, row.name, row.within_itself, row.phase));
    rows
}

/// The counters in megahertz.
fn frequencies(trace: &Trace) -> Vec<Frequency> {
    let mut rows: HashMap<CounterId, Frequency> = HashMap::new();
    let is_frequency: Vec<bool> =
        trace.counters.unit().iter().map(|unit| trace.strings.get(*unit) == "MHz").collect();
    for (_, sample) in trace.samples.iter().filter(|(_, sample)| is_frequency[sample.counter.index()]) {
        let value = sample.value;
        let row = rows.entry(sample.counter).or_insert_with(|| Frequency {
            counter: sample.counter,
            device: trace.counters.device()[sample.counter.index()],
            samples: 0,
            first: value,
            min: value,
            max: value,
            last: value,
        });
        row.samples += 1;
        row.min = row.min.min(value);
        row.max = row.max.max(value);
        row.last = value;
    }
    let mut rows: Vec<Frequency> = rows.into_values().collect();
    rows.sort_by_key(|row| row.counter);
    rows
}

fn share(part: Nanoseconds, whole: Nanoseconds) -> f64 {
    if whole.0 > 0 { part.0 as f64 / whole.0 as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use opscope_trace::{ApiCall, Counter, Operator, Sample, Task};

    use super::*;

    #[test]
    fn a_run_is_summed_up_by_operator_type_call_and_counter() {
        let mut trace = Trace::new();
        let (name, op_type) = (trace.strings.intern("conv1"), trace.strings.intern("Conv2D"));
        let operator = trace.operators.push(Operator::new(name, op_type));
        let ratio = trace.enter_metric("mac_ratio", "");
        for (start, duration, value) in [(0, 10, 0.5), (100, 30, 0.25)] {
            let task = Task {
                operator: Some(operator),
                unit: ExecutionUnit::AiCore,
                ..Task::new(name, Nanoseconds(start), Nanoseconds(duration))
            };
            let task = trace.tasks.push(task);
            trace.push_reading(task, &[ratio], &[value]);
        }
        for duration in [5, 15] {
            let (level, start, duration) = (ApiLevel::Application, Nanoseconds(0), Nanoseconds(duration));
            trace.api_calls.push(ApiCall { thread: None, level, name, start, duration, iteration: None });
        }
        let (counter, unit) = (trace.strings.intern("AI core frequency"), trace.strings.intern("MHz"));
        let counter = trace.counters.push(Counter { name: counter, unit, device: None });
        for (time, value) in [(0, 800.0), (1, 1000.0), (2, 900.0)] {
            trace.samples.push(Sample { counter, time: Nanoseconds(time), value });
        }

        let overview = RunTables::of(&trace);
        let expected =
            Durations { count: 2, total: Nanoseconds(40), min: Nanoseconds(10), max: Nanoseconds(30) };
        assert_eq!(overview.operators[0].time, expected);
        assert_eq!((overview.operators[0].share, expected.mean()), (1.0, Nanoseconds(20)));
        assert_eq!(overview.core_metrics[0].metrics, [(ratio, 0.375)]);
        assert_eq!(overview.core_metrics[0].time, expected);
        assert_eq!((overview.calls[0].time.count, overview.calls[0].time.max), (2, Nanoseconds(15)));
        let frequency = overview.frequencies[0];
        assert_eq!(
            (frequency.min, frequency.max, frequency.first, frequency.last),
            (800.0, 1000.0, 800.0, 900.0)
        );
        assert_eq!(RunTables::of(&Trace::new()).operators, []);
    }
}
