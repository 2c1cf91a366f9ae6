//! Profiles that are written: out of what was read, and out of any trace.

use opscope_formats::megengine::{Profile, Recorded};
use opscope_testing::companions;
use opscope_trace::{
    ApiCall, ApiLevel, DataType, Device, DeviceKind, Iteration, IterationId, Nanoseconds, Operator, Process,
    Stream, StreamId, Task, Tensor, TensorId, Thread, Trace,
};
use serde_json::Value;

use crate::layout::faults;
use crate::support::{TestFile, run};
use opscope_testing::megengine_network::network;

fn written(profile: &Profile) -> Vec<u8> {
    let mut text = Vec::new();
    profile.write_json(&mut text).expect("memory takes what is written");
    text
}

#[test]
fn what_was_read_is_written_with_the_same_content_and_order() {
    let generated = String::from_utf8(network(40)).unwrap();
    let of_another_version = generated.replace("\"ALLOW_EMPTY_SHAPE\"", "\"MY_NEW_FLAG\"");
    assert_ne!(generated, of_another_version);
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("generated".to_owned(), generated.into_bytes()),
        ("with flags that nobody knows".to_owned(), of_another_version.into_bytes()),
    ];
    if let Some(folder) = companions::shared("golden/megengine") {
        for name in
            ["copy", "edge_names", "edge_two_nodes", "mlp", "mobilenetv2", "resnet18", "resnet18_lite"]
        {
            files.push((name.to_owned(), std::fs::read(folder.join(name).with_extension("json")).unwrap()));
        }
    }
    for (name, text) in files {
        let profile = Profile::parse(text.clone()).unwrap();
        assert_eq!(profile.losses.rows(), [], "{name}");
        let again = written(&profile);
        // Files made by hand have blanks of their own in what is kept as JSON.
        let by_hand = name.starts_with("edge");
        assert!(by_hand || faults(&again).is_empty(), "{name}: {:?}", faults(&again));
        // Values compare as text in the file's order, so that neither order nor digits are lost.
        let value = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
        assert_eq!(value(&text), value(&again), "{name}");
        let operators = |profile: &Profile| profile.operators.iter().map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(operators(&profile), operators(&Profile::parse(again).unwrap()), "{name}");
    }
}

#[test]
fn a_large_file_is_read_alike_wherever_its_vars_lie() {
    let text = String::from_utf8(network(3_000)).unwrap();
    assert!(text.len() > 4 << 20, "large enough for a second thread");
    let value = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
    for text in [
        // Text that looks like the section of vars comes before it, as an object and as half of one.
        text.replacen("\"param\": { }", "\"param\": { \"var\": { \"7\": { \"name\": \"x\"}}}", 1),
        text.replacen("\"param\": { }", "\"param\": { \"x\": \"\\\"var\\\": {\"}", 1),
        // Ids that are no numbers.
        text.replace("\"17\"", "\"seventeen\"").replace("chk17", "chunk seventeen"),
        text.clone(),
    ] {
        let again = written(&Profile::parse(text.clone().into_bytes()).unwrap());
        assert!(value(text.as_bytes()) == value(&again), "the content differs");
        let cut = &text.as_bytes()[..text.len() - 100];
        let error = Profile::parse(cut.to_vec()).unwrap_err();
        assert!(error.to_string().contains(&format!("byte {}", cut.len())), "{error}");
    }
}

#[test]
fn the_rules_of_the_layout_hold_for_real_profiles() {
    let Some(folder) = companions::shared("golden/megengine") else { return };
    for name in ["copy", "mlp", "mobilenetv2", "resnet18", "resnet18_lite"] {
        let text = std::fs::read(folder.join(name).with_extension("json")).unwrap();
        assert!(faults(&text).is_empty(), "{name}: {:?}", faults(&text));
    }
    let broken =
        String::from_utf8(network(3)).unwrap().replace("\"comp_seq\": [ \"0\"", "\"comp_seq\": [ \"77\"");
    assert!(faults(broken.as_bytes()).iter().any(|fault| fault.contains("names no operator by 77")));
}

