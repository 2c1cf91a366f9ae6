//! The meaning of the counters of the cores.
//!
//! A profile counts one group of events per run. Each group has its columns, each column a formula
//! over events and cycles. The reference knows three sets of factors for bandwidths: that of its
//! accelerated library, that of its Python code, and an older one for chip 0.

pub(crate) mod cache_rates;
mod metric;
mod nano;
mod wide;

use opscope_cann_raw::Chip;

pub(crate) use crate::metrics::metric::{Formula, Load, Metric, Places};

use crate::dialect::Dialect;
use crate::metrics::metric::CUBE_OPERATIONS;

/// Microseconds that a core worked: cycles at a frequency, spread over blocks on several cores.
pub fn total_time(cycles: u64, hertz: f64, blocks: u32, cores: u32) -> f64 {
    if blocks == 0 || cores == 0 || hertz == 0.0 {
        return 0.0;
    }
    let rounds = blocks.div_ceil(cores);
    cycles as f64 * 1e6 / hertz / f64::from(blocks) * f64::from(rounds)
}

/// The columns of a group of counters. A group that isn't known has none; its counters are shown
/// as they are.
pub fn group(name: &str, chip: Chip, dialect: Dialect) -> Vec<Metric> {
    match chip {
        Chip::V5_1_0 => nano::group(name),
        _ if chip.has_wide_task_ids() => wide::group(name),
        _ => group_of(name, chip, dialect),
    }
}

/// The columns of a group of counters that were sampled over time. They are ratios, operations and
/// bandwidths, with factors that no chip has where counters are by task.
pub fn sampled_group(name: &str, chip: Chip, events: &[u32]) -> Vec<Metric> {
    let mut metrics = match chip.has_wide_task_ids() {
        true => wide::group(name),
        false => group_of(name, chip, Dialect::Accelerated),
    };
    metrics.retain(|metric| metric.formula != Formula::Time);
    let bandwidth = |name, bytes, events| Metric { name, formula: Formula::Bandwidth(bytes), events };
    match name {
        "PipeUtilization" if chip.has_wide_task_ids() => metrics[6..].reverse(),
        // All that goes through the unified buffer is counted in the same unit here.
        "Memory" if chip.has_wide_task_ids() => {
            metrics[..2].iter_mut().for_each(|metric| metric.formula = Formula::Bandwidth(1_024.0));
        }
        // The columns of the second-level cache come first, and only some chips have them.
        "Memory" => {
            metrics[4..].rotate_left(2);
            if !matches!(chip, Chip::V1_1_0 | Chip::V4_1_0) {
                metrics.retain(|metric| !metric.name.starts_with("l2_"));
            }
        }
        "MemoryUB" if !chip.has_wide_task_ids() => {
            const MOVED: u32 = 0x1a5;
            let has_moved = chip.is_310b_family() && events.contains(&MOVED);
            metrics = vec![
                bandwidth("ub_read_bw_vector", 256.0, if has_moved { &[0x17f, 0x180] } else { &[0x43] }),
                bandwidth("ub_write_bw_vector", 128.0, if has_moved { &[0x191] } else { &[0x44] }),
                bandwidth("ub_read_bw_scalar", 128.0, &[0x37]),
                bandwidth("ub_write_bw_scalar", 128.0, &[0x38]),
            ];
            if chip == Chip::V1_1_0 {
                metrics.push(bandwidth("ub_read_bw_mte", 128.0, &[0x3d]));
                metrics.push(bandwidth("ub_write_bw_mte", 128.0, &[0x3e]));
            }
        }
        _ => {}
    }
    metrics
}

