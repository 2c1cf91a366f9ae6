//! `README.txt` beside exported files: what each of them holds, for whoever finds the folder.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::text::file::write_whole;

/// The kinds of timelines, and what they show.
const TIMELINES: [(&str, &str); 3] = [
    (
        "msprof",
        "Everything on one axis of time; open it at https://ui.perfetto.dev or in chrome://tracing.\n\
         \tThe program: its own ranges and marks.\n\
         \tCANN: calls of the host by layer (AscendCL, Model, Node, Runtime), a lane for each thread.\n\
         \tAscend Hardware: what the device executed, a lane for each stream; arrows lead to it from the calls.\n\
         \tCommunication: collective operations, with a lane for each group and plane.\n\
         \tOverlap Analysis: when the device computes or communicates, and when it is free.\n\
         \tThe rest: what was sampled, such as memory, traffic and frequency.",
    ),
    ("step_trace", "Iterations of each model: forward and backward pass, and what lies between iterations."),
    ("msprof_tx", "The program's own ranges and marks alone, by thread."),
];

/// The kinds of tables, and what a row is.
const TABLES: [(&str, &str); 49] = [
    (
        "op_summary",
        "Every execution of an operator: its times, shapes, types, and what the cores' counters say.",
    ),
    ("op_statistic", "Operators by type and unit: how often, how long, and their share of the time."),
    ("task_time", "Every task of the device, by stream: operators, copies, events."),
    ("api_statistic", "Calls of the host by layer and name: how often and how long."),
    ("acl_statistic", "Calls of AscendCL by name, process and thread."),
    ("step_trace", "Every iteration: its length, and the times of its forward and backward pass."),
    ("msprof_tx", "Every range and mark of the program, on the host and on the device."),
    ("aicpu", "Every operator on the AI CPU: how long it computed, copied and waited."),
    ("dp", "Preparation of data for the device."),
    ("fusion_op", "Operators that were made of several: which ones, and the memory that they take."),
    ("npu_mem", "Samples of the memory that the process and the device hold."),
    ("npu_module_mem", "Samples of the memory that each component of CANN holds."),
    ("operator_memory", "Memory that operators took and gave back."),
    ("memory_record", "How much memory was held after each such change."),
    ("static_op_mem", "Memory that a graph planned for its operators when it was built."),
    ("hbm", "Rates of reading and writing the high-bandwidth memory."),
    ("ddr", "Rates of reading and writing the DDR memory."),
    ("llc_read_write", "Rates and hits of the last-level cache."),
    ("llc_bandwidth", "Rates and hits of the last-level cache, reading and writing."),
    (
        "llc_aicpu",
        "How much of the last-level cache the device's AI processors held, summed over all samples.",
    ),
    ("llc_ctrlcpu", "The same of its control processors."),
    ("l2_cache", "Hits and victims of the level-2 cache for each task."),
    ("soc_pmu", "Hits and misses of the address translation and the caches of the chip for each task."),
    ("pcie", "Rates and latencies of the link to the host."),
    ("hccs", "Rates of the links between devices."),
    ("nic", "Rates, packets and errors of the network card."),
    ("roce", "Rates, packets and errors of remote direct memory access."),
    ("communication_statistic", "Collective communication by type: how often and how long."),
    ("ai_core_utilization", "What each AI core did over the whole run, where cores were sampled over time."),
    ("ai_vector_core_utilization", "The same of each vector core."),
    ("ub", "Rates of each port of the unified bus."),
    (
        "ccu_mission",
        "Loops and waits of the units for collective communication; of a wait a row for each rank.",
    ),
    ("ccu_channel", "Rates of each channel of these units over time."),
    ("dvpp", "What the engines for pictures and videos did, and how busy they were."),
    ("cpu_usage", "What the processors of the host and of devices spent their time on."),
    ("process_cpu_usage", "How much of that time each process used."),
    ("sys_mem", "The mean memory of the host and of devices: in total, free, and what it is used for."),
    ("process_mem", "The mean memory of each process."),
    ("ai_cpu_top_function", "The functions that the device's AI processors spent most cycles on."),
    ("ai_cpu_pmu_events", "What those processors counted in all, such as cycles and instructions."),
    ("ctrl_cpu_top_function", "The functions that the device's control processors spent most cycles on."),
    ("ctrl_cpu_pmu_events", "What those processors counted in all."),
    ("ts_cpu_top_function", "The addresses that the task scheduler's processor spent most cycles at."),
    ("ts_cpu_pmu_events", "What that processor counted in all."),
    ("os_runtime_statistic", "Calls of the operating system and of threads: how often and how long."),
    ("host_cpu_usage", "The host's processors: how many there are, are occupied, and would do."),
    ("host_mem_usage", "The host's memory: how much there is, was used at most, and would do."),
    ("host_disk_usage", "The host's disks: the highest and the usual rates."),
    ("host_network_usage", "The host's network: the highest and the usual rates."),
];

