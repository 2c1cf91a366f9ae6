//! Timelines of TensorFlow and JAX.

use super::*;

fn event(process: u32, thread: u32, name: &str, ts: u32, dur: u32, arguments: &str) -> String {
    format!(
        r#"{{"ph": "X", "pid": {process}, "tid": {thread}, "name": "{name}", "ts": {ts}, "dur": {dur}, "args": {{{arguments}}}}}"#
    )
}

fn named(process: u32, name: &str, threads: &[(u32, &str)]) -> Vec<String> {
    let process_name =
        format!(r#"{{"ph": "M", "pid": {process}, "name": "process_name", "args": {{"name": "{name}"}}}}"#);
    let thread_name = |(thread, name): &(u32, &str)| {
        format!(
            r#"{{"ph": "M", "pid": {process}, "tid": {thread}, "name": "thread_name", "args": {{"name": "{name}"}}}}"#
        )
    };
    std::iter::once(process_name).chain(threads.iter().map(thread_name)).collect()
}

fn read_events_of(events: &[String]) -> Trace {
    let text = format!(
        r#"{{"displayTimeUnit": "ns", "metadata": {{"highres-ticks": true}}, "traceEvents": [{}, {{}}]}}"#,
        events.join(",")
    );
    read(text.as_bytes()).unwrap()
}

/// A program that marks two steps, each of which runs a fusion on a thread of a pool.
fn host() -> Vec<String> {
    let mut events = named(701, "/host:CPU", &[(1, "python"), (2, "tf_XLAPjRtCpuClient/57")]);
    events.push(event(701, 1, "$profiler.py:151 start_trace", 1, 40, ""));
    for step in 0..2 {
        let start = 100 + step * 100;
        events.push(event(701, 1, "train", start, 95, &format!(r#""step_num": "{step}""#)));
        events.push(event(701, 1, "PjitFunction(f)", start + 1, 20, ""));
        let run = r#""hlo_module": "jit_f", "hlo_op": "dot_fusion", "device_ordinal": "0""#;
        events.push(event(701, 2, "dot_fusion", start + 10, 70, run));
        events.push(event(701, 2, "end: dot_fusion", start + 80, 1, r#""_src": "thunk_executor.cc""#));
    }
    events
}

#[test]
fn without_a_device_operators_are_what_names_its_hlo_and_marked_steps_are_inferences() {
    let trace = read_events_of(&host());
    assert_eq!(names_of_tasks(&trace), ["dot_fusion", "dot_fusion"]);
    assert_eq!(times_of_tasks(&trace), [(110_000, 70_000), (210_000, 70_000)]);
    let operator = trace.operators.get(trace.tasks.operator()[0].unwrap());
    assert_eq!(trace.strings.get(operator.name), "dot_fusion");
    let steps: Vec<_> = trace.iterations.iter().map(|(_, row)| (row.number, row.start.0)).collect();
    assert_eq!(steps, [(0, 100_000), (1, 200_000)]);
    assert!(trace.tasks.iteration().iter().all(Option::is_some));
    let calls: Vec<_> =
        trace.api_calls.iter().map(|(_, call)| (trace.strings.get(call.name), call.level)).collect();
    assert!(calls.contains(&("$profiler.py:151 start_trace", ApiLevel::Other)), "{calls:?}");
    assert!(calls.contains(&("train", ApiLevel::Framework)) && calls.len() == 7, "{calls:?}");
}

#[test]
fn beside_a_device_the_host_has_calls_only() {
    let mut events = host();
    let lines = [(1, "Steps"), (2, "XLA Modules"), (3, "XLA Ops"), (4, "Stream #7(Compute)")];
    events.extend(named(2, "/device:GPU:0", &lines));
    events.push(event(2, 1, "0", 100, 90, ""));
    events.push(event(2, 2, "jit_f", 105, 80, ""));
    events.push(event(2, 3, "fusion.1", 110, 60, r#""hlo_op": "fusion.1""#));
    let kernel = r#""hlo_op": "fusion.1", "hlo_category": "loop fusion", "correlation_id": 9"#;
    events.push(event(2, 4, "loop_fusion", 110, 60, kernel));
    events.push(event(2, 4, "MemcpyH2D", 175, 5, r#""correlation_id": 10"#));
    events.extend(named(3, "/host:CUPTI", &[(1, "python")]));
    events.push(event(3, 1, "cuLaunchKernel", 105, 2, r#""correlation_id": 9"#));
    let trace = read_events_of(&events);
    assert_eq!(names_of_tasks(&trace), ["loop_fusion", "MemcpyH2D"]);
    assert_eq!(trace.tasks.unit(), [ExecutionUnit::Gpu, ExecutionUnit::MemoryCopy]);
    let operator = trace.operators.get(trace.tasks.operator()[0].unwrap());
    let names = (trace.strings.get(operator.name), trace.strings.get(operator.op_type));
    assert_eq!((names, trace.tasks.operator()[1]), (("fusion.1", "loop fusion"), None));
    let launch = trace.api_calls.get(trace.tasks.launched_by()[0].unwrap());
    assert_eq!((trace.strings.get(launch.name), launch.level), ("cuLaunchKernel", ApiLevel::Runtime));
    assert_eq!((trace.iterations.len(), trace.iterations.duration()[0].0), (1, 90_000), "the device's own");
    assert_eq!(trace.streams.number(), [7]);
    let ranges: Vec<_> = trace.ranges.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(ranges, ["jit_f"]);
    assert_eq!(losses(&trace).len(), 1, "the line that repeats the kernels' operators");
}

#[test]
fn ranges_of_several_devices_are_on_a_thread_for_each_lane() {
    let device = |number: u32| {
        let lines = [(1, "XLA Modules"), (2, "Other")];
        let mut events = named(number + 1, &format!("/device:TPU:{number}"), &lines);
        events.push(event(number + 1, 1, "jit_f", 100, 90, ""));
        events.push(event(number + 1, 1, "jit_g", 110, 20, ""));
        events.push(event(number + 1, 2, "x", 110, 20, ""));
        events
    };
    let trace = read_events_of(&[host(), device(0), device(1)].concat());
    let name = |thread: &Option<ThreadId>| trace.strings.get(trace.threads.get(thread.unwrap()).name);
    let threads: Vec<&str> = trace.ranges.thread().iter().map(name).collect();
    let [first, second] = [0, 1].map(|number| format!("/device:TPU:{number} XLA Modules"));
    let others = [0, 1].map(|number| format!("/device:TPU:{number} Other"));
    assert_eq!(threads, [&first, &first, &others[0], &second, &second, &others[1]]);
    // A thread of the host has the number of a lane, and is another one.
    assert_eq!((trace.processes.len(), name(&trace.api_calls.thread()[0])), (1, "python"));
    let one = read_events_of(&[host(), device(0)].concat());
    assert_eq!((one.ranges.thread(), one.processes.len()), (&[None; 3][..], 1));
}

#[test]
fn planes_of_other_names_beside_these_have_ranges_only() {
    let mut events = host();
    events.extend(named(8, "/device:CUSTOM:Megascale Trace", &[(1, "transfers")]));
    events.push(event(8, 1, "send", 120, 30, ""));
    let trace = read_events_of(&events);
    assert_eq!(names_of_tasks(&trace), ["dot_fusion", "dot_fusion"]);
    let ranges: Vec<_> = trace.ranges.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(ranges, ["send"]);
}

#[test]
fn other_timelines_with_paths_as_names_are_none_of_these() {
    let mut events = named(1, "/usr/bin/server", &[(1, "main")]);
    events.push(event(1, 1, "work", 1, 2, ""));
    assert_eq!(names_of_tasks(&read_events_of(&events)), ["work"]);
}

#[test]
fn operators_of_one_name_in_two_modules_are_two() {
    let mut events = named(2, "/device:TPU:0", &[(3, "XLA Ops")]);
    for (start, module) in [(100, "jit_f(1)"), (200, "jit_g(2)"), (300, "jit_f(1)")] {
        let of = format!(r#""hlo_category": "loop fusion", "hlo_module": "{module}""#);
        events.push(event(2, 3, "fusion.1", start, 10, &of));
    }
    let trace = read_events_of(&events);
    let operators = trace.tasks.operator();
    assert_eq!((operators.len(), trace.operators.len()), (3, 2));
    assert!(operators[0] == operators[2] && operators[0] != operators[1]);
    let attributes = trace.operators.attributes()[operators[1].unwrap().index()].unwrap();
    assert_eq!(trace.strings.get(attributes), r#"{"hlo_module":"jit_g(2)"}"#);
}