/// A trace as an engine records it: a warm-up and two measured inferences of a small network on
/// one thread.
fn recorded() -> Trace {
    let mut trace = Trace::new();
    let [name, worker, cpu] = ["net", "worker", "cpu"].map(|text| trace.strings.intern(text));
    let process = trace.processes.push(Process { pid: 7, name });
    let thread = trace.threads.push(Thread { process, tid: 70, name: worker });
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name: cpu });
    let stream = trace.streams.push(Stream { device, number: 0, thread: Some(thread), name: worker });
    let image = tensor(&mut trace, "image", &[1, 3, 8, 8], false);
    tensor(&mut trace, "conv/weight", &[4, 3, 3, 3], true);
    let feature = tensor(&mut trace, "feature", &[1, 4, 6, 6], false);
    let read = tensor(&mut trace, "feature", &[1, 4, 6, 6], false);
    let result = tensor(&mut trace, "result", &[1, 4, -1, 6], false);
    let [conv, relu] = [("conv1", "Conv"), ("relu \"1\"/x", "Relu")]
        .map(|(name, op_type)| Operator::new(trace.strings.intern(name), trace.strings.intern(op_type)));
    let attributes = trace.strings.intern("{\"group\": 1}");
    let conv = trace.operators.push(Operator {
        first_input: Some(image),
        input_count: 2,
        first_output: Some(feature),
        output_count: 1,
        attributes: Some(attributes),
        flops: Some(7_776),
        bytes_read: Some(1_200),
        bytes_written: Some(576),
        ..conv
    });
    let relu = trace.operators.push(Operator {
        first_input: Some(read),
        input_count: 1,
        first_output: Some(result),
        output_count: 1,
        ..relu
    });
    for (number, warm_up, start) in [(0, true, 1_000_000), (1, false, 2_000_000), (2, false, 3_000_000)] {
        let start = Nanoseconds(start);
        let duration = Nanoseconds(500_000);
        let iteration = trace.iterations.push(Iteration { model: None, number, warm_up, start, duration });
        let (conv_name, relu_name) = (trace.operators.get(conv).name, trace.operators.get(relu).name);
        let time =
            |from: i64, length: i64| (start + Nanoseconds(from), Nanoseconds(length + i64::from(number)));
        for (operator, name, (start, duration)) in
            [(conv, conv_name, time(10_000, 300_000)), (relu, relu_name, time(320_000, 50_000))]
        {
            let (iteration, stream) = (Some(iteration), Some(stream));
            trace.tasks.push(Task {
                operator: Some(operator),
                iteration,
                stream,
                ..Task::new(name, start, duration)
            });
        }
    }
    trace
}

fn tensor(trace: &mut Trace, name: &str, dimensions: &[i64], parameter: bool) -> TensorId {
    let name = Some(trace.strings.intern(name));
    let dimensions = Some(trace.dimensions.push(dimensions.iter().copied()));
    trace.tensors.push(Tensor { name, data_type: DataType::Float32, dimensions, layout: None, parameter })
}

