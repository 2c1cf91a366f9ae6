//! A rank's timeline as PyTorch's profiler writes it for GPUs: the same run, whose operators are kernels and whose
//! collectives are those of NCCL. Times are microseconds from a base.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::identity::{HOLDING_CALL, INPUT_CALL, Identity, OwnGroup};
use crate::options::Options;
use crate::tables::{Collective, Launch, Tables};

/// The streams of copies, and the first of those of groups.
const COPIES: usize = 3;
const FIRST_GROUP: usize = 20;

/// The bytes of an element.
const ELEMENT: i64 = 2;

/// The name of a rank's timeline, as the handler for TensorBoard gives it.
pub(crate) fn name(identity: &Identity, day: u32) -> String {
    let (host, rank) = (identity.host, identity.rank);
    format!("host{host}_{}.17{day:02}00000000000.pt.trace.json", 10_000 + rank)
}

/// The timeline.
pub(crate) fn timeline(options: &Options, identity: &Identity, tables: &Tables) -> Value {
    // Whole seconds, so that fractions of microseconds stay exact.
    const SECOND: i64 = 1_000_000_000;
    let first = tables.steps.first().map_or(0, |step| step.start_ns);
    let base = (first / SECOND - 10) * SECOND;
    let mut events = Events { identity, base, list: Vec::new() };
    events.host(tables);
    events.kernels(tables);
    events.collectives(tables);
    let groups: Vec<Value> = identity.groups.iter().map(group).collect();
    json!({
        "schemaVersion": 1,
        "deviceProperties": [{"id": identity.device, "name": "NVIDIA A100-SXM4-80GB"}],
        "distributedInfo": {
            "backend": "nccl", "rank": identity.rank, "world_size": options.layout.ranks(),
            "pg_count": groups.len(), "pg_config": groups, "nccl_version": "2.21.5",
        },
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
        "traceEvents": events.list,
    })
}

/// A group, as the profile declares it.
fn group(own: &OwnGroup) -> Value {
    json!({
        "pg_name": number(own), "pg_desc": own.group.name(), "backend_config": "cuda:nccl",
        "pg_size": own.members.len(), "ranks": own.members,
    })
}

/// The framework's name of a group, which those of a kind share.
fn number(own: &OwnGroup) -> String {
    (own.group as usize + 1).to_string()
}

struct Events<'s> {
    identity: &'s Identity,
    base: i64,
    list: Vec<Value>,
}

