//! Where nodes were executed: processes, threads, devices and streams.

use std::collections::HashMap;

use opscope_trace::{
    Device, DeviceId, DeviceKind, ExecutionUnit, ModelId, Stream, StreamId, StringId, ThreadId, Trace,
};

/// The places that were added to a trace so far, by the file's own terms.
#[derive(Default)]
pub(super) struct Places {
    host: opscope_trace::Places,
    /// By the provider's name.
    devices: HashMap<StringId, DeviceId>,
    /// Threads of the host that execute the nodes of a session on a device.
    lanes: HashMap<(DeviceId, ModelId, ThreadId), StreamId>,
    /// Queues of a device.
    queues: HashMap<(DeviceId, Option<u64>), StreamId>,
    /// The device of kernels that name no node.
    gpu: Option<DeviceId>,
}

impl Places {
    /// A thread of the host; events of a device have -1 for process and thread, which is none.
    pub(super) fn thread(&mut self, trace: &mut Trace, process: i64, thread: i64) -> Option<ThreadId> {
        let (pid, tid) = (u32::try_from(process).ok()?, u64::try_from(thread).ok()?);
        let process = self.host.process(trace, pid);
        Some(self.host.thread(trace, process, tid, ""))
    }

    /// The device behind an execution provider.
    pub(super) fn device(&mut self, trace: &mut Trace, provider: &str) -> DeviceId {
        let name = trace.strings.intern(provider);
        *self
            .devices
            .entry(name)
            .or_insert_with(|| trace.devices.push(Device { number: 0, kind: device_kind(provider), name }))
    }

    /// A device for kernels that name no node: only the providers for GPUs record any.
    pub(super) fn any_gpu(&mut self, trace: &mut Trace) -> DeviceId {
        *self.gpu.get_or_insert_with(|| {
            let known = trace.devices.ids().find(|id| trace.devices.kind()[id.index()] == DeviceKind::Gpu);
            known.unwrap_or_else(|| {
                let name = trace.strings.intern("");
                trace.devices.push(Device { number: 0, kind: DeviceKind::Gpu, name })
            })
        })
    }

    /// The stream that a thread of the host is for the nodes of a session.
    pub(super) fn lane(
        &mut self,
        trace: &mut Trace,
        device: DeviceId,
        session: ModelId,
        thread: ThreadId,
    ) -> StreamId {
        *self.lanes.entry((device, session, thread)).or_insert_with(|| {
            let number = trace.threads.tid()[thread.index()];
            let mut name = format!("thread {number}");
            if trace.models.len() > 1 {
                let model = trace.models.name()[session.index()];
                name = format!("{name}, {}", trace.strings.get(model));
            }
            let name = trace.strings.intern(&name);
            trace.streams.push(Stream { device, number, thread: Some(thread), name })
        })
    }

    /// A queue of a device.
    pub(super) fn queue(&mut self, trace: &mut Trace, device: DeviceId, number: Option<u64>) -> StreamId {
        *self.queues.entry((device, number)).or_insert_with(|| {
            let number = number.unwrap_or_default();
            let name = trace.strings.intern(&format!("stream {number}"));
            trace.streams.push(Stream { device, number, thread: None, name })
        })
    }
}

/// The part of a device that executes nodes.
pub(super) fn unit_of(trace: &Trace, device: DeviceId) -> ExecutionUnit {
    match trace.devices.kind()[device.index()] {
        DeviceKind::Cpu => ExecutionUnit::Cpu,
        DeviceKind::Gpu => ExecutionUnit::Gpu,
        DeviceKind::Npu | DeviceKind::Other => ExecutionUnit::Other,
    }
}

/// The kind of device of an execution provider.
fn device_kind(provider: &str) -> DeviceKind {
    match provider.strip_suffix("ExecutionProvider").unwrap_or(provider) {
        "CPU" | "Dnnl" | "XNNPACK" | "ACL" | "ArmNN" | "Azure" => DeviceKind::Cpu,
        "CUDA" | "Tensorrt" | "NvTensorRTRTX" | "ROCM" | "MIGraphX" | "Dml" | "WebGpu" | "Js" => {
            DeviceKind::Gpu
        }
        "CANN" | "QNN" | "VitisAI" | "Rknpu" | "VSINPU" | "SNPE" => DeviceKind::Npu,
        // OpenVINO, CoreML, NNAPI and TVM choose themselves.
        _ => DeviceKind::Other,
    }
}
