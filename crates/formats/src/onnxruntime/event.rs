//! One event of the file as its JSON spells it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use opscope_trace::Nanoseconds;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An event before anything is known of it. Text that is missing is empty.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default, rename = "cat")]
    pub category: Cow<'a, str>,
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    #[serde(default)]
    pub pid: i64,
    #[serde(default)]
    pub tid: i64,
    #[serde(default, rename = "ts")]
    pub start: Option<Micros>,
    #[serde(default, rename = "dur")]
    pub duration: Option<Micros>,
    #[serde(borrow, default, rename = "args")]
    pub arguments: Arguments<'a>,
}

/// The arguments of an event; those with other names are passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Arguments<'a> {
    #[serde(borrow)]
    pub op_name: Cow<'a, str>,
    #[serde(borrow)]
    pub provider: Cow<'a, str>,
    pub node_index: Number,
    /// The name of `node_index` before 2021.
    pub exec_plan_index: Number,
    #[serde(borrow)]
    pub input_type_shape: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output_type_shape: Option<&'a RawValue>,
    pub activation_size: Number,
    pub parameter_size: Number,
    pub output_size: Number,
    pub mem_bytes_in_use: Number,
    pub mem_bytes_requested_in_use: Number,
    pub mem_in_use_peak: Number,
    pub mem_arena_held: Number,
    pub mem_in_use_delta: Number,
    pub mem_requested_in_use_delta: Number,
    pub mem_arena_held_delta: Number,
    #[serde(borrow)]
    pub thread_scheduling_stats: Stats<'a>,
    /// The event that launched a kernel.
    #[serde(borrow)]
    pub parent_name: Cow<'a, str>,
    /// The stream that executed a kernel.
    pub stream: Number,
}

/// All arguments of an event, as they stand in the file.
#[derive(Debug, Deserialize)]
pub(super) struct RawArguments<'a> {
    #[serde(borrow, rename = "args")]
    pub json: &'a RawValue,
}

/// `thread_scheduling_stats`, which is an empty string for a session without a pool of threads.
#[derive(Debug, Default)]
pub(super) struct Stats<'a>(pub Option<PoolStats<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Stats<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StatsVisitor;
        impl<'de> Visitor<'de> for StatsVisitor {
            type Value = Stats<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("what the threads did, or an empty string")
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Stats(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                PoolStats::deserialize(MapAccessDeserializer::new(map)).map(|stats| Stats(Some(stats)))
            }
        }
        deserializer.deserialize_any(StatsVisitor)
    }
}

/// The work of the pool's threads for a node.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PoolStats<'a> {
    #[serde(borrow)]
    pub main_thread: MainThread<'a>,
    /// By the thread's number.
    #[serde(borrow)]
    pub sub_threads: BTreeMap<Cow<'a, str>, SubThread>,
}

/// The work of the thread that executed the node; times in microseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MainThread<'a> {
    #[serde(borrow)]
    pub thread_pool_name: Cow<'a, str>,
    pub block_size: Vec<i64>,
    pub core: Number,
    #[serde(rename = "Distribution")]
    pub distribution: Number,
    #[serde(rename = "DistributionEnqueue")]
    pub enqueue: Number,
    #[serde(rename = "Run")]
    pub run: Number,
    #[serde(rename = "Wait")]
    pub wait: Number,
    #[serde(rename = "WaitRevoke")]
    pub revoke: Number,
}

/// The work of another thread of the pool.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SubThread {
    pub num_run: Number,
    pub core: Number,
}

/// A time in microseconds; the runtime writes whole ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Micros(pub Nanoseconds);

impl<'de> Deserialize<'de> for Micros {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MicrosVisitor;
        impl Visitor<'_> for MicrosVisitor {
            type Value = Micros;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time in microseconds")
            }

            fn visit_i64<E: Error>(self, micros: i64) -> Result<Micros, E> {
                Ok(Micros(Nanoseconds::from_micros(micros)))
            }

            fn visit_u64<E: Error>(self, micros: u64) -> Result<Micros, E> {
                Ok(Micros(Nanoseconds::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))))
            }

            fn visit_f64<E: Error>(self, micros: f64) -> Result<Micros, E> {
                Ok(Micros(Nanoseconds::from_seconds(micros / 1e6)))
            }
        }
        deserializer.deserialize_any(MicrosVisitor)
    }
}

/// A whole number, which the runtime writes as a string; anything else is no number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Number(pub Option<i64>);

impl Number {
    /// As a size or position, which is never negative.
    pub(super) fn unsigned<Unsigned: TryFrom<i64>>(self) -> Option<Unsigned> {
        Unsigned::try_from(self.0?).ok()
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or a string that holds one")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                Ok(Number(text.parse().ok()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
                Ok(Number(Some(number)))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
                Ok(Number(i64::try_from(number).ok()))
            }
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}
