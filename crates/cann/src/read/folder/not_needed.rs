//! Files of a folder that nothing needs, because other files have what they hold: which these are, and whether they do.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use opscope_formats::input::Input;
use opscope_formats::reading::Stop;
use opscope_trace::{Counter, DeviceKind, ExecutionUnit, Nanoseconds, StreamId, Trace};

use super::seen::FileFate;
use super::timelines;
use crate::read::tables;

/// A reason for which a file isn't needed.
#[derive(Clone, Copy)]
enum Holder {
    /// A timeline was read.
    Timeline,
    /// There are rates by counters whose names begin so.
    Rates(&'static str),
    /// There are tasks on all streams that a table names, or all tasks of a timeline.
    Streams,
    /// A database was read.
    Database,
    /// A file of the same kind was read, of an export made later.
    Later,
    /// A file whose name begins so was read, or is not needed either.
    Begin(&'static str),
    /// Tasks are known, by whichever file.
    Tasks,
    /// Tasks of a unit are known.
    TasksOf(ExecutionUnit),
    /// Calls are known.
    Calls,
    /// Ranges of the program are known.
    Ranges,
    /// Inferences are known.
    Iterations,
}
use Holder::{Begin, Calls, Database, Iterations, Later, Ranges, Rates, Streams, Tasks, TasksOf, Timeline};

/// The bytes of a table in which its streams are looked for.
const HEAD_BYTES: u64 = 1 << 20;

/// No analysis asks for it.
const NOBODY: &[Holder] = &[];
const RECORDING: &[Holder] = &[Timeline, Database];

const HOST: &str = "sums of the host's load, which no analysis asks for";

/// The begins of the names of files that nothing needs, the reasons of which one must hold, and the words for them.
const NOT_NEEDED: [(&str, &[Holder], &str); 64] = [
    ("profiler_info", NOBODY, "settings of the collection"),
    ("profiler_metadata", NOBODY, "settings of the collection"),
    ("trace_view", &[Database], "the database has these slices"),
    (
        "msprof_tx",
        &[Ranges, Later],
        "the timeline and the database have these ranges, or an export made later",
    ),
    ("msprof_slice_", RECORDING, "the timeline or database has these slices"),
    ("msprof_", &[Database, Later], "the database has these slices, or an export made later"),
    ("kernel_details", &[Database], "the database has these tasks"),
    (
        "op_summary_",
        &[Later, Begin("kernel_details")],
        "of an export made before the last, or the same as kernel_details",
    ),
    ("step_trace_point_info", NOBODY, "the names of a step's first and last operator"),
    (
        "step_trace_",
        &[Timeline, Database, Iterations],
        "the timeline or database has these inferences, or an export made later",
    ),
    ("memory_record", &[Later], "of an export made before the last"),
    ("npu_module_mem", &[Later], "of an export made before the last"),
    ("npu_mem", &[Later], "of an export made before the last"),
    ("op_statistic", &[Later], "of an export made before the last"),
    ("api_statistic", &[Later], "of an export made before the last"),
    ("communication_statistic", &[Later], "of an export made before the last"),
    ("operator_memory", &[Later], "of an export made before the last"),
    ("static_op_mem", &[Later], "of an export made before the last"),
    ("l2_cache", &[Later], "of an export made before the last"),
    ("task_time", &[Streams], "op_summary and the timeline have these tasks"),
    (
        "ai_core_utilization",
        &[Begin("op_summary"), Begin("kernel_details"), Database],
        "the counters of op_summary have what it sums up",
    ),
    ("aicpu", &[TasksOf(ExecutionUnit::AiCpu)], "op_summary has these tasks"),
    ("fusion_op", NOBODY, "it names what was fused, and has no times"),
    ("hbm", &[Rates("HBM")], "means only; timelines and databases have the traffic over time"),
    ("ddr", &[Rates("DDR")], "means only; timelines and databases have the traffic over time"),
    ("hccs", &[Rates("HCCS")], "means only; timelines and databases have the traffic over time"),
    ("pcie", &[Rates("PCIe")], "means only; timelines and databases have the traffic over time"),
    ("llc_read_write", &[Rates("LLC")], "means only; timelines and databases have the traffic over time"),
    ("llc_bandwidth", &[Rates("LLC")], "sums only; the timeline has the traffic over time"),
    ("llc_", &[Rates("LLC")], "sums only; the timeline has these values over time"),
    ("ccu_", NOBODY, "details of collective communication, which no analysis asks for"),
    ("nic_", &[Rates("NIC")], "means only; timelines and databases have the traffic over time"),
    ("roce_", &[Rates("RoCE")], "means only; timelines and databases have the traffic over time"),
    ("host_cpu_usage", NOBODY, HOST),
    ("host_mem_usage", NOBODY, HOST),
    ("host_disk_usage", NOBODY, HOST),
    ("host_network_usage", NOBODY, HOST),
    ("host_", &[Database], "means only; databases have the host's load over time"),
    ("hccl_", &[TasksOf(ExecutionUnit::Communication)], "the timeline has these operations"),
    ("ascend_pytorch_profiler", &[Database], "a database of the run is read"),
    ("acl_statistic", &[Calls, Later], "the timeline has these calls, or an export made later"),
    ("acl_", &[Calls], "the timeline has these calls"),
    ("prof_rule", NOBODY, "advice of the vendor's tool; opscope advise gives its own"),
    ("soc_pmu", NOBODY, "the address translation by task, which no analysis asks for"),
    ("dp_", NOBODY, "steps of the preparation of data, which no analysis asks for"),
    ("README", NOBODY, "a text for people"),
    ("ascend_mindspore_profiler", &[Database], "a database of the run is read"),
    ("ascend_timeline_display", &[Tasks], "other files have these tasks"),
    ("timeline_display", &[Tasks], "other files have these tasks"),
    ("ascend_timeline_summary", &[Tasks], "the timeline has what it counts"),
    ("timeline_summary", &[Tasks], "the timeline has what it counts"),
    ("framework_raw", &[Tasks], "the operators of the graph, of which other files have the types"),
    ("aicpu_intermediate", &[TasksOf(ExecutionUnit::AiCpu)], "other files have these tasks"),
    ("output_data_preprocess", &[Begin("aicpu_intermediate")], "aicpu_intermediate has these tasks"),
    ("output_op_compute_time", &[Begin("aicore_intermediate")], "aicore_intermediate has these times"),
    (
        "output_format_data_hwts",
        &[Begin("output_timeline_data")],
        "output_timeline_data has the tasks of this log",
    ),
    ("data_preprocess", &[Begin("kernel_details")], "kernel_details has these tasks"),
    (
        "minddata_pipeline_summary",
        &[Begin("minddata_pipeline_raw")],
        "minddata_pipeline_raw has these figures",
    ),
    ("minddata_", NOBODY, "the preparation of data over time, which no analysis asks for"),
    ("pipeline_profiling", &[Begin("minddata_pipeline_raw")], "minddata_pipeline_raw sums it up"),
    ("device_queue_profiling", NOBODY, "the preparation of data over time, which no analysis asks for"),
    ("dataset_iterator_profiling", NOBODY, "the preparation of data over time, which no analysis asks for"),
    ("flops", NOBODY, "estimates of operations; opscope counts them by the model"),
    ("parallel_strategy", NOBODY, "how the network is divided, and no times"),
];

/// Of files of which nothing else has the content, those that can be read by themselves, and others.
const ALONE: &str = "no other file has what it holds; give it alone";
const UNREAD: &str = "no other file has what it holds, and opscope doesn't read it";

/// The knowledge of a folder when its files are judged.
pub(super) struct Known<'k> {
    /// All its files.
    pub paths: &'k [PathBuf],
    /// The files that were read.
    pub read: Vec<&'k Path>,
    /// Files of which a reader has told that others have the same.
    pub not_needed: Vec<&'k Path>,
    /// All that was read.
    pub trace: &'k Trace,
    /// The begins and durations of its tasks, once they are asked for.
    pub spans: OnceCell<HashSet<Span>>,
}

/// The begin of a task since its clock's zero, and its duration.
pub(super) type Span = (Nanoseconds, Nanoseconds);

impl Known<'_> {
    /// The use of a file that no reader has asked for, by its name; nothing for one of unknown content.
    pub fn judge(&self, path: &Path) -> Option<FileFate> {
        let name = name_of(path);
        // Of names of which one begins another, the longer is meant.
        let fitting = NOT_NEEDED.iter().filter(|(begin, ..)| name.starts_with(begin));
        let (begin, holders, why) = fitting.max_by_key(|(begin, ..)| begin.len())?;
        if holders.is_empty() || holders.iter().any(|holder| self.holds(*holder, begin, path)) {
            return Some(FileFate::NotNeeded(why));
        }
        let lacking = holders.iter().find_map(|holder| match holder {
            Begin(name) if holders.len() == 1 => Some(name),
            _ => None,
        });
        Some(FileFate::Failed(match lacking {
            Some(lacking) if self.paths.iter().any(|path| name_of(path).starts_with(lacking)) => {
                format!("{lacking}, which opscope reads in its place, wasn't read")
            }
            Some(lacking) => format!("{lacking}, which opscope reads in its place, isn't there"),
            None if is_table(path) || is_timeline(path) => ALONE.to_owned(),
            None => UNREAD.to_owned(),
        }))
    }