/// The columns of a group, with the factors of one of the reference's implementations.
fn group_of(name: &str, chip: Chip, dialect: Dialect) -> Vec<Metric> {
    let bandwidth = |name, accelerated, plain, oldest, events| {
        let bytes = match dialect {
            Dialect::Accelerated => accelerated,
            Dialect::Plain => plain,
            Dialect::Oldest => oldest,
        };
        Metric { name, formula: Formula::Bandwidth(bytes), events }
    };
    let metric = |name, formula, events| Metric { name, formula, events };
    let ratio = |name, events| metric(name, Formula::Ratio, events);
    let mut metrics = Vec::new();
    let mut pipe = |time, share, events| {
        metrics.push(metric(time, Formula::Time, events));
        metrics.push(metric(share, Formula::Ratio, events));
    };
    match name {
        "PipeUtilization" => {
            pipe("vec_time", "vec_ratio", &[0x8]);
            pipe("mac_time", "mac_ratio", &[0xa]);
            pipe("scalar_time", "scalar_ratio", &[0x9]);
            pipe("mte1_time", "mte1_ratio", &[0xb]);
            pipe("mte2_time", "mte2_ratio", &[0xc]);
            pipe("mte3_time", "mte3_ratio", &[0xd]);
            metrics.push(metric("icache_miss_rate", Formula::MissRate, &[0x55, 0x54]));
        }
        "PipeUtilizationExct" => {
            pipe("mac_time", "mac_ratio_extra", &[0x416, 0x417]);
            pipe("scalar_time", "scalar_ratio", &[0x9]);
            pipe("mte1_time", "mte1_ratio_extra", &[0x302]);
            pipe("mte2_time", "mte2_ratio", &[0xc]);
            pipe("fixpipe_time", "fixpipe_ratio", &[0x303]);
            metrics.push(metric("icache_miss_rate", Formula::MissRate, &[0x55, 0x54]));
        }
        "PipelineExecuteUtilization" => {
            pipe("vec_exe_time", "vec_exe_ratio", &[0x12c]);
            pipe("mac_exe_time", "mac_exe_ratio", &[0x49, 0x4a]);
            pipe("scalar_exe_time", "scalar_exe_ratio", &[0x9]);
            pipe("mte1_exe_time", "mte1_exe_ratio", &[0x302]);
            pipe("mte2_exe_time", "mte2_exe_ratio", &[0xc]);
            pipe("mte3_exe_time", "mte3_exe_ratio", &[0xd]);
            pipe("fixpipe_exe_time", "fixpipe_exe_ratio", &[0x303]);
        }
        "ArithmeticUtilization" => {
            metrics.push(ratio("mac_fp16_ratio", &[0x49]));
            metrics.push(ratio("mac_int8_ratio", &[0x4a]));
            metrics.push(ratio("vec_fp32_ratio", &[0x4b]));
            metrics.push(ratio("vec_fp16_ratio", &[0x4c, 0x4d]));
            metrics.push(ratio("vec_int32_ratio", &[0x4e]));
            metrics.push(ratio("vec_misc_ratio", &[0x4f]));
            metrics.push(metric("cube_fops", Formula::Operations(CUBE_OPERATIONS), &[0x49, 0x4a]));
            let factors: &[f64] = match chip {
                Chip::V1_1_0 => &[128.0, 64.0, 32.0, 64.0, 32.0],
                Chip::V3_1_0 | Chip::V3_2_0 | Chip::V3_3_0 => &[128.0, 64.0, 64.0, 16.0, 16.0],
                _ => &[128.0, 64.0, 64.0, 64.0, 32.0],
            };
            let events = &[0x4c, 0x4d, 0x4b, 0x4e, 0x4f];
            metrics.push(metric("vector_fops", Formula::Operations(factors), events));
        }
        "Memory" => {
            metrics.push(bandwidth("ub_read_bw", 1_024.0, 1_024.0, 1_024.0, &[0x15]));
            metrics.push(bandwidth("ub_write_bw", 1_024.0, 1_024.0, 1_024.0, &[0x16]));
            metrics.push(bandwidth("l1_read_bw", 4_096.0, 4_096.0, 4_096.0, &[0x31]));
            metrics.push(bandwidth("l1_write_bw", 1_024.0, 2_048.0, 1_024.0, &[0x32]));
            let l2 = [
                bandwidth("l2_read_bw", 2_048.0, 2_048.0, 2_048.0, &[0xf]),
                bandwidth("l2_write_bw", 2_048.0, 2_048.0, 2_048.0, &[0x10]),
            ];
            let main = [
                bandwidth("main_mem_read_bw", 64.0, 64.0, 2_048.0, &[0x12]),
                bandwidth("main_mem_write_bw", 64.0, 64.0, 2_048.0, &[0x13]),
            ];
            match dialect {
                Dialect::Accelerated => metrics.extend(main.into_iter().chain(l2)),
                // The Python code drops the columns of the second-level cache.
                Dialect::Plain => metrics.extend(main),
                Dialect::Oldest => metrics.extend(l2.into_iter().chain(main)),
            }
        }
        "MemoryL0" => {
            metrics.push(bandwidth("l0a_read_bw", 4_096.0, 4_096.0, 4_096.0, &[0x1b]));
            metrics.push(bandwidth("l0a_write_bw", 4_096.0, 4_096.0, 4_096.0, &[0x1c]));
            metrics.push(bandwidth("l0b_read_bw", 4_096.0, 2_048.0, 4_096.0, &[0x21]));
            metrics.push(bandwidth("l0b_write_bw", 2_048.0, 2_048.0, 2_048.0, &[0x22]));
            metrics.push(bandwidth("l0c_read_bw", 2_048.0, 2_048.0, 2_048.0, &[0x27]));
            metrics.push(bandwidth("l0c_write_bw", 2_048.0, 2_048.0, 2_048.0, &[0x29]));
            metrics.push(bandwidth("l0c_read_bw_cube", 8_192.0, 2_048.0, 8_192.0, &[0x28]));
            metrics.push(bandwidth("l0c_write_bw_cube", 8_192.0, 2_048.0, 8_192.0, &[0x2a]));
        }
        "MemoryUB" => {
            if dialect == Dialect::Oldest {
                metrics.push(bandwidth("ub_read_bw_mte", 128.0, 128.0, 1_024.0, &[0x3d]));
                metrics.push(bandwidth("ub_write_bw_mte", 128.0, 128.0, 1_024.0, &[0x3e]));
            }
            metrics.push(bandwidth("ub_read_bw_vector", 256.0, 256.0, 4_096.0, &[0x43]));
            metrics.push(bandwidth("ub_write_bw_vector", 256.0, 256.0, 2_048.0, &[0x44]));
            metrics.push(bandwidth("ub_read_bw_scalar", 128.0, 128.0, 8_192.0, &[0x37]));
            metrics.push(bandwidth("ub_write_bw_scalar", 128.0, 128.0, 8_192.0, &[0x38]));
        }
        "L2Cache" => {
            metrics.push(metric("write_cache_hit", Formula::Count, &[0x500]));
            metrics.push(metric("write_cache_miss_allocate", Formula::Count, &[0x502]));
            metrics.push(metric("r0_read_cache_hit", Formula::Count, &[0x504]));
            metrics.push(metric("r0_read_cache_miss_allocate", Formula::Count, &[0x506]));
            metrics.push(metric("r1_read_cache_hit", Formula::Count, &[0x508]));
            metrics.push(metric("r1_read_cache_miss_allocate", Formula::Count, &[0x50a]));
        }
        "ResourceConflictRatio" => {
            metrics.push(ratio("vec_bankgroup_cflt_ratio", &[0x64]));
            metrics.push(ratio("vec_bank_cflt_ratio", &[0x65]));
            metrics.push(ratio("vec_resc_cflt_ratio", &[0x66]));
        }
        "MemoryAccess" => {
            metrics.push(metric("read_main_memory_datas", Formula::Sum(0.125), &[0x50d, 0x50e]));
            metrics.push(metric("write_main_memory_datas", Formula::Sum(0.125), &[0x50c]));
            metrics.push(metric("GM_to_L1_datas", Formula::Difference(0.25), &[0x32, 0x206]));
            metrics.push(metric("L0C_to_L1_datas", Formula::Sum(0.125), &[0x206]));
            metrics.push(metric("L0C_to_GM_datas", Formula::Difference(0.125), &[0x20c, 0x206]));
            metrics.push(metric("GM_to_UB_datas", Formula::Sum(0.125), &[0x3e]));
            metrics.push(metric("UB_to_GM_datas", Formula::Sum(0.125), &[0x3d]));
        }
        _ => {}
    }
    metrics
}

