//! Laying one trace over another, so that what several recorders saw of a run is one.

use std::collections::HashMap;

use crate::{
    ApiCall, ApiCallId, Counter, CounterId, Device, DeviceId, Figure, Iteration, IterationId, LaunchSite,
    Metric, MetricId, Model, ModelId, Nanoseconds, Operator, OperatorId, Process, ProcessId, Range, Reading,
    Sample, Span, Stream, StreamId, StringId, Task, TaskId, Tensor, TensorId, Thread, ThreadId, Trace,
    UnrecordedIteration,
};

impl Trace {
    /// Adds everything of another trace, whose zero lies `shift` after this one's.
    ///
    /// A process, thread, device or stream that both have stays one: processes are known by their
    /// number, threads by theirs within the process, devices by kind and name, and those without a name by kind
    /// and number. Models, operators
    /// and all that was recorded are added. The other's clock is left out, and so is what it
    /// tells of its run where this trace tells that of its own.
    pub fn append(&mut self, other: &Self, shift: Nanoseconds) {
        let strings = Strings { from: other };
        self.run.complete(&other.run);
        let places = self.append_places(other, strings);
        let models = self.append_models(other, strings, shift);
        let operators = self.append_operators(other, strings, &models);
        let calls = self.append_calls(other, strings, shift, &places, &models);
        let tasks = self.append_tasks(other, strings, shift, (&places, &models, &operators, &calls));
        self.append_readings(other, strings, &tasks);
        for (_, row) in other.launch_sites.iter() {
            let (task, call) = (tasks[row.task.index()], calls[row.call.index()]);
            let stack = row.stack.map(|id| strings.of(self, id));
            self.launch_sites.push(LaunchSite { task, call, stack });
        }
        for (_, row) in other.ranges.iter() {
            let thread = row.thread.map(|id| places.threads[id.index()]);
            let (name, domain) = (strings.of(self, row.name), row.domain.map(|id| strings.of(self, id)));
            self.ranges.push(Range { thread, name, domain, start: row.start + shift, ..row });
        }
        self.append_samples(other, strings, shift, &places);
        self.append_figures(other);
        self.append_losses(other);
    }

    /// Adds the figures that another trace's files state.
    pub fn append_figures(&mut self, other: &Self) {
        let strings = Strings { from: other };
        for (_, row) in other.figures.iter() {
            let mut text = |id| strings.of(self, id);
            let (source, step, subject) = (text(row.source), text(row.step), text(row.subject));
            let (part, name, unit) = (text(row.part), text(row.name), text(row.unit));
            self.figures.push(Figure { source, step, subject, part, name, unit, ..row });
        }
    }

    /// Adds what was lost of another trace.
    pub fn append_losses(&mut self, other: &Self) {
        for (_, row) in other.losses.iter() {
            self.count_loss(row.kind, row.count, other.strings.get(row.detail));
        }
    }

    fn append_places(&mut self, other: &Self, strings: Strings<'_>) -> Places {
        let mut places = Places::default();
        for (_, row) in other.processes.iter() {
            let name = strings.of(self, row.name);
            places.processes.push(self.same_process(Process { name, ..row }));
        }
        for (_, row) in other.threads.iter() {
            let process = places.processes[row.process.index()];
            let name = strings.of(self, row.name);
            places.threads.push(self.same_thread(Thread { process, name, ..row }));
        }
        places.devices = self.append_devices(other, strings);
        for (_, row) in other.streams.iter() {
            let device = places.devices[row.device.index()];
            let thread = row.thread.map(|id| places.threads[id.index()]);
            let name = strings.of(self, row.name);
            places.streams.push(self.same_stream(Stream { device, thread, name, ..row }));
        }
        places
    }

    fn append_devices(&mut self, other: &Self, strings: Strings<'_>) -> Vec<DeviceId> {
        let empty = self.strings.intern("");
        let key =
            |device: &Device| (device.kind, device.name, (device.name == empty).then_some(device.number));
        let mut known = HashMap::new();
        for (id, row) in self.devices.iter() {
            known.entry(key(&row)).or_insert(id);
        }
        let mut ids = Vec::with_capacity(other.devices.len());
        for (_, row) in other.devices.iter() {
            let device = Device { name: strings.of(self, row.name), ..row };
            ids.push(*known.entry(key(&device)).or_insert_with(|| self.devices.push(device)));
        }
        ids
    }

