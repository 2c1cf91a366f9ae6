//! Readings of the monitors beside cores (`instr.group_*`): their counters in a timeline and in a trace.
//!
//! Cycles are the differences that the vendor's own parser computes of the same records.

mod common;

use std::collections::BTreeMap;

use common::written::Written;
use opscope_cann::join::Joined;
use opscope_cann::read::AscendTimeline;
use opscope_cann::{ExportOptions, LossKind, export_timeline, to_trace};
use opscope_cann_raw::Chip;
use opscope_cann_raw::monitor::{Cycles, Traffic, to_cube};
use opscope_formats::reading::Stop;
use opscope_trace::Trace;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A run of an operator on a 910B whose monitors are read every 1,000 cycles.
fn profile(interval: &str) -> Written {
    let mut profile = Written::new(Chip::V4_1_0).with_option("instrProfilingFreq", interval);
    profile.operator("Add", 1, 100);
    profile
}

/// Five readings of a cube core, 25 µs apart, whose counts begin anew in between.
fn cube(profile: &Written) -> Vec<u8> {
    let reading = |k: u16| {
        let time = profile.device_ticks(200 + 25 * i64::from(k));
        let counts = [0, 100 * k, (3_000 + 800 * k) & 0xFFF, 0, 0, (999 * k) & 0xFFF];
        let k = u32::from(k);
        let traffic = Traffic {
            latencies: [1_000 + k, 2_000 + k],
            flux: [3_000 + k, 4_000 + k],
            time,
            ..Traffic::default()
        };
        // Of a cube core's record, the time beside the cycles means nothing.
        to_cube(Cycles { counts, time: u64::MAX }, traffic)
    };
    (0..5).flat_map(reading).collect()
}

fn vector(profile: &Written) -> Vec<u8> {
    let reading = |k: u16| {
        let time = profile.device_ticks(200 + 25 * i64::from(k));
        Cycles { counts: [250 * k, 0, 0, 0, 500 * k, 0], time }.to_vector()
    };
    (0..3).flat_map(reading).collect()
}

/// With files of cores.
fn joined(mut profile: Written, files: &[(&str, Vec<u8>)]) -> Joined {
    files.iter().for_each(|(stream, bytes)| profile.add_bytes_to_device(stream, bytes));
    profile.joined()
}

fn both() -> Joined {
    let profile = profile("1000");
    let (cube, vector) = (cube(&profile), vector(&profile));
    joined(profile, &[("instr.group_3_aic", cube), ("instr.group_3_aiv1", vector)])
}

/// The values of each counter of a monitor in a trace, by name and unit.
fn counters(trace: &Trace) -> BTreeMap<String, Vec<f64>> {
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (_, sample) in trace.samples.iter() {
        let counter = trace.counters.get(sample.counter);
        let [name, unit] = [counter.name, counter.unit].map(|text| trace.strings.get(text));
        if name.contains("_group") {
            found.entry(format!("{name} [{unit}]")).or_default().push(sample.value);
        }
    }
    found
}

#[test]
fn each_core_and_group_has_a_counter_with_the_names_of_the_vendors() {
    let joined = both();
    assert!(joined.all_losses().rows().iter().all(|loss| loss.kind != LossKind::UnreadFile));
    let events = common::timeline(&joined);
    let process = events.iter().find(|event| event["args"]["name"] == "Biu Perf").expect("the process");
    let of = |name: &str| {
        let is_it = |event: &&Value| event["pid"] == process["pid"] && event["name"] == name;
        let found = events.iter().filter(is_it).map(|event| (&event["ts"], &event["args"]));
        found.collect::<Vec<_>>()
    };
    let cube = of("aic_core3_group3");
    // The first reading tells no difference.
    assert_eq!(cube.len(), 4);
    let shares = json!({"Scalar(%)": 10.0, "Cube(%)": 80.0, "Mte1(%)": 0.0, "Mte2(%)": 0.0, "Mte3(%)": 99.9});
    assert_eq!(cube[0], (&json!("1760000000000225.000"), &shares));
    assert!(cube.iter().all(|(_, args)| **args == shares), "counts that begin anew go on: {cube:?}");
    let vector = of("aiv1_core32_group3");
    assert_eq!(
        (vector.len(), &vector[1].1["Vector(%)"], &vector[1].1["Mte2(%)"]),
        (2, &json!(25.0), &json!(50.0))
    );
    assert!(vector[0].1.get("Cube(%)").is_none(), "a vector core has no cube unit");
    let traffic = of("biu_group3");
    assert_eq!(traffic.len(), 5);
    assert_eq!(
        *traffic[1].1,
        json!({
            "Latency Read": 1_001.0, "Latency Write": 2_001.0,
            "Bandwidth Read": 3_001.0, "Bandwidth Write": 4_001.0,
        })
    );
}

