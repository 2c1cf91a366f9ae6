//! Packs the files of a profile into one input, so that all of them can be changed.
//!
//! An input is a byte with flags, and then files: the number of the name in a list such as
//! [`PROFILE`], two bytes of length (little-endian), and the content. Unknown numbers and bytes that
//! are missing end it.

use std::path::Path;

/// The names that files of an Ascend profile can have.
pub(crate) const PROFILE: &[&str] = &[
    "host/info.json",
    "host/sample.json",
    "host/start_info",
    "host/end_info",
    "host/host_start.log",
    "device_0/info.json.0",
    "device_0/sample.json",
    "device_0/start_info.0",
    "device_0/end_info.0",
    "device_0/host_start.log.0",
    "device_0/dev_start.log.0",
    "host/data/unaging.api_event.data.slice_0",
    "host/data/unaging.compact.node_basic_info.slice_0",
    "host/data/unaging.compact.task_track.slice_0",
    "host/data/unaging.compact.memcpy_info.slice_0",
    "host/data/unaging.compact.node_attr_info.slice_0",
    "host/data/unaging.compact.hccl_op_info.slice_0",
    "host/data/unaging.compact.capture_stream_info.slice_0",
    "host/data/unaging.compact.expand_stream_spec.slice_0",
    "host/data/unaging.additional.tensor_info.slice_0",
    "host/data/unaging.additional.context_id_info.slice_0",
    "host/data/unaging.additional.fusion_op_info.slice_0",
    "host/data/unaging.additional.graph_id_map.slice_0",
    "host/data/unaging.additional.msproftx.slice_0",
    "host/data/unaging.additional.task_memory_info.slice_0",
    "host/data/unaging.additional.static_op_mem.slice_0",
    "host/data/unaging.additional.logic_stream_info.slice_0",
    "host/data/unaging.additional.hccl_info.slice_0",
    "host/data/unaging.additional.hash_dic.slice_0",
    "host/data/unaging.additional.type_info_dic.slice_0",
    "host/data/aging.api_event.data.slice_0",
    "host/data/aging.api_event.data.slice_1",
    "host/data/aging.compact.node_basic_info.slice_0",
    "host/data/aging.compact.task_track.slice_0",
    "host/data/aging.additional.tensor_info.slice_0",
    "host/data/aging.additional.context_id_info.slice_0",
    "host/data/aging.additional.msproftx.slice_0",
    "host/data/host_cpu.data.slice_0",
    "host/data/host_mem.data.slice_0",
    "host/data/host_disk.data.slice_0",
    "host/data/host_network.data.slice_0",
    "device_0/data/stars_soc.data.0.slice_0",
    "device_0/data/stars_soc.data.0.slice_1",
    "device_0/data/ffts_profile.data.0.slice_0",
    "device_0/data/ts_track.data.0.slice_0",
    "device_0/data/hwts.data.0.slice_0",
    "device_0/data/aicore.data.0.slice_0",
    "device_0/data/aiVectorCore.data.0.slice_0",
    "device_0/data/aicpu.data.0.slice_0",
    "device_0/data/DATA_PREPROCESS.AICPU.0.slice_0",
    "device_0/data/nano_stars_profile.data.0.slice_0",
    "device_0/data/lpmFreqConv.data.0.slice_0",
    "device_0/data/hbm.data.0.slice_0",
    "device_0/data/ddr.data.0.slice_0",
    "device_0/data/llc.data.0.slice_0",
    "device_0/data/npu_mem.data.0.slice_0",
    "device_0/data/npu_module_mem.data.0.slice_0",
    "device_0/data/pcie.data.0.slice_0",
    "device_0/data/nic.data.0.slice_0",
    "device_0/data/roce.data.0.slice_0",
    "device_0/data/hccs.data.0.slice_0",
    "host/data/AclModule.acl_model.0.slice_0",
    "host/data/AclModule.acl_op.0.slice_0",
    "host/data/AclModule.hash_dic.0.slice_0",
    "host/data/runtime.api.0.slice_0",
    "host/data/runtime.task_track.0.slice_0",
    "device_0/data/Framework.task_desc_info.0.slice_0",
    "device_0/data/Framework.tensor_data_info.0.slice_0",
    "device_0/data/Framework.step_info.0.slice_0",
    "device_0/data/Framework.id_map_info.0.slice_0",
    "device_0/data/Framework.model_load_info_1.0.slice_0",
    "device_0/data/Framework.fusion_op_info_1.0.slice_0",
    "device_0/data/Framework.model_time_info_1_0.0.slice_0",
    "device_0/data/Framework.hash_dic.0.slice_0",
    "device_0/data/l2_cache.data.0.slice_0",
    "device_0/data/soc_pmu.data.0.slice_0",
    "host/data/unaging.additional.model_exeom.slice_0",
    // The file about the model whose hash, 0, has no name.
    "host/data/0.dbg",
    "device_0/data/stars_soc_profile.data.0.slice_0",
    "device_0/data/qos.data.0.slice_0",
    "device_0/data/dvpp.data.0.slice_0",
    "device_0/data/ub.data.0.slice_0",
    "device_0/data/netdev_stats.data.0.slice_0",
    "device_0/data/Memory.data.0.slice_0",
    "device_0/data/SystemCpuUsage.data.0.slice_0",
    "device_0/data/77-Memory.data.0.slice_0",
    "device_0/data/77-CpuUsage.data.0.slice_0",
    "host/data/host_sys_mem.data.slice_0",
    "host/data/host_sys_cpu.data.slice_0",
    "host/data/aging.additional.hccl_info.slice_0",
    "host/data/aging.compact.hccl_op_info.slice_0",
    "host/data/aging.additional.Multi_Thread.slice_0",
    "host/data/aging.compact.dpu_track.slice_0",
    "host/data/aging.additional.dpu_hccl_info.slice_0",
    "host/data/unaging.additional.ccu_group_info.slice_0",
    "host/data/unaging.additional.ccu_wait_signal_info.slice_0",
    "device_0/data/ccu0.instr.0.slice_0",
    "device_0/data/ccu1.stat.0.slice_0",
    "device_0/data/stars_block.data.0.slice_0",
    "device_0/data/instr.biu_perf_group0_aic.0.slice_0",
    "device_0/data/instr.group_0_aic.0.slice_0",
    "device_0/data/instr.group_0_aiv0.0.slice_0",
];

