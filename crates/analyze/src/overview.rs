//! What there is to see of a profile at first sight: wall time, what of it was busy, what was left
//! out.

use opscope_trace::{DeviceId, ExecutionUnit, IterationId, Nanoseconds, TaskId, Trace};
use std::collections::HashMap;

use crate::nesting::{covered_time, self_times};
use crate::scope::{Chosen, Scope, ScopeError};

/// What a part of a trace amounts to. Times are of an average iteration of the scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Over how many iterations it is averaged; 0 where the figures are of the whole profile.
    pub iterations: usize,
    /// Iterations that were left out because they served to warm up, or weren't asked for.
    pub iterations_left_out: usize,
    /// How long an iteration takes; where there are none, from the first task to the last.
    pub wall: Nanoseconds,
    /// The time in which at least one operator ran, on whichever stream.
    pub busy: Nanoseconds,
    /// The own time of all operators; more than `busy` where several ran at once.
    pub operator_time: Nanoseconds,
    /// The part of it whose tasks belong to an operator with a name and type.
    pub attributed: Nanoseconds,
    /// The part of it whose operations are known.
    pub with_flops: Nanoseconds,
    /// How many executions of operators there are in the scope, all iterations together.
    pub tasks: usize,
    /// Waiting and other handling of streams, which is no work: how often, and for how long.
    pub control: (usize, Nanoseconds),
    /// Tasks outside of the scope's iterations, and how long they took altogether.
    pub outside: (usize, Nanoseconds),
    /// The devices, where there are several.
    pub devices: Vec<DeviceUse>,
    /// The units that executed something, the busiest first.
    pub units: Vec<UnitUse>,
}

/// How busy a device was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceUse {
    /// The device.
    pub device: DeviceId,
    /// The time in which at least one operator ran on it, in an average iteration.
    pub busy: Nanoseconds,
    /// How many executions it had, all iterations together.
    pub tasks: usize,
}

/// What a unit executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitUse {
    /// The unit.
    pub unit: ExecutionUnit,
    /// The own time of its tasks, in an average iteration.
    pub time: Nanoseconds,
    /// How many they are, all iterations together.
    pub tasks: usize,
}

type Span = (Nanoseconds, Nanoseconds);

impl Overview {
    /// Looks at a part of a trace.
    ///
    /// # Errors
    /// When the trace has no such iteration or device.
    pub fn of(trace: &Trace, scope: Scope) -> Result<Self, ScopeError> {
        let chosen = Chosen::new(trace, scope)?;
        let own = self_times(trace);
        let mut overview = Self::default();
        let mut spans: HashMap<Option<IterationId>, Vec<Span>> = HashMap::new();
        let mut device_spans: HashMap<(DeviceId, Option<IterationId>), Vec<Span>> = HashMap::new();
        let mut units: HashMap<ExecutionUnit, (Nanoseconds, usize)> = HashMap::new();
        let whole_device = Chosen::new(trace, Scope { iterations: crate::Iterations::All, ..scope })?;
        let mut extent: Option<Span> = None;
        for task in trace.tasks.ids() {
            let row = trace.tasks.get(task);
            let time = own[task.index()];
            if !chosen.has_task(trace, task) {
                // What belongs to another device isn't left out of this one.
                if whole_device.has_task(trace, task) && row.unit != ExecutionUnit::Control {
                    overview.outside.0 += 1;
                    overview.outside.1 += time;
                }
                continue;
            }
            let unit = units.entry(row.unit).or_default();
            *unit = (unit.0 + time, unit.1 + 1);
            let span = (row.start, row.start + row.duration);
            extent = Some(extent.map_or(span, |(first, last)| (first.min(span.0), last.max(span.1))));
            if row.unit == ExecutionUnit::Control {
                overview.control = (overview.control.0 + 1, overview.control.1 + time);
                continue;
            }
            overview.tasks += 1;
            overview.count_time(trace, task, time);
            spans.entry(row.iteration).or_default().push(span);
            if let Some(stream) = row.stream {
                let device = trace.streams.device()[stream.index()];
                device_spans.entry((device, row.iteration)).or_default().push(span);
            }
        }
        overview.busy = spans.into_values().map(covered_time).sum();
        overview.enter_devices(trace, device_spans);
        overview.units =
            units.into_iter().map(|(unit, (time, tasks))| UnitUse { unit, time, tasks }).collect();
        overview.units.sort_by_key(|unit| (-unit.time, unit.unit));
        overview.enter_wall(trace, &chosen, extent);
        overview.average(chosen.averaged);
        Ok(overview)
    }

    /// The part of an iteration in which nothing ran.
    pub fn idle(&self) -> Nanoseconds {
        (self.wall - self.busy).max(Nanoseconds::ZERO)
    }

    fn count_time(&mut self, trace: &Trace, task: TaskId, time: Nanoseconds) {
        self.operator_time += time;
        if let Some(operator) = trace.tasks.operator()[task.index()] {
            self.attributed += time;
            if trace.operators.flops()[operator.index()].is_some() {
                self.with_flops += time;
            }
        }
    }

    fn enter_devices(&mut self, trace: &Trace, spans: HashMap<(DeviceId, Option<IterationId>), Vec<Span>>) {
        let mut devices: Vec<DeviceUse> = trace
            .devices
            .ids()
            .map(|device| DeviceUse { device, busy: Nanoseconds::ZERO, tasks: 0 })
            .collect();
        for ((device, _), spans) in spans {
            let entry = &mut devices[device.index()];
            entry.tasks += spans.len();
            entry.busy += covered_time(spans);
        }
        devices.retain(|device| device.tasks > 0);
        if devices.len() > 1 {
            self.devices = devices;
        }
    }

    fn enter_wall(&mut self, trace: &Trace, chosen: &Chosen, extent: Option<Span>) {
        if chosen.is_whole() {
            self.wall = extent.map_or(Nanoseconds::ZERO, |(first, last)| last - first);
            return;
        }
        for id in chosen.iterations(trace) {
            self.iterations += 1;
            self.wall += trace.iterations.duration()[id.index()];
        }
        self.iterations_left_out = trace.iterations.len() - self.iterations;
    }

    fn average(&mut self, over: usize) {
        let times = [&mut self.wall, &mut self.busy, &mut self.operator_time, &mut self.attributed]
            .into_iter()
            .chain([&mut self.with_flops, &mut self.control.1])
            .chain(self.devices.iter_mut().map(|device| &mut device.busy))
            .chain(self.units.iter_mut().map(|unit| &mut unit.time));
        for time in times {
            time.0 /= over as i64;
        }
    }
}
