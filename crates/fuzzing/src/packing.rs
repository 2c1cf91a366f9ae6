//! Packs the files of a profile into one input, so that a fuzzer can change all of them.
//!
//! An input is a byte with flags, and then files: the number of the name in a list such as
//! [`PROFILE`], two bytes of length (little-endian), and the content. Unknown numbers and bytes that
//! are missing end it.

use std::path::{Path, PathBuf};

/// The names that files of an Ascend profile can have.
pub const PROFILE: &[&str] = &[
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
];

/// The names that outputs of the Ascend tools can have.
pub const OUTPUTS: &[&str] = &[
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

/// The names that files of a board's directory can have.
pub const BOARD: &[&str] = &[
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

/// A folder for one input, in memory where there is such.
///
/// # Panics
/// If no folder can be made.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// Writes the files of an input below a directory; returns the flags.
///
/// # Panics
/// If the disk is full.
pub fn unpack(input: &[u8], names: &[&str], directory: &Path) -> u8 {
    let Some((&flags, mut rest)) = input.split_first() else { return 0 };
    while let [number, low, high, more @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(more.len());
        let (content, next) = more.split_at(length);
        let Some(name) = names.get(usize::from(*number)) else { break };
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a new directory");
        std::fs::write(path, content).expect("space on disk");
        rest = next;
    }
    flags
}

/// The input that stands for a directory: the begin of each of its files.
///
/// # Panics
/// If a file can't be read.
pub fn pack(directory: &Path, names: &[&str], flags: u8) -> Vec<u8> {
    let mut input = vec![flags];
    for (number, name) in names.iter().enumerate() {
        let path: PathBuf = directory.join(name);
        if !path.is_file() {
            continue;
        }
        let content = std::fs::read(&path).expect("a readable file");
        let length = content.len().min(usize::from(u16::MAX));
        input.push(number as u8);
        input.extend((length as u16).to_le_bytes());
        input.extend(&content[..length]);
    }
    input
}