/// The names that outputs of the Ascend tools can have.
pub(crate) const OUTPUTS: &[&str] = &[
    "mindstudio_profiler_output/op_summary_20251009085320.csv",
    "mindstudio_profiler_output/op_summary_slice_0_20251009085320.csv",
    "mindstudio_profiler_output/op_summary_slice_1_20251009085320.csv",
    "mindstudio_profiler_output/task_time_20251009085320.csv",
    "mindstudio_profiler_output/msprof_20251009085320.json",
    "msprof_20251009085320.db",
    "ASCEND_PROFILER_OUTPUT/kernel_details.csv",
    "ASCEND_PROFILER_OUTPUT/trace_view.json",
    "op_summary_0_1_1.csv",
];

/// The folders that tools leave with files of one recording: of `msprof op` for one launch and for several, of rocprofv3,
/// of JAX, of msServiceProfiler, and of MindSpore 1 to 2.3.
pub(crate) const TOOL_FOLDERS: &[&str] = &[
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA",
    "OPPROF_20251009085320_BBBBBBBBBBBBBBBB",
    "rocm",
    "xla",
    "serving",
    "mindspore",
];

/// The names that files in these folders can have.
pub(crate) const TOOLS: &[&str] = &[
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA/OpBasicInfo.csv",
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA/PipeUtilization.csv",
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA/Memory.csv",
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA/L2Cache.csv",
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA/ArithmeticUtilization.csv",
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA/MemoryL0.csv",
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA/MemoryUB.csv",
    "OPPROF_20251009085320_AAAAAAAAAAAAAAAA/ResourceConflictRatio.csv",
    "OPPROF_20251009085320_BBBBBBBBBBBBBBBB/add/0/OpBasicInfo.csv",
    "OPPROF_20251009085320_BBBBBBBBBBBBBBBB/add/0/PipeUtilization.csv",
    "OPPROF_20251009085320_BBBBBBBBBBBBBBBB/add/1/OpBasicInfo.csv",
    "OPPROF_20251009085320_BBBBBBBBBBBBBBBB/add/1/PipeUtilization.csv",
    "rocm/42_kernel_trace.csv",
    "rocm/42_hip_api_trace.csv",
    "rocm/42_marker_api_trace.csv",
    "rocm/42_memory_copy_trace.csv",
    "rocm/42_counter_collection.csv",
    "rocm/42_kernel_stats.csv",
    "rocm/42_agent_info.csv",
    "xla/plugins/profile/2025_10_09_08_53_20/host.xplane.pb",
    "serving/request.csv",
    "serving/batch.csv",
    "serving/forward.csv",
    "serving/kvcache.csv",
    "serving/request_status.csv",
    "mindspore/output_timeline_data_0.txt",
    "mindspore/ascend_timeline_display_0.json",
    "mindspore/framework_raw_0.csv",
    "mindspore/aicpu_intermediate_0.csv",
    "mindspore/step_trace_raw_0_detail_time.csv",
    "mindspore/aicore_intermediate_0_type.csv",
    "mindspore/aicore_intermediate_0_detail.csv",
    "mindspore/hccl_raw_0.csv",
];

