//! Events of the last-level cache of a 310 as text, as `perf stat` prints it at each interval.
//!
//! ```text
//! #           time             counts unit events
//!      0.010082400             123456      hisi_l3c0_1/read_allocate/     (75.02%)
//!      0.010082400      <not counted>      hisi_l3c0_1/read_hit/
//! ```
//!
//! Seconds since the begin, the count of the interval, unit and event; a share behind them says for which part of
//! the interval the event was counted. The events are those that the vendor's collector asks for
//! (`llc_event_utils.cpp` of its open runtime): six of the traffic, or `dsid0` to `dsid7`, the lines that each
//! processor of the device holds.

use crate::decode::functions::nanoseconds;
use crate::slices::Stream;
use crate::tables::{CacheEvent, CacheEventCount, CacheEventTable};
use opscope_trace::{LossKind, Losses};

/// The word for a count of an event that the processor had no room for.
const NOT_COUNTED: &str = "<not counted>";

/// How many processors of the device are told apart.
const HOLDERS: u8 = 8;

/// Decodes all files of a device.
pub(super) fn cache_events(streams: &[Stream], losses: &mut Losses) -> CacheEventTable {
    let mut table = CacheEventTable::default();
    for stream in streams {
        let mapped = stream.map(losses);
        let bytes = mapped.concatenated();
        let (mut refused, mut unknown) = (0, 0);
        for line in String::from_utf8_lossy(&bytes).lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match parse(line) {
                Some((time, count, event)) => match cache_event(event) {
                    Some(event) => table.push(CacheEventCount { time, event, count }),
                    None => unknown += 1,
                },
                None => refused += 1,
            }
        }
        losses.count(LossKind::InvalidLine, &stream.name, refused);
        losses.count(LossKind::UnknownRecord, &stream.name, unknown);
    }
    table
}

/// Time, count and the event's name of a line.
fn parse(line: &str) -> Option<(u64, u64, &str)> {
    let (seconds, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    let (count, rest) = match rest.strip_prefix(NOT_COUNTED) {
        Some(rest) => (0, rest),
        None => {
            let (count, rest) = rest.split_once(char::is_whitespace)?;
            (count.parse().ok()?, rest)
        }
    };
    let (_, event) = rest.split_whitespace().next()?.strip_suffix('/')?.split_once('/')?;
    Some((nanoseconds(seconds)?, count, event))
}

fn cache_event(name: &str) -> Option<CacheEvent> {
    Some(match name {
        "read_allocate" => CacheEvent::ReadAllocate,
        "read_noallocate" => CacheEvent::ReadNoAllocate,
        "read_hit" => CacheEvent::ReadHit,
        "write_allocate" => CacheEvent::WriteAllocate,
        "write_noallocate" => CacheEvent::WriteNoAllocate,
        "write_hit" => CacheEvent::WriteHit,
        _ => {
            let holder = name.strip_prefix("dsid")?.parse().ok()?;
            CacheEvent::Held(Some(holder).filter(|holder| *holder < HOLDERS)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_time_count_and_event() {
        let line = "0.010082400   123456   hisi_l3c0_1/read_allocate/   (75.02%)";
        assert_eq!(parse(line), Some((10_082_400, 123_456, "read_allocate")));
        let line = "12.5 <not counted> hisi_l3c0_1/dsid7/";
        assert_eq!(parse(line), Some((12_500_000_000, 0, "dsid7")));
        for bad in [
            "",
            "0.1",
            "0.1 5",
            "0.1 5 cycles",
            "0.1 5 hisi_l3c0_1/read_hit",
            "0.1 -5 hisi_l3c0_1/read_hit/",
            "1 5 hisi_l3c0_1/read_hit/",
            "0.1 <not supported> hisi_l3c0_1/read_hit/",
            "99999999999999999999.1 5 hisi_l3c0_1/read_hit/",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn processors_have_the_numbers_0_to_7() {
        assert_eq!(cache_event("dsid7"), Some(CacheEvent::Held(7)));
        for unknown in ["dsid8", "dsid-1", "dsid", "dsid256", "read"] {
            assert_eq!(cache_event(unknown), None, "{unknown}");
        }
    }
}
