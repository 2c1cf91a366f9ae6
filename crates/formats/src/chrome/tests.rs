//! The content of written timelines, read back as JSON.

use std::collections::HashMap;

use opscope_trace::*;
use proptest::prelude::*;
use serde_json::Value;

use super::{Written, write, write_file, write_within};
use crate::testing::any_trace;

fn events_of(trace: &Trace) -> (Vec<Value>, Written) {
    let mut file = Vec::new();
    let written = write(trace, &mut file).unwrap();
    assert_eq!(written.bytes, file.len() as u64);
    let file = quote_times(std::str::from_utf8(&file).unwrap());
    let mut whole: Value = serde_json::from_str(&file).unwrap();
    let Value::Array(events) = whole["traceEvents"].take() else { panic!("traceEvents is no array") };
    (events, written)
}

fn of_phase<'a>(events: &'a [Value], phase: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["ph"] == phase)
}

/// Puts all times in quotation marks, so that the JSON reader leaves their decimals alone.
fn quote_times(file: &str) -> String {
    let mut quoted = String::new();
    for (index, part) in
        file.split_inclusive("\"ts\":").flat_map(|part| part.split_inclusive("\"dur\":")).enumerate()
    {
        if index == 0 {
            quoted.push_str(part);
            continue;
        }
        let end = part.find([',', '}']).unwrap();
        quoted.push_str(&format!("\"{}\"{}", &part[..end], &part[end..]));
    }
    quoted
}

fn nanoseconds(time: &Value) -> i128 {
    let (micros, rest) = time.as_str().unwrap().split_once('.').unwrap();
    assert_eq!(rest.len(), 3, "{time}");
    micros.parse::<i128>().unwrap() * 1_000 + rest.parse::<i128>().unwrap()
}

/// Names of groups or lanes by their number.
fn names(events: &[Value], kind: &str, number: &str) -> HashMap<u64, String> {
    of_phase(events, "M")
        .filter(|event| event["name"] == kind)
        .map(|event| (event[number].as_u64().unwrap(), event["args"]["name"].as_str().unwrap().to_owned()))
        .collect()
}

/// One model on one stream: a warm-up and a measured inference of a convolution each, with the
/// call that launched it.
fn small_trace() -> Trace {
    let mut trace = Trace::new();
    let mut text = |text: &str| trace.strings.intern(text);
    let (empty, conv, conv_type, npu, execute) =
        (text(""), text("conv \"1\""), text("Conv"), text("Ascend910B"), text("aclmdlExecute"));
    let device = trace.devices.push(Device { number: 3, kind: DeviceKind::Npu, name: npu });
    let stream = trace.streams.push(Stream { device, number: 7, thread: None, name: empty });
    let image = trace.dimensions.push([1, 3, -1, 224]);
    let tensor =
        |data_type, dimensions| Tensor { name: None, data_type, dimensions, layout: None, parameter: false };
    let first_input = trace.tensors.push(tensor(DataType::Float32, Some(image)));
    let scalar = trace.dimensions.push([]);
    let first_output = trace.tensors.push(tensor(DataType::Int8, Some(scalar)));
    trace.tensors.push(tensor(DataType::Unknown, None));
    let operator = trace.operators.push(Operator {
        first_input: Some(first_input),
        input_count: 1,
        first_output: Some(first_output),
        output_count: 2,
        flops: Some(236_000_000),
        bytes_read: Some(u64::MAX),
        attribution: Attribution::Fused,
        ..Operator::new(conv, conv_type)
    });
    for number in 0..2 {
        let start = Nanoseconds(1_000_001 * i64::from(number));
        let iteration = trace.iterations.push(Iteration {
            model: None,
            number,
            warm_up: number == 0,
            start,
            duration: Nanoseconds(900),
        });
        let call = trace.api_calls.push(ApiCall {
            thread: None,
            level: ApiLevel::Application,
            name: execute,
            start,
            duration: Nanoseconds(0),
            iteration: Some(iteration),
        });
        trace.tasks.push(Task {
            operator: Some(operator),
            stream: Some(stream),
            unit: ExecutionUnit::AiCore,
            iteration: Some(iteration),
            launched_by: Some(call),
            ..Task::new(conv, start + Nanoseconds(100), Nanoseconds(700))
        });
    }
    trace
}

