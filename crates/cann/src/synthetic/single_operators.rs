//! Writes a sample of what `msprof op` leaves of single operators: a folder `OPPROF_*` with the tables of four
//! kernels on a 910B, each limited by something else.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope_files::{Unfinished, create_folder, create_new};

use super::clockwork::Random;
use crate::error::{Error, Result};

/// MHz of the cores.
const RATED: f64 = 1_800.0;

/// A kernel: what it is limited by is plain to see.
struct Kernel {
    name: &'static str,
    kind: &'static str,
    microseconds: f64,
    /// A single block, whatever was asked for.
    is_single: bool,
    megahertz: f64,
    /// Values that aren't 0, by column: ratios of pipes, of conflicts, hits and misses, amounts.
    values: &'static [(&'static str, f64)],
}

const KERNELS: [Kernel; 4] = [
    Kernel {
        name: "add_custom",
        kind: "vector",
        microseconds: 42.0,
        is_single: false,
        megahertz: RATED,
        values: &[
            ("aiv_vec_ratio", 0.12),
            ("aiv_scalar_ratio", 0.09),
            ("aiv_mte2_ratio", 0.82),
            ("aiv_mte3_ratio", 0.31),
            ("aiv_vec_total_cflt_ratio", 0.09),
            ("aiv_vec_bank_cflt_ratio", 0.06),
            ("aiv_vec_bankgroup_cflt_ratio", 0.03),
            ("aiv_r0_read_cache_hit", 120.0),
            ("aiv_r0_read_cache_miss_allocate", 900.0),
            ("aiv_write_cache_hit", 100.0),
            ("aiv_write_cache_miss_allocate", 300.0),
            ("read_main_memory_datas", 256.0),
            ("GM_to_UB_datas", 256.0),
        ],
    },
    Kernel {
        name: "matmul_custom",
        kind: "cube",
        microseconds: 130.0,
        is_single: false,
        megahertz: RATED,
        values: &[
            ("aic_cube_ratio", 0.87),
            ("aic_scalar_ratio", 0.11),
            ("aic_mte1_ratio", 0.44),
            ("aic_mte2_ratio", 0.38),
            ("aic_fixpipe_ratio", 0.21),
            ("aic_r0_read_cache_hit", 9_000.0),
            ("aic_r0_read_cache_miss_allocate", 700.0),
            ("read_main_memory_datas", 1_024.0),
            ("GM_to_L1_datas", 1_024.0),
        ],
    },
    Kernel {
        name: "gather_rows_custom",
        kind: "vector",
        microseconds: 95.0,
        is_single: true,
        megahertz: 800.0,
        values: &[("aiv_scalar_ratio", 0.93), ("aiv_vec_ratio", 0.02), ("aiv_mte2_ratio", 0.11)],
    },
    Kernel {
        name: "attention_custom_mix_aic",
        kind: "mix",
        microseconds: 210.0,
        is_single: false,
        megahertz: RATED,
        values: &[
            ("aic_cube_ratio", 0.35),
            ("aic_mte2_ratio", 0.28),
            ("aiv_vec_ratio", 0.66),
            ("aiv_scalar_ratio", 0.14),
            ("aiv_mte2_ratio", 0.22),
            ("aiv_vec_total_cflt_ratio", 0.02),
        ],
    },
];

