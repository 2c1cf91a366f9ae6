//! Counters of the blocks of a launch, brought together to those of the launch.
//!
//! Columns of cube cores begin with `aic_`, those of vector cores with `aiv_`; a row has values in those of its
//! own kind of core only, and `NA` in the others. Chips that don't part them have a single row and `aic_` alone.
//!
//! By the reference, the ratio of a unit is that of its cycles to those of its block. Tables of CANN 8.5 refer it to
//! the time of the launch, which starting blocks and several rounds of them make much longer: a unit that is busy for
//! nine tenths of its block has a ratio of 0.24 there. So ratios are made of the times that stand beside them.

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
    /// Rates refer to the cycles of their block.
    ByCycles,
    /// The time of a unit, as a part of its blocks' time.
    Ratio,
}

/// The times of a unit and of its blocks, from which a ratio is made anew, in all rows that have both.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    unit: f64,
    blocks: f64,
    /// How far the stated ratios are from those of these times.
    deviation: f64,
}

/// The columns of a unit's time and of its block's.
type TimeColumns = [Column; 2];

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
    /// Of a ratio whose unit's time the same table tells.
    times: Option<Times>,
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
        let all: Vec<(Column, Sums)> = header
            .columns()
            .filter_map(|(column, _)| Some((column, Sums::of(header.written(column))?)))
            .collect();
        let mut columns: Vec<(Column, Sums, Option<TimeColumns>)> = Vec::new();
        for (column, sums) in &all {
            let times = sums.time_columns(&all);
            let is_known =
                |known: &Sums| known.name == sums.name && (known.times.is_some() || times.is_none());
            let is_here = columns.iter().any(|(_, known, _)| known.name == sums.name);
            if !is_here && !self.columns.iter().any(is_known) {
                let times_so_far = times.map(|_| Times::default());
                columns.push((*column, Sums { times: times_so_far, ..sums.clone() }, times));
            }
        }
        let block = header.find(&["block_id"]);
        let mut blocks = BTreeSet::new();
        read_rows(text, header, stop, losses, |row, losses| {
            blocks.extend(row.number(block));
            let mut texts = 0;
            for (column, sums, times) in &mut columns {
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
                if let (Some(columns), Some(known)) = (times, &mut sums.times)
                    && let [Some(unit), Some(block)] = columns.map(|column| row.float(Some(column)))
                    && block > 0.0
                {
                    known.add(value, unit, block);
                }
            }
            losses.count_several(LossKind::TextAmongMetrics, texts, row.line);
        });
        self.blocks.extend(block.map(|_| blocks.len() as u64));
        for (_, sums, _) in columns.into_iter().filter(|(_, sums, _)| sums.blocks > 0) {
            // A ratio of which times are told goes before one without.
            self.columns.retain(|known| known.name != sums.name);
            self.columns.push(sums);
        }
    }

    /// Whether the ratios of the launch's tables refer to the blocks' own time, as far as times beside them show.
    fn states_parts_of_blocks(&self) -> bool {
        /// Digits are few, and times and cycles are rounded apart.
        const ROUNDING: f64 = 0.05;
        let times = || self.columns.iter().filter_map(|sums| sums.times);
        let unit: f64 = times().map(|times| times.unit).sum();
        unit > 0.0 && times().map(|times| times.deviation).sum::<f64>() <= ROUNDING * unit
    }

    /// The figures of the launch.
    pub fn values(&self) -> Vec<Counter> {
        let mut values = Vec::new();
        let are_of_blocks = self.states_parts_of_blocks();
        for sums in &self.columns {
            let counter =
                |name: &str, value| Counter { name: name.to_owned(), unit: sums.unit.clone(), value };
            if sums.way == Way::Ratio {
                // Of another time, or of one that nothing tells, it isn't the ratio that its name stands for.
                values.push(match sums.part_of_blocks().or(are_of_blocks.then(|| sums.value())) {
                    Some(ratio) => counter(&sums.name, ratio),
                    None => counter(&format!("{}_stated", sums.name), sums.value()),
                });
                continue;
            }
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
            "" if name.ends_with("_ratio") => Way::Ratio,
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
            times: None,
        })
    }

    /// Of a ratio, the columns of its unit's time and of its block's, where its table has both.
    fn time_columns(&self, all: &[(Column, Sums)]) -> Option<TimeColumns> {
        let unit = self.name.strip_suffix("_ratio").filter(|_| self.way == Way::Ratio)?;
        let kind = ["aic", "aiv"].into_iter().find(|kind| unit.starts_with(&format!("{kind}_")))?;
        let time_of = |name: &str| {
            let is_it = |sums: &Sums| sums.unit == "us" && sums.name.strip_suffix("_time") == Some(name);
            all.iter().find(|(_, sums)| is_it(sums)).map(|(column, _)| *column)
        };
        Some([time_of(unit)?, time_of(kind)?])
    }

    /// The time of a unit as a part of its blocks' time, where both are told.
    fn part_of_blocks(&self) -> Option<f64> {
        let times = self.times.filter(|times| times.blocks > 0.0)?;
        Some(times.unit / times.blocks)
    }

    fn add(&mut self, value: f64, cycles: f64) {
        let weight = if matches!(self.way, Way::ByCycles | Way::Ratio) { cycles } else { 1.0 };
        self.sum += value * weight;
        self.weight += weight;
        self.longest = self.longest.max(value);
        self.blocks += 1;
    }

    fn value(&self) -> f64 {
        if self.way == Way::Sum { self.sum } else { self.sum / self.weight }
    }
}

impl Times {
    fn add(&mut self, stated: f64, unit: f64, block: f64) {
        self.unit += unit;
        self.blocks += block;
        self.deviation += (stated * block - unit).abs();
    }
}

/// The name that a quantity has in tables of whole runs: the cube's is `mac` there.
fn common_name(name: &str) -> String {
    match name.strip_prefix("aic_cube_") {
        Some(rest @ ("ratio" | "time" | "fp16_ratio" | "int8_ratio")) => format!("aic_mac_{rest}"),
        _ => name.to_owned(),
    }
}
