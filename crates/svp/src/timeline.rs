//! The timelines of layers (`task_time_*.json`) and of calls (`acl_*.json`), in Chrome's trace
//! format.
//!
//! | event | layer | call |
//! |---|---|---|
//! | `name` | the layer, or the fused layers' names joined | the call's name |
//! | `pid`, `tid` | rows of the view | process and thread |
//! | `ts`, `dur` | microseconds of the system's monotonic clock | the same |
//! | `args` | `Task Type`, `Stream Id`, `Task Id` | `Mode`, `Process_Id`, `Thread_Id` |
//! | `ph` | `X`; `M` names rows and holds no time | the same |

use std::io::{self, Write};

use opscope_trace::Nanoseconds;
use serde_json::{Value, json};

/// A file that is no timeline.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// JSON that can't be read.
    #[error("not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON without events.
    #[error("expected a list of events, or an object whose traceEvents is one")]
    NoEvents,
}

/// The unit that runs a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// The neural network engine.
    AaCore,
    /// The processor beside it, where layers go that the engine doesn't know.
    AaCpu,
    /// The file doesn't say.
    #[default]
    Unknown,
}

impl Unit {
    /// `AA CORE`, `AA_CPU` and the like; other documents of the family write AI for AA.
    pub fn parse(word: &str) -> Self {
        match word.trim().replace([' ', '_'], "").to_ascii_uppercase().as_str() {
            "AACORE" | "AICORE" => Self::AaCore,
            "AACPU" | "AICPU" => Self::AaCpu,
            _ => Self::Unknown,
        }
    }

    /// As the tables have it.
    pub fn table_word(self) -> &'static str {
        match self {
            Self::AaCore => "AA_CORE",
            Self::AaCpu => "AA_CPU",
            Self::Unknown => "N/A",
        }
    }

    /// As the timelines have it.
    pub fn timeline_word(self) -> &'static str {
        match self {
            Self::AaCore => "AA CORE",
            Self::AaCpu => "AA CPU",
            Self::Unknown => "N/A",
        }
    }
}

/// One execution of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRun {
    /// The layer's name.
    pub name: String,
    /// Where it ran.
    pub unit: Unit,
    /// Its stream.
    pub stream: u64,
    /// Its place in the order of execution, from 0.
    pub task: u64,
    /// The id that the file gives it; none where the place is only counted.
    pub id: Option<u32>,
    /// When it began; the system's monotonic clock.
    pub start: Nanoseconds,
    /// How long it took.
    pub duration: Nanoseconds,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The call's name.
    pub name: String,
    /// The part of the interface, such as `ACL_MODEL`.
    pub mode: String,
    /// The process that called.
    pub process: u64,
    /// The thread that called.
    pub thread: u64,
    /// When it began; the system's monotonic clock.
    pub start: Nanoseconds,
    /// How long it took.
    pub duration: Nanoseconds,
}

/// The events of a timeline; a file has one kind, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Executions of layers, in the order of the file.
    pub layers: Vec<LayerRun>,
    /// Calls, in the order of the file.
    pub calls: Vec<Call>,
    /// Events with a duration that lack a name or a time.
    pub dropped: u64,
}

impl Timeline {
    /// Reads a file.
    ///
    /// # Errors
    /// When it is no JSON, or has no list of events.
    pub fn read(bytes: &[u8]) -> Result<Self, TimelineError> {
        let json: Value = serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))?;
        let events = json.as_array().or_else(|| json.get("traceEvents")?.as_array());
        let mut timeline = Self::default();
        for event in events.ok_or(TimelineError::NoEvents)? {
            timeline.add(event);
        }
        Ok(timeline)
    }

    fn add(&mut self, event: &Value) {
        if event.get("ph").and_then(Value::as_str) != Some("X") {
            return;
        }
        let name = event.get("name").and_then(Value::as_str);
        let (start, duration) = (micros(event.get("ts")), micros(event.get("dur")));
        let (Some(name), Some(start), Some(duration)) = (name, start, duration) else {
            self.dropped += 1;
            return;
        };
        let name = name.to_owned();
        let argument = |names: &[&str]| names.iter().find_map(|name| event.get("args")?.get(name));
        if let Some(unit) = argument(&["Task Type", "Task_Type"]) {
            let task = whole(argument(&["Task Id", "Task_Id"]));
            self.layers.push(LayerRun {
                name,
                unit: Unit::parse(unit.as_str().unwrap_or_default()),
                stream: whole(argument(&["Stream Id", "Stream_Id"])).unwrap_or(0),
                task: task.unwrap_or(self.layers.len() as u64),
                id: task.and_then(|task| u32::try_from(task).ok()),
                start,
                duration,
            });
        } else {
            let mode = argument(&["Mode"]).and_then(Value::as_str).unwrap_or_default().to_owned();
            let process = whole(argument(&["Process_Id", "Process Id"])).or_else(|| whole(event.get("pid")));
            let thread = whole(argument(&["Thread_Id", "Thread Id"])).or_else(|| whole(event.get("tid")));
            let (process, thread) = (process.unwrap_or(0), thread.unwrap_or(0));
            self.calls.push(Call { name, mode, process, thread, start, duration });
        }
    }

    /// Writes a timeline of layers, a row for each unit.
    pub(crate) fn write_layers(layers: &[LayerRun], device: u32, out: &mut dyn Write) -> io::Result<()> {
        let mut events = vec![metadata("process_name", device.into(), 0, "Task Scheduler")];
        for (row, unit) in [Unit::AaCore, Unit::AaCpu, Unit::Unknown].into_iter().enumerate() {
            if layers.iter().any(|layer| layer.unit == unit) {
                events.push(metadata("thread_name", device.into(), row as u64, unit.timeline_word()));
            }
        }
        let layers = layers.iter().map(|layer| {
            json!({
                "name": layer.name, "pid": device, "tid": layer.unit as u64,
                "ts": exact_micros(layer.start), "dur": exact_micros(layer.duration),
                "args": {
                    "Task Type": layer.unit.timeline_word(), "Stream Id": layer.stream, "Task Id": layer.task
                },
                "ph": "X",
            })
        });
        write_events(events.into_iter().chain(layers), out)
    }

    /// Writes a timeline of calls, a row for each thread.
    pub(crate) fn write_calls(calls: &[Call], out: &mut dyn Write) -> io::Result<()> {
        let mut rows: Vec<(u64, u64)> = calls.iter().map(|call| (call.process, call.thread)).collect();
        rows.sort_unstable();
        rows.dedup();
        let names = rows.iter().flat_map(|&(process, thread)| {
            [
                metadata("process_name", process, thread, "AscendCL"),
                metadata("thread_name", process, thread, &format!("Thread {thread}")),
            ]
        });
        let calls = calls.iter().map(|call| {
            json!({
                "name": call.name, "pid": call.process, "tid": call.thread,
                "ts": exact_micros(call.start), "dur": exact_micros(call.duration),
                "args": {"Mode": call.mode, "Process_Id": call.process, "Thread_Id": call.thread},
                "ph": "X",
            })
        });
        write_events(names.chain(calls), out)
    }
}

