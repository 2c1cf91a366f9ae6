//! All files of a folder of outputs, and what became of each: nothing that was seen is passed over in silence.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use opscope_trace::{LossKind, Trace};

use super::FolderError;
use super::other_runs::begins_outside;
use super::outputs::all_files;

/// A file of a folder of outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// Its path below the folder.
    pub name: String,
    /// Its use.
    pub fate: FileFate,
}

/// The use that was made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFate {
    /// It was read: the content, as a noun phrase.
    Read(&'static str),
    /// Other files have what it holds, or nothing needs it: why.
    NotNeeded(&'static str),
    /// It is of another run, rank or device than the rest: how that is known.
    OfOtherRun(&'static str),
    /// It could not be read: why.
    Failed(String),
    /// opscope doesn't know what it holds.
    NotUnderstood,
}

/// `read: …`, `not needed: …`, `of another run: …`, `not read: …`, `not understood`.
impl fmt::Display for FileFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(what) => write!(f, "read: {what}"),
            Self::NotNeeded(why) => write!(f, "not needed: {why}"),
            Self::OfOtherRun(how) => write!(f, "of another run: {how}"),
            Self::Failed(why) => write!(f, "not read: {why}"),
            Self::NotUnderstood => f.write_str("not understood"),
        }
    }
}

/// The begins of the names of files that nothing needs, and why.
const NOT_NEEDED: [(&str, &str); 59] = [
    ("profiler_info", "settings of the collection"),
    ("profiler_metadata", "settings of the collection"),
    ("trace_view", "the database has these slices"),
    ("msprof_tx", "the timeline and the database have these ranges"),
    ("msprof_slice_", "the timeline or database has these slices"),
    ("msprof_", "the database has these slices, or an export made later"),
    ("kernel_details", "the database has these tasks"),
    ("op_summary_", "of an export made before the last, or the same as kernel_details"),
    ("step_trace_point_info", "the names of a step's first and last operator"),
    ("step_trace_", "the timeline or database has these inferences, or an export made later"),
    ("memory_record", "of an export made before the last"),
    ("npu_module_mem", "of an export made before the last"),
    ("npu_mem", "of an export made before the last"),
    ("op_statistic", "of an export made before the last"),
    ("api_statistic", "of an export made before the last"),
    ("communication_statistic", "of an export made before the last"),
    ("operator_memory", "of an export made before the last"),
    ("static_op_mem", "of an export made before the last"),
    ("l2_cache", "of an export made before the last"),
    ("task_time", "op_summary and the timeline have these tasks"),
    ("ai_core_utilization", "the counters of op_summary have what it sums up"),
    ("aicpu", "op_summary has these tasks"),
    ("fusion_op", "it names what was fused, and has no times"),
    ("hbm", "means only; timelines and databases have the traffic over time"),
    ("ddr", "means only; timelines and databases have the traffic over time"),
    ("hccs", "means only; timelines and databases have the traffic over time"),
    ("pcie", "means only; timelines and databases have the traffic over time"),
    ("llc_read_write", "means only; timelines and databases have the traffic over time"),
    ("llc_bandwidth", "sums only; the timeline has the traffic over time"),
    ("llc_", "sums only; the timeline has these values over time"),
    ("ccu_", "details of collective communication, which no analysis asks for"),
    ("nic_", "means only; timelines and databases have the traffic over time"),
    ("roce_", "means only; timelines and databases have the traffic over time"),
    ("host_", "means only; databases have the host's load over time"),
    ("hccl_", "the timeline has these operations"),
    ("ascend_pytorch_profiler", "a database of the run is read"),
    ("acl_", "the timeline has these calls"),
    ("prof_rule", "advice of the vendor's tool; opscope advise gives its own"),
    ("soc_pmu", "the address translation by task, which no analysis asks for"),
    ("dp_", "steps of the preparation of data, which no analysis asks for"),
    ("README", "a text for people"),
    ("ascend_mindspore_profiler", "a database of the run is read"),
    ("ascend_timeline_display", "other files have these tasks"),
    ("timeline_display", "other files have these tasks"),
    ("ascend_timeline_summary", "the timeline has what it counts"),
    ("timeline_summary", "the timeline has what it counts"),
    ("framework_raw", "the operators of the graph, of which other files have the types"),
    ("aicpu_intermediate", "other files have these tasks"),
    ("output_data_preprocess", "aicpu_intermediate has these tasks"),
    ("output_op_compute_time", "aicore_intermediate has these times"),
    ("output_format_data_hwts", "output_timeline_data has the tasks of this log"),
    ("data_preprocess", "kernel_details has these tasks"),
    ("minddata_pipeline_summary", "minddata_pipeline_raw has these figures"),
    ("minddata_", "the preparation of data over time, which no analysis asks for"),
    ("pipeline_profiling", "minddata_pipeline_raw sums it up"),
    ("device_queue_profiling", "the preparation of data over time, which no analysis asks for"),
    ("dataset_iterator_profiling", "the preparation of data over time, which no analysis asks for"),
    ("flops", "estimates of operations; opscope counts them by the model"),
    ("parallel_strategy", "how the network is divided, and no times"),
];

