//! Readings of the monitors beside cores: `instr.group_<G>_<core>.<device>` of chips 5, 7, 8 and 11.
//!
//! Counts are those of all cycles so far, modulo 4,096, so the first reading of a core tells none. Nobody documents the
//! clock of the readings; it is taken for the device's counter, and a reading that lies outside of the collection
//! by that has no known time.

use opscope_cann_raw::monitor::{CUBE_BYTES, CYCLES_WRAP, Cycles, Traffic, VECTOR_BYTES, of_cube};
use opscope_trace::{LossKind, Losses};

use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::metadata::Metadata;
use crate::tables::{INSTRUCTION_CORES, MonitorTables, Monitored, MonitoredTraffic};

/// The place of the cube core in [`INSTRUCTION_CORES`].
const CUBE: u8 = 0;

/// How much later than the collection's end a reading may be, in nanoseconds.
const LATE: i64 = 1_000_000_000;

/// Decodes the files of all cores.
pub(super) fn monitors(catalogue: &Catalogue, metadata: &Metadata, losses: &mut Losses) -> MonitorTables {
    let mut tables = MonitorTables::default();
    let names: Vec<&str> = catalogue.names().filter(|name| core_of(name).is_some()).collect();
    if names.is_empty() {
        return tables;
    }
    // With longer intervals the counts may have begun anew, and in one of unknown length they tell no share.
    let interval = metadata.sample.monitor_cycles;
    let tells_cycles = interval.is_some_and(|cycles| cycles < u32::from(CYCLES_WRAP));
    losses.count(LossKind::MissingMetadata, "sample.json: instrProfilingFreq", u64::from(interval.is_none()));
    let clock = metadata.device_clock();
    for name in names {
        let Some((group, core)) = core_of(name) else { continue };
        for stream in catalogue.streams(name) {
            let mapped = stream.map(losses);
            let bytes = mapped.concatenated();
            let has_time = |ticks| is_within(ticks, &clock, metadata);
            let records = whole_records(&bytes, core, has_time);
            losses.count(LossKind::PartialRecord, name, u64::from(records.len() < bytes.len()));
            let mut reader = Reader { group, core, tells_cycles, ..Reader::default() };
            records.chunks_exact(size_of(core)).for_each(|record| reader.read(record, has_time));
            tables.cycles.append(&mut reader.found.cycles);
            tables.traffic.append(&mut reader.found.traffic);
            losses.count(LossKind::SampleWithoutTime, name, reader.without_time);
            losses.count(LossKind::InvalidRecord, name, reader.refused);
            losses.count(LossKind::CounterOverflow, name, reader.ambiguous);
        }
    }
    tables
}

/// The group and the core, by its place among [`INSTRUCTION_CORES`], that a stream's name tells.
fn core_of(stream: &str) -> Option<(u16, u8)> {
    let (group, core) = stream.strip_prefix("instr.group_")?.split_once('_')?;
    let core = INSTRUCTION_CORES.iter().position(|known| *known == core)?;
    Some((group.parse().ok()?, core as u8))
}

/// Whether a value of the device's counter lies within the collection.
fn is_within(ticks: u64, clock: &Clock, metadata: &Metadata) -> bool {
    let (session, time) = (&metadata.session, clock.local(ticks));
    clock.can_show(ticks)
        && session.begin.is_none_or(|begin| time >= begin)
        && session.end.is_none_or(|end| time <= end.saturating_add(LATE))
}

/// The bytes of a core's record.
fn size_of(core: u8) -> usize {
    if core == CUBE { CUBE_BYTES } else { VECTOR_BYTES }
}

/// A file's whole records. Where bytes are left over, they lie before or behind these, and the times tell where.
fn whole_records(bytes: &[u8], core: u8, has_time: impl Fn(u64) -> bool) -> &[u8] {
    let size = size_of(core);
    let rest = bytes.len() % size;
    if rest == 0 {
        return bytes;
    }
    let timed = |records: &[u8]| {
        let times = records.chunks_exact(size).filter_map(|record| reading(record, core));
        times.filter(|(cycles, traffic)| has_time(time_of(cycles, traffic))).count()
    };
    let (behind, before) = (&bytes[rest..], &bytes[..bytes.len() - rest]);
    if timed(before) > timed(behind) { before } else { behind }
}

/// The content of a record; a vector core's has no traffic.
fn reading(record: &[u8], core: u8) -> Option<(Cycles, Option<Traffic>)> {
    match core {
        CUBE => of_cube(record).map(|(cycles, traffic)| (cycles, Some(traffic))),
        _ => Cycles::of_vector(record).map(|cycles| (cycles, None)),
    }
}

/// When a monitor was read.
fn time_of(cycles: &Cycles, traffic: &Option<Traffic>) -> u64 {
    traffic.map_or(cycles.time, |traffic| traffic.time)
}

/// The readings of a core so far.
#[derive(Default)]
struct Reader {
    group: u16,
    core: u8,
    tells_cycles: bool,
    found: MonitorTables,
    last: Option<(u64, [u16; 6])>,
    without_time: u64,
    refused: u64,
    ambiguous: u64,
}

impl Reader {
    /// Reads a record; `has_time` tells whether a time can be.
    fn read(&mut self, record: &[u8], has_time: impl Fn(u64) -> bool) {
        let Some((cycles, traffic)) = reading(record, self.core) else { return };
        let time = time_of(&cycles, &traffic);
        if !has_time(time) {
            self.without_time += 1;
            return;
        }
        let last = self.last.replace((time, cycles.counts));
        if last.is_some_and(|(before, _)| time <= before) {
            // Nothing tells how long the time between was.
            self.refused += 1;
            return;
        }
        if let Some(traffic) = traffic {
            self.add_traffic(time, traffic);
        }
        let Some((_, before)) = last else { return };
        if !self.tells_cycles {
            self.ambiguous += 1;
            return;
        }
        let since = |now: u16, before: u16| now.wrapping_sub(before) & (CYCLES_WRAP - 1);
        let cycles = std::array::from_fn(|unit| since(cycles.counts[unit], before[unit]));
        self.found.cycles.push(Monitored { group: self.group, core: self.core, time, cycles });
    }

    fn add_traffic(&mut self, time: u64, traffic: Traffic) {
        let Traffic { commands, latencies, flux, cache_flux, cache_hits, .. } = traffic;
        let group = self.group;
        self.found.traffic.push(MonitoredTraffic {
            group,
            time,
            commands,
            latencies,
            flux,
            cache_flux,
            cache_hits,
        });
    }
}