#[test]
fn an_operator_carries_its_type_shapes_sizes_and_iteration() {
    let (events, written) = events_of(&small_trace());
    let tasks: Vec<_> = of_phase(&events, "X").filter(|event| event["cat"] == "ai-core").collect();
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[1]["name"], "conv \"1\"");
    assert_eq!(nanoseconds(&tasks[1]["ts"]), 1_000_101);
    assert_eq!(nanoseconds(&tasks[1]["dur"]), 700);
    let expected = serde_json::json!({
        "type": "Conv",
        "inputs": ["1x3x?x224 float32"],
        "outputs": ["int8", "?x? ?"],
        "flops": 236_000_000,
        "bytes_read": u64::MAX,
        "attribution": "fused",
        "unit": "ai-core",
        "iteration": 1,
    });
    assert_eq!(tasks[1]["args"], expected);
    assert_eq!(tasks[0]["args"]["warm_up"], true);
    assert_eq!((written.slices, written.arrows), (6, 2));
}

#[test]
fn groups_and_lanes_have_names_and_warm_up_shows() {
    let (events, _) = events_of(&small_trace());
    let (groups, lanes) = (names(&events, "process_name", "pid"), names(&events, "thread_name", "tid"));
    let place = |category: &str| {
        let event = events.iter().find(|event| event["cat"] == category).unwrap();
        let name = event["name"].as_str().unwrap();
        (name, &*groups[&event["pid"].as_u64().unwrap()], &*lanes[&event["tid"].as_u64().unwrap()])
    };
    assert_eq!(place("warm-up"), ("warm-up 0", "Inferences and calls", "inferences"));
    assert_eq!(place("inference"), ("inference 1", "Inferences and calls", "inferences"));
    assert_eq!(place("application"), ("aclmdlExecute", "Inferences and calls", "calls"));
    assert_eq!(place("ai-core"), ("conv \"1\"", "Ascend910B (npu 3)", "stream 7"));
}

#[test]
fn an_arrow_leads_from_the_call_to_its_task() {
    let (events, _) = events_of(&small_trace());
    for (start, end) in of_phase(&events, "s").zip(of_phase(&events, "f")) {
        assert_eq!((&start["id"], &start["name"], &start["cat"]), (&end["id"], &end["name"], &end["cat"]));
        assert_eq!(nanoseconds(&end["ts"]) - nanoseconds(&start["ts"]), 100);
        assert_ne!(start["pid"], end["pid"]);
        assert_eq!(end["bp"], "e");
    }
    assert_eq!(of_phase(&events, "f").count(), 2);
}

#[test]
fn an_empty_trace_is_a_timeline_without_events() {
    let (events, written) = events_of(&Trace::new());
    assert!(events.is_empty());
    assert_eq!(written, Written { bytes: written.bytes, ..Written::default() });
}

#[test]
fn counters_keep_their_device_and_unit_and_equal_names_stay_apart() {
    let mut trace = Trace::new();
    let (memory, unit, npu) =
        (trace.strings.intern("memory"), trace.strings.intern("B"), trace.strings.intern("npu"));
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Npu, name: npu });
    for value in [1.0, 0.25, 3e300] {
        let counter = trace.counters.push(Counter { name: memory, unit, device: Some(device) });
        trace.samples.push(Sample { counter, time: Nanoseconds(5), value });
        trace.samples.push(Sample { counter, time: Nanoseconds(6), value: f64::NAN });
    }
    let (events, written) = events_of(&trace);
    let samples: Vec<_> = of_phase(&events, "C").collect();
    assert_eq!(samples.iter().map(|event| event["args"]["value"].as_f64().unwrap()).sum::<f64>(), 3e300);
    assert_eq!(samples[0]["args"]["value"], 1);
    let named: Vec<_> = samples.iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(named, ["memory (B)", "memory (B) #2", "memory (B) #3"]);
    assert_eq!((written.counter_values, written.counter_values_left_out), (3, 3));
}

#[test]
fn a_trace_that_begins_before_its_zero_is_moved_as_a_whole() {
    let mut trace = Trace::new();
    let name = trace.strings.intern("x");
    trace.tasks.push(Task::new(name, Nanoseconds(-1_500), Nanoseconds(1_500)));
    trace.tasks.push(Task::new(name, Nanoseconds(0), Nanoseconds(-7)));
    let (events, _) = events_of(&trace);
    let times: Vec<_> =
        of_phase(&events, "X").map(|event| (nanoseconds(&event["ts"]), nanoseconds(&event["dur"]))).collect();
    assert_eq!(times, [(0, 1_500), (1_500, 0)]);
}

