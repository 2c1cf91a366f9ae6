//! Timelines that opscope wrote come back as the traces that they were written of.

use proptest::prelude::*;

use super::*;
use crate::testing::any_trace;

fn written(trace: &Trace) -> Vec<u8> {
    let mut file = Vec::new();
    crate::chrome::write(trace, &mut file).unwrap();
    file
}

/// A trace as it comes back from Chrome's JSON and from Perfetto's form.
fn read_back(trace: &Trace) -> [Trace; 2] {
    let mut packets = Vec::new();
    crate::perfetto::write(trace, &mut packets).unwrap();
    [read(&written(trace)).unwrap(), crate::perfetto::read(&packets).unwrap()]
}

/// A trace with two models, two devices, nested and crossing tasks, and something of every kind.
fn rich_trace() -> Trace {
    let mut trace = Trace::new();
    trace.run.engine = Some(EngineName::Tract);
    trace.run.remark("engine", "not read as one");
    trace.count_loss(LossKind::ImpossibleTask, 3, "file (1).data");
    trace.count_loss(LossKind::UnknownFile, 1, "");
    let mut text = |text: &str| trace.strings.intern(text);
    let (empty, conv, conv_type, fused, npu, host, model, other_model) = (
        text(""),
        text("conv \"1\"\n"),
        text("Conv"),
        text("Conv+Relu"),
        text("Ascend910B"),
        text("main"),
        text("a.onnx"),
        text("b.onnx"),
    );
    let (origin, kernel, execute) = (text("relu_2"), text("te_conv2d_kernel0"), text("aclmdlExecute"));
    let attributes = text(r#"{"pads":[1,1]}"#);
    let models = [model, other_model].map(|name| trace.models.push(Model { number: 0, name }));
    trace.models.set(models[1], Model { number: 1, name: other_model });
    let process = trace.processes.push(Process { pid: 0, name: empty });
    let thread = Some(trace.threads.push(Thread { process, tid: 2, name: host }));
    let device = trace.devices.push(Device { number: 3, kind: DeviceKind::Npu, name: npu });
    let cpu = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name: empty });
    let stream = trace.streams.push(Stream { device, number: 7, thread: None, name: empty });
    let cpu_stream = trace.streams.push(Stream { device: cpu, number: 1, thread, name: empty });
    let tensor = |trace: &mut Trace, data_type, shape: Option<Vec<i64>>| {
        let dimensions = shape.map(|shape| trace.dimensions.push(shape));
        trace.tensors.push(Tensor { name: None, data_type, dimensions, layout: None, parameter: false })
    };
    let first_input = Some(tensor(&mut trace, DataType::Float32, Some(vec![1, 3, -1, 224])));
    tensor(&mut trace, DataType::Int8, Some(vec![]));
    let first_output = Some(tensor(&mut trace, DataType::Unknown, None));
    let origins = trace.names.push([conv, origin]);
    let first = trace.operators.push(Operator {
        model: Some(models[0]),
        attribution: Attribution::Fused,
        origins,
        first_input,
        input_count: 2,
        first_output,
        output_count: 1,
        flops: Some(236_000_000),
        bytes_read: Some(u64::MAX),
        bytes_written: Some(0),
        parameters: Some(17),
        position: Some(0),
        dynamic: Some(false),
        attributes: Some(attributes),
        ..Operator::new(conv, fused)
    });
    let second = trace.operators.push(Operator { model: Some(models[1]), ..Operator::new(conv, conv_type) });
    for number in 0..4i64 {
        let start = Nanoseconds(1_700_000_000_000_000_000 + number * 10_000);
        let model = Some(models[number as usize % 2]);
        let iteration = Some(trace.iterations.push(Iteration {
            model,
            number: number as u32 / 2,
            warm_up: number < 2,
            start,
            duration: Nanoseconds(9_000),
        }));
        let call = |start, duration| ApiCall {
            thread,
            level: ApiLevel::Application,
            name: execute,
            start,
            duration,
            iteration,
        };
        let outer = trace.api_calls.push(call(start, Nanoseconds(500)));
        let inner = trace.api_calls.push(call(start, Nanoseconds(400)));
        let operator = if number % 2 == 0 { first } else { second };
        let task = |offset, duration| Task {
            operator: Some(operator),
            stream: Some(stream),
            unit: ExecutionUnit::AiCore,
            iteration,
            ..Task::new(conv, start + Nanoseconds(offset), Nanoseconds(duration))
        };
        // Equal starts: only the order in the file tells which arrow leads to which.
        trace.tasks.push(Task { launched_by: Some(inner), wait: Some(Nanoseconds(5)), ..task(1_000, 3_000) });
        trace.tasks.push(Task { launched_by: Some(outer), name: kernel, ..task(1_000, 1_000) });
        // It crosses the first and moves to another lane of the same stream.
        trace.tasks.push(task(2_500, 3_000));
        trace.tasks.push(Task {
            unit: ExecutionUnit::Cpu,
            stream: Some(cpu_stream),
            iteration,
            ..Task::new(kernel, start + Nanoseconds(7_000), Nanoseconds(1))
        });
        let kind =
            [RangeKind::PushPop, RangeKind::StartStop, RangeKind::Mark, RangeKind::PushPop][number as usize];
        let duration = if kind == RangeKind::Mark { Nanoseconds(0) } else { Nanoseconds(77) };
        let domain = (number != 3).then_some(origin);
        let thread = thread.filter(|_| number != 1);
        trace.ranges.push(Range { thread, kind, domain, ..Range::new(kernel, start, duration) });
        let unit = trace.strings.intern("MB/s");
        let device = (number % 2 == 0).then_some(device);
        let counter = trace.counters.push(Counter { name: kernel, unit, device });
        trace.samples.push(Sample { counter, time: start, value: number as f64 / 8.0 });
    }
    trace
}

