//! Figures that the vendor's tools sum up beside their records: the words for them in tables, in JSON and in
//! databases, and one word and unit for each.
//!
//! | subject | table | JSON | database |
//! |---|---|---|---|
//! | steps | `step_trace_time.csv` | – | `StepTraceTime` |
//! | collective operations | – | `communication.json` | `CommAnalyzerTime` |
//! | their bytes by link | – | `communication.json` | `CommAnalyzerBandwidth` |
//! | bytes between ranks | – | `communication_matrix.json` | `CommAnalyzerMatrix` |
//! | allocations | `operator_memory.csv` | – | `OP_MEMORY` |
//! | everything else | see [`tables`](super::tables) | – | – |

use std::collections::BTreeMap;

use opscope_trace::{FigureSubject, FigureTopic, Trace};

/// A figure, and how the tools call it.
pub(super) struct Quantity {
    /// One name for all forms.
    pub name: &'static str,
    /// The unit that it is kept in.
    pub unit: &'static str,
    /// The value in that unit of what the tools write as 1.
    pub factor: f64,
    /// The heading of a table or the key of a JSON object, and the column of a database.
    pub written: [&'static str; 2],
}

/// Nanoseconds of a microsecond and of a millisecond.
const MICROS: f64 = 1e3;
const MILLIS: f64 = 1e6;
/// Bytes of a megabyte of the communication's tables: 28.647232 of them are whole bytes.
const MEGABYTES: f64 = 1e6;
/// Bytes a second of their gigabytes a second.
const GIGABYTES: f64 = 1e9;

const fn quantity(
    name: &'static str,
    unit: &'static str,
    factor: f64,
    written: [&'static str; 2],
) -> Quantity {
    Quantity { name, unit, factor, written }
}

/// The parts of a step's time, in microseconds; headings tell no unit.
pub(super) const STEP: [Quantity; 10] = [
    quantity("stage", "ns", MICROS, ["Stage", "stage"]),
    quantity("computing", "ns", MICROS, ["Computing", "computing"]),
    quantity(
        "communication alone",
        "ns",
        MICROS,
        ["Communication(Not Overlapped)", "communication_not_overlapped"],
    ),
    quantity("overlapped", "ns", MICROS, ["Overlapped", "overlapped"]),
    quantity("communication", "ns", MICROS, ["Communication", "communication"]),
    quantity("free", "ns", MICROS, ["Free", "free"]),
    quantity("bubble", "ns", MICROS, ["Bubble", "bubble"]),
    quantity(
        "communication alone without receiving",
        "ns",
        MICROS,
        [
            "Communication(Not Overlapped and Exclude Receive)",
            "communication_not_overlapped_and_exclude_receive",
        ],
    ),
    quantity("preparing", "ns", MICROS, ["Preparing", "preparing"]),
    quantity("writing checkpoints", "ns", MICROS, ["SaveCheckpoint", "save_checkpoint"]),
];

/// Where the time of a collective operation went, in milliseconds.
pub(super) const COLLECTIVE: [Quantity; 5] = [
    quantity("elapsed", "ns", MILLIS, ["Elapse Time(ms)", "elapse_time"]),
    quantity("transit", "ns", MILLIS, ["Transit Time(ms)", "transit_time"]),
    quantity("wait", "ns", MILLIS, ["Wait Time(ms)", "wait_time"]),
    quantity("synchronization", "ns", MILLIS, ["Synchronization Time(ms)", "synchronization_time"]),
    quantity("idle", "ns", MILLIS, ["Idle Time(ms)", "idle_time"]),
];

/// The bytes of an operation over a kind of link, or of one rank to another.
pub(super) const TRANSPORT: [Quantity; 4] = [
    quantity("size", "B", MEGABYTES, ["Transit Size(MB)", "transit_size"]),
    quantity("transit", "ns", MILLIS, ["Transit Time(ms)", "transit_time"]),
    quantity("bandwidth", "B/s", GIGABYTES, ["Bandwidth(GB/s)", "bandwidth"]),
    quantity("large packets", "", 1.0, ["Large Packet Ratio", "large_packet_ratio"]),
];

/// The step that a file calls `step50` or `50`.
pub(super) fn step_name(written: &str) -> &str {
    let number = written.strip_prefix("step").unwrap_or(written);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) { written } else { number }
}

/// An operation's name without the group behind it (`hcom_allReduce__586_0_1@17522688603477080586`).
pub(super) fn without_group(name: &str) -> (&str, &str) {
    name.rsplit_once('@').unwrap_or((name, ""))
}

/// The two ranks of a link.
pub(super) fn link(source: &str, target: &str) -> String {
    format!("{source} to {target}")
}

/// Memory that the operators of one name took from one device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Allocations {
    count: u64,
    bytes: f64,
    largest: f64,
    held: u64,
}

/// Allocations by operator and device.
#[derive(Default)]
pub(super) struct AllocationTotals {
    found: BTreeMap<(String, String), Allocations>,
}

impl AllocationTotals {
    /// Counts an allocation of so many bytes, which is `held` where nothing says when it was released.
    pub fn count(&mut self, operator: String, device: String, bytes: f64, held: bool) {
        let row = self.found.entry((operator, device)).or_default();
        row.count += 1;
        row.bytes += bytes;
        row.largest = row.largest.max(bytes);
        row.held += u64::from(held);
    }

    /// Enters the sums.
    pub fn enter(&self, trace: &mut Trace, source: &str) {
        for ((operator, device), row) in &self.found {
            let topic = FigureTopic::Allocation;
            let about = FigureSubject { topic, source, step: "", subject: operator, part: device };
            trace.push_figures(
                about,
                &[
                    ("size", "B", Some(row.bytes)),
                    ("allocations", "", Some(row.count as f64)),
                    ("largest", "B", Some(row.largest)),
                    ("not released", "", Some(row.held as f64)),
                ],
            );
        }
    }
}
