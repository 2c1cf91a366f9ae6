//! Whole runs of chips 15 and 16: the form of the vendor's accelerated parser, with what its plain one
//! works out of the cores' counters.

mod common;

use common::written::Written;
use opscope_cann::join::Joined;
use opscope_cann::{SampleLayout, SampleMode, SampleOptions, write_sample};
use opscope_cann_raw::Chip;
use opscope_cann_raw::host::{MemcpyInfo, level};
use serde_json::{Value, json};

const WIDE: [Chip; 2] = [Chip::V6_1_0, Chip::V6_2_0];

/// A run of a static model of 150 tasks.
fn run(chip: Chip) -> Joined {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mode, layout) = (SampleMode::Static, SampleLayout::Current);
    write_sample(directory.path(), SampleOptions { chip, tasks: 150, mode, layout, seed: 3 })
        .expect("a profile");
    common::joined(directory.path())
}

#[test]
fn tables_have_the_digits_of_the_accelerated_parser() {
    for chip in WIDE {
        let joined = run(chip);
        // That parser's rows for this run on chip 15.
        let start = |table: &str, row: usize| {
            let line = common::table(&joined, table)[row].clone();
            line.split(',').take(9).collect::<Vec<_>>().join(",")
        };
        assert_eq!(start("op_statistic", 1), "0,Conv2D,AI_CORE,30,391.12,12.213,13.037,14.039,47.03");
        assert_eq!(
            start("task_time", 1),
            "0,te_conv2d_kernel0,AI_CORE,2,1,12.775,1760000000002171.753\t,1760000000002184.528\t"
        );
        assert_eq!(start("api_statistic", 1), "host,runtime,KernelLaunch,14,70,0.2,0.2,0.2,0");
        let columns = [
            "Task Duration(us)",
            "Task Wait Time(us)",
            "aicore_time(us)",
            "aic_mac_time(us)",
            "aiv_time(us)",
            "cube_utilization(%)",
        ];
        let rows = common::cells(&joined, "op_summary", &columns);
        assert_eq!(rows[0], ["12.775", "0", "12.78", "6.134", "0.0", "4.000"]);
        // The wait is exact; that parser's is 0.725000, a difference of two large numbers.
        assert_eq!(rows[1], ["3.569", "0.600000", "0.0", "0.0", "3.57", "0.000"]);
    }
}

#[test]
fn lanes_have_the_numbers_of_the_accelerated_parser() {
    let events = common::timeline(&run(Chip::V6_1_0));
    let process = |name: &str| {
        let is_it = |event: &&Value| event["name"] == "process_name" && event["args"]["name"] == name;
        events.iter().find(is_it).map(|event| event["pid"].as_u64().expect("a number") >> 5 & 31)
    };
    assert_eq!(process("Overlap Analysis"), Some(31));
    assert_eq!(process("Ascend Hardware"), Some(14));
    let is_operator = |event: &&Value| event["ph"] == "X" && event["name"] == "Conv2D_0";
    let args = &events.iter().find(is_operator).expect("an operator")["args"];
    assert_eq!(
        (&args["Task Type"], &args["Physic Stream Id"], &args["Batch Id"]),
        (&json!("AI_CORE"), &json!(2), &json!(0))
    );
}

#[test]
fn copies_are_told_by_what_the_runtime_noted() {
    const MEMCPY_ASYNC: u64 = 5;
    const SDMA: u16 = 11;
    let mut profile = Written::new(Chip::V6_1_0);
    profile.name_type(level::RUNTIME, 5, "MEMCPY_ASYNC");
    profile.call(level::ACL, 196_702, (100, 120));
    profile.track(1, MEMCPY_ASYNC, 110);
    let head = profile.head(level::RUNTIME, 801, 110);
    profile.add("compact.memcpy_info", &MemcpyInfo { head, bytes: 4_096, most: 8_192, direction: 1 });
    profile.run(1, SDMA, (200, 210));
    let events = profile.timeline();
    let is_task = |event: &&Value| event["args"]["Task Id"] == 1 && event["args"].get("Task Type").is_some();
    let args = &events.iter().find(is_task).expect("a task")["args"];
    assert_eq!((&args["size(B)"], &args["operation"]), (&json!(4_096), &json!("host to device")));
}
