//! Calls of the host, and the ranges that the program set.

use opscope_trace::{ApiCall, ApiLevel, LossKind, Range, RangeKind};

use crate::vocabulary;

use super::reader::{Reader, kind_of};
use crate::database::schema::{CANN_API, MSTX_EVENTS, OSRT_API};
use crate::kinds::level_name;

/// The layers of PyTorch, beside those of CANN (`ENUM_API_TYPE`).
mod torch_level {
    pub const OPERATOR: i64 = 50_001;
    pub const QUEUE: i64 = 50_002;
    pub const MSTX: i64 = 50_004;
}

impl Reader<'_> {
    /// Reads the calls of CANN and of PyTorch.
    pub(super) fn read_calls(&mut self) {
        const COLUMNS: [&str; 6] =
            CANN_API.select(["startNs", "endNs", "type", "globalTid", "connectionId", "name"]);
        self.each_row(CANN_API.name, &COLUMNS, |reader, row| {
            let (start, duration) = match row.span(0, 1) {
                Ok(span) => span,
                Err(problem) => return reader.trace.count_loss(kind_of(problem), 1, CANN_API.name),
            };
            let level = level_of(row.integer(2));
            let (thread, name) = (reader.thread(row.integer(3)), reader.text(row.integer(5)));
            let start = start - reader.zero;
            let call = ApiCall { thread, level, name, start, duration, iteration: None };
            let call = reader.trace.api_calls.push(call);
            if let Some(connection) = row.integer(4) {
                reader.calls.insert(connection, call);
            }
        });
        let columns =
            ["startNs", "endNs", "type", "globalTid", "name", "inputShapes", "connectionId", "callchainId"];
        let mut shapes = 0;
        self.each_row("PYTORCH_API", &columns, |reader, row| {
            shapes += u64::from(row.integer(5).is_some());
            let (start, duration) = match row.span(0, 1) {
                Ok(span) => span,
                Err(problem) => return reader.trace.count_loss(kind_of(problem), 1, "PYTORCH_API"),
            };
            let start = start - reader.zero;
            let (thread, name) = (reader.thread(row.integer(3)), reader.text(row.integer(4)));
            if row.integer(2) == Some(torch_level::MSTX) {
                let kind = if duration.0 == 0 { RangeKind::Mark } else { RangeKind::PushPop };
                reader.trace.ranges.push(Range { thread, kind, ..Range::new(name, start, duration) });
                return;
            }
            let level = level_of(row.integer(2));
            let call = ApiCall { thread, level, name, start, duration, iteration: None };
            let call = reader.trace.api_calls.push(call);
            if row.integer(2) == Some(torch_level::OPERATOR) {
                reader.askers.note(row.integer(6), call, row.integer(7));
            }
        });
        self.trace.count_loss(LossKind::CallShapes, shapes, "PYTORCH_API");
    }

    /// Reads the calls of the operating system and of threads.
    pub(super) fn read_os_calls(&mut self) {
        const COLUMNS: [&str; 4] = OSRT_API.select(["startNs", "endNs", "globalTid", "name"]);
        self.each_row(OSRT_API.name, &COLUMNS, |reader, row| {
            let (start, duration) = match row.span(0, 1) {
                Ok(span) => span,
                Err(problem) => return reader.trace.count_loss(kind_of(problem), 1, OSRT_API.name),
            };
            let (thread, name) = (reader.thread(row.integer(2)), reader.text(row.integer(3)));
            let (level, start) = (ApiLevel::System, start - reader.zero);
            reader.trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration: None });
        });
    }

    /// Reads the ranges and marks of the program.
    pub(super) fn read_ranges(&mut self) {
        const COLUMNS: [&str; 7] = MSTX_EVENTS.select([
            "startNs",
            "endNs",
            "eventType",
            "message",
            "globalTid",
            "domainId",
            "connectionId",
        ]);
        self.each_row(MSTX_EVENTS.name, &COLUMNS, |reader, row| {
            let (start, duration) = match row.span(0, 1) {
                Ok(span) => span,
                Err(problem) => return reader.trace.count_loss(kind_of(problem), 1, MSTX_EVENTS.name),
            };
            // `ENUM_MSTX_EVENT_TYPE`; 0 and 3 are marks.
            let kind = match row.integer(2) {
                Some(1) => RangeKind::PushPop,
                Some(2) => RangeKind::StartStop,
                _ => RangeKind::Mark,
            };
            let (thread, name) = (reader.thread(row.integer(4)), reader.text(row.integer(3)));
            if let Some(connection) = row.integer(6) {
                reader.marks.insert(connection, name);
            }
            let domain = reader.text(row.integer(5));
            let domain = Some(domain).filter(|domain| !reader.trace.strings.get(*domain).is_empty());
            let start = start - reader.zero;
            reader.trace.ranges.push(Range { thread, kind, name, domain, start, duration });
        });
    }
}

fn level_of(number: Option<i64>) -> ApiLevel {
    match number {
        Some(torch_level::OPERATOR | torch_level::QUEUE) => ApiLevel::Framework,
        // Functions of the program among them.
        number => {
            let known = number.and_then(|number| u16::try_from(number).ok());
            known.map_or(ApiLevel::Other, |number| vocabulary::level(level_name(number)))
        }
    }
}
