//! Counters of caches and of the address translation by task, and the preparation of data.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use opscope_cann::join::Joined;
use opscope_cann::{LossKind, SampleLayout, SampleMode, SampleOptions, discover, write_sample};
use opscope_cann_raw::cache::{CacheCounters, SocCounters, unit};
use opscope_cann_raw::host::Head;
use opscope_cann_raw::preparation::{AiCpuPreparation, OldPreparation};
use opscope_cann_raw::{Chip, Record, host};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A generated profile, to which records are added.
struct Profile {
    directory: TempDir,
    device: PathBuf,
}

impl Profile {
    fn new(chip: Chip) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (mode, layout) = (SampleMode::Static, SampleLayout::Current);
        let options = SampleOptions { chip, tasks: 30, mode, layout, seed: 1 };
        let profile = write_sample(directory.path(), options).expect("a profile");
        Self { directory, device: profile.join("device_0") }
    }

    /// With events in the description of what was collected.
    fn with_events(self, option: &str, events: &str) -> Self {
        let file = self.device.join("sample.json");
        let text = std::fs::read_to_string(&file).expect("the description");
        let mut sample: Value = serde_json::from_str(&text).expect("JSON");
        sample[option] = json!(events);
        std::fs::write(&file, sample.to_string()).expect("space on disk");
        self
    }

    /// With records in two slices, the border within one of them.
    fn with<R: Record>(self, stream: &str, records: &[R]) -> Self {
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.append_to(&mut bytes));
        let (first, second) = bytes.split_at(R::SIZE / 2 + 1);
        for (slice, part) in [first, second].into_iter().enumerate() {
            let path = self.device.join(format!("data/{stream}.0.slice_{slice}"));
            std::fs::write(path, part).expect("space on disk");
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

    /// Stream, number and operator of every task in the table of operators.
    fn tasks(&self) -> Vec<(u16, u16, String)> {
        let rows = self.table("op_summary");
        let column = |name| rows[0].split(',').position(|header| header == name).expect("a column");
        let task = |row: &String| {
            let cell = |name| row.split(',').nth(column(name)).expect("a cell").to_owned();
            let number = |name| cell(name).parse().expect("a number");
            (number("Stream ID"), number("Task ID"), cell("Op Name"))
        };
        rows[1..].iter().map(task).collect()
    }

    fn first_task(&self) -> (u16, u16, String) {
        self.tasks().remove(0)
    }
}

fn counted(counters: &[u64]) -> [u64; 8] {
    std::array::from_fn(|place| counters.get(place).copied().unwrap_or(0))
}

#[test]
fn hits_and_victims_are_parts_of_a_tasks_requests_and_named_by_its_operator() {
    let profile = Profile::new(Chip::V2_1_0).with_events("l2CacheTaskProfilingEvents", "0x5c,0x59,0x5b");
    let (stream, task, name) = profile.first_task();
    let record = |task, counters: &[u64]| CacheCounters {
        stream,
        task,
        counters: counted(counters),
        ..CacheCounters::default()
    };
    let records = [record(task, &[13, 200, 150]), record(60_000, &[1, 3, 2]), record(task, &[0; 3])];
    let profile = profile.with("l2_cache.data", &records);
    let expected = [
        "Device_id,Stream Id,Task Id,Hit Rate,Victim Rate,Op Name".to_owned(),
        format!("0,{stream},{task},0.75,0.065,{name}"),
        format!("0,{stream},60000,0.666667,0.333333,N/A"),
        format!("0,{stream},{task},0.0,0.0,{name}"),
    ];
    assert_eq!(profile.table("l2_cache"), expected);
}

#[test]
fn one_file_of_a_910b_holds_counters_of_the_cache_and_of_the_translation() {
    let profile = Profile::new(Chip::V4_1_0)
        .with_events("l2CacheTaskProfilingEvents", "0xfb,0xfc,0x90,0x91,0x9c")
        .with_events("npuEvents", "HBM:0x1;SMMU:0x2,0x8a,0x8c,0x8d");
    let (stream, task, name) = profile.first_task();
    let record = |unit, counters: &[u64]| SocCounters {
        stream,
        task,
        unit,
        counters: counted(counters),
        ..SocCounters::default()
    };
    let records = [
        record(unit::TRANSLATION, &[4, 100, 50, 25]),
        record(unit::CACHE, &[60, 40, 30, 20, 5]),
        record(unit::TRANSLATION, &[0, 10, 5, 5]),
        record(9, &[1; 4]),
    ];
    let profile = profile.with("socpmu.data", &records);
    let translation = [
        "Device_id,Stream Id,Task Id,TLB Hit Rate,TLB Miss Rate,Op Name".to_owned(),
        format!("0,{stream},{task},0.75,0.04,{name}"),
        format!("0,{stream},{task},1,0,{name}"),
    ];
    assert_eq!(profile.table("soc_pmu"), translation);
    // The vendor's tool shows no hits of this chip.
    let cache = [
        "Device_id,Stream Id,Task Id,Hit Rate,Victim Rate,Op Name".to_owned(),
        format!("0,{stream},{task},N/A,0.05,{name}"),
    ];
    assert_eq!(profile.table("l2_cache"), cache);
    let losses = profile.joined().all_losses();
    assert_eq!((losses.total(LossKind::UnknownRecord), losses.total(LossKind::UnreadFile)), (1, 0));
}

