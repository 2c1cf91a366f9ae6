//! Collective operations: their steps, the table by type, the lanes and the tables of the database.
//!
//! The literal numbers were typed in from the output of the vendor's own parser on the same records.

mod common;
mod helping_threads;

use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, LossKind, SampleLayout, SampleMode, SampleOptions, discover, export_database, write_sample,
};
use opscope_cann_raw::additional::HcclInfo;
use opscope_cann_raw::device::{MAGIC, StarsLog};
use opscope_cann_raw::host::{ApiEvent, HcclOpInfo, Head, NodeBasicInfo, TaskTrack, level};
use opscope_cann_raw::{Chip, Record, hash_of};
use serde_json::Value;
use tempfile::TempDir;

const THREAD: u32 = 777;
const STEPS: [&str; 3] = ["Memcpy", "Reduce_Inline", "Notify_Wait"];

/// A profile of a 910B to which collective operations are added.
struct Collective {
    directory: TempDir,
    profile: PathBuf,
    host_begin: u64,
    device_begin: u64,
    device_megahertz: u64,
    texts: Vec<&'static str>,
    next_task: u16,
    /// The runtime's kind of the tasks that take steps.
    step_kind: u64,
    api: Vec<u8>,
    tracks: Vec<u8>,
    steps: Vec<u8>,
    operations: Vec<u8>,
    nodes: Vec<u8>,
    log: Vec<u8>,
}

/// A reading in a clock's file.
fn reading(file: &Path, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).expect("a clock's file");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a reading");
    line.trim_start_matches([':', ' ']).parse().expect("a number")
}

impl Collective {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (mode, layout) = (SampleMode::Dynamic, SampleLayout::Current);
        let options = SampleOptions { chip: Chip::V4_1_0, tasks: 60, mode, layout, seed: 7 };
        let profile = write_sample(directory.path(), options).expect("a profile");
        let info = std::fs::read_to_string(profile.join("device_0/info.json.0")).expect("a description");
        let info: Value = serde_json::from_str(&info).expect("JSON");
        let megahertz = info["DeviceInfo"][0]["hwts_frequency"].as_str().expect("a frequency");
        Self {
            host_begin: reading(&profile.join("host/host_start.log"), "cntvct"),
            device_begin: reading(&profile.join("device_0/dev_start.log.0"), "cntvct"),
            device_megahertz: megahertz.parse::<f64>().expect("a number") as u64,
            directory,
            profile,
            texts: Vec::new(),
            next_task: 101,
            step_kind: 5,
            api: Vec::new(),
            tracks: Vec::new(),
            steps: Vec::new(),
            operations: Vec::new(),
            nodes: Vec::new(),
            log: Vec::new(),
        }
    }

    fn hash(&mut self, text: &'static str) -> u64 {
        self.texts.push(text);
        hash_of(text)
    }

    fn head(&self, level: u16, kind: u32, micros: u64) -> Head {
        let time = self.host_begin + micros * 100;
        Head { magic: opscope_cann_raw::host::MAGIC, level, kind, thread: THREAD, length: 40, time }
    }

    fn call(&mut self, level: u16, kind: u32, begin: u64, end: u64, item: u64) {
        let at = |micros: u64| self.host_begin + micros * 100;
        let (begin, end) = (at(begin), at(end));
        let magic = opscope_cann_raw::host::MAGIC;
        ApiEvent { magic, level, kind, thread: THREAD, begin, end, item, ..ApiEvent::default() }
            .append_to(&mut self.api);
    }

    /// An operation, launched and executed from the given microseconds on; every second step counts.
    fn run(&mut self, launched: u64, names: [&'static str; 3], executed: u64, steps: u16, count: u64) {
        let [name, op_type, group] = names.map(|text| self.hash(text));
        let algorithm = self.hash("ring-ring");
        self.call(level::NODE, 5, launched, launched + 90, name);
        let head = self.head(level::NODE, 0, launched + 1);
        NodeBasicInfo { head, name, task_type: 9, op_type, ..NodeBasicInfo::default() }
            .append_to(&mut self.nodes);
        let head = self.head(level::NODE, 10, launched + 2);
        HcclOpInfo { head, flags: 1, data_type: 3, algorithm, count, group }.append_to(&mut self.operations);
        let mut at = executed;
        for k in 0..steps {
            let begin = launched + 5 + u64::from(k) * 10;
            let item = self.hash(STEPS[usize::from(k % 3)]);
            self.call(level::COMMUNICATION, if k % 2 == 0 { 1 } else { 2 }, begin, begin + 8, item);
            HcclInfo {
                head: self.head(level::COMMUNICATION, 0, begin + 1),
                item,
                group,
                remote_rank: u32::from(k % 4),
                rank_size: 8,
                plane: u32::from(k % 2),
                context: u32::MAX,
                notify: if k % 3 > 0 { u64::MAX } else { 0x55 },
                estimate: 1.5 + f64::from(k),
                size: 4_096 * (u64::from(k) + 1),
                data_type: 4,
                link: 1,
                transport: u32::from(k % 2),
                rdma: u32::MAX,
                ..HcclInfo::default()
            }
            .append_to(&mut self.steps);
            let task = self.next_task;
            self.next_task += 1;
            TaskTrack {
                head: self.head(level::RUNTIME, 802, begin + 3),
                stream: 9,
                task,
                task_type: self.step_kind,
                ..TaskTrack::default()
            }
            .append_to(&mut self.tracks);
            const SDMA: u16 = 11;
            for (edge, micros) in [(0, at), (1, at + 4 + u64::from(k))] {
                let time = self.device_begin + micros * self.device_megahertz;
                StarsLog {
                    word: edge | SDMA << 10,
                    magic: MAGIC,
                    stream: 9,
                    task,
                    time,
                    ..StarsLog::default()
                }
                .append_to(&mut self.log);
            }
            at += 6 + u64::from(k);
        }
    }

    fn save(&self) -> Joined {
        let add = |directory: &str, stream: &str, bytes: &[u8]| {
            let path = |number: u32| self.profile.join(directory).join(format!("{stream}.slice_{number}"));
            let number = (0..).find(|number| !path(*number).exists()).expect("a number");
            std::fs::write(path(number), bytes).expect("space on disk");
        };
        add("host/data", "aging.api_event.data", &self.api);
        add("host/data", "aging.compact.task_track", &self.tracks);
        add("host/data", "aging.additional.hccl_info", &self.steps);
        add("host/data", "aging.compact.hccl_op_info", &self.operations);
        add("host/data", "aging.compact.node_basic_info", &self.nodes);
        add("device_0/data", "stars_soc.data.0", &self.log);
        let lines: String = self.texts.iter().map(|text| format!("{}:{text}\n", hash_of(text))).collect();
        add("host/data", "unaging.additional.hash_dic", lines.as_bytes());
        let types = "5500_1:master\n5500_2:slave\n10000_5:launch\n5000_5:MEMCPY_ASYNC\n";
        add("host/data", "unaging.additional.type_info_dic", types.as_bytes());
        let profile = discover(self.directory.path()).expect("a profile").remove(0);
        Joined::new(Data::load(profile).expect("a readable profile"))
    }
}