/// The begin and end of the names of files of which opscope reads nothing although they hold something, and why.
const NOT_READ: [(&str, &str, &str); 9] = [
    ("memory_usage_", ".pb", "MindSpore's plan of memory as a protocol buffer, which opscope doesn't read"),
    ("cluster_", "", "it sums up several ranks; opscope cluster reads the folders of the ranks themselves"),
    ("request.csv", "", "requests of a server by msServiceProfiler; give it alone"),
    ("batch.csv", "", "batches of a server by msServiceProfiler; give it alone"),
    ("kvcache.csv", "", "a server's cache of keys and values by msServiceProfiler; give it alone"),
    ("forward.csv", "", "a server's forward passes by msServiceProfiler; give it alone"),
    ("ms_service_", ".db", "calls of a server by msServiceProfiler, which opscope doesn't read"),
    ("ascend_service_profiler_", ".db", "calls of a server by msServiceProfiler, which opscope doesn't read"),
    ("profiler.db", "", "figures of a server by msServiceProfiler, which opscope doesn't read"),
];

/// Files of MindSpore's that stand in for others, by the words that name them in the reasons.
const STAND_INS: [&str; 4] =
    ["aicpu_intermediate", "aicore_intermediate", "output_timeline_data", "minddata_pipeline_raw"];

/// How a run is known by its times.
pub(super) const ANOTHER_TIME: &str = "its times lie outside of those of the rest; give it alone";

/// How a run is known by its rank.
pub(super) const ANOTHER_RANK: &str =
    "the database of another rank; give it alone, or a folder for each rank";

/// The files that were read so far, and those that could not be.
#[derive(Debug, Default)]
pub(super) struct Fates {
    known: BTreeMap<PathBuf, FileFate>,
}

impl Fates {
    /// A file was read.
    pub fn read(&mut self, path: &Path, what: &'static str) {
        self.known.entry(path.to_owned()).or_insert(FileFate::Read(what));
    }

    /// A file isn't needed.
    pub fn not_needed(&mut self, path: &Path, why: &'static str) {
        self.known.insert(path.to_owned(), FileFate::NotNeeded(why));
    }

    /// A file is of another run.
    pub fn of_other_run(&mut self, path: &Path, how: &'static str) {
        self.known.insert(path.to_owned(), FileFate::OfOtherRun(how));
    }

    /// A file could not be read.
    pub fn failed(&mut self, path: &Path, why: impl fmt::Display) {
        self.known.insert(path.to_owned(), FileFate::Failed(why.to_string()));
    }

    /// All files at and below the folder, in the order of their names. Those that nothing was read of are also
    /// counted in the trace.
    pub fn list(self, folder: &Path, trace: &mut Trace) -> Result<Vec<SeenFile>, FolderError> {
        let mut seen = Vec::new();
        let paths = all_files(folder)?;
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let names: Vec<String> = paths.iter().filter_map(name).collect();
        let is_lacking = |begin: &&str| !names.iter().any(|name| name.starts_with(*begin));
        let lacking: Vec<&str> = STAND_INS.into_iter().filter(is_lacking).collect();
        for path in &paths {
            let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
            let mut fate = self.known.get(path).cloned().unwrap_or_else(|| fate_by_name(path, trace));
            if let FileFate::NotNeeded(why) = &fate
                && let Some(lacking) = lacking.iter().find(|it| why.starts_with(**it))
            {
                fate = FileFate::Failed(format!("{lacking}, which opscope reads in its place, isn't there"));
            }
            match &fate {
                FileFate::OfOtherRun(how) => {
                    trace.count_loss(LossKind::FileOfOtherRun, 1, &format!("{name}: {how}"));
                }
                FileFate::NotNeeded(why) => {
                    trace.count_loss(LossKind::FileNotNeeded, 1, &format!("{name}: {why}"));
                }
                FileFate::Failed(why) if !self.known.contains_key(path) => {
                    trace.count_loss(LossKind::FileNotRead, 1, &format!("{name}: {why}"));
                }
                FileFate::NotUnderstood => trace.count_loss(LossKind::FileNotUnderstood, 1, &name),
                FileFate::Read(_) | FileFate::Failed(_) => {}
            }
            seen.push(SeenFile { name, fate });
        }
        Ok(seen)
    }
}

/// The use of a file that nothing has asked for.
fn fate_by_name(path: &Path, trace: &Trace) -> FileFate {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some((.., why)) =
        NOT_READ.iter().find(|(begin, end, _)| name.starts_with(begin) && name.ends_with(end))
    {
        return FileFate::Failed((*why).to_owned());
    }
    match NOT_NEEDED.iter().find(|(begin, _)| name.starts_with(begin)) {
        None => FileFate::NotUnderstood,
        Some(_) if begins_outside(path, trace) => FileFate::OfOtherRun(ANOTHER_TIME),
        Some((_, why)) => FileFate::NotNeeded(why),
    }
}
