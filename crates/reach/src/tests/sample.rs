//! A small cluster, simulated and written as the profiler's text results: eight ranks on two hosts, of which one's
//! clock is 70 s ahead; neighbours share tensors, every other rank shares gradients. What a fault costs is known by
//! simulating without it.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

pub const RANKS: usize = 8;
const LAYERS: usize = 12;
const STEPS: usize = 2;

#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// A rank that computes a quarter slower.
    pub slow_rank: Option<usize>,
    /// A rank on which an operator runs on the AI CPU.
    pub ai_cpu: Option<usize>,
    /// A rank whose steps begin late.
    pub late: Option<usize>,
    /// A link at 0.3 of its speed.
    pub slow_link: Option<(usize, usize)>,
}

struct Task {
    name: &'static str,
    unit: &'static str,
    start: f64,
    end: f64,
}

struct Part {
    group: usize,
    sequence: usize,
    step: usize,
    start: f64,
    end: f64,
    begin: f64,
}

pub struct Cluster {
    faults: Faults,
    tasks: Vec<Vec<Task>>,
    parts: Vec<Vec<Part>>,
    steps: Vec<Vec<(f64, f64)>>,
}

/// Groups: four of neighbours, two of every other rank.
fn members(group: usize) -> Vec<usize> {
    match group {
        0..4 => vec![2 * group, 2 * group + 1],
        _ => (0..4).map(|it| 2 * it + group - 4).collect(),
    }
}

fn name_of(group: usize) -> String {
    format!("10.0.0.1%eth0_6000{group}")
}

