//! The groups of counters of chips 15 and 16, whose events have numbers of their own.

use crate::metrics::metric::{Formula, Metric};

/// The columns of a group; none if it isn't known.
pub(crate) fn group(name: &str) -> Vec<Metric> {
    let metric = |name, formula, events| Metric { name, formula, events };
    let ratio = |name, events| metric(name, Formula::Ratio, events);
    let bandwidth = |name, bytes, events| metric(name, Formula::Bandwidth(bytes), events);
    let count = |name, events| metric(name, Formula::Count, events);
    match name {
        "PipeUtilization" => {
            let mut metrics = Vec::new();
            let mut pipe = |time, share, events| {
                metrics.push(metric(time, Formula::Time, events));
                metrics.push(ratio(share, events));
            };
            pipe("vec_time", "vec_ratio", &[0x501]);
            pipe("mac_time", "mac_ratio", &[0x301]);
            pipe("scalar_time", "scalar_ratio", &[0x1]);
            pipe("mte1_time", "mte1_ratio", &[0x701]);
            pipe("mte2_time", "mte2_ratio", &[0x202]);
            pipe("mte3_time", "mte3_ratio", &[0x203]);
            pipe("fixpipe_time", "fixpipe_ratio", &[0x714]);
            metrics.push(metric("icache_miss_rate", Formula::MissRate, &[0x35, 0x34]));
            metrics
        }
        "ArithmeticUtilization" => vec![
            ratio("mac_fp16_ratio", &[0x323]),
            ratio("mac_int8_ratio", &[0x324]),
            metric(
                "cube_fops",
                Formula::Operations(crate::metrics::metric::CUBE_OPERATIONS),
                &[0x323, 0x324],
            ),
        ],
        // The vector unit's reads and writes go through the unified buffer too.
        "Memory" => vec![
            metric("ub_read_bw", Formula::Bandwidths(&[1_024.0, 256.0]), &[0x56f, 0x571]),
            metric("ub_write_bw", Formula::Bandwidths(&[1_024.0, 256.0]), &[0x570, 0x572]),
            bandwidth("l1_read_bw", 4_096.0, &[0x707]),
            bandwidth("l1_write_bw", 2_048.0, &[0x709]),
            bandwidth("main_mem_read_bw", 64.0, &[0x400]),
            bandwidth("main_mem_write_bw", 64.0, &[0x401]),
        ],
        "MemoryL0" => vec![
            bandwidth("l0a_read_bw", 4_096.0, &[0x304]),
            bandwidth("l0a_write_bw", 4_096.0, &[0x703]),
            bandwidth("l0b_read_bw", 2_048.0, &[0x306]),
            bandwidth("l0b_write_bw", 2_048.0, &[0x705]),
            bandwidth("l0c_read_bw", 2_048.0, &[0x712]),
            bandwidth("l0c_read_bw_cube", 2_048.0, &[0x30a]),
            bandwidth("l0c_write_bw_cube", 2_048.0, &[0x308]),
        ],
        "MemoryUB" => vec![
            bandwidth("ub_read_bw_vector", 256.0, &[0x571]),
            bandwidth("ub_write_bw_vector", 256.0, &[0x572]),
            bandwidth("ub_read_bw_scalar", 128.0, &[0x3]),
            bandwidth("ub_write_bw_scalar", 128.0, &[0x5]),
            bandwidth("fixp2ub_write_bw", 2_048.0, &[0x70c]),
        ],
        "L2Cache" => vec![
            count("read_local_l2_hit", &[0x424]),
            count("read_local_l2_miss", &[0x425]),
            count("read_local_l2_victim", &[0x426]),
            count("write_local_l2_hit", &[0x42a]),
            count("write_local_l2_miss", &[0x42b]),
            count("write_local_l2_victim", &[0x42c]),
        ],
        "ResourceConflictRatio" => vec![
            ratio("vec_bank_cflt_ratio", &[0x540, 0x556]),
            metric("vec_resc_cflt_ratio", Formula::MissRate, &[0x528, 0x502]),
        ],
        _ => Vec::new(),
    }
}
