//! Cores that were sampled over time instead of by task.
//!
//! The literal tables were typed in from the output of the vendor's own parser on the same records.

mod common;

use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{
    ExportOptions, LossKind, SampleLayout, SampleMode, SampleOptions, export_database, export_timeline,
    write_sample,
};
use opscope_cann_raw::device::{CoreSample, WideCoreSample};
use opscope_cann_raw::{Chip, Record};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Readings of a device's clock and counter at the begin of the collection in sample profiles.
struct Begin {
    nanoseconds: u64,
    ticks: u64,
    hertz: u64,
}

/// A profile whose cores were sampled: each five times, the k-th time 5 + 10 k ms after the begin.
struct Sampled {
    directory: TempDir,
    data: PathBuf,
    begin: Begin,
    events: usize,
}

impl Sampled {
    fn new(chip: Chip, metrics: &str, events: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (mode, layout) = (SampleMode::Static, SampleLayout::Current);
        let options = SampleOptions { chip, tasks: 30, mode, layout, seed: 1 };
        let profile = write_sample(directory.path(), options).expect("a profile");
        let device = profile.join("device_0");
        for file in [profile.join("host/sample.json"), device.join("sample.json")] {
            let text = std::fs::read_to_string(&file).expect("the sample's description");
            let mut sample: Value = serde_json::from_str(&text).expect("JSON");
            for (core, group) in [("ai_core", "ai_core_metrics"), ("aiv", "aiv_metrics")] {
                sample[format!("{core}_profiling_mode")] = json!("sample-based");
                sample[group] = json!(metrics);
                sample[format!("{core}_profiling_events")] = json!(events);
            }
            sample["aicore_sampling_interval"] = json!(10);
            std::fs::write(&file, sample.to_string()).expect("space on disk");
        }
        let data = device.join("data");
        for name in ["aicore.data", "ffts_profile.data"] {
            let _ = std::fs::remove_file(data.join(format!("{name}.0.slice_0")));
        }
        let info = std::fs::read_to_string(device.join("info.json.0")).expect("the device's description");
        let info: Value = serde_json::from_str(&info).expect("JSON");
        let megahertz = info["DeviceInfo"][0]["hwts_frequency"].as_str().expect("a frequency");
        let log = std::fs::read_to_string(device.join("dev_start.log.0")).expect("the device's clock");
        let reading = |name: &str| {
            let line = log.lines().find_map(|line| line.strip_prefix(name)).expect("a reading");
            line.trim_start_matches([':', ' ']).parse::<u64>().expect("a number")
        };
        let begin = Begin {
            nanoseconds: reading("clock_monotonic_raw"),
            ticks: reading("cntvct"),
            hertz: (megahertz.parse::<f64>().expect("a number") * 1e6) as u64,
        };
        Self { directory, data, begin, events: events.split(',').count() }
    }

    /// Time after the begin, cycles and counts of sample `k` of a core.
    fn values(&self, k: u64, core: u64) -> (u64, u64, [u64; 10]) {
        let mut counts = [0; 10];
        for (i, count) in counts.iter_mut().enumerate().take(self.events) {
            *count = (i as u64 + 1) * 100_000 + k * 1_000 + core * 7;
        }
        (5_000_000 + k * 10_000_000 + core * 1_000, 9_000_000 + k * 10_000 + core, counts)
    }

    fn narrow(&self, file: &str, cores: &[u8]) -> &Self {
        let mut bytes = Vec::new();
        for (k, &core) in (0..5).flat_map(|k| cores.iter().map(move |core| (k, core))) {
            let (time, cycles, ten) = self.values(k, u64::from(core));
            let counters = std::array::from_fn(|i| ten[i]);
            let (time, count) = (self.begin.nanoseconds + time, self.events as u8);
            CoreSample { mode: 1, counters, cycles, time, count, core }.append_to(&mut bytes);
        }
        self.save(file, &bytes)
    }

    fn wide(&self, file: &str, cores: &[u8]) -> &Self {
        let mut bytes = Vec::new();
        for (k, &core) in (0..5).flat_map(|k| cores.iter().map(move |core| (k, core))) {
            let (time, cycles, counters) = self.values(k, u64::from(core));
            let time = self.begin.ticks + time * (self.begin.hertz / 1_000_000) / 1_000;
            let count = self.events as u8;
            WideCoreSample { mode: 1, counters, cycles, time, count, core }.append_to(&mut bytes);
        }
        self.save(file, &bytes)
    }

