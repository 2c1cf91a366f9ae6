//! A rank's timeline (`trace_view.json`), as the vendor's profiler for PyTorch writes it: the framework's calls,
//! the launches, the device's tasks, communication by group and plane, and the cores' frequency, with arrows from
//! each launch to what it launched.

use serde_json::{Value, json};

use crate::identity::{HOLDING_CALL, INPUT_CALL, Identity};
use crate::tables::{Tables, Transport};
use crate::text::microseconds;

/// Lanes of planes stand behind those of groups.
const FIRST_PLANE: usize = 8;

/// Numbers of the timeline's processes: the framework's, and one for each layer of the device.
struct Processes {
    python: usize,
    cann: usize,
    hardware: usize,
    communication: usize,
    frequency: usize,
}

/// All events.
pub(crate) fn timeline(identity: &Identity, tables: &Tables) -> Value {
    let base = 100_000 + identity.rank * 10;
    let processes = Processes {
        python: 10_000 + identity.rank,
        cann: base,
        hardware: base + 1,
        communication: base + 2,
        frequency: base + 3,
    };
    let mut events = Vec::with_capacity(tables.tasks.len() + 4 * tables.launches.len());
    names(&mut events, &processes, identity, tables);
    calls(&mut events, &processes, identity, tables);
    device(&mut events, &processes, tables);
    communication(&mut events, &processes, identity, tables);
    for (time, megahertz) in &tables.frequencies {
        events.push(json!({
            "ph": "C", "name": "AI Core Freq", "pid": processes.frequency, "tid": 0, "ts": microseconds(*time),
            "args": {"MHz": megahertz},
        }));
    }
    Value::Array(events)
}

/// Names and order of processes and lanes.
fn names(events: &mut Vec<Value>, processes: &Processes, identity: &Identity, tables: &Tables) {
    let mut name = |what: &str, process: usize, lane: i64, name: String| {
        events.push(json!({"ph": "M", "name": what, "pid": process, "tid": lane, "args": {"name": name}}));
    };
    let thread = identity.thread();
    for (process, label) in [
        (processes.python, "Python"),
        (processes.cann, "CANN"),
        (processes.hardware, "Ascend Hardware"),
        (processes.communication, "HCCL"),
        (processes.frequency, "AI Core Freq"),
    ] {
        name("process_name", process, 0, label.to_owned());
    }
    for process in [processes.python, processes.cann] {
        name("thread_name", process, thread, format!("Thread {thread}"));
    }
    let streams: std::collections::BTreeSet<i64> = tables.tasks.iter().map(|task| task.stream).collect();
    for stream in streams {
        name("thread_name", processes.hardware, stream, format!("Stream {stream}"));
    }
    for lane in 0..identity.groups.len() {
        let label = format!("Group {lane} Communication");
        name("thread_name", processes.communication, lane as i64, label);
    }
    let planes = tables.collectives.iter().flat_map(|collective| &collective.link_tasks);
    if let Some(last) = planes.map(|task| task.plane).max() {
        for plane in 0..=last {
            let lane = (FIRST_PLANE + plane) as i64;
            name("thread_name", processes.communication, lane, format!("Plane {plane}"));
        }
    }
    for (order, process, label) in [
        (0, processes.python, "CPU"),
        (7, processes.cann, "CPU"),
        (13, processes.hardware, "NPU"),
        (14, processes.frequency, "NPU"),
        (15, processes.communication, "NPU"),
    ] {
        for (what, key, value) in
            [("process_labels", "labels", json!(label)), ("process_sort_index", "sort_index", json!(order))]
        {
            events.push(json!({"ph": "M", "name": what, "pid": process, "tid": 0, "args": {key: value}}));
        }
    }
}

