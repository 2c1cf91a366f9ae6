//! Counters of the blocks of a launch, brought together to those of the launch.
//!
//! Columns of cube cores begin with `aic_`, those of vector cores with `aiv_`; a row has values in those of its
//! own kind of core only, and `NA` in the others. Chips that don't part them have a single row and `aic_` alone.

use std::collections::BTreeSet;

use opscope_formats::reading::Stop;
use opscope_trace::LossKind;

use crate::read::tables::table::{Column, Header, Losses, read_rows};

/// A figure of a launch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counter {
    pub name: String,
    /// `us`, `GB/s`, `KB`, `%`; empty for counts and ratios.
    pub unit: String,
    pub value: f64,
}

/// The way in which the values of blocks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Amounts add up.
    Sum,
    /// Times are those of an average block.
    Mean,
    /// Ratios and rates refer to the cycles of their block.
    ByCycles,
}

/// The values of a column over all blocks.
#[derive(Clone, Debug)]
struct Sums {
    name: String,
    unit: String,
    way: Way,
    sum: f64,
    weight: f64,
    longest: f64,
    blocks: u64,
}

/// The counters of a launch as far as they were read.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    columns: Vec<Sums>,
    /// How many blocks each table has counters of, where it tells blocks apart.
    pub blocks: Vec<u64>,
}

/// Whether a table has counters of blocks.
pub(super) fn is_table(header: &Header) -> bool {
    let has_cycles = header.has(&["aic_total_cycles", "aiv_total_cycles"]);
    let is_of_blocks = header.has(&["block_id"]) && header.has(&["sub_block_id"]);
    let columns: Vec<&str> = header.columns().map(|(_, name)| name).filter(|name| !name.is_empty()).collect();
    // A chip whose cores aren't parted has neither blocks nor columns of any other kind.
    let is_of_one = columns.iter().all(|name| name.starts_with("aic_")) && header.has(&["aic_time(us)"]);
    has_cycles && (is_of_blocks || is_of_one)
}

impl Counters {
    /// Adds a table. What another table has told already is left out.
    pub fn read(&mut self, text: &[u8], header: &Header, stop: &Stop, losses: &mut Losses) {
        let cycles = ["aic_", "aiv_"].map(|kind| (kind, header.find(&[&format!("{kind}total_cycles")])));
        let mut columns: Vec<(Column, Sums)> = Vec::new();
        for (column, _) in header.columns() {
            let Some(sums) = Sums::of(header.written(column)) else { continue };
            let is_known = |known: &Sums| known.name == sums.name;
            if !self.columns.iter().any(is_known) && !columns.iter().any(|(_, known)| is_known(known)) {
                columns.push((column, sums));
            }
        }
        let block = header.find(&["block_id"]);
        let mut blocks = BTreeSet::new();
        read_rows(text, header, stop, losses, |row, losses| {
            blocks.extend(row.number(block));
            let mut texts = 0;
            for (column, sums) in &mut columns {
                let cell = row.cell(Some(*column));
                if cell.is_empty() || cell == b"NA" {
                    continue;
                }
                let Some(value) = row.float(Some(*column)) else {
                    texts += 1;
                    continue;
                };
                let own = |(kind, cycles): &(&str, Option<Column>)| {
                    let is_own = sums.name.starts_with(kind) || !sums.name.starts_with("ai");
                    row.float(*cycles).filter(|cycles| is_own && *cycles > 0.0)
                };
                let weight = cycles.iter().find_map(own).unwrap_or(1.0);
                sums.add(value, weight);
            }
            losses.count_several(LossKind::TextAmongMetrics, texts, row.line);
        });
        self.blocks.extend(block.map(|_| blocks.len() as u64));
        self.columns.extend(columns.into_iter().map(|(_, sums)| sums).filter(|sums| sums.blocks > 0));
    }