    /// The process of the same number, or else a new one.
    fn same_process(&mut self, process: Process) -> ProcessId {
        let pids = self.processes.pid();
        let key_of = |row: usize| u64::from(pids[row]);
        let known = self.entered.processes.find(u64::from(process.pid), pids.len(), key_of);
        known.map(ProcessId::from_index).unwrap_or_else(|| self.processes.push(process))
    }

    /// The thread of the same process and number, or else a new one.
    fn same_thread(&mut self, thread: Thread) -> ThreadId {
        let key = |process: ProcessId, tid| (process.index() as u64, tid);
        let (processes, tids) = (self.threads.process(), self.threads.tid());
        let key_of = |row: usize| key(processes[row], tids[row]);
        let known = self.entered.threads.find(key(thread.process, thread.tid), tids.len(), key_of);
        known.map(ThreadId::from_index).unwrap_or_else(|| self.threads.push(thread))
    }

    /// The stream of the same device that is the same thread, or has the same number and name, or else a new one.
    fn same_stream(&mut self, stream: Stream) -> StreamId {
        let key_of = |row| stream_key(&self.streams.get(StreamId::from_index(row)));
        let known = self.entered.streams.find(stream_key(&stream), self.streams.len(), key_of);
        known.map(StreamId::from_index).unwrap_or_else(|| self.streams.push(stream))
    }

    fn append_models(&mut self, other: &Self, strings: Strings<'_>, shift: Nanoseconds) -> Models {
        let mut ids = Models::default();
        for (_, row) in other.models.iter() {
            let name = strings.of(self, row.name);
            ids.models.push(self.models.push(Model { name, ..row }));
        }
        for (_, row) in other.iterations.iter() {
            let model = row.model.map(|id| ids.models[id.index()]);
            ids.iterations.push(self.iterations.push(Iteration { model, start: row.start + shift, ..row }));
        }
        for (_, row) in other.unrecorded_iterations.iter() {
            let model = row.model.map(|id| ids.models[id.index()]);
            let start = row.start + shift;
            self.unrecorded_iterations.push(UnrecordedIteration { model, start, ..row });
        }
        ids
    }

    fn append_operators(&mut self, other: &Self, strings: Strings<'_>, models: &Models) -> Vec<OperatorId> {
        let mut tensors: Vec<TensorId> = Vec::with_capacity(other.tensors.len());
        for (_, row) in other.tensors.iter() {
            let name = row.name.map(|id| strings.of(self, id));
            let layout = row.layout.map(|id| strings.of(self, id));
            let dimensions = row.dimensions.map(|span| {
                let values = other.dimensions.get(span).iter().copied();
                self.dimensions.push(values)
            });
            tensors.push(self.tensors.push(Tensor { name, layout, dimensions, ..row }));
        }
        let mut operators = Vec::with_capacity(other.operators.len());
        for (_, row) in other.operators.iter() {
            let origins: Vec<StringId> =
                other.names.get(row.origins).iter().map(|id| strings.of(self, *id)).collect();
            let operator = Operator {
                model: row.model.map(|id| models.models[id.index()]),
                name: strings.of(self, row.name),
                op_type: strings.of(self, row.op_type),
                engine_type: row.engine_type.map(|id| strings.of(self, id)),
                origins: self.names.push(origins),
                first_input: row.first_input.map(|id| tensors[id.index()]),
                first_output: row.first_output.map(|id| tensors[id.index()]),
                attributes: row.attributes.map(|id| strings.of(self, id)),
                ..row
            };
            operators.push(self.operators.push(operator));
        }
        operators
    }

    fn append_calls(
        &mut self,
        other: &Self,
        strings: Strings<'_>,
        shift: Nanoseconds,
        places: &Places,
        models: &Models,
    ) -> Vec<ApiCallId> {
        let mut calls = Vec::with_capacity(other.api_calls.len());
        for (_, row) in other.api_calls.iter() {
            let call = ApiCall {
                thread: row.thread.map(|id| places.threads[id.index()]),
                name: strings.of(self, row.name),
                start: row.start + shift,
                iteration: row.iteration.map(|id| models.iterations[id.index()]),
                ..row
            };
            calls.push(self.api_calls.push(call));
        }
        calls
    }

