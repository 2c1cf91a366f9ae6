//! The groups of counters of chip 9, whose events have numbers of their own.

use crate::metrics::metric::{Formula, Metric};

/// The columns of a group; none if it isn't known.
pub(crate) fn group(name: &str) -> Vec<Metric> {
    let metric = |name, formula, events| Metric { name, formula, events };
    let bandwidth = |name, bytes, events| metric(name, Formula::Bandwidth(bytes), events);
    let count = |name, events| metric(name, Formula::Count, events);
    let pipe =
        |time, share, events| [metric(time, Formula::Time, events), metric(share, Formula::Ratio, events)];
    match name {
        "PipeUtilization" => {
            let pipes = [
                pipe("vec_exe_time", "vec_exe_ratio", &[0x300]),
                pipe("mac_exe_time", "mac_exe_ratio", &[0x400]),
                pipe("scalar_time", "scalar_ratio", &[0x100]),
                pipe("mte1_time", "mte1_ratio", &[0x200]),
                pipe("mte2_time", "mte2_ratio", &[0x201]),
                pipe("mte3_time", "mte3_ratio", &[0x202]),
                pipe("fixpipe_time", "fixpipe_ratio", &[0x302]),
                pipe("mte_preload_time", "mte_preload_ratio", &[0x203]),
            ];
            let mut metrics: Vec<Metric> = pipes.into_iter().flatten().collect();
            metrics.push(metric("icache_miss_rate", Formula::MissRate, &[0x102, 0x101]));
            metrics
        }
        // The units that move data from and to the main memory are busy only part of the time.
        "Memory" => vec![
            metric("main_mem_read_bw", Formula::BusyBandwidth(64.0), &[0x204, 0x201, 0x202]),
            metric("main_mem_write_bw", Formula::BusyBandwidth(64.0), &[0x205, 0x202, 0x201]),
        ],
        "MemoryUB" => vec![
            bandwidth("ub_read_bw_mte2", 128.0, &[0x206]),
            bandwidth("ub_write_bw_mte2", 128.0, &[0x207]),
            bandwidth("ub_read_bw_vector", 256.0, &[0x303]),
            bandwidth("ub_write_bw_vector", 256.0, &[0x304]),
            bandwidth("ub_read_bw_scalar", 128.0, &[0x106]),
            bandwidth("ub_write_bw_scalar", 128.0, &[0x107]),
        ],
        "PipeStallCycle" => vec![
            count("cube_self_stall_cycles", &[0x406]),
            count("vec_self_stall_cycles", &[0x305]),
            count("cube_mte2_cflt_stall_cycles", &[0x600]),
            count("cube_mte3_cflt_stall_cycles", &[0x601]),
            count("cube_mte1_cflt_stall_cycles", &[0x602]),
            count("vec_mte2_cflt_stall_cycles", &[0x603]),
            count("vec_mte3_cflt_stall_cycles", &[0x604]),
            count("vec_mte1_cflt_stall_cycles", &[0x605]),
            count("mte1_mte2_stall_cycles", &[0x606]),
            count("mte1_mte3_stall_cycles", &[0x607]),
        ],
        "ScalarRatio" => {
            let mut metrics = pipe("acess_stack_time", "acess_stack_ratio", &[0x103]).to_vec();
            metrics.push(metric("control_flow_mis_prediction_rate", Formula::MissRate, &[0x105, 0x104]));
            metrics
        }
        _ => Vec::new(),
    }
}
