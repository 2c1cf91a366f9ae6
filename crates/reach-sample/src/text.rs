//! A rank's results as tables and JSON, as the vendor's profiler for PyTorch writes them: units are its own,
//! microseconds in tables, milliseconds and megabytes in JSON.

use std::io;

use serde_json::{Map, Value, json};

use crate::identity::Identity;
use crate::links::{by_transport, matrix, package, rate};
use crate::tables::{Collective, Tables, Transport};

/// The columns of `step_trace_time.csv`.
const STEP_COLUMNS: [&str; 10] = [
    "Step",
    "Computing",
    "Communication(Not Overlapped)",
    "Overlapped",
    "Communication",
    "Free",
    "Stage",
    "Bubble",
    "Communication(Not Overlapped and Exclude Receive)",
    "Preparing",
];

/// The columns of `kernel_details.csv`.
const KERNEL_COLUMNS: [&str; 21] = [
    "Step Id",
    "Model ID",
    "Task ID",
    "Stream ID",
    "Name",
    "Type",
    "OP State",
    "Accelerator Core",
    "Start Time(us)",
    "Duration(us)",
    "Wait Time(us)",
    "Block Dim",
    "Mix Block Dim",
    "HF32 Eligible",
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
    "Context ID",
];

/// `step_trace_time.csv`.
pub(crate) fn steps(tables: &Tables) -> io::Result<Vec<u8>> {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(STEP_COLUMNS)?;
    for step in &tables.steps {
        let parts = step.parts.iter().map(|part| (part / 1e3).to_string());
        file.write_record([step.number.to_string()].into_iter().chain(parts))?;
    }
    file.into_inner().map_err(|error| error.into_error())
}

/// `kernel_details.csv`.
pub(crate) fn kernels(tables: &Tables) -> io::Result<Vec<u8>> {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(KERNEL_COLUMNS)?;
    let mut end_before = None;
    for row in &tables.kernels {
        let task = &tables.tasks[row.task];
        let inputs = row.kernel.input_shapes(tables.tokens);
        let outputs = format!("\"{}\"", inputs.trim_matches('"').split(';').next().unwrap_or_default());
        let wait = task.start_ns - end_before.replace(task.end_ns).unwrap_or(task.start_ns);
        file.write_record([
            row.step.to_string().as_str(),
            "4294967295",
            &task.number.to_string(),
            &task.stream.to_string(),
            row.kernel.name,
            &row.kernel.kind(row.backward),
            "dynamic",
            row.kernel.unit,
            &format!("{}\t", microseconds(task.start_ns)),
            &((task.end_ns - task.start_ns) as f64 / 1e3).to_string(),
            &(wait.max(0) as f64 / 1e3).to_string(),
            "24",
            "0",
            "NO",
            &inputs,
            "DT_BF16",
            "ND",
            &outputs,
            "DT_BF16",
            "ND",
            "N/A",
        ])?;
    }
    file.into_inner().map_err(|error| error.into_error())
}

/// `communication.json`: by step and kind what each operator waited and moved.
pub(crate) fn communication(identity: &Identity, tables: &Tables) -> Value {
    let mut steps = Map::new();
    for collective in &tables.collectives {
        let Some(own) = identity.group(collective.group) else { continue };
        let (transit, wait) = (collective.transit / 1e6, collective.wait / 1e6);
        let ratio = (wait / (wait + transit) * 1e4).round() / 1e4;
        let entry = json!({
            "Communication Time Info": {
                "Start Timestamp(us)": collective.start_ns as f64 / 1e3,
                "Elapse Time(ms)": transit + wait,
                "Transit Time(ms)": transit,
                "Wait Time(ms)": wait,
                "Synchronization Time(ms)": wait,
                "Idle Time(ms)": collective.idle_ms(),
                "Wait Time Ratio": ratio,
                "Synchronization Time Ratio": ratio,
            },
            "Communication Bandwidth Info": bandwidths(collective),
        });
        let operators = of_step(&mut steps, collective.step, collective.transfer.is_between_two());
        operators.insert(format!("{}@{}", collective.name, own.hash), entry);
    }
    Value::Object(steps)
}

/// The bytes and times of an operator by each way between ranks.
fn bandwidths(collective: &Collective) -> Value {
    let entry = |bytes: f64, duration: f64, ratio: f64, packages: Value| {
        json!({
            "Transit Size(MB)": bytes / 1e6,
            "Transit Time(ms)": duration / 1e6,
            "Bandwidth(GB/s)": rate(bytes, duration),
            "Large Packet Ratio": ratio,
            "Size Distribution": packages,
        })
    };
    let mut all = Map::new();
    for transport in ["RDMA", "HCCS", "PCIE", "SDMA", "SIO"] {
        all.insert(transport.to_owned(), entry(0.0, 0.0, 0.0, json!({})));
    }
    for (transport, bytes, duration, count) in by_transport(&collective.links) {
        // The size is written with its decimals, also where it has none.
        let packages = json!({ format!("{:?}", package(bytes, count)): [count, duration / 1e6] });
        all.insert(transport.name().to_owned(), entry(bytes, duration, 1.0, packages));
        if transport == Transport::Hccs {
            all.insert("SDMA".to_owned(), entry(bytes, duration, 1.0, json!({})));
        }
    }
    Value::Object(all)
}

/// `communication_matrix.json`: by step and kind what went over each link.
pub(crate) fn communication_matrix(identity: &Identity, tables: &Tables) -> Value {
    let mut steps = Map::new();
    for row in matrix(tables) {
        let Some(own) = identity.group(row.group) else { continue };
        let mut cell = json!({
            "Transport Type": row.transport.name(),
            "Transit Size(MB)": row.bytes / 1e6,
            "Transit Time(ms)": row.duration / 1e6,
            "Bandwidth(GB/s)": rate(row.bytes, row.duration),
        });
        if let Some(operator) = row.operator {
            cell["Op Name"] = json!(operator);
        }
        let operators = of_step(&mut steps, row.step, row.transfer.is_between_two());
        let name = format!("{}-{}@{}", row.transfer.name().to_lowercase(), row.pick, own.hash);
        let links = operators.entry(name).or_insert_with(|| Value::Object(Map::new()));
        links[format!("{}-{}", row.source, row.target)] = cell;
    }
    Value::Object(steps)
}

/// The operators of a step that are between two ranks, or of all of a group.
fn of_step(steps: &mut Map<String, Value>, step: u32, is_between_two: bool) -> &mut Map<String, Value> {
    let kinds = steps.entry(format!("step{step}")).or_insert_with(|| json!({"p2p": {}, "collective": {}}));
    let kind = if is_between_two { "p2p" } else { "collective" };
    match &mut kinds[kind] {
        Value::Object(operators) => operators,
        _ => unreachable!("kinds are made as objects"),
    }
}

/// A time with three decimals, as the vendor writes microseconds.
pub(crate) fn microseconds(nanoseconds: i64) -> String {
    format!("{}.{:03}", nanoseconds / 1_000, nanoseconds % 1_000)
}
