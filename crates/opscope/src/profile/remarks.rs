//! What is odd about a whole profile of Ascend, in sentences.

use opscope_trace::{ApiLevel, DeviceKind, Trace};

/// What is odd about the trace of a raw directory, so that a user doesn't take it for an answer.
pub fn remarks(trace: &Trace) -> Vec<String> {
    let mut remarks: Vec<String> = trace.property("note").map(str::to_owned).into_iter().collect();
    let devices = trace.devices.kind().iter().filter(|kind| **kind == DeviceKind::Npu).count();
    if trace.tasks.is_empty() {
        remarks.push(match (devices, loads_model(trace)) {
            (0, _) => {
                "there is no device directory in this profile: only the host's side is shown".to_owned()
            }
            (_, true) => {
                "a model was loaded but never executed while profiling ran: no device ran a task".to_owned()
            }
            (_, false) => "no device ran a task while profiling ran".to_owned(),
        });
    } else if !trace.api_calls.is_empty() && trace.tasks.launched_by().iter().all(Option::is_none) {
        remarks.push(
            "no call of the host launched any of the devices' tasks: either the host's records of them \
             are missing, or its directory is of another run than the devices'"
                .to_owned(),
        );
    }
    remarks
}

/// Whether the host loaded a model.
fn loads_model(trace: &Trace) -> bool {
    let is_load = |name: &str| name.contains("ModelLoad") || name.starts_with("aclmdlLoad");
    let calls = trace.api_calls.level().iter().zip(trace.api_calls.name());
    let names = calls.filter(|(level, _)| matches!(level, ApiLevel::Model | ApiLevel::Application));
    names.map(|(_, name)| trace.strings.get(*name)).any(is_load)
}
