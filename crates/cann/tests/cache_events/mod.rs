//! Events of a 310's last-level cache, which a tool prints.
//!
//! Sample number k of event number p (1 to 6) is p · 10,000 + k · 100, at the end of the k-th interval of 10 ms.

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, LossKind, SampleLayout, SampleMode, SampleOptions, discover, export_timeline,
    to_trace, write_sample,
};
use opscope_cann_raw::Chip;
use tempfile::TempDir;

use crate::common::edited::Edited;
use crate::{events, tables};

const FILE: &str = "device_0/data/llc.data.0.slice_0";

/// A profile of a program that launches each operator, of which everything is shown.
fn launched() -> (TempDir, Joined) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (chip, mode, layout) = (Chip::V1_1_0, SampleMode::Dynamic, SampleLayout::Current);
    write_sample(directory.path(), SampleOptions { chip, tasks: 120, mode, layout, seed: 1 })
        .expect("a profile");
    let joined = joined(&directory);
    (directory, joined)
}

fn joined(directory: &TempDir) -> Joined {
    let profile = discover(directory.path()).expect("a profile").remove(0);
    Joined::new(Data::load(profile).expect("a readable profile"))
}

#[test]
fn traffic_of_the_cache_of_a_310_is_in_its_table_its_lane_and_the_trace() {
    let (directory, joined) = launched();
    assert!(joined.all_losses().rows().is_empty(), "{:?}", joined.all_losses().rows());
    let tables = tables(&joined, ExportOptions::default());
    let rows: Vec<String> = tables["llc_bandwidth"].iter().map(|row| row.join(",")).collect();
    // Reads are events 1 and 3, and hits of them event 2: 161,200 and 80,600 lines of 64 bytes within 30 ms.
    assert_eq!(
        rows,
        [
            "Device_id,Metric,l3c_rd,l3c_wr",
            "0,BandWidth(MB/s),327.962,816.243",
            "0,Hit_Rate(%),50.0,50.0",
            "0,Hit_BandWidth(MB/s),163.981,408.122",
        ]
    );
    for other in ["llc_read_write", "llc_aicpu", "llc_ctrlcpu"] {
        assert!(!tables.contains_key(other), "{other}");
    }

    let files =
        export_timeline(&joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
    let events = events(files.iter().find(|file| file.ends_with("msprof_0.json")).expect("the timeline"));
    assert!(events.iter().any(|event| event["args"]["name"] == "LLC Bandwidth"));
    let reads: Vec<_> = events.iter().filter(|event| event["name"] == "LLC/Read").collect();
    assert_eq!(reads.len(), 4);
    assert_eq!(reads[0]["ts"], "1760000000010000.000");
    assert_eq!(reads[0]["args"]["BandWidth(MB/s)"], 244.140_625);
    assert_eq!(reads[0]["args"]["Hit BandWidth(MB/s)"], 122.070_312);
    let write = events.iter().find(|event| event["name"] == "LLC/Write").expect("writes");
    assert_eq!(write["args"]["BandWidth(MB/s)"], 610.351_562);
    assert_eq!(write["args"]["Hit Rate(%)"], 50.0);

    let trace = to_trace(&joined);
    let values = |name: &str| {
        let counter = trace.counters.iter().find(|(_, row)| trace.strings.get(row.name) == name);
        let (counter, _) = counter.unwrap_or_else(|| panic!("{name}"));
        let samples = trace.samples.iter().filter(move |(_, row)| row.counter == counter);
        samples.map(|(_, row)| row.value).collect::<Vec<f64>>()
    };
    // In bytes, as everything in a trace.
    assert_eq!(values("LLC read throughput")[0], 244.140_625 * 1_048_576.0);
    assert_eq!(values("LLC write hit rate"), [50.0; 4]);
    assert_eq!(values("LLC write hit throughput").len(), 4);
}

#[test]
fn parts_of_the_cache_belong_to_the_processors_that_the_device_has() {
    let (directory, before) = launched();
    let mut text = String::new();
    for (time, lines) in [("0.010000000", 16), ("0.020000000", 32)] {
        for processor in 0..8u32 {
            text +=
                &format!("  {time}   {}   hisi_l3c0_1/dsid{processor}/  (50.00%)\n", lines * (processor + 1));
        }
    }
    std::fs::write(before.data.profile.path.join(FILE), text).expect("space on disk");
    let joined = joined(&directory);
    let tables = tables(&joined, ExportOptions::default());
    let rows = |kind: &str| tables[kind].iter().map(|row| row.join(",")).collect::<Vec<_>>();
    // 48 lines of 64 bytes are 3 KiB.
    assert_eq!(
        rows("llc_ctrlcpu"),
        ["Device_id,Metric,CPU0(KB),Total(KB)", "0,Used Capacity of LLC,3.0,3.0"]
    );
    let of_ai = rows("llc_aicpu");
    assert_eq!(of_ai[1], "0,Used Capacity of LLC,9.0,12.0,15.0,18.0,21.0,24.0,99.0");
    assert!(!tables.contains_key("llc_bandwidth"));
    let files =
        export_timeline(&joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
    let events = events(files.iter().find(|file| file.ends_with("msprof_0.json")).expect("the timeline"));
    let is_named = |name: &str| events.iter().any(|event| event["args"]["name"] == name);
    assert!(is_named("LLC of AI CPU") && is_named("LLC of Ctrl CPU") && !is_named("LLC Bandwidth"));
    let cores: Vec<_> = events.iter().filter(|event| event["name"] == "Core 5").collect();
    assert_eq!(cores.len(), 2);
    assert_eq!(cores[0]["args"]["Capacity(MB)"], 0.007_812);
}

#[test]
fn lines_that_are_not_understood_and_events_that_are_unknown_are_counted() {
    let edited = Edited::new(Chip::V1_1_0, 120);
    let path = edited.profile.join(FILE);
    let mut text = std::fs::read(&path).expect("a file");
    text.extend(b"  0.9 12 hisi_l3c0_1/dsid8/\nnonsense\n  1.0 5 hisi_l3c0_1/rea");
    text.extend([0xff, 0xfe, b'\n']);
    std::fs::write(&path, text).expect("space on disk");
    let joined = edited.joined();
    let losses = joined.all_losses();
    assert_eq!(losses.total(LossKind::UnknownRecord), 1, "{losses:?}");
    assert_eq!(losses.total(LossKind::InvalidLine), 2, "{losses:?}");
    assert_eq!(tables(&joined, ExportOptions::default())["llc_bandwidth"].len(), 4);
}