    /// The figures of the launch.
    pub fn values(&self) -> Vec<Counter> {
        let mut values = Vec::new();
        for sums in &self.columns {
            let counter =
                |name: &str, value| Counter { name: name.to_owned(), unit: sums.unit.clone(), value };
            let value = self.hit_rate(&sums.name).unwrap_or_else(|| sums.value());
            values.push(counter(&sums.name, value));
            // How far the slowest block is behind shows how evenly the work is divided.
            if sums.blocks > 1 && ["aic_time", "aiv_time"].contains(&&*sums.name) {
                values.push(counter(&format!("{}_longest", sums.name), sums.longest));
            }
        }
        values
    }

    /// A rate of hits of all blocks, where hits and misses were counted: a mean of rates would count blocks
    /// that hardly read as much as the others. The 950 tells the near from the far half of the cache, others
    /// two channels for reading.
    fn hit_rate(&self, name: &str) -> Option<f64> {
        let (kind, rate) = name.split_at_checked(4)?;
        let (channels, halves): (&[&str], &[&str]) = match rate {
            "write_hit_rate" => (&["write_cache"], &["write_close", "write_far"]),
            "read_hit_rate" => (&["r0_read_cache", "r1_read_cache"], &["read_close", "read_far"]),
            "total_hit_rate" => (&["write_cache", "r0_read_cache", "r1_read_cache"], &[]),
            _ => return None,
        };
        let sum = |parts: &[&str], end: &str| {
            let counted = parts.iter().filter_map(|part| {
                let name = format!("{kind}{part}_{end}");
                Some(self.columns.iter().find(|column| column.name == name)?.sum)
            });
            let counted: Vec<f64> = counted.collect();
            (!parts.is_empty() && counted.len() == parts.len()).then(|| counted.iter().sum::<f64>())
        };
        let of = |parts, misses| Some((sum(parts, "hit")?, sum(parts, misses)?));
        let (hits, misses) = of(channels, "miss_allocate").or_else(|| of(halves, "miss"))?;
        (hits + misses > 0.0).then(|| hits / (hits + misses) * 100.0)
    }
}

impl Sums {
    /// The column of a heading; none for the numbers of blocks.
    fn of(heading: &str) -> Option<Self> {
        // The unit is in brackets, and behind it, what is only estimated.
        let (estimated, heading) = match heading.strip_suffix("(estimate)") {
            Some(rest) => ("_estimate", rest),
            None => ("", heading),
        };
        let (name, unit) = match heading.strip_suffix(')').and_then(|heading| heading.rsplit_once('(')) {
            Some((name, unit)) => (name.trim(), unit),
            None => (heading.trim(), ""),
        };
        if name.is_empty() || ["block_id", "sub_block_id"].contains(&name.to_ascii_lowercase().as_str()) {
            return None;
        }
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        let is_amount = unit == "KB"
            || ends(&[
                "_cycles",
                "_hit",
                "_miss",
                "_miss_allocate",
                "_victim",
                "_instructions",
                "_instr_number",
                "_fops",
            ]);
        let way = match unit {
            _ if is_amount => Way::Sum,
            "us" => Way::Mean,
            _ => Way::ByCycles,
        };
        Some(Self {
            name: format!("{}{estimated}", common_name(name)),
            unit: unit.to_owned(),
            way,
            sum: 0.0,
            weight: 0.0,
            longest: 0.0,
            blocks: 0,
        })
    }

    fn add(&mut self, value: f64, cycles: f64) {
        let weight = if self.way == Way::ByCycles { cycles } else { 1.0 };
        self.sum += value * weight;
        self.weight += weight;
        self.longest = self.longest.max(value);
        self.blocks += 1;
    }

    fn value(&self) -> f64 {
        if self.way == Way::Sum { self.sum } else { self.sum / self.weight }
    }
}

/// The name that a quantity has in tables of whole runs: the cube's is `mac` there.
fn common_name(name: &str) -> String {
    match name.strip_prefix("aic_cube_") {
        Some(rest @ ("ratio" | "time" | "fp16_ratio" | "int8_ratio")) => format!("aic_mac_{rest}"),
        _ => name.to_owned(),
    }
}