/// Calls of the framework, steps among them, and launches with the begin of their arrows.
fn calls(events: &mut Vec<Value>, processes: &Processes, identity: &Identity, tables: &Tables) {
    let thread = identity.thread();
    let mut framework = |name: &str, start: i64, end: i64| {
        events.push(json!({
            "ph": "X", "cat": "cpu_op", "name": name, "pid": processes.python, "tid": thread,
            "ts": microseconds(start), "dur": (end - start) as f64 / 1e3, "args": {},
        }));
    };
    for step in &tables.steps {
        framework(&format!("ProfilerStep#{}", step.number), step.start_ns, step.end_ns);
    }
    for input in &tables.inputs {
        framework(INPUT_CALL, input.start_ns, input.end_ns);
    }
    for call in &tables.launches {
        let (start, end) = call.call();
        framework(&call.name, start, end);
        if let Some((start, end)) = call.holds_up() {
            framework(HOLDING_CALL, start, end);
        }
    }
    let mut launch = |name: &str, level: &str, start: i64, end: i64, connection: i64| {
        let id = connection.to_string();
        events.push(json!({
            "ph": "X", "name": name, "pid": processes.cann, "tid": thread, "ts": microseconds(start),
            "dur": (end - start) as f64 / 1e3,
            "args": {"Thread Id": thread, "Mode": "launch", "level": level, "id": name, "item_id": "0",
                     "connection_id": connection},
        }));
        events.push(json!({
            "ph": "s", "cat": "HostToDevice", "name": format!("HostToDevice{connection}"), "id": id,
            "pid": processes.cann, "tid": thread, "ts": microseconds(start),
        }));
    };
    for call in &tables.launches {
        launch("Node@launch", "node", call.start_ns, call.end_ns, call.connection);
    }
    for call in &tables.copies {
        launch("Runtime@MemcpyAsync", "runtime", call.call_start_ns, call.call_end_ns, call.connection);
    }
}

/// Operators and copies, with the end of their arrows.
fn device(events: &mut Vec<Value>, processes: &Processes, tables: &Tables) {
    let kernels = tables.kernels.iter().map(|row| (row.task, row.kernel.name));
    let copies = tables.copies.iter().map(|copy| (copy.task, "MEMCPY_ASYNC"));
    for (place, name) in kernels.chain(copies) {
        let task = &tables.tasks[place];
        events.push(json!({
            "ph": "X", "name": name, "pid": processes.hardware, "tid": task.stream, "ts": microseconds(task.start_ns),
            "dur": (task.end_ns - task.start_ns) as f64 / 1e3,
            "args": {"Model Id": 4_294_967_295u32, "Task Type": task.kind, "Physic Stream Id": task.stream,
                     "Task Id": task.number, "Batch Id": 0, "Subtask Id": 4_294_967_295u32,
                     "connection_id": task.connection},
        }));
        events.push(arrow_end(processes.hardware, task.stream, task.start_ns, task.connection));
    }
}

/// Communication operators by group, and below them what went between two ranks.
fn communication(events: &mut Vec<Value>, processes: &Processes, identity: &Identity, tables: &Tables) {
    for collective in &tables.collectives {
        let lane = identity.groups.iter().position(|own| own.group == collective.group).unwrap_or(0) as i64;
        let own_place = identity.group(collective.group).map_or(0, |own| own.own_place);
        events.push(json!({
            "ph": "X", "name": collective.name, "pid": processes.communication, "tid": lane,
            "ts": microseconds(collective.start_ns), "dur": (collective.end_ns - collective.start_ns) as f64 / 1e3,
            "args": {"connection_id": collective.connection, "model id": 4_294_967_295u32, "data_type": "BFP16",
                     "alg_type": "MESH-RING", "count": collective.size / 2},
        }));
        events.push(arrow_end(processes.communication, lane, collective.start_ns, collective.connection));
        for link in &collective.link_tasks {
            let task = &tables.tasks[link.task];
            let is_near = link.transport == Transport::Hccs;
            let name = match (link.bytes, is_near) {
                (0, _) => "Notify_Wait",
                (_, true) => "Memcpy",
                (_, false) => "RDMASend",
            };
            events.push(json!({
                "ph": "X", "name": name, "pid": processes.communication, "tid": FIRST_PLANE + link.plane,
                "ts": microseconds(task.start_ns), "dur": (task.end_ns - task.start_ns) as f64 / 1e3,
                "args": {"notify_id": link.plane.to_string(), "stream id": task.stream, "task id": task.number,
                         "task type": name, "src rank": own_place, "dst rank": link.peer,
                         "transport type": if is_near { "SDMA" } else { "RDMA" }, "size(Byte)": link.bytes,
                         "data type": "BFP16", "link type": if is_near { "HCCS" } else { "ROCE" }},
            }));
        }
    }
}

fn arrow_end(process: usize, lane: i64, time: i64, connection: i64) -> Value {
    json!({
        "ph": "f", "bp": "e", "cat": "HostToDevice", "name": format!("HostToDevice{connection}"),
        "id": connection.to_string(), "pid": process, "tid": lane, "ts": microseconds(time),
    })
}
