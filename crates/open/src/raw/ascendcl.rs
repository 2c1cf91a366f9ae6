//! The operators of AscendCL's devices that a collected program was told by subscription
//! ([`opscope_cann_raw::subscription`]).
//!
//! Neither the unit nor the clock of AscendCL's times is the same in all of its documentation. The
//! unit is that in which the operators fit into the calls that executed them: microseconds, as the
//! header says, if they do, and nanoseconds, as the later manuals say, if microseconds would make
//! them longer than all calls together. The clock is taken as the monotonic one if the operators
//! then lie among the calls; otherwise the first operator is laid at the begin of the first call.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use opscope_cann::Profile;
use opscope_cann_raw::subscription::{Line, is_file_name};
use opscope_trace::{
    Device, DeviceKind, ExecutionUnit, LossKind, Model, ModelId, Nanoseconds, Operator, OperatorId, Stream,
    StringId, Task, Trace,
};

/// The records of a process that subscribed to AscendCL's operators.
#[derive(Debug, Default, PartialEq)]
struct SubscribedRecords {
    calls: Vec<(i64, i64)>,
    operators: Vec<Executed>,
    unreadable: u64,
}

#[derive(Debug, PartialEq)]
struct Executed {
    model: u64,
    begin: i64,
    end: i64,
    kind: String,
    name: String,
}

/// Adds the operators of all processes to the trace of the profile that they lie in.
pub fn append(trace: &mut Trace, profile: &Profile) {
    let Some(host) = &profile.host else { return };
    let Some(zero) = host.metadata.session.begin_monotonic else { return };
    for path in files(&host.data()) {
        match opscope_files::read_plain(&path) {
            Ok(bytes) => add(trace, &SubscribedRecords::read(&String::from_utf8_lossy(&bytes)), zero),
            Err(error) => trace.count_loss(LossKind::UnreadableAscendCl, 1, &error.to_string()),
        }
    }
}

fn files(data: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        is_file_name(&name)
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_it).collect();
    found.sort();
    found
}

impl SubscribedRecords {
    fn read(text: &str) -> Self {
        let mut records = Self::default();
        for line in text.lines() {
            let time = |time: u64| i64::try_from(time).ok();
            let read = match Line::parse(line) {
                Some(Line::Call { begin, end }) => {
                    time(begin).zip(time(end)).map(|call| records.calls.push(call))
                }
                Some(Line::Operator { model, begin, end, kind, name, .. }) => {
                    time(begin).zip(time(end)).map(|(begin, end)| {
                        let (kind, name) = (kind.to_owned(), name.to_owned());
                        records.operators.push(Executed { model, begin, end, kind, name });
                    })
                }
                None => None,
            };
            records.unreadable += u64::from(read.is_none());
        }
        records
    }

    /// How many nanoseconds the unit of AscendCL's times has.
    fn unit(&self) -> i64 {
        let length = |(begin, end): (i64, i64)| i128::from(end.saturating_sub(begin).max(0));
        let calls: i128 = self.calls.iter().copied().map(length).sum();
        let operators: i128 = self.operators.iter().map(|it| length((it.begin, it.end))).sum();
        if operators * 1_000 <= calls { 1_000 } else { 1 }
    }

    /// The nanoseconds to add to AscendCL's times for those of the monotonic clock.
    fn shift(&self, unit: i64) -> i64 {
        let (Some(first), Some(last)) =
            (self.calls.iter().map(|it| it.0).min(), self.calls.iter().map(|it| it.1).max())
        else {
            return 0;
        };
        let begin = self.operators.iter().map(|it| it.begin).min().unwrap_or(0).saturating_mul(unit);
        if (first..=last).contains(&begin) { 0 } else { first.saturating_sub(begin) }
    }
}

fn add(trace: &mut Trace, records: &SubscribedRecords, zero: i64) {
    if records.unreadable > 0 {
        trace.count_loss(LossKind::UnreadableAscendClLine, records.unreadable, "opscope.ascendcl.");
    }
    if records.operators.is_empty() {
        return;
    }
    let unit = records.unit();
    let shift = records.shift(unit).saturating_sub(zero);
    let name = trace.strings.intern("NPU (subscribed)");
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Npu, name });
    let mut streams = HashMap::new();
    let mut models: HashMap<u64, ModelId> = HashMap::new();
    let mut operators: HashMap<(u64, StringId, StringId), OperatorId> = HashMap::new();
    for it in &records.operators {
        let model = *models.entry(it.model).or_insert_with(|| {
            let name = trace.strings.intern(&format!("model {}", it.model));
            trace.models.push(Model { number: it.model, name })
        });
        let stream = *streams.entry(it.model).or_insert_with(|| {
            let name = trace.strings.intern(&format!("model {}", it.model));
            trace.streams.push(Stream { device, number: it.model, thread: None, name })
        });
        let (name, kind) = (trace.strings.intern(&it.name), trace.strings.intern(&it.kind));
        let operator = *operators.entry((it.model, name, kind)).or_insert_with(|| {
            trace.operators.push(Operator { model: Some(model), ..Operator::new(name, kind) })
        });
        let start = Nanoseconds(it.begin.saturating_mul(unit).saturating_add(shift));
        let duration = Nanoseconds(it.end.saturating_sub(it.begin).max(0).saturating_mul(unit));
        let task = Task::new(name, start, duration);
        trace.tasks.push(Task {
            operator: Some(operator),
            stream: Some(stream),
            unit: ExecutionUnit::Other,
            ..task
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_and_the_clock_are_those_that_fit_the_calls() {
        // Two calls of a millisecond; operators of 400 and 300 in microseconds of another clock.
        let text = "call\t5000000\t6000000\ncall\t7000000\t8000000\n\
                    op\t1\t100\t500\t400\tConv2D\tconv1\nop\t1\t2100\t2400\t300\tRelu\trelu1\n?\n";
        let records = SubscribedRecords::read(text);
        assert_eq!((records.calls.len(), records.operators.len(), records.unreadable), (2, 2, 1));
        assert_eq!((records.unit(), records.shift(1_000)), (1_000, 5_000_000 - 100_000));
        // The same in nanoseconds of the calls' own clock.
        let text = "call\t5000000\t6000000\nop\t1\t5100000\t5500000\t400000\tConv2D\tconv1\n";
        let records = SubscribedRecords::read(text);
        assert_eq!((records.unit(), records.shift(1)), (1, 0));
    }

    #[test]
    fn operators_become_tasks_on_a_device_of_their_own() {
        let text =
            "call\t5000\t9000\nop\t3\t5100\t5500\t400\tConv2D\tconv\nop\t3\t6100\t6500\t400\tConv2D\tconv\n";
        let mut trace = Trace::new();
        add(&mut trace, &SubscribedRecords::read(text), 5_000);
        assert_eq!((trace.tasks.len(), trace.operators.len(), trace.devices.len()), (2, 1, 1));
        assert_eq!(trace.tasks.start()[0], Nanoseconds(100));
        assert_eq!(trace.tasks.duration()[1], Nanoseconds(400));
    }
}
