//! Samples over time, the counters of every chip, and how timelines are chosen and divided.
//!
//! The profiles are made by the project. Literal tables were typed in from the output of the
//! vendor's own parser on the same files; everything else is worked out from the rules by which the
//! sampled values are made: number k is taken k intervals of 10 ms after the begin.

mod cache_events;
mod common;
mod links;
mod processors;
mod system;
mod wide_units;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, IterationRange, LaneChoice, SampleLayout, SampleMode, SampleOptions, discover,
    export_summary, export_timeline, write_sample,
};
use opscope_cann_raw::Chip;
use serde_json::Value;
use tempfile::TempDir;

/// A profile of 120 tasks in four inferences of which the last is cut short.
fn sample(chip: Chip) -> (TempDir, Joined) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mode, layout) = (SampleMode::Static, SampleLayout::Current);
    write_sample(directory.path(), SampleOptions { chip, tasks: 120, mode, layout, seed: 1 })
        .expect("a profile");
    let profile = discover(directory.path()).expect("a profile").remove(0);
    (directory, Joined::new(Data::load(profile).expect("a readable profile")))
}

/// The tables of a profile: for each kind its rows, the headings first.
fn tables(joined: &Joined, options: ExportOptions) -> BTreeMap<String, Vec<Vec<String>>> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = export_summary(joined, directory.path(), "0", options).expect("space on disk");
    let table = |path: PathBuf| {
        let kind = path.file_name()?.to_str()?.strip_suffix("_0.csv")?.to_owned();
        let reader = csv::ReaderBuilder::new().has_headers(false).from_path(&path);
        let rows = reader.expect("a readable table").into_records().map(|row| row.expect("a row"));
        Some((kind, rows.map(|row| row.iter().map(str::to_owned).collect()).collect()))
    };
    files.into_iter().filter_map(table).collect()
}

fn events(path: &Path) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(path).expect("a readable timeline")).expect("JSON")
}

#[test]
fn tables_of_samples_are_those_of_the_vendors_parser() {
    let (_directory, joined) = sample(Chip::V3_3_0);
    let tables = tables(&joined, ExportOptions::default());
    let expect = |kind: &str, rows: &[&str]| {
        let found: Vec<String> = tables[kind][1..].iter().map(|row| row.join(",")).collect();
        assert_eq!(found, rows, "{kind}");
    };
    expect("ddr", &["0,Average,153.046,153.049"]);
    expect("hccs", &["0,Tx (MB/s),190.735,190.735,190.735", "0,Rx (MB/s),95.367,95.367,95.367"]);
    expect(
        "pcie",
        &[
            "0,Tx_p_avg(MB/s),96.798,115.871,106.335",
            "0,Tx_np_avg(MB/s),190.735,209.808,200.272",
            "0,Tx_cpl_avg(MB/s),286.102,305.176,295.639",
            "0,Tx_latency_avg(us),1.0,1.02,1.01",
            "0,Rx_p_avg(MB/s),381.47,400.543,391.006",
            "0,Rx_np_avg(MB/s),476.837,495.911,486.374",
            "0,Rx_cpl_avg(MB/s),572.205,591.278,581.741",
        ],
    );
    expect(
        "npu_module_mem",
        &[
            "0,RUNTIME,1760000000000000.000\t,7.0,NPU:0",
            "0,RUNTIME,1760000000010000.000\t,8.0,NPU:0",
            "0,RUNTIME,1760000000020000.000\t,9.0,NPU:0",
            "0,RUNTIME,1760000000030000.000\t,10.0,NPU:0",
            "0,GE,1760000000000000.000\t,45.0,NPU:0",
            "0,GE,1760000000010000.000\t,46.0,NPU:0",
            "0,GE,1760000000020000.000\t,47.0,NPU:0",
            "0,GE,1760000000030000.000\t,48.0,NPU:0",
        ],
    );
    expect(
        "operator_memory",
        &[
            "0,Conv2D_0,4.0,1760000000000000.000\t,1.0,4.0,1024.0,0.0,1024.0,NPU:0",
            "0,BNInferenceD_0,8.0,1760000000000002.000\t,1.0,8.0,1024.0,0.0,1024.0,NPU:0",
            "0,Softplus_0,12.0,1760000000000004.000\t,1.0,12.0,1024.0,0.0,1024.0,NPU:0",
            "0,Tanh_0,16.0,1760000000000006.000\t,0.0,16.0,1024.0,0.0,0.0,NPU:0",
        ],
    );
    expect(
        "static_op_mem",
        &[
            "host,TOTAL,Conv2D_0,1,0,2,4.5",
            "host,BNInferenceD_0,Conv2D_0,1,1,3,8.5",
            "host,Softplus_0,Conv2D_0,1,2,4,12.5",
            "host,Tanh_0,Conv2D_0,1,3,5,16.5",
        ],
    );
    expect("host_cpu_usage", &["host,96,2,1"]);
    expect("host_disk_usage", &["host,3.0,3.75,6.0,7.5"]);
    expect("host_mem_usage", &["host,263921868,4012000.359,5015000.448"]);
    let records: Vec<&str> = tables["memory_record"][1..].iter().map(|row| row[3].as_str()).collect();
    assert_eq!(records, ["4.0", "0.0", "8.0", "0.0", "12.0", "0.0", "16.0"]);
}