/// The tables of counters and their columns behind the numbers of blocks.
#[rustfmt::skip]
const TABLES: [(&str, &[&str]); 7] = [
    (
        "PipeUtilization",
        &[
            "aic_time(us)", "aic_total_cycles", "aic_cube_time(us)", "aic_cube_ratio", "aic_scalar_time(us)",
            "aic_scalar_ratio", "aic_mte1_time(us)", "aic_mte1_ratio", "aic_mte2_time(us)", "aic_mte2_ratio",
            "aic_mte3_time(us)", "aic_mte3_ratio", "aic_mte3_active_bw(GB/s)", "aic_fixpipe_time(us)",
            "aic_fixpipe_ratio", "aic_fixpipe_active_bw(GB/s)", "aic_icache_miss_rate", "aiv_time(us)",
            "aiv_total_cycles", "aiv_vec_time(us)", "aiv_vec_ratio", "aiv_scalar_time(us)", "aiv_scalar_ratio",
            "aiv_mte2_time(us)", "aiv_mte2_ratio", "aiv_mte2_active_bw(GB/s)", "aiv_mte3_time(us)",
            "aiv_mte3_ratio", "aiv_mte3_active_bw(GB/s)", "aiv_icache_miss_rate",
        ],
    ),
    (
        "ArithmeticUtilization",
        &[
            "aic_time(us)", "aic_total_cycles", "aic_cube_ratio", "aic_cube_fp16_ratio", "aic_cube_int8_ratio",
            "aic_cube_fops", "aic_cube_total_instr_number", "aiv_time(us)", "aiv_total_cycles", "aiv_vec_ratio",
            "aiv_vec_fp32_ratio", "aiv_vec_fp16_ratio", "aiv_vec_int32_ratio", "aiv_vec_misc_ratio",
            "aiv_vec_fops",
        ],
    ),
    (
        "Memory",
        &[
            "aic_time(us)", "aic_total_cycles", "aic_l1_read_bw(GB/s)", "aic_main_mem_read_bw(GB/s)",
            "aic_mte2_instructions", "aic_mte2_ratio", "aiv_time(us)", "aiv_total_cycles",
            "aiv_gm_to_ub_bw(GB/s)", "aiv_main_mem_read_bw(GB/s)", "aiv_mte2_instructions", "aiv_mte2_ratio",
            "read_main_memory_datas(KB)", "write_main_memory_datas(KB)", "GM_to_L1_datas(KB)",
            "L1_to_GM_datas(KB)(estimate)", "GM_to_UB_datas(KB)", "UB_to_GM_datas(KB)",
        ],
    ),
    (
        "MemoryL0",
        &["aic_time(us)", "aic_total_cycles", "aic_l0a_read_bw(GB/s)", "aic_l0b_read_bw(GB/s)", "aiv_time(us)", "aiv_total_cycles"],
    ),
    (
        "MemoryUB",
        &["aic_time(us)", "aic_total_cycles", "aiv_time(us)", "aiv_total_cycles", "aiv_ub_read_bw_vector(GB/s)", "aiv_ub_write_bw_vector(GB/s)"],
    ),
    (
        "L2Cache",
        &[
            "aic_time(us)", "aic_total_cycles", "aic_write_cache_hit", "aic_write_cache_miss_allocate",
            "aic_r0_read_cache_hit", "aic_r0_read_cache_miss_allocate", "aic_r1_read_cache_hit",
            "aic_r1_read_cache_miss_allocate", "aic_total_hit_rate(%)", "aiv_time(us)", "aiv_total_cycles",
            "aiv_write_cache_hit", "aiv_write_cache_miss_allocate", "aiv_r0_read_cache_hit",
            "aiv_r0_read_cache_miss_allocate", "aiv_r1_read_cache_hit", "aiv_r1_read_cache_miss_allocate",
            "aiv_total_hit_rate(%)",
        ],
    ),
    (
        "ResourceConflictRatio",
        &[
            "aic_time(us)", "aic_total_cycles", "aic_cube_wait_ratio", "aic_mte2_wait_ratio", "aiv_time(us)",
            "aiv_total_cycles", "aiv_vec_total_cflt_ratio", "aiv_vec_bankgroup_cflt_ratio",
            "aiv_vec_bank_cflt_ratio", "aiv_vec_resc_cflt_ratio", "aiv_vec_mte_cflt_ratio", "aiv_vec_wait_ratio",
        ],
    ),
];