    /// In two slices, the border within a record.
    fn save(&self, file: &str, bytes: &[u8]) -> &Self {
        let (first, second) = bytes.split_at(bytes.len() / 2 + 5);
        for (slice, part) in [first, second].into_iter().enumerate() {
            std::fs::write(self.data.join(format!("{file}.0.slice_{slice}")), part).expect("space on disk");
        }
        self
    }

    fn joined(&self) -> Joined {
        common::joined(self.directory.path())
    }

    /// The lines of a table; none if there is no such table.
    fn table(&self, kind: &str) -> Vec<String> {
        common::table(&self.joined(), kind)
    }
}

const PIPES: &str = "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55";

#[test]
fn the_cores_of_a_310p_are_those_of_the_vendors_table() {
    let sampled = Sampled::new(Chip::V3_3_0, "Memory", "0x15,0x16,0x31,0x32,0xf,0x10,0x12,0x13");
    sampled.narrow("aicore.data", &[0, 1]).narrow("aiVectorCore.data", &[0, 1, 2]);
    assert_eq!(
        sampled.table("ai_core_utilization"),
        [
            "Device_id,Core ID,ub_read_bw(GB/s),ub_write_bw(GB/s),l1_read_bw(GB/s),l1_write_bw(GB/s),\
             main_mem_read_bw(GB/s),main_mem_write_bw(GB/s)",
            "0,Core0,1.55,3.07,18.36,6.11,0.667,0.762",
            "0,Core1,1.55,3.07,18.36,6.11,0.667,0.762",
            "0,Average,1.55,3.07,18.36,6.11,0.667,0.762",
        ]
    );
    let vector = sampled.table("ai_vector_core_utilization");
    assert_eq!(vector[3], "0,Core2,1.55,3.07,18.361,6.11,0.667,0.762");
}

#[test]
fn one_file_of_a_910b_holds_both_kinds_of_cores() {
    let sampled = Sampled::new(Chip::V4_1_0, "PipeUtilization", PIPES);
    sampled.narrow("ffts_profile.data", &[0, 1, 2, 25, 26]);
    assert_eq!(
        sampled.table("ai_core_utilization"),
        [
            "Device_id,Core ID,vec_ratio,mac_ratio,scalar_ratio,mte1_ratio,mte2_ratio,mte3_ratio,\
             icache_miss_rate,memory_bound",
            "0,Core0,0.011,0.022,0.033,0.045,0.056,0.067,1.142,2.545",
            "0,Core1,0.011,0.022,0.033,0.045,0.056,0.067,1.142,2.545",
            "0,Core2,0.011,0.022,0.033,0.045,0.056,0.067,1.142,2.545",
            "0,Average,0.011,0.022,0.033,0.045,0.056,0.067,1.142,2.545",
        ]
    );
    let vector = sampled.table("ai_vector_core_utilization");
    assert_eq!(
        vector[1..3],
        [
            "0,Core25,0.011,0.022,0.034,0.045,0.056,0.067,1.142,2.545",
            "0,Core26,0.011,0.022,0.034,0.045,0.056,0.067,1.142,2.545",
        ]
    );
}

#[test]
fn the_wide_records_of_a_950_are_read_as_the_vendor_reads_them() {
    let sampled = Sampled::new(Chip::V6_1_0, "Memory", "0x56f,0x571,0x570,0x572,0x707,0x709,0x400,0x401");
    sampled.wide("ffts_profile.data", &[0, 1, 36, 37]);
    let table = sampled.table("ai_core_utilization");
    assert_eq!(table[1], "0,Core0,6.629,15.352,43.788,26.255,0.957,1.093");
    assert_eq!(table.len(), 4);
}

#[test]
fn the_310b_counts_its_unified_buffer_under_numbers_of_its_own() {
    let sampled = Sampled::new(Chip::V1_1_1, "MemoryUB", "0x1a5,0x1a6,0x17f,0x180,0x191,0x37,0x38");
    sampled.narrow("ffts_profile.data", &[0]);
    assert_eq!(sampled.table("ai_core_utilization")[1], "0,Core0,2.908,1.037,1.243,1.45");
}

