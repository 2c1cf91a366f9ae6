//! A profile at first sight: wall time, the busy part of it, and everything that these figures leave out.

use opscope_columns::Column;
use opscope_trace::{DeviceId, ExecutionUnit, Nanoseconds, Trace};

use crate::cover::Span;
use crate::iteration_spans::{IterationSpans, SpanBasis};
use crate::nesting::covered_time;
use crate::query::{Executed, Query};
use crate::scope::{Chosen, Iterations, Scope, ScopeError, is_work};

/// The figures of a part of a trace. Times are of an average iteration of the scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Over how many iterations it is averaged; 0 where the figures are of the whole profile.
    pub iterations: usize,
    /// Iterations that were left out because they served to warm up, or weren't asked for.
    pub iterations_left_out: usize,
    /// How long an iteration takes; where there are none, from the first task to the last.
    pub wall: Nanoseconds,
    /// By which clock hands iterations begin and end.
    pub basis: SpanBasis,
    /// How long an iteration took by its record, where that is the host's alone and `wall` isn't.
    pub host_wall: Option<Nanoseconds>,
    /// The time in which at least one operator ran, on whichever stream. Never more than `wall`.
    pub busy: Nanoseconds,
    /// The own time of all operators; more than `busy` where several ran at once.
    pub operator_time: Nanoseconds,
    /// The part of it whose tasks belong to an operator with a name and type.
    pub attributed: Nanoseconds,
    /// The part of it whose operations are known.
    pub with_flops: Nanoseconds,
    /// How many executions of operators there are in the scope, all iterations together.
    pub tasks: usize,
    /// Waiting and other handling of streams, which is no work: how often, and how long altogether.
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

/// The use of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitUse {
    /// The unit.
    pub unit: ExecutionUnit,
    /// The own time of its tasks, in an average iteration.
    pub time: Nanoseconds,
    /// How many they are, all iterations together.
    pub tasks: usize,
}