/// Where the vendor's parser loses digits in large times, or takes nanoseconds for seconds.
#[test]
fn rates_are_right_where_the_vendors_parser_is_not() {
    let (_directory, joined) = sample(Chip::V3_3_0);
    let tables = tables(&joined, ExportOptions::default());
    let rounded = |value: f64| (value * 1_000.0).round() / 1_000.0;
    let number =
        |kind: &str, row: usize, column: usize| tables[kind][row][column].parse::<f64>().expect("a number");

    // Four samples, of which the first has no interval and counts as nothing; a transfer has 32 bytes.
    let mean = |id: f64, event: f64| {
        let rates =
            (1..4).map(|k| (1e6 + f64::from(k) * 1e3 + id * 10.0 + event) * 32.0 / 0.01 / 1_048_576.0);
        rates.sum::<f64>() / 4.0
    };
    for id in 0..4 {
        let row = id + 2;
        assert_eq!(number("hbm", row, 2), rounded(mean(id as f64, 0.0)), "HBM {id}, reading");
        assert_eq!(number("hbm", row, 3), rounded(mean(id as f64, 1.0)), "HBM {id}, writing");
    }
    // Hits are events 3, 4, 6 and 8 of eight, accesses 5 and 7; event n counts n thousand and k.
    let throughput = (1..4).map(|k| rounded((3_000.0 + 2.0 * f64::from(k)) * 4_096.0 / 0.01 / 1_048_576.0));
    assert_eq!(number("llc_read_write", 2, 4), rounded(throughput.sum::<f64>() / 4.0));
    assert_eq!(number("llc_read_write", 2, 3), 175.0);
    // 9 MB/s at most go through a card of 10 Gbit/s: 3² - 2² thousand bytes each way in 10 ms.
    assert_eq!(number("host_network_usage", 1, 2), 5_000.0 * 2.0 / 0.01 / 1_024.0);
    // 20 kB received every 10 ms; of 800 packets sent 3 are faulty.
    for kind in ["nic", "roce"] {
        let row: Vec<&str> = tables[kind][1].iter().map(String::as_str).collect();
        assert_eq!(row[1], "1760000000010000.000\t", "{kind}: the first sample's time");
        assert_eq!(number(kind, 1, 3), rounded(2e6 * 8.0 / (200_000.0 * 1_048_576.0) * 100.0), "{kind}");
        assert_eq!(number(kind, 1, 4), 101.5, "{kind}: 100 to 103 packets a second");
        assert_eq!(number(kind, 1, 9), 0.375, "{kind}");
    }
}