fn value_of(trace: &Trace, recorded: Recorded) -> Value {
    let text = written(&Profile::from_trace(trace, recorded));
    assert!(faults(&text).is_empty(), "{:?}\n{}", faults(&text), String::from_utf8_lossy(&text));
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn the_last_measured_inference_is_written_in_seconds_from_its_start() {
    let value = value_of(&recorded(), Recorded::DeviceAndHost);
    let order = value["graph_exec"]["comp_seq"].as_array().unwrap();
    let names: Vec<_> =
        order.iter().map(|id| &value["graph_exec"]["operator"][id.as_str().unwrap()]["name"]).collect();
    assert_eq!(names, ["conv1", "relu \"1\"/x"]);
    let conv = order[0].as_str().unwrap();
    let place = "CompNode(\"cpu0:0\" from \"cpu0:0\")";
    let expected = serde_json::json!({ "start": 1e-5, "kern": 1e-5, "end": 0.000310002 });
    assert_eq!(value["profiler"]["device"][conv][place], expected);
    assert_eq!(value["profiler"]["host"][conv]["worker"], expected);
    let footprint = &value["profiler"]["opr_footprint"][conv];
    assert_eq!(footprint["memory"], 1_776);
    assert_eq!(footprint["computation"], 7_776);
    assert_eq!(footprint["in_shapes"], serde_json::json!([[1, 3, 8, 8], [4, 3, 3, 3]]));
    assert_eq!(footprint["param"], serde_json::json!({ "group": 1 }));
    let relu = &value["profiler"]["opr_footprint"][order[1].as_str().unwrap()];
    assert_eq!(relu["computation"], Value::Null);
    assert_eq!(relu["memory"], 576, "the size of what is known");
    assert_eq!(relu["out_shapes"], serde_json::json!([[1, 4, -1, 6]]));
}

#[test]
fn values_tie_the_operator_that_makes_them_to_those_that_read_them() {
    let value = value_of(&recorded(), Recorded::DeviceAndHost);
    let graph = &value["graph_exec"];
    let operator = |name: &str| {
        graph["operator"].as_object().unwrap().values().find(|operator| operator["name"] == name).unwrap()
    };
    let (conv, relu) = (operator("conv1"), operator("relu \"1\"/x"));
    assert_eq!(conv["output"], relu["input"]);
    assert_eq!(operator("image")["type"], "Host2DeviceCopy");
    assert_eq!(operator("conv/weight")["type"], "ImmutableTensor");
    assert_eq!(operator("conv/weight")["output"][0], conv["input"][1]);
    let weight = &graph["var"][conv["input"][1].as_str().unwrap()];
    assert_eq!(weight["flag"], serde_json::json!(["PERSISTENT_DEVICE_VALUE"]));
    assert_eq!(weight["mem_plan"]["layout"]["dtype"], "Float32");
    assert_eq!(weight["mem_plan"]["layout"]["stride"], serde_json::json!([27, 9, 3, 1]));
    let result = &graph["var"][relu["output"][0].as_str().unwrap()];
    assert_eq!(result["mem_plan"], Value::Null, "its size is not known");
}

#[test]
fn host_times_alone_leave_the_devices_empty() {
    let value = value_of(&recorded(), Recorded::HostOnly);
    assert_eq!(value["profiler"]["device"], serde_json::json!({}));
    assert_eq!(value["profiler"]["host"].as_object().unwrap().len(), 2);
}

#[test]
fn a_call_that_launched_a_task_is_its_dispatch() {
    let mut trace = recorded();
    let last = trace.tasks.ids().next_back().unwrap();
    let task = trace.tasks.get(last);
    let stream = trace.streams.get(StreamId::from_index(0));
    let call = trace.api_calls.push(ApiCall {
        thread: stream.thread,
        level: ApiLevel::Node,
        name: task.name,
        start: task.start - Nanoseconds(2_000),
        duration: Nanoseconds(5_000),
        iteration: task.iteration,
    });
    let wait = Some(Nanoseconds(1_000));
    trace.tasks.set(last, Task { launched_by: Some(call), wait, ..task });
    let value = value_of(&trace, Recorded::DeviceAndHost);
    let id = value["graph_exec"]["comp_seq"][1].as_str().unwrap();
    let expected = serde_json::json!({ "start": 0.000318, "kern": 0.00032, "end": 0.000323 });
    assert_eq!(value["profiler"]["host"][id]["worker"], expected);
    // The wait lay before the task, and is a part of it here.
    let device = &value["profiler"]["device"][id]["CompNode(\"cpu0:0\" from \"cpu0:0\")"];
    assert_eq!(*device, serde_json::json!({ "start": 0.000319, "kern": 0.00032, "end": 0.000370002 }));
}

#[test]
fn a_profile_that_became_a_trace_and_a_profile_again_has_the_same_figures() {
    let mut files = vec![network(60)];
    if let Some(folder) = companions::shared("golden/megengine") {
        for name in ["mlp.json", "resnet18.json", "resnet18_lite.json", "copy.json"] {
            files.push(std::fs::read(folder.join(name)).unwrap());
        }
    }
    for text in files {
        let trace = Profile::parse(text.clone()).unwrap().to_trace();
        let again = written(&Profile::from_trace(&trace, Recorded::DeviceAndHost));
        assert!(faults(&again).is_empty(), "{:?}", faults(&again));
        let back = Profile::parse(again.clone()).unwrap().to_trace();
        assert_eq!(back.losses.len(), 0);
        let tasks = |trace: &Trace| {
            let start = trace.iterations.get(IterationId::from_index(0)).start;
            let task = |task: Task| {
                let operator = trace.operators.get(task.operator.unwrap());
                let figures =
                    (operator.flops, operator.bytes_read.zip(operator.bytes_written).map(|(r, w)| r + w));
                let shapes = |tensors: &mut dyn Iterator<Item = TensorId>| {
                    tensors.map(|tensor| trace.shape(tensor).map(<[i64]>::to_vec)).collect::<Vec<_>>()
                };
                let shapes = (shapes(&mut operator.inputs()), shapes(&mut operator.outputs()));
                let times = (task.start - start, task.duration, task.wait);
                (times, trace.strings.get(task.name).to_owned(), figures, shapes)
            };
            let mut tasks: Vec<_> = trace.tasks.iter().map(|(_, row)| task(row)).collect();
            tasks.sort();
            tasks
        };
        for (first, second) in tasks(&trace).iter().zip(tasks(&back)) {
            assert_eq!((&first.0, &first.1), (&second.0, &second.1));
            assert_eq!(first.2.0, second.2.0);
            assert!(first.2.1.is_none() || first.2.1 == second.2.1, "{first:?} {second:?}");
        }
        assert_eq!(trace.tasks.len(), back.tasks.len());
        // The analyser's totals agree to the digits that it prints.
        let summary = |text: &[u8]| run(TestFile::new(text).path(), &["--print-only", "summary"]).stdout;
        let device = |text: &[u8]| summary(text).lines().nth(1).unwrap().to_owned();
        assert_eq!(device(&text), device(&again));
    }
}

#[test]
fn a_file_is_written_whole_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json");
    Profile::from_trace(&recorded(), Recorded::DeviceAndHost).write(&path).unwrap();
    let run = run(&path, &["--type", "Conv", "--print-only", "device"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("│ 7.78 ") && run.stdout.contains("│ {1,3,8,8} "), "{}", run.stdout);
    let nothing = Profile::from_trace(&Trace::new(), Recorded::DeviceAndHost);
    assert!(faults(&written(&nothing)).is_empty());
}