impl Overview {
    /// Looks at a part of a trace.
    ///
    /// # Errors
    /// When the trace has no such iteration or device.
    pub fn of(trace: &Trace, scope: Scope) -> Result<Self, ScopeError> {
        let chosen = Chosen::new(trace, scope)?;
        // Tasks of another device aren't left out of this one.
        let mut work = Query::everything(trace, Scope { iterations: Iterations::All, ..scope })?;
        let mut overview = Self::default();
        let mut units = vec![(Nanoseconds::ZERO, 0); ExecutionUnit::ALL.len()];
        let spans = IterationSpans::of(trace);
        // By device, all work; nothing of the busy time of an iteration depends on whose the work is.
        let mut running = Running::new(trace);
        let mut extent: Option<Span> = None;
        // Tasks that are no work of the scope are counted and dropped.
        work.executions.retain(|execution| {
            let (task, time) = (execution.row as usize, execution.time);
            let unit = trace.tasks.unit()[task];
            let is_work = is_work(unit);
            if is_work {
                running.add(trace, execution.row);
            }
            if !chosen.has_iteration(trace.tasks.iteration()[task]) {
                if is_work {
                    overview.outside = (overview.outside.0 + 1, overview.outside.1 + time);
                }
                return false;
            }
            let of_unit = &mut units[unit as usize];
            *of_unit = (of_unit.0 + time, of_unit.1 + 1);
            let start = trace.tasks.start()[task];
            let end = start + trace.tasks.duration()[task];
            extent = Some(extent.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
            if !is_work {
                overview.control = (overview.control.0 + 1, overview.control.1 + time);
                return false;
            }
            overview.operator_time += time;
            if let Executed::Operator(operator) = execution.subject {
                // A damaged profile may have lost it.
                if !trace.strings.get(trace.operators.op_type()[operator.index()]).is_empty() {
                    overview.attributed += time;
                }
                if trace.operators.flops()[operator.index()].is_some() {
                    overview.with_flops += time;
                }
            }
            true
        });
        overview.tasks = work.executions.len();
        overview.busy = busy(trace, &spans, &chosen, &running.all);
        let executions: Vec<usize> = running.executions(trace, work.executions.iter().map(|it| it.row));
        overview.devices = running.devices(trace, &executions, |tasks| busy(trace, &spans, &chosen, tasks));
        let used = ExecutionUnit::ALL.iter().map(|unit| (*unit, units[*unit as usize]));
        let used = used.filter(|(_, (_, tasks))| *tasks > 0);
        overview.units = used.map(|(unit, (time, tasks))| UnitUse { unit, time, tasks }).collect();
        overview.units.sort_by_key(|unit| (-unit.time, unit.unit));
        overview.enter_wall(trace, &chosen, &spans, extent);
        overview.average(chosen.averaged);
        Ok(overview)
    }

    /// How many of a number of executions in the scope there are in an average iteration.
    pub fn in_one(&self, executions: usize) -> f64 {
        executions as f64 / self.iterations.max(1) as f64
    }

    /// The part of an iteration in which nothing ran.
    pub fn idle(&self) -> Nanoseconds {
        self.wall - self.busy
    }

    fn enter_wall(&mut self, trace: &Trace, chosen: &Chosen, spans: &IterationSpans, extent: Option<Span>) {
        if chosen.is_whole() {
            self.wall = extent.map_or(Nanoseconds::ZERO, |(first, last)| last - first);
            return;
        }
        let mut recorded = Nanoseconds::ZERO;
        for id in chosen.iterations(trace) {
            self.iterations += 1;
            self.wall += spans.duration(id);
            recorded += trace.iterations.duration()[id.index()];
        }
        self.basis = spans.basis();
        self.host_wall = (self.basis != SpanBasis::Recorded).then_some(recorded);
        self.iterations_left_out = trace.iterations.len() - self.iterations;
    }

    fn average(&mut self, over: usize) {
        let times = [&mut self.wall, &mut self.busy, &mut self.operator_time, &mut self.attributed]
            .into_iter()
            .chain([&mut self.with_flops])
            .chain(&mut self.host_wall)
            .chain(self.devices.iter_mut().map(|device| &mut device.busy))
            .chain(self.units.iter_mut().map(|unit| &mut unit.time));
        for time in times {
            time.0 /= over as i64;
        }
    }
}

/// The time of all chosen iterations together in which at least one of some tasks ran.
fn busy(trace: &Trace, spans: &IterationSpans, chosen: &Chosen, tasks: &[u32]) -> Nanoseconds {
    if chosen.is_whole() {
        let span = |row: &u32| {
            let start = trace.tasks.start()[*row as usize];
            (start, start + trace.tasks.duration()[*row as usize])
        };
        return covered_time(tasks.iter().map(span).collect());
    }
    let busy = spans.busy(trace, tasks.iter().copied());
    chosen.iterations(trace).map(|id| busy[id.index()]).sum()
}

/// The tasks that are work, of which some run in another iteration than that which launched them.
struct Running {
    all: Column<u32>,
    /// By device; none where there is only one.
    of_devices: Vec<Column<u32>>,
}

impl Running {
    fn new(trace: &Trace) -> Self {
        let devices = if trace.devices.len() < 2 { 0 } else { trace.devices.len() };
        Self { all: Column::new(), of_devices: vec![Column::new(); devices] }
    }

    fn add(&mut self, trace: &Trace, task: u32) {
        self.all.push(task);
        let tasks = device_of(trace, task).and_then(|device| self.of_devices.get_mut(device.index()));
        if let Some(tasks) = tasks {
            tasks.push(task);
        }
    }

    /// By device, how many of some tasks it executed.
    fn executions(&self, trace: &Trace, tasks: impl Iterator<Item = u32>) -> Vec<usize> {
        let mut executions = vec![0; self.of_devices.len()];
        for device in tasks.filter_map(|task| device_of(trace, task)) {
            if let Some(count) = executions.get_mut(device.index()) {
                *count += 1;
            }
        }
        executions
    }

    /// How busy each device was, where several were.
    fn devices(
        &self,
        trace: &Trace,
        executions: &[usize],
        busy: impl Fn(&[u32]) -> Nanoseconds,
    ) -> Vec<DeviceUse> {
        let used = trace.devices.ids().zip(&self.of_devices).zip(executions).filter(|(_, count)| **count > 0);
        let devices: Vec<DeviceUse> = used
            .map(|((device, tasks), count)| DeviceUse { device, busy: busy(tasks), tasks: *count })
            .collect();
        if devices.len() > 1 { devices } else { Vec::new() }
    }
}

fn device_of(trace: &Trace, task: u32) -> Option<DeviceId> {
    trace.tasks.stream()[task as usize].map(|stream| trace.streams.device()[stream.index()])
}
