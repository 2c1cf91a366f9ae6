//! The tables of msServiceProfiler by their columns: which of them are times, names and values.

use opscope_trace::Nanoseconds;

use super::date_time::since_1970;
use crate::read::tables::table::{Column, Header, Row};

/// The kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Requests,
    Batches,
    Passes,
    Cache,
    Status,
}

/// A column of numbers that are samples at the begin of their row.
pub(super) struct Quantity {
    /// The heading without its unit.
    heading: &'static str,
    /// The name of the counter.
    pub counter: &'static str,
    /// The counter's unit; nanoseconds where the column has times.
    pub unit: &'static str,
}

const fn quantity(heading: &'static str, counter: &'static str, unit: &'static str) -> Quantity {
    Quantity { heading, counter, unit }
}

/// The unit of counters of times.
const TIME: &str = "ns";

const OF_REQUESTS: [Quantity; 5] = [
    quantity("recv_token_size", "input tokens of requests", "tokens"),
    quantity("reply_token_size", "output tokens of requests", "tokens"),
    quantity("queue_wait_time", "queue wait of requests", TIME),
    quantity("first_token_latency", "first token latency of requests", TIME),
    quantity("cache_hit_rate", "cache hit rate of requests", ""),
];

const OF_BATCHES: [Quantity; 9] = [
    quantity("batch_size", "requests in batches", "requests"),
    quantity("prefill_batch_size", "prefills in batches", "requests"),
    quantity("decode_batch_size", "decodes in batches", "requests"),
    quantity("prefill_scheduled_tokens", "prefill tokens in batches", "tokens"),
    quantity("decode_scheduled_tokens", "decode tokens in batches", "tokens"),
    quantity("total_scheduled_tokens", "tokens in batches", "tokens"),
    quantity("used_blocks", "KV cache blocks used at batches", "blocks"),
    quantity("kvcache_usage_rate", "KV cache usage at batches", ""),
    quantity("accepted_ratio", "accepted ratio of speculative decoding", ""),
];

const OF_PASSES: [Quantity; 2] = [
    quantity("batch_size", "requests in forward passes", "requests"),
    quantity("bubble_time", "bubble behind forward passes", TIME),
];

const OF_CACHE: [Quantity; 4] = [
    quantity("device_kvcache_left", "KV cache blocks left", "blocks"),
    quantity("used_blocks", "KV cache blocks used", "blocks"),
    quantity("free_blocks", "KV cache blocks free", "blocks"),
    quantity("kvcache_usage_rate", "KV cache usage", ""),
];

const OF_STATUS: [Quantity; 3] = [
    quantity("waiting", "waiting requests", "requests"),
    quantity("running", "running requests", "requests"),
    quantity("swapped", "swapped requests", "requests"),
];

/// Each kind with headings that tell it, all of a list, and its quantities. Tables have further columns, and some of
/// those of others: the first that fits counts.
const KINDS: [(Kind, &[&str], &[Quantity]); 6] = [
    (Kind::Requests, &["http_rid", "reply_token_size"], &OF_REQUESTS),
    (Kind::Passes, &["forward_iter", "bubble_time"], &OF_PASSES),
    (Kind::Batches, &["res_list", "batch_type"], &OF_BATCHES),
    (Kind::Cache, &["device_kvcache_left", "name"], &OF_CACHE),
    (Kind::Cache, &["kvcache_usage_rate", "free_blocks"], &OF_CACHE),
    (Kind::Status, &["waiting", "running", "swapped"], &OF_STATUS),
];

/// A unit of time that a heading states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Milliseconds,
    Microseconds,
    /// Times since 1970 show theirs by their size; of others it isn't known, and they aren't read.
    Unstated,
    /// A day and a time of it.
    Written,
}

/// A column of times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    column: Column,
    unit: Unit,
}

