//! The layers of a board's model as the converter placed them, which `opscope show` adds.

use std::collections::HashMap;

use opscope_say::word;
use opscope_svp::{Placement, SideFiles};
use opscope_trace::{Nanoseconds, Trace, units};
use serde_json::{Value, json};

use super::table::UNKNOWN;
use super::{Table, TableColumn, titled};

/// Layers that run on the CPU or were fused, with the time that was measured of them.
pub struct Placed {
    rows: Vec<(Placement, Option<(u64, Nanoseconds)>)>,
}

impl Placed {
    /// Joins what the converter says with what was measured. A fused layer is found by the parts of
    /// the name that the board gave to the whole.
    pub fn of(trace: &Trace, side_files: &SideFiles) -> Self {
        let noteworthy = |placement: &&Placement| placement.is_on_cpu() || placement.fused == Some(true);
        let mut rows: Vec<Placement> = Vec::new();
        for placement in side_files.placements().filter(noteworthy) {
            // One file has the unit, another whether it was fused.
            match rows.iter_mut().find(|row| row.name == placement.name) {
                Some(row) => {
                    row.device_type = row.device_type.take().or_else(|| placement.device_type.clone());
                    row.fused = row.fused.or(placement.fused);
                }
                None => rows.push(placement.clone()),
            }
        }
        if rows.is_empty() {
            return Self { rows: Vec::new() };
        }
        let mut times: HashMap<&str, (u64, Nanoseconds)> = HashMap::new();
        for (name, duration) in trace.tasks.name().iter().zip(trace.tasks.duration()) {
            let entry = times.entry(trace.strings.get(*name)).or_default();
            *entry = (entry.0 + 1, entry.1 + *duration);
        }
        let measured = |layer: &str| {
            let is_part = |whole: &str| whole.split(['+', ',', ';', '|']).any(|part| part.trim() == layer);
            let whole = times.iter().find(|(whole, _)| is_part(whole)).map(|(_, time)| *time);
            times.get(layer).copied().or(whole)
        };
        let mut rows: Vec<_> = rows.into_iter().map(|row| (measured(&row.name), row)).collect();
        rows.sort_by_key(|(time, _)| std::cmp::Reverse(time.map(|(_, total)| total)));
        Self { rows: rows.into_iter().map(|(time, row)| (row, time)).collect() }
    }

    /// The table; `None` without rows.
    pub fn table(&self, top: usize, width: Option<u16>) -> Option<String> {
        let columns = [
            TableColumn::text("layer"),
            TableColumn::text("type"),
            TableColumn::text("runs on"),
            TableColumn::text("fused"),
            TableColumn::number("total"),
            TableColumn::number("count"),
        ];
        let mut table = Table::new(columns);
        for (row, time) in self.rows.iter().take(top) {
            let unknown = || UNKNOWN.to_owned();
            table.row([
                row.name.clone(),
                row.op_type.clone(),
                row.device_type.clone().unwrap_or_else(unknown),
                word(if row.fused == Some(true) { "yes" } else { "no" }).to_owned(),
                time.map_or_else(unknown, |(_, total)| units::duration(total)),
                time.map_or_else(unknown, |(count, _)| count.to_string()),
            ]);
        }
        let title = word("Layers on the CPU and fused layers, as the converter placed them");
        titled(title, &table.to_text(width), self.rows.len().min(top), self.rows.len())
    }

    /// An object for each layer.
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|(row, time)| {
            json!({
                "layer": row.name,
                "type": row.op_type,
                "device_type": row.device_type,
                "on_cpu": row.is_on_cpu(),
                "fused": row.fused,
                "count": time.map(|(count, _)| count),
                "total_ns": time.map(|(_, total)| total.0),
            })
        });
        rows.collect()
    }
}
