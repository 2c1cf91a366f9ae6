//! Values of counters: of what, in which unit, on which device.

use std::collections::HashMap;

use opscope_trace::{Counter, CounterId, DeviceId, DeviceKind, Sample};

use super::builder::Builder;
use super::chunk::{Chunk, CounterKey};
use super::dialect::{CounterMeaning, DialectReader};
use super::lanes::NamedProcess;
use super::text::{Raw, small_number, text_of};

/// Adds all values, each counter's in the order of time.
pub(super) fn add<'a>(
    builder: &mut Builder<'a>,
    chunks: &[Chunk<'a>],
    dialect: &dyn DialectReader<'a>,
    processes: &HashMap<Raw<'a>, NamedProcess>,
) {
    let mut known: HashMap<CounterKey<'a>, Option<CounterId>> = HashMap::new();
    let mut samples: Vec<Sample> = Vec::with_capacity(chunks.iter().map(|chunk| chunk.values.len()).sum());
    for chunk in chunks {
        let of_chunk: Vec<Option<CounterId>> = (chunk.counters().iter())
            .map(|key| *known.entry(*key).or_insert_with(|| add_counter(builder, key, dialect, processes)))
            .collect();
        samples.extend(chunk.values.iter().filter_map(|value| {
            let counter = of_chunk[value.counter as usize]?;
            Some(Sample { counter, time: builder.time(value.time), value: value.value })
        }));
    }
    if !samples.is_sorted_by_key(|sample| sample.time) {
        samples.sort_by_key(|sample| sample.time);
    }
    builder.trace.samples.reserve(samples.len());
    for sample in samples {
        builder.trace.samples.push(sample);
    }
}

/// Enters a counter; `None` for one whose values only fill a place.
fn add_counter<'a>(
    builder: &mut Builder<'a>,
    key: &CounterKey<'a>,
    dialect: &dyn DialectReader<'a>,
    processes: &HashMap<Raw<'a>, NamedProcess>,
) -> Option<CounterId> {
    let (name, series, id) = (text_of(key.name), String::from_utf8_lossy(key.series), text_of(key.id));
    let of_memory = if name == "[memory]" { small_number(key.id) } else { None };
    let (device, (mut name, unit)) = if name == "[memory]" {
        (of_memory.map(|number| gpu(builder, number)), (memory_name(&series), "B".to_owned()))
    } else {
        let process = processes.get(key.process).map_or("", |process| &process.name);
        let device = dialect.device_of_counters(small_number(key.process), process);
        let meaning = dialect.counter(process, &name, &series);
        let (as_written, unit) = name_and_unit(dialect.counter_name(&name), &series);
        let name_and_unit = match meaning {
            CounterMeaning::AsWritten => (as_written, unit),
            CounterMeaning::Named(name, known) if unit.is_empty() => (name, known.to_owned()),
            CounterMeaning::Named(name, _) => (name, unit),
            CounterMeaning::Filler => return None,
        };
        let enter = |(kind, number, name): (DeviceKind, u32, String)| {
            builder.places.device(&mut builder.trace, kind, number, &name)
        };
        (device.map(enter), name_and_unit)
    };
    // The id of an allocator's counters is the device's.
    if !id.is_empty() && of_memory.is_none() {
        name = format!("{name} {id}");
    }
    let (name, unit) = (builder.trace.strings.intern(&name), builder.trace.strings.intern(&unit));
    Some(builder.trace.counters.push(Counter { name, unit, device }))
}

fn memory_name(series: &str) -> String {
    match series {
        "Total Allocated" => "memory allocated".to_owned(),
        _ => "memory reserved".to_owned(),
    }
}

fn gpu(builder: &mut Builder<'_>, number: u32) -> DeviceId {
    let name = builder.device_names.get(&number).cloned().unwrap_or_default();
    builder.places.device(&mut builder.trace, DeviceKind::Gpu, number, &name)
}

/// Name and unit of a counter, out of the names of an event and of one of its values: the unit stands
/// in brackets behind either, or is all that the value is called.
fn name_and_unit(name: &str, series: &str) -> (String, String) {
    const UNITS: [&str; 14] =
        ["B", "KB", "MB", "GB", "MHz", "GHz", "Hz", "B/s", "KB/s", "MB/s", "GB/s", "%", "us", "W"];
    let split = |text: &str| {
        let (text, unit) = text.strip_suffix(')')?.rsplit_once('(')?;
        Some((text.trim_end().to_owned(), unit.to_owned()))
    };
    if matches!(series, "value" | "") || series == name {
        return split(name).unwrap_or_else(|| (name.to_owned(), String::new()));
    }
    if UNITS.contains(&series) {
        return (name.to_owned(), series.to_owned());
    }
    let (series, unit) = split(series).unwrap_or_else(|| (series.to_owned(), String::new()));
    let name = if name.ends_with(&series) { name.to_owned() } else { format!("{name} {series}") };
    (name, unit)
}

#[cfg(test)]
mod tests {
    use super::name_and_unit;

    #[test]
    fn a_counter_is_named_once_and_its_unit_told_apart() {
        let named = |name, series| {
            let (name, unit) = name_and_unit(name, series);
            format!("{name} [{unit}]")
        };
        assert_eq!(named("AI Core Freq", "MHz"), "AI Core Freq [MHz]");
        assert_eq!(named("HBM 0/Read", "Read(MB/s)"), "HBM 0/Read [MB/s]");
        assert_eq!(named("LLC 0 Read/Hit Rate", "Hit Rate(%)"), "LLC 0 Read/Hit Rate [%]");
        assert_eq!(named("Mata Bw Level", "Mata Bw Level"), "Mata Bw Level []");
        assert_eq!(named("QoS OTHERS", "value"), "QoS OTHERS []");
        assert_eq!(named("memory (B)", "value"), "memory [B]");
        assert_eq!(named("heap", "used"), "heap used []");
    }
}