/// A column's name as it stands in tables: with its unit, without what tells variants apart.
pub fn header(name: &str) -> String {
    let name = name.strip_suffix("_extra").unwrap_or(name);
    if name.ends_with("_time") {
        format!("{name}(us)")
    } else if name.contains("_bw") {
        format!("{name}(GB/s)")
    } else if name.ends_with("_datas") {
        format!("{name}(KB)")
    } else {
        name.to_owned()
    }
}

/// Whether the cube core (`aic`), of chips that count cores apart, has a column.
pub fn is_for_cube(name: &str) -> bool {
    let vector_only = name.starts_with("vec")
        || name.starts_with("ub_") && !name.ends_with("_scalar")
        || matches!(name, "l0c_read_bw" | "l0c_write_bw");
    !vector_only
}

/// Whether the vector core (`aiv`), of chips that count cores apart, has a column.
pub fn is_for_vector(name: &str) -> bool {
    let cube_only = name.starts_with("mac_ratio") && name == "mac_ratio"
        || matches!(name, "mac_time" | "mac_fp16_ratio" | "mac_int8_ratio" | "cube_fops")
        || matches!(name, "mte1_time" | "mte1_ratio" | "fixpipe_time" | "fixpipe_ratio")
        || name.starts_with("l1_")
        || name.starts_with("l0a_")
        || name.starts_with("l0b_")
        || name.ends_with("_cube");
    !cube_only
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{Core, Counters};

    fn counters(cycles: u64, counters: [u64; 8]) -> Counters {
        Counters {
            stream: 0,
            task: 0,
            context: 0,
            core: Core::Cube,
            mixed: false,
            block: false,
            cycles,
            counters: crate::tables::eight_counters(counters),
            start: 0,
            end: 0,
            blocks: 0,
        }
    }

    fn on_910b(name: &str) -> Vec<Metric> {
        group(name, Chip::V4_1_0, Dialect::Accelerated)
    }

    #[test]
    fn times_are_shares_of_the_total_time() {
        assert_eq!(total_time(1_800, 1.8e9, 20, 20), 0.05);
        assert_eq!(total_time(1_800, 1.8e9, 21, 20), 1.0 / 21.0 * 2.0);
        assert_eq!(total_time(1_800, 0.0, 1, 1) + total_time(1, 1.0, 0, 1) + total_time(1, 1.0, 1, 0), 0.0);
        let counters = counters(1_000, [250, 0, 0, 0, 0, 0, 8, 2]);
        let events = [0x8, 0, 0, 0, 0, 0, 0x54, 0x55];
        let load = Load { counters: &counters, events: &events, total_time: 8.0, hertz: 1e9, rounds: 1.0 };
        let value =
            |name: &str| on_910b("PipeUtilization").iter().find(|m| m.name == name).map(|m| m.value(&load));
        assert_eq!((value("vec_ratio"), value("vec_time")), (Some(0.25), Some(2.0)));
        assert_eq!(value("icache_miss_rate"), Some(0.25));
        assert_eq!(value("mac_ratio"), Some(0.0));
    }

    #[test]
    fn no_cycles_mean_no_value() {
        let counters = counters(0, [1; 8]);
        let load = Load { counters: &counters, events: &[0x31; 8], total_time: 1.0, hertz: 1e9, rounds: 1.0 };
        assert!(on_910b("Memory").iter().all(|metric| metric.value(&load) == 0.0));
    }

    #[test]
    fn cores_that_are_counted_apart_have_their_own_columns() {
        let columns = |name: &str, of: fn(&str) -> bool| -> Vec<&'static str> {
            on_910b(name).iter().map(|m| m.name).filter(|n| of(n)).collect()
        };
        assert_eq!(columns("ResourceConflictRatio", is_for_cube), [""; 0]);
        assert_eq!(
            columns("ArithmeticUtilization", is_for_cube),
            ["mac_fp16_ratio", "mac_int8_ratio", "cube_fops"]
        );
        assert!(
            columns("MemoryL0", is_for_vector)
                .iter()
                .all(|name| name.starts_with("l0c") && !name.ends_with("cube"))
        );
    }

    #[test]
    fn an_unknown_group_has_no_columns() {
        assert!(on_910b("Custom").is_empty());
    }
}
