//! Oddities of a whole profile of Ascend, in sentences.

use opscope_cann::{Joined, Outline, Profile, is_model_load};
use opscope_trace::{ApiLevel, Loss, LossKind, Trace};

use super::profile::RawProfile;

/// Oddities of a raw directory and its trace, so that a user doesn't take them for an answer.
pub fn remarks(profile: &Profile, trace: &Trace) -> Vec<String> {
    of_outline(profile, trace.run.note.as_deref(), outline_of_trace(trace))
}

/// As [`remarks`], without a trace.
pub fn remarks_of_joined(joined: &Joined, outline: Outline) -> Vec<String> {
    of_outline(&joined.data.profile, opscope_cann::note(joined), outline)
}

/// How much a raw directory holds, together with what other recorders saw.
pub fn outline(raw: &RawProfile) -> Outline {
    let (own, others) = (Outline::of(&raw.joined), outline_of_trace(&raw.other_recorders));
    Outline {
        tasks: own.tasks + others.tasks,
        tasks_before_begin: own.tasks_before_begin + others.tasks_before_begin,
        calls: own.calls + others.calls,
        has_launches: own.has_launches || others.has_launches,
        loads_model: own.loads_model || others.loads_model,
    }
}

fn outline_of_trace(trace: &Trace) -> Outline {
    Outline {
        tasks: trace.tasks.len(),
        tasks_before_begin: tasks_before_begin(trace),
        calls: trace.api_calls.len(),
        has_launches: trace.tasks.launched_by().iter().any(Option::is_some),
        loads_model: loads_model(trace),
    }
}

fn of_outline(profile: &Profile, note: Option<&str>, outline: Outline) -> Vec<String> {
    let mut remarks: Vec<String> = note.map(str::to_owned).into_iter().collect();
    let host = profile.host.as_ref().filter(|_| profile.devices.is_empty());
    if host.is_some_and(|host| host.metadata.info.collector.starts_with("opscope")) {
        // Nobody expects devices of a program that was collected without any.
        return remarks;
    }
    remarks.extend(of_another_run(profile));
    let devices = profile.devices.len();
    if outline.tasks == 0 {
        remarks.push(match (devices, outline.loads_model) {
            (0, _) => {
                "there is no device directory in this profile: only the host's side is shown".to_owned()
            }
            _ if outline.tasks_before_begin > 0 => format!(
                "all {} tasks of the devices end before the profile begins: their clocks (dev_start.log, \
                 host_start.log, start_info) are not those of this run",
                outline.tasks_before_begin
            ),
            (_, true) => {
                "a model was loaded but never executed while profiling ran: no device ran a task".to_owned()
            }
            (_, false) => "no device ran a task while profiling ran".to_owned(),
        });
    } else if outline.calls > 0 && !outline.has_launches {
        remarks.push(
            "no call of the host launched any of the devices' tasks: either the host's records of them \
             are missing, or its directory is of another run than the devices'"
                .to_owned(),
        );
    }
    remarks
}

/// How many tasks no result shows because of their times.
fn tasks_before_begin(trace: &Trace) -> u64 {
    let is_it = |loss: &Loss| loss.kind == LossKind::TimeBeforeStart;
    trace.losses.iter().map(|(_, loss)| loss).filter(is_it).map(|loss| loss.count).sum()
}

/// Devices that were not collected together with the host, by the begins that their files tell.
fn of_another_run(profile: &Profile) -> Vec<String> {
    /// How far the begins of one run may lie apart, in nanoseconds: collecting begins everywhere at once.
    const APART: u64 = 60_000_000_000;
    let Some(host) = &profile.host else {
        return vec![
            "there is no host directory in this profile: operators and calls have no names".to_owned(),
        ];
    };
    let begin = host.metadata.session.begin;
    let mut remarks = Vec::new();
    for device in &profile.devices {
        let (Some(of_host), Some(of_device)) = (begin, device.metadata.session.begin) else { continue };
        let apart = of_host.abs_diff(of_device);
        if apart > APART {
            let seconds = apart / 1_000_000_000;
            remarks.push(format!(
                "{} was collected {seconds} s apart from the host's directory: they are of different runs",
                device.path.display()
            ));
        }
    }
    remarks
}

/// Whether the host loaded a model.
fn loads_model(trace: &Trace) -> bool {
    let calls = trace.api_calls.level().iter().zip(trace.api_calls.name());
    let names = calls.filter(|(level, _)| matches!(level, ApiLevel::Model | ApiLevel::Application));
    names.map(|(_, name)| trace.strings.get(*name)).any(is_model_load)
}