/// Every task with all that its arguments tell, in the order of time.
fn tasks(trace: &Trace) -> Vec<String> {
    let text = |id: StringId| trace.strings.get(id).to_owned();
    let shapes = |ids: &mut dyn Iterator<Item = TensorId>| -> Vec<_> {
        ids.map(|id| (trace.tensors.data_type()[id.index()], trace.shape(id).map(<[i64]>::to_vec))).collect()
    };
    let operator = |id: OperatorId| {
        let row = trace.operators.get(id);
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            text(row.name),
            text(row.op_type),
            row.position,
            row.dynamic,
            row.attributes.map(text),
            row.model.map(|model| text(trace.models.name()[model.index()])),
            row.attribution,
            trace.names.get(row.origins).iter().map(|&origin| text(origin)).collect::<Vec<_>>(),
            shapes(&mut row.inputs()),
            shapes(&mut row.outputs()),
            row.flops,
            row.bytes_read,
            row.bytes_written,
            row.parameters,
        )
    };
    let call = |id: ApiCallId| {
        let row = trace.api_calls.get(id);
        format!("{} {:?} {:?} {:?}", text(row.name), row.level, row.start, row.duration)
    };
    let iteration = |id: IterationId| {
        let row = trace.iterations.get(id);
        format!("{:?} {:?}", row, row.model.map(|model| text(trace.models.name()[model.index()])))
    };
    let stream = |id: StreamId| {
        let row = trace.streams.get(id);
        let device = trace.devices.get(row.device);
        let thread = row.thread.map(|thread| text(trace.threads.name()[thread.index()]));
        format!(
            "{} {:?} of {:?} {} {} by {thread:?}",
            row.number,
            text(row.name),
            device.kind,
            device.number,
            text(device.name)
        )
    };
    let mut rows: Vec<_> = (trace.tasks.iter())
        .map(|(_, task)| {
            format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                task.start,
                task.duration,
                text(task.name),
                task.unit,
                task.wait,
                task.operator.map(operator),
                task.launched_by.map(call),
                task.iteration.map(iteration),
                task.stream.map(stream),
            )
        })
        .collect();
    rows.sort();
    rows
}

