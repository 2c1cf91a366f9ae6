//! Calls of AscendCL and the runtime, and what they say about inferences.

use std::collections::BTreeMap;

use opscope_cann_raw::host::level;
use opscope_cann_raw::legacy::{AclCall, ModelTime, RuntimeCall, StepInfo, tag};

use crate::decode::api::sort_calls;
use crate::decode::legacy::records::{CallKinds, Source, call_name, model_call, name_model_calls, records};
use crate::tables::{Api, HostTables};
use opscope_trace::{LossKind, Losses};

/// Numbers of the runtime's calls begin here, behind those of its kinds of task.
const FIRST_RUNTIME_CALL: u32 = 1_000;

/// Adds all calls, in the order of their begin.
pub(super) fn add(sources: &[Source<'_>], tables: &mut HostTables) {
    ascendcl(sources, tables);
    runtime(sources, tables);
    name_model_calls(&mut tables.names);
    if !model_times(sources, tables) {
        steps(sources, tables);
    }
    sort_calls(&mut tables.api);
}

/// Calls of AscendCL. Its groups have the same numbers as in later tool chains.
fn ascendcl(sources: &[Source<'_>], tables: &mut HostTables) {
    let HostTables { names, losses, api, .. } = tables;
    let is_possible = |call: &AclCall| {
        call.tag == tag::ACL
            && (1..=4).contains(&call.kind)
            && call.begin > 0
            && call.begin <= call.end
            && call_name(names, &call.name).is_some()
    };
    let calls = records(sources, losses, |name| name.starts_with("AclModule.acl_"), is_possible);
    let mut groups: BTreeMap<u32, CallKinds> = BTreeMap::new();
    for (_, call) in calls {
        let group = groups
            .entry(call.kind)
            .or_insert_with(|| CallKinds::new(level::ACL, call.kind << 16 | 1, 0xFFFF));
        let kind = call_name(names, &call.name).and_then(|name| group.number(names, name));
        let Some(kind) = kind else {
            losses.count(LossKind::InvalidRecord, "AclModule", 1);
            continue;
        };
        let (thread, begin, end) = (call.thread, call.begin, call.end);
        api.push(Api {
            level: level::ACL,
            kind,
            thread,
            request: 0,
            begin,
            end,
            item: 0,
            from_events: false,
        });
    }
}

/// Calls of the runtime.
fn runtime(sources: &[Source<'_>], tables: &mut HostTables) {
    let HostTables { names, losses, api, .. } = tables;
    let is_possible = |call: &RuntimeCall| {
        call.tag == tag::RUNTIME_API
            && call.begin > 0
            && call.begin <= call.end
            && call.count as usize <= call.tasks.len()
            && call_name(names, &call.name).is_some()
    };
    let calls = records(sources, losses, |name| name == "runtime.api", is_possible);
    let mut kinds = CallKinds::new(level::RUNTIME, FIRST_RUNTIME_CALL, u32::MAX / 4);
    for (_, call) in calls {
        let kind = call_name(names, &call.name).and_then(|name| kinds.number(names, name));
        let Some(kind) = kind else { continue };
        let (thread, begin, end) = (call.thread, call.begin, call.end);
        api.push(Api {
            level: level::RUNTIME,
            kind,
            thread,
            request: 0,
            begin,
            end,
            item: 0,
            from_events: false,
        });
    }
}

/// Inferences with the copying of their inputs and outputs; false if there are none.
fn model_times(sources: &[Source<'_>], tables: &mut HostTables) -> bool {
    let HostTables { losses, api, .. } = tables;
    let is_possible = |time: &ModelTime| {
        let spans = [time.input, time.compute, time.output];
        time.tag == tag::MODEL_TIME && spans.iter().all(|[begin, end]| begin <= end)
    };
    let is_stream = |name: &str| name.starts_with("Framework.model_time_info");
    let times = records(sources, losses, is_stream, is_possible);
    for (_, time) in &times {
        let spans = [
            (model_call::COPY_INPUT, time.input),
            (model_call::EXECUTE, time.compute),
            (model_call::COPY_OUTPUT, time.output),
        ];
        for (kind, [begin, end]) in spans.into_iter().filter(|(_, [begin, _])| *begin > 0) {
            let (thread, request) = (time.thread, time.request);
            let item = u64::from(time.model);
            api.push(Api { level: level::MODEL, kind, thread, request, begin, end, item, from_events: true });
        }
    }
    !times.is_empty()
}

/// Inferences from the records of their begins and ends.
fn steps(sources: &[Source<'_>], tables: &mut HostTables) {
    const BEGIN: u8 = 0;
    const END: u8 = 1;
    let HostTables { losses, api, .. } = tables;
    let is_possible = |step: &StepInfo| step.tag == tag::STEP && step.edge <= END && step.time > 0;
    let mut steps = records(sources, losses, |name| name == "Framework.step_info", is_possible);
    steps.sort_by_key(|(_, step)| step.time);
    let mut open: BTreeMap<(Option<u16>, u32, u64), StepInfo> = BTreeMap::new();
    let mut unmatched = 0;
    for (device, step) in steps {
        let key = (device, step.model, step.iteration);
        if step.edge == BEGIN {
            unmatched += u64::from(open.insert(key, step).is_some());
            continue;
        }
        let Some(first) = open.remove(&key) else {
            unmatched += 1;
            continue;
        };
        api.push(Api {
            level: level::MODEL,
            kind: model_call::EXECUTE,
            thread: first.thread,
            request: u32::try_from(step.iteration).unwrap_or(u32::MAX),
            begin: first.time,
            end: step.time,
            item: u64::from(step.model),
            from_events: true,
        });
    }
    count_unmatched(losses, unmatched + open.len() as u64);
}

fn count_unmatched(losses: &mut Losses, count: u64) {
    losses.count(LossKind::UnmatchedEvent, "Framework.step_info", count);
}