/// The names that files of a board's directory can have.
pub(crate) const BOARD: &[&str] = &[
    "om.json",
    "layer.json",
    "shape.json",
    "cnn_net_tree_1.dot",
    "fusion_switch.cfg",
    "fusion_switch.json",
    "info.json.0",
    "data/net.1.net.info.done",
    "data/net.1.layer.info.done",
    "data/aicore.data.0.net.slice_0.done",
    "data/acl_api.0.net.1",
    "summary/op_summary_0.net.1.1.1.1.0.1000.csv",
    "summary/acl_statistic_0_1_1.csv",
    "summary/op_statistic_0_1_1_1.csv",
    "timeline/task_time_0.net.1.1.json",
    "timeline/acl_0.net.1.1.json",
];

/// The names that files which engines leave in a folder can have.
pub(crate) const ENGINE: &[&str] =
    &["profile.json", "layers.json", "times.json", "counters.csv", "counters.json", "graph.xml"];

/// The files of a model of OpenVINO.
pub(crate) const OPENVINO_MODEL: &[&str] = &["model.xml", "model.bin"];

/// The names that files of two profiles can have, of the first and of the second.
pub(crate) const PAIR: &[&str] = &[
    "a/profile.json",
    "b/profile.json",
    "a/op_summary_20251009085320.csv",
    "b/op_summary_20251009085320.csv",
    "a/op_summary_0.net.1.1.1.1.0.1000.csv",
    "b/op_summary_0.net.1.1.1.1.0.1000.csv",
];

/// The names of what advice is given about.
pub(crate) const ADVISED: &[&str] = &[
    "profile.json",
    "op_summary_20251009085320.csv",
    "model.onnx",
    "opscope.toml",
    "convert.sh",
    "fusion_switch.cfg",
    "fusion_result.json",
];

/// The names of the texts of results of all ranks.
pub(crate) const RESULTS: &[&str] = &[
    "cluster_communication.json",
    "cluster_communication_matrix.json",
    "cluster_step_trace_time.csv",
    "communication_group.json",
];

/// The names that files of two ranks can have.
pub(crate) const RANKS: &[&str] = &[
    "host0_0_20251009080000000_ascend_pt/profiler_info_0.json",
    "host0_0_20251009080000000_ascend_pt/profiler_metadata.json",
    "host0_0_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
    "host0_0_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
    "host0_0_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
    "host0_0_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json",
    "host0_0_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/communication_matrix.json",
    "host0_1_20251009080000000_ascend_pt/profiler_info_1.json",
    "host0_1_20251009080000000_ascend_pt/profiler_metadata.json",
    "host0_1_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
    "host0_1_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
    "host0_1_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
    "host0_1_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json",
    "host0_1_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT/communication_matrix.json",
];

/// The name of a part in inputs that are sets: manifests begin with a digit.
pub(crate) const SET_PART: &str = "0-part";

/// The names that files of a set can have.
pub(crate) const SET: &[&str] = &[
    "opscope.json",
    "_manifest/run=run/0-part.json",
    "calls/run=run/block=00000/0-part.parquet",
    "collectives/run=run/bucket=00/0-part.parquet",
    "collectives/run=run/bucket=02/0-part.parquet",
    "copies/run=run/block=00000/0-part.parquet",
    "ends/run=run/block=00000/0-part.parquet",
    "experts/run=run/block=00000/0-part.parquet",
    "links/run=run/block=00000/0-part.parquet",
    "frequency/run=run/block=00000/0-part.parquet",
    "losses/run=run/block=00000/0-part.parquet",
    "marks/run=run/block=00000/0-part.parquet",
    "operators/run=run/block=00000/0-part.parquet",
    "ranks/run=run/block=00000/0-part.parquet",
    "steps/run=run/block=00000/0-part.parquet",
];