#[test]
fn how_much_cores_worked_is_drawn_over_time() {
    let sampled = Sampled::new(Chip::V2_1_0, "PipeUtilization", PIPES);
    sampled.narrow("aicore.data", &[0, 1]);
    let out = tempfile::tempdir().expect("a temporary directory");
    export_timeline(&sampled.joined(), out.path(), "0", ExportOptions::default()).expect("space on disk");
    let text = std::fs::read(out.path().join("msprof_0.json")).expect("the timeline");
    let events: Vec<Value> = serde_json::from_slice(&text).expect("JSON");
    let lane = events.iter().find(|event| event["args"]["name"] == "AI Core Utilization").expect("a lane");
    let of = |name: &str| -> Vec<f64> {
        let named = events.iter().filter(|event| event["name"] == name && event["pid"] == lane["pid"]);
        named.map(|event| event["args"]["Utilization(%)"].as_f64().expect("a number")).collect()
    };
    // 10 ms of 800 MHz are 8 million cycles.
    assert_eq!(of("Core 0"), [112.5, 112.625, 112.75, 112.875, 113.0]);
    let mean = of("Average");
    assert_eq!(mean.len(), 5);
    assert!((mean[0] - 112.500_006).abs() < 1e-6, "{mean:?}");
}

#[test]
fn the_database_has_every_sample_and_the_totals() {
    let sampled = Sampled::new(Chip::V4_1_0, "Memory", "0x15,0x16");
    sampled.narrow("ffts_profile.data", &[3, 30]);
    let out = tempfile::tempdir().expect("a temporary directory");
    let path =
        export_database(&sampled.joined(), out.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let ask = |query: &str| -> Vec<(String, f64, i64)> {
        let mut statement = database.prepare(query).expect("a query");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.expect("rows").map(|row| row.expect("a row")).collect()
    };
    let uses = ask(
        "SELECT value, usage, coreId FROM SAMPLE_PMU_TIMELINE JOIN STRING_IDS ON id = coreType ORDER BY timestampNs",
    );
    assert_eq!(uses.len(), 10);
    // 10 ms of 1,800 MHz are 18 million cycles.
    assert_eq!(uses[0], ("AIC".to_owned(), 9_000_003.0 / 18e4, 3));
    assert_eq!((uses[1].0.as_str(), uses[1].2), ("AIV", 30));
    let totals =
        ask("SELECT value, s.v, coreId FROM (SELECT metric m, value v, coreId FROM SAMPLE_PMU_SUMMARY) s \
         JOIN STRING_IDS ON id = m WHERE coreId = 3");
    let cycles = (0..5).map(|k| 9_000_003.0 + f64::from(k) * 10_000.0).sum::<f64>();
    assert_eq!(totals[0].0, "total_time");
    assert!((totals[0].1 - cycles / 1.8).abs() < 1.0, "{totals:?}");
    let reads = (0..5).map(|k| 100_021.0 + f64::from(k) * 1_000.0).sum::<f64>();
    let rate = reads * 1_024.0 / (cycles / 1.8e9) / 8.0;
    assert_eq!(totals[1].0, "ub_read_bw");
    assert!((totals[1].1 / rate - 1.0).abs() < 1e-9, "{totals:?} {rate}");
}

#[test]
fn room_that_is_not_used_is_counted_and_nothing_else() {
    let sampled = Sampled::new(Chip::V2_1_0, "PipeUtilization", PIPES);
    let mut bytes = Vec::new();
    CoreSample { mode: 1, cycles: 5, time: 9, count: 8, ..CoreSample::default() }.append_to(&mut bytes);
    bytes.resize(CoreSample::SIZE * 3, 0);
    std::fs::write(sampled.data.join("aicore.data.0.slice_0"), &bytes).expect("space on disk");
    let joined = sampled.joined();
    assert_eq!(joined.data.devices[&0].tables.samples.cores.len(), 1);
    assert_eq!(joined.all_losses().total(LossKind::InvalidRecord), 2);
}

/// The path is shown with files that nothing here reads.
#[test]
fn files_that_nothing_reads_are_counted_by_name() {
    let sampled = Sampled::new(Chip::V2_1_0, "PipeUtilization", PIPES);
    let unread = |data: &Path| {
        for name in ["ctrlcpu.data.0.slice_0", "ctrlcpu.data.0.slice_1", "stars_block.data.0.slice_0"] {
            std::fs::write(data.join(name), [1, 2, 3]).expect("space on disk");
        }
    };
    unread(&sampled.data);
    let losses = sampled.joined().all_losses();
    let rows: Vec<(&str, u64)> = losses
        .rows()
        .iter()
        .filter(|loss| loss.kind == LossKind::UnreadFile)
        .map(|loss| (loss.place.as_str(), loss.count))
        .collect();
    assert_eq!(rows, [("ctrlcpu.data", 2), ("stars_block.data", 1)]);
}