fn ranges(trace: &Trace) -> Vec<String> {
    let text = |id: StringId| trace.strings.get(id).to_owned();
    let mut rows: Vec<_> = (trace.ranges.iter())
        .map(|(_, row)| {
            let thread = row.thread.map(|thread| text(trace.threads.name()[thread.index()]));
            format!(
                "{:?} {:?} {:?} {:?} {:?} {thread:?}",
                row.start,
                row.duration,
                row.kind,
                text(row.name),
                row.domain.map(text)
            )
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn tasks_operators_launches_and_iterations_come_back_equal() {
    let trace = rich_trace();
    let read = read(&written(&trace)).unwrap();
    assert_eq!(tasks(&read), tasks(&trace));
    assert_eq!(ranges(&read), ranges(&trace));
    assert_eq!(read.iterations.len(), trace.iterations.len());
    assert_eq!(read.operators.len(), 2);
    assert_eq!(read.run, trace.run);
    assert_eq!(losses(&read), losses(&trace));
    let samples = |trace: &Trace| {
        let sample = |(_, row): (SampleId, Sample)| {
            let counter = trace.counters.get(row.counter);
            let device = counter.device.map(|device| trace.devices.number()[device.index()]);
            (
                trace.strings.get(counter.name).to_owned(),
                trace.strings.get(counter.unit).to_owned(),
                device,
                row.time,
                row.value,
            )
        };
        trace.samples.iter().map(sample).collect::<Vec<_>>()
    };
    assert_eq!(samples(&read), samples(&trace));
}

#[test]
fn a_timeline_that_is_written_again_is_the_same_file() {
    let once = written(&read(&written(&rich_trace())).unwrap());
    let twice = written(&read(&once).unwrap());
    assert_eq!(String::from_utf8(twice).unwrap(), String::from_utf8(once).unwrap());
}

#[test]
fn operators_that_differ_in_their_attributes_stay_apart_and_those_that_do_not_come_back_are_counted() {
    let mut trace = Trace::new();
    let [name, tensor_parallel, data_parallel] =
        ["allreduce", r#"{"group":"tp"}"#, r#"{"group":"dp"}"#].map(|text| trace.strings.intern(text));
    // The last of them executes nothing.
    for (number, attributes) in
        [tensor_parallel, data_parallel, data_parallel, tensor_parallel].iter().enumerate()
    {
        let attributes = Some(*attributes);
        let operator = trace.operators.push(Operator { attributes, ..Operator::new(name, name) });
        if number < 3 {
            let task = Task::new(name, Nanoseconds(10 * number as i64), Nanoseconds(5));
            trace.tasks.push(Task { operator: Some(operator), ..task });
        }
    }
    for read in read_back(&trace) {
        let attributes = read.operators.attributes().iter().map(|id| read.strings.get(id.unwrap()));
        assert_eq!(attributes.collect::<Vec<_>>(), [r#"{"group":"tp"}"#, r#"{"group":"dp"}"#]);
        let [unexecuted, alike] = ["that no task executes", "that are written like another one"];
        let kind = LossKind::PlacelessOnTimeline.sentence();
        let expected = [unexecuted, alike].map(|which| format!("1 {kind} (operators {which})"));
        assert_eq!(losses(&read), expected);
    }
}

/// Calls and ranges that cross, of one thread and of none, so that each takes several lanes.
fn crossing_trace() -> Trace {
    let mut trace = Trace::new();
    let [empty, work, main] = ["", "work", "main"].map(|text| trace.strings.intern(text));
    let process = trace.processes.push(Process { pid: 1, name: empty });
    let thread = Some(trace.threads.push(Thread { process, tid: 2, name: main }));
    for (start, thread) in [(0, thread), (50, thread), (70, thread), (0, None), (50, None)] {
        let (start, duration) = (Nanoseconds(start), Nanoseconds(100));
        let level = ApiLevel::Application;
        trace.api_calls.push(ApiCall { thread, level, name: work, start, duration, iteration: None });
        for kind in [RangeKind::PushPop, RangeKind::StartStop] {
            trace.ranges.push(Range { thread, kind, ..Range::new(work, start, duration) });
        }
    }
    trace
}

#[test]
fn calls_and_ranges_of_a_thread_that_cross_come_back_as_one_threads() {
    for read in read_back(&crossing_trace()) {
        assert_eq!(read.threads.len(), 1);
        assert_eq!(read.strings.get(read.threads.name()[0]), "main");
        let of_the_thread =
            [read.api_calls.thread().iter().flatten().count(), read.ranges.thread().iter().flatten().count()];
        assert_eq!(of_the_thread, [3, 6]);
        assert_eq!((read.api_calls.len(), read.ranges.len()), (5, 10));
    }
}

#[test]
fn a_stream_keeps_the_thread_that_executes_it() {
    let mut trace = Trace::new();
    let [empty, main, step] = ["", "main", "step"].map(|text| trace.strings.intern(text));
    let process = trace.processes.push(Process { pid: 1, name: empty });
    let [thread, without_lanes] =
        [(2, main), (3, empty)].map(|(tid, name)| trace.threads.push(Thread { process, tid, name }));
    let [cpu, npu] = [DeviceKind::Cpu, DeviceKind::Npu]
        .map(|kind| trace.devices.push(Device { number: 0, kind, name: empty }));
    let streams = [(cpu, 1, Some(thread)), (cpu, 2, Some(without_lanes)), (npu, 3, None)]
        .map(|(device, number, thread)| trace.streams.push(Stream { device, number, thread, name: empty }));
    trace.ranges.push(Range { thread: Some(thread), ..Range::new(step, Nanoseconds(0), Nanoseconds(500)) });
    // The second crosses the first and moves to another lane of the same stream.
    for (stream, start) in [(0, 0), (0, 50), (1, 200), (2, 300)] {
        let stream = Some(streams[stream]);
        trace.tasks.push(Task { stream, ..Task::new(step, Nanoseconds(start), Nanoseconds(100)) });
    }
    for read in read_back(&trace) {
        let executing = |task: &Task| task.stream.and_then(|stream| read.streams.thread()[stream.index()]);
        let mut tasks: Vec<Task> = read.tasks.iter().map(|(_, task)| task).collect();
        tasks.sort_by_key(|task| task.start);
        let names = tasks
            .iter()
            .map(|task| executing(task).map(|thread| read.strings.get(read.threads.name()[thread.index()])));
        let names: Vec<Option<&str>> = names.collect();
        assert_eq!(names, [Some("main"), Some("main"), Some("thread 3"), None]);
        assert_eq!(read.ranges.thread(), [executing(&tasks[0])], "the range's thread is the same");
        assert_eq!((read.streams.len(), read.threads.len()), (3, 2));
    }
}

#[test]
fn in_a_stretch_of_time_a_further_lane_is_its_threads_where_the_first_has_nothing() {
    let mut file = Vec::new();
    crate::chrome::write_within(&crossing_trace(), 160..=165, &mut file).unwrap();
    let read = read(&file).unwrap();
    assert_eq!((read.api_calls.len(), read.ranges.len(), read.threads.len()), (1, 2, 1));
    assert_eq!(read.strings.get(read.threads.name()[0]), "main");
}

#[test]
fn an_empty_timeline_is_an_empty_trace() {
    let read = read(&written(&Trace::new())).unwrap();
    assert_eq!((read.tasks.len(), read.losses.len(), read.processes.len()), (0, 0, 0));
}

proptest! {
    #[test]
    fn every_row_of_any_trace_comes_back(trace in any_trace()) {
        let read = read(&written(&trace)).unwrap();
        prop_assert_eq!(&read.run, &trace.run);
        let known = trace.losses.len();
        prop_assert_eq!(&read.losses.kind()[..known], trace.losses.kind());
        // Rows without a place on the timeline are counted.
        prop_assert!(read.losses.kind()[known..].iter().all(|kind| *kind == LossKind::PlacelessOnTimeline));
        let figures = read.losses.count()[known..].iter().sum::<u64>();
        let of_operators = |loss: &Loss| read.strings.get(loss.detail).starts_with("operators that ");
        let told = read.losses.iter().skip(known).map(|(_, loss)| loss);
        let operators: u64 = told.filter(of_operators).map(|loss| loss.count).sum();
        prop_assert_eq!(read.operators.len() as u64 + operators, trace.operators.len() as u64);
        let placeless = trace.figures.len() + trace.readings.len() + trace.launch_sites.len();
        prop_assert_eq!(figures, placeless as u64 + operators);
        prop_assert_eq!(read.clock.unix_zero, trace.clock.unix_zero);
        let domain = |trace: &Trace| trace.clock.domain.map(|domain| trace.strings.get(domain).to_owned());
        prop_assert_eq!(domain(&read), domain(&trace));
        prop_assert_eq!(read.tasks.len(), trace.tasks.len());
        prop_assert_eq!(read.api_calls.len(), trace.api_calls.len());
        prop_assert_eq!(read.ranges.len(), trace.ranges.len());
        prop_assert_eq!(read.iterations.len(), trace.iterations.len());
        prop_assert_eq!(read.unrecorded_iterations.len(), trace.unrecorded_iterations.len());
        prop_assert!(read.threads.len() <= trace.threads.len(), "no thread is made up");
        let finite = trace.samples.value().iter().filter(|value| value.is_finite()).count();
        prop_assert_eq!(read.samples.len(), finite);
        let mut units = [trace.tasks.unit().to_vec(), read.tasks.unit().to_vec()];
        units.iter_mut().for_each(|units| units.sort());
        prop_assert_eq!(&units[0], &units[1]);
        // Lengths are comparable where no time had to be drawn in to fit into the file.
        let is_near = |time: Nanoseconds| time.0.unsigned_abs() < 1 << 40;
        let columns = [
            trace.tasks.start(), trace.tasks.duration(), trace.api_calls.start(), trace.ranges.start(),
            trace.iterations.start(), trace.unrecorded_iterations.start(), trace.samples.time(),
        ];
        if columns.into_iter().flatten().all(|time| is_near(*time)) {
            let mut written: Vec<_> = trace.tasks.duration().iter().map(|&time| time.max(Nanoseconds(0))).collect();
            let mut lengths = read.tasks.duration().to_vec();
            written.sort();
            lengths.sort();
            prop_assert_eq!(written, lengths);
        }
    }
}