impl Cluster {
    pub fn new(seed: u64, faults: Faults) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut noise = move |size: f64| 1.0 + size * (random.f64() - 0.5);
        let mut cluster = Self {
            faults,
            tasks: (0..RANKS).map(|_| Vec::new()).collect(),
            parts: (0..RANKS).map(|_| Vec::new()).collect(),
            steps: vec![Vec::new(); RANKS],
        };
        let mut now = [0.0; RANKS];
        let mut counts = [0; 6];
        for step in 0..STEPS {
            let begins = now;
            for (rank, now) in now.iter_mut().enumerate() {
                *now += 300e3 + if faults.late == Some(rank) { 8e6 } else { 0.0 };
            }
            for _ in 0..LAYERS {
                for (rank, now) in now.iter_mut().enumerate() {
                    let slow = if faults.slow_rank == Some(rank) { 1.25 } else { 1.0 };
                    for (name, length) in [("MatMulV2", 700e3), ("SoftmaxV2", 200e3)] {
                        cluster.compute(rank, now, name, "AI_CORE", length * slow * noise(0.02));
                    }
                    // The draw is made on every rank, so that the same seed is the same run without the fault.
                    let length = 600e3 * noise(0.02);
                    if faults.ai_cpu == Some(rank) {
                        cluster.compute(rank, now, "IndexPut", "AI_CPU", length);
                    }
                }
                for group in 0..4 {
                    cluster.collective(group, step, &mut counts, &mut now, 300e3 * noise(0.02));
                }
            }
            for group in 4..6 {
                cluster.collective(group, step, &mut counts, &mut now, 4e6 * noise(0.02));
            }
            for (rank, begin) in begins.into_iter().enumerate() {
                cluster.steps[rank].push((begin, now[rank]));
            }
        }
        cluster
    }

    fn compute(&mut self, rank: usize, now: &mut f64, name: &'static str, unit: &'static str, length: f64) {
        let start = *now + 1500.0;
        *now = start + length;
        self.tasks[rank].push(Task { name, unit, start, end: *now });
    }

    fn collective(
        &mut self,
        group: usize,
        step: usize,
        counts: &mut [usize; 6],
        now: &mut [f64; RANKS],
        length: f64,
    ) {
        let ranks = members(group);
        let begin = ranks.iter().map(|rank| now[*rank] + 900.0).fold(0.0, f64::max);
        let is_slow = self.faults.slow_link.is_some_and(|(a, b)| ranks.contains(&a) && ranks.contains(&b));
        let end = begin + if is_slow { length / 0.3 } else { length };
        for rank in ranks {
            let start = now[rank] + 900.0;
            now[rank] = end + 100.0 * (rank % 3) as f64;
            self.parts[rank].push(Part {
                group,
                sequence: counts[group],
                step,
                start,
                end: now[rank],
                begin,
            });
        }
        counts[group] += 1;
    }

    /// The same run, so much later.
    pub fn later(mut self, by_ns: f64) -> Self {
        self.tasks.iter_mut().flatten().for_each(|task| {
            task.start += by_ns;
            task.end += by_ns;
        });
        self.parts.iter_mut().flatten().for_each(|part| {
            part.start += by_ns;
            part.end += by_ns;
            part.begin += by_ns;
        });
        self.steps.iter_mut().flatten().for_each(|(begin, end)| {
            *begin += by_ns;
            *end += by_ns;
        });
        self
    }

    /// The mean length of a step, in nanoseconds.
    pub fn step_ns(&self) -> f64 {
        self.steps.iter().map(|steps| steps[STEPS - 1].1).fold(0.0, f64::max) / STEPS as f64
    }

    /// Writes the collections of some ranks, the numbers of one rank's gradients shifted by `shift`.
    pub fn write(&self, folder: &Path, ranks: impl IntoIterator<Item = usize>, shift: Option<(usize, i32)>) {
        for rank in ranks {
            let host = rank / 4;
            let name = format!("host{host}_{}_20260102030405{rank:03}_ascend_pt", 100 + rank);
            let outputs = folder.join(name).join("ASCEND_PROFILER_OUTPUT");
            std::fs::create_dir_all(&outputs).unwrap();
            let collection = outputs.parent().unwrap();
            let write = |path: std::path::PathBuf, text: String| std::fs::write(path, text).unwrap();
            let info = collection.join(format!("profiler_info_{rank}.json"));
            write(info, json!({ "rank_id": rank }).to_string());
            write(collection.join("profiler_metadata.json"), metadata(rank).to_string());
            write(outputs.join("kernel_details.csv"), self.kernels(rank, host));
            write(outputs.join("step_trace_time.csv"), self.step_lengths(rank));
            let shift = shift.filter(|(shifted, _)| *shifted == rank).map_or(0, |it| it.1);
            write(outputs.join("communication.json"), self.communication(rank, host, shift));
            write(outputs.join("communication_matrix.json"), self.matrix(rank));
        }
    }

    fn kernels(&self, rank: usize, host: usize) -> String {
        let mut text =
            "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes\n".to_owned();
        for task in &self.tasks[rank] {
            let (start, length) = (microseconds(host, task.start), (task.end - task.start) / 1e3);
            let (name, unit) = (task.name, task.unit);
            writeln!(text, "0,aclnn{name},{name},{unit},{start:.3}\t,{length:.3},\"\"\"4096,2048\"\"\"")
                .unwrap();
        }
        text
    }

    fn step_lengths(&self, rank: usize) -> String {
        let mut text = "Step,Computing,Communication(Not Overlapped),Free,Preparing\n".to_owned();
        for (step, (begin, end)) in self.steps[rank].iter().enumerate() {
            let first = self.tasks[rank].iter().find(|task| task.start > *begin).unwrap().start;
            let (length, preparing) = ((end - first) / 1e3, (first - begin) / 1e3);
            writeln!(text, "{step},{length},0,0,{preparing}").unwrap();
        }
        text
    }

    fn communication(&self, rank: usize, host: usize, shift: i32) -> String {
        let mut steps = serde_json::Map::new();
        for part in &self.parts[rank] {
            let number = part.sequence as i32 + if part.group < 4 { 0 } else { shift };
            let key = crate::group_key(&name_of(part.group));
            let name = format!("hcom_allReduce__{}_{number}_1@{key}", key % 1000);
            let transfer = (part.end - part.begin) / 1e6;
            let times = json!({
                "Communication Time Info": {
                    "Start Timestamp(us)": microseconds(host, part.start),
                    "Elapse Time(ms)": (part.end - part.start) / 1e6,
                },
                "Communication Bandwidth Info": {
                    "HCCS": { "Transit Size(MB)": 8.0, "Transit Time(ms)": transfer },
                },
            });
            let step =
                steps.entry(format!("step{}", part.step)).or_insert_with(|| json!({ "collective": {} }));
            step["collective"][name] = times;
        }
        serde_json::Value::Object(steps).to_string()
    }

    fn matrix(&self, rank: usize) -> String {
        let mut collectives = serde_json::Map::new();
        for group in [rank / 2, 4 + rank % 2] {
            let ranks = members(group);
            let me = ranks.iter().position(|it| *it == rank).unwrap();
            let mut links = serde_json::Map::new();
            for (place, peer) in ranks.iter().enumerate().filter(|(place, _)| *place != me) {
                let slow = if self.faults.slow_link == Some((rank, *peer)) { 0.3 } else { 1.0 };
                let cell = json!({
                    "Transport Type": "HCCS",
                    "Transit Size(MB)": 100.0,
                    "Transit Time(ms)": 100.0 / 18.0 / slow * (1.0 + 0.001 * (rank + place) as f64),
                });
                links.insert(format!("{me}-{place}"), cell);
            }
            let key = crate::group_key(&name_of(group));
            collectives.insert(format!("allreduce-total@{key}"), links.into());
        }
        json!({ "step0": { "collective": collectives } }).to_string()
    }
}

fn metadata(rank: usize) -> serde_json::Value {
    let group = |group: usize| {
        let role = if group < 4 { "tp" } else { "dp" };
        (name_of(group), json!({ "group_name": role, "global_ranks": members(group) }))
    };
    let groups: serde_json::Map<_, _> = [rank / 2, 4 + rank % 2].into_iter().map(group).collect();
    let arguments = json!({
        "world_size": RANKS, "rank": rank, "tensor_model_parallel_size": 2, "data_parallel_size": 4,
    });
    json!({ "distributed_args": arguments, "parallel_group_info": groups })
}

/// A time by a host's clock.
fn microseconds(host: usize, time: f64) -> f64 {
    1_760_000_000e6 + host as f64 * 70e6 + time / 1e3
}
