//! Timelines of 2022 and 2023, of which each device, model and inference has one: read together.
//!
//! A file is a bare list of events. Those of one device are read as one list, so that their operators, threads and
//! streams are the same. Calls that last from one inference into the next are in the files of both.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use opscope_formats::chrome;
use opscope_formats::input::Input;
use opscope_formats::reading::Stop;
use opscope_trace::{ApiCallId, LossKind, Nanoseconds, Task, Trace};

use crate::timeline::AscendTimeline;

/// Timelines by the device that their names tell: `msprof_<device>_<model>_<iteration>.json`.
pub(super) fn by_device(paths: &[PathBuf]) -> BTreeMap<u32, Vec<&Path>> {
    let mut found: BTreeMap<u32, Vec<&Path>> = BTreeMap::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let device = name.split('_').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
        found.entry(device).or_default().push(path);
    }
    found
}

/// Reads the timelines of one device as one.
///
/// # Errors
/// When none of them has an event, or it was stopped.
pub(super) fn read(inputs: &[Input], stop: &Stop) -> Result<Trace, chrome::ReadError> {
    if let [input] = inputs {
        return chrome::read_with(input, &[&AscendTimeline], stop);
    }
    let mut joined = vec![b'['];
    for list in inputs.iter().map(|input| inner(input)).filter(|list| !list.is_empty()) {
        if joined.len() > 1 {
            joined.push(b',');
        }
        joined.extend_from_slice(list);
    }
    joined.push(b']');
    let mut trace = chrome::read_with(&joined, &[&AscendTimeline], stop)?;
    drop_repeated_calls(&mut trace);
    Ok(trace)
}

/// Adds the trace of another device to that of the first.
pub(super) fn add(trace: &mut Trace, other: &Trace) {
    let zero = |trace: &Trace| Nanoseconds(trace.clock.unix_zero.unwrap_or(0));
    trace.append(other, zero(other) - zero(trace));
    drop_repeated_calls(trace);
}

/// The elements of a list, or of one that was cut off, without its brackets.
fn inner(json: &[u8]) -> &[u8] {
    let json = json.trim_ascii();
    let json = json.strip_prefix(b"[").unwrap_or(json);
    json.strip_suffix(b"]").unwrap_or(json).trim_ascii()
}

/// Drops calls that an earlier file has as well; their tasks are launched by those.
fn drop_repeated_calls(trace: &mut Trace) {
    let mut first_of = HashMap::new();
    let firsts: Vec<ApiCallId> = (trace.api_calls.iter())
        .map(|(id, row)| *first_of.entry((row.thread, row.name, row.start, row.duration)).or_insert(id))
        .collect();
    let keep: Vec<bool> = trace.api_calls.ids().map(|id| firsts[id.index()] == id).collect();
    let repeated = keep.iter().filter(|keep| !**keep).count();
    if repeated == 0 {
        return;
    }
    for id in trace.tasks.ids() {
        let row = trace.tasks.get(id);
        let launched_by = row.launched_by.map(|call| firsts[call.index()]);
        trace.tasks.set(id, Task { launched_by, ..row });
    }
    trace.retain_calls(&keep);
    trace.count_loss(LossKind::RepeatedSlice, repeated as u64, "calls of several timelines");
}
