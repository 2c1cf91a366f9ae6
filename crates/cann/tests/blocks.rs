//! Blocks of tasks on the cores of a 950: the lanes *Block Detail*, and their times in a trace.
//!
//! Which blocks are shown, and with which details, is as in the output of the vendor's own parser on the same records.

mod common;

use common::written::{STREAM, Span, Written};
use opscope_cann::join::Joined;
use opscope_cann::tables::Core;
use opscope_cann::{
    ExportOptions, LaneChoice, LossKind, SampleLayout, SampleMode, SampleOptions, export_timeline, to_trace,
    write_sample,
};
use opscope_cann_raw::device::{BlockLog, MAGIC, WideCounters, function};
use opscope_cann_raw::{Chip, Record};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A block on a core: number of the task, kind and number of the core, begin and end.
type OnCore = (u16, u8, u8, Span);

/// Of two runs of task 1 three blocks on two cube cores and two on vector cores, and a block in no run.
const BLOCKS: [OnCore; 6] = [
    (1, 0, 2, (110, 190)),
    (1, 0, 1, (100, 150)),
    (1, 1, 7, (120, 130)),
    (1, 1, 8, (120, 128)),
    (1, 0, 1, (300, 399)),
    (1, 0, 1, (500, 510)),
];

/// An operator that ran twice, without its blocks.
fn run_twice() -> Written {
    let mut profile = Written::new(Chip::V6_1_0);
    profile.launch("Conv", (10, 30));
    profile.track(1, 0, 15);
    profile.note("Conv", "Conv2D", 20);
    profile.run(1, 0, (100, 200));
    profile.run(1, 0, (300, 400));
    profile
}

fn count_block(profile: &mut Written, (task_low, core_type, core, (start, end)): OnCore) {
    let [start, end] = [start, end].map(|at| profile.device_ticks(at));
    let word = function::BLOCK_COUNTERS;
    let record =
        WideCounters { word, magic: MAGIC, task_low, core_type, core, start, end, ..WideCounters::default() };
    profile.add_to_device("ffts_profile.data", &record);
}

fn log_block(profile: &mut Written, stream: &str, (task_low, core_type, core, (start, end)): OnCore) {
    for (word, at) in [(function::BLOCK_START, start), (function::BLOCK_END, end)] {
        let time = profile.device_ticks(at);
        let log =
            BlockLog { word, magic: MAGIC, task_low, core_type, core, block: 5, time, ..BlockLog::default() };
        profile.add_to_device(stream, &log);
    }
}

/// Lane, name, begin, length and core of each slice of a block, by lane and begin.
fn slices(events: &[Value]) -> Vec<(String, String, String, f64, u64)> {
    let is_it = |event: &&Value| event["name"] == "process_name" && event["args"]["name"] == "Block Detail";
    let Some(process) = events.iter().find(is_it) else { return Vec::new() };
    let pid = &process["pid"];
    let lane = |tid: &Value| {
        let is_it =
            |event: &&Value| event["name"] == "thread_name" && event["pid"] == *pid && event["tid"] == *tid;
        let named = events.iter().find(is_it).expect("a named lane");
        named["args"]["name"].as_str().expect("a name").to_owned()
    };
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let blocks = events.iter().filter(|event| event["pid"] == *pid && event["ph"] == "X");
    let mut found: Vec<_> = blocks
        .map(|slice| {
            let length = slice["dur"].as_f64().expect("a duration");
            let core = slice["args"]["Core Id"].as_u64().expect("a core");
            (lane(&slice["tid"]), text(&slice["name"]), text(&slice["ts"]), length, core)
        })
        .collect();
    found.sort_by(|one, other| (&one.0, &one.2).cmp(&(&other.0, &other.2)));
    found
}

fn expected() -> Vec<(String, String, String, f64, u64)> {
    let slice = |lane: &str, at: u64, length: f64, core: u64| {
        let name = format!("Stream {STREAM} Conv");
        (lane.to_owned(), name, format!("1760000000000{at}.000"), length, core)
    };
    vec![
        slice("AIC Earliest", 100, 50.0, 1),
        slice("AIC Earliest", 300, 99.0, 1),
        slice("AIC Latest", 110, 80.0, 2),
        slice("AIC Latest", 300, 99.0, 1),
        // Of several that began last, the last of the file.
        slice("AIV Earliest", 120, 10.0, 7),
        slice("AIV Latest", 120, 8.0, 8),
    ]
}