/// Writes a sample of single operators, of so many blocks each, below `directory` and returns its path. When
/// that fails, or the program is stopped, nothing of it stays.
///
/// # Errors
/// If a folder or file can't be created or written; an existing sample of that name is one.
pub fn write_single_operators(directory: &Path, blocks: u32, seed: u64) -> Result<PathBuf> {
    let sample = directory.join("OPPROF_20251009085320_SAMPLEAAAAAAAAAA");
    let failed = |problem| Error::io("write a sample of single operators to", &sample)(problem);
    if sample.exists() {
        return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, "it is there already")));
    }
    let _unfinished = Unfinished::new(sample.clone());
    let mut random = Random::new(seed);
    let written = KERNELS.iter().try_for_each(|kernel| kernel.write(&sample, blocks.max(1), &mut random));
    if let Err(problem) = written {
        let _ = std::fs::remove_dir_all(&sample);
        return Err(failed(problem));
    }
    Ok(sample)
}

impl Kernel {
    fn write(&self, sample: &Path, blocks: u32, random: &mut Random) -> io::Result<()> {
        let folder = sample.join(self.name).join("0");
        create_folder(&folder)?;
        let blocks = if self.is_single { 1 } else { blocks };
        let mixed = if self.kind == "mix" { (2 * blocks).to_string() } else { "NA".to_owned() };
        let basic = format!(
            "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\n\
             {},{},{:.6},{blocks},{mixed},0,4242,{},{RATED},\n",
            self.name, self.kind, self.microseconds, self.megahertz
        );
        create_new(&folder.join("OpBasicInfo.csv"))?.write_all(basic.as_bytes())?;
        // Starting and ending a block takes a part of the task's time; blocks end at different times.
        let rows = self.cores(blocks).into_iter().map(|(block, core)| {
            let time = self.microseconds * (0.86 + random.below(100) as f64 / 1_000.0);
            (block, core, time)
        });
        let rows: Vec<(u32, &str, f64)> = rows.collect();
        for (table, columns) in TABLES {
            let mut text = format!("block_id,sub_block_id,{},\n", columns.join(","));
            for (block, core, time) in &rows {
                let cells: Vec<String> =
                    columns.iter().map(|column| self.cell(column, core, *time)).collect();
                text.push_str(&format!("{block},{core},{},\n", cells.join(",")));
            }
            create_new(&folder.join(format!("{table}.csv")))?.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// The cores of all blocks: two vector cores belong to the cube of a mixed kernel.
    fn cores(&self, blocks: u32) -> Vec<(u32, &'static str)> {
        let of_block: &[&str] = match self.kind {
            "mix" => &["cube0", "vector0", "vector1"],
            "cube" => &["cube0"],
            _ => &["vector0"],
        };
        (0..blocks).flat_map(|block| of_block.iter().map(move |core| (block, *core))).collect()
    }

    /// The value of a core in a column, in the vendor's form.
    fn cell(&self, column: &str, core: &str, time: f64) -> String {
        let name = column.split('(').next().unwrap_or(column);
        let own = if core.starts_with("cube") { "aic_" } else { "aiv_" };
        if name.starts_with("ai") && !name.starts_with(own) {
            return "NA".to_owned();
        }
        let value =
            |name: &str| self.values.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, v)| *v);
        let cycles = (time * self.megahertz).round();
        if name.ends_with("_total_cycles") {
            return format!("{cycles:.0}");
        }
        if name == format!("{own}time") {
            return format!("{:.6}", cycles / self.megahertz);
        }
        if name.ends_with("_hit") || name.ends_with("_miss_allocate") || name.ends_with("_instructions") {
            return format!("{:.0}", value(name));
        }
        if name.ends_with("_total_hit_rate") {
            let sum = |end: &str| -> f64 {
                ["write", "r0_read", "r1_read"]
                    .iter()
                    .map(|part| value(&format!("{own}{part}_cache_{end}")))
                    .sum()
            };
            let (hits, misses) = (sum("hit"), sum("miss_allocate"));
            return if hits + misses > 0.0 {
                format!("{:.6}", hits / (hits + misses) * 100.0)
            } else {
                "NA".to_owned()
            };
        }
        match name.strip_suffix("_time") {
            Some(pipe) => format!("{:.6}", value(&format!("{pipe}_ratio")) * time),
            None => format!("{:.6}", value(name)),
        }
    }
}