    fn holds(&self, holder: Holder, begin: &str, path: &Path) -> bool {
        let was_read = |wanted: &dyn Fn(&str, &str) -> bool| {
            self.read.iter().any(|path| {
                let extension = path.extension().unwrap_or_default().to_string_lossy();
                wanted(&name_of(path), &extension)
            })
        };
        match holder {
            Timeline => {
                was_read(&|name, extension| extension == "json" && !name.starts_with("communication"))
            }
            Database => was_read(&|_, extension| extension == "db"),
            Later => was_read(&|name, _| name.starts_with(begin)),
            Begin(begin) => {
                self.read.iter().chain(&self.not_needed).any(|path| name_of(path).starts_with(begin))
            }
            Rates(name) => self.has_rates(name),
            Streams if is_json(path) => self.has_tasks_of_timeline(path),
            Streams => self.has_streams_of(path),
            Tasks => !self.trace.tasks.is_empty(),
            TasksOf(unit) => self.trace.tasks.unit().contains(&unit),
            Calls => !self.trace.api_calls.is_empty(),
            Ranges => !self.trace.ranges.is_empty(),
            Iterations => !self.trace.iterations.is_empty(),
        }
    }

    /// Whether there are samples of counters whose names begin so, other than of memory in use.
    fn has_rates(&self, name: &str) -> bool {
        let Trace { counters, strings, samples, .. } = self.trace;
        let is_it = |counter: Counter| {
            let begin = strings.get(counter.name).get(..name.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(name)) && strings.get(counter.unit) != "B"
        };
        samples.counter().iter().any(|counter| is_it(counters.get(*counter)))
    }

