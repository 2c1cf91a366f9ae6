//! Exported files of boards; the first byte chooses the file's name.
#![no_main]

use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 8] = [
    "op_summary_0.net.1.1.1.1.0.1000.csv",
    "acl_statistic_0_1_1.csv",
    "op_statistic_0_1_1_1.csv",
    "task_time_0.net.1.1.json",
    "acl_0.net.1.1.json",
    "op_summary_0.net.1.1.1.1.0.1000.json",
    "op_statistic_0_1_1_1.json",
    "acl_api.0.net.1",
];

fuzz_target!(|input: &[u8]| {
    let Some((&number, content)) = input.split_first() else { return };
    let directory = opscope_fuzz::folder();
    let path = directory.path().join(NAMES[usize::from(number) % NAMES.len()]);
    std::fs::write(&path, content).expect("space on disk");
    if let Ok(exports) = opscope_svp::Exports::read(&path) {
        let _ = exports.to_trace();
    }
    let _ = opscope_svp::RawCalls::read_file(&path);
});
