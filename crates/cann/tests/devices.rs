//! Tables of a profile of several devices.

mod common;

use common::edited::Edited;
use opscope_cann_raw::additional::{FusionOpInfo, GraphIdMap};
use opscope_cann_raw::host::{Head, TaskTrack, level};
use opscope_cann_raw::{Chip, Record};

/// A profile of two devices, which the host gave the same tasks.
fn profile(chip: Chip) -> Edited {
    let profile = Edited::new(chip, 30);
    common::copy_device(&profile.profile, 0, 3);
    let tracks = profile.profile.join("host/data/unaging.compact.task_track.slice_0");
    let mut bytes = std::fs::read(&tracks).expect("the host's tasks");
    let records: Vec<TaskTrack> = bytes.chunks(TaskTrack::SIZE).filter_map(TaskTrack::read).collect();
    records.into_iter().for_each(|task| TaskTrack { device: 3, ..task }.append_to(&mut bytes));
    std::fs::write(&tracks, bytes).expect("space on disk");
    profile
}

/// With a note on a fused operator from the time when the model was loaded.
fn with_fusion(profile: Edited) -> Edited {
    let host = profile.profile.join("host/data");
    let models = std::fs::read(host.join("unaging.additional.graph_id_map.slice_0")).expect("the models");
    let model = GraphIdMap::read(&models).expect("a model");
    let head = Head { level: level::NODE, kind: 2, ..model.head };
    let mut bytes = Vec::new();
    FusionOpInfo { head, name: model.name, ..FusionOpInfo::default() }.append_to(&mut bytes);
    std::fs::write(host.join("unaging.additional.fusion_op_info.slice_0"), bytes).expect("space on disk");
    profile
}

#[test]
fn plain_tables_of_calls_repeat_all_rows_for_each_device() {
    let profile = with_fusion(profile(Chip::V2_1_0));
    for kind in ["api_statistic", "fusion_op"] {
        let devices: Vec<String> = profile.cells(kind, &["Device_id"]).concat();
        let count = devices.len() / 2;
        assert!(count > 0, "{kind}");
        assert_eq!(devices, [vec!["0"; count], vec!["3"; count]].concat(), "{kind}");
    }
}

#[test]
fn tables_of_calls_of_a_910b_name_the_host_once() {
    let profile = profile(Chip::V4_1_0);
    let rows = profile.cells("api_statistic", &["Device_id", "Level", "API Name"]);
    assert!(rows.iter().all(|row| row[0] == "host"));
    assert!((1..rows.len()).all(|row| !rows[..row].contains(&rows[row])));
}

#[test]
fn tasks_and_types_of_operators_of_a_910b_are_in_one_order_for_all_devices() {
    let profile = profile(Chip::V4_1_0);
    let tasks = profile.cells("task_time", &["Device_id", "task_start(us)"]);
    assert!(tasks.iter().any(|task| task[0] == "3"));
    assert!(tasks.is_sorted_by_key(|task| task[1].clone()));
    let types = profile.cells("op_statistic", &["Device_id", "Total Time(us)"]);
    assert!(types.iter().any(|line| line[0] == "3"));
    let totals = types.iter().map(|line| line[1].parse().expect("a number"));
    assert!(totals.collect::<Vec<f64>>().is_sorted_by(|a, b| a >= b));
}