    /// Whether each task of a timeline is there, by its times: exports of 2023 have the tasks of an inference in a
    /// timeline of their own, and in that of everything.
    fn has_tasks_of_timeline(&self, path: &Path) -> bool {
        let stop = Stop::default();
        let read =
            Input::open_until(path, &|| false).ok().and_then(|input| timelines::read(&[input], &stop).ok());
        let Some(timeline) = read.filter(|timeline| !timeline.tasks.is_empty()) else { return false };
        let known = self.spans.get_or_init(|| spans_of(self.trace).collect());
        spans_of(&timeline).all(|span| known.contains(&span))
    }

    /// Whether there are tasks on all streams that the begin of a table names.
    fn has_streams_of(&self, path: &Path) -> bool {
        let Trace { devices, streams, tasks, .. } = self.trace;
        let used: HashSet<StreamId> = tasks.stream().iter().flatten().copied().collect();
        // The only device of a trace may not have the number that tables tell.
        let one_device = devices.kind().iter().filter(|kind| **kind == DeviceKind::Npu).count() == 1;
        let place = |id: &StreamId| {
            let stream = streams.get(*id);
            (if one_device { 0 } else { devices.number()[stream.device.index()] }, stream.number)
        };
        let known: HashSet<(u32, u64)> = used.iter().map(place).collect();
        let told = Input::head(path, HEAD_BYTES).ok().and_then(|(_, head)| {
            // The last row may be cut off.
            let whole = head.iter().rposition(|byte| *byte == b'\n')?;
            tables::streams_of_tasks(&head[..=whole], &Stop::default())
        });
        let is_known =
            |(device, stream): &(u32, u64)| known.contains(&(if one_device { 0 } else { *device }, *stream));
        told.is_some_and(|told| told.iter().all(is_known)) && !tasks.is_empty()
    }
}