/// How often a loss of blocks was counted.
fn lost(joined: &Joined, kind: LossKind) -> u64 {
    let losses = joined.all_losses();
    let found = losses.rows().iter().filter(|loss| loss.kind == kind && loss.place == "blocks of tasks");
    found.map(|loss| loss.count).sum()
}

#[test]
fn of_each_run_the_blocks_that_began_first_and_last_on_each_kind_of_core_are_shown() {
    let mut profile = run_twice();
    BLOCKS.iter().for_each(|block| count_block(&mut profile, *block));
    let joined = profile.joined();
    let events = common::timeline(&joined);
    assert_eq!(slices(&events), expected());
    let args = &events.iter().find(|event| event["args"]["Core Id"] == 2).expect("a block")["args"];
    assert_eq!(
        *args,
        json!({
            "Physic Stream Id": STREAM, "Task Id": 1, "Batch Id": 0, "Subtask Id": u32::MAX, "Core Id": 2,
        })
    );
    assert_eq!(lost(&joined, LossKind::UnmatchedCounters), 1);
}

#[test]
fn logs_of_blocks_show_the_same_in_either_file_that_may_have_them() {
    for stream in ["stars_block.data", "stars_soc.data"] {
        let mut profile = run_twice();
        BLOCKS.iter().for_each(|block| log_block(&mut profile, stream, *block));
        let joined = profile.joined();
        // Blocks that are logged come by their ends, so that of two that began together the other is first.
        let mut shown = expected();
        (shown[4].3, shown[4].4) = (8.0, 8);
        (shown[5].3, shown[5].4) = (10.0, 7);
        assert_eq!(slices(&common::timeline(&joined)), shown, "{stream}");
        assert!(joined.data.devices[&0].tables.blocks.block().iter().all(|block| *block == 5));
        let unread = joined.all_losses().total(LossKind::UnreadFile);
        assert_eq!((unread, lost(&joined, LossKind::UnmatchedTask)), (0, 0), "{stream}");
    }
}

#[test]
fn blocks_that_are_both_counted_and_logged_are_there_once() {
    let mut profile = run_twice();
    for block in BLOCKS {
        count_block(&mut profile, block);
        log_block(&mut profile, "stars_block.data", block);
    }
    let joined = profile.joined();
    assert_eq!(joined.data.devices[&0].tables.blocks.len(), BLOCKS.len());
    assert_eq!(joined.all_losses().total(LossKind::UnreadFile), 0);
}

#[test]
fn the_lanes_are_hidden_where_others_are_chosen() {
    let mut profile = run_twice();
    BLOCKS.iter().for_each(|block| count_block(&mut profile, *block));
    let joined = profile.joined();
    for (choice, shown) in [("ascend", 0), ("block_detail", expected().len())] {
        let out = tempfile::tempdir().expect("a temporary directory");
        let choice = json!({"json_process": {choice: true}}).to_string();
        let lanes = LaneChoice::from_json(&choice).expect("a choice");
        let options = ExportOptions { lanes, ..ExportOptions::default() };
        export_timeline(&joined, out.path(), "0", options).expect("space on disk");
        let text = std::fs::read_to_string(out.path().join("msprof_0.json")).expect("a timeline");
        let events: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(slices(&events).len(), shown, "{choice}");
    }
}

#[test]
fn a_trace_tells_how_long_an_average_block_took_and_the_longest() {
    let mut profile = run_twice();
    BLOCKS.iter().for_each(|block| count_block(&mut profile, *block));
    let trace = to_trace(&profile.joined());
    let values = |name: &str| -> Vec<f64> {
        let metric = trace.metrics.iter().find(|(_, metric)| trace.strings.get(metric.name) == name);
        let (id, metric) = metric.unwrap_or_else(|| panic!("no metric {name}"));
        assert_eq!(trace.strings.get(metric.unit), "us");
        trace.metric_values(id).map(|(_, value)| value).collect()
    };
    assert_eq!(values("aic_block_time_mean"), [65.0, 99.0]);
    assert_eq!(values("aic_block_time_longest"), [80.0, 99.0]);
    // The second run had none on vector cores.
    assert_eq!(values("aiv_block_time_mean"), [9.0]);
    assert_eq!(values("aiv_block_time_longest"), [10.0]);
}