#[test]
fn times_too_far_from_zero_for_viewers_begin_at_the_first_event() {
    let wall_clock = 1_700_000_000_000_000_001;
    let mut trace = Trace::new();
    let name = trace.strings.intern("x");
    trace.tasks.push(Task::new(name, Nanoseconds(wall_clock + 7), Nanoseconds(3)));
    trace.tasks.push(Task::new(name, Nanoseconds(wall_clock), Nanoseconds(7)));
    let mut file = Vec::new();
    write(&trace, &mut file).unwrap();
    let file = String::from_utf8(file).unwrap();
    assert!(file.contains(&format!("\"zero_ns\":{wall_clock}")), "{file}");
    let (events, _) = events_of(&trace);
    let starts: Vec<_> = of_phase(&events, "X").map(|event| nanoseconds(&event["ts"])).collect();
    assert_eq!(starts, [0, 7]);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("timeline.json");
    let failed = write_file(&small_trace(), &path).unwrap_err().to_string();
    assert!(failed.contains("timeline.json") && failed.contains("missing"), "{failed}");
    let path = folder.path().join("timeline.json");
    let written = write_file(&small_trace(), &path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), written.bytes);
}

proptest! {
    #[test]
    fn every_row_is_drawn_once_and_the_slices_of_a_lane_nest(trace in any_trace()) {
        let (events, written) = events_of(&trace);
        let marks = trace.ranges.kind().iter().filter(|&&kind| kind == RangeKind::Mark).count();
        let iterations = trace.iterations.len() + trace.unrecorded_iterations.len();
        let rows = iterations + trace.api_calls.len() + trace.ranges.len() + trace.tasks.len();
        let count = |phase| of_phase(&events, phase).count();
        prop_assert_eq!(count("X"), rows - marks);
        prop_assert_eq!(count("i"), marks);
        prop_assert_eq!(written.slices + written.marks, rows as u64);
        prop_assert_eq!(written.counter_values, count("C") as u64);
        prop_assert_eq!(count("C") as u64 + written.counter_values_left_out, trace.samples.len() as u64);
        prop_assert_eq!(count("s"), count("f"));
        let launched = trace.tasks.launched_by().iter().flatten().count() as u64;
        prop_assert_eq!(written.arrows + written.arrows_left_out, launched);

        let mut open: HashMap<u64, Vec<i128>> = HashMap::new();
        for event in of_phase(&events, "X") {
            let (start, length) = (nanoseconds(&event["ts"]), nanoseconds(&event["dur"]));
            prop_assert!(start >= 0 && length >= 0 && start + length <= i128::from(i64::MAX));
            let stack = open.entry(event["tid"].as_u64().unwrap()).or_default();
            while stack.pop_if(|end| *end <= start).is_some() {}
            prop_assert!(stack.last().is_none_or(|end| *end >= start + length));
            stack.push(start + length);
        }
    }
}

#[test]
fn of_a_stretch_of_time_all_is_written_that_touches_it_and_nothing_else() {
    let trace = small_trace();
    let all = events_of(&trace).0;
    let within = |from: u64, to: u64| -> Vec<Value> {
        let mut file = Vec::new();
        write_within(&trace, from..=to, &mut file).unwrap();
        let mut whole: Value =
            serde_json::from_str(&quote_times(std::str::from_utf8(&file).unwrap())).unwrap();
        let Value::Array(events) = whole["traceEvents"].take() else { panic!("traceEvents is no array") };
        events
    };
    assert_eq!(within(0, u64::MAX), all);
    let slices = |events: &[Value]| -> Vec<Value> { of_phase(events, "X").cloned().collect() };
    let span = |slice: &Value| {
        let start = nanoseconds(&slice["ts"]);
        (start, start + nanoseconds(&slice["dur"]))
    };
    let ends: Vec<i128> = slices(&all).iter().map(|slice| span(slice).1).collect();
    for &edge in &ends {
        let (from, to) = (edge + 1, edge + 20);
        let expected: Vec<Value> =
            slices(&all).into_iter().filter(|slice| span(slice).0 <= to && span(slice).1 >= from).collect();
        let found = within(from as u64, to as u64);
        assert_eq!(slices(&found), expected, "{from} to {to}");
        assert_eq!(of_phase(&found, "M").count(), of_phase(&all, "M").count(), "every lane keeps its name");
    }
    assert!(ends.len() > 4);
}