    fn append_tasks(
        &mut self,
        other: &Self,
        strings: Strings<'_>,
        shift: Nanoseconds,
        (places, models, operators, calls): (&Places, &Models, &[OperatorId], &[ApiCallId]),
    ) -> Vec<TaskId> {
        self.tasks.reserve(other.tasks.len());
        let mut tasks = Vec::with_capacity(other.tasks.len());
        for (_, row) in other.tasks.iter() {
            let task = Task {
                operator: row.operator.map(|id| operators[id.index()]),
                name: strings.of(self, row.name),
                stream: row.stream.map(|id| places.streams[id.index()]),
                iteration: row.iteration.map(|id| models.iterations[id.index()]),
                launched_by: row.launched_by.map(|id| calls[id.index()]),
                start: row.start + shift,
                ..row
            };
            tasks.push(self.tasks.push(task));
        }
        tasks
    }

    fn append_readings(&mut self, other: &Self, strings: Strings<'_>, tasks: &[TaskId]) {
        let mut metrics: Vec<MetricId> = Vec::with_capacity(other.metrics.len());
        for (_, row) in other.metrics.iter() {
            let (name, unit) = (strings.of(self, row.name), strings.of(self, row.unit));
            metrics.push(self.metrics.push(Metric { name, unit }));
        }
        for (_, row) in other.readings.iter() {
            let list: Span<MetricId> = {
                let ids = other.metric_lists.get(row.metrics).iter().map(|id| metrics[id.index()]);
                self.metric_lists.push(ids)
            };
            let values = self.metric_values.push(other.metric_values.get(row.values).iter().copied());
            self.readings.push(Reading { task: tasks[row.task.index()], metrics: list, values });
        }
    }

    fn append_samples(&mut self, other: &Self, strings: Strings<'_>, shift: Nanoseconds, places: &Places) {
        let mut known = HashMap::new();
        let key = |counter: &Counter| (counter.name, counter.unit, counter.device);
        for (id, row) in self.counters.iter().filter(|_| !other.counters.is_empty()) {
            known.entry(key(&row)).or_insert(id);
        }
        let mut counters: Vec<CounterId> = Vec::with_capacity(other.counters.len());
        for (_, row) in other.counters.iter() {
            let (name, unit) = (strings.of(self, row.name), strings.of(self, row.unit));
            let device = row.device.map(|id| places.devices[id.index()]);
            let counter = Counter { name, unit, device };
            counters.push(*known.entry(key(&counter)).or_insert_with(|| self.counters.push(counter)));
        }
        for (_, row) in other.samples.iter() {
            let counter = counters[row.counter.index()];
            self.samples.push(Sample { counter, time: row.time + shift, ..row });
        }
    }
}

/// The key of a stream. Streams of one number may be those of several processes, which their names tell; a thread has
/// no other stream on a device.
fn stream_key(stream: &Stream) -> [u64; 4] {
    let device = stream.device.index() as u64;
    match stream.thread {
        Some(thread) => [device, thread.index() as u64 + 1, 0, 0],
        None => [device, 0, stream.number, stream.name.index() as u64],
    }
}

/// The text of the other trace.
#[derive(Clone, Copy)]
struct Strings<'t> {
    from: &'t Trace,
}

impl Strings<'_> {
    fn of(self, trace: &mut Trace, id: StringId) -> StringId {
        trace.strings.intern(self.from.strings.get(id))
    }
}

/// Where the other trace's rows lie in this one.
#[derive(Default)]
struct Places {
    processes: Vec<ProcessId>,
    threads: Vec<ThreadId>,
    devices: Vec<DeviceId>,
    streams: Vec<StreamId>,
}

#[derive(Default)]
struct Models {
    models: Vec<ModelId>,
    iterations: Vec<IterationId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceKind;

