//! The golden profiles as traces.

mod common;

use opscope_cann::join::Joined;
use opscope_cann::to_trace;
use opscope_trace::{ApiLevel, DataType, ExecutionUnit, Nanoseconds};

#[test]
fn a_golden_profile_becomes_a_trace_with_everything_in_its_place() {
    let Some(golden) = common::golden() else { return };
    let trace = to_trace(&Joined::new(common::load(&golden, "910b_static")));
    assert_eq!(trace.clock.unix_zero, Some(1_760_000_000_000_000_000));
    assert_eq!(trace.property("chip"), Some("Ascend 910B"));
    assert_eq!(trace.tasks.len(), 102);
    assert_eq!(trace.operators.len(), 34);
    assert_eq!(trace.api_calls.len(), 92);
    assert_eq!(trace.iterations.len(), 3);
    assert_eq!(trace.ranges.len(), 12);
    assert_eq!(trace.strings.get(trace.models.name()[0]), "yolov4_bs1");

    let task = trace.tasks.get(trace.tasks.ids().next().expect("a task"));
    assert_eq!(trace.strings.get(task.name), "trans_TransData_0");
    assert_eq!((task.start, task.duration), (Nanoseconds(2_693_080), Nanoseconds(3_020)));
    assert_eq!(task.unit, ExecutionUnit::AiVectorCore);
    assert_eq!(task.iteration.map(|id| trace.iterations.get(id).number), Some(0));
    let call = trace.api_calls.get(task.launched_by.expect("a launch"));
    assert_eq!((call.level, trace.strings.get(call.name)), (ApiLevel::Node, "launch"));

    let operator = trace.operators.get(task.operator.expect("an operator"));
    let input = operator.inputs().next().expect("an input");
    assert_eq!(trace.shape(input), Some(&[1, 3, 416, 416][..]));
    assert_eq!(trace.tensors.get(input).data_type, DataType::Float16);
    assert_eq!(operator.bytes_read, Some(3 * 416 * 416 * 2));

    let mixed = trace.tasks.iter().filter(|(_, task)| task.unit == ExecutionUnit::MixAiCore);
    let total: Nanoseconds = mixed.map(|(_, task)| task.duration).sum();
    assert_eq!(total, Nanoseconds(17_640), "each operator on both kinds of cores counts once");
}