impl Time {
    /// The time in a row.
    pub fn of(self, row: &Row<'_>) -> Option<Nanoseconds> {
        /// The year 1973 in either unit.
        const SINCE_1970: Nanoseconds = Nanoseconds(100_000_000_000_000_000);
        let millis = || row.millis(Some(self.column));
        let micros = || row.micros(Some(self.column));
        match self.unit {
            Unit::Milliseconds => millis(),
            Unit::Microseconds => micros(),
            Unit::Written => since_1970(&row.text(Some(self.column))),
            Unit::Unstated => [micros(), millis()].into_iter().flatten().find(|time| *time >= SINCE_1970),
        }
    }
}

/// A column of values, and whether they are times.
pub(super) struct Value {
    pub quantity: &'static Quantity,
    column: Column,
    time: Option<Time>,
}

impl Value {
    /// Whether a row has anything there.
    pub fn is_told(&self, row: &Row<'_>) -> bool {
        let text = row.text(Some(self.column));
        !["", "<NA>", "nan", "NaN", "None", "null", "-"].contains(&text.trim())
    }

    /// The value in a row; nothing for an empty one.
    pub fn of(&self, row: &Row<'_>) -> Option<f64> {
        match self.time {
            Some(time) => time.of(row).map(|time| time.0 as f64),
            None => row.float(Some(self.column)),
        }
    }
}

/// The columns of a table that are read.
pub(super) struct Layout {
    pub kind: Kind,
    pub start: Time,
    pub end: Option<Time>,
    pub duration: Option<Time>,
    pub name: Option<Column>,
    /// The phase of a batch: prefill or decode.
    pub phase: Option<Column>,
    /// The host, its process, the device and its rank.
    pub places: Vec<(&'static str, Column)>,
    pub values: Vec<Value>,
}

impl Layout {
    /// The layout of a table with these headings, if it is one of msServiceProfiler's.
    pub fn of(header: &Header) -> Option<Self> {
        let find = |wanted: &str| header.columns().find(|(_, name)| base(name) == wanted);
        let column = |wanted: &str| find(wanted).map(|(column, _)| column);
        let time = |wanted: &str| find(wanted).map(|(column, name)| Time { column, unit: unit_of(name) });
        let written = |wanted: &str| column(wanted).map(|column| Time { column, unit: Unit::Written });
        let fits = |needed: &&[&str]| needed.iter().all(|heading| column(heading).is_some());
        let (kind, _, quantities) = KINDS.iter().find(|(_, needed, _)| fits(needed))?;
        // The first form of request.csv had the event's name behind that of its time.
        let counted = ["start_time", "timestamp", "start_time_httpreq"].into_iter().find_map(time);
        // Later ones only tell the time of day, as the manual has it.
        let (start, end) = match counted {
            Some(start) => (start, time("end_time")),
            None => (written("start_datetime")?, written("end_datetime")),
        };
        let values = quantities.iter().filter_map(|quantity| {
            let column = column(quantity.heading)?;
            let time = (quantity.unit == TIME).then(|| time(quantity.heading)).flatten();
            Some(Value { quantity, column, time })
        });
        let places = ["hostname", "hostuid", "pid", "prof_id", "dp_rank"];
        Some(Self {
            kind: *kind,
            start,
            end,
            duration: ["during_time", "execution_time"].into_iter().find_map(time),
            name: column(if *kind == Kind::Requests { "http_rid" } else { "name" }),
            phase: column("batch_type"),
            places: places.into_iter().filter_map(|place| Some((place, column(place)?))).collect(),
            values: values.collect(),
        })
    }

    /// Whether times are only written as days and times of them, in a zone that isn't told.
    pub fn is_written(&self) -> bool {
        self.start.unit == Unit::Written
    }

    /// Whether rows last, and aren't only moments.
    pub fn has_ranges(&self) -> bool {
        matches!(self.kind, Kind::Requests | Kind::Batches | Kind::Passes)
    }
}

/// A heading without its unit.
fn base(name: &str) -> &str {
    name.split('(').next().unwrap_or(name).trim()
}

fn unit_of(name: &str) -> Unit {
    match name.split_once('(').map(|(_, unit)| unit.trim_end_matches(')').trim()) {
        Some("ms" | "millisecond") => Unit::Milliseconds,
        Some("us" | "microsecond") => Unit::Microseconds,
        _ => Unit::Unstated,
    }
}