/// The names of what is read by the whole program; `words` are those of the command line, one in a line.
pub(crate) const PROGRAM: &[&str] = &[
    "words",
    "a.json",
    "b.json",
    "model.onnx",
    "opscope.toml",
    "op_summary_20251009085320.csv",
    "JOBA/summary/op_summary_0.net.1.1.1.1.0.1000.csv",
    "input.npy",
    "convert.sh",
    "fusion_result.json",
];

/// A folder for one input, in memory where there is such.
///
/// # Panics
/// If no folder can be made.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// An input that is made of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// The byte with flags.
    pub flags: u8,
    /// Numbers of names with contents; a later one of the same number replaces an earlier one.
    pub files: Vec<(u8, Vec<u8>)>,
}

impl Packed {
    /// Takes an input apart; of no bytes, nothing comes.
    pub fn of(input: &[u8], names: &[&str]) -> Self {
        let Some((&flags, mut rest)) = input.split_first() else { return Self::default() };
        let mut files = Vec::new();
        while let [number, low, high, more @ ..] = rest {
            let length = usize::from(u16::from_le_bytes([*low, *high])).min(more.len());
            let (content, next) = more.split_at(length);
            if usize::from(*number) >= names.len() {
                break;
            }
            files.push((*number, content.to_vec()));
            rest = next;
        }
        Self { flags, files }
    }

    /// Adds the begin of a file, if the list has its name.
    pub fn add(&mut self, names: &[&str], name: &str, content: &[u8]) {
        let number =
            names.iter().position(|known| *known == name).and_then(|number| u8::try_from(number).ok());
        if let Some(number) = number {
            self.files.push((number, content[..content.len().min(usize::from(u16::MAX))].to_vec()));
        }
    }

    /// The last file of a name.
    pub fn file(&self, names: &[&str], name: &str) -> Option<&[u8]> {
        let is_it = |number: u8| names.get(usize::from(number)).is_some_and(|known| *known == name);
        self.files.iter().rev().find(|(number, _)| is_it(*number)).map(|(_, content)| content.as_slice())
    }

    /// The input; of each file at most 65,535 bytes.
    pub fn to_input(&self) -> Vec<u8> {
        let mut input = vec![self.flags];
        for (number, content) in &self.files {
            let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
            input.push(*number);
            input.extend(length.to_le_bytes());
            input.extend(&content[..usize::from(length)]);
        }
        input
    }
}

/// Writes the files of an input below a directory; returns the flags.
///
/// # Panics
/// If the disk is full.
pub fn unpack(input: &[u8], names: &[&str], directory: &Path) -> u8 {
    let packed = Packed::of(input, names);
    for (number, content) in &packed.files {
        let path = directory.join(names[usize::from(*number)]);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a new directory");
        std::fs::write(path, content).expect("space on disk");
    }
    packed.flags
}

/// The input that stands for a directory: the begin of each of its files.
///
/// # Panics
/// If a file can't be read.
pub fn pack(directory: &Path, names: &[&str], flags: u8) -> Vec<u8> {
    let mut packed = Packed { flags, ..Packed::default() };
    for name in names {
        let path = directory.join(name);
        if path.is_file() {
            packed.add(names, name, &std::fs::read(&path).expect("a readable file"));
        }
    }
    packed.to_input()
}

#[cfg(test)]
mod tests {
    use super::{ADVISED, Packed};

    #[test]
    fn files_come_out_as_they_went_in() {
        let mut packed = Packed { flags: 7, ..Packed::default() };
        packed.add(ADVISED, "model.onnx", b"model");
        packed.add(ADVISED, "nothing", b"unknown");
        packed.add(ADVISED, "convert.sh", &[b'x'; 70_000]);
        let again = Packed::of(&packed.to_input(), ADVISED);
        assert_eq!(again, packed);
        assert_eq!(again.file(ADVISED, "convert.sh").map(<[u8]>::len), Some(65_535));
        let cut = Packed::of(&packed.to_input()[..6], ADVISED);
        assert_eq!(cut.file(ADVISED, "model.onnx"), Some(&b"mo"[..]));
    }
}