#[test]
fn damage_is_counted_and_what_is_whole_is_kept() {
    let mut profile = run_twice();
    // Ends before it begins.
    count_block(&mut profile, (1, 0, 1, (190, 110)));
    log_block(&mut profile, "stars_block.data", (1, 0, 1, (100, 150)));
    // A start without its end, an end of another block than the one that began, and a function that blocks don't have.
    let log = |word, task_low, core, at| BlockLog {
        word,
        magic: MAGIC,
        task_low,
        core,
        time: profile.device_ticks(at),
        ..BlockLog::default()
    };
    let logs = [
        log(function::BLOCK_START, 1, 4, 110),
        log(function::BLOCK_START, 1, 5, 120),
        log(function::BLOCK_END, 2, 5, 130),
        log(50, 1, 6, 130),
        BlockLog { magic: 0, ..log(function::BLOCK_START, 1, 6, 130) },
    ];
    logs.iter().for_each(|log| profile.add_to_device("stars_block.data", log));
    let joined = profile.joined();
    let losses = joined.all_losses();
    let count = |kind, place: &str| {
        let found = losses.rows().iter().filter(|loss| loss.kind == kind && loss.place == place);
        found.map(|loss| loss.count).sum::<u64>()
    };
    assert_eq!(count(LossKind::InvalidRecord, "ffts_profile.data"), 1, "{losses:?}");
    assert_eq!(count(LossKind::UnmatchedTask, "blocks of tasks"), 3, "{losses:?}");
    assert_eq!(count(LossKind::UnknownRecord, "stars_block.data"), 1, "{losses:?}");
    assert_eq!(count(LossKind::BrokenMagic, "stars_block.data"), 1, "{losses:?}");
    assert_eq!(slices(&common::timeline(&joined)).len(), 2);
}

#[test]
fn every_block_of_a_generated_run_belongs_to_its_task() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (chip, mode, layout) = (Chip::V6_1_0, SampleMode::Static, SampleLayout::Current);
    write_sample(directory.path(), SampleOptions { chip, tasks: 90, mode, layout, seed: 1 })
        .expect("a profile");
    let joined = common::joined(directory.path());
    assert!(joined.all_losses().rows().is_empty(), "{:?}", joined.all_losses().rows());
    let (tables, of_runs) = (&joined.data.devices[&0].tables, &joined.devices[&0].blocks);
    assert_eq!((tables.blocks.len(), of_runs.len()), (2 * tables.tasks.len(), tables.tasks.len()));
    for (run, kinds) in of_runs {
        let task = tables.tasks.row(*run as usize);
        let blocks = kinds.iter().flatten().next().expect("blocks");
        let [first, last] = [blocks.first, blocks.last].map(|row| tables.blocks.row(row as usize));
        assert_eq!((first.start, last.end, blocks.count), (task.start, task.end, 2));
        assert_eq!((first.task, kinds[0].is_some()), (task.task, first.kind == Core::Cube));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_bytes_decode_into_blocks_that_can_be_shown(
        bytes in prop::collection::vec(any::<u8>(), 0..2_048),
        with_magic in any::<bool>(),
        functions in prop::collection::vec(36u8..43, 64),
    ) {
        for (stream, size) in [("stars_block.data", BlockLog::SIZE), ("ffts_profile.data", WideCounters::SIZE)] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let (chip, mode, layout) = (Chip::V6_1_0, SampleMode::Dynamic, SampleLayout::Current);
            let options = SampleOptions { chip, tasks: 2, mode, layout, seed: 1 };
            let profile = write_sample(directory.path(), options).expect("a profile");
            let mut bytes = bytes.clone();
            if with_magic {
                for (record, function) in bytes.chunks_exact_mut(size).zip(&functions) {
                    record[..2].copy_from_slice(&[*function, 0]);
                    record[2..4].copy_from_slice(&MAGIC.to_le_bytes());
                }
            }
            std::fs::write(profile.join(format!("device_0/data/{stream}.0.slice_0")), bytes).expect("a file");
            let joined = common::joined(directory.path());
            prop_assert!(common::timeline(&joined).iter().all(Value::is_object));
            let trace = to_trace(&joined);
            let values = trace.readings.iter().flat_map(|(id, _)| trace.readings_of(id));
            prop_assert!(values.into_iter().all(|(_, value)| value.is_finite()));
        }
    }
}