fn metadata(name: &str, process: u64, thread: u64, value: &str) -> Value {
    json!({"name": name, "pid": process, "tid": thread, "ph": "M", "args": {"name": value}})
}

fn write_events(events: impl Iterator<Item = Value>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, event) in events.enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &event)?;
    }
    out.write_all(b"\n]\n")
}

/// Microseconds with three decimals, which a float holds exactly enough for a century.
fn exact_micros(time: Nanoseconds) -> f64 {
    time.as_micros()
}

/// A time in microseconds, as a number or as text.
fn micros(value: Option<&Value>) -> Option<Nanoseconds> {
    let micros = match value? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    micros.is_finite().then(|| Nanoseconds((micros * 1e3).round() as i64))
}

fn whole(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_and_calls_are_told_apart_by_their_arguments() {
        let text = br#"{"traceEvents": [
            {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "x"}},
            {"name": "conv1+relu1", "ph": "X", "pid": 0, "tid": 0, "ts": "4711.25", "dur": 3.5,
             "args": {"Task Type": "AA CPU", "Stream Id": 2, "Task Id": "7"}},
            {"name": "svp_acl_mdl_execute", "ph": "X", "pid": 3, "tid": 4, "ts": 4700, "dur": 90,
             "args": {"Mode": "ACL_MODEL", "Thread_Id": 132397}},
            {"name": "no time", "ph": "X", "ts": 1}, 5
        ]}"#;
        let timeline = Timeline::read(text).unwrap();
        assert_eq!(timeline.layers.len(), 1);
        let layer = &timeline.layers[0];
        assert_eq!((layer.unit, layer.stream, layer.task, layer.id), (Unit::AaCpu, 2, 7, Some(7)));
        assert_eq!((layer.start, layer.duration), (Nanoseconds(4_711_250), Nanoseconds(3_500)));
        let call = &timeline.calls[0];
        assert_eq!((call.process, call.thread, &*call.mode), (3, 132_397, "ACL_MODEL"));
        assert_eq!(timeline.dropped, 1);
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let layers = vec![LayerRun {
            name: "a".into(),
            unit: Unit::AaCore,
            stream: 0,
            task: 3,
            id: Some(3),
            start: Nanoseconds(1_234_567_890_123),
            duration: Nanoseconds(1),
        }];
        let calls = vec![Call {
            name: "svp_acl_init".into(),
            mode: "ACL_OTHERS".into(),
            process: 12,
            thread: 13,
            start: Nanoseconds(5),
            duration: Nanoseconds(6_000),
        }];
        let (mut first, mut second) = (Vec::new(), Vec::new());
        Timeline::write_layers(&layers, 0, &mut first).unwrap();
        Timeline::write_calls(&calls, &mut second).unwrap();
        assert_eq!(Timeline::read(&first).unwrap(), Timeline { layers, ..Timeline::default() });
        assert_eq!(Timeline::read(&second).unwrap(), Timeline { calls, ..Timeline::default() });
    }

    #[test]
    fn what_is_no_timeline_says_so() {
        assert!(Timeline::read(b"{}").unwrap_err().to_string().contains("traceEvents"));
        assert!(Timeline::read(b"[{").unwrap_err().to_string().contains("not valid JSON"));
        assert_eq!(Timeline::read(b"[]").unwrap(), Timeline::default());
    }
}
