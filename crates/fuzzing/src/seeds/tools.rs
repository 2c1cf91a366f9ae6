//! Folders that tools leave with several files of one recording, a seed for each kind.

use std::path::Path;

use super::corpus::save;
use super::profiles::space;
use super::texts::ROCM;
use crate::packing::{Packed, TOOLS};

/// Tables of `msprof op`: of two blocks of one launch.
const BASIC: &str = "\
Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\n\
add_custom,vector,42.5,2,NA,0,4242,1650,1800,\n";
const PIPES: &str = "\
block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_mte2_ratio,\n\
0,vector0,NA,NA,NA,37.5,67500,4.5,0.12,0.82,\n\
1,vector0,NA,NA,NA,40,72000,4.8,0.12,0.8,\n";
const MEMORY: &str = "\
block_id,sub_block_id,aiv_time(us),aiv_total_cycles,aiv_gm_to_ub_bw(GB/s),aiv_ub_to_gm_bw(GB/s),read_main_memory_datas(KB),write_main_memory_datas(KB),\n\
0,vector0,37.5,67500,25.5,12.5,400.0,200.0,\n\
1,vector0,40,72000,24,12,400.0,200.0,\n";
const CACHE: &str = "\
block_id,sub_block_id,aiv_time(us),aiv_total_cycles,aiv_write_cache_hit,aiv_write_cache_miss_allocate,aiv_r0_read_cache_hit,aiv_r0_read_cache_miss_allocate,aiv_r1_read_cache_hit,aiv_r1_read_cache_miss_allocate,aiv_total_hit_rate(%),\n\
0,vector0,37.5,67500,100,300,120,900,0,0,15.5,\n\
1,vector0,40,72000,100,300,120,900,0,0,15.5,\n";

/// The devices of rocprofv3.
const AGENTS: &str = r#""Node_Id","Agent_Type","Name","Product_Name"
0,"CPU","cpu","cpu"
2,"GPU","gfx942","gpu"
"#;

/// Tables of msServiceProfiler that belong to one server.
const SERVING: [(&str, &str); 4] = [
    (
        "serving/request.csv",
        "\
http_rid,recv_token_size,reply_token_size,execution_time(ms),first_token_latency(ms),start_time(ms)\n\
1,12,40,250.5,20.125,1745398331100\n",
    ),
    (
        "serving/batch.csv",
        "\
name,res_list,start_time(microsecond),end_time(microsecond),batch_size,batch_type\n\
modelExec,[1],1745398331101000,1745398331111000,1.0,Prefill\n",
    ),
    (
        "serving/forward.csv",
        "\
name,relative_start_time(ms),start_datetime,end_datetime,during_time(ms),bubble_time(ms),batch_size,batch_type,forward_iter,dp_rank,prof_id,hostname,start_time(ms),end_time(ms)\n\
forward,0.0,x,x,10.5,1.5,1,Prefill,1,0,7,node,1745398331110.0,1745398331120.5\n",
    ),
    (
        "serving/kvcache.csv",
        "\
domain,rid,timestamp(ms),name,device_kvcache_left\n\
KVCache,1,1745398331100,Allocate,99\n",
    ),
];

/// Files of MindSpore 1 to 2.3 of one device.
const MINDSPORE: [(&str, &str); 5] = [
    (
        "mindspore/output_timeline_data_0.txt",
        "\
op_name, stream_id, start_time(ms), duration(ms)\n\
Default/conv1/Conv2D-op3,519,154907895.95956,0.0031\n\
Default/conv1/Conv2D-op3,519,154907897.5,0.0041\n",
    ),
    (
        "mindspore/framework_raw_0.csv",
        r#"task_id,stream_id,block_dim,full_op_name,op_name,op_type,subgraph,op_info
4,519,1,Default/conv1/Conv2D-op3,Conv2D-op3,Conv2D,Default,"{""input_0"": {""format"": ""NC1HWC0"", ""data_type"": ""NUMBER_TYPE_FLOAT16"", ""shape"": ""2,16""}}"
"#,
    ),
    (
        "mindspore/aicpu_intermediate_0.csv",
        "\
serial_number,kernel_type,total_time,dispatch_time,execution_time,run_start,run_end\n\
1,GetNext,7.906,0.15,0.22,154907895100,154907895260\n",
    ),
    (
        "mindspore/step_trace_raw_0_detail_time.csv",
        "\
step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n\
1,15490789500000,15490789700000,200000,15490789510000,15490789690000,10000,180000,10000\n\
-,0,0,200000,0,0,10000,180000,10000\n",
    ),
    (
        "mindspore/aicore_intermediate_0_type.csv",
        "\
kernel_type,total_time,execution_frequency,percent\n\
Conv2D,0.0031,1,100\n",
    ),
];

/// A folder of each kind.
pub(super) fn tool_folders(corpus: &Path) {
    let write = |name: &str, files: &[(&str, &str)]| {
        let mut packed = Packed::default();
        for (file, text) in files {
            packed.add(TOOLS, file, text.as_bytes());
        }
        save(corpus, "tool_folder", name, &packed.to_input());
    };
    write(
        "opprof",
        &[
            ("OPPROF_20251009085320_AAAAAAAAAAAAAAAA/OpBasicInfo.csv", BASIC),
            ("OPPROF_20251009085320_AAAAAAAAAAAAAAAA/PipeUtilization.csv", PIPES),
            ("OPPROF_20251009085320_AAAAAAAAAAAAAAAA/Memory.csv", MEMORY),
            ("OPPROF_20251009085320_AAAAAAAAAAAAAAAA/L2Cache.csv", CACHE),
        ],
    );
    write(
        "launches",
        &[
            ("OPPROF_20251009085320_BBBBBBBBBBBBBBBB/add/0/OpBasicInfo.csv", BASIC),
            ("OPPROF_20251009085320_BBBBBBBBBBBBBBBB/add/0/PipeUtilization.csv", PIPES),
            ("OPPROF_20251009085320_BBBBBBBBBBBBBBBB/add/1/OpBasicInfo.csv", BASIC),
        ],
    );
    write(
        "rocm",
        &[
            ("rocm/42_kernel_trace.csv", ROCM[0].1),
            ("rocm/42_hip_api_trace.csv", ROCM[1].1),
            ("rocm/42_memory_copy_trace.csv", ROCM[2].1),
            ("rocm/42_counter_collection.csv", ROCM[3].1),
            ("rocm/42_agent_info.csv", AGENTS),
        ],
    );
    write("serving", &SERVING);
    write("mindspore", &MINDSPORE);
    let mut packed = Packed::default();
    packed.add(TOOLS, "xla/plugins/profile/2025_10_09_08_53_20/host.xplane.pb", &space());
    save(corpus, "tool_folder", "xla", &packed.to_input());
}
