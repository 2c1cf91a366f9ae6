//! The processes, threads, devices and streams of a trace, each entered once.

use std::collections::HashMap;

use crate::{
    Device, DeviceId, DeviceKind, Model, ModelId, Process, ProcessId, Stream, StreamId, StringId, Thread,
    ThreadId, Trace,
};

/// Finds the rows of the places where things happened, and adds those that are missing.
#[derive(Debug, Default)]
pub struct Places {
    processes: HashMap<u32, ProcessId>,
    threads: HashMap<(ProcessId, u64), ThreadId>,
    devices: HashMap<(DeviceKind, u32), DeviceId>,
    streams: HashMap<(DeviceId, u64), StreamId>,
}

impl Places {
    /// The places that a trace has already.
    pub fn of(trace: &Trace) -> Self {
        Self {
            processes: trace.processes.iter().map(|(id, row)| (row.pid, id)).collect(),
            threads: trace.threads.iter().map(|(id, row)| ((row.process, row.tid), id)).collect(),
            devices: trace.devices.iter().map(|(id, row)| ((row.kind, row.number), id)).collect(),
            streams: trace.streams.iter().map(|(id, row)| ((row.device, row.number), id)).collect(),
        }
    }

    /// The process with the system's number `pid`.
    pub fn process(&mut self, trace: &mut Trace, pid: u32) -> ProcessId {
        *self.processes.entry(pid).or_insert_with(|| {
            let name = trace.strings.intern("");
            trace.processes.push(Process { pid, name })
        })
    }

    /// Names a process that has no name yet.
    pub fn name_process(&mut self, trace: &mut Trace, process: ProcessId, name: &str) {
        let row = trace.processes.get(process);
        if trace.strings.get(row.name).is_empty() {
            let name = trace.strings.intern(name);
            trace.processes.set(process, Process { name, ..row });
        }
    }

    /// The thread `tid` of a process, which gets the name if it is new or has none.
    pub fn thread(&mut self, trace: &mut Trace, process: ProcessId, tid: u64, name: &str) -> ThreadId {
        let name = trace.strings.intern(name);
        let add = || trace.threads.push(Thread { process, tid, name });
        let thread = *self.threads.entry((process, tid)).or_insert_with(add);
        let row = trace.threads.get(thread);
        if trace.strings.get(row.name).is_empty() {
            trace.threads.set(thread, Thread { name, ..row });
        }
        thread
    }

    /// The device of a kind and number, which gets the name if it is new.
    pub fn device(&mut self, trace: &mut Trace, kind: DeviceKind, number: u32, name: &str) -> DeviceId {
        *self.devices.entry((kind, number)).or_insert_with(|| {
            let name = trace.strings.intern(name);
            trace.devices.push(Device { number, kind, name })
        })
    }

    /// The stream of a device, which gets the name and the thread that executes it if it is new.
    pub fn stream(
        &mut self,
        trace: &mut Trace,
        device: DeviceId,
        number: u64,
        thread: Option<ThreadId>,
        name: StringId,
    ) -> StreamId {
        *self
            .streams
            .entry((device, number))
            .or_insert_with(|| trace.streams.push(Stream { device, number, thread, name }))
    }
}

impl Trace {
    /// The model of a number, entered if it is new.
    pub fn enter_model(&mut self, number: u64) -> ModelId {
        let numbers = self.models.number();
        let known = self.entered.models_by_number.find(number, numbers.len(), |row| numbers[row]);
        known.map(ModelId::from_index).unwrap_or_else(|| {
            let name = self.strings.intern("");
            self.models.push(Model { number, name })
        })
    }

    /// The model of a name, entered if it is new.
    pub fn enter_named_model(&mut self, name: &str) -> ModelId {
        let name = self.strings.intern(name);
        let names = self.models.name();
        let key = name.index() as u64;
        let known = self.entered.models_by_name.find(key, names.len(), |row| names[row].index() as u64);
        known.map(ModelId::from_index).unwrap_or_else(|| {
            let number = self.models.len() as u64;
            self.models.push(Model { number, name })
        })
    }
}