/// Two reductions and a broadcast.
fn three() -> Joined {
    let mut profile = Collective::new();
    profile.run(200, ["hcom_allReduce__123_0", "hcom_allReduce_", "group_name_0"], 300, 6, 1_024);
    profile.run(400, ["hcom_allReduce__123_1", "hcom_allReduce_", "group_name_0"], 450, 4, 2_048);
    profile.run(600, ["hcom_broadcast__77_0", "hcom_broadcast_", "group_name_1"], 700, 3, 512);
    profile.save()
}

#[test]
fn the_table_by_type_is_that_of_the_vendor() {
    assert_eq!(
        common::table(&three(), "communication_statistic"),
        [
            "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)",
            "0,hcom_allReduce_,2,57,19,28.5,38,75",
            "0,hcom_broadcast_,1,19,19,19,19,25",
        ]
    );
}

#[test]
fn groups_have_lanes_of_operations_and_of_planes() {
    let events = common::timeline(&three());
    let layer_of = |name: &str| {
        let is_layer = |event: &&Value| event["name"] == "process_name" && event["args"]["name"] == name;
        events.iter().find(is_layer).expect("a layer")
    };
    let layer = layer_of("Communication");
    let own = |event: &&Value| event["pid"] == layer["pid"];
    let named = |event: &&Value| event["name"] == "thread_name";
    let names: Vec<&str> =
        events.iter().filter(own).filter(named).filter_map(|event| event["args"]["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "Group group_name_0 Communication",
            "Plane 0",
            "Plane 1",
            "Group group_name_1 Communication",
            "Plane 0",
            "Plane 1",
        ]
    );
    let slices: Vec<&Value> = events.iter().filter(own).filter(|event| event["ph"] == "X").collect();
    assert_eq!(slices.len(), 3 + 13);
    let first = slices.iter().find(|slice| slice["args"]["rank_size"] == 8).expect("an operation");
    assert_eq!(first["ts"], "1760000000000300.000");
    assert_eq!(first["dur"], 38.0);
    assert_eq!(first["args"]["data_type"], "FP16");
    assert_eq!((&first["args"]["relay"], &first["args"]["retry"]), (&"yes".into(), &"no".into()));
    let step = slices.iter().find(|slice| slice["args"]["task id"] == 102).expect("a step");
    assert_eq!(step["name"], "Reduce_Inline");
    assert_eq!(step["args"]["notify_id"], "18446744073709551615");
    assert_eq!(step["args"]["transport type"], "RDMA");
    assert_eq!(step["args"]["bandwidth(GB/s)"], 8_192.0 / 5_000.0);
    let overlap = layer_of("Overlap Analysis");
    let alone = |event: &&Value| {
        event["pid"] == overlap["pid"]
            && event["ph"] == "X"
            && event["name"] == "Communication(Not Overlapped)"
    };
    assert_eq!(events.iter().filter(alone).count(), 3);
}