impl Events<'_> {
    fn time(&self, time: i64) -> f64 {
        (time - self.base) as f64 / 1e3
    }

    fn push(&mut self, category: &str, name: &str, at: (usize, usize), span: (i64, i64), args: Value) {
        self.list.push(json!({
            "ph": "X", "cat": category, "name": name, "pid": at.0, "tid": at.1, "ts": self.time(span.0),
            "dur": (span.1 - span.0) as f64 / 1e3, "args": args,
        }));
    }

    /// Steps, the loader's calls, and launches.
    fn host(&mut self, tables: &Tables) {
        let thread = (10_000 + self.identity.rank, 10_000 + self.identity.rank);
        for step in &tables.steps {
            let name = format!("ProfilerStep#{}", step.number);
            self.push("user_annotation", &name, thread, (step.start_ns, step.end_ns), json!({}));
        }
        for input in &tables.inputs {
            self.push("user_annotation", INPUT_CALL, thread, (input.start_ns, input.end_ns), json!({}));
        }
        for launch in &tables.launches {
            let args = json!({"External id": launch.connection, "correlation": launch.connection});
            let span = (launch.start_ns, launch.end_ns);
            self.push("cuda_runtime", "cudaLaunchKernel", thread, span, args);
            if let Some(span) = launch.holds_up() {
                self.push("cpu_op", HOLDING_CALL, thread, span, json!({}));
            }
        }
        for copy in &tables.copies {
            let args = json!({"correlation": copy.connection});
            let span = (copy.call_start_ns, copy.call_end_ns);
            self.push("cuda_runtime", "cudaMemcpyAsync", thread, span, args);
        }
        let launch_of = |launch: &Launch| (launch.connection, (launch.start_ns, launch.end_ns));
        let launches: HashMap<i64, (i64, i64)> = tables.launches.iter().map(launch_of).collect();
        for row in &tables.kernels {
            let task = &tables.tasks[row.task];
            let shapes = row.kernel.input_shapes(tables.tokens);
            let sizes = |shape: &str| -> Vec<u64> { shape.split(',').flat_map(str::parse).collect() };
            let dimensions: Vec<Vec<u64>> = shapes.trim_matches('"').split(';').map(sizes).collect();
            let types = vec!["c10::BFloat16"; dimensions.len()];
            let args = json!({
                "External id": task.connection, "Input Dims": dimensions, "Input type": types,
            });
            let name = match row.kernel.kind(row.backward) {
                kind if kind == "GroupedMatmul" => "aten::_grouped_mm".to_owned(),
                kind => format!("aten::{}", kind.to_lowercase()),
            };
            // The operator is around its launch, as the framework's calls are.
            let launch = launches.get(&task.connection).copied();
            let (start, end) = launch.unwrap_or((task.start_ns - 160_000, task.start_ns - 159_000));
            self.push("cpu_op", &name, thread, (start - 500, end + 500), args);
        }
    }

    /// Kernels and copies.
    fn kernels(&mut self, tables: &Tables) {
        let device = self.identity.device;
        let args = |connection: i64, stream: usize| {
            json!({
                "External id": connection, "device": device, "context": 1, "stream": stream,
                "correlation": connection,
            })
        };
        for row in &tables.kernels {
            let task = &tables.tasks[row.task];
            let stream = task.stream as usize;
            let span = (task.start_ns, task.end_ns);
            self.push("kernel", row.kernel.name, (device, stream), span, args(task.connection, stream));
        }
        for copy in &tables.copies {
            let task = &tables.tasks[copy.task];
            let span = (task.start_ns, task.end_ns);
            let name = "Memcpy HtoD (Pinned -> Device)";
            self.push("gpu_memcpy", name, (device, COPIES), span, args(task.connection, COPIES));
        }
    }

    fn collectives(&mut self, tables: &Tables) {
        for collective in &tables.collectives {
            let Some(own) = self.identity.group(collective.group) else { continue };
            let stream = FIRST_GROUP + collective.group as usize;
            let span = (collective.start_ns, collective.end_ns);
            let name =
                format!("ncclDevKernel_{}(ncclDevKernelArgsStorage<4096ul>)", collective.transfer.name());
            let args = self.described(collective, own, stream);
            self.push("kernel", &name, (self.identity.device, stream), span, args);
        }
    }

    /// The arguments of a collective's kernel.
    fn described(&self, collective: &Collective, own: &OwnGroup, stream: usize) -> Value {
        let word = match collective.transfer.name() {
            "allReduce" => "allreduce",
            "allGather" => "_allgather_base",
            "reduceScatter" => "_reduce_scatter_base",
            "alltoallv" => "all_to_allv",
            "receive" => "recv",
            name => name,
        };
        let members: Vec<String> = own.members.iter().map(usize::to_string).collect();
        let elements = collective.size / ELEMENT;
        let mut args = json!({
            "External id": collective.connection, "device": self.identity.device, "context": 1,
            "stream": stream, "correlation": collective.connection, "Collective name": word,
            "In msg nelems": elements, "Out msg nelems": elements, "Group size": own.members.len(),
            "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]",
            "Process Group Name": number(own), "Process Group Description": own.group.name(),
            "Process Group Ranks": format!("[{}]", members.join(", ")),
        });
        let peer = collective.link_tasks.first().map(|task| own.members[task.peer]);
        match (word, peer) {
            ("send", Some(peer)) => args["Dst Rank"] = json!(peer),
            ("recv", Some(peer)) => args["Src Rank"] = json!(peer),
            _ => {}
        }
        args
    }
}
