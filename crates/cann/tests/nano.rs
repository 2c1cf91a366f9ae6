//! Profiles of chip 9: its log names tasks by their model, and files of the compiler say what they
//! are. The directories are written from bare numbers, so that a layout can't agree with itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, LossKind, SampleLayout, SampleMode, SampleOptions, discover, export_summary,
    export_timeline, to_trace, write_sample,
};
use opscope_cann_raw::{Chip, hash_of};

/// Two models with tasks of the same numbers: one on stream 3, the other on streams 3 and 5.
const MODELS: [(u8, &str, [u32; 2]); 2] = [(1, "wake_word", [3, 3]), (2, "command", [3, 5])];

/// Where the log begins and which events it counts.
const FIRST_TICK: u64 = (7 << 48) + 5_000;
const EVENTS: &str = "0x300,0x400,0x100,0x200,0x201,0x202,0x302,0x203,0x101,0x102";

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A block of a `.dbg` file.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    [&words(&[kind, body.len() as u32]), body].concat()
}

/// A tensor with `reserved` words between its memory layout and its length.
fn tensor(data_type: u32, format: u32, reserved: usize, shape: &[u64]) -> Vec<u8> {
    let dimensions: Vec<u8> = shape.iter().flat_map(|dimension| dimension.to_le_bytes()).collect();
    let shape = block(0, &dimensions);
    [words(&[data_type, format]), words(&vec![9; reserved]), words(&[shape.len() as u32]), shape].concat()
}

fn task(number: u32, stream: u32, blocks: u32, body: &[u8]) -> Vec<u8> {
    [&words(&[number, stream, 1, 0, blocks]), &[1][..], &words(&[body.len() as u32]), body].concat()
}

/// The compiler's file about a model of two tasks: a convolution, and a part of an operator.
fn debug_file(model: &str, streams: [u32; 2]) -> Vec<u8> {
    let inputs = [words(&[2]), tensor(1, 3, 7, &[1, 4, 8, 8, 16]), tensor(2, 4, 7, &[36, 2])].concat();
    // The first is a scalar.
    let outputs = [words(&[2]), tensor(0, 29, 10, &[]), tensor(0, 29, 10, &[1, 4])].concat();
    let first = [
        block(0, format!("{model}/conv").as_bytes()),
        block(1, b"Conv2D"),
        block(2, b"not shown"),
        block(4, &inputs),
        block(5, &outputs),
    ];
    let second =
        [block(0, b"part"), block(1, b"Relu"), block(2, format!("{model}/relu").as_bytes()), block(3, b"1")];
    let tasks =
        [words(&[2]), task(1, streams[0], 1, &first.concat()), task(2, streams[1], 2, &second.concat())];
    [words(&[1, 0x5A5A_5A5A]), block(0, model.as_bytes()), block(1, &tasks.concat())].concat()
}

/// A record of the log: eight counters are a tenth of the cycles each, of 200 requests of
/// instructions 50 missed.
fn log_record(model: u8, number: u16, start: u64, duration: u32) -> Vec<u8> {
    let cycles = duration * 10;
    let mut bytes = vec![0x31, model, 0xAA, 0xAA, 0xAA, 0xAA];
    bytes.extend(number.to_le_bytes());
    bytes.extend(words(&[start as u32, duration, cycles]));
    bytes.extend([(start >> 32) as u8, (start >> 40) as u8, (start >> 48) as u8, 0]);
    bytes.extend(words(&[cycles / 10; 8]));
    bytes.extend(words(&[200, 50]));
    assert_eq!(bytes.len(), 64);
    bytes
}

/// Writes a profile: three runs of each model.
fn profile(directory: &Path) -> PathBuf {
    let options = SampleOptions {
        chip: Chip::V1_1_1,
        tasks: 5,
        mode: SampleMode::Static,
        layout: SampleLayout::Current,
        seed: 1,
    };
    let path = write_sample(directory, options).expect("space on disk");
    for part in ["host", "device_0"] {
        std::fs::remove_dir_all(path.join(part).join("data")).expect("a removable directory");
        std::fs::create_dir(path.join(part).join("data")).expect("a new directory");
    }
    let write = |name: &str, bytes: &[u8]| std::fs::write(path.join(name), bytes).expect("space on disk");
    for (name, cores) in [("host/info.json", "[]"), ("device_0/info.json.0", "[{}]")] {
        let text = std::fs::read_to_string(path.join(name)).expect("a written file");
        let mut info: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        info["platform_version"] = "9".into();
        if cores != "[]" {
            info["DeviceInfo"][0]["hwts_frequency"] = "50".into();
            info["DeviceInfo"][0]["aic_frequency"] = "500".into();
            info["DeviceInfo"][0]["ai_core_num"] = 1.into();
        }
        write(name, info.to_string().as_bytes());
    }
    let text = std::fs::read_to_string(path.join("device_0/sample.json")).expect("a written file");
    let mut sample: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    sample["ai_core_profiling_events"] = EVENTS.into();
    write("device_0/sample.json", sample.to_string().as_bytes());
    let reading = format!("clock_monotonic_raw: 1\ncntvct: {}\n", FIRST_TICK - 1_000);
    write("device_0/dev_start.log.0", reading.as_bytes());

    let mut dictionary = String::new();
    let mut loads = Vec::new();
    for (number, name, streams) in MODELS {
        let hash = hash_of(name);
        dictionary += &format!("{hash}:{name}\n");
        let mut load = [&[0x5A, 0x5A, 0x98, 0x3A][..], &words(&[0, 77, 16, 1_000, 0])].concat();
        load.extend(u64::from(number).to_le_bytes());
        load.extend(hash.to_le_bytes());
        load.resize(256, 0);
        loads.extend(load);
        write(&format!("host/data/{name}.dbg"), &debug_file(name, streams));
    }
    write("host/data/unaging.additional.hash_dic.slice_0", dictionary.as_bytes());
    write("host/data/unaging.additional.model_exeom.slice_0", &loads);
    let mut log = Vec::new();
    for run in 0..3 {
        for (model, ..) in MODELS {
            let start = FIRST_TICK + run * 1_000 + u64::from(model) * 400;
            log.extend(log_record(model, 1, start, 100));
            // Without a gap, so that only the record itself tells whose counters are whose.
            log.extend(log_record(model, 2, start + 100, 50));
        }
    }
    // A record lies across the two slices.
    let (first, second) = log.split_at(100);
    write("device_0/data/nano_stars_profile.data.0.slice_0", first);
    write("device_0/data/nano_stars_profile.data.0.slice_1", second);
    path
}