/// The numbers of tasks wrap in this run, so that several operators have the same.
#[test]
fn counters_of_a_number_that_several_operators_have_are_told_apart_by_their_order() {
    let Some(golden) = common::golden() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    common::copy(&golden.join("910b_dynamic_flip/input"), directory.path());
    let device = discover(directory.path()).expect("a profile").remove(0).path.join("device_0");
    let profile = Profile { directory, device };
    let profile = profile.with_events("l2CacheTaskProfilingEvents", "0xfb,0xfc,0x90,0x91,0x9c");
    let mut runs: BTreeMap<(u16, u16), Vec<String>> = BTreeMap::new();
    for (stream, task, name) in profile.tasks() {
        runs.entry((stream, task)).or_default().push(name);
    }
    let has_several = |names: &Vec<String>| names.iter().any(|name| *name != names[0]);
    let (&(stream, task), names) = runs.iter().find(|(_, names)| has_several(names)).expect("a wrap");
    let record = |counters: [u64; 8]| CacheCounters { stream, task, counters, ..CacheCounters::default() };
    let records: Vec<CacheCounters> =
        (1..=names.len() as u64).map(|run| record(counted(&[90, 10, 0, 0, run]))).collect();
    let profile = profile.with("l2_cache.data", &records);
    let expected: Vec<String> = (1..)
        .zip(names)
        .map(|(run, name)| format!("0,{stream},{task},N/A,{},{name}", f64::from(run) / 100.0))
        .collect();
    assert_eq!(profile.table("l2_cache")[1..], expected);
}

#[test]
fn counters_whose_events_nobody_tells_are_left_out_and_the_option_is_named() {
    let profile = Profile::new(Chip::V2_1_0).with_events("l2CacheTaskProfilingEvents", "0x59,0x5b");
    let profile = profile.with("l2_cache.data", &[CacheCounters::default()]);
    assert!(profile.table("l2_cache").is_empty());
    let losses = profile.joined().all_losses();
    let place = losses.rows().iter().find(|loss| loss.kind == LossKind::MissingMetadata);
    assert!(place.is_some_and(|loss| loss.place.contains("l2CacheTaskProfilingEvents")));
}

fn padded<const N: usize>(text: &str) -> [u8; N] {
    std::array::from_fn(|place| text.as_bytes().get(place).copied().unwrap_or(0))
}

/// The reading of the device's clock at the begin of the collection, in nanoseconds.
fn begin(profile: &Profile) -> u64 {
    let device = &profile.joined().data.devices[&0];
    device.metadata.session.begin_monotonic.expect("a begin").unsigned_abs()
}

/// A table's cells after the time, and the times' distances from the first one in microseconds.
fn cells_and_distances(rows: &[String]) -> Vec<(String, f64)> {
    let cells = |row: &String| {
        let mut parts = row.splitn(3, ',').skip(1).map(str::to_owned);
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    };
    let time = |text: &str| text.trim().replace('.', "").parse::<i64>().expect("a time");
    let all: Vec<(String, String)> = rows.iter().skip(1).map(cells).collect();
    let first = time(&all[0].0);
    all.iter().map(|(at, rest)| (rest.clone(), (time(at) - first) as f64 / 1e3)).collect()
}

#[test]
fn steps_of_the_preparation_of_data_are_read_in_all_three_forms() {
    let expected =
        |source: &str| vec![(format!("dequeue,{source},100"), 0.0), (format!("dequeue,{source},99"), 2.5)];
    let new = Profile::new(Chip::V4_1_0);
    let at = begin(&new);
    let steps = [(0, 100), (2_500, 99)];
    let records = steps.map(|(after, size)| AiCpuPreparation {
        head: Head {
            magic: host::MAGIC,
            level: host::level::AICPU,
            kind: 1,
            time: at + after,
            ..Head::default()
        },
        action: padded("dequeue"),
        source: padded("new"),
        size,
        ..AiCpuPreparation::default()
    });
    let new = new.with("aicpu.data", &records);
    let rows = new.table("dp");
    assert_eq!(rows[0], "Device_id,Timestamp(us),Action,Source,Cached Buffer Size");
    assert_eq!(cells_and_distances(&rows), expected("new"));
    assert_eq!(new.joined().all_losses().total(LossKind::UnknownRecord), 0);

    let old = steps.map(|(after, size)| OldPreparation {
        magic: host::MAGIC,
        tag: 100,
        time: at + after,
        action: padded("dequeue"),
        source: padded("old"),
        size,
        ..OldPreparation::default()
    });
    let old = Profile::new(Chip::V2_1_0).with("DATA_PREPROCESS.DP", &old);
    assert_eq!(cells_and_distances(&old.table("dp")), expected("old"));

    let oldest = Profile::new(Chip::V1_1_0);
    let line = |(after, size)| {
        format!("[{}] Last queue dequeue, source:oldest, index:1, size:{size}\n\0", at + after)
    };
    let text = steps.map(line).concat() + "[x] Last queue dequeue, source:oldest\n\0";
    std::fs::write(oldest.device.join("data/DATA_PREPROCESS.DP.0.slice_0"), text).expect("space on disk");
    let rows = oldest.table("dp");
    let distances: Vec<f64> = cells_and_distances(&rows).iter().map(|(_, distance)| *distance).collect();
    assert!(rows[1].ends_with(",Last queue dequeue,oldest,100"), "{rows:?}");
    assert_eq!(distances, [0.0, 2.5]);
    assert_eq!(oldest.joined().all_losses().total(LossKind::InvalidLine), 1);
}