#[test]
fn everything_sampled_is_drawn() {
    let (directory, joined) = sample(Chip::V4_1_0);
    let files =
        export_timeline(&joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
    let all = events(files.last().expect("a timeline"));
    let of = |name: &str| -> Vec<&Value> {
        all.iter().filter(|event| event["ph"] == "C" && event["name"] == name).collect()
    };
    let argument = |name: &str, place: usize, key: &str| of(name)[place]["args"][key].as_f64().expect(key);
    assert_eq!(of("PCIe_post").len(), 4);
    assert_eq!(argument("PCIe_nonpost_latency", 0, "Tx"), 1.01);
    assert_eq!(of("PCIe_post")[1]["ts"], "1760000000020000.000");
    assert_eq!(argument("Tx", 0, "Tx(MB/s)"), 190.735);
    assert_eq!(argument("LLC 1 Read/Hit Rate", 0, "Hit Rate(%)"), 175.0);
    assert_eq!(argument("Port 0/Tx", 3, "Tx Error Rate"), 3.0 / 800.0);
    assert_eq!(argument("Aicore Voltage", 0, "mV"), 900.0);
    assert_eq!(argument("Aicore Voltage", 1, "mV"), 851.0);
    assert_eq!(argument("Bus Voltage", 1, "mV"), 852.0);
    assert_eq!(argument("CPU 0", 0, "Usage(%)"), 100.0);
    assert_eq!(argument("Memory Usage", 0, "Usage(%)"), 1.517_116);
    assert_eq!(argument("Disk Usage", 0, "Usage(%)"), 1.5);
    assert_eq!(argument("Network Usage", 0, "Usage(%)"), 0.016);
    assert_eq!(of("DDR/Read").len(), 4);
    let process = |event: &&Value| event["name"] == "process_name";
    let names: Vec<(u64, &str)> = all
        .iter()
        .filter(process)
        .filter_map(|event| Some((event["pid"].as_u64()? >> 5 & 31, event["args"]["name"].as_str()?)))
        .collect();
    for lane in
        [(9, "CPU Usage"), (12, "Disk Usage"), (13, "Voltage Info"), (18, "DDR"), (20, "HCCS"), (27, "LLC")]
    {
        assert!(names.contains(&lane), "{lane:?} in {names:?}");
    }
}

#[test]
fn wide_chips_have_the_counters_of_the_vendors_parser() {
    let (_directory, joined) = sample(Chip::V6_1_0);
    let table = &tables(&joined, ExportOptions::default())["op_summary"];
    let cells = |row: usize| table[row][21..].join(",");
    assert_eq!(
        table[0][21..33].join(","),
        "aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,\
         aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_mte3_time(us),aic_mte3_ratio"
    );
    assert_eq!(
        cells(1),
        "13.19,17404,4.748,0.36,1.582,0.12,6.462,0.49,6.067,0.46,4.484,0.34,0.0,0.0,0.048,\
         0.0,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,4.000"
    );
    assert!(
        cells(2).contains(",3.62,4783,1.267,0.35,0.615,0.17,0.216,0.06,1.52,0.42,2.868,0"),
        "{}",
        cells(2)
    );
}

#[test]
fn every_chip_shows_all_operators_with_their_counters() {
    let chips = [
        (Chip::V3_1_0, false),
        (Chip::V3_2_0, false),
        (Chip::V1_1_1, false),
        (Chip::V1_1_2, false),
        (Chip::V1_1_3, false),
        (Chip::V6_2_0, true),
    ];
    for (chip, splits) in chips {
        let (_directory, joined) = sample(chip);
        assert!(joined.all_losses().rows().is_empty(), "{chip:?}: {:?}", joined.all_losses().rows());
        let all = Some(IterationRange { model: 1, first: 1, count: u64::MAX });
        let tables = tables(&joined, ExportOptions { iterations: all, ..ExportOptions::default() });
        let table = &tables["op_summary"];
        assert_eq!(table.len(), 121, "{chip:?}");
        assert_eq!(table[0].contains(&"aiv_time(us)".to_owned()), splits, "{chip:?}");
        let time = table[0].iter().position(|name| name == "aicore_time(us)").expect("counters");
        let works = |row: &Vec<String>| row[time] != "0.0" || splits && row[time + 15] != "0.0";
        assert!(table[1..].iter().all(works), "{chip:?}: a task without time");
    }
}

#[test]
fn iterations_divide_the_run() {
    let (_directory, joined) = sample(Chip::V3_3_0);
    let rows = |first: u64, count: u64| -> Vec<(String, String)> {
        let iterations = Some(IterationRange { model: 1, first, count });
        let tables = tables(&joined, ExportOptions { iterations, ..ExportOptions::default() });
        let table = tables.get("op_summary").cloned().unwrap_or_default();
        let Some(head) = table.first() else { return Vec::new() };
        let place = |name: &str| head.iter().position(|known| known == name).expect("a column");
        let (infer, start) = (place("Infer ID"), place("Task Start Time(us)"));
        table[1..].iter().map(|row| (row[infer].clone(), row[start].clone())).collect()
    };
    let whole = rows(1, u64::MAX);
    assert_eq!(whole.len(), 120);
    let inferences: BTreeSet<&String> = whole.iter().map(|(infer, _)| infer).collect();
    assert!(inferences.len() > 1, "several inferences");
    let mut one_by_one = Vec::new();
    for number in 1..=inferences.len() as u64 {
        let own = rows(number, 1);
        assert!(own.iter().all(|(infer, _)| *infer == number.to_string()), "{number}: {own:?}");
        one_by_one.extend(own);
    }
    assert_eq!(one_by_one, whole);
    assert!(rows(99, 1).is_empty(), "no such iteration");
}

/// The reference doesn't find the numbers of blocks of a chosen iteration, and shows zeros.
#[test]
fn the_counters_of_a_chosen_iteration_are_those_of_the_whole_run() {
    for chip in [Chip::V1_1_0, Chip::V2_1_0, Chip::V3_3_0, Chip::V4_1_0, Chip::V6_1_0] {
        let (_directory, joined) = sample(chip);
        let table = |first: u64, count: u64| {
            let iterations = Some(IterationRange { model: 1, first, count });
            tables(&joined, ExportOptions { iterations, ..ExportOptions::default() })["op_summary"].clone()
        };
        let (whole, one) = (table(1, 9), table(2, 1));
        assert!(one.len() > 20 && one.len() < whole.len(), "{chip:?}");
        let place = |name: &str| whole[0].iter().position(|known| known == name).expect("a column");
        let start = place("Task Start Time(us)");
        let times: Vec<usize> = (0..whole[0].len())
            .filter(|&column| whole[0][column].ends_with("_time(us)") || whole[0][column].ends_with("_ratio"))
            .collect();
        assert!(times.len() > 5, "{chip:?}: {:?}", whole[0]);
        let mut filled = 0;
        for row in &one[1..] {
            let same = whole.iter().find(|other| other[start] == row[start]).expect("the same task");
            for &column in &times {
                assert_eq!(row[column], same[column], "{chip:?} {}", whole[0][column]);
                filled += usize::from(row[column].parse::<f64>().is_ok_and(|value| value > 0.0));
            }
        }
        assert!(filled > one.len(), "{chip:?}: {filled}");
    }
}

/// With drivers that count no batches, the reference exports the first iteration only.
#[test]
fn a_run_with_an_old_driver_is_shown_as_a_whole() {
    let (directory, joined) = sample(Chip::V2_1_0);
    let rows = |joined: &Joined| tables(joined, ExportOptions::default())["op_summary"].clone();
    let (today, profile) = (rows(&joined), &joined.data.profile.path);
    for file in [profile.join("host/info.json"), profile.join("device_0/info.json.0")] {
        let text = std::fs::read_to_string(&file).expect("the description");
        let mut info: Value = serde_json::from_str(&text).expect("JSON");
        assert!(info["drvVersion"].as_u64().is_some_and(|version| version >= 0x07_2211));
        info["drvVersion"] = Value::from(0x07_2210);
        std::fs::write(&file, info.to_string()).expect("space on disk");
    }
    let profile = discover(directory.path()).expect("a profile").remove(0);
    let old = rows(&Joined::new(Data::load(profile).expect("a readable profile")));
    assert_eq!(old, today);
}

#[test]
fn lanes_can_be_chosen() {
    let (directory, joined) = sample(Chip::V4_1_0);
    let lanes = LaneChoice::from_json(r#"{"json_process": {"ascend": true, "hbm": true, "cann": false}}"#);
    let options = ExportOptions { lanes: lanes.expect("a choice"), ..ExportOptions::default() };
    let files = export_timeline(&joined, directory.path(), "0", options).expect("space on disk");
    let all = events(files.last().expect("a timeline"));
    let names: BTreeSet<&str> = all
        .iter()
        .filter(|event| event["name"] == "process_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert_eq!(names, BTreeSet::from(["Ascend Hardware", "HBM"]));
    let slices = all.iter().filter(|event| event["ph"] == "X");
    assert_eq!(slices.count(), 120, "the tasks, and no calls, inferences or overlap");
}

#[test]
fn large_timelines_are_divided_by_time() {
    let (directory, joined) = sample(Chip::V4_1_0);
    let export = |folder: &str, timeline_bytes| {
        let options = ExportOptions { timeline_bytes, ..ExportOptions::default() };
        export_timeline(&joined, &directory.path().join(folder), "0", options).expect("space on disk")
    };
    let whole = export("whole", None);
    let bytes = std::fs::metadata(whole.last().expect("a timeline")).expect("its size").len();
    let parts = export("parts", Some(bytes / 3));
    let names: Vec<&str> =
        parts.iter().filter_map(|path| path.file_name()?.to_str()).filter(|n| n.contains("slice")).collect();
    assert!(names.len() >= 3 && names[0] == "msprof_slice_0_0.json", "{names:?}");
    assert!(!directory.path().join("parts/msprof_0.json").exists());
    let timed = |paths: &[PathBuf]| -> Vec<String> {
        let all = paths.iter().filter(|path| path.to_string_lossy().contains("/msprof_")).map(|p| events(p));
        let mut all: Vec<String> =
            all.flatten().filter(|event| event["ph"] != "M").map(|event| event.to_string()).collect();
        all.sort();
        all
    };
    assert_eq!(timed(&parts), timed(&whole), "no event is lost or doubled");
    let starts = |path: &PathBuf| -> Vec<String> {
        events(path).iter().filter_map(|event| Some(event["ts"].as_str()?.to_owned())).collect()
    };
    let parts: Vec<Vec<String>> = parts[parts.len() - names.len()..].iter().map(starts).collect();
    for pair in parts.windows(2) {
        assert!(pair[0].iter().max() < pair[1].iter().min(), "each part has its own time");
    }
}
