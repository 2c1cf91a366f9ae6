//! Packs the files of a profile into one input, so that a fuzzer can change all of them.
//!
//! An input is a byte with flags, and then files: the number of the name in [`FILES`], two bytes of
//! length (little-endian), and the content. Unknown numbers and bytes that are missing end it.

use std::path::{Path, PathBuf};

/// The names that files of a profile can have.
pub const FILES: [&str; 74] = [
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
];

/// Writes the files of an input below a directory; returns the flags.
///
/// # Panics
/// If the disk is full.
pub fn unpack(input: &[u8], directory: &Path) -> u8 {
    let Some((&flags, mut rest)) = input.split_first() else { return 0 };
    while let [number, low, high, more @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(more.len());
        let (content, next) = more.split_at(length);
        let Some(name) = FILES.get(usize::from(*number)) else { break };
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a new directory");
        std::fs::write(path, content).expect("space on disk");
        rest = next;
    }
    flags
}

/// The input that stands for a profile: the begin of each of its files.
///
/// # Panics
/// If a file can't be read.
pub fn pack(profile: &Path, flags: u8) -> Vec<u8> {
    let mut input = vec![flags];
    for (number, name) in FILES.iter().enumerate() {
        let path: PathBuf = profile.join(name);
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