#[test]
fn a_trace_has_the_same_counters_from_the_raw_files_and_from_the_timeline() {
    let joined = both();
    let raw = counters(&to_trace(&joined));
    assert_eq!(raw["aic_core3_group3 cube busy [%]"], [80.0; 4]);
    assert_eq!(raw["aiv1_core32_group3 vector busy [%]"], [25.0; 2]);
    assert_eq!(raw["biu_group3 latency write []"], [2_000.0, 2_001.0, 2_002.0, 2_003.0, 2_004.0]);
    assert_eq!(raw.len(), 5 + 5 + 4, "{:?}", raw.keys());
    let folder = tempfile::tempdir().expect("a temporary directory");
    let files =
        export_timeline(&joined, folder.path(), "0", ExportOptions::default()).expect("space on disk");
    let whole = files.iter().find(|file| file.ends_with("msprof_0.json")).expect("the timeline");
    let bytes = std::fs::read(whole).expect("a file");
    let read = opscope_formats::chrome::read_with(&bytes, &[&AscendTimeline], &Stop::default());
    assert_eq!(counters(&read.expect("a timeline")), raw);
}

/// How often a loss was counted of a core's file.
fn lost(joined: &Joined, kind: LossKind, place: &str) -> u64 {
    let losses = joined.all_losses();
    let found = losses.rows().iter().filter(|loss| loss.kind == kind && loss.place == place);
    found.map(|loss| loss.count).sum()
}

#[test]
fn readings_by_another_clock_have_no_time_and_are_counted() {
    let profile = profile("1000");
    let reading = |time| Cycles { counts: [1; 6], time }.to_vector();
    let times =
        [0, 1_760_000_000_000_000_000, u64::MAX, profile.device_ticks(300), profile.device_ticks(250)];
    let bytes = times.into_iter().flat_map(reading).collect();
    let joined = joined(profile, &[("instr.group_0_aiv0", bytes)]);
    let place = "instr.group_0_aiv0";
    assert_eq!(lost(&joined, LossKind::SampleWithoutTime, place), 3, "{:?}", joined.all_losses());
    // One that lies before the reading in front of it.
    assert_eq!(lost(&joined, LossKind::InvalidRecord, place), 1);
    assert!(joined.data.devices[&0].tables.monitors.is_empty());
}

#[test]
fn cycles_of_intervals_that_are_longer_than_the_counts_go_or_unknown_are_not_told() {
    for (interval, unknown) in [("4096", 0), ("", 1), ("-3", 1), ("nan", 1)] {
        let profile = profile(interval);
        let cube = cube(&profile);
        let joined = joined(profile, &[("instr.group_3_aic", cube)]);
        assert_eq!(lost(&joined, LossKind::CounterOverflow, "instr.group_3_aic"), 4, "{interval}");
        let place = "sample.json: instrProfilingFreq";
        assert_eq!(lost(&joined, LossKind::MissingMetadata, place), unknown, "{interval}");
        let names: Vec<String> = counters(&to_trace(&joined)).into_keys().collect();
        assert_eq!(names.len(), 4, "the traffic is known all the same: {names:?}");
    }
}

#[test]
fn a_record_that_is_cut_short_is_counted_and_names_of_no_core_are_left() {
    let whole = cube(&profile("1000"));
    for rest in [&whole[..whole.len() - 10], &whole[10..]] {
        let files = [("instr.group_3_aic", rest.to_vec()), ("instr.group_x_aic", vec![0; 96])];
        let joined = joined(profile("1000"), &files);
        assert_eq!(
            lost(&joined, LossKind::PartialRecord, "instr.group_3_aic"),
            1,
            "{:?}",
            joined.all_losses()
        );
        assert_eq!(lost(&joined, LossKind::UnreadFile, "instr.group_x_aic"), 1);
        assert_eq!(joined.data.devices[&0].tables.monitors.traffic.len(), 4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_bytes_decode_into_readings_that_can_be_shown(
        bytes in prop::collection::vec(any::<u8>(), 0..1_024),
        times in prop::collection::vec(0i64..1_000, 16),
    ) {
        let profile = profile("1000");
        let mut cube = bytes.clone();
        // Half of the records have times that can be.
        for (record, time) in cube.chunks_exact_mut(96).step_by(2).zip(times) {
            let time = profile.device_ticks(time).to_le_bytes();
            // The time lies in the bytes 22 to 30 of the traffic, of which each eight lie 16 behind those before.
            (0..8).for_each(|at| record[32 + (22 + at) / 8 * 16 + (22 + at) % 8] = time[at]);
        }
        let joined = joined(profile, &[("instr.group_0_aic", cube), ("instr.group_0_aiv0", bytes)]);
        prop_assert!(common::timeline(&joined).iter().all(Value::is_object));
        let trace = to_trace(&joined);
        prop_assert!(trace.samples.value().iter().all(|value| value.is_finite()));
    }
}
