//! The metadata files of sample profiles.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope_cann_raw::Chip;
use serde_json::json;

use crate::synthetic::clockwork::{
    BEGIN, Clockwork, DEVICE_COUNTER, DEVICE_MONOTONIC, HOST_COUNTER, HOST_MONOTONIC,
};
use crate::synthetic::host::THREAD;
use crate::synthetic::machine::{core_megahertz, cores};
use crate::synthetic::options::{SampleLayout, SampleOptions};
use crate::synthetic::{hardware, links};

/// The events of the group of counters called PipeUtilization.
const EVENTS: &str = "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55";

/// The same on chips 15 and 16.
const WIDE_EVENTS: &str = "0x501,0x301,0x1,0x701,0x202,0x203,0x34,0x35,0x714";

/// The number that stands for the host among devices.
const HOST_ID: &str = "64";

/// Writes the metadata files of host and devices; the run ends `end` nanoseconds after its begin.
///
/// A directory that is both gets the files of the first device.
pub(super) fn write(
    host: &Path,
    device_directories: &[PathBuf],
    options: SampleOptions,
    clockwork: Clockwork,
    end: u64,
) -> io::Result<()> {
    let SampleOptions { chip, layout, .. } = options;
    let (cann, driver) = match layout {
        SampleLayout::Current => ("8.5.0", 467_730),
        _ => ("5.1.RC1", 467_000),
    };
    let events = if chip.has_wide_task_ids() { WIDE_EVENTS } else { EVENTS };
    let of_device = |number: usize| {
        json!([{
            "id": number,
            "hwts_frequency": format!("{:.6}", clockwork.device_hertz as f64 / 1e6),
            "aic_frequency": core_megahertz(chip).to_string(),
            "aiv_frequency": core_megahertz(chip).to_string(),
            "ai_core_num": cores(chip),
            "aiv_num": if chip.splits_cores() { cores(chip) * 2 } else { 0 },
            "ctrl_cpu": "0",
            "ai_cpu": "2,3,4,5,6,7",
        }])
    };
    let of_devices = device_directories.iter().enumerate().map(|(number, directory)| {
        (directory.as_path(), format!(".{number}"), number.to_string(), of_device(number))
    });
    let of_host = (host, String::new(), HOST_ID.to_owned(), json!([]));
    let is_one = device_directories.iter().any(|device| device == host);
    for (directory, suffix, id, devices) in Some(of_host).into_iter().filter(|_| !is_one).chain(of_devices) {
        let save = |name: &str, text: String| write_new(&directory.join(name), &text);
        let info = json!({
            "version": "1.0",
            "jobInfo": "NA",
            "OS": "Linux",
            "hostname": "sample",
            "platform_version": chip.platform_version().to_string(),
            "pid": THREAD.to_string(),
            "pid_name": "sample_infer",
            "memoryTotal": 263_921_868,
            "cpuNums": 96,
            "sysClockFreq": 100,
            "netCard": [{"netCardName": "eth0", "speed": 10_000}],
            "rank_id": -1,
            "drvVersion": driver,
            "cannVersion": cann,
            "CPU": [{"Id": 0, "Frequency": "100.000000", "Logical_CPU_Count": 96}],
            "devices": id,
            "DeviceInfo": devices,
        });
        save(&format!("info.json{suffix}"), info.to_string())?;
        let sample = json!({
            "ai_core_profiling": "on",
            "ai_core_profiling_mode": "task-based",
            "ai_core_metrics": "PipeUtilization",
            "ai_core_profiling_events": events,
            "aicore_sampling_interval": 10,
            "aiv_profiling": "on",
            "aiv_profiling_mode": "task-based",
            "aiv_metrics": "PipeUtilization",
            "aiv_profiling_events": events,
            "aiv_sampling_interval": 10,
            "prof_level": "l1",
            "taskBlock": "off",
            "llc_profiling": if chip == Chip::V1_1_0 { "bandwidth" } else { "read" },
            "hbm_profiling_events": "read,write",
            "ai_ctrl_cpu_profiling_events": "0x8,0x11",
            "ts_cpu_profiling_events": "0x8,0x11",
            "qosEvents": links::EVENTS,
            "host_disk_freq": 1_000_000_000 / hardware::INTERVAL,
            "devices": id,
        });
        save("sample.json", sample.to_string())?;
        let start = json!({
            "collectionDateBegin": "2025-10-09 08:53:20.000000",
            "collectionTimeBegin": (BEGIN / 1_000).to_string(),
            "clockMonotonicRaw": HOST_MONOTONIC.to_string(),
        });
        save(&format!("start_info{suffix}"), start.to_string())?;
        let stop = json!({
            "collectionTimeEnd": ((BEGIN + end) / 1_000 + 1).to_string(),
            "clockMonotonicRaw": (HOST_MONOTONIC + end).to_string(),
        });
        save(&format!("end_info{suffix}"), stop.to_string())?;
        let section = if id == HOST_ID { "Host".to_owned() } else { format!("Device{id}") };
        let reading =
            format!("clock_monotonic_raw: {HOST_MONOTONIC}\ncntvct: {HOST_COUNTER}\ncntvct_diff: 0\n");
        save(&format!("host_start.log{suffix}"), format!("[{section}]\n{reading}"))?;
    }
    let reading = format!("clock_monotonic_raw: {DEVICE_MONOTONIC}\ncntvct: {DEVICE_COUNTER}\n");
    device_directories.iter().enumerate().try_for_each(|(number, directory)| {
        write_new(&directory.join(format!("dev_start.log.{number}")), &reading)
    })
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    opscope_files::create_new(path)?.write_all(text.as_bytes())
}
