//! Units of counters. Ascend's tools write one quantity in bytes here and in kilobytes or megabytes there, which
//! are multiples of 1,024 bytes; a trace has it in the smallest unit, whatever form it is read from.

use opscope_trace::{Counter, Sample, Trace};

/// A unit of the tools, the one that stands for it in a trace, and how many of these it is.
const MULTIPLES: [(&str, &str, f64); 9] = [
    ("KB", "B", 1_024.0),
    ("MB", "B", 1_048_576.0),
    ("GB", "B", 1_073_741_824.0),
    ("KB/s", "B/s", 1_024.0),
    ("MB/s", "B/s", 1_048_576.0),
    ("GB/s", "B/s", 1_073_741_824.0),
    // The speed of a network port has decimal prefixes.
    ("Mbit/s", "bit/s", 1e6),
    (MEBI_OF_MEGABITS, "bit/s", 1e6 / 1_048_576.0),
    // Latencies.
    ("us", "ns", 1e3),
];

/// The unit of a port's speed in the vendor's database: the tool takes the megabits of the raw records for
/// megabytes, and multiplies them by 2^20.
pub(crate) const MEBI_OF_MEGABITS: &str = "Mbit/s * 2^20";

/// Brings the samples of all counters to the smallest units.
pub(crate) fn to_smallest(trace: &mut Trace) {
    let mut factors = vec![1.0; trace.counters.len()];
    for id in trace.counters.ids() {
        let counter = trace.counters.get(id);
        let written = trace.strings.get(counter.unit);
        if let Some(&(_, unit, factor)) = MULTIPLES.iter().find(|(multiple, ..)| *multiple == written) {
            let unit = trace.strings.intern(unit);
            trace.counters.set(id, Counter { unit, ..counter });
            factors[id.index()] = factor;
        }
    }
    if factors.iter().all(|factor| *factor == 1.0) {
        return;
    }
    for id in trace.samples.ids() {
        let sample = trace.samples.get(id);
        let factor = factors[sample.counter.index()];
        if factor != 1.0 {
            trace.samples.set(id, Sample { value: sample.value * factor, ..sample });
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::Nanoseconds;

    use super::*;

    #[test]
    fn multiples_of_bytes_become_bytes_and_other_units_stay() {
        let mut trace = Trace::new();
        for (unit, value) in [("MB/s", 2.5), ("KB", 3.0), ("MHz", 1_800.0), ("", 7.0)] {
            let name = trace.strings.intern("x");
            let unit = trace.strings.intern(unit);
            let counter = trace.counters.push(Counter { name, unit, device: None });
            trace.samples.push(Sample { counter, time: Nanoseconds::ZERO, value });
        }
        to_smallest(&mut trace);
        let units: Vec<&str> = trace.counters.unit().iter().map(|unit| trace.strings.get(*unit)).collect();
        assert_eq!(units, ["B/s", "B", "MHz", ""]);
        assert_eq!(trace.samples.value(), [2_621_440.0, 3_072.0, 1_800.0, 7.0]);
    }
}