#[test]
fn steps_are_calls_whose_mode_is_their_type() {
    let mut profile = Collective::new();
    profile.run(200, ["hcom_allReduce__123_0", "hcom_allReduce_", "group_name_0"], 300, 6, 1_024);
    let events = common::timeline(&profile.save());
    let modes = |step: &str| -> Vec<&str> {
        let name = format!("Communication@{step}");
        let calls = events.iter().filter(|event| event["name"] == name.as_str());
        calls.map(|call| call["args"]["Mode"].as_str().expect("a mode")).collect()
    };
    // Every second step was reported as a slave's, and each name occurs twice.
    assert_eq!(modes("Memcpy"), ["master", "slave"]);
    assert_eq!(modes("Reduce_Inline"), ["slave", "master"]);
    assert_eq!(modes("Notify_Wait"), ["master", "slave"]);
}

#[test]
fn operations_have_rows_among_operators_which_wait_for_their_ends() {
    let columns = ["Op Name", "OP Type", "Task Type", "Task ID", "Stream ID", "Block Num", "Context ID"];
    let joined = three();
    let rows = common::cells(&joined, "op_summary", &columns);
    let collective = |name, op_type| [name, op_type, "COMMUNICATION", "N/A", "N/A", "0", "N/A"];
    assert_eq!(
        rows[..3],
        [
            collective("hcom_allReduce__123_0_612_0_1", "hcom_allReduce_"),
            collective("hcom_allReduce__123_1_612_1_1", "hcom_allReduce_"),
            collective("hcom_broadcast__77_0_909_0_1", "hcom_broadcast_"),
        ]
    );
    assert_eq!((rows.len(), rows[3][2].as_str()), (63, "AI_CORE"));
    let columns = ["Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)"];
    let rows = common::cells(&joined, "op_summary", &columns);
    assert_eq!(rows[0], ["1760000000000300.000", "38.000", "0"]);
    assert_eq!(rows[1], ["1760000000000450.000", "19.000", "112.000000"]);
    assert_eq!(rows[2], ["1760000000000700.000", "19.000", "231.000000"]);
    assert_eq!(rows[3], ["1760000000002001.280", "13.300", "1282.280000"]);
}

#[test]
fn steps_on_the_ai_cpu_have_a_kind_of_their_own() {
    const KERNEL_AICPU: u64 = 1;
    let mut profile = Collective { step_kind: KERNEL_AICPU, ..Collective::new() };
    profile.run(200, ["hcom_allReduce__123_0", "hcom_allReduce_", "group_name_0"], 300, 3, 1_024);
    let joined = profile.save();
    let rows = common::cells(&joined, "task_time", &["stream_id", "kernel_type"]);
    let of_steps: Vec<_> = rows.into_iter().filter(|row| row[0] == "9").collect();
    assert_eq!(of_steps, [["9", "HCCL_AI_CPU"], ["9", "HCCL_AI_CPU"], ["9", "HCCL_AI_CPU"]]);
    // They are no operators besides their operation.
    let rows = common::cells(&joined, "op_summary", &["Task Type"]).concat();
    assert_eq!(rows.iter().filter(|kind| kind.as_str() == "HCCL_AI_CPU").count(), 0);
}

#[test]
fn the_database_has_operations_steps_and_how_they_overlap() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let path = export_database(&three(), out.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let count = |query: &str| database.query_row(query, [], |row| row.get::<_, i64>(0)).expect(query);
    assert_eq!(count("SELECT count(*) FROM COMMUNICATION_OP WHERE rankSize = 8 AND relay = 1"), 3);
    assert_eq!(count("SELECT max(endNs - startNs) FROM COMMUNICATION_OP"), 38_000);
    assert_eq!(
        count(
            "SELECT count(*) FROM COMMUNICATION_TASK_INFO i JOIN TASK t USING (globalTaskId) \
             JOIN COMMUNICATION_OP o USING (opId) WHERE t.streamId = 9 AND o.opName = i.name"
        ),
        13
    );
    assert_eq!(count("SELECT sum(size) FROM COMMUNICATION_TASK_INFO"), 4_096 * (21 + 10 + 6));
    assert_eq!(count("SELECT count(*) FROM COMMUNICATION_TASK_INFO WHERE notifyId = -1"), 8);
    assert_eq!(count("SELECT count(*) FROM OVERLAP_ANALYSIS WHERE type = 2"), 3);
    assert_eq!(
        database.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)),
        Ok("ok".into())
    );
}

#[test]
fn nothing_of_it_is_lost_or_unread() {
    let losses = three().all_losses();
    for reason in [
        LossKind::BrokenMagic,
        LossKind::UnreadFile,
        LossKind::HostTaskWithoutDevice,
        LossKind::DeviceTaskWithoutHost,
    ] {
        assert_eq!(losses.total(reason), 0, "{losses:?}");
    }
}
