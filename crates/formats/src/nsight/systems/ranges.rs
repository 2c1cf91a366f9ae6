//! Ranges and marks of the program (NVTX), and samples of the GPU's own counters.

use std::collections::HashMap;

use opscope_trace::{
    Counter, CounterId, LossKind, Nanoseconds, NumberMap, Range, RangeKind, Sample, StringId,
};

use super::reader::Reader;
use super::recording::process_of;
use crate::other_database::columns;

/// Kinds of events of NVTX (`ENUM_NSYS_EVENT_TYPE`); 70 and 71 were imported from text.
pub mod kind {
    pub const MARK: i64 = 34;
    pub const PUSH_POP: [i64; 2] = [59, 70];
    pub const START_END: [i64; 2] = [60, 71];
    pub const DOMAIN: i64 = 75;
}

/// The kind of range that an event of NVTX is; nothing for names of domains, categories and threads.
pub fn kind_of(event: Option<i64>) -> Option<RangeKind> {
    match event? {
        kind::MARK => Some(RangeKind::Mark),
        event if kind::PUSH_POP.contains(&event) => Some(RangeKind::PushPop),
        event if kind::START_END.contains(&event) => Some(RangeKind::StartStop),
        _ => None,
    }
}

impl Reader<'_> {
    /// Reads ranges and marks.
    pub fn read_ranges(&mut self) {
        const TABLE: &str = "NVTX_EVENTS";
        const COLUMNS: [&str; 8] =
            ["start", "end", "eventType", "text", "textId", "globalTid", "domainId", "endGlobalTid"];
        let known = columns(self.database, TABLE);
        if known.is_empty() {
            return;
        }
        let domains = self.domains();
        // Exports of 2018 have no kinds; all of them are ranges.
        let has_kinds = known.iter().any(|column| column == "eventType");
        let (mut open, mut backwards, mut without_time, mut placeless) = (0, 0, 0, 0);
        self.each_row(TABLE, &COLUMNS, |reader, row| {
            let event = row.integer(2);
            let kind = if has_kinds { kind_of(event) } else { Some(RangeKind::PushPop) };
            let Some(kind) = kind else {
                // Names of categories and threads.
                placeless += u64::from(event != Some(kind::DOMAIN));
                return;
            };
            let Some(start) = row.integer(0) else {
                without_time += 1;
                return;
            };
            let duration = match (kind, row.integer(1)) {
                (RangeKind::Mark, _) => 0,
                (_, Some(end)) => match end.checked_sub(start) {
                    Some(duration @ 0..) => duration,
                    _ => {
                        backwards += 1;
                        return;
                    }
                },
                (_, None) => {
                    open += 1;
                    return;
                }
            };
            let name = match row.text(3) {
                Some(text) => reader.recording.trace.strings.intern(&text),
                None => reader.recording.text(row.integer(4)),
            };
            let global = row.integer(5);
            let process = global.map_or(0, |global| process_of(global.cast_unsigned()));
            let domain = row.integer(6).and_then(|domain| domains.get(&(process, domain)).copied());
            let thread = reader.recording.thread(global);
            let (start, duration) = (Nanoseconds(start), Nanoseconds(duration));
            reader.recording.trace.ranges.push(Range { thread, kind, name, domain, start, duration });
        });
        self.recording.trace.count_loss(LossKind::OpenRange, open, TABLE);
        self.recording.trace.count_loss(LossKind::RecordEndsBeforeStart, backwards, TABLE);
        self.recording.trace.count_loss(LossKind::RecordWithoutTime, without_time, TABLE);
        self.recording.trace.count_loss(LossKind::PlacelessRecord, placeless, TABLE);
    }

    /// The names of domains, by process and number.
    fn domains(&mut self) -> HashMap<(u32, i64), StringId> {
        let mut domains = HashMap::new();
        let wanted = ["eventType", "text", "textId", "globalTid", "domainId"];
        self.each_row("NVTX_EVENTS", &wanted, |reader, row| {
            if row.integer(0) == Some(kind::DOMAIN)
                && let Some(number) = row.integer(4)
            {
                let process = row.number(3).map_or(0, process_of);
                let name = match row.text(1) {
                    Some(text) => reader.recording.trace.strings.intern(&text),
                    None => reader.recording.text(row.integer(2)),
                };
                domains.insert((process, number), name);
            }
        });
        domains
    }

    /// Reads the samples of a GPU's own counters. `typeId` has the number of the GPU in its lowest byte.
    pub fn read_metrics(&mut self) {
        let mut names: HashMap<(i64, i64), String> = HashMap::new();
        let wanted = ["typeId", "metricId", "metricName"];
        self.each_row("TARGET_INFO_GPU_METRICS", &wanted, |_, row| {
            if let (Some(kind), Some(metric), Some(name)) = (row.integer(0), row.integer(1), row.text(2)) {
                names.insert((kind, metric), name.into_owned());
            }
        });
        let mut counters: NumberMap<(i64, i64), CounterId> = NumberMap::default();
        let (mut without_time, mut no_number) = (0, 0);
        let wanted = ["timestamp", "typeId", "metricId", "value"];
        self.each_row("GPU_METRICS", &wanted, |reader, row| {
            let Some(time) = row.integer(0) else {
                without_time += 1;
                return;
            };
            let Some(value) = row.float(3) else {
                no_number += 1;
                return;
            };
            let key = (row.integer(1).unwrap_or(0), row.integer(2).unwrap_or(0));
            let counter = match counters.get(&key) {
                Some(&counter) => counter,
                None => {
                    let name = names.get(&key).cloned().unwrap_or_else(|| format!("metric {}", key.1));
                    let (name, unit) = match name
                        .rsplit_once(" [")
                        .and_then(|(name, unit)| Some((name.to_owned(), unit.strip_suffix(']')?.to_owned())))
                    {
                        Some((name, unit)) => (name, unit),
                        None => (name, String::new()),
                    };
                    let device = Some(reader.recording.device((key.0 & 0xff) as u32));
                    let unit = if unit.ends_with('%') { "%" } else { &unit };
                    let (name, unit) = (
                        reader.recording.trace.strings.intern(&name),
                        reader.recording.trace.strings.intern(unit),
                    );
                    let counter = reader.recording.trace.counters.push(Counter { name, unit, device });
                    counters.insert(key, counter);
                    counter
                }
            };
            reader.recording.trace.samples.push(Sample { counter, time: Nanoseconds(time), value });
        });
        self.recording.trace.count_loss(LossKind::RecordWithoutTime, without_time, "GPU_METRICS");
        self.recording.trace.count_loss(LossKind::MeasureNoNumber, no_number, "GPU_METRICS");
    }
}