const UNKNOWN: &str = "See the vendor's guide to profiling for this one.";

/// The begin of the file, by which it is known as opscope's own.
const BEGIN: &str = "Each name is followed by the time of the export; long tables and timelines are in \
                     several files, _slice_0 and so on.\n";

/// Writes the file for what lies in a directory of results, and returns its path; `None` if there is
/// nothing to describe, or another tool has described it.
///
/// # Errors
/// If the directory can't be listed or the file can't be written.
pub fn describe_results(directory: &Path) -> Result<Option<PathBuf>> {
    let entries = std::fs::read_dir(directory).map_err(Error::io("list the directory", directory))?;
    let there = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let names = there.chain(opscope_files::pending_in(directory));
    let names = names.filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    let kinds: BTreeSet<(String, String)> = names.filter_map(|name| kind_of(&name)).collect();
    if kinds.is_empty() {
        return Ok(None);
    }
    let is_timeline = |kind: &str| TIMELINES.iter().any(|(known, _)| *known == kind);
    let (timelines, tables): (Vec<_>, Vec<_>) =
        kinds.iter().partition(|(kind, extension)| extension == "json" && is_timeline(kind));
    let mut text = BEGIN.to_owned();
    list(&mut text, "Timelines", &TIMELINES, &timelines);
    list(&mut text, "Tables", &TABLES, &tables);
    let path = directory.join("README.txt");
    // The vendor's tool leaves one of the same name, which stays.
    if std::fs::read_to_string(&path).is_ok_and(|there| !there.is_empty() && !there.starts_with(BEGIN)) {
        return Ok(None);
    }
    write_whole(&path, |out| out.write_all(text.as_bytes()))?;
    Ok(Some(path))
}

/// Adds a numbered list of files to the text.
fn list(text: &mut String, title: &str, known: &[(&str, &str)], files: &[&(String, String)]) {
    if files.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}\n"));
    for (number, (kind, extension)) in (1..).zip(files) {
        let about = known.iter().find(|(name, _)| name == kind).map_or(UNKNOWN, |(_, about)| *about);
        text.push_str(&format!("{number}. {kind}.{extension}: {about}\n"));
    }
}

/// The kind and extension of an exported file: `op_summary` and `csv` of
/// `op_summary_slice_0_20251009085320.csv`.
fn kind_of(name: &str) -> Option<(String, String)> {
    let (stem, extension) = name.rsplit_once('.').filter(|(_, it)| matches!(*it, "csv" | "json"))?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (stem, _) = stem.rsplit_once('_').filter(|(_, stamp)| is_number(stamp))?;
    let whole = stem.rsplit_once("_slice_").filter(|(_, number)| is_number(number));
    Some((whole.map_or(stem, |(kind, _)| kind).to_owned(), extension.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_file_is_described_once_and_others_are_left_out() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(describe_results(directory.path()).expect("a listing"), None);
        for name in [
            "op_summary_slice_0_20251009085320.csv",
            "op_summary_slice_1_20251009085320.csv",
            "msprof_20251009085320.json",
            "msprof_tx_20251009085320.csv",
            "op_statistic_20251009085320.json",
            "warp_drive_20251009085320.csv",
            "notes.csv",
            "README.txt",
        ] {
            std::fs::write(directory.path().join(name), "").expect("a new file");
        }
        let path = describe_results(directory.path()).expect("space on disk").expect("a file");
        let text = std::fs::read_to_string(path).expect("the file");
        let lines: Vec<&str> =
            text.lines().filter(|line| line.contains(". ") && line.contains(": ")).collect();
        let names: Vec<&str> = lines.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(
            names,
            [
                "1. msprof.json",
                "1. msprof_tx.csv",
                "2. op_statistic.json",
                "3. op_summary.csv",
                "4. warp_drive.csv"
            ]
        );
        assert!(text.contains(UNKNOWN) && text.find("Timelines") < text.find("Tables"));
        // Our own is written anew, and that of another tool stays.
        assert!(describe_results(directory.path()).expect("space on disk").is_some());
        std::fs::write(directory.path().join("README.txt"), "the vendor's").expect("a file");
        assert_eq!(describe_results(directory.path()).expect("a listing"), None);
    }
}