fn load(path: &Path) -> Joined {
    let mut profiles = discover(path).expect("a profile");
    Joined::new(Data::load(profiles.remove(0)).expect("a readable profile"))
}

/// The rows of a table, cell by cell under their headings.
fn table(joined: &Joined, kind: &str) -> Vec<BTreeMap<String, String>> {
    let output = tempfile::tempdir().expect("a temporary directory");
    export_summary(joined, output.path(), "0", ExportOptions::default()).expect("space on disk");
    let text = std::fs::read_to_string(output.path().join(format!("{kind}_0.csv"))).expect("the table");
    let mut rows = text.lines().map(cells);
    let headers = rows.next().expect("headings");
    rows.map(|row| headers.iter().cloned().zip(row).collect()).collect()
}

/// The cells of a line, of which some are in quotes.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            _ => cells.last_mut().expect("a cell").push(letter),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn operators_have_the_names_of_the_compiler_and_the_times_and_counters_of_the_log() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = load(&profile(directory.path()));
    let losses = joined.all_losses();
    assert!(losses.rows().is_empty(), "{losses:?}");

    let rows = table(&joined, "op_summary");
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    let once = ["wake_word/conv", "wake_word/relu", "command/conv", "command/relu"];
    assert_eq!(column("Op Name"), once.repeat(3));
    assert_eq!(column("OP Type")[..2], ["Conv2D", "Relu"]);
    assert_eq!(column("Model ID")[..4], ["1", "1", "2", "2"]);
    assert_eq!(column("Stream ID")[..4], ["3", "3", "3", "5"]);
    assert_eq!(column("Task ID")[..4], ["1", "2", "1", "2"]);
    assert_eq!(column("Task Type"), ["AI_CORE"; 12]);
    assert_eq!(column("OP State"), ["static"; 12]);
    assert_eq!(column("Block Num")[..2], ["1", "2"]);
    // 50 ticks are a microsecond.
    assert_eq!(column("Task Duration(us)")[..4], ["2.0", "1.0", "2.0", "1.0"]);
    assert_eq!(column("Task Wait Time(us)")[..4], ["0", "0.0", "5.0", "0.0"]);
    let start = |row: usize| -> f64 { column("Task Start Time(us)")[row][7..].parse().expect("a number") };
    let since_first = [2, 4, 11].map(|row| (start(row) - start(0)).round());
    assert_eq!(since_first, [8.0, 20.0, 50.0]);
    assert_eq!(rows[0]["Input Shapes"], "1,4,8,8,16;36,2");
    assert_eq!(rows[0]["Input Data Types"], "FLOAT16;INT8");
    assert_eq!(rows[0]["Input Formats"], "NC1HWC0;FRACTAL_Z");
    assert_eq!(
        (rows[0]["Output Shapes"].as_str(), rows[0]["Output Formats"].as_str()),
        (";1,4", "FRACTAL_NZ;FRACTAL_NZ")
    );
    assert_eq!(rows[1]["Output Shapes"], "N/A");

    assert_eq!(column("total_cycles")[..4], ["1000", "500", "1000", "500"]);
    // 1,000 cycles at 500 MHz in one block; 500 cycles of two blocks, one after the other.
    assert_eq!(column("aicore_time(us)")[..2], ["2.0", "1.0"]);
    assert_eq!(column("mte_preload_ratio"), ["0.1"; 12]);
    assert_eq!(column("vec_exe_time(us)")[..2], ["0.2", "0.1"]);
    assert_eq!(column("icache_miss_rate"), ["0.25"; 12]);
}

