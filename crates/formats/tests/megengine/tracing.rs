//! Profiles as traces.

use opscope_formats::megengine::{GraphId, Profile};
use opscope_trace::{ApiLevel, DataType, DeviceKind, ExecutionUnit, Nanoseconds, Trace};

use crate::small::{Op, profile};
use opscope_testing::megengine_network::network;

fn trace(text: &str) -> Trace {
    Profile::parse(text.as_bytes().to_vec()).unwrap().to_trace()
}

#[test]
fn operators_tasks_and_calls_are_tied_to_one_another() {
    let text = profile(&[
        Op { name: "idle", device: None, host: None, footprint: None, ..Op::default() },
        Op {
            name: "conv",
            op_type: "ConvolutionForward",
            device: Some(["0.001", "0.0015", "0.004"]),
            ..Op::default()
        },
    ]);
    let trace = trace(&text);
    assert_eq!((trace.operators.len(), trace.tasks.len(), trace.api_calls.len()), (2, 1, 1));
    let (_, task) = trace.tasks.iter().next().unwrap();
    assert_eq!((task.start, task.duration), (Nanoseconds(1_000_000), Nanoseconds(3_000_000)));
    assert_eq!(task.wait, Some(Nanoseconds(500_000)));
    assert_eq!(task.unit, ExecutionUnit::Cpu);
    let operator = trace.operators.get(task.operator.unwrap());
    assert_eq!(trace.strings.get(operator.name), "conv");
    assert_eq!((operator.position, operator.flops), (Some(1), Some(1_000)));
    let call = trace.api_calls.get(task.launched_by.unwrap());
    assert_eq!((call.level, call.duration), (ApiLevel::Node, Nanoseconds(20_000)));
    let stream = trace.streams.get(task.stream.unwrap());
    assert_eq!(trace.devices.get(stream.device).kind, DeviceKind::Cpu);
    let run = trace.iterations.get(task.iteration.unwrap());
    assert_eq!((run.start, run.duration), (Nanoseconds(1_000_000), Nanoseconds(3_000_000)));
    assert_eq!(trace.losses.len(), 0);
}

#[test]
fn bytes_are_parted_where_the_element_types_are_known() {
    let network = Profile::parse(network(4)).unwrap().to_trace();
    let bytes: Vec<_> =
        network.operators.iter().map(|(_, row)| (row.bytes_read, row.bytes_written)).collect();
    // A weight of known type; a convolution and an addition whose sums are those of four-byte elements.
    assert_eq!(bytes[1], (Some(0), Some(589_824)));
    assert_eq!(bytes[2], (Some(1_392_640 - 401_408), Some(401_408)));
    assert_eq!(bytes[3], (Some(803_328 - 401_408), Some(401_408)));
    // 4096 bytes are no multiple of the 20 elements.
    let odd = trace(&profile(&[Op::default()]));
    assert_eq!(odd.operators.bytes_read(), [Some(4_096)]);
    assert_eq!(odd.operators.bytes_written(), [None]);
}

#[test]
fn inputs_have_the_names_of_what_made_them() {
    let trace = Profile::parse(network(4)).unwrap().to_trace();
    let operators: Vec<_> = trace.operators.iter().map(|(_, row)| row).collect();
    let name = |tensor| trace.tensors.get(tensor).name;
    let output = operators[2].outputs().next().unwrap();
    assert_eq!(operators[2].output_count, 1, "the workspace is no output");
    assert_eq!(name(output), operators[3].inputs().map(name).nth(1).unwrap());
    let weight = trace.tensors.get(operators[1].outputs().next().unwrap());
    assert!(weight.parameter);
    assert_eq!(weight.data_type, DataType::Float32);
    assert_eq!(trace.shape(output), Some(&[1, 128, 28, 28][..]));
    let attributes = operators[2].attributes.map(|id| trace.strings.get(id));
    assert!(attributes.is_some_and(|json| json.contains("\"stride_w\": 1")));
}

#[test]
fn ids_that_lead_nowhere_are_counted() {
    let text = profile(&[Op::default()])
        .replace("\"device\": { \"0\"", "\"device\": { \"66\"")
        .replace("\"input\": [ \"1\"]", "\"input\": [ \"99\"]")
        .replace("\"comp_seq\": [ \"0\"]", "\"comp_seq\": [ \"0\", \"55\"]");
    let trace = trace(&text);
    let losses: Vec<_> =
        trace.losses.iter().map(|(_, row)| (trace.strings.get(row.detail), row.count)).collect();
    assert_eq!(losses, [("profiler.device", 1), ("graph_exec.comp_seq", 1), ("graph_exec.operator", 1)]);
    assert_eq!(trace.tasks.len(), 0);
    assert_eq!(trace.api_calls.len(), 1);
}

#[test]
fn the_peak_of_memory_is_found_with_its_owners() {
    let profile = Profile::parse(network(10)).unwrap();
    let peak = profile.peak_memory().unwrap();
    // Three weights that stay, and a convolution's input, output and workspace.
    assert_eq!(peak.bytes, 589_824 * 3 + 401_408 * 3);
    assert_eq!(peak.operator, profile.order[2]);
    let weight = (GraphId::from_number(3), 589_824);
    assert_eq!((peak.owners.len(), peak.owners[0]), (6, weight));
    let trace = profile.to_trace();
    let largest = trace.samples.value().iter().copied().fold(0.0, f64::max);
    assert_eq!(largest, peak.bytes as f64);
    assert!(trace.samples.time().is_sorted());
    assert_eq!(trace.run.planned_peak, Some(opscope_trace::Bytes(peak.bytes)));
}