    fn trace(pid: u32, operator: &str) -> Trace {
        let mut trace = Trace::new();
        let (name, device, kind) =
            (trace.strings.intern(operator), trace.strings.intern("CPU"), trace.strings.intern("Conv"));
        let process = trace.processes.push(Process { pid, name: device });
        let thread = trace.threads.push(Thread { process, tid: 7, name: device });
        let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name: device });
        let stream = trace.streams.push(Stream { device, number: 7, thread: Some(thread), name: kind });
        let operator = trace.operators.push(Operator::new(name, kind));
        let task = Task::new(name, Nanoseconds(10), Nanoseconds(5));
        trace.tasks.push(Task { operator: Some(operator), stream: Some(stream), ..task });
        trace
    }

    #[test]
    fn what_both_traces_have_stays_one_and_times_are_shifted() {
        let mut whole = trace(1, "conv1");
        whole.append(&trace(1, "conv2"), Nanoseconds(1_000));
        whole.append(&trace(2, "conv3"), Nanoseconds(-10));
        assert_eq!((whole.processes.len(), whole.threads.len()), (2, 2));
        assert_eq!((whole.devices.len(), whole.streams.len()), (1, 2));
        assert_eq!(whole.tasks.start(), [Nanoseconds(10), Nanoseconds(1_010), Nanoseconds(0)]);
        let names: Vec<&str> = whole.operators.name().iter().map(|name| whole.strings.get(*name)).collect();
        assert_eq!(names, ["conv1", "conv2", "conv3"]);
        let of_task = whole.tasks.operator().iter().map(|id| id.map(|id| id.index()));
        assert_eq!(of_task.collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    }

    /// A trace in which a process has many threads, each of them a stream.
    fn trace_of_threads(count: u64) -> Trace {
        let mut trace = Trace::new();
        let name = trace.strings.intern("");
        let process = trace.processes.push(Process { pid: 5, name });
        let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name });
        for tid in 0..count {
            let thread = Some(trace.threads.push(Thread { process, tid, name }));
            trace.streams.push(Stream { device, number: tid, thread, name });
            trace.streams.push(Stream { device, number: tid, thread: None, name });
        }
        trace
    }

    #[test]
    fn many_threads_and_streams_take_a_time_that_grows_with_their_number() {
        let append_twice = |count: u64| {
            let part = trace_of_threads(count);
            let begin = std::time::Instant::now();
            let mut whole = Trace::new();
            whole.append(&part, Nanoseconds(0));
            whole.append(&part, Nanoseconds(0));
            assert_eq!((whole.threads.len() as u64, whole.streams.len() as u64), (count, 2 * count));
            begin.elapsed()
        };
        // The least of several tries is the one that nothing disturbed.
        let least = |count| (0..3).map(|_| append_twice(count)).min().unwrap_or_default();
        let (few, many) = (least(2_000), least(32_000));
        assert!(many < few * 100, "16 times as many took {many:?} instead of {few:?}");
    }

    #[test]
    fn devices_and_counters_that_both_have_stay_one() {
        let mut part = Trace::new();
        let [empty, named] = ["", "GPU of a name"].map(|name| part.strings.intern(name));
        for (number, name) in [(0, empty), (1, empty), (0, named)] {
            let device = Some(part.devices.push(Device { number, kind: DeviceKind::Gpu, name }));
            part.counters.push(Counter { name: named, unit: empty, device });
        }
        let mut whole = Trace::new();
        whole.append(&part, Nanoseconds(0));
        whole.append(&part, Nanoseconds(0));
        assert_eq!((whole.devices.len(), whole.counters.len()), (3, 3));
    }

    #[test]
    fn streams_of_one_number_and_two_names_stay_two() {
        let mut part = Trace::new();
        let [empty, one, two] =
            ["", "stream 7 of process 1", "stream 7 of process 2"].map(|name| part.strings.intern(name));
        let device = part.devices.push(Device { number: 0, kind: DeviceKind::Gpu, name: empty });
        for name in [one, two] {
            part.streams.push(Stream { device, number: 7, thread: None, name });
        }
        let mut whole = Trace::new();
        whole.append(&part, Nanoseconds(0));
        whole.append(&part, Nanoseconds(0));
        assert_eq!(whole.streams.len(), 2);
    }
}