#[test]
fn the_other_tables_the_timeline_and_the_common_trace_tell_the_same() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = load(&profile(directory.path()));
    let statistic = table(&joined, "op_statistic");
    let times: Vec<_> =
        statistic.iter().map(|row| [&row["OP Type"], &row["Count"], &row["Total Time(us)"]]).collect();
    assert_eq!(times, [["Conv2D", "6", "12.0"], ["Relu", "6", "6.0"]]);
    let tasks = table(&joined, "task_time");
    assert_eq!(tasks.len(), 12);
    assert!(tasks[3]["kernel_name"] == "command/relu" && tasks[3]["kernel_type"] == "AI_CORE", "{tasks:?}");

    let output = directory.path().join("output");
    let files = export_timeline(&joined, &output, "0", ExportOptions::default()).expect("space on disk");
    let text = std::fs::read_to_string(&files[0]).expect("the timeline");
    let events: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let slices = events.as_array().expect("an array").iter().filter(|event| event["ph"] == "X");
    let of_relu: Vec<_> = slices.filter(|event| event["name"] == "command/relu").collect();
    assert_eq!(of_relu.len(), 3);
    assert_eq!(of_relu[0]["args"]["Task Type"], "AI_CORE");
    assert_eq!(of_relu[0]["args"]["Model Id"], 2);
    assert_eq!(of_relu[0]["args"]["Batch Id"], 0);

    let trace = to_trace(&joined);
    let names: Vec<&str> = trace.models.name().iter().map(|&name| trace.strings.get(name)).collect();
    assert_eq!(names, ["wake_word", "command"]);
    assert_eq!(trace.tasks.len(), 12);
}

#[test]
fn a_cut_off_file_of_the_compiler_loses_only_the_tasks_behind_the_cut_and_says_so() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = profile(directory.path());
    let file = path.join("host/data/command.dbg");
    let bytes = std::fs::read(&file).expect("a written file");
    std::fs::write(&file, &bytes[..bytes.len() - 1]).expect("a writable file");
    let joined = load(&path);
    let losses = joined.all_losses();
    assert!(losses.total(LossKind::PartialRecord) > 0, "{losses:?}");
    assert_eq!(losses.total(LossKind::DeviceTaskWithoutHost), 3, "{losses:?}");
    let rows = table(&joined, "op_summary");
    let names: Vec<&str> = rows.iter().map(|row| row["Op Name"].as_str()).collect();
    assert_eq!(names, ["wake_word/conv", "wake_word/relu", "command/conv"].repeat(3));
    let tasks = table(&joined, "task_time");
    assert_eq!(tasks.len(), 12, "the device did execute them");
    assert!(tasks[3]["kernel_name"] == "N/A" && tasks[3]["kernel_type"] == "AI_CORE", "{tasks:?}");

    // Wherever it is cut, and whichever byte is another, what is left is shown.
    for length in 0..bytes.len() {
        std::fs::write(&file, &bytes[..length]).expect("a writable file");
        let joined = load(&path);
        assert!(!joined.all_losses().rows().is_empty(), "cut at {length}");
        assert_eq!(joined.data.devices[&0].tables.tasks.len(), 12);
    }
    for place in (0..bytes.len()).step_by(5) {
        let mut other = bytes.clone();
        other[place] ^= 0xFF;
        std::fs::write(&file, &other).expect("a writable file");
        assert!(table(&load(&path), "op_summary").len() >= 6, "changed at {place}");
    }
}

#[test]
fn counters_of_events_that_the_user_chose_have_columns() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = profile(directory.path());
    let file = path.join("device_0/sample.json");
    let text = std::fs::read_to_string(&file).expect("a written file");
    let mut sample: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    sample["ai_core_metrics"] = "Custom:0x300,0x201".into();
    sample["ai_core_profiling_events"] = "0x300,0x201".into();
    std::fs::write(&file, sample.to_string()).expect("a writable file");
    let rows = table(&load(&path), "op_summary");
    assert_eq!((rows[0]["r300"].as_str(), rows[1]["r201"].as_str()), ("100.0", "50.0"));
    assert_eq!(rows[0]["total_cycles"], "1000");
}

#[test]
fn files_that_are_missing_or_belong_to_no_model_are_counted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = profile(directory.path());
    let data = path.join("host/data");
    std::fs::rename(data.join("command.dbg"), data.join("another.dbg")).expect("a file to rename");
    let losses = load(&path).all_losses();
    let count = |reason: LossKind, place: &str| {
        losses.rows().iter().filter(|loss| loss.kind == reason && loss.place == place).count()
    };
    assert_eq!(count(LossKind::MissingMetadata, "command.dbg"), 1, "{losses:?}");
    assert_eq!(count(LossKind::UnreadFile, "another.dbg"), 1, "{losses:?}");
    assert_eq!(losses.total(LossKind::DeviceTaskWithoutHost), 6, "{losses:?}");

    std::fs::write(data.join("wake_word.dbg"), b"this is no file of the compiler").expect("a writable file");
    let losses = load(&path).all_losses();
    assert_eq!(losses.total(LossKind::BrokenMagic), 1, "{losses:?}");
    assert_eq!(losses.total(LossKind::DeviceTaskWithoutHost), 12, "{losses:?}");
}