fn spans_of(trace: &Trace) -> impl Iterator<Item = Span> {
    let zero = Nanoseconds(trace.clock.unix_zero.unwrap_or(0));
    trace
        .tasks
        .start()
        .iter()
        .zip(trace.tasks.duration())
        .map(move |(start, duration)| (*start + zero, *duration))
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a file is a table that can be read by itself.
fn is_table(path: &Path) -> bool {
    /// No line of headings is longer.
    const LONGEST: u64 = 1 << 16;
    let is_csv = path.extension().is_some_and(|extension| extension == "csv");
    is_csv && Input::head(path, LONGEST).is_ok_and(|(_, head)| tables::is_read(&head))
}

/// Whether a file is a timeline that can be read by itself.
fn is_timeline(path: &Path) -> bool {
    const HEAD: u64 = 1 << 12;
    is_json(path)
        && Input::head(path, HEAD)
            .is_ok_and(|(_, head)| head.starts_with(b"[") && head.windows(4).any(|bytes| bytes == b"\"ph\""))
}

#[cfg(test)]
mod tests {
    use opscope_formats::reading::Stop;
    use opscope_trace::{LossKind, RangeKind};

    use super::super::{Folder, read_folder_until};

    const SUMMARY: &str = "Device_id,Op Name,OP Type,Task Type,Stream ID,Task Start Time(us),Task Duration(us)\n\
        0,conv,Conv2D,AI_CORE,2,1043640017380.5,5\n";
    const RANGES: &str = "Device_id,pid,tid,event_type,Start_time(us),End_time(us),message\n\
        host,1,1,start/end,1043640017370.5,1043640017380.5,hello\n";
    const AI_CPU: &str =
        "Device_id,Timestamp(us),Node,Task_time(us),Stream ID,Task ID\n0,1043640017700.0,g,30,7,9\n";
    const TASKS: &str = "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n\
        0,copy,MEMCPY_ASYNC,5,10,50,1043640017600,1043640017650\n";
    const MEANS: &str = "Device_id,Metric,Read(MB/s),Write(MB/s)\n0,Average,1,2\n";
    const TIMELINE: &str = r#"[
        {"ph":"M","name":"process_name","pid":5120,"args":{"name":"Ascend Hardware"}},
        {"ph":"M","name":"process_labels","pid":5120,"args":{"labels":"NPU 0"}},
        {"ph":"X","name":"conv","pid":5120,"tid":2,"ts":"1043640017380.5","dur":5,"args":{"Task Type":"AI_CORE"}}
    ]"#;
    /// With a copy on stream 5, and a rate of the memory.
    const WHOLE_TIMELINE: &str = r#"[
        {"ph":"M","name":"process_name","pid":5120,"args":{"name":"Ascend Hardware"}},
        {"ph":"M","name":"process_labels","pid":5120,"args":{"labels":"NPU 0"}},
        {"ph":"M","name":"process_name","pid":5121,"args":{"name":"HBM"}},
        {"ph":"X","name":"conv","pid":5120,"tid":2,"ts":"1043640017380.5","dur":5,"args":{"Task Type":"AI_CORE"}},
        {"ph":"X","name":"MEMCPY_ASYNC","pid":5120,"tid":5,"ts":"1043640017600","dur":50,"args":{"Task Type":"MEMCPY_ASYNC"}},
        {"ph":"C","name":"HBM 0/Read","pid":5121,"tid":0,"ts":"1043640017381.5","args":{"Read(MB/s)":7}}
    ]"#;

    fn folder(files: &[(&str, &str)]) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        read_folder_until(folder.path(), &Stop::default()).unwrap()
    }

    fn fate(folder: &Folder, begin: &str) -> String {
        folder.files.iter().find(|file| file.name.starts_with(begin)).unwrap().fate.to_string()
    }

    fn not_read(folder: &Folder) -> u64 {
        let losses = folder.trace.losses.iter().map(|(_, row)| row);
        losses.filter(|row| row.kind == LossKind::FileNotRead).map(|row| row.count).sum()
    }

    #[test]
    fn ranges_are_read_from_their_table_where_no_timeline_or_database_has_them() {
        let read =
            folder(&[("op_summary_20240101101010.csv", SUMMARY), ("msprof_tx_20240101101010.csv", RANGES)]);
        assert_eq!(fate(&read, "msprof_tx"), "read: ranges and marks of the program");
        let ranges = &read.trace.ranges;
        assert_eq!(
            (ranges.kind(), ranges.start()[0].0),
            (&[RangeKind::StartStop][..], 1_043_640_017_370_500)
        );
        assert_eq!((read.trace.tasks.len(), not_read(&read)), (1, 0));
    }

    #[test]
    fn a_file_whose_content_no_other_has_is_told_as_not_read() {
        let alone = "not read: no other file has what it holds; give it alone";
        let read = folder(&[
            ("op_summary_20240101101010.csv", SUMMARY),
            ("aicpu_20240101101010.csv", AI_CPU),
            ("task_time_20240101101010.csv", TASKS),
            ("hbm_20240101101010.csv", MEANS),
            ("acl_0_1.csv", "Name,Type,Start Time,Duration(us),Process ID,Thread ID\n"),
        ]);
        assert_eq!([fate(&read, "aicpu"), fate(&read, "task_time")], [alone, alone]);
        let unread = "not read: no other file has what it holds, and opscope doesn't read it";
        assert_eq!([fate(&read, "hbm"), fate(&read, "acl")], [unread, unread]);
        assert_eq!(not_read(&read), 4);
    }

    #[test]
    fn a_file_whose_content_another_has_is_not_needed() {
        let ai_cpu = format!("{SUMMARY}0,g,G,AI_CPU,7,1043640017700.0,30\n");
        let read = folder(&[
            ("op_summary_20240101101010.csv", &ai_cpu),
            ("msprof_20240101101010.json", WHOLE_TIMELINE),
            ("aicpu_20240101101010.csv", AI_CPU),
            ("task_time_20240101101010.csv", TASKS),
            ("hbm_20240101101010.csv", MEANS),
            (
                "op_statistic_20240101101010.csv",
                "Device_id,OP Type,Core Type,Count,Total Time(us),Ratio(%)\n",
            ),
            ("op_statistic_20230101101010.csv", "older"),
        ]);
        for begin in ["aicpu", "task_time", "hbm", "op_statistic_2023"] {
            assert!(fate(&read, begin).starts_with("not needed: "), "{begin}: {}", fate(&read, begin));
        }
        assert_eq!(not_read(&read), 0);
    }

    #[test]
    fn rows_that_only_handle_streams_tell_neither_of_another_run_nor_of_streams_that_are_lacking() {
        let switches = "0,N/A,PROFILING_ENABLE,9,1,0.02,1043640001000.0,1043640001000.02\n\
            0,N/A,TASK_TIMEOUT_SET,9,2,90,1043640001010,1043640001100\n\
            0,N/A,EVENT_RECORD,9,3,0,1043640001110,1043640001110\n";
        let (heading, row) = TASKS.split_once('\n').unwrap();
        let tasks = format!("{heading}\n{switches}{row}");
        let read = folder(&[
            ("op_summary_20240101101010.csv", SUMMARY),
            ("msprof_20240101101010.json", WHOLE_TIMELINE),
            ("task_time_20240101101010.csv", &tasks),
        ]);
        assert_eq!(fate(&read, "task_time"), "not needed: op_summary and the timeline have these tasks");
    }

    #[test]
    fn sums_of_the_hosts_load_are_no_losses() {
        let sums = "Total Cpu Numbers,Occupied Cpu Numbers,Recommend Cpu Numbers\n8,2,4\n";
        let read = folder(&[
            ("op_summary_20240101101010.csv", SUMMARY),
            ("host_cpu_usage_20240101101010.csv", sums),
            ("host_mem_usage_20240101101010.csv", sums),
        ]);
        assert!(fate(&read, "host_cpu").starts_with("not needed: ") && not_read(&read) == 0);
    }

    #[test]
    fn a_timeline_without_counters_and_copies_has_neither_traffic_nor_those_tasks() {
        let read = folder(&[
            ("op_summary_20240101101010.csv", SUMMARY),
            ("msprof_20240101101010.json", TIMELINE),
            ("task_time_20240101101010.csv", TASKS),
            ("hbm_20240101101010.csv", MEANS),
            ("nic_20240101101010.csv", MEANS),
        ]);
        for begin in ["task_time", "hbm", "nic"] {
            assert!(fate(&read, begin).starts_with("not read: "), "{begin}: {}", fate(&read, begin));
        }
        assert_eq!(not_read(&read), 3);
    }

    #[test]
    fn a_timeline_of_tasks_alone_is_not_needed_where_the_whole_one_has_each() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("device_0/timeline");
        std::fs::create_dir_all(&folder).unwrap();
        let tasks = |first: u32| {
            let task = |at: u32| {
                format!(
                    r#"{{"ph":"X","name":"conv","pid":3,"tid":2,"ts":{at}.5,"dur":5,"args":{{"Task Type":"AI_CORE","Stream Id":2}}}}"#
                )
            };
            format!(
                r#"[{{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{{"name":"Ascend Hardware"}}}},{},{}]"#,
                task(first),
                task(first + 20)
            )
        };
        std::fs::write(folder.join("msprof_0_2_1.json"), tasks(100)).unwrap();
        std::fs::write(folder.join("task_time_0_2_1.json"), tasks(100)).unwrap();
        // Of the second inference the whole timeline is gone.
        std::fs::write(folder.join("task_time_0_2_2.json"), tasks(200)).unwrap();
        let read = read_folder_until(place.path(), &Stop::default()).unwrap();
        let fate = |inference: u32| fate(&read, &format!("device_0/timeline/task_time_0_2_{inference}"));
        assert_eq!(fate(1), "not needed: op_summary and the timeline have these tasks");
        assert_eq!(fate(2), "not read: no other file has what it holds; give it alone");
        assert_eq!((read.trace.tasks.len(), not_read(&read)), (2, 1));
    }

    #[test]
    fn a_file_that_could_not_be_read_holds_nothing() {
        let read = folder(&[
            ("op_summary_20240101101010.csv", "garbage\n1\n"),
            ("msprof_20240101101010.json", TIMELINE),
            ("ai_core_utilization_20240101101010.csv", "Device_id,a\n0,1\n"),
        ]);
        assert!(fate(&read, "ai_core").starts_with("not read: "), "{}", fate(&read, "ai_core"));
    }

    #[test]
    fn earlier_exports_of_what_was_read_are_not_needed() {
        let calls = "Name,Type,Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Process ID,Thread ID\n";
        let read = folder(&[
            ("op_summary_20240101101010.csv", SUMMARY),
            ("acl_statistic_20240101101010.csv", calls),
            ("acl_statistic_20230101101010.csv", calls),
            ("msprof_tx_20240101101010.csv", RANGES.split_inclusive('\n').next().unwrap()),
            ("msprof_tx_20230101101010.csv", RANGES),
        ]);
        for begin in ["acl_statistic_2023", "msprof_tx_2023"] {
            assert!(fate(&read, begin).starts_with("not needed: "), "{begin}: {}", fate(&read, begin));
        }
    }

    #[test]
    fn of_names_of_which_one_begins_another_the_longer_is_meant() {
        let ai_cpu = format!("{SUMMARY}0,g,G,AI_CPU,7,1043640017700.0,30\n");
        let read =
            folder(&[("op_summary_20240101101010.csv", &ai_cpu), ("aicpu_intermediate_0.csv", "a,b\n")]);
        assert_eq!(fate(&read, "aicpu_intermediate"), "not needed: other files have these tasks");
    }

    #[test]
    fn sums_of_2022_are_read_beside_its_tasks() {
        let steps = "Iteration ID,Iteration End,Iteration Time(us)\n1,123456,300\n";
        let calls = "Name,Type,Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Process ID,Thread ID\n\
            run,ACL_MODEL,50,10,1,10,10,10,1,1\n";
        let place = tempfile::tempdir().unwrap();
        let summary = place.path().join("device_0/summary");
        std::fs::create_dir_all(&summary).unwrap();
        for (name, text) in
            [("op_summary_0_1.csv", SUMMARY), ("step_trace_0_1.csv", steps), ("acl_statistic_0_1.csv", calls)]
        {
            std::fs::write(summary.join(name), text).unwrap();
        }
        let read = read_folder_until(place.path(), &Stop::default()).unwrap();
        for name in ["step_trace_0_1.csv", "acl_statistic_0_1.csv"] {
            let fate = fate(&read, &format!("device_0/summary/{name}"));
            assert_eq!(fate, "read: figures that sum up what was recorded");
        }
        assert_eq!((read.trace.tasks.len(), read.trace.iterations.len()), (1, 0));
    }
}
